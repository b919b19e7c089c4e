// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: relocation inside a split plan
 *
 * Places the allocations of a split point when split_place_members() fails
 * after a cut. Allocations that the split point needs and that are not pinned
 * are moved: pushed together, or packed anew. Part of the split planner.
 */
#include "split_priv.h"

/*
 * With more items than this at one cut, evict and page in again instead of
 * moving.
 */
#define PLACE_MOVES_MAX		64U

/*
 * Test whether node @id must stay at a cut, if tiers up to @hard may be
 * evicted. Members of the current group may move.
 */
static bool is_obstacle(const struct split *split, u32 id, u32 hard)
{
	const struct tessera_plan_map_node *n = &split->map.node[id];

	if (!n->prot)
		return false;
	if (id >= split->map.n_node)
		return true;
	if (split_is_foreign(split, id))
		return split_block(split, id)->tier > hard;
	return split->al[id].fixed || split->al[id].stamp != split->stamp;
}

/**
 * split_item_init() - set up one item of the packing problem
 * @split: planner
 * @item: item
 * @id: allocation
 * @fixed: it is placed already
 */
void split_item_init(const struct split *split, struct tessera_pack_item *item,
		     u32 id, bool fixed)
{
	const struct tessera_split_alloc *alloc = &split->in->allocs[id];

	item->size = split->al[id].size;
	item->align = split->al[id].align;
	item->mask = split->al[id].mask;
	item->id = id;
	item->n_pref = alloc->n_pref;
	memcpy(item->pref, alloc->pref, sizeof(item->pref));
	item->fixed = fixed;
	item->used = false;
}

/**
 * split_collect_gaps() - find the gaps between the nodes that must stay
 * @split: planner
 * @mask: segments to search
 * @hard: hardest tier of foreign blocks that may be evicted
 *
 * Allocations of the current group do not count as obstacles, since they may be
 * moved.
 */
void split_collect_gaps(struct split *split, u32 mask, u32 hard)
{
	const struct tessera_plan_map_node *node = split->map.node;
	u32 seg;

	split->pack.n_gap = 0;
	for (seg = 0; seg < split->in->n_segs; seg++) {
		u64 *available = &split->pack.seg[seg].available;
		u32 below = split->map.seg[seg].head, n;

		*available = split->seg_commit[seg];

		if (!(mask & BIT(seg)))
			continue;
		for (n = node[below].next; n != TESSERA_PLAN_MAP_NONE;
		     n = node[n].next) {
			struct tessera_pack_gap *gap =
				&split->pack.gap[split->pack.n_gap];

			if (!is_obstacle(split, n, hard))
				continue;
			gap->start = tessera_plan_map_end(&node[below]);
			gap->end = node[n].start;
			gap->cur = gap->start;
			gap->below = below;
			gap->seg = seg;
			split->pack.n_gap += gap->end > gap->start;
			*available -= min(*available, node[n].size);
			below = n;
		}
		split_tick(split, split->map.seg[seg].n_heap);
	}
	tessera_pack_rewind(&split->pack);
}

/*
 * Sort resident items first, from the bottom up; then the others in list order.
 */
static int cmp_items(const void *va, const void *vb)
{
	const struct tessera_pack_item *a = va, *b = vb;

	if (a->fixed != b->fixed)
		return a->fixed ? -1 : 1;
	if (a->fixed && a->seg != b->seg)
		return a->seg < b->seg ? -1 : 1;
	if (a->fixed)
		return a->off < b->off ? -1 : a->off > b->off;
	return a->order < b->order ? -1 : a->order > b->order;
}

/*
 * Create one item per movable member. Resident ones count as fixed at their
 * place.
 */
static u32 collect_items(struct split *split)
{
	struct tessera_pack_item *item = split->pack.item;
	u32 mask = 0, n_item = 0, i;

	for (i = 0; i < split->n_member; i++) {
		const struct tessera_plan_map_node *n = &split->map.node[split->member[i]];

		if (split->al[split->member[i]].fixed)
			continue;
		split_item_init(split, &item[n_item], split->member[i], n->linked);
		item[n_item].order = i;
		item[n_item].seg = n->seg;
		item[n_item].off = n->start;
		mask |= item[n_item++].mask;
	}
	split->pack.n_item = n_item;
	sort(item, n_item, sizeof(*item), cmp_items, NULL);
	return mask;
}

