/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_SEGMENT_H__
#define __TESSERA_SEGMENT_H__

#include <linux/types.h>

#include "pure/segment_desc.h"
#include "segments/account.h"

struct tessera_device;

/**
 * struct tessera_segment - one segment descriptor and its place in TTM
 *
 * Constant after probe (SEG-4).
 */
struct tessera_segment {
	/** @index: position in &tessera_segments.seg */
	u32 index;
	/** @id: hardware id, 1 .. 31 */
	u32 id;
	/** @flags: TSR_SEGF_* */
	u32 flags;
	/** @mem_type: TTM memory type */
	u32 mem_type;
	/** @base: GPU address of the first byte */
	u64 base;
	/** @size: bytes */
	u64 size;
	/** @commit: most bytes that may be resident */
	u64 commit;
	/** @cpu_offset: offset in BAR 2, if CPU visible */
	u64 cpu_offset;
	/** @page_size: granularity of placements */
	u32 page_size;
	/** @name: as the device calls it */
	char name[TSR_SEG_NAME_BYTES];
};

/**
 * struct tessera_segments - all segments, in id order
 */
struct tessera_segments {
	/** @num: elements of @seg used */
	u32 num;
	/** @seg: the segments */
	struct tessera_segment seg[TESSERA_MAX_MANAGED_SEGMENTS];
	/** @desc: the same as the pure checks want it */
	struct tessera_segment_desc desc[TESSERA_MAX_MANAGED_SEGMENTS];
	/** @bar_base: CPU bus address of BAR 2 */
	u64 bar_base;
};

int tessera_segment_init(struct tessera_device *tdev);

u32 tessera_segment_count(struct tessera_device *tdev);
const struct tessera_segment *tessera_segment_by_index(struct tessera_device *tdev, u32 index);
const struct tessera_segment *tessera_segment_by_id(struct tessera_device *tdev, u32 id);
const struct tessera_segment *tessera_segment_by_type(struct tessera_device *tdev, u32 mem_type);

static inline bool tessera_segment_is_aperture(const struct tessera_segment *seg)
{
	return seg->flags & TSR_SEGF_APERTURE;
}

/* NULL, for system memory, is none. */
static inline bool tessera_segment_is_memory(const struct tessera_segment *seg)
{
	return seg && !tessera_segment_is_aperture(seg);
}

static inline bool tessera_segment_cpu_visible(const struct tessera_segment *seg)
{
	return !tessera_segment_is_aperture(seg) && (seg->flags & TSR_SEGF_CPU_VISIBLE);
}

#endif /* __TESSERA_SEGMENT_H__ */
