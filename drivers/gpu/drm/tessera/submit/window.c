// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: windows
 *
 * A window is a few parts of a split submission, planned on a snapshot of memory and then
 * armed in one go. The plan is made with no lock held. Then the objects it touches are
 * locked, and its operations are carried out one by one: evictions, moves and page-ins
 * become paging jobs, a part becomes a job of the context. The CPU waits for none of them:
 * an eviction depends on the fence of the part that used the object last, and the next part
 * on the paging it needs, all through reservations.
 *
 * Meanwhile others may have evicted what the plan found resident, or have placed
 * something where the plan has a hole. Each operation finds that out before it does anything
 * (-EAGAIN); the parts armed so far stand, and the rest is planned again. What is locked
 * cannot change any more, so only places matter, and those can be claimed.
 */
#include <linux/bitmap.h>
#include <linux/dma-fence.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_exec.h>
#include <drm/drm_print.h>

#include "exec/engine.h"
#include "exec/ib.h"
#include "mem/bo.h"
#include "mem/hold.h"
#include "mem/residency.h"
#include "mem/victims.h"
#include "segments/account.h"
#include "segments/manager.h"
#include "segments/segment.h"
#include "submit/context.h"
#include "submit/gate.h"
#include "submit/part.h"
#include "submit/request.h"
#include "submit/window.h"
#include "tessera_device.h"
#include "tessera_trace.h"
#include "tessera_uobj.h"

/* ---- Planning ------------------------------------------------------------ */

static int plan_grow(struct tessera_split_plan *plan, u32 want)
{
	struct tessera_split_op *op;

	want = max(want, 2 * plan->cap);
	op = kvrealloc(plan->op, array_size(want, sizeof(*op)), TESSERA_GFP_LISTS);
	if (!op)
		return -ENOMEM;
	plan->op = op;
	plan->cap = want;

	return 0;
}

static int plan_begin(struct tessera_split_run *run, const struct tessera_split_input *in,
		      void *scratch, size_t size)
{
	size_t bytes = tessera_split_cursor_size(in);
	int ret;

	run->cursor_mem = kvmalloc(bytes, TESSERA_GFP_LISTS);
	if (!run->cursor_mem)
		return -ENOMEM;
	ret = tessera_split_begin(in, run->cursor_mem, bytes, scratch, size, &run->cursor,
				  &run->plan);
	if (ret) {
		kvfree(run->cursor_mem);
		run->cursor_mem = NULL;
	}

	return ret;
}

static int plan_window(struct tessera_split_run *run, const struct tessera_split_input *in)
{
	const struct tessera_split_limits limits = {
		.max_parts = TESSERA_WINDOW_PARTS,
		.max_ops = TESSERA_WINDOW_OPS,
	};
	size_t size = tessera_split_scratch_size(in);
	void *scratch;
	int ret = 0;

	scratch = kvmalloc(size, TESSERA_GFP_LISTS);
	if (!scratch)
		return -ENOMEM;
	run->plan.grow = plan_grow;
	if (!run->cursor_mem)
		ret = plan_begin(run, in, scratch, size);
	if (!ret)
		ret = tessera_split_window(in, &run->cursor, &limits, scratch, size, &run->plan);
	kvfree(scratch);

	return ret;
}

/* Only when it ends with that: what the plan foresees may not come true. */
static void note_place(struct tessera_split_run *run)
{
	run->req->err.offset = run->plan.error_offset;
	run->req->err.index = run->plan.error_entry;
}

/* -EBUSY: no, but that will change. */
static int plan_run(struct tessera_split_run *run, struct tessera_split_model *model)
{
	struct tessera_split_input *in = &model->in;
	bool full;
	int ret;

	if (!trace_tessera_split_pin_enabled())
		in->flags |= TESSERA_SPLIT_NO_PINS;
	ret = plan_window(run, in);
	full = ret == -ENOSPC || (!ret && run->plan.late_error);
	run->dying = model->dying;
	run->wait_for_room = full && (model->dying || model->held);
	if (run->wait_for_room)
		return -EBUSY;
	if (ret == -ENOSPC)
		note_place(run);

	return ret;
}

