// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: syncobj lists
 *
 * Fences that a submission waits for, and syncobjs that it signals, binary and
 * timeline. All steps that can fail are done when the list is read, except for
 * those of monitored fences, which are done just before the job is armed.
 * Signalling allocates nothing. No locks.
 */
#include <linux/dma-fence-chain.h>
#include <linux/dma-fence-unwrap.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_syncobj.h>
#include <drm/gpu_scheduler.h>
#include <drm/tessera_drm.h>

#include "base/device.h"
#include "exec/exec.h"
#include "sync/sync.h"

/* An element of the list: a syncobj to signal, or nothing. */
struct tessera_sync_item {
	struct drm_syncobj *signal;
	struct dma_fence_chain *chain;
	u64 point;
	/* Index of the value in @signals plus 1; 0: not a monitored fence. */
	u32 value;
};

static int sync_check(const struct drm_tessera_sync *sync)
{
	bool timeline = sync->flags & DRM_TESSERA_SYNC_TIMELINE;

	if (sync->flags & ~(DRM_TESSERA_SYNC_SIGNAL | DRM_TESSERA_SYNC_TIMELINE |
			    DRM_TESSERA_SYNC_WAIT_FOR_SUBMIT))
		return -EINVAL;
	if ((sync->flags & DRM_TESSERA_SYNC_SIGNAL) &&
	    (sync->flags & DRM_TESSERA_SYNC_WAIT_FOR_SUBMIT))
		return -EINVAL;

	return timeline == !!sync->point ? 0 : -EINVAL;
}

/*
 * Add a container's unsignalled fences to @found; with @foreign_to only those
 * that are not of its jobs. A client can make a timeline of any length, so the
 * caller may hold no lock, and a signal ends the walk.
 */
static int add_fences(struct tessera_fences *found, struct dma_fence *container,
		      struct tessera_device *foreign_to)
{
	struct dma_fence_unwrap cursor;
	struct dma_fence *fence;
	int ret;

	dma_fence_unwrap_for_each(fence, &cursor, container) {
		cond_resched();
		if (signal_pending(current))
			ret = -ERESTARTSYS;
		else if (dma_fence_is_signaled(fence) ||
			 (foreign_to && tessera_fence_is_own(foreign_to, fence)))
			continue;
		else
			ret = tessera_fences_add(found, fence);
		if (ret) {
			dma_fence_put(cursor.chain);
			return ret;
		}
	}

	return 0;
}

/*
 * Add the foreign fences of an element to @found. With WAIT_FOR_SUBMIT, wait
 * until the syncobj has a fence. The core gives up after some seconds and does
 * not notice unplug, so call it in a loop.
 */
static int sync_await(struct tessera_device *tdev, struct drm_file *file,
		      const struct drm_tessera_sync *sync, struct tessera_fences *found)
{
	bool wait = sync->flags & DRM_TESSERA_SYNC_WAIT_FOR_SUBMIT;
	struct dma_fence *fence;
	int ret;

	do {
		if (drm_dev_is_unplugged(&tdev->drm))
			return -ENODEV;
		fence = NULL;
		ret = drm_syncobj_find_fence(file, sync->handle, sync->point,
					     wait ? DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT : 0,
					     &fence);
	} while (wait && ret == -ETIME && !fence);
	/*
	 * Without WAIT_FOR_SUBMIT, the core leaves a stale pointer in @fence on
	 * failure.
	 */
	if (!wait && ret)
		return ret;
	/*
	 * A fence that arrives just when the core gives up is returned with
	 * -ETIME.
	 */
	if (!ret || ret == -ETIME)
		ret = add_fences(found, fence, tdev);
	dma_fence_put(fence);

	return ret;
}

/**
 * tessera_syncs_await() - wait until all fences of a list exist, and for the
 * foreign ones
 * @tdev: the device
 * @file: the open file
 * @list: a copy of the list
 * @count: length of the list
 *
 * The wait is unbounded, so the caller must hold no lock and must not have
 * charged anything.
 *
 * Return: 0, -EINVAL for bad flags or a syncobj without a fence, -ENOENT for an
 * unknown syncobj, -ENODEV, -ENOMEM or -ERESTARTSYS.
 */
