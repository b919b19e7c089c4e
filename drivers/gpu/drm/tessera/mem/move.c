// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: moves
 *
 * A move changes the placement of an object and copies its contents.
 *
 * One short function per kind of move adds operations to a paging batch.
 * Nothing here waits for the GPU. The fence of the move goes into the
 * reservation of the object. The old placement is free at once: the fence stays
 * with it as a release fence, and a new user of any part of the range waits for
 * it.
 *
 * An object keeps its pages while it is in a memory segment, within limits (see
 * mem/backing.c). If the CPU may map an object, its system pages hold linear
 * bytes. A swizzled object is unswizzled when it is moved out and swizzled when
 * it is moved in (SWZ-12). Other objects are copied without conversion.
 *
 * Callers hold the reservation of the object.
 */

#include <linux/dma-fence.h>
#include <linux/dma-resv.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_tt.h>

#include "base/assert.h"
#include "base/device.h"
#include "base/trace.h"
#include "debug/debug.h"
#include "exec/exec.h"
#include "mem/mem.h"
#include "paging/paging.h"
#include "segments/segments.h"

/* The state of a move. */
struct move {
	struct tessera_bo *bo;
	struct ttm_operation_ctx *ctx;
	/* Segments, NULL for system memory, and the placements there. */
	const struct tessera_segment *from, *to;
	struct tessera_placement *from_placement, *to_placement;
	/* Byte offsets of a relocation inside a segment. */
	u64 from_offset, to_offset;
	/* Number of extents that become free in @from. */
	u32 num_left;
	/* The contents are not copied. */
	bool dropped;
	/* Release fences of the extents that become free in @from. */
	struct list_head release_fences;
	struct tessera_paging_batch batch;
};

/*
 * The source or destination of a copy: a placement in a segment, or the pages.
 */
struct place {
	const struct tessera_segment *seg;
	const struct tessera_placement *placement;
	const struct tessera_pages *list;
	u32 layout;
};

static struct place place_memory(struct move *move, const struct tessera_segment *seg,
				 const struct tessera_placement *placement)
{
	bool swizzle = move->bo->flags & DRM_TESSERA_BO_CPU_ACCESS;

	return (struct place) {
		.seg = seg,
		.placement = placement,
		.layout = swizzle ? move->bo->layout : TSR_LAYOUT_LINEAR,
	};
}

/* The system pages of the object, for the paging engine to read or to write. */
static struct place place_pages(struct move *move, bool write)
{
	tessera_coherence_for_device(move->bo, write);

	return (struct place) {
		.list = tessera_backing_list(move->bo),
		.layout = TSR_LAYOUT_LINEAR,
	};
}

/*
 * Describes the bytes from @at on. Limits @part to the bytes that are
 * contiguous there.
 */
static struct tessera_paging_side side_at(struct move *move, const struct place *place, u64 at,
					  u64 *part)
{
	struct tessera_paging_side side = { .seg = place->seg, .layout = place->layout };
	u64 left;

	if (place->seg) {
		side.offset = tessera_placement_at(place->placement, at, &left);
		*part = min(*part, left);
	} else {
		side.pages = move->bo->tbo.ttm->dma_address + (at >> PAGE_SHIFT);
		side.list = place->list;
		side.first = at >> PAGE_SHIFT;
		side.cached = tessera_coherence_tracks(move->bo);
	}

	return side;
}

/*
 * Adds a transfer for each part that is contiguous on both sides. Page tables
 * are written again at their new place, so they need none.
 */
static int move_bytes(struct move *move, const struct place *from, const struct place *to,
		      u32 pitch)
{
	u64 bytes = move->bo->tables ? 0 : tessera_bo_bytes(move->bo), at, part;
	struct tessera_paging_side src, dst;
	int ret = 0;

	for (at = 0; !ret && at < bytes; at += part) {
		part = bytes - at;
		src = side_at(move, from, at, &part);
		dst = side_at(move, to, at, &part);
		ret = tessera_paging_transfer(&move->batch, &src, &dst, part, pitch);
		cond_resched();
	}

	return ret;
}

/* Bytes of the object in an extent. The last extent may be larger than that. */
static u64 extent_covers(struct move *move, const struct tessera_extent *extent)
{
	return min(tessera_extent_bytes(extent),
		   tessera_bo_bytes(move->bo) - (extent->at << PAGE_SHIFT));
}

