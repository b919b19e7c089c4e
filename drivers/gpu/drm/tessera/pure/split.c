// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: split planner
 *
 * Turns a patch list into a plan: where to cut the command buffer, what to evict,
 * move and page in between the parts. Called by submission before anything is
 * armed; takes no lock, allocates nothing, touches no device.
 *
 * The walk follows the list. W, the working set, holds what the pending part
 * touches; nothing in it leaves or moves. At each split point
 *
 * 1. if its allocations find a place beside W, they join W;
 * 2. if not, the pending part ends here. Allocations in slots that this split
 *    point does not reprogram are pinned and form the new W, all others become
 *    idle, those that this split point needs may even move;
 * 3. if that is not enough either, the plan ends with a late error. Whether each
 *    split point fits at all has been checked before, so only pins can be the
 *    cause.
 *
 * A cut is taken before that, too, if it saves more bytes than a part costs.
 *
 * Idle allocations stay resident until their room is needed. With unequal sizes what
 * that choice of places leads to is hard to foresee: a short list is planned again in
 * other ways, as often as that pays, and the plan that costs least is taken.
 */
#include "split_priv.h"

/* Entries, allocations and blocks that may be gone over again in all. */
#define TRY_STEPS		16384ULL
/* Plans made at most. */
#define TRY_MAX			256ULL
/* One step of planning takes that part of the time of a part, and may take of it. */
#define TRY_SHARE		32ULL
/* Parts' worth of time that the bytes of a part take, where the caller does not say. */
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

/* Allocations of the group that are not in the working set, in list order. */
static void add_members(struct split *split, u32 first, u32 end)
{
	u32 i;

	for (i = first; i < end; i++)
		if (!split_entry_is_null(split, i))
			add_member(split, split->in->entries[i].alloc_index);
}

/*
 * The rows that the group reprograms are as good as empty: what only they hold
 * is free to go. What other rows hold is pinned and makes the new working set.
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

/* Places for the group, with what is not pinned free to go, or even to move. */
static int place_released(struct split *split)
{
	int ret = split_place_members(split);

	if (ret == -ENOSPC)
		ret = split_relocate_members(split);
	return ret;
}

/* The pending part ran: it wrote what its buffer writes at all (SPLIT-31). */
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

/* The pending part ends here. */
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
 * End the pending part at the group, and find places for the group again. @n_w
 * is the size of the working set before the group: if it was empty a cut would
 * free nothing, and is not taken unless it is forced.
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
		return SPLIT_WINDOW_ENDS;
	begin_members(split);
	add_members(split, first, end);
	return place_released(split);
}

/*
 * Begin behind the cut that ended the window before: what the group does not
 * reprogram stays where it is now. What has lost its place since, say to a reset,
 * is brought back first.
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

/* Empty a plan but for operations that belong to another one. */
static void reset_plan(struct tessera_split_plan *plan, u32 n_op)
{
	split_discard(plan, n_op);
	plan->late_error = 0;
	plan->error_offset = 0;
	plan->error_entry = TESSERA_SPLIT_NONE;
	plan->variant = 0;
}

/* Back to the state at the cursor. */
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
 * Parts have run, or will: the error ends the submission after them. The caller
 * saying no, or being out of memory, is not the list's fault and ends the call.
 */
static bool is_late(const struct split *split, int ret)
{
	return !split->err && (ret == -ENOSPC ? split->plan->n_parts || split->cur->part :
					    ret == -EINVAL && split->cur->part);
}

/* One walk over the list. */
static int run(struct split *split)
{
	u32 i, end, group = split->cur->group;
	int ret;

	rewind(split);
	split_populate(split);
	for (i = split->cur->entry; i < split->in->n_entries; i = end) {
		end = split_group_end(split, i);
		ret = step(split, i, end, group++);
		if (ret == SPLIT_WINDOW_ENDS) {
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

/* What a plan costs, in bytes; a part as much as the caller says. */
static u64 plan_cost(const struct split *split, const struct tessera_split_plan *plan)
{
	u64 parts, cost = plan_bytes(plan);

	if (check_mul_overflow((u64)plan->n_parts, split->in->cut_cost_bytes, &parts) ||
	    check_add_overflow(cost, parts, &cost))
		return U64_MAX;
	return cost;
}

/* Does the plan at hand beat another, which came to entry @entry? */
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
 * struct best - the best plan so far, whose operations come first
 * @plan: what is known about it
 * @entry: entry behind it
 */
struct best {
	struct tessera_split_plan plan;
	u32 entry;
};

/* Plan another way behind the best plan's operations, and keep the better of the two. */
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
 * How often planning may be tried again, another way. In time that is a few
 * hundredths of what the plan takes: an entry costs about a 600th of a part.
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

/*
 * Plan, and plan again as often as time allows, with other guesses.
 */
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
 * tessera_split_begin() - check a submission, and prepare to plan it in windows
 * @in: what will be planned
 * @mem: memory that lasts as long as @cur, aligned to 8 bytes
 * @size: bytes at @mem, at least tessera_split_cursor_size()
 * @scratch: memory for the time of the call, aligned to 8 bytes
 * @scratch_size: bytes at @scratch, at least tessera_split_scratch_size()
 * @cur: set to the very beginning
 * @errors: where the place of an error goes
 *
 * Whether each split point fits is decided here, with all evicted that is not
 * immovable now.
 *
 * Return: 0; -ENOSPC if a split point cannot fit even alone, -EINVAL if the input
 * makes no sense, or a written allocation can only be where the GPU reads; or what
 * @in->check says.
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
 * tessera_split_window() - plan the next parts of a submission
 * @in: what is planned; @in->blocks, which allocations are clean, and where they may be, as of
 *	now
 * @cur: where to start; not changed
 * @limits: where to stop
 * @scratch: memory for the time of the call, aligned to 8 bytes
 * @size: bytes at @scratch, at least tessera_split_scratch_size()
 * @plan: where the plan goes; the caller sets @op, @cap, @grow and @ctx
 *
 * The plan goes on as after a cut just taken at @cur->byte. What the split point
 * there does not reprogram stays where @in->blocks has it; what is absent there
 * is brought back like an allocation of that split point.
 *
 * The plan may end early: if @plan->late_error is set, what it holds, which may be
 * nothing if there were windows before, must run and the submission then end with
 * that error.
 *
 * Return: 0; -EINVAL if the input makes no sense, or the leak check finds a slot
 * bound over a cut in the first window; -ENOSPC if nothing has run yet and what was
 * feasible is so no more; -EAGAIN if @in changes under the planner's eyes; -ENOMEM if @grow
 * fails; what @in->check says. On error the plan holds no operations.
 */
int tessera_split_window(const struct tessera_split_input *in,
			 const struct tessera_split_cursor *cur,
			 const struct tessera_split_limits *limits,
			 void *scratch, size_t size,
			 struct tessera_split_plan *plan)
{
	struct split *split;
	int ret;

	reset_plan(plan, 0);
	ret = split_setup_window(in, cur, &split, scratch, size);
	if (ret)
		return ret;
	split->plan = plan;
	split->limits = limits;
	ret = plan_best(split);
	if (ret)
		split_discard(plan, 0);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_split_window);

/* The plan's last part, or NULL. */
static const struct tessera_split_op *last_part(const struct tessera_split_plan *plan)
{
	u32 i = plan->n_op;

	while (i--)
		if (plan->op[i].type == TESSERA_SPLIT_PART)
			return &plan->op[i];
	return NULL;
}

/**
 * tessera_split_commit() - go on behind a plan that is being carried out
 * @in: what is planned
 * @cur: where the plan started; moves behind its last part
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
