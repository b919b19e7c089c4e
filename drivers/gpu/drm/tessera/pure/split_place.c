// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: placement inside a split plan
 *
 * Finds places for the allocations of one split point, without moving resident
 * ones. Part of the split planner.
 *
 * A place is a hole, or else the space of idle allocations. These are chosen by
 * their priority, then by the cost of bringing them back. The patch list tells
 * the future, so the allocation with the furthest next use is evicted first. An
 * allocation that the list names again counts as one of the highest priority.
 *
 * Every change is logged, so that an attempt that fails halfway can be undone.
 */
#include "split_priv.h"

/* Number of victims considered when space must be made. */
#define PLACE_CANDIDATES	8U
/* Distance to a next use if there is none. */
#define DISTANCE_NEVER		BIT_ULL(32)
/* Range of distances to the next use assumed for foreign blocks, by rank. */
#define PLACE_FOREIGN_NEAR	BIT_ULL(28)
#define PLACE_FOREIGN_FAR	BIT_ULL(32)

/*
 * Flags that order the victims. Foreign blocks that are evicted after the
 * submission's own memory have none.
 */
#define KEY_USED		BIT_ULL(60)
#define KEY_UNUSED		BIT_ULL(61)
#define KEY_FIRST		BIT_ULL(62)
#define KEY_CLEAN		BIT_ULL(32)
#define KEY_PRIORITY_SHIFT	33

/* Among equal tiers, the priority decides before the cost (SEG-37). */
static u8 priority_of(const struct split *split, u32 id)
{
	if (split_is_foreign(split, id))
		return split_block(split, id)->priority;
	return split->al[id].next_use == SPLIT_NEVER ? split->in->allocs[id].priority :
						       TESSERA_VICTIM_PRIORITIES - 1;
}

/*
 * Position of a node in the order of eviction; the greatest key is evicted
 * first. Among allocations that are not named again, those of the lowest
 * priority go first, then clean ones, then the one that has been idle longest.
 * Its job has likely ended by then, so the eviction does not wait.
 */
static u64 split_victim_key(const struct split *split, u32 id)
{
	const struct tessera_split_block *block;

	if (!split_is_foreign(split, id)) {
		const struct split_alloc *alloc = &split->al[id];

		if (alloc->next_use == SPLIT_NEVER)
			return KEY_UNUSED | (alloc->clean ? KEY_CLEAN : 0) |
			       (U32_MAX - alloc->idle) |
			       (u64)(TESSERA_VICTIM_PRIORITIES - 1 - priority_of(split, id)) <<
				       KEY_PRIORITY_SHIFT;
		return KEY_USED | alloc->next_use;
	}
	block = split_block(split, id);
	if (block->tier == TESSERA_VICTIM_TAKE_FIRST)
		return KEY_FIRST | (U32_MAX - block->rank);
	return U32_MAX - block->rank;
}

/**
 * split_is_usable() - test whether an allocation can be used where it is
 * @split: planner
 * @id: allocation
 *
 * Return: true if it is resident at a place that this submission may use.
 */
bool split_is_usable(const struct split *split, u32 id)
{
	const struct tessera_plan_map_node *n = &split->map.node[id];

	if (split->al[id].fixed)
		return true;
	return n->linked && split->al[id].mask & BIT(n->seg) &&
	       IS_ALIGNED(n->start, split_align(split, id, n->seg));
}

/*
 * Make a linked node a possible victim. The heap has space for all that the
 * input lists for a segment. If it is full, the input has changed during
 * planning (-EAGAIN).
 */
static void offer(struct split *split, u32 id)
{
	u64 key = split_victim_key(split, id);

	if (!tessera_plan_map_heap_push(&split->map, id, key) && !split->err)
		split->err = -EAGAIN;
}

/**
 * split_populate() - fill the plan map with the blocks of the input
 * @split: planner
 */
