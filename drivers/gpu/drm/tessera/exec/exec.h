/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the layers above may use of exec/: engines, jobs, and what jobs wait for. */
#ifndef __TESSERA_EXEC_H__
#define __TESSERA_EXEC_H__

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/dma-resv.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <drm/gpu_scheduler.h>

#include <tessera/tessera_hw.h>

#include "hw/hw.h"
#include "tessera_device.h"
#include "tessera_wait.h"

struct dma_fence;
struct drm_printer;
struct tessera_engine;
struct tessera_ib;
struct tessera_job;
struct tessera_ring;		/* hw/hw.h */

/* exec/engine.c */

/**
 * typedef tessera_engine_timedout_t - what to do about a job that does not end
 * @engine: the engine
 * @bad: the oldest job of it, taken off the scheduler's list
 *
 * Registered by services/reset.c; runs on &tessera_device.reset_wq.
 */
typedef enum drm_gpu_sched_stat (*tessera_engine_timedout_t)(struct tessera_engine *engine,
							     struct tessera_job *bad);

/**
 * enum tessera_level - priorities of jobs of one engine, see exec/sched.c
 * @TESSERA_LEVEL_LOW: of contexts of low priority
 * @TESSERA_LEVEL_NORMAL: of all other contexts
 * @TESSERA_LEVEL_HIGH: of contexts of high priority, and the driver's own jobs
 * @TESSERA_LEVELS: how many there are
 */
enum tessera_level {
	TESSERA_LEVEL_LOW,
	TESSERA_LEVEL_NORMAL,
	TESSERA_LEVEL_HIGH,
	TESSERA_LEVELS,
};

/* So many jobs of higher priority pass one before its turn comes. */
#define TESSERA_MAX_PASSED	16U

/**
 * struct tessera_queue - what the engine keeps of one queue of jobs
 */
struct tessera_queue {
	/** @unready: jobs pushed, not handed over and not known to be ready; under the engine's lock */
	unsigned int unready;
};

/**
 * struct tessera_preemption - a request to an engine to save its job, see exec/preempt.c
 *
 * All but @able is under the engine's lock.
 */
struct tessera_preemption {
	/** @able: the device can do it; constant */
	bool able;
	/** @held: a reset is about to begin, or under way: nothing is asked, no answer is taken */
	bool held;
	/** @asked: the engine has not answered; jobs are listed and not written meanwhile */
	bool asked;
	/** @save: the save area of the request */
	u32 save;
	/**
	 * @seqno: value of the next FENCE packet then: jobs with that one, and later ones, are not
	 * written; 0 when the engine has answered, and forgotten its ring, but does not start
	 */
	u64 seqno;
	/** @ticks: how often @timer went off since the request */
	u32 ticks;
	/** @count: requests that were answered */
	u64 count;
	/** @timer: for the answer, or for the end of a job's slice */
	struct timer_list timer;
};

/**
 * struct tessera_engine - ring, fence context and scheduler of one engine
 */
