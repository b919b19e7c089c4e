// SPDX-License-Identifier: MIT
/*
 * The same with neither swizzling ranges nor a host aperture: see the .args
 * file.
 */
#include "test-storm.c"
