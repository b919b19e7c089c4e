// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: ioctls on objects
 *
 * Ioctls that create, lock, destroy and offer buffer objects.
 */

#include <linux/dma-fence.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <drm/drm_file.h>
#include <drm/tessera_drm.h>

#include "base/assert.h"
#include "base/device.h"
#include "base/uobj.h"
#include "client/client.h"
#include "cpu/cpu.h"
#include "gem/gem.h"
#include "ioctl/ioctl.h"
#include "mem/mem.h"
#include "submit/submit.h"
#include "sync/sync.h"
#include "vm/vm.h"

/**
 * tessera_ioctl_bo_create() - create a buffer object
 * @drm: the device
 * @data: &struct drm_tessera_bo_create
 * @file: the open file
 *
 * Return: 0, or
 * * -EINVAL, -ENOENT: see the struct
 * * -E2BIG: larger than each supported segment
 * * -ENOMEM
 */
int tessera_ioctl_bo_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct tessera_file *tfile = to_tessera_file(file);
	struct drm_tessera_bo_create *args = data;
	bool private = args->flags & DRM_TESSERA_BO_VM_PRIVATE;
	struct tessera_vm *vm = NULL;
	int ret;

	if (tessera_ioctl_bad(tdev, args->vm && !private) ||
	    tessera_ioctl_bad(tdev, args->flags & DRM_TESSERA_BO_TWIN))
		return -EINVAL;

	ret = tessera_account_bind(tfile->account);
	if (ret)
		return ret;
	if (private) {
		vm = tessera_vm_lookup(&tfile->vms, args->vm);
		if (!vm)
			return -ENOENT;
	}
	ret = tessera_gem_create(tdev, file, tfile->paging, args, vm ? vm->base.r_obj : NULL);
	tessera_vm_put(vm);

	return ret;
}

/**
 * tessera_ioctl_dumb_create() - &drm_driver.dumb_create
 * @file: the open file
 * @drm: the device
 * @args: size and format; receives handle, pitch and bytes
 *
 * Return: 0, or an error of tessera_dumb_create().
 */
int tessera_ioctl_dumb_create(struct drm_file *file, struct drm_device *drm,
			      struct drm_mode_create_dumb *args)
{
	struct tessera_file *tfile = to_tessera_file(file);
	int ret;

	ret = tessera_account_bind(tfile->account);
	if (ret)
		return ret;

	return tessera_dumb_create(to_tessera_device(drm), file, tfile->paging, args);
}

/**
 * tessera_ioctl_bo_from_user() - create a buffer object from user memory
 * @drm: the device
 * @data: &struct drm_tessera_bo_from_user
 * @file: the open file
 *
 * Return: 0, or one of the errors of the struct.
 */
int tessera_ioctl_bo_from_user(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_file *tfile = to_tessera_file(file);
	struct drm_tessera_bo_from_user *args = data;
	int ret;

	if (tessera_ioctl_bad(to_tessera_device(drm),
			      args->flags & ~DRM_TESSERA_BO_GPU_READ_ONLY))
		return -EINVAL;
	ret = tessera_account_bind(tfile->account);
	if (ret)
		return ret;

	return tessera_userptr_create(to_tessera_device(drm), file, tfile->paging, args);
}

static int destroy_behind_work(struct drm_file *file, struct tessera_backlog *backlog, u32 handle)
{
	struct tessera_bo *bo = tessera_bo_lookup(file, handle);
	int ret;

	if (!bo)
		return -ENOENT;
	ret = tessera_backlog_keep(backlog, bo) ?: tessera_destroy_handle(file, handle);
	tessera_bo_put(bo);

	return ret;
}

static int destroy_and_wait(struct drm_file *file, struct tessera_backlog *backlog,
			    const struct drm_tessera_bo_destroy *args)
{
	struct tessera_bo *bo = tessera_bo_lookup(file, args->handle);
	int ret = 0;

	if (!bo)
		return -ENOENT;
	if (!(args->flags & DRM_TESSERA_BO_DESTROY_ASSUME_NOT_IN_USE))
		ret = tessera_backlog_wait(backlog);
	if (!ret)
		return tessera_destroy_now(file, args->handle, bo);
	tessera_bo_put(bo);

	return ret;
}

/**
 * tessera_ioctl_bo_destroy() - destroy a buffer object
 * @drm: the device
 * @data: &struct drm_tessera_bo_destroy
 * @file: the open file
 *
 * Return: 0, or one of the errors of the struct.
 */
