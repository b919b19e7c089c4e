/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_VM_PT_H__
#define __TESSERA_VM_PT_H__

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "exec/proxy.h"
#include "exec/trail.h"
#include "mem/user.h"
#include "paging/queue.h"
#include "pure/page_table.h"
#include "vm/asid.h"

struct dma_fence;
struct tessera_account;		/* segments/account.h */
struct tessera_device;
struct tessera_job;		/* exec/job.h */
struct tessera_resident_set;	/* vm/listing.h */
struct tessera_segment;		/* segments/segment.h */

/** TESSERA_MAX_VMS: VMs one process may have */
#define TESSERA_MAX_VMS		256

/**
 * struct tessera_spaces - the page tables of all VMs
 */
struct tessera_spaces {
	/** @lock: protects @list */
	struct mutex lock;
	/** @list: &struct tessera_space */
	struct list_head list;
	/** @many: taken before the &tessera_space.lock of several */
	struct mutex many;
};

/**
 * enum tessera_table_list - what is known of a table
 */
enum tessera_table_list {
	/** @TESSERA_TABLES_CLEAN: it is in use, and written */
	TESSERA_TABLES_CLEAN,
	/** @TESSERA_TABLES_DIRTY: it is in use, with entries that are not written */
	TESSERA_TABLES_DIRTY,
	/** @TESSERA_TABLES_POOL: it is not in use */
	TESSERA_TABLES_POOL,
	/** @TESSERA_TABLES_RELEASED: it is no longer in use, but the device may not know */
	TESSERA_TABLES_RELEASED,
	/** @TESSERA_TABLES_LISTS: how many there are */
	TESSERA_TABLES_LISTS,
};

/**
 * struct tessera_space - the page tables of a VM, and who runs jobs at its addresses
 *
 * What jobs need of a VM, and paging that is under way: it outlives the VM itself.
 */
struct tessera_space {
	/** @ref: the VM, contexts and paging jobs hold one each */
	struct kref ref;
	/** @node: in the device's list */
	struct list_head node;
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @trail: what has changed them */
	struct tessera_trail trail;
	/** @account: who pays; holds a reference */
	struct tessera_account *account;
	/** @resident: what its addresses may lead to; holds a reference */
	struct tessera_resident_set *resident;
	/** @queue: for its own paging; holds a reference */
	struct tessera_paging_queue *queue;
	/** @asid: what the device knows it by */
	struct tessera_asid asid;
	/** @lost: the device may find in the tables what is not so; no job runs there any more */
	atomic_t lost;
	/** @proxies: what user space wants changes to wait for */
	struct tessera_proxies proxies;
	/** @lock: protects what follows; see the locking DOC */
	struct mutex lock;
	/** @closed: the VM is gone: there are no new jobs; set once */
	bool closed;
	/** @tree: the tables, as they are when all that is queued has been done */
	struct tessera_pt_tree tree;
	/** @tables: &struct tessera_table, by &enum tessera_table_list */
	struct list_head tables[TESSERA_TABLES_LISTS];
	/** @pooled: how many are in the pool */
	u32 pooled;
	/** @update: fence of the last batch that writes tables, or NULL */
	struct dma_fence *update;
	/** @queues: &struct tessera_vm_queue */
	struct list_head queues;
	/** @jobs: those that have not ended; under a lock of its own */
	struct tessera_vm_jobs jobs;
};

/**
 * struct tessera_pt_source - what is to be found at addresses
 */
struct tessera_pt_source {
	/** @bits: TSR_PTE_* of each entry */
	u64 bits;
	/** @addr: where the first byte is, unless there are @pages */
	u64 addr;
	/** @pages: addresses of pages that lie in pieces, of the system or of memory; or NULL */
	const dma_addr_t *pages;
};

/**
 * struct tessera_pt_change - what one batch does to one VM
 */
struct tessera_pt_change {
	/** @effect: for the batch */
	struct tessera_paging_effect effect;
	/** @space: the tables; holds a reference */
	struct tessera_space *space;
	/** @released: tables that are free when the batch is over */
	struct list_head released;
	/**
	 * @behind_jobs: it takes or changes what jobs may find: the batch runs when all that were queued
	 * before have ended
	 */
	bool behind_jobs;
	/** @lost: of the objects it maps, each valid until the batch is over; or NULL */
	atomic_t **lost;
	/** @num_lost: elements of @lost */
	u32 num_lost;
};

int tessera_space_init(struct tessera_device *tdev);
struct tessera_space *tessera_space_create(struct tessera_device *tdev,
					   struct tessera_account *account,
					   struct tessera_resident_set *resident);
struct tessera_space *tessera_space_get(struct tessera_space *space);
void tessera_space_put(struct tessera_space *space);

void tessera_space_add_queue(struct tessera_space *space, struct tessera_vm_queue *queue);
void tessera_space_remove_queue(struct tessera_space *space, struct tessera_vm_queue *queue);

u32 tessera_pt_tables_bound(u64 va, u64 bytes, const struct tessera_pt_source *source);

int tessera_space_prepare(struct tessera_space *space, u32 num, struct list_head *tables);
int tessera_space_reserve(struct tessera_space *space, u32 num, struct list_head *tables);
void tessera_space_trim(struct tessera_space *space, struct list_head *spare);
void tessera_space_map(struct tessera_space *space, u64 va, u64 bytes,
		       const struct tessera_pt_source *source);
void tessera_space_unmap(struct tessera_space *space, u64 va, u64 bytes);

struct tessera_pt_change *tessera_pt_change_create(struct tessera_space *space, bool behind_jobs);
void tessera_pt_change_cancel(struct tessera_pt_change *change);
int tessera_space_order(struct tessera_space *space, struct tessera_paging_batch *batch,
			const struct tessera_pt_change *change);
void tessera_space_attach(struct tessera_space *space, struct tessera_pt_change *change,
			  struct tessera_paging_batch *batch);
void tessera_space_updated(struct tessera_space *space, struct dma_fence *fence);

int tessera_space_begin_job(struct tessera_space *space, struct tessera_job *job);
void tessera_space_end_job(struct tessera_space *space);

void tessera_space_suspend(struct tessera_device *tdev);
void tessera_space_resume(struct tessera_device *tdev);
void tessera_space_lose_all(struct tessera_device *tdev);
void tessera_space_unplug(struct tessera_device *tdev);

#endif /* __TESSERA_VM_PT_H__ */
