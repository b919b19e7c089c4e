/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Declarations shared by the files at the top. */
#ifndef __TESSERA_DRV_H__
#define __TESSERA_DRV_H__

#include <drm/drm_ioctl.h>

#include <drm/tessera_drm.h>

struct drm_device;
struct drm_driver;
struct drm_file;
struct drm_mode_create_dumb;
struct tessera_device;		/* tessera_firmware.c */
int tessera_firmware_load(struct tessera_device *tdev);

/* tessera_ioctl_bo.c */
int tessera_ioctl_dumb_create(struct drm_file *file, struct drm_device *drm,
			      struct drm_mode_create_dumb *args);
int tessera_ioctl_bo_from_user(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_bo_destroy(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_offer(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_reclaim(struct drm_device *drm, void *data, struct drm_file *file);

/* tessera_ioctl_vm.c */
int tessera_ioctl_vm_create(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_vm_destroy(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_vm_bind(struct drm_device *drm, void *arg, struct drm_file *file);
int tessera_ioctl_submit_vm(struct drm_device *drm, void *arg, struct drm_file *file);

/* tessera_ioctl.c */

/* Constant expression, for the initialiser of the DRM driver. */
#define TESSERA_NUM_IOCTLS	(DRM_TESSERA_IOCTL_LAST + 1)

extern const struct drm_ioctl_desc tessera_ioctls[TESSERA_NUM_IOCTLS];

/* tessera_drv.c */

extern const struct drm_driver tessera_drm_driver;

#endif /* __TESSERA_DRV_H__ */
