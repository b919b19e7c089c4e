// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Unit tests of the known difference between the device clock and
 * CLOCK_MONOTONIC.
 */
#include <kunit/test.h>
#include <linux/time64.h>

#include "kms/kms.h"

#define AHEAD	(123 * NSEC_PER_SEC)

/*
 * Learn a reading of the device clock, taken @behind ns after the first reading
 * of CLOCK_MONOTONIC and @before ns before the second one.
 */
static s64 read_clock(struct tessera_kms_clock *clock, s64 at, u32 behind, u32 before)
{
	return tessera_kms_clock_learn(clock, at, at + behind - AHEAD, at + behind + before);
}

/* The first reading bounds the difference to its own interval. */
static void first_reading(struct kunit *test)
{
	struct tessera_kms_clock clock = { .at = 0 };

	KUNIT_EXPECT_EQ(test, read_clock(&clock, NSEC_PER_SEC, 100, 300), AHEAD + 100);
	KUNIT_EXPECT_EQ(test, clock.least, AHEAD - 100);
	KUNIT_EXPECT_EQ(test, clock.most, AHEAD + 300);
}

/* An initial difference of 0 must not count as known. */
static void first_reading_of_equal_clocks(struct kunit *test)
{
	struct tessera_kms_clock clock = { .at = 0 };
	s64 half = NSEC_PER_MSEC;

	tessera_kms_clock_learn(&clock, NSEC_PER_SEC, NSEC_PER_SEC + half,
				NSEC_PER_SEC + 2 * half);
	KUNIT_EXPECT_EQ(test, clock.least, -half);
	KUNIT_EXPECT_EQ(test, clock.most, half);
}

/*
 * Each further reading narrows the interval from both sides. A slow reading
 * does not widen it.
 */
static void readings_narrow(struct kunit *test)
{
	struct tessera_kms_clock clock = { .at = 0 };
	s64 now = NSEC_PER_SEC;

	read_clock(&clock, now, 5000, 7000);
	read_clock(&clock, now, 100, 60000);
	read_clock(&clock, now, 80000, 200);
	KUNIT_EXPECT_GE(test, clock.least, AHEAD - 150);
	KUNIT_EXPECT_LE(test, clock.most, AHEAD + 250);
	read_clock(&clock, now, 500000, 500000);
	KUNIT_EXPECT_LE(test, clock.most - clock.least, 800);
	KUNIT_EXPECT_LE(test, clock.least, AHEAD);
	KUNIT_EXPECT_GE(test, clock.most, AHEAD);
}

/*
 * An old exact reading loses precision by the drift of the clocks, and not by
 * more.
 */
static void clocks_drift(struct kunit *test)
{
	struct tessera_kms_clock clock = { .at = 0 };

	read_clock(&clock, NSEC_PER_SEC, 10, 10);
	read_clock(&clock, 2 * NSEC_PER_SEC, NSEC_PER_MSEC, NSEC_PER_MSEC);
	KUNIT_EXPECT_LT(test, clock.least, AHEAD - 100 * NSEC_PER_USEC);
	KUNIT_EXPECT_GT(test, clock.most, AHEAD + 100 * NSEC_PER_USEC);
	KUNIT_EXPECT_GE(test, clock.least, AHEAD - 210 * NSEC_PER_USEC);
	KUNIT_EXPECT_LE(test, clock.most, AHEAD + 210 * NSEC_PER_USEC);
}

/*
 * Converted times keep their distances: the result does not jump with each
 * reading.
 */
static void steady(struct kunit *test)
{
	struct tessera_kms_clock clock = { .at = 0 };
	s64 first, now = NSEC_PER_SEC, ahead;
	u32 i;

	first = read_clock(&clock, now, 1000, 1000);
	for (i = 0; i < 100; i++) {
		now += 16 * NSEC_PER_MSEC;
		ahead = read_clock(&clock, now, i & 1 ? 1500 : 20000, i & 1 ? 20000 : 1500);
		KUNIT_EXPECT_LE(test, abs(ahead - first), 8 * NSEC_PER_USEC);
	}
}

/* After a clock was set, the known interval is discarded. */
static void clock_was_set(struct kunit *test)
{
	struct tessera_kms_clock clock = { .at = 0 };
	s64 now = NSEC_PER_SEC;

	read_clock(&clock, now, 100, 100);
	KUNIT_EXPECT_EQ(test, tessera_kms_clock_learn(&clock, now, now + 50, now + 100), 0);
	KUNIT_EXPECT_EQ(test, clock.least, -50);
	KUNIT_EXPECT_EQ(test, clock.most, 50);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(first_reading),
	KUNIT_CASE(first_reading_of_equal_clocks),
	KUNIT_CASE(readings_narrow),
	KUNIT_CASE(clocks_drift),
	KUNIT_CASE(steady),
	KUNIT_CASE(clock_was_set),
	{}
};

static struct kunit_suite suite = {
	.name = "tessera_display_clock",
	.test_cases = cases,
};

kunit_test_suite(suite);
