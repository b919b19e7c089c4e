// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: quotas
 *
 * What a client makes the kernel allocate for work that is not finished: command
 * buffers, preambles, page lists, jobs, and the copies of lists while a submission is
 * looked at. A submission waits, with nothing held and nothing begun, until what it brings
 * fits below fifteen sixteenths of the limit. The rest is for what the kernel adds on the way
 * (paging, preambles): that is charged without waiting, and bounded by the windows that work is
 * done in.
 *
 * That is tens of thousands of small jobs. A client for all of whose jobs somebody may have to wait who cannot give up (mem/user.c)
 * is to have few of them, and waits in the same place.
 *
 * On an engine that cannot preempt a submission in parts waits for all jobs before it
 * (submit/gate.c). So each process has little unfinished work there, in any case: jobs of a few
 * milliseconds altogether, by what its last ones took, but always enough for the ring not to run
 * dry, and never more than a fixed number.
 */

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>
#include <linux/time64.h>

#include "exec/exec.h"
#include "tessera_wait.h"

/* Work of a process on an engine that cannot preempt: time of the engine, and number of jobs. */
#define ENGINE_NS	(20 * NSEC_PER_MSEC)
#define MIN_ENGINE_JOBS	8
#define MAX_ENGINE_JOBS	64

/**
 * tessera_quota_init() - set up a quota
 * @quota: the quota
 * @limit: bytes
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

/* Behind an atomic operation that orders memory. */
static void quota_wake(struct tessera_quota *quota)
{
	if (wq_has_sleeper(&quota->wait))
		wake_up_all(&quota->wait);
}

/* Whatever its size, something gets through when there is nothing else. */
static bool quota_try(struct tessera_quota *quota, long bytes)
{
	long room = quota->limit - quota->limit / 16, have = atomic_long_read(&quota->bytes);

	do {
		if (have && have + bytes > room)
			return false;
	} while (!atomic_long_try_cmpxchg(&quota->bytes, &have, have + bytes));

	return true;
}

static bool quota_has_few(struct tessera_quota *quota)
{
	return !atomic_read(&quota->few) || atomic_read(&quota->jobs) < TESSERA_FEW_JOBS;
}

/**
 * tessera_quota_enter() - wait for room for new work
 * @quota: the quota
 * @bytes: what it brings; charged
 *
 * No lock may be held.
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
 * tessera_quota_charge() - charge what cannot wait
 * @quota: the quota, or NULL for the kernel's own work
 * @bytes: how much
 */
void tessera_quota_charge(struct tessera_quota *quota, long bytes)
{
	if (quota)
		atomic_long_add(bytes, &quota->bytes);
}

/**
 * tessera_quota_uncharge() - memory has been freed
 * @quota: the quota, or NULL
 * @bytes: how much of what was charged
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
 * tessera_quota_add_job() - a job is armed
 * @quota: the quota, or NULL
 */
void tessera_quota_add_job(struct tessera_quota *quota)
{
	if (quota)
		atomic_inc(&quota->jobs);
}

/**
 * tessera_quota_remove_job() - it is finished
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
 * tessera_quota_enter_engine() - wait until a process may have one more job on an engine
 * @quota: the quota
 * @engine: the engine, which cannot preempt
 *
 * No lock may be held but the context's. What is waited for is armed, and depends on no thread of
 * the process but one that arms the parts of a submission.
 *
 * Return: 0, to be followed by tessera_quota_leave_engine() when the job has finished, or there is
 * to be none; or -ERESTARTSYS.
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
 * tessera_quota_add_engine_job() - count a job that has not waited
 * @quota: the quota
 * @engine: the engine
 *
 * For all parts of a submission but the first.
 */
void tessera_quota_add_engine_job(struct tessera_quota *quota, u32 engine)
{
	atomic_inc(&quota->engines[engine].jobs);
}

/**
 * tessera_quota_leave_engine() - such a job has finished, or does not come
 * @quota: the quota
 * @engine: the engine
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
 * tessera_quota_job_ran() - a job has run on an engine that cannot preempt
 * @quota: the quota
 * @engine: the engine, whose lock is held
 * @ns: what it took
 *
 * A longer one counts at once, shorter ones by and by.
 */
void tessera_quota_job_ran(struct tessera_quota *quota, u32 engine, u64 ns)
{
	struct tessera_engine_quota *mine = &quota->engines[engine];
	u64 old = mine->job_ns;

	WRITE_ONCE(mine->job_ns, ns >= old ? ns : old - DIV_ROUND_UP_ULL(old - ns, 8));
}

/**
 * tessera_quota_begin_few() - have few unfinished jobs from now on
 * @quota: the quota
 *
 * Waits until there are, so no lock may be held. More are only those of calls that are under way, and what a submission
 * in parts may have armed.
 *
 * Return: 0, to be followed by tessera_quota_end_few(); or -ERESTARTSYS.
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
 * tessera_quota_end_few() - one reason less
 * @quota: the quota
 */
void tessera_quota_end_few(struct tessera_quota *quota)
{
	if (!atomic_dec_return(&quota->few))
		quota_wake(quota);
}
