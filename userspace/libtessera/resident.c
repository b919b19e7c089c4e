// SPDX-License-Identifier: MIT
/* Residency lists and budgets, for jobs that bring no allocation list. */
#include <errno.h>
#include <string.h>

#include "priv.h"

/* Handles of objects, which must belong to @dev. The caller frees the array. */
static int get_handles(struct tessera_device *dev, struct tessera_bo *const *bos, uint32_t count,
		       uint32_t **out)
{
	uint32_t *handles;

	*out = NULL;
	if (!count)
		return 0;
	if (count > dev->info.max_allocs)
		return -E2BIG;
	handles = tessera_alloc(dev, count * sizeof(*handles));
	if (!handles)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		if (bos[i]->dev != dev) {
			tessera_free(dev, handles);
			return -EXDEV;
		}
		handles[i] = bos[i]->handle;
	}
	*out = handles;
	return 0;
}

static struct drm_tessera_array handle_array(const uint32_t *handles, uint32_t count)
{
	return (struct drm_tessera_array){
		.stride = sizeof(*handles),
		.count = count,
		.array = (uintptr_t)handles,
	};
}

int tessera_device_make_resident(struct tessera_device *dev, struct tessera_bo *const *bos,
				 uint32_t count, const struct tessera_sync *signal,
				 struct tessera_residency *result)
{
	return tessera_device_make_resident_flags(dev, bos, count, 0, signal, result);
}

int tessera_device_make_resident_flags(struct tessera_device *dev, struct tessera_bo *const *bos,
				       uint32_t count, uint32_t flags,
				       const struct tessera_sync *signal,
				       struct tessera_residency *result)
{
	struct drm_tessera_sync sync;
	struct drm_tessera_make_resident args = { .flags = flags };
	uint32_t *handles;
	int ret;

	if (result)
		*result = (struct tessera_residency){ 0 };
	if (signal) {
		ret = tessera_sync_fill(&sync, dev, signal, 1, DRM_TESSERA_SYNC_SIGNAL);
		if (ret)
			return ret;
		args.syncs = (struct drm_tessera_array){ sizeof(sync), 1, (uintptr_t)&sync };
	}
	ret = get_handles(dev, bos, count, &handles);
	if (ret)
		return ret;
	args.handles = handle_array(handles, count);
	ret = tessera_ioctl(dev, DRM_IOCTL_TESSERA_MAKE_RESIDENT, &args);
	if (result)
		*result = (struct tessera_residency){
			.bytes_to_trim = args.bytes_to_trim,
			.trim_segments = args.trim_segments,
			.pending = args.pending,
		};
	tessera_free(dev, handles);
	return ret;
}

static int evict(struct tessera_device *dev, struct tessera_bo *const *bos, uint32_t count,
		 uint32_t flags)
{
	struct drm_tessera_evict args = { .flags = flags };
	uint32_t *handles;
	int ret;

	ret = get_handles(dev, bos, count, &handles);
	if (ret)
		return ret;
	args.handles = handle_array(handles, count);
	ret = tessera_ioctl(dev, DRM_IOCTL_TESSERA_EVICT, &args);
	tessera_free(dev, handles);
	return ret;
}

int tessera_device_evict(struct tessera_device *dev, struct tessera_bo *const *bos, uint32_t count)
{
	return evict(dev, bos, count, 0);
}

int tessera_device_evict_unwritten(struct tessera_device *dev, struct tessera_bo *const *bos,
				   uint32_t count)
{
	return evict(dev, bos, count, DRM_TESSERA_EVICT_NOT_WRITTEN);
}

int tessera_device_budget(struct tessera_device *dev, uint32_t segments,
			  struct drm_tessera_budget *budget, size_t size)
{
	struct drm_tessera_budget args = { .segments = segments };
	int ret;

	if (size > sizeof(args))
		memset((char *)budget + sizeof(args), 0, size - sizeof(args));
	ret = tessera_ioctl(dev, DRM_IOCTL_TESSERA_BUDGET, &args);
	memcpy(budget, &args, size < sizeof(args) ? size : sizeof(args));
	return ret;
}

int tessera_device_reserve(struct tessera_device *dev, uint32_t segment, uint64_t bytes)
{
	struct drm_tessera_budget args = {
		.flags = DRM_TESSERA_BUDGET_RESERVE,
		.reservation = bytes,
	};

	if (segment >= 32)
		return -EINVAL;
	args.segments = 1u << segment;
	return tessera_ioctl(dev, DRM_IOCTL_TESSERA_BUDGET, &args);
}

int tessera_device_watch_budget(struct tessera_device *dev, uint32_t segments, int eventfd)
{
	struct drm_tessera_budget args = {
		.segments = segments,
		.flags = DRM_TESSERA_BUDGET_NOTIFY,
		.eventfd = eventfd,
	};

	return tessera_ioctl(dev, DRM_IOCTL_TESSERA_BUDGET, &args);
}
