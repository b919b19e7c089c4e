// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: objects and the end of the device
 *
 * When the device goes its objects lose what is the bus device's: places, mappings of pages for it, attachments
 * to others' dma-bufs. They live on, with neither place nor pages, until user space lets go of
 * them. Who unplugs has to wait for others with three things: fences of others at objects, which may keep what is being
 * destroyed, too; and imports that are under way, in which an exporter may sleep. All of it together is waited for once,
 * and not for ever. What takes longer is unmapped as it is, and seen out by a thread, which detaches what an exporter keeps it
 * from, too; or undone by who imports it. The thread has the DRM device and the module. Unloading the module waits for it, as
 * nothing else keeps the code that ends objects.
 *
 * Called with nothing held; takes reservations one at a time.
 */

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/completion.h>
#include <linux/dma-resv.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/wait.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>

#include "mem/backing.h"
#include "mem/bo.h"
#include "mem/borrow.h"
#include "mem/registry.h"
#include "mem/unplug.h"
#include "tessera_device.h"
#include "tessera_wait.h"

/* For imports that are under way, and all fences of others. */
#define UNPLUG_TIMEOUT_MS	15000

struct tessera_unplug {
	/* Imports that are under way. */
	atomic_t imports;
	wait_queue_head_t idle;
	/* Some are attached still, as an exporter sleeps. */
	bool attached;
	/* The thread that sees objects out has done so, and who unplugs waits for it. */
	struct completion done;
	/* UNPLUG_* */
	unsigned long flags;
};

/* Set by the thread when it is done, or by who unplugs when he waits no more: who comes second cares for the rest. */
#define UNPLUG_PARTED	0

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
	init_completion(&tdev->unplug->done);

	return 0;
}

static bool is_there(struct tessera_device *tdev)
{
	int idx;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return false;
	drm_dev_exit(idx);

	return true;
}

/**
 * tessera_unplug_import_begin() - the device is going to be attached to a dma-buf
 * @tdev: the device
 *
 * No section of drm_dev_enter(), as nobody knows how long the exporter takes.
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
 * tessera_unplug_import_end() - it is, or it has not worked
 * @tdev: the device
 *
 * Return: false if the device has gone meanwhile, and it may be that nobody detaches it but the caller.
 */
bool tessera_unplug_import_end(struct tessera_device *tdev)
{
	struct tessera_unplug *unplug = tdev->unplug;
	bool there = is_there(tdev);

	if (atomic_dec_and_test(&unplug->imports))
		wake_up_all(&unplug->idle);

	return there;
}

/**
 * tessera_unplug_detach() - an import came too late
 * @bo: the object, which has no handle yet; &drm_device.object_name_lock is held
 */
void tessera_unplug_detach(struct tessera_bo *bo)
{
	dma_resv_lock(bo->tbo.base.resv, NULL);
	tessera_backing_detach(bo);
	dma_resv_unlock(bo->tbo.base.resv);
	tessera_borrow_end(&bo->tbo, &bo->borrow);
}

/*
 * Mappings of imported pages are the bus device's. The lock keeps off those who look who has exported
 * them; an exporter that sleeps in an import has it, too.
 */
static bool bo_detach(struct tessera_bo *bo, bool wait)
{
	struct mutex *lock = &bo->tbo.base.dev->object_name_lock;

	if (wait)
		mutex_lock(lock);
	else if (!mutex_trylock(lock))
		return false;
	tessera_borrow_end(&bo->tbo, &bo->borrow);
	mutex_unlock(lock);

	return true;
}

static bool bo_idles(struct tessera_bo *bo, unsigned long end)
{
	return tessera_wait_resv(TESSERA_WAIT_UNPLUG, bo->tbo.base.resv, DMA_RESV_USAGE_BOOKKEEP,
				 false, max_t(long, end - jiffies, 0)) > 0;
}

/* Others' fences are in nobody's way here; but pages that they may be for are not freed. */
static int bo_unplug(struct tessera_bo *bo, unsigned long end)
{
	struct ttm_operation_ctx ctx = { .interruptible = false };
	const struct ttm_place system = { .mem_type = TTM_PL_SYSTEM };
	struct ttm_placement pages = { .num_placement = 1, .placement = &system };
	struct ttm_placement nowhere = { };
	int ret;

	tessera_bo_unfix(bo);
	/* TTM would hand pages that are not idle to a ghost, mapped as they are. */
	if (!bo->dmabuf && !bo->pins && !bo->lent && bo_idles(bo, end))
		return ttm_bo_validate(&bo->tbo, &nowhere, &ctx);
	ret = ttm_bo_validate(&bo->tbo, &pages, &ctx);
	tessera_backing_detach(bo);

	return ret;
}

