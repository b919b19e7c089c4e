// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: victims
 *
 * A victim is an object that is evicted to make space in a segment. This file
 * chooses the victims, not TTM. Candidates are taken in the order of eviction
 * (mem/order.c), until evicting some of them opens a contiguous gap. The search
 * for the gap is the scan of drm_mm, which takes constant time for each
 * candidate. Only the objects in the gap are evicted. Evictions are paging jobs
 * that wait for the users of the victim on the GPU. The CPU does not wait.
 *
 * Reservations of other objects are only tried. An object that cannot be locked
 * is not evicted.
 *
 * Plans, compaction, and MAKE_RESIDENT when it reports missing bytes, look at
 * all blocks of a segment (tessera_victims_collect()). They do that once per
 * attempt, not once per eviction.
 */

#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/jiffies.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>

#include "base/device.h"
#include "base/trace.h"
#include "base/wait.h"
#include "client/client.h"
#include "mem/mem.h"
#include "pure/victim.h"
#include "segments/segments.h"

/*
 * Limit of searches. A victim may be locked or moved after a search has chosen
 * it, and then the next search leaves it out.
 */
#define MAX_CHOICES		256

/**
 * tessera_victims_evict() - evict an object from its segment
 * @bo: the object, reservation held
 * @reason: TESSERA_EVICT_*, for the trace
 *
 * The object goes to an aperture segment of its eviction set if that has free
 * space, else to system memory. Nothing happens if it is in no segment.
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
	if (tessera_bo_is_immovable(bo))
		return -EBUSY;
	tessera_bo_evict_places(bo, &placement);
	trace_tessera_evict(bo->id, seg->id, tessera_bo_segment_offset(bo),
			    tessera_bo_bytes(bo), bo->account->id, reason);

	return ttm_bo_validate(&bo->tbo, &placement, &ctx);
}

/*
 * Describes an occupied extent. @bo gets a reference unless the object is dying
 * or was moved away.
 */
static void block_fill(struct tessera_manager *mgr, struct tessera_block *block,
		       const struct tessera_extent *extent)
{
	struct tessera_placement *placement = extent->placement;
	struct ttm_buffer_object *tbo = READ_ONCE(placement->base.bo);

	*block = (struct tessera_block) {
		.start = tessera_extent_offset(extent),
		.size = tessera_extent_bytes(extent),
		.first = placement->seen,
		.total = tessera_placement_bytes(placement),
		.owner = TESSERA_VICTIM_NO_OWNER,
		.pinned = true,
	};

	/*
	 * Ghost objects and dying objects have no GEM reference left to take.
	 */
	if (!tbo || !tessera_bo_is_tessera(tbo) || !kref_get_unless_zero(&tbo->base.refcount))
		return;

	block->bo = to_tessera_bo(tbo);
	block->owner = tessera_placement_tenant(mgr, placement)->index;
	block->bo_id = block->bo->id;
	block->pinned = tessera_bo_is_immovable(block->bo);
	block->held = tessera_holder(block->bo);
	block->listed = READ_ONCE(block->bo->residency.num);
	block->last_use = READ_ONCE(block->bo->last_use);
	block->offer = READ_ONCE(block->bo->offer.priority);
	block->priority = READ_ONCE(block->bo->priority);
	block->clean = READ_ONCE(block->bo->copy) == TESSERA_COPY_VALID || block->offer ||
		       block->bo->tables;
}

/**
 * tessera_victims_put() - drop the references of tessera_victims_collect()
 * @blocks: the blocks, zeroed or collected; the caller holds none of their
 * reservations
 */
void tessera_victims_put(struct tessera_blocks *blocks)
{
	u32 i;

	for (i = 0; i < blocks->num; i++) {
		tessera_bo_put(blocks->block[i].bo);
		cond_resched();
	}
	kvfree(blocks->block);
	kvfree(blocks->owners);
	*blocks = (struct tessera_blocks) { };
}

/* Returns NULL for the old extent of a relocation that is not finished. */
static struct tessera_extent *node_to_extent(struct drm_mm_node *node)
{
	return node->color == TESSERA_NODE_PLACEMENT ?
		       container_of(node, struct tessera_extent, node) :
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
	struct tessera_extent *extent;

