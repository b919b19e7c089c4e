/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_BO_H__
#define __TESSERA_BO_H__

#include <linux/atomic.h>
#include <linux/types.h>

#include <drm/drm_exec.h>
#include <drm/drm_gem.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>

#include <drm/tessera_drm.h>

#include "exec/trail.h"
#include "mem/borrow.h"
#include "mem/instance.h"
#include "segments/account.h"
#include "tessera_device.h"

struct dma_buf;
struct dma_buf_attachment;
struct drm_file;
struct sg_table;
struct tessera_device;
struct tessera_paging_queue;	/* paging/queue.c */
struct tessera_range;		/* segments/manager.h */
struct tessera_segment;		/* segments/segment.h */
struct tessera_user;		/* mem/user.h */

/**
 * struct tessera_bo_locks - who has locked an object for CPU access, see cpu/locks.c
 */
struct tessera_bo_locks {
	/** @lock: protects what follows */
	spinlock_t lock;
	/** @files: open files that have locked it, with a count each */
	struct list_head files;
	/** @held: sum of the counts; of a swizzled layout it changes under resv only */
	u64 held;
	/**
	 * @untracked: of those, locks by Lock2; where they change what the CPU sees, it changes under
	 * resv only, and else grows there
	 */
	u64 untracked;
	/** @raw: those are for the bytes as they lie in memory, not in linear order; under resv */
	bool raw;
};

/**
 * struct tessera_bo_offer - what an object's client can do without, see mem/offer.c
 */
struct tessera_bo_offer {
	/** @priority: DRM_TESSERA_OFFER_*, or 0: not offered; changes under resv */
	u32 priority;
	/** @lost: the contents were dropped; under resv */
	bool lost;
	/** @seen: a list being looked at has named it; under resv */
	bool seen;
	/** @counted: it is in &tessera_retain.offered; under &tessera_retain.lock */
	bool counted;
};

/*
 * Times others may take what shows an object before it goes to system memory: an instruction that copies
 * from one object to another, where only one can be seen at a time, would take turns with itself for ever.
 */
#define TESSERA_WINDOW_MAX_LOSSES	16

/**
 * struct tessera_cpu_window - what shows an object to the CPU, see cpu/window.c
 */
struct tessera_cpu_window {
	/** @node: in the host aperture's list, if there are pages */
	struct list_head node;
	/** @pages: numbers of its pages of the host aperture, or NULL; changes under resv */
	u32 *pages;
	/** @num_pages: elements of @pages */
	u32 num_pages;
	/** @num_ranges: swizzling ranges it has, see cpu/swizzle_range.c; changes under resv */
	u32 num_ranges;
	/** @losses: how often others have taken from these since it came to its place; under resv */
	u32 losses;
};

/**
 * struct tessera_lending - a device that is told when an object's pages change
 */
