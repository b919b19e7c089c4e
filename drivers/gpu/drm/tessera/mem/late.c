// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: late objects
 *
 * What has to be waited for as long as others than this device like before an object can be used, or moved:
 * their fences in its reservation, jobs of the device that wait for such, and paging in front of its own
 * (see submit/foreign.c).
 */
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>

#include "exec/engine.h"
#include "mem/bo.h"
#include "mem/late.h"
#include "paging/queue.h"

/**
 * tessera_late_find() - look for fences that may take others as long as they like
 * @bo: the object; the answer lasts as long as its reservation is held
 * @usage: which fences count; DMA_RESV_USAGE_BOOKKEEP: it is to be moved
 *
 * Return: one that has not signalled, with a reference, or NULL.
 */
struct dma_fence *tessera_late_find(struct tessera_bo *bo, enum dma_resv_usage usage)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	struct dma_fence *fence, *found = NULL;
	struct dma_resv_iter cursor;

	dma_resv_iter_begin(&cursor, bo->tbo.base.resv, usage);
	dma_resv_for_each_fence_unlocked(&cursor, fence) {
		if (tessera_engine_vouches(tdev, fence) || dma_fence_is_signaled(fence))
			continue;
		found = dma_fence_get(fence);
		break;
	}
	dma_resv_iter_end(&cursor);
	if (!found && usage == DMA_RESV_USAGE_BOOKKEEP)
		found = tessera_paging_queue_late(tessera_bo_queue(bo));

	return found;
}

/**
 * tessera_late_to_leave() - ask whether an object would leave its place late
 * @bo: the object
 *
 * Not of page tables that change with it: that shows when it has been told to leave.
 *
 * Return: true if so, at this moment.
 */
bool tessera_late_to_leave(struct tessera_bo *bo)
{
	struct dma_fence *fence = tessera_late_find(bo, DMA_RESV_USAGE_BOOKKEEP);

	dma_fence_put(fence);

	return fence;
}