	lockdep_assert_held(&mgr->lock);

	drm_mm_for_each_node(node, &mgr->mm) {
		extent = node_to_extent(node);
		if (extent)
			extent->placement->seen = U32_MAX;
		cond_resched();
	}
	drm_mm_for_each_node(node, &mgr->mm) {
		extent = node_to_extent(node);
		if (!extent)
			continue;
		extent->placement->seen = min(extent->placement->seen, blocks->num);
		block_fill(mgr, &blocks->block[blocks->num++], extent);
		cond_resched();
	}
}

/*
 * The requester may have no blocks in the segment, so it is added as the last
 * element. If it has blocks, they refer to that element.
 */
static void collect_owners_locked(struct tessera_manager *mgr, struct tessera_account *requester,
				  struct tessera_blocks *blocks)
{
	struct tessera_tenant *tenant;

	lockdep_assert_held(&mgr->lock);

	tessera_account_owners(requester, mgr->seg->index);
	list_for_each_entry(tenant, &mgr->tenants, node) {
		tenant->index = blocks->num_owners;
		blocks->owners[blocks->num_owners++] = tenant->owner;
	}
	tenant = &requester->process->tenants[mgr->seg->index];
	tenant->index = blocks->num_owners;
	blocks->owners[blocks->num_owners++] = tenant->owner;
}

/**
 * tessera_victims_collect() - collect all blocks of a segment
 * @requester: an account of the process that wants space there
 * @seg: the segment
 * @blocks: result; the caller calls tessera_victims_put() after a success
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_victims_collect(struct tessera_account *requester, const struct tessera_segment *seg,
			    struct tessera_blocks *blocks)
{
	struct tessera_manager *mgr = tessera_manager_of(requester->tdev, seg->index);
	u32 capacity, max_owners;

	*blocks = (struct tessera_blocks) { };
	mutex_lock(&mgr->lock);
	for (;;) {
		capacity = count_nodes_locked(mgr);
		max_owners = list_count_nodes(&mgr->tenants) + 1;
		mutex_unlock(&mgr->lock);

		/* Charged to the client while it is allocated. */
		blocks->block = kvmalloc_array(capacity + 1, sizeof(*blocks->block),
					       GFP_KERNEL_ACCOUNT);
		blocks->owners = kvmalloc_array(max_owners, sizeof(*blocks->owners),
						GFP_KERNEL_ACCOUNT);
		if (!blocks->block || !blocks->owners) {
			tessera_victims_put(blocks);
			return -ENOMEM;
		}

		mutex_lock(&mgr->lock);
		if (count_nodes_locked(mgr) <= capacity &&
		    list_count_nodes(&mgr->tenants) < max_owners)
			break;
		kvfree(blocks->block);
		kvfree(blocks->owners);
	}
	collect_owners_locked(mgr, requester, blocks);
	collect_locked(mgr, blocks);
	mutex_unlock(&mgr->lock);

	return 0;
}

static void rank_fill(struct tessera_victim_req *req, const struct tessera_blocks *blocks)
{
	u32 i;

	for (i = 0; i < blocks->num; i++) {
		struct tessera_victim_block *out = &req->blocks[req->n_blocks];
		const struct tessera_block *block = &blocks->block[i];

		if (block->first != i)
			continue;
		req->n_blocks++;
		out->size = block->total;
		out->last_use = block->last_use;
		out->owner = block->owner;
		out->cookie = i;
		out->offer = block->offer;
		out->priority = block->priority;
		if (block->pinned || block->held || !block->bo)
			out->flags |= TESSERA_VICTIM_BLOCK_IMMOVABLE;
		if (block->busy)
			out->flags |= TESSERA_VICTIM_BLOCK_BUSY;
		if (block->listed)
			out->flags |= TESSERA_VICTIM_BLOCK_LISTED;
	}
}

/**
 * tessera_victims_rank() - compute the order of eviction of collected blocks
 * @want: bytes that the requester wants there in addition to what it has
 * @blocks: the blocks of the segment; receive tier and rank
 *
 * Return: 0 or an error.
 */
