// SPDX-License-Identifier: MIT
/*
 * Random oversubscription with a reference model: create, upload, fill, copy, evict,
 * split, read back. Whatever the kernel does in between, every byte must be what the
 * model says. TESSERA_SEED repeats a run.
 */
#include <stdlib.h>

#include "tsr.h"
#include "workload.h"

struct plan {
	uint64_t seed;
	uint32_t jobs, steps;
	uint32_t context_flags;
	bool cpu; /* upload through CPU mappings as well */
};

static uint32_t new_context(struct tsr_device *dev, const struct plan *plan)
{
	struct drm_tessera_context_create args = {
		.flags = plan->context_flags,
		.engine = dev->render,
	};

	if (plan->context_flags & DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM)
		args.split_seed = (uint32_t)plan->seed | 1;
	require_ok(__tsr_context_create(dev->fd, &args));
	return args.id;
}

/* the CPU writes part of an object, wherever it is now */
static void upload(struct workload *wl)
{
	struct wl_object *object = &wl->objects[tap_random(&wl->rng) % wl->num_objects];
	uint64_t words = object->bo.size / 4, at = tap_random(&wl->rng) % words;
	uint64_t count = 1 + tap_random(&wl->rng) % (words - at);
	uint32_t key = (uint32_t)tap_random(&wl->rng) & 0xff;
	uint32_t *map;

	if (count > 4096)
		count = 4096;
	tsr_bo_wait(wl->dev, &object->bo);
	map = tsr_bo_map(wl->dev, &object->bo);
	for (uint64_t i = at; i < at + count; i++) {
		require_msg(map[i] == object->model[i], "CPU sees 0x%08x, not 0x%08x, seed 0x%llx",
			    map[i], object->model[i], (unsigned long long)wl->config.seed);
		map[i] = tsr_pattern(key, i);
		object->model[i] = tsr_pattern(key, i);
	}
}

static void run(void *arg)
{
	const struct plan *plan = arg;
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	const struct wl_config config = {
		.seed = plan->seed,
		.supported = tsr_bit(vis),
		.live_bytes = vis->size * 5 / 8,
		.total_bytes = vis->size * 2,
		.min_bytes = 4096,
		.max_bytes = vis->size / 4,
		.flags = plan->cpu ? DRM_TESSERA_BO_CPU_ACCESS : 0,
	};
	uint32_t ctx = new_context(&dev, plan), parts = 0;
	struct workload wl;

	wl_init(&wl, &dev, &config);
	for (uint32_t i = 0; i < plan->jobs; i++) {
		uint32_t sync = tsr_syncobj_new(&dev), num;

		wl_build(&wl, plan->steps);
		num = tsr_submit(&dev, ctx, &wl.cmd, 0, sync);
		parts += num;
		/* mostly pipelined, sometimes looked at at once */
		if (tap_random(&wl.rng) % 8 == 0) {
			require_eq(tsr_syncobj_status(&dev, sync), 0);
			wl_check_object(&wl, (uint32_t)(tap_random(&wl.rng) % wl.num_objects));
		}
		if (plan->cpu && tap_random(&wl.rng) % 4 == 0)
			upload(&wl);
		if (tap_random(&wl.rng) % 8 == 0)
			wl_replace(&wl, (uint32_t)(tap_random(&wl.rng) % wl.num_objects));
		tsr_syncobj_free(&dev, sync);
	}
	wl_check(&wl);
	tap_note("seed 0x%llx: %u objects, %u jobs, %u parts", (unsigned long long)plan->seed,
		 wl.num_objects, plan->jobs, parts);
	require(parts >= plan->jobs);
	wl_fini(&wl);
	tsr_close(&dev);
}

static uint32_t jobs(uint32_t count)
{
	return tap_slow() ? count / 5 + 1 : count;
}

static void one_process(void)
{
	struct plan plan = { .seed = tap_seed(1), .jobs = jobs(100), .steps = 8 };

	run(&plan);
}

static void with_cpu_uploads(void)
{
	struct plan plan = { .seed = tap_seed(2), .jobs = jobs(100), .steps = 4, .cpu = true };

	run(&plan);
}

static void forced_cuts(void)
{
	struct plan plan = { .seed = tap_seed(3),
			     .jobs = jobs(60),
			     .steps = 8,
			     .context_flags = DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL };

	run(&plan);
	plan.context_flags = DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM;
	run(&plan);
}

/* the knob for all contexts, whatever they were created with */
static void forced_by_debugfs(void)
{
	struct plan plan = { .seed = tap_seed(7), .jobs = jobs(30), .steps = 6 };
	struct tsr_device dev = tsr_open();
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
		require_ok(tsr_debugfs_write("force_split", modes[i]));
		require_eq(tsr_submit_status(&dev, ctx, &cmd, &parts[i]), 0);
	}
	tap_note("parts: %u, %u, %u", parts[0], parts[1], parts[2]);
	require_eq(parts[0], 1);
	require_eq(parts[1], 40);
	require(parts[2] > 1 && parts[2] < 40);
	require_ok(tsr_debugfs_write("force_split", "1"));
	run(&plan);
	require_ok(tsr_debugfs_write("force_split", "0"));
	tsr_close(&dev);
}

static void several_processes(void)
{
	uint64_t seed = tap_seed(4);
	struct plan plans[3];
	pid_t pids[3];

	for (uint32_t i = 0; i < 3; i++) {
		plans[i] = (struct plan){
			.seed = seed + i,
			.jobs = jobs(50),
			.steps = 6,
			.cpu = i == 1,
			.context_flags = i == 2 ? DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM : 0
		};
		pids[i] = tap_fork(run, &plans[i]);
	}
	for (uint32_t i = 0; i < 3; i++)
		tap_join(pids[i]);
}

/* ten times the segment in one submission */
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
	{ "SPLIT-2 SWZ-11 random oversubscription, one process", one_process, 0, 180 },
	{ "SWZ-13 random oversubscription with CPU uploads", with_cpu_uploads, 0, 180 },
	{ "SPLIT-3 random oversubscription, forced cuts", forced_cuts, 0, 180 },
	{ "SPLIT-3 forced for all contexts by debugfs", forced_by_debugfs, 0, 180 },
	{ "SEG-8 SCHED-2 random oversubscription, several processes", several_processes, 0, 180 },
	{ "SPLIT-1 SPLIT-19 ten times the segment in one submission", ten_times_in_one_job, 0, 0 },
};

TSR_TEST_MAIN(tests)
