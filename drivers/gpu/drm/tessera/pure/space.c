// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: segment space model
 *
 * Owns the picture of each segment that the split planner works on: a list of
 * occupied ranges in address order, and a heap of the ranges that may be
 * evicted. Called by the planner only, takes no lock, allocates nothing.
 *
 * The list is kept in chunks of at most %TESSERA_SPACE_CHUNK_MAX nodes, each with
 * a summary that is computed when it is asked for: the largest hole, and the
 * largest run between protected nodes. A search looks at one summary per chunk
 * and walks only chunks that can hold the answer; an upper bound per segment
 * turns most searches that fail into one comparison.
 */
#include "space.h"

static u32 chunk_get(struct tessera_space *sp)
{
	u32 c = sp->chunk_free;

	sp->chunk_free = sp->chunk[c].next;
	return c;
}

static void chunk_put(struct tessera_space *sp, u32 c)
{
	sp->chunk[c].next = sp->chunk_free;
	sp->chunk_free = c;
}

static void chunk_dirty(struct tessera_space_chunk *c)
{
	c->hole_dirty = true;
	c->gap_dirty = true;
}

/* Move the upper half of a full chunk into a new one. */
static void chunk_split(struct tessera_space *sp, u32 ci)
{
	struct tessera_space_chunk *c = &sp->chunk[ci];
	u32 ni = chunk_get(sp), id = c->last, i;
	struct tessera_space_chunk *n = &sp->chunk[ni];

	n->last = c->last;
	n->count = c->count / 2;
	for (i = 0; i < n->count; i++) {
		sp->node[id].chunk = ni;
		n->first = id;
		id = sp->node[id].prev;
	}
	c->last = id;
	c->count -= n->count;
	n->prev = ci;
	n->next = c->next;
	if (n->next != TESSERA_SPACE_NONE)
		sp->chunk[n->next].prev = ni;
	c->next = ni;
	chunk_dirty(c);
	chunk_dirty(n);
}

/* Take chunk @ni, which follows @ci, into @ci. */
static void chunk_merge(struct tessera_space *sp, u32 ci, u32 ni)
{
	struct tessera_space_chunk *c = &sp->chunk[ci];
	struct tessera_space_chunk *n = &sp->chunk[ni];
	u32 id = n->first, i;

	for (i = 0; i < n->count; i++) {
		sp->node[id].chunk = ci;
		id = sp->node[id].next;
	}
	if (!c->count)
		c->first = n->first;
	if (n->count)
		c->last = n->last;
	c->count += n->count;
	c->next = n->next;
	if (c->next != TESSERA_SPACE_NONE)
		sp->chunk[c->next].prev = ci;
	chunk_put(sp, ni);
	chunk_dirty(c);
}

static void chunk_shrunk(struct tessera_space *sp, u32 ci)
{
	struct tessera_space_chunk *c = &sp->chunk[ci];

	if (c->next != TESSERA_SPACE_NONE &&
	    c->count + sp->chunk[c->next].count <= TESSERA_SPACE_CHUNK_MAX / 2)
		chunk_merge(sp, ci, c->next);
	else if (!c->count && c->prev != TESSERA_SPACE_NONE)
		chunk_merge(sp, c->prev, ci);
}

static void sentinel_init(struct tessera_space *sp, u32 id, u32 seg, u64 start)
{
	struct tessera_space_node *n = &sp->node[id];

	n->start = start;
	n->size = 0;
	n->seg = seg;
	n->linked = true;
	n->prot = true;
	n->heap = TESSERA_SPACE_NONE;
}

static void seg_reset(struct tessera_space *sp, u32 seg, u64 size)
{
	struct tessera_space_seg *s = &sp->seg[seg];
	u32 c = chunk_get(sp);

	s->head = sp->n_node + 2 * seg;
	s->tail = s->head + 1;
	s->n_heap = 0;
	s->hole_max = size;
	s->gap_max = size;
	s->used = 0;
	s->kept = 0;
	s->chunk_first = c;
	sentinel_init(sp, s->head, seg, 0);
	sentinel_init(sp, s->tail, seg, size);
	sp->node[s->head].prev = TESSERA_SPACE_NONE;
	sp->node[s->head].next = s->tail;
	sp->node[s->tail].prev = s->head;
	sp->node[s->tail].next = TESSERA_SPACE_NONE;
	sp->node[s->head].chunk = c;
	sp->node[s->tail].chunk = c;
	sp->chunk[c].first = s->head;
	sp->chunk[c].last = s->tail;
	sp->chunk[c].prev = TESSERA_SPACE_NONE;
	sp->chunk[c].next = TESSERA_SPACE_NONE;
	sp->chunk[c].count = 2;
	chunk_dirty(&sp->chunk[c]);
}

