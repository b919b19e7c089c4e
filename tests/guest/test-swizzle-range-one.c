// SPDX-License-Identifier: MIT
/* The same with one range, and with VRAM that survives suspend. */
#include "test-swizzle-range.c"
