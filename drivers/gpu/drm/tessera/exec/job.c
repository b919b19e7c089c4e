// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: jobs
 *
 * A job is embedded in its owner's struct and reference-counted. The owner has
 * one reference, and the scheduler has another from push to free_job.
 * tessera_job_init() allocates everything that the job needs to run.
 *
 * The last reference to a pushed job is usually dropped in the scheduler's
 * workqueue, which also runs jobs. Therefore the job is released from another
 * workqueue, where the release may wait for reservations.
 */

#include <linux/dma-fence.h>
#include <linux/rwsem.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>

#include "base/device.h"
#include "base/trace.h"
#include "base/wait.h"
#include "client/client.h"
#include "exec/exec.h"
#include "hw/hw.h"

/*
 * Memory charged for a job, with its fences and its owner's struct, in bytes.
 */
#define JOB_COST	1536L

/* Jobs without references, to be released by a work item. */
struct tessera_release_queue {
	struct llist_head jobs;
	/* Runs one jiffy later, so that one run releases many jobs. */
	struct delayed_work work;
	/* Number of jobs that are not released yet, in any state. */
	atomic_t live;
	wait_queue_head_t idle;
};

static void tessera_job_release(struct tessera_job *job)
{
	struct tessera_release_queue *queue = job->engine->tdev->release;
	unsigned int i;

	tessera_quota_uncharge(job->quota, JOB_COST + job->bytes);
	tessera_fences_fini(&job->waits);
	for (i = 0; i < job->num_ranges; i++)
		tessera_ib_put(job->ranges[i].ib);
	if (job->after)
		dma_fence_put(&job->after->base);
	if (job->behind)
		dma_fence_put(&job->behind->base);
	if (job->span)
		dma_fence_put(&job->span->base);
	if (job->hw_fence)
		dma_fence_put(&job->hw_fence->base);
	/* If the callback is running, this waits until it has ended. */
	if (job->finished)
		dma_fence_remove_callback(job->finished, &job->finished_cb);
	dma_fence_put(job->finished);
	job->ops->release(job);

	if (atomic_dec_and_test(&queue->live))
		wake_up_all(&queue->idle);
}

static void tessera_job_release_work(struct work_struct *work)
{
	struct tessera_release_queue *queue =
		container_of(to_delayed_work(work), struct tessera_release_queue, work);
	struct llist_node *list = llist_reverse_order(llist_del_all(&queue->jobs));
	struct tessera_job *job, *next;

	llist_for_each_entry_safe(job, next, list, release_node)
		tessera_job_release(job);
}

/**
 * tessera_job_queue_enter() - begin a section that unplug waits for
 * @tdev: the device
 *
 * Unplug waits for such a section as for a job. The section must not wait for
 * user space, and all its other waits must end when the device goes.
 *
 * Return: 0, or -ENODEV.
 */
int tessera_job_queue_enter(struct tessera_device *tdev)
{
	int idx;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return -ENODEV;
	atomic_inc(&tdev->release->live);
	drm_dev_exit(idx);

	return 0;
}

/**
 * tessera_job_queue_leave() - end a section begun by tessera_job_queue_enter()
 * @tdev: the device
 */
void tessera_job_queue_leave(struct tessera_device *tdev)
{
	if (atomic_dec_and_test(&tdev->release->live))
		wake_up_all(&tdev->release->idle);
}

/**
 * tessera_work_begin() - begin a section that creates jobs
 * @tdev: the device; it is not reset until tessera_work_end()
 *
 * Takes @reset_lock of the device for reading. Unplug does not wait for the
 * section, so hardware accesses still need drm_dev_enter().
 *
 * Return: 0, -ENODEV, or -EINTR for a fatal signal.
 */
int tessera_work_begin(struct tessera_device *tdev)
{
	int ret;

	if (!down_read_trylock(&tdev->reset_lock)) {
		ret = tessera_wait_in(TESSERA_WAIT_RESET, down_read_killable(&tdev->reset_lock));
		if (ret)
			return ret;
	}
	if (!drm_dev_is_unplugged(&tdev->drm))
		return 0;
	up_read(&tdev->reset_lock);

	return -ENODEV;
}

/**
 * tessera_work_end() - end a section begun by tessera_work_begin()
 * @tdev: the device
 * @ret: result of the work
 *
 * Return: @ret, or -ENODEV if unplug is the real reason for an -EIO.
 */
int tessera_work_end(struct tessera_device *tdev, int ret)
{
	up_read(&tdev->reset_lock);
	/*
	 * Unplug cancels paging in progress, which loses objects. Report unplug
	 * as the reason.
	 */
	if (ret == -EIO && drm_dev_is_unplugged(&tdev->drm))
		ret = -ENODEV;

	return ret;
}

