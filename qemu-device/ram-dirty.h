/*
 * Take the display's dirty marks of RAM without waiting
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SYSTEM_RAM_DIRTY_H
#define SYSTEM_RAM_DIRTY_H

#include "tessera_compat.h"
#include COMPAT_MEMORY_H

/*
 * memory_region_snapshot_and_clear_dirty() waits until every emulated CPU has
 * finished the code that it is executing, and drops the BQL meanwhile. A device
 * must not do that in the middle of a register access: an access of another CPU
 * to the device would be refused as re-entrant, and be lost.
 *
 * The functions here take the marks (DIRTY_MEMORY_VGA) without waiting. The
 * mark of a store in flight may be taken before its bytes are visible, so
 * callers have to read the memory once more later. Called under the BQL.
 */

/**
 * ram_dirty_block: the bytes of a block
 *
 * ram_dirty_take() takes the marks of whole blocks. A RAM region starts with a
 * block, and may end within one.
 */
hwaddr ram_dirty_block(void);

/**
 * ram_dirty_available: whether marks can be taken without waiting
 *
 * They cannot with KVM's dirty rings, which are read only after the BQL is
 * dropped.
 */
bool ram_dirty_available(void);

/**
 * ram_dirty_sync: fetch the marks of all memory from the accelerator
 *
 * One call before ram_dirty_take() serves several ranges.
 */
void ram_dirty_sync(void);

/**
 * ram_dirty_take: take and clear the marks of a range
 *
 * The marks of the rest of the range's blocks are taken, too, and stores to
 * these pages are logged again as well. Returns %NULL,
 * and clears nothing, if no page of the range is marked. (Clearing an unmarked
 * range would make TCG search all entries of all TLBs for nothing.)
 *
 * @mr: the RAM region, which has a log for %DIRTY_MEMORY_VGA
 * @offset: start of the range, relative to @mr's start
 * @len: number of bytes
 */
DirtyBitmapSnapshot *ram_dirty_take(MemoryRegion *mr, hwaddr offset,
                                    hwaddr len);

#endif /* SYSTEM_RAM_DIRTY_H */
