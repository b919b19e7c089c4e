/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_ENGINE_TYPES_H__
#define __TESSERA_ENGINE_TYPES_H__

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <drm/gpu_scheduler.h>

#include "hw/fence.h"

struct dma_fence;
struct tessera_device;
struct tessera_engine;
struct tessera_job;		/* exec/job.h */
struct tessera_ring;		/* hw/ring.h */

/**
 * typedef tessera_engine_timedout_t - what to do about a job that does not end
 * @engine: the engine
 * @bad: the oldest job of it, taken off the scheduler's list
 *
 * Registered by services/reset.c; runs on &tessera_device.reset_wq.
 */
typedef enum drm_gpu_sched_stat (*tessera_engine_timedout_t)(struct tessera_engine *engine,
							     struct tessera_job *bad);

/* Low and normal: see tessera_job_level(). */
#define TESSERA_WAITING_LEVELS	2

/**
 * struct tessera_turn - whose turn it is after some jobs of higher priority
 */
struct tessera_turn {
	/** @job: signals when the job that stands back is handed to the engine, or never will; or NULL */
	struct dma_fence *job;
	/** @priority: its priority */
	enum drm_sched_priority priority;
	/** @passed: jobs of higher priority that were handed to the engine meanwhile */
	u32 passed;
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
	/**
	 * @span: fence of the last job of a span that has begun, or NULL; only the
	 * scheduler's worker looks at it, or reset while that is stopped
	 */
	struct tessera_fence *span;
	/** @turn: who stands back; as @span */
	struct tessera_turn turn;
	/** @waiting: jobs that others may be above, in the scheduler, by level; under @lock */
	struct list_head waiting[TESSERA_WAITING_LEVELS];
	/** @next_level: where to look first for one whose turn it may be; as @span */
	u32 next_level;
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

#endif /* __TESSERA_ENGINE_TYPES_H__ */
