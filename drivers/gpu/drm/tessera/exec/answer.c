// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: completion of preemption requests
 *
 * Second half of exec/preempt.c: take the engine's answer to a preemption
 * request and restart the engine with the job that now comes first. Called by
 * the preemption event, by reset, and by a timer that covers lost events and
 * engines that do not answer.
 */

#include <linux/dma-fence.h>
#include <linux/timer.h>

#include <drm/drm_print.h>
#include <drm/gpu_scheduler.h>

#include "base/device.h"
#include "exec/exec.h"
#include "hw/hw.h"

/*
 * Restart the engine with the newly sorted jobs if it has stopped as requested.
 */
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
		/*
		 * @asked stays set, so the engine counts as hung at the next
		 * timer tick. No job is in the ring.
		 */
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
 * tessera_preempt_event() - handle the event that an engine has been preempted
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
		/* The first job may have ended. */
		tessera_emit_process_locked(engine);
		tessera_preempt_consider_locked(engine);
	} else if (!preempt->held && !engine->closed) {
		fault = ++preempt->ticks >= TESSERA_ANSWER_TICKS;
		tessera_preempt_tick_locked(engine);
	}
	spin_unlock_irqrestore(&engine->lock, flags);
	if (fault)
		tessera_sched_fault(engine);
	dma_fence_end_signalling(cookie);
}

/**
 * tessera_preempt_hold() - block preemption requests and answers during a reset
 * @engine: the engine, whose scheduler is stopped
 *
 * Return: true if a request has been unanswered for so long that the engine
 * counts as hung.
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
 * tessera_preempt_release() - undo tessera_preempt_hold()
 * @engine: the engine
 */
void tessera_preempt_release(struct tessera_engine *engine)
{
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	engine->preempt.held = false;
	answer_look_locked(engine);
	/* The timer may have expired while @held was set, so arm it again. */
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
