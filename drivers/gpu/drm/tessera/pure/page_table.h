/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PURE_PAGE_TABLE_H__
#define __TESSERA_PURE_PAGE_TABLE_H__

#include "pure.h"

#include "tessera/tessera_hw.h"

/* Size of the largest leaf, which is also what one table of level 0 covers. */
#define TESSERA_PT_BLOCK	(TSR_PAGE_SIZE * (u64)TSR_PT_ENTRIES)

/**
 * struct tessera_pt - a page table, as the device sees it after all writes
 */
struct tessera_pt {
	/**
	 * @entry: directory entry that points to this table: TSR_PTE_VALID,
	 * address and location
	 */
	u64 entry;
	/** @level: 0 for tables of pages, TSR_PT_LEVELS - 1 for the root */
	u32 level;
	/** @used: number of slots that are not 0 */
	u32 used;
	/**
	 * @slot: entries of mapped memory; in directories, also pointers to the
	 * &struct tessera_pt of the next level
	 */
	u64 slot[TSR_PT_ENTRIES];
};

/**
 * struct tessera_pt_ops - callbacks of the owner of an address space
 */
struct tessera_pt_ops {
	/**
	 * @alloc: return a table that is empty, also in device memory, and has
	 * its entry set; or NULL
	 */
	struct tessera_pt *(*alloc)(void *owner);
	/**
	 * @release: free a table to which no entry points any more; the device
	 * may still have cached such an entry
	 */
	void (*release)(void *owner, struct tessera_pt *pt);
	/**
	 * @changed: @count entries from @first on, which device memory lacks
	 * now
	 */
	void (*changed)(void *owner, struct tessera_pt *pt, u32 first, u32 count);
};

/**
 * struct tessera_pt_tree - the page tables of an address space
 */
struct tessera_pt_tree {
	/** @ops: callbacks of the owner */
	const struct tessera_pt_ops *ops;
	/** @owner: argument for @ops */
	void *owner;
	/** @root: the root table */
	struct tessera_pt *root;
	/**
	 * @flush_first: first address of the range to flush, which encloses all
	 * stale translations; empty if above @flush_last
	 */
	u64 flush_first;
	/** @flush_last: last address of that range */
	u64 flush_last;
};

void tessera_pt_init(struct tessera_pt_tree *tree, const struct tessera_pt_ops *ops,
		     void *owner, struct tessera_pt *root);
int tessera_pt_prepare(struct tessera_pt_tree *tree, u64 va, u64 bytes, u64 entry);
u64 tessera_pt_entry(const struct tessera_pt_tree *tree, u64 va, u32 level);
void tessera_pt_set(struct tessera_pt_tree *tree, u64 va, u64 bytes, u64 entry);

#endif /* __TESSERA_PURE_PAGE_TABLE_H__ */
