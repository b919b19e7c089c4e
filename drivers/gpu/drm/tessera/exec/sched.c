// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: scheduler glue
 *
 * The drm_sched callbacks of an engine. One credit is one ring slot. run_job
 * allocates nothing, because the hardware fence is allocated with the job.
 *
 * Fairness
 * --------
 *
 * The ring runs in order, except that jobs of higher priority overtake on an
 * engine that can preempt (exec/preempt.c). Fairness between jobs is therefore
 * decided before they are handed over, in prepare_job. A job that has to stand
 * back waits for a fence. The scheduler asks for the job again when that fence
 * has signalled. The rules are:
 *
 * 1. Only a few jobs of one client are in the ring at a time. Another client's
 *    job finds the ring nearly empty, however many jobs the first client has
 *    queued.
 * 2. A job stands back for jobs of higher priority that are in the ring or
 *    ready.
 * 3. Rules 2 and 4 do not apply to a job that is due. A job becomes due when 16
 *    jobs of higher priority were handed over since the last job of its
 *    priority.
 * 4. A full ring accepts only jobs that are due.
 * 5. The jobs of a span that has begun are exempt from all these rules.
 *    Meanwhile no other job enters the ring (tessera_job_span()).
 *
 * The scheduler sees the same priority for the jobs of all clients. It asks for
 * the job that was pushed first, and rule 4 always leaves it a credit to do so.
 * Therefore each job is asked for, and jobs that are pushed later cannot
 * prevent that.
 *
 * No wait is circular. A job that stands back waits for a job in the ring,
 * which ends, for a ready job of higher priority, or for a job of its own client
 * and level that stood back before it. The scheduler asks for that one, too.
 * The first ready job of the highest priority waits only for the ring.
 *
 * With rule 3, at least every 17th job handed over is one of low priority, if
 * one is ready. At least every 17th of the others is one of normal priority.
 *
 * Ready jobs
 * ----------
 *
 * A job is ready when it waits for nothing but the ring. The driver knows this
 * of a job once the scheduler has asked for it. It also knows it of a job that
 * has nothing to wait for when it is pushed, if all jobs before it in its queue
 * are ready.
 */

#include <linux/dma-fence.h>
#include <linux/workqueue.h>

#include <drm/drm_managed.h>
#include <drm/gpu_scheduler.h>

#include "base/compat.h"
#include "base/device.h"
#include "exec/exec.h"
#include "hw/hw.h"

static struct dma_fence *tessera_sched_prepare_job(struct drm_sched_job *sched_job,
						   struct drm_sched_entity *entity)
{
	struct tessera_job *job = to_tessera_job(sched_job);
	struct tessera_engine *engine = job->engine;
	struct dma_fence *wait = tessera_job_next_wait(job);

	/*
	 * The scheduler consumes the reference, and asks again until it gets
	 * NULL.
	 */
	if (wait)
		return wait;
	if (job->after && !dma_fence_is_signaled(&job->after->base))
		return dma_fence_get(&job->after->base);
	if (engine->span && engine->span != job->span &&
	    !dma_fence_is_signaled(&engine->span->base))
		return dma_fence_get(&engine->span->base);
	/*
	 * A span that has begun must be able to end, so its jobs never stand
	 * back.
	 */
	if (engine->span && engine->span == job->span)
		return NULL;
	wait = tessera_emit_below(engine, job);
	if (wait)
		return wait;
	job->turn = engine->passed[job->level] >= TESSERA_MAX_PASSED;

	return tessera_emit_blocking_fence(engine, job, job->turn);
}

/*
 * Called when @job is handed over. If @job belongs to a span, keep other jobs
 * out of the ring until the span's last job; if it is that last job, let them
 * in again.
 */
static void tessera_sched_span(struct tessera_engine *engine, struct tessera_job *job)
{
	struct tessera_fence *old = engine->span;

	engine->span = NULL;
	if (job->span && job->span != job->hw_fence) {
		engine->span = job->span;
		dma_fence_get(&engine->span->base);
	}
	if (old)
		dma_fence_put(&old->base);
}

