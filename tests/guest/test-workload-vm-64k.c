// SPDX-License-Identifier: MIT
/* The same, large granules of memory segments: see test-workload-vm-64k.args. */
#include "test-workload-vm.c"
