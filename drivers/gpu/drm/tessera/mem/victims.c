// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: victims
 *
 * Who has to go when there is no room. Victims are chosen here, not by TTM: blocks of a
 * segment are ranked by the pure code (least recently used, over its fair share first),
 * and the fewest from the front of that order that open a contiguous gap are evicted.
 * Evictions are paging jobs that wait for the victim's users on the GPU; the CPU does not.
 *
 * Other objects' locks are only tried: what cannot be locked is no victim. Costs n log n
 * in the number of blocks.
 */

#include <linux/bsearch.h>
#include <linux/dma-fence.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>

#include "mem/bo.h"
#include "mem/victims.h"
#include "pure/victim.h"
#include "segments/account.h"
#include "segments/manager.h"
#include "segments/segment.h"
#include "tessera_device.h"
#include "tessera_trace.h"

/* Victims may be taken by others between choice and lock: choose again. */
#define MAKE_ROOM_TRIES		4

/**
 * tessera_victims_evict() - make an object leave its segment
 * @bo: the object, reservation held
 * @reason: TESSERA_EVICT_*, for the trace
 *
 * To an aperture segment of its eviction set if there is room, else to system memory.
 * Does nothing if it is in no segment.
 *
 * Return: 0; -EBUSY if it is scanned out; or another error.
 */
int tessera_victims_evict(struct tessera_bo *bo, u32 reason)
{
	struct ttm_operation_ctx ctx = { .interruptible = false };
	const struct tessera_segment *seg = tessera_bo_segment(bo);
	struct ttm_placement placement;

	if (!seg)
		return 0;
	if (tessera_bo_is_fixed(bo))
		return -EBUSY;
	tessera_bo_evict_placement(bo, &placement);
	trace_tessera_evict(bo->id, seg->id, tessera_bo_segment_offset(bo),
			    tessera_bo_bytes(bo), bo->account->id, reason);

	return ttm_bo_validate(&bo->tbo, &placement, &ctx);
}

/* An occupied run; @bo gets a reference unless the object is dying, or elsewhere already. */
static void block_fill(struct tessera_block *block, const struct tessera_run *run)
{
	struct tessera_range *range = run->range;
	struct ttm_buffer_object *tbo = READ_ONCE(range->base.bo);

	*block = (struct tessera_block) {
		.start = tessera_run_offset(run),
		.size = tessera_run_bytes(run),
		.first = range->seen,
		.total = tessera_range_bytes(range),
		.owner = range->account->id,
		.pinned = true,
	};

	/* Ghosts and the dying have no GEM reference left to take. */
	if (!tbo || !tessera_bo_is_tessera(tbo) || !kref_get_unless_zero(&tbo->base.refcount))
		return;

	block->bo = to_tessera_bo(tbo);
	block->bo_id = block->bo->id;
	block->pinned = tessera_bo_is_fixed(block->bo);
	block->held = atomic64_read(&block->bo->holder);
	block->listed = READ_ONCE(block->bo->listed);
	block->last_use = READ_ONCE(block->bo->last_use);
	block->offer = READ_ONCE(block->bo->offer.priority);
	block->clean = READ_ONCE(block->bo->copy_valid) || block->offer;
}

/**
 * tessera_victims_put() - give up what tessera_victims_collect() referenced
 * @blocks: the blocks, zeroed or collected; not under locks of theirs
 */
void tessera_victims_put(struct tessera_blocks *blocks)
{
	u32 i;

	for (i = 0; i < blocks->num; i++) {
		if (blocks->block[i].bo)
			tessera_bo_put(blocks->block[i].bo);
		cond_resched();
	}
	kvfree(blocks->block);
	*blocks = (struct tessera_blocks) { };
}

/* NULL: what a move inside the segment has left, for a moment. */
static struct tessera_run *node_to_run(struct drm_mm_node *node)
{
	return node->color == TESSERA_NODE_RANGE ? container_of(node, struct tessera_run, node) :
						   NULL;
}

static u32 count_nodes_locked(struct tessera_manager *mgr)
{
	struct drm_mm_node *node;
	u32 num = 0;

	lockdep_assert_held(&mgr->lock);

	drm_mm_for_each_node(node, &mgr->mm) {
		num++;
		cond_resched();
	}

	return num;
}

