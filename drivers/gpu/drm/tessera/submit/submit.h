/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Interface of submit/: contexts and submissions. */
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
struct xarray;			/* linux/xarray.h */

/** TESSERA_MAX_CONTEXTS: most contexts of a process */
#define TESSERA_MAX_CONTEXTS	1024

/**
 * struct tessera_context - a queue of a client
 */
struct tessera_context {
	/** @ref: the client's table and each job hold one */
	struct kref ref;
	/** @node: in the device's list of contexts, under its lock */
	struct list_head node;
	/**
	 * @table: the client's table of contexts; only compared, never
	 * dereferenced
	 */
	const struct xarray *table;
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @engine: the engine that runs its jobs */
	struct tessera_engine *engine;
	/** @account: the account that is charged; holds a reference */
	struct tessera_account *account;
	/** @hw_id: unique per device; shown by the device and in traces */
	u32 hw_id;
	/** @flags: DRM_TESSERA_CONTEXT_* */
	u32 flags;
	/** @level: priority of its jobs */
	enum tessera_level level;
	/** @queue: the engine's record of @entity */
	struct tessera_queue queue;
	/** @entity: scheduler entity of the engine */
	struct drm_sched_entity entity;
	/** @backlog: backlog of its client; holds a reference */
	struct tessera_backlog *backlog;
	/**
	 * @guilty: set by the scheduler when one of its jobs hung, or when the
	 * context is lost; it accepts no more jobs then
	 */
	atomic_t guilty;
	/** @faulted: one of its jobs was ended for a bad access */
	bool faulted;
	/**
	 * @hangs: number of its jobs that hung, or kept an engine for too long
	 */
	atomic_t hangs;
	/** @resets: device resets before it was created */
	u32 resets;
	/**
	 * @lock: serialises submissions, from the first use of @slots until the
	 * last part is pushed. Only &tessera_device.reset_lock is taken before
	 * it. base/wait_rows.h lists the waits of a thread that holds it.
	 */
	struct mutex lock;
	/** @slots: slot table, scratch memory of one submission; under @lock */
	struct tessera_slot_table slots;
	/**
	 * @dropped: its client has gone, or the context was lost; jobs that
	 * have not begun do not run
	 */
	bool dropped;
	/** @next_job: number of the next submission, for traces; under @lock */
	u64 next_job;
	/** @split_seed: seed of random cuts */
	u32 split_seed;
	/**
	 * @vm: its VM, until the context leaves the client's table; NULL for a
	 * patched context
	 */
	struct tessera_vm *vm;
	/** @pts: page tables of @vm, or NULL; holds a reference */
	struct tessera_page_tables *pts;
	/** @vm_queue: its queue in the list of @pts, or NULL */
	struct tessera_vm_queue *vm_queue;
	/**
	 * @vm_last: hardware fence of its last job at virtual addresses, or
	 * NULL; under @lock
	 */
	struct tessera_fence *vm_last;
};

int tessera_context_init(struct tessera_device *tdev);
void tessera_context_lose_file(struct tessera_device *tdev, const struct xarray *contexts);
void tessera_context_lose_all(struct tessera_device *tdev);
void tessera_context_accept(struct tessera_device *tdev);
int tessera_context_create(struct tessera_device *tdev, struct xarray *contexts,
			   struct tessera_account *account, struct tessera_backlog *backlog,
			   struct tessera_vm *vm,
			   const struct drm_tessera_context_create *args, u32 *id);
int tessera_context_destroy(struct xarray *contexts, u32 id);
void tessera_context_destroy_all(struct tessera_device *tdev, struct xarray *contexts);
void tessera_context_blame(struct tessera_context *ctx, bool counts);
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
 * Private to gate.c, except for @excused.
 */
