// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Unit tests of the split planner: the worked example of the requirements with
 * all its variants, and one test per rule.
 */
#include <kunit/test.h>

#include "fixture.h"
#include "oracle.h"
#include "replay.h"

/*
 * Set the blocks to the state after the plan; for plans without foreign blocks.
 */
static void follow_blocks(struct fixture *f)
{
	u64 at[MAX_ALLOCS];
	u32 i, k;

	for (i = 0; i < MAX_ALLOCS; i++)
		at[i] = U64_MAX;
	for (i = 0; i < f->in.n_blocks; i++)
		at[f->blocks[i].alloc] = f->blocks[i].start;
	for (i = 0; i < f->plan.n_op; i++) {
		const struct tessera_split_op *op = &f->op[i];

		if (op->type == TESSERA_SPLIT_PAGE_IN || op->type == TESSERA_SPLIT_MOVE)
			at[op->id] = op->off;
		else if (op->type == TESSERA_SPLIT_EVICT)
			at[op->id] = U64_MAX;
	}
	f->in.n_blocks = 0;
	for (i = 0; i < f->in.n_allocs; i++) {
		struct tessera_split_block b = {
			.start = at[i], .size = f->allocs[i].size, .alloc = i,
		};

		if (at[i] == U64_MAX)
			continue;
		for (k = f->in.n_blocks++; k && f->blocks[k - 1].start > b.start; k--)
			f->blocks[k] = f->blocks[k - 1];
		f->blocks[k] = b;
	}
}

/* Insert an entry before the entry with this number. */
static void put_entry(struct fixture *f, u32 number, u32 at, u32 slot, u32 alloc)
{
	struct tessera_patch *e = &f->entries[number], last;
	u32 behind = f->in.n_entries - number;

	add_entry(f, at, slot, alloc);
	last = e[behind];
	memmove(e + 1, e, behind * sizeof(*e));
	*e = last;
}

static void drop_entry(struct fixture *f, u32 number)
{
	struct tessera_patch *e = &f->entries[number];

	memmove(e, e + 1, (--f->in.n_entries - number) * sizeof(*e));
}

/*
 * The example of section 3 of the requirements. Variants insert and remove
 * entries.
 */
#define EXAMPLE_CUT \
	"+B@0 +C@24 [0,100)2 -B C@24>0 +A@16 [100,280)3 !C@0 -A +B@16 [280,400)1."
#define EXAMPLE_WHOLE "+B@0 +C@24 +A@40 [0,400)6."

static struct fixture *example_base(struct kunit *test, u64 seg_mib)
{
	struct fixture *f = fixture_new(test, seg_mib);

	add_alloc(f, 32);
	add_alloc(f, 24);
	add_alloc(f, 16)->flags = TESSERA_SPLIT_ALLOC_WRITTEN;
	add_entry(f, 0x000, 1, B);
	add_entry(f, 0x000, 2, C);
	add_entry(f, 0x100, 1, A);
	add_entry(f, 0x100, 2, C);
	add_entry(f, 0x200, 1, NUL);
	add_entry(f, 0x280, 3, B);
	return f;
}

/*
 * SPLIT-1 SPLIT-2 SPLIT-10 SPLIT-14 SPLIT-15 SPLIT-16 SPLIT-21 SPLIT-25: steps
 * 1 to 13 of the example.
 */
static void section3_base(struct kunit *test)
{
	expect_plan(test, example_base(test, 64), EXAMPLE_CUT);
}

/*
 * SPLIT-23 SPLIT-24: C is not rebound at the cut and must stay at 24, where it
 * blocks A.
 */
static void section3_without_e3(struct kunit *test)
{
	struct fixture *f = example_base(test, 64);

	drop_entry(f, 3);
	expect_late(test, f, "+B@0 +C@24 [0,100)2 !C@24", 0x100);
}

/*
 * SPLIT-22 SPLIT-34: without the unbind of A, three allocations must be
 * resident at 0x280.
 */
static void section3_without_e4(struct kunit *test)
{
	struct fixture *f = example_base(test, 64);

	drop_entry(f, 4);
	expect_error(test, f, -ENOSPC, 0x280);
	KUNIT_EXPECT_EQ(test, f->plan.error_entry, 4);
}

/* SPLIT-10: B replaces A in its slot, which has the effect of an unbind. */
static void section3_without_e4_same_slot(struct kunit *test)
{
	struct fixture *f = example_base(test, 64);

	drop_entry(f, 4);
	f->entries[4].slot_id = 1;
	expect_plan(test, f,
		    "+B@0 +C@24 [0,100)2 -B C@24>0 +A@16 [100,280)2 !C@0 -A +B@16 [280,400)1.");
}

/* SPLIT-25: a rebind helps only at the split point that is cut. */
static void section3_rebind_too_early(struct kunit *test)
{
	struct fixture *f = example_base(test, 64);

	drop_entry(f, 2);
	put_entry(f, 3, 0x180, 1, A);
	expect_late(test, f, "+B@0 +C@24 [0,180)3 !C@24", 0x180);
}

/* SPLIT-2: with 72 MiB all allocations fit, and no cut is made. */
static void section3_large_segment(struct kunit *test)
{
	expect_plan(test, example_base(test, 72), EXAMPLE_WHOLE);
	expect_plan(test, example_base(test, 256), EXAMPLE_WHOLE);
}

