// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: placement inside a split plan
 *
 * Finds places for the allocations of one split point. Part of the split planner.
 *
 * Everything stays where it is: the place is a hole, or else the room of idle
 * allocations, chosen by what their return would cost; as the patch list is the
 * future, the one with the furthest next use goes first.
 *
 * Every change is logged, so that an attempt that fails half way can be undone.
 */
#include "split_priv.h"

/* Candidates looked at when room must be made. */
#define PLACE_CANDIDATES	8U
/* Nodes looked at inside a gap by a variant that looks further. */
#define INSIDE_STEPS		64U
/* The first variant whose guesses differ. */
#define VARIANT_RANDOM		2U
/* Distance to a next use that never comes. */
#define DISTANCE_NEVER		BIT_ULL(32)
/* Distances to the next use that foreign blocks count with, by rank. */
#define PLACE_FOREIGN_NEAR	BIT_ULL(28)
#define PLACE_FOREIGN_FAR	BIT_ULL(32)

/* Classes of victims; foreign ones that go after own memory have none. */
#define KEY_USED		BIT_ULL(60)
#define KEY_UNUSED		BIT_ULL(61)
#define KEY_FIRST		BIT_ULL(62)

/**
 * split_victim_key() - place of a node in the order of eviction
 * @s: planner
 * @id: node
 *
 * Return: key; the greatest goes first.
 */
u64 split_victim_key(const struct split *s, u32 id)
{
	const struct tessera_split_block *b;

	if (!split_is_foreign(s, id)) {
		const struct split_alloc *al = &s->al[id];

		if (al->next_use == SPLIT_NEVER)
			return KEY_UNUSED | al->clean;
		return KEY_USED | al->next_use;
	}
	b = split_block(s, id);
	if (b->tier == TESSERA_VICTIM_TAKE_FIRST)
		return KEY_FIRST | (U32_MAX - b->rank);
	return U32_MAX - b->rank;
}

/**
 * split_is_ghost() - whether the plain algorithm has given up a resident allocation
 * @s: planner
 * @id: resident allocation outside the working set
 *
 * The plain algorithm evicts all that is idle at once. Here the eviction is put
 * off until the room is taken, but places are chosen as if it had happened.
 *
 * Return: true if the allocation counts as evicted.
 */
bool split_is_ghost(const struct split *s, u32 id)
{
	return s->plain && s->al[id].idle < s->seg_swept[s->sp.node[id].seg];
}

/**
 * split_is_usable() - whether an allocation can be used where it is
 * @s: planner
 * @id: allocation
 *
 * Return: true if it is resident, and where this submission may use it.
 */
bool split_is_usable(const struct split *s, u32 id)
{
	const struct tessera_space_node *n = &s->sp.node[id];

	if (s->al[id].fixed)
		return true;
	return n->linked && s->al[id].mask & BIT(n->seg) &&
	       IS_ALIGNED(n->start, split_align(s, id, n->seg)) &&
	       !split_is_ghost(s, id);
}

/**
 * split_enter_w() - add a resident allocation to the working set
 * @s: planner
 * @id: allocation
 */
void split_enter_w(struct split *s, u32 id)
{
	struct split_alloc *al = &s->al[id];

	tessera_space_heap_remove(&s->sp, id);
	tessera_space_protect(&s->sp, id, true);
	al->in_w = true;
	s->wset[s->n_w++] = id;
}

/**
 * split_leave_w() - an allocation of the working set becomes idle
 * @s: planner
 * @id: allocation; the caller takes it off the list
 */
void split_leave_w(struct split *s, u32 id)
{
	s->al[id].in_w = false;
	if (s->al[id].fixed)
		return;
	s->al[id].idle = ++s->clock;
	tessera_space_protect(&s->sp, id, false);
	tessera_space_heap_push(&s->sp, id, split_victim_key(s, id));
}

/**
 * split_log_add() - note a state change of a linked node
 * @s: planner
 * @type: EVICT, before it is done, or MOVE or PAGE_IN, after it
 * @id: node
 *
 * Return: what was noted.
 */
struct split_log *split_log_add(struct split *s, u8 type, u32 id)
{
	const struct tessera_space_node *n = &s->sp.node[id];
	struct split_log *l = &s->log[s->n_log++];

