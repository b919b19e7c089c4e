// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: offers
 *
 * A client offers an object if it can do without the contents for a while, and
 * must not use the object until it has reclaimed it (RES-8).
 *
 * Offered objects are evicted first when a segment is short of space
 * (pure/victim.c), and their contents are dropped instead of copied
 * (mem/move.c). The pages of an offered object outside all segments are dropped
 * when the kernel is short of memory (mem/backing.c). Both happen only after
 * the jobs that use the object. Reclaiming tells the client whether the
 * contents are lost. A reclaimed object without contents is like a new one.
 *
 * An offered object is in no segment that shows its pages, so these can be
 * freed without waiting for the device. It belongs to one client alone: an
 * object with a second handle, or one that was exported, cannot be offered, and
 * an offered object cannot be exported.
 *
 * A call locks all its objects at once, so that it either succeeds or has no
 * effect.
 *
 * Decommit
 * --------
 *
 * A client may ask that the memory is given up at once (RES-12). The object
 * then leaves its segment in the call, as if it were a victim. Its pages are
 * freed when the fences that its reservation has at the end of the call have
 * signalled. Later jobs cannot reach the pages: submissions refuse the object,
 * and no page table points to it.
 *
 * A callback of these fences queues a work item that frees the pages, so no
 * thread waits for a job. TTM would hand the pages of a busy object to a ghost
 * object, for which one of its sixteen workers waits. The contents are not lost
 * before the pages are freed. An object that is reclaimed earlier keeps them.
 *
 * Reclaim
 * -------
 *
 * Reclaiming waits for no job. With a list of syncobjs it also brings the
 * objects back where there is free space, and hands out a fence for their moves
 * (WDDM: paging fence). Jobs wait for these moves by themselves. An object that
 * finds no space comes with the next job that uses it.
 */

#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <drm/tessera_drm.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>

#include "base/assert.h"
#include "base/device.h"
#include "base/trace.h"
#include "base/wait.h"
#include "client/client.h"
#include "mem/mem.h"
#include "segments/segments.h"

/*
 * Locking does not find duplicates, because the objects of a VM share one lock.
 */
static bool set_names_twice(struct tessera_bos *set)
{
	bool twice = false;
	u32 i;

	for (i = 0; i < set->num; i++) {
		twice |= set->bos[i]->offer.seen;
		set->bos[i]->offer.seen = true;
	}
	for (i = 0; i < set->num; i++)
		set->bos[i]->offer.seen = false;

	return twice;
}

/*
 * Looks up and locks all objects of a list. On failure none is locked. Returns
 * -EINVAL if the list names an object twice.
 */
static int set_begin(struct tessera_bos *set, struct drm_file *file, const void *list,
		     size_t stride, u32 num)
{
	int ret = tessera_bos_lookup(set, file, list, stride, num) ?: tessera_bos_lock(set, NULL);

	if (!ret && set_names_twice(set)) {
		drm_exec_fini(&set->exec);
		ret = -EINVAL;
	}
	if (ret)
		tessera_bos_put(set);

	return ret;
}

/* ---- Offer -------------------------------------------------------------------- */

static int offer_check(struct tessera_bo *bo)
{
	struct tessera_device *tdev = tessera_bo_device(bo);

	if (tessera_bo_is_immovable(bo) || bo->pins)
		return -EBUSY;
	if (tessera_ioctl_bad(tdev, tessera_bo_is_offered(bo)) ||
	    tessera_ioctl_bad(tdev, READ_ONCE(bo->sharing.exported)) ||
	    tessera_ioctl_bad(tdev, bo->user) ||
	    tessera_ioctl_bad(tdev, READ_ONCE(bo->tbo.base.handle_count) > 1) ||
	    tessera_ioctl_bad(tdev, READ_ONCE(bo->tbo.base.name)))
		return -EINVAL;
	if (READ_ONCE(bo->locks.held))
		return -EBUSY;

	return atomic_read(&bo->lost) ? -EIO : 0;
}

static int offer_leave_aperture(struct tessera_bo *bo)
{
	const struct tessera_segment *seg = tessera_bo_segment(bo);

	return tessera_segment_shows_pages(seg) ?
		tessera_victims_evict(bo, TESSERA_EVICT_OTHER) : 0;
}

/*
 * Set the offer. False if the object has been exported since offer_check(),
 * which takes no reservation.
 */
static bool offer_claim(struct tessera_bo *bo, u32 priority)
{
	bool exported;

	spin_lock(&bo->sharing.lock);
	exported = bo->sharing.exported;
	if (!exported)
		WRITE_ONCE(bo->offer.priority, priority);
	spin_unlock(&bo->sharing.lock);

	return !exported;
}

static int offer_claim_all(struct tessera_bos *set, u32 priority)
{
	u32 i;

	for (i = 0; i < set->num; i++) {
		if (offer_claim(set->bos[i], priority))
			continue;
		while (i--) {
			WRITE_ONCE(set->bos[i]->offer.priority, 0);
			/* A search may have seen the offer. */
			tessera_order_update(set->bos[i]);
		}
		return -EINVAL;
	}

	return 0;
}

