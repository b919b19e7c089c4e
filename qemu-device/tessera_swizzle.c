/*
 * Tessera virtual GPU: surface layouts
 *
 * Copies rectangles between a view in any layout and a linear buffer. Called
 * from engine threads, with no lock held.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_swizzle.h"
#include "tessera_strict.h"
#include "tessera_stream.h"

/* End of the bytes that a rectangle touches; whole tiles in a tiled layout. */
uint64_t tessera_swizzle_end(const TesseraRect *r)
{
    uint32_t y = r->y + r->rows - 1;

    if (r->layout == TSR_LAYOUT_LINEAR) {
        return (uint64_t)y * r->pitch + r->xb + r->nb;
    }
    return tessera_tile_offset(r->pitch, r->xb + r->nb - 1, y) + TSR_TILE_BYTES;
}

/* Get a scratch buffer of the engine, valid until the next call. */
uint8_t *tessera_band(TesseraEngine *e, size_t bytes)
{
    if (e->band_bytes < bytes) {
        e->band = g_realloc(e->band, bytes);
        e->band_bytes = bytes;
    }
    return e->band;
}

static inline void move(uint8_t *tile, uint8_t *lin, size_t n, bool store)
{
    /* The guest may make source and destination overlap. */
    if (store) {
        memmove(tile, lin, n);
    } else {
        memmove(lin, tile, n);
    }
}

/* ---- Whole tiles --------------------------------------------------------- */

/*
 * Copy four rows of a tile at a time. In MORTON, a block of 4x4 words is 64
 * contiguous bytes: pairs of words of rows 0, 1, 0, 1 and then of rows 2, 3, 2,
 * 3. Streaming stores make this as fast as a plain copy, if the source is
 * prefetched in the order of memory. Rows are often a power of two apart, so
 * reading a little of each row in turn would thrash the caches and defeat the
 * host's own prefetcher.
 */
#define QUAD            4
#define QUAD_BYTES      (QUAD * TSR_TILE_WIDTH_BYTES)
#define LINE_BYTES      64

static inline StreamVec low_halves(StreamVec a, StreamVec b)
{
    return (StreamVec) { a[0], b[0] };
}

static inline StreamVec high_halves(StreamVec a, StreamVec b)
{
    return (StreamVec) { a[1], b[1] };
}

/* Offsets in a tile of the blocks that follow the first one in a row. */
#define BLOCK_1         64
#define BLOCK_2         256
#define BLOCK_3         320
#define BLOCK_4         1024

static inline void morton_pair(uint8_t *block, const uint8_t *even,
                               const uint8_t *odd, bool stream)
{
    StreamVec a = tessera_load16(even), b = tessera_load16(odd);

    tessera_store16(block, low_halves(a, b), stream);
    tessera_store16(block + 16, high_halves(a, b), stream);
}

static inline void morton_block(uint8_t *block, uint8_t *const lin[QUAD],
                                uint32_t x, bool stream)
{
    morton_pair(block, lin[0] + x, lin[1] + x, stream);
    morton_pair(block + 32, lin[2] + x, lin[3] + x, stream);
}

/* Linear to MORTON. Each block is one cache line. */
static inline QEMU_ALWAYS_INLINE void
morton_store(uint8_t *tile, uint32_t row, uint8_t *const lin[QUAD],
             bool stream)
{
    uint8_t *block = tile + (tessera_spread[row] << 1) * 4;

    for (uint32_t x = 0; x < TSR_TILE_WIDTH_BYTES; x += LINE_BYTES) {
        morton_block(block, lin, x, stream);
        morton_block(block + BLOCK_1, lin, x + 16, stream);
        morton_block(block + BLOCK_2, lin, x + 32, stream);
        morton_block(block + BLOCK_3, lin, x + 48, stream);
        block += BLOCK_4;
    }
}

/* Make a cache line of each of two rows from four blocks. */
static inline QEMU_ALWAYS_INLINE void
morton_lines(const uint8_t *block, uint8_t *even, uint8_t *odd, bool stream)
{
    StreamVec a0 = tessera_load16(block);
    StreamVec b0 = tessera_load16(block + 16);
    StreamVec a1 = tessera_load16(block + BLOCK_1);
    StreamVec b1 = tessera_load16(block + BLOCK_1 + 16);
    StreamVec a2 = tessera_load16(block + BLOCK_2);
    StreamVec b2 = tessera_load16(block + BLOCK_2 + 16);
    StreamVec a3 = tessera_load16(block + BLOCK_3);
    StreamVec b3 = tessera_load16(block + BLOCK_3 + 16);

    tessera_store16(even, low_halves(a0, b0), stream);
    tessera_store16(even + 16, low_halves(a1, b1), stream);
    tessera_store16(even + 32, low_halves(a2, b2), stream);
    tessera_store16(even + 48, low_halves(a3, b3), stream);
    tessera_store16(odd, high_halves(a0, b0), stream);
    tessera_store16(odd + 16, high_halves(a1, b1), stream);
    tessera_store16(odd + 32, high_halves(a2, b2), stream);
    tessera_store16(odd + 48, high_halves(a3, b3), stream);
}

