// SPDX-License-Identifier: MIT
/*
 * The first render job after boot hangs (x-hang-engine=0). Its fence must get
 * -ETIME and later jobs of its context -ECANCELED. The context is lost, and
 * jobs of other contexts run.
 */
#include "host.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"

static const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;

static void fill_cmd(struct tsr_cmd *cmd, const struct tsr_bo *bo, uint32_t value)
{
	tsr_cmd_init(cmd);
	tsr_cmd_bind_buffer(cmd, 0, bo, true);
	tsr_cmd_fill(cmd, 0, 0, 1024, value);
}

static void first_job_hangs(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev));
	uint32_t guilty = tsr_context_new(&dev, 0), other = tsr_context_new(&dev, 0), fresh;
	struct tsr_bo a = tsr_bo_new(&dev, 4096, gart, cached);
	struct tsr_bo b = tsr_bo_new(&dev, 4096, gart, cached);
	uint32_t sync[4];
	struct drm_tessera_submit args;
	struct tsr_cmd cmd_a, cmd_b;
	struct tsr_trace trace;

	tsr_job_timeout_lift();
	tsr_bo_map(&dev, &a);
	tsr_bo_map(&dev, &b);
	for (int i = 0; i < 4; i++)
		sync[i] = tsr_syncobj_new(&dev);
	fill_cmd(&cmd_a, &a, 1);
	fill_cmd(&cmd_b, &b, 2);
	tsr_trace_start("engine_reset", "job_done", NULL);
	tsr_submit(&dev, guilty, &cmd_a, 0, sync[0]);
	tsr_submit(&dev, guilty, &cmd_a, 0, sync[1]);
	tsr_submit(&dev, other, &cmd_b, 0, sync[2]);
	tsr_submit(&dev, other, &cmd_b, 0, sync[3]);

	tsr_wait_for(tsr_engine_hangs());
	tsr_job_expire(dev.render);
	require_eq(tsr_syncobj_status(&dev, sync[0]), -ETIME);
	require_eq(tsr_syncobj_status(&dev, sync[1]), -ECANCELED);
	/* The other context loses nothing. */
	require_eq(tsr_syncobj_status(&dev, sync[2]), 0);
	require_eq(tsr_syncobj_status(&dev, sync[3]), 0);
	tsr_words_check(b.map, 1024, 2);
	trace = tsr_trace_stop();
	require_eq(tsr_trace_count(&trace, "engine_reset"), 1);

	/* The guilty context stays lost; a new one works. */
	require_err(__tsr_submit(&dev, guilty, &cmd_a, 0, 0, &args), -EIO);
	tsr_gpu_fill(&dev, other, &b, 3);
	fresh = tsr_context_new(&dev, 0);
	tsr_gpu_fill(&dev, fresh, &a, 4);
	tsr_words_check(a.map, 1024, 4);
	tsr_context_free(&dev, guilty);
	tsr_close(&dev);
}

/* Splitting still works after the reset. */
static void all_is_well_afterwards(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), word;
	struct tsr_bo bos[6];
	uint32_t parts;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < 6; i++) {
		bos[i] = tsr_bo_new(&dev, seg->size * 3 / 4, tsr_bit(seg), 0);
		tsr_cmd_bind_buffer(&cmd, 0, &bos[i], true);
		tsr_cmd_fill(&cmd, 0, 0, 16, 10 + i);
	}
	require_eq(tsr_submit_status(&dev, ctx, &cmd, &parts), 0);
	require_eq(parts, 6);
	for (uint32_t i = 0; i < 6; i++) {
		tsr_gpu_read(&dev, ctx, &bos[i], 7, 1, &word);
		require_eq(word, 10 + i);
	}
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "a hang: -ETIME, -ECANCELED, -EIO; the other context is not affected", first_job_hangs, 0,
	  60 },
	{ "SPLIT-2 splitting after a reset", all_is_well_afterwards, 0, 0 },
};

TSR_TEST_MAIN(tests)
