// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: scanout
 *
 * An object that is scanned out stays at its place in VRAM, contiguous.
 *
 * A paging job brings the object there, and nothing here waits for the job. The
 * display waits for the moves of the object (DMA_RESV_USAGE_KERNEL) before it
 * shows the object. Eviction, compaction and plans leave an immovable object
 * alone. It can neither be offered nor be attached to a dma-buf, because an
 * attachment needs it in system memory.
 *
 * An object with CPU access is scanned out of a CPU-visible segment, if it
 * supports one, because it cannot be moved while it is shown.
 *
 * The display does not wait for submissions. It ignores holds and claims of
 * submissions in parts, which find another place for the objects. It waits for
 * the reservation of an object in its way, which is held for a short time only.
 * For a limited time it also waits for objects that are being destroyed, such
 * as the previous framebuffer, and for objects that the kernel draws into, such
 * as a hidden console.
 *
 * The owner of the object is charged, and its fair share is unchanged. Only the
 * DRM master can scan out, and it needs few objects per plane. A limit on the
 * scanned-out bytes of each segment leaves space for other clients
 * (tessera_manager_charge_scanout()).
 *
 * When device memory is lost, shown objects lose their places and are not shown
 * any more. Only objects that the kernel has mapped keep their places, because
 * the kernel must not draw into memory of another object.
 */

#include <linux/dma-resv.h>
#include <linux/jiffies.h>

#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/tessera_drm.h>

#include "base/device.h"
#include "base/wait.h"
#include "mem/mem.h"
#include "segments/segments.h"

/* Limit of waits for reservations of objects in the way. */
#define LOCK_TRIES		16

/* The state of a call to pin, which makes several attempts. */
struct scanout {
	struct tessera_bo *bo;
	/*
	 * The client that may have locked the object for CPU access. Its locks
	 * may keep the object out of memory.
	 */
	struct drm_file *file;
	/* Ids of the segments that the object can be scanned out of. */
	u32 set;
	struct tessera_space_rules rules;
	/* When to stop waiting, in jiffies. */
	unsigned long end;
	u32 tries;
	/* Count of freed space before the attempt. */
	u32 seen;
	struct tessera_blocker blocker;
};

/* Returns the segment ids that an object can be scanned out of. */
static u32 scanout_segments(const struct tessera_bo *bo)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	u32 memory = tessera_segment_with(tdev, bo->supported,
					  TSR_SEGF_APERTURE | TSR_SEGF_UMA, 0);
	u32 visible = tessera_segment_with(tdev, memory, TSR_SEGF_CPU_VISIBLE,
					   TSR_SEGF_CPU_VISIBLE);

	if (bo->root)
		return 0;

	return (bo->flags & DRM_TESSERA_BO_CPU_ACCESS) && visible ? visible : memory;
}

/**
 * tessera_scanout_possible() - check whether an object can ever be scanned out
 * @bo: the object
 *
 * Return: false if it is private to a VM, and therefore may be scattered, or if
 * it supports no memory segment.
 */
bool tessera_scanout_possible(struct tessera_bo *bo)
{
	return scanout_segments(bo);
}

/**
 * tessera_scanout_is_placed() - check whether an object is in a segment for
 * scanout
 * @bo: the object, reservation not held
 *
 * Return: false if it would have to be moved, or if its reservation is held by
 * another thread. The result may change at any time.
 */
bool tessera_scanout_is_placed(struct tessera_bo *bo)
{
	const struct tessera_segment *seg;
	bool there;

	if (!dma_resv_trylock(bo->tbo.base.resv))
		return false;
	seg = tessera_bo_segment(bo);
	there = seg && (scanout_segments(bo) & BIT(seg->id));
	dma_resv_unlock(bo->tbo.base.resv);

	return there;
}

static int bring_to(struct scanout *scanout, const struct tessera_segment *seg, bool evict)
{
	struct tessera_bo *bo = scanout->bo;
	struct tessera_manager *mgr = tessera_manager_of(tessera_bo_device(bo), seg->index);
	int ret;

	ret = tessera_manager_charge_scanout(mgr, tessera_bo_bytes(bo));
	if (ret)
		return ret;
	if (tessera_bo_segment(bo) != seg)
		ret = tessera_residency_move_in(bo, seg, evict, &scanout->rules);
	if (ret)
		tessera_manager_uncharge_scanout(mgr, tessera_bo_bytes(bo));
	else
		tessera_bo_make_immovable(bo);

	return ret;
}

/*
 * Keeps the object in its segment if possible. Otherwise tries segments in the
 * order of tessera_residency_validate().
 */
