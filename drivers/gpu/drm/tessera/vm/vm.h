/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the layers above, and its own files, may use of vm/: address spaces, and residency lists. */
#ifndef __TESSERA_VM_H__
#define __TESSERA_VM_H__

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include <drm/drm_gpuvm.h>

#include "exec/exec.h"
#include "mem/mem.h"
#include "paging/paging.h"
#include "pure/page_table.h"

struct dma_fence;
struct drm_file;
struct drm_gpuvm_ops;
struct drm_tessera_sync;
struct drm_tessera_vm_bind_op;
struct xarray;			/* vm/listing.c */

/**
 * struct tessera_resident_set - what an open file wants resident (WDDM: the residency list of a device)
 */
struct tessera_resident_set {
	/** @ref: the file and its VMs hold one each */
	struct kref ref;
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @file: whose it is */
	struct drm_file *file;
	/** @account: its account; outlives the file's part */
	struct tessera_account *account;
	/** @listings: &struct tessera_listing by object id; one changes under its object's resv */
	struct xarray listings;
	/** @lock: protects what follows; a leaf */
	struct mutex lock;
	/** @evicted: listings of objects that are where no job finds them */
	struct list_head evicted;
	/** @num_evicted: how many; for anybody to read */
	u32 num_evicted;
	/** @wanted: when the client last said that it uses what it has; for anybody, likewise */
	unsigned long wanted;
};

/**
 * struct tessera_listing - an object in a residency list
 */
struct tessera_listing {
	/** @set: the list */
	struct tessera_resident_set *set;
	/** @bo: the object; the file has a handle of it */
	struct tessera_bo *bo;
	/** @count: how often it was made resident, never 0; under the object's resv */
	u64 count;
	/** @hidden: a VM of the file maps it, and its page tables do not say so; likewise */
	bool hidden;
	/** @node: in &tessera_bo.listings; likewise */
	struct list_head node;
	/** @evicted: in &tessera_resident_set.evicted, or empty; under the set's lock */
	struct list_head evicted;
};

struct tessera_resident_set *tessera_resident_set_create(struct tessera_device *tdev,
							 struct drm_file *file,
							 struct tessera_account *account);
struct tessera_resident_set *tessera_resident_set_get(struct tessera_resident_set *set);
void tessera_resident_set_put(struct tessera_resident_set *set);

int tessera_listing_add(struct tessera_resident_set *set, struct tessera_bo *bo);
bool tessera_listing_drop(struct tessera_listing *listing, u64 count);
void tessera_listing_close(struct tessera_bo *bo, struct drm_file *file);
struct tessera_listing *tessera_listing_find(struct tessera_resident_set *set,
					     const struct tessera_bo *bo);
void tessera_listing_set_hidden(struct tessera_resident_set *set, const struct tessera_bo *bo,
				bool hidden);
void tessera_listing_moves(struct tessera_bo *bo);
void tessera_listing_moved(struct tessera_bo *bo);
void tessera_listing_settle(struct tessera_bo *bo);
bool tessera_listing_writes(const struct tessera_bo *bo);
u32 tessera_listing_get_evicted(struct tessera_resident_set *set, struct tessera_bo **bos, u32 max);

/* Whether all that is listed is where jobs find it. */
static inline bool tessera_resident_complete(const struct tessera_resident_set *set)
{
	return !READ_ONCE(set->num_evicted);
}

/* vm/asid.c */

/** TESSERA_NO_ASID: the VM has none */
#define TESSERA_NO_ASID		U32_MAX

/**
 * struct tessera_asid - the number by which the device knows a VM, while it has one
 *
 * Protected by a lock of its own, a leaf, but for what is said otherwise.
 */
struct tessera_asid {
	/** @node: in the list of those with a number, the least recently used first */
	struct list_head node;
	/** @number: the number, or TESSERA_NO_ASID; stable after tessera_asid_get() */
	u32 number;
	/** @used: between tessera_asid_get() and tessera_asid_put() */
	bool used;
	/** @fresh: the device may remember addresses of another VM under the number */
	bool fresh;
	/** @account: of the VM */
	struct tessera_account *account;
	/** @jobs: those of the VM */
	struct tessera_vm_jobs *jobs;
	/** @heir: a VM that gets the number when the jobs have ended, or NULL */
	struct tessera_asid *heir;
	/** @from: the VM whose heir this one is, or NULL */
	struct tessera_asid *from;
};

