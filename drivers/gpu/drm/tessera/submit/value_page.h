/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_VALUE_PAGE_H__
#define __TESSERA_VALUE_PAGE_H__

#include <linux/types.h>

struct drm_file;
struct tessera_device;
struct tessera_value_page;	/* value_page.c */

int tessera_value_pages_init(struct tessera_device *tdev);
void tessera_value_pages_unplug(struct tessera_device *tdev);
struct tessera_value_page *tessera_value_page_create(struct tessera_device *tdev,
						     struct drm_file *file);
void tessera_value_page_revoke(struct tessera_value_page *page, struct drm_file *file);
void tessera_value_page_get(struct tessera_value_page *page);
void tessera_value_page_put(struct tessera_value_page *page);
int tessera_value_page_take(struct tessera_value_page *page);
void tessera_value_page_give(struct tessera_value_page *page, u32 slot);
u64 *tessera_value_page_cpu(struct tessera_value_page *page, u32 slot);
dma_addr_t tessera_value_page_dma(struct tessera_value_page *page, u32 slot);
u64 tessera_value_page_offset(struct tessera_value_page *page);

#endif /* __TESSERA_VALUE_PAGE_H__ */
