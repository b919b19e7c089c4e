// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: holds
 *
 * A submission in parts keeps no lock between two windows, but what stays bound over the cut
 * there is to stay where it is (SPLIT-24). So it holds those objects: nobody evicts or
 * moves them for room, and who needs that room waits, with no lock held, until the next
 * window is armed (TESSERA_ROOM_RELEASED).
 *
 * A hold is a promise among those who place objects, not a pin. A submission in parts that
 * holds objects itself passes over it where it cannot go on otherwise (two such would wait
 * for each other), and so does one that has waited for several windows; CPU accesses and
 * suspend do so at once. That is safe, because each part is given today's addresses: the
 * holder finds its object elsewhere and plans with that.
 */

#include <linux/atomic.h>

#include "mem/bo.h"
#include "mem/hold.h"
#include "segments/room.h"
#include "tessera_device.h"

/**
 * tessera_hold_take() - rely on an object's place
 * @bo: the object, reservation held, with a reference for as long
 */
void tessera_hold_take(struct tessera_bo *bo)
{
	dma_resv_assert_held(bo->tbo.base.resv);
	atomic_inc(&bo->holds);
}

/**
 * tessera_hold_drop() - do so no longer
 * @bo: the object
 *
 * When all that was held is dropped, tell with tessera_hold_changed().
 */
void tessera_hold_drop(struct tessera_bo *bo)
{
	atomic_dec(&bo->holds);
}

/**
 * tessera_hold_is_held() - ask whether anybody relies on an object's place
 * @bo: the object
 *
 * Return: true if so; final only under its reservation.
 */
bool tessera_hold_is_held(struct tessera_bo *bo)
{
	return atomic_read(&bo->holds);
}

/**
 * tessera_hold_changed() - wake those who wait for holds
 * @tdev: the device
 */
void tessera_hold_changed(struct tessera_device *tdev)
{
	tessera_room_signal(tdev, TESSERA_ROOM_RELEASED);
}