/* @priority is set already. */
static void offer_one(struct tessera_bo *bo, u32 priority)
{
	/*
	 * CPU accesses fault from now on, and the fault handler refuses them.
	 */
	ttm_bo_unmap_virtual(&bo->tbo);
	tessera_bo_device(bo)->upcalls->window_close(bo);
	tessera_stale_map_check(bo);
	bo->offer.lost = false;
	tessera_order_update(bo);
	if (!tessera_bo_segment(bo))
		tessera_backing_add_donor(bo);
	/*
	 * The object no longer counts as missing for the clients that have
	 * listed it as resident, wherever it is.
	 */
	tessera_bo_device(bo)->upcalls->moved(bo);
	trace_tessera_offer(bo->id, priority);
}

/* ---- Decommit ------------------------------------------------------------------ */

/* No job or move uses the pages of @bo, which is in no segment. */
static void decommit_pages(struct tessera_bo *bo)
{
	if (tessera_backing_has_bytes(bo)) {
		trace_tessera_offer_drop(bo->id);
		tessera_backing_drop(bo);
		bo->offer.lost = true;
	}
	/* After a failure, reclaiming tries it again. */
	if (bo->offer.lost)
		tessera_bo_forget_pages(bo);
}

static void decommit_signaled(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct tessera_bo *bo = container_of(cb, struct tessera_bo, offer.cb);

	queue_work(tessera_bo_device(bo)->retain->decommits, &bo->offer.work);
}

/*
 * Gives up the memory of an offered object, the pages when the present fences
 * have signalled. Without memory for a move or a fence, and while the client's
 * unfinished work occupies as much memory as it may, the object gives way like
 * others that are offered.
 */
static void decommit(struct tessera_bo *bo)
{
	struct dma_fence *fence;

	if (!tessera_quota_has_memory(&bo->account->process->work))
		return;
	if (tessera_victims_evict(bo, TESSERA_EVICT_OTHER))
		return;
	if (bo->offer.fence) {
		bo->offer.decommit = true;
		bo->offer.again = true;
		return;
	}
	if (dma_resv_get_singleton(bo->tbo.base.resv, DMA_RESV_USAGE_BOOKKEEP, &fence))
		return;
	if (!fence) {
		/* All have signalled. */
		decommit_pages(bo);
		return;
	}
	bo->offer.decommit = true;
	bo->offer.fence = fence;
	tessera_bo_get(bo);
	if (dma_fence_add_callback(fence, &bo->offer.cb, decommit_signaled))
		queue_work(tessera_bo_device(bo)->retain->decommits, &bo->offer.work);
}

static void decommit_locked(struct tessera_bo *bo)
{
	bool again = bo->offer.again;

	dma_fence_put(bo->offer.fence);
	bo->offer.fence = NULL;
	bo->offer.again = false;
	if (!bo->offer.decommit)
		return;
	bo->offer.decommit = false;
	if (again)
		decommit(bo);
	else
		decommit_pages(bo);
}

/**
 * tessera_offer_work() - free the pages of an object that was decommitted
 * @work: &tessera_bo_offer.work
 */
void tessera_offer_work(struct work_struct *work)
{
	struct tessera_bo *bo = container_of(work, struct tessera_bo, offer.work);

	dma_resv_lock(bo->tbo.base.resv, NULL);
	decommit_locked(bo);
	dma_resv_unlock(bo->tbo.base.resv);
	tessera_bo_put(bo);
}

static int offer_locked(struct tessera_bos *set, u32 priority, bool give_up)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < set->num && !ret; i++)
		ret = offer_check(set->bos[i]);
	/* If a later step fails, the objects that have left are still valid. */
	for (i = 0; i < set->num && !ret; i++)
		ret = offer_leave_aperture(set->bos[i]);
	ret = ret ?: offer_claim_all(set, priority);
	for (i = 0; i < set->num && !ret; i++)
		offer_one(set->bos[i], priority);
	for (i = 0; i < set->num && !ret && give_up; i++) {
		decommit(set->bos[i]);
		cond_resched();
	}

	return ret;
}

/**
 * tessera_offer() - offer the contents of objects
 * @file: the open file that owns the objects
 * @list: their handles
 * @num: number of elements in @list
 * @priority: DRM_TESSERA_OFFER_*
 * @give_up: give up the memory at once
 *
 * Return: 0, or one of the errors of &struct drm_tessera_offer, with nothing
 * offered.
 */
int tessera_offer(struct drm_file *file, const struct drm_tessera_offer_bo *list, u32 num,
		  u32 priority, bool give_up)
{
	struct tessera_bos set;
	int ret;

	static_assert(!offsetof(struct drm_tessera_offer_bo, handle));
	ret = set_begin(&set, file, list, sizeof(*list), num);
	if (ret)
		return ret;
	ret = offer_locked(&set, priority, give_up);
	drm_exec_fini(&set.exec);
	tessera_bos_put(&set);

	return ret;
}

