// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: split planner
 *
 * Turns a patch list into a plan: where to cut the command buffer, and what to
 * evict, move and page in between the parts. Called by submission before
 * anything is armed; takes no lock, allocates nothing, accesses no device.
 *
 * The planner walks the list. W, the working set, holds the allocations that
 * the pending part uses. They are neither evicted nor moved. The entries of one
 * split point are a group. At each split point:
 *
 * 1. If its allocations find a place beside W, they join W.
 * 2. If not, the pending part ends here. Allocations in slots that this split
 *    point does not set again are pinned and form the new W. All others become
 *    idle. Those that this split point needs may even be moved.
 * 3. If that is not enough either, the plan ends with a late error. It was
 *    checked before that each split point fits on its own, so only pins can be
 *    the cause.
 *
 * A cut is also made earlier if it saves more bytes than a part costs.
 *
 * Idle allocations stay resident until their space is needed. With unequal
 * sizes, the consequences of a choice of places are hard to foresee. A short
 * list is therefore planned again in other ways, as often as that pays, and the
 * cheapest plan is used.
 *
 * A submission is planned in batches, one per call of tessera_split_batch().
 */
#include "split_priv.h"

/*
 * Limit on the entries, allocations and blocks that are processed again, in
 * total.
 */
#define TRY_STEPS		16384ULL
/* Maximum number of plans. */
#define TRY_MAX			256ULL
/* Planning steps allowed per part's worth of run time. */
#define TRY_SHARE		32ULL
/*
 * Assumed run time of a part with its copies, as a multiple of the cost of a
 * part, if @cut_cost_bytes does not specify that cost.
 */
#define TRY_PART		8ULL

static void row_clear(struct split *split, u32 slot)
{
	if (split->table[slot] != TESSERA_SPLIT_NONE)
		split->al[split->table[slot]].n_slots--;
	split->table[slot] = TESSERA_SPLIT_NONE;
}

static void add_member(struct split *split, u32 id)
{
	if (split->al[id].in_w || split->al[id].stamp == split->stamp)
		return;
	split->al[id].stamp = split->stamp;
	split->member[split->n_member++] = id;
}

static void begin_members(struct split *split)
{
	split->stamp++;
	split->n_member = 0;
}

/*
 * Add the group's allocations that are not in the working set, in list order.
 */
static void add_members(struct split *split, u32 first, u32 end)
{
	u32 i;

	for (i = first; i < end; i++)
		if (!split_entry_is_null(split, i))
			add_member(split, split->in->entries[i].alloc_index);
}

/*
 * Clear the rows that the group sets again. Allocations that only these rows
 * hold leave the working set. All others are pinned and form the new working
 * set.
 */
static void release(struct split *split, u32 first, u32 end, bool cut)
{
	u32 i, n = 0;

	for (i = first; i < end; i++)
		row_clear(split, split->in->entries[i].slot_id);
	for (i = 0; i < split->n_w; i++) {
		u32 id = split->wset[i];

		if (!split->al[id].n_slots) {
			split_leave_w(split, id);
			continue;
		}
		split->wset[n++] = id;
		if (cut)
			split_emit_pin(split, id);
	}
	split->n_w = n;
}

/*
 * Place the group. Allocations that are not pinned may be evicted, or even
 * moved.
 */
static int place_released(struct split *split)
{
	int ret = split_place_members(split);

	if (ret == -ENOSPC)
		ret = split_relocate_members(split);
	return ret;
}

/*
 * After the pending part, every allocation that its buffer writes is dirty
 * (SPLIT-31).
 */
static void mark_written(struct split *split, u32 n_w)
{
	u32 i;

	for (i = 0; i < n_w; i++)
		if (split->in->allocs[split->wset[i]].flags & TESSERA_SPLIT_ALLOC_WRITTEN)
			split->al[split->wset[i]].clean = false;
}

static bool is_forced(const struct split *split, u32 group)
{
	u64 x;

	switch (split->in->force) {
	case TESSERA_SPLIT_FORCE_ALL:
		return true;
	case TESSERA_SPLIT_FORCE_BITMAP:
		return group < split->in->n_force && test_bit(group, split->in->force_map);
	case TESSERA_SPLIT_FORCE_RANDOM:
		x = (split->in->force_seed + group + 1) * 0x9e3779b97f4a7c15ULL;
		x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
		return (x >> 40) & 1;
	default:
		return false;
	}
}

static int end_part(struct split *split, u32 first, u32 at, u32 n_w, bool forced)
{
	split_emit_part(split, at, first, forced ? TESSERA_SPLIT_OP_FORCED : 0);
	split->forgone = 0;
	split->far = 0;
	split->n_forced += forced;
	mark_written(split, n_w);
	return split->err;
}

