// SPDX-License-Identifier: MIT
/*
 * dma-bufs, and the table of the objects by their handles.
 *
 * The kernel has one handle for an object in a file: importing a dma-buf again
 * returns the handle that the file has. The handle is not counted, so a second
 * object of the library with the same handle would close it under the first
 * one. The table therefore has all objects of a device, and an import looks
 * there first.
 *
 * Two locks keep a handle and its object together. @table_lock protects the
 * table, and a count of references that drops to zero. A thread that closes a
 * handle has @close_lock for reading from then until the kernel has closed it.
 * A call that returns a handle which the file may have already, an import or a
 * LOCK that reuses an instance, has it for writing, so that it never gets a
 * handle whose object has left the table. Closing may wait for jobs
 * (DRM_TESSERA_BO_DESTROY_SYNCHRONOUS), and meanwhile delays such calls only.
 */
#include <errno.h>
#include <fcntl.h>

#include "priv.h"

static struct tessera_bo_bucket *bucket_of(struct tessera_device *dev, uint32_t handle)
{
	return &dev->table[handle % TESSERA_TABLE_BUCKETS];
}

void tessera_bo_enter(struct tessera_bo *bo)
{
	pthread_mutex_lock(&bo->dev->table_lock);
	LIST_INSERT_HEAD(bucket_of(bo->dev, bo->handle), bo, of_table);
	pthread_mutex_unlock(&bo->dev->table_lock);
}

bool tessera_bo_close_begin(struct tessera_bo *bo)
{
	struct tessera_device *dev = bo->dev;
	unsigned int refs = atomic_load(&bo->refs);
	bool last;

	while (refs > 1) {
		if (atomic_compare_exchange_weak(&bo->refs, &refs, refs - 1))
			return false;
	}
	pthread_rwlock_rdlock(&dev->close_lock);
	pthread_mutex_lock(&dev->table_lock);
	last = atomic_fetch_sub(&bo->refs, 1) == 1;
	if (last)
		LIST_REMOVE(bo, of_table);
	pthread_mutex_unlock(&dev->table_lock);
	if (!last)
		pthread_rwlock_unlock(&dev->close_lock);
	return last;
}

void tessera_bo_close_end(struct tessera_device *dev)
{
	pthread_rwlock_unlock(&dev->close_lock);
}

void tessera_table_freeze(struct tessera_device *dev)
{
	pthread_rwlock_wrlock(&dev->close_lock);
}

void tessera_table_thaw(struct tessera_device *dev)
{
	pthread_rwlock_unlock(&dev->close_lock);
}

struct tessera_bo *tessera_bo_find(struct tessera_device *dev, uint32_t handle)
{
	struct tessera_bo *bo;

	pthread_mutex_lock(&dev->table_lock);
	LIST_FOREACH(bo, bucket_of(dev, handle), of_table)
	{
		if (bo->handle == handle)
			break;
	}
	if (bo)
		tessera_bo_ref(bo);
	pthread_mutex_unlock(&dev->table_lock);
	return bo;
}

/* Make @bo the object of a handle that no other object has. */
static int adopt(struct tessera_bo *bo, uint32_t handle)
{
	struct drm_tessera_bo_info info = { .handle = handle };
	struct drm_gem_close close_arg = { .handle = handle };
	int ret = tessera_ioctl(bo->dev, DRM_IOCTL_TESSERA_BO_INFO, &info);

	if (ret) {
		(void)tessera_ioctl(bo->dev, DRM_IOCTL_GEM_CLOSE, &close_arg);
		return ret;
	}
	bo->handle = handle;
	bo->flags = info.flags;
	bo->supported = info.supported;
	bo->size = info.size;
	tessera_bo_enter(bo);
	return 0;
}

int tessera_bo_take(struct tessera_bo **bo, uint32_t handle)
{
	struct tessera_bo *old = tessera_bo_find((*bo)->dev, handle);

	if (!old)
		return adopt(*bo, handle);
	tessera_bo_free(*bo);
	*bo = old;
	return 0;
}

int tessera_bo_import(struct tessera_device *dev, int fd, struct tessera_bo **out)
{
	struct tessera_bo *bo = tessera_bo_alloc(dev);
	struct drm_prime_handle prime = { .fd = fd };
	int ret;

	if (!bo)
		return -ENOMEM;
	tessera_table_freeze(dev);
	ret = tessera_ioctl(dev, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime);
	if (!ret)
		ret = tessera_bo_take(&bo, prime.handle);
	tessera_table_thaw(dev);
	if (ret)
		tessera_bo_free(bo);
	else
		*out = bo;
	return ret;
}

int tessera_bo_export(struct tessera_bo *bo, int *fd)
{
	struct drm_prime_handle prime = {
		.handle = bo->handle,
		.flags = DRM_CLOEXEC | DRM_RDWR,
		.fd = -1,
	};
	int ret = tessera_ioctl(bo->dev, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime);

	if (!ret)
		*fd = prime.fd;
	return ret;
}
