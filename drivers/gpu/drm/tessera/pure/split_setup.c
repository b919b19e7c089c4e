// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: setup of a split plan
 *
 * Lays out the planner's memory and checks its input. Part of the split
 * planner.
 *
 * The state that lasts over all batches of a submission is computed once, in
 * one pass over the patch list: for each entry, the next use of its allocation.
 * The cost of a batch is then proportional to its own entries, plus passes over
 * allocations and blocks.
 */
#include "split_priv.h"

/*
 * Search steps allowed to the packer: per element of the input, and at least.
 */
#define BUDGET_PER_ITEM		64ULL
#define BUDGET_MIN		BIT_ULL(22)

struct arena {
	char *base;
	size_t used;
};

static void *arena_take(struct arena *arena, size_t n, size_t each)
{
	size_t at = size_add(arena->used, 7) & ~(size_t)7;

	if (arena->used >= SIZE_MAX - 7)
		at = SIZE_MAX;
	arena->used = size_add(at, array_size(n, each));
	return arena->base ? arena->base + at : NULL;
}

/*
 * Arrays that last over all batches. With a NULL base only their size is
 * computed.
 */
static void layout_cursor(const struct tessera_split_input *in, struct arena *arena,
			  struct tessera_split_cursor *cur)
{
	cur->next_use = arena_take(arena, in->n_allocs, sizeof(u32));
	cur->next_ref = arena_take(arena, in->n_entries, sizeof(u32));
	cur->table = arena_take(arena, in->n_slots, sizeof(u32));
}

/*
 * Per segment, the maximum number of nodes: its blocks, and the allocations
 * that it may hold.
 */
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

/* Arrays of one batch. With a NULL base only their size is computed. */
static void layout(const struct tessera_split_input *in, struct arena *arena,
		   struct split *split)
{
	size_t n_node = size_add(in->n_allocs, in->n_blocks);
	size_t all = size_add(n_node, 2 * (size_t)in->n_segs);
	size_t n_gap = size_add(n_node, in->n_segs);
	size_t n_victim[TESSERA_SPLIT_MAX_SEGS];
	u32 i;

	memset(split, 0, sizeof(*split));
	split->seg_size = arena_take(arena, in->n_segs, sizeof(u64));
	split->seg_commit = arena_take(arena, in->n_segs, sizeof(u64));
	split->home_sum = arena_take(arena, in->n_segs, sizeof(u64));
	split->home_cap = arena_take(arena, in->n_segs, sizeof(u64));
	split->al = arena_take(arena, in->n_allocs, sizeof(*split->al));
	split->map.seg = arena_take(arena, in->n_segs, sizeof(*split->map.seg));
	split->map.node = arena_take(arena, all, sizeof(*split->map.node));
	split->table = arena_take(arena, in->n_slots, sizeof(u32));
	split->wset = arena_take(arena, in->n_allocs, sizeof(u32));
	split->member = arena_take(arena, in->n_allocs, sizeof(u32));
	split->log = arena_take(arena, size_add(n_node, size_mul(in->n_allocs, 3)),
				sizeof(*split->log));
	split->pack.seg = arena_take(arena, in->n_segs, sizeof(*split->pack.seg));
	split->pack.item = arena_take(arena, in->n_allocs, sizeof(*split->pack.item));
	split->pack.gap = arena_take(arena, n_gap + 1, sizeof(*split->pack.gap));
	split->pack.frame = arena_take(arena, size_add(n_gap, in->n_allocs) + 2,
				       sizeof(*split->pack.frame));
	count_victims(in, n_victim);
	for (i = 0; i < in->n_segs; i++) {
		struct tessera_plan_map_victim *heap;

		heap = arena_take(arena, n_victim[i], sizeof(*heap));
		if (!arena->base)
			continue;
		split->map.seg[i].heap = heap;
		split->map.seg[i].max_heap = n_victim[i];
	}
}

static bool counts_are_sane(const struct tessera_split_input *in)
{
	return in->n_segs <= TESSERA_SPLIT_MAX_SEGS && in->n_blocks <= S32_MAX / 2 &&
	       in->n_allocs <= S32_MAX - in->n_blocks;
}

/**
 * tessera_split_cursor_size() - get the size of the memory for a cursor
 * @in: the submission
 *
 * The memory lasts over all batches of the submission.
 *
 * Return: bytes, or 0 if the counts are too large.
 */
size_t tessera_split_cursor_size(const struct tessera_split_input *in)
{
	struct tessera_split_cursor cur;
	struct arena arena = {};

	if (!counts_are_sane(in))
		return 0;
	layout_cursor(in, &arena, &cur);
	/* The result 0 stands for an error. */
	return arena.used == SIZE_MAX ? 0 : max_t(size_t, arena.used, 8);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_split_cursor_size);

/**
 * tessera_split_scratch_size() - get the size of the memory that one call needs
 * @in: the submission
 *
 * The size depends on the blocks. Call it again when they have changed.
 *
 * Return: bytes, or 0 if the counts are too large.
 */
