/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_JOB_H__
#define __TESSERA_JOB_H__

#include <linux/dma-resv.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/types.h>

#include <drm/gpu_scheduler.h>

#include "exec/engine_types.h"
#include "exec/fences.h"

struct dma_fence;
struct tessera_device;
struct tessera_engine;		/* exec/engine.h */
struct tessera_fence;		/* hw/fence.h */
struct tessera_ib;		/* exec/ib.h */
struct tessera_proxy;		/* exec/proxy.h */
struct tessera_proxies;		/* exec/proxy.h */
struct tessera_quota;		/* exec/quota.h */
struct tessera_job;

/* A preamble, a part, and what it signals. */
#define TESSERA_JOB_MAX_RANGES	3

/**
 * struct tessera_ib_range - a piece of an indirect buffer a job executes
 */
struct tessera_ib_range {
	/** @ib: the buffer; the job holds a reference */
	struct tessera_ib *ib;
	/** @start: first byte, a multiple of TSR_PKT_ALIGN */
	u32 start;
	/** @end: first byte behind it, likewise */
	u32 end;
	/** @user: run unprivileged */
	bool user;
};

/**
 * struct tessera_job_vm - commands at a virtual address
 */
struct tessera_job_vm {
	/** @root: page tables: a directory entry; 0: the job has no virtual addresses */
	u64 root;
	/** @cmds: where the commands are */
	u64 cmds;
	/** @asid: number of the address space */
	u32 asid;
	/** @cmd_bytes: their length, not 0, a multiple of TSR_PKT_ALIGN */
	u32 cmd_bytes;
};

/**
 * struct tessera_job_ops - what the owner of a job adds to it
 *
 * All are optional but @release.
 */
struct tessera_job_ops {
	/**
	 * @prepare: last word before the job is written to the ring
	 *
	 * Called in run_job, inside the signalling section: no allocation, no
	 * reservation. A value below 0 keeps the job from running and becomes the error
	 * of its fence.
	 */
	int (*prepare)(struct tessera_job *job);

	/**
	 * @done: the job's outcome is known; its fence is about to be signalled
	 *
	 * Called exactly once for each job that was handed to run_job, whether it
	 * ran or was refused, in atomic context (interrupts off when it ran). Not
	 * called for jobs that are discarded from the queue of a dying entity.
	 * @start_ns and @end_ns are device clock values, 0 if the job did not run.
	 */
	void (*done)(struct tessera_job *job, int error, u64 start_ns, u64 end_ns);

	/**
	 * @finished: its fence signals, whatever became of it
	 *
	 * Once for each job that was armed, in atomic context, with locks of the
	 * fence held.
	 */
	void (*finished)(struct tessera_job *job);

	/**
	 * @hung: it did not end in time
	 *
	 * From the workqueue of the timeouts, in a signalling section.
	 */
	void (*hung)(struct tessera_job *job);

	/**
	 * @release: the last reference is gone
	 *
	 * Frees the struct the job is embedded in. Called in process context from
	 * &tessera_device.release_wq, where reservations may be taken; or directly from
	 * tessera_job_put() if the job was never pushed.
	 */
	void (*release)(struct tessera_job *job);
};

/**
 * struct tessera_job - one job of one engine
 *
 * Embedded in its owner's struct. Life: tessera_job_init(), ranges and
 * dependencies, tessera_job_arm(), tessera_job_push(), tessera_job_put(). A job may be
 * put without having been armed; once armed it must be pushed.
 */
