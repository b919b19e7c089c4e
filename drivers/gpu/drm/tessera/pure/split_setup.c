// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: set-up of a split plan
 *
 * Lays out the planner's memory and checks what it is given. Part of the split
 * planner.
 *
 * What is kept between the windows of a submission is computed once, with one
 * pass over the patch list: per entry the next use of its allocation. A window
 * then costs what its own entries cost, and passes over allocations and blocks.
 */
#include "split_priv.h"

/* Steps the packers may take for each element of the input, and in any case. */
#define BUDGET_PER_ITEM		64ULL
#define BUDGET_MIN		BIT_ULL(22)

struct arena {
	char *base;
	size_t used;
};

static void *arena_take(struct arena *a, size_t n, size_t each)
{
	size_t at = size_add(a->used, 7) & ~(size_t)7;

	if (a->used >= SIZE_MAX - 7)
		at = SIZE_MAX;
	a->used = size_add(at, array_size(n, each));
	return a->base ? a->base + at : NULL;
}

/* Arrays that outlive a window; with a NULL base only their size is found. */
static void layout_cursor(const struct tessera_split_input *in, struct arena *a,
			  struct tessera_split_cursor *cur)
{
	cur->alloc = arena_take(a, in->n_allocs, sizeof(*cur->alloc));
	cur->next_ref = arena_take(a, in->n_entries, sizeof(u32));
	cur->table = arena_take(a, in->n_slots, sizeof(u32));
}

/* What could ever be in a segment: its blocks, and the allocations it may hold. */
static void count_victims(const struct tessera_split_input *in, size_t *n)
{
	u32 i, seg;

	for (seg = 0; seg < in->n_segs; seg++)
		n[seg] = 0;
	for (i = 0; i < in->n_allocs; i++) {
		u32 mask = in->allocs[i].supported;

		if (in->allocs[i].flags & TESSERA_SPLIT_ALLOC_NULL)
			continue;
		for (; mask; mask &= mask - 1) {
			seg = __ffs(mask);
			if (seg < in->n_segs)
				n[seg]++;
		}
	}
	for (i = 0; i < in->n_blocks; i++)
		if (in->blocks[i].seg < in->n_segs)
			n[in->blocks[i].seg]++;
}

/* Lay the arrays of a window out; with a NULL base only their size is found. */
static void layout(const struct tessera_split_input *in, struct arena *a,
		   struct split *s)
{
	size_t n_node = size_add(in->n_allocs, in->n_blocks);
	size_t all = size_add(n_node, 2 * (size_t)in->n_segs);
	size_t n_gap = size_add(n_node, in->n_segs);
	size_t n_victim[TESSERA_SPLIT_MAX_SEGS];
	u32 i;

	memset(s, 0, sizeof(*s));
	s->seg_size = arena_take(a, in->n_segs, sizeof(u64));
	s->seg_commit = arena_take(a, in->n_segs, sizeof(u64));
	s->home_sum = arena_take(a, in->n_segs, sizeof(u64));
	s->home_cap = arena_take(a, in->n_segs, sizeof(u64));
	s->seg_swept = arena_take(a, in->n_segs, sizeof(u32));
	s->al = arena_take(a, in->n_allocs, sizeof(*s->al));
	s->sp.seg = arena_take(a, in->n_segs, sizeof(*s->sp.seg));
	s->sp.node = arena_take(a, all, sizeof(*s->sp.node));
	s->sp.chunk = arena_take(a, all, sizeof(*s->sp.chunk));
	s->table = arena_take(a, in->n_slots, sizeof(u32));
	s->wset = arena_take(a, in->n_allocs, sizeof(u32));
	s->member = arena_take(a, in->n_allocs, sizeof(u32));
	s->log = arena_take(a, size_add(n_node, size_mul(in->n_allocs, 3)),
			    sizeof(*s->log));
	s->pack.seg = arena_take(a, in->n_segs, sizeof(*s->pack.seg));
	s->pack.item = arena_take(a, in->n_allocs, sizeof(*s->pack.item));
	s->pack.gap = arena_take(a, n_gap + 1, sizeof(*s->pack.gap));
	s->pack.frame = arena_take(a, size_add(n_gap, in->n_allocs) + 2,
				   sizeof(*s->pack.frame));
	count_victims(in, n_victim);
	for (i = 0; i < in->n_segs; i++) {
		struct tessera_space_victim *heap;

		heap = arena_take(a, n_victim[i], sizeof(*heap));
		if (a->base)
			s->sp.seg[i].heap = heap;
	}
}

static bool counts_are_sane(const struct tessera_split_input *in)
{
	return in->n_segs <= TESSERA_SPLIT_MAX_SEGS && in->n_blocks <= S32_MAX / 2 &&
	       in->n_allocs <= S32_MAX - in->n_blocks;
}

/**
 * tessera_split_cursor_size() - memory that lasts over all windows of a submission
 * @in: what will be planned
 *
 * Return: bytes, or 0 if the counts are beyond reason.
 */
