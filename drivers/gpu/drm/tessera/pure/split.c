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
 * Idle allocations stay resident until their room is needed. That choice of places
 * can lead to more parts than the plain algorithm makes, which evicts all that
 * is idle and takes the lowest hole; where sizes make that possible, the plain
 * algorithm is run as well, and the plan with fewer parts is taken.
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

/* Lay the arrays of a plan out; with a NULL base only their size is found. */
static void layout(const struct tessera_split_input *in, struct arena *a,
		   struct split *s)
{
	size_t n_node = size_add(in->n_allocs, in->n_blocks);
	size_t all = size_add(n_node, 2 * (size_t)in->n_segs);
	size_t n_gap = size_add(n_node, in->n_segs);
	u32 i;

	memset(s, 0, sizeof(*s));
	s->seg_size = arena_take(a, in->n_segs, sizeof(u64));
	s->home_sum = arena_take(a, in->n_segs, sizeof(u64));
	s->home_cap = arena_take(a, in->n_segs, sizeof(u64));
	s->seg_swept = arena_take(a, in->n_segs, sizeof(u32));
	s->al = arena_take(a, in->n_allocs, sizeof(*s->al));
	s->sp.seg = arena_take(a, in->n_segs, sizeof(*s->sp.seg));
	s->sp.node = arena_take(a, all, sizeof(*s->sp.node));
	s->sp.chunk = arena_take(a, all, sizeof(*s->sp.chunk));
	s->next_ref = arena_take(a, in->n_entries, sizeof(u32));
	s->table = arena_take(a, in->n_slots, sizeof(u32));
	s->wset = arena_take(a, in->n_allocs, sizeof(u32));
	s->member = arena_take(a, in->n_allocs, sizeof(u32));
	s->log = arena_take(a, size_add(n_node, size_mul(in->n_allocs, 3)),
			    sizeof(*s->log));
	s->pack.item = arena_take(a, in->n_allocs, sizeof(*s->pack.item));
	s->pack.gap = arena_take(a, n_gap + 1, sizeof(*s->pack.gap));
	s->pack.frame = arena_take(a, size_add(n_gap, in->n_allocs) + 2,
				   sizeof(*s->pack.frame));
	for (i = 0; i < in->n_segs; i++) {
		struct tessera_space_victim *heap;

		heap = arena_take(a, n_node, sizeof(*heap));
		if (a->base)
			s->sp.seg[i].heap = heap;
	}
}

/**
 * tessera_split_scratch_size() - memory a plan needs while it is made
 * @in: what will be planned
 *
 * Return: bytes, or 0 if the counts are beyond reason.
 */
size_t tessera_split_scratch_size(const struct tessera_split_input *in)
{
	struct arena a = {};
	struct split s;

	if (in->n_segs > TESSERA_SPLIT_MAX_SEGS ||
	    in->n_allocs > S32_MAX - in->n_blocks || in->n_blocks > S32_MAX / 2)
		return 0;
	arena_take(&a, 1, sizeof(s));
	layout(in, &a, &s);
	return a.used == SIZE_MAX ? 0 : a.used;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_split_scratch_size);

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
static int setup_alloc(struct split *s, u32 id)
{
	const struct tessera_split_alloc *a = &s->in->allocs[id];
	struct split_alloc *al = &s->al[id];
	u32 seg;

	memset(al, 0, sizeof(*al));
	al->next_use = SPLIT_NEVER;
	al->first = SPLIT_NEVER;
	al->align = 1;
	if (a->flags & TESSERA_SPLIT_ALLOC_NULL)
		return 0;
	if (!alloc_is_sane(s->in, a))
		return -EINVAL;
	al->align = max(a->align, 1ULL);
	for (seg = 0; seg < s->in->n_segs; seg++) {
		const struct tessera_split_seg *g = &s->in->segs[seg];

		if (!(a->supported & BIT(seg)) ||
		    (g->flags & TESSERA_SPLIT_SEG_READ_ONLY &&
		     a->flags & TESSERA_SPLIT_ALLOC_WRITTEN))
			continue;
		al->mask |= BIT(seg);
		al->align = max(al->align, g->granularity);
	}
	al->pad = ALIGN(a->size, al->align);
	return al->mask ? 0 : -EINVAL;
}

