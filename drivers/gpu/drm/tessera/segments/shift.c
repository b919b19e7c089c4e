// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: changes of place inside a segment
 *
 * Only the books: the caller moves the contents. Until they are on their way the old place is kept from others, so that
 * all can be taken back.
 *
 * What is in one piece is shifted, and its places may overlap. What may be in pieces vacates a part of the segment: those
 * of its pages that are in there get others behind it, all in one step, whatever number of runs they
 * are in.
 */

#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <drm/drm_print.h>

#include "segments/departure.h"
#include "segments/manager.h"
#include "segments/room.h"
#include "segments/segment.h"
#include "segments/shift.h"
#include "tessera_device.h"

/* ---- In one piece ---------------------------------------------------------- */

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
	if (tessera_manager_closed(mgr)) {
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
	run->range->base.start = run->node.start;

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
	run->range->base.start = run->node.start;
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
	drm_mm_remove_node(left);
	tessera_departures_add_locked(mgr, left->start, left->size, departures);
	mutex_unlock(&mgr->lock);
	tessera_room_signal(mgr->tdev, TESSERA_ROOM_FREED);
}

/* ---- In pieces ------------------------------------------------------------- */

/**
 * tessera_vacate_left() - what of a run is given up
 * @vacate: what is vacated
 * @run: a run the range had before
 * @at: receives the page of the range it begins with
 *
 * Return: pages, maybe none.
 */
u64 tessera_vacate_left(const struct tessera_vacate *vacate, const struct tessera_run *run,
			u64 *at)
{
	u64 lo = max(run->node.start, vacate->lo);
	u64 hi = min(run->node.start + run->node.size, vacate->hi);

	*at = run->at + lo - run->node.start;

	return hi > lo ? hi - lo : 0;
}

/* What follows the run before, in the range and in the segment, is of that run. */
static void add_run(struct tessera_vacate *vacate, u64 at, u64 start, u64 pages)
{
	struct tessera_run *run = vacate->new_runs + vacate->num_new - 1;

	if (!pages)
		return;
	if (vacate->num_new && run->at + run->node.size == at &&
	    run->node.start + run->node.size == start) {
		run->node.size += pages;
		return;
	}
	run = &vacate->new_runs[vacate->num_new++];
	*run = (struct tessera_run) { .range = vacate->range, .at = at };
	run->node.start = start;
	run->node.size = pages;
	run->node.color = TESSERA_NODE_RANGE;
}

/* What a run gives up goes where there is room, in the order in which it was taken. */
static void add_moved(struct tessera_vacate *vacate, u64 at, u64 pages)
{
	const struct tessera_run *room;
	u64 part;

	for (; pages; pages -= part, at += part) {
		room = &vacate->room.runs[vacate->used];
		part = min(pages, room->node.size - vacate->used_pages);
		add_run(vacate, at, room->node.start + vacate->used_pages, part);
		vacate->used_pages += part;
		if (vacate->used_pages == room->node.size) {
			vacate->used++;
			vacate->used_pages = 0;
		}
	}
}

static void add_all(struct tessera_vacate *vacate)
{
	const struct tessera_run *run;
	u64 at, pages, end;
	u32 i;

	for (i = 0; i < vacate->num_runs; i++) {
		run = &vacate->runs[i];
		pages = tessera_vacate_left(vacate, run, &at);
		if (!pages) {
			add_run(vacate, run->at, run->node.start, run->node.size);
			continue;
		}
		end = at + pages;
		add_run(vacate, run->at, run->node.start, at - run->at);
		add_moved(vacate, at, pages);
		add_run(vacate, end, run->node.start + end - run->at,
			run->at + run->node.size - end);
		cond_resched();
	}
}

static void count_left(struct tessera_vacate *vacate)
{
	u64 pages, at;
	u32 i;

	for (i = 0; i < vacate->num_runs; i++) {
		pages = tessera_vacate_left(vacate, &vacate->runs[i], &at);
		vacate->num_left += !!pages;
		vacate->room.pages += pages;
	}
}

static void free_room(struct tessera_manager *mgr, struct tessera_vacate *vacate, bool enter)
{
	mutex_lock(&mgr->lock);
	tessera_pieces_free_locked(&vacate->room);
	if (enter)
		tessera_range_enter_locked(mgr, vacate->range);
	mutex_unlock(&mgr->lock);
	kvfree(vacate->room.runs);
}

