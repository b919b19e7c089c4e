// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: submission at virtual addresses
 *
 * A submission of a context with a VM names a command address and has no lists.
 * Nothing is copied, checked or locked for each object, so the cost does not
 * depend on how much the VM maps. The commands run unprivileged. The page
 * tables limit what they can reach.
 *
 * No job is queued while an object is missing that the client has listed as
 * resident (RES-2). Nor is one queued while page tables map user memory whose
 * pages have changed (tessera_resident_rebind_userptr()).
 *
 * The submission waits for foreign in-fences first, with no lock held. Moves of
 * the VM's objects then wait for jobs of this device only. Then it passes the
 * engine's gate, and takes the lock of the page tables. Under that lock the job
 * depends on all earlier changes of the tables, and later changes depend on the
 * job.
 *
 * A job that accesses an unmapped address ends with -EFAULT, and its context is
 * lost. The device skips the jobs of the context that are in the ring behind
 * it, as it knows how each job has ended. Jobs that are not in the ring yet
 * never get there.
 *
 * Locks: &tessera_device.reset_lock for reading, the context's lock, then that
 * of the page tables.
 */
#include <linux/jiffies.h>
#include <linux/sched/signal.h>

#include <drm/drm_drv.h>
#include <drm/tessera_drm.h>

#include "base/device.h"
#include "borrow/borrow.h"
#include "client/client.h"
#include "exec/exec.h"
#include "mem/mem.h"
#include "submit/submit.h"
#include "sync/sync.h"
#include "vm/vm.h"

/*
 * Job timeouts for which a submission tries again while other clients keep
 * evicting listed objects.
 */
#define READY_TIMEOUTS	2

static int order_job(struct tessera_context *ctx, const struct tessera_syncs *syncs,
		     struct tessera_pass *pass, struct tessera_job *job)
{
	int ret;

	ret = tessera_syncs_add_waits(syncs, job);
	if (!ret)
		ret = tessera_gate_order(pass, job);
	if (!ret && ctx->vm_last)
		tessera_job_cancel_with(job, ctx->vm_last);

	return ret;
}

static int submit_inside(struct tessera_context *ctx, struct tessera_syncs *syncs,
			 struct tessera_pass *pass, struct tessera_part *part)
{
	struct dma_fence *fence = NULL;
	int ret;

	ret = order_job(ctx, syncs, pass, &part->job);
	if (!ret)
		ret = tessera_page_tables_begin_job(ctx->pts, &part->job);
	if (ret == -EAGAIN)
		return TESSERA_AGAIN_ABSENT;
	if (ret == -EINPROGRESS)
		return TESSERA_AGAIN_ASID;
	if (ret)
		return ret;
	ret = tessera_part_signal(part, syncs, false);
	if (ret)
		goto out_end_job;
	tessera_users_begin(ctx->tdev);
	ret = TESSERA_AGAIN_PAGES;
	if (tessera_vm_jobs_may_begin(&ctx->pts->jobs)) {
		fence = tessera_part_arm(part, pass);
		ret = fence ? 0 : TESSERA_AGAIN_VOID;
	}
	if (ret) {
		tessera_users_end(ctx->tdev);
		tessera_part_unsignal(syncs);
		goto out_end_job;
	}

	tessera_vm_queue_set(ctx->tdev, &ctx->pts->jobs, ctx->vm_queue, fence);
	tessera_users_end(ctx->tdev);
	if (ctx->vm_last)
		dma_fence_put(&ctx->vm_last->base);
	ctx->vm_last = tessera_job_outcome(&part->job);
	tessera_syncs_commit(syncs, fence);
	tessera_job_push(&part->job);

out_end_job:
	tessera_page_tables_end_job(ctx->pts);
	return ret;
}

static int pass_gate(struct tessera_context *ctx, struct tessera_syncs *syncs,
		     struct tessera_part *part)
{
	struct tessera_device *tdev = ctx->tdev;
	struct tessera_pass pass = { };
	int ret, idx;

	ret = tessera_gate_enter(&pass, ctx, NULL);
	if (ret)
		return ret;
	ret = -ENODEV;
	if (drm_dev_enter(&tdev->drm, &idx)) {
		ret = submit_inside(ctx, syncs, &pass, part);
		drm_dev_exit(idx);
	}
	tessera_gate_leave(&pass);
	if (!ret)
		tessera_syncs_signal(syncs, tessera_job_finished(&part->job));

	return ret;
}

static int submit_once(struct tessera_context *ctx, const struct drm_tessera_submit_vm *args,
		       struct tessera_syncs *syncs)
{
	struct tessera_part *part;
	int ret;

