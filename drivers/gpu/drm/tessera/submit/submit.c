// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: submission
 *
 * A submission is armed in batches. Each attempt at a batch takes the same steps: pass the engine's
 * gate, lock objects, look for foreign fences at them, bring the objects to their places, arm (submit/run.c). A submission is one batch of one part
 * if all its objects fit at once. It needs no plan and costs nothing for the splitting of others.
 * Batches are planned only if memory does not suffice, or if the context is to be split for a test
 * (submit/plan.c).
 *
 * An attempt that cannot be finished has a reason to begin again (&enum tessera_again), and
 * begin_again() says for each reason what the submission waits for. Until a part is armed, the submission
 * leaves the gate for that, all waits end with a signal, and the call can be made again. Behind
 * armed parts the gate stays closed: no wait for others is without a limit then, and only a fatal
 * signal ends one. Few parts are unfinished at any time. Beyond that the caller waits, with no lock
 * held but its context's.
 *
 * A failure before the first part fails the ioctl. After that, what has been pushed
 * stands, and a job without commands ends the submission with the error, so that user
 * space sees one fence (SPLIT-34, SPLIT-35). A fatal signal or the end of
 * the device just ends it.
 *
 * Locks: the context's, then reservations. Between the two the engine's gate is passed.
 */
#include <linux/jiffies.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_exec.h>

#include "exec/exec.h"
#include "mem/mem.h"
#include "segments/segments.h"
#include "submit/submit.h"
#include "sync/sync.h"
#include "tessera_device.h"
#include "tessera_trace.h"
#include "tessera_uobj.h"

/*
 * Victims are chosen for one object at a time. A plan knows what else the submission uses, so it is
 * better for a submission that needs many of them.
 */
#define MAX_EVICTIONS		256

/* Disturbed attempts at a batch before other submissions are kept out of it. */
#define MAX_MISSES		3

/* Further ones before they are let in again. The client disturbs these itself. */
#define MAX_CLAIMED_MISSES	8

/* Job timeouts of waiting for dying objects with the gate closed. Some jobs on the way may hang. */
#define DYING_TIMEOUTS		12

/* How often a submission that waits for objects that others hold looks at them. */
#define HOLD_LOOK_JIFFIES	HZ

/* Behind armed parts the call cannot be made again: only a fatal signal ends a wait. */
static unsigned int run_state(const struct tessera_submit_run *run)
{
	return run->last ? TESSERA_GROUP_WAIT : TASK_INTERRUPTIBLE;
}

/* ---- Claims -------------------------------------------------------------- */

/* The managers of the segments that it may touch, in the order of segments, then NULL. */
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

/* Another submission has claimed a segment. */
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
 * Jiffies that are left of some job timeouts for waits behind armed parts that other clients may
 * prolong. All such waits of the submission count together. The clock runs until run_waits_end().
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
	/* The watchdog of the gate leaves such a wait to this limit. */
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

/* For objects that are being destroyed, or that older submissions hold. */
static int wait_for_room(struct tessera_submit_run *run, enum tessera_room_event event,
			 long timeout)
{
	/* Even if there are events all the time. */
	if (!timeout)
		return -ETIME;

	return tessera_room_wait_timeout(run->req->tdev, event, run->seen[event],
					 run_state(run), timeout);
}

/* Nobody signals that a hold has ended by time. */
static int wait_for_holds(struct tessera_submit_run *run)
{
	int ret = wait_for_room(run, TESSERA_ROOM_RELEASED, HOLD_LOOK_JIFFIES);

	return ret == -ETIME ? 0 : ret;
}

/* An object waits for a foreign fence, or another device has to be asked for it, behind armed parts. */
static int wait_for_foreign(struct tessera_submit_run *run, long timeout)
{
	int ret;

	if (!timeout)
		return -ETIME;
	ret = tessera_request_unblock(run->req, TESSERA_WAIT_FOREIGN_PARTS,
				      min_t(long, timeout, HZ));
	/* The next attempt finds whether the context was lost meanwhile. */
	if (ret == -ETIME)
		return 0;

	/* Other drivers may end with any signal. */
	return ret == -ERESTARTSYS ? tessera_uobj_may_go_on(NULL) : ret;
}

