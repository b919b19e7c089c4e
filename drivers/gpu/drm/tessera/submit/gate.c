// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: gates
 *
 * An engine that cannot save and restore a context has to run the parts of one submission
 * back to back (SCHED-2). So such a group closes the engine's gate before its first
 * window and opens it after its last part is armed. An ordinary submission to the engine
 * passes the gate before it locks or arms anything, and waits there while it is closed;
 * afterwards it depends on the group's last part. The group's first part depends on
 * all that was armed since the group before. Paging, other engines, and devices with
 * preemption have nothing to do with it (SCHED-3, SCHED-5).
 *
 * The gate is handed round: of those who wait, the client whose last turn is longest ago
 * is next, whatever number of submissions the others have waiting; one who has never had a turn is
 * taken to have had the last one, or new clients would pass those who wait. And a client's next
 * group does not pass before its last one has come to its last part, or short groups would
 * line up behind the gate, in front of everybody else.
 *
 * A long queue of one client is not to become everybody's: a group does not close the gate while
 * some client has more than a few jobs there that are not finished. Others pass
 * meanwhile; but while a group waits for that, a client that has a few gets no more of them in.
 *
 * "All that was armed since" is an epoch: a fence that signals when the last of the jobs
 * that joined it has finished. Jobs join between enter and leave; a group closes the gate when
 * nobody is inside, and begins a new epoch.
 *
 * Each gate has a spinlock, a leaf; waiting is done without any lock.
 */
#include <linux/dma-fence.h>
#include <linux/list.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>

#include "exec/job.h"
#include "segments/account.h"
#include "submit/gate.h"
#include "tessera_device.h"
#include "tessera_trace.h"
#include "tessera_wait.h"

/*
 * Jobs of one client that a group, and who comes behind it, may have to wait for. The ring takes two
 * at a time; with twice as many it does not run dry while submissions wait.
 */
#define FEW_JOBS	4

/* Admitted with interrupts off, before others get the processor; each hands on when it leaves. */
#define HAND_ON_AT_ONCE	8

struct tessera_epoch {
	struct dma_fence base;
	/* The fence's own. */
	spinlock_t lock;
	/* Jobs not finished, and one for as long as others may join. */
	atomic_t jobs;
};

struct tessera_gate {
	/* Protects all below; taken in any context. */
	spinlock_t lock;
	u32 engine;
	struct list_head waiters;
	/* Groups among them. */
	u32 groups;
	wait_queue_head_t wait;
	/* Number of the last turn, see &tessera_payer.gate_turn. */
	u64 turn;
	/* Submissions between enter and leave. */
	u32 inside;
	/* Payers with more than a few jobs. */
	u32 deep;
	bool closed;
	/* Last part of the last group, or NULL. */
	struct dma_fence *group;
	/* The part before that; and whose they are, NULL when it has finished: until then they live. */
	struct dma_fence *near;
	struct tessera_payer *near_payer;
	struct dma_fence_cb near_cb;
	/* What jobs join now. */
	struct tessera_epoch *epoch;
	/* What the group that has closed the gate waits for. */
	struct tessera_epoch *before;
};

struct tessera_gates {
	struct tessera_gate gate[TSR_MAX_ENGINES];
};

struct gate_waiter {
	struct list_head node;
	struct tessera_payer *payer;
	bool closes;
	bool admitted;
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

static void epoch_part(struct tessera_epoch *epoch)
{
	if (atomic_dec_and_test(&epoch->jobs))
		dma_fence_signal(&epoch->base);
	dma_fence_put(&epoch->base);
}

/* NULL: nobody has to wait for anybody. */
static struct tessera_gate *gate_of(struct tessera_device *tdev, u32 engine)
{
	if (tdev->info.caps & TSR_CAP_PREEMPTION)
		return NULL;

	return &tdev->gates->gate[engine];
}

/**
 * tessera_gate_there() - ask whether groups keep others from an engine
 * @tdev: the device
 * @engine: the engine
 *
 * Return: true if so: it cannot preempt.
 */
bool tessera_gate_there(struct tessera_device *tdev, u32 engine)
{
	return gate_of(tdev, engine);
}

static void gates_fini(struct drm_device *drm, void *data)
{
	struct tessera_gates *gates = data;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(gates->gate); i++) {
		dma_fence_put(gates->gate[i].group);
		dma_fence_put(gates->gate[i].near);
		if (gates->gate[i].epoch)
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
		gate->engine = i;
		INIT_LIST_HEAD(&gate->waiters);
		init_waitqueue_head(&gate->wait);
		gate->epoch = epoch_create();
		if (!gate->epoch)
			return -ENOMEM;
	}
	tdev->gates = gates;

