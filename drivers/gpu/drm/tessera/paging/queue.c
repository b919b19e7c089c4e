// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: paging queue
 *
 * The kernel's own command buffers for moving, filling and mapping memory, and their way
 * to the paging engine through the scheduler (PAGE-1 to PAGE-3). What the commands are is
 * paging/ops.c's.
 *
 * Operations on one object form a batch. A batch is as many jobs as its commands
 * need (PAGE-5), all of one entity, so they run in order and only the first
 * needs the dependencies. &tessera_paging.lock makes arming order the order of the
 * entity's queue; it is a leaf and nothing is allocated under it.
 *
 * Callers hold drm_dev_enter() from begin to commit.
 */

#include <linux/dma-fence.h>
#include <linux/dmapool.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/gpu_scheduler.h>

#include "exec/engine.h"
#include "exec/ib.h"
#include "exec/job.h"
#include "paging/queue.h"
#include "segments/account.h"
#include "segments/segment.h"
#include "tessera_device.h"
#include "tessera_trace.h"

/* One page list is one page. */
#define LIST_BYTES	(TESSERA_PAGING_LIST_ENTRIES * sizeof(__le64))

/* An indirect buffer that fits one page has 73 transfers, 146 MiB. */
#define DEFAULT_IB_BYTES	TSR_PAGE_SIZE
#define MIN_IB_BYTES		64U

static_assert(TSR_TRANSFER_DWORDS * sizeof(u32) <= MIN_IB_BYTES);

/**
 * struct tessera_paging - the paging queue of a device
 */
struct tessera_paging {
	/** @engine: the first paging engine */
	struct tessera_engine *engine;
	/** @entity: the one queue of all paging jobs */
	struct drm_sched_entity entity;
	/** @alive: @entity is initialised */
	bool alive;
	/** @lock: from arm to push; a leaf */
	struct mutex lock;
	/** @lists: page lists */
	struct dma_pool *lists;
	/** @ib_bytes: size of an indirect buffer, a debugfs knob */
	u32 ib_bytes;
	/** @failures: jobs that failed since probe */
	atomic_t failures;
};

/**
 * struct tessera_paging_job - one indirect buffer of a batch
 */
struct tessera_paging_job {
	/** @base: the job */
	struct tessera_job base;
	/** @node: in &tessera_paging_batch.jobs */
	struct list_head node;
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @account: who pays, or NULL; holds a reference */
	struct tessera_account *account;
	/** @bo_id: for traces */
	u32 bo_id;
	/** @lost: see &tessera_paging_batch.lost */
	atomic_t *lost;
	/** @ib: the commands; NULL for a job that is only an ordering point */
	struct tessera_ib *ib;
	/** @used: bytes of @ib used */
	u32 used;
	/** @lists: &struct tessera_paging_list the commands point at */
	struct list_head lists;
	/** @records: &struct tessera_paging_record for the trace */
	struct list_head records;
};

static struct tessera_paging_job *to_paging_job(struct tessera_job *job)
{
	return container_of(job, struct tessera_paging_job, base);
}

static void paging_job_done(struct tessera_job *job, int error, u64 start_ns, u64 end_ns)
{
	struct tessera_paging_job *pjob = to_paging_job(job);

	if (pjob->account && end_ns > start_ns)
		tessera_account_add_engine_time(pjob->account, job->engine->id,
						end_ns - start_ns);

	if (error) {
		if (pjob->lost)
			atomic_set(pjob->lost, 1);
		/* Whoever sees the fence signalled sees the count. */
		smp_mb__before_atomic();
		atomic_inc(&pjob->tdev->paging->failures);
	}

	/* A cancelled job is one of a device that is gone. */
	if (error && error != -ECANCELED && error != -ENODEV)
		drm_err_ratelimited(&pjob->tdev->drm, "paging of object %u failed: %d\n",
				    pjob->bo_id, error);
}

