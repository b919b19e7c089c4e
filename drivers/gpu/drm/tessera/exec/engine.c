// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: engines
 *
 * An engine consists of a ring, the fences of the jobs in flight, and a
 * scheduler. Open files have entities on the schedulers, so engines exist as
 * long as the DRM device. The hardware may go earlier. From then on every job
 * is cancelled. The memory of an engine is freed with its last fence
 * (hw/lifetime.c).
 */

#include <linux/dma-fence.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/gpu_scheduler.h>

#include "base/wait.h"
#include "exec/exec.h"
#include "hw/hw.h"

#define TESSERA_TIMEOUT_MS	5000

/*
 * Jobs of one client in the ring. Large enough that an engine which finishes a
 * job has the next one.
 */
#define TESSERA_RUN_AHEAD_RENDER	2
#define TESSERA_RUN_AHEAD_PAGING	4

/*
 * A few milliseconds of moves, so that the engine does not idle while the ring
 * is refilled.
 */
#define TESSERA_RUN_AHEAD_MOVES		SZ_64M

static void tessera_engine_irq(void *data)
{
	tessera_emit_process(data);
}

/**
 * tessera_engine_halted() - test whether the engine has halted after an error
 * @engine: the engine; its registers must be accessible
 *
 * Return: true if it executes nothing more until it is reset.
 */
bool tessera_engine_halted(struct tessera_engine *engine)
{
	return tessera_ring_status(engine->ring) & TSR_ENGS_HALTED;
}

/*
 * Start recovery of a halted engine at once instead of waiting for the job
 * timeout.
 */
static void tessera_engine_halt_event(void *data)
{
	struct tessera_device *tdev = data;
	u32 i;

	for (i = 0; i < tdev->info.num_engines; i++) {
		struct tessera_engine *engine = tdev->engines[i];

		if (tessera_engine_halted(engine))
			tessera_sched_fault(engine);
	}
}

static void engine_release(struct kref *ref)
{
	kfree(container_of(ref, struct tessera_engine, keeper.ref));
	tessera_module_put();
}

static void engine_put(struct drm_device *drm, void *data)
{
	struct tessera_engine *engine = data;

	kref_put(&engine->keeper.ref, engine_release);
}

static struct tessera_engine *engine_create(struct tessera_device *tdev)
{
	struct tessera_engine *engine = kzalloc(sizeof(*engine), GFP_KERNEL);

	if (!engine)
		return NULL;
	tessera_module_get();
	kref_init(&engine->keeper.ref);
	engine->keeper.release = engine_release;

	return drmm_add_action_or_reset(&tdev->drm, engine_put, engine) ? NULL : engine;
}

static void tessera_engine_fini(struct drm_device *drm, void *data)
{
	struct tessera_engine *engine = data;

	timer_shutdown_sync(&engine->preempt.timer);
	tessera_sched_fini(engine);
}

static int tessera_engine_init(struct tessera_device *tdev, u32 id)
{
	struct tessera_engine *engine;
	u32 level;
	int ret;

	engine = engine_create(tdev);
	if (!engine)
		return -ENOMEM;
	engine->tdev = tdev;
	engine->id = id;
	engine->type = tessera_read32(tdev, TSR_ENG(id) + TSR_ENG_TYPE);
	if (engine->type != TSR_ENGINE_RENDER && engine->type != TSR_ENGINE_PAGING) {
		drm_err(&tdev->drm, "engine %u has unknown type %u\n", id, engine->type);
		return -ENODEV;
	}
	snprintf(engine->name, sizeof(engine->name), "%s%u",
		 engine->type == TSR_ENGINE_PAGING ? "paging" : "render", id);
	spin_lock_init(&engine->lock);
	INIT_LIST_HEAD(&engine->inflight);
	for (level = 0; level < TESSERA_LEVELS; level++)
		INIT_LIST_HEAD(&engine->ready[level]);
	engine->run_ahead = engine->type == TSR_ENGINE_PAGING ? TESSERA_RUN_AHEAD_PAGING :
								TESSERA_RUN_AHEAD_RENDER;
	engine->run_ahead_moves = engine->type == TSR_ENGINE_PAGING ? TESSERA_RUN_AHEAD_MOVES : 0;
	engine->next_seqno = 1;
	tessera_preempt_init(engine);

	engine->ring = tessera_ring_create(tdev, id);
	if (IS_ERR(engine->ring))
		return PTR_ERR(engine->ring);
	ret = tessera_sched_init(engine, TESSERA_TIMEOUT_MS);
	if (ret)
		return ret;
	ret = drmm_add_action_or_reset(&tdev->drm, tessera_engine_fini, engine);
	if (ret)
		return ret;
	tdev->engines[id] = engine;

	/* Without memory for its name the interrupt has that of the device. */
	return tessera_irq_request(tdev, TSR_VECTOR_ENGINE(id),
				   devm_kasprintf(tdev->drm.dev, GFP_KERNEL, "tessera-%s",
						  engine->name),
				   tessera_engine_irq, engine);
}

