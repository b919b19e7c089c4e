// SPDX-License-Identifier: MIT
/*
 * The same while the device still executes the page-ins
 * (test-submit-fail-slow.args).
 */
#include "test-submit-fail.c"
