/*
 * Tessera virtual GPU: paging packets
 *
 * TRANSFER, PAGE_FILL, aperture tables and ownership marks: the packets of the
 * driver's memory manager. Called from the threads of paging engines by the
 * command decoder.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include "tessera_paging.h"
#include "tessera_mark.h"
#include "tessera_strict.h"
#include "tessera_swizzle.h"
#include "trace.h"

#define PIECE_BYTES     65536   /* of a row, at a time */
#define MAP_PAGES       512     /* aperture entries at a time */
#define UNMAP_PAGES     65536   /* entries cleared at a time */

typedef struct Transfer {
    uint32_t src_layout, dst_layout;
    uint64_t src, dst, bytes, src_off, dst_off;
    uint32_t pitch;
    TesseraView sview, dview;
} Transfer;

static bool transfer_decode(Transfer *t, const uint32_t *p)
{
    uint32_t flags = (p[0] & TSR_PKT_FLAGS_MASK) >> TSR_PKT_FLAGS_SHIFT;

    t->src_layout = p[1] & 0xff;
    t->dst_layout = (p[1] >> 8) & 0xff;
    t->src = tessera_u64(&p[2]);
    t->dst = tessera_u64(&p[4]);
    t->bytes = tessera_u64(&p[6]);
    t->src_off = tessera_u64(&p[8]);
    t->dst_off = tessera_u64(&p[10]);
    t->pitch = p[12];
    if ((p[1] >> 16) || p[13] || t->src_layout >= TSR_LAYOUT_COUNT ||
        t->dst_layout >= TSR_LAYOUT_COUNT ||
        t->bytes > TSR_TRANSFER_MAX_BYTES) {
        return false;
    }
    /* Only a page list has an offset. A list is an array of u64. */
    if ((flags & TSR_TRANSFER_SRC_PAGES)
        ? t->src % 8 || t->src_off >> TSR_ADDRESS_BITS : t->src_off) {
        return false;
    }
    return !((flags & TSR_TRANSFER_DST_PAGES)
             ? t->dst % 8 || t->dst_off >> TSR_ADDRESS_BITS : t->dst_off);
}

/*
 * A device that can snoop always snoops for page lists, so it refuses the
 * flags. They are valid with io-coherent=off, and for page lists only.
 */
static bool cached_flags_ok(TesseraState *s, uint32_t flags)
{
    if (!(flags & (TSR_TRANSFER_SRC_CACHED | TSR_TRANSFER_DST_CACHED))) {
        return true;
    }
    return !s->cfg.io_coherent &&
           ((flags & TSR_TRANSFER_SRC_PAGES) ||
            !(flags & TSR_TRANSFER_SRC_CACHED)) &&
           ((flags & TSR_TRANSFER_DST_PAGES) ||
            !(flags & TSR_TRANSFER_DST_CACHED));
}

static uint32_t transfer_side(TesseraEngine *e, TesseraView *v, bool pages,
                              uint64_t addr, uint64_t off, uint64_t bytes,
                              bool write)
{
    if (pages) {
        tessera_view_pages(&e->m, v, addr, off);
        return TSR_ERR_NONE;
    }
    return tessera_view_gpu(&e->m, v, addr, bytes, write, TESSERA_NO_SLOT);
}

/*
 * If the layouts differ, one side has to be linear, and the other has to
 * consist of whole tile rows.
 */
static uint32_t transfer_layout_check(TesseraEngine *e, const Transfer *t,
                                      bool tiled_pages)
{
    uint64_t tiled = t->src_layout != TSR_LAYOUT_LINEAR
                     ? (tiled_pages ? t->src_off : t->src)
                     : (tiled_pages ? t->dst_off : t->dst);

    if ((t->src_layout != TSR_LAYOUT_LINEAR &&
         t->dst_layout != TSR_LAYOUT_LINEAR) ||
        !t->pitch || t->pitch > TSR_SURF_MAX_PITCH ||
        t->pitch % TSR_TILE_WIDTH_BYTES || tiled % TSR_TILE_BYTES ||
        t->bytes % ((uint64_t)t->pitch * TSR_TILE_ROWS)) {
        return tessera_fault(&e->m, TSR_ERR_SURFACE, TESSERA_NO_SLOT, tiled);
    }
    return TSR_ERR_NONE;
}

