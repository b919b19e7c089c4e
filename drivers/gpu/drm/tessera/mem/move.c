// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: moves
 *
 * What has to happen for an object to change its place: one short function per kind of
 * move puts operations into a paging batch. Nothing here waits for the GPU: the
 * object's reservation gets the move's fence, and the range it leaves is free at
 * once, because the fence stays with the hole and whoever takes a piece of that waits for it.
 *
 * An object keeps its pages while it is in a memory segment, within limits (see
 * mem/backing.c). System memory holds linear bytes for what the CPU may map, so a swizzled object
 * is unswizzled on its way out and swizzled on its way in (SWZ-12). Others travel as
 * they are.
 *
 * Called with the object's reservation held.
 */

#include <linux/dma-fence.h>
#include <linux/dma-resv.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_tt.h>

#include "mem/backing.h"
#include "mem/bo.h"
#include "mem/coherence.h"
#include "mem/move.h"
#include "paging/ops.h"
#include "paging/queue.h"
#include "segments/manager.h"
#include "segments/segment.h"
#include "tessera_device.h"
#include "tessera_trace.h"

/* A move in the making. */
struct move {
	struct tessera_bo *bo;
	struct ttm_operation_ctx *ctx;
	/* Segments, NULL for system memory, and byte offsets in them. */
	const struct tessera_segment *from, *to;
	u64 from_offset, to_offset;
	/* The bytes stay behind. */
	bool dropped;
	/* What is left behind in @from. */
	struct tessera_departure *departure;
	struct tessera_paging_batch batch;
	/* VMs that map it, or NULL. */
	struct tessera_remap *remap;
};

static bool in_aperture(const struct tessera_segment *seg)
{
	return seg && tessera_segment_is_aperture(seg);
}

static struct tessera_paging_side side_memory(struct move *move,
					      const struct tessera_segment *seg, u64 offset)
{
	bool swizzle = move->bo->flags & DRM_TESSERA_BO_CPU_ACCESS;

	return (struct tessera_paging_side) {
		.seg = seg,
		.offset = offset,
		.layout = swizzle ? move->bo->layout : TSR_LAYOUT_LINEAR,
	};
}

/* The pages, for the paging engine to read or to write. */
static struct tessera_paging_side side_pages(struct move *move, bool write)
{
	tessera_coherence_for_device(move->bo, write);

	return (struct tessera_paging_side) {
		.pages = move->bo->tbo.ttm->dma_address,
		.cached = tessera_coherence_tracks(move->bo),
		.layout = TSR_LAYOUT_LINEAR,
	};
}

static int move_mark(struct move *move, const struct tessera_segment *seg, u64 offset, u32 mark)
{
	return tessera_paging_mark(&move->batch, seg, offset,
				   tessera_range_footprint(seg, tessera_bo_bytes(move->bo)),
				   mark);
}

/* First placement clears; otherwise the bytes come from the pages. */
static int move_in(struct move *move)
{
	struct tessera_bo *bo = move->bo;
	struct tessera_paging_side src, dst;
	u64 bytes = tessera_range_footprint(move->to, tessera_bo_bytes(bo));
	int ret;

	ret = move_mark(move, move->to, move->to_offset, TSR_MARK_ALLOCATED);
	if (ret)
		return ret;

	if (!tessera_backing_has_bytes(bo))
		return tessera_paging_fill(&move->batch, move->to, move->to_offset, bytes, 0);

	ret = tessera_backing_populate(bo, move->ctx);
	if (ret)
		return ret;

	src = side_pages(move, false);
	dst = side_memory(move, move->to, move->to_offset);

	return tessera_paging_transfer(&move->batch, &src, &dst, tessera_bo_bytes(bo),
				       bo->pitch);
}

