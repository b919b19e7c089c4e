// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: ioctls
 *
 * Each ioctl has one short handler, which checks every field, looks objects up,
 * and calls the layer that does the work. The core has checked that the device
 * is not gone, and has extended short structs with zeros. Called without locks.
 */
#include <linux/capability.h>
#include <linux/dma-fence.h>
#include <linux/eventfd.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <drm/drm_auth.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_ioctl.h>
#include <drm/tessera_drm.h>

#include "cpu/cpu.h"
#include "exec/exec.h"
#include "hw/hw.h"
#include "pure/surface.h"
#include "segments/segments.h"
#include "services/services.h"
#include "submit/submit.h"
#include "sync/sync.h"
#include "tessera_assert.h"
#include "tessera_device.h"
#include "tessera_drv.h"
#include "tessera_uobj.h"
#include "vm/vm.h"

static_assert(DRM_TESSERA_SEGMENT_APERTURE == TSR_SEGF_APERTURE);
static_assert(DRM_TESSERA_SEGMENT_CPU_VISIBLE == TSR_SEGF_CPU_VISIBLE);
static_assert(DRM_TESSERA_SEGMENT_GPU_READ_ONLY == TSR_SEGF_GPU_READ_ONLY);
static_assert(DRM_TESSERA_SEGMENT_CACHE_COHERENT == TSR_SEGF_CACHE_COHERENT);
static_assert(DRM_TESSERA_SEGMENT_CPU_CACHED == TSR_SEGF_CPU_CACHED);
static_assert(DRM_TESSERA_SEGMENT_HOST_APERTURE == TSR_SEGF_HOST_APERTURE);
static_assert(DRM_TESSERA_ENGINE_RENDER == TSR_ENGINE_RENDER);
static_assert(DRM_TESSERA_ENGINE_PAGING == TSR_ENGINE_PAGING);

#define ASSERT_SAME(ours, theirs, member) \
	static_assert(offsetof(struct ours, member) == offsetof(struct theirs, member))

/*
 * The user's patch list is copied straight into an array of struct
 * tessera_patch.
 */
ASSERT_SAME(tessera_patch, drm_tessera_submit_patch, alloc_index);
ASSERT_SAME(tessera_patch, drm_tessera_submit_patch, slot_id);
ASSERT_SAME(tessera_patch, drm_tessera_submit_patch, driver_id);
ASSERT_SAME(tessera_patch, drm_tessera_submit_patch, patch_offset);
ASSERT_SAME(tessera_patch, drm_tessera_submit_patch, split_offset);
ASSERT_SAME(tessera_patch, drm_tessera_submit_patch, pad);
ASSERT_SAME(tessera_patch, drm_tessera_submit_patch, alloc_offset);
static_assert(sizeof(struct tessera_patch) == sizeof(struct drm_tessera_submit_patch));

/* Private data is copied straight into a struct tessera_private. */
static_assert(TESSERA_PRIVATE_VERSION == DRM_TESSERA_PRIVATE_VERSION);
static_assert(TESSERA_PRIVATE_TWIN == DRM_TESSERA_PRIVATE_TWIN);
ASSERT_SAME(tessera_private, drm_tessera_bo_private, version);
ASSERT_SAME(tessera_private, drm_tessera_bo_private, flags);
ASSERT_SAME(tessera_private, drm_tessera_bo_private, layout);
ASSERT_SAME(tessera_private, drm_tessera_bo_private, pitch);
ASSERT_SAME(tessera_private, drm_tessera_bo_private, width);
ASSERT_SAME(tessera_private, drm_tessera_bo_private, rows);
ASSERT_SAME(tessera_private, drm_tessera_bo_private, reserved);
static_assert(sizeof(struct tessera_private) == sizeof(struct drm_tessera_bo_private));

