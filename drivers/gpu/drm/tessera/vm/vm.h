/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Interface of vm/: address spaces, page tables and residency lists. Part of it
 * is used only between the files of vm/.
 */
#ifndef __TESSERA_VM_H__
#define __TESSERA_VM_H__

#include <linux/bitmap.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <drm/drm_gpuvm.h>

#include "borrow/borrow.h"
#include "debug/debug.h"
#include "exec/exec.h"
#include "mem/mem.h"
#include "paging/paging.h"
#include "pure/page_table.h"

struct dma_fence;
struct drm_file;
struct drm_gpuvm_ops;
struct drm_tessera_sync;
struct drm_tessera_vm_bind_op;
struct tessera_monitored_set;	/* sync/monitored.c */
struct tessera_value_page;	/* sync/sync.h */
struct xarray;			/* vm/residency_list.c */

/**
 * struct tessera_resident_set - the residency list of an open file
 *
 * The objects that the file wants resident while its jobs run. WDDM calls this
 * the residency list of a device.
 */
struct tessera_resident_set {
	/** @ref: the file and each of its VMs hold one reference */
	struct kref ref;
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @file: the open file that owns the list */
	struct drm_file *file;
	/** @account: account of @file; stays valid after the file is closed */
	struct tessera_account *account;
	/**
	 * @residency_entries: residency entries (&struct
	 * tessera_residency_entry), indexed by object id. An entry changes
	 * under the reservation of its object
	 */
	struct xarray residency_entries;
	/** @lock: protects @evicted and @num_evicted; a leaf */
	struct mutex lock;
	/**
	 * @evicted: entries of objects that jobs cannot use where they are now
	 */
	struct list_head evicted;
	/** @num_evicted: length of @evicted; may be read without @lock */
	u32 num_evicted;
	/**
	 * @demanded_at: when the client last used its objects, in jiffies; may
	 * be read without @lock
	 */
	unsigned long demanded_at;
};

/**
 * struct tessera_residency_entry - residency entry: one object in one residency
 * list
 */
struct tessera_residency_entry {
	/** @set: the residency list */
	struct tessera_resident_set *set;
	/**
	 * @bo: the object. The file has a handle of it, except for page table
	 * memory (vm/pt_mem.c)
	 */
	struct tessera_bo *bo;
	/**
	 * @count: number of times it was made resident, never 0; under the
	 * reservation of @bo
	 */
	u64 count;
	/**
	 * @hidden: a VM of the file maps @bo, but its page tables do not point
	 * to it; under the reservation of @bo
	 */
	bool hidden;
	/**
	 * @node: in &tessera_bo_residency.entries; under the reservation of @bo
	 */
	struct list_head node;
	/**
	 * @evicted: in &tessera_resident_set.evicted, or empty; under
	 * &tessera_resident_set.lock
	 */
	struct list_head evicted;
};

struct tessera_resident_set *tessera_resident_set_create(struct tessera_device *tdev,
							 struct drm_file *file,
							 struct tessera_account *account);
struct tessera_resident_set *tessera_resident_set_get(struct tessera_resident_set *set);
void tessera_resident_set_put(struct tessera_resident_set *set);

int tessera_residency_entry_add(struct tessera_resident_set *set, struct tessera_bo *bo);
bool tessera_residency_entry_drop(struct tessera_residency_entry *entry, u64 count);
void tessera_residency_entry_close(struct tessera_bo *bo, struct drm_file *file);
struct tessera_residency_entry *tessera_residency_entry_find(struct tessera_resident_set *set,
							     const struct tessera_bo *bo);
void tessera_residency_entry_mark(struct tessera_residency_entry *entry, bool evicted);
void tessera_residency_entry_set_hidden(struct tessera_resident_set *set,
					const struct tessera_bo *bo, bool hidden);
void tessera_residency_entry_moves(struct tessera_bo *bo);
void tessera_residency_entry_settle(struct tessera_bo *bo);
bool tessera_residency_entry_writes(const struct tessera_bo *bo);
u32 tessera_residency_entry_get_evicted(struct tessera_resident_set *set, struct tessera_bo **bos,
					u32 max);

/* Whether jobs can use every listed object where it is now. */
static inline bool tessera_resident_complete(const struct tessera_resident_set *set)
{
	return !READ_ONCE(set->num_evicted);
}

/* vm/asid.c */

