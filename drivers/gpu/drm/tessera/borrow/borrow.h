/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Interface of borrow/: pages that belong to a process or to another device.
 */
#ifndef __TESSERA_BORROW_H__
#define __TESSERA_BORROW_H__

#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct dma_fence;
struct drm_gem_object;
struct tessera_device;
struct ttm_buffer_object;

/* borrow/user.c */

/*
 * Attempts to look up pages that change before the job that uses them is armed.
 */
#define TESSERA_USER_TRIES	64

/**
 * struct tessera_user - memory of a process that backs an object
 */
struct tessera_user {
	/**
	 * @notifier: called before the pages at the addresses change; holds the
	 * mm_struct
	 */
	struct mmu_interval_notifier notifier;
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @obj: the object; outlives this struct */
	struct drm_gem_object *obj;
	/** @id: id of the object, for traces */
	u32 id;
	/** @read_only: the GPU may not write it */
	bool read_only;
	/** @watched: @notifier is registered */
	bool watched;
	/**
	 * @invalid: the pages of the object may differ from those at the
	 * addresses, so no new job may use it. Changes under the lock of
	 * borrow/user.c; readable without it
	 */
	bool invalid;
	/** @start: the first address */
	unsigned long start;
	/** @vms: &struct tessera_user_vm; under the lock of borrow/user.c */
	struct list_head vms;
};

/**
 * struct tessera_vm_jobs - unfinished jobs of a VM, and the invalid memory that
 * keeps new ones from starting
 */
struct tessera_vm_jobs {
	/** @lock: protects @busy and its elements; a leaf */
	spinlock_t lock;
	/** @busy: &struct tessera_vm_queue, in the order of their last jobs */
	struct list_head busy;
	/**
	 * @invalid: &struct tessera_user_vm that are shown in the page tables and
	 * invalid; read under tessera_users_begin()
	 */
	struct list_head invalid;
};

/**
 * struct tessera_vm_queue - a context that queues jobs of a VM
 */
struct tessera_vm_queue {
	/** @node: in &tessera_page_tables.queues; under its lock */
	struct list_head node;
	/**
	 * @busy: in &tessera_vm_jobs.busy, unless the last job was found to be
	 * finished
	 */
	struct list_head busy;
	/** @number: number of the last job; numbers increase across all VMs */
	u64 number;
	/**
	 * @last: fence of the last job, or NULL; changes under
	 * &tessera_page_tables.lock and &tessera_vm_jobs.lock
	 */
	struct dma_fence *last;
	/** @dead: its context is gone, and all its jobs have ended */
	bool dead;
};

/**
 * struct tessera_user_vm - user memory mapped by a VM; part of &struct
 * tessera_vm_bo
 */
struct tessera_user_vm {
	/** @user: the memory; NULL if the object is not user memory */
	struct tessera_user *user;
	/** @jobs: jobs of the VM */
	struct tessera_vm_jobs *jobs;
	/**
	 * @shown: page tables of the VM show the memory; under the lock of
	 * borrow/user.c
	 */
	bool shown;
	/** @node: in &tessera_user.vms; under the lock of borrow/user.c */
	struct list_head node;
	/**
	 * @invalid: in &tessera_vm_jobs.invalid, if the memory is @shown and
	 * invalid; under the lock of borrow/user.c
	 */
	struct list_head invalid;
};

int tessera_users_init(struct tessera_device *tdev);
void tessera_users_begin(struct tessera_device *tdev);
void tessera_users_end(struct tessera_device *tdev);

struct tessera_user *tessera_user_create(struct tessera_device *tdev, unsigned long start,
					 bool read_only);
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
u32 tessera_user_num_invalid(struct tessera_device *tdev, struct tessera_vm_jobs *jobs);
struct drm_gem_object *tessera_user_first_invalid(struct tessera_device *tdev,
						  struct tessera_vm_jobs *jobs);

/*
 * Checks whether no new job may use the memory; stable only after
 * tessera_users_begin().
 */
static inline bool tessera_user_is_invalid(const struct tessera_user *user)
{
	return READ_ONCE(user->invalid);
}

/*
 * Checks whether no invalid memory keeps a job from starting; after
 * tessera_users_begin().
 */
static inline bool tessera_vm_jobs_may_begin(const struct tessera_vm_jobs *jobs)
{
	return list_empty(&jobs->invalid);
}

/* borrow/attach.c */

/**
 * struct tessera_borrow - DMA mappings of an imported object, see borrow/attach.c
 */
struct tessera_borrow {
	/**
	 * @maps: mappings of a dynamic attachment; the one in use is among
	 * them; under resv
	 */
	struct list_head maps;
};

int tessera_borrow_map(struct ttm_buffer_object *tbo, struct tessera_borrow *borrow);
void tessera_borrow_moved(struct ttm_buffer_object *tbo, struct tessera_borrow *borrow);
void tessera_borrow_end(struct ttm_buffer_object *tbo, struct tessera_borrow *borrow);

#endif /* __TESSERA_BORROW_H__ */
