/* SPDX-License-Identifier: MIT */
/*
 * Tessera virtual GPU: the hardware interface.
 *
 * This is the only copy of every register, field, packet and page table number.
 * The kernel driver, the QEMU device model and the userspace library include
 * this file. It therefore holds nothing but #defines. The behaviour is
 * documented in Documentation/hardware.rst.
 *
 * Conventions:
 *  - everything is little-endian;
 *  - registers are 32 bits wide at 4-byte aligned offsets of BAR 0; a 64-bit
 *    quantity takes two, _LO at the lower offset. Any other access size or
 *    alignment is ignored and counted as TSR_ERR_REGISTER;
 *  - packets are made of 32-bit words ("dwords"), are a multiple of 8 bytes
 *    long and start at a multiple of 8 bytes;
 *  - fields are given as _SHIFT and _MASK, the mask already shifted into
 *    place, so that FIELD_GET(), FIELD_DP32() and plain C can all use them;
 *  - reserved bits read as zero and must be written as zero.
 */
#ifndef TESSERA_HW_H
#define TESSERA_HW_H

/* ---- PCI identity and BARs ---------------------------------------------- */

#define TSR_PCI_VENDOR_ID		0x1234
#define TSR_PCI_DEVICE_ID		0x7e55
#define TSR_PCI_REVISION		0x01
#define TSR_PCI_CLASS			0x0380	/* display controller, other */

#define TSR_BAR_MMIO			0	/* registers and doorbells, 64 KiB */
#define TSR_BAR_MSIX			1	/* MSI-X table and PBA */
#define TSR_BAR_VRAM			2	/* CPU-visible VRAM, 64-bit prefetchable */
#define TSR_BAR_HOST_APERTURE		4	/* CPU host aperture, 64-bit prefetchable */

#define TSR_MMIO_SIZE			0x10000

/* MSI-X vectors. */
#define TSR_VECTOR_ERROR		0	/* TSR_INT_* events */
#define TSR_VECTOR_ENGINE(e)		(1 + (e))
#define TSR_VECTOR_DISPLAY		(1 + TSR_MAX_ENGINES)
#define TSR_NUM_VECTORS			(2 + TSR_MAX_ENGINES)

/* Architectural limits. The values of a device are in its registers. */
#define TSR_MAX_SEGMENTS		31
#define TSR_MAX_ENGINES			8
#define TSR_MAX_SLOTS			4096
#define TSR_MAX_SWIZZLE_RANGES		64
/* Maximum bytes of the surfaces of all enabled ranges together. */
#define TSR_SWR_MAX_BYTES		0x06000000
#define TSR_PAGE_SIZE			4096
#define TSR_PAGE_SHIFT			12
#define TSR_ADDRESS_BITS		48	/* GPU physical and DMA addresses */

/* ---- Identification block, 0x0000 (read-only) ---------------------------- */

#define TSR_ID_MAGIC			0x0000
#define TSR_ID_MAGIC_VALUE		0x52535354	/* "TSSR" */
#define TSR_ID_VERSION			0x0004	/* major << 16 | minor */
#define TSR_ID_VERSION_VALUE		0x00010000
#define TSR_ID_CAPS			0x0008
/* TSR_ENG_PREEMPT and RESUME work: a running job is saved and resumed later. */
#define TSR_CAP_PREEMPTION		0x00000001
#define TSR_CAP_IO_COHERENT		0x00000002 /* system page accesses can snoop CPU caches */
#define TSR_CAP_STRICT			0x00000004 /* the device checks memory ownership */
#define TSR_CAP_HOST_APERTURE		0x00000008 /* BAR 4 present */
#define TSR_CAP_RESIZABLE_BAR		0x00000010 /* BAR 2 has a Resizable BAR capability */
#define TSR_CAP_VM			0x00000020 /* GPU virtual addresses */
#define TSR_CAP_SWIZZLE_RANGES		0x00000040
#define TSR_CAP_DISPLAY			0x00000080
#define TSR_ID_NUM_SEGMENTS		0x000c
#define TSR_ID_NUM_ENGINES		0x0010
#define TSR_ID_NUM_SLOTS		0x0014	/* slot ids are 0 .. count - 1 */
#define TSR_ID_NUM_SWIZZLE_RANGES	0x0018
#define TSR_ID_MAX_IB_BYTES		0x001c	/* largest indirect buffer */
#define TSR_ID_HIDDEN_BASE_LO		0x0020	/* VRAM that is in no segment: GPU address */
#define TSR_ID_HIDDEN_BASE_HI		0x0024
#define TSR_ID_HIDDEN_SIZE_LO		0x0028
#define TSR_ID_HIDDEN_SIZE_HI		0x002c
#define TSR_ID_NUM_CRTCS		0x0030
/* device clock in ns; read _LO first, it latches _HI */
#define TSR_ID_TIMESTAMP_LO		0x0034
#define TSR_ID_TIMESTAMP_HI		0x0038

/* ---- Control block, 0x0100 ----------------------------------------------- */

/* write TSR_RESET_MAGIC to reset all but VRAM contents */
#define TSR_CTRL_RESET			0x0100
#define TSR_RESET_MAGIC			0x54455352
#define TSR_CTRL_STATUS			0x0104	/* RO */
#define TSR_STATUS_RESETTING		0x00000001 /* a reset is running; poll until clear */
#define TSR_STATUS_FW_RUNNING		0x00000002
/* DMA address that unmapped aperture pages point at. */
#define TSR_CTRL_DUMMY_PAGE_LO		0x0108
#define TSR_CTRL_DUMMY_PAGE_HI		0x010c
#define TSR_CTRL_SCRATCH		0x0110	/* RW, no function */
#define TSR_CTRL_PING			0x0114	/* WO: raise vector 0 with TSR_INT_PING */

/*
 * Microcode: the steps of BLIT and DRAW, which read it in hidden VRAM at each
 * packet. The driver loads it once.
 */
/* GPU address inside hidden VRAM, 256-byte aligned */
#define TSR_FW_ADDR_LO			0x0120
#define TSR_FW_ADDR_HI			0x0124
#define TSR_FW_SIZE			0x0128	/* bytes, header included */
#define TSR_FW_START			0x012c	/* WO: write 1 to check and start */
/*
 * Image: magic, version, table bytes, CRC-32 (IEEE, reflected) of the table,
 * table.
 */
#define TSR_FW_MAGIC			0x57465354	/* "TSFW" */
#define TSR_FW_VERSION			2
#define TSR_FW_HEADER_BYTES		16
#define TSR_FW_MAX_BYTES		65536		/* limit for future images */
/* The table: dwords at these byte offsets, all others zero. */
#define TSR_FW_BLEND(mode)		((mode) * 4)	/* TSR_FW_FACTORS() of each TSR_BLEND_* */
/* Byte offsets in a vertex of x, y, u, v and colour: multiples of 4. */
#define TSR_FW_FETCH			0x10
/*
 * x and y scale, s32, in 1/65536. A position is multiplied by it and rounded
 * down.
 */
#define TSR_FW_SCALE			0x24
/* x and y bias, s32, in 1/256 pixel. It is added to the scaled position. */
#define TSR_FW_BIAS			0x2c
#define TSR_FW_TABLE_BYTES		64
#define TSR_FW_BYTES			(TSR_FW_HEADER_BYTES + TSR_FW_TABLE_BYTES)
/*
 * Factors that the source and the target are multiplied by: one for R, G and B,
 * and one for A.
 */
