// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: jobs in flight
 *
 * The layer between drm_sched and the ring. It writes jobs to the ring, keeps
 * their fences in ring order and completes them as the engine reports. Called
 * by run_job, by the engine's interrupt and by reset. All state is protected by
 * &tessera_engine.lock.
 */

#include <linux/dma-fence.h>
#include <linux/lockdep.h>

#include <drm/drm_print.h>

#include "base/device.h"
#include "base/trace.h"
#include "client/client.h"
#include "exec/exec.h"
#include "hw/hw.h"

static_assert(TESSERA_JOB_MAX_RANGES <= TESSERA_RING_MAX_CALLS);
static_assert(TESSERA_LEVELS == TESSERA_QUOTA_LEVELS);

/*
 * From this number of jobs on, the ring accepts only jobs that are due (@turn).
 * The seven slots above it keep the scheduler from running out of credits.
 * Without a credit it would not call prepare_job for any job, not even for one
 * of the highest priority.
 */
#define RING_FULL		(TESSERA_RING_JOBS - 7)

/*
 * A client whose jobs move little may have this multiple of run_ahead in the
 * ring.
 */
#define MANY_AHEAD		4

static void tessera_emit_fill(struct tessera_job *job, struct tessera_ring_job *ring_job)
{
	unsigned int i;

	ring_job->resume = job->saved;
	ring_job->save = job->saved - 1;
	ring_job->may_be_after = job->behind;
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

/*
 * Apply tessera_job_cancel_with(). If the outcome of the earlier job is known,
 * return -ECANCELED or 0. If that job is still in the ring, let the device
 * check its record when the engine gets to @job.
 */
static int tessera_emit_behind_locked(struct tessera_engine *engine, struct tessera_job *job,
				      struct tessera_ring_job *ring_job)
{
	struct tessera_fence *before = job->behind;

	lockdep_assert_held(&engine->lock);

	if (!before)
		return 0;
	if (test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &before->base.flags))
		return before->base.error ? -ECANCELED : 0;
	/*
	 * A job in the ring has a record if it really runs. The record stays
	 * valid until the job's fence has signalled.
	 */
	if (list_empty(&before->link) || ((struct tessera_job *)before->data)->refused)
		return -ECANCELED;
	ring_job->after = true;
	ring_job->after_slot = before->slot;

	return 0;
}

/*
 * The jobs in the ring that a job may have to wait for: the first job of each
 * kind, or NULL.
 */
struct ahead {
	/*
	 * Jobs of the same client at the same priority: the first one, their
	 * number, and the bytes that they and @job move. Jobs of lower priority
	 * count too if the engine cannot preempt, because @job cannot overtake
	 * them then.
	 */
	struct tessera_fence *own;
	u32 num_own;
	u64 moves;
	/* The first job of higher priority. */
	struct tessera_fence *above;
	/* The job in the middle of the ring, if the ring is full. */
	struct tessera_fence *middle;
};

static void emit_look_ahead_locked(struct tessera_engine *engine, struct tessera_job *job,
				   struct ahead *ahead)
{
	struct tessera_fence *fence, *middle = NULL;
	u32 num = 0;

	lockdep_assert_held(&engine->lock);

	list_for_each_entry(fence, &engine->inflight, link) {
		struct tessera_job *other = fence->data;

		if (++num == RING_FULL / 2)
			middle = fence;
		if (other->level > job->level) {
			ahead->above = ahead->above ?: fence;
		} else if (job->quota && other->quota == job->quota &&
			   (other->level == job->level || !engine->preempt.able)) {
			ahead->own = ahead->own ?: fence;
			ahead->moves += other->moves;
			ahead->num_own++;
		}
	}
	if (num >= RING_FULL)
		ahead->middle = middle;
}

/*
 * True if the client already has enough jobs in the ring. The limit is
 * run_ahead jobs, or MANY_AHEAD times that if all of them together move at most
 * run_ahead_moves bytes.
 */
