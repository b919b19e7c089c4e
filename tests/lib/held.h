/* SPDX-License-Identifier: MIT */
/*
 * Jobs that do not begin until the test releases them. They wait for the fence
 * of a job on another render engine of the same device, and that job hangs
 * (`render-engines=2` in .args). The job timeout is lifted for the rest of the
 * test.
 */
#ifndef TSR_HELD_H
#define TSR_HELD_H

#include "host.h"
#include "tsr.h"

struct tsr_held {
	struct tsr_device *dev;
	struct tsr_device *other; /* second file of the device, owns the stuck job */
	struct tsr_stuck stuck;
	uint32_t stuck_ctx;
	uint32_t ctx;
	uint32_t gate; /* syncobj with the stuck job's fence; the held jobs wait for it */
	uint32_t done; /* syncobj with the fence of the last held job */
};

/* Skips the test without a second render engine or the host's monitor. */
struct tsr_held tsr_held_open(struct tsr_device *dev);
/*
 * The stuck job runs on @engine. A test that holds jobs behind several engines
 * needs one tsr_held for each.
 */
struct tsr_held tsr_held_open_on(struct tsr_device *dev, uint32_t engine);
void tsr_held_fill(struct tsr_held *held, const struct tsr_bo *bo, uint32_t words, uint32_t value);
void tsr_held_copy(struct tsr_held *held, const struct tsr_bo *dst, const struct tsr_bo *src);
bool tsr_held_waits(struct tsr_held *held); /* true while the last job has not ended */
void tsr_held_release(struct tsr_held *held); /* does not wait; works without a driver */
void tsr_held_go(struct tsr_held *held); /* releases the jobs and waits for the last one */
void tsr_held_again(struct tsr_held *held); /* a new stuck job, for more jobs after tsr_held_go() */
void tsr_held_close(struct tsr_held *held); /* releases jobs that still wait */

#endif /* TSR_HELD_H */
