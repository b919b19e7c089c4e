// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: residency
 *
 * Residency code brings an object into a segment.
 *
 * The object goes to one of its segments in order of preference, at first
 * without evictions, then with them (mem/victims.c). A plan names an exact
 * place instead. Objects that are private to a VM and have no alignment take
 * any free pages; all others are contiguous. Submissions and CPU faults call
 * this with the reservation of the object held.
 *
 * An object with pinned pages stays in an aperture or in system memory, and
 * moves between these. A client can therefore not fill a memory segment with
 * objects that cannot be evicted. Here and below a UMA segment counts as an
 * aperture, because it shows the pages in place, and memory segments are VRAM.
 *
 * Moves and foreign fences
 * ------------------------
 *
 * A foreign fence is a fence that no job of this device signals. Other devices
 * and user space add foreign fences to the reservations of exported and
 * imported objects.
 *
 * No move waits for a foreign fence. There is no peer-to-peer access, so only
 * this device reaches its memory segments, and a foreign fence protects only
 * the system pages of an object:
 *
 * - A move out of a memory segment, or inside one, waits for jobs of this
 *   device only. The next two rules ensure that no other device uses the pages
 *   of an object in memory.
 * - An object moves from its pages to a memory segment only when no other
 *   device uses the pages (&tessera_bo_sharing.lent) and all foreign fences of
 *   the object have signalled.
 * - An aperture and page tables show the pages in place. An object comes to an
 *   aperture when the moves of the exporter are finished
 *   (DMA_RESV_USAGE_KERNEL), so that jobs at virtual addresses find valid
 *   contents.
 *
 * An object that may not come to memory yet is used in an aperture, if that
 * serves. Otherwise the client that wants the object waits with no lock held
 * and nothing armed (&struct tessera_blocker). After that the rules are applied
 * again under the reservation. The time that an eviction, a range, a paging
 * queue or a page table takes therefore depends on jobs of this device alone.
 * The alternative is to let moves wait for foreign fences. This was rejected,
 * because user space could then block ranges, queues and page tables for any
 * time, and because such moves would need an order with all others.
 *
 * No job of this device waits for a foreign fence either: its client has waited
 * in the ioctl (exec/foreign.c).
 */

#include <linux/dma-fence-array.h>
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/sched/signal.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>

#include "base/compat.h"
#include "base/device.h"
#include "base/trace.h"
#include "borrow/borrow.h"
#include "client/client.h"
#include "exec/exec.h"
#include "mem/mem.h"
#include "segments/segments.h"

/*
 * Limits retries. Space may appear between a failed attempt and the search for
 * its reason.
 */
#define PLACE_TRIES		4

/*
 * Moves an object to one place of a segment without evictions, because the
 * place is "desired". TTM returns -ENOMEM for a lack of space, too. The free
 * space of the manager tells the two cases apart.
 */
static int place_in(struct tessera_bo *bo, const struct tessera_segment *seg,
		    u64 start, u64 end, bool passes)
{
	/*
	 * Parts of the plan may be running already, so a signal must not
	 * interrupt the rest.
	 */
	struct ttm_operation_ctx ctx = { .interruptible = false };
	struct ttm_place place =
		tessera_segment_place(seg, start, end, tessera_bo_place_flags(bo) |
				      (passes ? TESSERA_PLACE_PASSES : 0));
	struct ttm_placement placement = { .num_placement = 1, .placement = &place };
	struct tessera_manager *mgr = tessera_manager_of(tessera_bo_device(bo), seg->index);
	int try, ret;

	/*
	 * If space has appeared meanwhile, another attempt finds the true
	 * reason.
	 */
	for (try = 0; try < PLACE_TRIES; try++) {
		ret = ttm_bo_validate(&bo->tbo, &placement, &ctx);
		if (ret != -ENOMEM)
			return ret;
		if (!passes && tessera_manager_closed(mgr))
			return -EAGAIN;
		if (tessera_bo_may_scatter(bo) ?
		    !tessera_manager_has(mgr, tessera_bo_bytes(bo)) :
		    !tessera_manager_fits(mgr, tessera_bo_bytes(bo),
					  tessera_placement_alignment(seg, &bo->tbo), start, end))
			return -ENOSPC;
	}

	return ret;
}

/**
 * tessera_residency_segment_serves() - check whether a job can use an object in
 * a segment
 * @bo: the object
 * @seg: the segment, or NULL
 * @write: the job writes it
 *
 * Return: true if it can.
 */
