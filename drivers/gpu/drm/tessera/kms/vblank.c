// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: vblanks and commits
 *
 * The device counts vblanks and records the time of the last one in ns, so the
 * time is exact however late it is read. Each commit has a number. Its event is
 * sent when the device reports that this commit was latched, or a later one
 * that replaced it and includes its changes. A vblank alone does not prove
 * that, as the commit may have been written after it.
 *
 * Interrupts are edges, and one interrupt may stand for several events of a
 * kind. Nothing here counts interrupts.
 */

#include <linux/dma-fence.h>

#include <drm/drm_atomic.h>
#include <drm/drm_drv.h>
#include <drm/drm_print.h>
#include <drm/drm_vblank.h>

#include "kms/kms.h"

/**
 * tessera_vblank_enable() - &drm_crtc_funcs.enable_vblank
 * @crtc: the CRTC
 *
 * Return: 0 or -ENODEV.
 */
int tessera_vblank_enable(struct drm_crtc *crtc)
{
	int idx;

	if (!drm_dev_enter(crtc->dev, &idx))
		return -ENODEV;
	tessera_events_set(to_tessera_crtc(crtc), TSR_CRTC_INT_VBLANK, true);
	drm_dev_exit(idx);

	return 0;
}

/**
 * tessera_vblank_disable() - &drm_crtc_funcs.disable_vblank
 * @crtc: the CRTC
 */
void tessera_vblank_disable(struct drm_crtc *crtc)
{
	int idx;

	if (!drm_dev_enter(crtc->dev, &idx))
		return;
	tessera_events_set(to_tessera_crtc(crtc), TSR_CRTC_INT_VBLANK, false);
	drm_dev_exit(idx);
}

/*
 * Read the number of vblanks and the time of the last one on the device clock.
 * Reading the number latches the time.
 */
static u32 read_vblank(struct tessera_crtc *tc, u64 *ns)
{
	unsigned long flags;
	u32 count;

	spin_lock_irqsave(&tc->lock, flags);
	count = tessera_crtc_read(tc, TSR_CRTC_VBLANK_COUNT);
	if (ns)
		*ns = tessera_read64(tessera_crtc_device(tc), tc->regs + TSR_CRTC_VBLANK_NS_LO);
	spin_unlock_irqrestore(&tc->lock, flags);

	return count;
}

/**
 * tessera_vblank_count() - &drm_crtc_funcs.get_vblank_counter
 * @crtc: the CRTC
 *
 * Return: number of vblanks so far.
 */
u32 tessera_vblank_count(struct drm_crtc *crtc)
{
	u32 count = 0;
	int idx;

	if (!drm_dev_enter(crtc->dev, &idx))
		return 0;
	count = read_vblank(to_tessera_crtc(crtc), NULL);
	drm_dev_exit(idx);

	return count;
}

/*
 * Get the time of the last vblank from the core, if it is recent enough: there
 * is no other vblank during most of a frame. The helpers ask twice for each
 * commit, and asking the device takes five register reads.
 */
static bool recall_vblank(struct drm_crtc *crtc, ktime_t *time)
{
	const struct drm_vblank_crtc *vblank = drm_crtc_vblank_crtc(crtc);

	/*
	 * Vblanks are disabled while a CRTC is switched on, which changes their
	 * times.
	 */
	if (!READ_ONCE(vblank->enabled))
		return false;
	drm_crtc_vblank_count_and_time(crtc, time);

	return ktime_sub(ktime_get(), *time) < vblank->framedur_ns - vblank->framedur_ns / 8;
}

/**
 * tessera_vblank_timestamp() - &drm_crtc_funcs.get_vblank_timestamp
 * @crtc: the CRTC
 * @max_error: receives the possible error in ns, if the device was asked
 * @vblank_time: receives the time of the last vblank
 * @in_vblank_irq: called by the interrupt of the vblank
 *
 * Return: false if the device is gone.
 */
