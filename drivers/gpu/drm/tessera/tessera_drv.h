/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Declarations shared by the files at the top. */
#ifndef __TESSERA_DRV_H__
#define __TESSERA_DRV_H__

#include <linux/types.h>

struct drm_driver;
struct drm_minor;
struct drm_printer;
struct tessera_device;

/* tessera_bringup.c */
int tessera_device_init(struct tessera_device *tdev);
void tessera_device_unplug(struct tessera_device *tdev);
int tessera_device_suspend(struct tessera_device *tdev, bool hibernate);
int tessera_device_resume(struct tessera_device *tdev);
void tessera_device_reset_prepare(struct tessera_device *tdev);
void tessera_device_reset_done(struct tessera_device *tdev);

/* tessera_firmware.c */
int tessera_firmware_load(struct tessera_device *tdev);

/* tessera_debugfs.c */
void tessera_debugfs_init(struct drm_minor *minor);
void tessera_tables_print(struct tessera_device *tdev, struct drm_printer *p);

/* tessera_dump.c */
int tessera_dump_init(struct tessera_device *tdev);

/* tessera_drv.c */

extern const struct drm_driver tessera_drm_driver;

#endif /* __TESSERA_DRV_H__ */