struct tessera_engine {
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @keeper: the DRM device, and the engine's fences, have references to the engine */
	struct tessera_fence_keeper keeper;
	/** @id: index in the device's engine registers */
	u32 id;
	/** @type: TSR_ENGINE_* */
	u32 type;
	/** @name: "render0", "paging1", ... */
	char name[20];
	/** @sched: the scheduler */
	struct drm_gpu_scheduler sched;
	/** @ring: the ring; under @lock */
	struct tessera_ring *ring;
	/** @lock: protects @ring, @inflight, @next_seqno, @dead; lock of the fences */
	spinlock_t lock;
	/** @inflight: &tessera_fence in ring order; under @lock */
	struct list_head inflight;
	/** @head_since: when the first of @inflight became the first, in jiffies; under @lock */
	unsigned long head_since;
	/** @looked: when services/reset.c last looked whether a job hangs, in jiffies */
	unsigned long looked;
	/** @preempt: how jobs come before others that have begun */
	struct tessera_preemption preempt;
	/**
	 * @span: fence of the last job of a span that has begun, or NULL; only the
	 * scheduler's worker looks at it, or reset while that is stopped
	 */
	struct tessera_fence *span;
	/**
	 * @ready: by level, jobs of clients that wait for nothing but jobs before them in their
	 * queue, which wait for nothing either, and for the ring; under @lock
	 */
	struct list_head ready[TESSERA_LEVELS];
	/**
	 * @passed: by level, how many jobs above it were handed to the engine since the last
	 * one of it was; as @span
	 */
	u32 passed[TESSERA_LEVELS];
	/** @run_ahead: most jobs of one client in the ring, unless they move little */
	u32 run_ahead;
	/** @run_ahead_moves: what the jobs of one client in the ring may move, if they are more than that */
	u64 run_ahead_moves;
	/** @next_seqno: value of the next FENCE packet; under @lock */
	u64 next_seqno;
	/**
	 * @closed: the registers may be gone; jobs are listed and not written, until @dead is
	 * set. Under @lock; set on &tessera_device.reset_wq
	 */
	bool closed;
	/** @dead: 0, or the error every job gets instead of being run; under @lock */
	int dead;
	/** @resets: how often it was reset */
	u32 resets;
	/** @jobs: jobs written to the ring, resubmissions included; under @lock */
	u64 jobs;
	/** @busy_ns: device time between JOB_BEGIN and FENCE, summed; under @lock */
	u64 busy_ns;
	/** @timeout_ms: how long a job may run; the scheduler's timer goes off twice in that time */
	u32 timeout_ms;
	/** @timedout: registered by services/reset.c */
	tessera_engine_timedout_t timedout;
};

/* exec/quota.c */

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

/* exec/ib.c */
int tessera_ib_init(struct tessera_device *tdev);
void tessera_ib_unplug(struct tessera_device *tdev);
struct tessera_ib *tessera_ib_create(struct tessera_device *tdev, struct tessera_quota *quota,
				     u32 bytes);
struct tessera_ib *tessera_ib_get(struct tessera_ib *ib);
void tessera_ib_put(struct tessera_ib *ib);
void *tessera_ib_cpu(struct tessera_ib *ib);
u32 tessera_ib_bytes(struct tessera_ib *ib);
dma_addr_t tessera_ib_pages_dma(struct tessera_ib *ib);
void tessera_ib_flush(struct tessera_ib *ib, u32 start, u32 end);

/* exec/fences.c */

/**
 * TESSERA_FENCES_BYTES - memory of a set for each fence that it has room for
 *
 * A pointer, and two slots to find it by its context.
 */
#define TESSERA_FENCES_BYTES	(sizeof(void *) + 2 * sizeof(u32))

/**
 * struct tessera_fences - a set of fences, the latest one of each context
 */
struct tessera_fences {
	/** @fence: the fences, with a reference each; allocated with kmalloc() */
	struct dma_fence **fence;
	/** @num: used elements of @fence */
	u32 num;
	/** @max: room in @fence, 0 or a power of two */
	u32 max;
};

int tessera_fences_try_add(struct tessera_fences *fences, struct dma_fence *fence);
bool tessera_fences_has(const struct tessera_fences *fences, struct dma_fence *fence);
int tessera_fences_grow(struct tessera_fences *fences);
int tessera_fences_add(struct tessera_fences *fences, struct dma_fence *fence);
void tessera_fences_fini(struct tessera_fences *fences);

/* exec/foreign.c */
int tessera_foreign_wait(struct tessera_device *tdev, const struct tessera_fences *fences,
			 enum tessera_wait_row row, long timeout);

