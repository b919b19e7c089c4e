// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: gates
 *
 * The gate of an engine keeps the parts of one submission together. An engine
 * that cannot save and restore a context has to run them back to back
 * (SCHED-2). A submission of several parts, a group, closes the gate before its
 * first part is armed and opens it after its last part. All other submissions
 * pass the gate before they lock or arm anything, and wait there while it is
 * closed. Their jobs depend on the last part of the group before them. The
 * first part of a group depends on all jobs that were armed before it. Paging,
 * other engines, and devices with preemption have no gate (SCHED-3, SCHED-5).
 *
 * Epochs
 * ------
 *
 * An epoch is a fence that signals when the last of the jobs that joined it has
 * finished. Each job joins the current epoch when it is armed. The first part
 * of a group depends on the current epoch and begins the next one.
 *
 * Turns
 * -----
 *
 * The gate admits the waiting submission whose process had its last turn
 * longest ago. A process that has never had a turn counts as having had the
 * latest one. Otherwise new processes would overtake the waiting ones.
 *
 * Depth
 * -----
 *
 * A process may have few unfinished jobs on such an engine (client/quota.c),
 * plus the parts of one group. Its next submission waits in
 * tessera_gate_enter(), in front of the gate. A group thus waits for at most
 * that number of jobs per process, however much a process submits.
 *
 * Watchdog
 * --------
 *
 * A thread that has passed the gate, or has closed it, may not get to run
 * (SCHED_IDLE, cpu.max, memory.high). The waiting threads watch it. One of them
 * checks the gate sixteen times a second. This check counts against the gate if
 * the gate keeps other threads waiting although no group has closed it, or
 * although the group has no unfinished part.
 *
 * A group may keep the engine idle for the sum of:
 *
 * - one second,
 * - four times as long as the engine works on its parts,
 * - eight times as long as its thread runs, of which ten seconds count at most.
 *
 * Submissions that have passed an open gate have one second. Beyond that all
 * passes become void, and the gate is open. A thread that is slow because its
 * work is long, or because the machine is busy, keeps its turn. A thread that
 * gets less than an eighth of a CPU loses it, and so does a thread that plans
 * without end.
 *
 * A void pass arms nothing any more (tessera_gate_arm()). A submission that has
 * armed nothing passes the gate again. A group that has armed parts ends with
 * -ETIME: otherwise jobs of other clients would come between its parts.
 *
 * Each gate has a spinlock, for process context. It is held while a job is
 * armed, so that a pass cannot become void between the check and the arming.
 */
#include <linux/dma-fence.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>

#include "base/device.h"
#include "base/trace.h"
#include "base/wait.h"
#include "client/client.h"
#include "exec/exec.h"
#include "submit/submit.h"

/* Interval of the watchdog's checks. */
#define TICK_JIFFIES	DIV_ROUND_UP(HZ, 16)

/* Idle checks that are allowed: a constant, and more for each busy check. */
#define IDLE_TICKS	16
#define IDLE_PER_BUSY	4

/*
 * Idle checks that are allowed for each tick that the thread of the group has
 * run, and their limit.
 */
#define IDLE_PER_RUN	8ULL
#define MAX_IDLE_RUN	160ULL
#define TICK_NS		(NSEC_PER_SEC / 16)

struct tessera_epoch {
	struct dma_fence base;
	/* Lock of the fence. */
	spinlock_t lock;
	/* Jobs that have not finished, plus one while more jobs may join. */
	atomic_t jobs;
};

struct tessera_gate {
	/* Protects all below; process context. */
	spinlock_t lock;
	struct tessera_device *tdev;
	u32 engine;
	/* &tessera_pass.node of the waiting submissions. */
	struct list_head waiters;
	/* Number of the last turn, see &tessera_process.gate_turn. */
	u64 turn;
	/* Current number; passes with another number are void. */
	u32 number;
	/*
	 * Submissions that have passed and not left; 0 while a group has closed
	 * the gate.
	 */
	u32 inside;
	/* The group that has closed the gate, or NULL. */
	struct tessera_pass *owner;
	/* Time of the watchdog's last check, in jiffies. */
	unsigned long ticked;
	/* Results of the checks since a submission has last passed or left. */
	u32 idle, busy;
	/* CPU time of the owner's thread when @idle was reset, in ns. */
	u64 ran;
	/* Fence of the last part of the last group, or NULL. */
	struct dma_fence *last;
	/* The current epoch. */
	struct tessera_epoch *epoch;
};

struct tessera_gates {
	struct tessera_gate gate[TSR_MAX_ENGINES];
};

static const char *epoch_get_driver_name(struct dma_fence *fence)
{
	return "tessera";
}

static const char *epoch_get_timeline_name(struct dma_fence *fence)
{
	return "tessera-epoch";
}

