// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Check of split plans: replays a plan on a bitmap model of memory and checks
 * each rule of SPLIT-1 to SPLIT-36 that a plan can violate.
 */
#ifdef __KERNEL__
#include <linux/kernel.h>
#else
#include <stdio.h>
#endif

#include "model.h"

/**
 * oracle_feasible() - check whether the allocations of each split point can be
 * packed (SPLIT-34)
 * @o: oracle
 * @in: case
 * @offset: receives the first split point that cannot
 *
 * Return: true if all can.
 */
bool oracle_feasible(struct oracle *o, const struct tessera_split_input *in,
		     u32 *offset)
{
	struct oracle_state *st = &o->save;
	u32 first, end, i;

	o->in = in;
	model_state_init(in, st);
	for (first = 0; first < in->n_entries; first = end) {
		u32 need;

		end = model_group_end(in, first);
		need = model_kept_by_rows(in, st->table, first, end) |
		       model_named_by(in, first, end);
		for (i = 0; i < in->n_allocs; i++)
			if (model_is_fixed(in, i))
				need &= ~BIT(i);
		if (!model_can_pack(o, st, need, HOLD_PROTECTED, 0)) {
			*offset = in->entries[first].split_offset;
			return false;
		}
		for (i = first; i < end; i++)
			model_apply_entry(in, st->table, i);
	}
	return true;
}

#define FAIL(o, ...) \
	(snprintf((o)->why, sizeof((o)->why), __VA_ARGS__), false)

/*
 * Check that the operation's target is allowed for the allocation and is free.
 */
