/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_IOCTL_BO_H__
#define __TESSERA_IOCTL_BO_H__

struct drm_device;
struct drm_file;
struct drm_mode_create_dumb;

int tessera_ioctl_dumb_create(struct drm_file *file, struct drm_device *drm,
			      struct drm_mode_create_dumb *args);
int tessera_ioctl_bo_from_user(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_bo_destroy(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_offer(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_reclaim(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* __TESSERA_IOCTL_BO_H__ */
