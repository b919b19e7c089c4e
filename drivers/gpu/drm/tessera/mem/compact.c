// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: compaction
 *
 * An object in one piece may find enough free bytes and no gap. If those who
 * give way leave enough bytes, objects in one piece are pushed together
 * towards the low end of the segment, up to a gap.
 *
 * An object that may be in pieces is *loose*. If it has pages in front of the
 * gap's end it moves to free pages behind the gap, as long as it fits there
 * beside what it has. Otherwise it is evicted: its client's list brings it
 * back in front of the next job, and the bytes that it needs are free then.
 *
 * Moves are paging jobs; the CPU does not wait. A moving object waits for
 * those who have yet to leave its new place, and its users wait for the move.
 * Only the requester may have to wait like that: objects of others are pushed
 * only if no job uses them, and to where all have left. What has to be waited
 * for before that is noted, and the caller waits with nothing held. Each
 * object that moves counts as an eviction of the requester's round.
 *
 * Called by residency with the object's reservation held. Others' locks are
 * only tried: what cannot be locked stays, and so does what a submission in
 * parts relies on, and what is scanned out.
 */

#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>

#include "exec/exec.h"
#include "mem/mem.h"
#include "segments/segments.h"
#include "tessera_device.h"
#include "tessera_trace.h"

/* A job of this device that has not ended. A move does not wait for foreign fences. */
static struct dma_fence *find_pending(struct tessera_bo *bo)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	struct dma_resv_iter cursor;
	struct dma_fence *fence;

	dma_resv_for_each_fence(&cursor, bo->tbo.base.resv, DMA_RESV_USAGE_BOOKKEEP, fence)
		if (tessera_job_made(tdev, fence) && !dma_fence_is_signaled(fence))
			return dma_fence_get(fence);

	return NULL;
}

/* Places may change hands between a look and a move. */
#define COMPACT_TRIES	4

/* What becomes of a block. */
struct spot {
	/* Where it goes, if it is in one piece: not up. */
	u64 to;
	bool stays;
	bool loose;
	/* The object, of whose blocks this is the first, is done with in this pass and those before. */
	u8 pass;
};

struct compaction {
	const struct tessera_segment *seg;
	struct tessera_room_rules *rules;
	/* Who wants the gap. */
	struct tessera_account *requester;
	u64 size;
	struct tessera_blocks blocks;
	struct spot *spots;
	/* Where it is to be; what is loose in front of its end leaves from @lo on. */
	u64 gap, lo;
	/* Blocks up to there. */
	u32 num;
	/* Of two over what is loose. In the second one what does not fit behind the gap is evicted. */
	u8 pass;
	/* Objects that did not move when they were to. */
	u32 stay[COMPACT_TRIES];
	u32 num_stay;
};

static void note_fence(struct tessera_room_rules *rules, struct dma_fence *fence)
{
	if (rules->fence)
		dma_fence_put(fence);
	else
		rules->fence = fence;
}

static bool is_own(const struct compaction *c, struct tessera_bo *bo)
{
	return bo->account->id == c->requester->id && !READ_ONCE(bo->exported);
}

/*
 * Jobs of other clients must not wait for the move, nor the move for them: neither jobs that list the object nor
 * jobs of VMs.
 */
static bool is_idle(const struct compaction *c, struct tessera_bo *bo)
{
	struct dma_fence *fence;

	if (is_own(c, bo))
		return true;
	fence = find_pending(bo) ?: tessera_bo_device(bo)->upcalls->remap_users(bo);
	if (fence)
		note_fence(c->rules, fence);

	return !fence;
}

/* With its reservation held. */
static bool may_move(const struct compaction *c, struct tessera_bo *bo)
{
	return tessera_bo_segment(bo) == c->seg && !tessera_bo_is_fixed(bo) &&
	       (c->rules->passes || !tessera_holder(bo)) &&
	       !atomic_read(&bo->lost) && is_idle(c, bo);
}

static bool bo_stays(const struct compaction *c, struct tessera_bo *bo)
{
	bool locked, stays;
	u32 i;

	if (!bo)
		return true;
	for (i = 0; i < c->num_stay; i++)
		if (c->stay[i] == bo->id)
			return true;
	if (!tessera_victims_lock(bo, c->rules, &locked))
		return true;
	stays = !may_move(c, bo);
	tessera_victims_unlock(bo, locked);

	return stays;
}

