// SPDX-License-Identifier: MIT
/*
 * The same parts and the same rules must hold on a device that can preempt
 * (test-split-preempt.args).
 */
#define ON_THIS_DEVICE "SCHED-9 "
#include "test-split.c"
