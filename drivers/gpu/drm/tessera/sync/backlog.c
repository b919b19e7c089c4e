// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: backlog
 *
 * The backlog of a client lists its unfinished jobs, in the order of arming. It
 * includes the jobs of all its contexts, also of destroyed ones, and does not
 * depend on the objects that they use. By default, a destroy takes effect only
 * after all jobs in the backlog at that time, as in WDDM.
 *
 * Each job has a number. "All work queued so far" is the number of the last
 * job. It is done when the first unfinished job has a higher number. Objects
 * that are kept until then (gem/destroy.c) are in a second list, each with such
 * a number and in that order. A waiting thread has a number, too. Therefore
 * keeping an object, adding a job and removing a job take constant time
 * (DESTROY-3). They allocate only the entry of the object, since the list node
 * is part of the job.
 *
 * The spinlock is a leaf. It is taken where fences signal.
 */

#include <linux/kref.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "base/device.h"
#include "base/wait.h"
#include "exec/exec.h"
#include "mem/mem.h"
#include "sync/sync.h"

/* An object that is kept, with a reference. Unplug waits for it. */
struct backlog_object {
	struct list_head node;
	struct tessera_bo *bo;
	/* Number of the last job at the time when the object was added. */
	u64 behind;
};

struct tessera_backlog {
	struct kref ref;
	struct tessera_device *tdev;
	/* Releases objects; holds a backlog reference while it is queued. */
	struct work_struct work;
	/* Threads in tessera_backlog_wait(). */
	wait_queue_head_t wait;
	/* Protects the members below. */
	spinlock_t lock;
	/* Number of the last job. */
	u64 num_jobs;
	/*
	 * Lists of &struct tessera_backlog_job and &struct backlog_object, each
	 * in ascending order of numbers.
	 */
	struct list_head jobs;
	struct list_head objects;
};

static bool is_done_locked(struct tessera_backlog *backlog, u64 number)
{
	struct tessera_backlog_job *first;

	lockdep_assert_held(&backlog->lock);

	first = list_first_entry_or_null(&backlog->jobs, struct tessera_backlog_job, node);

	return !first || first->number > number;
}

static struct backlog_object *next_due_locked(struct tessera_backlog *backlog)
{
	struct backlog_object *object;

	lockdep_assert_held(&backlog->lock);

	object = list_first_entry_or_null(&backlog->objects, struct backlog_object, node);

	return object && is_done_locked(backlog, object->behind) ? object : NULL;
}

static struct backlog_object *take_due(struct tessera_backlog *backlog)
{
	struct backlog_object *object;

	spin_lock_irq(&backlog->lock);
	object = next_due_locked(backlog);
	if (object)
		list_del(&object->node);
	spin_unlock_irq(&backlog->lock);

	return object;
}

static void backlog_work(struct work_struct *work)
{
	struct tessera_backlog *backlog = container_of(work, struct tessera_backlog, work);
	struct tessera_device *tdev = backlog->tdev;
	struct backlog_object *object;

	while ((object = take_due(backlog))) {
		tessera_bo_put(object->bo);
		kfree(object);
		tessera_job_queue_leave(tdev);
		cond_resched();
	}
	tessera_backlog_put(backlog);
}

/**
 * tessera_backlog_create() - create the backlog of a new client
 * @tdev: the device
 *
 * Return: the backlog with one reference, or NULL.
 */
struct tessera_backlog *tessera_backlog_create(struct tessera_device *tdev)
{
	struct tessera_backlog *backlog = kzalloc(sizeof(*backlog), GFP_KERNEL_ACCOUNT);

	if (!backlog)
		return NULL;
	kref_init(&backlog->ref);
	spin_lock_init(&backlog->lock);
	INIT_LIST_HEAD(&backlog->jobs);
	INIT_LIST_HEAD(&backlog->objects);
	INIT_WORK(&backlog->work, backlog_work);
	init_waitqueue_head(&backlog->wait);
	backlog->tdev = tdev;

	return backlog;
}

/**
 * tessera_backlog_get() - take a reference
 * @backlog: the backlog
 *
 * Return: @backlog.
 */