static const struct dma_fence_ops epoch_ops = {
	.get_driver_name = epoch_get_driver_name,
	.get_timeline_name = epoch_get_timeline_name,
};

static struct tessera_epoch *epoch_create(void)
{
	struct tessera_epoch *epoch = kzalloc(sizeof(*epoch), GFP_KERNEL_ACCOUNT);

	if (!epoch)
		return NULL;
	spin_lock_init(&epoch->lock);
	atomic_set(&epoch->jobs, 1);
	dma_fence_init(&epoch->base, &epoch_ops, &epoch->lock, dma_fence_context_alloc(1), 1);

	return epoch;
}

static struct tessera_epoch *epoch_join(struct tessera_epoch *epoch)
{
	atomic_inc(&epoch->jobs);
	dma_fence_get(&epoch->base);

	return epoch;
}

static void epoch_part(struct tessera_epoch *epoch)
{
	if (!epoch)
		return;
	if (atomic_dec_and_test(&epoch->jobs))
		dma_fence_signal(&epoch->base);
	dma_fence_put(&epoch->base);
}

/* Returns NULL if the device can preempt. */
static struct tessera_gate *gate_of(struct tessera_device *tdev, u32 engine)
{
	if (tdev->info.caps & TSR_CAP_PREEMPTION)
		return NULL;

	return &tdev->gates->gate[engine];
}

static void gates_fini(struct drm_device *drm, void *data)
{
	struct tessera_gates *gates = data;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(gates->gate); i++) {
		dma_fence_put(gates->gate[i].last);
		epoch_part(gates->gate[i].epoch);
	}
}

/**
 * tessera_gate_init() - set up the gates of all engines
 * @tdev: the device
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_gate_init(struct tessera_device *tdev)
{
	struct tessera_gates *gates;
	u32 i;
	int ret;

	gates = drmm_kzalloc(&tdev->drm, sizeof(*gates), GFP_KERNEL);
	if (!gates)
		return -ENOMEM;
	ret = drmm_add_action_or_reset(&tdev->drm, gates_fini, gates);
	if (ret)
		return ret;
	for (i = 0; i < ARRAY_SIZE(gates->gate); i++) {
		struct tessera_gate *gate = &gates->gate[i];

		spin_lock_init(&gate->lock);
		gate->tdev = tdev;
		gate->engine = i;
		INIT_LIST_HEAD(&gate->waiters);
		gate->epoch = epoch_create();
		if (!gate->epoch)
			return -ENOMEM;
	}
	tdev->gates = gates;

	return 0;
}

/*
 * The waiting submission whose process had its last turn longest ago; the first
 * of several.
 */
static struct tessera_pass *gate_next_locked(struct tessera_gate *gate)
{
	struct tessera_pass *pass, *next = NULL;

	lockdep_assert_held(&gate->lock);

	list_for_each_entry(pass, &gate->waiters, node)
		if (!next || pass->process->gate_turn[gate->engine] <
			     next->process->gate_turn[gate->engine])
			next = pass;

	return next;
}

/*
 * CPU time of the thread that has closed the gate. The thread exists, as it
 * opens the gate before it returns to user space.
 */
static u64 gate_runtime_locked(const struct tessera_gate *gate)
{
	lockdep_assert_held(&gate->lock);

	return gate->owner ? READ_ONCE(gate->owner->task->se.sum_exec_runtime) : 0;
}

static void gate_progress_locked(struct tessera_gate *gate)
{
	gate->idle = 0;
	gate->busy = 0;
	gate->ran = gate_runtime_locked(gate);
}

static bool gate_admit_locked(struct tessera_gate *gate, struct tessera_pass *pass)
{
	bool group = pass->unfinished;

	lockdep_assert_held(&gate->lock);

	if (gate->owner || (group && gate->inside))
		return false;
	if (group)
		gate->owner = pass;
	else
		gate->inside++;
	pass->number = gate->number;
	pass->process->gate_turn[gate->engine] = ++gate->turn;
	gate_progress_locked(gate);
	trace_tessera_gate_pass(gate->engine, pass->process->id, group);

	return true;
}

/*
 * Admit one waiting submission. It calls this for the next one when it wakes
 * up.
 */
static void gate_hand_on_locked(struct tessera_gate *gate)
{
	struct tessera_pass *next = gate_next_locked(gate);

	lockdep_assert_held(&gate->lock);

	if (!next || !gate_admit_locked(gate, next))
		return;
	list_del(&next->node);
	WRITE_ONCE(next->admitted, true);
	/* The waking thread takes the lock first, so @next stays valid here. */
	wake_up(&next->wait);
}

