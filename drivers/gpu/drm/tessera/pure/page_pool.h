/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PURE_PAGE_POOL_H__
#define __TESSERA_PURE_PAGE_POOL_H__

#include "pure.h"

/**
 * struct tessera_page_pool - pages of a window, each free or taken
 */
struct tessera_page_pool {
	/** @taken: one bit each; the caller's memory, zeroed */
	unsigned long *taken;
	/** @num: pages in all */
	u32 num;
	/** @num_free: of which free */
	u32 num_free;
};

void tessera_page_pool_init(struct tessera_page_pool *pool, unsigned long *taken, u32 num);
int tessera_page_pool_take(struct tessera_page_pool *pool, u32 *pages, u32 count);
void tessera_page_pool_give(struct tessera_page_pool *pool, const u32 *pages, u32 count);
bool tessera_page_pool_guards(const struct tessera_page_pool *pool, u32 locked);
u32 tessera_page_pool_run(const u32 *pages, u32 count);

#endif /* __TESSERA_PURE_PAGE_POOL_H__ */
