/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_DEBUGFS_H__
#define __TESSERA_DEBUGFS_H__

struct drm_minor;

void tessera_debugfs_init(struct drm_minor *minor);

#endif /* __TESSERA_DEBUGFS_H__ */