#define TSR_FW_FACTORS(src, dst, src_a, dst_a)	((src) | (dst) << 8 | (src_a) << 16 | (dst_a) << 24)
#define TSR_FACTOR_ZERO			0
#define TSR_FACTOR_ONE			1
#define TSR_FACTOR_SRC_ALPHA		2
#define TSR_FACTOR_INV_SRC_ALPHA	3	/* 1 - source alpha */
#define TSR_FACTOR_DST_ALPHA		4
#define TSR_FACTOR_INV_DST_ALPHA	5
#define TSR_FACTOR_COUNT		6

/* Ownership declarations outside the paging ring (TSR_CAP_STRICT). */
#define TSR_MARK_ADDR_LO		0x0140
#define TSR_MARK_ADDR_HI		0x0144
#define TSR_MARK_SIZE_LO		0x0148
#define TSR_MARK_SIZE_HI		0x014c
/* WO: TSR_MARK_*, applied before the write returns */
#define TSR_MARK_COMMAND		0x0150
/* range has no owner: access is an error, contents poisoned */
#define TSR_MARK_FREE			1
/* contents moved away: the same, with its own error type */
#define TSR_MARK_EVICTED		2
#define TSR_MARK_ALLOCATED		3	/* owned again, contents undefined until written */
/* owned, contents defined (CPU wrote it through a BAR) */
#define TSR_MARK_VALID			4
#define TSR_POISON			0xdeadf00d	/* word pattern of poisoned VRAM */

/* ---- Interrupt block, 0x0200 --------------------------------------------- */

#define TSR_INT_STATUS			0x0200	/* RW1C */
#define TSR_INT_MASK			0x0204	/* RW: 1 = may raise vector 0 */
#define TSR_INT_ERROR			0x00000001 /* an error counter has changed */
#define TSR_INT_ENGINE_HALT		0x00000002 /* an engine halted, see its status */
#define TSR_INT_PING			0x00000004
/* an engine has answered TSR_ENG_PREEMPT, see its status */
#define TSR_INT_PREEMPTED		0x00000008

/* ---- Error block, 0x0400 (read-only but TSR_ERR_CLEAR) ------------------- */

#define TSR_ERR_COUNT(type)		(0x0400 + 4 * (type)) /* saturating */
#define TSR_ERR_TYPES			64
/* WO: write 1 to zero all counters and the record */
#define TSR_ERR_CLEAR			0x0500
#define TSR_ERR_TOTAL			0x0504	/* saturating sum */
/* RW: error type to show the first record of below; 0: of all types */
#define TSR_ERR_REC_SELECT		0x050c
/* The first error since the last clear. */
#define TSR_ERR_REC_TYPE		0x0510	/* 0: none */
#define TSR_ERR_REC_ENGINE		0x0514	/* engine, TSR_ERR_CRTC, or 0xffffffff: none */
/* slot: plane, or TSR_NUM_PLANES: writeback */
#define TSR_ERR_CRTC(i)			(0x100 + (i))
#define TSR_ERR_REC_CONTEXT		0x0518
#define TSR_ERR_REC_PACKET		0x051c	/* header dword of the packet */
#define TSR_ERR_REC_OFFSET		0x0520	/* byte offset of the packet in ring or IB */
#define TSR_ERR_REC_SLOT		0x0524	/* 0xffffffff: no slot involved */
#define TSR_ERR_REC_ADDR_LO		0x0528
#define TSR_ERR_REC_ADDR_HI		0x052c
/*
 * Details of a translated access: TSR_ACCESS_* and, from bit 16, the ASID. Zero
 * for any other access.
 */
#define TSR_ERR_REC_ACCESS		0x0530
#define TSR_ACCESS_WRITE		0x00000001 /* write; else read */
#define TSR_ACCESS_VM			0x00000002 /* the address above is virtual */
#define TSR_ACCESS_ASID_SHIFT		16

/*
 * Error types. Below 32: errors of any device. From 32: errors of strict mode.
 * "Not failed" means that the error is counted, but the access goes on.
 */
#define TSR_ERR_NONE			0
/* unknown, read-only or misaligned register access */
#define TSR_ERR_REGISTER		1
#define TSR_ERR_PACKET			2	/* unknown opcode, bad length, reserved bits set */
#define TSR_ERR_PRIVILEGE		3	/* privileged packet in a user IB */
#define TSR_ERR_SLOT_RANGE		4	/* slot id not below TSR_ID_NUM_SLOTS */
#define TSR_ERR_SLOT_UNBOUND		5	/* access through an unbound slot */
#define TSR_ERR_SLOT_BOUNDS		6	/* access beyond the slot's limit */
#define TSR_ERR_SLOT_ACCESS		7	/* write through a read-only binding */
#define TSR_ERR_SURFACE			8	/* format, layout, pitch or rectangle not usable */
#define TSR_ERR_ADDRESS			9	/* GPU address outside every segment */
#define TSR_ERR_READ_ONLY		10	/* GPU write to a read-only aperture */
#define TSR_ERR_DMA			11	/* bus access failed or did not hit RAM */
#define TSR_ERR_RING			12	/* ring or doorbell misconfigured */
#define TSR_ERR_FIRMWARE		13	/* microcode bad, or not running when needed */
/* aperture packet names no aperture segment or too many pages */
#define TSR_ERR_SEGMENT			14
#define TSR_ERR_MMU			15	/* GPU virtual address not mapped */
/* unmapped host aperture page touched, or no such page */
#define TSR_ERR_HOST_APERTURE		16
/* CPU access that no swizzling range shows, or ranges overlap */
#define TSR_ERR_SWIZZLE_RANGE		17
#define TSR_ERR_MMU_TABLE		18	/* page table entry unusable */
#define TSR_ERR_MODE			19	/* timings of a CRTC unusable */
/* in job records only: skipped by JOB_AFTER; not counted */
#define TSR_ERR_SKIPPED			20
/* RESUME: job not saved, already resumed, or not usable */
#define TSR_ERR_CONTEXT			21
/* FENCE_WAIT or FENCE_SIGNAL outside a fence page, or other access to one */
#define TSR_ERR_FENCE			22
#define TSR_ERR_STRICT_FREED		32	/* access to a range declared free */
#define TSR_ERR_STRICT_EVICTED		33	/* access to a range declared evicted */
/* read of VRAM never written since it was allocated */
#define TSR_ERR_STRICT_UNWRITTEN	34
/* slot used after its range was evicted, without a new bind */
#define TSR_ERR_STRICT_STALE_SLOT	35
/* state used that is undefined since the part began */
#define TSR_ERR_STRICT_STATE		36
/*
 * Unmapped aperture page used, or no dummy page to show; counted, not failed.
 */
#define TSR_ERR_STRICT_DUMMY		37
#define TSR_ERR_STRICT_TLB		38	/* stale translation used */
/* Lines used that CPU caches have not written back; counted, not failed. */
#define TSR_ERR_STRICT_COHERENCE	39
/*
 * Page of an aperture or BAR 4 mapped while it is mapped; counted, not failed.
 */
#define TSR_ERR_STRICT_OVERLAP		40
/* TRANSFER_START while another transfer was open; counted, not failed. */
#define TSR_ERR_STRICT_TRANSFER		41
/*
 * VRAM marked free or evicted while the host aperture shows it; counted, not
 * failed.
 */
