// SPDX-License-Identifier: MIT
/* The host aperture with pages of 64 KiB (CHA-9): see the .args file. */
#include "test-host-aperture.c"
