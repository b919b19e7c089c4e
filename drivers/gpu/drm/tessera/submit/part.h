/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PART_H__
#define __TESSERA_PART_H__

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "exec/job.h"
#include "submit/backlog.h"

struct dma_fence;
struct tessera_bo;		/* mem/bo.h */
struct tessera_context;		/* submit/context.h */
struct tessera_epoch;		/* submit/gate.c */
struct tessera_pass;		/* submit/gate.h */
struct tessera_signals;		/* submit/monitored.c */
struct tessera_syncs;		/* submit/sync.h */

/**
 * struct tessera_part - one job of a context: a whole submission, or a part of one
 */
struct tessera_part {
	/** @job: the job */
	struct tessera_job job;
	/** @ctx: the context; holds a reference */
	struct tessera_context *ctx;
	/** @backlog: its place among what its client has queued; from arming until it is finished */
	struct tessera_backlog_job backlog;
	/** @gated: it was armed behind a gate */
	bool gated;
	/** @epoch: see tessera_gate_arm(); NULL for parts of a group */
	struct tessera_epoch *epoch;
	/** @group: the submission it is a part of, or NULL; holds a reference */
	struct tessera_group *group;
	/** @lost: of the objects it uses, each valid until its fence signals */
	atomic_t **lost;
	/** @num_lost: used elements of @lost */
	u32 num_lost;
	/** @max_lost: room in @lost */
	u32 max_lost;
	/** @signals: values of monitored fences to publish when it is over, or NULL; holds a reference */
	struct tessera_signals *signals;
	/** @error: keeps the job from running and becomes its fence's error */
	int error;
};

/**
 * struct tessera_group - a submission in parts, as its parts know it
 */
struct tessera_group {
	/** @ref: the submission and its parts hold one each */
	struct kref ref;
	/** @unfinished: parts that are armed and not finished */
	atomic_t unfinished;
	/** @wait: for fewer of them */
	wait_queue_head_t wait;
	/** @limit_ns: for how long it may have its engine to itself; 0: it does not */
	u64 limit_ns;
	/** @idle_ns: how much of each wait between two parts counts */
	u64 idle_ns;
	/** @ran_ns: of @limit_ns, by its parts; under the engine's lock */
	u64 ran_ns;
	/** @waited_ns: of @limit_ns, between parts; likewise */
	u64 waited_ns;
	/** @end_ns: device clock when its last part ended, 0 before that; likewise */
	u64 end_ns;
	/** @error: of a part; no part behind it runs */
	int error;
	/** @overran: it has spent more; what has not begun does not */
	bool overran;
	/** @hogged: its parts alone have; set before @overran */
	bool hogged;
	/** @told: and has been blamed for it; only parts being prepared look at it */
	bool told;
};

/*
 * How a submission waits once parts of it are armed. It cannot begin anew, and what it waits for may
 * take longer than the freezer has patience: so suspend freezes it there, with its context's lock,
 * which nobody needs who is not frozen (hence _UNSAFE), and with the gate closed. The freezer of cgroup
 * v1 does so, too, and then others wait until it lets go.
 */
#define TESSERA_GROUP_WAIT	(TASK_KILLABLE | TASK_FREEZABLE_UNSAFE)

/* For how many job timeouts a submission may have its engine to itself; a debugfs knob. */
#define TESSERA_GROUP_TIMEOUTS	12

struct tessera_group *tessera_group_create(struct tessera_context *ctx);
void tessera_group_put(struct tessera_group *group);
int tessera_group_error(const struct tessera_group *group);
const atomic_t *tessera_group_unfinished(const struct tessera_group *group);
int tessera_group_wait(struct tessera_group *group, u32 unfinished);

struct tessera_part *tessera_part_create(struct tessera_context *ctx, u32 max_uses);
void tessera_part_put(struct tessera_part *part);
int tessera_part_use(struct tessera_part *part, struct tessera_bo *bo, bool write);
void tessera_part_join_group(struct tessera_part *part, struct tessera_group *group);
int tessera_part_signal(struct tessera_part *part, const struct tessera_syncs *syncs, bool late);
void tessera_part_unsignal(const struct tessera_syncs *syncs);
struct dma_fence *tessera_part_arm(struct tessera_part *part, struct tessera_pass *pass);
void tessera_part_publish(struct tessera_part *part, struct tessera_bo *bo,
			  bool write, u64 stamp);
void tessera_part_push(struct tessera_part *part);

#endif /* __TESSERA_PART_H__ */
