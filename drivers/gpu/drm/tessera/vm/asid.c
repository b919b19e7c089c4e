// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: numbers of address spaces
 *
 * The device tells the translations of different VMs apart by a number (ASID), of which it has few.
 * A VM gets one for its first job, and keeps it until another VM needs it: a VM without unfinished
 * jobs, the least recently used one, gives its number up. A VM that gets a number begins with a flush
 * of all addresses, since the TLBs may remember those of the VM before.
 *
 * While all numbers belong to VMs with unfinished jobs, one that needs a number becomes the *heir* of
 * one of them: of the process that has most numbers, the VM that has had its number for longest. That
 * VM queues no more jobs before its number has gone to the heir, so the heir waits for the jobs that
 * are queued, and for nothing that is submitted later. Then the VM needs a number in turn. So VMs
 * take turns, and a process with few of them does not wait for one with many.
 *
 * Called by vm/pt.c with the lock of the page tables. The lock here is a leaf.
 */
#include <linux/dma-fence.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/wait.h>

#include <drm/drm_managed.h>

#include "hw/hw.h"
#include "mem/mem.h"
#include "segments/segments.h"
#include "tessera_device.h"
#include "tessera_wait.h"
#include "vm/vm.h"

struct tessera_asids {
	/* Protects all below, and what is in the list. */
	struct mutex lock;
	/* &struct tessera_asid, those with a number. */
	struct list_head list;
	/* Has gone up whenever a VM may have become free to give its number up. */
	u32 changes;
	/* For more of those. */
	wait_queue_head_t wait;
	u32 num;
	/* Those that no VM has. */
	u32 num_free;
	u32 free[] __counted_by(num);
};

static void asids_fini(struct drm_device *drm, void *data)
{
	struct tessera_asids *asids = data;

	drm_WARN_ON(drm, !list_empty(&asids->list));
	mutex_destroy(&asids->lock);
}

/**
 * tessera_asids_init() - set up the numbers of a device
 * @tdev: the device
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_asids_init(struct tessera_device *tdev)
{
	struct tessera_asids *asids;
	u32 num = 0;

	if (tdev->info.caps & TSR_CAP_VM)
		num = tessera_read32(tdev, TSR_VM_NUM_ASIDS);
	asids = drmm_kzalloc(&tdev->drm, struct_size(asids, free, num), GFP_KERNEL);
	if (!asids)
		return -ENOMEM;
	mutex_init(&asids->lock);
	INIT_LIST_HEAD(&asids->list);
	init_waitqueue_head(&asids->wait);
	asids->num = num;
	while (num)
		asids->free[asids->num_free++] = --num;
	tdev->asids = asids;

	return drmm_add_action_or_reset(&tdev->drm, asids_fini, asids);
}

/**
 * tessera_asid_init() - begin without a number
 * @asid: part of a VM's page tables
 * @account: of the VM, bound
 * @jobs: those of the VM
 */
void tessera_asid_init(struct tessera_asid *asid, struct tessera_account *account,
		       struct tessera_vm_jobs *jobs)
{
	INIT_LIST_HEAD(&asid->node);
	asid->number = TESSERA_NO_ASID;
	asid->account = account;
	asid->jobs = jobs;
}

static void asid_set_locked(struct tessera_asids *asids, struct tessera_asid *asid, u32 number)
{
	WRITE_ONCE(asid->number, number);
	asid->fresh = true;
	list_add_tail(&asid->node, &asids->list);
	asid->account->payer->asids++;
}

static u32 asid_clear_locked(struct tessera_asid *asid)
{
	u32 number = asid->number;

	WRITE_ONCE(asid->number, TESSERA_NO_ASID);
	list_del_init(&asid->node);
	asid->account->payer->asids--;

	return number;
}

static void asids_changed_locked(struct tessera_asids *asids)
{
	WRITE_ONCE(asids->changes, asids->changes + 1);
	wake_up_all(&asids->wait);
}

static bool asid_is_idle_locked(struct tessera_asid *asid)
{
	struct dma_fence *fence;

	if (asid->used)
		return false;
	fence = tessera_vm_jobs_first(asid->jobs, U64_MAX);
	dma_fence_put(fence);

	return !fence;
}

static void asid_disinherit_locked(struct tessera_asid *asid)
{
	if (asid->from)
		asid->from->heir = NULL;
	asid->from = NULL;
}

static void asid_hand_over_locked(struct tessera_asids *asids, struct tessera_asid *asid)
{
	struct tessera_asid *heir = asid->heir;

	asid_disinherit_locked(heir);
	asid_set_locked(asids, heir, asid_clear_locked(asid));
}

/* The one that gives way: of the process with most numbers, the one used longest ago. */
static struct tessera_asid *asid_victim_locked(struct tessera_asids *asids)
{
	struct tessera_asid *asid, *victim = NULL;

	list_for_each_entry(asid, &asids->list, node)
		if (!asid->heir &&
		    (!victim ||
		     asid->account->payer->asids > victim->account->payer->asids))
			victim = asid;

	return victim;
}

/* A number that no VM has, or one without jobs. */
static bool asid_take_idle_locked(struct tessera_asids *asids, struct tessera_asid *asid)
{
	struct tessera_asid *other;

	if (asids->num_free) {
		asid_set_locked(asids, asid, asids->free[--asids->num_free]);
		return true;
	}
	list_for_each_entry(other, &asids->list, node) {
		if (other->heir || !asid_is_idle_locked(other))
			continue;
		asid_set_locked(asids, asid, asid_clear_locked(other));
		return true;
	}

	return false;
}

