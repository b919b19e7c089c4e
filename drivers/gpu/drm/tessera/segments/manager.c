// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: managers
 *
 * The allocator under both kinds of segment manager: exact contiguous ranges on a
 * drm_mm, lowest place first, so that the split planner can predict it; and, for who does not ask
 * for one piece, whatever pages are free (pure/scatter.c). One leaf
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

#include "pure/scatter.h"
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

static void departure_free(struct tessera_departure *departure)
{
	dma_fence_put(departure->fence);
	kfree(departure);
}

/**
 * tessera_departures_create() - prepare to leave a place
 * @departures: a list, empty; to be given to a range, or emptied with tessera_departures_destroy()
 * @num: how many runs will be left
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
	}

	return 0;
}

/**
 * tessera_departures_destroy() - free departures that are in no segment
 * @departures: the list
 */
void tessera_departures_destroy(struct list_head *departures)
{
	struct tessera_departure *departure, *next;

	list_for_each_entry_safe(departure, next, departures, list)
		departure_free(departure);
	INIT_LIST_HEAD(departures);
}

/**
 * tessera_departures_set() - say when they are over
 * @departures: departures that are in no segment
 * @fence: signals when the place has been left
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

/* The pages of @node are left behind, with the first of the list. */
static void departure_add_locked(struct tessera_manager *mgr, const struct drm_mm_node *node,
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
			ret = fences_try_add(fences, d->fence);
	}
	mutex_unlock(&mgr->lock);

	return ret;
}

/**
 * tessera_manager_departures() - who still has to leave a range
 * @mgr: the manager
 * @range: the range, its place taken
 * @only: of its runs, the one that matters, or NULL
 * @fences: zeroed; tessera_fences_fini() even after a failure
 *
 * Nobody else can begin to leave a piece of a range that is taken.
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_manager_departures(struct tessera_manager *mgr, const struct tessera_range *range,
			       const struct tessera_run *only, struct tessera_fences *fences)
{
	const struct tessera_run *run;
	int ret = 0;

	tessera_range_for_each_run(run, range) {
		if (only && run != only)
			continue;
		while (!ret && departures_collect(mgr, run, fences))
			ret = fences_grow(fences);
		cond_resched();
	}

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
	return range->pages << PAGE_SHIFT;
}

/**
 * tessera_range_offset() - where a range begins
 * @range: the range
 *
 * Return: byte offset in the segment.
 */
u64 tessera_range_offset(struct tessera_range *range)
{
	return tessera_run_offset(range->runs);
}

/**
 * tessera_range_at() - where a byte of an object is
 * @range: the object's
 * @at: which byte, of the range
 * @left: receives how many bytes follow each other there, this one counted; may be NULL
 *
 * Return: byte offset in the segment.
 */
u64 tessera_range_at(const struct tessera_range *range, u64 at, u64 *left)
{
	u64 page = at >> PAGE_SHIFT, offset;
	u32 lo = 0, hi = range->num_runs;
	const struct tessera_run *run;

	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;

		if (range->runs[mid].at <= page)
			lo = mid;
		else
			hi = mid;
	}
	run = &range->runs[lo];
	offset = at - (run->at << PAGE_SHIFT);
	if (left)
		*left = tessera_run_bytes(run) - offset;

	return tessera_run_offset(run) + offset;
}

/**
 * tessera_range_run() - find a run by its place
 * @range: the range
 * @offset: where it begins, a byte offset in the segment
 *
 * Return: the run; NULL if none begins there.
 */
struct tessera_run *tessera_range_run(const struct tessera_range *range, u64 offset)
{
	struct tessera_run *run;

	tessera_range_for_each_run(run, range)
		if (tessera_run_offset(run) == offset)
			return run;

	return NULL;
}

/**
 * tessera_run_offset() - where a run is
 * @run: the run
 *
 * Return: byte offset in the segment.
 */
u64 tessera_run_offset(const struct tessera_run *run)
{
	return run->node.start << PAGE_SHIFT;
}

/**
 * tessera_run_bytes() - size of a run
 * @run: the run
 *
 * Return: bytes.
 */
u64 tessera_run_bytes(const struct tessera_run *run)
{
	return run->node.size << PAGE_SHIFT;
}

static bool may_commit_locked(struct tessera_manager *mgr, u64 pages)
{
	lockdep_assert_held(&mgr->lock);

	return (!mgr->claimed || mgr->claimed == current) &&
	       mgr->committed + (pages << PAGE_SHIFT) <= mgr->seg->commit;
}

