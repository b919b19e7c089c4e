// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: jobs in flight
 *
 * Between the scheduler above and the ring below: writes jobs to the ring, keeps
 * their fences in ring order and completes them as the engine reports. Called by
 * run_job, by the engine's interrupt and by reset; all state is under
 * &tessera_engine.lock.
 */

#include <linux/dma-fence.h>
#include <linux/lockdep.h>

#include <drm/drm_print.h>

#include "exec/emit.h"
#include "exec/engine_types.h"
#include "exec/ib.h"
#include "exec/job.h"
#include "hw/fence.h"
#include "hw/ring.h"
#include "tessera_device.h"
#include "tessera_trace.h"

static_assert(TESSERA_JOB_MAX_RANGES <= TESSERA_RING_MAX_CALLS);

/* Jobs of a level, and dependencies, that are looked at a time, with interrupts off. */
#define TESSERA_MAX_LOOKS	32

/* So many times as many jobs of a client may be in the ring if they move little. */
#define MANY_AHEAD		4

static void tessera_emit_fill(struct tessera_job *job, struct tessera_ring_job *ring_job)
{
	unsigned int i;

	ring_job->context_id = job->context_id;
	ring_job->vm_root = job->vm.root;
	ring_job->vm_cmds = job->vm.cmds;
	ring_job->vm_asid = job->vm.asid;
	ring_job->vm_bytes = job->vm.cmd_bytes;
	ring_job->num_calls = job->num_ranges;
	for (i = 0; i < job->num_ranges; i++) {
		struct tessera_ib_range *range = &job->ranges[i];
		struct tessera_ring_call *call = &ring_job->calls[i];

		call->pages = tessera_ib_pages_dma(range->ib);
		call->total = ALIGN(tessera_ib_bytes(range->ib), TSR_PKT_ALIGN);
		call->start = range->start;
		call->end = range->end;
		call->user = range->user;
	}
}

/* What became of the job that this one is not to run behind if it fails: whoever knows says so. */
static int tessera_emit_behind_locked(struct tessera_engine *engine, struct tessera_job *job,
				      struct tessera_ring_job *ring_job)
{
	struct tessera_fence *before = job->behind;

	lockdep_assert_held(&engine->lock);

	if (!before)
		return 0;
	if (test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &before->base.flags))
		return before->base.error ? -ECANCELED : 0;
	/* In the ring it has a record, if it runs. It stays there until its fence has signalled. */
	if (list_empty(&before->link) || ((struct tessera_job *)before->data)->refused)
		return -ECANCELED;
	ring_job->after = true;
	ring_job->after_slot = before->slot;

	return 0;
}

/**
 * tessera_emit_ahead() - what a job waits for that would run too far ahead
 * @engine: the engine
 * @job: the job, all else it waits for done
 *
 * A few jobs may always be in the ring, and more as long as all of them do not move more than one job may.
 *
 * Return: a reference to the fence of the oldest job of the same client in the ring, and of no higher priority, if
 * there are enough of them, else NULL.
 */
struct dma_fence *tessera_emit_ahead(struct tessera_engine *engine, struct tessera_job *job)
{
	struct tessera_fence *fence, *oldest = NULL;
	unsigned long flags;
	u64 moves = job->moves;
	u32 num = 0;

	if (!job->quota)
		return NULL;

	spin_lock_irqsave(&engine->lock, flags);
	list_for_each_entry(fence, &engine->inflight, link) {
		struct tessera_job *other = fence->data;

		if (other->quota != job->quota || tessera_job_is_above(other, job))
			continue;
		oldest = oldest ?: fence;
		moves += other->moves;
		num++;
	}
	if (num < engine->run_ahead ||
	    (num < MANY_AHEAD * engine->run_ahead && moves <= engine->run_ahead_moves &&
	     engine->run_ahead_moves))
		oldest = NULL;
	else
		dma_fence_get(&oldest->base);
	spin_unlock_irqrestore(&engine->lock, flags);

	return oldest ? &oldest->base : NULL;
}

/**
 * tessera_emit_above() - look for jobs of higher priority in the ring
 * @engine: the engine
 * @job: the job
 *
 * Return: a reference to the fence of the oldest of them, or NULL.
 */