/*
 * Transfer a piece through a linear buffer, because rows of its tiles may cross
 * pages.
 */
static uint32_t transfer_piece(TesseraEngine *e, Transfer *t,
                               TesseraRect *tiled, TesseraRect *linear,
                               bool store)
{
    uint64_t stride = tessera_band_stride(linear->nb);
    uint8_t *lin = tessera_band(e, stride * TSR_TILE_ROWS);
    uint32_t err;

    tiled->stream = store;
    err = tessera_rect_read(&t->sview, store ? linear : tiled, lin, stride);
    return err ? err : tessera_rect_write(&t->dview, store ? tiled : linear,
                                          lin, stride);
}

/* Transfer a piece of a band: one tile row high, at most PIECE_BYTES wide. */
static uint32_t transfer_band(TesseraEngine *e, Transfer *t,
                              TesseraRect *tiled, TesseraRect *linear,
                              bool store)
{
    TesseraView *linear_view = store ? &t->sview : &t->dview;
    TesseraView *tiled_view = store ? &t->dview : &t->sview;
    uint32_t err;

    tiled->stream = true;
    if (linear_view->is_vram) {
        return tessera_rect_direct(tiled_view, tiled, linear_view, linear,
                                   store);
    }
    if (tessera_rect_scattered(tiled_view, tiled, linear_view, linear, store,
                               &err)) {
        return err;
    }
    return transfer_piece(e, t, tiled, linear, store);
}

/* progress[]: bytes of whole bands; bytes of each row of the next band. */
static uint32_t transfer_swizzle(TesseraEngine *e, Transfer *t)
{
    bool store = t->dst_layout != TSR_LAYOUT_LINEAR;
    uint64_t band = (uint64_t)t->pitch * TSR_TILE_ROWS;
    uint64_t *done = &e->progress[0], *xb = &e->progress[1];
    TesseraRect linear = {
        .layout = TSR_LAYOUT_LINEAR,
        .pitch = t->pitch,
        .rows = TSR_TILE_ROWS,
    };
    uint32_t err = TSR_ERR_NONE;

    if (*done % band || *xb % PIECE_BYTES || *xb >= t->pitch) {
        return TSR_ERR_PACKET;
    }
    while (*done < t->bytes && !err) {
        TesseraRect tiled;

        linear.y = *done / band * TSR_TILE_ROWS;
        linear.xb = *xb;
        linear.nb = MIN(t->pitch - *xb, PIECE_BYTES);
        tiled = linear;
        tiled.layout = store ? t->dst_layout : t->src_layout;
        tessera_access_enter(&e->m);
        err = transfer_band(e, t, &tiled, &linear, store);
        tessera_access_leave(&e->m);
        if (err) {
            return err;
        }
        *xb += linear.nb;
        if (*xb == t->pitch) {
            *xb = 0;
            *done += band;
        }
        err = *done < t->bytes ? tessera_leave(&e->m) : TSR_ERR_NONE;
    }
    return err;
}

/* PAGE-4: a transfer must not start before the previous one has ended. */
static void referee_passes(TesseraEngine *e, uint32_t flags)
{
    if (flags & TSR_TRANSFER_START) {
        if (e->transfer_open && e->s->cfg.strict) {
            tessera_guest_error(&e->m, TSR_ERR_STRICT_TRANSFER, 0);
        }
        e->transfer_open = true;
    }
    if (flags & TSR_TRANSFER_END) {
        e->transfer_open = false;
    }
}

