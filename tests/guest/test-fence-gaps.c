// SPDX-License-Identifier: MIT
/* The same with time between record, fence value and interrupt (test-fence-gaps.args). */
#include "test-fence.c"
