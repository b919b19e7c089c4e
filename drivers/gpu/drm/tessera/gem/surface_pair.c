// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: surface pairs
 *
 * A surface that the GPU has swizzled in a segment whose raw layout the CPU
 * would see needs two allocations (SWZ-18). The GPU uses one and the CPU the
 * other, its twin. User space copies between them with jobs. A surface pair is a
 * resource of two objects (gem/resource.c) whose layout comes from their private
 * data. This file reads that data. Afterwards each is an ordinary object, and
 * only the lock code knows of pairs (cpu/lock.c). Called by the ioctl with no
 * lock held.
 */

#include <drm/tessera_drm.h>

#include "base/assert.h"
#include "base/device.h"
#include "gem/gem.h"
#include "pure/surface.h"

/* Apply the private data of one object to its creation arguments. */
static int surface_pair_interpret_one(struct tessera_device *tdev,
				      struct drm_tessera_bo_create *args,
				      const struct tessera_private *priv)
{
	bool twin = tessera_private_is_twin(priv);

	if (tessera_ioctl_bad(tdev, args->layout || args->pitch) ||
	    tessera_ioctl_bad(tdev, !!(args->flags & DRM_TESSERA_BO_CPU_ACCESS) != twin))
		return -EINVAL;

	args->layout = priv->layout;
	if (twin)
		args->flags |= DRM_TESSERA_BO_TWIN;
	else
		args->pitch = priv->pitch;

	return 0;
}

/**
 * tessera_surface_pair_interpret() - apply the private data of a surface pair
 * @tdev: the device
 * @args: the two requested objects; receive what @privs define
 * @privs: private data of each; checked here
 *
 * Return: 0, or an error of tessera_surface_pair_check().
 */
int tessera_surface_pair_interpret(struct tessera_device *tdev,
				   struct drm_tessera_bo_create *args,
				   const struct tessera_private *privs)
{
	const u64 sizes[] = { args[0].size, args[1].size };
	int ret;

	static_assert(ARRAY_SIZE(sizes) == TESSERA_SURFACE_PAIR_NUM);

	ret = tessera_surface_pair_check(privs, sizes);
	if (tessera_ioctl_bad(tdev, ret))
		return ret;
	ret = surface_pair_interpret_one(tdev, &args[0], &privs[0]);

	return ret ? ret : surface_pair_interpret_one(tdev, &args[1], &privs[1]);
}