	return 0;
}

/**
 * tessera_gate_unplug() - let nobody wait any more
 * @tdev: the device, after drm_dev_unplug()
 */
void tessera_gate_unplug(struct tessera_device *tdev)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(tdev->gates->gate); i++)
		wake_up_all(&tdev->gates->gate[i].wait);
}

/* A payer does not begin a group while its last one is far from its end. */
static bool gate_too_soon_locked(const struct tessera_gate *gate, const struct gate_waiter *waiter)
{
	lockdep_assert_held(&gate->lock);

	return waiter->closes && gate->near_payer == waiter->payer;
}

static bool gate_group_waits_locked(const struct tessera_gate *gate)
{
	lockdep_assert_held(&gate->lock);

	/* Those of the payer whose last one is far from its end do not count. */
	return gate->groups > (gate->near_payer ?
			       gate->near_payer->gate_groups[gate->engine] : 0);
}

static void gate_add_locked(struct tessera_gate *gate, struct gate_waiter *waiter)
{
	lockdep_assert_held(&gate->lock);

	list_add_tail(&waiter->node, &gate->waiters);
	gate->groups += waiter->closes;
	waiter->payer->gate_groups[gate->engine] += waiter->closes;
	trace_tessera_gate_wait(gate->engine, waiter->payer->id, waiter->closes);
}

static void gate_remove_locked(struct tessera_gate *gate, struct gate_waiter *waiter)
{
	lockdep_assert_held(&gate->lock);

	list_del(&waiter->node);
	gate->groups -= waiter->closes;
	waiter->payer->gate_groups[gate->engine] -= waiter->closes;
}

/* A newcomer is behind all who wait already, and no further back than one who has just had a turn. */
static void gate_meet_locked(struct tessera_gate *gate, struct tessera_payer *payer)
{
	lockdep_assert_held(&gate->lock);

	if (!payer->gate_turn[gate->engine])
		payer->gate_turn[gate->engine] = gate->turn;
}

/* Whether it waits for something else than its turn, so that others pass it by. */
static bool gate_keeps_back_locked(const struct tessera_gate *gate,
				   const struct gate_waiter *waiter, bool group_waits)
{
	lockdep_assert_held(&gate->lock);

	if (waiter->closes)
		return gate->deep || gate_too_soon_locked(gate, waiter);

	return group_waits && waiter->payer->gate_jobs[gate->engine] >= FEW_JOBS;
}

/* Whose last turn is longest ago; among equals the first. */
static struct gate_waiter *gate_next_locked(struct tessera_gate *gate)
{
	bool group_waits = gate_group_waits_locked(gate);
	struct gate_waiter *waiter, *next = NULL;

	lockdep_assert_held(&gate->lock);

	list_for_each_entry(waiter, &gate->waiters, node) {
		if (gate_keeps_back_locked(gate, waiter, group_waits))
			continue;
		if (!next || waiter->payer->gate_turn[gate->engine] <
			     next->payer->gate_turn[gate->engine])
			next = waiter;
	}

	return next;
}

static void gate_count_locked(struct tessera_gate *gate, struct tessera_payer *payer)
{
	lockdep_assert_held(&gate->lock);

	if (payer->gate_jobs[gate->engine]++ == FEW_JOBS)
		gate->deep++;
}

static void gate_uncount_locked(struct tessera_gate *gate, struct tessera_payer *payer)
{
	lockdep_assert_held(&gate->lock);

	if (--payer->gate_jobs[gate->engine] == FEW_JOBS)
		gate->deep--;
}

/* Nothing keeps it back. */
static bool gate_admit_locked(struct tessera_gate *gate, struct gate_waiter *waiter)
{
	lockdep_assert_held(&gate->lock);

	if (gate->closed || (waiter->closes && gate->inside))
		return false;
	if (waiter->closes) {
		gate->closed = true;
	} else {
		gate->inside++;
		gate_count_locked(gate, waiter->payer);
	}
	waiter->payer->gate_turn[gate->engine] = ++gate->turn;
	trace_tessera_gate_pass(gate->engine, waiter->payer->id, waiter->closes);

	return true;
}

static void gate_hand_on_locked(struct tessera_gate *gate)
{
	struct gate_waiter *waiter;
	bool any = false;
	u32 i;

	for (i = 0; i < HAND_ON_AT_ONCE; i++) {
		waiter = gate_next_locked(gate);
		if (!waiter || !gate_admit_locked(gate, waiter))
			break;
		gate_remove_locked(gate, waiter);
		WRITE_ONCE(waiter->admitted, true);
		any = true;
	}
	if (any)
		wake_up_all(&gate->wait);
}

