// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: hang recovery
 *
 * A job that has not ended in time is taken to hang its engine. Timeouts of all
 * engines run on one ordered workqueue. Recovery resets that engine only:
 *
 * - the job that hung ends with -ETIME, and its context is guilty: the scheduler
 *   cancels what is still queued in it, the submit ioctl refuses more;
 * - jobs of the same context that were in the ring behind it end with -ECANCELED;
 * - jobs of other contexts had not begun (an engine runs its ring in order), or were saved when
 *   they were preempted, and are written to the ring again, in order. So are the kernel's own: a
 *   paging job that hangs ends with -ETIME, and only it.
 *
 * A job whose fence turns out to have been written (a lost interrupt, or an end just before the
 * engine stopped) is not a hang; if the engine has halted, the job behind it is. A machine may
 * stand still as a whole: a virtual one that is not scheduled, one that sleeps. Then time passes, and the device gets none of it. So the timer runs for half a timeout, and
 * a job hangs when it has gone off twice for it: one stop, however long, makes it go off once. The
 * scheduler starts its timer again whenever it hands a job over, so who does that when the engine has
 * been at one job for long makes it go off (exec/sched.c). The job that hangs is the one
 * that the engine is at, and that may be another one where jobs are preempted. An engine that does not
 * answer a request for preemption hangs, too (exec/preempt.c). An
 * engine that cannot be reset is of no use any more: all its jobs end with
 * -ECANCELED, at once and for ever.
 */

#include <linux/dma-fence.h>
#include <linux/workqueue.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "exec/exec.h"
#include "services/services.h"
#include "tessera_compat.h"
#include "tessera_device.h"
#include "tessera_trace.h"

/* What becomes of a job that was in the ring: 0 to run it again. */
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
 * Decide about each job of the stopped scheduler, and give it back its hardware fence,
 * which drm_sched_stop() took away. @hung is NULL if no job is to blame. Unless the engine
 * was @reset the jobs are in &tessera_engine.inflight, and must not be added to it again.
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
			/* By this hang its client may have lost the right to run it. */
			if (!error && !job->refused && job->ops->prepare)
				job->refused = job->ops->prepare(job);
			job->overdue = false;
			if (!error)
				error = tessera_emit_job(engine, job);
			if (error)
				tessera_emit_finish(engine, job, error);
		}
		sched_job->s_fence->parent = dma_fence_get(fence);
	}
}

/*
 * Blame the job that hangs, or none: the engine owes an answer, and no job keeps it from giving one. The
 * engine goes on until it has stopped, so the job may have ended before that: then no job is to blame.
 * Returns the job that is, or NULL.
 */
static struct tessera_job *tessera_reset_engine(struct tessera_engine *engine,
						struct tessera_job *hung)
{
	const char *how = "hangs without a job";
	int ret;

	trace_tessera_engine_reset(engine->id, hung ? hung->context_id : 0,
				   hung ? hung->seqno : 0);
	ret = tessera_engine_reset(engine);
	if (hung && dma_fence_is_signaled(&hung->hw_fence->base)) {
		how = "has stopped too late";
		hung = NULL;
	} else if (hung) {
		how = "hangs";
		if (hung->ops->hung)
			hung->ops->hung(hung);
		drm_sched_increase_karma(&hung->base);
	}
	drm_warn(&engine->tdev->drm, "%s %s, reset: job %llu of context %u\n", engine->name, how,
		 hung ? hung->seqno : 0, hung ? hung->context_id : 0);
	/* An engine that could not be reset is of no use any more. */
	if (ret) {
		drm_err(&engine->tdev->drm, "%s cannot be reset: %pe\n", engine->name,
			ERR_PTR(ret));
		tessera_emit_cancel(engine, -ECANCELED);
	}

	return hung;
}

/*
 * The job to blame: the one that the engine is at, unless half of its time is left, a little less as
 * the timer may have begun before it. If the timer was that of another job, it may have only just begun;
 * but an engine that has @stopped for good will never end it.
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

	WRITE_ONCE(engine->looked, jiffies);
	drm_sched_stop(&engine->sched, &bad->base);

	/* Not earlier: stopping waits for fences that are about to signal. */
	cookie = dma_fence_begin_signalling();
	/* Asked first: then all that ended before the engine halted is known to have ended. */
	stopped = tessera_preempt_hold(engine);
	stopped |= !engine->closed && tessera_engine_halted(engine);
	tessera_emit_process(engine);
	/*
	 * Nothing is reset once the engine has been cancelled. That happens on this workqueue, so
	 * until this function returns the engine stays what it is, with its registers.
	 */
	if (!engine->closed && !tessera_preempt_is_dry(engine))
		hung = tessera_reset_hung(engine, stopped);
	reset = hung || (!engine->closed && stopped && tessera_preempt_is_dry(engine));
	if (reset)
		hung = tessera_reset_engine(engine, hung);
	tessera_reset_jobs(engine, hung, reset);
	tessera_preempt_release(engine);
	dma_fence_end_signalling(cookie);

	drm_sched_start(&engine->sched, 0);

	return DRM_GPU_SCHED_STAT_RESET;
}

static void tessera_reset_fini(struct drm_device *drm, void *data)
{
	struct tessera_device *tdev = data;

	destroy_workqueue(tdev->reset_wq);
}

/**
 * tessera_reset_init() - make the workqueue timeouts run on
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
 * tessera_reset_register() - take charge of the timeouts of all engines
 * @tdev: the device, its engines set up and stopped
 */
void tessera_reset_register(struct tessera_device *tdev)
{
	u32 i;

	for (i = 0; i < tessera_engine_num(tdev); i++)
		tdev->engines[i]->timedout = tessera_reset_timedout;
}