/**
 * tessera_engines_init() - set up all engines, stopped
 * @tdev: the device
 *
 * Return: 0 or a negative error; -ENODEV unless the device has at least one
 * paging engine and one render engine.
 */
int tessera_engines_init(struct tessera_device *tdev)
{
	u32 types = 0;
	u32 i;
	int ret;

	ret = tessera_sched_queue_init(tdev);
	if (ret)
		return ret;
	for (i = 0; i < tdev->info.num_engines; i++) {
		ret = tessera_engine_init(tdev, i);
		if (ret)
			return ret;
		types |= BIT(tdev->engines[i]->type);
	}
	if (types != (BIT(TSR_ENGINE_RENDER) | BIT(TSR_ENGINE_PAGING))) {
		drm_err(&tdev->drm, "the device lacks a render or a paging engine\n");
		return -ENODEV;
	}
	tessera_irq_on_event(tdev, TSR_INT_ENGINE_HALT, tessera_engine_halt_event, tdev);
	tessera_irq_on_event(tdev, TSR_INT_PREEMPTED, tessera_preempt_event, tdev);

	return 0;
}

static int tessera_engine_start(struct tessera_engine *engine)
{
	int ret = tessera_ring_start(engine->ring);

	if (ret)
		drm_err(&engine->tdev->drm, "%s does not start\n", engine->name);

	return ret;
}

/**
 * tessera_engines_start() - enable all engines
 * @tdev: the device; interrupts may arrive from now on
 *
 * Return: 0 or a negative error.
 */
int tessera_engines_start(struct tessera_device *tdev)
{
	u32 i;
	int ret;

	for (i = 0; i < tdev->info.num_engines; i++) {
		ret = tessera_engine_start(tdev->engines[i]);
		if (ret)
			return ret;
	}

	return 0;
}

/*
 * Run on-stack work on the ordered reset workqueue and wait for it. It cannot
 * run concurrently with a timeout handler, which stops and restarts a
 * scheduler.
 */
static void tessera_engine_between_resets(struct tessera_device *tdev, struct work_struct *work)
{
	queue_work(tdev->reset_wq, work);
	flush_work(work);
	destroy_work_on_stack(work);
}

/* Work item that cancels all jobs of all engines. */
struct tessera_cancel {
	struct work_struct work;
	struct tessera_device *tdev;
};

static void tessera_engine_cancel(struct tessera_engine *engine)
{
	unsigned long flags;
	bool cookie;

	/*
	 * Set @closed first, so that no job rings the doorbell of a stopped
	 * engine.
	 */
	spin_lock_irqsave(&engine->lock, flags);
	engine->closed = true;
	spin_unlock_irqrestore(&engine->lock, flags);
	/* A device that is really gone cannot write to the ring either. */
	if (tessera_ring_stop(engine->ring))
		drm_dbg_driver(&engine->tdev->drm, "%s does not answer\n", engine->name);
	cookie = dma_fence_begin_signalling();
	tessera_emit_cancel(engine, -ECANCELED);
	dma_fence_end_signalling(cookie);
	/* A paused scheduler has to run again, or its jobs would never end. */
	drm_sched_wqueue_start(&engine->sched);
}

static void tessera_cancel_work(struct work_struct *work)
{
	struct tessera_device *tdev = container_of(work, struct tessera_cancel, work)->tdev;
	u32 i;

	for (i = 0; i < tdev->info.num_engines; i++)
		if (tdev->engines[i])
			tessera_engine_cancel(tdev->engines[i]);
}

/**
 * tessera_engines_cancel() - stop all engines and cancel all jobs
 * @tdev: the device; it may be gone
 *
 * All jobs in flight, and all jobs handed over later, end with -ECANCELED until
 * tessera_engines_restart(). The work runs on &tessera_device.reset_wq, because
 * a timeout handler that runs concurrently could restart an engine stopped
 * here. Must not be called from that workqueue.
 */
void tessera_engines_cancel(struct tessera_device *tdev)
{
	struct tessera_cancel cancel = { .tdev = tdev };

	/* Probe may have failed before it created an engine. */
	if (!tdev->engines[0])
		return;
	INIT_WORK_ONSTACK(&cancel.work, tessera_cancel_work);
	tessera_engine_between_resets(tdev, &cancel.work);
}

