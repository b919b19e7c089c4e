/*
 * Tessera virtual GPU: surface layouts
 *
 * The device's own address mapping, written apart from the driver's so that
 * the two must agree. Rectangles move between a view in any layout and a
 * linear buffer. Called from engine threads, with no lock held.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_swizzle.h"
#include "tessera_strict.h"
#include "tessera_stream.h"

#define TILE_WORDS 32           /* 4-byte columns of a tile, and its rows */

/* Bit n of the index moved to bit 2n. */
const uint16_t tessera_spread[TILE_WORDS] = {
    0x000, 0x001, 0x004, 0x005, 0x010, 0x011, 0x014, 0x015,
    0x040, 0x041, 0x044, 0x045, 0x050, 0x051, 0x054, 0x055,
    0x100, 0x101, 0x104, 0x105, 0x110, 0x111, 0x114, 0x115,
    0x140, 0x141, 0x144, 0x145, 0x150, 0x151, 0x154, 0x155,
};

static uint32_t morton_offset(uint32_t x, uint32_t row)
{
    return (tessera_spread[x >> 2] | tessera_spread[row] << 1) * 4 + (x & 3);
}

static uint64_t tile_offset(uint32_t pitch, uint64_t xb, uint32_t y)
{
    uint64_t tile = (uint64_t)(y / TSR_TILE_ROWS) *
                    (pitch / TSR_TILE_WIDTH_BYTES) + xb / TSR_TILE_WIDTH_BYTES;

    return tile * TSR_TILE_BYTES;
}

/* Where byte @xb of row @y lies, counted from the surface's start. */
uint64_t tessera_swizzle_offset(uint32_t layout, uint32_t pitch, uint64_t xb,
                                uint32_t y)
{
    uint32_t x = xb % TSR_TILE_WIDTH_BYTES;
    uint32_t row = y % TSR_TILE_ROWS;

    switch (layout) {
    case TSR_LAYOUT_TILE4K:
        return tile_offset(pitch, xb, y) + row * TSR_TILE_WIDTH_BYTES + x;
    case TSR_LAYOUT_MORTON:
        return tile_offset(pitch, xb, y) + morton_offset(x, row);
    default:
        return (uint64_t)y * pitch + xb;
    }
}

/* One past the last byte a rectangle touches; whole tiles where tiled. */
uint64_t tessera_swizzle_end(const TesseraRect *r)
{
    uint32_t y = r->y + r->rows - 1;

    if (r->layout == TSR_LAYOUT_LINEAR) {
        return (uint64_t)y * r->pitch + r->xb + r->nb;
    }
    return tile_offset(r->pitch, r->xb + r->nb - 1, y) + TSR_TILE_BYTES;
}

/* A scratch buffer of the engine, good until the next call. */
uint8_t *tessera_band(TesseraEngine *e, size_t bytes)
{
    if (e->band_bytes < bytes) {
        e->band = g_realloc(e->band, bytes);
        e->band_bytes = bytes;
    }
    return e->band;
}

/* A piece of one tile, against rows of a linear buffer. */
typedef struct TilePiece {
    uint32_t x;
    uint32_t nb;
    uint32_t row;
    uint32_t rows;
} TilePiece;

static inline void move(uint8_t *tile, uint8_t *lin, size_t n, bool store)
{
    /* The guest may have made the two overlap. */
    if (store) {
        memmove(tile, lin, n);
    } else {
        memmove(lin, tile, n);
    }
}

/*
 * Whole tiles. A block of 4x4 words is 64 contiguous bytes: pairs of words of
 * rows 0, 1, 0, 1 and then of rows 2, 3, 2, 3. Where the host has them,
 * stores that go past the caches and early loads make this as fast as a plain
 * copy; without them the caches thrash, for rows tend to be a power of two
 * apart. The next tile of the same tile row lies TSR_TILE_BYTES further on.
 */
#ifdef __SSE2__
static inline void store16(uint8_t *p, __m128i v, bool stream)
{
    if (stream) {
        tessera_stream16(p, v);
    } else {
        _mm_storeu_si128((__m128i *)p, v);
    }
}

static inline bool streams(const uint8_t *lin, uint64_t stride)
{
    return ((uintptr_t)lin | stride) % 16 == 0;
}

static inline void morton_stream_pair(uint8_t *block, const uint8_t *even,
                                      const uint8_t *odd)
{
    __m128i a = tessera_load16(even), b = tessera_load16(odd);

    tessera_stream16(block, _mm_unpacklo_epi64(a, b));
    tessera_stream16(block + 16, _mm_unpackhi_epi64(a, b));
}

