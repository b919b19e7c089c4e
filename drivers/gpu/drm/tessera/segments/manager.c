// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: managers
 *
 * The allocator of a segment, behind both TTM managers. Contiguous placements
 * are allocated on a drm_mm at the lowest free place, so that the split planner
 * can predict the result exactly. Objects that need not be contiguous take any
 * free pages (pure/scatter.c). Each manager has one mutex, under which only the
 * accounts' is taken. The holder allocates nothing and waits for no fence.
 * Allocations are charged to the account of the object's owner.
 *
 * A manager keeps the placements of each process sorted in the order of
 * eviction, so that a search for victims does not visit all of them
 * (mem/order.c).
 */

#include <kunit/visibility.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>

#include "base/device.h"
#include "client/client.h"
#include "pure/scatter.h"
#include "segments/segments.h"

/**
 * tessera_placement_footprint() - bytes that an object of a given size takes
 * @seg: the segment
 * @bytes: size of the object
 *
 * Return: bytes, rounded up to the segment's granularity.
 */
u64 tessera_placement_footprint(const struct tessera_segment *seg, u64 bytes)
{
	return ALIGN(bytes, seg->page_size);
}

/**
 * tessera_placement_alignment() - alignment of an object in a segment
 * @seg: the segment
 * @tbo: the object
 *
 * Return: bytes, a power of two, at least the segment's granularity.
 */
u64 tessera_placement_alignment(const struct tessera_segment *seg,
				const struct ttm_buffer_object *tbo)
{
	return max_t(u64, seg->page_size, (u64)tbo->page_alignment << PAGE_SHIFT);
}

/**
 * tessera_placement_bytes() - size of a placement
 * @placement: the placement
 *
 * Return: bytes.
 */
u64 tessera_placement_bytes(struct tessera_placement *placement)
{
	return placement->pages << PAGE_SHIFT;
}

/**
 * tessera_placement_offset() - where a placement begins
 * @placement: the placement
 *
 * Return: byte offset in the segment.
 */
u64 tessera_placement_offset(struct tessera_placement *placement)
{
	return tessera_extent_offset(placement->extents);
}

/**
 * tessera_placement_at() - look up where a byte of an object is
 * @placement: the object's placement
 * @at: offset of the byte in the placement
 * @left: receives how many bytes are contiguous from there, this one included;
 * may be NULL
 *
 * Return: byte offset in the segment.
 */
u64 tessera_placement_at(const struct tessera_placement *placement, u64 at, u64 *left)
{
	u64 page = at >> PAGE_SHIFT, offset;
	u32 lo = 0, hi = placement->num_extents;
	const struct tessera_extent *extent;

	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;

		if (placement->extents[mid].at <= page)
			lo = mid;
		else
			hi = mid;
	}
	extent = &placement->extents[lo];
	WARN_ONCE(IS_ENABLED(CONFIG_DRM_TESSERA_DEBUG) &&
		  (page < extent->at ||
		   at - (extent->at << PAGE_SHIFT) >= tessera_extent_bytes(extent)),
		  "tessera: page %llu of an object is looked for in its extent at page %llu\n",
		  page, (u64)extent->at);
	offset = at - (extent->at << PAGE_SHIFT);
	if (left)
		*left = tessera_extent_bytes(extent) - offset;

	return tessera_extent_offset(extent) + offset;
}

/**
 * tessera_placement_extent() - find an extent by its place
 * @placement: the placement
 * @offset: byte offset in the segment at which the extent begins
 *
 * Return: the extent; NULL if none begins there.
 */
struct tessera_extent *tessera_placement_extent(const struct tessera_placement *placement,
						u64 offset)
{
	struct tessera_extent *extent;

	tessera_placement_for_each_extent(extent, placement)
		if (tessera_extent_offset(extent) == offset)
			return extent;

	return NULL;
}

/**
 * tessera_extent_offset() - where an extent begins
 * @extent: the extent
 *
 * Return: byte offset in the segment.
 */
u64 tessera_extent_offset(const struct tessera_extent *extent)
{
	return extent->node.start << PAGE_SHIFT;
}

