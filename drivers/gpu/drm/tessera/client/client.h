/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Interface of client/: the processes and open files that memory and work are
 * charged to.
 */
#ifndef __TESSERA_CLIENT_H__
#define __TESSERA_CLIENT_H__

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <tessera/tessera_hw.h>

#include "pure/share.h"
#include "pure/victim.h"

struct drm_printer;
struct pid;
struct tessera_device;
struct tessera_placement;	/* segments/segments.h */

/* client/quota.c */

/**
 * TESSERA_MAX_JOBS - limit on unfinished jobs of a process
 *
 * Large enough that an engine never runs out of jobs.
 */
#define TESSERA_MAX_JOBS	256

/**
 * struct tessera_places - places for jobs
 */
struct tessera_places {
	/**
	 * @taken: number of unfinished jobs, and of submissions that are about
	 * to add one
	 */
	atomic_t taken;
	/** @wait: threads waiting for a place */
	wait_queue_head_t wait;
};

/**
 * struct tessera_engine_quota - a process's work on an engine that cannot
 * preempt
 */
struct tessera_engine_quota {
	/** @jobs: places for jobs on the engine */
	struct tessera_places jobs;
	/**
	 * @job_ns: expected run time of one job, from its last jobs; under the
	 * engine's lock
	 */
	u64 job_ns;
};

/** TESSERA_QUOTA_LEVELS - number of &enum tessera_level */
#define TESSERA_QUOTA_LEVELS	3

/**
 * struct tessera_quota - unfinished work of a process, and its memory
 *
 * Its address also identifies the client: jobs with the same quota belong to
 * the same client.
 */
struct tessera_quota {
	/** @bytes: bytes charged now */
	atomic_long_t bytes;
	/** @limit: limit on @bytes; new submissions wait above 15/16 of it */
	long limit;
	/** @wait: threads waiting for @bytes to drop */
	wait_queue_head_t wait;
	/** @jobs: places for jobs of all contexts */
	struct tessera_places jobs;
	/** @engines: work on each engine that cannot preempt */
	struct tessera_engine_quota engines[TSR_MAX_ENGINES];
	/**
	 * @back: for each engine and level, the job that stood back last, until
	 * it is handed over; under the engine's lock
	 */
	struct tessera_job *back[TSR_MAX_ENGINES][TESSERA_QUOTA_LEVELS];
};

void tessera_quota_init(struct tessera_quota *quota, long limit);
bool tessera_quota_try(struct tessera_quota *quota, long bytes);
int tessera_quota_enter(struct tessera_quota *quota, long bytes);
void tessera_quota_leave(struct tessera_quota *quota, long bytes);
bool tessera_quota_is_full(struct tessera_quota *quota);
bool tessera_quota_has_memory(struct tessera_quota *quota);
void tessera_quota_charge(struct tessera_quota *quota, long bytes);
void tessera_quota_uncharge(struct tessera_quota *quota, long bytes);
void tessera_quota_add_job(struct tessera_quota *quota);
void tessera_quota_remove_job(struct tessera_quota *quota);
int tessera_quota_enter_engine(struct tessera_quota *quota, u32 engine);
void tessera_quota_add_engine_job(struct tessera_quota *quota, u32 engine);
void tessera_quota_leave_engine(struct tessera_quota *quota, u32 engine);
void tessera_quota_job_ran(struct tessera_quota *quota, u32 engine, u64 ns);

static inline long tessera_quota_bytes(struct tessera_quota *quota)
{
	return atomic_long_read(&quota->bytes);
}

/* client/account.c */

/**
 * TESSERA_WORK_LIMIT - kernel memory of unfinished work of a process
 */
#define TESSERA_WORK_LIMIT	SZ_64M

/** TESSERA_MAX_SEGMENTS - most segments of a device */
#define TESSERA_MAX_SEGMENTS	TSR_MAX_SEGMENTS