size_t tessera_split_cursor_size(const struct tessera_split_input *in)
{
	struct tessera_split_cursor cur;
	struct arena a = {};

	if (!counts_are_sane(in))
		return 0;
	layout_cursor(in, &a, &cur);
	/* Never 0, which stands for an error. */
	return a.used == SIZE_MAX ? 0 : max_t(size_t, a.used, 8);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_split_cursor_size);

/**
 * tessera_split_scratch_size() - memory that one call needs
 * @in: what will be planned
 *
 * It depends on the blocks: to be asked again when they have changed.
 *
 * Return: bytes, or 0 if the counts are beyond reason.
 */
size_t tessera_split_scratch_size(const struct tessera_split_input *in)
{
	struct arena a = {};
	struct split s;

	if (!counts_are_sane(in))
		return 0;
	arena_take(&a, 1, sizeof(s));
	layout(in, &a, &s);
	return a.used == SIZE_MAX ? 0 : a.used;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_split_scratch_size);

static struct split *take_split(const struct tessera_split_input *in,
				void *scratch, size_t size)
{
	size_t want = tessera_split_scratch_size(in);
	struct arena a = { .base = scratch };
	struct split *s;

	if (!want || want > size)
		return NULL;
	s = arena_take(&a, 1, sizeof(*s));
	layout(in, &a, s);
	s->in = in;
	s->sp.n_seg = in->n_segs;
	s->sp.n_node = in->n_allocs + in->n_blocks;
	s->pack.n_seg = in->n_segs;
	s->pack.budget = &s->budget;
	return s;
}

static bool alloc_is_sane(const struct tessera_split_input *in,
			  const struct tessera_split_alloc *a)
{
	u32 i;

	if (!a->size || a->size > TESSERA_SPLIT_MAX_BYTES ||
	    a->align > TESSERA_SPLIT_MAX_BYTES ||
	    (a->align && !is_power_of_2(a->align)) ||
	    a->n_pref > TESSERA_PACK_PREF_MAX || !a->supported)
		return false;
	if (in->n_segs < 32 && a->supported >> in->n_segs)
		return false;
	for (i = 0; i < a->n_pref; i++)
		if (a->pref[i] >= in->n_segs ||
		    !(a->supported & BIT(a->pref[i])))
			return false;
	return true;
}

/* A written allocation may not be where the GPU can only read. */
static int check_alloc(const struct tessera_split_input *in, u32 id,
		       struct split_cursor_alloc *out)
{
	const struct tessera_split_alloc *a = &in->allocs[id];
	u32 seg;

	out->align = 1;
	out->mask = 0;
	out->next_use = SPLIT_NEVER;
	if (a->flags & TESSERA_SPLIT_ALLOC_NULL)
		return 0;
	if (!alloc_is_sane(in, a))
		return -EINVAL;
	out->align = max(a->align, 1ULL);
	for (seg = 0; seg < in->n_segs; seg++) {
		const struct tessera_split_seg *g = &in->segs[seg];

		if (!(a->supported & BIT(seg)) ||
		    (g->flags & TESSERA_SPLIT_SEG_READ_ONLY &&
		     a->flags & TESSERA_SPLIT_ALLOC_WRITTEN))
			continue;
		out->mask |= BIT(seg);
	}
	return out->mask ? 0 : -EINVAL;
}

static int check_segs(struct split *s)
{
	u32 i;

	for (i = 0; i < s->in->n_segs; i++) {
		const struct tessera_split_seg *g = &s->in->segs[i];

		if (g->size > TESSERA_SPLIT_MAX_BYTES ||
		    g->granularity > TESSERA_SPLIT_MAX_BYTES ||
		    !is_power_of_2(g->granularity))
			return -EINVAL;
		s->seg_size[i] = g->size;
		s->seg_commit[i] = g->commit ? min(g->commit, g->size) : g->size;
		s->pack.seg[i].granularity = g->granularity;
	}
	return 0;
}

static int check_block_alloc(struct split *s, const struct tessera_split_block *b)
{
	struct split_alloc *al;

	if (b->alloc >= s->in->n_allocs)
		return -EINVAL;
	al = &s->al[b->alloc];
	/* No allocation is in two places. */
	if (al->stamp || s->in->allocs[b->alloc].flags & TESSERA_SPLIT_ALLOC_NULL ||
	    split_bytes(s, b->alloc, b->seg) != b->size)
		return -EINVAL;
	al->stamp = 1;
	al->fixed = b->tier == TESSERA_VICTIM_IMMOVABLE;
	return al->fixed && !(al->mask & BIT(b->seg)) ? -EINVAL : 0;
}

