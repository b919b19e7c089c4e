// SPDX-License-Identifier: MIT
/*
 * A function reset while the driver is bound (test-reset.args puts the device
 * behind a port of its own). Jobs and waits must end, lost objects must say so
 * with SIGBUS or -EIO, and new work must run afterwards.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/dma-buf.h>

#include "foreign.h"
#include "host.h"
#include "memory.h"
#include "pci.h"
#include "stall.h"
#include "tsr.h"

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;
static sigjmp_buf on_bus_error;

static void bus_error(int sig)
{
	siglongjmp(on_bus_error, 1);
}

static bool access_raises_sigbus(volatile uint32_t *word)
{
	bool raised = true;

	signal(SIGBUS, bus_error);
	if (!sigsetjmp(on_bus_error, 1)) {
		(void)word[0];
		raised = false;
	}
	signal(SIGBUS, SIG_DFL);
	return raised;
}

static void new_work_runs(struct tsr_device *dev)
{
	uint32_t ctx = tsr_context_new(dev, 0), word;
	const struct drm_tessera_query_segment *segs[] = { tsr_seg_visible(dev),
							   tsr_seg_hidden(dev), tsr_seg_gart(dev) };

	for (uint32_t i = 0; i < ARRAY_SIZE(segs); i++) {
		struct tsr_bo bo = tsr_bo_new(dev, MiB(1), tsr_bit(segs[i]), 0);

		tsr_gpu_read(dev, ctx, &bo, 7, 1, &word);
		require_eq(word, 0);
		tsr_gpu_fill(dev, ctx, &bo, 0x44 + i);
		tsr_gpu_read(dev, ctx, &bo, 7, 1, &word);
		require_eq(word, 0x44 + i);
		tsr_bo_free(dev, &bo);
	}
	tsr_gpu_blit(dev, ctx);
	tsr_context_free(dev, ctx);
}

static uint32_t device_resets(struct tsr_device *dev)
{
	struct drm_tessera_query_device info;
	uint32_t one = 1;

	require_ok(__tsr_query(dev->fd, DRM_TESSERA_QUERY_DEVICE, sizeof(info), &one, &info));
	return info.device_resets;
}

/*
 * Bytes in system memory survive. Bytes that only VRAM held are lost, and
 * accesses fail.
 */
static void contents(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t vis = tsr_bit(tsr_seg_visible(&dev)), gart = tsr_bit(tsr_seg_gart(&dev));
	uint32_t ctx = tsr_context_new(&dev, 0), word;
	/* the second one has older bytes in its system pages, too */
	struct tsr_bo drawn[] = { tsr_bo_new(&dev, MiB(1), vis, cpu),
				  tsr_bo_new(&dev, MiB(1), vis, cpu) };
	struct tsr_bo texture = tsr_bo_new(&dev, MiB(1), vis, cpu);
	struct tsr_bo window = tsr_bo_new(&dev, MiB(1), gart, cpu | DRM_TESSERA_BO_CPU_CACHED);
	struct tsr_bo away = tsr_bo_new(&dev, MiB(1), vis, cpu);
	struct drm_tessera_context_status status;
	struct drm_tessera_submit args;
	struct tsr_cmd cmd;

	tsr_pci_can_reset();
	tsr_knob("keep_system_copy", "1");
	tsr_bo_map(&dev, &texture);
	tsr_pattern_write(&texture, 1);
	tsr_bo_map(&dev, &away);
	tsr_pattern_write(&away, 2);
	tsr_bo_map(&dev, &drawn[1]);
	tsr_pattern_write(&drawn[1], 5);
	for (uint32_t i = 0; i < ARRAY_SIZE(drawn); i++)
		tsr_gpu_fill(&dev, ctx, &drawn[i], 3);
	tsr_bo_map(&dev, &drawn[0]);
	tsr_words_check(drawn[0].map, drawn[0].size / 4, 3);
	tsr_gpu_fill(&dev, ctx, &window, 4);
	tsr_bo_map(&dev, &window);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &texture, false);
	tsr_submit_done(&dev, ctx, &cmd);
	require_eq(tsr_bo_info(&dev, &texture).segment, tsr_seg_visible(&dev)->id);

	tsr_pci_reset();

	/* old contexts are lost, new ones work */
	require_err(__tsr_submit(&dev, ctx, &cmd, 0, 0, &args), -EIO);
	status = tsr_context_status(&dev, ctx);
	require_eq(status.reset, DRM_TESSERA_RESET_INNOCENT);
	require_eq(status.flags, DRM_TESSERA_STATUS_LOST);
	require_eq(status.hangs, 0);
	require_eq(status.device_resets, 1);
	ctx = tsr_context_new(&dev, 0);
	status = tsr_context_status(&dev, ctx);
	require(!status.reset && !status.flags && !status.hangs && !status.device_resets);
	require_eq(device_resets(&dev), dev.info.device_resets + 1);
	tsr_gpu_read(&dev, ctx, &texture, 17, 1, &word);
	tsr_pattern_require(word, 1, 17);
	tsr_pattern_check(&texture, 1);
	tsr_gpu_read(&dev, ctx, &away, 17, 1, &word);
	tsr_pattern_require(word, 2, 17);
	tsr_words_check(window.map, window.size / 4, 4);
	tsr_gpu_read(&dev, ctx, &window, 17, 1, &word);
	require_eq(word, 4);

	for (uint32_t i = 0; i < ARRAY_SIZE(drawn); i++) {
		require(access_raises_sigbus(drawn[i].map));
		require_err(tsr_proc_mem_read(drawn[i].map, &word, sizeof(word)), -EIO);
		tsr_cmd_reset(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, &drawn[i], false);
		require_err(__tsr_submit(&dev, ctx, &cmd, 0, 0, &args), -EIO);
	}
	new_work_runs(&dev);
	tsr_close(&dev);
}

