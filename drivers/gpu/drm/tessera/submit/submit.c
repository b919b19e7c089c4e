// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: submission
 *
 * A submission is armed in batches. Each attempt at a batch takes the same
 * steps:
 *
 * 1. pass the engine's gate,
 * 2. lock objects,
 * 3. look for foreign fences at them,
 * 4. bring the objects to their places,
 * 5. arm (submit/run.c).
 *
 * A submission whose objects all fit at once is one batch of one part. It needs
 * no plan, and pays nothing for splitting. Batches are planned only if memory
 * does not suffice, or if the context asks for cuts as a test (submit/plan.c).
 *
 * An attempt that cannot be finished returns a reason to begin again (&enum
 * tessera_again). begin_again() knows what the submission waits for in each
 * case. Until a part is armed, the submission leaves the gate while it waits,
 * every signal ends the wait, and the ioctl can be restarted. Behind armed
 * parts the gate stays closed. Each wait for other clients is limited then, and
 * only a fatal signal ends it. The number of unfinished parts is limited, too.
 * Beyond that limit the thread waits, with no reservation held.
 *
 * A failure before the first part is armed fails the ioctl. After that, the
 * parts that were pushed run, and a job without commands ends the submission
 * with the error, so that user space sees one fence (SPLIT-34, SPLIT-35). After
 * a fatal signal or an unplug there is no such job.
 *
 * Locks: &tessera_device.reset_lock for reading, the context's lock, then
 * reservations. The gate is passed before the reservations are taken.
 */
#include <linux/jiffies.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_exec.h>

#include "base/device.h"
#include "base/trace.h"
#include "base/uobj.h"
#include "borrow/borrow.h"
#include "client/client.h"
#include "exec/exec.h"
#include "mem/mem.h"
#include "segments/segments.h"
#include "submit/submit.h"
#include "sync/sync.h"

/*
 * Most evictions of a submission that is not planned. Victims are chosen for
 * one object at a time. A plan knows what else the submission uses, so it is
 * better for a submission that needs many of them.
 */
#define MAX_EVICTIONS		256

/* Disturbed attempts at a batch before the submission claims the segments. */
#define MAX_MISSES		3

/*
 * Disturbed attempts with the claim before it ends. The client itself disturbs
 * these.
 */
#define MAX_CLAIMED_MISSES	8

/*
 * Limit of waiting for dying objects with the gate closed, in job timeouts:
 * some of the jobs that use them may hang.
 */
#define DYING_TIMEOUTS		12

/*
 * How often a submission checks objects held by other submissions, as an
 * expired hold raises no event.
 */
#define HOLD_LOOK_JIFFIES	HZ

/*
 * The ioctl cannot be restarted behind armed parts: only a fatal signal ends a
 * wait.
 */
static unsigned int run_state(const struct tessera_submit_run *run)
{
	return run->last ? TESSERA_GROUP_WAIT : TASK_INTERRUPTIBLE;
}

/* ---- Claims -------------------------------------------------------------- */

/*
 * Iterates over the managers of the segments that the submission may touch, in
 * the order of segments; NULL at the end.
 */
static struct tessera_manager *run_next_manager(struct tessera_submit_run *run, u32 *index)
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

/* Whether another submission has claimed one of the segments. */
static bool run_closed(struct tessera_submit_run *run)
{
	struct tessera_manager *mgr;
	u32 i = 0;

	while ((mgr = run_next_manager(run, &i)))
		if (tessera_manager_closed(mgr))
			return true;

	return false;
}

static void run_unclaim(struct tessera_submit_run *run)
{
	struct tessera_manager *mgr;
	u32 i = 0;

	if (!run->claimed)
		return;
	while ((mgr = run_next_manager(run, &i)))
		tessera_manager_unclaim(mgr);
	run->claimed = false;
}

static int run_claim(struct tessera_submit_run *run)
{
	struct tessera_manager *mgr;
	u32 i = 0;
	int ret = 0;

	run->claimed = true;
	while (!ret && (mgr = run_next_manager(run, &i)))
		ret = tessera_manager_claim(mgr, run_state(run));

	return ret;
}

/* ---- Waiting ------------------------------------------------------------- */