bool tessera_vblank_timestamp(struct drm_crtc *crtc, int *max_error, ktime_t *vblank_time,
			      bool in_vblank_irq)
{
	struct tessera_device *tdev = to_tessera_device(crtc->dev);
	u64 ns;
	int idx;

	if (!drm_dev_enter(crtc->dev, &idx))
		return false;
	if (in_vblank_irq || !recall_vblank(crtc, vblank_time)) {
		read_vblank(to_tessera_crtc(crtc), &ns);
		*vblank_time = tessera_kms_clock_convert(tdev, &tdev->kms->clock, ns, max_error);
	}
	drm_dev_exit(idx);

	return true;
}

/*
 * Keep the event of the current commit until that is latched, or send it at
 * once if vblanks are not available. The event lock is held.
 */
static void arm(struct tessera_crtc *tc)
{
	struct drm_crtc *crtc = &tc->base;

	lockdep_assert_held(&crtc->dev->event_lock);
	if (!crtc->state->event)
		return;
	if (drm_crtc_vblank_get(crtc)) {
		drm_crtc_send_vblank_event(crtc, crtc->state->event);
	} else {
		drm_WARN_ON(crtc->dev, tc->event);
		tc->event = crtc->state->event;
		tc->awaited = tc->committed;
	}
	crtc->state->event = NULL;
}

/*
 * Send the event of the current commit, which is done; the event lock is held.
 * The event gets count and time of the last vblank. Interrupts keep these up to
 * date if vblanks are enabled. No reference is taken then: it would only start
 * a timer for each of many flips.
 */
static void send_at_once(struct tessera_crtc *tc)
{
	struct drm_crtc *crtc = &tc->base;
	bool get = !READ_ONCE(drm_crtc_vblank_crtc(crtc)->enabled);

	lockdep_assert_held(&crtc->dev->event_lock);
	if (!crtc->state->event)
		return;
	get = get && !drm_crtc_vblank_get(crtc);
	drm_crtc_send_vblank_event(crtc, crtc->state->event);
	crtc->state->event = NULL;
	if (get)
		drm_crtc_vblank_put(crtc);
}

/* Send the event that waits, if there is one; the event lock is held. */
static void send(struct tessera_crtc *tc)
{
	lockdep_assert_held(&tc->base.dev->event_lock);
	if (!tc->event)
		return;
	drm_crtc_send_vblank_event(&tc->base, tc->event);
	tc->event = NULL;
	drm_crtc_vblank_put(&tc->base);
}

/* True if the device has accepted the commit. */
static bool accepted(struct tessera_crtc *tc, bool taken)
{
	if (!taken)
		drm_err_ratelimited(tc->base.dev, "[CRTC:%d:%s] the device refuses a commit\n",
				    tc->base.base.id, tc->base.name);

	return taken;
}

/* The device numbers accepted commits only. */
static bool commit(struct tessera_crtc *tc, u32 how)
{
	u32 before = tc->committed;

	tessera_crtc_write(tc, TSR_CRTC_COMMIT, how);
	tc->committed = tessera_crtc_read(tc, TSR_CRTC_COMMITTED);

	return accepted(tc, tc->committed != before);
}

/*
 * Switch all planes off after a refused commit. Neither the new nor the old
 * state can be scanned out, as the old framebuffers are going to be unpinned.
 * The writeback may be the reason for the refusal, so cancel it, too.
 */
static void blank(struct tessera_crtc *tc)
{
	u32 i;

	for (i = 0; i < TSR_NUM_PLANES; i++)
		tessera_latched_write(tc, TSR_PLANE(i) + TSR_PLANE_CONTROL, 0);
	tessera_crtc_write(tc, TSR_CRTC_WB_CONTROL, 0);
	commit(tc, TSR_COMMIT_ASYNC);
}

/* A commit of the cursor alone has no number. */
static bool commit_cursor(struct tessera_crtc *tc)
{
	tessera_crtc_write(tc, TSR_CRTC_COMMIT, TSR_COMMIT_PLANE(TSR_PLANE_CURSOR));

	return accepted(tc, !(tessera_crtc_read(tc, TSR_CRTC_STATUS) & TSR_CRTCS_REFUSED));
}

