// SPDX-License-Identifier: MIT
/*
 * Foreign fences in reservations, on a device with preemption: jobs wait for them on the GPU, moves do not wait for
 * them. An object that has one stays out of memory until it has signalled. The fences are vgem's, which signals
 * them by itself after ten seconds: if that was too soon to prove anything, the test is done again.
 */
#include <errno.h>
#include <unistd.h>

#include <linux/dma-buf.h>

#include "client.h"
#include "foreign.h"
#include "held.h"
#include "memory.h"
#include "resident.h"
#include "stall.h"

#define ROUNDS 2
#define VALUE 0x600d

static int fence; /* inherited */

/* memory is its first choice; an aperture serves, too, if there is one in @more */
static struct tsr_bo bo_in(struct tsr_device *dev, uint32_t more)
{
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(dev);
	struct tsr_bo bo = tsr_bo_prefers(dev, 4096, seg, more, 0);

	tsr_gpu_fill(dev, tsr_context_new(dev, 0), &bo, VALUE);
	require_eq(tsr_bo_info(dev, &bo).segment, seg->id);
	tsr_evict_set(UINT32_MAX);
	require_eq(tsr_bo_info(dev, &bo).segment, 0);
	return bo;
}

static void read_word(struct tsr_device *dev, uint32_t ctx, const struct tsr_bo *bo)
{
	uint32_t word;

	tsr_gpu_read(dev, ctx, bo, bo->size / 4 - 1, 1, &word);
	require_eq(word, VALUE);
}

/* ---- an object that can be in memory only --------------------------------------------- */

static void submit_it(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t done = tsr_syncobj_new(&dev), ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = bo_in(&dev, 0);
	struct tsr_cmd cmd;

	tsr_fence_at(&dev, &bo, fence, DMA_BUF_SYNC_WRITE);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, false);
	require_ok(tsr_client_submit(client, &dev, ctx, &cmd, 0, done));
	require(tsr_fence_signalled(fence));
	require_eq(tsr_bo_info(&dev, &bo).segment, tsr_seg_hidden(&dev)->id);
	require_ok(tsr_syncobj_status(&dev, done));
	read_word(&dev, ctx, &bo);
	tsr_close(&dev);
}

static void list_it(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	struct tsr_bo bo = bo_in(&dev, 0);

	tsr_fence_at(&dev, &bo, fence, DMA_BUF_SYNC_WRITE);
	client->state->begun = 1;
	require_ok(__tsr_make_one(&dev, &bo));
	client->state->returned = 1;
	require(tsr_fence_signalled(fence));
	require_eq(tsr_bo_info(&dev, &bo).segment, tsr_seg_hidden(&dev)->id);
	tsr_close(&dev);
}

/* the call waits, with nothing in the engine, and a signal ends that; others do not wait */
static void waits_in_the_call(void (*fn)(struct tsr_client *client))
{
	struct tsr_device dev = tsr_open();
	struct tsr_client client;
	struct tsr_small small;

	tsr_small_init(&dev, &small, dev.render);
	for (int kill = 0; kill < 2; kill++) {
		struct tsr_foreign *foreign = tsr_foreign_need();

		fence = tsr_foreign_fence(foreign);
		tsr_client_start(&client, fn, 0);
		tsr_wait_for(client.state->begun);
		tsr_wait_for(tsr_fence_signalled(fence) || tsr_client_asleep(&client));
		tsr_small_run(&dev, &small);
		if (kill) {
			tsr_client_kill(&client);
		} else {
			tsr_foreign_signal(foreign, 0);
			tsr_client_join(&client);
		}
		tsr_small_run(&dev, &small);
		close(fence);
		tsr_foreign_close(foreign);
	}
	tsr_small_fini(&dev, &small);
	tsr_close(&dev);
}

static void submission_waits(void)
{
	waits_in_the_call(submit_it);
}

static void list_waits(void)
{
	waits_in_the_call(list_it);
}

/* ---- an object that can be in an aperture, too ---------------------------------------- */

