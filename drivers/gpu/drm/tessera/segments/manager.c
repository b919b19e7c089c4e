// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: managers
 *
 * The allocator under both kinds of segment manager: exact contiguous ranges on a
 * drm_mm, lowest place first, so that the split planner can predict it. One leaf
 * mutex per manager. Charges the account of the object's owner.
 */

#include <linux/slab.h>

#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>

#include "segments/account.h"
#include "segments/manager.h"
#include "segments/segment.h"
#include "tessera_device.h"

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

	if (mgr->committed + (pages << PAGE_SHIFT) > mgr->seg->commit)
		return -ENOSPC;

	ret = drm_mm_insert_node_in_range(&mgr->mm, &range->node, pages, align, 0,
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

	range = kzalloc(sizeof(*range), GFP_KERNEL);
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
	drm_mm_remove_node(&range->node);
	mgr->committed -= bytes;
	mutex_unlock(&mgr->lock);

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
	ttm_resource_manager_set_used(&mgr->base, false);
	ttm_resource_manager_cleanup(&mgr->base);
	ttm_set_driver_manager(&mgr->tdev->ttm, mgr->seg->mem_type, NULL);
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

/**
 * tessera_manager_shift() - change the place of a range
 * @mgr: the manager
 * @range: the range, its owner's reservation is held
 * @offset: the new place in bytes; may overlap the old one
 *
 * Only the books change; the caller moves the contents and sees to it that whoever gets
 * the old place waits for that.
 *
 * Return: 0, -EINVAL for a place that is not in the segment, or -ENOSPC if it
 * is not free.
 */
int tessera_manager_shift(struct tessera_manager *mgr, struct tessera_range *range,
			  u64 offset)
{
	u64 pages = range->node.size;
	u64 start = range->node.start;
	int ret;

	if (!IS_ALIGNED(offset, mgr->seg->page_size) || offset > mgr->seg->size ||
	    mgr->seg->size - offset < pages << PAGE_SHIFT)
		return -EINVAL;

	mutex_lock(&mgr->lock);
	drm_mm_remove_node(&range->node);
	range->node.size = pages;
	range->node.start = offset >> PAGE_SHIFT;
	range->node.color = 0;
	ret = drm_mm_reserve_node(&mgr->mm, &range->node);
	if (ret) {
		/* Nobody can have taken the old place meanwhile. */
		range->node.start = start;
		range->node.size = pages;
		drm_WARN_ON(&mgr->tdev->drm, drm_mm_reserve_node(&mgr->mm, &range->node));
	}
	mutex_unlock(&mgr->lock);
	range->base.start = range->node.start;

	return ret;
}
