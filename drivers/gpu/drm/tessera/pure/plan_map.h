/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Plan map, the split planner's model of the segments: which node holds which
 * range, where the holes are, and which node may be evicted first.
 */
#ifndef __TESSERA_PURE_PLAN_MAP_H__
#define __TESSERA_PURE_PLAN_MAP_H__

#include "pure.h"

#define TESSERA_PLAN_MAP_NONE	U32_MAX

/**
 * struct tessera_plan_map_node - one occupied range of a segment
 * @start: first byte, an offset in the segment
 * @size: length in bytes
 * @prev: node below it in the same segment
 * @next: node above it in the same segment
 * @heap: index in the segment's heap of victims, or TESSERA_PLAN_MAP_NONE
 * @seg: segment index, meaningful while @linked
 * @linked: the node is in its segment's list, i.e. resident
 * @prot: the node may not be evicted or moved now
 */
struct tessera_plan_map_node {
	u64 start;
	u64 size;
	u32 prev;
	u32 next;
	u32 heap;
	u8 seg;
	bool linked;
	bool prot;
};

/**
 * struct tessera_plan_map_victim - one element of a segment's heap
 * @key: priority; the greatest key is evicted first
 * @node: node index
 */
struct tessera_plan_map_victim {
	u64 key;
	u32 node;
};

/**
 * struct tessera_plan_map_seg - one segment
 * @hole_max: upper bound of the size of a hole
 * @gap_max: upper bound of the space between two protected nodes
 * @used: bytes taken
 * @kept: bytes taken by protected nodes
 * @heap: victims, a binary heap with the greatest key first
 * @n_heap: number of victims in @heap
 * @max_heap: capacity of @heap
 * @head: node of size 0 at the bottom; never removed
 * @tail: node of size 0 at the top; never removed
 */
struct tessera_plan_map_seg {
	u64 hole_max;
	u64 gap_max;
	u64 used;
	u64 kept;
	struct tessera_plan_map_victim *heap;
	u32 n_heap;
	u32 max_heap;
	u32 head;
	u32 tail;
};

/**
 * struct tessera_plan_map - all segments of one plan
 * @seg: segments, @n_seg of them
 * @node: nodes, the caller's ids first, then two sentinels per segment
 * @n_seg: number of segments
 * @n_node: number of nodes the caller uses
 */
struct tessera_plan_map {
	struct tessera_plan_map_seg *seg;
	struct tessera_plan_map_node *node;
	u32 n_seg;
	u32 n_node;
};

static inline u64 tessera_plan_map_end(const struct tessera_plan_map_node *n)
{
	return n->start + n->size;
}

/*
 * Lowest place for @size at @align inside [@lo, @hi), or U64_MAX if there is
 * none. Alignments are powers of two, and all values are far below 2^63.
 */
static inline u64 tessera_plan_map_fit(u64 lo, u64 hi, u64 size, u64 align)
{
	u64 off = ALIGN(lo, align);

	return off <= hi && hi - off >= size ? off : U64_MAX;
}

void tessera_plan_map_reset(struct tessera_plan_map *map, const u64 *seg_size);
void tessera_plan_map_insert(struct tessera_plan_map *map, u32 prev, u32 id,
			     u64 start, u64 size);
void tessera_plan_map_remove(struct tessera_plan_map *map, u32 id);
void tessera_plan_map_protect(struct tessera_plan_map *map, u32 id, bool prot);
u64 tessera_plan_map_find_hole(struct tessera_plan_map *map, u32 seg, u64 size,
			       u64 align, u32 *below);
u64 tessera_plan_map_find_gap(struct tessera_plan_map *map, u32 seg, u64 size,
			      u64 align, u32 *below);
bool tessera_plan_map_heap_push(struct tessera_plan_map *map, u32 id, u64 key);
void tessera_plan_map_heap_remove(struct tessera_plan_map *map, u32 id);

#endif /* __TESSERA_PURE_PLAN_MAP_H__ */
