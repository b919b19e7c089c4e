// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: hang recovery
 *
 * A job that has not ended in time hangs its engine. The timeouts of all
 * engines are handled on one ordered workqueue. Recovery resets only the engine
 * that hangs:
 *
 * - The job that hung ends with -ETIME, and its context is guilty: the
 *   scheduler cancels the jobs that are still queued in it, and the submit
 *   ioctl refuses more.
 * - Jobs of the same context that were in the ring behind it end with
 *   -ECANCELED.
 * - Jobs of other contexts had not begun (an engine runs its ring in order), or
 *   were saved when they were preempted. They are written to the ring again, in
 *   order. The same holds for the kernel's own jobs: if a paging job hangs,
 *   only this job ends, with -ETIME.
 *
 * A job is not hung if its fence turns out to have been written. Its interrupt
 * was lost, or it ended just before the engine stopped. If the engine has
 * halted, the job behind it hangs.
 *
 * A whole machine may stand still: a virtual machine that is not scheduled, or
 * one that sleeps. The time passes then, and the device does not run. The timer
 * therefore runs for half a timeout, and a job hangs when the timer has expired
 * for it twice. A single stop of the machine, however long, lets the timer
 * expire only once. The scheduler restarts its timer whenever it hands over a
 * job. The driver makes it expire when it hands over a job and the engine has
 * been at one job for long (exec/sched.c).
 *
 * The job that hangs is the one that the engine is at. With preemption this may
 * be another job than the one whose timer expired. An engine that does not
 * answer a request for preemption hangs, too (exec/preempt.c). An engine that
 * cannot be reset is unusable: all its jobs, present and future, end with
 * -ECANCELED at once.
 */

#include <linux/dma-fence.h>
#include <linux/workqueue.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "base/compat.h"
#include "base/device.h"
#include "base/trace.h"
#include "base/wait.h"
#include "exec/exec.h"

/*
 * Decides about a job that was in the ring: the error it ends with, or 0 to run
 * it again.
 */
static int tessera_reset_verdict(const struct tessera_job *job, const struct tessera_job *hung)
{
	const struct drm_sched_fence *a = job->base.s_fence;
	const struct drm_sched_fence *b = hung->base.s_fence;

	if (job == hung)
		return -ETIME;
	if (a->scheduled.context == b->scheduled.context &&
	    hung->base.s_priority != DRM_SCHED_PRIORITY_KERNEL)
		return -ECANCELED;
	return 0;
}

/*
 * Decide about each job of the stopped scheduler, and give it back its hardware
 * fence, which drm_sched_stop() took away. @hung is NULL if no job is to blame.
 * If the engine was not @reset, the jobs are still in &tessera_engine.inflight,
 * and must not be added to it again.
 */
static void tessera_reset_jobs(struct tessera_engine *engine, struct tessera_job *hung,
			       bool reset)
{
	struct drm_sched_job *sched_job;

	list_for_each_entry(sched_job, &engine->sched.pending_list, list) {
		struct tessera_job *job = to_tessera_job(sched_job);
		struct dma_fence *fence = &job->hw_fence->base;
		int error = 0;

		if (reset && !dma_fence_is_signaled(fence)) {
			error = hung ? tessera_reset_verdict(job, hung) : 0;
			/*
			 * The hang may have got its client banned, so ask
			 * again.
			 */
			if (!error && !job->refused && job->ops->prepare)
				job->refused = job->ops->prepare(job);
			job->overdue = false;
			/*
			 * The engine has resumed it before it stopped, so it
			 * has to begin again.
			 */
			if (job->saved && !tessera_ring_has_saved(engine->ring, job->saved - 1)) {
				job->saved = 0;
				job->active_ns = 0;
			}
			if (!error)
				error = tessera_emit_job(engine, job);
			if (error)
				tessera_emit_finish(engine, job, error);
		}
		sched_job->s_fence->parent = dma_fence_get(fence);
	}
}

/*
 * Reset the engine and blame @hung. @hung is NULL if the engine owes an answer
 * although no job keeps it from answering. The engine runs until it has
 * stopped, so the job may have ended before that. No job is to blame then.
 * Returns the job to blame, or NULL.
 */
static struct tessera_job *tessera_reset_engine(struct tessera_engine *engine,
						struct tessera_job *hung)
{
	bool waiting = tessera_ring_status(engine->ring) & TSR_ENGS_WAITING;
	const char *how = "hangs without a job";
	int ret;

	trace_tessera_engine_reset(engine->id, hung ? hung->context_id : 0,
				   hung ? hung->seqno : 0);
	/* The reset clears the registers. */
	tessera_crash_record(engine, hung, NULL);
	ret = tessera_engine_reset(engine);
	if (hung && dma_fence_is_signaled(&hung->hw_fence->base)) {
		how = "has stopped too late";
		hung = NULL;
	} else if (hung) {
		how = "hangs";
		if (hung->ops->hung)
			hung->ops->hung(hung, waiting);
		drm_sched_increase_karma(&hung->base);
	}
	drm_warn(&engine->tdev->drm, "%s %s, reset: job %llu of context %u\n", engine->name, how,
		 hung ? hung->seqno : 0, hung ? hung->context_id : 0);
	/* An engine that could not be reset is unusable. */
	if (ret) {
		drm_err(&engine->tdev->drm, "%s cannot be reset: %pe\n", engine->name,
			ERR_PTR(ret));
		tessera_emit_cancel(engine, -ECANCELED);
	}
	tessera_crash_announce(engine->tdev, ret);