/*
 * Returns the time left, in jiffies, for waits behind armed parts that other
 * clients may prolong. The limit is a number of job timeouts. All such waits of
 * the submission count together. The clock runs until run_waits_end().
 */
static long run_patience(struct tessera_submit_run *run, u32 timeouts)
{
	u64 limit = timeouts * (u64)msecs_to_jiffies(tessera_engine_timeout_ms(run->req->tdev));
	u64 now = get_jiffies_64(), waited;

	if (!run->last)
		return MAX_SCHEDULE_TIMEOUT;
	if (!run->waits_since)
		run->waits_since = now;
	waited = run->waited + now - run->waits_since;
	if (waited >= limit)
		return 0;
	/* This limit replaces that of the gate's watchdog. */
	WRITE_ONCE(run->req->pass.excused, (jiffies + (long)(limit - waited)) ?: 1);

	return limit - waited;
}

static void run_waits_end(struct tessera_submit_run *run)
{
	if (run->waits_since)
		run->waited += get_jiffies_64() - run->waits_since;
	run->waits_since = 0;
	WRITE_ONCE(run->req->pass.excused, 0);
}

/*
 * Wait for space: for objects that are being destroyed, or are held by older
 * submissions.
 */
static int wait_for_space(struct tessera_submit_run *run, enum tessera_space_event event,
			  long timeout)
{
	/* A limit that is used up ends the wait even if events keep coming. */
	if (!timeout)
		return -ETIME;

	return tessera_space_wait_timeout(run->req->tdev, event, run->seen[event],
					  run_state(run), timeout);
}

/* An expired hold raises no event, so the wait has a timeout. */
static int wait_for_holds(struct tessera_submit_run *run)
{
	int ret = wait_for_space(run, TESSERA_SPACE_RELEASED, HOLD_LOOK_JIFFIES);

	return ret == -ETIME ? 0 : ret;
}

/* Wait for a foreign fence or for another device, behind armed parts. */
static int wait_for_foreign(struct tessera_submit_run *run, long timeout)
{
	int ret;

	if (!timeout)
		return -ETIME;
	ret = tessera_request_unblock(run->req, TESSERA_WAIT_FOREIGN_PARTS,
				      min_t(long, timeout, HZ));
	/* The next attempt notices if the context was lost meanwhile. */
	if (ret == -ETIME)
		return 0;

	/*
	 * Waits in other drivers may end with any signal. Only a fatal one
	 * counts.
	 */
	return ret == -ERESTARTSYS ? tessera_uobj_check_abort(NULL) : ret;
}

/* Make user memory ready again, behind armed parts. */
static int wait_for_pages(struct tessera_submit_run *run, long timeout)
{
	if (!timeout)
		return -ETIME;
	if (++run->req->changes >= TESSERA_USER_TRIES)
		return -EBUSY;

	return tessera_request_ready(run->req, get_jiffies_64() + timeout);
}

/*
 * Claim the segments after some disturbed attempts. A submission that has a
 * claim waits for nothing. Each other submission that is placing objects at
 * that moment can disturb it once more. The claim is kept until the batch is
 * armed.
 */
static int keep_others_out(struct tessera_submit_run *run)
{
	if (!run->group || ++run->misses < (run->claimed ? MAX_CLAIMED_MISSES : MAX_MISSES))
		return 0;
	run->misses = 0;
	if (!run->claimed)
		return run_claim(run);
	run_unclaim(run);

	return 0;
}

static void run_leave(struct tessera_submit_run *run)
{
	run_unclaim(run);
	if (run->inside)
		tessera_gate_leave(&run->req->pass);
	run->inside = false;
}

/*
 * Wait for the condition that the attempt needs. Only
 * &tessera_device.reset_lock and the context's lock are held, and the gate
 * behind armed parts.
 */