#define TSR_ERR_STRICT_SHOWN		42
/* Lines invalidated that CPUs have changed; counted, not failed. */
#define TSR_ERR_STRICT_INVALIDATE	43
#define TSR_ERR_STRICT_MICROCODE	44	/* write to running microcode */

/* ---- Segment descriptors, 0x1000 (read-only) ----------------------------- */

/* i = 0 .. TSR_ID_NUM_SEGMENTS - 1 */
#define TSR_SEG(i)			(0x1000 + 0x80 * (i))
#define TSR_SEG_ID			0x00	/* 1 .. 31; 0 is "no segment" */
#define TSR_SEG_FLAGS			0x04
#define TSR_SEGF_APERTURE		0x00000001 /* a window onto system pages; else memory */
#define TSR_SEGF_CPU_VISIBLE		0x00000002 /* memory: mapped linearly by BAR 2 */
#define TSR_SEGF_GPU_READ_ONLY		0x00000004 /* GPU writes fault */
#define TSR_SEGF_CACHE_COHERENT		0x00000008 /* aperture: accesses may snoop */
#define TSR_SEGF_CPU_CACHED		0x00000010 /* aperture: pages may be CPU-cached */
#define TSR_SEGF_HOST_APERTURE		0x00000020 /* memory: reachable through BAR 4 */
#define TSR_SEGF_HOST_APERTURE_CACHED	0x00000040
#define TSR_SEGF_SWIZZLE_RANGES		0x00000080 /* swizzling ranges work here */
#define TSR_SEGF_PRESERVED_STANDBY	0x00000100 /* contents survive suspend */
#define TSR_SEGF_UMA			0x00000200 /* memory: made of system pages */
#define TSR_SEGF_ALL			0x000003ff
#define TSR_SEG_BASE_LO			0x08	/* GPU address, page aligned */
#define TSR_SEG_BASE_HI			0x0c
#define TSR_SEG_SIZE_LO			0x10	/* bytes, a multiple of the page size */
#define TSR_SEG_SIZE_HI			0x14
#define TSR_SEG_COMMIT_LO		0x18	/* commit limit in bytes; memory: the size */
#define TSR_SEG_COMMIT_HI		0x1c
#define TSR_SEG_CPU_OFFSET_LO		0x20	/* CPU_VISIBLE: offset in BAR 2 of the first byte */
#define TSR_SEG_CPU_OFFSET_HI		0x24
#define TSR_SEG_PAGE_SIZE		0x28	/* 4096 or 65536 */
#define TSR_SEG_NAME			0x40	/* 32 bytes of ASCII, NUL-terminated */
#define TSR_SEG_NAME_BYTES		32

/*
 * Default GPU base of the first segment. The others follow, each aligned to
 * TSR_SEG_BASE_ALIGN.
 */
#define TSR_SEG_FIRST_BASE		0x80000000
#define TSR_SEG_BASE_ALIGN		0x10000000

/* ---- Swizzling ranges, 0x2000 -------------------------------------------- */

#define TSR_SWIZZLE_RANGE_BLOCK		0x2000
/* i = 0 .. TSR_ID_NUM_SWIZZLE_RANGES - 1 */
#define TSR_SWR(i)			(0x2000 + 0x20 * (i))
/* RW: GPU address of a surface, a multiple of TSR_TILE_BYTES. */
#define TSR_SWR_BASE_LO			0x00
#define TSR_SWR_BASE_HI			0x04
#define TSR_SWR_LAYOUT			0x08	/* RW: TSR_LAYOUT_*, not LINEAR */
#define TSR_SWR_PITCH			0x0c	/* RW: bytes, a multiple of 128 */
#define TSR_SWR_HEIGHT			0x10	/* RW: rows */
#define TSR_SWR_CONTROL			0x14	/* RW */
/* 0 -> 1 checks the above, then read-only while set */
#define TSR_SWR_ENABLE			0x00000001
/* RO: whether the range could be enabled as set up now */
#define TSR_SWR_STATUS			0x18
#define TSR_SWR_READY			0
#define TSR_SWR_UNAVAILABLE		1	/* other ranges hold what it needs */
#define TSR_SWR_UNSUPPORTED		2	/* the set-up never works */
/* RO: offset in BAR 2 at which ranges show the segments with SWIZZLE_RANGES. */
#define TSR_SWR_WINDOW_LO		0x2800
#define TSR_SWR_WINDOW_HI		0x2804

/* ---- CPU host aperture, 0x3000 ------------------------------------------- */

#define TSR_HOST_APERTURE_BLOCK		0x3000
#define TSR_HA_SIZE_LO			0x3000	/* RO: bytes of BAR 4 that have pages; 0: none */
#define TSR_HA_SIZE_HI			0x3004
/* RO: 4096 or 65536, the page size of memory segments */
#define TSR_HA_PAGE_SIZE		0x3008
/* RW: GPU address in a memory segment, page aligned */
#define TSR_HA_ADDR_LO			0x3010
#define TSR_HA_ADDR_HI			0x3014
/* RW: number of aperture pages for the next command */
#define TSR_HA_COUNT			0x3018
/*
 * WO: first aperture page. Maps the pages and then advances ADDR by their size.
 */
#define TSR_HA_MAP			0x301c
#define TSR_HA_UNMAP			0x3020	/* WO: first aperture page */

/* ---- GPU virtual addresses, 0x3400 (TSR_CAP_VM) -------------------------- */

#define TSR_VM_BLOCK			0x3400
/*
 * RO: number of address spaces that the TLBs distinguish; ASIDs are
 * 0 .. count - 1.
 */
#define TSR_VM_NUM_ASIDS		0x3400
#define TSR_VM_VA_BITS			0x3404	/* RO: bits of a virtual address */
#define TSR_VM_ADDRESS_BITS		48

/* ---- Cache maintenance, 0x3800 ------------------------------------------- */

#define TSR_COHERENCE_BLOCK		0x3800
#define TSR_COH_ADDR_LO			0x3800	/* RW: DMA address */
#define TSR_COH_ADDR_HI			0x3804
#define TSR_COH_SIZE			0x3808	/* RW: bytes that the next command covers */
#define TSR_COH_MAX_BYTES		1048576
#define TSR_COH_COMMAND			0x380c	/* WO: TSR_COH_*, done before the write returns */
#define TSR_COH_CLEAN			1	/* CPU caches write back changed lines */
#define TSR_COH_INVALIDATE		2	/* CPU caches drop lines, changed or not */
#define TSR_COH_FLUSH			3	/* CLEAN, then INVALIDATE */
/* CLEAN where a CPU stored to every line of the range */
#define TSR_COH_WRITE_BACK		4
#define TSR_COH_LINE_BYTES		64

/* ---- Display, 0x6000 (TSR_CAP_DISPLAY) ----------------------------------- */

#define TSR_DISPLAY_BLOCK		0x6000
#define TSR_MAX_CRTCS			4
#define TSR_CRTC(i)			(0x6000 + 0x400 * (i))	/* i = 0 .. TSR_ID_NUM_CRTCS - 1 */
#define TSR_CRTC_BYTES			0x400
#define TSR_DISPLAY_INT			0x7000	/* RO: bit i: CRTC i has an unmasked event */

