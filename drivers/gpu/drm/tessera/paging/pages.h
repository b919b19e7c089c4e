/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PAGING_PAGES_H__
#define __TESSERA_PAGING_PAGES_H__

#include <linux/types.h>

#include <tessera/tessera_hw.h>

struct tessera_device;
struct tessera_pages;	/* pages.c */

/* A page list is one page: 512 entries, 2 MiB in a pass. */
#define TESSERA_PAGING_LIST_ENTRIES	(TSR_PAGE_SIZE / sizeof(__le64))

struct tessera_pages *tessera_pages_create(struct tessera_device *tdev, const dma_addr_t *dma,
					   u32 num);
void tessera_pages_destroy(struct tessera_pages *pages);
void tessera_pages_check(const struct tessera_pages *pages, dma_addr_t dma, dma_addr_t first);
bool tessera_pages_find(const struct tessera_pages *pages, u64 first, u32 count,
			dma_addr_t *dma);

#endif /* __TESSERA_PAGING_PAGES_H__ */
