// SPDX-License-Identifier: MIT
/*
 * The random workload (tests/lib/workload) with all its features: every kind of
 * object and view, slots kept over cuts, delayed fences, CPU accesses, and
 * objects closed in flight. It runs alone, and beside clients above and below
 * their share of memory. Every byte must be as the model says. TESSERA_SEED
 * repeats a run.
 */
#include "stall.h"
#include "workload/workload.h"

static void tell(const struct wl_progress *sum)
{
	tap_note(
		"%llu jobs in %llu parts, %llu cut short, %llu behind foreign fences, %llu objects",
		(unsigned long long)sum->jobs, (unsigned long long)sum->parts,
		(unsigned long long)sum->cut_short, (unsigned long long)sum->late,
		(unsigned long long)sum->checks);
}

/*
 * Factor for devices with many VRAM segments, which need more objects and
 * longer jobs.
 */
static uint64_t times(struct tsr_device *dev)
{
	uint64_t memory = 0;

	for (uint32_t i = 0; i < dev->num_segs; i++)
		memory += !(dev->segs[i].flags & DRM_TESSERA_SEGMENT_APERTURE);
	return memory > 2 ? memory / 2 : 1;
}

static struct wl_plan heavy(struct tsr_device *dev, uint64_t seed)
{
	uint64_t size = tsr_seg_visible(dev)->size;

	return (struct wl_plan){
		.config = {
			.seed = seed,
			.kinds = WL_ALL,
			.live_64ths = 48,
			.total_bytes = 5 * size * times(dev),
			.max_bytes = size / 4,
		},
		.jobs = wl_few(80),
		.steps = (uint32_t)(30 * (tap_slow() ? 1 : times(dev))),
		.progress = tsr_shared(sizeof(struct wl_progress)),
	};
}

/* A client below its share of every segment. */
static struct wl_plan light(struct tsr_device *dev, uint64_t seed)
{
	uint64_t size = tsr_seg_visible(dev)->size;
	struct wl_plan plan = heavy(dev, seed);

	plan.config.total_bytes = size / 8;
	plan.config.max_bytes = size / 32;
	return plan;
}

/* an arbitrary seed, and any seeds that have failed before */
static const uint64_t seeds[] = { 0x10 };

static void one_process(void)
{
	struct tsr_device dev = tsr_open();

	for (size_t i = 0; i < ARRAY_SIZE(seeds); i++) {
		struct wl_plan plan = heavy(&dev, tap_seed(seeds[i]));

		tap_join(tap_fork(wl_client, &plan));
		tell(plan.progress);
		require_eq(plan.progress->jobs, plan.jobs);
		require(plan.progress->parts > plan.jobs);
		if (plan.config.seed != seeds[i])
			break; /* the seed is from TESSERA_SEED */
	}
	tsr_close(&dev);
}

static void forced_cuts(void)
{
	struct tsr_device dev = tsr_open();
	struct wl_plan plan = heavy(&dev, tap_seed(0x20));

	plan.forced = DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL | DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM;
	plan.jobs = wl_few(30);
	/* so large that objects that stay bound are sometimes in the way */
	plan.config.live_64ths = 60;
	tap_join(tap_fork(wl_client, &plan));
	tell(plan.progress);
	require(plan.progress->parts > plan.jobs);
	tsr_close(&dev);
}

/* Two clients that want too much, two that want little, a shared object. */
static void several_processes(void)
{
	struct tsr_device dev = tsr_open();
	uint64_t seed = tap_seed(0x30);
	struct wl_plan plans[4];
	pid_t pids[4];
	int shared = wl_shared_new(&dev);

	for (uint32_t i = 0; i < 4; i++) {
		plans[i] = i < 2 ? heavy(&dev, seed + i) : light(&dev, seed + i);
		plans[i].config.shared = shared;
		plans[i].config.total_bytes /= i < 2 ? 2 : 1;
		plans[i].jobs = wl_few(30);
		plans[i].abandon = i & 1;
		if (i == 1)
			plans[i].forced = DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM;
		pids[i] = tap_fork(wl_client, &plans[i]);
	}
	for (uint32_t i = 0; i < 4; i++) {
		tap_join(pids[i]);
		tell(plans[i].progress);
	}
	close(shared);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SPLIT-2 SPLIT-17 SPLIT-27 SWZ-11 SWZ-12 SWZ-13 SEG-30 PAGE-4 random workload, alone",
	  one_process, 0, 240 },
	{ "SPLIT-3 SPLIT-17 random workload, forced cuts", forced_cuts, 0, 240 },
	{ "SEG-8 SCHED-9 SPLIT-2 random workload, four processes", several_processes, 0, 240 },
};

TSR_TEST_MAIN(tests)
