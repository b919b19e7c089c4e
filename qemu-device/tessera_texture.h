/*
 * Tessera virtual GPU: textures
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_TEXTURE_H
#define HW_DISPLAY_TESSERA_TEXTURE_H

#include "qemu/int128.h"
#include "tessera_surface.h"

/*
 * Steps from pixel to pixel through floor(n / area), where n grows by the same
 * amount each time. The fractions have 64 bits and are rounded up. The result
 * is exact: after at most TSR_SURF_MAX_DIM steps the sum of the rounding errors
 * is less than (TSR_SURF_MAX_DIM + 1) / 2^64. Since area is less than 2^48, the
 * error never reaches the next multiple of 1 / area.
 */
typedef struct TesseraWalker {
    int64_t value;
    uint64_t fraction;
    int64_t step;
    uint64_t step_fraction;
} TesseraWalker;

static inline void tessera_walker_next(TesseraWalker *w)
{
    w->fraction += w->step_fraction;
    w->value += w->step + (w->fraction < w->step_fraction);
}

/*
 * Split n / area into floor and fraction. The quotient must fit into 64 bits.
 */
int64_t tessera_walker_split(Int128 n, int64_t area, uint64_t *fraction);

/*
 * The work in pixels between two checks of requests. A pixel that needs another
 * page of system memory counts as TESSERA_PAGE_WORK pixels. It may need four
 * pages.
 */
#define TESSERA_WORK_PER_CHECK  2048
#define TESSERA_PAGE_WORK       32
#define TESSERA_PIECE_PIXELS    1024    /* sampled at a time */
#define TESSERA_CACHED_PIXELS   128     /* through the page cache */

typedef struct TesseraTexture {
    TesseraEngine *e;
    TesseraSurface surf;
    TesseraView view;
    const uint8_t *host;        /* in VRAM; NULL: use the page cache */
    uint32_t x, y, w, h;        /* the sampled rectangle */
    uint32_t sampler;
    uint64_t end;               /* end of the bytes that it may read */
    uint32_t err;               /* the first error of an access */
    uint32_t fetched;           /* pages read since tessera_texture_work() */
} TesseraTexture;

/* How many of @n pixels to sample at a time, before requests are checked. */
static inline uint32_t tessera_texture_piece(const TesseraTexture *t,
                                             uint32_t n)
{
    return MIN(n, t->host ? TESSERA_PIECE_PIXELS : TESSERA_CACHED_PIXELS);
}

/* The cost of texels fetched since the last call, in pixels. */
static inline uint32_t tessera_texture_work(TesseraTexture *t)
{
    uint32_t work = t->fetched * TESSERA_PAGE_WORK;

    t->fetched = 0;
    return work;
}

uint32_t tessera_texture_init(TesseraEngine *e, TesseraTexture *t,
                              uint32_t slot, uint32_t sampler);
uint32_t tessera_texture_rect(TesseraEngine *e, TesseraTexture *t, uint32_t x,
                              uint32_t y, uint32_t w, uint32_t h);
void tessera_texture_begin(const TesseraTexture *t, TesseraWalker *u,
                           TesseraWalker *v);
void tessera_texture_span(TesseraTexture *t, TesseraWalker *u,
                          TesseraWalker *v, uint32_t n, uint32_t *out);

#endif /* HW_DISPLAY_TESSERA_TEXTURE_H */
