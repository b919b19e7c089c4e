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

static uint32_t blit_row(BlitJob *b, uint32_t row, uint32_t *frags)
{
    int64_t v = (2LL * row + 1) * b->tex.h * 65536 / (2LL * b->h);
    uint32_t i;

    for (i = 0; i < b->w; i++) {
        int64_t u = (2LL * i + 1) * b->tex.w * 65536 / (2LL * b->w);

        frags[i] = tessera_pixel_mul(tessera_texture_sample(&b->tex, u, v),
                                     b->color);
    }
    return b->tex.err ? b->tex.err
                      : tessera_pixel_row(&b->view, &b->dst, b->x, b->y + row,
                                          b->w, frags, b->blend);
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