/**
 * tessera_space_reset() - empty every segment
 * @sp: space whose arrays and counts the caller has set
 * @seg_size: size of each segment
 */
void tessera_space_reset(struct tessera_space *sp, const u64 *seg_size)
{
	u32 total = tessera_space_nodes(sp->n_node, sp->n_seg), i;

	for (i = 0; i < sp->n_node; i++) {
		sp->node[i].linked = false;
		sp->node[i].prot = false;
		sp->node[i].heap = TESSERA_SPACE_NONE;
	}
	for (i = 0; i < total; i++)
		sp->chunk[i].next = i + 1 < total ? i + 1 : TESSERA_SPACE_NONE;
	sp->chunk_free = 0;
	for (i = 0; i < sp->n_seg; i++)
		seg_reset(sp, i, seg_size[i]);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_space_reset);

/**
 * tessera_space_insert() - link a node into free space
 * @sp: the space
 * @prev: node it follows; the range must be free
 * @id: node to link
 * @start: its first byte
 * @size: its length
 */
void tessera_space_insert(struct tessera_space *sp, u32 prev, u32 id,
			  u64 start, u64 size)
{
	struct tessera_space_node *p = &sp->node[prev], *n = &sp->node[id];
	struct tessera_space_chunk *c = &sp->chunk[p->chunk];

	n->start = start;
	n->size = size;
	n->seg = p->seg;
	n->linked = true;
	n->prev = prev;
	n->next = p->next;
	n->chunk = p->chunk;
	sp->seg[n->seg].used += size;
	sp->node[p->next].prev = id;
	p->next = id;
	if (c->last == prev)
		c->last = id;
	chunk_dirty(c);
	if (++c->count > TESSERA_SPACE_CHUNK_MAX)
		chunk_split(sp, n->chunk);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_space_insert);

/**
 * tessera_space_remove() - unlink a node, its range becomes free
 * @sp: the space
 * @id: a linked node that is in no heap
 */
void tessera_space_remove(struct tessera_space *sp, u32 id)
{
	struct tessera_space_node *n = &sp->node[id];
	struct tessera_space_node *p = &sp->node[n->prev];
	struct tessera_space_node *x = &sp->node[n->next];
	struct tessera_space_seg *s = &sp->seg[n->seg];
	struct tessera_space_chunk *c = &sp->chunk[n->chunk];

	p->next = n->next;
	x->prev = n->prev;
	n->linked = false;
	s->used -= n->size;
	if (n->prot) {
		s->kept -= n->size;
		s->gap_max = U64_MAX;
	}
	n->prot = false;
	s->hole_max = max(s->hole_max, x->start - tessera_space_end(p));
	if (c->first == id)
		c->first = n->next;
	if (c->last == id)
		c->last = n->prev;
	c->count--;
	chunk_dirty(c);
	if (c->count < TESSERA_SPACE_CHUNK_MAX / 4)
		chunk_shrunk(sp, n->chunk);
}

/**
 * tessera_space_replace() - give the room of one unprotected node to another
 * @sp: the space
 * @old: node that leaves; it is in no heap
 * @id: node that takes its place in the list
 * @start: first byte, no lower than the end of the node below
 * @size: length, not reaching into the node above
 */
