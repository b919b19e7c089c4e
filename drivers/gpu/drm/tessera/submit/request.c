// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: submission requests
 *
 * The kernel's copy of what a submission brings: commands, allocation list, patch list and
 * syncs are copied once, looked up, and only the copy is checked, patched and run
 * (SPLIT-29). Copying and looking up need no lock; the checks use the context's slot
 * table, under its lock. Called by the submission ioctl.
 */
#include <linux/overflow.h>
#include <linux/slab.h>

#include <drm/drm_exec.h>
#include <drm/tessera_drm.h>

#include "exec/ib.h"
#include "mem/bo.h"
#include "pure/validate.h"
#include "submit/context.h"
#include "submit/request.h"
#include "tessera_assert.h"
#include "tessera_device.h"
#include "tessera_uobj.h"

/* The user's patch list is copied straight into an array of struct tessera_patch. */
static_assert(offsetof(struct tessera_patch, alloc_index) ==
	      offsetof(struct drm_tessera_submit_patch, alloc_index));
static_assert(offsetof(struct tessera_patch, slot_id) ==
	      offsetof(struct drm_tessera_submit_patch, slot_id));
static_assert(offsetof(struct tessera_patch, driver_id) ==
	      offsetof(struct drm_tessera_submit_patch, driver_id));
static_assert(offsetof(struct tessera_patch, patch_offset) ==
	      offsetof(struct drm_tessera_submit_patch, patch_offset));
static_assert(offsetof(struct tessera_patch, split_offset) ==
	      offsetof(struct drm_tessera_submit_patch, split_offset));
static_assert(offsetof(struct tessera_patch, pad) ==
	      offsetof(struct drm_tessera_submit_patch, pad));
static_assert(offsetof(struct tessera_patch, alloc_offset) ==
	      offsetof(struct drm_tessera_submit_patch, alloc_offset));
static_assert(sizeof(struct tessera_patch) == sizeof(struct drm_tessera_submit_patch));

static int request_get_cmds(struct tessera_request *req,
			    const struct drm_tessera_submit *args)
{
	if (tessera_ioctl_bad(req->tdev, !args->cmd_size) ||
	    tessera_ioctl_bad(req->tdev, args->cmd_size % TSR_PKT_ALIGN) ||
	    tessera_ioctl_bad(req->tdev, args->cmds % TSR_PKT_ALIGN))
		return -EINVAL;
	if (tessera_ioctl_bad(req->tdev, args->cmd_size > req->tdev->info.max_ib_bytes))
		return -E2BIG;

	req->ib = tessera_ib_create(req->tdev, args->cmd_size);
	if (IS_ERR(req->ib)) {
		int ret = PTR_ERR(req->ib);

		req->ib = NULL;
		return ret;
	}
	req->cmds = tessera_ib_cpu(req->ib);
	req->list.cmd_bytes = args->cmd_size;
	req->list.num_slots = req->tdev->info.num_slots;

	return tessera_uobj_get_bytes(req->cmds, args->cmds, args->cmd_size);
}

static int request_get_alloc(struct tessera_request *req, struct drm_file *file, u32 index,
			     const struct drm_tessera_submit_alloc *user)
{
	struct tessera_patch_alloc *alloc = &req->allocs[index];
	struct tessera_bo *bo;

	if (tessera_ioctl_bad(req->tdev, user->flags & ~DRM_TESSERA_ALLOC_WRITE))
		return -EINVAL;
	if (!user->handle) {
		alloc->flags = TESSERA_PATCH_ALLOC_NULL;
		return tessera_ioctl_bad(req->tdev, user->flags) ? -EINVAL : 0;
	}

	bo = tessera_bo_lookup(file, user->handle);
	if (!bo)
		return -ENOENT;
	req->bos[index] = bo;
	alloc->size = tessera_bo_bytes(bo);
	if (!(user->flags & DRM_TESSERA_ALLOC_WRITE))
		return 0;

	alloc->flags = TESSERA_PATCH_ALLOC_WRITE;
	if (tessera_ioctl_bad(req->tdev, bo->flags & DRM_TESSERA_BO_GPU_READ_ONLY) ||
	    tessera_ioctl_bad(req->tdev, !tessera_bo_can_write_somewhere(bo)))
		return -EINVAL;

	return 0;
}

static int request_get_allocs(struct tessera_request *req, struct drm_file *file,
			      const struct drm_tessera_array *array)
{
	struct drm_tessera_submit_alloc *list;
	u32 i;
	int ret;

	ret = tessera_uobj_get_array(array, sizeof(*list), sizeof(*list),
				     TESSERA_MAX_ALLOCS, (void **)&list);
	if (ret || !list)
		return ret;

	req->bos = kvcalloc(array->count, sizeof(*req->bos), GFP_KERNEL_ACCOUNT);
	req->allocs = kvcalloc(array->count, sizeof(*req->allocs), GFP_KERNEL_ACCOUNT);
	if (!req->bos || !req->allocs) {
		ret = -ENOMEM;
		goto out_free;
	}
	req->list.num_allocs = array->count;
	req->list.allocs = req->allocs;

	for (i = 0; i < array->count; i++) {
		ret = request_get_alloc(req, file, i, &list[i]);
		if (ret)
			break;
	}

out_free:
	kvfree(list);
	return ret;
}

