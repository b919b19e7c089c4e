/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * An independent check of split plans, for small cases only.
 *
 * It shares only the interface with the planner. Memory is a bitmap per
 * segment, a packing is found by trying each subset at each unit, and the plain
 * algorithm of the requirements is implemented literally.
 */
#ifndef __TESSERA_SPLIT_ORACLE_H__
#define __TESSERA_SPLIT_ORACLE_H__

#include "pure/split.h"

#define ORACLE_SEGS	3U
#define ORACLE_ALLOCS	10U
#define ORACLE_ENTRIES	24U
#define ORACLE_BLOCKS	64U
/*
 * Initial number of blocks of a case at most; more appear between its batches.
 */
#define ORACLE_FIRST_BLOCKS	24U
#define ORACLE_SLOTS	9U
/* Units (bytes, here) of a segment: the bits of a u64 limit them. */
#define ORACLE_UNITS	48U
/* Words of a bitmap of all subsets of the allocations. */
#define ORACLE_WORDS	(1 << (ORACLE_ALLOCS - 6))
#define ORACLE_WHY	160U
#define ORACLE_OPS	1024U

/**
 * struct oracle_case - a random case, with the memory to plan and check it
 * @in: planner input, pointing into this
 * @segs: segments
 * @allocs: allocation list
 * @entries: patch list
 * @blocks: occupied placements
 * @force: forced cuts
 * @op: space for the plan
 */
struct oracle_case {
	struct tessera_split_input in;
	struct tessera_split_seg segs[ORACLE_SEGS];
	struct tessera_split_alloc allocs[ORACLE_ALLOCS];
	struct tessera_patch entries[ORACLE_ENTRIES];
	struct tessera_split_block blocks[ORACLE_BLOCKS];
	unsigned long force[1];
	struct tessera_split_op op[ORACLE_OPS];
};

/**
 * struct oracle_state - memory and slot table at one moment
 * @table: allocation per slot
 * @seg: segment per allocation, 0xff if it is not resident
 * @off: offset per allocation
 * @w: touched by the pending part or pinned
 * @clean: its system copy is valid
 * @gone: the foreign block was evicted
 */
struct oracle_state {
	u32 table[ORACLE_SLOTS];
	u8 seg[ORACLE_ALLOCS];
	u8 off[ORACLE_ALLOCS];
	bool w[ORACLE_ALLOCS];
	bool clean[ORACLE_ALLOCS];
	bool gone[ORACLE_BLOCKS];
};

/**
 * struct oracle_plain - result of the plain algorithm of the requirements
 * @parts: parts made
 * @failed: it ended with a placement failure
 * @unsure: it had to pack, and the outcome depends on the packing chosen
 */
struct oracle_plain {
	u32 parts;
	bool failed;
	bool unsure;
};

/**
 * struct oracle - memory of the oracle
 * @in: case
 * @plan: plan to check
 * @why: violation found
 * @st: state
 * @save: state to go back to
 * @reach: subsets of the items that can lie below each unit
 * @pinned: allocations that the last cut pinned and that are still in place
 * @strays: allocations that the last cut pinned and that have lost their
 *	placement
 * @parts: parts checked
 * @at: byte behind them
 * @first: entry behind them
 */
struct oracle {
	const struct tessera_split_input *in;
	const struct tessera_split_plan *plan;
	char why[ORACLE_WHY];
	struct oracle_state st;
	struct oracle_state save;
	u64 reach[ORACLE_UNITS + 1][ORACLE_WORDS];
	u32 pinned;
	u32 strays;
	u32 parts;
	u32 at;
	u32 first;
};

/**
 * struct oracle_batches - memory to plan a case in batches
 * @cur: cursor
 * @mem: memory of the cursor
 * @saved: copy of @mem
 * @scratch: memory of the planner
 * @limits: limits of the current batch
 * @plan: plan of the current batch
 * @state: state of the random number generator
 * @batches: number of batches made
 */
struct oracle_batches {
	struct tessera_split_cursor cur;
	u8 mem[1024];
	u8 saved[1024];
	u8 scratch[32768];
	struct tessera_split_limits limits;
	struct tessera_split_plan plan;
	u64 state;
	u32 batches;
};

static inline u32 oracle_rnd(u64 *state, u32 below)
{
	u64 z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (u32)((z ^ (z >> 31)) >> 33) % below;
}

bool oracle_run_batches(struct oracle *o, struct oracle_case *c,
			struct oracle_batches *w, u64 seed, bool change);
void oracle_generate(struct oracle_case *c, u64 seed);
void oracle_generate_tight(struct oracle_case *c, u64 seed);
bool oracle_judge(struct oracle *o, const struct tessera_split_input *in,
		  const struct tessera_split_plan *plan, int ret);
void oracle_judge_begin(struct oracle *o, const struct tessera_split_input *in);
bool oracle_judge_batch(struct oracle *o, const struct tessera_split_plan *plan);
void oracle_world_change(struct oracle *o);
void oracle_run_plain(struct oracle *o, const struct tessera_split_input *in,
		      struct oracle_plain *out);
bool oracle_feasible(struct oracle *o, const struct tessera_split_input *in,
		     u32 *offset);

#endif /* __TESSERA_SPLIT_ORACLE_H__ */