/* As far as can be seen. */
static void sort_out(struct compaction *c)
{
	u32 i;

	for (i = 0; i < c->blocks.num; i++) {
		struct tessera_block *block = &c->blocks.block[i];
		struct spot *spot = &c->spots[i];

		spot->stays = block->first == i ? bo_stays(c, block->bo) :
						  c->spots[block->first].stays;
		spot->loose = !spot->stays && tessera_bo_may_scatter(block->bo);
		cond_resched();
	}
}

/* The lowest gap there may be, if all before it that is in one piece comes down. */
static int find_gap(struct compaction *c)
{
	u64 end = 0;
	u32 i;

	c->lo = U64_MAX;
	for (i = 0; i < c->blocks.num; i++) {
		struct tessera_block *block = &c->blocks.block[i];
		struct spot *spot = &c->spots[i];

		if (spot->loose)
			continue;
		if (block->start >= end && block->start - end >= c->size)
			break;
		spot->to = spot->stays ? block->start : min(block->start, end);
		if (spot->to < block->start)
			c->lo = min(c->lo, spot->to);
		end = ALIGN(spot->to + block->size, c->seg->page_size);
	}
	c->num = i;
	c->gap = end;
	c->lo = min(c->lo, end);

	return end <= c->seg->size && c->seg->size - end >= c->size ? 0 : -ENOSPC;
}

/* Down to @to, where for others' sake all have left. A place that is taken in between is nobody's fault. */
static int push_down(struct compaction *c, struct tessera_bo *bo, u64 to,
		     struct dma_fence **leaving)
{
	struct tessera_manager *mgr = tessera_manager_of(tessera_bo_device(bo), c->seg->index);
	u64 start = tessera_bo_segment_offset(bo);

	if (!is_own(c, bo)) {
		u64 size = tessera_range_footprint(c->seg, tessera_bo_bytes(bo));

		*leaving = tessera_manager_leaving(mgr, to, min(start, to + size));
		if (*leaving)
			return -EBUSY;
	}

	return tessera_move_within(bo, to);
}

/*
 * Out of the way of all that comes down. 1: not yet, what fits behind the gap moves first. The pages
 * of an object that is evicted are not free for others' objects before they have been left.
 */
static int clear_off(struct compaction *c, struct tessera_bo *bo)
{
	struct tessera_manager *mgr = tessera_manager_of(tessera_bo_device(bo), c->seg->index);
	u64 end = c->gap + c->size;
	struct ttm_operation_ctx ctx = { .interruptible = false };
	struct ttm_place behind =
		tessera_segment_place(c->seg, end, 0, tessera_bo_place_flags(bo) |
				      (c->rules->passes ? TESSERA_PLACE_PASSES : 0));
	struct ttm_placement placement = { .num_placement = 1, .placement = &behind };
	struct dma_fence *leaving = NULL;
	int ret = -ENOMEM;

	if (!is_own(c, bo))
		leaving = tessera_manager_leaving(mgr, end, c->seg->size);
	if (!leaving && end < c->seg->size)
		ret = ttm_bo_validate(&bo->tbo, &placement, &ctx);
	dma_fence_put(leaving);

	if (ret != -ENOMEM)
		return ret;
	return c->pass == 2 ? tessera_victims_evict(bo, TESSERA_EVICT_COMPACT) : 1;
}

/* With its reservation held. */
static int move_locked(struct compaction *c, u32 index)
{
	struct tessera_block *block = &c->blocks.block[index];
	struct spot *spot = &c->spots[index];
	struct dma_fence *leaving = NULL;
	struct tessera_bo *bo = block->bo;
	int ret;

	if (!may_move(c, bo))
		return -EBUSY;
	if (!c->rules->passes &&
	    tessera_manager_closed(tessera_manager_of(tessera_bo_device(bo), c->seg->index)))
		return -EAGAIN;
	if (spot->loose)
		return clear_off(c, bo);
	if (tessera_bo_segment_offset(bo) != block->start)
		return -EBUSY;
	ret = push_down(c, bo, spot->to, &leaving);
	if (leaving)
		note_fence(c->rules, leaving);

	return ret == -ENOSPC ? -EBUSY : ret;
}

/*
 * 1: not yet. -EBUSY: it stays. -ENOSPC: enough for a round, others are to have their turn. -EAGAIN: the
 * segment is claimed.
 */
