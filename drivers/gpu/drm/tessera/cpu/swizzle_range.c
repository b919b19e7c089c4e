// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: swizzling ranges
 *
 * Behind BAR 2 the segment is shown a second time, through ranges, each of which makes a
 * swizzled surface appear linear there (WDDM: swizzling ranges, apertures). An object is seen at its
 * offset in the segment, whatever range it has (SWZ-7, SWZ-8): what changes hands is who shows
 * anything at all, not where.
 *
 * A range shows so many rows that most objects need one; of larger ones each *part* has
 * its own, which comes and goes by itself (SWZ-29). A range stays with its object until the
 * object moves or dies, or another comes and none is free (pure/range_lru.c).
 *
 * An object gets and loses ranges with its reservation held. Whose range is to go to another has
 * its reservation tried, so that nobody is in the middle of a fault on it; who is busy keeps
 * what it has. CPU mappings are taken away before a range ends.
 *
 * The mutex, a leaf but for the locks of CPU mappings, protects table and registers, so that
 * one range is set up or ended at a time (SWZ-31). Engines have no part in it.
 */

#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pci.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/tessera_drm.h>

#include "cpu/cpu.h"
#include "hw/hw.h"
#include "mem/mem.h"
#include "pure/range_lru.h"
#include "segments/segments.h"
#include "tessera_device.h"
#include "tessera_trace.h"

static_assert(DRM_TESSERA_LAYOUT_TILE4K == TSR_LAYOUT_TILE4K);
static_assert(DRM_TESSERA_LAYOUT_MORTON == TSR_LAYOUT_MORTON);
/* Parts begin with a row of tiles, and with a page. */
static_assert(TSR_SURF_MAX_DIM % TSR_TILE_ROWS == 0);
static_assert(TSR_SURF_MAX_DIM * TSR_TILE_WIDTH_BYTES % PAGE_SIZE == 0);

/* Who has a range. */
struct swizzle_range {
	struct tessera_bo *bo;
	/* TSR_SURF_MAX_DIM rows each. */
	u32 part;
};

struct tessera_swizzle_ranges {
	/* Protects what follows, and the registers. */
	struct mutex lock;
	/* Counts uses. */
	u64 clock;
	struct swizzle_range range[TSR_MAX_SWIZZLE_RANGES];
	struct tessera_range_use use[TSR_MAX_SWIZZLE_RANGES];
	/* Constant: how many there are; CPU bus address of the window that shows segments through them. */
	u32 num;
	u64 bus;
};

/* The window shows each segment that has ranges where BAR 2 shows it from its beginning. */
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
 * tessera_swizzle_range_init() - set ranges up, if there are any
 * @tdev: the device, just reset: no range is on
 *
 * Return: 0, -EINVAL if registers, segments and BAR do not go together, or -ENOMEM.
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
 * tessera_swizzle_range_serves() - ask whether the CPU could see an object through ranges
 * @bo: the object
 * @seg: where it is, or NULL
 *
 * Return: true if it could, with ranges enough.
 */
bool tessera_swizzle_range_serves(struct tessera_bo *bo, const struct tessera_segment *seg)
{
	return tessera_bo_device(bo)->swizzle_ranges && seg &&
	       (seg->flags & TSR_SEGF_SWIZZLE_RANGES) &&
	       bo->layout != DRM_TESSERA_LAYOUT_LINEAR;
}

/* ---- Parts --------------------------------------------------------------------- */

static u64 part_bytes(const struct tessera_bo *bo)
{
	return (u64)bo->pitch * TSR_SURF_MAX_DIM;
}

static u32 part_of(const struct tessera_bo *bo, u64 page)
{
	return div64_u64(page << PAGE_SHIFT, part_bytes(bo));
}

/* Bytes of an object before a part, and in it. */
static u64 part_begin(const struct tessera_bo *bo, u32 part)
{
	return part_bytes(bo) * part;
}

static u64 part_size(const struct tessera_bo *bo, u32 part)
{
	return min(part_bytes(bo), tessera_bo_bytes(bo) - part_begin(bo, part));
}

/* ---- Registers ------------------------------------------------------------------- */

/* TSR_SWR_*: what the device says. */
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

/* ---- Getting and losing a range ------------------------------------------------------ */

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

/* False if somebody is busy with the object that has it; @bo is the one that wants it. */
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

/* Locked, and its linear bytes are meant. */
static bool keeps(const struct tessera_bo *bo)
{
	return READ_ONCE(bo->locks.held) && !READ_ONCE(bo->locks.raw);
}

/* End the range that can be done without best, but none of these parts of the object itself. */
static int make_room_locked(struct tessera_bo *bo, u32 first, u32 last)
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
		.payer = bo->account->id,
		.taken = true,
	};
	bo->window.num_ranges++;
	trace_tessera_swizzle_acquire(bo->id, index,
				      tessera_bo_segment_offset(bo) + part_begin(bo, part),
				      bo->layout, bo->pitch,
				      div_u64(part_size(bo, part), bo->pitch));
}

/*
 * A part, among others that are wanted along with it. Ranges may have more in common than their
 * number: one that is free is of no use then until another has ended (SWZ-28).
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
	} while (!make_room_locked(bo, first, last));

	return -ENOSPC;
}

/**
 * tessera_swizzle_range_acquire() - have part of an object appear linear
 * @bo: the object, reservation held, in a segment that ranges serve; inside drm_dev_enter()
 * @first: first page of it
 * @count: number of pages, not 0
 *
 * Return: 0, also if it does already; or -ENOSPC if there are not enough ranges that others
 * can do without.
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
 * tessera_swizzle_range_release() - the place of an object shows no more
 * @bo: the object, reservation held and CPU mappings gone, or nobody has it any more
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
 * tessera_swizzle_range_left() - how far what shows a page goes on
 * @bo: the object, seen through ranges
 * @page: which of its pages
 *
 * Return: pages of the same part, this one counted.
 */
u64 tessera_swizzle_range_left(struct tessera_bo *bo, u64 page)
{
	u32 part = part_of(bo, page);

	return ((part_begin(bo, part) + part_size(bo, part)) >> PAGE_SHIFT) - page;
}

/**
 * tessera_swizzle_range_pfn() - where the CPU finds a page of an object
 * @bo: the object, reservation held, in a segment that ranges serve
 * @page: which of its pages
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
 * tessera_swizzle_range_print() - say who has the ranges
 * @tdev: the device
 * @p: where to
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
