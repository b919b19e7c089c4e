/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PURE_SCATTER_H__
#define __TESSERA_PURE_SCATTER_H__

#include "pure.h"

/**
 * struct tessera_scatter - request for pages that need not be contiguous
 *
 * The caller offers all holes of a segment, from the lowest one up, once for
 * each unit.
 */
struct tessera_scatter {
	/** @left: pages still needed */
	u64 left;
	/**
	 * @unit: size and alignment of the blocks taken now, in pages; a power
	 * of two
	 */
	u64 unit;
	/** @smallest: last unit; all holes are multiples of it */
	u64 smallest;
};

void tessera_scatter_begin(struct tessera_scatter *scatter, u64 pages, u64 smallest);
bool tessera_scatter_next(struct tessera_scatter *scatter);
u64 tessera_scatter_take(struct tessera_scatter *scatter, u64 lo, u64 hi, u64 *start);

#endif /* __TESSERA_PURE_SCATTER_H__ */
