// SPDX-License-Identifier: MIT
/* SEG-34: the same with one segment: see test-workload-one.args. */
#include "test-workload.c"
