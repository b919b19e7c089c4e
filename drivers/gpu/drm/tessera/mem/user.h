/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_USER_H__
#define __TESSERA_USER_H__

#include <linux/list.h>
#include <linux/mmu_notifier.h>
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
 * struct tessera_user_space - page tables that may lead to user memory; part of &struct tessera_space
 */
struct tessera_user_space {
	/** @queues: &struct tessera_user_queue; under the lock */
	struct list_head queues;
	/** @gone: &struct tessera_user_vm that jobs would find, and may not; likewise */
	struct list_head gone;
};

/**
 * struct tessera_user_queue - a queue of jobs that use what page tables lead to
 */
struct tessera_user_queue {
	/** @node: in &tessera_user_space.queues; under the lock */
	struct list_head node;
	/** @id: greater than those of all queues before it */
	u64 id;
	/** @last: fence of the last job, or NULL; under the lock */
	struct dma_fence *last;
};

/**
 * struct tessera_user_vm - user memory that a VM maps; part of &struct tessera_vm_bo
 */
struct tessera_user_vm {
	/** @user: the memory; NULL: this is none */
	struct tessera_user *user;
	/** @space: the page tables */
	struct tessera_user_space *space;
	/** @shown: they lead to it; under the lock */
	bool shown;
	/** @node: in &tessera_user.vms; likewise */
	struct list_head node;
	/** @gone: in &tessera_user_space.gone, if it is @shown and the memory is; likewise */
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

void tessera_user_queue_add(struct tessera_device *tdev, struct tessera_user_space *space,
			    struct tessera_user_queue *queue);
void tessera_user_queue_remove(struct tessera_device *tdev, struct tessera_user_queue *queue);
void tessera_user_queue_set(struct tessera_user_queue *queue, struct dma_fence *fence);
void tessera_user_vm_join(struct tessera_user_vm *vm, struct tessera_user *user,
			  struct tessera_user_space *space);
void tessera_user_vm_leave(struct tessera_user_vm *vm);
void tessera_user_vm_show(struct tessera_user_vm *vm, bool shown);
u32 tessera_user_num_gone(struct tessera_device *tdev, struct tessera_user_space *space);
struct drm_gem_object *tessera_user_first_gone(struct tessera_device *tdev,
					       struct tessera_user_space *space);

/* Whether no job may begin to use it; final only after tessera_users_begin(). */
static inline bool tessera_user_is_gone(const struct tessera_user *user)
{
	return READ_ONCE(user->gone);
}

static inline void tessera_user_space_init(struct tessera_user_space *space)
{
	INIT_LIST_HEAD(&space->queues);
	INIT_LIST_HEAD(&space->gone);
}

/* Whether a job may find what is gone; after tessera_users_begin(). */
static inline bool tessera_user_space_is_good(const struct tessera_user_space *space)
{
	return list_empty(&space->gone);
}

#endif /* __TESSERA_USER_H__ */
