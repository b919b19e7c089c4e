/*
 * Stores that bypass the caches: x86
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef I386_HOST_STREAM_STORE_H
#define I386_HOST_STREAM_STORE_H

#ifdef __SSE2__
#include <emmintrin.h>

#define HAVE_STREAM_STORE 1

typedef uint64_t StreamVec __attribute__((vector_size(16)));

/* @p has to be aligned to 16 bytes. */
static inline void stream_store16(void *p, StreamVec v)
{
    _mm_stream_si128(p, (__m128i)v);
}

/* Called before any store that announces the bytes. */
static inline void stream_store_end(void)
{
    _mm_sfence();
}
#else
#include "host/include/generic/host/stream-store.h"
#endif

#endif
