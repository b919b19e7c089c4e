// SPDX-License-Identifier: MIT
/*
 * Oversubscription: a random workload with large objects in one segment, cuts
 * forced for all contexts, and one submission that needs ten times the segment.
 * Every byte must be as the model says.
 */
#include <stdlib.h>

#include "stall.h"
#include "workload/workload.h"

static uint32_t few(uint32_t count)
{
	return tap_long() ? count : count / (tap_slow() ? 5 : 2) + 1;
}

/*
 * Linear and swizzled objects in the CPU-visible segment only, about three
 * times its size in total.
 */
static struct wl_plan plan_for(struct tsr_device *dev, uint64_t seed)
{
	uint64_t size = tsr_seg_visible(dev)->size;

	return (struct wl_plan){
		.config = {
			.seed = seed,
			.kinds = 1 << WL_VISIBLE | 1 << WL_TILED,
			.live_64ths = 60,
			.total_bytes = 3 * size,
			.max_bytes = size / 2,
		},
		.jobs = few(60),
		.steps = 24,
		.progress = tsr_shared(sizeof(struct wl_progress)),
	};
}

static void one_segment(void)
{
	struct tsr_device dev = tsr_open();
	struct wl_plan plan = plan_for(&dev, tap_seed(1));

	wl_client(&plan);
	tap_note("%llu jobs in %llu parts", (unsigned long long)plan.progress->jobs,
		 (unsigned long long)plan.progress->parts);
	require(plan.progress->parts > plan.progress->jobs);
	tsr_close(&dev);
}

/* The debugfs knob forces cuts in all contexts, also in existing ones. */
static void forced_by_debugfs(void)
{
	struct tsr_device dev = tsr_open();
	struct wl_plan plan = plan_for(&dev, tap_seed(7));
	uint32_t ctx = tsr_context_new(&dev, 0), parts[3];
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0);
	const char *modes[] = { "0", "1", "2" };
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < 40; i++) {
		tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
		tsr_cmd_fill(&cmd, 0, i, 1, i);
	}
	for (int i = 0; i < 3; i++) {
		tsr_knob("force_split", modes[i]);
		require_eq(tsr_submit_status(&dev, ctx, &cmd, &parts[i]), 0);
	}
	tap_note("parts: %u, %u, %u", parts[0], parts[1], parts[2]);
	require_eq(parts[0], 1);
	require_eq(parts[1], 40);
	require(parts[2] > 1 && parts[2] < 40);
	tsr_knob("force_split", "1");
	plan.jobs = few(20);
	wl_client(&plan);
	require(plan.progress->parts > 2 * plan.progress->jobs);
	tsr_knob("force_split", "0");
	tsr_close(&dev);
}

/* One submission that uses objects of ten times the segment size. */
static void ten_times_in_one_job(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), count = 80, parts;
	struct tsr_bo bos[80], sum;
	const uint32_t *words;
	struct tsr_cmd cmd;

	sum = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)),
			 DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	words = tsr_bo_map(&dev, &sum);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 1, &sum, true);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < count; i++) {
			if (!round)
				bos[i] = tsr_bo_new(&dev, vis->size / 8, tsr_bit(vis), 0);
			tsr_cmd_bind_buffer(&cmd, 0, &bos[i], true);
			if (!round)
				tsr_cmd_fill(&cmd, 0, 0, 16, 1000 + i);
			else
				tsr_cmd_copy(&cmd, 1, i, 0, 3, 1);
		}
	require_eq(tsr_submit_status(&dev, ctx, &cmd, &parts), 0);
	for (uint32_t i = 0; i < count; i++)
		require_eq(words[i], 1000 + i);
	tap_note("%u parts", parts);
	require(parts >= 20);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SPLIT-2 SWZ-11 SWZ-13 random workload in one segment", one_segment, 0, 180 },
	{ "SPLIT-3 forced for all contexts by debugfs", forced_by_debugfs, 0, 180 },
	{ "SPLIT-1 SPLIT-19 ten times the segment in one submission", ten_times_in_one_job, 0, 0 },
};

TSR_TEST_MAIN(tests)
