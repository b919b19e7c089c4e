// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: backlog
 *
 * All that a client has queued and that is not done, whatever it names: the last job of each
 * of its queues (WDDM: what a destroy waits for by default). A queue is a context, and stays
 * as long as that has jobs, so those of a destroyed one count.
 *
 * One fence stands for all of them. It is made when it is asked for and good until the next job is
 * queued: so asking costs the same however many jobs there are, and next to nothing if none has come
 * since the last time.
 *
 * Objects that are kept until then (cpu/destroy.c) hang on that fence, all on one callback: what runs when it
 * signals, with interrupts off, does not depend on their number (DESTROY-3).
 *
 * The spinlock is a leaf; the mutex is taken without any other lock and held while the fence is
 * made.
 */

#include <linux/dma-fence-array.h>
#include <linux/dma-fence.h>
#include <linux/err.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "exec/job.h"
#include "mem/bo.h"
#include "submit/backlog.h"
#include "tessera_compat.h"
#include "tessera_device.h"

/* An object that is kept; a reference to it. */
struct backlog_object {
	struct list_head node;
	struct tessera_bo *bo;
};

/* All objects that are kept until one fence signals. */
struct backlog_batch {
	struct work_struct work;
	struct dma_fence_cb cb;
	struct tessera_device *tdev;
	/* A reference to each. */
	struct tessera_backlog *backlog;
	struct dma_fence *fence;
	/* Under the backlog's mutex, as long as it is the backlog's. */
	struct list_head objects;
};

struct tessera_backlog {
	struct kref ref;
	/* Protects the queues and @jobs. */
	spinlock_t lock;
	struct list_head queues;
	unsigned int num_queues;
	/* How many jobs there have been. */
	u64 jobs;
	/* Protects what follows. */
	struct mutex fence_lock;
	/* Of the first @fence_jobs jobs; NULL if these are done. */
	struct dma_fence *fence;
	u64 fence_jobs;
	/* Takes more objects, those of its fence; or NULL. */
	struct backlog_batch *batch;
	/* Context of such fences, and their number. */
	u64 context;
	unsigned int seqno;
};

/**
 * tessera_backlog_create() - the backlog of a new client
 *
 * Return: the backlog with one reference, or NULL.
 */
struct tessera_backlog *tessera_backlog_create(void)
{
	struct tessera_backlog *backlog = kzalloc(sizeof(*backlog), GFP_KERNEL_ACCOUNT);

	if (!backlog)
		return NULL;
	kref_init(&backlog->ref);
	spin_lock_init(&backlog->lock);
	INIT_LIST_HEAD(&backlog->queues);
	mutex_init(&backlog->fence_lock);
	backlog->context = dma_fence_context_alloc(1);

	return backlog;
}

/**
 * tessera_backlog_get() - take a reference
 * @backlog: the backlog
 *
 * Return: @backlog.
 */
struct tessera_backlog *tessera_backlog_get(struct tessera_backlog *backlog)
{
	kref_get(&backlog->ref);

	return backlog;
}

static void backlog_release(struct kref *ref)
{
	struct tessera_backlog *backlog = container_of(ref, struct tessera_backlog, ref);

	dma_fence_put(backlog->fence);
	mutex_destroy(&backlog->fence_lock);
	kfree(backlog);
}

/**
 * tessera_backlog_put() - drop a reference
 * @backlog: the backlog
 */
void tessera_backlog_put(struct tessera_backlog *backlog)
{
	kref_put(&backlog->ref, backlog_release);
}

/**
 * tessera_backlog_join() - a client has one more queue
 * @backlog: the client's backlog
 * @queue: the queue
 */
void tessera_backlog_join(struct tessera_backlog *backlog, struct tessera_backlog_queue *queue)
{
	queue->backlog = tessera_backlog_get(backlog);
	queue->last = NULL;
	spin_lock(&backlog->lock);
	list_add_tail(&queue->node, &backlog->queues);
	backlog->num_queues++;
	spin_unlock(&backlog->lock);
}

/**
 * tessera_backlog_leave() - a queue goes
 * @queue: the queue; its jobs are done
 */
