// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: managers
 *
 * The allocator under both kinds of segment manager: exact contiguous ranges on a
 * drm_mm, lowest place first, so that the split planner can predict it. One leaf
 * mutex per manager. Charges the account of the object's owner.
 *
 * A range is free as soon as its object has been told to leave it; the fence of that
 * stays with the hole as a departure, and who takes a piece of the hole waits for it and for
 * nothing else.
 */

#include <linux/dma-fence.h>
#include <linux/interval_tree_generic.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>

#include "segments/account.h"
#include "segments/manager.h"
#include "segments/room.h"
#include "segments/segment.h"
#include "tessera_device.h"

/* Departures looked at for having signalled, each time there is a new one. */
#define PRUNE_MAX	4

#define DEPARTURE_START(d)	((d)->start)
#define DEPARTURE_LAST(d)	((d)->last)

INTERVAL_TREE_DEFINE(struct tessera_departure, rb, u64, subtree_last, DEPARTURE_START,
		     DEPARTURE_LAST, static __maybe_unused, departure_tree)

/**
 * tessera_departure_create() - prepare to leave a range
 *
 * Return: the departure, to be given to a range or to tessera_departure_destroy(); NULL
 * without memory.
 */
struct tessera_departure *tessera_departure_create(void)
{
	return kzalloc(sizeof(struct tessera_departure), GFP_KERNEL_ACCOUNT);
}

/**
 * tessera_departure_destroy() - free a departure that is in no segment
 * @departure: the departure, or NULL
 */
void tessera_departure_destroy(struct tessera_departure *departure)
{
	if (departure)
		dma_fence_put(departure->fence);
	kfree(departure);
}

/**
 * tessera_departure_set() - say when it is over
 * @departure: a departure that is in no segment
 * @fence: signals when the range has been left
 */
void tessera_departure_set(struct tessera_departure *departure, struct dma_fence *fence)
{
	departure->fence = dma_fence_get(fence);
}

static void departure_drop_locked(struct tessera_manager *mgr, struct tessera_departure *d)
{
	departure_tree_remove(d, &mgr->departures);
	list_del(&d->age);
	tessera_departure_destroy(d);
}

/* The pages of @node are left behind. */
static void departure_add_locked(struct tessera_manager *mgr, const struct drm_mm_node *node,
				 struct tessera_departure *departure)
{
	struct tessera_departure *d, *next;
	u32 looks = 0;

	lockdep_assert_held(&mgr->lock);

	list_for_each_entry_safe(d, next, &mgr->ages, age) {
		if (looks++ == PRUNE_MAX)
			break;
		if (dma_fence_is_signaled(d->fence))
			departure_drop_locked(mgr, d);
		else
			list_move_tail(&d->age, &mgr->ages);
	}
	departure->start = node->start;
	departure->last = node->start + node->size - 1;
	departure_tree_insert(departure, &mgr->departures);
	list_add_tail(&departure->age, &mgr->ages);
}

/* -ENOSPC: no room in @fences. */
static int fences_try_add(struct tessera_fences *fences, struct dma_fence *fence)
{
	u32 i;

	for (i = 0; i < fences->num; i++) {
		struct dma_fence *have = fences->fence[i];

		if (have->context != fence->context)
			continue;
		if (dma_fence_is_later(fence, have)) {
			fences->fence[i] = dma_fence_get(fence);
			dma_fence_put(have);
		}
		return 0;
	}
	if (fences->num == fences->max)
		return -ENOSPC;
	fences->fence[fences->num++] = dma_fence_get(fence);

	return 0;
}

static int fences_grow(struct tessera_fences *fences)
{
	u32 max = max(8u, 2 * fences->max);
	struct dma_fence **more;

	more = krealloc_array(fences->fence, max, sizeof(*more), GFP_KERNEL);
	if (!more)
		return -ENOMEM;
	fences->fence = more;
	fences->max = max;

	return 0;
}

static int departures_collect(struct tessera_manager *mgr, struct tessera_range *range,
			      struct tessera_fences *fences)
{
	u64 first = range->node.start, last = first + range->node.size - 1;
	struct tessera_departure *d, *next;
	int ret = 0;

