// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: TTM glue
 *
 * The ttm_device_funcs and the set-up of the resource managers. TTM does not
 * choose victims in segments (see mem/victims.c). It swaps out pages of objects
 * that are in no segment, and keeps track of resources and pages.
 */

#include <linux/dma-buf.h>
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/swiotlb.h>

#include <drm/drm_cache.h>
#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>

#include "base/compat.h"
#include "base/device.h"
#include "base/trace.h"
#include "base/wait.h"
#include "exec/exec.h"
#include "hw/hw.h"
#include "mem/mem.h"
#include "paging/paging.h"
#include "segments/segments.h"

static struct tessera_device *bdev_to_tessera(struct ttm_device *bdev)
{
	return container_of(bdev, struct tessera_device, ttm);
}

static void tessera_ttm_evict_flags(struct ttm_buffer_object *tbo,
				    struct ttm_placement *placement)
{
	static const struct ttm_place system = { .mem_type = TTM_PL_SYSTEM };

	if (tessera_bo_is_tessera(tbo)) {
		tessera_bo_evict_places(to_tessera_bo(tbo), placement);
		return;
	}
	placement->num_placement = 1;
	placement->placement = &system;
}

/**
 * tessera_ttm_revoke_imports() - tell importers to give up the pages of an
 * object
 * @bo: the object, reservation held
 *
 * The importers have stopped using the pages when the fences that they add to
 * the reservation signal.
 */
void tessera_ttm_revoke_imports(struct tessera_bo *bo)
{
	struct dma_buf_attachment *attach;
	struct dma_buf *told = NULL;
	struct tessera_lending *lending;

	if (!bo->sharing.lent)
		return;
	list_for_each_entry(lending, &bo->sharing.lendings, node) {
		attach = lending->attach;
		if (attach->dmabuf != told)
			dma_buf_invalidate_mappings(attach->dmabuf);
		told = attach->dmabuf;
	}
	bo->sharing.lent = false;
}

/* TTM calls this before it swaps out an object. It evicts nothing else. */
static bool tessera_ttm_eviction_valuable(struct ttm_buffer_object *tbo,
					  const struct ttm_place *place)
{
	struct tessera_bo *bo = to_tessera_bo(tbo);

	/*
	 * TTM would wait for the fences, for 15 seconds each time, with a lock
	 * that is for all devices. The jobs may be another client's, and foreign
	 * fences may take any time. TTM asks again later.
	 */
	if (!dma_resv_test_signaled(tbo->base.resv, DMA_RESV_USAGE_BOOKKEEP))
		return false;
	if (!tessera_bo_is_tessera(tbo))
		return ttm_bo_eviction_valuable(tbo, place);
	/*
	 * What is in a segment gives way by the rules of mem/victims.c alone.
	 * TTM knows neither residency lists nor holds, and each page-in above
	 * its limit would take the objects that the same job needs.
	 */
	if (tessera_bo_segment(bo))
		return false;
	/*
	 * There is nothing to swap out if the contents were dropped, or the
	 * pages were lost with the device. The shrinker frees the pages of page
	 * tables, without a copy.
	 */
	if (bo->pins || bo->tables || bo->offer.lost || !tessera_backing_users(bo))
		return false;
	if (bo->sharing.lent) {
		if (!drm_dev_is_unplugged(tbo->base.dev))
			tessera_ttm_revoke_imports(bo);
		return false;
	}

	return ttm_bo_eviction_valuable(tbo, place);
}

/**
 * tessera_ttm_leave_aperture() - move an object out of its aperture or UMA
 * segment for good
 * @bo: the object, reservation held
 *
 * Does not wait. Does nothing unless the object is in such a segment.
 *
 * Return: 0 or an error.
 */
int tessera_ttm_leave_aperture(struct tessera_bo *bo)
{
	struct ttm_operation_ctx ctx = { .no_wait_gpu = true };
	const struct tessera_segment *seg = tessera_bo_segment(bo);

	return tessera_segment_shows_pages(seg) ? tessera_bo_to_system(bo, &ctx) : 0;
}

static int tessera_ttm_move(struct ttm_buffer_object *tbo, bool evict,
			    struct ttm_operation_ctx *ctx, struct ttm_resource *new_mem,
			    struct ttm_place *hop)
{
	/* Ghost objects are only destroyed. */
	if (drm_WARN_ON(tbo->base.dev, !tessera_bo_is_tessera(tbo)))
		return -EINVAL;
	/* The object was pinned after TTM had chosen it. */
	if (tbo->pin_count)
		return -EBUSY;
	/*
	 * Another device uses the pages: see tessera_residency_request_pages().
	 */
	if (to_tessera_bo(tbo)->sharing.lent &&
	    tessera_segment_is_vram(tessera_resource_segment(new_mem)))
		return -EBUSY;
	/* TTM has removed the CPU mappings already. */
	bdev_to_tessera(tbo->bdev)->upcalls->window_close(to_tessera_bo(tbo));

