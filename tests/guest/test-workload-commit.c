// SPDX-License-Identifier: MIT
/*
 * The same with commit limits below the segment sizes, and little memory: see
 * test-workload-commit.args.
 */
#include "test-workload.c"
