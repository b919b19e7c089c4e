// SPDX-License-Identifier: MIT
/*
 * Recovery from jobs that time out. No packet can hang an engine forever, so a
 * long job stands in for a hang, and the test ends its time (lib/hang.h). The
 * fence of the job must get -ETIME, later jobs of its context -ECANCELED, and
 * other contexts must not notice. A test of the timeout itself shortens it
 * (debugfs `job_timeout_ms`).
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "call.h"
#include "hang.h"
#include "host.h"
#include "pci.h"
#include "resident.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"
#include "vm.h"

static void fill_list(struct tsr_cmd *cmd, const struct tsr_bo *bo, uint32_t value)
{
	tsr_cmd_reset(cmd);
	tsr_cmd_bind_buffer(cmd, 0, bo, true);
	tsr_cmd_fill(cmd, 0, 0, (uint32_t)(bo->size / 4), value);
}

static struct tsr_bo staging(struct tsr_device *dev)
{
	struct tsr_bo bo = tsr_bo_new(dev, 65536, tsr_bit(tsr_seg_gart(dev)),
				      DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);

	tsr_bo_map(dev, &bo);
	return bo;
}

/* Count the traced resets. All must be of @engine. */
static uint32_t resets(const struct tsr_trace *trace, uint32_t engine)
{
	uint32_t n = 0;

	tsr_trace_for_each(trace, "engine_reset", ev) {
		require_eq(tsr_event_u64(ev, "engine"), engine);
		n++;
	}
	return n;
}

/*
 * The hanging job ends with -ETIME, later jobs of its context with -ECANCELED
 * without having run. Jobs of another context that follow it in the ring run.
 * Then the context is lost.
 */
static void guilty_and_innocent(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t guilty = tsr_context_new(&dev, 0), innocent = tsr_context_new(&dev, 0);
	struct tsr_bo a = staging(&dev), b = staging(&dev);
	uint32_t queued[4], others[4];
	struct drm_tessera_context_status status;
	struct drm_tessera_submit args;
	struct tsr_trace trace;
	struct tsr_hang hang;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_pattern_write(&a, 1);
	tsr_gpu_touch(&dev, innocent, &a);
	tsr_gpu_touch(&dev, innocent, &b);
	tsr_trace_start("engine_reset", NULL);
	tsr_hang_start(&dev, guilty, &hang);
	for (uint32_t i = 0; i < 4; i++) {
		queued[i] = tsr_syncobj_new(&dev);
		others[i] = tsr_syncobj_new(&dev);
		fill_list(&cmd, &a, 0xbad);
		tsr_submit(&dev, guilty, &cmd, 0, queued[i]);
		fill_list(&cmd, &b, 100 + i);
		tsr_submit(&dev, innocent, &cmd, 0, others[i]);
	}
	tsr_hang_expire(&hang);
	tsr_hang_end(&hang);
	for (uint32_t i = 0; i < 4; i++) {
		require_eq(tsr_syncobj_status(&dev, queued[i]), -ECANCELED);
		require_eq(tsr_syncobj_status(&dev, others[i]), 0);
	}
	tsr_pattern_check(&a, 1);
	tsr_words_check(b.map, b.size / 4, 103);

	fill_list(&cmd, &a, 0xbad);
	require_err(__tsr_submit(&dev, guilty, &cmd, 0, 0, &args), -EIO);
	status = tsr_context_status(&dev, guilty);
	require_eq(status.reset, DRM_TESSERA_RESET_GUILTY);
	require_eq(status.flags, DRM_TESSERA_STATUS_LOST);
	require_eq(status.hangs, 1);
	require_eq(status.device_resets, 0);
	status = tsr_context_status(&dev, innocent);
	require(!status.reset && !status.flags && !status.hangs && !status.device_resets);
	status.pad = 1;
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_CONTEXT_STATUS, &status), -EINVAL);
	tsr_context_free(&dev, guilty);
	status = (struct drm_tessera_context_status){ .id = guilty };
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_CONTEXT_STATUS, &status), -ENOENT);
	/* The client goes on with a new context. */
	guilty = tsr_context_new(&dev, 0);
	tsr_gpu_fill(&dev, guilty, &a, 7);
	tsr_words_check(a.map, a.size / 4, 7);
	trace = tsr_trace_stop();
	require_eq(resets(&trace, dev.render), 1);
	tsr_close(&dev);
}

