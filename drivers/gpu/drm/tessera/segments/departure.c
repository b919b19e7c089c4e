// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: release fences
 *
 * An extent is free as soon as the move or discard that vacates it is queued.
 * The fence of that job stays with the hole: a &struct tessera_departure holds
 * it. A job that uses a part of the hole waits for this fence, and for no other
 * job of the segment. The lock of the segment's manager protects all of this.
 */

#include <linux/dma-fence.h>
#include <linux/interval_tree_generic.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <drm/drm_mm.h>

#include "exec/exec.h"
#include "segments/segments.h"
#include "tessera_assert.h"
#include "tessera_device.h"

/* Release fences to check for completion each time that one is added. */
#define PRUNE_MAX	4

#define DEPARTURE_START(d)	((d)->start)
#define DEPARTURE_LAST(d)	((d)->last)

INTERVAL_TREE_DEFINE(struct tessera_departure, rb, u64, subtree_last, DEPARTURE_START,
		     DEPARTURE_LAST, static __maybe_unused, departure_tree)

static void departure_free(struct tessera_departure *departure)
{
	dma_fence_put(departure->fence);
	kfree(departure);
}

/**
 * tessera_departures_create() - allocate release fences for a placement
 * @departures: an empty list; pass it on to a range, or free its contents with
 * tessera_departures_destroy()
 * @num: number of extents that will be vacated
 *
 * The fence itself is set later, with tessera_departures_set().
 *
 * Return: 0, or -ENOMEM with the list empty.
 */
int tessera_departures_create(struct list_head *departures, u32 num)
{
	struct tessera_departure *departure;

	while (num--) {
		departure = kzalloc(sizeof(*departure), GFP_KERNEL_ACCOUNT);
		if (!departure) {
			tessera_departures_destroy(departures);
			return -ENOMEM;
		}
		list_add(&departure->list, departures);
		cond_resched();
	}

	return 0;
}

/**
 * tessera_departures_destroy() - free release fences that are in no segment
 * @departures: the list
 */
void tessera_departures_destroy(struct list_head *departures)
{
	struct tessera_departure *departure, *next;

	list_for_each_entry_safe(departure, next, departures, list) {
		departure_free(departure);
		cond_resched();
	}
	INIT_LIST_HEAD(departures);
}

/**
 * tessera_departures_set() - set the fence
 * @departures: release fences that are in no segment
 * @fence: signals when the contents have left
 */
void tessera_departures_set(struct list_head *departures, struct dma_fence *fence)
{
	struct tessera_departure *departure;

	list_for_each_entry(departure, departures, list)
		departure->fence = dma_fence_get(fence);
}

static void departure_drop_locked(struct tessera_manager *mgr, struct tessera_departure *d)
{
	departure_tree_remove(d, &mgr->departures);
	list_del(&d->age);
	departure_free(d);
}

/* The present owner of a page does not wait for a release fence added later. */
static bool __maybe_unused departure_is_free(struct tessera_manager *mgr, u64 start, u64 pages)
{
	struct drm_mm_node *node;

	drm_mm_for_each_node_in_range(node, &mgr->mm, start, start + pages)
		return false;

	return true;
}

/**
 * tessera_departures_add_locked() - leave a release fence with a hole
 * @mgr: the manager, locked
 * @start: the first page of the hole
 * @pages: number of pages, free now
 * @departures: list of prepared release fences; the first of them is used
 */
void tessera_departures_add_locked(struct tessera_manager *mgr, u64 start, u64 pages,
				   struct list_head *departures)
{
	struct tessera_departure *departure, *d, *next;
	u32 looks = 0;

	lockdep_assert_held(&mgr->lock);

	departure = list_first_entry(departures, struct tessera_departure, list);
	list_del(&departure->list);

	list_for_each_entry_safe(d, next, &mgr->ages, age) {
		if (looks++ == PRUNE_MAX)
			break;
		if (dma_fence_is_signaled(d->fence))
			departure_drop_locked(mgr, d);
		else
			list_move_tail(&d->age, &mgr->ages);
	}
	tessera_assert(mgr->tdev, departure_is_free(mgr, start, pages));
	departure->start = start;
	departure->last = start + pages - 1;
	departure_tree_insert(departure, &mgr->departures);
	list_add_tail(&departure->age, &mgr->ages);
}

/**
 * tessera_departures_forget_locked() - drop all release fences
 * @mgr: the manager, locked; nothing will be allocated any more
 */
void tessera_departures_forget_locked(struct tessera_manager *mgr)
{
	struct tessera_departure *d, *next;

	lockdep_assert_held(&mgr->lock);

	list_for_each_entry_safe(d, next, &mgr->ages, age)
		departure_drop_locked(mgr, d);
}

static int departures_collect(struct tessera_manager *mgr, const struct tessera_run *run,
			      struct tessera_fences *fences)
{
	u64 first = run->node.start, last = first + run->node.size - 1;
	struct tessera_departure *d, *next;
	int ret = 0;

	mutex_lock(&mgr->lock);
	for (d = departure_tree_iter_first(&mgr->departures, first, last); d && !ret; d = next) {
		next = departure_tree_iter_next(d, first, last);
		if (dma_fence_is_signaled(d->fence))
			departure_drop_locked(mgr, d);
		else
			ret = tessera_fences_try_add(fences, d->fence);
	}
	mutex_unlock(&mgr->lock);

	return ret;
}

/**
 * tessera_manager_departures() - collect the release fences under a placement
 * @mgr: the manager
 * @range: the placement, allocated
 * @fences: zeroed; call tessera_fences_fini() even after a failure
 *
 * Release fences are only added to holes, so none can come under the placement
 * afterwards.
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_manager_departures(struct tessera_manager *mgr, const struct tessera_range *range,
			       struct tessera_fences *fences)
{
	const struct tessera_run *run;
	int ret = 0;

	tessera_range_for_each_run(run, range) {
		while (!ret && departures_collect(mgr, run, fences))
			ret = tessera_fences_grow(fences);
		cond_resched();
	}

	return ret;
}

/**
 * tessera_manager_leaving() - look for an unsignalled release fence
 * @mgr: the manager
 * @lo: byte offset of the lower end of the searched extent
 * @hi: byte offset of its upper end
 *
 * Return: one such fence, with a reference; NULL if there is none.
 */
struct dma_fence *tessera_manager_leaving(struct tessera_manager *mgr, u64 lo, u64 hi)
{
	u64 first = lo >> PAGE_SHIFT, last = (hi >> PAGE_SHIFT) - 1;
	struct dma_fence *fence = NULL;
	struct tessera_departure *d;

	mutex_lock(&mgr->lock);
	for (d = departure_tree_iter_first(&mgr->departures, first, last); d && !fence;
	     d = departure_tree_iter_next(d, first, last))
		if (!dma_fence_is_signaled(d->fence))
			fence = dma_fence_get(d->fence);
	mutex_unlock(&mgr->lock);

	return fence;
}
