// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: placement inside a split plan
 *
 * Finds places for the allocations of one split point. Part of the split planner.
 *
 * The usual way leaves everything where it is: a hole, or else the room of idle
 * allocations, chosen by what their return would cost; as the patch list is the
 * future, the one with the furthest next use goes first. Where that fails and a
 * cut has lifted the restriction, unpinned allocations are moved: pushed together,
 * or packed anew by exhaustive search.
 *
 * Every change is logged, so that an attempt that fails half way can be undone.
 */
#include "split_priv.h"

/* Candidates looked at when room must be made. */
#define PLACE_CANDIDATES	8U
/* Distances to the next use that foreign blocks count with, by rank. */
#define PLACE_FOREIGN_NEAR	BIT_ULL(28)
#define PLACE_FOREIGN_FAR	BIT_ULL(32)
/* Steps one exhaustive search may take here. */
#define PLACE_SEARCH_LIMIT	400000ULL
/* With more moves than this at one cut, page out and in again instead. */
#define PLACE_MOVES_MAX		64U

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
	       IS_ALIGNED(n->start, s->al[id].align) && !split_is_ghost(s, id);
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

static struct split_log *log_add(struct split *s, u8 type, u32 id)
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

static void do_evict(struct split *s, u32 id)
{
	tessera_space_heap_remove(&s->sp, id);
	log_add(s, TESSERA_SPLIT_EVICT, id);
	tessera_space_remove(&s->sp, id);
}

/* An allocation was just linked: it is wanted now. */
static void did_page_in(struct split *s, u32 id)
{
	u32 flags = s->in->allocs[id].flags;

	log_add(s, TESSERA_SPLIT_PAGE_IN, id);
	s->al[id].clean = flags & TESSERA_SPLIT_ALLOC_KEEP_COPY &&
			  !(flags & TESSERA_SPLIT_ALLOC_WRITTEN);
	if (!s->al[id].in_w)
		split_enter_w(s, id);
}

/* Last node that ends at or below @off, searching up from @prev. */
static u32 node_below(const struct split *s, u32 prev, u64 off)
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
	u64 size = s->in->allocs[id].size, end = off + size;
	u32 n;

	prev = node_below(s, prev, off);
	n = node[prev].next;
	if (node[n].start < end && node[node[n].next].start >= end) {
		tessera_space_heap_remove(&s->sp, n);
		log_add(s, TESSERA_SPLIT_EVICT, n);
		tessera_space_replace(&s->sp, n, id, off, size);
	} else {
		while (node[n].start < end) {
			do_evict(s, n);
			n = node[prev].next;
		}
		tessera_space_insert(&s->sp, prev, id, off, size);
	}
	did_page_in(s, id);
}

/*
 * Move @id, which is idle, to @off of segment @seg, evicting what else is there.
 * @prev lies somewhere below, and is not @id.
 */
static void do_place_by_move(struct split *s, u32 id, u64 off, u32 prev)
{
	struct tessera_space_node *node = s->sp.node;
	u64 src = node[id].start, size = node[id].size;
	u8 src_seg = node[id].seg;
	u32 src_prev, n, next;
	struct split_log *l;

	for (n = node[node_below(s, prev, off)].next; node[n].start < off + size;
	     n = next) {
		next = node[n].next;
		if (n != id)
			do_evict(s, n);
	}
	src_prev = node[id].prev;
	tessera_space_heap_remove(&s->sp, id);
	tessera_space_remove(&s->sp, id);
	tessera_space_insert(&s->sp, node_below(s, prev, off), id, off, size);
	l = log_add(s, TESSERA_SPLIT_MOVE, id);
	l->src = src;
	l->src_seg = src_seg;
	l->prev = src_prev;
	split_enter_w(s, id);
}

