// SPDX-License-Identifier: MIT
/* Resources: objects that are created, shared and opened together. */
#include <errno.h>

#include "priv.h"

static void free_all(struct tessera_bo **bos, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		tessera_bo_free(bos[i]);
}

/* Objects without handles; all or none. */
static int alloc_all(struct tessera_device *dev, struct tessera_bo **bos, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		bos[i] = tessera_bo_alloc(dev);
		if (!bos[i]) {
			free_all(bos, i);
			return -ENOMEM;
		}
	}
	return 0;
}

int tessera_resource_create(struct tessera_device *dev, const struct tessera_bo_desc *descs,
			    uint32_t count, const void *data, uint32_t data_size,
			    struct tessera_bo **bos, int *fd)
{
	struct drm_tessera_bo_create creates[DRM_TESSERA_RESOURCE_MAX_BOS];
	uint32_t handles[DRM_TESSERA_RESOURCE_MAX_BOS];
	struct tessera_bo *made[DRM_TESSERA_RESOURCE_MAX_BOS];
	struct drm_tessera_resource_create args = {
		.bos = { sizeof(creates[0]), count, (uintptr_t)creates },
		.handles = { sizeof(handles[0]), count, (uintptr_t)handles },
		.data = (uintptr_t)data,
		.data_size = data_size,
	};
	int ret = count > ARRAY_SIZE(made) ? -E2BIG : 0;

	for (uint32_t i = 0; i < count && !ret; i++)
		ret = tessera_bo_create_args(dev, &descs[i], &creates[i]);
	if (!ret)
		ret = alloc_all(dev, made, count);
	if (ret)
		return ret;
	ret = tessera_ioctl(dev, DRM_IOCTL_TESSERA_RESOURCE_CREATE, &args);
	if (ret) {
		free_all(made, count);
		return ret;
	}
	for (uint32_t i = 0; i < count; i++) {
		tessera_bo_set(made[i], &creates[i], handles[i]);
		bos[i] = made[i];
	}
	*fd = args.fd;
	return 0;
}

/* The objects of @bos without handles become those of the resource. */
static int open_all(struct tessera_device *dev, struct drm_tessera_resource_open *args,
		    struct tessera_bo **bos, uint32_t count)
{
	uint32_t handles[DRM_TESSERA_RESOURCE_MAX_BOS];
	int ret;

	args->handles = (struct drm_tessera_array){ sizeof(handles[0]), count, (uintptr_t)handles };
	tessera_table_freeze(dev);
	ret = tessera_ioctl(dev, DRM_IOCTL_TESSERA_RESOURCE_OPEN, args);
	if (ret) {
		tessera_table_thaw(dev);
		free_all(bos, count);
		return ret;
	}
	/* Take all handles, so that deleting the objects closes them. */
	for (uint32_t i = 0; i < count; i++) {
		int failed = tessera_bo_take(&bos[i], handles[i]);

		if (failed) {
			tessera_bo_free(bos[i]);
			bos[i] = NULL;
			ret = failed;
		}
	}
	tessera_table_thaw(dev);
	for (uint32_t i = 0; i < count && ret; i++)
		tessera_bo_del(bos[i]);
	return ret;
}

int tessera_resource_open(struct tessera_device *dev, int fd, struct tessera_bo **bos,
			  uint32_t *count, void *data, uint32_t *data_size)
{
	struct tessera_bo *opened[DRM_TESSERA_RESOURCE_MAX_BOS];
	struct drm_tessera_resource_open args = { .fd = fd };
	uint32_t max = *count, max_size = *data_size, num;
	/* A resource does not change: the kernel says how much it has. */
	int ret = tessera_ioctl(dev, DRM_IOCTL_TESSERA_RESOURCE_OPEN, &args);

	if (ret)
		return ret;
	num = args.handles.count;
	*count = num;
	*data_size = args.data_size;
	if (!bos)
		return 0;
	if (num > max || args.data_size > max_size)
		return -ENOSPC;
	/* A later kernel may allow more. */
	if (num > ARRAY_SIZE(opened))
		return -E2BIG;
	args.data = (uintptr_t)data;
	ret = alloc_all(dev, opened, num);
	if (!ret)
		ret = open_all(dev, &args, opened, num);
	for (uint32_t i = 0; i < num && !ret; i++)
		bos[i] = opened[i];
	return ret;
}