void tessera_backlog_leave(struct tessera_backlog_queue *queue)
{
	struct tessera_backlog *backlog = queue->backlog;

	spin_lock(&backlog->lock);
	list_del(&queue->node);
	backlog->num_queues--;
	spin_unlock(&backlog->lock);
	dma_fence_put(queue->last);
	tessera_backlog_put(backlog);
}

/**
 * tessera_backlog_note() - a job is being queued
 * @queue: the queue
 * @fence: of the job, which is armed; later than those before
 */
void tessera_backlog_note(struct tessera_backlog_queue *queue, struct dma_fence *fence)
{
	struct tessera_backlog *backlog = queue->backlog;
	struct dma_fence *before;

	spin_lock(&backlog->lock);
	before = queue->last;
	queue->last = dma_fence_get(fence);
	backlog->jobs++;
	spin_unlock(&backlog->lock);
	dma_fence_put(before);
}

/* Up to @max fences that have not signalled; returns how many, and how many jobs they stand for. */
static unsigned int backlog_collect(struct tessera_backlog *backlog, struct dma_fence **fences,
				    unsigned int max, u64 *jobs)
{
	struct tessera_backlog_queue *queue;
	unsigned int num = 0;

	spin_lock(&backlog->lock);
	*jobs = backlog->jobs;
	list_for_each_entry(queue, &backlog->queues, node) {
		if (!queue->last || test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &queue->last->flags))
			continue;
		if (num < max)
			fences[num] = dma_fence_get(queue->last);
		num++;
	}
	spin_unlock(&backlog->lock);

	return num;
}

static void backlog_put_fences(struct dma_fence **fences, unsigned int num)
{
	while (num--)
		dma_fence_put(fences[num]);
	kfree(fences);
}

/* All that is unfinished now; queues may come while there is no lock. */
static int backlog_snapshot(struct tessera_backlog *backlog, struct dma_fence ***fences,
			    unsigned int *num, u64 *jobs)
{
	unsigned int max;

	*num = 0;
	do {
		max = *num + READ_ONCE(backlog->num_queues);
		*fences = kmalloc_array(max + 1, sizeof(**fences), GFP_KERNEL_ACCOUNT);
		if (!*fences)
			return -ENOMEM;
		*num = backlog_collect(backlog, *fences, max, jobs);
		if (*num > max)
			backlog_put_fences(*fences, max);
	} while (*num > max);

	return 0;
}

static int backlog_renew_locked(struct tessera_backlog *backlog)
{
	struct dma_fence_array *array;
	struct dma_fence **fences;
	struct dma_fence *fence = NULL;
	unsigned int num;
	u64 jobs;
	int ret;

	lockdep_assert_held(&backlog->fence_lock);

	ret = backlog_snapshot(backlog, &fences, &num, &jobs);
	if (ret)
		return ret;
	if (num > 1) {
		array = dma_fence_array_create(num, fences, backlog->context, ++backlog->seqno);
		if (!array) {
			backlog_put_fences(fences, num);
			return -ENOMEM;
		}
		fence = &array->base;
	} else {
		if (num)
			fence = dma_fence_get(fences[0]);
		backlog_put_fences(fences, num);
	}
	dma_fence_put(backlog->fence);
	backlog->fence = fence;
	backlog->fence_jobs = jobs;

	return 0;
}

/* NULL: nothing is unfinished. Without a reference of its own. */
static struct dma_fence *backlog_current_locked(struct tessera_backlog *backlog)
{
	u64 jobs;
	int ret;

	lockdep_assert_held(&backlog->fence_lock);

	spin_lock(&backlog->lock);
	jobs = backlog->jobs;
	spin_unlock(&backlog->lock);
	if (jobs != backlog->fence_jobs) {
		ret = backlog_renew_locked(backlog);
		if (ret)
			return ERR_PTR(ret);
	}
	if (backlog->fence && dma_fence_is_signaled(backlog->fence)) {
		dma_fence_put(backlog->fence);
		backlog->fence = NULL;
	}

	return backlog->fence;
}