/**
 * tessera_extent_bytes() - size of an extent
 * @extent: the extent
 *
 * Return: bytes.
 */
u64 tessera_extent_bytes(const struct tessera_extent *extent)
{
	return extent->node.size << PAGE_SHIFT;
}

/* ---- Order of eviction --------------------------------------------------- */

/**
 * tessera_placement_tenant() - placements of the process that a placement is
 * charged to
 * @mgr: the manager
 * @placement: the placement
 *
 * Return: the placements of that process in the segment.
 */
struct tessera_tenant *tessera_placement_tenant(struct tessera_manager *mgr,
						struct tessera_placement *placement)
{
	return &placement->account->process->tenants[mgr->seg->index];
}

static bool placement_before(struct rb_node *node, const struct rb_node *other)
{
	const struct tessera_placement *a = rb_entry(node, struct tessera_placement, order);
	const struct tessera_placement *b = rb_entry(other, struct tessera_placement, order);
	u32 group_a = tessera_placement_group(a), group_b = tessera_placement_group(b);

	return group_a == group_b ? a->last_use < b->last_use : group_a < group_b;
}

static void count_placement_locked(struct tessera_tenant *tenant,
				   struct tessera_placement *placement)
{
	u64 bytes = tessera_placement_bytes(placement);

	lockdep_assert_held(&placement->mgr->lock);

	if (placement->offer)
		tenant->offered += bytes;
	if (placement->trimmable)
		WRITE_ONCE(tenant->trimmable, tenant->trimmable + bytes);
}

static void uncount_placement_locked(struct tessera_tenant *tenant,
				     struct tessera_placement *placement)
{
	u64 bytes = tessera_placement_bytes(placement);

	lockdep_assert_held(&placement->mgr->lock);

	if (placement->offer)
		tenant->offered -= bytes;
	if (placement->trimmable)
		WRITE_ONCE(tenant->trimmable, tenant->trimmable - bytes);
}

/* Make the placement a candidate for eviction. */
static void placement_enter_locked(struct tessera_manager *mgr, struct tessera_placement *placement)
{
	struct tessera_tenant *tenant = tessera_placement_tenant(mgr, placement);

	lockdep_assert_held(&mgr->lock);

	if (!tenant->num++)
		list_add_tail(&tenant->node, &mgr->tenants);
	rb_add_cached(&placement->order, &tenant->order[placement->priority], placement_before);
	count_placement_locked(tenant, placement);
}

/* Remove the placement from the candidates. */
static void placement_leave_locked(struct tessera_manager *mgr, struct tessera_placement *placement)
{
	struct tessera_tenant *tenant = tessera_placement_tenant(mgr, placement);

	lockdep_assert_held(&mgr->lock);

	uncount_placement_locked(tenant, placement);
	rb_erase_cached(&placement->order, &tenant->order[placement->priority]);
	RB_CLEAR_NODE(&placement->order);
	if (!--tenant->num)
		list_del(&tenant->node);
}

/**
 * tessera_placement_dies() - remove a placement from the order of eviction
 * @placement: the placement of an object without references
 *
 * It is freed when the jobs of the object are done. No search needs to pass over
 * it until then.
 */
void tessera_placement_dies(struct tessera_placement *placement)
{
	struct tessera_manager *mgr = placement->mgr;

	mutex_lock(&mgr->lock);
	if (!RB_EMPTY_NODE(&placement->order)) {
		placement_leave_locked(mgr, placement);
		mgr->dying++;
	}
	mutex_unlock(&mgr->lock);
}

/**
 * tessera_placement_reorder_locked() - sort a placement again in the order of
 * eviction
 * @mgr: the manager, locked
 * @placement: the placement of an object that is not being destroyed
 */
void tessera_placement_reorder_locked(struct tessera_manager *mgr,
				      struct tessera_placement *placement)
{
	struct tessera_tenant *tenant = tessera_placement_tenant(mgr, placement);

	lockdep_assert_held(&mgr->lock);

