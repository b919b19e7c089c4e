// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: residency
 *
 * Where an object goes, and who has to go for it. Victims are chosen here, not by
 * TTM: blocks of a segment are ranked by the pure code (least recently used, over its fair
 * share first), and the fewest from the front of that order that open a contiguous
 * gap are evicted. Evictions are paging jobs that wait for the victim's users on
 * the GPU; the CPU does not.
 *
 * An ordinary submission only ever tries other objects' locks; what it cannot lock
 * is not a victim. A submission in parts holds every resident object's lock
 * (tessera_residency_lock_all()) and places objects where its plan says.
 */

#include <linux/bsearch.h>
#include <linux/sort.h>

#include <drm/drm_exec.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>

#include "mem/bo.h"
#include "mem/move.h"
#include "mem/residency.h"
#include "pure/victim.h"
#include "segments/account.h"
#include "segments/manager.h"
#include "segments/segment.h"
#include "tessera_device.h"
#include "tessera_trace.h"

/* Victims may be taken by others between choice and lock: choose again. */
#define MAKE_ROOM_TRIES		4

/* Room may come and go between an attempt and a look at what it failed for. */
#define PLACE_TRIES		4

struct tessera_residency {
	/* Submissions so far, see &tessera_bo.last_use. */
	atomic64_t stamp;
};

static struct tessera_device *bo_device(struct tessera_bo *bo)
{
	return to_tessera_device(bo->tbo.base.dev);
}

/*
 * Move to one place of one segment, or fail: "desired" keeps TTM from evicting.
 * TTM says -ENOMEM for "no room"; a look at the holes tells that from the other meaning.
 */
static int place_in(struct tessera_bo *bo, const struct tessera_segment *seg,
		    u64 start, u64 end)
{
	/* Half a plan may be running already: a signal must not end the other half. */
	struct ttm_operation_ctx ctx = { .interruptible = false };
	struct ttm_place place = {
		.fpfn = start >> PAGE_SHIFT,
		.lpfn = end >> PAGE_SHIFT,
		.mem_type = seg->mem_type,
		.flags = TTM_PL_FLAG_DESIRED,
	};
	struct ttm_placement placement = { .num_placement = 1, .placement = &place };
	struct tessera_manager *mgr = tessera_manager_of(bo_device(bo), seg->index);
	int try, ret;

	/* A hole may have come up since: then another try tells what is short. */
	for (try = 0; try < PLACE_TRIES; try++) {
		ret = ttm_bo_validate(&bo->tbo, &placement, &ctx);
		if (ret != -ENOMEM)
			return ret;
		if (!tessera_manager_fits(mgr, tessera_bo_bytes(bo), start, end))
			return -ENOSPC;
	}

	return ret;
}

static int evict_for(struct tessera_bo *bo, u32 reason)
{
	struct ttm_operation_ctx ctx = { .interruptible = false };
	const struct tessera_segment *seg = tessera_bo_segment(bo);
	struct ttm_placement placement = {
		.num_placement = bo->num_evict_places,
		.placement = bo->evict_places,
	};

	if (!seg)
		return 0;
	if (bo->tbo.pin_count)
		return -EBUSY;

	/* What leaves an aperture goes all the way. */
	if (tessera_segment_is_aperture(seg)) {
		placement.placement += bo->num_evict_places - 1;
		placement.num_placement = 1;
	}

	trace_tessera_evict(bo->id, seg->id, tessera_bo_segment_offset(bo),
			    tessera_bo_bytes(bo), bo->account->id, reason);

	return ttm_bo_validate(&bo->tbo, &placement, &ctx);
}

/**
 * tessera_residency_evict() - make an object leave its segment
 * @bo: the object, reservation held
 *
 * To an aperture segment of its eviction set if there is room, else to system memory.
 * Does nothing if it is in no segment.
 *
 * Return: 0, -EBUSY if it is pinned, or another error.
 */
int tessera_residency_evict(struct tessera_bo *bo)
{
	return evict_for(bo, TESSERA_EVICT_PLAN);
}

/**
 * tessera_residency_evict_for_cpu() - make an object go where the CPU can see it
 * @bo: the object, reservation held
 *
 * Return: as tessera_residency_evict().
 */
int tessera_residency_evict_for_cpu(struct tessera_bo *bo)
{
	return evict_for(bo, TESSERA_EVICT_CPU);
}

