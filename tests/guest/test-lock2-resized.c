// SPDX-License-Identifier: MIT
/* The same, the CPU sees all video memory: see test-lock2-resized.args. */
#include "test-lock2.c"
