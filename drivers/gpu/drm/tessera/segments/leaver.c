// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: leavers
 *
 * What an object leaves is free at once, and who takes it waits (segments/departure.c). Not so if the
 * object waits for what others than this device signal, which is as long as they like: then it leaves late, and
 * nobody but its owner is to wait for that, who pays for the place until then. Such a range stays
 * where it is, with no object, and to who looks for room it is like one of an object that is being destroyed.
 */

#include <linux/sched.h>
#include <linux/workqueue.h>

#include "segments/departure.h"
#include "segments/leaver.h"
#include "segments/manager.h"

static struct tessera_range *to_range(struct tessera_leaver *leaver)
{
	return container_of(leaver, struct tessera_range, leaver);
}

/* Its callback has been called, or never will be. */
static void leaver_end_locked(struct tessera_manager *mgr, struct tessera_leaver *leaver)
{
	lockdep_assert_held(&mgr->lock);

	dma_fence_remove_callback(leaver->fence, &leaver->cb);
	list_del(&leaver->node);
	mgr->leaving -= to_range(leaver)->pages << PAGE_SHIFT;
}

/* To @list go those that have left, or all. */
static void leavers_collect(struct tessera_manager *mgr, struct list_head *list, bool all)
{
	struct tessera_leaver *leaver, *next;

	mutex_lock(&mgr->lock);
	list_for_each_entry_safe(leaver, next, &mgr->leavers, node) {
		if (all || dma_fence_is_signaled(leaver->fence)) {
			leaver_end_locked(mgr, leaver);
			list_add_tail(&leaver->node, list);
		}
		cond_resched();
	}
	mutex_unlock(&mgr->lock);
}

static void leavers_release(struct tessera_manager *mgr, bool all)
{
	struct tessera_leaver *leaver, *next;
	LIST_HEAD(list);

	leavers_collect(mgr, &list, all);
	list_for_each_entry_safe(leaver, next, &list, node) {
		dma_fence_put(leaver->fence);
		tessera_departures_destroy(&to_range(leaver)->departures);
		mgr->release(mgr, to_range(leaver));
		cond_resched();
	}
}

static void leavers_work(struct work_struct *work)
{
	leavers_release(container_of(work, struct tessera_manager, left), false);
}

/* A range needs locks that a fence's callback cannot take. */
static void leaver_signalled(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct tessera_leaver *leaver = container_of(cb, struct tessera_leaver, cb);

	queue_work(system_unbound_wq, &leaver->mgr->left);
}

/**
 * tessera_leavers_init() - prepare for ranges that are left late
 * @mgr: the manager
 * @release: gives one back that has been left
 */
void tessera_leavers_init(struct tessera_manager *mgr,
			  void (*release)(struct tessera_manager *mgr, struct tessera_range *range))
{
	mgr->release = release;
	INIT_LIST_HEAD(&mgr->leavers);
	INIT_WORK(&mgr->left, leavers_work);
}

/**
 * tessera_leavers_fini() - nobody is going to take anything
 * @mgr: the manager; all objects are gone
 */
void tessera_leavers_fini(struct tessera_manager *mgr)
{
	leavers_release(mgr, true);
	cancel_work_sync(&mgr->left);
}

/**
 * tessera_leaver_begin() - keep a range until it has been left
 * @mgr: the manager
 * @range: the range, with its fence, and no longer TTM's
 */
void tessera_leaver_begin(struct tessera_manager *mgr, struct tessera_range *range)
{
	struct tessera_leaver *leaver = &range->leaver;

	mutex_lock(&mgr->lock);
	range->base.bo = NULL;
	leaver->mgr = mgr;
	list_add_tail(&leaver->node, &mgr->leavers);
	mgr->leaving += range->pages << PAGE_SHIFT;
	if (dma_fence_add_callback(leaver->fence, &leaver->cb, leaver_signalled))
		queue_work(system_unbound_wq, &mgr->left);
	mutex_unlock(&mgr->lock);
}

/**
 * tessera_leaver_take_locked() - find a place for who comes in any case after who is leaving it
 * @mgr: the manager, locked
 * @context: of the fences of both moves: they are in one order
 * @pages: how many
 * @lo: first page it may begin at
 * @hi: where it must end
 *
 * An object that moves to and fro behind others' fences would have a place for each time otherwise.
 *
 * Return: a range that is the caller's now, in one run and with its fence, or NULL.
 */
struct tessera_range *tessera_leaver_take_locked(struct tessera_manager *mgr, u64 context,
						 u64 pages, u64 lo, u64 hi)
{
	struct tessera_leaver *leaver;
	struct tessera_range *range;

	lockdep_assert_held(&mgr->lock);

	list_for_each_entry(leaver, &mgr->leavers, node) {
		range = to_range(leaver);
		if (leaver->fence->context == context && range->num_runs == 1 &&
		    range->pages == pages && range->runs->node.start >= lo &&
		    range->runs->node.start + pages <= hi) {
			leaver_end_locked(mgr, leaver);
			return range;
		}
	}

	return NULL;
}

/**
 * tessera_leaver_at() - ask whether a place has yet to be left
 * @mgr: the manager
 * @offset: byte offset in the segment
 *
 * Return: true if it is still taken for that.
 */
bool tessera_leaver_at(struct tessera_manager *mgr, u64 offset)
{
	u64 page = offset >> PAGE_SHIFT;
	struct drm_mm_node *node;
	bool leaves = false;

	mutex_lock(&mgr->lock);
	drm_mm_for_each_node_in_range(node, &mgr->mm, page, page + 1)
		if (node->color == TESSERA_NODE_RANGE)
			leaves = container_of(node, struct tessera_run, node)->range->leaver.fence;
	mutex_unlock(&mgr->lock);

	return leaves;
}
