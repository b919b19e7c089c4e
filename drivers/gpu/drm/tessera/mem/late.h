/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_LATE_H__
#define __TESSERA_LATE_H__

#include <linux/dma-resv.h>
#include <linux/types.h>

struct dma_fence;
struct tessera_bo;

struct dma_fence *tessera_late_find(struct tessera_bo *bo, enum dma_resv_usage usage);
bool tessera_late_to_leave(struct tessera_bo *bo);

#endif /* __TESSERA_LATE_H__ */
