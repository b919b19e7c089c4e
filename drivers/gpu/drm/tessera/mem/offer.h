/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_OFFER_H__
#define __TESSERA_OFFER_H__

#include <linux/types.h>

struct drm_file;
struct drm_tessera_offer_bo;
struct drm_tessera_reclaim_bo;

int tessera_offer(struct drm_file *file, const struct drm_tessera_offer_bo *list, u32 num,
		  u32 priority);
int tessera_reclaim(struct drm_file *file, struct drm_tessera_reclaim_bo *list, u32 num);

#endif /* __TESSERA_OFFER_H__ */
