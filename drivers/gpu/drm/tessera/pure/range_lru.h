/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PURE_RANGE_LRU_H__
#define __TESSERA_PURE_RANGE_LRU_H__

#include "pure.h"

/**
 * struct tessera_range_use - one swizzling range, and who has it
 */
struct tessera_range_use {
	/** @last_use: when its object came for it last, any monotonic unit */
	u64 last_use;
	/** @payer: who pays for that object */
	u32 payer;
	/** @taken: an object has it */
	bool taken;
	/** @locked: that object is locked, with its linear bytes */
	bool locked;
	/** @busy: cannot be taken away from that object now */
	bool busy;
};

u32 tessera_range_kept(u32 num);
u32 tessera_range_free(const struct tessera_range_use *use, u32 num);
u32 tessera_range_victim(const struct tessera_range_use *use, u32 num, u32 payer);

#endif /* __TESSERA_PURE_RANGE_LRU_H__ */
