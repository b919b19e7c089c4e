// SPDX-License-Identifier: MIT
/* test-iommu.c behind an AMD IOMMU: see the .args file. */
#include "test-iommu.c"
