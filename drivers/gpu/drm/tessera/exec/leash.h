/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_LEASH_H__
#define __TESSERA_LEASH_H__

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct dma_fence;
struct tessera_leash;

/** TESSERA_LEASH_BYTES - what one more fence on a leash is taken to cost */
#define TESSERA_LEASH_BYTES	96L

/**
 * struct tessera_leashes - foreign fences that jobs and calls of one context, or changes of one VM, wait for
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
struct tessera_leash *tessera_leash_begin(struct tessera_leashes *leashes, gfp_t gfp);
int tessera_leash_add(struct tessera_leash *leash, struct dma_fence *fence, gfp_t gfp);
void tessera_leash_seal(struct tessera_leash *leash);
struct dma_fence *tessera_leash_fence(struct tessera_leash *leash);
void tessera_leash_drop(struct tessera_leash *leash);

#endif /* __TESSERA_LEASH_H__ */
