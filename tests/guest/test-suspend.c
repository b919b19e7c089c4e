// SPDX-License-Identifier: MIT
/*
 * Suspend and resume: what loses its contents is emptied before, and comes back. Built
 * twice, for devices that preserve nothing and visible memory.
 */
#include <stdlib.h>

#include "trace.h"
#include "tsr.h"

static bool was_evicted(const struct tsr_trace *trace, const struct drm_tessera_query_segment *seg)
{
	tsr_trace_for_each(trace, "evict", ev)
	{
		if (tsr_event_u64(ev, "segment") == seg->id)
			return true;
	}
	return false;
}

/* does the device keep its contents? (test-suspend-preserved.args) */
static bool is_preserved(const struct drm_tessera_query_segment *seg)
{
	const char *device = getenv("TESSERA_DEVICE");

	return device && strstr(device, "vram-preserved=on") &&
	       seg->flags & DRM_TESSERA_SEGMENT_CPU_VISIBLE;
}

/* what is not preserved is emptied, what is stays; so does the segment table */
static void segments_are_emptied(void)
{
	struct tsr_device dev = tsr_open(), after;
	const struct drm_tessera_query_segment *segs[] = { tsr_seg_visible(&dev),
							   tsr_seg_hidden(&dev),
							   tsr_seg_gart(&dev) };
	uint32_t ctx = tsr_context_new(&dev, 0), word;
	struct tsr_bo bos[ARRAY_SIZE(segs)];
	struct tsr_trace trace;

	for (uint32_t i = 0; i < ARRAY_SIZE(segs); i++) {
		bos[i] = tsr_bo_new(&dev, MiB(2), tsr_bit(segs[i]), 0);
		tsr_gpu_fill(&dev, ctx, &bos[i], 0x51 + i);
		require_eq(tsr_bo_info(&dev, &bos[i]).segment, segs[i]->id);
	}

	tsr_trace_start("evict", NULL);
	tsr_suspend_devices();
	trace = tsr_trace_stop();
	for (uint32_t i = 0; i < ARRAY_SIZE(segs); i++) {
		bool stays = is_preserved(segs[i]);

		require_msg(was_evicted(&trace, segs[i]) == !stays, "segment %u", segs[i]->id);
		require_eq(tsr_bo_info(&dev, &bos[i]).segment, stays ? segs[i]->id : 0);
	}
	tsr_trace_free(&trace);

	for (uint32_t i = 0; i < ARRAY_SIZE(segs); i++) {
		tsr_gpu_read(&dev, ctx, &bos[i], 4711, 1, &word);
		require_eq(word, 0x51 + i);
	}
	tsr_gpu_blit(&dev, ctx);
	after = tsr_open();
	require_eq(after.num_segs, dev.num_segs);
	require(!memcmp(after.segs, dev.segs, dev.num_segs * sizeof(dev.segs[0])));
	tsr_close(&after);
	tsr_close(&dev);
}

static void jobs_run_after_resume(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo =
		tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_visible(&dev)), DRM_TESSERA_BO_CPU_ACCESS);

	tsr_bo_map(&dev, &bo);
	for (uint32_t round = 1; round <= 3; round++) {
		struct tsr_busy busy;

		tsr_pattern_write(&bo, round);
		tsr_busy_start(&dev, ctx, &busy, 50);
		tsr_suspend_devices();
		tsr_busy_end(&dev, &busy);
		tsr_pattern_check(&bo, round);
		tsr_gpu_fill(&dev, ctx, &bo, round);
		tsr_words_check(bo.map, bo.size / 4, round);
	}
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SEG-31 SEG-4 SEG-14 suspend empties the segments, contents survive",
	  segments_are_emptied, 0, 25 },
	{ "SEG-31 jobs queued over suspend end, later ones run", jobs_run_after_resume, 0, 25 },
};

TSR_TEST_MAIN(tests)
