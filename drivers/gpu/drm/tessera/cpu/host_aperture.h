/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_HOST_APERTURE_H__
#define __TESSERA_HOST_APERTURE_H__

#include <linux/types.h>

struct drm_printer;
struct tessera_bo;
struct tessera_device;
struct tessera_segment;

int tessera_host_aperture_init(struct tessera_device *tdev);

u64 tessera_host_aperture_bytes(struct tessera_device *tdev, u32 *page_size);
bool tessera_host_aperture_serves(struct tessera_bo *bo, const struct tessera_segment *seg);
int tessera_host_aperture_map(struct tessera_bo *bo, const struct tessera_segment *seg);
void tessera_host_aperture_unmap(struct tessera_bo *bo);
unsigned long tessera_host_aperture_pfn(struct tessera_bo *bo, unsigned long page);

void tessera_host_aperture_print(struct tessera_device *tdev, struct drm_printer *p);

#endif /* __TESSERA_HOST_APERTURE_H__ */
