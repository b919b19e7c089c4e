// SPDX-License-Identifier: MIT
/*
 * SCHED-1, SCHED-5: the same tests on a device that can preempt
 * (test-sched-preempt.args).
 */
#include "test-sched.c"
