// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: submission
 *
 * A submission: look up, validate, lock, make resident, patch, arm, push. A
 * submission all of whose objects fit at once is one job and costs nothing for the
 * splitting of others: the planner is not asked. Only if memory does not suffice, or
 * the context is to be split for a test, does the split path take over.
 *
 * Locks: the context's, then reservations. Between the two the engine's gate is passed.
 */
#include <linux/sched/signal.h>

#include <drm/drm_drv.h>
#include <drm/drm_exec.h>

#include "exec/engine.h"
#include "exec/ib.h"
#include "mem/bo.h"
#include "mem/residency.h"
#include "mem/user.h"
#include "mem/victims.h"
#include "segments/account.h"
#include "segments/manager.h"
#include "segments/room.h"
#include "segments/segment.h"
#include "submit/context.h"
#include "submit/gate.h"
#include "submit/part.h"
#include "submit/request.h"
#include "submit/split_exec.h"
#include "submit/split_input.h"
#include "submit/submit.h"
#include "tessera_device.h"
#include "tessera_trace.h"

/*
 * Each time room is made for one object, all others of the segment are ranked. Whoever needs
 * that often is better off with a plan, for which it is done once.
 */
#define MAX_EVICTIONS	256

static int validate_objects(struct tessera_request *req)
{
	struct tessera_room_rules rules = {
		.evictions = MAX_EVICTIONS,
		.blocker = &req->blocker,
	};
	u32 i;
	int ret;

	/* In the order of first use (SPLIT-13). */
	for (i = 0; i < req->num_uses; i++) {
		u32 alloc = req->uses[i];

		ret = tessera_residency_validate(req->bos[alloc],
						 tessera_request_writes(req, alloc), &rules);
		if (ret)
			return ret;
		/* Nothing is armed but paging, which stands. */
		if (signal_pending(current))
			return -ERESTARTSYS;
	}

	return 0;
}

/* Whether foreign fences have come in since the wait before the gate. */
static int look_for_foreign(struct tessera_request *req)
{
	u32 i;
	int ret = 0;

	for (i = 0; !ret && i < req->num_uses; i++)
		ret = tessera_request_find_foreign(req, req->uses[i]);

	return ret;
}

static int lock_objects(struct tessera_request *req, struct drm_exec *exec)
{
	int ret = 0;

	drm_exec_until_all_locked(exec) {
		ret = tessera_request_lock(req, exec);
		drm_exec_retry_on_contention(exec);
		if (!ret)
			ret = look_for_foreign(req);
		if (ret)
			break;
		ret = validate_objects(req);
		drm_exec_retry_on_contention(exec);
		if (ret)
			break;
	}

	return ret;
}

static int add_dependencies(struct tessera_request *req, struct tessera_part *part)
{
	u32 i;
	int ret;

	ret = tessera_syncs_add_waits(&req->syncs, &part->job);
	if (!ret)
		ret = tessera_gate_order(&req->pass, &part->job);
	for (i = 0; !ret && i < req->list.num_allocs; i++)
		if (req->bos[i])
			ret = tessera_part_use(part, req->bos[i],
					       tessera_request_writes(req, i)) ?:
			      tessera_request_pause(req, i);

	return ret;
}

static void trace_entries(struct tessera_request *req)
{
	struct tessera_slot_table *table = &req->ctx->slots;
	u32 i;

	if (!trace_tessera_split_entry_enabled())
		return;

	tessera_slot_reset(table);
	for (i = 0; i < req->list.num_patches; i++) {
		const struct tessera_patch *patch = &req->patches[i];
		struct tessera_bo *bo = req->bos[patch->alloc_index];

		tessera_slot_set(table, patch->slot_id,
				 bo ? patch->alloc_index : TESSERA_SLOT_NULL,
				 patch->split_offset);
		trace_tessera_split_entry(req->ctx->hw_id, req->job, i, patch->slot_id,
					  bo ? bo->id : 0, patch->split_offset,
					  table->num_live);
	}
}