static int request_get_patches(struct tessera_request *req,
			       const struct drm_tessera_array *array)
{
	int ret;

	ret = tessera_uobj_get_array(array, sizeof(struct drm_tessera_submit_patch),
				     sizeof(struct tessera_patch), TESSERA_MAX_PATCHES,
				     (void **)&req->patches);
	if (ret || !req->patches)
		return ret;

	req->order = kvmalloc_array(array->count, sizeof(*req->order), GFP_KERNEL_ACCOUNT);
	if (!req->order)
		return -ENOMEM;
	req->list.patches = req->patches;
	req->list.num_patches = array->count;

	return 0;
}

static int request_get_syncs(struct tessera_request *req, struct drm_file *file,
			     const struct drm_tessera_array *array)
{
	struct drm_tessera_sync *list;
	int ret;

	ret = tessera_uobj_get_array(array, sizeof(*list), sizeof(*list),
				     TESSERA_MAX_SYNCS, (void **)&list);
	if (ret || !list)
		return ret;
	ret = tessera_syncs_init(&req->syncs, file, list, array->count);
	kvfree(list);

	return ret;
}

/**
 * tessera_request_init() - copy a submission and look up what it names
 * @req: the request; tessera_request_fini() even after a failure
 * @tdev: the device
 * @file: the client
 * @contexts: the client's contexts
 * @args: the ioctl's argument, flags checked
 *
 * Return: 0, or one of the errors of &struct drm_tessera_submit.
 */
int tessera_request_init(struct tessera_request *req, struct tessera_device *tdev,
			 struct drm_file *file, struct xarray *contexts,
			 const struct drm_tessera_submit *args)
{
	int ret;

	*req = (struct tessera_request) {
		.tdev = tdev,
		.err = {
			.offset = TESSERA_PATCH_NOWHERE,
			.index = TESSERA_PATCH_NOWHERE,
		},
	};

	req->ctx = tessera_context_lookup(contexts, args->context);
	if (!req->ctx)
		return -ENOENT;

	ret = request_get_cmds(req, args);
	if (!ret)
		ret = request_get_allocs(req, file, &args->allocs);
	if (!ret)
		ret = request_get_patches(req, &args->patches);
	if (!ret)
		ret = request_get_syncs(req, file, &args->syncs);

	return ret;
}

/**
 * tessera_request_fini() - drop all that a request holds
 * @req: the request
 */
void tessera_request_fini(struct tessera_request *req)
{
	u32 i;

	tessera_syncs_fini(&req->syncs);
	if (req->bos)
		for (i = 0; i < req->list.num_allocs; i++)
			if (req->bos[i])
				tessera_bo_put(req->bos[i]);
	kvfree(req->bos);
	kvfree(req->allocs);
	kvfree(req->patches);
	kvfree(req->order);
	if (req->ib)
		tessera_ib_put(req->ib);
	tessera_context_put(req->ctx);
}

/**
 * tessera_request_check() - validate commands and patch list
 * @req: the request, whose context's lock is held
 *
 * Return: 0, or -EINVAL with &tessera_request.err saying where.
 */
int tessera_request_check(struct tessera_request *req)
{
	struct tessera_context *ctx = req->ctx;
	int ret;

	lockdep_assert_held(&ctx->lock);

	ret = tessera_patch_check(&req->list, &ctx->slots, &req->err);
	if (!ret && (ctx->flags & DRM_TESSERA_CONTEXT_LEAK_CHECK))
		ret = tessera_patch_check_leaks(&req->list, &ctx->slots, &req->err);
	if (!ret)
		ret = tessera_validate(req->cmds, &req->list, req->order, &req->num_order,
				       &req->err);
	if (ret)
		drm_dbg_driver(&req->tdev->drm, "refused at offset 0x%x, patch %u\n",
			       req->err.offset, req->err.index);

	return ret;
}

/**
 * tessera_request_lock() - lock the objects of the allocation list
 * @req: the request
 * @exec: inside drm_exec_until_all_locked()
 *
 * Also reserves room for the fence of one job in each. On contention the caller starts over.
 *
 * Return: 0, -EINVAL if an object is listed twice, -ENOMEM, -EINTR, or -EDEADLK on contention.
 */
int tessera_request_lock(struct tessera_request *req, struct drm_exec *exec)
{
	u32 i;
	int ret;

	for (i = 0; i < req->list.num_allocs; i++) {
		if (!req->bos[i])
			continue;
		ret = drm_exec_prepare_obj(exec, &req->bos[i]->tbo.base, 1);
		if (ret)
			return ret == -EALREADY ? -EINVAL : ret;
	}

	return 0;
}

/**
 * tessera_request_patch() - write the addresses of a run of patches
 * @req: the request, objects locked and resident
 * @first: first element of the patch list
 * @count: how many
 */
void tessera_request_patch(struct tessera_request *req, u32 first, u32 count)
{
	u32 i;

	for (i = first; i < first + count; i++) {
		const struct tessera_patch *patch = &req->patches[i];
		struct tessera_bo *bo = req->bos[patch->alloc_index];

		if (!bo)
			continue;
		tessera_patch_write(req->cmds, patch->patch_offset,
				    tessera_bo_gpu_addr(bo) + patch->alloc_offset,
				    tessera_bo_bytes(bo) - patch->alloc_offset);
	}
}
