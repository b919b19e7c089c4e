// SPDX-License-Identifier: MIT
/*
 * Calls with many fences. The kernel memory that the fences take must be
 * charged, and a call must repeat its checks after it has waited for a foreign
 * fence.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/dma-buf.h>
#include <linux/sync_file.h>

#include "call.h"
#include "client.h"
#include "foreign.h"
#include "held.h"
#include "memory.h"
#include "resident.h"
#include "stall.h"
#include "vm.h"

#define MANY 12
#define VALUE 0x600d
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

/* Kernel memory used by jobs that each wait for the same fence many times. */
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

/* A thousand waits for one fence take as much memory as a single one. */
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
	/* a hundred bytes per wait would be 6 MiB */
	require(most < MiB(4));
	tsr_held_go(&held);
	tsr_held_close(&held);
	tsr_close(&dev);
}

/* Timeline points that a job will signal are charged to its client. */
static void points_are_charged(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0);
	uint32_t ctx = tsr_context_new(&dev, 0), timeline = tsr_syncobj_new(&dev);
	struct drm_tessera_sync syncs[1 + MANY];
	struct tsr_held held;
	uint64_t none, one, many;

	for (uint32_t i = 1; i <= MANY; i++)
		syncs[i] = (struct drm_tessera_sync){ .handle = timeline,
						      .flags = DRM_TESSERA_SYNC_SIGNAL |
							       DRM_TESSERA_SYNC_TIMELINE,
						      .point = i };
	/* no paging job is charged later */
	tsr_gpu_fill(&dev, ctx, &bo, VALUE);
	tsr_wait_for(tsr_query_client(&dev).work_bytes == 0);
	held = tsr_held_open(&dev);
	syncs[0] = (struct drm_tessera_sync){ .handle = held.done };
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

/* ---- calls that wait for a foreign fence ----------------------------- */

struct waiting {
	struct tsr_call in;
	int (*fn)(struct waiting *waiting);
	struct tsr_device *dev;
	struct tsr_vm *vm;
	const struct tsr_cmd *cmd;
	const struct tsr_bo *bo;
	uint32_t ctx, sync;
	int rc;
};

static void waiting_call(void *arg)
{
	struct waiting *waiting = arg;

	waiting->rc = waiting->fn(waiting);
}

/* Returns when the call waits for the fence. */
static void waiting_start(struct waiting *waiting)
{
	tsr_call_start(&waiting->in, waiting_call, waiting);
	tsr_wait_for(waiting->in.returned || tsr_call_waits(&waiting->in, "foreign"));
	require(!waiting->in.returned);
}

static int waiting_end(struct waiting *waiting)
{
	tsr_call_join(&waiting->in);
	return waiting->rc;
}

static int call_submit(struct waiting *waiting)
{
	struct drm_tessera_submit args;

	return __tsr_submit(waiting->dev, waiting->ctx, waiting->cmd, waiting->sync, 0, &args);
}

static int call_submit_vm(struct waiting *waiting)
{
	struct tsr_vm *vm = waiting->vm;

	return __tsr_submit_vm(vm->dev, vm->context, vm->at, tsr_cmd_bytes(waiting->cmd),
			       waiting->sync, 0);
}

static int call_vm_bind(struct waiting *waiting)
{
	struct drm_tessera_vm_bind_op op = {
		.op = DRM_TESSERA_VM_BIND_MAP_NULL,
		.address = 0x40000000,
		.range = MiB(1),
	};

	return __tsr_vm_bind(waiting->dev->fd, waiting->vm->id, &op, 1, waiting->sync, 0);
}

/*
 * Nothing is charged while a call waits for an in-fence. The fence may depend
 * on another call of the process, which needs space below the limit itself.
 */
