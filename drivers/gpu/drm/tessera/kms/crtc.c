// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: CRTCs
 *
 * Modes, colour management, and the single commit that ends an update. A CRTC
 * that is being switched on is committed first, while it is still off. The
 * device then applies the commit at once, so the first frame is complete.
 */

#include <linux/math64.h>
#include <linux/minmax.h>

#include <drm/drm_atomic.h>
#include <drm/drm_atomic_helper.h>
#include <drm/drm_color_mgmt.h>
#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_modes.h>
#include <drm/drm_print.h>
#include <drm/drm_vblank.h>

#include "base/compat.h"
#include "kms/kms.h"

static enum drm_mode_status crtc_mode_valid(struct drm_crtc *crtc,
					    const struct drm_display_mode *mode)
{
	const struct tessera_kms *kms = to_tessera_device(crtc->dev)->kms;
	u64 frame_ns;

	if (mode->flags & DRM_MODE_FLAG_INTERLACE)
		return MODE_NO_INTERLACE;
	if (mode->flags & (DRM_MODE_FLAG_DBLSCAN | DRM_MODE_FLAG_DBLCLK))
		return MODE_NO_DBLESCAN;
	if (mode->hdisplay > kms->max_width)
		return MODE_BAD_HVALUE;
	if (mode->vdisplay > kms->max_height)
		return MODE_BAD_VVALUE;
	if (mode->htotal <= mode->hdisplay)
		return MODE_HBLANK_NARROW;
	if (mode->vtotal <= mode->vdisplay)
		return MODE_VBLANK_NARROW;
	if (mode->clock < 1)
		return MODE_CLOCK_LOW;
	if (mode->clock > TSR_CRTC_MAX_CLOCK)
		return MODE_CLOCK_HIGH;
	frame_ns = div_u64((u64)mode->htotal * mode->vtotal * USEC_PER_SEC, mode->clock);
	if (frame_ns < TSR_CRTC_MIN_FRAME_NS)
		return MODE_CLOCK_HIGH;
	if (frame_ns > TSR_CRTC_MAX_FRAME_NS)
		return MODE_CLOCK_LOW;

	return MODE_OK;
}

static int crtc_check(struct drm_crtc *crtc, struct drm_atomic_commit *state)
{
	const struct drm_crtc_state *new = drm_atomic_get_new_crtc_state(state, crtc);

	if (new->gamma_lut && drm_color_lut_size(new->gamma_lut) != TSR_GAMMA_ENTRIES) {
		drm_dbg_atomic(crtc->dev, "[CRTC:%d:%s] gamma table of a wrong size\n",
			       crtc->base.id, crtc->name);
		return -EINVAL;
	}

	return 0;
}

static void write_gamma(struct tessera_crtc *tc, const struct drm_property_blob *blob)
{
	const struct drm_color_lut *lut = blob->data;
	unsigned int i;

	tessera_crtc_write(tc, TSR_CRTC_GAMMA_INDEX, 0);
	for (i = 0; i < TSR_GAMMA_ENTRIES; i++)
		tessera_crtc_write(tc, TSR_CRTC_GAMMA_DATA,
				   drm_color_lut_extract(lut[i].red, 8) << 16 |
				   drm_color_lut_extract(lut[i].green, 8) << 8 |
				   drm_color_lut_extract(lut[i].blue, 8));
}

static void write_matrix(struct tessera_crtc *tc, const struct drm_property_blob *blob)
{
	const struct drm_color_ctm *ctm = blob->data;
	unsigned int i;

	for (i = 0; i < TSR_CTM_ENTRIES; i++)
		tessera_crtc_write(tc, TSR_CRTC_CTM(i),
				   drm_color_ctm_s31_32_to_qm_n(ctm->matrix[i], 16, 16));
}

static void write_color(struct tessera_crtc *tc, const struct drm_crtc_state *state)
{
	u32 color = 0;

	if (state->gamma_lut) {
		write_gamma(tc, state->gamma_lut);
		color |= TSR_COLOR_GAMMA;
	}
	if (state->ctm) {
		write_matrix(tc, state->ctm);
		color |= TSR_COLOR_CTM;
	}
	tessera_latched_write(tc, TSR_CRTC_COLOR, color);
}

