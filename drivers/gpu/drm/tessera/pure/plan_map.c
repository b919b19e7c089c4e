// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: plan map
 *
 * Owns the picture of each segment that the split planner works on: a list of
 * occupied ranges in address order, and a heap of the ranges that may be
 * evicted. Called by the planner only, takes no lock, allocates nothing.
 *
 * The list is kept in chunks of at most %TESSERA_PLAN_MAP_CHUNK_MAX nodes, each with
 * a summary that is computed when it is asked for: the largest hole, and the
 * largest run between protected nodes. A search looks at one summary per chunk
 * and walks only chunks that can hold the answer; an upper bound per segment
 * turns most searches that fail into one comparison.
 */
#include "plan_map.h"

static u32 chunk_get(struct tessera_plan_map *map)
{
	u32 c = map->chunk_free;

	map->chunk_free = map->chunk[c].next;
	return c;
}

static void chunk_put(struct tessera_plan_map *map, u32 c)
{
	map->chunk[c].next = map->chunk_free;
	map->chunk_free = c;
}

static void chunk_dirty(struct tessera_plan_map_chunk *c)
{
	c->hole_dirty = true;
	c->gap_dirty = true;
}

/* Move the upper half of a full chunk into a new one. */
static void chunk_split(struct tessera_plan_map *map, u32 ci)
{
	struct tessera_plan_map_chunk *c = &map->chunk[ci];
	u32 ni = chunk_get(map), id = c->last, i;
	struct tessera_plan_map_chunk *n = &map->chunk[ni];

	n->last = c->last;
	n->count = c->count / 2;
	for (i = 0; i < n->count; i++) {
		map->node[id].chunk = ni;
		n->first = id;
		id = map->node[id].prev;
	}
	c->last = id;
	c->count -= n->count;
	n->prev = ci;
	n->next = c->next;
	if (n->next != TESSERA_PLAN_MAP_NONE)
		map->chunk[n->next].prev = ni;
	c->next = ni;
	chunk_dirty(c);
	chunk_dirty(n);
}

/* Take chunk @ni, which follows @ci, into @ci. */
static void chunk_merge(struct tessera_plan_map *map, u32 ci, u32 ni)
{
	struct tessera_plan_map_chunk *c = &map->chunk[ci];
	struct tessera_plan_map_chunk *n = &map->chunk[ni];
	u32 id = n->first, i;

	for (i = 0; i < n->count; i++) {
		map->node[id].chunk = ci;
		id = map->node[id].next;
	}
	if (!c->count)
		c->first = n->first;
	if (n->count)
		c->last = n->last;
	c->count += n->count;
	c->next = n->next;
	if (c->next != TESSERA_PLAN_MAP_NONE)
		map->chunk[c->next].prev = ci;
	chunk_put(map, ni);
	chunk_dirty(c);
}

static void chunk_shrunk(struct tessera_plan_map *map, u32 ci)
{
	struct tessera_plan_map_chunk *c = &map->chunk[ci];

	if (c->next != TESSERA_PLAN_MAP_NONE &&
	    c->count + map->chunk[c->next].count <= TESSERA_PLAN_MAP_CHUNK_MAX / 2)
		chunk_merge(map, ci, c->next);
	else if (!c->count && c->prev != TESSERA_PLAN_MAP_NONE)
		chunk_merge(map, c->prev, ci);
}

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
	u32 c = chunk_get(map);

	s->head = map->n_node + 2 * seg;
	s->tail = s->head + 1;
	s->n_heap = 0;
	s->hole_max = size;
	s->gap_max = size;
	s->used = 0;
	s->kept = 0;
	s->chunk_first = c;
	sentinel_init(map, s->head, seg, 0);
	sentinel_init(map, s->tail, seg, size);
	map->node[s->head].prev = TESSERA_PLAN_MAP_NONE;
	map->node[s->head].next = s->tail;
	map->node[s->tail].prev = s->head;
	map->node[s->tail].next = TESSERA_PLAN_MAP_NONE;
	map->node[s->head].chunk = c;
	map->node[s->tail].chunk = c;
	map->chunk[c].first = s->head;
	map->chunk[c].last = s->tail;
	map->chunk[c].prev = TESSERA_PLAN_MAP_NONE;
	map->chunk[c].next = TESSERA_PLAN_MAP_NONE;
	map->chunk[c].count = 2;
	chunk_dirty(&map->chunk[c]);
}

/**
 * tessera_plan_map_reset() - empty every segment
 * @map: plan map whose arrays and counts the caller has set
 * @seg_size: size of each segment
 */
