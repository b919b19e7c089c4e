/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PAGING_H__
#define __TESSERA_PAGING_H__

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/types.h>

#include <drm/ttm/ttm_caching.h>

struct dma_fence;
struct dma_resv;
struct tessera_account;		/* mem/account.h */
struct tessera_device;
struct tessera_paging_job;	/* mem/paging.c */
struct tessera_segment;		/* mem/segment.h */

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
	/** @layout: TSR_LAYOUT_* */
	u32 layout;
};

/**
 * struct tessera_paging_batch - operations on one object that end in one fence
 *
 * Lives on the stack between tessera_paging_begin() and tessera_paging_commit().
 */
struct tessera_paging_batch {
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @account: who pays for the engine time; may be NULL */
	struct tessera_account *account;
	/** @bo_id: for traces */
	u32 bo_id;
	/** @lost: set to 1 if a job of the batch fails; valid until its fence has signalled */
	atomic_t *lost;
	/** @jobs: built so far, in order */
	struct list_head jobs;
	/** @cur: the last of @jobs, if it has room left */
	struct tessera_paging_job *cur;
};

int tessera_paging_init(struct tessera_device *tdev);
void tessera_paging_unplug(struct tessera_device *tdev);

void tessera_paging_begin(struct tessera_paging_batch *batch, struct tessera_device *tdev,
			  struct tessera_account *account, u32 bo_id, atomic_t *lost);
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
int tessera_paging_prepare(struct tessera_paging_batch *batch, struct dma_resv *resv);
struct dma_fence *tessera_paging_push(struct tessera_paging_batch *batch);
struct dma_fence *tessera_paging_commit(struct tessera_paging_batch *batch,
					struct dma_resv *resv);
void tessera_paging_abort(struct tessera_paging_batch *batch);

u32 tessera_paging_failures(struct tessera_device *tdev);
u32 tessera_paging_ib_bytes(struct tessera_device *tdev);
void tessera_paging_set_ib_bytes(struct tessera_device *tdev, u32 bytes);

#endif /* __TESSERA_PAGING_H__ */