/* CRTC registers. "Latched" registers take effect with TSR_CRTC_COMMIT. */
#define TSR_CRTC_CONTROL		0x000	/* RW */
/* 0 -> 1 checks the mode, then read-only while set */
#define TSR_CRTC_ENABLE			0x00000001
#define TSR_CRTC_STATUS			0x004	/* RO */
#define TSR_CRTCS_ARMED			0x00000001 /* a commit is pending */
#define TSR_CRTCS_VBLANK		0x00000002 /* between two frames; 0 while disabled */
#define TSR_CRTCS_REFUSED		0x00000004 /* the last commit was refused */
#define TSR_CRTC_INT_STATUS		0x008	/* RW1C */
#define TSR_CRTC_INT_MASK		0x00c	/* RW: 1 = may raise TSR_VECTOR_DISPLAY */
#define TSR_CRTC_INT_VBLANK		0x00000001
#define TSR_CRTC_INT_LATCH		0x00000002 /* a commit was latched */
#define TSR_CRTC_INT_CRC		0x00000004
#define TSR_CRTC_INT_WRITEBACK		0x00000008
#define TSR_CRTC_INT_HOTPLUG		0x00000010 /* the output's status or its EDID changed */
#define TSR_CRTC_INT_ALL		0x0000001f
#define TSR_CRTC_ACTIVE			0x010	/* RW: mode: width | height << 16 */
#define TSR_CRTC_TOTAL			0x014	/* RW: mode: the same, blanking included */
#define TSR_CRTC_CLOCK			0x018	/* RW: mode: pixel clock in kHz */
#define TSR_CRTC_MAX_CLOCK		2000000
#define TSR_CRTC_MIN_FRAME_NS		1000000
#define TSR_CRTC_MAX_FRAME_NS		1000000000
#define TSR_CRTC_MAX_ACTIVE		0x01c	/* RO: largest width | height << 16 */
#define TSR_CRTC_VBLANK_COUNT		0x020	/* RO: a read latches the next two */
#define TSR_CRTC_VBLANK_NS_LO		0x024	/* RO: device clock at that vblank */
#define TSR_CRTC_VBLANK_NS_HI		0x028
#define TSR_CRTC_LINE			0x02c	/* RO: line being scanned; >= height: blanking */
#define TSR_CRTC_COMMIT			0x030	/* WO: TSR_COMMIT_* */
#define TSR_COMMIT_VBLANK		1	/* take effect at the next vblank */
#define TSR_COMMIT_ASYNC		2	/* take effect at once */
/* Registers of one plane, at once. Such a commit has no number. */
#define TSR_COMMIT_PLANE(p)		(0x10 + (p))
#define TSR_CRTC_COMMITTED		0x034	/* RO: number of the last commit; counts from 1 */
/* RO: number of the commit last latched. A read latches the next three. */
#define TSR_CRTC_LATCHED		0x038
#define TSR_CRTC_LATCH_COUNT		0x03c	/* RO: TSR_CRTC_VBLANK_COUNT at that time */
#define TSR_CRTC_LATCH_NS_LO		0x040	/* RO: device clock at that time */
#define TSR_CRTC_LATCH_NS_HI		0x044
/* RW, latched: maximum lines of a frame; 0: no variable refresh. */
#define TSR_CRTC_VRR_TOTAL		0x048
#define TSR_CRTC_COLOR			0x04c	/* RW, latched */
#define TSR_COLOR_CTM			0x00000001
#define TSR_COLOR_GAMMA			0x00000002
#define TSR_CRTC_GAMMA_INDEX		0x050	/* RW: entry that GAMMA_DATA writes, 0 .. 255 */
/* RW, latched: red << 16 | green << 8 | blue. A write adds 1 to the index. */
#define TSR_CRTC_GAMMA_DATA		0x054
#define TSR_GAMMA_ENTRIES		256
/* RW, latched: 3 x 3, row by row, S15.16 */
#define TSR_CRTC_CTM(i)			(0x060 + 4 * (i))
#define TSR_CTM_ENTRIES			9
#define TSR_CRTC_CRC_CONTROL		0x090	/* RW */
#define TSR_CRC_ENABLE			0x00000001 /* 0 -> 1 empties the queue */
#define TSR_CRTC_CRC_COUNT		0x094	/* RO: entries in the queue */
#define TSR_CRC_QUEUE			16
/* RO: oldest entry: TSR_CRTC_VBLANK_COUNT at the start of the frame. */
#define TSR_CRTC_CRC_FRAME		0x098
/* RO: oldest entry: CRC-32 of the frame's pixels. A read removes the entry. */
#define TSR_CRTC_CRC_VALUE		0x09c
#define TSR_CRTC_WB_ADDR_LO		0x0a0	/* RW: GPU address in a memory segment */
#define TSR_CRTC_WB_ADDR_HI		0x0a4
#define TSR_CRTC_WB_PITCH		0x0a8	/* RW: bytes, a multiple of 4 */
#define TSR_CRTC_WB_CONTROL		0x0ac	/* RW: used and cleared by the next commit */
#define TSR_WB_CAPTURE			0x00000001 /* write the first frame that shows the commit */
#define TSR_CRTC_WB_STATUS		0x0b0	/* RO */
#define TSR_WB_IDLE			0
#define TSR_WB_PENDING			1
#define TSR_WB_DONE			2
#define TSR_WB_FAILED			3

/* Output of the CRTC. */
#define TSR_CRTC_OUTPUT			0x0c0	/* RO */
#define TSR_OUTPUT_CONNECTED		0x00000001
#define TSR_CRTC_EDID_SIZE		0x0c4	/* RO: bytes; 0: none */
/* RW: byte offset that EDID_DATA reads at, a multiple of 4. */
#define TSR_CRTC_EDID_INDEX		0x0c8
/* RO: 4 bytes of EDID; a read adds 4 to the index */
#define TSR_CRTC_EDID_DATA		0x0cc
#define TSR_EDID_MAX_BYTES		512

/*
 * Planes of the CRTC, all with the same abilities, lowest first. All registers
 * are latched.
 */
#define TSR_PLANE(p)			(0x100 + 0x40 * (p))	/* in the CRTC's block */
#define TSR_PLANE_PRIMARY		0
#define TSR_PLANE_OVERLAY		1
#define TSR_PLANE_CURSOR		2
#define TSR_NUM_PLANES			3
#define TSR_PLANE_CONTROL		0x00	/* RW */
#define TSR_PLANE_ENABLE		0x00000001
#define TSR_PLANE_BLEND_SHIFT		8	/* TSR_PLANE_BLEND_* */
#define TSR_PLANE_BLEND_MASK		0x00000300
#define TSR_PLANE_BLEND_NONE		0	/* ignore the alpha of pixels */
#define TSR_PLANE_BLEND_PREMULTIPLIED	1
#define TSR_PLANE_BLEND_COVERAGE	2
#define TSR_PLANE_BLEND_COUNT		3
#define TSR_PLANE_ROTATE_SHIFT		12	/* quarter turns, counter-clockwise */
#define TSR_PLANE_ROTATE_MASK		0x00003000
#define TSR_PLANE_REFLECT_X		0x00004000 /* mirror left and right, before the rotation */
#define TSR_PLANE_REFLECT_Y		0x00008000
#define TSR_PLANE_ALPHA_SHIFT		24	/* alpha of the whole plane */
#define TSR_PLANE_ALPHA_MASK		0xff000000
#define TSR_PLANE_CONTROL_BITS		0xff00f301
#define TSR_PLANE_SURFACE		0x04	/* RW: format and layout, as dword 6 of BIND_SLOT */
#define TSR_PLANE_SURFACE_BITS		(TSR_SURF_FORMAT_MASK | TSR_SURF_LAYOUT_MASK)
#define TSR_PLANE_ADDR_LO		0x08	/* RW: GPU address in a memory segment */
#define TSR_PLANE_ADDR_HI		0x0c
#define TSR_PLANE_PITCH			0x10	/* RW: bytes */
#define TSR_PLANE_SIZE			0x14	/* RW: of the surface: width | height << 16 */
#define TSR_PLANE_SRC_X			0x18	/* RW: source rectangle, in 1/65536 pixels */
#define TSR_PLANE_SRC_Y			0x1c
#define TSR_PLANE_SRC_W			0x20
#define TSR_PLANE_SRC_H			0x24
/* RW: position on the screen: x | y << 16, signed */
#define TSR_PLANE_DST_POS		0x28
#define TSR_PLANE_DST_SIZE		0x2c	/* RW: size on the screen: width | height << 16 */
#define TSR_PLANE_REGS			12

