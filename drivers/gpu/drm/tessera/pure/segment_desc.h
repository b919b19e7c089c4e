/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PURE_SEGMENT_DESC_H__
#define __TESSERA_PURE_SEGMENT_DESC_H__

#include "pure.h"

#include "tessera/tessera_hw.h"

/** TESSERA_SEGMENT_ID_MAX: the largest segment id; 0 is "no segment" */
#define TESSERA_SEGMENT_ID_MAX		TSR_MAX_SEGMENTS
/**
 * TESSERA_SEGMENT_MAX_PREFERRED: maximum number of preferences of an allocation
 */
#define TESSERA_SEGMENT_MAX_PREFERRED	5

/**
 * struct tessera_segment_desc - one segment descriptor as presented by the
 * device
 */
struct tessera_segment_desc {
	/** @id: from 1 to 31 */
	u32 id;
	/** @flags: TSR_SEGF_* */
	u32 flags;
	/** @base: GPU address of the first byte */
	u64 base;
	/** @size: bytes */
	u64 size;
	/**
	 * @commit_limit: maximum number of resident bytes; equals @size for
	 * VRAM
	 */
	u64 commit_limit;
	/**
	 * @cpu_offset: offset of the first byte in BAR 2, for CPU visible
	 * memory
	 */
	u64 cpu_offset;
	/** @page_size: granularity of placements, 4096 or 65536 */
	u32 page_size;
	/** @name: NUL-terminated */
	char name[TSR_SEG_NAME_BYTES];
};

/**
 * struct tessera_segment_limits - the parts of the address space outside all
 * segments
 */
struct tessera_segment_limits {
	/** @hidden_base: GPU address of the memory that is in no segment */
	u64 hidden_base;
	/** @hidden_size: size of that memory in bytes, may be 0 */
	u64 hidden_size;
	/** @cpu_window_bytes: size of BAR 2 */
	u64 cpu_window_bytes;
};

/**
 * struct tessera_segment_alloc - placement request of a new allocation
 */
struct tessera_segment_alloc {
	/** @size: bytes */
	u64 size;
	/** @supported: segments that may hold it, bit n is segment id n */
	u32 supported;
	/** @write_set: supported segments in which jobs may write it; 0: no restriction */
	u32 write_set;
	/** @evict_to: aperture segments to evict to, same encoding */
	u32 evict_to;
	/** @num_preferred: number of used elements of @preferred */
	u32 num_preferred;
	/** @preferred: segment ids in order of preference */
	u8 preferred[8];
	/** @layout: TSR_LAYOUT_* */
	u32 layout;
	/** @pitch: bytes per row of a swizzled layout, else 0 */
	u32 pitch;
	/** @alignment: alignment of its placements in bytes, or 0 */
	u64 alignment;
	/** @cpu_access: the CPU may map it */
	bool cpu_access;
	/** @cpu_cached: CPU mappings of its system pages are cached */
	bool cpu_cached;
	/** @gpu_read_only: no submission may write to it */
	bool gpu_read_only;
};

int tessera_segment_desc_check_flags(u32 flags);
int tessera_segment_desc_check(const struct tessera_segment_desc *descs,
			       unsigned int count,
			       const struct tessera_segment_limits *limits,
			       unsigned int *bad);
void tessera_segment_desc_limit(struct tessera_segment_desc *desc, u64 ram);
int tessera_segment_alloc_check(const struct tessera_segment_desc *descs,
				unsigned int count,
				const struct tessera_segment_alloc *alloc);
u32 tessera_segment_set(const struct tessera_segment_desc *descs,
			unsigned int count, u32 mask, u32 value);

#endif /* __TESSERA_PURE_SEGMENT_DESC_H__ */
