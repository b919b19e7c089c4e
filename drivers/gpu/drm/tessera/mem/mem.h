/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Interface of mem/: buffer objects, their pages and their placements. */
#ifndef __TESSERA_MEM_H__
#define __TESSERA_MEM_H__

#include <linux/atomic.h>
#include <linux/dma-direction.h>
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/kconfig.h>
#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <drm/drm_exec.h>
#include <drm/drm_gem.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>

#include <drm/tessera_drm.h>

#include "base/device.h"
#include "base/wait.h"
#include "borrow/borrow.h"
#include "debug/debug.h"
#include "exec/exec.h"
#include "pure/victim.h"
#include "segments/segments.h"

struct dma_buf;
struct dma_buf_attachment;
struct dma_fence;
struct drm_file;
struct drm_gem_object;
struct drm_printer;
struct drm_tessera_offer_bo;
struct drm_tessera_reclaim_bo;
struct sg_table;
struct tessera_blocker;
struct tessera_renamed_set;	/* mem/renamed_instance.c */
struct tessera_pages;		/* paging/paging.h */
struct tessera_paging_queue;	/* paging/queue.c */
struct tessera_pt_mem;		/* vm/pt_mem.c */
struct ttm_buffer_object;
struct ttm_device;
struct ttm_operation_ctx;
struct ttm_place;
struct ttm_resource;
struct ttm_tt;
struct ww_acquire_ctx;

/* mem/renamed_instance.c */

/**
 * struct tessera_renamed_instance - an object in a renamed set
 */
struct tessera_renamed_instance {
	/** @set: the renamed set; NULL for an object that was never replaced */
	struct tessera_renamed_set *set;
	/**
	 * @number: number in the renamed set; newer instances have greater
	 * numbers
	 */
	u32 number;
	/** @node: in the renamed set */
	struct list_head node;
	/**
	 * @file: the open file that may get it again by a discard, or NULL.
	 * Only compared, never dereferenced
	 */
	struct drm_file *file;
	/** @handle: the name that @file had for it, maybe closed since */
	u32 handle;
};

int tessera_renamed_replace(struct tessera_device *tdev, struct tessera_renamed_instance *old,
			    struct tessera_renamed_instance *new);
void tessera_renamed_name(struct tessera_device *tdev, struct tessera_renamed_instance *instance,
			  struct drm_file *file, u32 handle);
struct tessera_bo *tessera_renamed_reuse(struct tessera_device *tdev,
					 struct tessera_renamed_instance *old,
					 struct drm_file *file, u32 *handle);
bool tessera_renamed_is_spare(struct tessera_bo *bo);
bool tessera_renamed_is_old(struct tessera_device *tdev, struct tessera_renamed_instance *instance);
void tessera_renamed_put(struct tessera_device *tdev, struct tessera_renamed_instance *instance);

void tessera_renamed_lock(struct tessera_device *tdev);
void tessera_renamed_unlock(struct tessera_device *tdev);
void tessera_renamed_look_locked(struct tessera_renamed_instance *instance);
bool tessera_renamed_list_locked(struct tessera_renamed_instance *instance);
void tessera_renamed_use_locked(struct tessera_renamed_instance *instance);

/* mem/bo.c */

/**
 * struct tessera_bo_locks - CPU locks of an object, see cpu/locks.c
 */
struct tessera_bo_locks {
	/** @lock: protects the other members */
	spinlock_t lock;
	/** @files: open files that have locked the object, with a count each */
	struct list_head files;
	/** @num_files: number of elements of @files */
	u32 num_files;
	/**
	 * @held: sum of the counts. If the layout is swizzled, it changes only
	 * under resv
	 */
	u64 held;
	/**
	 * @untracked: number of locks by Lock2 in @held. It is increased under
	 * resv. If such locks change what the CPU sees, it is decreased under
	 * resv, too
	 */
	u64 untracked;
	/**
	 * @raw: the locks are for the raw bytes, not for the linear ones; under
	 * resv
	 */
	bool raw;
};

/**
 * struct tessera_bo_offer - offer state of an object, see mem/offer.c
 */
struct tessera_bo_offer {
	/**
	 * @priority: DRM_TESSERA_OFFER_*, or 0 if not offered; changes under
	 * resv
	 */
	u32 priority;
	/**
	 * @lost: the contents were dropped, and the object has no pages; under
	 * resv
	 */
	bool lost;
	/** @seen: used to find duplicates in a handle list; under resv */
	bool seen;
	/** @decommit: its pages are given up without need; under resv */
	bool decommit;
	/**
	 * @again: it was offered again while @work was waiting for the fences
	 * of an earlier offer; under resv
	 */
	bool again;
	/**
	 * @fence: the fences after which its pages can be given up, or NULL.
	 * The object has a reference while it is set; under resv
	 */
	struct dma_fence *fence;
	/** @cb: on @fence, queues @work */
	struct dma_fence_cb cb;
	/** @work: gives up the pages */
	struct work_struct work;
};

