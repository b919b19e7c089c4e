/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_REGISTRY_H__
#define __TESSERA_REGISTRY_H__

#include <linux/types.h>

struct drm_gem_object;
struct tessera_device;

int tessera_registry_init(struct tessera_device *tdev);
int tessera_registry_reserve(struct tessera_device *tdev, u32 *id);
void tessera_registry_publish(struct tessera_device *tdev, u32 id,
			      struct drm_gem_object *gem);
void tessera_registry_wait_removed(struct tessera_device *tdev, u32 id);
bool tessera_registry_next_dying(struct tessera_device *tdev, u32 *id,
				 bool (*get)(struct drm_gem_object *gem),
				 struct drm_gem_object **gem);
void tessera_registry_remove(struct tessera_device *tdev, u32 id);
struct drm_gem_object *tessera_registry_next(struct tessera_device *tdev, u32 id);

#endif /* __TESSERA_REGISTRY_H__ */
