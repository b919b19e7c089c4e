// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: parts
 *
 * A job on behalf of a context. It knows which objects it uses: it waits for the fences it
 * finds in their reservations and leaves its own there. A part that follows
 * another of the same submission does not run if that one failed. Called with the
 * context's lock, the submission lock and the objects' reservations held.
 */
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/lockdep.h>
#include <linux/slab.h>

#include "exec/engine.h"
#include "hw/fence.h"
#include "mem/bo.h"
#include "mem/residency.h"
#include "paging/queue.h"
#include "segments/account.h"
#include "submit/context.h"
#include "submit/part.h"
#include "tessera_device.h"

static struct tessera_part *to_tessera_part(struct tessera_job *job)
{
	return container_of(job, struct tessera_part, job);
}

/* In run_job: the first error of a submission is that of all parts behind it. */
static int tessera_part_prepare(struct tessera_job *job)
{
	struct tessera_part *part = to_tessera_part(job);
	int status = job->after ? dma_fence_get_status(&job->after->base) : 0;

	if (status < 0)
		return status;
	if (part->error)
		return part->error;

	/*
	 * Paging that failed may have been this one's: its memory may hold what
	 * another client left there. That is rare, so nobody asks whose it was.
	 */
	return part->paging_failures == tessera_paging_failures(part->ctx->tdev) ? 0 : -EIO;
}

static void tessera_part_done(struct tessera_job *job, int error, u64 start_ns, u64 end_ns)
{
	struct tessera_part *part = to_tessera_part(job);

	if (end_ns > start_ns)
		tessera_account_add_engine_time(part->ctx->account, job->engine->id,
						end_ns - start_ns);
}

static void tessera_part_release(struct tessera_job *job)
{
	struct tessera_part *part = to_tessera_part(job);

	tessera_context_put(part->ctx);
	kfree(part);
}

static const struct tessera_job_ops tessera_part_ops = {
	.prepare = tessera_part_prepare,
	.done = tessera_part_done,
	.release = tessera_part_release,
};

/**
 * tessera_part_create() - make a job for a context
 * @ctx: the context
 *
 * Return: the part, to be dropped with tessera_part_put() whatever becomes of it, or an
 * error pointer.
 */
struct tessera_part *tessera_part_create(struct tessera_context *ctx)
{
	struct tessera_part *part;
	int ret;

	part = kzalloc(sizeof(*part), GFP_KERNEL);
	if (!part)
		return ERR_PTR(-ENOMEM);
	ret = tessera_job_init(&part->job, ctx->engine, &ctx->entity, &tessera_part_ops,
			       ctx->account);
	if (ret) {
		kfree(part);
		return ERR_PTR(ret);
	}
	part->job.context_id = ctx->hw_id;
	part->ctx = tessera_context_get(ctx);
	part->paging_failures = ctx->paging_failures;

	return part;
}

/**
 * tessera_part_put() - drop the creator's reference
 * @part: the part, or NULL
 */
void tessera_part_put(struct tessera_part *part)
{
	if (part)
		tessera_job_put(&part->job);
}

/**
 * tessera_part_use() - wait for whoever uses an object
 * @part: the part, not armed
 * @bo: an object it uses, resident
 * @write: the submission writes it
 *
 * Makes room for the part's own fence as well.
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_part_use(struct tessera_part *part, struct tessera_bo *bo, bool write)
{
	struct dma_resv *resv = bo->tbo.base.resv;
	int ret;

	ret = dma_resv_reserve_fences(resv, 1);
	if (ret)
		return ret;

	return tessera_job_add_resv(&part->job, resv, dma_resv_usage_rw(write));
}

/**
 * tessera_part_arm() - point of no return
 * @part: the part
 *
 * Return: its fence, valid as long as the caller's reference to the part.
 */
struct dma_fence *tessera_part_arm(struct tessera_part *part)
{
	struct tessera_context *ctx = part->ctx;
	struct dma_fence *fence;

	lockdep_assert_held(&ctx->lock);

	tessera_job_arm(&part->job);
	fence = tessera_job_finished(&part->job);
	tessera_barrier_armed(ctx->tdev, &ctx->tail, fence);

	return fence;
}

/**
 * tessera_part_publish() - leave an armed part's fence in an object
 * @part: the part, armed, not yet pushed
 * @bo: an object tessera_part_use() was called for
 * @write: the submission writes it
 * @stamp: number of the submission, for LRU
 */
void tessera_part_publish(struct tessera_part *part, struct tessera_bo *bo,
			  bool write, u64 stamp)
{
	dma_resv_add_fence(bo->tbo.base.resv, tessera_job_finished(&part->job),
			   write ? DMA_RESV_USAGE_WRITE : DMA_RESV_USAGE_READ);
	tessera_residency_commit(bo, write, stamp);
}

/**
 * tessera_part_push() - hand an armed part to the scheduler
 * @part: the part
 */
void tessera_part_push(struct tessera_part *part)
{
	tessera_job_push(&part->job);
}
