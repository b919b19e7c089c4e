// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: windows
 *
 * Through what the CPU sees an object where it is: its system pages, BAR 2 (SWZ-4), BAR 2 behind
 * swizzling ranges (SWZ-6), or pages of the host aperture. The state is the object's, changes with
 * its reservation held, and ends with its place: whatever moves an object closes its window
 * first, through a callback, as what moves objects (mem/) knows nothing of windows.
 */

#include <drm/tessera_drm.h>
#include <drm/ttm/ttm_bo.h>

#include "cpu/cpu.h"
#include "mem/mem.h"
#include "segments/segments.h"
#include "tessera_device.h"
#include "tessera_trace.h"

/**
 * tessera_cpu_window_open() - have part of an object where the CPU sees its bytes
 * @bo: the object, reservation held; inside drm_dev_enter()
 * @first: first page of the part
 * @count: its pages, not 0
 * @raw: as they lie in memory; else in linear order
 *
 * Of the host aperture nothing is had yet, see tessera_cpu_window_show().
 *
 * Return: 0 as long as the reservation is held and the object is not moved; -ENOSPC if it
 * cannot be seen where it is; or -ENOMEM.
 */
int tessera_cpu_window_open(struct tessera_bo *bo, u64 first, u64 count, bool raw)
{
	const struct tessera_segment *seg = tessera_bo_segment(bo);

	if (!tessera_segment_is_memory(seg))
		return 0;
	if (tessera_host_aperture_serves(bo, seg))
		return 0;
	if (!raw && tessera_swizzle_range_serves(bo, seg))
		return tessera_swizzle_range_acquire(bo, first, count);

	return tessera_segment_cpu_visible(seg) &&
	       (raw || bo->layout == DRM_TESSERA_LAYOUT_LINEAR) ? 0 : -ENOSPC;
}

/**
 * tessera_cpu_window_show() - have a page of an object in the host aperture, if that shows it
 * @bo: the object, reservation held, after tessera_cpu_window_open(); inside drm_dev_enter()
 * @page: which of its pages
 *
 * Return: 0 or an error of tessera_host_aperture_map().
 */
int tessera_cpu_window_show(struct tessera_bo *bo, u64 page)
{
	const struct tessera_segment *seg = tessera_bo_segment(bo);

	return tessera_host_aperture_serves(bo, seg) ?
	       tessera_host_aperture_map(bo, seg, page) : 0;
}

/**
 * tessera_cpu_window_close() - the place of an object is about to be another's
 * @bo: the object, reservation held and CPU mappings gone, or nobody has it any more
 */
void tessera_cpu_window_close(struct tessera_bo *bo)
{
	tessera_host_aperture_unmap(bo);
	tessera_swizzle_range_release(bo);
	bo->window.losses = 0;
}

/**
 * tessera_cpu_window_close_all() - the device is about to forget its windows
 * @tdev: the device
 *
 * They are opened again by the next access.
 */
void tessera_cpu_window_close_all(struct tessera_device *tdev)
{
	struct tessera_bo *bo;
	u32 id = 0;

	while ((bo = tessera_bo_next(tdev, id))) {
		id = bo->id;
		dma_resv_lock(bo->tbo.base.resv, NULL);
		if (bo->window.slots || bo->window.num_ranges) {
			ttm_bo_unmap_virtual(&bo->tbo);
			tessera_cpu_window_close(bo);
		}
		dma_resv_unlock(bo->tbo.base.resv);
		tessera_bo_put(bo);
	}
}

static bool shown_by_ranges(struct tessera_bo *bo)
{
	return !bo->locks.raw && tessera_swizzle_range_serves(bo, tessera_bo_segment(bo));
}

/**
 * tessera_cpu_window_pfn() - where the CPU finds a page of an object
 * @bo: the object, reservation held, in a memory segment, after tessera_cpu_window_open()
 * @page: which of its pages
 *
 * In BAR 2 that is the start of the window, plus segment, plus offset, nothing else (SWZ-3), and
 * likewise in the picture of the segment that ranges show.
 *
 * Return: page frame number.
 */
unsigned long tessera_cpu_window_pfn(struct tessera_bo *bo, unsigned long page)
{
	const struct tessera_segment *seg = tessera_bo_segment(bo);
	struct tessera_device *tdev = tessera_bo_device(bo);
	u64 offset;

	if (bo->window.slots)
		return tessera_host_aperture_pfn(bo, page);
	if (shown_by_ranges(bo))
		return tessera_swizzle_range_pfn(bo, page);

	offset = tessera_range_at(tessera_bo_range(bo), (u64)page << PAGE_SHIFT, NULL);

	return (tdev->segments->bar_base + seg->cpu_offset + offset) >> PAGE_SHIFT;
}

/**
 * tessera_cpu_window_left() - how many pages are open, if one is
 * @bo: the object, reservation held, after tessera_cpu_window_open()
 * @page: one of its pages that is open
 *
 * Return: number of pages, @page the first; the rest may want a window of their own.
 */
u64 tessera_cpu_window_left(struct tessera_bo *bo, u64 page)
{
	if (bo->window.slots)
		return tessera_host_aperture_left(bo, page);
	if (shown_by_ranges(bo))
		return tessera_swizzle_range_left(bo, page);

	return (tessera_bo_bytes(bo) >> PAGE_SHIFT) - page;
}

/**
 * tessera_cpu_window_backing() - through what the CPU sees an object now
 * @bo: the object, reservation held, after tessera_cpu_window_open()
 *
 * Return: TESSERA_BACKING_*.
 */
u32 tessera_cpu_window_backing(struct tessera_bo *bo)
{
	if (!tessera_segment_is_memory(tessera_bo_segment(bo)))
		return TESSERA_BACKING_SYSTEM;
	if (bo->window.slots)
		return TESSERA_BACKING_HOST_APERTURE;

	return shown_by_ranges(bo) ? TESSERA_BACKING_SWIZZLE_RANGE : TESSERA_BACKING_BAR;
}

/**
 * tessera_cpu_window_init() - set windows up
 * @tdev: the device, just reset; segments are known
 *
 * Return: 0 or an error.
 */
int tessera_cpu_window_init(struct tessera_device *tdev)
{
	int ret = tessera_host_aperture_init(tdev);

	return ret ? ret : tessera_swizzle_range_init(tdev);
}