	l->type = type;
	l->id = id;
	l->prev = n->prev;
	l->seg = n->seg;
	l->off = n->start;
	l->src_seg = n->seg;
	l->src = n->start;
	l->clean = !split_is_foreign(s, id) && s->al[id].clean;
	return l;
}

/**
 * split_evict() - evict a node
 * @s: planner
 * @id: linked node
 */
void split_evict(struct split *s, u32 id)
{
	tessera_space_heap_remove(&s->sp, id);
	split_log_add(s, TESSERA_SPLIT_EVICT, id);
	tessera_space_remove(&s->sp, id);
}

/**
 * split_did_page_in() - note that an allocation was just linked: it is wanted now
 * @s: planner
 * @id: allocation
 */
void split_did_page_in(struct split *s, u32 id)
{
	u32 flags = s->in->allocs[id].flags;

	split_log_add(s, TESSERA_SPLIT_PAGE_IN, id);
	s->al[id].clean = flags & TESSERA_SPLIT_ALLOC_KEEP_COPY &&
			  !(flags & TESSERA_SPLIT_ALLOC_WRITTEN);
	if (s->al[id].in_w)
		tessera_space_protect(&s->sp, id, true);
	else
		split_enter_w(s, id);
}

/**
 * split_node_below() - find the node below a place
 * @s: planner
 * @prev: node somewhere below
 * @off: offset
 *
 * Return: last node that ends at or below @off.
 */
u32 split_node_below(const struct split *s, u32 prev, u64 off)
{
	const struct tessera_space_node *node = s->sp.node;
	u32 n = node[prev].next;

	while (node[n].next != TESSERA_SPACE_NONE &&
	       tessera_space_end(&node[n]) <= off) {
		prev = n;
		n = node[n].next;
	}
	return prev;
}

/* Page @id in at @off, evicting what is there; @prev lies somewhere below. */
static void do_place(struct split *s, u32 id, u64 off, u32 prev)
{
	struct tessera_space_node *node = s->sp.node;
	u64 size = split_bytes(s, id, node[prev].seg), end = off + size;
	u32 n;

	prev = split_node_below(s, prev, off);
	n = node[prev].next;
	if (node[n].start < end && node[node[n].next].start >= end) {
		tessera_space_heap_remove(&s->sp, n);
		split_log_add(s, TESSERA_SPLIT_EVICT, n);
		tessera_space_replace(&s->sp, n, id, off, size);
	} else {
		while (node[n].start < end) {
			split_evict(s, n);
			n = node[prev].next;
		}
		tessera_space_insert(&s->sp, prev, id, off, size);
	}
	split_did_page_in(s, id);
}

/*
 * Move @id, which is idle, to @off of segment @seg, evicting what else is there.
 * @prev lies somewhere below, and is not @id.
 */
static void do_place_by_move(struct split *s, u32 id, u64 off, u32 prev)
{
	struct tessera_space_node *node = s->sp.node;
	u64 src = node[id].start, size = split_bytes(s, id, node[prev].seg);
	u8 src_seg = node[id].seg;
	u32 src_prev, n, next;
	struct split_log *l;

	for (n = node[split_node_below(s, prev, off)].next; node[n].start < off + size;
	     n = next) {
		next = node[n].next;
		if (n != id)
			split_evict(s, n);
	}
	src_prev = node[id].prev;
	tessera_space_heap_remove(&s->sp, id);
	tessera_space_remove(&s->sp, id);
	tessera_space_insert(&s->sp, split_node_below(s, prev, off), id, off, size);
	l = split_log_add(s, TESSERA_SPLIT_MOVE, id);
	l->src = src;
	l->src_seg = src_seg;
	l->prev = src_prev;
	split_enter_w(s, id);
}

static void undo_one(struct split *s, const struct split_log *l)
{
	u64 size = split_is_foreign(s, l->id) ? s->sp.node[l->id].size :
						split_bytes(s, l->id, l->src_seg);

	if (l->type != TESSERA_SPLIT_EVICT) {
		tessera_space_remove(&s->sp, l->id);
		s->al[l->id].in_w = false;
	}
	if (l->type == TESSERA_SPLIT_PAGE_IN)
		return;
	if (!split_is_foreign(s, l->id))
		s->al[l->id].clean = l->clean;
	tessera_space_insert(&s->sp, l->prev, l->id, l->src, size);
	tessera_space_heap_push(&s->sp, l->id, split_victim_key(s, l->id));
}

