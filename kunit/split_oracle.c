// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The judge of split plans: replays a plan on a bitmap model of memory and checks
 * every rule of SPLIT-1 to SPLIT-36 that a plan can break.
 */
#ifdef __KERNEL__
#include <linux/kernel.h>
#else
#include <stdio.h>
#endif

#include "split_oracle.h"

#define NOWHERE		0xff

/* Which holders of memory count as being in the way. */
enum {
	HOLD_PROTECTED = 1 << 0,	/* immovable */
	HOLD_LAST_RESORT = 1 << 1,
	HOLD_IDLE_FOREIGN = 1 << 2,
	HOLD_OWN = 1 << 3,		/* this submission's, if in the set given */
};

#define HOLD_ALL	(HOLD_PROTECTED | HOLD_LAST_RESORT | HOLD_IDLE_FOREIGN | HOLD_OWN)

static bool is_null(const struct tessera_split_input *in, u32 entry)
{
	return in->allocs[in->entries[entry].alloc_index].flags &
	       TESSERA_SPLIT_ALLOC_NULL;
}

static u32 group_end(const struct tessera_split_input *in, u32 first)
{
	u32 i = first;

	while (i < in->n_entries &&
	       in->entries[i].split_offset == in->entries[first].split_offset)
		i++;
	return i;
}

/* Segments that an allocation may be in. */
static u32 allowed(const struct tessera_split_input *in, u32 a)
{
	u32 mask = in->allocs[a].supported, seg;

	for (seg = 0; seg < in->n_segs; seg++)
		if (in->segs[seg].flags & TESSERA_SPLIT_SEG_READ_ONLY &&
		    in->allocs[a].flags & TESSERA_SPLIT_ALLOC_WRITTEN)
			mask &= ~BIT(seg);
	return mask;
}

static u32 alignment(const struct tessera_split_input *in, u32 a)
{
	u32 align = max_t(u32, in->allocs[a].align, 1), seg;

	for (seg = 0; seg < in->n_segs; seg++)
		if (allowed(in, a) & BIT(seg))
			align = max_t(u32, align, in->segs[seg].granularity);
	return align;
}

static bool is_fixed(const struct tessera_split_input *in, u32 a)
{
	u32 b;

	for (b = 0; b < in->n_blocks; b++)
		if (in->blocks[b].alloc == a)
			return in->blocks[b].tier == TESSERA_VICTIM_IMMOVABLE;
	return false;
}

static u64 range_mask(u64 off, u64 size)
{
	return (BIT_ULL(size) - 1) << off;
}

/* Units of a segment that are taken, as far as @what and @own count. */
static u64 taken(const struct tessera_split_input *in,
		 const struct oracle_state *st, u32 seg, u32 what, u32 own)
{
	u64 mask = 0;
	u32 i;

	for (i = 0; i < in->n_blocks; i++) {
		const struct tessera_split_block *b = &in->blocks[i];
		u32 kind = HOLD_IDLE_FOREIGN;

		if (b->tier == TESSERA_VICTIM_IMMOVABLE)
			kind = HOLD_PROTECTED;
		else if (b->tier == TESSERA_VICTIM_LAST_RESORT)
			kind = HOLD_LAST_RESORT;
		if (b->seg == seg && b->alloc == TESSERA_SPLIT_NONE &&
		    !st->gone[i] && what & kind)
			mask |= range_mask(b->start, b->size);
	}
	for (i = 0; i < in->n_allocs; i++)
		if (st->seg[i] == seg &&
		    ((what & HOLD_OWN && own & BIT(i)) ||
		     (what & HOLD_PROTECTED && is_fixed(in, i))))
			mask |= range_mask(st->off[i], in->allocs[i].size);
	return mask;
}

