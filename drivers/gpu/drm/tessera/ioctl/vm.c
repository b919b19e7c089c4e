// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: ioctls on virtual addresses
 *
 * Ioctls on VMs, residency lists and budgets.
 */

#include <linux/bitops.h>
#include <linux/capability.h>
#include <linux/dma-fence.h>
#include <linux/err.h>
#include <linux/eventfd.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/pid.h>
#include <linux/slab.h>

#include <drm/drm_file.h>
#include <drm/tessera_drm.h>

#include "base/assert.h"
#include "base/device.h"
#include "base/uobj.h"
#include "client/client.h"
#include "exec/exec.h"
#include "ioctl/ioctl.h"
#include "segments/segments.h"
#include "submit/submit.h"
#include "sync/sync.h"
#include "vm/vm.h"

/**
 * tessera_ioctl_vm_create() - create a VM
 * @drm: the device
 * @data: the argument
 * @file: the open file
 *
 * Return: see &struct drm_tessera_vm_create.
 */
int tessera_ioctl_vm_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct tessera_file *tfile = to_tessera_file(file);
	struct drm_tessera_vm_create *args = data;
	int ret;

	if (tessera_ioctl_bad(tdev, args->flags))
		return -EINVAL;
	ret = tessera_account_bind(tfile->account);
	if (!ret)
		ret = tessera_work_begin(tdev);
	if (ret)
		return ret;
	ret = tessera_vm_create(tdev, &tfile->vms, tfile->account, tfile->resident,
				&tessera_bind_gpuvm_ops, &args->id);

	return tessera_work_end(tdev, ret);
}

/**
 * tessera_ioctl_vm_destroy() - destroy a VM
 * @drm: the device
 * @data: the argument
 * @file: the open file
 *
 * Return: see &struct drm_tessera_vm_destroy.
 */
int tessera_ioctl_vm_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_file *tfile = to_tessera_file(file);
	struct drm_tessera_vm_destroy *args = data;

	if (tessera_ioctl_bad(to_tessera_device(drm), args->pad))
		return -EINVAL;

	return tessera_vm_destroy(&tfile->vms, args->id);
}