/* Operations on one extent of the old or new placement. */
static int extent_allocate(struct move *move, const struct tessera_extent *extent)
{
	return tessera_paging_mark(&move->batch, move->to, tessera_extent_offset(extent),
				   tessera_extent_bytes(extent), TSR_MARK_ALLOCATED);
}

static int extent_evict(struct move *move, const struct tessera_extent *extent)
{
	return tessera_paging_mark(&move->batch, move->from, tessera_extent_offset(extent),
				   tessera_extent_bytes(extent), TSR_MARK_EVICTED);
}

static int extent_clear(struct move *move, const struct tessera_extent *extent)
{
	return tessera_paging_clear(&move->batch, move->to, tessera_extent_offset(extent),
				    tessera_extent_bytes(extent));
}

static int extent_discard(struct move *move, const struct tessera_extent *extent)
{
	return tessera_paging_discard(&move->batch, move->from, tessera_extent_offset(extent),
				      tessera_extent_bytes(extent));
}

static int extent_map(struct move *move, const struct tessera_extent *extent)
{
	struct ttm_tt *tt = move->bo->tbo.ttm;

	return tessera_paging_map(&move->batch, move->to, tessera_extent_offset(extent),
				  extent_covers(move, extent), tt->dma_address + extent->at,
				  tt->caching);
}

static int extent_unmap(struct move *move, const struct tessera_extent *extent)
{
	return tessera_paging_unmap(&move->batch, move->from, tessera_extent_offset(extent),
				    extent_covers(move, extent));
}

static int each_extent(struct move *move, struct tessera_placement *placement,
		       int (*op)(struct move *move, const struct tessera_extent *extent))
{
	struct tessera_extent *extent;
	int ret = 0;

	tessera_placement_for_each_extent(extent, placement) {
		ret = op(move, extent);
		if (ret)
			break;
	}

	return ret;
}

/*
 * Moves an object into memory. Without contents to carry, its memory is
 * cleared; otherwise the contents come from the pages.
 */
static int move_in(struct move *move)
{
	struct tessera_bo *bo = move->bo;
	struct place src, dst;
	int ret;

	ret = each_extent(move, move->to_placement, extent_allocate);
	if (ret)
		return ret;

	if (bo->tables || !tessera_backing_has_bytes(bo))
		return each_extent(move, move->to_placement, extent_clear);

	ret = tessera_backing_populate(bo, move->ctx);
	if (ret)
		return ret;

	src = place_pages(move, false);
	dst = place_memory(move, move->to, move->to_placement);

	return move_bytes(move, &src, &dst, bo->pitch);
}

/*
 * Whether the pages hold the bytes of memory. After a failed move TTM has freed
 * the pages. Pages that are not retained are new, so @copy alone is not enough.
 */
static bool has_copy(struct tessera_bo *bo)
{
	return bo->copy == TESSERA_COPY_VALID && tessera_backing_is_retained(bo);
}

/* Evicts without a copy, because the pages hold the same bytes as memory. */
static int move_keep_copy(struct move *move)
{
	tessera_assert(tessera_bo_device(move->bo),
		       !tessera_dep_check_is_written(&move->bo->dep_check));

	return each_extent(move, move->from_placement, extent_discard);
}

/* Copies memory to pages, unless the pages hold the same bytes. */
static int move_out_bytes(struct move *move)
{
	struct tessera_bo *bo = move->bo;
	struct place src, dst;

	if (has_copy(bo))
		return move_keep_copy(move);

	src = place_memory(move, move->from, move->from_placement);
	dst = place_pages(move, true);

	return move_bytes(move, &src, &dst, bo->pitch);
}

/*
 * Page tables, because they are written again where they are needed next; the
 * contents of an offered object and of a spare instance, unless the system pages
 * still hold them. These pages are freed with the contents, so they are written
 * instead while the last page-in may still read them.
 */
static bool may_drop(struct tessera_bo *bo)
{
	if (bo->tables)
		return true;
	if (has_copy(bo) || tessera_backing_is_read(bo))
		return false;

	return tessera_bo_is_offered(bo) || tessera_renamed_is_spare(bo);
}

/* Gives up the old placement without a copy. */
static int move_drop(struct move *move)
{
	return each_extent(move, move->from_placement, extent_discard) ?:
	       each_extent(move, move->from_placement, extent_evict);
}

