/*
 * Tessera virtual GPU: registers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_MMIO_H
#define HW_DISPLAY_TESSERA_MMIO_H

#include "tessera.h"

extern const MemoryRegionOps tessera_mmio_ops;

#endif /* HW_DISPLAY_TESSERA_MMIO_H */