static int bind_run(struct tessera_device *tdev, struct drm_file *file, u32 id,
		    const struct tessera_bind_data *data)
{
	struct tessera_file *tfile = to_tessera_file(file);
	struct tessera_vm *vm;
	int ret;

	vm = tessera_vm_lookup(&tfile->vms, id);
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
 * @file: the open file
 *
 * Return: see &struct drm_tessera_vm_bind.
 */
int tessera_ioctl_vm_bind(struct drm_device *drm, void *arg, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct tessera_file *tfile = to_tessera_file(file);
	struct drm_tessera_vm_bind *args = arg;
	struct tessera_bind_data data = {
		.num_ops = args->ops.count,
		.num_syncs = args->syncs.count,
		.fences = tfile->fences,
	};
	long bytes = min(data.num_ops, TESSERA_MAX_BINDS) * BIND_OP_BYTES +
		     min(data.num_syncs, TESSERA_MAX_SYNCS) * 64L;
	int ret;

	if (tessera_ioctl_bad(tdev, args->flags || !data.num_ops))
		return -EINVAL;
	ret = tessera_account_bind(tfile->account);
	if (ret)
		return ret;
	ret = tessera_uobj_get_array(&args->ops, &data.ops, TESSERA_MAX_BINDS);
	if (!ret)
		ret = tessera_uobj_get_array(&args->syncs, &data.syncs, TESSERA_MAX_SYNCS);
	if (!ret)
		ret = tessera_syncs_await(tdev, file, data.syncs, data.num_syncs);
	if (!ret)
		ret = tessera_quota_enter(&tfile->account->process->work, bytes);
	if (!ret) {
		ret = bind_run(tdev, file, args->vm, &data);
		tessera_quota_leave(&tfile->account->process->work, bytes);
	}
	kvfree(data.ops);
	kvfree(data.syncs);

	return ret;
}

static int resident_get_handles(struct tessera_device *tdev, const struct drm_tessera_array *in,
				u32 **handles)
{
	/* The array holds numbers, which do not grow as structs do. */
	if (tessera_ioctl_bad(tdev, in->count && in->stride != sizeof(**handles)))
		return -EINVAL;

	return tessera_uobj_get_array(in, handles, TESSERA_MAX_ALLOCS);
}

/**
 * tessera_ioctl_get_signals() - look up the syncobjs that a paging fence goes to
 * @file: the open file
 * @in: &struct drm_tessera_sync, each of which must signal
 * @syncs: the result; call tessera_syncs_fini() even after a failure
 *
 * Return: 0, -EINVAL, or an error of tessera_syncs_init().
 */
int tessera_ioctl_get_signals(struct drm_file *file, const struct drm_tessera_array *in,
			      struct tessera_syncs *syncs)
{
	struct tessera_device *tdev = to_tessera_device(file->minor->dev);
	struct tessera_file *tfile = to_tessera_file(file);
	struct drm_tessera_sync *list;
	u32 i;
	int ret;

	ret = tessera_uobj_get_array(in, &list, TESSERA_MAX_SYNCS);
	for (i = 0; !ret && i < in->count; i++)
		if (tessera_ioctl_bad(tdev, !(list[i].flags & DRM_TESSERA_SYNC_SIGNAL)))
			ret = -EINVAL;
	if (!ret)
		ret = tessera_syncs_init(syncs, tdev, file, tfile->fences,
					 &tfile->account->process->work, list, in->count);
	/* Monitored fences are refused: only a job can write their values. */
	if (!ret && tessera_ioctl_bad(tdev, syncs->signals))
		ret = -EINVAL;
	kvfree(list);

	return ret;
}

static int resident_run(struct drm_file *file, struct drm_tessera_make_resident *args,
			const u32 *handles)
{
	struct tessera_file *tfile = to_tessera_file(file);
	struct tessera_resident_answer answer = { .failed = args->handles.count };
	struct tessera_syncs syncs = { };
	int ret;

	ret = tessera_ioctl_get_signals(file, &args->syncs, &syncs);
	if (!ret)
		ret = tessera_resident_make(tfile->resident, handles, args->handles.count,
					    args->flags, &answer);
	if (ret == -ENOMEM && args->flags & DRM_TESSERA_RESIDENT_MUST_SUCCEED)
		tessera_context_lose_file(tfile->tdev, &tfile->contexts);
	if (!ret) {
		args->pending = !dma_fence_is_signaled(answer.fence);
		tessera_syncs_signal(&syncs, answer.fence);
	}
	args->bytes_to_trim = answer.bytes_to_trim;
	args->trim_segments = answer.segments;
	args->failed = answer.failed;
	dma_fence_put(answer.fence);
	tessera_syncs_fini(&syncs);

	return ret;
}

/**
 * tessera_ioctl_make_resident() - add objects to the residency list
 * @drm: the device
 * @data: &struct drm_tessera_make_resident
 * @file: the open file
 *
 * Return: 0, or one of the errors of the struct.
 */
int tessera_ioctl_make_resident(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct tessera_account *account = to_tessera_file(file)->account;
	struct drm_tessera_make_resident *args = data;
	u32 *handles = NULL;
	int ret = -EINVAL;

	args->bytes_to_trim = 0;
	args->trim_segments = 0;
	args->pending = 0;
	args->failed = args->handles.count;
	if (!tessera_ioctl_bad(tdev, args->flags & ~(DRM_TESSERA_RESIDENT_CANNOT_TRIM_FURTHER |
						     DRM_TESSERA_RESIDENT_MUST_SUCCEED) ||
			       args->pad || args->pad2))
		ret = tessera_account_bind(account);
	if (!ret)
		ret = resident_get_handles(tdev, &args->handles, &handles);
	if (!ret)
		ret = resident_run(file, args, handles);
	kvfree(handles);

	return ret;
}

/**
 * tessera_ioctl_evict() - remove objects from the residency list
 * @drm: the device
 * @data: &struct drm_tessera_evict
 * @file: the open file
 *
 * Return: 0, or one of the errors of the struct.
 */
int tessera_ioctl_evict(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	const struct drm_tessera_evict *args = data;
	u32 *handles = NULL;
	int ret;

	if (tessera_ioctl_bad(tdev, args->flags & ~DRM_TESSERA_EVICT_NOT_WRITTEN || args->pad))
		return -EINVAL;
	ret = resident_get_handles(tdev, &args->handles, &handles);
	if (!ret)
		ret = tessera_work_begin(tdev);
	if (!ret) {
		ret = tessera_resident_evict(to_tessera_file(file)->resident, handles,
					     args->handles.count,
					     args->flags & DRM_TESSERA_EVICT_NOT_WRITTEN);
		ret = tessera_work_end(tdev, ret);
	}
	kvfree(handles);

	return ret;
}

/* Convert ids to indexes. Returns 0 for an unknown id or an empty set. */
static u32 budget_indexes(struct tessera_device *tdev, u32 ids)
{
	u32 i, indexes = 0;

	for (i = 0; i < tessera_segment_count(tdev); i++) {
		u32 id = tessera_segment_by_index(tdev, i)->id;

		if (!(ids & BIT(id)))
			continue;
		indexes |= BIT(i);
		ids &= ~BIT(id);
	}

	return ids ? 0 : indexes;
}

static int budget_notify(struct tessera_device *tdev, struct tessera_file *tfile, u32 indexes,
			 s32 fd)
{
	struct eventfd_ctx *eventfd;
	int ret;

	if (fd < 0) {
		tessera_budget_unwatch(tdev, &tfile->watch);
		return 0;
	}
	eventfd = eventfd_ctx_fdget(fd);
	if (IS_ERR(eventfd))
		return PTR_ERR(eventfd);
	ret = tessera_budget_watch(tdev, &tfile->watch, tfile->account, indexes, eventfd);
	if (ret)
		eventfd_ctx_put(eventfd);

	return ret;
}

static_assert(DRM_TESSERA_WEIGHT_DEFAULT == TESSERA_SHARE_WEIGHT);

/* Sets the weight of the process @nr, or of the caller's client. */
static int budget_weigh(struct tessera_account *account, s32 nr, u32 weight)
{
	struct pid *pid;
	int ret;

	if (!capable(CAP_SYS_NICE))
		return -EACCES;
	pid = nr ? find_get_pid(nr) : get_pid(account->process->pid);
	ret = tessera_account_weigh(account->tdev, pid, weight);
	put_pid(pid);

	return ret;
}

static void budget_fill(struct tessera_account *account, u32 indexes,
			struct drm_tessera_budget *args)
{
	struct tessera_trim_state trim;
	u64 reservable;

	args->budget = tessera_budget_sum(account, indexes);
	tessera_trim_fill(account, indexes, &trim);
	args->trim_bytes = trim.over;
	args->idle_bytes = trim.idle;
	args->wanted_bytes = trim.wanted;
	args->usage = 0;
	args->reservation = 0;
	args->reservable = 0;
	args->weight = tessera_account_weight(account);
	for (; indexes; indexes &= indexes - 1) {
		u32 i = __ffs(indexes);

		args->usage += tessera_account_used(account, i);
		args->reservation += tessera_account_reserved(account, i, &reservable);
		args->reservable += reservable;
	}
}

/**
 * tessera_ioctl_budget() - ask for a budget, reserve memory, or ask to be notified
 * @drm: the device
 * @data: &struct drm_tessera_budget
 * @file: the open file
 *
 * Return: 0, or one of the errors of the struct.
 */
int tessera_ioctl_budget(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct tessera_file *tfile = to_tessera_file(file);
	struct drm_tessera_budget *args = data;
	u32 indexes = budget_indexes(tdev, args->segments);
	bool reserve = args->flags & DRM_TESSERA_BUDGET_RESERVE;
	bool notify = args->flags & DRM_TESSERA_BUDGET_NOTIFY;
	bool weigh = args->flags & DRM_TESSERA_BUDGET_WEIGHT;
	int ret;

	if (tessera_ioctl_bad(tdev, args->flags & ~(DRM_TESSERA_BUDGET_RESERVE |
						    DRM_TESSERA_BUDGET_NOTIFY |
						    DRM_TESSERA_BUDGET_WEIGHT)) ||
	    tessera_ioctl_bad(tdev, reserve + notify + weigh > 1) ||
	    tessera_ioctl_bad(tdev, !weigh && args->pid) ||
	    tessera_ioctl_bad(tdev, weigh && (args->weight < DRM_TESSERA_WEIGHT_MIN ||
					      args->weight > DRM_TESSERA_WEIGHT_MAX)) ||
	    tessera_ioctl_bad(tdev, args->pad || !indexes) ||
	    tessera_ioctl_bad(tdev, !notify && args->eventfd) ||
	    tessera_ioctl_bad(tdev, reserve && !is_power_of_2(indexes)))
		return -EINVAL;

	ret = tessera_account_bind(tfile->account);
	if (!ret && reserve)
		ret = tessera_account_reserve(tfile->account, __ffs(indexes), args->reservation);
	if (!ret && notify)
		ret = budget_notify(tdev, tfile, indexes, args->eventfd);
	if (!ret && weigh)
		ret = budget_weigh(tfile->account, args->pid, args->weight);
	if (!ret)
		budget_fill(tfile->account, indexes, args);

	return ret;
}
