// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: order of eviction
 *
 * An iterator over the objects of a segment in the order in which they are
 * evicted. Each process has a tree of its placements in the segment for each
 * priority (&struct tessera_tenant), in the order that pure/victim.c defines for
 * the blocks of one owner. The least recent use of the blocks that an owner has
 * left is that of the first block of one of its trees. An iterator step compares
 * the next candidates of all processes. The cost of an eviction is therefore the
 * number of processes with memory in the segment, times the number of victims.
 * It does not depend on the number of objects.
 *
 * A change that moves an object towards the front of the order sorts the object
 * again at once. An offer, a lower priority, and the end of its last residency
 * entry are changes of that kind. A use moves an object towards the back. A
 * submission does not sort the objects that it uses, because that would take
 * the manager's lock. It only writes &tessera_bo.last_use. An iterator that
 * meets an object with a newer stamp than its place in the tree sorts the
 * object again and continues. This happens once per object and use, however
 * often other clients evict meanwhile.
 *
 * Objects that are immovable, locked by another thread, or held by a submission
 * in parts stay in the tree, and the iterator skips them. For scanout
 * (&tessera_space_rules.passes) it returns held objects, too.
 */

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/sched.h>

#include "base/device.h"
#include "client/client.h"
#include "mem/mem.h"
#include "segments/segments.h"

/**
 * tessera_order_describe() - describe a placement for the tree of its process
 * @tbo: the object
 * @placement: its placement
 *
 * The callback &tessera_manager.describe.
 *
 * Return: the account of the object.
 */
struct tessera_account *tessera_order_describe(struct ttm_buffer_object *tbo,
					       struct tessera_placement *placement)
{
	struct tessera_bo *bo = to_tessera_bo(tbo);

	placement->last_use = READ_ONCE(bo->last_use);
	placement->offer = READ_ONCE(bo->offer.priority);
	placement->listed = READ_ONCE(bo->residency.num);
	placement->trimmable = placement->listed && !placement->offer && !bo->tables;
	placement->priority = READ_ONCE(bo->priority);

	return bo->account;
}

/**
 * tessera_order_update() - sort an object again after a change of its offer,
 * priority or residency entries
 * @bo: the object, reservation held
 */
void tessera_order_update(struct tessera_bo *bo)
{
	struct tessera_placement *placement = tessera_bo_placement(bo);
	struct tessera_manager *mgr;

	if (!placement)
		return;
	mgr = tessera_manager_of(tessera_bo_device(bo), tessera_bo_segment(bo)->index);
	mutex_lock(&mgr->lock);
	tessera_placement_reorder_locked(mgr, placement);
	mutex_unlock(&mgr->lock);
}

/*
 * Returns the object that may be evicted from a placement, or NULL. The object
 * is valid while the manager is locked.
 */
static struct tessera_bo *candidate(const struct tessera_walk *walk,
				    const struct tessera_placement *placement)
{
	struct ttm_buffer_object *tbo = placement->base.bo;
	struct tessera_space_rules *rules = walk->rules;
	struct tessera_bo *bo;

	/*
	 * Ghost objects are freed without an eviction, and so is an object that
	 * tessera_placement_dies() is about to remove.
	 */
	if (!tbo || !tessera_bo_is_tessera(tbo) || !kref_read(&tbo->base.refcount)) {
		rules->dying = true;
		return NULL;
	}
	bo = to_tessera_bo(tbo);
	if (tessera_bo_is_immovable(bo) || READ_ONCE(bo->passed) == walk->pass)
		return NULL;
	if (!rules->passes && tessera_holder(bo))
		return NULL;
	if (rules->spares && rules->spares(bo, rules->data))
		return NULL;

	return bo;
}

/* Sorts a placement again that was used since, and returns the next node. */
static struct rb_node *reorder(struct tessera_walk *walk, struct rb_root_cached *order,
			       struct tessera_placement *placement)
{
	struct rb_node *before = rb_prev(&placement->order);

	tessera_placement_reorder_locked(walk->mgr, placement);

	return before ? rb_next(before) : rb_first_cached(order);
}

/* Finds the next candidate of a process with a priority, starting at @node. */
static void settle(struct tessera_walk *walk, struct tessera_tenant *tenant, u32 priority,
		   struct rb_node *node)
{
	struct tessera_placement *placement;
	struct tessera_bo *bo;

	tenant->next[priority] = NULL;
	while (node) {
		cond_resched();
		walk->mgr->looked++;
		placement = rb_entry(node, struct tessera_placement, order);
		/*
		 * All further placements are listed, too, and a process takes
		 * its own listed ones last. There may be any number of them.
		 */
		if (placement->listed && !placement->offer && !walk->rules->passes &&
		    &tenant->owner == walk->wish.requester)
			return;
		bo = candidate(walk, placement);
		if (!bo) {
			node = rb_next(node);
			continue;
		}
		if (placement->last_use != READ_ONCE(bo->last_use)) {
			node = reorder(walk, &tenant->order[priority], placement);
			continue;
		}
		tenant->next[priority] = placement;
		return;
	}
}

