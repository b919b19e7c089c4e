// SPDX-License-Identifier: MIT
/*
 * Who waits for a place that an object of ours has yet to leave, behind others' fences, and what we may do meanwhile.
 * Where it fails for want of memory is in test-leave-fail.c.
 */
#include <unistd.h>

#include "foreign.h"
#include "resident.h"
#include "stall.h"
#include "tsr.h"

/* an object of ours, which is told to leave for B, a child that waits for that */
struct scene {
	struct tsr_device dev;
	struct tsr_foreign *foreign;
	struct tsr_bo late, small;
	uint64_t bytes; /* that B wants */
	pid_t b;
};

static struct tsr_bo hidden_bo(struct tsr_device *dev, uint64_t bytes)
{
	return tsr_bo_new(dev, bytes, tsr_bit(tsr_seg_hidden(dev)), 0);
}

static void want(void *arg)
{
	const struct scene *scene = arg;
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = hidden_bo(&dev, scene->bytes);

	require_ok(__tsr_submit_use(&dev, tsr_context_new(&dev, 0), &bo, true));
	tsr_close(&dev);
}

static void put_fence(struct scene *scene)
{
	int dmabuf = tsr_export(&scene->dev, &scene->late);
	int fence = tsr_foreign_fence(scene->foreign);

	tsr_dmabuf_put_fence(dmabuf, fence, DMA_BUF_SYNC_READ);
	close(fence);
	close(dmabuf);
}

/* both want so many eighths of hidden memory */
static struct scene scene_begin(uint64_t ours, uint64_t theirs)
{
	struct scene scene = { .dev = tsr_open(), .foreign = tsr_foreign_need() };
	uint64_t eighth = tsr_seg_hidden(&scene.dev)->size / 8;

	tsr_knob("demand_window_ms", TSR_FOR_GOOD);
	scene.late = hidden_bo(&scene.dev, ours * eighth);
	scene.bytes = theirs * eighth;
	tsr_gpu_fill(&scene.dev, tsr_context_new(&scene.dev, 0), &scene.late, 1);
	scene.small = hidden_bo(&scene.dev, 4096);
	tsr_gpu_fill(&scene.dev, tsr_context_new(&scene.dev, 0), &scene.small, 2);
	put_fence(&scene);
	scene.b = tap_fork(want, &scene);
	tsr_wait_for(tsr_is_waiting(scene.b, "space"));
	require_eq(tsr_bo_info(&scene.dev, &scene.late).segment, 0);
	return scene;
}

/* B gets what it wants in the end */
static void scene_end(struct scene *scene)
{
	tsr_foreign_signal(scene->foreign, 0);
	tap_join(scene->b);
	tsr_foreign_close(scene->foreign);
	tsr_close(&scene->dev);
}

/* we come back to it, which we may within our share: then B has us leave again */
static void taken_back(void)
{
	struct scene scene = scene_begin(3, 6);
	uint32_t sync = tsr_syncobj_new(&scene.dev);
	struct drm_tessera_make_resident out;

	require_ok(__tsr_make_resident(scene.dev.fd, &scene.late.handle, 1, sync, &out));
	require_ok(__tsr_evict_one(&scene.dev, &scene.late));
	scene_end(&scene);
}

static void make_ours(void *arg)
{
	struct scene *scene = arg;

	/* B looks whether that is enough */
	tsr_bo_free(&scene->dev, &scene->small);
	__tsr_make_one(&scene->dev, &scene->late);
	pause();
}

/* and above it we may not: we could go on with that for ever */
static void not_taken_back(void)
{
	struct scene scene = scene_begin(5, 5);
	pid_t pid = tap_fork(make_ours, &scene);

	/* else it would be given up for too slow */
	tsr_wait_for(tsr_is_waiting(pid, "space") || tsr_bo_info(&scene.dev, &scene.late).segment);
	require_eq(tsr_bo_info(&scene.dev, &scene.late).segment, 0);
	tap_kill(pid);
	scene_end(&scene);
}

static const struct tap_test tests[] = {
	{ "SCHED-2 RES-2 who waits for a place that is taken back", taken_back, 0, 0 },
	{ "SCHED-2 RES-2 a place above the share is not taken back", not_taken_back, 0, 0 },
};

TSR_TEST_MAIN(tests)