static void paging_job_release(struct tessera_job *job)
{
	struct tessera_paging_job *pjob = to_paging_job(job);
	struct tessera_paging *paging = pjob->tdev->paging;
	struct tessera_paging_record *rec, *next_rec;
	struct tessera_paging_list *list, *next;

	list_for_each_entry_safe(list, next, &pjob->lists, node) {
		dma_pool_free(paging->lists, list->cpu, list->dma);
		kfree(list);
	}
	list_for_each_entry_safe(rec, next_rec, &pjob->records, node)
		kfree(rec);
	if (pjob->ib)
		tessera_ib_put(pjob->ib);
	tessera_account_put(pjob->account);
	kfree(pjob);
}

static const struct tessera_job_ops paging_job_ops = {
	.done = paging_job_done,
	.release = paging_job_release,
};

static struct tessera_paging_job *paging_job_create(struct tessera_paging_batch *batch)
{
	struct tessera_device *tdev = batch->tdev;
	struct tessera_paging *paging = tdev->paging;
	struct tessera_paging_job *pjob;
	int ret;

	pjob = kzalloc(sizeof(*pjob), GFP_KERNEL);
	if (!pjob)
		return ERR_PTR(-ENOMEM);

	INIT_LIST_HEAD(&pjob->lists);
	INIT_LIST_HEAD(&pjob->records);
	pjob->tdev = tdev;
	pjob->bo_id = batch->bo_id;
	pjob->lost = batch->lost;

	ret = tessera_job_init(&pjob->base, paging->engine, &paging->entity,
			       &paging_job_ops, tdev);
	if (ret) {
		kfree(pjob);
		return ERR_PTR(ret);
	}

	if (batch->account)
		pjob->account = tessera_account_get(batch->account);
	list_add_tail(&pjob->node, &batch->jobs);

	return pjob;
}

/**
 * tessera_paging_job_for() - the job the next command goes to
 * @batch: the batch
 * @bytes: length of the command
 *
 * Return: the last job of the batch if it has room, else a new one; or an error
 * pointer.
 */
struct tessera_paging_job *tessera_paging_job_for(struct tessera_paging_batch *batch, u32 bytes)
{
	struct tessera_paging_job *pjob = batch->cur;
	struct tessera_ib *ib;

	if (pjob && pjob->used + bytes <= tessera_ib_bytes(pjob->ib))
		return pjob;

	pjob = paging_job_create(batch);
	if (IS_ERR(pjob))
		return pjob;

	ib = tessera_ib_create(batch->tdev, READ_ONCE(batch->tdev->paging->ib_bytes));
	if (IS_ERR(ib))
		return ERR_CAST(ib);

	pjob->ib = ib;
	batch->cur = pjob;

	return pjob;
}

/**
 * tessera_paging_emit() - append a command
 * @pjob: a job that tessera_paging_job_for() found room in
 * @words: the command
 * @dwords: its length
 */
void tessera_paging_emit(struct tessera_paging_job *pjob, const u32 *words, u32 dwords)
{
	__le32 *cmd = tessera_ib_cpu(pjob->ib) + pjob->used;
	u32 i;

	for (i = 0; i < dwords; i++)
		cmd[i] = cpu_to_le32(words[i]);
	pjob->used += dwords * sizeof(u32);
}

/**
 * tessera_paging_list_create() - a page list for a command
 * @pjob: the job; frees the list when it is released
 *
 * Return: the list, of TESSERA_PAGING_LIST_ENTRIES elements, or an error pointer.
 */
struct tessera_paging_list *tessera_paging_list_create(struct tessera_paging_job *pjob)
{
	struct tessera_paging_list *list;

	list = kzalloc(sizeof(*list), GFP_KERNEL);
	if (!list)
		return ERR_PTR(-ENOMEM);

	list->cpu = dma_pool_alloc(pjob->tdev->paging->lists, GFP_KERNEL, &list->dma);
	if (!list->cpu) {
		kfree(list);
		return ERR_PTR(-ENOMEM);
	}
	list_add_tail(&list->node, &pjob->lists);

	return list;
}

/**
 * tessera_paging_note() - say what a job does, for the trace
 * @pjob: the job
 * @what: copied; the trace shows it once the job has a number
 *
 * Allocates only while somebody listens; losing a record loses a trace line.
 */