/*
 * Push resident items down inside their gaps. collect_items() has sorted them.
 */
static void slide(struct split *split)
{
	struct tessera_pack *pack = &split->pack;
	u32 i, at = 0;

	for (i = 0; i < pack->n_item && pack->item[i].fixed; i++) {
		struct tessera_pack_item *item = &pack->item[i];

		while (pack->gap[at].seg != item->seg || pack->gap[at].end <= item->off)
			at++;
		item->off = ALIGN(pack->gap[at].cur, tessera_pack_align(pack, item, item->seg));
		item->gap = at;
		pack->gap[at].cur = item->off + tessera_pack_bytes(pack, item, item->seg);
		pack->seg[item->seg].left -= tessera_pack_bytes(pack, item, item->seg);
	}
}

static void free_all_items(struct split *split)
{
	u32 i;

	for (i = 0; i < split->pack.n_item; i++)
		split->pack.item[i].fixed = false;
}

/* True if no other node lies in the item's target. */
static bool target_is_clear(const struct split *split,
			    const struct tessera_pack_item *item)
{
	const struct tessera_plan_map_node *node = split->map.node;
	u32 n = node[split_node_below(split, split->pack.gap[item->gap].below, item->off)].next;

	for (; node[n].start < item->off + tessera_pack_bytes(&split->pack, item, item->seg);
	     n = node[n].next)
		if (n != item->id)
			return false;
	return true;
}

static bool is_at_target(const struct split *split, const struct tessera_pack_item *item)
{
	const struct tessera_plan_map_node *n = &split->map.node[item->id];

	return n->linked && n->seg == item->seg && n->start == item->off;
}

/*
 * Evict the nodes in the target of an item, except for members, which are
 * moved.
 */
static void clear_target(struct split *split, const struct tessera_pack_item *item)
{
	struct tessera_plan_map_node *node = split->map.node;
	u32 n, next;

	n = node[split_node_below(split, split->pack.gap[item->gap].below, item->off)].next;
	for (; node[n].start < item->off + tessera_pack_bytes(&split->pack, item, item->seg);
	     n = next) {
		next = node[n].next;
		if (!split_is_foreign(split, n) && split->al[n].stamp == split->stamp)
			continue;
		split_evict(split, n);
	}
}

/*
 * Evict one more idle node, or else one of the last resort, or else a protected
 * one.
 */
static bool evict_any(struct split *split, u32 seg)
{
	const struct tessera_plan_map_seg *at = &split->map.seg[seg];
	u32 n, tier;

	if (at->n_heap) {
		split_evict(split, at->heap[0].node);
		return true;
	}
	for (tier = TESSERA_VICTIM_LAST_RESORT; tier < TESSERA_VICTIM_IMMOVABLE; tier++)
		for (n = split->map.node[at->head].next; n != at->tail;
		     n = split->map.node[n].next)
			if (split_is_foreign(split, n) &&
			    split_block(split, n)->tier == tier) {
				split_evict(split, n);
				return true;
			}
	return false;
}

/*
 * Make the commit limits allow the planned placement. An item that comes from
 * another segment into a limited one is evicted first, so that the order of the
 * moves does not matter.
 */
static void meet_commits(struct split *split)
{
	const struct tessera_pack_item *item = split->pack.item;
	u64 coming[TESSERA_SPLIT_MAX_SEGS] = {}, going[TESSERA_SPLIT_MAX_SEGS] = {};
	u32 i, seg;

	for (i = 0; i < split->pack.n_item; i++) {
		const struct tessera_plan_map_node *n = &split->map.node[item[i].id];
		bool limited = split->seg_commit[item[i].seg] < split->seg_size[item[i].seg];

		if (n->linked && n->seg == item[i].seg)
			continue;
		if (limited)
			coming[item[i].seg] += tessera_pack_bytes(&split->pack, &item[i],
								item[i].seg);
		if (n->linked && limited)
			split_evict(split, item[i].id);
		else if (n->linked)
			going[n->seg] += n->size;
	}
	for (seg = 0; seg < split->in->n_segs; seg++)
		while (coming[seg] && split->map.seg[seg].used + coming[seg] >
				      split->seg_commit[seg] + going[seg])
			if (!evict_any(split, seg))
				break;
}