static int bring(struct scanout *scanout)
{
	const struct tessera_segment *seg = tessera_bo_segment(scanout->bo);
	struct tessera_bo *bo = scanout->bo;
	u32 i, evict, set = scanout->set;
	int ret = -ENOSPC;

	if (seg && (set & BIT(seg->id)))
		ret = bring_to(scanout, seg, false);
	for (evict = 0; evict < 2 && ret == -ENOSPC; evict++) {
		for (i = 0; i < bo->num_preferred && ret == -ENOSPC; i++) {
			seg = tessera_segment_by_id(tessera_bo_device(bo), bo->preferred[i]);
			if ((set & BIT(seg->id)) && seg != tessera_bo_segment(bo))
				ret = bring_to(scanout, seg, evict);
		}
	}

	return ret;
}

static int pin_locked(struct scanout *scanout)
{
	struct tessera_bo *bo = scanout->bo;
	int ret = 0;

	if (atomic_read(&bo->lost))
		return -EIO;
	if (!scanout->set || tessera_bo_is_offered(bo))
		return -EINVAL;
	/*
	 * The pages are pinned, or a CPU lock keeps the object out of memory.
	 */
	if (!(tessera_bo_allowed(bo, false) & scanout->set) ||
	    tessera_bo_device(bo)->upcalls->keep_out(bo, scanout->file))
		return -EBUSY;
	if (READ_ONCE(tessera_bo_device(bo)->memory_lost))
		return -EIO;

	if (!tessera_bo_is_immovable(bo))
		ret = bring(scanout);
	if (!ret)
		bo->fixed.shown++;

	return ret;
}

static int pin_try(struct scanout *scanout)
{
	struct tessera_bo *bo = scanout->bo;
	int ret, idx;

	ret = tessera_bo_enter(bo, true, &idx);
	if (ret)
		return ret;
	ret = pin_locked(scanout);
	tessera_bo_exit(bo, idx);

	return ret;
}

/*
 * Checks whether a wait may help: there is an object that is being destroyed or
 * drawn into, or space was freed since the attempt. A failed search has looked
 * at all objects. A drawing that has ended by now has signalled freed space
 * first, see end_drawing().
 */
static bool passes(struct scanout *scanout)
{
	struct tessera_device *tdev = tessera_bo_device(scanout->bo);

	return scanout->rules.dying || atomic_read_acquire(&tdev->drawn) ||
	       tessera_space_event_count(tdev, TESSERA_SPACE_FREED) != scanout->seen;
}

/*
 * Returns 0 if the next attempt may find space. The caller holds no
 * reservation.
 */
static int wait_for_space(struct scanout *scanout)
{
	struct tessera_space_rules *rules = &scanout->rules;
	long left = scanout->end - jiffies;
	int ret = -ENOSPC;

	if (rules->contended && scanout->tries++ < LOCK_TRIES)
		ret = tessera_wait_resv_lock(TESSERA_WAIT_VICTIM,
					     rules->contended->tbo.base.resv);
	else if (signal_pending(current))
		ret = -ERESTARTSYS;
	else if (left > 0 && passes(scanout))
		ret = tessera_space_wait_timeout(tessera_bo_device(scanout->bo),
						 TESSERA_SPACE_FREED, scanout->seen,
						 TASK_INTERRUPTIBLE, left);
	tessera_victims_clear(rules);

	return ret == -ETIME ? -ENOSPC : ret;
}

/*
 * The caller holds locks of the display, so the wait for other devices and user
 * space is short.
 */
static int wait_for_others(struct scanout *scanout)
{
	long left = scanout->end - jiffies;
	int ret;

	ret = tessera_residency_unblock(tessera_bo_device(scanout->bo), &scanout->blocker,
					TESSERA_WAIT_DISPLAY, max(left, 1L));

	return left <= 0 || ret == -ETIME ? -EBUSY : ret;
}

/**
 * tessera_scanout_pin() - place and pin an object for scanout
 * @bo: the object; the caller keeps a reference while it is pinned; reservation
 * not held
 * @file: the client that shows the object; its own locks may keep the object
 * out of memory; only compared
 *
 * Calls nest; each needs a tessera_scanout_unpin(). The object can be shown
 * when its moves (DMA_RESV_USAGE_KERNEL) are finished.
 *
 * Return: 0; -ENOSPC if not enough space can be freed; -EINVAL if it supports
 * no memory segment, is private to a VM, or is offered; -EBUSY if it is
 * attached to a dma-buf, if a lock keeps it out of memory, or if it has to be
 * moved and one of its foreign fences does not signal in time; -EIO if it is
 * lost, or the device is being reset; -ENODEV; -EINTR; or another error.
 */
