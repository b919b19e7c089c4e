/*
 * Take the display's dirty marks of RAM without waiting
 *
 * This file and its header are written like a patch to QEMU's core: nothing in
 * them is specific to a device. See ram-dirty.h for the reason.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_compat.h"
#include COMPAT_PHYSMEM_H
#include "exec/target_page.h"
#include "system/kvm.h"
#include "ram-dirty.h"

bool ram_dirty_available(void)
{
    return !kvm_enabled() || !kvm_dirty_ring_enabled();
}

void ram_dirty_sync(void)
{
    if (kvm_enabled() && ram_dirty_available()) {
        memory_global_dirty_log_sync(false);
    }
}

hwaddr ram_dirty_block(void)
{
    return BITS_PER_LONG * qemu_target_page_size();
}

/*
 * QEMU clears the marks of whole blocks, but prepares the accelerator for new
 * marks in the given range only. An emulated CPU whose TLB still has a page of
 * the rest as marked would leave no mark there any more. So pass whole blocks.
 */
DirtyBitmapSnapshot *ram_dirty_take(MemoryRegion *mr, hwaddr offset,
                                    hwaddr len)
{
    ram_addr_t start = memory_region_get_ram_addr(mr) + offset;
    hwaddr end;

    if (!physical_memory_range_any_dirty(start, len, DIRTY_MEMORY_VGA)) {
        return NULL;
    }
    end = MIN(ROUND_UP(offset + len, ram_dirty_block()),
              memory_region_size(mr));
    offset = QEMU_ALIGN_DOWN(offset, ram_dirty_block());
    return physical_memory_snapshot_and_clear_dirty(mr, offset, end - offset,
                                                    DIRTY_MEMORY_VGA);
}