	return hung;
}

/*
 * Returns the job that hangs: the job that the engine is at, once half of its
 * time was over at an earlier call. An eighth is tolerated, as the timer may
 * have started before the job. The timer may have been that of another job, so
 * this one may have just begun. But an engine that has @stopped for good will
 * never end it.
 */
static struct tessera_job *tessera_reset_hung(struct tessera_engine *engine, bool stopped)
{
	unsigned long since;
	struct tessera_job *job = tessera_emit_running(engine, &since);

	if (!job || stopped || job->overdue)
		return job;
	if (time_before(jiffies, since + engine->sched.timeout - engine->sched.timeout / 8))
		drm_dbg_driver(&engine->tdev->drm, "%s: the job has just begun\n", engine->name);
	else
		job->overdue = true;

	return NULL;
}

static enum drm_gpu_sched_stat tessera_reset_timedout(struct tessera_engine *engine,
						      struct tessera_job *bad)
{
	struct tessera_job *hung = NULL;
	bool cookie, stopped, reset;

	drm_sched_stop(&engine->sched, &bad->base);
	/*
	 * Nothing is handed over now, so no check is asked for that this one
	 * does not make.
	 */
	WRITE_ONCE(engine->looked, jiffies);
	WRITE_ONCE(engine->fault, false);

	/*
	 * Begin here: drm_sched_stop() waits for fences that are about to
	 * signal.
	 */
	cookie = dma_fence_begin_signalling();
	/*
	 * Before the jobs are processed: all jobs that ended before the engine
	 * halted are then known to have ended.
	 */
	stopped = tessera_preempt_hold(engine);
	stopped |= !engine->closed && tessera_engine_halted(engine);
	tessera_emit_process(engine);
	/*
	 * A cancelled engine is not reset. Cancelling runs on this workqueue,
	 * too, so until this function returns the engine stays as it is, with
	 * its registers.
	 */
	if (!engine->closed && !tessera_preempt_has_no_job(engine))
		hung = tessera_reset_hung(engine, stopped);
	reset = hung || (!engine->closed && stopped && tessera_preempt_has_no_job(engine));
	if (reset)
		hung = tessera_reset_engine(engine, hung);
	tessera_reset_jobs(engine, hung, reset);
	tessera_preempt_release(engine);
	dma_fence_end_signalling(cookie);

	drm_sched_start(&engine->sched, 0);

	return DRM_GPU_SCHED_STAT_RESET;
}

/**
 * tessera_reset_expire() - end the time of the job that an engine executes
 * @engine: the engine
 *
 * For tests. The job counts as hung, as if its timer had expired twice. The
 * time limit of all other jobs stays as it is. Sleeps until the job has ended.
 *
 * Return: 0; -ENOENT if the engine executes no job; or -ERESTARTSYS.
 */
int tessera_reset_expire(struct tessera_engine *engine)
{
	struct tessera_fence *head;
	struct dma_fence *fence = NULL;
	unsigned long flags;
	bool cookie;
	long ret;

	cookie = dma_fence_begin_signalling();
	spin_lock_irqsave(&engine->lock, flags);
	/* Do not blame a job that has ended. */
	tessera_emit_process_locked(engine);
	head = list_first_entry_or_null(&engine->inflight, struct tessera_fence, link);
	if (head) {
		((struct tessera_job *)head->data)->overdue = true;
		fence = dma_fence_get(&head->base);
	}
	spin_unlock_irqrestore(&engine->lock, flags);
	dma_fence_end_signalling(cookie);
	if (!fence)
		return -ENOENT;

	tessera_sched_fault(engine);
	ret = tessera_wait_fence(TESSERA_WAIT_IDLE, fence, true, MAX_SCHEDULE_TIMEOUT);
	dma_fence_put(fence);

	return min(ret, 0L);
}

static void tessera_reset_fini(struct drm_device *drm, void *data)
{
	struct tessera_device *tdev = data;

	destroy_workqueue(tdev->reset_wq);
}

/**
 * tessera_reset_init() - create the workqueue for timeouts
 * @tdev: the device, before its engines are set up
 *
 * Return: 0 or a negative error.
 */
int tessera_reset_init(struct tessera_device *tdev)
{
	tdev->reset_wq = alloc_ordered_workqueue("tessera-reset", WQ_MEM_RECLAIM);
	if (!tdev->reset_wq)
		return -ENOMEM;

	return drmm_add_action_or_reset(&tdev->drm, tessera_reset_fini, tdev);
}

/**
 * tessera_reset_register() - set the timeout handler of all engines
 * @tdev: the device, its engines set up and stopped
 */
void tessera_reset_register(struct tessera_device *tdev)
{
	u32 i;

	for (i = 0; i < tessera_engine_num(tdev); i++)
		tdev->engines[i]->timedout = tessera_reset_timedout;
}