int tessera_scanout_pin(struct tessera_bo *bo, struct drm_file *file)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	struct scanout scanout = {
		.bo = bo,
		.file = file,
		.set = scanout_segments(bo),
		.rules = { .evictions = U32_MAX, .compact = true, .passes = true },
		.end = jiffies + msecs_to_jiffies(READ_ONCE(tdev->passing_ms)),
	};
	int ret;

	scanout.rules.blocker = &scanout.blocker;
	do {
		scanout.rules.dying = false;
		scanout.seen = tessera_space_event_count(tdev, TESSERA_SPACE_FREED);
		ret = pin_try(&scanout);
		if (ret == -ENOSPC)
			ret = wait_for_space(&scanout);
		else if (ret == -EINPROGRESS)
			ret = wait_for_others(&scanout);
		else
			break;
	} while (!ret);
	tessera_victims_clear(&scanout.rules);

	return ret == -ERESTARTSYS ? -EINTR : ret;
}

/* The object was in use until now, so it must not be the next victim. */
static void mark_recently_used(struct tessera_bo *bo)
{
	if (bo->fixed.shown || bo->fixed.mapped)
		return;
	WRITE_ONCE(bo->last_use, tessera_residency_next_stamp(tessera_bo_device(bo)));
	tessera_bo_make_movable(bo);
}

/**
 * tessera_scanout_unpin() - unpin an object after scanout
 * @bo: the object, after tessera_scanout_pin(); reservation not held
 */
void tessera_scanout_unpin(struct tessera_bo *bo)
{
	dma_resv_lock(bo->tbo.base.resv, NULL);
	if (!drm_WARN_ON(bo->tbo.base.dev, !bo->fixed.shown)) {
		bo->fixed.shown--;
		mark_recently_used(bo);
	}
	dma_resv_unlock(bo->tbo.base.resv);
}

static void end_drawing(struct tessera_device *tdev)
{
	/*
	 * Signal first: waiters wake up, and a thread that reads the lower
	 * count also sees that space was freed.
	 */
	tessera_space_signal(tdev, TESSERA_SPACE_FREED);
	atomic_dec(&tdev->drawn);
}

/**
 * tessera_scanout_hold() - pin an object for a kernel mapping
 * @bo: the object, reservation held, in a segment for scanout
 *
 * The object can be scanned out at the same time.
 *
 * Return: 0, or -ENOSPC if that exceeds the scanout limit of the segment.
 */
int tessera_scanout_hold(struct tessera_bo *bo)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	int ret = 0;

	/* Count before the space is taken: see passes(). */
	if (!bo->fixed.mapped)
		atomic_inc(&tdev->drawn);
	if (!tessera_bo_is_immovable(bo)) {
		struct tessera_manager *mgr =
			tessera_manager_of(tdev, tessera_bo_segment(bo)->index);

		ret = tessera_manager_charge_scanout(mgr, tessera_bo_bytes(bo));
		if (!ret)
			tessera_bo_make_immovable(bo);
	}
	if (!ret)
		bo->fixed.mapped++;
	else if (!bo->fixed.mapped)
		end_drawing(tdev);

	return ret;
}

/**
 * tessera_scanout_drop() - unpin an object after a kernel mapping
 * @bo: the object, reservation held, after tessera_scanout_hold()
 */
void tessera_scanout_drop(struct tessera_bo *bo)
{
	struct tessera_device *tdev = tessera_bo_device(bo);

	dma_resv_assert_held(bo->tbo.base.resv);
	bo->fixed.mapped--;
	mark_recently_used(bo);
	if (!bo->fixed.mapped)
		end_drawing(tdev);
}

/**
 * tessera_scanout_bar_offset() - return the offset of a scanned-out object in
 * BAR 2
 * @bo: the object, between tessera_scanout_pin() and tessera_scanout_unpin()
 * @offset: receives the offset of its first byte in BAR 2
 *
 * Takes no lock, for a kernel that panics.
 *
 * Return: false if it is not pinned, or not visible to the CPU.
 */
bool tessera_scanout_bar_offset(struct tessera_bo *bo, u64 *offset)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	u64 addr = READ_ONCE(bo->fixed.addr);
	u32 i;

	for (i = 0; addr && i < tessera_segment_count(tdev); i++) {
		const struct tessera_segment *seg = tessera_segment_by_index(tdev, i);

		if (!tessera_segment_cpu_visible(seg) || addr < seg->base ||
		    addr - seg->base >= seg->size)
			continue;
		*offset = seg->cpu_offset + (addr - seg->base);
		return true;
	}

	return false;
}