struct tessera_lending {
	/** @node: in &tessera_bo.lendings */
	struct list_head node;
	/** @attach: how it is attached */
	struct dma_buf_attachment *attach;
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
	/** @queue: where its paging is queued; holds a reference */
	struct tessera_paging_queue *queue;
	/** @account: who pays; @queue's */
	struct tessera_account *account;
	/** @id: unique per device, for traces and debugfs; never 0 */
	u32 id;
	/**
	 * @root: of the VM it is private to, which has the reservation of all such; a
	 * reference. NULL: the object's reservation is its own
	 */
	struct drm_gem_object *root;
	/** @file: with @root or @user: the only one that may have handles of it; not to be followed */
	const struct drm_file *file;
	/** @flags: DRM_TESSERA_BO_* */
	u32 flags;
	/** @supported: set of segment ids it may live in */
	u32 supported;
	/** @evict_to: set of aperture segment ids to prefer on eviction */
	u32 evict_to;
	/** @preferred: segment ids in order: those asked for, then the rest of @supported */
	u8 preferred[32];
	/** @num_preferred: elements of @preferred */
	u8 num_preferred;
	/** @layout: DRM_TESSERA_LAYOUT_* in memory segments */
	u32 layout;
	/** @pitch: bytes per row of a swizzled layout, else 0 */
	u32 pitch;
	/** @caching: of system pages, &enum ttm_caching */
	u32 caching;
	/** @last_use: submission stamp, see tessera_residency_commit(); under resv */
	u64 last_use;
	/** @passed: the search for victims that it resisted, see tessera_order_pass() */
	u64 passed;
	/** @holder: stamp of the submission in parts that relies on its place, see tessera_holder() */
	atomic64_t holder;
	/** @held_until: when that is over at the latest, in jiffies */
	unsigned long held_until;
	/** @pins: who uses its pages, see tessera_residency_pin(); under resv */
	unsigned int pins;
	/** @shown: how often it has been pinned to be scanned out, see mem/scanout.c; under resv */
	unsigned int shown;
	/** @mapped: how often the kernel has mapped it where it is, see cpu/vmap.c; under resv */
	unsigned int mapped;
	/** @fixed_at: GPU address while it is fixed, else 0; changes under resv */
	u64 fixed_at;
	/** @dummy: page that mappings show since the device is gone, or NULL; under resv */
	struct page *dummy;
	/** @nowhere: what the kernel has mapped since the device is gone, see cpu/vmap.c; or NULL; under resv */
	void *nowhere;
	/** @listed: how often it is in residency lists, see vm/resident.c; under resv */
	u64 listed;
	/** @listings: those lists, &struct tessera_listing; under resv */
	struct list_head listings;
	/** @num_vmas: CPU mappings */
	atomic_t num_vmas;
	/** @dmabuf: whose pages it has, another device's; a reference. NULL: its own */
	struct dma_buf *dmabuf;
	/** @borrow: how it has them */
	struct tessera_borrow borrow;
	/** @lendings: to other devices that are told when the pages change, see cpu/dmabuf.c; under resv */
	struct list_head lendings;
	/** @lent: one of those may use the pages; under resv */
	bool lent;
	/** @user: whose memory it is, a process's; NULL: it is no user memory */
	struct tessera_user *user;
	/**
	 * @exported: it was, once, or was imported; so others may have put fences into its
	 * reservation
	 */
	bool exported;
	/** @copy_valid: system pages hold the bytes of a memory segment too; under resv */
	bool copy_valid;
	/**
	 * @lost: a move failed, so that the contents are gone and what the object's
	 * memory holds may be another's: it cannot be used any more
	 */
	atomic_t lost;
	/**
	 * @redrawn: a client inside the kernel has it, which draws all of it again when asked to: it is
	 * empty where another one would be lost with its memory
	 */
	bool redrawn;
	/** @label: what user space calls it, or NULL; under resv */
	const char *label;
	/** @instance: what it took the place of, and what takes its place */
	struct tessera_instance instance;
	/** @window: what shows it to the CPU, where it takes one */
	struct tessera_cpu_window window;
	/** @offer: whether its contents may be dropped */
	struct tessera_bo_offer offer;
	/** @donor: in &tessera_retain.donors, see mem/backing.c */
	struct list_head donor;
	/** @locks: CPU access */
	struct tessera_bo_locks locks;
	/** @trail: jobs that use it */
	struct tessera_trail trail;
	/** @evict_places: where it goes on eviction, in order; the last is system memory */
	struct ttm_place evict_places[TESSERA_MAX_MANAGED_SEGMENTS + 1];
	/** @num_evict_places: elements of @evict_places */
	u8 num_evict_places;
};

/**
 * struct tessera_bos - objects that a call names
 */
struct tessera_bos {
	/** @bos: the objects, with a reference each */
	struct tessera_bo **bos;
	/** @num: elements of @bos */
	u32 num;
	/** @exec: holds their reservations between tessera_bos_lock() and drm_exec_fini() */
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
	drm_gem_object_put(&bo->tbo.base);
}

static inline u64 tessera_bo_bytes(const struct tessera_bo *bo)
{
	return bo->tbo.base.size;
}

/* Whether the lock of the one is that of the other, as both are private to one VM. */
static inline bool tessera_bo_shares_lock(const struct tessera_bo *bo,
					  const struct tessera_bo *other)
{
	return bo->root && bo->root == other->root;
}

/*
 * Whether any pages of a segment are good for it: only page tables lead to it, and what the CPU sees it sees page by
 * page.
 */
static inline bool tessera_bo_may_scatter(const struct tessera_bo *bo)
{
	return bo->root;
}

/* How to ask for a place in a segment: as it is, without TTM making room. */
static inline u32 tessera_bo_place_flags(const struct tessera_bo *bo)
{
	return TTM_PL_FLAG_DESIRED | (tessera_bo_may_scatter(bo) ? 0 : TTM_PL_FLAG_CONTIGUOUS);
}