/* Take back what the log has from @n_log on, and the working set from @n_w on. */
static void undo_to(struct split *s, u32 n_log, u32 n_w)
{
	u32 i;

	while (s->n_log > n_log)
		undo_one(s, &s->log[--s->n_log]);
	for (i = n_w; i < s->n_w; i++) {
		u32 id = s->wset[i];

		if (!s->al[id].in_w)
			continue;
		/* It entered without paging: a place kept by the plain way. */
		s->al[id].in_w = false;
		tessera_space_protect(&s->sp, id, false);
		tessera_space_heap_push(&s->sp, id, split_victim_key(s, id));
	}
	s->n_w = n_w;
}

/* A range to take, with what it would cost to bring its holders back. */
struct window {
	u64 off;
	u64 cost;
	u32 prev;
	u32 n_after_own;
	bool exact;
};

/* Distance to the next use of an idle node; the oldest foreign ones are furthest. */
static u64 next_use_distance(const struct split *s, u32 id)
{
	u64 range;

	if (!split_is_foreign(s, id)) {
		u32 next = s->al[id].next_use;

		return next == SPLIT_NEVER ? PLACE_FOREIGN_FAR :
					     next - s->now + 1;
	}
	range = (u64)s->rank_max - s->rank_min + 1;
	return PLACE_FOREIGN_FAR -
	       div64_u64((split_block(s, id)->rank - s->rank_min) *
			 (PLACE_FOREIGN_FAR - PLACE_FOREIGN_NEAR), range);
}

/*
 * Cost of evicting @id: bytes out now and in later, over the distance to the
 * next use. With equal sizes the least cost is the furthest next use.
 */
static void window_charge(const struct split *s, struct window *w, u32 id)
{
	const struct tessera_space_node *n = &s->sp.node[id];
	u64 bytes = n->size;

	if (s->in->segs[n->seg].flags & TESSERA_SPLIT_SEG_APERTURE)
		bytes = DIV_ROUND_UP_ULL(bytes, 16);
	if (split_is_foreign(s, id))
		w->n_after_own += split_block(s, id)->tier ==
				  TESSERA_VICTIM_TAKE_AFTER_OWN;
	else if (!s->al[id].clean)
		bytes *= 2;
	w->cost += div64_u64(bytes << 14, next_use_distance(s, id));
}

/* Charge all that lies in the window; @n is a node at or below its start. */
static void window_charge_all(const struct split *s, struct window *w, u32 n,
			      u64 size)
{
	const struct tessera_space_node *node = s->sp.node;

	w->cost = 0;
	w->n_after_own = 0;
	for (; node[n].start < w->off + size; n = node[n].next)
		if (tessera_space_end(&node[n]) > w->off)
			window_charge(s, w, n);
}

/*
 * The cost is a guess about what lies ahead. A variant gets some of the guesses
 * wrong, each its own, and what comes of that is compared.
 */
static void window_vary(struct split *s, struct window *w)
{
	if (s->variant < VARIANT_RANDOM)
		return;
	s->random = s->random * 0x5851f42d4c957f2dULL + 0x14057b7ef767814fULL;
	w->cost += (w->cost + 1) * (s->random >> 54) >> (9 + (s->variant & 1));
}

static bool window_is_better(const struct window *w, const struct window *than)
{
	if (w->n_after_own != than->n_after_own)
		return w->n_after_own < than->n_after_own;
	return w->cost < than->cost;
}

