/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the layers above, and its own files, may use of submit/: contexts and submissions. */
#ifndef __TESSERA_SUBMIT_H__
#define __TESSERA_SUBMIT_H__

#include <linux/atomic.h>
#include <linux/gfp.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <drm/gpu_scheduler.h>

#include "exec/exec.h"
#include "mem/mem.h"
#include "pure/patch.h"
#include "pure/slot.h"
#include "pure/split.h"
#include "segments/segments.h"
#include "sync/sync.h"
#include "vm/vm.h"

struct dma_fence;
struct drm_exec;
struct drm_file;
struct drm_tessera_context_create;
struct drm_tessera_context_status;
struct drm_tessera_submit_alloc;
struct drm_tessera_submit_vm;
struct drm_tessera_sync;
struct tessera_backlog;		/* sync/sync.h */
struct tessera_epoch;		/* gate.c */
struct tessera_gate;		/* gate.c */
struct tessera_group;
struct tessera_ib;		/* exec/exec.h */
struct tessera_monitored_set;	/* sync/monitored.c */
struct tessera_signals;		/* sync/monitored.c */
struct xarray;			/* submit/context.c */

/** TESSERA_MAX_CONTEXTS: contexts one process may have */
#define TESSERA_MAX_CONTEXTS	1024

/**
 * struct tessera_context - one queue of a client
 */
struct tessera_context {
	/** @ref: the client's table and each job hold one */
	struct kref ref;
	/** @node: in the device's list of contexts, under its lock */
	struct list_head node;
	/** @table: of the client it was made for; only compared */
	const struct xarray *table;
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @engine: where its jobs run */
	struct tessera_engine *engine;
	/** @account: who pays; holds a reference */
	struct tessera_account *account;
	/** @hw_id: unique per device; what the device and the traces show */
	u32 hw_id;
	/** @flags: DRM_TESSERA_CONTEXT_* */
	u32 flags;
	/** @level: priority of its jobs */
	enum tessera_level level;
	/** @queue: the engine's account of @entity */
	struct tessera_queue queue;
	/** @entity: queue of the engine's scheduler */
	struct drm_sched_entity entity;
	/** @backlog: of its client; holds a reference */
	struct tessera_backlog *backlog;
	/** @guilty: set by the scheduler when a job of it hung; then no more are taken */
	atomic_t guilty;
	/** @faulted: a job of it was ended for what it did at an address */
	bool faulted;
	/** @hangs: jobs of it that hung, or kept an engine for too long */
	atomic_t hangs;
	/** @resets: of the device, before it was created */
	u32 resets;
	/**
	 * @lock: serialises submissions: from the first use of @slots until the last
	 * part is pushed. Taken before all others, and waits for nobody's jobs but those
	 * of the same submission.
	 */
	struct mutex lock;
	/** @slots: resource table, scratch of one submission; under @lock */
	struct tessera_slot_table slots;
	/** @dropped: its client has gone; what has not begun does not begin */
	bool dropped;
	/** @next_job: number of the next submission, for traces; under @lock */
	u64 next_job;
	/** @split_seed: seed of its random cuts */
	u32 split_seed;
	/** @vm: at whose addresses it works, NULL: patched; until it leaves its client's table */
	struct tessera_vm *vm;
	/** @space: page tables of @vm, or NULL; holds a reference */
	struct tessera_space *space;
	/** @vm_queue: for @space */
	struct tessera_vm_queue vm_queue;
	/** @vm_last: how its last job at virtual addresses ended, or NULL; under @lock */
	struct tessera_fence *vm_last;
};

int tessera_context_init(struct tessera_device *tdev);
void tessera_context_lose_all(struct tessera_device *tdev);
void tessera_context_accept(struct tessera_device *tdev);
int tessera_context_create(struct tessera_device *tdev, struct xarray *contexts,
			   struct tessera_account *account, struct tessera_backlog *backlog,
			   struct tessera_vm *vm,
			   const struct drm_tessera_context_create *args, u32 *id);
int tessera_context_destroy(struct xarray *contexts, u32 id);
void tessera_context_destroy_all(struct tessera_device *tdev, struct xarray *contexts);
void tessera_context_blame(struct tessera_context *ctx);
void tessera_context_status(struct tessera_context *ctx,
			    struct drm_tessera_context_status *status);
u32 tessera_context_resets(struct tessera_device *tdev);
struct tessera_context *tessera_context_lookup(struct xarray *contexts, u32 id);
struct tessera_context *tessera_context_get(struct tessera_context *ctx);
void tessera_context_put(struct tessera_context *ctx);

