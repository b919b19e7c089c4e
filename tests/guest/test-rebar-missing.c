// SPDX-License-Identifier: MIT
/* The BAR has only one size: see test-rebar-missing.args. */
#define BAR_BYTES MiB(32)
#define BAR_SHOWS_ALL false
#include "test-rebar.c"