	mutex_lock(&mgr->lock);
	for (d = departure_tree_iter_first(&mgr->departures, first, last); d && !ret; d = next) {
		next = departure_tree_iter_next(d, first, last);
		if (dma_fence_is_signaled(d->fence))
			departure_drop_locked(mgr, d);
		else
			ret = fences_try_add(fences, d->fence);
	}
	mutex_unlock(&mgr->lock);

	return ret;
}

/**
 * tessera_manager_departures() - who still has to leave a range
 * @mgr: the manager
 * @range: the range, its place taken
 * @fences: zeroed; tessera_fences_fini() even after a failure
 *
 * Nobody else can begin to leave a piece of a range that is taken.
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_manager_departures(struct tessera_manager *mgr, struct tessera_range *range,
			       struct tessera_fences *fences)
{
	int ret = 0;

	while (!ret && departures_collect(mgr, range, fences))
		ret = fences_grow(fences);

	return ret;
}

/**
 * tessera_manager_leaving() - ask whether somebody still has to leave a place
 * @mgr: the manager
 * @lo: its lower end, a byte offset
 * @hi: its upper end
 *
 * Return: a fence of that, with a reference; NULL if all have left.
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

/**
 * tessera_fences_add() - take a fence in
 * @fences: zeroed at first; tessera_fences_fini() even after a failure
 * @fence: the fence; the reference stays the caller's
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_fences_add(struct tessera_fences *fences, struct dma_fence *fence)
{
	int ret = 0;

	while (!ret && fences_try_add(fences, fence))
		ret = fences_grow(fences);

	return ret;
}

/**
 * tessera_fences_fini() - drop fences
 * @fences: the fences
 */
void tessera_fences_fini(struct tessera_fences *fences)
{
	while (fences->num)
		dma_fence_put(fences->fence[--fences->num]);
	kfree(fences->fence);
	*fences = (struct tessera_fences) { };
}

/**
 * tessera_range_footprint() - what an object of a size takes in a segment
 * @seg: the segment
 * @bytes: size of the object
 *
 * Return: bytes, rounded up to the segment's granularity.
 */
u64 tessera_range_footprint(const struct tessera_segment *seg, u64 bytes)
{
	return ALIGN(bytes, seg->page_size);
}

/**
 * tessera_range_bytes() - size of a range
 * @range: the range
 *
 * Return: bytes.
 */
u64 tessera_range_bytes(struct tessera_range *range)
{
	return range->node.size << PAGE_SHIFT;
}

/**
 * tessera_range_offset() - where a range is
 * @range: the range
 *
 * Return: byte offset in the segment.
 */
u64 tessera_range_offset(struct tessera_range *range)
{
	return range->node.start << PAGE_SHIFT;
}

static int range_insert_locked(struct tessera_manager *mgr, struct tessera_range *range,
			       const struct ttm_place *place, u64 pages)
{
	u64 align = mgr->seg->page_size >> PAGE_SHIFT;
	u64 end = place->lpfn ? place->lpfn : mgr->seg->size >> PAGE_SHIFT;
	int ret;

	lockdep_assert_held(&mgr->lock);

	if (mgr->claimed && mgr->claimed != current)
		return -ENOSPC;
	if (mgr->committed + (pages << PAGE_SHIFT) > mgr->seg->commit)
		return -ENOSPC;

	ret = drm_mm_insert_node_in_range(&mgr->mm, &range->node, pages, align,
					  TESSERA_NODE_RANGE,
					  place->fpfn, end, DRM_MM_INSERT_LOW);
	if (ret)
		return ret;

	mgr->committed += pages << PAGE_SHIFT;
	mgr->peak = max(mgr->peak, mgr->committed);

	return 0;
}

static int tessera_manager_alloc(struct ttm_resource_manager *man,
				 struct ttm_buffer_object *tbo,
				 const struct ttm_place *place,
				 struct ttm_resource **res)
{
	struct tessera_manager *mgr = to_tessera_manager(man);
	struct tessera_range *range;
	u64 pages;
	int ret;

	range = kzalloc(sizeof(*range), GFP_KERNEL_ACCOUNT);
	if (!range)
		return -ENOMEM;

	pages = tessera_range_footprint(mgr->seg, tbo->base.size) >> PAGE_SHIFT;
	ttm_resource_init(tbo, place, &range->base);

