// SPDX-License-Identifier: MIT
/*
 * A move back to the place that its object has yet to leave, behind somebody else's fence, while the kernel runs
 * out of memory at more and more of its allocations: the place stays what it was, nobody's. Needs a kernel with
 * fault injection and sw_sync.
 */
#include <string.h>
#include <unistd.h>

#include "foreign.h"
#include "inject.h"
#include "resident.h"
#include "stall.h"
#include "tsr.h"

#define VALUE 0x5eed

struct scene {
	struct tsr_device dev;
	const struct drm_tessera_query_segment *seg;
	struct tsr_bo bo, all; /* the first is in the way of the other */
};

static void want_all(void *arg)
{
	struct scene *scene = arg;

	__tsr_make_one(&scene->dev, &scene->all);
	pause();
}

/* a child wants its place, and gives up when it has been told to leave */
static void push_out(struct scene *scene)
{
	pid_t pid = tap_fork(want_all, scene);

	tsr_wait_for(tsr_bo_info(&scene->dev, &scene->bo).segment == 0);
	tap_kill(pid);
}

static uint64_t used(struct scene *scene)
{
	return tsr_query_memory(&scene->dev, scene->seg->id).used;
}

static void place_stays_nobodys(void)
{
	struct scene scene = { .dev = tsr_open() };
	uint32_t ctx = tsr_context_new(&scene.dev, 0), word, failed = 0, came = 0;
	uint64_t before, taken;
	int fence, timeline, dmabuf, rc;
	bool injected = true;

	tsr_inject_init();
	timeline = tsr_sw_sync_new(&fence);
	scene.seg = tsr_seg_hidden(&scene.dev);
	before = used(&scene);
	scene.bo = tsr_bo_new(&scene.dev, KiB(64), tsr_bit(scene.seg), 0);
	scene.all = tsr_bo_new(&scene.dev, scene.seg->size - before, tsr_bit(scene.seg), 0);
	tsr_gpu_fill(&scene.dev, ctx, &scene.bo, VALUE);
	dmabuf = tsr_export(&scene.dev, &scene.bo);
	tsr_dmabuf_put_fence(dmabuf, fence, DMA_BUF_SYNC_READ);
	for (unsigned int bytes = 0; injected; bytes += 128) {
		if (tsr_bo_info(&scene.dev, &scene.bo).segment)
			push_out(&scene);
		tsr_inject_from(bytes);
		rc = __tsr_submit_use(&scene.dev, ctx, &scene.bo, false);
		injected = tsr_inject_end();
		require_msg(!rc || (injected && rc == -ENOMEM), "after %u bytes: %s", bytes,
			    strerror(-rc));
		if (tsr_bo_info(&scene.dev, &scene.bo).segment)
			came++;
		else
			failed++;
		taken = used(&scene) - before;
		/* else it is free, and who takes it waits for the fence */
		require_msg(taken == scene.bo.size,
			    "after %u bytes: %llu are taken where %llu have yet to be left", bytes,
			    (unsigned long long)taken, (unsigned long long)scene.bo.size);
	}
	tap_note("%u failed, %u came", failed, came);
	require(failed && came);
	tsr_sw_sync_signal(timeline);
	tsr_gpu_read(&scene.dev, ctx, &scene.bo, scene.bo.size / 4 - 1, 1, &word);
	require_eq(word, VALUE);
	tsr_bo_free(&scene.dev, &scene.bo);
	close(dmabuf);
	/* and in the end all of it is free */
	require_ok(__tsr_make_one(&scene.dev, &scene.all));
	close(fence);
	close(timeline);
	tsr_close(&scene.dev);
}

static const struct tap_test tests[] = {
	{ "SCHED-2 PAGE-7 short of memory in a move to a place that is being left",
	  place_stays_nobodys, 0, 120 },
};

TSR_TEST_MAIN(tests)