static bool emit_is_far_ahead(struct tessera_engine *engine, const struct ahead *ahead)
{
	if (ahead->num_own < engine->run_ahead)
		return false;

	return ahead->num_own >= MANY_AHEAD * engine->run_ahead ||
	       !engine->run_ahead_moves || ahead->moves > engine->run_ahead_moves;
}

/* The client's job that stood back last at the job's level. */
static struct tessera_job **emit_back(struct tessera_job *job)
{
	return &job->quota->back[job->engine->id][job->level];
}

/*
 * Return the fence for which a client's job waits that has to wait for @wait.
 * The client may have many queues, each with such a job. If all waited for the
 * same job, its end would have the scheduler ask all of them, before the jobs of
 * other clients. Therefore only the first one of a level waits for @wait. Each
 * other one waits until the one that stood back before it has been handed over.
 */
static struct dma_fence *emit_stand_back_locked(struct tessera_job *job, struct dma_fence *wait)
{
	struct tessera_job **back = emit_back(job), *before = *back;

	if (job->stood_back)
		return wait;
	job->stood_back = true;
	*back = job;

	return before ? &before->base.s_fence->scheduled : wait;
}

/* The job is handed over, or never will be. */
static void emit_leave_back_locked(struct tessera_job *job)
{
	if (job->stood_back && *emit_back(job) == job)
		*emit_back(job) = NULL;
}

static void emit_forget_locked(struct tessera_engine *engine, struct tessera_job *job)
{
	lockdep_assert_held(&engine->lock);

	list_del_init(&job->ready);
	if (job->is_unready)
		job->queue->unready--;
	job->is_unready = false;
}

/**
 * tessera_emit_forget() - remove a job from the ready list and the unready
 * count
 * @engine: the engine
 * @job: the job, which was possibly never handed over
 */
void tessera_emit_forget(struct tessera_engine *engine, struct tessera_job *job)
{
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	emit_forget_locked(engine, job);
	emit_leave_back_locked(job);
	spin_unlock_irqrestore(&engine->lock, flags);
}

/*
 * Return the scheduled fence of the ready job with the highest priority above
 * @level, or NULL if there is none. The fence signals when that job is handed
 * over or cancelled. The highest one is chosen because it waits only for jobs
 * in the ring or of its own level, so no circular wait can arise.
 */
static struct dma_fence *emit_ready_above_locked(struct tessera_engine *engine, u32 level)
{
	struct tessera_job *above;
	u32 i;

	lockdep_assert_held(&engine->lock);

	for (i = TESSERA_LEVELS - 1; i > level; i--) {
		above = list_first_entry_or_null(&engine->ready[i], struct tessera_job, ready);
		if (above)
			return &above->base.s_fence->scheduled;
	}

	return NULL;
}

/**
 * tessera_emit_blocking_fence() - decide whether a job may enter the ring now
 * @engine: the engine
 * @job: the job; all its dependencies have signalled
 * @turn: the job is due, since enough jobs of higher priority have overtaken it
 *
 * Called by the scheduler's worker.
 *
 * Return: NULL if the job may enter the ring. Otherwise a reference to the
 * fence to wait for before asking again: that of a job in the ring, or of a job
 * of the same client or of higher priority that is about to enter it.
 */
struct dma_fence *tessera_emit_blocking_fence(struct tessera_engine *engine,
					      struct tessera_job *job, bool turn)
{
	struct ahead ahead = { .moves = job->moves };
	struct tessera_fence *in_ring;
	struct dma_fence *wait = NULL;
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	emit_look_ahead_locked(engine, job, &ahead);
	in_ring = ahead.above ?: ahead.middle;
	if (emit_is_far_ahead(engine, &ahead))
		wait = &ahead.own->base;
	else if (!turn)
		wait = in_ring ? &in_ring->base : emit_ready_above_locked(engine, job->level);
	if (!wait)
		emit_leave_back_locked(job);
	else if (job->quota)
		wait = emit_stand_back_locked(job, wait);

