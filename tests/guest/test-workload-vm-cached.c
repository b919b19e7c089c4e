// SPDX-License-Identifier: MIT
/* The same, who uses cached pages maintains the caches: see test-workload-vm-cached.args. */
#include "test-workload-vm.c"
