// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Unit tests of scattered placements: every free page is found, once, and large
 * blocks come first.
 */
#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/prandom.h>

#include "pure/scatter.h"

#define PAGES	4096
#define CASES	400

struct memory {
	DECLARE_BITMAP(used, PAGES);
};

/*
 * Offer each hole once and mark the pages taken as used. Returns the number of
 * pages, and stores in @order where each is.
 */
static u64 offer_holes(struct kunit *test, struct memory *memory, struct tessera_scatter *scatter,
		       u32 *order, u64 have)
{
	unsigned long lo, hi;
	u64 start, pages, i;

	for (lo = 0; lo < PAGES; lo = hi) {
		lo = find_next_zero_bit(memory->used, PAGES, lo);
		hi = find_next_bit(memory->used, PAGES, lo);
		if (lo >= PAGES)
			break;
		pages = tessera_scatter_take(scatter, lo, hi, &start);
		if (!pages)
			continue;
		KUNIT_ASSERT_GE(test, start, lo);
		KUNIT_ASSERT_LE(test, start + pages, hi);
		KUNIT_ASSERT_EQ(test, start % scatter->unit, 0);
		KUNIT_ASSERT_EQ(test, have % scatter->unit, 0);
		bitmap_set(memory->used, start, pages);
		for (i = 0; i < pages; i++)
			order[have++] = start + i;
		/* The next round offers the rest of the hole. */
	}

	return have;
}

static u64 place(struct kunit *test, struct memory *memory, u64 pages, u64 smallest, u32 *order)
{
	struct tessera_scatter scatter;
	u64 have = 0;

	tessera_scatter_begin(&scatter, pages, smallest);
	do {
		have = offer_holes(test, memory, &scatter, order, have);
		KUNIT_ASSERT_EQ(test, have + scatter.left, pages);
	} while (tessera_scatter_next(&scatter));

	return have;
}

/* With holes of random sizes, exactly the free pages are taken. */
static void scatter_fills(struct kunit *test)
{
	struct memory *memory = kunit_kzalloc(test, sizeof(*memory), GFP_KERNEL);
	u32 *order = kunit_kcalloc(test, PAGES, sizeof(*order), GFP_KERNEL);
	struct rnd_state rnd;
	u32 i, n, unit, free;

	KUNIT_ASSERT_NOT_NULL(test, memory);
	KUNIT_ASSERT_NOT_NULL(test, order);
	prandom_seed_state(&rnd, 11);
	for (i = 0; i < CASES; i++) {
		unit = i % 2 ? 16 : 1;
		bitmap_zero(memory->used, PAGES);
		for (n = prandom_u32_state(&rnd) % 64; n; n--) {
			u32 at = prandom_u32_state(&rnd) % (PAGES / unit);
			u32 size = 1 + prandom_u32_state(&rnd) % 40;

			bitmap_set(memory->used, at * unit, min(size * unit, PAGES - at * unit));
		}
		free = PAGES - bitmap_weight(memory->used, PAGES);
		/* A request for more than is free gets all of it. */
		KUNIT_EXPECT_EQ(test, place(test, memory, free + unit, unit, order), free);
		KUNIT_EXPECT_TRUE(test, bitmap_full(memory->used, PAGES));
	}
}

/* A free block of 2 MiB is taken first, even behind smaller holes. */
static void scatter_blocks(struct kunit *test)
{
	struct memory *memory = kunit_kzalloc(test, sizeof(*memory), GFP_KERNEL);
	u32 *order = kunit_kcalloc(test, PAGES, sizeof(*order), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, memory);
	KUNIT_ASSERT_NOT_NULL(test, order);
	/* Free: pages 0 to 99, 101 to 1022, and all from 1024. */
	set_bit(100, memory->used);
	set_bit(1023, memory->used);
	KUNIT_ASSERT_EQ(test, place(test, memory, 512 + 16 + 3, 1, order), 512 + 16 + 3);
	for (i = 0; i < 512; i++)
		KUNIT_EXPECT_EQ(test, order[i], 1024 + i);
	for (i = 0; i < 16; i++)
		KUNIT_EXPECT_EQ(test, order[512 + i], i);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, order[528 + i], 16 + i);
}

/*
 * A request gets what is free if that is not enough, and nothing from a hole
 * that is too small.
 */
static void scatter_short(struct kunit *test)
{
	struct tessera_scatter scatter;
	u64 start = 7;

	tessera_scatter_begin(&scatter, 32, 16);
	KUNIT_EXPECT_EQ(test, tessera_scatter_take(&scatter, 0, 511, &start), 0);
	KUNIT_EXPECT_TRUE(test, tessera_scatter_next(&scatter));
	KUNIT_EXPECT_EQ(test, tessera_scatter_take(&scatter, 5, 31, &start), 0);
	KUNIT_EXPECT_EQ(test, tessera_scatter_take(&scatter, 5, 32, &start), 16);
	KUNIT_EXPECT_EQ(test, start, 16);
	KUNIT_EXPECT_FALSE(test, tessera_scatter_next(&scatter));
	KUNIT_EXPECT_EQ(test, scatter.left, 16);
	KUNIT_EXPECT_EQ(test, tessera_scatter_take(&scatter, 64, 128, &start), 16);
	KUNIT_EXPECT_EQ(test, tessera_scatter_take(&scatter, 128, 256, &start), 0);
}

static struct kunit_case scatter_cases[] = {
	KUNIT_CASE(scatter_fills),
	KUNIT_CASE(scatter_blocks),
	KUNIT_CASE(scatter_short),
	{ }
};

static struct kunit_suite scatter_suite = {
	.name = "tessera_scatter",
	.test_cases = scatter_cases,
};

kunit_test_suite(scatter_suite);