/*
 * Number of times an object may lose its CPU windows before it is moved to
 * system memory. An instruction that copies between two objects would otherwise
 * fault forever if only one of them can have a window at a time.
 */
#define TESSERA_WINDOW_MAX_LOSSES	16

/**
 * struct tessera_cpu_window - CPU windows of an object, see cpu/window.c
 */
struct tessera_cpu_window {
	/**
	 * @slots: for each part of the object, the number of its host aperture
	 * slot plus one, or 0; NULL if no part has had a slot at the present
	 * placement; changes under resv
	 */
	u32 *slots;
	/**
	 * @wants_slot: no slot was free at the last fault; written under resv
	 */
	bool wants_slot;
	/**
	 * @num_ranges: number of its swizzling ranges, see cpu/swizzle_range.c;
	 * changes under resv
	 */
	u32 num_ranges;
	/**
	 * @losses: number of windows lost to other objects at the present
	 * placement; under resv
	 */
	u32 losses;
};

/**
 * struct tessera_lending - an importer that is told when the pages of an object
 * change
 */
struct tessera_lending {
	/** @node: in &tessera_bo_sharing.lendings */
	struct list_head node;
	/** @attach: attachment of the importer */
	struct dma_buf_attachment *attach;
};

/**
 * struct tessera_bo_hold - the hold of a submission in parts, see
 * tessera_holder()
 */
struct tessera_bo_hold {
	/** @holder: stamp of the submission, or 0 */
	atomic64_t holder;
	/** @until: time in jiffies at which the hold expires */
	unsigned long until;
};

/**
 * struct tessera_bo_fixed - what keeps an object in its place in memory; under
 * resv
 */
struct tessera_bo_fixed {
	/** @shown: number of pins for scanout, see mem/scanout.c */
	unsigned int shown;
	/** @mapped: number of kernel mappings of its place, see cpu/vmap.c */
	unsigned int mapped;
	/** @addr: its GPU address while @shown or @mapped, else 0 */
	u64 addr;
};

/**
 * struct tessera_bo_maps - CPU mappings of an object, see cpu/fault.c and
 * cpu/vmap.c
 */
struct tessera_bo_maps {
	/** @num_vmas: number of user mappings */
	atomic_t num_vmas;
	/**
	 * @dummy: page that user mappings show after unplug, or NULL; under
	 * resv
	 */
	struct page *dummy;
	/**
	 * @nowhere: memory that kernel mappings show after unplug, or NULL;
	 * under resv
	 */
	void *nowhere;
};

/**
 * struct tessera_bo_residency - an object's entries on residency lists, see
 * vm/resident.c; under resv
 */
struct tessera_bo_residency {
	/** @num: number of elements of @entries */
	u64 num;
	/** @entries: &struct tessera_residency_entry */
	struct list_head entries;
};

/**
 * struct tessera_bo_sharing - use of an object by other devices, see
 * gem/dmabuf.c and gem/import.c
 */
struct tessera_bo_sharing {
	/**
	 * @dmabuf: dma-buf of an import, with a reference; NULL if the object
	 * has its own pages
	 */
	struct dma_buf *dmabuf;
	/** @borrow: DMA mappings of an import */
	struct tessera_borrow borrow;
	/**
	 * @lendings: importers that are told when the pages change; under resv
	 */
	struct list_head lendings;
	/** @lent: one of @lendings may use the pages; under resv */
	bool lent;
	/** @lock: orders setting @exported and an offer of the object */
	spinlock_t lock;
	/**
	 * @exported: the object was exported, imported or shared in a resource
	 * at some time, so its reservation may contain foreign fences, and
	 * other files may have handles
	 */
	bool exported;
	/** @member: the object belongs to a shared resource, see gem/resource.c */
	bool member;
};

/**
 * struct tessera_bo_dying - an object without references, see gem/destroy.c
 */
struct tessera_bo_dying {
	/** @fence: signals when the object is idle; a reference, or NULL */
	struct dma_fence *fence;
	/** @cb: callback of @fence */
	struct dma_fence_cb cb;
	/** @work: destroys the object */
	struct work_struct work;
};

/**
 * enum tessera_copy - the system pages of an object in a memory segment,
 * compared with its bytes there
 */
enum tessera_copy {
	/** @TESSERA_COPY_STALE: the pages may hold other bytes */
	TESSERA_COPY_STALE,
	/**
	 * @TESSERA_COPY_DOUBTFUL: the pages hold the same bytes unless a job of
	 * a VM that lists the object has written it
	 */
	TESSERA_COPY_DOUBTFUL,
	/** @TESSERA_COPY_VALID: the pages, if retained, hold the same bytes */
	TESSERA_COPY_VALID,
};

