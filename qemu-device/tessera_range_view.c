/*
 * Tessera virtual GPU: what swizzling ranges show, as RAM
 *
 * Where the host can, the window of the swizzling ranges is RAM, and a range
 * that is on has its surface's rows there, as a copy. Accesses of CPUs cost
 * nothing then. What a CPU writes reaches VRAM when a doorbell rings, a picture
 * is taken, the range ends or the machine stops; what others write to VRAM
 * reaches the rows before its fence is written. In strict mode, whose referee
 * wants to see every access, and on other hosts the window traps.
 *
 * Both sides may write at the same time, to neighbouring bytes. So each range
 * also keeps its surface as it was when rows and VRAM were last alike, tile by
 * tile as in VRAM. A byte that differs from that was written on its side, and
 * only such bytes are carried to the other.
 *
 * Rows are copied in and out under the views' lock: with the BQL by who serves
 * the guest, without by engines.
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
    uint8_t *last;              /* when both were last alike */
    uint32_t y;                 /* in the tile */
} Strip;

static Strip strip_at(const TesseraState *s, const TesseraRangeView *v,
                      uint64_t x, uint32_t y)
{
    uint64_t tile = tessera_tile_offset(v->range.pitch, x, y);
    uint64_t row = (uint64_t)y * v->range.pitch + x;

    return (Strip) {
        .row = (uint32_t *)(s->views.ptr + v->at + row),
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

/* Carry the bytes that @from has new. Another side may write the others. */
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

/* From the row to VRAM, or back. Whether anything was new. */
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

/* ---- From the rows to VRAM ----------------------------------------------- */

typedef struct WriteBack {
    TesseraState *s;
    TesseraRangeView *v;
    TesseraSpan dirty;
} WriteBack;

static void note_dirty(WriteBack *wb, uint64_t offset)
{
    if (!tessera_dirty_join(&wb->dirty, offset, TSR_TILE_BYTES)) {
        tessera_dirty_mark(wb->s->vram, &wb->dirty);
        tessera_dirty_join(&wb->dirty, offset, TSR_TILE_BYTES);
    }
}

/* Some of the window, whole strips. Whether anything in it was new. */
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

/* Pages had nothing new. What comes before they are protected is looked for. */
static void protect(WriteBack *wb, uint64_t from, uint64_t end)
{
    if (from < end &&
        tessera_written_forget(&wb->s->views.written, from, end)) {
        write_back_some(wb, from, end);
    }
}

/*
 * Pages that count as written. One that was is likely to be written again,
 * which would cost a fault, and so is protected only when it had nothing new.
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

    if (!tessera_written_find(&s->views.written, from, from + v->bytes,
                              write_back_pages, &wb)) {
        warn_report_once("tessera: the host's kernel does not tell any more "
                         "which pages were written (%s)", strerror(errno));
        write_back_some(&wb, from, from + v->bytes);
    }
    tessera_dirty_mark(s->vram, &wb.dirty);
}

/* Under the BQL: engines and pictures find what CPUs have written. */
void tessera_range_views_write_back(TesseraState *s)
{
    if (likely(!s->views.num)) {
        return;
    }
    qemu_mutex_lock(&s->views.lock);
    for (uint32_t i = 0; i < s->cfg.swizzle_ranges; i++) {
        if (s->views.of[i].last) {
            write_back(s, &s->views.of[i]);
        }
    }
    qemu_mutex_unlock(&s->views.lock);
}

/* ---- From VRAM to the rows ----------------------------------------------- */

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

/* VRAM was written, by an engine or on the device's own account. Any thread. */
void tessera_range_views_refresh(TesseraState *s, uint64_t offset,
                                 uint64_t len)
{
    smp_mb();   /* bytes before the number, as in tessera_range_view_show() */
    if (likely(!qatomic_read(&s->views.num))) {
        return;
    }
    qemu_mutex_lock(&s->views.lock);
    for (uint32_t i = 0; i < s->cfg.swizzle_ranges; i++) {
        if (s->views.of[i].last) {
            refresh(s, &s->views.of[i], offset, len);
        }
    }
    qemu_mutex_unlock(&s->views.lock);
}

/* ---- Ranges come and go -------------------------------------------------- */

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
    /* The last page may have more than rows. */
    memset(s->views.ptr + v->at + rows, 0, v->bytes - rows);
}

/*
 * A range is to be on, and what it says was checked. False if the host has no
 * memory for that.
 */
bool tessera_range_view_show(TesseraState *s, uint32_t index, uint64_t at)
{
    TesseraRangeView *v = &s->views.of[index];
    const TesseraSwizzleRange *r = &s->ranges[index];
    uint64_t bytes = tessera_range_bytes(r);
    uint8_t *last;

    if (!s->views.ptr) {
        return true;
    }
    last = g_try_malloc(bytes);
    if (!last) {
        return false;
    }
    qemu_mutex_lock(&s->views.lock);
    *v = (TesseraRangeView) {
        .range = *r,
        .at = at,
        .bytes = bytes,
        .last = last,
    };
    qatomic_inc(&s->views.num);
    smp_mb();                   /* who writes VRAM from now on refreshes */
    fill(s, v);
    qemu_mutex_unlock(&s->views.lock);
    return true;
}

/* It is off; nothing is done if it was not on. Its rows read zero. */
void tessera_range_view_hide(TesseraState *s, uint32_t index)
{
    TesseraRangeView *v = &s->views.of[index];

    if (!v->last) {
        return;
    }
    qemu_mutex_lock(&s->views.lock);
    write_back(s, v);
    g_clear_pointer(&v->last, g_free);
    qatomic_dec(&s->views.num);
    qemu_mutex_unlock(&s->views.lock);
    if (ram_block_discard_range(s->swizzle_window.ram_block, v->at,
                                v->bytes)) {
        memset(s->views.ptr + v->at, 0, v->bytes);
    }
}

/* ---- Life cycle ---------------------------------------------------------- */

static bool init_ram(TesseraState *s)
{
    return memory_region_init_ram_flags_nomigrate(&s->swizzle_window, OBJECT(s),
                                                  "tessera.swizzle-window",
                                                  s->visible_bytes, RAM_PRIVATE,
                                                  NULL);
}

/* Why the window traps; NULL: it is RAM. */
static const char *why_not_ram(TesseraState *s)
{
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
    if (!tessera_written_init(&s->views.written,
                              memory_region_get_ram_ptr(&s->swizzle_window),
                              s->visible_bytes)) {
        object_unparent(OBJECT(&s->swizzle_window));
        ram_block_discard_require(false);
        return "the host's kernel does not tell which pages were written "
               "(userfaultfd, Linux 6.9)";
    }
    return NULL;
}

/* A round of migration sends what CPUs have written, too. */
static void sync_dirty(MemoryListener *listener, bool last_stage)
{
    TesseraState *s = container_of(listener, TesseraState, views.listener);

    if (global_dirty_tracking) {
        tessera_range_views_write_back(s);
    }
}

/* False: the window is to trap. */
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
    qemu_mutex_init(&s->views.lock);
    s->views.ptr = memory_region_get_ram_ptr(&s->swizzle_window);
    s->views.listener = (MemoryListener) {
        .name = "tessera-range-view",
        .priority = MEMORY_LISTENER_PRIORITY_DEV_BACKEND,
        .log_sync_global = sync_dirty,
    };
    memory_listener_register(&s->views.listener, &address_space_memory);
    return true;
}

/* The engines have gone. The RAM goes with the last who uses it. */
void tessera_range_views_fini(TesseraState *s)
{
    if (!s->views.ptr) {
        return;
    }
    for (uint32_t i = 0; i < s->cfg.swizzle_ranges; i++) {
        g_clear_pointer(&s->views.of[i].last, g_free);
    }
    memory_listener_unregister(&s->views.listener);
    s->views.num = 0;
    s->views.ptr = NULL;
    tessera_written_fini(&s->views.written);
    qemu_mutex_destroy(&s->views.lock);
    ram_block_discard_require(false);
}
