/*
 * Tessera virtual GPU: state of the core
 *
 * The core is the part of the device that knows nothing of the machine around
 * it: what draws, copies, swizzles, scans out, translates addresses and judges
 * accesses. Its state has plain types, mutexes and threads of the host
 * (qemu/thread.h), and pointers that it does not follow. It calls the machine
 * through TesseraHostOps. The core units include this header and not
 * tessera.h. tests/host/Makefile lists them, and builds them without QEMU.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_CORE_H
#define HW_DISPLAY_TESSERA_CORE_H

#include "qemu/thread.h"
#include "tessera/tessera_hw.h"
#include "tessera_access.h"
#include "tessera_host_ops.h"

/* Larger transfers bypass the host's caches. */
#define TESSERA_STREAM_BYTES     (1024 * 1024)
#define TESSERA_STREAM_COPY_BYTES (2 * 1024 * 1024)     /* for COPY */
#define TESSERA_SCRATCH_BYTES    (32 * 1024)
#define TESSERA_TEXPAGES         1024           /* texture page cache */

typedef struct TesseraEngine TesseraEngine;
typedef struct TesseraHead TesseraHead; /* tessera_head.h */
typedef struct TesseraMicrocode TesseraMicrocode; /* tessera_microcode.h */

/* Parts of the device that the core does not look into. */
typedef struct TesseraCoherence TesseraCoherence; /* tessera_coherence.c */
typedef struct TesseraHostAperture TesseraHostAperture; /* tessera.h */
typedef struct TesseraRangeViews TesseraRangeViews; /* tessera.h */

typedef struct TesseraSegment {
    uint32_t id;                /* 0: hidden VRAM */
    uint32_t flags;             /* TSR_SEGF_* */
    uint64_t base;              /* GPU address */
    uint64_t size;
    uint64_t commit;
    uint64_t cpu_offset;
    uint32_t page_size;
    char name[TSR_SEG_NAME_BYTES];
    uint64_t vram_offset;       /* memory: offset in the VRAM block */
    uint64_t *ptes;             /* aperture, UMA: TSR_APTE_*, atomic */
    uint32_t num_pages;
} TesseraSegment;

typedef struct TesseraSlot {
    uint64_t base;
    uint64_t limit;
    uint32_t surface;           /* 0: unbound */
    uint32_t pitch;
    uint32_t width;
    uint32_t height;
    /* strict mode: evicted since it was bound; atomic */
    uint32_t stale;
} TesseraSlot;

typedef struct TesseraIb {
    bool active;
    bool user;
    /* @list is the virtual address of the first byte */
    bool vm;
    uint32_t total;
    uint32_t cur;
    uint32_t end;
    uint64_t list;
} TesseraIb;

/* Read-ahead of packets; never migrated. */
typedef struct TesseraWindow {
    uint32_t start;
    uint32_t bytes;
    uint8_t data[TSR_PAGE_SIZE];
} TesseraWindow;

/*
 * A request of an engine to a thread with the BQL: find RAM at a bus address.
 */
typedef struct TesseraLookup {
    enum {
        TESSERA_LOOKUP_IDLE,
        TESSERA_LOOKUP_ASKED,
        TESSERA_LOOKUP_SERVED,  /* in progress */
    } state;
    bool write;
    uint64_t addr;
    uint64_t len;
} TesseraLookup;

struct TesseraEngine {
    TesseraState *s;
    TesseraMaster m;            /* attention and stop are set under the lock */
    uint32_t index;
    uint32_t type;
    QemuThread thread;

    /* Guards the fields up to "Thread only". cond wakes the thread. */
    QemuMutex lock;
    QemuCond cond;
    QemuCond ack_cond;          /* parked, reset, exited; lookup changed */
    TesseraLookup lookup;
    bool exiting;
    bool exited;
    bool pause_req;
    bool parked;
    bool reset_req;
    bool reset_counts;          /* the reset is part of a device reset */
    bool preempt_req;           /* also read without the lock, atomically */
    /* fault injection: the request is never answered */
    bool preempt_stuck;
    bool preempted;             /* answered; not enabled or reset since */
    bool enabled;
    bool busy;
    uint64_t ring_reg;
    uint32_t ring_size_reg;
    uint64_t status_page_reg;
    uint64_t save_reg;
    uint64_t save_addr;         /* save area of preempt_req */
    uint32_t slot_select;