void split_populate(struct split *split)
{
	u32 i, seg = TESSERA_SPLIT_NONE, prev = 0;

	tessera_plan_map_reset(&split->map, split->seg_size);
	for (i = 0; i < split->in->n_blocks; i++) {
		const struct tessera_split_block *block = &split->in->blocks[i];
		bool foreign = block->alloc == TESSERA_SPLIT_NONE;
		u32 id = foreign ? split->in->n_allocs + i : block->alloc;

		if (block->seg != seg) {
			seg = block->seg;
			prev = split->map.seg[seg].head;
		}
		tessera_plan_map_insert(&split->map, prev, id, block->start, block->size);
		prev = id;
		if (foreign ? block->tier >= TESSERA_VICTIM_LAST_RESORT :
			      split->al[id].fixed)
			tessera_plan_map_protect(&split->map, id, true);
		else
			offer(split, id);
	}
}

/**
 * split_enter_w() - add a resident allocation to the working set
 * @split: planner
 * @id: allocation
 */
void split_enter_w(struct split *split, u32 id)
{
	struct split_alloc *alloc = &split->al[id];

	tessera_plan_map_heap_remove(&split->map, id);
	tessera_plan_map_protect(&split->map, id, true);
	alloc->in_w = true;
	split->wset[split->n_w++] = id;
}

/**
 * split_leave_w() - make an allocation of the working set idle
 * @split: planner
 * @id: allocation; the caller removes it from @wset
 */
void split_leave_w(struct split *split, u32 id)
{
	split->al[id].in_w = false;
	if (split->al[id].fixed)
		return;
	split->al[id].idle = ++split->clock;
	tessera_plan_map_protect(&split->map, id, false);
	offer(split, id);
}

/**
 * split_log_add() - log a state change of a linked node
 * @split: planner
 * @type: EVICT, before it is done, or MOVE or PAGE_IN, after it
 * @id: node
 *
 * Return: the log entry.
 */
struct split_log *split_log_add(struct split *split, u8 type, u32 id)
{
	const struct tessera_plan_map_node *n = &split->map.node[id];
	struct split_log *log = &split->log[split->n_log++];

	log->type = type;
	log->id = id;
	log->prev = n->prev;
	log->seg = n->seg;
	log->off = n->start;
	log->src_seg = n->seg;
	log->src = n->start;
	log->clean = !split_is_foreign(split, id) && split->al[id].clean;
	return log;
}

/**
 * split_evict() - evict a node
 * @split: planner
 * @id: linked node
 */
void split_evict(struct split *split, u32 id)
{
	tessera_plan_map_heap_remove(&split->map, id);
	split_log_add(split, TESSERA_SPLIT_EVICT, id);
	tessera_plan_map_remove(&split->map, id);
}

/**
 * split_did_page_in() - log a page-in and add the allocation to the working set
 * @split: planner
 * @id: allocation that was just linked
 */
void split_did_page_in(struct split *split, u32 id)
{
	u32 flags = split->in->allocs[id].flags;

	split_log_add(split, TESSERA_SPLIT_PAGE_IN, id);
	split->al[id].clean = flags & TESSERA_SPLIT_ALLOC_KEEP_COPY &&
			  !(flags & TESSERA_SPLIT_ALLOC_WRITTEN);
	if (split->al[id].in_w)
		tessera_plan_map_protect(&split->map, id, true);
	else
		split_enter_w(split, id);
}

/**
 * split_node_below() - find the node below a place
 * @split: planner
 * @prev: a node below, not necessarily the next one
 * @off: offset
 *
 * Return: last node that ends at or below @off.
 */
u32 split_node_below(const struct split *split, u32 prev, u64 off)
{
	const struct tessera_plan_map_node *node = split->map.node;
	u32 n = node[prev].next;

	while (node[n].next != TESSERA_PLAN_MAP_NONE &&
	       tessera_plan_map_end(&node[n]) <= off) {
		prev = n;
		n = node[n].next;
	}
	return prev;
}

