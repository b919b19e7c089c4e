// SPDX-License-Identifier: MIT
/*
 * SEG-31: the same with apertures first in the segment table
 * (test-suspend-reversed.args).
 */
#include "test-suspend.c"