#define NUM_OTHERS 7
/* less than half of tsr_job_timeout_short() */
#define BETWEEN_US (tap_slow() ? 600000u : 200000u)

/* In a new context: on a busy machine an earlier job may time out, too. */
static void nop_comes(struct tsr_device *dev)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	tsr_submit(dev, tsr_context_new(dev, 0), &cmd, 0, 0);
	tsr_cmd_fini(&cmd);
}

static void comes_in_turn(struct tsr_client *client)
{
	struct tsr_device dev = tsr_open();

	client->state->ready = true;
	/* A client has at most two jobs in the ring. */
	for (uint32_t i = 1; i <= 2; i++) {
		tsr_wait_for(client->state->begun == i);
		nop_comes(&dev);
		client->state->returned++;
	}
	tsr_close(&dev);
}

/*
 * The scheduler restarts its timer with each job that it hands over. Jobs come
 * so often that the timer never expires. The driver must check for a hang even
 * so. The timeout is lifted before the last job comes, so that the check is not
 * due to that job's timer.
 */
static void others_keep_coming(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_client other[NUM_OTHERS];
	struct tsr_hang hang;

	for (uint32_t i = 0; i < NUM_OTHERS; i++) {
		tsr_client_start(&other[i], comes_in_turn, i);
		tsr_wait_for((tsr_client_check(&other[i]), other[i].state->ready));
	}
	tsr_hang_start(&dev, tsr_context_new(&dev, 0), &hang);
	tsr_hang_begun(&hang);
	/* starts with the timer of the first job of the others */
	tsr_job_timeout_short();
	tsr_trace_start_kernel("workqueue/workqueue_queue_work", "workqueue == \"tessera-reset\"");
	for (uint32_t i = 0; i < 2 * NUM_OTHERS; i++) {
		struct tsr_client *client = &other[i % NUM_OTHERS];

		if (i == 2 * NUM_OTHERS - 1)
			tsr_job_timeout_lift();
		client->state->begun++;
		tsr_wait_for(client->state->returned == client->state->begun);
		usleep(BETWEEN_US);
	}
	tsr_wait_for(tsr_trace_so_far("workqueue_queue_work", 0));
	tsr_trace_stop();
	if (__tsr_syncobj_wait(dev.fd, hang.sync, 0, 0) == -ETIME)
		tsr_job_expire(dev.render);
	tsr_hang_end(&hang);
	for (uint32_t i = 0; i < NUM_OTHERS; i++)
		tsr_client_join(&other[i]);
	tsr_close(&dev);
}

struct parts {
	struct tsr_device *dev;
	const struct tsr_cmd *cmd;
	uint32_t ctx, num;
	int status;
};

static void submit_parts(void *arg)
{
	struct parts *parts = arg;

	parts->status = tsr_submit_status(parts->dev, parts->ctx, parts->cmd, &parts->num);
}

/*
 * A hang in the second of three parts: the first part's result stands, the
 * third part does not run.
 */
static void hang_in_a_part(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint64_t size = (seg->size * 3 / 4) & ~(uint64_t)4095;
	uint32_t ctx = tsr_context_new(&dev, 0), reader = tsr_context_new(&dev, 0);
	uint32_t words = (uint32_t)(size / 4), got[16];
	struct tsr_bo bos[3], out = staging(&dev);
	struct parts parts = { .dev = &dev, .ctx = ctx };
	struct drm_tessera_submit args;
	struct tsr_call call;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < 3; i++) {
		bos[i] = tsr_bo_new(&dev, size, tsr_bit(seg), DRM_TESSERA_BO_CPU_ACCESS);
		tsr_gpu_fill(&dev, reader, &bos[i], 1000 + i);
	}
	((uint32_t *)out.map)[0] = 0;
	for (uint32_t i = 0; i < 3; i++) {
		tsr_cmd_group_begin(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, &bos[i], true);
		if (i == 1)
			tsr_cmd_bind_buffer(&cmd, 1, &out, true);
		tsr_cmd_group_end(&cmd);
		tsr_cmd_fill(&cmd, 0, 0, words, 2000 + i);
		if (i == 1) {
			tsr_cmd_fill(&cmd, 1, 0, 1, 1);
			tsr_cmd_hang(&cmd, 0, words);
		}
	}
	tsr_job_timeout_lift();
	parts.cmd = &cmd;
	tsr_call_start(&call, submit_parts, &parts);
	/* the second part has begun */
	tsr_wait_for(*(volatile uint32_t *)out.map);
	tsr_job_expire(dev.render);
	tsr_call_join(&call);
	require_eq(parts.status, -ETIME);
	require_eq(parts.num, 3);
	require_err(__tsr_submit(&dev, ctx, &cmd, 0, 0, &args), -EIO);

	tsr_gpu_read(&dev, reader, &bos[0], 0, 16, got);
	tsr_words_check(got, 16, 2000);
	tsr_gpu_read(&dev, reader, &bos[0], words - 16, 16, got);
	tsr_words_check(got, 16, 2000);
	tsr_gpu_read(&dev, reader, &bos[2], 0, 16, got);
	tsr_words_check(got, 16, 1002);
	/* Nothing has leaked: the memory can be freed and allocated again. */
	for (uint32_t i = 0; i < 3; i++)
		tsr_bo_free(&dev, &bos[i]);
	tsr_gpu_fill(&dev, reader, &out, 3);
	tsr_words_check(out.map, out.size / 4, 3);
	tsr_close(&dev);
}