int tessera_victims_rank(u64 want, struct tessera_blocks *blocks)
{
	struct tessera_victim_req req = {
		.want = want,
		.owners = blocks->owners,
		.n_owners = blocks->num_owners,
		.requester = blocks->num_owners - 1,
	};
	struct tessera_block *block = blocks->block;
	u32 i;
	int ret;

	req.blocks = kvcalloc(blocks->num + 1, sizeof(*req.blocks), GFP_KERNEL_ACCOUNT);
	if (!req.blocks)
		return -ENOMEM;
	rank_fill(&req, blocks);
	ret = tessera_victim_rank(&req);
	for (i = 0; !ret && i < req.n_blocks; i++) {
		block[req.blocks[i].cookie].tier = req.blocks[i].tier;
		block[req.blocks[i].cookie].rank = i;
	}
	for (i = 0; !ret && i < blocks->num; i++) {
		block[i].tier = block[block[i].first].tier;
		block[i].rank = block[block[i].first].rank;
	}
	kvfree(req.blocks);
	cond_resched();

	return ret;
}

/**
 * tessera_victims_clear() - drop the object and the fence that a search has
 * noted
 * @rules: the rules; the caller holds no lock
 */
void tessera_victims_clear(struct tessera_space_rules *rules)
{
	tessera_bo_put(rules->contended);
	rules->contended = NULL;
	dma_fence_put(rules->fence);
	rules->fence = NULL;
}

static bool locked_by_caller(struct tessera_bo *bo, const struct tessera_space_rules *rules)
{
	return rules->ticket && dma_resv_locking_ctx(bo->tbo.base.resv) == rules->ticket;
}

static void note_contended(struct tessera_bo *bo, struct tessera_space_rules *rules)
{
	if (rules->compact && !rules->contended && kref_get_unless_zero(&bo->tbo.base.refcount))
		rules->contended = bo;
}

/**
 * tessera_victims_may_lock() - look whether an object in the way can be locked
 * @bo: the object
 * @rules: see tessera_victims_lock()
 *
 * Return: false if another thread holds the reservation at the moment. With
 * @rules->compact the object is noted then.
 */
bool tessera_victims_may_lock(struct tessera_bo *bo, struct tessera_space_rules *rules)
{
	if (!dma_resv_is_locked(bo->tbo.base.resv) || locked_by_caller(bo, rules))
		return true;
	note_contended(bo, rules);

	return false;
}

/**
 * tessera_victims_lock() - try to lock an object in the way
 * @bo: the object
 * @rules: the rules; the caller may have locked the reservation with their
 * ticket, for this object or for another one of the VM
 * @locked: set if the object has to be unlocked afterwards
 *
 * Return: false if another thread holds the reservation. With @rules->compact
 * the object is noted then.
 */
bool tessera_victims_lock(struct tessera_bo *bo, struct tessera_space_rules *rules, bool *locked)
{
	*locked = false;
	if (locked_by_caller(bo, rules))
		return true;
	*locked = dma_resv_trylock(bo->tbo.base.resv);
	if (!*locked)
		note_contended(bo, rules);

	return *locked;
}

/**
 * tessera_victims_unlock() - unlock an object
 * @bo: the object, after tessera_victims_lock()
 * @locked: result of that call
 */
void tessera_victims_unlock(struct tessera_bo *bo, bool locked)
{
	if (locked)
		dma_resv_unlock(bo->tbo.base.resv);
}

/* ---- Making space ------------------------------------------------------------ */

/* An object that was chosen for eviction. */
struct victim {
	/* Holds a reference. */
	struct tessera_bo *bo;
	/* The object was in a residency list when it was chosen. */
	bool listed;
};

/* The state of a search for space for one object. */
struct eviction {
	struct tessera_bo *bo;
	const struct tessera_segment *seg;
	struct tessera_manager *mgr;
	struct tessera_space_rules *rules;
	/* Bytes that the object needs, and their alignment. */
	u64 size, align;
	/* Number of the search, unique on the device. */
	u64 pass;
	/* The chosen victims, in an array with @capacity elements. */
	struct victim *victims;
	u32 num, capacity;
};

