// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: user memory
 *
 * Objects that consist of pages of a process (userptr).
 *
 * The pages are not pinned. Before the kernel takes a page back or replaces it
 * (munmap, fork, reclaim, migration, exit), it calls the MMU notifier. The
 * object is *invalid* then. Apertures and page tables still show the old pages,
 * but no new job uses the object until its pages have been looked up again
 * (gem/userptr.c). The notifier waits for the jobs that already use the object.
 * No job therefore reaches a page that does not belong to the process any more.
 *
 * A lock makes the check for invalid memory and the publication of the job's
 * fence one step. A submission holds the lock for reading from the check until
 * its fence is in the reservation. If the job names no objects, it holds the
 * lock until the fence is in the queue of its VM (&struct tessera_vm_queue). The
 * notifier also runs when the kernel is out of memory. Code under the lock must
 * neither allocate nor wait, and must not take a lock under which memory is
 * allocated. Fences are waited for without the lock.
 *
 * A VM lists a queue only while its last job may be unfinished. A change of
 * user memory costs as much as there are jobs to wait for, and idle contexts
 * cost nothing.
 *
 * A VM is in the list of an object as long as it maps the object, even if its
 * page tables do not show it yet. When the VM leaves the list, the fence of the
 * unmap job is in the reservation. Waiters therefore check the lists of VMs
 * first, then the reservation.
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

#include "base/device.h"
#include "base/trace.h"
#include "base/wait.h"
#include "borrow/borrow.h"

/* Pages per hold of the lock, so that other threads get it in between. */
#define DIRTY_PAGES	1024UL

struct tessera_users {
	/* The lock of this file, see above. */
	struct rw_semaphore lock;
	/* Number of the last job that was queued in any VM. */
	atomic64_t last_job;
	/* A user memory object was created on this device. */
	bool exist;
	/* Protects @changes; a leaf. */
	spinlock_t changes_lock;
	/* &struct user_change that wait for jobs. */
	struct list_head changes;
	/* Woken when an element of @changes is removed. */
	wait_queue_head_t wait;
};

/* A notifier call that waits for jobs; on the stack of its thread. */
struct user_change {
	struct list_head node;
	const struct mm_struct *mm;
};

/**
 * tessera_users_init() - set up the state for user memory
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

	/*
	 * The notifier takes the lock in reclaim. Tell lockdep that allocations
	 * under the lock are forbidden.
	 */
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(&users->lock);
	fs_reclaim_release(GFP_KERNEL);

	return 0;
}

/**
 * tessera_users_begin() - lock user memory to arm a job
 * @tdev: the device
 *
 * The caller has finished everything that can fail. A notifier waits for the
 * job if its fence is published before tessera_users_end(), and the memory was
 * not invalid after this call.
 */
void tessera_users_begin(struct tessera_device *tdev)
{
	down_read(&tdev->users->lock);
}

/**
 * tessera_users_end() - unlock user memory
 * @tdev: the device
 *
 * The fence of the job is published, or the job will not be armed.
 */
void tessera_users_end(struct tessera_device *tdev)
{
	up_read(&tdev->users->lock);
}

/* ---- MMU notifier ------------------------------------------------------------ */

static void vm_settle_locked(struct tessera_user_vm *vm)
{
	bool invalid = vm->shown && vm->user->invalid;

	if (!invalid)
		list_del_init(&vm->invalid);
	else if (list_empty(&vm->invalid))
		list_add_tail(&vm->invalid, &vm->jobs->invalid);
}

static void user_set_invalid_locked(struct tessera_user *user, bool invalid)
{
	struct tessera_user_vm *vm;

	if (user->invalid == invalid)
		return;
	WRITE_ONCE(user->invalid, invalid);
	trace_tessera_user_pages(user->id, !invalid);
	list_for_each_entry(vm, &user->vms, node)
		vm_settle_locked(vm);
}

/*
 * Returns the fence of an unfinished job with a number up to @end in a VM that
 * maps the memory.
 */
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

/* Jobs with higher numbers do not use the memory, because it is invalid. */
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
	user_set_invalid_locked(user, true);
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
 * tessera_user_is_changing() - check whether a notifier call for the same
 * process waits for jobs
 * @user: the memory
 *
 * In that case mmu_interval_read_begin() might wait uninterruptibly.
 *
 * Return: true if one does.
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
 * tessera_user_wait() - wait until no notifier call for the same process waits
 * for jobs
 * @user: the memory
 * @end: time in jiffies at which the wait ends; only a fatal signal interrupts
 * it then. 0: no timeout, and any signal interrupts it
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

/* ---- Creation and destruction ------------------------------------------------ */

/**
 * tessera_user_create() - create the record for memory of the calling process
 * @tdev: the device
 * @start: the first address
 * @read_only: the GPU may not write it
 *
 * Return: the record, or NULL.
 */
struct tessera_user *tessera_user_create(struct tessera_device *tdev, unsigned long start,
					 bool read_only)
{
	struct tessera_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);

	if (!user)
		return NULL;
	user->tdev = tdev;
	user->start = start;
	user->read_only = read_only;
	user->invalid = true;
	INIT_LIST_HEAD(&user->vms);

	return user;
}

/**
 * tessera_user_watch() - register the MMU notifier
 * @user: the memory
 * @obj: the object, complete; it refers to @user
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
 * tessera_user_destroy() - unregister the notifier and free the record
 * @user: the memory; the object is unused
 *
 * Waits for notifier calls in progress, which may wait for jobs of other
 * objects. The caller must hold no lock.
 */
