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
 * floor(n / area) from pixel to pixel, n growing by the same amount. The parts
 * behind the point have 64 bits and are rounded up. That is exact: after at
 * most TSR_SURF_MAX_DIM steps what was added by rounding is less than
 * (TSR_SURF_MAX_DIM + 1) / 2^64, and area is less than 2^48, so that it never
 * reaches the next multiple of 1 / area.
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

/* The quotient must fit into 64 bits. */
int64_t tessera_walker_split(Int128 n, int64_t area, uint64_t *fraction);

/*
 * Between two looks at requests: so many pixels, of which one that needs
 * another page of system memory counts for several, and may need four.
 */
#define TESSERA_WORK_PER_CHECK  2048
#define TESSERA_PAGE_WORK       32
#define TESSERA_PIECE_PIXELS    1024    /* sampled at a time */
#define TESSERA_CACHED_PIXELS   128     /* likewise, through the page cache */

typedef struct TesseraTexture {
    TesseraEngine *e;
    TesseraSurface surf;
    TesseraView view;
    const uint8_t *host;        /* NULL: through the page cache */
    uint32_t x, y, w, h;        /* rectangle sampled */
    uint32_t sampler;
    uint64_t end;               /* of the bytes it may read */
    uint32_t err;               /* the first failed access */
    uint32_t fetched;           /* pages, since tessera_texture_work() */
} TesseraTexture;

/* How many of @n pixels may be sampled before somebody looks at requests. */
static inline uint32_t tessera_texture_piece(const TesseraTexture *t,
                                             uint32_t n)
{
    return MIN(n, t->host ? TESSERA_PIECE_PIXELS : TESSERA_CACHED_PIXELS);
}

/* What it took to get texels since the last call, in pixels. */
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