/**
 * tessera_engines_restart() - start all engines again after
 * tessera_engines_cancel()
 * @tdev: the device, reset; interrupts may arrive from now on
 *
 * Return: 0, or a negative error, after which some engines still cancel all
 * jobs.
 */
int tessera_engines_restart(struct tessera_device *tdev)
{
	unsigned long flags;
	int ret;
	u32 i;

	for (i = 0; i < tdev->info.num_engines; i++) {
		struct tessera_engine *engine = tdev->engines[i];

		ret = tessera_engine_start(engine);
		if (ret)
			return ret;

		spin_lock_irqsave(&engine->lock, flags);
		engine->closed = false;
		engine->dead = 0;
		engine->resets++;
		spin_unlock_irqrestore(&engine->lock, flags);
	}

	return 0;
}

/* Get the last job in the ring, or NULL if the ring is empty. */
static struct dma_fence *tessera_engine_last_job(struct tessera_engine *engine)
{
	struct dma_fence *last = NULL;
	struct tessera_fence *fence;
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	if (!list_empty(&engine->inflight)) {
		fence = list_last_entry(&engine->inflight, struct tessera_fence, link);
		last = dma_fence_get(&fence->base);
	}
	spin_unlock_irqrestore(&engine->lock, flags);

	return last;
}

static int tessera_engine_resume(struct tessera_engine *engine)
{
	int ret = tessera_engine_start(engine);

	drm_sched_wqueue_start(&engine->sched);

	return ret;
}

/* Work item that tries to stop one scheduler. */
struct tessera_pause {
	struct work_struct work;
	struct tessera_engine *engine;
	/*
	 * The last job in the ring, or NULL if the engine is idle and stays so.
	 */
	struct dma_fence *busy;
};

static void tessera_pause_work(struct work_struct *work)
{
	struct tessera_pause *pause = container_of(work, struct tessera_pause, work);
	struct drm_gpu_scheduler *sched = &pause->engine->sched;

	drm_sched_wqueue_stop(sched);
	pause->busy = tessera_engine_last_job(pause->engine);
	/*
	 * Jobs that have ended but are not freed yet still have a timeout
	 * running.
	 */
	if (!pause->busy)
		cancel_delayed_work(&sched->work_tdr);
}

/*
 * Stop the scheduler with an empty ring. The loop is needed because jobs may
 * enter the ring after a timeout has ended a hung job and restarted the
 * scheduler.
 */
static void tessera_engine_stop_jobs(struct tessera_engine *engine)
{
	struct tessera_pause pause = { .engine = engine };

	do {
		INIT_WORK_ONSTACK(&pause.work, tessera_pause_work);
		tessera_engine_between_resets(engine->tdev, &pause.work);
		if (pause.busy)
			tessera_wait_fence(TESSERA_WAIT_SUSPEND, pause.busy, false,
					   MAX_SCHEDULE_TIMEOUT);
		dma_fence_put(pause.busy);
	} while (pause.busy);
}

static int tessera_engine_pause(struct tessera_engine *engine)
{
	int ret;

	tessera_engine_stop_jobs(engine);
	tessera_preempt_drop(engine);
	ret = tessera_ring_stop(engine->ring);
	if (ret)
		tessera_engine_resume(engine);

	return ret;
}

/**
 * tessera_engines_pause() - let the jobs in the rings end, then stop all
 * engines
 * @tdev: the device; no new jobs are submitted, so that the call ends even if
 *	jobs hang
 *
 * Jobs that are not in a ring yet stay queued until tessera_engines_resume().
 * May sleep.
 *
 * Return: 0, or a negative error with all engines running.
 */
int tessera_engines_pause(struct tessera_device *tdev)
{
	u32 i;
	int ret;

	for (i = 0; i < tdev->info.num_engines; i++) {
		ret = tessera_engine_pause(tdev->engines[i]);
		if (ret)
			goto err_resume;
	}

	return 0;

err_resume:
	while (i--)
		tessera_engine_resume(tdev->engines[i]);
	return ret;
}

/**
 * tessera_engines_resume() - start paused engines with empty rings
 * @tdev: the device; interrupts may arrive from now on
 * @type: TSR_ENGINE_*: which of them
 *
 * Return: 0 or a negative error.
 */
int tessera_engines_resume(struct tessera_device *tdev, u32 type)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < tdev->info.num_engines; i++)
		if (tdev->engines[i]->type == type)
			ret = tessera_engine_resume(tdev->engines[i]) ?: ret;

	return ret;
}

/**
 * tessera_engine_get() - get an engine by index
 * @tdev: the device
 * @idx: the index; an index from user space must already be sanitized for
 *	speculation
 *
 * Return: the engine, or NULL if the index is too large.
 */