/*
 * End the pending part at the group, and place the group again. @n_w is the
 * size of the working set before the group. If it was empty, a cut would free
 * nothing, and is made only if it is forced.
 */
static int cut(struct split *split, u32 first, u32 end, u32 n_w, bool forced)
{
	u32 at = split->in->entries[first].split_offset;
	bool real = forced || (n_w && at > split->start);
	int ret = 0;

	if (real)
		ret = end_part(split, first, at, n_w, forced);
	if (ret)
		return ret;
	release(split, first, end, real);
	if (real && split->n_w && split->in->flags & TESSERA_SPLIT_LEAK_CHECK)
		return -EINVAL;
	if (real && split->plan->n_parts >= split->limits->max_parts)
		return SPLIT_BATCH_ENDS;
	begin_members(split);
	add_members(split, first, end);
	return place_released(split);
}

/*
 * Continue after the cut that ended the previous batch. Allocations that the
 * group does not set again stay where they are now. Those that have lost their
 * place since, for example in a reset, are paged in again first.
 */
static int resume(struct split *split, u32 first, u32 end)
{
	u32 slot;

	for (slot = 0; slot < split->in->n_slots; slot++) {
		u32 id = split->table[slot];

		if (id != TESSERA_SPLIT_NONE && !split->al[id].in_w &&
		    split_is_usable(split, id))
			split_enter_w(split, id);
	}
	release(split, first, end, true);
	begin_members(split);
	for (slot = 0; slot < split->in->n_slots; slot++)
		if (split->table[slot] != TESSERA_SPLIT_NONE)
			add_member(split, split->table[slot]);
	add_members(split, first, end);
	return place_released(split);
}

static void apply(struct split *split, u32 first, u32 end)
{
	u32 i;

	for (i = first; i < end; i++) {
		const struct tessera_patch *patch = &split->in->entries[i];
		u32 old = split->table[patch->slot_id];

		row_clear(split, patch->slot_id);
		if (old != TESSERA_SPLIT_NONE && !split->al[old].n_slots)
			split->far = max(split->far, split->al[old].next_use);
		split->al[patch->alloc_index].next_use = split->cur->next_ref[i];
		if (split_entry_is_null(split, i))
			continue;
		split->table[patch->slot_id] = patch->alloc_index;
		split->al[patch->alloc_index].n_slots++;
	}
}

/* Process one split point. */
static int step(struct split *split, u32 first, u32 end, u32 group)
{
	u32 at = split->in->entries[first].split_offset, n_w = split->n_w;
	bool forced = at > split->start && at < split->in->length && is_forced(split, group);
	int ret = 0;

	split->now = first;
	if (first == split->cur->entry && split->cur->byte) {
		ret = resume(split, first, end);
	} else {
		if (!forced) {
			begin_members(split);
			add_members(split, first, end);
			split->may_cut = n_w && at > split->start &&
				     split->in->cut_cost_bytes != U64_MAX;
			split->wants_cut = false;
			split->group_end = end;
			if (split->n_member)
				ret = split_place_members(split);
			split->may_cut = false;
			split->wants_cut = false;
		}
		if (forced || ret == -ENOSPC)
			ret = cut(split, first, end, n_w, forced);
	}
	if (!ret)
		ret = split_emit_log(split);
	if (ret < 0) {
		split->plan->error_entry = first;
		split->plan->error_offset = at;
	}
	if (ret)
		return ret;
	apply(split, first, end);
	return split_tick(split, end - first);
}

/*
 * Empty a plan, except for the first operations, which belong to another plan.
 */
static void reset_plan(struct tessera_split_plan *plan, u32 n_op)
{
	split_discard(plan, n_op);
	plan->late_error = 0;
	plan->error_offset = 0;
	plan->error_entry = TESSERA_SPLIT_NONE;
	plan->variant = 0;
}

/* Return to the state at the cursor. */
static void rewind(struct split *split)
{
	struct tessera_split_plan *plan = split->plan;
	u32 i;

	split->n_w = 0;
	split->n_log = 0;
	split->clock = 0;
	split->now = split->cur->entry;
	split->start = split->cur->byte;
	split->first = split->cur->entry;
	split->n_forced = 0;
	split->forgone = 0;
	split->far = 0;
	split->may_cut = false;
	reset_plan(plan, split->op_base);
	plan->variant = split->variant;
	for (i = 0; i < split->in->n_allocs; i++) {
		struct split_alloc *alloc = &split->al[i];

		alloc->next_use = split->cur->next_use[i];
		alloc->n_slots = 0;
		alloc->idle = 0;
		alloc->in_w = false;
		alloc->clean = split->in->allocs[i].flags & TESSERA_SPLIT_ALLOC_CLEAN;
	}
	for (i = 0; i < split->in->n_slots; i++) {
		split->table[i] = split->cur->table[i];
		if (split->table[i] != TESSERA_SPLIT_NONE)
			split->al[split->table[i]].n_slots++;
	}
}

