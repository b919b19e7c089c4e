/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_SWIZZLE_RANGE_H__
#define __TESSERA_SWIZZLE_RANGE_H__

#include <linux/types.h>

struct drm_printer;
struct tessera_bo;
struct tessera_device;
struct tessera_segment;

int tessera_swizzle_range_init(struct tessera_device *tdev);

bool tessera_swizzle_range_serves(struct tessera_bo *bo, const struct tessera_segment *seg);
int tessera_swizzle_range_acquire(struct tessera_bo *bo, u64 first, u64 count);
void tessera_swizzle_range_release(struct tessera_bo *bo);
u64 tessera_swizzle_range_left(struct tessera_bo *bo, u64 page);
unsigned long tessera_swizzle_range_pfn(struct tessera_bo *bo, unsigned long page);

void tessera_swizzle_range_print(struct tessera_device *tdev, struct drm_printer *p);

#endif /* __TESSERA_SWIZZLE_RANGE_H__ */
