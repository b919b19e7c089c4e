// SPDX-License-Identifier: MIT
/* The second size is too small for all of VRAM: see test-rebar-small.args. */
#define BAR_BYTES MiB(64)
#define BAR_SHOWS_ALL false
#include "test-rebar.c"
