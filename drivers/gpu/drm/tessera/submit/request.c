// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: submission requests
 *
 * A request is a submission that has been looked up and checked. The ioctl has
 * copied the arguments once. Only the copy is looked up, checked, patched and
 * run (SPLIT-29). The look-up needs no lock. The checks use the context's slot
 * table, under the context's lock.
 */
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <drm/drm_exec.h>
#include <drm/tessera_drm.h>

#include "base/assert.h"
#include "base/device.h"
#include "base/uobj.h"
#include "borrow/borrow.h"
#include "cpu/cpu.h"
#include "exec/exec.h"
#include "gem/gem.h"
#include "mem/mem.h"
#include "pure/validate.h"
#include "segments/segments.h"
#include "submit/submit.h"
#include "sync/sync.h"

/*
 * Driver bit in &tessera_patch_alloc.flags, ignored by pure/: the object is in
 * &tessera_request.uses.
 */
#define ALLOC_USED	BIT(31)

/*
 * Slot of the hash table where the object is, or where it would be added. There
 * is always a free slot.
 */
static u32 *request_slot(const struct tessera_request *req, u32 bo_id)
{
	u32 mask = BIT(req->slot_bits) - 1;
	u32 at = hash_32(bo_id, req->slot_bits);

	while (req->slots[at] != TESSERA_REQUEST_NONE && req->bos[req->slots[at]]->id != bo_id)
		at = (at + 1) & mask;

	return &req->slots[at];
}

/**
 * tessera_request_find() - find an object in the allocation list
 * @req: the request
 * @bo_id: id of the object
 *
 * Return: its element of the allocation list, or %TESSERA_REQUEST_NONE.
 */
u32 tessera_request_find(const struct tessera_request *req, u32 bo_id)
{
	return req->slots ? *request_slot(req, bo_id) : TESSERA_REQUEST_NONE;
}

/*
 * Enter an object into the hash table. An object may be listed once only, since
 * its element tells whether the submission writes it. Two objects may share one
 * reservation (two imports of one dma-buf), and both may be listed.
 */
static int request_note_object(struct tessera_request *req, u32 index)
{
	u32 *slot = request_slot(req, req->bos[index]->id);

	if (tessera_ioctl_bad(req->tdev, *slot != TESSERA_REQUEST_NONE))
		return -EINVAL;
	*slot = index;

	return 0;
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
	if (tessera_ioctl_bad(req->tdev, bo->root) || request_note_object(req, index))
		return -EINVAL;
	alloc->size = tessera_bo_bytes(bo);
	req->num_users += !!bo->user;
	if (!(user->flags & DRM_TESSERA_ALLOC_WRITE))
		return 0;

	alloc->flags = TESSERA_PATCH_ALLOC_WRITE;

	return tessera_ioctl_bad(req->tdev, !bo->writable) ? -EINVAL : 0;
}

static int request_get_allocs(struct tessera_request *req, struct drm_file *file,
			      const struct tessera_submit_data *data)
{
	u32 i;
	int ret;

	if (!data->num_allocs)
		return 0;
	req->bos = kvcalloc(data->num_allocs, sizeof(*req->bos), GFP_KERNEL_ACCOUNT);
	req->allocs = kvcalloc(data->num_allocs, sizeof(*req->allocs), GFP_KERNEL_ACCOUNT);
	req->uses = kvmalloc_array(data->num_allocs, sizeof(*req->uses), GFP_KERNEL_ACCOUNT);
	/* The load factor is at most one half. */
	req->slot_bits = order_base_2(data->num_allocs) + 1;
	req->slots = kvmalloc_array(BIT(req->slot_bits), sizeof(*req->slots), GFP_KERNEL_ACCOUNT);
	if (!req->bos || !req->allocs || !req->uses || !req->slots)
		return -ENOMEM;
	memset32(req->slots, TESSERA_REQUEST_NONE, BIT(req->slot_bits));
	req->list.num_allocs = data->num_allocs;
	req->list.allocs = req->allocs;

	for (i = 0; i < data->num_allocs; i++) {
		ret = request_get_alloc(req, file, i, &data->allocs[i]) ?:
		      tessera_request_pause(req, i);
		if (ret)
			return ret;
	}

	return 0;
}

