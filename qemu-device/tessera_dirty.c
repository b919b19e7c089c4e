/*
 * Tessera virtual GPU: VRAM that was written
 *
 * Marks it in the dirty logs, whole spans at a time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
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