/**
 * struct tessera_bo - a buffer object (WDDM: allocation)
 *
 * A reference is a GEM reference: drm_gem_object_get(&bo->tbo.base). A GEM count
 * of 0 means the object is being destroyed and only its memory lives on.
 */
struct tessera_bo {
	/** @tbo: TTM object, embeds the GEM object */
	struct ttm_buffer_object tbo;
	/** @queue: queue of its paging jobs; holds a reference */
	struct tessera_paging_queue *queue;
	/** @account: account of @queue, which is charged */
	struct tessera_account *account;
	/** @id: unique per device, for traces and debugfs; never 0 */
	u32 id;
	/**
	 * @root: root object of the VM that it is private to, which owns the
	 * shared reservation; holds a reference. NULL if the object has its own
	 * reservation
	 */
	struct drm_gem_object *root;
	/**
	 * @file: with @root or @user, the only file that may have handles;
	 * never dereferenced
	 */
	const struct drm_file *file;
	/** @flags: DRM_TESSERA_BO_* */
	u32 flags;
	/** @supported: set of segment ids that it may be in */
	u32 supported;
	/**
	 * @writable: the supported segments in which a job may write it; empty
	 * with GPU_READ_ONLY
	 */
	u32 writable;
	/** @evict_to: set of aperture segment ids preferred on eviction */
	u32 evict_to;
	/**
	 * @preferred: segment ids in order of preference: those the client
	 * asked for, then the rest of @supported
	 */
	u8 preferred[32];
	/** @num_preferred: elements of @preferred */
	u8 num_preferred;
	/** @layout: DRM_TESSERA_LAYOUT_* in memory segments */
	u32 layout;
	/** @pitch: bytes per row of a swizzled layout, else 0 */
	u32 pitch;
	/** @caching: caching of its system pages, &enum ttm_caching */
	u32 caching;
	/**
	 * @priority: its priority less DRM_TESSERA_BO_PRIORITY_MIN; changes
	 * under resv
	 */
	u8 priority;
	/**
	 * @last_use: stamp of the last submission, see
	 * tessera_residency_commit(); changes under resv
	 */
	u64 last_use;
	/**
	 * @passed: number of the last search for victims that could not evict
	 * it
	 */
	u64 passed;
	/** @hold: the hold of a submission in parts */
	struct tessera_bo_hold hold;
	/**
	 * @pins: number of pins of its pages, see tessera_residency_pin();
	 * changes under resv
	 */
	unsigned int pins;
	/** @fixed: what keeps it in its place in memory */
	struct tessera_bo_fixed fixed;
	/** @maps: its CPU mappings */
	struct tessera_bo_maps maps;
	/** @residency: its entries on residency lists */
	struct tessera_bo_residency residency;
	/** @sharing: its use by other devices */
	struct tessera_bo_sharing sharing;
	/** @user: memory of a process that backs it, or NULL */
	struct tessera_user *user;
	/** @tables: page tables of a VM that it holds, freed with it; NULL: it is a client's */
	struct tessera_pt_mem *tables;
	/** @copy: whether an eviction has to copy; under resv */
	enum tessera_copy copy;
	/**
	 * @lost: a move failed. The contents are lost, and its memory may hold
	 * the data of another object, so it cannot be used any more
	 */
	atomic_t lost;
	/**
	 * @redrawn: belongs to a kernel client that redraws it on request. It
	 * is cleared where another object would be lost
	 */
	bool redrawn;
	/** @label: name given by user space, or NULL; under resv */
	const char *label;
	/** @instance: its place in a renamed set */
	struct tessera_renamed_instance instance;
	/** @window: its CPU windows */
	struct tessera_cpu_window window;
	/** @offer: its offer state */
	struct tessera_bo_offer offer;
	/** @donor: in &tessera_retain.donors, see mem/backing.c */
	struct list_head donor;
	/** @locks: its CPU locks */
	struct tessera_bo_locks locks;
	/** @dying: its end */
	struct tessera_bo_dying dying;
	/** @dep_check: jobs that use it, for debug checks */
	struct tessera_dep_check dep_check;
	/** @num_evict_places: elements of @evict_places */
	u8 num_evict_places;
	/**
	 * @evict_places: places for its eviction, in order; the last one is
	 * system memory
	 */
	struct ttm_place evict_places[];
};

/**
 * struct tessera_bo_source - external pages or reservation of a new object
 */
struct tessera_bo_source {
	/**
	 * @root: root object of the VM that it is private to, which owns the
	 * reservation; or NULL
	 */
	struct drm_gem_object *root;
	/**
	 * @dmabuf: dma-buf that provides its pages and its reservation; or NULL
	 */
	struct dma_buf *dmabuf;
	/**
	 * @sgt: mapping of a static import; NULL if the pages are mapped when
	 * they are needed
	 */
	struct sg_table *sgt;
	/**
	 * @user: memory of the calling process, consumed even if the call
	 * fails; or NULL
	 */
	struct tessera_user *user;
	/** @locked: the reservation, the object's own, stays held if the call succeeds */
	bool locked;
};