/* submit/gate.c */

/**
 * struct tessera_pass - a submission at the gate of its engine
 *
 * Everything but @excused is private to gate.c.
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
	/** @task: the thread of the submission */
	const struct task_struct *task;
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

int tessera_gate_enter(struct tessera_pass *pass, struct tessera_context *ctx,
		       const atomic_t *unfinished);
int tessera_gate_order(struct tessera_pass *pass, struct tessera_job *job);
bool tessera_gate_arm(struct tessera_pass *pass, struct tessera_job *job,
		      struct tessera_epoch **epoch);
bool tessera_gate_is_void(const struct tessera_pass *pass);
void tessera_gate_leave(struct tessera_pass *pass);
void tessera_gate_done(struct tessera_payer *payer, u32 engine, struct tessera_epoch *epoch);

/* submit/part.c */

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

/* submit/request.c */

/* Limits of one submission, reported by DRM_TESSERA_QUERY_DEVICE. */
#define TESSERA_MAX_ALLOCS	65536
#define TESSERA_MAX_PATCHES	1048576
#define TESSERA_MAX_SYNCS	1024

/* No element of the allocation list. */
#define TESSERA_REQUEST_NONE	U32_MAX

/**
 * enum tessera_again - why a submission begins again, with nothing armed by the last attempt
 * @TESSERA_AGAIN_DISTURBED: others have changed what the attempt relied on
 * @TESSERA_AGAIN_CLOSED: another submission has claimed a segment
 * @TESSERA_AGAIN_SPLIT: it does not fit as a whole
 * @TESSERA_AGAIN_DYING: it does not fit, but objects are being destroyed
 * @TESSERA_AGAIN_HELD: it does not fit, but older submissions hold objects
 * @TESSERA_AGAIN_FOREIGN: an object waits for foreign fences, or another device: &tessera_request.blocker
 * @TESSERA_AGAIN_PAGES: user memory that it uses has changed
 * @TESSERA_AGAIN_VOID: the gate was given to others
 * @TESSERA_AGAIN_ABSENT: SUBMIT_VM: a listed object is not resident
 * @TESSERA_AGAIN_ASID: SUBMIT_VM: no address space number is free
 *
 * Positive, for functions that return 0 or an error, too.
 */
enum tessera_again {
	TESSERA_AGAIN_DISTURBED = 1,
	TESSERA_AGAIN_CLOSED,
	TESSERA_AGAIN_SPLIT,
	TESSERA_AGAIN_DYING,
	TESSERA_AGAIN_HELD,
	TESSERA_AGAIN_FOREIGN,
	TESSERA_AGAIN_PAGES,
	TESSERA_AGAIN_VOID,
	TESSERA_AGAIN_ABSENT,
	TESSERA_AGAIN_ASID,
};

/**
 * struct tessera_submit_data - the kernel's copy of what a submission brought
 *
 * The ioctl owns the arrays and the reference to @ib.
 */
struct tessera_submit_data {
	/** @context: number of the context */
	u32 context;
	/** @cmd_bytes: length of the commands, checked */
	u32 cmd_bytes;
	/** @ib: the commands */
	struct tessera_ib *ib;
	/** @allocs: allocation list */
	struct drm_tessera_submit_alloc *allocs;
	/** @patches: patch list */
	struct tessera_patch *patches;
	/** @syncs: sync list */
	struct drm_tessera_sync *syncs;
	/** @fences: the client's monitored fences */
	struct tessera_monitored_set *fences;
	/** @num_allocs: elements of @allocs */
	u32 num_allocs;
	/** @num_patches: elements of @patches */
	u32 num_patches;
	/** @num_syncs: elements of @syncs */
	u32 num_syncs;
	/** @num_parts: result: parts the submission was cut into */
	u32 num_parts;
	/** @err: result: where the fault is */
	struct tessera_patch_error err;
};

/**
 * struct tessera_request - one submission: copied, looked up, checked
 */
