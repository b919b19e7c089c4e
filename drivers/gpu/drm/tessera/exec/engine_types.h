/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_ENGINE_TYPES_H__
#define __TESSERA_ENGINE_TYPES_H__

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <drm/gpu_scheduler.h>

#include "hw/fence.h"

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

/**
 * struct tessera_queue - what the engine keeps of one queue of jobs
 */
struct tessera_queue {
	/** @unready: jobs pushed, not handed over and not known to be ready; under the engine's lock */
	unsigned int unready;
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

#endif /* __TESSERA_ENGINE_TYPES_H__ */
