/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PURE_PAGE_TABLE_H__
#define __TESSERA_PURE_PAGE_TABLE_H__

#include "pure.h"

#include "tessera/tessera_hw.h"

/* Of the largest leaf, which is what one table of level 0 covers. */
#define TESSERA_PT_BLOCK	(TSR_PAGE_SIZE * (u64)TSR_PT_ENTRIES)

/**
 * struct tessera_pt - a page table, and what the device finds in it when all writes are done
 */
struct tessera_pt {
	/** @entry: what names it in a directory: TSR_PTE_VALID, an address and where that is */
	u64 entry;
	/** @level: 0 for tables of pages, TSR_PT_LEVELS - 1 for the root */
	u32 level;
	/** @used: slots that are not 0 */
	u32 used;
	/** @slot: entries of memory; of tables, in directories, the &struct tessera_pt */
	u64 slot[TSR_PT_ENTRIES];
};

/**
 * struct tessera_pt_ops - what an owner of page tables does for them
 */
struct tessera_pt_ops {
	/** @alloc: a table that is empty, also for the device, with its entry set; or NULL */
	struct tessera_pt *(*alloc)(void *owner);
	/** @release: no entry names the table any more; the device may remember that one did */
	void (*release)(void *owner, struct tessera_pt *pt);
	/**
	 * @write: have the device find @count entries from @first on, each @step more than
	 * the one before; with @groups each stands sixteen times
	 */
	void (*write)(void *owner, const struct tessera_pt *pt, u32 first, u32 count,
		      u64 value, u64 step, bool groups);
};

/**
 * struct tessera_pt_tree - the page tables of an address space
 */
struct tessera_pt_tree {
	/** @ops: see there */
	const struct tessera_pt_ops *ops;
	/** @owner: for @ops */
	void *owner;
	/** @root: empty to begin with */
	struct tessera_pt *root;
	/** @flush_first: translations from here on may be out of date, if @flush_last is not less */
	u64 flush_first;
	/** @flush_last: up to here */
	u64 flush_last;
};

void tessera_pt_init(struct tessera_pt_tree *tree, const struct tessera_pt_ops *ops,
		     void *owner, struct tessera_pt *root);
int tessera_pt_prepare(struct tessera_pt_tree *tree, u64 va, u64 bytes, u64 entry);
void tessera_pt_set(struct tessera_pt_tree *tree, u64 va, u64 bytes, u64 entry);

#endif /* __TESSERA_PURE_PAGE_TABLE_H__ */
