// SPDX-License-Identifier: MIT
/*
 * The second of three jobs halts its engine (x-halt-job=2) while the driver has
 * not noticed the end of the first, as that job's interrupt was dropped. The
 * driver must blame the second job at once: the job timeout is longer than the
 * test may take.
 */
#include "host.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"

static const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;

static void halt_behind_a_finished_job(void)
{
	struct tsr_device dev = tsr_open();
	struct drm_tessera_submit args;
	struct tsr_trace trace;
	struct tsr_bo bos[3];
	uint32_t ctx[3], sync[3];
	struct tsr_cmd cmd;

	tsr_job_timeout("600000");
	for (uint32_t i = 0; i < 3; i++) {
		bos[i] = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), cached);
		tsr_bo_map(&dev, &bos[i]);
		ctx[i] = tsr_context_new(&dev, 0);
		sync[i] = tsr_syncobj_new(&dev);
		/* The jobs below need no paging, so they begin in their order. */
		tsr_gpu_touch(&dev, ctx[i], &bos[i]);
	}
	tsr_host_set("x-halt-job", "2");
	tsr_trace_start("engine_reset", NULL);
	for (uint32_t i = 0; i < 3; i++) {
		tsr_cmd_init(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, &bos[i], true);
		tsr_cmd_fill(&cmd, 0, 0, 1024, i + 1);
		tsr_submit(&dev, ctx[i], &cmd, 0, sync[i]);
	}
	require_eq(tsr_syncobj_status(&dev, sync[0]), 0);
	require_eq(tsr_syncobj_status(&dev, sync[1]), -ETIME);
	require_eq(tsr_syncobj_status(&dev, sync[2]), 0);
	trace = tsr_trace_stop();
	require_eq(tsr_trace_count(&trace, "engine_reset"), 1);
	tsr_words_check(bos[0].map, 1024, 1);
	tsr_words_check(bos[1].map, 1024, 0);
	tsr_words_check(bos[2].map, 1024, 3);
	require_err(__tsr_submit(&dev, ctx[1], &cmd, 0, 0, &args), -EIO);
	tsr_gpu_fill(&dev, ctx[0], &bos[0], 4);
	tsr_words_check(bos[0].map, 1024, 4);
	tsr_close(&dev);
}

/* The second engine can halt, too, while the first runs on. */
static void second_engine_halts(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t sync = tsr_syncobj_new(&dev);
	uint32_t second = tsr_context_on(&dev, tsr_second_engine(&dev));
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), cached);
	struct tsr_cmd cmd;

	tsr_gpu_touch(&dev, tsr_context_new(&dev, 0), &bo);
	tsr_job_timeout("600000");
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	tsr_cmd_fill(&cmd, 0, 0, 1024, 1);
	tsr_host_set("x-halt-job", "1");
	tsr_submit(&dev, second, &cmd, 0, sync);
	tsr_wait_for(__tsr_syncobj_wait(dev.fd, sync, 0, 0) != -ETIME);
	tsr_host_set("x-halt-job", "0");
	require_eq(tsr_syncobj_status(&dev, sync), -ETIME);
	tsr_words_check(tsr_bo_map(&dev, &bo), 1024, 0);
	tsr_gpu_fill(&dev, tsr_context_new(&dev, 0), &bo, 2);
	tsr_words_check(bo.map, 1024, 2);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "an engine halts after a job whose end was not seen yet", halt_behind_a_finished_job,
	  TSR_EXPECT(PACKET), 0 },
	{ "the second engine halts", second_engine_halts, TSR_EXPECT(PACKET), 0 },
};

TSR_TEST_MAIN(tests)
