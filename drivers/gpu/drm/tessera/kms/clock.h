/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_KMS_CLOCK_H__
#define __TESSERA_KMS_CLOCK_H__

#include <linux/ktime.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct tessera_device;

/**
 * struct tessera_kms_clock - what is known of the difference between the device clock and ours
 */
struct tessera_kms_clock {
	/** @lock: a leaf, taken in interrupts */
	spinlock_t lock;
	/** @least: CLOCK_MONOTONIC is at least so much ahead, in ns */
	s64 least;
	/** @most: and at most so much */
	s64 most;
	/** @at: when that was found, on our clock; 0: never */
	s64 at;
};

s64 tessera_kms_clock_learn(struct tessera_kms_clock *clock, s64 before, s64 device, s64 after);
ktime_t tessera_kms_clock_convert(struct tessera_device *tdev, struct tessera_kms_clock *clock,
				  u64 device_ns, int *max_error);

#endif /* __TESSERA_KMS_CLOCK_H__ */
