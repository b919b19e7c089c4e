/*
 * Tessera virtual GPU: linear views of swizzling ranges in RAM
 *
 * If the host permits, the window of the swizzling ranges is RAM, and an
 * enabled range has a linear copy of its surface's rows there. CPU accesses
 * then cause no exits. CPU writes reach VRAM when a doorbell rings, a picture
 * is taken, the range is disabled or the machine stops. Writes of others to
 * VRAM reach the rows before their fence is written. In strict mode, which
 * checks every access, and on other hosts accesses are emulated.
 *
 * Both sides may be written at the same time, in neighbouring bytes. So each
 * range also keeps a reference copy: its surface as it was when rows and VRAM
 * were last equal, in the tiled layout of VRAM. A byte that differs from the
 * reference copy was written on its side. Only such bytes are copied to the
 * other side.
 *
 * Rows are copied in both directions under the views' lock: by engines without
 * the BQL, by all others with it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_compat.h"
#include "qemu/atomic.h"
#include "qemu/error-report.h"
#include COMPAT_ADDRESS_SPACES_H
#include COMPAT_RAMBLOCK_API_H
#include COMPAT_MEMORY_H
#include "system/system.h"
#include "tessera_range_view.h"
#include "tessera_dirty.h"
#include "tessera_layout.h"
#include "trace.h"

#define WORD_BYTES      4               /* contiguous in every layout */

/* The part of a row that is in one tile. */
typedef struct Strip {
    uint32_t *row;
    uint8_t *tile;              /* in VRAM */
    uint8_t *last;              /* in the reference copy */
    uint32_t y;                 /* row in the tile */
} Strip;

static Strip strip_at(const TesseraState *s, const TesseraRangeView *v,
                      uint64_t x, uint32_t y)
{
    uint64_t tile = tessera_tile_offset(v->range.pitch, x, y);
    uint64_t row = (uint64_t)y * v->range.pitch + x;

    return (Strip) {
        .row = (uint32_t *)(s->views->ptr + v->at + row),
        .tile = s->vram_ptr + v->at + tile,
        .last = v->last + tile,
        .y = y % TSR_TILE_ROWS,
    };
}

static uint32_t in_tile(const TesseraRangeView *v, const Strip *strip,
                        uint32_t word)
{
    return tessera_swizzle_offset(v->range.layout, TSR_TILE_WIDTH_BYTES,
                                  word * WORD_BYTES, strip->y);
}

static bool all_bytes(uint32_t diff)
{
    return (diff & 0xff) && (diff & 0xff00) && (diff & 0xff0000) &&
           (diff & 0xff000000);
}

/*
 * Copy the bytes of @from that have changed since @last. Other bytes of @to may
 * be written by other threads meanwhile, so leave them alone.
 */
static bool merge(uint32_t *to, uint32_t *last, const uint32_t *from)
{
    uint32_t value = qatomic_read(from), diff = value ^ *last;
    const uint8_t *new_bytes = (const uint8_t *)&value;
    const uint8_t *diffs = (const uint8_t *)&diff;

    if (likely(!diff)) {
        return false;
    }
    if (all_bytes(diff)) {
        qatomic_set(to, value);
    } else {
        for (unsigned int i = 0; i < WORD_BYTES; i++) {
            if (diffs[i]) {
                qatomic_set((uint8_t *)to + i, new_bytes[i]);
            }
        }
    }
    *last = value;
    return true;
}

/* Merge a strip into VRAM, or back. Returns whether any byte had changed. */
static bool strip_merge(const TesseraRangeView *v, const Strip *strip,
                        bool to_vram)
{
    bool any = false;

    for (uint32_t w = 0; w < TSR_TILE_WIDTH_BYTES / WORD_BYTES; w++) {
        uint32_t at = in_tile(v, strip, w);
        uint32_t *row = strip->row + w;
        uint32_t *tile = (uint32_t *)(strip->tile + at);

        any |= merge(to_vram ? tile : row, (uint32_t *)(strip->last + at),
                     to_vram ? row : tile);
    }
    return any;
}

static void strip_fill(const TesseraRangeView *v, const Strip *strip)
{
    for (uint32_t w = 0; w < TSR_TILE_WIDTH_BYTES / WORD_BYTES; w++) {
        qatomic_set(strip->row + w,
                    *(uint32_t *)(strip->last + in_tile(v, strip, w)));
    }
}

/* ---- Rows to VRAM -------------------------------------------------------- */

typedef struct WriteBack {
    TesseraState *s;
    TesseraRangeView *v;
    TesseraSpan dirty;
} WriteBack;

static void note_dirty(WriteBack *wb, uint64_t offset)
{
    if (!tessera_span_join(&wb->dirty, offset, TSR_TILE_BYTES)) {
        tessera_dirty_mark(tessera_pci(wb->s)->vram, &wb->dirty);
        tessera_span_join(&wb->dirty, offset, TSR_TILE_BYTES);
    }
}

/*
 * Write back a part of the window, in whole strips. Returns whether any byte
 * had changed.
 */