/* All objects are locked and resident. */
static int run_whole(struct tessera_request *req, struct tessera_part *part)
{
	struct dma_fence *fence;
	u32 i;
	int ret;

	ret = add_dependencies(req, part);
	for (i = 0; !ret && i < req->list.num_patches; i++) {
		tessera_request_patch(req, i);
		ret = tessera_request_pause(req, i);
	}
	if (ret)
		return ret;
	tessera_job_add_range(&part->job, req->ib, 0, req->list.cmd_bytes, true);
	trace_entries(req);
	ret = tessera_part_signal(part, &req->syncs, false);
	if (ret)
		return ret;
	ret = tessera_request_begin_users(req, req->uses, req->num_uses);
	if (ret) {
		tessera_part_unsignal(&req->syncs);
		return ret;
	}
	fence = tessera_part_arm(part, &req->pass);
	if (!fence) {
		tessera_request_end_users(req);
		tessera_part_unsignal(&req->syncs);
		return -EINPROGRESS;
	}
	trace_tessera_split_part(req->ctx->hw_id, req->job, 0, 0, req->list.cmd_bytes, 0,
				 req->list.num_patches);
	for (i = 0; i < req->list.num_allocs; i++)
		if (req->bos[i])
			tessera_part_publish(part, req->bos[i],
					     tessera_request_writes(req, i), req->stamp);
	tessera_request_end_users(req);
	tessera_syncs_commit(&req->syncs, fence);
	tessera_part_push(part);

	return 0;
}

/*
 * Whether all objects could be resident at once if nothing else were. Paging in what
 * fits of a submission that does not would be for nothing.
 */
static bool may_fit(const struct tessera_request *req)
{
	const struct tessera_segment *seg;
	u64 wanted = 0, room = 0;
	u32 segments = 0;
	u32 i;

	for (i = 0; i < req->num_uses; i++) {
		const struct tessera_bo *bo = req->bos[req->uses[i]];

		wanted += tessera_bo_bytes(bo);
		segments |= bo->supported;
	}
	for (i = 0; i < tessera_segment_count(req->tdev); i++) {
		seg = tessera_segment_by_index(req->tdev, i);
		if (segments & BIT(seg->id))
			room += seg->commit;
	}

	return wanted <= room;
}

static int submit_inside(struct tessera_request *req, struct tessera_part *part)
{
	struct drm_exec exec;
	int ret, idx;

	if (!drm_dev_enter(&req->tdev->drm, &idx))
		return -ENODEV;
	drm_exec_init(&exec, DRM_EXEC_INTERRUPTIBLE_WAIT | DRM_EXEC_IGNORE_DUPLICATES,
		      req->list.num_allocs);
	ret = lock_objects(req, &exec);
	if (!ret)
		ret = run_whole(req, part);
	drm_exec_fini(&exec);
	drm_dev_exit(idx);

	return ret;
}

/*
 * -ENOSPC: it does not fit as a whole. -EAGAIN: for the moment. -EINPROGRESS: tessera_request_wait_foreign() has
 * something to do, or the pass has become void. -ESTALE: user memory has changed.
 */
static int try_whole(struct tessera_request *req)
{
	struct tessera_payer *payer = req->ctx->account->payer;
	u32 engine = req->ctx->engine->id;
	struct tessera_part *part;
	int ret;

	part = tessera_part_create(req->ctx, req->num_uses);
	if (IS_ERR(part))
		return PTR_ERR(part);
	ret = tessera_gate_enter(&req->pass, req->tdev, engine, payer, NULL);
	if (!ret) {
		ret = submit_inside(req, part);
		tessera_gate_leave(&req->pass);
	}
	if (!ret)
		tessera_syncs_signal(&req->syncs, tessera_job_finished(&part->job));
	tessera_part_put(part);

	return ret;
}

/*
 * What has passed the gate everybody may have to wait for. So it waits for what others than this
 * device signal before that; jobs of the device have done so.
 */