/**
 * tessera_job_queue_drain() - wait until all jobs are released
 * @tdev: the device; its engines cancel all jobs, and no new jobs are created
 * @timeout: limit of the wait, in jiffies, or MAX_SCHEDULE_TIMEOUT. The release
 *	of a job may wait for reservations that other drivers hold
 *
 * Must not be called from the release callback of a job.
 *
 * Return: false if the timeout has expired.
 */
bool tessera_job_queue_drain(struct tessera_device *tdev, long timeout)
{
	struct tessera_release_queue *queue = tdev->release;

	return tessera_wait_event_timeout(TESSERA_WAIT_UNPLUG, queue->idle,
					  !atomic_read(&queue->live), TASK_UNINTERRUPTIBLE,
					  timeout);
}

static void tessera_job_queue_fini(struct drm_device *drm, void *data)
{
	struct tessera_device *tdev = data;

	flush_delayed_work(&tdev->release->work);
	destroy_workqueue(tdev->release_wq);
}

/**
 * tessera_job_queue_init() - set up the release of finished jobs
 * @tdev: the device
 *
 * Return: 0 or a negative error.
 */
int tessera_job_queue_init(struct tessera_device *tdev)
{
	tdev->release = drmm_kzalloc(&tdev->drm, sizeof(*tdev->release), GFP_KERNEL);
	if (!tdev->release)
		return -ENOMEM;
	init_llist_head(&tdev->release->jobs);
	INIT_DELAYED_WORK(&tdev->release->work, tessera_job_release_work);
	init_waitqueue_head(&tdev->release->idle);

	/* Releasing jobs frees memory, hence WQ_MEM_RECLAIM. */
	tdev->release_wq = alloc_workqueue("tessera-release", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!tdev->release_wq)
		return -ENOMEM;

	return drmm_add_action_or_reset(&tdev->drm, tessera_job_queue_fini, tdev);
}

/* Called with interrupts off and the engine's lock held. */
static void tessera_job_fence_done(struct tessera_fence *fence, int error,
				   u64 start_ns, u64 end_ns)
{
	struct tessera_job *job = fence->data;

	trace_tessera_job_done(job->engine->id, job->context_id, job->seqno, start_ns,
			       end_ns, error);
	if (job->ops->done)
		job->ops->done(job, error, start_ns, end_ns);
}

/**
 * tessera_job_init() - initialize a job
 * @job: the job, zeroed
 * @engine: the engine that is to run it
 * @entity: an entity of that engine
 * @ops: the owner's callbacks
 * @quota: the client's quota, or NULL for the kernel's own work; outlives the
 *	job
 *
 * On success the caller has a reference, to be dropped with tessera_job_put().
 * On failure there is nothing to undo.
 *
 * Return: 0 or a negative error.
 */
int tessera_job_init(struct tessera_job *job, struct tessera_engine *engine,
		     struct drm_sched_entity *entity,
		     const struct tessera_job_ops *ops, struct tessera_quota *quota)
{
	int ret;

	job->hw_fence = tessera_fence_create(&engine->keeper, &engine->lock,
					     tessera_job_fence_done, job);
	if (!job->hw_fence)
		return -ENOMEM;
	ret = drm_sched_job_init(&job->base, entity, 1, quota, 0);
	if (ret) {
		dma_fence_put(&job->hw_fence->base);
		job->hw_fence = NULL;
		return ret;
	}
	kref_init(&job->ref);
	INIT_LIST_HEAD(&job->ready);
	job->level = TESSERA_LEVEL_HIGH;
	job->ops = ops;
	job->engine = engine;
	job->quota = quota;
	tessera_quota_charge(quota, JOB_COST);
	atomic_inc(&engine->tdev->release->live);

	return 0;
}

/**
 * tessera_job_add_range() - append a range of an indirect buffer
 * @job: the job, not armed
 * @ib: the buffer; the job takes its own reference
 * @start: first byte
 * @end: first byte after the range; an empty range is ignored
 * @user: execute unprivileged
 */
void tessera_job_add_range(struct tessera_job *job, struct tessera_ib *ib,
			   u32 start, u32 end, bool user)
{
	struct tessera_ib_range *range;

	if (start == end)
		return;
	if (drm_WARN_ON(&job->engine->tdev->drm,
			job->num_ranges == TESSERA_JOB_MAX_RANGES))
		return;
	range = &job->ranges[job->num_ranges++];
	range->ib = tessera_ib_get(ib);
	range->start = start;
	range->end = end;
	range->user = user;
}

/**
 * tessera_job_charge() - charge memory that lives as long as the job
 * @job: the job, not armed
 * @bytes: the memory
 */