/* An occupied range; @bo gets a reference unless the object is dying. */
static void block_fill(struct tessera_block *block, struct drm_mm_node *node)
{
	struct tessera_range *range = container_of(node, struct tessera_range, node);
	struct ttm_buffer_object *tbo = READ_ONCE(range->base.bo);

	*block = (struct tessera_block) {
		.start = tessera_range_offset(range),
		.size = tessera_range_bytes(range),
		.owner = range->account->id,
		.pinned = true,
	};

	/* Ghosts and the dying have no GEM reference left to take. */
	if (!tessera_bo_is_tessera(tbo) || !kref_get_unless_zero(&tbo->base.refcount))
		return;

	block->bo = to_tessera_bo(tbo);
	block->bo_id = block->bo->id;
	block->pinned = READ_ONCE(tbo->pin_count);
	block->last_use = READ_ONCE(block->bo->last_use);
	block->clean = READ_ONCE(block->bo->copy_valid);
}

static void blocks_put(struct tessera_block *blocks, u32 num)
{
	u32 i;

	for (i = 0; i < num; i++)
		if (blocks[i].bo)
			tessera_bo_put(blocks[i].bo);
}

static u32 count_nodes_locked(struct tessera_manager *mgr)
{
	struct drm_mm_node *node;
	u32 num = 0;

	lockdep_assert_held(&mgr->lock);

	drm_mm_for_each_node(node, &mgr->mm)
		num++;

	return num;
}

/* All ranges of a segment in offset order, with references. */
static int blocks_collect(struct tessera_manager *mgr, struct tessera_block **blocks, u32 *num)
{
	struct drm_mm_node *node;
	u32 room, n = 0;

	mutex_lock(&mgr->lock);
	for (;;) {
		room = count_nodes_locked(mgr);
		mutex_unlock(&mgr->lock);

		*blocks = kvmalloc_array(room + 1, sizeof(**blocks), GFP_KERNEL);
		if (!*blocks)
			return -ENOMEM;

		mutex_lock(&mgr->lock);
		if (count_nodes_locked(mgr) <= room)
			break;
		kvfree(*blocks);
	}
	drm_mm_for_each_node(node, &mgr->mm)
		block_fill(&(*blocks)[n++], node);
	mutex_unlock(&mgr->lock);
	*num = n;

	return 0;
}

/**
 * tessera_residency_snapshot() - what is where in a segment
 * @tdev: the device
 * @segment_id: the segment
 * @blocks: result, in offset order; kvfree() it
 * @num: elements of @blocks
 *
 * The caller holds the locks of tessera_residency_lock_all(), which also hold the
 * references that the result relies on.
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_residency_snapshot(struct tessera_device *tdev, u32 segment_id,
			       struct tessera_block **blocks, u32 *num)
{
	const struct tessera_segment *seg = tessera_segment_by_id(tdev, segment_id);
	u32 i;
	int ret;

	ret = blocks_collect(tessera_manager_of(tdev, seg->index), blocks, num);
	if (ret)
		return ret;

	for (i = 0; i < *num; i++) {
		struct tessera_bo *bo = (*blocks)[i].bo;

		if (bo)
			(*blocks)[i].busy = !dma_resv_test_signaled(bo->tbo.base.resv,
								    DMA_RESV_USAGE_BOOKKEEP);
	}
	blocks_put(*blocks, *num);

	return 0;
}

static int cmp_view_id(const void *key, const void *elem)
{
	const struct tessera_account_view *view = elem;
	u32 id = *(const u32 *)key;

	return id < view->id ? -1 : id > view->id;
}

static u32 owner_index(const struct tessera_account_view *views, u32 num, u32 id)
{
	const struct tessera_account_view *view;

	view = bsearch(&id, views, num, sizeof(*views), cmp_view_id);

	return view ? view - views : TESSERA_VICTIM_NO_OWNER;
}

static int rank_run(struct tessera_victim_req *req, struct tessera_block *blocks)
{
	u32 i;
	int ret;

	ret = tessera_victim_rank(req);
	if (ret)
		return ret;

	for (i = 0; i < req->n_blocks; i++) {
		struct tessera_block *block = &blocks[req->blocks[i].cookie];

		block->tier = req->blocks[i].tier;
		block->rank = i;
	}

	return 0;
}

static void rank_fill(struct tessera_victim_req *req, const struct tessera_account_view *views,
		      const struct tessera_block *blocks, u32 requester)
{
	u32 i;

	for (i = 0; i < req->n_owners; i++) {
		req->owners[i].used = views[i].used;
		req->owners[i].demand = views[i].demand;
		if (views[i].id == requester) {
			req->requester = i;
			req->fair = views[i].fair;
		}
	}

	for (i = 0; i < req->n_blocks; i++) {
		struct tessera_victim_block *block = &req->blocks[i];

		block->size = blocks[i].size;
		block->last_use = blocks[i].last_use;
		block->owner = owner_index(views, req->n_owners, blocks[i].owner);
		block->cookie = i;
		if (blocks[i].pinned || !blocks[i].bo)
			block->flags |= TESSERA_VICTIM_BLOCK_FIXED;
		if (blocks[i].busy)
			block->flags |= TESSERA_VICTIM_BLOCK_BUSY;
	}
}

/**
 * tessera_residency_rank() - in which order a segment's blocks may be taken
 * @tdev: the device
 * @segment_id: the segment
 * @requester: who wants memory there
 * @want: bytes it wants beyond what it has
 * @blocks: the segment's blocks; @tier and @rank are set
 * @num: elements of @blocks
 *
 * Return: 0 or an error.
 */