/* Page @id in at @off, evicting all nodes there; @prev lies somewhere below. */
static void do_place(struct split *split, u32 id, u64 off, u32 prev)
{
	struct tessera_plan_map_node *node = split->map.node;
	struct tessera_plan_map_seg *seg = &split->map.seg[node[prev].seg];
	u64 size = split_bytes(split, id, node[prev].seg), end = off + size;
	u64 hole_max = seg->hole_max;
	u32 n;

	prev = split_node_below(split, prev, off);
	n = node[prev].next;
	while (node[n].start < end) {
		split_evict(split, n);
		n = node[prev].next;
	}
	/*
	 * Holes are unchanged, except for the rest of the cleared space beside
	 * the allocation.
	 */
	seg->hole_max = max3(hole_max, off - tessera_plan_map_end(&node[prev]),
			     node[n].start - end);
	tessera_plan_map_insert(&split->map, prev, id, off, size);
	split_did_page_in(split, id);
}

static void undo_one(struct split *split, const struct split_log *log)
{
	u64 size = split_is_foreign(split, log->id) ? split->map.node[log->id].size :
						split_bytes(split, log->id, log->src_seg);

	if (log->type != TESSERA_SPLIT_EVICT) {
		tessera_plan_map_remove(&split->map, log->id);
		split->al[log->id].in_w = false;
	}
	if (log->type == TESSERA_SPLIT_PAGE_IN)
		return;
	if (!split_is_foreign(split, log->id))
		split->al[log->id].clean = log->clean;
	tessera_plan_map_insert(&split->map, log->prev, log->id, log->src, size);
	offer(split, log->id);
}

/* Undo log entries from @n_log on, and shrink the working set to @n_w. */
static void undo_to(struct split *split, u32 n_log, u32 n_w)
{
	while (split->n_log > n_log)
		undo_one(split, &split->log[--split->n_log]);
	split->n_w = n_w;
}

/* A candidate: a range to take, with the cost of bringing its contents back. */
struct candidate {
	u64 off;
	u64 cost;
	u32 prev;
	u32 n_after_own;
	/* The highest priority of a node that has to leave. */
	u8 priority;
};

/*
 * Distance to the next use of an idle node. Among foreign nodes, those with the
 * lowest rank are furthest.
 */
static u64 next_use_distance(const struct split *split, u32 id)
{
	u64 range;

	if (!split_is_foreign(split, id)) {
		u32 next = split->al[id].next_use;

		return next == SPLIT_NEVER ? PLACE_FOREIGN_FAR :
					     next - split->now + 1;
	}
	range = (u64)split->rank_max - split->rank_min + 1;
	return PLACE_FOREIGN_FAR -
	       div64_u64((split_block(split, id)->rank - split->rank_min) *
			 (PLACE_FOREIGN_FAR - PLACE_FOREIGN_NEAR), range);
}

/*
 * Add the cost of evicting @id: its bytes, twice if the allocation must be
 * written back, divided by the distance to the next use. With equal sizes, the
 * least cost means the furthest next use. In an aperture no bytes are copied,
 * so they count as 1/16.
 */
static void candidate_charge(const struct split *split, struct candidate *candidate, u32 id)
{
	const struct tessera_plan_map_node *n = &split->map.node[id];
	u64 bytes = n->size;

	candidate->priority = max(candidate->priority, priority_of(split, id));
	if (split->in->segs[n->seg].flags & TESSERA_SPLIT_SEG_APERTURE)
		bytes = DIV_ROUND_UP_ULL(bytes, 16);
	if (split_is_foreign(split, id))
		candidate->n_after_own += split_block(split, id)->tier ==
				  TESSERA_VICTIM_TAKE_AFTER_OWN;
	else if (!split->al[id].clean)
		bytes *= 2;
	candidate->cost += div64_u64(bytes << 14, next_use_distance(split, id));
}

/*
 * The cost is an estimate of the future. Each variant distorts some estimates
 * in its own way, and the resulting plans are compared.
 */
