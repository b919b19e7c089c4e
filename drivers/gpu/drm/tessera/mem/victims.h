/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_VICTIMS_H__
#define __TESSERA_VICTIMS_H__

#include <linux/types.h>

struct tessera_account;		/* segments/account.h */
struct tessera_bo;		/* mem/bo.h */
struct tessera_device;
struct tessera_segment;		/* segments/segment.h */

/**
 * struct tessera_block - an occupied range of a segment
 *
 * What was there when somebody looked. Nothing but the reference to @bo lasts.
 */
struct tessera_block {
	/** @start: byte offset in the segment */
	u64 start;
	/** @size: bytes */
	u64 size;
	/** @bo: the object, with a reference; NULL if it is being destroyed */
	struct tessera_bo *bo;
	/** @bo_id: its id, 0 if @bo is NULL */
	u32 bo_id;
	/** @pinned: may not be moved nor evicted */
	bool pinned;
	/** @held: a submission in parts relies on its place */
	bool held;
	/** @busy: some job may still use it */
	bool busy;
	/** @clean: its eviction copies nothing */
	bool clean;
	/** @last_use: stamp of the last submission that used it */
	u64 last_use;
	/** @owner: id of the account that pays for it */
	u32 owner;
	/** @tier: &enum tessera_victim_tier, set by tessera_victims_rank() */
	u8 tier;
	/** @rank: order in which blocks give way, lower goes first; likewise */
	u32 rank;
};

/**
 * struct tessera_blocks - all occupied ranges of a segment, in offset order
 */
struct tessera_blocks {
	/** @block: the ranges */
	struct tessera_block *block;
	/** @num: elements of @block */
	u32 num;
};

int tessera_victims_collect(struct tessera_device *tdev, const struct tessera_segment *seg,
			    struct tessera_blocks *blocks);
void tessera_victims_put(struct tessera_blocks *blocks);
int tessera_victims_rank(struct tessera_device *tdev, const struct tessera_segment *seg,
			 struct tessera_account *requester, u64 want,
			 struct tessera_blocks *blocks);
int tessera_victims_evict(struct tessera_bo *bo, u32 reason);
int tessera_victims_make_room(struct tessera_bo *bo, const struct tessera_segment *seg,
			      u64 *start);

#endif /* __TESSERA_VICTIMS_H__ */