/* SUBMIT does not wait: the object goes to the aperture, and its job waits on the GPU */
static void goes_to_an_aperture(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), rounds = 0;
	bool early;

	do {
		struct tsr_foreign *foreign = tsr_foreign_need();
		struct tsr_bo bo = bo_in(&dev, tsr_bit(tsr_seg_gart(&dev)));

		require_msg(rounds++ < ROUNDS, "a submission waits for a foreign fence");
		fence = tsr_foreign_fence(foreign);
		tsr_fence_at(&dev, &bo, fence, DMA_BUF_SYNC_WRITE);
		require_ok(__tsr_submit_use(&dev, ctx, &bo, true));
		require_eq(tsr_bo_info(&dev, &bo).segment, tsr_seg_gart(&dev)->id);
		require_err(__tsr_bo_wait(dev.fd, bo.handle, 0, 0), -EBUSY);
		early = !tsr_fence_signalled(fence);
		tsr_foreign_signal(foreign, 0);
		read_word(&dev, ctx, &bo);
		tsr_bo_free(&dev, &bo);
		close(fence);
		tsr_foreign_close(foreign);
	} while (!early);
	tsr_close(&dev);
}

/* ---- many at one object ------------------------------------------------------------------ */

#define MANY 12

/*
 * What the client is charged for when a job waits for so many fences at an object. The object is in its
 * segment already: a paging job would be charged, too, until it has ended.
 */
static uint64_t job_behind(struct tsr_device *dev, uint32_t ctx, uint32_t fences)
{
	struct tsr_foreign *foreign = tsr_foreign_need();
	struct tsr_bo bo = tsr_bo_new(dev, 4096, tsr_bit(tsr_seg_gart(dev)), 0);
	uint64_t bytes;
	int sync_file;

	tsr_gpu_fill(dev, ctx, &bo, VALUE);
	for (uint32_t i = 0; i < fences; i++) {
		sync_file = tsr_foreign_fence(foreign);
		tsr_fence_at(dev, &bo, sync_file, DMA_BUF_SYNC_WRITE);
		close(sync_file);
	}
	tsr_wait_for(tsr_query_client(dev).work_bytes == 0);
	require_ok(__tsr_submit_use(dev, ctx, &bo, true));
	bytes = tsr_query_client(dev).work_bytes;
	tsr_foreign_signal(foreign, 1);
	require_err(__tsr_bo_wait(dev->fd, bo.handle, 0, 0), -EBUSY);
	tsr_foreign_close(foreign);
	tsr_bo_wait(dev, &bo);
	tsr_bo_free(dev, &bo);
	return bytes;
}

/* who submits is charged for what it takes to wait for them */
static void many_at_one_object(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	uint64_t one = job_behind(&dev, ctx, 1), many = job_behind(&dev, ctx, MANY);

	tap_note("%llu bytes behind one, %llu behind %u", (unsigned long long)one,
		 (unsigned long long)many, MANY);
	require(many >= one + (MANY - 1) * 64);
	tsr_close(&dev);
}

/* ---- fences of this device ---------------------------------------------------------------- */

#define WAITS 1024
#define JOBS 64

static void submit_syncs(struct tsr_device *dev, uint32_t ctx, const struct drm_tessera_sync *syncs,
			 uint32_t count)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	require_ok(__tsr_submit_syncs(dev, ctx, &cmd, syncs, count));
	tsr_cmd_fini(&cmd);
}

/* The kernel's memory for jobs each of which waits for a fence so many times. */
static uint64_t kernel_memory_for(struct tsr_device *dev, uint32_t ctx, uint32_t handle)
{
	struct drm_tessera_sync syncs[WAITS];
	uint64_t before, most = 0, now;

	for (uint32_t i = 0; i < WAITS; i++)
		syncs[i] = (struct drm_tessera_sync){ .handle = handle };
	submit_syncs(dev, ctx, syncs, WAITS);
	before = tsr_meminfo("SUnreclaim");
	for (uint32_t i = 0; i < JOBS; i++) {
		submit_syncs(dev, ctx, syncs, WAITS);
		now = tsr_meminfo("SUnreclaim");
		most = now > before + most ? now - before : most;
	}
	tap_note("%llu KiB for %u jobs", (unsigned long long)most >> 10, JOBS);
	return most;
}