static void commit_locked(struct tessera_manager *mgr, u64 pages)
{
	lockdep_assert_held(&mgr->lock);

	mgr->committed += pages << PAGE_SHIFT;
	mgr->peak = max(mgr->peak, mgr->committed);
}

/* In one piece. */
static int range_insert_locked(struct tessera_manager *mgr, struct tessera_range *range,
			       const struct ttm_place *place)
{
	u64 align = mgr->seg->page_size >> PAGE_SHIFT;
	u64 end = place->lpfn ? place->lpfn : mgr->seg->size >> PAGE_SHIFT;
	int ret;

	lockdep_assert_held(&mgr->lock);

	if (!may_commit_locked(mgr, range->pages))
		return -ENOSPC;

	ret = drm_mm_insert_node_in_range(&mgr->mm, &range->one.node, range->pages, align,
					  TESSERA_NODE_RANGE,
					  place->fpfn, end, DRM_MM_INSERT_LOW);
	if (!ret)
		commit_locked(mgr, range->pages);

	return ret;
}

/* A hole is offered: take what is wanted of it. -E2BIG: no room for one more run. */
static int scatter_hole_locked(struct tessera_manager *mgr, struct tessera_range *range, u32 room,
			       struct tessera_scatter *scatter, u64 lo, u64 hi)
{
	u64 start, at = range->pages - scatter->left;
	u64 pages = tessera_scatter_take(scatter, lo, hi, &start);
	struct tessera_run *run;

	lockdep_assert_held(&mgr->lock);

	if (!pages)
		return 0;
	if (range->num_runs == room)
		return -E2BIG;
	run = &range->runs[range->num_runs++];
	*run = (struct tessera_run) { .range = range, .at = at };
	run->node.start = start;
	run->node.size = pages;
	run->node.color = TESSERA_NODE_RANGE;

	return drm_mm_reserve_node(&mgr->mm, &run->node);
}

/* All holes are offered, in order; those that come up are before the node that is looked at. */
static int scatter_round_locked(struct tessera_manager *mgr, struct tessera_range *range, u32 room,
				struct tessera_scatter *scatter)
{
	struct drm_mm_node *node;
	u64 lo = 0;
	int ret;

	lockdep_assert_held(&mgr->lock);

	drm_mm_for_each_node(node, &mgr->mm) {
		if (!scatter->left)
			return 0;
		ret = scatter_hole_locked(mgr, range, room, scatter, lo, node->start);
		if (ret)
			return ret;
		lo = node->start + node->size;
	}

	return scatter_hole_locked(mgr, range, room, scatter, lo, mgr->seg->size >> PAGE_SHIFT);
}

/* Wherever there is a page. -E2BIG: it takes more runs than there is @room for. */
static int range_scatter_locked(struct tessera_manager *mgr, struct tessera_range *range, u32 room)
{
	struct tessera_scatter scatter;
	int ret;

	lockdep_assert_held(&mgr->lock);

	if (!may_commit_locked(mgr, range->pages))
		return -ENOSPC;
	range->num_runs = 0;
	tessera_scatter_begin(&scatter, range->pages, mgr->seg->page_size >> PAGE_SHIFT);
	do {
		ret = scatter_round_locked(mgr, range, room, &scatter);
	} while (!ret && tessera_scatter_next(&scatter));
	if (!ret && scatter.left)
		ret = -ENOSPC;
	if (!ret) {
		commit_locked(mgr, range->pages);
		return 0;
	}
	while (range->num_runs)
		if (drm_mm_node_allocated(&range->runs[--range->num_runs].node))
			drm_mm_remove_node(&range->runs[range->num_runs].node);

	return ret;
}

static void range_free(struct tessera_range *range)
{
	if (range->runs != &range->one)
		kvfree(range->runs);
	kvfree(range->addrs);
	tessera_departures_destroy(&range->departures);
	kfree(range);
}

/* Runs are kept in order and in place: what is too small is given up for something larger. */
static int range_grow(struct tessera_range *range, u32 *room)
{
	struct tessera_run *runs;

	*room = min_t(u64, *room * 8ULL, range->pages);
	runs = kvcalloc(*room, sizeof(*runs), GFP_KERNEL_ACCOUNT);
	if (!runs)
		return -ENOMEM;
	if (range->runs != &range->one)
		kvfree(range->runs);
	range->runs = runs;

	return 0;
}