int tessera_syncs_await(struct tessera_device *tdev, struct drm_file *file,
			const struct drm_tessera_sync *list, u32 count)
{
	struct tessera_fences found = { };
	u32 i;
	int ret = 0;

	/*
	 * Check all elements first: do not wait for a list that is then
	 * refused.
	 */
	for (i = 0; i < count && !ret; i++)
		ret = sync_check(&list[i]);
	for (i = 0; i < count && !ret; i++)
		if (!(list[i].flags & DRM_TESSERA_SYNC_SIGNAL))
			ret = sync_await(tdev, file, &list[i], &found);
	if (!ret)
		ret = tessera_foreign_wait(tdev, &found, TESSERA_WAIT_FOREIGN,
					   MAX_SCHEDULE_TIMEOUT);
	tessera_fences_fini(&found);

	return ret;
}

static int sync_find_waits(struct tessera_fences *waits, struct drm_file *file,
			   const struct drm_tessera_sync *sync)
{
	struct dma_fence *wait;
	int ret;

	/* On failure, the core may leave a stale pointer in @wait. */
	ret = drm_syncobj_find_fence(file, sync->handle, sync->point, 0, &wait);
	if (ret)
		return ret;
	ret = add_fences(waits, wait, NULL);
	dma_fence_put(wait);

	return ret;
}

static int sync_item_init(struct tessera_sync_item *item, struct drm_file *file,
			  const struct drm_tessera_sync *sync)
{
	if (sync->flags & DRM_TESSERA_SYNC_TIMELINE) {
		item->chain = dma_fence_chain_alloc();
		if (!item->chain)
			return -ENOMEM;
		item->point = sync->point;
	}
	item->signal = drm_syncobj_find(file, sync->handle);

	return item->signal ? 0 : -ENOENT;
}

static int syncs_init_signals(struct tessera_syncs *syncs, struct tessera_monitored_set *fences,
			      struct tessera_quota *quota)
{
	u32 i, max = 0, num = 0;
	int ret;

	if (!fences)
		return 0;
	for (i = 0; i < syncs->count; i++)
		max += !!syncs->items[i].point;
	for (i = 0; i < syncs->count; i++) {
		struct tessera_sync_item *item = &syncs->items[i];

		if (!item->point)
			continue;
		ret = tessera_signals_add(&syncs->signals, fences, quota, item->signal,
					  item->point, max);
		if (ret < 0)
			return ret;
		if (ret)
			item->value = ++num;
	}

	return syncs->signals ? tessera_signals_prepare(syncs->signals) : 0;
}

/* @engine: as for tessera_syncs_wait() */
static bool is_outside(struct tessera_device *tdev, const struct tessera_engine *engine,
		       struct dma_fence *fence)
{
	struct drm_sched_fence *s_fence = to_drm_sched_fence(fence);

	return engine ? !s_fence || s_fence->sched != &engine->sched :
			!tessera_fence_is_own(tdev, fence);
}

/**
 * tessera_syncs_wait() - wait for fences of the list
 * @syncs: the list
 * @tdev: the device
 * @engine: wait for all fences but those of this engine's jobs; NULL: wait for
 *	the foreign fences
 *
 * Nothing may be armed. The caller must hold no lock. With @engine it may hold
 * its context's lock.
 *
 * Return: 0, -ENODEV, -ENOMEM or -ERESTARTSYS.
 */
int tessera_syncs_wait(const struct tessera_syncs *syncs, struct tessera_device *tdev,
		       const struct tessera_engine *engine)
{
	struct tessera_fences found = { };
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < syncs->waits.num; i++) {
		struct dma_fence *fence = syncs->waits.fence[i];

		if (!dma_fence_is_signaled(fence) && is_outside(tdev, engine, fence))
			ret = tessera_fences_add(&found, fence);
	}
	if (!ret)
		ret = tessera_foreign_wait(tdev, &found, TESSERA_WAIT_FOREIGN,
					   MAX_SCHEDULE_TIMEOUT);
	tessera_fences_fini(&found);

	return ret;
}

/**
 * tessera_syncs_init() - look up the fences and syncobjs of a user's list
 * @syncs: the result; call tessera_syncs_fini() even after a failure
 * @tdev: the device
 * @file: the open file
 * @fences: the client's monitored fences; NULL: leave their values unchanged
 * @quota: the client's quota
 * @list: a copy of the list
 * @count: length of the list
 *
 * Waits for foreign fences that were put into a syncobj since
 * tessera_syncs_await(). The caller must hold no lock.
 *
 * Return: 0, -ENOENT for an unknown syncobj, -EINVAL for bad flags, a wait for
 * a syncobj without a fence or a value of a monitored fence that does not rise,
 * -ENOMEM, or an error of tessera_syncs_wait().
 */
