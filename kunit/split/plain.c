// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The plain algorithm of the requirements, section 3, implemented literally. */
#include "model.h"

/* Lowest free offset in @seg for allocation @a; NOWHERE if there is none. */
static u32 lowest_fit(const struct tessera_split_input *in,
		      const struct oracle_state *st, u32 seg, u32 a)
{
	u64 busy = model_taken(in, st, seg, HOLD_ALL, ~0U), size = model_units(in, a, seg);
	u32 off;

	if (hweight64(busy) + size > model_commit_limit(in, seg))
		return NOWHERE;
	for (off = 0; off + size <= in->segs[seg].size;
	     off += model_alignment(in, a, seg))
		if (!(busy & model_range_mask(off, size)))
			return off;
	return NOWHERE;
}

static void plain_evict_idle(const struct tessera_split_input *in,
			     struct oracle_state *st, u32 segs, u32 keep,
			     bool last_resort)
{
	u32 i;

	for (i = 0; i < in->n_allocs; i++)
		if (st->seg[i] != NOWHERE && segs & BIT(st->seg[i]) &&
		    !(keep & BIT(i)) && !model_is_fixed(in, i))
			st->seg[i] = NOWHERE;
	for (i = 0; i < in->n_blocks; i++)
		if (segs & BIT(in->blocks[i].seg) &&
		    (in->blocks[i].tier < TESSERA_VICTIM_LAST_RESORT ||
		     (last_resort &&
		      in->blocks[i].tier != TESSERA_VICTIM_IMMOVABLE)))
			st->gone[i] = true;
}

static bool plain_place_in(const struct tessera_split_input *in,
			   struct oracle_state *st, u32 a, u32 seg, u32 keep)
{
	u32 off = lowest_fit(in, st, seg, a);

	if (off == NOWHERE) {
		plain_evict_idle(in, st, BIT(seg), keep, false);
		off = lowest_fit(in, st, seg, a);
	}
	if (off == NOWHERE)
		return false;
	st->seg[a] = seg;
	st->off[a] = off;
	return true;
}

static bool plain_place(const struct tessera_split_input *in,
			struct oracle_state *st, u32 a, u32 keep)
{
	u32 tried = 0, i;

	st->seg[a] = NOWHERE;
	for (i = 0; i < in->allocs[a].n_pref; i++) {
		u32 seg = in->allocs[a].pref[i];

		if (model_allowed(in, a) & ~tried & BIT(seg) &&
		    plain_place_in(in, st, a, seg, keep))
			return true;
		tried |= BIT(seg);
	}
	for (i = 0; i < in->n_segs; i++)
		if (model_allowed(in, a) & ~tried & BIT(i) &&
		    plain_place_in(in, st, a, i, keep))
			return true;
	return false;
}

/* True if the allocation is resident where this submission can use it. */
static bool usable(const struct tessera_split_input *in,
		   const struct oracle_state *st, u32 a)
{
	return model_is_fixed(in, a) ||
	       (st->seg[a] != NOWHERE && model_allowed(in, a) & BIT(st->seg[a]) &&
		!(st->off[a] & (model_alignment(in, a, st->seg[a]) - 1)));
}

static u32 usable_of(const struct tessera_split_input *in,
		     const struct oracle_state *st, u32 set)
{
	u32 mask = 0, i;

	for (i = 0; i < in->n_allocs; i++)
		if (set & BIT(i) && usable(in, st, i))
			mask |= BIT(i);
	return mask;
}

/*
 * Page in the group in list order. Allocations in @w, or in a usable placement,
 * stay.
 */
static bool plain_page_in(const struct tessera_split_input *in,
			  struct oracle_state *st, u32 first, u32 end, u32 w)
{
	u32 keep = w | usable_of(in, st, model_named_by(in, first, end)), i;

	for (i = first; i < end; i++) {
		u32 a = in->entries[i].alloc_index;

		if (model_is_null(in, i) || keep & BIT(a))
			continue;
		if (!plain_place(in, st, a, keep))
			return false;
		keep |= BIT(a);
	}
	return true;
}

