// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: paging queue
 *
 * The kernel's own command buffers for moving, filling and mapping memory, and
 * their way to the paging engine through the scheduler (PAGE-1 to PAGE-3). The
 * commands themselves are in paging/ops.c.
 *
 * Operations that end in one fence, usually those on one object, form a batch.
 * A batch has as many jobs as its commands need (PAGE-5). All jobs belong to
 * one entity, so they run in order and only the first one needs the
 * dependencies. Each client has a queue of its own, and so does each VM. Paging
 * that waits for one client's jobs thus delays only paging of that client's
 * objects.
 * The queue's lock makes the order of arming the order in the entity. It is a
 * leaf, and nothing is allocated under it.
 *
 * A batch waits for jobs of this device only, never for a foreign fence (see
 * "Moves and foreign fences" in mem/residency.c). Vacated ranges, paging queues
 * and page tables therefore become available within the time that jobs of this
 * device take.
 *
 * Callers hold drm_dev_enter() from tessera_paging_begin() to
 * tessera_paging_push() or tessera_paging_abort().
 */

#include <linux/dma-fence.h>
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/kmemleak.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/gpu_scheduler.h>

#include "base/assert.h"
#include "base/device.h"
#include "base/trace.h"
#include "client/client.h"
#include "exec/exec.h"
#include "paging/paging.h"

/* A page list is one page. */
#define LIST_BYTES	(TESSERA_PAGING_LIST_ENTRIES * sizeof(__le64))

/* A buffer of one page holds 73 transfers, which move up to 146 MiB. */
#define DEFAULT_IB_BYTES	TSR_PAGE_SIZE

/* Limit of a job, far below what would take a job timeout. */
#define JOB_MOVES		SZ_64M

/**
 * struct tessera_paging - paging state of a device
 */
struct tessera_paging {
	/** @engine: the first paging engine */
	struct tessera_engine *engine;
	/** @lock: protects @shared; a leaf */
	struct mutex lock;
	/**
	 * @shared: &tessera_paging_queue.shared of queues that belong to
	 * processes, not to open files
	 */
	struct list_head shared;
};

/**
 * struct tessera_paging_queue - the paging queue of a client, a VM or imports
 */
struct tessera_paging_queue {
	/** @ref: the owner, its objects and its jobs hold one reference each */
	struct kref ref;
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @account: account that is charged; holds a reference */
	struct tessera_account *account;
	/** @entity: entity of the paging engine's scheduler */
	struct drm_sched_entity entity;
	/** @lock: held from arming to pushing the jobs of a batch; a leaf */
	struct mutex lock;
	/** @shared: in &tessera_paging.shared, or empty */
	struct list_head shared;
};

/**
 * struct tessera_paging_job - one indirect buffer of a batch
 */
struct tessera_paging_job {
	/** @base: the job */
	struct tessera_job base;
	/** @node: in &tessera_paging_batch.jobs */
	struct list_head node;
	/** @queue: queue of the job; holds a reference */
	struct tessera_paging_queue *queue;
	/** @bo_id: for traces */
	u32 bo_id;
	/** @lost: see &tessera_paging_batch.lost */
	atomic_t *lost;
	/** @ib: the commands; NULL for a job that is only an ordering point */
	struct tessera_ib *ib;
	/** @used: bytes of @ib used */
	u32 used;
	/** @moved: bytes its commands read or write */
	u64 moved;
	/** @lists: &struct tessera_paging_list that the commands use */
	struct list_head lists;
	/** @records: &struct tessera_paging_record for the trace */
	struct list_head records;
	/**
	 * @last: the last job of the batch, if that is another job and there
	 * are effects; holds a reference
	 */
	struct tessera_paging_job *last;
	/** @effects: effects of the batch, if this is its last job */
	struct list_head effects;
};

static struct tessera_paging_job *to_paging_job(struct tessera_job *job)
{
	return container_of(job, struct tessera_paging_job, base);
}

static struct list_head *paging_job_effects(struct tessera_paging_job *pjob)
{
	return pjob->last ? &pjob->last->effects : &pjob->effects;
}

static int paging_job_prepare(struct tessera_job *job)
{
	struct tessera_paging_effect *effect;
	int ret = 0;

	list_for_each_entry(effect, paging_job_effects(to_paging_job(job)), node)
		if (!ret)
			ret = effect->prepare(effect);

	return ret;
}

