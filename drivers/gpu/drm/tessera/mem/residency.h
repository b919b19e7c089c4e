/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_RESIDENCY_H__
#define __TESSERA_RESIDENCY_H__

#include <linux/types.h>

struct drm_exec;
struct tessera_account;		/* segments/account.h */
struct tessera_bo;		/* mem/bo.h */
struct tessera_device;

/**
 * struct tessera_block - an occupied range of a segment
 *
 * Filled by tessera_residency_snapshot() in offset order. @bo is valid as long as the
 * caller holds the lock on it that tessera_residency_lock_all() took.
 */
struct tessera_block {
	/** @start: byte offset in the segment */
	u64 start;
	/** @size: bytes */
	u64 size;
	/** @bo: the object; NULL if it is being destroyed and cannot be moved */
	struct tessera_bo *bo;
	/** @bo_id: its id, 0 if @bo is NULL */
	u32 bo_id;
	/** @pinned: may not be moved nor evicted */
	bool pinned;
	/** @busy: some job may still use it */
	bool busy;
	/** @clean: its eviction copies nothing */
	bool clean;
	/** @last_use: stamp of the last submission that used it */
	u64 last_use;
	/** @owner: id of the account that pays for it */
	u32 owner;
	/** @tier: &enum tessera_victim_tier, set by tessera_residency_rank() */
	u8 tier;
	/** @rank: order inside the tier, lower goes first; likewise */
	u32 rank;
};

int tessera_residency_init(struct tessera_device *tdev);
int tessera_residency_validate(struct tessera_bo *bo, struct drm_exec *exec, bool write);
int tessera_residency_place(struct tessera_bo *bo, u32 segment_id, u64 offset,
			    struct drm_exec *exec);
int tessera_residency_evict(struct tessera_bo *bo);
int tessera_residency_evict_for_cpu(struct tessera_bo *bo);
void tessera_residency_written(struct tessera_bo *bo);
void tessera_residency_commit(struct tessera_bo *bo, bool write, u64 stamp);
u64 tessera_residency_next_stamp(struct tessera_device *tdev);

/**
 * struct tessera_held - references of all objects that were locked
 *
 * Lockdep keeps the locks of one acquire context as one, under the name of the
 * object locked first. Were that freed while drm_exec still unlocks the others, it
 * would be reported; so nothing of them is given up before drm_exec_fini().
 */
struct tessera_held {
	/** @next: of an earlier round, NULL: none */
	struct tessera_held *next;
	/** @blocks: objects with references */
	struct tessera_block *blocks;
	/** @num: elements of @blocks */
	u32 num;
};

int tessera_residency_lock_all(struct tessera_device *tdev, struct drm_exec *exec,
			       u32 segment_mask, struct tessera_held **held);
void tessera_residency_put_held(struct tessera_held *held);
int tessera_residency_snapshot(struct tessera_device *tdev, u32 segment_id,
			       struct tessera_block **blocks, u32 *num);
int tessera_residency_rank(struct tessera_device *tdev, u32 segment_id,
			   struct tessera_account *requester, u64 want,
			   struct tessera_block *blocks, u32 num);
int tessera_residency_wait_dying(struct tessera_device *tdev);

#endif /* __TESSERA_RESIDENCY_H__ */