static bool gate_try(struct tessera_gate *gate, struct tessera_pass *pass)
{
	struct tessera_process *process = pass->process;
	bool admitted;

	spin_lock(&gate->lock);
	/*
	 * A new process is queued behind all waiting ones, at the place of one
	 * that has just had a turn.
	 */
	if (!process->gate_turn[gate->engine])
		process->gate_turn[gate->engine] = gate->turn;
	admitted = list_empty(&gate->waiters) && gate_admit_locked(gate, pass);
	if (!admitted) {
		if (list_empty(&gate->waiters)) {
			gate_progress_locked(gate);
			gate->ticked = jiffies;
		}
		list_add_tail(&pass->node, &gate->waiters);
		trace_tessera_gate_wait(gate->engine, process->id, pass->unfinished);
	}
	spin_unlock(&gate->lock);

	return admitted;
}

/*
 * Whether the submissions inside keep the waiting ones out without need for too
 * long.
 */
static bool gate_stalls_locked(struct tessera_gate *gate)
{
	const struct tessera_pass *owner = gate->owner;
	unsigned long excused = owner ? READ_ONCE(owner->excused) : 0;
	u64 ran = div_u64(gate_runtime_locked(gate) - gate->ran, TICK_NS);

	/*
	 * The excuse expires: the thread that is to clear it may not get to run
	 * either.
	 */
	if (excused && time_before(jiffies, excused))
		return false;
	if (owner && atomic_read(owner->unfinished))
		gate->busy++;
	else if (owner || gate->inside)
		gate->idle++;

	return gate->idle > IDLE_TICKS + IDLE_PER_BUSY * gate->busy +
			    min(IDLE_PER_RUN * ran, MAX_IDLE_RUN);
}

/* The watchdog, run by a waiting submission. */
static void gate_tick(struct tessera_gate *gate)
{
	spin_lock(&gate->lock);
	/*
	 * One check per tick, no matter how many threads wait or how long this
	 * one slept.
	 */
	if (time_after_eq(jiffies, gate->ticked + TICK_JIFFIES)) {
		gate->ticked = jiffies;
		if (gate_stalls_locked(gate)) {
			trace_tessera_gate_void(gate->engine,
						gate->owner ? gate->owner->process->id : 0,
						gate->owner);
			gate->number++;
			gate->inside = 0;
			gate->owner = NULL;
			gate_progress_locked(gate);
			gate_hand_on_locked(gate);
		}
	}
	spin_unlock(&gate->lock);
}

/* Returns true if the submission was admitted in spite of the signal. */
static bool gate_wait_ends(struct tessera_gate *gate, struct tessera_pass *pass)
{
	spin_lock(&gate->lock);
	if (!pass->admitted)
		list_del(&pass->node);
	/*
	 * The submission that leaves may have been the only obstacle for
	 * others.
	 */
	gate_hand_on_locked(gate);
	spin_unlock(&gate->lock);

	return pass->admitted;
}

static bool gate_may_pass(struct tessera_gate *gate, struct tessera_pass *pass)
{
	return READ_ONCE(pass->admitted) || drm_dev_is_unplugged(&gate->tdev->drm);
}

static int gate_wait(struct tessera_gate *gate, struct tessera_pass *pass)
{
	/* Counts as one wait, although the thread wakes up for the watchdog. */
	long ret = tessera_wait_in(TESSERA_WAIT_GATE, ({
		long left;

		while (!(left = wait_event_interruptible_timeout(pass->wait,
								 gate_may_pass(gate, pass),
								 TICK_JIFFIES)))
			gate_tick(gate);
		left;
	}));

	if (gate_wait_ends(gate, pass))
		return 0;

	return ret < 0 ? ret : -ENODEV;
}

/**
 * tessera_gate_enter() - pass the gate of an engine
 * @pass: receives the pass, to be returned with tessera_gate_leave()
 * @ctx: the context of the submission
 * @unfinished: for a group, which closes the gate: the number of its unfinished
 * parts, valid as long as the pass; else NULL
 *
 * Nothing may be armed, and no lock held but the context's and
 * &tessera_device.reset_lock.
 *
 * Return: 0, -ERESTARTSYS, -ENOMEM or -ENODEV.
 */
int tessera_gate_enter(struct tessera_pass *pass, struct tessera_context *ctx,
		       const atomic_t *unfinished)
{
	struct tessera_process *process = ctx->account->process;
	u32 engine = ctx->engine->id;
	struct tessera_gate *gate = gate_of(ctx->tdev, engine);
	int ret;

	*pass = (struct tessera_pass) {
		.gate = gate,
		.process = process,
		.unfinished = unfinished,
		.task = current,
	};
	if (!gate)
		return 0;
	if (unfinished) {
		pass->epoch = epoch_create();
		if (!pass->epoch)
			return -ENOMEM;
	}
	init_waitqueue_head(&pass->wait);
	tessera_wait_might(TESSERA_WAIT_GATE);
	ret = tessera_quota_enter_engine(&process->work, engine);
	pass->slot = !ret;
	if (!ret && !gate_try(gate, pass))
		ret = gate_wait(gate, pass);
	if (!ret)
		return 0;
	if (pass->slot)
		tessera_quota_leave_engine(&process->work, engine);
	epoch_part(pass->epoch);

	return ret;
}

