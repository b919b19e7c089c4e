// SPDX-License-Identifier: MIT
/* PAGE-6, SWZ-5: the same where all DMA goes through bounce buffers (test-mmap-swiotlb.args). */
#include "test-mmap.c"
