// SPDX-License-Identifier: MIT
/* The same, large granules of memory segments: see test-workload-64k.args. */
#include "test-workload.c"
