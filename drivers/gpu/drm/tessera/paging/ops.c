// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: paging operations
 *
 * One function for each thing the paging engine can do with memory: transfer, fill, map,
 * unmap, mark, discard. Each appends commands to a batch. They take ranges of segments and
 * lists of pages, never objects. No locks.
 */

#include <linux/sizes.h>

#include "paging/paging.h"
#include "segments/segments.h"
#include "tessera_device.h"
#include "tessera_trace.h"

/*
 * Walks a transfer in passes.
 *
 * A pass ends where the page list of one packet is full. Where the layout
 * changes, a pass is made of whole rows of tiles. A pass never splits a page.
 */
struct res_cursor {
	/* Bytes in all. */
	u64 total;
	/* Where the pass starts. */
	u64 pos;
	/* Length of the pass, 0 at the end. */
	u64 bytes;
	/* Longest pass. */
	u64 limit;
	/* Passes go from the end to the start. */
	bool reverse;
	/* This is the last pass. */
	bool last;
};

/* @unit is what passes are multiples of; a multiple of the page size, @max at least as large. */
static void res_cursor_first(struct res_cursor *cur, u64 total, u32 max, u32 unit)
{
	*cur = (struct res_cursor) { .total = total, .limit = max - max % unit };
	cur->bytes = min(total, cur->limit);
	cur->last = cur->bytes == total;
}

/* Go the other way; right after res_cursor_first(). */
static void res_cursor_reverse(struct res_cursor *cur)
{
	cur->reverse = true;
	cur->pos = cur->total - cur->bytes;
}

static void res_cursor_next(struct res_cursor *cur)
{
	if (cur->last) {
		cur->bytes = 0;
	} else if (cur->reverse) {
		cur->bytes = min(cur->pos, cur->limit);
		cur->pos -= cur->bytes;
		cur->last = !cur->pos;
	} else {
		cur->pos += cur->bytes;
		cur->bytes = min(cur->total - cur->pos, cur->limit);
		cur->last = cur->pos + cur->bytes == cur->total;
	}
}

static bool res_cursor_is_first(const struct res_cursor *cur)
{
	return cur->reverse ? cur->pos + cur->bytes == cur->total : !cur->pos;
}

/* What one page list covers. */
#define LIST_COVERS	(TESSERA_PAGING_LIST_ENTRIES * TSR_PAGE_SIZE)

/* Most one packet moves where no list limits it, so that none takes long. */
#define PACKET_MOVES	SZ_16M

/* A pass of a swizzling transfer must hold at least one row of tiles. */
static_assert(TSR_TILE_ROWS * TSR_SURF_MAX_DIM * 4 <= LIST_COVERS);

/* GPU address of a pass, or the DMA address of a page list, kept or made for it. */
static int paging_side_addr(struct tessera_paging_job *pjob,
			    const struct tessera_paging_side *side,
			    const struct res_cursor *cur, u64 *addr)
{
	u32 count = DIV_ROUND_UP_ULL(cur->bytes, TSR_PAGE_SIZE);
	u64 first = cur->pos >> TSR_PAGE_SHIFT;
	const dma_addr_t *pages;
	__le64 *entries;
	dma_addr_t dma;
	u32 i;

	if (!side->pages) {
		*addr = side->seg->base + side->offset + cur->pos;
		return 0;
	}
	if (side->list && tessera_pages_find(side->list, side->first + first, count, &dma)) {
		tessera_pages_check(side->list, dma, side->pages[first]);
		*addr = dma;
		return 0;
	}

	entries = tessera_paging_list_take(pjob, count, &dma);
	if (IS_ERR(entries))
		return PTR_ERR(entries);

	pages = side->pages + first;
	for (i = 0; i < count; i++)
		entries[i] = cpu_to_le64(pages[i]);
	*addr = dma;

	return 0;
}

