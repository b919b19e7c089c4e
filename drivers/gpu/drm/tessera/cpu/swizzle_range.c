// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: swizzling ranges
 *
 * A second view of the segment, behind BAR 2's linear one, goes through ranges.
 * Each range makes a swizzled surface appear linear there (WDDM: swizzling
 * ranges, apertures). The object appears at its offset in the segment,
 * whichever range it has (SWZ-7, SWZ-8). A range decides whether an object is
 * visible there, not where.
 *
 * A range shows up to TSR_SURF_MAX_DIM rows, so most objects need only one.
 * Each *part* of a larger object has a range of its own, which is acquired and
 * released separately (SWZ-29). An object keeps its ranges until it moves or is
 * destroyed, or until another object needs one and none is free
 * (pure/range_lru.c).
 *
 * An object gets and loses ranges with its reservation held. A caller that
 * takes a range from another object tries that object's reservation, so that no
 * fault is in progress on it. If the reservation is contended the object keeps
 * the range. CPU mappings are removed before a range ends.
 *
 * The mutex protects table and registers, so that one range is set up or ended
 * at a time (SWZ-31). It is a leaf, except that the locks of CPU mappings nest
 * inside it. Engines are not involved.
 */

#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pci.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/tessera_drm.h>

#include "base/device.h"
#include "base/trace.h"
#include "cpu/cpu.h"
#include "hw/hw.h"
#include "mem/mem.h"
#include "pure/range_lru.h"
#include "segments/segments.h"

static_assert(DRM_TESSERA_LAYOUT_TILE4K == TSR_LAYOUT_TILE4K);
static_assert(DRM_TESSERA_LAYOUT_MORTON == TSR_LAYOUT_MORTON);
/* A part begins at a row of tiles and at a page. */
static_assert(TSR_SURF_MAX_DIM % TSR_TILE_ROWS == 0);
static_assert(TSR_SURF_MAX_DIM * TSR_TILE_WIDTH_BYTES % PAGE_SIZE == 0);

/* The owner of a range. */
struct swizzle_range {
	struct tessera_bo *bo;
	/* Number of the part, of TSR_SURF_MAX_DIM rows each. */
	u32 part;
};

struct tessera_swizzle_ranges {
	/* Protects the members below, and the registers. */
	struct mutex lock;
	/* Counts the uses of ranges, for the LRU order. */
	u64 clock;
	struct swizzle_range range[TSR_MAX_SWIZZLE_RANGES];
	struct tessera_range_use use[TSR_MAX_SWIZZLE_RANGES];
	/*
	 * Constant: number of ranges, and CPU bus address of the window that
	 * shows segments through them.
	 */
	u32 num;
	u64 bus;
};

/*
 * End of all segments that have ranges. The window shows each of them at the
 * same offset at which BAR 2 shows it from its beginning.
 */
static u64 window_end(struct tessera_device *tdev)
{
	u64 end = 0;
	u32 i;

	for (i = 0; i < tessera_segment_count(tdev); i++) {
		const struct tessera_segment *seg = tessera_segment_by_index(tdev, i);

		if (seg->flags & TSR_SEGF_SWIZZLE_RANGES)
			end = max(end, seg->cpu_offset + seg->size);
	}

	return end;
}

/**
 * tessera_swizzle_range_init() - set up swizzling ranges, if there are any
 * @tdev: the device, just reset: no range is enabled
 *
 * Return: 0, -EINVAL if registers, segments and BAR do not match, or -ENOMEM.
 */
