// SPDX-License-Identifier: MIT
/*
 * Fences: syncobjs in and out of SUBMIT, sync files, and BO_WAIT. A fence must
 * signal after its job, with the job's error. Jobs on one object, and jobs of
 * one context, must run in order.
 */
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "host.h"
#include "trace.h"
#include "tsr.h"

static const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;

static struct tsr_bo new_bo(struct tsr_device *dev)
{
	return tsr_bo_new(dev, 4096, tsr_bit(tsr_seg_gart(dev)), cached);
}

static int64_t in_ms(int64_t ms)
{
	return (int64_t)tap_now_ns() + ms * 1000000;
}

static void binary_out_and_in(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t first = tsr_context_new(&dev, 0), second = tsr_context_new(&dev, 0);
	uint32_t sync = tsr_syncobj_new(&dev), done = tsr_syncobj_new(&dev);
	struct tsr_bo bo = new_bo(&dev), other = new_bo(&dev);
	struct tsr_stuck stuck;
	struct tsr_cmd cmd;

	tsr_bo_map(&dev, &other);
	stuck = tsr_stuck_start(&dev, first);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	tsr_cmd_fill(&cmd, 0, 0, 1024, 1);
	tsr_submit(&dev, first, &cmd, 0, sync);
	/* The other context waits through the syncobj. */
	tsr_cmd_reset(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &other, true);
	tsr_cmd_fill(&cmd, 0, 0, 1024, 2);
	tsr_submit(&dev, second, &cmd, sync, done);
	require_err(__tsr_syncobj_wait(dev.fd, sync, 0, 0), -ETIME);
	require_err(__tsr_syncobj_wait(dev.fd, done, 0, 0), -ETIME);
	tsr_stuck_end(&stuck);
	require_ok(__tsr_syncobj_wait(dev.fd, done, 0, INT64_MAX));
	require_ok(__tsr_syncobj_wait(dev.fd, sync, 0, 0));
	tsr_words_check(other.map, 1024, 2);
	tsr_close(&dev);
}

static void timeline_out_and_in(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), other = tsr_context_new(&dev, 0);
	uint32_t timeline = tsr_syncobj_new(&dev);
	struct tsr_bo bo = new_bo(&dev);
	struct drm_tessera_submit args;
	struct drm_tessera_sync syncs[2] = {
		{ .handle = timeline,
		  .flags = DRM_TESSERA_SYNC_SIGNAL | DRM_TESSERA_SYNC_TIMELINE },
	};
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	tsr_cmd_fill(&cmd, 0, 0, 1024, 1);
	for (uint64_t point = 1; point <= 5; point++) {
		tsr_submit_args(&cmd, ctx, &args);
		args.syncs.count = 1;
		args.syncs.array = (uintptr_t)syncs;
		syncs[0].point = point * 10;
		require_ok(__tsr_submit_ioctl(dev.fd, &args));
	}
	require_ok(__tsr_syncobj_wait(dev.fd, timeline, 50, INT64_MAX));
	require_eq(tsr_syncobj_point(&dev, timeline), 50);

	/* Wait for a point in the middle and signal a later one. */
	syncs[0] = (struct drm_tessera_sync){ .handle = timeline,
					      .flags = DRM_TESSERA_SYNC_TIMELINE,
					      .point = 35 };
	syncs[1] = (struct drm_tessera_sync){ .handle = timeline,
					      .flags = DRM_TESSERA_SYNC_SIGNAL |
						       DRM_TESSERA_SYNC_TIMELINE,
					      .point = 60 };
	tsr_submit_args(&cmd, other, &args);
	args.syncs.count = 2;
	args.syncs.array = (uintptr_t)syncs;
	require_ok(__tsr_submit_ioctl(dev.fd, &args));
	require_ok(__tsr_syncobj_wait(dev.fd, timeline, 60, INT64_MAX));

	/* A point without a submission returns -EINVAL. */
	syncs[0].point = 1000;
	args.num_parts = 0;
	args.error_offset = args.error_index = 0;
	require_err(__tsr_submit_ioctl(dev.fd, &args), -EINVAL);
	tsr_close(&dev);
}

