/* SPDX-License-Identifier: MIT */
/* The bytes that a plan has to move at least, and those that LRU would move. */
#ifndef TESSERA_HOST_OPTIMUM_H
#define TESSERA_HOST_OPTIMUM_H

#include "pure/split.h"

enum policy {
	POLICY_BELADY, /* furthest next use goes first */
	POLICY_LRU, /* least recently used goes first */
};

u64 plan_bytes(const struct tessera_split_plan *plan);
u64 parts_bytes(const struct tessera_split_input *in, const struct tessera_split_plan *plan,
		enum policy policy);
u64 whole_bytes(const struct tessera_split_input *in);
u64 exhaustive_bytes(const struct tessera_split_input *in, const struct tessera_split_plan *plan);

#endif