/**
 * tessera_gate_order() - add the dependencies that the gate requires
 * @pass: the pass
 * @job: the job, not armed yet; of a group, its first part
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_gate_order(struct tessera_pass *pass, struct tessera_job *job)
{
	struct dma_fence *last = NULL, *before = NULL;
	struct tessera_gate *gate = pass->gate;
	int ret = 0;

	if (!gate)
		return 0;
	spin_lock(&gate->lock);
	if (gate->last && !dma_fence_is_signaled(gate->last))
		last = dma_fence_get(gate->last);
	/*
	 * With the gate closed no more jobs join the epoch, unless the pass
	 * becomes void.
	 */
	if (pass->unfinished && atomic_read(&gate->epoch->jobs) > 1)
		before = dma_fence_get(&gate->epoch->base);
	spin_unlock(&gate->lock);
	if (last)
		ret = tessera_job_add_dependency(job, last);
	if (before && !ret)
		return tessera_job_add_dependency(job, before);
	dma_fence_put(before);

	return ret;
}

/* Returns the epoch that is complete now, or NULL. */
static struct tessera_epoch *gate_arm_group_locked(struct tessera_gate *gate,
						   struct tessera_pass *pass,
						   struct tessera_job *job)
{
	struct tessera_epoch *before = NULL;

	lockdep_assert_held(&gate->lock);

	/*
	 * Fine under the spinlock: the last reference only queues an RCU
	 * callback.
	 */
	dma_fence_put(gate->last);
	gate->last = dma_fence_get(tessera_job_finished(job));
	if (pass->epoch) {
		before = gate->epoch;
		gate->epoch = pass->epoch;
		pass->epoch = NULL;
	}

	return before;
}

/**
 * tessera_gate_arm() - arm a job behind the gate
 * @pass: the pass
 * @job: the job; see tessera_job_arm()
 * @epoch: receives the argument for tessera_gate_done()
 *
 * Return: true; or false if the pass is void. The job is not armed then.
 */
bool tessera_gate_arm(struct tessera_pass *pass, struct tessera_job *job,
		      struct tessera_epoch **epoch)
{
	struct tessera_gate *gate = pass->gate;
	struct tessera_epoch *before = NULL;
	bool valid;

	if (!gate) {
		tessera_job_arm(job);
		return true;
	}
	spin_lock(&gate->lock);
	valid = pass->number == gate->number;
	if (valid) {
		tessera_job_arm(job);
		if (pass->unfinished)
			before = gate_arm_group_locked(gate, pass, job);
		else
			*epoch = epoch_join(gate->epoch);
		if (!pass->slot)
			tessera_quota_add_engine_job(&pass->process->work, gate->engine);
		pass->slot = false;
	}
	spin_unlock(&gate->lock);
	epoch_part(before);

	return valid;
}

/**
 * tessera_gate_is_void() - ask whether a pass has become void
 * @pass: the pass
 *
 * Return: true if it has. A valid pass may become void until
 * tessera_gate_arm().
 */
bool tessera_gate_is_void(const struct tessera_pass *pass)
{
	return pass->gate && pass->number != READ_ONCE(pass->gate->number);
}

/**
 * tessera_gate_leave() - return a pass
 * @pass: the pass; its submission arms nothing more
 */
void tessera_gate_leave(struct tessera_pass *pass)
{
	struct tessera_gate *gate = pass->gate;

	if (!gate)
		return;
	spin_lock(&gate->lock);
	if (pass->number == gate->number) {
		if (pass->unfinished)
			gate->owner = NULL;
		else
			gate->inside--;
		gate_progress_locked(gate);
		gate_hand_on_locked(gate);
	}
	spin_unlock(&gate->lock);
	if (pass->slot)
		tessera_quota_leave_engine(&pass->process->work, gate->engine);
	epoch_part(pass->epoch);
}

/**
 * tessera_gate_done() - note that a job behind a gate has finished
 * @process: the process of the job
 * @engine: engine of the job
 * @epoch: from tessera_gate_arm(), or NULL
 *
 * Any context.
 */
void tessera_gate_done(struct tessera_process *process, u32 engine, struct tessera_epoch *epoch)
{
	epoch_part(epoch);
	tessera_quota_leave_engine(&process->work, engine);
}
