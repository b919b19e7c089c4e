// SPDX-License-Identifier: MIT
/* The kernel has no addresses for the second size: see test-rebar-refused.args. */
#define BAR_BYTES MiB(32)
#define BAR_SHOWS_ALL false
#include "test-rebar.c"
