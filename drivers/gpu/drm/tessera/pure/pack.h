/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Packing of a few allocations into a few free ranges. The split planner uses
 * it as its last resort, when first fit in list order fails, and as feasibility
 * check.
 */
#ifndef __TESSERA_PURE_PACK_H__
#define __TESSERA_PURE_PACK_H__

#include "pure.h"

#define TESSERA_PACK_PREF_MAX	5U

/**
 * struct tessera_pack_item - one allocation to place
 * @size: bytes; a segment rounds them up to its granularity
 * @align: alignment beyond the granularity, a power of two
 * @off: result: offset in @seg
 * @mask: segments that may hold it
 * @id: identifier for the caller
 * @gap: result: gap that holds the item
 * @order: sort key for the caller
 * @seg: result: segment
 * @pref: segments to try first, in order
 * @n_pref: number of valid elements of @pref
 * @used: scratch of the exhaustive search
 * @fixed: the item is placed already; tessera_pack_first_fit() skips it
 */
struct tessera_pack_item {
	u64 size;
	u64 align;
	u64 off;
	u32 mask;
	u32 id;
	u32 gap;
	u32 order;
	u8 seg;
	u8 pref[TESSERA_PACK_PREF_MAX];
	u8 n_pref;
	bool used;
	bool fixed;
};

/**
 * struct tessera_pack_gap - one free range
 * @start: first byte
 * @end: first byte after the range
 * @cur: scratch: all bytes below are taken
 * @rest: scratch: bytes in all later gaps
 * @below: node below the gap, for the caller
 * @seg: segment of the gap
 */
struct tessera_pack_gap {
	u64 start;
	u64 end;
	u64 cur;
	u64 rest;
	u32 below;
	u8 seg;
};

/**
 * struct tessera_pack_seg - one segment
 * @granularity: unit of offsets and sizes, a power of two
 * @available: bytes that may be taken in all gaps of the segment together
 * @left: scratch: bytes of @available that are not taken yet
 * @first: scratch: first gap of the segment
 * @end: scratch: gap after the last one of the segment
 */
struct tessera_pack_seg {
	u64 granularity;
	u64 available;
	u64 left;
	u32 first;
	u32 end;
};

/**
 * struct tessera_pack_frame - one level of the exhaustive search
 * @cur: fill level of the gap before this choice
 * @choice: the chosen item, or the item count for "next gap"
 */
struct tessera_pack_frame {
	u64 cur;
	u32 choice;
};

/**
 * struct tessera_pack - a packing problem
 * @item: items, in the order in which to try them
 * @gap: free ranges, ascending, segment by segment
 * @seg: segments
 * @frame: memory for @n_item + @n_gap + 1 levels
 * @n_item: number of items
 * @n_gap: number of gaps
 * @n_seg: number of segments
 * @budget: remaining search steps, shared by all problems of one plan. It
 *	bounds the time that a malicious list can make the kernel search
 */
struct tessera_pack {
	struct tessera_pack_item *item;
	struct tessera_pack_gap *gap;
	struct tessera_pack_seg *seg;
	struct tessera_pack_frame *frame;
	u32 n_item;
	u32 n_gap;
	u32 n_seg;
	u64 budget;
};

/* Bytes that an item takes in a segment. */
static inline u64 tessera_pack_bytes(const struct tessera_pack *pack,
				     const struct tessera_pack_item *item, u32 seg)
{
	return ALIGN(item->size, pack->seg[seg].granularity);
}

/* Alignment of an item in a segment. */
static inline u64 tessera_pack_align(const struct tessera_pack *pack,
				     const struct tessera_pack_item *item, u32 seg)
{
	return max(item->align, pack->seg[seg].granularity);
}

/*
 * Iterate over the segments that may hold an item: preferred ones first, then
 * the others. Returns 0xff at the end.
 */
static inline u8 tessera_pack_seg_at(u32 mask, const u8 *pref, u32 n_pref,
				     u32 *cursor)
{
	while (*cursor < n_pref) {
		u8 seg = pref[(*cursor)++];

		if (mask & BIT(seg))
			return seg;
	}
	while (*cursor - n_pref < 32) {
		u32 seg = (*cursor)++ - n_pref, i;

		if (!(mask & BIT(seg)))
			continue;
		for (i = 0; i < n_pref && pref[i] != seg; i++)
			;
		if (i == n_pref)
			return seg;
	}
	return 0xff;
}

void tessera_pack_rewind(struct tessera_pack *pack);
bool tessera_pack_first_fit(struct tessera_pack *pack);
bool tessera_pack_solve(struct tessera_pack *pack);

#endif /* __TESSERA_PURE_PACK_H__ */