static int move_out(struct move *move)
{
	int ret;

	if (move->dropped)
		return move_drop(move);
	ret = tessera_backing_populate(move->bo, move->ctx);

	return ret ?: move_out_bytes(move) ?: each_extent(move, move->from_placement, extent_evict);
}

static int move_memory_to_memory(struct move *move)
{
	const struct place src = { .seg = move->from, .placement = move->from_placement };
	const struct place dst = { .seg = move->to, .placement = move->to_placement };

	return each_extent(move, move->to_placement, extent_allocate) ?:
	       move_bytes(move, &src, &dst, 0) ?:
	       each_extent(move, move->from_placement, extent_evict);
}

static int move_build(struct move *move)
{
	int ret;

	if (tessera_segment_is_vram(move->from) && tessera_segment_is_vram(move->to))
		return move_memory_to_memory(move);
	if (tessera_segment_is_vram(move->to))
		return move_in(move);
	if (tessera_segment_is_vram(move->from) && !move->to)
		return move_out(move);

	/*
	 * An aperture or a UMA segment shows the pages in place. Only a move
	 * from VRAM copies, after the pages are mapped.
	 */
	if (tessera_segment_shows_pages(move->from)) {
		ret = each_extent(move, move->from_placement, extent_unmap);
		if (ret || !move->to)
			return ret;
	}
	ret = tessera_backing_populate(move->bo, move->ctx) ?:
	      each_extent(move, move->to_placement, extent_map);
	if (!ret && tessera_segment_is_vram(move->from))
		ret = move_out(move);

	return ret;
}

/*
 * Frees the old placement now. The next user of the range waits for @fence. The
 * pages are kept.
 */
static void move_finish_pipelined(struct move *move, struct dma_fence *fence,
				  struct ttm_resource *new_mem)
{
	struct ttm_buffer_object *tbo = &move->bo->tbo;

	dma_resv_add_fence(tbo->base.resv, fence, DMA_RESV_USAGE_KERNEL);

	if (move->from) {
		struct tessera_placement *placement = to_tessera_placement(tbo->resource);

		tessera_release_fences_set(&move->release_fences, fence);
		list_splice_init(&move->release_fences, &placement->release_fences);
		placement->declared = false;
	}
	ttm_resource_free(tbo, &tbo->resource);
	ttm_bo_assign_mem(tbo, new_mem);
}

/*
 * Finishes a move into memory. Decides whether the pages are kept and still
 * valid.
 */
static void move_finish_page_in(struct move *move, struct dma_fence *fence,
				struct ttm_resource *new_mem)
{
	struct tessera_bo *bo = move->bo;
	/* move_in() reads no pages of page tables, so they may be missing. */
	bool had_pages = bo->tables ? !!tessera_backing_users(bo) : tessera_backing_has_bytes(bo);

	if (had_pages)
		tessera_backing_retain(bo, fence);
	/*
	 * An eviction writes pages that are allocated later, so they need not
	 * be cleared. Importers are the exception: they may read the pages even
	 * if the eviction fails.
	 */
	if (list_empty(&bo->sharing.lendings))
		bo->tbo.ttm->page_flags &= ~TTM_TT_FLAG_ZERO_ALLOC;
	move_finish_pipelined(move, fence, new_mem);
	/*
	 * No page table points to the object now, and the jobs that could use
	 * earlier ones have ended before the batch.
	 */
	bo->copy = had_pages && !bo->tables && READ_ONCE(tessera_bo_device(bo)->retain->keep_copy) ?
			   TESSERA_COPY_VALID : TESSERA_COPY_STALE;
}

static void move_finish(struct move *move, struct dma_fence *fence, struct ttm_resource *new_mem)
{
	if (!move->from && tessera_segment_is_vram(move->to)) {
		move_finish_page_in(move, fence, new_mem);
		return;
	}

	move_finish_pipelined(move, fence, new_mem);
	if (!tessera_segment_is_vram(move->to)) {
		tessera_backing_use(move->bo);
		move->bo->copy = TESSERA_COPY_STALE;
	}
	if (move->dropped && !move->bo->tables) {
		move->bo->offer.lost = tessera_bo_is_offered(move->bo);
		tessera_backing_drop(move->bo);
	}
	if (!move->to && tessera_backing_is_disposable(move->bo))
		tessera_backing_add_donor(move->bo);
}

