// SPDX-License-Identifier: MIT
/* SCHED-4 where each paging job takes 20 ms more (test-sched-delay.args). */
#include "trace.h"
#include "tsr.h"

#define DELAY_NS 20000000ull

/* a part starts when its paging is done, and that paging when the part before is done */
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
	tsr_trace_for_each(&trace, "job_done", ev)
	{
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

/* a first use waits for its page-in, too */
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

static const struct tap_test tests[] = {
	{ "SCHED-4 PAGE-3 paging that takes longer delays the part behind it", delay_shifts_parts,
	  0, 0 },
	{ "SCHED-4 the first use waits for its page-in", delay_shifts_first_use, 0, 0 },
};

TSR_TEST_MAIN(tests)
