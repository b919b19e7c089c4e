// SPDX-License-Identifier: MIT
/*
 * SEG-34: the same with seven segments in an unusual order, several of a kind:
 * see test-workload-seven.args.
 */
#include "test-workload.c"
