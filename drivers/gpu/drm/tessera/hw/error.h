/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_ERROR_H__
#define __TESSERA_ERROR_H__

#include <linux/types.h>

struct drm_printer;
struct tessera_device;

int tessera_error_init(struct tessera_device *tdev);
void tessera_error_collect(struct tessera_device *tdev);
u64 tessera_error_count(struct tessera_device *tdev, u32 type);
u64 tessera_error_total(struct tessera_device *tdev);
const char *tessera_error_name(u32 type);
void tessera_error_print(struct tessera_device *tdev, struct drm_printer *p);

#endif /* __TESSERA_ERROR_H__ */
