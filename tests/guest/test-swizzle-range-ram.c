// SPDX-License-Identifier: MIT
/*
 * The same with ranges that are backed by memory, which they are not in strict
 * mode.
 */
#include "test-swizzle-range.c"