/* SPLIT-3: a cut is made at each split point. */
static void section3_force_all(struct kunit *test)
{
	struct fixture *f = example_base(test, 64);

	f->in.force = TESSERA_SPLIT_FORCE_ALL;
	expect_plan(test, f,
		    "+B@0 +C@24 [0,100)2 -B C@24>0 +A@16 [100,200)2 !C@0 [200,280)1 !C@0 -A +B@16 [280,400)1.");
	f = example_base(test, 72);
	f->in.force = TESSERA_SPLIT_FORCE_ALL;
	expect_plan(test, f,
		    "+B@0 +C@24 [0,100)2 +A@40 [100,200)2 !C@24 [200,280)1 !C@24 [280,400)1.");
}

/* SPLIT-3: bits of the bitmap count split points from 0. */
static void force_bitmap(struct kunit *test)
{
	struct fixture *f = example_base(test, 72);

	f->in.force = TESSERA_SPLIT_FORCE_BITMAP;
	f->in.n_force = 4;
	f->map = BIT(0) | BIT(2);
	expect_plan(test, f,
		    "+B@0 +C@24 +A@40 [0,200)4 !C@24 [200,400)2.");
	f->in.n_force = 2;
	expect_plan(test, f, EXAMPLE_WHOLE);
}

/* SPLIT-3: the same seed makes the same cuts, other seeds make others. */
static void force_random(struct kunit *test)
{
	struct fixture *f = fixture_new(test, 64);
	u32 i, parts[4], differ = 0;
	u64 seed;

	add_alloc(f, 1);
	for (i = 0; i < 30; i++)
		add_entry(f, i * 16, 0, A);
	f->in.force = TESSERA_SPLIT_FORCE_RANDOM;
	for (seed = 0; seed < 4; seed++) {
		char first[TEXT];

		f->in.force_seed = seed;
		KUNIT_EXPECT_EQ(test, plan_it(test, f), 0);
		parts[seed] = f->plan.n_parts;
		KUNIT_EXPECT_GT(test, parts[seed], 5);
		KUNIT_EXPECT_LT(test, parts[seed], 26);
		strscpy(first, f->text, sizeof(first));
		KUNIT_EXPECT_EQ(test, plan_it(test, f), 0);
		KUNIT_EXPECT_STREQ(test, f->text, first);
		differ += seed && parts[seed] != parts[0];
	}
	KUNIT_EXPECT_NE(test, differ, 0);
}

/*
 * SPLIT-19: N + 1 allocations used in turn, with space for one, give N + 1
 * parts.
 */
static void rotate(struct kunit *test, u64 cut_cost_bytes)
{
	struct fixture *f = fixture_new(test, 16);
	u32 i;

	f->in.cut_cost_bytes = cut_cost_bytes;
	for (i = 0; i < 4; i++) {
		add_alloc(f, 16);
		add_entry(f, 0x40 * i, 0, A + i);
	}
	expect_plan(test, f,
		    "+A@0 [0,40)1 -A +B@0 [40,80)1 -B +C@0 [80,c0)1 -C +D@0 [c0,400)1.");
}

static void rotating(struct kunit *test)
{
	rotate(test, U64_MAX);
}

/* SPLIT-11 SPLIT-12 SPLIT-36: entries of one split point, and their effect. */
static void grouping(struct kunit *test)
{
	static const struct {
		const char *name;
		struct { u32 at, slot, alloc; } e[4];
		u32 n;
		const char *plan;
	} rows[] = {
		{ "equal offsets are one split point",
		  { { 0, 0, A }, { 0x40, 0, B }, { 0x40, 1, C } }, 3,
		  "+A@0 [0,40)1 -A +B@0 +C@8 [40,400)2." },
		{ "two words of one binding",
		  { { 0, 0, A }, { 0x40, 0, B }, { 0x40, 0, B } }, 3,
		  "+A@0 [0,40)1 -A +B@0 [40,400)2." },
		{ "bound and unbound at once still needs memory",
		  { { 0, 0, A }, { 0x40, 0, B }, { 0x40, 0, NUL } }, 3,
		  "+A@0 [0,40)1 -A +B@0 [40,400)2." },
		{ "the last entry sets the row",
		  { { 0, 0, B }, { 0, 0, NUL }, { 0x40, 1, A } }, 3,
		  "+B@0 [0,40)2 -B +A@0 [40,400)1." },
		{ "a slot of the group does not pin",
		  { { 0, 0, B }, { 0x40, 1, A }, { 0x40, 0, NUL } }, 3,
		  "+B@0 [0,40)1 -B +A@0 [40,400)2." },
		{ "another slot with the same allocation does",
		  { { 0, 0, B }, { 0, 1, B }, { 0x40, 0, C }, { 0x80, 0, D } }, 4,
		  "+B@0 +C@8 [0,80)3 !B@0 -C +D@8 [80,400)1." },
		{ "an unbind never cuts",
		  { { 0, 0, A }, { 0x40, 0, NUL }, { 0x80, 0, NUL } }, 3,
		  "+A@0 [0,400)3." },
		{ "the first split point is not at 0",
		  { { 0x40, 0, A }, { 0x80, 0, B } }, 2,
		  "+A@0 [0,80)1 -A +B@0 [80,400)1." },
		{ "only unbinds", { { 0, 0, NUL }, { 0x400, 1, NUL } }, 2,
		  "[0,400)2." },
		{ "unbind at the very end",
		  { { 0, 0, A }, { 0x400, 0, NUL } }, 2, "+A@0 [0,400)2." },
		{ "no entries at all", { }, 0, "[0,400)0." },
	};
	u32 r, i;

	for (r = 0; r < ARRAY_SIZE(rows); r++) {
		struct fixture *f = fixture_new(test, 16);

		add_alloc(f, 16);
		add_alloc(f, 8);
		add_alloc(f, 8);
		add_alloc(f, 8);
		for (i = 0; i < rows[r].n; i++)
			add_entry(f, rows[r].e[i].at, rows[r].e[i].slot,
				  rows[r].e[i].alloc);
		KUNIT_EXPECT_EQ_MSG(test, plan_it(test, f), 0, "%s",
				    rows[r].name);
		KUNIT_EXPECT_STREQ_MSG(test, f->text, rows[r].plan, "%s",
				       rows[r].name);
	}
}

