// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: foreign fences
 *
 * A foreign fence is one that no job of the device signals: of another device, or made by user
 * space. Foreign fences come in sync objects, and in the reservations of objects that were
 * exported: an importer puts them there, or DMA_BUF_IOCTL_IMPORT_SYNC_FILE does. They may take as
 * long as somebody else likes.
 *
 * No job waits for one, nor does a move (mem/residency.c). The call waits, with no lock held and
 * nothing armed. A job behind a foreign fence would keep its objects, its place in the queue and the
 * pages of its process for as long as user space likes, and other clients, munmap(), reclaim and
 * suspend would wait with it.
 *
 * Two wait with more: a submission whose first parts are armed already, with its context and the gate locked, for one
 * job timeout at most; and a commit, under the locks of the display, for passing_ms.
 */
#include <linux/dma-fence.h>
#include <linux/sched/signal.h>

#include <drm/drm_drv.h>

#include "exec/exec.h"
#include "tessera_device.h"
#include "tessera_wait.h"

/*
 * A foreign fence does not tell that the device is gone, nor a wait behind parts that the thread is killed: so these
 * are looked for now and then. Returns what is left of the timeout, or an error.
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
 * tessera_foreign_wait() - wait for fences
 * @tdev: the device
 * @fences: the fences, waited for one after the other. An array of them would leave a callback on
 *	each, and itself, when the wait ends early
 * @row: TESSERA_WAIT_FOREIGN_PARTS: only a fatal signal ends the wait. Others: any does
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
