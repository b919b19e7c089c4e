// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: barriers
 *
 * A submission that runs in several parts is a barrier on its engine unless the device can
 * save and restore contexts: it starts after everything armed before it, and what is
 * armed later waits for its last part (SCHED-2). Jobs of the kernel's own queues are not
 * held up, so that paging runs between the parts (SCHED-3).
 *
 * The job armed last of each queue, and of each engine's last group, are kept
 * here. Both change only under the device's submission lock: read by an
 * ordinary submission, which also holds its context's lock, written by a group. The
 * list of queues has a mutex of its own, a leaf.
 */
#include <linux/dma-fence.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>

#include <drm/drm_managed.h>

#include "exec/job.h"
#include "submit/barrier.h"
#include "tessera_device.h"

struct tessera_barriers {
	/* Protects @queues and @next_id; a leaf. */
	struct mutex lock;
	struct list_head queues;
	u32 next_id;
	/* Last part of the last group; replaced under the submission lock for writing. */
	struct dma_fence *group[TSR_MAX_ENGINES];
};

static void barrier_fini(struct drm_device *drm, void *data)
{
	struct tessera_barriers *barriers = data;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(barriers->group); i++)
		dma_fence_put(barriers->group[i]);
	mutex_destroy(&barriers->lock);
}

/**
 * tessera_barrier_init() - set up the barriers of all engines
 * @tdev: the device
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_barrier_init(struct tessera_device *tdev)
{
	struct tessera_barriers *barriers;

	barriers = drmm_kzalloc(&tdev->drm, sizeof(*barriers), GFP_KERNEL);
	if (!barriers)
		return -ENOMEM;
	mutex_init(&barriers->lock);
	INIT_LIST_HEAD(&barriers->queues);
	barriers->next_id = 1;
	tdev->barriers = barriers;

	return drmm_add_action_or_reset(&tdev->drm, barrier_fini, barriers);
}

/**
 * tessera_barrier_add_queue() - take part in barriers
 * @tdev: the device
 * @tail: end of the new queue
 * @engine: engine it belongs to
 *
 * Return: a number for the queue, unique until 2^32 have been given out, never 0.
 */
u32 tessera_barrier_add_queue(struct tessera_device *tdev,
			      struct tessera_queue_tail *tail, u32 engine)
{
	struct tessera_barriers *barriers = tdev->barriers;
	u32 id;

	tail->engine = engine;
	mutex_lock(&barriers->lock);
	list_add_tail(&tail->node, &barriers->queues);
	id = barriers->next_id++;
	if (!barriers->next_id)
		barriers->next_id = 1;
	mutex_unlock(&barriers->lock);

	return id;
}

/**
 * tessera_barrier_remove_queue() - a queue is empty and goes away
 * @tdev: the device
 * @tail: its end
 */
void tessera_barrier_remove_queue(struct tessera_device *tdev,
				  struct tessera_queue_tail *tail)
{
	mutex_lock(&tdev->barriers->lock);
	list_del(&tail->node);
	mutex_unlock(&tdev->barriers->lock);
	dma_fence_put(tail->last);
}

static bool needs_barrier(struct tessera_device *tdev)
{
	return !(tdev->info.caps & TSR_CAP_PREEMPTION);
}

/**
 * tessera_barrier_wait_group() - run after the engine's last group
 * @tdev: the device, submission lock held
 * @engine: engine of the job
 * @job: a job that is not armed yet
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_barrier_wait_group(struct tessera_device *tdev, u32 engine,
			       struct tessera_job *job)
{
	struct dma_fence *group = tdev->barriers->group[engine];

	lockdep_assert_held(&tdev->submit_lock);

	if (!group || dma_fence_is_signaled(group) || !needs_barrier(tdev))
		return 0;

	return tessera_job_add_dependency(job, dma_fence_get(group));
}

/**
 * tessera_barrier_wait_all() - run after all that is armed on the engine
 * @tdev: the device, submission lock held for writing
 * @engine: engine of the job
 * @job: first job of a group, not armed yet
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_barrier_wait_all(struct tessera_device *tdev, u32 engine,
			     struct tessera_job *job)
{
	struct tessera_barriers *barriers = tdev->barriers;
	struct tessera_queue_tail *tail;
	int ret;

	lockdep_assert_held_write(&tdev->submit_lock);

	ret = tessera_barrier_wait_group(tdev, engine, job);
	if (ret || !needs_barrier(tdev))
		return ret;

	mutex_lock(&barriers->lock);
	list_for_each_entry(tail, &barriers->queues, node) {
		if (tail->engine != engine || !tail->last ||
		    dma_fence_is_signaled(tail->last))
			continue;
		ret = tessera_job_add_dependency(job, dma_fence_get(tail->last));
		if (ret)
			break;
	}
	mutex_unlock(&barriers->lock);

	return ret;
}

/**
 * tessera_barrier_armed() - a queue has a new last job
 * @tdev: the device, submission lock held
 * @tail: end of the queue, whose context's lock is held
 * @fence: fence of the job
 */
void tessera_barrier_armed(struct tessera_device *tdev,
			   struct tessera_queue_tail *tail, struct dma_fence *fence)
{
	lockdep_assert_held(&tdev->submit_lock);

	dma_fence_put(tail->last);
	tail->last = dma_fence_get(fence);
}

/**
 * tessera_barrier_group_armed() - an engine has a new last group
 * @tdev: the device, submission lock held for writing
 * @engine: the engine
 * @fence: fence of the last part
 */
void tessera_barrier_group_armed(struct tessera_device *tdev, u32 engine,
				 struct dma_fence *fence)
{
	struct tessera_barriers *barriers = tdev->barriers;

	lockdep_assert_held_write(&tdev->submit_lock);

	dma_fence_put(barriers->group[engine]);
	barriers->group[engine] = dma_fence_get(fence);
}