/* Maximum number of lines of a frame; 0 if the frame length is fixed. */
static u32 vrr_total(struct tessera_crtc *tc, const struct drm_crtc_state *state)
{
	const struct drm_display_mode *mode = &state->adjusted_mode;
	u32 ms = tessera_output_max_frame_ms(&tc->connector);

	/* The VRR_ENABLED property may stay set after the mode is gone. */
	if (!state->enable || !state->vrr_enabled || !ms)
		return 0;

	return min_t(u64, div_u64((u64)mode->clock * ms, mode->htotal), U16_MAX);
}

static void write_planes(struct tessera_crtc *tc, struct drm_atomic_commit *state)
{
	struct drm_plane_state *new;
	struct drm_plane *plane;
	int i;

	for_each_new_plane_in_state(state, plane, new, i) {
		if (plane->possible_crtcs & drm_crtc_mask(&tc->base))
			tessera_plane_write(tc, plane, new);
	}
}

/*
 * Commit with the event and the writeback of @state. The CRTC must be on for
 * both.
 */
static void commit_frame(struct tessera_crtc *tc, struct drm_atomic_commit *state, u32 how)
{
	bool capture = tessera_writeback_begin(tc, state);
	bool accepted = tessera_vblank_commit(tc, how, true);

	if (capture)
		tessera_writeback_committed(tc, accepted);
}

/* A CRTC that is being switched on or off is committed without its event. */
static void commit(struct tessera_crtc *tc, struct drm_atomic_commit *state,
		   const struct drm_crtc_state *new)
{
	u32 how = new->async_flip ? TSR_COMMIT_ASYNC : TSR_COMMIT_VBLANK;
	bool modeset = drm_atomic_crtc_needs_modeset(new);

	if (modeset || new->color_mgmt_changed)
		write_color(tc, new);
	tessera_latched_write(tc, TSR_CRTC_VRR_TOTAL, vrr_total(tc, new));
	if (new->active && !modeset)
		commit_frame(tc, state, how);
	else
		tessera_vblank_commit(tc, how, false);
}

static void crtc_flush(struct drm_crtc *crtc, struct drm_atomic_commit *state)
{
	struct tessera_crtc *tc = to_tessera_crtc(crtc);
	int idx;

	if (!drm_dev_enter(crtc->dev, &idx)) {
		if (!state->legacy_cursor_update) {
			tessera_vblank_end(tc, true);
			tessera_writeback_drop(tc, state);
		}
		return;
	}
	mutex_lock(&tc->commit_lock);
	write_planes(tc, state);
	if (state->legacy_cursor_update)
		tessera_vblank_commit_cursor(tc);
	else
		commit(tc, state, drm_atomic_get_new_crtc_state(state, crtc));
	mutex_unlock(&tc->commit_lock);
	drm_dev_exit(idx);
}

/* False if the device refuses the mode. */
static bool switch_on(struct tessera_crtc *tc, const struct drm_display_mode *mode)
{
	tessera_crtc_write(tc, TSR_CRTC_ACTIVE, mode->vdisplay << 16 | mode->hdisplay);
	tessera_crtc_write(tc, TSR_CRTC_TOTAL, mode->vtotal << 16 | mode->htotal);
	tessera_crtc_write(tc, TSR_CRTC_CLOCK, mode->clock);
	tessera_crtc_write(tc, TSR_CRTC_CRC_CONTROL, READ_ONCE(tc->crc) ? TSR_CRC_ENABLE : 0);
	tessera_crtc_write(tc, TSR_CRTC_CONTROL, TSR_CRTC_ENABLE);
	/*
	 * Needed for a CRTC that stays off, too: the device latches its commits
	 * at once.
	 */
	tessera_events_set(tc, TSR_CRTC_INT_LATCH, true);
	if (tessera_crtc_read(tc, TSR_CRTC_CONTROL) & TSR_CRTC_ENABLE)
		return true;
	drm_err(tc->base.dev, "[CRTC:%d:%s] the device refuses a mode\n", tc->base.base.id,
		tc->base.name);

	return false;
}

