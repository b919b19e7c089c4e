// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: release fences
 *
 * An extent is free as soon as the move or discard that vacates it is queued.
 * The fence of that job stays with the hole: a &struct tessera_release_fence
 * holds it. A job that uses a part of the hole waits for this fence, and for no
 * other job of the segment. The lock of the segment's manager protects all of
 * this.
 */

#include <linux/dma-fence.h>
#include <linux/interval_tree_generic.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <drm/drm_mm.h>

#include "base/assert.h"
#include "base/device.h"
#include "exec/exec.h"
#include "segments/segments.h"

/* Release fences to check for completion each time that one is added. */
#define PRUNE_MAX	4

#define RELEASE_FENCE_START(release)	((release)->start)
#define RELEASE_FENCE_LAST(release)	((release)->last)

INTERVAL_TREE_DEFINE(struct tessera_release_fence, rb, u64, subtree_last, RELEASE_FENCE_START,
		     RELEASE_FENCE_LAST, static __maybe_unused, release_fence_tree)

static void release_fence_free(struct tessera_release_fence *release)
{
	dma_fence_put(release->fence);
	kfree(release);
}

/**
 * tessera_release_fences_create() - allocate release fences for a placement
 * @release_fences: an empty list; pass it on to a placement, or free its
 * contents with tessera_release_fences_destroy()
 * @num: number of extents that will be vacated
 *
 * The fence itself is set later, with tessera_release_fences_set().
 *
 * Return: 0, or -ENOMEM with the list empty.
 */
int tessera_release_fences_create(struct list_head *release_fences, u32 num)
{
	struct tessera_release_fence *release;

	while (num--) {
		release = kzalloc(sizeof(*release), GFP_KERNEL_ACCOUNT);
		if (!release) {
			tessera_release_fences_destroy(release_fences);
			return -ENOMEM;
		}
		list_add(&release->list, release_fences);
		cond_resched();
	}

	return 0;
}

/**
 * tessera_release_fences_destroy() - free release fences that are in no segment
 * @release_fences: the list
 */
void tessera_release_fences_destroy(struct list_head *release_fences)
{
	struct tessera_release_fence *release, *next;

	list_for_each_entry_safe(release, next, release_fences, list) {
		release_fence_free(release);
		cond_resched();
	}
	INIT_LIST_HEAD(release_fences);
}

/**
 * tessera_release_fences_set() - set the fence
 * @release_fences: release fences that are in no segment
 * @fence: signals when the contents have left
 */
void tessera_release_fences_set(struct list_head *release_fences, struct dma_fence *fence)
{
	struct tessera_release_fence *release;

	list_for_each_entry(release, release_fences, list)
		release->fence = dma_fence_get(fence);
}

static void release_fence_drop_locked(struct tessera_manager *mgr,
				      struct tessera_release_fence *release)
{
	release_fence_tree_remove(release, &mgr->release_fences);
	list_del(&release->age);
	release_fence_free(release);
}

/* The present owner of a page does not wait for a release fence added later. */
static bool __maybe_unused hole_is_free(struct tessera_manager *mgr, u64 start, u64 pages)
{
	struct drm_mm_node *node;

	drm_mm_for_each_node_in_range(node, &mgr->mm, start, start + pages)
		return false;

	return true;
}

/**
 * tessera_release_fences_add_locked() - leave a release fence with a hole
 * @mgr: the manager, locked
 * @start: the first page of the hole
 * @pages: number of pages, free now
 * @release_fences: list of prepared release fences; the first of them is used
 */
void tessera_release_fences_add_locked(struct tessera_manager *mgr, u64 start, u64 pages,
				       struct list_head *release_fences)
{
	struct tessera_release_fence *release, *old, *next;
	u32 looks = 0;

	lockdep_assert_held(&mgr->lock);

	release = list_first_entry(release_fences, struct tessera_release_fence, list);
	list_del(&release->list);

	list_for_each_entry_safe(old, next, &mgr->ages, age) {
		if (looks++ == PRUNE_MAX)
			break;
		if (dma_fence_is_signaled(old->fence))
			release_fence_drop_locked(mgr, old);
		else
			list_move_tail(&old->age, &mgr->ages);
	}
	tessera_assert(mgr->tdev, hole_is_free(mgr, start, pages));
	release->start = start;
	release->last = start + pages - 1;
	release_fence_tree_insert(release, &mgr->release_fences);
	list_add_tail(&release->age, &mgr->ages);
}

/**
 * tessera_release_fences_drop_locked() - drop all release fences
 * @mgr: the manager, locked; nothing will be allocated any more
 */
void tessera_release_fences_drop_locked(struct tessera_manager *mgr)
{
	struct tessera_release_fence *release, *next;

	lockdep_assert_held(&mgr->lock);

	list_for_each_entry_safe(release, next, &mgr->ages, age)
		release_fence_drop_locked(mgr, release);
}

static int collect_under_extent(struct tessera_manager *mgr, const struct tessera_extent *extent,
				struct tessera_fences *fences)
{
	u64 first = extent->node.start, last = first + extent->node.size - 1;
	struct tessera_release_fence *release, *next;
	int ret = 0;

	mutex_lock(&mgr->lock);
	for (release = release_fence_tree_iter_first(&mgr->release_fences, first, last);
	     release && !ret; release = next) {
		next = release_fence_tree_iter_next(release, first, last);
		if (dma_fence_is_signaled(release->fence))
			release_fence_drop_locked(mgr, release);
		else
			ret = tessera_fences_try_add(fences, release->fence);
	}
	mutex_unlock(&mgr->lock);

	return ret;
}

/**
 * tessera_release_fences_collect() - collect the release fences under a
 * placement
 * @mgr: the manager
 * @placement: the placement, allocated
 * @fences: zeroed; call tessera_fences_fini() even after a failure
 *
 * Release fences are only added to holes, so none can come under the placement
 * afterwards.
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_release_fences_collect(struct tessera_manager *mgr,
				   const struct tessera_placement *placement,
				   struct tessera_fences *fences)
{
	const struct tessera_extent *extent;
	int ret = 0;

	tessera_placement_for_each_extent(extent, placement) {
		while (!ret && collect_under_extent(mgr, extent, fences))
			ret = tessera_fences_grow(fences);
		cond_resched();
	}

	return ret;
}

/**
 * tessera_release_fences_find() - look for an unsignalled release fence
 * @mgr: the manager
 * @lo: byte offset of the lower end of the searched extent
 * @hi: byte offset of its upper end
 *
 * Return: one such fence, with a reference; NULL if there is none.
 */
struct dma_fence *tessera_release_fences_find(struct tessera_manager *mgr, u64 lo, u64 hi)
{
	u64 first = lo >> PAGE_SHIFT, last = (hi >> PAGE_SHIFT) - 1;
	struct dma_fence *fence = NULL;
	struct tessera_release_fence *release;

	mutex_lock(&mgr->lock);
	for (release = release_fence_tree_iter_first(&mgr->release_fences, first, last);
	     release && !fence; release = release_fence_tree_iter_next(release, first, last))
		if (!dma_fence_is_signaled(release->fence))
			fence = dma_fence_get(release->fence);
	mutex_unlock(&mgr->lock);

	return fence;
}
