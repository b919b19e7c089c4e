// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: writeback
 *
 * A writeback connector stores the first frame of a commit in memory. The
 * device writes the frame when the commit is latched. The writeback is done
 * when the commit's event is sent, unless the CRTC is switched off before.
 *
 * The target is pinned like a framebuffer that is scanned out, as the device
 * reaches no other memory here. The write adds no fence to the target's
 * reservation. A commit therefore waits first, with no lock held, for all users
 * of the target. It waits only for the fences that the target had when the
 * commit was prepared: later ones may depend on the commit's own fence.
 */

#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/wait_bit.h>

#include <drm/drm_atomic.h>
#include <drm/drm_atomic_helper.h>
#include <drm/drm_atomic_state_helper.h>
#include <drm/drm_edid.h>
#include <drm/drm_fourcc.h>
#include <drm/drm_framebuffer.h>
#include <drm/drm_managed.h>
#include <drm/drm_modeset_helper_vtables.h>
#include <drm/drm_print.h>
#include <drm/drm_probe_helper.h>
#include <drm/drm_writeback.h>

#include "base/compat.h"
#include "base/wait.h"
#include "kms/kms.h"
#include "mem/mem.h"

static const u32 writeback_formats[] = {
	DRM_FORMAT_XRGB8888,
};

static struct drm_writeback_job *state_job(const struct drm_connector_state *state)
{
	struct drm_writeback_job *job = state ? state->writeback_job : NULL;

	return job && job->fb ? job : NULL;
}

static int writeback_get_modes(struct drm_connector *connector)
{
	const struct drm_mode_config *config = &connector->dev->mode_config;

	return drm_add_modes_noedid(connector, config->max_width, config->max_height);
}

static int writeback_check(struct drm_connector *connector, struct drm_atomic_commit *state)
{
	struct drm_connector_state *new = drm_atomic_get_new_connector_state(state, connector);
	struct drm_writeback_job *job = state_job(new);
	const struct drm_framebuffer *fb;
	const struct drm_display_mode *mode;

	if (!job || !new->crtc)
		return 0;
	fb = job->fb;
	mode = &drm_atomic_get_new_crtc_state(state, new->crtc)->mode;
	if (fb->width != mode->hdisplay || fb->height != mode->vdisplay ||
	    tessera_fb_layout(fb) != TSR_LAYOUT_LINEAR) {
		drm_dbg_atomic(connector->dev, "[CONNECTOR:%d:%s] cannot write to [FB:%d]\n",
			       connector->base.id, connector->name, fb->base.id);
		return -EINVAL;
	}

	return drm_atomic_helper_check_wb_connector_state(connector, state);
}

/* Number of writeback jobs with a pinned target. */
static atomic_t *writeback_jobs(struct drm_writeback_connector *wb)
{
	return &to_tessera_device(wb->base.dev)->kms->writebacks;
}

static int writeback_prepare(struct drm_writeback_connector *wb, struct drm_writeback_job *job)
{
	struct drm_gem_object *gem;
	struct dma_fence *before;
	int ret;

	if (!job->fb)
		return 0;
	ret = tessera_fb_pin(job->fb);
	if (ret)
		return ret;
	gem = job->fb->obj[0];
	dma_resv_lock(gem->resv, NULL);
	ret = dma_resv_get_singleton(gem->resv, dma_resv_usage_rw(true), &before);
	/*
	 * The pinned target is not copied to system pages before the device
	 * writes it.
	 */
	if (!ret)
		tessera_residency_written(gem_to_tessera_bo(gem));
	dma_resv_unlock(gem->resv);
	if (ret) {
		tessera_fb_unpin(job->fb);
		return ret;
	}
	job->priv = before;
	atomic_inc(writeback_jobs(wb));

	return 0;
}

/*
 * Also drop the framebuffer. Once the counter is lowered, the core only frees
 * the job and does not touch the device.
 */
static void writeback_cleanup(struct drm_writeback_connector *wb, struct drm_writeback_job *job)
{
	atomic_t *jobs = writeback_jobs(wb);

	if (!job->fb)
		return;
	dma_fence_put(job->priv);
	tessera_fb_unpin(job->fb);
	drm_framebuffer_put(job->fb);
	job->fb = NULL;
	if (atomic_dec_and_test(jobs))
		wake_up_var(jobs);
}

static const struct drm_connector_helper_funcs writeback_helper_funcs = {
	.get_modes = writeback_get_modes,
	.atomic_check = writeback_check,
	.prepare_writeback_job = writeback_prepare,
	.cleanup_writeback_job = writeback_cleanup,
};

static const struct drm_connector_funcs writeback_funcs = {
	.reset = drm_atomic_helper_connector_reset,
	.fill_modes = drm_helper_probe_single_connector_modes,
	.destroy = drm_connector_cleanup,
	.atomic_duplicate_state = drm_atomic_helper_connector_duplicate_state,
	.atomic_destroy_state = drm_atomic_helper_connector_destroy_state,
};

/**
 * tessera_writeback_wait() - wait for earlier users of a commit's writeback
 * target
 * @state: the commit, nothing locked
 */
void tessera_writeback_wait(struct drm_atomic_commit *state)
{
	const struct drm_connector_state *new;
	struct drm_connector *connector;
	struct drm_writeback_job *job;
	int i;

	for_each_new_connector_in_state(state, connector, new, i) {
		job = state_job(new);
		if (job && job->priv)
			tessera_wait_fence(TESSERA_WAIT_DISPLAY, job->priv, false,
					   MAX_SCHEDULE_TIMEOUT);
	}
}