/*
 * True if parts have run or will run, so that the error ends the submission
 * after them. An error of @check or of memory allocation is not caused by the
 * list, and ends the call.
 */
static bool is_late(const struct split *split, int ret)
{
	return !split->err && (ret == -ENOSPC ? split->plan->n_parts || split->cur->part :
					    ret == -EINVAL && split->cur->part);
}

/* Plan once. */
static int run(struct split *split)
{
	u32 i, end, group = split->cur->group;
	int ret;

	rewind(split);
	split_populate(split);
	for (i = split->cur->entry; i < split->in->n_entries; i = end) {
		end = split_group_end(split, i);
		ret = step(split, i, end, group++);
		if (ret == SPLIT_BATCH_ENDS) {
			split_drop_to_mark(split);
			return 0;
		}
		if (ret && is_late(split, ret)) {
			split->plan->late_error = ret;
			return 0;
		}
		if (ret)
			return ret;
	}
	split_emit_part(split, split->in->length, split->in->n_entries, TESSERA_SPLIT_OP_LAST);
	return split->err;
}

static u64 plan_bytes(const struct tessera_split_plan *plan)
{
	return plan->bytes_in + plan->bytes_out + plan->bytes_moved;
}

/* Cost of a plan in bytes; @cut_cost_bytes is the cost of a part. */
static u64 plan_cost(const struct split *split, const struct tessera_split_plan *plan)
{
	u64 parts, cost = plan_bytes(plan);

	if (check_mul_overflow((u64)plan->n_parts, split->in->cut_cost_bytes, &parts) ||
	    check_add_overflow(cost, parts, &cost))
		return U64_MAX;
	return cost;
}

/*
 * True if the current plan is better than another one, which ends before
 * @entry.
 */
static bool is_better(const struct split *split, const struct tessera_split_plan *than,
		      u32 entry)
{
	const struct tessera_split_plan *plan = split->plan;
	u32 base = split->cur->entry;

	if (plan->late_error || than->late_error)
		return !plan->late_error;
	if (split->in->cut_cost_bytes != U64_MAX)
		return mul_u64_u64_div_u64(plan_cost(split, plan), entry - base + 1,
					   split->first - base + 1) < plan_cost(split, than);
	if (split->first != entry)
		return split->first > entry;
	if (plan->n_parts != than->n_parts)
		return plan->n_parts < than->n_parts;
	return plan_bytes(plan) < plan_bytes(than);
}

/**
 * struct best - the best plan so far; its operations come first in the array
 * @plan: counts of that plan
 * @entry: first entry after it
 */
struct best {
	struct tessera_split_plan plan;
	u32 entry;
};

/*
 * Plan in another way, with operations stored after those of the best plan.
 * Keep the better of the two.
 */
static int challenge(struct split *split, struct best *best, u32 variant)
{
	struct tessera_split_plan *plan = split->plan;
	int ret;

	split->op_base = best->plan.n_op;
	split->variant = variant;
	split->random = variant;
	ret = run(split);
	if (split->err)
		return split->err;
	if (!ret && is_better(split, &best->plan, best->entry)) {
		plan->n_op -= split->op_base;
		memmove(plan->op, plan->op + split->op_base, plan->n_op * sizeof(*plan->op));
		best->plan = *plan;
		best->entry = split->first;
	}
	best->plan.op = plan->op;
	best->plan.cap = plan->cap;
	return 0;
}

/*
 * Maximum number of further plans. Planning may take a few percent of the time
 * that the plan itself takes: an entry costs about 1/600 of a part.
 */
static u32 max_tries(const struct split *split, const struct best *best)
{
	u64 steps = (u64)best->entry - split->cur->entry + split->in->n_allocs +
		    split->in->n_blocks + 1;
	u64 tries = div64_u64(TRY_STEPS, steps);
	u64 cost = split->in->cut_cost_bytes, allowed = U64_MAX;

	if (!best->plan.late_error && cost == U64_MAX)
		allowed = best->plan.n_parts * TRY_SHARE * TRY_PART;
	else if (!best->plan.late_error && cost)
		allowed = mul_u64_u64_div_u64(plan_cost(split, &best->plan), TRY_SHARE, cost);
	return min3(tries, TRY_MAX, div64_u64(allowed, steps));
}

