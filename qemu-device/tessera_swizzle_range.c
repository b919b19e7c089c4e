/*
 * Tessera virtual GPU: swizzling ranges
 *
 * A range makes a swizzled surface appear linear in the window in BAR 2. The
 * window is a second image of video memory, and the surface appears in it at
 * its own offset. The whole window is either RAM (tessera_range_view.c) or
 * emulated, by the second half of this file. So the guest's memory map does not
 * change when ranges are enabled or disabled. Runs under the BQL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_swizzle_range.h"
#include "tessera_strict.h"
#include "tessera_swizzle.h"
#include "trace.h"

#define WORD_BYTES  4       /* contiguous in every layout */

/* ---- Ranges -------------------------------------------------------------- */

static bool overlaps(const TesseraSwizzleRange *a, const TesseraSwizzleRange *b)
{
    return a->base < b->base + tessera_range_bytes(b) &&
           b->base < a->base + tessera_range_bytes(a);
}

static uint32_t check_range(TesseraState *s, const TesseraSwizzleRange *r)
{
    const TesseraSegment *seg;

    if ((r->layout != TSR_LAYOUT_TILE4K && r->layout != TSR_LAYOUT_MORTON) ||
        !r->pitch || r->pitch > TSR_SURF_MAX_PITCH ||
        r->pitch % TSR_TILE_WIDTH_BYTES || !r->height ||
        r->height > TSR_SURF_MAX_DIM || r->base % TSR_TILE_BYTES) {
        return TSR_ERR_SURFACE;
    }
    seg = tessera_view_segment(s, r->base, tessera_range_bytes(r));
    if (!seg) {
        return TSR_ERR_ADDRESS;
    }
    if (!(seg->flags & TSR_SEGF_SWIZZLE_RANGES)) {
        return TSR_ERR_SEGMENT;
    }
    for (uint32_t i = 0; i < s->cfg.swizzle_ranges; i++) {
        const TesseraSwizzleRange *other = &s->ranges[i];

        if (other != r && other->enabled && overlaps(r, other)) {
            return TSR_ERR_SWIZZLE_RANGE;
        }
    }
    return TSR_ERR_NONE;
}

/*
 * The enabled ranges share a store that holds one row of each. The bytes that
 * they show together are limited, too, because copying them takes time under
 * the BQL.
 */
static uint32_t check_store(TesseraState *s, const TesseraSwizzleRange *r)
{
    const uint64_t store = s->cfg.swizzle_store ?: UINT64_MAX;
    uint64_t row = r->pitch, bytes = tessera_range_bytes(r);

    if (row > store || bytes > TSR_SWR_MAX_BYTES) {
        return TSR_SWR_UNSUPPORTED;
    }
    for (uint32_t i = 0; i < s->cfg.swizzle_ranges; i++) {
        if (&s->ranges[i] != r && s->ranges[i].enabled) {
            row += s->ranges[i].pitch;
            bytes += tessera_range_bytes(&s->ranges[i]);
        }
    }
    return row > store || bytes > TSR_SWR_MAX_BYTES ? TSR_SWR_UNAVAILABLE
                                                    : TSR_SWR_READY;
}

/* The result that enabling the range would have now. */
uint32_t tessera_swizzle_range_status(TesseraState *s, uint32_t index)
{
    const TesseraSwizzleRange *r = &s->ranges[index];

    return check_range(s, r) ? TSR_SWR_UNSUPPORTED : check_store(s, r);
}

/* Whether a loaded range is disabled, or could have been enabled. */
bool tessera_swizzle_range_valid(TesseraState *s, uint32_t index)
{
    return !s->ranges[index].enabled ||
           tessera_swizzle_range_status(s, index) == TSR_SWR_READY;
}

/*
 * The offset of a surface, both in VRAM and in the window. The range was
 * checked.
 */
static uint64_t surface_offset(TesseraState *s, const TesseraSwizzleRange *r)
{
    uint64_t offset = UINT64_MAX;

    tessera_vram_find(s, r->base, tessera_range_bytes(r), &offset);
    return offset;
}

