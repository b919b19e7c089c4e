// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: split submissions
 *
 * Runs a submission that does not fit as it is, or that is to be cut for a test. It is planned
 * and armed a window at a time (submit/window.c): a bounded number of parts and of paging
 * operations, on a snapshot of memory, with only those objects locked that the plan touches.
 * Between two windows nothing is kept but the engine's gate, where the device needs one,
 * and holds on what stays bound over the cut. Few parts of it are unfinished at any time:
 * beyond that the caller waits, with no lock held but its context's.
 *
 * A failure before the first part fails the ioctl. After that, what has been pushed
 * stands, and a job without commands ends the submission with the error, so that user
 * space sees one fence, whatever happens (SPLIT-34, SPLIT-35). A fatal signal or the end of
 * the device just ends it.
 */
#include <linux/bitmap.h>
#include <linux/jiffies.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>

#include "exec/engine.h"
#include "exec/engine_types.h"
#include "mem/bo.h"
#include "mem/hold.h"
#include "mem/residency.h"
#include "mem/user.h"
#include "segments/manager.h"
#include "segments/room.h"
#include "submit/context.h"
#include "submit/foreign.h"
#include "submit/gate.h"
#include "submit/part.h"
#include "submit/request.h"
#include "submit/split_exec.h"
#include "submit/split_input.h"
#include "submit/window.h"
#include "tessera_device.h"
#include "tessera_trace.h"
#include "tessera_uobj.h"

/* Attempts at a window that others disturb, before they are kept out of it. */
#define MAX_MISSES	3

/* And then, before they are let in again: what is left is the client's own doing. */
#define MAX_CLAIMED_MISSES	8

/* Job timeouts for which others are kept waiting for dying objects: a few jobs that hang may be on the way. */
#define DYING_TIMEOUTS		12

/* Parts, and job timeouts, for which a submission keeps its age among those that hold objects. */
#define PARTS_PER_TURN		1024
#define TIMEOUTS_PER_TURN	12

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