/* Plan, and plan again in other ways as often as time allows. */
static int plan_best(struct split *split)
{
	struct best best;
	u32 tries = 0, i;
	int ret;

	split->variant = 0;
	ret = run(split);
	if (ret)
		return ret;
	best.plan = *split->plan;
	best.entry = split->first;
	if (best.plan.late_error || best.plan.n_parts > 1)
		tries = max_tries(split, &best);
	for (i = 1; i <= tries && !ret; i++)
		ret = challenge(split, &best, i);
	if (!ret)
		*split->plan = best.plan;
	return ret;
}

/**
 * tessera_split_begin() - check a submission, and prepare to plan it in batches
 * @in: the submission
 * @mem: memory for @cur, which must last as long; aligned to 8 bytes
 * @size: bytes at @mem, at least tessera_split_cursor_size()
 * @scratch: memory for this call, aligned to 8 bytes
 * @scratch_size: bytes at @scratch, at least tessera_split_scratch_size()
 * @cur: set to the beginning of the submission
 * @errors: receives the place of an error
 *
 * Checks whether each split point fits if everything that is not immovable now
 * is evicted.
 *
 * Return: 0; -ENOSPC if a split point does not fit even alone; -EINVAL if the
 * input is invalid, or a written allocation can only be in read-only segments;
 * or an error of @in->check.
 */
int tessera_split_begin(const struct tessera_split_input *in, void *mem, size_t size,
			void *scratch, size_t scratch_size,
			struct tessera_split_cursor *cur,
			struct tessera_split_plan *errors)
{
	struct split *split;
	int ret;

	reset_plan(errors, 0);
	ret = split_setup_begin(in, cur, mem, size, &split, scratch, scratch_size);
	if (ret)
		return ret;
	split->plan = errors;
	return split_feasible(split);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_split_begin);

/**
 * tessera_split_batch() - plan the next batch of parts of a submission
 * @in: the submission. @in->blocks, the clean flags and the supported segments
 *	are those of now
 * @cur: where to start; not changed
 * @limits: where to stop
 * @scratch: memory for this call, aligned to 8 bytes
 * @size: bytes at @scratch, at least tessera_split_scratch_size()
 * @plan: receives the plan; the caller sets @op, @cap, @grow and @ctx
 *
 * The plan continues as after a cut just made at @cur->byte. Allocations that
 * the split point there does not set again stay where @in->blocks has them. If
 * they are absent there, they are paged in like an allocation of that split
 * point.
 *
 * The plan may end early. If @plan->late_error is set, the parts in the plan
 * must run, and the submission then ends with that error. After the first
 * batch, such a plan may be empty.
 *
 * Return: 0; -EINVAL if the input is invalid, or the leak check finds a slot
 * bound over a cut in the first batch; -ENOSPC if nothing has run yet and the
 * submission no longer fits; -EAGAIN if @in changes during the call; -ENOMEM if
 * @grow fails; or an error of @in->check. On error the plan has no operations.
 */
int tessera_split_batch(const struct tessera_split_input *in,
			const struct tessera_split_cursor *cur,
			const struct tessera_split_limits *limits,
			void *scratch, size_t size,
			struct tessera_split_plan *plan)
{
	struct split *split;
	int ret;

	reset_plan(plan, 0);
	ret = split_setup_batch(in, cur, &split, scratch, size);
	if (ret)
		return ret;
	split->plan = plan;
	split->limits = limits;
	ret = plan_best(split);
	if (ret)
		split_discard(plan, 0);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_split_batch);

/* Find the last part of a plan, or NULL. */
static const struct tessera_split_op *last_part(const struct tessera_split_plan *plan)
{
	u32 i = plan->n_op;

	while (i--)
		if (plan->op[i].type == TESSERA_SPLIT_PART)
			return &plan->op[i];
	return NULL;
}

/**
 * tessera_split_commit() - advance the cursor over a plan that is being
 * executed
 * @in: the submission
 * @cur: where the plan started; set to the end of its last part
 * @plan: the plan
 */
void tessera_split_commit(const struct tessera_split_input *in,
			  struct tessera_split_cursor *cur,
			  const struct tessera_split_plan *plan)
{
	const struct tessera_split_op *part = last_part(plan);
	u32 i, end;

	if (!part)
		return;
	end = part->first + part->count;
	for (i = cur->entry; i < end; i++) {
		const struct tessera_patch *patch = &in->entries[i];
		bool null = in->allocs[patch->alloc_index].flags & TESSERA_SPLIT_ALLOC_NULL;

		cur->table[patch->slot_id] = null ? TESSERA_SPLIT_NONE : patch->alloc_index;
		cur->next_use[patch->alloc_index] = cur->next_ref[i];
		if (i + 1 == in->n_entries || patch[1].split_offset != patch->split_offset)
			cur->group++;
	}
	cur->entry = end;
	cur->byte = part->end;
	cur->part += plan->n_parts;
	cur->done = part->flags & TESSERA_SPLIT_OP_LAST;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_split_commit);