/* Whether it stays where it is, as it is scanned out; final only under its reservation. */
static inline bool tessera_bo_is_fixed(const struct tessera_bo *bo)
{
	return READ_ONCE(bo->fixed_at);
}

/* Whether a VM maps it; its reservation is held. */
static inline bool tessera_bo_is_in_vm(const struct tessera_bo *bo)
{
	return !list_empty(&bo->tbo.base.gpuva.list);
}

static inline struct tessera_device *tessera_bo_device(const struct tessera_bo *bo)
{
	return to_tessera_device(bo->tbo.base.dev);
}

/*
 * Whether the CPU sees the system pages of an object only: what may not be in memory to be locked, or
 * has no CPU access of its own.
 */
static inline bool tessera_bo_shows_pages_only(const struct tessera_bo *bo)
{
	return (bo->flags & (DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED)) !=
	       DRM_TESSERA_BO_CPU_ACCESS;
}

/* Whether an object is offered, and not to be used; final only under its reservation. */
static inline bool tessera_bo_is_offered(const struct tessera_bo *bo)
{
	return READ_ONCE(bo->offer.priority);
}

/* Whether mappings of an object show anything. */
static inline bool tessera_bo_has_view(const struct tessera_bo *bo)
{
	return (bo->flags & DRM_TESSERA_BO_CPU_ACCESS) || READ_ONCE(bo->locks.untracked);
}

/* NULL if there is no such handle; drop with tessera_bo_put(). */
static inline struct tessera_bo *tessera_bo_lookup(struct drm_file *file, u32 handle)
{
	struct drm_gem_object *gem = drm_gem_object_lookup(file, handle);

	return gem ? gem_to_tessera_bo(gem) : NULL;
}

int tessera_bos_lookup(struct tessera_bos *bos, struct drm_file *file, const void *list,
		       size_t stride, u32 num);
int tessera_bos_lock(struct tessera_bos *bos);
void tessera_bos_put(struct tessera_bos *bos);

struct tessera_bo *tessera_bo_next(struct tessera_device *tdev, u32 id);
bool tessera_bo_next_dying(struct tessera_device *tdev, u32 *id, struct tessera_bo **bo);
u32 tessera_bo_id_at(struct tessera_device *tdev, u64 addr);
bool tessera_bo_is_tessera(const struct ttm_buffer_object *tbo);

struct tessera_bo *tessera_bo_create(struct tessera_device *tdev,
				     struct tessera_paging_queue *queue,
				     const struct drm_gem_object_funcs *funcs,
				     const struct drm_tessera_bo_create *args,
				     struct drm_gem_object *root);

struct tessera_bo *tessera_bo_import(struct tessera_device *tdev,
				     struct tessera_paging_queue *queue,
				     const struct drm_gem_object_funcs *funcs,
				     const struct drm_tessera_bo_create *args,
				     struct dma_buf *dmabuf, struct sg_table *sgt);

struct tessera_bo *tessera_bo_create_user(struct tessera_device *tdev,
					  struct tessera_paging_queue *queue,
					  const struct drm_gem_object_funcs *funcs,
					  const struct drm_tessera_bo_create *args,
					  struct tessera_user *user);

/* Both valid while the reservation is held. */
const struct tessera_segment *tessera_bo_segment(struct tessera_bo *bo);
struct tessera_range *tessera_bo_range(struct tessera_bo *bo);
u64 tessera_bo_segment_offset(struct tessera_bo *bo);
u64 tessera_bo_gpu_addr(struct tessera_bo *bo);

int tessera_bo_enter(struct tessera_bo *bo, int *idx);
int tessera_bo_enter_anyway(struct tessera_bo *bo, int *idx);
void tessera_bo_exit(struct tessera_bo *bo, int idx);

u32 tessera_bo_serving_apertures(const struct tessera_bo *bo, bool write);
u32 tessera_bo_apertures(const struct tessera_bo *bo);
u32 tessera_bo_allowed(const struct tessera_bo *bo, bool write);
bool tessera_bo_can_write_somewhere(struct tessera_bo *bo);
void tessera_bo_fix(struct tessera_bo *bo);
void tessera_bo_unfix(struct tessera_bo *bo);
void tessera_bo_evict_placement(struct tessera_bo *bo, struct ttm_placement *placement);

#endif /* __TESSERA_BO_H__ */
