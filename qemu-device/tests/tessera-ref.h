/*
 * Reference for BLIT and DRAW, written from the manual's formulas
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TESSERA_REF_H
#define TESSERA_REF_H

#include "tessera/tessera_hw.h"

#define TSR_REF_PIXELS  (160 * 96)      /* of an image, at most */

typedef struct TsrVertex {
    int32_t x, y, u, v;
    uint32_t color;
} TsrVertex;

typedef struct TsrImage {
    uint32_t w, h, format;
    uint32_t px[TSR_REF_PIXELS];        /* raw texels */
} TsrImage;

/* The sampled rectangle of an image. */
typedef struct TsrTexture {
    const TsrImage *image;
    uint32_t x, y, w, h, sampler;
} TsrTexture;

/*
 * The arithmetic of chapter 10: x / 255 rounded, a channel of 0xAARRGGBB, and
 * pixel s blended over pixel d.
 */
uint32_t tsr_ref_div255(uint32_t x);
uint32_t tsr_ref_channel(uint32_t c, int i);
uint32_t tsr_ref_blend(uint32_t mode, uint32_t s, uint32_t d);

/*
 * Draw a triangle. @tex: NULL if it has no texture. @scissor: left, top, right,
 * bottom.
 */
void tsr_ref_draw(TsrImage *dst, const TsrVertex *in, const TsrTexture *tex,
                  uint32_t blend, uint32_t color, const uint32_t *scissor);

/* Blit to the rectangle @d: x, y, width, height. */
void tsr_ref_blit(TsrImage *dst, const uint32_t *d, const TsrTexture *tex,
                  uint32_t blend, uint32_t color);

#endif /* TESSERA_REF_H */
