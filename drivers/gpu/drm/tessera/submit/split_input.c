// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: planner input
 *
 * Describes segments and objects in the terms of the split planner. The order
 * of victims decides how the blocks of other objects rank. A block that is
 * busy, or whose owner is within its fair share, is evicted only as the last
 * resort. A block that is being destroyed cannot be evicted at all, nor can a
 * block that an older submission holds between two of its batches (mem/hold.c).
 * No lock is held: memory may have changed when the plan is carried out, and
 * the plan's operations check that.
 *
 * The input describes all blocks of each segment, those of other clients
 * included, since a plan may evict any of them. It is made once for each batch.
 * Its time and memory grow with the number of blocks.
 */
#include <linux/sizes.h>
#include <linux/slab.h>

#include <drm/tessera_drm.h>

#include "base/device.h"
#include "base/uobj.h"
#include "mem/mem.h"
#include "pure/victim.h"
#include "segments/segments.h"
#include "submit/submit.h"

/* model_segment_blocks() assigns one to the other. */
static_assert(TESSERA_REQUEST_NONE == TESSERA_SPLIT_NONE);

/**
 * tessera_split_segments() - segments a submission may touch
 * @req: the submission
 *
 * Return: a set of segment ids.
 */
u32 tessera_split_segments(const struct tessera_request *req)
{
	u32 set = 0;
	u32 i;

	for (i = 0; i < req->list.num_allocs; i++)
		if (req->bos[i])
			set |= req->bos[i]->supported;

	return set;
}

static void model_segments(struct tessera_split_model *model, struct tessera_device *tdev)
{
	u32 i;

	for (i = 0; i < TESSERA_SPLIT_MAX_SEGS; i++) {
		model->segs[i].size = 0;
		model->segs[i].granularity = TSR_PAGE_SIZE;
	}
	for (i = 0; i < tessera_segment_count(tdev); i++) {
		const struct tessera_segment *seg = tessera_segment_by_index(tdev, i);
		struct tessera_split_seg *out = &model->segs[seg->id];

		out->size = seg->size;
		out->commit = seg->commit;
		out->granularity = seg->page_size;
		if (tessera_segment_shows_pages(seg))
			out->flags |= TESSERA_SPLIT_SEG_APERTURE;
		if (seg->flags & TSR_SEGF_GPU_READ_ONLY)
			out->flags |= TESSERA_SPLIT_SEG_READ_ONLY;
	}
}

static void model_alloc(struct tessera_split_model *model, u32 index,
			const struct tessera_request *req)
{
	struct tessera_split_alloc *alloc = &model->allocs[index];
	const struct tessera_bo *bo = req->bos[index];
	u32 i;

	if (!bo) {
		alloc->flags = TESSERA_SPLIT_ALLOC_NULL;
		return;
	}

	alloc->supported = tessera_bo_allowed(bo, tessera_request_writes(req, index));
	if (tessera_request_writes(req, index))
		alloc->flags |= TESSERA_SPLIT_ALLOC_WRITTEN;
	if (READ_ONCE(bo->copy) == TESSERA_COPY_VALID)
		alloc->flags |= TESSERA_SPLIT_ALLOC_CLEAN;
	if (READ_ONCE(req->tdev->retain->keep_copy))
		alloc->flags |= TESSERA_SPLIT_ALLOC_KEEP_COPY;

	alloc->size = tessera_bo_bytes(bo);
	alloc->align = (u64)bo->tbo.page_alignment << PAGE_SHIFT;
	alloc->priority = READ_ONCE(bo->priority);

	for (i = 0; i < bo->num_preferred && alloc->n_pref < ARRAY_SIZE(alloc->pref); i++)
		if (alloc->supported & BIT(bo->preferred[i]))
			alloc->pref[alloc->n_pref++] = bo->preferred[i];
}