/* Widen the room of victim @v to its idle neighbours until @id fits. */
static bool window_around(const struct split *s, u32 v, u32 id, struct window *w)
{
	const struct tessera_space_node *node = s->sp.node;
	u64 size = split_bytes(s, id, node[v].seg);
	u64 align = split_align(s, id, node[v].seg);
	u32 l = v, r = v;

	for (;;) {
		u32 pl = node[l].prev, nr = node[r].next;

		w->off = tessera_space_fit(tessera_space_end(&node[pl]),
					   node[nr].start, size, align);
		if (w->off != U64_MAX)
			break;
		if (node[pl].prot && node[nr].prot)
			return false;
		if (node[nr].prot ||
		    (!node[pl].prot && split_victim_key(s, pl) >
				       split_victim_key(s, nr)))
			l = pl;
		else
			r = nr;
	}
	w->prev = node[l].prev;
	w->exact = l == r && node[v].size == size;
	window_charge_all(s, w, l, size);
	return true;
}

/* Cheapest range around the likeliest victims of a segment. */
static bool find_window(const struct split *s, u32 seg, u32 id, struct window *best)
{
	const struct tessera_space_seg *sg = &s->sp.seg[seg];
	u32 n = min(sg->n_heap, PLACE_CANDIDATES), i;
	bool found = false;

	for (i = 0; i < n; i++) {
		struct window w;

		if (!window_around(s, sg->heap[i].node, id, &w))
			continue;
		if (!found || window_is_better(&w, best))
			*best = w;
		found = true;
		if (best->exact && !i)
			break;
	}
	return found;
}

/* The window of a gap's upper end, if it is another than that of the lower one. */
static bool window_at_top(const struct split *s, const struct tessera_space_gap *gap,
			  u64 size, u64 align, struct window *w)
{
	const struct tessera_space_node *node = s->sp.node;
	u32 n = node[gap->above].prev;

	w->off = ALIGN_DOWN(node[gap->above].start - size, align);
	if (w->off == gap->off)
		return false;
	while (node[n].start > w->off)
		n = node[n].prev;
	w->prev = tessera_space_end(&node[n]) <= w->off ? n : node[n].prev;
	window_charge_all(s, w, n, size);
	return true;
}

static void consider_window(struct split *s, struct window *w, struct window *best)
{
	window_vary(s, w);
	if (window_is_better(w, best))
		*best = *w;
}

static void try_window(struct split *s, struct window *w, u32 n, u64 size,
		       struct window *best)
{
	window_charge_all(s, w, n, size);
	consider_window(s, w, best);
}

/* Cheapest range that begins or ends where a node of the gap does. */
static void try_inside(struct split *s, const struct tessera_space_gap *gap, u64 size,
		       u64 align, struct window *best)
{
	const struct tessera_space_node *node = s->sp.node;
	u64 lo = tessera_space_end(&node[gap->below]), hi = node[gap->above].start;
	u32 n, first, steps = 0;

	for (n = gap->below; n != gap->above && steps++ < INSIDE_STEPS; n = node[n].next) {
		struct window w = { .off = ALIGN(tessera_space_end(&node[n]), align), .prev = n };
		u64 above = node[node[n].next].start;

		if (w.off + size <= hi)
			try_window(s, &w, n, size, best);
		if (above < lo + size)
			continue;
		w.off = ALIGN_DOWN(above - size, align);
		if (w.off < lo)
			continue;
		for (first = n; node[first].start > w.off; first = node[first].prev)
			;
		w.prev = tessera_space_end(&node[first]) <= w.off ? first :
								   node[first].prev;
		try_window(s, &w, first, size, best);
	}
}

/* The gap between protected nodes that victim @v is in; does it take the size? */
static bool gap_around(const struct split *s, u32 v, u64 size, u64 align,
		       struct tessera_space_gap *gap)
{
	const struct tessera_space_node *node = s->sp.node;

	for (gap->below = node[v].prev; !node[gap->below].prot; )
		gap->below = node[gap->below].prev;
	for (gap->above = node[v].next; !node[gap->above].prot; )
		gap->above = node[gap->above].next;
	gap->off = tessera_space_fit(tessera_space_end(&node[gap->below]),
				     node[gap->above].start, size, align);
	return gap->off != U64_MAX;
}

/*
 * Cheaper end of the gap that the likeliest victim is in. Nearly as good as a look at
 * several gaps, in a third of the time; where it matters, other variants follow.
 */
