// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: compaction
 *
 * Compaction makes a gap for a contiguous object when a segment has enough free
 * bytes, but no gap of that size. It moves contiguous objects towards the low
 * end of the segment until a gap is large enough.
 *
 * An object that need not be contiguous is *loose*. If it has pages below the
 * end of the gap, it moves to free pages above the gap, provided that they have
 * space for the whole object. Otherwise it is evicted. A residency list brings
 * it back before the next job of its VM, and by then the bytes that it needs
 * are free.
 *
 * Moves are paging jobs, so the CPU does not wait. A moving object waits for
 * the release fences of its new place, and its users wait for the move. Only
 * the requester may be delayed like that. An object of another client is moved
 * only if no job uses it, and only to a place without release fences. Otherwise
 * the fence to wait for is noted, and the caller waits for it with no lock
 * held. Each moved object counts as an eviction of the requester's round.
 *
 * Residency code calls this with the reservation of the requesting object held.
 * Reservations of other objects are only tried. An object stays where it is if
 * it cannot be locked or is scanned out. A hold of a submission in parts keeps
 * it in place, too, unless the rules ignore holds.
 */

#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>

#include "base/device.h"
#include "base/trace.h"
#include "exec/exec.h"
#include "mem/mem.h"
#include "segments/segments.h"

/*
 * Returns a fence of a job of this device that has not signalled. A move does
 * not wait for foreign fences.
 */
static struct dma_fence *find_pending(struct tessera_bo *bo)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	struct dma_resv_iter cursor;
	struct dma_fence *fence;

	dma_resv_for_each_fence(&cursor, bo->tbo.base.resv, DMA_RESV_USAGE_BOOKKEEP, fence)
		if (tessera_fence_is_own(tdev, fence) && !dma_fence_is_signaled(fence))
			return dma_fence_get(fence);

	return NULL;
}

/* Limits retries. A placement may change between the scan and the move. */
#define COMPACT_TRIES	4

/* The plan for a block. */
struct spot {
	/* The new offset of a contiguous block; never above the old one. */
	u64 to;
	bool stays;
	bool loose;
	/*
	 * In the first block of an object: the object is done in this pass and
	 * all earlier ones.
	 */
	u8 pass;
};

struct compaction {
	const struct tessera_segment *seg;
	struct tessera_space_rules *rules;
	/* The account that the gap is for. */
	struct tessera_account *requester;
	u64 size, align;
	struct tessera_blocks blocks;
	struct spot *spots;
	/*
	 * The offset of the gap. Loose blocks between @lo and the end of the
	 * gap have to leave.
	 */
	u64 gap, lo;
	/* Number of blocks below the gap. */
	u32 num;
	/*
	 * Pass over the loose blocks, 1 or 2. The second pass evicts those that
	 * do not fit above the gap.
	 */
	u8 pass;
	/* Ids of objects that failed to move. */
	u32 stay[COMPACT_TRIES];
	u32 num_stay;
};

static void note_fence(struct tessera_space_rules *rules, struct dma_fence *fence)
{
	if (rules->fence)
		dma_fence_put(fence);
	else
		rules->fence = fence;
}

static bool is_own(const struct compaction *c, struct tessera_bo *bo)
{
	return bo->account->id == c->requester->id && !READ_ONCE(bo->sharing.exported);
}