static int request_get_patches(struct tessera_request *req,
			       const struct tessera_submit_data *data)
{
	if (!data->num_patches)
		return 0;
	req->order = kvmalloc_array(data->num_patches, sizeof(*req->order),
				    GFP_KERNEL_ACCOUNT);
	if (!req->order)
		return -ENOMEM;
	req->patches = data->patches;
	req->list.patches = data->patches;
	req->list.num_patches = data->num_patches;

	return 0;
}

/**
 * tessera_request_init() - look up the objects and fences of a submission
 * @req: the request; call tessera_request_fini() even after a failure
 * @tdev: the device
 * @file: the open file
 * @contexts: the client's contexts
 * @data: the copied arguments; they outlive the request
 *
 * Return: 0, -EINTR for a fatal signal, or one of the errors of &struct
 * drm_tessera_submit.
 */
int tessera_request_init(struct tessera_request *req, struct tessera_device *tdev,
			 struct drm_file *file, struct xarray *contexts,
			 const struct tessera_submit_data *data)
{
	int ret;

	*req = (struct tessera_request) {
		.tdev = tdev,
		.file = file,
		.ib = data->ib,
		.cmds = tessera_ib_cpu(data->ib),
		.list = {
			.cmd_bytes = data->cmd_bytes,
			.num_slots = tdev->info.num_slots,
			.check = tessera_uobj_check_abort,
		},
		.err = {
			.offset = TESSERA_PATCH_NOWHERE,
			.index = TESSERA_PATCH_NOWHERE,
		},
	};

	req->ctx = tessera_context_lookup(contexts, data->context);
	if (!req->ctx)
		return -ENOENT;

	ret = request_get_allocs(req, file, data);
	if (!ret)
		ret = request_get_patches(req, data);
	if (!ret)
		ret = tessera_syncs_init(&req->syncs, req->tdev, file, data->fences,
					 &req->ctx->account->process->work, data->syncs,
					 data->num_syncs);

	return ret;
}

/**
 * tessera_request_fini() - release everything that a request refers to
 * @req: the request
 */
void tessera_request_fini(struct tessera_request *req)
{
	u32 i;

	tessera_blocker_clear(&req->blocker);
	tessera_syncs_fini(&req->syncs);
	if (req->bos)
		for (i = 0; i < req->list.num_allocs; i++)
			tessera_bo_put(req->bos[i]);
	kvfree(req->bos);
	kvfree(req->allocs);
	kvfree(req->uses);
	kvfree(req->slots);
	kvfree(req->order);
	tessera_context_put(req->ctx);
}

static void request_add_use(struct tessera_request *req, u32 alloc)
{
	if (!req->bos[alloc] || (req->allocs[alloc].flags & ALLOC_USED))
		return;
	req->allocs[alloc].flags |= ALLOC_USED;
	req->uses[req->num_uses++] = alloc;
}

/*
 * Order the objects: first those of the patch list in its order, then those
 * that are only listed.
 */
static int request_order_uses(struct tessera_request *req)
{
	u32 i;
	int ret = 0;

	for (i = 0; !ret && i < req->list.num_patches; i++) {
		request_add_use(req, req->patches[i].alloc_index);
		ret = tessera_request_pause(req, i);
	}
	for (i = 0; i < req->list.num_allocs; i++)
		request_add_use(req, i);

	return ret;
}

static int check_instances_locked(struct tessera_request *req)
{
	u32 i;

	for (i = 0; i < req->list.num_allocs; i++)
		if (req->bos[i])
			tessera_renamed_look_locked(&req->bos[i]->instance);
	for (i = 0; i < req->list.num_allocs; i++)
		if (req->bos[i] &&
		    tessera_ioctl_bad(req->tdev,
				      !tessera_renamed_list_locked(&req->bos[i]->instance)))
			return -EINVAL;

	return 0;
}