/*
 * SPLIT-26: an allocation of 64 MiB that is rebound at each cut moves to make
 * space.
 */
static void large_moves(struct kunit *test)
{
	struct fixture *f = fixture_new(test, 112);

	add_alloc(f, 64);
	add_alloc(f, 40);
	add_alloc(f, 32);
	add_alloc(f, 48);
	add_entry(f, 0x000, 0, B);
	add_entry(f, 0x000, 1, A);
	/* A must move down to make space for D. */
	add_entry(f, 0x100, 0, D);
	add_entry(f, 0x100, 1, A);
	add_entry(f, 0x200, 0, C);
	add_entry(f, 0x200, 1, A);
	/* D and A fill the memory: C needs a cut, and D needs the next one. */
	add_entry(f, 0x300, 0, D);
	add_entry(f, 0x300, 1, A);
	expect_plan(test, f,
		    "+B@0 +A@40 [0,100)2 -B A@40>0 +D@64 [100,200)2 -D +C@64 [200,300)2 -C +D@64 [300,400)2.");
}

/* Two residents have to swap their offsets: both go through system memory. */
static void places_swap(struct kunit *test)
{
	struct fixture *f = fixture_new(test, 28);

	/* The only placement of all three is B at 0, C at 8, A at 16. */
	add_alloc(f, 12);
	add_alloc(f, 8)->align = 16 * MIB;
	add_alloc(f, 8)->align = 8 * MIB;
	add_block(f, 0, 0, 12, A);
	add_block(f, 0, 16, 8, B);
	add_entry(f, 0, 0, A);
	add_entry(f, 0, 1, B);
	expect_plan(test, f, "[0,400)2.");
	add_entry(f, 0, 2, C);
	expect_plan(test, f, "-B -A +A@16 +B@0 +C@8 [0,400)3.");
	KUNIT_EXPECT_EQ(test, f->plan.bytes_moved, 0);
}

/* SPLIT-31: a written allocation is dirty from its first part on. */
static void clean_and_written(struct kunit *test)
{
	struct fixture *f = fixture_new(test, 16);

	add_alloc(f, 16)->flags = TESSERA_SPLIT_ALLOC_KEEP_COPY;
	add_alloc(f, 16)->flags = TESSERA_SPLIT_ALLOC_KEEP_COPY |
				  TESSERA_SPLIT_ALLOC_WRITTEN;
	add_alloc(f, 16);
	add_alloc(f, 16)->flags = TESSERA_SPLIT_ALLOC_CLEAN |
				  TESSERA_SPLIT_ALLOC_WRITTEN;
	add_block(f, 0, 0, 16, D);
	add_entry(f, 0x00, 0, A);
	add_entry(f, 0x40, 0, B);
	add_entry(f, 0x80, 0, C);
	add_entry(f, 0xc0, 0, D);
	add_entry(f, 0x100, 0, A);
	expect_plan(test, f,
		    "-D~ +A@0 [0,40)1 -A~ +B@0 [40,80)1 -B +C@0 [80,c0)1 -C +D@0 [c0,100)1 -D +A@0 [100,400)1.");
	KUNIT_EXPECT_EQ(test, f->plan.bytes_in, 80 * MIB);
	KUNIT_EXPECT_EQ(test, f->plan.bytes_out, 48 * MIB);
}

/*
 * SEG-11: preferred segments are tried in order. The next one is used if the
 * first is full of immovable blocks.
 */
static void preferred_order(struct kunit *test)
{
	struct fixture *f = fixture_new(test, 16);
	struct tessera_split_alloc *a;
	u32 i;

	f->in.n_segs = 2;
	f->segs[1] = f->segs[0];
	for (i = 0; i < 3; i++) {
		a = add_alloc(f, 8);
		a->supported = 3;
		a->n_pref = 2;
		a->pref[0] = 1;
		a->pref[1] = 0;
		add_entry(f, 0x40 * i, i, A + i);
	}
	expect_plan(test, f, "+A@b0 +B@b8 +C@0 [0,400)3.");
	add_block(f, 1, 0, 16, TESSERA_SPLIT_NONE);
	expect_plan(test, f, "-#0 +A@b0 +B@b8 +C@0 [0,400)3.");
	f->blocks[0].tier = TESSERA_VICTIM_IMMOVABLE;
	f->in.n_entries = 2;
	expect_plan(test, f, "+A@0 +B@8 [0,400)2.");
}

/* SEG-7: a full segment causes no eviction in another one. */
static void segments_apart(struct kunit *test)
{
	struct fixture *f = fixture_new(test, 16);

	f->in.n_segs = 2;
	f->segs[1] = f->segs[0];
	add_alloc(f, 16);
	add_alloc(f, 16);
	add_alloc(f, 16)->supported = 2;
	f->allocs[C].pref[0] = 1;
	add_block(f, 1, 0, 16, C);
	add_entry(f, 0x00, 0, A);
	add_entry(f, 0x40, 0, B);
	add_entry(f, 0x80, 0, A);
	expect_plan(test, f,
		    "+A@0 [0,40)1 -A +B@0 [40,80)1 -B +A@0 [80,400)1.");
}