/*
 * Moves an object of an unplugged device. Its contents are lost with the device
 * memory.
 */
static int move_lost(struct tessera_bo *bo, struct ttm_resource *new_mem)
{
	if (tessera_resource_segment(new_mem))
		return -ENODEV;

	tessera_bo_device(bo)->upcalls->remap_drop(bo);
	if (bo->tbo.ttm)
		ttm_tt_mark_for_clear(bo->tbo.ttm);
	ttm_bo_move_null(&bo->tbo, new_mem);

	return 0;
}

/*
 * Provides zeroed pages, even if the object's pages were freed while it was in
 * memory.
 */
static int move_clear(struct move *move)
{
	ttm_tt_mark_for_clear(move->bo->tbo.ttm);

	return tessera_backing_populate(move->bo, move->ctx);
}

/*
 * Moves an object after a reset without using the device. The contents are
 * those of the object's pages, if these hold a valid copy. Otherwise they are
 * lost.
 */
static int move_from_lost(struct move *move, struct ttm_resource *new_mem)
{
	struct tessera_bo *bo = move->bo;

	if (move->to)
		return -EBUSY;

	if (tessera_segment_is_vram(move->from) && !has_copy(bo)) {
		if (tessera_bo_is_offered(bo))
			bo->offer.lost = true;
		else if (!bo->tables && (!bo->redrawn || !bo->tbo.ttm || move_clear(move)))
			atomic_set(&bo->lost, 1);
	}
	tessera_bo_device(bo)->upcalls->remap_drop(bo);
	to_tessera_placement(bo->tbo.resource)->declared = false;
	tessera_backing_use(bo);
	bo->copy = TESSERA_COPY_STALE;
	ttm_bo_move_null(&bo->tbo, new_mem);
	if (bo->offer.lost)
		tessera_backing_drop(bo);

	return 0;
}

/*
 * Does everything of the queueing that can fail. The batch waits for the users
 * of the object and for the release fences of its new place.
 */
static int move_prepare(struct move *move)
{
	struct tessera_device *tdev = tessera_bo_device(move->bo);
	struct tessera_fences fences = { };
	int ret;
	u32 i;

	/*
	 * Fence slots that the caller has reserved may be used up by an
	 * exporter, or by importers that were told of the move.
	 */
	ret = dma_resv_reserve_fences(move->bo->tbo.base.resv, 1);
	if (!ret)
		ret = tessera_paging_prepare(&move->batch, move->bo->tbo.base.resv);
	if (!ret)
		ret = tessera_release_fences_create(&move->release_fences, move->num_left);
	if (!ret && move->to)
		ret = tessera_release_fences_collect(tessera_manager_of(tdev, move->to->index),
						     move->to_placement, &fences);
	for (i = 0; !ret && i < fences.num; i++)
		ret = tessera_paging_wait_for(&move->batch, fences.fence[i]);
	tessera_fences_fini(&fences);

	return ret;
}

/* Checks that no CPU window and no CPU mapping shows the old place. */
static void check_unseen(struct move *move)
{
	struct tessera_device *tdev = tessera_bo_device(move->bo);

	tessera_assert(tdev, !move->bo->window.slots);
	tessera_assert(tdev, !move->bo->window.num_ranges);
	tessera_stale_map_check(move->bo);
}

/*
 * Builds and queues the whole batch. @build adds the operations of the move. VM
 * mappings of the object are invalid while these run. On error, nothing has
 * changed.
 */
static struct dma_fence *move_queue(struct move *move, int (*build)(struct move *move))
{
	struct tessera_bo *bo = move->bo;
	struct dma_fence *fence;
	int ret;

	check_unseen(move);
	tessera_paging_begin(&move->batch, bo->queue, bo->id,
			     move->dropped || bo->tables ? NULL : &bo->lost);
	ret = build(move) ?: move_prepare(move);
	if (!ret)
		tessera_dep_check_job(&bo->dep_check, tessera_dep_check_before(true),
				      tessera_paging_first_job(&move->batch), bo->id);
	fence = ret ? ERR_PTR(ret) :
		tessera_bo_device(bo)->upcalls->remap_push(bo, &move->batch);
	if (IS_ERR(fence)) {
		tessera_paging_abort(&move->batch);
		tessera_release_fences_destroy(&move->release_fences);
	}

	return fence;
}

