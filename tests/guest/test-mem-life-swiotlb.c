// SPDX-License-Identifier: MIT
/* PAGE-6, SWZ-5: the same where all DMA goes through bounce buffers (test-mem-life-swiotlb.args). */
#include "test-mem-life.c"