/* Linear to MORTON: each block is a cache line. */
static void morton_stream_store(uint8_t *tile, const uint8_t *lin,
                                uint64_t stride)
{
    for (uint32_t row = 0; row < TILE_WORDS; row += 4, lin += 4 * stride) {
        uint8_t *blocks = tile + (tessera_spread[row] << 1) * 4;

        for (uint32_t i = 0; i < 4; i++) {
            __builtin_prefetch(lin + i * stride + 2 * TSR_TILE_WIDTH_BYTES);
            __builtin_prefetch(lin + i * stride + 2 * TSR_TILE_WIDTH_BYTES +
                               64);
        }
        for (uint32_t col = 0; col < TILE_WORDS; col += 4) {
            uint8_t *block = blocks + tessera_spread[col] * 4;
            const uint8_t *p = lin + col * 4;

            morton_stream_pair(block, p, p + stride);
            morton_stream_pair(block + 32, p + 2 * stride, p + 3 * stride);
        }
    }
}

/* A cache line of each of two rows, out of four blocks. */
static inline void morton_lines(uint8_t *const block[4], uint32_t at,
                                uint8_t *even, uint8_t *odd, bool stream)
{
    __m128i hi[4];

    for (uint32_t i = 0; i < 4; i++) {
        __m128i a = tessera_load16(block[i] + at);
        __m128i b = tessera_load16(block[i] + at + 16);

        hi[i] = _mm_unpackhi_epi64(a, b);
        store16(even + i * 16, _mm_unpacklo_epi64(a, b), stream);
    }
    for (uint32_t i = 0; i < 4; i++) {
        store16(odd + i * 16, hi[i], stream);
    }
}

/* MORTON to linear. */
static inline void morton_load(uint8_t *tile, uint8_t *lin, uint64_t stride,
                               bool stream)
{
    for (uint32_t row = 0; row < TILE_WORDS; row += 4, lin += 4 * stride) {
        uint8_t *blocks = tile + (tessera_spread[row] << 1) * 4;

        for (uint32_t half = 0; half < TILE_WORDS; half += 16) {
            uint8_t *block[4], *p = lin + half * 4;

            for (uint32_t i = 0; i < 4; i++) {
                block[i] = blocks + tessera_spread[half + i * 4] * 4;
                __builtin_prefetch(block[i] + 2 * TSR_TILE_BYTES);
            }
            morton_lines(block, 0, p, p + stride, stream);
            morton_lines(block, 32, p + 2 * stride, p + 3 * stride, stream);
        }
    }
}

static void tile4k_stream(uint8_t *tile, uint8_t *lin, uint64_t stride,
                          bool store)
{
    for (uint32_t row = 0; row < TSR_TILE_ROWS; row++) {
        const uint8_t *ahead = store ? lin + 2 * TSR_TILE_WIDTH_BYTES
                                     : tile + TSR_TILE_BYTES;

        __builtin_prefetch(ahead);
        __builtin_prefetch(ahead + 64);
        for (uint32_t x = 0; x < TSR_TILE_WIDTH_BYTES; x += 16) {
            if (store) {
                tessera_stream16(tile + x, tessera_load16(lin + x));
            } else {
                tessera_stream16(lin + x, tessera_load16(tile + x));
            }
        }
        tile += TSR_TILE_WIDTH_BYTES;
        lin += stride;
    }
}

static void tile_stream(uint32_t layout, uint8_t *tile, uint8_t *lin,
                        uint64_t stride, bool store)
{
    if (layout == TSR_LAYOUT_TILE4K) {
        tile4k_stream(tile, lin, stride, store);
    } else if (store) {
        morton_stream_store(tile, lin, stride);
    } else {
        morton_load(tile, lin, stride, true);
    }
}
/* The same for a destination that is read again soon. */
static bool morton_load_cached(uint8_t *tile, uint8_t *lin, uint64_t stride)
{
    morton_load(tile, lin, stride, false);
    return true;
}
#else
static bool morton_load_cached(uint8_t *tile, uint8_t *lin, uint64_t stride)
{
    return false;
}

static inline bool streams(const uint8_t *lin, uint64_t stride)
{
    return false;
}

static void tile_stream(uint32_t layout, uint8_t *tile, uint8_t *lin,
                        uint64_t stride, bool store)
{
}
#endif

static inline void morton_block(uint8_t *block, uint8_t *lin, uint64_t stride,
                                bool store)
{
    uint8_t *r0 = lin, *r1 = r0 + stride, *r2 = r1 + stride, *r3 = r2 + stride;

    move(block, r0, 8, store);
    move(block + 8, r1, 8, store);
    move(block + 16, r0 + 8, 8, store);
    move(block + 24, r1 + 8, 8, store);
    move(block + 32, r2, 8, store);
    move(block + 40, r3, 8, store);
    move(block + 48, r2 + 8, 8, store);
    move(block + 56, r3 + 8, 8, store);
}

static inline void morton_full(uint8_t *tile, uint8_t *lin, uint64_t stride,
                               bool store)
{
    if (!store && morton_load_cached(tile, lin, stride)) {
        return;
    }
    for (uint32_t row = 0; row < TILE_WORDS; row += 4, lin += 4 * stride) {
        uint8_t *blocks = tile + (tessera_spread[row] << 1) * 4;

        for (uint32_t col = 0; col < TILE_WORDS; col += 4) {
            morton_block(blocks + tessera_spread[col] * 4, lin + col * 4,
                         stride, store);
        }
    }
}