/**
 * struct tessera_tenant - placements of a process in a segment
 *
 * They are sorted by the order of eviction. The lock of the segment's manager
 * protects everything. The last five members belong to the iteration that holds
 * the lock, see mem/order.c.
 */
struct tessera_tenant {
	/** @node: in &tessera_manager.tenants, while @num is not 0 */
	struct list_head node;
	/** @num: number of its placements */
	u32 num;
	/**
	 * @order: its &struct tessera_placement of each priority; the leftmost
	 * is evicted first
	 */
	struct rb_root_cached order[TESSERA_VICTIM_PRIORITIES];
	/** @offered: bytes of placements of offered objects */
	u64 offered;
	/**
	 * @trimmable: bytes of placements with &tessera_placement.trimmable;
	 * also read without the lock
	 */
	u64 trimmable;
	/** @owner: its use and share when the iteration began */
	struct tessera_victim_owner owner;
	/**
	 * @index: index of @owner in &tessera_blocks.owners, while blocks are
	 * collected
	 */
	u32 index;
	/** @next: the next candidate of each priority, or NULL */
	struct tessera_placement *next[TESSERA_VICTIM_PRIORITIES];
	/** @locked: objects passed because another thread has locked them */
	u32 locked;
	/** @first: the one of @next that is evicted first, or NULL */
	struct tessera_placement *first;
	/** @block: @first, classified */
	struct tessera_victim_block block;
};

/**
 * struct tessera_process_count - what a process has of the things that are
 * limited by number
 */
struct tessera_process_count {
	/** @vms: VMs with page tables in use */
	atomic_t vms;
	/**
	 * @asids: VMs that have an ASID; under the lock of vm/asid.c
	 */
	u32 asids;
	/** @contexts: contexts */
	atomic_t contexts;
	/** @fences: monitored fences */
	atomic_t fences;
	/** @tables: page tables */
	atomic_t tables;
	/** @resources: shared resources */
	atomic_t resources;
};

/**
 * struct tessera_process - a process that is charged for memory
 *
 * All its open files share one fair share of each segment (SEG-8).
 * &tessera_processes.lock protects everything, unless stated otherwise. @id and
 * @pid do not change.
 */
struct tessera_process {
	/** @node: in &tessera_processes.processes */
	struct list_head node;
	/** @users: accounts that are charged to it */
	u32 users;
	/**
	 * @files: accounts that are charged to it and belong to an open file
	 */
	u32 files;
	/** @id: unique per device, never 0 */
	u32 id;
	/** @pid: the process, which may have exited; holds a reference */
	struct pid *pid;
	/**
	 * @gate_turn: number of its last turn at the gate of each engine; under
	 * the gate's lock
	 */
	u64 gate_turn[TSR_MAX_ENGINES];
	/** @hangs: number of its jobs that hung an engine */
	atomic_t hangs;
	/** @count: what it has of the things that are limited by number */
	struct tessera_process_count count;
	/** @work: kernel memory of its unfinished work */
	struct tessera_quota work;
	/** @pinned: bytes of its pinned objects, see tessera_account_pin() */
	atomic64_t pinned;
	/**
	 * @watched: set of indexes of segments in which it wants to know what it
	 * should trim
	 */
	u32 watched;
	/**
	 * @trim_requests: how often other processes have waited for it to trim
	 */
	atomic_t trim_requests;
	/**
	 * @requested: when it last asked others to trim what it would take, in
	 * jiffies
	 */
	u64 requested;
	/** @wished: when it last asked for memory of others, in jiffies */
	u64 wished;
	/** @share: use and demand per segment */
	struct tessera_share_client share[TESSERA_MAX_SEGMENTS];
	/** @tenants: placements in each segment */
	struct tessera_tenant tenants[TESSERA_MAX_SEGMENTS];
};

/**
 * struct tessera_account - what an open file uses
 *
 * One per open file. The buffer objects and jobs of the file may outlive the
 * file, and keep the account. All counters are indexed by segment index (not
 * id) or engine index.
 */
