/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_GATE_H__
#define __TESSERA_GATE_H__

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/wait.h>

struct tessera_context;		/* submit/context.h */
struct tessera_device;
struct tessera_epoch;		/* gate.c */
struct tessera_gate;		/* gate.c */
struct tessera_job;		/* exec/job.h */
struct tessera_payer;		/* segments/account.h */

/**
 * struct tessera_pass - a submission at the gate of its engine
 *
 * Everything but @excused and @voids is private to gate.c.
 */
struct tessera_pass {
	/** @gate: the gate, or NULL: the engine can preempt and has none */
	struct tessera_gate *gate;
	/** @payer: the process */
	struct tessera_payer *payer;
	/** @unfinished: for a group, parts that are armed and not finished; else NULL */
	const atomic_t *unfinished;
	/** @epoch: for a group, what later jobs join; NULL once its first part is armed */
	struct tessera_epoch *epoch;
	/** @number: &tessera_gate.number when it was admitted */
	u32 number;
	/** @slot: counts as an unfinished job of the process until one is armed */
	bool slot;
	/** @voids: how often its submission was passed over; the caller's */
	u32 voids;
	/** @excused: until then, in jiffies, it waits for others, and the watchdog passes it over; or 0 */
	unsigned long excused;
	/** @node: among the waiting submissions */
	struct list_head node;
	/** @wait: for admission */
	wait_queue_head_t wait;
	/** @admitted: it is; under the gate's lock */
	bool admitted;
};

int tessera_gate_init(struct tessera_device *tdev);
bool tessera_gate_there(struct tessera_device *tdev, u32 engine);

int tessera_gate_enter(struct tessera_pass *pass, struct tessera_context *ctx,
		       const atomic_t *unfinished);
int tessera_gate_order(struct tessera_pass *pass, struct tessera_job *job);
bool tessera_gate_arm(struct tessera_pass *pass, struct tessera_job *job,
		      struct tessera_epoch **epoch);
bool tessera_gate_is_void(const struct tessera_pass *pass);
void tessera_gate_leave(struct tessera_pass *pass);
void tessera_gate_done(struct tessera_payer *payer, u32 engine, struct tessera_epoch *epoch);

#endif /* __TESSERA_GATE_H__ */
