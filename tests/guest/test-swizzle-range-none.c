// SPDX-License-Identifier: MIT
/* The same on a device without swizzling ranges. */
#include "test-swizzle-range.c"