#define SEGMENT_FLAGS	(DRM_TESSERA_SEGMENT_APERTURE | \
			 DRM_TESSERA_SEGMENT_CPU_VISIBLE | \
			 DRM_TESSERA_SEGMENT_GPU_READ_ONLY | \
			 DRM_TESSERA_SEGMENT_CACHE_COHERENT | \
			 DRM_TESSERA_SEGMENT_CPU_CACHED | \
			 DRM_TESSERA_SEGMENT_HOST_APERTURE)

#define CONTEXT_FLAGS	(DRM_TESSERA_CONTEXT_LEAK_CHECK | \
			 DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL | \
			 DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM)

static u64 query_caps(struct tessera_device *tdev)
{
	static const struct {
		u32 hw;
		u64 uapi;
	} map[] = {
		{ TSR_CAP_PREEMPTION, DRM_TESSERA_CAP_PREEMPTION },
		{ TSR_CAP_IO_COHERENT, DRM_TESSERA_CAP_IO_COHERENT },
		{ TSR_CAP_STRICT, DRM_TESSERA_CAP_STRICT },
		{ TSR_CAP_HOST_APERTURE, DRM_TESSERA_CAP_HOST_APERTURE },
		{ TSR_CAP_VM, DRM_TESSERA_CAP_VM },
	};
	u64 caps = DRM_TESSERA_CAP_SPLIT;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(map); i++)
		if (tdev->info.caps & map[i].hw)
			caps |= map[i].uapi;
	if (tessera_userptr_offered(tdev))
		caps |= DRM_TESSERA_CAP_USER_MEMORY;

	return caps;
}

static int query_device(struct tessera_device *tdev, struct tessera_client *client,
			struct drm_tessera_array *data)
{
	struct drm_tessera_query_device info = {
		.hw_version = tdev->info.version,
		.num_segments = tessera_segment_count(tdev),
		.max_slots = tdev->info.num_slots,
		.max_allocs = TESSERA_MAX_ALLOCS,
		.max_patches = TESSERA_MAX_PATCHES,
		.max_cmd_bytes = tdev->info.max_ib_bytes,
		.max_syncs = TESSERA_MAX_SYNCS,
		.max_fences = TESSERA_MAX_MONITORED,
		.caps = query_caps(tdev),
		.page_size = TSR_PAGE_SIZE,
		.num_swizzle_ranges = tdev->info.num_swizzle_ranges,
	};
	u32 i;
	int idx;

	info.max_contexts = TESSERA_MAX_CONTEXTS;
	info.job_timeout_ms = tessera_engine_timeout_ms(tdev);
	if (!(tdev->info.caps & TSR_CAP_PREEMPTION))
		info.group_timeout_ms = min((u64)info.job_timeout_ms *
					    READ_ONCE(tdev->group_timeouts), U32_MAX);
	info.device_resets = tessera_context_resets(tdev);
	if (tdev->info.caps & TSR_CAP_VM) {
		info.va_bits = TSR_VM_ADDRESS_BITS;
		info.va_page_sizes = TSR_PAGE_SIZE | SZ_64K | SZ_2M;
		info.max_binds = TESSERA_MAX_BINDS;
	}
	info.host_aperture_bytes = tessera_host_aperture_bytes(tdev, &info.host_aperture_page);
	for (i = 0; i < tessera_engine_num(tdev); i++)
		if (tessera_engine_get(tdev, i)->type == TSR_ENGINE_RENDER)
			info.num_engines++;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return -ENODEV;
	info.guest_errors = tessera_error_total(tdev);
	info.timestamp_ns = tessera_read_timestamp(tdev);
	drm_dev_exit(idx);

	return tessera_uobj_put_array(data, sizeof(info), 1, &info);
}

static int query_segments(struct tessera_device *tdev, struct tessera_client *client,
			  struct drm_tessera_array *data)
{
	struct drm_tessera_query_segment *info;
	u32 count = tessera_segment_count(tdev);
	u32 i;
	int ret;

	static_assert(sizeof(info->name) == TSR_SEG_NAME_BYTES);

	info = kcalloc(count, sizeof(*info), GFP_KERNEL);
	if (!info)
		return -ENOMEM;

