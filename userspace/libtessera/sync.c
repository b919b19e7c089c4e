// SPDX-License-Identifier: MIT
/* Sync objects and fences. Waiting always sleeps in the kernel. */
#include <errno.h>
#include <linux/sync_file.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "priv.h"

#define MAX_WAITS 65536 /* bounds the memory that the kernel takes for one wait */

int64_t tessera_deadline(uint64_t relative_ns)
{
	struct timespec now;
	int64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
	if (relative_ns > (uint64_t)(TESSERA_FOREVER - ns))
		return TESSERA_FOREVER;
	return ns + (int64_t)relative_ns;
}

int tessera_syncobj_wrap(struct tessera_device *dev, uint32_t handle, struct tessera_syncobj **out)
{
	struct tessera_syncobj *obj = tessera_alloc(dev, sizeof(*obj));

	if (!obj)
		return -ENOMEM;
	atomic_init(&obj->refs, 1);
	obj->dev = tessera_device_ref(dev);
	obj->handle = handle;
	*out = obj;
	return 0;
}

/* The same for a new handle, which is closed if there is no memory. */
static int wrap_new(struct tessera_device *dev, uint32_t handle, struct tessera_syncobj **out)
{
	struct drm_syncobj_destroy destroy = { .handle = handle };
	int ret = tessera_syncobj_wrap(dev, handle, out);

	if (ret)
		(void)tessera_ioctl(dev, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy);
	return ret;
}

int tessera_syncobj_new(struct tessera_device *dev, int signalled, struct tessera_syncobj **out)
{
	struct drm_syncobj_create create = {
		.flags = signalled ? DRM_SYNCOBJ_CREATE_SIGNALED : 0,
	};
	int ret = tessera_ioctl(dev, DRM_IOCTL_SYNCOBJ_CREATE, &create);

	return ret ? ret : wrap_new(dev, create.handle, out);
}

struct tessera_syncobj *tessera_syncobj_ref(struct tessera_syncobj *obj)
{
	atomic_fetch_add(&obj->refs, 1);
	return obj;
}

void tessera_syncobj_del(struct tessera_syncobj *obj)
{
	struct drm_syncobj_destroy destroy = { 0 };
	struct tessera_device *dev;

	if (!obj || atomic_fetch_sub(&obj->refs, 1) != 1)
		return;
	dev = obj->dev;
	destroy.handle = obj->handle;
	(void)tessera_ioctl(dev, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy);
	tessera_free(dev, obj);
	tessera_device_del(dev);
}

uint32_t tessera_syncobj_handle(const struct tessera_syncobj *obj)
{
	return obj->handle;
}

int tessera_syncobj_signal(struct tessera_syncobj *obj, uint64_t point)
{
	struct drm_syncobj_timeline_array timeline = {
		.handles = (uintptr_t)&obj->handle,
		.points = (uintptr_t)&point,
		.count_handles = 1,
	};
	struct drm_syncobj_array binary = {
		.handles = (uintptr_t)&obj->handle,
		.count_handles = 1,
	};

	if (point)
		return tessera_ioctl(obj->dev, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, &timeline);
	return tessera_ioctl(obj->dev, DRM_IOCTL_SYNCOBJ_SIGNAL, &binary);
}

int tessera_syncobj_reset(struct tessera_syncobj *obj)
{
	struct drm_syncobj_array binary = {
		.handles = (uintptr_t)&obj->handle,
		.count_handles = 1,
	};

	return tessera_ioctl(obj->dev, DRM_IOCTL_SYNCOBJ_RESET, &binary);
}

/*
 * Point 0 waits for the fence of a binary object. The kernel counts ticks, and may
 * end a wait up to one tick before the deadline.
 */
static int wait_points(struct tessera_device *dev, struct drm_syncobj_timeline_wait *wait,
		       const uint32_t *handles, const uint64_t *points)
{
	int ret;

	wait->handles = (uintptr_t)handles;
	wait->points = (uintptr_t)points;
	wait->flags |= DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT;
	do {
		ret = tessera_ioctl(dev, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, wait);
	} while (ret == -ETIME && tessera_deadline(0) < wait->timeout_nsec);
	return ret;
}

int tessera_syncobj_wait(struct tessera_syncobj *obj, uint64_t point, int64_t deadline_ns)
{
	struct drm_syncobj_timeline_wait wait = {
		.timeout_nsec = deadline_ns,
		.count_handles = 1,
	};

	return wait_points(obj->dev, &wait, &obj->handle, &point);
}

