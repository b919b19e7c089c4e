// SPDX-License-Identifier: MIT
/* The same, the device preempts: see test-workload-preempt.args. */
#include "test-workload.c"
