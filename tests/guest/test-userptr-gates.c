// SPDX-License-Identifier: MIT
/* The same on a device that does not preempt: see test-userptr-gates.args. */
#include "test-userptr.c"
