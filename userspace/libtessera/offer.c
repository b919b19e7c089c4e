// SPDX-License-Identifier: MIT
/*
 * Offering objects, so that the kernel may drop their contents, and reclaiming
 * them.
 */
#include <errno.h>
#include <string.h>

#include "priv.h"

/* Lists the objects in elements that begin with the handle; the rest is zero. */
static int list_new(struct tessera_bo *const *bos, uint32_t count, uint32_t stride,
		    struct drm_tessera_array *array)
{
	char *list = tessera_alloc(bos[0]->dev, (size_t)count * stride);

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		memcpy(list + (size_t)i * stride, &bos[i]->handle, sizeof(bos[i]->handle));
	array->stride = stride;
	array->count = count;
	array->array = (uintptr_t)list;
	return 0;
}

static int offer(struct tessera_bo *const *bos, uint32_t count, uint32_t priority, uint32_t flags)
{
	struct drm_tessera_offer args = { .priority = priority, .flags = flags };
	int ret;

	if (!count)
		return 0;
	ret = list_new(bos, count, sizeof(struct drm_tessera_offer_bo), &args.bos);
	if (ret)
		return ret;
	ret = tessera_ioctl(bos[0]->dev, DRM_IOCTL_TESSERA_OFFER, &args);
	tessera_free(bos[0]->dev, (void *)(uintptr_t)args.bos.array);
	return ret;
}

int tessera_bo_offer(struct tessera_bo *const *bos, uint32_t count, uint32_t priority)
{
	return offer(bos, count, priority, 0);
}

int tessera_bo_decommit(struct tessera_bo *const *bos, uint32_t count)
{
	return offer(bos, count, DRM_TESSERA_OFFER_LOW, DRM_TESSERA_OFFER_DECOMMIT);
}

int tessera_bo_reclaim(struct tessera_bo *const *bos, uint32_t count, uint32_t *results)
{
	return tessera_bo_reclaim_signal(bos, count, results, NULL, NULL);
}

int tessera_bo_reclaim_signal(struct tessera_bo *const *bos, uint32_t count, uint32_t *results,
			      const struct tessera_sync *signal, uint32_t *pending)
{
	struct drm_tessera_reclaim args = { 0 };
	struct drm_tessera_reclaim_bo *list;
	struct drm_tessera_sync sync;
	int ret;

	if (pending)
		*pending = 0;
	if (!count)
		return 0;
	if (signal) {
		ret = tessera_sync_fill(&sync, bos[0]->dev, signal, 1, DRM_TESSERA_SYNC_SIGNAL);
		if (ret)
			return ret;
		args.syncs = (struct drm_tessera_array){ sizeof(sync), 1, (uintptr_t)&sync };
	}
	ret = list_new(bos, count, sizeof(*list), &args.bos);
	if (ret)
		return ret;
	list = (void *)(uintptr_t)args.bos.array;
	ret = tessera_ioctl(bos[0]->dev, DRM_IOCTL_TESSERA_RECLAIM, &args);
	for (uint32_t i = 0; i < count && !ret; i++)
		results[i] = list[i].result;
	if (pending)
		*pending = args.pending;
	tessera_free(bos[0]->dev, list);
	return ret;
}