/* Check the CPU's use of the objects: instances, offers and locks. */
static int request_check_cpu(struct tessera_request *req)
{
	bool renamed = false;
	u32 i;
	int ret;

	for (i = 0; i < req->list.num_allocs; i++) {
		struct tessera_bo *bo = req->bos[i];

		if (!bo)
			continue;
		renamed |= !!READ_ONCE(bo->instance.set);
		if (tessera_ioctl_bad(req->tdev, tessera_bo_is_offered(bo)))
			return -EINVAL;
		if (tessera_locks_exclude_jobs(bo, req->file, tessera_request_writes(req, i)))
			return -EBUSY;
	}
	if (!renamed)
		return 0;
	tessera_renamed_lock(req->tdev);
	ret = check_instances_locked(req);
	tessera_renamed_unlock(req->tdev);
	req->renamed = !ret;

	return ret;
}

/**
 * tessera_request_accepted() - note that the submission will run
 * @req: the request, checked
 *
 * Later submissions that list older instances of its objects are refused.
 */
void tessera_request_accepted(struct tessera_request *req)
{
	u32 i;

	if (!req->renamed)
		return;
	tessera_renamed_lock(req->tdev);
	for (i = 0; i < req->list.num_allocs; i++)
		if (req->bos[i])
			tessera_renamed_use_locked(&req->bos[i]->instance);
	tessera_renamed_unlock(req->tdev);
}

static int request_check_lists(struct tessera_request *req)
{
	struct tessera_context *ctx = req->ctx;
	int ret;

	ret = tessera_patch_check(&req->list, &ctx->slots, &req->err);
	if (!ret && (ctx->flags & DRM_TESSERA_CONTEXT_LEAK_CHECK))
		ret = tessera_patch_check_leaks(&req->list, &ctx->slots, &req->err);
	if (!ret)
		ret = tessera_validate(req->cmds, &req->list, req->order, &req->num_order,
				       &req->err);
	if (!ret)
		ret = request_order_uses(req);
	else if (ret != -EINTR)
		drm_dbg_driver(&req->tdev->drm, "refused at offset 0x%x, patch %u\n",
			       req->err.offset, req->err.index);
	req->checked = !ret;

	return ret;
}

/**
 * tessera_request_check() - check commands, lists and objects
 * @req: the request; the context's lock is held
 *
 * The commands and lists are checked once. The context's lock may be dropped
 * for a wait between two attempts, so the CPU's use of the objects is checked
 * each time.
 *
 * Return: 0; -EINVAL, with the position in &tessera_request.err if the lists
 * are wrong; -EBUSY if an object is locked by the CPU and may not move; or
 * -EINTR for a fatal signal.
 */
int tessera_request_check(struct tessera_request *req)
{
	int ret = 0;

	lockdep_assert_held(&req->ctx->lock);

	if (!req->checked)
		ret = request_check_lists(req);

	return ret ?: request_check_cpu(req);
}

/**
 * tessera_request_lock() - lock the objects of the allocation list
 * @req: the request
 * @exec: inside drm_exec_until_all_locked(), ignores duplicates
 *
 * On contention the caller starts over.
 *
 * Return: 0, -ENOMEM, -EINTR, or -EDEADLK on contention.
 */
int tessera_request_lock(struct tessera_request *req, struct drm_exec *exec)
{
	u32 i;
	int ret;

	for (i = 0; i < req->list.num_allocs; i++) {
		if (!req->bos[i])
			continue;
		ret = drm_exec_prepare_obj(exec, &req->bos[i]->tbo.base, 1) ?:
		      tessera_request_pause(req, i);
		if (ret)
			return ret;
	}

	return 0;
}

/**
 * tessera_request_find_foreign() - look for foreign fences at an object
 * @req: the request
 * @alloc: index of the object; its reservation must be held if the result is to
 * stay valid
 *
 * Only fences that guard what the request's job does with the object count.
 *
 * Return: 0; -EINPROGRESS: call it again after tessera_request_unblock(); or
 * -ENOMEM.
 */
int tessera_request_find_foreign(struct tessera_request *req, u32 alloc)
{
	enum dma_resv_usage usage = dma_resv_usage_rw(tessera_request_writes(req, alloc));
	struct tessera_fences *found = &req->blocker.foreign;
	int ret = 0;

	if (req->bos[alloc])
		ret = tessera_residency_foreign(req->bos[alloc], usage, found);

	return ret ?: (found->num ? -EINPROGRESS : 0);
}

