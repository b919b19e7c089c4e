/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_FENCE_H__
#define __TESSERA_FENCE_H__

#include <linux/dma-fence.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>

struct tessera_fence;

/**
 * typedef tessera_fence_done_t - the fence's outcome is known
 * @fence: the fence, not yet signalled
 * @error: 0 or a negative error
 * @start_ns: device clock at the job's begin, 0 if it did not run
 * @end_ns: device clock at its end, likewise
 *
 * Called with the fence's lock held and interrupts off.
 */
typedef void (*tessera_fence_done_t)(struct tessera_fence *fence, int error,
				     u64 start_ns, u64 end_ns);

/**
 * struct tessera_fence_keeper - part of what fences read as long as they are there
 */
struct tessera_fence_keeper {
	/** @ref: each fence holds one */
	struct kref ref;
	/** @release: the last one is gone; in any context */
	void (*release)(struct kref *ref);
};

/**
 * struct tessera_fence - the hardware's fence of one job
 *
 * Each is a dma_fence context of its own: after a reset a job gets a new place in
 * the ring but keeps its fence.
 */
struct tessera_fence {
	/** @base: the fence */
	struct dma_fence base;
	/** @keeper: what its lock is part of; holds a reference */
	struct tessera_fence_keeper *keeper;
	/** @link: in &tessera_engine.inflight, which holds a reference */
	struct list_head link;
	/** @hw_seqno: value of the FENCE packet */
	u64 hw_seqno;
	/** @slot: ring slot */
	u32 slot;
	/** @done: called before it is signalled */
	tessera_fence_done_t done;
	/** @data: for @done */
	void *data;
};

struct tessera_fence *tessera_fence_create(struct tessera_fence_keeper *keeper, spinlock_t *lock,
					   tessera_fence_done_t done, void *data);
void tessera_fence_complete_locked(struct tessera_fence *fence, int error,
				   u64 start_ns, u64 end_ns);

#endif /* __TESSERA_FENCE_H__ */
