/* SPDX-License-Identifier: MIT */
/* Jobs that do not begin until they are let go. */
#ifndef TSR_HELD_H
#define TSR_HELD_H

#include "foreign.h"
#include "tsr.h"

struct tsr_held {
	struct tsr_device *dev;
	struct tsr_foreign *foreign;
	uint32_t ctx;
	uint32_t gate; /* what jobs wait for */
	uint32_t done; /* the last one's end */
};

/* skips the test without vgem */
struct tsr_held tsr_held_open(struct tsr_device *dev);
void tsr_held_fill(struct tsr_held *held, const struct tsr_bo *bo, uint32_t words, uint32_t value);
void tsr_held_copy(struct tsr_held *held, const struct tsr_bo *dst, const struct tsr_bo *src);
bool tsr_held_waits(struct tsr_held *held); /* the last job has not ended */
void tsr_held_go(struct tsr_held *held); /* returns when the last has ended */
/* vgem lets them go after ten seconds: so a new gate, for more jobs, behind tsr_held_go() */
void tsr_held_again(struct tsr_held *held);
void tsr_held_close(struct tsr_held *held);

#endif /* TSR_HELD_H */
