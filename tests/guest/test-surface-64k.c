// SPDX-License-Identifier: MIT
/* Surfaces of two objects in segments with granules of 64 KiB: see the .args file. */
#include "test-surface.c"
