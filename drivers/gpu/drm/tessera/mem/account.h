/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_ACCOUNT_H__
#define __TESSERA_ACCOUNT_H__

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>

#include "tessera_hw.h"

struct tessera_device;

/** TESSERA_MAX_MANAGED_SEGMENTS - TTM has eight memory types, two of them its own */
#define TESSERA_MAX_MANAGED_SEGMENTS 6

/**
 * struct tessera_account - who pays for memory and engine time
 *
 * One per open file, outlived by the buffer objects and jobs it owns. All
 * counters are indexed by segment index (not id) or engine index.
 */
struct tessera_account {
	/** @ref: file, buffer objects and jobs hold one each */
	struct kref ref;
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @node: in the device's list of accounts, under its lock */
	struct list_head node;
	/** @id: unique per device, never 0 */
	u32 id;
	/** @pid: of the opener, for debugfs */
	pid_t pid;
	/** @resident: bytes placed per segment */
	atomic64_t resident[TESSERA_MAX_MANAGED_SEGMENTS];
	/** @total: bytes of objects whose first preference is the segment */
	atomic64_t total[TESSERA_MAX_MANAGED_SEGMENTS];
	/** @system: bytes of objects that are in no segment now */
	atomic64_t system;
	/** @demand_stamp: jiffies64 of the last time the account wanted memory here */
	atomic64_t demand_stamp[TESSERA_MAX_MANAGED_SEGMENTS];
	/** @engine_ns: engine time used, paging included */
	atomic64_t engine_ns[TSR_MAX_ENGINES];
};

struct tessera_account *tessera_account_create(struct tessera_device *tdev);
struct tessera_account *tessera_account_get(struct tessera_account *account);
void tessera_account_put(struct tessera_account *account);

void tessera_account_charge(struct tessera_account *account, u32 seg_index, s64 bytes);
void tessera_account_want(struct tessera_account *account, u32 seg_index);
void tessera_account_add_engine_time(struct tessera_account *account, u32 engine, u64 ns);

u64 tessera_account_share(struct tessera_account *account, u32 seg_index);

#endif /* __TESSERA_ACCOUNT_H__ */
