// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: feasibility of a split
 *
 * Checks before planning whether the allocations that each split point requires
 * fit into their segments if everything else is evicted. Part of the split
 * planner.
 *
 * The check is done in up to three steps. If as many of the largest allocations
 * fit as can be held at once, nothing else is checked. Otherwise a running sum
 * per segment decides nearly every split point in constant time. Only where the
 * sum does not decide, the set is packed, by the same code that would pack it
 * at a cut.
 */
#include "split_priv.h"

/* Return the segment with the largest free range among those in @mask. */
static u32 find_home(const struct split *split, u32 mask, const u64 *largest)
{
	u32 home = __ffs(mask), seg;

	for (seg = 0; seg < split->in->n_segs; seg++)
		if (mask & BIT(seg) && largest[seg] > largest[home])
			home = seg;
	return home;
}

/*
 * Charge each allocation to one segment, its home, and compute how many bytes
 * surely fit there. Padded sizes, placed by descending alignment, leave no hole
 * in a range that starts aligned. tessera_pack_solve() tries this arrangement,
 * too (fit_homes()).
 */
static void choose_homes(struct split *split)
{
	u64 largest[TESSERA_SPLIT_MAX_SEGS] = {};
	u64 start[TESSERA_SPLIT_MAX_SEGS] = {};
	/* Holds the alignments first, then the capacities. */
	u64 *align = split->home_cap;
	u32 i, seg;

	for (i = 0; i < split->pack.n_gap; i++) {
		const struct tessera_pack_gap *gap = &split->pack.gap[i];

		if (gap->end - gap->start <= largest[gap->seg])
			continue;
		largest[gap->seg] = gap->end - gap->start;
		start[gap->seg] = gap->start;
	}
	for (seg = 0; seg < split->in->n_segs; seg++)
		align[seg] = split->in->segs[seg].granularity;
	for (i = 0; i < split->in->n_allocs; i++) {
		struct split_alloc *alloc = &split->al[i];

		if (split->in->allocs[i].flags & TESSERA_SPLIT_ALLOC_NULL)
			continue;
		alloc->home = find_home(split, alloc->mask, largest);
		alloc->pad = ALIGN(split_bytes(split, i, alloc->home),
				   split_align(split, i, alloc->home));
		align[alloc->home] = max(align[alloc->home], alloc->align);
	}
	for (seg = 0; seg < split->in->n_segs; seg++) {
		u64 end = start[seg] + largest[seg];
		u64 lo = ALIGN(start[seg], align[seg]);

		split->home_cap[seg] = lo < end ? min(end - lo, split->pack.seg[seg].available) : 0;
	}
}

/*
 * Test whether as many of the largest allocations fit as a split point can
 * require.
 */
static bool always_fits(const struct split *split)
{
	u64 largest[TESSERA_SPLIT_MAX_SEGS] = {}, sum;
	u32 i, seg;

	for (i = 0; i < split->in->n_allocs; i++) {
		const struct split_alloc *alloc = &split->al[i];

		if (!(split->in->allocs[i].flags & TESSERA_SPLIT_ALLOC_NULL))
			largest[alloc->home] = max(largest[alloc->home], alloc->pad);
	}
	for (seg = 0; seg < split->in->n_segs; seg++)
		if (check_mul_overflow(largest[seg], (u64)split->max_held, &sum) ||
		    sum > split->home_cap[seg])
			return false;
	return true;
}

/* Collect the allocations in rows that this split point does not set again. */
static void collect_live(struct split *split)
{
	u32 slot, n = 0;

	split->stamp++;
	for (slot = 0; slot < split->in->n_slots; slot++) {
		u32 id = split->table[slot];

		if (id == TESSERA_SPLIT_NONE || split->al[id].fixed ||
		    split->al[id].stamp == split->stamp)
			continue;
		split->al[id].stamp = split->stamp;
		split_item_init(split, &split->pack.item[n++], id, false);
	}
	split->pack.n_item = n;
}

/*
 * Collect the allocations that this split point names, even if it unbinds them
 * again.
 */
