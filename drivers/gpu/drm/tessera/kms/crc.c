// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: CRCs of frames
 *
 * Pass the CRCs of frames to debugfs, in the form that IGT expects. The device
 * computes the CRC of each frame that it scans out. An entry has the number of
 * the vblank that began its frame, as clients count vblanks.
 */

#include <drm/drm_crtc.h>
#include <drm/drm_drv.h>
#include <drm/drm_vblank.h>

#include "kms/kms.h"

/**
 * tessera_events_set() - enable or disable interrupts for events of a CRTC
 * @tc: the CRTC; inside drm_dev_enter()
 * @events: TSR_CRTC_INT_*
 * @on: enable these events; all others stay as they are
 */
void tessera_events_set(struct tessera_crtc *tc, u32 events, bool on)
{
	unsigned long flags;

	spin_lock_irqsave(&tc->lock, flags);
	/* Discard events that happened while their interrupt was disabled. */
	if (on)
		tessera_crtc_write(tc, TSR_CRTC_INT_STATUS, events & ~tc->int_mask);
	tc->int_mask = on ? tc->int_mask | events : tc->int_mask & ~events;
	tessera_crtc_write(tc, TSR_CRTC_INT_MASK, tc->int_mask);
	spin_unlock_irqrestore(&tc->lock, flags);
}

static const char * const sources[] = { "auto" };

/**
 * tessera_crc_get_sources() - &drm_crtc_funcs.get_crc_sources
 * @crtc: the CRTC
 * @count: receives the number of sources
 *
 * Return: their names.
 */
const char *const *tessera_crc_get_sources(struct drm_crtc *crtc, size_t *count)
{
	*count = ARRAY_SIZE(sources);

	return sources;
}

/**
 * tessera_crc_verify_source() - &drm_crtc_funcs.verify_crc_source
 * @crtc: the CRTC
 * @source: name of a source; NULL: none
 * @values_cnt: receives the number of values of an entry
 *
 * Return: 0 or -EINVAL.
 */
int tessera_crc_verify_source(struct drm_crtc *crtc, const char *source, size_t *values_cnt)
{
	*values_cnt = 1;

	return source && strcmp(source, sources[0]) ? -EINVAL : 0;
}

/**
 * tessera_crc_set_source() - &drm_crtc_funcs.set_crc_source
 * @crtc: the CRTC
 * @source: name of a source; NULL: none
 *
 * Return: 0, -EINVAL or -ENODEV.
 */
int tessera_crc_set_source(struct drm_crtc *crtc, const char *source)
{
	struct tessera_crtc *tc = to_tessera_crtc(crtc);
	size_t values;
	int idx, ret;

	ret = tessera_crc_verify_source(crtc, source, &values);
	if (ret)
		return ret;
	if (!drm_dev_enter(crtc->dev, &idx))
		return -ENODEV;
	/* Discard the CRCs of earlier frames. */
	tessera_crtc_write(tc, TSR_CRTC_CRC_CONTROL, 0);
	tessera_events_set(tc, TSR_CRTC_INT_CRC, false);
	WRITE_ONCE(tc->crc, source);
	if (source) {
		tessera_events_set(tc, TSR_CRTC_INT_CRC, true);
		tessera_crtc_write(tc, TSR_CRTC_CRC_CONTROL, TSR_CRC_ENABLE);
	}
	drm_dev_exit(idx);

	return 0;
}

/*
 * Convert @frame, the device's number of a vblank, to the number clients know.
 */
static u32 vblank_number(struct drm_crtc *crtc, u32 frame)
{
	struct drm_vblank_crtc *vblank = drm_crtc_vblank_crtc(crtc);
	u32 number;

	/* The two numbers are consistent only under this lock. */
	spin_lock(&crtc->dev->vblank_time_lock);
	number = (u32)atomic64_read(&vblank->count) - vblank->last + frame;
	spin_unlock(&crtc->dev->vblank_time_lock);

	return number;
}

/**
 * tessera_crc_interrupt() - pass queued CRCs to debugfs
 * @tc: the CRTC, in its interrupt
 */
void tessera_crc_interrupt(struct tessera_crtc *tc)
{
	u32 count = tessera_crtc_read(tc, TSR_CRTC_CRC_COUNT), frame, crc;

	/* CRCs queued meanwhile raise another interrupt. */
	for (count = min(count, TSR_CRC_QUEUE); count; count--) {
		frame = tessera_crtc_read(tc, TSR_CRTC_CRC_FRAME);
		crc = tessera_crtc_read(tc, TSR_CRTC_CRC_VALUE);
		if (READ_ONCE(tc->crc))
			drm_crtc_add_crc_entry(&tc->base, true, vblank_number(&tc->base, frame),
					       &crc);
	}
}