/*
 * SEG-20 SPLIT-31: written allocations are never placed in a read-only segment.
 */
static void read_only(struct kunit *test)
{
	struct fixture *f = fixture_new(test, 16);

	f->in.n_segs = 2;
	f->segs[1] = f->segs[0];
	f->segs[1].flags = TESSERA_SPLIT_SEG_READ_ONLY | TESSERA_SPLIT_SEG_APERTURE;
	add_alloc(f, 16)->supported = 3;
	f->allocs[A].pref[0] = 1;
	add_entry(f, 0, 0, A);
	expect_plan(test, f, "+A@b0 [0,400)1.");
	f->allocs[A].flags = TESSERA_SPLIT_ALLOC_WRITTEN;
	expect_plan(test, f, "+A@0 [0,400)1.");
	/*
	 * An earlier job that only read it left it there, so it has to leave.
	 */
	add_block(f, 1, 0, 16, A);
	expect_plan(test, f, "-A +A@0 [0,400)1.");
	f->allocs[A].supported = 2;
	f->in.n_blocks = 0;
	expect_error(test, f, -EINVAL, 0);
}

/* SEG-8 SPLIT-18: order in which foreign and own blocks are evicted. */
static void tiers(struct kunit *test)
{
	struct fixture *f = fixture_new(test, 32);
	u32 i;

	for (i = 0; i < 3; i++)
		add_alloc(f, 8);
	add_block(f, 0, 0, 8, B);
	for (i = 0; i < 3; i++)
		add_block(f, 0, 8 + 8 * i, 8, TESSERA_SPLIT_NONE);
	f->blocks[1].tier = TESSERA_VICTIM_TAKE_AFTER_OWN;
	f->blocks[2].tier = TESSERA_VICTIM_TAKE_FIRST;
	f->blocks[2].rank = 7;
	f->blocks[3].tier = TESSERA_VICTIM_TAKE_FIRST;
	f->blocks[3].rank = 5;
	add_entry(f, 0x00, 0, A);
	expect_plan(test, f, "-#3 +A@24 [0,400)1.");
	f->blocks[3].tier = TESSERA_VICTIM_IMMOVABLE;
	expect_plan(test, f, "-#2 +A@16 [0,400)1.");
	f->blocks[2].tier = TESSERA_VICTIM_LAST_RESORT;
	expect_plan(test, f, "-B +A@0 [0,400)1.");
	f->blocks[0].tier = TESSERA_VICTIM_IMMOVABLE;
	expect_plan(test, f, "-#1 +A@8 [0,400)1.");
	f->blocks[1].tier = TESSERA_VICTIM_IMMOVABLE;
	expect_plan(test, f, "-#2 +A@16 [0,400)1.");
	f->blocks[2].tier = TESSERA_VICTIM_IMMOVABLE;
	expect_error(test, f, -ENOSPC, 0);
}

/* SEG-8: the same with unequal sizes, where offsets are chosen by cost. */
static void tiers_unequal(struct kunit *test)
{
	struct fixture *f = fixture_new(test, 16);

	add_alloc(f, 8);
	add_alloc(f, 8);
	add_alloc(f, 4);
	add_block(f, 0, 0, 8, B);
	add_block(f, 0, 8, 8, TESSERA_SPLIT_NONE)->tier =
		TESSERA_VICTIM_TAKE_AFTER_OWN;
	add_entry(f, 0x00, 0, A);
	add_entry(f, 0x40, 0, B);
	expect_plan(test, f, "-B +A@0 -#1 +B@8 [0,400)2.");
	f->blocks[1].tier = TESSERA_VICTIM_TAKE_FIRST;
	expect_plan(test, f, "-#1 +A@8 [0,400)2.");
	/* The foreign block with the lower rank goes. */
	add_block(f, 0, 0, 8, TESSERA_SPLIT_NONE)->rank = 3;
	f->blocks[0] = f->blocks[2];
	f->in.n_blocks = 2;
	f->in.n_entries = 1;
	expect_plan(test, f, "-#1 +A@8 [0,400)1.");
	f->blocks[1].rank = 5;
	expect_plan(test, f, "-#0 +A@0 [0,400)1.");
}

/*
 * SEG-37: in a tier the priority decides before the cost. What the submission
 * names again counts as the highest priority.
 */
static void priorities(struct kunit *test)
{
	struct fixture *f = fixture_new(test, 24);
	u32 i;

	for (i = 0; i < 3; i++)
		add_alloc(f, 8)->priority = 3 - i;
	add_block(f, 0, 0, 8, B);
	add_block(f, 0, 8, 8, C);
	add_block(f, 0, 16, 8, TESSERA_SPLIT_NONE)->tier = TESSERA_VICTIM_IMMOVABLE;
	add_entry(f, 0x00, 0, A);
	expect_plan(test, f, "-C +A@8 [0,400)1.");
	f->allocs[C].priority = 4;
	f->allocs[C].flags = TESSERA_SPLIT_ALLOC_CLEAN;
	expect_plan(test, f, "-B +A@0 [0,400)1.");
	add_entry(f, 0x40, 0, B);
	expect_plan(test, f, "-C~ +A@8 [0,400)2.");
	/* Even if it is larger. */
	f->in.n_blocks = 2;
	f->allocs[C].size = 16 * MIB;
	f->blocks[1].size = 16 * MIB;
	expect_plan(test, f, "-C~ +A@8 [0,400)2.");
	/* Of foreign blocks, the larger one costs more. */
	f->in.n_entries = 1;
	f->in.n_blocks = 0;
	add_block(f, 0, 0, 16, TESSERA_SPLIT_NONE);
	add_block(f, 0, 16, 8, TESSERA_SPLIT_NONE)->rank = 1;
	f->blocks[1].tier = 0;
	expect_plan(test, f, "-#1 +A@16 [0,400)1.");
	f->blocks[1].priority = 1;
	expect_plan(test, f, "-#0 +A@0 [0,400)1.");
}

