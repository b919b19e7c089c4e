// SPDX-License-Identifier: MIT
/* SEG-34: the same, as many segments as a device can have: see test-workload-most.args. */
#include "test-workload.c"
