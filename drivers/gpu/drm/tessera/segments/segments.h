/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Interface of segments/: placements in device memory. */
#ifndef __TESSERA_SEGMENTS_H__
#define __TESSERA_SEGMENTS_H__

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/sizes.h>
#include <linux/types.h>

#include <drm/drm_mm.h>
#include <drm/ttm/ttm_resource.h>

#include <tessera/tessera_hw.h>

#include "client/client.h"
#include "pure/segment_desc.h"
#include "pure/victim.h"

struct dma_fence;
struct eventfd_ctx;
struct drm_printer;
struct task_struct;
struct tessera_budget_watch;	/* budget.c */
struct tessera_fences;		/* exec/exec.h */
struct tessera_placement;	/* manager.c */

/* segments/space.c */

/**
 * enum tessera_space_event - why there may be free space now
 * @TESSERA_SPACE_FREED: a placement was freed, for example by a destroyed
 * object
 * @TESSERA_SPACE_RELEASED: a submission in parts released objects it had held
 * @TESSERA_SPACE_UNCLAIMED: the claim of a segment has ended
 * @TESSERA_SPACE_TRIMMED: a client that is told what to trim has removed objects
 * from a residency list
 * @TESSERA_SPACE_EVENTS: number of events
 */
enum tessera_space_event {
	TESSERA_SPACE_FREED,
	TESSERA_SPACE_RELEASED,
	TESSERA_SPACE_UNCLAIMED,
	TESSERA_SPACE_TRIMMED,
	TESSERA_SPACE_EVENTS,
};

int tessera_space_events_init(struct tessera_device *tdev);
u32 tessera_space_event_count(struct tessera_device *tdev, enum tessera_space_event event);
void tessera_space_signal(struct tessera_device *tdev, enum tessera_space_event event);
void tessera_space_signal_all(struct tessera_device *tdev);
int tessera_space_wait_timeout(struct tessera_device *tdev, enum tessera_space_event event,
			       u32 seen, unsigned int state, long timeout);

/* segments/segment.c */

/* TTM memory type of segments that show pages; that of VRAM is TTM_PL_VRAM. */
#define TESSERA_PL_PAGES	TTM_PL_PRIV

/**
 * struct tessera_segment - one segment descriptor and its place in TTM
 *
 * Constant after probe (SEG-4).
 */
struct tessera_segment {
	/** @index: position in &tessera_segments.seg */
	u32 index;
	/** @id: hardware id, 1 .. 31 */
	u32 id;
	/** @flags: TSR_SEGF_* */
	u32 flags;
	/** @mem_type: TTM memory type of its kind of segment */
	u32 mem_type;
	/**
	 * @first_page: its first page in TTM's numbering, which spans all
	 * segments
	 */
	u32 first_page;
	/** @base: GPU address of the first byte */
	u64 base;
	/** @size: bytes */
	u64 size;
	/** @commit: limit of bytes that may be resident */
	u64 commit;
	/** @cpu_offset: offset in BAR 2, if CPU visible */
	u64 cpu_offset;
	/** @page_size: granularity of placements, in bytes */
	u32 page_size;
	/** @name: name given by the device */
	char name[TSR_SEG_NAME_BYTES];
};

/**
 * struct tessera_segments - all segments, in id order
 */
struct tessera_segments {
	/** @num: used elements of @seg */
	u32 num;
	/** @seg: the segments */
	struct tessera_segment seg[TESSERA_MAX_SEGMENTS];
	/** @desc: the same, for the checks in pure/ */
	struct tessera_segment_desc desc[TESSERA_MAX_SEGMENTS];
	/** @bar_base: CPU bus address of BAR 2 */
	u64 bar_base;
	/**
	 * @manager: the manager of each segment; &struct tessera_manager.seg
	 * points back
	 */
	struct tessera_manager *manager[TESSERA_MAX_SEGMENTS];
	/** @vram: TTM's manager of segments in VRAM */
	struct ttm_resource_manager vram;
	/** @pages: TTM's manager of segments that show pages */
	struct ttm_resource_manager pages;
};

int tessera_segment_init(struct tessera_device *tdev);

u32 tessera_segment_count(struct tessera_device *tdev);
const struct tessera_segment *tessera_segment_by_index(struct tessera_device *tdev, u32 index);
const struct tessera_segment *tessera_segment_by_id(struct tessera_device *tdev, u32 id);
struct ttm_place tessera_segment_place(const struct tessera_segment *seg, u64 start, u64 end,
				       u32 flags);
