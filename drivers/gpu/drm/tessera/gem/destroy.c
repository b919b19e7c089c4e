// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: destruction
 *
 * Closing the last handle of an object never waits (DESTROY-1, DESTROY-2). Jobs
 * that name the object have fences in its reservation. The object goes to TTM
 * when the last of these fences signals. Until then its placement and pages
 * count as used and are charged to the owner. TTM itself would have a worker
 * wait for the fences. It has sixteen workers, so a client with a long queue
 * could keep the objects of all others from being freed.
 *
 * Jobs may use objects that they do not name. Therefore a destroy without the
 * ASSUME_NOT_IN_USE flag keeps the object, without a handle, until all work
 * that its client had queued before is done (sync/backlog.c). Meanwhile the
 * object may be evicted like any other. If a client sets the flag although a
 * job uses the object (DESTROY-7), nothing changes for jobs that name the
 * object.
 *
 * An object in an aperture or a UMA segment leaves it first, by an ordinary
 * paging job. Otherwise the segment would map pages that another owner has by
 * then (PAGE-9).
 */

#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/workqueue.h>

#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>

#include "base/compat.h"
#include "base/device.h"
#include "base/trace.h"
#include "base/wait.h"
#include "cpu/cpu.h"
#include "gem/gem.h"
#include "mem/mem.h"

static void destroy_signaled(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct tessera_bo *bo = container_of(cb, struct tessera_bo, dying.cb);

	queue_work(tessera_bo_device(bo)->ttm.wq, &bo->dying.work);
}

/*
 * Gives an object that is private to a VM its own reservation, as TTM does at
 * the end, so that it waits for no fences that are added for others. Returns the
 * reservation of the object, which the caller holds then.
 */
static struct dma_resv *destroy_own_resv(struct tessera_bo *bo)
{
	struct dma_resv *shared = bo->tbo.base.resv, *own = &bo->tbo.base._resv;

	if (!bo->root || shared == own || !dma_resv_trylock(own))
		return shared;
	if (dma_resv_copy_fences(own, shared)) {
		dma_resv_unlock(own);
		return shared;
	}
	spin_lock(&bo->tbo.bdev->lru_lock);
	bo->tbo.base.resv = own;
	spin_unlock(&bo->tbo.bdev->lru_lock);
	dma_resv_unlock(shared);

	return own;
}

/* A fence for all users, or NULL. Without memory for it, TTM waits. */
static struct dma_fence *destroy_busy(struct dma_resv *resv)
{
	struct dma_fence *fence = NULL;

	if (dma_resv_get_singleton(resv, DMA_RESV_USAGE_BOOKKEEP, &fence))
		return NULL;

	return fence;
}

/*
 * Destroys an object that is idle, and lets the fences of another one call this
 * again. The caller holds the reservation, which is released.
 *
 * The pages of an import go back to the exporter, and those of other objects to
 * the kernel. If the object cannot leave its aperture, the device can access
 * them until the range is mapped again, but no client can.
 */
static void destroy_locked(struct tessera_bo *bo)
{
	struct dma_resv *resv = destroy_own_resv(bo);
	struct dma_fence *fence = NULL;
	int ret;

	/*
	 * Users of an imported buffer wait for the moves in its reservation.
	 * Therefore an import leaves its aperture only when it is idle.
	 */
	if (bo->sharing.dmabuf)
		fence = destroy_busy(resv);
	if (!fence) {
		ret = tessera_ttm_leave_aperture(bo);
		if (ret)
			drm_err_ratelimited(bo->tbo.base.dev, "object %u stays mapped: %d\n",
					    bo->id, ret);
		fence = destroy_busy(resv);
	}
	if (tessera_bo_placement(bo))
		tessera_placement_dies(tessera_bo_placement(bo));
	dma_resv_unlock(resv);
	if (!fence) {
		ttm_bo_fini(&bo->tbo);
		return;
	}
	bo->dying.fence = fence;
	if (dma_fence_add_callback(fence, &bo->dying.cb, destroy_signaled))
		queue_work(tessera_bo_device(bo)->ttm.wq, &bo->dying.work);
}