static int move_block(struct compaction *c, u32 index)
{
	struct tessera_bo *bo = c->blocks.block[index].bo;
	bool locked;
	int ret;

	cond_resched();
	/* Of a display nobody makes the call again. */
	if (signal_pending(current) && !c->rules->passes)
		return -ERESTARTSYS;
	if (!c->rules->evictions)
		return -ENOSPC;
	c->rules->evictions--;

	ret = -EBUSY;
	if (tessera_victims_lock(bo, c->rules, &locked)) {
		ret = move_locked(c, index);
		tessera_victims_unlock(bo, locked);
	}
	if (ret == -EBUSY)
		c->stay[c->num_stay++] = bo->id;
	c->rules->evictions += ret > 0;

	return ret;
}

static int move_loose_once(struct compaction *c)
{
	u32 i;
	int ret;

	for (i = 0; i < c->blocks.num; i++) {
		struct tessera_block *block = &c->blocks.block[i];
		struct spot *first = &c->spots[block->first];

		if (block->start >= c->gap + c->size)
			break;
		if (!c->spots[i].loose || first->pass >= c->pass ||
		    block->start + block->size <= c->lo)
			continue;
		ret = move_block(c, i);
		if (ret < 0)
			return ret;
		first->pass = ret ? c->pass : 2;
	}

	return 0;
}

/* What is loose goes first, for it is in the way of what comes down. */
static int move_loose(struct compaction *c)
{
	int ret = 0;

	for (c->pass = 1; !ret && c->pass <= 2; c->pass++)
		ret = move_loose_once(c);

	return ret;
}

static int move_rest(struct compaction *c)
{
	u32 i;
	int ret;

	for (i = 0; i < c->num; i++) {
		if (c->spots[i].loose || c->spots[i].to >= c->blocks.block[i].start)
			continue;
		ret = move_block(c, i);
		if (ret)
			return ret;
	}

	return 0;
}

static int compact_once(struct compaction *c)
{
	int ret;

	ret = tessera_victims_collect(c->requester, c->seg, &c->blocks);
	if (ret)
		return ret;
	c->spots = kvcalloc(c->blocks.num + 1, sizeof(*c->spots), GFP_KERNEL_ACCOUNT);
	ret = -ENOMEM;
	if (c->spots) {
		sort_out(c);
		ret = find_gap(c);
	}
	if (!ret)
		ret = move_loose(c);
	if (!ret)
		ret = move_rest(c);
	kvfree(c->spots);
	tessera_victims_put(&c->blocks);

	return ret;
}

/**
 * tessera_compact_has_bytes() - ask whether enough is free, in however many holes
 * @bo: the object that is to have a place
 * @seg: the segment
 *
 * Return: true if nobody has to leave for it.
 */
bool tessera_compact_has_bytes(const struct tessera_bo *bo, const struct tessera_segment *seg)
{
	const struct tessera_manager *mgr =
		tessera_manager_of(tessera_bo_device(bo), seg->index);

	return READ_ONCE(mgr->committed) +
		tessera_range_footprint(seg, tessera_bo_bytes(bo)) <= seg->commit;
}

/**
 * tessera_compact() - make a gap where there is room, but none in one piece
 * @bo: the object that is to go there, reservation held
 * @seg: the segment
 * @rules: who gives way
 * @start: receives the lower end of the gap, a byte offset
 *
 * Return: 0; -ENOSPC if there is not enough room, too much of it stays where it is, or no evictions are
 * left; -EAGAIN if the segment is claimed, and @rules do not pass over that; -ERESTARTSYS; or another
 * error.
 */
int tessera_compact(struct tessera_bo *bo, const struct tessera_segment *seg,
		    struct tessera_room_rules *rules, u64 *start)
{
	struct compaction c = {
		.seg = seg,
		.rules = rules,
		.requester = bo->account,
		.size = tessera_range_footprint(seg, tessera_bo_bytes(bo)),
	};
	int ret;

	ret = tessera_victims_make_bytes(bo, seg, rules);
	if (ret)
		return ret;
	if (!tessera_compact_has_bytes(bo, seg))
		return -ENOSPC;

	do {
		ret = compact_once(&c);
	} while (ret == -EBUSY && c.num_stay < COMPACT_TRIES);
	*start = c.gap;

	return ret == -EBUSY ? -ENOSPC : ret;
}
