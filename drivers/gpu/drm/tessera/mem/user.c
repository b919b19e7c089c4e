// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: user memory
 *
 * Pages of a process that are an object's. They are not pinned: whenever the kernel wants one of them back, or puts another
 * in its place (munmap, fork, reclaim, migration, exit), it tells so before. Then the object is *gone*: what
 * apertures and page tables say of its pages stays, and no job begins to use it until they have been looked up again
 * (cpu/userptr.c). Jobs that use it already are waited for. So no job reaches a page that is not the process's any more.
 *
 * One lock makes "not gone, and the job's fence is where it will be found" one step. A submission holds it for
 * reading from the look until the fence is in the reservation or, for jobs that name no objects, in the queue of
 * their VM (&struct tessera_vm_queue). The kernel tells of pages while it is out of memory, too. So nothing is
 * allocated under that lock, nor waited for, and no lock taken under which memory is allocated. Fences are waited
 * for without it.
 *
 * A VM lists its queues whose last job may not have ended. So a change of user memory costs as much as there are
 * jobs to wait for, and nothing for contexts that are idle.
 *
 * A VM is in the object's list as long as it maps it, whether its tables lead there or not: when it leaves that, the fence of
 * what took the object away is in the reservation. The lists of VMs come first, therefore, then the reservation.
 */

#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/hmm.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/rwsem.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include <drm/drm_gem.h>
#include <drm/drm_managed.h>

#include "exec/exec.h"
#include "mem/mem.h"
#include "tessera_device.h"
#include "tessera_trace.h"
#include "tessera_wait.h"

/* Pages at a time, as others wait for the lock. */
#define DIRTY_PAGES	1024UL

struct tessera_users {
	/* See above; what is called the lock everywhere here. */
	struct rw_semaphore lock;
	/* Number of the job of a VM that was queued last. */
	atomic64_t last_job;
	/* There has been an object of it. */
	bool exist;
	/* Protects @changes, a leaf. */
	spinlock_t changes_lock;
	/* &struct user_change that are waiting for jobs. */
	struct list_head changes;
	/* For fewer of these. */
	wait_queue_head_t wait;
};

/* Somebody who changes memory; on its stack. */
struct user_change {
	struct list_head node;
	const struct mm_struct *mm;
};

/**
 * tessera_users_init() - set up the lock
 * @tdev: the device
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_users_init(struct tessera_device *tdev)
{
	struct tessera_users *users = drmm_kzalloc(&tdev->drm, sizeof(*users), GFP_KERNEL);

	if (!users)
		return -ENOMEM;
	init_rwsem(&users->lock);
	spin_lock_init(&users->changes_lock);
	INIT_LIST_HEAD(&users->changes);
	init_waitqueue_head(&users->wait);
	tdev->users = users;

	/* It is taken when memory is short: nobody may wait for some with it. */
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(&users->lock);
	fs_reclaim_release(GFP_KERNEL);

	return 0;
}

/**
 * tessera_users_begin() - a job is going to be armed
 * @tdev: the device
 *
 * All that could fail is done. What is not gone now is waited for on account of the job if its fence is where it
 * belongs before tessera_users_end().
 */
void tessera_users_begin(struct tessera_device *tdev)
{
	down_read(&tdev->users->lock);
}

/**
 * tessera_users_end() - its fence is in place, or it will not be armed
 * @tdev: the device
 */
void tessera_users_end(struct tessera_device *tdev)
{
	up_read(&tdev->users->lock);
}

/**
 * tessera_users_exist() - ask whether there may be any
 * @tdev: the device
 *
 * Return: false if nobody has ever made one.
 */
bool tessera_users_exist(struct tessera_device *tdev)
{
	return READ_ONCE(tdev->users->exist);
}

/* ---- What the kernel tells ---------------------------------------------------- */

static void vm_settle_locked(struct tessera_user_vm *vm)
{
	bool gone = vm->shown && vm->user->gone;

	if (!gone)
		list_del_init(&vm->gone);
	else if (list_empty(&vm->gone))
		list_add_tail(&vm->gone, &vm->jobs->gone);
}

static void user_set_gone_locked(struct tessera_user *user, bool gone)
{
	struct tessera_user_vm *vm;

	if (user->gone == gone)
		return;
	WRITE_ONCE(user->gone, gone);
	trace_tessera_user_pages(user->id, !gone);
	list_for_each_entry(vm, &user->vms, node)
		vm_settle_locked(vm);
}