/**
 * tessera_vblank_commit_cursor() - commit the cursor's registers at once
 * @tc: the CRTC, with its &tessera_crtc.commit_lock held; inside
 *	drm_dev_enter()
 *
 * Pending commits concern other planes only and stay pending.
 */
void tessera_vblank_commit_cursor(struct tessera_crtc *tc)
{
	lockdep_assert_held(&tc->commit_lock);
	if (commit_cursor(tc))
		return;
	/* Like blank(), for the cursor. */
	tessera_latched_write(tc, TSR_PLANE(TSR_PLANE_CURSOR) + TSR_PLANE_CONTROL, 0);
	commit_cursor(tc);
}

/**
 * tessera_vblank_commit() - commit the latched registers
 * @tc: the CRTC, with its &tessera_crtc.commit_lock held; inside
 *	drm_dev_enter()
 * @how: TSR_COMMIT_*
 * @arm_event: send the event of the CRTC's new state when the commit is latched
 *
 * Return: false if the device has refused the commit.
 */
bool tessera_vblank_commit(struct tessera_crtc *tc, u32 how, bool arm_event)
{
	struct drm_device *drm = tc->base.dev;
	unsigned long flags;
	bool taken;

	lockdep_assert_held(&tc->commit_lock);
	spin_lock_irqsave(&drm->event_lock, flags);
	taken = commit(tc, how);
	if (!taken)
		blank(tc);
	/* A commit that is already done raises no interrupt. */
	if (arm_event && (!taken || how == TSR_COMMIT_ASYNC))
		send_at_once(tc);
	else if (arm_event)
		arm(tc);
	spin_unlock_irqrestore(&drm->event_lock, flags);

	return taken;
}

/**
 * tessera_vblank_end() - send events that no latch interrupt will complete
 * @tc: the CRTC, which is off or gone
 * @new_too: send the event of the state being committed, too, not only that of
 *	the pending commit
 */
void tessera_vblank_end(struct tessera_crtc *tc, bool new_too)
{
	struct drm_device *drm = tc->base.dev;
	unsigned long flags;

	spin_lock_irqsave(&drm->event_lock, flags);
	send(tc);
	if (new_too)
		send_at_once(tc);
	spin_unlock_irqrestore(&drm->event_lock, flags);
}

/* @number: number of the commit that was latched last */
static void latched(struct tessera_crtc *tc, u32 number)
{
	unsigned long flags;

	spin_lock_irqsave(&tc->base.dev->event_lock, flags);
	if (tc->event && (s32)(number - tc->awaited) >= 0)
		send(tc);
	spin_unlock_irqrestore(&tc->base.dev->event_lock, flags);
}

/**
 * tessera_vblank_interrupt() - handle the events of a CRTC
 * @tc: the CRTC
 */
void tessera_vblank_interrupt(struct tessera_crtc *tc)
{
	u32 status = tessera_crtc_read(tc, TSR_CRTC_INT_STATUS);
	u32 number;

	/* All-ones: the device is gone. */
	if (!status || status == U32_MAX)
		return;
	tessera_crtc_write(tc, TSR_CRTC_INT_STATUS, status);
	/*
	 * Read the number before the vblank is reported: a commit that is
	 * latched at the next vblank must not complete at this one. A later
	 * latch raises another interrupt.
	 */
	number = tessera_crtc_read(tc, TSR_CRTC_LATCHED);
	/*
	 * Handle the vblank first, so that events get the count of the vblank
	 * that latched.
	 */
	if (status & TSR_CRTC_INT_VBLANK)
		drm_crtc_handle_vblank(&tc->base);
	/*
	 * Complete the writeback first, as the event of its commit lets the
	 * next one begin. @number may include a vblank after the read of
	 * @status, so do not rely on its bit.
	 */
	if (READ_ONCE(tc->writing))
		tessera_writeback_poll(tc);
	if (status & (TSR_CRTC_INT_VBLANK | TSR_CRTC_INT_LATCH))
		latched(tc, number);
	if (status & TSR_CRTC_INT_CRC)
		tessera_crc_interrupt(tc);
	if (status & TSR_CRTC_INT_HOTPLUG)
		schedule_work(&tc->hotplug);
}
