// SPDX-License-Identifier: MIT
/*
 * The same on a device that needs cache maintenance: see
 * test-workload-cached.args.
 */
#include "test-workload.c"
