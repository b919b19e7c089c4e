/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Interface of exec/ for the layers above: engines, jobs and their
 * dependencies.
 */
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
#include <linux/workqueue.h>

#include <drm/gpu_scheduler.h>

#include <tessera/tessera_hw.h>

#include "base/device.h"
#include "base/wait.h"
#include "hw/hw.h"

struct dma_fence;
struct drm_printer;
struct tessera_engine;
struct tessera_ib;
struct tessera_job;
struct tessera_quota;		/* client/client.h */
struct tessera_ring;		/* hw/hw.h */

/* exec/engine.c */

/**
 * typedef tessera_engine_timedout_t - handler of a job timeout
 * @engine: the engine
 * @bad: its oldest job, taken off the scheduler's list
 *
 * Registered by exec/reset.c. Runs on &tessera_device.reset_wq.
 */
typedef enum drm_gpu_sched_stat (*tessera_engine_timedout_t)(struct tessera_engine *engine,
							     struct tessera_job *bad);

/**
 * enum tessera_level - priority levels of jobs on one engine, see exec/sched.c
 * @TESSERA_LEVEL_LOW: jobs of contexts of low priority
 * @TESSERA_LEVEL_NORMAL: jobs of all other contexts
 * @TESSERA_LEVEL_HIGH: jobs of contexts of high priority, and the driver's own
 *	jobs
 * @TESSERA_LEVELS: number of levels
 */
enum tessera_level {
	TESSERA_LEVEL_LOW,
	TESSERA_LEVEL_NORMAL,
	TESSERA_LEVEL_HIGH,
	TESSERA_LEVELS,
};

/*
 * A job is due after it was overtaken by this number of jobs of higher
 * priority.
 */
#define TESSERA_MAX_PASSED	16U

/**
 * struct tessera_queue - an engine's state of one queue of jobs (entity)
 */
struct tessera_queue {
	/**
	 * @unready: jobs that were pushed, but are neither handed over nor
	 * known to be ready; under the engine's lock
	 */
	unsigned int unready;
};

/**
 * struct tessera_preemption - state of preemption of an engine, see
 * exec/preempt.c
 *
 * All members but @able are under the engine's lock.
 */
struct tessera_preemption {
	/** @able: the device can preempt; constant */
	bool able;
	/**
	 * @held: a reset is about to begin or in progress; no request is made
	 * and no answer is taken
	 */
	bool held;
	/**
	 * @asked: a request is unanswered; meanwhile jobs are added to the list
	 * of jobs in flight, but not written to the ring
	 */
	bool asked;
	/** @save: the save area of the current request */
	u32 save;
	/**
	 * @seqno: value of the next FENCE packet at the time of the request.
	 * Jobs with this value or a later one are not in the ring. 0 if the
	 * engine has answered and emptied its ring, but does not start
	 */
	u64 seqno;
	/** @ticks: expirations of @timer since the request */
	u32 ticks;
	/** @count: number of answered requests */
	u64 count;
	/**
	 * @timer: expires to check for an answer, or at the end of a job's time
	 * slice
	 */
	struct timer_list timer;
};

/**
 * struct tessera_engine - ring, fence context and scheduler of one engine
 */
