// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: swizzled address mapping
 *
 * Where a byte of a linear surface lies in a swizzled one of the same pitch, and
 * the reverse. Both layouts are made of tiles of 4 KiB, 128 bytes by 32 rows, in
 * row-major order; TILE4K keeps rows together inside a tile, MORTON puts the
 * 4-byte words in Z order. Both are bijections of each block of 32 rows. Called by
 * checks of new allocations, tests and dumps. No locks, no state.
 */
#include "swizzle.h"

#define WORD_BYTES	4U

/**
 * tessera_swizzle_geometry_ok() - whether an allocation can have a layout
 * @layout: TSR_LAYOUT_*
 * @pitch: bytes per row; 0 for the linear layout
 * @size: bytes of the allocation
 *
 * Return: true if tiles fill the allocation exactly.
 */
bool tessera_swizzle_geometry_ok(u32 layout, u32 pitch, u64 size)
{
	u64 rest;

	if (layout == TSR_LAYOUT_LINEAR)
		return !pitch;
	if (layout >= TSR_LAYOUT_COUNT || !pitch || !IS_ALIGNED(pitch, TSR_TILE_WIDTH_BYTES))
		return false;
	div64_u64_rem(size, (u64)pitch * TSR_TILE_ROWS, &rest);

	return size && !rest;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_swizzle_geometry_ok);

/* Spread the five bits of a coordinate to the even bits of a word index. */
static u32 spread_bits(u32 v)
{
	v = (v | v << 4) & 0x10f;
	v = (v | v << 2) & 0x133;

	return (v | v << 1) & 0x155;
}

static u32 gather_bits(u32 v)
{
	v &= 0x155;
	v = (v | v >> 1) & 0x133;
	v = (v | v >> 2) & 0x10f;

	return (v | v >> 4) & 0x1f;
}

static u32 tile_offset(u32 layout, u32 x, u32 row)
{
	if (layout == TSR_LAYOUT_TILE4K)
		return row * TSR_TILE_WIDTH_BYTES + x;

	return (spread_bits(x / WORD_BYTES) | spread_bits(row) << 1) * WORD_BYTES +
	       x % WORD_BYTES;
}

static void tile_position(u32 layout, u32 offset, u32 *x, u32 *row)
{
	u32 word = offset / WORD_BYTES;

	if (layout == TSR_LAYOUT_TILE4K) {
		*x = offset % TSR_TILE_WIDTH_BYTES;
		*row = offset / TSR_TILE_WIDTH_BYTES;
		return;
	}
	*x = gather_bits(word) * WORD_BYTES + offset % WORD_BYTES;
	*row = gather_bits(word >> 1);
}

/**
 * tessera_swizzle_from_linear() - where a byte of the linear surface is kept
 * @layout: TSR_LAYOUT_*
 * @pitch: bytes per row, as tessera_swizzle_geometry_ok() accepts it
 * @linear: byte offset in the linear surface
 *
 * Return: its byte offset in the swizzled surface.
 */
u64 tessera_swizzle_from_linear(u32 layout, u32 pitch, u64 linear)
{
	u64 row, x;

	if (layout == TSR_LAYOUT_LINEAR)
		return linear;
	row = div64_u64_rem(linear, pitch, &x);

	return round_down(row, (u64)TSR_TILE_ROWS) * pitch +
	       x / TSR_TILE_WIDTH_BYTES * TSR_TILE_BYTES +
	       tile_offset(layout, x % TSR_TILE_WIDTH_BYTES, row % TSR_TILE_ROWS);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_swizzle_from_linear);

/**
 * tessera_swizzle_to_linear() - which byte of the linear surface is kept somewhere
 * @layout: TSR_LAYOUT_*
 * @pitch: bytes per row, as tessera_swizzle_geometry_ok() accepts it
 * @swizzled: byte offset in the swizzled surface
 *
 * Return: its byte offset in the linear surface.
 */
u64 tessera_swizzle_to_linear(u32 layout, u32 pitch, u64 swizzled)
{
	u64 band, in_band;
	u32 x, row;

	if (layout == TSR_LAYOUT_LINEAR)
		return swizzled;
	band = div64_u64_rem(swizzled, (u64)pitch * TSR_TILE_ROWS, &in_band);
	tile_position(layout, in_band % TSR_TILE_BYTES, &x, &row);

	return (band * TSR_TILE_ROWS + row) * pitch +
	       in_band / TSR_TILE_BYTES * TSR_TILE_WIDTH_BYTES + x;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_swizzle_to_linear);