int tessera_asids_init(struct tessera_device *tdev);
void tessera_asid_init(struct tessera_asid *asid, struct tessera_account *account,
		       struct tessera_vm_jobs *jobs);
void tessera_asid_fini(struct tessera_device *tdev, struct tessera_asid *asid);
int tessera_asid_get(struct tessera_device *tdev, struct tessera_asid *asid);
int tessera_asid_wait(struct tessera_device *tdev, struct tessera_asid *asid);
void tessera_asid_put(struct tessera_device *tdev, struct tessera_asid *asid);
void tessera_asid_give_up(struct tessera_device *tdev, struct tessera_asid *asid);

/* vm/table.c */

/** TESSERA_MAX_TABLES: page tables one client may have, of all its VMs */
#define TESSERA_MAX_TABLES	8192

/**
 * struct tessera_table - memory of a page table, and what it is to say
 */
struct tessera_table {
	/** @pt: what it is to say */
	struct tessera_pt pt;
	/** @node: in a list of its owner's */
	struct list_head node;
	/** @dirty_first: entries from here on are not written yet */
	u32 dirty_first;
	/** @dirty_end: first entry behind those; 0: all are */
	u32 dirty_end;
	/** @payer: who pays; outlives the table */
	struct tessera_payer *payer;
	/** @cpu: its page of system memory, or NULL if it is in hidden VRAM */
	void *cpu;
	/** @addr: GPU address, or DMA address of @cpu */
	u64 addr;
};

static inline struct tessera_table *to_tessera_table(const struct tessera_pt *pt)
{
	return container_of(pt, struct tessera_table, pt);
}

int tessera_table_init(struct tessera_device *tdev);
struct tessera_table *tessera_table_create(struct tessera_device *tdev,
					   struct tessera_payer *payer);
void tessera_table_release_memory(struct tessera_device *tdev, struct tessera_table *table);
void tessera_table_destroy_list(struct tessera_device *tdev, struct list_head *tables);

/* vm/pt_write.c */
int tessera_pt_write(struct tessera_paging_batch *batch, const struct tessera_table *table);
int tessera_pt_flush(struct tessera_paging_batch *batch, u32 asid, u64 first, u64 last);

/* vm/pt.c */

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

/* vm/vm.c */

/** TESSERA_MAX_MAPPINGS: of one VM: others wait while the addresses of an object change */
#define TESSERA_MAX_MAPPINGS	65536

/**
 * struct tessera_vm - GPU virtual addresses, and what is mapped there
 */
struct tessera_vm {
	/** @base: the core's part; changes under @lock */
	struct drm_gpuvm base;
	/** @users: the client's table, its contexts and calls hold one each */
	struct kref users;
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @space: page tables; holds a reference */
	struct tessera_space *space;
	/** @lock: serialises changes of what is mapped; see the locking DOC */
	struct mutex lock;
	/** @num_mappings: how many there are; under @lock */
	u32 num_mappings;
};

/**
 * struct tessera_vm_bo - an object that a VM maps
 */
struct tessera_vm_bo {
	/** @base: the core's part */
	struct drm_gpuvm_bo base;
	/** @shown: the page tables lead to it, from all its mappings; else from none. Under its resv */
	bool shown;
	/** @user: what is known of it if it is user memory */
	struct tessera_user_vm user;
};

/**
 * struct tessera_mapping - a range of addresses of a VM
 */
struct tessera_mapping {
	/** @base: the core's part; without an object there is no memory */
	struct drm_gpuva base;
	/** @read_only: the GPU may not write there */
	bool read_only;
	/** @left: with user memory that was unmapped: what it was mapped as, with a reference; or NULL */
	struct drm_gpuvm_bo *left;
};

