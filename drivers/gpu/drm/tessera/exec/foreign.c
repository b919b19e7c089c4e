// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: foreign fences
 *
 * A foreign fence is one that no job of this device signals: a fence of another
 * device or of user space. It arrives in a sync object, or in the reservation
 * of an exported object, where an importer or DMA_BUF_IOCTL_IMPORT_SYNC_FILE
 * added it. Nothing bounds the time until it signals.
 *
 * Neither jobs nor moves (mem/residency.c) depend on a foreign fence. The ioctl
 * waits for it instead, with no lock held and nothing armed. A job that depends
 * on a foreign fence would keep its objects, its place in the queue and the
 * pages of its process for an unbounded time. Other clients, munmap(), reclaim
 * and suspend would wait with it.
 *
 * Two waits hold more, and are bounded in time:
 *
 * - A submission whose first parts are armed already waits with its context
 *   lock and the gate held, for at most one job timeout.
 * - A display commit waits under the locks of the display, for at most
 *   passing_ms.
 */
#include <linux/dma-fence.h>
#include <linux/sched/signal.h>

#include <drm/drm_drv.h>

#include "base/device.h"
#include "base/wait.h"
#include "exec/exec.h"

/*
 * Wait for one fence. The wait is done in slices, for two events that do not
 * wake it: unplug, and a fatal signal when armed parts make the wait
 * uninterruptible. Returns the remaining timeout or an error.
 */
static long wait_for_one(struct tessera_device *tdev, struct dma_fence *fence,
			 enum tessera_wait_row row, long timeout)
{
	bool parts = row == TESSERA_WAIT_FOREIGN_PARTS;
	long left, slice;

	while (!dma_fence_is_signaled(fence)) {
		if (drm_dev_is_unplugged(&tdev->drm))
			return -ENODEV;
		if (parts && fatal_signal_pending(current))
			return -ERESTARTSYS;
		if (!timeout)
			return -ETIME;
		slice = min_t(long, timeout, parts ? HZ / 10 : HZ);
		left = tessera_wait_fence(row, fence, !parts, slice);
		if (left < 0)
			return left;
		timeout -= slice - left;
	}

	return timeout;
}

/**
 * tessera_foreign_wait() - wait for all fences of a set
 * @tdev: the device
 * @fences: the fences; the function waits for them one after the other, because
 *	a dma_fence_array would leave a callback on each fence, and itself,
 *	behind if the wait ends early
 * @row: TESSERA_WAIT_FOREIGN_PARTS: only a fatal signal ends the wait;
 *	otherwise any signal does
 * @timeout: jiffies
 *
 * Return: 0, -ETIME, -ENODEV if the device is gone, or -ERESTARTSYS.
 */
int tessera_foreign_wait(struct tessera_device *tdev, const struct tessera_fences *fences,
			 enum tessera_wait_row row, long timeout)
{
	u32 i;

	for (i = 0; timeout >= 0 && i < fences->num; i++)
		timeout = wait_for_one(tdev, fences->fence[i], row, timeout);

	return min(timeout, 0L);
}
