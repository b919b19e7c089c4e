// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: scheduler glue
 *
 * The drm_sched callbacks of an engine. One credit is one ring slot. run_job
 * allocates nothing: the hardware fence came with the job.
 *
 * The ring runs in order and cannot be taken back, so only a few jobs of one client are
 * in it at a time: another client's job finds the ring near its end, however much the
 * first has queued. A job that has to stand back waits for one that is in the ring already.
 *
 * Of the jobs that are ready the scheduler takes those of the highest priority, always. As the ring is past choosing, a job also stands
 * back for those of higher priority that are in it. One at a time of those that do is remembered: when enough of higher priority have
 * passed it, they wait for that one. So of so many jobs that an engine gets, one has stood back, if there is any. It may be that the scheduler
 * never asks for such a job, as there is always one above that could run if there were room in the ring: so those above look for it.
 */

#include <linux/dma-fence.h>
#include <linux/workqueue.h>

#include <drm/drm_managed.h>
#include <drm/gpu_scheduler.h>

#include "exec/emit.h"
#include "exec/engine_types.h"
#include "exec/job.h"
#include "exec/sched.h"
#include "hw/fence.h"
#include "hw/ring.h"
#include "tessera_compat.h"
#include "tessera_device.h"

static struct tessera_engine *to_tessera_engine(struct drm_gpu_scheduler *sched)
{
	return container_of(sched, struct tessera_engine, sched);
}

#define TESSERA_MAX_PASSED	16

/* Whether @job has to let the one go first that has stood back for long. */
static bool sched_owes_turn(struct tessera_engine *engine, struct tessera_job *job)
{
	struct tessera_turn *turn = &engine->turn;

	if (turn->job && dma_fence_is_signaled(turn->job)) {
		dma_fence_put(turn->job);
		turn->job = NULL;
	}

	return turn->job && turn->passed >= TESSERA_MAX_PASSED &&
	       job->base.s_priority < turn->priority;
}

/* What a job stands back for, or NULL. */
static struct dma_fence *sched_stand_back(struct tessera_engine *engine, struct tessera_job *job)
{
	struct dma_fence *me = &job->base.s_fence->scheduled;
	struct tessera_turn *turn = &engine->turn;
	struct dma_fence *above;

	if (sched_owes_turn(engine, job))
		return dma_fence_get(turn->job);
	if (turn->job == me && turn->passed >= TESSERA_MAX_PASSED)
		return NULL;
	above = tessera_emit_above(engine, job);
	if (turn->job)
		return above;
	*turn = (struct tessera_turn) { };
	if (above) {
		turn->job = dma_fence_get(me);
		turn->priority = job->base.s_priority;
	} else {
		turn->job = tessera_emit_below(engine, job, &turn->priority);
	}

	return above;
}

static struct dma_fence *tessera_sched_prepare_job(struct drm_sched_job *sched_job,
						   struct drm_sched_entity *entity)
{
	struct tessera_engine *engine = to_tessera_engine(sched_job->sched);
	struct tessera_job *job = to_tessera_job(sched_job);
	struct dma_fence *wait = tessera_job_next_wait(job), *ahead;

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

	ahead = tessera_emit_ahead(engine, job);

	return ahead ?: sched_stand_back(engine, job);
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

/* Why the job must not run: its owner's reason is better than the scheduler's. */
static int tessera_sched_refused(struct tessera_job *job)
{
	int error = 0;

	if (job->ops->prepare)
		error = job->ops->prepare(job);

	/* Set by the scheduler on jobs of a guilty entity. */
	return error ?: job->base.s_fence->finished.error;
}

static struct dma_fence *tessera_sched_run_job(struct drm_sched_job *sched_job)
{
	struct tessera_job *job = to_tessera_job(sched_job);
	bool cookie = dma_fence_begin_signalling();
	struct dma_fence *ret = dma_fence_get(&job->hw_fence->base);
	int error;

	if (job->base.s_priority < job->engine->turn.priority)
		job->engine->turn.passed++;
	tessera_sched_span(job->engine, job);
	/* A job that does not run has its turn all the same: fences signal in order. */
	job->refused = tessera_sched_refused(job);
	error = tessera_emit_job(job->engine, job);
	if (error)
		tessera_emit_finish(job->engine, job, error);
	dma_fence_end_signalling(cookie);

	return ret;
}

static enum drm_gpu_sched_stat tessera_sched_timedout_job(struct drm_sched_job *sched_job)
{
	struct tessera_engine *engine = to_tessera_engine(sched_job->sched);

	return engine->timedout(engine, to_tessera_job(sched_job));
}

static void tessera_sched_free_job(struct drm_sched_job *sched_job)
{
	struct drm_sched_fence *s_fence = sched_job->s_fence;
	struct tessera_job *job = to_tessera_job(sched_job);

	/* It may have been cancelled before. */
	tessera_emit_forget(job->engine, job);
	/*
	 * Then its fence has no parent. It gets one, as the parent keeps the scheduler. Pairs with
	 * the load in drm_sched_fence_set_deadline_finished().
	 */
	if (!s_fence->parent)
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
	dma_fence_put(engine->turn.job);
	drm_sched_fini(&engine->sched);
}
