// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: ioctls on contexts
 *
 * Ioctls on contexts, and both ways to submit: with a patch list, and at
 * virtual addresses.
 */

#include <linux/capability.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/nospec.h>
#include <linux/slab.h>

#include <drm/drm_auth.h>
#include <drm/drm_file.h>
#include <drm/tessera_drm.h>

#include "base/assert.h"
#include "base/device.h"
#include "base/uobj.h"
#include "client/client.h"
#include "exec/exec.h"
#include "ioctl/ioctl.h"
#include "submit/submit.h"
#include "sync/sync.h"
#include "vm/vm.h"

#define CONTEXT_FLAGS	(DRM_TESSERA_CONTEXT_LEAK_CHECK | \
			 DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL | \
			 DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM)

static int context_permit(struct drm_file *file, const struct drm_tessera_context_create *args)
{
	const u32 force = DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL |
			  DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM;

	/* Needless cuts also cost other clients time. */
	if ((args->flags & force) && !capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (args->priority == DRM_TESSERA_PRIORITY_HIGH && !capable(CAP_SYS_NICE) &&
	    !drm_is_current_master(file))
		return -EACCES;

	return 0;
}

/* Create a context, in a VM if the client names one. */
static int context_create(struct tessera_device *tdev, struct tessera_file *tfile,
			  struct drm_tessera_context_create *args)
{
	struct tessera_vm *vm = NULL;
	int ret = 0;

	if (args->vm) {
		vm = tessera_vm_lookup(&tfile->vms, args->vm);
		if (!vm)
			return -ENOENT;
		if (atomic_read(&vm->pts->lost))
			ret = -EIO;
	}
	if (!ret)
		ret = tessera_context_create(tdev, &tfile->contexts, tfile->account,
					     tfile->backlog, vm, args, &args->id);
	if (ret)
		tessera_vm_put(vm);

	return ret;
}

/**
 * tessera_ioctl_context_create() - create a context
 * @drm: the device
 * @data: &struct drm_tessera_context_create
 * @file: the open file
 *
 * Return: 0, or
 * * -EINVAL: unknown flag or priority, both force-split flags, a seed without
 *   its flag, no such render engine, a flag with a VM
 * * -ENOENT: unknown VM
 * * -EIO: the VM is lost
 * * -EPERM: a force-split flag without CAP_SYS_ADMIN
 * * -EACCES: high priority without CAP_SYS_NICE or being DRM master
 * * -ENOSPC: too many contexts
 * * -ENOMEM
 */
int tessera_ioctl_context_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	const u32 force = DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL |
			  DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM;
	struct tessera_device *tdev = to_tessera_device(drm);
	struct tessera_file *tfile = to_tessera_file(file);
	struct drm_tessera_context_create *args = data;
	int ret;

	if (tessera_ioctl_bad(tdev, args->flags & ~CONTEXT_FLAGS) ||
	    tessera_ioctl_bad(tdev, args->priority > DRM_TESSERA_PRIORITY_HIGH) ||
	    tessera_ioctl_bad(tdev, (args->flags & force) == force) ||
	    tessera_ioctl_bad(tdev, args->split_seed &&
			      !(args->flags & DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM)) ||
	    tessera_ioctl_bad(tdev, args->vm && args->flags))
		return -EINVAL;
	args->priority = array_index_nospec(args->priority, DRM_TESSERA_PRIORITY_HIGH + 1);

	ret = context_permit(file, args);
	if (!ret)
		ret = tessera_account_bind(tfile->account);
	if (ret)
		return ret;

	return context_create(tdev, tfile, args);
}

/**
 * tessera_ioctl_context_destroy() - destroy a context
 * @drm: the device
 * @data: &struct drm_tessera_context_destroy
 * @file: the open file
 *
 * Return: 0, -ENOENT for an unknown context, or -EINVAL for non-zero padding.
 */