void tessera_paging_note(struct tessera_paging_job *pjob, const struct tessera_paging_record *what)
{
	struct tessera_paging_record *rec;

	if (!trace_tessera_paging_op_enabled())
		return;

	rec = kmemdup(what, sizeof(*what), GFP_KERNEL);
	if (rec)
		list_add_tail(&rec->node, &pjob->records);
}

/**
 * tessera_paging_begin() - start a batch
 * @batch: the batch
 * @tdev: the device
 * @account: who pays for the engine time, or NULL
 * @bo_id: the object it is about, for traces
 * @lost: set to 1, before the batch's fence signals, if the bytes did not arrive
 */
void tessera_paging_begin(struct tessera_paging_batch *batch, struct tessera_device *tdev,
			  struct tessera_account *account, u32 bo_id, atomic_t *lost)
{
	batch->tdev = tdev;
	batch->account = account;
	batch->bo_id = bo_id;
	batch->lost = lost;
	batch->cur = NULL;
	INIT_LIST_HEAD(&batch->jobs);
}

static void paging_trace(struct tessera_paging_job *pjob)
{
	struct tessera_paging_record *rec;

	list_for_each_entry(rec, &pjob->records, node)
		trace_tessera_paging_op(rec->kind, pjob->bo_id, rec->src_segment,
					rec->src_offset, rec->dst_segment,
					rec->dst_offset, rec->size, rec->flags,
					pjob->base.seqno);
}

/* The batch's jobs, last reference dropped; those not pushed are freed at once. */
static void paging_put_jobs(struct tessera_paging_batch *batch)
{
	struct tessera_paging_job *pjob, *next;

	list_for_each_entry_safe(pjob, next, &batch->jobs, node) {
		list_del(&pjob->node);
		tessera_job_put(&pjob->base);
	}
	batch->cur = NULL;
}

/**
 * tessera_paging_prepare() - do what can fail of queueing a batch
 * @batch: the batch; to be aborted if this fails
 * @resv: what to wait for before it runs, held; may be NULL
 *
 * The batch waits for everything @resv has, readers included.
 *
 * Return: 0 or an error.
 */
int tessera_paging_prepare(struct tessera_paging_batch *batch, struct dma_resv *resv)
{
	struct tessera_paging_job *pjob;

	if (list_empty(&batch->jobs)) {
		pjob = paging_job_create(batch);
		if (IS_ERR(pjob))
			return PTR_ERR(pjob);
	}

	list_for_each_entry(pjob, &batch->jobs, node) {
		if (!pjob->used)
			continue;
		tessera_ib_flush(pjob->ib, 0, pjob->used);
		tessera_job_add_range(&pjob->base, pjob->ib, 0, pjob->used, false);
	}

	if (!resv)
		return 0;

	pjob = list_first_entry(&batch->jobs, struct tessera_paging_job, node);

	return tessera_job_add_resv(&pjob->base, resv, DMA_RESV_USAGE_BOOKKEEP);
}

/**
 * tessera_paging_push() - queue a prepared batch
 * @batch: the batch; over after this call
 *
 * Return: a reference to the fence of its last job.
 */
struct dma_fence *tessera_paging_push(struct tessera_paging_batch *batch)
{
	struct tessera_paging *paging = batch->tdev->paging;
	struct tessera_paging_job *pjob;
	struct dma_fence *fence = NULL;

	mutex_lock(&paging->lock);
	list_for_each_entry(pjob, &batch->jobs, node) {
		tessera_job_arm(&pjob->base);
		if (list_is_last(&pjob->node, &batch->jobs))
			fence = dma_fence_get(tessera_job_finished(&pjob->base));
		paging_trace(pjob);
		tessera_job_push(&pjob->base);
	}
	mutex_unlock(&paging->lock);

	paging_put_jobs(batch);

	return fence;
}

