// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: preemption
 *
 * On a device that can preempt, a job of higher priority runs before jobs of
 * lower priority that are in the ring already, even before one that has begun.
 * The engine saves the job that has begun and empties its ring. The driver
 * sorts the jobs in flight by priority and writes all of them to the empty
 * ring, as after a reset. The saved job has RESUME in place of JOB_BEGIN.
 *
 * Order
 * -----
 *
 * Jobs of one priority keep their order. Among them the rule of drm_sched
 * therefore still holds: a dependency on a job of the same engine is satisfied
 * once that job is in the ring. A job that depends on one of lower priority is
 * kept out of the ring until that one has ended (tessera_emit_below()). All
 * jobs of a queue have the same priority.
 *
 * Fairness
 * --------
 *
 * A job that was overtaken by 16 jobs is due: no further job overtakes it until
 * it has run for one slice. Jobs of its priority that are behind it are then
 * sorted behind it, whether or not they are due. A job of high priority
 * therefore waits for one slice at most, and jobs of lower priority make
 * progress. The timer ends a slice, but the engine may have started late, on a
 * busy machine. A job that ran for less than half of its slice stays due.
 *
 * A job that has used up its time (the job timeout) is not preempted any more:
 * it ends, or it hangs. A job that was first saved more than four job timeouts
 * ago is preempted only for jobs of high priority, which require privilege.
 * Others may be waiting for its end, for example because they need the memory
 * that it uses.
 *
 * Yielding
 * --------
 *
 * Commands at virtual addresses may wait for a fence that other commands signal
 * (FENCE_WAIT). The first job in flight yields if it has waited so at the end of
 * a slice and other jobs of its priority could run: it is saved, and sorted
 * behind them. Jobs that may depend on it stay behind it. These are the jobs of
 * its queue, those that name its fence, and those that depend on one of these.
 * Dependencies through another engine do not count: a job that has one gets
 * into the ring after the job that it depends on has ended.
 *
 * Rules of fairness apply as above. A job that has used up its time, or was
 * first saved long ago, does not yield. So the wait ends by the job timeout.
 *
 * Save areas
 * ----------
 *
 * Apart from jobs that have yielded, at most one job of each priority is saved,
 * because a job that has begun runs before all jobs that have not. A job of high
 * priority is never saved for another one. Together with the area of the current
 * request, three areas are enough for them. A job yields only if that leaves
 * three areas, so at most three jobs have yielded at a time.
 *
 * Answers
 * -------
 *
 * The engine answers within milliseconds, with an event (exec/answer.c). From
 * the request to the answer, jobs are only added to the list of jobs in flight.
 * An engine that has not answered when the timer has expired twice counts as
 * hung, and the job that it executes is blamed (exec/reset.c). If it
 * executes none, or has answered but does not start again, it is reset and no
 * job is blamed. The timer also checks the engine's state, so that a lost
 * interrupt costs at most one tick.
 *
 * All of this runs under the engine's lock, in signalling sections. Nothing is
 * allocated, and no thread waits.
 */

#include <linux/bits.h>
#include <linux/dma-fence.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/timer.h>

#include <drm/drm_print.h>
#include <drm/gpu_scheduler.h>

#include "base/compat.h"
#include "base/device.h"
#include "base/trace.h"
#include "exec/exec.h"
#include "hw/hw.h"

/* Engine time that a job gets when it is due, or before it yields. */
#define SLICE_MS	10

/* Save areas that jobs which yield leave free, see "Save areas". */
#define KEPT_SAVES	3

/* An engine must answer within the job timeout divided by this. */
#define ANSWER_PART	3
#define MIN_ANSWER_MS	200U

/*
 * Job timeouts after its first save during which a job can still be preempted
 * for jobs of normal priority.
 */
#define OLD_TIMEOUTS	4

static struct tessera_job *preempt_first_locked(struct tessera_engine *engine)
{
	struct tessera_fence *fence = list_first_entry_or_null(&engine->inflight,
							       struct tessera_fence, link);

	return fence ? fence->data : NULL;
}

static bool preempt_is_old(const struct tessera_engine *engine, const struct tessera_job *job)
{
	unsigned long timeout = msecs_to_jiffies(READ_ONCE(engine->timeout_ms));

	return job->saved && time_after(jiffies, job->first_saved + OLD_TIMEOUTS * timeout);
}

static bool preempt_is_wanted_locked(struct tessera_engine *engine, const struct tessera_job *first)
{
	u32 level = preempt_is_old(engine, first) ? TESSERA_LEVEL_HIGH : first->level + 1;
	struct tessera_fence *fence;

	list_for_each_entry(fence, &engine->inflight, link)
		if (((struct tessera_job *)fence->data)->level >= level)
			return true;

	return false;
}

/*
 * No second request, and none to an engine that is about to be reset or is
 * gone.
 */
static bool preempt_can_ask_locked(struct tessera_engine *engine)
{
	const struct tessera_preemption *preempt = &engine->preempt;

	return preempt->able && !preempt->held && !preempt->asked && !engine->closed &&
	       !engine->dead;
}