size_t tessera_split_scratch_size(const struct tessera_split_input *in)
{
	struct arena arena = {};
	struct split split;

	if (!counts_are_sane(in))
		return 0;
	arena_take(&arena, 1, sizeof(split));
	layout(in, &arena, &split);
	return arena.used == SIZE_MAX ? 0 : arena.used;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_split_scratch_size);

static struct split *take_split(const struct tessera_split_input *in,
				void *scratch, size_t size)
{
	size_t want = tessera_split_scratch_size(in);
	struct arena arena = { .base = scratch };
	struct split *split;

	if (!want || want > size)
		return NULL;
	split = arena_take(&arena, 1, sizeof(*split));
	layout(in, &arena, split);
	split->in = in;
	split->map.n_seg = in->n_segs;
	split->map.n_node = in->n_allocs + in->n_blocks;
	split->pack.n_seg = in->n_segs;
	return split;
}

static bool alloc_is_sane(const struct tessera_split_input *in,
			  const struct tessera_split_alloc *alloc)
{
	u32 i;

	if (!alloc->size || alloc->size > TESSERA_SPLIT_MAX_BYTES ||
	    alloc->align > TESSERA_SPLIT_MAX_BYTES ||
	    (alloc->align && !is_power_of_2(alloc->align)) ||
	    alloc->n_pref > TESSERA_PACK_PREF_MAX || !alloc->supported)
		return false;
	if (in->n_segs < 32 && alloc->supported >> in->n_segs)
		return false;
	for (i = 0; i < alloc->n_pref; i++)
		if (alloc->pref[i] >= in->n_segs ||
		    !(alloc->supported & BIT(alloc->pref[i])))
			return false;
	return true;
}

/*
 * A written allocation may not be in a segment that is read-only for the GPU.
 */
static u32 usable_segs(const struct tessera_split_input *in,
		       const struct tessera_split_alloc *alloc)
{
	u32 seg, mask = 0;

	for (seg = 0; seg < in->n_segs; seg++)
		if (alloc->supported & BIT(seg) &&
		    !(in->segs[seg].flags & TESSERA_SPLIT_SEG_READ_ONLY &&
		      alloc->flags & TESSERA_SPLIT_ALLOC_WRITTEN))
			mask |= BIT(seg);
	return alloc->flags & TESSERA_SPLIT_ALLOC_NULL ? 0 : mask;
}

static int check_alloc(const struct tessera_split_input *in,
		       const struct tessera_split_alloc *alloc)
{
	if (alloc->flags & TESSERA_SPLIT_ALLOC_NULL)
		return 0;
	return alloc_is_sane(in, alloc) && usable_segs(in, alloc) ? 0 : -EINVAL;
}

static int check_segs(struct split *split)
{
	u32 i;

	for (i = 0; i < split->in->n_segs; i++) {
		const struct tessera_split_seg *desc = &split->in->segs[i];

		if (desc->size > TESSERA_SPLIT_MAX_BYTES ||
		    desc->granularity > TESSERA_SPLIT_MAX_BYTES ||
		    !is_power_of_2(desc->granularity))
			return -EINVAL;
		split->seg_size[i] = desc->size;
		split->seg_commit[i] = desc->commit ? min(desc->commit, desc->size) : desc->size;
		split->pack.seg[i].granularity = desc->granularity;
	}
	return 0;
}

static int check_block_alloc(struct split *split, const struct tessera_split_block *block)
{
	struct split_alloc *alloc;

	if (block->alloc >= split->in->n_allocs)
		return -EINVAL;
	alloc = &split->al[block->alloc];
	/* An allocation can be at one place only. */
	if (alloc->stamp || split->in->allocs[block->alloc].flags & TESSERA_SPLIT_ALLOC_NULL ||
	    split_bytes(split, block->alloc, block->seg) != block->size)
		return -EINVAL;
	alloc->stamp = 1;
	alloc->fixed = block->tier == TESSERA_VICTIM_IMMOVABLE;
	return alloc->fixed && !(alloc->mask & BIT(block->seg)) ? -EINVAL : 0;
}

static int check_blocks(struct split *split)
{
	const struct tessera_split_block *block = split->in->blocks;
	u32 i, seg = 0;
	u64 end = 0;

	for (i = 0; i < split->in->n_blocks; i++, block++) {
		if (block->seg >= split->in->n_segs || block->seg < seg || !block->size ||
		    block->tier > TESSERA_VICTIM_IMMOVABLE)
			return -EINVAL;
		if (block->seg != seg)
			end = 0;
		seg = block->seg;
		if (block->start < end || block->start > split->seg_size[seg] ||
		    block->size > split->seg_size[seg] - block->start)
			return -EINVAL;
		end = block->start + block->size;
		if (block->alloc != TESSERA_SPLIT_NONE && check_block_alloc(split, block))
			return -EINVAL;
		if (split_tick(split, 1))
			return split->err;
	}
	split->stamp = 1;
	return 0;
}

