// SPDX-License-Identifier: MIT
/* test-iommu.c behind a virtio IOMMU: see the .args file. */
#include "test-iommu.c"