static bool check_target(struct oracle *o, const struct tessera_split_op *op,
			 u32 own)
{
	const struct tessera_split_input *in = o->in;
	u64 busy, size;

	if (op->seg >= in->n_segs || !(model_allowed(in, op->id) & BIT(op->seg)))
		return FAIL(o, "allocation %u put into segment %u", op->id, op->seg);
	size = model_units(in, op->id, op->seg);
	if (op->off & (model_alignment(in, op->id, op->seg) - 1) ||
	    op->off + size > in->segs[op->seg].size)
		return FAIL(o, "allocation %u at bad offset %llu", op->id, op->off);
	busy = model_taken(in, &o->st, op->seg, HOLD_ALL, own);
	if (busy & model_range_mask(op->off, size))
		return FAIL(o, "allocation %u put onto another at %llu", op->id,
			    op->off);
	if (hweight64(busy) + size > model_commit_limit(in, op->seg))
		return FAIL(o, "allocation %u exceeds the commit limit", op->id);
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

/* SPLIT-17, SPLIT-18: pinned and immovable allocations stay in place. */
static bool check_may_leave(struct oracle *o, u32 a, u32 seg, u64 off)
{
	if (o->st.seg[a] != seg || o->st.off[a] != off)
		return FAIL(o, "allocation %u is not at %u:%llu", a, seg, off);
	if (o->pinned & BIT(a))
		return FAIL(o, "pinned allocation %u leaves its place", a);
	if (model_is_fixed(o->in, a))
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

/*
 * First group of the next part that needs a placement. Groups before it only
 * unbind and need no cut.
 */
static u32 first_in_need(struct oracle *o, u32 first)
{
	const struct tessera_split_input *in = o->in;
	u32 end = model_group_end(in, first);

	while (!o->pinned && !o->strays && !model_named_by(in, first, end) &&
	       end < in->n_entries) {
		first = end;
		end = model_group_end(in, first);
	}
	return first;
}

/* True if the next part cannot be placed without a last-resort block. */
static bool last_resort_needed(struct oracle *o, u32 next)
{
	const struct tessera_split_input *in = o->in;
	u32 first = first_in_need(o, next), end = model_group_end(in, first), need, i;

	need = (model_named_by(in, first, end) | o->strays) & ~o->pinned;
	for (i = 0; i < in->n_allocs; i++)
		if (model_is_fixed(in, i))
			need &= ~BIT(i);
	return !model_can_pack(o, &o->st, need,
			 HOLD_PROTECTED | HOLD_LAST_RESORT | HOLD_OWN, o->pinned);
}

static bool check_evict_foreign(struct oracle *o,
				const struct tessera_split_op *op)
{
	const struct tessera_split_block *b = &o->in->blocks[op->id];

	if (op->id >= o->in->n_blocks || b->alloc != TESSERA_SPLIT_NONE ||
	    o->st.gone[op->id])
		return FAIL(o, "block %u evicted, but it is not resident", op->id);
	if (b->tier == TESSERA_VICTIM_IMMOVABLE)
		return FAIL(o, "immovable block %u evicted", op->id);
	o->st.gone[op->id] = true;
	return true;
}

/*
 * Check the operations up to the next part. Each allocation is paged in at most
 * once and in list order (SPLIT-13), and only if the part names it, or if it
 * was bound before and has lost its placement.
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
			if (!model_is_null(in, i) && in->entries[i].alloc_index == p->id)
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

/*
 * Check the range and the entries of a part, and that no forced cut is missing
 * (SPLIT-1, SPLIT-3).
 */
static bool check_part_range(struct oracle *o, const struct tessera_split_op *op,
			     u32 start, u32 first)
{
	const struct tessera_split_input *in = o->in;
	bool last = op->flags & TESSERA_SPLIT_OP_LAST;
	u32 end = op->first + op->count, i;

	if (op->start != start || op->first != first || end > in->n_entries)
		return FAIL(o, "part %u does not start at the end of the previous one", op->id);
	if (op->end <= op->start && !(last && op->end == op->start))
		return FAIL(o, "part %u is empty", op->id);
	if (last ? op->end != in->length || end != in->n_entries :
		   end == in->n_entries || in->entries[end].split_offset != op->end)
		return FAIL(o, "part %u ends at %u", op->id, op->end);
	for (i = first; i < end; i++) {
		u32 at = in->entries[i].split_offset;

		if (at < op->start || (at >= op->end && !last))
			return FAIL(o, "entry %u is in the wrong part", i);
		if (at > op->start && at < in->length && model_is_forced(in, i))
			return FAIL(o, "no cut at %u", at);
	}
	return true;
}

/*
 * SPLIT-9, SPLIT-16, SPLIT-32: all allocations that the part names, or that
 * stay bound, are resident.
 */
static bool check_part_residents(struct oracle *o, const struct tessera_split_op *op)
{
	const struct tessera_split_input *in = o->in;
	u32 live = 0, i;

	if (op->count)
		live = model_kept_by_rows(in, o->st.table, op->first,
					  model_group_end(in, op->first)) |
		       model_named_by(in, op->first, op->first + op->count);
	for (i = 0; i < in->n_allocs; i++) {
		if (!(live & BIT(i)))
			continue;
		if (o->st.seg[i] == NOWHERE)
			return FAIL(o, "part %u: allocation %u is absent", op->id, i);
		if (!(model_allowed(in, i) & BIT(o->st.seg[i])))
			return FAIL(o, "part %u: allocation %u is in segment %u",
				    op->id, i, o->st.seg[i]);
		if (in->allocs[i].flags & TESSERA_SPLIT_ALLOC_WRITTEN)
			o->st.clean[i] = false;
		o->st.w[i] = true;
	}
	return true;
}

/*
 * Check that a cut was needed, because the group does not fit beside the
 * working set. If the group adds more than one allocation, it is not checked
 * that they do not fit.
 */
static bool check_cut_was_needed(struct oracle *o, u32 part, u32 first)
{
	const struct tessera_split_input *in = o->in;
	u32 end = model_group_end(in, first), need = model_named_by(in, first, end), w = 0, i;

	if (model_is_forced(in, first) || in->force == TESSERA_SPLIT_FORCE_RANDOM)
		return true;
	/*
	 * With a price for cuts, a cut may be made to save bytes. Benchmarks
	 * measure that.
	 */
	if (in->cut_cost_bytes != U64_MAX)
		return true;
	for (i = 0; i < in->n_allocs; i++) {
		w |= o->st.w[i] ? BIT(i) : 0;
		if (model_is_fixed(in, i))
			need &= ~BIT(i);
	}
	need &= ~w;
	if (!need)
		return FAIL(o, "part %u: cut without need", part);
	if (hweight32(need) == 1 &&
	    model_can_pack(o, &o->st, need,
			   HOLD_PROTECTED | HOLD_LAST_RESORT | HOLD_OWN, w))
		return FAIL(o, "part %u: cut although there was space", part);
	return true;
}

/*
 * SPLIT-16: the PIN operations from @op on name exactly the pinned set, in
 * place.
 */
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

/* End part @i: check its residents, update the table, and find the new pins. */
static bool pass_part(struct oracle *o, u32 i)
{
	const struct tessera_split_op *op = &o->plan->op[i];
	u32 end = op->first + op->count, a;

	if (!check_part_residents(o, op))
		return false;
	for (a = op->first; a < end; a++)
		model_apply_entry(o->in, o->st.table, a);
	if (op->flags & TESSERA_SPLIT_OP_LAST)
		return i + 1 == o->plan->n_op ? true : FAIL(o, "more after the end");
	if (!check_cut_was_needed(o, op->id, end))
		return false;
	o->pinned = model_kept_by_rows(o->in, o->st.table, end, model_group_end(o->in, end));
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

/* Entry behind the part that the operations from @op on prepare. */
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
		    o->in->blocks[p->id].tier >= TESSERA_VICTIM_LAST_RESORT)
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
		/*
		 * Operations after the last part's cut belong to the next
		 * batch.
		 */
		if ((i + 1 < o->plan->n_op || o->plan->late_error) &&
		    !enter_phase(o, i + 1, o->first))
			return false;
	}
	return true;
}

