// SPDX-License-Identifier: MIT
/* The second size is too small for all memory: see test-rebar-small.args. */
#define BAR_BYTES MiB(64)
#define SEEN_THROUGH "host-aperture"
#define OTHER_WAY "bar"
#include "test-rebar.c"