static int check_blocks(struct split *s)
{
	const struct tessera_split_block *b = s->in->blocks;
	u32 i, seg = 0;
	u64 end = 0;

	for (i = 0; i < s->in->n_blocks; i++, b++) {
		if (b->seg >= s->in->n_segs || b->seg < seg || !b->size)
			return -EINVAL;
		if (b->seg != seg)
			end = 0;
		seg = b->seg;
		if (b->start < end || b->start > s->seg_size[seg] ||
		    b->size > s->seg_size[seg] - b->start)
			return -EINVAL;
		end = b->start + b->size;
		if (b->tier > TESSERA_VICTIM_IMMOVABLE)
			return -EINVAL;
		if (b->alloc == TESSERA_SPLIT_NONE)
			continue;
		if (b->alloc >= s->in->n_allocs || s->al[b->alloc].stamp ||
		    s->in->allocs[b->alloc].flags & TESSERA_SPLIT_ALLOC_NULL ||
		    s->in->allocs[b->alloc].size != b->size)
			return -EINVAL;
		/* No allocation is in two places. */
		s->al[b->alloc].stamp = 1;
		s->al[b->alloc].fixed = b->tier == TESSERA_VICTIM_IMMOVABLE;
		if (s->al[b->alloc].fixed && !(s->al[b->alloc].mask & BIT(seg)))
			return -EINVAL;
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
static int link_uses(struct split *s)
{
	const struct tessera_split_input *in = s->in;
	u32 i, limit = in->length;

	for (i = in->n_entries; i--; ) {
		const struct tessera_patch *e = &in->entries[i];

		if (e->alloc_index >= in->n_allocs || e->slot_id >= in->n_slots ||
		    e->split_offset > limit)
			return -EINVAL;
		limit = e->split_offset;
		s->next_ref[i] = s->al[e->alloc_index].first;
		s->al[e->alloc_index].first = i;
	}
	return 0;
}

/* A hostile list may make the packers search, but not for ever. */
static void set_budget(struct split *s)
{
	s->budget = BUDGET_MIN + BUDGET_PER_ITEM *
		    ((u64)s->in->n_entries + s->in->n_blocks);
}

static int setup(struct split *s)
{
	u32 i;
	int ret;

	if (s->in->force == TESSERA_SPLIT_FORCE_BITMAP && !s->in->force_map)
		return -EINVAL;
	for (i = 0; i < s->in->n_segs; i++) {
		const struct tessera_split_seg *g = &s->in->segs[i];

		if (g->size > TESSERA_SPLIT_MAX_BYTES ||
		    g->granularity > TESSERA_SPLIT_MAX_BYTES ||
		    !is_power_of_2(g->granularity))
			return -EINVAL;
		s->seg_size[i] = g->size;
	}
	for (i = 0; i < s->in->n_allocs; i++) {
		ret = setup_alloc(s, i);
		if (ret)
			return ret;
	}
	ret = check_blocks(s);
	if (ret)
		return ret;
	for (i = 0; i < s->in->n_slots; i++)
		s->table[i] = TESSERA_SPLIT_NONE;
	find_ranks(s);
	s->pack.budget = &s->budget;
	return link_uses(s);
}

/* Drop what there is of a plan, from operation @n_op on. */
static void discard(struct tessera_split_plan *p, u32 n_op)
{
	p->n_op = n_op;
	p->n_parts = 0;
	p->n_page_ins = 0;
	p->n_moves = 0;
	p->n_evicts = 0;
	p->bytes_in = 0;
	p->bytes_out = 0;
	p->bytes_moved = 0;
}

/* Back to the state before the submission. */
static void rewind(struct split *s)
{
	struct tessera_split_plan *p = s->plan;
	u32 i;

	s->n_w = 0;
	s->n_log = 0;
	s->clock = 0;
	s->now = 0;
	s->start = 0;
	s->first = 0;
	s->n_forced = 0;
	for (i = 0; i < s->in->n_segs; i++)
		s->seg_swept[i] = 0;
	discard(p, s->op_base);
	p->late_error = 0;
	p->error_offset = 0;
	p->error_entry = TESSERA_SPLIT_NONE;
	p->plain = s->plain;
	for (i = 0; i < s->in->n_slots; i++)
		s->table[i] = TESSERA_SPLIT_NONE;
	for (i = 0; i < s->in->n_allocs; i++) {
		struct split_alloc *al = &s->al[i];

		al->next_use = al->first;
		al->n_slots = 0;
		al->idle = al->fixed ? U32_MAX : 0;
		al->in_w = false;
		al->clean = s->in->allocs[i].flags & TESSERA_SPLIT_ALLOC_CLEAN;
	}
}

/* Fill the segments with what is there at the start. */
static void populate(struct split *s)
{
	u32 i, seg = TESSERA_SPLIT_NONE, prev = 0;

	tessera_space_reset(&s->sp, s->seg_size);
	for (i = 0; i < s->in->n_blocks; i++) {
		const struct tessera_split_block *b = &s->in->blocks[i];
		bool foreign = b->alloc == TESSERA_SPLIT_NONE;
		u32 id = foreign ? s->in->n_allocs + i : b->alloc;

		if (b->seg != seg) {
			seg = b->seg;
			prev = s->sp.seg[seg].head;
		}
		tessera_space_insert(&s->sp, prev, id, b->start, b->size);
		prev = id;
		if (foreign ? b->tier >= TESSERA_VICTIM_LAST_RESORT :
			      s->al[id].fixed)
			s->sp.node[id].prot = true;
		else
			tessera_space_heap_push(&s->sp, id,
						split_victim_key(s, id));
	}
}

static struct tessera_split_op *op_add(struct split *s, u8 type, u32 id)
{
	struct tessera_split_plan *p = s->plan;
	struct tessera_split_op *op;

	if (s->err)
		return NULL;
	if (p->n_op == p->cap) {
		s->err = p->grow ? p->grow(p, p->cap + 1) : -ENOMEM;
		if (!s->err && p->cap <= p->n_op)
			s->err = -ENOMEM;
		if (s->err)
			return NULL;
	}
	op = &p->op[p->n_op++];
	memset(op, 0, sizeof(*op));
	op->type = type;
	op->id = id;
	return op;
}

/* Bytes that cross the bus for a transfer in or out of @seg. */
static u64 bytes_in_seg(const struct split *s, u32 seg, u64 size)
{
	return s->in->segs[seg].flags & TESSERA_SPLIT_SEG_APERTURE ? 0 : size;
}

static u8 count_evict(struct split *s, const struct split_log *l, bool foreign)
{
	bool clean = foreign ?
		split_block(s, l->id)->flags & TESSERA_SPLIT_BLOCK_CLEAN :
		l->clean;

	s->plan->n_evicts++;
	if (clean)
		return TESSERA_SPLIT_OP_CLEAN;
	s->plan->bytes_out += bytes_in_seg(s, l->seg, s->sp.node[l->id].size);
	return 0;
}

static void emit_log_entry(struct split *s, const struct split_log *l)
{
	bool foreign = split_is_foreign(s, l->id);
	u64 size = s->sp.node[l->id].size;
	struct tessera_split_op *op;
	u8 type = l->type, flags = 0;
	u32 id = l->id;

	if (type == TESSERA_SPLIT_EVICT) {
		flags = count_evict(s, l, foreign);
		if (foreign) {
			type = TESSERA_SPLIT_EVICT_FOREIGN;
			id -= s->in->n_allocs;
		}
	} else if (type == TESSERA_SPLIT_MOVE) {
		s->plan->n_moves++;
		s->plan->bytes_moved += max(bytes_in_seg(s, l->seg, size),
					    bytes_in_seg(s, l->src_seg, size));
	} else {
		s->plan->n_page_ins++;
		s->plan->bytes_in += bytes_in_seg(s, l->seg, size);
	}
	op = op_add(s, type, id);
	if (!op)
		return;
	op->flags = flags;
	op->seg = l->seg;
	op->off = l->off;
	op->src_seg = l->src_seg;
	op->src = l->src;
}

static void emit_log(struct split *s)
{
	u32 i;

	for (i = 0; i < s->n_log; i++)
		emit_log_entry(s, &s->log[i]);
	s->n_log = 0;
}

static void emit_part(struct split *s, u32 end, u32 entry, u8 flags)
{
	struct tessera_split_op *op;

	op = op_add(s, TESSERA_SPLIT_PART, s->plan->n_parts);
	s->plan->n_parts++;
	if (op) {
		op->flags = flags;
		op->start = s->start;
		op->end = end;
		op->first = s->first;
		op->count = entry - s->first;
	}
	s->start = end;
	s->first = entry;
}

static void emit_pin(struct split *s, u32 id)
{
	const struct tessera_space_node *n = &s->sp.node[id];
	struct tessera_split_op *op;

	if (s->in->flags & TESSERA_SPLIT_NO_PINS)
		return;
	op = op_add(s, TESSERA_SPLIT_PIN, id);
	if (op) {
		op->seg = n->seg;
		op->off = n->start;
	}
}

static void row_clear(struct split *s, u32 slot)
{
	if (s->table[slot] != TESSERA_SPLIT_NONE)
		s->al[s->table[slot]].n_slots--;
	s->table[slot] = TESSERA_SPLIT_NONE;
}

/* Allocations of the group that are not in the working set, in list order. */
static void collect_members(struct split *s, u32 first, u32 end)
{
	u32 i;

	s->stamp++;
	s->n_member = 0;
	for (i = first; i < end; i++) {
		u32 id = s->in->entries[i].alloc_index;

		if (s->al[id].in_w || s->al[id].stamp == s->stamp ||
		    split_entry_is_null(s, i))
			continue;
		s->al[id].stamp = s->stamp;
		s->member[s->n_member++] = id;
	}
}

/* The plain algorithm gives up all that is idle at a cut and not needed here. */
static void sweep(struct split *s)
{
	u32 i;

	for (i = 0; i < s->n_member; i++) {
		u32 id = s->member[i];

		/* Needed here, so it stays: later than any sweep. */
		if (s->sp.node[id].linked && !split_is_ghost(s, id))
			s->al[id].idle = U32_MAX;
	}
	s->clock++;
	for (i = 0; i < s->in->n_segs; i++)
		s->seg_swept[i] = s->clock;
}

/*
 * The rows that the group reprograms are as good as empty: what only they hold
 * is free to go. What other rows hold is pinned and makes the new working set.
 */
static int release(struct split *s, u32 first, u32 end, bool cut)
{
	u32 i, n = 0;

	for (i = first; i < end; i++)
		row_clear(s, s->in->entries[i].slot_id);
	for (i = 0; i < s->n_w; i++) {
		u32 id = s->wset[i];

		if (!s->al[id].n_slots) {
			split_leave_w(s, id);
			continue;
		}
		s->wset[n++] = id;
		if (cut)
			emit_pin(s, id);
	}
	s->n_w = n;
	if (n && cut && s->in->flags & TESSERA_SPLIT_LEAK_CHECK)
		return -EINVAL;
	collect_members(s, first, end);
	if (s->plain)
		sweep(s);
	return 0;
}

/* The pending part ran: it wrote what its buffer writes at all (SPLIT-31). */
static void mark_written(struct split *s, u32 n_w)
{
	u32 i;

	for (i = 0; i < n_w; i++)
		if (s->in->allocs[s->wset[i]].flags & TESSERA_SPLIT_ALLOC_WRITTEN)
			s->al[s->wset[i]].clean = false;
}

static bool is_forced(const struct split *s, u32 group)
{
	u64 x;

	switch (s->in->force) {
	case TESSERA_SPLIT_FORCE_ALL:
		return true;
	case TESSERA_SPLIT_FORCE_BITMAP:
		return group < s->in->n_force && test_bit(group, s->in->force_map);
	case TESSERA_SPLIT_FORCE_RANDOM:
		x = (s->in->force_seed + group + 1) * 0x9e3779b97f4a7c15ULL;
		x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
		return (x >> 40) & 1;
	default:
		return false;
	}
}

/*
 * End the pending part at the group, and find places for the group again. @n_w
 * is the size of the working set before the group: if it was empty a cut would
 * free nothing, and is not taken unless it is forced.
 */
static int cut(struct split *s, u32 first, u32 end, u32 n_w, bool forced)
{
	u32 at = s->in->entries[first].split_offset;
	bool real = forced || (n_w && at > s->start);
	int ret;

	if (real) {
		emit_part(s, at, first, forced ? TESSERA_SPLIT_OP_FORCED : 0);
		s->n_forced += forced;
		mark_written(s, n_w);
	}
	ret = release(s, first, end, real);
	if (ret)
		return ret;
	ret = split_place_members(s);
	if (ret)
		ret = split_relocate_members(s);
	return ret;
}

static void apply(struct split *s, u32 first, u32 end)
{
	u32 i;

	for (i = first; i < end; i++) {
		const struct tessera_patch *e = &s->in->entries[i];

		row_clear(s, e->slot_id);
		s->al[e->alloc_index].next_use = s->next_ref[i];
		if (split_entry_is_null(s, i))
			continue;
		s->table[e->slot_id] = e->alloc_index;
		s->al[e->alloc_index].n_slots++;
	}
}

/* Process one split point. */
static int step(struct split *s, u32 first, u32 end, u32 group)
{
	u32 at = s->in->entries[first].split_offset, n_w = s->n_w;
	bool forced = at > s->start && at < s->in->length && is_forced(s, group);
	int ret = 0;

	s->now = first;
	if (!forced) {
		collect_members(s, first, end);
		if (s->n_member)
			ret = split_place_members(s);
	}
	if (forced || ret)
		ret = cut(s, first, end, n_w, forced);
	if (ret) {
		s->plan->error_entry = first;
		s->plan->error_offset = at;
		return ret;
	}
	emit_log(s);
	apply(s, first, end);
	return s->err;
}

/* One walk over the list, given up when it has made more than @max_parts parts. */
static int run(struct split *s, bool plain, u32 max_parts)
{
	u32 i, end, group = 0;
	int ret;

	s->plain = plain;
	rewind(s);
	populate(s);
	for (i = 0; i < s->in->n_entries; i = end) {
		end = split_group_end(s, i);
		ret = step(s, i, end, group++);
		if (ret == -ENOSPC && s->plan->n_parts) {
			s->plan->late_error = ret;
			return 0;
		}
		if (ret)
			return ret;
		if (s->plan->n_parts >= max_parts)
			return -ERANGE;
	}
	emit_part(s, s->in->length, s->in->n_entries, TESSERA_SPLIT_OP_LAST);
	return s->err;
}

static bool allocs_are_alike(const struct tessera_split_alloc *a,
			     const struct tessera_split_alloc *b)
{
	u32 i;

	if (a->size != b->size || a->supported != b->supported ||
	    a->n_pref != b->n_pref)
		return false;
	for (i = 0; i < a->n_pref; i++)
		if (a->pref[i] != b->pref[i])
			return false;
	return true;
}

/*
 * With equal allocations on a common grid one place is as good as another, and
 * no choice of places can make more parts than another.
 */
static bool is_uniform(const struct split *s)
{
	const struct tessera_split_input *in = s->in;
	const struct tessera_split_alloc *one = NULL;
	u64 rem;
	u32 i;

	for (i = 0; i < in->n_allocs; i++) {
		const struct tessera_split_alloc *a = &in->allocs[i];

		if (a->flags & TESSERA_SPLIT_ALLOC_NULL)
			continue;
		if (!one)
			one = a;
		if (!allocs_are_alike(one, a) || s->al[i].pad != a->size ||
		    s->al[i].mask != a->supported)
			return false;
	}
	for (i = 0; one && i < in->n_blocks; i++) {
		const struct tessera_split_block *b = &in->blocks[i];

		div64_u64_rem(b->start, one->size, &rem);
		if (rem)
			return false;
		div64_u64_rem(b->size, one->size, &rem);
		if (rem)
			return false;
	}
	return true;
}

/* Could the plain algorithm do better than the plan at hand? */
static bool worth_comparing(const struct split *s)
{
	const struct tessera_split_plan *p = s->plan;

	if (s->in->flags & TESSERA_SPLIT_PLAIN)
		return false;
	return (p->late_error || p->n_parts > 1 + s->n_forced) && !s->uniform;
}

/*
 * Plan, and plan the plain way if that may be better. The second plan's operations
 * follow those of the first until one of the two is dropped.
 */
static int plan_best(struct split *s)
{
	struct tessera_split_plan own, *p = s->plan;
	u32 max_parts;
	int ret;

	ret = run(s, s->in->flags & TESSERA_SPLIT_PLAIN, U32_MAX);
	if (ret || !worth_comparing(s))
		return ret;
	own = *p;
	max_parts = own.late_error ? U32_MAX : own.n_parts - 1;
	s->op_base = own.n_op;
	ret = run(s, true, max_parts);
	if (s->err)
		return s->err;
	if (!ret && !p->late_error) {
		p->n_op -= s->op_base;
		memmove(p->op, p->op + s->op_base, p->n_op * sizeof(*p->op));
		return 0;
	}
	own.op = p->op;
	own.cap = p->cap;
	*p = own;
	return 0;
}

/**
 * tessera_split_plan() - make the plan for one submission
 * @in: what to plan
 * @scratch: memory for the time of the call, aligned to 8 bytes
 * @size: bytes at @scratch, at least tessera_split_scratch_size()
 * @plan: where the plan goes; the caller sets @op, @cap, @grow and @ctx
 *
 * The plan may end early: if @plan->late_error is set, what it holds must run and
 * the submission then end with that error.
 *
 * Return: 0; -ENOSPC if a split point cannot fit even alone, -EINVAL if the input
 * makes no sense, a written allocation can only be where the GPU reads, or the
 * leak check finds a slot bound over a cut; -ENOMEM if @grow fails. On error
 * nothing may run, and the plan holds no operations.
 */
int tessera_split_plan(const struct tessera_split_input *in, void *scratch,
		       size_t size, struct tessera_split_plan *plan)
{
	struct arena a = { .base = scratch };
	size_t want = tessera_split_scratch_size(in);
	struct split *s;
	int ret;

	discard(plan, 0);
	plan->late_error = 0;
	plan->error_offset = 0;
	plan->error_entry = TESSERA_SPLIT_NONE;
	plan->plain = false;
	if (!want || want > size)
		return -EINVAL;
	s = arena_take(&a, 1, sizeof(*s));
	layout(in, &a, s);
	s->in = in;
	s->plan = plan;
	s->sp.n_seg = in->n_segs;
	s->sp.n_node = in->n_allocs + in->n_blocks;
	ret = setup(s);
	if (ret)
		return ret;
	set_budget(s);
	ret = split_feasible(s);
	if (ret)
		return ret;
	s->uniform = is_uniform(s);
	set_budget(s);
	ret = plan_best(s);
	if (ret)
		discard(plan, 0);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_split_plan);

/**
 * tessera_split_replay_begin() - start to follow the slot table through a plan
 * @in: what was planned
 * @replay: state to set up
 * @table: room for @in->n_slots elements
 */
void tessera_split_replay_begin(const struct tessera_split_input *in,
				struct tessera_split_replay *replay, u32 *table)
{
	u32 i;

	replay->table = table;
	replay->cursor = 0;
	for (i = 0; i < in->n_slots; i++)
		table[i] = TESSERA_SPLIT_NONE;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_split_replay_begin);

/**
 * tessera_split_replay_part() - slot table at the start of a part
 * @in: what was planned
 * @replay: state; parts must be asked for in order
 * @part: a PART operation
 *
 * Afterwards the table has what the part's preamble must bind: the slots that
 * were bound before it and that it does not reprogram at its very start.
 */
void tessera_split_replay_part(const struct tessera_split_input *in,
			       struct tessera_split_replay *replay,
			       const struct tessera_split_op *part)
{
	const struct tessera_patch *e = in->entries;
	u32 i;

	for (; replay->cursor < part->first; replay->cursor++) {
		u32 id = e[replay->cursor].alloc_index;

		if (in->allocs[id].flags & TESSERA_SPLIT_ALLOC_NULL)
			id = TESSERA_SPLIT_NONE;
		replay->table[e[replay->cursor].slot_id] = id;
	}
	for (i = part->first; i < in->n_entries &&
	     e[i].split_offset == part->start; i++)
		replay->table[e[i].slot_id] = TESSERA_SPLIT_NONE;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_split_replay_part);