bool tessera_residency_segment_serves(struct tessera_bo *bo, const struct tessera_segment *seg,
				      bool write)
{
	return seg && (tessera_bo_allowed(bo, write) & BIT(seg->id));
}

/**
 * tessera_residency_foreign() - collect the unsignalled foreign fences of an
 * object
 * @bo: the object; the result is stable as long as its reservation is held
 * @usage: which fences to check
 * @found: the fences are added to it
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_residency_foreign(struct tessera_bo *bo, enum dma_resv_usage usage,
			      struct tessera_fences *found)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	int ret = 0;

	if (!READ_ONCE(bo->sharing.exported))
		return 0;
	dma_resv_iter_begin(&cursor, bo->tbo.base.resv, usage);
	dma_resv_for_each_fence_unlocked(&cursor, fence) {
		if (tessera_fence_is_own(tdev, fence) || dma_fence_is_signaled(fence))
			continue;
		ret = tessera_fences_add(found, fence);
		if (ret)
			break;
	}
	dma_resv_iter_end(&cursor);

	return ret;
}

/**
 * tessera_residency_may_come() - check whether an object may come to a segment
 * now
 * @bo: the object, reservation held
 * @seg: the segment
 * @blocker: receives the reason if it may not; contains no object before the
 * call
 *
 * Return: 0; -EINPROGRESS if the caller has to call tessera_residency_unblock()
 * and try again; or -ENOMEM.
 */
int tessera_residency_may_come(struct tessera_bo *bo, const struct tessera_segment *seg,
			       struct tessera_blocker *blocker)
{
	bool memory = tessera_segment_is_vram(seg);
	int ret;

	if (tessera_segment_is_vram(tessera_bo_segment(bo)))
		return 0;
	tessera_fences_fini(&blocker->foreign);
	ret = tessera_residency_foreign(bo, memory ? DMA_RESV_USAGE_BOOKKEEP :
						     DMA_RESV_USAGE_KERNEL, &blocker->foreign);
	if (ret || blocker->foreign.num)
		return ret ?: -EINPROGRESS;
	if (!(bo->sharing.dmabuf && !bo->tbo.sg) && !(memory && bo->sharing.lent))
		return 0;
	/*
	 * No fence is pending. The other device has to be asked for the pages.
	 */
	tessera_bo_get(bo);
	blocker->bo = bo;

	return -EINPROGRESS;
}

/*
 * Make a gap for an object in one piece. With enough free bytes, compaction
 * comes first, because it evicts no contiguous objects.
 */
static int make_gap(struct tessera_bo *bo, const struct tessera_segment *seg,
		    struct tessera_space_rules *rules, u64 *start)
{
	struct tessera_manager *mgr = tessera_manager_of(tessera_bo_device(bo), seg->index);
	bool push = rules->compact && tessera_manager_has(mgr, tessera_bo_bytes(bo));
	int ret = -ENOSPC;

	if (push)
		ret = tessera_compact(bo, seg, rules, start);
	if (ret == -ENOSPC)
		ret = tessera_victims_make_gap(bo, seg, rules, start);
	if (ret == -ENOSPC && rules->compact && !push)
		ret = tessera_compact(bo, seg, rules, start);

	return ret;
}

/**
 * tessera_residency_move_in() - bring an object into a segment
 * @bo: the object, reservation held, not in that segment
 * @seg: a segment that it may be in
 * @evict: other objects may be evicted
 * @rules: constraints on evictions
 *
 * Return: 0; -ENOSPC if it does not fit; -EAGAIN if the segment is claimed and
 * @rules do not ignore claims; -EINPROGRESS from tessera_residency_may_come(),
 * or with @rules->asked; or another error.
 */
int tessera_residency_move_in(struct tessera_bo *bo, const struct tessera_segment *seg, bool evict,
			      struct tessera_space_rules *rules)
{
	u64 start;
	int ret;

	tessera_account_note_demand(bo->account, seg->index);
	ret = tessera_residency_may_come(bo, seg, rules->blocker);
	if (ret)
		return ret;
	if (!evict)
		return place_in(bo, seg, 0, 0, rules->passes);
	if (tessera_bo_may_scatter(bo)) {
		ret = tessera_victims_make_bytes(bo, seg, rules);
		return ret ?: place_in(bo, seg, 0, 0, rules->passes);
	}

