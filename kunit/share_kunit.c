// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Unit tests of fair-share arithmetic (SEG-8, SEG-9, RES-11). */
#include <kunit/test.h>

#include "pure/share.h"

#define MIB BIT_ULL(20)

static bool is_over(const struct tessera_share_seg *seg,
		    const struct tessera_share_client *client, u64 want)
{
	return client->used + want > tessera_share_fair(seg, client);
}

/* SEG-8: the share is the size divided by the number of clients with demand. */
static void share_by_demand(struct kunit *test)
{
	struct tessera_share_seg seg = { .size = 96 * MIB };
	struct tessera_share_client c[3] = {};

	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg, &c[0]), 96 * MIB);
	tessera_share_touch(&seg, &c[0], 1);
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg, &c[0]), 96 * MIB);
	/* For a client without demand, the share that it would get. */
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg, &c[1]), 48 * MIB);
	tessera_share_touch(&seg, &c[1], 2);
	tessera_share_touch(&seg, &c[2], 2);
	tessera_share_touch(&seg, &c[2], 3);
	KUNIT_EXPECT_EQ(test, seg.weight, 3 * TESSERA_SHARE_WEIGHT);
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg, &c[0]), 32 * MIB);
	tessera_share_leave(&seg, &c[2]);
	tessera_share_leave(&seg, &c[2]);
	KUNIT_EXPECT_EQ(test, seg.weight, 2 * TESSERA_SHARE_WEIGHT);
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg, &c[0]), 48 * MIB);
}

/*
 * The share of an idle client is lent and taken back: holding memory is not
 * demand.
 */
static void share_lent_and_taken_back(struct kunit *test)
{
	struct tessera_share_seg seg = { .size = 64 * MIB };
	struct tessera_share_client a = {}, b = {};

	tessera_share_touch(&seg, &a, 100);
	tessera_share_touch(&seg, &b, 100);
	KUNIT_EXPECT_EQ(test, tessera_share_charge(&seg, &a, 32 * MIB), 0);
	KUNIT_EXPECT_EQ(test, tessera_share_charge(&seg, &b, 32 * MIB), 0);
	KUNIT_EXPECT_TRUE(test, is_over(&seg, &a, 1));
	tessera_share_touch(&seg, &a, 200);
	KUNIT_EXPECT_FALSE(test, tessera_share_expire(&seg, &b, 200, 100));
	KUNIT_EXPECT_TRUE(test, tessera_share_expire(&seg, &b, 201, 100));
	KUNIT_EXPECT_FALSE(test, tessera_share_expire(&seg, &b, 999, 100));
	KUNIT_EXPECT_FALSE(test, tessera_share_expire(&seg, &a, 201, 100));
	KUNIT_EXPECT_FALSE(test, is_over(&seg, &a, 32 * MIB));
	KUNIT_EXPECT_EQ(test, b.used, 32 * MIB);
	tessera_share_touch(&seg, &b, 300);
	KUNIT_EXPECT_TRUE(test, is_over(&seg, &a, 1));
	KUNIT_EXPECT_FALSE(test, is_over(&seg, &b, 0));
	/* An older time stamp is ignored. */
	tessera_share_touch(&seg, &b, 250);
	KUNIT_EXPECT_EQ(test, b.stamp, 300);
}

/* SEG-9: demand and usage of one segment do not affect another. */
static void share_segments_apart(struct kunit *test)
{
	struct tessera_share_seg seg[2] = { { .size = 64 * MIB }, { .size = 32 * MIB } };
	struct tessera_share_client a[2] = {}, b[2] = {};
	u64 fair;

	tessera_share_touch(&seg[0], &a[0], 1);
	tessera_share_touch(&seg[0], &b[0], 1);
	fair = tessera_share_fair(&seg[0], &a[0]);
	tessera_share_touch(&seg[1], &a[1], 1);
	KUNIT_EXPECT_EQ(test, tessera_share_charge(&seg[1], &a[1], 32 * MIB), 0);
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg[0], &a[0]), fair);
	KUNIT_EXPECT_EQ(test, tessera_share_budget(&seg[0], &a[0]), 64 * MIB);
	KUNIT_EXPECT_FALSE(test, is_over(&seg[0], &a[0], fair));
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg[1], &a[1]), 32 * MIB);
}

