// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: address space numbers
 *
 * The device tells the TLB entries of different VMs apart by an address space
 * number (ASID). There are few of them. A VM gets an ASID for its first job and
 * keeps it until another VM needs it. The least recently used VM without
 * unfinished jobs gives its ASID up. A VM that gets an ASID first flushes all
 * addresses, because the TLBs may hold translations of the previous VM.
 *
 * While every ASID belongs to a VM with unfinished jobs, a VM that needs one
 * becomes the *heir* of one of these VMs. The driver picks the process with the
 * most ASIDs, and of its VMs the least recently used one. The picked VM queues
 * nothing until its heir has the ASID. The heir therefore waits only for jobs
 * that are already queued. If the picked VM has more jobs, it then needs an
 * ASID in turn. VMs thus take turns, and a process with few VMs does not wait
 * for a process with many.
 *
 * vm/pt.c calls this file with &tessera_page_tables.lock held. The lock here is
 * a leaf.
 */
#include <linux/dma-fence.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/wait.h>

#include <drm/drm_managed.h>

#include "base/device.h"
#include "base/wait.h"
#include "borrow/borrow.h"
#include "hw/hw.h"
#include "mem/mem.h"
#include "vm/vm.h"

struct tessera_asids {
	/* Protects all members below and each &tessera_asid. */
	struct mutex lock;
	/* &struct tessera_asid with a number, least recently used first. */
	struct list_head list;
	/* Incremented when a VM may have become able to give its number up. */
	u32 changes;
	/* Woken when @changes is incremented. */
	wait_queue_head_t wait;
	u32 num;
	/* Numbers that no VM has. */
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
 * tessera_asids_init() - set up the ASIDs of a device
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
 * tessera_asid_init() - initialise a VM without an ASID
 * @asid: part of a VM's page tables
 * @account: account of the VM, bound
 * @jobs: unfinished jobs of the VM
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
	asid->account->process->count.asids++;
}

static u32 asid_clear_locked(struct tessera_asid *asid)
{
	u32 number = asid->number;

	WRITE_ONCE(asid->number, TESSERA_NO_ASID);
	list_del_init(&asid->node);
	asid->account->process->count.asids--;

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

/* The process with the most numbers, and of its VMs the least recently used. */
static struct tessera_asid *asid_victim_locked(struct tessera_asids *asids)
{
	struct tessera_asid *asid, *victim = NULL;

	list_for_each_entry(asid, &asids->list, node)
		if (!asid->heir &&
		    (!victim ||
		     asid->account->process->count.asids > victim->account->process->count.asids))
			victim = asid;

	return victim;
}

/* Take a free number, or that of an idle VM. */
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
 * tessera_asid_get() - get an ASID for a job
 * @tdev: the device
 * @asid: ASID of the VM; &tessera_page_tables.lock is held
 *
 * After success the caller calls tessera_asid_put() when the job is in &struct
 * tessera_vm_jobs, or will not be queued.
 *
 * Return: 0; 1 if the number is new, so that the TLBs may hold translations of
 * another VM; or -EINPROGRESS if the caller has to call tessera_asid_wait()
 * with no lock held but a context's.
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
 * Find the VM with the jobs that @asid has to wait for. This is the VM itself
 * if it has to give its number up first. NULL: no jobs are in the way, so the
 * caller can retry tessera_asid_get().
 */
static struct tessera_asid *asid_obstacle_locked(struct tessera_asids *asids,
						 struct tessera_asid *asid)
{
	struct tessera_asid *obstacle = asid->heir ? asid : asid->from;

	if (obstacle)
		return asid_is_idle_locked(obstacle) ? NULL : obstacle;
	if (asid->number != TESSERA_NO_ASID || asids->num_free || asid_victim_locked(asids))
		return NULL;

	/* Every VM has an heir: wait for the least recently used one. */
	return list_first_entry_or_null(&asids->list, struct tessera_asid, node);
}

/**
 * tessera_asid_wait() - wait until a VM may get an ASID
 * @tdev: the device
 * @asid: ASID of a VM for which tessera_asid_get() returned -EINPROGRESS
 *
 * The caller holds no lock but a context's and &tessera_device.reset_lock for
 * reading.
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
 * tessera_asid_put() - end the use that tessera_asid_get() began
 * @tdev: the device
 * @asid: ASID of the VM; the job is queued, or will not be queued
 */
void tessera_asid_put(struct tessera_device *tdev, struct tessera_asid *asid)
{
	mutex_lock(&tdev->asids->lock);
	asid->used = false;
	asids_changed_locked(tdev->asids);
	mutex_unlock(&tdev->asids->lock);
}

/**
 * tessera_asid_give_up() - stop waiting for an ASID
 * @tdev: the device
 * @asid: ASID of the VM
 */
void tessera_asid_give_up(struct tessera_device *tdev, struct tessera_asid *asid)
{
	mutex_lock(&tdev->asids->lock);
	asid_disinherit_locked(asid);
	asids_changed_locked(tdev->asids);
	mutex_unlock(&tdev->asids->lock);
}

/**
 * tessera_asid_fini() - return the ASID of a VM
 * @tdev: the device
 * @asid: ASID of the VM; all its jobs have ended
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
