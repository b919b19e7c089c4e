/*
 * Tessera virtual GPU: vectors, and copies that bypass the caches
 *
 * These are for large amounts of memory that are not read again soon. Streaming
 * stores are not ordered with other stores. So call stream_store_end() before
 * any store that announces the bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_STREAM_H
#define HW_DISPLAY_TESSERA_STREAM_H

#include "host/stream-store.h"

static inline StreamVec tessera_load16(const uint8_t *p)
{
    StreamVec v;

    memcpy(&v, p, sizeof(v));
    return v;
}

/* With @stream, @p is aligned to 16 bytes. */
static inline void tessera_store16(uint8_t *p, StreamVec v, bool stream)
{
    if (stream) {
        stream_store16(p, v);
    } else {
        memcpy(p, &v, sizeof(v));
    }
}

/*
 * Copy @n bytes, bypassing the caches if the alignment permits. Source and
 * destination may overlap, with an undefined result. @ahead is the address from
 * which the caller will read next, for prefetching. Any address is permitted.
 */
static inline void tessera_stream_copy(uint8_t *dst, const uint8_t *src,
                                       uint64_t n, const uint8_t *ahead)
{
    uint64_t i;

    if (!HAVE_STREAM_STORE || ((uintptr_t)dst | n) % 64) {
        memmove(dst, src, n);
        return;
    }
    for (i = 0; i < n; i += 64) {
        StreamVec a = tessera_load16(src + i);
        StreamVec b = tessera_load16(src + i + 16);
        StreamVec c = tessera_load16(src + i + 32);
        StreamVec d = tessera_load16(src + i + 48);

        if (i < TSR_PAGE_SIZE) {
            __builtin_prefetch(ahead + i);
        }
        stream_store16(dst + i, a);
        stream_store16(dst + i + 16, b);
        stream_store16(dst + i + 32, c);
        stream_store16(dst + i + 48, d);
    }
}

#endif
