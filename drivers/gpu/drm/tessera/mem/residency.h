/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_RESIDENCY_H__
#define __TESSERA_RESIDENCY_H__

#include <linux/dma-resv.h>
#include <linux/types.h>

#include "tessera_wait.h"

struct dma_fence;
struct tessera_bo;		/* mem/bo.h */
struct tessera_device;
struct tessera_room_rules;	/* mem/victims.h */
struct tessera_segment;		/* segments/segment.h */

/**
 * struct tessera_blocker - why an object cannot come to a segment yet
 *
 * Either the fence or the object is set. It is dealt with while no lock is held, see tessera_residency_unblock().
 */
struct tessera_blocker {
	/** @fence: a foreign fence to wait for; a reference, or NULL */
	struct dma_fence *fence;
	/** @bo: an object that another device has to be asked for; a reference, or NULL */
	struct tessera_bo *bo;
};

int tessera_residency_init(struct tessera_device *tdev);
bool tessera_residency_segment_serves(struct tessera_bo *bo, const struct tessera_segment *seg,
				      bool write);
int tessera_residency_serves(struct tessera_bo *bo, bool write);
int tessera_residency_validate(struct tessera_bo *bo, bool write,
			       struct tessera_room_rules *rules);
int tessera_residency_bring(struct tessera_bo *bo, const struct tessera_segment *seg, bool evict,
			    struct tessera_room_rules *rules);
int tessera_residency_place(struct tessera_bo *bo, bool write, u32 segment_id, u64 offset,
			    struct tessera_blocker *blocker);
struct dma_fence *tessera_residency_foreign(struct tessera_bo *bo, enum dma_resv_usage usage);
int tessera_residency_may_come(struct tessera_bo *bo, const struct tessera_segment *seg,
			       struct tessera_blocker *blocker);
int tessera_residency_ask(struct tessera_bo *bo, bool interruptible);
int tessera_residency_unblock(struct tessera_device *tdev, struct tessera_blocker *blocker,
			      enum tessera_wait_row row, long timeout);
void tessera_blocker_clear(struct tessera_blocker *blocker);
bool tessera_residency_can_lend(struct tessera_bo *bo);
int tessera_residency_lend(struct tessera_bo *bo);
int tessera_residency_pin(struct tessera_bo *bo);
void tessera_residency_unpin(struct tessera_bo *bo);
void tessera_residency_written(struct tessera_bo *bo);
void tessera_residency_commit(struct tessera_bo *bo, bool write, u64 stamp);
u64 tessera_residency_next_stamp(struct tessera_device *tdev);

#endif /* __TESSERA_RESIDENCY_H__ */