/*
 * As many syncs in one call as the limit allows: in and out, binary and
 * timeline.
 */
static void many_syncs(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), count = dev.info.max_syncs;
	struct drm_tessera_sync *syncs = calloc(count, sizeof(*syncs));
	struct drm_tessera_submit args;
	struct tsr_cmd cmd;

	require(syncs);
	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	tsr_submit_args(&cmd, ctx, &args);
	for (uint32_t i = 0; i < count; i++) {
		syncs[i].handle = tsr_syncobj_new(&dev);
		syncs[i].flags = DRM_TESSERA_SYNC_SIGNAL | (i & 1 ? DRM_TESSERA_SYNC_TIMELINE : 0);
		syncs[i].point = i & 1 ? i : 0;
	}
	args.syncs.count = count;
	args.syncs.array = (uintptr_t)syncs;
	require_ok(__tsr_submit_ioctl(dev.fd, &args));
	for (uint32_t i = 0; i < count; i++)
		require_ok(__tsr_syncobj_wait(dev.fd, syncs[i].handle, syncs[i].point, INT64_MAX));
	for (uint32_t i = 0; i < count; i++)
		syncs[i].flags &= ~DRM_TESSERA_SYNC_SIGNAL;
	args.num_parts = 0;
	args.error_offset = args.error_index = 0;
	require_ok(__tsr_submit_ioctl(dev.fd, &args));
	free(syncs);
	tsr_close(&dev);
}

/* Jobs of two contexts on one object are ordered by its reservation. */
static void implicit_order(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx[2] = { tsr_context_new(&dev, 0), tsr_context_new(&dev, 0) };
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_gart(&dev)), cached);
	struct tsr_bo out = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_gart(&dev)), cached);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	for (uint32_t i = 1; i <= 20; i++) {
		tsr_cmd_reset(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
		tsr_cmd_fill(&cmd, 0, 0, MiB(1) / 4, i);
		tsr_submit(&dev, ctx[i & 1], &cmd, 0, 0);
	}
	tsr_cmd_reset(&cmd);
	tsr_cmd_group_begin(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &out, true);
	tsr_cmd_bind_buffer(&cmd, 1, &bo, false);
	tsr_cmd_group_end(&cmd);
	tsr_cmd_copy(&cmd, 0, 0, 1, 0, MiB(1) / 4);
	tsr_submit(&dev, ctx[1], &cmd, 0, 0);
	tsr_bo_wait(&dev, &out);
	tsr_words_check(tsr_bo_map(&dev, &out), MiB(1) / 4, 20);
	tsr_close(&dev);
}

static void waiting_for_objects(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo read = new_bo(&dev), written = new_bo(&dev), idle = new_bo(&dev);
	struct tsr_stuck stuck;
	struct tsr_cmd cmd;
	uint64_t waited;

	/*
	 * This job follows the stuck one in the same context, so it is pending,
	 * too.
	 */
	stuck = tsr_stuck_start(&dev, ctx);
	tsr_cmd_init(&cmd);
	tsr_cmd_group_begin(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &written, true);
	tsr_cmd_bind_buffer(&cmd, 1, &read, false);
	tsr_cmd_group_end(&cmd);
	tsr_cmd_copy(&cmd, 0, 0, 1, 0, 1024);
	tsr_submit(&dev, ctx, &cmd, 0, 0);
	require_err(__tsr_bo_wait(dev.fd, written.handle, 0, 0), -EBUSY);
	require_err(__tsr_bo_wait(dev.fd, written.handle, 0, -5), -EBUSY);
	require_err(__tsr_bo_wait(dev.fd, written.handle, 0, 1), -EBUSY);
	require_err(__tsr_bo_wait(dev.fd, read.handle, DRM_TESSERA_BO_WAIT_WRITE, 0), -EBUSY);
	require_ok(__tsr_bo_wait(dev.fd, idle.handle, DRM_TESSERA_BO_WAIT_WRITE, 0));
	waited = tap_now_ns();
	require_msg(__tsr_bo_wait(dev.fd, written.handle, 0, in_ms(20)) == -ETIME,
		    "expected the object to be busy, a queued job writes it");
	require(tap_now_ns() - waited >= 19000000);
	tsr_stuck_end(&stuck);
	require_ok(__tsr_bo_wait(dev.fd, written.handle, 0, INT64_MAX));
	require_ok(__tsr_bo_wait(dev.fd, written.handle, 0, 0));
	require_ok(__tsr_bo_wait(dev.fd, read.handle, DRM_TESSERA_BO_WAIT_WRITE, 0));
	tsr_close(&dev);
}

