// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: scheduler glue
 *
 * The drm_sched callbacks of an engine. One credit is one ring slot. run_job
 * allocates nothing: the hardware fence came with the job.
 *
 * The ring runs in order, but for jobs of higher priority on an engine that can preempt
 * (exec/preempt.c). So what is fair between jobs is decided
 * before they are handed over, by prepare_job. A job that has to stand back waits for a fence,
 * and the scheduler asks for it again when that has signalled:
 *
 * 1. Only a few jobs of one client are in the ring at a time. Another client's job finds the
 *    ring near its end, however much the first has queued.
 * 2. A job stands back for jobs of higher priority that are in the ring, or that are ready.
 * 3. A job whose turn it is does not: when 16 jobs of higher priority have been handed over
 *    since the last job of its priority was, the next one that is asked for goes.
 * 4. A full ring takes only jobs whose turn it is.
 *
 * For the scheduler all clients' jobs have the same priority. It asks for the one that was
 * pushed first, and by 4 it always has a credit left to do so. So each job is asked for, and
 * jobs pushed later cannot keep it from that. A job that stands back waits for jobs in the
 * ring, which end, or for ready jobs of higher priority, which are asked for, too, and of which
 * those of the highest wait for the ring only: no wait is part of a circle. With 3 at least
 * every 17th job handed over is one of low priority, if one is ready, and at least every 17th
 * of the others one of normal priority.
 *
 * A job is ready when it waits for nothing but the ring. The driver knows that of jobs that have
 * been asked for, and of those that had nothing to wait for when they were pushed, behind such
 * jobs only.
 */

#include <linux/dma-fence.h>
#include <linux/workqueue.h>

#include <drm/drm_managed.h>
#include <drm/gpu_scheduler.h>

#include "exec/exec.h"
#include "hw/hw.h"
#include "tessera_compat.h"
#include "tessera_device.h"

static struct dma_fence *tessera_sched_prepare_job(struct drm_sched_job *sched_job,
						   struct drm_sched_entity *entity)
{
	struct tessera_job *job = to_tessera_job(sched_job);
	struct tessera_engine *engine = job->engine;
	struct dma_fence *wait = tessera_job_next_wait(job);

	/* The scheduler consumes a reference and asks again until there is none. */
	if (wait)
		return wait;
	if (job->after && !dma_fence_is_signaled(&job->after->base))
		return dma_fence_get(&job->after->base);
	if (engine->span && engine->span != job->span &&
	    !dma_fence_is_signaled(&engine->span->base))
		return dma_fence_get(&engine->span->base);
	/* What has begun must be able to end. */
	if (engine->span && engine->span == job->span)
		return NULL;
	wait = tessera_emit_below(engine, job);
	if (wait)
		return wait;
	job->turn = engine->passed[job->level] >= TESSERA_MAX_PASSED;

	return tessera_emit_stand_back(engine, job, job->turn);
}

/* @job is handed to the engine: from now on, or no longer, are others kept out. */
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

/* A job of @level is handed over: it had its turn, and has passed all below it. */
static void sched_count_turns(struct tessera_engine *engine, u32 level)
{
	engine->passed[level] = 0;
	while (level--)
		engine->passed[level]++;
}

/* Why the job must not run: its owner's reason is better than the scheduler's. */
static int tessera_sched_refused(struct tessera_job *job)
{
	int error = 0;

	if (job->ops->prepare)
		error = job->ops->prepare(job);

	/* Set by the scheduler on jobs of a guilty entity. */
	return error ?: job->base.s_fence->finished.error;
}

/*
 * The scheduler frees jobs in the order in which it handed them over, and what their clients were
 * charged for them with that. Move those that have ended before a job that was preempted to the
 * front, so that they do not wait for its end. That is done whenever a job is handed over.
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

/*
 * The scheduler has started its timer again for the job that it hands over, also for a job that
 * hangs. So if the engine has been at one job for as long as the timer runs, and nobody has looked
 * for as long, somebody is to look.
 */
static void sched_look(struct tessera_engine *engine)
{
	unsigned long since, timeout = engine->sched.timeout;

	if (tessera_emit_running(engine, &since) && time_after(jiffies, since + timeout) &&
	    time_after(jiffies, READ_ONCE(engine->looked) + timeout))
		drm_sched_fault(&engine->sched);
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
	/* A job that does not run has its turn all the same: fences signal in order. */
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

	/* It may have been cancelled before. */
	tessera_emit_forget(job->engine, job);
	/* Then its fence has no parent. It gets one, as the parent keeps the scheduler. */
	if (!s_fence->parent)
		/* Pairs with the load in drm_sched_fence_set_deadline_finished(). */
		smp_store_release(&s_fence->parent, dma_fence_get(&job->hw_fence->base));
	drm_sched_job_cleanup(sched_job);
	tessera_job_put(job);
}

static const struct drm_sched_backend_ops tessera_sched_ops = {
	.prepare_job = tessera_sched_prepare_job,
	.run_job = tessera_sched_run_job,
	.timedout_job = tessera_sched_timedout_job,
	.free_job = tessera_sched_free_job,
};

/* services/reset.c wants the timer to go off twice. */
static long sched_timer(u32 timeout_ms)
{
	return DIV_ROUND_UP(msecs_to_jiffies(timeout_ms), 2);
}

/**
 * tessera_sched_set_timeout() - set how long a job may run
 * @engine: the engine
 * @timeout_ms: milliseconds; for jobs that start from now on
 */
void tessera_sched_set_timeout(struct tessera_engine *engine, u32 timeout_ms)
{
	WRITE_ONCE(engine->timeout_ms, timeout_ms);
	WRITE_ONCE(engine->sched.timeout, sched_timer(timeout_ms));
}

static void sched_queue_fini(struct drm_device *drm, void *data)
{
	destroy_workqueue(data);
}

/**
 * tessera_sched_queue_init() - make the workqueue the schedulers of all engines work on
 * @tdev: the device; before its engines
 *
 * A worker that is bound to the processor which has queued, or whose interrupt says that the engine is free, begins at once and finds
 * what it needs in the caches. Another processor, idle, would have to be woken each time.
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
 * @timeout_ms: how long a job may run
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
 * tessera_sched_fini() - end the scheduler
 * @engine: the engine; all entities are gone and all jobs released
 */
void tessera_sched_fini(struct tessera_engine *engine)
{
	/* Running jobs is stopped before freeing them, which may have asked for more to be run. */
	drm_sched_wqueue_stop(&engine->sched);
	flush_workqueue(engine->tdev->submit_wq);
	if (engine->span)
		dma_fence_put(&engine->span->base);
	drm_sched_fini(&engine->sched);
}