static void share_charging(struct kunit *test)
{
	struct tessera_share_seg seg = { .size = 64 * MIB };
	struct tessera_share_client a = {}, b = {};

	KUNIT_EXPECT_EQ(test, tessera_share_charge(&seg, &a, 10), 0);
	KUNIT_EXPECT_EQ(test, tessera_share_charge(&seg, &b, 20), 0);
	KUNIT_EXPECT_EQ(test, seg.used, 30);
	/* Uncharging more than was charged fails and changes nothing. */
	KUNIT_EXPECT_EQ(test, tessera_share_uncharge(&seg, &a, 11), -EINVAL);
	KUNIT_EXPECT_EQ(test, a.used, 10);
	KUNIT_EXPECT_EQ(test, seg.used, 30);
	KUNIT_EXPECT_EQ(test, tessera_share_uncharge(&seg, &a, 10), 0);
	KUNIT_EXPECT_EQ(test, tessera_share_uncharge(&seg, &b, 20), 0);
	KUNIT_EXPECT_EQ(test, seg.used, 0);
	KUNIT_EXPECT_EQ(test, tessera_share_charge(&seg, &a, U64_MAX), 0);
	KUNIT_EXPECT_EQ(test, tessera_share_charge(&seg, &b, 1), -EOVERFLOW);
	KUNIT_EXPECT_EQ(test, b.used, 0);
}

/*
 * SEG-8: the budget is the share, or more if other clients leave memory free.
 */
static void share_budget(struct kunit *test)
{
	static const struct {
		u32 used_a, used_b, demand_b, budget_a;
	} rows[] = {
		{ 0, 0, 0, 64 },
		{ 0, 0, 1, 64 },
		{ 10, 20, 1, 44 },
		{ 10, 40, 1, 32 },
		{ 40, 24, 1, 40 },
		{ 0, 64, 1, 32 },
		{ 0, 64, 0, 64 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tessera_share_seg seg = { .size = 64 };
		struct tessera_share_client a = {}, b = {};

		tessera_share_touch(&seg, &a, 1);
		if (rows[i].demand_b)
			tessera_share_touch(&seg, &b, 1);
		KUNIT_EXPECT_EQ(test, tessera_share_charge(&seg, &a, rows[i].used_a), 0);
		KUNIT_EXPECT_EQ(test, tessera_share_charge(&seg, &b, rows[i].used_b), 0);
		KUNIT_EXPECT_EQ_MSG(test, tessera_share_budget(&seg, &a),
				    rows[i].budget_a, "row %u", i);
	}
}

/*
 * RES-11: clients with demand divide the unreserved part by their weights, which
 * count with their demand only.
 */
static void share_weights(struct kunit *test)
{
	struct tessera_share_seg seg = { .size = 64 * MIB };
	struct tessera_share_client a = {}, b = {}, c = {};

	tessera_share_weigh(&seg, &a, 3 * TESSERA_SHARE_WEIGHT);
	KUNIT_EXPECT_EQ(test, seg.weight, 0);
	tessera_share_touch(&seg, &a, 1);
	tessera_share_touch(&seg, &b, 1);
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg, &a), 48 * MIB);
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg, &b), 16 * MIB);
	/* A requester without demand counts as one with it. */
	tessera_share_weigh(&seg, &c, 4 * TESSERA_SHARE_WEIGHT);
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg, &c), 32 * MIB);
	KUNIT_EXPECT_EQ(test, tessera_share_beside(&seg, &a, &c), 24 * MIB);
	KUNIT_EXPECT_EQ(test, tessera_share_beside(&seg, &b, &c), 8 * MIB);
	tessera_share_weigh(&seg, &a, 1);
	tessera_share_weigh(&seg, &b, 1);
	KUNIT_EXPECT_EQ(test, seg.weight, 2);
	KUNIT_EXPECT_EQ(test, tessera_share_reserve(&seg, &a, 16 * MIB), 0);
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg, &a), 40 * MIB);
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg, &b), 24 * MIB);
	tessera_share_leave(&seg, &a);
	KUNIT_EXPECT_EQ(test, seg.weight, 1);
	/* The largest sizes do not overflow. */
	seg.size = BIT_ULL(62);
	tessera_share_weigh(&seg, &b, 10000);
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg, &b), BIT_ULL(62));
}

