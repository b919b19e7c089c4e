/*
 * Tessera virtual GPU: FILL and COPY
 *
 * Rectangles of texels through slots, in any pair of layouts. Work goes in
 * bands of at most one tile row and looks for a reset between bands. Called
 * from engine threads by the command decoder.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera.h"

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

/* Rows left in the band that @y starts, never across a tile row. */
static uint32_t band_rows(uint32_t y, uint32_t left)
{
    return MIN(left, TSR_TILE_ROWS - y % TSR_TILE_ROWS);
}

uint32_t tessera_copy_fill(TesseraEngine *e, const uint32_t *p)
{
    uint32_t x = p[2], y = p[3], w = p[4], h = p[5], err, done, n;
    TesseraSurface surf;
    TesseraView view;
    TesseraRect r;

    if (p[7]) {
        return TSR_ERR_PACKET;
    }
    err = tessera_surface_get(e, p[1], TSR_SURF_WRITE, &surf);
    if (err || !w || !h) {
        return err;
    }
    err = tessera_surface_view(e, &surf, x, y, w, h, true, &view);
    if (err) {
        return err;
    }
    r = tessera_surface_rect(&surf, x, y, w, h);
    pattern_fill(e->bounce, MIN(r.nb, TESSERA_BOUNCE_BYTES), p[6], surf.bpp);
    for (done = 0; done < h && !err; done += n) {
        TesseraRect band = r;

        band.y = y + done;
        band.rows = n = band_rows(band.y, h - done);
        for (uint64_t xb = 0; xb < r.nb && !err; xb += band.nb) {
            if (tessera_stopping(e)) {
                return TESSERA_STOPPED;
            }
            band.xb = r.xb + xb;
            band.nb = MIN(r.nb - xb, TESSERA_BOUNCE_BYTES);
            err = tessera_rect_write(&view, &band, e->bounce, 0);
        }
    }
    return err;
}

typedef struct CopyJob {
    TesseraSurface dst, src;
    TesseraView dview, sview;
    TesseraRect drect, srect;
    bool backward;              /* bottom row first, for overlaps */
} CopyJob;

/* Both sides linear: row by row, or all at once where rows touch. */
static uint32_t copy_linear(TesseraEngine *e, CopyJob *job)
{
    TesseraRect *d = &job->drect, *s = &job->srect;
    uint64_t nb = d->nb;
    uint32_t rows = d->rows;

    if (nb == d->pitch && nb == s->pitch) {
        nb *= rows;
        rows = 1;
    }
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t row = job->backward ? rows - 1 - i : i;
        uint64_t doff = (uint64_t)(d->y + row) * d->pitch + d->xb;
        uint64_t soff = (uint64_t)(s->y + row) * s->pitch + s->xb;
        uint32_t err = tessera_view_copy(&job->dview, doff, &job->sview, soff,
                                         nb);

        if (err) {
            return err;
        }
    }
    return TSR_ERR_NONE;
}

/* Host memory of a band that is linear in VRAM, or NULL. */
static uint32_t band_ptr(TesseraView *v, const TesseraRect *r, bool write,
                         uint8_t **ptr)
{
    uint32_t err = TSR_ERR_NONE;

    *ptr = NULL;
    if (r->layout != TSR_LAYOUT_LINEAR || !v->is_vram) {
        return TSR_ERR_NONE;
    }
    for (uint32_t i = r->rows; i-- > 0 && !err;) {
        err = tessera_view_ptr(v, (uint64_t)(r->y + i) * r->pitch + r->xb,
                               r->nb, write, ptr);
    }
    return err;
}

static bool whole_tiles(const TesseraRect *r)
{
    return r->xb % TSR_TILE_WIDTH_BYTES == 0 &&
           r->nb % TSR_TILE_WIDTH_BYTES == 0 && r->y % TSR_TILE_ROWS == 0 &&
           r->rows == TSR_TILE_ROWS;
}

static uint32_t copy_band(TesseraEngine *e, CopyJob *job, TesseraRect *d,
                          TesseraRect *s)
{
    bool differ = d->layout != s->layout;
    uint64_t stride = tessera_band_stride(d->nb);
    uint8_t *lin = NULL;
    uint32_t err;

    if (!differ && whole_tiles(d) && whole_tiles(s)) {
        return tessera_view_copy(&job->dview,
                                 tessera_swizzle_offset(d->layout, d->pitch,
                                                        d->xb, d->y),
                                 &job->sview,
                                 tessera_swizzle_offset(s->layout, s->pitch,
                                                        s->xb, s->y),
                                 d->nb * d->rows);
    }
    if (differ) {
        err = band_ptr(&job->sview, s, false, &lin);
        if (err) {
            return err;
        }
        if (lin) {
            d->stream = true;
            return tessera_rect_write(&job->dview, d, lin, s->pitch);
        }
        err = band_ptr(&job->dview, d, true, &lin);
        if (err) {
            return err;
        }
        if (lin) {
            s->stream = true;
            return tessera_rect_read(&job->sview, s, lin, d->pitch);
        }
    }
    lin = tessera_mem_band(e, stride * d->rows);
    err = tessera_rect_read(&job->sview, s, lin, stride);
    d->stream = true;
    return err ? err : tessera_rect_write(&job->dview, d, lin, stride);
}

/* A side is tiled, so rows are at most TSR_SURF_MAX_PITCH long. */
static uint32_t copy_tiled(TesseraEngine *e, CopyJob *job)
{
    TesseraRect d = job->drect, s = job->srect;
    uint32_t total = d.rows, done = 0, err = TSR_ERR_NONE;

    while (done < total && !err) {
        uint32_t first, n;

        if (tessera_stopping(e)) {
            return TESSERA_STOPPED;
        }
        if (job->backward) {
            uint32_t last = total - 1 - done;

            n = MIN(last + 1, (job->drect.y + last) % TSR_TILE_ROWS + 1);
            first = last + 1 - n;
        } else {
            first = done;
            n = band_rows(job->drect.y + first, total - first);
        }
        d.y = job->drect.y + first;
        s.y = job->srect.y + first;
        d.rows = s.rows = n;
        err = copy_band(e, job, &d, &s);
        done += n;
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
        return tessera_fault(e, TSR_ERR_SURFACE, p[1], job->dst.base);
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
