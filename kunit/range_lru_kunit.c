// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Unit tests of the victim choice for swizzling ranges: SWZ-9, SWZ-26, SWZ-28,
 * SWZ-30.
 */
#include <kunit/test.h>

#include "pure/range_lru.h"

#define NONE	U32_MAX

static void range_free_first(struct kunit *test)
{
	struct tessera_range_use use[3] = {
		{ .taken = true }, { .busy = true }, { },
	};

	KUNIT_EXPECT_EQ(test, tessera_range_free(use, 3), 1);
	use[1].taken = true;
	KUNIT_EXPECT_EQ(test, tessera_range_free(use, 3), 2);
	KUNIT_EXPECT_EQ(test, tessera_range_free(use, 2), NONE);
	KUNIT_EXPECT_EQ(test, tessera_range_free(use, 0), NONE);
}

static void range_least_recently_used(struct kunit *test)
{
	struct tessera_range_use use[4] = {
		{ .taken = true, .last_use = 9, .process = 1 },
		{ .taken = true, .last_use = 5, .process = 2 },
		{ .taken = true, .last_use = 7, .process = 1 },
		{ .last_use = 1, .process = 1 },
	};

	KUNIT_EXPECT_EQ(test, tessera_range_victim(use, 4, 1), 1);
	use[1].busy = true;
	KUNIT_EXPECT_EQ(test, tessera_range_victim(use, 4, 1), 2);
	use[2].locked = true;
	KUNIT_EXPECT_EQ(test, tessera_range_victim(use, 4, 1), 0);
	use[0].busy = true;
	KUNIT_EXPECT_EQ(test, tessera_range_victim(use, 4, 1), NONE);
	KUNIT_EXPECT_EQ(test, tessera_range_victim(use, 0, 1), NONE);
}

/*
 * Locks of a client protect half of the ranges, at least one, from other
 * clients. Its own requests never take a range that it has locked.
 */
static void range_locks_have_a_limit(struct kunit *test)
{
	struct tessera_range_use use[5];
	u32 i;

	KUNIT_EXPECT_EQ(test, tessera_range_kept(0), 1);
	KUNIT_EXPECT_EQ(test, tessera_range_kept(1), 1);
	KUNIT_EXPECT_EQ(test, tessera_range_kept(5), 2);
	KUNIT_EXPECT_EQ(test, tessera_range_kept(8), 4);
	for (i = 0; i < ARRAY_SIZE(use); i++)
		use[i] = (struct tessera_range_use) {
			.taken = true, .locked = true, .last_use = 10 - i, .process = 1,
		};
	KUNIT_EXPECT_EQ(test, tessera_range_victim(use, 5, 1), NONE);
	KUNIT_EXPECT_EQ(test, tessera_range_victim(use, 5, 2), 4);
	/* Two locks are its own, and three of five exceed the limit. */
	use[4].process = 2;
	use[3].process = 2;
	KUNIT_EXPECT_EQ(test, tessera_range_victim(use, 5, 2), 2);
	/* No client has more than two. */
	use[2].process = 3;
	KUNIT_EXPECT_EQ(test, tessera_range_victim(use, 5, 2), NONE);
	KUNIT_EXPECT_EQ(test, tessera_range_victim(use, 5, 4), NONE);
	/*
	 * A range that is not locked goes first, at any time of its last use.
	 */
	use[2].locked = false;
	use[2].last_use = 100;
	KUNIT_EXPECT_EQ(test, tessera_range_victim(use, 5, 4), 2);
	/* The only range is protected. */
	use[0].locked = true;
	KUNIT_EXPECT_EQ(test, tessera_range_victim(use, 1, 4), NONE);
}

static struct kunit_case range_lru_tests[] = {
	KUNIT_CASE(range_free_first),
	KUNIT_CASE(range_least_recently_used),
	KUNIT_CASE(range_locks_have_a_limit),
	{}
};

static struct kunit_suite range_lru_suite = {
	.name = "tessera_range_lru",
	.test_cases = range_lru_tests,
};

kunit_test_suite(range_lru_suite);
