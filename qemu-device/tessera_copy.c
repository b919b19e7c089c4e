/*
 * Tessera virtual GPU: FILL and COPY
 *
 * These packets work on rectangles of texels in slots, in any pair of layouts.
 * The work is done in bands of at most one tile row, and can be interrupted
 * between them. Called from engine threads by the command decoder.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "tessera_copy.h"
#include "tessera_strict.h"
#include "tessera_surface.h"

static void pattern_fill(uint8_t *dst, size_t bytes, uint32_t value,
                         uint32_t bpp)
{
    if (bpp == 1) {
        memset(dst, value & 0xff, bytes);
    } else if (bpp == 2) {
        for (size_t i = 0; i < bytes; i += 2) {
            stw_le_p(dst + i, value);
        }
    } else {
        for (size_t i = 0; i < bytes; i += 4) {
            stl_le_p(dst + i, value);
        }
    }
}

/* Rows of the band that starts at @y. A band never crosses a tile row. */
static uint32_t band_rows(uint32_t y, uint32_t left)
{
    return MIN(left, TSR_TILE_ROWS - y % TSR_TILE_ROWS);
}

/* progress[]: finished rows; finished bytes of each row of the next band. */
static uint32_t fill_bands(TesseraEngine *e, TesseraView *v,
                           const TesseraRect *r)
{
    uint64_t *done = &e->progress[0], *xb = &e->progress[1];
    uint32_t err = TSR_ERR_NONE;

    while (*done < r->rows && !err) {
        TesseraRect band = *r;

        if (*xb >= r->nb) {
            return TSR_ERR_PACKET;
        }
        band.y = r->y + *done;
        band.rows = band_rows(band.y, r->rows - *done);
        band.xb = r->xb + *xb;
        band.nb = MIN(r->nb - *xb, TESSERA_BOUNCE_BYTES);
        err = tessera_rect_write(v, &band, e->m.bounce, 0);
        if (err) {
            return err;
        }
        *xb += band.nb;
        if (*xb == r->nb) {
            *xb = 0;
            *done += band.rows;
        }
        err = *done < r->rows ? tessera_leave(&e->m) : TSR_ERR_NONE;
    }
    return err;
}

uint32_t tessera_copy_fill(TesseraEngine *e, const uint32_t *p)
{
    uint32_t x = p[2], y = p[3], w = p[4], h = p[5], err;
    TesseraSurface surf;
    TesseraView *view = e->scratch;
    TesseraRect r;

    if (p[7]) {
        return TSR_ERR_PACKET;
    }
    err = tessera_surface_get(e, p[1], TSR_SURF_WRITE, &surf);
    if (err || !w || !h) {
        return err;
    }
    err = tessera_surface_view(e, &surf, x, y, w, h, true, view);
    if (err) {
        return err;
    }
    r = tessera_surface_rect(&surf, x, y, w, h);
    pattern_fill(e->m.bounce, MIN(r.nb, TESSERA_BOUNCE_BYTES), p[6], surf.bpp);
    return fill_bands(e, view, &r);
}

typedef struct CopyJob {
    TesseraSurface dst, src;
    TesseraView dview, sview;
    TesseraRect drect, srect;
    bool backward;              /* bottom row first, for overlaps */
    bool stream;                /* bypass the caches of the host */
} CopyJob;

/*
 * A cached copy is twice as fast as a streaming one as long as both sides fit
 * into the host's caches. The cache size that hosts report is no help: it may
 * be the sum of several caches, and other threads use them, too.
 */
static bool too_much_for_caches(uint64_t bytes)
{
    return bytes > TESSERA_STREAM_COPY_BYTES;
}

/*
 * Both sides are linear: copy row by row, or all rows at once if they are
 * contiguous. progress[]: finished rows; finished bytes of the next row.
 */
static uint32_t copy_linear(TesseraEngine *e, CopyJob *job)
{
    TesseraRect *d = &job->drect, *s = &job->srect;
    uint32_t rows = d->rows, err = TSR_ERR_NONE;
    uint64_t nb = d->nb;

    if (nb == d->pitch && nb == s->pitch) {
        nb *= rows;
        rows = 1;
    }
    while (e->progress[0] < rows && !err) {
        uint32_t i = e->progress[0];
        uint32_t row = job->backward ? rows - 1 - i : i;
        uint64_t doff = (uint64_t)(d->y + row) * d->pitch + d->xb;
        uint64_t soff = (uint64_t)(s->y + row) * s->pitch + s->xb;

        err = tessera_view_copy(&job->dview, doff, &job->sview, soff, nb,
                                &e->progress[1]);
        if (err) {
            return err;
        }
        e->progress[0]++;
        e->progress[1] = 0;
        err = e->progress[0] < rows ? tessera_leave(&e->m) : TSR_ERR_NONE;
    }
    return err;
}

static bool whole_tiles(const TesseraRect *r)
{
    return r->xb % TSR_TILE_WIDTH_BYTES == 0 &&
           r->nb % TSR_TILE_WIDTH_BYTES == 0 && r->y % TSR_TILE_ROWS == 0 &&
           r->rows == TSR_TILE_ROWS;
}

/*
 * The layouts differ. If one side is linear, copy without the intermediate
 * band. Returns false if that is not possible.
 */