/* Memory to pages, unless the pages still have the same bytes. */
static int move_out_bytes(struct move *move)
{
	struct tessera_bo *bo = move->bo;
	struct tessera_paging_side src, dst;

	/* A move that fails makes TTM drop the pages, and these here are new then. */
	if (bo->copy_valid && tessera_backing_is_retained(bo))
		return tessera_paging_discard(&move->batch, move->from, move->from_offset,
					      tessera_bo_bytes(bo));

	src = side_memory(move, move->from, move->from_offset);
	dst = side_pages(move, true);

	return tessera_paging_transfer(&move->batch, &src, &dst, tessera_bo_bytes(bo),
				       bo->pitch);
}

/* Not if the pages still have them. */
static bool may_drop(struct tessera_bo *bo)
{
	return tessera_bo_is_offered(bo) &&
	       !(bo->copy_valid && tessera_backing_is_retained(bo));
}

/* What its client can do without does not travel. */
static int move_drop(struct move *move)
{
	int ret = tessera_paging_discard(&move->batch, move->from, move->from_offset,
					 tessera_bo_bytes(move->bo));

	return ret ?: move_mark(move, move->from, move->from_offset, TSR_MARK_EVICTED);
}

static int move_out(struct move *move)
{
	int ret;

	if (move->dropped)
		return move_drop(move);
	ret = tessera_backing_populate(move->bo, move->ctx);
	if (!ret)
		ret = move_out_bytes(move);
	if (!ret)
		ret = move_mark(move, move->from, move->from_offset, TSR_MARK_EVICTED);

	return ret;
}

static int move_map(struct move *move)
{
	struct ttm_tt *tt = move->bo->tbo.ttm;
	int ret;

	ret = tessera_backing_populate(move->bo, move->ctx);
	if (ret)
		return ret;

	return tessera_paging_map(&move->batch, move->to, move->to_offset,
				  tessera_bo_bytes(move->bo), tt->dma_address, tt->caching);
}

static int move_unmap(struct move *move)
{
	return tessera_paging_unmap(&move->batch, move->from, move->from_offset,
				    tessera_bo_bytes(move->bo));
}

static int move_memory_to_memory(struct move *move)
{
	struct tessera_paging_side src = { .seg = move->from, .offset = move->from_offset };
	struct tessera_paging_side dst = { .seg = move->to, .offset = move->to_offset };
	int ret;

	ret = move_mark(move, move->to, move->to_offset, TSR_MARK_ALLOCATED);
	if (!ret)
		ret = tessera_paging_transfer(&move->batch, &src, &dst,
					      tessera_bo_bytes(move->bo), 0);
	if (!ret)
		ret = move_mark(move, move->from, move->from_offset, TSR_MARK_EVICTED);

	return ret;
}

static int move_build(struct move *move)
{
	int ret;

	if (tessera_segment_is_memory(move->from) && tessera_segment_is_memory(move->to))
		return move_memory_to_memory(move);
	if (tessera_segment_is_memory(move->to))
		return move_in(move);
	if (tessera_segment_is_memory(move->from) && !move->to)
		return move_out(move);

	/* Apertures: the pages stay, only what shows them changes. */
	if (in_aperture(move->from)) {
		ret = move_unmap(move);
		if (ret || !move->to)
			return ret;
	}
	ret = move_map(move);
	if (!ret && tessera_segment_is_memory(move->from))
		ret = move_out(move);

	return ret;
}

/* Give the old place back now; who takes it waits for @fence. The pages stay. */
static void move_finish_pipelined(struct move *move, struct dma_fence *fence,
				  struct ttm_resource *new_mem)
{
	struct ttm_buffer_object *tbo = &move->bo->tbo;

	dma_resv_add_fence(tbo->base.resv, fence, DMA_RESV_USAGE_KERNEL);

	if (move->from) {
		struct tessera_range *range = to_tessera_range(tbo->resource);

		tessera_departure_set(move->departure, fence);
		range->departure = move->departure;
		range->declared = false;
		move->departure = NULL;
	}
	ttm_resource_free(tbo, &tbo->resource);
	ttm_bo_assign_mem(tbo, new_mem);
}