int tessera_ioctl_context_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct tessera_file *tfile = to_tessera_file(file);
	struct drm_tessera_context_destroy *args = data;

	if (tessera_ioctl_bad(tdev, args->pad))
		return -EINVAL;

	return tessera_context_destroy(&tfile->contexts, args->id);
}

/**
 * tessera_ioctl_context_status() - tell what has become of a context
 * @drm: the device
 * @data: &struct drm_tessera_context_status
 * @file: the open file
 *
 * Return: 0, -ENOENT for an unknown context, or -EINVAL for non-zero padding.
 */
int tessera_ioctl_context_status(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_file *tfile = to_tessera_file(file);
	struct drm_tessera_context_status *args = data;
	struct tessera_context *ctx;

	if (tessera_ioctl_bad(to_tessera_device(drm), args->pad))
		return -EINVAL;
	ctx = tessera_context_lookup(&tfile->contexts, args->id);
	if (!ctx)
		return -ENOENT;
	tessera_context_status(ctx, args);
	tessera_context_put(ctx);

	return 0;
}

static int submit_get_cmds(struct tessera_device *tdev, struct tessera_account *account,
			   const struct drm_tessera_submit *args,
			   struct tessera_submit_data *data)
{
	if (tessera_ioctl_bad(tdev, !args->cmd_size) ||
	    tessera_ioctl_bad(tdev, args->cmd_size % TSR_PKT_ALIGN) ||
	    tessera_ioctl_bad(tdev, args->cmds % TSR_PKT_ALIGN))
		return -EINVAL;
	if (tessera_ioctl_bad(tdev, args->cmd_size > tdev->info.max_ib_bytes))
		return -E2BIG;

	data->ib = tessera_ib_create(tdev, &account->process->work, args->cmd_size);
	if (IS_ERR(data->ib)) {
		int ret = PTR_ERR(data->ib);

		data->ib = NULL;
		return ret;
	}
	data->cmd_bytes = args->cmd_size;

	return tessera_uobj_get_bytes(tessera_ib_cpu(data->ib), args->cmds, args->cmd_size);
}

/*
 * Copy the arguments; this is the only read of user memory but for the sync
 * list.
 */
static int submit_get_data(struct tessera_device *tdev, struct tessera_account *account,
			   const struct drm_tessera_submit *args,
			   struct tessera_submit_data *data)
{
	int ret;

	data->context = args->context;
	data->num_allocs = args->allocs.count;
	data->num_patches = args->patches.count;

	ret = submit_get_cmds(tdev, account, args, data);
	if (!ret)
		ret = tessera_uobj_get_array(&args->allocs, &data->allocs, TESSERA_MAX_ALLOCS);
	if (!ret)
		ret = tessera_uobj_get_array(&args->patches, &data->patches, TESSERA_MAX_PATCHES);

	return ret;
}

/*
 * Called before quota is taken: the list may wait for another submission of the
 * client, which needs the same quota.
 */
static int submit_get_syncs(struct tessera_device *tdev, struct drm_file *file,
			    const struct drm_tessera_submit *args,
			    struct tessera_submit_data *data)
{
	int ret;

	data->num_syncs = args->syncs.count;
	ret = tessera_uobj_get_array(&args->syncs, &data->syncs, TESSERA_MAX_SYNCS);

	return ret ?: tessera_syncs_await(tdev, file, data->syncs, data->num_syncs);
}

static void submit_put_data(struct tessera_submit_data *data)
{
	kvfree(data->allocs);
	kvfree(data->patches);
	kvfree(data->syncs);
	tessera_ib_put(data->ib);
	data->allocs = NULL;
	data->patches = NULL;
	data->syncs = NULL;
	data->ib = NULL;
}

/*
 * Kernel memory for one object: paging job, buffer and page list, also of a
 * victim.
 */
#define SUBMIT_ALLOC_BYTES	(10 * 1024L)