/*
 * SPLIT-24, SPLIT-34: a late failure is correct only if the pins leave no way
 * to place the group.
 */
static bool check_late(struct oracle *o)
{
	const struct tessera_split_input *in = o->in;
	u32 first = first_in_need(o, o->first), end = model_group_end(in, first);
	u32 at = in->entries[first].split_offset, need, i;

	if (o->plan->late_error != -ENOSPC || o->plan->error_offset != at)
		return FAIL(o, "late error %d at %u, parts end at %u",
			    o->plan->late_error, o->plan->error_offset, at);
	need = (model_named_by(in, first, end) | o->strays) & ~o->pinned;
	for (i = 0; i < in->n_allocs; i++)
		if (model_is_fixed(in, i))
			need &= ~BIT(i);
	if (model_can_pack(o, &o->st, need, HOLD_PROTECTED | HOLD_OWN, o->pinned))
		return FAIL(o, "late failure at %u although the rest is feasible", at);
	return true;
}

/**
 * oracle_judge_begin() - start to check the plan of a submission
 * @o: oracle
 * @in: input of the planner
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
	model_state_init(in, &o->st);
}

/**
 * oracle_judge_batch() - check the next batch of a plan
 * @o: oracle; @o->why names a violation
 * @plan: the batch, which continues where the last one has ended
 *
 * Return: true if the plan keeps all rules.
 */
bool oracle_judge_batch(struct oracle *o, const struct tessera_split_plan *plan)
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
 * oracle_world_change() - update the oracle after other clients changed memory
 * @o: oracle
 *
 * The blocks of the case are the current state. An allocation that a cut has
 * pinned may have lost its placement, but must not be elsewhere.
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
 * oracle_judge() - check a plan
 * @o: oracle; @o->why names a violation
 * @in: input of the planner
 * @plan: the plan
 * @ret: return value of the planner
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
	if (!oracle_judge_batch(o, plan))
		return false;
	if (plan->late_error)
		return true;
	return o->at == in->length && o->first == in->n_entries ? true :
	       FAIL(o, "parts end at %u of %u", o->at, in->length);
}

