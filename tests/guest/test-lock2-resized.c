// SPDX-License-Identifier: MIT
/*
 * test-lock2.c with all video memory visible to the CPU: see
 * test-lock2-resized.args.
 */
#define SEEN_SEGMENTS 2
#include "test-lock2.c"