u32 tessera_segment_with(struct tessera_device *tdev, u32 set, u32 mask, u32 flags);

static inline bool tessera_segment_is_aperture(const struct tessera_segment *seg)
{
	return seg->flags & TSR_SEGF_APERTURE;
}

/*
 * Apertures and UMA segments show the system pages of their objects. VRAM holds
 * bytes of its own. NULL stands for system memory, which is neither.
 */
static inline bool tessera_segment_shows_pages(const struct tessera_segment *seg)
{
	return seg && (seg->flags & (TSR_SEGF_APERTURE | TSR_SEGF_UMA));
}

static inline bool tessera_segment_is_vram(const struct tessera_segment *seg)
{
	return seg && !tessera_segment_shows_pages(seg);
}

static inline bool tessera_segment_cpu_visible(const struct tessera_segment *seg)
{
	return !tessera_segment_is_aperture(seg) && (seg->flags & TSR_SEGF_CPU_VISIBLE);
}

/* segments/budget.c */
int tessera_budget_init(struct tessera_device *tdev);
u64 tessera_budget_sum(struct tessera_account *account, u32 indexes);
int tessera_budget_watch(struct tessera_device *tdev, struct tessera_budget_watch **watch,
			 struct tessera_account *account, u32 indexes,
			 struct eventfd_ctx *eventfd);
void tessera_budget_unwatch(struct tessera_device *tdev, struct tessera_budget_watch **watch);

void tessera_budget_report(struct tessera_device *tdev, bool now);

/* segments/trim.c */

struct tessera_placement;

/**
 * struct tessera_trim_state - what a client should trim
 */
struct tessera_trim_state {
	/** @over: listed bytes above its fair share */
	u64 over;
	/** @idle: listed bytes in segments that it does not use */
	u64 idle;
	/** @wanted: listed bytes that another client asks for */
	u64 wanted;
	/** @wishes: number of wishes so far, if there is one now */
	u32 wishes;
};

void tessera_trim_fill(struct tessera_account *account, u32 indexes,
		       struct tessera_trim_state *trim);
bool tessera_trim_request(struct tessera_account *requester,
			  const struct tessera_placement *placement);
bool tessera_trim_wish(struct tessera_account *requester, u32 indexes, u64 bytes, bool first);
void tessera_trim_changed(struct tessera_account *account);
int tessera_trim_wait(struct tessera_account *requester, u32 seen, unsigned int state);

/* segments/manager.c */

/*
 * Fills in the keys of the order of eviction: &tessera_placement.last_use,
 * offer, listed, trimmable and priority. Returns the account that is charged for the placement,
 * without a reference.
 */
typedef struct tessera_account *(*tessera_manager_describe_t)(struct ttm_buffer_object *tbo,
							      struct tessera_placement *placement);

/*
 * In &ttm_place.flags, beside TTM's own: ignore another thread's claim of the
 * segment. The claiming submission then plans again.
 */
#define TESSERA_PLACE_PASSES	BIT(31)

/* Colours of drm_mm nodes; drm_mm itself does not use them here. */
#define TESSERA_NODE_PLACEMENT	0
#define TESSERA_NODE_LEFT	1

/**
 * struct tessera_extent - a contiguous piece of a placement
 */
struct tessera_extent {
	/**
	 * @node: in &tessera_manager.mm, in pages. Changes under the object's
	 * resv and the manager's lock, so a reader needs only one of them
	 */
	struct drm_mm_node node;
	/** @placement: the placement that it is a part of */
	struct tessera_placement *placement;
	/** @at: index of its first page in the placement */
	u64 at;
	/**
	 * @scanned: the extent that was added to the same drm_mm scan before
	 * it, or NULL; under the manager's lock
	 */
	struct tessera_extent *scanned;
};

/**
 * struct tessera_placement - the placement of an object in a segment
 *
 * One extent, or several if the object need not be contiguous.
 * tessera_placement_at() tells where each byte is; no other code computes that.
 */