	ret = make_gap(bo, seg, rules, &start);
	if (ret)
		return ret;

	return place_in(bo, seg, start,
			start + tessera_placement_footprint(seg, tessera_bo_bytes(bo)),
			rules->passes);
}

/**
 * tessera_residency_serves() - check whether a job can use an object at its
 * present place
 * @bo: the object, reservation held
 * @write: the GPU is going to write it
 *
 * Return: 1 if it can, 0 if the object has to be moved, -EIO if its contents
 * are lost, -EINVAL if it is offered.
 */
int tessera_residency_serves(struct tessera_bo *bo, bool write)
{
	if (atomic_read(&bo->lost))
		return -EIO;
	if (tessera_bo_is_offered(bo))
		return -EINVAL;

	return tessera_residency_segment_serves(bo, tessera_bo_segment(bo), write);
}

/**
 * tessera_residency_validate() - bring an object into one of its segments
 * @bo: the object, reservation held
 * @write: the GPU is going to write it
 * @rules: constraints on evictions
 *
 * An object in a usable segment stays there. Otherwise its segments are tried
 * in order of preference, at first without evictions. Then objects of processes
 * above their share, and the least recently used ones, are evicted. Locked
 * objects are not evicted. If foreign fences keep the object from memory, it
 * goes to a usable aperture. Does not wait for the GPU.
 *
 * Return: 0; -ENOSPC if it does not fit; -EAGAIN if a segment is claimed, see
 * TESSERA_SPACE_UNCLAIMED; -EINPROGRESS from tessera_residency_may_come(), or
 * with @rules->asked; or another error.
 */
int tessera_residency_validate(struct tessera_bo *bo, bool write,
			       struct tessera_space_rules *rules)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	const struct tessera_segment *seg = tessera_bo_segment(bo), *blocked = NULL;
	bool evict;
	u32 i;
	int ret;

	ret = tessera_residency_serves(bo, write);
	if (ret) {
		if (ret > 0)
			tessera_account_note_demand(bo->account, seg->index);
		return min(ret, 0);
	}

	for (evict = false; ; evict = true) {
		for (i = 0; i < bo->num_preferred; i++) {
			seg = tessera_segment_by_id(tdev, bo->preferred[i]);
			if (!tessera_residency_segment_serves(bo, seg, write))
				continue;

			if (evict && !rules->evictions)
				return -ENOSPC;
			ret = tessera_residency_move_in(bo, seg, evict, rules);
			if (ret == -EINPROGRESS && rules->blocker->foreign.num &&
			    tessera_bo_page_segments(bo, write)) {
				blocked = seg;
				tessera_blocker_clear(rules->blocker);
			} else if (ret != -ENOSPC) {
				return ret;
			}
		}
		if (evict)
			break;
	}

	return (blocked ? tessera_residency_may_come(bo, blocked, rules->blocker) : 0) ?: -ENOSPC;
}

/* Checks that the range overlaps no object other than @bo. */
static bool place_is_clear(struct tessera_bo *bo, const struct tessera_segment *seg, u64 start,
			   u64 end)
{
	struct tessera_manager *mgr = tessera_manager_of(tessera_bo_device(bo), seg->index);
	struct tessera_placement *placement = tessera_bo_placement(bo);
	struct drm_mm_node *own = placement ? &placement->extents->node : NULL;
	struct drm_mm_node *node;
	bool clear = true;

	mutex_lock(&mgr->lock);
	drm_mm_for_each_node_in_range(node, &mgr->mm, start >> PAGE_SHIFT, end >> PAGE_SHIFT) {
		if (node != own) {
			clear = false;
			break;
		}
	}
	mutex_unlock(&mgr->lock);

	return clear;
}

/**
 * tessera_residency_place() - put an object at an exact place
 * @bo: the object, reservation held
 * @write: the GPU is going to write it
 * @segment_id: the segment
 * @offset: byte offset
 * @blocker: receives the reason if the object may not come yet
 *
 * Inside a segment the old and the new range may overlap.
 *
 * Return: 0; -EAGAIN if the range is not free, the segment is claimed, or the
 * object was pinned, locked or scanned out since the plan was made;
 * -EINPROGRESS from tessera_residency_may_come(); or another error.
 */