/*
 * The segment table, the microcode and all clients' memory survive an engine
 * reset.
 */
static void reset_keeps_the_device(void)
{
	struct tsr_registers regs = (tsr_pci_begin(), tsr_pci_registers());
	struct tsr_device dev = tsr_pci_open(), again;
	uint32_t ctx = tsr_context_new(&dev, 0), other = tsr_context_new(&dev, 0), got[64];
	struct tsr_bo vram = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_hidden(&dev)), 0);
	struct tsr_hang hang;

	tsr_gpu_fill(&dev, other, &vram, 0x5eed);
	tsr_hang_start(&dev, ctx, &hang);
	tsr_hang_expire(&hang);
	tsr_hang_end(&hang);
	again = tsr_pci_open();
	tsr_pci_same_segments(&regs, &again);
	tsr_gpu_read(&dev, other, &vram, 0, 64, got);
	tsr_words_check(got, 64, 0x5eed);
	tsr_gpu_blit(&dev, other);
	tsr_close(&again);
	tsr_close(&dev);
}

/*
 * Jobs that complete while their engine is being reset: the device delays each
 * job's fence value until the reset. No context is guilty, and all jobs have
 * run.
 */
static void ends_at_the_last_moment(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), other = tsr_context_new(&dev, 0), sync[3];
	const uint32_t contexts[3] = { ctx, ctx, other };
	struct drm_tessera_context_status status;
	struct tsr_bo bo = staging(&dev);
	struct tsr_trace trace;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_gpu_touch(&dev, ctx, &bo);
	tsr_trace_start("engine_reset", NULL);
	/*
	 * No event tells that the engine is at the fence. So the first job gets
	 * much time to reach it.
	 */
	tsr_job_timeout("4000");
	tsr_host_set("x-fence-gap-us", "1000000000");
	for (uint32_t i = 0; i < 3; i++) {
		sync[i] = tsr_syncobj_new(&dev);
		tsr_cmd_reset(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
		tsr_cmd_fill(&cmd, 0, i * 64, 64, i + 1);
		tsr_submit(&dev, contexts[i], &cmd, 0, sync[i]);
	}
	for (uint32_t i = 0; i < 3; i++) {
		int rc = tsr_syncobj_status(&dev, sync[i]);

		tsr_host_set("x-fence-gap-us", "0");
		require_msg(!rc, "job %u has run, expected it to succeed, it ended with %s", i,
			    strerror(-rc));
	}
	tsr_job_timeout_restore();
	trace = tsr_trace_stop();
	require(resets(&trace, dev.render));
	for (uint32_t i = 0; i < 3; i++) {
		status = tsr_context_status(&dev, contexts[i]);
		require(!status.reset && !status.flags && !status.hangs);
		tsr_words_check((uint32_t *)bo.map + i * 64, 64, i + 1);
		tsr_gpu_touch(&dev, contexts[i], &bo);
	}
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

#define HANGS 3

static void fill_until_told(void *arg)
{
	volatile bool *stop = arg;
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), rounds = 0;
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_hidden(&dev)), 0);
	uint32_t got[16];

	while (!*stop) {
		tsr_gpu_fill(&dev, ctx, &bo, ++rounds);
		tsr_gpu_read(&dev, ctx, &bo, 0, 16, got);
		tsr_words_check(got, 16, rounds);
	}
	tsr_close(&dev);
}

