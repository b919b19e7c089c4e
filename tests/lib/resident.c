// SPDX-License-Identifier: MIT
#include "resident.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct drm_tessera_array array_of(const void *elements, uint32_t stride, uint32_t count)
{
	return (struct drm_tessera_array){
		.stride = stride,
		.count = count,
		.array = (uintptr_t)elements,
	};
}

int __tsr_make_resident(int fd, const uint32_t *handles, uint32_t count, uint32_t sync,
			struct drm_tessera_make_resident *out)
{
	struct drm_tessera_sync signal = { .handle = sync, .flags = DRM_TESSERA_SYNC_SIGNAL };
	struct drm_tessera_make_resident args = {
		.handles = array_of(handles, sizeof(*handles), count),
		.syncs = array_of(&signal, sizeof(signal), sync ? 1 : 0),
		/* the driver writes these even if the call fails */
		.bytes_to_trim = ~0ull,
		.trim_segments = ~0u,
		.pending = ~0u,
		.failed = ~0u,
	};
	int rc = tsr_ioctl(fd, DRM_IOCTL_TESSERA_MAKE_RESIDENT, &args);

	require(rc == -ENOMEM || (!args.bytes_to_trim && !args.trim_segments));
	require(!rc || !args.pending);
	require(args.failed <= count);
	require(rc && rc != -ENOMEM ? true : args.failed == count);
	if (out)
		*out = args;
	return rc;
}

int __tsr_evict(int fd, const uint32_t *handles, uint32_t count)
{
	struct drm_tessera_evict args = { .handles = array_of(handles, sizeof(*handles), count) };

	return tsr_ioctl(fd, DRM_IOCTL_TESSERA_EVICT, &args);
}

int __tsr_budget(struct tsr_device *dev, struct drm_tessera_budget *args)
{
	return tsr_ioctl(dev->fd, DRM_IOCTL_TESSERA_BUDGET, args);
}

struct drm_tessera_budget tsr_budget(struct tsr_device *dev, uint32_t segments)
{
	struct drm_tessera_budget args = { .segments = segments };

	require_ok(__tsr_budget(dev, &args));
	return args;
}

int __tsr_budget_notify(struct tsr_device *dev, uint32_t segments, int eventfd)
{
	struct drm_tessera_budget args = {
		.segments = segments,
		.flags = DRM_TESSERA_BUDGET_NOTIFY,
		.eventfd = eventfd,
	};

	return __tsr_budget(dev, &args);
}

bool tsr_budget_told(int eventfd, int timeout_ms)
{
	struct pollfd pollfd = { .fd = eventfd, .events = POLLIN };
	uint64_t count;

	if (poll(&pollfd, 1, timeout_ms) != 1)
		return false;
	require_eq(read(eventfd, &count, sizeof(count)), sizeof(count));
	return true;
}

static uint32_t *handles_of(const struct tsr_bo *bos, uint32_t count)
{
	uint32_t *handles = calloc(count + 1, sizeof(*handles));

	require(handles);
	for (uint32_t i = 0; i < count; i++)
		handles[i] = bos[i].handle;
	return handles;
}

static int make_and_wait(struct tsr_device *dev, const uint32_t *handles, uint32_t count,
			 struct drm_tessera_make_resident *out)
{
	uint32_t sync = tsr_syncobj_new(dev);
	int rc = __tsr_make_resident(dev->fd, handles, count, sync, out);

	if (!rc)
		require_eq(tsr_syncobj_status(dev, sync), 0);
	tsr_syncobj_free(dev, sync);
	return rc;
}

void tsr_make_resident(struct tsr_device *dev, const struct tsr_bo *bos, uint32_t count)
{
	uint32_t *handles = handles_of(bos, count);

	require_ok(make_and_wait(dev, handles, count, NULL));
	for (uint32_t i = 0; i < count; i++)
		require(tsr_bo_info(dev, &bos[i]).segment);
	free(handles);
}

void tsr_evict(struct tsr_device *dev, const struct tsr_bo *bos, uint32_t count)
{
	uint32_t *handles = handles_of(bos, count);

	require_ok(__tsr_evict(dev->fd, handles, count));
	free(handles);
}

int __tsr_make_one(struct tsr_device *dev, const struct tsr_bo *bo)
{
	return make_and_wait(dev, &bo->handle, 1, NULL);
}

int __tsr_evict_one(struct tsr_device *dev, const struct tsr_bo *bo)
{
	return __tsr_evict(dev->fd, &bo->handle, 1);
}

int __tsr_evict_unwritten(struct tsr_device *dev, const struct tsr_bo *bo)
{
	struct drm_tessera_evict args = {
		.flags = DRM_TESSERA_EVICT_NOT_WRITTEN,
		.handles = array_of(&bo->handle, sizeof(bo->handle), 1),
	};

	return tsr_ioctl(dev->fd, DRM_IOCTL_TESSERA_EVICT, &args);
}

int __tsr_bring_back(struct tsr_device *dev, struct drm_tessera_make_resident *out)
{
	return make_and_wait(dev, NULL, 0, out);
}

uint64_t tsr_listed(uint64_t size)
{
	char *text = tsr_debugfs_read("allocations"), *save = NULL, *line, key[64];
	unsigned long long sum = 0, count;

	snprintf(key, sizeof(key), " size %llu segment ", (unsigned long long)size);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *listed = strstr(line, " listed ");

		if (!strstr(line, key))
			continue;
		require(listed && sscanf(listed, " listed %llu", &count) == 1);
		sum += count;
	}
	free(text);
	return sum;
}
