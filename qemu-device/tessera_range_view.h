/*
 * Tessera virtual GPU: linear views of swizzling ranges in RAM
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_RANGE_VIEW_H
#define HW_DISPLAY_TESSERA_RANGE_VIEW_H

#include "tessera.h"

bool tessera_range_views_init(TesseraState *s);
void tessera_range_views_fini(TesseraState *s);
/* @at is the offset of the surface both in VRAM and in the window. */
bool tessera_range_view_show(TesseraState *s, uint32_t index, uint64_t at);
void tessera_range_view_hide(TesseraState *s, uint32_t index);
void tessera_range_views_write_back(TesseraState *s);
void tessera_range_views_refresh(TesseraState *s, uint64_t offset,
                                 uint64_t len);

#endif /* HW_DISPLAY_TESSERA_RANGE_VIEW_H */