struct tessera_engine {
	/** @tdev: the device */
	struct tessera_device *tdev;
	/**
	 * @keeper: reference count, held by the DRM device and by each fence of
	 * the engine
	 */
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
	/**
	 * @lock: protects @ring, @inflight, @next_seqno, @dead and the members
	 * marked below; also the lock of the engine's fences
	 */
	spinlock_t lock;
	/** @inflight: list of &tessera_fence in ring order; under @lock */
	struct list_head inflight;
	/**
	 * @head_since: time at which the first entry of @inflight became the
	 * first, in jiffies; under @lock
	 */
	unsigned long head_since;
	/**
	 * @looked: time of the last check for a hang by exec/reset.c, in
	 * jiffies
	 */
	unsigned long looked;
	/**
	 * @fault: a check for a hang has been asked for and has not begun
	 */
	bool fault;
	/** @preempt: state of preemption */
	struct tessera_preemption preempt;
	/**
	 * @span: hardware fence of the last job of a span that has begun, or
	 * NULL. Accessed only by the scheduler's worker, and by reset while
	 * that is stopped
	 */
	struct tessera_fence *span;
	/**
	 * @ready: per level, the client jobs that wait for nothing but the ring
	 * and ready jobs before them in their queue; under @lock
	 */
	struct list_head ready[TESSERA_LEVELS];
	/**
	 * @passed: per level, number of jobs of higher levels handed over since
	 * the last job of this level; accessed like @span
	 */
	u32 passed[TESSERA_LEVELS];
	/**
	 * @run_ahead: maximum number of jobs of one client in the ring, unless
	 * they move little
	 */
	u32 run_ahead;
	/**
	 * @run_ahead_moves: limit on the bytes moved by one client's jobs in
	 * the ring if there are more than @run_ahead of them; 0: @run_ahead is
	 * a hard limit
	 */
	u64 run_ahead_moves;
	/** @next_seqno: value of the next FENCE packet; under @lock */
	u64 next_seqno;
	/**
	 * @closed: the registers may be gone. Jobs are only added to @inflight
	 * until @dead is set. Under @lock; set on &tessera_device.reset_wq
	 */
	bool closed;
	/**
	 * @dead: 0, or the error that every job gets instead of being run;
	 * under @lock
	 */
	int dead;
	/** @resets: number of resets */
	u32 resets;
	/**
	 * @jobs: jobs handed over, including those resubmitted after a reset;
	 * under @lock
	 */
	u64 jobs;
	/**
	 * @busy_ns: sum of the device time between JOB_BEGIN and FENCE; under
	 * @lock
	 */
	u64 busy_ns;
	/**
	 * @timeout_ms: time limit of a job; the scheduler's timer expires twice
	 * in that time
	 */
	u32 timeout_ms;
	/** @timedout: timeout handler, registered by exec/reset.c */
	tessera_engine_timedout_t timedout;
};

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
 * TESSERA_FENCES_BYTES - memory of a fence set per fence that it can hold
 *
 * A pointer, and two hash table slots.
 */
#define TESSERA_FENCES_BYTES	(sizeof(void *) + 2 * sizeof(u32))

/**
 * struct tessera_fences - a fence set: the latest fence of each fence context
 */
struct tessera_fences {
	/** @fence: the fences, one reference each; allocated with kmalloc() */
	struct dma_fence **fence;
	/** @num: used elements of @fence */
	u32 num;
	/** @max: capacity of @fence, 0 or a power of two */
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

/* A preamble, a part, and its SIGNAL packets. */
#define TESSERA_JOB_MAX_RANGES	3

/**
 * struct tessera_ib_range - a part of an indirect buffer that a job executes
 */
struct tessera_ib_range {
	/** @ib: the buffer; the job holds a reference */
	struct tessera_ib *ib;
	/** @start: first byte, a multiple of TSR_PKT_ALIGN */
	u32 start;
	/** @end: first byte after the range, a multiple of TSR_PKT_ALIGN */
	u32 end;
	/** @user: execute unprivileged */
	bool user;
};

/**
 * struct tessera_job_vm - commands of a job at a virtual address
 */
struct tessera_job_vm {
	/**
	 * @root: directory entry that leads to the page tables; 0: the job has
	 * no virtual addresses
	 */
	u64 root;
	/** @cmds: virtual address of the commands */
	u64 cmds;
	/** @asid: ASID of the VM */
	u32 asid;
	/**
	 * @cmd_bytes: length of the commands, not 0, a multiple of
	 * TSR_PKT_ALIGN
	 */
	u32 cmd_bytes;
};

/**
 * struct tessera_job_ops - callbacks of the owner of a job
 *
 * All but @release are optional.
 */
struct tessera_job_ops {
	/**
	 * @prepare: called just before the job is written to the ring
	 *
	 * Called in run_job, inside the signalling section: it must not
	 * allocate or lock a reservation. A negative value keeps the job from
	 * running and becomes the error of its fence.
	 */
	int (*prepare)(struct tessera_job *job);

