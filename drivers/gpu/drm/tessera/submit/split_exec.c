// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: split submissions
 *
 * Runs a submission that does not fit as it is, or that is to be cut for a test. With the
 * submission lock held for writing and everything in the segments concerned locked, the
 * planner's operations are carried out one by one: evictions, moves and page-ins become
 * paging jobs, a part becomes a job of the context. The CPU waits for none of
 * them: an eviction depends on the fence of the part that used the object last, and the
 * next part on the paging it needs, all through reservations.
 *
 * A failure before the first part fails the ioctl. After that, what has been pushed
 * stands, and a job without commands ends the submission with the error, so that user
 * space sees one fence, whatever happens (SPLIT-34, SPLIT-35).
 */
#include <linux/rwsem.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/drm_exec.h>

#include "exec/engine.h"
#include "exec/ib.h"
#include "mem/bo.h"
#include "mem/residency.h"
#include "segments/segment.h"
#include "submit/barrier.h"
#include "submit/context.h"
#include "submit/part.h"
#include "submit/request.h"
#include "submit/split_exec.h"
#include "submit/split_input.h"
#include "tessera_device.h"
#include "tessera_trace.h"

/* How often planning is tried again after waiting for objects being destroyed. */
#define SPLIT_MAX_TRIES	3

struct tessera_split_run {
	struct tessera_request *req;
	struct drm_exec *exec;
	struct tessera_split_model model;
	struct tessera_split_plan plan;
	struct tessera_patch_replay replay;
	/* Objects of the part at hand: allocation indexes, and a mark for each. */
	u32 *used;
	u32 num_used;
	u32 *mark;
	/* Carries a late error; exists before the first part is pushed. */
	struct tessera_part *closing;
	/* References of what is locked, until it is unlocked. */
	struct tessera_held *held;
	/* The part pushed last. */
	struct tessera_part *last;
	u32 num_parts;
};

static int plan_grow(struct tessera_split_plan *plan, u32 want)
{
	struct tessera_split_op *op;

	want = max(want, 2 * plan->cap);
	op = kvrealloc(plan->op, array_size(want, sizeof(*op)), GFP_KERNEL);
	if (!op)
		return -ENOMEM;
	plan->op = op;
	plan->cap = want;

	return 0;
}

static int run_plan(struct tessera_split_run *run)
{
	struct tessera_split_input *in = &run->model.in;
	void *scratch;
	size_t size;
	int ret;

	if (!trace_tessera_split_pin_enabled())
		in->flags |= TESSERA_SPLIT_NO_PINS;
	size = tessera_split_plan_size(in);
	scratch = kvmalloc(size, GFP_KERNEL);
	if (!scratch)
		return -ENOMEM;

	run->plan.grow = plan_grow;
	ret = tessera_split_plan(in, scratch, size, &run->plan);
	kvfree(scratch);
	if (ret == -ENOSPC || run->plan.late_error) {
		run->req->err.offset = run->plan.error_offset;
		run->req->err.index = run->plan.error_entry;
	}

	return ret;
}

/* ---- One part ------------------------------------------------------------ */

static int use_alloc(struct tessera_split_run *run, struct tessera_part *part, u32 alloc)
{
	struct tessera_bo *bo = run->req->bos[alloc];

	if (!bo || run->mark[alloc] == run->num_parts + 1)
		return 0;
	run->mark[alloc] = run->num_parts + 1;
	run->used[run->num_used++] = alloc;

	return tessera_part_use(part, bo, tessera_request_writes(run->req, alloc));
}

/* What the part's own entries and the slots left bound at its start name (SPLIT-32). */
static int use_objects(struct tessera_split_run *run, struct tessera_part *part,
		       const struct tessera_split_op *op)
{
	const struct tessera_slot_table *table = run->replay.table;
	const struct tessera_patch *patches = run->req->patches;
	u32 i;
	int ret;

	run->num_used = 0;
	for (i = 0; i < table->num_live; i++) {
		ret = use_alloc(run, part, table->rows[table->live[i]].alloc);
		if (ret)
			return ret;
	}
	for (i = op->first; i < op->first + op->count; i++) {
		ret = use_alloc(run, part, patches[i].alloc_index);
		if (ret)
			return ret;
	}

	return 0;
}

/*
 * Bind again what the stream before the cut has bound and the cut leaves in place. The
 * packets are copies of the stream's own, with the address of today.
 */