/* Repeated hangs beside clients that must not be affected. */
static void hangs_beside_work(void)
{
	struct tsr_device dev = tsr_open();
	volatile bool *stop = mmap(NULL, sizeof(*stop), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t workers[2];

	require(stop != MAP_FAILED);
	for (int i = 0; i < 2; i++)
		workers[i] = tap_fork(fill_until_told, (void *)stop);
	for (int i = 0; i < HANGS; i++) {
		uint32_t ctx = tsr_context_new(&dev, 0);
		struct tsr_hang hang;

		tsr_hang_start(&dev, ctx, &hang);
		tsr_hang_expire(&hang);
		tsr_hang_end(&hang);
		tsr_context_free(&dev, ctx);
	}
	*stop = true;
	for (int i = 0; i < 2; i++)
		tap_join(workers[i]);
	tsr_close(&dev);
}

/* After a reset, jobs must complete by interrupt, not by timeout. */
static void interrupts_after_a_reset(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), other = tsr_context_new(&dev, 0);
	struct tsr_bo bo = staging(&dev);
	struct tsr_hang hang;

	tsr_gpu_fill(&dev, other, &bo, 1);
	tsr_hang_start(&dev, ctx, &hang);
	tsr_hang_expire(&hang);
	tsr_hang_end(&hang);
	/* longer than this test may take */
	tsr_job_timeout("1000000");
	for (uint32_t i = 0; i < 3; i++)
		tsr_gpu_fill(&dev, other, &bo, 2 + i);
	tsr_job_timeout_restore();
	tsr_words_check(bo.map, bo.size / 4, 4);
	tsr_close(&dev);
}

/*
 * Only the paging job that hangs fails. Later page-ins of the same client
 * succeed.
 */
static void paging_hangs_alone(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t set = tsr_bit(tsr_seg_hidden(&dev)), ctx = tsr_context_new(&dev, 0), sync[3];
	pid_t expirer;
	struct tsr_bo bos[3];
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	expirer = tsr_hang_next(dev.paging, 1);
	for (uint32_t i = 0; i < 3; i++) {
		bos[i] = tsr_bo_new(&dev, KiB(64), set, 0);
		sync[i] = tsr_syncobj_new(&dev);
		fill_list(&cmd, &bos[i], i);
		tsr_submit(&dev, tsr_context_new(&dev, 0), &cmd, 0, sync[i]);
	}
	tap_join(expirer);
	require_eq(tsr_syncobj_status(&dev, sync[0]), -EIO);
	for (uint32_t i = 1; i < 3; i++)
		require_msg(!tsr_syncobj_status(&dev, sync[i]),
			    "expected only the hanging move to fail, another one failed, too");
	for (uint32_t i = 1; i < 3; i++)
		tsr_gpu_fill(&dev, ctx, &bos[i], i);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

/*
 * The object of a hanging page-in is lost. Its placement still holds another
 * client's bytes, so it must never be mapped. The job that hangs may be left
 * over from an earlier test; then the test tries again with another object.
 */
static void lost_is_not_mapped(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	uint32_t moved = tsr_syncobj_new(&dev), mapped = tsr_syncobj_new(&dev);
	pid_t expirer;

	do {
		struct tsr_bo bo = tsr_bo_new(&dev, KiB(64), tsr_bit(tsr_seg_hidden(&dev)), 0);
		const struct drm_tessera_vm_bind_op op = {
			.op = DRM_TESSERA_VM_BIND_MAP,
			.handle = bo.handle,
			.address = 0x100000000ull,
			.range = bo.size,
		};

		expirer = tsr_hang_next(dev.paging, 1);
		require_ok(__tsr_make_resident(dev.fd, &bo.handle, 1, moved, NULL));
		require_ok(__tsr_vm_bind(dev.fd, vm.id, &op, 1, 0, mapped));
		tap_join(expirer);
	} while (!tsr_syncobj_status(&dev, moved));
	require_msg(tsr_syncobj_status(&dev, mapped),
		    "expected the bind of an object whose page-in failed to fail, jobs would read "
		    "old contents of other clients");
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/*
 * The same for a move that the device reports as failed, with the page table
 * update after it in the ring already.
 */
static void failed_is_not_mapped_once(bool mapped_before)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo bo = tsr_bo_new(&dev, KiB(64), tsr_bit(tsr_seg_hidden(&dev)), 0);
	const uint64_t at = 0x100000000ull;
	uint32_t sync = tsr_syncobj_new(&dev);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, at, bo.size, true);
	tsr_cmd_fill(&cmd, 0, 0, 16, 1);
	if (mapped_before)
		tsr_vm_map(&dev, vm.id, &bo, 0, at, bo.size, 0);
	/*
	 * Set up the VM, so that the page tables are only written by the update
	 * under test.
	 */
	tsr_vm_map_null(&dev, vm.id, at + MiB(64), KiB(4));
	tsr_vm_fill(&vm, at + MiB(64), KiB(4), 1);
	memcpy(vm.cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));

	tsr_job_timeout("300000");
	tsr_engine_hang_next(dev.paging);
	require_ok(__tsr_make_resident(dev.fd, &bo.handle, 1, 0, NULL));
	tsr_wait_for(tsr_engine_hangs());
	if (!mapped_before)
		tsr_vm_map(&dev, vm.id, &bo, 0, at, bo.size, 0);
	require_ok(__tsr_submit_vm(&dev, vm.context, vm.at, tsr_cmd_bytes(&cmd), 0, sync));
	/* Reading the commands of the move fails. */
	tsr_host_set("x-fail-dma", "1");
	tsr_engine_release();
	require_msg(tsr_syncobj_status(&dev, sync) == -EIO,
		    "expected -EIO, a job wrote to an object whose page-in failed");
	tsr_job_timeout_restore();
	tsr_cmd_fini(&cmd);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

