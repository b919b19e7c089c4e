/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_ROOM_H__
#define __TESSERA_ROOM_H__

#include <linux/list.h>
#include <linux/types.h>

struct task_struct;
struct tessera_device;

/**
 * enum tessera_room_event - why there may be room now where there was none
 * @TESSERA_ROOM_FREED: a range was given back, say by an object that died, or may be taken again, or
 * what was to leave it is back and may be told again
 * @TESSERA_ROOM_RELEASED: a submission in parts gave up what it had held
 * @TESSERA_ROOM_UNCLAIMED: a segment may be used by everybody again
 * @TESSERA_ROOM_EVENTS: number of events
 */
enum tessera_room_event {
	TESSERA_ROOM_FREED,
	TESSERA_ROOM_RELEASED,
	TESSERA_ROOM_UNCLAIMED,
	TESSERA_ROOM_EVENTS,
};

/**
 * struct tessera_room_want - somebody who waits for room, from the first time until there is some, or no hope
 */
struct tessera_room_want {
	/** @node: among all of them */
	struct list_head node;
	/** @task: who; NULL: nobody */
	struct task_struct *task;
	/** @segments: where there may be room, ids */
	u32 segments;
};

int tessera_room_init(struct tessera_device *tdev);
u32 tessera_room_seen(struct tessera_device *tdev, enum tessera_room_event event);
void tessera_room_signal(struct tessera_device *tdev, enum tessera_room_event event);
void tessera_room_signal_all(struct tessera_device *tdev);
void tessera_room_want(struct tessera_device *tdev, struct tessera_room_want *want, u32 segments);
void tessera_room_want_end(struct tessera_device *tdev, struct tessera_room_want *want);
bool tessera_room_wanted(struct tessera_device *tdev, u32 segment);
int tessera_room_wait(struct tessera_device *tdev, enum tessera_room_event event, u32 seen,
		      unsigned int state);
int tessera_room_wait_timeout(struct tessera_device *tdev, enum tessera_room_event event, u32 seen,
			      unsigned int state, long timeout);

#endif /* __TESSERA_ROOM_H__ */
