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
#include "tessera.h"

#define TILE_WORDS 32           /* 4-byte columns of a tile, and its rows */

/* Bit n of the index moved to bit 2n. */
static const uint16_t spread[TILE_WORDS] = {
    0x000, 0x001, 0x004, 0x005, 0x010, 0x011, 0x014, 0x015,
    0x040, 0x041, 0x044, 0x045, 0x050, 0x051, 0x054, 0x055,
    0x100, 0x101, 0x104, 0x105, 0x110, 0x111, 0x114, 0x115,
    0x140, 0x141, 0x144, 0x145, 0x150, 0x151, 0x154, 0x155,
};

static uint32_t morton_offset(uint32_t x, uint32_t row)
{
    return (spread[x >> 2] | spread[row] << 1) * 4 + (x & 3);
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

/* 2x2 blocks of words are 16 contiguous bytes: 8 of each of two rows. */
static inline void morton_full(uint8_t *tile, uint8_t *lin, uint64_t stride,
                               bool store)
{
    for (uint32_t row = 0; row < TILE_WORDS; row += 2) {
        uint8_t *even = lin + row * stride, *odd = even + stride;
        uint8_t *block = tile + (spread[row] << 1) * 4;

        for (uint32_t col = 0; col < TILE_WORDS; col += 2) {
            uint8_t *p = block + spread[col] * 4;

            move(p, even + col * 4, 8, store);
            move(p + 8, odd + col * 4, 8, store);
        }
    }
}

static inline void morton_row(uint8_t *tile, uint32_t row, uint32_t x,
                              uint32_t nb, uint8_t *lin, bool store)
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
            morton_row(tile, row, t->x, t->nb, lin, store);
        } else {
            move(tile + row * TSR_TILE_WIDTH_BYTES + t->x, lin, t->nb, store);
        }
    }
}

/* A tile that is not in VRAM, read: one transfer of the whole tile. */
static uint32_t tile_read_bus(TesseraView *v, uint32_t layout, uint64_t off,
                              const TilePiece *t, uint8_t *dst,
                              uint64_t stride)
{
    uint8_t tile[TSR_TILE_BYTES];
    uint32_t err = tessera_view_rw(v, off, tile, sizeof(tile), false);

    if (!err) {
        tile_move(layout, tile, t, dst, stride, false);
    }
    return err;
}

/* Written: the whole tile at once, or only the bytes asked for. */
static uint32_t tile_write_bus(TesseraView *v, uint32_t layout, uint64_t off,
                               const TilePiece *t, uint8_t *src,
                               uint64_t stride)
{
    uint8_t tile[TSR_TILE_BYTES];
    uint32_t err = TSR_ERR_NONE;

    if (t->nb == TSR_TILE_WIDTH_BYTES && t->rows == TSR_TILE_ROWS) {
        tile_move(layout, tile, t, src, stride, true);
        return tessera_view_rw(v, off, tile, sizeof(tile), true);
    }
    for (uint32_t i = 0; i < t->rows && !err; i++) {
        uint8_t *row = src + i * stride;
        uint32_t x = t->x, left = t->nb;

        while (left && !err) {
            uint32_t n = left;
            uint64_t at;

            if (layout == TSR_LAYOUT_MORTON) {
                n = MIN(left, !(x & 7) && left >= 8 ? 8 : 4 - (x & 3));
                at = morton_offset(x, t->row + i);
            } else {
                at = (t->row + i) * TSR_TILE_WIDTH_BYTES + x;
            }
            err = tessera_view_rw(v, off + at, row, n, true);
            x += n;
            row += n;
            left -= n;
        }
    }
    return err;
}

static uint32_t tile_access(TesseraView *v, uint32_t layout, uint64_t off,
                            const TilePiece *t, uint8_t *lin, uint64_t stride,
                            bool write)
{
    uint8_t *tile;
    uint32_t err = tessera_view_ptr(v, off, TSR_TILE_BYTES, write, &tile);

    if (err) {
        return err;
    }
    if (!tile) {
        return write ? tile_write_bus(v, layout, off, t, lin, stride)
                     : tile_read_bus(v, layout, off, t, lin, stride);
    }
    if (write) {
        tile_move(layout, tile, t, lin, stride, true);
    } else {
        tile_move(layout, tile, t, lin, stride, false);
    }
    return TSR_ERR_NONE;
}

static uint32_t tiled_access(TesseraView *v, const TesseraRect *r,
                             uint8_t *lin, uint64_t stride, bool write)
{
    uint32_t y = r->y, rows_left = r->rows;

    while (rows_left) {
        TilePiece t = { .row = y % TSR_TILE_ROWS };
        uint64_t xb = r->xb, left = r->nb;
        uint8_t *p = lin;

        t.rows = MIN(rows_left, TSR_TILE_ROWS - t.row);
        while (left) {
            uint32_t err;

            t.x = xb % TSR_TILE_WIDTH_BYTES;
            t.nb = MIN(left, TSR_TILE_WIDTH_BYTES - t.x);
            err = tile_access(v, r->layout, tile_offset(r->pitch, xb, y), &t,
                              p, stride, write);
            if (err) {
                return err;
            }
            xb += t.nb;
            p += t.nb;
            left -= t.nb;
        }
        y += t.rows;
        rows_left -= t.rows;
        lin += t.rows * stride;
    }
    return TSR_ERR_NONE;
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
