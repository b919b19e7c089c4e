/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Split planner: cuts one command buffer into parts that each fit into memory.
 */
#ifndef __TESSERA_PURE_SPLIT_H__
#define __TESSERA_PURE_SPLIT_H__

#include "pack.h"
#include "patch.h"
#include "pure.h"
#include "victim.h"

/** TESSERA_SPLIT_NONE: no segment, no allocation, no entry */
#define TESSERA_SPLIT_NONE		U32_MAX
/** TESSERA_SPLIT_MAX_SEGS: maximum number of segments in a plan, ids 0 to 31 */
#define TESSERA_SPLIT_MAX_SEGS		32U
/** TESSERA_SPLIT_MAX_BYTES: upper bound of every size and alignment */
#define TESSERA_SPLIT_MAX_BYTES		BIT_ULL(48)

/**
 * TESSERA_SPLIT_SEG_APERTURE: a page-in maps system pages and copies nothing
 */
#define TESSERA_SPLIT_SEG_APERTURE	BIT(0)
/** TESSERA_SPLIT_SEG_READ_ONLY: the GPU can only read */
#define TESSERA_SPLIT_SEG_READ_ONLY	BIT(1)

/**
 * struct tessera_split_seg - a segment
 * @size: bytes
 * @commit: maximum number of bytes taken at a time, at any offset; 0: no limit
 * @granularity: unit of sizes and offsets, a power of two
 * @flags: TESSERA_SPLIT_SEG_*
 */
struct tessera_split_seg {
	u64 size;
	u64 commit;
	u64 granularity;
	u32 flags;
};

/**
 * TESSERA_SPLIT_ALLOC_NULL: an unbind element, all other members are ignored
 */
#define TESSERA_SPLIT_ALLOC_NULL	BIT(0)
/**
 * TESSERA_SPLIT_ALLOC_WRITTEN: written by some command; counts for all parts
 */
#define TESSERA_SPLIT_ALLOC_WRITTEN	BIT(1)
/** TESSERA_SPLIT_ALLOC_KEEP_COPY: a page-in preserves the system copy */
#define TESSERA_SPLIT_ALLOC_KEEP_COPY	BIT(2)
/** TESSERA_SPLIT_ALLOC_CLEAN: resident, and a valid system copy exists now */
#define TESSERA_SPLIT_ALLOC_CLEAN	BIT(3)

/**
 * struct tessera_split_alloc - element of the allocation list
 * @size: bytes; a segment rounds them up to its granularity
 * @align: alignment in bytes beyond the granularity, a power of two, or 0
 * @supported: mask of segments that may hold it
 * @flags: TESSERA_SPLIT_ALLOC_*
 * @pref: preferred segments in order, members of @supported
 * @n_pref: number of valid elements of @pref
 * @priority: lower ones are evicted first, below TESSERA_VICTIM_PRIORITIES
 */
struct tessera_split_alloc {
	u64 size;
	u64 align;
	u32 supported;
	u32 flags;
	u8 pref[TESSERA_PACK_PREF_MAX];
	u8 n_pref;
	u8 priority;
};

/** TESSERA_SPLIT_BLOCK_CLEAN: evicting the foreign block copies no bytes */
#define TESSERA_SPLIT_BLOCK_CLEAN	BIT(0)

/**
 * struct tessera_split_block - a range that is occupied when the plan is made
 * @start: offset in the segment
 * @size: bytes taken
 * @seg: segment
 * @alloc: index of this submission's allocation in the range, or
 *	TESSERA_SPLIT_NONE for a foreign block (one of another submission)
 * @rank: foreign: order inside the tier, lower ranks are evicted first
 * @tier: one of &enum tessera_victim_tier; for an allocation of this submission
 *	only TESSERA_VICTIM_IMMOVABLE makes a difference
 * @flags: foreign: TESSERA_SPLIT_BLOCK_*
 * @priority: foreign: like &tessera_split_alloc.priority if the client of the
 *	submission owns it, else TESSERA_VICTIM_NORMAL
 */
struct tessera_split_block {
	u64 start;
	u64 size;
	u32 seg;
	u32 alloc;
	u32 rank;
	u8 tier;
	u8 flags;
	u8 priority;
};

