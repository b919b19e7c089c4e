// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: display
 *
 * Mode setting with the atomic helpers. plane.c, crtc.c and output.c implement
 * one kind of object each, fb.c defines framebuffers, and vblank.c the timing.
 * This file creates the objects and has the common parts: limits, the order of
 * a commit, the interrupt, suspend and unplug.
 *
 * A device without outputs has no display and uses none of this.
 */

#include <drm/drm_atomic.h>
#include <drm/drm_atomic_helper.h>
#include <drm/drm_drv.h>
#include <drm/drm_fb_helper.h>
#include <drm/drm_fourcc.h>
#include <drm/drm_framebuffer.h>
#include <drm/drm_gem_framebuffer_helper.h>
#include <drm/drm_managed.h>
#include <drm/drm_mode_config.h>
#include <drm/drm_modeset_helper.h>
#include <drm/drm_print.h>
#include <drm/drm_probe_helper.h>
#include <drm/drm_vblank.h>

#include "base/compat.h"
#include "hw/hw.h"
#include "kms/kms.h"
#include "mem/mem.h"

#define KMS_CURSOR_SIZE	512

/* Events that are enabled as long as the driver is bound. */
#define KMS_EVENTS	(TSR_CRTC_INT_HOTPLUG | TSR_CRTC_INT_WRITEBACK)

TESSERA_COMPAT_FB_CREATE(tessera_fb_create);

/*
 * Properties of a commit: it sets a mode or switches a CRTC on or off; a CRTC
 * is on afterwards.
 */
#define KMS_MODESET	BIT(0)
#define KMS_LIGHTS	BIT(1)

static u32 kms_does(struct drm_atomic_commit *state)
{
	struct drm_crtc_state *new;
	struct drm_crtc *crtc;
	u32 does = 0;
	int i;

	for_each_new_crtc_in_state(state, crtc, new, i) {
		if (drm_atomic_crtc_needs_modeset(new))
			does |= KMS_MODESET;
		if (new->active)
			does |= KMS_LIGHTS;
	}

	return does;
}

static int kms_check(struct drm_device *drm, struct drm_atomic_commit *state)
{
	int ret = drm_atomic_helper_check(drm, state);

	/*
	 * Only a cursor update may skip the wait for vblanks. A modeset must
	 * not.
	 */
	if (kms_does(state) & KMS_MODESET)
		state->legacy_cursor_update = false;

	return ret;
}

/*
 * Like drm_atomic_helper_commit_tail(), with two differences. A frame is done
 * when its commit is latched, not at the next vblank. The timestamping
 * constants are not computed again unless a mode changes.
 */
static void kms_commit_tail(struct drm_atomic_commit *state)
{
	struct drm_device *drm = state->dev;
	bool modes = kms_does(state) & KMS_MODESET;

	tessera_writeback_wait(state);
	if (modes)
		drm_atomic_helper_commit_modeset_disables(drm, state);
	drm_atomic_helper_commit_planes(drm, state, 0);
	if (modes)
		drm_atomic_helper_commit_modeset_enables(drm, state);
	drm_atomic_helper_fake_vblank(state);
	drm_atomic_helper_commit_hw_done(state);
	drm_atomic_helper_wait_for_flip_done(drm, state);
	/*
	 * The core completes flip_done first and then queues the client's
	 * event, both under this lock. Take it once, so that the event is
	 * queued when this commit ends.
	 */
	spin_lock_irq(&drm->event_lock);
	spin_unlock_irq(&drm->event_lock);
	drm_atomic_helper_cleanup_planes(drm, state);
}

/* True if earlier commits of the CRTC are done except for cleanup. */
static bool crtc_is_done(const struct drm_crtc_state *old)
{
	return !old->commit || completion_done(&old->commit->flip_done);
}