struct dma_fence *tessera_emit_above(struct tessera_engine *engine, struct tessera_job *job)
{
	struct dma_fence *above = NULL;
	struct tessera_fence *fence;
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	list_for_each_entry(fence, &engine->inflight, link) {
		if (!tessera_job_is_above(fence->data, job))
			continue;
		above = dma_fence_get(&fence->base);
		break;
	}
	spin_unlock_irqrestore(&engine->lock, flags);

	return above;
}

/* Of what the scheduler waits for: a job of its own need only be handed over. Others' fences are not asked. */
static bool emit_is_done(struct tessera_engine *engine, struct dma_fence *fence)
{
	struct drm_sched_fence *s_fence = to_drm_sched_fence(fence);

	if (s_fence && s_fence->sched == &engine->sched)
		fence = &s_fence->scheduled;

	return test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &fence->flags);
}

/*
 * Whether the scheduler could run @job, which it has not asked for yet: it is the first of its queue, and what it depends on is
 * done. Others than the scheduler's worker, which asks, take jobs off queues, too, when a queue is killed, and what
 * those depend on: but fences are freed by RCU, and a listed job holds what its queue is part of.
 */
static bool emit_is_ready_locked(struct tessera_engine *engine, struct tessera_job *job, u32 *left)
{
	lockdep_assert_held(&engine->lock);

	if (spsc_queue_peek(&job->base.entity->job_queue) != &job->base.queue_node ||
	    (job->after && !emit_is_done(engine, &job->after->base)))
		return false;
	while (job->num_done < job->waits.num) {
		if (!*left || !emit_is_done(engine, job->waits.fence[job->num_done]))
			return false;
		job->num_done++;
		(*left)--;
	}

	return true;
}

static struct tessera_job *emit_find_locked(struct tessera_engine *engine, u32 level, u32 *left)
{
	struct list_head *waiting = &engine->waiting[level];
	struct tessera_job *job;
	u32 num = TESSERA_MAX_LOOKS;

	while (num-- && !list_empty(waiting)) {
		job = list_first_entry(waiting, struct tessera_job, waiting);
		/* The next look begins with others. */
		list_move_tail(&job->waiting, waiting);
		if (emit_is_ready_locked(engine, job, left))
			return job;
	}

	return NULL;
}

/**
 * tessera_emit_below() - look for a job of lower priority that could run
 * @engine: the engine
 * @job: the job, which is about to; the caller is the scheduler's worker
 * @priority: receives the other's
 *
 * Return: a reference to the fence that signals when the other is handed to the engine, or NULL.
 */
struct dma_fence *tessera_emit_below(struct tessera_engine *engine, struct tessera_job *job,
				     enum drm_sched_priority *priority)
{
	u32 levels = min(tessera_job_level(job), TESSERA_WAITING_LEVELS);
	u32 i, level, left = TESSERA_MAX_LOOKS;
	struct dma_fence *scheduled = NULL;
	struct tessera_job *below = NULL;
	unsigned long flags;

	rcu_read_lock();
	spin_lock_irqsave(&engine->lock, flags);
	for (i = 0; !below && i < levels; i++) {
		level = (engine->next_level + i) % levels;
		below = emit_find_locked(engine, level, &left);
	}
	if (below) {
		scheduled = dma_fence_get(&below->base.s_fence->scheduled);
		*priority = below->base.s_priority;
		/* All levels have their turns. */
		engine->next_level = tessera_job_level(below) + 1;
	}
	spin_unlock_irqrestore(&engine->lock, flags);
	rcu_read_unlock();

	return scheduled;
}

/**
 * tessera_emit_forget() - a job waits for the engine no longer
 * @engine: the engine
 * @job: the job
 */
void tessera_emit_forget(struct tessera_engine *engine, struct tessera_job *job)
{
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	list_del_init(&job->waiting);
	spin_unlock_irqrestore(&engine->lock, flags);
}

/**
 * tessera_emit_job() - write a job to the ring
 * @engine: the engine
 * @job: the job; its hardware fence completes when it is done
 *
 * The scheduler's credits keep the ring from overflowing. While the engine is being cancelled,
 * a job is listed and not written: it ends with all others, in order.
 *
 * Not inside drm_dev_enter(). A thread that waits for a job in such a section keeps
 * drm_dev_unplug() from returning, so jobs have to go on until the engine is cancelled behind
 * that. The registers are there until then.
 *
 * Return: 0, or the error every job gets from an engine that is dead.
 */