int tessera_swizzle_range_init(struct tessera_device *tdev)
{
	struct pci_dev *pdev = to_pci_dev(tdev->drm.dev);
	u64 bar = pci_resource_len(pdev, TSR_BAR_VRAM);
	struct tessera_swizzle_ranges *ranges;
	u64 window, end = window_end(tdev);
	int ret;

	if (!(tdev->info.caps & TSR_CAP_SWIZZLE_RANGES) || !tdev->info.num_swizzle_ranges)
		return 0;
	window = tessera_read64(tdev, TSR_SWR_WINDOW_LO);
	if (tdev->info.num_swizzle_ranges > TSR_MAX_SWIZZLE_RANGES || !end ||
	    !PAGE_ALIGNED(window) || window > bar || end > bar - window) {
		drm_err(&tdev->drm, "%u swizzling ranges at 0x%llx are not usable\n",
			tdev->info.num_swizzle_ranges, window);
		return -EINVAL;
	}

	ranges = drmm_kzalloc(&tdev->drm, sizeof(*ranges), GFP_KERNEL);
	if (!ranges)
		return -ENOMEM;
	ret = drmm_mutex_init(&tdev->drm, &ranges->lock);
	if (ret)
		return ret;
	ranges->num = tdev->info.num_swizzle_ranges;
	ranges->bus = pci_resource_start(pdev, TSR_BAR_VRAM) + window;
	tdev->swizzle_ranges = ranges;

	return 0;
}

/**
 * tessera_swizzle_range_serves() - ask whether ranges can show an object
 * @bo: the object, reservation held
 * @seg: the segment that it is in, or NULL
 *
 * An object that a VM maps takes no range (SWZ-33).
 *
 * Return: true if they can, given enough free ranges.
 */
bool tessera_swizzle_range_serves(struct tessera_bo *bo, const struct tessera_segment *seg)
{
	return tessera_bo_device(bo)->swizzle_ranges && seg &&
	       (seg->flags & TSR_SEGF_SWIZZLE_RANGES) &&
	       bo->layout != DRM_TESSERA_LAYOUT_LINEAR && !tessera_bo_is_in_vm(bo);
}

/* ---- Parts --------------------------------------------------------------- */

static u64 part_bytes(const struct tessera_bo *bo)
{
	return (u64)bo->pitch * TSR_SURF_MAX_DIM;
}

static u32 part_of(const struct tessera_bo *bo, u64 page)
{
	return div64_u64(page << PAGE_SHIFT, part_bytes(bo));
}

/* Bytes of an object before a part. */
static u64 part_begin(const struct tessera_bo *bo, u32 part)
{
	return part_bytes(bo) * part;
}

static u64 part_size(const struct tessera_bo *bo, u32 part)
{
	return min(part_bytes(bo), tessera_bo_bytes(bo) - part_begin(bo, part));
}

/* ---- Registers ----------------------------------------------------------- */

/* Enable a range; returns the device's answer, TSR_SWR_*. */
static u32 range_enable(struct tessera_bo *bo, u32 index, u32 part)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	u32 reg = TSR_SWR(index);

	tessera_write64(tdev, reg + TSR_SWR_BASE_LO,
			tessera_bo_gpu_addr(bo) + part_begin(bo, part));
	tessera_write32(tdev, reg + TSR_SWR_LAYOUT, bo->layout);
	tessera_write32(tdev, reg + TSR_SWR_PITCH, bo->pitch);
	tessera_write32(tdev, reg + TSR_SWR_HEIGHT, div_u64(part_size(bo, part), bo->pitch));
	tessera_write32(tdev, reg + TSR_SWR_CONTROL, TSR_SWR_ENABLE);

	if (tessera_read32(tdev, reg + TSR_SWR_CONTROL) & TSR_SWR_ENABLE)
		return TSR_SWR_READY;

	return tessera_read32(tdev, reg + TSR_SWR_STATUS);
}

static void range_disable(struct tessera_device *tdev, u32 index)
{
	int idx;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return;
	tessera_write32(tdev, TSR_SWR(index) + TSR_SWR_CONTROL, 0);
	drm_dev_exit(idx);
}

/* ---- Getting and losing a range ------------------------------------------ */

static void release_locked(struct tessera_device *tdev, u32 index)
{
	struct tessera_swizzle_ranges *ranges = tdev->swizzle_ranges;
	struct swizzle_range *range = &ranges->range[index];

	lockdep_assert_held(&ranges->lock);

	range_disable(tdev, index);
	trace_tessera_swizzle_release(range->bo->id, index);
	range->bo->window.num_ranges--;
	range->bo = NULL;
	ranges->use[index].taken = false;
}

/*
 * Take a range from its object for @bo. False if the reservation of the range's
 * object is contended.
 */
