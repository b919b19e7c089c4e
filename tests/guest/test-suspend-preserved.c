// SPDX-License-Identifier: MIT
/* SEG-31: the same where visible memory keeps its contents (test-suspend-preserved.args). */
#include "test-suspend.c"