static void destroy_work(struct work_struct *work)
{
	struct tessera_bo *bo = container_of(work, struct tessera_bo, dying.work);

	dma_fence_put(bo->dying.fence);
	bo->dying.fence = NULL;
	dma_resv_lock(bo->tbo.base.resv, NULL);
	destroy_locked(bo);
}

/**
 * tessera_destroy_free() - &drm_gem_object_funcs.free
 * @gem: the object; its last reference is gone
 */
void tessera_destroy_free(struct drm_gem_object *gem)
{
	struct tessera_bo *bo = gem_to_tessera_bo(gem);

	trace_tessera_bo_destroy(bo->id);
	tessera_backing_forget(bo);
	tessera_cpu_window_close(bo);
	INIT_WORK(&bo->dying.work, destroy_work);
	/* The caller may hold the reservation, as other objects may share it. */
	if (dma_resv_trylock(bo->tbo.base.resv))
		destroy_locked(bo);
	else
		queue_work(tessera_bo_device(bo)->ttm.wq, &bo->dying.work);
}

/**
 * tessera_destroy_handle() - close a handle
 * @file: the file that owns it
 * @handle: the handle
 *
 * Does not wait. The object is destroyed when its last reference is gone and
 * the jobs that name it are done.
 *
 * Return: 0 or -ENOENT.
 */
int tessera_destroy_handle(struct drm_file *file, u32 handle)
{
	return drm_gem_handle_delete(file, handle) ? -ENOENT : 0;
}

/* Wait for all users of the object and make it leave its aperture. */
static int destroy_settle(struct tessera_bo *bo)
{
	struct dma_resv *resv = bo->tbo.base.resv;
	long ret;

	ret = tessera_wait_resv(TESSERA_WAIT_DESTROY, resv, DMA_RESV_USAGE_BOOKKEEP, true,
				MAX_SCHEDULE_TIMEOUT);
	if (ret < 0)
		return ret;
	ret = dma_resv_lock_interruptible(resv, NULL);
	if (ret)
		return ret == -EINTR ? -ERESTARTSYS : ret;
	ret = tessera_ttm_leave_aperture(bo);
	dma_resv_unlock(resv);

	return ret ?: tessera_access_wait(bo);
}

/*
 * True if another handle, an export, a CPU mapping or a VM keeps the object
 * alive. Short-lived references do not count. A dma-buf that is closed together
 * with its last handle drops the object only when the task returns to user
 * space, so the caller does not wait for exported objects.
 */
static bool destroy_is_shared(struct tessera_bo *bo)
{
	return READ_ONCE(bo->tbo.base.handle_count) || READ_ONCE(bo->sharing.exported) ||
	       atomic_read(&bo->maps.num_vmas) || tessera_bo_is_in_vm(bo);
}

/*
 * The handle may have been closed, and reused for another object, during the
 * wait.
 */
static int destroy_handle_of(struct drm_file *file, u32 handle, struct tessera_bo *bo)
{
	struct tessera_bo *now = tessera_bo_lookup(file, handle);
	int ret = now == bo ? tessera_destroy_handle(file, handle) : -ENOENT;

	tessera_bo_put(now);

	return ret;
}

/**
 * tessera_destroy_now() - destroy an object and wait until its memory is free
 * @file: the file that owns the handle
 * @handle: the handle
 * @bo: the object; the reference is consumed
 *
 * Does not wait for the memory of an object that was exported or that has
 * another handle, a CPU mapping or a mapping in a VM.
 *
 * Return: 0, or with nothing done -ENOENT, -ERESTARTSYS or -ENOMEM.
 */
int tessera_destroy_now(struct drm_file *file, u32 handle, struct tessera_bo *bo)
{
	struct tessera_device *tdev = to_tessera_device(file->minor->dev);
	bool shared;
	u32 id;
	int ret;

	ret = destroy_settle(bo) ?: destroy_handle_of(file, handle, bo);
	id = bo->id;
	shared = ret || destroy_is_shared(bo);
	tessera_bo_put(bo);
	if (!shared)
		tessera_bo_wait_destroyed(tdev, id);

	return ret;
}