int tessera_sync_wait(const struct tessera_sync *syncs, uint32_t count, int all,
		      int64_t deadline_ns, uint32_t *first)
{
	struct drm_syncobj_timeline_wait wait = {
		.timeout_nsec = deadline_ns,
		.count_handles = count,
		.flags = all ? DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL : 0,
	};
	struct tessera_device *dev;
	uint32_t *handles;
	uint64_t *points;
	int ret = 0;

	if (!count || count > MAX_WAITS)
		return -EINVAL;
	dev = syncs[0].obj->dev;
	points = tessera_alloc(dev, count * (sizeof(*points) + sizeof(*handles)));
	if (!points)
		return -ENOMEM;
	handles = (uint32_t *)(points + count);
	for (uint32_t i = 0; i < count; i++) {
		if (syncs[i].obj->dev != dev)
			ret = -EXDEV;
		handles[i] = syncs[i].obj->handle;
		points[i] = syncs[i].point;
	}
	if (!ret)
		ret = wait_points(dev, &wait, handles, points);
	if (!ret && !all && first)
		*first = wait.first_signaled;
	tessera_free(dev, points);
	return ret;
}

int tessera_syncobj_query(struct tessera_syncobj *obj, uint64_t *point)
{
	struct drm_syncobj_timeline_array timeline = {
		.handles = (uintptr_t)&obj->handle,
		.points = (uintptr_t)point,
		.count_handles = 1,
	};

	return tessera_ioctl(obj->dev, DRM_IOCTL_SYNCOBJ_QUERY, &timeline);
}

static int handle_to_fd(struct tessera_syncobj *obj, uint32_t flags, int *fd)
{
	struct drm_syncobj_handle handle = { .handle = obj->handle, .flags = flags, .fd = -1 };
	int ret = tessera_ioctl(obj->dev, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &handle);

	if (!ret)
		*fd = handle.fd;
	return ret;
}

int tessera_syncobj_export(struct tessera_syncobj *obj, int *fd)
{
	return handle_to_fd(obj, DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE, fd);
}

int tessera_syncobj_to_fd(struct tessera_syncobj *obj, int *fd)
{
	return handle_to_fd(obj, 0, fd);
}

int tessera_syncobj_from_fd(struct tessera_device *dev, int fd, struct tessera_syncobj **out)
{
	struct drm_syncobj_handle handle = { .fd = fd };
	int ret = tessera_ioctl(dev, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &handle);

	return ret ? ret : wrap_new(dev, handle.handle, out);
}

int tessera_syncobj_import(struct tessera_syncobj *obj, int fd)
{
	struct drm_syncobj_handle handle = {
		.handle = obj->handle,
		.flags = DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE,
		.fd = fd,
	};

	return tessera_ioctl(obj->dev, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &handle);
}

int tessera_fence_new(struct tessera_device *dev, struct tessera_fence **out)
{
	struct tessera_fence *fence = tessera_alloc(dev, sizeof(*fence));
	int ret;

	if (!fence)
		return -ENOMEM;
	atomic_init(&fence->refs, 1);
	ret = tessera_syncobj_new(dev, 0, &fence->obj);
	if (ret) {
		tessera_free(dev, fence);
		return ret;
	}
	*out = fence;
	return 0;
}

struct tessera_fence *tessera_fence_ref(struct tessera_fence *fence)
{
	atomic_fetch_add(&fence->refs, 1);
	return fence;
}

void tessera_fence_del(struct tessera_fence *fence)
{
	struct tessera_device *dev;

	if (!fence || atomic_fetch_sub(&fence->refs, 1) != 1)
		return;
	dev = tessera_device_ref(fence->obj->dev);
	tessera_syncobj_del(fence->obj);
	tessera_free(dev, fence);
	tessera_device_del(dev);
}

struct tessera_syncobj *tessera_fence_syncobj(struct tessera_fence *fence)
{
	return fence->obj;
}

/* A sync object only tells that the job ended. The sync_file has its error. */
static int fence_job_error(struct tessera_fence *fence, int *job_error)
{
	struct tessera_device *dev = fence->obj->dev;
	struct sync_file_info info = { 0 };
	int fd, ret;

	ret = tessera_syncobj_export(fence->obj, &fd);
	if (ret)
		return ret;
	do {
		ret = dev->os.ioctl(dev->os.cookie, fd, SYNC_IOC_FILE_INFO, &info);
	} while (ret == -1 && errno == EINTR);
	ret = ret == -1 ? -errno : 0;
	close(fd);
	if (!ret)
		*job_error = info.status < 0 ? info.status : info.status ? 0 : -EINPROGRESS;
	return ret;
}

int tessera_fence_wait(struct tessera_fence *fence, int64_t deadline_ns, int *job_error)
{
	int ret;

	if (job_error)
		*job_error = -EINPROGRESS;
	ret = tessera_syncobj_wait(fence->obj, 0, deadline_ns);
	if (ret || !job_error)
		return ret;
	return fence_job_error(fence, job_error);
}
