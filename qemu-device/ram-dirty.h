/*
 * Take the display's marks of dirty RAM without waiting
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SYSTEM_RAM_DIRTY_H
#define SYSTEM_RAM_DIRTY_H

#include "tessera_compat.h"
#include COMPAT_MEMORY_H

/*
 * memory_region_snapshot_and_clear_dirty() waits until each emulated CPU has
 * ended what it executes, and drops the BQL meanwhile. A device must not do
 * that in the middle of a register access: another CPU's access to the device
 * would be refused as re-entrant, and be lost.
 *
 * The functions here take the marks (DIRTY_MEMORY_VGA) without waiting. The
 * mark of a store under way may be taken before its bytes are there, so callers
 * look at the memory once more later. Called under the BQL.
 */

/* ram_dirty_take() clears the marks of whole blocks of so many bytes. */
#define RAM_DIRTY_BLOCK (64 * 4096)

/**
 * ram_dirty_available: whether marks can be taken without waiting
 *
 * KVM's dirty rings can be read only while the BQL is let go.
 */
bool ram_dirty_available(void);

/**
 * ram_dirty_sync: fetch the marks of all memory from the accelerator
 *
 * Called before ram_dirty_take(), once for several ranges.
 */
void ram_dirty_sync(void);

/**
 * ram_dirty_take: take and clear the marks of a range
 *
 * The marks of the rest of the range's blocks are taken, too. Returns %NULL,
 * and clears nothing, if no page of the range is marked. (To clear marks that
 * are not there would make TCG look through all entries of all TLBs.)
 *
 * @mr: the RAM region, which has a log for %DIRTY_MEMORY_VGA
 * @offset: start of the range, relative to @mr's start
 * @len: number of bytes
 */
DirtyBitmapSnapshot *ram_dirty_take(MemoryRegion *mr, hwaddr offset,
                                    hwaddr len);

#endif /* SYSTEM_RAM_DIRTY_H */