	return tessera_move_to(to_tessera_bo(tbo), ctx, new_mem, hop);
}

/* The kernel is about to copy the pages of an idle object. */
static void tessera_ttm_swap_notify(struct ttm_buffer_object *tbo)
{
	if (tessera_bo_is_tessera(tbo))
		tessera_coherence_for_swap(to_tessera_bo(tbo));
}

/*
 * The fault handler has already checked that the object is visible.
 * io_mem_pfn() looks up each page.
 */
static int tessera_ttm_io_mem_reserve(struct ttm_device *bdev, struct ttm_resource *mem)
{
	if (!tessera_segment_is_vram(tessera_resource_segment(mem)))
		return 0;

	mem->bus.is_iomem = true;
	mem->bus.caching = ttm_write_combined;

	return 0;
}

static unsigned long tessera_ttm_io_mem_pfn(struct ttm_buffer_object *tbo, unsigned long page)
{
	return bdev_to_tessera(tbo->bdev)->upcalls->window_pfn(to_tessera_bo(tbo), page);
}

static struct ttm_device_funcs tessera_ttm_funcs = {
	.ttm_tt_create = tessera_backing_create,
	.ttm_tt_populate = tessera_backing_fill,
	.ttm_tt_unpopulate = tessera_backing_unpopulate,
	.ttm_tt_destroy = tessera_backing_destroy,
	.eviction_valuable = tessera_ttm_eviction_valuable,
	.evict_flags = tessera_ttm_evict_flags,
	.move = tessera_ttm_move,
	.swap_notify = tessera_ttm_swap_notify,
	.io_mem_reserve = tessera_ttm_io_mem_reserve,
	.io_mem_pfn = tessera_ttm_io_mem_pfn,
};

/*
 * Waits for the jobs of this device only. Foreign fences may take any time, and
 * do not matter: they protect the pages, which stay.
 */
static void wait_for_jobs(struct tessera_bo *bo)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;

	dma_resv_for_each_fence(&cursor, bo->tbo.base.resv, DMA_RESV_USAGE_BOOKKEEP, fence)
		if (tessera_fence_is_own(tessera_bo_device(bo), fence))
			tessera_wait_fence(TESSERA_WAIT_SUSPEND, fence, false,
					   MAX_SCHEDULE_TIMEOUT);
}

/*
 * Restores an object that a kernel client redraws on request, and that a
 * cancelled move has lost. It gets new pages, because the contents of the old
 * ones are unknown.
 */
static void replace_lost_pages(struct tessera_bo *bo)
{
	struct ttm_operation_ctx ctx = { .interruptible = false };

	if (!bo->redrawn || !atomic_read(&bo->lost) || bo->fixed.mapped || bo->pins ||
	    bo->sharing.lent || tessera_bo_segment(bo))
		return;
	/* The pages are about to be freed, so CPU accesses have to fault. */
	ttm_bo_unmap_virtual(&bo->tbo);
	tessera_bo_device(bo)->upcalls->window_close(bo);
	if (!tessera_bo_drop_pages(bo, &ctx) && !tessera_bo_to_system(bo, &ctx))
		atomic_set_release(&bo->lost, 0);
}

/**
 * tessera_ttm_lose_memory() - move all objects out of segments with lost
 * contents
 * @tdev: the device; &tessera_device.memory_lost is set, and its engines cancel
 * all jobs
 *
 * An object with a valid copy in system memory keeps its contents; others are
 * lost.
 *
 * Data that jobs have written to pages is made visible to the CPU here, because
 * that needs a device that still responds.
 */
void tessera_ttm_lose_memory(struct tessera_device *tdev)
{
	struct ttm_operation_ctx ctx = { .interruptible = false };
	struct tessera_bo *bo;
	u32 id = 0;

	while ((bo = tessera_bo_next(tdev, id))) {
		id = bo->id;
		dma_resv_lock(bo->tbo.base.resv, NULL);
		/* Nothing is scanned out any more. */
		if (!bo->fixed.mapped)
			tessera_bo_make_movable(bo);
		/*
		 * A pending move into an object's pages may read the lost
		 * memory, even if the object is in no segment already.
		 */
		wait_for_jobs(bo);
		if (tessera_bo_segment(bo) && tessera_bo_to_system(bo, &ctx)) {
			drm_warn(&tdev->drm, "object %u is lost\n", id);
			/* Page tables are lost with their VM, but no other VM of the file is. */
			if (!bo->tables)
				atomic_set(&bo->lost, 1);
		} else {
			replace_lost_pages(bo);
		}
		tessera_coherence_device_resets(bo);
		dma_resv_unlock(bo->tbo.base.resv);
		tessera_bo_put(bo);
	}
}