/* Save areas that hold a job, as a mask. */
static u32 preempt_used_saves_locked(struct tessera_engine *engine)
{
	struct tessera_fence *fence;
	u32 used = 0;

	list_for_each_entry(fence, &engine->inflight, link) {
		struct tessera_job *job = fence->data;

		if (job->saved)
			used |= BIT(job->saved - 1);
	}

	return used;
}

/* Whether @job depends on a job before it in flight that is stuck. */
static bool preempt_follows_stuck_locked(struct tessera_engine *engine, struct tessera_job *job)
{
	u64 queue = job->base.s_fence->scheduled.context;
	struct tessera_fence *fence;

	list_for_each_entry(fence, &engine->inflight, link) {
		struct tessera_job *other = fence->data;

		if (other == job)
			break;
		if (other->stuck && (other->base.s_fence->scheduled.context == queue ||
				     job->behind == fence || job->after == fence ||
				     tessera_fences_has(&job->waits, other->finished)))
			return true;
	}

	return false;
}

/*
 * Mark the first job and all jobs in flight that may depend on it. Returns true
 * if another job of its priority is free to overtake it.
 */
static bool preempt_mark_stuck_locked(struct tessera_engine *engine, struct tessera_job *first)
{
	struct tessera_fence *fence;
	bool others = false;

	lockdep_assert_held(&engine->lock);

	list_for_each_entry(fence, &engine->inflight, link) {
		struct tessera_job *job = fence->data;

		job->stuck = job == first || preempt_follows_stuck_locked(engine, job);
		others |= !job->stuck && job->level == first->level;
	}

	return others;
}

/*
 * Whether the first job is to yield. It has run for a slice. The device may
 * continue it meanwhile, which does no harm.
 */
static bool preempt_yields_locked(struct tessera_engine *engine, struct tessera_job *first)
{
	u32 others = hweight32(preempt_used_saves_locked(engine)) - !!first->saved;

	return others + 1 + KEPT_SAVES <= TESSERA_RING_SAVES && !preempt_is_old(engine, first) &&
	       (tessera_ring_status(engine->ring) & TSR_ENGS_WAITING) &&
	       preempt_mark_stuck_locked(engine, first);
}

/*
 * Only commands at virtual addresses can wait. Spans keep other jobs out of the
 * ring.
 */
static bool preempt_may_yield_locked(struct tessera_engine *engine, const struct tessera_job *first)
{
	return first->vm.root && !list_is_singular(&engine->inflight);
}

/**
 * tessera_preempt_tick_locked() - start the timer that checks for an answer
 * @engine: the engine, with an unanswered request
 */
void tessera_preempt_tick_locked(struct tessera_engine *engine)
{
	u32 ms = max(MIN_ANSWER_MS, READ_ONCE(engine->timeout_ms) / ANSWER_PART);
	unsigned long ticks = DIV_ROUND_UP(msecs_to_jiffies(ms), TESSERA_ANSWER_TICKS);

	mod_timer(&engine->preempt.timer, jiffies + ticks);
}

static void preempt_ask_locked(struct tessera_engine *engine)
{
	struct tessera_preemption *preempt = &engine->preempt;
	u32 save = ffz(preempt_used_saves_locked(engine));

	if (drm_WARN_ON_ONCE(&engine->tdev->drm, save >= TESSERA_RING_SAVES))
		return;
	preempt->asked = true;
	preempt->save = save;
	preempt->ticks = 0;
	preempt->seqno = engine->next_seqno;
	tessera_ring_preempt(engine->ring, save);
	tessera_preempt_tick_locked(engine);
}

/**
 * tessera_preempt_consider_locked() - preempt the first job for one of higher
 * priority
 * @engine: the engine, whose jobs in flight have changed
 *
 * Does nothing if no job in flight has a higher priority than the first one, or
 * if the first one must not be preempted now. If the first job is due, or may
 * wait in its commands, the timer is set to the end of its slice.
 */
void tessera_preempt_consider_locked(struct tessera_engine *engine)
{
	unsigned long slice_end = engine->head_since + msecs_to_jiffies(SLICE_MS);
	struct tessera_job *first = preempt_first_locked(engine);
	bool wanted;

	lockdep_assert_held(&engine->lock);

	if (!first || !preempt_can_ask_locked(engine))
		return;
	wanted = preempt_is_wanted_locked(engine, first);
	if (!wanted && !preempt_may_yield_locked(engine, first))
		return;
	if (first->active_ns >= (u64)READ_ONCE(engine->timeout_ms) * NSEC_PER_MSEC)
		return;
	if ((first->turn || !wanted) && time_before(jiffies, slice_end)) {
		mod_timer(&engine->preempt.timer, slice_end);
		return;
	}
	if (!wanted && !preempt_yields_locked(engine, first)) {
		mod_timer(&engine->preempt.timer, jiffies + msecs_to_jiffies(SLICE_MS));
		return;
	}
	first->yields = !wanted;
	preempt_ask_locked(engine);
}

/*
 * If the first job yields, move it and the jobs that may depend on it behind the
 * others. Jobs of other priorities are sorted later.
 */
