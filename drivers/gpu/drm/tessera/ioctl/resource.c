// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: ioctls on resources
 *
 * Ioctls that create and open several objects together. A surface pair is a
 * resource of two objects. BO_CREATE_TWINS creates one that is not shared.
 */

#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <drm/drm_file.h>
#include <drm/tessera_drm.h>

#include "base/assert.h"
#include "base/device.h"
#include "base/uobj.h"
#include "client/client.h"
#include "gem/gem.h"
#include "ioctl/ioctl.h"
#include "pure/surface.h"

/* Apply the private data of the objects, if there is any (@privs not NULL). */
static int interpret_members(struct tessera_device *tdev, struct drm_tessera_bo_create *bos,
			     u32 num, const struct tessera_private *privs)
{
	const u32 refused = DRM_TESSERA_BO_TWIN | DRM_TESSERA_BO_VM_PRIVATE;
	u32 i;

	for (i = 0; i < num; i++)
		if (tessera_ioctl_bad(tdev, bos[i].vm) ||
		    tessera_ioctl_bad(tdev, bos[i].flags & refused))
			return -EINVAL;

	return privs ? tessera_surface_pair_interpret(tdev, bos, privs) : 0;
}

/*
 * Create the objects of the user's arrays, all or none. Private data is that of
 * a surface pair. The caller has checked the numbers of elements.
 */
static struct tessera_resource *create_members(struct drm_file *file,
					       const struct drm_tessera_array *members,
					       const struct drm_tessera_array *private_data)
{
	struct tessera_file *tfile = to_tessera_file(file);
	struct tessera_resource *resource = NULL;
	struct drm_tessera_bo_create *bos = NULL;
	struct tessera_private *privs = NULL;
	int ret;

	ret = tessera_account_bind(tfile->account);
	if (!ret)
		ret = tessera_uobj_get_array(members, &bos, DRM_TESSERA_RESOURCE_MAX_BOS);
	if (!ret)
		ret = tessera_uobj_get_array(private_data, &privs, TESSERA_SURFACE_PAIR_NUM);
	if (!ret)
		ret = interpret_members(tfile->tdev, bos, members->count, privs);
	if (!ret)
		resource = tessera_resource_create(tfile->tdev, tfile->paging, bos,
						   members->count);
	kvfree(privs);
	kvfree(bos);

	return ret ? ERR_PTR(ret) : resource;
}

/**
 * tessera_ioctl_bo_create_twins() - create the two objects of one surface
 * @drm: the device
 * @data: &struct drm_tessera_bo_create_twins
 * @file: the open file
 *
 * Return: 0, or one of the errors of the struct.
 */
int tessera_ioctl_bo_create_twins(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct drm_tessera_bo_create_twins *args = data;
	struct tessera_resource *pair;
	u64 added;
	int ret;

	static_assert(ARRAY_SIZE(args->handles) == TESSERA_SURFACE_PAIR_NUM);

	memset(args->handles, 0, sizeof(args->handles));
	if (tessera_ioctl_bad(tdev, args->flags || args->pad) ||
	    tessera_ioctl_bad(tdev, args->bos.count != TESSERA_SURFACE_PAIR_NUM) ||
	    tessera_ioctl_bad(tdev, args->private_data.count != TESSERA_SURFACE_PAIR_NUM))
		return -EINVAL;

	pair = create_members(file, &args->bos, &args->private_data);
	if (IS_ERR(pair))
		return PTR_ERR(pair);
	ret = tessera_resource_open(pair, file, args->handles, &added);
	tessera_resource_put(pair);

	return ret;
}

/* Open the resource for the file, and write the handles to user space. */
static int open_members(struct drm_file *file, struct tessera_resource *resource,
			struct drm_tessera_array *out)
{
	struct tessera_file *tfile = to_tessera_file(file);
	u32 handles[DRM_TESSERA_RESOURCE_MAX_BOS] = { };
	u64 added;
	int ret;

