// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: quotas
 *
 * A quota bounds the kernel memory that a client's unfinished work occupies:
 * command buffers, preambles, page lists, jobs, and the copies of lists during
 * a submission. A submission waits, with nothing held and nothing begun, until
 * its own memory fits below 15/16 of the limit. The remainder is for what the
 * kernel adds on the way (paging, preambles). The driver charges such memory
 * without waiting. It is bounded, because work is done in batches of limited
 * size.
 *
 * The limit allows tens of thousands of small jobs. Some operations on user
 * memory must wait for all jobs of a client and cannot be aborted
 * (borrow/user.c). A client with such memory may have only TESSERA_FEW_JOBS
 * unfinished jobs, and waits for that in the same place.
 *
 * On an engine that cannot preempt, a submission in parts waits for all jobs
 * before it (submit/gate.c). The unfinished work of each process is therefore
 * limited there to 20 ms of engine time, estimated from its last jobs. The
 * limit is never so low that the ring would run dry, and never above a fixed
 * number of jobs.
 */

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>
#include <linux/time64.h>

#include "base/wait.h"
#include "client/client.h"

/*
 * Limits of a process on an engine that cannot preempt: engine time, and the
 * bounds of the number of jobs.
 */
#define ENGINE_NS	(20 * NSEC_PER_MSEC)
#define MIN_ENGINE_JOBS	8
#define MAX_ENGINE_JOBS	64

/**
 * tessera_quota_init() - set up a quota
 * @quota: the quota
 * @limit: the limit in bytes
 */
void tessera_quota_init(struct tessera_quota *quota, long limit)
{
	u32 i;

	atomic_long_set(&quota->bytes, 0);
	for (i = 0; i < TSR_MAX_ENGINES; i++) {
		atomic_set(&quota->engines[i].jobs, 0);
		quota->engines[i].job_ns = ENGINE_NS / MIN_ENGINE_JOBS;
		init_waitqueue_head(&quota->engines[i].wait);
	}
	atomic_set(&quota->jobs, 0);
	atomic_set(&quota->few, 0);
	quota->limit = limit;
	init_waitqueue_head(&quota->wait);
}

/* Called after an atomic operation that is a full memory barrier. */
static void quota_wake(struct tessera_quota *quota)
{
	if (wq_has_sleeper(&quota->wait))
		wake_up_all(&quota->wait);
}

/*
 * A request of any size is accepted if nothing is charged, so that it cannot
 * starve.
 */
static bool quota_try(struct tessera_quota *quota, long bytes)
{
	long usable = quota->limit - quota->limit / 16, have = atomic_long_read(&quota->bytes);

	do {
		if (have && have + bytes > usable)
			return false;
	} while (!atomic_long_try_cmpxchg(&quota->bytes, &have, have + bytes));

	return true;
}

static bool quota_has_few(struct tessera_quota *quota)
{
	return !atomic_read(&quota->few) || atomic_read(&quota->jobs) < TESSERA_FEW_JOBS;
}

/**
 * tessera_quota_enter() - wait until the quota has space for new work, and
 * charge it
 * @quota: the quota
 * @bytes: memory of the new work
 *
 * The caller must not hold any lock.
 *
 * Return: 0 or -ERESTARTSYS.
 */
int tessera_quota_enter(struct tessera_quota *quota, long bytes)
{
	return tessera_wait_event(TESSERA_WAIT_QUOTA, quota->wait,
				  quota_has_few(quota) && quota_try(quota, bytes),
				  TASK_INTERRUPTIBLE);
}

/**
 * tessera_quota_charge() - charge memory without waiting
 * @quota: the quota, or NULL for the kernel's own work
 * @bytes: the memory
 */
void tessera_quota_charge(struct tessera_quota *quota, long bytes)
{
	if (quota)
		atomic_long_add(bytes, &quota->bytes);
}

/**
 * tessera_quota_uncharge() - uncharge memory that was freed
 * @quota: the quota, or NULL
 * @bytes: the memory, charged before
 *
 * Any context.
 */
void tessera_quota_uncharge(struct tessera_quota *quota, long bytes)
{
	if (!quota)
		return;
	atomic_long_sub_return(bytes, &quota->bytes);
	quota_wake(quota);
}

/**
 * tessera_quota_add_job() - count an armed job
 * @quota: the quota, or NULL
 */
void tessera_quota_add_job(struct tessera_quota *quota)
{
	if (quota)
		atomic_inc(&quota->jobs);
}