struct tessera_engine *tessera_engine_get(struct tessera_device *tdev, u32 idx)
{
	return idx < tdev->info.num_engines ? tdev->engines[idx] : NULL;
}

/**
 * tessera_engine_paging() - get the paging engine
 * @tdev: the device
 *
 * Return: the first paging engine.
 */
struct tessera_engine *tessera_engine_paging(struct tessera_device *tdev)
{
	u32 i;

	for (i = 0; i < tdev->info.num_engines; i++) {
		if (tdev->engines[i]->type == TSR_ENGINE_PAGING)
			return tdev->engines[i];
	}

	return NULL;
}

/**
 * tessera_engine_entity_init() - create a queue of jobs for an engine
 * @engine: the engine
 * @entity: the entity to initialize
 * @prio: its priority; DRM_SCHED_PRIORITY_KERNEL for the driver's own work
 * @guilty: set to 1 when a job of the entity hangs, after which its jobs are
 *	cancelled; NULL for the driver's own work
 *
 * Return: 0 or a negative error.
 */
int tessera_engine_entity_init(struct tessera_engine *engine,
			       struct drm_sched_entity *entity,
			       enum drm_sched_priority prio, atomic_t *guilty)
{
	struct drm_gpu_scheduler *sched = &engine->sched;

	return drm_sched_entity_init(entity, prio, &sched, 1, guilty);
}

/**
 * tessera_engine_entity_destroy() - flush and remove a queue of jobs
 * @entity: the entity, from tessera_engine_entity_init()
 *
 * Waits until the jobs of the queue have run or were cancelled.
 */
void tessera_engine_entity_destroy(struct drm_sched_entity *entity)
{
	tessera_wait_in(TESSERA_WAIT_CLOSE, (drm_sched_entity_destroy(entity), 0));
}

/**
 * tessera_engine_timeout_ms() - get the time limit of a job
 * @tdev: the device
 *
 * Return: milliseconds.
 */
u32 tessera_engine_timeout_ms(struct tessera_device *tdev)
{
	return READ_ONCE(tdev->engines[0]->timeout_ms);
}

/**
 * tessera_engine_reset() - stop the engine, empty its ring and start it again
 * @engine: the engine; its scheduler is stopped
 *
 * Jobs in flight stay on the scheduler's list. The caller completes them or
 * hands them over again. May sleep.
 *
 * Return: 0, or a negative error, after which the engine is unusable.
 */
int tessera_engine_reset(struct tessera_engine *engine)
{
	struct tessera_fence *fence, *next;
	unsigned long flags;
	int ret;

	tessera_preempt_drop(engine);
	ret = tessera_ring_stop(engine->ring);

	/*
	 * The device has stopped writing fence values. Complete what it has
	 * finished so far.
	 */
	tessera_emit_process(engine);
	spin_lock_irqsave(&engine->lock, flags);
	list_for_each_entry_safe(fence, next, &engine->inflight, link) {
		list_del_init(&fence->link);
		dma_fence_put(&fence->base);
	}
	spin_unlock_irqrestore(&engine->lock, flags);
	engine->resets++;

	return ret ?: tessera_ring_start(engine->ring);
}

/**
 * tessera_engine_print() - print the state of an engine
 * @engine: the engine
 * @p: the printer
 */
void tessera_engine_print(struct tessera_engine *engine, struct drm_printer *p)
{
	struct tessera_device *tdev = engine->tdev;
	int idx;

	/* A snapshot without the lock: for tests and developers only. */
	drm_printf(p, "%s: next seqno %llu jobs %llu busy_ns %llu resets %u queued %d dead %d\n",
		   engine->name, READ_ONCE(engine->next_seqno), READ_ONCE(engine->jobs),
		   READ_ONCE(engine->busy_ns), engine->resets,
		   atomic_read(&engine->sched.credit_count), READ_ONCE(engine->dead));
	drm_printf(p, "%s: preempted %llu\n", engine->name, READ_ONCE(engine->preempt.count));
	if (!drm_dev_enter(&tdev->drm, &idx))
		return;
	drm_printf(p, "%s: head 0x%x tail 0x%x status 0x%x context %u\n",
		   engine->name, tessera_read32(tdev, TSR_ENG(engine->id) + TSR_ENG_HEAD),
		   tessera_read32(tdev, TSR_ENG(engine->id) + TSR_ENG_TAIL),
		   tessera_ring_status(engine->ring),
		   tessera_read32(tdev, TSR_ENG(engine->id) + TSR_ENG_CONTEXT));
	drm_dev_exit(idx);
}