/* A job with a number up to @end, of a VM that maps the memory, that has not ended. */
static struct dma_fence *user_next_fence(struct tessera_user *user, u64 end)
{
	struct dma_fence *fence = NULL;
	struct tessera_user_vm *vm;

	tessera_users_begin(user->tdev);
	list_for_each_entry(vm, &user->vms, node) {
		fence = tessera_vm_jobs_first(vm->jobs, end);
		if (fence)
			break;
	}
	tessera_users_end(user->tdev);

	return fence;
}

/* No job with a higher number finds the memory. */
static void user_wait_for_vms(struct tessera_user *user, u64 end)
{
	struct dma_fence *fence;

	while ((fence = user_next_fence(user, end))) {
		tessera_wait_fence(TESSERA_WAIT_INVALIDATE, fence, false, MAX_SCHEDULE_TIMEOUT);
		dma_fence_put(fence);
	}
}

static bool user_invalidate(struct mmu_interval_notifier *notifier,
			    const struct mmu_notifier_range *range, unsigned long seq)
{
	struct tessera_user *user = container_of(notifier, struct tessera_user, notifier);
	struct tessera_users *users = user->tdev->users;
	struct user_change change = { .mm = notifier->mm };
	u64 end;

	if (!mmu_notifier_range_blockable(range))
		return false;

	spin_lock(&users->changes_lock);
	list_add(&change.node, &users->changes);
	spin_unlock(&users->changes_lock);

	down_write(&users->lock);
	mmu_interval_set_seq(notifier, seq);
	user_set_gone_locked(user, true);
	end = atomic64_read(&users->last_job);
	up_write(&users->lock);

	user_wait_for_vms(user, end);
	tessera_wait_resv(TESSERA_WAIT_INVALIDATE, user->obj->resv, DMA_RESV_USAGE_BOOKKEEP,
			  false, MAX_SCHEDULE_TIMEOUT);

	spin_lock(&users->changes_lock);
	list_del(&change.node);
	spin_unlock(&users->changes_lock);
	wake_up_all(&users->wait);

	return true;
}

/**
 * tessera_user_is_changing() - ask whether somebody waits for jobs to change memory of the same process
 * @user: the memory
 *
 * mmu_interval_read_begin() might wait for that, uninterruptibly.
 *
 * Return: true if so.
 */
bool tessera_user_is_changing(struct tessera_user *user)
{
	struct tessera_users *users = user->tdev->users;
	struct user_change *change;
	bool changing = false;

	spin_lock(&users->changes_lock);
	list_for_each_entry(change, &users->changes, node)
		changing |= change->mm == user->notifier.mm;
	spin_unlock(&users->changes_lock);

	return changing;
}

/**
 * tessera_user_wait() - wait until nobody does
 * @user: the memory
 * @end: when to wait no more, in jiffies, and that only a fatal signal ends it before; or 0
 *
 * Return: 0, -ETIME, -EINTR or -ERESTARTSYS.
 */
int tessera_user_wait(struct tessera_user *user, u64 end)
{
	struct tessera_users *users = user->tdev->users;
	u64 now = get_jiffies_64();
	long ret;

	if (!end)
		return tessera_wait_event(TESSERA_WAIT_USER, users->wait,
					  !tessera_user_is_changing(user), TASK_INTERRUPTIBLE);
	if (!time_before64(now, end))
		return -ETIME;
	ret = tessera_wait_event_timeout(TESSERA_WAIT_USER, users->wait,
					 !tessera_user_is_changing(user), TASK_KILLABLE,
					 end - now);

	return ret > 0 ? 0 : ret ? -EINTR : -ETIME;
}

static const struct mmu_interval_notifier_ops user_ops = {
	.invalidate = user_invalidate,
};

/* ---- Life ------------------------------------------------------------------ */

/**
 * tessera_user_create() - begin an object of memory of the calling process
 * @tdev: the device
 * @quota: of whose jobs will use it; outlives the object
 * @start: the first address
 * @read_only: the GPU may not write it
 *
 * Who changes the memory waits for those jobs, so they are few from now on. No lock may be held.
 *
 * Return: what is known of it; or -ENOMEM or -ERESTARTSYS.
 */
