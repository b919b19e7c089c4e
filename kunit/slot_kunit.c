// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Unit tests of the slot table: SPLIT-6, SPLIT-7, SPLIT-8, SPLIT-10, SPLIT-21,
 * SPLIT-36.
 */
#include <kunit/test.h>

#include "pure/slot.h"

#define NUM_SLOTS	8

struct slot_fixture {
	struct tessera_slot_table table;
	struct tessera_slot_row rows[NUM_SLOTS];
	u32 live[NUM_SLOTS];
};

static int slot_init(struct kunit *test)
{
	struct slot_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	tessera_slot_init(&f->table, f->rows, f->live, NUM_SLOTS);
	test->priv = f;

	return 0;
}

static u32 slot_alloc(struct tessera_slot_table *table, u32 slot)
{
	const struct tessera_slot_row *row = tessera_slot_row(table, slot);

	return row ? row->alloc : TESSERA_SLOT_NULL;
}

static void expect_live(struct kunit *test, struct tessera_slot_table *table)
{
	u32 i, count = 0;

	for (i = 0; i < NUM_SLOTS; i++)
		count += slot_alloc(table, i) != TESSERA_SLOT_NULL;
	KUNIT_EXPECT_EQ(test, table->num_live, count);
	for (i = 0; i < table->num_live; i++) {
		KUNIT_ASSERT_LT(test, table->live[i], NUM_SLOTS);
		KUNIT_EXPECT_NE(test, slot_alloc(table, table->live[i]),
				TESSERA_SLOT_NULL);
		KUNIT_EXPECT_EQ(test, table->rows[table->live[i]].live_pos, i);
	}
}

static void test_starts_empty_split_7(struct kunit *test)
{
	struct slot_fixture *f = test->priv;
	u32 i;

	for (i = 0; i < NUM_SLOTS; i++) {
		KUNIT_EXPECT_EQ(test, slot_alloc(&f->table, i), TESSERA_SLOT_NULL);
		KUNIT_EXPECT_NULL(test, tessera_slot_row(&f->table, i));
		KUNIT_EXPECT_EQ(test, tessera_slot_set(&f->table, i, i, 0), 0);
	}
	KUNIT_EXPECT_EQ(test, f->table.num_live, NUM_SLOTS);
	tessera_slot_reset(&f->table);
	for (i = 0; i < NUM_SLOTS; i++)
		KUNIT_EXPECT_EQ(test, slot_alloc(&f->table, i), TESSERA_SLOT_NULL);
	expect_live(test, &f->table);
}

static void test_reset_wraps_split_7(struct kunit *test)
{
	struct slot_fixture *f = test->priv;

	f->table.generation = U32_MAX;
	KUNIT_EXPECT_EQ(test, tessera_slot_set(&f->table, 3, 1, 0), 0);
	/* A row with the generation that follows the wrap-around. */
	f->rows[5].generation = 1;
	f->rows[5].alloc = 7;
	tessera_slot_reset(&f->table);
	KUNIT_EXPECT_EQ(test, slot_alloc(&f->table, 3), TESSERA_SLOT_NULL);
	KUNIT_EXPECT_EQ(test, slot_alloc(&f->table, 5), TESSERA_SLOT_NULL);
	KUNIT_EXPECT_NE(test, f->table.generation, 0);
}