	range->account = tessera_account_get(mgr->owner(tbo));
	mutex_lock(&mgr->lock);
	ret = range_insert_locked(mgr, range, place, pages);
	mutex_unlock(&mgr->lock);
	if (ret) {
		tessera_account_put(range->account);
		ttm_resource_fini(man, &range->base);
		kfree(range);
		return ret;
	}

	range->base.start = range->node.start;
	tessera_account_charge(range->account, mgr->seg->index, pages << PAGE_SHIFT);
	*res = &range->base;

	return 0;
}

static void tessera_manager_free(struct ttm_resource_manager *man,
				 struct ttm_resource *res)
{
	struct tessera_manager *mgr = to_tessera_manager(man);
	struct tessera_range *range = to_tessera_range(res);
	u64 bytes = tessera_range_bytes(range);

	if (mgr->freed)
		mgr->freed(mgr, range);

	mutex_lock(&mgr->lock);
	if (range->departure)
		departure_add_locked(mgr, &range->node, range->departure);
	drm_mm_remove_node(&range->node);
	mgr->committed -= bytes;
	mutex_unlock(&mgr->lock);
	tessera_room_signal(mgr->tdev, TESSERA_ROOM_FREED);

	tessera_account_uncharge(range->account, mgr->seg->index, bytes);
	tessera_account_put(range->account);
	ttm_resource_fini(man, res);
	kfree(range);
}

static bool tessera_manager_intersects(struct ttm_resource_manager *man,
				       struct ttm_resource *res,
				       const struct ttm_place *place, size_t size)
{
	struct tessera_range *range = to_tessera_range(res);

	return place->fpfn < range->node.start + range->node.size &&
	       (!place->lpfn || place->lpfn > range->node.start);
}

static bool tessera_manager_compatible(struct ttm_resource_manager *man,
				       struct ttm_resource *res,
				       const struct ttm_place *place, size_t size)
{
	struct tessera_range *range = to_tessera_range(res);

	return range->node.start >= place->fpfn &&
	       (!place->lpfn || range->node.start + range->node.size <= place->lpfn);
}

static void tessera_manager_debug(struct ttm_resource_manager *man,
				  struct drm_printer *printer)
{
	struct tessera_manager *mgr = to_tessera_manager(man);

	mutex_lock(&mgr->lock);
	drm_printf(printer, "  %s: committed %llu of %llu\n", mgr->seg->name,
		   mgr->committed, mgr->seg->commit);
	drm_mm_print(&mgr->mm, printer);
	mutex_unlock(&mgr->lock);
}

static const struct ttm_resource_manager_func tessera_manager_func = {
	.alloc = tessera_manager_alloc,
	.free = tessera_manager_free,
	.intersects = tessera_manager_intersects,
	.compatible = tessera_manager_compatible,
	.debug = tessera_manager_debug,
};

/**
 * tessera_manager_init() - start managing a segment
 * @mgr: zeroed manager
 * @tdev: the device
 * @seg: the segment
 * @owner: tells who pays for an object's place
 * @use_tt: objects in the segment are backed by system pages
 */
void tessera_manager_init(struct tessera_manager *mgr, struct tessera_device *tdev,
			  const struct tessera_segment *seg, tessera_manager_owner_t owner,
			  bool use_tt)
{
	mgr->tdev = tdev;
	mgr->seg = seg;
	mgr->owner = owner;
	mutex_init(&mgr->lock);
	drm_mm_init(&mgr->mm, 0, seg->size >> PAGE_SHIFT);
	mgr->departures = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&mgr->ages);

	mgr->base.func = &tessera_manager_func;
	mgr->base.use_tt = use_tt;
	ttm_resource_manager_init(&mgr->base, &tdev->ttm, seg->size >> PAGE_SHIFT);
	ttm_set_driver_manager(&tdev->ttm, seg->mem_type, &mgr->base);
	ttm_resource_manager_set_used(&mgr->base, true);
}

/**
 * tessera_manager_fini() - stop managing a segment
 * @mgr: the manager; all objects are gone
 */
