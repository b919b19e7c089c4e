// SPDX-License-Identifier: MIT
/* The same with a granularity of 64 KiB: see test-workload-vm-64k.args. */
#include "test-workload-vm.c"
