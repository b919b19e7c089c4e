/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_VM_PT_WRITE_H__
#define __TESSERA_VM_PT_WRITE_H__

#include <linux/types.h>

struct tessera_paging_batch;	/* paging/queue.h */
struct tessera_table;		/* vm/table.h */

int tessera_pt_write(struct tessera_paging_batch *batch, const struct tessera_table *table);
int tessera_pt_flush(struct tessera_paging_batch *batch, u32 asid, u64 first, u64 last);

#endif /* __TESSERA_VM_PT_WRITE_H__ */