/* exec/job.c */

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
	 * @overdue: half of its time was over when somebody looked; for services/reset.c. Its time
	 * begins anew when it is resumed
	 */
	bool overdue;

	/* private: exec/job.c and exec/sched.c */
	struct tessera_fence *hw_fence;
	struct dma_fence *finished;
	struct dma_fence_cb finished_cb;
	struct tessera_fence *after;
	struct tessera_fence *behind;
	struct tessera_fence *span;
	/* Jobs that came before it in the ring, when it was there already; under the engine's lock. */
	u32 passed;
	/* No job comes before it until it has had the engine for a slice; likewise. */
	bool turn;
	/* Level that it is sorted by when the engine is preempted; likewise. */
	u32 rank;
	/* Last saved in this area, minus 1; 0: never; likewise. */
	u32 saved;
	/* When it was saved for the first time, in jiffies; likewise. */
	unsigned long first_saved;
	/* What it has had of the engine until then, in ns. */
	u64 active_ns;
	/* In &tessera_engine.ready, or empty; under the engine's lock, as is the next. */
	struct list_head ready;
	/* Counted in &tessera_queue.unready. */
	bool is_unready;
	/* What it waits for, the scheduler's own knowledge apart; does not change once it is armed. */
	struct tessera_fences waits;
	/* Those of @waits before this one are behind it. */
	u32 next_wait;
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

/* exec/trail.c */

/* What jobs do to an object, or to page tables, whose changes are moves. */
#define TESSERA_TRAIL_MOVE	BIT(0)
#define TESSERA_TRAIL_WRITE	BIT(1)
#define TESSERA_TRAIL_READ	BIT(2)

#define TESSERA_TRAIL_STEPS	8

/**
 * struct tessera_trail_step - a job that was queued
 */
struct tessera_trail_step {
	/** @fence: of the job, a reference; NULL: none */
	struct dma_fence *fence;
	/** @kind: what it does, TESSERA_TRAIL_* */
	u32 kind;
	/** @stamp: its number */
	u64 stamp;
};

/**
 * struct tessera_trail - the jobs of an object that come before others, see exec/trail.c
 */
struct tessera_trail {
#if IS_ENABLED(CONFIG_DRM_TESSERA_DEBUG)
	/** @lock: protects what follows; a leaf */
	spinlock_t lock;
	/** @stamp: of the last job */
	u64 stamp;
	/** @written: a job writes it behind its last move */
	bool written;
	/** @steps: those jobs */
	struct tessera_trail_step steps[TESSERA_TRAIL_STEPS];
#endif
};

/* What has to be over before a client's job begins. */
static inline u32 tessera_trail_before(bool write)
{
	return TESSERA_TRAIL_MOVE | TESSERA_TRAIL_WRITE | (write ? TESSERA_TRAIL_READ : 0);
}

#if IS_ENABLED(CONFIG_DRM_TESSERA_DEBUG)
void tessera_trail_init(struct tessera_trail *trail);
void tessera_trail_fini(struct tessera_trail *trail);
void tessera_trail_add(struct tessera_trail *trail, u32 kind, struct dma_fence *fence);
u64 tessera_trail_now(struct tessera_trail *trail);
bool tessera_trail_is_written(struct tessera_trail *trail);
void tessera_trail_check_job(struct tessera_trail *trail, u32 kinds, struct tessera_job *job,
			     u32 id);
void tessera_trail_check_fences(struct tessera_trail *trail, u32 kinds,
				const struct tessera_fences *fences, u32 id);
void tessera_trail_check_over(struct tessera_trail *trail, u32 kinds, u64 stamp, u32 id);
#else
static inline void tessera_trail_init(struct tessera_trail *trail)
{
}

static inline void tessera_trail_fini(struct tessera_trail *trail)
{
}

static inline void tessera_trail_add(struct tessera_trail *trail, u32 kind,
				     struct dma_fence *fence)
{
}

static inline u64 tessera_trail_now(struct tessera_trail *trail)
{
	return 0;
}

static inline bool tessera_trail_is_written(struct tessera_trail *trail)
{
	return false;
}

static inline void tessera_trail_check_job(struct tessera_trail *trail, u32 kinds,
					   struct tessera_job *job, u32 id)
{
}