/* A wait for read access does not wait for jobs that only read the object. */
static void readers_do_not_wait_for_readers(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo src = new_bo(&dev), dst = new_bo(&dev);
	struct tsr_stuck stuck;
	struct tsr_cmd cmd;

	tsr_gpu_touch(&dev, ctx, &src); /* now placed and idle */
	stuck = tsr_stuck_start(&dev, ctx);
	tsr_cmd_init(&cmd);
	tsr_cmd_group_begin(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &dst, true);
	tsr_cmd_bind_buffer(&cmd, 1, &src, false);
	tsr_cmd_group_end(&cmd);
	tsr_cmd_copy(&cmd, 0, 0, 1, 0, 16);
	tsr_submit(&dev, ctx, &cmd, 0, 0);
	require_ok(__tsr_bo_wait(dev.fd, src.handle, 0, 0));
	require_err(__tsr_bo_wait(dev.fd, src.handle, DRM_TESSERA_BO_WAIT_WRITE, 0), -EBUSY);
	tsr_stuck_end(&stuck);
	tsr_close(&dev);
}

/* A job that the device stops ends with -EFAULT. Its context stays usable. */
static void bad_access_is_an_error(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = new_bo(&dev);
	struct tsr_cmd cmd;

	tsr_bo_map(&dev, &bo);
	tsr_cmd_init(&cmd);
	/* beyond the slot's limit */
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	tsr_cmd_fill(&cmd, 0, 1000, 25, 1);
	require_eq(tsr_submit_status(&dev, ctx, &cmd, NULL), -EFAULT);
	/* an unbound slot */
	tsr_cmd_reset(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	tsr_cmd_fill(&cmd, 5, 0, 1, 1);
	require_eq(tsr_submit_status(&dev, ctx, &cmd, NULL), -EFAULT);
	/* a slot that the stream has unbound before */
	tsr_cmd_reset(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	tsr_cmd_unbind(&cmd, 0);
	tsr_cmd_fill(&cmd, 0, 0, 1, 1);
	require_eq(tsr_submit_status(&dev, ctx, &cmd, NULL), -EFAULT);
	/* a write through a read-only binding */
	tsr_cmd_reset(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, false);
	tsr_cmd_fill(&cmd, 0, 0, 1, 1);
	require_eq(tsr_submit_status(&dev, ctx, &cmd, NULL), -EFAULT);
	/* slots of the previous job are not inherited */
	tsr_cmd_reset(&cmd);
	tsr_cmd_nop(&cmd, 8);
	tsr_cmd_fill(&cmd, 0, 0, 1, 1);
	require_eq(tsr_submit_status(&dev, ctx, &cmd, NULL), -EFAULT);
	tsr_words_check(bo.map, 1024, 0);
	require(tsr_guest_errors(&dev) >= 5);
	tsr_gpu_fill(&dev, ctx, &bo, 8);
	tsr_words_check(bo.map, 1024, 8);
	tsr_close(&dev);
}

/*
 * The out-fence's sync file can be polled, also after the context, the object,
 * the syncobjs and the device file are closed.
 */
static void sync_file_and_early_close(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), sync = tsr_syncobj_new(&dev);
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0);
	struct pollfd pfds[2] = { { .events = POLLIN }, { .events = POLLIN } };
	struct tsr_stuck stuck = tsr_stuck_start(&dev, ctx);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	tsr_cmd_fill(&cmd, 0, 0, 16, 1);
	/*
	 * The first of these jobs may be in the ring already. The second
	 * reaches the ring only when the stuck job has ended.
	 */
	tsr_submit(&dev, ctx, &cmd, 0, 0);
	tsr_submit(&dev, ctx, &cmd, 0, sync);
	tsr_cmd_fini(&cmd);
	pfds[0].fd = tsr_syncobj_export(&dev, stuck.sync);
	pfds[1].fd = tsr_syncobj_export(&dev, sync);
	tsr_context_free(&dev, ctx); /* drops no job */
	require_ok(__tsr_bo_close(dev.fd, bo.handle));
	tsr_syncobj_free(&dev, sync);
	tsr_syncobj_free(&dev, stuck.sync);
	require_eq(poll(pfds, 2, 0), 0);
	tsr_close(&dev);
	/*
	 * Closing the file drops jobs that have not begun. The running one goes
	 * on.
	 */
	require_eq(poll(&pfds[0], 1, 0), 0);
	tsr_engine_release();
	require_eq(poll(&pfds[0], 1, -1), 1);
	require_ok(tsr_sync_file_status(pfds[0].fd));
	require_err(tsr_sync_file_status(pfds[1].fd), -ECANCELED);
	for (uint32_t i = 0; i < ARRAY_SIZE(pfds); i++)
		close(pfds[i].fd);
}

