// SPDX-License-Identifier: MIT
/* Large access patterns, generated from a fixed seed. */
#include <stdlib.h>

#include "pattern.h"
#include "split/whole.h"

#define UNIT (64ULL << 10)

const char *const pattern_names[PATTERN_COUNT] = {
	[PATTERN_CYCLIC] = "cyclic", [PATTERN_ZIPF] = "zipf", [PATTERN_TWO_PHASE] = "two_phase",
	[PATTERN_SCENE] = "scene",   [PATTERN_FITS] = "fits", [PATTERN_MIXED] = "mixed_sizes",
	[PATTERN_GROUPS] = "groups",
};

u32 pattern_rnd(u64 *state, u32 below)
{
	u64 z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (u32)((z ^ (z >> 31)) >> 33) % below;
}

/* Rank r has weight 1 / (r + 1). Searches in the running sums. */
static u32 zipf(u64 *state, const u64 *sum, u32 n)
{
	u64 x = (u64)pattern_rnd(state, 1U << 30) * sum[n - 1] >> 30;
	u32 lo = 0, hi = n - 1;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (sum[mid] > x)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static u32 pick(enum pattern p, u32 i, u32 n, u32 n_allocs, u64 *state, const u64 *sum)
{
	u32 half = n_allocs / 2;

	switch (p) {
	case PATTERN_CYCLIC:
		return i % n_allocs;
	case PATTERN_TWO_PHASE:
		/* the second phase uses others, and some of the first */
		if (i < n / 2 || !pattern_rnd(state, 8))
			return zipf(state, sum, n_allocs) / 2;
		return half + zipf(state, sum, n_allocs) / 2;
	case PATTERN_SCENE:
		/* each tile uses a few textures of its own, and shared ones */
		if (!pattern_rnd(state, 4))
			return pattern_rnd(state, 4);
		return (i / 64 * 5 + pattern_rnd(state, 12)) % n_allocs;
	default:
		return zipf(state, sum, n_allocs);
	}
}

static void make_entries(struct job *job, enum pattern p, u32 n, u32 n_allocs)
{
	u64 state = 42 + p, *sum = malloc(n_allocs * sizeof(*sum)), total = 0;
	u32 i, at = 0, slot = 0;

	for (i = 0; i < n_allocs; i++) {
		total += (1ULL << 28) / (i + 1);
		sum[i] = total;
	}
	for (i = 0; i < n; i++) {
		struct tessera_patch *e = &job->entries[i];
		bool same = p == PATTERN_GROUPS && i % 4 && slot + 1 < job->in.n_slots;

		if (i && !same)
			at += 64;
		slot = same ? slot + 1 : (p == PATTERN_GROUPS ? 0 : i % job->in.n_slots);
		e->split_offset = at;
		e->slot_id = slot;
		e->alloc_index = 1 + pick(p, i, n, n_allocs, &state, sum);
		e->patch_offset = at + 8;
	}
	job->in.n_entries = n;
	job->in.length = at + 64;
	free(sum);
}

/**
 * job_make - a submission of one pattern
 * @job: result
 * @pattern: pattern
 * @n_entries: length of the patch list
 * @n_allocs: distinct allocations
 * @n_slots: slots, used in turn
 * @space: allocations of equal size that fit at once
 */
void job_make(struct job *job, enum pattern pattern, u32 n_entries, u32 n_allocs, u32 n_slots,
	      u32 space)
{
	u64 state = 7;
	u32 i;

	memset(job, 0, sizeof(*job));
	job->seg.size = space * 8 * UNIT;
	job->seg.granularity = 4096;
	job->allocs = calloc(n_allocs + 1, sizeof(*job->allocs));
	job->entries = calloc(n_entries, sizeof(*job->entries));
	job->allocs[0].flags = TESSERA_SPLIT_ALLOC_NULL;
	for (i = 1; i <= n_allocs; i++) {
		job->allocs[i].size = 8 * UNIT;
		if (pattern == PATTERN_MIXED)
			job->allocs[i].size = (1 + pattern_rnd(&state, 15)) * UNIT;
		job->allocs[i].supported = 1;
		job->allocs[i].n_pref = 1;
	}
	if (pattern == PATTERN_FITS)
		job->seg.size = (n_allocs + 1) * 8 * UNIT;
	job->in.segs = &job->seg;
	job->in.n_segs = 1;
	job->in.allocs = job->allocs;
	job->in.n_allocs = n_allocs + 1;
	job->in.entries = job->entries;
	job->in.n_slots = n_slots;
	job->in.cut_cost_bytes = U64_MAX;
	make_entries(job, pattern, n_entries, n_allocs);
}

void job_free(struct job *job)
{
	free(job->allocs);
	free(job->entries);
}

static int grow(struct tessera_split_plan *plan, u32 want)
{
	u32 cap = max(2 * plan->cap, max(want, 4096U));
	void *op = realloc(plan->op, cap * sizeof(*plan->op));

	if (!op)
		return -ENOMEM;
	plan->op = op;
	plan->cap = cap;
	return 0;
}

/**
 * job_plan - plan a submission
 * @job: submission
 * @plan: result; zeroed, or one used before, whose memory is used again
 *
 * Return: what the planner returns.
 */
int job_plan(struct job *job, struct tessera_split_plan *plan)
{
	static void *scratch;
	static size_t size;
	size_t want = split_whole_size(&job->in);

	if (want > size) {
		free(scratch);
		scratch = malloc(want);
		size = want;
	}
	if (!scratch)
		return -ENOMEM;
	plan->grow = grow;
	return split_whole(&job->in, scratch, want, plan);
}