/* True if a commit has asynchronous flips only and nothing to wait for. */
static bool kms_is_immediate(struct drm_atomic_commit *state)
{
	struct drm_crtc_state *old_crtc, *new_crtc;
	struct drm_plane_state *new;
	struct drm_plane *plane;
	struct drm_crtc *crtc;
	bool flips = false;
	int i;

	for_each_oldnew_crtc_in_state(state, crtc, old_crtc, new_crtc, i) {
		flips = true;
		if (!new_crtc->async_flip || drm_atomic_crtc_needs_modeset(new_crtc) ||
		    !crtc_is_done(old_crtc))
			return false;
	}
	for_each_new_plane_in_state(state, plane, new, i) {
		if (new->fence || (new->fb && !tessera_fb_is_ready(new->fb)))
			return false;
	}

	return flips;
}

/*
 * Commit in the calling thread if there is nothing to wait for. A worker would
 * cost a wakeup, and another one for the client that waits for the event. All
 * other nonblocking commits go to a worker. The core refuses them if the client
 * has not waited for the commit before.
 */
static int kms_commit(struct drm_device *drm, struct drm_atomic_commit *state, bool nonblock)
{
	/*
	 * The modeset locks are held here, and switching off takes them, too. A
	 * CRTC that is switched on before @stopped is set is found there and
	 * switched off.
	 */
	if (READ_ONCE(to_tessera_device(drm)->kms->stopped) && (kms_does(state) & KMS_LIGHTS))
		return -EIO;

	return drm_atomic_helper_commit(drm, state, nonblock && !kms_is_immediate(state));
}

static const struct drm_mode_config_funcs kms_funcs = {
	.fb_create = TESSERA_COMPAT_FB_CREATE_NAME(tessera_fb_create),
	.atomic_check = kms_check,
	.atomic_commit = kms_commit,
};

static const struct drm_mode_config_helper_funcs kms_helper_funcs = {
	.atomic_commit_tail = kms_commit_tail,
};

static void kms_interrupt(void *data)
{
	struct tessera_device *tdev = data;
	u32 pending = tessera_read32(tdev, TSR_DISPLAY_INT);
	struct drm_crtc *crtc;

	drm_for_each_crtc(crtc, &tdev->drm) {
		if (pending & drm_crtc_mask(crtc))
			tessera_vblank_interrupt(to_tessera_crtc(crtc));
	}
}

/**
 * tessera_kms_forget() - drop what the driver knows of register contents
 * @tdev: the device, present; it was reset, or another driver has used it
 */
void tessera_kms_forget(struct tessera_device *tdev)
{
	struct tessera_crtc *tc;
	struct drm_crtc *crtc;

	if (!tdev->kms)
		return;
	drm_for_each_crtc(crtc, &tdev->drm) {
		tc = to_tessera_crtc(crtc);
		mutex_lock(&tc->commit_lock);
		tessera_latched_forget(tc);
		tc->committed = tessera_crtc_read(tc, TSR_CRTC_COMMITTED);
		mutex_unlock(&tc->commit_lock);
	}
}

static void kms_start(struct tessera_device *tdev)
{
	struct drm_crtc *crtc;

	tessera_kms_forget(tdev);
	drm_for_each_crtc(crtc, &tdev->drm)
		tessera_events_set(to_tessera_crtc(crtc), KMS_EVENTS, true);
}

static int kms_init_config(struct tessera_device *tdev)
{
	struct drm_mode_config *config = &tdev->drm.mode_config;
	u32 max = tessera_read32(tdev, TSR_CRTC(0) + TSR_CRTC_MAX_ACTIVE);
	int ret;

	ret = drmm_mode_config_init(&tdev->drm);
	if (ret)
		return ret;
	tdev->kms->max_width = max & U16_MAX;
	tdev->kms->max_height = max >> 16;
	/* A framebuffer may be larger than the part that is scanned out. */
	config->max_width = TSR_SURF_MAX_DIM;
	config->max_height = TSR_SURF_MAX_DIM;
	config->preferred_depth = 24;
	config->cursor_width = KMS_CURSOR_SIZE;
	config->cursor_height = KMS_CURSOR_SIZE;
	config->async_page_flip = true;
	config->quirk_addfb_prefer_host_byte_order = true;
	config->funcs = &kms_funcs;
	config->helper_private = &kms_helper_funcs;

	return 0;
}

