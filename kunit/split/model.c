// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Model of memory and patch lists for the oracle: a bitmap per segment, and a
 * packing search that tries each subset at each unit.
 */
#include "model.h"

bool model_is_null(const struct tessera_split_input *in, u32 entry)
{
	return in->allocs[in->entries[entry].alloc_index].flags &
	       TESSERA_SPLIT_ALLOC_NULL;
}

u32 model_group_end(const struct tessera_split_input *in, u32 first)
{
	u32 i = first;

	while (i < in->n_entries &&
	       in->entries[i].split_offset == in->entries[first].split_offset)
		i++;
	return i;
}

/* Set of segments that an allocation may be in. */
u32 model_allowed(const struct tessera_split_input *in, u32 a)
{
	u32 mask = in->allocs[a].supported, seg;

	for (seg = 0; seg < in->n_segs; seg++)
		if (in->segs[seg].flags & TESSERA_SPLIT_SEG_READ_ONLY &&
		    in->allocs[a].flags & TESSERA_SPLIT_ALLOC_WRITTEN)
			mask &= ~BIT(seg);
	return mask;
}

u32 model_alignment(const struct tessera_split_input *in, u32 a, u32 seg)
{
	return max_t(u32, in->allocs[a].align, in->segs[seg].granularity);
}

/* Number of units that an allocation takes in a segment. */
u32 model_units(const struct tessera_split_input *in, u32 a, u32 seg)
{
	return ALIGN((u32)in->allocs[a].size, (u32)in->segs[seg].granularity);
}

/* Number of units of a segment that may be taken at a time. */
u32 model_commit_limit(const struct tessera_split_input *in, u32 seg)
{
	return in->segs[seg].commit ?: in->segs[seg].size;
}

bool model_is_fixed(const struct tessera_split_input *in, u32 a)
{
	u32 b;

	for (b = 0; b < in->n_blocks; b++)
		if (in->blocks[b].alloc == a)
			return in->blocks[b].tier == TESSERA_VICTIM_IMMOVABLE;
	return false;
}

u64 model_range_mask(u64 off, u64 size)
{
	return (BIT_ULL(size) - 1) << off;
}

/*
 * Mask of taken units of a segment; counts only the holders in @what and @own.
 */
u64 model_taken(const struct tessera_split_input *in,
		const struct oracle_state *st, u32 seg, u32 what, u32 own)
{
	u64 mask = 0;
	u32 i;

	for (i = 0; i < in->n_blocks; i++) {
		const struct tessera_split_block *b = &in->blocks[i];
		u32 kind = HOLD_IDLE_FOREIGN;

		if (b->tier == TESSERA_VICTIM_IMMOVABLE)
			kind = HOLD_PROTECTED;
		else if (b->tier >= TESSERA_VICTIM_LAST_RESORT)
			kind = HOLD_LAST_RESORT;
		if (b->seg == seg && b->alloc == TESSERA_SPLIT_NONE &&
		    !st->gone[i] && what & kind)
			mask |= model_range_mask(b->start, b->size);
	}
	for (i = 0; i < in->n_allocs; i++)
		if (st->seg[i] == seg &&
		    ((what & HOLD_OWN && own & BIT(i)) ||
		     (what & HOLD_PROTECTED && model_is_fixed(in, i))))
			mask |= model_range_mask(st->off[i], model_units(in, i, seg));
	return mask;
}

void model_state_init(const struct tessera_split_input *in,
		      struct oracle_state *st)
{
	u32 i;

	memset(st, 0, sizeof(*st));
	memset(st->seg, NOWHERE, sizeof(st->seg));
	for (i = 0; i < in->n_slots; i++)
		st->table[i] = TESSERA_SPLIT_NONE;
	for (i = 0; i < in->n_allocs; i++)
		st->clean[i] = in->allocs[i].flags & TESSERA_SPLIT_ALLOC_CLEAN;
	for (i = 0; i < in->n_blocks; i++) {
		const struct tessera_split_block *b = &in->blocks[i];

		if (b->alloc == TESSERA_SPLIT_NONE)
			continue;
		st->seg[b->alloc] = b->seg;
		st->off[b->alloc] = b->start;
	}
}

void model_apply_entry(const struct tessera_split_input *in, u32 *table, u32 e)
{
	table[in->entries[e].slot_id] =
		model_is_null(in, e) ? TESSERA_SPLIT_NONE : in->entries[e].alloc_index;
}

/*
 * Allocations in slots that the group [@first, @end) does not reprogram
 * (SPLIT-25).
 */
u32 model_kept_by_rows(const struct tessera_split_input *in, const u32 *table,
		       u32 first, u32 end)
{
	u32 mask = 0, slot, i;

	for (slot = 0; slot < in->n_slots; slot++) {
		for (i = first; i < end; i++)
			if (in->entries[i].slot_id == slot)
				break;
		if (i == end && table[slot] != TESSERA_SPLIT_NONE)
			mask |= BIT(table[slot]);
	}
	return mask;
}

u32 model_named_by(const struct tessera_split_input *in, u32 first, u32 end)
{
	u32 mask = 0, i;

	for (i = first; i < end; i++)
		if (!model_is_null(in, i))
			mask |= BIT(in->entries[i].alloc_index);
	return mask;
}