int tessera_syncs_init(struct tessera_syncs *syncs, struct tessera_device *tdev,
		       struct drm_file *file, struct tessera_monitored_set *fences,
		       struct tessera_quota *quota, const struct drm_tessera_sync *list, u32 count)
{
	u32 i;
	int ret;

	if (!count)
		return 0;
	syncs->items = kvcalloc(count, sizeof(*syncs->items), GFP_KERNEL_ACCOUNT);
	if (!syncs->items)
		return -ENOMEM;
	syncs->count = count;

	for (i = 0; i < count; i++) {
		ret = sync_check(&list[i]);
		if (!ret)
			ret = list[i].flags & DRM_TESSERA_SYNC_SIGNAL ?
			      sync_item_init(&syncs->items[i], file, &list[i]) :
			      sync_find_waits(&syncs->waits, file, &list[i]);
		if (ret)
			return ret;
	}

	return tessera_syncs_wait(syncs, tdev, NULL) ?: syncs_init_signals(syncs, fences, quota);
}

/**
 * tessera_syncs_fini() - release the references of a list
 * @syncs: the list, zeroed or initialized
 */
void tessera_syncs_fini(struct tessera_syncs *syncs)
{
	u32 i;

	for (i = 0; i < syncs->count; i++) {
		struct tessera_sync_item *item = &syncs->items[i];

		if (item->signal)
			drm_syncobj_put(item->signal);
		dma_fence_chain_free(item->chain);
	}
	tessera_signals_put(syncs->signals);
	tessera_fences_fini(&syncs->waits);
	kvfree(syncs->items);
	syncs->items = NULL;
	syncs->signals = NULL;
	syncs->count = 0;
}

/**
 * tessera_syncs_add_waits() - make a job wait for the fences of the list
 * @syncs: the list
 * @job: the job, not armed
 *
 * Foreign fences are skipped. tessera_syncs_init() has waited for them.
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_syncs_add_waits(const struct tessera_syncs *syncs, struct tessera_job *job)
{
	struct tessera_device *tdev = job->engine->tdev;
	u32 i;
	int ret = 0;

	for (i = 0; !ret && i < syncs->waits.num; i++) {
		struct dma_fence *fence = syncs->waits.fence[i];

		if (!dma_fence_is_signaled(fence) && tessera_fence_is_own(tdev, fence))
			ret = tessera_job_add_dependency(job, dma_fence_get(fence));
	}

	return ret;
}

/**
 * tessera_syncs_charge() - charge a job for the memory that signalling leaves
 * in syncobjs
 * @syncs: the list
 * @job: the job that signals it, not armed
 *
 * The core frees a timeline point some time after its fence has signalled.
 */
void tessera_syncs_charge(const struct tessera_syncs *syncs, struct tessera_job *job)
{
	u32 i, num = 0;

	for (i = 0; i < syncs->count; i++)
		num += !!syncs->items[i].chain;
	if (num)
		tessera_job_charge(job, num * sizeof(struct dma_fence_chain));
}

static void sync_signal(struct tessera_sync_item *item, struct dma_fence *fence)
{
	if (item->chain) {
		drm_syncobj_add_point(item->signal, item->chain, fence, item->point);
		/* The syncobj owns it now. */
		item->chain = NULL;
	} else {
		drm_syncobj_replace_fence(item->signal, fence);
	}
}

/**
 * tessera_syncs_commit() - put a fence into the monitored fences of the list
 * @syncs: the list, after tessera_signals_begin()
 * @fence: fence of an armed job that is not pushed yet
 *
 * Drops the lock of the client's monitored fences.
 */
void tessera_syncs_commit(struct tessera_syncs *syncs, struct dma_fence *fence)
{
	u32 i;

	if (!syncs->signals)
		return;
	for (i = 0; i < syncs->count; i++) {
		struct tessera_sync_item *item = &syncs->items[i];

		if (item->value && tessera_signals_live(syncs->signals, item->value - 1))
			sync_signal(item, fence);
	}
	tessera_signals_commit(syncs->signals);
}

/**
 * tessera_syncs_signal() - put a fence into all other syncobjs of the list
 * @syncs: the list
 * @fence: fence of a job that was pushed
 *
 * The core walks the points of a timeline, and a client can create any number
 * of them. The caller may therefore hold no lock but its context's.
 */
void tessera_syncs_signal(struct tessera_syncs *syncs, struct dma_fence *fence)
{
	u32 i;

	for (i = 0; i < syncs->count; i++)
		if (syncs->items[i].signal && !syncs->items[i].value)
			sync_signal(&syncs->items[i], fence);
}