/* ---- Engines, 0x4000 ----------------------------------------------------- */

#define TSR_ENG(e)			(0x4000 + 0x100 * (e))
#define TSR_ENG_TYPE			0x00	/* RO */
#define TSR_ENGINE_RENDER		0
#define TSR_ENGINE_PAGING		1
#define TSR_ENG_CONTROL			0x04	/* RW */
/* 0 -> 1 starts at head = tail = 0 with this set-up */
#define TSR_ENG_ENABLE			0x00000001
/* WO: stop at the next packet, drop the ring and clear ENABLE. */
#define TSR_ENG_RESET			0x00000002
/*
 * Clearing ENABLE of an enabled engine also resets it. Poll TSR_ENGS_RESETTING.
 */
/*
 * WO, TSR_CAP_PREEMPTION, written together with ENABLE: save the running job to
 * the context save area, drop the ring and clear ENABLE.
 *
 * The request has no effect and is TSR_ERR_RING if the engine is not enabled or
 * is resetting, if an earlier request is not answered yet, or if the area's
 * address is 0, not page aligned or beyond TSR_ADDRESS_BITS. Without a vIOMMU a
 * running engine answers within 10 ms. A halted engine does not answer.
 *
 * The answer is TSR_ENGS_PREEMPTED and TSR_INT_PREEMPTED. If the engine cannot
 * write the area it halts with TSR_ERR_DMA instead.
 */
#define TSR_ENG_PREEMPT			0x00000004
#define TSR_ENG_STATUS			0x08	/* RO */
#define TSR_ENGS_IDLE			0x00000001
#define TSR_ENGS_HALTED			0x00000002 /* ring-level error; only a reset recovers */
#define TSR_ENGS_RESETTING		0x00000004
#define TSR_ENGS_WAITING		0x00000008 /* blocked in WAIT or FENCE_WAIT */
#define TSR_ENGS_PREEMPTING		0x00000010 /* TSR_ENG_PREEMPT is not answered yet */
/* TSR_ENG_PREEMPT answered; until enable or reset */
#define TSR_ENGS_PREEMPTED		0x00000020
#define TSR_ENG_RING_LO			0x10	/* DMA address, page aligned, contiguous */
#define TSR_ENG_RING_HI			0x14
#define TSR_ENG_RING_SIZE		0x18	/* bytes, power of two, 4 KiB .. 1 MiB */
#define TSR_RING_MIN_BYTES		4096
#define TSR_RING_MAX_BYTES		1048576
#define TSR_ENG_HEAD			0x1c	/* RO: byte offset of the packet being executed */
#define TSR_ENG_TAIL			0x20	/* RO: last doorbell value */
#define TSR_ENG_STATUS_PAGE_LO		0x28	/* DMA address, page aligned; layout below */
#define TSR_ENG_STATUS_PAGE_HI		0x2c
#define TSR_ENG_CONTEXT			0x30	/* RO: context id of the running job */
#define TSR_ENG_IB_OFFSET		0x34	/* RO: byte offset in the running IB */
/*
 * RW, TSR_CAP_PREEMPTION: DMA address of the context save area, page aligned.
 */
#define TSR_ENG_SAVE_LO			0x38
#define TSR_ENG_SAVE_HI			0x3c
/* View of one slot of the engine's slot file, for debugging and tests. */
#define TSR_ENG_SLOT_SELECT		0x40
#define TSR_ENG_SLOT_BASE_LO		0x44	/* RO */
#define TSR_ENG_SLOT_BASE_HI		0x48
#define TSR_ENG_SLOT_LIMIT_LO		0x4c
#define TSR_ENG_SLOT_LIMIT_HI		0x50
#define TSR_ENG_SLOT_SURFACE		0x54	/* dword 6 of BIND_SLOT; 0: unbound */

/*
 * Doorbells: a 4-byte write of the new tail (bytes, a multiple of 8, below the
 * ring size). It is the only register write per submission. Any other value, or
 * a write for an engine that is not enabled, is ignored and counted as
 * TSR_ERR_RING.
 */
#define TSR_DOORBELL(e)			(0x8000 + 4 * (e))

/*
 * Status page, in guest memory. The device writes all fields but IRQ_ACK.
 *
 * Interrupts are coalesced. After a fence with TSR_FENCE_INTERRUPT the device
 * raises the engine's vector only if IRQ_ACK equals IRQ_SENT, and then adds one
 * to IRQ_SENT. The driver's handler copies IRQ_SENT to IRQ_ACK, issues a full
 * barrier and only then looks at SEQNO. Both sides put a full barrier between
 * their write and their read, so that no fence is missed without a register
 * read.
 */
#define TSR_SP_SEQNO			0x00	/* u64: value of the last FENCE executed */
/* u32: ring bytes before this are free; set by FENCE */
#define TSR_SP_HEAD			0x08
#define TSR_SP_IRQ_SENT			0x10	/* u32 */
#define TSR_SP_IRQ_ACK			0x14	/* u32, written by the driver */

/* Job record. FENCE writes it if its record address is not 0. */
#define TSR_REC_SEQNO			0x00	/* u64 */
#define TSR_REC_STATUS			0x08	/* u32: TSR_ERR_*; 0: no error since JOB_BEGIN */
/* u32: byte offset in the IB of the failing packet */
#define TSR_REC_OFFSET			0x0c
/*
 * u64: device clock at JOB_BEGIN, plus the time between preemption and RESUME.
 */
#define TSR_REC_START_NS		0x10
#define TSR_REC_END_NS			0x18	/* u64: device clock at FENCE */
#define TSR_REC_BYTES			32

/*
 * Context save area, in guest memory, contiguous. It has TSR_SAVE_BYTES(number
 * of slots of the engine) bytes. TSR_ENG_PREEMPT writes it, MAGIC last. RESUME
 * reads it.
 */