/* Pages of processes, behind armed parts. */
static int wait_for_pages(struct tessera_submit_run *run, long timeout)
{
	if (!timeout)
		return -ETIME;
	if (++run->req->changes >= TESSERA_USER_TRIES)
		return -EBUSY;

	return tessera_request_ready(run->req, get_jiffies_64() + timeout);
}

/*
 * Claim the segments after some disturbed attempts. A submission waits for nothing while it has a
 * claim, and each other submission that is placing objects at that moment can disturb it once. So
 * the claim is kept until the batch is armed.
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
 * Wait for what an attempt could not be finished without. Only the context's lock is held, and
 * behind armed parts the gate.
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
		return tessera_manager_wait_closed(tdev, run->seen[TESSERA_ROOM_UNCLAIMED],
						   run_state(run));
	case TESSERA_AGAIN_SPLIT:
		return tessera_plan_init(run);
	case TESSERA_AGAIN_DYING:
		return wait_for_room(run, TESSERA_ROOM_FREED, run_patience(run, DYING_TIMEOUTS));
	case TESSERA_AGAIN_HELD:
		run_waits_end(run);
		return wait_for_holds(run);
	case TESSERA_AGAIN_FOREIGN:
		/* Without parts tessera_submit() waits, with nothing held. */
		return run->last ? wait_for_foreign(run, run_patience(run, 1)) : why;
	case TESSERA_AGAIN_PAGES:
		/* Without parts tessera_submit() waits, with nothing held. */
		return run->last ? wait_for_pages(run, run_patience(run, 1)) : why;
	case TESSERA_AGAIN_VOID:
		/* Armed parts cannot go on behind others' jobs. */
		return run->last ? -ETIME : 0;
	default:
		drm_WARN_ON(&tdev->drm, 1);
		return -EINVAL;
	}
}

/* ---- An attempt ---------------------------------------------------------- */

/*
 * A group that is going to close a gate waits for jobs of other engines before, since its parts are
 * ordered behind jobs of its own engine only.
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
					 group ? tessera_group_unfinished(group) : NULL);
	run->inside = !ret;

	return ret;
}

/* The submission has locked it, so it is among those that it needs. */
static bool is_locked(struct tessera_bo *bo, void *ticket)
{
	return dma_resv_locking_ctx(bo->tbo.base.resv) == ticket;
}