/**
 * tessera_request_unblock() - wait for what blocks the request
 * @req: the request
 * @row: TESSERA_WAIT_FOREIGN: nothing is armed, and no lock held; or
 * TESSERA_WAIT_FOREIGN_PARTS
 * @timeout: jiffies
 *
 * Return: 0, and the request may be blocked again; -ETIME; -ENODEV; -ENOMEM;
 * -ERESTARTSYS; or an error of tessera_borrow_map().
 */
int tessera_request_unblock(struct tessera_request *req, enum tessera_wait_row row, long timeout)
{
	bool ask = req->blocker.bo, parts = row == TESSERA_WAIT_FOREIGN_PARTS;
	struct tessera_bo *bo;
	int ret = 0;
	u32 i;

	/*
	 * Collect the blockers of all objects at once, as each further attempt
	 * has a price. The gate may be closed behind armed parts, so only the
	 * blocker of this attempt counts there.
	 */
	for (i = 0; !parts && !ret && i < req->list.num_allocs; i++) {
		bo = req->bos[i];
		if (ask && bo && bo->sharing.dmabuf && !READ_ONCE(bo->tbo.sg))
			ret = tessera_residency_request_pages(bo, true);
		if (!ret)
			ret = tessera_request_find_foreign(req, i);
		if (!ret || ret == -EINPROGRESS)
			ret = tessera_request_pause(req, i);
	}
	ret = ret ?: tessera_residency_unblock(req->tdev, &req->blocker, row, timeout);
	tessera_blocker_clear(&req->blocker);

	return ret == -EINTR ? -ERESTARTSYS : ret;
}

/**
 * tessera_request_is_ready() - ask whether all user memory is ready
 * @req: the request
 *
 * Return: false if tessera_request_ready() has to be called.
 */
bool tessera_request_is_ready(struct tessera_request *req)
{
	u32 i;

	for (i = 0; req->num_users && i < req->list.num_allocs; i++)
		if (req->bos[i] && req->bos[i]->user && tessera_user_is_invalid(req->bos[i]->user))
			return false;

	return true;
}

/**
 * tessera_request_ready() - get the pages of all user memory of a submission
 * @req: the request
 * @end: see tessera_userptr_ready()
 *
 * Return: 0, or an error of tessera_userptr_ready().
 */
int tessera_request_ready(struct tessera_request *req, u64 end)
{
	u32 i;
	int ret = 0;

	for (i = 0; !ret && req->num_users && i < req->list.num_allocs; i++)
		if (req->bos[i])
			ret = tessera_userptr_ready(req->bos[i], end);

	return ret;
}

/**
 * tessera_request_begin_users() - keep a job's user memory from changing
 * @req: the request, objects locked
 * @allocs: indexes of the allocation list, no NULL elements
 * @num: length of @allocs
 *
 * MMU notifiers wait until tessera_request_end_users(). They find the fence of
 * the job in the objects' reservations then.
 *
 * Return: 0, to be followed by tessera_request_end_users(); or
 * %TESSERA_AGAIN_PAGES: call it again after tessera_request_ready().
 */
int tessera_request_begin_users(struct tessera_request *req, const u32 *allocs, u32 num)
{
	u32 i;

	if (!req->num_users)
		return 0;
	tessera_users_begin(req->tdev);
	for (i = 0; i < num; i++) {
		const struct tessera_user *user = req->bos[allocs[i]]->user;

		if (user && tessera_user_is_invalid(user)) {
			tessera_users_end(req->tdev);
			return TESSERA_AGAIN_PAGES;
		}
	}

	return 0;
}

/**
 * tessera_request_end_users() - end tessera_request_begin_users()
 * @req: the request, the job's fence published
 */
void tessera_request_end_users(struct tessera_request *req)
{
	if (req->num_users)
		tessera_users_end(req->tdev);
}

/**
 * tessera_request_patch() - write the address for an element of the patch list
 * @req: the request
 * @index: index of the element; its object is locked and resident, or it is a
 * NULL element
 */
void tessera_request_patch(struct tessera_request *req, u32 index)
{
	const struct tessera_patch *patch = &req->patches[index];
	struct tessera_bo *bo = req->bos[patch->alloc_index];

	if (bo)
		tessera_patch_write(req->cmds, patch->patch_offset,
				    tessera_bo_gpu_addr(bo) + patch->alloc_offset,
				    tessera_bo_bytes(bo) - patch->alloc_offset);
}
