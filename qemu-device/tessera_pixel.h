/*
 * Tessera virtual GPU: pixels
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_PIXEL_H
#define HW_DISPLAY_TESSERA_PIXEL_H

#include "tessera_surface.h"

typedef struct TesseraTexture {
    TesseraEngine *e;
    TesseraSurface surf;
    TesseraView view;
    const uint8_t *host;        /* NULL: through the page cache */
    uint32_t x, y, w, h;        /* rectangle sampled */
    uint32_t sampler;
    uint64_t end;               /* of the bytes it may read */
    uint32_t err;               /* the first failed access */
} TesseraTexture;

bool tessera_pixel_format_ok(uint32_t format);
uint32_t tessera_pixel_mul(uint32_t a, uint32_t b);
uint32_t tessera_texture_init(TesseraEngine *e, TesseraTexture *t,
                              uint32_t slot, uint32_t sampler);
uint32_t tessera_texture_rect(TesseraEngine *e, TesseraTexture *t, uint32_t x,
                              uint32_t y, uint32_t w, uint32_t h);
uint32_t tessera_texture_sample(TesseraTexture *t, int64_t u, int64_t v);
uint32_t tessera_pixel_row(TesseraView *v, const TesseraSurface *surf,
                           uint32_t x, uint32_t y, uint32_t n,
                           const uint32_t *frags, uint32_t blend);

#endif /* HW_DISPLAY_TESSERA_PIXEL_H */