/**
 * struct tessera_bos - objects of a handle list
 */
struct tessera_bos {
	/** @bos: the objects, with a reference each */
	struct tessera_bo **bos;
	/** @num: elements of @bos */
	u32 num;
	/**
	 * @exec: holds their reservations from tessera_bos_lock() to
	 * drm_exec_fini()
	 */
	struct drm_exec exec;
};

static inline struct tessera_bo *to_tessera_bo(struct ttm_buffer_object *tbo)
{
	return container_of(tbo, struct tessera_bo, tbo);
}

static inline struct tessera_bo *gem_to_tessera_bo(struct drm_gem_object *gem)
{
	return container_of(gem, struct tessera_bo, tbo.base);
}

static inline void tessera_bo_get(struct tessera_bo *bo)
{
	drm_gem_object_get(&bo->tbo.base);
}

static inline void tessera_bo_put(struct tessera_bo *bo)
{
	if (bo)
		drm_gem_object_put(&bo->tbo.base);
}

static inline u64 tessera_bo_bytes(const struct tessera_bo *bo)
{
	return bo->tbo.base.size;
}

/*
 * Checks whether two objects share a reservation, because both are private to
 * one VM.
 */
static inline bool tessera_bo_shares_lock(const struct tessera_bo *bo,
					  const struct tessera_bo *other)
{
	return bo->root && bo->root == other->root;
}

static inline bool tessera_bo_priority_is_valid(s32 priority)
{
	return priority >= DRM_TESSERA_BO_PRIORITY_MIN && priority <= DRM_TESSERA_BO_PRIORITY_MAX;
}

static_assert(TESSERA_VICTIM_PRIORITIES ==
	      DRM_TESSERA_BO_PRIORITY_MAX - DRM_TESSERA_BO_PRIORITY_MIN + 1);
static_assert(TESSERA_VICTIM_NORMAL == -DRM_TESSERA_BO_PRIORITY_MIN);

/*
 * Checks whether an object may be scattered over a segment. Only page tables
 * refer to such an object, and CPU accesses are resolved page by page. An
 * alignment applies to the object as a whole.
 */
static inline bool tessera_bo_may_scatter(const struct tessera_bo *bo)
{
	return (bo->root && bo->tbo.page_alignment == 1) || bo->tables;
}

/* Flags for a place in a segment. DESIRED keeps TTM from evicting. */
static inline u32 tessera_bo_place_flags(const struct tessera_bo *bo)
{
	return TTM_PL_FLAG_DESIRED | (tessera_bo_may_scatter(bo) ? 0 : TTM_PL_FLAG_CONTIGUOUS);
}

/*
 * Checks whether an object must stay at its place, for scanout or a kernel
 * mapping. The result is stable only under its reservation.
 */
static inline bool tessera_bo_is_immovable(const struct tessera_bo *bo)
{
	return READ_ONCE(bo->fixed.addr);
}

/*
 * Checks whether other files can get the object, through a dma-buf or a
 * resource.
 */
static inline bool tessera_bo_is_shared(const struct tessera_bo *bo)
{
	return READ_ONCE(bo->tbo.base.dma_buf) || READ_ONCE(bo->sharing.member);
}

/* Checks whether a VM maps an object. The caller holds its reservation. */
static inline bool tessera_bo_is_in_vm(const struct tessera_bo *bo)
{
	return !list_empty(&bo->tbo.base.gpuva.list);
}

static inline struct tessera_device *tessera_bo_device(const struct tessera_bo *bo)
{
	return to_tessera_device(bo->tbo.base.dev);
}

/*
 * Checks whether CPU mappings show only the system pages of an object. That
 * holds if a locked object may not be in memory, or if it has no CPU access of
 * its own.
 */
static inline bool tessera_bo_shows_pages_only(const struct tessera_bo *bo)
{
	return (bo->flags & (DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED)) !=
	       DRM_TESSERA_BO_CPU_ACCESS;
}

/*
 * Checks whether an object is offered and must not be used. The result is
 * stable only under its reservation.
 */
static inline bool tessera_bo_is_offered(const struct tessera_bo *bo)
{
	return READ_ONCE(bo->offer.priority);
}

/* Checks whether CPU accesses to an object are possible. */
static inline bool tessera_bo_has_view(const struct tessera_bo *bo)
{
	return (bo->flags & DRM_TESSERA_BO_CPU_ACCESS) || READ_ONCE(bo->locks.untracked);
}

/*
 * Returns NULL if there is no such handle. The caller drops the reference with
 * tessera_bo_put().
 */
static inline struct tessera_bo *tessera_bo_lookup(struct drm_file *file, u32 handle)
{
	struct drm_gem_object *gem = drm_gem_object_lookup(file, handle);

	return gem ? gem_to_tessera_bo(gem) : NULL;
}

