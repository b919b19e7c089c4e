/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PART_H__
#define __TESSERA_PART_H__

#include <linux/types.h>

#include "exec/job.h"

struct dma_fence;
struct tessera_bo;		/* mem/bo.h */
struct tessera_context;		/* submit/context.h */

/**
 * struct tessera_part - one job of a context: a whole submission, or a part of one
 */
struct tessera_part {
	/** @job: the job */
	struct tessera_job job;
	/** @ctx: the context; holds a reference */
	struct tessera_context *ctx;
	/** @paging_failures: as its submission began */
	u32 paging_failures;
	/** @error: keeps the job from running and becomes its fence's error */
	int error;
};

struct tessera_part *tessera_part_create(struct tessera_context *ctx);
void tessera_part_put(struct tessera_part *part);
int tessera_part_use(struct tessera_part *part, struct tessera_bo *bo, bool write);
struct dma_fence *tessera_part_arm(struct tessera_part *part);
void tessera_part_publish(struct tessera_part *part, struct tessera_bo *bo,
			  bool write, u64 stamp);
void tessera_part_push(struct tessera_part *part);

#endif /* __TESSERA_PART_H__ */
