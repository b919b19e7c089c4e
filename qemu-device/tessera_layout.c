/*
 * Tessera virtual GPU: texel addresses in swizzled surfaces
 *
 * This is the device's own address mapping. It is written independently of the
 * driver's, so that each checks the other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_layout.h"

const uint16_t tessera_spread[TSR_TILE_ROWS] = {
    0x000, 0x001, 0x004, 0x005, 0x010, 0x011, 0x014, 0x015,
    0x040, 0x041, 0x044, 0x045, 0x050, 0x051, 0x054, 0x055,
    0x100, 0x101, 0x104, 0x105, 0x110, 0x111, 0x114, 0x115,
    0x140, 0x141, 0x144, 0x145, 0x150, 0x151, 0x154, 0x155,
};

/* Offset of byte @xb of row @y from the start of the surface. */
uint64_t tessera_swizzle_offset(uint32_t layout, uint32_t pitch, uint64_t xb,
                                uint32_t y)
{
    uint32_t x = xb % TSR_TILE_WIDTH_BYTES;
    uint32_t row = y % TSR_TILE_ROWS;

    switch (layout) {
    case TSR_LAYOUT_TILE4K:
        return tessera_tile_offset(pitch, xb, y) +
               row * TSR_TILE_WIDTH_BYTES + x;
    case TSR_LAYOUT_MORTON:
        return tessera_tile_offset(pitch, xb, y) +
               tessera_morton_offset(x, row);
    default:
        return (uint64_t)y * pitch + xb;
    }
}