/*
 * Tells the device that a range of a memory segment is free (strict mode).
 *
 * The range is idle: TTM frees the range of a destroyed object only after its
 * last fence. If an object was moved away, the paging job has marked the range
 * as evicted. If a move into the range failed, the range was never declared,
 * and the contents of an earlier object may still be on their way out. This
 * range is not reported.
 */
static void memory_freed(struct tessera_manager *mgr, struct tessera_placement *placement)
{
	struct tessera_device *tdev = mgr->tdev;
	struct tessera_extent *extent;
	int idx;

	if (!placement->declared || !drm_dev_enter(&tdev->drm, &idx))
		return;

	tessera_placement_for_each_extent(extent, placement)
		tessera_mark(tdev, mgr->seg->base + tessera_extent_offset(extent),
			     tessera_extent_bytes(extent), TSR_MARK_FREE);
	drm_dev_exit(idx);
}

static void manager_fini(struct drm_device *drm, void *arg)
{
	tessera_manager_fini(arg);
}

static int ttm_init_manager(struct tessera_device *tdev, const struct tessera_segment *seg)
{
	struct tessera_manager *mgr = drmm_kzalloc(&tdev->drm, sizeof(*mgr), GFP_KERNEL);

	if (!mgr)
		return -ENOMEM;
	if (tessera_segment_is_vram(seg))
		mgr->freed = memory_freed;
	tessera_manager_init(mgr, tdev, seg, tessera_order_describe);

	return drmm_add_action_or_reset(&tdev->drm, manager_fini, mgr);
}

static void kinds_fini(struct drm_device *drm, void *arg)
{
	tessera_manager_fini_kinds(to_tessera_device(drm));
}

static void ttm_fini(struct drm_device *drm, void *arg)
{
	ttm_device_fini(&to_tessera_device(drm)->ttm);
}

/*
 * Waits for the workers of TTM, which also free objects that had fences when
 * their last reference was dropped (gem/destroy.c).
 */
static void ttm_drain(struct drm_device *drm, void *arg)
{
	struct tessera_device *tdev = to_tessera_device(drm);

	tessera_error_set_finder(tdev, NULL);
	drain_workqueue(tdev->ttm.wq);
}

/*
 * The device and the CPU use the pages of an object in an aperture at the same
 * time, so there is no moment to sync a bounce buffer. If the DMA API would
 * bounce, allocate pages that the device reaches directly.
 */
static bool ttm_needs_coherent_pages(struct device *dev)
{
	return is_swiotlb_force_bounce(dev) || drm_need_swiotlb(TSR_ADDRESS_BITS);
}

/**
 * tessera_ttm_init() - set up memory management
 * @tdev: the device; segments and engines are initialised
 *
 * Return: 0 or an error.
 */
int tessera_ttm_init(struct tessera_device *tdev)
{
	struct drm_device *drm = &tdev->drm;
	u32 i;
	int ret;

	ret = tessera_bo_init_registry(tdev);
	if (!ret)
		ret = drmm_mutex_init(drm, &tdev->renamed_instance_lock);
	if (ret)
		return ret;

	ret = ttm_device_init(&tdev->ttm, &tessera_ttm_funcs, drm->dev,
			      drm->anon_inode->i_mapping, drm->vma_offset_manager,
			      ttm_needs_coherent_pages(drm->dev) ?
			      TTM_ALLOCATION_POOL_USE_DMA_ALLOC : 0);
	if (ret)
		return ret;
	ret = drmm_add_action_or_reset(drm, ttm_fini, NULL);
	if (ret)
		return ret;

	tessera_manager_init_kinds(tdev);
	ret = drmm_add_action_or_reset(drm, kinds_fini, NULL);
	if (ret)
		return ret;
	for (i = 0; i < tessera_segment_count(tdev); i++) {
		const struct tessera_segment *seg = tessera_segment_by_index(tdev, i);

		ret = ttm_init_manager(tdev, seg);
		if (ret)
			return ret;
	}

	ret = tessera_backing_init(tdev);
	if (ret)
		return ret;
	ret = drmm_add_action_or_reset(drm, ttm_drain, NULL);
	if (ret)
		return ret;

	tessera_error_set_finder(tdev, tessera_bo_id_at);

	return tessera_paging_init(tdev);
}