static void candidate_vary(struct split *split, struct candidate *candidate)
{
	if (!split->variant)
		return;
	split->random = split->random * 0x5851f42d4c957f2dULL + 0x14057b7ef767814fULL;
	candidate->cost +=
		(candidate->cost + 1) * (split->random >> 54) >> (9 + (split->variant & 1));
}

/*
 * Candidate of @size at @off, charged with all nodes in it; @n does not lie
 * above it.
 */
static struct candidate candidate_at(struct split *split, u32 n, u64 off, u64 size)
{
	const struct tessera_plan_map_node *node = split->map.node;
	struct candidate candidate = { .off = off };

	while (tessera_plan_map_end(&node[n]) <= off)
		n = node[n].next;
	candidate.prev = node[n].prev;
	for (; node[n].start < off + size; n = node[n].next)
		candidate_charge(split, &candidate, n);
	candidate_vary(split, &candidate);
	return candidate;
}

static bool candidate_is_better(const struct candidate *candidate, const struct candidate *than)
{
	if (candidate->n_after_own != than->n_after_own)
		return candidate->n_after_own < than->n_after_own;
	if (candidate->priority != than->priority)
		return candidate->priority < than->priority;
	return candidate->cost < than->cost;
}

/*
 * Widen the space of @victim to its idle neighbours until @id fits. The
 * candidate is at the lower end. A variant also tries the upper end.
 */
static bool candidate_around(struct split *split, u32 victim, u32 id, struct candidate *candidate)
{
	const struct tessera_plan_map_node *node = split->map.node;
	u64 size = split_bytes(split, id, node[victim].seg);
	u64 align = split_align(split, id, node[victim].seg), off;
	u32 low = victim, high = victim;
	struct candidate top;

	for (;;) {
		u32 below = node[low].prev, above = node[high].next;

		off = tessera_plan_map_fit(tessera_plan_map_end(&node[below]),
					   node[above].start, size, align);
		if (off != U64_MAX)
			break;
		if (node[below].prot && node[above].prot)
			return false;
		if (node[above].prot ||
		    (!node[below].prot && split_victim_key(split, below) >
				       split_victim_key(split, above)))
			low = below;
		else
			high = above;
	}
	*candidate = candidate_at(split, low, off, size);
	if (!split->variant)
		return true;
	off = ALIGN_DOWN(node[node[high].next].start - size, align);
	top = candidate_at(split, low, off, size);
	if (candidate_is_better(&top, candidate))
		*candidate = top;
	return true;
}

/*
 * Find the cheapest candidate around the first victims of a segment, or else
 * any place.
 */
static bool find_candidate(struct split *split, u32 seg, u32 id, struct candidate *best)
{
	u64 size = split_bytes(split, id, seg), align = split_align(split, id, seg);
	const struct tessera_plan_map_seg *seg_map = &split->map.seg[seg];
	u32 n = min(seg_map->n_heap, PLACE_CANDIDATES), i;
	struct candidate candidate;
	bool found = false;

	for (i = 0; i < n; i++) {
		u32 victim = seg_map->heap[i].node;

		if (!candidate_around(split, victim, id, &candidate))
			continue;
		if (!found || candidate_is_better(&candidate, best))
			*best = candidate;
		found = true;
		/* No place is better than that of the first victim. */
		if (!i && split->map.node[victim].size == size)
			break;
	}
	if (!found)
		best->off = tessera_plan_map_find_gap(&split->map, seg, size, align,
						      &best->prev);
	return best->off != U64_MAX;
}

/* The latest next use among the allocations that a cut here would make idle. */
static u32 furthest_freed(const struct split *split)
{
	u32 far = split->far, i;

	for (i = split->now; i < split->group_end; i++) {
		u32 old = split->table[split->in->entries[i].slot_id];

		if (old != TESSERA_SPLIT_NONE && split->al[old].n_slots == 1)
			far = max(far, split->al[old].next_use);
	}
	return far;
}

/* Bytes that cross the bus if @id is evicted and paged in again. */
static u64 return_bytes(const struct split *split, u32 id)
{
	return split->al[id].clean ? split->al[id].size : 2 * split->al[id].size;
}

