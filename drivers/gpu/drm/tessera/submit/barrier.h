/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_BARRIER_H__
#define __TESSERA_BARRIER_H__

#include <linux/list.h>
#include <linux/types.h>

struct dma_fence;
struct tessera_barriers;	/* barrier.c */
struct tessera_device;
struct tessera_job;		/* exec/job.h */

/**
 * struct tessera_queue_tail - end of one context's queue
 */
struct tessera_queue_tail {
	/** @node: in the device's list of queues */
	struct list_head node;
	/** @engine: engine the queue belongs to */
	u32 engine;
	/** @last: the job armed last; under the context's lock and the submission lock */
	struct dma_fence *last;
};

int tessera_barrier_init(struct tessera_device *tdev);
u32 tessera_barrier_add_queue(struct tessera_device *tdev,
			      struct tessera_queue_tail *tail, u32 engine);
void tessera_barrier_remove_queue(struct tessera_device *tdev,
				  struct tessera_queue_tail *tail);
int tessera_barrier_wait_group(struct tessera_device *tdev, u32 engine,
			       struct tessera_job *job);
int tessera_barrier_wait_all(struct tessera_device *tdev, u32 engine,
			     struct tessera_job *job);
void tessera_barrier_armed(struct tessera_device *tdev,
			   struct tessera_queue_tail *tail, struct dma_fence *fence);
void tessera_barrier_group_armed(struct tessera_device *tdev, u32 engine,
				 struct dma_fence *fence);

#endif /* __TESSERA_BARRIER_H__ */