int tessera_emit_job(struct tessera_engine *engine, struct tessera_job *job)
{
	struct tessera_fence *fence = job->hw_fence;
	struct tessera_ring_job ring_job = { };
	unsigned long flags;
	int ret;

	tessera_emit_fill(job, &ring_job);

	spin_lock_irqsave(&engine->lock, flags);
	list_del_init(&job->waiting);
	ret = engine->dead;
	if (!ret) {
		job->refused = job->refused ?:
			       tessera_emit_behind_locked(engine, job, &ring_job);
		ring_job.empty = job->refused;
		if (!job->refused)
			trace_tessera_job_run(engine->id, job->context_id, job->seqno);
		dma_fence_get(&fence->base);
		fence->hw_seqno = engine->next_seqno++;
		list_add_tail(&fence->link, &engine->inflight);
		if (!engine->closed)
			fence->slot = tessera_ring_emit(engine->ring, &ring_job, fence->hw_seqno);
		engine->jobs++;
	}
	spin_unlock_irqrestore(&engine->lock, flags);

	return ret;
}

static int status_to_error(u32 status)
{
	if (status == TSR_ERR_SKIPPED)
		return -ECANCELED;

	return status ? -EFAULT : 0;
}

static void tessera_emit_complete_locked(struct tessera_engine *engine,
					 struct tessera_fence *fence)
{
	struct tessera_job *job = fence->data;
	struct tessera_ring_result result;
	int error;

	lockdep_assert_held(&engine->lock);

	if (job->refused)
		result = (struct tessera_ring_result) { };
	else
		tessera_ring_result(engine->ring, fence->slot, &result);
	if (result.end_ns > result.start_ns)
		engine->busy_ns += result.end_ns - result.start_ns;
	list_del_init(&fence->link);
	error = job->refused ?: status_to_error(result.status);
	tessera_fence_complete_locked(fence, error, result.start_ns, result.end_ns);
	dma_fence_put(&fence->base);
}

/**
 * tessera_emit_process() - complete what the engine reports as done
 * @engine: the engine
 *
 * Any context, inside dma_fence_begin_signalling().
 */
void tessera_emit_process(struct tessera_engine *engine)
{
	struct tessera_fence *fence, *next;
	unsigned long flags;
	u64 seqno;

	spin_lock_irqsave(&engine->lock, flags);
	/* The ring's memory may be gone with the hardware. */
	seqno = engine->dead ? 0 : tessera_ring_ack(engine->ring);
	if (seqno >= engine->next_seqno) {
		/* Not a value we wrote: leave the jobs to the timeout. */
		drm_err_ratelimited(&engine->tdev->drm, "%s: bad fence value %llu\n",
				    engine->name, seqno);
		seqno = 0;
	}
	list_for_each_entry_safe(fence, next, &engine->inflight, link) {
		if (fence->hw_seqno > seqno)
			break;
		tessera_emit_complete_locked(engine, fence);
	}
	spin_unlock_irqrestore(&engine->lock, flags);
}

/**
 * tessera_emit_finish() - complete a job that will not run, or not to its end
 * @engine: the engine; it does not execute the job
 * @job: the job; nothing is done if it is complete already
 * @error: why
 *
 * Any context, inside dma_fence_begin_signalling().
 */
void tessera_emit_finish(struct tessera_engine *engine, struct tessera_job *job, int error)
{
	struct tessera_fence *fence = job->hw_fence;
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	if (!list_empty(&fence->link)) {
		list_del_init(&fence->link);
		dma_fence_put(&fence->base);
	}
	if (!test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &fence->base.flags))
		tessera_fence_complete_locked(fence, error, 0, 0);
	spin_unlock_irqrestore(&engine->lock, flags);
}

/**
 * tessera_emit_cancel() - complete all that is in flight with an error
 * @engine: the engine, stopped
 * @error: the error, also for jobs that come later
 */
void tessera_emit_cancel(struct tessera_engine *engine, int error)
{
	struct tessera_fence *fence, *next;
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	engine->dead = error;
	list_for_each_entry_safe(fence, next, &engine->inflight, link) {
		list_del_init(&fence->link);
		tessera_fence_complete_locked(fence, error, 0, 0);
		dma_fence_put(&fence->base);
	}
	spin_unlock_irqrestore(&engine->lock, flags);
}
