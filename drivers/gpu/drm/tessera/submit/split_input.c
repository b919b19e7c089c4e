// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: planner input
 *
 * Puts the state of segments and objects into the split planner's terms. What the blocks of
 * others are worth is decided by the order of victims: one that is busy, or whose
 * owner has no more than its fair share, goes only as the last resort; one that is
 * being destroyed cannot go at all. Called with the submission lock held for writing and all
 * objects of the segments locked.
 */
#include <linux/bsearch.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include <drm/tessera_drm.h>

#include "mem/backing.h"
#include "mem/bo.h"
#include "mem/residency.h"
#include "pure/victim.h"
#include "segments/account.h"
#include "segments/segment.h"
#include "submit/context.h"
#include "submit/request.h"
#include "submit/split_input.h"
#include "tessera_device.h"

/* Which element of the allocation list an object is. */
struct bo_index {
	u32 bo_id;
	u32 alloc;
};

static int bo_index_cmp(const void *a, const void *b)
{
	const struct bo_index *x = a, *y = b;

	return x->bo_id < y->bo_id ? -1 : x->bo_id > y->bo_id;
}

static struct bo_index *bo_index_create(const struct tessera_request *req, u32 *num)
{
	struct bo_index *map;
	u32 i;

	*num = 0;
	map = kvmalloc_array(max(req->list.num_allocs, 1u), sizeof(*map), GFP_KERNEL);
	if (!map)
		return NULL;
	for (i = 0; i < req->list.num_allocs; i++) {
		if (!req->bos[i])
			continue;
		map[*num].bo_id = req->bos[i]->id;
		map[(*num)++].alloc = i;
	}
	sort(map, *num, sizeof(*map), bo_index_cmp, NULL);

	return map;
}

static u32 bo_index_find(const struct bo_index *map, u32 num, u32 bo_id)
{
	struct bo_index key = { .bo_id = bo_id };
	const struct bo_index *hit;

	hit = bsearch(&key, map, num, sizeof(*map), bo_index_cmp);

	return hit ? hit->alloc : TESSERA_SPLIT_NONE;
}

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

static u32 model_segments(struct tessera_split_model *model, struct tessera_device *tdev)
{
	u32 read_only = 0;
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
		if (seg->flags & TSR_SEGF_APERTURE)
			out->flags |= TESSERA_SPLIT_SEG_APERTURE;
		if (seg->flags & TSR_SEGF_GPU_READ_ONLY) {
			out->flags |= TESSERA_SPLIT_SEG_READ_ONLY;
			read_only |= BIT(seg->id);
		}
	}

	return read_only;
}

static void model_alloc(struct tessera_split_model *model, u32 index,
			const struct tessera_request *req, u32 read_only)
{
	struct tessera_split_alloc *alloc = &model->allocs[index];
	const struct tessera_bo *bo = req->bos[index];
	u32 i;

	if (!bo) {
		alloc->flags = TESSERA_SPLIT_ALLOC_NULL;
		return;
	}

	alloc->supported = bo->supported;
	if (tessera_request_writes(req, index)) {
		alloc->flags |= TESSERA_SPLIT_ALLOC_WRITTEN;
		alloc->supported &= ~read_only;
	}
	if (bo->copy_valid)
		alloc->flags |= TESSERA_SPLIT_ALLOC_CLEAN;
	if (READ_ONCE(req->tdev->retain->keep_copy))
		alloc->flags |= TESSERA_SPLIT_ALLOC_KEEP_COPY;

	alloc->size = tessera_bo_bytes(bo);

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

	blocks = kvrealloc(model->blocks, array_size(want, sizeof(*blocks)), GFP_KERNEL);
	if (!blocks)
		return -ENOMEM;
	model->blocks = blocks;
	bos = kvrealloc(model->block_bos, array_size(want, sizeof(*bos)), GFP_KERNEL);
	if (!bos)
		return -ENOMEM;
	model->block_bos = bos;
	model->max_blocks = want;

	return 0;
}

static void model_block(struct tessera_split_model *model, u32 segment,
			const struct tessera_block *block, u32 alloc)
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
	};
	if (!block->bo)
		model->dying = true;
	model->block_bos[index] = block->bo;
}

/* Bytes the submission may come to hold in a segment beyond what it has there. */
static u64 segment_want(const struct tessera_request *req, u32 segment)
{
	u64 want = 0;
	u32 i;

	for (i = 0; i < req->list.num_allocs; i++) {
		struct tessera_bo *bo = req->bos[i];
		const struct tessera_segment *seg;

		if (!bo || !(bo->supported & BIT(segment)))
			continue;
		seg = tessera_bo_segment(bo);
		if (!seg || seg->id != segment)
			want += tessera_bo_bytes(bo);
	}

	return want;
}

static int model_segment_blocks(struct tessera_split_model *model,
				const struct tessera_request *req, u32 segment,
				const struct bo_index *map, u32 num_map)
{
	struct tessera_block *blocks = NULL;
	u32 num = 0;
	u32 i;
	int ret;

	ret = tessera_residency_snapshot(req->tdev, segment, &blocks, &num);
	if (ret)
		return ret;
	ret = tessera_residency_rank(req->tdev, segment, req->ctx->account,
				     segment_want(req, segment), blocks, num);
	if (!ret)
		ret = model_reserve(model, num);
	for (i = 0; !ret && i < num; i++) {
		u32 alloc = blocks[i].bo ? bo_index_find(map, num_map, blocks[i].bo_id) :
					   TESSERA_SPLIT_NONE;

		/* Where it cannot stay, being written now, it is not in the planner's eyes. */
		if (alloc != TESSERA_SPLIT_NONE &&
		    !(model->allocs[alloc].supported & BIT(segment)))
			alloc = TESSERA_SPLIT_NONE;
		model_block(model, segment, &blocks[i], alloc);
	}
	kvfree(blocks);

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
 * tessera_split_is_forced() - whether a submission is to be cut for a test
 * @req: the submission
 *
 * Return: true if its context, or the device's debugfs, says so.
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
 * @model: the result; tessera_split_model_fini() even after a failure
 * @req: the submission, checked
 * @segments: set of segment ids, whose objects are all locked
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_split_model_init(struct tessera_split_model *model,
			     const struct tessera_request *req, u32 segments)
{
	unsigned long set = segments;
	struct bo_index *map;
	u32 read_only, num_map, i;
	int ret = 0;

	memset(model, 0, sizeof(*model));
	model->allocs = kvcalloc(max(req->list.num_allocs, 1u), sizeof(*model->allocs),
				 GFP_KERNEL);
	if (!model->allocs)
		return -ENOMEM;

	read_only = model_segments(model, req->tdev);
	for (i = 0; i < req->list.num_allocs; i++)
		model_alloc(model, i, req, read_only);

	map = bo_index_create(req, &num_map);
	if (!map)
		return -ENOMEM;
	for_each_set_bit(i, &set, TESSERA_SPLIT_MAX_SEGS) {
		ret = model_segment_blocks(model, req, i, map, num_map);
		if (ret)
			break;
	}
	kvfree(map);

	model_force(model, req);
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
 * @model: the model
 */
void tessera_split_model_fini(struct tessera_split_model *model)
{
	kvfree(model->allocs);
	kvfree(model->blocks);
	kvfree(model->block_bos);
}
