// SPDX-License-Identifier: MIT
/* SEG-34: the same, seven segments, some of a kind, in another order than usual: see test-workload-seven.args. */
#include "test-workload.c"
