/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_LEASH_H__
#define __TESSERA_LEASH_H__

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct dma_fence;

/**
 * struct tessera_leashes - foreign fences that jobs wait for: of one context, or of the device
 */
struct tessera_leashes {
	/** @lock: protects all below; taken in any context */
	spinlock_t lock;
	/** @list: those not signalled */
	struct list_head list;
	/** @cut: nothing is waited for any more */
	bool cut;
};

void tessera_leashes_init(struct tessera_leashes *leashes);
void tessera_leashes_cut(struct tessera_leashes *leashes);
struct dma_fence *tessera_leash_create(struct tessera_leashes *leashes, struct dma_fence *fence);
struct dma_fence *tessera_leash_target(const struct tessera_leashes *leashes,
				       struct dma_fence *fence);
void tessera_leash_drop(struct dma_fence *fence);

#endif /* __TESSERA_LEASH_H__ */
