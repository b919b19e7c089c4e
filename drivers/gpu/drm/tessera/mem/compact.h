/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_COMPACT_H__
#define __TESSERA_COMPACT_H__

#include <linux/types.h>

struct tessera_bo;		/* mem/bo.h */
struct tessera_room_rules;	/* mem/victims.h */
struct tessera_segment;		/* segments/segment.h */

int tessera_compact(struct tessera_bo *bo, const struct tessera_segment *seg,
		    struct tessera_room_rules *rules, u64 *start);

#endif /* __TESSERA_COMPACT_H__ */