int tessera_residency_rank(struct tessera_device *tdev, u32 segment_id,
			   struct tessera_account *requester, u64 want,
			   struct tessera_block *blocks, u32 num)
{
	const struct tessera_segment *seg = tessera_segment_by_id(tdev, segment_id);
	struct tessera_account_view *views;
	struct tessera_victim_req req = { .want = want, .n_blocks = num };
	int ret;

	ret = tessera_account_views(tdev, seg->index, &views, &req.n_owners);
	if (ret)
		return ret;

	req.owners = kvcalloc(req.n_owners, sizeof(*req.owners), GFP_KERNEL);
	req.blocks = kvcalloc(num + 1, sizeof(*req.blocks), GFP_KERNEL);
	ret = -ENOMEM;
	if (req.owners && req.blocks) {
		rank_fill(&req, views, blocks, requester->id);
		ret = rank_run(&req, blocks);
	}
	kvfree(req.blocks);
	kvfree(req.owners);
	kvfree(views);

	return ret;
}

/* A gap in the making: what must go to get it. */
struct gap {
	u64 start, end;
	u32 first, last;
};

static bool block_goes(const struct tessera_block *block, u32 limit)
{
	return block->tier <= TESSERA_VICTIM_TAKE_AFTER_OWN && block->rank < limit;
}

/*
 * Lowest gap of @size if the first @limit blocks in order went. @gap gets the blocks
 * in it, [first, last).
 */
static bool find_gap(const struct tessera_segment *seg, const struct tessera_block *blocks,
		     u32 num, u32 limit, u64 size, struct gap *gap)
{
	u64 start = 0;
	u32 first = 0;
	u32 i;

	for (i = 0; i <= num; i++) {
		u64 end = i < num ? blocks[i].start : seg->size;

		if (i < num && block_goes(&blocks[i], limit))
			continue;
		if (end > start && end - start >= size) {
			*gap = (struct gap) { start, start + size, first, i };
			return true;
		}
		if (i < num)
			start = ALIGN(blocks[i].start + blocks[i].size, seg->page_size);
		first = i + 1;
	}

	return false;
}

/* The fewest from the front of the order that open a gap; bisection over how many. */
static bool choose_gap(const struct tessera_segment *seg, const struct tessera_block *blocks,
		       u32 num, u64 size, struct gap *gap)
{
	u32 lo = 0, hi = num;

	if (!find_gap(seg, blocks, num, hi, size, gap))
		return false;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (find_gap(seg, blocks, num, mid, size, gap))
			hi = mid;
		else
			lo = mid + 1;
	}

	return find_gap(seg, blocks, num, hi, size, gap);
}

/*
 * -EBUSY if somebody else has the lock or the object has gone elsewhere
 * meanwhile. @exec's own objects are locked already and are not to be unlocked.
 */
static int evict_block(const struct tessera_segment *seg, struct tessera_block *block,
		       struct drm_exec *exec, u32 reason)
{
	struct dma_resv *resv = block->bo->tbo.base.resv;
	bool ours = exec && dma_resv_locking_ctx(resv) == &exec->ticket;
	int ret = 0;