static inline void tessera_trail_check_fences(struct tessera_trail *trail, u32 kinds,
					      const struct tessera_fences *fences, u32 id)
{
}

static inline void tessera_trail_check_over(struct tessera_trail *trail, u32 kinds, u64 stamp,
					    u32 id)
{
}
#endif

/* exec/preempt.c */

/* The timer goes off so often before a hang is declared: one stop of the machine is none. */
#define TESSERA_ANSWER_TICKS	2

void tessera_preempt_tick_locked(struct tessera_engine *engine);
void tessera_preempt_consider_locked(struct tessera_engine *engine);
void tessera_preempt_sort_locked(struct tessera_engine *engine);
void tessera_preempt_note_saved_locked(struct tessera_engine *engine);
void tessera_preempt_drop(struct tessera_engine *engine);
bool tessera_preempt_is_dry(struct tessera_engine *engine);

/* exec/answer.c */
void tessera_preempt_init(struct tessera_engine *engine);
void tessera_preempt_fini(struct tessera_engine *engine);
void tessera_preempt_event(void *data);
bool tessera_preempt_hold(struct tessera_engine *engine);
void tessera_preempt_release(struct tessera_engine *engine);

/* exec/emit.c */
struct dma_fence *tessera_emit_below(struct tessera_engine *engine, struct tessera_job *job);
void tessera_emit_process_locked(struct tessera_engine *engine);
void tessera_emit_again_locked(struct tessera_engine *engine);
struct tessera_job *tessera_emit_running(struct tessera_engine *engine, unsigned long *since);
struct dma_fence *tessera_emit_stand_back(struct tessera_engine *engine,
					  struct tessera_job *job, bool turn);
void tessera_emit_forget(struct tessera_engine *engine, struct tessera_job *job);
int tessera_emit_job(struct tessera_engine *engine, struct tessera_job *job);
void tessera_emit_finish(struct tessera_engine *engine, struct tessera_job *job, int error);
void tessera_emit_process(struct tessera_engine *engine);
void tessera_emit_cancel(struct tessera_engine *engine, int error);

/* exec/sched.c */
int tessera_sched_queue_init(struct tessera_device *tdev);
int tessera_sched_init(struct tessera_engine *engine, u32 timeout_ms);
void tessera_sched_set_timeout(struct tessera_engine *engine, u32 timeout_ms);
void tessera_sched_fini(struct tessera_engine *engine);

/* exec/engine.c */

/**
 * tessera_engine_num() - number of engines
 * @tdev: the device
 *
 * Return: the count; indexes are below it.
 */
static inline u32 tessera_engine_num(struct tessera_device *tdev)
{
	return tdev->info.num_engines;
}

int tessera_engines_init(struct tessera_device *tdev);
int tessera_engines_start(struct tessera_device *tdev);
int tessera_engines_pause(struct tessera_device *tdev);
int tessera_engines_resume(struct tessera_device *tdev);
void tessera_engines_cancel(struct tessera_device *tdev);
int tessera_engines_revive(struct tessera_device *tdev);

struct tessera_engine *tessera_engine_get(struct tessera_device *tdev, u32 idx);
struct tessera_engine *tessera_engine_paging(struct tessera_device *tdev);
int tessera_engine_entity_init(struct tessera_engine *engine,
			       struct drm_sched_entity *entity,
			       enum drm_sched_priority prio, atomic_t *guilty);
void tessera_engine_entity_destroy(struct drm_sched_entity *entity);
u32 tessera_engine_timeout_ms(struct tessera_device *tdev);
void tessera_engine_set_timeout_ms(struct tessera_device *tdev, u32 ms);
bool tessera_engine_halted(struct tessera_engine *engine);
int tessera_engine_reset(struct tessera_engine *engine);
void tessera_engine_print(struct tessera_engine *engine, struct drm_printer *p);

#endif /* __TESSERA_EXEC_H__ */