int tessera_residency_place(struct tessera_bo *bo, bool write, u32 segment_id, u64 offset,
			    struct tessera_blocker *blocker)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	const struct tessera_segment *seg = tessera_segment_by_id(tdev, segment_id);
	const struct tessera_segment *now = tessera_bo_segment(bo);
	u64 size;
	int ret;

	if (!seg || !(bo->supported & BIT(segment_id)) || tessera_bo_is_offered(bo))
		return -EINVAL;
	if (atomic_read(&bo->lost))
		return -EIO;

	tessera_account_note_demand(bo->account, seg->index);
	if (now == seg && tessera_bo_segment_offset(bo) == offset)
		return 0;
	/* These states may have changed since the plan was made. */
	if (tessera_bo_is_immovable(bo))
		return -EAGAIN;
	if (!(tessera_bo_allowed(bo, write) & BIT(segment_id)))
		return -EAGAIN;
	ret = now == seg ? 0 : tessera_residency_may_come(bo, seg, blocker);
	if (ret)
		return ret;

	size = tessera_placement_footprint(seg, tessera_bo_bytes(bo));
	if (tessera_manager_closed(tessera_manager_of(tdev, seg->index)) ||
	    !place_is_clear(bo, seg, offset, offset + size))
		return -EAGAIN;
	ret = now == seg ? tessera_move_within(bo, offset) :
			   place_in(bo, seg, offset, offset + size, false);

	return ret == -ENOSPC ? -EAGAIN : ret;
}

static int add_moves(struct tessera_fences *fences, struct tessera_bo *bo)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	int ret = 0;

	/* Jobs wait for page tables by themselves. */
	if (bo->tables)
		return 0;
	dma_resv_for_each_fence(&cursor, bo->tbo.base.resv, DMA_RESV_USAGE_KERNEL, fence) {
		if (!dma_fence_is_signaled(fence))
			ret = tessera_fences_add(fences, fence);
		if (ret)
			break;
	}

	return ret;
}

/**
 * tessera_residency_fence() - return a fence for the moves of objects (WDDM:
 * paging fence)
 * @bos: the objects, reservations held
 * @fence: receives the fence, with a reference
 *
 * Includes moves that were queued earlier.
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_residency_fence(const struct tessera_bos *bos, struct dma_fence **fence)
{
	struct tessera_fences fences = { };
	struct dma_fence_array *array;
	u32 i;
	int ret = 0;

	for (i = 0; i < bos->num && !ret; i++)
		ret = add_moves(&fences, bos->bos[i]);
	if (ret)
		goto out;
	for (i = 0; i < bos->num; i++)
		if (!bos->bos[i]->tables)
			tessera_dep_check_fences(&bos->bos[i]->dep_check, TESSERA_DEP_CHECK_MOVE,
						 &fences, bos->bos[i]->id);

	if (!fences.num) {
		*fence = dma_fence_get_stub();
		goto out;
	}
	array = dma_fence_array_create(fences.num, fences.fence, dma_fence_context_alloc(1), 1);
	if (!array) {
		ret = -ENOMEM;
		goto out;
	}
	*fence = &array->base;
	/* The array owns them now. */
	fences.fence = NULL;
	fences.num = 0;
out:
	tessera_fences_fini(&fences);
	return ret;
}

/*
 * Jobs go on using a pinned object, so it needs an aperture in which the GPU
 * can do all that the object allows.
 */
static bool has_place_for_pages(struct tessera_bo *bo)
{
	u32 set = tessera_bo_page_segments(bo, !(bo->flags & DRM_TESSERA_BO_GPU_READ_ONLY));
	const struct tessera_segment *seg;

	for (; set; set &= set - 1) {
		seg = tessera_segment_by_id(tessera_bo_device(bo), __ffs(set));
		if (tessera_placement_footprint(seg, tessera_bo_bytes(bo)) <= seg->commit)
			return true;
	}

	return false;
}

/**
 * tessera_residency_can_lend() - check whether other devices can ever use an
 * object's pages
 * @bo: the object
 *
 * Return: false if jobs could not use the object meanwhile, or if other devices
 * cannot use such pages.
 */
bool tessera_residency_can_lend(struct tessera_bo *bo)
{
	/*
	 * There is no notification of accesses by other devices, so pages that
	 * need cache maintenance are excluded.
	 */
	return has_place_for_pages(bo) && !tessera_backing_is_private(bo) &&
	       !tessera_coherence_tracks(bo);
}

