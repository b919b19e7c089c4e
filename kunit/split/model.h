/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Model of memory and patch lists for the oracle. */
#ifndef __TESSERA_SPLIT_MODEL_H__
#define __TESSERA_SPLIT_MODEL_H__

#include "oracle.h"

#define NOWHERE		0xff

/* Holders of memory that block a placement. */
enum {
	HOLD_PROTECTED = 1 << 0,	/* Immovable. */
	HOLD_LAST_RESORT = 1 << 1,
	HOLD_IDLE_FOREIGN = 1 << 2,
	HOLD_OWN = 1 << 3,		/* This submission's allocations in the given set. */
};

#define HOLD_ALL	(HOLD_PROTECTED | HOLD_LAST_RESORT | HOLD_IDLE_FOREIGN | HOLD_OWN)

bool model_is_null(const struct tessera_split_input *in, u32 entry);
u32 model_group_end(const struct tessera_split_input *in, u32 first);
u32 model_allowed(const struct tessera_split_input *in, u32 a);
u32 model_alignment(const struct tessera_split_input *in, u32 a, u32 seg);
u32 model_units(const struct tessera_split_input *in, u32 a, u32 seg);
u32 model_commit_limit(const struct tessera_split_input *in, u32 seg);
bool model_is_fixed(const struct tessera_split_input *in, u32 a);
u64 model_range_mask(u64 off, u64 size);
u64 model_taken(const struct tessera_split_input *in,
		const struct oracle_state *st, u32 seg, u32 what, u32 own);
void model_state_init(const struct tessera_split_input *in,
		      struct oracle_state *st);
void model_apply_entry(const struct tessera_split_input *in, u32 *table, u32 e);
u32 model_kept_by_rows(const struct tessera_split_input *in, const u32 *table,
		       u32 first, u32 end);
u32 model_named_by(const struct tessera_split_input *in, u32 first, u32 end);
bool model_can_pack(struct oracle *o, const struct oracle_state *st, u32 set,
		    u32 what, u32 own);
bool model_is_forced(const struct tessera_split_input *in, u32 entry);

#endif /* __TESSERA_SPLIT_MODEL_H__ */