	/**
	 * @done: called when the outcome of the job is known, just before its
	 * fence signals
	 *
	 * Called exactly once for each job that was handed to run_job, whether
	 * it ran or was refused, in atomic context (interrupts off when it
	 * ran). Not called for jobs that are discarded from the queue of a
	 * dying entity. @start_ns and @end_ns are device clock values, 0 if the
	 * job did not run.
	 */
	void (*done)(struct tessera_job *job, int error, u64 start_ns, u64 end_ns);

	/**
	 * @finished: called when the finished fence of the job signals
	 *
	 * Called once for each armed job, with any outcome, in atomic context
	 * with locks of the fence held.
	 */
	void (*finished)(struct tessera_job *job);

	/**
	 * @hung: called when the job is found to hang its engine; @waiting: it
	 * waited for a value in memory, so others may have caused it
	 *
	 * Called from the timeout workqueue, in a signalling section.
	 */
	void (*hung)(struct tessera_job *job, bool waiting);

	/**
	 * @release: called after the last reference is gone
	 *
	 * Frees the struct that embeds the job. Called in process context from
	 * &tessera_device.release_wq, where reservations may be locked; or
	 * directly from tessera_job_put() if the job was never pushed.
	 */
	void (*release)(struct tessera_job *job);
};

/**
 * struct tessera_job - one job of one engine
 *
 * Embedded in its owner's struct. The owner calls tessera_job_init(), adds
 * ranges and dependencies, and then calls tessera_job_arm(), tessera_job_push()
 * and tessera_job_put(). A job that is not armed may be put. An armed job must
 * be pushed.
 */
struct tessera_job {
	/** @base: the embedded drm_sched job */
	struct drm_sched_job base;
	/**
	 * @ref: references: the owner's, and the scheduler's from push to
	 * free_job
	 */
	struct kref ref;
	/** @ops: the owner's callbacks */
	const struct tessera_job_ops *ops;
	/** @engine: the engine that runs the job */
	struct tessera_engine *engine;
	/** @quota: the client's quota, or NULL for the kernel's own work */
	struct tessera_quota *quota;
	/**
	 * @level: priority on the engine, TESSERA_LEVEL_HIGH unless the owner
	 * sets another
	 */
	enum tessera_level level;
	/**
	 * @queue: state of the job's entity; outlives the job. NULL: the job is
	 * not tracked as ready, so jobs of other levels do not stand back for
	 * it
	 */
	struct tessera_queue *queue;
	/**
	 * @context_id: context number in device registers, error records and
	 * traces
	 */
	u32 context_id;
	/**
	 * @ranges: the ranges to execute, in this order; set with
	 * tessera_job_add_range()
	 */
	struct tessera_ib_range ranges[TESSERA_JOB_MAX_RANGES];
	/** @num_ranges: used elements of @ranges; 0 makes an empty job */
	unsigned int num_ranges;
	/**
	 * @vm: unprivileged commands at virtual addresses, executed before
	 * @ranges
	 */
	struct tessera_job_vm vm;
	/** @moves: bytes that a job of the paging engine moves */
	u64 moves;
	/**
	 * @refused: 0, or the error because of which the job passes through the
	 * ring without commands
	 */
	int refused;
	/**
	 * @seqno: sequence number within its entity, valid once armed; for
	 * traces
	 */
	u64 seqno;

	/**
	 * @overdue: half of the job's time was over at the last check. Set by
	 * exec/reset.c. A resumed job starts with a new time limit
	 */
	bool overdue;