static int begin_again(struct tessera_submit_run *run, enum tessera_again why)
{
	struct tessera_device *tdev = run->req->tdev;

	if (why == TESSERA_AGAIN_DISTURBED)
		return keep_others_out(run);
	if (run->last)
		run_unclaim(run);
	else
		run_leave(run);

	switch (why) {
	case TESSERA_AGAIN_CLOSED:
		return tessera_manager_wait_closed(tdev, run->seen[TESSERA_SPACE_UNCLAIMED],
						   run_state(run));
	case TESSERA_AGAIN_SPLIT:
		return tessera_plan_init(run);
	case TESSERA_AGAIN_DYING:
		return wait_for_space(run, TESSERA_SPACE_FREED, run_patience(run, DYING_TIMEOUTS));
	case TESSERA_AGAIN_HELD:
		run_waits_end(run);
		return wait_for_holds(run);
	case TESSERA_AGAIN_TRIM:
		return tessera_trim_wait(run->req->ctx->account, run->seen[TESSERA_SPACE_TRIMMED],
					 run_state(run));
	case TESSERA_AGAIN_FOREIGN:
		/* Without parts, tessera_submit() waits, with no lock held. */
		return run->last ? wait_for_foreign(run, run_patience(run, 1)) : why;
	case TESSERA_AGAIN_PAGES:
		/* Without parts, tessera_submit() waits, with no lock held. */
		return run->last ? wait_for_pages(run, run_patience(run, 1)) : why;
	case TESSERA_AGAIN_VOID:
		/* Other clients' jobs may come between the parts then. */
		return run->last ? -ETIME : 0;
	default:
		drm_WARN_ON(&tdev->drm, 1);
		return -EINVAL;
	}
}

/* ---- An attempt ---------------------------------------------------------- */

/*
 * Pass the gate. A group that is going to close a gate waits for the in-fences
 * of other engines first: while it has the gate closed, its parts shall wait
 * for jobs of their own engine only.
 */
static int run_enter(struct tessera_submit_run *run)
{
	struct tessera_request *req = run->req;
	struct tessera_context *ctx = req->ctx;
	struct tessera_group *group = run->group;
	int ret = 0;

	if (run->inside)
		return 0;
	if (group && !(req->tdev->info.caps & TSR_CAP_PREEMPTION))
		ret = tessera_syncs_wait(&req->syncs, req->tdev, ctx->engine);
	if (!ret)
		ret = tessera_gate_enter(&req->pass, ctx,
					 group ? &group->unfinished : NULL);
	run->inside = !ret;

	return ret;
}

/* Spares objects that the submission itself has locked, as it needs them. */
static bool is_locked(struct tessera_bo *bo, void *ticket)
{
	return dma_resv_locking_ctx(bo->tbo.base.resv) == ticket;
}

static int validate_objects(struct tessera_request *req, struct drm_exec *exec)
{
	struct tessera_space_rules rules = {
		.evictions = MAX_EVICTIONS,
		.spares = is_locked,
		.data = &exec->ticket,
		.requester = req->ctx->account,
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
			return rules.asked ? TESSERA_AGAIN_TRIM : ret;
		/* Only paging is armed, and paging need not be undone. */
		if (signal_pending(current))
			return -ERESTARTSYS;
	}

	return 0;
}

static int lock_whole(struct tessera_request *req, struct drm_exec *exec)
{
	int ret = tessera_request_lock(req, exec);
	u32 i;

	for (i = 0; !ret && i < req->num_uses; i++)
		ret = tessera_request_find_foreign(req, req->uses[i]);

	return ret;
}

static int run_whole(struct tessera_submit_run *run, struct drm_exec *exec)
{
	const struct tessera_split_op op = {
		.type = TESSERA_SPLIT_PART,
		.end = run->req->list.cmd_bytes,
		.count = run->req->list.num_patches,
	};
	int ret = validate_objects(run->req, exec);

	if (ret)
		return ret;
	if (trace_tessera_split_entry_enabled()) {
		tessera_run_rewind(run);
		tessera_patch_replay_advance(&run->replay, op.end);
	}

	return tessera_run_part(run, &op);
}