/**
 * enum tessera_split_force - cuts in addition to those that memory requires
 * @TESSERA_SPLIT_FORCE_NONE: none
 * @TESSERA_SPLIT_FORCE_ALL: at every split point
 * @TESSERA_SPLIT_FORCE_BITMAP: where &tessera_split_input.force_map has a bit,
 *	counting split points from 0
 * @TESSERA_SPLIT_FORCE_RANDOM: at about half of them, chosen by
 *	&tessera_split_input.force_seed
 *
 * A cut that would create an empty part is never made.
 */
enum tessera_split_force {
	TESSERA_SPLIT_FORCE_NONE,
	TESSERA_SPLIT_FORCE_ALL,
	TESSERA_SPLIT_FORCE_BITMAP,
	TESSERA_SPLIT_FORCE_RANDOM,
};

/** TESSERA_SPLIT_LEAK_CHECK: refuse a cut over which a slot stays bound */
#define TESSERA_SPLIT_LEAK_CHECK	BIT(0)
/** TESSERA_SPLIT_NO_PINS: leave out PIN operations */
#define TESSERA_SPLIT_NO_PINS		BIT(1)

/**
 * struct tessera_split_input - everything that a plan depends on
 * @segs: segments
 * @allocs: allocation list
 * @entries: patch list, checked, in stream order
 * @blocks: occupied ranges, sorted by segment, then by offset, not overlapping
 * @force_map: see TESSERA_SPLIT_FORCE_BITMAP
 * @force_seed: see TESSERA_SPLIT_FORCE_RANDOM
 * @n_segs: number of @segs
 * @n_allocs: number of @allocs
 * @n_entries: number of @entries
 * @n_blocks: number of @blocks
 * @n_slots: limit of slot ids (exclusive)
 * @length: length of the command buffer in bytes
 * @n_force: number of bits in @force_map
 * @force: forced cuts
 * @flags: TESSERA_SPLIT_LEAK_CHECK, TESSERA_SPLIT_NO_PINS
 * @cut_cost_bytes: cost of one more part, in bytes copied; U64_MAX: make as few
 *	parts as possible
 * @check: called every few thousand steps, may be NULL; a nonzero return value
 *	ends planning with that error
 * @check_ctx: argument for @check
 */
struct tessera_split_input {
	const struct tessera_split_seg *segs;
	const struct tessera_split_alloc *allocs;
	const struct tessera_patch *entries;
	const struct tessera_split_block *blocks;
	const unsigned long *force_map;
	u64 force_seed;
	u32 n_segs;
	u32 n_allocs;
	u32 n_entries;
	u32 n_blocks;
	u32 n_slots;
	u32 length;
	u32 n_force;
	enum tessera_split_force force;
	u32 flags;
	u64 cut_cost_bytes;
	int (*check)(void *ctx);
	void *check_ctx;
};

/**
 * enum tessera_split_op_type - what the driver has to do
 * @TESSERA_SPLIT_EVICT_FOREIGN: evict block @id
 * @TESSERA_SPLIT_EVICT: evict allocation @id to its system pages
 * @TESSERA_SPLIT_MOVE: move resident allocation @id; source and target may
 *	overlap each other, but no other allocation
 * @TESSERA_SPLIT_PAGE_IN: page allocation @id in
 * @TESSERA_SPLIT_PART: run [@start, @end), after the operations before it
 * @TESSERA_SPLIT_PIN: allocation @id keeps its place over the preceding cut
 */
enum tessera_split_op_type {
	TESSERA_SPLIT_EVICT_FOREIGN,
	TESSERA_SPLIT_EVICT,
	TESSERA_SPLIT_MOVE,
	TESSERA_SPLIT_PAGE_IN,
	TESSERA_SPLIT_PART,
	TESSERA_SPLIT_PIN,
};

/** TESSERA_SPLIT_OP_LAST: the part ends the buffer */
#define TESSERA_SPLIT_OP_LAST		BIT(0)
/** TESSERA_SPLIT_OP_FORCED: the part ends at a forced cut */
#define TESSERA_SPLIT_OP_FORCED		BIT(1)
/** TESSERA_SPLIT_OP_CLEAN: eviction needs no copy, the system copy is valid */
#define TESSERA_SPLIT_OP_CLEAN		BIT(2)

