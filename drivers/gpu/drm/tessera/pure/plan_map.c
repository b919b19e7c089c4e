// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: plan map
 *
 * The split planner's model of each segment: a list of occupied ranges in
 * address order, and a heap of the ranges that may be evicted. Called only by
 * the planner; takes no lock, allocates nothing.
 *
 * A search walks the list. Upper bounds per segment reduce most failing
 * searches to one comparison. They bound the largest hole, and the largest gap
 * between protected nodes.
 */
#include "plan_map.h"

static void sentinel_init(struct tessera_plan_map *map, u32 id, u32 seg, u64 start)
{
	struct tessera_plan_map_node *n = &map->node[id];

	n->start = start;
	n->size = 0;
	n->seg = seg;
	n->linked = true;
	n->prot = true;
	n->heap = TESSERA_PLAN_MAP_NONE;
}

static void seg_reset(struct tessera_plan_map *map, u32 seg, u64 size)
{
	struct tessera_plan_map_seg *s = &map->seg[seg];

	s->head = map->n_node + 2 * seg;
	s->tail = s->head + 1;
	s->n_heap = 0;
	s->hole_max = size;
	s->gap_max = size;
	s->used = 0;
	s->kept = 0;
	sentinel_init(map, s->head, seg, 0);
	sentinel_init(map, s->tail, seg, size);
	map->node[s->head].prev = TESSERA_PLAN_MAP_NONE;
	map->node[s->head].next = s->tail;
	map->node[s->tail].prev = s->head;
	map->node[s->tail].next = TESSERA_PLAN_MAP_NONE;
}

/**
 * tessera_plan_map_reset() - empty every segment
 * @map: plan map; the caller has set its arrays and counts
 * @seg_size: size of each segment
 */
void tessera_plan_map_reset(struct tessera_plan_map *map, const u64 *seg_size)
{
	u32 i;

	for (i = 0; i < map->n_node; i++) {
		map->node[i].linked = false;
		map->node[i].prot = false;
		map->node[i].heap = TESSERA_PLAN_MAP_NONE;
	}
	for (i = 0; i < map->n_seg; i++)
		seg_reset(map, i, seg_size[i]);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_plan_map_reset);

/**
 * tessera_plan_map_insert() - link a node into free space
 * @map: the plan map
 * @prev: node below; the range must be free
 * @id: node to link
 * @start: first byte
 * @size: length in bytes
 */
void tessera_plan_map_insert(struct tessera_plan_map *map, u32 prev, u32 id,
			     u64 start, u64 size)
{
	struct tessera_plan_map_node *p = &map->node[prev], *n = &map->node[id];

	n->start = start;
	n->size = size;
	n->seg = p->seg;
	n->linked = true;
	n->prev = prev;
	n->next = p->next;
	map->seg[n->seg].used += size;
	map->node[p->next].prev = id;
	p->next = id;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_plan_map_insert);

/**
 * tessera_plan_map_remove() - unlink a node and free its range
 * @map: the plan map
 * @id: a linked node that is not in the heap
 */
void tessera_plan_map_remove(struct tessera_plan_map *map, u32 id)
{
	struct tessera_plan_map_node *n = &map->node[id];
	struct tessera_plan_map_node *p = &map->node[n->prev];
	struct tessera_plan_map_node *x = &map->node[n->next];
	struct tessera_plan_map_seg *s = &map->seg[n->seg];

	p->next = n->next;
	x->prev = n->prev;
	n->linked = false;
	s->used -= n->size;
	if (n->prot) {
		s->kept -= n->size;
		s->gap_max = U64_MAX;
	}
	n->prot = false;
	s->hole_max = max(s->hole_max, x->start - tessera_plan_map_end(p));
}

/**
 * tessera_plan_map_protect() - set whether a node may be evicted
 * @map: the plan map
 * @id: a linked node
 * @prot: true if it may not be evicted
 */
void tessera_plan_map_protect(struct tessera_plan_map *map, u32 id, bool prot)
{
	struct tessera_plan_map_node *n = &map->node[id];

	if (n->prot == prot)
		return;
	n->prot = prot;
	if (prot) {
		map->seg[n->seg].kept += n->size;
	} else {
		map->seg[n->seg].kept -= n->size;
		map->seg[n->seg].gap_max = U64_MAX;
	}
}
EXPORT_SYMBOL_IF_KUNIT(tessera_plan_map_protect);

/*
 * Find the lowest place for @size between two neighbours in the list. With
 * @idle_gone, only protected nodes count as neighbours. *@most is an upper
 * bound of the free space between neighbours. It becomes exact if the search
 * fails.
 */