uint32_t tessera_paging_transfer(TesseraEngine *e, const uint32_t *p)
{
    uint32_t flags = (p[0] & TSR_PKT_FLAGS_MASK) >> TSR_PKT_FLAGS_SHIFT;
    bool src_pages = flags & TSR_TRANSFER_SRC_PAGES;
    bool dst_pages = flags & TSR_TRANSFER_DST_PAGES;
    Transfer *t = e->scratch;
    uint32_t err;
    bool differ;

    QEMU_BUILD_BUG_ON(sizeof(Transfer) > TESSERA_SCRATCH_BYTES);
    if (!transfer_decode(t, p) || !cached_flags_ok(e->s, flags)) {
        return TSR_ERR_PACKET;
    }
    trace_tessera_transfer(e->index, flags, t->src, t->dst, t->bytes, p[1]);
    differ = t->src_layout != t->dst_layout;
    if (differ) {
        err = transfer_layout_check(e, t, t->src_layout != TSR_LAYOUT_LINEAR
                                          ? src_pages : dst_pages);
    } else {
        err = t->pitch ? TSR_ERR_PACKET : TSR_ERR_NONE;
    }
    if (err) {
        return err;
    }
    if (!e->progress[0] && !e->progress[1]) {
        referee_passes(e, flags);
    }
    if (!t->bytes) {
        return TSR_ERR_NONE;
    }
    err = transfer_side(e, &t->sview, src_pages, t->src, t->src_off, t->bytes,
                        false);
    if (!err) {
        err = transfer_side(e, &t->dview, dst_pages, t->dst, t->dst_off,
                            t->bytes, true);
    }
    if (err) {
        return err;
    }
    t->sview.past_caches = flags & TSR_TRANSFER_SRC_CACHED;
    t->dview.past_caches = flags & TSR_TRANSFER_DST_CACHED;
    if (differ) {
        return transfer_swizzle(e, t);
    }
    return tessera_view_copy(&t->dview, 0, &t->sview, 0, t->bytes,
                             &e->progress[0]);
}

uint32_t tessera_paging_fill(TesseraEngine *e, const uint32_t *p)
{
    uint64_t gpa = tessera_u64(&p[2]), bytes = tessera_u64(&p[4]);
    uint64_t *done = &e->progress[0];
    TesseraView *v = e->scratch;
    uint32_t err;

    if ((gpa | bytes | *done) % 8) {
        return TSR_ERR_PACKET;
    }
    err = tessera_view_gpu(&e->m, v, gpa, bytes, true, TESSERA_NO_SLOT);
    if (err) {
        return err;
    }
    if (!v->is_vram) {
        return tessera_fault(&e->m, TSR_ERR_SEGMENT, TESSERA_NO_SLOT, gpa);
    }
    if (!*done) {
        trace_tessera_page_fill(e->index, gpa, bytes, p[1]);
    }
    while (*done < bytes && !err) {
        uint64_t n = MIN(bytes - *done, TESSERA_CHUNK_BYTES);
        TesseraRun run;

        err = tessera_view_begin(v, *done, n, true, &run);
        if (err) {
            return err;
        }
        if (p[1] == (p[1] & 0xff) * 0x01010101u) {
            memset(run.ptr, p[1] & 0xff, n);
        } else {
            for (uint64_t i = 0; i < n; i += 4) {
                stl_le_p(run.ptr + i, p[1]);
            }
        }
        err = tessera_view_end(v, &run, n);
        if (!err) {
            *done += n;
            err = *done < bytes ? tessera_leave(&e->m) : TSR_ERR_NONE;
        }
    }
    return err;
}

static TesseraSegment *aperture_range(TesseraEngine *e, uint32_t id,
                                      uint32_t first, uint32_t pages)
{
    TesseraSegment *seg = tessera_view_aperture(e->s, id);

    if (!seg || first > seg->num_pages || pages > seg->num_pages - first) {
        return NULL;
    }
    return seg;
}

static uint32_t check_pte(TesseraEngine *e, TesseraSegment *seg, uint64_t pte)
{
    const uint64_t known = TSR_APTE_VALID | TSR_APTE_WRITE |
                           TSR_APTE_COHERENT | TSR_APTE_CACHED |
                           TSR_APTE_ADDR_MASK;

    if (pte & ~known) {
        return tessera_fault(&e->m, TSR_ERR_PACKET, TESSERA_NO_SLOT, pte);
    }
    if ((pte & TSR_APTE_COHERENT) &&
        !(seg->flags & TSR_SEGF_CACHE_COHERENT)) {
        return tessera_fault(&e->m, TSR_ERR_SEGMENT, TESSERA_NO_SLOT, pte);
    }
    return TSR_ERR_NONE;
}

/* PAGE-9: a mapping must be removed before its page is mapped anew. */
static void referee_map(TesseraEngine *e, TesseraSegment *seg, uint32_t page,
                        uint64_t pte)
{
    if (e->s->cfg.strict && (pte & TSR_APTE_VALID) &&
        qatomic_read__nocheck(&seg->ptes[page])) {
        e->m.fault_slot = TESSERA_NO_SLOT;
        tessera_guest_error(&e->m, TSR_ERR_STRICT_OVERLAP,
                            seg->base + ((uint64_t)page << TSR_PAGE_SHIFT));
    }
}

