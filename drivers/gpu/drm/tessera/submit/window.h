/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_WINDOW_H__
#define __TESSERA_WINDOW_H__

#include <linux/types.h>

#include "pure/patch.h"
#include "pure/split.h"
#include "segments/room.h"
#include "submit/split_input.h"

struct tessera_manager;		/* segments/manager.h */
struct tessera_group;		/* submit/part.h */
struct tessera_part;		/* submit/part.h */
struct tessera_request;		/* submit/request.h */

/* What one window has at most; a part that needs more operations is a window of its own. */
#define TESSERA_WINDOW_PARTS	32
#define TESSERA_WINDOW_OPS	1024

/* Parts of one submission that may be armed and not finished. */
#define TESSERA_GROUP_PARTS	64

/**
 * struct tessera_split_run - a submission in parts, under way
 */
struct tessera_split_run {
	/** @req: the submission */
	struct tessera_request *req;
	/** @segments: ids of the segments it may touch */
	u32 segments;
	/** @cursor: how far it is armed */
	struct tessera_split_cursor cursor;
	/** @cursor_mem: what @cursor points into; NULL before the first window */
	void *cursor_mem;
	/** @model: what the window at hand is planned with; too large for the stack */
	struct tessera_split_model model;
	/** @plan: of the window at hand */
	struct tessera_split_plan plan;
	/** @replay: the slot table along the parts */
	struct tessera_patch_replay replay;
	/** @used: objects of the part at hand, allocation indexes */
	u32 *used;
	/** @num_used: elements of @used */
	u32 num_used;
	/** @mark: for each allocation, the last part that used it, counted from 1 */
	u32 *mark;
	/** @marks: parts prepared so far */
	u32 marks;
	/** @holding: bit for each allocation that is held */
	unsigned long *holding;
	/** @group: counts its unfinished parts */
	struct tessera_group *group;
	/** @closing: carries a late error; exists before the first part is pushed */
	struct tessera_part *closing;
	/** @last: the part pushed last */
	struct tessera_part *last;
	/** @ended: it is the one that the submission ends with */
	bool ended;
	/** @num_parts: parts pushed */
	u32 num_parts;
	/** @turn_parts: value of @num_parts at which it is to become the youngest */
	u32 turn_parts;
	/** @turn_jiffies: or when */
	u64 turn_jiffies;
	/** @seniority: how old it is among those that hold objects, see mem/hold.c */
	u64 seniority;
	/** @waits_since: when it began to wait for others with the gate closed; 0 while it does not */
	u64 waits_since;
	/** @waited: how long it did so before, in jiffies */
	u64 waited;
	/** @claimed: nobody else may place objects in @segments now */
	bool claimed;
	/** @seen: events so far, read before the window at hand was planned */
	u32 seen[TESSERA_ROOM_EVENTS];
	/** @wait_for_room: there was none, but waiting will change that */
	bool wait_for_room;
	/** @dying: ... because objects are being destroyed, else because of older ones' holds */
	bool dying;
};

struct tessera_manager *tessera_window_manager(struct tessera_split_run *run, u32 *index);
bool tessera_window_closed(struct tessera_split_run *run);
int tessera_window_run(struct tessera_split_run *run);
int tessera_window_close(struct tessera_split_run *run, int error);

#endif /* __TESSERA_WINDOW_H__ */