/*
 * Leave the pages to a ghost that frees them when the engine has read them; without memory for one
 * wait until it has. It must not fail: page tables show the new place already.
 */
static void move_finish_ghost(struct move *move, struct dma_fence *fence,
			      struct ttm_resource *new_mem)
{
	struct ttm_buffer_object *tbo = &move->bo->tbo;

	if (ttm_bo_move_accel_cleanup(tbo, fence, false, true, new_mem)) {
		dma_fence_wait(fence, false);
		ttm_bo_move_sync_cleanup(tbo, new_mem);
	}
}

/* The bytes are in memory now. What to do with the pages they came from? */
static void move_finish_page_in(struct move *move, struct dma_fence *fence,
				struct ttm_resource *new_mem)
{
	struct tessera_bo *bo = move->bo;
	bool had_pages = tessera_backing_has_bytes(bo);

	if (had_pages && !tessera_backing_retain(bo, fence)) {
		move_finish_ghost(move, fence, new_mem);
		return;
	}

	/* Pages allocated later are written by an eviction before anybody reads them. */
	bo->tbo.ttm->page_flags &= ~TTM_TT_FLAG_ZERO_ALLOC;
	move_finish_pipelined(move, fence, new_mem);
	/* Jobs of a VM that maps it do not say that they write it. */
	bo->copy_valid = had_pages && !tessera_bo_is_in_vm(bo) &&
			 READ_ONCE(tessera_bo_device(bo)->retain->keep_copy);
}

static void move_finish(struct move *move, struct dma_fence *fence, struct ttm_resource *new_mem)
{
	if (!move->from && tessera_segment_is_memory(move->to)) {
		move_finish_page_in(move, fence, new_mem);
		return;
	}

	move_finish_pipelined(move, fence, new_mem);
	if (!tessera_segment_is_memory(move->to)) {
		tessera_backing_use(move->bo);
		move->bo->copy_valid = false;
	}
	if (move->dropped)
		move->bo->offer.lost = true;
	if (!move->to && tessera_bo_is_offered(move->bo))
		tessera_backing_count_offered(move->bo, true);
}

/* The device is gone and the contents of its memory with it. */
static int move_lost(struct tessera_bo *bo, struct ttm_resource *new_mem)
{
	if (tessera_segment_by_type(tessera_bo_device(bo), new_mem->mem_type))
		return -ENODEV;

	tessera_bo_device(bo)->vm_ops->drop(bo);
	if (bo->tbo.ttm)
		ttm_tt_mark_for_clear(bo->tbo.ttm);
	ttm_bo_move_null(&bo->tbo, new_mem);

	return 0;
}

/*
 * The device was reset, so nothing is asked of it: an object leaves the memory it was in
 * with the copy that its pages hold, if they do.
 */
static int move_from_lost(struct move *move, struct ttm_resource *new_mem)
{
	struct tessera_bo *bo = move->bo;

	if (move->to)
		return -EBUSY;

	if (tessera_segment_is_memory(move->from) &&
	    !(bo->copy_valid && tessera_backing_is_retained(bo))) {
		if (tessera_bo_is_offered(bo))
			bo->offer.lost = true;
		else
			atomic_set(&bo->lost, 1);
	}
	tessera_bo_device(bo)->vm_ops->drop(bo);
	to_tessera_range(bo->tbo.resource)->declared = false;
	tessera_backing_use(bo);
	bo->copy_valid = false;
	ttm_bo_move_null(&bo->tbo, new_mem);

	return 0;
}

