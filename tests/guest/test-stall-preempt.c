// SPDX-License-Identifier: MIT
/*
 * SCHED-5: the same tests on a device that can preempt
 * (test-stall-preempt.args).
 */
#include "test-stall.c"
