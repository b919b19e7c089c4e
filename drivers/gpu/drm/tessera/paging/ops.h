/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PAGING_OPS_H__
#define __TESSERA_PAGING_OPS_H__

#include <linux/types.h>

#include <drm/ttm/ttm_caching.h>

struct tessera_pages;		/* paging/pages.h */
struct tessera_paging_batch;	/* paging/queue.h */
struct tessera_segment;		/* segments/segment.h */

/**
 * struct tessera_paging_side - source or destination of a transfer
 */
struct tessera_paging_side {
	/** @seg: the segment; NULL for system memory */
	const struct tessera_segment *seg;
	/** @offset: byte offset in @seg */
	u64 offset;
	/** @pages: DMA addresses of system pages; NULL: use the GPU address */
	const dma_addr_t *pages;
	/** @list: a kept list that has them, or NULL */
	const struct tessera_pages *list;
	/** @first: the first of @pages in @list */
	u64 first;
	/** @cached: CPUs have @pages in their caches, and the device does not snoop */
	bool cached;
	/** @layout: TSR_LAYOUT_* */
	u32 layout;
};

int tessera_paging_transfer(struct tessera_paging_batch *batch,
			    const struct tessera_paging_side *src,
			    const struct tessera_paging_side *dst, u64 bytes, u32 pitch);
int tessera_paging_fill(struct tessera_paging_batch *batch,
			const struct tessera_segment *seg, u64 offset, u64 bytes, u32 value);
int tessera_paging_map(struct tessera_paging_batch *batch,
		       const struct tessera_segment *seg, u64 offset, u64 bytes,
		       const dma_addr_t *pages, enum ttm_caching caching);
int tessera_paging_unmap(struct tessera_paging_batch *batch,
			 const struct tessera_segment *seg, u64 offset, u64 bytes);
int tessera_paging_mark(struct tessera_paging_batch *batch,
			const struct tessera_segment *seg, u64 offset, u64 bytes, u32 mark);
int tessera_paging_discard(struct tessera_paging_batch *batch,
			   const struct tessera_segment *seg, u64 offset, u64 bytes);

#endif /* __TESSERA_PAGING_OPS_H__ */