static bool gate_try(struct tessera_gate *gate, struct gate_waiter *waiter)
{
	bool admitted;

	spin_lock_irq(&gate->lock);
	gate_meet_locked(gate, waiter->payer);
	/* Whoever could pass stands in line; those who are kept back do not count. */
	admitted = !gate_next_locked(gate) &&
		   !gate_keeps_back_locked(gate, waiter, gate_group_waits_locked(gate)) &&
		   gate_admit_locked(gate, waiter);
	if (!admitted)
		gate_add_locked(gate, waiter);
	spin_unlock_irq(&gate->lock);

	return admitted;
}

/* True if the waiter was admitted after all. */
static bool gate_withdraw(struct tessera_gate *gate, struct gate_waiter *waiter)
{
	spin_lock_irq(&gate->lock);
	if (!waiter->admitted) {
		gate_remove_locked(gate, waiter);
		/* It may have been what others stood behind. */
		gate_hand_on_locked(gate);
	}
	spin_unlock_irq(&gate->lock);

	return waiter->admitted;
}

static int gate_pass(struct tessera_device *tdev, u32 engine, struct tessera_payer *payer,
		     bool closes)
{
	struct tessera_gate *gate = gate_of(tdev, engine);
	struct gate_waiter waiter = { .payer = payer, .closes = closes };
	int ret;

	if (gate_try(gate, &waiter))
		return 0;
	ret = tessera_wait_event(TESSERA_WAIT_GATE, gate->wait, READ_ONCE(waiter.admitted) ||
				 drm_dev_is_unplugged(&tdev->drm), TASK_INTERRUPTIBLE);
	if (gate_withdraw(gate, &waiter))
		return 0;

	return ret ?: -ENODEV;
}

/**
 * tessera_gate_enter() - begin an ordinary submission
 * @tdev: the device
 * @engine: engine it is for
 * @payer: whose it is
 *
 * No lock may be held but the context's, and nothing be armed. Ends with
 * tessera_gate_leave().
 *
 * Return: 0, -ERESTARTSYS or -ENODEV.
 */
int tessera_gate_enter(struct tessera_device *tdev, u32 engine, struct tessera_payer *payer)
{
	return gate_of(tdev, engine) ? gate_pass(tdev, engine, payer, false) : 0;
}

/**
 * tessera_gate_leave() - all of an ordinary submission is armed, or nothing will be
 * @tdev: the device
 * @engine: engine it is for
 * @payer: whose it is
 * @joined: tessera_gate_join() was called for its job
 */
void tessera_gate_leave(struct tessera_device *tdev, u32 engine, struct tessera_payer *payer,
			bool joined)
{
	struct tessera_gate *gate = gate_of(tdev, engine);

	if (!gate)
		return;
	spin_lock_irq(&gate->lock);
	gate->inside--;
	if (!joined)
		gate_uncount_locked(gate, payer);
	gate_hand_on_locked(gate);
	spin_unlock_irq(&gate->lock);
}

/**
 * tessera_gate_join() - count a job among those the next group waits for
 * @tdev: the device
 * @engine: engine of the job, whose gate its submission has passed
 *
 * At most one for each submission.
 *
 * Return: what tessera_gate_done() wants when the job has finished; NULL if there is nothing
 * to count.
 */
struct tessera_epoch *tessera_gate_join(struct tessera_device *tdev, u32 engine)
{
	struct tessera_gate *gate = gate_of(tdev, engine);

	if (!gate)
		return NULL;
	/* Nobody begins another epoch while somebody is inside. */
	atomic_inc(&gate->epoch->jobs);
	dma_fence_get(&gate->epoch->base);

	return gate->epoch;
}

/**
 * tessera_gate_done() - a job that has joined has finished
 * @tdev: the device
 * @engine: engine of the job
 * @payer: whose it is
 * @epoch: from tessera_gate_join(), or NULL
 *
 * Any context.
 */
void tessera_gate_done(struct tessera_device *tdev, u32 engine, struct tessera_payer *payer,
		       struct tessera_epoch *epoch)
{
	struct tessera_gate *gate = gate_of(tdev, engine);
	unsigned long flags;

	if (!epoch)
		return;
	epoch_part(epoch);
	spin_lock_irqsave(&gate->lock, flags);
	gate_uncount_locked(gate, payer);
	if (!gate->closed)
		gate_hand_on_locked(gate);
	spin_unlock_irqrestore(&gate->lock, flags);
}