/* ---- One part ------------------------------------------------------------ */

static void use_alloc(struct tessera_split_run *run, u32 alloc)
{
	if (!run->req->bos[alloc] || run->mark[alloc] == run->marks)
		return;
	run->mark[alloc] = run->marks;
	run->used[run->num_used++] = alloc;
}

/* What the part's own entries and the slots left bound at its start name (SPLIT-32). */
static int collect_used(struct tessera_split_run *run, const struct tessera_split_op *op)
{
	const struct tessera_slot_table *table = run->replay.table;
	const struct tessera_patch *patches = run->req->patches;
	u32 i;
	int ret = 0;

	run->marks++;
	run->num_used = 0;
	for (i = 0; i < table->num_live; i++)
		use_alloc(run, table->rows[table->live[i]].alloc);
	for (i = 0; !ret && i < op->count; i++) {
		use_alloc(run, patches[op->first + i].alloc_index);
		ret = tessera_request_pause(run->req, i);
	}

	return ret;
}

static int use_objects(struct tessera_split_run *run, struct tessera_part *part)
{
	struct tessera_request *req = run->req;
	u32 i;
	int ret;

	for (i = 0; i < run->num_used; i++) {
		u32 alloc = run->used[i];
		bool write = tessera_request_writes(req, alloc);

		ret = tessera_residency_serves(req->bos[alloc], write);
		if (ret <= 0)
			return ret ?: -EAGAIN;
		ret = tessera_part_use(part, req->bos[alloc], write) ?:
		      tessera_request_pause(req, i);
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
	ib = tessera_ib_create(req->tdev, &req->ctx->account->payer->work, max_binds * bytes);
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

static int order_part(struct tessera_split_run *run, struct tessera_part *part)
{
	struct tessera_request *req = run->req;
	int ret;

	if (run->last) {
		tessera_job_run_after(&part->job, &run->last->job);
		return 0;
	}
	ret = tessera_syncs_add_waits(&req->syncs, &part->job);
	if (ret)
		return ret;

	return tessera_gate_order(&req->pass, &part->job);
}

/*
 * The last one signals what the submission does; tessera_part_signal() was called for it, and
 * tessera_request_begin_users() for each. False if the gate was given to others: then nothing was done.
 */
static bool push_part(struct tessera_split_run *run, struct tessera_part *part,
		      struct tessera_pass *pass, const struct tessera_split_op *op, bool last)
{
	struct tessera_request *req = run->req;
	struct dma_fence *fence = tessera_part_arm(part, pass);
	u32 i;

	if (!fence) {
		tessera_request_end_users(req);
		if (last)
			tessera_part_unsignal(&req->syncs);
		return false;
	}
	if (op)
		trace_tessera_split_part(req->ctx->hw_id, req->job, op->id, op->start, op->end,
					 op->first, op->count);
	tessera_part_join_group(part, run->group);
	for (i = 0; i < run->num_used; i++)
		tessera_part_publish(part, req->bos[run->used[i]],
				     tessera_request_writes(req, run->used[i]), req->stamp);
	tessera_request_end_users(req);
	if (last)
		tessera_syncs_commit(&req->syncs, fence);
	tessera_part_push(part);

	run->ended = last;
	tessera_part_put(run->last);
	run->last = part;
	run->num_parts++;

	return true;
}

/*
 * The part's packets get the addresses of today, whichever part the elements they belong to
 * are in: an element may come long before its packet. What it names is in a slot when the
 * part begins, or among the part's own elements, so it is locked and resident.
 */
static int patch_part(struct tessera_split_run *run, const struct tessera_split_op *op)
{
	const struct tessera_patch_replay *replay = &run->replay;
	struct tessera_request *req = run->req;
	u32 i;
	int ret = 0;

	for (i = replay->order_pos; !ret && i < replay->num_order; i++) {
		if (req->patches[replay->order[i]].patch_offset >= op->end)
			break;
		tessera_request_patch(req, replay->order[i]);
		ret = tessera_request_pause(req, i);
	}

	return ret;
}

static int run_part(struct tessera_split_run *run, const struct tessera_split_op *op)
{
	struct tessera_request *req = run->req;
	bool last = op->end == req->list.cmd_bytes;
	struct tessera_part *part;
	int ret;

	tessera_patch_replay_cut(&run->replay, op->start);
	ret = collect_used(run, op);
	if (ret)
		return ret;
	part = tessera_part_create(req->ctx, run->num_used);
	if (IS_ERR(part))
		return PTR_ERR(part);

	ret = use_objects(run, part);
	if (!ret && op->start)
		ret = add_preamble(run, part);
	if (!ret)
		ret = order_part(run, part) ?: patch_part(run, op);
	if (!ret)
		tessera_job_add_range(&part->job, req->ib, op->start, op->end, true);
	if (!ret && last)
		ret = tessera_part_signal(part, &req->syncs, run->last);
	if (!ret) {
		ret = tessera_request_begin_users(req, run->used, run->num_used);
		if (ret && last)
			tessera_part_unsignal(&req->syncs);
	}
	/* Parts that are armed cannot go on behind others' jobs; without any it begins anew. */
	if (!ret && !push_part(run, part, &req->pass, op, last))
		ret = run->last ? -ETIME : -EINPROGRESS;
	if (ret) {
		tessera_part_put(part);
		return ret;
	}
	tessera_patch_replay_advance(&run->replay, op->end);

	return 0;
}

/* ---- The plan -------------------------------------------------------------- */

/* It may be scanned out since the plan was made. */
static int evict_planned(struct tessera_bo *bo)
{
	return tessera_bo_is_fixed(bo) ? -EAGAIN : tessera_victims_evict(bo, TESSERA_EVICT_PLAN);
}

/* The object may have left that place since, or by the plan itself. */
static int evict_foreign(struct tessera_split_run *run, const struct tessera_split_model *model,
			 u32 index)
{
	const struct tessera_split_block *block = &model->blocks[index];
	struct tessera_bo *bo = model->block_bos[index];
	const struct tessera_segment *seg = tessera_bo_segment(bo);

	if (!seg || seg->id != block->seg ||
	    !tessera_range_run(tessera_bo_range(bo), block->start))
		return 0;
	if (tessera_hold_keeps_off(bo, run->seniority))
		return -EAGAIN;

	return evict_planned(bo);
}

static int run_op(struct tessera_split_run *run, const struct tessera_split_model *model,
		  const struct tessera_split_op *op)
{
	struct tessera_request *req = run->req;

	switch (op->type) {
	case TESSERA_SPLIT_EVICT_FOREIGN:
		return evict_foreign(run, model, op->id);
	case TESSERA_SPLIT_EVICT:
		return evict_planned(req->bos[op->id]);
	case TESSERA_SPLIT_MOVE:
	case TESSERA_SPLIT_PAGE_IN:
		return tessera_residency_place(req->bos[op->id],
					       tessera_request_writes(req, op->id), op->seg,
					       op->off, &req->blocker);
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

/* What was armed is behind us, be it the whole plan or less. */
static void commit_ops(struct tessera_split_run *run, const struct tessera_split_input *in,
		       u32 num_ops, u32 num_parts)
{
	run->plan.n_op = num_ops;
	run->plan.n_parts = num_parts;
	tessera_split_commit(in, &run->cursor, &run->plan);
}

static int run_ops(struct tessera_split_run *run, const struct tessera_split_model *model)
{
	u32 num_ops = 0, before = run->num_parts;
	u32 i;
	int ret = 0;

	for (i = 0; i < run->plan.n_op && !ret; i++) {
		ret = tessera_uobj_may_go_on(NULL) ?: run_op(run, model, &run->plan.op[i]);
		if (!ret && run->plan.op[i].type == TESSERA_SPLIT_PART)
			num_ops = i + 1;
	}
	commit_ops(run, &model->in, num_ops, run->num_parts - before);
	if (!ret && run->plan.late_error)
		note_place(run);

	return ret ?: run->plan.late_error;
}

/* ---- Claims ---------------------------------------------------------------- */

/**
 * tessera_window_manager() - go through the segments of a submission
 * @run: the submission
 * @index: where to go on; 0 to begin
 *
 * Return: the manager of the next segment it may touch, in the order of segments, or NULL.
 */
struct tessera_manager *tessera_window_manager(struct tessera_split_run *run, u32 *index)
{
	struct tessera_device *tdev = run->req->tdev;
	u32 i;

	while (*index < tessera_segment_count(tdev)) {
		i = (*index)++;
		if (run->segments & BIT(tessera_segment_by_index(tdev, i)->id))
			return tessera_manager_of(tdev, i);
	}

	return NULL;
}

/**
 * tessera_window_closed() - ask whether somebody else has claimed a segment
 * @run: the submission
 *
 * Return: true if so.
 */
bool tessera_window_closed(struct tessera_split_run *run)
{
	struct tessera_manager *mgr;
	u32 i = 0;

	while ((mgr = tessera_window_manager(run, &i)))
		if (tessera_manager_closed(mgr))
			return true;

	return false;
}

/* ---- Locking --------------------------------------------------------------- */

static int lock_bo(struct drm_exec *exec, struct tessera_bo *bo)
{
	/* With a slot for the fence of a move. */
	return bo ? drm_exec_prepare_obj(exec, &bo->tbo.base, 1) : 0;
}

/* Foreign fences that have come to an object since the gate was closed are waited for first. */
static int lock_use(struct tessera_split_run *run, u32 alloc, struct drm_exec *exec)
{
	int ret = lock_bo(exec, run->req->bos[alloc]);

	return ret ?: tessera_request_find_foreign(run->req, alloc);
}

/* Before anything else has moved for it. */
static int lock_arrival(struct tessera_split_run *run, const struct tessera_split_op *op,
			struct drm_exec *exec)
{
	const struct tessera_segment *seg = tessera_segment_by_id(run->req->tdev, op->seg);
	struct tessera_bo *bo = run->req->bos[op->id];
	int ret = lock_bo(exec, bo);

	if (!ret && seg && tessera_bo_segment(bo) != seg)
		ret = tessera_residency_may_come(bo, seg, &run->req->blocker);

	return ret;
}

static int lock_op(struct tessera_split_run *run, const struct tessera_split_model *model,
		   const struct tessera_split_op *op, struct drm_exec *exec)
{
	struct tessera_request *req = run->req;
	u32 i;
	int ret;

	if (op->type == TESSERA_SPLIT_EVICT_FOREIGN)
		return lock_bo(exec, model->block_bos[op->id]);
	if (op->type == TESSERA_SPLIT_MOVE || op->type == TESSERA_SPLIT_PAGE_IN)
		return lock_arrival(run, op, exec);
	if (op->type != TESSERA_SPLIT_PART)
		return lock_bo(exec, run->req->bos[op->id]);

	for (i = op->first; i < op->first + op->count; i++) {
		ret = lock_use(run, req->patches[i].alloc_index, exec) ?:
		      tessera_request_pause(req, i);
		if (ret)
			return ret;
	}

	return 0;
}

/* What the window begins with, and what its operations are about. */
static int lock_touched(struct tessera_split_run *run, const struct tessera_split_model *model,
			struct drm_exec *exec)
{
	const struct tessera_slot_table *table = run->replay.table;
	u32 i;
	int ret;

	for (i = 0; i < table->num_live; i++) {
		ret = lock_use(run, table->rows[table->live[i]].alloc, exec);
		if (ret)
			return ret;
	}
	for (i = 0; i < run->plan.n_op; i++) {
		ret = lock_op(run, model, &run->plan.op[i], exec);
		if (ret)
			return ret;
	}

	return 0;
}

/* What stays bound over the cut that comes next stays where it is; nothing else is held. */
static void change_holds(struct tessera_split_run *run)
{
	const struct tessera_slot_table *table = run->replay.table;
	struct tessera_request *req = run->req;
	bool dropped = false;
	u32 i, alloc;

	tessera_patch_replay_cut(&run->replay, run->cursor.byte);
	run->marks++;
	for (i = 0; i < table->num_live; i++) {
		const struct tessera_slot_row *row = &table->rows[table->live[i]];

		if (row->split_offset == run->cursor.byte)
			continue;
		run->mark[row->alloc] = run->marks;
		set_bit(row->alloc, run->holding);
		tessera_hold_take(req->bos[row->alloc], run->seniority);
	}
	for_each_set_bit(alloc, run->holding, req->list.num_allocs) {
		if (run->mark[alloc] == run->marks)
			continue;
		clear_bit(alloc, run->holding);
		tessera_hold_drop(req->bos[alloc], run->seniority);
		dropped = true;
	}
	if (dropped)
		tessera_hold_changed(req->tdev);
}

static int arm_locked(struct tessera_split_run *run, const struct tessera_split_model *model)
{
	u32 before = run->num_parts;
	int ret = run_ops(run, model);

	if (run->num_parts != before && !run->cursor.done)
		change_holds(run);

	return ret;
}

static int arm_window(struct tessera_split_run *run, const struct tessera_split_model *model)
{
	u32 flags = DRM_EXEC_IGNORE_DUPLICATES;
	struct drm_exec exec;
	int ret, idx;

	if (!drm_dev_enter(&run->req->tdev->drm, &idx))
		return -ENODEV;
	/* Once there are parts the call cannot be made again; locks are held for one window. */
	if (!run->last)
		flags |= DRM_EXEC_INTERRUPTIBLE_WAIT;
	drm_exec_init(&exec, flags, 0);
	drm_exec_until_all_locked(&exec) {
		ret = lock_touched(run, model, &exec);
		drm_exec_retry_on_contention(&exec);
		if (ret)
			break;
	}
	/* Who has claimed a segment is not to be disturbed by what could not be finished. */
	if (!ret && tessera_window_closed(run))
		ret = -EAGAIN;
	if (!ret)
		ret = arm_locked(run, model);
	drm_exec_fini(&exec);
	drm_dev_exit(idx);

	return ret;
}

/**
 * tessera_window_run() - plan and arm the next parts
 * @run: the submission
 *
 * Called with the context's lock, and nothing else but claims.
 *
 * Return: 0; -EAGAIN if others interfered, to be called again; -ESTALE, behind tessera_request_ready(); -EBUSY with
 * &tessera_split_run.wait_for_room set; -EINPROGRESS, maybe behind some
 * parts, with &tessera_request.blocker set; -EINTR, -ENODEV; or the error the submission ends
 * with.
 */
int tessera_window_run(struct tessera_split_run *run)
{
	struct tessera_split_model *model = &run->model;
	int ret;

	memset(model, 0, sizeof(*model));
	model->seniority = run->seniority;
	run->wait_for_room = false;
	ret = tessera_split_model_init(model, run->req, run->segments);
	if (!ret)
		ret = plan_run(run, model);
	if (!ret)
		ret = arm_window(run, model);
	tessera_split_model_fini(model);

	return ret;
}

/**
 * tessera_window_close() - end a submission with an error after some parts
 * @run: the submission
 * @error: the error
 *
 * A job without commands carries it, so that user space sees it on the fence.
 *
 * Return: 0, or -ENODEV.
 */
int tessera_window_close(struct tessera_split_run *run, int error)
{
	struct tessera_request *req = run->req;
	struct tessera_part *part = run->closing;
	int idx;

	if (!drm_dev_enter(&req->tdev->drm, &idx))
		return -ENODEV;
	run->closing = NULL;
	part->error = error;
	tessera_job_run_after(&part->job, &run->last->job);
	run->num_used = 0;
	tessera_part_signal(part, &req->syncs, true);
	tessera_request_begin_users(req, NULL, 0);
	push_part(run, part, NULL, NULL, true);
	/* Not a part that the user's commands are in. */
	run->num_parts--;
	drm_dev_exit(idx);

	return 0;
}
