// SPDX-License-Identifier: MIT
/* The kernel has no addresses for the second size: see test-rebar-refused.args. */
#define BAR_BYTES MiB(32)
#define SEEN_THROUGH "host-aperture"
#define OTHER_WAY "bar"
#include "test-rebar.c"