#define TSR_SAVE_MAGIC			0x00	/* u32 */
/* No JOB_BEGIN since the engine was enabled: only HEAD is written. */
#define TSR_SAVE_NONE			0
#define TSR_SAVE_JOB			0x56534354	/* "TCSV": a job that can be resumed */
/* "TCSD": already resumed; a job resumes once */
#define TSR_SAVE_RESUMED		0x44534354
/* u32: ring offset of the packet to execute or resume next. */
#define TSR_SAVE_HEAD			0x04
/* u32: bytes from the job's JOB_BEGIN, or RESUME, to that packet. */
#define TSR_SAVE_OFFSET			0x08
#define TSR_SAVE_FLAGS			0x0c	/* u32 */
/* inside an IB; else the IB fields below are 0 */
#define TSR_SAVEF_IB			0x00000001
#define TSR_SAVEF_IB_USER		0x00000002
#define TSR_SAVEF_IB_VM			0x00000004
#define TSR_SAVEF_TRANSFER		0x00000008 /* a transfer is open (TSR_TRANSFER_START) */
#define TSR_SAVEF_ALL			0x0000000f
#define TSR_SAVE_ACTIVE_NS		0x10	/* u64: engine time of the job so far, in ns */
#define TSR_SAVE_CONTEXT		0x18	/* u32: context id */
#define TSR_SAVE_STATUS			0x1c	/* u32: as TSR_REC_STATUS and TSR_REC_OFFSET */
#define TSR_SAVE_STATUS_OFFSET		0x20
#define TSR_SAVE_IB_TOTAL		0x24	/* u32: as in IB_CALL */
#define TSR_SAVE_IB_CUR			0x28	/* u32: byte offset of the packet */
#define TSR_SAVE_IB_END			0x2c	/* u32 */
#define TSR_SAVE_IB_LIST		0x30	/* u64: page list or virtual address */
/* u64, i = 0, 1: device-private progress of the packet */
#define TSR_SAVE_PROGRESS(i)		(0x38 + 8 * (i))
#define TSR_SAVE_VM_ROOT		0x48	/* u64: as in SET_VM; 0: no address space */
#define TSR_SAVE_VM_ASID		0x50	/* u32 */
#define TSR_SAVE_STATE_DEFINED		0x54	/* u32: bit r: state register r is defined */
/* u32, r = 0 .. TSR_STATE_COUNT - 1. The bytes up to the slots are zero. */
#define TSR_SAVE_STATE(r)		(0x58 + 4 * (r))
/* i = 0 .. TSR_ID_NUM_SLOTS - 1 */
#define TSR_SAVE_SLOT(i)		(0x80 + TSR_SAVE_SLOT_BYTES * (i))
#define TSR_SAVE_SLOT_BASE		0x00	/* u64 */
#define TSR_SAVE_SLOT_LIMIT		0x08	/* u64 */
/* u32: dwords 6 to 8 of BIND_SLOT; SURFACE 0: unbound */
#define TSR_SAVE_SLOT_SURFACE		0x10
#define TSR_SAVE_SLOT_PITCH		0x14
#define TSR_SAVE_SLOT_SIZE		0x18
/* u32: 1: range evicted since the bind (strict mode) */
#define TSR_SAVE_SLOT_STALE		0x1c
#define TSR_SAVE_SLOT_BYTES		0x20
#define TSR_SAVE_BYTES(slots)		TSR_SAVE_SLOT(slots)

/* ---- Packets ------------------------------------------------------------- */

/* Dword 0 of every packet. */
#define TSR_PKT_OPCODE_SHIFT		0
#define TSR_PKT_OPCODE_MASK		0x000000ff
#define TSR_PKT_FLAGS_SHIFT		8
#define TSR_PKT_FLAGS_MASK		0x0000ff00
#define TSR_PKT_LENGTH_SHIFT		16	/* dwords, header included, even */
#define TSR_PKT_LENGTH_MASK		0xffff0000
#define TSR_PKT_HEADER(op, flags, dwords) \
	(((op) << TSR_PKT_OPCODE_SHIFT) | ((flags) << TSR_PKT_FLAGS_SHIFT) | \
	 ((dwords) << TSR_PKT_LENGTH_SHIFT))
/* offsets and sizes are in bytes, multiples of this */
#define TSR_PKT_ALIGN			8
#define TSR_PKT_MAX_DWORDS		1024

/*
 * NOP: any even length; the payload is ignored. NOP and SET_STATE are the only
 * packets of variable length.
 */
#define TSR_OP_NOP			0x00

/*
 * BIND_SLOT: dword
 *  1  slot id (24 bits, upper 8 zero)
 *  2  base low, 3 base high: GPU address   \ in a user IB these four are
 *  4  limit low, 5 limit high: bytes       / written by the kernel only
 *  6  surface: format, layout, access
 *  7  pitch in bytes; 0: a buffer (one row of limit / bytes-per-texel texels)
 *  8  width | height << 16 in texels; 0 for a buffer
 *  9  zero
 */
#define TSR_OP_BIND_SLOT		0x01
#define TSR_BIND_SLOT_DWORDS		10
#define TSR_BIND_PATCH_OFFSET		8	/* bytes into the packet: base, limit */
#define TSR_BIND_PATCH_BYTES		16
#define TSR_SLOT_ID_MASK		0x00ffffff
#define TSR_SURF_FORMAT_SHIFT		0
#define TSR_SURF_FORMAT_MASK		0x000000ff
#define TSR_SURF_LAYOUT_SHIFT		8
#define TSR_SURF_LAYOUT_MASK		0x0000ff00
#define TSR_SURF_READ			0x00010000
#define TSR_SURF_WRITE			0x00020000
#define TSR_SURF_VALID_BITS		0x0003ffff
#define TSR_SURF_MAX_DIM		16384
#define TSR_SURF_MAX_PITCH		262144	/* bytes; a multiple of the texel size */
/*
 * The base is a multiple of the texel size, or of TSR_TILE_BYTES for a swizzled
 * surface.
 */

/*
 * Formats. Texels are little-endian words, the first letter in the high bits.
 */
#define TSR_FORMAT_R8			1	/* 1 byte */
#define TSR_FORMAT_RGB565		2	/* 2 bytes */
#define TSR_FORMAT_XRGB8888		3	/* 4 bytes; X reads as 255 */
#define TSR_FORMAT_ARGB8888		4	/* 4 bytes */
#define TSR_FORMAT_R32			5	/* 4 bytes, no blending or filtering */
#define TSR_FORMAT_XRGB2101010		6	/* 4 bytes; planes only */

/*
 * Layouts. A swizzled surface is made of 4 KiB tiles, 128 bytes wide and 32
 * rows high, tiles in row-major order; its pitch is a multiple of 128 and its
 * rows are padded to a multiple of 32.
 *  TILE4K: inside a tile, rows follow each other (row * 128 + x).
 *  MORTON: inside a tile, 4-byte words are in Z order; bit 2n of the word
 *          index is bit n of the word column, bit 2n + 1 is bit n of the row.
 */
#define TSR_LAYOUT_LINEAR		0
#define TSR_LAYOUT_TILE4K		1
#define TSR_LAYOUT_MORTON		2
#define TSR_LAYOUT_COUNT		3
#define TSR_TILE_WIDTH_BYTES		128
#define TSR_TILE_ROWS			32
#define TSR_TILE_BYTES			4096

/* UNBIND_SLOT: 1 slot id. */
#define TSR_OP_UNBIND_SLOT		0x02
#define TSR_UNBIND_SLOT_DWORDS		2

/*
 * SET_STATE: 1 first state register | count << 16; 2.. values, then a zero
 * dword if needed for an even length. State is undefined when a part begins.
 */
