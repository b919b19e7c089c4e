/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_MOVE_H__
#define __TESSERA_MOVE_H__

#include <linux/types.h>

struct tessera_bo;		/* mem/bo.h */
struct ttm_operation_ctx;
struct ttm_place;
struct ttm_resource;

int tessera_move_to(struct tessera_bo *bo, struct ttm_operation_ctx *ctx,
		    struct ttm_resource *new_mem, struct ttm_place *hop);
int tessera_move_rebind(struct tessera_bo *bo);
int tessera_move_within(struct tessera_bo *bo, u64 offset);

#endif /* __TESSERA_MOVE_H__ */