/*
 * A job of @level is handed over: restart the count of its level, and count it
 * as having overtaken all lower levels.
 */
static void sched_count_turns(struct tessera_engine *engine, u32 level)
{
	engine->passed[level] = 0;
	while (level--)
		engine->passed[level]++;
}

/*
 * Return the reason why the job must not run, or 0. The owner's reason is more
 * specific than the scheduler's, so it comes first.
 */
static int tessera_sched_refused(struct tessera_job *job)
{
	int error = 0;

	if (job->ops->prepare)
		error = job->ops->prepare(job);

	/* Set by the scheduler on jobs of a guilty entity. */
	return error ?: job->base.s_fence->finished.error;
}

/*
 * Let the scheduler free jobs that have overtaken a preempted job.
 *
 * The scheduler frees jobs in the order of hand-over, and the clients' quotas
 * are uncharged only then. Move finished jobs to the front of its list, so that
 * they do not wait for the end of a preempted job. This is done at each
 * hand-over.
 */
static void sched_free_passed(struct tessera_engine *engine)
{
	struct drm_gpu_scheduler *sched = &engine->sched;
	struct drm_sched_job *job, *next;

	if (!engine->preempt.able)
		return;
	spin_lock(&sched->job_list_lock);
	list_for_each_entry_safe(job, next, &sched->pending_list, list)
		if (dma_fence_is_signaled(&job->s_fence->finished))
			list_move(&job->list, &sched->pending_list);
	spin_unlock(&sched->job_list_lock);
}

/**
 * tessera_sched_fault() - check for a hang at once
 * @engine: the engine
 *
 * The check runs on the reset workqueue.
 */
void tessera_sched_fault(struct tessera_engine *engine)
{
	WRITE_ONCE(engine->fault, true);
	drm_sched_fault(&engine->sched);
}

/*
 * Start the check that was asked for again. The scheduler restarts its timer
 * when it hands over or frees a job, and forgets a check that has not begun.
 */
static void sched_fault_again(struct tessera_engine *engine)
{
	if (READ_ONCE(engine->fault))
		drm_sched_fault(&engine->sched);
}

/*
 * Start a hang check if the timer would come too late. The scheduler restarts
 * its timer for each job that it hands over, even while another job hangs.
 * Therefore check here whether the engine has been at one job for a full timer
 * period, with no check by exec/reset.c in that time.
 */
static void sched_look(struct tessera_engine *engine)
{
	unsigned long since, timeout = engine->sched.timeout;

	if (tessera_emit_running(engine, &since) && time_after(jiffies, since + timeout) &&
	    time_after(jiffies, READ_ONCE(engine->looked) + timeout))
		tessera_sched_fault(engine);
	else
		sched_fault_again(engine);
}

static struct dma_fence *tessera_sched_run_job(struct drm_sched_job *sched_job)
{
	struct tessera_job *job = to_tessera_job(sched_job);
	bool cookie = dma_fence_begin_signalling();
	struct dma_fence *ret = dma_fence_get(&job->hw_fence->base);
	int error;

	sched_free_passed(job->engine);
	sched_count_turns(job->engine, job->level);
	tessera_sched_span(job->engine, job);
	/*
	 * A refused job passes through the ring, too, because fences signal in
	 * order.
	 */
	job->refused = tessera_sched_refused(job);
	error = tessera_emit_job(job->engine, job);
	if (error)
		tessera_emit_finish(job->engine, job, error);
	sched_look(job->engine);
	dma_fence_end_signalling(cookie);

	return ret;
}

static enum drm_gpu_sched_stat tessera_sched_timedout_job(struct drm_sched_job *sched_job)
{
	struct tessera_job *job = to_tessera_job(sched_job);

	return job->engine->timedout(job->engine, job);
}