#define TSR_OP_SET_STATE		0x03
#define TSR_STATE_TARGET_SLOT		0
#define TSR_STATE_SCISSOR_MIN		1	/* x | y << 16, inclusive */
#define TSR_STATE_SCISSOR_MAX		2	/* x | y << 16, exclusive */
#define TSR_STATE_TEXTURE_SLOT		3
#define TSR_STATE_SAMPLER		4	/* TSR_SAMPLER_* */
#define TSR_STATE_BLEND			5	/* TSR_BLEND_* */
#define TSR_STATE_COLOR			6	/* ARGB8888, multiplies every fragment */
#define TSR_STATE_COUNT			7
#define TSR_SAMPLER_LINEAR		0x00000001 /* bilinear; else nearest */
#define TSR_SAMPLER_REPEAT		0x00000002 /* else clamp to edge */
#define TSR_SAMPLER_ALL			0x00000003
#define TSR_BLEND_NONE			0
#define TSR_BLEND_ALPHA			1	/* src.rgb * src.a + dst * (1 - src.a) */
#define TSR_BLEND_PREMULTIPLIED		2	/* src.rgb + dst * (1 - src.a) */
#define TSR_BLEND_COUNT			3

/* FILL: 1 slot, 2 x, 3 y, 4 width, 5 height (texels), 6 texel value, 7 zero. */
#define TSR_OP_FILL			0x10
#define TSR_FILL_DWORDS			8

/*
 * COPY: 1 destination slot, 2 source slot, 3 dst x, 4 dst y, 5 src x, 6 src y,
 * 7 width, 8 height (texels), 9 zero. Formats must have the same texel size;
 * layouts and pitches may differ. Overlapping rectangles of one surface are
 * copied as through a temporary.
 */
#define TSR_OP_COPY			0x11
#define TSR_COPY_DWORDS			10

/*
 * BLIT: 1 destination slot, 2 source slot, 3 dst x | y << 16,
 * 4 dst w | h << 16, 5 src x | y << 16, 6 src w | h << 16,
 * 7 sampler | blend << 8, 8 colour (as TSR_STATE_COLOR), 9 zero.
 * Scales, converts and blends. The only sampler flag is TSR_SAMPLER_LINEAR:
 * samples are always clamped to the source rectangle.
 */
#define TSR_OP_BLIT			0x12
#define TSR_BLIT_DWORDS			10

/*
 * DRAW: 1 vertex slot (a buffer), 2 byte offset, 3 vertex count (a multiple of
 * 3, up to TSR_DRAW_MAX_VERTICES), flags (header) TSR_DRAW_TEXTURED.
 * Pixel centres are at .5, top-left fill rule, either winding.
 */
#define TSR_OP_DRAW			0x13
#define TSR_DRAW_DWORDS			4
#define TSR_DRAW_TEXTURED		0x01
#define TSR_DRAW_MAX_VERTICES		196608
#define TSR_VERTEX_BYTES		24
#define TSR_VERTEX_X			0	/* s32, 1/256 pixel */
#define TSR_VERTEX_Y			4
#define TSR_VERTEX_U			8	/* s32, 1/65536 texel */
#define TSR_VERTEX_V			12
#define TSR_VERTEX_COLOR		16	/* ARGB8888, interpolated */
#define TSR_VERTEX_PAD			20	/* zero */
#define TSR_VERTEX_COORD_MAX		0x003fffff /* |x|, |y| */

/*
 * QUERY_TIMESTAMP: 1 slot (a buffer), 2 byte offset (8-byte aligned), 3 zero.
 * Stores the device clock as u64 ns.
 */
#define TSR_OP_QUERY_TIMESTAMP		0x14
#define TSR_QUERY_TIMESTAMP_DWORDS	4

/*
 * FENCE_WAIT: 1 zero, 2-3 virtual address of a u64, a multiple of 8, 4-5 value.
 * Blocks until the u64 is at least the value, unsigned. It is read as by WAIT.
 * The page needs TSR_PTE_FENCE. Needs an address space, see SET_VM.
 */
#define TSR_OP_FENCE_WAIT		0x15
#define TSR_FENCE_WAIT_DWORDS		6

/*
 * FENCE_SIGNAL: the same dwords. Raises the u64 to the value, atomically, and
 * wakes waiting engines. A u64 that is not below the value stays as it is. The
 * page needs TSR_PTE_FENCE and TSR_PTE_WRITE.
 */
#define TSR_OP_FENCE_SIGNAL		0x16
#define TSR_FENCE_SIGNAL_DWORDS		6

/* Opcodes from here on are privileged: in the ring or in a kernel IB only. */
#define TSR_OP_PRIVILEGED		0x80

/*
 * JOB_BEGIN: 1 context id, 2-3 zero. Unbinds all slots, ends the address space
 * of the previous job, makes engine state undefined, clears the job status and
 * latches the start time.
 */
#define TSR_OP_JOB_BEGIN		0x80
#define TSR_JOB_BEGIN_DWORDS		4

/*
 * IB_CALL: header flag TSR_IB_USER for an unprivileged buffer; 1 total bytes,
 * 2-3 DMA address of the page list (u64 DMA addresses of TSR_PAGE_SIZE pages,
 * itself contiguous), 4 start, 5 end (byte offsets, multiples of 8, start <=
 * end <= total).
 *
 * Page list and total describe the whole buffer, start and end the part. IBs do
 * not nest. An error in the IB ends the IB; execution continues after the call.
 * With TSR_IB_VM dwords 2-3 are the virtual address of the buffer's first byte,
 * a multiple of 8.
 */
#define TSR_OP_IB_CALL			0x81
#define TSR_IB_CALL_DWORDS		6
#define TSR_IB_USER			0x01
#define TSR_IB_VM			0x02

/*
 * FENCE: flags TSR_FENCE_INTERRUPT; 1 zero, 2-3 value, 4-5 DMA address of the
 * job record or 0. Writes the record, then SEQNO and HEAD of the status page,
 * then raises the interrupt.
 */
#define TSR_OP_FENCE			0x82
#define TSR_FENCE_DWORDS		6
#define TSR_FENCE_INTERRUPT		0x01

/*
 * WAIT: 1 zero, 2-3 DMA address of a u64, 4-5 value. Blocks until
 * (s64)(*addr - value) >= 0.
 */
#define TSR_OP_WAIT			0x83
#define TSR_WAIT_DWORDS			6

/* TIMESTAMP: 1 zero, 2-3 DMA address of a u64. Stores the device clock. */
#define TSR_OP_TIMESTAMP		0x84
#define TSR_TIMESTAMP_DWORDS		4

/*
 * SIGNAL: flags TSR_SIGNAL_RAISE; 1 zero, 2-3 DMA address of a u64, 4-5 value.
 * Stores the value and wakes WAITs of other engines. With RAISE it stores the
 * value as FENCE_SIGNAL does: only if that raises the u64, and atomically.
 */
#define TSR_OP_SIGNAL			0x85
#define TSR_SIGNAL_DWORDS		6
#define TSR_SIGNAL_RAISE		0x01

/*
 * SET_VM: 1 ASID, 2-3 root: a page directory entry, or 0. Unbinds all slots.
 * Until the next JOB_BEGIN, base addresses of slots are virtual addresses of
 * this address space. Root 0 ends the address space.
 */
#define TSR_OP_SET_VM			0x86
#define TSR_SET_VM_DWORDS		4

