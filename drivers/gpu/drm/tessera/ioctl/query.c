// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: queries
 *
 * The ioctl that describes the device, and what the caller uses of it.
 */

#include <linux/minmax.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/tessera_drm.h>

#include "base/assert.h"
#include "base/device.h"
#include "base/uobj.h"
#include "client/client.h"
#include "cpu/cpu.h"
#include "exec/exec.h"
#include "gem/gem.h"
#include "hw/hw.h"
#include "ioctl/ioctl.h"
#include "segments/segments.h"
#include "submit/submit.h"
#include "sync/sync.h"
#include "vm/vm.h"

static_assert(DRM_TESSERA_SEGMENT_APERTURE == TSR_SEGF_APERTURE);
static_assert(DRM_TESSERA_SEGMENT_CPU_VISIBLE == TSR_SEGF_CPU_VISIBLE);
static_assert(DRM_TESSERA_SEGMENT_GPU_READ_ONLY == TSR_SEGF_GPU_READ_ONLY);
static_assert(DRM_TESSERA_SEGMENT_CACHE_COHERENT == TSR_SEGF_CACHE_COHERENT);
static_assert(DRM_TESSERA_SEGMENT_CPU_CACHED == TSR_SEGF_CPU_CACHED);
static_assert(DRM_TESSERA_SEGMENT_HOST_APERTURE == TSR_SEGF_HOST_APERTURE);
static_assert(DRM_TESSERA_SEGMENT_UMA == TSR_SEGF_UMA);
static_assert(DRM_TESSERA_ENGINE_RENDER == TSR_ENGINE_RENDER);
static_assert(DRM_TESSERA_ENGINE_PAGING == TSR_ENGINE_PAGING);

#define SEGMENT_FLAGS	(DRM_TESSERA_SEGMENT_APERTURE | \
			 DRM_TESSERA_SEGMENT_CPU_VISIBLE | \
			 DRM_TESSERA_SEGMENT_GPU_READ_ONLY | \
			 DRM_TESSERA_SEGMENT_CACHE_COHERENT | \
			 DRM_TESSERA_SEGMENT_CPU_CACHED | \
			 DRM_TESSERA_SEGMENT_HOST_APERTURE | \
			 DRM_TESSERA_SEGMENT_UMA)

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

static int query_device(struct tessera_device *tdev, struct tessera_file *tfile,
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

static int query_segments(struct tessera_device *tdev, struct tessera_file *tfile,
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

static int query_engines(struct tessera_device *tdev, struct tessera_file *tfile,
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

static int query_memory(struct tessera_device *tdev, struct tessera_file *tfile,
			struct drm_tessera_array *data)
{
	struct drm_tessera_query_memory *info;
	u32 count = tessera_segment_count(tdev);
	u32 i;
	int ret;

	ret = tessera_account_bind(tfile->account);
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
		info[i].client_used = tessera_account_used(tfile->account, i);
		tessera_account_expire(tdev, i);
		info[i].client_share = tessera_account_share(tfile->account, i);
	}
	ret = tessera_uobj_put_array(data, sizeof(info[0]), count, info);
	kfree(info);

	return ret;
}

static int query_client(struct tessera_device *tdev, struct tessera_file *tfile,
			struct drm_tessera_array *data)
{
	struct drm_tessera_query_client info = { .max_hangs = DRM_TESSERA_MAX_HANGS };
	struct tessera_account *account = tfile->account;
	int ret;

	ret = tessera_account_bind(account);
	if (ret)
		return ret;
	info.hangs = atomic_read(&account->process->hangs);
	info.banned = tessera_account_banned(account);
	info.work_bytes = tessera_quota_bytes(&account->process->work);
	info.work_limit = account->process->work.limit;

	return tessera_uobj_put_array(data, sizeof(info), 1, &info);
}

typedef int (*query_fn)(struct tessera_device *tdev, struct tessera_file *tfile,
			struct drm_tessera_array *data);

static const query_fn queries[] = {
	[DRM_TESSERA_QUERY_DEVICE] = query_device,
	[DRM_TESSERA_QUERY_SEGMENTS] = query_segments,
	[DRM_TESSERA_QUERY_ENGINES] = query_engines,
	[DRM_TESSERA_QUERY_MEMORY] = query_memory,
	[DRM_TESSERA_QUERY_CLIENT] = query_client,
};

/**
 * tessera_ioctl_query() - answer a query
 * @drm: the device
 * @data: &struct drm_tessera_query
 * @file: the open file
 *
 * Return: 0, or
 * * -EINVAL: unknown id, non-zero padding, bad stride
 * * -EFAULT: bad user address
 * * -ENOMEM
 * * -ENODEV: the device is gone
 */
int tessera_ioctl_query(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct drm_tessera_query *args = data;
	u32 id = args->id;

	if (tessera_ioctl_bad(tdev, args->pad) ||
	    tessera_ioctl_bad(tdev, id >= ARRAY_SIZE(queries)))
		return -EINVAL;
	id = array_index_nospec(id, ARRAY_SIZE(queries));

	return queries[id](tdev, to_tessera_file(file), &args->data);
}
