// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: compaction
 *
 * Room is not enough where a place has to be in one piece. If those who give way leave enough
 * bytes, but no gap, what stays is pushed together towards the low end of the segment, piece by
 * piece where it lies in pieces. Moves are paging jobs; the CPU does not wait.
 *
 * What moves waits for those who have yet to leave its new place, and whoever uses it waits
 * for the move. Nobody but the requester is to wait like that: objects of others are pushed
 * only if no job uses them, and to where all have left. What has to be waited for before they
 * can be is noted, for the caller to do with nothing held.
 *
 * Called by residency with the object's reservation held. Others' locks are only tried: what
 * cannot be locked stays, and so does what a submission in parts relies on.
 */

#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "mem/bo.h"
#include "mem/compact.h"
#include "mem/move.h"
#include "mem/victims.h"
#include "segments/manager.h"
#include "segments/segment.h"
#include "tessera_device.h"

static struct dma_fence *find_pending(struct dma_resv *resv)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;

	dma_resv_for_each_fence(&cursor, resv, DMA_RESV_USAGE_BOOKKEEP, fence)
		if (!dma_fence_is_signaled(fence))
			return dma_fence_get(fence);

	return NULL;
}

/* Whether nobody but the requester would have to wait for it. */
static bool may_push(const struct tessera_segment *seg, struct tessera_block *block, u64 to,
		     u32 requester, struct tessera_room_rules *rules)
{
	struct tessera_bo *bo = block->bo;
	struct dma_fence *fence;

	if (bo->account->id == requester && !READ_ONCE(bo->exported))
		return true;

	fence = find_pending(bo->tbo.base.resv);
	if (!fence)
		fence = tessera_manager_leaving(tessera_manager_of(tessera_bo_device(bo),
								   seg->index),
						to, min(block->start, to + block->size));
	if (!fence)
		return true;
	if (rules->fence)
		dma_fence_put(fence);
	else
		rules->fence = fence;

	return false;
}

/* To @to, if that is lower. A place that is taken in between is nobody's fault. */
static int push_block(const struct tessera_segment *seg, struct tessera_block *block, u64 to,
		      u32 requester, struct tessera_room_rules *rules)
{
	struct tessera_bo *bo = block->bo;
	bool locked;
	int ret = 0;

	cond_resched();
	if (!bo || to >= block->start)
		return 0;
	if (!tessera_victims_lock(bo, rules, &locked)) {
		tessera_victims_contend(rules, bo);
		return 0;
	}

	if (tessera_bo_segment(bo) == seg &&
	    tessera_range_run(tessera_bo_range(bo), block->start) &&
	    !atomic64_read(&bo->holder) && !atomic_read(&bo->lost) &&
	    may_push(seg, block, to, requester, rules)) {
		ret = tessera_move_within(bo, block->start, to);
		if (!ret)
			block->start = to;
	}
	if (locked)
		dma_resv_unlock(bo->tbo.base.resv);

	return ret == -ENOSPC ? 0 : ret;
}

/* Up to the first gap of @size. */
static int push_blocks(const struct tessera_segment *seg, struct tessera_blocks *blocks, u64 size,
		       u32 requester, struct tessera_room_rules *rules, u64 *start)
{
	u64 end = 0;
	u32 i;
	int ret;

	for (i = 0; i < blocks->num; i++) {
		struct tessera_block *block = &blocks->block[i];

		if (block->start >= end && block->start - end >= size)
			break;
		ret = push_block(seg, block, end, requester, rules);
		if (ret)
			return ret;
		end = ALIGN(block->start + block->size, seg->page_size);
	}
	*start = end;

	return end <= seg->size && seg->size - end >= size ? 0 : -ENOSPC;
}

/**
 * tessera_compact() - make a gap where there is room, but none in one piece
 * @bo: the object that is to go there, reservation held
 * @seg: the segment
 * @rules: who gives way
 * @start: receives the lower end of the gap, a byte offset
 *
 * Return: 0; -ENOSPC if there is not enough room, or too much of it stays where it is; or
 * another error.
 */
int tessera_compact(struct tessera_bo *bo, const struct tessera_segment *seg,
		    struct tessera_room_rules *rules, u64 *start)
{
	struct tessera_manager *mgr = tessera_manager_of(tessera_bo_device(bo), seg->index);
	u64 size = tessera_range_footprint(seg, tessera_bo_bytes(bo));
	struct tessera_blocks blocks;
	int ret;

	ret = tessera_victims_look(bo, seg, size, rules, &blocks);
	if (ret)
		return ret;
	ret = tessera_victims_room(seg, &blocks) < size ? -ENOSPC :
	      tessera_victims_take_bytes(bo, seg, &blocks, size, rules);
	tessera_victims_put(&blocks);
	if (ret)
		return ret;
	if (READ_ONCE(mgr->committed) + size > seg->commit)
		return -ENOSPC;

	ret = tessera_victims_collect(tessera_bo_device(bo), seg, &blocks);
	if (ret)
		return ret;
	ret = push_blocks(seg, &blocks, size, bo->account->id, rules, start);
	tessera_victims_put(&blocks);

	return ret;
}