static int model_reserve(struct tessera_split_model *model, u32 more)
{
	u32 want = model->in.n_blocks + more;
	struct tessera_split_block *blocks;
	struct tessera_bo **bos;

	if (want <= model->max_blocks)
		return 0;
	want = max(want, 2 * model->max_blocks);

	blocks = kvrealloc(model->blocks, array_size(want, sizeof(*blocks)), TESSERA_GFP_LISTS);
	if (!blocks)
		return -ENOMEM;
	model->blocks = blocks;
	bos = kvrealloc(model->block_bos, array_size(want, sizeof(*bos)), TESSERA_GFP_LISTS);
	if (!bos)
		return -ENOMEM;
	model->block_bos = bos;
	model->max_blocks = want;

	return 0;
}

/* Consumes the block's reference to the object. */
static void model_block(struct tessera_split_model *model, u32 segment,
			struct tessera_block *block, u32 alloc, bool mine)
{
	u32 index = model->in.n_blocks++;

	model->blocks[index] = (struct tessera_split_block) {
		.start = block->start,
		.size = block->size,
		.seg = segment,
		.alloc = alloc,
		.rank = block->rank,
		.tier = block->bo ? block->tier : TESSERA_VICTIM_IMMOVABLE,
		.flags = block->clean ? TESSERA_SPLIT_BLOCK_CLEAN : 0,
		.priority = mine && !block->offer ? block->priority : TESSERA_VICTIM_NORMAL,
	};
	if (!block->bo)
		model->dying = true;
	model->block_bos[index] = block->bo;
	block->bo = NULL;
}

/* Bytes that the submission may need in a segment beyond what it has there. */
static u64 segment_demand(const struct tessera_request *req, u32 segment,
			  const struct tessera_blocks *blocks)
{
	u64 want = 0, have = 0;
	u32 i;

	for (i = 0; i < req->list.num_allocs; i++)
		if (req->bos[i] && (req->bos[i]->supported & BIT(segment)))
			want += tessera_bo_bytes(req->bos[i]);
	for (i = 0; i < blocks->num; i++)
		if (blocks->block[i].bo &&
		    tessera_request_find(req, blocks->block[i].bo_id) != TESSERA_REQUEST_NONE)
			have += blocks->block[i].size;

	return want - min(want, have);
}

/* Fill in inputs of the ranking that tessera_victims_collect() omits. */
static void look_closer(struct tessera_split_model *model, struct tessera_block *block,
			u64 stamp)
{
	u64 holder;

	if (!block->bo)
		return;
	holder = tessera_holder(block->bo);
	/*
	 * Avoid objects that other submissions hold, although an older
	 * submission may take them.
	 */
	block->busy = (holder && holder != stamp) ||
		      !dma_resv_test_signaled(block->bo->tbo.base.resv,
					      DMA_RESV_USAGE_BOOKKEEP);
	block->held = tessera_hold_has_older(block->bo, stamp);
	model->held |= block->held;
}

static int model_segment_blocks(struct tessera_split_model *model,
				const struct tessera_request *req, u32 segment)
{
	const struct tessera_segment *seg = tessera_segment_by_id(req->tdev, segment);
	struct tessera_blocks blocks;
	u32 i;
	int ret;

	if (!seg)
		return 0;
	ret = tessera_victims_collect(req->ctx->account, seg, &blocks);
	if (ret)
		return ret;
	for (i = 0; i < blocks.num; i++)
		look_closer(model, &blocks.block[i], model->seniority);
	ret = tessera_victims_rank(segment_demand(req, segment, &blocks), &blocks);
	if (!ret)
		ret = model_reserve(model, blocks.num);
	for (i = 0; !ret && i < blocks.num; i++) {
		struct tessera_block *block = &blocks.block[i];
		u32 alloc = TESSERA_SPLIT_NONE;

		if (block->bo)
			alloc = tessera_request_find(req, block->bo_id);

		/*
		 * An object that cannot stay, because it is written now, is an
		 * ordinary block for the planner.
		 */
		if (alloc != TESSERA_SPLIT_NONE &&
		    !(model->allocs[alloc].supported & BIT(segment)))
			alloc = TESSERA_SPLIT_NONE;
		/*
		 * Another client has moved it between the two segments during
		 * the collection.
		 */
		if (alloc != TESSERA_SPLIT_NONE && test_and_set_bit(alloc, model->placed))
			ret = -EAGAIN;
		model_block(model, segment, block, alloc,
			    block->owner == blocks.num_owners - 1);
	}
	tessera_victims_put(&blocks);

	return ret;
}