	/* The tenant stays in its list, which the caller may be walking. */
	rb_erase_cached(&placement->order, &tenant->order[placement->priority]);
	uncount_placement_locked(tenant, placement);
	mgr->describe(placement->base.bo, placement);
	count_placement_locked(tenant, placement);
	rb_add_cached(&placement->order, &tenant->order[placement->priority], placement_before);
}

/* ---- Allocation ---------------------------------------------------------- */

static bool may_commit_locked(struct tessera_manager *mgr, u64 pages, bool passes)
{
	lockdep_assert_held(&mgr->lock);

	return (passes || !tessera_manager_closed(mgr)) &&
	       mgr->committed + (pages << PAGE_SHIFT) <= mgr->seg->commit;
}

static void commit_locked(struct tessera_manager *mgr, u64 pages)
{
	lockdep_assert_held(&mgr->lock);

	mgr->committed += pages << PAGE_SHIFT;
	mgr->peak = max(mgr->peak, mgr->committed);
}

/**
 * tessera_extent_reserve_locked() - allocate given pages for an extent
 * @mgr: the manager, locked
 * @extent: the extent, which has no pages
 * @start: the first page
 * @pages: number of pages
 *
 * Return: 0, or -ENOSPC if they are not free.
 */
int tessera_extent_reserve_locked(struct tessera_manager *mgr, struct tessera_extent *extent,
				  u64 start, u64 pages)
{
	lockdep_assert_held(&mgr->lock);

	extent->node.start = start;
	extent->node.size = pages;
	extent->node.color = TESSERA_NODE_PLACEMENT;

	return drm_mm_reserve_node(&mgr->mm, &extent->node);
}

/* Allocate one contiguous extent. */
static int placement_insert_locked(struct tessera_manager *mgr, struct tessera_placement *placement,
				   const struct ttm_place *place)
{
	u64 align = tessera_placement_alignment(mgr->seg, placement->base.bo) >> PAGE_SHIFT;
	u64 first = mgr->seg->first_page;

	lockdep_assert_held(&mgr->lock);

	return drm_mm_insert_node_in_range(&mgr->mm, &placement->one.node, placement->pages, align,
					   TESSERA_NODE_PLACEMENT, place->fpfn - first,
					   place->lpfn - first, DRM_MM_INSERT_LOW);
}

/*
 * Take pages from a hole, if the request has a use for it now. Returns -E2BIG
 * if the array @placement->extents has to grow first.
 */
static int scatter_hole_locked(struct tessera_manager *mgr, struct tessera_placement *placement,
			       u32 capacity, struct tessera_scatter *scatter, u64 lo, u64 hi)
{
	u64 start, at = placement->pages - scatter->left;
	u64 pages = tessera_scatter_take(scatter, lo, hi, &start);
	struct tessera_extent *extent;
	int ret;

	lockdep_assert_held(&mgr->lock);

	if (!pages)
		return 0;
	if (placement->num_extents == capacity)
		return -E2BIG;
	extent = &placement->extents[placement->num_extents];
	*extent = (struct tessera_extent) { .placement = placement, .at = at };
	ret = tessera_extent_reserve_locked(mgr, extent, start, pages);
	placement->num_extents += !ret;

	return ret;
}

/*
 * Offer all holes to the request, lowest first. Allocating from a hole changes
 * the tree only before @next.
 */
static int scatter_round_locked(struct tessera_manager *mgr, struct tessera_placement *placement,
				u32 capacity, struct tessera_scatter *scatter, u64 lo)
{
	struct rb_node *next, *hole;
	struct drm_mm_node *before;
	u64 start, end;
	int ret = 0;

	lockdep_assert_held(&mgr->lock);

	for (hole = rb_first(&mgr->mm.holes_addr); hole && scatter->left && !ret; hole = next) {
		next = rb_next(hole);
		before = rb_entry(hole, struct drm_mm_node, rb_hole_addr);
		start = drm_mm_hole_node_start(before);
		end = start + before->hole_size;
		if (end > lo)
			ret = scatter_hole_locked(mgr, placement, capacity, scatter, max(start, lo),
						  end);
		cond_resched();
	}

	return ret;
}

