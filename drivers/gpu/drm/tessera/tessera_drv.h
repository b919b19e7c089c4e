/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_DRV_H__
#define __TESSERA_DRV_H__

struct drm_driver;

extern const struct drm_driver tessera_drm_driver;

#endif /* __TESSERA_DRV_H__ */