static void collect_locked(struct tessera_manager *mgr, struct tessera_blocks *blocks)
{
	struct drm_mm_node *node;
	struct tessera_run *run;

	lockdep_assert_held(&mgr->lock);

	drm_mm_for_each_node(node, &mgr->mm) {
		run = node_to_run(node);
		if (run)
			run->range->seen = U32_MAX;
		cond_resched();
	}
	drm_mm_for_each_node(node, &mgr->mm) {
		run = node_to_run(node);
		if (!run)
			continue;
		run->range->seen = min(run->range->seen, blocks->num);
		block_fill(&blocks->block[blocks->num++], run);
		cond_resched();
	}
}

/**
 * tessera_victims_collect() - look at a segment
 * @tdev: the device
 * @seg: the segment
 * @blocks: result; tessera_victims_put() if it succeeds
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_victims_collect(struct tessera_device *tdev, const struct tessera_segment *seg,
			    struct tessera_blocks *blocks)
{
	struct tessera_manager *mgr = tessera_manager_of(tdev, seg->index);
	u32 room;

	*blocks = (struct tessera_blocks) { };
	mutex_lock(&mgr->lock);
	for (;;) {
		room = count_nodes_locked(mgr);
		mutex_unlock(&mgr->lock);

		/* The client's for as long as it takes. */
		blocks->block = kvmalloc_array(room + 1, sizeof(*blocks->block),
					       GFP_KERNEL_ACCOUNT);
		if (!blocks->block)
			return -ENOMEM;

		mutex_lock(&mgr->lock);
		if (count_nodes_locked(mgr) <= room)
			break;
		kvfree(blocks->block);
	}
	collect_locked(mgr, blocks);
	mutex_unlock(&mgr->lock);

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

static int rank_run(struct tessera_victim_req *req, struct tessera_block *blocks, u32 num)
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
	for (i = 0; i < num; i++) {
		blocks[i].tier = blocks[blocks[i].first].tier;
		blocks[i].rank = blocks[blocks[i].first].rank;
	}

	return 0;
}

static void rank_fill(struct tessera_victim_req *req, const struct tessera_account_view *views,
		      const struct tessera_block *blocks, u32 num, u32 requester)
{
	u32 i;

	for (i = 0; i < req->n_owners; i++) {
		req->owners[i].used = views[i].used;
		req->owners[i].reserved = views[i].reserved;
		req->owners[i].demand = views[i].demand;
		if (views[i].id == requester) {
			req->requester = i;
			req->fair = views[i].fair - views[i].reserved;
		}
	}

	for (i = 0; i < num; i++) {
		struct tessera_victim_block *block = &req->blocks[req->n_blocks];

		if (blocks[i].first != i)
			continue;
		req->n_blocks++;
		block->size = blocks[i].total;
		block->last_use = blocks[i].last_use;
		block->owner = owner_index(views, req->n_owners, blocks[i].owner);
		block->cookie = i;
		block->offer = blocks[i].offer;
		if (blocks[i].pinned || blocks[i].held || !blocks[i].bo)
			block->flags |= TESSERA_VICTIM_BLOCK_FIXED;
		if (blocks[i].busy)
			block->flags |= TESSERA_VICTIM_BLOCK_BUSY;
		if (blocks[i].listed)
			block->flags |= TESSERA_VICTIM_BLOCK_LISTED;
	}
}

/**
 * tessera_victims_rank() - in which order a segment's blocks may be taken
 * @tdev: the device
 * @seg: the segment
 * @requester: who wants memory there
 * @want: bytes it wants beyond what it has
 * @blocks: the segment's blocks; tier and rank are set
 *
 * Return: 0 or an error.
 */
int tessera_victims_rank(struct tessera_device *tdev, const struct tessera_segment *seg,
			 struct tessera_account *requester, u64 want,
			 struct tessera_blocks *blocks)
{
	struct tessera_victim_req req = { .want = want };
	struct tessera_account_view *views;
	int ret;

	ret = tessera_account_views(tdev, seg->index, &views, &req.n_owners);
	if (ret)
		return ret;

