// SPDX-License-Identifier: MIT
#include "hang.h"

#include "host.h"
#include "stall.h"

/* each fills megabytes */
#define LONG_FILLS 50000

void tsr_cmd_hang(struct tsr_cmd *cmd, uint32_t slot, uint32_t words)
{
	for (uint32_t i = 0; i < LONG_FILLS; i++)
		tsr_cmd_fill(cmd, slot, 0, words, i);
}

void tsr_hang_start(struct tsr_device *dev, uint32_t context, struct tsr_hang *hang)
{
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(dev);

	tsr_job_timeout_lift();
	hang->dev = dev;
	hang->work = tsr_bo_new(dev, seg->size / 4, tsr_bit(seg), 0);
	hang->flag = tsr_bo_new(dev, KiB(4), tsr_bit(tsr_seg_gart(dev)),
				DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	*(uint32_t *)tsr_bo_map(dev, &hang->flag) = 0;
	hang->sync = tsr_syncobj_new(dev);
	tsr_cmd_init_pair(&hang->cmd, &hang->work, &hang->flag);
	tsr_cmd_fill(&hang->cmd, 1, 0, 1, 1);
	tsr_cmd_hang(&hang->cmd, 0, (uint32_t)(hang->work.size / 4));
	tsr_submit(dev, context, &hang->cmd, 0, hang->sync);
}

void tsr_hang_begun(const struct tsr_hang *hang)
{
	tsr_wait_for(*(volatile uint32_t *)hang->flag.map);
}

void tsr_hang_expire(struct tsr_hang *hang)
{
	tsr_hang_begun(hang);
	tsr_job_expire(hang->dev->render);
}

void tsr_hang_end(struct tsr_hang *hang)
{
	require_eq(tsr_syncobj_status(hang->dev, hang->sync), -ETIME);
	tsr_syncobj_free(hang->dev, hang->sync);
	tsr_cmd_fini(&hang->cmd);
	tsr_bo_free(hang->dev, &hang->flag);
	tsr_bo_free(hang->dev, &hang->work);
}

struct expiry {
	uint32_t engine, jobs;
};

static void expire_when_hung(void *arg)
{
	const struct expiry *expiry = arg;

	for (uint32_t left = expiry->jobs; left--;) {
		tsr_wait_for(tsr_engine_hangs());
		/* the job behind it begins as soon as this one is gone */
		if (left)
			tsr_engine_hang_next(expiry->engine);
		tsr_job_expire(expiry->engine);
	}
}

pid_t tsr_hang_next(uint32_t engine, uint32_t jobs)
{
	struct expiry expiry = { .engine = engine, .jobs = jobs };

	tsr_job_timeout_lift();
	tsr_engine_hang_next(engine);
	return tap_fork(expire_when_hung, &expiry);
}
