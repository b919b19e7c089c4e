// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: scanout
 *
 * What is shown stays where it is as long as it is: in a memory segment, in one piece. It comes
 * there like anything else does, by a paging job that nobody waits for here: who shows it waits for
 * the object's moves (DMA_RESV_USAGE_KERNEL) first. No eviction, no compaction, and no plan touches
 * it then; it cannot be offered, nor be attached to a dma-buf, for that wants it in system memory.
 *
 * What the CPU draws is shown where the CPU sees it, if it may be in such a segment: it could not
 * be brought there while it is shown.
 *
 * A picture does not wait for submissions: room for it passes over what they hold and claim between
 * their windows, and they find another place. It waits for those who have the lock of what is in
 * the way, which is never for long, and a moment for what is being destroyed, such as the picture
 * before, or drawn into by the kernel, such as the console that nobody sees.
 *
 * Who pays is the object's owner, whose share counts as ever. Only who is master of the display
 * gets here, and needs no more than a few objects for each plane; so that others keep some of each
 * segment all the same, what is fixed there is limited (tessera_manager_fix()).
 *
 * When the contents of memory are lost nothing is shown any more, whatever is pinned here. Only what
 * the kernel has mapped keeps its place, for it must not draw into what is another's by then.
 */

#include <linux/dma-resv.h>
#include <linux/jiffies.h>

#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/tessera_drm.h>

#include "mem/mem.h"
#include "segments/segments.h"
#include "tessera_device.h"
#include "tessera_wait.h"

/* How often somebody may have the lock of what is in the way. */
#define LOCK_TRIES		16

/* An attempt, in several tries. */
struct scanout {
	struct tessera_bo *bo;
	/* Whose locks count. */
	struct drm_file *file;
	/* Where it may be shown. */
	u32 set;
	struct tessera_room_rules rules;
	/* When not to wait any more. */
	unsigned long end;
	u32 tries;
	/* Room that was freed before the try. */
	u32 seen;
	struct tessera_blocker blocker;
};

/* Where it may be shown: a set of segment ids. */
static u32 scanout_segments(const struct tessera_bo *bo)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	u32 memory = tessera_segment_with(tdev, bo->supported, TSR_SEGF_APERTURE, 0);
	u32 visible = tessera_segment_with(tdev, memory, TSR_SEGF_CPU_VISIBLE,
					   TSR_SEGF_CPU_VISIBLE);

	if (bo->root)
		return 0;

	return (bo->flags & DRM_TESSERA_BO_CPU_ACCESS) && visible ? visible : memory;
}

/**
 * tessera_scanout_possible() - ask whether an object can ever be shown
 * @bo: the object
 *
 * Return: true unless it is private to a VM, so that it may lie in pieces, or is never in memory.
 */
bool tessera_scanout_possible(struct tessera_bo *bo)
{
	return scanout_segments(bo);
}

/**
 * tessera_scanout_is_there() - ask whether an object is where it can be shown
 * @bo: the object, reservation not held
 *
 * Return: false if it is to be moved for that, or somebody has it locked. That may change.
 */
bool tessera_scanout_is_there(struct tessera_bo *bo)
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

	ret = tessera_manager_fix(mgr, tessera_bo_bytes(bo));
	if (ret)
		return ret;
	if (tessera_bo_segment(bo) != seg)
		ret = tessera_residency_bring(bo, seg, evict, &scanout->rules);
	if (ret)
		tessera_manager_unfix(mgr, tessera_bo_bytes(bo));
	else
		tessera_bo_fix(bo);

	return ret;
}

/* Where it is, or else as validation does. */
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
	/* Others rely on its being in system memory, or the client itself does. */
	if (!(tessera_bo_allowed(bo, false) & scanout->set) ||
	    tessera_bo_device(bo)->upcalls->keep_out(bo, scanout->file))
		return -EBUSY;
	if (READ_ONCE(tessera_bo_device(bo)->memory_lost))
		return -EIO;

	if (!tessera_bo_is_fixed(bo))
		ret = bring(scanout);
	if (!ret)
		bo->shown++;

	return ret;
}

static int pin_try(struct scanout *scanout)
{
	struct tessera_bo *bo = scanout->bo;
	int ret, idx;

	ret = tessera_bo_enter(bo, &idx);
	if (ret)
		return ret;
	ret = pin_locked(scanout);
	tessera_bo_exit(bo, idx);

	return ret;
}

/*
 * Whether there was something in the way that passes by itself, or has done so since. A search for room that finds
 * none has looked at all objects. What is no longer counted as drawn was before room was freed, in this order: see
 * end_drawing().
 */
static bool passes(struct scanout *scanout)
{
	struct tessera_device *tdev = tessera_bo_device(scanout->bo);

	return scanout->rules.dying || atomic_read_acquire(&tdev->drawn) ||
	       tessera_room_seen(tdev, TESSERA_ROOM_FREED) != scanout->seen;
}

/* 0: there may be room now. Nothing is held. */
static int wait_for_room(struct scanout *scanout)
{
	struct tessera_room_rules *rules = &scanout->rules;
	long left = scanout->end - jiffies;
	int ret = -ENOSPC;

	if (rules->contended && scanout->tries++ < LOCK_TRIES)
		ret = tessera_wait_resv_lock(TESSERA_WAIT_VICTIM,
					     rules->contended->tbo.base.resv);
	else if (signal_pending(current))
		ret = -ERESTARTSYS;
	else if (left > 0 && passes(scanout))
		ret = tessera_room_wait_timeout(tessera_bo_device(scanout->bo),
						TESSERA_ROOM_FREED, scanout->seen,
						TASK_INTERRUPTIBLE, left);
	tessera_victims_forget(rules);

	return ret == -ETIME ? -ENOSPC : ret;
}