	req.owners = kvcalloc(req.n_owners, sizeof(*req.owners), GFP_KERNEL);
	req.blocks = kvcalloc(blocks->num + 1, sizeof(*req.blocks), GFP_KERNEL_ACCOUNT);
	ret = -ENOMEM;
	if (req.owners && req.blocks) {
		rank_fill(&req, views, blocks->block, blocks->num, requester->id);
		ret = rank_run(&req, blocks->block, blocks->num);
		cond_resched();
	}
	kvfree(req.blocks);
	kvfree(req.owners);
	kvfree(views);

	return ret;
}

/* What must go only for what could not be done at all otherwise, goes for those who pass. */
static int rank_for(struct tessera_bo *bo, const struct tessera_segment *seg, u64 want,
		    const struct tessera_room_rules *rules, struct tessera_blocks *blocks)
{
	u32 i;
	int ret;

	ret = tessera_victims_rank(tessera_bo_device(bo), seg, bo->account, want, blocks);
	for (i = 0; !ret && rules->passes && i < blocks->num; i++)
		if (blocks->block[i].tier < TESSERA_VICTIM_IMMOVABLE)
			blocks->block[i].tier = TESSERA_VICTIM_TAKE_AFTER_OWN;

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
		cond_resched();
	}

	return find_gap(seg, blocks, num, hi, size, gap);
}

/**
 * tessera_victims_may_take() - ask whether a block gives way without need
 * @block: the block, ranked
 *
 * Return: true if it does.
 */
bool tessera_victims_may_take(const struct tessera_block *block)
{
	return block->bo && !block->pinned && block->tier <= TESSERA_VICTIM_TAKE_AFTER_OWN;
}

/**
 * tessera_victims_contend() - note that somebody has the lock of what is in the way
 * @rules: where to
 * @bo: the object, with a reference
 */
void tessera_victims_contend(struct tessera_room_rules *rules, struct tessera_bo *bo)
{
	if (!rules->compact || rules->contended)
		return;
	tessera_bo_get(bo);
	rules->contended = bo;
}

/**
 * tessera_victims_forget() - drop what is noted of what is in the way
 * @rules: the rules; no lock may be held
 */
void tessera_victims_forget(struct tessera_room_rules *rules)
{
	if (rules->contended)
		tessera_bo_put(rules->contended);
	rules->contended = NULL;
	dma_fence_put(rules->fence);
	rules->fence = NULL;
}

/**
 * tessera_victims_lock() - lock what is in the way, if nobody else has
 * @bo: the object
 * @rules: the rules; the caller may have locked it by their ticket, for itself or for
 *	another object of its VM
 * @locked: set if it has to be unlocked afterwards
 *
 * Return: false if somebody else has it.
 */
bool tessera_victims_lock(struct tessera_bo *bo, const struct tessera_room_rules *rules,
			  bool *locked)
{
	struct dma_resv *resv = bo->tbo.base.resv;

	*locked = false;
	if (rules->ticket && dma_resv_locking_ctx(resv) == rules->ticket)
		return true;
	*locked = dma_resv_trylock(resv);

	return *locked;
}

/**
 * tessera_victims_take() - evict what is in a block
 * @seg: the segment
 * @block: the block, with an object
 * @requester: id of the account that wants the room
 * @rules: the rules
 *
 * Return: 0; -EBUSY if the object is locked by another task or, since it was looked at, is held by a submission in
 * parts, scanned out, or listed as resident; or another error.
 */
int tessera_victims_take(const struct tessera_segment *seg, struct tessera_block *block,
			 u32 requester, struct tessera_room_rules *rules)
{
	u32 reason = block->owner == requester ? TESSERA_EVICT_LRU : TESSERA_EVICT_SHARE;
	bool locked;
	int ret = 0;

	cond_resched();
	if (!tessera_victims_lock(block->bo, rules, &locked)) {
		tessera_victims_contend(rules, block->bo);
		return -EBUSY;
	}

	if ((!rules->passes && atomic64_read(&block->bo->holder)) ||
	    (block->bo->listed && !block->listed))
		ret = -EBUSY;
	else if (tessera_bo_segment(block->bo) == seg)
		ret = tessera_victims_evict(block->bo, reason);
	if (locked)
		dma_resv_unlock(block->bo->tbo.base.resv);

	return ret;
}