/**
 * tessera_gate_order() - run after the engine's last group
 * @tdev: the device
 * @engine: engine of the job, whose gate is passed or closed by the caller
 * @job: the job, not armed yet
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_gate_order(struct tessera_device *tdev, u32 engine, struct tessera_job *job)
{
	struct tessera_gate *gate = gate_of(tdev, engine);

	if (!gate || !gate->group || dma_fence_is_signaled(gate->group))
		return 0;

	return tessera_job_add_dependency(job, dma_fence_get(gate->group));
}

/**
 * tessera_gate_close() - begin a group
 * @tdev: the device
 * @engine: engine it is for
 * @payer: whose it is
 *
 * As tessera_gate_enter(); ends with tessera_gate_open().
 *
 * Return: 0, -ERESTARTSYS, -ENOMEM or -ENODEV.
 */
int tessera_gate_close(struct tessera_device *tdev, u32 engine, struct tessera_payer *payer)
{
	struct tessera_gate *gate = gate_of(tdev, engine);
	struct tessera_epoch *epoch;
	int ret;

	if (!gate)
		return 0;
	epoch = epoch_create();
	if (!epoch)
		return -ENOMEM;
	ret = gate_pass(tdev, engine, payer, true);
	if (ret) {
		epoch_part(epoch);
		return ret;
	}
	gate->before = gate->epoch;
	gate->epoch = epoch;
	/* The group's reference, and no more jobs join. */
	dma_fence_get(&gate->before->base);
	epoch_part(gate->before);

	return 0;
}

static void gate_near_cb(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct tessera_gate *gate = container_of(cb, struct tessera_gate, near_cb);
	unsigned long flags;

	spin_lock_irqsave(&gate->lock, flags);
	gate->near_payer = NULL;
	gate_hand_on_locked(gate);
	spin_unlock_irqrestore(&gate->lock, flags);
}

static void gate_set_near_payer(struct tessera_gate *gate, struct tessera_payer *payer)
{
	spin_lock_irq(&gate->lock);
	gate->near_payer = payer;
	spin_unlock_irq(&gate->lock);
}

/* The gate is closed, so nobody else changes it; but others look at whose it is. */
static void gate_set_near(struct tessera_gate *gate, struct dma_fence *near,
			  struct tessera_payer *payer)
{
	if (gate->near)
		dma_fence_remove_callback(gate->near, &gate->near_cb);
	dma_fence_put(gate->near);
	gate->near = near ? dma_fence_get(near) : NULL;
	gate_set_near_payer(gate, near ? payer : NULL);
	if (near && dma_fence_add_callback(near, &gate->near_cb, gate_near_cb))
		gate_set_near_payer(gate, NULL);
}

/**
 * tessera_gate_open() - all parts of a group are armed, or no more will be
 * @tdev: the device
 * @engine: engine it was for
 * @payer: whose it was
 * @near: fence of the part before the last one that was armed, or NULL
 * @last: fence of that one, or NULL
 */
void tessera_gate_open(struct tessera_device *tdev, u32 engine, struct tessera_payer *payer,
		       struct dma_fence *near, struct dma_fence *last)
{
	struct tessera_gate *gate = gate_of(tdev, engine);

	if (!gate)
		return;
	if (last) {
		dma_fence_put(gate->group);
		gate->group = dma_fence_get(last);
		gate_set_near(gate, near, payer);
	}
	if (!last && atomic_inc_not_zero(&gate->before->jobs)) {
		/* No part waits for those before; so the next group has to. */
		epoch_part(gate->epoch);
		gate->epoch = gate->before;
	} else {
		dma_fence_put(&gate->before->base);
	}
	gate->before = NULL;

	spin_lock_irq(&gate->lock);
	gate->closed = false;
	gate_hand_on_locked(gate);
	spin_unlock_irq(&gate->lock);
}

/**
 * tessera_gate_order_group() - run after all that was armed on the engine
 * @tdev: the device
 * @engine: engine of the job, whose gate the caller has closed
 * @job: first part of the group, not armed yet
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_gate_order_group(struct tessera_device *tdev, u32 engine, struct tessera_job *job)
{
	struct tessera_gate *gate = gate_of(tdev, engine);
	int ret;

	ret = tessera_gate_order(tdev, engine, job);
	if (ret || !gate || dma_fence_is_signaled(&gate->before->base))
		return ret;

	return tessera_job_add_dependency(job, dma_fence_get(&gate->before->base));
}
