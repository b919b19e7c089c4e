/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PURE_RANGE_LRU_H__
#define __TESSERA_PURE_RANGE_LRU_H__

#include "pure.h"

/**
 * struct tessera_range_use - state of one swizzling range
 */
struct tessera_range_use {
	/**
	 * @last_use: time of its object's last request, in any monotonic unit
	 */
	u64 last_use;
	/** @process: the process that is charged for that object */
	u32 process;
	/** @taken: an object has the range */
	bool taken;
	/**
	 * @locked: that object is locked and has its linear bytes in the range
	 */
	bool locked;
	/** @busy: the range cannot be taken from that object now */
	bool busy;
};

u32 tessera_range_kept(u32 num);
u32 tessera_range_free(const struct tessera_range_use *use, u32 num);
u32 tessera_range_victim(const struct tessera_range_use *use, u32 num, u32 process);

#endif /* __TESSERA_PURE_RANGE_LRU_H__ */