static int paging_transfer_pass(struct tessera_paging_batch *batch,
				const struct tessera_paging_side *src,
				const struct tessera_paging_side *dst,
				const struct res_cursor *cur, u32 pitch)
{
	struct tessera_paging_job *pjob;
	struct tessera_paging_record rec = {
		.kind = TESSERA_PAGING_TRANSFER,
		.src_segment = src->seg ? src->seg->id : 0,
		.src_offset = src->seg ? src->offset + cur->pos : cur->pos,
		.dst_segment = dst->seg ? dst->seg->id : 0,
		.dst_offset = dst->seg ? dst->offset + cur->pos : cur->pos,
		.size = cur->bytes,
	};
	bool swizzle = src->layout != dst->layout;
	u64 src_addr, dst_addr;
	u32 flags = 0;
	int ret;

	pjob = tessera_paging_job_for(batch, TSR_TRANSFER_DWORDS * sizeof(u32), cur->bytes);
	if (IS_ERR(pjob))
		return PTR_ERR(pjob);

	ret = paging_side_addr(pjob, src, cur, &src_addr);
	if (!ret)
		ret = paging_side_addr(pjob, dst, cur, &dst_addr);
	if (ret)
		return ret;

	if (src->pages)
		flags |= TSR_TRANSFER_SRC_PAGES | (src->cached ? TSR_TRANSFER_SRC_CACHED : 0);
	if (dst->pages)
		flags |= TSR_TRANSFER_DST_PAGES | (dst->cached ? TSR_TRANSFER_DST_CACHED : 0);
	if (res_cursor_is_first(cur))
		flags |= TSR_TRANSFER_START;
	if (cur->last)
		flags |= TSR_TRANSFER_END;

	tessera_paging_emit(pjob, (u32 []) {
		TSR_PKT_HEADER(TSR_OP_TRANSFER, flags, TSR_TRANSFER_DWORDS),
		src->layout | dst->layout << 8,
		lower_32_bits(src_addr), upper_32_bits(src_addr),
		lower_32_bits(dst_addr), upper_32_bits(dst_addr),
		lower_32_bits(cur->bytes), upper_32_bits(cur->bytes),
		0, 0, 0, 0,
		swizzle ? pitch : 0, 0,
	}, TSR_TRANSFER_DWORDS);

	/* The trace shows what the packet says: flags, then the layouts. */
	rec.flags = flags | src->layout << 8 | dst->layout << 16;
	tessera_paging_note(pjob, &rec);

	return 0;
}

/**
 * tessera_paging_transfer() - copy contents
 * @batch: the batch
 * @src: where from
 * @dst: where to
 * @bytes: how much, a multiple of the page size
 * @pitch: bytes per row, where the layouts differ
 *
 * As many packets as page lists, and the time one may take, make necessary, marked
 * first and last (PAGE-4). Ranges of one segment may overlap (PAGE-13).
 *
 * Return: 0 or an error; the batch is to be aborted then.
 */
int tessera_paging_transfer(struct tessera_paging_batch *batch,
			    const struct tessera_paging_side *src,
			    const struct tessera_paging_side *dst, u64 bytes, u32 pitch)
{
	bool pages = src->pages || dst->pages;
	bool swizzle = src->layout != dst->layout;
	struct res_cursor cur;
	int ret;

	res_cursor_first(&cur, bytes, pages ? LIST_COVERS : PACKET_MOVES,
			 swizzle ? TSR_TILE_ROWS * pitch : TSR_PAGE_SIZE);
	/* Upwards into itself: the upper end has to get out of the way first. */
	if (!pages && dst->seg == src->seg && dst->offset > src->offset)
		res_cursor_reverse(&cur);
	for (; cur.bytes; res_cursor_next(&cur)) {
		ret = paging_transfer_pass(batch, src, dst, &cur, pitch);
		if (ret)
			return ret;
	}

	return 0;
}

