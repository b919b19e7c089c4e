/*
 * Tessera virtual GPU: dirty logs of displays
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_DIRTY_H
#define HW_DISPLAY_TESSERA_DIRTY_H

#include "exec/memory.h"

/* To take marks clears those of whole blocks. */
#define TESSERA_DIRTY_BLOCK (64 * 4096)

bool tessera_dirty_known(void);
void tessera_dirty_sync(void);
DirtyBitmapSnapshot *tessera_dirty_take(MemoryRegion *mr, uint64_t offset,
                                        uint64_t bytes);

#endif /* HW_DISPLAY_TESSERA_DIRTY_H */
