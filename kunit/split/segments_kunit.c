// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Unit tests of the split planner with different segments: granularities,
 * commit limits, and a choice of segments.
 */
#include <kunit/test.h>

#include "pure/pack.h"
#include "fixture.h"

/* Segment 0 has pages of 4 KiB, segment 1 of 64 KiB. */
static struct fixture *two_granularities(struct kunit *test)
{
	struct fixture *f = fixture_new(test, 1);

	f->in.n_segs = 2;
	f->segs[1] = f->segs[0];
	f->segs[1].granularity = 65536;
	return f;
}

/*
 * The size of an allocation is rounded up to the granularity of each segment.
 */
static void footprint_by_segment(struct kunit *test)
{
	struct fixture *f = two_granularities(test);
	u32 i;

	for (i = 0; i < 3; i++) {
		struct tessera_split_alloc *a = add_alloc(f, 0);

		a->size = 36 * 4096;
		a->supported = 3;
		a->n_pref = 2;
		a->pref[0] = 1;
		a->pref[1] = 0;
		add_entry(f, 0, i, A + i);
	}
	/*
	 * Segment 1 has space for one allocation of three 64 KiB pages, segment
	 * 0 for two of 36 pages.
	 */
	f->segs[0].size = 2 * 36 * 4096;
	f->segs[1].size = 3 * 65536;
	KUNIT_EXPECT_EQ(test, plan_it(test, f), 0);
	KUNIT_EXPECT_EQ(test, f->plan.n_page_ins, 3);
	KUNIT_EXPECT_EQ(test, f->plan.bytes_in, 3 * 36 * 4096);
	f->segs[0].size -= 4096;
	KUNIT_EXPECT_EQ(test, plan_it(test, f), -ENOSPC);
	f->segs[0].size += 4096;
	f->segs[1].size -= 65536;
	KUNIT_EXPECT_EQ(test, plan_it(test, f), -ENOSPC);
}

/* Resident in either segment, with the size rounded up for that segment. */
static void resident_by_segment(struct kunit *test)
{
	struct fixture *f = two_granularities(test);
	struct tessera_split_block *b;

	add_alloc(f, 0)->size = 36 * 4096;
	f->allocs[A].supported = 3;
	add_entry(f, 0, 0, A);
	b = add_block(f, 0, 0, 0, A);
	b->size = 36 * 4096;
	expect_plan(test, f, "[0,400)1.");
	b->seg = 1;
	KUNIT_EXPECT_EQ(test, plan_it(test, f), -EINVAL);
	b->size = 3 * 65536;
	expect_plan(test, f, "[0,400)1.");
}

/*
 * SEG-30: memory above the limit counts like memory below it. Only the sum is
 * limited.
 */
static void above_commit_limit(struct kunit *test)
{
	struct fixture *f = fixture_new(test, 64);

	f->segs[0].commit = 32 * MIB;
	add_alloc(f, 16);
	add_alloc(f, 16);
	add_alloc(f, 16);
	add_block(f, 0, 40, 16, A);
	add_entry(f, 0x00, 0, A);
	add_entry(f, 0x40, 1, B);
	expect_plan(test, f, "+B@0 [0,400)2.");
	/* A third allocation needs a cut though there are holes. */
	add_entry(f, 0x80, 1, C);
	expect_plan(test, f, "+B@0 [0,80)2 !A@40 -B +C@0 [80,400)1.");
	/* Three at a time are never possible. */
	f->entries[2].slot_id = 2;
	expect_error(test, f, -ENOSPC, 0x80);
	/* Foreign blocks count, too, at any offset. */
	f->in.n_entries = 2;
	add_block(f, 0, 57, 2, TESSERA_SPLIT_NONE);
	expect_plan(test, f, "-#1 +B@0 [0,400)2.");
	f->blocks[1].tier = TESSERA_VICTIM_IMMOVABLE;
	expect_error(test, f, -ENOSPC, 0x40);
}

