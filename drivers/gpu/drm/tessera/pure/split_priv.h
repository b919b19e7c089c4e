/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Internal header of the split planner. */
#ifndef __TESSERA_PURE_SPLIT_PRIV_H__
#define __TESSERA_PURE_SPLIT_PRIV_H__

#include "pack.h"
#include "plan_map.h"
#include "split.h"

/* Next use of an allocation that is not named again. */
#define SPLIT_NEVER		TESSERA_SPLIT_NONE
/* Number of steps between two calls of &tessera_split_input.check. */
#define SPLIT_TICKS		4096U
/* Not an error: the batch has reached its limits. */
#define SPLIT_BATCH_ENDS	1

/**
 * struct split_alloc - state of one allocation while planning
 * @size: bytes, before rounding up to a segment's granularity
 * @pad: upper bound of the bytes that it takes in @home
 * @align: alignment beyond the granularity of segments
 * @mask: segments that may hold it now, without read-only ones if it is written
 * @next_use: next entry that names it, or SPLIT_NEVER
 * @n_slots: number of slots that hold it
 * @stamp: group that listed it as a member
 * @idle: time at which it left the working set
 * @item: index in the packing problem
 * @home: segment that the quick feasibility check charges it to
 * @in_w: in the working set: used or pinned by the pending part
 * @clean: its system copy is valid
 * @fixed: resident and immovable, for example scanned out
 */
struct split_alloc {
	u64 size;
	u64 pad;
	u64 align;
	u32 mask;
	u32 next_use;
	u32 n_slots;
	u32 stamp;
	u32 idle;
	u32 item;
	u8 home;
	bool in_w;
	bool clean;
	bool fixed;
};

/**
 * struct split_log - one state change of the current group, to be output or
 * undone
 * @src: MOVE: source offset
 * @off: place
 * @id: node
 * @prev: node below it before an eviction
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
 * @in: the submission
 * @plan: receives the result
 * @cur: where to start
 * @limits: where to end
 * @mark: the plan's counts after its last part
 * @map: plan map; nodes 0 to n_allocs - 1 are allocations, then blocks
 * @al: state per allocation
 * @table: allocation per slot
 * @wset: working set: allocations that the pending part uses, or a cut has
 *	pinned
 * @member: allocations of the current group outside the working set
 * @log: state changes of the current group
 * @seg_size: size per segment
 * @seg_commit: commit limit per segment
 * @home_sum: per segment, bytes charged to it in the quick feasibility check
 * @home_cap: per segment, bytes that surely fit
 * @pack: packing problem, with its arrays
 * @max_held: feasibility check: maximum number of allocations that one split
 *	point can require
 * @n_over: number of segments in which the quick feasibility check does not
 *	decide
 * @n_w: number of elements of @wset
 * @n_member: number of elements of @member
 * @n_log: number of elements of @log
 * @stamp: number of the current group
 * @clock: time for &split_alloc.idle
 * @now: first entry of the current group
 * @start: first byte of the pending part
 * @first: first entry of the pending part
 * @n_forced: number of forced cuts made
 * @ticks: steps since the last call of @in->check
 * @err: first error of the output, of an input that changed, or of @in->check
 * @rank_min: lowest rank of a foreign block
 * @rank_max: highest rank of a foreign block
 * @op_base: operations before this index belong to another plan
 * @forgone: bytes that an earlier end of the pending part would have saved
 * @far: latest next use of the allocations that the pending part has finished
 *	with
 * @variant: the way in which places are chosen: 0 is the fast one, others
 *	estimate differently
 * @random: state of a variant's random numbers
 * @group_end: first entry after the current group
 * @may_cut: the current group may begin a part
 * @wants_cut: the current group should begin a part, since that saves bytes
 */
struct split {
	const struct tessera_split_input *in;
	struct tessera_split_plan *plan;
	const struct tessera_split_cursor *cur;
	const struct tessera_split_limits *limits;
	struct tessera_split_plan mark;
	struct tessera_plan_map map;
	struct split_alloc *al;
	u32 *table;
	u32 *wset;
	u32 *member;
	struct split_log *log;
	u64 *seg_size;
	u64 *seg_commit;
	u64 *home_sum;
	u64 *home_cap;
	struct tessera_pack pack;
	u32 max_held;
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
	u32 ticks;
	int err;
	u64 forgone;
	u32 far;
	u32 variant;
	u64 random;
	u32 group_end;
	bool may_cut;
	bool wants_cut;
};

static inline bool split_is_foreign(const struct split *split, u32 id)
{
	return id >= split->in->n_allocs;
}

static inline const struct tessera_split_block *
split_block(const struct split *split, u32 id)
{
	return &split->in->blocks[id - split->in->n_allocs];
}

static inline bool split_entry_is_null(const struct split *split, u32 entry)
{
	return split->in->allocs[split->in->entries[entry].alloc_index].flags &
	       TESSERA_SPLIT_ALLOC_NULL;
}

/* Bytes that an allocation takes in a segment. */
static inline u64 split_bytes(const struct split *split, u32 id, u32 seg)
{
	return ALIGN(split->al[id].size, split->in->segs[seg].granularity);
}

/* Alignment of an allocation in a segment. */
static inline u64 split_align(const struct split *split, u32 id, u32 seg)
{
	return max(split->al[id].align, split->in->segs[seg].granularity);
}

/*
 * Count steps, and call @in->check from time to time. Returns the first error.
 */
static inline int split_tick(struct split *split, u32 steps)
{
	split->ticks += steps;
	if (split->ticks < SPLIT_TICKS)
		return split->err;
	split->ticks = 0;
	if (!split->err && split->in->check)
		split->err = split->in->check(split->in->check_ctx);
	return split->err;
}

/* First entry after the group that starts at @entry. */
static inline u32 split_group_end(const struct split *split, u32 entry)
{
	const struct tessera_patch *patch = split->in->entries;
	u32 end = entry + 1;

	while (end < split->in->n_entries &&
	       patch[end].split_offset == patch[entry].split_offset)
		end++;
	return end;
}

/* split_setup.c */
int split_setup_begin(const struct tessera_split_input *in,
		      struct tessera_split_cursor *cur, void *mem, size_t size,
		      struct split **out, void *scratch, size_t scratch_size);
int split_setup_batch(const struct tessera_split_input *in,
		      const struct tessera_split_cursor *cur, struct split **out,
		      void *scratch, size_t scratch_size);

/* split_emit.c */
void split_discard(struct tessera_split_plan *plan, u32 n_op);
void split_drop_to_mark(struct split *split);
int split_emit_log(struct split *split);
void split_emit_part(struct split *split, u32 end, u32 entry, u8 flags);
void split_emit_pin(struct split *split, u32 id);

/* split_feasible.c */
int split_feasible(struct split *split);

/* split_place.c */
void split_populate(struct split *split);
void split_enter_w(struct split *split, u32 id);
void split_leave_w(struct split *split, u32 id);
bool split_is_usable(const struct split *split, u32 id);
struct split_log *split_log_add(struct split *split, u8 type, u32 id);
void split_evict(struct split *split, u32 id);
void split_did_page_in(struct split *split, u32 id);
u32 split_node_below(const struct split *split, u32 prev, u64 off);
int split_place_members(struct split *split);

/* split_relocate.c */
void split_item_init(const struct split *split, struct tessera_pack_item *item,
		     u32 id, bool fixed);
void split_collect_gaps(struct split *split, u32 mask, u32 hard);
int split_relocate_members(struct split *split);

#endif /* __TESSERA_PURE_SPLIT_PRIV_H__ */