/* Evict what is in the gap; a block that resists is pinned for the next choice. */
static int evict_gap(const struct tessera_segment *seg, struct tessera_blocks *blocks,
		     const struct gap *gap, u32 requester, struct tessera_room_rules *rules)
{
	u32 i;
	int ret;

	for (i = gap->first; i < gap->last; i++) {
		struct tessera_block *block = &blocks->block[i];

		if (block->start + block->size <= gap->start || block->start >= gap->end)
			continue;

		ret = tessera_victims_take(seg, block, requester, rules);
		if (ret == -EBUSY)
			blocks->block[block->first].pinned = true;
		if (ret)
			return ret;
	}

	return 0;
}

static int open_gap(struct tessera_bo *bo, const struct tessera_segment *seg,
		    struct tessera_blocks *blocks, u64 size, struct tessera_room_rules *rules,
		    u64 *start)
{
	struct gap gap;
	u32 try;
	int ret;

	for (try = 0; try < MAKE_ROOM_TRIES; try++) {
		ret = rank_for(bo, seg, size, rules, blocks);
		if (ret)
			return ret;
		if (!choose_gap(seg, blocks->block, blocks->num, size, &gap))
			return -ENOSPC;

		ret = evict_gap(seg, blocks, &gap, bo->account->id, rules);
		if (!ret)
			*start = gap.start;
		if (ret != -EBUSY)
			return ret;
	}

	return -ENOSPC;
}

static int take_in_order(struct tessera_bo *bo, const struct tessera_segment *seg,
			 struct tessera_blocks *blocks, const u32 *order, u32 num, u64 size,
			 struct tessera_room_rules *rules)
{
	struct tessera_manager *mgr = tessera_manager_of(tessera_bo_device(bo), seg->index);
	u32 i;
	int ret = 0;

	for (i = 0; i < num && !ret; i++) {
		struct tessera_block *block = &blocks->block[order[i]];

		if (READ_ONCE(mgr->committed) + size <= seg->commit)
			break;
		if (!tessera_victims_may_take(block))
			continue;
		ret = tessera_victims_take(seg, block, bo->account->id, rules);
		if (ret == -EBUSY)
			ret = 0;
	}

	return ret;
}

/**
 * tessera_victims_take_bytes() - evict as many as it takes, wherever they are
 * @bo: the object that wants room
 * @seg: the segment
 * @blocks: its blocks, ranked
 * @size: bytes that are to be free, as far as those who give way leave them
 * @rules: the rules
 *
 * Return: 0 or an error.
 */
int tessera_victims_take_bytes(struct tessera_bo *bo, const struct tessera_segment *seg,
			       struct tessera_blocks *blocks, u64 size,
			       struct tessera_room_rules *rules)
{
	u32 *order, num = 0, i;
	int ret;

	order = kvmalloc_array(blocks->num + 1, sizeof(*order), GFP_KERNEL_ACCOUNT);
	if (!order)
		return -ENOMEM;
	for (i = 0; i < blocks->num; i++) {
		if (blocks->block[i].first != i)
			continue;
		order[blocks->block[i].rank] = i;
		num++;
	}
	ret = take_in_order(bo, seg, blocks, order, num, size, rules);
	kvfree(order);

	return ret;
}

/* An aperture may be full by its commit limit though it has holes. */
static int meet_commit_limit(struct tessera_bo *bo, const struct tessera_segment *seg,
			     struct tessera_blocks *blocks, u64 size,
			     struct tessera_room_rules *rules)
{
	int ret = rank_for(bo, seg, size, rules, blocks);

	return ret ?: tessera_victims_take_bytes(bo, seg, blocks, size, rules);
}

/* What stays whatever its rank says; and whether it is something that passes by itself. */
static void apply_rules(struct tessera_blocks *blocks, struct tessera_room_rules *rules)
{
	u32 i;

	for (i = 0; i < blocks->num; i++) {
		struct tessera_block *block = &blocks->block[i];

		rules->dying |= !block->bo;
		block->held &= !rules->passes;
		rules->held |= block->held;
		if (block->bo && rules->spares && rules->spares(block->bo, rules->data))
			block->pinned = true;
	}
}

