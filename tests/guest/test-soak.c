// SPDX-License-Identifier: MIT
/*
 * Soak: four processes with random oversubscribed jobs that have to be split, cut at
 * random as well, checksummed all the time. TESSERA_SOAK_SECONDS sets how long
 * (some seconds by default), TESSERA_SEED repeats a run.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "tsr.h"
#include "workload.h"

#define PROCESSES 4

struct total {
	volatile uint64_t jobs, parts, checks;
};

struct soak {
	uint64_t seed, until;
	uint32_t index;
	struct total *total;
};

static uint32_t make_context(struct tsr_device *dev, uint64_t *rng)
{
	const uint32_t flags[] = { 0, 0, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL,
				   DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM };
	struct drm_tessera_context_create args = {
		.flags = flags[tap_random(rng) % 4],
		.engine = dev->render,
	};

	if (args.flags & DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM)
		args.split_seed = (uint32_t)tap_random(rng);
	require_ok(__tsr_context_create(dev->fd, &args));
	return args.id;
}

/* one life of a client: objects, some jobs, everything checked at the end */
static void one_life(const struct soak *soak, uint64_t *rng)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	const struct drm_tessera_query_segment *hid = tsr_seg_hidden(&dev);
	const struct wl_config config = {
		.seed = tap_random(rng),
		.supported = soak->index == 3 ? tsr_bit(vis) | tsr_bit(hid) : tsr_bit(vis),
		.live_bytes = vis->size / 2,
		.total_bytes = vis->size + tap_random(rng) % vis->size,
		.min_bytes = 4096,
		.max_bytes = vis->size / 6,
	};
	uint32_t ctx = make_context(&dev, rng);
	uint32_t count = 5 + (uint32_t)(tap_random(rng) % 20);
	struct total *total = &soak->total[soak->index];
	struct workload wl;

	wl_init(&wl, &dev, &config);
	for (uint32_t i = 0; i < count && tap_now_ns() < soak->until; i++) {
		wl_build(&wl, 1 + (uint32_t)(tap_random(rng) % 10));
		total->parts += tsr_submit(&dev, ctx, &wl.cmd, 0, 0);
		total->jobs++;
		if (tap_random(rng) % 4 == 0)
			wl_check_object(&wl, (uint32_t)(tap_random(rng) % wl.num_objects));
		if (tap_random(rng) % 4 == 0)
			wl_replace(&wl, (uint32_t)(tap_random(rng) % wl.num_objects));
		if (tap_random(rng) % 16 == 0) {
			tsr_context_free(&dev, ctx);
			ctx = make_context(&dev, rng);
			/* jobs of the old one may still be under way: its order is lost */
			for (uint32_t o = 0; o < wl.num_objects; o++)
				tsr_bo_wait(&dev, &wl.objects[o].bo);
		}
	}
	wl_check(&wl);
	total->checks += wl.num_objects;
	/* every other one leaves the mess to the kernel; a mapping would keep the file open */
	if (tap_random(rng) % 2) {
		wl_fini(&wl);
	} else {
		tsr_bo_unmap(&wl.staging);
		for (uint32_t i = 0; i < wl.num_objects; i++)
			free(wl.objects[i].model);
		free(wl.objects);
		tsr_cmd_fini(&wl.cmd);
	}
	tsr_close(&dev);
}

static void soak_process(void *arg)
{
	const struct soak *soak = arg;
	uint64_t rng = soak->seed;

	while (tap_now_ns() < soak->until)
		one_life(soak, &rng);
}

static void soak_all(void)
{
	uint64_t seconds = tap_env("SOAK_SECONDS", tap_slow() ? 15 : 10);
	uint64_t seed = tap_seed(0x50a4), until = tap_now_ns() + seconds * 1000000000ull;
	struct total sum = { 0 }, *total;
	struct soak soaks[PROCESSES];
	pid_t pids[PROCESSES];

	total = mmap(NULL, sizeof(*total) * PROCESSES, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	require(total != MAP_FAILED);
	for (uint32_t i = 0; i < PROCESSES; i++) {
		soaks[i] = (struct soak){
			.seed = seed + i, .until = until, .index = i, .total = total
		};
		pids[i] = tap_fork(soak_process, &soaks[i]);
	}
	for (uint32_t i = 0; i < PROCESSES; i++)
		tap_join(pids[i]);
	for (uint32_t i = 0; i < PROCESSES; i++) {
		/* nobody was starved */
		require_msg(total[i].jobs, "process %u got nothing done", i);
		sum.jobs += total[i].jobs;
		sum.parts += total[i].parts;
		sum.checks += total[i].checks;
	}
	tap_note("%llu s: %llu jobs, %llu parts, %llu objects checked", (unsigned long long)seconds,
		 (unsigned long long)sum.jobs, (unsigned long long)sum.parts,
		 (unsigned long long)sum.checks);
	require(sum.parts > sum.jobs);
}

static const struct tap_test tests[] = {
	{ "SPLIT-2 SPLIT-3 SCHED-2 SCHED-3 SEG-8 soak: four processes, split jobs, checksums",
	  soak_all, 0, 7200 },
};

TSR_TEST_MAIN(tests)
