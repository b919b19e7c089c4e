// SPDX-License-Identifier: MIT
/* The same where the host aperture has room for all: see the .args file. */
#include "test-storm.c"