static int arm_batch(struct tessera_submit_run *run)
{
	struct tessera_request *req = run->req;
	u32 flags = DRM_EXEC_IGNORE_DUPLICATES;
	struct drm_exec exec;
	int ret, idx;

	/*
	 * The ioctl cannot be restarted behind armed parts, and the locks are
	 * held for one batch only.
	 */
	if (!run->last)
		flags |= DRM_EXEC_INTERRUPTIBLE_WAIT;
	drm_exec_init(&exec, flags, run->group ? 0 : req->list.num_allocs);
	drm_exec_until_all_locked(&exec) {
		ret = run->group ? tessera_plan_lock(run, &exec) : lock_whole(req, &exec);
		drm_exec_retry_on_contention(&exec);
		if (ret)
			break;
	}
	/*
	 * Do not disturb the claiming submission by a batch that cannot be
	 * finished.
	 */
	if (!ret && run->group && run_closed(run))
		ret = -EAGAIN;
	/*
	 * Enter late: unplug must not wait for reservations, which other
	 * drivers may hold.
	 */
	if (!ret && !drm_dev_enter(&req->tdev->drm, &idx))
		ret = -ENODEV;
	if (!ret) {
		ret = run->group ? tessera_plan_execute(run) : run_whole(run, &exec);
		drm_dev_exit(idx);
	}
	drm_exec_fini(&exec);

	return ret;
}

/*
 * Checks whether further parts would not run, or the gate was opened by the
 * watchdog. A submission in one part is not asked whether its client has gone:
 * the fence of its job reports that.
 */
static int run_dropped(const struct tessera_submit_run *run)
{
	if (run->group && drm_dev_is_unplugged(&run->req->tdev->drm))
		return -ENODEV;
	if (run->group && READ_ONCE(run->req->ctx->dropped))
		return -EIO;

	return tessera_gate_is_void(&run->req->pass) ? TESSERA_AGAIN_VOID : 0;
}

/*
 * Make one attempt at a batch, inside the gate. Returns 0, an error, or a
 * reason to begin again.
 */
static int try_batch(struct tessera_submit_run *run)
{
	u32 event;
	int ret;

	for (event = 0; event < TESSERA_SPACE_EVENTS; event++)
		run->seen[event] = tessera_space_event_count(run->req->tdev, event);
	/*
	 * After the events were read, because they are raised, too, when the
	 * context is lost or the device goes.
	 */
	ret = run_dropped(run);
	if (!ret && run->group)
		ret = tessera_plan_make(run);
	if (!ret)
		ret = arm_batch(run);
	if (run->group)
		tessera_plan_drop(run);

	/* Translate errors of the layers below to reasons. */
	switch (ret) {
	case -EAGAIN:
		return run_closed(run) ? TESSERA_AGAIN_CLOSED : TESSERA_AGAIN_DISTURBED;
	case -EINPROGRESS:
		return TESSERA_AGAIN_FOREIGN;
	case -ENOSPC:
		return run->group ? -ENOSPC : TESSERA_AGAIN_SPLIT;
	default:
		return ret;
	}
}

/* ---- The submission ------------------------------------------------------ */

/*
 * Whether all objects could be resident at once in otherwise empty segments. If
 * not, paging in some of them would be wasted.
 */
static bool may_fit(const struct tessera_submit_run *run)
{
	const struct tessera_request *req = run->req;
	const struct tessera_segment *seg;
	u64 wanted = 0, space = 0;
	u32 i;

	for (i = 0; i < req->num_uses; i++)
		wanted += tessera_bo_bytes(req->bos[req->uses[i]]);
	for (i = 0; i < tessera_segment_count(req->tdev); i++) {
		seg = tessera_segment_by_index(req->tdev, i);
		if (run->segments & BIT(seg->id))
			space += seg->commit;
	}

	return wanted <= space;
}

/* Some parts of the submission are armed, and more will follow. */
static int run_advance(struct tessera_submit_run *run)
{
	struct tessera_quota *work = &run->req->ctx->account->process->work;

	run_waits_end(run);
	run_unclaim(run);
	/* The next attempt will find it again if it still blocks. */
	tessera_blocker_clear(&run->req->blocker);
	run->misses = 0;
	run->req->changes = 0;
	tessera_plan_yield(run);

	return tessera_group_wait(run->group, TESSERA_GROUP_PARTS - TESSERA_BATCH_PARTS, work) ?:
	       tessera_group_error(run->group);
}

static int run_batch(struct tessera_submit_run *run)
{
	u32 before = run->num_parts;
	int ret = TESSERA_AGAIN_PAGES;

	/* User memory is made ready before the gate; arming checks again. */
	if (tessera_request_is_ready(run->req))
		ret = run_enter(run) ?: try_batch(run);

	if (run->num_parts == before)
		return ret > 0 ? begin_again(run, ret) : ret;
	if (ret < 0 || run->ended)
		return ret;

	/* A batch that was armed in part counts as progress. */
	return run_advance(run);
}

