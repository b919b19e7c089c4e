/*
 * Stores that bypass the caches: no host support
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GENERIC_HOST_STREAM_STORE_H
#define GENERIC_HOST_STREAM_STORE_H

#define HAVE_STREAM_STORE 0

typedef uint64_t StreamVec __attribute__((vector_size(16)));

static inline void stream_store16(void *p, StreamVec v)
{
    memcpy(p, &v, sizeof(v));
}

static inline void stream_store_end(void)
{
}

#endif