struct tessera_placement {
	/**
	 * @base: TTM's part; &ttm_resource.start is the first page of the first
	 * extent, relative to the segment
	 */
	struct ttm_resource base;
	/** @mgr: manager of its segment */
	struct tessera_manager *mgr;
	/**
	 * @extents: the extents in the order of the object's bytes; they change
	 * under the object's resv
	 */
	struct tessera_extent *extents;
	/** @num_extents: number of elements of @extents, never 0 */
	u32 num_extents;
	/** @one: storage of @extents if there is only one extent */
	struct tessera_extent one;
	/** @pages: sum of all extents */
	u64 pages;
	/**
	 * @addrs: GPU address of each page in VRAM, for scattered objects; or
	 * NULL. Constant
	 */
	dma_addr_t *addrs;
	/**
	 * @seen: index of its first block, while mem/victims.c collects blocks
	 * under the manager's lock
	 */
	u32 seen;
	/** @account: the account that is charged; a reference; constant */
	struct tessera_account *account;
	/**
	 * @order: in &tessera_tenant.order; the manager's lock protects it and
	 * the next four members
	 */
	struct rb_node order;
	/**
	 * @last_use: &tessera_bo.last_use when the placement was sorted into
	 * @order
	 */
	u64 last_use;
	/**
	 * @offer: DRM_TESSERA_OFFER_* of its object, or 0 if it is not offered
	 */
	u8 offer;
	/** @listed: its object is on a residency list */
	bool listed;
	/**
	 * @trimmable: its object is on a residency list because a client has put
	 * it there, and is not offered
	 */
	bool trimmable;
	/** @priority: index in &tessera_tenant.order */
	u8 priority;
	/**
	 * @declared: a job declares the placement owned to the device (strict
	 * mode). Cleared when the contents have left. Under the object's resv.
	 */
	bool declared;
	/**
	 * @release_fences: release fences to leave behind when it is freed: one
	 * for each extent, or none. Filled under the object's resv
	 */
	struct list_head release_fences;
};

/*
 * Iterate over the extents of a placement, in the order of the object's bytes.
 */
#define tessera_placement_for_each_extent(run, placement)                                          \
	for ((run) = (placement)->extents;                                                         \
	     (run) < (placement)->extents + (placement)->num_extents; (run)++)

/**
 * struct tessera_manager - allocator of one segment
 */
struct tessera_manager {
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @seg: the segment */
	const struct tessera_segment *seg;
	/**
	 * @describe: returns the account to charge and the keys of the order of
	 * eviction
	 */
	tessera_manager_describe_t describe;
	/**
	 * @freed: called for each placement before its pages become free; may
	 * be NULL
	 */
	void (*freed)(struct tessera_manager *mgr, struct tessera_placement *placement);
	/**
	 * @lock: protects all below and the nodes of extents.
	 * tessera_manager_closed() reads the claim without it
	 */
	struct mutex lock;
	/** @release_fences: interval tree of &struct tessera_release_fence */
	struct rb_root_cached release_fences;
	/** @ages: the same release fences as a list, roughly oldest first */
	struct list_head ages;
	/** @claimed: the only thread that may allocate here now, or NULL */
	struct task_struct *claimed;
	/** @claimed_until: when the claim expires, in jiffies */
	unsigned long claimed_until;
	/**
	 * @tenants: &struct tessera_tenant of all processes that have
	 * placements here
	 */
	struct list_head tenants;
	/**
	 * @looked: number of placements that iterations of the order of
	 * eviction have visited
	 */
	u64 looked;
	/** @dying: number of placements without a place in that order */
	u32 dying;
	/** @mm: the segment in pages */
	struct drm_mm mm;
	/** @committed: bytes allocated, never above the commit limit */
	u64 committed;
	/** @peak: maximum of @committed */
	u64 peak;
	/** @scanout: scanned-out bytes, see tessera_manager_charge_scanout() */
	u64 scanout;
};

/*
 * The placements of a process leave by group, then by priority, then by last
 * use: first offered ones, last listed ones. The offer 0 means not offered; as
 * an u8 it wraps, and so sorts last.
 */
static inline u32 tessera_placement_group(const struct tessera_placement *placement)
{
	return (u8)(placement->offer - 1) << 1 | placement->listed;
}

static inline struct tessera_placement *to_tessera_placement(struct ttm_resource *res)
{
	return container_of(res, struct tessera_placement, base);
}

void tessera_manager_init_kinds(struct tessera_device *tdev);
void tessera_manager_fini_kinds(struct tessera_device *tdev);
void tessera_manager_init(struct tessera_manager *mgr, struct tessera_device *tdev,
			  const struct tessera_segment *seg,
			  tessera_manager_describe_t describe);
