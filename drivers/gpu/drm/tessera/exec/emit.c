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

#include "exec/exec.h"
#include "hw/hw.h"
#include "tessera_device.h"
#include "tessera_trace.h"

static_assert(TESSERA_JOB_MAX_RANGES <= TESSERA_RING_MAX_CALLS);

/*
 * Jobs in a ring that takes those only whose turn it is. The scheduler runs out of credits
 * behind that; it must not, as it would ask for no job then, whatever its priority.
 */
#define RING_FULL		(TESSERA_RING_JOBS - 7)

/* So many times as many jobs of a client may be in the ring if they move little. */
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

/* What of the ring a job may have to wait for: NULL, or the first job of each kind. */
struct ahead {
	/*
	 * Of the same client and of no higher priority, how many those are and what they move. Those
	 * of lower priority do not count where the job can come before them.
	 */
	struct tessera_fence *own;
	u32 num_own;
	u64 moves;
	/* Of higher priority. */
	struct tessera_fence *above;
	/* In the middle of a full ring. */
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

/* A few jobs of a client may be in the ring, and more if all of them move no more than one may. */
static bool emit_is_far_ahead(struct tessera_engine *engine, const struct ahead *ahead)
{
	if (ahead->num_own < engine->run_ahead)
		return false;

	return ahead->num_own >= MANY_AHEAD * engine->run_ahead ||
	       !engine->run_ahead_moves || ahead->moves > engine->run_ahead_moves;
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
 * tessera_emit_forget() - a job that may not have been handed over is gone
 * @engine: the engine
 * @job: the job
 */
void tessera_emit_forget(struct tessera_engine *engine, struct tessera_job *job)
{
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	emit_forget_locked(engine, job);
	spin_unlock_irqrestore(&engine->lock, flags);
}

/*
 * The fence that signals when a ready job of a level above @level is handed over, or never will
 * be. NULL if there is none. Of the highest: that one waits for the ring only.
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
 * tessera_emit_stand_back() - decide whether a job goes to the ring now
 * @engine: the engine
 * @job: the job, all it depends on done; the caller is the scheduler's worker
 * @turn: jobs of higher priority have passed it for long enough
 *
 * Return: a reference to the fence that the job waits for before it is asked for again: of a job
 * in the ring, or of one of higher priority that is about to be there. NULL if the job goes.
 */
struct dma_fence *tessera_emit_stand_back(struct tessera_engine *engine,
					  struct tessera_job *job, bool turn)
{
	struct ahead ahead = { .moves = job->moves };
	struct dma_fence *wait = NULL;
	struct tessera_fence *in_ring;
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	emit_look_ahead_locked(engine, job, &ahead);
	if (emit_is_far_ahead(engine, &ahead))
		in_ring = ahead.own;
	else
		in_ring = turn ? NULL : ahead.above ?: ahead.middle;
	if (in_ring)
		wait = &in_ring->base;
	else if (!turn)
		wait = emit_ready_above_locked(engine, job->level);

	emit_forget_locked(engine, job);
	if (wait && job->queue)
		list_add_tail(&job->ready, &engine->ready[job->level]);
	dma_fence_get(wait);
	spin_unlock_irqrestore(&engine->lock, flags);

	return wait;
}

/**
 * tessera_emit_below() - find a job of lower priority in the ring that a job depends on
 * @engine: the engine
 * @job: the job, all else it depends on done; the caller is the scheduler's worker
 *
 * The scheduler takes a dependency on a job of the same engine for done once that job is in the ring.
 * But a job of higher priority comes before it there. So it is kept out of the ring for as long.
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
 * tessera_emit_again_locked() - write all jobs in flight to an empty ring, in the order of their list
 * @engine: the engine, just started
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
 * tessera_emit_running() - the job that the engine is at
 * @engine: the engine
 * @since: when it became that, in jiffies
 *
 * Return: the job, which the scheduler keeps as long as that is stopped; or NULL.
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
 * @job: the job; its hardware fence completes when it is done
 *
 * The scheduler's credits keep the ring from overflowing. While the engine is being cancelled, or
 * preempted, a job is listed and not written: it ends with all others, in order, or is written when the
 * engine goes on.
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
	if (result.end_ns > result.start_ns)
		engine->busy_ns += result.end_ns - result.start_ns;
	list_del_init(&fence->link);
	error = job->refused ?: status_to_error(result.status);
	tessera_fence_complete_locked(fence, error, result.start_ns, result.end_ns);
	dma_fence_put(&fence->base);
}

/**
 * tessera_emit_process_locked() - complete what the engine reports as done
 * @engine: the engine
 */
void tessera_emit_process_locked(struct tessera_engine *engine)
{
	struct tessera_fence *fence, *next;
	u64 seqno;

	lockdep_assert_held(&engine->lock);

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
		engine->head_since = jiffies;
	}
}

/**
 * tessera_emit_process() - complete what the engine reports as done, and see who is next
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
	engine->preempt.asked = false;
	list_for_each_entry_safe(fence, next, &engine->inflight, link) {
		list_del_init(&fence->link);
		tessera_fence_complete_locked(fence, error, 0, 0);
		dma_fence_put(&fence->base);
	}
	spin_unlock_irqrestore(&engine->lock, flags);
}
