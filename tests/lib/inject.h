/* SPDX-License-Identifier: MIT */
/* Allocations that fail, one at a time. Needs a kernel with fault injection. */
#ifndef TSR_INJECT_H
#define TSR_INJECT_H

#include <stdbool.h>

/* For the calling thread. Skips the test without fault injection. */
void tsr_inject_init(void);
/*
 * Makes the @nth kernel allocation of this thread from now on fail, including
 * allocations that may sleep.
 */
void tsr_inject_set(unsigned int nth);
/*
 * True if the allocation has failed; afterwards no failure is pending. The call
 * may itself have made the allocation that failed.
 */
bool tsr_inject_done(void);

#endif /* TSR_INJECT_H */
