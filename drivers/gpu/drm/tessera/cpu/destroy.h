/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_DESTROY_H__
#define __TESSERA_DESTROY_H__

#include <linux/types.h>

struct drm_file;
struct drm_gem_object;
struct tessera_bo;		/* mem/bo.h */

void tessera_destroy_free(struct drm_gem_object *gem);

int tessera_destroy_handle(struct drm_file *file, u32 handle);
int tessera_destroy_now(struct drm_file *file, u32 handle, struct tessera_bo *bo);

#endif /* __TESSERA_DESTROY_H__ */
