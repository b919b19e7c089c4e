// SPDX-License-Identifier: MIT
/* The same, the CPU sees all video memory: see test-lock2-resized.args. */
#define SEEN_SEGMENTS 2
#include "test-lock2.c"