	part = tessera_part_create(ctx, 0);
	if (IS_ERR(part))
		return PTR_ERR(part);
	part->job.vm = (struct tessera_job_vm) {
		.cmds = args->cmds,
		.cmd_bytes = args->cmd_size,
	};
	ret = pass_gate(ctx, syncs, part);
	tessera_part_put(part);

	return ret;
}

static int submit_locked(struct tessera_context *ctx, const struct drm_tessera_submit_vm *args,
			 struct tessera_syncs *syncs)
{
	int ret = 0;

	if (atomic_read(&ctx->guilty) || tessera_account_banned(ctx->account))
		return -EIO;
	while (!ret) {
		ret = submit_once(ctx, args, syncs);
		if (ret == TESSERA_AGAIN_ASID)
			ret = tessera_asid_wait(ctx->tdev, &ctx->pts->asid);
		else if (ret == TESSERA_AGAIN_VOID)
			ret = 0;
		else
			break;
	}
	/*
	 * Otherwise an ASID would stay reserved for this VM, as its heir.
	 */
	if (ret)
		tessera_asid_give_up(ctx->tdev, &ctx->pts->asid);

	return ret;
}

static int submit_work(struct tessera_context *ctx, struct drm_file *file,
		       struct tessera_monitored_set *fences,
		       const struct drm_tessera_submit_vm *args,
		       const struct drm_tessera_sync *list)
{
	struct tessera_syncs syncs = { };
	int ret;

	ret = tessera_syncs_init(&syncs, ctx->tdev, file, fences, &ctx->account->process->work,
				 list, args->syncs.count);
	if (!ret)
		ret = tessera_work_begin(ctx->tdev);
	if (!ret) {
		ret = mutex_lock_interruptible(&ctx->lock);
		if (!ret) {
			ret = submit_locked(ctx, args, &syncs);
			mutex_unlock(&ctx->lock);
		}
		ret = tessera_work_end(ctx->tdev, ret);
	}
	tessera_syncs_fini(&syncs);

	return ret;
}

static int submit_to(struct tessera_context *ctx, struct drm_file *file,
		     struct tessera_monitored_set *fences,
		     const struct drm_tessera_submit_vm *args, const struct drm_tessera_sync *list)
{
	long bytes = min(args->syncs.count, TESSERA_MAX_SYNCS) * 64L;
	u64 patience = READY_TIMEOUTS *
		       (u64)msecs_to_jiffies(tessera_engine_timeout_ms(ctx->tdev));
	struct tessera_quota *quota = &ctx->account->process->work;
	u64 absent_since = 0;
	u32 changes = 0;
	int ret;

	do {
		/*
		 * Before anything is charged, since the wait for residency may
		 * depend on it.
		 */
		ret = tessera_resident_ready(ctx->pts->resident) ?:
		      tessera_quota_enter(quota, bytes);
		if (ret)
			return ret;
		ret = submit_work(ctx, file, fences, args, list);
		tessera_quota_leave(quota, bytes);
		if (ret == TESSERA_AGAIN_PAGES) {
			ret = ++changes == TESSERA_USER_TRIES ? -EBUSY :
			      tessera_resident_rebind_userptr(ctx->pts);
		} else if (ret == TESSERA_AGAIN_ABSENT) {
			/*
			 * The time before the first such failure does not
			 * count.
			 */
			absent_since = absent_since ?: get_jiffies_64();
			if (time_after_eq64(get_jiffies_64(), absent_since + patience))
				ret = -ENOMEM;
			else
				ret = 0;
			if (signal_pending(current))
				ret = -ERESTARTSYS;
		} else {
			return ret;
		}
	} while (!ret);

	return ret;
}

/**
 * tessera_submit_vm() - run a submission at virtual addresses
 * @file: the open file
 * @contexts: the client's contexts
 * @fences: the client's monitored fences
 * @args: the arguments, checked
 * @syncs: the kernel's copy of the sync list
 *
 * No lock may be held.
 *
 * Return: 0; or one of the errors of &struct drm_tessera_submit_vm. Then
 * nothing was run.
 */
int tessera_submit_vm(struct drm_file *file, struct xarray *contexts,
		      struct tessera_monitored_set *fences,
		      const struct drm_tessera_submit_vm *args,
		      const struct drm_tessera_sync *syncs)
{
	struct tessera_context *ctx = tessera_context_lookup(contexts, args->context);
	int ret;

	if (!ctx)
		return -ENOENT;
	ret = ctx->pts ? submit_to(ctx, file, fences, args, syncs) : -EOPNOTSUPP;
	tessera_context_put(ctx);

	return ret;
}