/* Jobs of one context start and end in submission order. */
static void jobs_of_a_context_are_ordered(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), jobs = 0;
	uint64_t end = 0, seqno = 0;
	struct tsr_trace trace;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	tsr_trace_start("job_done", NULL);
	for (int i = 0; i < 300; i++) /* more than the ring holds */
		tsr_submit(&dev, ctx, &cmd, 0, 0);
	tsr_submit_done(&dev, ctx, &cmd);
	trace = tsr_trace_stop();
	tsr_trace_for_each(&trace, "job_done", ev) {
		if (tsr_event_u64(ev, "engine") != dev.render)
			continue;
		require(tsr_event_u64(ev, "start_ns") >= end);
		end = tsr_event_u64(ev, "end_ns");
		require(tsr_event_u64(ev, "seqno") > seqno);
		seqno = tsr_event_u64(ev, "seqno");
		jobs++;
	}
	require_eq(jobs, 301);
	require(tsr_fdinfo(&dev, "drm-engine-render0") >= 0);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "binary syncobjs out and in", binary_out_and_in, 0, 0 },
	{ "timeline syncobjs out and in", timeline_out_and_in, 0, 0 },
	{ "as many syncs as the limit allows", many_syncs, 0, 0 },
	{ "jobs on one object are in order across contexts", implicit_order, 0, 0 },
	{ "BO_WAIT: busy, timeout, idle", waiting_for_objects, 0, 0 },
	{ "BO_WAIT: readers and writers", readers_do_not_wait_for_readers, 0, 0 },
	{ "SPLIT-7 bad access: -EFAULT on the fence", bad_access_is_an_error,
	  TSR_EXPECT(SLOT_UNBOUND) | TSR_EXPECT(SLOT_BOUNDS) | TSR_EXPECT(SLOT_ACCESS), 0 },
	{ "sync files; closing before the job ends", sync_file_and_early_close, 0, 0 },
	{ "jobs of a context run in order", jobs_of_a_context_are_ordered, 0, 0 },
};

TSR_TEST_MAIN(tests)
