// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Random small cases for the split planner and the oracle. */
#include "oracle.h"

struct rng {
	u64 state;
};

static u32 rnd(struct rng *r, u32 below)
{
	return oracle_rnd(&r->state, below);
}

static bool one_in(struct rng *r, u32 n)
{
	return !rnd(r, n);
}

static void make_segs(struct oracle_case *c, struct rng *r)
{
	u32 i;

	c->in.n_segs = one_in(r, 3) ? 1 + rnd(r, ORACLE_SEGS) : 1;
	for (i = 0; i < c->in.n_segs; i++) {
		struct tessera_split_seg *s = &c->segs[i];

		s->granularity = one_in(r, 6) ? 2 : 1;
		s->size = (6 + rnd(r, 14)) * s->granularity;
		if (one_in(r, 8)) {
			s->granularity = 4;
			s->size = (2 + rnd(r, 10)) * s->granularity;
		}
		if (one_in(r, 5))
			s->commit = s->size - rnd(r, s->size / 2);
		if (i && one_in(r, 3))
			s->flags |= TESSERA_SPLIT_SEG_APERTURE;
		if (i && one_in(r, 3))
			s->flags |= TESSERA_SPLIT_SEG_READ_ONLY;
	}
}

static void make_alloc(struct oracle_case *c, struct rng *r, u32 i, u32 max_size)
{
	struct tessera_split_alloc *a = &c->allocs[i];
	u32 seg, start;

	a->size = 2 * (1 + rnd(r, max_size));
	if (one_in(r, 3) && a->size > 2)
		a->size--;
	a->align = one_in(r, 4) ? 1U << rnd(r, 3) : 0;
	if (one_in(r, 3))
		a->flags |= TESSERA_SPLIT_ALLOC_KEEP_COPY;
	if (one_in(r, 2))
		a->flags |= TESSERA_SPLIT_ALLOC_CLEAN;
	a->supported = 1 + rnd(r, (1U << c->in.n_segs) - 1);
	/* Segment 0 is writable, so that no case is refused for that reason. */
	if (one_in(r, 3)) {
		a->flags |= TESSERA_SPLIT_ALLOC_WRITTEN;
		a->supported |= 1;
	}
	start = rnd(r, c->in.n_segs);
	for (seg = 0; seg < c->in.n_segs; seg++) {
		u32 k = (start + seg) % c->in.n_segs;

		if (a->supported & BIT(k) && one_in(r, 2))
			a->pref[a->n_pref++] = k;
	}
}

static void make_allocs(struct oracle_case *c, struct rng *r)
{
	u32 i, max_size = 1 + rnd(r, 6);
	bool alike = one_in(r, 4);

	c->in.n_allocs = 3 + rnd(r, ORACLE_ALLOCS - 2);
	c->allocs[0].flags = TESSERA_SPLIT_ALLOC_NULL;
	for (i = 1; i < c->in.n_allocs; i++) {
		make_alloc(c, r, i, max_size);
		if (alike)
			c->allocs[i] = c->allocs[1];
	}
}

static void make_entry(struct oracle_case *c, struct rng *r, u32 i, u32 first)
{
	struct tessera_patch *e = &c->entries[i];
	u32 k;

	e->slot_id = rnd(r, c->in.n_slots);
	e->alloc_index = one_in(r, 5) ? 0 : 1 + rnd(r, c->in.n_allocs - 1);
	/* SPLIT-36: a slot has one allocation at a split point. */
	for (k = first; k < i; k++)
		if (e->alloc_index && c->entries[k].slot_id == e->slot_id &&
		    c->entries[k].alloc_index)
			e->alloc_index = c->entries[k].alloc_index;
}

static void make_entries(struct oracle_case *c, struct rng *r)
{
	u32 i, first = 0, at = one_in(r, 3) ? 8 : 0, group = 2 + rnd(r, 4);

	c->in.n_slots = 1 + rnd(r, 5);
	c->in.n_entries = 1 + rnd(r, ORACLE_ENTRIES);
	for (i = 0; i < c->in.n_entries; i++) {
		if (i && !one_in(r, group)) {
			at += 8 * (1 + rnd(r, 3));
			first = i;
		}
		make_entry(c, r, i, first);
		c->entries[i].split_offset = at;
	}
	c->in.length = at + 8;
	if (one_in(r, 4) && first) {
		/* An unbind at the very end is valid. */
		for (i = first; i < c->in.n_entries; i++)
			c->entries[i].alloc_index = 0;
		c->in.length = at;
	}
}

static void add_block(struct oracle_case *c, u32 seg, u64 start, u64 size,
		      u32 alloc, struct rng *r)
{
	struct tessera_split_block *b = &c->blocks[c->in.n_blocks++];

	b->seg = seg;
	b->start = start;
	b->size = size;
	b->alloc = alloc;
	b->rank = rnd(r, 4);
	if (alloc == TESSERA_SPLIT_NONE) {
		b->tier = one_in(r, 6) ? TESSERA_VICTIM_IMMOVABLE : rnd(r, 4);
		b->flags = one_in(r, 3) ? TESSERA_SPLIT_BLOCK_CLEAN : 0;
	} else if (one_in(r, 12) && !(c->segs[seg].flags &
				      TESSERA_SPLIT_SEG_READ_ONLY)) {
		b->tier = TESSERA_VICTIM_IMMOVABLE;
	}
}