/*
 * Returns the first of the next candidates of a process, or NULL. @turn receives
 * the use of the one of these that was not used for longest.
 */
static struct tessera_placement *first_of(const struct tessera_tenant *tenant, u64 *turn)
{
	struct tessera_placement *first = NULL, *next;
	u32 i;

	for (i = 0; i < TESSERA_VICTIM_PRIORITIES; i++) {
		next = tenant->next[i];
		if (!next)
			continue;
		if (!first || tessera_placement_group(next) < tessera_placement_group(first)) {
			first = next;
			*turn = next->last_use;
		} else if (tessera_placement_group(next) == tessera_placement_group(first)) {
			*turn = min(*turn, next->last_use);
		}
	}

	return first;
}

/*
 * Number of locked objects of a process that a search looks at. All objects of a
 * VM share one reservation, so a process can lock any number of them.
 */
#define MAX_LOCKED	1024

/* Selects the next object of a process to evict. */
static void select_first(struct tessera_walk *walk, struct tessera_tenant *tenant)
{
	struct tessera_placement *first;
	u64 left, turn;

	while ((first = first_of(tenant, &turn))) {
		tenant->block = (struct tessera_victim_block) {
			.size = tessera_placement_bytes(first),
			.last_use = first->last_use,
			.turn = turn,
			.owner = first->account->id,
			.offer = first->offer,
			.priority = first->priority,
			.flags = first->listed ? TESSERA_VICTIM_BLOCK_LISTED : 0,
		};
		left = tenant->owner.left;
		tessera_victim_classify(&walk->wish, &tenant->owner, &tenant->block);
		/*
		 * All later candidates of the process are in the same tier or a
		 * higher one.
		 */
		if (tenant->block.tier > walk->last)
			first = NULL;
		if (!first || tessera_victims_may_lock(to_tessera_bo(first->base.bo), walk->rules))
			break;
		/*
		 * Another thread may hold the reservations of many objects, or
		 * one that all objects of a VM share.
		 */
		tenant->owner.left = left;
		if (++tenant->locked > MAX_LOCKED) {
			first = NULL;
			break;
		}
		settle(walk, tenant, first->priority, rb_next(&first->order));
	}
	tenant->first = first;
}

/**
 * tessera_order_begin_locked() - start at the first placement to evict
 * @walk: the walk
 * @mgr: the manager of the segment, locked until the walk is over
 * @bo: the object that needs space there
 * @want: bytes that its process wants there in addition to what it has
 * @rules: constraints on the search
 * @pass: number of the search, see &tessera_bo.passed
 */
void tessera_order_begin_locked(struct tessera_walk *walk, struct tessera_manager *mgr,
				struct tessera_bo *bo, u64 want,
				struct tessera_space_rules *rules, u64 pass)
{
	struct tessera_victim_owner *requester =
		&bo->account->process->tenants[mgr->seg->index].owner;
	struct tessera_tenant *tenant;
	u32 i;

	lockdep_assert_held(&mgr->lock);

	tessera_account_owners(bo->account, mgr->seg->index);
	*walk = (struct tessera_walk) {
		.mgr = mgr,
		.rules = rules,
		.pass = pass,
		.last = rules->passes ? TESSERA_VICTIM_PROTECTED : TESSERA_VICTIM_TAKE_AFTER_OWN,
		.wish.requester = requester,
	};
	if (check_add_overflow(requester->used, want, &walk->wish.after))
		walk->wish.after = U64_MAX;
	rules->dying |= mgr->dying;
	list_for_each_entry(tenant, &mgr->tenants, node) {
		struct tessera_victim_owner *owner = &tenant->owner;

		tenant->locked = 0;
		owner->left = owner->used - min(owner->used, tenant->offered);
		for (i = 0; i < TESSERA_VICTIM_PRIORITIES; i++)
			settle(walk, tenant, i, rb_first_cached(&tenant->order[i]));
		select_first(walk, tenant);
	}
}

/**
 * tessera_order_next_locked() - return the next placement to evict
 * @walk: the walk
 *
 * Return: the placement, valid while the manager is locked; NULL if no further
 * object may be evicted.
 */
struct tessera_placement *tessera_order_next_locked(struct tessera_walk *walk)
{
	struct tessera_tenant *tenant, *first = NULL;
	struct tessera_placement *placement;

	lockdep_assert_held(&walk->mgr->lock);

	list_for_each_entry(tenant, &walk->mgr->tenants, node)
		if (tenant->first &&
		    (!first || tessera_victim_before(&tenant->block, &first->block)))
			first = tenant;
	if (!first)
		return NULL;
	placement = first->first;
	settle(walk, first, placement->priority, rb_next(&placement->order));
	select_first(walk, first);

	return placement;
}