static void crtc_enable(struct drm_crtc *crtc, struct drm_atomic_commit *state)
{
	struct tessera_crtc *tc = to_tessera_crtc(crtc);
	int idx;
	bool present = drm_dev_enter(crtc->dev, &idx);
	bool on = present && switch_on(tc, &crtc->state->adjusted_mode);

	drm_crtc_vblank_on(crtc);
	if (on) {
		/*
		 * The planes are already committed. This commit has the event
		 * and the writeback.
		 */
		mutex_lock(&tc->commit_lock);
		commit_frame(tc, state, TSR_COMMIT_VBLANK);
		mutex_unlock(&tc->commit_lock);
	} else {
		tessera_vblank_end(tc, true);
		tessera_writeback_drop(tc, state);
	}
	if (present)
		drm_dev_exit(idx);
}

static void crtc_disable(struct drm_crtc *crtc, struct drm_atomic_commit *state)
{
	struct tessera_crtc *tc = to_tessera_crtc(crtc);
	int idx;

	drm_crtc_vblank_off(crtc);
	if (drm_dev_enter(crtc->dev, &idx)) {
		tessera_events_set(tc, TSR_CRTC_INT_LATCH, false);
		tessera_crtc_write(tc, TSR_CRTC_CONTROL, 0);
		/* Switching the CRTC off ends a pending writeback. */
		tessera_writeback_poll(tc);
		drm_dev_exit(idx);
	}
	/*
	 * An event is left over only if the device did not latch its commit
	 * before the wait for the flip timed out.
	 */
	tessera_vblank_end(tc, !crtc->state->active);
}

static const struct drm_crtc_helper_funcs crtc_helper_funcs = {
	.mode_valid = crtc_mode_valid,
	.atomic_check = crtc_check,
	.atomic_flush = crtc_flush,
	.atomic_enable = crtc_enable,
	.atomic_disable = crtc_disable,
};

static const struct drm_crtc_funcs crtc_funcs = {
	.reset = drm_atomic_helper_crtc_reset,
	.set_config = drm_atomic_helper_set_config,
	.page_flip = drm_atomic_helper_page_flip,
	.atomic_duplicate_state = drm_atomic_helper_crtc_duplicate_state,
	.atomic_destroy_state = drm_atomic_helper_crtc_destroy_state,
	.enable_vblank = tessera_vblank_enable,
	.disable_vblank = tessera_vblank_disable,
	.get_crc_sources = tessera_crc_get_sources,
	.verify_crc_source = tessera_crc_verify_source,
	.set_crc_source = tessera_crc_set_source,
	.get_vblank_counter = tessera_vblank_count,
	.get_vblank_timestamp = tessera_vblank_timestamp,
};

/**
 * tessera_crtc_create() - create a CRTC with its planes
 * @tdev: the device
 * @index: index of the CRTC
 *
 * Return: the CRTC, managed by the device, without an output yet; or an error.
 */
struct tessera_crtc *tessera_crtc_create(struct tessera_device *tdev, u32 index)
{
	struct drm_plane *planes[TSR_NUM_PLANES];
	struct tessera_crtc *tc;
	unsigned int i;
	int ret;

	for (i = 0; i < TSR_NUM_PLANES; i++) {
		planes[i] = tessera_plane_create(tdev, index, i);
		if (IS_ERR(planes[i]))
			return ERR_CAST(planes[i]);
	}
	tc = drmm_crtc_alloc_with_planes(&tdev->drm, struct tessera_crtc, base,
					 planes[TSR_PLANE_PRIMARY], planes[TSR_PLANE_CURSOR],
					 &crtc_funcs, NULL);
	if (IS_ERR(tc))
		return tc;
	tc->regs = TSR_CRTC(index);
	spin_lock_init(&tc->lock);
	ret = drmm_mutex_init(&tdev->drm, &tc->commit_lock);
	if (ret)
		return ERR_PTR(ret);
	ret = drm_mode_crtc_set_gamma_size(&tc->base, TSR_GAMMA_ENTRIES);
	if (ret)
		return ERR_PTR(ret);
	drm_crtc_enable_color_mgmt(&tc->base, 0, true, TSR_GAMMA_ENTRIES);
	drm_crtc_helper_add(&tc->base, &crtc_helper_funcs);

	return tc;
}
