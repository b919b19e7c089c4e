/*
 * Tessera virtual GPU: pixels
 *
 * Formats and blending in exact integer arithmetic. Documentation/hardware.rst
 * specifies it in full, so a reference renderer can produce the same bits.
 * Fragments are ARGB8888 words. They are blended into the target in place, in
 * every layout. Called from engine threads by BLIT and DRAW.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_pixel.h"
#include "tessera_strict.h"

bool tessera_pixel_format_ok(uint32_t format)
{
    return format == TSR_FORMAT_RGB565 || format == TSR_FORMAT_XRGB8888 ||
           format == TSR_FORMAT_ARGB8888;
}

static inline uint32_t div255(uint32_t x)
{
    x += 128;
    return (x + (x >> 8)) >> 8;
}

static inline uint32_t channel(uint32_t argb, unsigned int shift)
{
    return (argb >> shift) & 0xff;
}

/* Multiply two colours channel by channel. */
uint32_t tessera_pixel_mul(uint32_t a, uint32_t b)
{
    uint32_t out = 0;

    if (b == 0xffffffff) {
        return a;
    }
    for (unsigned int shift = 0; shift < 32; shift += 8) {
        out |= div255(channel(a, shift) * channel(b, shift)) << shift;
    }
    return out;
}

void tessera_pixels_mul(uint32_t *frags, uint32_t n, uint32_t c)
{
    for (uint32_t i = 0; c != 0xffffffff && i < n; i++) {
        frags[i] = tessera_pixel_mul(frags[i], c);
    }
}

static inline void pack(uint32_t format, uint8_t *p, uint32_t argb)
{
    if (format == TSR_FORMAT_RGB565) {
        stw_le_p(p, TESSERA_PACK_565(argb));
    } else {
        stl_le_p(p, format == TSR_FORMAT_XRGB8888 ? argb | 0xff000000u
                                                  : argb);
    }
}

/* The sum for alpha is 255 a + d (255 - a), so one division is exact. */
static inline uint32_t blend_alpha(uint32_t s, uint32_t d)
{
    uint32_t a = s >> 24, opaque = s | 0xff000000u;

    return tessera_unlanes(
        tessera_div255_lanes(tessera_lanes(s) * a +
                             tessera_lanes(d) * (255 - a)),
        tessera_div255_lanes(tessera_lanes(opaque >> 8) * a +
                             tessera_lanes(d >> 8) * (255 - a)));
}

static inline uint32_t blend_premultiplied(uint32_t s, uint32_t d)
{
    uint32_t rest = 255 - (s >> 24);
    uint64_t br = tessera_lanes(s) +
                  tessera_div255_lanes(tessera_lanes(d) * rest);
    uint64_t ga = tessera_lanes(s >> 8) +
                  tessera_div255_lanes(tessera_lanes(d >> 8) * rest);

    return tessera_unlanes(tessera_saturate_lanes(br),
                           tessera_saturate_lanes(ga));
}

static uint32_t factor_value(uint8_t factor, uint32_t s, uint32_t d)
{
    switch (factor) {
    case TSR_FACTOR_ONE:
        return 255;
    case TSR_FACTOR_SRC_ALPHA:
        return s >> 24;
    case TSR_FACTOR_INV_SRC_ALPHA:
        return 255 - (s >> 24);
    case TSR_FACTOR_DST_ALPHA:
        return d >> 24;
    case TSR_FACTOR_INV_DST_ALPHA:
        return 255 - (d >> 24);
    default:
        return 0;
    }
}

/*
 * Blend by the factors of the table. For modes with an optimized loop the
 * result is the same.
 */
static uint32_t blend_by_factors(const TesseraBlend *b, uint32_t s, uint32_t d)
{
    uint32_t out = 0;

    for (unsigned int shift = 0; shift < 32; shift += 8) {
        const uint8_t *f = &b->factor[shift == 24 ? 2 : 0];
        uint32_t v = div255(channel(s, shift) * factor_value(f[0], s, d) +
                            channel(d, shift) * factor_value(f[1], s, d));

        out |= MIN(v, 255) << shift;
    }
    return out;
}

/*
 * Inlined with constant @format and @kind, so that each pair gets its own loop.
 */
static inline QEMU_ALWAYS_INLINE void
blend_pixels(uint32_t format, uint32_t bpp, uint32_t kind,
             const TesseraBlend *blend, uint8_t *p, const uint32_t *frags,
             uint32_t n)
{
    for (uint32_t i = 0; i < n; i++, p += bpp) {
        uint32_t c = frags[i];

        if (kind == TSR_BLEND_ALPHA) {
            c = blend_alpha(c, tessera_pixel_unpack(format, p));
        } else if (kind == TSR_BLEND_PREMULTIPLIED) {
            c = blend_premultiplied(c, tessera_pixel_unpack(format, p));
        } else if (kind == TESSERA_BLEND_OTHER) {
            c = blend_by_factors(blend, c, tessera_pixel_unpack(format, p));
        }
        pack(format, p, c);
    }
}