/* A last-resort block is evicted only if a cut does not help. */
static void last_resort_after_cut(struct kunit *test)
{
	struct fixture *f = fixture_new(test, 32);

	add_alloc(f, 16);
	add_alloc(f, 16);
	add_alloc(f, 16);
	add_block(f, 0, 0, 16, TESSERA_SPLIT_NONE)->tier =
		TESSERA_VICTIM_LAST_RESORT;
	add_entry(f, 0x00, 0, A);
	add_entry(f, 0x40, 0, B);
	expect_plan(test, f, "+A@16 [0,40)1 -A +B@16 [40,400)1.");
	/* A stays bound: only evicting the foreign block makes space now. */
	f->entries[1].slot_id = 1;
	expect_plan(test, f, "+A@16 [0,40)1 !A@16 -#0 +B@0 [40,400)1.");
}

/*
 * SEG-8: a block that its owner's share protects goes only if evicting the busy
 * ones is not enough.
 */
static void protected_after_busy(struct kunit *test)
{
	struct fixture *f = fixture_new(test, 32);

	add_alloc(f, 16);
	add_block(f, 0, 0, 8, TESSERA_SPLIT_NONE)->tier = TESSERA_VICTIM_PROTECTED;
	add_block(f, 0, 8, 20, TESSERA_SPLIT_NONE)->tier = TESSERA_VICTIM_LAST_RESORT;
	add_entry(f, 0, 0, A);
	expect_plan(test, f, "-#1 +A@8 [0,400)1.");
	f->allocs[A].size = 28 * MIB;
	expect_plan(test, f, "-#0 -#1 +A@0 [0,400)1.");
}

/*
 * A scanned-out block of the submission stays, in parts that name it and in
 * others.
 */
static void own_immovable(struct kunit *test)
{
	struct fixture *f = fixture_new(test, 40);

	add_alloc(f, 16);
	add_alloc(f, 16);
	add_alloc(f, 24);
	add_block(f, 0, 24, 16, A)->tier = TESSERA_VICTIM_IMMOVABLE;
	add_entry(f, 0x00, 0, A);
	add_entry(f, 0x40, 0, B);
	add_entry(f, 0x80, 0, C);
	expect_plan(test, f, "+B@0 [0,80)2 -B +C@0 [80,400)1.");
	f->blocks[0].start = 20 * MIB;
	expect_error(test, f, -ENOSPC, 0x80);
}

/* SPLIT-34: immovable blocks reduce the capacity and divide it into pieces. */
static void feasible_in_pieces(struct kunit *test)
{
	struct fixture *f = fixture_new(test, 32);

	add_alloc(f, 12);
	add_alloc(f, 12);
	add_alloc(f, 4);
	add_block(f, 0, 12, 4, TESSERA_SPLIT_NONE)->tier =
		TESSERA_VICTIM_IMMOVABLE;
	add_entry(f, 0, 0, C);
	add_entry(f, 0, 1, A);
	add_entry(f, 0, 2, B);
	/*
	 * In list order C would take the space of A. The planner packs them
	 * instead.
	 */
	expect_plan(test, f, "+C@28 +A@0 +B@16 [0,400)3.");
	/* The total is the same, but the pieces are too small now. */
	f->blocks[0].start = 14 * MIB;
	expect_error(test, f, -ENOSPC, 0);
}

/* SCHED-6: with the leak check no slot may stay bound across a cut. */
static void leak_check(struct kunit *test)
{
	struct fixture *f = example_base(test, 64);

	f->in.flags = TESSERA_SPLIT_LEAK_CHECK;
	expect_error(test, f, -EINVAL, 0x280);
	/* C is unbound before the second cut. */
	put_entry(f, 5, 0x200, 2, NUL);
	expect_plan(test, f,
		    "+B@0 +C@24 [0,100)2 -B C@24>0 +A@16 [100,280)4 -A +B@16 [280,400)1.");
	f = example_base(test, 72);
	f->in.flags = TESSERA_SPLIT_LEAK_CHECK;
	expect_plan(test, f, EXAMPLE_WHOLE);
}

/* SPLIT-7 SPLIT-8 SPLIT-16: the slot table at the start of each part. */
static void replay(struct kunit *test)
{
	static const u32 want[3][4] = {
		{ TESSERA_SPLIT_NONE, TESSERA_SPLIT_NONE, TESSERA_SPLIT_NONE,
		  TESSERA_SPLIT_NONE },
		{ TESSERA_SPLIT_NONE, TESSERA_SPLIT_NONE, TESSERA_SPLIT_NONE,
		  TESSERA_SPLIT_NONE },
		{ TESSERA_SPLIT_NONE, TESSERA_SPLIT_NONE, C,
		  TESSERA_SPLIT_NONE },
	};
	struct fixture *f = example_base(test, 64);
	struct split_replay replay;
	u32 table[4], part = 0, slot, i;

	KUNIT_ASSERT_EQ(test, plan_it(test, f), 0);
	KUNIT_ASSERT_EQ(test, f->plan.n_parts, 3);
	split_replay_begin(&f->in, &replay, table);
	for (i = 0; i < f->plan.n_op; i++) {
		if (f->op[i].type != TESSERA_SPLIT_PART)
			continue;
		split_replay_part(&f->in, &replay, &f->op[i]);
		for (slot = 0; slot < 4; slot++)
			KUNIT_EXPECT_EQ_MSG(test, table[slot], want[part][slot],
					    "part %u slot %u", part, slot);
		part++;
	}
}

