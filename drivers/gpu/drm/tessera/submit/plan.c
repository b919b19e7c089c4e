// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: plans
 *
 * A submission that does not fit as it is, or that is to be cut for a test, is
 * planned and armed in batches. A batch is a few parts, planned on a snapshot
 * of memory and then armed in one go. The plan is made with no reservation
 * held. Then the objects that it touches are locked, and its operations are
 * carried out one by one. Evictions, moves and page-ins become paging jobs, a
 * part becomes a job of the context. The CPU waits for none of them: an
 * eviction depends on the fence of the part that used the object last, and the
 * next part on the paging that it needs, all through reservations.
 *
 * Meanwhile other submissions may have evicted objects that the plan found
 * resident, or may have placed something where the plan has a hole. Each
 * operation checks that before it does anything (-EAGAIN). The parts armed so
 * far stand, and the rest is planned again. The state of locked objects does
 * not change, so only free space is contended. A submission can claim segments
 * against that.
 *
 * Between two batches the submission keeps only the engine's gate, where the
 * device needs one, and holds on the objects that stay bound over the cut.
 */
#include <linux/bitmap.h>
#include <linux/jiffies.h>
#include <linux/slab.h>

#include <drm/drm_exec.h>
#include <drm/drm_print.h>

#include "base/device.h"
#include "base/trace.h"
#include "base/uobj.h"
#include "client/client.h"
#include "exec/exec.h"
#include "mem/mem.h"
#include "segments/segments.h"
#include "submit/submit.h"

/*
 * Number of parts, or of job timeouts, after which a submission gives up its
 * seniority among those that hold objects.
 */
#define PARTS_PER_TURN		1024
#define TIMEOUTS_PER_TURN	12

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