static void do_move(struct split *split, const struct tessera_pack_item *item)
{
	struct tessera_plan_map_node *n = &split->map.node[item->id];
	u64 src = n->start;
	u32 below = split->pack.gap[item->gap].below;
	u8 src_seg = n->seg;
	struct split_log *log;

	tessera_plan_map_remove(&split->map, item->id);
	tessera_plan_map_insert(&split->map, split_node_below(split, below, item->off), item->id,
				item->off, tessera_pack_bytes(&split->pack, item, item->seg));
	if (split->al[item->id].in_w)
		tessera_plan_map_protect(&split->map, item->id, true);
	log = split_log_add(split, TESSERA_SPLIT_MOVE, item->id);
	log->src = src;
	log->src_seg = src_seg;
}

/*
 * Try once to move each resident item to its target; returns true if one has
 * moved.
 */
static bool move_some(struct split *split)
{
	struct tessera_pack_item *item = split->pack.item;
	bool moved = false;
	u32 i;

	for (i = 0; i < split->pack.n_item; i++) {
		if (!split->map.node[item[i].id].linked || is_at_target(split, &item[i]) ||
		    !target_is_clear(split, &item[i]))
			continue;
		do_move(split, &item[i]);
		moved = true;
	}
	return moved;
}

/*
 * Bring every member to its target. A move may overlap only its own source, so
 * moves depend on each other. If the dependencies are circular, items are
 * evicted and paged in again.
 */
static void execute_targets(struct split *split)
{
	struct tessera_pack_item *item = split->pack.item;
	u32 i;

	for (i = 0; i < split->pack.n_item; i++)
		split->al[item[i].id].item = i;
	for (i = 0; i < split->pack.n_item; i++)
		if (!is_at_target(split, &item[i]))
			clear_target(split, &item[i]);
	meet_commits(split);
	if (split->pack.n_item <= PLACE_MOVES_MAX)
		while (move_some(split))
			;
	for (i = 0; i < split->pack.n_item; i++)
		if (split->map.node[item[i].id].linked && !is_at_target(split, &item[i]))
			split_evict(split, item[i].id);
	for (i = 0; i < split->n_member; i++) {
		u32 id = split->member[i];
		const struct tessera_pack_item *target = &item[split->al[id].item];

		if (split->map.node[id].linked) {
			if (!split->al[id].in_w)
				split_enter_w(split, id);
			continue;
		}
		tessera_plan_map_insert(&split->map,
					split_node_below(split, split->pack.gap[target->gap].below,
							 target->off),
					id, target->off,
					tessera_pack_bytes(&split->pack, target, target->seg));
		split_did_page_in(split, id);
	}
}

/* Evict members that are resident where they cannot be used. */
static void evict_unusable(struct split *split)
{
	u32 i;

	for (i = 0; i < split->n_member; i++) {
		u32 id = split->member[i];

		if (!split->al[id].in_w && split->map.node[id].linked)
			split_evict(split, id);
	}
}

static bool find_targets(struct split *split, u32 hard)
{
	u32 mask = collect_items(split);

	split_collect_gaps(split, mask, hard);
	slide(split);
	if (tessera_pack_first_fit(&split->pack))
		return true;
	free_all_items(split);
	return tessera_pack_solve(&split->pack);
}

/**
 * split_relocate_members() - place the group's members, moving resident ones
 * @split: planner; split_place_members() has just failed, and either a cut was
 *	made or nothing is pinned
 *
 * Foreign blocks of the last resort are evicted only if nothing else helps, and
 * protected ones only if that does not help either.
 *
 * Return: 0 or -ENOSPC; on failure the log is invalid.
 */
int split_relocate_members(struct split *split)
{
	u32 hard = TESSERA_VICTIM_TAKE_AFTER_OWN;

	evict_unusable(split);
	while (!find_targets(split, hard))
		if (++hard == TESSERA_VICTIM_IMMOVABLE)
			return -ENOSPC;
	execute_targets(split);
	return 0;
}