struct tessera_user *tessera_user_create(struct tessera_device *tdev, struct tessera_quota *quota,
					 unsigned long start, bool read_only)
{
	struct tessera_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!user)
		return ERR_PTR(-ENOMEM);
	ret = tessera_quota_begin_few(quota);
	if (ret) {
		kfree(user);
		return ERR_PTR(ret);
	}
	user->tdev = tdev;
	user->quota = quota;
	user->start = start;
	user->read_only = read_only;
	user->gone = true;
	INIT_LIST_HEAD(&user->vms);

	return user;
}

/**
 * tessera_user_watch() - hear of changes from now on
 * @user: the memory
 * @obj: the object, complete; has @user
 * @id: its id
 *
 * Return: 0 or an error.
 */
int tessera_user_watch(struct tessera_user *user, struct drm_gem_object *obj, u32 id)
{
	int ret;

	user->obj = obj;
	user->id = id;
	ret = mmu_interval_notifier_insert(&user->notifier, current->mm, user->start, obj->size,
					   &user_ops);
	user->watched = !ret;
	WRITE_ONCE(user->tdev->users->exist, true);

	return ret;
}

/**
 * tessera_user_destroy() - end it
 * @user: the memory; nobody uses the object any more
 *
 * Waits until nobody is being told of changes, and so maybe for jobs of other objects: not with any lock.
 */
void tessera_user_destroy(struct tessera_user *user)
{
	if (user->watched)
		mmu_interval_notifier_remove(&user->notifier);
	WARN_ON(!list_empty(&user->vms));
	tessera_quota_end_few(user->quota);
	kfree(user);
}

/**
 * tessera_user_may_change() - ask whether an object may get other pages
 * @user: the memory, whose object's reservation is held
 * @seq: of mmu_interval_read_begin()
 *
 * Who has changed them before that has waited for all jobs, and until tessera_user_settle(), under the same reservation, there
 * are no others.
 *
 * Return: false if it is not gone, or has changed since: then jobs may use the pages that it has.
 */
bool tessera_user_may_change(struct tessera_user *user, unsigned long seq)
{
	bool may;

	tessera_users_begin(user->tdev);
	may = user->gone && !mmu_interval_read_retry(&user->notifier, seq);
	tessera_users_end(user->tdev);

	return may;
}

/* What the GPU writes no page table of a CPU remembers (MADV_FREE). Nobody takes pages away with the lock held. */
static bool user_dirty(struct tessera_user *user, unsigned long seq, const unsigned long *pfns,
		       unsigned long num)
{
	unsigned long i;
	bool same;

	tessera_users_begin(user->tdev);
	same = !mmu_interval_read_retry(&user->notifier, seq);
	for (i = 0; same && i < num; i++)
		set_page_dirty(hmm_pfn_to_page(pfns[i]));
	tessera_users_end(user->tdev);
	cond_resched();

	return same;
}

/**
 * tessera_user_settle() - the object has the pages that were found
 * @user: the memory, whose object's reservation is held
 * @seq: of mmu_interval_read_begin(), before they were looked up
 * @pfns: what hmm_range_fault() has found
 *
 * Return: false if they have changed since.
 */
bool tessera_user_settle(struct tessera_user *user, unsigned long seq, const unsigned long *pfns)
{
	struct tessera_users *users = user->tdev->users;
	unsigned long i, num = user->obj->size >> PAGE_SHIFT;
	bool same = true;

	for (i = 0; same && !user->read_only && i < num; i += DIRTY_PAGES)
		same = user_dirty(user, seq, pfns + i, min(num - i, DIRTY_PAGES));
	if (!same)
		return false;
	down_write(&users->lock);
	same = !mmu_interval_read_retry(&user->notifier, seq);
	if (same)
		user_set_gone_locked(user, false);
	up_write(&users->lock);

	return same;
}

/* ---- VMs --------------------------------------------------------------------- */

/**
 * tessera_vm_jobs_init() - begin with no job
 * @jobs: jobs of a VM
 */
void tessera_vm_jobs_init(struct tessera_vm_jobs *jobs)
{
	spin_lock_init(&jobs->lock);
	INIT_LIST_HEAD(&jobs->busy);
	INIT_LIST_HEAD(&jobs->gone);
}

/**
 * tessera_vm_queue_set() - a queue has another job
 * @tdev: the device
 * @jobs: jobs of the VM
 * @queue: the queue; &tessera_space.lock is held, and tessera_users_begin() was called
 * @fence: of the job
 */
void tessera_vm_queue_set(struct tessera_device *tdev, struct tessera_vm_jobs *jobs,
			  struct tessera_vm_queue *queue, struct dma_fence *fence)
{
	struct dma_fence *last = queue->last;