/* All that can fail of queueing: the object's users and those of its new place come first. */
static int move_prepare(struct move *move, struct tessera_range *range)
{
	struct tessera_device *tdev = tessera_bo_device(move->bo);
	struct tessera_fences fences = { };
	int ret;
	u32 i;

	ret = tessera_paging_prepare(&move->batch, move->bo->tbo.base.resv);
	if (!ret && move->from) {
		move->departure = tessera_departure_create();
		ret = move->departure ? 0 : -ENOMEM;
	}
	if (!ret && move->to)
		ret = tessera_manager_departures(tessera_manager_of(tdev, move->to->index),
						 range, &fences);
	for (i = 0; !ret && i < fences.num; i++)
		ret = tessera_paging_wait_for(&move->batch, fences.fence[i]);
	tessera_fences_fini(&fences);

	return ret ?: tdev->vm_ops->change(move->remap);
}

/*
 * The whole batch, made and queued: @build says what it is to do, while addresses of the object lead nowhere.
 * An error pointer means that nothing has happened.
 */
static struct dma_fence *move_queue(struct move *move, int (*build)(struct move *move),
				    struct tessera_range *range)
{
	const struct tessera_vm_ops *vm_ops = tessera_bo_device(move->bo)->vm_ops;
	struct tessera_bo *bo = move->bo;
	struct dma_fence *fence;
	int ret;

	tessera_paging_begin(&move->batch, bo->queue, bo->id,
			     move->dropped ? NULL : &bo->lost);
	move->remap = vm_ops->begin(bo, &move->batch, move->from);
	if (IS_ERR(move->remap)) {
		tessera_paging_abort(&move->batch);
		return ERR_CAST(move->remap);
	}
	ret = build(move);
	if (!ret)
		ret = vm_ops->arrive(move->remap, move->to, move->to_offset);
	if (!ret)
		ret = move_prepare(move, range);
	if (ret) {
		vm_ops->end(move->remap, NULL);
		tessera_paging_abort(&move->batch);
		tessera_departure_destroy(move->departure);
		return ERR_PTR(ret);
	}
	fence = tessera_paging_push(&move->batch);
	vm_ops->end(move->remap, fence);

	return fence;
}

static int move_run(struct move *move, struct ttm_resource *new_mem)
{
	struct tessera_range *range = move->to ? to_tessera_range(new_mem) : NULL;
	struct dma_fence *fence;

	/* What is dropped cannot get lost. */
	move->dropped = tessera_segment_is_memory(move->from) && !move->to && may_drop(move->bo);
	fence = move_queue(move, move_build, range);
	if (IS_ERR(fence))
		return PTR_ERR(fence);
	if (range)
		range->declared = true;
	move_finish(move, fence, new_mem);
	dma_fence_put(fence);
	tessera_departure_destroy(move->departure);

	return 0;
}

/**
 * tessera_move_to() - move an object to a new resource
 * @bo: the object, reservation held with a fence slot free
 * @ctx: how to sleep and allocate
 * @new_mem: where to; the object's on success
 * @hop: set on -EMULTIHOP
 *
 * Return: 0, -EMULTIHOP if the object has to go to @hop first, -ENODEV if the device
 * is gone, or another error.
 */
int tessera_move_to(struct tessera_bo *bo, struct ttm_operation_ctx *ctx,
		    struct ttm_resource *new_mem, struct ttm_place *hop)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	struct move move = {
		.bo = bo,
		.ctx = ctx,
		.from = tessera_bo_segment(bo),
		.from_offset = tessera_bo_segment_offset(bo),
		.to = tessera_segment_by_type(tdev, new_mem->mem_type),
		.to_offset = (u64)new_mem->start << PAGE_SHIFT,
	};
	int ret, idx;

	if (!move.from && !move.to) {
		ttm_bo_move_null(&bo->tbo, new_mem);
		return 0;
	}

	/* The pages change hands on the way in from system memory only. */
	if (in_aperture(move.from) && tessera_segment_is_memory(move.to)) {
		*hop = (struct ttm_place) { .mem_type = TTM_PL_SYSTEM };
		return -EMULTIHOP;
	}

	if (!drm_dev_enter(&tdev->drm, &idx))
		return move_lost(bo, new_mem);

	tdev->resident_ops->moves(bo);
	ret = READ_ONCE(tdev->memory_lost) ? move_from_lost(&move, new_mem) :
					     move_run(&move, new_mem);
	tdev->resident_ops->moved(bo);
	drm_dev_exit(idx);

	if (!ret && move.to)
		trace_tessera_place(bo->id, move.to->id, move.to_offset, tessera_bo_bytes(bo));
	if (!ret && move.from)
		trace_tessera_segment_usage(move.from->id,
					    tessera_segment_used(tdev, move.from->index));
	if (!ret && move.to)
		trace_tessera_segment_usage(move.to->id,
					    tessera_segment_used(tdev, move.to->index));

	return ret;
}

