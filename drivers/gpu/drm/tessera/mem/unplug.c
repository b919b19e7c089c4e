// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: objects of a device that is unplugged
 *
 * When the device goes its objects lose what is the bus device's: places, mappings of pages for it,
 * attachments to other drivers' dma-bufs. They live on, with neither place nor pages, until
 * user space lets go of them; each keeps the DRM device (hw/lifetime.c). An object that is being
 * destroyed already may wait for fences of other drivers: its pages are unmapped, and the rest
 * is TTM's, as before.
 *
 * Unplug waits for no fence of another driver. It waits for exporters that sleep in a call of an
 * import, but not for ever: then the thread that made the last of these calls unmaps and
 * detaches what unplug could not lock.
 *
 * Called with nothing held; takes reservations one at a time.
 */

#include <linux/atomic.h>
#include <linux/dma-resv.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/wait.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>

#include "mem/mem.h"
#include "tessera_device.h"
#include "tessera_wait.h"

/* For imports that are under way, and for objects that are just being destroyed. */
#define UNPLUG_TIMEOUT_MS	15000

struct tessera_unplug {
	/* Calls of exporters that are under way. */
	atomic_t imports;
	wait_queue_head_t idle;
	/* Unplug waits for them no longer, and the last of them has to detach what it left. */
	bool gave_up;
};

/**
 * tessera_unplug_init() - set up what unplug has to know
 * @tdev: the device
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_unplug_init(struct tessera_device *tdev)
{
	tdev->unplug = drmm_kzalloc(&tdev->drm, sizeof(*tdev->unplug), GFP_KERNEL);
	if (!tdev->unplug)
		return -ENOMEM;
	init_waitqueue_head(&tdev->unplug->idle);

	return 0;
}

/* The lock keeps off the core, which looks who has exported an object. */
static void bo_detach(struct tessera_bo *bo, bool named)
{
	struct mutex *lock = &bo->tbo.base.dev->object_name_lock;

	if (!named)
		mutex_lock(lock);
	tessera_borrow_end(&bo->tbo, &bo->borrow);
	if (!named)
		mutex_unlock(lock);
}

static void bo_unmap(struct tessera_bo *bo, bool named)
{
	dma_resv_lock(bo->tbo.base.resv, NULL);
	tessera_backing_detach(bo);
	dma_resv_unlock(bo->tbo.base.resv);
	if (bo->dmabuf)
		bo_detach(bo, named);
}

/*
 * Objects whose last reference is gone: @imports, @others, or both. True if one is left that no
 * fence keeps: TTM, or its worker, is about to destroy it. It is not worth leaving that open.
 */
static bool unmap_dying(struct tessera_device *tdev, bool others, bool imports)
{
	struct tessera_bo *bo;
	bool again = false;
	u32 id = 0;

	while (tessera_bo_next_dying(tdev, &id, &bo)) {
		if (!bo) {
			again = true;
			continue;
		}
		/* It has no handle, so the core does not look at it. */
		if (bo->dmabuf ? imports : others) {
			bo_unmap(bo, true);
			again |= dma_resv_test_signaled(bo->tbo.base.resv,
							DMA_RESV_USAGE_BOOKKEEP);
		}
		ttm_bo_put(&bo->tbo);
	}

	return again;
}

static void detach_imports(struct tessera_device *tdev, bool named)
{
	struct tessera_bo *bo;
	u32 id = 0;

	while ((bo = tessera_bo_next(tdev, id))) {
		id = bo->id;
		if (bo->dmabuf)
			bo_unmap(bo, named);
		tessera_bo_put(bo);
	}
	unmap_dying(tdev, false, true);
}

/**
 * tessera_unplug_import_begin() - an exporter is going to be called for an import
 * @tdev: the device
 *
 * Not inside drm_dev_enter(): the exporter may take as long as it likes.
 *
 * Return: false if the device is gone; else tessera_unplug_import_end() follows.
 */
bool tessera_unplug_import_begin(struct tessera_device *tdev)
{
	int idx;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return false;
	atomic_inc(&tdev->unplug->imports);
	drm_dev_exit(idx);

	return true;
}

