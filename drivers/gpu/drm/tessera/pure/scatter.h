/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PURE_SCATTER_H__
#define __TESSERA_PURE_SCATTER_H__

#include "pure.h"

/**
 * struct tessera_scatter - the pages an object still has to get, wherever they are
 *
 * Begun with what it needs, and offered all holes of a segment, from the lowest one up; then once more for
 * each smaller unit.
 */
struct tessera_scatter {
	/** @left: pages */
	u64 left;
	/** @unit: pages of what is taken now: whole ones, at multiples of their size; a power of two */
	u64 unit;
	/** @smallest: the last such; what is free is a multiple of it */
	u64 smallest;
};

void tessera_scatter_begin(struct tessera_scatter *scatter, u64 pages, u64 smallest);
bool tessera_scatter_next(struct tessera_scatter *scatter);
u64 tessera_scatter_take(struct tessera_scatter *scatter, u64 lo, u64 hi, u64 *start);

#endif /* __TESSERA_PURE_SCATTER_H__ */