/* MORTON to linear. */
static inline QEMU_ALWAYS_INLINE void
morton_load(const uint8_t *tile, uint32_t row, uint8_t *const lin[QUAD],
            bool stream)
{
    const uint8_t *block = tile + (tessera_spread[row] << 1) * 4;

    for (uint32_t x = 0; x < TSR_TILE_WIDTH_BYTES; x += LINE_BYTES) {
        morton_lines(block, lin[0] + x, lin[1] + x, stream);
        morton_lines(block + 32, lin[2] + x, lin[3] + x, stream);
        block += BLOCK_4;
    }
}

static inline QEMU_ALWAYS_INLINE void
tile4k_quad(uint8_t *tile, uint32_t row, uint8_t *const lin[QUAD], bool store,
            bool stream)
{
    for (uint32_t i = 0; i < QUAD; i++) {
        uint8_t *line = tile + (row + i) * TSR_TILE_WIDTH_BYTES;
        const uint8_t *from = store ? lin[i] : line;
        uint8_t *to = store ? line : lin[i];

        for (uint32_t x = 0; x < TSR_TILE_WIDTH_BYTES; x += 16) {
            tessera_store16(to + x, tessera_load16(from + x), stream);
        }
    }
}

/* With @stream, the destination is aligned to 16 bytes. */
static inline QEMU_ALWAYS_INLINE void
quad_move(uint32_t layout, uint8_t *tile, uint32_t row,
          uint8_t *const lin[QUAD], bool store, bool stream)
{
    if (layout == TSR_LAYOUT_TILE4K) {
        tile4k_quad(tile, row, lin, store, stream);
    } else if (store) {
        morton_store(tile, row, lin, stream);
    } else {
        morton_load(tile, row, lin, stream);
    }
}

/* ---- Parts of tiles ------------------------------------------------------ */