void tessera_plan_map_reset(struct tessera_plan_map *map, const u64 *seg_size)
{
	u32 total = tessera_plan_map_nodes(map->n_node, map->n_seg), i;

	for (i = 0; i < map->n_node; i++) {
		map->node[i].linked = false;
		map->node[i].prot = false;
		map->node[i].heap = TESSERA_PLAN_MAP_NONE;
	}
	for (i = 0; i < total; i++)
		map->chunk[i].next = i + 1 < total ? i + 1 : TESSERA_PLAN_MAP_NONE;
	map->chunk_free = 0;
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
	struct tessera_plan_map_chunk *c = &map->chunk[p->chunk];

	n->start = start;
	n->size = size;
	n->seg = p->seg;
	n->linked = true;
	n->prev = prev;
	n->next = p->next;
	n->chunk = p->chunk;
	map->seg[n->seg].used += size;
	map->node[p->next].prev = id;
	p->next = id;
	if (c->last == prev)
		c->last = id;
	chunk_dirty(c);
	if (++c->count > TESSERA_PLAN_MAP_CHUNK_MAX)
		chunk_split(map, n->chunk);
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
	struct tessera_plan_map_chunk *c = &map->chunk[n->chunk];

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
	if (c->first == id)
		c->first = n->next;
	if (c->last == id)
		c->last = n->prev;
	c->count--;
	chunk_dirty(c);
	if (c->count < TESSERA_PLAN_MAP_CHUNK_MAX / 4)
		chunk_shrunk(map, n->chunk);
}

/**
 * tessera_plan_map_replace() - give the room of one unprotected node to another
 * @map: the plan map
 * @old: node that leaves; it is in no heap
 * @id: node that takes its place in the list
 * @start: first byte, no lower than the end of the node below
 * @size: length, not reaching into the node above
 */
void tessera_plan_map_replace(struct tessera_plan_map *map, u32 old, u32 id,
			      u64 start, u64 size)
{
	struct tessera_plan_map_node *o = &map->node[old], *n = &map->node[id];
	struct tessera_plan_map_seg *s = &map->seg[o->seg];
	struct tessera_plan_map_chunk *c = &map->chunk[o->chunk];
	u64 lo = tessera_plan_map_end(&map->node[o->prev]);
	u64 hi = map->node[o->next].start;

	n->start = start;
	n->size = size;
	n->seg = o->seg;
	n->linked = true;
	n->prev = o->prev;
	n->next = o->next;
	n->chunk = o->chunk;
	map->node[o->prev].next = id;
	map->node[o->next].prev = id;
	o->linked = false;
	s->used += size - o->size;
	if (c->first == old)
		c->first = id;
	if (c->last == old)
		c->last = id;
	if (o->start != start || o->size != size) {
		s->hole_max = max3(s->hole_max, start - lo, hi - (start + size));
		c->hole_dirty = true;
	}
	c->gap_dirty = true;
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
	map->chunk[n->chunk].gap_dirty = true;
	if (prot) {
		map->seg[n->seg].kept += n->size;
	} else {
		map->seg[n->seg].kept -= n->size;
		map->seg[n->seg].gap_max = U64_MAX;
	}
}
EXPORT_SYMBOL_IF_KUNIT(tessera_plan_map_protect);

static void chunk_sum_gaps(struct tessera_plan_map *map,
			   struct tessera_plan_map_chunk *c)
{
	u32 id = c->first, i;

	c->gap = 0;
	c->has_prot = false;
	for (i = 0; i < c->count; i++) {
		const struct tessera_plan_map_node *n = &map->node[id];

		id = n->next;
		if (!n->prot)
			continue;
		if (!c->has_prot)
			c->prot_first = n->start;
		else
			c->gap = max(c->gap, n->start - c->prot_last);
		c->prot_last = tessera_plan_map_end(n);
		c->has_prot = true;
	}
	c->gap_dirty = false;
}

/* Room below the first node of a chunk, which changes with the chunk before. */
static u64 chunk_border(const struct tessera_plan_map *map, const struct tessera_plan_map_chunk *c)
{
	const struct tessera_plan_map_node *n = &map->node[c->first];

	return n->prev == TESSERA_PLAN_MAP_NONE ? 0 :
	       n->start - tessera_plan_map_end(&map->node[n->prev]);
}

/*
 * First hole of chunk @c that takes @size; a hole belongs to the node above. If there
 * is none, the summary is right afterwards.
 */
static u64 chunk_find_hole(struct tessera_plan_map *map, struct tessera_plan_map_chunk *c,
			   u64 size, u64 align, u32 *prev)
{
	u64 hole = 0, room = chunk_border(map, c), off;
	u32 id = c->first, i;

	for (i = 0; ; ) {
		const struct tessera_plan_map_node *n = &map->node[id];

		if (room >= size) {
			off = tessera_plan_map_fit(n->start - room, n->start, size, align);
			if (off != U64_MAX) {
				*prev = n->prev;
				return off;
			}
		}
		if (++i == c->count)
			break;
		id = n->next;
		room = map->node[id].start - tessera_plan_map_end(n);
		hole = max(hole, room);
	}
	c->hole = hole;
	c->hole_dirty = false;
	return U64_MAX;
}

/**
 * tessera_plan_map_find_hole() - lowest free place
 * @map: the plan map
 * @seg: segment to look in
 * @size: bytes needed
 * @align: alignment of the place
 * @prev: node below the place found
 *
 * Return: offset of the place, or U64_MAX if no hole takes it.
 */