	for (i = 0; i < count; i++) {
		const struct tessera_segment *seg = tessera_segment_by_index(tdev, i);

		info[i].id = seg->id;
		info[i].flags = seg->flags & SEGMENT_FLAGS;
		info[i].gpu_base = seg->base;
		info[i].size = seg->size;
		info[i].commit_limit = seg->commit;
		info[i].page_size = seg->page_size;
		memcpy(info[i].name, seg->name, sizeof(info[i].name));
	}
	ret = tessera_uobj_put_array(data, sizeof(*info), count, info);
	kfree(info);

	return ret;
}

static int query_engines(struct tessera_device *tdev, struct tessera_client *client,
			 struct drm_tessera_array *data)
{
	struct drm_tessera_query_engine info[TSR_MAX_ENGINES];
	u32 count = tessera_engine_num(tdev);
	u32 i;

	for (i = 0; i < count; i++) {
		info[i].id = i;
		info[i].type = tessera_engine_get(tdev, i)->type;
	}

	return tessera_uobj_put_array(data, sizeof(info[0]), count, info);
}

static int query_memory(struct tessera_device *tdev, struct tessera_client *client,
			struct drm_tessera_array *data)
{
	struct drm_tessera_query_memory *info;
	u32 count = tessera_segment_count(tdev);
	u32 i;
	int ret;

	ret = tessera_account_bind(client->account);
	if (ret)
		return ret;
	info = kcalloc(count, sizeof(*info), GFP_KERNEL);
	if (!info)
		return -ENOMEM;

	for (i = 0; i < count; i++) {
		const struct tessera_segment *seg = tessera_segment_by_index(tdev, i);

		info[i].segment = seg->id;
		info[i].total = seg->commit;
		info[i].used = tessera_manager_used(tdev, i);
		info[i].client_used = tessera_account_used(client->account, i);
		tessera_account_expire(tdev, i);
		info[i].client_share = tessera_account_share(client->account, i);
	}
	ret = tessera_uobj_put_array(data, sizeof(info[0]), count, info);
	kfree(info);

	return ret;
}

static int query_client(struct tessera_device *tdev, struct tessera_client *client,
			struct drm_tessera_array *data)
{
	struct drm_tessera_query_client info = { .max_hangs = DRM_TESSERA_MAX_HANGS };
	struct tessera_account *account = client->account;
	int ret;

	ret = tessera_account_bind(account);
	if (ret)
		return ret;
	info.hangs = atomic_read(&account->payer->hangs);
	info.banned = tessera_account_banned(account);
	info.work_bytes = tessera_quota_bytes(&account->payer->work);
	info.work_limit = account->payer->work.limit;

	return tessera_uobj_put_array(data, sizeof(info), 1, &info);
}

typedef int (*query_fn)(struct tessera_device *tdev, struct tessera_client *client,
			struct drm_tessera_array *data);

static const query_fn queries[] = {
	[DRM_TESSERA_QUERY_DEVICE] = query_device,
	[DRM_TESSERA_QUERY_SEGMENTS] = query_segments,
	[DRM_TESSERA_QUERY_ENGINES] = query_engines,
	[DRM_TESSERA_QUERY_MEMORY] = query_memory,
	[DRM_TESSERA_QUERY_CLIENT] = query_client,
};

/*
 * -EINVAL: unknown id, non-zero padding, bad stride. -EFAULT: bad user address.
 * -ENOMEM. -ENODEV: the device is gone.
 */
static int tessera_ioctl_query(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct drm_tessera_query *args = data;
	u32 id = args->id;

	if (tessera_ioctl_bad(tdev, args->pad) ||
	    tessera_ioctl_bad(tdev, id >= ARRAY_SIZE(queries)))
		return -EINVAL;
	id = array_index_nospec(id, ARRAY_SIZE(queries));

	return queries[id](tdev, to_tessera_client(file), &args->data);
}

/*
 * -EINVAL, -ENOENT: see &struct drm_tessera_bo_create. -E2BIG: larger than each
 * supported segment. -ENOMEM.
 */
