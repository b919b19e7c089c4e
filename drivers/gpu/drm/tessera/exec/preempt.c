// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: preemption
 *
 * On a device that can preempt, a job of higher priority comes before the jobs of lower priority
 * that are in the ring already, and before the one that has begun. The engine saves that one and
 * forgets its ring. The driver sorts the jobs in flight by priority, and writes them all to an empty
 * ring, as after a reset. The saved job has RESUME in the place of JOB_BEGIN.
 *
 * Order
 * -----
 *
 * Jobs of one priority keep their order. So the scheduler's rule, that a dependency on a job of the
 * same engine is done once that job is in the ring, holds among them. A job that depends on one of
 * lower priority is kept out of the ring until that one has ended (tessera_emit_below()). Jobs of a
 * queue have one priority.
 *
 * Fairness
 * --------
 *
 * A job that 16 jobs have passed has its turn: none passes it until it has had the engine for a slice.
 * Those of its priority behind it are sorted behind it then, whether or not they have their turn. So a
 * job of high priority waits for one slice at most, and jobs of lower priority get on. A job that
 * has used up its time (the job timeout) is not preempted any more: it ends, or hangs. One that was
 * saved for the first time four job timeouts ago is preempted for high priority only, which needs
 * privilege: others may wait for its end, for memory that it uses, say.
 *
 * Save areas
 * ----------
 *
 * Of each priority at most one job is saved, because a job that has begun comes before all that have
 * not. One of high priority is never saved. With the area of the request itself, three are enough.
 *
 * Answers
 * -------
 *
 * The engine answers within milliseconds, by an event (exec/answer.c). From the request to the answer jobs are listed
 * and not written. An engine that has not answered when the timer has gone off twice, hangs: the job
 * it is at is blamed (services/reset.c). If it is at none, or has answered and does not start again, it
 * is reset and nobody is blamed. The timer looks at the engine itself, too, so a lost interrupt costs
 * no more than one tick.
 *
 * All of it happens under the engine's lock, in signalling sections; nothing is allocated, and no
 * thread waits.
 */

#include <linux/bits.h>
#include <linux/dma-fence.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/timer.h>

#include <drm/drm_print.h>
#include <drm/gpu_scheduler.h>

#include "exec/exec.h"
#include "hw/hw.h"
#include "tessera_compat.h"
#include "tessera_device.h"
#include "tessera_trace.h"

/* What a job has of the engine when its turn has come. */
#define SLICE_MS	10

/* In this part of the job timeout an engine answers, or hangs. */
#define ANSWER_PART	3
#define MIN_ANSWER_MS	200U

/* So many job timeouts after it was saved for the first time a job has to get to its end. */
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

/* Nobody asks twice, or an engine that is about to be reset, or gone. */
static bool preempt_can_ask_locked(struct tessera_engine *engine)
{
	const struct tessera_preemption *preempt = &engine->preempt;

	return preempt->able && !preempt->held && !preempt->asked && !engine->closed &&
	       !engine->dead;
}

static u32 preempt_free_save_locked(struct tessera_engine *engine)
{
	struct tessera_fence *fence;
	u32 used = 0;

	list_for_each_entry(fence, &engine->inflight, link) {
		struct tessera_job *job = fence->data;

		if (job->saved)
			used |= BIT(job->saved - 1);
	}

	return ffz(used);
}

/**
 * tessera_preempt_tick_locked() - have the timer look for an answer
 * @engine: the engine, asked
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
	u32 save = preempt_free_save_locked(engine);

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
 * tessera_preempt_consider_locked() - preempt the first job if another one is to come before it
 * @engine: the engine, whose jobs in flight have changed
 */
void tessera_preempt_consider_locked(struct tessera_engine *engine)
{
	unsigned long slice_end = engine->head_since + msecs_to_jiffies(SLICE_MS);
	struct tessera_job *first = preempt_first_locked(engine);

	lockdep_assert_held(&engine->lock);

	if (!first || !preempt_can_ask_locked(engine) || !preempt_is_wanted_locked(engine, first))
		return;
	if (first->active_ns >= (u64)READ_ONCE(engine->timeout_ms) * NSEC_PER_MSEC)
		return;
	if (first->turn && time_before(jiffies, slice_end)) {
		mod_timer(&engine->preempt.timer, slice_end);
		return;
	}
	first->turn = false;
	preempt_ask_locked(engine);
}

/*
 * A job whose turn it is keeps its place: it comes before those of higher priority that are behind
 * it. But it passes none of its own priority or above that is before it, which it may depend on.
 */
static void preempt_rank_locked(struct tessera_engine *engine)
{
	u32 least[TESSERA_LEVELS], i;
	struct tessera_fence *fence;

	lockdep_assert_held(&engine->lock);

	/* The least rank of the jobs before, of those of at least this level. */
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
 * tessera_preempt_sort_locked() - bring the jobs in flight into the order in which they are to run
 * @engine: the engine, preempted; among jobs of one priority the order stays
 */
void tessera_preempt_sort_locked(struct tessera_engine *engine)
{
	struct tessera_fence *fence, *next;
	LIST_HEAD(sorted);
	u32 above = 0, num;
	int level;

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
 * tessera_preempt_note_saved_locked() - learn which job the device has saved
 * @engine: the engine, preempted; all that has ended is off the list: it is the first one, if any
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
	first->saved = engine->preempt.save + 1;
	first->active_ns = saved.active_ns;
	/* One that has used its time up is not preempted any more, and hangs when it is looked at. */
	first->overdue = saved.active_ns >= (u64)READ_ONCE(engine->timeout_ms) * NSEC_PER_MSEC;
}

/**
 * tessera_preempt_drop() - forget a request
 * @engine: the engine, about to be reset
 */
void tessera_preempt_drop(struct tessera_engine *engine)
{
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	engine->preempt.asked = false;
	spin_unlock_irqrestore(&engine->lock, flags);
}

/**
 * tessera_preempt_is_dry() - ask whether an engine that does not answer has ended all that it had
 * @engine: the engine, held
 *
 * Return: true if no job is to blame for a hang: those in flight are not in the ring.
 */
bool tessera_preempt_is_dry(struct tessera_engine *engine)
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