/* Make a submission of allocations of these sizes, all at one split point. */
static struct fixture *at_once(struct kunit *test, const u32 *mib, const u32 *mask, u32 n)
{
	struct fixture *f = fixture_new(test, 16);
	u32 i, k;

	f->in.n_segs = 3;
	f->segs[1] = f->segs[0];
	f->segs[2] = f->segs[0];
	f->in.n_slots = n;
	for (i = 0; i < n; i++) {
		struct tessera_split_alloc *a = add_alloc(f, mib[i]);

		a->supported = mask[i];
		a->n_pref = 0;
		for (k = 0; k < 3; k++)
			if (mask[i] & BIT(k))
				a->pref[a->n_pref++] = k;
		add_entry(f, 0, i, A + i);
	}
	return f;
}

/*
 * SPLIT-34: allocations that fit in some order are placed, in any order of the
 * list.
 */
static void any_order_will_do(struct kunit *test)
{
	static const u32 mib[] = { 4, 4, 4, 4, 8, 8, 16 };
	static const u32 mask[] = { 7, 7, 6, 3, 3, 5, 1 };
	u32 turned[2][ARRAY_SIZE(mib)], n = ARRAY_SIZE(mib), from, i;

	for (from = 0; from < n; from++) {
		struct fixture *f;

		for (i = 0; i < n; i++) {
			turned[0][i] = mib[(from + i) % n];
			turned[1][i] = mask[(from + i) % n];
		}
		f = at_once(test, turned[0], turned[1], n);
		KUNIT_EXPECT_EQ_MSG(test, plan_it(test, f), 0, "from %u", from);
		KUNIT_EXPECT_EQ(test, f->plan.late_error, 0);
		KUNIT_EXPECT_EQ(test, f->plan.n_page_ins, n);
	}
}

#define MANY 200U

struct many {
	struct tessera_pack pack;
	struct tessera_pack_item item[MANY];
	struct tessera_pack_gap gap[4];
	struct tessera_pack_seg seg[2];
	struct tessera_pack_frame frame[MANY + 8];
};

static struct many *many_items(struct kunit *test, u32 n, u64 size, u32 mask)
{
	struct many *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->pack.item = m->item;
	m->pack.gap = m->gap;
	m->pack.seg = m->seg;
	m->pack.frame = m->frame;
	m->pack.n_item = n;
	m->pack.n_gap = 2;
	m->pack.n_seg = 2;
	m->pack.budget = BIT_ULL(40);
	for (i = 0; i < 2; i++) {
		m->seg[i].granularity = 1;
		m->seg[i].available = U64_MAX;
		m->gap[i].end = 1000;
		m->gap[i].seg = i;
	}
	for (i = 0; i < n; i++) {
		m->item[i].size = size + i % 7;
		m->item[i].align = 1;
		m->item[i].mask = mask;
		m->item[i].id = i;
	}
	return m;
}

/*
 * With the limit of steps the search may miss a solution, but it returns no
 * wrong one and does not run long.
 */
static void search_is_bounded(struct kunit *test)
{
	struct many *m = many_items(test, 19, 101, 3);
	u64 before = m->pack.budget;

	/*
	 * Nineteen items of 101 or more are below 2,000, but ten of them exceed
	 * 1,000.
	 */
	KUNIT_EXPECT_FALSE(test, tessera_pack_solve(&m->pack));
	KUNIT_EXPECT_LE(test, before - m->pack.budget, 400000 + 20 * 20);
	m->pack.budget = 0;
	KUNIT_EXPECT_FALSE(test, tessera_pack_solve(&m->pack));
}

static struct kunit_case split_segments_tests[] = {
	KUNIT_CASE(footprint_by_segment),
	KUNIT_CASE(resident_by_segment),
	KUNIT_CASE(above_commit_limit),
	KUNIT_CASE(any_order_will_do),
	KUNIT_CASE(search_is_bounded),
	{}
};

static struct kunit_suite split_segments_suite = {
	.name = "tessera_split_segments",
	.test_cases = split_segments_tests,
};

kunit_test_suite(split_segments_suite);
