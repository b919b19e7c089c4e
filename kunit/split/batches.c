// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Plan random cases in batches of random size, with other clients changing
 * memory between them.
 */
#ifdef __KERNEL__
#include <linux/kernel.h>
#else
#include <stdio.h>
#endif

#include "model.h"
#include "oracle.h"

#define FAIL(o, ...) \
	(snprintf((o)->why, sizeof((o)->why), __VA_ARGS__), false)

static bool one_in(struct oracle_batches *w, u32 n)
{
	return !oracle_rnd(&w->state, n);
}

static u64 block_mask(u64 start, u64 size)
{
	return (BIT_ULL(size) - 1) << start;
}

static u64 busy_units(const struct oracle_case *c, u32 seg)
{
	u64 mask = 0;
	u32 i;

	for (i = 0; i < c->in.n_blocks; i++)
		if (c->blocks[i].seg == seg)
			mask |= block_mask(c->blocks[i].start, c->blocks[i].size);
	return mask;
}

/* Keep the list sorted: by segment, then by offset. */
static void insert_block(struct oracle_case *c, const struct tessera_split_block *b)
{
	u32 i = c->in.n_blocks++;

	for (; i && (c->blocks[i - 1].seg > b->seg ||
		     (c->blocks[i - 1].seg == b->seg &&
		      c->blocks[i - 1].start > b->start)); i--)
		c->blocks[i] = c->blocks[i - 1];
	c->blocks[i] = *b;
}

static void add_block(struct oracle_case *c, u32 seg, u64 start, u64 size,
		      u32 alloc, u8 tier, u32 rank)
{
	struct tessera_split_block b = {
		.seg = seg, .start = start, .size = size, .alloc = alloc,
		.tier = tier, .rank = rank,
	};

	if (c->in.n_blocks < ORACLE_BLOCKS)
		insert_block(c, &b);
}

/*
 * Place an allocation of the submission elsewhere, as another client's use
 * would, or add a foreign block.
 */
static void put_somewhere(struct oracle_case *c, struct oracle_batches *w, u32 alloc,
			  u64 size, u32 align, u8 tier)
{
	u32 seg = oracle_rnd(&w->state, c->in.n_segs);
	u64 start = ALIGN(oracle_rnd(&w->state, c->segs[seg].size), (u64)align);
	u64 commit = c->segs[seg].commit ?: c->segs[seg].size;

	size = ALIGN(size, c->segs[seg].granularity);
	if (alloc != TESSERA_SPLIT_NONE && !(c->allocs[alloc].supported & BIT(seg)))
		return;
	if (start + size > c->segs[seg].size ||
	    busy_units(c, seg) & block_mask(start, size) ||
	    hweight64(busy_units(c, seg)) + size > commit)
		return;
	add_block(c, seg, start, size, alloc, tier, oracle_rnd(&w->state, 4));
}

/*
 * Evict or move allocations of the submission that no cut has pinned, and drop
 * foreign blocks.
 */
static void change_own(struct oracle *o, struct oracle_case *c, struct oracle_batches *w)
{
	bool reset = one_in(w, 16);
	u32 i, n = c->in.n_blocks;
	u32 gone = 0;

	c->in.n_blocks = 0;
	for (i = 0; i < n; i++) {
		struct tessera_split_block b = c->blocks[i];
		bool own = b.alloc != TESSERA_SPLIT_NONE;
		bool goes = one_in(w, 4);

		if (b.tier == TESSERA_VICTIM_IMMOVABLE)
			goes = false;
		else if (own && o->pinned & BIT(b.alloc))
			goes = reset;
		if (!goes)
			c->blocks[c->in.n_blocks++] = b;
		else if (own)
			gone |= BIT(b.alloc);
	}
	for (i = 0; i < c->in.n_allocs; i++)
		if (gone & BIT(i) && !(o->pinned & BIT(i)) && one_in(w, 2))
			put_somewhere(c, w, i, c->allocs[i].size, 1, 0);
}

