// SPDX-License-Identifier: MIT
/*
 * A paging job hangs and times out. Only the objects that it moved may be lost,
 * and only jobs that use them may fail.
 */
#include <stdio.h>
#include <stdlib.h>

#include "foreign.h"
#include "hang.h"
#include "host.h"
#include "stall.h"

#define B_JOBS 20

static void fill_list(struct tsr_cmd *cmd, const struct tsr_bo *bo, uint32_t value)
{
	tsr_cmd_init(cmd);
	tsr_cmd_bind_buffer(cmd, 0, bo, true);
	tsr_cmd_fill(cmd, 0, 0, (uint32_t)(bo->size / 4), value);
}

/*
 * Another client's jobs that are not in a ring yet when the failure happens:
 * each waits for the previous one on the other engine, the first one for a
 * stuck job.
 */
static void queued_jobs_of_others(void)
{
	struct tsr_device a = tsr_open(), b = tsr_open();
	uint32_t second = tsr_second_engine(&b), ctx_a = tsr_context_on(&a, second);
	uint32_t ctx_b[2] = { tsr_context_on(&b, second), tsr_context_new(&b, 0) };
	struct tsr_bo lost, fine = tsr_bo_new(&b, KiB(64), tsr_bit(tsr_seg_hidden(&b)), 0);
	uint32_t sync[B_JOBS], got[16];
	struct drm_tessera_submit args;
	pid_t expirer;
	struct tsr_stuck stuck;
	struct tsr_cmd cmd;

	tsr_gpu_fill(&b, ctx_b[0], &fine, 1);
	lost = tsr_bo_new(&a, KiB(64), tsr_bit(tsr_seg_hidden(&a)), 0);
	stuck = tsr_stuck_start(&b, ctx_b[1]);
	for (uint32_t i = 0; i < B_JOBS; i++) {
		sync[i] = tsr_syncobj_new(&b);
		fill_list(&cmd, &fine, 100 + i);
		tsr_submit(&b, ctx_b[i % 2], &cmd, i ? sync[i - 1] : stuck.sync, sync[i]);
		tsr_cmd_fini(&cmd);
	}
	fill_list(&cmd, &lost, 2);
	expirer = tsr_hang_next(a.paging, 1);
	require_msg(tsr_submit_status(&a, ctx_a, &cmd, NULL) == -EIO,
		    "expected -EIO, a job ran on an object whose page-in had failed");
	tap_join(expirer);
	require_err(__tsr_syncobj_wait(b.fd, sync[0], 0, 0), -ETIME);
	tsr_stuck_end(&stuck);
	for (uint32_t i = 0; i < B_JOBS; i++)
		require_ok(tsr_syncobj_status(&b, sync[i]));
	require_err(__tsr_submit(&a, ctx_a, &cmd, 0, 0, &args), -EIO);
	tsr_gpu_read(&b, ctx_b[0], &fine, 0, 16, got);
	tsr_words_check(got, 16, 100 + B_JOBS - 1);
	tsr_close(&b);
	tsr_close(&a);
}

/*
 * An importer gets no pages before their contents have arrived, or if they
 * never arrive.
 */
static void attach_waits_for_bytes(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t vis = tsr_bit(tsr_seg_visible(&dev)), ctx = tsr_context_new(&dev, 0), theirs;
	struct drm_tessera_bo_create args = {
		.size = KiB(64),
		.supported = vis | tsr_bit(tsr_seg_gart(&dev)),
		.num_preferred = 1,
		.preferred = { (uint8_t)tsr_seg_visible(&dev)->id },
	};
	struct tsr_bo bo = { .size = args.size };
	struct drm_tessera_submit submit;
	int vgem = tsr_vgem_need(), dmabuf;
	pid_t expirer;
	struct tsr_cmd cmd;

	require_ok(__tsr_bo_create(dev.fd, &args));
	bo.handle = args.handle;
	dmabuf = tsr_export(&dev, &bo);
	tsr_gpu_fill(&dev, ctx, &bo, 3);
	require_ok(__tsr_import(vgem, dmabuf, &theirs));
	require_ok(__tsr_bo_wait(dev.fd, bo.handle, 0, 0));
	require_ok(__tsr_bo_close(vgem, theirs));

	tsr_gpu_fill(&dev, ctx, &bo, 4);
	require_eq(tsr_bo_info(&dev, &bo).segment, args.preferred[0]);
	expirer = tsr_hang_next(dev.paging, 1);
	require_msg(__tsr_import(vgem, dmabuf, &theirs) == -EIO,
		    "expected -EIO, another device got the pages of an object whose eviction had "
		    "failed");
	tap_join(expirer);
	require_err(__tsr_import(vgem, dmabuf, &theirs), -EIO);
	fill_list(&cmd, &bo, 2);
	require_err(__tsr_submit(&dev, ctx, &cmd, 0, 0, &submit), -EIO);
	close(dmabuf);
	close(vgem);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "PAGE-6 paging fails: queued jobs of other clients run", queued_jobs_of_others, 0, 0 },
	{ "PAGE-6 an importer gets no pages before their contents", attach_waits_for_bytes, 0, 0 },
};

TSR_TEST_MAIN(tests)
