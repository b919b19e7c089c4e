// SPDX-License-Identifier: MIT
/* The same on a device that can preempt: see test-workload-preempt.args. */
#include "test-workload.c"