static void state_init(const struct tessera_split_input *in,
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

static void apply_entry(const struct tessera_split_input *in, u32 *table, u32 e)
{
	table[in->entries[e].slot_id] =
		is_null(in, e) ? TESSERA_SPLIT_NONE : in->entries[e].alloc_index;
}

/* Allocations in rows that the group [@first, @end) does not reprogram (SPLIT-25). */
static u32 kept_by_rows(const struct tessera_split_input *in, const u32 *table,
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

static u32 named_by(const struct tessera_split_input *in, u32 first, u32 end)
{
	u32 mask = 0, i;

	for (i = first; i < end; i++)
		if (!is_null(in, i))
			mask |= BIT(in->entries[i].alloc_index);
	return mask;
}

/*
 * Put item @bit of size @size at unit @u: every subset without it that can lie
 * below @u turns into one with it that lies below @u + @size.
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

/* An item to pack, as bit @bit of a subset, in a segment it is allowed in. */
struct oracle_item {
	u32 bit;
	u64 size;
	u64 align_mask;
};

/*
 * Is there any way to place all allocations of @set beside what @what and @own
 * hold? Walks over every unit of every segment and keeps all subsets that can
 * be placed below it.
 */
static bool can_pack(struct oracle *o, const struct oracle_state *st, u32 set,
		     u32 what, u32 own)
{
	const struct tessera_split_input *in = o->in;
	u32 n = hweight32(set), words = n > 6 ? BIT(n - 6) : 1;
	u32 base = 0, seg, u, i;

	memset(o->reach[0], 0, words * sizeof(u64));
	o->reach[0][0] = 1;
	for (seg = 0; seg < in->n_segs; seg++) {
		u64 busy = taken(in, st, seg, what, own), units = in->segs[seg].size;
		struct oracle_item items[ORACLE_ALLOCS];
		u32 bit = 0, fit = 0;

		for (i = 0; i < in->n_allocs; i++) {
			if (!(set & BIT(i)))
				continue;
			if (allowed(in, i) & BIT(seg))
				items[fit++] = (struct oracle_item) {
					bit, in->allocs[i].size, alignment(in, i) - 1,
				};
			bit++;
		}
		for (u = 1; u <= units; u++)
			memset(o->reach[base + u], 0, words * sizeof(u64));
		for (u = 0; u < units; u++) {
			for (i = 0; i < fit; i++) {
				const struct oracle_item *item = &items[i];

				if (!(u & item->align_mask) && u + item->size <= units &&
				    !(busy & range_mask(u, item->size)))
					reach_with(o, base + u, item->size, item->bit, words);
			}
			for (i = 0; i < words; i++)
				o->reach[base + u + 1][i] |= o->reach[base + u][i];
		}
		base += units;
	}
	i = (u32)BIT(n) - 1;
	return o->reach[base][i / 64] & BIT_ULL(i % 64);
}

/**
 * oracle_feasible() - can every split point's requirements be packed (SPLIT-34)?
 * @o: judge
 * @in: case
 * @offset: first split point that cannot
 *
 * Return: true if all can.
 */
bool oracle_feasible(struct oracle *o, const struct tessera_split_input *in,
		     u32 *offset)
{
	struct oracle_state *st = &o->save;
	u32 first, end, i;

	o->in = in;
	state_init(in, st);
	for (first = 0; first < in->n_entries; first = end) {
		u32 need;

		end = group_end(in, first);
		need = kept_by_rows(in, st->table, first, end) |
		       named_by(in, first, end);
		for (i = 0; i < in->n_allocs; i++)
			if (is_fixed(in, i))
				need &= ~BIT(i);
		if (!can_pack(o, st, need, HOLD_PROTECTED, 0)) {
			*offset = in->entries[first].split_offset;
			return false;
		}
		for (i = first; i < end; i++)
			apply_entry(in, st->table, i);
	}
	return true;
}

#define FAIL(o, ...) \
	(snprintf((o)->why, sizeof((o)->why), __VA_ARGS__), false)

/* The operation names a place that the allocation may have and nobody holds. */
static bool check_target(struct oracle *o, const struct tessera_split_op *op,
			 u32 own)
{
	const struct tessera_split_input *in = o->in;
	u64 size = in->allocs[op->id].size;

	if (op->seg >= in->n_segs || !(allowed(in, op->id) & BIT(op->seg)))
		return FAIL(o, "allocation %u put into segment %u", op->id, op->seg);
	if (op->off & (alignment(in, op->id) - 1) ||
	    op->off + size > in->segs[op->seg].size)
		return FAIL(o, "allocation %u at bad offset %llu", op->id, op->off);
	if (taken(in, &o->st, op->seg, HOLD_ALL, own) & range_mask(op->off, size))
		return FAIL(o, "allocation %u put onto another at %llu", op->id,
			    op->off);
	return true;
}

static bool check_page_in(struct oracle *o, const struct tessera_split_op *op)
{
	u32 flags = o->in->allocs[op->id].flags;

	if (o->st.seg[op->id] != NOWHERE)
		return FAIL(o, "page-in of resident allocation %u", op->id);
	if (!check_target(o, op, ~0U))
		return false;
	o->st.seg[op->id] = op->seg;
	o->st.off[op->id] = op->off;
	o->st.clean[op->id] = flags & TESSERA_SPLIT_ALLOC_KEEP_COPY &&
			      !(flags & TESSERA_SPLIT_ALLOC_WRITTEN);
	return true;
}

/* SPLIT-17, SPLIT-18: what a cut pins, and what is immovable, stays. */
static bool check_may_leave(struct oracle *o, u32 a, u32 seg, u64 off)
{
	if (o->st.seg[a] != seg || o->st.off[a] != off)
		return FAIL(o, "allocation %u is not at %u:%llu", a, seg, off);
	if (o->pinned & BIT(a))
		return FAIL(o, "pinned allocation %u leaves its place", a);
	if (is_fixed(o->in, a))
		return FAIL(o, "immovable allocation %u leaves its place", a);
	return true;
}

static bool check_move(struct oracle *o, const struct tessera_split_op *op)
{
	if (!check_may_leave(o, op->id, op->src_seg, op->src) ||
	    !check_target(o, op, ~BIT(op->id)))
		return false;
	o->st.seg[op->id] = op->seg;
	o->st.off[op->id] = op->off;
	return true;
}

static bool check_evict(struct oracle *o, const struct tessera_split_op *op)
{
	if (!check_may_leave(o, op->id, op->seg, op->off))
		return false;
	if (!!(op->flags & TESSERA_SPLIT_OP_CLEAN) != o->st.clean[op->id])
		return FAIL(o, "eviction of %u has the wrong clean flag", op->id);
	o->st.seg[op->id] = NOWHERE;
	return true;
}

/* Group of the next part that is the first to need a place: a cut before is none. */
static u32 first_in_need(struct oracle *o, u32 first)
{
	const struct tessera_split_input *in = o->in;
	u32 end = group_end(in, first);

	while (!o->pinned && !o->strays && !named_by(in, first, end) &&
	       end < in->n_entries) {
		first = end;
		end = group_end(in, first);
	}
	return first;
}

/* Group whose placement may have needed the last resort, in the next part. */
static bool last_resort_needed(struct oracle *o, u32 next)
{
	const struct tessera_split_input *in = o->in;
	u32 first = first_in_need(o, next), end = group_end(in, first), need, i;

	need = (named_by(in, first, end) | o->strays) & ~o->pinned;
	for (i = 0; i < in->n_allocs; i++)
		if (is_fixed(in, i))
			need &= ~BIT(i);
	return !can_pack(o, &o->st, need,
			 HOLD_PROTECTED | HOLD_LAST_RESORT | HOLD_OWN, o->pinned);
}

static bool check_evict_foreign(struct oracle *o,
				const struct tessera_split_op *op)
{
	const struct tessera_split_block *b = &o->in->blocks[op->id];

	if (op->id >= o->in->n_blocks || b->alloc != TESSERA_SPLIT_NONE ||
	    o->st.gone[op->id])
		return FAIL(o, "block %u is not there to evict", op->id);
	if (b->tier == TESSERA_VICTIM_IMMOVABLE)
		return FAIL(o, "immovable block %u evicted", op->id);
	o->st.gone[op->id] = true;
	return true;
}

/*
 * Residents that the operations up to the next part must not disturb twice: each
 * allocation pages in at most once, in list order (SPLIT-13), and only if the
 * part names it, or it was bound before and has lost its place.
 */
static bool check_phase(struct oracle *o, u32 op, u32 first, u32 end)
{
	const struct tessera_split_input *in = o->in;
	u32 seen = 0, last = first, i;

	for (; op < o->plan->n_op; op++) {
		const struct tessera_split_op *p = &o->plan->op[op];

		if (p->type == TESSERA_SPLIT_PART)
			break;
		if (p->type == TESSERA_SPLIT_EVICT && seen & BIT(p->id))
			return FAIL(o, "allocation %u evicted after page-in", p->id);
		if (p->type != TESSERA_SPLIT_PAGE_IN)
			continue;
		if (o->strays & BIT(p->id) && !(seen & BIT(p->id)) && last == first) {
			seen |= BIT(p->id);
			continue;
		}
		for (i = first; i < end; i++)
			if (!is_null(in, i) && in->entries[i].alloc_index == p->id)
				break;
		if (i == end)
			return FAIL(o, "allocation %u paged in without need", p->id);
		if (i < last || seen & BIT(p->id))
			return FAIL(o, "page-in of %u out of list order", p->id);
		seen |= BIT(p->id);
		last = i;
	}
	return true;
}

static bool is_forced(const struct tessera_split_input *in, u32 entry)
{
	u32 group = 0, i;

	if (in->force == TESSERA_SPLIT_FORCE_ALL)
		return true;
	if (in->force != TESSERA_SPLIT_FORCE_BITMAP)
		return false;
	for (i = group_end(in, 0); i <= entry; i = group_end(in, i))
		group++;
	return group < in->n_force && in->force_map[0] & BIT(group);
}

/* A part's range and entries, and that no forced cut was left out (SPLIT-1, 3). */
static bool check_part_range(struct oracle *o, const struct tessera_split_op *op,
			     u32 start, u32 first)
{
	const struct tessera_split_input *in = o->in;
	bool last = op->flags & TESSERA_SPLIT_OP_LAST;
	u32 end = op->first + op->count, i;

	if (op->start != start || op->first != first || end > in->n_entries)
		return FAIL(o, "part %u does not follow the one before", op->id);
	if (op->end <= op->start && !(last && op->end == op->start))
		return FAIL(o, "part %u is empty", op->id);
	if (last ? op->end != in->length || end != in->n_entries :
		   end == in->n_entries || in->entries[end].split_offset != op->end)
		return FAIL(o, "part %u ends at %u", op->id, op->end);
	for (i = first; i < end; i++) {
		u32 at = in->entries[i].split_offset;

		if (at < op->start || (at >= op->end && !last))
			return FAIL(o, "entry %u is in the wrong part", i);
		if (at > op->start && at < in->length && is_forced(in, i))
			return FAIL(o, "no cut at %u", at);
	}
	return true;
}

/* SPLIT-9, 16, 32: all that the part names or that stays bound is resident. */
static bool check_part_residents(struct oracle *o, const struct tessera_split_op *op)
{
	const struct tessera_split_input *in = o->in;
	u32 live = 0, i;

	if (op->count)
		live = kept_by_rows(in, o->st.table, op->first,
				    group_end(in, op->first)) |
		       named_by(in, op->first, op->first + op->count);
	for (i = 0; i < in->n_allocs; i++) {
		if (!(live & BIT(i)))
			continue;
		if (o->st.seg[i] == NOWHERE)
			return FAIL(o, "part %u: allocation %u is absent", op->id, i);
		if (!(allowed(in, i) & BIT(o->st.seg[i])))
			return FAIL(o, "part %u: allocation %u is in segment %u",
				    op->id, i, o->st.seg[i]);
		if (in->allocs[i].flags & TESSERA_SPLIT_ALLOC_WRITTEN)
			o->st.clean[i] = false;
		o->st.w[i] = true;
	}
	return true;
}

/* One allocation more than W: the cut was needed only if nothing takes it. */
static bool check_cut_was_needed(struct oracle *o, u32 part, u32 first)
{
	const struct tessera_split_input *in = o->in;
	u32 end = group_end(in, first), need = named_by(in, first, end), w = 0, i;

	if (is_forced(in, first) || in->force == TESSERA_SPLIT_FORCE_RANDOM)
		return true;
	for (i = 0; i < in->n_allocs; i++) {
		w |= o->st.w[i] ? BIT(i) : 0;
		if (is_fixed(in, i))
			need &= ~BIT(i);
	}
	need &= ~w;
	if (!need)
		return FAIL(o, "part %u: cut without need", part);
	if (hweight32(need) == 1 &&
	    can_pack(o, &o->st, need,
		     HOLD_PROTECTED | HOLD_LAST_RESORT | HOLD_OWN, w))
		return FAIL(o, "part %u: cut though there was room", part);
	return true;
}

/* PIN operations from @op on name exactly the pinned set, in place (SPLIT-16). */
static bool check_pins(struct oracle *o, u32 op)
{
	u32 seen = 0;

	for (; op < o->plan->n_op; op++) {
		const struct tessera_split_op *p = &o->plan->op[op];

		if (p->type != TESSERA_SPLIT_PIN)
			break;
		if (!(o->pinned & BIT(p->id)) || seen & BIT(p->id) ||
		    o->st.seg[p->id] != p->seg || o->st.off[p->id] != p->off)
			return FAIL(o, "pin of %u is wrong", p->id);
		seen |= BIT(p->id);
	}
	return seen == o->pinned ? true : FAIL(o, "pins missing: %x", o->pinned ^ seen);
}

/* Go over the end of part @i: what it cut off, what is pinned now. */
static bool pass_part(struct oracle *o, u32 i)
{
	const struct tessera_split_op *op = &o->plan->op[i];
	u32 end = op->first + op->count, a;

	if (!check_part_residents(o, op))
		return false;
	for (a = op->first; a < end; a++)
		apply_entry(o->in, o->st.table, a);
	if (op->flags & TESSERA_SPLIT_OP_LAST)
		return i + 1 == o->plan->n_op ? true : FAIL(o, "more after the end");
	if (!check_cut_was_needed(o, op->id, end))
		return false;
	o->pinned = kept_by_rows(o->in, o->st.table, end, group_end(o->in, end));
	o->strays = 0;
	for (a = 0; a < o->in->n_allocs; a++)
		o->st.w[a] = o->pinned & BIT(a);
	return true;
}

static bool step_op(struct oracle *o, u32 i)
{
	const struct tessera_split_op *op = &o->plan->op[i];

	switch (op->type) {
	case TESSERA_SPLIT_EVICT_FOREIGN:
		return check_evict_foreign(o, op);
	case TESSERA_SPLIT_EVICT:
		return check_evict(o, op);
	case TESSERA_SPLIT_MOVE:
		return check_move(o, op);
	case TESSERA_SPLIT_PAGE_IN:
		return check_page_in(o, op);
	case TESSERA_SPLIT_PIN:
		return true;
	default:
		return FAIL(o, "operation of type %u", op->type);
	}
}

/* Entries of the part that the operations from @op on prepare. */
static u32 next_part_end(const struct oracle *o, u32 op, u32 first)
{
	for (; op < o->plan->n_op; op++)
		if (o->plan->op[op].type == TESSERA_SPLIT_PART)
			return first + o->plan->op[op].count;
	return first;
}

static bool phase_uses_last_resort(const struct oracle *o, u32 op)
{
	for (; op < o->plan->n_op; op++) {
		const struct tessera_split_op *p = &o->plan->op[op];

		if (p->type == TESSERA_SPLIT_PART)
			break;
		if (p->type == TESSERA_SPLIT_EVICT_FOREIGN &&
		    o->in->blocks[p->id].tier == TESSERA_VICTIM_LAST_RESORT)
			return true;
	}
	return false;
}

static bool enter_phase(struct oracle *o, u32 op, u32 first)
{
	if (o->at && !(o->in->flags & TESSERA_SPLIT_NO_PINS) && !check_pins(o, op))
		return false;
	if (!check_phase(o, op, first, next_part_end(o, op, first)))
		return false;
	if (phase_uses_last_resort(o, op) && !last_resort_needed(o, first))
		return FAIL(o, "last resort taken without need before entry %u",
			    first);
	return true;
}

static bool replay(struct oracle *o)
{
	u32 i;

	if ((o->plan->n_op || o->plan->late_error) && !enter_phase(o, 0, o->first))
		return false;
	for (i = 0; i < o->plan->n_op; i++) {
		const struct tessera_split_op *op = &o->plan->op[i];

		if (op->type != TESSERA_SPLIT_PART) {
			if (!step_op(o, i))
				return false;
			continue;
		}
		if (op->id != o->parts || !check_part_range(o, op, o->at, o->first) ||
		    !pass_part(o, i))
			return false;
		o->parts++;
		o->at = op->end;
		o->first = op->first + op->count;
		/* The next window begins with what belongs to the cut that ends this one. */
		if ((i + 1 < o->plan->n_op || o->plan->late_error) &&
		    !enter_phase(o, i + 1, o->first))
			return false;
	}
	return true;
}

/* A late failure is right if the pins leave no way at all (SPLIT-24, SPLIT-34). */
static bool check_late(struct oracle *o)
{
	const struct tessera_split_input *in = o->in;
	u32 first = first_in_need(o, o->first), end = group_end(in, first);
	u32 at = in->entries[first].split_offset, need, i;

	if (o->plan->late_error != -ENOSPC || o->plan->error_offset != at)
		return FAIL(o, "late error %d at %u, parts end at %u",
			    o->plan->late_error, o->plan->error_offset, at);
	need = (named_by(in, first, end) | o->strays) & ~o->pinned;
	for (i = 0; i < in->n_allocs; i++)
		if (is_fixed(in, i))
			need &= ~BIT(i);
	if (can_pack(o, &o->st, need, HOLD_PROTECTED | HOLD_OWN, o->pinned))
		return FAIL(o, "late failure at %u though there is a way", at);
	return true;
}

/**
 * oracle_judge_begin() - start to judge a submission
 * @o: judge
 * @in: what is planned
 */
void oracle_judge_begin(struct oracle *o, const struct tessera_split_input *in)
{
	o->in = in;
	o->parts = 0;
	o->at = 0;
	o->first = 0;
	o->pinned = 0;
	o->strays = 0;
	o->why[0] = 0;
	state_init(in, &o->st);
}

/**
 * oracle_judge_window() - is the next part of a plan right?
 * @o: judge; @o->why says what is not
 * @plan: it goes on where the plan judged before has ended
 *
 * Return: true if the plan keeps all rules.
 */
bool oracle_judge_window(struct oracle *o, const struct tessera_split_plan *plan)
{
	u32 before = o->parts;

	o->plan = plan;
	if (!replay(o))
		return false;
	if (o->parts - before != plan->n_parts)
		return FAIL(o, "%u parts, plan says %u", o->parts - before,
			    plan->n_parts);
	return plan->late_error ? check_late(o) : true;
}

/**
 * oracle_world_change() - go on with what is where after others had their way
 * @o: judge
 *
 * The blocks of the case are the state of now. What a cut has pinned may only be
 * gone, not elsewhere.
 */
void oracle_world_change(struct oracle *o)
{
	const struct tessera_split_input *in = o->in;
	u32 i, pinned = o->pinned;

	memset(o->st.seg, NOWHERE, sizeof(o->st.seg));
	memset(o->st.gone, 0, sizeof(o->st.gone));
	for (i = 0; i < in->n_blocks; i++) {
		const struct tessera_split_block *b = &in->blocks[i];

		if (b->alloc == TESSERA_SPLIT_NONE)
			continue;
		o->st.seg[b->alloc] = b->seg;
		o->st.off[b->alloc] = b->start;
		pinned &= ~BIT(b->alloc);
	}
	o->strays |= pinned;
	o->pinned &= ~pinned;
	for (i = 0; i < in->n_allocs; i++)
		o->st.w[i] = o->pinned & BIT(i);
}

/**
 * oracle_judge() - is this plan right?
 * @o: judge; @o->why says what is not
 * @in: what was planned
 * @plan: the plan
 * @ret: what the planner returned
 *
 * Return: true if the plan keeps all rules.
 */
bool oracle_judge(struct oracle *o, const struct tessera_split_input *in,
		  const struct tessera_split_plan *plan, int ret)
{
	u32 offset = 0;
	bool feasible = oracle_feasible(o, in, &offset);

	oracle_judge_begin(o, in);
	if (ret && plan->n_op)
		return FAIL(o, "operations though planning failed");
	if (!feasible) {
		if (ret != -ENOSPC || plan->error_offset != offset)
			return FAIL(o, "returned %d at %u, not feasible at %u", ret,
				    plan->error_offset, offset);
		return true;
	}
	if (ret)
		return FAIL(o, "returned %d though all is feasible", ret);
	if (!oracle_judge_window(o, plan))
		return false;
	if (plan->late_error)
		return true;
	return o->at == in->length && o->first == in->n_entries ? true :
	       FAIL(o, "parts end at %u of %u", o->at, in->length);
}

/*
 * From here on: the plain algorithm of the requirements, section 3, literally.
 */

/* Lowest free place in @seg for allocation @a; NOWHERE if there is none. */
static u32 lowest_fit(const struct tessera_split_input *in,
		      const struct oracle_state *st, u32 seg, u32 a)
{
	u64 busy = taken(in, st, seg, HOLD_ALL, ~0U), size = in->allocs[a].size;
	u32 off;

	for (off = 0; off + size <= in->segs[seg].size;
	     off += alignment(in, a))
		if (!(busy & range_mask(off, size)))
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
		    !(keep & BIT(i)) && !is_fixed(in, i))
			st->seg[i] = NOWHERE;
	for (i = 0; i < in->n_blocks; i++)
		if (segs & BIT(in->blocks[i].seg) &&
		    (in->blocks[i].tier < TESSERA_VICTIM_LAST_RESORT ||
		     (last_resort &&
		      in->blocks[i].tier == TESSERA_VICTIM_LAST_RESORT)))
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

		if (allowed(in, a) & ~tried & BIT(seg) &&
		    plain_place_in(in, st, a, seg, keep))
			return true;
		tried |= BIT(seg);
	}
	for (i = 0; i < in->n_segs; i++)
		if (allowed(in, a) & ~tried & BIT(i) &&
		    plain_place_in(in, st, a, i, keep))
			return true;
	return false;
}