int tessera_ioctl_bo_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	const u32 known = DRM_TESSERA_BO_DESTROY_ASSUME_NOT_IN_USE |
			  DRM_TESSERA_BO_DESTROY_SYNCHRONOUS;
	const struct drm_tessera_bo_destroy *args = data;
	struct tessera_backlog *backlog = to_tessera_file(file)->backlog;

	if (tessera_ioctl_bad(to_tessera_device(drm), args->flags & ~known))
		return -EINVAL;
	if (args->flags & DRM_TESSERA_BO_DESTROY_SYNCHRONOUS)
		return destroy_and_wait(file, backlog, args);
	if (args->flags & DRM_TESSERA_BO_DESTROY_ASSUME_NOT_IN_USE)
		return tessera_destroy_handle(file, args->handle);

	return destroy_behind_work(file, backlog, args->handle);
}

/**
 * tessera_ioctl_offer() - allow the contents of buffer objects to be dropped
 * @drm: the device
 * @data: &struct drm_tessera_offer
 * @file: the open file
 *
 * Return: 0, or one of the errors of the struct.
 */
int tessera_ioctl_offer(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	const struct drm_tessera_offer *args = data;
	struct drm_tessera_offer_bo *list;
	int ret;
	u32 i;

	if (tessera_ioctl_bad(tdev, args->flags & ~DRM_TESSERA_OFFER_DECOMMIT) ||
	    tessera_ioctl_bad(tdev, args->priority < DRM_TESSERA_OFFER_LOW ||
			      args->priority > DRM_TESSERA_OFFER_HIGH))
		return -EINVAL;
	ret = tessera_uobj_get_array(&args->bos, &list, TESSERA_MAX_ALLOCS);
	if (ret || !list)
		return ret;
	for (i = 0; i < args->bos.count && !ret; i++)
		if (tessera_ioctl_bad(tdev, list[i].pad))
			ret = -EINVAL;
	if (!ret)
		ret = tessera_offer(file, list, args->bos.count, args->priority,
				    args->flags & DRM_TESSERA_OFFER_DECOMMIT);
	if (!ret)
		tessera_trim_changed(to_tessera_file(file)->account);
	kvfree(list);

	return ret;
}

/*
 * The list is written back once before anything is done, so that a bad address
 * fails the ioctl without effects.
 */
static int reclaim_run(struct drm_file *file, struct drm_tessera_reclaim *args,
		       struct drm_tessera_reclaim_bo *list, struct tessera_syncs *syncs)
{
	struct dma_fence *fence = NULL;
	int ret = 0;

	if (list)
		ret = tessera_uobj_put_array(&args->bos, sizeof(*list), args->bos.count, list);
	if (!ret)
		ret = tessera_reclaim(file, list, args->bos.count, syncs->count ? &fence : NULL);
	if (ret)
		return ret;
	if (fence) {
		args->pending = !dma_fence_is_signaled(fence);
		tessera_syncs_signal(syncs, fence);
		dma_fence_put(fence);
	}

	return list ? tessera_uobj_put_array(&args->bos, sizeof(*list), args->bos.count, list) : 0;
}

/**
 * tessera_ioctl_reclaim() - end the offer of buffer objects
 * @drm: the device
 * @data: &struct drm_tessera_reclaim
 * @file: the open file
 *
 * Return: 0, or one of the errors of the struct.
 */
int tessera_ioctl_reclaim(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_tessera_reclaim *args = data;
	struct drm_tessera_reclaim_bo *list = NULL;
	struct tessera_syncs syncs = { };
	int ret;

	args->pending = 0;
	if (tessera_ioctl_bad(to_tessera_device(drm), args->pad))
		return -EINVAL;
	ret = tessera_account_bind(to_tessera_file(file)->account);
	if (!ret)
		ret = tessera_ioctl_get_signals(file, &args->syncs, &syncs);
	if (!ret)
		ret = tessera_uobj_get_array(&args->bos, &list, TESSERA_MAX_ALLOCS);
	if (!ret)
		ret = reclaim_run(file, args, list, &syncs);
	kvfree(list);
	tessera_syncs_fini(&syncs);

	return ret;
}

/**
 * tessera_ioctl_lock() - let the CPU access an object
 * @drm: the device
 * @data: &struct drm_tessera_lock
 * @file: the open file
 *
 * Return: 0, or one of the errors of the struct.
 */
int tessera_ioctl_lock(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_file *tfile = to_tessera_file(file);
	struct drm_tessera_lock *args = data;
	int ret;

	args->mmap_offset = 0;
	ret = tessera_account_bind(tfile->account);
	if (ret)
		return ret;

	return tessera_lock(file, tfile->paging, args);
}