/* Allocate any free pages. A failure leaves nothing allocated. */
static int placement_scatter_locked(struct tessera_manager *mgr,
				    struct tessera_placement *placement, u32 capacity, u64 lo)
{
	struct tessera_scatter scatter;
	int ret;

	lockdep_assert_held(&mgr->lock);

	placement->num_extents = 0;
	tessera_scatter_begin(&scatter, placement->pages, mgr->seg->page_size >> PAGE_SHIFT);
	do {
		ret = scatter_round_locked(mgr, placement, capacity, &scatter, lo);
	} while (!ret && tessera_scatter_next(&scatter));
	if (!ret && scatter.left)
		ret = -ENOSPC;
	while (ret && placement->num_extents)
		drm_mm_remove_node(&placement->extents[--placement->num_extents].node);

	return ret;
}

/* Double the array of extents, up to one extent for each page. */
static int placement_grow(struct tessera_manager *mgr, struct tessera_placement *placement,
			  u32 *capacity)
{
	struct tessera_extent *extents;

	*capacity = min_t(u64, max(2 * *capacity, 8U), placement->pages);
	if (!placement->addrs && tessera_segment_is_vram(mgr->seg))
		placement->addrs =
			kvcalloc(placement->pages, sizeof(*placement->addrs), GFP_KERNEL_ACCOUNT);
	extents = kvcalloc(*capacity, sizeof(*extents), GFP_KERNEL_ACCOUNT);
	if (placement->extents != &placement->one)
		kvfree(placement->extents);
	placement->extents = extents;

	/* Not -ENOMEM: TTM then tries the next ttm_place. */
	return extents && (placement->addrs || !tessera_segment_is_vram(mgr->seg)) ? 0 : -ENOSPC;
}

static int placement_allocate(struct tessera_manager *mgr, struct tessera_placement *placement,
			      const struct ttm_place *place)
{
	u32 capacity = 1;
	int ret;

	do {
		mutex_lock(&mgr->lock);
		if (!may_commit_locked(mgr, placement->pages, place->flags & TESSERA_PLACE_PASSES))
			ret = -ENOSPC;
		else if (place->flags & TTM_PL_FLAG_CONTIGUOUS)
			ret = placement_insert_locked(mgr, placement, place);
		else
			ret = placement_scatter_locked(mgr, placement, capacity,
						       place->fpfn - mgr->seg->first_page);
		if (!ret) {
			commit_locked(mgr, placement->pages);
			placement_enter_locked(mgr, placement);
		}
		mutex_unlock(&mgr->lock);
		if (ret != -E2BIG)
			return ret;
		ret = placement_grow(mgr, placement, &capacity);
	} while (!ret);

	return ret;
}

static void placement_free(struct tessera_placement *placement)
{
	if (placement->extents != &placement->one)
		kvfree(placement->extents);
	kvfree(placement->addrs);
	tessera_release_fences_destroy(&placement->release_fences);
	kfree(placement);
}

/* Write the GPU address of each page. */
static void placement_set_addrs(struct tessera_manager *mgr, struct tessera_placement *placement)
{
	struct tessera_extent *extent;
	u64 i;

	if (!placement->addrs)
		return;
	tessera_placement_for_each_extent(extent, placement)
		for (i = 0; i < extent->node.size; i++)
			placement->addrs[extent->at + i] =
				mgr->seg->base + ((extent->node.start + i) << PAGE_SHIFT);
}

static void extent_remove_locked(struct tessera_manager *mgr, struct tessera_extent *extent)
{
	struct list_head *release_fences = &extent->placement->release_fences;

	lockdep_assert_held(&mgr->lock);

	drm_mm_remove_node(&extent->node);
	if (!list_empty(release_fences))
		tessera_release_fences_add_locked(mgr, extent->node.start, extent->node.size,
						  release_fences);
}