/* The caller may use any ranks; only their order matters. */
static void find_ranks(struct split *split)
{
	u32 i;

	split->rank_min = U32_MAX;
	for (i = 0; i < split->in->n_blocks; i++) {
		const struct tessera_split_block *block = &split->in->blocks[i];

		if (block->alloc != TESSERA_SPLIT_NONE)
			continue;
		split->rank_min = min(split->rank_min, block->rank);
		split->rank_max = max(split->rank_max, block->rank);
	}
}

/*
 * Walk the list backwards: check it, link each entry to the next use of its
 * allocation, and compute the maximum number of allocations that a split point
 * can require.
 */
static int link_uses(struct split *split, struct tessera_split_cursor *cur)
{
	const struct tessera_split_input *in = split->in;
	u32 i, limit = in->length, n_slots = 0, group = 0, max_group = 0;

	for (i = in->n_entries; i--; ) {
		const struct tessera_patch *patch = &in->entries[i];

		if (patch->alloc_index >= in->n_allocs || patch->slot_id >= in->n_slots ||
		    patch->split_offset > limit)
			return -EINVAL;
		group = patch->split_offset == limit ? group + 1 : 1;
		max_group = max(max_group, group);
		n_slots = max(n_slots, patch->slot_id + 1);
		limit = patch->split_offset;
		cur->next_ref[i] = cur->next_use[patch->alloc_index];
		cur->next_use[patch->alloc_index] = i;
		if (split_tick(split, 1))
			return split->err;
	}
	split->max_held = n_slots + max_group;
	return 0;
}

/* Initialize allocations and blocks from the current input. */
static int setup_state(struct split *split)
{
	u32 i;
	int ret;

	for (i = 0; i < split->in->n_allocs; i++) {
		struct split_alloc *alloc = &split->al[i];

		memset(alloc, 0, sizeof(*alloc));
		alloc->align = max(split->in->allocs[i].align, 1ULL);
		alloc->mask = usable_segs(split->in, &split->in->allocs[i]);
		alloc->size = split->in->allocs[i].size;
		alloc->next_use = SPLIT_NEVER;
	}
	for (i = 0; i < split->in->n_slots; i++)
		split->table[i] = TESSERA_SPLIT_NONE;
	ret = check_blocks(split);
	if (ret)
		return ret;
	find_ranks(split);
	/* Bound the search time of the packer. */
	split->pack.budget = BUDGET_MIN + BUDGET_PER_ITEM *
		    ((u64)split->in->n_entries + split->in->n_blocks);
	return 0;
}

/**
 * split_setup_begin() - check the input, and set up the state for all batches
 * @in: the submission
 * @cur: cursor to set up
 * @mem: memory for @cur
 * @size: bytes at @mem
 * @out: receives the planner, in @scratch
 * @scratch: memory for this call
 * @scratch_size: bytes at @scratch
 *
 * Return: 0, -EINVAL, or an error of @in->check.
 */
int split_setup_begin(const struct tessera_split_input *in,
		      struct tessera_split_cursor *cur, void *mem, size_t size,
		      struct split **out, void *scratch, size_t scratch_size)
{
	size_t want = tessera_split_cursor_size(in);
	struct arena arena = { .base = mem };
	struct split *split;
	u32 i;
	int ret;

	split = take_split(in, scratch, scratch_size);
	if (!split || !want || want > size)
		return -EINVAL;
	memset(cur, 0, sizeof(*cur));
	layout_cursor(in, &arena, cur);
	if (in->force == TESSERA_SPLIT_FORCE_BITMAP && !in->force_map)
		return -EINVAL;
	ret = check_segs(split);
	for (i = 0; i < in->n_allocs && !ret; i++)
		ret = check_alloc(in, &in->allocs[i]) ?: split_tick(split, 1);
	if (ret)
		return ret;
	for (i = 0; i < in->n_allocs; i++)
		cur->next_use[i] = SPLIT_NEVER;
	for (i = 0; i < in->n_slots; i++)
		cur->table[i] = TESSERA_SPLIT_NONE;
	*out = split;
	return link_uses(split, cur) ?: setup_state(split);
}

/**
 * split_setup_batch() - check the current input, and prepare to plan from a
 * cursor
 * @in: the submission
 * @cur: where to start
 * @out: receives the planner, in @scratch
 * @scratch: memory for this call
 * @scratch_size: bytes at @scratch
 *
 * Return: 0, -EINVAL, or an error of @in->check.
 */
int split_setup_batch(const struct tessera_split_input *in,
		      const struct tessera_split_cursor *cur, struct split **out,
		      void *scratch, size_t scratch_size)
{
	struct split *split = take_split(in, scratch, scratch_size);

	if (!split || cur->done || cur->entry > in->n_entries || cur->byte > in->length)
		return -EINVAL;
	split->cur = cur;
	*out = split;
	return check_segs(split) ?: setup_state(split);
}
