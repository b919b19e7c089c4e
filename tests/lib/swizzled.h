/* SPDX-License-Identifier: MIT */
/*
 * Swizzled objects in visible memory, and the swizzling ranges that map them.
 */
#ifndef TSR_SWIZZLED_H
#define TSR_SWIZZLED_H

#include "tsr.h"

#define TSR_MAX_RANGES 64

/* The swizzling ranges as debugfs reports them. */
struct tsr_ranges {
	unsigned int num, used, locked;
	unsigned long long bus; /* bus address at which the ranges show the segment */
};

struct tsr_ranges tsr_ranges_now(void);

struct tsr_swizzled {
	struct tsr_surface rows;
	struct tsr_bo bo;
};

/*
 * A new object in the visible segment, filled with a pattern. It is mapped, but
 * the CPU has not touched it there yet.
 */
struct tsr_swizzled tsr_swizzled_new(struct tsr_device *dev, uint32_t ctx, uint32_t layout,
				     uint32_t pitch, uint32_t height, uint32_t key);
/* The same with two pages; odd keys get TILE4K, even keys MORTON. */
struct tsr_swizzled tsr_swizzled_small(struct tsr_device *dev, uint32_t ctx, uint32_t key);
bool tsr_swizzled_resident(struct tsr_device *dev, const struct tsr_swizzled *s);
/* Checks the pattern with the GPU, which accesses the object in its layout. */
void tsr_swizzled_gpu_check(struct tsr_device *dev, uint32_t ctx, const struct tsr_swizzled *s,
			    uint32_t key);
uint32_t tsr_swizzled_read(const struct tsr_swizzled *s, uint64_t word);
void tsr_swizzled_write(struct tsr_swizzled *s, uint64_t word, uint32_t value);
/*
 * Word index in memory of a word of the linear view. Computed from the manual's
 * figure, one address bit at a time.
 */
uint64_t tsr_swizzled_word(const struct tsr_surface *rows, uint64_t word);

#endif /* TSR_SWIZZLED_H */