struct tessera_backlog *tessera_backlog_get(struct tessera_backlog *backlog)
{
	kref_get(&backlog->ref);

	return backlog;
}

static void backlog_release(struct kref *ref)
{
	kfree(container_of(ref, struct tessera_backlog, ref));
}

/**
 * tessera_backlog_put() - drop a reference
 * @backlog: the backlog
 *
 * Any context.
 */
void tessera_backlog_put(struct tessera_backlog *backlog)
{
	kref_put(&backlog->ref, backlog_release);
}

/**
 * tessera_backlog_add() - add a job that is about to be queued
 * @backlog: the client's backlog
 * @job: the job's entry. The job keeps a reference to the backlog until
 *	tessera_backlog_done()
 */
void tessera_backlog_add(struct tessera_backlog *backlog, struct tessera_backlog_job *job)
{
	spin_lock_irq(&backlog->lock);
	job->number = ++backlog->num_jobs;
	list_add_tail(&job->node, &backlog->jobs);
	spin_unlock_irq(&backlog->lock);
}

/**
 * tessera_backlog_done() - remove a finished job
 * @backlog: the client's backlog
 * @job: the job's entry
 *
 * Any context.
 */
void tessera_backlog_done(struct tessera_backlog *backlog, struct tessera_backlog_job *job)
{
	unsigned long flags;
	bool due;

	spin_lock_irqsave(&backlog->lock, flags);
	list_del(&job->node);
	due = next_due_locked(backlog);
	spin_unlock_irqrestore(&backlog->lock, flags);

	if (wq_has_sleeper(&backlog->wait))
		wake_up_all(&backlog->wait);
	if (!due)
		return;
	tessera_backlog_get(backlog);
	if (!queue_work(backlog->tdev->release_wq, &backlog->work))
		tessera_backlog_put(backlog);
}

static bool is_done(struct tessera_backlog *backlog, u64 number)
{
	bool done;

	spin_lock_irq(&backlog->lock);
	done = is_done_locked(backlog, number);
	spin_unlock_irq(&backlog->lock);

	return done;
}

/**
 * tessera_backlog_wait() - wait for all jobs that a client has queued so far
 * @backlog: the client's backlog
 *
 * Return: 0 or -ERESTARTSYS.
 */
int tessera_backlog_wait(struct tessera_backlog *backlog)
{
	u64 number;

	spin_lock_irq(&backlog->lock);
	number = backlog->num_jobs;
	spin_unlock_irq(&backlog->lock);

	return tessera_wait_event(TESSERA_WAIT_DESTROY, backlog->wait, is_done(backlog, number),
				  TASK_INTERRUPTIBLE);
}

/*
 * Returns false if there is no unfinished job, so that the object is not kept.
 */
static bool keep(struct tessera_backlog *backlog, struct backlog_object *object)
{
	bool work;

	spin_lock_irq(&backlog->lock);
	object->behind = backlog->num_jobs;
	work = !is_done_locked(backlog, object->behind);
	if (work)
		list_add_tail(&object->node, &backlog->objects);
	spin_unlock_irq(&backlog->lock);

	return work;
}

/**
 * tessera_backlog_keep() - keep an object until all jobs queued so far have
 * finished
 * @backlog: the client's backlog
 * @bo: the object
 *
 * Takes a reference to the object and does not wait.
 *
 * Return: 0, also if there is no unfinished job; or -ENOMEM.
 */
int tessera_backlog_keep(struct tessera_backlog *backlog, struct tessera_bo *bo)
{
	struct tessera_device *tdev = backlog->tdev;
	struct backlog_object *object;

	/*
	 * After unplug all jobs are cancelled, so there is nothing to keep the
	 * object for.
	 */
	if (tessera_job_queue_enter(tdev))
		return 0;
	object = kmalloc(sizeof(*object), GFP_KERNEL_ACCOUNT);
	if (!object) {
		tessera_job_queue_leave(tdev);
		return -ENOMEM;
	}
	tessera_bo_get(bo);
	object->bo = bo;
	if (!keep(backlog, object)) {
		tessera_bo_put(bo);
		kfree(object);
		tessera_job_queue_leave(tdev);
	}

	return 0;
}
