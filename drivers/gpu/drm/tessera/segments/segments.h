/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the layers above may use of segments/: the memory of the device, and who pays for it. */
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

#include "exec/exec.h"
#include "pure/segment_desc.h"
#include "pure/share.h"
#include "pure/victim.h"

struct dma_fence;
struct eventfd_ctx;
struct drm_printer;
struct pid;
struct task_struct;
struct tessera_budget_watch;	/* budget.c */
struct tessera_range;		/* segments/account.c */

/** TESSERA_WORK_LIMIT - kernel memory of unfinished work at which a client has to wait */
#define TESSERA_WORK_LIMIT	SZ_64M

/** TESSERA_MAX_SEGMENTS - as many as a device can have */
#define TESSERA_MAX_SEGMENTS	TSR_MAX_SEGMENTS

/**
 * struct tessera_tenant - the placements of a process in one segment, in the order of eviction
 *
 * Everything is under the lock of the segment's manager. The last three members belong to the walk
 * that holds the lock, see mem/order.c.
 */
struct tessera_tenant {
	/** @node: in &tessera_manager.tenants, while @order is not empty */
	struct list_head node;
	/** @order: its &struct tessera_range, the one that is evicted first at the left */
	struct rb_root_cached order;
	/** @offered: bytes of those that are offered */
	u64 offered;
	/** @owner: its use and share when the walk began */
	struct tessera_victim_owner owner;
	/** @index: of that in &tessera_blocks.owners, while blocks are collected */
	u32 index;
	/** @next: its next candidate in @order, or NULL */
	struct rb_node *next;
	/** @block: that candidate, classified */
	struct tessera_victim_block block;
};

/**
 * struct tessera_payer - a process, as far as memory is concerned
 *
 * All its open files share one fair share of each segment (SEG-8). Everything is
 * under &tessera_clients.lock unless it says otherwise; @id and @pid do not change.
 */
struct tessera_payer {
	/** @node: in the device's list of payers */
	struct list_head node;
	/** @users: accounts that are its own */
	u32 users;
	/** @files: those of them whose files are open */
	u32 files;
	/** @id: unique per device, never 0 */
	u32 id;
	/** @pid: the process, maybe dead by now; holds a reference */
	struct pid *pid;
	/** @gate_turn: last turn at each engine's gate; under the gate's lock */
	u64 gate_turn[TSR_MAX_ENGINES];
	/** @hangs: jobs of it that hung an engine */
	atomic_t hangs;
	/** @vms: VMs it has whose page tables are in use */
	atomic_t vms;
	/** @asids: of these, those that have a number; under the lock of vm/asid.c */
	u32 asids;
	/** @contexts: contexts it has */
	atomic_t contexts;
	/** @fences: monitored fences it has */
	atomic_t fences;
	/** @tables: page tables it has */
	atomic_t tables;
	/** @work: kernel memory of its unfinished work */
	struct tessera_quota work;
	/** @pinned: bytes of objects whose pages others use, see tessera_account_pin() */
	atomic64_t pinned;
	/** @share: use and demand per segment */
	struct tessera_share_client share[TESSERA_MAX_SEGMENTS];
	/** @tenants: placements per segment */
	struct tessera_tenant tenants[TESSERA_MAX_SEGMENTS];
};

/**
 * struct tessera_account - what an open file uses, and who pays for it
 *
 * One per open file, outlived by the buffer objects and jobs it owns. All
 * counters are indexed by segment index (not id) or engine index.
 */
struct tessera_account {
	/** @ref: file, buffer objects and jobs hold one each */
	struct kref ref;
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @payer: NULL until tessera_account_bind() */
	struct tessera_payer *payer;
	/** @id: that of @payer, or 0 */
	u32 id;
	/** @resident: bytes of its objects in each segment */
	atomic64_t resident[TESSERA_MAX_SEGMENTS];
	/** @total: bytes of objects whose first preference is the segment */
	atomic64_t total[TESSERA_MAX_SEGMENTS];
	/** @engine_ns: engine time used, paging included */
	atomic64_t engine_ns[TSR_MAX_ENGINES];
};

/**
 * struct tessera_clients - all payers of a device
 */