static void placement_remove(struct tessera_manager *mgr, struct tessera_placement *placement)
{
	struct tessera_extent *extent;

	mutex_lock(&mgr->lock);
	if (RB_EMPTY_NODE(&placement->order))
		mgr->dying--;
	else
		placement_leave_locked(mgr, placement);
	tessera_placement_for_each_extent(extent, placement) {
		extent_remove_locked(mgr, extent);
		cond_resched();
	}
	mgr->committed -= tessera_placement_bytes(placement);
	mutex_unlock(&mgr->lock);
}

static struct tessera_placement *placement_create(struct tessera_manager *mgr, u64 bytes)
{
	struct tessera_placement *placement = kzalloc(sizeof(*placement), GFP_KERNEL_ACCOUNT);

	if (!placement)
		return NULL;
	placement->mgr = mgr;
	placement->pages = tessera_placement_footprint(mgr->seg, bytes) >> PAGE_SHIFT;
	placement->one.placement = placement;
	placement->extents = &placement->one;
	placement->num_extents = 1;
	INIT_LIST_HEAD(&placement->release_fences);

	return placement;
}

/*
 * The manager of the segment that contains a place made by
 * tessera_segment_place(), or NULL.
 */
static struct tessera_manager *manager_at(struct tessera_device *tdev,
					  const struct ttm_place *place)
{
	const struct tessera_segment *seg;
	u32 i;

	for (i = 0; i < tessera_segment_count(tdev); i++) {
		seg = tessera_segment_by_index(tdev, i);
		if (place->mem_type == seg->mem_type && place->fpfn >= seg->first_page &&
		    place->lpfn - seg->first_page <= seg->size >> PAGE_SHIFT)
			return tessera_manager_of(tdev, i);
	}

	return NULL;
}

static int tessera_manager_alloc(struct ttm_resource_manager *man,
				 struct ttm_buffer_object *tbo,
				 const struct ttm_place *place,
				 struct ttm_resource **res)
{
	struct tessera_device *tdev = container_of(man->bdev, struct tessera_device, ttm);
	struct tessera_manager *mgr = manager_at(tdev, place);
	struct tessera_placement *placement;
	int ret;

	if (drm_WARN_ON(&tdev->drm, !mgr))
		return -EINVAL;
	placement = placement_create(mgr, tbo->base.size);
	if (!placement)
		return -ENOMEM;
	ttm_resource_init(tbo, place, &placement->base);

	placement->account = tessera_account_get(mgr->describe(tbo, placement));
	ret = placement_allocate(mgr, placement, place);
	if (ret) {
		tessera_account_put(placement->account);
		ttm_resource_fini(man, &placement->base);
		placement_free(placement);
		return ret;
	}

	placement->base.start = placement->extents->node.start;
	placement_set_addrs(mgr, placement);
	tessera_account_charge(placement->account, mgr->seg->index,
			       tessera_placement_bytes(placement));
	*res = &placement->base;

	return 0;
}

static void tessera_manager_free(struct ttm_resource_manager *man,
				 struct ttm_resource *res)
{
	struct tessera_placement *placement = to_tessera_placement(res);
	struct tessera_manager *mgr = placement->mgr;

	if (mgr->freed)
		mgr->freed(mgr, placement);
	ttm_resource_fini(man, res);
	placement_remove(mgr, placement);
	tessera_space_signal(mgr->tdev, TESSERA_SPACE_FREED);
	tessera_account_uncharge(placement->account, mgr->seg->index,
				 tessera_placement_bytes(placement));
	tessera_account_put(placement->account);
	placement_free(placement);
}

static bool tessera_manager_compatible(struct ttm_resource_manager *man,
				       struct ttm_resource *res,
				       const struct ttm_place *place, size_t size)
{
	struct tessera_placement *placement = to_tessera_placement(res);
	u64 first = placement->mgr->seg->first_page;
	struct tessera_extent *extent;

	tessera_placement_for_each_extent(extent, placement)
		if (first + extent->node.start < place->fpfn ||
		    first + extent->node.start + extent->node.size > place->lpfn)
			return false;

	return true;
}

static const struct ttm_resource_manager_func tessera_manager_func = {
	.alloc = tessera_manager_alloc,
	.free = tessera_manager_free,
	.compatible = tessera_manager_compatible,
};

