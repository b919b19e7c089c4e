// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: ioctls on monitored fences
 *
 * Ioctls that create, destroy and signal monitored fences.
 */

#include <drm/drm_file.h>
#include <drm/tessera_drm.h>

#include "base/assert.h"
#include "base/device.h"
#include "client/client.h"
#include "ioctl/ioctl.h"
#include "sync/sync.h"

/**
 * tessera_ioctl_fence_create() - create a monitored fence
 * @drm: the device
 * @data: &struct drm_tessera_fence_create
 * @file: the open file
 *
 * Return: 0, -ENOSPC for too many fences, -EINVAL for an unknown flag, or -ENOMEM.
 */
int tessera_ioctl_fence_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_file *tfile = to_tessera_file(file);
	struct drm_tessera_fence_create *args = data;
	int ret;

	if (tessera_ioctl_bad(to_tessera_device(drm), args->flags))
		return -EINVAL;
	ret = tessera_account_bind(tfile->account);

	return ret ?: tessera_monitored_create(tfile->fences, args);
}

/**
 * tessera_ioctl_fence_destroy() - destroy a monitored fence
 * @drm: the device
 * @data: &struct drm_tessera_fence_destroy
 * @file: the open file
 *
 * Return: 0, -ENOENT for an unknown fence, or -EINVAL for non-zero padding.
 */
int tessera_ioctl_fence_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_file *tfile = to_tessera_file(file);
	const struct drm_tessera_fence_destroy *args = data;

	if (tessera_ioctl_bad(to_tessera_device(drm), args->pad))
		return -EINVAL;

	return tessera_monitored_destroy(tfile->fences, args->id);
}

/**
 * tessera_ioctl_fence_signal() - raise the value of a monitored fence
 * @drm: the device
 * @data: &struct drm_tessera_fence_signal
 * @file: the open file
 *
 * Return: 0, or
 * * -ENOENT: unknown fence
 * * -EINVAL: non-zero padding, or the value does not rise
 * * -ENOMEM
 */
int tessera_ioctl_fence_signal(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_file *tfile = to_tessera_file(file);
	const struct drm_tessera_fence_signal *args = data;

	if (tessera_ioctl_bad(to_tessera_device(drm), args->pad))
		return -EINVAL;

	return tessera_monitored_signal(tfile->fences, args->id, args->value);
}