static void eviction_init(struct eviction *ev, struct tessera_bo *bo,
			  const struct tessera_segment *seg, struct tessera_space_rules *rules)
{
	*ev = (struct eviction) {
		.bo = bo,
		.seg = seg,
		.mgr = tessera_manager_of(tessera_bo_device(bo), seg->index),
		.rules = rules,
		.size = tessera_placement_footprint(seg, tessera_bo_bytes(bo)),
		.align = tessera_placement_alignment(seg, &bo->tbo),
		.pass = atomic64_inc_return(&tessera_bo_device(bo)->last_stamp),
	};
}

static void put_victims(struct eviction *ev)
{
	while (ev->num) {
		tessera_bo_put(ev->victims[--ev->num].bo);
		cond_resched();
	}
}

static int grow_array(struct eviction *ev)
{
	put_victims(ev);
	kvfree(ev->victims);
	ev->capacity = max(2 * ev->capacity, 8U);
	ev->victims = kvmalloc_array(ev->capacity, sizeof(*ev->victims), GFP_KERNEL_ACCOUNT);

	return ev->victims ? 0 : -ENOMEM;
}

static void eviction_fini(struct eviction *ev)
{
	put_victims(ev);
	kvfree(ev->victims);
}

/* Returns -E2BIG if the array has to grow, -EAGAIN if the object is dying. */
static int add_victim_locked(struct eviction *ev, struct tessera_placement *placement)
{
	struct ttm_buffer_object *tbo = placement->base.bo;

	lockdep_assert_held(&ev->mgr->lock);

	if (ev->num == ev->capacity)
		return -E2BIG;
	if (!kref_get_unless_zero(&tbo->base.refcount))
		return -EAGAIN;
	ev->victims[ev->num++] = (struct victim) {
		.bo = to_tessera_bo(tbo),
		.listed = placement->listed,
	};

	return 0;
}

static bool scan_add(struct drm_mm_scan *scan, struct tessera_placement *placement,
		     struct tessera_extent **last)
{
	struct tessera_extent *extent;

	tessera_placement_for_each_extent(extent, placement) {
		extent->scanned = *last;
		*last = extent;
		if (drm_mm_scan_add_block(scan, &extent->node))
			return true;
		cond_resched();
	}

	return false;
}

/* Adds candidates to the scan until it finds a gap. */
static bool scan_locked(struct eviction *ev, struct drm_mm_scan *scan)
{
	u64 pages = ev->seg->size >> PAGE_SHIFT;
	struct tessera_extent *last = NULL;
	struct tessera_placement *placement;
	struct tessera_walk walk;
	bool found = false;

	lockdep_assert_held(&ev->mgr->lock);

	tessera_order_begin_locked(&walk, ev->mgr, ev->bo, ev->size, ev->rules, ev->pass);
	drm_mm_scan_init_with_range(scan, &ev->mgr->mm, ev->size >> PAGE_SHIFT,
				    ev->align >> PAGE_SHIFT, TESSERA_NODE_PLACEMENT, 0, pages,
				    DRM_MM_INSERT_LOW);
	while (!found) {
		placement = tessera_order_next_locked(&walk);
		if (!placement)
			break;
		found = scan_add(scan, placement, &last);
	}
	/* drm_mm requires the reverse order. */
	for (; last; last = last->scanned)
		drm_mm_scan_remove_block(scan, &last->node);

	return found;
}

static int choose_gap_locked(struct eviction *ev, u64 *start)
{
	struct drm_mm_node *node;
	struct drm_mm_scan scan;
	int ret = 0;

	lockdep_assert_held(&ev->mgr->lock);

	if (tessera_manager_gap_locked(ev->mgr, ev->size, ev->align, 0, 0, start))
		return 0;
	if (!scan_locked(ev, &scan))
		return -ENOSPC;
	*start = scan.hit_start << PAGE_SHIFT;
	drm_mm_for_each_node_in_range(node, &ev->mgr->mm, scan.hit_start, scan.hit_end) {
		ret = add_victim_locked(ev, container_of(node, struct tessera_extent,
							 node)->placement);
		if (ret)
			break;
	}

	return ret;
}

/*
 * Chooses the first objects in the order of eviction that leave enough bytes,
 * wherever they are.
 */
