// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: answers of engines that are preempted
 *
 * Completes what exec/preempt.c has begun: takes the engine's answer, and lets it go on with the job
 * that comes first now. Called by the event, by a timer that looks for lost events and for engines that
 * do not answer, and by reset.
 */

#include <linux/dma-fence.h>
#include <linux/timer.h>

#include <drm/drm_print.h>
#include <drm/gpu_scheduler.h>

#include "exec/exec.h"
#include "hw/hw.h"
#include "tessera_device.h"

/* If the engine has stopped, let it go on with what is to come first now. */
static void answer_look_locked(struct tessera_engine *engine)
{
	struct tessera_preemption *preempt = &engine->preempt;
	u32 status;

	lockdep_assert_held(&engine->lock);

	if (!preempt->asked || preempt->held || engine->closed)
		return;
	/* All ones: the device is gone. */
	status = tessera_ring_status(engine->ring);
	if (status == U32_MAX || !(status & TSR_ENGS_PREEMPTED))
		return;
	tessera_emit_process_locked(engine);
	tessera_preempt_note_saved_locked(engine);
	if (tessera_ring_start(engine->ring)) {
		/* Asked still: it counts as hung when the timer goes off. All jobs are out of the ring. */
		preempt->seqno = 0;
		drm_err_ratelimited(&engine->tdev->drm, "%s does not start\n", engine->name);
		return;
	}
	tessera_preempt_sort_locked(engine);
	preempt->asked = false;
	preempt->count++;
	tessera_emit_again_locked(engine);
	tessera_preempt_consider_locked(engine);
}

/**
 * tessera_preempt_event() - an engine has answered
 * @data: the device
 */
void tessera_preempt_event(void *data)
{
	struct tessera_device *tdev = data;
	unsigned long flags;
	u32 i;

	for (i = 0; i < tdev->info.num_engines; i++) {
		struct tessera_engine *engine = tdev->engines[i];

		spin_lock_irqsave(&engine->lock, flags);
		answer_look_locked(engine);
		spin_unlock_irqrestore(&engine->lock, flags);
	}
}

static void answer_timer(struct timer_list *timer)
{
	struct tessera_engine *engine = container_of(timer, struct tessera_engine, preempt.timer);
	struct tessera_preemption *preempt = &engine->preempt;
	bool cookie = dma_fence_begin_signalling();
	bool fault = false;
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	answer_look_locked(engine);
	if (!preempt->asked) {
		tessera_preempt_consider_locked(engine);
	} else if (!preempt->held && !engine->closed) {
		fault = ++preempt->ticks >= TESSERA_ANSWER_TICKS;
		tessera_preempt_tick_locked(engine);
	}
	spin_unlock_irqrestore(&engine->lock, flags);
	if (fault)
		drm_sched_fault(&engine->sched);
	dma_fence_end_signalling(cookie);
}

/**
 * tessera_preempt_hold() - ask nothing, and take no answer, for some time
 * @engine: the engine, whose scheduler is stopped
 *
 * Return: true if the engine owes an answer for so long that it counts as hung.
 */
bool tessera_preempt_hold(struct tessera_engine *engine)
{
	struct tessera_preemption *preempt = &engine->preempt;
	unsigned long flags;
	bool hangs;

	spin_lock_irqsave(&engine->lock, flags);
	answer_look_locked(engine);
	preempt->held = true;
	hangs = preempt->asked && preempt->ticks >= TESSERA_ANSWER_TICKS;
	spin_unlock_irqrestore(&engine->lock, flags);

	return hangs;
}

/**
 * tessera_preempt_release() - end tessera_preempt_hold()
 * @engine: the engine
 */
void tessera_preempt_release(struct tessera_engine *engine)
{
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	engine->preempt.held = false;
	answer_look_locked(engine);
	/* The timer may have gone off meanwhile. */
	if (engine->preempt.asked && !engine->closed)
		tessera_preempt_tick_locked(engine);
	tessera_preempt_consider_locked(engine);
	spin_unlock_irqrestore(&engine->lock, flags);
}

/**
 * tessera_preempt_init() - set up preemption of an engine
 * @engine: the engine
 */
void tessera_preempt_init(struct tessera_engine *engine)
{
	engine->preempt.able = engine->tdev->info.caps & TSR_CAP_PREEMPTION;
	timer_setup(&engine->preempt.timer, answer_timer, 0);
}

/**
 * tessera_preempt_fini() - end it
 * @engine: the engine, which has no job any more
 */
void tessera_preempt_fini(struct tessera_engine *engine)
{
	timer_shutdown_sync(&engine->preempt.timer);
}