static int collect_by_rules(struct tessera_bo *bo, const struct tessera_segment *seg,
			    struct tessera_room_rules *rules, struct tessera_blocks *blocks)
{
	int ret = tessera_victims_collect(tessera_bo_device(bo), seg, blocks);

	if (!ret)
		apply_rules(blocks, rules);

	return ret;
}

/**
 * tessera_victims_look() - who would give way for an object
 * @bo: the object
 * @seg: the segment
 * @want: bytes that its owner wants there beyond what it has
 * @rules: the rules
 * @blocks: result, ranked; tessera_victims_put() if it succeeds
 *
 * Return: 0 or an error.
 */
int tessera_victims_look(struct tessera_bo *bo, const struct tessera_segment *seg, u64 want,
			 struct tessera_room_rules *rules, struct tessera_blocks *blocks)
{
	int ret;

	ret = collect_by_rules(bo, seg, rules, blocks);
	if (ret)
		return ret;
	ret = rank_for(bo, seg, want, rules, blocks);
	if (ret)
		tessera_victims_put(blocks);

	return ret;
}

/**
 * tessera_victims_room() - how much of a segment could be had
 * @seg: the segment
 * @blocks: its blocks, from tessera_victims_look()
 *
 * With all that gives way gone, and all that passes by itself.
 *
 * Return: bytes.
 */
u64 tessera_victims_room(const struct tessera_segment *seg, const struct tessera_blocks *blocks)
{
	u64 room = seg->commit;
	u32 i;

	for (i = 0; i < blocks->num; i++) {
		const struct tessera_block *block = &blocks->block[i];

		if (block->bo && !block->held && !tessera_victims_may_take(block))
			room -= min(room, block->size);
	}

	return room;
}

/**
 * tessera_victims_make_bytes() - evict others so that an object fits in pieces
 * @bo: the object, reservation held
 * @seg: the segment
 * @rules: the rules
 *
 * Return: 0; -ENOSPC if those who may be evicted do not leave enough; or another error.
 */
int tessera_victims_make_bytes(struct tessera_bo *bo, const struct tessera_segment *seg,
			       struct tessera_room_rules *rules)
{
	u64 size = tessera_range_footprint(seg, tessera_bo_bytes(bo));
	struct tessera_blocks blocks;
	int ret;

	ret = tessera_victims_look(bo, seg, size, rules, &blocks);
	if (ret)
		return ret;
	ret = tessera_victims_room(seg, &blocks) < size ? -ENOSPC :
	      tessera_victims_take_bytes(bo, seg, &blocks, size, rules);
	tessera_victims_put(&blocks);

	return ret;
}

/**
 * tessera_victims_make_room() - evict others so that an object fits
 * @bo: the object, reservation held
 * @seg: the segment
 * @rules: the rules
 * @start: receives the lower end of the gap, a byte offset
 *
 * Return: 0; -ENOSPC if those who may be evicted do not leave enough; or another error.
 */
int tessera_victims_make_room(struct tessera_bo *bo, const struct tessera_segment *seg,
			      struct tessera_room_rules *rules, u64 *start)
{
	u64 size = tessera_range_footprint(seg, tessera_bo_bytes(bo));
	struct tessera_device *tdev = tessera_bo_device(bo);
	struct tessera_blocks blocks;
	int ret;

	ret = collect_by_rules(bo, seg, rules, &blocks);
	if (ret)
		return ret;

	if (tessera_segment_is_aperture(seg) &&
	    READ_ONCE(tessera_manager_of(tdev, seg->index)->committed) + size > seg->commit) {
		ret = meet_commit_limit(bo, seg, &blocks, size, rules);
		tessera_victims_put(&blocks);
		if (!ret)
			ret = collect_by_rules(bo, seg, rules, &blocks);
		if (ret)
			return ret;
	}
	ret = open_gap(bo, seg, &blocks, size, rules, start);
	tessera_victims_put(&blocks);

	return ret;
}
