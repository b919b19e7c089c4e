/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Plan a whole submission, for tests: a single batch without limits. */
#ifndef __TESSERA_SPLIT_WHOLE_H__
#define __TESSERA_SPLIT_WHOLE_H__

#include "pure/split.h"

/* Bytes of scratch memory to plan a whole submission. */
static inline size_t split_whole_size(const struct tessera_split_input *in)
{
	return ALIGN(tessera_split_cursor_size(in), 8) + tessera_split_scratch_size(in);
}

/*
 * Plan a whole submission. Returns the error of tessera_split_begin() or
 * tessera_split_batch().
 */
static inline int split_whole(const struct tessera_split_input *in, void *scratch,
			      size_t size, struct tessera_split_plan *plan)
{
	static const struct tessera_split_limits limits = {
		.max_parts = U32_MAX,
		.max_ops = U32_MAX,
	};
	size_t keep = ALIGN(tessera_split_cursor_size(in), 8);
	void *rest = (char *)scratch + keep;
	struct tessera_split_cursor cur;
	int ret;

	ret = tessera_split_begin(in, scratch, keep, rest, size - keep, &cur, plan);
	return ret ?: tessera_split_batch(in, &cur, &limits, rest, size - keep, plan);
}

#endif /* __TESSERA_SPLIT_WHOLE_H__ */
