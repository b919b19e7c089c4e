// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Swizzled address mapping, both ways: SWZ-12, SWZ-15.
 */
#include <kunit/test.h>
#include <linux/bitmap.h>

#include "pure/swizzle.h"

struct offset_case {
	const char *name;
	u32 layout;
	u32 pitch;
	u64 linear;
	u64 swizzled;
};

/* Worked out by hand from the description of the layouts. */
static const struct offset_case offset_cases[] = {
	{ "linear is the identity", TSR_LAYOUT_LINEAR, 0, 0x12345, 0x12345 },
	{ "tile4k first byte", TSR_LAYOUT_TILE4K, 256, 0, 0 },
	{ "tile4k last byte of the first tile row", TSR_LAYOUT_TILE4K, 256, 127, 127 },
	{ "tile4k next tile", TSR_LAYOUT_TILE4K, 256, 128, 4096 },
	{ "tile4k second row", TSR_LAYOUT_TILE4K, 256, 256, 128 },
	{ "tile4k second row of the second tile", TSR_LAYOUT_TILE4K, 256, 384, 4096 + 128 },
	{ "tile4k last row of the first tile", TSR_LAYOUT_TILE4K, 256, 31 * 256, 31 * 128 },
	{ "tile4k second band", TSR_LAYOUT_TILE4K, 256, 32 * 256, 2 * 4096 },
	{ "tile4k last byte of a band", TSR_LAYOUT_TILE4K, 256, 32 * 256 - 1, 2 * 4096 - 1 },
	{ "morton first byte", TSR_LAYOUT_MORTON, 256, 0, 0 },
	{ "morton bytes of a word stay together", TSR_LAYOUT_MORTON, 256, 3, 3 },
	{ "morton second column", TSR_LAYOUT_MORTON, 256, 4, 4 },
	{ "morton second row", TSR_LAYOUT_MORTON, 256, 256, 8 },
	{ "morton second row and column", TSR_LAYOUT_MORTON, 256, 260, 12 },
	{ "morton third column", TSR_LAYOUT_MORTON, 256, 8, 16 },
	{ "morton third row", TSR_LAYOUT_MORTON, 256, 512, 32 },
	{ "morton last column", TSR_LAYOUT_MORTON, 256, 124, 0x155 * 4 },
	{ "morton last row", TSR_LAYOUT_MORTON, 256, 31 * 256, 0x2aa * 4 },
	{ "morton last byte of the first tile", TSR_LAYOUT_MORTON, 256, 31 * 256 + 127, 4095 },
	{ "morton next tile", TSR_LAYOUT_MORTON, 256, 128, 4096 },
	{ "morton second band", TSR_LAYOUT_MORTON, 128, 32 * 128, 4096 },
	{ "far away", TSR_LAYOUT_TILE4K, 65536, 0x1000000000ULL, 0x1000000000ULL },
};

KUNIT_ARRAY_PARAM_DESC(offset, offset_cases, name);

static void test_offset(struct kunit *test)
{
	const struct offset_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, tessera_swizzle_from_linear(c->layout, c->pitch, c->linear),
			c->swizzled);
	KUNIT_EXPECT_EQ(test, tessera_swizzle_to_linear(c->layout, c->pitch, c->swizzled),
			c->linear);
}

struct surface_case {
	const char *name;
	u32 layout;
	u32 pitch;
	u32 rows;
};

static const struct surface_case surface_cases[] = {
	{ "tile4k one tile", TSR_LAYOUT_TILE4K, 128, 32 },
	{ "tile4k wide", TSR_LAYOUT_TILE4K, 640, 32 },
	{ "tile4k high", TSR_LAYOUT_TILE4K, 128, 128 },
	{ "tile4k odd tiles", TSR_LAYOUT_TILE4K, 384, 96 },
	{ "morton one tile", TSR_LAYOUT_MORTON, 128, 32 },
	{ "morton wide", TSR_LAYOUT_MORTON, 640, 32 },
	{ "morton high", TSR_LAYOUT_MORTON, 128, 128 },
	{ "morton odd tiles", TSR_LAYOUT_MORTON, 384, 96 },
};