	spin_lock(&jobs->lock);
	queue->number = atomic64_inc_return(&tdev->users->last_job);
	queue->last = dma_fence_get(fence);
	list_move_tail(&queue->busy, &jobs->busy);
	spin_unlock(&jobs->lock);
	dma_fence_put(last);
}

/**
 * tessera_vm_queue_fini() - a queue goes
 * @jobs: jobs of the VM
 * @queue: the queue, whose jobs have ended
 */
void tessera_vm_queue_fini(struct tessera_vm_jobs *jobs, struct tessera_vm_queue *queue)
{
	spin_lock(&jobs->lock);
	list_del(&queue->busy);
	spin_unlock(&jobs->lock);
	dma_fence_put(queue->last);
}

/**
 * tessera_vm_jobs_first() - look for a job that has not ended
 * @jobs: jobs of a VM
 * @end: the highest number that counts
 *
 * Queues whose last job has ended are looked at once.
 *
 * Return: the fence of the last job of a queue, with a reference; NULL if all have ended.
 */
struct dma_fence *tessera_vm_jobs_first(struct tessera_vm_jobs *jobs, u64 end)
{
	struct tessera_vm_queue *queue, *next;
	struct dma_fence *fence = NULL;

	spin_lock(&jobs->lock);
	list_for_each_entry_safe(queue, next, &jobs->busy, busy) {
		if (queue->number > end)
			break;
		if (!dma_fence_is_signaled(queue->last)) {
			fence = dma_fence_get(queue->last);
			break;
		}
		list_del_init(&queue->busy);
	}
	spin_unlock(&jobs->lock);

	return fence;
}

/**
 * tessera_user_vm_join() - a VM maps user memory
 * @vm: what is known of that, zeroed; nothing is done if it has joined
 * @user: the memory
 * @jobs: those of the VM
 */
void tessera_user_vm_join(struct tessera_user_vm *vm, struct tessera_user *user,
			  struct tessera_vm_jobs *jobs)
{
	if (vm->user)
		return;
	vm->user = user;
	vm->jobs = jobs;
	INIT_LIST_HEAD(&vm->gone);
	down_write(&user->tdev->users->lock);
	list_add_tail(&vm->node, &user->vms);
	up_write(&user->tdev->users->lock);
}

/**
 * tessera_user_vm_leave() - it does so no more
 * @vm: what is known of it
 *
 * The fence of the last that jobs could do with it is in the object's reservation.
 */
void tessera_user_vm_leave(struct tessera_user_vm *vm)
{
	struct tessera_user *user = vm->user;

	if (!user)
		return;
	down_write(&user->tdev->users->lock);
	list_del(&vm->node);
	list_del(&vm->gone);
	up_write(&user->tdev->users->lock);
	vm->user = NULL;
}

/**
 * tessera_user_vm_show() - page tables are going to lead to it, or not to
 * @vm: what is known of it; nothing is done if that is no user memory
 * @shown: they are
 */
void tessera_user_vm_show(struct tessera_user_vm *vm, bool shown)
{
	struct tessera_user *user = vm->user;

	if (!user)
		return;
	down_write(&user->tdev->users->lock);
	vm->shown = shown;
	vm_settle_locked(vm);
	up_write(&user->tdev->users->lock);
}

/**
 * tessera_user_num_gone() - count what jobs may not find
 * @tdev: the device
 * @jobs: those of a VM
 *
 * Return: how many objects.
 */
u32 tessera_user_num_gone(struct tessera_device *tdev, struct tessera_vm_jobs *jobs)
{
	u32 num;

	tessera_users_begin(tdev);
	num = list_count_nodes(&jobs->gone);
	tessera_users_end(tdev);

	return num;
}

/**
 * tessera_user_first_gone() - look for what jobs may not find
 * @tdev: the device
 * @jobs: those of a VM
 *
 * Return: an object, with a reference, or NULL.
 */
struct drm_gem_object *tessera_user_first_gone(struct tessera_device *tdev,
					       struct tessera_vm_jobs *jobs)
{
	struct drm_gem_object *obj = NULL;
	struct tessera_user_vm *vm;

	down_read(&tdev->users->lock);
	vm = list_first_entry_or_null(&jobs->gone, struct tessera_user_vm, gone);
	if (vm) {
		/* What is mapped is there. */
		obj = vm->user->obj;
		drm_gem_object_get(obj);
	}
	up_read(&tdev->users->lock);

	return obj;
}
