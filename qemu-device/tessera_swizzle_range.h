/*
 * Tessera virtual GPU: swizzling ranges
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_SWIZZLE_RANGE_H
#define HW_DISPLAY_TESSERA_SWIZZLE_RANGE_H

#include "tessera_core.h"

void tessera_swizzle_range_enable(TesseraState *s, uint32_t index);
void tessera_swizzle_range_disable(TesseraState *s, uint32_t index);
void tessera_swizzle_range_reset(TesseraState *s);
bool tessera_swizzle_range_access(TesseraState *s, uint64_t addr, uint8_t *buf,
                                  uint32_t len, bool write);
bool tessera_swizzle_range_loaded(TesseraState *s);
uint32_t tessera_swizzle_range_status(TesseraState *s, uint32_t index);
bool tessera_swizzle_range_valid(TesseraState *s, uint32_t index);

#endif /* HW_DISPLAY_TESSERA_SWIZZLE_RANGE_H */
