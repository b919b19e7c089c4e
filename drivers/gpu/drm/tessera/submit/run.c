// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: arming
 *
 * This file makes and arms all jobs of SUBMIT. A job is a part of a submission,
 * or all of it. The objects that it uses are locked, and resident where the job
 * can use them.
 *
 * The steps are the same for each part:
 *
 * 1. depend on the jobs that use its objects,
 * 2. bind again the slots that the stream has bound before the cut,
 * 3. depend on the part before it, or on the in-fences and the gate,
 * 4. patch addresses,
 * 5. arm,
 * 6. add its fence to its objects,
 * 7. push.
 *
 * The part that ends the submission also signals the out-fences.
 */
#include <linux/dma-fence.h>
#include <linux/string.h>

#include <drm/drm_drv.h>

#include "base/device.h"
#include "base/trace.h"
#include "exec/exec.h"
#include "mem/mem.h"
#include "submit/submit.h"

static void trace_entry(const struct tessera_patch_replay *replay, u32 index)
{
	struct tessera_submit_run *run = container_of(replay, struct tessera_submit_run, replay);
	struct tessera_request *req = run->req;
	const struct tessera_patch *patch = &req->patches[index];
	struct tessera_bo *bo = req->bos[patch->alloc_index];

	trace_tessera_split_entry(req->ctx->hw_id, req->job, index, patch->slot_id,
				  bo ? bo->id : 0, patch->split_offset,
				  replay->table->num_live);
}

/**
 * tessera_run_rewind() - reset the slot table to the beginning of the commands
 * @run: the submission, nothing of it armed
 */
void tessera_run_rewind(struct tessera_submit_run *run)
{
	struct tessera_request *req = run->req;

	tessera_patch_replay_init(&run->replay, &req->list, req->order, req->num_order,
				  &req->ctx->slots);
	if (trace_tessera_split_entry_enabled())
		run->replay.applied = trace_entry;
}

static int use_objects(struct tessera_submit_run *run, struct tessera_part *part)
{
	struct tessera_request *req = run->req;
	u32 i;
	int ret;

	for (i = 0; i < run->num_used; i++) {
		u32 alloc = run->used[i];

		ret = tessera_part_use(part, req->bos[alloc], tessera_request_writes(req, alloc)) ?:
		      tessera_request_pause(req, i);
		if (ret)
			return ret;
	}

	return 0;
}

/*
 * Bind again the slots that stay bound over the cut before this part. The
 * packets are copies of the stream's own packets, with the current addresses.
 */
static int add_preamble(struct tessera_submit_run *run, struct tessera_part *part)
{
	const u32 bytes = TSR_BIND_SLOT_DWORDS * sizeof(u32);
	struct tessera_request *req = run->req;
	u32 max_binds = tessera_patch_replay_count(&run->replay);
	struct tessera_ib *ib;
	u32 pos = 0, at = 0;
	u32 index;

	if (!max_binds)
		return 0;
	ib = tessera_ib_create(req->tdev, &req->ctx->account->process->work, max_binds * bytes);
	if (IS_ERR(ib))
		return PTR_ERR(ib);

	while ((index = tessera_patch_replay_bind(&run->replay, &pos)) != TESSERA_SLOT_NONE) {
		const struct tessera_patch *patch = &req->patches[index];
		struct tessera_bo *bo = req->bos[patch->alloc_index];
		void *packet = tessera_ib_cpu(ib) + at;

		memcpy(packet, req->cmds + patch->patch_offset - TSR_BIND_PATCH_OFFSET, bytes);
		tessera_patch_write(packet, TSR_BIND_PATCH_OFFSET,
				    tessera_bo_gpu_addr(bo) + patch->alloc_offset,
				    tessera_bo_bytes(bo) - patch->alloc_offset);
		at += bytes;
	}
	tessera_job_add_range(&part->job, ib, 0, at, false);
	tessera_ib_put(ib);

	return 0;
}

static int order_part(struct tessera_submit_run *run, struct tessera_part *part)
{
	struct tessera_request *req = run->req;

	if (run->last) {
		tessera_job_run_after(&part->job, &run->last->job);
		return 0;
	}

	return tessera_syncs_add_waits(&req->syncs, &part->job) ?:
	       tessera_gate_order(&req->pass, &part->job);
}

