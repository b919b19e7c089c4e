// SPDX-License-Identifier: MIT
/*
 * SEG-34: the same with the largest number of segments: see
 * test-workload-most.args.
 */
#include "test-workload.c"