static int choose_bytes_locked(struct eviction *ev, u64 *unused)
{
	u64 need = ev->mgr->committed + ev->size, sum = ev->seg->commit;
	struct tessera_placement *placement;
	struct tessera_walk walk;
	int ret;

	lockdep_assert_held(&ev->mgr->lock);

	if (need <= sum)
		return 0;
	tessera_order_begin_locked(&walk, ev->mgr, ev->bo, ev->size, ev->rules, ev->pass);
	do {
		placement = tessera_order_next_locked(&walk);
		if (!placement)
			return -ENOSPC;
		sum += tessera_placement_bytes(placement);
		ret = add_victim_locked(ev, placement);
	} while (!ret && sum < need);

	return ret;
}

static int choose(struct eviction *ev, int (*locked)(struct eviction *ev, u64 *start), u64 *start)
{
	int ret = ev->victims ? 0 : grow_array(ev);

	if (ret)
		return ret;
	do {
		put_victims(ev);
		mutex_lock(&ev->mgr->lock);
		ret = locked(ev, start);
		mutex_unlock(&ev->mgr->lock);
		if (ret == -E2BIG)
			ret = grow_array(ev) ?: -EAGAIN;
	} while (ret == -EAGAIN);

	return ret;
}

/*
 * Returns -ENOSPC if the evictions of this round are used up, -ERESTARTSYS if
 * the ioctl can be restarted.
 */
static int evict_counted(struct tessera_space_rules *rules, struct tessera_bo *bo, u32 reason)
{
	/* A display update cannot be restarted, so it ignores signals. */
	if (signal_pending(current) && !rules->passes)
		return -ERESTARTSYS;
	if (!rules->evictions)
		return -ENOSPC;
	rules->evictions--;

	return tessera_victims_evict(bo, reason);
}

/*
 * Returns true if the object's client gets time to trim first.
 */
static bool asks_first(struct eviction *ev, struct tessera_bo *bo)
{
	struct tessera_space_rules *rules = ev->rules;

	rules->asked = rules->requester &&
		       tessera_trim_request(rules->requester, tessera_bo_placement(bo));

	return rules->asked;
}

/*
 * Evicts a victim. Returns -EBUSY if another task holds its reservation, or if
 * the object has been held by a submission in parts, scanned out, or listed as
 * resident since it was chosen; -EINPROGRESS if its client was asked to trim.
 */
static int take(struct eviction *ev, const struct victim *victim)
{
	struct tessera_bo *bo = victim->bo;
	u32 reason = bo->account->id == ev->bo->account->id ? TESSERA_EVICT_LRU :
							      TESSERA_EVICT_SHARE;
	bool locked;
	int ret = 0;

	cond_resched();
	if (!tessera_victims_lock(bo, ev->rules, &locked))
		return -EBUSY;

	if ((!ev->rules->passes && tessera_holder(bo)) || (bo->residency.num && !victim->listed))
		ret = -EBUSY;
	else if (tessera_bo_segment(bo) == ev->seg)
		ret = asks_first(ev, bo) ? -EINPROGRESS : evict_counted(ev->rules, bo, reason);
	tessera_victims_unlock(bo, locked);

	return ret;
}

/* A victim that returns -EBUSY is left out of the following searches. */
static int take_or_pass(struct eviction *ev, const struct victim *victim)
{
	int ret = take(ev, victim);

	if (ret == -EBUSY)
		WRITE_ONCE(victim->bo->passed, ev->pass);

	return ret;
}

static int open_gap(struct eviction *ev, u64 *start)
{
	u32 try, i;
	int ret;

	for (try = 0; try < MAX_CHOICES; try++) {
		ret = choose(ev, choose_gap_locked, start);
		for (i = 0; !ret && i < ev->num; i++)
			ret = take_or_pass(ev, &ev->victims[i]);
		if (ret != -EBUSY)
			return ret;
	}

	return -ENOSPC;
}

static int free_bytes(struct eviction *ev)
{
	u32 try, i;
	int ret;

	for (try = 0; try < MAX_CHOICES; try++) {
		ret = choose(ev, choose_bytes_locked, NULL);
		if (ret || !ev->num)
			return ret;
		for (i = 0; i < ev->num; i++) {
			ret = take_or_pass(ev, &ev->victims[i]);
			if (ret && ret != -EBUSY)
				return ret;
		}
	}

	return -ENOSPC;
}