static int tessera_ioctl_bo_create(struct drm_device *drm, void *data,
				   struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct tessera_client *client = to_tessera_client(file);
	struct drm_tessera_bo_create *args = data;
	bool private = args->flags & DRM_TESSERA_BO_VM_PRIVATE;
	struct tessera_vm *vm = NULL;
	int ret;

	if (tessera_ioctl_bad(tdev, args->vm && !private) ||
	    tessera_ioctl_bad(tdev, args->flags & DRM_TESSERA_BO_TWIN))
		return -EINVAL;

	ret = tessera_account_bind(client->account);
	if (ret)
		return ret;
	if (private) {
		vm = tessera_vm_lookup(&client->vms, args->vm);
		if (!vm)
			return -ENOENT;
	}
	ret = tessera_gem_create(tdev, file, client->paging, args, vm ? vm->base.r_obj : NULL);
	tessera_vm_put(vm);

	return ret;
}

static int twins_get_data(const struct drm_tessera_bo_create_twins *args,
			  struct drm_tessera_bo_create **bos, struct tessera_private **privs)
{
	int ret;

	ret = tessera_uobj_get_array(&args->bos, bos, TESSERA_NUM_TWINS);
	if (!ret)
		ret = tessera_uobj_get_array(&args->private_data, privs, TESSERA_NUM_TWINS);

	return ret;
}

/* See &struct drm_tessera_bo_create_twins. */
static int tessera_ioctl_bo_create_twins(struct drm_device *drm, void *data,
					 struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct tessera_client *client = to_tessera_client(file);
	struct drm_tessera_bo_create_twins *args = data;
	struct drm_tessera_bo_create *bos = NULL;
	struct tessera_private *privs = NULL;
	int ret;

	static_assert(ARRAY_SIZE(args->handles) == TESSERA_NUM_TWINS);

	memset(args->handles, 0, sizeof(args->handles));
	if (tessera_ioctl_bad(tdev, args->flags || args->pad) ||
	    tessera_ioctl_bad(tdev, args->bos.count != TESSERA_NUM_TWINS) ||
	    tessera_ioctl_bad(tdev, args->private_data.count != TESSERA_NUM_TWINS))
		return -EINVAL;

	ret = tessera_account_bind(client->account);
	if (!ret)
		ret = twins_get_data(args, &bos, &privs);
	if (!ret)
		ret = tessera_twins_create(tdev, file, client->paging, bos, privs);
	if (!ret) {
		args->handles[0] = bos[0].handle;
		args->handles[1] = bos[1].handle;
	}
	kvfree(privs);
	kvfree(bos);

	return ret;
}

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
static int context_create(struct tessera_device *tdev, struct tessera_client *client,
			  struct drm_tessera_context_create *args)
{
	struct tessera_vm *vm = NULL;
	int ret = 0;

	if (args->vm) {
		vm = tessera_vm_lookup(&client->vms, args->vm);
		if (!vm)
			return -ENOENT;
		if (atomic_read(&vm->space->lost))
			ret = -EIO;
	}
	if (!ret)
		ret = tessera_context_create(tdev, &client->contexts, client->account,
					     client->backlog, vm, args, &args->id);
	if (ret)
		tessera_vm_put(vm);

	return ret;
}

/*
 * -EINVAL: unknown flag or priority, both force-split flags, a seed without its
 * flag, no such render engine, a flag with a VM. -ENOENT: unknown VM. -EIO: the
 * VM is lost. -EPERM: a force-split flag without CAP_SYS_ADMIN. -EACCES: high
 * priority without CAP_SYS_NICE or being DRM master. -ENOSPC: too many
 * contexts. -ENOMEM.
 */
static int tessera_ioctl_context_create(struct drm_device *drm, void *data,
					struct drm_file *file)
{
	const u32 force = DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL |
			  DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM;
	struct tessera_device *tdev = to_tessera_device(drm);
	struct tessera_client *client = to_tessera_client(file);
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
		ret = tessera_account_bind(client->account);
	if (ret)
		return ret;

