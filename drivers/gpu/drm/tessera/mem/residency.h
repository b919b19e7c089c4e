/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_RESIDENCY_H__
#define __TESSERA_RESIDENCY_H__

#include <linux/types.h>

struct tessera_bo;		/* mem/bo.h */
struct tessera_device;
struct tessera_room_rules;	/* mem/victims.h */
struct tessera_segment;		/* segments/segment.h */

int tessera_residency_init(struct tessera_device *tdev);
int tessera_residency_serves(struct tessera_bo *bo, bool write);
int tessera_residency_validate(struct tessera_bo *bo, bool write,
			       struct tessera_room_rules *rules);
int tessera_residency_bring(struct tessera_bo *bo, const struct tessera_segment *seg, bool evict,
			    struct tessera_room_rules *rules);
int tessera_residency_place(struct tessera_bo *bo, bool write, u32 segment_id, u64 offset);
bool tessera_residency_can_lend(struct tessera_bo *bo);
int tessera_residency_lend(struct tessera_bo *bo);
bool tessera_residency_asks_others(struct tessera_bo *bo);
int tessera_residency_recall(struct tessera_bo *bo, bool interruptible);
int tessera_residency_pin(struct tessera_bo *bo);
void tessera_residency_unpin(struct tessera_bo *bo);
void tessera_residency_written(struct tessera_bo *bo);
void tessera_residency_commit(struct tessera_bo *bo, bool write, u64 stamp);
u64 tessera_residency_next_stamp(struct tessera_device *tdev);

#endif /* __TESSERA_RESIDENCY_H__ */
