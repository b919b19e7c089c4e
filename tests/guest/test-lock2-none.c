// SPDX-License-Identifier: MIT
/* The same without a CPU host aperture: see test-lock2-none.args. */
#include "test-lock2.c"