/* Copy a part of a row of a MORTON tile to or from a linear buffer. */
void tessera_morton_row(uint8_t *tile, uint32_t row, uint32_t x, uint32_t nb,
                        uint8_t *lin, bool store)
{
    while (nb) {
        uint8_t *p = tile + tessera_morton_offset(x, row);
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

/* ---- Rows of tiles ------------------------------------------------------- */

#define BAND_TILES      64      /* four rows fit into any L1 cache */

/* The same columns of several rows, each in one or two pieces. */
typedef struct Rows {
    TesseraRun run[TSR_TILE_ROWS][2];
    uint32_t runs[TSR_TILE_ROWS];
} Rows;

/* Rows in memory: @stride apart, or in the pieces of @rows. */
typedef struct Lines {
    uint8_t *lin;
    uint64_t stride;
    const Rows *rows;
} Lines;

/* The part of a rectangle that lies in one row of tiles. */
typedef struct Band {
    const TesseraRect *r;
    uint32_t row;               /* first row in the tiles */
    uint32_t rows;
    Lines lines;
} Band;

/*
 * The address of byte @x of row @i. With a stride, rows behind the last one
 * have an address, too.
 */
static inline uint8_t *line_at(const Lines *l, uint32_t i, uint64_t x)
{
    const TesseraRun *run;

    if (!l->rows) {
        return l->lin + i * l->stride + x;
    }
    run = l->rows->run[i];
    return x < run[0].len ? run[0].ptr + x : run[1].ptr + (x - run[0].len);
}

static inline void quad_at(const Lines *l, uint32_t i, uint64_t x,
                           uint8_t *lin[QUAD])
{
    lin[0] = line_at(l, i, x);
    lin[1] = line_at(l, i + 1, x);
    lin[2] = line_at(l, i + 2, x);
    lin[3] = line_at(l, i + 3, x);
}

static bool lines_aligned(const Band *b, uint64_t x)
{
    const Lines *l = &b->lines;
    uintptr_t all = x;

    if (!l->rows) {
        return QEMU_PTR_IS_ALIGNED(l->lin + x, 16) && l->stride % 16 == 0;
    }
    for (uint32_t i = 0; i < b->rows; i++) {
        for (uint32_t j = 0; j < l->rows->runs[i]; j++) {
            all |= (uintptr_t)l->rows->run[i][j].ptr;
        }
    }
    return all % 16 == 0;
}

static bool tiles_aligned(uint8_t *const tile[], uint32_t n)
{
    uintptr_t all = 0;

    for (uint32_t i = 0; i < n; i++) {
        all |= (uintptr_t)tile[i];
    }
    return all % 16 == 0;
}

/* The position to prefetch next. Rows are prefetched one after the other. */
typedef struct Ahead {
    const Lines *lines;
    uint64_t x;
    uint64_t nb;
    uint64_t at;
    uint32_t row;
    uint32_t rows;
    const uint8_t *line;
} Ahead;

static inline void ahead_row(Ahead *a, uint32_t row)
{
    a->at = 0;
    a->row = row;
    a->line = row < a->rows ? line_at(a->lines, row, a->x) : NULL;
}

static inline void ahead_fetch(Ahead *a)
{
    for (uint32_t i = 0; i < QUAD && a->line; i++) {
        __builtin_prefetch(a->line + a->at);
        __builtin_prefetch(a->line + a->at + LINE_BYTES);
        a->at += TSR_TILE_WIDTH_BYTES;
        if (a->at == a->nb) {
            ahead_row(a, a->row + 1);
        }
    }
}

/*
 * Copy rows into tiles, four rows of all tiles at a time. Meanwhile the next
 * four rows are prefetched and, at the end, the first rows of the next row of
 * tiles if there is a stride. (Those may not exist: prefetching any address is
 * harmless.)
 */
static inline QEMU_ALWAYS_INLINE void
tiles_store(uint32_t layout, uint8_t *const tile[], uint32_t n,
            const Lines *l, uint64_t x, bool stream)
{
    Ahead ahead = {
        .lines = l, .x = x, .nb = (uint64_t)n * TSR_TILE_WIDTH_BYTES,
        .rows = TSR_TILE_ROWS + (l->rows ? 0 : QUAD),
    };

    ahead_row(&ahead, QUAD);
    for (uint32_t row = 0; row < TSR_TILE_ROWS; row += QUAD) {
        for (uint32_t i = 0; i < n; i++) {
            uint8_t *lin[QUAD];

            ahead_fetch(&ahead);
            quad_at(l, row, x + (uint64_t)i * TSR_TILE_WIDTH_BYTES, lin);
            quad_move(layout, tile[i], row, lin, true, stream);
        }
    }
}

/* Copy tiles into rows, tile by tile. Prefetch the tile after the next one. */
static inline QEMU_ALWAYS_INLINE void
tiles_load(uint32_t layout, uint8_t *const tile[], uint32_t n, const Lines *l,
           uint64_t x, bool stream)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *ahead = i + 2 < n ? tile[i + 2]
                                         : tile[i] + 2 * TSR_TILE_BYTES;

        for (uint32_t row = 0; row < TSR_TILE_ROWS; row += QUAD) {
            uint8_t *lin[QUAD];

            for (uint32_t k = 0; k < QUAD_BYTES; k += LINE_BYTES) {
                __builtin_prefetch(ahead);
                ahead += LINE_BYTES;
            }
            quad_at(l, row, x + (uint64_t)i * TSR_TILE_WIDTH_BYTES, lin);
            quad_move(layout, tile[i], row, lin, false, stream);
        }
    }
}

static void tiles_whole(const Band *b, uint8_t *const tile[], uint32_t n,
                        uint64_t x, bool store)
{
    const Lines *l = &b->lines;
    uint32_t layout = b->r->layout;
    bool stream = b->r->stream &&
                  (store ? tiles_aligned(tile, n) : lines_aligned(b, x));

    if (store && stream) {
        tiles_store(layout, tile, n, l, x, true);
    } else if (store) {
        tiles_store(layout, tile, n, l, x, false);
    } else if (stream) {
        tiles_load(layout, tile, n, l, x, true);
    } else {
        tiles_load(layout, tile, n, l, x, false);
    }
}

/*
 * Copy the part of a tile that belongs to the band. Returns its bytes in each
 * row.
 */
static uint64_t tile_part(const Band *b, uint8_t *tile, uint64_t x, bool store)
{
    uint32_t left = (b->r->xb + x) % TSR_TILE_WIDTH_BYTES;
    uint32_t nb = MIN(b->r->nb - x, TSR_TILE_WIDTH_BYTES - left);

    for (uint32_t i = 0; i < b->rows; i++) {
        uint8_t *lin = line_at(&b->lines, i, x);
        uint32_t row = b->row + i;

        if (b->r->layout == TSR_LAYOUT_MORTON) {
            tessera_morton_row(tile, row, left, nb, lin, store);
        } else {
            move(tile + row * TSR_TILE_WIDTH_BYTES + left, lin, nb, store);
        }
    }
    return nb;
}

