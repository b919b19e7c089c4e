/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_VM_TABLE_H__
#define __TESSERA_VM_TABLE_H__

#include <linux/list.h>
#include <linux/types.h>

#include "pure/page_table.h"

struct tessera_device;
struct tessera_payer;		/* segments/account.h */

/** TESSERA_MAX_TABLES: page tables one client may have, of all its VMs */
#define TESSERA_MAX_TABLES	8192

/**
 * struct tessera_table - memory of a page table, and what it is to say
 */
struct tessera_table {
	/** @pt: what it is to say */
	struct tessera_pt pt;
	/** @node: in a list of its owner's */
	struct list_head node;
	/** @dirty_first: entries from here on are not written yet */
	u32 dirty_first;
	/** @dirty_end: first entry behind those; 0: all are */
	u32 dirty_end;
	/** @payer: who pays; outlives the table */
	struct tessera_payer *payer;
	/** @cpu: its page of system memory, or NULL if it is in hidden VRAM */
	void *cpu;
	/** @addr: GPU address, or DMA address of @cpu */
	u64 addr;
};

static inline struct tessera_table *to_tessera_table(const struct tessera_pt *pt)
{
	return container_of(pt, struct tessera_table, pt);
}

int tessera_table_init(struct tessera_device *tdev);
struct tessera_table *tessera_table_create(struct tessera_device *tdev,
					   struct tessera_payer *payer);
void tessera_table_release_memory(struct tessera_device *tdev, struct tessera_table *table);
void tessera_table_destroy_list(struct tessera_device *tdev, struct list_head *tables);

#endif /* __TESSERA_VM_TABLE_H__ */