/* Resident where this submission can use it. */
static bool usable(const struct tessera_split_input *in,
		   const struct oracle_state *st, u32 a)
{
	return is_fixed(in, a) ||
	       (st->seg[a] != NOWHERE && allowed(in, a) & BIT(st->seg[a]) &&
		!(st->off[a] & (alignment(in, a) - 1)));
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

/* Page the group in, in list order; whatever is in @w or usable stays put. */
static bool plain_page_in(const struct tessera_split_input *in,
			  struct oracle_state *st, u32 first, u32 end, u32 w)
{
	u32 keep = w | usable_of(in, st, named_by(in, first, end)), i;

	for (i = first; i < end; i++) {
		u32 a = in->entries[i].alloc_index;

		if (is_null(in, i) || keep & BIT(a))
			continue;
		if (!plain_place(in, st, a, keep))
			return false;
		keep |= BIT(a);
	}
	return true;
}

/* Push unpinned residents of the group down, lowest first. */
static void plain_compact(const struct tessera_split_input *in,
			  struct oracle_state *st, u32 movable)
{
	u32 seg, u, a, off;

	for (seg = 0; seg < in->n_segs; seg++)
		for (u = 0; u < in->segs[seg].size; u++)
			for (a = 0; a < in->n_allocs; a++) {
				u64 busy, size = in->allocs[a].size;

				if (!(movable & BIT(a)) || st->seg[a] != seg ||
				    st->off[a] != u)
					continue;
				/* It slides, so nothing may be in between. */
				busy = taken(in, st, seg, HOLD_ALL, ~BIT(a));
				for (off = u; off && !(busy & BIT_ULL(off - 1)); )
					off--;
				off = ALIGN(off, alignment(in, a));
				if (off < u && !(busy & range_mask(off, size)))
					st->off[a] = off;
				break;
			}
}

/* Place the group after a cut; @w is what is pinned. */
static bool plain_after_cut(struct oracle *o, u32 first, u32 end, u32 w,
			    bool last_resort, struct oracle_plain *out)
{
	const struct tessera_split_input *in = o->in;
	struct oracle_state *st = &o->st;
	u32 need = named_by(in, first, end) & ~w, all = (u32)BIT(in->n_segs) - 1;
	u32 movable, i;

	plain_evict_idle(in, st, all, w | usable_of(in, st, need), last_resort);
	o->save = *st;
	if (plain_page_in(in, st, first, end, w))
		return true;
	*st = o->save;
	movable = usable_of(in, st, need);
	for (i = 0; i < in->n_allocs; i++)
		if (is_fixed(in, i)) {
			movable &= ~BIT(i);
			need &= ~BIT(i);
		}
	plain_compact(in, st, movable);
	if (plain_page_in(in, st, first, end, w))
		return true;
	*st = o->save;
	if (!can_pack(o, st, need,
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

/* One split point; false if the run is over. */
static bool plain_step(struct oracle *o, u32 first, u32 end, u32 *start,
		       struct oracle_plain *out)
{
	const struct tessera_split_input *in = o->in;
	u32 at = in->entries[first].split_offset, w = working_set(o), i;
	bool forced = at > *start && at < in->length && is_forced(in, first);
	u32 named = named_by(in, first, end);

	o->save = o->st;
	if (forced || !plain_page_in(in, &o->st, first, end, w)) {
		o->st = o->save;
		if (forced || (w && at > *start)) {
			out->parts++;
			*start = at;
			w = kept_by_rows(in, o->st.table, first, end);
		}
		if (!plain_after_cut(o, first, end, w, false, out)) {
			out->failed = !plain_after_cut(o, first, end, w, true,
						       out);
			/* Which last resorts to take is not laid down. */
			out->unsure = !out->failed;
			return false;
		}
		if (out->unsure)
			return false;
	}
	for (i = 0; i < in->n_allocs; i++)
		o->st.w[i] = (w | named) & BIT(i);
	for (i = first; i < end; i++)
		apply_entry(in, o->st.table, i);
	return true;
}

/**
 * oracle_run_plain() - the number of parts the plain algorithm makes
 * @o: judge, for its memory
 * @in: a feasible case
 * @out: result
 */
void oracle_run_plain(struct oracle *o, const struct tessera_split_input *in,
		      struct oracle_plain *out)
{
	u32 first, end, start = 0;

	memset(out, 0, sizeof(*out));
	o->in = in;
	state_init(in, &o->st);
	for (first = 0; first < in->n_entries; first = end) {
		end = group_end(in, first);
		if (!plain_step(o, first, end, &start, out))
			return;
	}
	out->parts++;
}
