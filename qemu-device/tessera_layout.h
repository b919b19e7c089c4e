/*
 * Tessera virtual GPU: where the texels of a swizzled surface lie
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_LAYOUT_H
#define HW_DISPLAY_TESSERA_LAYOUT_H

#include "tessera/tessera_hw.h"

/* Bit n of the index moved to bit 2n. */
extern const uint16_t tessera_spread[];

/* In a Morton tile. */
static inline uint32_t tessera_morton_offset(uint32_t x, uint32_t row)
{
    return (tessera_spread[x >> 2] | tessera_spread[row] << 1) * 4 + (x & 3);
}

/* Of the tile that has byte @xb of row @y. */
static inline uint64_t tessera_tile_offset(uint32_t pitch, uint64_t xb,
                                           uint32_t y)
{
    uint64_t tile = (uint64_t)(y / TSR_TILE_ROWS) *
                    (pitch / TSR_TILE_WIDTH_BYTES) + xb / TSR_TILE_WIDTH_BYTES;

    return tile * TSR_TILE_BYTES;
}

uint64_t tessera_swizzle_offset(uint32_t layout, uint32_t pitch, uint64_t xb,
                                uint32_t y);

#endif /* HW_DISPLAY_TESSERA_LAYOUT_H */
