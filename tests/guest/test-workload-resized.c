// SPDX-License-Identifier: MIT
/* The same, the CPU sees all video memory: see test-workload-resized.args. */
#include "test-workload.c"