static void waits_uncharged(void)
{
	int (*const calls[])(struct waiting *) = { call_submit, call_submit_vm, call_vm_bind };
	struct tsr_foreign *foreign = tsr_foreign_need();
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_cmd cmd;
	struct waiting waiting = {
		.dev = &dev,
		.vm = &vm,
		.cmd = &cmd,
		.ctx = tsr_context_new(&dev, 0),
		.sync = tsr_syncobj_new(&dev),
	};

	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	memcpy(vm.cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
	for (uint32_t i = 0; i < ARRAY_SIZE(calls); i++) {
		int fence = tsr_foreign_fence(foreign);

		tsr_wait_for(tsr_query_client(&dev).work_bytes == 0);
		tsr_syncobj_import(&dev, waiting.sync, fence);
		waiting.fn = calls[i];
		waiting_start(&waiting);
		require_eq(tsr_query_client(&dev).work_bytes, 0);
		tsr_foreign_signal(foreign, 0);
		require_ok(waiting_end(&waiting));
		close(fence);
	}
	tsr_cmd_fini(&cmd);
	tsr_foreign_close(foreign);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/*
 * A LOCK taken while the submission waits counts: the object is locked in its
 * system pages, so the submission fails with -EBUSY.
 */
static void locked_meanwhile(void)
{
	struct tsr_foreign *foreign = tsr_foreign_need();
	struct tsr_device dev = tsr_open();
	struct tsr_bo locked =
		tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_visible(&dev)), DRM_TESSERA_BO_CPU_ACCESS);
	struct tsr_bo fenced = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0);
	int fence = tsr_foreign_fence(foreign);
	struct tsr_cmd cmd;
	struct waiting waiting = {
		.fn = call_submit,
		.dev = &dev,
		.cmd = &cmd,
		.ctx = tsr_context_new(&dev, 0),
	};

	tsr_fence_at(&dev, &fenced, fence, DMA_BUF_SYNC_WRITE);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &locked, true);
	tsr_cmd_bind_buffer(&cmd, 1, &fenced, true);
	waiting_start(&waiting);
	require_ok(__tsr_lock(dev.fd, &locked.handle, 0));
	tsr_foreign_signal(foreign, 0);
	require_err(waiting_end(&waiting), -EBUSY);
	require_ok(__tsr_unlock(dev.fd, locked.handle));
	require_ok(call_submit(&waiting));
	tsr_cmd_fini(&cmd);
	close(fence);
	tsr_foreign_close(foreign);
	tsr_close(&dev);
}

/*
 * Another device reads an object. A submission that writes it waits inside the
 * call, so that no job has to wait.
 */
static void writer_waits_for_reader(uint32_t ctx_flags)
{
	struct tsr_foreign *foreign = tsr_foreign_need();
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0);
	int fence = tsr_foreign_fence(foreign);
	struct tsr_cmd cmd;
	struct waiting waiting = {
		.fn = call_submit,
		.dev = &dev,
		.cmd = &cmd,
		.ctx = tsr_context_new(&dev, ctx_flags),
	};

	/* the object is resident, so no move waits for the fence */
	tsr_gpu_touch(&dev, waiting.ctx, &bo);
	tsr_fence_at(&dev, &bo, fence, DMA_BUF_SYNC_READ);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	tsr_cmd_fill(&cmd, 0, 0, 16, VALUE);
	waiting_start(&waiting);
	tsr_foreign_signal(foreign, 0);
	require_ok(waiting_end(&waiting));
	tsr_bo_wait(&dev, &bo);
	tsr_cmd_fini(&cmd);
	close(fence);
	tsr_foreign_close(foreign);
	tsr_close(&dev);
}

static void writers_wait_for_readers(void)
{
	writer_waits_for_reader(0);
	writer_waits_for_reader(DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL);
}

static int call_make_resident(struct waiting *waiting)
{
	return __tsr_make_one(waiting->dev, waiting->bo);
}

/*
 * Another device reads an object that exceeds the aperture's commit limit. The
 * object moves to VRAM when the other device has finished, and stays out of
 * every segment until then.
 */
static void comes_behind_a_reader(void)
{
	struct tsr_foreign *foreign = tsr_foreign_need();
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *hidden = tsr_seg_hidden(&dev),
					       *gart = tsr_seg_gart(&dev);
	struct tsr_bo bo = tsr_bo_prefers(&dev, MiB(3), hidden, tsr_bit(gart), 0);
	int fence = tsr_foreign_fence(foreign);
	struct waiting waiting = { .fn = call_make_resident, .dev = &dev, .bo = &bo };

	require(bo.size > gart->commit_limit && bo.size < hidden->size);
	tsr_fence_at(&dev, &bo, fence, DMA_BUF_SYNC_READ);
	waiting_start(&waiting);
	tsr_foreign_signal(foreign, 0);
	require_ok(waiting_end(&waiting));
	require_eq(tsr_bo_info(&dev, &bo).segment, hidden->id);
	close(fence);
	tsr_foreign_close(foreign);
	tsr_close(&dev);
}

/* A syncobj with one sync file for the fences of @a and @b. */
static uint32_t merged(struct tsr_device *dev, uint32_t a, uint32_t b)
{
	struct sync_merge_data merge = { .name = "both", .fd2 = tsr_syncobj_export(dev, b) };
	uint32_t both = tsr_syncobj_new(dev);
	int fd = tsr_syncobj_export(dev, a);

	require_ok(ioctl(fd, SYNC_IOC_MERGE, &merge) ? -errno : 0);
	tsr_syncobj_import(dev, both, merge.fence);
	close(merge.fence);
	close(merge.fd2);
	close(fd);
	return both;
}

static void transfer(struct tsr_device *dev, uint32_t dst, uint64_t point, uint32_t src,
		     uint64_t from)
{
	struct drm_syncobj_transfer args = {
		.src_handle = src,
		.dst_handle = dst,
		.src_point = from,
		.dst_point = point,
	};

	require_ok(ioctl(dev->fd, DRM_IOCTL_SYNCOBJ_TRANSFER, &args) ? -errno : 0);
}

