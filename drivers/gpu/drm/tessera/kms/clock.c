// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: display clock
 *
 * Convert times from the device clock to CLOCK_MONOTONIC. The device stamps
 * vblanks with its own clock. For each conversion the device clock is read
 * between two readings of CLOCK_MONOTONIC, which bounds the difference of the
 * clocks to an interval. Earlier intervals remain valid if they are widened by
 * the drift since then. The intersection of all of them is much narrower than a
 * single one, so the converted times of vblanks keep the distances that they
 * have on the device.
 */

#include <kunit/visibility.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/timekeeping.h>

#include "hw/hw.h"
#include "kms/kms.h"

/* The clocks drift apart by at most 1/5000. */
#define CLOCK_DRIFT	5000

/**
 * tessera_kms_clock_learn() - narrow the known difference of the clocks by a
 * reading
 * @clock: the known difference
 * @before: CLOCK_MONOTONIC before the device clock was read
 * @device: the device clock
 * @after: CLOCK_MONOTONIC after it was read
 *
 * Return: by how many ns CLOCK_MONOTONIC is ahead of the device clock.
 */
s64 tessera_kms_clock_learn(struct tessera_kms_clock *clock, s64 before, s64 device, s64 after)
{
	s64 drift = div_s64(after - clock->at, CLOCK_DRIFT);
	s64 least = max(clock->least - drift, before - device);
	s64 most = min(clock->most + drift, after - device);

	/*
	 * The intervals do not overlap: one of the clocks was set, or this is
	 * the first reading.
	 */
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
 * tessera_kms_clock_convert() - convert a time of the device clock to
 * CLOCK_MONOTONIC
 * @tdev: the device; inside drm_dev_enter()
 * @clock: the known difference of the clocks
 * @device_ns: time on the device clock
 * @max_error: receives the possible error in ns
 *
 * Return: the time on CLOCK_MONOTONIC.
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
