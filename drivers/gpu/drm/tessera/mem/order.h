/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_ORDER_H__
#define __TESSERA_ORDER_H__

#include <linux/types.h>

#include "pure/victim.h"

struct tessera_bo;		/* mem/bo.h */
struct tessera_manager;		/* segments/manager.h */
struct tessera_range;		/* segments/manager.h */
struct tessera_room_rules;	/* mem/victims.h */
struct ttm_buffer_object;

/**
 * struct tessera_walk - a walk through the ranges of a segment in the order of eviction
 */
struct tessera_walk {
	/** @mgr: the manager of the segment, locked while the walk lasts */
	struct tessera_manager *mgr;
	/** @wish: who wants memory */
	struct tessera_victim_wish wish;
	/** @rules: how room may be made */
	const struct tessera_room_rules *rules;
	/** @pass: objects that have this number in &tessera_bo.passed are not victims */
	u64 pass;
	/** @last: the last &enum tessera_victim_tier that the walk visits */
	u8 last;
};

struct tessera_account *tessera_order_describe(struct ttm_buffer_object *tbo,
					       struct tessera_range *range);
void tessera_order_update(struct tessera_bo *bo);
u64 tessera_order_pass(struct tessera_manager *mgr);
void tessera_order_begin_locked(struct tessera_walk *walk, struct tessera_manager *mgr,
				struct tessera_bo *bo, u64 want,
				const struct tessera_room_rules *rules, u64 pass);
struct tessera_range *tessera_order_next_locked(struct tessera_walk *walk);

#endif /* __TESSERA_ORDER_H__ */