static void test_bounds_split_6(struct kunit *test)
{
	struct slot_fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, tessera_slot_set(&f->table, NUM_SLOTS - 1, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, tessera_slot_set(&f->table, NUM_SLOTS, 0, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, tessera_slot_set(&f->table, U32_MAX, 0, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, slot_alloc(&f->table, NUM_SLOTS), TESSERA_SLOT_NULL);
	KUNIT_EXPECT_NULL(test, tessera_slot_row(&f->table, U32_MAX));
	expect_live(test, &f->table);
}

static void test_other_rows_untouched_split_8(struct kunit *test)
{
	struct slot_fixture *f = test->priv;
	u32 i;

	for (i = 0; i < NUM_SLOTS; i++)
		KUNIT_EXPECT_EQ(test, tessera_slot_set(&f->table, i, 10 + i, 0), 0);
	KUNIT_EXPECT_EQ(test, tessera_slot_set(&f->table, 4, 99, 8), 0);
	for (i = 0; i < NUM_SLOTS; i++)
		KUNIT_EXPECT_EQ(test, slot_alloc(&f->table, i), i == 4 ? 99 : 10 + i);
	expect_live(test, &f->table);
}

static void test_replace_split_10(struct kunit *test)
{
	struct slot_fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, tessera_slot_set(&f->table, 1, 5, 0), 0);
	KUNIT_EXPECT_EQ(test, tessera_slot_set(&f->table, 1, 6, 8), 0);
	KUNIT_EXPECT_EQ(test, slot_alloc(&f->table, 1), 6);
	KUNIT_EXPECT_EQ(test, tessera_slot_row(&f->table, 1)->split_offset, 8);
	expect_live(test, &f->table);
}

static void test_unbind_split_21(struct kunit *test)
{
	struct slot_fixture *f = test->priv;
	u32 i;

	for (i = 0; i < NUM_SLOTS; i++)
		KUNIT_EXPECT_EQ(test, tessera_slot_set(&f->table, i, i, 0), 0);
	/* Unbinding an empty slot changes nothing. */
	KUNIT_EXPECT_EQ(test, tessera_slot_set(&f->table, 2, TESSERA_SLOT_NULL, 8), 0);
	KUNIT_EXPECT_EQ(test, tessera_slot_set(&f->table, 2, TESSERA_SLOT_NULL, 16), 0);
	KUNIT_EXPECT_EQ(test, slot_alloc(&f->table, 2), TESSERA_SLOT_NULL);
	KUNIT_EXPECT_EQ(test, f->table.num_live, NUM_SLOTS - 1);
	expect_live(test, &f->table);
	KUNIT_EXPECT_EQ(test, tessera_slot_set(&f->table, 2, 3, 24), 0);
	expect_live(test, &f->table);
}

static void test_one_split_point_split_36(struct kunit *test)
{
	struct slot_fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, tessera_slot_set(&f->table, 1, 5, 8), 0);
	KUNIT_EXPECT_EQ(test, tessera_slot_set(&f->table, 1, 5, 8), 0);
	KUNIT_EXPECT_EQ(test, tessera_slot_set(&f->table, 1, 6, 8), -EINVAL);
	KUNIT_EXPECT_EQ(test, slot_alloc(&f->table, 1), 5);
	/*
	 * The last entry sets the row. An unbind in between does not allow
	 * another allocation at the same split point.
	 */
	KUNIT_EXPECT_EQ(test, tessera_slot_set(&f->table, 1, TESSERA_SLOT_NULL, 8), 0);
	KUNIT_EXPECT_EQ(test, slot_alloc(&f->table, 1), TESSERA_SLOT_NULL);
	KUNIT_EXPECT_EQ(test, tessera_slot_set(&f->table, 1, 6, 8), -EINVAL);
	KUNIT_EXPECT_EQ(test, tessera_slot_set(&f->table, 1, 5, 8), 0);
	KUNIT_EXPECT_EQ(test, slot_alloc(&f->table, 1), 5);
	/* At the next split point another allocation is allowed. */
	KUNIT_EXPECT_EQ(test, tessera_slot_set(&f->table, 1, 6, 16), 0);
	KUNIT_EXPECT_EQ(test, tessera_slot_set(&f->table, 1, 5, 16), -EINVAL);
	expect_live(test, &f->table);
}

/* Random updates are compared with an array, over many resets. */
static void test_random(struct kunit *test)
{
	struct slot_fixture *f = test->priv;
	u32 model[NUM_SLOTS], seed = 1, split, i, step;

	for (i = 0; i < 200; i++) {
		tessera_slot_reset(&f->table);
		memset(model, 0xff, sizeof(model));
		split = 0;
		for (step = 0; step < 50; step++) {
			u32 slot, alloc;

			seed = seed * 1664525 + 1013904223;
			slot = seed >> 16 & (NUM_SLOTS - 1);
			alloc = seed & BIT(24) ? TESSERA_SLOT_NULL : seed >> 26;
			split += 8;
			KUNIT_ASSERT_EQ(test, tessera_slot_set(&f->table, slot, alloc, split), 0);
			model[slot] = alloc;
			KUNIT_ASSERT_EQ(test, slot_alloc(&f->table, slot), alloc);
		}
		for (step = 0; step < NUM_SLOTS; step++)
			KUNIT_ASSERT_EQ(test, slot_alloc(&f->table, step), model[step]);
		expect_live(test, &f->table);
	}
}

static struct kunit_case slot_cases[] = {
	KUNIT_CASE(test_starts_empty_split_7),
	KUNIT_CASE(test_reset_wraps_split_7),
	KUNIT_CASE(test_bounds_split_6),
	KUNIT_CASE(test_other_rows_untouched_split_8),
	KUNIT_CASE(test_replace_split_10),
	KUNIT_CASE(test_unbind_split_21),
	KUNIT_CASE(test_one_split_point_split_36),
	KUNIT_CASE(test_random),
	{ }
};

static struct kunit_suite slot_suite = {
	.name = "tessera_slot",
	.init = slot_init,
	.test_cases = slot_cases,
};

kunit_test_suite(slot_suite);