static bool take_away_locked(struct tessera_bo *bo, u32 index)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	struct swizzle_range *range = &tdev->swizzle_ranges->range[index];
	struct tessera_bo *victim = range->bo;

	if (victim != bo && !dma_resv_trylock(victim->tbo.base.resv))
		return false;
	tessera_bo_unmap_pages(victim, part_begin(victim, range->part) >> PAGE_SHIFT,
			       PFN_UP(part_size(victim, range->part)));
	release_locked(tdev, index);
	victim->window.losses++;
	if (victim != bo)
		dma_resv_unlock(victim->tbo.base.resv);

	return true;
}

/* True if the object is locked for its linear bytes. */
static bool keeps(const struct tessera_bo *bo)
{
	return READ_ONCE(bo->locks.held) && !READ_ONCE(bo->locks.raw);
}

/*
 * End the least useful range. Ranges that show parts @first to @last of @bo
 * itself stay.
 */
static int evict_range_locked(struct tessera_bo *bo, u32 first, u32 last)
{
	struct tessera_swizzle_ranges *ranges = tessera_bo_device(bo)->swizzle_ranges;
	u32 i;

	lockdep_assert_held(&ranges->lock);

	if (bo->window.losses >= TESSERA_WINDOW_MAX_LOSSES)
		return -ENOSPC;
	for (i = 0; i < ranges->num; i++) {
		const struct swizzle_range *range = &ranges->range[i];

		ranges->use[i].locked = range->bo && keeps(range->bo);
		ranges->use[i].busy = range->bo == bo && range->part >= first &&
				      range->part <= last;
	}
	for (;;) {
		i = tessera_range_victim(ranges->use, ranges->num, bo->account->id);
		if (i == U32_MAX)
			return -ENOSPC;
		if (take_away_locked(bo, i))
			return 0;
		ranges->use[i].busy = true;
	}
}

static u32 find_locked(struct tessera_swizzle_ranges *ranges, struct tessera_bo *bo, u32 part)
{
	u32 i;

	lockdep_assert_held(&ranges->lock);

	for (i = 0; i < ranges->num; i++)
		if (ranges->range[i].bo == bo && ranges->range[i].part == part)
			return i;

	return U32_MAX;
}

static void give_locked(struct tessera_bo *bo, u32 index, u32 part)
{
	struct tessera_swizzle_ranges *ranges = tessera_bo_device(bo)->swizzle_ranges;

	lockdep_assert_held(&ranges->lock);

	ranges->range[index] = (struct swizzle_range) { .bo = bo, .part = part };
	ranges->use[index] = (struct tessera_range_use) {
		.last_use = ++ranges->clock,
		.process = bo->account->id,
		.taken = true,
	};
	bo->window.num_ranges++;
	trace_tessera_swizzle_acquire(bo->id, index,
				      tessera_bo_segment_offset(bo) + part_begin(bo, part),
				      bo->layout, bo->pitch,
				      div_u64(part_size(bo, part), bo->pitch));
}

/*
 * Acquire a range for a part. Parts @first to @last are wanted together. Ranges
 * may share a device resource other than their number. A free range may then be
 * unavailable until another one has ended (SWZ-28).
 */
static int acquire_locked(struct tessera_bo *bo, u32 part, u32 first, u32 last)
{
	struct tessera_swizzle_ranges *ranges = tessera_bo_device(bo)->swizzle_ranges;
	u32 status, index = find_locked(ranges, bo, part);

	if (index != U32_MAX) {
		ranges->use[index].last_use = ++ranges->clock;
		return 0;
	}
	do {
		index = tessera_range_free(ranges->use, ranges->num);
		if (index == U32_MAX)
			continue;
		status = range_enable(bo, index, part);
		if (status == TSR_SWR_READY) {
			give_locked(bo, index, part);
			return 0;
		}
		trace_tessera_swizzle_refuse(bo->id, index, status);
		if (status != TSR_SWR_UNAVAILABLE)
			return -ENOSPC;
	} while (!evict_range_locked(bo, first, last));

	return -ENOSPC;
}