static void unplug_living(struct tessera_device *tdev, unsigned long end, bool imports)
{
	struct tessera_bo *bo;
	u32 id = 0;
	int ret;

	while ((bo = tessera_bo_next(tdev, id))) {
		id = bo->id;
		dma_resv_lock(bo->tbo.base.resv, NULL);
		ret = bo_unplug(bo, end);
		if (ret)
			drm_warn(&tdev->drm, "object %u keeps its place: %d\n", id, ret);
		bo->copy_valid = false;
		dma_resv_unlock(bo->tbo.base.resv);
		if (bo->dmabuf && !bo_detach(bo, !imports))
			tdev->unplug->attached = true;
		tessera_bo_put(bo);
	}
}

/*
 * Objects that are being destroyed, but not as long as others have fences there: their pages are unmapped as well. What
 * is private to a VM nobody else has.
 */
static void unplug_dying(struct tessera_device *tdev)
{
	struct drm_gem_object *gem;
	u32 id = 0;

	while ((gem = tessera_registry_catch(tdev, id))) {
		struct tessera_bo *bo = gem_to_tessera_bo(gem);

		id = bo->id;
		if (!bo->root) {
			dma_resv_lock(gem->resv, NULL);
			tessera_backing_detach(bo);
			dma_resv_unlock(gem->resv);
			if (bo->dmabuf)
				tessera_borrow_end(&bo->tbo, &bo->borrow);
		}
		tessera_registry_let_go(tdev);
	}
}

/* As long as it takes, with what an exporter, or others' fences, have kept. */
static void unplug_rest(struct tessera_device *tdev)
{
	struct tessera_bo *bo;
	u32 id = 0;

	while (tdev->unplug->attached && (bo = tessera_bo_next(tdev, id))) {
		id = bo->id;
		if (bo->dmabuf)
			bo_detach(bo, true);
		tessera_bo_put(bo);
	}
	tessera_registry_see_out(tdev, jiffies + MAX_JIFFY_OFFSET);
	/* And what moves have left behind. */
	flush_workqueue(tdev->ttm.wq);
}

static int unplug_thread(void *data)
{
	struct tessera_device *tdev = data;
	struct tessera_unplug *unplug = tdev->unplug;

	unplug_rest(tdev);
	/* Who waits may unload the module next: it is not for this to keep it. */
	if (!test_and_set_bit(UNPLUG_PARTED, &unplug->flags))
		kthread_complete_and_exit(&unplug->done, 0);
	drm_dev_put(&tdev->drm);
	module_put_and_kthread_exit(0);
}

static bool unplug_join(struct tessera_unplug *unplug, unsigned long end)
{
	/* What is unmapped at once is, however late it is. */
	if (tessera_wait_in(TESSERA_WAIT_UNPLUG,
			    wait_for_completion_timeout(&unplug->done,
							max_t(long, end - jiffies, HZ))))
		return true;
	if (!test_and_set_bit(UNPLUG_PARTED, &unplug->flags))
		return false;
	/* It is on its last lines. */
	tessera_wait_in(TESSERA_WAIT_UNPLUG, (wait_for_completion(&unplug->done), 0));

	return true;
}

/* Before any wait: who has been killed meanwhile gets no thread. NULL: the module is on its way out, or memory short. */
static struct task_struct *unplug_prepare(struct tessera_device *tdev)
{
	struct task_struct *task;

	if (!try_module_get(THIS_MODULE))
		return NULL;
	task = kthread_create(unplug_thread, tdev, "tessera-unplug");
	if (IS_ERR(task)) {
		module_put(THIS_MODULE);
		return NULL;
	}
	drm_dev_get(&tdev->drm);

	return task;
}

/* False if the thread is left to do it. Without one it is waited for. */
static bool unplug_see_out(struct tessera_device *tdev, struct task_struct *task,
			   unsigned long end)
{
	if (!task) {
		unplug_rest(tdev);
		return true;
	}
	wake_up_process(task);
	if (!unplug_join(tdev->unplug, end))
		return false;
	drm_dev_put(&tdev->drm);
	module_put(THIS_MODULE);

	return true;
}

/**
 * tessera_unplug_objects() - let go of everything that belongs to the bus device
 * @tdev: the device; drm_dev_unplug() is done and its engines are stopped
 *
 * CPU mappings refault to a dummy page; contents are lost. Objects whose pages another device
 * uses keep these, mapped for that one only, and so do those at which others have fences that do not
 * signal. What was imported is detached. Objects that are being destroyed already are seen out, or left to a thread.
 */
void tessera_unplug_objects(struct tessera_device *tdev)
{
	unsigned long end = jiffies + msecs_to_jiffies(UNPLUG_TIMEOUT_MS);
	struct tessera_unplug *unplug = tdev->unplug;
	struct task_struct *task = unplug_prepare(tdev);
	bool imports;

	unmap_mapping_range(tdev->drm.anon_inode->i_mapping, 0, 0, 1);

	imports = !tessera_wait_event_timeout(TESSERA_WAIT_UNPLUG, unplug->idle,
					      !atomic_read(&unplug->imports),
					      TASK_UNINTERRUPTIBLE, end - jiffies);
	if (imports)
		drm_warn(&tdev->drm, "gone while an exporter sleeps\n");
	unplug_living(tdev, end, imports);
	if (!unplug_see_out(tdev, task, end))
		unplug_dying(tdev);
}