	emit_forget_locked(engine, job);
	if (wait && job->queue)
		list_add_tail(&job->ready, &engine->ready[job->level]);
	dma_fence_get(wait);
	spin_unlock_irqrestore(&engine->lock, flags);

	return wait;
}

/**
 * tessera_emit_below() - find a dependency of lower priority that is in the
 * ring
 * @engine: the engine
 * @job: the job; all its other dependencies have signalled
 *
 * drm_sched takes a dependency on a job of the same engine as satisfied once
 * that job is in the ring. Preemption breaks that rule, because a job of higher
 * priority overtakes the job that it depends on. Therefore keep @job out of the
 * ring until the other job has ended. Called by the scheduler's worker.
 *
 * Return: a reference to the fence to wait for, or NULL.
 */
struct dma_fence *tessera_emit_below(struct tessera_engine *engine, struct tessera_job *job)
{
	struct dma_fence *wait = NULL;
	struct tessera_fence *fence;
	unsigned long flags;

	if (!engine->preempt.able || !job->waits.num || job->level == TESSERA_LEVEL_LOW)
		return NULL;
	spin_lock_irqsave(&engine->lock, flags);
	list_for_each_entry(fence, &engine->inflight, link) {
		struct tessera_job *other = fence->data;

		if (other->level < job->level &&
		    tessera_fences_has(&job->waits, other->finished))
			wait = &fence->base;
	}
	dma_fence_get(wait);
	spin_unlock_irqrestore(&engine->lock, flags);

	return wait;
}

static void emit_write_locked(struct tessera_engine *engine, struct tessera_job *job,
			      struct tessera_ring_job *ring_job)
{
	struct tessera_fence *fence = job->hw_fence;

	lockdep_assert_held(&engine->lock);

	job->refused = job->refused ?: tessera_emit_behind_locked(engine, job, ring_job);
	ring_job->empty = job->refused;
	fence->hw_seqno = engine->next_seqno++;
	if (!engine->closed && !engine->preempt.asked)
		fence->slot = tessera_ring_emit(engine->ring, ring_job, fence->hw_seqno);
}

/**
 * tessera_emit_again_locked() - rewrite all jobs in flight to an empty ring
 * @engine: the engine, just started
 *
 * The jobs are written in the order of &tessera_engine.inflight.
 */
void tessera_emit_again_locked(struct tessera_engine *engine)
{
	struct tessera_fence *fence;

	lockdep_assert_held(&engine->lock);

	engine->head_since = jiffies;
	list_for_each_entry(fence, &engine->inflight, link) {
		struct tessera_ring_job ring_job = { };

		tessera_emit_fill(fence->data, &ring_job);
		emit_write_locked(engine, fence->data, &ring_job);
	}
	if (!list_empty(&engine->inflight))
		tessera_ring_kick(engine->ring);
}

/**
 * tessera_emit_running() - get the job that the engine executes
 * @engine: the engine
 * @since: set to the time at which the job became the first one, in jiffies
 *
 * Return: the job or NULL. It stays valid while the scheduler is stopped.
 */
struct tessera_job *tessera_emit_running(struct tessera_engine *engine, unsigned long *since)
{
	struct tessera_fence *head;
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	head = list_first_entry_or_null(&engine->inflight, struct tessera_fence, link);
	*since = engine->head_since;
	spin_unlock_irqrestore(&engine->lock, flags);

	return head ? head->data : NULL;
}

/**
 * tessera_emit_job() - write a job to the ring
 * @engine: the engine
 * @job: the job; its hardware fence signals when the job has ended
 *
 * The scheduler's credits keep the ring from overflowing. While the engine is
 * being cancelled or preempted, the job is only added to the list of jobs in
 * flight. It is completed with all others, in order, or written when the engine
 * is started again.
 *
 * Must not use drm_dev_enter(). A thread that waits for a job inside such a
 * section blocks drm_dev_unplug(). Jobs therefore have to make progress until
 * unplug cancels the engine after that, and the registers remain accessible
 * until then.
 *
 * Return: 0, or the error that a dead engine gives every job.
 */
