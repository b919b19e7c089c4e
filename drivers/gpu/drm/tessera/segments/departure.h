/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_DEPARTURE_H__
#define __TESSERA_DEPARTURE_H__

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

struct dma_fence;
struct tessera_fences;		/* exec/fences.h */
struct tessera_manager;		/* segments/manager.h */
struct tessera_range;		/* segments/manager.h */

/**
 * struct tessera_departure - somebody leaves a range of a segment
 *
 * The range is free for others at once; who takes a piece of it must not touch it before
 * @fence has signalled.
 */
struct tessera_departure {
	/** @rb: in &tessera_manager.departures */
	struct rb_node rb;
	/** @subtree_last: of the interval tree */
	u64 subtree_last;
	/** @start: first page */
	u64 start;
	/** @last: last page */
	u64 last;
	/** @age: in &tessera_manager.ages */
	struct list_head age;
	/** @fence: when it has left; holds a reference */
	struct dma_fence *fence;
	/** @list: among those of an object that is about to leave; in no tree then */
	struct list_head list;
};

int tessera_departures_create(struct list_head *departures, u32 num);
void tessera_departures_destroy(struct list_head *departures);
void tessera_departures_set(struct list_head *departures, struct dma_fence *fence);
void tessera_departures_add_locked(struct tessera_manager *mgr, u64 start, u64 pages,
				   struct list_head *departures);
void tessera_departures_forget_locked(struct tessera_manager *mgr);
int tessera_manager_departures(struct tessera_manager *mgr, const struct tessera_range *range,
			       struct tessera_fences *fences);
struct dma_fence *tessera_manager_leaving(struct tessera_manager *mgr, u64 lo, u64 hi);

#endif /* __TESSERA_DEPARTURE_H__ */