struct tessera_clients {
	/** @lock: protects all below, payers included; a leaf */
	struct mutex lock;
	/** @share: what all payers together do with each segment */
	struct tessera_share_seg share[TESSERA_MAX_SEGMENTS];
	/** @payers: all &struct tessera_payer, in the order of their ids */
	struct list_head payers;
	/** @num_payers: how many */
	u32 num_payers;
	/** @next_id: last id given out */
	u32 next_id;
	/** @changed: called after shares or use have changed, with any locks held; may be NULL */
	void (*changed)(struct tessera_device *tdev);
	/** @pinned: sum of theirs; atomic */
	atomic64_t pinned;
};

/* Count one more thing that a process may have @max of: 0 or -ENOSPC. */
static inline int tessera_account_count(atomic_t *count, int max)
{
	if (atomic_inc_return(count) <= max)
		return 0;
	atomic_dec(count);

	return -ENOSPC;
}

int tessera_account_init(struct tessera_device *tdev);
void tessera_account_set_capacity(struct tessera_device *tdev, u32 seg_index, u64 bytes);

struct tessera_account *tessera_account_create(struct tessera_device *tdev);
int tessera_account_bind(struct tessera_account *account);
bool tessera_account_is_mine(const struct tessera_account *account);
struct tessera_account *tessera_account_get(struct tessera_account *account);
void tessera_account_close(struct tessera_account *account);
void tessera_account_put(struct tessera_account *account);

void tessera_account_charge(struct tessera_account *account, u32 seg_index, u64 bytes);
void tessera_account_uncharge(struct tessera_account *account, u32 seg_index, u64 bytes);
int tessera_account_pin(struct tessera_account *account, u64 bytes);
void tessera_account_unpin(struct tessera_account *account, u64 bytes);
void tessera_account_want(struct tessera_account *account, u32 seg_index);
void tessera_account_add_engine_time(struct tessera_account *account, u32 engine, u64 ns);

bool tessera_account_banned(struct tessera_account *account);
u64 tessera_account_used(struct tessera_account *account, u32 seg_index);
void tessera_account_expire(struct tessera_device *tdev, u32 seg_index);
u64 tessera_account_share(struct tessera_account *account, u32 seg_index);
int tessera_account_reserve(struct tessera_account *account, u32 seg_index, u64 bytes);
u64 tessera_account_reserved(struct tessera_account *account, u32 seg_index, u64 *reservable);

u64 tessera_account_owners(struct tessera_account *account, u32 seg_index);
void tessera_account_print(struct tessera_device *tdev, u32 seg_index, struct drm_printer *p);

/* segments/room.c */

/**
 * enum tessera_room_event - why there may be room now where there was none
 * @TESSERA_ROOM_FREED: a range was given back, say by an object that died
 * @TESSERA_ROOM_RELEASED: a submission in parts gave up what it had held
 * @TESSERA_ROOM_UNCLAIMED: a segment may be used by everybody again
 * @TESSERA_ROOM_EVENTS: number of events
 */
enum tessera_room_event {
	TESSERA_ROOM_FREED,
	TESSERA_ROOM_RELEASED,
	TESSERA_ROOM_UNCLAIMED,
	TESSERA_ROOM_EVENTS,
};

int tessera_room_init(struct tessera_device *tdev);
u32 tessera_room_seen(struct tessera_device *tdev, enum tessera_room_event event);
void tessera_room_signal(struct tessera_device *tdev, enum tessera_room_event event);
void tessera_room_signal_all(struct tessera_device *tdev);
int tessera_room_wait_timeout(struct tessera_device *tdev, enum tessera_room_event event, u32 seen,
			      unsigned int state, long timeout);

/* segments/segment.c */

/* Memory type of apertures; that of memory segments is TTM_PL_VRAM. */
#define TESSERA_PL_APERTURE	TTM_PL_PRIV

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
	/** @mem_type: TTM memory type, that of its kind */
	u32 mem_type;
	/** @first_page: where it begins for TTM, which sees all segments one after the other */
	u32 first_page;
	/** @base: GPU address of the first byte */
	u64 base;
	/** @size: bytes */
	u64 size;
	/** @commit: most bytes that may be resident */
	u64 commit;
	/** @cpu_offset: offset in BAR 2, if CPU visible */
	u64 cpu_offset;
	/** @page_size: granularity of placements */
	u32 page_size;
	/** @name: as the device calls it */
	char name[TSR_SEG_NAME_BYTES];
};

/**
 * struct tessera_segments - all segments, in id order
 */
