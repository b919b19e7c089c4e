/*
 * Tessera virtual GPU: BLIT
 *
 * Scales, converts and blends one rectangle into another, a row at a time; it
 * can be left after each. Called from render engine threads by the command
 * decoder.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "tessera_raster.h"
#include "tessera_pixel.h"
#include "tessera_strict.h"
#include "tessera_texture.h"

typedef struct BlitJob {
    TesseraSurface dst;
    TesseraView view;
    TesseraTexture tex;
    uint32_t x, y, w, h;
    uint32_t blend;
    uint32_t color;
} BlitJob;

static uint32_t blit_decode(TesseraEngine *e, BlitJob *b, const uint32_t *p)
{
    uint32_t sampler = p[7] & 0xff, err;

    b->blend = p[7] >> 8;
    b->color = p[8];
    b->x = p[3] & 0xffff;
    b->y = p[3] >> 16;
    b->w = p[4] & 0xffff;
    b->h = p[4] >> 16;
    if (p[9] || b->blend >= TSR_BLEND_COUNT ||
        (sampler & ~TSR_SAMPLER_LINEAR)) {
        return TSR_ERR_PACKET;
    }
    err = tessera_texture_init(e, &b->tex, p[2], sampler);
    if (!err) {
        err = tessera_surface_get(e, p[1], TSR_SURF_WRITE, &b->dst);
    }
    if (!err && (!b->dst.pitch || !tessera_pixel_format_ok(b->dst.format))) {
        err = tessera_fault(&e->m, TSR_ERR_SURFACE, p[1], b->dst.base);
    }
    return err;
}

/* Centre of pixel @i: (2 i + 1) size / (2 n) texels. */
static TesseraWalker blit_walker(uint32_t i, uint32_t n, uint32_t size)
{
    int64_t unit = (int64_t)size << 16;
    TesseraWalker w;

    w.value = tessera_walker_split(int128_makes64((2LL * i + 1) * unit),
                                   2LL * n, &w.fraction);
    w.step = tessera_walker_split(int128_makes64(2 * unit), 2LL * n,
                                  &w.step_fraction);
    return w;
}

static uint32_t blit_row(BlitJob *b, uint32_t row, uint32_t *frags)
{
    TesseraWalker u = blit_walker(0, b->w, b->tex.w);
    TesseraWalker v = blit_walker(row, b->h, b->tex.h);

    v.step = v.step_fraction = 0;
    tessera_texture_begin(&b->tex, &u, &v);
    tessera_texture_span(&b->tex, &u, &v, b->w, frags);
    if (b->tex.err) {
        return b->tex.err;
    }
    tessera_pixels_mul(frags, b->w, b->color);
    return tessera_pixel_row(&b->view, &b->dst, b->x, b->y + row, b->w, frags,
                             b->blend);
}

uint32_t tessera_blit(TesseraEngine *e, const uint32_t *p)
{
    uint32_t sw = p[6] & 0xffff, sh = p[6] >> 16, err;
    BlitJob *b = e->scratch;

    QEMU_BUILD_BUG_ON(sizeof(BlitJob) > TESSERA_SCRATCH_BYTES);
    if (!qatomic_read(&e->s->fw_running)) {
        return TSR_ERR_FIRMWARE;
    }
    err = blit_decode(e, b, p);
    if (err || !b->w || !b->h) {
        return err;
    }
    if (!sw || !sh) {
        return tessera_fault(&e->m, TSR_ERR_SURFACE, p[2], b->tex.surf.base);
    }
    err = tessera_texture_rect(e, &b->tex, p[5] & 0xffff, p[5] >> 16, sw, sh);
    if (!err) {
        err = tessera_surface_view(e, &b->dst, b->x, b->y, b->w, b->h, true,
                                   &b->view);
    }
    while (!err && e->progress[0] < b->h) {
        err = blit_row(b, e->progress[0], e->frags);
        if (!err && ++e->progress[0] < b->h) {
            err = tessera_leave(&e->m);
        }
    }
    return err;
}
