// SPDX-License-Identifier: MIT
/*
 * Swizzling ranges are free, but the device lacks storage for them: 1 KiB for
 * one row of each. The trace must show that ranges of other objects are
 * released, how often the device refuses, and what is evicted in the end.
 */
#include <stdio.h>

#include "swizzled.h"
#include "trace.h"
#include "tsr.h"

static const uint32_t linear = DRM_TESSERA_LOCK_ACQUIRE_RANGE;

static void start(void)
{
	tsr_trace_start("swizzle_acquire", "swizzle_release", "swizzle_refuse", "evict", NULL);
}

/* Expected numbers of events, and the device's reason for refusals. */
static void require_events(uint32_t acquire, uint32_t release, uint32_t refuse, const char *why,
			   uint32_t evict)
{
	struct tsr_trace trace = tsr_trace_stop();

	require_eq(tsr_trace_count(&trace, "swizzle_acquire"), acquire);
	require_eq(tsr_trace_count(&trace, "swizzle_release"), release);
	require_eq(tsr_trace_count(&trace, "swizzle_refuse"), refuse);
	require_eq(tsr_trace_count(&trace, "evict"), evict);
	tsr_trace_for_each(&trace, "swizzle_refuse", ev)
		require(tsr_event_is(ev, "status", why));
	tsr_trace_free(&trace);
}

static struct tsr_swizzled wide(struct tsr_device *dev, uint32_t ctx, uint32_t pitch, uint32_t key)
{
	return tsr_swizzled_new(dev, ctx, TSR_LAYOUT_TILE4K, pitch, 32, key);
}

/* Other objects' ranges are released one by one until there is storage. */
static void unavailable(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_swizzled s[4], large;

	for (uint32_t i = 0; i < 4; i++)
		s[i] = wide(&dev, ctx, 256, i + 1);
	large = wide(&dev, ctx, 640, 9);
	for (uint32_t i = 0; i < 4; i++)
		tsr_pattern_check(&s[i].bo, i + 1);
	require_eq(tsr_ranges_now().used, 4);
	/* takes the storage of the first three ranges */
	start();
	tsr_pattern_check(&large.bo, 9);
	require_events(1, 3, 3, "unavailable", 0);
	start();
	tsr_pattern_check(&s[3].bo, 4);
	require_events(0, 0, 0, NULL, 0);
	require_eq(tsr_ranges_now().used, 2);
	for (uint32_t i = 0; i < 4; i++)
		tsr_swizzled_gpu_check(&dev, ctx, &s[i], i + 1);
	tsr_swizzled_gpu_check(&dev, ctx, &large, 9);
	tsr_close(&dev);
}

/* If no range may be released, the object is evicted, and the CPU sees it. */
static void none_is_left(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_swizzled a = wide(&dev, ctx, 384, 1), b = wide(&dev, ctx, 384, 2);
	struct tsr_swizzled c = wide(&dev, ctx, 256, 3), large = wide(&dev, ctx, 640, 4);

	tsr_lock(&dev, &a.bo, linear);
	tsr_lock(&dev, &b.bo, linear);
	tsr_pattern_check(&c.bo, 3);
	start();
	tsr_lock(&dev, &large.bo, linear);
	require_events(0, 1, 2, "unavailable", 1);
	require(!tsr_swizzled_resident(&dev, &large));
	tsr_pattern_check(&large.bo, 4);
	tsr_pattern_check(&c.bo, 3);
	/* enough storage after one unlock */
	tsr_unlock(&dev, &large.bo);
	tsr_unlock(&dev, &a.bo);
	tsr_gpu_touch(&dev, ctx, &large.bo);
	start();
	tsr_pattern_check(&large.bo, 4);
	require_events(1, 2, 2, "unavailable", 0);
	require(tsr_swizzled_resident(&dev, &large));
	tsr_close(&dev);
}

/* An unsupported pitch is tried once, and no other object loses its range. */
static void unsupported(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_swizzled small = wide(&dev, ctx, 256, 1), large = wide(&dev, ctx, 1152, 2);

	tsr_pattern_check(&small.bo, 1);
	start();
	tsr_pattern_check(&large.bo, 2);
	require_events(0, 0, 1, "unsupported", 1);
	require(!tsr_swizzled_resident(&dev, &large));
	require_eq(tsr_ranges_now().used, 1);
	tsr_swizzled_gpu_check(&dev, ctx, &large, 2);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SWZ-28 unavailable: others' ranges are released", unavailable, 0, 0 },
	{ "SWZ-9 SWZ-28 unavailable: none is left", none_is_left, 0, 0 },
	{ "SWZ-9 SWZ-28 unsupported: one attempt", unsupported, 0, 0 },
};

TSR_TEST_MAIN(tests)