static int paging_fill_pass(struct tessera_paging_batch *batch, u64 addr,
			    const struct res_cursor *cur, u32 value)
{
	struct tessera_paging_job *pjob;

	pjob = tessera_paging_job_for(batch, TSR_PAGE_FILL_DWORDS * sizeof(u32), cur->bytes);
	if (IS_ERR(pjob))
		return PTR_ERR(pjob);

	addr += cur->pos;
	tessera_paging_emit(pjob, (u32 []) {
		TSR_PKT_HEADER(TSR_OP_PAGE_FILL, 0, TSR_PAGE_FILL_DWORDS), value,
		lower_32_bits(addr), upper_32_bits(addr),
		lower_32_bits(cur->bytes), upper_32_bits(cur->bytes),
	}, TSR_PAGE_FILL_DWORDS);

	return 0;
}

/**
 * tessera_paging_fill() - fill a range of a memory segment
 * @batch: the batch
 * @seg: the segment, not an aperture (PAGE-6)
 * @offset: byte offset
 * @bytes: how much
 * @value: the word to fill with
 *
 * Return: 0 or an error.
 */
int tessera_paging_fill(struct tessera_paging_batch *batch,
			const struct tessera_segment *seg, u64 offset, u64 bytes, u32 value)
{
	struct res_cursor cur;
	int ret;

	res_cursor_first(&cur, bytes, PACKET_MOVES, TSR_PAGE_SIZE);
	for (; cur.bytes; res_cursor_next(&cur)) {
		ret = paging_fill_pass(batch, seg->base + offset, &cur, value);
		if (ret)
			return ret;
	}
	tessera_paging_note(batch->cur, &(struct tessera_paging_record) {
		.kind = TESSERA_PAGING_FILL, .dst_segment = seg->id,
		.dst_offset = offset, .size = bytes,
	});

	return 0;
}

static int paging_map_pass(struct tessera_paging_batch *batch,
			   const struct tessera_segment *seg, u64 offset,
			   const struct res_cursor *cur,
			   const dma_addr_t *pages, enum ttm_caching caching, u32 *flags)
{
	u32 count = cur->bytes >> TSR_PAGE_SHIFT;
	u64 first = cur->pos >> TSR_PAGE_SHIFT;
	struct tessera_paging_job *pjob;
	__le64 *entries;
	dma_addr_t dma;
	u64 pte;
	u32 i;
	int ret;

	pjob = tessera_paging_job_for(batch, TSR_MAP_APERTURE_DWORDS * sizeof(u32), 0);
	if (IS_ERR(pjob))
		return PTR_ERR(pjob);

	entries = tessera_paging_list_take(pjob, count, &dma);
	if (IS_ERR(entries))
		return PTR_ERR(entries);

	for (i = 0; i < count; i++) {
		ret = tessera_cache_aperture_pte(batch->tdev, seg, caching, pages[first + i], &pte);
		if (ret)
			return ret;
		entries[i] = cpu_to_le64(pte);
	}
	*flags = pte & ~TSR_APTE_ADDR_MASK;

	tessera_paging_emit(pjob, (u32 []) {
		TSR_PKT_HEADER(TSR_OP_MAP_APERTURE, 0, TSR_MAP_APERTURE_DWORDS), seg->id,
		(offset + cur->pos) >> TSR_PAGE_SHIFT, count,
		lower_32_bits(dma), upper_32_bits(dma),
	}, TSR_MAP_APERTURE_DWORDS);

	return 0;
}

/**
 * tessera_paging_map() - show system pages in an aperture
 * @batch: the batch
 * @seg: an aperture segment
 * @offset: byte offset
 * @bytes: how much
 * @pages: DMA addresses of the pages
 * @caching: of the pages
 *
 * Return: 0 or an error.
 */
int tessera_paging_map(struct tessera_paging_batch *batch,
		       const struct tessera_segment *seg, u64 offset, u64 bytes,
		       const dma_addr_t *pages, enum ttm_caching caching)
{
	struct res_cursor cur;
	u32 flags = 0;
	int ret;

	res_cursor_first(&cur, bytes, LIST_COVERS, TSR_PAGE_SIZE);
	for (; cur.bytes; res_cursor_next(&cur)) {
		ret = paging_map_pass(batch, seg, offset, &cur, pages, caching, &flags);
		if (ret)
			return ret;
	}
	tessera_paging_note(batch->cur, &(struct tessera_paging_record) {
		.kind = TESSERA_PAGING_MAP, .dst_segment = seg->id,
		.dst_offset = offset, .size = bytes, .flags = flags,
	});

	return 0;
}