/* A cut that saves no bytes is not made, even if cuts cost nothing. */
static void free_cuts_save_nothing(struct kunit *test)
{
	struct fixture *f = example_base(test, 64);

	f->in.cut_cost_bytes = 0;
	expect_plan(test, f, EXAMPLE_CUT);
	f = example_base(test, 72);
	f->in.cut_cost_bytes = 0;
	expect_plan(test, f, EXAMPLE_WHOLE);
	/* The necessary cuts stay the same if they cost nothing. */
	rotate(test, 0);
}

/* A cut that saves more than it costs is made. */
static void cut_by_cost(struct kunit *test)
{
	struct fixture *f = fixture_new(test, 16);
	u32 i;

	for (i = 0; i < 3; i++)
		add_alloc(f, 8);
	add_block(f, 0, 0, 8, A);
	add_block(f, 0, 8, 8, B);
	/* B is not used any more when C needs space, but A is. */
	add_entry(f, 0x00, 0, B);
	add_entry(f, 0x40, 0, C);
	add_entry(f, 0x80, 0, A);
	expect_plan(test, f, "-A +C@0 [0,80)2 -B +A@8 [80,400)1.");
	KUNIT_EXPECT_EQ(test, f->plan.bytes_in, 16 * MIB);
	f->in.cut_cost_bytes = 15 * MIB;
	expect_plan(test, f, "[0,40)1 -B +C@8 [40,400)2.");
	KUNIT_EXPECT_EQ(test, f->plan.bytes_in, 8 * MIB);
	f->in.cut_cost_bytes = 17 * MIB;
	expect_plan(test, f, "-A +C@0 [0,80)2 -B +A@8 [80,400)1.");
	/* A clean allocation costs half: it is only copied back. */
	f->allocs[A].flags = TESSERA_SPLIT_ALLOC_CLEAN;
	f->in.cut_cost_bytes = 9 * MIB;
	expect_plan(test, f, "-A~ +C@0 [0,80)2 -B +A@8 [80,400)1.");
}

/*
 * Victims inside a submission: the allocation with the furthest next use goes
 * first.
 */
static void furthest_next_use(struct kunit *test)
{
	struct fixture *f = fixture_new(test, 24);
	u32 i;

	for (i = 0; i < 4; i++)
		add_alloc(f, 8);
	for (i = 0; i < 3; i++)
		add_block(f, 0, 8 * i, 8, A + i);
	add_entry(f, 0x00, 0, D);
	add_entry(f, 0x40, 0, B);
	add_entry(f, 0x80, 0, A);
	add_entry(f, 0xc0, 0, C);
	expect_plan(test, f, "-C +D@16 [0,c0)3 -D +C@16 [c0,400)1.");
	/* C is not used any more: it does not come back and costs nothing. */
	f->in.n_entries = 3;
	expect_plan(test, f, "-C +D@16 [0,400)3.");
}

/*
 * SPLIT-19: of the allocations that are not named again, the one that has been
 * idle for longest goes first, so that no eviction waits for the job before it.
 * A clean one, which needs no copy, goes before that.
 */
static void longest_idle(struct kunit *test)
{
	struct fixture *f = fixture_new(test, 16);
	u32 i;

	f->in.force = TESSERA_SPLIT_FORCE_ALL;
	for (i = 0; i < 5; i++) {
		add_alloc(f, 8);
		add_entry(f, 0x40 * i, 0, A + i);
	}
	expect_plan(test, f,
		    "+A@0 [0,40)1 +B@8 [40,80)1 -A +C@0 [80,c0)1 -B +D@8 [c0,100)1 -C +E@0 [100,400)1.");
	f->allocs[B].flags = TESSERA_SPLIT_ALLOC_KEEP_COPY;
	f->allocs[D].flags = TESSERA_SPLIT_ALLOC_KEEP_COPY;
	expect_plan(test, f,
		    "+A@0 [0,40)1 +B@8 [40,80)1 -B~ +C@8 [80,c0)1 -A +D@0 [c0,100)1 -D~ +E@0 [100,400)1.");
}

/* Sixteen ways to make the input of the example invalid. */
static void spoil(struct fixture *f, u32 how)
{
	switch (how) {
	case 0:
		f->entries[1].slot_id = 4;
		break;
	case 1:
		f->entries[1].alloc_index = 4;
		break;
	case 2:
		f->entries[3].split_offset = 0x80;
		break;
	case 3:
		f->entries[5].split_offset = 0x401;
		break;
	case 4:
		f->allocs[A].size = 0;
		break;
	case 5:
		f->allocs[A].align = 3;
		break;
	case 6:
		f->allocs[A].supported = 2;
		break;
	case 7:
		f->allocs[A].supported = 0;
		break;
	case 8:
		f->allocs[A].pref[0] = 1;
		break;
	case 9:
		f->blocks[1].start = 23 * MIB;
		break;
	case 10:
		f->blocks[1].size = 64 * MIB;
		break;
	case 11:
		f->blocks[1].alloc = 17;
		break;
	case 12:
		f->blocks[0].size = 23 * MIB;
		break;
	case 13:
		f->blocks[1].seg = 1;
		break;
	case 14:
		f->segs[0].granularity = 12288;
		break;
	case 15:
		f->in.force = TESSERA_SPLIT_FORCE_BITMAP;
		f->in.force_map = NULL;
		break;
	}
}