static void drop_block(struct oracle_case *c, u32 alloc, u32 seg)
{
	u32 i, n = c->in.n_blocks;

	c->in.n_blocks = 0;
	for (i = 0; i < n; i++)
		if (c->blocks[i].alloc != alloc || c->blocks[i].seg != seg)
			c->blocks[c->in.n_blocks++] = c->blocks[i];
}

/*
 * Remove segments from the supported sets of some allocations, wherever these
 * are. Pinned ones then lose their placement.
 */
static void close_segments(struct oracle *o, struct oracle_case *c, struct oracle_batches *w)
{
	u32 i;

	for (i = 0; i < c->in.n_allocs; i++) {
		u32 seg = oracle_rnd(&w->state, c->in.n_segs);

		if (!one_in(w, 8) || !(c->allocs[i].supported & ~BIT(seg)) ||
		    model_is_fixed(&c->in, i))
			continue;
		c->allocs[i].supported &= ~BIT(seg);
		if (o->pinned & BIT(i) || one_in(w, 2))
			drop_block(c, i, seg);
	}
}

static void change_world(struct oracle *o, struct oracle_case *c, struct oracle_batches *w)
{
	u32 i, more = oracle_rnd(&w->state, 4);

	change_own(o, c, w);
	close_segments(o, c, w);
	for (i = 0; i < more; i++)
		put_somewhere(c, w, TESSERA_SPLIT_NONE, 1 + oracle_rnd(&w->state, 4), 1,
			      one_in(w, 16) ? TESSERA_VICTIM_IMMOVABLE :
					      oracle_rnd(&w->state, 3));
	for (i = 0; i < c->in.n_allocs; i++)
		if (!(c->allocs[i].flags & TESSERA_SPLIT_ALLOC_WRITTEN) && one_in(w, 8))
			o->st.clean[i] = true;
}

/* Make the snapshot of memory for planning the next batch. */
static void take_snapshot(struct oracle *o, struct oracle_case *c)
{
	u32 i, n = c->in.n_blocks, fixed = 0;

	c->in.n_blocks = 0;
	for (i = 0; i < n; i++) {
		struct tessera_split_block b = c->blocks[i];

		if (b.alloc == TESSERA_SPLIT_NONE && !o->st.gone[i])
			c->blocks[c->in.n_blocks++] = b;
		else if (b.alloc != TESSERA_SPLIT_NONE &&
			 b.tier == TESSERA_VICTIM_IMMOVABLE)
			fixed |= BIT(b.alloc);
	}
	for (i = 0; i < c->in.n_allocs; i++) {
		u8 seg = o->st.seg[i];

		if (seg != 0xff)
			add_block(c, seg, o->st.off[i],
				  ALIGN(c->allocs[i].size, c->segs[seg].granularity), i,
				  fixed & BIT(i) ? TESSERA_VICTIM_IMMOVABLE : 0, 0);
	}
}

static void set_clean(const struct oracle *o, struct oracle_case *c)
{
	u32 i;

	for (i = 0; i < c->in.n_allocs; i++) {
		c->allocs[i].flags &= ~TESSERA_SPLIT_ALLOC_CLEAN;
		if (o->st.clean[i])
			c->allocs[i].flags |= TESSERA_SPLIT_ALLOC_CLEAN;
	}
}

static int plan_batch(struct oracle_case *c, struct oracle_batches *w)
{
	size_t size = tessera_split_scratch_size(&c->in);

	if (size > sizeof(w->scratch))
		return -E2BIG;
	w->limits.max_parts = oracle_rnd(&w->state, 5);
	w->limits.max_ops = oracle_rnd(&w->state, 3) ? oracle_rnd(&w->state, 12) : U32_MAX;
	memset(w->scratch, 0x5a, size);
	memset(&w->plan, 0, sizeof(w->plan));
	w->plan.op = c->op;
	w->plan.cap = ORACLE_OPS;
	return tessera_split_batch(&c->in, &w->cur, &w->limits, w->scratch, size,
				   &w->plan);
}

