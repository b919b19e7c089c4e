/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_VICTIMS_H__
#define __TESSERA_VICTIMS_H__

#include <linux/types.h>

struct dma_fence;
struct tessera_account;		/* segments/account.h */
struct tessera_blocker;		/* mem/residency.h */
struct tessera_bo;		/* mem/bo.h */
struct tessera_device;
struct tessera_segment;		/* segments/segment.h */
struct ww_acquire_ctx;

/**
 * struct tessera_block - an occupied run of a segment
 *
 * What was there when somebody looked. Nothing but the reference to @bo lasts. The blocks of one object
 * give way together.
 */
struct tessera_block {
	/** @start: byte offset in the segment */
	u64 start;
	/** @size: bytes */
	u64 size;
	/** @bo: the object, with a reference; NULL if it is being destroyed, or elsewhere already */
	struct tessera_bo *bo;
	/** @bo_id: its id, 0 if @bo is NULL */
	u32 bo_id;
	/** @first: index of the first block of the same object; of that, what is said counts */
	u32 first;
	/** @total: bytes of all of them */
	u64 total;
	/** @pinned: may not be moved nor evicted */
	bool pinned;
	/** @held: a submission in parts relies on its place */
	bool held;
	/** @busy: some job may still use it */
	bool busy;
	/** @listed: some client has listed it as resident */
	bool listed;
	/** @offer: DRM_TESSERA_OFFER_* if its contents may be dropped, else 0 */
	u8 offer;
	/** @clean: its eviction copies nothing */
	bool clean;
	/** @last_use: stamp of the last submission that used it */
	u64 last_use;
	/** @owner: id of the account that pays for it */
	u32 owner;
	/** @tier: &enum tessera_victim_tier, set by tessera_victims_rank() */
	u8 tier;
	/** @rank: order in which objects give way, lower goes first; likewise */
	u32 rank;
};

/**
 * struct tessera_blocks - all occupied runs of a segment, in offset order
 */
struct tessera_blocks {
	/** @block: the runs */
	struct tessera_block *block;
	/** @num: elements of @block */
	u32 num;
};

/**
 * struct tessera_room_rules - how room may be made for an object
 */
struct tessera_room_rules {
	/** @evictions: how many objects may be evicted or pushed; counted down */
	u32 evictions;
	/**
	 * @compact: objects may be pushed together where there is room, but no gap. The caller
	 * looks at what is in the way, and calls tessera_victims_forget() then
	 */
	bool compact;
	/**
	 * @passes: over holds and claims: who relied on a place finds another; and over what is listed, or
	 * within its owner's share, which goes last
	 */
	bool passes;
	/**
	 * @ticket: objects locked with it count as not locked, be it for others that share their
	 * lock; may be NULL
	 */
	struct ww_acquire_ctx *ticket;
	/** @spares: whether an object stays whatever its rank says; no locks; may be NULL */
	bool (*spares)(struct tessera_bo *bo, void *data);
	/** @data: for @spares */
	void *data;
	/** @dying: set by tessera_victims_look() if an object in the segment is being destroyed */
	bool dying;
	/** @held: the same if a submission in parts relies on the place of one */
	bool held;
	/** @contended: with @compact: in the way, as somebody had its lock; a reference, or NULL */
	struct tessera_bo *contended;
	/** @fence: likewise: something could not be pushed before that; a reference, or NULL */
	struct dma_fence *fence;
	/** @blocker: receives why the object cannot come yet, see tessera_residency_bring() */
	struct tessera_blocker *blocker;
};

int tessera_victims_collect(struct tessera_device *tdev, const struct tessera_segment *seg,
			    struct tessera_blocks *blocks);
void tessera_victims_put(struct tessera_blocks *blocks);
int tessera_victims_rank(struct tessera_device *tdev, const struct tessera_segment *seg,
			 struct tessera_account *requester, u64 want,
			 struct tessera_blocks *blocks);
int tessera_victims_evict(struct tessera_bo *bo, u32 reason);
int tessera_victims_look(struct tessera_bo *bo, const struct tessera_segment *seg, u64 want,
			 struct tessera_room_rules *rules, struct tessera_blocks *blocks);
u64 tessera_victims_room(const struct tessera_segment *seg, const struct tessera_blocks *blocks);
bool tessera_victims_lock(struct tessera_bo *bo, const struct tessera_room_rules *rules,
			  bool *locked);
int tessera_victims_make_bytes(struct tessera_bo *bo, const struct tessera_segment *seg,
			       struct tessera_room_rules *rules);
void tessera_victims_contend(struct tessera_room_rules *rules, struct tessera_bo *bo);
void tessera_victims_forget(struct tessera_room_rules *rules);
int tessera_victims_make_room(struct tessera_bo *bo, const struct tessera_segment *seg,
			      struct tessera_room_rules *rules, u64 *start);

#endif /* __TESSERA_VICTIMS_H__ */