int tessera_emit_job(struct tessera_engine *engine, struct tessera_job *job)
{
	struct tessera_fence *fence = job->hw_fence;
	struct tessera_ring_job ring_job = { };
	unsigned long flags;
	int ret;

	tessera_emit_fill(job, &ring_job);

	spin_lock_irqsave(&engine->lock, flags);
	ret = engine->dead;
	if (!ret) {
		emit_write_locked(engine, job, &ring_job);
		if (!job->refused)
			trace_tessera_job_run(engine->id, job->context_id, job->seqno);
		dma_fence_get(&fence->base);
		if (list_empty(&engine->inflight))
			engine->head_since = jiffies;
		list_add_tail(&fence->link, &engine->inflight);
		if (!engine->closed && !engine->preempt.asked)
			tessera_ring_kick(engine->ring);
		engine->jobs++;
		tessera_preempt_consider_locked(engine);
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
	if (result.status && result.status != TSR_ERR_SKIPPED)
		tessera_crash_record(engine, job, &result);
	if (result.end_ns > result.start_ns)
		engine->busy_ns += result.end_ns - result.start_ns;
	list_del_init(&fence->link);
	error = job->refused ?: status_to_error(result.status);
	tessera_fence_complete_locked(fence, error, result.start_ns, result.end_ns);
	dma_fence_put(&fence->base);
}

/**
 * tessera_emit_process_locked() - complete the jobs that the engine has
 * finished
 * @engine: the engine
 */
void tessera_emit_process_locked(struct tessera_engine *engine)
{
	struct tessera_fence *fence, *next;
	u64 seqno;

	lockdep_assert_held(&engine->lock);

	/*
	 * A dead engine's ring memory may be gone together with the hardware.
	 */
	seqno = engine->dead ? 0 : tessera_ring_ack(engine->ring);
	if (seqno >= engine->next_seqno) {
		/*
		 * The driver never wrote this value. Leave the jobs to the
		 * timeout.
		 */
		drm_err_ratelimited(&engine->tdev->drm, "%s: bad fence value %llu\n",
				    engine->name, seqno);
		seqno = 0;
	}
	list_for_each_entry_safe(fence, next, &engine->inflight, link) {
		if (fence->hw_seqno > seqno)
			break;
		tessera_emit_complete_locked(engine, fence);
		engine->head_since = jiffies;
	}
}

/**
 * tessera_emit_process() - complete finished jobs and reconsider preemption
 * @engine: the engine
 *
 * Any context, inside dma_fence_begin_signalling().
 */
void tessera_emit_process(struct tessera_engine *engine)
{
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	tessera_emit_process_locked(engine);
	tessera_preempt_consider_locked(engine);
	spin_unlock_irqrestore(&engine->lock, flags);
}

/**
 * tessera_emit_finish() - complete a job that will not run, or not to its end
 * @engine: the engine; it does not execute the job
 * @job: the job; nothing happens if it is complete already
 * @error: the error of its fence
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
 * tessera_emit_cancel() - complete all jobs in flight with an error
 * @engine: the engine, stopped
 * @error: the error, also for jobs that are handed over later
 */
void tessera_emit_cancel(struct tessera_engine *engine, int error)
{
	struct tessera_fence *fence, *next;
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	engine->dead = error;
	engine->preempt.asked = false;
	list_for_each_entry_safe(fence, next, &engine->inflight, link) {
		list_del_init(&fence->link);
		tessera_fence_complete_locked(fence, error, 0, 0);
		dma_fence_put(&fence->base);
	}
	spin_unlock_irqrestore(&engine->lock, flags);
}