/*
 * Write current addresses into the packets of the part. The element of a packet
 * may belong to an earlier part, since it may come long before its packet. Its
 * object is in a slot when the part begins, or belongs to an element of the
 * part itself, so it is locked and resident.
 */
static int patch_part(struct tessera_submit_run *run, const struct tessera_split_op *op)
{
	struct tessera_request *req = run->req;
	u32 i;
	int ret = 0;

	for (i = run->replay.order_pos; !ret && i < req->num_order; i++) {
		if (req->patches[req->order[i]].patch_offset >= op->end)
			break;
		tessera_request_patch(req, req->order[i]);
		ret = tessera_request_pause(req, i);
	}

	return ret;
}

/* The steps from arming on. @op is NULL for a part without commands. */
static int arm_part(struct tessera_submit_run *run, struct tessera_part *part,
		    const struct tessera_split_op *op)
{
	struct tessera_request *req = run->req;
	bool last = !op || op->end == req->list.cmd_bytes;
	struct dma_fence *fence;
	u32 i;
	int ret = 0;

	if (last)
		ret = tessera_part_signal(part, &req->syncs, run->last);
	if (ret)
		return ret;
	ret = tessera_request_begin_users(req, run->used, run->num_used);
	if (ret)
		goto err_unsignal;
	fence = tessera_part_arm(part, op ? &req->pass : NULL);
	if (!fence) {
		ret = TESSERA_AGAIN_VOID;
		goto err_end_users;
	}
	if (op)
		trace_tessera_split_part(req->ctx->hw_id, req->job, op->id, op->start, op->end,
					 op->first, op->count);
	if (run->group) {
		kref_get(&run->group->ref);
		part->group = run->group;
		atomic_inc(&run->group->unfinished);
	}
	for (i = 0; i < run->num_used; i++)
		tessera_part_publish(part, req->bos[run->used[i]],
				     tessera_request_writes(req, run->used[i]), req->stamp);
	tessera_request_end_users(req);
	if (last)
		tessera_syncs_commit(&req->syncs, fence);
	tessera_job_push(&part->job);

	run->ended = last;
	tessera_part_put(run->last);
	run->last = part;
	run->num_parts++;

	return 0;

err_end_users:
	tessera_request_end_users(req);
err_unsignal:
	if (last)
		tessera_part_unsignal(&req->syncs);
	return ret;
}

/**
 * tessera_run_part() - make, arm and push a job
 * @run: the submission; the objects in &tessera_submit_run.used are locked, and
 * where the job can use them
 * @op: the part, of type TESSERA_SPLIT_PART
 *
 * The job runs the commands of @op, which may be all. An object is lost if its
 * move has failed meanwhile. The job finds that when it is about to run, and
 * its fence carries the error.
 *
 * Return: 0; a reason of &enum tessera_again; or the error that the submission
 * ends with. Nothing is armed unless it is 0.
 */
int tessera_run_part(struct tessera_submit_run *run, const struct tessera_split_op *op)
{
	struct tessera_request *req = run->req;
	struct tessera_part *part;
	int ret;

	part = tessera_part_create(req->ctx, run->num_used);
	if (IS_ERR(part))
		return PTR_ERR(part);

	ret = use_objects(run, part);
	if (!ret && op->start)
		ret = add_preamble(run, part);
	if (!ret)
		ret = order_part(run, part) ?: patch_part(run, op);
	if (!ret) {
		tessera_job_add_range(&part->job, req->ib, op->start, op->end, true);
		ret = arm_part(run, part, op);
	}
	if (ret)
		tessera_part_put(part);

	return ret;
}

/**
 * tessera_run_close() - end a submission with an error after some parts
 * @run: the submission
 * @error: the error
 *
 * A job without commands carries the error, so that user space sees it on the
 * out-fence.
 *
 * Return: 0, or -ENODEV.
 */
int tessera_run_close(struct tessera_submit_run *run, int error)
{
	struct tessera_part *part = run->closing;
	int idx;

	if (!drm_dev_enter(&run->req->tdev->drm, &idx))
		return -ENODEV;
	run->closing = NULL;
	part->error = error;
	tessera_job_run_after(&part->job, &run->last->job);
	run->num_used = 0;
	/*
	 * Cannot fail: it has no objects and no pass, and other parts are
	 * armed.
	 */
	arm_part(run, part, NULL);
	/* Do not count it, as it runs none of the user's commands. */
	run->num_parts--;
	drm_dev_exit(idx);

	return 0;
}
