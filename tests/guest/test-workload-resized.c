// SPDX-License-Identifier: MIT
/* The same with all VRAM visible to the CPU: see test-workload-resized.args. */
#include "test-workload.c"