static void paging_job_done(struct tessera_job *job, int error, u64 start_ns, u64 end_ns)
{
	struct tessera_paging_job *pjob = to_paging_job(job);
	struct tessera_paging_effect *effect;

	if (end_ns > start_ns)
		tessera_account_add_engine_time(pjob->queue->account, job->engine->id,
						end_ns - start_ns);

	/*
	 * Before the fence signals, so that a thread that waited for it sees
	 * this.
	 */
	if (error && pjob->lost)
		atomic_set(pjob->lost, 1);
	list_for_each_entry(effect, paging_job_effects(pjob), node)
		if (error || (!pjob->last && effect->prepare(effect)))
			effect->failed(effect);

	/* Cancelled jobs need no report: the device is gone or was reset. */
	if (error && error != -ECANCELED && error != -ENODEV)
		drm_err_ratelimited(&pjob->queue->tdev->drm,
				    "paging of object %u failed: %d\n", pjob->bo_id, error);
}

static void paging_list_free_page(struct tessera_paging_list *list)
{
	kmemleak_free(list->cpu);
	free_page((unsigned long)list->cpu);
}

static void paging_list_destroy(struct tessera_paging_job *pjob,
				struct tessera_paging_list *list)
{
	dma_unmap_single(pjob->queue->tdev->drm.dev, list->dma, LIST_BYTES, DMA_TO_DEVICE);
	paging_list_free_page(list);
	tessera_quota_uncharge(&pjob->queue->account->process->work, LIST_BYTES);
	kfree(list);
}

static void paging_job_release(struct tessera_job *job)
{
	struct tessera_paging_job *pjob = to_paging_job(job);
	struct tessera_paging_effect *effect, *next_effect;
	struct tessera_paging_record *rec, *next_rec;
	struct tessera_paging_list *list, *next;

	list_for_each_entry_safe(effect, next_effect, &pjob->effects, node)
		effect->release(effect);
	if (pjob->last)
		tessera_job_put(&pjob->last->base);
	list_for_each_entry_safe(list, next, &pjob->lists, node)
		paging_list_destroy(pjob, list);
	list_for_each_entry_safe(rec, next_rec, &pjob->records, node)
		kfree(rec);
	if (pjob->ib)
		tessera_ib_put(pjob->ib);
	tessera_paging_queue_put(pjob->queue);
	kfree(pjob);
}

static const struct tessera_job_ops paging_job_ops = {
	.prepare = paging_job_prepare,
	.done = paging_job_done,
	.release = paging_job_release,
};

static struct tessera_paging_job *paging_job_create(struct tessera_paging_batch *batch)
{
	struct tessera_paging_queue *queue = batch->queue;
	struct tessera_paging_job *pjob;
	int ret;

	pjob = kzalloc(sizeof(*pjob), GFP_KERNEL_ACCOUNT);
	if (!pjob)
		return ERR_PTR(-ENOMEM);

	INIT_LIST_HEAD(&pjob->lists);
	INIT_LIST_HEAD(&pjob->records);
	INIT_LIST_HEAD(&pjob->effects);
	pjob->bo_id = batch->bo_id;
	pjob->lost = batch->lost;

	ret = tessera_job_init(&pjob->base, batch->tdev->paging->engine, &queue->entity,
			       &paging_job_ops, &queue->account->process->work);
	if (ret) {
		kfree(pjob);
		return ERR_PTR(ret);
	}
	pjob->queue = tessera_paging_queue_get(queue);
	list_add_tail(&pjob->node, &batch->jobs);

	return pjob;
}

/**
 * tessera_paging_job_for() - get the job for the next command of a batch
 * @batch: the batch
 * @bytes: size of the command
 * @moves: bytes of memory that the command reads or writes
 *
 * Return: the last job of the batch if the command fits and the job stays below
 * its limit, else a new one; or an error pointer.
 */
struct tessera_paging_job *tessera_paging_job_for(struct tessera_paging_batch *batch, u32 bytes,
						  u64 moves)
{
	struct tessera_device *tdev = batch->tdev;
	struct tessera_paging_job *pjob = batch->cur;
	u32 size = round_down(min(READ_ONCE(tdev->paging_ib_bytes), tdev->info.max_ib_bytes),
			      TSR_PKT_ALIGN);
	struct tessera_ib *ib;

	if (pjob && pjob->used + bytes <= tessera_ib_bytes(pjob->ib) &&
	    pjob->moved + moves <= JOB_MOVES) {
		pjob->moved += moves;
		return pjob;
	}

	pjob = paging_job_create(batch);
	if (IS_ERR(pjob))
		return pjob;

	ib = tessera_ib_create(tdev, &batch->queue->account->process->work, max(size, bytes));
	if (IS_ERR(ib))
		return ERR_CAST(ib);

	pjob->ib = ib;
	pjob->moved = moves;
	batch->cur = pjob;

	return pjob;
}

