// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: paging operations
 *
 * One function for each operation of the paging engine: transfer, fill, map,
 * unmap, mark, discard. Each appends commands to a batch. They take ranges of
 * segments and lists of pages, never objects. No locks.
 */

#include <linux/sizes.h>

#include "base/device.h"
#include "base/trace.h"
#include "paging/paging.h"
#include "pure/pte.h"
#include "segments/segments.h"

/*
 * A piece of a transfer that one packet moves.
 *
 * A pass ends where the page list of the packet is full. Between different
 * layouts, a pass consists of whole rows of tiles. A pass never splits a page.
 */
struct pass {
	/* Offset in the transfer, and length. */
	u64 pos, bytes;
	/* TSR_TRANSFER_START, TSR_TRANSFER_END */
	u32 flags;
};

/* Bytes that one page list covers. */
#define LIST_COVERS	(TESSERA_PAGING_LIST_ENTRIES * TSR_PAGE_SIZE)

/* Limit for packets without a page list, so that none runs for long. */
#define PACKET_MOVES	SZ_16M

/* A pass of a swizzling transfer must hold at least one row of tiles. */
static_assert(TSR_TILE_ROWS * TSR_SURF_MAX_DIM * 4 <= LIST_COVERS);

/*
 * Find the GPU address of a pass. For system pages, this is the DMA address of
 * a page list: a kept one, or one that is filled in here.
 */