static int plan_begin(struct tessera_submit_run *run, const struct tessera_split_input *in,
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

static int plan_batch(struct tessera_submit_run *run, const struct tessera_split_input *in)
{
	const struct tessera_split_limits limits = {
		.max_parts = TESSERA_BATCH_PARTS,
		.max_ops = TESSERA_BATCH_OPS,
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
		ret = tessera_split_batch(in, &run->cursor, &limits, scratch, size, &run->plan);
	kvfree(scratch);

	return ret;
}

/*
 * Set the error position only when the submission ends with that error: a plan
 * that is made again may not meet it.
 */
static void note_place(struct tessera_submit_run *run)
{
	run->req->err.offset = run->plan.error_offset;
	run->req->err.index = run->plan.error_entry;
}

/**
 * tessera_plan_make() - plan the next parts
 * @run: the submission
 *
 * Called with the context's lock held, and no reservation. Segments may be
 * claimed.
 *
 * Return: 0; -EAGAIN if memory changed too much meanwhile; a reason of &enum
 * tessera_again; or the error that the submission ends with.
 */
int tessera_plan_make(struct tessera_submit_run *run)
{
	struct tessera_split_model *model = &run->model;
	int ret;

	if (!run->seniority)
		tessera_plan_yield(run);
	model->seniority = run->seniority;
	ret = tessera_split_model_init(model, run->req, run->segments);
	if (ret)
		return ret;
	if (!trace_tessera_split_pin_enabled())
		model->in.flags |= TESSERA_SPLIT_NO_PINS;
	ret = plan_batch(run, &model->in);
	if (ret == -ENOSPC || (!ret && run->plan.late_error)) {
		if (model->dying)
			return TESSERA_AGAIN_DYING;
		if (model->held)
			return TESSERA_AGAIN_HELD;
	}
	if (ret == -ENOSPC)
		note_place(run);

	return ret;
}

/**
 * tessera_plan_drop() - free the snapshot that a plan was made on
 * @run: the submission, after tessera_plan_make(); none of its objects is
 * locked
 */
void tessera_plan_drop(struct tessera_submit_run *run)
{
	tessera_split_model_fini(&run->model);
	memset(&run->model, 0, sizeof(run->model));
}

/* ---- One part ------------------------------------------------------------ */

static void use_alloc(struct tessera_submit_run *run, u32 alloc)
{
	if (!run->req->bos[alloc] || run->mark[alloc] == run->marks)
		return;
	run->mark[alloc] = run->marks;
	run->collected[run->num_used++] = alloc;
}

/*
 * Collect the objects of the part's own elements, and of the slots that are
 * bound at its start (SPLIT-32).
 */
static int collect_used(struct tessera_submit_run *run, const struct tessera_split_op *op)
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

/*
 * Other submissions may have disturbed the plan: each object has to be where
 * the part can use it.
 */
static int check_used(struct tessera_submit_run *run)
{
	struct tessera_request *req = run->req;
	u32 i;
	int ret = 1;

	for (i = 0; ret > 0 && i < run->num_used; i++)
		ret = tessera_residency_serves(req->bos[run->used[i]],
					       tessera_request_writes(req, run->used[i]));

	return ret > 0 ? 0 : ret ?: -EAGAIN;
}

static int run_part(struct tessera_submit_run *run, const struct tessera_split_op *op)
{
	int ret;

	tessera_patch_replay_cut(&run->replay, op->start);
	ret = collect_used(run, op) ?: check_used(run) ?: tessera_run_part(run, op);
	if (!ret)
		tessera_patch_replay_advance(&run->replay, op->end);

	return ret;
}

/* ---- Following the plan -------------------------------------------------- */

/* It may have become a scanout since the plan was made. */
static int evict_planned(struct tessera_bo *bo)
{
	return tessera_bo_is_immovable(bo) ? -EAGAIN :
					     tessera_victims_evict(bo, TESSERA_EVICT_PLAN);
}

/* It may have left that place since, also by an operation of the plan. */
static int evict_foreign(struct tessera_submit_run *run, u32 index)
{
	const struct tessera_split_block *block = &run->model.blocks[index];
	struct tessera_bo *bo = run->model.block_bos[index];
	const struct tessera_segment *seg = tessera_bo_segment(bo);

	if (!seg || seg->id != block->seg ||
	    !tessera_placement_extent(tessera_bo_placement(bo), block->start))
		return 0;
	if (tessera_hold_has_older(bo, run->seniority))
		return -EAGAIN;
	if (tessera_trim_request(run->req->ctx->account, tessera_bo_placement(bo)))
		return TESSERA_AGAIN_TRIM;

	return evict_planned(bo);
}

static int run_op(struct tessera_submit_run *run, const struct tessera_split_op *op)
{
	struct tessera_request *req = run->req;

	switch (op->type) {
	case TESSERA_SPLIT_EVICT_FOREIGN:
		return evict_foreign(run, op->id);
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

/* ---- Locking ------------------------------------------------------------- */

static int lock_bo(struct drm_exec *exec, struct tessera_bo *bo)
{
	/* Reserves a fence slot for a move. */
	return bo ? drm_exec_prepare_obj(exec, &bo->tbo.base, 1) : 0;
}

/*
 * The gate was closed before: wait for new foreign fences before anything is
 * armed.
 */
static int lock_use(struct tessera_submit_run *run, u32 alloc, struct drm_exec *exec)
{
	int ret = lock_bo(exec, run->req->bos[alloc]);

	return ret ?: tessera_request_find_foreign(run->req, alloc);
}

/* Checked at locking, before any other object is moved for this one. */
static int lock_arrival(struct tessera_submit_run *run, const struct tessera_split_op *op,
			struct drm_exec *exec)
{
	const struct tessera_segment *seg = tessera_segment_by_id(run->req->tdev, op->seg);
	struct tessera_bo *bo = run->req->bos[op->id];
	int ret = lock_bo(exec, bo);

	if (!ret && seg && tessera_bo_segment(bo) != seg)
		ret = tessera_residency_may_come(bo, seg, &run->req->blocker);

	return ret;
}

static int lock_op(struct tessera_submit_run *run, const struct tessera_split_op *op,
		   struct drm_exec *exec)
{
	struct tessera_request *req = run->req;
	u32 i;
	int ret;

	if (op->type == TESSERA_SPLIT_EVICT_FOREIGN)
		return lock_bo(exec, run->model.block_bos[op->id]);
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

/**
 * tessera_plan_lock() - lock the objects that a batch touches
 * @run: the submission, planned
 * @exec: inside drm_exec_until_all_locked(), ignores duplicates
 *
 * Those are the objects that are bound when the batch begins, and the objects
 * of its operations.
 *
 * Return: 0; -EINPROGRESS with &tessera_request.blocker set; -ENOMEM; -EINTR;
 * or -EDEADLK on contention.
 */
int tessera_plan_lock(struct tessera_submit_run *run, struct drm_exec *exec)
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
		ret = lock_op(run, &run->plan.op[i], exec);
		if (ret)
			return ret;
	}

	return 0;
}

/* ---- Holds --------------------------------------------------------------- */

/*
 * Hold exactly the objects that stay bound over the next cut, so that they keep
 * their places.
 */
static void change_holds(struct tessera_submit_run *run)
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
		tessera_hold_take(req->bos[row->alloc], run->seniority,
				  run->turn_jiffies);
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

/**
 * tessera_plan_drop_holds() - release all held objects
 * @run: the submission, in parts or not
 */
void tessera_plan_drop_holds(struct tessera_submit_run *run)
{
	struct tessera_request *req = run->req;
	u32 num = req->list.num_allocs;
	u32 i;

	if (!run->holding || bitmap_empty(run->holding, num))
		return;
	for_each_set_bit(i, run->holding, num)
		tessera_hold_drop(req->bos[i], run->seniority);
	bitmap_zero(run->holding, num);
	tessera_hold_changed(req->tdev);
}

/**
 * tessera_plan_yield() - become the youngest submission from time to time
 * @run: the submission, in parts, between two batches
 *
 * Younger submissions wait for the objects that this one holds. This bounds
 * their wait to a number of parts, however many parts there are.
 */
void tessera_plan_yield(struct tessera_submit_run *run)
{
	struct tessera_device *tdev = run->req->tdev;

	if (run->seniority && run->num_parts < run->turn_parts &&
	    time_before(jiffies, run->turn_jiffies))
		return;
	tessera_plan_drop_holds(run);
	run->seniority = tessera_residency_next_stamp(tdev);
	run->turn_parts = run->num_parts + PARTS_PER_TURN;
	run->turn_jiffies = jiffies + TIMEOUTS_PER_TURN *
				      msecs_to_jiffies(tessera_engine_timeout_ms(tdev));
}

/* ---- A batch ------------------------------------------------------------- */

/**
 * tessera_plan_execute() - carry out the plan of a batch
 * @run: the submission, planned and locked
 *
 * The batch ends behind a part if the process then has as many jobs as it may
 * have.
 *
 * Return: 0; -EAGAIN if the plan is outdated; -EINPROGRESS with
 * &tessera_request.blocker set; a reason of &enum tessera_again; or the error
 * that the submission ends with. Some parts may have been armed in each case.
 */
int tessera_plan_execute(struct tessera_submit_run *run)
{
	struct tessera_quota *work = &run->req->ctx->account->process->work;
	u32 num_ops = 0, before = run->num_parts;
	u32 i;
	int ret = 0;

	for (i = 0; i < run->plan.n_op && !ret; i++) {
		ret = tessera_uobj_check_abort(NULL) ?: run_op(run, &run->plan.op[i]);
		if (ret || run->plan.op[i].type != TESSERA_SPLIT_PART)
			continue;
		num_ops = i + 1;
		if (num_ops < run->plan.n_op && tessera_quota_is_full(work))
			ret = -EAGAIN;
	}
	/* Tell the planner how much of the plan was armed. */
	run->plan.n_op = num_ops;
	run->plan.n_parts = run->num_parts - before;
	tessera_split_commit(&run->model.in, &run->cursor, &run->plan);
	if (!ret && run->plan.late_error)
		note_place(run);
	if (run->plan.n_parts && !run->ended)
		change_holds(run);

	return ret ?: run->plan.late_error;
}

/**
 * tessera_plan_init() - prepare to run a submission in parts
 * @run: the submission, nothing of it armed
 *
 * tessera_plan_fini() has to be called even after a failure.
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_plan_init(struct tessera_submit_run *run)
{
	struct tessera_request *req = run->req;
	u32 num = max(req->list.num_allocs, 1u);
	struct tessera_part *closing;

	run->collected = kvmalloc_array(num, sizeof(*run->collected), TESSERA_GFP_LISTS);
	run->mark = kvcalloc(num, sizeof(*run->mark), TESSERA_GFP_LISTS);
	run->holding = kvcalloc(BITS_TO_LONGS(num), sizeof(long), TESSERA_GFP_LISTS);
	run->group = tessera_group_create(req->ctx);
	if (!run->collected || !run->mark || !run->holding || !run->group)
		return -ENOMEM;
	closing = tessera_part_create(req->ctx, 0);
	if (IS_ERR(closing))
		return PTR_ERR(closing);
	run->closing = closing;
	run->used = run->collected;
	tessera_run_rewind(run);

	return 0;
}

/**
 * tessera_plan_fini() - free what tessera_plan_init() has allocated
 * @run: the submission, in parts or not
 */
void tessera_plan_fini(struct tessera_submit_run *run)
{
	tessera_part_put(run->closing);
	if (run->group)
		tessera_group_put(run->group);
	kvfree(run->plan.op);
	kvfree(run->cursor_mem);
	kvfree(run->holding);
	kvfree(run->collected);
	kvfree(run->mark);
}