int tessera_bos_lookup(struct tessera_bos *bos, struct drm_file *file, const void *list,
		       size_t stride, u32 num);
int tessera_bos_lock(struct tessera_bos *bos, struct tessera_bo *first);
void tessera_bos_put(struct tessera_bos *bos);

int tessera_bo_init_registry(struct tessera_device *tdev);
void tessera_bo_wait_destroyed(struct tessera_device *tdev, u32 id);
struct tessera_bo *tessera_bo_next(struct tessera_device *tdev, u32 id);
bool tessera_bo_next_dying(struct tessera_device *tdev, u32 *id, struct tessera_bo **bo);
u32 tessera_bo_id_at(struct tessera_device *tdev, u64 addr);
bool tessera_bo_is_tessera(const struct ttm_buffer_object *tbo);

struct tessera_bo *tessera_bo_create(struct tessera_device *tdev,
				     struct tessera_paging_queue *queue,
				     const struct drm_gem_object_funcs *funcs,
				     const struct drm_tessera_bo_create *args,
				     const struct tessera_bo_source *from);

/* The results are valid while the reservation is held. */
const struct tessera_segment *tessera_bo_segment(struct tessera_bo *bo);
struct tessera_placement *tessera_bo_placement(struct tessera_bo *bo);
u64 tessera_bo_segment_offset(struct tessera_bo *bo);
u64 tessera_bo_gpu_addr(struct tessera_bo *bo);

int tessera_bo_enter(struct tessera_bo *bo, bool interruptible, int *idx);
void tessera_bo_exit(struct tessera_bo *bo, int idx);

u32 tessera_bo_page_segments(const struct tessera_bo *bo, bool write);
u32 tessera_bo_allowed(const struct tessera_bo *bo, bool write);
void tessera_bo_make_immovable(struct tessera_bo *bo);
void tessera_bo_make_movable(struct tessera_bo *bo);
int tessera_bo_to_system(struct tessera_bo *bo, struct ttm_operation_ctx *ctx);
int tessera_bo_drop_pages(struct tessera_bo *bo, struct ttm_operation_ctx *ctx);
int tessera_bo_forget_pages(struct tessera_bo *bo);
void tessera_bo_unmap_pages(struct tessera_bo *bo, u64 first, u64 pages);
void tessera_bo_evict_places(struct tessera_bo *bo, struct ttm_placement *placement);

/* mem/backing.c */

/**
 * struct tessera_retain - spare system pages of objects in memory segments
 */
struct tessera_retain {
	/** @pages: number of retained pages */
	atomic_long_t pages;
	/**
	 * @limit: limit of @pages, which pages in use may exceed; a debugfs
	 * knob
	 */
	unsigned long limit;
	/**
	 * @keep_copy: page-in leaves the copy in the pages valid; a debugfs
	 * knob
	 */
	bool keep_copy;
	/** @trim: frees pages above @limit */
	struct delayed_work trim;
	/**
	 * @decommits: work items of mem/offer.c, one after the other. They wait
	 * for reservations, so they would fill a shared workqueue
	 */
	struct workqueue_struct *decommits;
	/**
	 * @lock: protects the following members; taken with a reservation held,
	 * and in reclaim
	 */
	struct mutex lock;
	/** @donors: objects that may have pages for the shrinker, &tessera_bo.donor */
	struct list_head donors;
	/** @donated: upper bound of their pages */
	unsigned long donated;
};

/**
 * enum tessera_page_use - accesses of one side since the last use by the other
 */
enum tessera_page_use {
	/** @TESSERA_PAGES_UNUSED: no access */
	TESSERA_PAGES_UNUSED,
	/** @TESSERA_PAGES_READ: read, or mapped for reading */
	TESSERA_PAGES_READ,
	/** @TESSERA_PAGES_WRITTEN: possibly written */
	TESSERA_PAGES_WRITTEN,
	/** @TESSERA_PAGES_NEW: new pages, cleared or written by the kernel */
	TESSERA_PAGES_NEW,
};

/**
 * struct tessera_page_users - accesses to the pages of an object, see
 * mem/coherence.c
 */
struct tessera_page_users {
	/** @cpu: accesses of the CPU since the last use by the device */
	enum tessera_page_use cpu;
	/** @gpu: accesses of the device since the last use by the CPU */
	enum tessera_page_use gpu;
	/**
	 * @unseen: jobs may have written the pages without maintenance by the
	 * kernel, see mem/coherence.c
	 */
	bool unseen;
};

int tessera_backing_init(struct tessera_device *tdev);

struct ttm_tt *tessera_backing_create(struct ttm_buffer_object *tbo, u32 page_flags);
int tessera_backing_fill(struct ttm_device *bdev, struct ttm_tt *tt,
			 struct ttm_operation_ctx *ctx);