static void kind_init(struct tessera_device *tdev, struct ttm_resource_manager *man, u32 mem_type)
{
	man->func = &tessera_manager_func;
	/* Objects keep their ttm_tt where their pages are shown. */
	man->use_tt = mem_type == TESSERA_PL_PAGES;
	/* Only TTM's own allocators use the size. */
	ttm_resource_manager_init(man, &tdev->ttm, 0);
	ttm_set_driver_manager(&tdev->ttm, mem_type, man);
	ttm_resource_manager_set_used(man, true);
}

static void kind_fini(struct tessera_device *tdev, struct ttm_resource_manager *man, u32 mem_type)
{
	ttm_resource_manager_set_used(man, false);
	ttm_resource_manager_cleanup(man);
	ttm_set_driver_manager(&tdev->ttm, mem_type, NULL);
}

/**
 * tessera_manager_init_kinds() - register the two kinds of segments with TTM
 * @tdev: the device
 */
void tessera_manager_init_kinds(struct tessera_device *tdev)
{
	kind_init(tdev, &tdev->segments->vram, TTM_PL_VRAM);
	kind_init(tdev, &tdev->segments->pages, TESSERA_PL_PAGES);
}

/**
 * tessera_manager_fini_kinds() - end tessera_manager_init_kinds()
 * @tdev: the device; all objects are gone
 */
void tessera_manager_fini_kinds(struct tessera_device *tdev)
{
	kind_fini(tdev, &tdev->segments->vram, TTM_PL_VRAM);
	kind_fini(tdev, &tdev->segments->pages, TESSERA_PL_PAGES);
}

/**
 * tessera_resource_segment() - segment of a resource
 * @res: the resource
 *
 * Return: the segment, or NULL for system memory.
 */
const struct tessera_segment *tessera_resource_segment(struct ttm_resource *res)
{
	return res->mem_type >= TTM_PL_VRAM ? to_tessera_placement(res)->mgr->seg : NULL;
}

/**
 * tessera_manager_init() - start managing a segment
 * @mgr: zeroed manager
 * @tdev: the device
 * @seg: the segment
 * @describe: see &tessera_manager_describe_t
 */
void tessera_manager_init(struct tessera_manager *mgr, struct tessera_device *tdev,
			  const struct tessera_segment *seg,
			  tessera_manager_describe_t describe)
{
	mgr->tdev = tdev;
	mgr->seg = seg;
	mgr->describe = describe;
	mutex_init(&mgr->lock);
	drm_mm_init(&mgr->mm, 0, seg->size >> PAGE_SHIFT);
	mgr->release_fences = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&mgr->ages);
	INIT_LIST_HEAD(&mgr->tenants);
	tdev->segments->manager[seg->index] = mgr;
}

/**
 * tessera_manager_fini() - stop managing a segment
 * @mgr: the manager; all objects are gone
 */
void tessera_manager_fini(struct tessera_manager *mgr)
{
	mutex_lock(&mgr->lock);
	tessera_release_fences_drop_locked(mgr);
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
	return tdev->segments->manager[seg_index];
}

/**
 * tessera_manager_used() - bytes of a segment that are allocated
 * @tdev: the device
 * @seg_index: segment index
 *
 * Return: bytes, a snapshot.
 */
u64 tessera_manager_used(struct tessera_device *tdev, u32 seg_index)
{
	struct tessera_manager *mgr = tessera_manager_of(tdev, seg_index);
	u64 used;

	mutex_lock(&mgr->lock);
	used = mgr->committed;
	mutex_unlock(&mgr->lock);

	return used;
}

/**
 * tessera_manager_object_locked() - object at a place
 * @mgr: the manager, locked
 * @offset: byte offset in the segment
 *
 * Return: the object, or one of TTM's ghost objects, valid while the manager is
 * locked. NULL if the place is free, or if its object has moved away and only
 * the freeing of the place is outstanding.
 */
struct ttm_buffer_object *tessera_manager_object_locked(struct tessera_manager *mgr, u64 offset)
{
	struct drm_mm_node *node;

	lockdep_assert_held(&mgr->lock);

