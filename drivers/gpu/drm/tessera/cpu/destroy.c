// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: destruction
 *
 * Closing the last handle never waits (DESTROY-1, DESTROY-2). Whatever jobs name
 * the object have fences in its reservation; TTM lets a worker free place and pages after
 * the last of them. Until then they count as used and are charged to the owner.
 *
 * Jobs may use what they do not name. So a destroy that makes no promise keeps the object,
 * without a handle, until everything is done that its client had queued before, and only then lets
 * go of it (sync/backlog.c). Meanwhile it may be evicted like any other. A promise that does not
 * hold (DESTROY-7) changes nothing for jobs that name the object.
 *
 * An aperture must not show pages that are somebody else's by then (PAGE-9), so an object in
 * one leaves it first, by a paging job like any other move.
 */

#include <linux/dma-resv.h>

#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/ttm/ttm_bo.h>

#include "cpu/cpu.h"
#include "mem/mem.h"
#include "tessera_compat.h"
#include "tessera_device.h"
#include "tessera_trace.h"
#include "tessera_wait.h"

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
	ttm_bo_fini(&bo->tbo);
}

/**
 * tessera_destroy_handle() - close a handle
 * @file: whose it is
 * @handle: the handle
 *
 * The object goes when nobody has it any more, and jobs that name it are done. Does not wait.
 *
 * Return: 0 or -ENOENT.
 */
int tessera_destroy_handle(struct drm_file *file, u32 handle)
{
	return drm_gem_handle_delete(file, handle) ? -ENOENT : 0;
}

/* Nothing is left to be done to the object. */
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
 * Whether others keep it: not those who only look at it in passing. A dma-buf that is closed with its last
 * handle lets go of the object when the task returns to user space, so that is not waited for.
 */
static bool destroy_is_shared(struct tessera_bo *bo)
{
	return READ_ONCE(bo->tbo.base.handle_count) || READ_ONCE(bo->exported) ||
	       atomic_read(&bo->num_vmas) || tessera_bo_is_in_vm(bo);
}

/* The handle may have been closed, and given to another object, while it was waited for. */
static int destroy_handle_of(struct drm_file *file, u32 handle, struct tessera_bo *bo)
{
	struct tessera_bo *now = tessera_bo_lookup(file, handle);
	int ret = now == bo ? tessera_destroy_handle(file, handle) : -ENOENT;

	if (now)
		tessera_bo_put(now);

	return ret;
}

/**
 * tessera_destroy_now() - destroy an object and wait until its memory is free
 * @file: whose handle it is
 * @handle: the handle
 * @bo: the object; the reference is consumed
 *
 * What somebody else has, too, through a handle or a mapping, of the CPU or of a VM, or has been exported, is
 * not waited for.
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
