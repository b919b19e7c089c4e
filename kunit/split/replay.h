/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The slot table at each part, for tests that follow a plan. */
#ifndef __TESSERA_SPLIT_REPLAY_H__
#define __TESSERA_SPLIT_REPLAY_H__

#include "pure/split.h"

/**
 * struct split_replay - progress of following a plan
 * @table: allocation index per slot, or TESSERA_SPLIT_NONE; n_slots elements
 * @cursor: number of entries that have been applied to the table
 */
struct split_replay {
	u32 *table;
	u32 cursor;
};

/* Start to follow a plan; @table has space for @in->n_slots elements. */
static inline void split_replay_begin(const struct tessera_split_input *in,
				      struct split_replay *replay, u32 *table)
{
	u32 i;

	replay->table = table;
	replay->cursor = 0;
	for (i = 0; i < in->n_slots; i++)
		table[i] = TESSERA_SPLIT_NONE;
}

/*
 * Update the table to the bindings that the part's preamble must make: slots
 * that were bound before, and that the part does not reprogram at its start.
 * Must be called for the parts in order.
 */
static inline void split_replay_part(const struct tessera_split_input *in,
				     struct split_replay *replay,
				     const struct tessera_split_op *part)
{
	const struct tessera_patch *e = in->entries;
	u32 i;

	for (; replay->cursor < part->first; replay->cursor++) {
		u32 id = e[replay->cursor].alloc_index;

		if (in->allocs[id].flags & TESSERA_SPLIT_ALLOC_NULL)
			id = TESSERA_SPLIT_NONE;
		replay->table[e[replay->cursor].slot_id] = id;
	}
	for (i = part->first; i < in->n_entries &&
	     e[i].split_offset == part->start; i++)
		replay->table[e[i].slot_id] = TESSERA_SPLIT_NONE;
}

#endif /* __TESSERA_SPLIT_REPLAY_H__ */
