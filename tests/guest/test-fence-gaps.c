// SPDX-License-Identifier: MIT
/*
 * test-fence.c with delays between completion record, fence value and interrupt
 * (test-fence-gaps.args).
 */
#include "test-fence.c"