	drm_mm_for_each_node_in_range(node, &mgr->mm, offset >> PAGE_SHIFT,
				      (offset >> PAGE_SHIFT) + 1)
		if (node->color == TESSERA_NODE_PLACEMENT)
			return container_of(node, struct tessera_extent, node)->placement->base.bo;

	return NULL;
}

/**
 * tessera_manager_gap_locked() - look for a hole
 * @mgr: the manager, locked
 * @bytes: bytes needed
 * @align: tessera_placement_alignment()
 * @lo: lowest byte offset
 * @hi: byte offset at which the hole must end; 0: the end of the segment
 * @start: receives the byte offset of the lowest such place
 *
 * Return: true if there is one.
 */
bool tessera_manager_gap_locked(struct tessera_manager *mgr, u64 bytes, u64 align, u64 lo, u64 hi,
				u64 *start)
{
	u64 need = tessera_placement_footprint(mgr->seg, bytes) >> PAGE_SHIFT;
	struct drm_mm_node node = { };

	lockdep_assert_held(&mgr->lock);

	if (drm_mm_insert_node_in_range(&mgr->mm, &node, need, align >> PAGE_SHIFT,
					TESSERA_NODE_LEFT, lo >> PAGE_SHIFT,
					(hi ?: mgr->seg->size) >> PAGE_SHIFT, DRM_MM_INSERT_LOW))
		return false;
	*start = node.start << PAGE_SHIFT;
	drm_mm_remove_node(&node);

	return true;
}

/**
 * tessera_manager_fits() - ask whether a contiguous allocation would succeed
 * @mgr: the manager
 * @bytes: size of the object
 * @align: tessera_placement_alignment()
 * @lo: lowest byte offset
 * @hi: byte offset at which the object must end; 0: the end of the segment
 *
 * Return: true if there is such a hole at this moment. Claims are not
 * considered.
 */
bool tessera_manager_fits(struct tessera_manager *mgr, u64 bytes, u64 align, u64 lo, u64 hi)
{
	u64 need = tessera_placement_footprint(mgr->seg, bytes), start;
	bool fits;

	mutex_lock(&mgr->lock);
	fits = mgr->committed + need <= mgr->seg->commit &&
	       tessera_manager_gap_locked(mgr, bytes, align, lo, hi, &start);
	mutex_unlock(&mgr->lock);

	return fits;
}

/**
 * tessera_manager_has() - ask whether a scattered allocation would succeed
 * @mgr: the manager
 * @bytes: size of the object
 *
 * Return: true if enough pages are free at this moment, contiguous or not.
 * Claims are not considered.
 */
bool tessera_manager_has(struct tessera_manager *mgr, u64 bytes)
{
	u64 need = tessera_placement_footprint(mgr->seg, bytes), available = 0;
	struct drm_mm_node *entry;
	u64 start, end;

	mutex_lock(&mgr->lock);
	if (mgr->committed + need <= mgr->seg->commit) {
		drm_mm_for_each_hole(entry, &mgr->mm, start, end) {
			available += (end - start) << PAGE_SHIFT;
			cond_resched();
		}
	}
	mutex_unlock(&mgr->lock);

	return available >= need;
}

/*
 * A claim lasts while one submission tries a few times to arm its next parts,
 * which takes tens of milliseconds. It expires, because the claiming thread may
 * not get to run. The submission does not rely on the claim: it checks each
 * place when it uses it.
 */
#define CLAIM_JIFFIES	HZ

static bool claim_try(struct tessera_manager *mgr)
{
	bool free;

	mutex_lock(&mgr->lock);
	free = !tessera_manager_closed(mgr);
	if (free) {
		WRITE_ONCE(mgr->claimed, current);
		WRITE_ONCE(mgr->claimed_until, jiffies + CLAIM_JIFFIES);
	}
	mutex_unlock(&mgr->lock);

	return free;
}