/*
 * Decide whether a cut here pays. Without a cut, the nodes in the candidate are
 * evicted. With a cut, an allocation that the pending part has finished with
 * could be evicted instead, one that is needed later or never again. The saving
 * is a fraction of the bytes out and back. It depends on how much later the
 * next use is. The savings forgone since the last cut are summed up. Once they
 * exceed the cost of a part, the cut is made.
 */
static bool is_worth_cut(struct split *split, const struct candidate *candidate, u64 size)
{
	const struct tessera_plan_map_node *node = split->map.node;
	u32 n = node[split_node_below(split, candidate->prev, candidate->off)].next, far = 0;

	for (; node[n].start < candidate->off + size; n = node[n].next) {
		u64 whole, sooner, distance;

		if (split_is_foreign(split, n))
			continue;
		far = far ?: furthest_freed(split);
		if (split->al[n].next_use >= far)
			continue;
		whole = return_bytes(split, n);
		distance = far == SPLIT_NEVER ? DISTANCE_NEVER : far - split->now + 1;
		sooner = split->al[n].next_use - split->now + 1;
		split->forgone += whole - (whole <= S32_MAX ?
				       div64_u64(whole * sooner, distance) :
				       mul_u64_u64_div_u64(whole, sooner, distance));
	}
	return split->forgone > split->in->cut_cost_bytes;
}

/* Evict, at any offset, as many bytes as the commit limit requires. */
static bool meet_commit(struct split *split, u32 seg, u64 size)
{
	struct tessera_plan_map_seg *at = &split->map.seg[seg];

	if (at->kept + size > split->seg_commit[seg])
		return false;
	while (at->used + size > split->seg_commit[seg])
		split_evict(split, at->heap[0].node);
	return true;
}

static bool place_in_seg(struct split *split, u32 id, u32 seg)
{
	u64 size = split_bytes(split, id, seg), align = split_align(split, id, seg);
	struct candidate candidate = {};

	/* The searches may look at all nodes of the segment. */
	split_tick(split, split->map.seg[seg].n_heap);
	if (split->seg_commit[seg] < split->seg_size[seg] && !meet_commit(split, seg, size))
		return false;
	candidate.off = tessera_plan_map_find_hole(&split->map, seg, size, align, &candidate.prev);
	if (candidate.off == U64_MAX && !find_candidate(split, seg, id, &candidate))
		return false;
	if (split->may_cut && is_worth_cut(split, &candidate, size)) {
		split->wants_cut = true;
		return false;
	}
	do_place(split, id, candidate.off, candidate.prev);
	return true;
}

static bool place_one(struct split *split, u32 id)
{
	const struct tessera_split_alloc *alloc = &split->in->allocs[id];
	u32 cursor = 0;
	u8 seg;

	/* It is resident where it cannot be used. */
	if (split->map.node[id].linked)
		split_evict(split, id);
	while (!split->wants_cut &&
	       (seg = tessera_pack_seg_at(split->al[id].mask, alloc->pref, alloc->n_pref,
					  &cursor)) != 0xff)
		if (place_in_seg(split, id, seg))
			return true;
	return false;
}

/**
 * split_place_members() - place the group's members without moving resident
 * ones
 * @split: planner; the group's members are listed
 *
 * On success all members are in the working set, and the log has all changes.
 * On failure only the usable resident members are, and nothing was evicted.
 *
 * Return: 0 or -ENOSPC.
 */
int split_place_members(struct split *split)
{
	u32 n_log = split->n_log, n_w, i;

	for (i = 0; i < split->n_member; i++)
		if (!split->al[split->member[i]].in_w && split_is_usable(split, split->member[i]))
			split_enter_w(split, split->member[i]);
	n_w = split->n_w;
	for (i = 0; i < split->n_member; i++) {
		if (split->al[split->member[i]].in_w)
			continue;
		if (!place_one(split, split->member[i])) {
			undo_to(split, n_log, n_w);
			return -ENOSPC;
		}
	}
	return 0;
}