/* Where the GPU finds the pages of a run. */
static void range_set_addrs(struct tessera_manager *mgr, const struct tessera_run *run)
{
	dma_addr_t *addrs = run->range->addrs;
	u64 i;

	if (run == run->range->runs)
		run->range->base.start = run->node.start;
	for (i = 0; addrs && i < run->node.size; i++)
		addrs[run->at + i] = mgr->seg->base + ((run->node.start + i) << PAGE_SHIFT);
}

static void range_remove(struct tessera_manager *mgr, struct tessera_range *range)
{
	struct tessera_run *run;

	mutex_lock(&mgr->lock);
	tessera_range_for_each_run(run, range) {
		if (!list_empty(&range->departures))
			departure_add_locked(mgr, &run->node, &range->departures);
		drm_mm_remove_node(&run->node);
	}
	mgr->committed -= tessera_range_bytes(range);
	mutex_unlock(&mgr->lock);
}

static int range_scatter(struct tessera_manager *mgr, struct tessera_range *range)
{
	struct tessera_run *run;
	u32 room = 1;
	int ret;

	for (;;) {
		mutex_lock(&mgr->lock);
		ret = range_scatter_locked(mgr, range, room);
		mutex_unlock(&mgr->lock);
		if (ret != -E2BIG)
			break;
		ret = range_grow(range, &room);
		if (ret)
			return ret;
	}
	if (ret || range->num_runs == 1 || tessera_segment_is_aperture(mgr->seg))
		return ret;

	range->addrs = kvcalloc(range->pages, sizeof(*range->addrs), GFP_KERNEL_ACCOUNT);
	if (!range->addrs) {
		range_remove(mgr, range);
		return -ENOMEM;
	}
	tessera_range_for_each_run(run, range)
		range_set_addrs(mgr, run);

	return 0;
}

static int range_contiguous(struct tessera_manager *mgr, struct tessera_range *range,
			    const struct ttm_place *place)
{
	int ret;

	mutex_lock(&mgr->lock);
	ret = range_insert_locked(mgr, range, place);
	mutex_unlock(&mgr->lock);

	return ret;
}

static struct tessera_range *range_create(struct tessera_manager *mgr, u64 bytes)
{
	struct tessera_range *range = kzalloc(sizeof(*range), GFP_KERNEL_ACCOUNT);

	if (!range)
		return NULL;
	range->pages = tessera_range_footprint(mgr->seg, bytes) >> PAGE_SHIFT;
	range->one.range = range;
	range->runs = &range->one;
	range->num_runs = 1;
	INIT_LIST_HEAD(&range->departures);

	return range;
}

static int tessera_manager_alloc(struct ttm_resource_manager *man,
				 struct ttm_buffer_object *tbo,
				 const struct ttm_place *place,
				 struct ttm_resource **res)
{
	struct tessera_manager *mgr = to_tessera_manager(man);
	struct tessera_range *range;
	int ret;

	range = range_create(mgr, tbo->base.size);
	if (!range)
		return -ENOMEM;
	ttm_resource_init(tbo, place, &range->base);

	range->account = tessera_account_get(mgr->owner(tbo));
	ret = place->flags & TTM_PL_FLAG_CONTIGUOUS ? range_contiguous(mgr, range, place) :
						      range_scatter(mgr, range);
	if (ret) {
		tessera_account_put(range->account);
		ttm_resource_fini(man, &range->base);
		range_free(range);
		return ret;
	}

	range->base.start = range->runs->node.start;
	tessera_account_charge(range->account, mgr->seg->index, tessera_range_bytes(range));
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

	range_remove(mgr, range);
	tessera_room_signal(mgr->tdev, TESSERA_ROOM_FREED);

	tessera_account_uncharge(range->account, mgr->seg->index, bytes);
	tessera_account_put(range->account);
	ttm_resource_fini(man, res);
	range_free(range);
}

static bool tessera_manager_intersects(struct ttm_resource_manager *man,
				       struct ttm_resource *res,
				       const struct ttm_place *place, size_t size)
{
	struct tessera_range *range = to_tessera_range(res);
	struct tessera_run *run;

	tessera_range_for_each_run(run, range)
		if (place->fpfn < run->node.start + run->node.size &&
		    (!place->lpfn || place->lpfn > run->node.start))
			return true;

	return false;
}