u64 tessera_plan_map_find_hole(struct tessera_plan_map *map, u32 seg, u64 size,
			       u64 align, u32 *prev)
{
	struct tessera_plan_map_seg *s = &map->seg[seg];
	u64 largest = 0;
	u32 ci;

	if (size > s->hole_max)
		return U64_MAX;
	for (ci = s->chunk_first; ci != TESSERA_PLAN_MAP_NONE;
	     ci = map->chunk[ci].next) {
		struct tessera_plan_map_chunk *c = &map->chunk[ci];
		u64 border = chunk_border(map, c);

		if (c->hole_dirty || max(c->hole, border) >= size) {
			u64 off = chunk_find_hole(map, c, size, align, prev);

			if (off != U64_MAX)
				return off;
		}
		largest = max3(largest, c->hole, border);
	}
	s->hole_max = largest;
	return U64_MAX;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_plan_map_find_hole);

/*
 * Walk the protected nodes of chunk @ci from node @id on, up to the first gap
 * that takes @size; @gap->below is the protected node under @id.
 */
static bool chunk_find_gap(struct tessera_plan_map *map, u32 ci, u32 id, u64 size,
			   u64 align, struct tessera_plan_map_gap *gap)
{
	for (; id != TESSERA_PLAN_MAP_NONE && map->node[id].chunk == ci;
	     id = map->node[id].next) {
		const struct tessera_plan_map_node *n = &map->node[id];

		if (!n->prot)
			continue;
		if (gap->below != TESSERA_PLAN_MAP_NONE) {
			u64 end = tessera_plan_map_end(&map->node[gap->below]);

			gap->off = tessera_plan_map_fit(end, n->start, size, align);
			gap->above = id;
			if (gap->off != U64_MAX)
				return true;
		}
		gap->below = id;
	}
	return false;
}

/* Last protected node of a chunk known to have one. */
static u32 chunk_last_prot(struct tessera_plan_map *map,
			   const struct tessera_plan_map_chunk *c)
{
	u32 id = c->last;

	while (!map->node[id].prot)
		id = map->node[id].prev;
	return id;
}

/* Go on in the chunks from @ci on; *@largest is the largest gap passed over. */
static bool chunks_find_gap(struct tessera_plan_map *map, u32 ci, u64 size, u64 align,
			    struct tessera_plan_map_gap *gap, u64 *largest)
{
	for (; ci != TESSERA_PLAN_MAP_NONE; ci = map->chunk[ci].next) {
		struct tessera_plan_map_chunk *c = &map->chunk[ci];
		bool dirty = c->gap_dirty;
		u64 run = 0, room;

		if (gap->below != TESSERA_PLAN_MAP_NONE)
			run = tessera_plan_map_end(&map->node[gap->below]);
		/* A summary is for those that come again: look first. */
		if (dirty && chunk_find_gap(map, ci, c->first, size, align, gap))
			return true;
		if (dirty)
			chunk_sum_gaps(map, c);
		if (!c->has_prot)
			continue;
		room = max(c->gap, c->prot_first - run);
		*largest = max(*largest, room);
		if (!dirty && room >= size &&
		    chunk_find_gap(map, ci, c->first, size, align, gap))
			return true;
		gap->below = chunk_last_prot(map, c);
	}
	return false;
}

/**
 * tessera_plan_map_find_gap() - lowest place if all unprotected nodes were gone
 * @map: the plan map
 * @seg: segment to look in
 * @size: bytes needed
 * @align: alignment of the place
 * @gap: the place, and the protected nodes around it; unprotected ones may lie
 *       between
 *
 * Return: true if there is one.
 */
bool tessera_plan_map_find_gap(struct tessera_plan_map *map, u32 seg, u64 size,
			       u64 align, struct tessera_plan_map_gap *gap)
{
	struct tessera_plan_map_seg *s = &map->seg[seg];
	u64 largest = 0;

	if (size > s->gap_max)
		return false;
	gap->below = TESSERA_PLAN_MAP_NONE;
	if (chunks_find_gap(map, s->chunk_first, size, align, gap, &largest))
		return true;
	s->gap_max = largest;
	return false;
}

/**
 * tessera_plan_map_next_gap() - the next gap above one that was found
 * @map: the plan map, unchanged since
 * @size: bytes needed
 * @align: alignment of the place
 * @gap: the gap found; becomes the next one
 *
 * Return: true if there is one.
 */
bool tessera_plan_map_next_gap(struct tessera_plan_map *map, u64 size, u64 align,
			       struct tessera_plan_map_gap *gap)
{
	u32 from = gap->above, ci = map->node[from].chunk;
	u64 largest = 0;

	gap->below = from;
	return chunk_find_gap(map, ci, map->node[from].next, size, align, gap) ||
	       chunks_find_gap(map, map->chunk[ci].next, size, align, gap,
			       &largest);
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