/* Plan, drop the plan, and plan again: only a commit may advance the cursor. */
static bool plan_twice(struct oracle *o, struct oracle_case *c, struct oracle_batches *w)
{
	struct tessera_split_cursor saved = w->cur;
	int ret;

	memcpy(w->saved, w->mem, sizeof(w->mem));
	ret = plan_batch(c, w);
	if (!ret)
		ret = plan_batch(c, w);
	if (ret)
		return FAIL(o, "batch %u: returned %d", w->batches, ret);
	if (memcmp(&saved, &w->cur, sizeof(saved)) ||
	    memcmp(w->saved, w->mem, sizeof(w->mem)))
		return FAIL(o, "batch %u: planning moved the cursor", w->batches);
	return true;
}

static bool batch_keeps_limits(struct oracle *o, const struct oracle_batches *w)
{
	const struct tessera_split_plan *p = &w->plan;
	u32 ops = p->n_evicts + p->n_moves + p->n_page_ins;

	if (!p->n_parts && !p->late_error)
		return FAIL(o, "batch %u is empty", w->batches);
	if (p->n_parts > max(w->limits.max_parts, 1U))
		return FAIL(o, "batch %u has %u of %u parts", w->batches, p->n_parts,
			    w->limits.max_parts);
	if (p->n_parts > 1 && ops > w->limits.max_ops)
		return FAIL(o, "batch %u has %u of %u operations", w->batches, ops,
			    w->limits.max_ops);
	return true;
}

/**
 * oracle_run_batches() - plan a case in batches, and check each
 * @o: oracle; @o->why names a violation
 * @c: case; its blocks change
 * @w: memory
 * @seed: seed of the random choices
 * @change: other clients move and evict between the batches what no cut has
 *	pinned
 *
 * Return: true if all rules were kept.
 */
bool oracle_run_batches(struct oracle *o, struct oracle_case *c,
			struct oracle_batches *w, u64 seed, bool change)
{
	u32 offset = 0;
	bool feasible = oracle_feasible(o, &c->in, &offset);
	int ret;

	w->state = seed;
	w->batches = 0;
	oracle_judge_begin(o, &c->in);
	if (tessera_split_cursor_size(&c->in) > sizeof(w->mem) ||
	    tessera_split_scratch_size(&c->in) > sizeof(w->scratch))
		return FAIL(o, "no space");
	memset(w->mem, 0xa5, sizeof(w->mem));
	ret = tessera_split_begin(&c->in, w->mem, sizeof(w->mem), w->scratch,
				  sizeof(w->scratch), &w->cur, &w->plan);
	if (ret != (feasible ? 0 : -ENOSPC) || (ret && w->plan.error_offset != offset))
		return FAIL(o, "begin returned %d at %u", ret, w->plan.error_offset);
	w->plan.late_error = ret;
	while (!w->plan.late_error && !w->cur.done) {
		if (!plan_twice(o, c, w) || !oracle_judge_batch(o, &w->plan) ||
		    !batch_keeps_limits(o, w))
			return false;
		w->batches++;
		tessera_split_commit(&c->in, &w->cur, &w->plan);
		if (w->cur.entry != o->first || w->cur.byte != o->at ||
		    w->cur.part != o->parts)
			return FAIL(o, "cursor at %u:%u, part %u", w->cur.entry,
				    w->cur.byte, w->cur.part);
		take_snapshot(o, c);
		if (change)
			change_world(o, c, w);
		set_clean(o, c);
		oracle_world_change(o);
	}
	if (w->plan.late_error)
		return true;
	return o->at == c->in.length && o->first == c->in.n_entries ? true :
	       FAIL(o, "batches end at %u of %u", o->at, c->in.length);
}