/*
 * Jobs of other clients must not wait for the move, and the move must not wait
 * for them. This applies to jobs that list the object and to jobs of VMs that
 * map it.
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

/* The caller holds the reservation of the object. */
static bool may_move(const struct compaction *c, struct tessera_bo *bo)
{
	return tessera_bo_segment(bo) == c->seg && !tessera_bo_is_immovable(bo) &&
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

/* Decides which blocks can move. Their state may change before the move. */
static void classify_blocks(struct compaction *c)
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

/*
 * Finds the lowest gap that appears when all contiguous blocks below it move
 * down.
 */
static int find_gap(struct compaction *c)
{
	u64 end = 0, align;
	u32 i;

	c->gap = 0;
	c->lo = U64_MAX;
	for (i = 0; i < c->blocks.num; i++) {
		struct tessera_block *block = &c->blocks.block[i];
		struct spot *spot = &c->spots[i];

		if (spot->loose)
			continue;
		if (block->start >= c->gap && block->start - c->gap >= c->size)
			break;
		spot->to = block->start;
		if (!spot->stays) {
			align = tessera_placement_alignment(c->seg, &block->bo->tbo);
			spot->to = min(block->start, ALIGN(end, align));
		}
		if (spot->to < block->start)
			c->lo = min(c->lo, spot->to);
		end = spot->to + block->size;
		c->gap = ALIGN(end, c->align);
	}
	c->num = i;
	c->lo = min(c->lo, c->gap);

	return c->gap <= c->seg->size && c->seg->size - c->gap >= c->size ? 0 : -ENOSPC;
}

/*
 * Moves an object down to @to. An object of another client must not wait for
 * release fences there. -ENOSPC means that the place was taken meanwhile.
 */
static int push_down(struct compaction *c, struct tessera_bo *bo, u64 to,
		     struct dma_fence **leaving)
{
	struct tessera_manager *mgr = tessera_manager_of(tessera_bo_device(bo), c->seg->index);
	u64 start = tessera_bo_segment_offset(bo);

	if (!is_own(c, bo)) {
		u64 size = tessera_placement_footprint(c->seg, tessera_bo_bytes(bo));

		*leaving = tessera_release_fences_find(mgr, to, min(start, to + size));
		if (*leaving)
			return -EBUSY;
	}

	return tessera_move_within(bo, to);
}

/*
 * Moves a loose object away from the area that contiguous objects move into.
 * Returns 1 in the first pass if the object does not fit above the gap. The
 * pages of an evicted object are not free for the objects of other clients
 * before its release fences have signalled.
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
		leaving = tessera_release_fences_find(mgr, end, c->seg->size);
	if (!leaving && end < c->seg->size)
		ret = ttm_bo_validate(&bo->tbo, &placement, &ctx);
	dma_fence_put(leaving);

	if (ret != -ENOMEM)
		return ret;
	return c->pass == 2 ? tessera_victims_evict(bo, TESSERA_EVICT_COMPACT) : 1;
}

/* The caller holds the reservation of the object. */
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
 * Returns 1 if the second pass has to do it, -EBUSY if the object stays,
 * -ENOSPC if the evictions of this round are used up and other clients get
 * their turn, -EAGAIN if the segment is claimed.
 */
static int move_block(struct compaction *c, u32 index)
{
	struct tessera_bo *bo = c->blocks.block[index].bo;
	bool locked;
	int ret;

	cond_resched();
	/* A display update cannot be restarted, so it ignores signals. */
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

/* Loose objects go first, because contiguous objects move into their place. */
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
		classify_blocks(c);
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
 * tessera_compact() - make a gap where enough bytes are free
 * @bo: the object that needs the gap, reservation held
 * @seg: the segment
 * @rules: constraints on evictions
 * @start: receives the lower end of the gap, a byte offset
 *
 * Return: 0; -ENOSPC if the segment has too few free bytes, too many objects
 * stay where they are, or no evictions are left; -EAGAIN if the segment is
 * claimed and @rules do not ignore claims; -ERESTARTSYS; or another error.
 */
int tessera_compact(struct tessera_bo *bo, const struct tessera_segment *seg,
		    struct tessera_space_rules *rules, u64 *start)
{
	struct tessera_manager *mgr = tessera_manager_of(tessera_bo_device(bo), seg->index);
	struct compaction c = {
		.seg = seg,
		.rules = rules,
		.requester = bo->account,
		.size = tessera_placement_footprint(seg, tessera_bo_bytes(bo)),
		.align = tessera_placement_alignment(seg, &bo->tbo),
	};
	int ret;

	ret = tessera_victims_make_bytes(bo, seg, rules);
	if (ret)
		return ret;
	if (!tessera_manager_has(mgr, tessera_bo_bytes(bo)))
		return -ENOSPC;

	do {
		ret = compact_once(&c);
	} while (ret == -EBUSY && c.num_stay < COMPACT_TRIES);
	*start = c.gap;

	return ret == -EBUSY ? -ENOSPC : ret;
}
