// SPDX-License-Identifier: MIT
/* The same on a device that cannot preempt: see test-userptr-gates.args. */
#include "test-userptr.c"
