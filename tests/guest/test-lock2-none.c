// SPDX-License-Identifier: MIT
/* test-lock2.c without a CPU host aperture: see test-lock2-none.args. */
#include "test-lock2.c"
