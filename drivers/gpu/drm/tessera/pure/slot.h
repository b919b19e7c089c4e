/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PURE_SLOT_H__
#define __TESSERA_PURE_SLOT_H__

#include "pure.h"

/** TESSERA_SLOT_NULL: allocation index of a row that binds no allocation */
#define TESSERA_SLOT_NULL	U32_MAX
/** TESSERA_SLOT_NONE: no row, or no element of a patch list */
#define TESSERA_SLOT_NONE	U32_MAX

/**
 * struct tessera_slot_row - one row of the resource table
 *
 * A row is meaningful only while its generation is the table's.
 */
struct tessera_slot_row {
	/** @generation: the table's generation when the row was last set */
	u32 generation;
	/** @alloc: allocation index the slot holds, or TESSERA_SLOT_NULL */
	u32 alloc;
	/** @split_offset: split point that set the row */
	u32 split_offset;
	/**
	 * @group_alloc: allocation that this split point has bound to the slot,
	 * or TESSERA_SLOT_NULL
	 */
	u32 group_alloc;
	/**
	 * @bind: patch list element of the latest BIND_SLOT already executed
	 */
	u32 bind;
	/** @next_split: next split point that sets the row again */
	u32 next_split;
	/**
	 * @live_pos: position in &tessera_slot_table.live while @alloc is set
	 */
	u32 live_pos;
};

/**
 * struct tessera_slot_table - tracks which allocation each binding slot holds
 *
 * The caller provides the memory, so a table can be kept and reused. A reset
 * takes constant time for any number of slots. The caller serializes use.
 */
struct tessera_slot_table {
	/** @rows: @num_slots rows, zeroed when the table is initialised */
	struct tessera_slot_row *rows;
	/**
	 * @live: unordered list of the slots that hold an allocation; memory
	 * for @num_slots
	 */
	u32 *live;
	/** @num_slots: size of @rows and @live */
	u32 num_slots;
	/** @num_live: number of used elements of @live */
	u32 num_live;
	/** @generation: current generation; never 0 once initialized */
	u32 generation;
};

void tessera_slot_init(struct tessera_slot_table *table,
		       struct tessera_slot_row *rows, u32 *live, u32 num_slots);
void tessera_slot_reset(struct tessera_slot_table *table);
int tessera_slot_set(struct tessera_slot_table *table, u32 slot, u32 alloc,
		     u32 split_offset);
struct tessera_slot_row *tessera_slot_row(struct tessera_slot_table *table,
					  u32 slot);

#endif /* __TESSERA_PURE_SLOT_H__ */
