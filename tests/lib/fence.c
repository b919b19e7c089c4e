// SPDX-License-Identifier: MIT
/* Monitored fences. */
#include <sys/mman.h>

#include "tsr.h"

int __tsr_fence_create(int fd, struct drm_tessera_fence_create *args)
{
	return tsr_ioctl(fd, DRM_IOCTL_TESSERA_FENCE_CREATE, args);
}

int __tsr_fence_destroy(int fd, uint32_t id)
{
	struct drm_tessera_fence_destroy args = { .id = id };

	return tsr_ioctl(fd, DRM_IOCTL_TESSERA_FENCE_DESTROY, &args);
}

int __tsr_fence_signal(int fd, uint32_t id, uint64_t value)
{
	struct drm_tessera_fence_signal args = { .id = id, .value = value };

	return tsr_ioctl(fd, DRM_IOCTL_TESSERA_FENCE_SIGNAL, &args);
}

struct tsr_fence tsr_fence_new(struct tsr_device *dev, uint64_t value)
{
	struct drm_tessera_fence_create args = { .value = value };
	struct tsr_fence fence;

	require_ok(__tsr_fence_create(dev->fd, &args));
	require(args.id && args.syncobj && args.mmap_offset);
	require(args.offset < 4096 && args.offset % 8 == 0);
	fence.id = args.id;
	fence.syncobj = args.syncobj;
	fence.mmap_offset = args.mmap_offset;
	fence.page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, dev->fd, (off_t)args.mmap_offset);
	require(fence.page != MAP_FAILED);
	fence.value = (const volatile uint64_t *)((char *)fence.page + args.offset);
	require_eq(*fence.value, value);
	return fence;
}

void tsr_fence_signal(struct tsr_device *dev, const struct tsr_fence *fence, uint64_t value)
{
	require_ok(__tsr_fence_signal(dev->fd, fence->id, value));
}

void tsr_fence_free(struct tsr_device *dev, struct tsr_fence *fence)
{
	require(!munmap(fence->page, 4096));
	require_ok(__tsr_fence_destroy(dev->fd, fence->id));
	tsr_syncobj_free(dev, fence->syncobj);
}

struct drm_tessera_sync tsr_sync_signal(const struct tsr_fence *fence, uint64_t point)
{
	return (struct drm_tessera_sync){
		.handle = fence->syncobj,
		.flags = DRM_TESSERA_SYNC_SIGNAL | DRM_TESSERA_SYNC_TIMELINE,
		.point = point,
	};
}

struct drm_tessera_sync tsr_sync_wait(const struct tsr_fence *fence, uint64_t point)
{
	return (struct drm_tessera_sync){
		.handle = fence->syncobj,
		.flags = DRM_TESSERA_SYNC_TIMELINE | DRM_TESSERA_SYNC_WAIT_FOR_SUBMIT,
		.point = point,
	};
}