/* Part of a row of a MORTON tile, to or from a linear buffer. */
void tessera_morton_row(uint8_t *tile, uint32_t row, uint32_t x, uint32_t nb,
                        uint8_t *lin, bool store)
{
    while (nb) {
        uint8_t *p = tile + morton_offset(x, row);
        uint32_t n;

        if (!(x & 7) && nb >= 8) {
            n = 8;
            move(p, lin, 8, store);
        } else if (!(x & 3) && nb >= 4) {
            n = 4;
            move(p, lin, 4, store);
        } else {
            n = 1;
            move(p, lin, 1, store);
        }
        x += n;
        lin += n;
        nb -= n;
    }
}

static inline void tile_move(uint32_t layout, uint8_t *tile,
                             const TilePiece *t, uint8_t *lin, uint64_t stride,
                             bool store)
{
    if (layout == TSR_LAYOUT_MORTON && t->nb == TSR_TILE_WIDTH_BYTES &&
        t->rows == TSR_TILE_ROWS) {
        morton_full(tile, lin, stride, store);
        return;
    }
    for (uint32_t i = 0; i < t->rows; i++, lin += stride) {
        uint32_t row = t->row + i;

        if (layout == TSR_LAYOUT_MORTON) {
            tessera_morton_row(tile, row, t->x, t->nb, lin, store);
        } else {
            move(tile + row * TSR_TILE_WIDTH_BYTES + t->x, lin, t->nb, store);
        }
    }
}

/* Tiles are aligned to pages of whatever is behind the view: one run each. */
static uint32_t tile_access(TesseraView *v, uint32_t layout, uint64_t off,
                            const TilePiece *t, uint8_t *lin, uint64_t stride,
                            bool write, bool stream)
{
    TesseraRun run;
    uint32_t err = tessera_view_begin(v, off, TSR_TILE_BYTES, write, &run);

    if (err) {
        return err;
    }
    if (run.len < TSR_TILE_BYTES) {
        tessera_view_end(v, &run, 0);
        return tessera_fault(v->m, TSR_ERR_DMA, v->slot, v->base + off);
    }
    if (stream && t->nb == TSR_TILE_WIDTH_BYTES && t->rows == TSR_TILE_ROWS) {
        tile_stream(layout, run.ptr, lin, stride, write);
    } else if (write) {
        tile_move(layout, run.ptr, t, lin, stride, true);
    } else {
        tile_move(layout, run.ptr, t, lin, stride, false);
    }
    return tessera_view_end(v, &run, run.len);
}

static uint32_t tiled_access(TesseraView *v, const TesseraRect *r,
                             uint8_t *lin, uint64_t stride, bool write)
{
    uint32_t y = r->y, rows_left = r->rows, err = TSR_ERR_NONE;

    while (rows_left && !err) {
        TilePiece t = { .row = y % TSR_TILE_ROWS };
        uint64_t xb = r->xb, left = r->nb;
        uint8_t *p = lin;

        t.rows = MIN(rows_left, TSR_TILE_ROWS - t.row);
        while (left && !err) {
            bool stream = r->stream && streams(p, stride);

            t.x = xb % TSR_TILE_WIDTH_BYTES;
            t.nb = MIN(left, TSR_TILE_WIDTH_BYTES - t.x);
            err = tile_access(v, r->layout, tile_offset(r->pitch, xb, y), &t,
                              p, stride, write, stream);
            xb += t.nb;
            p += t.nb;
            left -= t.nb;
        }
        y += t.rows;
        rows_left -= t.rows;
        lin += t.rows * stride;
    }
    if (r->stream) {
        tessera_stream_end();
    }
    return err;
}

static uint32_t linear_access(TesseraView *v, const TesseraRect *r,
                              uint8_t *lin, uint64_t stride, bool write)
{
    uint32_t err = TSR_ERR_NONE;

    if (r->nb == r->pitch && r->nb == stride) {
        return tessera_view_rw(v, (uint64_t)r->y * r->pitch, lin,
                               r->nb * r->rows, write);
    }
    for (uint32_t i = 0; i < r->rows && !err; i++) {
        err = tessera_view_rw(v, (uint64_t)(r->y + i) * r->pitch + r->xb,
                              lin + i * stride, r->nb, write);
    }
    return err;
}

/* Copy a rectangle out of a view into rows @stride bytes apart. */
uint32_t tessera_rect_read(TesseraView *v, const TesseraRect *r, uint8_t *dst,
                           uint64_t stride)
{
    if (r->layout == TSR_LAYOUT_LINEAR) {
        return linear_access(v, r, dst, stride, false);
    }
    return tiled_access(v, r, dst, stride, false);
}

/* Copy rows @stride bytes apart (0: the same row again) into a view. */
uint32_t tessera_rect_write(TesseraView *v, const TesseraRect *r,
                            const uint8_t *src, uint64_t stride)
{
    if (r->layout == TSR_LAYOUT_LINEAR) {
        return linear_access(v, r, (uint8_t *)src, stride, true);
    }
    return tiled_access(v, r, (uint8_t *)src, stride, true);
}
