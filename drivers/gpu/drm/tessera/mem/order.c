// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: order of eviction
 *
 * The order in which the objects of a segment give way, as an iterator. Each
 * process has a tree of its placements in the segment (&struct tessera_tenant),
 * sorted as pure/victim.c wants the blocks of one owner. An iterator step
 * compares the next candidate of each process. So an eviction costs the number
 * of processes that have memory in the segment, times the number of victims. It
 * does not depend on the number of objects.
 *
 * A change that moves an object towards the front of the order sorts it again at
 * once: an offer, and the end of its last residency entry. A use moves an object
 * towards the back. Submissions do not sort the objects that they use, as
 * that takes the lock of the manager. They write &tessera_bo.last_use only. An
 * iterator that meets an object with a newer stamp than its place in the tree
 * puts the object where it belongs, and goes on. It does that once per object and
 * use, however often other clients evict meanwhile.
 *
 * Objects that are fixed, held by a submission in parts, or being destroyed stay
 * in the tree, and the iterator passes over them.
 */

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/sched.h>

#include "mem/mem.h"
#include "segments/segments.h"
#include "tessera_device.h"

/**
 * tessera_order_describe() - &tessera_manager.describe
 * @tbo: the object
 * @range: its range
 *
 * Return: the account of the object.
 */
struct tessera_account *tessera_order_describe(struct ttm_buffer_object *tbo,
					       struct tessera_range *range)
{
	struct tessera_bo *bo = to_tessera_bo(tbo);

	range->last_use = READ_ONCE(bo->last_use);
	range->offer = READ_ONCE(bo->offer.priority);
	range->listed = READ_ONCE(bo->listed);

	return bo->account;
}

/**
 * tessera_order_update() - an object has been offered or reclaimed, or is listed or no longer so
 * @bo: the object, reservation held
 */
void tessera_order_update(struct tessera_bo *bo)
{
	struct tessera_range *range = tessera_bo_range(bo);
	struct tessera_manager *mgr;

	if (!range)
		return;
	mgr = tessera_manager_of(tessera_bo_device(bo), tessera_bo_segment(bo)->index);
	mutex_lock(&mgr->lock);
	tessera_range_reorder_locked(mgr, range);
	mutex_unlock(&mgr->lock);
}

/* The object that may have to leave a range, or NULL. Valid while the manager is locked. */
static struct tessera_bo *candidate(const struct tessera_walk *walk,
				    const struct tessera_range *range)
{
	struct ttm_buffer_object *tbo = range->base.bo;
	struct tessera_room_rules *rules = walk->rules;
	struct tessera_bo *bo;

	/* Ghosts and dying objects leave by themselves. */
	if (!tbo || !tessera_bo_is_tessera(tbo) || !kref_read(&tbo->base.refcount)) {
		rules->dying = true;
		return NULL;
	}
	bo = to_tessera_bo(tbo);
	if (tessera_bo_is_fixed(bo) || READ_ONCE(bo->passed) == walk->pass)
		return NULL;
	if (!rules->passes && tessera_holder(bo))
		return NULL;
	if (rules->spares && rules->spares(bo, rules->data))
		return NULL;

	return bo;
}

/* Sorts a range again that was used since, and returns what comes next. */
static struct rb_node *reorder(struct tessera_walk *walk, struct tessera_tenant *tenant,
			       struct tessera_range *range)
{
	struct rb_node *before = rb_prev(&range->order);

	tessera_range_reorder_locked(walk->mgr, range);

	return before ? rb_next(before) : rb_first_cached(&tenant->order);
}

/* Makes the first candidate from @node on the next one of its process. */
static void settle(struct tessera_walk *walk, struct tessera_tenant *tenant, struct rb_node *node)
{
	struct tessera_range *range;
	struct tessera_bo *bo;

	tenant->next = NULL;
	while (node) {
		cond_resched();
		walk->mgr->looked++;
		range = rb_entry(node, struct tessera_range, order);
		bo = candidate(walk, range);
		if (!bo) {
			node = rb_next(node);
			continue;
		}
		if (range->last_use != READ_ONCE(bo->last_use)) {
			node = reorder(walk, tenant, range);
			continue;
		}
		tenant->block = (struct tessera_victim_block) {
			.size = tessera_range_bytes(range),
			.last_use = range->last_use,
			.offer = range->offer,
			.flags = range->listed ? TESSERA_VICTIM_BLOCK_LISTED : 0,
		};
		tessera_victim_classify(&walk->wish, &tenant->owner, &tenant->block);
		if (tenant->block.tier <= walk->last)
			tenant->next = node;
		/* All that follow are at least as hard to get. */
		return;
	}
}

/**
 * tessera_order_begin_locked() - go to the first range that gives way
 * @walk: the walk
 * @mgr: the manager of the segment, locked until the walk is over
 * @bo: the object that wants a place there
 * @want: bytes that its process wants there beyond what it has
 * @rules: how room may be made
 * @pass: number of the search, see &tessera_bo.passed
 */
void tessera_order_begin_locked(struct tessera_walk *walk, struct tessera_manager *mgr,
				struct tessera_bo *bo, u64 want,
				struct tessera_room_rules *rules, u64 pass)
{
	struct tessera_victim_owner *requester =
		&bo->account->payer->tenants[mgr->seg->index].owner;
	struct tessera_tenant *tenant;

	lockdep_assert_held(&mgr->lock);

	*walk = (struct tessera_walk) {
		.mgr = mgr,
		.rules = rules,
		.pass = pass,
		.last = rules->passes ? TESSERA_VICTIM_PROTECTED : TESSERA_VICTIM_TAKE_AFTER_OWN,
		.wish.fair = tessera_account_owners(bo->account, mgr->seg->index),
		.wish.requester = requester,
	};
	if (check_add_overflow(requester->used, want, &walk->wish.after))
		walk->wish.after = U64_MAX;
	list_for_each_entry(tenant, &mgr->tenants, node) {
		struct tessera_victim_owner *owner = &tenant->owner;

		owner->left = owner->used - min(owner->used, tenant->offered);
		settle(walk, tenant, rb_first_cached(&tenant->order));
	}
}

/**
 * tessera_order_next_locked() - go on
 * @walk: the walk
 *
 * Return: the next range, valid while the manager is locked; NULL: nothing else gives way.
 */
struct tessera_range *tessera_order_next_locked(struct tessera_walk *walk)
{
	struct tessera_tenant *tenant, *first = NULL;
	struct tessera_range *range;

	lockdep_assert_held(&walk->mgr->lock);

	list_for_each_entry(tenant, &walk->mgr->tenants, node)
		if (tenant->next &&
		    (!first || tessera_victim_before(&tenant->block, &first->block)))
			first = tenant;
	if (!first)
		return NULL;
	range = rb_entry(first->next, struct tessera_range, order);
	settle(walk, first, rb_next(first->next));

	return range;
}