	return context_create(tdev, client, args);
}

/* -ENOENT: unknown context. -EINVAL: non-zero padding. */
static int tessera_ioctl_context_destroy(struct drm_device *drm, void *data,
					 struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct tessera_client *client = to_tessera_client(file);
	struct drm_tessera_context_destroy *args = data;

	if (tessera_ioctl_bad(tdev, args->pad))
		return -EINVAL;

	return tessera_context_destroy(&client->contexts, args->id);
}

/* -ENOENT: unknown context. -EINVAL: non-zero padding. */
static int tessera_ioctl_context_status(struct drm_device *drm, void *data,
					struct drm_file *file)
{
	struct tessera_client *client = to_tessera_client(file);
	struct drm_tessera_context_status *args = data;
	struct tessera_context *ctx;

	if (tessera_ioctl_bad(to_tessera_device(drm), args->pad))
		return -EINVAL;
	ctx = tessera_context_lookup(&client->contexts, args->id);
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

	data->ib = tessera_ib_create(tdev, &account->payer->work, args->cmd_size);
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

/* See &struct drm_tessera_submit. */
static int tessera_ioctl_submit(struct drm_device *drm, void *arg, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct tessera_client *client = to_tessera_client(file);
	struct tessera_submit_data data = {
		.fences = client->fences,
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
		ret = tessera_account_bind(client->account);
	if (!ret)
		ret = submit_get_syncs(tdev, file, args, &data);
	if (!ret)
		ret = tessera_quota_enter(&client->account->payer->work,
					  list_bytes + cmd_bytes);
	if (!ret) {
		ret = submit_get_data(tdev, client->account, args, &data);
		/* The buffer, if there is one, has been charged on its own. */
		tessera_quota_uncharge(&client->account->payer->work, cmd_bytes);
		if (!ret)
			ret = tessera_submit(tdev, file, &client->contexts, &data);
		submit_put_data(&data);
		tessera_quota_uncharge(&client->account->payer->work, list_bytes);
	}
	submit_put_data(&data);

	args->num_parts = data.num_parts;
	args->error_offset = data.err.offset;
	args->error_index = data.err.index;

	return ret;
}

/* -ENOSPC: too many fences. -EINVAL: unknown flag. -ENOMEM. */
static int tessera_ioctl_fence_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_client *client = to_tessera_client(file);
	struct drm_tessera_fence_create *args = data;
	int ret;

	if (tessera_ioctl_bad(to_tessera_device(drm), args->flags))
		return -EINVAL;
	ret = tessera_account_bind(client->account);

	return ret ?: tessera_monitored_create(client->fences, args);
}

/* -ENOENT: unknown fence. -EINVAL: non-zero padding. */
static int tessera_ioctl_fence_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_client *client = to_tessera_client(file);
	const struct drm_tessera_fence_destroy *args = data;

	if (tessera_ioctl_bad(to_tessera_device(drm), args->pad))
		return -EINVAL;

	return tessera_monitored_destroy(client->fences, args->id);
}

/*
 * -ENOENT: unknown fence. -EINVAL: non-zero padding, or the value does not
 * rise. -ENOMEM.
 */
static int tessera_ioctl_fence_signal(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_client *client = to_tessera_client(file);
	const struct drm_tessera_fence_signal *args = data;

	if (tessera_ioctl_bad(to_tessera_device(drm), args->pad))
		return -EINVAL;

	return tessera_monitored_signal(client->fences, args->id, args->value);
}

/* See &struct drm_tessera_lock. */
static int tessera_ioctl_lock(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_client *client = to_tessera_client(file);
	struct drm_tessera_lock *args = data;
	int ret;

	args->mmap_offset = 0;
	ret = tessera_account_bind(client->account);
	if (ret)
		return ret;

	return tessera_lock(file, client->paging, args);
}