/* A syncobj with the second point of a new timeline, which includes both. */
static uint32_t chained(struct tsr_device *dev, uint32_t a, uint32_t b)
{
	uint32_t both = tsr_syncobj_new(dev), timeline = tsr_syncobj_new(dev);

	transfer(dev, timeline, 1, a, 0);
	transfer(dev, timeline, 2, b, 0);
	transfer(dev, both, 0, timeline, 2);
	tsr_syncobj_free(dev, timeline);
	return both;
}

/*
 * When one of two fences has signalled, the engine of the waiting job is idle,
 * so that only the other fence holds the job back. A job submitted later to
 * that engine ends first.
 */
static void waits_for_both(uint32_t (*join)(struct tsr_device *dev, uint32_t a, uint32_t b),
			   bool last_first)
{
	struct tsr_device dev = tsr_open();
	uint32_t second = tsr_second_engine(&dev), ctx[2], both, done = tsr_syncobj_new(&dev);
	struct tsr_stuck soon, late;
	struct tsr_small small;
	struct tsr_cmd cmd;

	/* merged fences are sorted by context: test both orders */
	for (uint32_t i = 0; i < ARRAY_SIZE(ctx); i++)
		ctx[i] = tsr_context_on(&dev, last_first == i ? dev.render : second);
	tsr_small_init(&dev, &small, dev.render);
	soon = tsr_stuck_start(&dev, ctx[last_first]);
	late = tsr_stuck_start_on(&dev, ctx[!last_first], second);
	both = last_first ? join(&dev, late.sync, soon.sync) : join(&dev, soon.sync, late.sync);
	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	tsr_submit(&dev, tsr_context_new(&dev, 0), &cmd, both, done);
	tsr_stuck_end(&soon);
	tsr_small_run(&dev, &small);
	require_msg(__tsr_syncobj_wait(dev.fd, done, 0, 0) == -ETIME,
		    "expected the job to wait for both fences, it waited for one");
	tsr_stuck_end(&late);
	require_ok(tsr_syncobj_status(&dev, done));
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

static void merged_fences(void)
{
	waits_for_both(merged, false);
	waits_for_both(merged, true);
}

static void chained_fences(void)
{
	waits_for_both(chained, false);
	waits_for_both(chained, true);
}

/*
 * The writer's engine is idle while the reader waits for a job of another
 * engine, so that only the reader holds the writer back. A job submitted after
 * the writer ends first.
 */
static void writer_behind_reader(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev)), done = tsr_syncobj_new(&dev);
	const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;
	struct tsr_bo from = tsr_bo_new(&dev, 4096, gart, cached);
	struct tsr_bo to = tsr_bo_new(&dev, 4096, gart, cached);
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_small small;
	struct tsr_cmd cmd;

	tsr_small_init(&dev, &small, dev.render);
	tsr_gpu_fill(&dev, tsr_context_new(&dev, 0), &from, VALUE);
	tsr_held_copy(&held, &to, &from);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &from, true);
	tsr_cmd_fill(&cmd, 0, 0, 1024, VALUE + 1);
	tsr_submit(&dev, tsr_context_new(&dev, 0), &cmd, 0, done);
	tsr_cmd_fini(&cmd);
	tsr_small_run(&dev, &small);
	require_msg(__tsr_syncobj_wait(dev.fd, done, 0, 0) == -ETIME,
		    "expected the writing job to wait for the reading job");
	tsr_held_go(&held);
	require_ok(tsr_syncobj_status(&dev, done));
	tsr_words_check(tsr_bo_map(&dev, &to), 1024, VALUE);
	tsr_words_check(tsr_bo_map(&dev, &from), 1024, VALUE + 1);
	tsr_held_close(&held);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SCHED-2 a job that waits for one fence many times", many_waits_for_one, 0, 0 },
	{ "SCHED-2 points of a timeline are charged", points_are_charged, 0, 0 },
	{ "SCHED-2 in-fences are waited for before anything is charged", waits_uncharged, 0, 0 },
	{ "SCHED-2 a job writes an object that another device reads", writers_wait_for_readers, 0,
	  0 },
	{ "SCHED-2 RES-2 an object that another device reads does not fit into the aperture",
	  comes_behind_a_reader, 0, 0 },
	{ "a job that writes waits for jobs that read", writer_behind_reader, 0, 0 },
	{ "a job waits for all fences of a sync file", merged_fences, 0, 0 },
	{ "a job waits for all points of a timeline up to its own", chained_fences, 0, 0 },
	{ "LOCK-22 an object is locked while SUBMIT waits", locked_meanwhile, 0, 0 },
};

TSR_TEST_MAIN(tests)