/*
 * JOB_AFTER: 1 zero, 2-3 DMA address of a job record. If the status in that
 * record is not 0, or cannot be read, the status of this job becomes
 * TSR_ERR_SKIPPED, and IB_CALLs with TSR_IB_USER are skipped until the next
 * JOB_BEGIN.
 */
#define TSR_OP_JOB_AFTER		0x87
#define TSR_JOB_AFTER_DWORDS		4

/*
 * RESUME, TSR_CAP_PREEMPTION, in the ring only: 1 zero, 2-3 DMA address of a
 * context save area, a multiple of 8.
 *
 * It replaces the JOB_BEGIN of the saved job and is followed by the same
 * packets. The engine may be any one of the same type and number of slots. It
 * restores the job, sets MAGIC to TSR_SAVE_RESUMED and continues at the packet
 * TSR_SAVE_OFFSET bytes further on, which has to lie at or before the tail.
 */
#define TSR_OP_RESUME			0x88
#define TSR_RESUME_DWORDS		4

/*
 * Paging packets: paging engine only.
 *
 * TRANSFER: header flags below; 1 layouts: source | destination << 8; 2-3
 * source, 4-5 destination (GPU address, or DMA address of a page list), 6-7
 * bytes, 8-9 byte offset into the source page list, 10-11 into the destination
 * page list, 12 pitch (0 unless layouts differ), 13 zero.
 *
 * If the layouts differ, one of them is linear, addresses of the swizzled side
 * are tile-row aligned, and bytes is a multiple of 32 * pitch. The ranges may
 * overlap if both sides are GPU addresses and the layouts are equal.
 */
#define TSR_OP_TRANSFER			0x90
#define TSR_TRANSFER_DWORDS		14
#define TSR_TRANSFER_SRC_PAGES		0x01
#define TSR_TRANSFER_DST_PAGES		0x02
#define TSR_TRANSFER_START		0x04	/* first pass of an allocation's transfer */
#define TSR_TRANSFER_END		0x08	/* last pass */
#define TSR_TRANSFER_SRC_CACHED		0x10	/* CPU caches may hold pages of the source list */
/* The same for the destination list. Neither flag with TSR_CAP_IO_COHERENT. */
#define TSR_TRANSFER_DST_CACHED		0x20
#define TSR_TRANSFER_MAX_BYTES		0x100000000ULL /* maximum of one packet */

/*
 * PAGE_FILL: 1 value, 2-3 GPU address, 4-5 bytes (multiples of 8). Memory
 * segments only.
 */
#define TSR_OP_PAGE_FILL		0x91
#define TSR_PAGE_FILL_DWORDS		6

/*
 * MAP_APERTURE: 1 segment id, 2 first aperture page, 3 pages, 4-5 DMA address
 * of a list of aperture PTEs (u64).
 */
#define TSR_OP_MAP_APERTURE		0x92
#define TSR_MAP_APERTURE_DWORDS		6

/*
 * UNMAP_APERTURE: 1 segment id, 2 first aperture page, 3 pages. The pages then
 * show the dummy page.
 */
#define TSR_OP_UNMAP_APERTURE		0x93
#define TSR_UNMAP_APERTURE_DWORDS	4

/*
 * MARK: 1 TSR_MARK_*, 2-3 GPU address, 4-5 bytes, both page aligned. No effect
 * without TSR_CAP_STRICT. EVICTED also invalidates every slot of any engine
 * that overlaps the range, until the slot is bound again.
 */
#define TSR_OP_MARK			0x94
#define TSR_MARK_DWORDS			6

/*
 * WRITE_PTES: header flags below; 1 number of entries, up to TSR_PT_ENTRIES, in
 * one page; 2-3 address of the first entry; 4-5 its value, 6-7 increment for
 * each following entry. With TSR_PTES_LIST: 4-5 DMA address of the values, 6-7
 * zero. With TSR_PTES_GROUPS each value is written to sixteen entries.
 */
#define TSR_OP_WRITE_PTES		0xa0
#define TSR_WRITE_PTES_DWORDS		8
/* The table is at a GPU address of a memory segment; else at a DMA address. */
#define TSR_PTES_VRAM			0x01
#define TSR_PTES_LIST			0x02
/* Not with LIST. The first entry and the number are multiples of 16. */
#define TSR_PTES_GROUPS			0x04

/*
 * TLB_FLUSH, any engine: 1 ASID, 2-3 virtual address, 4-5 bytes. Invalidates
 * the translations of the range in all engines, whether they exist or not. Does
 * not wait for accesses in progress.
 */
#define TSR_OP_TLB_FLUSH		0xa1
#define TSR_TLB_FLUSH_DWORDS		6

/* Reserved for cache maintenance. */
#define TSR_OP_CACHE_MAINTAIN		0xa2

/* ---- Page table entries -------------------------------------------------- */

/* Aperture PTE: 64 bits. */
#define TSR_APTE_VALID			0x0000000000000001ULL
#define TSR_APTE_WRITE			0x0000000000000002ULL
/* Accesses snoop CPU caches. Coherent aperture segments only. */
#define TSR_APTE_COHERENT		0x0000000000000004ULL
/* CPU caches may hold the page. Accesses without COHERENT do not see them. */
#define TSR_APTE_CACHED			0x0000000000000008ULL
#define TSR_APTE_ADDR_MASK		0x0000fffffffff000ULL /* DMA address */

/*
 * Page tables of GPU virtual addresses: pages of 512 entries of 64 bits, in
 * four levels. Bits 47:39 of an address select the entry of level 3, 38:30 of
 * level 2, 29:21 of level 1, 20:12 of level 0. An entry of level 3 to 1 points
 * to the next table. An entry of level 0, or of level 1 with LEAF, points to
 * memory.
 */
#define TSR_PT_ENTRIES			512
#define TSR_PT_LEVELS			4
#define TSR_PTE_VALID			0x0000000000000001ULL /* else all other bits are ignored */
#define TSR_PTE_WRITE			0x0000000000000002ULL /* memory: the GPU may write */
/*
 * System memory: accesses snoop CPU caches. Reserved without
 * TSR_CAP_IO_COHERENT.
 */
#define TSR_PTE_COHERENT		0x0000000000000004ULL
/* The address is a GPU address of a memory segment; else a DMA address. */
#define TSR_PTE_VRAM			0x0000000000000008ULL
#define TSR_PTE_LEAF			0x0000000000000010ULL /* level 1: 2 MiB, aligned to 2 MiB */
/* Level 0: 64 KiB, aligned to 64 KiB, as 16 equal entries. */
#define TSR_PTE_64K			0x0000000000000020ULL
/* No memory and no address: reads return zero, writes are dropped. */
#define TSR_PTE_NULL			0x0000000000000040ULL
/*
 * System memory that CPU caches may hold. Accesses without COHERENT do not see
 * them.
 */
#define TSR_PTE_CACHED			0x0000000000000080ULL
/*
 * Level 0, system memory: a page of u64 that FENCE_WAIT and FENCE_SIGNAL access
 * as WAIT and SIGNAL do. All other accesses fail. Not with COHERENT, CACHED,
 * VRAM, 64K or NULL.
 */
#define TSR_PTE_FENCE			0x0000000000000100ULL
#define TSR_PTE_ADDR_MASK		0x0000fffffffff000ULL

#endif /* TESSERA_HW_H */
