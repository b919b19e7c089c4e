/*
 * Tessera virtual GPU: device state and the units' interfaces
 *
 * The state is in four parts: configuration (properties, fixed at realize),
 * registers (what the guest wrote), derived state (segments, engines, page
 * states) and fault injection. Units are listed bottom up; a unit calls only
 * units above it.
 *
 * Locks, outermost first: BQL, TesseraEngine.lock, TesseraEngine.slot_lock,
 * TesseraState.err_lock. An engine thread never takes the BQL and holds no
 * lock while it touches guest memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_H
#define HW_DISPLAY_TESSERA_H

#include "hw/pci/pci_device.h"
#include "qemu/thread.h"
#include "qemu/timer.h"
#include "qom/object.h"
#include "tessera/tessera_hw.h"

#define TYPE_TESSERA "tessera"
OBJECT_DECLARE_SIMPLE_TYPE(TesseraState, TESSERA)

#define TESSERA_DEFAULT_SEGMENTS 4
#define TESSERA_NO_ENGINE        0xffffffffu
#define TESSERA_NO_SLOT          0xffffffffu
#define TESSERA_CHUNK_BYTES      (1024 * 1024)  /* between two looks at stop */
#define TESSERA_BOUNCE_BYTES     (64 * 1024)
#define TESSERA_STREAM_BYTES     (1024 * 1024)  /* more is not for the caches */
#define TESSERA_SCRATCH_BYTES    (32 * 1024)
#define TESSERA_LIST_ENTRIES     512            /* page list read-ahead */
#define TESSERA_TEXPAGES         64             /* texture page cache */

/* What a packet handler returns, beside TSR_ERR_*. */
#define TESSERA_STOPPED          0x100  /* a reset overtook the packet */
#define TESSERA_RETRY            0x101  /* run the packet again, see progress */

typedef struct TesseraEngine TesseraEngine;

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
    uint64_t *ptes;             /* aperture: TSR_APTE_*, atomic */
    uint32_t num_pages;
} TesseraSegment;

typedef struct TesseraSlot {
    uint64_t base;
    uint64_t limit;
    uint32_t surface;           /* 0: unbound */
    uint32_t pitch;
    uint32_t width;
    uint32_t height;
    uint32_t stale;             /* strict: evicted since bound; atomic */
} TesseraSlot;