/** TESSERA_NO_ASID: &tessera_asid.number of a VM without an ASID */
#define TESSERA_NO_ASID		U32_MAX

/**
 * struct tessera_asid - the address space number (ASID) of a VM, if it has one
 *
 * All members are protected by the lock of vm/asid.c, a leaf, unless noted.
 */
struct tessera_asid {
	/**
	 * @node: in the list of VMs that have an ASID, least recently used
	 * first
	 */
	struct list_head node;
	/**
	 * @number: the ASID, or TESSERA_NO_ASID; stable between
	 * tessera_asid_get() and tessera_asid_put()
	 */
	u32 number;
	/** @used: set between tessera_asid_get() and tessera_asid_put() */
	bool used;
	/**
	 * @fresh: the TLBs may hold translations of another VM under this ASID
	 */
	bool fresh;
	/** @account: account of the VM */
	struct tessera_account *account;
	/** @jobs: unfinished jobs of the VM */
	struct tessera_vm_jobs *jobs;
	/**
	 * @heir: the VM that gets this ASID when the queued jobs have ended, or
	 * NULL
	 */
	struct tessera_asid *heir;
	/** @from: the VM that will hand its ASID to this one, or NULL */
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

/* vm/pt_mem.c */

/**
 * TESSERA_MAX_PT_PAGES: default limit of page tables per process, over all its
 * VMs
 */
#define TESSERA_MAX_PT_PAGES	8192

/** TESSERA_PT_MEM_PAGES: maximum number of page tables in one object */
#define TESSERA_PT_MEM_PAGES	64U

/**
 * struct tessera_pt_mem - a buffer object that holds page tables of a VM
 */
struct tessera_pt_mem {
	/**
	 * @pts: page tables of the VM; NULL once the VM has given the object
	 * up. Changes under the reservation of @bo
	 */
	struct tessera_page_tables *pts;
	/** @bo: the object; it frees this struct */
	struct tessera_bo *bo;
	/** @node: in &tessera_page_tables.memory */
	struct list_head node;
	/**
	 * @placed: @entry is valid; changes under the reservation of @bo and
	 * &tessera_page_tables.lock
	 */
	bool placed;
	/**
	 * @used: number of tables in @bo that the VM's tree has; under
	 * &tessera_page_tables.lock
	 */
	u32 used;
	/** @num: number of tables that fit into @bo */
	u32 num;
	/**
	 * @free: pages of @bo that hold no table; under
	 * &tessera_page_tables.slots
	 */
	DECLARE_BITMAP(free, TESSERA_PT_MEM_PAGES);
	/**
	 * @entry: for each page, the page table entry that points to it; under
	 * &tessera_page_tables.lock
	 */
	u64 entry[] __counted_by(num);
};

/**
 * struct tessera_pt_page - one page table: the CPU's copy and where the
 * device's copy is
 */
struct tessera_pt_page {
	/**
	 * @pt: the CPU's copy; its entry is updated when the table is written
	 */
	struct tessera_pt pt;
	/**
	 * @node: in &tessera_page_tables.tables, &tessera_pt_change.released or
	 * a list of the caller
	 */
	struct list_head node;
	/** @dirty_first: first entry that the device's copy lacks */
	u32 dirty_first;
	/**
	 * @dirty_end: end of the entries that the device's copy lacks,
	 * exclusive; 0: none
	 */
	u32 dirty_end;
	/** @home: the object that holds the device's copy */
	struct tessera_pt_mem *home;
	/** @index: index of the page in @home */
	u32 index;
};

static inline struct tessera_pt_page *to_tessera_pt_page(const struct tessera_pt *pt)
{
	return container_of(pt, struct tessera_pt_page, pt);
}

struct tessera_pt_page *tessera_pt_page_create(struct tessera_page_tables *pts);
void tessera_pt_page_destroy_list(struct tessera_page_tables *pts, struct list_head *tables);
void tessera_vm_leave_fence(struct drm_gem_object *obj, struct dma_fence *fence);
void tessera_pt_mem_init(struct tessera_page_tables *pts);
void tessera_pt_mem_close(struct tessera_page_tables *pts, struct dma_fence *fence);
void tessera_pt_mem_free(struct list_head *list);
void tessera_pt_mem_use(struct tessera_page_tables *pts, struct tessera_pt_mem *tables);
void tessera_pt_mem_unuse(struct tessera_page_tables *pts, struct tessera_pt_mem *tables);
bool tessera_pt_mem_is_missing(const struct tessera_bo *bo);
void tessera_pt_mem_settle(struct tessera_bo *bo);
void tessera_pt_mem_show(struct tessera_bo *bo);
void tessera_pt_mem_hide(struct tessera_page_tables *pts, struct tessera_pt_mem *tables);

/* vm/pt_write.c */
int tessera_pt_write(struct tessera_paging_batch *batch, const struct tessera_pt_page *table);
int tessera_pt_flush(struct tessera_paging_batch *batch, u32 asid, u64 first, u64 last);

/* vm/pt.c */

/** TESSERA_MAX_VMS: maximum number of VMs per process */
#define TESSERA_MAX_VMS		256

/**
 * struct tessera_page_tables_list - the page tables of all VMs
 */
struct tessera_page_tables_list {
	/** @lock: protects @list */
	struct mutex lock;
	/** @list: &struct tessera_page_tables */
	struct list_head list;
	/** @many: taken before several &tessera_page_tables.lock are taken */
	struct mutex many;
};

/**
 * enum tessera_pt_page_list - states of a page table, each a list of a VM
 */
enum tessera_pt_page_list {
	/** @TESSERA_PT_PAGES_CLEAN: in use, and the device's copy is current */
	TESSERA_PT_PAGES_CLEAN,
	/**
	 * @TESSERA_PT_PAGES_DIRTY: in use, and the device's copy lacks some
	 * entries
	 */
	TESSERA_PT_PAGES_DIRTY,
	/** @TESSERA_PT_PAGES_POOL: spare, not in use */
	TESSERA_PT_PAGES_POOL,
	/**
	 * @TESSERA_PT_PAGES_RELEASED: unlinked from the tree, but the device
	 * may still walk it
	 */
	TESSERA_PT_PAGES_RELEASED,
	/** @TESSERA_PT_PAGES_LISTS: number of lists */
	TESSERA_PT_PAGES_LISTS,
};

/**
 * struct tessera_page_tables - the page tables of a VM, and the queues that run
 * jobs in it
 *
 * Jobs and queued paging batches use this part of the VM. It outlives &struct
 * tessera_vm.
 */
struct tessera_page_tables {
	/**
	 * @ref: the VM, each context and each paging batch hold one reference
	 */
	struct kref ref;
	/** @node: in &tessera_page_tables_list.list */
	struct list_head node;
	/** @tdev: the device */
	struct tessera_device *tdev;
	/**
	 * @dep_check: debug-only check of dependencies: the batches that
	 * changed the tables
	 */
	struct tessera_dep_check dep_check;
	/** @account: account that is charged; holds a reference */
	struct tessera_account *account;
	/**
	 * @resident: residency list of the file: the objects that addresses may
	 * point to; holds a reference
	 */
	struct tessera_resident_set *resident;
	/** @queue: paging queue of the VM's own batches; holds a reference */
	struct tessera_paging_queue *queue;
	/** @asid: its ASID */
	struct tessera_asid asid;
	/**
	 * @slots: protects @memory and the bitmaps of free pages in it; a leaf
	 */
	spinlock_t slots;
	/**
	 * @memory: &struct tessera_pt_mem, the objects that hold the tables;
	 * under @slots
	 */
	struct list_head memory;
	/**
	 * @trim: frees the objects in @memory that hold no table; disabled when
	 * the VM is destroyed
	 */
	struct work_struct trim;
	/**
	 * @lost: the device's copy of the tables may be stale; the VM runs no
	 * further jobs
	 */
	atomic_t lost;
	/**
	 * @lock: protects all members below, except for @jobs; see "DOC:
	 * locking"
	 */
	struct mutex lock;
	/** @closed: the VM is destroyed and takes no new jobs; set once */
	bool closed;
	/**
	 * @tree: the CPU's copy of the tables, as the device's will be after
	 * all queued batches
	 */
	struct tessera_pt_tree tree;
	/** @tables: &struct tessera_pt_page, by &enum tessera_pt_page_list */
	struct list_head tables[TESSERA_PT_PAGES_LISTS];
	/** @pooled: number of tables in TESSERA_PT_PAGES_POOL */
	u32 pooled;
	/**
	 * @update: fence of the last batch that changes what jobs of the VM
	 * find, or NULL
	 */
	struct dma_fence *update;
	/** @queues: &struct tessera_vm_queue */
	struct list_head queues;
	/**
	 * @fence_pages: &struct tessera_fence_page, the pages of fences that the
	 * tables have pointed to. They stay until the tables go, so that no job
	 * finds a page that is gone. A client has few of them
	 */
	struct list_head fence_pages;
	/** @jobs: unfinished jobs of the VM; has its own lock */
	struct tessera_vm_jobs jobs;
};

/**
 * struct tessera_fence_page - a page of fences that a VM maps or has mapped
 */
struct tessera_fence_page {
	/** @node: in &tessera_page_tables.fence_pages */
	struct list_head node;
	/** @page: the page; holds a reference */
	struct tessera_value_page *page;
};

void tessera_fence_page_free(struct tessera_fence_page *fence_page);

/**
 * struct tessera_pt_source - the memory that a range of addresses is to point
 * to
 */
struct tessera_pt_source {
	/** @bits: TSR_PTE_* of each entry */
	u64 bits;
	/** @addr: address of the first byte; not used if @pages is set */
	u64 addr;
	/**
	 * @pages: addresses of the single pages, in system memory or VRAM, if
	 * these are not contiguous; or NULL
	 */
	const dma_addr_t *pages;
};

/**
 * struct tessera_pt_change - the effect of one paging batch on the page tables
 * of one VM
 */
struct tessera_pt_change {
	/** @effect: hooks that the batch calls */
	struct tessera_paging_effect effect;
	/** @pts: the tables; holds a reference */
	struct tessera_page_tables *pts;
	/** @released: tables that are freed when the batch has ended */
	struct list_head released;
	/**
	 * @behind_jobs: the batch removes or changes mappings that jobs may
	 * use, so it runs after all jobs that were queued before
	 */
	bool behind_jobs;
	/**
	 * @writes: the batch only writes tables; if the VM is lost, their place
	 * may belong to another object already
	 */
	bool writes;
	/**
	 * @lost: &tessera_bo.lost of each object that the batch maps; the
	 * pointers stay valid until the batch has ended. May be NULL
	 */
	atomic_t **lost;
	/** @num_lost: elements of @lost */
	u32 num_lost;
};

int tessera_page_tables_init(struct tessera_device *tdev);
struct tessera_page_tables *tessera_page_tables_create(struct tessera_device *tdev,
						       struct tessera_account *account,
						       struct tessera_resident_set *resident);
struct tessera_page_tables *tessera_page_tables_get(struct tessera_page_tables *pts);
void tessera_page_tables_put(struct tessera_page_tables *pts);

struct tessera_vm_queue *tessera_page_tables_add_queue(struct tessera_page_tables *pts);
void tessera_page_tables_remove_queue(struct tessera_vm_queue *queue);

u32 tessera_pt_tables_bound(u64 va, u64 bytes, const struct tessera_pt_source *source);

int tessera_page_tables_prepare(struct tessera_page_tables *pts, u32 num, struct list_head *tables);
int tessera_page_tables_reserve(struct tessera_page_tables *pts, u32 num, struct list_head *tables);
void tessera_page_tables_trim(struct tessera_page_tables *pts, struct list_head *spare);
void tessera_page_tables_map(struct tessera_page_tables *pts, u64 va, u64 bytes,
			     const struct tessera_pt_source *source);
void tessera_page_tables_unmap(struct tessera_page_tables *pts, u64 va, u64 bytes);

struct tessera_pt_change *tessera_pt_change_create(struct tessera_page_tables *pts,
						   bool behind_jobs);
void tessera_pt_change_cancel(struct tessera_pt_change *change);
int tessera_page_tables_order(struct tessera_page_tables *pts, struct tessera_paging_batch *batch,
			      const struct tessera_pt_change *change);
void tessera_page_tables_attach(struct tessera_page_tables *pts, struct tessera_pt_change *change,
				struct tessera_paging_batch *batch);
void tessera_page_tables_updated(struct tessera_page_tables *pts, struct dma_fence *fence);

int tessera_page_tables_begin_job(struct tessera_page_tables *pts, struct tessera_job *job);
void tessera_page_tables_end_job(struct tessera_page_tables *pts);
void tessera_page_tables_forget(struct tessera_page_tables *pts, struct tessera_pt_mem *tables);

void tessera_page_tables_suspend(struct tessera_device *tdev);
void tessera_page_tables_lose_all(struct tessera_device *tdev);

/* vm/vm.c */

/**
 * TESSERA_MAX_MAPPINGS: maximum number of mappings per VM
 *
 * A move of an object changes all its mappings with locks held that other
 * clients wait for, so their number is limited.
 */
#define TESSERA_MAX_MAPPINGS	65536

/**
 * struct tessera_vm - a GPU virtual address space and its mappings
 */
struct tessera_vm {
	/** @base: the drm_gpuvm; changes under @lock */
	struct drm_gpuvm base;
	/**
	 * @users: the client's table, each context and each running call hold
	 * one reference
	 */
	struct kref users;
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @pts: its page tables; holds a reference */
	struct tessera_page_tables *pts;
	/** @lock: serialises changes of the mappings; see "DOC: locking" */
	struct mutex lock;
	/** @num_mappings: number of mappings; under @lock */
	u32 num_mappings;
};

/**
 * struct tessera_vm_bo - an object that a VM maps
 */
struct tessera_vm_bo {
	/** @base: the drm_gpuvm_bo */
	struct drm_gpuvm_bo base;
	/**
	 * @shown: the page tables point to the object for all its mappings;
	 * else for none of them. Under the object's reservation
	 */
	bool shown;
	/**
	 * @user: the VM's entry in the user memory of the object; unused for
	 * other objects
	 */
	struct tessera_user_vm user;
};

/**
 * struct tessera_mapping - a mapped range of addresses of a VM
 */
struct tessera_mapping {
	/** @base: the drm_gpuva; a null mapping has no object */
	struct drm_gpuva base;
	/** @read_only: the GPU may not write through the mapping */
	bool read_only;
	/**
	 * @left: after an unmap from user memory: the drm_gpuvm_bo of the
	 * removed mapping, with a reference; or NULL
	 */
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
void tessera_vm_bo_show(struct drm_gpuvm_bo *vm_bo, bool shown);

/* vm/remap.c */
struct dma_fence *tessera_remap_push(struct tessera_bo *bo, struct tessera_paging_batch *batch);
void tessera_remap_drop(struct tessera_bo *bo);
struct dma_fence *tessera_remap_users(struct tessera_bo *bo);
bool tessera_remap_source(struct tessera_bo *bo, const struct tessera_segment *seg,
			  const struct tessera_placement *placement,
			  const struct tessera_mapping *mapping, struct tessera_pt_source *source);
int tessera_remap_show(struct tessera_resident_set *set, struct tessera_bo **bos, u32 num);
void tessera_remap_hide(struct tessera_resident_set *set, struct tessera_bo **bos, u32 num);
bool tessera_remap_may_show(struct tessera_vm *vm, struct tessera_bo *bo);
void tessera_remap_settle(struct tessera_bo *bo);

/* vm/bind.c */

/* Limits of one VM_BIND call. */
#define TESSERA_MAX_BINDS	1024
#define TESSERA_MAX_NULL_BYTES	(64ULL << 30)

/**
 * struct tessera_bind_data - the kernel's copy of the arguments of VM_BIND
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
	/** @fences: the client's monitored fences */
	struct tessera_monitored_set *fences;
};

extern const struct drm_gpuvm_ops tessera_bind_gpuvm_ops;

int tessera_bind(struct tessera_vm *vm, struct drm_file *file,
		 const struct tessera_bind_data *data);

/* vm/resident.c */

/**
 * struct tessera_resident_answer - result of MAKE_RESIDENT
 */
struct tessera_resident_answer {
	/**
	 * @fence: signals when all objects are in place; set if the call
	 * succeeds
	 */
	struct dma_fence *fence;
	/**
	 * @bytes_to_trim: bytes that the client has to evict first; 0 unless
	 * the call fails for lack of space
	 */
	u64 bytes_to_trim;
	/**
	 * @segments: segments in which the bytes have to be given up, as a mask
	 * of ids
	 */
	u32 segments;
	/**
	 * @failed: index of the handle that made the call fail; unchanged if
	 * there is no such handle
	 */
	u32 failed;
};

int tessera_resident_make(struct tessera_resident_set *set, const u32 *handles, u32 num,
			  bool insist, struct tessera_resident_answer *answer);
int tessera_resident_evict(struct tessera_resident_set *set, const u32 *handles, u32 num,
			   bool unwritten);
int tessera_resident_ready(struct tessera_resident_set *set);
int tessera_resident_rebind_userptr(struct tessera_page_tables *pts);

#endif /* __TESSERA_VM_H__ */
