/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_RUN_H__
#define __TESSERA_RUN_H__

#include <linux/types.h>

#include "pure/patch.h"
#include "pure/split.h"
#include "segments/room.h"
#include "submit/split_input.h"

struct drm_exec;
struct tessera_group;		/* submit/part.h */
struct tessera_part;		/* submit/part.h */
struct tessera_request;		/* submit/request.h */

/* What one batch has at most. A part that needs more operations is a batch of its own. */
#define TESSERA_BATCH_PARTS	32
#define TESSERA_BATCH_OPS	1024

/* Parts of one submission that may be armed and not finished. */
#define TESSERA_GROUP_PARTS	64

/**
 * struct tessera_submit_run - a checked submission on its way to the scheduler
 *
 * Too large for the stack. The members behind @group are for a submission in parts. The memory that
 * they point to exists from tessera_plan_init() on.
 */
struct tessera_submit_run {
	/** @req: the submission */
	struct tessera_request *req;
	/** @segments: ids of the segments it may touch */
	u32 segments;
	/** @inside: it has passed the gate, and not left it */
	bool inside;
	/** @claimed: no other submission may place objects in @segments now */
	bool claimed;
	/** @ended: @last carries the end of the submission */
	bool ended;
	/** @misses: attempts at the batch at hand that other submissions have disturbed */
	u32 misses;
	/** @seen: events so far, read before the attempt at hand */
	u32 seen[TESSERA_ROOM_EVENTS];
	/** @used: objects of the part at hand, allocation indexes */
	const u32 *used;
	/** @num_used: elements of @used */
	u32 num_used;
	/** @num_parts: parts pushed */
	u32 num_parts;
	/** @last: the part pushed last, or NULL */
	struct tessera_part *last;
	/** @replay: the slot table along the parts */
	struct tessera_patch_replay replay;
	/** @waits_since: when it began to wait for others behind armed parts; 0 while it does not */
	u64 waits_since;
	/** @waited: how long it did so before, in jiffies */
	u64 waited;
	/** @group: counts its unfinished parts; NULL: the submission is tried as a whole */
	struct tessera_group *group;
	/** @closing: carries a late error; exists before the first part is pushed */
	struct tessera_part *closing;
	/** @cursor: how far it is armed */
	struct tessera_split_cursor cursor;
	/** @cursor_mem: what @cursor points into; NULL before the first batch */
	void *cursor_mem;
	/** @model: what the batch at hand is planned with */
	struct tessera_split_model model;
	/** @plan: of the batch at hand */
	struct tessera_split_plan plan;
	/** @collected: memory for @used */
	u32 *collected;
	/** @mark: for each allocation, the last part that used it, counted from 1 */
	u32 *mark;
	/** @marks: parts prepared so far */
	u32 marks;
	/** @holding: bit for each allocation that is held */
	unsigned long *holding;
	/** @turn_parts: value of @num_parts at which it is to become the youngest */
	u32 turn_parts;
	/** @turn_jiffies: or when */
	unsigned long turn_jiffies;
	/** @seniority: how old it is among those that hold objects, see mem/hold.c */
	u64 seniority;
};

void tessera_run_rewind(struct tessera_submit_run *run);
int tessera_run_part(struct tessera_submit_run *run, const struct tessera_split_op *op);
int tessera_run_close(struct tessera_submit_run *run, int error);

int tessera_plan_init(struct tessera_submit_run *run);
void tessera_plan_fini(struct tessera_submit_run *run);
int tessera_plan_make(struct tessera_submit_run *run);
int tessera_plan_lock(struct tessera_submit_run *run, struct drm_exec *exec);
int tessera_plan_follow(struct tessera_submit_run *run);
void tessera_plan_drop(struct tessera_submit_run *run);
void tessera_plan_take_turns(struct tessera_submit_run *run);
void tessera_plan_drop_holds(struct tessera_submit_run *run);

#endif /* __TESSERA_RUN_H__ */
