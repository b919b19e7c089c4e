/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_ACCOUNT_H__
#define __TESSERA_ACCOUNT_H__

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/sizes.h>
#include <linux/types.h>

#include <tessera/tessera_hw.h>

#include "exec/quota.h"
#include "pure/share.h"
#include "pure/victim.h"

struct pid;
struct tessera_device;

/** TESSERA_WORK_LIMIT - kernel memory of unfinished work at which a client has to wait */
#define TESSERA_WORK_LIMIT	SZ_64M

/** TESSERA_MAX_MANAGED_SEGMENTS - TTM has eight memory types, two of them its own */
#define TESSERA_MAX_MANAGED_SEGMENTS 6

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
	/** @aperture_pages: scratch of cpu/host_aperture.c, under its lock: pages it has locked */
	u32 aperture_pages;
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
	struct tessera_share_client share[TESSERA_MAX_MANAGED_SEGMENTS];
	/** @tenants: placements per segment */
	struct tessera_tenant tenants[TESSERA_MAX_MANAGED_SEGMENTS];
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
	atomic64_t resident[TESSERA_MAX_MANAGED_SEGMENTS];
	/** @total: bytes of objects whose first preference is the segment */
	atomic64_t total[TESSERA_MAX_MANAGED_SEGMENTS];
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
	struct tessera_share_seg share[TESSERA_MAX_MANAGED_SEGMENTS];
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

/**
 * struct tessera_account_view - a payer as far as one segment is concerned
 */
struct tessera_account_view {
	/** @id: of the payer */
	u32 id;
	/** @pid: of the process */
	pid_t pid;
	/** @used: bytes it has there */
	u64 used;
	/** @fair: its fair share */
	u64 fair;
	/** @reserved: what of that it has reserved */
	u64 reserved;
	/** @demand: it competes for the segment now */
	bool demand;
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
int tessera_account_views(struct tessera_device *tdev, u32 seg_index,
			  struct tessera_account_view **views, u32 *num);

#endif /* __TESSERA_ACCOUNT_H__ */