static int kms_init_crtc(struct tessera_device *tdev, u32 index)
{
	struct tessera_crtc *tc = tessera_crtc_create(tdev, index);
	int ret;

	if (IS_ERR(tc))
		return PTR_ERR(tc);
	ret = tessera_output_init(tc);

	return ret ?: tessera_writeback_init(tc);
}

/**
 * tessera_kms_init() - set up the display
 * @tdev: the device, with its memory
 *
 * Return: 0 or a negative error.
 */
int tessera_kms_init(struct tessera_device *tdev)
{
	u32 i, num = tessera_read32(tdev, TSR_ID_NUM_CRTCS);
	struct drm_device *drm = &tdev->drm;
	struct tessera_kms *kms;
	int ret;

	if (!num) {
		drm->driver_features &= ~(DRIVER_MODESET | DRIVER_ATOMIC);
		return 0;
	}
	if (num > TSR_MAX_CRTCS) {
		drm_err(drm, "bad identification: %u CRTCs\n", num);
		return -ENODEV;
	}
	kms = drmm_kzalloc(drm, sizeof(*kms), GFP_KERNEL);
	if (!kms)
		return -ENOMEM;
	spin_lock_init(&kms->clock.lock);
	tdev->kms = kms;
	tdev->passing_ms = TESSERA_PASSING_TIMEOUT_MS;
	ret = kms_init_config(tdev);
	if (ret)
		return ret;
	for (i = 0; i < num; i++) {
		ret = kms_init_crtc(tdev, i);
		if (ret)
			return ret;
	}

	drm->max_vblank_count = U32_MAX;
	ret = drm_vblank_init(drm, num);
	if (ret)
		return ret;
	drm_mode_config_reset(drm);
	ret = tessera_irq_request(tdev, TSR_VECTOR_DISPLAY, "tessera-display", kms_interrupt, tdev);
	if (ret)
		return ret;
	tessera_panic_init(tdev);
	drm_kms_helper_poll_init(drm);
	kms_start(tdev);

	return 0;
}

/**
 * tessera_kms_console() - let clients inside the kernel use the display
 * @tdev: the device, registered
 *
 * These clients are removed when the device is unregistered.
 */
void tessera_kms_console(struct tessera_device *tdev)
{
	if (tdev->kms)
		drm_client_setup(&tdev->drm, NULL);
}

/* After this no hotplug event leads to a commit, until kms_start(). */
static void kms_ignore_hotplug(struct tessera_device *tdev)
{
	struct drm_crtc *crtc;

	drm_for_each_crtc(crtc, &tdev->drm)
		tessera_events_set(to_tessera_crtc(crtc), TSR_CRTC_INT_HOTPLUG, false);
	tessera_irq_sync_display(tdev);
	drm_for_each_crtc(crtc, &tdev->drm)
		cancel_work_sync(&to_tessera_crtc(crtc)->hotplug);
}

/*
 * The display is off: unpin writeback targets and disable all events.
 * kms_start() enables them again.
 */
static void kms_end(struct tessera_device *tdev)
{
	struct drm_crtc *crtc;

	tessera_writeback_flush(tdev);
	drm_for_each_crtc(crtc, &tdev->drm)
		tessera_crtc_write(to_tessera_crtc(crtc), TSR_CRTC_INT_MASK, 0);
}

/**
 * tessera_kms_suspend() - switch the display off and save its state
 * @tdev: the device
 *
 * Afterwards no framebuffer is pinned.
 *
 * Return: 0 or a negative error, with the display as it was.
 */
int tessera_kms_suspend(struct tessera_device *tdev)
{
	int ret;

	if (!tdev->kms)
		return 0;
	kms_ignore_hotplug(tdev);
	ret = drm_mode_config_helper_suspend(&tdev->drm);
	if (ret)
		kms_start(tdev);
	else
		kms_end(tdev);

	return ret;
}