    /* Read without the lock, atomically. */
    bool halted;
    bool hung;
    bool waiting;
    uint32_t halt_job;          /* fault injection: jobs until the halt */
    uint32_t head;
    uint32_t tail;
    uint32_t ib_offset;

    /* Thread only. Others may read these fields while the thread is parked. */
    uint64_t ring;
    uint32_t ring_size;
    uint64_t status_page;
    uint32_t irq_sent;
    TesseraIb ib;
    bool job_begun;             /* a job has begun in this ring... */
    uint32_t job_head;          /* ...at this offset; since the enable */
    uint32_t job_status;
    uint32_t job_status_offset;
    uint64_t job_start_ns;
    uint32_t state[TSR_STATE_COUNT];
    uint32_t state_defined;     /* bit per state register */
    uint64_t progress[2];       /* of a packet that returned TESSERA_RETRY */
    uint32_t wait_seen;         /* TesseraState.signals before the last read */
    uint32_t wait_timeouts;     /* how often this WAIT has timed out */
    uint32_t packet[TSR_PKT_MAX_DWORDS];
    TesseraWindow window;
    bool transfer_open;         /* START seen, END not yet */
    void *scratch;              /* TESSERA_SCRATCH_BYTES: one packet's state */
    uint8_t *band;              /* one band of tile rows, grown on demand */
    size_t band_bytes;
    uint32_t *frags;            /* one row of fragments */
    TesseraMicrocode *microcode; /* as last read by this engine */
    uint64_t *texpage;          /* TESSERA_TEXPAGES addresses + 1; 0: empty */
    uint8_t *texdata;           /* the data of those pages */

    /*
     * Changed by the thread under slot_lock, which other threads take to read.
     */
    QemuMutex slot_lock;
    TesseraSlot *slots;
    uint32_t num_slots;
};

typedef struct TesseraSwizzleRange {
    uint64_t base;              /* GPU address */
    uint32_t layout;
    uint32_t pitch;
    uint32_t height;
    bool enabled;               /* set only after a successful check */
} TesseraSwizzleRange;

static inline uint64_t tessera_range_rows_bytes(const TesseraSwizzleRange *r)
{
    return (uint64_t)r->pitch * r->height;
}

/* Size in VRAM, in whole tiles. */
static inline uint64_t tessera_range_bytes(const TesseraSwizzleRange *r)
{
    return (uint64_t)r->pitch * ROUND_UP(r->height, TSR_TILE_ROWS);
}

struct TesseraErrorRecord {
    uint32_t type;
    uint32_t engine;
    uint32_t context;
    uint32_t packet;
    uint32_t offset;
    uint32_t slot;
    uint64_t addr;
    uint32_t access;
};

typedef enum TesseraSegmentKind {
    TESSERA_VISIBLE,
    TESSERA_INVISIBLE,
    TESSERA_READ_ONLY,
    TESSERA_GART,
    TESSERA_UMA,
    TESSERA_SEGMENT_KINDS,
} TesseraSegmentKind;

typedef struct TesseraSegmentConfig {
    TesseraSegmentKind kind;
    uint64_t size;
    uint64_t commit;
} TesseraSegmentConfig;

typedef struct TesseraConfig {
    char *segment_list;         /* property; NULL: use the sizes */
    TesseraSegmentConfig segments[TSR_MAX_SEGMENTS];
    uint32_t num_segments;
    uint64_t vram_size;
    uint64_t vram_hidden_size;
    uint64_t agp_ro_size;
    uint64_t agp_ro_commit;
    uint64_t gart_size;
    uint64_t gart_commit;
    uint64_t firmware_size;
    uint64_t host_aperture_size;
    uint32_t page_size;
    uint32_t swizzle_ranges;
    uint32_t swizzle_store;     /* bytes; 0: no limit */
    uint32_t render_engines;
    uint32_t paging_engines;
    uint32_t num_slots;
    uint32_t max_ib_bytes;
    uint32_t cached_pages;
    bool io_coherent;
    bool preemption;
    bool vm;
    bool resizable_bar;
    uint64_t resizable_bar_size;
    bool vram_preserved;
    bool strict;
    bool variable_refresh;
    bool lose_vram;
    char *descriptor_fault;
    uint32_t outputs;
    uint32_t connected;         /* bit per output, initial value */
} TesseraConfig;

