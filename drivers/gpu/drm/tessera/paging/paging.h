/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Interface of paging/: batches of commands that move and map memory. */
#ifndef __TESSERA_PAGING_H__
#define __TESSERA_PAGING_H__

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/types.h>

#include <drm/ttm/ttm_caching.h>

#include <tessera/tessera_hw.h>

struct dma_fence;
struct dma_resv;
struct tessera_account;		/* client/client.h */
struct tessera_device;
struct tessera_job;		/* exec/exec.h */
struct tessera_pages;		/* pages.c */
struct tessera_paging_job;	/* queue.c */
struct tessera_paging_queue;	/* queue.c */
struct tessera_segment;		/* segments/segments.h */

/* paging/cache.c */

enum ttm_caching tessera_cache_choose(struct tessera_device *tdev, u32 bo_flags, u32 supported);
u64 tessera_cache_vm_bits(const struct tessera_segment *seg, enum ttm_caching caching);

/* paging/pages.c */

/* A page list is one page: 512 entries, which cover 2 MiB. */
#define TESSERA_PAGING_LIST_ENTRIES	(TSR_PAGE_SIZE / sizeof(__le64))

struct tessera_pages *tessera_pages_create(struct tessera_device *tdev, const dma_addr_t *dma,
					   u32 num);
void tessera_pages_destroy(struct tessera_pages *pages);
void tessera_pages_check(const struct tessera_pages *pages, dma_addr_t dma, dma_addr_t first);
bool tessera_pages_find(const struct tessera_pages *pages, u64 first, u32 count,
			dma_addr_t *dma);

/* paging/queue.c */

/**
 * struct tessera_paging_list - a page list that belongs to a job
 */
struct tessera_paging_list {
	/** @node: in the job's lists */
	struct list_head node;
	/** @cpu: TESSERA_PAGING_LIST_ENTRIES entries */
	__le64 *cpu;
	/** @dma: DMA address of the entries */
	dma_addr_t dma;
	/** @used: number of entries that commands use; the rest is free */
	u32 used;
};

/**
 * struct tessera_paging_record - one operation, as the trace event reports it
 */
struct tessera_paging_record {
	/** @node: in the job's records */
	struct list_head node;
	/** @kind: TESSERA_PAGING_* */
	u32 kind;
	/** @src_segment: id of the source segment, 0: system memory or none */
	u32 src_segment;
	/**
	 * @dst_segment: id of the destination segment, 0: system memory or none
	 */
	u32 dst_segment;
	/** @flags: meaning depends on @kind */
	u32 flags;
	/** @src_offset: byte offset */
	u64 src_offset;
	/** @dst_offset: byte offset */
	u64 dst_offset;
	/** @size: bytes */
	u64 size;
};

/**
 * struct tessera_paging_effect - hooks that a batch calls for its creator
 */
struct tessera_paging_effect {
	/** @node: in the effects of its batch */
	struct list_head node;
	/**
	 * @prepare: see &tessera_job_ops.prepare
	 *
	 * Called for each job of the batch, and once more after the last job
	 * has run. At the first call, paging that the batch depends on may
	 * still be in the ring. It has ended at the last call. Called in atomic
	 * context.
	 */
	int (*prepare)(struct tessera_paging_effect *effect);
	/**
	 * @failed: a job of the batch failed, or @prepare failed after the last
	 * job
	 *
	 * Called before the fence of the batch signals, in atomic context,
	 * possibly several times.
	 */
	void (*failed)(struct tessera_paging_effect *effect);
	/**
	 * @release: called once after the batch has ended, with any outcome;
	 * may sleep
	 */
	void (*release)(struct tessera_paging_effect *effect);
};

/**
 * struct tessera_paging_batch - paging operations that end in one fence
 *
 * Usually the operations on one object. Lives on the stack between
 * tessera_paging_begin() and tessera_paging_push().
 */