static uint32_t map_pages(TesseraEngine *e, TesseraSegment *seg,
                          uint32_t first, uint32_t n, uint64_t list)
{
    uint64_t ptes[MAP_PAGES];
    uint32_t err = tessera_dma_rw(&e->m, list, ptes, n * 8, false, true);

    for (uint32_t i = 0; i < n && !err; i++) {
        uint64_t pte = le64_to_cpu(ptes[i]);

        err = check_pte(e, seg, pte);
        if (!err) {
            trace_tessera_map_aperture_pte(seg->id, first + i, pte);
            referee_map(e, seg, first + i, pte);
            qatomic_set__nocheck(&seg->ptes[first + i],
                                 pte & TSR_APTE_VALID ? pte : 0);
        }
    }
    return err;
}

uint32_t tessera_paging_map(TesseraEngine *e, const uint32_t *p)
{
    TesseraSegment *seg = aperture_range(e, p[1], p[2], p[3]);
    uint64_t list = tessera_u64(&p[4]), *done = &e->progress[0];
    uint32_t err = TSR_ERR_NONE;

    if (!seg) {
        return tessera_fault(&e->m, TSR_ERR_SEGMENT, TESSERA_NO_SLOT, p[2]);
    }
    if (list % 8) {
        return TSR_ERR_PACKET;
    }
    if (!*done) {
        trace_tessera_map_aperture(e->index, p[1], p[2], p[3]);
    }
    while (*done < p[3] && !err) {
        uint32_t n = MIN(p[3] - *done, MAP_PAGES);

        err = map_pages(e, seg, p[2] + *done, n, list + *done * 8);
        if (!err) {
            *done += n;
            err = *done < p[3] ? tessera_leave(&e->m) : TSR_ERR_NONE;
        }
    }
    return err;
}

uint32_t tessera_paging_unmap(TesseraEngine *e, const uint32_t *p)
{
    TesseraSegment *seg = aperture_range(e, p[1], p[2], p[3]);
    uint64_t *done = &e->progress[0];
    uint32_t err = TSR_ERR_NONE;

    if (!seg) {
        return tessera_fault(&e->m, TSR_ERR_SEGMENT, TESSERA_NO_SLOT, p[2]);
    }
    if (!*done) {
        trace_tessera_unmap_aperture(e->index, p[1], p[2], p[3]);
        if (e->s->cfg.strict && !qatomic_read__nocheck(&e->s->dummy_page)) {
            e->m.fault_slot = TESSERA_NO_SLOT;
            tessera_guest_error(&e->m, TSR_ERR_STRICT_DUMMY, seg->base);
        }
    }
    while (*done < p[3] && !err) {
        uint32_t n = MIN(p[3] - *done, UNMAP_PAGES);

        for (uint32_t i = 0; i < n; i++) {
            qatomic_set__nocheck(&seg->ptes[p[2] + *done + i], 0);
        }
        *done += n;
        err = *done < p[3] ? tessera_leave(&e->m) : TSR_ERR_NONE;
    }
    return err;
}

uint32_t tessera_paging_mark(TesseraEngine *e, const uint32_t *p)
{
    uint64_t gpa = tessera_u64(&p[2]), bytes = tessera_u64(&p[4]);
    uint32_t err = tessera_mark(&e->m, p[1], gpa, bytes, &e->progress[0]);

    if (!err || err == TESSERA_RETRY || err == TESSERA_STOPPED) {
        return err;
    }
    return tessera_fault(&e->m, err, TESSERA_NO_SLOT, gpa);
}

/* Clear all aperture tables, so that all pages show the dummy page. */
void tessera_paging_reset(TesseraState *s)
{
    for (unsigned int i = 0; i < s->num_segs; i++) {
        TesseraSegment *seg = &s->segs[i];

        for (uint32_t page = 0; seg->ptes && page < seg->num_pages; page++) {
            /*
             * Do not write to unused entries, so that the host need not
             * allocate them.
             */
            if (qatomic_read__nocheck(&seg->ptes[page])) {
                qatomic_set__nocheck(&seg->ptes[page], 0);
            }
        }
    }
}