	if (!ours && !dma_resv_trylock(resv))
		return -EBUSY;

	if (tessera_bo_segment(block->bo) == seg)
		ret = evict_for(block->bo, reason);

	if (!ours)
		dma_resv_unlock(resv);

	return ret;
}

/* Evict what is in the gap; a block that resists is pinned for the next choice. */
static int evict_gap(const struct tessera_segment *seg, struct tessera_block *blocks,
		     const struct gap *gap, u32 requester)
{
	u32 i;
	int ret;

	for (i = gap->first; i < gap->last; i++) {
		struct tessera_block *block = &blocks[i];

		if (block->start + block->size <= gap->start || block->start >= gap->end)
			continue;

		ret = evict_block(seg, block, NULL,
				  block->owner == requester ? TESSERA_EVICT_LRU :
							      TESSERA_EVICT_SHARE);
		if (ret == -EBUSY)
			block->pinned = true;
		if (ret)
			return ret;
	}

	return 0;
}

static int make_room_with(struct tessera_bo *bo, const struct tessera_segment *seg,
			  struct tessera_block *blocks, u32 num)
{
	u64 size = tessera_range_footprint(seg, tessera_bo_bytes(bo));
	struct gap gap;
	u32 try;
	int ret;

	for (try = 0; try < MAKE_ROOM_TRIES; try++) {
		ret = tessera_residency_rank(bo_device(bo), seg->id, bo->account, size,
					     blocks, num);
		if (ret)
			return ret;
		if (!choose_gap(seg, blocks, num, size, &gap))
			return -ENOSPC;

		ret = evict_gap(seg, blocks, &gap, bo->account->id);
		if (!ret)
			return place_in(bo, seg, gap.start, gap.end);
		if (ret != -EBUSY)
			return ret;
	}

	return -ENOSPC;
}

/* An aperture may be full by its commit limit though it has holes. */
static int meet_commit_limit(struct tessera_bo *bo, const struct tessera_segment *seg,
			     struct tessera_block *blocks, u32 num)
{
	struct tessera_manager *mgr = tessera_manager_of(bo_device(bo), seg->index);
	u64 size = tessera_range_footprint(seg, tessera_bo_bytes(bo));
	u32 rank, i;
	int ret;

	ret = tessera_residency_rank(bo_device(bo), seg->id, bo->account, size, blocks, num);

	for (rank = 0; !ret && rank < num; rank++) {
		if (READ_ONCE(mgr->committed) + size <= seg->commit)
			return 0;
		for (i = 0; i < num; i++)
			if (blocks[i].rank == rank && block_goes(&blocks[i], num))
				ret = evict_block(seg, &blocks[i], NULL, TESSERA_EVICT_LRU);
		if (ret == -EBUSY)
			ret = 0;
	}

	return ret;
}

static int make_room(struct tessera_bo *bo, const struct tessera_segment *seg)
{
	struct tessera_manager *mgr = tessera_manager_of(bo_device(bo), seg->index);
	struct tessera_block *blocks;
	u32 num;
	int ret;

	ret = blocks_collect(mgr, &blocks, &num);
	if (ret)
		return ret;

	if (seg->commit < seg->size)
		ret = meet_commit_limit(bo, seg, blocks, num);
	blocks_put(blocks, num);
	kvfree(blocks);
	if (ret)
		return ret;

	ret = blocks_collect(mgr, &blocks, &num);
	if (ret)
		return ret;

	ret = make_room_with(bo, seg, blocks, num);
	blocks_put(blocks, num);
	kvfree(blocks);

	return ret;
}

static bool segment_serves(struct tessera_bo *bo, const struct tessera_segment *seg, bool write)
{
	return seg && (bo->supported & BIT(seg->id)) &&
	       !(write && (seg->flags & TSR_SEGF_GPU_READ_ONLY));
}

/**
 * tessera_residency_validate() - bring an object into one of its segments
 * @bo: the object, reservation held
 * @exec: the submission's locks
 * @write: the GPU is going to write it
 *
 * An object that is in a segment that serves stays there. Otherwise its segments are tried
 * in order of preference, first as they are, then with eviction of what others
 * hold above their share and of what was not used for longest. Objects locked
 * by anybody, so all of @exec, are not touched. Does not wait for the GPU.
 *
 * Return: 0; -ENOSPC if it does not fit; or another error.
 */