	/*
	 * A bad address must not be found only when another thread has got the
	 * same handles, which are closed below.
	 */
	ret = tessera_uobj_put_array(out, sizeof(*handles), resource->num, handles);
	if (ret)
		return ret;
	mutex_lock(&tfile->opening);
	ret = tessera_resource_open(resource, file, handles, &added);
	mutex_unlock(&tfile->opening);
	if (ret)
		return ret;
	ret = tessera_uobj_put_array(out, sizeof(*handles), resource->num, handles);
	if (ret)
		tessera_resource_close(file, handles, added);

	return ret;
}

static int set_private_data(struct tessera_resource *resource, u64 user, u32 bytes)
{
	if (!bytes)
		return 0;
	resource->data = kmalloc(bytes, GFP_KERNEL_ACCOUNT);
	if (!resource->data)
		return -ENOMEM;
	resource->data_size = bytes;

	return tessera_uobj_get_bytes(resource->data, user, bytes);
}

/* The last step, after which nothing fails, makes the descriptor valid. */
static int publish(struct drm_file *file, struct tessera_resource *resource,
		   struct drm_tessera_resource_create *args)
{
	struct file *filp;
	int ret, fd;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	filp = tessera_resource_share(resource);
	if (IS_ERR(filp)) {
		put_unused_fd(fd);
		return PTR_ERR(filp);
	}
	ret = open_members(file, resource, &args->handles);
	if (ret) {
		fput(filp);
		put_unused_fd(fd);
		return ret;
	}
	fd_install(fd, filp);
	args->fd = fd;

	return 0;
}

/**
 * tessera_ioctl_resource_create() - create a resource, and its objects
 * @drm: the device
 * @data: &struct drm_tessera_resource_create
 * @file: the open file
 *
 * Return: 0, or one of the errors of the struct.
 */
int tessera_ioctl_resource_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct drm_tessera_resource_create *args = data;
	u32 num = args->bos.count, privs = args->private_data.count;
	struct tessera_resource *resource;
	int ret;

	args->fd = -1;
	if (num > DRM_TESSERA_RESOURCE_MAX_BOS || args->data_size > DRM_TESSERA_RESOURCE_MAX_DATA)
		return -E2BIG;
	if (tessera_ioctl_bad(tdev, args->flags || args->pad || !num) ||
	    tessera_ioctl_bad(tdev, args->handles.count != num || !args->handles.array) ||
	    tessera_ioctl_bad(tdev, privs && (privs != num || num != TESSERA_SURFACE_PAIR_NUM)))
		return -EINVAL;

	resource = create_members(file, &args->bos, &args->private_data);
	if (IS_ERR(resource))
		return PTR_ERR(resource);
	ret = set_private_data(resource, args->data, args->data_size);
	if (!ret)
		ret = publish(file, resource, args);
	tessera_resource_put(resource);

	return ret;
}

static int resource_open(struct drm_file *file, struct tessera_resource *resource,
			 struct drm_tessera_resource_open *args)
{
	bool fits = args->handles.count >= resource->num && args->data_size >= resource->data_size;
	bool query = !args->handles.array;
	int ret = 0;

	args->handles.count = resource->num;
	args->data_size = resource->data_size;
	if (query)
		args->handles.stride = sizeof(u32);
	if (query || !fits)
		return query ? 0 : -ENOSPC;
	if (resource->data_size)
		ret = tessera_uobj_put_bytes(args->data, resource->data, resource->data_size);

	return ret ?: open_members(file, resource, &args->handles);
}

/**
 * tessera_ioctl_resource_open() - open all objects of a resource
 * @drm: the device
 * @data: &struct drm_tessera_resource_open
 * @file: the open file
 *
 * Return: 0, or one of the errors of the struct.
 */
int tessera_ioctl_resource_open(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_tessera_resource_open *args = data;
	struct tessera_resource *resource;
	int ret;

	if (tessera_ioctl_bad(to_tessera_device(drm), args->flags || args->pad))
		return -EINVAL;
	resource = tessera_resource_lookup(drm, args->fd);
	if (IS_ERR(resource))
		return PTR_ERR(resource);
	ret = resource_open(file, resource, args);
	tessera_resource_put(resource);

	return ret;
}