/*
 * The state has four parts: configuration (properties, fixed at realize),
 * registers (values that the guest wrote), derived state and fault injection.
 *
 * Locks, outermost first: BQL, TesseraEngine.lock, TesseraEngine.slot_lock,
 * TesseraState.err_lock. The locks of a TLB, of the coherence unit and of the
 * range views are innermost and do not nest. An engine thread never takes the
 * BQL. It holds neither lock of its engine while it touches guest memory,
 * because behind an IOMMU it may sleep there until a thread with the BQL has
 * translated the address (tessera_iommu.c).
 */
struct TesseraState {
    const TesseraHostOps *ops;
    TesseraConfig cfg;

    /* Elements */
    uint64_t swizzle_window_offset; /* in BAR 2 */
    uint8_t *vram_ptr;          /* see tessera_segments.c */
    uint64_t vram_bytes;
    uint64_t visible_bytes;     /* initially visible in BAR 2 */
    uint64_t memory_bytes;      /* size of all segments */
    uint64_t bar_bytes;         /* size of BAR 2 now */
    uint16_t rebar;             /* Resizable BAR capability, or 0 */
    TesseraHostAperture *ha;    /* table and registers: BQL */
    TesseraRangeViews *views;
    TesseraCoherence *coherence;

    /* Registers (BQL) */
    TesseraMaster cpu;          /* requester for register accesses */
    bool vm_running;            /* also while the guest is suspended */
    bool gone;                  /* unplugged: registers read all ones */
    bool distrusted;            /* a load has begun, and is not accepted yet */
    uint64_t dummy_page;        /* atomic: engines read it */
    uint32_t scratch;
    uint64_t fw_addr;
    uint32_t fw_size;
    bool fw_running;            /* atomic */
    uint64_t fw_base;           /* GPU address of the image; atomic */
    uint64_t mark_addr;
    uint64_t mark_size;
    uint64_t coh_addr;
    uint32_t coh_size;
    uint32_t timestamp_hi;
    TesseraSwizzleRange ranges[TSR_MAX_SWIZZLE_RANGES];
    uint32_t int_mask;          /* atomic */
    uint32_t int_status;        /* atomic */

    QemuMutex err_lock;
    uint32_t err_count[TSR_ERR_TYPES];
    uint32_t err_total;
    uint32_t err_select;
    TesseraErrorRecord err_rec; /* the first of all */
    TesseraErrorRecord err_recs[TSR_ERR_TYPES]; /* the first of each type */
    uint32_t err_ever[TSR_ERR_TYPES]; /* never cleared; for the log */

    /* Derived */
    TesseraSegment segs[TSR_MAX_SEGMENTS]; /* in the order of their numbers */
    uint32_t num_segs;
    TesseraSegment hidden;
    TesseraSegment descs[TSR_MAX_SEGMENTS + 1]; /* as reported */
    uint32_t num_descs;         /* as reported */
    uint8_t *page_state;        /* per VRAM page, TESSERA_PAGE_*, atomic */
    uint32_t num_vram_pages;
    uint32_t poison_next;       /* BQL */
    uint32_t caps;              /* TSR_CAP_* */
    TesseraEngine engines[TSR_MAX_ENGINES];
    uint32_t num_engines;
    uint32_t signals;           /* counts events that may end a WAIT; atomic */
    TesseraHead *heads;         /* of the display (BQL) */
    uint32_t num_heads;
    uint32_t pictures;          /* drawn for consoles (BQL) */
    /* stores to VRAM are logged for consoles (BQL) */
    bool logging;
    /* a console was updated since the timer was set */
    bool looked;
    uint64_t picture_ns;        /* earliest next picture (BQL) */
    uint32_t irq_pending;       /* vector bits, atomic */
    uint32_t reset_pending;     /* engines that still have to reset, atomic */
    bool resetting;             /* atomic */
    bool reset_stuck;           /* fault injection: it never ends (BQL) */

    /* Fault injection (atomic) */
    int32_t hang_engine;
    uint32_t drop_irq;
    uint32_t halt_job;          /* initial value; the engines count */
    uint32_t paging_delay_us;
    uint32_t render_delay_us;
    uint32_t fence_gap_us;
    uint32_t fail_dma;
    uint32_t hold_after;
    uint32_t stick_preempt;
    uint32_t fail_reset;
    uint32_t refuse_width;
    uint32_t fail_mapping;
    uint32_t picture_us;
    uint32_t wait_poll_ms;
};

static inline uint64_t tessera_u64(const uint32_t *p)
{
    return p[0] | (uint64_t)p[1] << 32;
}

#endif /* HW_DISPLAY_TESSERA_CORE_H */
