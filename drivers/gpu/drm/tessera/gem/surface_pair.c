// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: surface pairs
 *
 * Create the two objects of a surface pair. A surface that the GPU has swizzled
 * in a segment whose raw layout the CPU would see needs two allocations
 * (SWZ-18). The GPU uses one and the CPU the other, its twin. User space copies
 * between them with jobs. This file creates both or neither. Afterwards each is
 * an ordinary object, and only the lock code knows of pairs (cpu/lock.c).
 * Called by the ioctl with no lock held.
 */

#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/tessera_drm.h>

#include "base/assert.h"
#include "gem/gem.h"
#include "mem/mem.h"
#include "pure/surface.h"

/* Apply the private data of one object to its creation arguments. */
static int surface_pair_interpret_one(struct tessera_device *tdev,
				      struct drm_tessera_bo_create *args,
				      const struct tessera_private *priv)
{
	bool twin = tessera_private_is_twin(priv);

	if (tessera_ioctl_bad(tdev, args->vm) ||
	    tessera_ioctl_bad(tdev, args->layout || args->pitch) ||
	    tessera_ioctl_bad(tdev, args->flags & (DRM_TESSERA_BO_TWIN |
					     DRM_TESSERA_BO_VM_PRIVATE)) ||
	    tessera_ioctl_bad(tdev, !!(args->flags & DRM_TESSERA_BO_CPU_ACCESS) != twin))
		return -EINVAL;

	args->layout = priv->layout;
	if (twin)
		args->flags |= DRM_TESSERA_BO_TWIN;
	else
		args->pitch = priv->pitch;

	return 0;
}

static int surface_pair_interpret(struct tessera_device *tdev, struct drm_tessera_bo_create *args,
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

static int surface_pair_publish(struct drm_file *file, struct tessera_bo *const *bos,
				struct drm_tessera_bo_create *args)
{
	int ret;

	ret = drm_gem_handle_create(file, &bos[0]->tbo.base, &args[0].handle);
	if (ret)
		return ret;
	ret = drm_gem_handle_create(file, &bos[1]->tbo.base, &args[1].handle);
	if (ret)
		drm_gem_handle_delete(file, args[0].handle);

	return ret;
}

/**
 * tessera_surface_pair_create() - create the two objects of a surface, and
 * handles for them
 * @tdev: the device
 * @file: the file that gets the handles
 * @queue: paging queue of the client that is charged
 * @args: the two requested objects, without what @privs define; receive the
 *	handles
 * @privs: private data of each; checked here
 *
 * Return: 0, or with nothing created an error of tessera_surface_pair_check()
 * or tessera_gem_new().
 */
int tessera_surface_pair_create(struct tessera_device *tdev, struct drm_file *file,
				struct tessera_paging_queue *queue,
				struct drm_tessera_bo_create *args,
				const struct tessera_private *privs)
{
	struct tessera_bo *bos[TESSERA_SURFACE_PAIR_NUM];
	int ret;

	ret = surface_pair_interpret(tdev, args, privs);
	if (ret)
		return ret;

	bos[0] = tessera_gem_new(tdev, queue, &args[0], NULL);
	if (IS_ERR(bos[0]))
		return PTR_ERR(bos[0]);
	bos[1] = tessera_gem_new(tdev, queue, &args[1], NULL);
	if (IS_ERR(bos[1])) {
		ret = PTR_ERR(bos[1]);
		goto err_put_first;
	}

	ret = surface_pair_publish(file, bos, args);
	tessera_bo_put(bos[1]);
err_put_first:
	tessera_bo_put(bos[0]);

	return ret;
}