static int add_preamble(struct tessera_split_run *run, struct tessera_part *part)
{
	const u32 bytes = TSR_BIND_SLOT_DWORDS * sizeof(u32);
	struct tessera_request *req = run->req;
	u32 max_binds = tessera_patch_replay_count(&run->replay);
	struct tessera_ib *ib;
	u32 pos = 0, at = 0;
	u32 index;

	if (!max_binds)
		return 0;
	ib = tessera_ib_create(req->tdev, max_binds * bytes);
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

static void trace_entry(const struct tessera_patch_replay *replay, u32 index)
{
	struct tessera_split_run *run = container_of(replay, struct tessera_split_run, replay);
	struct tessera_request *req = run->req;
	const struct tessera_patch *patch = &req->patches[index];
	struct tessera_bo *bo = req->bos[patch->alloc_index];

	trace_tessera_split_entry(req->ctx->hw_id, req->job, index, patch->slot_id,
				  bo ? bo->id : 0, patch->split_offset,
				  replay->table->num_live);
}

static int order_part(struct tessera_split_run *run, struct tessera_part *part)
{
	struct tessera_request *req = run->req;
	struct tessera_device *tdev = req->tdev;
	u32 engine = req->ctx->engine->id;
	int ret;

	if (run->last) {
		tessera_job_run_after(&part->job, &run->last->job);
		return 0;
	}
	ret = tessera_syncs_add_waits(&req->syncs, &part->job);
	if (ret)
		return ret;
	if (run->plan.n_parts > 1 || run->plan.late_error)
		return tessera_barrier_wait_all(tdev, engine, &part->job);

	return tessera_barrier_wait_group(tdev, engine, &part->job);
}

static void push_part(struct tessera_split_run *run, struct tessera_part *part)
{
	struct tessera_request *req = run->req;
	u32 i;

	tessera_part_arm(part);
	for (i = 0; i < run->num_used; i++)
		tessera_part_publish(part, req->bos[run->used[i]],
				     tessera_request_writes(req, run->used[i]), req->stamp);
	tessera_part_push(part);

	tessera_part_put(run->last);
	run->last = part;
	run->num_parts++;
}

static int run_part(struct tessera_split_run *run, const struct tessera_split_op *op)
{
	struct tessera_request *req = run->req;
	struct tessera_part *part;
	int ret;

	part = tessera_part_create(req->ctx);
	if (IS_ERR(part))
		return PTR_ERR(part);

	tessera_patch_replay_cut(&run->replay, op->start);
	ret = use_objects(run, part, op);
	if (!ret && op->start)
		ret = add_preamble(run, part);
	if (!ret)
		ret = order_part(run, part);
	if (ret) {
		tessera_part_put(part);
		return ret;
	}

	tessera_patch_replay_advance(&run->replay, op->end);
	tessera_request_patch(req, op->first, op->count);
	tessera_job_add_range(&part->job, req->ib, op->start, op->end, true);
	trace_tessera_split_part(req->ctx->hw_id, req->job, op->id, op->start, op->end,
				 op->first, op->count);
	push_part(run, part);

	return 0;
}

/* ---- The plan -------------------------------------------------------------- */

/* The object may have been moved out of that place by the plan itself. */
static int evict_foreign(struct tessera_split_run *run, u32 index)
{
	const struct tessera_split_block *block = &run->model.blocks[index];
	struct tessera_bo *bo = run->model.block_bos[index];
	const struct tessera_segment *seg = tessera_bo_segment(bo);

	if (!seg || seg->id != block->seg || tessera_bo_segment_offset(bo) != block->start)
		return 0;

	return tessera_residency_evict(bo);
}

static int run_op(struct tessera_split_run *run, const struct tessera_split_op *op)
{
	struct tessera_request *req = run->req;

	switch (op->type) {
	case TESSERA_SPLIT_EVICT_FOREIGN:
		return evict_foreign(run, op->id);
	case TESSERA_SPLIT_EVICT:
		return tessera_residency_evict(req->bos[op->id]);
	case TESSERA_SPLIT_MOVE:
	case TESSERA_SPLIT_PAGE_IN:
		return tessera_residency_place(req->bos[op->id], op->seg, op->off, run->exec);
	case TESSERA_SPLIT_PART:
		return run_part(run, op);
	case TESSERA_SPLIT_PIN:
		trace_tessera_split_pin(req->ctx->hw_id, req->job, run->num_parts,
					req->bos[op->id]->id, op->seg, op->off);
		return 0;
	default:
		drm_WARN_ON(&req->tdev->drm, 1);
		return -EINVAL;
	}
}

/* The parts before stand; a job without commands carries the error. */
static void push_closing(struct tessera_split_run *run, int error)
{
	struct tessera_part *part = run->closing;

	run->closing = NULL;
	part->error = error;
	tessera_job_run_after(&part->job, &run->last->job);
	tessera_part_arm(part);
	tessera_part_push(part);
	tessera_part_put(run->last);
	run->last = part;
}

static int run_ops(struct tessera_split_run *run)
{
	struct tessera_request *req = run->req;
	struct dma_fence *fence;
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < run->plan.n_op; i++) {
		ret = run_op(run, &run->plan.op[i]);
		cond_resched();
		/* A plan may be long; whoever is killed has no use for the rest of it. */
		if (!ret && fatal_signal_pending(current))
			ret = -EINTR;
	}
	if (!run->last)
		return ret ?: run->plan.late_error;

	if (ret || run->plan.late_error)
		push_closing(run, ret ?: run->plan.late_error);
	fence = tessera_job_finished(&run->last->job);
	if (run->num_parts > 1)
		tessera_barrier_group_armed(req->tdev, req->ctx->engine->id, fence);
	tessera_syncs_signal(&req->syncs, fence);

	return 0;
}