/* ---- Reclaim ------------------------------------------------------------------- */

/*
 * The pages of an object that has lost its contents are free already. The call
 * can be repeated after a failure.
 */
static int reclaim_as_new(struct tessera_bo *bo)
{
	return bo->offer.lost ? tessera_bo_forget_pages(bo) : 0;
}

static void reclaim_one(struct tessera_bo *bo, u32 *result)
{
	*result = bo->offer.lost ? DRM_TESSERA_RECLAIM_DISCARDED : DRM_TESSERA_RECLAIM_KEPT;
	trace_tessera_reclaim(bo->id, bo->offer.lost);
	bo->offer.lost = false;
	bo->offer.decommit = false;
	WRITE_ONCE(bo->offer.priority, 0);
	tessera_order_update(bo);
	/*
	 * The object counts as missing again for the clients that have listed
	 * it as resident.
	 */
	tessera_bo_device(bo)->upcalls->moved(bo);
}

static int reclaim_locked(struct tessera_bos *set, struct drm_tessera_reclaim_bo *list)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < set->num; i++) {
		if (tessera_ioctl_bad(tessera_bo_device(set->bos[i]),
				      !tessera_bo_is_offered(set->bos[i])))
			return -EINVAL;
		if (atomic_read(&set->bos[i]->lost))
			ret = -EIO;
	}
	for (i = 0; i < set->num && !ret; i++)
		ret = reclaim_as_new(set->bos[i]);
	for (i = 0; i < set->num && !ret; i++)
		reclaim_one(set->bos[i], &list[i].result);

	return ret;
}

/*
 * Moves a reclaimed object to its place. The call fills no pages: what was
 * swapped out, and what has no contents and goes to its pages, comes with the
 * next job.
 */
static int bring_one_back(struct tessera_bo *bo, struct tessera_space_rules *rules)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	const struct tessera_segment *seg = tessera_segment_by_id(tdev, bo->preferred[0]);

	/* No job can reach it. */
	if (tessera_bo_is_in_vm(bo) && !bo->residency.num)
		return -ENOENT;
	if (tessera_backing_users(bo))
		return tessera_residency_validate(bo, bo->writable, rules);
	if (tessera_backing_has_bytes(bo) || !tessera_segment_is_vram(seg) ||
	    tessera_residency_serves(bo, bo->writable) ||
	    !tessera_residency_segment_serves(bo, seg, bo->writable))
		return -ENOENT;

	return tessera_residency_move_in(bo, seg, false, rules);
}

/*
 * Moves reclaimed objects to free space, as far as the client's quota allows.
 * The objects belong to the caller alone, so no other device is in the way.
 */
static void bring_back(struct tessera_bos *set)
{
	u32 i, num = min(set->num, TESSERA_ROUND_MOVES);
	struct tessera_blocker blocker = { };
	struct tessera_space_rules rules = { .blocker = &blocker };
	struct tessera_quota *work;
	u64 stamp;

	if (!num)
		return;
	work = &set->bos[0]->account->process->work;
	if (!tessera_quota_try(work, num * TESSERA_MOVE_BYTES))
		return;
	stamp = tessera_residency_next_stamp(tessera_bo_device(set->bos[0]));
	for (i = 0; i < num; i++) {
		if (!bring_one_back(set->bos[i], &rules))
			tessera_residency_commit(set->bos[i], false, stamp);
		cond_resched();
	}
	tessera_quota_uncharge(work, num * TESSERA_MOVE_BYTES);
}

/* There was no memory for a fence. */
static void wait_for_moves(struct tessera_bos *set, struct dma_fence **fence)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < set->num && !ret; i++)
		ret = tessera_wait_resv_killable(TESSERA_WAIT_NO_MEMORY,
						 set->bos[i]->tbo.base.resv,
						 DMA_RESV_USAGE_KERNEL);
	*fence = dma_fence_get_stub();
}

/**
 * tessera_reclaim() - take back offered objects
 * @file: the open file that owns the objects
 * @list: their handles; receives for each whether its contents are lost
 * @num: number of elements in @list
 * @fence: receives a fence for the moves of the objects, which the call begins;
 * or NULL
 *
 * Return: 0, or one of the errors of &struct drm_tessera_reclaim, with nothing
 * reclaimed.
 */
int tessera_reclaim(struct drm_file *file, struct drm_tessera_reclaim_bo *list, u32 num,
		    struct dma_fence **fence)
{
	struct tessera_bos set;
	int ret, no_fence = 0;

	static_assert(!offsetof(struct drm_tessera_reclaim_bo, handle));
	ret = set_begin(&set, file, list, sizeof(*list), num);
	if (ret)
		return ret;
	ret = reclaim_locked(&set, list);
	if (!ret && fence) {
		bring_back(&set);
		no_fence = tessera_residency_fence(&set, fence);
	}
	drm_exec_fini(&set.exec);
	if (no_fence)
		wait_for_moves(&set, fence);
	tessera_bos_put(&set);

	return ret;
}
