// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: display clock
 *
 * Vblanks have times on the device clock, clients want CLOCK_MONOTONIC. Whenever a time is converted
 * the device clock is read between two readings of ours, which tells in which interval their difference
 * lies. Intervals found before are still good but for the drift since, so what all of them have in
 * common is much narrower than one: times of vblanks keep the distance they have on the device.
 */

#include <kunit/visibility.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/timekeeping.h>

#include "hw/hw.h"
#include "kms/kms.h"

/* The clocks drift apart by at most one part in so many. */
#define CLOCK_DRIFT	5000

/**
 * tessera_kms_clock_learn() - take a reading into account
 * @clock: what is known
 * @before: our clock before the device's was read
 * @device: the device's
 * @after: our clock after it was
 *
 * Return: how much our clock is ahead.
 */
s64 tessera_kms_clock_learn(struct tessera_kms_clock *clock, s64 before, s64 device, s64 after)
{
	s64 drift = div_s64(after - clock->at, CLOCK_DRIFT);
	s64 least = max(clock->least - drift, before - device);
	s64 most = min(clock->most + drift, after - device);

	/* Nothing in common: one of the clocks was set, or this is the first time. */
	if (!clock->at || least > most) {
		least = before - device;
		most = after - device;
	}
	clock->least = least;
	clock->most = most;
	clock->at = after;

	return least + (most - least) / 2;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_kms_clock_learn);

/**
 * tessera_kms_clock_convert() - what our clock showed at a time of the device's
 * @tdev: the device, held with drm_dev_enter()
 * @clock: what is known
 * @device_ns: the time
 * @max_error: receives by how many ns that may be wrong
 *
 * Return: the time.
 */
ktime_t tessera_kms_clock_convert(struct tessera_device *tdev, struct tessera_kms_clock *clock,
				  u64 device_ns, int *max_error)
{
	unsigned long flags;
	s64 before, device, after, ahead;

	spin_lock_irqsave(&clock->lock, flags);
	before = ktime_get_ns();
	device = tessera_read_timestamp(tdev);
	after = ktime_get_ns();
	ahead = tessera_kms_clock_learn(clock, before, device, after);
	*max_error = min_t(s64, (clock->most - clock->least + 1) / 2, INT_MAX);
	spin_unlock_irqrestore(&clock->lock, flags);

	return ns_to_ktime(device_ns + ahead);
}