void tessera_user_destroy(struct tessera_user *user)
{
	if (user->watched)
		mmu_interval_notifier_remove(&user->notifier);
	WARN_ON(!list_empty(&user->vms));
	kfree(user);
}

/**
 * tessera_user_may_change() - check whether the pages of an object may be
 * replaced
 * @user: the memory; the reservation of its object is held
 * @seq: result of mmu_interval_read_begin()
 *
 * If the memory is invalid and @seq is current, the notifier has waited for
 * all jobs that used the old pages. There are no new ones until
 * tessera_user_settle() under the same hold of the reservation.
 *
 * Return: false if the memory is not invalid, or has changed since @seq. Jobs may
 * use the old pages then.
 */
bool tessera_user_may_change(struct tessera_user *user, unsigned long seq)
{
	bool may;

	tessera_users_begin(user->tdev);
	may = user->invalid && !mmu_interval_read_retry(&user->notifier, seq);
	tessera_users_end(user->tdev);

	return may;
}

/*
 * GPU writes do not set the dirty bit of the CPU's page tables, so MADV_FREE
 * could drop a page. Mark the pages dirty while the lock keeps the notifier
 * from taking them away.
 */
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
 * tessera_user_settle() - let jobs use the new pages of an object
 * @user: the memory; the reservation of its object is held
 * @seq: result of mmu_interval_read_begin() before the lookup
 * @pfns: result of hmm_range_fault()
 *
 * Return: false if the memory has changed since @seq.
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
		user_set_invalid_locked(user, false);
	up_write(&users->lock);

	return same;
}

/* ---- VMs --------------------------------------------------------------------- */

/**
 * tessera_vm_jobs_init() - initialize the job list of a VM
 * @jobs: jobs of a VM
 */
void tessera_vm_jobs_init(struct tessera_vm_jobs *jobs)
{
	spin_lock_init(&jobs->lock);
	INIT_LIST_HEAD(&jobs->busy);
	INIT_LIST_HEAD(&jobs->invalid);
}

/**
 * tessera_vm_queue_set() - record a new job of a queue
 * @tdev: the device
 * @jobs: jobs of the VM
 * @queue: the queue; &tessera_page_tables.lock is held, and
 * tessera_users_begin() was called
 * @fence: fence of the job
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
 * tessera_vm_queue_fini() - remove a queue
 * @jobs: jobs of the VM
 * @queue: the queue, all jobs finished
 */
void tessera_vm_queue_fini(struct tessera_vm_jobs *jobs, struct tessera_vm_queue *queue)
{
	spin_lock(&jobs->lock);
	list_del(&queue->busy);
	spin_unlock(&jobs->lock);
	dma_fence_put(queue->last);
}

/**
 * tessera_vm_jobs_first() - find an unfinished job of a VM
 * @jobs: jobs of the VM
 * @end: the highest job number to look at
 *
 * A queue with a finished last job is removed from the list, so that it is
 * looked at only once.
 *
 * Return: the fence of the last job of a queue, with a reference; NULL if all
 * jobs are finished.
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
 * tessera_user_vm_join() - add a VM to the list of a user memory object
 * @vm: state of the object in the VM, initially zeroed; nothing happens if it
 * was added before
 * @user: the memory
 * @jobs: jobs of the VM
 */
void tessera_user_vm_join(struct tessera_user_vm *vm, struct tessera_user *user,
			  struct tessera_vm_jobs *jobs)
{
	if (vm->user)
		return;
	vm->user = user;
	vm->jobs = jobs;
	INIT_LIST_HEAD(&vm->invalid);
	down_write(&user->tdev->users->lock);
	list_add_tail(&vm->node, &user->vms);
	up_write(&user->tdev->users->lock);
}

/**
 * tessera_user_vm_leave() - remove a VM from the list of a user memory object
 * @vm: state of the object in the VM; nothing happens if it was not added
 *
 * The fence of the last use by the VM is in the reservation of the object.
 */
void tessera_user_vm_leave(struct tessera_user_vm *vm)
{
	struct tessera_user *user = vm->user;

	if (!user)
		return;
	down_write(&user->tdev->users->lock);
	list_del(&vm->node);
	list_del(&vm->invalid);
	up_write(&user->tdev->users->lock);
	vm->user = NULL;
}

/**
 * tessera_user_vm_show() - record whether page tables will show user memory
 * @vm: state of the object in the VM; nothing happens if it is not user memory
 * @shown: the page tables will show it
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
 * tessera_user_num_invalid() - count the objects that keep the jobs of a VM
 * from starting
 * @tdev: the device
 * @jobs: jobs of the VM
 *
 * Return: number of objects that are shown and invalid.
 */
u32 tessera_user_num_invalid(struct tessera_device *tdev, struct tessera_vm_jobs *jobs)
{
	u32 num;

	tessera_users_begin(tdev);
	num = list_count_nodes(&jobs->invalid);
	tessera_users_end(tdev);

	return num;
}

/**
 * tessera_user_first_invalid() - return an object that keeps the jobs of a VM
 * from starting
 * @tdev: the device
 * @jobs: jobs of the VM
 *
 * Return: an object, with a reference, or NULL.
 */
struct drm_gem_object *tessera_user_first_invalid(struct tessera_device *tdev,
						  struct tessera_vm_jobs *jobs)
{
	struct drm_gem_object *obj = NULL;
	struct tessera_user_vm *vm;

	down_read(&tdev->users->lock);
	vm = list_first_entry_or_null(&jobs->invalid, struct tessera_user_vm, invalid);
	if (vm) {
		/* A mapped object has a reference, so it is valid here. */
		obj = vm->user->obj;
		drm_gem_object_get(obj);
	}
	up_read(&tdev->users->lock);

	return obj;
}