static int lend_check(struct tessera_bo *bo)
{
	dma_resv_assert_held(bo->tbo.base.resv);

	if (!tessera_residency_can_lend(bo))
		return -EOPNOTSUPP;
	if (atomic_read(&bo->lost))
		return -EIO;
	if (tessera_bo_is_offered(bo))
		return -EINVAL;

	return tessera_bo_is_immovable(bo) ? -EBUSY : 0;
}

/*
 * Moves an object from memory to its pages. Pages that had no contents are
 * zero.
 */
static int to_pages(struct tessera_bo *bo, bool interruptible)
{
	struct ttm_operation_ctx ctx = { .interruptible = interruptible };
	const struct tessera_segment *seg = tessera_bo_segment(bo);
	int ret = 0;

	if (tessera_segment_is_vram(seg))
		ret = tessera_victims_evict(bo, TESSERA_EVICT_OTHER);

	return ret ?: tessera_backing_populate(bo, &ctx);
}

/*
 * Called outside drm_dev_enter(): the exporter may sleep for any time, and
 * unplug would wait for it.
 */
static int ask_exporter(struct tessera_bo *bo, bool interruptible)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	int ret = 0;

	if (!tessera_unplug_import_begin(tdev))
		return -ENODEV;
	if (interruptible)
		ret = dma_resv_lock_interruptible(bo->tbo.base.resv, NULL);
	else
		dma_resv_lock(bo->tbo.base.resv, NULL);
	if (!ret) {
		ret = bo->tbo.sg ? 0 : tessera_borrow_map(&bo->tbo, &bo->sharing.borrow);
		dma_resv_unlock(bo->tbo.base.resv);
	}

	return tessera_unplug_import_end(tdev, bo, false) ? ret : -ENODEV;
}

/**
 * tessera_residency_request_pages() - ask another device for the pages of an
 * object
 * @bo: the object, reservation not held
 * @interruptible: a signal interrupts the call
 *
 * For an import, the exporter is asked for the pages. For an export, the
 * importers are told to give up the pages. The moves of the other devices are
 * foreign fences in the reservation afterwards.
 *
 * Return: 0, -ENODEV, -EINTR or an error of tessera_borrow_map().
 */
int tessera_residency_request_pages(struct tessera_bo *bo, bool interruptible)
{
	int ret, idx;

	if (bo->sharing.dmabuf)
		return ask_exporter(bo, interruptible);
	ret = tessera_bo_enter(bo, interruptible, &idx);
	if (ret)
		return ret;
	tessera_ttm_revoke_imports(bo);
	tessera_bo_exit(bo, idx);

	return 0;
}

/**
 * tessera_residency_unblock() - wait until an object may come to a segment
 * @tdev: the device
 * @blocker: result of tessera_residency_may_come(); cleared
 * @row: the kind of wait
 * @timeout: in jiffies
 *
 * The caller must not hold a lock that another client needs.
 *
 * Return: 0, after which the object may be blocked again; -ETIME; -ENODEV;
 * -ERESTARTSYS; or an error of tessera_residency_request_pages().
 */
int tessera_residency_unblock(struct tessera_device *tdev, struct tessera_blocker *blocker,
			      enum tessera_wait_row row, long timeout)
{
	bool parts = row == TESSERA_WAIT_FOREIGN_PARTS;
	int ret = signal_pending(current) && !parts ? -ERESTARTSYS : 0;

	if (!ret && blocker->bo) {
		ret = tessera_residency_request_pages(blocker->bo, !parts);
		ret = ret ?: tessera_residency_foreign(blocker->bo, DMA_RESV_USAGE_BOOKKEEP,
						       &blocker->foreign);
	}
	ret = ret ?: tessera_foreign_wait(tdev, &blocker->foreign, row, timeout);
	tessera_blocker_clear(blocker);

	return ret == -EINTR ? -ERESTARTSYS : ret;
}

/**
 * tessera_blocker_clear() - clear a blocker
 * @blocker: the blocker, initially zeroed; the caller holds no reservation
 */
void tessera_blocker_clear(struct tessera_blocker *blocker)
{
	tessera_fences_fini(&blocker->foreign);
	tessera_bo_put(blocker->bo);
	*blocker = (struct tessera_blocker) { };
}