void tessera_job_charge(struct tessera_job *job, long bytes)
{
	job->bytes += bytes;
	tessera_quota_charge(job->quota, bytes);
}

/**
 * tessera_job_add_dependency() - make a job wait for a fence
 * @job: the job, not armed
 * @fence: the fence; the reference is consumed, also on failure
 *
 * The job waits for the latest fence of each context.
 *
 * Return: 0 or a negative error.
 */
int tessera_job_add_dependency(struct tessera_job *job, struct dma_fence *fence)
{
	u32 max = job->waits.max;
	int ret = dma_fence_is_signaled(fence) ? 0 : tessera_fences_add(&job->waits, fence);

	if (job->waits.max != max)
		tessera_job_charge(job, (job->waits.max - max) * TESSERA_FENCES_BYTES);
	dma_fence_put(fence);

	return ret;
}

/**
 * tessera_job_next_wait() - get the next unsignalled dependency of a job
 * @job: the job, pushed; called by the scheduler's worker
 *
 * The scheduler gets the job's fences one by one, in
 * &drm_sched_backend_ops.prepare_job. drm_sched_job_add_dependency() would
 * compare each new fence with all that the job has. drm_sched_entity_kill()
 * does not know these fences, but an entity is torn down only after its jobs
 * are gone.
 *
 * Return: a reference to a fence that has not signalled; NULL if there is none.
 */
struct dma_fence *tessera_job_next_wait(struct tessera_job *job)
{
	while (job->next_wait < job->waits.num) {
		struct dma_fence *fence = job->waits.fence[job->next_wait++];

		if (!dma_fence_is_signaled(fence))
			return dma_fence_get(fence);
	}

	return NULL;
}

/**
 * tessera_fence_is_own() - test whether a fence belongs to a job of this
 * device
 * @tdev: the device
 * @fence: the fence, not a container
 *
 * Return: true if a job of the device signals it; false for a foreign fence.
 */
bool tessera_fence_is_own(struct tessera_device *tdev, struct dma_fence *fence)
{
	struct drm_sched_fence *s_fence = to_drm_sched_fence(fence);
	u32 i;

	/*
	 * The scheduler of another device may be gone already, so only compare
	 * its address.
	 */
	for (i = 0; s_fence && i < tdev->info.num_engines; i++)
		if (tdev->engines[i] && s_fence->sched == &tdev->engines[i]->sched)
			return true;

	return false;
}

/**
 * tessera_job_add_resv() - make a job wait for the fences of a reservation
 * @job: the job, not armed
 * @resv: the reservation, held
 * @usage: the fences to wait for; foreign fences are skipped (exec/foreign.c)
 *
 * Return: 0 or a negative error.
 */
int tessera_job_add_resv(struct tessera_job *job, struct dma_resv *resv,
			 enum dma_resv_usage usage)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	int ret = 0;

	dma_resv_for_each_fence(&cursor, resv, usage, fence) {
		if (!tessera_fence_is_own(job->engine->tdev, fence))
			continue;
		ret = tessera_job_add_dependency(job, dma_fence_get(fence));
		if (ret)
			break;
	}

	return ret;
}

/**
 * tessera_job_run_after() - make a job wait until a job of its entity has ended
 * @job: the job, not armed
 * @prev: a job pushed before to the same entity
 *
 * The ring keeps the order of the jobs, but @job could enter it before the
 * outcome of @prev is known. With this call, @prev's error is known when
 * &tessera_job_ops.prepare is called. At most one call per job.
 */
void tessera_job_run_after(struct tessera_job *job, struct tessera_job *prev)
{
	drm_WARN_ON(&job->engine->tdev->drm, job->engine != prev->engine || job->after);
	dma_fence_get(&prev->hw_fence->base);
	job->after = prev->hw_fence;
}

/**
 * tessera_job_outcome() - get the fence that carries the outcome of a job
 * @job: the job
 *
 * The fence stays valid when the job is gone.
 *
 * Return: a reference to the job's hardware fence.
 */
struct tessera_fence *tessera_job_outcome(struct tessera_job *job)
{
	dma_fence_get(&job->hw_fence->base);

	return job->hw_fence;
}

/**
 * tessera_job_cancel_with() - cancel a job if an earlier job of its entity
 * fails
 * @job: the job, not armed
 * @outcome: the tessera_job_outcome() of a job pushed before to the same entity
 *
 * @job then ends with -ECANCELED. Both jobs may be in the ring at the same
 * time; the device checks the outcome.
 */
void tessera_job_cancel_with(struct tessera_job *job, struct tessera_fence *outcome)
{
	drm_WARN_ON(&job->engine->tdev->drm, job->behind);
	dma_fence_get(&outcome->base);
	job->behind = outcome;
}