/* Copy tiles from byte @x of the band on. Returns the end. */
static uint64_t tiles_move(const Band *b, uint8_t *const tile[], uint32_t n,
                           uint64_t x, bool store)
{
    for (uint32_t i = 0; i < n;) {
        uint32_t whole = 0;

        if (b->rows == TSR_TILE_ROWS &&
            (b->r->xb + x) % TSR_TILE_WIDTH_BYTES == 0) {
            whole = MIN(n - i, (b->r->nb - x) / TSR_TILE_WIDTH_BYTES);
        }
        if (whole) {
            tiles_whole(b, tile + i, whole, x, store);
            x += (uint64_t)whole * TSR_TILE_WIDTH_BYTES;
            i += whole;
        } else {
            x += tile_part(b, tile[i++], x, store);
        }
    }
    return x;
}

static uint32_t tiles_of(const TesseraView *v, uint8_t *tile[BAND_TILES])
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < v->num_runs; i++) {
        const TesseraRun *run = &v->run[i];

        for (uint64_t at = 0; at < run->len; at += TSR_TILE_BYTES) {
            tile[n++] = run->ptr + at;
        }
    }
    return n;
}

static uint32_t band_access(TesseraView *v, const Band *b, uint32_t y,
                            bool write)
{
    const TesseraRect *r = b->r;
    uint64_t off = tessera_tile_offset(r->pitch, r->xb, y), x = 0;
    uint64_t left = DIV_ROUND_UP(r->xb % TSR_TILE_WIDTH_BYTES + r->nb,
                                 TSR_TILE_WIDTH_BYTES) * TSR_TILE_BYTES;
    uint32_t err = TSR_ERR_NONE, end;

    while (left && !err) {
        uint8_t *tile[BAND_TILES];
        uint64_t n = tessera_view_runs_begin(
            v, off, MIN(left, BAND_TILES * TSR_TILE_BYTES), write,
            TSR_TILE_BYTES, &err);

        x = tiles_move(b, tile, tiles_of(v, tile), x, write);
        end = tessera_view_runs_end(v);
        err = end ?: err;
        off += n;
        left -= n;
    }
    return err;
}

static uint32_t tiled_access(TesseraView *v, const TesseraRect *r,
                             uint8_t *lin, uint64_t stride, bool write)
{
    Band b = { .r = r, .lines = { .lin = lin, .stride = stride } };
    uint32_t y = r->y, rows_left = r->rows, err = TSR_ERR_NONE;

    while (rows_left && !err) {
        b.row = y % TSR_TILE_ROWS;
        b.rows = MIN(rows_left, TSR_TILE_ROWS - b.row);
        err = band_access(v, &b, y, write);
        y += b.rows;
        rows_left -= b.rows;
        b.lines.lin += b.rows * stride;
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

/* Copy rows @stride bytes apart (0: always the same row) into a view. */
uint32_t tessera_rect_write(TesseraView *v, const TesseraRect *r,
                            const uint8_t *src, uint64_t stride)
{
    if (r->layout == TSR_LAYOUT_LINEAR) {
        return linear_access(v, r, (uint8_t *)src, stride, true);
    }
    return tiled_access(v, r, (uint8_t *)src, stride, true);
}

/*
 * Copy between a tiled view and rows of a linear view in VRAM. @store: into the
 * tiled view.
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

/* ---- Rows in scattered pages --------------------------------------------- */

#define SCATTER_BYTES   TSR_PAGE_SIZE   /* of a row: at most two pages */

/* @failed: any part of the rows may have been written. */
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
                /* Nothing has been written yet. */
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
 * Copy between a row of whole tiles and rows of a linear view in scattered
 * pages. Returns false and does nothing if the rectangle has another shape, or
 * if rows of a tile may cross pages.
 */
bool tessera_rect_scattered(TesseraView *tiled, const TesseraRect *t,
                            TesseraView *linear, const TesseraRect *l,
                            bool store, uint32_t *err)
{
    TesseraRect to = *t, lo = *l;
    Rows rows;
    const Band band = {
        .r = &to, .rows = TSR_TILE_ROWS, .lines = { .rows = &rows },
    };

    if ((t->xb | t->nb | l->pitch | (linear->base + l->xb)) %
        TSR_TILE_WIDTH_BYTES ||
        t->y % TSR_TILE_ROWS || t->rows != TSR_TILE_ROWS) {
        return false;
    }
    *err = TSR_ERR_NONE;
    for (uint64_t done = 0; done < t->nb && !*err; done += lo.nb) {
        uint32_t end;

        to.xb = t->xb + done;
        lo.xb = l->xb + done;
        to.nb = lo.nb = MIN(t->nb - done, SCATTER_BYTES);
        *err = rows_begin(linear, &lo, !store, &rows);
        if (*err) {
            break;
        }
        *err = band_access(tiled, &band, to.y, store);
        end = rows_end(linear, &rows, *err);
        *err = *err ?: end;
    }
    stream_store_end();
    return true;
}