void tessera_manager_fini(struct tessera_manager *mgr);

const struct tessera_segment *tessera_resource_segment(struct ttm_resource *res);

void tessera_placement_dies(struct tessera_placement *placement);

struct tessera_manager *tessera_manager_of(struct tessera_device *tdev, u32 seg_index);

u64 tessera_manager_used(struct tessera_device *tdev, u32 seg_index);

u64 tessera_placement_bytes(struct tessera_placement *placement);
u64 tessera_placement_offset(struct tessera_placement *placement);
u64 tessera_placement_at(const struct tessera_placement *placement, u64 at, u64 *left);
struct tessera_extent *tessera_placement_extent(const struct tessera_placement *placement,
						u64 offset);
u64 tessera_extent_offset(const struct tessera_extent *extent);
u64 tessera_extent_bytes(const struct tessera_extent *extent);
u64 tessera_placement_footprint(const struct tessera_segment *seg, u64 bytes);
u64 tessera_placement_alignment(const struct tessera_segment *seg,
				const struct ttm_buffer_object *tbo);
struct ttm_buffer_object *tessera_manager_object_locked(struct tessera_manager *mgr,
							u64 offset);
bool tessera_manager_fits(struct tessera_manager *mgr, u64 bytes, u64 align, u64 lo, u64 hi);
bool tessera_manager_has(struct tessera_manager *mgr, u64 bytes);

bool tessera_manager_gap_locked(struct tessera_manager *mgr, u64 bytes, u64 align, u64 lo, u64 hi,
				u64 *start);

int tessera_extent_reserve_locked(struct tessera_manager *mgr, struct tessera_extent *extent,
				  u64 start, u64 pages);

struct tessera_tenant *tessera_placement_tenant(struct tessera_manager *mgr,
						struct tessera_placement *placement);
void tessera_placement_reorder_locked(struct tessera_manager *mgr,
				      struct tessera_placement *placement);

int tessera_manager_claim(struct tessera_manager *mgr, unsigned int state);
void tessera_manager_unclaim(struct tessera_manager *mgr);
bool tessera_manager_closed(struct tessera_manager *mgr);
int tessera_manager_wait_closed(struct tessera_device *tdev, u32 seen, unsigned int state);

int tessera_manager_charge_scanout(struct tessera_manager *mgr, u64 bytes);
void tessera_manager_uncharge_scanout(struct tessera_manager *mgr, u64 bytes);

/* segments/release_fence.c */

/**
 * struct tessera_release_fence - a release fence
 *
 * The extent is free at once. A job that uses a part of it waits for @fence
 * first.
 */
struct tessera_release_fence {
	/** @rb: in &tessera_manager.release_fences */
	struct rb_node rb;
	/** @subtree_last: of the interval tree */
	u64 subtree_last;
	/** @start: first page */
	u64 start;
	/** @last: last page */
	u64 last;
	/** @age: in &tessera_manager.ages */
	struct list_head age;
	/** @fence: signals when the contents have left; holds a reference */
	struct dma_fence *fence;
	/**
	 * @list: in the list of an object that is about to move; it is in no
	 * tree then
	 */
	struct list_head list;
};

int tessera_release_fences_create(struct list_head *release_fences, u32 num);
void tessera_release_fences_destroy(struct list_head *release_fences);
void tessera_release_fences_set(struct list_head *release_fences, struct dma_fence *fence);
void tessera_release_fences_add_locked(struct tessera_manager *mgr, u64 start, u64 pages,
				       struct list_head *release_fences);
void tessera_release_fences_drop_locked(struct tessera_manager *mgr);
int tessera_release_fences_collect(struct tessera_manager *mgr,
				   const struct tessera_placement *placement,
				   struct tessera_fences *fences);
struct dma_fence *tessera_release_fences_find(struct tessera_manager *mgr, u64 lo, u64 hi);

/* segments/relocate.c */
int tessera_manager_relocate(struct tessera_manager *mgr, struct tessera_extent *extent,
			     u64 offset, struct drm_mm_node *left);
void tessera_manager_relocate_undo(struct tessera_manager *mgr, struct tessera_extent *extent,
				   u64 offset, struct drm_mm_node *left);
void tessera_manager_relocate_finish(struct tessera_manager *mgr, struct drm_mm_node *left,
				     struct list_head *release_fences);

#endif /* __TESSERA_SEGMENTS_H__ */
