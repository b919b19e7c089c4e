// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: plan map
 *
 * Owns the picture of each segment that the split planner works on: a list of
 * occupied ranges in address order, and a heap of the ranges that may be
 * evicted. Called by the planner only, takes no lock, allocates nothing.
 *
 * A search walks the list. Upper bounds per segment, for the largest hole and the
 * largest run between protected nodes, turn most searches that fail into one comparison.
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
 * @map: plan map whose arrays and counts the caller has set
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
 * @prev: node it follows; the range must be free
 * @id: node to link
 * @start: its first byte
 * @size: its length
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
 * tessera_plan_map_remove() - unlink a node, its range becomes free
 * @map: the plan map
 * @id: a linked node that is in no heap
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
 * tessera_plan_map_protect() - say whether a node may be evicted
 * @map: the plan map
 * @id: a linked node
 * @prot: true if it may not
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
 * Lowest place for @size between two neighbours in the list, of which only protected ones
 * count if @idle_gone. Nothing is larger than *@most, which is right if none is found.
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
 * tessera_plan_map_find_hole() - lowest free place
 * @map: the plan map
 * @seg: segment to look in
 * @size: bytes needed
 * @align: alignment of the place
 * @below: node below the place found
 *
 * Return: offset of the place, or U64_MAX if no hole takes it.
 */
u64 tessera_plan_map_find_hole(struct tessera_plan_map *map, u32 seg, u64 size,
			       u64 align, u32 *below)
{
	return find_place(map, seg, size, align, false, &map->seg[seg].hole_max, below);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_plan_map_find_hole);

/**
 * tessera_plan_map_find_gap() - lowest place if all unprotected nodes were gone
 * @map: the plan map
 * @seg: segment to look in
 * @size: bytes needed
 * @align: alignment of the place
 * @below: protected node below the place found; unprotected ones may lie between
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
 * tessera_plan_map_heap_push() - offer a resident node as a victim
 * @map: the plan map
 * @id: a linked node that is in no heap
 * @key: the greater, the sooner it is given up
 *
 * Return: false if the heap is full; the node is protected then, as what is in no heap
 * is never given up.
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
 * tessera_plan_map_heap_remove() - withdraw a victim
 * @map: the plan map
 * @id: node; nothing happens if it is in no heap
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
