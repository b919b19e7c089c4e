/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the files of the split planner share with each other and with nobody else.
 */
#ifndef __TESSERA_PURE_SPLIT_PRIV_H__
#define __TESSERA_PURE_SPLIT_PRIV_H__

#include "pack.h"
#include "space.h"
#include "split.h"

/* Distance at which a next use counts as "never". */
#define SPLIT_NEVER		TESSERA_SPLIT_NONE

/**
 * struct split_alloc - state of one allocation while planning
 * @pad: size rounded up to the alignment
 * @align: effective alignment
 * @mask: segments it may be in, read-only ones dropped if it is written
 * @next_use: entry that names it next, or SPLIT_NEVER
 * @n_slots: slots that hold it
 * @stamp: group that listed it as a member
 * @idle: when it left the working set; see split_is_ghost()
 * @item: its index in the packing problem
 * @first: entry that names it first
 * @home: segment its size is charged to in the quick feasibility check
 * @in_w: touched by the pending part, or pinned by it
 * @clean: its system copy is valid
 * @fixed: resident and immovable, say because it is scanned out
 */
struct split_alloc {
	u64 pad;
	u64 align;
	u32 mask;
	u32 next_use;
	u32 n_slots;
	u32 stamp;
	u32 idle;
	u32 item;
	u32 first;
	u8 home;
	bool in_w;
	bool clean;
	bool fixed;
};

/**
 * struct split_log - one state change of the current group, to emit or take back
 * @src: MOVE: offset it came from
 * @off: place
 * @id: node
 * @prev: node below it, before an eviction took it away
 * @type: EVICT, MOVE or PAGE_IN
 * @seg: segment of @off
 * @src_seg: segment of @src
 * @clean: EVICT: an allocation whose system copy is valid
 */
struct split_log {
	u64 src;
	u64 off;
	u32 id;
	u32 prev;
	u8 type;
	u8 seg;
	u8 src_seg;
	bool clean;
};

/**
 * struct split - one planner run
 * @in: what to plan
 * @plan: where the result goes
 * @sp: segment space; nodes 0 to n_allocs - 1 are allocations, then blocks
 * @al: state per allocation
 * @next_ref: per entry, the next entry that names the same allocation
 * @table: allocation per slot
 * @wset: working set: what the pending part touches, and what a cut pinned
 * @member: allocations of the current group outside the working set
 * @log: state changes of the current group
 * @seg_size: size per segment
 * @home_sum: per segment, bytes charged to it in the quick feasibility check
 * @home_cap: per segment, bytes that surely fit
 * @seg_swept: plain: time idle allocations of the segment were given up
 * @pack: packing problem, with its arrays
 * @n_over: segments where the quick feasibility check does not answer
 * @budget: steps the packers may take in all
 * @n_w: elements of @wset
 * @n_member: elements of @member
 * @n_log: elements of @log
 * @stamp: number of the current group
 * @clock: time for @seg_swept and &split_alloc.idle
 * @now: entry being processed
 * @start: first byte of the pending part
 * @first: first entry of the pending part
 * @n_forced: forced cuts taken
 * @err: first error of op output
 * @rank_min: lowest rank of a foreign block
 * @rank_max: highest rank of a foreign block
 * @op_base: operations before it belong to another plan
 * @uniform: all allocations are alike, and so are all places
 * @plain: place as the plain algorithm does
 */
struct split {
	const struct tessera_split_input *in;
	struct tessera_split_plan *plan;
	struct tessera_space sp;
	struct split_alloc *al;
	u32 *next_ref;
	u32 *table;
	u32 *wset;
	u32 *member;
	struct split_log *log;
	u64 *seg_size;
	u64 *home_sum;
	u64 *home_cap;
	u32 *seg_swept;
	struct tessera_pack pack;
	u64 budget;
	u32 n_over;
	u32 n_w;
	u32 n_member;
	u32 n_log;
	u32 stamp;
	u32 clock;
	u32 now;
	u32 start;
	u32 first;
	u32 n_forced;
	u32 rank_min;
	u32 rank_max;
	u32 op_base;
	int err;
	bool uniform;
	bool plain;
};

static inline bool split_is_foreign(const struct split *s, u32 id)
{
	return id >= s->in->n_allocs;
}

static inline const struct tessera_split_block *
split_block(const struct split *s, u32 id)
{
	return &s->in->blocks[id - s->in->n_allocs];
}

static inline bool split_entry_is_null(const struct split *s, u32 entry)
{
	return s->in->allocs[s->in->entries[entry].alloc_index].flags &
	       TESSERA_SPLIT_ALLOC_NULL;
}

/* First entry behind the group that starts at @entry. */
static inline u32 split_group_end(const struct split *s, u32 entry)
{
	const struct tessera_patch *e = s->in->entries;
	u32 end = entry + 1;

	while (end < s->in->n_entries &&
	       e[end].split_offset == e[entry].split_offset)
		end++;
	return end;
}

/* split_feasible.c */
int split_feasible(struct split *s);
void split_item_init(const struct split *s, struct tessera_pack_item *it,
		     u32 id, bool fixed);

/* split_place.c */
void split_enter_w(struct split *s, u32 id);
void split_leave_w(struct split *s, u32 id);
u64 split_victim_key(const struct split *s, u32 id);
bool split_is_ghost(const struct split *s, u32 id);
int split_place_members(struct split *s);
int split_relocate_members(struct split *s);

#endif /* __TESSERA_PURE_SPLIT_PRIV_H__ */