void tessera_manager_fini(struct tessera_manager *mgr)
{
	struct tessera_departure *d, *next;

	ttm_resource_manager_set_used(&mgr->base, false);
	ttm_resource_manager_cleanup(&mgr->base);
	ttm_set_driver_manager(&mgr->tdev->ttm, mgr->seg->mem_type, NULL);
	mutex_lock(&mgr->lock);
	list_for_each_entry_safe(d, next, &mgr->ages, age)
		departure_drop_locked(mgr, d);
	mutex_unlock(&mgr->lock);
	drm_mm_takedown(&mgr->mm);
	mutex_destroy(&mgr->lock);
}

/**
 * tessera_manager_of() - manager of a segment
 * @tdev: the device
 * @seg_index: segment index
 *
 * Return: the manager.
 */
struct tessera_manager *tessera_manager_of(struct tessera_device *tdev, u32 seg_index)
{
	const struct tessera_segment *seg = tessera_segment_by_index(tdev, seg_index);

	return to_tessera_manager(ttm_manager_type(&tdev->ttm, seg->mem_type));
}

/**
 * tessera_manager_object_locked() - object at a place
 * @mgr: the manager, locked
 * @offset: byte offset in the segment
 *
 * Return: the object or one of TTM's ghosts, valid while the manager is locked; NULL if
 * the place is free.
 */
struct ttm_buffer_object *tessera_manager_object_locked(struct tessera_manager *mgr, u64 offset)
{
	struct drm_mm_node *node;

	lockdep_assert_held(&mgr->lock);

	drm_mm_for_each_node_in_range(node, &mgr->mm, offset >> PAGE_SHIFT,
				      (offset >> PAGE_SHIFT) + 1)
		return container_of(node, struct tessera_range, node)->base.bo;

	return NULL;
}

/**
 * tessera_manager_fits() - ask whether there is a hole
 * @mgr: the manager
 * @bytes: size of the object
 * @lo: byte offset it may start at
 * @hi: byte offset it must end at; 0: the end of the segment
 *
 * Return: true if an allocation would find room at this moment.
 */
bool tessera_manager_fits(struct tessera_manager *mgr, u64 bytes, u64 lo, u64 hi)
{
	u64 need = tessera_range_footprint(mgr->seg, bytes) >> PAGE_SHIFT;
	u64 align = mgr->seg->page_size >> PAGE_SHIFT;
	struct drm_mm_node *entry;
	u64 start, end;
	bool fits = false;

	mutex_lock(&mgr->lock);
	if (mgr->committed + (need << PAGE_SHIFT) <= mgr->seg->commit) {
		drm_mm_for_each_hole(entry, &mgr->mm, start, end) {
			start = ALIGN(max(start, lo >> PAGE_SHIFT), align);
			if (hi)
				end = min(end, hi >> PAGE_SHIFT);
			if (start <= end && end - start >= need) {
				fits = true;
				break;
			}
		}
	}
	mutex_unlock(&mgr->lock);

	return fits;
}

/* The part of [start, start + pages) that is not in [other, other + pages). */
static void node_outside(struct drm_mm_node *left, u64 start, u64 other, u64 pages)
{
	memset(left, 0, sizeof(*left));
	left->color = TESSERA_NODE_LEFT;
	left->size = min(pages, start > other ? start - other : other - start);
	left->start = start > other ? start + pages - left->size : start;
}

/**
 * tessera_manager_shift() - change the place of a range
 * @mgr: the manager
 * @range: the range, its owner's reservation is held
 * @offset: the new place in bytes; may overlap the old one
 * @left: on success keeps what was left from others until tessera_manager_leave()
 *
 * Only the books change; the caller moves the contents.
 *
 * Return: 0, -EINVAL for a place that is not in the segment, or -ENOSPC if it
 * is not free, or the segment is somebody else's for the moment.
 */