int tessera_backing_set_user(struct tessera_bo *bo, const unsigned long *pfns,
			     enum dma_data_direction dir);
void tessera_backing_destroy(struct ttm_device *bdev, struct ttm_tt *tt);
void tessera_backing_unpopulate(struct ttm_device *bdev, struct ttm_tt *tt);

bool tessera_backing_has_bytes(struct tessera_bo *bo);
int tessera_backing_populate(struct tessera_bo *bo, struct ttm_operation_ctx *ctx);
int tessera_backing_refill(struct tessera_bo *bo);
void tessera_backing_retain(struct tessera_bo *bo, struct dma_fence *reader);
bool tessera_backing_is_retained(struct tessera_bo *bo);
bool tessera_backing_is_read(struct tessera_bo *bo);
u64 tessera_backing_first_page(struct tessera_bo *bo);
const struct tessera_pages *tessera_backing_list(struct tessera_bo *bo);
struct tessera_page_users *tessera_backing_users(struct tessera_bo *bo);
bool tessera_backing_is_private(struct tessera_bo *bo);
void tessera_backing_detach(struct tessera_bo *bo);
void tessera_backing_lose(struct tessera_bo *bo);
void tessera_backing_clear_new(struct tessera_bo *bo);
void tessera_backing_use(struct tessera_bo *bo);
void tessera_backing_drop(struct tessera_bo *bo);
bool tessera_backing_is_disposable(const struct tessera_bo *bo);
void tessera_backing_add_donor(struct tessera_bo *bo);
void tessera_backing_forget(struct tessera_bo *bo);

/* mem/coherence.c */
bool tessera_coherence_tracks(const struct tessera_bo *bo);
void tessera_coherence_for_device(struct tessera_bo *bo, bool write);
void tessera_coherence_for_job(struct tessera_bo *bo, bool write);
void tessera_coherence_for_cpu_pages(struct tessera_bo *bo, u32 first, u32 pages, bool write);
void tessera_coherence_for_cpu(struct tessera_bo *bo, bool write);
void tessera_coherence_for_swap(struct tessera_bo *bo);
void tessera_coherence_release(struct tessera_device *tdev, const struct ttm_tt *tt,
			       struct tessera_page_users *users);
void tessera_coherence_flush(struct tessera_bo *bo, u64 offset, u64 bytes);
void tessera_coherence_device_resets(struct tessera_bo *bo);
void tessera_coherence_print(struct tessera_bo *bo, struct drm_printer *p);

/* Debug builds: warns about CPU mappings of pages that were just unmapped. */
static inline void tessera_stale_map_check_part(struct tessera_bo *bo, u64 first, u64 pages)
{
	if (atomic_read(&bo->maps.num_vmas))
		tessera_stale_map_check_pages(&bo->tbo, bo->id, first, pages);
}

static inline void tessera_stale_map_check(struct tessera_bo *bo)
{
	tessera_stale_map_check_part(bo, 0, tessera_bo_bytes(bo) >> PAGE_SHIFT);
}

/* mem/move.c */
int tessera_move_to(struct tessera_bo *bo, struct ttm_operation_ctx *ctx,
		    struct ttm_resource *new_mem, struct ttm_place *hop);
int tessera_move_rebind(struct tessera_bo *bo);
int tessera_move_within(struct tessera_bo *bo, u64 offset);

/* mem/hold.c */
u64 tessera_holder(struct tessera_bo *bo);
void tessera_hold_take(struct tessera_bo *bo, u64 stamp, unsigned long until);
void tessera_hold_drop(struct tessera_bo *bo, u64 stamp);
bool tessera_hold_has_older(struct tessera_bo *bo, u64 stamp);
void tessera_hold_changed(struct tessera_device *tdev);

/* mem/victims.c */

/**
 * struct tessera_block - an occupied extent of a segment
 *
 * A snapshot: only the reference to @bo stays valid. All blocks of an object
 * are evicted together.
 */
struct tessera_block {
	/** @start: byte offset in the segment */
	u64 start;
	/** @size: bytes */
	u64 size;
	/**
	 * @bo: the object, with a reference; NULL if it is being destroyed, or
	 * was moved away
	 */
	struct tessera_bo *bo;
	/** @bo_id: id of @bo, 0 if that is NULL */
	u32 bo_id;
	/**
	 * @first: index of the first block of the same object, which has the
	 * valid state
	 */
	u32 first;
	/** @total: bytes of all blocks of the object */
	u64 total;
	/** @pinned: immovable or dying: neither moved nor evicted */
	bool pinned;
	/** @held: a submission in parts holds it */
	bool held;
	/** @busy: an unfinished job may use it */
	bool busy;
	/** @listed: has a residency entry */
	bool listed;
	/**
	 * @offer: DRM_TESSERA_OFFER_* if its contents may be dropped, else 0
	 */
	u8 offer;
	/** @priority: &tessera_bo.priority */
	u8 priority;
	/** @clean: can be evicted without a copy */
	bool clean;
	/** @last_use: stamp of the last submission that used it */
	u64 last_use;
	/**
	 * @owner: index of the charged process in &tessera_blocks.owners;
	 * %TESSERA_VICTIM_NO_OWNER without @bo
	 */
	u32 owner;
	/** @tier: &enum tessera_victim_tier, set by tessera_victims_rank() */
	u8 tier;
	/**
	 * @rank: order of eviction, lowest first; set by tessera_victims_rank()
	 */
	u32 rank;
};

