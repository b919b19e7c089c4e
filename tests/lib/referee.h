/* SPDX-License-Identifier: MIT */
/* The device's verdict on each test; see referee.c. */
#ifndef TSR_REFEREE_H
#define TSR_REFEREE_H

#include <stdint.h>

void referee_begin(void);
/* Prints what was counted since; returns how much of it is of no expected type (a bit each). */
uint64_t referee_end(uint64_t expected);
void referee_leave(void);

#endif /* TSR_REFEREE_H */