static bool tessera_manager_compatible(struct ttm_resource_manager *man,
				       struct ttm_resource *res,
				       const struct ttm_place *place, size_t size)
{
	struct tessera_range *range = to_tessera_range(res);
	struct tessera_run *run;

	tessera_range_for_each_run(run, range)
		if (run->node.start < place->fpfn ||
		    (place->lpfn && run->node.start + run->node.size > place->lpfn))
			return false;

	return true;
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
		if (node->color == TESSERA_NODE_RANGE)
			return container_of(node, struct tessera_run, node)->range->base.bo;

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

/**
 * tessera_manager_has() - ask whether there is room, in whatever pieces
 * @mgr: the manager
 * @bytes: size of the object
 *
 * Return: true if an allocation that does not ask for one piece would succeed at this moment.
 */
bool tessera_manager_has(struct tessera_manager *mgr, u64 bytes)
{
	u64 need = tessera_range_footprint(mgr->seg, bytes), room = 0;
	struct drm_mm_node *entry;
	u64 start, end;

	mutex_lock(&mgr->lock);
	if (mgr->committed + need <= mgr->seg->commit)
		drm_mm_for_each_hole(entry, &mgr->mm, start, end)
			room += (end - start) << PAGE_SHIFT;
	mutex_unlock(&mgr->lock);

	return room >= need;
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
 * tessera_manager_shift() - change the place of a run
 * @mgr: the manager
 * @run: the run, its owner's reservation is held
 * @offset: the new place in bytes; may overlap the old one
 * @left: on success keeps what was left from others until tessera_manager_leave()
 *
 * Only the books change; the caller moves the contents.
 *
 * Return: 0, -EINVAL for a place that is not in the segment, or -ENOSPC if it
 * is not free, or the segment is somebody else's for the moment.
 */
int tessera_manager_shift(struct tessera_manager *mgr, struct tessera_run *run,
			  u64 offset, struct drm_mm_node *left)
{
	u64 pages = run->node.size;
	u64 start = run->node.start;
	int ret;

	if (!IS_ALIGNED(offset, mgr->seg->page_size) || offset > mgr->seg->size ||
	    mgr->seg->size - offset < pages << PAGE_SHIFT)
		return -EINVAL;

	mutex_lock(&mgr->lock);
	if (mgr->claimed && mgr->claimed != current) {
		mutex_unlock(&mgr->lock);
		return -ENOSPC;
	}
	drm_mm_remove_node(&run->node);
	run->node.size = pages;
	run->node.start = offset >> PAGE_SHIFT;
	run->node.color = TESSERA_NODE_RANGE;
	ret = drm_mm_reserve_node(&mgr->mm, &run->node);
	if (ret) {
		/* Nobody can have taken the old place meanwhile. */
		run->node.start = start;
		run->node.size = pages;
		drm_WARN_ON(&mgr->tdev->drm, drm_mm_reserve_node(&mgr->mm, &run->node));
	} else {
		node_outside(left, start, run->node.start, pages);
		drm_WARN_ON(&mgr->tdev->drm, drm_mm_reserve_node(&mgr->mm, left));
	}
	mutex_unlock(&mgr->lock);
	range_set_addrs(mgr, run);

	return ret;
}

/**
 * tessera_manager_unshift() - take tessera_manager_shift() back
 * @mgr: the manager
 * @run: the run
 * @offset: where it was, in bytes
 * @left: what was kept of that
 */
void tessera_manager_unshift(struct tessera_manager *mgr, struct tessera_run *run,
			     u64 offset, struct drm_mm_node *left)
{
	u64 pages = run->node.size;

	mutex_lock(&mgr->lock);
	drm_mm_remove_node(left);
	drm_mm_remove_node(&run->node);
	run->node.size = pages;
	run->node.start = offset >> PAGE_SHIFT;
	drm_WARN_ON(&mgr->tdev->drm, drm_mm_reserve_node(&mgr->mm, &run->node));
	mutex_unlock(&mgr->lock);
	range_set_addrs(mgr, run);
}

/**
 * tessera_manager_leave() - let others have what a shifted run has left
 * @mgr: the manager
 * @left: from tessera_manager_shift()
 * @departures: one: when the contents have left it
 */
void tessera_manager_leave(struct tessera_manager *mgr, struct drm_mm_node *left,
			   struct list_head *departures)
{
	mutex_lock(&mgr->lock);
	departure_add_locked(mgr, left, departures);
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