/**
 * struct tessera_blocks - all occupied extents of a segment, in offset order
 */
struct tessera_blocks {
	/** @block: the extents */
	struct tessera_block *block;
	/** @num: elements of @block */
	u32 num;
	/** @owners: the charged processes; the last element is the requester */
	struct tessera_victim_owner *owners;
	/** @num_owners: elements of @owners */
	u32 num_owners;
};

/**
 * struct tessera_space_rules - constraints on evictions for an object, and
 * results of a search
 */
struct tessera_space_rules {
	/**
	 * @evictions: number of objects that may still be evicted or relocated
	 */
	u32 evictions;
	/**
	 * @compact: objects may be relocated if there is enough space, but no
	 * gap. The caller looks at @contended and @fence, and calls
	 * tessera_victims_clear()
	 */
	bool compact;
	/**
	 * @passes: ignore holds and claims; the holder finds another place.
	 * Objects with residency entries, or within the share of their owner,
	 * are evicted, too, but last
	 */
	bool passes;
	/**
	 * @ticket: reservations locked with it count as free, even if they are
	 * shared by several objects; may be NULL
	 */
	struct ww_acquire_ctx *ticket;
	/**
	 * @spares: returns true for an object that must not be evicted; takes
	 * no locks; may be NULL
	 */
	bool (*spares)(struct tessera_bo *bo, void *data);
	/** @data: argument of @spares */
	void *data;
	/**
	 * @requester: the client that needs the space; other clients are asked
	 * to trim before their listed objects are taken. NULL: they are not
	 */
	struct tessera_account *requester;
	/**
	 * @asked: set by a search that asked a client to trim; it returns
	 * -EINPROGRESS
	 */
	bool asked;
	/**
	 * @dying: set by a search that finds an object that is being destroyed
	 */
	bool dying;
	/**
	 * @held: set by a search that finds an object held by a submission in
	 * parts
	 */
	bool held;
	/**
	 * @contended: with @compact, an object in the way, locked by another
	 * thread; a reference, or NULL
	 */
	struct tessera_bo *contended;
	/**
	 * @fence: with @compact, a fence to wait for before an object can be
	 * relocated; a reference, or NULL
	 */
	struct dma_fence *fence;
	/**
	 * @blocker: receives the reason if the object may not come yet, see
	 * tessera_residency_move_in()
	 */
	struct tessera_blocker *blocker;
};

int tessera_victims_collect(struct tessera_account *requester, const struct tessera_segment *seg,
			    struct tessera_blocks *blocks);
void tessera_victims_put(struct tessera_blocks *blocks);
int tessera_victims_rank(u64 want, struct tessera_blocks *blocks);
int tessera_victims_evict(struct tessera_bo *bo, u32 reason);
int tessera_victims_empty(struct tessera_device *tdev, u32 ids);
int tessera_victims_available(struct tessera_bo *bo, const struct tessera_segment *seg, u64 want,
			      struct tessera_space_rules *rules, u64 *available);
bool tessera_victims_may_lock(struct tessera_bo *bo, struct tessera_space_rules *rules);
bool tessera_victims_lock(struct tessera_bo *bo, struct tessera_space_rules *rules, bool *locked);
void tessera_victims_unlock(struct tessera_bo *bo, bool locked);
int tessera_victims_make_bytes(struct tessera_bo *bo, const struct tessera_segment *seg,
			       struct tessera_space_rules *rules);
void tessera_victims_clear(struct tessera_space_rules *rules);
int tessera_victims_make_gap(struct tessera_bo *bo, const struct tessera_segment *seg,
			     struct tessera_space_rules *rules, u64 *start);

/* mem/order.c */

/**
 * struct tessera_walk - a walk through the placements of a segment in the order
 * of eviction
 */
struct tessera_walk {
	/** @mgr: the manager of the segment, locked while the walk lasts */
	struct tessera_manager *mgr;
	/** @wish: the requester and its demand */
	struct tessera_victim_wish wish;
	/** @rules: constraints on evictions */
	struct tessera_space_rules *rules;
	/** @pass: objects with this number in &tessera_bo.passed are skipped */
	u64 pass;
	/** @last: the last &enum tessera_victim_tier that the walk visits */
	u8 last;
};

struct tessera_account *tessera_order_describe(struct ttm_buffer_object *tbo,
					       struct tessera_placement *placement);