static void preempt_yield_locked(struct tessera_engine *engine)
{
	struct tessera_job *first = preempt_first_locked(engine);
	struct tessera_fence *fence, *next;
	LIST_HEAD(stuck);

	if (!first || !first->yields)
		return;
	first->yields = false;
	/* Nobody may be left to end the wait of a client that has gone. */
	if (!first->refused && first->ops->prepare)
		first->refused = first->ops->prepare(first);
	preempt_mark_stuck_locked(engine, first);
	list_for_each_entry_safe(fence, next, &engine->inflight, link)
		if (((struct tessera_job *)fence->data)->stuck)
			list_move_tail(&fence->link, &stuck);
	list_splice_tail(&stuck, &engine->inflight);
}

/*
 * Compute the level by which each job is sorted. A job that is due keeps its
 * place before jobs of higher priority that are behind it. But it does not
 * overtake jobs of its own or a higher priority that are before it, since it
 * may depend on them.
 */
static void preempt_rank_locked(struct tessera_engine *engine)
{
	u32 least[TESSERA_LEVELS], i;
	struct tessera_fence *fence;

	lockdep_assert_held(&engine->lock);

	/*
	 * Per level: the lowest rank of the preceding jobs of this level or a
	 * higher one.
	 */
	for (i = 0; i < TESSERA_LEVELS; i++)
		least[i] = TESSERA_LEVEL_HIGH;
	list_for_each_entry(fence, &engine->inflight, link) {
		struct tessera_job *job = fence->data;

		job->rank = job->turn ? least[job->level] : job->level;
		for (i = 0; i <= job->level; i++)
			least[i] = min(least[i], job->rank);
	}
}

/**
 * tessera_preempt_sort_locked() - sort the jobs in flight by priority
 * @engine: the engine, preempted
 *
 * Jobs of one priority keep their order, except for a job that yields.
 */
void tessera_preempt_sort_locked(struct tessera_engine *engine)
{
	struct tessera_fence *fence, *next;
	LIST_HEAD(sorted);
	u32 above = 0, num;
	int level;

	preempt_yield_locked(engine);
	preempt_rank_locked(engine);
	for (level = TESSERA_LEVEL_HIGH; level >= TESSERA_LEVEL_LOW; level--) {
		num = 0;
		list_for_each_entry_safe(fence, next, &engine->inflight, link) {
			struct tessera_job *job = fence->data;

			if (job->rank != level)
				continue;
			list_move_tail(&fence->link, &sorted);
			num++;
			if (level == TESSERA_LEVEL_HIGH)
				continue;
			job->passed += above;
			if (job->passed < TESSERA_MAX_PASSED)
				continue;
			job->passed = 0;
			job->turn = true;
		}
		above += num;
	}
	list_splice(&sorted, &engine->inflight);
}

/**
 * tessera_preempt_note_saved_locked() - record which job the device has saved
 * @engine: the engine, preempted
 *
 * All jobs that have ended were removed from the list before. If a job was
 * saved, it is the first one.
 */
void tessera_preempt_note_saved_locked(struct tessera_engine *engine)
{
	struct tessera_job *first = preempt_first_locked(engine);
	struct tessera_ring_saved saved;

	tessera_ring_saved(engine->ring, engine->preempt.save, &saved);
	if (!first)
		return;
	trace_tessera_preempt(engine->id, first->context_id, first->seqno, saved.begun);
	if (!saved.begun)
		return;
	if (saved.slot != first->hw_fence->slot) {
		drm_err_ratelimited(&engine->tdev->drm, "%s: saved the job of slot %u, not of %u\n",
				    engine->name, saved.slot, first->hw_fence->slot);
		return;
	}
	if (!first->saved)
		first->first_saved = jiffies;
	if (saved.active_ns - first->active_ns >= SLICE_MS * NSEC_PER_MSEC / 2)
		first->turn = false;
	first->saved = engine->preempt.save + 1;
	first->active_ns = saved.active_ns;
	/*
	 * A job that has used up its time is not preempted again, and counts as
	 * hung at the next check.
	 */
	first->overdue = saved.active_ns >= (u64)READ_ONCE(engine->timeout_ms) * NSEC_PER_MSEC;
}

/**
 * tessera_preempt_drop() - discard an unanswered request
 * @engine: the engine, about to be stopped
 */
void tessera_preempt_drop(struct tessera_engine *engine)
{
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	engine->preempt.asked = false;
	spin_unlock_irqrestore(&engine->lock, flags);
}

/**
 * tessera_preempt_has_no_job() - test whether an unresponsive engine has no job
 * to blame
 * @engine: the engine, after tessera_preempt_hold()
 *
 * Return: true if all jobs that were in the ring have ended. The jobs in flight
 * were never written to the ring.
 */
bool tessera_preempt_has_no_job(struct tessera_engine *engine)
{
	struct tessera_job *first;
	unsigned long flags;
	bool dry;

	spin_lock_irqsave(&engine->lock, flags);
	first = preempt_first_locked(engine);
	dry = engine->preempt.asked &&
	      (!first || first->hw_fence->hw_seqno >= engine->preempt.seqno);
	spin_unlock_irqrestore(&engine->lock, flags);

	return dry;
}
