// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: holds
 *
 * A hold keeps an object at its place between two batches of a submission in
 * parts.
 *
 * The submission keeps no lock between two batches, but the objects that stay
 * bound across the cut must keep their places (SPLIT-17). It therefore holds
 * these objects. Other submissions neither evict nor move a held object. A
 * submission that needs the space waits, with no lock held, until the hold is
 * dropped (TESSERA_SPACE_RELEASED).
 *
 * Two such submissions could wait for each other's holds. Holds are therefore
 * ordered by the stamp of the submission. A younger submission waits for an
 * older one. The plan of an older submission avoids objects that a younger one
 * holds, but may take them. Every wait goes from a younger submission to an
 * older one, so the oldest never waits. If a held object was evicted or moved,
 * its holder brings it back: each part gets the addresses that are valid when
 * it is armed.
 *
 * CPU accesses, pins, scanout and suspend ignore all holds. Any other search for
 * victims outside of plans skips every held object (mem/order.c). From time to
 * time, a submission of many parts drops its holds and takes a new stamp, so
 * that it becomes the youngest. Its thread does that. If the thread does not
 * get to run, the holds expire at that time.
 *
 * An object has one holder at a time: the oldest submission that asked. The
 * others hold it again with their next batch, if they still need it.
 */

#include <kunit/visibility.h>
#include <linux/atomic.h>
#include <linux/jiffies.h>

#include "base/device.h"
#include "mem/mem.h"
#include "segments/segments.h"

/**
 * tessera_holder() - return the submission that holds an object
 * @bo: the object
 *
 * Return: the stamp of the submission, or 0 if the object is not held. The
 * result is stable only while the reservation is held.
 */
u64 tessera_holder(struct tessera_bo *bo)
{
	u64 holder = atomic64_read(&bo->hold.holder);

	return time_before(jiffies, READ_ONCE(bo->hold.until)) ? holder : 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_holder);

/**
 * tessera_hold_take() - hold an object at its place
 * @bo: the object, reservation held; the caller keeps a reference while it
 * holds the object
 * @stamp: stamp of the submission, from tessera_residency_next_stamp()
 * @until: time in jiffies at which the hold expires, even if the thread of the
 * submission does not get to run
 *
 * Nothing happens if an older submission holds the object. The same submission
 * may call this again, which does not extend its hold.
 */
void tessera_hold_take(struct tessera_bo *bo, u64 stamp, unsigned long until)
{
	u64 holder = tessera_holder(bo);

	dma_resv_assert_held(bo->tbo.base.resv);

	if (holder && holder <= stamp)
		return;
	WRITE_ONCE(bo->hold.until, until);
	atomic64_set(&bo->hold.holder, stamp);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_hold_take);

/**
 * tessera_hold_drop() - drop a hold
 * @bo: the object
 * @stamp: stamp of the submission
 *
 * After its last drop, the caller wakes the waiters with
 * tessera_hold_changed().
 */
void tessera_hold_drop(struct tessera_bo *bo, u64 stamp)
{
	atomic64_cmpxchg(&bo->hold.holder, stamp, 0);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_hold_drop);

/**
 * tessera_hold_has_older() - check whether an older submission holds an object
 * @bo: the object
 * @stamp: stamp of the submission that wants the place
 *
 * Return: true if the submission has to wait. The result is stable only while
 * the reservation is held.
 */
bool tessera_hold_has_older(struct tessera_bo *bo, u64 stamp)
{
	u64 holder = tessera_holder(bo);

	return holder && holder < stamp;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_hold_has_older);

/**
 * tessera_hold_changed() - wake the threads that wait for holds to be dropped
 * @tdev: the device
 */
void tessera_hold_changed(struct tessera_device *tdev)
{
	tessera_space_signal(tdev, TESSERA_SPACE_RELEASED);
	/* A thread that waits for dying objects may need just this space. */
	tessera_space_signal(tdev, TESSERA_SPACE_FREED);
}