/* Declare the part of [offset, offset + bytes) outside the range at @other. */
static int within_mark(struct move *move, u64 offset, u64 other, u32 mark)
{
	u64 bytes = tessera_range_footprint(move->to, tessera_bo_bytes(move->bo));
	u64 part = min(bytes, offset > other ? offset - other : other - offset);

	return tessera_paging_mark(&move->batch, move->to,
				   offset > other ? offset + bytes - part : offset, part, mark);
}

static int within_build(struct move *move)
{
	struct tessera_paging_side src = { .seg = move->from, .offset = move->from_offset };
	struct tessera_paging_side dst = { .seg = move->to, .offset = move->to_offset };
	int ret;

	if (in_aperture(move->to)) {
		ret = move_unmap(move);
		return ret ? ret : move_map(move);
	}

	ret = within_mark(move, move->to_offset, move->from_offset, TSR_MARK_ALLOCATED);
	if (!ret)
		ret = tessera_paging_transfer(&move->batch, &src, &dst,
					      tessera_bo_bytes(move->bo), 0);
	if (!ret)
		ret = within_mark(move, move->from_offset, move->to_offset, TSR_MARK_EVICTED);

	return ret;
}

static int within_run(struct move *move)
{
	struct tessera_bo *bo = move->bo;
	struct tessera_manager *mgr = tessera_manager_of(tessera_bo_device(bo), move->to->index);
	struct tessera_range *range = tessera_bo_range(bo);
	struct dma_fence *fence;
	struct drm_mm_node left;
	int ret;

	ret = tessera_manager_shift(mgr, range, move->to_offset, &left);
	if (ret)
		return ret;
	fence = move_queue(move, within_build, range);
	if (IS_ERR(fence)) {
		tessera_manager_unshift(mgr, range, move->from_offset, &left);
		return PTR_ERR(fence);
	}
	dma_resv_add_fence(bo->tbo.base.resv, fence, DMA_RESV_USAGE_KERNEL);
	tessera_departure_set(move->departure, fence);
	tessera_manager_leave(mgr, &left, move->departure);
	dma_fence_put(fence);

	return 0;
}

/**
 * tessera_move_within() - move an object inside its segment
 * @bo: the object, reservation held, in a segment
 * @offset: the new byte offset; the range may overlap the old one
 *
 * Return: 0, -ENOSPC if the place is not free, -ENODEV, or another error.
 */
int tessera_move_within(struct tessera_bo *bo, u64 offset)
{
	const struct tessera_segment *seg = tessera_bo_segment(bo);
	struct tessera_device *tdev = tessera_bo_device(bo);
	struct move move = {
		.bo = bo,
		.from = seg,
		.from_offset = tessera_bo_segment_offset(bo),
		.to = seg,
		.to_offset = offset,
	};
	int ret, idx;

	ret = dma_resv_reserve_fences(bo->tbo.base.resv, 1);
	if (ret)
		return ret;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return -ENODEV;

	ttm_bo_unmap_virtual(&bo->tbo);
	tdev->window_ops->close(bo);
	tdev->resident_ops->moves(bo);
	ret = within_run(&move);
	tdev->resident_ops->moved(bo);
	drm_dev_exit(idx);

	if (!ret)
		trace_tessera_place(bo->id, seg->id, offset, tessera_bo_bytes(bo));

	return ret;
}