static int run_all(struct tessera_submit_run *run)
{
	int ret = 0;

	if (tessera_split_is_forced(run->req) || !may_fit(run))
		ret = tessera_plan_init(run);
	while (!ret && !run->ended)
		ret = run_batch(run);
	/* A dying thread or an unplugged device needs no closing job. */
	if (ret && run->last && ret != -EINTR && ret != -ENODEV)
		ret = tessera_run_close(run, ret);
	tessera_plan_drop_holds(run);
	run_leave(run);
	if (run->ended)
		tessera_syncs_signal(&run->req->syncs, tessera_job_finished(&run->last->job));

	return ret;
}

static int submit_run(struct tessera_request *req)
{
	struct tessera_submit_run *run = kzalloc(sizeof(*run), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!run)
		return -ENOMEM;
	run->req = req;
	run->segments = tessera_split_segments(req);
	run->used = req->uses;
	run->num_used = req->num_uses;
	ret = run_all(run);
	req->num_parts = run->num_parts;
	tessera_plan_fini(run);
	tessera_part_put(run->last);
	kfree(run);

	return ret;
}

static int submit_locked(struct tessera_request *req)
{
	struct tessera_context *ctx = req->ctx;
	int ret;

	if (atomic_read(&ctx->guilty) || tessera_account_banned(ctx->account))
		return -EIO;
	ret = tessera_request_check(req);
	if (ret)
		return ret;
	req->stamp = tessera_residency_next_stamp(req->tdev);
	req->job = ctx->next_job;
	ret = submit_run(req);
	if (!ret) {
		tessera_request_accepted(req);
		ctx->next_job++;
	}

	return ret;
}

static int submit_once(struct tessera_request *req)
{
	int ret = tessera_work_begin(req->tdev);

	if (ret)
		return ret;
	ret = mutex_lock_interruptible(&req->ctx->lock);
	if (!ret) {
		ret = submit_locked(req);
		mutex_unlock(&req->ctx->lock);
	}

	return tessera_work_end(req->tdev, ret);
}

/*
 * Wait with nothing armed and no lock held. Other clients may interfere again
 * and again, so the rounds are limited.
 */
static int wait_unlocked(struct tessera_request *req, enum tessera_again why)
{
	if (why == TESSERA_AGAIN_PAGES)
		return ++req->changes < TESSERA_USER_TRIES ? tessera_request_ready(req, 0) : -EBUSY;
	/* Each object may need one round anyway. */
	if (++req->blocks >= TESSERA_USER_TRIES + req->list.num_allocs)
		return -EBUSY;

	return tessera_request_unblock(req, TESSERA_WAIT_FOREIGN, MAX_SCHEDULE_TIMEOUT);
}

/**
 * tessera_submit() - run a submission, in as many parts as memory requires
 * @tdev: the device
 * @file: the open file
 * @contexts: the client's contexts
 * @data: the arguments; receives the number of parts, or the position of an
 * error
 *
 * No lock may be held.
 *
 * Return: 0, also if the submission ends early: its fence then carries the
 * error. -EINTR for a fatal signal and -ENODEV, maybe after some parts.
 * Otherwise one of the errors of &struct drm_tessera_submit, and nothing was
 * run.
 */
int tessera_submit(struct tessera_device *tdev, struct drm_file *file, struct xarray *contexts,
		   struct tessera_submit_data *data)
{
	struct tessera_request req;
	int ret;

	ret = tessera_request_init(&req, tdev, file, contexts, data);
	if (!ret && req.ctx->pts)
		ret = -EOPNOTSUPP;
	while (!ret) {
		ret = submit_once(&req);
		if (ret != TESSERA_AGAIN_PAGES && ret != TESSERA_AGAIN_FOREIGN)
			break;
		ret = wait_unlocked(&req, ret);
	}
	data->num_parts = ret ? 0 : req.num_parts;
	data->err = req.err;
	tessera_request_fini(&req);

	return ret;
}