static bool show(TesseraState *s, uint32_t index)
{
    return s->ops->range_show(s, index, surface_offset(s, &s->ranges[index]));
}

void tessera_swizzle_range_enable(TesseraState *s, uint32_t index)
{
    TesseraSwizzleRange *r = &s->ranges[index];
    uint32_t err = check_range(s, r);
    uint32_t status;

    if (err) {
        tessera_guest_error(&s->cpu, err, r->base);
        return;
    }
    status = check_store(s, r);
    if (status == TSR_SWR_READY && !show(s, index)) {
        status = TSR_SWR_UNAVAILABLE;
    }
    if (status != TSR_SWR_READY) {
        trace_tessera_swizzle_range_refuse(index, r->base, r->pitch, status);
        return;
    }
    trace_tessera_swizzle_range_enable(index, r->base, r->layout, r->pitch,
                                       r->height);
    r->enabled = true;
}

void tessera_swizzle_range_disable(TesseraState *s, uint32_t index)
{
    trace_tessera_swizzle_range_disable(index);
    s->ops->range_hide(s, index);
    s->ranges[index].enabled = false;
}

static void hide_all(TesseraState *s)
{
    for (uint32_t i = 0; i < s->cfg.swizzle_ranges; i++) {
        s->ops->range_hide(s, i);
    }
}

void tessera_swizzle_range_reset(TesseraState *s)
{
    hide_all(s);
    memset(s->ranges, 0, sizeof(s->ranges));
}

/*
 * Show the ranges of a loaded state, which were checked, instead of those that
 * were shown before. Both may name the same memory, so hide all of these first.
 * Returns false if the host has no memory for the new ones.
 */
bool tessera_swizzle_range_loaded(TesseraState *s)
{
    bool ok = true;

    hide_all(s);
    for (uint32_t i = 0; i < s->cfg.swizzle_ranges && ok; i++) {
        ok = !s->ranges[i].enabled || show(s, i);
    }
    return ok;
}

/* ---- Emulated accesses --------------------------------------------------- */

/* Find the range that shows these bytes. *@at is relative to its surface. */
static const TesseraSwizzleRange *find_range(TesseraState *s, uint64_t addr,
                                             uint32_t len, uint64_t *at)
{
    /* Ranges that are being loaded have not been checked yet. */
    for (uint32_t i = 0; i < s->cfg.swizzle_ranges && !s->distrusted; i++) {
        const TesseraSwizzleRange *r = &s->ranges[i];
        uint64_t bytes = tessera_range_rows_bytes(r), begin;

        if (!r->enabled) {
            continue;
        }
        begin = surface_offset(s, r);
        if (addr >= begin && addr - begin < bytes &&
            len <= bytes - (addr - begin)) {
            *at = addr - begin;
            return r;
        }
    }
    return NULL;
}

static uint32_t access_range(TesseraState *s, const TesseraSwizzleRange *r,
                             uint64_t at, uint8_t *buf, uint32_t len,
                             bool write)
{
    uint64_t surface = surface_offset(s, r);
    uint32_t err = TSR_ERR_NONE;

    while (len && !err) {
        uint32_t n = MIN(len, WORD_BYTES - at % WORD_BYTES);
        uint64_t off = tessera_swizzle_offset(r->layout, r->pitch,
                                              at % r->pitch, at / r->pitch);

        err = tessera_vram_rw(&s->cpu, surface + off, buf, n, write);
        at += n;
        buf += n;
        len -= n;
    }
    return err;
}

/* Access the window for a CPU. Returns false if it counted an error. */
bool tessera_swizzle_range_access(TesseraState *s, uint64_t addr, uint8_t *buf,
                                  uint32_t len, bool write)
{
    uint64_t at;
    const TesseraSwizzleRange *r = find_range(s, addr, len, &at);
    uint32_t err;

    if (!r) {
        tessera_guest_error(&s->cpu, TSR_ERR_SWIZZLE_RANGE,
                            s->swizzle_window_offset + addr);
        return false;
    }
    err = access_range(s, r, at, buf, len, write);
    if (err) {
        tessera_guest_error(&s->cpu, err, s->cpu.fault_addr);
    }
    return !err;
}
