// SPDX-License-Identifier: MIT
/* test-host-aperture.c with pages of 64 KiB (CHA-9): see the .args file. */
#include "test-host-aperture.c"