static int run_init(struct tessera_split_run *run, struct tessera_request *req)
{
	u32 num = max(req->list.num_allocs, 1u);
	int ret;

	run->req = req;
	run->segments = tessera_split_segments(req);
	run->used = kvmalloc_array(num, sizeof(*run->used), TESSERA_GFP_LISTS);
	run->mark = kvcalloc(num, sizeof(*run->mark), TESSERA_GFP_LISTS);
	run->holding = kvcalloc(BITS_TO_LONGS(num), sizeof(long), TESSERA_GFP_LISTS);
	run->group = tessera_group_create(req->ctx);
	if (!run->used || !run->mark || !run->holding || !run->group)
		return -ENOMEM;
	run->closing = tessera_part_create(req->ctx, 0);
	if (IS_ERR(run->closing)) {
		ret = PTR_ERR(run->closing);
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
	if (run->group)
		tessera_group_put(run->group);
	kvfree(run->plan.op);
	kvfree(run->cursor_mem);
	kvfree(run->holding);
	kvfree(run->used);
	kvfree(run->mark);
	kfree(run);
}

static void run_unclaim(struct tessera_split_run *run)
{
	struct tessera_manager *mgr;
	u32 i = 0;

	if (!run->claimed)
		return;
	while ((mgr = tessera_window_manager(run, &i)))
		tessera_manager_unclaim(mgr);
	run->claimed = false;
}

static int run_claim(struct tessera_split_run *run)
{
	struct tessera_manager *mgr;
	u32 i = 0;
	int ret;

	run->claimed = true;
	while ((mgr = tessera_window_manager(run, &i))) {
		ret = tessera_manager_claim(mgr);
		if (ret)
			return ret;
	}

	return 0;
}

/*
 * Jiffies that are left of some job timeouts, for waits that somebody else may prolong: all that the
 * submission has, not each of them. The clock runs until run_waits_end().
 */
static long run_patience(struct tessera_split_run *run, u32 timeouts)
{
	u64 limit = timeouts * (u64)msecs_to_jiffies(tessera_engine_timeout_ms(run->req->tdev));
	u64 now = get_jiffies_64(), waited;

	if (!run->waits_since)
		run->waits_since = now;
	/* The watchdog of the gate leaves that to these limits. */
	WRITE_ONCE(run->req->pass.excused, true);
	waited = run->waited + now - run->waits_since;

	return waited < limit ? limit - waited : 0;
}

static void run_waits_end(struct tessera_split_run *run)
{
	if (run->waits_since)
		run->waited += get_jiffies_64() - run->waits_since;
	run->waits_since = 0;
	WRITE_ONCE(run->req->pass.excused, false);
}

/*
 * What passes by itself is waited for, with nothing claimed: dying objects, older ones' holds. Behind
 * parts the former is bounded: they wait for jobs, some of which may hang, and, if they were exported,
 * for others' fences.
 */
static int run_wait_for_room(struct tessera_split_run *run)
{
	enum tessera_room_event event = run->dying ? TESSERA_ROOM_FREED : TESSERA_ROOM_RELEASED;
	long timeout = MAX_SCHEDULE_TIMEOUT;

	run_unclaim(run);
	if (run->last && run->dying)
		timeout = run_patience(run, DYING_TIMEOUTS);
	else
		run_waits_end(run);
	/* Even if there is news all the time. */
	if (!timeout)
		return -ETIME;

	return tessera_room_wait_timeout(run->req->tdev, event, run->seen[event],
					 run->last ? TESSERA_GROUP_WAIT : TASK_INTERRUPTIBLE,
					 timeout);
}

/*
 * Others were there first. What was armed stands; the rest is planned again. Nobody is waited
 * for while others are kept out, and those that were in the middle of something when they
 * were cannot disturb again; so the claim is kept until the window is armed.
 */
static int run_again(struct tessera_split_run *run, u32 *misses)
{
	struct tessera_device *tdev = run->req->tdev;

	if (++*misses < (run->claimed ? MAX_CLAIMED_MISSES : MAX_MISSES))
		return 0;
	if (run->claimed) {
		run_unclaim(run);
		*misses = 0;
		return 0;
	}
	if (tessera_window_closed(run)) {
		*misses = MAX_MISSES - 1;
		return tessera_manager_wait_closed(tdev, run->seen[TESSERA_ROOM_UNCLAIMED],
						   run->last ? TASK_KILLABLE : TASK_INTERRUPTIBLE);
	}
	*misses = 0;

	return run_claim(run);
}

/*
 * An object waits for a foreign fence, or another device has to be asked for it. The engine is kept from others
 * meanwhile, so all such waits behind parts together are limited to one job timeout.
 */
static int run_wait_for_foreign(struct tessera_split_run *run)
{
	struct tessera_request *req = run->req;
	long left = run_patience(run, 1);
	int ret = -ETIME;

	run_unclaim(run);
	if (left)
		ret = req->blocker.bo ? tessera_request_ask_others(req, false) : 0;
	if (!ret && req->blocker.fence)
		ret = tessera_foreign_wait_killable(req->tdev, &req->ctx->leashes,
						    req->blocker.fence, left);
	tessera_blocker_clear(&req->blocker);

	/* Other drivers may end with any signal. */
	return ret == -ERESTARTSYS ? tessera_uobj_may_go_on(NULL) : ret;
}

/*
 * Pages of processes. Without parts they are found with nothing held (-ESTALE); behind them others are not kept out
 * of segments, and wait for no longer than for somebody's fence.
 */
static int run_ready(struct tessera_split_run *run)
{
	long left;

	run->wait_for_room = false;
	if (tessera_request_is_ready(run->req))
		return 0;
	if (!run->last)
		return -ESTALE;
	run_unclaim(run);
	left = run_patience(run, 1);

	return left ? tessera_request_ready(run->req, get_jiffies_64() + left) : -ETIME;
}

/* Nothing of it would run any more, or the engine was given to others. */
static int run_dropped(const struct tessera_split_run *run)
{
	if (READ_ONCE(run->req->ctx->dropped))
		return drm_dev_is_unplugged(&run->req->tdev->drm) ? -ENODEV : -EIO;
	if (tessera_gate_is_void(&run->req->pass))
		return run->last ? -ETIME : -EINPROGRESS;

	return 0;
}

/* One window, in as many attempts as it takes. Without parts the caller waits, for room and for fences. */
static int run_window(struct tessera_split_run *run)
{
	struct tessera_device *tdev = run->req->tdev;
	u32 before = run->num_parts;
	u32 misses = 0, changes = 0, event;
	int ret;

	do {
		for (event = 0; event < TESSERA_ROOM_EVENTS; event++)
			run->seen[event] = tessera_room_seen(tdev, event);
		/* Asked behind that, or who is to wait no more could do so. */
		ret = run_dropped(run) ?: run_ready(run);
		ret = ret ?: tessera_window_run(run);
		/* Some of it is a window, too. */
		if ((ret == -EAGAIN || ret == -ESTALE) && run->num_parts != before)
			ret = 0;
		else if (ret == -ESTALE && run->last)
			ret = ++changes < TESSERA_USER_TRIES ? 0 : -EBUSY;
		else if (ret == -EAGAIN)
			ret = run_again(run, &misses);
		else if (ret == -EBUSY && run->wait_for_room && run->last)
			ret = run_wait_for_room(run);
		else if (ret == -EINPROGRESS && run->last)
			ret = run_wait_for_foreign(run);
		else
			break;
	} while (!ret && run->num_parts == before);
	run_waits_end(run);
	run_unclaim(run);

	return ret;
}

static void run_drop_holds(struct tessera_split_run *run)
{
	struct tessera_request *req = run->req;
	u32 i;

	if (bitmap_empty(run->holding, max(req->list.num_allocs, 1u)))
		return;
	for_each_set_bit(i, run->holding, req->list.num_allocs)
		tessera_hold_drop(req->bos[i], run->seniority);
	bitmap_zero(run->holding, max(req->list.num_allocs, 1u));
	tessera_hold_changed(req->tdev);
}

/*
 * Whoever waits for what this submission holds is younger. Now and then it lets go and becomes
 * the youngest, so that they wait for a bounded number of parts, however many there are.
 */
static void run_take_turns(struct tessera_split_run *run)
{
	struct tessera_device *tdev = run->req->tdev;
	u64 now = get_jiffies_64();

	/* Without parts it holds nothing, and its turn has not begun. */
	if (run->seniority && (!run->last || (run->num_parts < run->turn_parts &&
					      time_before64(now, run->turn_jiffies))))
		return;
	run_drop_holds(run);
	run->seniority = tessera_residency_next_stamp(tdev);
	run->turn_parts = run->num_parts + PARTS_PER_TURN;
	run->turn_jiffies = now + TIMEOUTS_PER_TURN *
				  (u64)msecs_to_jiffies(tessera_engine_timeout_ms(tdev));
}

static int run_windows(struct tessera_split_run *run)
{
	int ret;

	do {
		run_take_turns(run);
		ret = tessera_group_wait(run->group,
					 TESSERA_GROUP_PARTS - TESSERA_WINDOW_PARTS);
		if (!ret)
			ret = tessera_group_overran(run->group);
		if (!ret)
			ret = run_window(run);
	} while (!ret && !run->cursor.done);

	return ret;
}

/* The gate is closed, if there is one. */
static int run_all(struct tessera_split_run *run)
{
	int ret = run_windows(run);

	/* Half a submission with nobody to wait for it needs no end. */
	if (ret && run->last && ret != -EINTR && ret != -ENODEV)
		ret = tessera_window_close(run, ret);
	run_drop_holds(run);

	return ret;
}

/*
 * A group that waited for somebody's fence behind a closed gate would make everybody else wait
 * for that, too. Jobs of the engine are waited for in any case.
 */
static int close_gate(struct tessera_split_run *run)
{
	struct tessera_request *req = run->req;
	struct tessera_engine *engine = req->ctx->engine;
	int ret;

	if (tessera_gate_there(req->tdev, engine->id)) {
		ret = tessera_syncs_wait(&req->syncs, req->tdev, &req->ctx->leashes, engine);
		if (!ret)
			ret = tessera_request_wait_foreign(req);
		if (ret)
			return ret;
	}

	return tessera_gate_enter(&req->pass, req->tdev, engine->id, req->ctx->account->payer,
				  tessera_group_unfinished(run->group));
}

/**
 * tessera_split_exec() - run a submission in as many parts as memory makes necessary
 * @req: the submission, checked, its context's lock held
 * @num_parts: receives the number of parts
 *
 * Return: 0, also if the submission ends early: then its fence carries the error.
 * -EINTR for a fatal signal and -ENODEV, maybe after some parts. Otherwise nothing
 * runs: -EIO if the context is lost, -ENOSPC if one split point needs more than its segments
 * hold, -ENOMEM, or -ERESTARTSYS.
 */
int tessera_split_exec(struct tessera_request *req, u32 *num_parts)
{
	struct tessera_split_run *run;
	int ret;

	run = kzalloc(sizeof(*run), GFP_KERNEL_ACCOUNT);
	if (!run)
		return -ENOMEM;
	ret = run_init(run, req);
	if (ret)
		goto out_fini;
	do {
		ret = close_gate(run);
		if (ret)
			break;
		ret = run_all(run);
		tessera_gate_leave(&req->pass);
		/* Nothing is armed yet: others are let in while it waits, for room or for a fence. */
		if (ret == -EBUSY && run->wait_for_room)
			ret = run_wait_for_room(run) ?: -EINPROGRESS;
		if (ret == -EINPROGRESS)
			ret = tessera_request_wait_foreign(req) ?: -EINPROGRESS;
	} while (ret == -EINPROGRESS);
	if (run->ended)
		tessera_syncs_signal(&req->syncs, tessera_job_finished(&run->last->job));
	*num_parts = run->num_parts;

out_fini:
	run_fini(run);
	return ret;
}