static int validate_objects(struct tessera_request *req, struct drm_exec *exec)
{
	struct tessera_room_rules rules = {
		.evictions = MAX_EVICTIONS,
		.spares = is_locked,
		.data = &exec->ticket,
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

	/* Once there are parts the call cannot be made again, and locks are held for one batch. */
	if (!run->last)
		flags |= DRM_EXEC_INTERRUPTIBLE_WAIT;
	drm_exec_init(&exec, flags, run->group ? 0 : req->list.num_allocs);
	drm_exec_until_all_locked(&exec) {
		ret = run->group ? tessera_plan_lock(run, &exec) : lock_whole(req, &exec);
		drm_exec_retry_on_contention(&exec);
		if (ret)
			break;
	}
	/* Do not disturb the owner of a claim by a batch that cannot be finished. */
	if (!ret && run->group && run_closed(run))
		ret = -EAGAIN;
	/* Unplug does not wait for locks, which other drivers may hold. */
	if (!ret && !drm_dev_enter(&req->tdev->drm, &idx))
		ret = -ENODEV;
	if (!ret) {
		ret = run->group ? tessera_plan_follow(run) : run_whole(run, &exec);
		drm_dev_exit(idx);
	}
	drm_exec_fini(&exec);

	return ret;
}

/*
 * No further part would run, or the gate was given to others. A submission that fits is not asked
 * whether its client has gone: the fence of its job says that.
 */
static int run_dropped(const struct tessera_submit_run *run)
{
	if (run->group && drm_dev_is_unplugged(&run->req->tdev->drm))
		return -ENODEV;
	if (run->group && READ_ONCE(run->req->ctx->dropped))
		return -EIO;

	return tessera_gate_is_void(&run->req->pass) ? TESSERA_AGAIN_VOID : 0;
}

/* One attempt at a batch, inside the gate. Returns an error, or a reason to begin again. */
static int try_batch(struct tessera_submit_run *run)
{
	u32 event;
	int ret;

	for (event = 0; event < TESSERA_ROOM_EVENTS; event++)
		run->seen[event] = tessera_room_seen(run->req->tdev, event);
	/* Behind that, as these are signalled, too, when the context is lost or the device goes. */
	ret = run_dropped(run);
	if (!ret && run->group)
		ret = tessera_plan_make(run);
	if (!ret)
		ret = arm_batch(run);
	if (run->group)
		tessera_plan_drop(run);

	/* Errors of the layers below that are reasons. */
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
 * Whether all objects could be resident at once if nothing else were. Paging in what
 * fits of a submission that does not would be for nothing.
 */
static bool may_fit(const struct tessera_submit_run *run)
{
	const struct tessera_request *req = run->req;
	const struct tessera_segment *seg;
	u64 wanted = 0, room = 0;
	u32 i;

	for (i = 0; i < req->num_uses; i++)
		wanted += tessera_bo_bytes(req->bos[req->uses[i]]);
	for (i = 0; i < tessera_segment_count(req->tdev); i++) {
		seg = tessera_segment_by_index(req->tdev, i);
		if (run->segments & BIT(seg->id))
			room += seg->commit;
	}

	return wanted <= room;
}

/* Parts are armed, and more of them are to come. */
static int run_advance(struct tessera_submit_run *run)
{
	run_waits_end(run);
	run_unclaim(run);
	/* The next attempt finds again what has kept this one from more parts. */
	tessera_blocker_clear(&run->req->blocker);
	run->misses = 0;
	run->req->changes = 0;
	tessera_plan_take_turns(run);

	return tessera_group_wait(run->group, TESSERA_GROUP_PARTS - TESSERA_BATCH_PARTS) ?:
	       tessera_group_error(run->group);
}

static int run_batch(struct tessera_submit_run *run)
{
	u32 before = run->num_parts;
	int ret = TESSERA_AGAIN_PAGES;

	/* Before the gate. Whether it still is when a part is armed is looked at then. */
	if (tessera_request_is_ready(run->req))
		ret = run_enter(run) ?: try_batch(run);

	if (run->num_parts == before)
		return ret > 0 ? begin_again(run, ret) : ret;
	if (ret < 0 || run->ended)
		return ret;

	/* Some parts of a batch are one, too. */
	return run_advance(run);
}

static int run_all(struct tessera_submit_run *run)
{
	int ret = 0;

	if (tessera_split_is_forced(run->req) || !may_fit(run))
		ret = tessera_plan_init(run);
	while (!ret && !run->ended)
		ret = run_batch(run);
	/* A submission of a dying thread or device needs no end. */
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

/* With nothing armed and nothing held. Others may change things in between, as often as they like. */
static int wait_unlocked(struct tessera_request *req, enum tessera_again why)
{
	if (why == TESSERA_AGAIN_PAGES)
		return ++req->changes < TESSERA_USER_TRIES ? tessera_request_ready(req, 0) : -EBUSY;
	/* One round for each object may be needed in any case. */
	if (++req->blocks >= TESSERA_USER_TRIES + req->list.num_allocs)
		return -EBUSY;

	return tessera_request_unblock(req, TESSERA_WAIT_FOREIGN, MAX_SCHEDULE_TIMEOUT);
}

/**
 * tessera_submit() - run a submission, in as many parts as memory makes necessary
 * @tdev: the device
 * @file: the client
 * @contexts: the client's contexts
 * @data: what it brought; receives the number of parts, or where the fault is
 *
 * No lock may be held.
 *
 * Return: 0, also if the submission ends early: then its fence carries the error. -EINTR for a fatal
 * signal and -ENODEV, maybe after some parts. Otherwise one of the errors of
 * &struct drm_tessera_submit, and nothing was run.
 */
int tessera_submit(struct tessera_device *tdev, struct drm_file *file, struct xarray *contexts,
		   struct tessera_submit_data *data)
{
	struct tessera_request req;
	int ret;

	ret = tessera_request_init(&req, tdev, file, contexts, data);
	if (!ret && req.ctx->space)
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
