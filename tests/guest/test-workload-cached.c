// SPDX-License-Identifier: MIT
/* The same, cached pages need maintenance: see test-workload-cached.args. */
#include "test-workload.c"
