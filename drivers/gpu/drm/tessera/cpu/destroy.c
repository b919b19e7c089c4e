// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: destruction
 *
 * Closing the last handle never waits (DESTROY-1, DESTROY-2). Whatever jobs name
 * the object have fences in its reservation; TTM lets a worker free place and pages after
 * the last of them. Until then they count as used and are charged to the owner.
 *
 * Jobs may use what they do not name. So a destroy that makes no promise keeps the object,
 * without a handle, until everything is done that its client had queued before (submit/backlog.c),
 * and only then lets go of it. Meanwhile it may be evicted like any other. Each destroy costs a
 * callback on one fence, however much is queued (DESTROY-3). A promise that does not hold
 * (DESTROY-7) changes nothing for jobs that name the object.
 *
 * An aperture must not show pages that are somebody else's by then (PAGE-9), so an object in
 * one leaves it first, by a paging job like any other move.
 */

#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>

#include "cpu/access.h"
#include "cpu/destroy.h"
#include "cpu/window.h"
#include "exec/job.h"
#include "mem/backing.h"
#include "mem/bo.h"
#include "mem/registry.h"
#include "segments/segment.h"
#include "tessera_compat.h"
#include "tessera_device.h"
#include "tessera_trace.h"

static int destroy_leave_aperture(struct tessera_bo *bo)
{
	const struct ttm_place system = { .mem_type = TTM_PL_SYSTEM };
	struct ttm_placement placement = { .num_placement = 1, .placement = &system };
	struct ttm_operation_ctx ctx = { .no_wait_gpu = true };
	const struct tessera_segment *seg = tessera_bo_segment(bo);

	return seg && tessera_segment_is_aperture(seg) ?
		ttm_bo_validate(&bo->tbo, &placement, &ctx) : 0;
}

/* Called with locks of other objects held, perhaps: only try this one's, which nobody wants. */
static void destroy_unmap(struct tessera_bo *bo)
{
	int ret;

	if (!dma_resv_trylock(bo->tbo.base.resv))
		return;

	ret = destroy_leave_aperture(bo);
	dma_resv_unlock(bo->tbo.base.resv);

	/* The device goes on seeing the pages until the range is mapped again; users do not. */
	if (ret)
		drm_err_ratelimited(bo->tbo.base.dev, "object %u stays mapped: %d\n", bo->id,
				    ret);
}

/**
 * tessera_destroy_free() - &drm_gem_object_funcs.free
 * @gem: the object; its last reference is gone
 */
void tessera_destroy_free(struct drm_gem_object *gem)
{
	struct tessera_bo *bo = gem_to_tessera_bo(gem);

	trace_tessera_bo_destroy(bo->id);
	tessera_backing_count_offered(bo, false);
	tessera_cpu_window_close(bo);
	destroy_unmap(bo);
	ttm_bo_fini(&bo->tbo);
}

/* ---- Later ----------------------------------------------------------------------- */

/* An object without the handle by which it was destroyed. */
struct destroy {
	struct work_struct work;
	struct dma_fence_cb cb;
	/* All that its client had queued; a reference to each. */
	struct dma_fence *fence;
	struct tessera_bo *bo;
};

static void destroy_finish(struct destroy *destroy)
{
	struct tessera_device *tdev = tessera_bo_device(destroy->bo);

	tessera_bo_put(destroy->bo);
	dma_fence_put(destroy->fence);
	kfree(destroy);
	tessera_job_queue_leave(tdev);
}

static void destroy_work(struct work_struct *work)
{
	destroy_finish(container_of(work, struct destroy, work));
}

/* In atomic context. */
static void destroy_fence_cb(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct destroy *destroy = container_of(cb, struct destroy, cb);

	queue_work(tessera_bo_device(destroy->bo)->release_wq, &destroy->work);
}

/* Takes the reference to the object over. A device that is going has no jobs. */
static void destroy_begin(struct destroy *destroy, struct tessera_bo *bo, struct dma_fence *fence)
{
	destroy->bo = bo;
	destroy->fence = dma_fence_get(fence);
	INIT_WORK(&destroy->work, destroy_work);
	if (tessera_job_queue_enter(tessera_bo_device(bo))) {
		tessera_bo_put(bo);
		dma_fence_put(fence);
		kfree(destroy);
	} else if (dma_fence_add_callback(fence, &destroy->cb, destroy_fence_cb)) {
		destroy_finish(destroy);
	}
}

/* Somebody else may have closed it since it was looked up. */
static int destroy_handle(struct drm_file *file, u32 handle)
{
	return drm_gem_handle_delete(file, handle) ? -ENOENT : 0;
}

/**
 * tessera_destroy_after() - give an object up when some work is done
 * @file: whose handle it is
 * @handle: the handle, which goes at once
 * @work: the work; NULL: nothing but jobs that name the object
 *
 * Does not wait.
 *
 * Return: 0, or with nothing done -ENOENT or -ENOMEM.
 */
int tessera_destroy_after(struct drm_file *file, u32 handle, struct dma_fence *work)
{
	struct tessera_bo *bo = tessera_bo_lookup(file, handle);
	struct destroy *destroy = NULL;
	int ret;

	if (!bo)
		return -ENOENT;
	if (work) {
		destroy = kmalloc(sizeof(*destroy), GFP_KERNEL_ACCOUNT);
		if (!destroy) {
			tessera_bo_put(bo);
			return -ENOMEM;
		}
	}
	ret = destroy_handle(file, handle);
	if (ret || !destroy) {
		kfree(destroy);
		tessera_bo_put(bo);
		return ret;
	}
	destroy_begin(destroy, bo, work);

	return 0;
}

/* ---- Now -------------------------------------------------------------------------- */

/* Nothing is left to be done to the object. */
static int destroy_settle(struct tessera_bo *bo, struct dma_fence *work)
{
	struct dma_resv *resv = bo->tbo.base.resv;
	long ret;

	ret = work ? dma_fence_wait(work, true) : 0;
	if (ret)
		return ret;
	ret = dma_resv_wait_timeout(resv, DMA_RESV_USAGE_BOOKKEEP, true, MAX_SCHEDULE_TIMEOUT);
	if (ret < 0)
		return ret;
	ret = dma_resv_lock_interruptible(resv, NULL);
	if (ret)
		return ret == -EINTR ? -ERESTARTSYS : ret;
	ret = destroy_leave_aperture(bo);
	dma_resv_unlock(resv);

	return ret ?: tessera_access_wait(bo);
}

/**
 * tessera_destroy_now() - destroy an object and wait until its memory is free
 * @file: whose handle it is
 * @handle: the handle
 * @work: what to wait for beside jobs that name the object, or NULL
 *
 * What somebody else has, too, through a handle, a mapping or a dma-buf, stays.
 *
 * Return: 0, or with nothing done -ENOENT, -ERESTARTSYS or -ENOMEM.
 */
int tessera_destroy_now(struct drm_file *file, u32 handle, struct dma_fence *work)
{
	struct tessera_bo *bo = tessera_bo_lookup(file, handle);
	struct tessera_device *tdev = to_tessera_device(file->minor->dev);
	u32 id;
	int ret;

	if (!bo)
		return -ENOENT;
	id = bo->id;
	ret = destroy_settle(bo, work) ?: destroy_handle(file, handle);
	if (ret) {
		tessera_bo_put(bo);
		return ret;
	}
	/* As tessera_bo_put(), which does not tell. */
	if (kref_put(&bo->tbo.base.refcount, drm_gem_object_free))
		tessera_registry_wait_removed(tdev, id);

	return 0;
}