struct tessera_request {
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @ctx: the context; holds a reference */
	struct tessera_context *ctx;
	/** @file: the client; for the call */
	struct drm_file *file;
	/** @ib: the commands; the ioctl's reference */
	struct tessera_ib *ib;
	/** @cmds: the commands, as the CPU sees them */
	void *cmds;
	/** @bos: one for each element of the allocation list, NULL for a NULL element */
	struct tessera_bo **bos;
	/** @slots: elements of @bos by object: a hash table, %TESSERA_REQUEST_NONE where it is free */
	u32 *slots;
	/** @slot_bits: log2 of the length of @slots */
	u32 slot_bits;
	/** @uses: elements of the allocation list that are not NULL, by first use */
	u32 *uses;
	/** @num_uses: length of @uses */
	u32 num_uses;
	/** @checked: tessera_request_check() was called, and is not to be again */
	bool checked;
	/** @changes: times user memory has changed since something was armed, or the beginning */
	u32 changes;
	/** @num_users: elements of @bos that are user memory */
	u32 num_users;
	/** @renamed: there are instances among @bos, and they may be listed */
	bool renamed;
	/** @allocs: what the checks need to know of @bos */
	struct tessera_patch_alloc *allocs;
	/** @patches: the patch list; the ioctl's */
	const struct tessera_patch *patches;
	/** @list: @patches, @allocs and limits */
	struct tessera_patch_list list;
	/** @order: elements of @patches that are not NULL, in stream order */
	u32 *order;
	/** @num_order: length of @order */
	u32 num_order;
	/** @syncs: fences in and out */
	struct tessera_syncs syncs;
	/** @pass: the gate's, while it is inside */
	struct tessera_pass pass;
	/** @num_parts: parts it was cut into */
	u32 num_parts;
	/** @blocker: what an object was found to wait for, see tessera_request_unblock() */
	struct tessera_blocker blocker;
	/** @blocks: how often something has, with nothing armed */
	u32 blocks;
	/** @err: where the fault is */
	struct tessera_patch_error err;
	/** @job: number of the submission in its context, for traces */
	u64 job;
	/** @stamp: number of the submission on the device, for LRU */
	u64 stamp;
};

int tessera_request_init(struct tessera_request *req, struct tessera_device *tdev,
			 struct drm_file *file, struct xarray *contexts,
			 const struct tessera_submit_data *data);
void tessera_request_fini(struct tessera_request *req);
u32 tessera_request_find(const struct tessera_request *req, u32 bo_id);
int tessera_request_check(struct tessera_request *req);
void tessera_request_accepted(struct tessera_request *req);
int tessera_request_lock(struct tessera_request *req, struct drm_exec *exec);
int tessera_request_find_foreign(struct tessera_request *req, u32 alloc);
int tessera_request_unblock(struct tessera_request *req, enum tessera_wait_row row, long timeout);

bool tessera_request_is_ready(struct tessera_request *req);
int tessera_request_ready(struct tessera_request *req, u64 end);
int tessera_request_begin_users(struct tessera_request *req, const u32 *allocs, u32 num);
void tessera_request_end_users(struct tessera_request *req);

static inline bool tessera_request_writes(const struct tessera_request *req, u32 alloc)
{
	return req->allocs[alloc].flags & TESSERA_PATCH_ALLOC_WRITE;
}

void tessera_request_patch(struct tessera_request *req, u32 index);

/* In a loop over one of the lists. */
static inline int tessera_request_pause(const struct tessera_request *req, u32 step)
{
	return tessera_patch_pause(&req->list, step);
}

/* submit/split_input.c */

/* Values of &tessera_device.force_split. */
#define TESSERA_FORCE_SPLIT_ALL		1
#define TESSERA_FORCE_SPLIT_RANDOM	2

/*
 * What a part costs, in KiB of paging: its paging waits for the job before it, and its job for the
 * paging. With an emulated processor the two take a millisecond, in which 16 MiB are moved.
 */
#define TESSERA_SPLIT_CUT_COST_KIB	16384

/* Large arrays whose size a client chose: its own, and better refused than forced. */
#define TESSERA_GFP_LISTS	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL)

/**
 * struct tessera_split_model - what the planner is told, and what its numbers mean
 */
struct tessera_split_model {
	/** @in: the planner's input; segment indexes are segment ids */
	struct tessera_split_input in;
	/** @segs: segments by id */
	struct tessera_split_seg segs[TESSERA_SPLIT_MAX_SEGS];
	/** @allocs: the allocation list */
	struct tessera_split_alloc *allocs;
	/** @placed: bit for each allocation that is among @blocks */
	unsigned long *placed;
	/** @blocks: occupied ranges */
	struct tessera_split_block *blocks;
	/** @seniority: how old the submission is among those that hold objects */
	u64 seniority;
	/** @held: older submissions hold something in these segments */
	bool held;
	/** @block_bos: the object in each of them, with a reference; NULL: being destroyed */
	struct tessera_bo **block_bos;
	/** @max_blocks: room in @blocks and @block_bos */
	u32 max_blocks;
	/** @dying: some block is being destroyed */
	bool dying;
};