static int resident_get_handles(struct tessera_device *tdev, const struct drm_tessera_array *in,
				u32 **handles)
{
	/* The array holds numbers, which do not grow as structs do. */
	if (tessera_ioctl_bad(tdev, in->count && in->stride != sizeof(**handles)))
		return -EINVAL;

	return tessera_uobj_get_array(in, handles, TESSERA_MAX_ALLOCS);
}

/* The sync list may only signal the paging fence. */
static int resident_get_syncs(struct drm_file *file, const struct drm_tessera_array *in,
			      struct tessera_syncs *syncs)
{
	struct tessera_device *tdev = to_tessera_device(file->minor->dev);
	struct tessera_client *client = to_tessera_client(file);
	struct drm_tessera_sync *list;
	u32 i;
	int ret;

	ret = tessera_uobj_get_array(in, &list, TESSERA_MAX_SYNCS);
	for (i = 0; !ret && i < in->count; i++)
		if (tessera_ioctl_bad(tdev, !(list[i].flags & DRM_TESSERA_SYNC_SIGNAL)))
			ret = -EINVAL;
	if (!ret)
		ret = tessera_syncs_init(syncs, tdev, file, client->fences,
					 &client->account->payer->work, list, in->count);
	/* Monitored fences are refused: only a job can write their values. */
	if (!ret && tessera_ioctl_bad(tdev, syncs->signals))
		ret = -EINVAL;
	kvfree(list);

	return ret;
}