static void tessera_sched_free_job(struct drm_sched_job *sched_job)
{
	struct drm_sched_fence *s_fence = sched_job->s_fence;
	struct tessera_job *job = to_tessera_job(sched_job);

	/* The job may have been cancelled before it was handed over. */
	tessera_emit_forget(job->engine, job);
	/*
	 * The fence of such a job has no parent. Set one, because the parent
	 * keeps the scheduler alive.
	 */
	if (!s_fence->parent)
		/*
		 * Pairs with the load in
		 * drm_sched_fence_set_deadline_finished().
		 */
		smp_store_release(&s_fence->parent, dma_fence_get(&job->hw_fence->base));
	drm_sched_job_cleanup(sched_job);
	sched_fault_again(job->engine);
	tessera_job_put(job);
}

static const struct drm_sched_backend_ops tessera_sched_ops = {
	.prepare_job = tessera_sched_prepare_job,
	.run_job = tessera_sched_run_job,
	.timedout_job = tessera_sched_timedout_job,
	.free_job = tessera_sched_free_job,
};

/*
 * The scheduler's timer runs for half a timeout, since exec/reset.c
 * declares a hang when it expires twice.
 */
static long sched_timer(u32 timeout_ms)
{
	return DIV_ROUND_UP(msecs_to_jiffies(timeout_ms), 2);
}

/**
 * tessera_sched_set_timeout_ms() - set the time limit of a job
 * @tdev: the device
 * @ms: milliseconds, not 0; applies to jobs that start from now on
 */
void tessera_sched_set_timeout_ms(struct tessera_device *tdev, u32 ms)
{
	u32 i;

	for (i = 0; i < tdev->info.num_engines; i++) {
		WRITE_ONCE(tdev->engines[i]->timeout_ms, ms);
		WRITE_ONCE(tdev->engines[i]->sched.timeout, sched_timer(ms));
	}
}

static void sched_queue_fini(struct drm_device *drm, void *data)
{
	destroy_workqueue(data);
}

/**
 * tessera_sched_queue_init() - create the workqueue of all schedulers
 * @tdev: the device; its engines are not set up yet
 *
 * The workqueue is per CPU. Its worker runs on the CPU that pushed the job, or
 * that got the engine's interrupt. There it starts at once, with warm caches.
 * An unbound worker would need an idle CPU to be woken each time.
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_sched_queue_init(struct tessera_device *tdev)
{
	tdev->submit_wq = alloc_workqueue("tessera-submit", WQ_PERCPU | WQ_MEM_RECLAIM, 0);
	if (!tdev->submit_wq)
		return -ENOMEM;

	return drmm_add_action_or_reset(&tdev->drm, sched_queue_fini, tdev->submit_wq);
}

/**
 * tessera_sched_init() - start an engine's scheduler
 * @engine: the engine
 * @timeout_ms: time limit of a job
 *
 * Return: 0 or a negative error.
 */
int tessera_sched_init(struct tessera_engine *engine, u32 timeout_ms)
{
	struct drm_sched_init_args args = {
		.ops = &tessera_sched_ops,
		.submit_wq = engine->tdev->submit_wq,
		.num_rqs = DRM_SCHED_PRIORITY_COUNT,
		.credit_limit = TESSERA_RING_JOBS,
		.timeout = sched_timer(timeout_ms),
		.timeout_wq = engine->tdev->reset_wq,
		.name = engine->name,
		.dev = engine->tdev->drm.dev,
	};

	engine->timeout_ms = timeout_ms;
	engine->looked = jiffies;

	return drm_sched_init(&engine->sched, &args);
}

/**
 * tessera_sched_fini() - shut down an engine's scheduler
 * @engine: the engine; all entities are gone and all jobs are released
 */
void tessera_sched_fini(struct tessera_engine *engine)
{
	/*
	 * Stop the work that runs jobs before the work that frees them, which
	 * may have queued the former.
	 */
	drm_sched_wqueue_stop(&engine->sched);
	flush_workqueue(engine->tdev->submit_wq);
	if (engine->span)
		dma_fence_put(&engine->span->base);
	drm_sched_fini(&engine->sched);
}
