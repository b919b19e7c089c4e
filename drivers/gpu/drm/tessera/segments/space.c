// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: waiting for space
 *
 * A thread that finds no space for a temporary reason drops its reservations,
 * waits here for an event, and tries again. It reads the number of the last
 * event before it looks for space, so it misses no event. Waiting takes no
 * lock, and a signal ends it; for some callers only a fatal signal does.
 */

#include <kunit/visibility.h>
#include <linux/atomic.h>
#include <linux/sched/signal.h>
#include <linux/wait.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>

#include "base/device.h"
#include "base/wait.h"
#include "segments/segments.h"

struct space_event {
	atomic_t count;
	wait_queue_head_t wait;
};

struct tessera_space_events {
	struct space_event events[TESSERA_SPACE_EVENTS];
};

/**
 * tessera_space_events_init() - set up the events
 * @tdev: the device
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_space_events_init(struct tessera_device *tdev)
{
	struct tessera_space_events *events;
	u32 i;

	events = drmm_kzalloc(&tdev->drm, sizeof(*events), GFP_KERNEL);
	if (!events)
		return -ENOMEM;
	for (i = 0; i < TESSERA_SPACE_EVENTS; i++)
		init_waitqueue_head(&events->events[i].wait);
	tdev->space_events = events;

	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_space_events_init);

/**
 * tessera_space_event_count() - number of the last event
 * @tdev: the device
 * @event: kind of event
 *
 * Read this before looking for space.
 *
 * Return: the number, for tessera_space_wait_timeout().
 */
u32 tessera_space_event_count(struct tessera_device *tdev, enum tessera_space_event event)
{
	return atomic_read_acquire(&tdev->space_events->events[event].count);
}

/**
 * tessera_space_signal() - wake the waiters of an event
 * @tdev: the device
 * @event: the reason why there may be space now
 *
 * Process context. Any locks may be held.
 */
void tessera_space_signal(struct tessera_device *tdev, enum tessera_space_event event)
{
	struct space_event *ev = &tdev->space_events->events[event];

	/* Fully ordered: a thread that sees the count sees the free space. */
	atomic_inc_return(&ev->count);
	if (wq_has_sleeper(&ev->wait))
		wake_up_all(&ev->wait);
}

/**
 * tessera_space_signal_all() - wake all waiters for a reason other than space
 * @tdev: the device
 */
void tessera_space_signal_all(struct tessera_device *tdev)
{
	u32 event;

	for (event = 0; event < TESSERA_SPACE_EVENTS; event++)
		tessera_space_signal(tdev, event);
}

static const enum tessera_wait_row wait_rows[TESSERA_SPACE_EVENTS] = {
	[TESSERA_SPACE_FREED] = TESSERA_WAIT_SPACE,
	[TESSERA_SPACE_RELEASED] = TESSERA_WAIT_HELD,
	[TESSERA_SPACE_UNCLAIMED] = TESSERA_WAIT_CLAIM,
	[TESSERA_SPACE_TRIMMED] = TESSERA_WAIT_TRIM,
};

/**
 * tessera_space_wait_timeout() - wait for the next event, with a timeout
 * @tdev: the device
 * @event: kind of event
 * @seen: from tessera_space_event_count()
 * @state: %TASK_INTERRUPTIBLE if the system call can be restarted, so that any
 * signal, and the freezer, ends the wait; else %TASK_KILLABLE, combined with
 * the caller's freezer flags
 * @timeout: jiffies
 *
 * The caller must not hold a lock that another client needs.
 *
 * Return: 0; -ETIME; -ERESTARTSYS, or -EINTR for a fatal signal; or -ENODEV if
 * the device was unplugged.
 */
int tessera_space_wait_timeout(struct tessera_device *tdev, enum tessera_space_event event,
			       u32 seen, unsigned int state, long timeout)
{
	struct space_event *ev = &tdev->space_events->events[event];
	long left;

	left = tessera_wait_event_timeout(wait_rows[event], ev->wait,
					  atomic_read(&ev->count) != seen ||
					  drm_dev_is_unplugged(&tdev->drm), state, timeout);
	if (left < 0)
		return state == TASK_INTERRUPTIBLE ? left : -EINTR;
	if (drm_dev_is_unplugged(&tdev->drm))
		return -ENODEV;

	return left ? 0 : -ETIME;
}
