// SPDX-License-Identifier: MIT
/*
 * Large random plans, replayed on a model with one cell per unit of memory. The
 * oracle can only judge small cases. This program covers lists of thousands of
 * entries, segments of thousands of blocks, and the planner's indices over
 * them. Prints TAP.
 */
#include <stdio.h>
#include <stdlib.h>

#include "pattern.h"

#define UNITS 4096U
#define FREE 0U

struct world {
	const struct tessera_split_input *in;
	u32 *cell; /* per unit: 0, allocation + 1, or -block - 1 */
	u32 *at; /* per allocation: unit + 1, or 0 */
	u32 *table;
	bool *touched;
	bool *pinned;
	const char *why;
};

static bool fill(struct world *w, u32 from, u32 n, u32 was, u32 is)
{
	u32 i;

	if (from + n > UNITS)
		return false;
	for (i = from; i < from + n; i++) {
		if (w->cell[i] != was)
			return false;
		w->cell[i] = is;
	}
	return true;
}

static bool leave(struct world *w, u32 id, u64 off)
{
	u32 n = w->in->allocs[id].size;

	if (w->at[id] != off + 1 || w->pinned[id])
		return false;
	w->at[id] = 0;
	return fill(w, off, n, id + 1, FREE);
}

static bool arrive(struct world *w, u32 id, u64 off)
{
	u32 n = w->in->allocs[id].size;

	if (w->at[id] || (w->in->allocs[id].align && off % w->in->allocs[id].align))
		return false;
	w->at[id] = off + 1;
	return fill(w, off, n, FREE, id + 1);
}

static bool do_op(struct world *w, const struct tessera_split_op *op)
{
	const struct tessera_split_block *b = &w->in->blocks[op->id];

	switch (op->type) {
	case TESSERA_SPLIT_EVICT_FOREIGN:
		return b->tier < TESSERA_VICTIM_LAST_RESORT &&
		       fill(w, b->start, b->size, -op->id - 1, FREE);
	case TESSERA_SPLIT_EVICT:
		return leave(w, op->id, op->off);
	case TESSERA_SPLIT_MOVE:
		return leave(w, op->id, op->src) && arrive(w, op->id, op->off);
	case TESSERA_SPLIT_PAGE_IN:
		return arrive(w, op->id, op->off);
	default:
		return op->type == TESSERA_SPLIT_PIN;
	}
}

/* True if one more allocation fits beside those that the part touched. */
static bool has_space(const struct world *w, u32 id)
{
	u32 n = w->in->allocs[id].size, run = 0, i;
	u32 align = max_t(u32, w->in->allocs[id].align, 1);

	for (i = 0; i < UNITS; i++) {
		u32 c = w->cell[i];
		bool stays = c && (c <= w->in->n_allocs ? w->touched[c - 1]
							: w->in->blocks[-c - 1].tier >=
								  TESSERA_VICTIM_LAST_RESORT);

		run = stays ? 0 : run + 1;
		if (run >= n && !((i + 1 - n) % align))
			return true;
	}
	return false;
}

static bool pass_part(struct world *w, const struct tessera_split_op *op)
{
	const struct tessera_split_input *in = w->in;
	u32 end = op->first + op->count, i;

	for (i = 0; i < in->n_slots; i++)
		if (w->table[i] && !w->at[w->table[i]])
			w->why = "a bound allocation is absent";
	for (i = op->first; i < end; i++) {
		u32 id = in->entries[i].alloc_index;

		if (id && !w->at[id])
			w->why = "a named allocation is absent";
		w->table[in->entries[i].slot_id] = id;
		w->touched[id] = true;
	}
	if (op->flags & TESSERA_SPLIT_OP_LAST)
		return !w->why;
	if (!(op->flags & TESSERA_SPLIT_OP_FORCED) && end + 1 < in->n_entries &&
	    in->entries[end + 1].split_offset != op->end &&
	    (w->touched[in->entries[end].alloc_index] ||
	     has_space(w, in->entries[end].alloc_index)))
		w->why = "cut without need";
	memset(w->touched, 0, in->n_allocs);
	memset(w->pinned, 0, in->n_allocs);
	for (i = end; i < in->n_entries && in->entries[i].split_offset == op->end; i++)
		w->table[in->entries[i].slot_id] = 0;
	for (i = 0; i < in->n_slots; i++)
		if (w->table[i]) {
			w->pinned[w->table[i]] = true;
			w->touched[w->table[i]] = true;
		}
	return !w->why;
}