static inline struct tessera_vm *to_tessera_vm(struct drm_gpuvm *gpuvm)
{
	return container_of(gpuvm, struct tessera_vm, base);
}

static inline struct tessera_vm_bo *to_tessera_vm_bo(struct drm_gpuvm_bo *vm_bo)
{
	return container_of(vm_bo, struct tessera_vm_bo, base);
}

static inline struct tessera_mapping *to_tessera_mapping(struct drm_gpuva *va)
{
	return container_of(va, struct tessera_mapping, base);
}

int tessera_vm_create(struct tessera_device *tdev, struct xarray *vms,
		      struct tessera_account *account, struct tessera_resident_set *resident,
		      const struct drm_gpuvm_ops *ops, u32 *id);
int tessera_vm_destroy(struct xarray *vms, u32 id);
void tessera_vm_destroy_all(struct xarray *vms);
struct tessera_vm *tessera_vm_lookup(struct xarray *vms, u32 id);
void tessera_vm_put(struct tessera_vm *vm);
void tessera_vm_free(struct drm_gpuvm *gpuvm);
struct drm_gpuvm_bo *tessera_vm_bo_alloc(void);
void tessera_vm_bo_free(struct drm_gpuvm_bo *vm_bo);
void tessera_vm_bo_join(struct drm_gpuvm_bo *vm_bo);
void tessera_vm_bo_show(struct drm_gpuvm_bo *vm_bo, bool shown);

/* vm/remap.c */
struct dma_fence *tessera_remap_push(struct tessera_bo *bo, struct tessera_paging_batch *batch);
void tessera_remap_drop(struct tessera_bo *bo);
struct dma_fence *tessera_remap_users(struct tessera_bo *bo);
bool tessera_remap_source(struct tessera_bo *bo, const struct tessera_segment *seg,
			  const struct tessera_range *range,
			  const struct tessera_mapping *mapping, struct tessera_pt_source *source);
int tessera_remap_show(struct tessera_resident_set *set, struct tessera_bo **bos, u32 num);
void tessera_remap_hide(struct tessera_resident_set *set, struct tessera_bo **bos, u32 num);
bool tessera_remap_may_show(struct tessera_vm *vm, struct tessera_bo *bo);
void tessera_remap_settle(struct tessera_bo *bo);

/* vm/bind.c */

/* Limits of one call. */
#define TESSERA_MAX_BINDS	1024
#define TESSERA_MAX_NULL_BYTES	(64ULL << 30)

/**
 * struct tessera_bind_data - the kernel's copy of what a call brought
 */
struct tessera_bind_data {
	/** @ops: what to change */
	struct drm_tessera_vm_bind_op *ops;
	/** @syncs: sync list */
	struct drm_tessera_sync *syncs;
	/** @num_ops: elements of @ops */
	u32 num_ops;
	/** @num_syncs: elements of @syncs */
	u32 num_syncs;
};

extern const struct drm_gpuvm_ops tessera_bind_gpuvm_ops;

int tessera_bind(struct tessera_vm *vm, struct drm_file *file,
		 const struct tessera_bind_data *data);

/* vm/resident.c */

/**
 * struct tessera_resident_answer - what there is to know about a call that makes objects resident
 */
struct tessera_resident_answer {
	/** @fence: signals when all is where it is to be; set if the call succeeds */
	struct dma_fence *fence;
	/** @bytes_to_trim: how much has to be given up first; 0 unless that is what it fails for */
	u64 bytes_to_trim;
	/** @segments: ids of the segments where it has to be, as a set */
	u32 segments;
	/** @failed: index of the handle that it fails for; left as it is if that is none */
	u32 failed;
};

int tessera_resident_make(struct tessera_resident_set *set, const u32 *handles, u32 num,
			  struct tessera_resident_answer *answer);
int tessera_resident_evict(struct tessera_resident_set *set, const u32 *handles, u32 num);
int tessera_resident_ready(struct tessera_resident_set *set);
int tessera_resident_restore(struct tessera_space *space);

#endif /* __TESSERA_VM_H__ */