int tessera_residency_validate(struct tessera_bo *bo, struct drm_exec *exec, bool write)
{
	struct tessera_device *tdev = bo_device(bo);
	const struct tessera_segment *seg = tessera_bo_segment(bo);
	bool evict;
	u32 i;
	int ret;

	if (atomic_read(&bo->lost))
		return -EIO;
	if (segment_serves(bo, seg, write)) {
		tessera_account_want(bo->account, seg->index);
		return 0;
	}
	if (bo->tbo.pin_count)
		return -EBUSY;

	for (evict = false; ; evict = true) {
		for (i = 0; i < bo->num_preferred; i++) {
			seg = tessera_segment_by_id(tdev, bo->preferred[i]);
			if (!segment_serves(bo, seg, write))
				continue;

			tessera_account_want(bo->account, seg->index);
			ret = evict ? make_room(bo, seg) : place_in(bo, seg, 0, 0);
			if (ret != -ENOSPC)
				return ret;
		}
		if (evict)
			return -ENOSPC;
	}
}

/* As a rule: a plan has evicted what it knew of. */
static bool range_is_clear(struct tessera_bo *bo, const struct tessera_segment *seg, u64 start,
			   u64 end)
{
	struct tessera_manager *mgr = tessera_manager_of(bo_device(bo), seg->index);
	struct drm_mm_node *node;
	bool clear = true;

	mutex_lock(&mgr->lock);
	drm_mm_for_each_node_in_range(node, &mgr->mm, start >> PAGE_SHIFT, end >> PAGE_SHIFT) {
		struct tessera_range *range = container_of(node, struct tessera_range, node);

		if (range->base.bo != &bo->tbo) {
			clear = false;
			break;
		}
	}
	mutex_unlock(&mgr->lock);

	return clear;
}

/* Evict whatever but @bo overlaps a range. */
static int clear_range(struct tessera_bo *bo, const struct tessera_segment *seg, u64 start,
		       u64 end, struct drm_exec *exec)
{
	struct tessera_block *blocks;
	u32 num, i;
	int ret;

	if (range_is_clear(bo, seg, start, end))
		return 0;

	ret = blocks_collect(tessera_manager_of(bo_device(bo), seg->index), &blocks, &num);
	if (ret)
		return ret;

	for (i = 0; i < num && !ret; i++) {
		struct tessera_block *block = &blocks[i];

		if (block->start + block->size <= start || block->start >= end ||
		    block->bo == bo)
			continue;
		ret = block->bo && !block->pinned ?
			evict_block(seg, block, exec, TESSERA_EVICT_PLAN) : -EBUSY;
	}
	blocks_put(blocks, num);
	kvfree(blocks);

	return ret;
}

/**
 * tessera_residency_place() - put an object at an exact place
 * @bo: the object, reservation held
 * @segment_id: the segment
 * @offset: byte offset
 * @exec: the submission's locks; holds those of tessera_residency_lock_all()
 *
 * Evicts what is in the way. Inside a segment the old and the new place may overlap.
 *
 * Return: 0; -EBUSY if something in the way cannot go; -ENOSPC if the place cannot
 * be had; or another error.
 */
int tessera_residency_place(struct tessera_bo *bo, u32 segment_id, u64 offset,
			    struct drm_exec *exec)
{
	const struct tessera_segment *seg = tessera_segment_by_id(bo_device(bo), segment_id);
	const struct tessera_segment *now = tessera_bo_segment(bo);
	u64 size;
	int ret;

	if (!seg || !(bo->supported & BIT(segment_id)))
		return -EINVAL;
	if (atomic_read(&bo->lost))
		return -EIO;

	tessera_account_want(bo->account, seg->index);
	if (now == seg && tessera_bo_segment_offset(bo) == offset)
		return 0;
	if (bo->tbo.pin_count)
		return -EBUSY;

	size = tessera_range_footprint(seg, tessera_bo_bytes(bo));
	ret = clear_range(bo, seg, offset, offset + size, exec);
	if (ret)
		return ret;

	if (now == seg)
		return tessera_move_within(bo, offset);

	return place_in(bo, seg, offset, offset + size);
}

