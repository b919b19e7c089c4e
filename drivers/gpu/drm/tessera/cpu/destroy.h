/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_DESTROY_H__
#define __TESSERA_DESTROY_H__

struct drm_gem_object;

void tessera_destroy_free(struct drm_gem_object *gem);

#endif /* __TESSERA_DESTROY_H__ */