static bool write_back_some(WriteBack *wb, uint64_t from, uint64_t end)
{
    TesseraState *s = wb->s;
    TesseraRangeView *v = wb->v;
    uint64_t at = from - v->at;
    uint64_t last = MIN(end - v->at,
                        tessera_range_rows_bytes(&v->range));
    bool written = false;

    for (; at < last; at += TSR_TILE_WIDTH_BYTES) {
        uint64_t x = at % v->range.pitch;
        uint32_t y = at / v->range.pitch;
        Strip strip = strip_at(s, v, x, y);

        if (strip_merge(v, &strip, true)) {
            note_dirty(wb, strip.tile - s->vram_ptr);
            written = true;
        }
    }
    return written;
}

/*
 * Write-protect pages without changes. A CPU may write before the protection is
 * in place, so then write them back again.
 */
static void protect(WriteBack *wb, uint64_t from, uint64_t end)
{
    if (from < end) {
        /* After an error, some of the pages may be protected. */
        tessera_written_forget(&wb->s->views->written, from, end);
        write_back_some(wb, from, end);
    }
}

/*
 * Write back pages that count as written. A page with changes is likely to be
 * written again, and each protection costs a fault then. So protect only pages
 * without changes.
 */
static void write_back_pages(void *opaque, uint64_t from, uint64_t end)
{
    WriteBack *wb = opaque;
    uint64_t quiet = from;

    for (uint64_t page = from; page < end; page += TSR_TILE_BYTES) {
        if (write_back_some(wb, page, page + TSR_TILE_BYTES)) {
            protect(wb, quiet, page);
            quiet = page + TSR_TILE_BYTES;
        }
    }
    protect(wb, quiet, end);
}

static void write_back(TesseraState *s, TesseraRangeView *v)
{
    WriteBack wb = { .s = s, .v = v };
    uint64_t from = v->at;

    if (!tessera_written_find(&s->views->written, from, from + v->bytes,
                              write_back_pages, &wb)) {
        warn_report_once("tessera: the host's kernel does not tell any more "
                         "which pages were written (%s)", strerror(errno));
        write_back_some(&wb, from, from + v->bytes);
    }
    tessera_dirty_mark(tessera_pci(s)->vram, &wb.dirty);
}

/* Called under the BQL, so that engines and pictures see the writes of CPUs. */
void tessera_range_views_write_back(TesseraState *s)
{
    if (likely(!s->views->num)) {
        return;
    }
    qemu_mutex_lock(&s->views->lock);
    for (uint32_t i = 0; i < s->cfg.swizzle_ranges; i++) {
        if (s->views->of[i].last) {
            write_back(s, &s->views->of[i]);
        }
    }
    qemu_mutex_unlock(&s->views->lock);
}

/* ---- VRAM to rows -------------------------------------------------------- */

static void refresh_tile(TesseraState *s, TesseraRangeView *v, uint64_t tile)
{
    uint32_t tiles = v->range.pitch / TSR_TILE_WIDTH_BYTES;
    uint64_t number = tile / TSR_TILE_BYTES;
    uint64_t x = number % tiles * TSR_TILE_WIDTH_BYTES;
    uint32_t y = number / tiles * TSR_TILE_ROWS;
    uint32_t end = MIN(y + TSR_TILE_ROWS, v->range.height);

    if (!memcmp(s->vram_ptr + v->at + tile, v->last + tile,
                TSR_TILE_BYTES)) {
        return;
    }
    for (; y < end; y++) {
        Strip strip = strip_at(s, v, x, y);

        strip_merge(v, &strip, false);
    }
}

static void refresh(TesseraState *s, TesseraRangeView *v, uint64_t offset,
                    uint64_t len)
{
    uint64_t base = v->at;
    uint64_t from = MAX(offset, base);
    uint64_t end = MIN(offset + len, base + v->bytes);

    if (from >= end) {
        return;
    }
    from = QEMU_ALIGN_DOWN(from - base, TSR_TILE_BYTES);
    for (uint64_t tile = from; tile < end - base; tile += TSR_TILE_BYTES) {
        refresh_tile(s, v, tile);
    }
}

/*
 * VRAM was written, by an engine or by the device itself. May be called by any
 * thread.
 */
void tessera_range_views_refresh(TesseraState *s, uint64_t offset,
                                 uint64_t len)
{
    smp_mb();   /* bytes before the number, as in tessera_range_view_show() */
    if (likely(!qatomic_read(&s->views->num))) {
        return;
    }
    qemu_mutex_lock(&s->views->lock);
    for (uint32_t i = 0; i < s->cfg.swizzle_ranges; i++) {
        if (s->views->of[i].last) {
            refresh(s, &s->views->of[i], offset, len);
        }
    }
    qemu_mutex_unlock(&s->views->lock);
}

/* ---- Enable and disable -------------------------------------------------- */