/* Monitors may have changed while hotplug events were disabled. */
static void kms_look_at_monitors(struct tessera_device *tdev)
{
	struct drm_crtc *crtc;

	drm_for_each_crtc(crtc, &tdev->drm)
		schedule_work(&to_tessera_crtc(crtc)->hotplug);
}

/**
 * tessera_kms_resume() - restore the display after tessera_kms_suspend()
 * @tdev: the device, which works again
 */
void tessera_kms_resume(struct tessera_device *tdev)
{
	int ret;

	if (!tdev->kms)
		return;
	kms_start(tdev);
	ret = drm_mode_config_helper_resume(&tdev->drm);
	if (ret)
		drm_err(&tdev->drm, "the display stays off: %pe\n", ERR_PTR(ret));
	kms_look_at_monitors(tdev);
}

/**
 * tessera_kms_reset_prepare() - switch the display off before a reset
 * @tdev: the device, which is going to be reset; no job is under way
 *
 * The contents of VRAM are lost, so clients have to show new ones. They cannot
 * before tessera_kms_reset_done(): the reset would switch off the hardware of a
 * CRTC that the atomic state says is on.
 */
void tessera_kms_reset_prepare(struct tessera_device *tdev)
{
	if (!tdev->kms)
		return;
	kms_ignore_hotplug(tdev);
	WRITE_ONCE(tdev->kms->stopped, true);
	drm_atomic_helper_shutdown(&tdev->drm);
	kms_end(tdev);
}

/*
 * The console's picture was lost with VRAM. The fbdev helper has a shadow copy.
 */
static void kms_redraw_console(struct tessera_device *tdev)
{
#ifdef CONFIG_DRM_FBDEV_EMULATION
	struct drm_fb_helper *helper = tdev->drm.fb_helper;

	if (!helper)
		return;
	/* The console may be set up concurrently. */
	mutex_lock(&helper->lock);
	if (helper->fb && helper->info)
		drm_fb_helper_damage_area(helper->info, 0, 0, helper->fb->width,
					  helper->fb->height);
	mutex_unlock(&helper->lock);
#endif
}

/**
 * tessera_kms_reset_done() - let the display be used again
 * @tdev: the device, after tessera_kms_reset_prepare() and its reset
 *
 * Clients are told by a hotplug event. The console is restored without one,
 * unless another DRM master has the display.
 */
void tessera_kms_reset_done(struct tessera_device *tdev)
{
	if (!tdev->kms)
		return;
	kms_start(tdev);
	WRITE_ONCE(tdev->kms->stopped, false);
	kms_redraw_console(tdev);
	kms_look_at_monitors(tdev);
}

/**
 * tessera_kms_unplug() - stop using the hardware
 * @tdev: the device, after drm_dev_unplug(), with its registers still mapped
 *
 * Ends pending commits and unpins all framebuffers.
 */
void tessera_kms_unplug(struct tessera_device *tdev)
{
	struct drm_crtc *crtc;

	/* If probe failed half way, nothing is on. */
	if (!tdev->kms || !drm_dev_has_vblank(&tdev->drm))
		return;
	drm_for_each_crtc(crtc, &tdev->drm) {
		tessera_events_set(to_tessera_crtc(crtc), TSR_CRTC_INT_ALL, false);
		tessera_crtc_write(to_tessera_crtc(crtc), TSR_CRTC_CONTROL, 0);
	}
	kms_ignore_hotplug(tdev);
	drm_for_each_crtc(crtc, &tdev->drm) {
		tessera_vblank_end(to_tessera_crtc(crtc), false);
		tessera_writeback_end(to_tessera_crtc(crtc), -ENODEV);
	}
	drm_kms_helper_poll_fini(&tdev->drm);
	drm_atomic_helper_shutdown(&tdev->drm);
	tessera_writeback_flush(tdev);
}