/**
 * tessera_paging_emit() - append a command to a job
 * @pjob: the job, returned by tessera_paging_job_for() for this size
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
 * tessera_paging_reserve() - reserve space for commands that are written later
 * @batch: the batch
 * @dwords: length of the commands
 * @pjob: receives the job that they are in
 *
 * Return: the space, which holds a NOP packet until the caller writes it, before
 * the batch is pushed; or an error pointer.
 */
__le32 *tessera_paging_reserve(struct tessera_paging_batch *batch, u32 dwords,
			       struct tessera_paging_job **pjob)
{
	__le32 *at;

	*pjob = tessera_paging_job_for(batch, dwords * sizeof(u32), 0);
	if (IS_ERR(*pjob))
		return ERR_CAST(*pjob);
	at = tessera_ib_cpu((*pjob)->ib) + (*pjob)->used;
	*at = cpu_to_le32(TSR_PKT_HEADER(TSR_OP_NOP, 0, dwords));
	(*pjob)->used += dwords * sizeof(u32);

	return at;
}

/**
 * tessera_paging_list_create() - allocate a page list for a command
 * @pjob: the job; it frees the list when it is released
 *
 * Return: the list, with TESSERA_PAGING_LIST_ENTRIES entries, or an error
 * pointer.
 */
struct tessera_paging_list *tessera_paging_list_create(struct tessera_paging_job *pjob)
{
	struct device *dev = pjob->queue->tdev->drm.dev;
	struct tessera_paging_list *list;

	list = kzalloc(sizeof(*list), GFP_KERNEL_ACCOUNT);
	if (!list)
		return ERR_PTR(-ENOMEM);

	list->cpu = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!list->cpu)
		goto err_free;
	/* kmemleak does not track pages by itself. */
	kmemleak_alloc(list->cpu, LIST_BYTES, 1, GFP_KERNEL);
	list->dma = dma_map_single(dev, list->cpu, LIST_BYTES, DMA_TO_DEVICE);
	if (dma_mapping_error(dev, list->dma))
		goto err_free_page;
	list->used = TESSERA_PAGING_LIST_ENTRIES;
	tessera_quota_charge(&pjob->queue->account->process->work, LIST_BYTES);
	list_add_tail(&list->node, &pjob->lists);

	return list;

err_free_page:
	paging_list_free_page(list);
err_free:
	kfree(list);
	return ERR_PTR(-ENOMEM);
}

/**
 * tessera_paging_list_take() - get entries of a page list for a command
 * @pjob: the job
 * @count: number of entries, at most TESSERA_PAGING_LIST_ENTRIES
 * @dma: receives the DMA address of the first entry
 *
 * Commands on few pages share a list.
 *
 * Return: the entries, or an error pointer.
 */
__le64 *tessera_paging_list_take(struct tessera_paging_job *pjob, u32 count, dma_addr_t *dma)
{
	struct tessera_paging_list *list;
	u32 first;

	list = list_empty(&pjob->lists) ? NULL :
	       list_last_entry(&pjob->lists, struct tessera_paging_list, node);
	if (!list || count > TESSERA_PAGING_LIST_ENTRIES - list->used) {
		list = tessera_paging_list_create(pjob);
		if (IS_ERR(list))
			return ERR_CAST(list);
		list->used = 0;
	}
	first = list->used;
	list->used += count;
	/* A new list is zeroed, and entries are used only once. */
	tessera_assert(pjob->queue->tdev, !list->cpu[first]);
	*dma = list->dma + first * sizeof(*list->cpu);

	return list->cpu + first;
}

/**
 * tessera_paging_note() - record an operation of a job for the trace
 * @pjob: the job
 * @what: the record, copied. It is traced when the job has a sequence number
 *
 * Does nothing while the trace event is disabled. If the allocation fails, only
 * the trace line is lost.
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
 * @queue: the queue of the batch
 * @bo_id: id of the object, for traces
 * @lost: set to 1 before the batch's fence signals if a job of the batch fails;
 * or NULL
 */
