// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: feasibility of a split
 *
 * Answers, before anything is planned, whether what each split point requires
 * fits into its segments with all else evicted. Part of the split planner.
 *
 * A running sum per segment settles nearly every split point in constant time;
 * only where it does not is the set packed, by what would pack it at a cut.
 */
#include "split_priv.h"

/**
 * split_item_init() - set up one item of the packing problem
 * @s: planner
 * @it: item
 * @id: allocation
 * @fixed: it is placed already
 */
void split_item_init(const struct split *s, struct tessera_pack_item *it,
		     u32 id, bool fixed)
{
	const struct tessera_split_alloc *a = &s->in->allocs[id];

	it->size = s->al[id].size;
	it->align = s->al[id].align;
	it->mask = s->al[id].mask;
	it->id = id;
	it->n_pref = a->n_pref;
	memcpy(it->pref, a->pref, sizeof(it->pref));
	it->fixed = fixed;
	it->used = false;
}

static void gap_add(struct split *s, u32 seg, u64 start, u64 end)
{
	struct tessera_pack_gap *g = &s->pack.gap[s->pack.n_gap];

	if (end <= start)
		return;
	g->start = start;
	g->end = end;
	g->cur = start;
	g->seg = seg;
	s->pack.n_gap++;
}

/* Free ranges when everything that can go is gone. */
static void collect_free(struct split *s)
{
	const struct tessera_split_input *in = s->in;
	u32 seg, b = 0;

	s->pack.n_gap = 0;
	for (seg = 0; seg < in->n_segs; seg++) {
		u64 *room = &s->pack.seg[seg].room;
		u64 start = 0;

		*room = s->seg_commit[seg];

		for (; b < in->n_blocks && in->blocks[b].seg == seg; b++) {
			const struct tessera_split_block *k = &in->blocks[b];

			if (k->tier != TESSERA_VICTIM_IMMOVABLE)
				continue;
			gap_add(s, seg, start, k->start);
			start = k->start + k->size;
			*room -= min(*room, k->size);
		}
		gap_add(s, seg, start, in->segs[seg].size);
	}
}

/* Segment with the largest free range that an allocation may be in. */
static u32 find_home(const struct split *s, u32 mask, const u64 *largest)
{
	u32 home = __ffs(mask), seg;

	for (seg = 0; seg < s->in->n_segs; seg++)
		if (mask & BIT(seg) && largest[seg] > largest[home])
			home = seg;
	return home;
}

/*
 * Charge each allocation to its home, and find how much surely fits there: padded
 * sizes, placed by falling alignment, leave no hole in a range that starts aligned.
 * tessera_pack_solve() knows this way, too.
 */
static void choose_homes(struct split *s)
{
	u64 largest[TESSERA_SPLIT_MAX_SEGS] = {};
	u64 start[TESSERA_SPLIT_MAX_SEGS] = {};
	u64 align[TESSERA_SPLIT_MAX_SEGS];
	u32 i, seg;

	for (i = 0; i < s->pack.n_gap; i++) {
		const struct tessera_pack_gap *g = &s->pack.gap[i];

		if (g->end - g->start <= largest[g->seg])
			continue;
		largest[g->seg] = g->end - g->start;
		start[g->seg] = g->start;
	}
	for (seg = 0; seg < s->in->n_segs; seg++)
		align[seg] = s->in->segs[seg].granularity;
	for (i = 0; i < s->in->n_allocs; i++) {
		struct split_alloc *al = &s->al[i];

		if (s->in->allocs[i].flags & TESSERA_SPLIT_ALLOC_NULL)
			continue;
		al->home = find_home(s, al->mask, largest);
		al->pad = ALIGN(split_bytes(s, i, al->home),
				split_align(s, i, al->home));
		align[al->home] = max(align[al->home], al->align);
	}
	for (seg = 0; seg < s->in->n_segs; seg++) {
		u64 end = start[seg] + largest[seg];
		u64 lo = ALIGN(start[seg], align[seg]);

		s->home_cap[seg] = lo < end ? min(end - lo, s->pack.seg[seg].room) : 0;
	}
}

/* What the rows hold that this split point does not reprogram. */
static void collect_live(struct split *s)
{
	u32 slot, n = 0;

	s->stamp++;
	for (slot = 0; slot < s->in->n_slots; slot++) {
		u32 id = s->table[slot];

		if (id == TESSERA_SPLIT_NONE || s->al[id].fixed ||
		    s->al[id].stamp == s->stamp)
			continue;
		s->al[id].stamp = s->stamp;
		split_item_init(s, &s->pack.item[n++], id, false);
	}
	s->pack.n_item = n;
}

