// SPDX-License-Identifier: MIT
/*
 * Offering objects, so that the kernel may drop their contents, and reclaiming
 * them.
 */
#include <errno.h>

#include "priv.h"

int tessera_bo_offer(struct tessera_bo *const *bos, uint32_t count, uint32_t priority)
{
	struct drm_tessera_offer args = { .priority = priority };
	struct drm_tessera_offer_bo *list;
	struct tessera_device *dev;
	int ret;

	if (!count)
		return 0;
	dev = bos[0]->dev;
	list = tessera_alloc(dev, count * sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		list[i].handle = bos[i]->handle;
	args.bos.stride = sizeof(*list);
	args.bos.count = count;
	args.bos.array = (uintptr_t)list;
	ret = tessera_ioctl(dev, DRM_IOCTL_TESSERA_OFFER, &args);
	tessera_free(dev, list);
	return ret;
}

int tessera_bo_reclaim(struct tessera_bo *const *bos, uint32_t count, uint32_t *results)
{
	struct drm_tessera_reclaim args = { .bos.count = count };
	struct drm_tessera_reclaim_bo *list;
	struct tessera_device *dev;
	int ret;

	if (!count)
		return 0;
	dev = bos[0]->dev;
	list = tessera_alloc(dev, count * sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		list[i].handle = bos[i]->handle;
	args.bos.stride = sizeof(*list);
	args.bos.array = (uintptr_t)list;
	ret = tessera_ioctl(dev, DRM_IOCTL_TESSERA_RECLAIM, &args);
	for (uint32_t i = 0; i < count && !ret; i++)
		results[i] = list[i].result;
	tessera_free(dev, list);
	return ret;
}