static int move_run(struct move *move, struct ttm_resource *new_mem)
{
	struct dma_fence *fence;

	/* If the contents are dropped, a failed batch loses nothing. */
	move->dropped = tessera_segment_is_vram(move->from) && !move->to && may_drop(move->bo);
	move->num_left = move->from ? move->from_placement->num_extents : 0;
	fence = move_queue(move, move_build);
	if (IS_ERR(fence))
		return PTR_ERR(fence);
	if (move->to)
		move->to_placement->declared = true;
	move_finish(move, fence, new_mem);
	tessera_dep_check_add(&move->bo->dep_check, TESSERA_DEP_CHECK_MOVE, fence);
	dma_fence_put(fence);
	tessera_release_fences_destroy(&move->release_fences);

	return 0;
}

/**
 * tessera_move_to() - move an object to a new resource
 * @bo: the object, reservation held with a fence slot free
 * @ctx: operation context
 * @new_mem: the new resource; it belongs to the object after a success
 * @hop: set on -EMULTIHOP
 *
 * Return: 0, -EMULTIHOP if the object has to go to @hop first, -ENODEV if the
 * device is unplugged, or another error.
 */
int tessera_move_to(struct tessera_bo *bo, struct ttm_operation_ctx *ctx,
		    struct ttm_resource *new_mem, struct ttm_place *hop)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	struct move move = {
		.bo = bo,
		.ctx = ctx,
		.release_fences = LIST_HEAD_INIT(move.release_fences),
		.from = tessera_bo_segment(bo),
		.from_placement = tessera_bo_placement(bo),
		.to = tessera_resource_segment(new_mem),
	};
	int ret, idx;

	if (move.to)
		move.to_placement = to_tessera_placement(new_mem);

	if (!move.from && !move.to) {
		ttm_bo_move_null(&bo->tbo, new_mem);
		return 0;
	}

	/* Only moves from system memory retain the pages. */
	if (tessera_segment_shows_pages(move.from) && tessera_segment_is_vram(move.to)) {
		*hop = (struct ttm_place) { .mem_type = TTM_PL_SYSTEM };
		return -EMULTIHOP;
	}

	if (!drm_dev_enter(&tdev->drm, &idx))
		return move_lost(bo, new_mem);

	/*
	 * Importers use the pages of a pinned object, so it must not move to
	 * VRAM if it supports a segment that shows the pages.
	 */
	tessera_assert(tdev, !bo->pins || !move.to || tessera_segment_shows_pages(move.to) ||
		       !tessera_bo_page_segments(bo, false));
	tdev->upcalls->moves(bo);
	ret = READ_ONCE(tdev->memory_lost) ? move_from_lost(&move, new_mem) :
					     move_run(&move, new_mem);
	tdev->upcalls->moved(bo);
	drm_dev_exit(idx);

	if (!ret && move.to)
		trace_tessera_place(bo->id, move.to->id,
				    tessera_placement_offset(move.to_placement),
				    tessera_bo_bytes(bo));
	if (!ret && move.from && trace_tessera_segment_usage_enabled())
		trace_tessera_segment_usage(move.from->id,
					    tessera_manager_used(tdev, move.from->index));
	if (!ret && move.to && trace_tessera_segment_usage_enabled())
		trace_tessera_segment_usage(move.to->id,
					    tessera_manager_used(tdev, move.to->index));

	return ret;
}

/* ---- Inside a segment -------------------------------------------------------- */

/*
 * Marks the bytes of the range at @offset that are outside the range at @other.
 */
static int within_mark(struct move *move, u64 offset, u64 other, u32 mark)
{
	u64 bytes = tessera_placement_bytes(move->to_placement);
	u64 part = min(bytes, offset > other ? offset - other : other - offset);

	return tessera_paging_mark(&move->batch, move->to,
				   offset > other ? offset + bytes - part : offset, part, mark);
}

static int within_build(struct move *move)
{
	struct tessera_paging_side src = { .seg = move->from, .offset = move->from_offset };
	struct tessera_paging_side dst = { .seg = move->to, .offset = move->to_offset };
	u64 bytes = tessera_bo_bytes(move->bo);
	int ret;

	if (tessera_segment_shows_pages(move->to)) {
		ret = tessera_paging_unmap(&move->batch, move->from, move->from_offset, bytes);
		return ret ?: extent_map(move, move->to_placement->extents);
	}

	return within_mark(move, move->to_offset, move->from_offset, TSR_MARK_ALLOCATED) ?:
	       tessera_paging_transfer(&move->batch, &src, &dst, bytes, 0) ?:
	       within_mark(move, move->from_offset, move->to_offset, TSR_MARK_EVICTED);
}

