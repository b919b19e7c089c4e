/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PROXY_H__
#define __TESSERA_PROXY_H__

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct dma_fence;
struct tessera_proxy;

/** TESSERA_PROXY_BYTES - what one more fence on a proxy is taken to cost */
#define TESSERA_PROXY_BYTES	96L

/**
 * struct tessera_proxies - foreign fences that jobs and calls of one context, or changes of one VM, wait for
 */
struct tessera_proxies {
	/** @lock: protects all below; taken in any context */
	spinlock_t lock;
	/** @list: those not signalled */
	struct list_head list;
	/** @cut: nothing is waited for any more */
	bool cut;
};

void tessera_proxies_init(struct tessera_proxies *proxies);
void tessera_proxies_cut(struct tessera_proxies *proxies);
struct tessera_proxy *tessera_proxy_begin(struct tessera_proxies *proxies, gfp_t gfp);
int tessera_proxy_add(struct tessera_proxy *proxy, struct dma_fence *fence, gfp_t gfp);
void tessera_proxy_seal(struct tessera_proxy *proxy);
struct dma_fence *tessera_proxy_fence(struct tessera_proxy *proxy);
void tessera_proxy_drop(struct tessera_proxy *proxy);

#endif /* __TESSERA_PROXY_H__ */
