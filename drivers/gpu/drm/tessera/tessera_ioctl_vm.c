// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: ioctls on virtual addresses
 *
 * Ioctls on VMs and submissions at virtual addresses. The rules of
 * tessera_ioctl.c apply.
 */
#include <linux/slab.h>

#include <drm/drm_file.h>
#include <drm/tessera_drm.h>

#include "exec/exec.h"
#include "segments/segments.h"
#include "services/services.h"
#include "submit/submit.h"
#include "sync/sync.h"
#include "tessera_assert.h"
#include "tessera_device.h"
#include "tessera_drv.h"
#include "tessera_uobj.h"
#include "vm/vm.h"

/**
 * tessera_ioctl_vm_create() - create a VM
 * @drm: the device
 * @data: the argument
 * @file: the client
 *
 * Return: see &struct drm_tessera_vm_create.
 */
int tessera_ioctl_vm_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct tessera_client *client = to_tessera_client(file);
	struct drm_tessera_vm_create *args = data;
	int ret;

	if (tessera_ioctl_bad(tdev, args->flags))
		return -EINVAL;
	ret = tessera_account_bind(client->account);
	if (!ret)
		ret = tessera_work_begin(tdev);
	if (ret)
		return ret;
	ret = tessera_vm_create(tdev, &client->vms, client->account, client->resident,
				&tessera_bind_gpuvm_ops, &args->id);

	return tessera_work_end(tdev, ret);
}

/**
 * tessera_ioctl_vm_destroy() - destroy a VM
 * @drm: the device
 * @data: the argument
 * @file: the client
 *
 * Return: see &struct drm_tessera_vm_destroy.
 */
int tessera_ioctl_vm_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_client *client = to_tessera_client(file);
	struct drm_tessera_vm_destroy *args = data;

	if (tessera_ioctl_bad(to_tessera_device(drm), args->pad))
		return -EINVAL;

	return tessera_vm_destroy(&client->vms, args->id);
}

static int bind_run(struct tessera_device *tdev, struct drm_file *file, u32 id,
		    const struct tessera_bind_data *data)
{
	struct tessera_client *client = to_tessera_client(file);
	struct tessera_vm *vm;
	int ret;

	vm = tessera_vm_lookup(&client->vms, id);
	if (!vm)
		return -ENOENT;
	ret = tessera_bind(vm, file, data);
	tessera_vm_put(vm);

	return ret;
}

/* Kernel memory for one operation of VM_BIND: its copy and its page list. */
#define BIND_OP_BYTES	(8 * 1024L)

/**
 * tessera_ioctl_vm_bind() - change mappings of a VM
 * @drm: the device
 * @arg: the argument
 * @file: the client
 *
 * Return: see &struct drm_tessera_vm_bind.
 */
int tessera_ioctl_vm_bind(struct drm_device *drm, void *arg, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct tessera_client *client = to_tessera_client(file);
	struct drm_tessera_vm_bind *args = arg;
	struct tessera_bind_data data = {
		.num_ops = args->ops.count,
		.num_syncs = args->syncs.count,
	};
	long bytes = min(data.num_ops, TESSERA_MAX_BINDS) * BIND_OP_BYTES +
		     min(data.num_syncs, TESSERA_MAX_SYNCS) * 64L;
	int ret;

	if (tessera_ioctl_bad(tdev, args->flags || !data.num_ops))
		return -EINVAL;
	ret = tessera_account_bind(client->account);
	if (ret)
		return ret;
	ret = tessera_uobj_get_array(&args->ops, &data.ops, TESSERA_MAX_BINDS);
	if (!ret)
		ret = tessera_uobj_get_array(&args->syncs, &data.syncs, TESSERA_MAX_SYNCS);
	if (!ret)
		ret = tessera_syncs_await(tdev, file, data.syncs, data.num_syncs);
	if (!ret)
		ret = tessera_quota_enter(&client->account->payer->work, bytes);
	if (!ret) {
		ret = bind_run(tdev, file, args->vm, &data);
		tessera_quota_uncharge(&client->account->payer->work, bytes);
	}
	kvfree(data.ops);
	kvfree(data.syncs);

	return ret;
}

static int submit_vm_run(struct tessera_device *tdev, struct drm_file *file,
			 const struct drm_tessera_submit_vm *args)
{
	struct tessera_client *client = to_tessera_client(file);
	struct drm_tessera_sync *syncs;
	int ret;

	ret = tessera_uobj_get_array(&args->syncs, &syncs, TESSERA_MAX_SYNCS);
	if (ret)
		return ret;
	ret = tessera_syncs_await(tdev, file, syncs, args->syncs.count);
	if (!ret)
		ret = tessera_submit_vm(file, &client->contexts, client->fences, args, syncs);
	kvfree(syncs);

	return ret;
}

/**
 * tessera_ioctl_submit_vm() - run commands at a virtual address
 * @drm: the device
 * @arg: the argument
 * @file: the client
 *
 * Return: see &struct drm_tessera_submit_vm.
 */
int tessera_ioctl_submit_vm(struct drm_device *drm, void *arg, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct tessera_client *client = to_tessera_client(file);
	const struct drm_tessera_submit_vm *args = arg;
	int ret;

	if (tessera_ioctl_bad(tdev, args->flags || args->pad) ||
	    tessera_ioctl_bad(tdev, !args->cmd_size) ||
	    tessera_ioctl_bad(tdev, args->cmd_size % TSR_PKT_ALIGN) ||
	    tessera_ioctl_bad(tdev, args->cmds % TSR_PKT_ALIGN))
		return -EINVAL;
	if (tessera_ioctl_bad(tdev, args->cmd_size > tdev->info.max_ib_bytes))
		return -E2BIG;
	ret = tessera_account_bind(client->account);

	return ret ?: submit_vm_run(tdev, file, args);
}