int tessera_manager_shift(struct tessera_manager *mgr, struct tessera_range *range,
			  u64 offset, struct drm_mm_node *left)
{
	u64 pages = range->node.size;
	u64 start = range->node.start;
	int ret;

	if (!IS_ALIGNED(offset, mgr->seg->page_size) || offset > mgr->seg->size ||
	    mgr->seg->size - offset < pages << PAGE_SHIFT)
		return -EINVAL;

	mutex_lock(&mgr->lock);
	if (mgr->claimed && mgr->claimed != current) {
		mutex_unlock(&mgr->lock);
		return -ENOSPC;
	}
	drm_mm_remove_node(&range->node);
	range->node.size = pages;
	range->node.start = offset >> PAGE_SHIFT;
	range->node.color = TESSERA_NODE_RANGE;
	ret = drm_mm_reserve_node(&mgr->mm, &range->node);
	if (ret) {
		/* Nobody can have taken the old place meanwhile. */
		range->node.start = start;
		range->node.size = pages;
		drm_WARN_ON(&mgr->tdev->drm, drm_mm_reserve_node(&mgr->mm, &range->node));
	} else {
		node_outside(left, start, range->node.start, pages);
		drm_WARN_ON(&mgr->tdev->drm, drm_mm_reserve_node(&mgr->mm, left));
	}
	mutex_unlock(&mgr->lock);
	range->base.start = range->node.start;

	return ret;
}

/**
 * tessera_manager_unshift() - take tessera_manager_shift() back
 * @mgr: the manager
 * @range: the range
 * @offset: where it was, in bytes
 * @left: what was kept of that
 */
void tessera_manager_unshift(struct tessera_manager *mgr, struct tessera_range *range,
			     u64 offset, struct drm_mm_node *left)
{
	u64 pages = range->node.size;

	mutex_lock(&mgr->lock);
	drm_mm_remove_node(left);
	drm_mm_remove_node(&range->node);
	range->node.size = pages;
	range->node.start = offset >> PAGE_SHIFT;
	drm_WARN_ON(&mgr->tdev->drm, drm_mm_reserve_node(&mgr->mm, &range->node));
	mutex_unlock(&mgr->lock);
	range->base.start = range->node.start;
}

/**
 * tessera_manager_leave() - let others have what a shifted range has left
 * @mgr: the manager
 * @left: from tessera_manager_shift()
 * @departure: when the contents have left it
 */
void tessera_manager_leave(struct tessera_manager *mgr, struct drm_mm_node *left,
			   struct tessera_departure *departure)
{
	mutex_lock(&mgr->lock);
	departure_add_locked(mgr, left, departure);
	drm_mm_remove_node(left);
	mutex_unlock(&mgr->lock);
	tessera_room_signal(mgr->tdev, TESSERA_ROOM_FREED);
}

static bool claim_try(struct tessera_manager *mgr)
{
	bool free;

	mutex_lock(&mgr->lock);
	free = !mgr->claimed;
	if (free)
		mgr->claimed = current;
	mutex_unlock(&mgr->lock);

	return free;
}

/**
 * tessera_manager_claim() - be the only one to place objects in a segment
 * @mgr: the manager
 *
 * For somebody who was disturbed too often, and for a moment: others find the segment
 * closed and wait, with no lock held. Claims of several segments are taken in their order,
 * before any other lock.
 *
 * Return: 0, -EINTR, or -ENODEV.
 */
int tessera_manager_claim(struct tessera_manager *mgr)
{
	u32 seen;
	int ret;

	for (;;) {
		seen = tessera_room_seen(mgr->tdev, TESSERA_ROOM_UNCLAIMED);
		if (claim_try(mgr))
			return 0;
		/* The owner sleeps nowhere where it could be frozen: this does not last. */
		ret = tessera_room_wait(mgr->tdev, TESSERA_ROOM_UNCLAIMED, seen, TASK_KILLABLE);
		if (ret)
			return ret;
	}
}

/**
 * tessera_manager_unclaim() - let others place objects again
 * @mgr: the manager; nothing is done if it was not claimed by the caller
 */
void tessera_manager_unclaim(struct tessera_manager *mgr)
{
	bool mine;

	mutex_lock(&mgr->lock);
	mine = mgr->claimed == current;
	if (mine)
		mgr->claimed = NULL;
	mutex_unlock(&mgr->lock);
	if (mine)
		tessera_room_signal(mgr->tdev, TESSERA_ROOM_UNCLAIMED);
}

/**
 * tessera_manager_closed() - ask whether somebody else has claimed a segment
 * @mgr: the manager
 *
 * Return: true if the caller cannot place anything there now.
 */
bool tessera_manager_closed(struct tessera_manager *mgr)
{
	struct task_struct *claimed = READ_ONCE(mgr->claimed);

	return claimed && claimed != current;
}