/* a job that waits for one fence a thousand times takes no more memory than one that waits for it once */
static void many_waits_for_one(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0);
	uint64_t most;

	if (tap_slow())
		tap_skip("this kernel keeps freed memory for a while");
	tsr_held_fill(&held, &bo, 1, 1);
	most = kernel_memory_for(&dev, tsr_context_new(&dev, 0), held.done);
	require(tsr_held_waits(&held));
	/* of which a hundred bytes for each wait would be 6 MiB */
	require(most < MiB(4));
	tsr_held_go(&held);
	tsr_held_close(&held);
	tsr_close(&dev);
}

/* nor one that waits for a foreign fence a thousand times */
static void many_waits_for_a_foreign_one(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_foreign *foreign = tsr_foreign_need();
	uint32_t in = tsr_syncobj_new(&dev);
	int sync_file = tsr_foreign_fence(foreign);
	uint64_t most;

	if (tap_slow())
		tap_skip("this kernel keeps freed memory for a while");
	tsr_syncobj_import(&dev, in, sync_file);
	most = kernel_memory_for(&dev, tsr_context_new(&dev, 0), in);
	require(!tsr_fence_signalled(sync_file));
	require(most < MiB(4));
	tsr_foreign_signal(foreign, 0);
	close(sync_file);
	tsr_foreign_close(foreign);
	tsr_close(&dev);
}

/* points of a timeline that a job is to signal are charged to its client */
static void points_are_charged(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0);
	uint32_t ctx = tsr_context_new(&dev, 0), timeline = tsr_syncobj_new(&dev);
	struct drm_tessera_sync syncs[1 + MANY] = { { .handle = held.done } };
	uint64_t none, one, many;

	for (uint32_t i = 1; i <= MANY; i++)
		syncs[i] = (struct drm_tessera_sync){ .handle = timeline,
						      .flags = DRM_TESSERA_SYNC_SIGNAL |
							       DRM_TESSERA_SYNC_TIMELINE,
						      .point = i };
	/* no paging job is charged later on */
	tsr_gpu_fill(&dev, ctx, &bo, VALUE);
	tsr_wait_for(tsr_query_client(&dev).work_bytes == 0);
	tsr_held_fill(&held, &bo, 1, 1);
	none = tsr_query_client(&dev).work_bytes;
	submit_syncs(&dev, ctx, syncs, 1);
	one = tsr_query_client(&dev).work_bytes - none;
	submit_syncs(&dev, ctx, syncs, 1 + MANY);
	many = tsr_query_client(&dev).work_bytes - none - one;
	require(tsr_held_waits(&held));
	tap_note("%llu bytes with none, %llu with %u", (unsigned long long)one,
		 (unsigned long long)many, MANY);
	require(many >= one + MANY * 64);
	tsr_held_go(&held);
	tsr_held_close(&held);
	tsr_wait_for(tsr_query_client(&dev).work_bytes == 0);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SCHED-2 a job that moves what has a foreign fence waits in the call", submission_waits,
	  0, 0 },
	{ "SCHED-2 RES-2 making resident what has a foreign fence waits in the call", list_waits, 0,
	  0 },
	{ "SCHED-5 what has a foreign fence goes to an aperture", goes_to_an_aperture, 0, 0 },
	{ "SCHED-2 a job behind many foreign fences", many_at_one_object, 0, 0 },
	{ "SCHED-2 a job that waits for one fence many times", many_waits_for_one, 0, 0 },
	{ "SCHED-2 a job that waits for one foreign fence many times", many_waits_for_a_foreign_one,
	  0, 0 },
	{ "SCHED-2 points of a timeline are charged", points_are_charged, 0, 0 },
};

TSR_TEST_MAIN(tests)