struct tessera_pass {
	/** @gate: the gate; NULL: the device can preempt and has none */
	struct tessera_gate *gate;
	/** @process: the process of the submission */
	struct tessera_process *process;
	/**
	 * @unfinished: for a group, number of its parts that are armed and not
	 * finished; else NULL
	 */
	const atomic_t *unfinished;
	/**
	 * @epoch: for a group, the epoch that later jobs join; NULL once the
	 * first part is armed
	 */
	struct tessera_epoch *epoch;
	/** @number: value of &tessera_gate.number when it was admitted */
	u32 number;
	/**
	 * @slot: the pass counts as an unfinished job of the process, until a
	 * job is armed
	 */
	bool slot;
	/** @task: the thread of the submission */
	const struct task_struct *task;
	/**
	 * @excused: time in jiffies until which the watchdog ignores the group,
	 * because it waits for other clients; or 0
	 */
	unsigned long excused;
	/** @node: in the list of waiting submissions */
	struct list_head node;
	/** @wait: wait queue for admission */
	wait_queue_head_t wait;
	/** @admitted: the submission was admitted; under the gate's lock */
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
void tessera_gate_done(struct tessera_process *process, u32 engine, struct tessera_epoch *epoch);

/* submit/part.c */

/**
 * struct tessera_part - a job of a context: a whole submission or a part of one
 */
struct tessera_part {
	/** @job: the job */
	struct tessera_job job;
	/** @ctx: the context; holds a reference */
	struct tessera_context *ctx;
	/**
	 * @backlog: its entry in the client's backlog, from arming until it is
	 * finished
	 */
	struct tessera_backlog_job backlog;
	/** @gated: it was armed with a pass of a gate */
	bool gated;
	/** @epoch: see tessera_gate_arm(); NULL for parts of a group */
	struct tessera_epoch *epoch;
	/**
	 * @group: the submission in parts that it belongs to, or NULL; holds a
	 * reference
	 */
	struct tessera_group *group;
	/**
	 * @lost: &tessera_bo.lost of the objects it uses, each valid until its
	 * fence signals
	 */
	atomic_t **lost;
	/** @num_lost: used elements of @lost */
	u32 num_lost;
	/** @max_lost: allocated elements of @lost */
	u32 max_lost;
	/**
	 * @signals: monitored fence values to publish when it ends, or NULL;
	 * holds a reference
	 */
	struct tessera_signals *signals;
	/**
	 * @error: if not 0, the job does not run and this becomes the error of
	 * its fence
	 */
	int error;
};

/**
 * struct tessera_group - state shared by the parts of a submission
 */
struct tessera_group {
	/** @ref: the submission and its parts hold one each */
	struct kref ref;
	/** @unfinished: parts that are armed and not finished */
	atomic_t unfinished;
	/** @wait: wait queue for @unfinished to drop */
	wait_queue_head_t wait;
	/**
	 * @limit_ns: how long the group may occupy its engine alone; 0: it does
	 * not
	 */
	u64 limit_ns;
	/** @idle_ns: how much of each gap between two parts counts */
	u64 idle_ns;
	/**
	 * @ran_ns: share of @limit_ns used by running parts; under the engine's
	 * lock
	 */
	u64 ran_ns;
	/**
	 * @waited_ns: share of @limit_ns used by gaps between parts; under the
	 * engine's lock
	 */
	u64 waited_ns;
	/**
	 * @end_ns: device clock when the last part ended, 0 before that; under
	 * the engine's lock
	 */
	u64 end_ns;
	/** @error: error of a part; no later part runs */
	int error;
	/**
	 * @overran: @limit_ns is exceeded; parts that have not begun do not run
	 */
	bool overran;
	/**
	 * @hogged: running parts alone have exceeded @limit_ns; set before
	 * @overran
	 */
	bool hogged;
	/**
	 * @told: @overran was reported, and the context blamed if @hogged; used
	 * by the prepare hook only
	 */
	bool told;
};

/*
 * Task state of a submission that waits behind armed parts. It cannot restart,
 * and its wait may take longer than the freezer's patience. Suspend freezes the
 * thread in place, with the context's lock and &tessera_device.reset_lock held
 * and the gate closed. All threads that need these are frozen, too, so
 * lockdep's check for held locks is switched off (_UNSAFE). The freezer of
 * cgroup v1 freezes single processes, however. Other clients at the gate then
 * wait until the watchdog opens it.
 */
#define TESSERA_GROUP_WAIT	(TASK_KILLABLE | TASK_FREEZABLE_UNSAFE)

/*
 * Default of a debugfs knob: job timeouts for which a submission may occupy its
 * engine alone.
 */
#define TESSERA_GROUP_TIMEOUTS	12

struct tessera_group *tessera_group_create(struct tessera_context *ctx);
void tessera_group_put(struct tessera_group *group);
int tessera_group_error(const struct tessera_group *group);
int tessera_group_wait(struct tessera_group *group, u32 most, struct tessera_quota *quota);

struct tessera_part *tessera_part_create(struct tessera_context *ctx, u32 max_uses);
void tessera_part_put(struct tessera_part *part);
int tessera_part_use(struct tessera_part *part, struct tessera_bo *bo, bool write);
int tessera_part_signal(struct tessera_part *part, const struct tessera_syncs *syncs, bool late);
void tessera_part_unsignal(const struct tessera_syncs *syncs);
struct dma_fence *tessera_part_arm(struct tessera_part *part, struct tessera_pass *pass);
void tessera_part_publish(struct tessera_part *part, struct tessera_bo *bo,
			  bool write, u64 stamp);

/* submit/request.c */

/* Limits of a submission, reported by DRM_TESSERA_QUERY_DEVICE. */
#define TESSERA_MAX_ALLOCS	65536
#define TESSERA_MAX_PATCHES	1048576
#define TESSERA_MAX_SYNCS	1024

/* Marks a value that is no index of the allocation list. */
#define TESSERA_REQUEST_NONE	U32_MAX

/**
 * enum tessera_again - why a submission begins again
 * @TESSERA_AGAIN_DISTURBED: other submissions have changed what the attempt
 * relied on
 * @TESSERA_AGAIN_CLOSED: another submission has claimed a segment
 * @TESSERA_AGAIN_SPLIT: it does not fit as a whole
 * @TESSERA_AGAIN_DYING: it does not fit, but objects are being destroyed
 * @TESSERA_AGAIN_HELD: it does not fit, but older submissions hold objects
 * @TESSERA_AGAIN_FOREIGN: an object waits for foreign fences or another device,
 * see &tessera_request.blocker
 * @TESSERA_AGAIN_TRIM: another client gets time to trim
 * @TESSERA_AGAIN_PAGES: user memory that it uses has changed
 * @TESSERA_AGAIN_VOID: the watchdog has opened the gate
 * @TESSERA_AGAIN_ABSENT: SUBMIT_VM: a listed object is not resident
 * @TESSERA_AGAIN_ASID: SUBMIT_VM: no ASID is free
 *
 * The last attempt has armed nothing. The values are positive, for functions
 * that also return 0 or an error.
 */
enum tessera_again {
	TESSERA_AGAIN_DISTURBED = 1,
	TESSERA_AGAIN_CLOSED,
	TESSERA_AGAIN_SPLIT,
	TESSERA_AGAIN_DYING,
	TESSERA_AGAIN_HELD,
	TESSERA_AGAIN_FOREIGN,
	TESSERA_AGAIN_TRIM,
	TESSERA_AGAIN_PAGES,
	TESSERA_AGAIN_VOID,
	TESSERA_AGAIN_ABSENT,
	TESSERA_AGAIN_ASID,
};

/**
 * struct tessera_submit_data - the kernel's copy of the arguments of SUBMIT
 *
 * The ioctl owns the arrays and the reference to @ib.
 */
struct tessera_submit_data {
	/** @context: number of the context */
	u32 context;
	/** @cmd_bytes: length of the commands, range checked */
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
	/** @num_parts: result: number of parts */
	u32 num_parts;
	/** @err: result: position of an error */
	struct tessera_patch_error err;
};

/**
 * struct tessera_request - a submission: copied, looked up, checked
 */
struct tessera_request {
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @ctx: the context; holds a reference */
	struct tessera_context *ctx;
	/** @file: the client; valid during the call */
	struct drm_file *file;
	/** @ib: the commands; the reference is the ioctl's */
	struct tessera_ib *ib;
	/** @cmds: CPU mapping of the commands */
	void *cmds;
	/** @bos: object of each element of the allocation list, or NULL */
	struct tessera_bo **bos;
	/**
	 * @slots: hash table from objects to elements of @bos;
	 * %TESSERA_REQUEST_NONE: free
	 */
	u32 *slots;
	/** @slot_bits: log2 of the length of @slots */
	u32 slot_bits;
	/**
	 * @uses: indexes of the allocation list that are not NULL elements, by
	 * first use
	 */
	u32 *uses;
	/** @num_uses: length of @uses */
	u32 num_uses;
	/** @checked: tessera_request_check() has accepted the lists */
	bool checked;
	/**
	 * @changes: how often user memory has changed since the last part was
	 * armed, or since the beginning
	 */
	u32 changes;
	/** @num_users: elements of @bos that are user memory */
	u32 num_users;
	/** @renamed: @bos has renamed instances, and they may be listed */
	bool renamed;
	/** @allocs: properties of @bos for the checks */
	struct tessera_patch_alloc *allocs;
	/** @patches: the patch list; owned by the ioctl */
	const struct tessera_patch *patches;
	/** @list: @patches, @allocs and limits, for the checks */
	struct tessera_patch_list list;
	/**
	 * @order: indexes of @patches that are not NULL elements, in stream
	 * order
	 */
	u32 *order;
	/** @num_order: length of @order */
	u32 num_order;
	/** @syncs: in-fences and out-fences */
	struct tessera_syncs syncs;
	/** @pass: its pass of the gate, between enter and leave */
	struct tessera_pass pass;
	/** @num_parts: number of parts */
	u32 num_parts;
	/**
	 * @blocker: what an object was found to wait for, see
	 * tessera_request_unblock()
	 */
	struct tessera_blocker blocker;
	/** @blocks: how often it was blocked with nothing armed */
	u32 blocks;
	/** @err: position of an error */
	struct tessera_patch_error err;
	/** @job: number of the submission in its context, for traces */
	u64 job;
	/** @stamp: number of the submission on the device, for the LRU */
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

/* For loops over a list: yields, and checks for a fatal signal. */
static inline int tessera_request_pause(const struct tessera_request *req, u32 step)
{
	return tessera_patch_pause(&req->list, step);
}

/* submit/split_input.c */

/* Values of &tessera_device.force_split. */
#define TESSERA_FORCE_SPLIT_ALL		1
#define TESSERA_FORCE_SPLIT_RANDOM	2

/*
 * Cost of a part, in KiB of paging. The paging of a part waits for the job
 * before it, and the job of the part waits for the paging. With an emulated
 * processor the two take a millisecond, in which 16 MiB are moved.
 */
#define TESSERA_SPLIT_CUT_COST_KIB	16384

/*
 * For large arrays with a size chosen by the client: charge the client, and
 * fail rather than kill processes.
 */
#define TESSERA_GFP_LISTS	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL)

/**
 * struct tessera_split_model - input of the planner, and what its indexes mean
 */
struct tessera_split_model {
	/** @in: the planner's input; segment indexes are segment ids */
	struct tessera_split_input in;
	/** @segs: segments by id */
	struct tessera_split_seg segs[TESSERA_SPLIT_MAX_SEGS];
	/** @allocs: the allocation list */
	struct tessera_split_alloc *allocs;
	/** @placed: bitmap of allocations that are among @blocks */
	unsigned long *placed;
	/** @blocks: occupied ranges */
	struct tessera_split_block *blocks;
	/**
	 * @seniority: age of the submission among those that hold objects;
	 * smaller is older
	 */
	u64 seniority;
	/** @held: older submissions hold objects in these segments */
	bool held;
	/**
	 * @block_bos: the object in each of @blocks, with a reference; NULL:
	 * being destroyed
	 */
	struct tessera_bo **block_bos;
	/** @max_blocks: allocated elements of @blocks and @block_bos */
	u32 max_blocks;
	/** @dying: some blocks are being destroyed */
	bool dying;
};

bool tessera_split_is_forced(const struct tessera_request *req);
u32 tessera_split_segments(const struct tessera_request *req);
int tessera_split_model_init(struct tessera_split_model *model,
			     const struct tessera_request *req, u32 segments);
void tessera_split_model_fini(struct tessera_split_model *model);

/* submit/run.c */

/* Limits of a batch; a part with more operations is a batch of its own. */
#define TESSERA_BATCH_PARTS	32
#define TESSERA_BATCH_OPS	1024

/* Most parts of a submission that may be armed and not finished. */
#define TESSERA_GROUP_PARTS	64

/**
 * struct tessera_submit_run - progress of a checked submission
 *
 * Too large for the stack. The members from @group on are for a submission in
 * parts. tessera_plan_init() allocates what they point to.
 */
struct tessera_submit_run {
	/** @req: the submission */
	struct tessera_request *req;
	/** @segments: ids of the segments it may touch */
	u32 segments;
	/** @inside: it has passed the gate and not left it */
	bool inside;
	/**
	 * @claimed: it has claimed @segments, so that no other submission may
	 * place objects there
	 */
	bool claimed;
	/**
	 * @ended: the end of the submission is armed: @last signals its
	 * out-fences
	 */
	bool ended;
	/**
	 * @misses: attempts at the current batch that other submissions have
	 * disturbed
	 */
	u32 misses;
	/**
	 * @seen: numbers of the last events, read before the current attempt
	 */
	u32 seen[TESSERA_SPACE_EVENTS];
	/** @used: objects of the current part, as allocation indexes */
	const u32 *used;
	/** @num_used: elements of @used */
	u32 num_used;
	/** @num_parts: number of parts pushed */
	u32 num_parts;
	/** @last: the last part pushed, or NULL */
	struct tessera_part *last;
	/** @replay: follows the slot table from part to part */
	struct tessera_patch_replay replay;
	/**
	 * @waits_since: when the current wait behind armed parts began; 0:
	 * there is none
	 */
	u64 waits_since;
	/** @waited: sum of earlier waits behind armed parts, in jiffies */
	u64 waited;
	/** @group: the group; NULL: the submission is tried as a whole */
	struct tessera_group *group;
	/**
	 * @closing: part that carries a late error; allocated before the first
	 * part is pushed
	 */
	struct tessera_part *closing;
	/** @cursor: how far the submission is armed */
	struct tessera_split_cursor cursor;
	/** @cursor_mem: memory of @cursor; NULL before the first batch */
	void *cursor_mem;
	/** @model: planner input of the current batch */
	struct tessera_split_model model;
	/** @plan: plan of the current batch */
	struct tessera_split_plan plan;
	/** @collected: memory of @used */
	u32 *collected;
	/**
	 * @mark: for each allocation, the last value of @marks at which it was
	 * collected
	 */
	u32 *mark;
	/** @marks: number of the current collection */
	u32 marks;
	/** @holding: bitmap of allocations that are held */
	unsigned long *holding;
	/** @turn_parts: value of @num_parts at which it becomes the youngest */
	u32 turn_parts;
	/**
	 * @turn_jiffies: time at which it becomes the youngest at the latest;
	 * holds end then
	 */
	unsigned long turn_jiffies;
	/**
	 * @seniority: its age among those that hold objects, see mem/hold.c;
	 * smaller is older
	 */
	u64 seniority;
};

void tessera_run_rewind(struct tessera_submit_run *run);
int tessera_run_part(struct tessera_submit_run *run, const struct tessera_split_op *op);
int tessera_run_close(struct tessera_submit_run *run, int error);

int tessera_plan_init(struct tessera_submit_run *run);
void tessera_plan_fini(struct tessera_submit_run *run);
int tessera_plan_make(struct tessera_submit_run *run);
int tessera_plan_lock(struct tessera_submit_run *run, struct drm_exec *exec);
int tessera_plan_execute(struct tessera_submit_run *run);
void tessera_plan_drop(struct tessera_submit_run *run);
void tessera_plan_yield(struct tessera_submit_run *run);
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