/**
 * tessera_swizzle_range_acquire() - make part of an object appear linear
 * @bo: the object, reservation held, in a segment that ranges serve; inside
 *	drm_dev_enter()
 * @first: first page of the part
 * @count: number of pages, not 0
 *
 * Return: 0, also if it appears linear already; or -ENOSPC if too few ranges
 * are free or can be taken from other objects.
 */
int tessera_swizzle_range_acquire(struct tessera_bo *bo, u64 first, u64 count)
{
	struct tessera_swizzle_ranges *ranges = tessera_bo_device(bo)->swizzle_ranges;
	u32 part, from = part_of(bo, first), to = part_of(bo, first + count - 1);
	int ret = 0;

	dma_resv_assert_held(bo->tbo.base.resv);

	if (to - from >= ranges->num)
		return -ENOSPC;
	mutex_lock(&ranges->lock);
	for (part = from; part <= to && !ret; part++)
		ret = acquire_locked(bo, part, from, to);
	mutex_unlock(&ranges->lock);

	return ret;
}

/**
 * tessera_swizzle_range_release() - end all ranges of an object
 * @bo: the object; either its reservation is held and its CPU mappings are
 *	removed, or its last reference is gone
 */
void tessera_swizzle_range_release(struct tessera_bo *bo)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	struct tessera_swizzle_ranges *ranges = tdev->swizzle_ranges;
	u32 i;

	if (!ranges)
		return;
	mutex_lock(&ranges->lock);
	for (i = 0; i < ranges->num && bo->window.num_ranges; i++)
		if (ranges->range[i].bo == bo)
			release_locked(tdev, i);
	mutex_unlock(&ranges->lock);
}

/**
 * tessera_swizzle_range_remaining_pages() - count the pages from a page to the
 * end of its part
 * @bo: the object, seen through ranges
 * @page: number of the page in the object
 *
 * Return: number of pages, including @page.
 */
u64 tessera_swizzle_range_remaining_pages(struct tessera_bo *bo, u64 page)
{
	u32 part = part_of(bo, page);

	return ((part_begin(bo, part) + part_size(bo, part)) >> PAGE_SHIFT) - page;
}

/**
 * tessera_swizzle_range_pfn() - CPU address of a page of an object
 * @bo: the object, reservation held, in a segment that ranges serve
 * @page: number of the page in the object
 *
 * Return: page frame number.
 */
unsigned long tessera_swizzle_range_pfn(struct tessera_bo *bo, unsigned long page)
{
	u64 offset = tessera_bo_segment(bo)->cpu_offset + tessera_bo_segment_offset(bo);

	return ((tessera_bo_device(bo)->swizzle_ranges->bus + offset) >> PAGE_SHIFT) + page;
}

static void print_locked(struct tessera_swizzle_ranges *ranges, u32 index, struct drm_printer *p)
{
	const struct swizzle_range *range = &ranges->range[index];
	const struct tessera_bo *bo = range->bo;

	lockdep_assert_held(&ranges->lock);

	drm_printf(p, "range %u bo %u offset 0x%llx rows %llu layout %u pitch %u use %llu%s\n",
		   index, bo->id, part_begin(bo, range->part),
		   div_u64(part_size(bo, range->part), bo->pitch), bo->layout, bo->pitch,
		   ranges->use[index].last_use, keeps(bo) ? " locked" : "");
}

/**
 * tessera_swizzle_range_print() - print the owners of the ranges
 * @tdev: the device
 * @p: output
 */
void tessera_swizzle_range_print(struct tessera_device *tdev, struct drm_printer *p)
{
	struct tessera_swizzle_ranges *ranges = tdev->swizzle_ranges;
	u32 i;

	if (!ranges) {
		drm_printf(p, "ranges 0\n");
		return;
	}
	mutex_lock(&ranges->lock);
	drm_printf(p, "ranges %u bus 0x%llx uses %llu\n", ranges->num, ranges->bus,
		   ranges->clock);
	for (i = 0; i < ranges->num; i++)
		if (ranges->range[i].bo)
			print_locked(ranges, i, p);
	mutex_unlock(&ranges->lock);
}
