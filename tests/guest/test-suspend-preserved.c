// SPDX-License-Identifier: MIT
/*
 * SEG-31: the same if visible VRAM keeps its contents
 * (test-suspend-preserved.args).
 */
#include "test-suspend.c"