/*
 * Kernel memory that a submission takes until it is armed: its lists, lists
 * derived from them, and the paging of its objects. The commands are charged as
 * a buffer.
 */
static long submit_list_bytes(const struct drm_tessera_submit *args)
{
	return min(args->allocs.count, TESSERA_MAX_ALLOCS) * SUBMIT_ALLOC_BYTES +
	       min(args->patches.count, TESSERA_MAX_PATCHES) * 64L +
	       min(args->syncs.count, TESSERA_MAX_SYNCS) * 64L;
}

/**
 * tessera_ioctl_submit() - run commands with a patch list
 * @drm: the device
 * @arg: &struct drm_tessera_submit
 * @file: the open file
 *
 * Return: 0, or one of the errors of the struct.
 */
int tessera_ioctl_submit(struct drm_device *drm, void *arg, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct tessera_file *tfile = to_tessera_file(file);
	struct tessera_submit_data data = {
		.fences = tfile->fences,
		.err = {
			.offset = TESSERA_PATCH_NOWHERE,
			.index = TESSERA_PATCH_NOWHERE,
		},
	};
	struct drm_tessera_submit *args = arg;
	long list_bytes = submit_list_bytes(args);
	long cmd_bytes = min(args->cmd_size, tdev->info.max_ib_bytes);
	int ret = -EINVAL;

	if (!tessera_ioctl_bad(tdev, args->flags))
		ret = tessera_account_bind(tfile->account);
	if (!ret)
		ret = submit_get_syncs(tdev, file, args, &data);
	if (!ret)
		ret = tessera_quota_enter(&tfile->account->process->work,
					  list_bytes + cmd_bytes);
	if (!ret) {
		ret = submit_get_data(tdev, tfile->account, args, &data);
		/* The buffer, if there is one, has been charged on its own. */
		tessera_quota_uncharge(&tfile->account->process->work, cmd_bytes);
		if (!ret)
			ret = tessera_submit(tdev, file, &tfile->contexts, &data);
		submit_put_data(&data);
		tessera_quota_leave(&tfile->account->process->work, list_bytes);
	}
	submit_put_data(&data);

	args->num_parts = data.num_parts;
	args->error_offset = data.err.offset;
	args->error_index = data.err.index;

	return ret;
}

static int submit_vm_run(struct tessera_device *tdev, struct drm_file *file,
			 const struct drm_tessera_submit_vm *args)
{
	struct tessera_file *tfile = to_tessera_file(file);
	struct drm_tessera_sync *syncs;
	int ret;

	ret = tessera_uobj_get_array(&args->syncs, &syncs, TESSERA_MAX_SYNCS);
	if (ret)
		return ret;
	ret = tessera_syncs_await(tdev, file, syncs, args->syncs.count);
	if (!ret)
		ret = tessera_submit_vm(file, &tfile->contexts, tfile->fences, args, syncs);
	kvfree(syncs);

	return ret;
}

/**
 * tessera_ioctl_submit_vm() - run commands at a virtual address
 * @drm: the device
 * @arg: the argument
 * @file: the open file
 *
 * Return: see &struct drm_tessera_submit_vm.
 */
int tessera_ioctl_submit_vm(struct drm_device *drm, void *arg, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct tessera_file *tfile = to_tessera_file(file);
	const struct drm_tessera_submit_vm *args = arg;
	int ret;

	if (tessera_ioctl_bad(tdev, args->flags || args->pad) ||
	    tessera_ioctl_bad(tdev, !args->cmd_size) ||
	    tessera_ioctl_bad(tdev, args->cmd_size % TSR_PKT_ALIGN) ||
	    tessera_ioctl_bad(tdev, args->cmds % TSR_PKT_ALIGN))
		return -EINVAL;
	if (tessera_ioctl_bad(tdev, args->cmd_size > tdev->info.max_ib_bytes))
		return -E2BIG;
	ret = tessera_account_bind(tfile->account);

	return ret ?: submit_vm_run(tdev, file, args);
}