/**
 * tessera_backlog_fence() - a fence for all that a client has queued up to now
 * @backlog: the client's backlog
 *
 * Return: the fence with a reference; NULL if nothing is unfinished; or -ENOMEM.
 */
struct dma_fence *tessera_backlog_fence(struct tessera_backlog *backlog)
{
	struct dma_fence *fence;

	mutex_lock(&backlog->fence_lock);
	fence = backlog_current_locked(backlog);
	if (!IS_ERR_OR_NULL(fence))
		dma_fence_get(fence);
	mutex_unlock(&backlog->fence_lock);

	return fence;
}

/* ---- Objects that are kept ------------------------------------------------------ */

static void batch_work(struct work_struct *work)
{
	struct backlog_batch *batch = container_of(work, struct backlog_batch, work);
	struct tessera_backlog *backlog = batch->backlog;
	struct tessera_device *tdev = batch->tdev;
	struct backlog_object *object, *next;

	/* Nobody adds to it any more. */
	mutex_lock(&backlog->fence_lock);
	if (backlog->batch == batch)
		backlog->batch = NULL;
	mutex_unlock(&backlog->fence_lock);

	list_for_each_entry_safe(object, next, &batch->objects, node) {
		tessera_bo_put(object->bo);
		kfree(object);
		cond_resched();
	}
	dma_fence_put(batch->fence);
	kfree(batch);
	tessera_backlog_put(backlog);
	tessera_job_queue_leave(tdev);
}

/* In atomic context. */
static void batch_fence_cb(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct backlog_batch *batch = container_of(cb, struct backlog_batch, cb);

	queue_work(batch->tdev->release_wq, &batch->work);
}

/* -ENODEV: the device is going, and has no jobs. */
static int batch_begin_locked(struct tessera_backlog *backlog, struct tessera_device *tdev,
			      struct dma_fence *fence)
{
	struct backlog_batch *batch;

	lockdep_assert_held(&backlog->fence_lock);

	batch = kzalloc(sizeof(*batch), GFP_KERNEL_ACCOUNT);
	if (!batch)
		return -ENOMEM;
	if (tessera_job_queue_enter(tdev)) {
		kfree(batch);
		return -ENODEV;
	}
	INIT_WORK(&batch->work, batch_work);
	INIT_LIST_HEAD(&batch->objects);
	batch->tdev = tdev;
	batch->backlog = tessera_backlog_get(backlog);
	batch->fence = dma_fence_get(fence);
	backlog->batch = batch;
	/* It may have signalled meanwhile: the work waits for the mutex. */
	if (dma_fence_add_callback(fence, &batch->cb, batch_fence_cb))
		queue_work(tdev->release_wq, &batch->work);

	return 0;
}

static int keep_locked(struct tessera_backlog *backlog, struct backlog_object *object)
{
	struct dma_fence *fence = backlog_current_locked(backlog);
	int ret = 0;

	if (!fence)
		return -ENODEV;
	if (IS_ERR(fence))
		return PTR_ERR(fence);
	if (!backlog->batch || backlog->batch->fence != fence)
		ret = batch_begin_locked(backlog, tessera_bo_device(object->bo), fence);
	if (!ret)
		list_add_tail(&object->node, &backlog->batch->objects);

	return ret;
}

/**
 * tessera_backlog_keep() - keep an object until all is done that a client has queued up to now
 * @backlog: the client's backlog
 * @bo: the object
 *
 * Does not wait.
 *
 * Return: 0, also if nothing is unfinished; or -ENOMEM.
 */
int tessera_backlog_keep(struct tessera_backlog *backlog, struct tessera_bo *bo)
{
	struct backlog_object *object = kmalloc(sizeof(*object), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!object)
		return -ENOMEM;
	tessera_bo_get(bo);
	object->bo = bo;
	mutex_lock(&backlog->fence_lock);
	ret = keep_locked(backlog, object);
	mutex_unlock(&backlog->fence_lock);
	if (ret) {
		tessera_bo_put(bo);
		kfree(object);
	}

	return ret == -ENODEV ? 0 : ret;
}