static bool find_fast(struct split *s, u32 seg, u32 id, struct window *best)
{
	u64 size = split_bytes(s, id, seg), align = split_align(s, id, seg);
	const struct tessera_space_seg *sg = &s->sp.seg[seg];
	struct tessera_space_gap gap;
	struct window w;

	if (!sg->n_heap || !gap_around(s, sg->heap[0].node, size, align, &gap))
		return false;
	best->off = gap.off;
	best->prev = gap.below;
	window_charge_all(s, best, gap.below, size);
	if (window_at_top(s, &gap, size, align, &w) && window_is_better(&w, best))
		*best = w;
	return true;
}

/*
 * Cheapest range at the end of some gap between protected nodes. What is placed
 * there leaves the rest of the gap in one piece, which with unequal sizes is
 * worth more than the choice among all ranges.
 */
static bool find_edge(struct split *s, u32 seg, u32 id, struct window *best)
{
	u64 size = split_bytes(s, id, seg), align = split_align(s, id, seg);
	struct tessera_space_gap gap;
	u32 n = 0;

	if (!tessera_space_find_gap(&s->sp, seg, size, align, &gap))
		return false;
	best->cost = U64_MAX;
	best->n_after_own = U32_MAX;
	do {
		struct window w = { .off = gap.off, .prev = gap.below };

		try_window(s, &w, gap.below, size, best);
		if (window_at_top(s, &gap, size, align, &w))
			consider_window(s, &w, best);
		if (s->variant)
			try_inside(s, &gap, size, align, best);
	} while (++n < PLACE_CANDIDATES &&
		 tessera_space_next_gap(&s->sp, size, align, &gap));
	return true;
}

/* With unequal sizes: the cheapest range that a look of the variant's length finds. */
static bool find_range(struct split *s, u32 seg, u32 id, struct window *best)
{
	if (!s->variant && s->in->cut_cost_bytes != U64_MAX &&
	    find_fast(s, seg, id, best))
		return true;
	return find_edge(s, seg, id, best);
}

/* Latest next use of what a cut here would set free. */
static u32 furthest_freed(const struct split *s)
{
	u32 far = s->far, i;

	for (i = s->now; i < s->group_end; i++) {
		u32 old = s->table[s->in->entries[i].slot_id];

		if (old != TESSERA_SPLIT_NONE && s->al[old].n_slots == 1)
			far = max(far, s->al[old].next_use);
	}
	return far;
}

/* Bytes that cross the bus because @id leaves and comes back. */
static u64 return_bytes(const struct split *s, u32 id)
{
	return s->al[id].clean ? s->al[id].size : 2 * s->al[id].size;
}

/*
 * Without a cut here, what lies in the window goes; with one, something could go
 * that the pending part is through with, and that is needed later or never again.
 * How much later says how much of the way out and back that saves. Parts pay for
 * themselves like that: once those savings since the last cut, all forgone, exceed
 * the cost of a part, the next one is not.
 */
static bool is_worth_cut(struct split *s, const struct window *w, u64 size)
{
	const struct tessera_space_node *node = s->sp.node;
	u32 n = node[split_node_below(s, w->prev, w->off)].next, far = 0;

	for (; node[n].start < w->off + size; n = node[n].next) {
		u64 whole, sooner, distance;

		if (split_is_foreign(s, n))
			continue;
		far = far ?: furthest_freed(s);
		if (s->al[n].next_use >= far)
			continue;
		whole = return_bytes(s, n);
		distance = far == SPLIT_NEVER ? DISTANCE_NEVER : far - s->now + 1;
		sooner = s->al[n].next_use - s->now + 1;
		s->forgone += whole - (whole <= S32_MAX ?
				       div64_u64(whole * sooner, distance) :
				       mul_u64_u64_div_u64(whole, sooner, distance));
	}
	return s->forgone > s->in->cut_cost_bytes;
}

/* As many bytes must go as the commit limit asks for, wherever they are. */
static bool meet_commit(struct split *s, u32 seg, u64 size)
{
	struct tessera_space_seg *at = &s->sp.seg[seg];

	if (at->kept + size > s->seg_commit[seg])
		return false;
	while (at->used + size > s->seg_commit[seg])
		split_evict(s, at->heap[0].node);
	return true;
}

