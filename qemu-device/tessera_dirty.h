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

#define TESSERA_DIRTY_GAP   (64 * 1024)         /* largest gap that is joined */
#define TESSERA_DIRTY_MOST  (4 * 1024 * 1024)   /* largest joined span */

/*
 * Join a written range to the span, so that one call marks many writes. Returns
 * false, with the span unchanged, if the span has to be marked first.
 */
static inline bool tessera_dirty_join(TesseraSpan *span, uint64_t offset,
                                      uint64_t len)
{
    uint64_t end = offset + len;

    if (span->lo >= span->hi) {
        *span = (TesseraSpan) { .lo = offset, .hi = end };
        return true;
    }
    if (offset > span->hi + TESSERA_DIRTY_GAP ||
        end + TESSERA_DIRTY_GAP < span->lo ||
        span->hi - span->lo >= TESSERA_DIRTY_MOST) {
        return false;
    }
    span->lo = MIN(span->lo, offset);
    span->hi = MAX(span->hi, end);
    return true;
}

bool tessera_dirty_mark(MemoryRegion *mr, TesseraSpan *span);

#endif /* HW_DISPLAY_TESSERA_DIRTY_H */
