/*
 * Tessera virtual GPU: swizzling ranges
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_SWIZZLE_RANGE_H
#define HW_DISPLAY_TESSERA_SWIZZLE_RANGE_H

#include "tessera.h"

extern const MemoryRegionOps tessera_swizzle_window_ops;

void tessera_swizzle_range_enable(TesseraState *s, uint32_t index);
void tessera_swizzle_range_disable(TesseraState *s, uint32_t index);
void tessera_swizzle_range_reset(TesseraState *s);
bool tessera_swizzle_range_loaded(TesseraState *s);
uint32_t tessera_swizzle_range_status(TesseraState *s, uint32_t index);
bool tessera_swizzle_range_valid(TesseraState *s, uint32_t index);

#endif /* HW_DISPLAY_TESSERA_SWIZZLE_RANGE_H */