static bool asid_take_locked(struct tessera_asids *asids, struct tessera_asid *asid)
{
	if (!asid->from) {
		if (asid_take_idle_locked(asids, asid))
			return true;
		asid->from = asid_victim_locked(asids);
		if (asid->from)
			asid->from->heir = asid;
		return false;
	}
	if (!asid_is_idle_locked(asid->from))
		return false;
	asid_hand_over_locked(asids, asid->from);

	return true;
}

static bool asid_get_locked(struct tessera_asids *asids, struct tessera_asid *asid)
{
	if (asid->heir) {
		if (!asid_is_idle_locked(asid))
			return false;
		asid_hand_over_locked(asids, asid);
	}

	return asid->number != TESSERA_NO_ASID || asid_take_locked(asids, asid);
}

/**
 * tessera_asid_get() - have a number for a job
 * @tdev: the device
 * @asid: of the VM, whose page tables are locked
 *
 * After success tessera_asid_put() follows, when the job is in &tessera_vm_jobs or will not be.
 *
 * Return: 0; 1 if the number is new, so that the device may remember addresses of another VM; or
 * -EINPROGRESS: tessera_asid_wait() has to be called, with nothing held.
 */
int tessera_asid_get(struct tessera_device *tdev, struct tessera_asid *asid)
{
	struct tessera_asids *asids = tdev->asids;
	int ret = -EINPROGRESS;

	mutex_lock(&asids->lock);
	if (asid_get_locked(asids, asid)) {
		ret = asid->fresh;
		asid->fresh = false;
		asid->used = true;
		list_move_tail(&asid->node, &asids->list);
	}
	mutex_unlock(&asids->lock);

	return ret;
}

/*
 * The VM whose jobs keep @asid from a number: itself if it has to give one up. NULL if none does, so
 * that tessera_asid_get() gets further.
 */
static struct tessera_asid *asid_obstacle_locked(struct tessera_asids *asids,
						 struct tessera_asid *asid)
{
	struct tessera_asid *obstacle = asid->heir ? asid : asid->from;

	if (obstacle)
		return asid_is_idle_locked(obstacle) ? NULL : obstacle;
	if (asid->number != TESSERA_NO_ASID || asids->num_free || asid_victim_locked(asids))
		return NULL;

	/* All have heirs already. One of those gets its turn next. */
	return list_first_entry_or_null(&asids->list, struct tessera_asid, node);
}

/**
 * tessera_asid_wait() - wait until there may be a number
 * @tdev: the device
 * @asid: of a VM for which tessera_asid_get() has returned -EINPROGRESS
 *
 * No lock may be held but a context's.
 *
 * Return: 0 or -ERESTARTSYS.
 */
int tessera_asid_wait(struct tessera_device *tdev, struct tessera_asid *asid)
{
	struct tessera_asids *asids = tdev->asids;
	struct tessera_asid *obstacle;
	struct dma_fence *fence = NULL;
	u32 seen;
	int ret = 0;

	mutex_lock(&asids->lock);
	seen = asids->changes;
	obstacle = asid_obstacle_locked(asids, asid);
	if (obstacle)
		fence = tessera_vm_jobs_first(obstacle->jobs, U64_MAX);
	else
		seen--;
	mutex_unlock(&asids->lock);

	if (fence)
		ret = min(tessera_wait_fence(TESSERA_WAIT_ASID, fence, true,
					     MAX_SCHEDULE_TIMEOUT), 0L);
	else
		ret = tessera_wait_event(TESSERA_WAIT_ASID, asids->wait,
					 READ_ONCE(asids->changes) != seen, TASK_INTERRUPTIBLE);
	dma_fence_put(fence);

	return ret;
}

/**
 * tessera_asid_put() - the job is queued, or will not be
 * @tdev: the device
 * @asid: of the VM
 */
void tessera_asid_put(struct tessera_device *tdev, struct tessera_asid *asid)
{
	mutex_lock(&tdev->asids->lock);
	asid->used = false;
	asids_changed_locked(tdev->asids);
	mutex_unlock(&tdev->asids->lock);
}

/**
 * tessera_asid_give_up() - a submission does not wait for a number any more
 * @tdev: the device
 * @asid: of the VM
 */
void tessera_asid_give_up(struct tessera_device *tdev, struct tessera_asid *asid)
{
	mutex_lock(&tdev->asids->lock);
	asid_disinherit_locked(asid);
	asids_changed_locked(tdev->asids);
	mutex_unlock(&tdev->asids->lock);
}

/**
 * tessera_asid_fini() - give the number back
 * @tdev: the device
 * @asid: of a VM whose jobs have ended
 */
void tessera_asid_fini(struct tessera_device *tdev, struct tessera_asid *asid)
{
	struct tessera_asids *asids = tdev->asids;

	mutex_lock(&asids->lock);
	asid_disinherit_locked(asid);
	if (asid->heir)
		asid_hand_over_locked(asids, asid);
	else if (asid->number != TESSERA_NO_ASID)
		asids->free[asids->num_free++] = asid_clear_locked(asid);
	asids_changed_locked(asids);
	mutex_unlock(&asids->lock);
}