struct tessera_account {
	/** @ref: the file, each buffer object and each job hold one */
	struct kref ref;
	/** @tdev: the device */
	struct tessera_device *tdev;
	/**
	 * @process: the process that is charged; NULL until
	 * tessera_account_bind()
	 */
	struct tessera_process *process;
	/** @id: the id of @process, or 0 */
	u32 id;
	/** @resident: bytes of its objects in each segment */
	atomic64_t resident[TESSERA_MAX_SEGMENTS];
	/** @total: bytes of its objects that prefer this segment most */
	atomic64_t total[TESSERA_MAX_SEGMENTS];
	/** @engine_ns: engine time used, paging included */
	atomic64_t engine_ns[TSR_MAX_ENGINES];
};

/**
 * struct tessera_trim_wish - what a process asks others to trim in a segment
 */
struct tessera_trim_wish {
	/** @bytes: how much */
	u64 bytes;
	/** @process: id of the process that asks */
	u32 process;
	/** @until: when the wish expires, in jiffies */
	u64 until;
	/** @num: number of wishes so far in the segment */
	u32 num;
};

/**
 * struct tessera_processes - all processes that are charged for memory
 */
struct tessera_processes {
	/** @lock: protects all below, the processes included; a leaf */
	struct mutex lock;
	/** @share: use and demand of all processes together, per segment */
	struct tessera_share_seg share[TESSERA_MAX_SEGMENTS];
	/** @wish: the latest wish in each segment */
	struct tessera_trim_wish wish[TESSERA_MAX_SEGMENTS];
	/**
	 * @processes: all &struct tessera_process, in the order of their ids
	 */
	struct list_head processes;
	/** @num_processes: length of @processes */
	u32 num_processes;
	/** @next_id: last id given out */
	u32 next_id;
	/**
	 * @changed: called when shares or use have changed, with any locks
	 * held; may be NULL
	 */
	void (*changed)(struct tessera_device *tdev);
	/** @pinned: sum of &tessera_process.pinned; atomic */
	atomic64_t pinned;
};

/* Count one more of the things that a process may have @max of. */
static inline int tessera_account_count(atomic_t *count, int max)
{
	if (atomic_inc_return(count) <= max)
		return 0;
	atomic_dec(count);

	return -ENOSPC;
}

int tessera_account_init(struct tessera_device *tdev);

struct tessera_account *tessera_account_create(struct tessera_device *tdev);
int tessera_account_bind(struct tessera_account *account);
bool tessera_account_is_mine(const struct tessera_account *account);
struct tessera_account *tessera_account_get(struct tessera_account *account);
void tessera_account_close(struct tessera_account *account);
void tessera_account_put(struct tessera_account *account);

void tessera_account_charge(struct tessera_account *account, u32 seg_index, u64 bytes);
void tessera_account_uncharge(struct tessera_account *account, u32 seg_index, u64 bytes);
int tessera_account_pin(struct tessera_account *account, u64 bytes);
void tessera_account_unpin(struct tessera_account *account, u64 bytes);
void tessera_account_note_demand(struct tessera_account *account, u32 seg_index);
void tessera_account_add_engine_time(struct tessera_account *account, u32 engine, u64 ns);

bool tessera_account_banned(struct tessera_account *account);
u64 tessera_account_used(struct tessera_account *account, u32 seg_index);
void tessera_account_expire(struct tessera_device *tdev, u32 seg_index);
u64 tessera_account_share(struct tessera_account *account, u32 seg_index);
int tessera_account_reserve(struct tessera_account *account, u32 seg_index, u64 bytes);
u64 tessera_account_reserved(struct tessera_account *account, u32 seg_index, u64 *reservable);

int tessera_account_weigh(struct tessera_device *tdev, struct pid *pid, u32 weight);
u32 tessera_account_weight(struct tessera_account *account);

void tessera_account_owners(struct tessera_account *account, u32 seg_index);
void tessera_account_print(struct tessera_device *tdev, u32 seg_index, struct drm_printer *p);

#endif /* __TESSERA_CLIENT_H__ */