static int wait_for_others(struct tessera_request *req)
{
	struct tessera_context *ctx = req->ctx;
	int ret;

	if (!tessera_gate_there(req->tdev, ctx->engine->id))
		return 0;
	ret = tessera_syncs_wait(&req->syncs, req->tdev, &ctx->leashes, NULL);

	return ret ?: tessera_request_wait_foreign(req);
}

static int submit_whole(struct tessera_request *req)
{
	u32 seen;
	int ret;

	if (!may_fit(req))
		return -ENOSPC;
	ret = wait_for_others(req);
	if (ret)
		return ret;
	for (;;) {
		seen = tessera_room_seen(req->tdev, TESSERA_ROOM_UNCLAIMED);
		ret = try_whole(req);
		if (ret == -EINPROGRESS)
			ret = tessera_request_wait_foreign(req);
		else if (ret == -EAGAIN)
			ret = tessera_manager_wait_closed(req->tdev, seen, TASK_INTERRUPTIBLE);
		else
			return ret;
		if (ret)
			return ret;
	}
}

static int submit_locked(struct tessera_request *req, u32 *num_parts)
{
	struct tessera_context *ctx = req->ctx;
	int ret = 0;

	if (atomic_read(&ctx->guilty) || tessera_account_banned(ctx->account))
		return -EIO;
	/* It cannot be done twice. */
	if (!req->checked)
		ret = tessera_request_check(req);
	if (ret)
		return ret;
	req->checked = true;
	if (!tessera_request_is_ready(req))
		return -ESTALE;

	req->stamp = tessera_residency_next_stamp(req->tdev);
	req->job = ctx->next_job;
	*num_parts = 1;
	ret = tessera_split_is_forced(req) ? -ENOSPC : submit_whole(req);
	if (ret == -ENOSPC)
		ret = tessera_split_exec(req, num_parts);
	if (!ret) {
		tessera_request_accepted(req);
		ctx->next_job++;
	}

	return ret;
}

/**
 * tessera_submit_begin() - look up what a submission names
 * @req: the request; tessera_submit_end() even after a failure
 * @tdev: the device
 * @file: the client
 * @contexts: the client's contexts
 * @data: what it brought; outlives the request
 *
 * Return: 0, or one of the errors of &struct drm_tessera_submit.
 */
int tessera_submit_begin(struct tessera_request *req, struct tessera_device *tdev,
			 struct drm_file *file, struct xarray *contexts,
			 struct tessera_submit_data *data)
{
	int ret = tessera_request_init(req, tdev, file, contexts, data);

	return !ret && req->ctx->space ? -EOPNOTSUPP : ret;
}

/**
 * tessera_submit() - run it
 * @req: the request
 * @data: receives the number of parts
 *
 * Between tessera_work_begin() and tessera_work_end().
 *
 * Return: 0; -ESTALE: to be called again behind tessera_submit_ready(); or one of the errors of
 * &struct drm_tessera_submit; then nothing was run.
 */
int tessera_submit(struct tessera_request *req, struct tessera_submit_data *data)
{
	u32 num_parts = 0;
	int ret;

	ret = mutex_lock_interruptible(&req->ctx->lock);
	if (ret)
		return ret;
	ret = submit_locked(req, &num_parts);
	mutex_unlock(&req->ctx->lock);
	data->num_parts = ret ? 0 : num_parts;

	return ret;
}

/**
 * tessera_submit_ready() - have user memory ready that a submission uses
 * @req: the request, nothing of it armed; no lock is held
 *
 * Return: 0, or an error of tessera_userptr_ready().
 */
int tessera_submit_ready(struct tessera_request *req)
{
	return ++req->changes < TESSERA_USER_TRIES ? tessera_request_ready(req, 0) : -EBUSY;
}

/**
 * tessera_submit_end() - forget it
 * @req: the request; nothing is done if it has not begun, or has ended
 * @data: receives where the fault is
 */
void tessera_submit_end(struct tessera_request *req, struct tessera_submit_data *data)
{
	if (!req->tdev)
		return;
	data->err = req->err;
	tessera_request_fini(req);
	req->tdev = NULL;
}