struct tessera_paging_batch {
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @queue: the queue that runs the batch */
	struct tessera_paging_queue *queue;
	/** @bo_id: id of the object, 0: none or several; for traces */
	u32 bo_id;
	/**
	 * @lost: set to 1 if a job of the batch fails, or NULL; stays valid
	 * until the fence of the batch has signalled
	 */
	atomic_t *lost;
	/** @jobs: jobs built so far, in order */
	struct list_head jobs;
	/** @effects: &struct tessera_paging_effect */
	struct list_head effects;
	/**
	 * @cur: the last of @jobs if commands can be appended to it, or NULL
	 */
	struct tessera_paging_job *cur;
};

int tessera_paging_init(struct tessera_device *tdev);

struct tessera_paging_queue *tessera_paging_queue_create(struct tessera_device *tdev,
							 struct tessera_account *account);
struct tessera_paging_queue *tessera_paging_queue_share(struct tessera_device *tdev);
struct tessera_paging_queue *tessera_paging_queue_get(struct tessera_paging_queue *queue);
void tessera_paging_queue_put(struct tessera_paging_queue *queue);
struct tessera_account *tessera_paging_queue_account(struct tessera_paging_queue *queue);

void tessera_paging_begin(struct tessera_paging_batch *batch, struct tessera_paging_queue *queue,
			  u32 bo_id, atomic_t *lost);
struct tessera_paging_job *tessera_paging_job_for(struct tessera_paging_batch *batch,
						  u32 bytes, u64 moves);
void tessera_paging_emit(struct tessera_paging_job *pjob, const u32 *words, u32 dwords);
__le32 *tessera_paging_reserve(struct tessera_paging_batch *batch, u32 dwords,
			       struct tessera_paging_job **pjob);
struct tessera_paging_list *tessera_paging_list_create(struct tessera_paging_job *pjob);
__le64 *tessera_paging_list_take(struct tessera_paging_job *pjob, u32 count, dma_addr_t *dma);
void tessera_paging_note(struct tessera_paging_job *pjob,
			 const struct tessera_paging_record *what);
int tessera_paging_prepare(struct tessera_paging_batch *batch, struct dma_resv *resv);
struct tessera_job *tessera_paging_first_job(struct tessera_paging_batch *batch);
int tessera_paging_wait_for(struct tessera_paging_batch *batch, struct dma_fence *fence);
struct dma_fence *tessera_paging_push(struct tessera_paging_batch *batch);
void tessera_paging_abort(struct tessera_paging_batch *batch);

/* paging/ops.c */

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
	/** @list: kept page list that contains @pages, or NULL */
	const struct tessera_pages *list;
	/** @first: index of the first of @pages in @list */
	u64 first;
	/**
	 * @cached: @pages may be in CPU caches, and the device does not snoop
	 */
	bool cached;
	/** @layout: TSR_LAYOUT_* */
	u32 layout;
};

int tessera_paging_transfer(struct tessera_paging_batch *batch,
			    const struct tessera_paging_side *src,
			    const struct tessera_paging_side *dst, u64 bytes, u32 pitch);
int tessera_paging_clear(struct tessera_paging_batch *batch,
			 const struct tessera_segment *seg, u64 offset, u64 bytes);
int tessera_paging_map(struct tessera_paging_batch *batch,
		       const struct tessera_segment *seg, u64 offset, u64 bytes,
		       const dma_addr_t *pages, enum ttm_caching caching);
int tessera_paging_unmap(struct tessera_paging_batch *batch,
			 const struct tessera_segment *seg, u64 offset, u64 bytes);
int tessera_paging_mark(struct tessera_paging_batch *batch,
			const struct tessera_segment *seg, u64 offset, u64 bytes, u32 mark);
int tessera_paging_discard(struct tessera_paging_batch *batch,
			   const struct tessera_segment *seg, u64 offset, u64 bytes);

#endif /* __TESSERA_PAGING_H__ */
