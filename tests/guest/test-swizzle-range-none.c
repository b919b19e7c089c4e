// SPDX-License-Identifier: MIT
/* The same without any. */
#include "test-swizzle-range.c"
