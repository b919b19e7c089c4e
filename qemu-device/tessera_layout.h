/*
 * Tessera virtual GPU: texel addresses in swizzled surfaces
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_LAYOUT_H
#define HW_DISPLAY_TESSERA_LAYOUT_H

#include "tessera/tessera_hw.h"

/* Bit n of the index is at bit 2n of the entry. */
extern const uint16_t tessera_spread[];

/* Offset of a byte in a Morton tile. */
static inline uint32_t tessera_morton_offset(uint32_t x, uint32_t row)
{
    return (tessera_spread[x >> 2] | tessera_spread[row] << 1) * 4 + (x & 3);
}

/* Offset of the tile that contains byte @xb of row @y. */
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
