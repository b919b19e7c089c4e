/*
 * Tessera virtual GPU: dirty logs of displays
 *
 * memory_region_snapshot_and_clear_dirty() waits until each emulated CPU has
 * ended what it executes, and drops the BQL meanwhile. In the middle of a
 * register access another CPU's doorbell would then be refused as re-entrant,
 * and be lost. So marks are taken without waiting. The mark of a store under
 * way may be taken before its bytes are there, so callers look once more later.
 * Called under the BQL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "exec/ram_addr.h"
#include "system/kvm.h"
#include "tessera_dirty.h"

/* The span is marked, and empty. False if it was. */
bool tessera_dirty_mark(MemoryRegion *mr, TesseraSpan *span)
{
    bool any = span->lo < span->hi;

    if (any) {
        smp_wmb();              /* bytes before marks */
        memory_region_set_dirty(mr, span->lo, span->hi - span->lo);
    }
    span->lo = span->hi = 0;
    return any;
}

/* Whether the marks can be had: KVM's dirty rings need the BQL let go, too. */
bool tessera_dirty_known(void)
{
    return !kvm_enabled() || !kvm_dirty_ring_enabled();
}

/* Fetch the marks of all memory from KVM, before some of them are taken. */
void tessera_dirty_sync(void)
{
    if (kvm_enabled() && tessera_dirty_known()) {
        memory_global_dirty_log_sync(false);
    }
}

/*
 * The marks of a range, and of the rest of its blocks, which are cleared. NULL:
 * the range has none, and nothing is cleared. To clear marks that are not there
 * would make TCG look through all entries of all TLBs.
 */
DirtyBitmapSnapshot *tessera_dirty_take(MemoryRegion *mr, uint64_t offset,
                                        uint64_t bytes)
{
    ram_addr_t start = memory_region_get_ram_addr(mr) + offset;

    if (!cpu_physical_memory_get_dirty(start, bytes, DIRTY_MEMORY_VGA)) {
        return NULL;
    }
    return cpu_physical_memory_snapshot_and_clear_dirty(mr, offset, bytes,
                                                        DIRTY_MEMORY_VGA);
}
