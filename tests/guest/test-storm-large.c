// SPDX-License-Identifier: MIT
/*
 * The same with a host aperture that is large enough for all objects: see the
 * .args file.
 */
#include "test-storm.c"
