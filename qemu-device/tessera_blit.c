/*
 * Tessera virtual GPU: BLIT
 *
 * Scales, converts and blends one rectangle into another. It works on a row or
 * a part of a row at a time, and can be interrupted after each. Called from
 * render engine threads by the command decoder.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_raster.h"
#include "tessera_microcode.h"
#include "tessera_pixel.h"
#include "tessera_strict.h"
#include "tessera_texture.h"

typedef struct BlitJob {
    TesseraSurface dst;
    TesseraView view;
    TesseraTexture tex;
    uint32_t x, y, w, h;
    const TesseraBlend *blend;
    uint32_t color;
    uint32_t work;              /* pixels since the last check of requests */
} BlitJob;

static uint32_t blit_decode(TesseraEngine *e, BlitJob *b, const uint32_t *p,
                            const TesseraMicrocode *mc)
{
    uint32_t sampler = p[7] & 0xff, blend = p[7] >> 8, err;

    b->blend = tessera_microcode_blend(mc, blend);
    b->color = p[8];
    b->x = p[3] & 0xffff;
    b->y = p[3] >> 16;
    b->w = p[4] & 0xffff;
    b->h = p[4] >> 16;
    if (p[9] || blend >= TSR_BLEND_COUNT ||
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

/* The centre of pixel @i is at (2 i + 1) size / (2 n) texels. */
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

static uint32_t blit_piece(BlitJob *b, TesseraWalker *u, TesseraWalker *v,
                           uint32_t x, uint32_t row, uint32_t n,
                           uint32_t *frags)
{
    tessera_texture_span(&b->tex, u, v, n, frags);
    if (b->tex.err) {
        return b->tex.err;
    }
    tessera_pixels_mul(frags, n, b->color);
    return tessera_pixel_row(&b->view, &b->dst, b->x + x, b->y + row, n,
                             frags, b->blend);
}

/* Whether enough work was done to check for requests again. */
static bool blit_due(BlitJob *b, uint32_t pixels)
{
    b->work += pixels + tessera_texture_work(&b->tex);
    if (b->work < TESSERA_WORK_PER_CHECK) {
        return false;
    }
    b->work = 0;
    return true;
}

/* progress[]: finished rows; finished pixels of the next row. */
static uint32_t blit_row(TesseraEngine *e, BlitJob *b)
{
    uint32_t row = e->progress[0], x = MIN(e->progress[1], b->w);
    TesseraWalker u = blit_walker(x, b->w, b->tex.w);
    TesseraWalker v = blit_walker(row, b->h, b->tex.h);
    uint32_t err = TSR_ERR_NONE;

    v.step = v.step_fraction = 0;
    tessera_texture_begin(&b->tex, &u, &v);
    while (x < b->w && !err) {
        uint32_t n = tessera_texture_piece(&b->tex, b->w - x);

        err = blit_piece(b, &u, &v, x, row, n, e->frags);
        if (!err) {
            x += n;
            e->progress[1] = x;
            err = blit_due(b, n) && x < b->w ? tessera_leave(&e->m)
                                             : TSR_ERR_NONE;
        }
    }
    return err;
}

uint32_t tessera_blit(TesseraEngine *e, const uint32_t *p)
{
    uint32_t sw = p[6] & 0xffff, sh = p[6] >> 16, err;
    const TesseraMicrocode *mc;
    BlitJob *b = e->scratch;

    QEMU_BUILD_BUG_ON(sizeof(BlitJob) > TESSERA_SCRATCH_BYTES);
    err = tessera_microcode_get(e, &mc);
    if (!err) {
        err = blit_decode(e, b, p, mc);
    }
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
    b->work = 0;
    while (!err && e->progress[0] < b->h) {
        err = blit_row(e, b);
        if (!err) {
            e->progress[1] = 0;
            if (++e->progress[0] < b->h) {
                err = tessera_leave(&e->m);
            }
        }
    }
    return err;
}