typedef struct TesseraIb {
    bool active;
    bool user;
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

typedef struct TesseraTexPage {
    uint64_t off;               /* address; UINT64_MAX: empty */
    uint8_t data[TSR_PAGE_SIZE];
} TesseraTexPage;

struct TesseraEngine {
    TesseraState *s;
    uint32_t index;
    uint32_t type;
    QemuThread thread;

    /* Guards the fields up to "Thread only"; cond wakes the thread. */
    QemuMutex lock;
    QemuCond cond;
    QemuCond ack_cond;          /* the thread parked or finished a reset */
    bool exiting;
    bool exited;
    bool pause_req;
    bool parked;
    bool reset_req;
    bool reset_counts;          /* part of a device reset under way */
    bool enabled;
    bool busy;
    uint64_t ring_reg;
    uint32_t ring_size_reg;
    uint64_t status_page_reg;
    uint32_t slot_select;

    /* Read without the lock, atomically. */
    bool attention;             /* any request: leave at a packet boundary */
    bool stop;                  /* reset or exit: leave as soon as possible */
    bool halted;
    bool hung;
    bool waiting;
    uint32_t head;
    uint32_t tail;
    uint32_t context;
    uint32_t ib_offset;

    /* Thread only (others may look while it is parked). */
    uint64_t ring;
    uint32_t ring_size;
    uint64_t status_page;
    uint32_t irq_sent;
    TesseraIb ib;
    uint32_t job_status;
    uint32_t job_status_offset;
    uint64_t job_start_ns;
    uint32_t state[TSR_STATE_COUNT];
    uint32_t state_defined;     /* bit per state register */
    uint64_t progress[2];       /* of a packet interrupted by a park */
    uint32_t packet[TSR_PKT_MAX_DWORDS];
    uint32_t packet_offset;
    uint32_t fault_slot;
    uint64_t fault_addr;
    uint64_t dirty_lo;
    uint64_t dirty_hi;
    TesseraWindow window;
    bool transfer_open;         /* START seen, END not yet */
    uint8_t *bounce;            /* TESSERA_BOUNCE_BYTES */
    void *scratch;              /* TESSERA_SCRATCH_BYTES: one packet's state */
    uint8_t *band;              /* one band of tile rows, grown on demand */
    size_t band_bytes;
    uint32_t *frags;            /* one row of fragments */
    TesseraTexPage *texpages;   /* TESSERA_TEXPAGES */

    /* Written by the thread under slot_lock, which others take to look. */
    QemuMutex slot_lock;
    TesseraSlot *slots;
    uint32_t num_slots;
};

typedef struct TesseraErrorRecord {
    uint32_t type;
    uint32_t engine;
    uint32_t context;
    uint32_t packet;
    uint32_t offset;
    uint32_t slot;
    uint64_t addr;
} TesseraErrorRecord;

typedef struct TesseraConfig {
    uint64_t vram_size;
    uint64_t vram_hidden_size;
    uint64_t agp_ro_size;
    uint64_t agp_ro_commit;
    uint64_t gart_size;
    uint64_t gart_commit;
    uint64_t firmware_size;
    uint32_t page_size;
    uint32_t render_engines;
    uint32_t paging_engines;
    uint32_t num_slots;
    uint32_t max_ib_bytes;
    bool io_coherent;
    bool preemption;
    bool vram_preserved;
    bool strict;
    char *descriptor_fault;
} TesseraConfig;

struct TesseraState {
    PCIDevice parent_obj;

    /* Configuration */
    TesseraConfig cfg;

    /* Elements */
    MemoryRegion mmio;
    MemoryRegion vram;          /* segment 1, segment 2, hidden VRAM */
    MemoryRegion vram_bar;
    MemoryRegion vram_alias;
    uint8_t *vram_ptr;
    uint64_t vram_bytes;
    QEMUBH *irq_bh;
    QEMUBH *reset_bh;
    VMChangeStateEntry *vmstate_entry;
    Notifier exit_notifier;

    /* Registers (BQL) */
    bool gone;                  /* unplugged: registers read all ones */
    bool distrusted;            /* a load began that has not been accepted */
    uint64_t dummy_page;        /* atomic: engines read it */
    uint32_t scratch;
    uint64_t fw_addr;
    uint32_t fw_size;
    bool fw_running;            /* atomic */
    uint64_t mark_addr;
    uint64_t mark_size;
    uint32_t timestamp_hi;
    uint32_t int_mask;          /* atomic */
    uint32_t int_status;        /* atomic */

    QemuMutex err_lock;
    uint32_t err_count[TSR_ERR_TYPES];
    uint32_t err_total;
    uint32_t err_select;
    TesseraErrorRecord err_rec; /* the first of all */
    TesseraErrorRecord err_recs[TSR_ERR_TYPES]; /* the first of each type */
    uint32_t err_ever[TSR_ERR_TYPES]; /* never cleared; for the log */
    int64_t log_window_ns;
    uint32_t log_in_window;

    /* Derived */
    TesseraSegment segs[TESSERA_DEFAULT_SEGMENTS];
    uint32_t num_segs;
    TesseraSegment hidden;
    TesseraSegment descs[TSR_MAX_SEGMENTS + 1]; /* as reported */
    uint32_t num_descs;         /* as reported */
    uint8_t *page_state;        /* per VRAM page, atomic */
    uint32_t num_vram_pages;
    uint32_t caps;              /* TSR_CAP_* */
    TesseraEngine engines[TSR_MAX_ENGINES];
    uint32_t num_engines;
    uint32_t irq_pending;       /* vector bits, atomic */
    uint32_t reset_pending;     /* engines yet to reset, atomic */
    bool resetting;             /* atomic */

    /* Fault injection (atomic) */
    int32_t hang_engine;
    uint32_t drop_irq;
    uint32_t paging_delay_us;
    uint32_t render_delay_us;
    uint32_t fail_dma;
};

/* tessera_irq.c: vectors and the interrupt block */
void tessera_irq_init(TesseraState *s);
void tessera_irq_fini(TesseraState *s);
void tessera_irq_event(TesseraState *s, uint32_t bit);
void tessera_irq_engine(TesseraEngine *e);
void tessera_irq_mask_changed(TesseraState *s);
void tessera_irq_reset(TesseraState *s);
void tessera_irq_resume(TesseraState *s);

/* tessera_strict.c: guest errors and the referee */
enum {
    TESSERA_PAGE_NEVER,         /* never written */
    TESSERA_PAGE_VALID,
    TESSERA_PAGE_FREE,
    TESSERA_PAGE_EVICTED,
    TESSERA_PAGE_ALLOCATED,     /* owned, contents undefined */
    TESSERA_PAGE_STATES
};
void tessera_guest_error(TesseraState *s, TesseraEngine *e, uint32_t type,
                         uint64_t addr);
void tessera_errors_clear(TesseraState *s);
void tessera_errors_log_totals(TesseraState *s);
uint32_t tessera_fault(TesseraEngine *e, uint32_t type, uint32_t slot,
                       uint64_t addr);
uint32_t tessera_strict_access(TesseraEngine *e, uint64_t vram_offset,
                               uint64_t len, bool write, uint32_t slot);
uint32_t tessera_strict_mark(TesseraState *s, uint32_t command,
                             const TesseraSegment *seg, uint64_t gpa,
                             uint64_t size);
void tessera_strict_reset(TesseraState *s);
void tessera_strict_forget(TesseraState *s);

/*
 * tessera_mem.c: the only access to VRAM, apertures and guest RAM
 *
 * A view is a run of bytes the engine reads or writes: a range of GPU
 * addresses inside one segment, or a list of system pages. Offsets are from
 * its start and were checked against its size by whoever made the view.
 */
typedef struct TesseraView {
    TesseraEngine *e;
    TesseraSegment *seg;        /* NULL: a list of system pages */
    uint64_t base;              /* GPU address, or offset in the page list */
    uint64_t list;              /* DMA address of the page list */
    uint64_t vram_offset;       /* memory segments */
    uint32_t slot;              /* for error records */
    bool is_vram;
    bool stream;                /* goes past the caches */
    uint64_t win_first;         /* page list read-ahead */
    uint32_t win_count;
    uint64_t win[TESSERA_LIST_ENTRIES];
} TesseraView;

uint32_t tessera_dma_rw(TesseraEngine *e, uint64_t addr, void *buf,
                        uint64_t len, bool write, bool injectable);
TesseraSegment *tessera_mem_segment(TesseraState *s, uint64_t gpa,
                                    uint64_t len);
TesseraSegment *tessera_mem_aperture(TesseraState *s, uint32_t id);
uint32_t tessera_view_gpu(TesseraEngine *e, TesseraView *v, uint64_t gpa,
                          uint64_t len, bool write, uint32_t slot);
void tessera_view_pages(TesseraEngine *e, TesseraView *v, uint64_t list,
                        uint64_t offset);
uint32_t tessera_view_rw(TesseraView *v, uint64_t off, void *buf,
                         uint64_t len, bool write);
uint32_t tessera_view_ptr(TesseraView *v, uint64_t off, uint64_t len,
                          bool write, uint8_t **ptr);
uint32_t tessera_view_copy(TesseraView *d, uint64_t doff, TesseraView *s,
                           uint64_t soff, uint64_t len);
void tessera_mem_dirty(TesseraEngine *e, uint64_t vram_offset, uint64_t len);
void tessera_mem_flush_dirty(TesseraEngine *e);
uint8_t *tessera_mem_band(TesseraEngine *e, size_t bytes);

/* tessera_swizzle.c: layouts, on host memory and on views */
typedef struct TesseraRect {
    uint32_t layout;
    uint32_t pitch;
    uint64_t xb;                /* bytes from the left edge */
    uint32_t y;
    uint64_t nb;                /* bytes a row */
    uint32_t rows;
    bool stream;                /* the destination is not read again soon */
} TesseraRect;

uint64_t tessera_swizzle_offset(uint32_t layout, uint32_t pitch, uint64_t xb,
                                uint32_t y);
uint64_t tessera_swizzle_end(const TesseraRect *r);
uint32_t tessera_rect_read(TesseraView *v, const TesseraRect *r, uint8_t *dst,
                           uint64_t stride);
uint32_t tessera_rect_write(TesseraView *v, const TesseraRect *r,
                            const uint8_t *src, uint64_t stride);

/* tessera_surface.c: slots, and surfaces seen through them */
typedef struct TesseraSurface {
    uint32_t slot;
    uint32_t format;
    uint32_t layout;
    uint32_t pitch;             /* 0: a buffer */
    uint32_t width;
    uint32_t height;
    uint32_t bpp;               /* bytes per texel */
    uint64_t base;
    uint64_t limit;
} TesseraSurface;

uint32_t tessera_slot_bind(TesseraEngine *e, const uint32_t *p);
uint32_t tessera_slot_unbind(TesseraEngine *e, uint32_t slot);
void tessera_slots_clear(TesseraEngine *e);
bool tessera_slot_valid(const TesseraState *s, const TesseraSlot *slot);
uint32_t tessera_surface_get(TesseraEngine *e, uint32_t slot, uint32_t access,
                             TesseraSurface *surf);
uint32_t tessera_surface_view(TesseraEngine *e, const TesseraSurface *surf,
                              uint32_t x, uint32_t y, uint32_t w, uint32_t h,
                              bool write, TesseraView *v);
TesseraRect tessera_surface_rect(const TesseraSurface *surf, uint32_t x,
                                 uint32_t y, uint32_t w, uint32_t h);
uint32_t tessera_buffer_view(TesseraEngine *e, const TesseraSurface *surf,
                             uint64_t offset, uint64_t len, bool write,
                             TesseraView *v);

/* tessera_paging.c: paging packets */
uint32_t tessera_paging_transfer(TesseraEngine *e, const uint32_t *p);
uint32_t tessera_paging_fill(TesseraEngine *e, const uint32_t *p);
uint32_t tessera_paging_map(TesseraEngine *e, const uint32_t *p);
uint32_t tessera_paging_unmap(TesseraEngine *e, const uint32_t *p);
uint32_t tessera_paging_mark(TesseraEngine *e, const uint32_t *p);
void tessera_paging_reset(TesseraState *s);

/* tessera_copy.c: FILL and COPY */
uint32_t tessera_copy_fill(TesseraEngine *e, const uint32_t *p);
uint32_t tessera_copy_copy(TesseraEngine *e, const uint32_t *p);

/* tessera_pixel.c: formats, sampling, blending */
typedef struct TesseraTexture {
    TesseraSurface surf;
    TesseraView view;
    const uint8_t *host;        /* NULL: through the page cache */
    uint32_t x, y, w, h;        /* rectangle sampled */
    uint32_t sampler;
    uint64_t end;               /* of the bytes it may read */
    uint32_t err;               /* the first failed access */
} TesseraTexture;

bool tessera_pixel_format_ok(uint32_t format);
uint32_t tessera_pixel_mul(uint32_t a, uint32_t b);
uint32_t tessera_texture_init(TesseraEngine *e, TesseraTexture *t,
                              uint32_t slot, uint32_t sampler);
uint32_t tessera_texture_rect(TesseraEngine *e, TesseraTexture *t, uint32_t x,
                              uint32_t y, uint32_t w, uint32_t h);
uint32_t tessera_texture_sample(TesseraTexture *t, int64_t u, int64_t v);
uint32_t tessera_pixel_row(TesseraView *v, const TesseraSurface *surf,
                           uint32_t x, uint32_t y, uint32_t n,
                           const uint32_t *frags, uint32_t blend);

/* tessera_blit.c and tessera_raster.c */
uint32_t tessera_blit(TesseraEngine *e, const uint32_t *p);
uint32_t tessera_raster_draw(TesseraEngine *e, const uint32_t *p);

/* tessera_cmd.c: the opcode table */
uint32_t tessera_cmd_execute(TesseraEngine *e, const uint32_t *p, bool in_ib,
                             bool user);
bool tessera_cmd_length_ok(uint32_t header);

/* tessera_ring.c: engine threads, resets */
void tessera_engines_init(TesseraState *s);
void tessera_engines_stop(TesseraState *s);
void tessera_engines_free(TesseraState *s);
void tessera_engine_control(TesseraEngine *e, uint32_t value);
void tessera_engine_doorbell(TesseraEngine *e, uint32_t tail);
uint32_t tessera_engine_status(TesseraEngine *e);
void tessera_engines_reset_begin(TesseraState *s, bool counts);
void tessera_engines_reset_wait(TesseraState *s);
void tessera_engines_pause(TesseraState *s);
void tessera_engines_resume(TesseraState *s);
void tessera_device_reset(TesseraState *s);
void tessera_device_reset_begin(TesseraState *s);
void tessera_device_forget(TesseraState *s);

/* tessera_mmio.c: BAR 0 */
extern const MemoryRegionOps tessera_mmio_ops;

/* tessera_vmstate.c */
extern const VMStateDescription vmstate_tessera;

static inline bool tessera_stopping(TesseraEngine *e)
{
    return qatomic_read(&e->stop);
}

/*
 * Bytes between rows of a scratch band. Rows a power of two apart would share
 * cache sets, and a tile has 32 of them.
 */
static inline uint64_t tessera_band_stride(uint64_t row_bytes)
{
    return row_bytes + TSR_TILE_WIDTH_BYTES;
}

/* The device clock. */
static inline uint64_t tessera_clock_ns(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static inline uint64_t tessera_u64(const uint32_t *p)
{
    return p[0] | (uint64_t)p[1] << 32;
}

#endif /* HW_DISPLAY_TESSERA_H */
