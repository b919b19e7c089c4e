/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_VMAP_H__
#define __TESSERA_VMAP_H__

struct drm_gem_object;
struct iosys_map;

int tessera_vmap(struct drm_gem_object *gem, struct iosys_map *map);
void tessera_vunmap(struct drm_gem_object *gem, struct iosys_map *map);

#endif /* __TESSERA_VMAP_H__ */
