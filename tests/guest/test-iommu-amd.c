// SPDX-License-Identifier: MIT
/* Behind an IOMMU of another make: see the .args file. */
#include "test-iommu.c"
