/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_VM_PT_ROOM_H__
#define __TESSERA_VM_PT_ROOM_H__

#include <linux/types.h>

struct tessera_paging_batch;	/* paging/queue.h */
struct tessera_pt_write;	/* pt_room.c */
struct tessera_table;		/* vm/table.h */

/**
 * struct tessera_pt_room - place in a batch for commands that are not known yet
 */
struct tessera_pt_room {
	/** @writes: one for each table that is written */
	struct tessera_pt_write *writes;
	/** @num: elements of @writes */
	u32 num;
	/** @used: of these */
	u32 used;
	/** @flush: for the flush behind them */
	__le32 *flush;
};

int tessera_pt_room_alloc(struct tessera_pt_room *room, u32 num);
int tessera_pt_room_add(struct tessera_pt_room *room, struct tessera_paging_batch *batch,
			const struct tessera_table *table);
int tessera_pt_room_add_flush(struct tessera_pt_room *room, struct tessera_paging_batch *batch);
int tessera_pt_room_init(struct tessera_pt_room *room, struct tessera_paging_batch *batch,
			 u32 num, bool lists);
void tessera_pt_room_fini(struct tessera_pt_room *room);
bool tessera_pt_room_write(struct tessera_pt_room *room, const struct tessera_table *table);
void tessera_pt_room_flush(struct tessera_pt_room *room, u32 asid, u64 first, u64 last);

#endif /* __TESSERA_VM_PT_ROOM_H__ */