static const char *replay(const struct tessera_split_input *in,
			  const struct tessera_split_plan *plan)
{
	struct world w = { .in = in };
	u32 at = 0, entry = 0, i;

	w.cell = calloc(UNITS, sizeof(u32));
	w.at = calloc(in->n_allocs, sizeof(u32));
	w.table = calloc(in->n_slots, sizeof(u32));
	w.touched = calloc(in->n_allocs, 1);
	w.pinned = calloc(in->n_allocs, 1);
	for (i = 0; i < in->n_blocks; i++) {
		const struct tessera_split_block *b = &in->blocks[i];
		bool own = b->alloc != TESSERA_SPLIT_NONE;

		fill(&w, b->start, b->size, FREE, own ? b->alloc + 1 : -i - 1);
		if (own)
			w.at[b->alloc] = b->start + 1;
	}
	for (i = 0; i < plan->n_op && !w.why; i++) {
		const struct tessera_split_op *op = &plan->op[i];

		if (op->type != TESSERA_SPLIT_PART) {
			if (!do_op(&w, op))
				w.why = "an operation is impossible";
			continue;
		}
		if (op->start != at || op->first != entry)
			w.why = "parts do not tile";
		at = op->end;
		entry = op->first + op->count;
		pass_part(&w, op);
	}
	if (!w.why && !plan->late_error && (at != in->length || entry != in->n_entries))
		w.why = "the buffer is not covered";
	free(w.cell);
	free(w.at);
	free(w.table);
	free(w.touched);
	free(w.pinned);
	return w.why;
}

static void make_case(struct job *job, u64 seed, struct tessera_split_block *blocks)
{
	u64 state = seed;
	u32 n_allocs = 50 + pattern_rnd(&state, 3000), u = 0, next = 1, i;
	u32 sizes = 1 + pattern_rnd(&state, 40);
	enum pattern p = pattern_rnd(&state, PATTERN_COUNT);

	job_make(job, p, 4000, n_allocs, 1 + pattern_rnd(&state, 12), 1);
	job->seg.size = UNITS;
	job->seg.granularity = 1;
	for (i = 1; i <= n_allocs; i++) {
		job->allocs[i].size = 1 + pattern_rnd(&state, sizes);
		job->allocs[i].align = pattern_rnd(&state, 8) ? 0 : 1U << pattern_rnd(&state, 4);
	}
	while (next <= n_allocs && u + 64 < UNITS) {
		struct tessera_split_block *b = &blocks[job->in.n_blocks];

		u += pattern_rnd(&state, 6);
		b->start = u;
		b->alloc = TESSERA_SPLIT_NONE;
		b->size = 1 + pattern_rnd(&state, 8);
		b->rank = pattern_rnd(&state, 1000);
		b->tier =
			pattern_rnd(&state, 40) ? pattern_rnd(&state, 2) : TESSERA_VICTIM_IMMOVABLE;
		b->seg = 0;
		b->flags = 0;
		if (pattern_rnd(&state, 2)) {
			b->alloc = next++;
			b->size = job->allocs[b->alloc].size;
			b->tier = 0;
			u = ALIGN(u, max(job->allocs[b->alloc].align, 1ULL));
			b->start = u;
		}
		u += b->size;
		job->in.n_blocks++;
	}
	job->in.blocks = blocks;
	if (!pattern_rnd(&state, 4))
		job->in.force = TESSERA_SPLIT_FORCE_RANDOM;
	job->in.force_seed = seed;
}

int main(int argc, char **argv)
{
	static struct tessera_split_block blocks[UNITS];
	unsigned int cases = argc > 1 ? atoi(argv[1]) : 300, bad = 0, split = 0, i;
	struct tessera_split_plan plan = {};
	unsigned long parts = 0, late = 0, refused = 0, ops = 0;

	printf("TAP version 13\n1..1\n");
	for (i = 0; i < cases; i++) {
		const char *why = NULL;
		struct job job;
		int ret;

		make_case(&job, 1000 + i, blocks);
		ret = job_plan(&job, &plan);
		if (!ret)
			why = replay(&job.in, &plan);
		else if (ret != -ENOSPC)
			why = "the planner reported an error for a feasible entry";
		if (why)
			printf("# case %u: %s\n", i, why);
		bad += why != NULL;
		refused += ret != 0;
		late += plan.late_error != 0;
		split += plan.n_parts > 1;
		parts += plan.n_parts;
		ops += plan.n_op;
		job_free(&job);
	}
	printf("# %u cases, %u split, %lu parts, %lu operations, %lu late, %lu refused\n", cases,
	       split, parts, ops, late, refused);
	printf("%s 1 - SPLIT-1 SPLIT-9 SPLIT-17 SPLIT-18: large random plans hold on a model of "
	       "memory\n",
	       bad ? "not ok" : "ok");
	free(plan.op);
	return bad != 0;
}
