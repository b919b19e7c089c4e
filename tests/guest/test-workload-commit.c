// SPDX-License-Identifier: MIT
/* The same, commit limits below sizes, little memory: see test-workload-commit.args. */
#include "test-workload.c"
