// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: parts
 *
 * A part is a job of a context. It knows the objects that it uses. It waits for
 * the fences in their reservations, and adds its own fence there. A part does
 * not run if the part before it in the same submission failed. Called with the
 * context's lock and the objects' reservations held.
 *
 * On a device that cannot preempt, the parts of a submission occupy their
 * engine from the first to the last. Each part has its own timeout, but all
 * parts together may take as long as their number allows. Therefore the driver
 * adds up their run times and the gaps between them. A submission that exceeds
 * the limit is treated as a job that hangs, except that nothing has to be
 * reset: the parts that have not begun do not run.
 */
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/lockdep.h>
#include <linux/slab.h>

#include <drm/drm_print.h>

#include "base/device.h"
#include "base/wait.h"
#include "client/client.h"
#include "debug/debug.h"
#include "exec/exec.h"
#include "hw/hw.h"
#include "mem/mem.h"
#include "segments/segments.h"
#include "submit/submit.h"
#include "sync/sync.h"

static struct tessera_part *to_tessera_part(struct tessera_job *job)
{
	return container_of(job, struct tessera_part, job);
}

/*
 * A failed paging job may have left another client's bytes in the place of a
 * lost object.
 */
static bool lost_any(const struct tessera_part *part)
{
	u32 i;

	for (i = 0; i < part->num_lost; i++)
		if (atomic_read(part->lost[i]))
			return true;

	return false;
}

/**
 * tessera_group_error() - ask whether a submission in parts has failed
 * @group: the submission
 *
 * Return: 0; -ETIME if it had its engine for too long; or the error of a part.
 */
int tessera_group_error(const struct tessera_group *group)
{
	return READ_ONCE(group->overran) ? -ETIME : READ_ONCE(group->error);
}

/*
 * Reports an overrun once. @told needs no lock: the parts of an engine are
 * prepared one after the other.
 */
static int part_overran(struct tessera_part *part)
{
	struct tessera_context *ctx = part->ctx;
	struct tessera_group *group = part->group;

	if (!group || !READ_ONCE(group->overran))
		return 0;
	if (!group->told) {
		group->told = true;
		drm_warn(&ctx->tdev->drm, "%s: context %u keeps it for too long\n",
			 ctx->engine->name, ctx->hw_id);
		if (READ_ONCE(group->hogged)) {
			atomic_set(&ctx->guilty, 1);
			tessera_context_blame(ctx, true);
		}
	}

	return -ETIME;
}

/* Run nothing after a faulted job, or once the page tables are invalid. */
static int part_prepare_vm(const struct tessera_context *ctx)
{
	if (atomic_read(&ctx->guilty))
		return -ECANCELED;

	return atomic_read(&ctx->pts->lost) ? -EIO : 0;
}

/*
 * Called from run_job. The first error of a submission becomes the error of all
 * later parts.
 */
static int tessera_part_prepare(struct tessera_job *job)
{
	struct tessera_part *part = to_tessera_part(job);
	int status = job->after ? dma_fence_get_status(&job->after->base) : 0;

	if (READ_ONCE(part->ctx->dropped) || tessera_account_banned(part->ctx->account))
		return -ECANCELED;
	if (part->ctx->pts)
		return part_prepare_vm(part->ctx);
	if (status < 0)
		return status;
	status = part_overran(part);
	if (status || part->error)
		return status ?: part->error;

	return lost_any(part) ? -EIO : 0;
}

static void tessera_part_finished(struct tessera_job *job)
{
	struct tessera_part *part = to_tessera_part(job);

	tessera_signals_publish(part->signals);
	tessera_backlog_done(part->ctx->backlog, &part->backlog);
	if (part->gated)
		tessera_gate_done(part->ctx->account->process, job->engine->id, part->epoch);
	tessera_quota_remove_job(job->quota);
	if (part->group) {
		atomic_dec_return(&part->group->unfinished);
		if (wq_has_sleeper(&part->group->wait))
			wake_up_all(&part->group->wait);
	}
}

static void tessera_part_hung(struct tessera_job *job, bool waiting)
{
	tessera_context_blame(to_tessera_part(job)->ctx, !waiting);
}

/* Called with the engine's lock held. */
static void group_spend(struct tessera_group *group, u64 start_ns, u64 end_ns)
{
	group->ran_ns += end_ns - start_ns;
	/* The cap of each gap also covers a suspend in between. */
	if (group->end_ns && start_ns > group->end_ns)
		group->waited_ns += min(start_ns - group->end_ns, group->idle_ns);
	group->end_ns = end_ns;
	if (!group->limit_ns || group->ran_ns + group->waited_ns <= group->limit_ns)
		return;
	/*
	 * The context is blamed for running time only: gaps may be caused by
	 * other clients.
	 */
	if (group->ran_ns > group->limit_ns)
		WRITE_ONCE(group->hogged, true);
	WRITE_ONCE(group->overran, true);
}

