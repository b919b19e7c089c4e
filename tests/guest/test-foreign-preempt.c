// SPDX-License-Identifier: MIT
/*
 * SCHED-5: test-foreign.c on a device that can preempt
 * (test-foreign-preempt.args).
 */
#include "test-foreign.c"