static bool copy_band_direct(CopyJob *job, TesseraRect *d, TesseraRect *s,
                             uint32_t *err)
{
    bool store = s->layout == TSR_LAYOUT_LINEAR;
    TesseraView *lview = store ? &job->sview : &job->dview;
    TesseraView *tview = store ? &job->dview : &job->sview;
    TesseraRect *l = store ? s : d, *t = store ? d : s;

    if (l->layout != TSR_LAYOUT_LINEAR) {
        return false;
    }
    t->stream = job->stream;
    if (!lview->is_vram) {
        return tessera_rect_scattered(tview, t, lview, l, store, err);
    }
    *err = tessera_rect_direct(tview, t, lview, l, store);
    return true;
}

static uint32_t copy_band_layouts(TesseraEngine *e, CopyJob *job,
                                  TesseraRect *d, TesseraRect *s)
{
    uint64_t stride = tessera_band_stride(d->nb);
    uint8_t *lin;
    uint32_t err;

    if (d->layout != s->layout && copy_band_direct(job, d, s, &err)) {
        return err;
    }
    lin = tessera_band(e, stride * d->rows);
    /* The band is read again at once, so keep it in the caches. */
    s->stream = false;
    err = tessera_rect_read(&job->sview, s, lin, stride);
    d->stream = job->stream;
    return err ? err : tessera_rect_write(&job->dview, d, lin, stride);
}

static uint32_t copy_band(TesseraEngine *e, CopyJob *job, TesseraRect *d,
                          TesseraRect *s)
{
    uint32_t err;

    if (d->layout == s->layout && whole_tiles(d) && whole_tiles(s)) {
        uint64_t doff = tessera_swizzle_offset(d->layout, d->pitch, d->xb,
                                               d->y);
        uint64_t soff = tessera_swizzle_offset(s->layout, s->pitch, s->xb,
                                               s->y);

        return tessera_view_copy(&job->dview, doff, &job->sview, soff,
                                 d->nb * d->rows, &e->progress[1]);
    }
    tessera_access_enter(&e->m);
    err = copy_band_layouts(e, job, d, s);
    tessera_access_leave(&e->m);
    return err;
}

/*
 * At least one side is tiled, so rows are at most TSR_SURF_MAX_PITCH long.
 * progress[]: finished rows, in whole bands; finished bytes of the next band.
 */
static uint32_t copy_tiled(TesseraEngine *e, CopyJob *job)
{
    uint64_t total = job->drect.rows, *done = &e->progress[0];
    uint32_t err = TSR_ERR_NONE;

    while (*done < total && !err) {
        TesseraRect d = job->drect, s = job->srect;
        uint32_t first, n;

        if (job->backward) {
            uint32_t last = total - 1 - *done;

            n = MIN(last + 1, (job->drect.y + last) % TSR_TILE_ROWS + 1);
            first = last + 1 - n;
        } else {
            first = *done;
            n = band_rows(job->drect.y + first, total - first);
        }
        d.y = job->drect.y + first;
        s.y = job->srect.y + first;
        d.rows = s.rows = n;
        err = copy_band(e, job, &d, &s);
        if (err) {
            return err;
        }
        *done += n;
        e->progress[1] = 0;
        err = *done < total ? tessera_leave(&e->m) : TSR_ERR_NONE;
    }
    return err;
}

uint32_t tessera_copy_copy(TesseraEngine *e, const uint32_t *p)
{
    uint32_t w = p[7], h = p[8], err;
    CopyJob *job = e->scratch;

    QEMU_BUILD_BUG_ON(sizeof(CopyJob) > TESSERA_SCRATCH_BYTES);
    if (p[9]) {
        return TSR_ERR_PACKET;
    }
    err = tessera_surface_get(e, p[2], TSR_SURF_READ, &job->src);
    if (!err) {
        err = tessera_surface_get(e, p[1], TSR_SURF_WRITE, &job->dst);
    }
    if (err) {
        return err;
    }
    if (job->src.bpp != job->dst.bpp) {
        return tessera_fault(&e->m, TSR_ERR_SURFACE, p[1], job->dst.base);
    }
    if (!w || !h) {
        return TSR_ERR_NONE;
    }
    err = tessera_surface_view(e, &job->src, p[5], p[6], w, h, false,
                               &job->sview);
    if (!err) {
        err = tessera_surface_view(e, &job->dst, p[3], p[4], w, h, true,
                                   &job->dview);
    }
    if (err) {
        return err;
    }
    job->srect = tessera_surface_rect(&job->src, p[5], p[6], w, h);
    job->drect = tessera_surface_rect(&job->dst, p[3], p[4], w, h);
    job->stream = too_much_for_caches(job->drect.nb * h);
    job->backward = job->dst.base != job->src.base
                    ? job->dst.base + (uint64_t)p[4] * job->dst.pitch >
                      job->src.base + (uint64_t)p[6] * job->src.pitch
                    : p[4] > p[6];
    if (job->src.layout == TSR_LAYOUT_LINEAR &&
        job->dst.layout == TSR_LAYOUT_LINEAR) {
        return copy_linear(e, job);
    }
    return copy_tiled(e, job);
}