/*
 * SEG-8: a reservation is independent of other clients, which share the rest.
 * It counts only while its client has demand.
 */
static void share_reserved(struct kunit *test)
{
	struct tessera_share_seg seg = { .size = 96 * MIB };
	struct tessera_share_client c[3] = {};
	u32 i;

	KUNIT_EXPECT_EQ(test, tessera_share_reservable(&seg, &c[0]), 24 * MIB);
	KUNIT_EXPECT_EQ(test, tessera_share_reserve(&seg, &c[0], 24 * MIB + 1), -ENOSPC);
	KUNIT_EXPECT_EQ(test, tessera_share_reserve(&seg, &c[0], 18 * MIB), 0);
	KUNIT_EXPECT_EQ(test, tessera_share_reserve(&seg, &c[1], 7 * MIB), -ENOSPC);
	KUNIT_EXPECT_EQ(test, tessera_share_reserve(&seg, &c[1], 6 * MIB), 0);
	KUNIT_EXPECT_EQ(test, tessera_share_reservable(&seg, &c[0]), 18 * MIB);
	tessera_share_touch(&seg, &c[1], 1);
	tessera_share_touch(&seg, &c[2], 1);
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg, &c[1]), 51 * MIB);
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg, &c[2]), 45 * MIB);
	/* Computed as if it had demand. */
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg, &c[0]), 42 * MIB);
	tessera_share_touch(&seg, &c[0], 1);
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg, &c[0]), 42 * MIB);
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg, &c[1]), 30 * MIB);
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg, &c[2]), 24 * MIB);
	/*
	 * The memory of an idle client is lent, including its reservation. The
	 * client gets it back with its next demand.
	 */
	tessera_share_leave(&seg, &c[0]);
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg, &c[1]), 51 * MIB);
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg, &c[2]), 45 * MIB);
	tessera_share_touch(&seg, &c[0], 2);
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg, &c[2]), 24 * MIB);
	KUNIT_EXPECT_EQ(test, tessera_share_reserve(&seg, &c[0], 0), 0);
	KUNIT_EXPECT_EQ(test, tessera_share_fair(&seg, &c[0]), 30 * MIB);
	for (i = 0; i < ARRAY_SIZE(c); i++) {
		tessera_share_reserve(&seg, &c[i], 0);
		tessera_share_leave(&seg, &c[i]);
	}
	KUNIT_EXPECT_EQ(test, seg.reserved, 0);
	KUNIT_EXPECT_EQ(test, seg.promised, 0);
}

static struct kunit_case share_tests[] = {
	KUNIT_CASE(share_weights),
	KUNIT_CASE(share_reserved),
	KUNIT_CASE(share_by_demand),
	KUNIT_CASE(share_lent_and_taken_back),
	KUNIT_CASE(share_segments_apart),
	KUNIT_CASE(share_charging),
	KUNIT_CASE(share_budget),
	{}
};

static struct kunit_suite share_suite = {
	.name = "tessera_share",
	.test_cases = share_tests,
};

kunit_test_suite(share_suite);