/**
 * tessera_victims_make_bytes() - evict objects until an object fits, not
 * contiguous
 * @bo: the object, reservation held
 * @seg: the segment
 * @rules: constraints on evictions
 *
 * Return: 0; -ENOSPC if the objects that may be evicted do not leave enough
 * bytes, or no evictions are left; -EINPROGRESS with @rules->asked;
 * -ERESTARTSYS; or another error.
 */
int tessera_victims_make_bytes(struct tessera_bo *bo, const struct tessera_segment *seg,
			       struct tessera_space_rules *rules)
{
	struct eviction ev;
	int ret;

	eviction_init(&ev, bo, seg, rules);
	ret = free_bytes(&ev);
	eviction_fini(&ev);

	return ret;
}

/**
 * tessera_victims_make_gap() - evict objects until a contiguous object fits
 * @bo: the object, reservation held
 * @seg: the segment
 * @rules: constraints on evictions
 * @start: receives the lower end of the gap, a byte offset
 *
 * Return: 0; -ENOSPC if the objects that may be evicted do not leave a gap, or
 * no evictions are left; -EINPROGRESS with @rules->asked; -ERESTARTSYS; or
 * another error.
 */
int tessera_victims_make_gap(struct tessera_bo *bo, const struct tessera_segment *seg,
			     struct tessera_space_rules *rules, u64 *start)
{
	struct eviction ev;
	int ret = 0;

	eviction_init(&ev, bo, seg, rules);
	if (ev.size > seg->size)
		return -ENOSPC;
	/* The commit limit may be reached while there are holes. */
	if (seg->commit < seg->size)
		ret = free_bytes(&ev);
	if (!ret)
		ret = open_gap(&ev, start);
	eviction_fini(&ev);

	return ret;
}

/* ---- Available space --------------------------------------------------------- */

/*
 * Returns the bytes that are available after all evictions, and after dying
 * objects are freed.
 */
static u64 available_bytes(const struct tessera_segment *seg, const struct tessera_blocks *blocks)
{
	u64 available = seg->commit;
	u32 i;

	for (i = 0; i < blocks->num; i++) {
		const struct tessera_block *block = &blocks->block[i];

		if (block->bo &&
		    (block->pinned || block->tier > TESSERA_VICTIM_TAKE_AFTER_OWN))
			available -= min(available, block->size);
	}

	return available;
}

/**
 * tessera_victims_available() - compute how many bytes of a segment an object
 * could get
 * @bo: the object
 * @seg: the segment
 * @want: bytes that its owner wants there in addition to what it has
 * @rules: constraints on evictions
 * @available: receives the bytes, provided that all holds end and all dying
 * objects are freed
 *
 * Return: 0 or an error.
 */
int tessera_victims_available(struct tessera_bo *bo, const struct tessera_segment *seg, u64 want,
			      struct tessera_space_rules *rules, u64 *available)
{
	struct tessera_blocks blocks;
	u32 i;
	int ret;

	ret = tessera_victims_collect(bo->account, seg, &blocks);
	if (ret)
		return ret;
	for (i = 0; i < blocks.num; i++) {
		struct tessera_block *block = &blocks.block[i];

		rules->dying |= !block->bo;
		/*
		 * The hold will end. After that, the order of eviction applies
		 * to the object.
		 */
		rules->held |= block->held;
		block->held = false;
		if (block->bo && rules->spares && rules->spares(block->bo, rules->data))
			block->pinned = true;
	}
	ret = tessera_victims_rank(want, &blocks);
	*available = available_bytes(seg, &blocks);
	tessera_victims_put(&blocks);

	return ret;
}

/* ---- Whole segments ------------------------------------------------------ */

/* Long enough for several jobs that hang and time out. */
#define MOVES_TIMEOUT_MS	30000

/*
 * Waits for the moves of all objects, including earlier ones. A move waits for
 * the jobs that use the object at its old place.
 */
static int wait_for_moves(struct tessera_device *tdev, unsigned long end)
{
	struct tessera_bo *bo;
	long left = 1;
	u32 id = 0;

	while (left > 0 && (bo = tessera_bo_next(tdev, id))) {
		id = bo->id;
		left = max_t(long, end - jiffies, 1);
		left = tessera_wait_resv(TESSERA_WAIT_SUSPEND, bo->tbo.base.resv,
					 DMA_RESV_USAGE_KERNEL, false, left);
		tessera_bo_put(bo);
	}

	return left > 0 ? 0 : left ?: -EBUSY;
}

