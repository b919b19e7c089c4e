// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: objects of an unplugged device
 *
 * When the device is unplugged, its objects lose everything that belongs to the
 * bus device: placements, DMA mappings of pages, and attachments to dma-bufs of
 * other drivers. The objects stay valid, without placement and pages, until
 * user space closes them. Each of them keeps the DRM device (hw/lifetime.c). An
 * object that is already being destroyed may wait for fences of other drivers.
 * Its pages are unmapped, and TTM does the rest as usual.
 *
 * Unplug waits for no fence of another driver. It waits for exporters that
 * sleep in a call for an import, up to a timeout. After the timeout, the thread
 * that returns from the last of these calls unmaps and detaches the imports
 * that unplug could not lock.
 *
 * The caller holds no lock. Reservations are locked one at a time.
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

#include "base/device.h"
#include "base/wait.h"
#include "borrow/borrow.h"
#include "mem/mem.h"

/* Timeout for pending imports, and for objects that are being destroyed. */
#define UNPLUG_TIMEOUT_MS	15000

struct tessera_unplug {
	/* Number of calls of exporters in progress. */
	atomic_t imports;
	wait_queue_head_t idle;
	/*
	 * Unplug has timed out. The last returning call detaches the remaining
	 * imports.
	 */
	bool gave_up;
};

/**
 * tessera_unplug_init() - set up the state for unplug
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

/*
 * The DRM core reads import_attach under this lock to find the exporter of an
 * object. The lock also orders the two threads that may detach imports, that of
 * unplug and the one with the last call of an exporter.
 */
static void bo_detach(struct tessera_bo *bo, bool named)
{
	struct mutex *lock = &bo->tbo.base.dev->object_name_lock;

	if (!named)
		mutex_lock(lock);
	tessera_borrow_end(&bo->tbo, &bo->sharing.borrow);
	if (!named)
		mutex_unlock(lock);
}

static void bo_unmap(struct tessera_bo *bo, bool named)
{
	struct dma_resv *resv = READ_ONCE(bo->tbo.base.resv);

	dma_resv_lock(resv, NULL);
	/* An object that is being destroyed gets its own (gem/destroy.c). */
	while (resv != bo->tbo.base.resv) {
		dma_resv_unlock(resv);
		resv = bo->tbo.base.resv;
		dma_resv_lock(resv, NULL);
	}
	tessera_backing_detach(bo);
	dma_resv_unlock(bo->tbo.base.resv);
	if (bo->sharing.dmabuf)
		bo_detach(bo, named);
}

/*
 * Unmaps objects that have no GEM reference left: imports if @imports is set,
 * all others if @others is set. @named: the caller holds object_name_lock.
 * Returns true if TTM or its worker is about to destroy one of them, with no
 * fence left to wait for. Then the caller should wait a moment and try again.
 */
static bool unmap_dying(struct tessera_device *tdev, bool others, bool imports, bool named)
{
	struct tessera_bo *bo;
	bool again = false;
	u32 id = 0;

	while (tessera_bo_next_dying(tdev, &id, &bo)) {
		if (!bo) {
			again = true;
			continue;
		}
		if (bo->sharing.dmabuf ? imports : others) {
			bo_unmap(bo, named);
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
		if (bo->sharing.dmabuf)
			bo_unmap(bo, named);
		tessera_bo_put(bo);
	}
	unmap_dying(tdev, false, true, named);
}

/**
 * tessera_unplug_import_begin() - announce a call of an exporter for an import
 * @tdev: the device
 *
 * The call itself is made outside drm_dev_enter(), because the exporter may
 * sleep for any time.
 *
 * Return: false if the device is unplugged; else the caller has to call
 * tessera_unplug_import_end().
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
 * tessera_unplug_import_end() - end a call of an exporter
 * @tdev: the device
 * @bo: the import, or NULL; unmapped and detached if the device is unplugged;
 * reservation not held
 * @named: &drm_device.object_name_lock is held
 *
 * Return: false if the device was unplugged meanwhile.
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

/*
 * Waits for calls of exporters until @end. Returns true if an exporter still
 * sleeps. It may hold locks of imports, which must not be waited for then.
 */
static bool unplug_gives_up(struct tessera_device *tdev, unsigned long end)
{
	struct tessera_unplug *unplug = tdev->unplug;

	if (tessera_wait_event_timeout(TESSERA_WAIT_UNPLUG, unplug->idle,
				       !atomic_read(&unplug->imports), TASK_UNINTERRUPTIBLE,
				       max_t(long, end - jiffies, 1)))
		return false;
	WRITE_ONCE(unplug->gave_up, true);
	/*
	 * Either the last call that ends sees @gave_up, or its end is seen
	 * here.
	 */
	smp_mb();
	if (!atomic_read(&unplug->imports))
		return false;
	drm_warn(&tdev->drm, "gone while an exporter sleeps\n");

	return true;
}

/*
 * Removes an object from the device. Does not wait for fences of other drivers,
 * but frees no pages that these fences may protect: TTM would hand pages that
 * are not idle to a ghost object, still mapped.
 */
static int bo_move_out(struct tessera_bo *bo)
{
	struct ttm_operation_ctx ctx = { .interruptible = false };
	int ret;

	tessera_bo_make_movable(bo);
	bo->copy = TESSERA_COPY_STALE;
	if (!bo->sharing.dmabuf && !bo->pins && !bo->sharing.lent &&
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
		/*
		 * tessera_unplug_import_end() handles the imports that are
		 * skipped.
		 */
		if (!bo->sharing.dmabuf || !sleeps) {
			dma_resv_lock(bo->tbo.base.resv, NULL);
			ret = bo_move_out(bo);
			if (ret)
				drm_warn(&tdev->drm, "object %u keeps its place: %d\n", id, ret);
			dma_resv_unlock(bo->tbo.base.resv);
			if (bo->sharing.dmabuf)
				bo_detach(bo, false);
		}
		tessera_bo_put(bo);
	}
}

/**
 * tessera_unplug_objects() - release everything of the objects that belongs to
 * the bus device
 * @tdev: the device; drm_dev_unplug() has returned and the engines are stopped
 *
 * CPU mappings fault again and then show a dummy page; the contents are lost.
 * Imports are detached. Objects with unsignalled foreign fences, or with pages
 * that another device uses, keep their pages, without a mapping for this
 * device.
 */
void tessera_unplug_objects(struct tessera_device *tdev)
{
	unsigned long end = jiffies + msecs_to_jiffies(UNPLUG_TIMEOUT_MS);
	bool sleeps, again;

	unmap_mapping_range(tdev->drm.anon_inode->i_mapping, 0, 0, 1);

	sleeps = unplug_gives_up(tdev, end);
	unplug_living(tdev, sleeps);
	do {
		again = unmap_dying(tdev, true, !sleeps, false);
		if (again)
			tessera_wait_in(TESSERA_WAIT_UNPLUG, schedule_timeout_uninterruptible(1));
	} while (again && time_before(jiffies, end));
}
