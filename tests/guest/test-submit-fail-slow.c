// SPDX-License-Identifier: MIT
/* The same while the device is still at the page-ins (test-submit-fail-slow.args). */
#include "test-submit-fail.c"