bool tessera_split_is_forced(const struct tessera_request *req);
u32 tessera_split_segments(const struct tessera_request *req);
int tessera_split_model_init(struct tessera_split_model *model,
			     const struct tessera_request *req, u32 segments);
void tessera_split_model_fini(struct tessera_split_model *model);

/* submit/run.c */

/* What one batch has at most. A part that needs more operations is a batch of its own. */
#define TESSERA_BATCH_PARTS	32
#define TESSERA_BATCH_OPS	1024

/* Parts of one submission that may be armed and not finished. */
#define TESSERA_GROUP_PARTS	64

/**
 * struct tessera_submit_run - a checked submission on its way to the scheduler
 *
 * Too large for the stack. The members behind @group are for a submission in parts. The memory that
 * they point to exists from tessera_plan_init() on.
 */
struct tessera_submit_run {
	/** @req: the submission */
	struct tessera_request *req;
	/** @segments: ids of the segments it may touch */
	u32 segments;
	/** @inside: it has passed the gate, and not left it */
	bool inside;
	/** @claimed: no other submission may place objects in @segments now */
	bool claimed;
	/** @ended: @last carries the end of the submission */
	bool ended;
	/** @misses: attempts at the batch at hand that other submissions have disturbed */
	u32 misses;
	/** @seen: events so far, read before the attempt at hand */
	u32 seen[TESSERA_ROOM_EVENTS];
	/** @used: objects of the part at hand, allocation indexes */
	const u32 *used;
	/** @num_used: elements of @used */
	u32 num_used;
	/** @num_parts: parts pushed */
	u32 num_parts;
	/** @last: the part pushed last, or NULL */
	struct tessera_part *last;
	/** @replay: the slot table along the parts */
	struct tessera_patch_replay replay;
	/** @waits_since: when it began to wait for others behind armed parts; 0 while it does not */
	u64 waits_since;
	/** @waited: how long it did so before, in jiffies */
	u64 waited;
	/** @group: counts its unfinished parts; NULL: the submission is tried as a whole */
	struct tessera_group *group;
	/** @closing: carries a late error; exists before the first part is pushed */
	struct tessera_part *closing;
	/** @cursor: how far it is armed */
	struct tessera_split_cursor cursor;
	/** @cursor_mem: what @cursor points into; NULL before the first batch */
	void *cursor_mem;
	/** @model: what the batch at hand is planned with */
	struct tessera_split_model model;
	/** @plan: of the batch at hand */
	struct tessera_split_plan plan;
	/** @collected: memory for @used */
	u32 *collected;
	/** @mark: for each allocation, the last part that used it, counted from 1 */
	u32 *mark;
	/** @marks: parts prepared so far */
	u32 marks;
	/** @holding: bit for each allocation that is held */
	unsigned long *holding;
	/** @turn_parts: value of @num_parts at which it is to become the youngest */
	u32 turn_parts;
	/** @turn_jiffies: or when */
	unsigned long turn_jiffies;
	/** @seniority: how old it is among those that hold objects, see mem/hold.c */
	u64 seniority;
};

void tessera_run_rewind(struct tessera_submit_run *run);
int tessera_run_part(struct tessera_submit_run *run, const struct tessera_split_op *op);
int tessera_run_close(struct tessera_submit_run *run, int error);

int tessera_plan_init(struct tessera_submit_run *run);
void tessera_plan_fini(struct tessera_submit_run *run);
int tessera_plan_make(struct tessera_submit_run *run);
int tessera_plan_lock(struct tessera_submit_run *run, struct drm_exec *exec);
int tessera_plan_follow(struct tessera_submit_run *run);
void tessera_plan_drop(struct tessera_submit_run *run);
void tessera_plan_take_turns(struct tessera_submit_run *run);
void tessera_plan_drop_holds(struct tessera_submit_run *run);

/* submit/submit.c */
int tessera_submit(struct tessera_device *tdev, struct drm_file *file, struct xarray *contexts,
		   struct tessera_submit_data *data);

/* submit/submit_vm.c */
int tessera_submit_vm(struct drm_file *file, struct xarray *contexts,
		      struct tessera_monitored_set *fences,
		      const struct drm_tessera_submit_vm *args,
		      const struct drm_tessera_sync *syncs);

#endif /* __TESSERA_SUBMIT_H__ */
