/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_MANAGER_H__
#define __TESSERA_MANAGER_H__

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/types.h>

#include <drm/drm_mm.h>
#include <drm/ttm/ttm_resource.h>

struct task_struct;
struct tessera_account;		/* segments/account.h */
struct tessera_device;
struct tessera_manager;
struct tessera_range;
struct tessera_segment;		/* segments/segment.h */

/*
 * Fills in what the order of eviction depends on: &tessera_range.last_use, offer and listed of a
 * placement. Returns the account that pays for it, no reference taken.
 */
typedef struct tessera_account *(*tessera_manager_describe_t)(struct ttm_buffer_object *tbo,
							      struct tessera_range *range);

/*
 * &ttm_place.flags, beside TTM's own: in a segment that somebody else has claimed, too. They plan
 * again.
 */
#define TESSERA_PLACE_PASSES	BIT(31)

/* Colours of nodes, which mean nothing to drm_mm here. */
#define TESSERA_NODE_RANGE	0
#define TESSERA_NODE_LEFT	1

/**
 * struct tessera_run - pages of a segment that follow each other
 */
struct tessera_run {
	/** @node: in &tessera_manager.mm, in pages; under its lock */
	struct drm_mm_node node;
	/** @range: what it is a piece of */
	struct tessera_range *range;
	/** @at: which page of that is its first */
	u64 at;
	/** @scanned: the run that was added to the same drm_mm scan before it, or NULL */
	struct tessera_run *scanned;
};

/**
 * struct tessera_range - an object's place in a segment
 *
 * One run, or several, where the object may lie in pieces. Where each of its bytes is, tessera_range_at()
 * says; nobody else adds anything up.
 */
struct tessera_range {
	/** @base: TTM's part; its start, in pages, is that of the first run */
	struct ttm_resource base;
	/** @runs: in the order of the object; change under the owner's resv */
	struct tessera_run *runs;
	/** @num_runs: elements of @runs, never 0 */
	u32 num_runs;
	/** @one: @runs, if it is one */
	struct tessera_run one;
	/** @pages: of all runs */
	u64 pages;
	/** @addrs: GPU address of each page of memory, if it lies in pieces; else NULL */
	dma_addr_t *addrs;
	/** @seen: for who looks at all runs of a segment, while the manager is locked */
	u32 seen;
	/** @account: who pays; holds a reference */
	struct tessera_account *account;
	/** @order: in &tessera_tenant.order of that; this and the three below under the manager's lock */
	struct rb_node order;
	/** @last_use: what &tessera_bo.last_use was when the range got its place in the order */
	u64 last_use;
	/** @offer: DRM_TESSERA_OFFER_* of its object, or 0 */
	u8 offer;
	/** @listed: its object is in a residency list */
	bool listed;
	/**
	 * @declared: a job tells the device that the range is owned; under the owner's
	 * resv. Not so before that, nor when the contents have left.
	 */
	bool declared;
	/** @departures: what is to be left behind when it is given back, one for each run, or none */
	struct list_head departures;
};

/* Goes through the runs of a range, in the order of the object. */
#define tessera_range_for_each_run(run, range)	\
	for ((run) = (range)->runs; (run) < (range)->runs + (range)->num_runs; (run)++)

/**
 * struct tessera_manager - exact allocation in one segment, contiguous or scattered
 */
struct tessera_manager {
	/** @base: TTM's part */
	struct ttm_resource_manager base;
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @seg: the segment */
	const struct tessera_segment *seg;
	/** @describe: tells who pays, and the place in the order */
	tessera_manager_describe_t describe;
	/** @freed: called when a range is given back, before others can have it; may be NULL */
	void (*freed)(struct tessera_manager *mgr, struct tessera_range *range);
	/** @lock: protects all below and the runs' nodes; a leaf */
	struct mutex lock;
	/** @departures: interval tree of &tessera_departure */
	struct rb_root_cached departures;
	/** @ages: the same, oldest first */
	struct list_head ages;
	/** @claimed: the only one that may place anything here now, or NULL */
	struct task_struct *claimed;
	/** @claimed_until: when that ends, in jiffies */
	unsigned long claimed_until;
	/** @tenants: &struct tessera_tenant of all processes that have something here */
	struct list_head tenants;
	/** @walks: number of walks through the order of eviction */
	u64 walks;
	/** @looked: ranges that those walks have looked at */
	u64 looked;
	/** @mm: the segment in pages */
	struct drm_mm mm;
	/** @committed: bytes handed out, never above the commit limit */
	u64 committed;
	/** @peak: most bytes ever handed out */
	u64 peak;
	/** @fixed: bytes that stay where they are, see tessera_manager_fix() */
	u64 fixed;
};

static inline struct tessera_range *to_tessera_range(struct ttm_resource *res)
{
	return container_of(res, struct tessera_range, base);
}

static inline struct tessera_manager *
to_tessera_manager(struct ttm_resource_manager *man)
{
	return container_of(man, struct tessera_manager, base);
}

void tessera_manager_init(struct tessera_manager *mgr, struct tessera_device *tdev,
			  const struct tessera_segment *seg,
			  tessera_manager_describe_t describe, bool use_tt);
void tessera_manager_fini(struct tessera_manager *mgr);

struct tessera_manager *tessera_manager_of(struct tessera_device *tdev, u32 seg_index);

u64 tessera_manager_used(struct tessera_device *tdev, u32 seg_index);

u64 tessera_range_bytes(struct tessera_range *range);
u64 tessera_range_offset(struct tessera_range *range);
u64 tessera_range_at(const struct tessera_range *range, u64 at, u64 *left);
struct tessera_run *tessera_range_run(const struct tessera_range *range, u64 offset);
u64 tessera_run_offset(const struct tessera_run *run);
u64 tessera_run_bytes(const struct tessera_run *run);
u64 tessera_range_footprint(const struct tessera_segment *seg, u64 bytes);
struct ttm_buffer_object *tessera_manager_object_locked(struct tessera_manager *mgr,
							u64 offset);
bool tessera_manager_fits(struct tessera_manager *mgr, u64 bytes, u64 lo, u64 hi);
bool tessera_manager_has(struct tessera_manager *mgr, u64 bytes);

bool tessera_manager_gap_locked(struct tessera_manager *mgr, u64 bytes, u64 lo, u64 hi, u64 *start);

struct tessera_tenant *tessera_range_tenant(struct tessera_manager *mgr,
					    struct tessera_range *range);
void tessera_range_reorder_locked(struct tessera_manager *mgr, struct tessera_range *range);

int tessera_manager_claim(struct tessera_manager *mgr, unsigned int state);
void tessera_manager_unclaim(struct tessera_manager *mgr);
bool tessera_manager_closed(struct tessera_manager *mgr);
int tessera_manager_wait_closed(struct tessera_device *tdev, u32 seen, unsigned int state);

int tessera_manager_fix(struct tessera_manager *mgr, u64 bytes);
void tessera_manager_unfix(struct tessera_manager *mgr, u64 bytes);

#endif /* __TESSERA_MANAGER_H__ */