/**
 * tessera_paging_commit() - queue a batch
 * @batch: the batch; over after this call, whatever it returns
 * @resv: as for tessera_paging_prepare()
 *
 * Return: a reference to the fence of its last job, or an ERR_PTR() with nothing queued.
 */
struct dma_fence *tessera_paging_commit(struct tessera_paging_batch *batch,
					struct dma_resv *resv)
{
	int ret = tessera_paging_prepare(batch, resv);

	if (ret) {
		tessera_paging_abort(batch);
		return ERR_PTR(ret);
	}

	return tessera_paging_push(batch);
}

/**
 * tessera_paging_abort() - give a batch up
 * @batch: the batch; nothing of it has been queued
 */
void tessera_paging_abort(struct tessera_paging_batch *batch)
{
	paging_put_jobs(batch);
}

/**
 * tessera_paging_failures() - how many paging jobs have failed
 * @tdev: the device
 *
 * A job that was armed before a change of it cannot trust the memory it was given. Any
 * context.
 *
 * Return: the count since probe; it may wrap.
 */
u32 tessera_paging_failures(struct tessera_device *tdev)
{
	return atomic_read(&tdev->paging->failures);
}

/**
 * tessera_paging_ib_bytes() - size of the indirect buffers paging uses
 * @tdev: the device
 *
 * Return: bytes.
 */
u32 tessera_paging_ib_bytes(struct tessera_device *tdev)
{
	return READ_ONCE(tdev->paging->ib_bytes);
}

/**
 * tessera_paging_set_ib_bytes() - set the size of the indirect buffers paging uses
 * @tdev: the device
 * @bytes: wanted; brought into the range that works
 *
 * For tests of operations that need several buffers (PAGE-5).
 */
void tessera_paging_set_ib_bytes(struct tessera_device *tdev, u32 bytes)
{
	u32 max = max(tdev->info.max_ib_bytes, MIN_IB_BYTES);

	bytes = clamp(bytes, MIN_IB_BYTES, max);
	WRITE_ONCE(tdev->paging->ib_bytes, round_down(bytes, TSR_PKT_ALIGN));
}

/**
 * tessera_paging_unplug() - stop paging
 * @tdev: the device; drm_dev_enter() fails, so no batch is being built
 *
 * Jobs already queued are drained or cancelled. Also run when the last reference to
 * the device goes; the second call does nothing.
 */
void tessera_paging_unplug(struct tessera_device *tdev)
{
	struct tessera_paging *paging = tdev->paging;

	if (!paging || !paging->alive)
		return;

	paging->alive = false;
	drm_sched_entity_destroy(&paging->entity);
}

static void paging_fini(struct drm_device *drm, void *arg)
{
	tessera_paging_unplug(to_tessera_device(drm));
}

/**
 * tessera_paging_init() - set up the paging queue
 * @tdev: the device; its engines are initialised
 *
 * Return: 0 or an error.
 */
int tessera_paging_init(struct tessera_device *tdev)
{
	struct tessera_paging *paging;
	int ret;

	paging = drmm_kzalloc(&tdev->drm, sizeof(*paging), GFP_KERNEL);
	if (!paging)
		return -ENOMEM;

	ret = drmm_mutex_init(&tdev->drm, &paging->lock);
	if (ret)
		return ret;

	/* Jobs are released before the device is unbound, so the pool may go with it. */
	paging->lists = dmam_pool_create("tessera-lists", tdev->drm.dev, LIST_BYTES,
					 LIST_BYTES, 0);
	if (!paging->lists)
		return -ENOMEM;

	paging->engine = tessera_engine_paging(tdev);
	if (!paging->engine) {
		drm_err(&tdev->drm, "device has no paging engine\n");
		return -EINVAL;
	}

	tdev->paging = paging;
	tessera_paging_set_ib_bytes(tdev, DEFAULT_IB_BYTES);

	ret = tessera_engine_entity_init(paging->engine, &paging->entity,
					 DRM_SCHED_PRIORITY_KERNEL, NULL);
	if (ret)
		return ret;
	paging->alive = true;

	return drmm_add_action_or_reset(&tdev->drm, paging_fini, NULL);
}