KUNIT_ARRAY_PARAM_DESC(surface, surface_cases, name);

/* The offset of a byte, bit by bit as the hardware manual has it. */
static u64 manual_offset(u32 layout, u32 pitch, u32 x, u32 y)
{
	u32 tile = y / 32 * (pitch / 128) + x / 128;
	u32 tx = x % 128, ty = y % 32;
	u32 word = 0;
	u32 bit;

	if (layout == TSR_LAYOUT_TILE4K)
		return (u64)tile * 4096 + ty * 128 + tx;
	for (bit = 0; bit < 5; bit++) {
		word |= (tx / 4 >> bit & 1) << (2 * bit);
		word |= (ty >> bit & 1) << (2 * bit + 1);
	}

	return (u64)tile * 4096 + word * 4 + tx % 4;
}

static void test_bijection(struct kunit *test)
{
	const struct surface_case *c = test->param_value;
	u32 bytes = c->pitch * c->rows;
	unsigned long *seen;
	u32 x, y;

	seen = kunit_kcalloc(test, BITS_TO_LONGS(bytes), sizeof(*seen), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, seen);

	for (y = 0; y < c->rows; y++) {
		for (x = 0; x < c->pitch; x++) {
			u64 linear = (u64)y * c->pitch + x;
			u64 s = tessera_swizzle_from_linear(c->layout, c->pitch, linear);

			KUNIT_ASSERT_EQ(test, s, manual_offset(c->layout, c->pitch, x, y));
			KUNIT_ASSERT_LT(test, s, (u64)bytes);
			KUNIT_ASSERT_FALSE(test, test_and_set_bit(s, seen));
			KUNIT_ASSERT_EQ(test, linear,
					tessera_swizzle_to_linear(c->layout, c->pitch, s));
		}
	}
	KUNIT_EXPECT_TRUE(test, bitmap_full(seen, bytes));
}

struct geometry_case {
	const char *name;
	u32 layout;
	u32 pitch;
	u64 size;
	bool ok;
};

static const struct geometry_case geometry_cases[] = {
	{ "linear", TSR_LAYOUT_LINEAR, 0, 4096, true },
	{ "linear with a pitch", TSR_LAYOUT_LINEAR, 128, 4096, false },
	{ "tile4k smallest", TSR_LAYOUT_TILE4K, 128, 4096, true },
	{ "morton smallest", TSR_LAYOUT_MORTON, 128, 4096, true },
	{ "tile4k without a pitch", TSR_LAYOUT_TILE4K, 0, 4096, false },
	{ "pitch below a tile", TSR_LAYOUT_TILE4K, 64, 4096, false },
	{ "pitch not a multiple of a tile", TSR_LAYOUT_TILE4K, 192, 12288, false },
	{ "size below a band", TSR_LAYOUT_TILE4K, 256, 4096, false },
	{ "size of one band", TSR_LAYOUT_TILE4K, 256, 8192, true },
	{ "size of one band and a tile", TSR_LAYOUT_MORTON, 256, 12288, false },
	{ "size 0", TSR_LAYOUT_MORTON, 256, 0, false },
	{ "largest pitch", TSR_LAYOUT_MORTON, 0xffffff80, 0xffffff80ULL * 32, true },
	{ "unknown layout", TSR_LAYOUT_COUNT, 128, 4096, false },
	{ "layout out of range", U32_MAX, 128, 4096, false },
};

KUNIT_ARRAY_PARAM_DESC(geometry, geometry_cases, name);

static void test_geometry(struct kunit *test)
{
	const struct geometry_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, tessera_swizzle_geometry_ok(c->layout, c->pitch, c->size), c->ok);
}

static struct kunit_case swizzle_cases[] = {
	KUNIT_CASE_PARAM(test_offset, offset_gen_params),
	KUNIT_CASE_PARAM_ATTR(test_bijection, surface_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE_PARAM(test_geometry, geometry_gen_params),
	{ }
};

static struct kunit_suite swizzle_suite = {
	.name = "tessera_swizzle",
	.test_cases = swizzle_cases,
};

kunit_test_suite(swizzle_suite);
