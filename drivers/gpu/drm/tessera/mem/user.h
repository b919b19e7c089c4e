/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_USER_H__
#define __TESSERA_USER_H__

#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct dma_fence;
struct drm_gem_object;
struct tessera_device;
struct tessera_quota;		/* exec/quota.h */

/* Times somebody may change memory before a job that uses it is armed, between two successes. */
#define TESSERA_USER_TRIES	64

/**
 * struct tessera_user - memory of a process that is an object
 */
struct tessera_user {
	/** @notifier: hears when the pages at the addresses become others; holds the mm_struct */
	struct mmu_interval_notifier notifier;
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @quota: of the client whose jobs use it */
	struct tessera_quota *quota;
	/** @obj: the object; outlives this */
	struct drm_gem_object *obj;
	/** @id: of the object, for traces */
	u32 id;
	/** @read_only: the GPU may not write it */
	bool read_only;
	/** @watched: @notifier is in use */
	bool watched;
	/**
	 * @gone: the object's pages, if it has any, may not be those at the addresses: no job may begin to use it.
	 * Under the lock; for anybody to read
	 */
	bool gone;
	/** @start: the first address */
	unsigned long start;
	/** @vms: &struct tessera_user_vm; under the lock */
	struct list_head vms;
};

/**
 * struct tessera_vm_jobs - jobs of a VM that have not ended, and what keeps new ones away
 */
struct tessera_vm_jobs {
	/** @lock: protects @busy and what is in it; a leaf */
	spinlock_t lock;
	/** @busy: &struct tessera_vm_queue, the one with the oldest last job first */
	struct list_head busy;
	/**
	 * @gone: &struct tessera_user_vm that jobs would find, and may not; under
	 * tessera_users_begin()
	 */
	struct list_head gone;
};

/**
 * struct tessera_vm_queue - a context that queues jobs of a VM
 */
struct tessera_vm_queue {
	/** @node: in &tessera_space.queues; under its lock */
	struct list_head node;
	/** @busy: in &tessera_vm_jobs.busy, unless the last job was seen to have ended */
	struct list_head busy;
	/** @number: of the last job, greater than those of all jobs before it */
	u64 number;
	/**
	 * @last: fence of the last job, or NULL; changes under &tessera_space.lock and
	 * &tessera_vm_jobs.lock
	 */
	struct dma_fence *last;
};

/**
 * struct tessera_user_vm - user memory that a VM maps; part of &struct tessera_vm_bo
 */
struct tessera_user_vm {
	/** @user: the memory; NULL: this is none */
	struct tessera_user *user;
	/** @jobs: those of the VM */
	struct tessera_vm_jobs *jobs;
	/** @shown: they lead to it; under the lock */
	bool shown;
	/** @node: in &tessera_user.vms; likewise */
	struct list_head node;
	/** @gone: in &tessera_vm_jobs.gone, if it is @shown and the memory is; likewise */
	struct list_head gone;
};

bool tessera_users_exist(struct tessera_device *tdev);
int tessera_users_init(struct tessera_device *tdev);
void tessera_users_begin(struct tessera_device *tdev);
void tessera_users_end(struct tessera_device *tdev);

struct tessera_user *tessera_user_create(struct tessera_device *tdev, struct tessera_quota *quota,
					 unsigned long start, bool read_only);
int tessera_user_watch(struct tessera_user *user, struct drm_gem_object *obj, u32 id);
void tessera_user_destroy(struct tessera_user *user);
bool tessera_user_may_change(struct tessera_user *user, unsigned long seq);
bool tessera_user_is_changing(struct tessera_user *user);
int tessera_user_wait(struct tessera_user *user, u64 end);
bool tessera_user_settle(struct tessera_user *user, unsigned long seq,
			 const unsigned long *pfns);

void tessera_vm_jobs_init(struct tessera_vm_jobs *jobs);
void tessera_vm_queue_set(struct tessera_device *tdev, struct tessera_vm_jobs *jobs,
			  struct tessera_vm_queue *queue, struct dma_fence *fence);
void tessera_vm_queue_fini(struct tessera_vm_jobs *jobs, struct tessera_vm_queue *queue);
struct dma_fence *tessera_vm_jobs_first(struct tessera_vm_jobs *jobs, u64 end);

void tessera_user_vm_join(struct tessera_user_vm *vm, struct tessera_user *user,
			  struct tessera_vm_jobs *jobs);
void tessera_user_vm_leave(struct tessera_user_vm *vm);
void tessera_user_vm_show(struct tessera_user_vm *vm, bool shown);
u32 tessera_user_num_gone(struct tessera_device *tdev, struct tessera_vm_jobs *jobs);
struct drm_gem_object *tessera_user_first_gone(struct tessera_device *tdev,
					       struct tessera_vm_jobs *jobs);

/* Whether no job may begin to use it; final only after tessera_users_begin(). */
static inline bool tessera_user_is_gone(const struct tessera_user *user)
{
	return READ_ONCE(user->gone);
}

/* Whether a job finds nothing that is gone; after tessera_users_begin(). */
static inline bool tessera_vm_jobs_may_begin(const struct tessera_vm_jobs *jobs)
{
	return list_empty(&jobs->gone);
}

#endif /* __TESSERA_USER_H__ */