static bool force_all(const struct tessera_request *req)
{
	return (req->ctx->flags & DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL) ||
	       READ_ONCE(req->tdev->force_split) == TESSERA_FORCE_SPLIT_ALL;
}

static bool force_random(const struct tessera_request *req)
{
	return (req->ctx->flags & DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM) ||
	       READ_ONCE(req->tdev->force_split) == TESSERA_FORCE_SPLIT_RANDOM;
}

/**
 * tessera_split_is_forced() - whether a submission is to be cut as a test
 * @req: the submission
 *
 * Return: true if its context, or the device's debugfs, asks for it.
 */
bool tessera_split_is_forced(const struct tessera_request *req)
{
	return force_all(req) || force_random(req);
}

static void model_force(struct tessera_split_model *model, const struct tessera_request *req)
{
	u32 seed = req->ctx->split_seed ^ READ_ONCE(req->tdev->force_split_seed);

	if (force_all(req)) {
		model->in.force = TESSERA_SPLIT_FORCE_ALL;
	} else if (force_random(req)) {
		model->in.force = TESSERA_SPLIT_FORCE_RANDOM;
		model->in.force_seed = (u64)seed << 32 | lower_32_bits(req->job);
	}
}

/**
 * tessera_split_model_init() - describe a submission and memory to the planner
 * @model: zeroed except for its seniority; call tessera_split_model_fini() even
 * after a failure
 * @req: the submission, checked
 * @segments: set of segment ids
 *
 * Return: 0, -EAGAIN if memory changed too much meanwhile, -EINTR for a fatal
 * signal, or -ENOMEM.
 */
int tessera_split_model_init(struct tessera_split_model *model,
			     const struct tessera_request *req, u32 segments)
{
	unsigned long set = segments;
	u32 cut_cost, i;
	int ret = 0;

	model->allocs = kvcalloc(max(req->list.num_allocs, 1u), sizeof(*model->allocs),
				 TESSERA_GFP_LISTS);
	model->placed = kvcalloc(BITS_TO_LONGS(max(req->list.num_allocs, 1u)), sizeof(long),
				 TESSERA_GFP_LISTS);
	if (!model->allocs || !model->placed)
		return -ENOMEM;

	model_segments(model, req->tdev);
	for (i = 0; i < req->list.num_allocs; i++)
		model_alloc(model, i, req);
	for_each_set_bit(i, &set, TESSERA_SPLIT_MAX_SEGS) {
		ret = model_segment_blocks(model, req, i) ?: tessera_uobj_check_abort(NULL);
		if (ret)
			break;
	}

	model_force(model, req);
	model->in.check = tessera_uobj_check_abort;
	cut_cost = READ_ONCE(req->tdev->split_cut_cost_kib);
	model->in.cut_cost_bytes = cut_cost == U32_MAX ? U64_MAX : cut_cost * (u64)SZ_1K;
	model->in.segs = model->segs;
	model->in.n_segs = TESSERA_SPLIT_MAX_SEGS;
	model->in.allocs = model->allocs;
	model->in.n_allocs = req->list.num_allocs;
	model->in.entries = req->patches;
	model->in.n_entries = req->list.num_patches;
	model->in.blocks = model->blocks;
	model->in.n_slots = req->list.num_slots;
	model->in.length = req->list.cmd_bytes;

	return ret;
}

/**
 * tessera_split_model_fini() - free a model
 * @model: the model; none of its objects is locked
 */
void tessera_split_model_fini(struct tessera_split_model *model)
{
	u32 i;

	for (i = 0; i < model->in.n_blocks; i++)
		tessera_bo_put(model->block_bos[i]);
	kvfree(model->allocs);
	kvfree(model->placed);
	kvfree(model->blocks);
	kvfree(model->block_bos);
}
