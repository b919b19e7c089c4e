// SPDX-License-Identifier: MIT
/* SEG-31: the same where apertures have the first numbers (test-suspend-reversed.args). */
#include "test-suspend.c"