static void undo_one(struct split *s, const struct split_log *l)
{
	u64 size = s->sp.node[l->id].size;

	if (l->type != TESSERA_SPLIT_EVICT) {
		tessera_space_remove(&s->sp, l->id);
		s->sp.node[l->id].prot = false;
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
	u64 size = s->in->allocs[id].size, align = s->al[id].align;
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

/*
 * Cheapest range at the end of some gap between protected nodes. What is placed
 * there leaves the rest of the gap in one piece, which with unequal sizes is
 * worth more than the choice among all ranges.
 */
static bool find_edge(struct split *s, u32 seg, u32 id, struct window *best)
{
	u64 size = s->in->allocs[id].size, align = s->al[id].align;
	struct tessera_space_gap gap;
	struct window w = {};
	u32 n = 1;

	if (!tessera_space_find_gap(&s->sp, seg, size, align, &gap))
		return false;
	best->off = gap.off;
	best->prev = gap.below;
	window_charge_all(s, best, gap.below, size);
	do {
		w.off = gap.off;
		w.prev = gap.below;
		window_charge_all(s, &w, gap.below, size);
		if (window_is_better(&w, best))
			*best = w;
		if (window_at_top(s, &gap, size, align, &w) &&
		    window_is_better(&w, best))
			*best = w;
	} while (n++ < PLACE_CANDIDATES &&
		 tessera_space_next_gap(&s->sp, size, align, &gap));
	return true;
}

static bool place_in_seg(struct split *s, u32 id, u32 seg)
{
	u64 size = s->in->allocs[id].size, align = s->al[id].align;
	struct tessera_space_gap gap;
	struct window w = {};

	w.off = tessera_space_find_hole(&s->sp, seg, size, align, &w.prev);
	if (w.off == U64_MAX && !s->sp.seg[seg].n_heap)
		return false;
	if (w.off == U64_MAX && s->uniform && !find_window(s, seg, id, &w)) {
		if (!tessera_space_find_gap(&s->sp, seg, size, align, &gap))
			return false;
		w.off = gap.off;
		w.prev = gap.below;
	} else if (w.off == U64_MAX && !s->uniform &&
		   !find_edge(s, seg, id, &w)) {
		return false;
	}
	do_place(s, id, w.off, w.prev);
	return true;
}

/*
 * The plain algorithm: the lowest hole; failing that all that is idle leaves the
 * segment, and then the lowest hole.
 */
static bool place_plain_in_seg(struct split *s, u32 id, u32 seg)
{
	u64 size = s->in->allocs[id].size, align = s->al[id].align;
	struct tessera_space_node *n = &s->sp.node[id];
	struct tessera_space_gap gap = {};
	u64 off = U64_MAX;

	if (!s->seg_swept[seg]) {
		off = tessera_space_find_hole(&s->sp, seg, size, align,
					      &gap.below);
		if (off == U64_MAX)
			s->seg_swept[seg] = ++s->clock;
	}
	if (s->seg_swept[seg]) {
		if (!tessera_space_find_gap(&s->sp, seg, size, align, &gap))
			return false;
		off = gap.off;
	}
	if (n->linked && n->seg == seg && n->start == off) {
		split_enter_w(s, id);
		return true;
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
		do_evict(s, id);
	while ((seg = tessera_pack_seg_at(s->al[id].mask, a->pref, a->n_pref,
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

/* Does node @id stand in the way at a cut, members aside? */
static bool is_obstacle(const struct split *s, u32 id, bool last_resort,
			bool members_stay)
{
	const struct tessera_space_node *n = &s->sp.node[id];

	if (!n->prot)
		return false;
	if (id >= s->sp.n_node)
		return true;
	if (split_is_foreign(s, id))
		return !last_resort ||
		       split_block(s, id)->tier == TESSERA_VICTIM_IMMOVABLE;
	return members_stay || s->al[id].fixed || s->al[id].stamp != s->stamp;
}

static void collect_gaps(struct split *s, u32 mask, bool last_resort,
			 bool members_stay)
{
	const struct tessera_space_node *node = s->sp.node;
	u32 seg;

	s->pack.n_gap = 0;
	for (seg = 0; seg < s->in->n_segs; seg++) {
		u32 below = s->sp.seg[seg].head, n;

		if (!(mask & BIT(seg)))
			continue;
		for (n = node[below].next; n != TESSERA_SPACE_NONE;
		     n = node[n].next) {
			struct tessera_pack_gap *g =
				&s->pack.gap[s->pack.n_gap];

			if (!is_obstacle(s, n, last_resort, members_stay))
				continue;
			g->start = tessera_space_end(&node[below]);
			g->end = node[n].start;
			g->cur = g->start;
			g->below = below;
			g->seg = seg;
			s->pack.n_gap += g->end > g->start;
			below = n;
		}
	}
}

/* Residents first, from the bottom up; then the others in list order. */
static bool item_before(const struct tessera_pack_item *a,
			const struct tessera_pack_item *b)
{
	if (a->fixed != b->fixed)
		return a->fixed;
	if (a->fixed && a->seg != b->seg)
		return a->seg < b->seg;
	if (a->fixed)
		return a->off < b->off;
	return a->order < b->order;
}

/* One item per movable member; residents count as fixed, where they are now. */
static u32 collect_items(struct split *s)
{
	struct tessera_pack_item *it = s->pack.item;
	u32 mask = 0, n_item = 0, i;

	for (i = 0; i < s->n_member; i++) {
		const struct tessera_space_node *n = &s->sp.node[s->member[i]];

		if (s->al[s->member[i]].fixed)
			continue;
		split_item_init(s, &it[n_item], s->member[i], n->linked);
		it[n_item].order = i;
		it[n_item].seg = n->seg;
		it[n_item].off = n->start;
		mask |= it[n_item++].mask;
	}
	s->pack.n_item = n_item;
	tessera_pack_sort(it, n_item, item_before);
	for (i = 0; i < n_item; i++)
		s->al[it[i].id].item = i;
	return mask;
}

/* Push residents down inside their gaps; collect_items() sorted them. */
static void slide(struct split *s)
{
	struct tessera_pack *p = &s->pack;
	u32 i, g = 0;

	for (i = 0; i < p->n_item && p->item[i].fixed; i++) {
		struct tessera_pack_item *it = &p->item[i];

		while (p->gap[g].seg != it->seg || p->gap[g].end <= it->off)
			g++;
		it->off = ALIGN(p->gap[g].cur, it->align);
		it->gap = g;
		p->gap[g].cur = it->off + it->size;
	}
}

static void free_all_items(struct split *s)
{
	u32 i;

	for (i = 0; i < s->pack.n_item; i++)
		s->pack.item[i].fixed = false;
}

/* Is the item's target clear of all but itself? */
static bool target_is_clear(const struct split *s,
			    const struct tessera_pack_item *it)
{
	const struct tessera_space_node *node = s->sp.node;
	u32 n = node[node_below(s, s->pack.gap[it->gap].below, it->off)].next;

	for (; node[n].start < it->off + it->size; n = node[n].next)
		if (n != it->id)
			return false;
	return true;
}

static bool is_at_target(const struct split *s, const struct tessera_pack_item *it)
{
	const struct tessera_space_node *n = &s->sp.node[it->id];

	return n->linked && n->seg == it->seg && n->start == it->off;
}

/* Evict what lies in the target of an item and is not to be moved itself. */
static void clear_target(struct split *s, const struct tessera_pack_item *it)
{
	struct tessera_space_node *node = s->sp.node;
	u32 n, next;

	n = node[node_below(s, s->pack.gap[it->gap].below, it->off)].next;
	for (; node[n].start < it->off + it->size; n = next) {
		next = node[n].next;
		if (!split_is_foreign(s, n) && s->al[n].stamp == s->stamp)
			continue;
		do_evict(s, n);
		node[n].prot = false;
	}
}

static void do_move(struct split *s, const struct tessera_pack_item *it)
{
	struct tessera_space_node *n = &s->sp.node[it->id];
	u64 src = n->start;
	u8 src_seg = n->seg;
	struct split_log *l;

	tessera_space_remove(&s->sp, it->id);
	tessera_space_insert(&s->sp,
			     node_below(s, s->pack.gap[it->gap].below, it->off),
			     it->id, it->off, it->size);
	l = log_add(s, TESSERA_SPLIT_MOVE, it->id);
	l->src = src;
	l->src_seg = src_seg;
}

/* One round over the residents; the number that still have to move. */
static u32 move_round(struct split *s, bool evict, bool *progress)
{
	struct tessera_pack_item *it = s->pack.item;
	u32 left = 0, i;

	*progress = false;
	for (i = 0; i < s->pack.n_item; i++) {
		if (!s->sp.node[it[i].id].linked || is_at_target(s, &it[i]))
			continue;
		if (evict) {
			do_evict(s, it[i].id);
			evict = s->pack.n_item > PLACE_MOVES_MAX;
			*progress = true;
		} else if (target_is_clear(s, &it[i])) {
			do_move(s, &it[i]);
			*progress = true;
		} else {
			left++;
		}
	}
	return left;
}

/*
 * Bring every member to its target. A move may overlap only its own source, so
 * moves wait for each other; where they wait in a ring, one goes through the
 * system.
 */
static void execute_targets(struct split *s)
{
	struct tessera_pack_item *it = s->pack.item;
	bool progress = s->pack.n_item <= PLACE_MOVES_MAX;
	u32 i;

	for (i = 0; i < s->pack.n_item; i++)
		if (!is_at_target(s, &it[i]))
			clear_target(s, &it[i]);
	while (move_round(s, !progress, &progress))
		;
	for (i = 0; i < s->n_member; i++) {
		u32 id = s->member[i];
		const struct tessera_pack_item *t = &it[s->al[id].item];

		if (s->sp.node[id].linked) {
			if (!s->al[id].in_w)
				split_enter_w(s, id);
			continue;
		}
		tessera_space_insert(&s->sp,
				     node_below(s, s->pack.gap[t->gap].below,
						t->off),
				     id, t->off, t->size);
		did_page_in(s, id);
	}
}

/* Residents that cannot be used where they are leave first. */
static void evict_unusable(struct split *s)
{
	u32 i;

	for (i = 0; i < s->n_member; i++) {
		u32 id = s->member[i];

		if (!s->al[id].in_w && s->sp.node[id].linked)
			do_evict(s, id);
	}
}

static bool find_targets(struct split *s, bool last_resort)
{
	u32 mask = collect_items(s);

	collect_gaps(s, mask, last_resort, true);
	if (tessera_pack_first_fit(&s->pack))
		return true;
	mask = collect_items(s);
	collect_gaps(s, mask, last_resort, false);
	slide(s);
	if (tessera_pack_first_fit(&s->pack))
		return true;
	mask = collect_items(s);
	collect_gaps(s, mask, last_resort, false);
	free_all_items(s);
	return tessera_pack_search(&s->pack, PLACE_SEARCH_LIMIT) == 1;
}

/**
 * split_relocate_members() - find places, moving members that are resident
 * @s: planner; split_place_members() has just failed, and a cut was taken or
 *     nothing is pinned
 *
 * Foreign blocks of the last resort are taken only if nothing else helps.
 *
 * Return: 0 or -ENOSPC; the log is of use only in the first case.
 */
int split_relocate_members(struct split *s)
{
	evict_unusable(s);
	if (!find_targets(s, false) && !find_targets(s, true))
		return -ENOSPC;
	execute_targets(s);
	return 0;
}