/*
 * Iterates over the extents of a segment, starting at a page. Returns NULL at
 * the end of the segment, or if the object of the next extent is @dying.
 */
static struct tessera_bo *next_in_segment(struct tessera_manager *mgr, u64 *page, bool *dying)
{
	struct tessera_bo *bo = NULL;
	struct ttm_buffer_object *tbo;
	struct drm_mm_node *node;

	*dying = false;
	mutex_lock(&mgr->lock);
	drm_mm_for_each_node_in_range(node, &mgr->mm, *page, mgr->seg->size >> PAGE_SHIFT) {
		if (node->color != TESSERA_NODE_PLACEMENT)
			continue;
		tbo = READ_ONCE(node_to_extent(node)->placement->base.bo);
		*dying = !tbo || !tessera_bo_is_tessera(tbo) ||
			 !kref_get_unless_zero(&tbo->base.refcount);
		if (!*dying) {
			bo = to_tessera_bo(tbo);
			*page = node->start + node->size;
		}
		break;
	}
	mutex_unlock(&mgr->lock);

	return bo;
}

/*
 * The object stays if it has left the segment meanwhile, or if it is scanned
 * out.
 */
static int leave_segment(struct tessera_bo *bo, const struct tessera_segment *seg)
{
	struct dma_resv *resv = bo->tbo.base.resv;
	int ret = 0;

	if (!dma_resv_trylock(resv))
		tessera_wait_in(TESSERA_WAIT_SUSPEND, dma_resv_lock(resv, NULL));
	if (tessera_bo_segment(bo) == seg && !tessera_bo_is_immovable(bo))
		ret = tessera_victims_evict(bo, TESSERA_EVICT_OTHER);
	dma_resv_unlock(resv);

	return ret;
}

/*
 * Dying objects leave without an eviction when their jobs have finished.
 * Objects that come to the segment meanwhile may stay.
 */
static int empty_segment(struct tessera_manager *mgr, unsigned long end)
{
	struct tessera_device *tdev = mgr->tdev;
	struct tessera_bo *bo;
	u64 page = 0;
	bool dying;
	u32 seen;
	int ret;

	do {
		ret = 0;
		seen = tessera_space_event_count(tdev, TESSERA_SPACE_FREED);
		bo = next_in_segment(mgr, &page, &dying);
		if (bo) {
			ret = leave_segment(bo, mgr->seg);
			tessera_bo_put(bo);
		} else if (dying) {
			ret = time_before(jiffies, end) ?
				tessera_space_wait_timeout(tdev, TESSERA_SPACE_FREED, seen,
							   TASK_KILLABLE, end - jiffies) : -ETIME;
		}
	} while (!ret && (bo || dying));

	return ret == -ETIME ? -EBUSY : ret;
}

static int evict_kind(struct tessera_device *tdev, u32 ids, bool apertures, unsigned long end)
{
	u32 i;
	int ret = 0;

	for (i = 0; !ret && i < tessera_segment_count(tdev); i++) {
		const struct tessera_segment *seg = tessera_segment_by_index(tdev, i);

		if (ids & BIT(seg->id) && tessera_segment_is_aperture(seg) == apertures)
			ret = empty_segment(tessera_manager_of(tdev, i), end);
	}

	return ret;
}

/**
 * tessera_victims_empty() - evict all objects from some segments
 * @tdev: the device
 * @ids: bit N selects the segment with id N; other bits are ignored
 *
 * Scanned-out objects stay. Apertures are emptied last, because objects that
 * leave memory may go to an aperture. Waits until the moves are finished.
 *
 * Return: 0; -EBUSY after a timeout, because jobs do not finish; or another
 * error.
 */
int tessera_victims_empty(struct tessera_device *tdev, u32 ids)
{
	unsigned long end = jiffies + msecs_to_jiffies(MOVES_TIMEOUT_MS);
	int ret;

	ret = evict_kind(tdev, ids, false, end);
	if (!ret)
		ret = evict_kind(tdev, ids, true, end);

	return ret ?: wait_for_moves(tdev, end);
}