/**
 * tessera_manager_claim() - become the only one to place objects in a segment
 * @mgr: the manager
 * @state: see tessera_space_wait_timeout()
 *
 * For a submission that was disturbed too often. A claim lasts a second at
 * most. Meanwhile other threads find the segment closed, and wait with no
 * reservation held. A thread claims several segments in the order of their
 * indexes, before it takes any reservation.
 *
 * Return: 0, or an error of tessera_space_wait_timeout().
 */
int tessera_manager_claim(struct tessera_manager *mgr, unsigned int state)
{
	u32 seen;
	int ret;

	for (;;) {
		seen = tessera_space_event_count(mgr->tdev, TESSERA_SPACE_UNCLAIMED);
		if (claim_try(mgr))
			return 0;
		ret = tessera_manager_wait_closed(mgr->tdev, seen, state);
		if (ret)
			return ret;
	}
}
EXPORT_SYMBOL_IF_KUNIT(tessera_manager_claim);

/**
 * tessera_manager_unclaim() - end tessera_manager_claim()
 * @mgr: the manager; nothing is done unless the caller has claimed it
 */
void tessera_manager_unclaim(struct tessera_manager *mgr)
{
	bool mine;

	mutex_lock(&mgr->lock);
	mine = mgr->claimed == current;
	if (mine)
		WRITE_ONCE(mgr->claimed, NULL);
	mutex_unlock(&mgr->lock);
	if (mine)
		tessera_space_signal(mgr->tdev, TESSERA_SPACE_UNCLAIMED);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_manager_unclaim);

/**
 * tessera_manager_closed() - ask whether another thread has claimed a segment
 * @mgr: the manager
 *
 * Return: true if the caller cannot place anything there now.
 */
bool tessera_manager_closed(struct tessera_manager *mgr)
{
	struct task_struct *claimed = READ_ONCE(mgr->claimed);

	return claimed && claimed != current &&
	       time_before(jiffies, READ_ONCE(mgr->claimed_until));
}
EXPORT_SYMBOL_IF_KUNIT(tessera_manager_closed);

/**
 * tessera_manager_wait_closed() - wait for the end of a claim
 * @tdev: the device
 * @seen: from tessera_space_event_count(), of %TESSERA_SPACE_UNCLAIMED
 * @state: see tessera_space_wait_timeout()
 *
 * The caller must not hold a lock that another client needs. The wait also ends
 * when a claim would have expired. The caller has to check again.
 *
 * Return: 0, or an error of tessera_space_wait_timeout().
 */
int tessera_manager_wait_closed(struct tessera_device *tdev, u32 seen, unsigned int state)
{
	int ret = tessera_space_wait_timeout(tdev, TESSERA_SPACE_UNCLAIMED, seen, state,
					     CLAIM_JIFFIES);

	return ret == -ETIME ? 0 : ret;
}

/*
 * The scanout limit, in quarters of a segment. Most jobs can still run in the
 * rest, in parts.
 */
#define SCANOUT_QUARTERS	3

/**
 * tessera_manager_charge_scanout() - charge bytes to the scanout limit of a
 * segment
 * @mgr: the manager of the segment
 * @bytes: how much
 *
 * A scanned-out object (mem/scanout.c) is never evicted, even if other
 * processes need the memory. The limit leaves a part of the segment to other
 * processes. A display that needs more is too large for the device.
 *
 * Return: 0, or -ENOSPC if the limit would be exceeded.
 */
int tessera_manager_charge_scanout(struct tessera_manager *mgr, u64 bytes)
{
	int ret = 0;

	mutex_lock(&mgr->lock);
	if (mgr->scanout + bytes > mgr->seg->commit / 4 * SCANOUT_QUARTERS)
		ret = -ENOSPC;
	else
		mgr->scanout += bytes;
	mutex_unlock(&mgr->lock);

	return ret;
}

/**
 * tessera_manager_uncharge_scanout() - return what
 * tessera_manager_charge_scanout() has charged
 * @mgr: the manager of the segment
 * @bytes: how much
 */
void tessera_manager_uncharge_scanout(struct tessera_manager *mgr, u64 bytes)
{
	mutex_lock(&mgr->lock);
	mgr->scanout -= bytes;
	mutex_unlock(&mgr->lock);
}
