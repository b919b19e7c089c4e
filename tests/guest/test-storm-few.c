// SPDX-License-Identifier: MIT
/*
 * The same with one swizzling range, and a host aperture of one page, which is
 * too small for any object: see the .args file.
 */
#include "test-storm.c"
