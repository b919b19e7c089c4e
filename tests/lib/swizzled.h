/* SPDX-License-Identifier: MIT */
/* Swizzled objects in visible memory, and the ranges that show them. */
#ifndef TSR_SWIZZLED_H
#define TSR_SWIZZLED_H

#include "tsr.h"

#define TSR_MAX_RANGES 64

/* ranges as debugfs shows them */
struct tsr_ranges {
	unsigned int num, used, locked;
	unsigned long long bus; /* where the segment is seen through them */
};

struct tsr_ranges tsr_ranges_now(void);

struct tsr_swizzled {
	struct tsr_surface rows;
	struct tsr_bo bo;
};

/* in the visible segment, with a pattern; mapped, but not touched there yet */
struct tsr_swizzled tsr_swizzled_new(struct tsr_device *dev, uint32_t ctx, uint32_t layout,
				     uint32_t pitch, uint32_t height, uint32_t key);
/* two pages, in the layout whose turn it is */
struct tsr_swizzled tsr_swizzled_small(struct tsr_device *dev, uint32_t ctx, uint32_t key);
bool tsr_swizzled_resident(struct tsr_device *dev, const struct tsr_swizzled *s);
/* what the GPU, to which the object is swizzled rows, reads in it */
void tsr_swizzled_gpu_check(struct tsr_device *dev, uint32_t ctx, const struct tsr_swizzled *s,
			    uint32_t key);
uint32_t tsr_swizzled_read(const struct tsr_swizzled *s, uint64_t word);
void tsr_swizzled_write(struct tsr_swizzled *s, uint64_t word, uint32_t value);
/* where a word of the rows lies: the manual's figure, one address bit at a time */
uint64_t tsr_swizzled_word(const struct tsr_surface *rows, uint64_t word);

#endif /* TSR_SWIZZLED_H */
