/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_FENCES_H__
#define __TESSERA_FENCES_H__

#include <linux/types.h>

struct dma_fence;

/**
 * TESSERA_FENCES_BYTES - memory of a set for each fence that it has room for
 *
 * A pointer, and two slots to find it by its context.
 */
#define TESSERA_FENCES_BYTES	(sizeof(void *) + 2 * sizeof(u32))

/**
 * struct tessera_fences - a set of fences, the latest one of each context
 */
struct tessera_fences {
	/** @fence: the fences, with a reference each; allocated with kmalloc() */
	struct dma_fence **fence;
	/** @num: used elements of @fence */
	u32 num;
	/** @max: room in @fence, 0 or a power of two */
	u32 max;
};

int tessera_fences_try_add(struct tessera_fences *fences, struct dma_fence *fence);
bool tessera_fences_has(const struct tessera_fences *fences, struct dma_fence *fence);
int tessera_fences_grow(struct tessera_fences *fences);
int tessera_fences_add(struct tessera_fences *fences, struct dma_fence *fence);
void tessera_fences_fini(struct tessera_fences *fences);

#endif /* __TESSERA_FENCES_H__ */