static u64 find_place(const struct tessera_plan_map *map, u32 seg, u64 size, u64 align,
		      bool idle_gone, u64 *most, u32 *below)
{
	const struct tessera_plan_map_node *node = map->node;
	u32 prev = map->seg[seg].head, id;
	u64 largest = 0;

	if (size > *most)
		return U64_MAX;
	for (id = node[prev].next; id != TESSERA_PLAN_MAP_NONE; id = node[id].next) {
		u64 end = tessera_plan_map_end(&node[prev]), off;

		if (idle_gone && !node[id].prot)
			continue;
		off = tessera_plan_map_fit(end, node[id].start, size, align);
		if (off != U64_MAX) {
			*below = prev;
			return off;
		}
		largest = max(largest, node[id].start - end);
		prev = id;
	}
	*most = largest;
	return U64_MAX;
}

/**
 * tessera_plan_map_find_hole() - find the lowest hole that is large enough
 * @map: the plan map
 * @seg: segment to search
 * @size: bytes needed
 * @align: alignment of the place
 * @below: set to the node below the place
 *
 * Return: offset of the place, or U64_MAX if there is none.
 */
u64 tessera_plan_map_find_hole(struct tessera_plan_map *map, u32 seg, u64 size,
			       u64 align, u32 *below)
{
	return find_place(map, seg, size, align, false, &map->seg[seg].hole_max, below);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_plan_map_find_hole);

/**
 * tessera_plan_map_find_gap() - find the lowest place if all unprotected nodes
 * are evicted
 * @map: the plan map
 * @seg: segment to search
 * @size: bytes needed
 * @align: alignment of the place
 * @below: set to the protected node below the place; unprotected nodes may lie
 *	between
 *
 * Return: offset of the place, or U64_MAX if there is none.
 */
u64 tessera_plan_map_find_gap(struct tessera_plan_map *map, u32 seg, u64 size,
			      u64 align, u32 *below)
{
	return find_place(map, seg, size, align, true, &map->seg[seg].gap_max, below);
}

static void heap_set(struct tessera_plan_map *map, struct tessera_plan_map_seg *s,
		     u32 i, struct tessera_plan_map_victim v)
{
	s->heap[i] = v;
	map->node[v.node].heap = i;
}

static void heap_up(struct tessera_plan_map *map, struct tessera_plan_map_seg *s,
		    u32 i, struct tessera_plan_map_victim v)
{
	while (i && s->heap[(i - 1) / 2].key < v.key) {
		heap_set(map, s, i, s->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	heap_set(map, s, i, v);
}

static void heap_down(struct tessera_plan_map *map, struct tessera_plan_map_seg *s,
		      u32 i, struct tessera_plan_map_victim v)
{
	u32 c;

	while ((c = 2 * i + 1) < s->n_heap) {
		if (c + 1 < s->n_heap && s->heap[c + 1].key > s->heap[c].key)
			c++;
		if (s->heap[c].key <= v.key)
			break;
		heap_set(map, s, i, s->heap[c]);
		i = c;
	}
	heap_set(map, s, i, v);
}

/**
 * tessera_plan_map_heap_push() - make a resident node a possible victim
 * @map: the plan map
 * @id: a linked node that is not in the heap
 * @key: priority; the node with the greatest key is evicted first
 *
 * Return: false if the heap is full. The node becomes protected then, since
 * nodes outside the heap are never evicted.
 */
bool tessera_plan_map_heap_push(struct tessera_plan_map *map, u32 id, u64 key)
{
	struct tessera_plan_map_seg *s = &map->seg[map->node[id].seg];
	struct tessera_plan_map_victim v = { .key = key, .node = id };

	if (s->n_heap >= s->max_heap) {
		tessera_plan_map_protect(map, id, true);
		return false;
	}
	heap_up(map, s, s->n_heap++, v);
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_plan_map_heap_push);

/**
 * tessera_plan_map_heap_remove() - remove a node from the heap of victims
 * @map: the plan map
 * @id: the node; nothing happens if it is not in the heap
 */
void tessera_plan_map_heap_remove(struct tessera_plan_map *map, u32 id)
{
	struct tessera_plan_map_node *n = &map->node[id];
	struct tessera_plan_map_seg *s = &map->seg[n->seg];
	struct tessera_plan_map_victim last;
	u32 i = n->heap;

	if (i == TESSERA_PLAN_MAP_NONE)
		return;
	n->heap = TESSERA_PLAN_MAP_NONE;
	last = s->heap[--s->n_heap];
	if (last.node == id)
		return;
	if (i && s->heap[(i - 1) / 2].key < last.key)
		heap_up(map, s, i, last);
	else
		heap_down(map, s, i, last);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_plan_map_heap_remove);