/* The planner refuses invalid input, even though earlier checks should have. */
static void bad_input(struct kunit *test)
{
	struct tessera_split_cursor cur;
	struct fixture *f;
	u32 i;

	for (i = 0; i < 16; i++) {
		f = example_base(test, 64);
		add_block(f, 0, 0, 24, B);
		add_block(f, 0, 24, 8, TESSERA_SPLIT_NONE);
		spoil(f, i);
		KUNIT_EXPECT_EQ_MSG(test, plan_it(test, f), -EINVAL, "case %u", i);
		KUNIT_EXPECT_EQ(test, f->plan.n_op, 0);
	}
	f = example_base(test, 64);
	KUNIT_EXPECT_EQ(test, tessera_split_begin(&f->in, f->text, 16, f->op, sizeof(f->op), &cur,
						  &f->plan), -EINVAL);
	KUNIT_EXPECT_EQ(test, tessera_split_begin(&f->in, f->text, sizeof(f->text), f->op, 16, &cur,
						  &f->plan), -EINVAL);
}

static int grow_never(struct tessera_split_plan *plan, u32 want)
{
	return -ENOMEM;
}

/* An allocation failure of the kernel is reported, and nothing runs. */
static void no_memory(struct kunit *test)
{
	struct fixture *f = example_base(test, 64);
	u32 cap;

	for (cap = 0; cap < 11; cap++) {
		f->plan.op = f->op;
		f->plan.cap = cap;
		f->plan.grow = cap & 1 ? grow_never : NULL;
		KUNIT_EXPECT_EQ(test, run_plan(test, &f->in, &f->plan), -ENOMEM);
		KUNIT_EXPECT_EQ(test, f->plan.n_op, 0);
	}
}

/* Plan the fixture in batches instead of in one go. */
static void plan_batches(struct kunit *test, struct fixture *f, u32 max_parts, u32 max_ops)
{
	struct tessera_split_limits limits = { .max_parts = max_parts, .max_ops = max_ops };
	struct oracle_batches *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	size_t n = 0;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, w);
	KUNIT_ASSERT_LE(test, tessera_split_cursor_size(&f->in), sizeof(w->mem));
	KUNIT_ASSERT_LE(test, tessera_split_scratch_size(&f->in), sizeof(w->scratch));
	KUNIT_ASSERT_EQ(test, tessera_split_begin(&f->in, w->mem, sizeof(w->mem), w->scratch,
						  sizeof(w->scratch), &w->cur, &f->plan), 0);
	f->text[0] = 0;
	while (!w->cur.done) {
		f->plan.op = f->op;
		f->plan.cap = MAX_OPS;
		KUNIT_ASSERT_EQ(test, tessera_split_batch(&f->in, &w->cur, &limits, w->scratch,
							  sizeof(w->scratch), &f->plan), 0);
		KUNIT_ASSERT_LE(test, 1, f->plan.n_parts);
		for (i = 0; i < f->plan.n_op; i++)
			n += op_text(&f->op[i], f->text + n, TEXT - n);
		n += scnprintf(f->text + n, TEXT - n, "| ");
		tessera_split_commit(&f->in, &w->cur, &f->plan);
		follow_blocks(f);
	}
	f->text[n - 3] = 0;
}

/*
 * SPLIT-17 SPLIT-19 SPLIT-25: planning the example in batches makes the same
 * operations.
 */
static void batches_of_example(struct kunit *test)
{
	static const struct {
		u32 max_parts, max_ops;
		const char *plan;
	} rows[] = {
		{ 1, U32_MAX,
		  "+B@0 +C@24 [0,100)2 | -B C@24>0 +A@16 [100,280)3 | !C@0 -A +B@16 [280,400)1." },
		{ 2, U32_MAX,
		  "+B@0 +C@24 [0,100)2 -B C@24>0 +A@16 [100,280)3 | !C@0 -A +B@16 [280,400)1." },
		{ 9, 4,
		  "+B@0 +C@24 [0,100)2 | -B C@24>0 +A@16 [100,280)3 | !C@0 -A +B@16 [280,400)1." },
		{ 0, 5,
		  "+B@0 +C@24 [0,100)2 | -B C@24>0 +A@16 [100,280)3 | !C@0 -A +B@16 [280,400)1." },
	};
	u32 r;

	for (r = 0; r < ARRAY_SIZE(rows); r++) {
		struct fixture *f = example_base(test, 64);

		plan_batches(test, f, rows[r].max_parts, rows[r].max_ops);
		KUNIT_EXPECT_STREQ_MSG(test, f->text, rows[r].plan, "row %u", r);
	}
}

struct countdown {
	u32 calls;
	u32 left;
};

static int countdown_check(void *ctx)
{
	struct countdown *c = ctx;

	c->calls++;
	return c->left && c->left-- ? 0 : -EINTR;
}

/*
 * The check callback is called often enough, and planning ends when it returns
 * an error.
 */
