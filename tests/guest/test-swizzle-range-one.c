// SPDX-License-Identifier: MIT
/* The same with one range. */
#include "test-swizzle-range.c"