static void collect_passing(struct split *split, u32 first, u32 end)
{
	u32 i;

	for (i = first; i < end; i++) {
		u32 id = split->in->entries[i].alloc_index;

		if (split_entry_is_null(split, i) || split->al[id].fixed ||
		    split->al[id].stamp == split->stamp)
			continue;
		split->al[id].stamp = split->stamp;
		split_item_init(split, &split->pack.item[split->pack.n_item++], id, false);
	}
}

/*
 * Pack the allocations that split point [@first, @end) requires; its rows are
 * clear. If the packer finds no solution within its limits, refuse: at the cut
 * it would find none either.
 */
static int check_by_packing(struct split *split, u32 first, u32 end)
{
	u64 cost = (u64)split->in->n_slots + end - first;

	split->pack.budget -= min(split->pack.budget, cost);
	collect_live(split);
	collect_passing(split, first, end);
	return tessera_pack_solve(&split->pack) ? 0 : -ENOSPC;
}

static void drop(struct split *split, u32 id)
{
	struct split_alloc *alloc = &split->al[id];

	if (--alloc->n_slots || alloc->fixed)
		return;
	split->n_over -= split->home_sum[alloc->home] > split->home_cap[alloc->home];
	split->home_sum[alloc->home] -= alloc->pad;
	split->n_over += split->home_sum[alloc->home] > split->home_cap[alloc->home];
}

static void row_clear(struct split *split, u32 slot)
{
	u32 id = split->table[slot];

	split->table[slot] = TESSERA_SPLIT_NONE;
	if (id != TESSERA_SPLIT_NONE)
		drop(split, id);
}

/* Take a reference; returns true if the allocation was not held before. */
static bool hold(struct split *split, u32 id)
{
	struct split_alloc *alloc = &split->al[id];

	if (alloc->n_slots++ || alloc->fixed)
		return false;
	split->n_over -= split->home_sum[alloc->home] > split->home_cap[alloc->home];
	split->home_sum[alloc->home] += alloc->pad;
	split->n_over += split->home_sum[alloc->home] > split->home_cap[alloc->home];
	return true;
}

/*
 * Advance the table over one split point. Clear its rows and hold its
 * allocations, so that the sums cover exactly what a cut here would require.
 * Then the rows take over the references.
 */
static int check_group(struct split *split, u32 first, u32 end)
{
	const struct tessera_patch *patch = split->in->entries;
	bool more = false;
	int ret = 0;
	u32 i;

	for (i = first; i < end; i++)
		row_clear(split, patch[i].slot_id);
	for (i = first; i < end; i++)
		if (!split_entry_is_null(split, i))
			more |= hold(split, patch[i].alloc_index);
	if (more && split->n_over)
		ret = check_by_packing(split, first, end);
	if (!ret)
		ret = split_tick(split, end - first);
	for (i = first; i < end; i++) {
		row_clear(split, patch[i].slot_id);
		if (!split_entry_is_null(split, i))
			split->table[patch[i].slot_id] = patch[i].alloc_index;
	}
	return ret;
}

/**
 * split_feasible() - check the requirements of every split point
 * @split: planner, with an empty table; it is empty again on return
 *
 * Return: 0, or -ENOSPC with the split point in the plan's error fields.
 */
int split_feasible(struct split *split)
{
	u32 i, end;
	int ret = 0;

	for (i = 0; i < split->in->n_segs; i++)
		split->home_sum[i] = 0;
	split_populate(split);
	split_collect_gaps(split, U32_MAX, TESSERA_VICTIM_PROTECTED);
	choose_homes(split);
	if (always_fits(split))
		return 0;
	for (i = 0; i < split->in->n_entries && !ret; i = end) {
		end = split_group_end(split, i);
		ret = check_group(split, i, end);
		if (ret == -ENOSPC) {
			split->plan->error_entry = i;
			split->plan->error_offset = split->in->entries[i].split_offset;
		}
	}
	for (i = 0; i < split->in->n_slots; i++)
		row_clear(split, i);
	return ret;
}
