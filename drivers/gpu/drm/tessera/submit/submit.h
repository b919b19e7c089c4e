/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_SUBMIT_H__
#define __TESSERA_SUBMIT_H__

struct drm_file;
struct drm_tessera_submit;
struct tessera_device;
struct xarray;

int tessera_submit(struct tessera_device *tdev, struct drm_file *file,
		   struct xarray *contexts, struct drm_tessera_submit *args);

#endif /* __TESSERA_SUBMIT_H__ */
