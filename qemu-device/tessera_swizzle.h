/*
 * Tessera virtual GPU: surface layouts
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_SWIZZLE_H
#define HW_DISPLAY_TESSERA_SWIZZLE_H

#include "tessera_layout.h"
#include "tessera_view.h"

typedef struct TesseraRect {
    uint32_t layout;
    uint32_t pitch;
    uint64_t xb;                /* offset of the left edge in bytes */
    uint32_t y;
    uint64_t nb;                /* bytes in each row */
    uint32_t rows;
    bool stream;                /* the destination is not read again soon */
} TesseraRect;

uint64_t tessera_swizzle_end(const TesseraRect *r);
uint32_t tessera_rect_read(TesseraView *v, const TesseraRect *r, uint8_t *dst,
                           uint64_t stride);
uint32_t tessera_rect_write(TesseraView *v, const TesseraRect *r,
                            const uint8_t *src, uint64_t stride);
uint32_t tessera_rect_direct(TesseraView *tiled, const TesseraRect *t,
                             TesseraView *linear, const TesseraRect *l,
                             bool store);
bool tessera_rect_scattered(TesseraView *tiled, const TesseraRect *t,
                            TesseraView *linear, const TesseraRect *l,
                            bool store, uint32_t *err);

void tessera_morton_row(uint8_t *tile, uint32_t row, uint32_t x, uint32_t nb,
                        uint8_t *lin, bool store);
uint8_t *tessera_band(TesseraEngine *e, size_t bytes);

/*
 * Distance between rows of a scratch band. Rows at a distance of a power of two
 * would share cache sets, and a tile has 32 rows.
 */
static inline uint64_t tessera_band_stride(uint64_t row_bytes)
{
    return row_bytes + TSR_TILE_WIDTH_BYTES;
}

#endif /* HW_DISPLAY_TESSERA_SWIZZLE_H */
