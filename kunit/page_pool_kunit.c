// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Pages of the CPU host aperture: CHA-2, CHA-3, CHA-5.
 */
#include <kunit/test.h>
#include <linux/bitmap.h>

#include "pure/page_pool.h"

#define PAGES	70U

struct pool {
	struct tessera_page_pool pool;
	DECLARE_BITMAP(taken, PAGES);
};

static struct tessera_page_pool *new_pool(struct kunit *test)
{
	struct pool *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	tessera_page_pool_init(&p->pool, p->taken, PAGES);

	return &p->pool;
}

static void pool_counts(struct kunit *test)
{
	struct tessera_page_pool *pool = new_pool(test);
	u32 pages[PAGES + 1] = {};

	KUNIT_EXPECT_EQ(test, tessera_page_pool_take(pool, pages, PAGES + 1), -ENOSPC);
	KUNIT_EXPECT_EQ(test, pool->num_free, PAGES);
	KUNIT_EXPECT_EQ(test, tessera_page_pool_take(pool, pages, PAGES), 0);
	KUNIT_EXPECT_EQ(test, pool->num_free, 0);
	KUNIT_EXPECT_EQ(test, pages[PAGES - 1], PAGES - 1);
	KUNIT_EXPECT_EQ(test, tessera_page_pool_take(pool, pages, 1), -ENOSPC);
	KUNIT_EXPECT_EQ(test, tessera_page_pool_take(pool, pages, 0), 0);
	tessera_page_pool_give(pool, pages + 7, 1);
	KUNIT_EXPECT_EQ(test, tessera_page_pool_take(pool, pages, 1), 0);
	KUNIT_EXPECT_EQ(test, pages[0], 7);
}

/* A run that is long enough; failing that, whatever is free. */
static void pool_prefers_runs(struct kunit *test)
{
	static const u32 expect[] = { 10, 20, 21, 40, 41, 42 };
	struct tessera_page_pool *pool = new_pool(test);
	u32 pages[PAGES], all[PAGES], i;

	KUNIT_ASSERT_EQ(test, tessera_page_pool_take(pool, all, PAGES), 0);
	for (i = 0; i < ARRAY_SIZE(expect); i++)
		tessera_page_pool_give(pool, &expect[i], 1);
	KUNIT_EXPECT_EQ(test, tessera_page_pool_take(pool, pages, 2), 0);
	KUNIT_EXPECT_EQ(test, pages[0], 20);
	KUNIT_EXPECT_EQ(test, pages[1], 21);
	tessera_page_pool_give(pool, pages, 2);
	KUNIT_EXPECT_EQ(test, tessera_page_pool_take(pool, pages, 3), 0);
	KUNIT_EXPECT_EQ(test, pages[0], 40);
	tessera_page_pool_give(pool, pages, 3);
	KUNIT_EXPECT_EQ(test, tessera_page_pool_take(pool, pages, ARRAY_SIZE(expect)), 0);
	KUNIT_EXPECT_MEMEQ(test, pages, expect, sizeof(expect));
	KUNIT_EXPECT_EQ(test, tessera_page_pool_run(pages, 6), 1);
	KUNIT_EXPECT_EQ(test, tessera_page_pool_run(pages + 1, 5), 2);
	KUNIT_EXPECT_EQ(test, tessera_page_pool_run(pages + 3, 3), 3);
}

/* CHA-5: half of the pages, whether or not their number is even, and of a single one nothing. */
static void pool_guards_half(struct kunit *test)
{
	struct tessera_page_pool *pool = new_pool(test);

	KUNIT_EXPECT_TRUE(test, tessera_page_pool_guards(pool, 0));
	KUNIT_EXPECT_TRUE(test, tessera_page_pool_guards(pool, PAGES / 2));
	KUNIT_EXPECT_FALSE(test, tessera_page_pool_guards(pool, PAGES / 2 + 1));
	pool->num = 7;
	KUNIT_EXPECT_TRUE(test, tessera_page_pool_guards(pool, 3));
	KUNIT_EXPECT_FALSE(test, tessera_page_pool_guards(pool, 4));
	pool->num = 1;
	KUNIT_EXPECT_FALSE(test, tessera_page_pool_guards(pool, 1));
}

/* Against a plain array: nobody's page is given to another. */
static void pool_random(struct kunit *test)
{
	struct tessera_page_pool *pool = new_pool(test);
	u32 (*held)[PAGES] = kunit_kcalloc(test, 16, sizeof(*held), GFP_KERNEL);
	u32 count[16] = {}, owner[PAGES] = {};
	u64 seed = 1;
	u32 round, i, who, n, left = PAGES;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, held);
	for (round = 0; round < 20000; round++) {
		seed = seed * 0x5851f42d4c957f2dULL + 0x14057b7ef767814fULL;
		who = (seed >> 33) % 16;
		if (count[who]) {
			tessera_page_pool_give(pool, held[who], count[who]);
			for (i = 0; i < count[who]; i++)
				owner[held[who][i]] = 0;
			left += count[who];
			count[who] = 0;
			continue;
		}
		n = 1 + (seed >> 40) % 12;
		ret = tessera_page_pool_take(pool, held[who], n);
		KUNIT_ASSERT_EQ(test, ret, n <= left ? 0 : -ENOSPC);
		if (ret)
			continue;
		count[who] = n;
		left -= n;
		for (i = 0; i < n; i++) {
			KUNIT_ASSERT_LT(test, held[who][i], PAGES);
			KUNIT_ASSERT_EQ(test, owner[held[who][i]], 0);
			KUNIT_ASSERT_TRUE(test, !i || held[who][i] > held[who][i - 1]);
			owner[held[who][i]] = who + 1;
		}
		KUNIT_ASSERT_EQ(test, pool->num_free, left);
	}
}

static struct kunit_case page_pool_tests[] = {
	KUNIT_CASE(pool_counts),
	KUNIT_CASE(pool_prefers_runs),
	KUNIT_CASE(pool_guards_half),
	KUNIT_CASE(pool_random),
	{}
};

static struct kunit_suite page_pool_suite = {
	.name = "tessera_page_pool",
	.test_cases = page_pool_tests,
};

kunit_test_suite(page_pool_suite);
