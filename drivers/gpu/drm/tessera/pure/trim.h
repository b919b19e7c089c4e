/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Computation of the bytes that a client must give up to make more memory
 * resident.
 */
#ifndef __TESSERA_PURE_TRIM_H__
#define __TESSERA_PURE_TRIM_H__

#include "pure.h"

/**
 * struct tessera_trim_seg - a segment
 * @available: available bytes; reduced with each object
 * @page_size: granularity of placements, a power of two
 */
struct tessera_trim_seg {
	u64 available;
	u32 page_size;
};

/**
 * struct tessera_trim - sum over objects that are to be resident at the same
 * time
 * @segs: segments
 * @n_segs: number of @segs, at most 32
 * @bytes: result so far: missing bytes
 * @set: result so far: set of indexes of the segments in which bytes are
 *	missing
 */
struct tessera_trim {
	struct tessera_trim_seg *segs;
	u32 n_segs;
	u64 bytes;
	u32 set;
};

int tessera_trim_add(struct tessera_trim *trim, u64 size, u32 segs);

#endif /* __TESSERA_PURE_TRIM_H__ */
