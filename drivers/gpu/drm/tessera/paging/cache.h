/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_CACHE_H__
#define __TESSERA_CACHE_H__

#include <linux/types.h>

#include <drm/ttm/ttm_caching.h>

struct tessera_device;
struct tessera_segment;		/* segments/segment.h */

enum ttm_caching tessera_cache_choose(struct tessera_device *tdev, u32 bo_flags);
int tessera_cache_aperture_pte(struct tessera_device *tdev, const struct tessera_segment *seg,
			       enum ttm_caching caching, dma_addr_t dma, u64 *pte);
u64 tessera_cache_vm_bits(struct tessera_device *tdev, const struct tessera_segment *seg,
			  enum ttm_caching caching);

#endif /* __TESSERA_CACHE_H__ */