struct tessera_segments {
	/** @num: elements of @seg used */
	u32 num;
	/** @seg: the segments */
	struct tessera_segment seg[TESSERA_MAX_SEGMENTS];
	/** @desc: the same as the pure checks want it */
	struct tessera_segment_desc desc[TESSERA_MAX_SEGMENTS];
	/** @bar_base: CPU bus address of BAR 2 */
	u64 bar_base;
	/** @manager: of each segment; &struct tessera_manager.seg points back */
	struct tessera_manager *manager[TESSERA_MAX_SEGMENTS];
	/** @memory: what TTM knows of memory segments */
	struct ttm_resource_manager memory;
	/** @apertures: what it knows of apertures */
	struct ttm_resource_manager apertures;
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

/* NULL, for system memory, is none. */
static inline bool tessera_segment_is_memory(const struct tessera_segment *seg)
{
	return seg && !tessera_segment_is_aperture(seg);
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

/* segments/manager.c */

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
	/** @base: TTM's part; its start, in pages of the segment, is that of the first run */
	struct ttm_resource base;
	/** @mgr: of the segment that it is in */
	struct tessera_manager *mgr;
	/** @runs: in the order of the object; change under the owner's resv */
	struct tessera_run *runs;
	/** @num_runs: elements of @runs, never 0 */
	u32 num_runs;
	/** @one: @runs, if it is one */
	struct tessera_run one;
	/** @pages: of all runs */
	u64 pages;
	/** @addrs: GPU address of each page of memory, if it may lie in pieces, or NULL */
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
	/** @looked: ranges that walks through the order of eviction have looked at */
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

void tessera_manager_init_kinds(struct tessera_device *tdev);
void tessera_manager_fini_kinds(struct tessera_device *tdev);
void tessera_manager_init(struct tessera_manager *mgr, struct tessera_device *tdev,
			  const struct tessera_segment *seg,
			  tessera_manager_describe_t describe);
void tessera_manager_fini(struct tessera_manager *mgr);

const struct tessera_segment *tessera_resource_segment(struct ttm_resource *res);

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

int tessera_run_reserve_locked(struct tessera_manager *mgr, struct tessera_run *run, u64 start,
			       u64 pages);

struct tessera_tenant *tessera_range_tenant(struct tessera_manager *mgr,
					    struct tessera_range *range);
void tessera_range_reorder_locked(struct tessera_manager *mgr, struct tessera_range *range);

int tessera_manager_claim(struct tessera_manager *mgr, unsigned int state);
void tessera_manager_unclaim(struct tessera_manager *mgr);
bool tessera_manager_closed(struct tessera_manager *mgr);
int tessera_manager_wait_closed(struct tessera_device *tdev, u32 seen, unsigned int state);

int tessera_manager_fix(struct tessera_manager *mgr, u64 bytes);
void tessera_manager_unfix(struct tessera_manager *mgr, u64 bytes);

/* segments/departure.c */

/**
 * struct tessera_departure - somebody leaves a range of a segment
 *
 * The range is free for others at once; who takes a piece of it must not touch it before
 * @fence has signalled.
 */
struct tessera_departure {
	/** @rb: in &tessera_manager.departures */
	struct rb_node rb;
	/** @subtree_last: of the interval tree */
	u64 subtree_last;
	/** @start: first page */
	u64 start;
	/** @last: last page */
	u64 last;
	/** @age: in &tessera_manager.ages */
	struct list_head age;
	/** @fence: when it has left; holds a reference */
	struct dma_fence *fence;
	/** @list: among those of an object that is about to leave; in no tree then */
	struct list_head list;
};

int tessera_departures_create(struct list_head *departures, u32 num);
void tessera_departures_destroy(struct list_head *departures);
void tessera_departures_set(struct list_head *departures, struct dma_fence *fence);
void tessera_departures_add_locked(struct tessera_manager *mgr, u64 start, u64 pages,
				   struct list_head *departures);
void tessera_departures_forget_locked(struct tessera_manager *mgr);
int tessera_manager_departures(struct tessera_manager *mgr, const struct tessera_range *range,
			       struct tessera_fences *fences);
struct dma_fence *tessera_manager_leaving(struct tessera_manager *mgr, u64 lo, u64 hi);

/* segments/shift.c */
int tessera_manager_shift(struct tessera_manager *mgr, struct tessera_run *run,
			  u64 offset, struct drm_mm_node *left);
void tessera_manager_unshift(struct tessera_manager *mgr, struct tessera_run *run,
			     u64 offset, struct drm_mm_node *left);
void tessera_manager_leave(struct tessera_manager *mgr, struct drm_mm_node *left,
			   struct list_head *departures);

#endif /* __TESSERA_SEGMENTS_H__ */
