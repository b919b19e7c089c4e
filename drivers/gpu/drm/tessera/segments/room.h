/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_ROOM_H__
#define __TESSERA_ROOM_H__

#include <linux/types.h>

struct tessera_device;

/**
 * enum tessera_room_event - why there may be room now where there was none
 * @TESSERA_ROOM_FREED: a range was given back, say by an object that died
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

int tessera_room_init(struct tessera_device *tdev);
u32 tessera_room_seen(struct tessera_device *tdev, enum tessera_room_event event);
void tessera_room_signal(struct tessera_device *tdev, enum tessera_room_event event);
void tessera_room_signal_all(struct tessera_device *tdev);
int tessera_room_wait_timeout(struct tessera_device *tdev, enum tessera_room_event event, u32 seen,
			      unsigned int state, long timeout);

#endif /* __TESSERA_ROOM_H__ */