void tessera_space_replace(struct tessera_space *sp, u32 old, u32 id,
			   u64 start, u64 size)
{
	struct tessera_space_node *o = &sp->node[old], *n = &sp->node[id];
	struct tessera_space_seg *s = &sp->seg[o->seg];
	struct tessera_space_chunk *c = &sp->chunk[o->chunk];
	u64 lo = tessera_space_end(&sp->node[o->prev]);
	u64 hi = sp->node[o->next].start;

	n->start = start;
	n->size = size;
	n->seg = o->seg;
	n->linked = true;
	n->prev = o->prev;
	n->next = o->next;
	n->chunk = o->chunk;
	sp->node[o->prev].next = id;
	sp->node[o->next].prev = id;
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
 * tessera_space_protect() - say whether a node may be evicted
 * @sp: the space
 * @id: a linked node
 * @prot: true if it may not
 */
void tessera_space_protect(struct tessera_space *sp, u32 id, bool prot)
{
	struct tessera_space_node *n = &sp->node[id];

	if (n->prot == prot)
		return;
	n->prot = prot;
	sp->chunk[n->chunk].gap_dirty = true;
	if (prot) {
		sp->seg[n->seg].kept += n->size;
	} else {
		sp->seg[n->seg].kept -= n->size;
		sp->seg[n->seg].gap_max = U64_MAX;
	}
}
EXPORT_SYMBOL_IF_KUNIT(tessera_space_protect);

static void chunk_sum_gaps(struct tessera_space *sp,
			   struct tessera_space_chunk *c)
{
	u32 id = c->first, i;

	c->gap = 0;
	c->has_prot = false;
	for (i = 0; i < c->count; i++) {
		const struct tessera_space_node *n = &sp->node[id];

		id = n->next;
		if (!n->prot)
			continue;
		if (!c->has_prot)
			c->prot_first = n->start;
		else
			c->gap = max(c->gap, n->start - c->prot_last);
		c->prot_last = tessera_space_end(n);
		c->has_prot = true;
	}
	c->gap_dirty = false;
}

/* Room below the first node of a chunk, which changes with the chunk before. */
static u64 chunk_border(const struct tessera_space *sp, const struct tessera_space_chunk *c)
{
	const struct tessera_space_node *n = &sp->node[c->first];

	return n->prev == TESSERA_SPACE_NONE ? 0 :
	       n->start - tessera_space_end(&sp->node[n->prev]);
}

/*
 * First hole of chunk @c that takes @size; a hole belongs to the node above. If there
 * is none, the summary is right afterwards.
 */
static u64 chunk_find_hole(struct tessera_space *sp, struct tessera_space_chunk *c,
			   u64 size, u64 align, u32 *prev)
{
	u64 hole = 0, room = chunk_border(sp, c), off;
	u32 id = c->first, i;

	for (i = 0; ; ) {
		const struct tessera_space_node *n = &sp->node[id];

		if (room >= size) {
			off = tessera_space_fit(n->start - room, n->start, size, align);
			if (off != U64_MAX) {
				*prev = n->prev;
				return off;
			}
		}
		if (++i == c->count)
			break;
		id = n->next;
		room = sp->node[id].start - tessera_space_end(n);
		hole = max(hole, room);
	}
	c->hole = hole;
	c->hole_dirty = false;
	return U64_MAX;
}

/**
 * tessera_space_find_hole() - lowest free place
 * @sp: the space
 * @seg: segment to look in
 * @size: bytes needed
 * @align: alignment of the place
 * @prev: node below the place found
 *
 * Return: offset of the place, or U64_MAX if no hole takes it.
 */
u64 tessera_space_find_hole(struct tessera_space *sp, u32 seg, u64 size,
			    u64 align, u32 *prev)
{
	struct tessera_space_seg *s = &sp->seg[seg];
	u64 largest = 0;
	u32 ci;

	if (size > s->hole_max)
		return U64_MAX;
	for (ci = s->chunk_first; ci != TESSERA_SPACE_NONE;
	     ci = sp->chunk[ci].next) {
		struct tessera_space_chunk *c = &sp->chunk[ci];
		u64 border = chunk_border(sp, c);

		if (c->hole_dirty || max(c->hole, border) >= size) {
			u64 off = chunk_find_hole(sp, c, size, align, prev);

			if (off != U64_MAX)
				return off;
		}
		largest = max3(largest, c->hole, border);
	}
	s->hole_max = largest;
	return U64_MAX;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_space_find_hole);

/*
 * Walk the protected nodes of chunk @ci from node @id on, up to the first gap
 * that takes @size; @gap->below is the protected node under @id.
 */
static bool chunk_find_gap(struct tessera_space *sp, u32 ci, u32 id, u64 size,
			   u64 align, struct tessera_space_gap *gap)
{
	for (; id != TESSERA_SPACE_NONE && sp->node[id].chunk == ci;
	     id = sp->node[id].next) {
		const struct tessera_space_node *n = &sp->node[id];

		if (!n->prot)
			continue;
		if (gap->below != TESSERA_SPACE_NONE) {
			gap->off = tessera_space_fit(tessera_space_end(&sp->node[gap->below]),
						     n->start, size, align);
			gap->above = id;
			if (gap->off != U64_MAX)
				return true;
		}
		gap->below = id;
	}
	return false;
}

/* Last protected node of a chunk known to have one. */
static u32 chunk_last_prot(struct tessera_space *sp,
			   const struct tessera_space_chunk *c)
{
	u32 id = c->last;

	while (!sp->node[id].prot)
		id = sp->node[id].prev;
	return id;
}

/* Go on in the chunks from @ci on; *@largest is the largest gap passed over. */
static bool chunks_find_gap(struct tessera_space *sp, u32 ci, u64 size, u64 align,
			    struct tessera_space_gap *gap, u64 *largest)
{
	for (; ci != TESSERA_SPACE_NONE; ci = sp->chunk[ci].next) {
		struct tessera_space_chunk *c = &sp->chunk[ci];
		bool dirty = c->gap_dirty;
		u64 run = 0, room;

		if (gap->below != TESSERA_SPACE_NONE)
			run = tessera_space_end(&sp->node[gap->below]);
		/* A summary is for those that come again: look first. */
		if (dirty && chunk_find_gap(sp, ci, c->first, size, align, gap))
			return true;
		if (dirty)
			chunk_sum_gaps(sp, c);
		if (!c->has_prot)
			continue;
		room = max(c->gap, c->prot_first - run);
		*largest = max(*largest, room);
		if (!dirty && room >= size &&
		    chunk_find_gap(sp, ci, c->first, size, align, gap))
			return true;
		gap->below = chunk_last_prot(sp, c);
	}
	return false;
}

/**
 * tessera_space_find_gap() - lowest place if all unprotected nodes were gone
 * @sp: the space
 * @seg: segment to look in
 * @size: bytes needed
 * @align: alignment of the place
 * @gap: the place, and the protected nodes around it; unprotected ones may lie
 *       between
 *
 * Return: true if there is one.
 */
bool tessera_space_find_gap(struct tessera_space *sp, u32 seg, u64 size,
			    u64 align, struct tessera_space_gap *gap)
{
	struct tessera_space_seg *s = &sp->seg[seg];
	u64 largest = 0;

	if (size > s->gap_max)
		return false;
	gap->below = TESSERA_SPACE_NONE;
	if (chunks_find_gap(sp, s->chunk_first, size, align, gap, &largest))
		return true;
	s->gap_max = largest;
	return false;
}

/**
 * tessera_space_next_gap() - the next gap above one that was found
 * @sp: the space, unchanged since
 * @size: bytes needed
 * @align: alignment of the place
 * @gap: the gap found; becomes the next one
 *
 * Return: true if there is one.
 */
bool tessera_space_next_gap(struct tessera_space *sp, u64 size, u64 align,
			    struct tessera_space_gap *gap)
{
	u32 from = gap->above, ci = sp->node[from].chunk;
	u64 largest = 0;

	gap->below = from;
	return chunk_find_gap(sp, ci, sp->node[from].next, size, align, gap) ||
	       chunks_find_gap(sp, sp->chunk[ci].next, size, align, gap,
			       &largest);
}

static void heap_set(struct tessera_space *sp, struct tessera_space_seg *s,
		     u32 i, struct tessera_space_victim v)
{
	s->heap[i] = v;
	sp->node[v.node].heap = i;
}

static void heap_up(struct tessera_space *sp, struct tessera_space_seg *s,
		    u32 i, struct tessera_space_victim v)
{
	while (i && s->heap[(i - 1) / 2].key < v.key) {
		heap_set(sp, s, i, s->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	heap_set(sp, s, i, v);
}

static void heap_down(struct tessera_space *sp, struct tessera_space_seg *s,
		      u32 i, struct tessera_space_victim v)
{
	u32 c;

	while ((c = 2 * i + 1) < s->n_heap) {
		if (c + 1 < s->n_heap && s->heap[c + 1].key > s->heap[c].key)
			c++;
		if (s->heap[c].key <= v.key)
			break;
		heap_set(sp, s, i, s->heap[c]);
		i = c;
	}
	heap_set(sp, s, i, v);
}

/**
 * tessera_space_heap_push() - offer a resident node as a victim
 * @sp: the space
 * @id: a linked node that is in no heap
 * @key: the greater, the sooner it is given up
 *
 * Return: false if the heap is full; the node is protected then, as what is in no heap
 * is never given up.
 */
bool tessera_space_heap_push(struct tessera_space *sp, u32 id, u64 key)
{
	struct tessera_space_seg *s = &sp->seg[sp->node[id].seg];
	struct tessera_space_victim v = { .key = key, .node = id };

	if (s->n_heap >= s->max_heap) {
		tessera_space_protect(sp, id, true);
		return false;
	}
	heap_up(sp, s, s->n_heap++, v);
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_space_heap_push);

/**
 * tessera_space_heap_remove() - withdraw a victim
 * @sp: the space
 * @id: node; nothing happens if it is in no heap
 */
void tessera_space_heap_remove(struct tessera_space *sp, u32 id)
{
	struct tessera_space_node *n = &sp->node[id];
	struct tessera_space_seg *s = &sp->seg[n->seg];
	struct tessera_space_victim last;
	u32 i = n->heap;

	if (i == TESSERA_SPACE_NONE)
		return;
	n->heap = TESSERA_SPACE_NONE;
	last = s->heap[--s->n_heap];
	if (last.node == id)
		return;
	if (i && s->heap[(i - 1) / 2].key < last.key)
		heap_up(sp, s, i, last);
	else
		heap_down(sp, s, i, last);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_space_heap_remove);
