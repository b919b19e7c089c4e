/*
 * Tessera virtual GPU: copies that go past the caches
 *
 * For much memory that nobody reads again soon. Stores of this kind are not
 * ordered with others: tessera_stream_end() comes before anything that tells
 * somebody that the bytes are there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_STREAM_H
#define HW_DISPLAY_TESSERA_STREAM_H

#ifdef __SSE2__
#include <emmintrin.h>

static inline __m128i tessera_load16(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

static inline void tessera_stream16(uint8_t *p, __m128i v)
{
    _mm_stream_si128((__m128i *)p, v);
}

static inline void tessera_stream_end(void)
{
    _mm_sfence();
}

/* The two may overlap; then the result is undefined. */
static inline void tessera_stream_copy(uint8_t *dst, const uint8_t *src,
                                       uint64_t n)
{
    uint64_t i;

    if (((uintptr_t)dst | n) % 64) {
        memmove(dst, src, n);
        return;
    }
    for (i = 0; i < n; i += 64) {
        __m128i a = tessera_load16(src + i);
        __m128i b = tessera_load16(src + i + 16);
        __m128i c = tessera_load16(src + i + 32);
        __m128i d = tessera_load16(src + i + 48);

        tessera_stream16(dst + i, a);
        tessera_stream16(dst + i + 16, b);
        tessera_stream16(dst + i + 32, c);
        tessera_stream16(dst + i + 48, d);
    }
}
#else
static inline void tessera_stream_end(void)
{
}

static inline void tessera_stream_copy(uint8_t *dst, const uint8_t *src,
                                       uint64_t n)
{
    memmove(dst, src, n);
}
#endif

#endif