/*
 * An object without a system copy that lost its bytes with the device. TTM must
 * find nothing of it to swap out.
 */
static void nothing_to_swap(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t vis = tsr_bit(tsr_seg_visible(&dev)), ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), vis, cpu);
	struct tsr_cmd cmd;

	tsr_pci_can_reset();
	tsr_swap_out_objects();
	tsr_bo_map(&dev, &bo);
	tsr_pattern_write(&bo, 1);
	tsr_knob("retain_limit_pages", "0");
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, false);
	tsr_submit_done(&dev, ctx, &cmd);
	tsr_wait_for(!tsr_num_clean());
	tsr_pci_reset();
	require(access_raises_sigbus(bo.map));
	require_eq(tsr_swap_out_objects(), 0);
	tsr_knob_restore("retain_limit_pages");
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

/* Jobs in the ring end, and jobs that wait behind them. No wait hangs. */
static void jobs_end(void)
{
	struct tsr_device dev = tsr_open(), other = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), sync = tsr_syncobj_new(&dev);
	struct tsr_cmd cmd;
	int status;

	tsr_pci_can_reset();
	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	for (int round = 0; round < 3; round++) {
		struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_hidden(&dev)), 0);
		struct tsr_stuck stuck = tsr_stuck_start(&dev, ctx);

		require_ok(__tsr_submit_use(&dev, ctx, &bo, true));
		tsr_submit(&dev, ctx, &cmd, 0, sync);
		tsr_pci_reset();
		status = tsr_syncobj_status(&dev, sync);
		require_msg(status == -ECANCELED || status == -EIO, "status %d", status);
		status = tsr_syncobj_status(&dev, stuck.sync);
		require_msg(status == -ECANCELED, "status %d", status);
		tsr_syncobj_free(&dev, stuck.sync);
		tsr_bo_wait(&dev, &bo);
		tsr_bo_free(&dev, &bo);
		tsr_context_free(&dev, ctx);
		ctx = tsr_context_new(&dev, 0);
		new_work_runs(&other);
	}
	tsr_cmd_fini(&cmd);
	tsr_close(&other);
	tsr_close(&dev);
}

static int fence; /* inherited by the child */

static void submit_behind_fence(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	struct tsr_small small;

	/* the reset lost its context */
	require_err(tsr_small_behind(client, &dev, &small, fence), -EIO);
	tsr_close(&dev);
}

/* A reset does not wait for a submission that waits for a foreign fence. */
static void behind_fence(uint64_t in_reservation)
{
	struct tsr_device dev = tsr_open();
	int timeline = tsr_sw_sync_new(&fence);
	struct tsr_client client;

	tsr_pci_can_reset();
	tsr_client_start(&client, submit_behind_fence, in_reservation);
	tsr_wait_for(tsr_is_waiting(client.pid, "foreign"));
	tsr_pci_reset();
	require(!client.state->returned);
	tsr_sw_sync_signal(timeline);
	tsr_client_join(&client);
	new_work_runs(&dev);
	close(fence);
	close(timeline);
	tsr_close(&dev);
}

