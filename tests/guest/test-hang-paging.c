// SPDX-License-Identifier: MIT
/*
 * Paging that does not end in time (test-hang-paging.args makes each paging job slow):
 * nobody gets to see what was in memory before, and the rest goes on.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace.h"
#include "tsr.h"

static char timeout_before[32];
static sigjmp_buf on_bus_error;

static void timeout_restore(void)
{
	tsr_debugfs_write("job_timeout_ms", timeout_before);
}

static void timeout_shorten(void)
{
	char *text = tsr_debugfs_read("job_timeout_ms");

	snprintf(timeout_before, sizeof(timeout_before), "%s", text);
	free(text);
	atexit(timeout_restore);
	require_ok(tsr_debugfs_write("job_timeout_ms", "300"));
}

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

static void use(struct tsr_cmd *cmd, const struct tsr_bo *bo)
{
	tsr_cmd_reset(cmd);
	tsr_cmd_bind_buffer(cmd, 0, bo, true);
	tsr_cmd_fill(cmd, 0, 0, 16, 5);
}

/*
 * The clear of a new object hangs: the job that waits for it does not run, the
 * object is lost for the GPU and for the CPU, everybody else's are not.
 */
static void clear_hangs(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), count = 0;
	struct tsr_bo fine, lost;
	struct drm_tessera_submit args;
	struct tsr_trace trace;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	fine = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), DRM_TESSERA_BO_CPU_ACCESS);
	lost = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), DRM_TESSERA_BO_CPU_ACCESS);
	tsr_gpu_fill(&dev, ctx, &fine, 3);

	timeout_shorten();
	tsr_trace_start("engine_reset", NULL);
	use(&cmd, &lost);
	require_eq(tsr_submit_status(&dev, ctx, &cmd, NULL), -EIO);
	trace = tsr_trace_stop();
	timeout_restore();
	tsr_trace_for_each(&trace, "engine_reset", ev)
	{
		require(tsr_event_u64(ev, "engine") != dev.render);
		count++;
	}
	require_eq(count, 1);

	require_err(__tsr_submit(&dev, ctx, &cmd, 0, 0, &args), -EIO);
	tsr_bo_map(&dev, &lost);
	require(access_raises_sigbus(lost.map));

	/* the context is not to blame, and other objects are fine */
	tsr_bo_map(&dev, &fine);
	tsr_words_check(fine.map, fine.size / 4, 3);
	tsr_bo_unmap(&lost);
	tsr_bo_free(&dev, &lost);
	lost = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), DRM_TESSERA_BO_CPU_ACCESS);
	use(&cmd, &lost);
	require_eq(tsr_submit_status(&dev, ctx, &cmd, NULL), 0);
	tsr_bo_map(&dev, &lost);
	tsr_words_check(lost.map, 16, 5);
	tsr_words_check((uint32_t *)lost.map + 16, lost.size / 4 - 16, 0);
	tsr_close(&dev);
}

/* A move that hangs between two parts: the parts behind it do not run. */
static void paging_between_parts_hangs(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), num;
	struct tsr_bo bos[3];
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < 3; i++) {
		bos[i] = tsr_bo_new(&dev, seg->size * 3 / 4, tsr_bit(seg), 0);
		tsr_cmd_bind_buffer(&cmd, 0, &bos[i], true);
		tsr_cmd_fill(&cmd, 0, 0, 16, i);
	}
	tsr_gpu_touch(&dev, ctx, &bos[0]);
	timeout_shorten();
	require_eq(tsr_submit_status(&dev, ctx, &cmd, &num), -EIO);
	timeout_restore();
	require_eq(num, 3);
	for (uint32_t i = 0; i < 3; i++)
		tsr_bo_free(&dev, &bos[i]);
	bos[0] = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), 0);
	tsr_gpu_touch(&dev, ctx, &bos[0]);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "PAGE-6 a clear that hangs shows nobody's bytes", clear_hangs, 0, 60 },
	{ "SPLIT-34 SPLIT-35 paging between parts hangs", paging_between_parts_hangs, 0, 60 },
};

TSR_TEST_MAIN(tests)