/* Handle a fault of a context that works at virtual addresses. */
static void part_faulted(struct tessera_part *part)
{
	struct tessera_context *ctx = part->ctx;

	WRITE_ONCE(ctx->faulted, true);
	atomic_set(&ctx->guilty, 1);
	dev_warn_ratelimited(ctx->tdev->drm.dev, "%s: context %u, VM %u: bad access, context lost\n",
			     ctx->engine->name, ctx->hw_id, part->job.vm.asid);
}

static void tessera_part_done(struct tessera_job *job, int error, u64 start_ns, u64 end_ns)
{
	struct tessera_part *part = to_tessera_part(job);

	if (error == -EFAULT && part->ctx->pts)
		part_faulted(part);
	/*
	 * Publish before the fence signals: a signalled fence implies the
	 * values.
	 */
	tessera_signals_publish(part->signals);
	/* The submitting thread stops arming parts, as they would not run. */
	if (error && part->group && !part->group->error)
		WRITE_ONCE(part->group->error, error);
	if (end_ns <= start_ns)
		return;
	tessera_account_add_engine_time(part->ctx->account, job->engine->id, end_ns - start_ns);
	if (part->gated)
		tessera_quota_job_ran(&part->ctx->account->process->work, job->engine->id,
				      end_ns - start_ns);
	if (part->group)
		group_spend(part->group, start_ns, end_ns);
}

/*
 * Only what exceeds the flat cost of a job; the list can be much larger than
 * that.
 */
static long part_lost_bytes(const struct tessera_part *part)
{
	return part->max_lost * sizeof(*part->lost);
}

static void tessera_part_release(struct tessera_job *job)
{
	struct tessera_part *part = to_tessera_part(job);

	tessera_quota_uncharge(job->quota, part_lost_bytes(part));
	if (part->group)
		tessera_group_put(part->group);
	tessera_signals_put(part->signals);
	tessera_context_put(part->ctx);
	kvfree(part->lost);
	kfree(part);
}

static const struct tessera_job_ops tessera_part_ops = {
	.prepare = tessera_part_prepare,
	.done = tessera_part_done,
	.finished = tessera_part_finished,
	.hung = tessera_part_hung,
	.release = tessera_part_release,
};

/**
 * tessera_group_create() - begin a submission in parts
 * @ctx: its context
 *
 * Return: the group with one reference, or NULL.
 */
struct tessera_group *tessera_group_create(struct tessera_context *ctx)
{
	struct tessera_group *group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	struct tessera_device *tdev = ctx->tdev;

	if (!group)
		return NULL;
	kref_init(&group->ref);
	init_waitqueue_head(&group->wait);
	group->idle_ns = (u64)tessera_engine_timeout_ms(tdev) * NSEC_PER_MSEC;
	if (!(tdev->info.caps & TSR_CAP_PREEMPTION))
		group->limit_ns = group->idle_ns * READ_ONCE(tdev->group_timeouts);

	return group;
}

static void group_release(struct kref *ref)
{
	kfree(container_of(ref, struct tessera_group, ref));
}

/**
 * tessera_group_put() - drop a reference
 * @group: the group
 */
void tessera_group_put(struct tessera_group *group)
{
	kref_put(&group->ref, group_release);
}

static bool group_may_go_on(struct tessera_group *group, u32 most, struct tessera_quota *quota)
{
	u32 unfinished = atomic_read(&group->unfinished);

	return !unfinished || (unfinished <= most && !tessera_quota_is_full(quota));
}

/**
 * tessera_group_wait() - wait until few of its parts are unfinished
 * @group: the group
 * @most: the number to wait for; it is 0 while the process has as many jobs as
 * it may have
 * @quota: quota of the process
 *
 * No lock may be held but the context's and &tessera_device.reset_lock.
 *
 * Return: 0, or -EINTR for a fatal signal.
 */
int tessera_group_wait(struct tessera_group *group, u32 most, struct tessera_quota *quota)
{
	int ret;

	ret = tessera_wait_event(TESSERA_WAIT_PARTS, group->wait,
				 group_may_go_on(group, most, quota),
				 TESSERA_GROUP_WAIT);

	return ret ? -EINTR : 0;
}

/**
 * tessera_part_create() - make a job for a context
 * @ctx: the context
 * @max_uses: most objects that it uses
 *
 * Return: the part, which the caller releases with tessera_part_put(), whether
 * armed or not; or an error pointer.
 */
struct tessera_part *tessera_part_create(struct tessera_context *ctx, u32 max_uses)
{
	struct tessera_part *part;
	int ret;

