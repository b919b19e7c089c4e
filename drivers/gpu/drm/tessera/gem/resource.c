// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: resources
 *
 * A resource is a set of objects that are created, shared and opened together
 * (RES-14), with private data that only user space reads. It is known by a file
 * descriptor, which a client sends to others as it sends dma-bufs. A dma-buf
 * cannot carry it, because importers of other devices see one buffer in it.
 *
 * The descriptor keeps the objects, but no place in a segment and no pages. They
 * stay charged to the client that has created them, as exported objects do. The
 * number of shared resources of a process is limited.
 *
 * The members are new objects. They are therefore never imports, memory of a
 * process, private to a VM, or offered.
 *
 * A file has one handle for an object, as with PRIME imports: state of a file is
 * kept by object, and is dropped when one handle closes (gem/gem.c). Opening a
 * resource and importing a dma-buf of a member look for the handle that the file
 * has.
 */

#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_vma_manager.h>
#include <drm/tessera_drm.h>

#include "base/uobj.h"
#include "client/client.h"
#include "gem/gem.h"
#include "mem/mem.h"

/* The objects are in a u64, see tessera_resource_open(). */
static_assert(DRM_TESSERA_RESOURCE_MAX_BOS <= 64);

/**
 * tessera_resource_create() - create all objects of a resource, or none
 * @tdev: the device
 * @queue: paging queue of the client that is charged
 * @args: the requested objects
 * @num: number of them
 *
 * The objects have no handles, and nobody else knows them.
 *
 * Return: the resource with one reference, or an error of tessera_gem_new().
 */
struct tessera_resource *tessera_resource_create(struct tessera_device *tdev,
						 struct tessera_paging_queue *queue,
						 const struct drm_tessera_bo_create *args, u32 num)
{
	struct tessera_resource *resource;
	struct tessera_bo *bo;

	resource = kzalloc(struct_size(resource, bos, num), GFP_KERNEL_ACCOUNT);
	if (!resource)
		return ERR_PTR(-ENOMEM);
	kref_init(&resource->ref);
	while (resource->num < num) {
		bo = tessera_gem_new(tdev, queue, &args[resource->num], NULL);
		if (IS_ERR(bo)) {
			tessera_resource_put(resource);
			return ERR_CAST(bo);
		}
		resource->bos[resource->num++] = bo;
	}

	return resource;
}

static void resource_release(struct kref *ref)
{
	struct tessera_resource *resource = container_of(ref, struct tessera_resource, ref);
	u32 i;

	/* The account of the objects keeps the process. */
	if (resource->count)
		atomic_dec(resource->count);
	for (i = 0; i < resource->num; i++)
		tessera_bo_put(resource->bos[i]);
	kfree(resource->data);
	kfree(resource);
}

/**
 * tessera_resource_put() - drop a reference
 * @resource: the resource
 */
void tessera_resource_put(struct tessera_resource *resource)
{
	kref_put(&resource->ref, resource_release);
}

static int resource_file_release(struct inode *inode, struct file *filp)
{
	tessera_resource_put(filp->private_data);

	return 0;
}

static const struct file_operations resource_fops = {
	.owner = THIS_MODULE,
	.release = resource_file_release,
	.llseek = noop_llseek,
};

/**
 * tessera_resource_share() - create the file of a resource
 * @resource: a resource that has no file and no handles yet
 *
 * Return: the file, which holds a reference to the resource; or -ENOSPC if the
 * process has too many of them, -ENOMEM or -ENFILE.
 */
struct file *tessera_resource_share(struct tessera_resource *resource)
{
	atomic_t *count = &resource->bos[0]->account->process->count.resources;
	struct file *filp;
	u32 i;
	int ret;

	ret = tessera_account_count(count, DRM_TESSERA_MAX_RESOURCES);
	if (ret)
		return ERR_PTR(ret);
	resource->count = count;
	/* No handle exists, so the object cannot be offered concurrently. */
	for (i = 0; i < resource->num; i++) {
		WRITE_ONCE(resource->bos[i]->sharing.exported, true);
		WRITE_ONCE(resource->bos[i]->sharing.member, true);
	}
	filp = anon_inode_getfile("tessera-resource", &resource_fops, resource, O_RDONLY);
	if (!IS_ERR(filp))
		kref_get(&resource->ref);

	return filp;
}