/*
 * Put item @bit of size @size at unit @u: each subset without it that fits
 * below @u makes one with it that fits below @u + @size.
 */
static void reach_with(struct oracle *o, u32 u, u32 size, u32 bit, u32 words)
{
	static const u64 has[6] = {
		0xaaaaaaaaaaaaaaaaULL, 0xccccccccccccccccULL,
		0xf0f0f0f0f0f0f0f0ULL, 0xff00ff00ff00ff00ULL,
		0xffff0000ffff0000ULL, 0xffffffff00000000ULL,
	};
	u64 *from = o->reach[u], *to = o->reach[u + size];
	u32 w;

	for (w = 0; w < words; w++) {
		if (bit < 6)
			to[w] |= (from[w] & ~has[bit]) << BIT(bit);
		else if (!(w & BIT(bit - 6)))
			to[w | BIT(bit - 6)] |= from[w];
	}
}

/* An item to pack into a segment that allows it; bit @bit of a subset. */
struct oracle_item {
	u32 bit;
	u64 size;
	u64 align_mask;
};

static u32 collect_items(const struct tessera_split_input *in, u32 set, u32 seg,
			 struct oracle_item *items)
{
	u32 bit = 0, n = 0, i;

	for (i = 0; i < in->n_allocs; i++) {
		if (!(set & BIT(i)))
			continue;
		if (model_allowed(in, i) & BIT(seg))
			items[n++] = (struct oracle_item) {
				bit, model_units(in, i, seg), model_alignment(in, i, seg) - 1,
			};
		bit++;
	}
	return n;
}

static bool has_subset(const u64 *sets, u32 subset)
{
	return sets[subset / 64] & BIT_ULL(subset % 64);
}

/* Remove the subsets that need more than @cap units. */
static void drop_over(u64 *sets, u32 n_sets, const struct oracle_item *items, u32 n,
		      u32 cap)
{
	u32 set, i;

	for (set = 0; set < n_sets; set++) {
		u32 sum = 0;

		for (i = 0; i < n; i++)
			sum += set & BIT(items[i].bit) ? items[i].size : 0;
		if (sum > cap)
			sets[set / 64] &= ~BIT_ULL(set % 64);
	}
}

/*
 * Find the subsets of @set that a segment can take in addition to its holders.
 * Walks over each unit and keeps all subsets that can be placed below it.
 */
static u64 *pack_seg(struct oracle *o, const struct oracle_state *st, u32 set, u32 seg,
		     u32 what, u32 own)
{
	const struct tessera_split_input *in = o->in;
	u32 n_sets = BIT(hweight32(set)), words = DIV_ROUND_UP(n_sets, 64), u, i;
	u64 busy = model_taken(in, st, seg, what, own), size = in->segs[seg].size;
	struct oracle_item items[ORACLE_ALLOCS];
	u32 n = collect_items(in, set, seg, items), held = hweight64(busy);

	memset(o->reach, 0, (size + 1) * sizeof(o->reach[0]));
	o->reach[0][0] = 1;
	for (u = 0; u < size; u++) {
		for (i = 0; i < n; i++) {
			const struct oracle_item *item = &items[i];

			if (!(u & item->align_mask) && u + item->size <= size &&
			    !(busy & model_range_mask(u, item->size)))
				reach_with(o, u, item->size, item->bit, words);
		}
		for (i = 0; i < words; i++)
			o->reach[u + 1][i] |= o->reach[u][i];
	}
	if (model_commit_limit(in, seg) < size)
		drop_over(o->reach[size], n_sets, items, n,
			  model_commit_limit(in, seg) - min(model_commit_limit(in, seg), held));
	return o->reach[size];
}

/*
 * True if all allocations of @set can be placed beside the holders in @what and
 * @own. Combines the subsets that each segment can take.
 */
bool model_can_pack(struct oracle *o, const struct oracle_state *st, u32 set,
		    u32 what, u32 own)
{
	u64 sum[ORACLE_WORDS] = { 1 }, more[ORACLE_WORDS];
	u32 n_sets = BIT(hweight32(set)), seg, whole, part;

	for (seg = 0; seg < o->in->n_segs; seg++) {
		const u64 *fits = pack_seg(o, st, set, seg, what, own);

		if (!seg) {
			memcpy(sum, fits, sizeof(sum));
			continue;
		}
		memset(more, 0, sizeof(more));
		for (whole = 0; whole < n_sets; whole++)
			for (part = whole; ; part = (part - 1) & whole) {
				if (has_subset(sum, part) &&
				    has_subset(fits, whole & ~part)) {
					more[whole / 64] |= BIT_ULL(whole % 64);
					break;
				}
				if (!part)
					break;
			}
		memcpy(sum, more, sizeof(sum));
	}
	return has_subset(sum, n_sets - 1);
}

bool model_is_forced(const struct tessera_split_input *in, u32 entry)
{
	u32 group = 0, i;

	if (in->force == TESSERA_SPLIT_FORCE_ALL)
		return true;
	if (in->force != TESSERA_SPLIT_FORCE_BITMAP)
		return false;
	for (i = model_group_end(in, 0); i <= entry; i = model_group_end(in, i))
		group++;
	return group < in->n_force && in->force_map[0] & BIT(group);
}
