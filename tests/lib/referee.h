/* SPDX-License-Identifier: MIT */
/* The device's error counters, checked around each test; see referee.c. */
#ifndef TSR_REFEREE_H
#define TSR_REFEREE_H

#include <stdint.h>

void referee_begin(void);
/*
 * Prints the errors counted since referee_begin(). @expected is a mask of
 * allowed error types. Returns the number of errors of all other types.
 */
uint64_t referee_end(uint64_t expected);
void referee_leave(void);

#endif /* TSR_REFEREE_H */