void tessera_paging_begin(struct tessera_paging_batch *batch, struct tessera_paging_queue *queue,
			  u32 bo_id, atomic_t *lost)
{
	batch->tdev = queue->tdev;
	batch->queue = queue;
	batch->bo_id = bo_id;
	batch->lost = lost;
	batch->cur = NULL;
	INIT_LIST_HEAD(&batch->jobs);
	INIT_LIST_HEAD(&batch->effects);
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

/* Drop the batch's job references. Jobs that were not pushed are freed. */
static void paging_put_jobs(struct tessera_paging_batch *batch)
{
	struct tessera_paging_job *pjob, *next;

	list_for_each_entry_safe(pjob, next, &batch->jobs, node) {
		list_del(&pjob->node);
		tessera_job_put(&pjob->base);
	}
	batch->cur = NULL;
}

static void paging_flush_lists(struct tessera_paging_job *pjob)
{
	struct device *dev = pjob->queue->tdev->drm.dev;
	struct tessera_paging_list *list;

	list_for_each_entry(list, &pjob->lists, node)
		dma_sync_single_for_device(dev, list->dma, LIST_BYTES, DMA_TO_DEVICE);
}

/**
 * tessera_paging_prepare() - do all steps of queueing a batch that can fail
 * @batch: the batch; the caller aborts it if this fails
 * @resv: reservation to wait for, locked; or NULL
 *
 * The batch waits for all jobs of this device that have fences in @resv,
 * including readers.
 *
 * Return: 0 or an error.
 */
int tessera_paging_prepare(struct tessera_paging_batch *batch, struct dma_resv *resv)
{
	struct tessera_paging_job *pjob, *last;

	if (list_empty(&batch->jobs)) {
		pjob = paging_job_create(batch);
		if (IS_ERR(pjob))
			return PTR_ERR(pjob);
	}

	/* Keep other jobs from running between the parts of a transfer. */
	last = list_last_entry(&batch->jobs, struct tessera_paging_job, node);
	if (!list_is_singular(&batch->jobs))
		list_for_each_entry(pjob, &batch->jobs, node)
			tessera_job_span(&pjob->base, &last->base);

	list_for_each_entry(pjob, &batch->jobs, node) {
		if (!pjob->used)
			continue;
		tessera_job_add_range(&pjob->base, pjob->ib, 0, pjob->used, false);
	}

	if (!resv)
		return 0;

	return tessera_job_add_resv(tessera_paging_first_job(batch), resv,
				    DMA_RESV_USAGE_BOOKKEEP);
}

/**
 * tessera_paging_first_job() - get the job that takes the batch's dependencies
 * @batch: the batch, prepared
 *
 * Return: the job; the reference stays the batch's.
 */
struct tessera_job *tessera_paging_first_job(struct tessera_paging_batch *batch)
{
	return &list_first_entry(&batch->jobs, struct tessera_paging_job, node)->base;
}

/**
 * tessera_paging_wait_for() - add a dependency to a batch
 * @batch: the batch, prepared
 * @fence: the fence; the reference stays the caller's
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_paging_wait_for(struct tessera_paging_batch *batch, struct dma_fence *fence)
{
	return tessera_job_add_dependency(tessera_paging_first_job(batch), dma_fence_get(fence));
}

/* The last job owns the effects; all other jobs refer to it. */
static void paging_hand_over_effects(struct tessera_paging_batch *batch)
{
	struct tessera_paging_job *pjob, *last;

	if (list_empty(&batch->effects))
		return;
	last = list_last_entry(&batch->jobs, struct tessera_paging_job, node);
	list_splice_tail_init(&batch->effects, &last->effects);
	list_for_each_entry(pjob, &batch->jobs, node) {
		if (pjob == last)
			break;
		tessera_job_get(&last->base);
		pjob->last = last;
	}
}

/**
 * tessera_paging_push() - queue a prepared batch
 * @batch: the batch, not valid after this call
 *
 * Return: the fence of its last job, with a reference.
 */
struct dma_fence *tessera_paging_push(struct tessera_paging_batch *batch)
{
	struct tessera_paging_queue *queue = batch->queue;
	struct tessera_paging_job *pjob;
	struct dma_fence *fence = NULL;

	paging_hand_over_effects(batch);
	list_for_each_entry(pjob, &batch->jobs, node)
		paging_flush_lists(pjob);

	mutex_lock(&queue->lock);
	list_for_each_entry(pjob, &batch->jobs, node) {
		pjob->base.moves = pjob->moved;
		tessera_job_arm(&pjob->base);
		if (list_is_last(&pjob->node, &batch->jobs))
			fence = dma_fence_get(tessera_job_finished(&pjob->base));
		paging_trace(pjob);
		tessera_job_push(&pjob->base);
	}
	mutex_unlock(&queue->lock);

	paging_put_jobs(batch);

	return fence;
}

/**
 * tessera_paging_abort() - free a batch that is not queued
 * @batch: the batch
 */
void tessera_paging_abort(struct tessera_paging_batch *batch)
{
	paging_put_jobs(batch);
}

/**
 * tessera_paging_queue_create() - create a paging queue
 * @tdev: the device
 * @account: account that is charged for the jobs
 *
 * Return: the queue with one reference, or an error pointer.
 */
struct tessera_paging_queue *tessera_paging_queue_create(struct tessera_device *tdev,
							 struct tessera_account *account)
{
	struct tessera_paging_queue *queue;
	int ret;

	queue = kzalloc(sizeof(*queue), GFP_KERNEL_ACCOUNT);
	if (!queue)
		return ERR_PTR(-ENOMEM);
	ret = tessera_engine_entity_init(tdev->paging->engine, &queue->entity,
					 DRM_SCHED_PRIORITY_KERNEL, NULL);
	if (ret) {
		kfree(queue);
		return ERR_PTR(ret);
	}
	kref_init(&queue->ref);
	mutex_init(&queue->lock);
	INIT_LIST_HEAD(&queue->shared);
	queue->tdev = tdev;
	queue->account = tessera_account_get(account);

	return queue;
}

/* Returns a queue with a reference, or NULL. */
static struct tessera_paging_queue *paging_queue_find_locked(struct tessera_paging *paging,
							     struct tessera_account *account)
{
	struct tessera_paging_queue *queue;

	lockdep_assert_held(&paging->lock);

	list_for_each_entry(queue, &paging->shared, shared)
		if (queue->account->process == account->process &&
		    kref_get_unless_zero(&queue->ref))
			return queue;

	return NULL;
}

/**
 * tessera_paging_queue_share() - get the paging queue of the calling process
 * @tdev: the device
 *
 * For objects that are not created through an open file. The objects of one
 * process share a queue, because the scheduler looks at each entity with jobs
 * when it picks one.
 *
 * Return: the queue with one reference, or an error pointer.
 */
struct tessera_paging_queue *tessera_paging_queue_share(struct tessera_device *tdev)
{
	struct tessera_account *account = tessera_account_create(tdev);
	struct tessera_paging *paging = tdev->paging;
	struct tessera_paging_queue *queue, *other;
	int ret;

	if (IS_ERR(account))
		return ERR_CAST(account);
	ret = tessera_account_bind(account);
	queue = ret ? ERR_PTR(ret) : tessera_paging_queue_create(tdev, account);
	tessera_account_close(account);
	tessera_account_put(account);
	if (IS_ERR(queue))
		return queue;
	mutex_lock(&paging->lock);
	other = paging_queue_find_locked(paging, queue->account);
	if (!other)
		list_add_tail(&queue->shared, &paging->shared);
	mutex_unlock(&paging->lock);
	if (!other)
		return queue;
	tessera_paging_queue_put(queue);

	return other;
}

/**
 * tessera_paging_queue_get() - take a reference
 * @queue: the queue
 *
 * Return: @queue.
 */
struct tessera_paging_queue *tessera_paging_queue_get(struct tessera_paging_queue *queue)
{
	kref_get(&queue->ref);

	return queue;
}

/**
 * tessera_paging_queue_account() - get the account that a queue charges
 * @queue: the queue
 *
 * Return: the account, valid as long as the queue.
 */
struct tessera_account *tessera_paging_queue_account(struct tessera_paging_queue *queue)
{
	return queue->account;
}

static void paging_queue_release(struct kref *ref)
{
	struct tessera_paging_queue *queue =
		container_of(ref, struct tessera_paging_queue, ref);

	mutex_lock(&queue->tdev->paging->lock);
	list_del(&queue->shared);
	mutex_unlock(&queue->tdev->paging->lock);
	/* The entity is empty: each job held a reference to the queue. */
	tessera_engine_entity_destroy(&queue->entity);
	tessera_account_put(queue->account);
	mutex_destroy(&queue->lock);
	kfree(queue);
}

/**
 * tessera_paging_queue_put() - drop a reference
 * @queue: the queue
 *
 * May sleep.
 */
void tessera_paging_queue_put(struct tessera_paging_queue *queue)
{
	kref_put(&queue->ref, paging_queue_release);
}

/**
 * tessera_paging_init() - set up paging
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
	INIT_LIST_HEAD(&paging->shared);
	ret = drmm_mutex_init(&tdev->drm, &paging->lock);
	if (ret)
		return ret;
	paging->engine = tessera_engine_paging(tdev);
	if (!paging->engine) {
		drm_err(&tdev->drm, "device has no paging engine\n");
		return -EINVAL;
	}
	tdev->paging = paging;
	tdev->paging_ib_bytes = DEFAULT_IB_BYTES;

	return 0;
}
