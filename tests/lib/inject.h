/* SPDX-License-Identifier: MIT */
/* Allocations that fail, one by one. Needs a kernel with fault injection. */
#ifndef TSR_INJECT_H
#define TSR_INJECT_H

#include <stdbool.h>

/* for the thread that calls it; skips the test without fault injection */
void tsr_inject_init(void);
/* the next @nth allocation of this thread in the kernel fails; also those that may wait */
void tsr_inject_set(unsigned int nth);
/* whether that has happened; none is pending afterwards. The calls made here may be what it hits */
bool tsr_inject_done(void);

#endif /* TSR_INJECT_H */