/**
 * tessera_residency_pin() - pin the pages of an object for other devices
 * @bo: the object, reservation held
 *
 * Until tessera_residency_unpin() the object keeps its pages. It leaves memory,
 * is placed in apertures only, and is not swapped out. The pages are valid when
 * its moves (DMA_RESV_USAGE_KERNEL) are finished, unless the object is lost
 * then. Holds are ignored, as for CPU accesses: the holder brings the object in
 * again. The owner of the object is charged.
 *
 * Return: 0; -EBUSY if it is scanned out; -EOPNOTSUPP if jobs could not use the
 * object meanwhile, or if other devices cannot use its pages; -EDQUOT if its
 * owner has too many pinned bytes; -EIO if it is lost; or another error.
 */
int tessera_residency_pin(struct tessera_bo *bo)
{
	int ret = lend_check(bo);

	if (ret)
		return ret;
	if (!bo->pins) {
		ret = tessera_account_pin(bo->account, tessera_bo_bytes(bo));
		if (ret)
			return ret;
		ret = to_pages(bo, true);
		if (ret) {
			tessera_account_unpin(bo->account, tessera_bo_bytes(bo));
			return ret;
		}
	}
	WRITE_ONCE(bo->pins, bo->pins + 1);

	return 0;
}

/**
 * tessera_residency_lend() - let other devices use the pages of an object until
 * it moves
 * @bo: the object, reservation held
 *
 * Like tessera_residency_pin(), but the object is neither pinned nor charged.
 * The next move of the object tells the importers because
 * &tessera_bo_sharing.lent is set.
 *
 * Return: as for tessera_residency_pin() without -EDQUOT; -ENODEV if the device
 * is unplugged and the pages are not in use by an importer.
 */
int tessera_residency_lend(struct tessera_bo *bo)
{
	int idx, ret = lend_check(bo);

	if (ret)
		return ret;
	if (drm_dev_enter(bo->tbo.base.dev, &idx)) {
		ret = to_pages(bo, false) ?: (atomic_read(&bo->lost) ? -EIO : 0);
		drm_dev_exit(idx);
	} else if (!bo->sharing.lent) {
		ret = -ENODEV;
	}
	if (!ret)
		bo->sharing.lent = true;

	return ret;
}

/**
 * tessera_residency_unpin() - unpin the pages of an object
 * @bo: the object, reservation held
 */
void tessera_residency_unpin(struct tessera_bo *bo)
{
	dma_resv_assert_held(bo->tbo.base.resv);
	if (drm_WARN_ON_ONCE(bo->tbo.base.dev, !bo->pins))
		return;

	WRITE_ONCE(bo->pins, bo->pins - 1);
	if (!bo->pins)
		tessera_account_unpin(bo->account, tessera_bo_bytes(bo));
}

/**
 * tessera_residency_written() - invalidate the copy of an object that the GPU
 * is going to write
 * @bo: the object, reservation held
 *
 * Only the contents in memory are valid after that. The call has to be made
 * before the object may be evicted again. tessera_residency_commit() includes
 * it.
 */
void tessera_residency_written(struct tessera_bo *bo)
{
	dma_resv_assert_held(bo->tbo.base.resv);
	bo->copy = TESSERA_COPY_STALE;
}

/**
 * tessera_residency_writable() - cast doubt on the copy of an object that page
 * tables let jobs write
 * @bo: the object, reservation held
 *
 * Jobs of a VM do not report writes. The doubt lasts until the object is paged
 * in again, even if the page tables change before. Only the client that lists
 * the object knows better (tessera_resident_evict()).
 */
void tessera_residency_writable(struct tessera_bo *bo)
{
	dma_resv_assert_held(bo->tbo.base.resv);
	if (bo->copy == TESSERA_COPY_VALID)
		bo->copy = TESSERA_COPY_DOUBTFUL;
}

/**
 * tessera_residency_next_stamp() - number a submission
 * @tdev: the device
 *
 * Return: a number greater than all earlier ones.
 */
u64 tessera_residency_next_stamp(struct tessera_device *tdev)
{
	return atomic64_inc_return(&tdev->last_stamp);
}

/**
 * tessera_residency_commit() - record that an armed job uses an object
 * @bo: the object, reservation held, the fence of the job added
 * @write: the job writes it
 * @stamp: stamp of the submission, from tessera_residency_next_stamp()
 */
void tessera_residency_commit(struct tessera_bo *bo, bool write, u64 stamp)
{
	/* A younger submission may have used the object during a long ioctl. */
	if (stamp > bo->last_use)
		WRITE_ONCE(bo->last_use, stamp);
	if (write)
		tessera_residency_written(bo);
	ttm_bo_move_to_lru_tail_unlocked(&bo->tbo);
}
