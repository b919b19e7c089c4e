// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: relocation inside a segment
 *
 * A contiguous placement is relocated by changing the place of its node. The
 * old and the new place may overlap, so both are never allocated at once. This
 * file changes the allocator's state only; the caller moves the contents. The
 * part of the old place outside the new one stays allocated until the move is
 * queued, so that a failed relocation can be undone.
 */

#include <linux/string.h>

#include <drm/drm_print.h>

#include "base/device.h"
#include "segments/segments.h"

/* The part of [start, start + pages) that is not in [other, other + pages). */
static void node_outside(struct drm_mm_node *left, u64 start, u64 other, u64 pages)
{
	memset(left, 0, sizeof(*left));
	left->color = TESSERA_NODE_LEFT;
	left->size = min(pages, start > other ? start - other : other - start);
	left->start = start > other ? start + pages - left->size : start;
}

/**
 * tessera_manager_relocate() - change the place of an extent
 * @mgr: the manager
 * @extent: the extent; the reservation of its object is held
 * @offset: the new place in bytes; may overlap the old one
 * @left: on success keeps the rest of the old place allocated until
 * tessera_manager_relocate_finish()
 *
 * Changes the allocator's state only. The caller moves the contents, and has
 * checked that the segment is not claimed.
 *
 * Return: 0; -EINVAL for a place that is not in the segment; or -ENOSPC if it
 * is not free.
 */
int tessera_manager_relocate(struct tessera_manager *mgr, struct tessera_extent *extent,
			     u64 offset, struct drm_mm_node *left)
{
	u64 pages = extent->node.size;
	u64 start = extent->node.start;
	int ret;

	if (!IS_ALIGNED(offset, mgr->seg->page_size) || offset > mgr->seg->size ||
	    mgr->seg->size - offset < pages << PAGE_SHIFT)
		return -EINVAL;

	mutex_lock(&mgr->lock);
	drm_mm_remove_node(&extent->node);
	ret = tessera_extent_reserve_locked(mgr, extent, offset >> PAGE_SHIFT, pages);
	if (ret) {
		/* The lock was held since, so the old place is still free. */
		drm_WARN_ON(&mgr->tdev->drm,
			    tessera_extent_reserve_locked(mgr, extent, start, pages));
	} else {
		node_outside(left, start, extent->node.start, pages);
		drm_WARN_ON(&mgr->tdev->drm, drm_mm_reserve_node(&mgr->mm, left));
	}
	mutex_unlock(&mgr->lock);
	extent->placement->base.start = extent->node.start;

	return ret;
}

/**
 * tessera_manager_relocate_undo() - undo tessera_manager_relocate()
 * @mgr: the manager
 * @extent: the extent
 * @offset: its old place, in bytes
 * @left: from tessera_manager_relocate()
 */
void tessera_manager_relocate_undo(struct tessera_manager *mgr, struct tessera_extent *extent,
				   u64 offset, struct drm_mm_node *left)
{
	u64 pages = extent->node.size;

	mutex_lock(&mgr->lock);
	drm_mm_remove_node(left);
	drm_mm_remove_node(&extent->node);
	drm_WARN_ON(&mgr->tdev->drm,
		    tessera_extent_reserve_locked(mgr, extent, offset >> PAGE_SHIFT, pages));
	mutex_unlock(&mgr->lock);
	extent->placement->base.start = extent->node.start;
}

/**
 * tessera_manager_relocate_finish() - free the old place of a relocated extent
 * @mgr: the manager
 * @left: from tessera_manager_relocate()
 * @release_fences: list of one release fence, which signals when the contents
 * have left
 */
void tessera_manager_relocate_finish(struct tessera_manager *mgr, struct drm_mm_node *left,
				     struct list_head *release_fences)
{
	mutex_lock(&mgr->lock);
	drm_mm_remove_node(left);
	tessera_release_fences_add_locked(mgr, left->start, left->size, release_fences);
	mutex_unlock(&mgr->lock);
	tessera_space_signal(mgr->tdev, TESSERA_SPACE_FREED);
}