struct tessera_job {
	/** @base: the scheduler's part */
	struct drm_sched_job base;
	/** @ref: the owner's reference, and the scheduler's from push to free_job */
	struct kref ref;
	/** @ops: the owner's callbacks */
	const struct tessera_job_ops *ops;
	/** @engine: where it runs */
	struct tessera_engine *engine;
	/** @quota: whose work it is, or NULL */
	struct tessera_quota *quota;
	/** @level: its priority on the engine, TESSERA_LEVEL_HIGH unless its owner says else */
	enum tessera_level level;
	/** @queue: of its entity, outlives the job; NULL: jobs of other levels need not know of it */
	struct tessera_queue *queue;
	/** @context_id: shown in the device's registers, error records and traces */
	u32 context_id;
	/** @ranges: what it executes, in this order; set with tessera_job_add_range() */
	struct tessera_ib_range ranges[TESSERA_JOB_MAX_RANGES];
	/** @num_ranges: used elements of @ranges; 0 makes an empty job */
	unsigned int num_ranges;
	/** @vm: what it executes before that, unprivileged, at virtual addresses */
	struct tessera_job_vm vm;
	/** @moves: bytes it moves, for a job of the paging engine */
	u64 moves;
	/** @refused: 0, or why it is only to pass through the ring */
	int refused;
	/** @seqno: number within its entity, from arm on; for traces */
	u64 seqno;

	/**
	 * @proxies: of the context that waits for foreign fences; NULL, as for paging: the job waits
	 * for jobs of this device only
	 */
	struct tessera_proxies *proxies;

	/** @overdue: half of its time was over when somebody looked; only services/reset.c knows */
	bool overdue;

	/* private: exec/job.c and exec/sched.c */
	struct tessera_fence *hw_fence;
	struct dma_fence *finished;
	struct dma_fence_cb finished_cb;
	struct tessera_fence *after;
	struct tessera_fence *behind;
	struct tessera_fence *span;
	/* In &tessera_engine.ready, or empty; under the engine's lock, as is the next. */
	struct list_head ready;
	/* Counted in &tessera_queue.unready. */
	bool is_unready;
	/* What it waits for, the scheduler's own knowledge apart; does not change once it is armed. */
	struct tessera_fences waits;
	/* Those of @waits before this one are behind it. */
	u32 next_wait;
	/* For foreign fences, until the job is armed; one of @waits, which hold the reference. */
	struct tessera_proxy *proxy;
	/* Those fences, likewise. */
	struct tessera_fences foreign;
	/* What is charged beyond what each job costs. */
	long bytes;
	struct llist_node release_node;
};

static inline struct tessera_job *to_tessera_job(struct drm_sched_job *sched_job)
{
	return container_of(sched_job, struct tessera_job, base);
}

int tessera_job_init(struct tessera_job *job, struct tessera_engine *engine,
		     struct drm_sched_entity *entity,
		     const struct tessera_job_ops *ops, struct tessera_quota *quota);
void tessera_job_add_range(struct tessera_job *job, struct tessera_ib *ib,
			   u32 start, u32 end, bool user);
int tessera_job_add_dependency(struct tessera_job *job, struct dma_fence *fence);
int tessera_job_add_foreign(struct tessera_job *job, struct dma_fence *fence);
void tessera_job_charge(struct tessera_job *job, long bytes);
struct dma_fence *tessera_job_next_wait(struct tessera_job *job);
bool tessera_job_made(struct tessera_device *tdev, struct dma_fence *fence);
int tessera_job_add_resv(struct tessera_job *job, struct dma_resv *resv,
			 enum dma_resv_usage usage);
void tessera_job_run_after(struct tessera_job *job, struct tessera_job *prev);
struct tessera_fence *tessera_job_outcome(struct tessera_job *job);
void tessera_job_run_behind(struct tessera_job *job, struct tessera_fence *outcome);
void tessera_job_span(struct tessera_job *job, struct tessera_job *last);
void tessera_job_arm(struct tessera_job *job);
void tessera_job_push(struct tessera_job *job);
struct dma_fence *tessera_job_finished(struct tessera_job *job);
struct tessera_job *tessera_job_get(struct tessera_job *job);
void tessera_job_put(struct tessera_job *job);

int tessera_job_queue_init(struct tessera_device *tdev);
int tessera_job_queue_enter(struct tessera_device *tdev);
void tessera_job_queue_leave(struct tessera_device *tdev);
int tessera_work_begin(struct tessera_device *tdev);
int tessera_work_end(struct tessera_device *tdev, int ret);
bool tessera_job_queue_drain(struct tessera_device *tdev, long timeout);

#endif /* __TESSERA_JOB_H__ */
