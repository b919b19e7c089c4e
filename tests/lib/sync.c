// SPDX-License-Identifier: MIT
/* Contexts and sync objects. */
#include "tsr.h"

#include <linux/sync_file.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

int __tsr_context_create(int fd, struct drm_tessera_context_create *args)
{
	return tsr_ioctl(fd, DRM_IOCTL_TESSERA_CONTEXT_CREATE, args);
}

uint32_t tsr_context_new(struct tsr_device *dev, uint32_t flags)
{
	struct drm_tessera_context_create args = {
		.flags = flags,
		.engine = dev->render,
	};

	require_ok(__tsr_context_create(dev->fd, &args));
	require(args.id);
	return args.id;
}

uint32_t tsr_context_prio(struct tsr_device *dev, uint32_t priority)
{
	struct drm_tessera_context_create args = {
		.engine = dev->render,
		.priority = priority,
	};

	require_ok(__tsr_context_create(dev->fd, &args));
	return args.id;
}

struct drm_tessera_context_status tsr_context_status(struct tsr_device *dev, uint32_t id)
{
	struct drm_tessera_context_status args = { .id = id };

	require_ok(tsr_ioctl(dev->fd, DRM_IOCTL_TESSERA_CONTEXT_STATUS, &args));
	return args;
}

int __tsr_context_destroy(int fd, uint32_t id)
{
	struct drm_tessera_context_destroy args = { .id = id };

	return tsr_ioctl(fd, DRM_IOCTL_TESSERA_CONTEXT_DESTROY, &args);
}

void tsr_context_free(struct tsr_device *dev, uint32_t id)
{
	require_ok(__tsr_context_destroy(dev->fd, id));
}

uint32_t tsr_syncobj_new(struct tsr_device *dev)
{
	struct drm_syncobj_create args = { 0 };

	require_ok(tsr_ioctl(dev->fd, DRM_IOCTL_SYNCOBJ_CREATE, &args));
	return args.handle;
}

void tsr_syncobj_free(struct tsr_device *dev, uint32_t handle)
{
	struct drm_syncobj_destroy args = { .handle = handle };

	require_ok(tsr_ioctl(dev->fd, DRM_IOCTL_SYNCOBJ_DESTROY, &args));
}

int __tsr_syncobj_wait(int fd, uint32_t handle, uint64_t point, int64_t timeout_ns)
{
	struct drm_syncobj_timeline_wait timeline = {
		.handles = (uintptr_t)&handle,
		.points = (uintptr_t)&point,
		.timeout_nsec = timeout_ns,
		.count_handles = 1,
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
	};
	struct drm_syncobj_wait binary = {
		.handles = (uintptr_t)&handle,
		.timeout_nsec = timeout_ns,
		.count_handles = 1,
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
	};

	if (point)
		return tsr_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &timeline);
	return tsr_ioctl(fd, DRM_IOCTL_SYNCOBJ_WAIT, &binary);
}

uint64_t tsr_syncobj_point(struct tsr_device *dev, uint32_t handle)
{
	uint64_t point = 0;
	struct drm_syncobj_timeline_array args = {
		.handles = (uintptr_t)&handle,
		.points = (uintptr_t)&point,
		.count_handles = 1,
	};

	require_ok(tsr_ioctl(dev->fd, DRM_IOCTL_SYNCOBJ_QUERY, &args));
	return point;
}

void tsr_syncobj_import(struct tsr_device *dev, uint32_t handle, int sync_file)
{
	struct drm_syncobj_handle args = {
		.handle = handle,
		.flags = DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE,
		.fd = sync_file,
	};

	require_ok(tsr_ioctl(dev->fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &args));
}

int tsr_syncobj_export(struct tsr_device *dev, uint32_t handle)
{
	struct drm_syncobj_handle args = {
		.handle = handle,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
		.fd = -1,
	};

	require_ok(tsr_ioctl(dev->fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &args));
	return args.fd;
}

int tsr_sync_file_status(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct sync_file_info info = { 0 };
	int rc;

	do {
		rc = poll(&pfd, 1, -1);
	} while (rc < 0 && errno == EINTR);
	require_eq(rc, 1);
	require_ok(tsr_ioctl(fd, SYNC_IOC_FILE_INFO, &info));
	require_msg(info.status, "poll() reports the sync file as signalled, its status does not");
	return info.status > 0 ? 0 : info.status;
}

int tsr_syncobj_status(struct tsr_device *dev, uint32_t handle)
{
	int fd = tsr_syncobj_export(dev, handle);
	int status = tsr_sync_file_status(fd);

	close(fd);
	return status;
}