static void failed_is_not_mapped(void)
{
	failed_is_not_mapped_once(false);
	failed_is_not_mapped_once(true);
}

/*
 * Start a job with a first half of @half_ms and a very long second half of its
 * timeout. If the test was too slow for that, end the job and return false.
 */
static bool half_begin(struct tsr_device *dev, uint32_t ctx, uint32_t sync, uint32_t half_ms)
{
	uint64_t half = tap_now_ns() + half_ms * 1000000ull;
	struct tsr_cmd cmd;
	char whole[16];

	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	snprintf(whole, sizeof(whole), "%u", 2 * half_ms);
	tsr_job_timeout(whole);
	tsr_engine_hang_next(dev->render);
	tsr_submit(dev, ctx, &cmd, 0, sync);
	tsr_wait_for(tsr_engine_hangs());
	/*
	 * Applies to timers that start from now on, including the second half.
	 */
	tsr_job_timeout("300000");
	tsr_cmd_fini(&cmd);
	if (tap_now_ns() < half)
		return true;
	tsr_engine_release();
	tsr_syncobj_status(dev, sync);
	return false;
}

/*
 * A job's timeout runs in two halves, because the machine may have been stopped
 * during one of them. The end of the first half must not end the job.
 */
static void first_half(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t sync, ctx, half_ms = 1000;
	int64_t until;
	int rc;

	do {
		half_ms *= 2;
		ctx = tsr_context_new(&dev, 0);
		sync = tsr_syncobj_new(&dev);
	} while (!half_begin(&dev, ctx, sync, half_ms));
	until = (int64_t)tap_now_ns() + 2 * half_ms * 1000000ll;
	rc = __tsr_syncobj_wait(dev.fd, sync, 0, until);
	require_msg(rc == -ETIME,
		    "expected the job to run for its whole timeout, it was ended after half of it");
	tsr_engine_release();
	require_ok(tsr_syncobj_status(&dev, sync));
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "a hang: -ETIME, -ECANCELED, and other contexts are not affected", guilty_and_innocent, 0,
	  60 },
	{ "a hang is detected while other clients submit jobs", others_keep_coming, 0, 60 },
	{ "SPLIT-34 SPLIT-35 a hang in a part", hang_in_a_part, 0, 60 },
	{ "SEG-4 SEG-14 a reset keeps segments, microcode and memory", reset_keeps_the_device, 0,
	  60 },
	{ "repeated hangs beside other clients' work", hangs_beside_work, 0, 90 },
	{ "a move hangs alone", paging_hangs_alone, 0, 60 },
	{ "RES-6 an object lost in a move that hangs is not mapped", lost_is_not_mapped, 0, 60 },
	{ "PAGE-6 RES-6 an object lost in a move that fails is not mapped", failed_is_not_mapped,
	  TSR_EXPECT(DMA), 60 },
	{ "jobs complete by interrupt after a hang", interrupts_after_a_reset, 0, 60 },
	{ "jobs end while their engine is being reset", ends_at_the_last_moment, 0, 60 },
	{ "the first half of a timeout does not end the job", first_half, 0, 0 },
};

TSR_TEST_MAIN(tests)