/* Locks of the display are held, so other devices and user space have a moment only. */
static int wait_for_others(struct scanout *scanout)
{
	long left = scanout->end - jiffies;
	int ret;

	ret = tessera_residency_unblock(tessera_bo_device(scanout->bo), &scanout->blocker,
					TESSERA_WAIT_DISPLAY, max(left, 1L));

	return left <= 0 || ret == -ETIME ? -EBUSY : ret;
}

/**
 * tessera_scanout_pin() - have an object where it can be shown, for as long as it is
 * @bo: the object, with a reference for as long; reservation not held
 * @file: the client whose locks may keep it out of memory; only compared
 *
 * May be called again; each call wants a tessera_scanout_unpin(). It can be shown when its moves
 * (DMA_RESV_USAGE_KERNEL) are done.
 *
 * Return: 0; -ENOSPC if there is no room that others can do without; -EINVAL if it is never in
 * memory, private to a VM, or offered; -EBUSY if it is attached to a dma-buf, if a lock keeps it out
 * of memory, or if it has yet to come there and a foreign fence at it does not signal in a moment;
 * -EIO if it is lost, or the device is being reset; -ENODEV; -EINTR; or another error.
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
		scanout.seen = tessera_room_seen(tdev, TESSERA_ROOM_FREED);
		ret = pin_try(&scanout);
		if (ret == -ENOSPC)
			ret = wait_for_room(&scanout);
		else if (ret == -EINPROGRESS)
			ret = wait_for_others(&scanout);
		else
			break;
	} while (!ret);
	tessera_victims_forget(&scanout.rules);

	return ret == -ERESTARTSYS ? -EINTR : ret;
}

/* It was of use until now. */
static void let_go(struct tessera_bo *bo)
{
	if (bo->shown || bo->mapped)
		return;
	WRITE_ONCE(bo->last_use, tessera_residency_next_stamp(tessera_bo_device(bo)));
	tessera_bo_unfix(bo);
}

/**
 * tessera_scanout_unpin() - it is not shown any more
 * @bo: the object, after tessera_scanout_pin(); reservation not held
 */
void tessera_scanout_unpin(struct tessera_bo *bo)
{
	dma_resv_lock(bo->tbo.base.resv, NULL);
	if (!drm_WARN_ON(bo->tbo.base.dev, !bo->shown)) {
		bo->shown--;
		let_go(bo);
	}
	dma_resv_unlock(bo->tbo.base.resv);
}

static void end_drawing(struct tessera_device *tdev)
{
	/* Whoever waits wakes up, and a thread that sees it counted no more sees that room was freed. */
	tessera_room_signal(tdev, TESSERA_ROOM_FREED);
	atomic_dec(&tdev->drawn);
}

/**
 * tessera_scanout_hold() - keep an object where it is for a mapping of the kernel
 * @bo: the object, reservation held, in a segment where it can be shown
 *
 * It can be shown at the same time.
 *
 * Return: 0, or -ENOSPC if too much of the segment is fixed already.
 */
int tessera_scanout_hold(struct tessera_bo *bo)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	int ret = 0;

	/* Before there is less room for others: see passes(). */
	if (!bo->mapped)
		atomic_inc(&tdev->drawn);
	if (!tessera_bo_is_fixed(bo)) {
		ret = tessera_manager_fix(tessera_manager_of(tdev, tessera_bo_segment(bo)->index),
					  tessera_bo_bytes(bo));
		if (!ret)
			tessera_bo_fix(bo);
	}
	if (!ret)
		bo->mapped++;
	else if (!bo->mapped)
		end_drawing(tdev);

	return ret;
}

/**
 * tessera_scanout_drop() - it need not stay for that any more
 * @bo: the object, reservation held, after tessera_scanout_hold()
 */
void tessera_scanout_drop(struct tessera_bo *bo)
{
	struct tessera_device *tdev = tessera_bo_device(bo);

	dma_resv_assert_held(bo->tbo.base.resv);
	bo->mapped--;
	let_go(bo);
	if (!bo->mapped)
		end_drawing(tdev);
}

/**
 * tessera_scanout_addr() - where the display finds an object
 * @bo: the object, between tessera_scanout_pin() and tessera_scanout_unpin()
 *
 * Takes no lock, for commits that must not wait.
 *
 * Return: its GPU address, which does not change as long as it is pinned; 0 if it is there no more,
 * as the contents of memory were lost.
 */
u64 tessera_scanout_addr(struct tessera_bo *bo)
{
	return READ_ONCE(bo->fixed_at);
}

/**
 * tessera_scanout_bar_offset() - where the CPU finds what is shown
 * @bo: the object, as for tessera_scanout_addr()
 * @offset: receives the offset of its first byte in BAR 2
 *
 * Takes no lock, for a kernel that panics.
 *
 * Return: false if it is not shown, or where the CPU does not see it.
 */
bool tessera_scanout_bar_offset(struct tessera_bo *bo, u64 *offset)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	u64 addr = READ_ONCE(bo->fixed_at);
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