/**
 * tessera_writeback_begin() - make the next commit of a CRTC write its first
 * frame
 * @tc: the CRTC, which is on
 * @state: the commit
 *
 * Return: true if the caller has to call tessera_writeback_committed(). False if
 * there is nothing to write, or if the target is lost, in which case the
 * writeback has ended with -EIO.
 */
bool tessera_writeback_begin(struct tessera_crtc *tc, struct drm_atomic_commit *state)
{
	struct drm_connector_state *new =
		drm_atomic_get_new_connector_state(state, &tc->writeback.base);
	struct drm_writeback_job *job = state_job(new);
	struct drm_framebuffer *fb;
	u64 addr;

	if (!job)
		return false;
	fb = job->fb;
	addr = tessera_fb_addr(fb);
	/* After this the job belongs to the queue and not to the state. */
	drm_writeback_queue_job(&tc->writeback, new);
	if (!addr) {
		drm_writeback_signal_completion(&tc->writeback, -EIO);
		return false;
	}
	tessera_crtc_write(tc, TSR_CRTC_WB_ADDR_LO, lower_32_bits(addr));
	tessera_crtc_write(tc, TSR_CRTC_WB_ADDR_HI, upper_32_bits(addr));
	tessera_crtc_write(tc, TSR_CRTC_WB_PITCH, fb->pitches[0]);
	tessera_crtc_write(tc, TSR_CRTC_WB_CONTROL, TSR_WB_CAPTURE);

	return true;
}

/**
 * tessera_writeback_drop() - complete a commit's writeback with an error
 * @tc: the CRTC; its device is gone
 * @state: the commit
 */
void tessera_writeback_drop(struct tessera_crtc *tc, struct drm_atomic_commit *state)
{
	struct drm_connector_state *new =
		drm_atomic_get_new_connector_state(state, &tc->writeback.base);

	if (!state_job(new))
		return;
	drm_writeback_queue_job(&tc->writeback, new);
	drm_writeback_signal_completion(&tc->writeback, -ENODEV);
}

/**
 * tessera_writeback_flush() - wait until no writeback target is pinned
 * @tdev: the device; all writebacks have ended, and no commit is under way
 */
void tessera_writeback_flush(struct tessera_device *tdev)
{
	tessera_wait_might(TESSERA_WAIT_UNPLUG);
	if (atomic_read(&tdev->kms->writebacks))
		tessera_wait_in(TESSERA_WAIT_UNPLUG,
				({ wait_var_event(&tdev->kms->writebacks,
						  !atomic_read(&tdev->kms->writebacks)); 0; }));
}

/**
 * tessera_writeback_end() - complete the writeback, if one is under way
 * @tc: the CRTC
 * @status: 0 or a negative error
 */
void tessera_writeback_end(struct tessera_crtc *tc, int status)
{
	if (xchg(&tc->writing, false))
		drm_writeback_signal_completion(&tc->writeback, status);
}

/**
 * tessera_writeback_poll() - complete the writeback if the device has ended it
 * @tc: the CRTC; inside drm_dev_enter(), or in its interrupt
 */
void tessera_writeback_poll(struct tessera_crtc *tc)
{
	u32 status = tessera_crtc_read(tc, TSR_CRTC_WB_STATUS);

	if (status == TSR_WB_DONE || status == TSR_WB_FAILED)
		tessera_writeback_end(tc, status == TSR_WB_DONE ? 0 : -EIO);
}

/**
 * tessera_writeback_committed() - wait for the result of a writeback, or end it
 * @tc: the CRTC, with its &tessera_crtc.commit_lock held, after
 *	tessera_writeback_begin() and the commit
 * @accepted: the device has accepted the commit
 *
 * The status register has the result of the last writeback until the device
 * accepts the commit. Therefore no interrupt looks at it before that.
 */
void tessera_writeback_committed(struct tessera_crtc *tc, bool accepted)
{
	if (!accepted) {
		/* The device clears the register only when it accepts a commit. */
		tessera_crtc_write(tc, TSR_CRTC_WB_CONTROL, 0);
		drm_writeback_signal_completion(&tc->writeback, -EIO);
		return;
	}
	WRITE_ONCE(tc->writing, true);
	/* Its interrupt may have come already. */
	tessera_writeback_poll(tc);
}

static void writeback_fini(struct drm_device *drm, void *data)
{
	struct drm_writeback_connector *wb = data;

	drm_connector_cleanup(&wb->base);
	drm_encoder_cleanup(&wb->encoder);
}

/**
 * tessera_writeback_init() - create the writeback connector of a CRTC
 * @tc: the CRTC, with its output; both can be used at the same time
 *
 * Return: 0 or a negative error.
 */
int tessera_writeback_init(struct tessera_crtc *tc)
{
	struct drm_writeback_connector *wb = &tc->writeback;
	struct drm_device *drm = tc->base.dev;
	u32 both;
	int ret;

	ret = drm_writeback_connector_init(drm, wb, &writeback_funcs, NULL, writeback_formats,
					   ARRAY_SIZE(writeback_formats), drm_crtc_mask(&tc->base));
	if (ret)
		return ret;
	/*
	 * The core would free it with the mode configuration, which outlives
	 * the CRTC.
	 */
	ret = drmm_add_action_or_reset(drm, writeback_fini, wb);
	if (ret)
		return ret;
	drm_connector_helper_add(&wb->base, &writeback_helper_funcs);
	both = drm_encoder_mask(&tc->encoder) | drm_encoder_mask(&wb->encoder);
	tc->encoder.possible_clones = both;
	wb->encoder.possible_clones = both;

	return 0;
}