static void fill(TesseraState *s, TesseraRangeView *v)
{
    uint64_t rows = tessera_range_rows_bytes(&v->range);

    memcpy(v->last, s->vram_ptr + v->at, v->bytes);
    for (uint32_t y = 0; y < v->range.height; y++) {
        for (uint64_t x = 0; x < v->range.pitch; x += TSR_TILE_WIDTH_BYTES) {
            Strip strip = strip_at(s, v, x, y);

            strip_fill(v, &strip);
        }
    }
    /* The last page may be longer than the rows. */
    memset(s->views->ptr + v->at + rows, 0, v->bytes - rows);
}

/*
 * Show a range that is being enabled, after its registers were checked. Returns
 * false if the host has no memory for the reference copy.
 */
bool tessera_range_view_show(TesseraState *s, uint32_t index, uint64_t at)
{
    TesseraRangeView *v = &s->views->of[index];
    const TesseraSwizzleRange *r = &s->ranges[index];
    uint64_t bytes = tessera_range_bytes(r);
    uint8_t *last;

    if (!s->views->ptr) {
        return true;
    }
    last = g_try_malloc(bytes);
    if (!last) {
        return false;
    }
    qemu_mutex_lock(&s->views->lock);
    *v = (TesseraRangeView) {
        .range = *r,
        .at = at,
        .bytes = bytes,
        .last = last,
    };
    qatomic_inc(&s->views->num);
    /* writers of VRAM refresh the rows from now on */
    smp_mb();
    fill(s, v);
    qemu_mutex_unlock(&s->views->lock);
    return true;
}

/*
 * Hide a range that is disabled, if it was shown. Its rows then read as zero.
 */
void tessera_range_view_hide(TesseraState *s, uint32_t index)
{
    TesseraRangeView *v = &s->views->of[index];

    if (!v->last) {
        return;
    }
    qemu_mutex_lock(&s->views->lock);
    write_back(s, v);
    g_clear_pointer(&v->last, g_free);
    qatomic_dec(&s->views->num);
    qemu_mutex_unlock(&s->views->lock);
    if (ram_block_discard_range(tessera_pci(s)->swizzle_window.ram_block,
                                v->at, v->bytes)) {
        memset(s->views->ptr + v->at, 0, v->bytes);
    }
}

/* ---- Life cycle ---------------------------------------------------------- */

static bool init_ram(TesseraState *s)
{
    TesseraPCIState *d = tessera_pci(s);

    return memory_region_init_ram_flags_nomigrate(&d->swizzle_window, OBJECT(d),
                                                  "tessera.swizzle-window",
                                                  s->visible_bytes, RAM_PRIVATE,
                                                  NULL);
}

/* Try to make the window RAM. Returns the reason if it cannot be, or NULL. */
static const char *why_not_ram(TesseraState *s)
{
    MemoryRegion *window = &tessera_pci(s)->swizzle_window;

    if (qemu_real_host_page_size() > TSR_TILE_BYTES) {
        return "the host's pages are larger than a tile";
    }
    if (should_mlock(mlock_state)) {
        return "guest memory is locked";
    }
    if (ram_block_discard_require(true)) {
        return "other devices pin guest memory";
    }
    if (!init_ram(s)) {
        ram_block_discard_require(false);
        return "the host has no memory";
    }
    if (!tessera_written_init(&s->views->written,
                              memory_region_get_ram_ptr(window),
                              s->visible_bytes)) {
        object_unparent(OBJECT(window));
        ram_block_discard_require(false);
        return "the host's kernel does not tell which pages were written "
               "(userfaultfd, Linux 6.9)";
    }
    return NULL;
}

/* A round of migration has to send the writes of CPUs, too. */
static void sync_dirty(MemoryListener *listener, bool last_stage)
{
    TesseraState *s =
        &container_of(listener, TesseraPCIState, views.listener)->state;

    if (global_dirty_tracking) {
        tessera_range_views_write_back(s);
    }
}

/* Returns false if accesses have to be emulated. */
bool tessera_range_views_init(TesseraState *s)
{
    const char *why;

    if (s->cfg.strict) {
        return false;
    }
    why = why_not_ram(s);
    if (why) {
        warn_report("tessera: accesses through swizzling ranges are emulated: "
                    "%s", why);
        return false;
    }
    qemu_mutex_init(&s->views->lock);
    s->views->ptr =
        memory_region_get_ram_ptr(&tessera_pci(s)->swizzle_window);
    s->views->listener = (MemoryListener) {
        .name = "tessera-range-view",
        .priority = MEMORY_LISTENER_PRIORITY_DEV_BACKEND,
        .log_sync_global = sync_dirty,
    };
    memory_listener_register(&s->views->listener, &address_space_memory);
    return true;
}

/* Called after the engines have ended. The last reference frees the RAM. */
void tessera_range_views_fini(TesseraState *s)
{
    if (!s->views->ptr) {
        return;
    }
    for (uint32_t i = 0; i < s->cfg.swizzle_ranges; i++) {
        g_clear_pointer(&s->views->of[i].last, g_free);
    }
    memory_listener_unregister(&s->views->listener);
    s->views->num = 0;
    s->views->ptr = NULL;
    tessera_written_fini(&s->views->written);
    qemu_mutex_destroy(&s->views->lock);
    ram_block_discard_require(false);
}
