// SPDX-License-Identifier: MIT
/* The BAR has one size: see test-rebar-missing.args. */
#define BAR_BYTES MiB(32)
#define SEEN_THROUGH "host-aperture"
#define OTHER_WAY "bar"
#include "test-rebar.c"
