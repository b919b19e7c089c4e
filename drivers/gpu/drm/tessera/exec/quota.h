/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_QUOTA_H__
#define __TESSERA_QUOTA_H__

#include <linux/atomic.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <tessera/tessera_hw.h>

/**
 * TESSERA_FEW_JOBS - unfinished jobs at which a client has to wait that is to have few of them
 *
 * Enough that an engine is never idle for lack of jobs.
 */
#define TESSERA_FEW_JOBS	128

/**
 * struct tessera_engine_quota - work of one process on an engine that cannot preempt
 */
struct tessera_engine_quota {
	/** @jobs: unfinished jobs, and submissions that bring one */
	atomic_t jobs;
	/** @job_ns: what one of its jobs may take, from the last ones; under the engine's lock */
	u64 job_ns;
	/** @wait: for fewer of them */
	wait_queue_head_t wait;
};

/**
 * struct tessera_quota - kernel memory of one client's unfinished work
 *
 * Also what tells jobs of one client from those of another.
 */
struct tessera_quota {
	/** @bytes: charged now */
	atomic_long_t bytes;
	/** @limit: submissions wait while there is more */
	long limit;
	/** @jobs: jobs that are armed and not finished */
	atomic_t jobs;
	/** @few: how many reasons there are for submissions to wait while these are not few */
	atomic_t few;
	/** @wait: for room */
	wait_queue_head_t wait;
	/** @engines: its work on each engine, if that cannot preempt */
	struct tessera_engine_quota engines[TSR_MAX_ENGINES];
};

void tessera_quota_init(struct tessera_quota *quota, long limit);
int tessera_quota_enter(struct tessera_quota *quota, long bytes);
void tessera_quota_charge(struct tessera_quota *quota, long bytes);
void tessera_quota_uncharge(struct tessera_quota *quota, long bytes);
void tessera_quota_add_job(struct tessera_quota *quota);
void tessera_quota_remove_job(struct tessera_quota *quota);
int tessera_quota_enter_engine(struct tessera_quota *quota, u32 engine);
void tessera_quota_add_engine_job(struct tessera_quota *quota, u32 engine);
void tessera_quota_leave_engine(struct tessera_quota *quota, u32 engine);
void tessera_quota_job_ran(struct tessera_quota *quota, u32 engine, u64 ns);
int tessera_quota_begin_few(struct tessera_quota *quota);
void tessera_quota_end_few(struct tessera_quota *quota);

static inline long tessera_quota_bytes(struct tessera_quota *quota)
{
	return atomic_long_read(&quota->bytes);
}

#endif /* __TESSERA_QUOTA_H__ */