void tessera_order_update(struct tessera_bo *bo);
void tessera_order_begin_locked(struct tessera_walk *walk, struct tessera_manager *mgr,
				struct tessera_bo *bo, u64 want,
				struct tessera_space_rules *rules, u64 pass);
struct tessera_placement *tessera_order_next_locked(struct tessera_walk *walk);

/* mem/ttm.c */
int tessera_ttm_init(struct tessera_device *tdev);
void tessera_ttm_lose_memory(struct tessera_device *tdev);
void tessera_ttm_revoke_imports(struct tessera_bo *bo);
int tessera_ttm_leave_aperture(struct tessera_bo *bo);

/* mem/unplug.c */
int tessera_unplug_init(struct tessera_device *tdev);
bool tessera_unplug_import_begin(struct tessera_device *tdev);
bool tessera_unplug_import_end(struct tessera_device *tdev, struct tessera_bo *bo, bool named);
void tessera_unplug_objects(struct tessera_device *tdev);

/* mem/compact.c */
int tessera_compact(struct tessera_bo *bo, const struct tessera_segment *seg,
		    struct tessera_space_rules *rules, u64 *start);

/* mem/residency.c */

/* Moves of a call, in or out, before other clients have a turn. */
#define TESSERA_ROUND_MOVES	512U

/*
 * Kernel memory of a move: paging job, indirect buffer and page list, for the
 * object and for a victim.
 */
#define TESSERA_MOVE_BYTES	(10 * 1024L)

/**
 * struct tessera_blocker - the reason why an object may not come to a segment
 * yet
 *
 * Either fences or an object. The caller resolves it with no lock held, see
 * tessera_residency_unblock().
 */
struct tessera_blocker {
	/** @foreign: foreign fences to wait for */
	struct tessera_fences foreign;
	/**
	 * @bo: an object that needs a call to another device, which has to
	 * release or provide its pages; a reference, or NULL
	 */
	struct tessera_bo *bo;
};

bool tessera_residency_segment_serves(struct tessera_bo *bo, const struct tessera_segment *seg,
				      bool write);
int tessera_residency_serves(struct tessera_bo *bo, bool write);
int tessera_residency_validate(struct tessera_bo *bo, bool write,
			       struct tessera_space_rules *rules);
int tessera_residency_move_in(struct tessera_bo *bo, const struct tessera_segment *seg, bool evict,
			      struct tessera_space_rules *rules);
int tessera_residency_place(struct tessera_bo *bo, bool write, u32 segment_id, u64 offset,
			    struct tessera_blocker *blocker);
int tessera_residency_foreign(struct tessera_bo *bo, enum dma_resv_usage usage,
			      struct tessera_fences *found);
int tessera_residency_may_come(struct tessera_bo *bo, const struct tessera_segment *seg,
			       struct tessera_blocker *blocker);
int tessera_residency_fence(const struct tessera_bos *bos, struct dma_fence **fence);
int tessera_residency_request_pages(struct tessera_bo *bo, bool interruptible);
int tessera_residency_unblock(struct tessera_device *tdev, struct tessera_blocker *blocker,
			      enum tessera_wait_row row, long timeout);
void tessera_blocker_clear(struct tessera_blocker *blocker);
bool tessera_residency_can_lend(struct tessera_bo *bo);
int tessera_residency_lend(struct tessera_bo *bo);
int tessera_residency_pin(struct tessera_bo *bo);
void tessera_residency_unpin(struct tessera_bo *bo);
void tessera_residency_written(struct tessera_bo *bo);
void tessera_residency_writable(struct tessera_bo *bo);
void tessera_residency_commit(struct tessera_bo *bo, bool write, u64 stamp);
u64 tessera_residency_next_stamp(struct tessera_device *tdev);

/* mem/scanout.c */

/* How long scanout waits for objects that are being destroyed or drawn into. */
#define TESSERA_PASSING_TIMEOUT_MS	1000

bool tessera_scanout_possible(struct tessera_bo *bo);
bool tessera_scanout_is_placed(struct tessera_bo *bo);
int tessera_scanout_pin(struct tessera_bo *bo, struct drm_file *file);
void tessera_scanout_unpin(struct tessera_bo *bo);
int tessera_scanout_hold(struct tessera_bo *bo);
void tessera_scanout_drop(struct tessera_bo *bo);
bool tessera_scanout_bar_offset(struct tessera_bo *bo, u64 *offset);

/* mem/offer.c */
int tessera_offer(struct drm_file *file, const struct drm_tessera_offer_bo *list, u32 num,
		  u32 priority, bool give_up);
int tessera_reclaim(struct drm_file *file, struct drm_tessera_reclaim_bo *list, u32 num,
		    struct dma_fence **fence);
void tessera_offer_work(struct work_struct *work);

#endif /* __TESSERA_MEM_H__ */