	part = kzalloc(sizeof(*part), GFP_KERNEL_ACCOUNT);
	if (!part)
		return ERR_PTR(-ENOMEM);
	part->max_lost = max_uses;
	ret = -ENOMEM;
	if (max_uses) {
		part->lost = kvmalloc_array(max_uses, sizeof(*part->lost), GFP_KERNEL_ACCOUNT);
		if (!part->lost)
			goto err_free;
	}
	ret = tessera_job_init(&part->job, ctx->engine, &ctx->entity, &tessera_part_ops,
			       &ctx->account->process->work);
	if (ret)
		goto err_free_lost;
	tessera_quota_charge(part->job.quota, part_lost_bytes(part));
	part->job.context_id = ctx->hw_id;
	part->job.level = ctx->level;
	part->job.queue = &ctx->queue;
	part->ctx = tessera_context_get(ctx);

	return part;

err_free_lost:
	kvfree(part->lost);
err_free:
	kfree(part);
	return ERR_PTR(ret);
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
 * tessera_part_use() - make a part wait for other users of an object
 * @part: the part, not armed
 * @bo: an object that it uses, resident
 * @write: the submission writes the object
 *
 * Reserves a fence slot for the part's own fence, and does the cache
 * maintenance. Nothing else may be added to the reservation until
 * tessera_part_publish().
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_part_use(struct tessera_part *part, struct tessera_bo *bo, bool write)
{
	struct dma_resv *resv = bo->tbo.base.resv;
	int ret;

	if (drm_WARN_ON(bo->tbo.base.dev, part->num_lost == part->max_lost))
		return -EINVAL;
	/*
	 * Two slots: another object of the part may share the reservation, one
	 * read and the other written.
	 */
	ret = dma_resv_reserve_fences(resv, 2);
	if (ret)
		return ret;
	part->lost[part->num_lost++] = &bo->lost;
	if (tessera_segment_is_aperture(tessera_bo_segment(bo)))
		tessera_coherence_for_job(bo, write);

	ret = tessera_job_add_resv(&part->job, resv, dma_resv_usage_rw(write));
	if (!ret)
		tessera_dep_check_job(&bo->dep_check, tessera_dep_check_before(write), &part->job,
				      bo->id);

	return ret;
}

/**
 * tessera_part_signal() - let this part signal the out-fences of its submission
 * @part: the part, not armed, with all its commands
 * @syncs: the sync list of the submission
 * @late: other parts of it are armed already
 *
 * The last step that can fail, apart from tessera_users_begin() and the check
 * that follows it. After success, either the part is armed and
 * tessera_syncs_commit() is called before it is pushed, or
 * tessera_part_unsignal() is called.
 *
 * Return: 0, or, unless @late, -EINVAL if a monitored fence is past the value
 * meanwhile.
 */
int tessera_part_signal(struct tessera_part *part, const struct tessera_syncs *syncs, bool late)
{
	int ret;

	tessera_syncs_charge(syncs, &part->job);
	if (!syncs->signals)
		return 0;
	ret = tessera_signals_begin(syncs->signals, part->error ? NULL : &part->job, part->ctx,
				    late);
	if (!ret)
		part->signals = tessera_signals_get(syncs->signals);

	return ret;
}

/**
 * tessera_part_unsignal() - undo tessera_part_signal()
 * @syncs: the sync list of the submission; the caller drops the part next
 */
void tessera_part_unsignal(const struct tessera_syncs *syncs)
{
	if (syncs->signals)
		tessera_signals_cancel(syncs->signals);
}

/**
 * tessera_part_arm() - arm a part, after which nothing may fail
 * @part: the part
 * @pass: pass of the gate; NULL for a part without commands, whose order on the
 * engine does not matter
 *
 * Return: its fence, valid as long as the caller's reference to the part; or
 * NULL if the pass has become void. Nothing was done then.
 */
struct dma_fence *tessera_part_arm(struct tessera_part *part, struct tessera_pass *pass)
{
	lockdep_assert_held(&part->ctx->lock);

	if (!pass)
		tessera_job_arm(&part->job);
	else if (!tessera_gate_arm(pass, &part->job, &part->epoch))
		return NULL;
	part->gated = pass && pass->gate;
	tessera_backlog_add(part->ctx->backlog, &part->backlog);
	tessera_quota_add_job(part->job.quota);

	return tessera_job_finished(&part->job);
}

/**
 * tessera_part_publish() - add an armed part's fence to an object
 * @part: the part, armed, not yet pushed
 * @bo: an object that tessera_part_use() was called for
 * @write: the submission writes the object
 * @stamp: number of the submission, for the LRU
 */
void tessera_part_publish(struct tessera_part *part, struct tessera_bo *bo,
			  bool write, u64 stamp)
{
	dma_resv_add_fence(bo->tbo.base.resv, tessera_job_finished(&part->job),
			   write ? DMA_RESV_USAGE_WRITE : DMA_RESV_USAGE_READ);
	tessera_dep_check_add(&bo->dep_check,
			      write ? TESSERA_DEP_CHECK_WRITE : TESSERA_DEP_CHECK_READ,
			      tessera_job_finished(&part->job));
	tessera_residency_commit(bo, write, stamp);
}
