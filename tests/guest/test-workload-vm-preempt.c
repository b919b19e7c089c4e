// SPDX-License-Identifier: MIT
/* The same, the device preempts: see test-workload-vm-preempt.args. */
#include "test-workload-vm.c"
