// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: quotas
 *
 * A quota bounds the unfinished work of a process. A submission waits for it
 * with nothing held and nothing begun. It has three limits:
 *
 * - the number of jobs, TESSERA_MAX_JOBS. Others may have to wait for all jobs
 *   of a process, each of which may take up to its timeout: an eviction, or a
 *   thread that reclaims user memory and cannot give up (borrow/user.c).
 * - the kernel memory that the work occupies: command buffers, preambles, page
 *   lists, jobs, and the copies of lists during a submission. The own memory of
 *   a submission has to fit below 15/16 of the limit. The remainder is for what
 *   the kernel adds on the way (paging, preambles). The driver charges such
 *   memory without waiting. For each call it is bounded, because work is done
 *   in batches of limited size.
 * - on an engine that cannot preempt, 20 ms of engine time, estimated from the
 *   last jobs. A submission in parts waits there for all jobs before it
 *   (submit/gate.c). The limit is never so low that the ring would run dry, and
 *   never above a fixed number of jobs.
 *
 * A call has a place among the jobs until it returns, and a job has one until
 * it has finished. The place of a call is for one job. A submission in parts has
 * more than one unfinished part only while the process is below the limit
 * (submit/plan.c). So there are never more than TESSERA_MAX_JOBS unfinished
 * jobs. Paging is not counted: its jobs are short.
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

static void places_init(struct tessera_places *places)
{
	atomic_set(&places->taken, 0);
	init_waitqueue_head(&places->wait);
}

static bool places_try(struct tessera_places *places, int limit)
{
	int taken = atomic_read(&places->taken);

	do {
		if (taken >= limit)
			return false;
	} while (!atomic_try_cmpxchg(&places->taken, &taken, taken + 1));

	return true;
}

/*
 * Each place that becomes free wakes one thread. @limit is the highest limit
 * that a waiting thread may have.
 */
static void places_free(struct tessera_places *places, int limit)
{
	if (atomic_dec_return(&places->taken) < limit && wq_has_sleeper(&places->wait))
		wake_up(&places->wait);
}

/**
 * tessera_quota_init() - set up a quota
 * @quota: the quota
 * @limit: the limit in bytes
 */
void tessera_quota_init(struct tessera_quota *quota, long limit)
{
	u32 i;

	atomic_long_set(&quota->bytes, 0);
	places_init(&quota->jobs);
	for (i = 0; i < TSR_MAX_ENGINES; i++) {
		places_init(&quota->engines[i].jobs);
		quota->engines[i].job_ns = ENGINE_NS / MIN_ENGINE_JOBS;
	}
	quota->limit = limit;
	init_waitqueue_head(&quota->wait);
}

/* Called after an atomic operation that is a full memory barrier. */
static void quota_wake(struct tessera_quota *quota)
{
	if (wq_has_sleeper(&quota->wait))
		wake_up_all(&quota->wait);
}

static long quota_usable(const struct tessera_quota *quota)
{
	return quota->limit - quota->limit / 16;
}

/**
 * tessera_quota_try() - charge memory of new work if there is space for it
 * @quota: the quota
 * @bytes: the memory
 *
 * Does not wait, so the caller may hold locks. A request of any size is accepted
 * if nothing is charged, so that it cannot starve.
 *
 * Return: false if the caller would have to wait; nothing is charged then.
 */
bool tessera_quota_try(struct tessera_quota *quota, long bytes)
{
	long usable = quota_usable(quota), have = atomic_long_read(&quota->bytes);

	do {
		if (have && have + bytes > usable)
			return false;
	} while (!atomic_long_try_cmpxchg(&quota->bytes, &have, have + bytes));

	return true;
}

static int quota_enter_jobs(struct tessera_quota *quota)
{
	tessera_wait_might(TESSERA_WAIT_QUOTA);
	if (places_try(&quota->jobs, TESSERA_MAX_JOBS))
		return 0;

	return tessera_wait_in(TESSERA_WAIT_QUOTA,
			       wait_event_interruptible_exclusive(quota->jobs.wait,
								  places_try(&quota->jobs,
									     TESSERA_MAX_JOBS)));
}

/**
 * tessera_quota_enter() - wait until a process may begin new work, and charge
 * it
 * @quota: the quota
 * @bytes: memory of the call
 *
 * The caller must not hold any lock. The jobs waited for are armed, and the
 * calls depend on no other call that waits here.
 *
 * Return: 0 or -ERESTARTSYS. On success call tessera_quota_leave() at the end
 * of the call.
 */
int tessera_quota_enter(struct tessera_quota *quota, long bytes)
{
	int ret = quota_enter_jobs(quota);

	if (ret)
		return ret;
	ret = tessera_wait_event(TESSERA_WAIT_QUOTA, quota->wait,
				 tessera_quota_try(quota, bytes), TASK_INTERRUPTIBLE);
	if (ret)
		tessera_quota_remove_job(quota);

	return ret;
}

/**
 * tessera_quota_leave() - end a call that tessera_quota_enter() has let in
 * @quota: the quota
 * @bytes: the memory that is still charged for it
 */
void tessera_quota_leave(struct tessera_quota *quota, long bytes)
{
	tessera_quota_uncharge(quota, bytes);
	tessera_quota_remove_job(quota);
}

/**
 * tessera_quota_is_full() - ask whether a process has as many jobs as it may
 * have
 * @quota: the quota
 *
 * Return: true if a new call would wait.
 */
bool tessera_quota_is_full(struct tessera_quota *quota)
{
	return atomic_read(&quota->jobs.taken) >= TESSERA_MAX_JOBS;
}

/**
 * tessera_quota_has_memory() - ask whether the memory of a process's unfinished
 * work is below the limit of a new call
 * @quota: the quota
 *
 * Return: true if more may be charged without waiting.
 */
bool tessera_quota_has_memory(struct tessera_quota *quota)
{
	return tessera_quota_bytes(quota) < quota_usable(quota);
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
 * @quota: the quota
 */
void tessera_quota_add_job(struct tessera_quota *quota)
{
	atomic_inc(&quota->jobs.taken);
}

/**
 * tessera_quota_remove_job() - uncount a finished job
 * @quota: the quota
 *
 * Any context.
 */
void tessera_quota_remove_job(struct tessera_quota *quota)
{
	places_free(&quota->jobs, TESSERA_MAX_JOBS);
}

static int quota_engine_limit(const struct tessera_engine_quota *engine)
{
	u64 jobs = div64_u64(ENGINE_NS, READ_ONCE(engine->job_ns) + 1);

	return clamp_t(u64, jobs, MIN_ENGINE_JOBS, MAX_ENGINE_JOBS);
}

static bool quota_try_engine(struct tessera_engine_quota *engine)
{
	return places_try(&engine->jobs, quota_engine_limit(engine));
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

	return tessera_wait_in(TESSERA_WAIT_GATE,
			       wait_event_interruptible_exclusive(mine->jobs.wait,
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
	atomic_inc(&quota->engines[engine].jobs.taken);
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
	places_free(&quota->engines[engine].jobs, MAX_ENGINE_JOBS);
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
