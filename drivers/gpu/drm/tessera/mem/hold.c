// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: holds
 *
 * A submission in parts keeps no lock between two batches, but what stays bound over the cut
 * there is to stay where it is (SPLIT-17). So it holds those objects: nobody evicts or
 * moves them for room, and who needs that room waits, with no lock held, until they are
 * given up (TESSERA_ROOM_RELEASED).
 *
 * Two such submissions could wait for each other. So holds have an order, that of the
 * submissions: a younger one waits for an older one, an older one passes over what a younger
 * one holds. Each wait is for somebody older, and the oldest waits for nobody. What
 * was passed over is brought back by its holder: a part is given the addresses of today.
 * CPU accesses and suspend pass over all holds, at once. A submission of many parts lets go
 * of everything from time to time and becomes the youngest. Its thread does that; if the thread
 * does not get to run, its holds end at that time by themselves.
 *
 * An object has one holder at a time, the oldest of those who want to; the others hold it
 * again, if they still need it, with their next batch.
 */

#include <kunit/visibility.h>
#include <linux/atomic.h>
#include <linux/jiffies.h>

#include "mem/mem.h"
#include "segments/segments.h"
#include "tessera_device.h"

/**
 * tessera_holder() - ask which submission relies on an object's place
 * @bo: the object
 *
 * Return: its stamp, or 0; final only under the reservation.
 */
u64 tessera_holder(struct tessera_bo *bo)
{
	u64 holder = atomic64_read(&bo->holder);

	return time_before(jiffies, READ_ONCE(bo->held_until)) ? holder : 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_holder);

/**
 * tessera_hold_take() - rely on an object's place
 * @bo: the object, reservation held, with a reference for as long
 * @stamp: number of the submission, from tessera_residency_next_stamp()
 * @until: when it does so no longer, in jiffies, even if its thread does not get to run
 *
 * May be called again by the same submission.
 */
void tessera_hold_take(struct tessera_bo *bo, u64 stamp, unsigned long until)
{
	u64 holder = tessera_holder(bo);

	dma_resv_assert_held(bo->tbo.base.resv);

	if (holder && holder <= stamp)
		return;
	WRITE_ONCE(bo->held_until, until);
	atomic64_set(&bo->holder, stamp);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_hold_take);

/**
 * tessera_hold_drop() - do so no longer
 * @bo: the object
 * @stamp: number of the submission
 *
 * When all that was held is dropped, tell with tessera_hold_changed().
 */
void tessera_hold_drop(struct tessera_bo *bo, u64 stamp)
{
	atomic64_cmpxchg(&bo->holder, stamp, 0);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_hold_drop);

/**
 * tessera_hold_keeps_off() - ask whether a submission has to wait for an object's place
 * @bo: the object
 * @stamp: number of the submission
 *
 * Return: true if an older one relies on it; final only under its reservation.
 */
bool tessera_hold_keeps_off(struct tessera_bo *bo, u64 stamp)
{
	u64 holder = tessera_holder(bo);

	return holder && holder < stamp;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_hold_keeps_off);

/**
 * tessera_hold_changed() - wake those who wait for holds
 * @tdev: the device
 */
void tessera_hold_changed(struct tessera_device *tdev)
{
	tessera_room_signal(tdev, TESSERA_ROOM_RELEASED);
	/* Who waits for dying objects may have been short of that only. */
	tessera_room_signal(tdev, TESSERA_ROOM_FREED);
}
