// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: windows
 *
 * A window shows an object to the CPU in its current placement: through its
 * system pages, BAR 2 (SWZ-4), BAR 2 behind swizzling ranges (SWZ-6), or pages
 * of the host aperture. The state belongs to the object, changes with its
 * reservation held, and ends with its placement. The code that moves objects
 * (mem/) does not know windows. It closes the window before a move through a
 * callback.
 */

#include <drm/tessera_drm.h>
#include <drm/ttm/ttm_bo.h>

#include "base/device.h"
#include "base/trace.h"
#include "cpu/cpu.h"
#include "mem/mem.h"
#include "segments/segments.h"

/**
 * tessera_cpu_window_open() - give the CPU a view of part of an object in its
 * placement
 * @bo: the object, reservation held; inside drm_dev_enter()
 * @first: first page of the part
 * @count: its pages, not 0
 * @raw: show the bytes as they lie in memory; else in linear order
 *
 * Does not map pages of the host aperture, see tessera_cpu_window_show().
 *
 * Return: 0 as long as the reservation is held and the object is not moved; or
 * -ENOSPC if the CPU cannot see it in its placement.
 */
int tessera_cpu_window_open(struct tessera_bo *bo, u64 first, u64 count, bool raw)
{
	const struct tessera_segment *seg = tessera_bo_segment(bo);

	if (!tessera_segment_is_vram(seg))
		return 0;
	if (tessera_host_aperture_serves(bo, seg))
		return 0;
	if (!raw && tessera_swizzle_range_serves(bo, seg))
		return tessera_swizzle_range_acquire(bo, first, count);

	return tessera_segment_cpu_visible(seg) &&
	       (raw || bo->layout == DRM_TESSERA_LAYOUT_LINEAR) ? 0 : -ENOSPC;
}

/**
 * tessera_cpu_window_show() - map a page of an object in the host aperture, if
 * it is seen through that
 * @bo: the object, reservation held, after tessera_cpu_window_open(); inside
 *	drm_dev_enter()
 * @page: number of the page in the object
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
 * tessera_cpu_window_close() - end the view of an object's placement
 * @bo: the object; either its reservation is held and its CPU mappings are
 *	removed, or its last reference is gone
 */
void tessera_cpu_window_close(struct tessera_bo *bo)
{
	tessera_host_aperture_unmap(bo);
	tessera_swizzle_range_release(bo);
	bo->window.losses = 0;
}

/**
 * tessera_cpu_window_close_all() - close all windows before the device loses
 * them
 * @tdev: the device
 *
 * The next access opens a window again.
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
 * tessera_cpu_window_pfn() - CPU address of a page of an object
 * @bo: the object, reservation held, in a memory segment, after
 *	tessera_cpu_window_open()
 * @page: number of the page in the object
 *
 * In BAR 2 the address is the start of the window plus segment plus offset and
 * nothing else (SWZ-3). The same holds for the segment's view through ranges.
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

	offset = tessera_placement_at(tessera_bo_placement(bo), (u64)page << PAGE_SHIFT, NULL);

	return (tdev->segments->bar_base + seg->cpu_offset + offset) >> PAGE_SHIFT;
}

/**
 * tessera_cpu_window_remaining_pages() - count the pages from a page to the end
 * of its window
 * @bo: the object, reservation held, after tessera_cpu_window_open()
 * @page: one of its pages that is open
 *
 * Return: number of pages, including @page. Pages beyond them may need a window
 * of their own.
 */
u64 tessera_cpu_window_remaining_pages(struct tessera_bo *bo, u64 page)
{
	if (bo->window.slots)
		return tessera_host_aperture_remaining_pages(bo, page);
	if (shown_by_ranges(bo))
		return tessera_swizzle_range_remaining_pages(bo, page);

	return (tessera_bo_bytes(bo) >> PAGE_SHIFT) - page;
}

/**
 * tessera_cpu_window_backing() - kind of window through which the CPU sees an
 * object
 * @bo: the object, reservation held, after tessera_cpu_window_open()
 *
 * Return: TESSERA_BACKING_*.
 */
u32 tessera_cpu_window_backing(struct tessera_bo *bo)
{
	if (!tessera_segment_is_vram(tessera_bo_segment(bo)))
		return TESSERA_BACKING_SYSTEM;
	if (bo->window.slots)
		return TESSERA_BACKING_HOST_APERTURE;

	return shown_by_ranges(bo) ? TESSERA_BACKING_SWIZZLE_RANGE : TESSERA_BACKING_BAR;
}

/**
 * tessera_cpu_window_init() - set up windows
 * @tdev: the device, just reset; segments are known
 *
 * Return: 0 or an error.
 */
int tessera_cpu_window_init(struct tessera_device *tdev)
{
	int ret = tessera_host_aperture_init(tdev);

	return ret ? ret : tessera_swizzle_range_init(tdev);
}