/**
 * tessera_residency_written() - the GPU is going to write an object
 * @bo: the object, reservation held
 *
 * From now on its bytes in memory are the only ones. To be called before the object
 * may be evicted again; tessera_residency_commit() includes it.
 */
void tessera_residency_written(struct tessera_bo *bo)
{
	dma_resv_assert_held(bo->tbo.base.resv);
	bo->copy_valid = false;
}

/**
 * tessera_residency_next_stamp() - number a submission
 * @tdev: the device
 *
 * Return: a number greater than all before.
 */
u64 tessera_residency_next_stamp(struct tessera_device *tdev)
{
	return atomic64_inc_return(&tdev->residency->stamp);
}

/**
 * tessera_residency_commit() - a job that uses an object has been armed
 * @bo: the object, reservation held, the job's fence attached
 * @write: the job writes it
 * @stamp: of the submission, from tessera_residency_next_stamp()
 */
void tessera_residency_commit(struct tessera_bo *bo, bool write, u64 stamp)
{
	WRITE_ONCE(bo->last_use, stamp);
	if (write)
		tessera_residency_written(bo);
	ttm_bo_move_to_lru_tail_unlocked(&bo->tbo);
}

static int lock_blocks(struct drm_exec *exec, struct tessera_block *blocks, u32 num)
{
	u32 i;
	int ret;

	for (i = 0; i < num; i++) {
		struct tessera_bo *bo = blocks[i].bo;

		if (!bo)
			continue;

		/*
		 * With a slot for the fence of its eviction. What @exec has locked by itself
		 * after contention has to be asked for again, or it unlocks it.
		 */
		ret = drm_exec_prepare_obj(exec, &bo->tbo.base, 1);
		if (ret && ret != -EALREADY)
			return ret;
	}

	return 0;
}

/**
 * tessera_residency_lock_all() - lock every resident object
 * @tdev: the device; &tessera_device.submit_lock is held for writing
 * @exec: where the locks go, inside drm_exec_until_all_locked()
 * @segment_mask: set of segment ids
 * @held: references are added here; tessera_residency_put_held() after drm_exec_fini(),
 *	also after a failure
 *
 * While they are held nothing enters or leaves these segments but by the caller,
 * except that objects being destroyed leave.
 *
 * Return: 0, an error, or contention to be dealt with by drm_exec_retry_on_contention().
 */
int tessera_residency_lock_all(struct tessera_device *tdev, struct drm_exec *exec,
			       u32 segment_mask, struct tessera_held **held)
{
	struct tessera_held *h;
	u32 i;
	int ret;

	for (i = 0; i < tessera_segment_count(tdev); i++) {
		if (!(segment_mask & BIT(tessera_segment_by_index(tdev, i)->id)))
			continue;

		h = kzalloc(sizeof(*h), GFP_KERNEL);
		if (!h)
			return -ENOMEM;
		h->next = *held;
		*held = h;

		ret = blocks_collect(tessera_manager_of(tdev, i), &h->blocks, &h->num);
		if (ret)
			return ret;

		ret = lock_blocks(exec, h->blocks, h->num);
		if (ret)
			return ret;
	}

	return 0;
}

/**
 * tessera_residency_put_held() - give up what tessera_residency_lock_all() referenced
 * @held: what it returned, may be NULL; no lock is held
 */
void tessera_residency_put_held(struct tessera_held *held)
{
	while (held) {
		struct tessera_held *next = held->next;

		blocks_put(held->blocks, held->num);
		kvfree(held->blocks);
		kfree(held);
		held = next;
	}
}

/**
 * tessera_residency_wait_dying() - wait for memory of destroyed objects
 * @tdev: the device; no reservation is held
 *
 * What was destroyed while the GPU used it keeps its place until the GPU is done.
 * After this call that of all objects destroyed before it is free.
 *
 * Return: 0.
 */
int tessera_residency_wait_dying(struct tessera_device *tdev)
{
	flush_workqueue(tdev->ttm.wq);

	return 0;
}

/**
 * tessera_residency_init() - set up placement
 * @tdev: the device
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_residency_init(struct tessera_device *tdev)
{
	tdev->residency = drmm_kzalloc(&tdev->drm, sizeof(*tdev->residency), GFP_KERNEL);

	return tdev->residency ? 0 : -ENOMEM;
}
