/*
 * Tessera virtual GPU: dirty spans of VRAM
 *
 * Marks them in the dirty logs, one call for a whole span.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_dirty.h"

/* Mark the span and empty it. Returns false if it was empty. */
bool tessera_dirty_mark(MemoryRegion *mr, TesseraSpan *span)
{
    bool any = span->lo < span->hi;

    if (any) {
        /*
         * The bytes have to be visible before the marks, which are plain
         * stores. A copy marks spans before its streaming stores have ended,
         * and on x86 smp_wmb() does not order those.
         */
        smp_mb();
        memory_region_set_dirty(mr, span->lo, span->hi - span->lo);
    }
    span->lo = span->hi = 0;
    return any;
}
