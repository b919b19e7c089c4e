// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: paging
 *
 * Builds the kernel's own command buffers for moving, filling and mapping memory and
 * queues them to the paging engine through the scheduler (PAGE-1 to PAGE-3). It takes
 * ranges of segments and lists of pages, never objects.
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
#include "mem/account.h"
#include "mem/cache.h"
#include "mem/paging.h"
#include "mem/res_cursor.h"
#include "mem/segment.h"
#include "tessera_device.h"
#include "tessera_trace.h"

/* One page list is one page: 512 entries, 2 MiB in a pass. */
#define LIST_BYTES	TSR_PAGE_SIZE
#define LIST_ENTRIES	(LIST_BYTES / sizeof(__le64))
#define LIST_COVERS	(LIST_ENTRIES * TSR_PAGE_SIZE)

/* An indirect buffer that fits one page has 73 transfers, 146 MiB. */
#define DEFAULT_IB_BYTES	TSR_PAGE_SIZE
#define MIN_IB_BYTES		64U

/* A pass of a swizzling transfer must hold at least one row of tiles. */
static_assert(TSR_TILE_ROWS * TSR_SURF_MAX_DIM * 4 <= LIST_COVERS);
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

/* A page list or page table list in use by a job. */
struct paging_list {
	struct list_head node;
	__le64 *cpu;
	dma_addr_t dma;
};