/**
 * tessera_quota_remove_job() - uncount a finished job
 * @quota: the quota, or NULL
 *
 * Any context.
 */
void tessera_quota_remove_job(struct tessera_quota *quota)
{
	if (quota && atomic_dec_return(&quota->jobs) < TESSERA_FEW_JOBS)
		quota_wake(quota);
}

static int quota_engine_limit(const struct tessera_engine_quota *engine)
{
	u64 jobs = div64_u64(ENGINE_NS, READ_ONCE(engine->job_ns) + 1);

	return clamp_t(u64, jobs, MIN_ENGINE_JOBS, MAX_ENGINE_JOBS);
}

static bool quota_try_engine(struct tessera_engine_quota *engine)
{
	int limit = quota_engine_limit(engine);
	int jobs = atomic_read(&engine->jobs);

	do {
		if (jobs >= limit)
			return false;
	} while (!atomic_try_cmpxchg(&engine->jobs, &jobs, jobs + 1));

	return true;
}

/**
 * tessera_quota_enter_engine() - wait until a process may add a job to an
 * engine
 * @quota: the quota
 * @engine: index of the engine, which cannot preempt
 *
 * The caller must not hold any lock but its context's. The jobs waited for are
 * armed. They depend on no thread of the process, except on one that arms the
 * parts of a submission.
 *
 * Return: 0 or -ERESTARTSYS. On success call tessera_quota_leave_engine() when
 * the job has finished, or if it is not created.
 */
int tessera_quota_enter_engine(struct tessera_quota *quota, u32 engine)
{
	struct tessera_engine_quota *mine = &quota->engines[engine];

	if (quota_try_engine(mine))
		return 0;

	/* Each job that finishes wakes one thread. */
	return tessera_wait_in(TESSERA_WAIT_GATE,
			       wait_event_interruptible_exclusive(mine->wait,
								  quota_try_engine(mine)));
}

/**
 * tessera_quota_add_engine_job() - count a job without waiting
 * @quota: the quota
 * @engine: index of the engine
 *
 * For all parts of a submission but the first one.
 */
void tessera_quota_add_engine_job(struct tessera_quota *quota, u32 engine)
{
	atomic_inc(&quota->engines[engine].jobs);
}

/**
 * tessera_quota_leave_engine() - uncount a job that has finished or was not
 * created
 * @quota: the quota
 * @engine: index of the engine
 *
 * Any context.
 */
void tessera_quota_leave_engine(struct tessera_quota *quota, u32 engine)
{
	struct tessera_engine_quota *mine = &quota->engines[engine];

	if (atomic_dec_return(&mine->jobs) < MAX_ENGINE_JOBS && wq_has_sleeper(&mine->wait))
		wake_up(&mine->wait);
}

/**
 * tessera_quota_job_ran() - update the estimate of a process's job run time
 * @quota: the quota
 * @engine: index of the engine, which cannot preempt; its lock is held
 * @ns: run time of the job that has ended
 *
 * The estimate rises to a longer run time at once, and falls slowly.
 */
void tessera_quota_job_ran(struct tessera_quota *quota, u32 engine, u64 ns)
{
	struct tessera_engine_quota *mine = &quota->engines[engine];
	u64 old = mine->job_ns;

	WRITE_ONCE(mine->job_ns, ns >= old ? ns : old - DIV_ROUND_UP_ULL(old - ns, 8));
}

/**
 * tessera_quota_begin_few() - limit the client to few unfinished jobs
 * @quota: the quota
 *
 * Waits until there are few, so the caller must not hold any lock. The number
 * can later be exceeded only by calls in progress and by the parts of one
 * submission.
 *
 * Return: 0 or -ERESTARTSYS. On success call tessera_quota_end_few() to lift
 * the limit.
 */
int tessera_quota_begin_few(struct tessera_quota *quota)
{
	int ret;

	atomic_inc(&quota->few);
	ret = tessera_wait_event(TESSERA_WAIT_QUOTA, quota->wait, quota_has_few(quota),
				 TASK_INTERRUPTIBLE);
	if (ret)
		tessera_quota_end_few(quota);

	return ret;
}

/**
 * tessera_quota_end_few() - undo one tessera_quota_begin_few()
 * @quota: the quota
 */
void tessera_quota_end_few(struct tessera_quota *quota)
{
	if (!atomic_dec_return(&quota->few))
		quota_wake(quota);
}
