// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: relocation inside a split plan
 *
 * Where a cut has been taken and the usual way finds no places, what the split
 * point needs and nothing pins is moved: pushed together, or packed anew. Part of
 * the split planner.
 */
#include "split_priv.h"

/* With more moves than this at one cut, page out and in again instead. */
#define PLACE_MOVES_MAX		64U

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
		u64 *room = &s->pack.seg[seg].room;
		u32 below = s->sp.seg[seg].head, n;

		*room = s->seg_commit[seg];

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
			*room -= min(*room, node[n].size);
			below = n;
		}
		split_tick(s, s->sp.seg[seg].n_heap);
	}
	tessera_pack_rewind(&s->pack);
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
		it->off = ALIGN(p->gap[g].cur, tessera_pack_align(p, it, it->seg));
		it->gap = g;
		p->gap[g].cur = it->off + tessera_pack_bytes(p, it, it->seg);
		p->seg[it->seg].left -= tessera_pack_bytes(p, it, it->seg);
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
	u32 n = node[split_node_below(s, s->pack.gap[it->gap].below, it->off)].next;

	for (; node[n].start < it->off + tessera_pack_bytes(&s->pack, it, it->seg);
	     n = node[n].next)
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

	n = node[split_node_below(s, s->pack.gap[it->gap].below, it->off)].next;
	for (; node[n].start < it->off + tessera_pack_bytes(&s->pack, it, it->seg);
	     n = next) {
		next = node[n].next;
		if (!split_is_foreign(s, n) && s->al[n].stamp == s->stamp)
			continue;
		split_evict(s, n);
	}
}

/* One more of what is idle goes, or, if there is none, of the last resort. */
static bool evict_any(struct split *s, u32 seg)
{
	const struct tessera_space_seg *at = &s->sp.seg[seg];
	u32 n;

	if (at->n_heap) {
		split_evict(s, at->heap[0].node);
		return true;
	}
	for (n = s->sp.node[at->head].next; n != at->tail; n = s->sp.node[n].next)
		if (split_is_foreign(s, n) &&
		    split_block(s, n)->tier == TESSERA_VICTIM_LAST_RESORT) {
			split_evict(s, n);
			return true;
		}
	return false;
}

/*
 * Make the commit limits allow what is coming. What would come from another segment
 * leaves that one first, so that it does not matter who moves first.
 */
static void meet_commits(struct split *s)
{
	const struct tessera_pack_item *it = s->pack.item;
	u64 coming[TESSERA_SPLIT_MAX_SEGS] = {}, going[TESSERA_SPLIT_MAX_SEGS] = {};
	u32 i, seg;

	for (i = 0; i < s->pack.n_item; i++) {
		const struct tessera_space_node *n = &s->sp.node[it[i].id];
		bool limited = s->seg_commit[it[i].seg] < s->seg_size[it[i].seg];

		if (n->linked && n->seg == it[i].seg)
			continue;
		if (limited)
			coming[it[i].seg] += tessera_pack_bytes(&s->pack, &it[i],
								it[i].seg);
		if (n->linked && limited)
			split_evict(s, it[i].id);
		else if (n->linked)
			going[n->seg] += n->size;
	}
	for (seg = 0; seg < s->in->n_segs; seg++)
		while (coming[seg] && s->sp.seg[seg].used + coming[seg] >
				      s->seg_commit[seg] + going[seg])
			if (!evict_any(s, seg))
				break;
}

static void do_move(struct split *s, const struct tessera_pack_item *it)
{
	struct tessera_space_node *n = &s->sp.node[it->id];
	u64 src = n->start;
	u8 src_seg = n->seg;
	struct split_log *l;

	tessera_space_remove(&s->sp, it->id);
	tessera_space_insert(&s->sp,
			     split_node_below(s, s->pack.gap[it->gap].below, it->off),
			     it->id, it->off,
			     tessera_pack_bytes(&s->pack, it, it->seg));
	if (s->al[it->id].in_w)
		tessera_space_protect(&s->sp, it->id, true);
	l = split_log_add(s, TESSERA_SPLIT_MOVE, it->id);
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
			split_evict(s, it[i].id);
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
		s->al[it[i].id].item = i;
	for (i = 0; i < s->pack.n_item; i++)
		if (!is_at_target(s, &it[i]))
			clear_target(s, &it[i]);
	meet_commits(s);
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
				     split_node_below(s, s->pack.gap[t->gap].below,
						      t->off),
				     id, t->off,
				     tessera_pack_bytes(&s->pack, t, t->seg));
		split_did_page_in(s, id);
	}
}

/* Residents that cannot be used where they are leave first. */
static void evict_unusable(struct split *s)
{
	u32 i;

	for (i = 0; i < s->n_member; i++) {
		u32 id = s->member[i];

		if (!s->al[id].in_w && s->sp.node[id].linked)
			split_evict(s, id);
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
	free_all_items(s);
	return tessera_pack_solve(&s->pack, SPLIT_SEARCH_LIMIT) == 1;
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
