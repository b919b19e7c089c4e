// SPDX-License-Identifier: MIT
/* SCHED-5: the same on a device that can preempt (test-foreign-preempt.args). */
#include "test-foreign.c"