static bool place_in_seg(struct split *s, u32 id, u32 seg)
{
	u64 size = split_bytes(s, id, seg), align = split_align(s, id, seg);
	struct tessera_space_gap gap;
	struct window w = {};

	if (s->seg_commit[seg] < s->seg_size[seg] && !meet_commit(s, seg, size))
		return false;
	w.off = tessera_space_find_hole(&s->sp, seg, size, align, &w.prev);
	if (w.off == U64_MAX && !s->sp.seg[seg].n_heap)
		return false;
	if (w.off == U64_MAX && s->uniform && !find_window(s, seg, id, &w)) {
		if (!tessera_space_find_gap(&s->sp, seg, size, align, &gap))
			return false;
		w.off = gap.off;
		w.prev = gap.below;
	} else if (w.off == U64_MAX && !s->uniform &&
		   !find_range(s, seg, id, &w)) {
		return false;
	}
	if (s->may_cut && is_worth_cut(s, &w, size)) {
		s->wants_cut = true;
		return false;
	}
	do_place(s, id, w.off, w.prev);
	return true;
}

/* Does the commit limit let @size more in, with what is idle gone or not? */
static bool commit_allows(const struct split *s, u32 seg, u64 size, bool idle_gone)
{
	const struct tessera_space_seg *at = &s->sp.seg[seg];

	return (idle_gone ? at->kept : at->used) + size <= s->seg_commit[seg];
}

/*
 * The plain algorithm: the lowest hole; failing that all that is idle leaves the
 * segment, and then the lowest hole.
 */
static bool place_plain_in_seg(struct split *s, u32 id, u32 seg)
{
	u64 size = split_bytes(s, id, seg), align = split_align(s, id, seg);
	struct tessera_space_node *n = &s->sp.node[id];
	struct tessera_space_gap gap = {};
	u64 off = U64_MAX;

	if (!s->seg_swept[seg]) {
		if (commit_allows(s, seg, size, false))
			off = tessera_space_find_hole(&s->sp, seg, size, align,
						      &gap.below);
		if (off == U64_MAX)
			s->seg_swept[seg] = ++s->clock;
	}
	if (s->seg_swept[seg]) {
		if (!commit_allows(s, seg, size, true) ||
		    !tessera_space_find_gap(&s->sp, seg, size, align, &gap))
			return false;
		off = gap.off;
	}
	if (n->linked && n->seg == seg && n->start == off) {
		split_enter_w(s, id);
		return true;
	}
	if (!commit_allows(s, seg, size, false)) {
		/* It leaves, too, and comes back: moves do not count well here. */
		if (n->linked)
			split_evict(s, id);
		meet_commit(s, seg, size);
	}
	if (n->linked)
		do_place_by_move(s, id, off, gap.below);
	else
		do_place(s, id, off, gap.below);
	return true;
}

static bool place_one(struct split *s, u32 id)
{
	const struct tessera_split_alloc *a = &s->in->allocs[id];
	u32 cursor = 0;
	u8 seg;

	/* Resident where it is of no use; a ghost may yet keep its place. */
	if (s->sp.node[id].linked && !split_is_ghost(s, id))
		split_evict(s, id);
	while (!s->wants_cut &&
	       (seg = tessera_pack_seg_at(s->al[id].mask, a->pref, a->n_pref,
					  &cursor)) != 0xff)
		if (s->plain ? place_plain_in_seg(s, id, seg) :
			       place_in_seg(s, id, seg))
			return true;
	return false;
}

/**
 * split_place_members() - find places with every resident one staying where it is
 * @s: planner; the group's members are listed
 *
 * On success all members are in the working set and the log has the way there.
 * On failure only the resident members are, and nothing has been evicted.
 *
 * Return: 0 or -ENOSPC.
 */
int split_place_members(struct split *s)
{
	u32 n_log = s->n_log, n_w, i;

	for (i = 0; i < s->n_member; i++)
		if (!s->al[s->member[i]].in_w && split_is_usable(s, s->member[i]))
			split_enter_w(s, s->member[i]);
	n_w = s->n_w;
	for (i = 0; i < s->n_member; i++) {
		if (s->al[s->member[i]].in_w)
			continue;
		if (!place_one(s, s->member[i])) {
			undo_to(s, n_log, n_w);
			return -ENOSPC;
		}
	}
	return 0;
}