static void asks_whether_to_go_on(struct kunit *test)
{
	const u32 n = 40000, parts = n;
	struct fixture *f = fixture_new(test, 16);
	struct countdown c = { .left = U32_MAX };
	struct tessera_patch *entries;
	u32 i, calls;

	entries = kunit_kzalloc(test, n * sizeof(*entries), GFP_KERNEL);
	f->plan.op = kunit_kzalloc(test, 3 * parts * sizeof(*f->plan.op), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, entries);
	KUNIT_ASSERT_NOT_NULL(test, f->plan.op);
	f->plan.cap = 3 * parts;
	add_alloc(f, 16);
	add_alloc(f, 16);
	for (i = 0; i < n; i++) {
		entries[i].split_offset = 8 * i;
		entries[i].alloc_index = i & 1 ? A : B;
	}
	f->in.entries = entries;
	f->in.n_entries = n;
	f->in.length = 8 * n;
	f->in.check = countdown_check;
	f->in.check_ctx = &c;
	KUNIT_EXPECT_EQ(test, run_plan(test, &f->in, &f->plan), 0);
	KUNIT_EXPECT_EQ(test, f->plan.n_parts, parts);
	calls = c.calls;
	KUNIT_EXPECT_GT(test, calls, 2 * n / 5000);
	for (i = 0; i < calls; i++) {
		c.left = i;
		KUNIT_EXPECT_EQ(test, run_plan(test, &f->in, &f->plan), -EINTR);
		KUNIT_EXPECT_EQ(test, f->plan.n_op, 0);
	}
	c.left = calls;
	KUNIT_EXPECT_EQ(test, run_plan(test, &f->in, &f->plan), 0);
}

/* The same when a few placements search thousands of blocks. */
static void asks_in_large_segments(struct kunit *test)
{
	const u32 n = 5000, places = MAX_ALLOCS - 1;
	struct fixture *f = fixture_new(test, n);
	struct countdown c = { .left = U32_MAX };
	struct tessera_split_block *blocks;
	u32 i;

	blocks = kunit_kcalloc(test, n, sizeof(*blocks), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, blocks);
	for (i = 0; i < n; i++) {
		blocks[i].start = i * MIB;
		blocks[i].size = MIB;
		blocks[i].alloc = TESSERA_SPLIT_NONE;
	}
	for (i = 0; i < places; i++) {
		add_alloc(f, 1);
		add_entry(f, 0x40 * i, i % 4, A + i);
	}
	f->in.blocks = blocks;
	f->in.n_blocks = n;
	f->in.check = countdown_check;
	f->in.check_ctx = &c;
	KUNIT_EXPECT_EQ(test, plan_it(test, f), 0);
	KUNIT_EXPECT_EQ(test, f->plan.n_page_ins, places);
	KUNIT_EXPECT_GE(test, c.calls, places);
}

/*
 * Scratch space for victims is needed only for segments that can have some, not
 * for each segment id.
 */
static void scratch_follows_segments(struct kunit *test)
{
	struct fixture *f = example_base(test, 64);
	size_t one = tessera_split_scratch_size(&f->in);
	struct tessera_split_seg *segs;
	u32 i;

	segs = kunit_kcalloc(test, TESSERA_SPLIT_MAX_SEGS, sizeof(*segs), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, segs);
	segs[0] = f->segs[0];
	for (i = 1; i < TESSERA_SPLIT_MAX_SEGS; i++)
		segs[i].granularity = 4096;
	f->in.segs = segs;
	f->in.n_segs = TESSERA_SPLIT_MAX_SEGS;
	f->in.n_allocs = 4;
	/* Per segment only its own record and the ends of its list remain. */
	KUNIT_EXPECT_LT(test, tessera_split_scratch_size(&f->in), one + 31 * 512);
	expect_plan(test, f, EXAMPLE_CUT);
}

static struct kunit_case split_tests[] = {
	KUNIT_CASE(section3_base),
	KUNIT_CASE(section3_without_e3),
	KUNIT_CASE(section3_without_e4),
	KUNIT_CASE(section3_without_e4_same_slot),
	KUNIT_CASE(section3_rebind_too_early),
	KUNIT_CASE(section3_large_segment),
	KUNIT_CASE(section3_force_all),
	KUNIT_CASE(force_bitmap),
	KUNIT_CASE(force_random),
	KUNIT_CASE(rotating),
	KUNIT_CASE(grouping),
	KUNIT_CASE(large_moves),
	KUNIT_CASE(places_swap),
	KUNIT_CASE(clean_and_written),
	KUNIT_CASE(preferred_order),
	KUNIT_CASE(segments_apart),
	KUNIT_CASE(read_only),
	KUNIT_CASE(tiers),
	KUNIT_CASE(tiers_unequal),
	KUNIT_CASE(priorities),
	KUNIT_CASE(last_resort_after_cut),
	KUNIT_CASE(protected_after_busy),
	KUNIT_CASE(own_immovable),
	KUNIT_CASE(feasible_in_pieces),
	KUNIT_CASE(leak_check),
	KUNIT_CASE(replay),
	KUNIT_CASE(furthest_next_use),
	KUNIT_CASE(longest_idle),
	KUNIT_CASE(free_cuts_save_nothing),
	KUNIT_CASE(cut_by_cost),
	KUNIT_CASE(bad_input),
	KUNIT_CASE(no_memory),
	KUNIT_CASE(batches_of_example),
	KUNIT_CASE(asks_whether_to_go_on),
	KUNIT_CASE(asks_in_large_segments),
	KUNIT_CASE(scratch_follows_segments),
	{}
};

static struct kunit_suite split_suite = {
	.name = "tessera_split",
	.test_cases = split_tests,
};

kunit_test_suite(split_suite);