/* What the trace says about an operation, once the job has a number. */
struct paging_record {
	struct list_head node;
	u32 kind;
	u32 src_segment;
	u32 dst_segment;
	u32 flags;
	u64 src_offset;
	u64 dst_offset;
	u64 size;
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
	/** @lists: &struct paging_list the commands point at */
	struct list_head lists;
	/** @records: &struct paging_record for the trace */
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
	struct paging_record *rec, *next_rec;
	struct paging_list *list, *next;

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

/* The job that has room for @bytes of commands; a new one if need be. */
static struct tessera_paging_job *paging_job_for(struct tessera_paging_batch *batch, u32 bytes)
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

static void paging_emit(struct tessera_paging_job *pjob, const u32 *words, u32 dwords)
{
	__le32 *cmd = tessera_ib_cpu(pjob->ib) + pjob->used;
	u32 i;

	for (i = 0; i < dwords; i++)
		cmd[i] = cpu_to_le32(words[i]);
	pjob->used += dwords * sizeof(u32);
}

static struct paging_list *paging_list_create(struct tessera_paging_job *pjob)
{
	struct paging_list *list;

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

/* Allocates only while somebody listens; losing a record loses a trace line. */
static void paging_record(struct tessera_paging_job *pjob, const struct paging_record *what)
{
	struct paging_record *rec;

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

/* GPU address of a pass, or the DMA address of a page list made for it. */
static int paging_side_addr(struct tessera_paging_job *pjob,
			    const struct tessera_paging_side *side,
			    const struct tessera_res_cursor *cur, u64 *addr)
{
	u32 count = DIV_ROUND_UP_ULL(cur->bytes, TSR_PAGE_SIZE);
	const dma_addr_t *pages;
	struct paging_list *list;
	__le64 *entries;
	u32 i;

	if (!side->pages) {
		*addr = side->seg->base + side->offset + cur->pos;
		return 0;
	}

	list = paging_list_create(pjob);
	if (IS_ERR(list))
		return PTR_ERR(list);

	pages = side->pages + (cur->pos >> TSR_PAGE_SHIFT);
	entries = list->cpu;
	for (i = 0; i < count; i++)
		entries[i] = cpu_to_le64(pages[i]);
	*addr = list->dma;

	return 0;
}

static int paging_transfer_pass(struct tessera_paging_batch *batch,
				const struct tessera_paging_side *src,
				const struct tessera_paging_side *dst,
				const struct tessera_res_cursor *cur, u32 pitch)
{
	struct tessera_paging_job *pjob;
	struct paging_record rec = {
		.kind = TESSERA_PAGING_TRANSFER,
		.src_segment = src->seg ? src->seg->id : 0,
		.src_offset = src->seg ? src->offset + cur->pos : cur->pos,
		.dst_segment = dst->seg ? dst->seg->id : 0,
		.dst_offset = dst->seg ? dst->offset + cur->pos : cur->pos,
		.size = cur->bytes,
	};
	bool swizzle = src->layout != dst->layout;
	u64 src_addr, dst_addr;
	u32 flags = 0;
	int ret;

	pjob = paging_job_for(batch, TSR_TRANSFER_DWORDS * sizeof(u32));
	if (IS_ERR(pjob))
		return PTR_ERR(pjob);

	ret = paging_side_addr(pjob, src, cur, &src_addr);
	if (!ret)
		ret = paging_side_addr(pjob, dst, cur, &dst_addr);
	if (ret)
		return ret;

	if (src->pages)
		flags |= TSR_TRANSFER_SRC_PAGES;
	if (dst->pages)
		flags |= TSR_TRANSFER_DST_PAGES;
	if (tessera_res_cursor_is_first(cur))
		flags |= TSR_TRANSFER_START;
	if (tessera_res_cursor_is_last(cur))
		flags |= TSR_TRANSFER_END;

	paging_emit(pjob, (u32 []) {
		TSR_PKT_HEADER(TSR_OP_TRANSFER, flags, TSR_TRANSFER_DWORDS),
		src->layout | dst->layout << 8,
		lower_32_bits(src_addr), upper_32_bits(src_addr),
		lower_32_bits(dst_addr), upper_32_bits(dst_addr),
		lower_32_bits(cur->bytes), upper_32_bits(cur->bytes),
		0, 0, 0, 0,
		swizzle ? pitch : 0, 0,
	}, TSR_TRANSFER_DWORDS);

	/* The trace shows what the packet says: flags, then the layouts. */
	rec.flags = flags | src->layout << 8 | dst->layout << 16;
	paging_record(pjob, &rec);

	return 0;
}

/**
 * tessera_paging_transfer() - copy contents
 * @batch: the batch
 * @src: where from
 * @dst: where to
 * @bytes: how much, a multiple of the page size
 * @pitch: bytes per row, where the layouts differ
 *
 * Between two GPU addresses this is one packet, for which the ranges may overlap
 * (PAGE-13). With pages it takes one per full page list, marked first and last (PAGE-4).
 *
 * Return: 0 or an error; the batch is to be aborted then.
 */
int tessera_paging_transfer(struct tessera_paging_batch *batch,
			    const struct tessera_paging_side *src,
			    const struct tessera_paging_side *dst, u64 bytes, u32 pitch)
{
	bool pages = src->pages || dst->pages;
	bool swizzle = src->layout != dst->layout;
	struct tessera_res_cursor cur;
	int ret;

	if (!pages) {
		cur = (struct tessera_res_cursor) { .total = bytes, .bytes = bytes };
		return paging_transfer_pass(batch, src, dst, &cur, pitch);
	}

	tessera_res_cursor_first(&cur, bytes, LIST_COVERS,
				 swizzle ? TSR_TILE_ROWS * pitch : TSR_PAGE_SIZE);
	for (; cur.bytes; tessera_res_cursor_next(&cur)) {
		ret = paging_transfer_pass(batch, src, dst, &cur, pitch);
		if (ret)
			return ret;
	}

	return 0;
}

/**
 * tessera_paging_fill() - fill a range of a memory segment
 * @batch: the batch
 * @seg: the segment, not an aperture (PAGE-6)
 * @offset: byte offset
 * @bytes: how much
 * @value: the word to fill with
 *
 * Return: 0 or an error.
 */
int tessera_paging_fill(struct tessera_paging_batch *batch,
			const struct tessera_segment *seg, u64 offset, u64 bytes, u32 value)
{
	struct tessera_paging_job *pjob;
	u64 addr = seg->base + offset;

	pjob = paging_job_for(batch, TSR_PAGE_FILL_DWORDS * sizeof(u32));
	if (IS_ERR(pjob))
		return PTR_ERR(pjob);

	paging_emit(pjob, (u32 []) {
		TSR_PKT_HEADER(TSR_OP_PAGE_FILL, 0, TSR_PAGE_FILL_DWORDS), value,
		lower_32_bits(addr), upper_32_bits(addr),
		lower_32_bits(bytes), upper_32_bits(bytes),
	}, TSR_PAGE_FILL_DWORDS);
	paging_record(pjob, &(struct paging_record) {
		.kind = TESSERA_PAGING_FILL, .dst_segment = seg->id,
		.dst_offset = offset, .size = bytes,
	});

	return 0;
}

static int paging_map_pass(struct tessera_paging_batch *batch,
			   const struct tessera_segment *seg, u64 offset,
			   const struct tessera_res_cursor *cur,
			   const dma_addr_t *pages, enum ttm_caching caching, u32 *flags)
{
	u32 count = cur->bytes >> TSR_PAGE_SHIFT;
	u64 first = cur->pos >> TSR_PAGE_SHIFT;
	struct tessera_paging_job *pjob;
	struct paging_list *list;
	u64 pte;
	u32 i;
	int ret;

	pjob = paging_job_for(batch, TSR_MAP_APERTURE_DWORDS * sizeof(u32));
	if (IS_ERR(pjob))
		return PTR_ERR(pjob);

	list = paging_list_create(pjob);
	if (IS_ERR(list))
		return PTR_ERR(list);

	for (i = 0; i < count; i++) {
		ret = tessera_cache_aperture_pte(seg, caching, pages[first + i], &pte);
		if (ret)
			return ret;
		list->cpu[i] = cpu_to_le64(pte);
	}
	*flags = pte & ~TSR_APTE_ADDR_MASK;

	paging_emit(pjob, (u32 []) {
		TSR_PKT_HEADER(TSR_OP_MAP_APERTURE, 0, TSR_MAP_APERTURE_DWORDS), seg->id,
		(offset + cur->pos) >> TSR_PAGE_SHIFT, count,
		lower_32_bits(list->dma), upper_32_bits(list->dma),
	}, TSR_MAP_APERTURE_DWORDS);

	return 0;
}

/**
 * tessera_paging_map() - show system pages in an aperture
 * @batch: the batch
 * @seg: an aperture segment
 * @offset: byte offset
 * @bytes: how much
 * @pages: DMA addresses of the pages
 * @caching: of the pages
 *
 * Return: 0 or an error.
 */
int tessera_paging_map(struct tessera_paging_batch *batch,
		       const struct tessera_segment *seg, u64 offset, u64 bytes,
		       const dma_addr_t *pages, enum ttm_caching caching)
{
	struct tessera_res_cursor cur;
	u32 flags = 0;
	int ret;

	tessera_res_cursor_first(&cur, bytes, LIST_COVERS, TSR_PAGE_SIZE);
	for (; cur.bytes; tessera_res_cursor_next(&cur)) {
		ret = paging_map_pass(batch, seg, offset, &cur, pages, caching, &flags);
		if (ret)
			return ret;
	}
	paging_record(batch->cur, &(struct paging_record) {
		.kind = TESSERA_PAGING_MAP, .dst_segment = seg->id,
		.dst_offset = offset, .size = bytes, .flags = flags,
	});

	return 0;
}

/**
 * tessera_paging_unmap() - show the dummy page in a range of an aperture (PAGE-9)
 * @batch: the batch
 * @seg: an aperture segment
 * @offset: byte offset
 * @bytes: how much
 *
 * Return: 0 or an error.
 */
int tessera_paging_unmap(struct tessera_paging_batch *batch,
			 const struct tessera_segment *seg, u64 offset, u64 bytes)
{
	struct tessera_paging_job *pjob;

	pjob = paging_job_for(batch, TSR_UNMAP_APERTURE_DWORDS * sizeof(u32));
	if (IS_ERR(pjob))
		return PTR_ERR(pjob);

	paging_emit(pjob, (u32 []) {
		TSR_PKT_HEADER(TSR_OP_UNMAP_APERTURE, 0, TSR_UNMAP_APERTURE_DWORDS),
		seg->id, offset >> TSR_PAGE_SHIFT, bytes >> TSR_PAGE_SHIFT,
	}, TSR_UNMAP_APERTURE_DWORDS);
	paging_record(pjob, &(struct paging_record) {
		.kind = TESSERA_PAGING_UNMAP, .src_segment = seg->id,
		.src_offset = offset, .size = bytes,
	});

	return 0;
}

/**
 * tessera_paging_mark() - tell a strict device who owns a range
 * @batch: the batch
 * @seg: a memory segment
 * @offset: byte offset
 * @bytes: how much
 * @mark: TSR_MARK_*
 *
 * Return: 0 or an error.
 */
int tessera_paging_mark(struct tessera_paging_batch *batch,
			const struct tessera_segment *seg, u64 offset, u64 bytes, u32 mark)
{
	struct tessera_paging_job *pjob;
	u64 addr = seg->base + offset;

	if (!bytes || !(batch->tdev->info.caps & TSR_CAP_STRICT))
		return 0;

	pjob = paging_job_for(batch, TSR_MARK_DWORDS * sizeof(u32));
	if (IS_ERR(pjob))
		return PTR_ERR(pjob);

	paging_emit(pjob, (u32 []) {
		TSR_PKT_HEADER(TSR_OP_MARK, 0, TSR_MARK_DWORDS), mark,
		lower_32_bits(addr), upper_32_bits(addr),
		lower_32_bits(bytes), upper_32_bits(bytes),
	}, TSR_MARK_DWORDS);
	paging_record(pjob, &(struct paging_record) {
		.kind = TESSERA_PAGING_MARK, .dst_segment = seg->id,
		.dst_offset = offset, .size = bytes, .flags = mark,
	});

	return 0;
}

/**
 * tessera_paging_discard() - note that contents are dropped without a copy
 * @batch: the batch
 * @seg: the segment they are in
 * @offset: byte offset
 * @bytes: how much
 *
 * Takes no command, only a place in the order of things and in the trace (PAGE-7).
 *
 * Return: 0 or an error.
 */
int tessera_paging_discard(struct tessera_paging_batch *batch,
			   const struct tessera_segment *seg, u64 offset, u64 bytes)
{
	struct tessera_paging_job *pjob;

	pjob = paging_job_for(batch, 0);
	if (IS_ERR(pjob))
		return PTR_ERR(pjob);

	paging_record(pjob, &(struct paging_record) {
		.kind = TESSERA_PAGING_DISCARD, .src_segment = seg->id,
		.src_offset = offset, .size = bytes,
	});

	return 0;
}

static void paging_trace(struct tessera_paging_job *pjob)
{
	struct paging_record *rec;

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
