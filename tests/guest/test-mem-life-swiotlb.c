// SPDX-License-Identifier: MIT
/*
 * PAGE-6, SWZ-5: test-mem-life.c with all DMA through bounce buffers
 * (test-mem-life-swiotlb.args).
 */
#include "test-mem-life.c"