/* Move unpinned residents of the group down, lowest first. */
static void plain_compact(const struct tessera_split_input *in,
			  struct oracle_state *st, u32 movable)
{
	u32 seg, u, a, off;

	for (seg = 0; seg < in->n_segs; seg++)
		for (u = 0; u < in->segs[seg].size; u++)
			for (a = 0; a < in->n_allocs; a++) {
				u64 busy, size = model_units(in, a, seg);

				if (!(movable & BIT(a)) || st->seg[a] != seg ||
				    st->off[a] != u)
					continue;
				/*
				 * It slides down, so the range in between must
				 * be free.
				 */
				busy = model_taken(in, st, seg, HOLD_ALL, ~BIT(a));
				for (off = u; off && !(busy & BIT_ULL(off - 1)); )
					off--;
				off = ALIGN(off, model_alignment(in, a, seg));
				if (off < u && !(busy & model_range_mask(off, size)))
					st->off[a] = off;
				break;
			}
}

/* Place the group after a cut; @w is the pinned set. */
static bool plain_after_cut(struct oracle *o, u32 first, u32 end, u32 w,
			    bool last_resort, struct oracle_plain *out)
{
	const struct tessera_split_input *in = o->in;
	struct oracle_state *st = &o->st;
	u32 need = model_named_by(in, first, end) & ~w, all = (u32)BIT(in->n_segs) - 1;
	u32 movable, i;

	plain_evict_idle(in, st, all, w | usable_of(in, st, need), last_resort);
	o->save = *st;
	if (plain_page_in(in, st, first, end, w))
		return true;
	*st = o->save;
	movable = usable_of(in, st, need);
	for (i = 0; i < in->n_allocs; i++)
		if (model_is_fixed(in, i)) {
			movable &= ~BIT(i);
			need &= ~BIT(i);
		}
	plain_compact(in, st, movable);
	if (plain_page_in(in, st, first, end, w))
		return true;
	*st = o->save;
	if (!model_can_pack(o, st, need,
			    HOLD_PROTECTED | HOLD_LAST_RESORT | HOLD_OWN, w))
		return false;
	out->unsure = true;
	return true;
}

static u32 working_set(const struct oracle *o)
{
	u32 mask = 0, i;

	for (i = 0; i < o->in->n_allocs; i++)
		mask |= o->st.w[i] ? BIT(i) : 0;
	return mask;
}

/* Process one split point; false if the run is over. */
static bool plain_step(struct oracle *o, u32 first, u32 end, u32 *start,
		       struct oracle_plain *out)
{
	const struct tessera_split_input *in = o->in;
	u32 at = in->entries[first].split_offset, w = working_set(o), i;
	bool forced = at > *start && at < in->length && model_is_forced(in, first);
	u32 named = model_named_by(in, first, end);

	o->save = o->st;
	if (forced || !plain_page_in(in, &o->st, first, end, w)) {
		o->st = o->save;
		if (forced || (w && at > *start)) {
			out->parts++;
			*start = at;
			w = model_kept_by_rows(in, o->st.table, first, end);
		}
		if (!plain_after_cut(o, first, end, w, false, out)) {
			out->failed = !plain_after_cut(o, first, end, w, true,
						       out);
			/*
			 * The requirements do not say which last-resort blocks
			 * to take.
			 */
			out->unsure = !out->failed;
			return false;
		}
		if (out->unsure)
			return false;
	}
	for (i = 0; i < in->n_allocs; i++)
		o->st.w[i] = (w | named) & BIT(i);
	for (i = first; i < end; i++)
		model_apply_entry(in, o->st.table, i);
	return true;
}

/**
 * oracle_run_plain() - count the parts that the plain algorithm makes
 * @o: oracle, for its memory
 * @in: a feasible case
 * @out: result
 */
void oracle_run_plain(struct oracle *o, const struct tessera_split_input *in,
		      struct oracle_plain *out)
{
	u32 first, end, start = 0;

	memset(out, 0, sizeof(*out));
	o->in = in;
	model_state_init(in, &o->st);
	for (first = 0; first < in->n_entries; first = end) {
		end = model_group_end(in, first);
		if (!plain_step(o, first, end, &start, out))
			return;
	}
	out->parts++;
}