/**
 * struct tessera_split_op - one step of a plan
 * @type: &enum tessera_split_op_type
 * @flags: TESSERA_SPLIT_OP_*
 * @seg: segment: target of MOVE and PAGE_IN, place of PIN and evictions
 * @src_seg: MOVE: source segment
 * @id: index of the allocation or block; PART: number of the part, from 0
 * @start: PART: first byte
 * @end: PART: first byte after the part
 * @first: PART: first entry
 * @count: PART: number of entries
 * @off: offset in @seg
 * @src: MOVE: offset in @src_seg
 *
 * All operations between two parts run after the earlier part and before the
 * later one.
 */
struct tessera_split_op {
	u8 type;
	u8 flags;
	u8 seg;
	u8 src_seg;
	u32 id;
	union {
		struct {
			u32 start;
			u32 end;
			u32 first;
			u32 count;
		};
		struct {
			u64 off;
			u64 src;
		};
	};
};

/**
 * struct tessera_split_plan - the plan, in memory provided by the caller
 * @op: operations
 * @cap: capacity of @op
 * @n_op: number of operations in the plan
 * @grow: enlarge @op to at least @want operations: update @op and @cap, keep
 *	the first @n_op; may be NULL if @op is large enough
 * @ctx: for @grow
 * @late_error: 0, -ENOSPC, or -EINVAL of the leak check: the parts in the plan
 *	run, then the submission ends with this error
 * @error_offset: byte offset of the error, late or not
 * @error_entry: entry of the error, or TESSERA_SPLIT_NONE
 * @n_parts: number of PART operations
 * @n_page_ins: number of PAGE_IN operations
 * @n_moves: number of MOVE operations
 * @n_evicts: number of EVICT and EVICT_FOREIGN operations
 * @bytes_in: bytes copied by page-ins
 * @bytes_out: bytes copied by evictions
 * @bytes_moved: bytes copied by moves
 * @variant: the way in which places were chosen: 0 is the fast one, others
 *	estimate differently
 */
struct tessera_split_plan {
	struct tessera_split_op *op;
	u32 cap;
	u32 n_op;
	int (*grow)(struct tessera_split_plan *plan, u32 want);
	void *ctx;
	int late_error;
	u32 error_offset;
	u32 error_entry;
	u32 n_parts;
	u32 n_page_ins;
	u32 n_moves;
	u32 n_evicts;
	u64 bytes_in;
	u64 bytes_out;
	u64 bytes_moved;
	u32 variant;
};

/**
 * struct tessera_split_cursor - progress of a submission that is planned in
 * batches
 * @entry: first entry that is in no part yet
 * @byte: first byte that is in no part yet
 * @part: number of the next part
 * @done: the last part was planned
 * @group: private: number of split points before @entry
 * @table: private: per slot, the allocation bound by the entries before @entry,
 *	or TESSERA_SPLIT_NONE
 * @next_ref: private: per entry, the next entry that names the same allocation
 * @next_use: private: per allocation, the next entry that names it
 */
struct tessera_split_cursor {
	u32 entry;
	u32 byte;
	u32 part;
	bool done;
	u32 group;
	u32 *table;
	u32 *next_ref;
	u32 *next_use;
};

/**
 * struct tessera_split_limits - size limits of a batch
 * @max_parts: maximum number of parts; at least one is made
 * @max_ops: maximum number of evictions, moves and page-ins; a batch of one
 *	part may exceed it
 */
struct tessera_split_limits {
	u32 max_parts;
	u32 max_ops;
};

size_t tessera_split_cursor_size(const struct tessera_split_input *in);
size_t tessera_split_scratch_size(const struct tessera_split_input *in);
int tessera_split_begin(const struct tessera_split_input *in, void *mem, size_t size,
			void *scratch, size_t scratch_size,
			struct tessera_split_cursor *cur,
			struct tessera_split_plan *errors);
int tessera_split_batch(const struct tessera_split_input *in,
			const struct tessera_split_cursor *cur,
			const struct tessera_split_limits *limits,
			void *scratch, size_t size,
			struct tessera_split_plan *plan);
void tessera_split_commit(const struct tessera_split_input *in,
			  struct tessera_split_cursor *cur,
			  const struct tessera_split_plan *plan);

#endif /* __TESSERA_PURE_SPLIT_H__ */
