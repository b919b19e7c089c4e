// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: fences
 *
 * Preallocated hardware fences. The engine keeps the fences in flight in ring
 * order. It completes them from its interrupt handler, from a reset, or when
 * the device goes away. The scheduler's fences follow; all other code waits for
 * those.
 *
 * A scheduler fence has a reference to its parent, the hardware fence, until it
 * is freed (tessera_sched_free_job() handles jobs that never ran). The hardware
 * fence has a reference to the memory of its engine. The scheduler, which holds
 * the fence's name, and this module thus exist as long as the fence does.
 */

#include <linux/slab.h>

#include "base/compat.h"
#include "hw/hw.h"

static const char *tessera_fence_get_driver_name(struct dma_fence *base)
{
	return "tessera";
}

static const char *tessera_fence_get_timeline_name(struct dma_fence *base)
{
	return "tessera-hw";
}

static void tessera_fence_release(struct dma_fence *base)
{
	struct tessera_fence_keeper *keeper =
		container_of(base, struct tessera_fence, base)->keeper;

	dma_fence_free(base);
	kref_put(&keeper->ref, keeper->release);
}

static const struct dma_fence_ops tessera_fence_ops = {
	.get_driver_name = tessera_fence_get_driver_name,
	.get_timeline_name = tessera_fence_get_timeline_name,
	.release = tessera_fence_release,
};

/**
 * tessera_fence_create() - make an unsignalled fence
 * @keeper: the container of @lock; the fence takes a reference
 * @lock: lock of the fence
 * @done: called when it is completed, may be NULL
 * @data: argument of @done
 *
 * Return: the fence with one reference, or NULL.
 */
struct tessera_fence *tessera_fence_create(struct tessera_fence_keeper *keeper, spinlock_t *lock,
					   tessera_fence_done_t done, void *data)
{
	struct tessera_fence *fence;

	fence = kzalloc(sizeof(*fence), GFP_KERNEL_ACCOUNT);
	if (!fence)
		return NULL;
	INIT_LIST_HEAD(&fence->link);
	kref_get(&keeper->ref);
	fence->keeper = keeper;
	fence->done = done;
	fence->data = data;
	dma_fence_init(&fence->base, &tessera_fence_ops, lock,
		       dma_fence_context_alloc(1), 1);

	return fence;
}

/**
 * tessera_fence_complete_locked() - report the outcome to the owner and signal
 * @fence: the fence, not in any list; its lock is held
 * @error: 0 or a negative error
 * @start_ns: device clock when the job began, 0 if it did not run
 * @end_ns: device clock when the job ended, 0 if it did not run
 */
void tessera_fence_complete_locked(struct tessera_fence *fence, int error,
				   u64 start_ns, u64 end_ns)
{
	dma_fence_assert_held(&fence->base);

	if (fence->done)
		fence->done(fence, error, start_ns, end_ns);
	if (error)
		dma_fence_set_error(&fence->base, error);
	dma_fence_signal_locked(&fence->base);
}