/* What this split point names, even if only to unbind it again. */
static void collect_passing(struct split *s, u32 first, u32 end)
{
	u32 i;

	for (i = first; i < end; i++) {
		u32 id = s->in->entries[i].alloc_index;

		if (split_entry_is_null(s, i) || s->al[id].fixed ||
		    s->al[id].stamp == s->stamp)
			continue;
		s->al[id].stamp = s->stamp;
		split_item_init(s, &s->pack.item[s->pack.n_item++], id, false);
	}
}

/*
 * Pack what split point [@first, @end) requires; its rows are clear. What no way is
 * found for within the limits is refused: at the cut none would be found either.
 */
static int check_by_packing(struct split *s, u32 first, u32 end)
{
	u64 cost = (u64)s->in->n_slots + end - first;

	s->budget -= min(s->budget, cost);
	collect_live(s);
	collect_passing(s, first, end);
	return tessera_pack_solve(&s->pack, SPLIT_SEARCH_LIMIT) == 1 ? 0 : -ENOSPC;
}

static void drop(struct split *s, u32 id)
{
	struct split_alloc *al = &s->al[id];

	if (--al->n_slots || al->fixed)
		return;
	s->n_over -= s->home_sum[al->home] > s->home_cap[al->home];
	s->home_sum[al->home] -= al->pad;
	s->n_over += s->home_sum[al->home] > s->home_cap[al->home];
}

static void row_clear(struct split *s, u32 slot)
{
	u32 id = s->table[slot];

	s->table[slot] = TESSERA_SPLIT_NONE;
	if (id != TESSERA_SPLIT_NONE)
		drop(s, id);
}

/* Take a reference; true if the allocation was not held before. */
static bool hold(struct split *s, u32 id)
{
	struct split_alloc *al = &s->al[id];

	if (al->n_slots++ || al->fixed)
		return false;
	s->n_over -= s->home_sum[al->home] > s->home_cap[al->home];
	s->home_sum[al->home] += al->pad;
	s->n_over += s->home_sum[al->home] > s->home_cap[al->home];
	return true;
}

static void row_set(struct split *s, u32 entry)
{
	const struct tessera_patch *e = &s->in->entries[entry];

	row_clear(s, e->slot_id);
	if (split_entry_is_null(s, entry))
		return;
	s->table[e->slot_id] = e->alloc_index;
	hold(s, e->alloc_index);
}

/*
 * Bring the table past one split point. Its rows are cleared and its allocations
 * held, so that the sums cover exactly what a cut here would require; then the
 * rows are set and the holds dropped.
 */
static int check_group(struct split *s, u32 first, u32 end)
{
	const struct tessera_patch *e = s->in->entries;
	bool more = false;
	int ret = 0;
	u32 i;

	for (i = first; i < end; i++)
		row_clear(s, e[i].slot_id);
	for (i = first; i < end; i++)
		if (!split_entry_is_null(s, i))
			more |= hold(s, e[i].alloc_index);
	if (more && s->n_over)
		ret = check_by_packing(s, first, end);
	if (!ret)
		ret = split_tick(s, end - first);
	for (i = first; i < end; i++)
		row_set(s, i);
	for (i = first; i < end; i++)
		if (!split_entry_is_null(s, i))
			drop(s, e[i].alloc_index);
	return ret;
}

/**
 * split_feasible() - check every split point's requirements
 * @s: planner, with an empty table; left with an empty one
 *
 * Return: 0, or -ENOSPC with the split point in the plan's error fields.
 */
int split_feasible(struct split *s)
{
	u32 i, end;
	int ret = 0;

	for (i = 0; i < s->in->n_segs; i++)
		s->home_sum[i] = 0;
	collect_free(s);
	choose_homes(s);
	for (i = 0; i < s->in->n_entries && !ret; i = end) {
		end = split_group_end(s, i);
		ret = check_group(s, i, end);
		if (ret == -ENOSPC) {
			s->plan->error_entry = i;
			s->plan->error_offset = s->in->entries[i].split_offset;
		}
	}
	for (i = 0; i < s->in->n_slots; i++)
		row_clear(s, i);
	return ret;
}