/*
 * vgem's fences expire after ten seconds. A reset that returns before that has
 * not waited for one; a slow round is repeated.
 */
#define ROUNDS 3

/*
 * Objects with a foreign fence in their reservation: the reset does not wait
 * for it, and the objects lose nothing.
 */
static void others_go_on(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev)), ctx, rounds = 0;
	struct tsr_bo bos[3];
	bool early;

	tsr_pci_can_reset();
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = tsr_bo_new(&dev, KiB(64), gart, cpu | DRM_TESSERA_BO_CPU_CACHED);
		tsr_bo_map(&dev, &bos[i]);
	}
	do {
		struct tsr_foreign *foreign = tsr_foreign_need();

		ctx = tsr_context_new(&dev, 0);
		for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
			tsr_gpu_fill(&dev, ctx, &bos[i], 10 * rounds + i);
		fence = tsr_foreign_fence(foreign);
		for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
			tsr_fence_at(&dev, &bos[i], fence, DMA_BUF_SYNC_WRITE);
		tsr_pci_reset();
		early = !tsr_fence_signalled(fence);
		for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
			tsr_words_check(bos[i].map, KiB(64) / 4, 10 * rounds + i);
		tsr_foreign_signal(foreign, 0);
		new_work_runs(&dev);
		close(fence);
		tsr_foreign_close(foreign);
		require_msg(early || ++rounds < ROUNDS,
			    "expected the resets not to wait for foreign fences");
	} while (!early);
	tsr_close(&dev);
}

static void behind_a_fence(void)
{
	behind_fence(false);
}

static void behind_a_fence_of_an_object(void)
{
	behind_fence(true);
}

/*
 * The device is reset while an object is being copied out of VRAM. Its bytes
 * are lost, and accesses must fail instead of showing the incomplete copy.
 */
