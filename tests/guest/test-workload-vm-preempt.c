// SPDX-License-Identifier: MIT
/* The same on a device that can preempt: see test-workload-vm-preempt.args. */
#include "test-workload-vm.c"
