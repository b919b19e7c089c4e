/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Hand-made cases for the split planner, and the text form of plans. */
#ifndef __TESSERA_SPLIT_FIXTURE_H__
#define __TESSERA_SPLIT_FIXTURE_H__

#include <kunit/test.h>
#include <linux/slab.h>

#include "whole.h"

#define MIB		BIT_ULL(20)
#define MAX_OPS		128
#define MAX_ENTRIES	32
#define MAX_ALLOCS	8
#define MAX_BLOCKS	8
#define MAX_SEGS	3
#define MAX_SLOTS	8
#define TEXT		512

/* Allocation list of each hand-made case; 0 is the NULL element. */
enum { NUL, A, B, C, D, E };

static const char names[] = "-ABCDEFG";

struct fixture {
	struct tessera_split_input in;
	struct tessera_split_seg segs[MAX_SEGS];
	struct tessera_split_alloc allocs[MAX_ALLOCS];
	struct tessera_patch entries[MAX_ENTRIES];
	struct tessera_split_block blocks[MAX_BLOCKS];
	struct tessera_split_op op[MAX_OPS];
	struct tessera_split_plan plan;
	unsigned long map;
	char text[TEXT];
};

static inline struct fixture *fixture_new(struct kunit *test, u64 seg_mib)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->segs[0].size = seg_mib * MIB;
	f->segs[0].granularity = 4096;
	f->allocs[NUL].flags = TESSERA_SPLIT_ALLOC_NULL;
	f->in.segs = f->segs;
	f->in.n_segs = 1;
	f->in.allocs = f->allocs;
	f->in.n_allocs = 1;
	f->in.entries = f->entries;
	f->in.blocks = f->blocks;
	f->in.force_map = &f->map;
	f->in.n_slots = 4;
	f->in.length = 0x400;
	f->in.cut_cost_bytes = U64_MAX;
	return f;
}

static inline struct tessera_split_alloc *add_alloc(struct fixture *f, u32 mib)
{
	struct tessera_split_alloc *a = &f->allocs[f->in.n_allocs++];

	a->size = mib * MIB;
	a->supported = 1;
	a->n_pref = 1;
	return a;
}

static inline void add_entry(struct fixture *f, u32 at, u32 slot, u32 alloc)
{
	struct tessera_patch *e = &f->entries[f->in.n_entries++];

	e->split_offset = at;
	e->slot_id = slot;
	e->alloc_index = alloc;
	e->patch_offset = alloc ? at + 8 : 0;
}

static inline struct tessera_split_block *add_block(struct fixture *f, u32 seg,
						    u32 start_mib, u32 mib, u32 alloc)
{
	struct tessera_split_block *b = &f->blocks[f->in.n_blocks++];

	b->seg = seg;
	b->start = start_mib * MIB;
	b->size = mib * MIB;
	b->alloc = alloc;
	return b;
}

/*
 * Format an operation as text:
 * - "+A@16": page-in of A at 16 MiB
 * - "-A", "-A~": evict A; "~" if it is clean
 * - "A@24>0": move A from 24 to 0 MiB
 * - "!A@0": pin A
 * - "-#1": evict foreign block 1
 * - "[0,100)2": part with its range in bytes (hex) and its number of entries;
 *   "." marks the last one
 *
 * An offset outside of segment 0 has the segment in front, such as "b16".
 */
static inline int op_text(const struct tessera_split_op *op, char *to, size_t size)
{
	u32 at = div_u64(op->off, MIB), from = div_u64(op->src, MIB);
	char seg[2] = { op->seg ? 'a' + op->seg : 0 };
	char src[2] = { op->src_seg ? 'a' + op->src_seg : 0 };

	switch (op->type) {
	case TESSERA_SPLIT_EVICT_FOREIGN:
		return scnprintf(to, size, "-#%u ", op->id);
	case TESSERA_SPLIT_EVICT:
		return scnprintf(to, size, "-%c%s ", names[op->id],
				 op->flags & TESSERA_SPLIT_OP_CLEAN ? "~" : "");
	case TESSERA_SPLIT_MOVE:
		return scnprintf(to, size, "%c@%s%u>%s%u ", names[op->id], src,
				 from, seg, at);
	case TESSERA_SPLIT_PAGE_IN:
		return scnprintf(to, size, "+%c@%s%u ", names[op->id], seg, at);
	case TESSERA_SPLIT_PIN:
		return scnprintf(to, size, "!%c@%s%u ", names[op->id], seg, at);
	default:
		return scnprintf(to, size, "[%x,%x)%u%s ", op->start, op->end,
				 op->count,
				 op->flags & TESSERA_SPLIT_OP_LAST ? "." : "");
	}
}

static inline int run_plan(struct kunit *test, const struct tessera_split_input *in,
			   struct tessera_split_plan *plan)
{
	size_t size = split_whole_size(in);
	void *scratch = kunit_kmalloc(test, size, GFP_KERNEL);
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, scratch);
	/*
	 * Memory that the planner does not initialise must not affect the
	 * result.
	 */
	memset(scratch, 0x5a, size);
	ret = split_whole(in, scratch, size, plan);
	kunit_kfree(test, scratch);
	return ret;
}

static inline int plan_it(struct kunit *test, struct fixture *f)
{
	size_t n = 0;
	u32 i;
	int ret;

	f->plan.op = f->op;
	f->plan.cap = MAX_OPS;
	ret = run_plan(test, &f->in, &f->plan);
	f->text[0] = 0;
	for (i = 0; i < f->plan.n_op; i++)
		n += op_text(&f->op[i], f->text + n, TEXT - n);
	if (n)
		f->text[n - 1] = 0;
	return ret;
}

static inline void expect_plan(struct kunit *test, struct fixture *f, const char *text)
{
	KUNIT_EXPECT_EQ(test, plan_it(test, f), 0);
	KUNIT_EXPECT_EQ(test, f->plan.late_error, 0);
	KUNIT_EXPECT_STREQ(test, f->text, text);
}

static inline void expect_late(struct kunit *test, struct fixture *f, const char *text,
			       u32 at)
{
	KUNIT_EXPECT_EQ(test, plan_it(test, f), 0);
	KUNIT_EXPECT_EQ(test, f->plan.late_error, -ENOSPC);
	KUNIT_EXPECT_EQ(test, f->plan.error_offset, at);
	KUNIT_EXPECT_STREQ(test, f->text, text);
}

static inline void expect_error(struct kunit *test, struct fixture *f, int error, u32 at)
{
	KUNIT_EXPECT_EQ(test, plan_it(test, f), error);
	KUNIT_EXPECT_EQ(test, f->plan.error_offset, at);
	KUNIT_EXPECT_EQ(test, f->plan.n_op, 0);
	KUNIT_EXPECT_EQ(test, f->plan.n_parts, 0);
}

#endif /* __TESSERA_SPLIT_FIXTURE_H__ */