static int lock_all(struct tessera_split_run *run, u32 segments)
{
	int ret = 0;

	drm_exec_until_all_locked(run->exec) {
		ret = tessera_request_lock(run->req, run->exec);
		drm_exec_retry_on_contention(run->exec);
		if (ret)
			break;
		ret = tessera_residency_lock_all(run->req->tdev, run->exec, segments,
						 &run->held);
		drm_exec_retry_on_contention(run->exec);
		if (ret)
			break;
	}

	return ret;
}

/* -EAGAIN: objects being destroyed are in the way. */
static int run_locked(struct tessera_split_run *run, bool last_try)
{
	u32 segments = tessera_split_segments(run->req);
	struct drm_exec exec;
	int ret;

	run->exec = &exec;
	drm_exec_init(&exec, DRM_EXEC_INTERRUPTIBLE_WAIT, 0);
	ret = lock_all(run, segments);
	if (!ret)
		ret = tessera_split_model_init(&run->model, run->req, segments);
	if (!ret) {
		ret = run_plan(run);
		if ((ret == -ENOSPC || run->plan.late_error) && run->model.dying && !last_try)
			ret = -EAGAIN;
	}
	if (!ret)
		ret = run_ops(run);
	tessera_split_model_fini(&run->model);
	drm_exec_fini(&exec);
	tessera_residency_put_held(run->held);
	run->held = NULL;

	return ret;
}

static int run_init(struct tessera_split_run *run, struct tessera_request *req)
{
	u32 num = max(req->list.num_allocs, 1u);

	run->req = req;
	run->used = kvmalloc_array(num, sizeof(*run->used), GFP_KERNEL);
	run->mark = kvcalloc(num, sizeof(*run->mark), GFP_KERNEL);
	if (!run->used || !run->mark)
		return -ENOMEM;
	run->closing = tessera_part_create(req->ctx);
	if (IS_ERR(run->closing)) {
		int ret = PTR_ERR(run->closing);

		run->closing = NULL;
		return ret;
	}
	tessera_patch_replay_init(&run->replay, &req->list, req->order, req->num_order,
				  &req->ctx->slots);
	if (trace_tessera_split_entry_enabled())
		run->replay.applied = trace_entry;

	return 0;
}

static void run_fini(struct tessera_split_run *run)
{
	tessera_part_put(run->closing);
	tessera_part_put(run->last);
	kvfree(run->plan.op);
	kvfree(run->used);
	kvfree(run->mark);
	kfree(run);
}

/**
 * tessera_split_exec() - run a submission in as many parts as memory makes necessary
 * @req: the submission, checked, its context's lock held
 * @num_parts: receives the number of parts
 *
 * Return: 0, also if the submission ends early: then its fence carries the error.
 * Otherwise nothing runs: -ENOSPC if one split point needs more than its segments
 * hold, -EINVAL if an object is listed twice, -ENOMEM, or -EINTR.
 */
int tessera_split_exec(struct tessera_request *req, u32 *num_parts)
{
	struct tessera_device *tdev = req->tdev;
	struct tessera_split_run *run;
	unsigned int tries = 0;
	int ret;

	run = kzalloc(sizeof(*run), GFP_KERNEL);
	if (!run)
		return -ENOMEM;
	ret = run_init(run, req);
	if (ret)
		goto out_fini;

	ret = down_write_killable(&tdev->submit_lock);
	if (ret)
		goto out_fini;
	do {
		ret = run_locked(run, ++tries == SPLIT_MAX_TRIES);
		if (ret == -EAGAIN)
			ret = tessera_residency_wait_dying(tdev) ?: -EAGAIN;
	} while (ret == -EAGAIN);
	up_write(&tdev->submit_lock);
	*num_parts = run->num_parts;

out_fini:
	run_fini(run);
	return ret;
}
