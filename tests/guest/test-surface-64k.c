// SPDX-License-Identifier: MIT
/*
 * Surface pairs in segments with a granularity of 64 KiB: see the .args file.
 */
#include "test-surface.c"
