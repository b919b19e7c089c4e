// SPDX-License-Identifier: MIT
/* Monitored fences: a timeline sync object with its value in memory. */
#include <errno.h>
#include <sys/mman.h>

#include "priv.h"

static int monitored_map(struct tessera_device *dev, struct tessera_monitored *fence,
			 const struct drm_tessera_fence_create *create)
{
	fence->page_size = dev->info.page_size;
	fence->page = dev->os.mmap(dev->os.cookie, fence->page_size, PROT_READ, dev->fd,
				   (off_t)create->mmap_offset);
	if (fence->page == MAP_FAILED)
		return -errno;
	fence->value = (const uint64_t *)((const char *)fence->page + create->offset);
	return 0;
}

static void monitored_destroy(struct tessera_device *dev,
			      const struct drm_tessera_fence_create *create)
{
	struct drm_tessera_fence_destroy fence = { .id = create->id };

	(void)tessera_ioctl(dev, DRM_IOCTL_TESSERA_FENCE_DESTROY, &fence);
}

static int monitored_init(struct tessera_device *dev, struct tessera_monitored *fence,
			  uint64_t value)
{
	struct drm_tessera_fence_create create = { .value = value };
	struct drm_syncobj_destroy syncobj = { 0 };
	int ret;

	ret = tessera_ioctl(dev, DRM_IOCTL_TESSERA_FENCE_CREATE, &create);
	if (ret)
		return ret;
	ret = tessera_syncobj_wrap(dev, create.syncobj, &fence->obj);
	if (ret) {
		syncobj.handle = create.syncobj;
		(void)tessera_ioctl(dev, DRM_IOCTL_SYNCOBJ_DESTROY, &syncobj);
		monitored_destroy(dev, &create);
		return ret;
	}
	ret = monitored_map(dev, fence, &create);
	if (ret) {
		tessera_syncobj_del(fence->obj);
		monitored_destroy(dev, &create);
		return ret;
	}
	fence->id = create.id;
	return 0;
}

int tessera_monitored_new(struct tessera_device *dev, uint64_t value,
			  struct tessera_monitored **out)
{
	struct tessera_monitored *fence = tessera_alloc(dev, sizeof(*fence));
	int ret;

	if (!fence)
		return -ENOMEM;
	atomic_init(&fence->refs, 1);
	ret = monitored_init(dev, fence, value);
	if (ret) {
		tessera_free(dev, fence);
		return ret;
	}
	*out = fence;
	return 0;
}

struct tessera_monitored *tessera_monitored_ref(struct tessera_monitored *fence)
{
	atomic_fetch_add(&fence->refs, 1);
	return fence;
}

void tessera_monitored_del(struct tessera_monitored *fence)
{
	struct drm_tessera_fence_destroy destroy = { 0 };
	struct tessera_device *dev;

	if (!fence || atomic_fetch_sub(&fence->refs, 1) != 1)
		return;
	dev = tessera_device_ref(fence->obj->dev);
	destroy.id = fence->id;
	(void)tessera_ioctl(dev, DRM_IOCTL_TESSERA_FENCE_DESTROY, &destroy);
	(void)dev->os.munmap(dev->os.cookie, fence->page, fence->page_size);
	tessera_syncobj_del(fence->obj);
	tessera_free(dev, fence);
	tessera_device_del(dev);
}

struct tessera_syncobj *tessera_monitored_syncobj(struct tessera_monitored *fence)
{
	return fence->obj;
}

uint64_t tessera_monitored_value(const struct tessera_monitored *fence)
{
	/*
	 * Acquire: reads after this one see what was written before the value.
	 */
	return __atomic_load_n(fence->value, __ATOMIC_ACQUIRE);
}

int tessera_monitored_signal(struct tessera_monitored *fence, uint64_t value)
{
	struct drm_tessera_fence_signal args = { .id = fence->id, .value = value };

	return tessera_ioctl(fence->obj->dev, DRM_IOCTL_TESSERA_FENCE_SIGNAL, &args);
}

int tessera_monitored_wait(struct tessera_monitored *fence, uint64_t value, int64_t deadline_ns)
{
	if (tessera_monitored_value(fence) >= value)
		return 0;
	return tessera_syncobj_wait(fence->obj, value, deadline_ns);
}
