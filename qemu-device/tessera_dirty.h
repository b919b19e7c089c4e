/*
 * Tessera virtual GPU: dirty spans of VRAM
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_DIRTY_H
#define HW_DISPLAY_TESSERA_DIRTY_H

#include "tessera_compat.h"
#include COMPAT_MEMORY_H
#include "tessera_access.h"

bool tessera_dirty_mark(MemoryRegion *mr, TesseraSpan *span);

#endif /* HW_DISPLAY_TESSERA_DIRTY_H */