/**
 * tessera_job_span() - keep jobs of other entities from running between two
 * jobs
 * @job: the job, not armed
 * @last: a later job of the same entity, or @job itself, which ends the span
 *
 * Only the first job of a span may have dependencies of its own.
 */
void tessera_job_span(struct tessera_job *job, struct tessera_job *last)
{
	job->span = last->hw_fence;
	dma_fence_get(&job->span->base);
}

static void tessera_job_finished_cb(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct tessera_job *job = container_of(cb, struct tessera_job, finished_cb);

	if (job->ops->finished)
		job->ops->finished(job);
}

/**
 * tessera_job_arm() - arm a job, the point of no return
 * @job: the job
 *
 * The job's finished fence exists from now on. Nothing may fail between this
 * call and tessera_job_push(). Jobs of one entity must be pushed in the order
 * in which they were armed.
 */
void tessera_job_arm(struct tessera_job *job)
{
	unsigned int i;

	for (i = 0; i < job->num_ranges; i++)
		tessera_ib_flush(job->ranges[i].ib, job->ranges[i].start,
				 job->ranges[i].end);
	drm_sched_job_arm(&job->base);
	job->finished = dma_fence_get(&job->base.s_fence->finished);
	job->seqno = job->finished->seqno;
	dma_fence_add_callback(job->finished, &job->finished_cb, tessera_job_finished_cb);
}

/*
 * True if the scheduler can hand over an armed job as soon as it is the first
 * one of its queue.
 */
static bool job_is_ready(struct tessera_job *job)
{
	bool overtakes = job->engine->preempt.able && job->level > TESSERA_LEVEL_LOW;
	u64 own = job->base.s_fence->scheduled.context;
	struct drm_sched_fence *s_fence;
	struct dma_fence *fence;
	u32 i;

	if (job->after)
		return false;
	for (i = 0; i < job->waits.num; i++) {
		fence = job->waits.fence[i];
		s_fence = to_drm_sched_fence(fence);
		if (s_fence && s_fence->scheduled.context == own)
			continue;
		/*
		 * A dependency on a job of the same engine is satisfied once
		 * that job is handed over, unless it is one of lower priority,
		 * see tessera_emit_below().
		 */
		if (s_fence && s_fence->sched == &job->engine->sched && !overtakes)
			fence = &s_fence->scheduled;
		if (!test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &fence->flags))
			return false;
	}

	return true;
}

/*
 * Put a ready job on the engine's ready list before it is pushed, because the
 * scheduler may ask for jobs of lower priority first. They stand back for jobs
 * on that list. A job is ready only if all jobs before it in its queue are.
 */
static void job_expect(struct tessera_job *job)
{
	struct tessera_engine *engine = job->engine;
	bool ready;

	if (!job->queue)
		return;
	ready = job_is_ready(job);

	spin_lock_irq(&engine->lock);
	job->is_unready = !ready || job->queue->unready;
	if (job->is_unready)
		job->queue->unready++;
	else
		list_add_tail(&job->ready, &engine->ready[job->level]);
	spin_unlock_irq(&engine->lock);
}

/**
 * tessera_job_push() - hand an armed job to the scheduler
 * @job: the job
 */
void tessera_job_push(struct tessera_job *job)
{
	kref_get(&job->ref);
	job_expect(job);
	drm_sched_entity_push_job(&job->base);
}

/**
 * tessera_job_finished() - get the fence that signals when the job has ended
 * @job: the job, armed
 *
 * Return: the fence without a reference; it is valid as long as the job.
 */
struct dma_fence *tessera_job_finished(struct tessera_job *job)
{
	return job->finished;
}

/**
 * tessera_job_get() - take a reference
 * @job: the job
 *
 * Return: @job.
 */
struct tessera_job *tessera_job_get(struct tessera_job *job)
{
	kref_get(&job->ref);
	return job;
}

static void tessera_job_last_put(struct kref *ref)
{
	struct tessera_job *job = container_of(ref, struct tessera_job, ref);
	struct tessera_device *tdev = job->engine->tdev;

	if (!job->finished) {
		drm_sched_job_cleanup(&job->base);
		tessera_job_release(job);
		return;
	}
	if (llist_add(&job->release_node, &tdev->release->jobs))
		queue_delayed_work(tdev->release_wq, &tdev->release->work, 1);
}

/**
 * tessera_job_put() - drop a reference
 * @job: the job or NULL
 *
 * Any context if the job was pushed, otherwise process context.
 */
void tessera_job_put(struct tessera_job *job)
{
	if (job)
		kref_put(&job->ref, tessera_job_last_put);
}
