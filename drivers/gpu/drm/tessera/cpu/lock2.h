/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_LOCK2_H__
#define __TESSERA_LOCK2_H__

struct drm_file;
struct drm_tessera_lock2;
struct drm_tessera_unlock2;

int tessera_lock2(struct drm_file *file, struct drm_tessera_lock2 *args);
int tessera_unlock2(struct drm_file *file, const struct drm_tessera_unlock2 *args);

#endif /* __TESSERA_LOCK2_H__ */
