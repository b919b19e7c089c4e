// SPDX-License-Identifier: MIT
/* The same with one range, and memory that survives suspend. */
#include "test-swizzle-range.c"
