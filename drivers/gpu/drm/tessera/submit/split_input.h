/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_SPLIT_INPUT_H__
#define __TESSERA_SPLIT_INPUT_H__

#include <linux/gfp.h>
#include <linux/types.h>

#include "pure/split.h"

/* Values of &tessera_device.force_split. */
#define TESSERA_FORCE_SPLIT_ALL		1
#define TESSERA_FORCE_SPLIT_RANDOM	2

/*
 * What a part costs, in KiB of paging: its paging waits for the job before it, and its job for the
 * paging. With an emulated processor the two take a millisecond, in which 16 MiB are moved.
 */
#define TESSERA_SPLIT_CUT_COST_KIB	16384

struct tessera_bo;		/* mem/bo.h */
struct tessera_request;		/* submit/request.h */

/* Large arrays whose size a client chose: its own, and better refused than forced. */
#define TESSERA_GFP_LISTS	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL)

/**
 * struct tessera_split_model - what the planner is told, and what its numbers mean
 */
struct tessera_split_model {
	/** @in: the planner's input; segment indexes are segment ids */
	struct tessera_split_input in;
	/** @segs: segments by id */
	struct tessera_split_seg segs[TESSERA_SPLIT_MAX_SEGS];
	/** @allocs: the allocation list */
	struct tessera_split_alloc *allocs;
	/** @placed: bit for each allocation that is among @blocks */
	unsigned long *placed;
	/** @blocks: occupied ranges */
	struct tessera_split_block *blocks;
	/** @seniority: how old the submission is among those that hold objects */
	u64 seniority;
	/** @held: older submissions hold something in these segments */
	bool held;
	/** @block_bos: the object in each of them, with a reference; NULL: being destroyed */
	struct tessera_bo **block_bos;
	/** @max_blocks: room in @blocks and @block_bos */
	u32 max_blocks;
	/** @dying: some block is being destroyed */
	bool dying;
};

bool tessera_split_is_forced(const struct tessera_request *req);
u32 tessera_split_segments(const struct tessera_request *req);
int tessera_split_model_init(struct tessera_split_model *model,
			     const struct tessera_request *req, u32 segments);
void tessera_split_model_fini(struct tessera_split_model *model);

#endif /* __TESSERA_SPLIT_INPUT_H__ */
