/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What a client has to do without so that more of its memory can be resident.
 */
#ifndef __TESSERA_PURE_TRIM_H__
#define __TESSERA_PURE_TRIM_H__

#include "pure.h"

/**
 * struct tessera_trim_seg - a segment
 * @room: bytes that could be had there; counted down
 * @page_size: granularity of places there, a power of two
 */
struct tessera_trim_seg {
	u64 room;
	u32 page_size;
};

/**
 * struct tessera_trim - the sum for objects that are to be resident all at once
 * @segs: segments
 * @n_segs: elements of @segs, at most 32
 * @bytes: result so far: bytes that are missing
 * @set: result so far: indexes of the segments where something was missing, as a set
 */
struct tessera_trim {
	struct tessera_trim_seg *segs;
	u32 n_segs;
	u64 bytes;
	u32 set;
};

int tessera_trim_add(struct tessera_trim *trim, u64 size, u32 segs);

#endif /* __TESSERA_PURE_TRIM_H__ */