static void within_finish(struct move *move, struct dma_fence *fence)
{
	dma_resv_add_fence(move->bo->tbo.base.resv, fence, DMA_RESV_USAGE_KERNEL);
	tessera_dep_check_add(&move->bo->dep_check, TESSERA_DEP_CHECK_MOVE, fence);
	tessera_release_fences_set(&move->release_fences, fence);
}

static int within_run(struct move *move)
{
	struct tessera_manager *mgr = tessera_manager_of(tessera_bo_device(move->bo),
							 move->to->index);
	struct tessera_extent *extent = move->to_placement->extents;
	struct dma_fence *fence;
	struct drm_mm_node left;
	int ret;

	ret = tessera_manager_relocate(mgr, extent, move->to_offset, &left);
	if (ret)
		return ret;
	move->num_left = 1;
	fence = move_queue(move, within_build);
	if (IS_ERR(fence)) {
		tessera_manager_relocate_undo(mgr, extent, move->from_offset, &left);
		return PTR_ERR(fence);
	}
	within_finish(move, fence);
	tessera_manager_relocate_finish(mgr, &left, &move->release_fences);
	dma_fence_put(fence);

	return 0;
}

static int inside_begin(struct move *move, int *idx)
{
	struct tessera_bo *bo = move->bo;
	struct tessera_device *tdev = tessera_bo_device(bo);
	int ret;

	INIT_LIST_HEAD(&move->release_fences);
	move->from = tessera_bo_segment(bo);
	move->from_placement = tessera_bo_placement(bo);
	move->to = move->from;
	move->to_placement = move->from_placement;
	ret = dma_resv_reserve_fences(bo->tbo.base.resv, 1);
	if (ret)
		return ret;
	if (!drm_dev_enter(&tdev->drm, idx))
		return -ENODEV;

	ttm_bo_unmap_virtual(&bo->tbo);
	tdev->upcalls->window_close(bo);
	tdev->upcalls->moves(bo);

	return 0;
}

static int inside_end(struct move *move, int ret, int idx)
{
	struct tessera_bo *bo = move->bo;

	tessera_bo_device(bo)->upcalls->moved(bo);
	drm_dev_exit(idx);
	if (!ret)
		trace_tessera_place(bo->id, move->to->id,
				    tessera_placement_offset(move->to_placement),
				    tessera_bo_bytes(bo));

	return ret;
}

/**
 * tessera_move_within() - relocate an object inside its segment
 * @bo: the object, reservation held, in a segment, contiguous
 * @offset: the new byte offset; the new placement may overlap the old one
 *
 * Return: 0, -ENOSPC if the range is not free, -EINVAL if the object is not
 * contiguous, -ENODEV, or another error.
 */
int tessera_move_within(struct tessera_bo *bo, u64 offset)
{
	struct move move = { .bo = bo, .to_offset = offset };
	int ret, idx;

	if (tessera_bo_placement(bo)->num_extents != 1)
		return -EINVAL;
	move.from_offset = tessera_bo_segment_offset(bo);
	ret = inside_begin(&move, &idx);
	if (ret)
		return ret;

	return inside_end(&move, within_run(&move), idx);
}

/**
 * tessera_move_rebind() - map changed pages of an object into its segment
 * @bo: the object, reservation held, in a segment that shows its pages
 *
 * The placement of the object, and GPU addresses of it, do not change.
 *
 * Return: 0, -ENODEV, or another error; on error the segment shows the old
 * pages.
 */
int tessera_move_rebind(struct tessera_bo *bo)
{
	struct move move = { .bo = bo };
	struct dma_fence *fence;
	int ret, idx;

	ret = inside_begin(&move, &idx);
	if (ret)
		return ret;
	move.from_offset = tessera_bo_segment_offset(bo);
	move.to_offset = move.from_offset;
	fence = move_queue(&move, within_build);
	if (!IS_ERR(fence)) {
		within_finish(&move, fence);
		dma_fence_put(fence);
	}

	return inside_end(&move, PTR_ERR_OR_ZERO(fence), idx);
}
