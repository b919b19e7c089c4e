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

/* A piece of one tile, against rows of bytes anywhere in host memory. */
typedef struct TilePiece {
    uint32_t x;
    uint32_t nb;
    uint32_t row;
    uint32_t rows;
    uint8_t *lin[TSR_TILE_ROWS];
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
static inline StreamVec low_halves(StreamVec a, StreamVec b)
{
    return (StreamVec) { a[0], b[0] };
}

static inline StreamVec high_halves(StreamVec a, StreamVec b)
{
    return (StreamVec) { a[1], b[1] };
}

static inline void morton_pair(uint8_t *block, const uint8_t *even,
                               const uint8_t *odd, bool stream)
{
    StreamVec a = tessera_load16(even), b = tessera_load16(odd);

    tessera_store16(block, low_halves(a, b), stream);
    tessera_store16(block + 16, high_halves(a, b), stream);
}

/* Linear to MORTON: each block is a cache line. */
static inline QEMU_ALWAYS_INLINE void
morton_store(uint8_t *tile, uint8_t *const lin[], bool stream)
{
    for (uint32_t row = 0; row < TILE_WORDS; row += 4) {
        uint8_t *blocks = tile + (tessera_spread[row] << 1) * 4;

        for (uint32_t i = 0; i < 4; i++) {
            __builtin_prefetch(lin[row + i] + 2 * TSR_TILE_WIDTH_BYTES);
            __builtin_prefetch(lin[row + i] + 2 * TSR_TILE_WIDTH_BYTES + 64);
        }
        for (uint32_t col = 0; col < TILE_WORDS; col += 4) {
            uint8_t *block = blocks + tessera_spread[col] * 4;

            morton_pair(block, lin[row] + col * 4, lin[row + 1] + col * 4,
                        stream);
            morton_pair(block + 32, lin[row + 2] + col * 4,
                        lin[row + 3] + col * 4, stream);
        }
    }
}

/* A cache line of each of two rows, out of four blocks. */
static inline void morton_lines(uint8_t *const block[4], uint32_t at,
                                uint8_t *even, uint8_t *odd, bool stream)
{
    StreamVec hi[4];

    for (uint32_t i = 0; i < 4; i++) {
        StreamVec a = tessera_load16(block[i] + at);
        StreamVec b = tessera_load16(block[i] + at + 16);

        hi[i] = high_halves(a, b);
        tessera_store16(even + i * 16, low_halves(a, b), stream);
    }
    for (uint32_t i = 0; i < 4; i++) {
        tessera_store16(odd + i * 16, hi[i], stream);
    }
}

/* MORTON to linear. */
static inline QEMU_ALWAYS_INLINE void
morton_load(uint8_t *tile, const uint8_t *ahead, uint8_t *const lin[],
            bool stream)
{
    for (uint32_t row = 0; row < TILE_WORDS; row += 4) {
        uint8_t *blocks = tile + (tessera_spread[row] << 1) * 4;

        for (uint32_t half = 0; half < TILE_WORDS; half += 16) {
            uint8_t *block[4];

            for (uint32_t i = 0; i < 4; i++) {
                block[i] = blocks + tessera_spread[half + i * 4] * 4;
                __builtin_prefetch(ahead + (block[i] - tile));
            }
            morton_lines(block, 0, lin[row] + half * 4,
                         lin[row + 1] + half * 4, stream);
            morton_lines(block, 32, lin[row + 2] + half * 4,
                         lin[row + 3] + half * 4, stream);
        }
    }
}

static inline QEMU_ALWAYS_INLINE void
tile4k_whole(uint8_t *tile, const uint8_t *ahead, uint8_t *const lin[],
             bool store, bool stream)
{
    for (uint32_t row = 0; row < TSR_TILE_ROWS; row++) {
        uint8_t *line = tile + row * TSR_TILE_WIDTH_BYTES;
        const uint8_t *from = store ? lin[row] : line;
        const uint8_t *next = store ? from + 2 * TSR_TILE_WIDTH_BYTES
                                    : ahead + row * TSR_TILE_WIDTH_BYTES;
        uint8_t *to = store ? line : lin[row];

        __builtin_prefetch(next);
        __builtin_prefetch(next + 64);
        for (uint32_t x = 0; x < TSR_TILE_WIDTH_BYTES; x += 16) {
            tessera_store16(to + x, tessera_load16(from + x), stream);
        }
    }
}

/* @ahead: the tile to be read next, if that is what is read. */
static inline QEMU_ALWAYS_INLINE void
tile_whole(uint32_t layout, uint8_t *tile, const uint8_t *ahead,
           uint8_t *const lin[], bool store, bool stream)
{
    if (layout == TSR_LAYOUT_TILE4K) {
        tile4k_whole(tile, ahead, lin, store, stream);
    } else if (store) {
        morton_store(tile, lin, stream);
    } else {
        morton_load(tile, ahead, lin, stream);
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

/* @stream: what is written to is aligned to 16 bytes. */
static void tile_move(uint32_t layout, uint8_t *tile, const uint8_t *ahead,
                      const TilePiece *t, bool store, bool stream)
{
    if (t->nb == TSR_TILE_WIDTH_BYTES && t->rows == TSR_TILE_ROWS) {
        if (stream) {
            tile_whole(layout, tile, ahead, t->lin, store, true);
        } else {
            tile_whole(layout, tile, ahead, t->lin, store, false);
        }
        return;
    }
    for (uint32_t i = 0; i < t->rows; i++) {
        uint32_t row = t->row + i;

        if (layout == TSR_LAYOUT_MORTON) {
            tessera_morton_row(tile, row, t->x, t->nb, t->lin[i], store);
        } else {
            move(tile + row * TSR_TILE_WIDTH_BYTES + t->x, t->lin[i], t->nb,
                 store);
        }
    }
}

/* The same bytes of each of some rows, in one piece each or in two. */
typedef struct Rows {
    TesseraRun run[TSR_TILE_ROWS][2];
    uint32_t runs[TSR_TILE_ROWS];
} Rows;

/* Rows of bytes: @stride apart, or anywhere. */
typedef struct Lines {
    uint8_t *lin;
    uint64_t stride;
    const Rows *rows;
} Lines;

static uint8_t *row_at(const Rows *rows, uint32_t i, uint64_t x)
{
    const TesseraRun *run = rows->run[i];

    return x < run[0].len ? run[0].ptr + x : run[1].ptr + (x - run[0].len);
}

/* Where the rows of a piece are; all or-ed together, for their alignment. */
static uintptr_t lines_at(const Lines *l, uint64_t x, TilePiece *t)
{
    uintptr_t all = 0;

    for (uint32_t i = 0; i < t->rows; i++) {
        t->lin[i] = l->rows ? row_at(l->rows, i, x)
                            : l->lin + i * l->stride + x;
        all |= (uintptr_t)t->lin[i];
    }
    return all;
}

/* Host memory of as many of @want tiles from @off on as are in one piece. */
static uint32_t tiles_begin(TesseraView *v, uint64_t off, uint64_t want,
                            bool write, TesseraRun *run)
{
    uint32_t err = tessera_view_begin(v, off, want * TSR_TILE_BYTES, write,
                                      run);

    if (err) {
        return err;
    }
    if (run->len < TSR_TILE_BYTES) {
        tessera_view_end(v, run, 0);
        return tessera_fault(v->m, TSR_ERR_DMA, v->slot, v->base + off);
    }
    run->len = QEMU_ALIGN_DOWN(run->len, TSR_TILE_BYTES);
    return TSR_ERR_NONE;
}

/* Byte @x of the rectangle on; @next is the run behind this one. */
static uint64_t tiles_move(const TesseraRect *r, const Lines *l, TilePiece *t,
                           const TesseraRun *run, const TesseraRun *next,
                           uint64_t x, bool write)
{
    for (uint64_t at = 0; at < run->len; at += TSR_TILE_BYTES) {
        const uint8_t *ahead = run->ptr + at + 2 * TSR_TILE_BYTES;
        uintptr_t to;

        if (at + 2 * TSR_TILE_BYTES >= run->len && next) {
            ahead = next->ptr;
        }
        t->x = (r->xb + x) % TSR_TILE_WIDTH_BYTES;
        t->nb = MIN(r->nb - x, TSR_TILE_WIDTH_BYTES - t->x);
        to = lines_at(l, x, t);
        tile_move(r->layout, run->ptr + at, ahead, t, write,
                  r->stream && (write ? (uintptr_t)run->ptr : to) % 16 == 0);
        x += t->nb;
    }
    return x;
}

/*
 * What lies in one row of tiles: @t says which of their rows. The next run is
 * looked up before this one is used, to be fetched meanwhile.
 */
static uint32_t tile_row_access(TesseraView *v, const TesseraRect *r,
                                uint32_t y, TilePiece *t, const Lines *l,
                                bool write)
{
    uint64_t first = tile_offset(r->pitch, r->xb, y), at = 0, x = 0;
    uint64_t want = DIV_ROUND_UP(r->xb % TSR_TILE_WIDTH_BYTES + r->nb,
                                 TSR_TILE_WIDTH_BYTES);
    TesseraRun run, next;
    uint32_t err = tiles_begin(v, first, want, write, &run), end;

    while (!err) {
        bool more;

        at += run.len;
        want -= run.len / TSR_TILE_BYTES;
        more = want;
        if (more) {
            err = tiles_begin(v, first + at, want, write, &next);
            more = !err;
        }
        x = tiles_move(r, l, t, &run, more ? &next : NULL, x, write);
        end = tessera_view_end(v, &run, run.len);
        if (end && more) {
            tessera_view_end(v, &next, 0);
        }
        if (end || !more) {
            return end ?: err;
        }
        run = next;
    }
    return err;
}

static uint32_t tiled_access(TesseraView *v, const TesseraRect *r,
                             uint8_t *lin, uint64_t stride, bool write)
{
    Lines l = { .lin = lin, .stride = stride };
    uint32_t y = r->y, rows_left = r->rows, err = TSR_ERR_NONE;

    while (rows_left && !err) {
        TilePiece t = { .row = y % TSR_TILE_ROWS };

        t.rows = MIN(rows_left, TSR_TILE_ROWS - t.row);
        err = tile_row_access(v, r, y, &t, &l, write);
        y += t.rows;
        rows_left -= t.rows;
        l.lin += t.rows * stride;
    }
    if (r->stream) {
        stream_store_end();
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

/*
 * Between a tiled view and rows of one that is linear in VRAM; @store: into
 * the tiled one.
 */
uint32_t tessera_rect_direct(TesseraView *tiled, const TesseraRect *t,
                             TesseraView *linear, const TesseraRect *l,
                             bool store)
{
    uint64_t offset = linear->vram_offset + (uint64_t)l->y * l->pitch + l->xb;
    TesseraRun run;
    uint32_t err = tessera_vram_rows_begin(linear->m, offset, l->nb, l->pitch,
                                           l->rows, !store, linear->slot,
                                           &run);

    if (err) {
        return err;
    }
    err = tiled_access(tiled, t, run.ptr, l->pitch, store);
    if (err) {
        tessera_run_fail(linear->m, &run);
        return err;
    }
    return tessera_view_end(linear, &run, run.len);
}

/* ---- Rows whose pages lie anywhere --------------------------------------- */

#define SCATTER_BYTES   TSR_PAGE_SIZE   /* of a row at a time: in two pages */

/* @failed: some of it may have been written, and some not. */
static uint32_t rows_end(TesseraView *v, Rows *rows, bool failed)
{
    uint32_t err = TSR_ERR_NONE;

    for (uint32_t i = 0; i < TSR_TILE_ROWS; i++) {
        for (uint32_t j = 0; j < rows->runs[i]; j++) {
            TesseraRun *run = &rows->run[i][j];

            if (failed) {
                tessera_run_fail(v->m, run);
            } else {
                err = tessera_view_end(v, run, run->len) ?: err;
            }
        }
    }
    return err;
}

static uint32_t rows_begin(TesseraView *v, const TesseraRect *r, bool write,
                           Rows *rows)
{
    memset(rows->runs, 0, sizeof(rows->runs));
    for (uint32_t i = 0; i < TSR_TILE_ROWS; i++) {
        uint64_t off = (uint64_t)(r->y + i) * r->pitch + r->xb, done = 0;

        while (done < r->nb) {
            TesseraRun *run = &rows->run[i][rows->runs[i]];
            uint32_t err = tessera_view_begin(v, off + done, r->nb - done,
                                              write, run);

            if (!err) {
                rows->runs[i]++;
                done += run->len;
                if (run->len % TSR_TILE_WIDTH_BYTES ||
                    (done < r->nb && rows->runs[i] == 2)) {
                    err = tessera_fault(v->m, TSR_ERR_DMA, v->slot, off);
                }
            }
            if (err) {
                /* Nothing has been written. */
                for (uint32_t k = 0; k < TSR_TILE_ROWS; k++) {
                    for (uint32_t j = 0; j < rows->runs[k]; j++) {
                        tessera_view_end(v, &rows->run[k][j], 0);
                    }
                }
                return err;
            }
        }
    }
    return TSR_ERR_NONE;
}

/*
 * A row of whole tiles against rows of a linear view whose pages need not
 * follow each other. False, and nothing is done, where it is another
 * rectangle, or rows of a tile may lie across pages.
 */
bool tessera_rect_scattered(TesseraView *tiled, const TesseraRect *t,
                            TesseraView *linear, const TesseraRect *l,
                            bool store, uint32_t *err)
{
    TilePiece piece = { .rows = TSR_TILE_ROWS };
    TesseraRect to = *t, lo = *l;
    Rows rows;
    const Lines lines = { .rows = &rows };

    if ((t->xb | t->nb | l->pitch | (linear->base + l->xb)) %
        TSR_TILE_WIDTH_BYTES ||
        t->y % TSR_TILE_ROWS || t->rows != TSR_TILE_ROWS) {
        return false;
    }
    *err = TSR_ERR_NONE;
    to.stream = true;
    for (uint64_t done = 0; done < t->nb && !*err; done += lo.nb) {
        uint32_t end;

        to.xb = t->xb + done;
        lo.xb = l->xb + done;
        to.nb = lo.nb = MIN(t->nb - done, SCATTER_BYTES);
        *err = rows_begin(linear, &lo, !store, &rows);
        if (*err) {
            break;
        }
        *err = tile_row_access(tiled, &to, to.y, &piece, &lines, store);
        end = rows_end(linear, &rows, *err);
        *err = *err ?: end;
    }
    stream_store_end();
    return true;
}