static void make_blocks(struct oracle_case *c, struct rng *r)
{
	u32 used = 0, seg, density = 2 + rnd(r, 6);

	for (seg = 0; seg < c->in.n_segs; seg++) {
		u32 u = 0, gran = c->segs[seg].granularity;
		u32 left = c->segs[seg].commit ?: c->segs[seg].size;

		while (u < c->segs[seg].size && c->in.n_blocks < ORACLE_FIRST_BLOCKS) {
			u32 a = 1 + rnd(r, c->in.n_allocs - 1);
			u64 size = gran * (1 + rnd(r, 4));

			if (!one_in(r, density)) {
				u += gran;
				continue;
			}
			if (one_in(r, 2) && !(used & BIT(a)) &&
			    c->allocs[a].supported & BIT(seg)) {
				size = ALIGN(c->allocs[a].size, (u64)gran);
				used |= BIT(a);
			} else {
				a = TESSERA_SPLIT_NONE;
			}
			if (u + size > c->segs[seg].size || size > left)
				break;
			add_block(c, seg, u, size, a, r);
			u += size;
			left -= size;
		}
	}
}

/* Drawn last, so that a seed makes the same case as without priorities. */
static void make_priorities(struct oracle_case *c, struct rng *r)
{
	bool equal = one_in(r, 2);
	u32 i;

	for (i = 0; i < c->in.n_allocs; i++)
		c->allocs[i].priority = equal ? TESSERA_VICTIM_NORMAL :
						rnd(r, TESSERA_VICTIM_PRIORITIES);
	for (i = 0; i < c->in.n_blocks; i++)
		c->blocks[i].priority = equal ? TESSERA_VICTIM_NORMAL :
						rnd(r, TESSERA_VICTIM_PRIORITIES);
}

/**
 * oracle_generate() - make a random case
 * @c: the case
 * @seed: the same seed makes the same case
 */
void oracle_generate(struct oracle_case *c, u64 seed)
{
	struct rng r = { .state = seed * 0xd1342543de82ef95ULL + 1 };
	u32 mode;

	/*
	 * Do not clear the space for the plan: it is large, and the planner
	 * writes it.
	 */
	memset(c, 0, offsetof(struct oracle_case, op));
	c->in.segs = c->segs;
	c->in.allocs = c->allocs;
	c->in.entries = c->entries;
	c->in.blocks = c->blocks;
	c->in.force_map = c->force;
	make_segs(c, &r);
	make_allocs(c, &r);
	make_entries(c, &r);
	if (!one_in(&r, 3))
		make_blocks(c, &r);
	mode = rnd(&r, 8);
	if (mode == 0)
		c->in.force = TESSERA_SPLIT_FORCE_ALL;
	else if (mode < 3)
		c->in.force = TESSERA_SPLIT_FORCE_BITMAP;
	else if (mode == 3)
		c->in.force = TESSERA_SPLIT_FORCE_RANDOM;
	c->in.force_seed = seed;
	c->in.cut_cost_bytes = one_in(&r, 4) ? rnd(&r, 16) : U64_MAX;
	c->force[0] = rnd(&r, 1U << 24) & rnd(&r, 1U << 24);
	c->in.n_force = 24;
	make_priorities(c, &r);
}

/**
 * oracle_generate_tight() - make a case with one split point that just fits, or
 * just does not
 * @c: the case
 * @seed: the same seed makes the same case
 *
 * Nothing is pinned, so the planner must find a placement if there is one.
 */
void oracle_generate_tight(struct oracle_case *c, u64 seed)
{
	struct rng r = { .state = seed * 0xd1342543de82ef95ULL + 3 };
	u64 space = 0;
	u32 i, n;

	memset(c, 0, offsetof(struct oracle_case, op));
	c->in.segs = c->segs;
	c->in.allocs = c->allocs;
	c->in.entries = c->entries;
	c->in.blocks = c->blocks;
	c->in.n_slots = ORACLE_SLOTS;
	c->in.cut_cost_bytes = U64_MAX;
	do {
		memset(c->segs, 0, sizeof(c->segs));
		make_segs(c, &r);
	} while (c->in.n_segs == 1 && !one_in(&r, 4));
	for (i = 0; i < c->in.n_segs; i++)
		space += c->segs[i].commit ?: c->segs[i].size;
	n = 6 + rnd(&r, ORACLE_ALLOCS - 6);
	c->in.n_allocs = 1 + n;
	c->allocs[0].flags = TESSERA_SPLIT_ALLOC_NULL;
	for (i = 1; i <= n; i++) {
		struct tessera_split_alloc *a = &c->allocs[i];

		make_alloc(c, &r, i, 1);
		a->size = 1 + rnd(&r, 1 + 3 * (u32)space / (2 * n));
		if (one_in(&r, 2))
			a->align = 0;
		c->entries[i - 1].alloc_index = i;
		c->entries[i - 1].slot_id = i - 1;
	}
	if (one_in(&r, 3))
		add_block(c, 0, rnd(&r, c->segs[0].size), 1, TESSERA_SPLIT_NONE, &r);
	c->in.n_entries = n;
	c->in.length = 8;
}
