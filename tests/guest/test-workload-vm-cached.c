// SPDX-License-Identifier: MIT
/*
 * The same on a device that needs cache maintenance by the client: see
 * test-workload-vm-cached.args.
 */
#include "test-workload-vm.c"
