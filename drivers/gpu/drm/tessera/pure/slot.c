// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: slot resource table
 *
 * Tracks which allocation each binding slot holds while a patch list is walked
 * (WDDM: the resource table). Each row has the generation in which it was set.
 * Therefore a table can be emptied for the next command buffer without clearing
 * it. Called by the patch list checks and the planner; the caller serializes.
 */
#include "slot.h"

/**
 * tessera_slot_init() - set up an empty table in the caller's memory
 * @table: the table
 * @rows: @num_slots zeroed rows
 * @live: memory for @num_slots slot ids
 * @num_slots: number of slots
 */
void tessera_slot_init(struct tessera_slot_table *table,
		       struct tessera_slot_row *rows, u32 *live, u32 num_slots)
{
	table->rows = rows;
	table->live = live;
	table->num_slots = num_slots;
	table->num_live = 0;
	table->generation = 1;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_slot_init);

/**
 * tessera_slot_reset() - empty a table
 * @table: the table
 *
 * Takes constant time, except once in 2^32 calls.
 */
void tessera_slot_reset(struct tessera_slot_table *table)
{
	table->num_live = 0;
	if (++table->generation)
		return;

	memset(table->rows, 0, array_size(table->num_slots, sizeof(*table->rows)));
	table->generation = 1;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_slot_reset);

/**
 * tessera_slot_row() - get the row of a slot
 * @table: the table
 * @slot: slot id
 *
 * Return: the row, or NULL if the slot does not exist, or its row was not set
 * since the table was reset.
 */
struct tessera_slot_row *tessera_slot_row(struct tessera_slot_table *table,
					  u32 slot)
{
	struct tessera_slot_row *row;

	if (slot >= table->num_slots)
		return NULL;
	row = &table->rows[array_index_nospec(slot, table->num_slots)];

	return row->generation == table->generation ? row : NULL;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_slot_row);

static void slot_make_live(struct tessera_slot_table *table,
			   struct tessera_slot_row *row, u32 slot)
{
	row->live_pos = table->num_live;
	table->live[table->num_live++] = slot;
}

static void slot_make_dead(struct tessera_slot_table *table,
			   struct tessera_slot_row *row)
{
	u32 last = table->live[--table->num_live];

	table->live[row->live_pos] = last;
	table->rows[last].live_pos = row->live_pos;
}

/**
 * tessera_slot_set() - update the row of a slot from an element of the patch
 * list
 * @table: the table
 * @slot: slot id
 * @alloc: allocation index, or TESSERA_SLOT_NULL to unbind
 * @split_offset: the element's split point; the caller walks the split points
 *	in ascending or descending order
 *
 * Elements of one split point may name a slot several times if all that bind it
 * name the same allocation. The last one sets the row (SPLIT-36).
 *
 * Return: 0, or -EINVAL if the slot does not exist, or this split point has
 * bound another allocation to it. The table is then unchanged.
 */
int tessera_slot_set(struct tessera_slot_table *table, u32 slot, u32 alloc,
		     u32 split_offset)
{
	struct tessera_slot_row *row;
	bool was_live = false;

	if (slot >= table->num_slots)
		return -EINVAL;
	slot = array_index_nospec(slot, table->num_slots);
	row = &table->rows[slot];

	if (row->generation != table->generation) {
		row->generation = table->generation;
		row->alloc = TESSERA_SLOT_NULL;
		row->bind = TESSERA_SLOT_NONE;
		row->next_split = TESSERA_SLOT_NONE;
		row->group_alloc = TESSERA_SLOT_NULL;
	} else if (row->split_offset == split_offset) {
		if (alloc != TESSERA_SLOT_NULL &&
		    row->group_alloc != TESSERA_SLOT_NULL &&
		    row->group_alloc != alloc)
			return -EINVAL;
		was_live = row->alloc != TESSERA_SLOT_NULL;
	} else {
		row->group_alloc = TESSERA_SLOT_NULL;
		was_live = row->alloc != TESSERA_SLOT_NULL;
	}

	if (alloc != TESSERA_SLOT_NULL)
		row->group_alloc = alloc;
	row->split_offset = split_offset;
	row->alloc = alloc;
	if (!was_live && alloc != TESSERA_SLOT_NULL)
		slot_make_live(table, row, slot);
	else if (was_live && alloc == TESSERA_SLOT_NULL)
		slot_make_dead(table, row);

	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_slot_set);
