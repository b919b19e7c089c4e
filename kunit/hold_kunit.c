// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Unit tests of holds: which of several submissions keeps an object in place
 * (SPLIT-17).
 */
#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/dma-resv.h>
#include <linux/jiffies.h>

#include "mem/mem.h"

static int hold_init(struct kunit *test)
{
	struct tessera_bo *bo = kunit_kzalloc(test, sizeof(*bo), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, bo);
	bo->tbo.base.resv = &bo->tbo.base._resv;
	dma_resv_init(&bo->tbo.base._resv);
	test->priv = bo;

	return 0;
}

static void hold_exit(struct kunit *test)
{
	struct tessera_bo *bo = test->priv;

	if (bo)
		dma_resv_fini(&bo->tbo.base._resv);
}

static void take(struct tessera_bo *bo, u64 stamp, unsigned long until)
{
	dma_resv_lock(bo->tbo.base.resv, NULL);
	tessera_hold_take(bo, stamp, until);
	dma_resv_unlock(bo->tbo.base.resv);
}

/*
 * SPLIT-17: the oldest of the submissions that want a hold has it, in any order
 * of their requests.
 */
static void hold_of_the_oldest(struct kunit *test)
{
	struct tessera_bo *bo = test->priv;
	unsigned long until = jiffies + 60 * HZ;

	KUNIT_EXPECT_EQ(test, tessera_holder(bo), 0);
	take(bo, 5, until);
	KUNIT_EXPECT_EQ(test, tessera_holder(bo), 5);
	take(bo, 7, until);
	KUNIT_EXPECT_EQ(test, tessera_holder(bo), 5);
	take(bo, 3, until);
	KUNIT_EXPECT_EQ(test, tessera_holder(bo), 3);
	take(bo, 5, until);
	KUNIT_EXPECT_EQ(test, tessera_holder(bo), 3);
	/* A submission that is not the holder cannot drop the hold. */
	tessera_hold_drop(bo, 5);
	KUNIT_EXPECT_EQ(test, tessera_holder(bo), 3);
	tessera_hold_drop(bo, 3);
	KUNIT_EXPECT_EQ(test, tessera_holder(bo), 0);
	take(bo, 7, until);
	KUNIT_EXPECT_EQ(test, tessera_holder(bo), 7);
}

/*
 * SPLIT-17: younger submissions must wait for the placement. The holder and
 * older submissions need not.
 */
static void hold_keeps_off(struct kunit *test)
{
	struct tessera_bo *bo = test->priv;

	KUNIT_EXPECT_FALSE(test, tessera_hold_has_older(bo, 5));
	take(bo, 5, jiffies + 60 * HZ);
	KUNIT_EXPECT_TRUE(test, tessera_hold_has_older(bo, 6));
	KUNIT_EXPECT_FALSE(test, tessera_hold_has_older(bo, 5));
	KUNIT_EXPECT_FALSE(test, tessera_hold_has_older(bo, 4));
}

/* SPLIT-17: a hold expires. Then a younger submission may hold the object. */
static void hold_ends(struct kunit *test)
{
	struct tessera_bo *bo = test->priv;

	take(bo, 3, jiffies + 60 * HZ);
	bo->hold.until = jiffies;
	KUNIT_EXPECT_EQ(test, tessera_holder(bo), 0);
	KUNIT_EXPECT_FALSE(test, tessera_hold_has_older(bo, 6));
	take(bo, 6, jiffies + 60 * HZ);
	KUNIT_EXPECT_EQ(test, tessera_holder(bo), 6);
	tessera_hold_drop(bo, 3);
	KUNIT_EXPECT_EQ(test, tessera_holder(bo), 6);
}

static struct kunit_case hold_tests[] = {
	KUNIT_CASE(hold_of_the_oldest),
	KUNIT_CASE(hold_keeps_off),
	KUNIT_CASE(hold_ends),
	{}
};

static struct kunit_suite hold_suite = {
	.name = "tessera_hold",
	.init = hold_init,
	.exit = hold_exit,
	.test_cases = hold_tests,
};

kunit_test_suite(hold_suite);