static int paging_side_addr(struct tessera_paging_job *pjob,
			    const struct tessera_paging_side *side,
			    const struct pass *pass, u64 *addr)
{
	u32 count = DIV_ROUND_UP_ULL(pass->bytes, TSR_PAGE_SIZE);
	u64 first = pass->pos >> TSR_PAGE_SHIFT;
	const dma_addr_t *pages;
	__le64 *entries;
	dma_addr_t dma;
	u32 i;

	if (!side->pages) {
		*addr = side->seg->base + side->offset + pass->pos;
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
				const struct pass *pass, u32 pitch)
{
	struct tessera_paging_job *pjob;
	struct tessera_paging_record rec = {
		.kind = TESSERA_PAGING_TRANSFER,
		.src_segment = src->seg ? src->seg->id : 0,
		.src_offset = src->seg ? src->offset + pass->pos : pass->pos,
		.dst_segment = dst->seg ? dst->seg->id : 0,
		.dst_offset = dst->seg ? dst->offset + pass->pos : pass->pos,
		.size = pass->bytes,
	};
	bool swizzle = src->layout != dst->layout;
	u64 src_addr, dst_addr;
	u32 flags = pass->flags;
	int ret;

	pjob = tessera_paging_job_for(batch, TSR_TRANSFER_DWORDS * sizeof(u32), pass->bytes);
	if (IS_ERR(pjob))
		return PTR_ERR(pjob);

	ret = paging_side_addr(pjob, src, pass, &src_addr);
	if (!ret)
		ret = paging_side_addr(pjob, dst, pass, &dst_addr);
	if (ret)
		return ret;

	if (src->pages)
		flags |= TSR_TRANSFER_SRC_PAGES | (src->cached ? TSR_TRANSFER_SRC_CACHED : 0);
	if (dst->pages)
		flags |= TSR_TRANSFER_DST_PAGES | (dst->cached ? TSR_TRANSFER_DST_CACHED : 0);

	tessera_paging_emit(pjob, (u32 []) {
		TSR_PKT_HEADER(TSR_OP_TRANSFER, flags, TSR_TRANSFER_DWORDS),
		src->layout | dst->layout << 8,
		lower_32_bits(src_addr), upper_32_bits(src_addr),
		lower_32_bits(dst_addr), upper_32_bits(dst_addr),
		lower_32_bits(pass->bytes), upper_32_bits(pass->bytes),
		0, 0, 0, 0,
		swizzle ? pitch : 0, 0,
	}, TSR_TRANSFER_DWORDS);

	/* The trace event shows the packet's flags, then the layouts. */
	rec.flags = flags | src->layout << 8 | dst->layout << 16;
	tessera_paging_note(pjob, &rec);

	return 0;
}

/**
 * tessera_paging_transfer() - copy contents
 * @batch: the batch
 * @src: the source
 * @dst: the destination
 * @bytes: size, a multiple of the page size
 * @pitch: bytes per row, used if the layouts differ
 *
 * Emits as many packets as the size of a page list and the time limit of a
 * packet require. The first and the last packet are marked (PAGE-4). Ranges of
 * one segment may overlap (PAGE-13).
 *
 * Return: 0 or an error; the caller then aborts the batch.
 */
int tessera_paging_transfer(struct tessera_paging_batch *batch,
			    const struct tessera_paging_side *src,
			    const struct tessera_paging_side *dst, u64 bytes, u32 pitch)
{
	bool pages = src->pages || dst->pages;
	/*
	 * Copying upwards within a segment: start at the upper end, in case the
	 * ranges overlap.
	 */
	bool reverse = !pages && dst->seg == src->seg && dst->offset > src->offset;
	u32 limit = pages ? LIST_COVERS : PACKET_MOVES, i, num;
	struct pass pass;
	int ret = 0;

	if (src->layout != dst->layout)
		limit -= limit % (TSR_TILE_ROWS * pitch);
	num = DIV_ROUND_UP_ULL(bytes, limit);
	for (i = 0; i < num && !ret; i++) {
		pass.pos = (u64)limit * (reverse ? num - 1 - i : i);
		pass.bytes = min(bytes - pass.pos, limit);
		pass.flags = (i ? 0 : TSR_TRANSFER_START) |
			     (i + 1 < num ? 0 : TSR_TRANSFER_END);
		ret = paging_transfer_pass(batch, src, dst, &pass, pitch);
	}

	return ret;
}

static int paging_clear_pass(struct tessera_paging_batch *batch, u64 addr, u64 bytes)
{
	struct tessera_paging_job *pjob;

	pjob = tessera_paging_job_for(batch, TSR_PAGE_FILL_DWORDS * sizeof(u32), bytes);
	if (IS_ERR(pjob))
		return PTR_ERR(pjob);

	tessera_paging_emit(pjob, (u32 []) {
		TSR_PKT_HEADER(TSR_OP_PAGE_FILL, 0, TSR_PAGE_FILL_DWORDS), 0,
		lower_32_bits(addr), upper_32_bits(addr),
		lower_32_bits(bytes), upper_32_bits(bytes),
	}, TSR_PAGE_FILL_DWORDS);

	return 0;
}

/**
 * tessera_paging_clear() - fill a range of a memory segment with zero
 * @batch: the batch
 * @seg: a segment in VRAM (PAGE-6)
 * @offset: byte offset
 * @bytes: size
 *
 * Return: 0 or an error.
 */
int tessera_paging_clear(struct tessera_paging_batch *batch,
			 const struct tessera_segment *seg, u64 offset, u64 bytes)
{
	u64 pos;
	int ret;

	for (pos = 0; pos < bytes; pos += PACKET_MOVES) {
		ret = paging_clear_pass(batch, seg->base + offset + pos,
					min(bytes - pos, PACKET_MOVES));
		if (ret)
			return ret;
	}
	tessera_paging_note(batch->cur, &(struct tessera_paging_record) {
		.kind = TESSERA_PAGING_FILL, .dst_segment = seg->id,
		.dst_offset = offset, .size = bytes,
	});

	return 0;
}

/* @flags receives the flags of the last entry. */
static int paging_map_pass(struct tessera_paging_batch *batch,
			   const struct tessera_segment *seg, u64 offset, u32 count,
			   const dma_addr_t *pages, enum ttm_caching caching, u32 *flags)
{
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
		ret = tessera_pte_aperture_encode(pages[i], seg->flags, caching == ttm_cached,
						  &pte);
		if (ret)
			return ret;
		entries[i] = cpu_to_le64(pte);
	}

	tessera_paging_emit(pjob, (u32 []) {
		TSR_PKT_HEADER(TSR_OP_MAP_APERTURE, 0, TSR_MAP_APERTURE_DWORDS), seg->id,
		offset >> TSR_PAGE_SHIFT, count,
		lower_32_bits(dma), upper_32_bits(dma),
	}, TSR_MAP_APERTURE_DWORDS);

	*flags = lower_32_bits(pte & ~TSR_APTE_ADDR_MASK);

	return 0;
}

/**
 * tessera_paging_map() - map system pages in an aperture or a UMA segment
 * @batch: the batch
 * @seg: the segment
 * @offset: byte offset
 * @bytes: size
 * @pages: DMA addresses of the pages
 * @caching: caching of the pages
 *
 * Return: 0 or an error.
 */
