// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Unit tests of claims: only the submission that has claimed a segment may
 * place objects there.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include <drm/drm_drv.h>
#include <drm/drm_kunit_helpers.h>

#include "base/device.h"
#include "segments/segments.h"

/* The test's thread is one submission, @work is another. */
struct claim {
	struct tessera_manager mgr;
	struct work_struct work;
	void (*step)(struct claim *c);
	bool closed;
	int ret;
};

static void run_step(struct work_struct *work)
{
	struct claim *c = container_of(work, struct claim, work);

	c->step(c);
}

static int claim_init(struct kunit *test)
{
	struct claim *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	struct device *dev = drm_kunit_helper_alloc_device(test);

	KUNIT_ASSERT_NOT_NULL(test, c);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	c->mgr.tdev = drm_kunit_helper_alloc_drm_device(test, dev, struct tessera_device, drm,
							DRIVER_GEM);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, c->mgr.tdev);
	KUNIT_ASSERT_EQ(test, tessera_space_events_init(c->mgr.tdev), 0);
	mutex_init(&c->mgr.lock);
	INIT_WORK(&c->work, run_step);
	test->priv = c;

	return 0;
}

static void other(struct claim *c, void (*step)(struct claim *c))
{
	c->step = step;
	schedule_work(&c->work);
	flush_work(&c->work);
}

static void ask(struct claim *c)
{
	c->closed = tessera_manager_closed(&c->mgr);
}

static void claim(struct claim *c)
{
	c->ret = tessera_manager_claim(&c->mgr, TASK_KILLABLE);
}

static void unclaim(struct claim *c)
{
	tessera_manager_unclaim(&c->mgr);
}

static bool closed_for_other(struct claim *c)
{
	other(c, ask);

	return c->closed;
}

/* A slow machine could let the claim expire during the test. */
static void prolong(struct claim *c)
{
	c->mgr.claimed_until = jiffies + 60 * HZ;
}

/* A claim excludes other submissions, but not its owner. */
static void claim_of_one(struct kunit *test)
{
	struct claim *c = test->priv;

	KUNIT_EXPECT_FALSE(test, tessera_manager_closed(&c->mgr));
	KUNIT_EXPECT_FALSE(test, closed_for_other(c));
	KUNIT_ASSERT_EQ(test, tessera_manager_claim(&c->mgr, TASK_KILLABLE), 0);
	prolong(c);
	KUNIT_EXPECT_FALSE(test, tessera_manager_closed(&c->mgr));
	KUNIT_EXPECT_TRUE(test, closed_for_other(c));
	/* Another submission cannot end the claim. */
	other(c, unclaim);
	KUNIT_EXPECT_TRUE(test, closed_for_other(c));
	tessera_manager_unclaim(&c->mgr);
	KUNIT_EXPECT_FALSE(test, closed_for_other(c));
}

/* A claim expires. Its owner must then not end the claim of the next owner. */
static void claim_ends(struct kunit *test)
{
	struct claim *c = test->priv;

	KUNIT_ASSERT_EQ(test, tessera_manager_claim(&c->mgr, TASK_KILLABLE), 0);
	c->mgr.claimed_until = jiffies;
	KUNIT_EXPECT_FALSE(test, closed_for_other(c));
	other(c, claim);
	KUNIT_ASSERT_EQ(test, c->ret, 0);
	prolong(c);
	KUNIT_EXPECT_TRUE(test, tessera_manager_closed(&c->mgr));
	tessera_manager_unclaim(&c->mgr);
	KUNIT_EXPECT_TRUE(test, tessera_manager_closed(&c->mgr));
}

static struct kunit_case claim_tests[] = {
	KUNIT_CASE(claim_of_one),
	KUNIT_CASE(claim_ends),
	{}
};

static struct kunit_suite claim_suite = {
	.name = "tessera_claim",
	.init = claim_init,
	.test_cases = claim_tests,
};

kunit_test_suite(claim_suite);