/**
 * tessera_unplug_import_end() - the exporter has returned
 * @tdev: the device
 * @bo: the import, to be unmapped and detached if the device has gone; or NULL; reservation
 *	not held
 * @named: &drm_device.object_name_lock is held
 *
 * Return: false if the device has gone meanwhile.
 */
bool tessera_unplug_import_end(struct tessera_device *tdev, struct tessera_bo *bo, bool named)
{
	struct tessera_unplug *unplug = tdev->unplug;
	bool there;
	int idx;

	there = drm_dev_enter(&tdev->drm, &idx);
	if (there)
		drm_dev_exit(idx);
	else if (bo)
		bo_unmap(bo, named);

	/* Pairs with the barrier in unplug_gives_up(). */
	if (atomic_dec_and_test(&unplug->imports)) {
		wake_up_all(&unplug->idle);
		if (READ_ONCE(unplug->gave_up))
			detach_imports(tdev, named);
	}

	return there;
}

/* True if an exporter sleeps on; what it holds locked is not waited for. */
static bool unplug_gives_up(struct tessera_device *tdev, unsigned long end)
{
	struct tessera_unplug *unplug = tdev->unplug;

	if (tessera_wait_event_timeout(TESSERA_WAIT_UNPLUG, unplug->idle,
				       !atomic_read(&unplug->imports), TASK_UNINTERRUPTIBLE,
				       max_t(long, end - jiffies, 1)))
		return false;
	WRITE_ONCE(unplug->gave_up, true);
	/* Either that is seen by the last call that ends, or its end is seen here. */
	smp_mb();
	if (!atomic_read(&unplug->imports))
		return false;
	drm_warn(&tdev->drm, "gone while an exporter sleeps\n");

	return true;
}

/*
 * Fences of other drivers do not matter here; but pages that they may be for are not freed. TTM
 * would hand pages that are not idle to a ghost, mapped as they are.
 */
static int bo_leave(struct tessera_bo *bo)
{
	struct ttm_operation_ctx ctx = { .interruptible = false };
	int ret;

	tessera_bo_unfix(bo);
	bo->copy_valid = false;
	if (!bo->dmabuf && !bo->pins && !bo->lent &&
	    dma_resv_test_signaled(bo->tbo.base.resv, DMA_RESV_USAGE_BOOKKEEP))
		return tessera_bo_drop_pages(bo, &ctx);
	ret = tessera_bo_to_system(bo, &ctx);
	tessera_backing_detach(bo);

	return ret;
}

static void unplug_living(struct tessera_device *tdev, bool sleeps)
{
	struct tessera_bo *bo;
	u32 id = 0;
	int ret;

	while ((bo = tessera_bo_next(tdev, id))) {
		id = bo->id;
		/* See tessera_unplug_import_end() for imports that are left out. */
		if (!bo->dmabuf || !sleeps) {
			dma_resv_lock(bo->tbo.base.resv, NULL);
			ret = bo_leave(bo);
			if (ret)
				drm_warn(&tdev->drm, "object %u keeps its place: %d\n", id, ret);
			dma_resv_unlock(bo->tbo.base.resv);
			if (bo->dmabuf)
				bo_detach(bo, false);
		}
		tessera_bo_put(bo);
	}
}

/**
 * tessera_unplug_objects() - let go of everything that belongs to the bus device
 * @tdev: the device; drm_dev_unplug() is done and its engines are stopped
 *
 * CPU mappings refault to a dummy page; contents are lost. Objects whose pages another device
 * uses keep these, mapped for that one only, and so do those at which others have fences that do not
 * signal. What was imported is detached.
 */
void tessera_unplug_objects(struct tessera_device *tdev)
{
	unsigned long end = jiffies + msecs_to_jiffies(UNPLUG_TIMEOUT_MS);
	bool sleeps, again;

	unmap_mapping_range(tdev->drm.anon_inode->i_mapping, 0, 0, 1);

	sleeps = unplug_gives_up(tdev, end);
	unplug_living(tdev, sleeps);
	do {
		again = unmap_dying(tdev, true, !sleeps);
		if (again)
			tessera_wait_in(TESSERA_WAIT_UNPLUG, schedule_timeout_uninterruptible(1));
	} while (again && time_before(jiffies, end));
}
