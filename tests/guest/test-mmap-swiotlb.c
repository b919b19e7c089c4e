// SPDX-License-Identifier: MIT
/*
 * PAGE-6, SWZ-5: test-mmap.c with all DMA through bounce buffers
 * (test-mmap-swiotlb.args).
 */
#include "test-mmap.c"
