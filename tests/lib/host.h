/* SPDX-License-Identifier: MIT */
/* What the host does to the machine meanwhile. Skips the test without `scripts/guest --monitor guest`. */
#ifndef TSR_HOST_H
#define TSR_HOST_H

#include <stdbool.h>

#include "tsr.h"

/* a property of the device, from outside */
void tsr_host_set_bool(const char *property, bool value);

/*
 * A job that runs until it is let go, so that nothing depends on how long something takes. The job timeout is lifted for
 * the rest of the test.
 */
struct tsr_stuck {
	uint32_t sync; /* its end */
	struct tsr_device *dev;
};

/* on the engine dev->render, which gets no further than its beginning */
struct tsr_stuck tsr_stuck_start(struct tsr_device *dev, uint32_t ctx);
void tsr_stuck_end(struct tsr_stuck *stuck);

#endif /* TSR_HOST_H */