/**
 * tessera_resource_lookup() - get the resource of a file descriptor
 * @drm: the device
 * @fd: the file descriptor
 *
 * Return: the resource with a reference; or -EBADF, -EINVAL if the descriptor is
 * that of something else, -EXDEV if the resource is another device's.
 */
struct tessera_resource *tessera_resource_lookup(struct drm_device *drm, int fd)
{
	struct tessera_resource *resource;
	struct file *filp = fget(fd);

	if (!filp)
		return ERR_PTR(-EBADF);
	resource = filp->private_data;
	if (filp->f_op != &resource_fops)
		resource = ERR_PTR(-EINVAL);
	else if (resource->bos[0]->tbo.base.dev != drm)
		resource = ERR_PTR(-EXDEV);
	else
		kref_get(&resource->ref);
	fput(filp);

	return resource;
}

/*
 * Fill in the handles that the file has already. It may have very many, so the
 * lock is held for one at a time.
 */
static int find_handles(struct drm_file *file, struct tessera_bo *const *bos, u32 num,
			u32 *handles)
{
	const struct drm_gem_object *gem;
	int ret, id;
	u32 i;

	for (id = 1; ; id++) {
		spin_lock(&file->table_lock);
		gem = idr_get_next(&file->object_idr, &id);
		spin_unlock(&file->table_lock);
		if (!gem)
			return 0;
		/* @gem may be freed by now, but no object of @bos is. */
		for (i = 0; i < num; i++)
			if (gem == &bos[i]->tbo.base)
				handles[i] = id;
		ret = tessera_uobj_check_abort(NULL);
		if (ret)
			return ret;
	}
}

static bool is_known(struct drm_file *file, struct tessera_bo *bo)
{
	return drm_vma_node_is_allowed(&bo->tbo.base.vma_node, file);
}

static bool any_is_known(struct drm_file *file, struct tessera_bo *const *bos, u32 num)
{
	u32 i;

	for (i = 0; i < num; i++)
		if (is_known(file, bos[i]))
			return true;

	return false;
}

/**
 * tessera_resource_member_handle() - find the handle of a member of a resource
 * @file: the file
 * @bo: any object
 * @handle: receives the handle
 *
 * The core does not know handles of members when it imports their dma-bufs.
 *
 * Return: 0, -ENOENT if @bo is no member or the file has no handle for it, or
 * -EINTR for a fatal signal.
 */
int tessera_resource_member_handle(struct drm_file *file, struct tessera_bo *bo, u32 *handle)
{
	int ret;

	*handle = 0;
	if (!READ_ONCE(bo->sharing.member) || !is_known(file, bo))
		return -ENOENT;
	ret = find_handles(file, &bo, 1, handle);
	if (ret)
		return ret;

	return *handle ? 0 : -ENOENT;
}

/**
 * tessera_resource_open() - give a file handles for all objects, or for none
 * @resource: the resource
 * @file: the file; the caller has only one thread open resources for it
 * @handles: receives a handle of each object; zeros after a failure
 * @added: receives the set of those that the file did not have before: bit i is
 *	@handles[i]
 *
 * Return: 0, -ENOMEM, or -EINTR for a fatal signal.
 */
int tessera_resource_open(struct tessera_resource *resource, struct drm_file *file, u32 *handles,
			  u64 *added)
{
	int ret = 0;
	u32 i;

	*added = 0;
	memset(handles, 0, resource->num * sizeof(*handles));
	if (any_is_known(file, resource->bos, resource->num))
		ret = find_handles(file, resource->bos, resource->num, handles);
	for (i = 0; i < resource->num && !ret; i++) {
		if (handles[i])
			continue;
		ret = drm_gem_handle_create(file, &resource->bos[i]->tbo.base, &handles[i]);
		if (!ret)
			*added |= BIT_ULL(i);
	}
	if (ret) {
		tessera_resource_close(file, handles, *added);
		memset(handles, 0, resource->num * sizeof(*handles));
	}

	return ret;
}

/**
 * tessera_resource_close() - undo tessera_resource_open()
 * @file: the file
 * @handles: the handles
 * @added: the set of those to close
 */
void tessera_resource_close(struct drm_file *file, const u32 *handles, u64 added)
{
	u32 i;

	for (i = 0; i < DRM_TESSERA_RESOURCE_MAX_BOS; i++)
		if (added & BIT_ULL(i))
			tessera_destroy_handle(file, handles[i]);
}