static void leaving(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *hidden = tsr_seg_hidden(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo =
		tsr_bo_new(&dev, KiB(64), tsr_bit(hidden) | tsr_bit(tsr_seg_gart(&dev)), cpu);
	struct tsr_bo all = tsr_bo_new(&dev, hidden->size, tsr_bit(hidden), 0);

	tsr_pci_can_reset();
	tsr_gpu_fill(&dev, ctx, &bo, 8);
	require_eq(tsr_bo_info(&dev, &bo).segment, hidden->id);
	tsr_bo_map(&dev, &bo);
	tsr_engine_hang_next(dev.paging);
	require_ok(__tsr_submit_use(&dev, ctx, &all, true));
	require_eq(tsr_bo_info(&dev, &bo).segment, 0);
	tsr_wait_for(tsr_engine_hangs());
	tsr_pci_reset();
	tsr_engine_release();
	require(access_raises_sigbus(bo.map));
	new_work_runs(&dev);
	tsr_close(&dev);
}

/*
 * A submission that waits for space. The object that occupies it was closed,
 * and is destroyed when a foreign fence signals.
 */
static void submit_without_space(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	const struct drm_tessera_query_segment *hidden = tsr_seg_hidden(&dev);
	uint64_t size = hidden->size * 5 / 8 & ~UINT64_C(4095);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo dying = tsr_bo_new(&dev, size, tsr_bit(hidden), 0);
	struct tsr_bo bo = tsr_bo_new(&dev, size, tsr_bit(hidden), 0);
	struct tsr_cmd cmd;

	tsr_gpu_touch(&dev, ctx, &dying);
	tsr_fence_at(&dev, &dying, fence, DMA_BUF_SYNC_WRITE);
	tsr_bo_free(&dev, &dying);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	require_eq(tsr_client_submit(client, &dev, ctx, &cmd, 0, 0), -EIO);
	tsr_close(&dev);
}

/* A reset ends such a submission with -EIO, without waiting for the fence. */
static void without_space(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_foreign *foreign = tsr_foreign_need();
	struct tsr_client client;

	tsr_pci_can_reset();
	fence = tsr_foreign_fence(foreign);
	tsr_client_start(&client, submit_without_space, 0);
	tsr_wait_for(client.state->begun);
	tsr_wait_for(tsr_client_asleep(&client));
	require(!client.state->returned);
	tsr_pci_reset();
	require_msg(!tsr_fence_signalled(fence),
		    "expected the reset not to wait for foreign fences");
	tsr_client_join(&client);
	tsr_foreign_signal(foreign, 0);
	new_work_runs(&dev);
	close(fence);
	tsr_foreign_close(foreign);
	tsr_close(&dev);
}

static volatile bool *stop;

/* Creates and uses objects, and accesses them by the CPU. May get errors. */
static void busy_client(void *arg)
{
	struct tsr_device dev = tsr_open();
	uint32_t vis = tsr_bit(tsr_seg_visible(&dev));
	uint64_t rng = 5 + (uintptr_t)arg;

	while (!*stop) {
		struct drm_tessera_context_create args = { .engine = dev.render };
		struct tsr_bo bo = tsr_bo_new(&dev, MiB(1 + tap_random(&rng) % 6), vis, cpu);
		struct drm_tessera_submit submit;
		struct tsr_cmd cmd;
		int rc;

		require_ok(__tsr_context_create(dev.fd, &args));
		tsr_cmd_init(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
		tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(bo.size / 4), 9);
		for (int i = 0; i < 4; i++) {
			rc = __tsr_submit(&dev, args.id, &cmd, 0, 0, &submit);
			require_msg(!rc || rc == -EIO, "submit: %d", rc);
		}
		tsr_bo_map(&dev, &bo);
		(void)access_raises_sigbus((uint32_t *)bo.map + 100);
		tsr_cmd_fini(&cmd);
		tsr_bo_free(&dev, &bo);
		tsr_context_free(&dev, args.id);
	}
	tsr_close(&dev);
}

/*
 * Creates contexts during resets. Each one either runs jobs or is lost: once a
 * job was refused or cancelled, SUBMIT must fail with -EIO.
 */
static void make_contexts(void *arg)
{
	struct tsr_device dev = tsr_open();
	struct tsr_small small;

	(void)arg;
	while (!*stop) {
		int status;

		tsr_small_init(&dev, &small, dev.render);
		for (int i = 0; i < 3; i++) {
			struct drm_tessera_submit args;

			status = __tsr_submit(&dev, small.ctx, &small.cmd, 0, small.sync, &args);
			status = status ?: tsr_syncobj_status(&dev, small.sync);
			require_msg(!status || status == -EIO || status == -ECANCELED, "status %d",
				    status);
			/* a context that failed once stays lost */
			if (!status)
				continue;
			require_err(__tsr_submit(&dev, small.ctx, &small.cmd, 0, 0, &args), -EIO);
		}
		tsr_small_fini(&dev, &small);
	}
	tsr_close(&dev);
}

static void contexts_come_and_go(void)
{
	struct tsr_device dev = tsr_open();
	pid_t pids[2];

	tsr_pci_can_reset();
	stop = tsr_shared(sizeof(*stop));
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		pids[i] = tap_fork(make_contexts, NULL);
	for (int i = 0; i < 10; i++) {
		usleep(20000);
		tsr_pci_reset();
	}
	*stop = true;
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		tap_join(pids[i]);
	new_work_runs(&dev);
	tsr_close(&dev);
}

static void resets_under_load(void)
{
	struct tsr_device dev = tsr_open();
	pid_t pids[3];

	tsr_pci_can_reset();
	stop = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	require((void *)stop != MAP_FAILED);
	for (uintptr_t i = 0; i < ARRAY_SIZE(pids); i++)
		pids[i] = tap_fork(busy_client, (void *)i);
	for (int i = 0; i < 10; i++) {
		usleep(50000);
		tsr_pci_reset();
	}
	*stop = true;
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		tap_join(pids[i]);
	new_work_runs(&dev);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "a function reset: contents", contents, 0, 0 },
	{ "a function reset: nothing to swap", nothing_to_swap, 0, 0 },
	{ "a function reset: jobs end", jobs_end, 0, 0 },
	{ "function resets under load", resets_under_load, 0, 0 },
	{ "a function reset while a client waits for a foreign fence", behind_a_fence, 0, 0 },
	{ "a function reset while a client waits for an object's foreign fence",
	  behind_a_fence_of_an_object, 0, 0 },
	{ "a function reset beside foreign fences of objects", others_go_on, 0, 0 },
	{ "a function reset beside an eviction that has not ended", leaving, 0, 0 },
	{ "a function reset beside a submission that waits for space", without_space, 0, 0 },
	{ "a function reset beside contexts that come and go", contexts_come_and_go, 0, 0 },
};

TSR_TEST_MAIN(tests)
