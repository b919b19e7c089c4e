// SPDX-License-Identifier: MIT
/* The same where what ranges show is memory, which it is not in strict mode. */
#include "test-swizzle-range.c"
