// SPDX-License-Identifier: MIT
/*
 * SCHED-4 on a device whose paging jobs take 20 ms longer
 * (test-sched-delay.args). The device's own timestamps must show that work
 * waits for its paging.
 */
#include "trace.h"
#include "tsr.h"

#define DELAY_NS 20000000ull

/*
 * A part starts after its paging, and that paging starts after the previous
 * part.
 */
static void delay_shifts_parts(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), parts, n = 0;
	uint64_t end = 0;
	struct tsr_trace trace;
	struct tsr_bo bos[4];
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < 4; i++) {
		bos[i] = tsr_bo_new(&dev, seg->size * 3 / 4, tsr_bit(seg), 0);
		tsr_cmd_bind_buffer(&cmd, 0, &bos[i], true);
		tsr_cmd_fill(&cmd, 0, 0, 16, i);
	}
	tsr_trace_start("job_done", NULL);
	require_eq(tsr_submit_status(&dev, ctx, &cmd, &parts), 0);
	trace = tsr_trace_stop();
	require_eq(parts, 4);
	tsr_trace_for_each(&trace, "job_done", ev) {
		if (tsr_event_u64(ev, "engine") != dev.render)
			continue;
		if (n++)
			require_msg(tsr_event_u64(ev, "start_ns") >= end + DELAY_NS,
				    "part %u started %llu us after the part before", n - 1,
				    (unsigned long long)(tsr_event_u64(ev, "start_ns") - end) /
					    1000);
		end = tsr_event_u64(ev, "end_ns");
	}
	require_eq(n, 4);
	tsr_close(&dev);
}

/* The first use of an object waits for its page-in. */
static void delay_shifts_first_use(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_hidden(&dev)), 0);
	uint32_t ctx = tsr_context_new(&dev, 0);
	uint64_t start = tap_now_ns();

	tsr_gpu_fill(&dev, ctx, &bo, 1);
	require(tap_now_ns() - start >= DELAY_NS);
	start = tap_now_ns();
	tsr_gpu_fill(&dev, ctx, &bo, 2);
	tap_note("second use after %llu us", (unsigned long long)(tap_now_ns() - start) / 1000);
	tsr_close(&dev);
}

/*
 * A job of another context waits for its page-in, and a submission in parts
 * follows. The first part needs no paging, but it has to wait for the job as
 * well, or the job would run between the parts.
 */
static void first_part_waits_for_others(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), other = tsr_context_new(&dev, 0), sync, n = 0;
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_hidden(&dev)), 0), bos[2];
	const struct tsr_event *part;
	struct tsr_trace trace;
	struct tsr_cmd cmd, before;

	tsr_cmd_init(&before);
	tsr_cmd_bind_buffer(&before, 0, &bo, true);
	tsr_cmd_fill(&before, 0, 0, 16, 1);
	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < 2; i++) {
		bos[i] = tsr_bo_new(&dev, seg->size * 3 / 4, tsr_bit(seg), 0);
		tsr_cmd_bind_buffer(&cmd, 0, &bos[i], true);
		tsr_cmd_fill(&cmd, 0, 0, 16, i);
	}
	tsr_gpu_touch(&dev, ctx, &bos[1]);
	tsr_gpu_touch(&dev, ctx, &bos[0]);

	sync = tsr_syncobj_new(&dev);
	tsr_trace_start("job_done", "split_part", NULL);
	tsr_submit(&dev, other, &before, 0, 0);
	require_eq(tsr_submit(&dev, ctx, &cmd, 0, sync), 2);
	require_eq(tsr_syncobj_status(&dev, sync), 0);
	tsr_bo_wait(&dev, &bo);
	trace = tsr_trace_stop();

	part = tsr_trace_next(&trace, "split_part", NULL);
	require(part);
	tsr_trace_for_each(&trace, "job_done", ev) {
		if (tsr_event_u64(ev, "engine") != dev.render)
			continue;
		/* the job that was submitted first runs first */
		require_eq(tsr_event_u64(ev, "ctx") == tsr_event_u64(part, "ctx"), !n);
		n++;
	}
	require_eq(n, 3);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SCHED-4 PAGE-3 paging that takes longer delays the part behind it", delay_shifts_parts,
	  0, 0 },
	{ "SCHED-2 the first part waits for earlier jobs of other contexts",
	  first_part_waits_for_others, 0, 0 },
	{ "SCHED-4 the first use waits for its page-in", delay_shifts_first_use, 0, 0 },
};

TSR_TEST_MAIN(tests)
