/* SPDX-License-Identifier: MIT */
/*
 * Jobs that do not begin until they are let go. They wait for a job of the same
 * device that hangs on another render engine (`render-engines=2` in .args). The
 * job timeout is lifted for the rest of the test.
 */
#ifndef TSR_HELD_H
#define TSR_HELD_H

#include "host.h"
#include "tsr.h"

struct tsr_held {
	struct tsr_device *dev;
	struct tsr_device *other; /* another file of that device, for the stuck job */
	struct tsr_stuck stuck;
	uint32_t stuck_ctx;
	uint32_t ctx;
	uint32_t gate; /* what jobs wait for */
	uint32_t done; /* the last one's end */
};

/* skips the test without a second render engine, or a monitor of the host */
struct tsr_held tsr_held_open(struct tsr_device *dev);
/* the stuck job is on @engine: a test has one such object for each engine */
struct tsr_held tsr_held_open_on(struct tsr_device *dev, uint32_t engine);
void tsr_held_fill(struct tsr_held *held, const struct tsr_bo *bo, uint32_t words, uint32_t value);
void tsr_held_copy(struct tsr_held *held, const struct tsr_bo *dst, const struct tsr_bo *src);
bool tsr_held_waits(struct tsr_held *held); /* the last job has not ended */
void tsr_held_let_go(struct tsr_held *held); /* does not wait; works without a driver, too */
void tsr_held_go(struct tsr_held *held); /* returns when the last has ended */
void tsr_held_again(struct tsr_held *held); /* a new gate for more jobs, after tsr_held_go() */
void tsr_held_close(struct tsr_held *held); /* lets jobs go that still wait */

#endif /* TSR_HELD_H */