static inline QEMU_ALWAYS_INLINE void
blend_format(uint32_t format, uint32_t bpp, const TesseraBlend *blend,
             uint8_t *p, const uint32_t *frags, uint32_t n)
{
    switch (blend->kind) {
    case TSR_BLEND_NONE:
        blend_pixels(format, bpp, TSR_BLEND_NONE, blend, p, frags, n);
        break;
    case TSR_BLEND_ALPHA:
        blend_pixels(format, bpp, TSR_BLEND_ALPHA, blend, p, frags, n);
        break;
    case TSR_BLEND_PREMULTIPLIED:
        blend_pixels(format, bpp, TSR_BLEND_PREMULTIPLIED, blend, p, frags, n);
        break;
    default:
        blend_pixels(format, bpp, TESSERA_BLEND_OTHER, blend, p, frags, n);
    }
}

static void blend_run(uint32_t format, const TesseraBlend *blend, uint8_t *p,
                      const uint32_t *frags, uint32_t n)
{
    switch (format) {
    case TSR_FORMAT_RGB565:
        blend_format(TSR_FORMAT_RGB565, 2, blend, p, frags, n);
        break;
    case TSR_FORMAT_XRGB8888:
        blend_format(TSR_FORMAT_XRGB8888, 4, blend, p, frags, n);
        break;
    default:
        blend_format(TSR_FORMAT_ARGB8888, 4, blend, p, frags, n);
    }
}

/* ---- Rows of targets ----------------------------------------------------- */

/* Blend into a part of row @row of a tile, from byte @x on. */
static void blend_tile(const TesseraSurface *surf, uint8_t *tile, uint32_t row,
                       uint32_t x, const uint32_t *frags, uint32_t n,
                       const TesseraBlend *blend)
{
    uint8_t line[TSR_TILE_WIDTH_BYTES];
    uint32_t nb = n * surf->bpp;

    if (surf->layout == TSR_LAYOUT_TILE4K) {
        blend_run(surf->format, blend, tile + row * TSR_TILE_WIDTH_BYTES + x,
                  frags, n);
        return;
    }
    if (blend->kind != TSR_BLEND_NONE) {
        tessera_morton_row(tile, row, x, nb, line, false);
    }
    blend_run(surf->format, blend, line, frags, n);
    tessera_morton_row(tile, row, x, nb, line, true);
}

/* The bytes of the view that contain a row: whole tiles in a tiled layout. */
static uint64_t row_range(const TesseraRect *r, uint64_t *len)
{
    uint64_t first = tessera_swizzle_offset(r->layout, r->pitch, r->xb, r->y);

    *len = r->nb;
    if (r->layout != TSR_LAYOUT_LINEAR) {
        first &= ~(TSR_TILE_BYTES - 1ULL);
        *len = ((r->xb + r->nb - 1) / TSR_TILE_WIDTH_BYTES -
                r->xb / TSR_TILE_WIDTH_BYTES + 1) * TSR_TILE_BYTES;
    }
    return first;
}

/*
 * Blend the pixels that lie inside the run, and return their number. They are
 * consecutive in it.
 */
static uint32_t blend_in_run(const TesseraSurface *surf, const TesseraRect *r,
                             TesseraRun *run, const uint32_t *frags,
                             uint32_t n, const TesseraBlend *blend)
{
    uint32_t x = r->xb % TSR_TILE_WIDTH_BYTES, done = 0;
    uint64_t tile;

    if (r->layout == TSR_LAYOUT_LINEAR) {
        done = MIN(n, run->len / surf->bpp);
        blend_run(surf->format, blend, run->ptr, frags, done);
        return done;
    }
    for (tile = 0; done < n && tile + TSR_TILE_BYTES <= run->len;
         tile += TSR_TILE_BYTES) {
        uint32_t m = MIN(n - done, (TSR_TILE_WIDTH_BYTES - x) / surf->bpp);

        blend_tile(surf, run->ptr + tile, r->y % TSR_TILE_ROWS, x,
                   frags + done, m, blend);
        done += m;
        x = 0;
    }
    return done;
}

/* Blend @n fragments into row @y of a surface, from column @x. */
uint32_t tessera_pixel_row(TesseraView *v, const TesseraSurface *surf,
                           uint32_t x, uint32_t y, uint32_t n,
                           const uint32_t *frags, const TesseraBlend *blend)
{
    uint32_t err = TSR_ERR_NONE;

    while (n && !err) {
        TesseraRect r = tessera_surface_rect(surf, x, y, n, 1);
        uint64_t len, first = row_range(&r, &len);
        TesseraRun run;
        uint32_t done;

        err = tessera_view_begin(v, first, len, true, &run);
        if (err) {
            break;
        }
        if (run.is_vram && blend->kind != TSR_BLEND_NONE) {
            err = tessera_strict_access(v->m, run.vram_offset, run.len, false,
                                        v->slot);
        }
        if (err) {
            tessera_view_end(v, &run, 0);
            break;
        }
        done = blend_in_run(surf, &r, &run, frags, n, blend);
        err = tessera_view_end(v, &run, done ? run.len : 0);
        if (!err && !done) {
            err = tessera_fault(v->m, TSR_ERR_DMA, v->slot, v->base + first);
        }
        x += done;
        frags += done;
        n -= done;
    }
    return err;
}
