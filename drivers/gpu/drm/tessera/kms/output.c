// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: outputs
 *
 * Encoder and connector of a CRTC. They are wired to this CRTC and no other can
 * feed them. The monitor's EDID is in registers. An interrupt tells when the
 * monitor changes or prefers another size.
 */

#include <drm/drm_atomic_helper.h>
#include <drm/drm_atomic_state_helper.h>
#include <drm/drm_drv.h>
#include <drm/drm_edid.h>
#include <drm/drm_managed.h>
#include <drm/drm_modeset_helper_vtables.h>
#include <drm/drm_probe_helper.h>

#include "kms/kms.h"

/* Preferred mode of a monitor without an EDID. */
#define OUTPUT_WIDTH	1024
#define OUTPUT_HEIGHT	768

static struct tessera_crtc *connector_to_tessera(struct drm_connector *connector)
{
	return container_of(connector, struct tessera_crtc, connector);
}

static int read_edid_block(void *context, u8 *buf, unsigned int block, size_t len)
{
	struct tessera_crtc *tc = context;
	size_t at = (size_t)block * EDID_LENGTH, i;
	__le32 word;

	if (at + len > tessera_crtc_read(tc, TSR_CRTC_EDID_SIZE))
		return -EIO;
	tessera_crtc_write(tc, TSR_CRTC_EDID_INDEX, at);
	for (i = 0; i < len; i += sizeof(word)) {
		word = cpu_to_le32(tessera_crtc_read(tc, TSR_CRTC_EDID_DATA));
		memcpy(buf + i, &word, min(sizeof(word), len - i));
	}

	return 0;
}

static int connector_detect(struct drm_connector *connector, struct drm_modeset_acquire_ctx *ctx,
			    bool force)
{
	int idx, status = connector_status_disconnected;

	if (!drm_dev_enter(connector->dev, &idx))
		return status;
	if (tessera_crtc_read(connector_to_tessera(connector), TSR_CRTC_OUTPUT) &
	    TSR_OUTPUT_CONNECTED)
		status = connector_status_connected;
	drm_dev_exit(idx);

	return status;
}

static int connector_get_modes(struct drm_connector *connector)
{
	const struct drm_edid *edid;
	int idx, num;

	if (!drm_dev_enter(connector->dev, &idx))
		return 0;
	edid = drm_edid_read_custom(connector, read_edid_block, connector_to_tessera(connector));
	drm_dev_exit(idx);

	drm_edid_connector_update(connector, edid);
	num = drm_edid_connector_add_modes(connector);
	drm_edid_free(edid);
	if (!num) {
		num = drm_add_modes_noedid(connector, OUTPUT_WIDTH, OUTPUT_HEIGHT);
		drm_set_preferred_mode(connector, OUTPUT_WIDTH, OUTPUT_HEIGHT);
	}
	drm_connector_set_vrr_capable_property(connector, tessera_output_max_frame_ms(connector));

	return num;
}

/**
 * tessera_output_max_frame_ms() - longest frame that a monitor supports
 * @connector: the connector of the monitor
 *
 * Return: ms; 0 if the monitor does not tell, or does not support a variable
 * refresh rate.
 */
u32 tessera_output_max_frame_ms(const struct drm_connector *connector)
{
	const struct drm_monitor_range_info *range = &connector->display_info.monitor_range;
	/* A concurrent probe may find another monitor. */
	u32 least = READ_ONCE(range->min_vfreq);

	if (!least || READ_ONCE(range->max_vfreq) <= least)
		return 0;

	return MSEC_PER_SEC / least;
}

static void hotplug_work(struct work_struct *work)
{
	struct tessera_crtc *tc = container_of(work, struct tessera_crtc, hotplug);

	/*
	 * The helper compares the connector status only, but the EDID may have
	 * changed.
	 */
	if (!drm_connector_helper_hpd_irq_event(&tc->connector))
		drm_kms_helper_connector_hotplug_event(&tc->connector);
}

static const struct drm_connector_helper_funcs connector_helper_funcs = {
	.detect_ctx = connector_detect,
	.get_modes = connector_get_modes,
};

static const struct drm_connector_funcs connector_funcs = {
	.reset = drm_atomic_helper_connector_reset,
	.fill_modes = drm_helper_probe_single_connector_modes,
	.atomic_duplicate_state = drm_atomic_helper_connector_duplicate_state,
	.atomic_destroy_state = drm_atomic_helper_connector_destroy_state,
};

/**
 * tessera_output_init() - create encoder and connector
 * @tc: the CRTC that they belong to
 *
 * Return: 0 or a negative error.
 */
int tessera_output_init(struct tessera_crtc *tc)
{
	struct drm_device *drm = tc->base.dev;
	struct drm_connector *connector = &tc->connector;
	int ret;

	INIT_WORK(&tc->hotplug, hotplug_work);
	ret = drmm_encoder_init(drm, &tc->encoder, NULL, DRM_MODE_ENCODER_VIRTUAL, NULL);
	if (ret)
		return ret;
	tc->encoder.possible_crtcs = drm_crtc_mask(&tc->base);

	ret = drmm_connector_init(drm, connector, &connector_funcs, DRM_MODE_CONNECTOR_VIRTUAL,
				  NULL);
	if (ret)
		return ret;
	drm_connector_helper_add(connector, &connector_helper_funcs);
	connector->polled = DRM_CONNECTOR_POLL_HPD;
	drm_connector_attach_edid_property(connector);
	ret = drm_connector_attach_vrr_capable_property(connector);
	if (ret)
		return ret;

	return drm_connector_attach_encoder(connector, &tc->encoder);
}
