// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: dumb buffers
 *
 * Create objects for clients that know nothing of segments and draw with the
 * CPU. A dumb buffer is linear and supports the segments that the GPU can
 * write. It prefers a CPU-visible memory segment, so that it can be scanned out
 * and shared with other devices. It is mapped, moved and charged like any other
 * object.
 */

#include <linux/align.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/overflow.h>

#include <drm/drm_mode.h>
#include <drm/tessera_drm.h>

#include "base/assert.h"
#include "base/device.h"
#include "gem/gem.h"
#include "segments/segments.h"

/* Suits every format and the cache lines. */
#define DUMB_PITCH_ALIGN	64

static u32 dumb_segments(struct tessera_device *tdev, u32 mask, u32 value)
{
	return tessera_segment_set(tdev->segments->desc, tdev->segments->num, mask, value);
}

/*
 * An object in a segment without CPU view must be able to move to an aperture
 * for CPU access. Without an aperture only CPU-visible segments remain.
 *
 * UMA segments are left out, because the display does not show them.
 */
static u32 dumb_supported(struct tessera_device *tdev)
{
	u32 all = dumb_segments(tdev, TSR_SEGF_GPU_READ_ONLY | TSR_SEGF_UMA, 0);

	if (all & dumb_segments(tdev, TSR_SEGF_APERTURE, TSR_SEGF_APERTURE))
		return all;

	return all & dumb_segments(tdev, TSR_SEGF_CPU_VISIBLE, TSR_SEGF_CPU_VISIBLE);
}

/* Prefer the first CPU-visible memory segment, if there is one. */
static void dumb_prefer(struct tessera_device *tdev, struct drm_tessera_bo_create *bo)
{
	u32 visible = dumb_segments(tdev, TSR_SEGF_APERTURE | TSR_SEGF_CPU_VISIBLE,
				    TSR_SEGF_CPU_VISIBLE);

	if (!visible)
		return;
	bo->preferred[0] = __ffs(visible);
	bo->num_preferred = 1;
}

/* -EINVAL: the size does not fit into 32 bits. */
static int dumb_size(struct drm_mode_create_dumb *args)
{
	u32 row, size;

	if (check_mul_overflow(args->width, args->bpp, &row))
		return -EINVAL;
	row = DIV_ROUND_UP(row, BITS_PER_BYTE);
	if (row > U32_MAX - DUMB_PITCH_ALIGN)
		return -EINVAL;
	args->pitch = ALIGN(row, DUMB_PITCH_ALIGN);
	if (check_mul_overflow(args->pitch, args->height, &size) || size > U32_MAX - PAGE_SIZE)
		return -EINVAL;
	args->size = PAGE_ALIGN(size);

	return args->size ? 0 : -EINVAL;
}

/**
 * tessera_dumb_create() - create a dumb buffer
 * @tdev: the device
 * @file: the file that gets the handle
 * @queue: paging queue of the client that is charged
 * @args: the requested buffer; receives pitch, size and handle
 *
 * Return: 0; -EINVAL for a size beyond 32 bits; or an error of
 * tessera_gem_create().
 */
int tessera_dumb_create(struct tessera_device *tdev, struct drm_file *file,
			struct tessera_paging_queue *queue, struct drm_mode_create_dumb *args)
{
	struct drm_tessera_bo_create bo = {
		.flags = DRM_TESSERA_BO_CPU_ACCESS,
		.supported = dumb_supported(tdev),
	};
	int ret;

	if (tessera_ioctl_bad(tdev, dumb_size(args)))
		return -EINVAL;
	bo.size = args->size;
	dumb_prefer(tdev, &bo);
	ret = tessera_gem_create(tdev, file, queue, &bo, NULL);
	args->handle = bo.handle;

	return ret;
}
