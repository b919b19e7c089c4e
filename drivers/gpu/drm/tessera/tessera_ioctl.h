/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_IOCTL_H__
#define __TESSERA_IOCTL_H__

#include <drm/drm_ioctl.h>
#include <drm/tessera_drm.h>

/* A constant, for the initialiser of the DRM driver. */
#define TESSERA_NUM_IOCTLS	(DRM_TESSERA_IOCTL_LAST + 1)

extern const struct drm_ioctl_desc tessera_ioctls[TESSERA_NUM_IOCTLS];

#endif /* __TESSERA_IOCTL_H__ */