static int resident_run(struct drm_file *file, struct drm_tessera_make_resident *args,
			const u32 *handles)
{
	struct tessera_client *client = to_tessera_client(file);
	struct tessera_resident_answer answer = { .failed = args->handles.count };
	struct tessera_syncs syncs = { };
	int ret;

	ret = resident_get_syncs(file, &args->syncs, &syncs);
	if (!ret)
		ret = tessera_resident_make(client->resident, handles, args->handles.count,
					    &answer);
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

/* See &struct drm_tessera_make_resident. */
static int tessera_ioctl_make_resident(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct tessera_account *account = to_tessera_client(file)->account;
	struct drm_tessera_make_resident *args = data;
	u32 *handles = NULL;
	int ret = -EINVAL;

	args->bytes_to_trim = 0;
	args->trim_segments = 0;
	args->pending = 0;
	args->failed = args->handles.count;
	if (!tessera_ioctl_bad(tdev, args->flags || args->pad || args->pad2))
		ret = tessera_account_bind(account);
	if (!ret)
		ret = resident_get_handles(tdev, &args->handles, &handles);
	if (!ret)
		ret = resident_run(file, args, handles);
	kvfree(handles);

	return ret;
}

/* See &struct drm_tessera_evict. */
static int tessera_ioctl_evict(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	const struct drm_tessera_evict *args = data;
	u32 *handles = NULL;
	int ret;

	if (tessera_ioctl_bad(tdev, args->flags || args->pad))
		return -EINVAL;
	ret = resident_get_handles(tdev, &args->handles, &handles);
	if (!ret)
		ret = tessera_work_begin(tdev);
	if (!ret) {
		ret = tessera_resident_evict(to_tessera_client(file)->resident, handles,
					     args->handles.count);
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

static int budget_notify(struct tessera_device *tdev, struct tessera_client *client, u32 indexes,
			 s32 fd)
{
	struct eventfd_ctx *eventfd;
	int ret;

	if (fd < 0) {
		tessera_budget_unwatch(tdev, &client->watch);
		return 0;
	}
	eventfd = eventfd_ctx_fdget(fd);
	if (IS_ERR(eventfd))
		return PTR_ERR(eventfd);
	ret = tessera_budget_watch(tdev, &client->watch, client->account, indexes, eventfd);
	if (ret)
		eventfd_ctx_put(eventfd);

	return ret;
}

static void budget_fill(struct tessera_account *account, u32 indexes,
			struct drm_tessera_budget *args)
{
	u64 reservable;

	args->budget = tessera_budget_sum(account, indexes);
	args->usage = 0;
	args->reservation = 0;
	args->reservable = 0;
	for (; indexes; indexes &= indexes - 1) {
		u32 i = __ffs(indexes);

		args->usage += tessera_account_used(account, i);
		args->reservation += tessera_account_reserved(account, i, &reservable);
		args->reservable += reservable;
	}
}

/* See &struct drm_tessera_budget. */
static int tessera_ioctl_budget(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct tessera_client *client = to_tessera_client(file);
	struct drm_tessera_budget *args = data;
	u32 indexes = budget_indexes(tdev, args->segments);
	bool reserve = args->flags & DRM_TESSERA_BUDGET_RESERVE;
	bool notify = args->flags & DRM_TESSERA_BUDGET_NOTIFY;
	int ret;

	if (tessera_ioctl_bad(tdev, args->flags & ~(DRM_TESSERA_BUDGET_RESERVE |
						    DRM_TESSERA_BUDGET_NOTIFY)) ||
	    tessera_ioctl_bad(tdev, reserve && notify) ||
	    tessera_ioctl_bad(tdev, args->pad || !indexes) ||
	    tessera_ioctl_bad(tdev, !notify && args->eventfd) ||
	    tessera_ioctl_bad(tdev, reserve && !is_power_of_2(indexes)))
		return -EINVAL;

	ret = tessera_account_bind(client->account);
	if (!ret && reserve)
		ret = tessera_account_reserve(client->account, __ffs(indexes), args->reservation);
	if (!ret && notify)
		ret = budget_notify(tdev, client, indexes, args->eventfd);
	if (!ret)
		budget_fill(client->account, indexes, args);

	return ret;
}

#define TESSERA_IOCTL(name, handler) \
	DRM_IOCTL_DEF_DRV(TESSERA_##name, tessera_ioctl_##handler, DRM_RENDER_ALLOW)

/** tessera_ioctls - ioctl table, for the driver's &struct drm_driver */
const struct drm_ioctl_desc tessera_ioctls[TESSERA_NUM_IOCTLS] = {
	TESSERA_IOCTL(QUERY, query),
	TESSERA_IOCTL(BO_CREATE, bo_create),
	TESSERA_IOCTL(BO_INFO, bo_info),
	TESSERA_IOCTL(BO_WAIT, bo_wait),
	TESSERA_IOCTL(CONTEXT_CREATE, context_create),
	TESSERA_IOCTL(CONTEXT_DESTROY, context_destroy),
	TESSERA_IOCTL(SUBMIT, submit),
	TESSERA_IOCTL(LOCK, lock),
	TESSERA_IOCTL(UNLOCK, unlock),
	TESSERA_IOCTL(BO_CREATE_TWINS, bo_create_twins),
	TESSERA_IOCTL(LOCK2, lock2),
	TESSERA_IOCTL(UNLOCK2, unlock2),
	TESSERA_IOCTL(BO_DESTROY, bo_destroy),
	TESSERA_IOCTL(OFFER, offer),
	TESSERA_IOCTL(RECLAIM, reclaim),
	TESSERA_IOCTL(INVALIDATE_CACHE, invalidate_cache),
	TESSERA_IOCTL(BO_LABEL, bo_label),
	TESSERA_IOCTL(BO_FROM_USER, bo_from_user),
	TESSERA_IOCTL(CONTEXT_STATUS, context_status),
	TESSERA_IOCTL(FENCE_CREATE, fence_create),
	TESSERA_IOCTL(FENCE_DESTROY, fence_destroy),
	TESSERA_IOCTL(FENCE_SIGNAL, fence_signal),
	TESSERA_IOCTL(VM_CREATE, vm_create),
	TESSERA_IOCTL(VM_DESTROY, vm_destroy),
	TESSERA_IOCTL(VM_BIND, vm_bind),
	TESSERA_IOCTL(SUBMIT_VM, submit_vm),
	TESSERA_IOCTL(MAKE_RESIDENT, make_resident),
	TESSERA_IOCTL(EVICT, evict),
	TESSERA_IOCTL(BUDGET, budget),
};
