/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_IOCTL_H__
#define __TESSERA_IOCTL_H__

struct drm_ioctl_desc;

extern const struct drm_ioctl_desc tessera_ioctls[];
extern const unsigned int tessera_num_ioctls;

#endif /* __TESSERA_IOCTL_H__ */