int tessera_paging_map(struct tessera_paging_batch *batch,
		       const struct tessera_segment *seg, u64 offset, u64 bytes,
		       const dma_addr_t *pages, enum ttm_caching caching)
{
	u32 flags = 0;
	u64 pos;
	int ret;

	for (pos = 0; pos < bytes; pos += LIST_COVERS) {
		ret = paging_map_pass(batch, seg, offset + pos,
				      min(bytes - pos, LIST_COVERS) >> TSR_PAGE_SHIFT,
				      pages + (pos >> TSR_PAGE_SHIFT), caching, &flags);
		if (ret)
			return ret;
	}
	tessera_paging_note(batch->cur, &(struct tessera_paging_record) {
		.kind = TESSERA_PAGING_MAP, .dst_segment = seg->id,
		.dst_offset = offset, .size = bytes, .flags = flags,
	});

	return 0;
}

/* Append a command that takes no time, and its record. */
static int paging_command(struct tessera_paging_batch *batch, const u32 *words, u32 dwords,
			  const struct tessera_paging_record *record)
{
	struct tessera_paging_job *pjob = tessera_paging_job_for(batch, dwords * sizeof(u32), 0);

	if (IS_ERR(pjob))
		return PTR_ERR(pjob);
	tessera_paging_emit(pjob, words, dwords);
	tessera_paging_note(pjob, record);

	return 0;
}

/**
 * tessera_paging_unmap() - map the dummy page in a range of an aperture or a
 * UMA segment (PAGE-9)
 * @batch: the batch
 * @seg: the segment
 * @offset: byte offset
 * @bytes: size
 *
 * Return: 0 or an error.
 */
int tessera_paging_unmap(struct tessera_paging_batch *batch,
			 const struct tessera_segment *seg, u64 offset, u64 bytes)
{
	return paging_command(batch, (u32 []) {
		TSR_PKT_HEADER(TSR_OP_UNMAP_APERTURE, 0, TSR_UNMAP_APERTURE_DWORDS),
		seg->id, offset >> TSR_PAGE_SHIFT, bytes >> TSR_PAGE_SHIFT,
	}, TSR_UNMAP_APERTURE_DWORDS, &(struct tessera_paging_record) {
		.kind = TESSERA_PAGING_UNMAP, .src_segment = seg->id,
		.src_offset = offset, .size = bytes,
	});
}

/**
 * tessera_paging_mark() - report the state of a range to a strict device
 * @batch: the batch
 * @seg: a memory segment
 * @offset: byte offset
 * @bytes: size
 * @mark: TSR_MARK_*
 *
 * Does nothing without TSR_CAP_STRICT.
 *
 * Return: 0 or an error.
 */
int tessera_paging_mark(struct tessera_paging_batch *batch,
			const struct tessera_segment *seg, u64 offset, u64 bytes, u32 mark)
{
	u64 addr = seg->base + offset;

	if (!bytes || !(batch->tdev->info.caps & TSR_CAP_STRICT))
		return 0;

	return paging_command(batch, (u32 []) {
		TSR_PKT_HEADER(TSR_OP_MARK, 0, TSR_MARK_DWORDS), mark,
		lower_32_bits(addr), upper_32_bits(addr),
		lower_32_bits(bytes), upper_32_bits(bytes),
	}, TSR_MARK_DWORDS, &(struct tessera_paging_record) {
		.kind = TESSERA_PAGING_MARK, .dst_segment = seg->id,
		.dst_offset = offset, .size = bytes, .flags = mark,
	});
}

/**
 * tessera_paging_discard() - record that contents are dropped without a copy
 * @batch: the batch
 * @seg: the segment they are in
 * @offset: byte offset
 * @bytes: size
 *
 * Emits no command. The record gives the discard its place among the other
 * operations in the trace (PAGE-7).
 *
 * Return: 0 or an error.
 */
int tessera_paging_discard(struct tessera_paging_batch *batch,
			   const struct tessera_segment *seg, u64 offset, u64 bytes)
{
	return paging_command(batch, NULL, 0, &(struct tessera_paging_record) {
		.kind = TESSERA_PAGING_DISCARD, .src_segment = seg->id,
		.src_offset = offset, .size = bytes,
	});
}
