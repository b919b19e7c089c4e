// SPDX-License-Identifier: MIT
/*
 * SCHED-5: the same tests on a device that can preempt
 * (test-window-preempt.args).
 */
#include "test-window.c"
