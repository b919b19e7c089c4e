/* SPDX-License-Identifier: MIT */
/*
 * Large access patterns for the planner's benchmark and for the optimum.
 */
#ifndef TESSERA_HOST_PATTERN_H
#define TESSERA_HOST_PATTERN_H

#include "pure/split.h"

enum pattern {
	PATTERN_CYCLIC,
	PATTERN_ZIPF,
	PATTERN_TWO_PHASE,
	PATTERN_SCENE,
	PATTERN_FITS,
	PATTERN_MIXED,
	PATTERN_GROUPS,
	PATTERN_COUNT,
};

/**
 * struct job - one large submission
 * @in: planner input, pointing into this
 * @seg: its only segment
 * @allocs: allocation list; element 0 is NULL
 * @entries: patch list
 */
struct job {
	struct tessera_split_input in;
	struct tessera_split_seg seg;
	struct tessera_split_alloc *allocs;
	struct tessera_patch *entries;
};

extern const char *const pattern_names[PATTERN_COUNT];

void job_make(struct job *job, enum pattern pattern, u32 n_entries, u32 n_allocs, u32 n_slots,
	      u32 space);
void job_free(struct job *job);
int job_plan(struct job *job, struct tessera_split_plan *plan);
u32 pattern_rnd(u64 *state, u32 below);

#endif