	/* private: exec/job.c and exec/sched.c */
	struct tessera_fence *hw_fence;
	struct dma_fence *finished;
	struct dma_fence_cb finished_cb;
	struct tessera_fence *after;
	struct tessera_fence *behind;
	struct tessera_fence *span;
	/*
	 * Number of jobs that were sorted before this one since it is in the
	 * ring; under the engine's lock.
	 */
	u32 passed;
	/*
	 * The job is due: none is sorted before it until it has run for a
	 * slice; under the engine's lock once the job is in the ring.
	 */
	bool turn;
	/*
	 * Level by which it is sorted when the engine is preempted; under the
	 * engine's lock.
	 */
	u32 rank;
	/*
	 * Save area that holds the job's state, plus 1; 0: never saved; under
	 * the engine's lock.
	 */
	u32 saved;
	/*
	 * Time at which the job was saved first, in jiffies; under the engine's
	 * lock.
	 */
	unsigned long first_saved;
	/*
	 * The job is preempted because it waits for a fence in its commands;
	 * under the engine's lock.
	 */
	bool yields;
	/*
	 * The job must not overtake the first job in flight; valid during one
	 * call, under the engine's lock.
	 */
	bool stuck;
	/* Engine time used until the job was last saved, in ns. */
	u64 active_ns;
	/*
	 * Link in &tessera_engine.ready, or empty; under the engine's lock,
	 * like @is_unready.
	 */
	struct list_head ready;
	/*
	 * The job has stood back behind its client's other jobs, see
	 * emit_stand_back_locked(); under the engine's lock.
	 */
	bool stood_back;
	/* The job is counted in &tessera_queue.unready. */
	bool is_unready;
	/*
	 * Dependencies other than those that the scheduler adds itself;
	 * constant once armed.
	 */
	struct tessera_fences waits;
	/*
	 * Index of the first fence of @waits not yet handed to the scheduler.
	 */
	u32 next_wait;
	/* Bytes charged in addition to JOB_COST. */
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
bool tessera_fence_is_own(struct tessera_device *tdev, struct dma_fence *fence);
int tessera_job_add_resv(struct tessera_job *job, struct dma_resv *resv,
			 enum dma_resv_usage usage);
void tessera_job_run_after(struct tessera_job *job, struct tessera_job *prev);
struct tessera_fence *tessera_job_outcome(struct tessera_job *job);
void tessera_job_cancel_with(struct tessera_job *job, struct tessera_fence *outcome);
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

/* exec/preempt.c */

/*
 * Timer expirations after which an unanswered request counts as a hang. More
 * than one, so that a single stall of the whole machine is not taken for a
 * hang.
 */
#define TESSERA_ANSWER_TICKS	2

void tessera_preempt_tick_locked(struct tessera_engine *engine);
void tessera_preempt_consider_locked(struct tessera_engine *engine);
void tessera_preempt_sort_locked(struct tessera_engine *engine);
void tessera_preempt_note_saved_locked(struct tessera_engine *engine);
void tessera_preempt_drop(struct tessera_engine *engine);
bool tessera_preempt_has_no_job(struct tessera_engine *engine);

/* exec/answer.c */
void tessera_preempt_init(struct tessera_engine *engine);
void tessera_preempt_event(void *data);
bool tessera_preempt_hold(struct tessera_engine *engine);
void tessera_preempt_release(struct tessera_engine *engine);

/* exec/emit.c */
struct dma_fence *tessera_emit_below(struct tessera_engine *engine, struct tessera_job *job);
void tessera_emit_process_locked(struct tessera_engine *engine);
void tessera_emit_again_locked(struct tessera_engine *engine);
struct tessera_job *tessera_emit_running(struct tessera_engine *engine, unsigned long *since);
struct dma_fence *tessera_emit_blocking_fence(struct tessera_engine *engine,
					      struct tessera_job *job, bool turn);
void tessera_emit_forget(struct tessera_engine *engine, struct tessera_job *job);
int tessera_emit_job(struct tessera_engine *engine, struct tessera_job *job);
void tessera_emit_finish(struct tessera_engine *engine, struct tessera_job *job, int error);
void tessera_emit_process(struct tessera_engine *engine);
void tessera_emit_cancel(struct tessera_engine *engine, int error);

/* exec/sched.c */
int tessera_sched_queue_init(struct tessera_device *tdev);
int tessera_sched_init(struct tessera_engine *engine, u32 timeout_ms);
void tessera_sched_fault(struct tessera_engine *engine);
void tessera_sched_fini(struct tessera_engine *engine);
void tessera_sched_set_timeout_ms(struct tessera_device *tdev, u32 ms);

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
int tessera_engines_resume(struct tessera_device *tdev, u32 type);
void tessera_engines_cancel(struct tessera_device *tdev);
int tessera_engines_restart(struct tessera_device *tdev);

struct tessera_engine *tessera_engine_get(struct tessera_device *tdev, u32 idx);
struct tessera_engine *tessera_engine_paging(struct tessera_device *tdev);
int tessera_engine_entity_init(struct tessera_engine *engine,
			       struct drm_sched_entity *entity,
			       enum drm_sched_priority prio, atomic_t *guilty);
void tessera_engine_entity_destroy(struct drm_sched_entity *entity);
u32 tessera_engine_timeout_ms(struct tessera_device *tdev);
bool tessera_engine_halted(struct tessera_engine *engine);
int tessera_engine_reset(struct tessera_engine *engine);
void tessera_engine_print(struct tessera_engine *engine, struct drm_printer *p);

/* exec/crash.c */

/** TESSERA_CRASH_REGS: number of registers in a record */
#define TESSERA_CRASH_REGS	5

/* Bits of &tessera_crash.flags: the record is in use, until the dump is gone. */
#define TESSERA_CRASH_RECORDED	0
/* It is complete and not printed yet. */
#define TESSERA_CRASH_COMPLETE	1

/**
 * struct tessera_crash - record of the first crash
 *
 * The thread that has set TESSERA_CRASH_RECORDED owns the record, and passes it
 * to @work with TESSERA_CRASH_COMPLETE.
 */
struct tessera_crash {
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @work: prints the record and announces resets (tessera_dump.c) */
	struct work_struct work;
	/** @flags: TESSERA_CRASH_* */
	unsigned long flags;
	/** @announce: DRM_WEDGE_RECOVERY_* of resets that were not announced */
	atomic_t announce;
	/** @engine: the engine */
	struct tessera_engine *engine;
	/** @job: the job with a reference, or NULL */
	struct tessera_job *job;
	/** @error: how @job has failed, TSR_ERR_*; 0: the engine is reset */
	u32 error;
	/** @offset: byte offset of the failing packet in the indirect buffer */
	u32 offset;
	/** @regs: if the engine is reset, values of @tessera_crash_regs */
	u32 regs[TESSERA_CRASH_REGS];
	/** @ring: the slot of @job in the ring */
	__le32 ring[TESSERA_RING_SLOT_BYTES / sizeof(__le32)];
	/** @text: the dump, or NULL; belongs to tessera_dump.c */
	char *text;
};

extern const u8 tessera_crash_regs[TESSERA_CRASH_REGS];

void tessera_crash_record(struct tessera_engine *engine, struct tessera_job *job,
			  const struct tessera_ring_result *result);
void tessera_crash_announce(struct tessera_device *tdev, int error);

/* exec/reset.c */
int tessera_reset_init(struct tessera_device *tdev);
void tessera_reset_register(struct tessera_device *tdev);
int tessera_reset_expire(struct tessera_engine *engine);

#endif /* __TESSERA_EXEC_H__ */