/**
 * tessera_manager_vacate() - leave a part of a segment for what is behind it
 * @mgr: the manager
 * @range: what may be in pieces, its owner's reservation is held
 * @lo: where the part begins, a byte offset
 * @hi: where it ends
 * @vacate: what is done, to be ended with tessera_manager_vacated() or tessera_manager_stay() unless
 *	@vacate->num_left is 0: then it is not there
 *
 * Return: 0; -ENOSPC if there are not as many pages behind it, or the segment is somebody else's for
 * the moment; or -ENOMEM.
 */
int tessera_manager_vacate(struct tessera_manager *mgr, struct tessera_range *range, u64 lo, u64 hi,
			   struct tessera_vacate *vacate)
{
	int ret;

	*vacate = (struct tessera_vacate) {
		.range = range,
		.lo = lo >> PAGE_SHIFT,
		.hi = hi >> PAGE_SHIFT,
		.runs = range->runs,
		.num_runs = range->num_runs,
		.addrs = range->addrs,
		.room = { .range = range, .lo = hi >> PAGE_SHIFT, .color = TESSERA_NODE_LEFT },
	};
	count_left(vacate);
	if (!vacate->num_left)
		return 0;
	ret = tessera_pieces_take(mgr, &vacate->room, false);
	if (ret)
		return ret;

	/* Each run is cut twice at most, and each end of what is taken cuts one. */
	vacate->new_runs = kvcalloc(3 * (size_t)vacate->num_runs + vacate->room.num,
				    sizeof(*vacate->new_runs), GFP_KERNEL_ACCOUNT);
	if (!vacate->new_runs) {
		free_room(mgr, vacate, false);
		return -ENOMEM;
	}
	add_all(vacate);
	/* Who looks for victims counts on all of its runs being in the manager. */
	mutex_lock(&mgr->lock);
	tessera_range_leave_locked(mgr, range);
	mutex_unlock(&mgr->lock);
	ret = tessera_range_set_runs(mgr, range, vacate->new_runs, vacate->num_new);
	if (ret) {
		kvfree(vacate->new_runs);
		free_room(mgr, vacate, true);
	}

	return ret;
}

static void vacated_locked(struct tessera_manager *mgr, struct tessera_vacate *vacate,
			   struct list_head *departures)
{
	struct tessera_run *run;
	u64 at, pages;
	u32 i;

	lockdep_assert_held(&mgr->lock);

	for (i = 0; i < vacate->num_runs; i++) {
		drm_mm_remove_node(&vacate->runs[i].node);
		cond_resched();
	}
	tessera_pieces_free_locked(&vacate->room);
	tessera_range_for_each_run(run, vacate->range) {
		drm_WARN_ON(&mgr->tdev->drm, drm_mm_reserve_node(&mgr->mm, &run->node));
		cond_resched();
	}
	for (i = 0; i < vacate->num_runs; i++) {
		run = &vacate->runs[i];
		pages = tessera_vacate_left(vacate, run, &at);
		if (pages)
			tessera_departures_add_locked(mgr, run->node.start + at - run->at, pages,
						      departures);
		cond_resched();
	}
}

/**
 * tessera_manager_vacated() - let others have what has been vacated
 * @mgr: the manager
 * @vacate: from tessera_manager_vacate()
 * @departures: @vacate->num_left of them: when the contents have left
 */
void tessera_manager_vacated(struct tessera_manager *mgr, struct tessera_vacate *vacate,
			     struct list_head *departures)
{
	mutex_lock(&mgr->lock);
	vacated_locked(mgr, vacate, departures);
	tessera_range_enter_locked(mgr, vacate->range);
	mutex_unlock(&mgr->lock);
	kvfree(vacate->room.runs);
	kvfree(vacate->addrs);
	if (vacate->runs != &vacate->range->one)
		kvfree(vacate->runs);
	tessera_room_signal(mgr->tdev, TESSERA_ROOM_FREED);
}

/**
 * tessera_manager_stay() - take tessera_manager_vacate() back
 * @mgr: the manager
 * @vacate: what was to be done
 */
void tessera_manager_stay(struct tessera_manager *mgr, struct tessera_vacate *vacate)
{
	struct tessera_range *range = vacate->range;

	kvfree(range->addrs);
	kvfree(range->runs);
	range->runs = vacate->runs;
	range->num_runs = vacate->num_runs;
	range->addrs = vacate->addrs;
	range->base.start = range->runs->node.start;
	free_room(mgr, vacate, true);
}