static int check_blocks(struct split *s)
{
	const struct tessera_split_block *b = s->in->blocks;
	u32 i, seg = 0;
	u64 end = 0;

	for (i = 0; i < s->in->n_blocks; i++, b++) {
		if (b->seg >= s->in->n_segs || b->seg < seg || !b->size ||
		    b->tier > TESSERA_VICTIM_IMMOVABLE)
			return -EINVAL;
		if (b->seg != seg)
			end = 0;
		seg = b->seg;
		if (b->start < end || b->start > s->seg_size[seg] ||
		    b->size > s->seg_size[seg] - b->start)
			return -EINVAL;
		end = b->start + b->size;
		if (b->alloc != TESSERA_SPLIT_NONE && check_block_alloc(s, b))
			return -EINVAL;
		if (split_tick(s, 1))
			return s->err;
	}
	s->stamp = 1;
	return 0;
}

/* Ranks are whatever the caller likes; only their order counts. */
static void find_ranks(struct split *s)
{
	u32 i;

	s->rank_min = U32_MAX;
	for (i = 0; i < s->in->n_blocks; i++) {
		const struct tessera_split_block *b = &s->in->blocks[i];

		if (b->alloc != TESSERA_SPLIT_NONE)
			continue;
		s->rank_min = min(s->rank_min, b->rank);
		s->rank_max = max(s->rank_max, b->rank);
	}
}

/* One pass back over the list: check it and link each entry to the next use. */
static int link_uses(struct split *s, struct tessera_split_cursor *cur)
{
	const struct tessera_split_input *in = s->in;
	u32 i, limit = in->length;

	for (i = in->n_entries; i--; ) {
		const struct tessera_patch *e = &in->entries[i];

		if (e->alloc_index >= in->n_allocs || e->slot_id >= in->n_slots ||
		    e->split_offset > limit)
			return -EINVAL;
		limit = e->split_offset;
		cur->next_ref[i] = cur->alloc[e->alloc_index].next_use;
		cur->alloc[e->alloc_index].next_use = i;
		if (split_tick(s, 1))
			return s->err;
	}
	return 0;
}

/**
 * split_set_budget() - let the packers search, but not for ever
 * @s: planner
 */
void split_set_budget(struct split *s)
{
	s->budget = BUDGET_MIN + BUDGET_PER_ITEM *
		    ((u64)s->in->n_entries + s->in->n_blocks);
}

/* What the cursor and the input say about allocations and blocks now. */
static int setup_state(struct split *s, const struct tessera_split_cursor *cur)
{
	u32 i;
	int ret;

	for (i = 0; i < s->in->n_allocs; i++) {
		struct split_alloc *al = &s->al[i];

		memset(al, 0, sizeof(*al));
		al->align = cur->alloc[i].align;
		al->mask = cur->alloc[i].mask;
		al->size = s->in->allocs[i].size;
		al->next_use = SPLIT_NEVER;
	}
	for (i = 0; i < s->in->n_slots; i++)
		s->table[i] = TESSERA_SPLIT_NONE;
	ret = check_blocks(s);
	if (ret)
		return ret;
	find_ranks(s);
	split_set_budget(s);
	return 0;
}

/**
 * split_setup_begin() - check the input, and fill what lasts over all windows
 * @in: what will be planned
 * @cur: cursor to set up
 * @mem: memory for it
 * @size: bytes at @mem
 * @out: planner, in @scratch
 * @scratch: memory for the time of the call
 * @scratch_size: bytes at @scratch
 *
 * Return: 0, -EINVAL, or what @in->check says.
 */
int split_setup_begin(const struct tessera_split_input *in,
		      struct tessera_split_cursor *cur, void *mem, size_t size,
		      struct split **out, void *scratch, size_t scratch_size)
{
	size_t want = tessera_split_cursor_size(in);
	struct arena a = { .base = mem };
	struct split *s;
	u32 i;
	int ret;

	s = take_split(in, scratch, scratch_size);
	if (!s || !want || want > size)
		return -EINVAL;
	memset(cur, 0, sizeof(*cur));
	layout_cursor(in, &a, cur);
	if (in->force == TESSERA_SPLIT_FORCE_BITMAP && !in->force_map)
		return -EINVAL;
	ret = check_segs(s);
	for (i = 0; i < in->n_allocs && !ret; i++)
		ret = check_alloc(in, i, &cur->alloc[i]) ?: split_tick(s, 1);
	if (ret)
		return ret;
	for (i = 0; i < in->n_slots; i++)
		cur->table[i] = TESSERA_SPLIT_NONE;
	*out = s;
	return link_uses(s, cur) ?: setup_state(s, cur);
}

/**
 * split_setup_window() - check the state of now, and prepare to plan from a cursor
 * @in: what is planned
 * @cur: where to start
 * @out: planner, in @scratch
 * @scratch: memory for the time of the call
 * @scratch_size: bytes at @scratch
 *
 * Return: 0, -EINVAL, or what @in->check says.
 */
int split_setup_window(const struct tessera_split_input *in,
		       const struct tessera_split_cursor *cur, struct split **out,
		       void *scratch, size_t scratch_size)
{
	struct split *s = take_split(in, scratch, scratch_size);

	if (!s || cur->done || cur->entry > in->n_entries || cur->byte > in->length)
		return -EINVAL;
	s->cur = cur;
	*out = s;
	return check_segs(s) ?: setup_state(s, cur);
}