/**
 * tessera_paging_unmap() - show the dummy page in a range of an aperture (PAGE-9)
 * @batch: the batch
 * @seg: an aperture segment
 * @offset: byte offset
 * @bytes: how much
 *
 * Return: 0 or an error.
 */
int tessera_paging_unmap(struct tessera_paging_batch *batch,
			 const struct tessera_segment *seg, u64 offset, u64 bytes)
{
	struct tessera_paging_job *pjob;

	pjob = tessera_paging_job_for(batch, TSR_UNMAP_APERTURE_DWORDS * sizeof(u32), 0);
	if (IS_ERR(pjob))
		return PTR_ERR(pjob);

	tessera_paging_emit(pjob, (u32 []) {
		TSR_PKT_HEADER(TSR_OP_UNMAP_APERTURE, 0, TSR_UNMAP_APERTURE_DWORDS),
		seg->id, offset >> TSR_PAGE_SHIFT, bytes >> TSR_PAGE_SHIFT,
	}, TSR_UNMAP_APERTURE_DWORDS);
	tessera_paging_note(pjob, &(struct tessera_paging_record) {
		.kind = TESSERA_PAGING_UNMAP, .src_segment = seg->id,
		.src_offset = offset, .size = bytes,
	});

	return 0;
}

/**
 * tessera_paging_mark() - tell a strict device who owns a range
 * @batch: the batch
 * @seg: a memory segment
 * @offset: byte offset
 * @bytes: how much
 * @mark: TSR_MARK_*
 *
 * Return: 0 or an error.
 */
int tessera_paging_mark(struct tessera_paging_batch *batch,
			const struct tessera_segment *seg, u64 offset, u64 bytes, u32 mark)
{
	struct tessera_paging_job *pjob;
	u64 addr = seg->base + offset;

	if (!bytes || !(batch->tdev->info.caps & TSR_CAP_STRICT))
		return 0;

	pjob = tessera_paging_job_for(batch, TSR_MARK_DWORDS * sizeof(u32), 0);
	if (IS_ERR(pjob))
		return PTR_ERR(pjob);

	tessera_paging_emit(pjob, (u32 []) {
		TSR_PKT_HEADER(TSR_OP_MARK, 0, TSR_MARK_DWORDS), mark,
		lower_32_bits(addr), upper_32_bits(addr),
		lower_32_bits(bytes), upper_32_bits(bytes),
	}, TSR_MARK_DWORDS);
	tessera_paging_note(pjob, &(struct tessera_paging_record) {
		.kind = TESSERA_PAGING_MARK, .dst_segment = seg->id,
		.dst_offset = offset, .size = bytes, .flags = mark,
	});

	return 0;
}

/**
 * tessera_paging_discard() - note that contents are dropped without a copy
 * @batch: the batch
 * @seg: the segment they are in
 * @offset: byte offset
 * @bytes: how much
 *
 * Takes no command, only a place in the order of things and in the trace (PAGE-7).
 *
 * Return: 0 or an error.
 */
int tessera_paging_discard(struct tessera_paging_batch *batch,
			   const struct tessera_segment *seg, u64 offset, u64 bytes)
{
	struct tessera_paging_job *pjob;

	pjob = tessera_paging_job_for(batch, 0, 0);
	if (IS_ERR(pjob))
		return PTR_ERR(pjob);

	tessera_paging_note(pjob, &(struct tessera_paging_record) {
		.kind = TESSERA_PAGING_DISCARD, .src_segment = seg->id,
		.src_offset = offset, .size = bytes,
	});

	return 0;
}
