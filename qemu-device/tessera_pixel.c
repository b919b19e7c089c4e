/*
 * Tessera virtual GPU: pixels
 *
 * Formats, texture sampling and blending, in exact integer arithmetic that
 * Documentation/hardware.rst gives in full: a reference renderer that follows
 * it gets the same bits. Fragments are ARGB8888 words. Called from engine
 * threads by BLIT and DRAW.
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

/* Component-wise product of two colours. */
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

static inline uint32_t unpack(uint32_t format, const uint8_t *p)
{
    uint32_t v, r, g, b;

    if (format == TSR_FORMAT_RGB565) {
        v = lduw_le_p(p);
        r = v >> 11;
        g = (v >> 5) & 0x3f;
        b = v & 0x1f;
        return 0xff000000u | (r << 3 | r >> 2) << 16 |
               (g << 2 | g >> 4) << 8 | (b << 3 | b >> 2);
    }
    v = ldl_le_p(p);
    return format == TSR_FORMAT_XRGB8888 ? v | 0xff000000u : v;
}

static inline void pack(uint32_t format, uint8_t *p, uint32_t argb)
{
    if (format == TSR_FORMAT_RGB565) {
        stw_le_p(p, (channel(argb, 16) >> 3) << 11 |
                 (channel(argb, 8) >> 2) << 5 | channel(argb, 0) >> 3);
    } else {
        stl_le_p(p, format == TSR_FORMAT_XRGB8888 ? argb | 0xff000000u
                                                  : argb);
    }
}

static inline uint32_t blend_alpha(uint32_t s, uint32_t d)
{
    uint32_t a = s >> 24, out;

    if (a == 0xff) {
        return s;
    }
    out = (a + div255((d >> 24) * (255 - a))) << 24;
    for (unsigned int shift = 0; shift < 24; shift += 8) {
        out |= div255(channel(s, shift) * a +
                      channel(d, shift) * (255 - a)) << shift;
    }
    return out;
}

static inline uint32_t blend_premultiplied(uint32_t s, uint32_t d)
{
    uint32_t a = s >> 24, out = 0;

    for (unsigned int shift = 0; shift < 32; shift += 8) {
        uint32_t c = channel(s, shift) +
                     div255(channel(d, shift) * (255 - a));

        out |= MIN(c, 255) << shift;
    }
    return out;
}

/* Blend @n fragments into row @y of a surface, from column @x. */
uint32_t tessera_pixel_row(TesseraView *v, const TesseraSurface *surf,
                           uint32_t x, uint32_t y, uint32_t n,
                           const uint32_t *frags, uint32_t blend)
{
    TesseraRect r = tessera_surface_rect(surf, x, y, n, 1);
    uint8_t *row = v->m->bounce;
    uint32_t err, i;

    QEMU_BUILD_BUG_ON(TSR_SURF_MAX_DIM * 4 > TESSERA_BOUNCE_BYTES);
    if (blend != TSR_BLEND_NONE) {
        err = tessera_rect_read(v, &r, row, r.nb);
        if (err) {
            return err;
        }
    }
    for (i = 0; i < n; i++) {
        uint8_t *p = row + i * surf->bpp;
        uint32_t c = frags[i];

        if (blend == TSR_BLEND_ALPHA) {
            c = blend_alpha(c, unpack(surf->format, p));
        } else if (blend == TSR_BLEND_PREMULTIPLIED) {
            c = blend_premultiplied(c, unpack(surf->format, p));
        }
        pack(surf->format, p, c);
    }
    return tessera_rect_write(v, &r, row, r.nb);
}

/* ---- Textures ---------------------------------------------------------- */

/* A texture slot, of which the whole surface may be sampled. */
uint32_t tessera_texture_init(TesseraEngine *e, TesseraTexture *t,
                              uint32_t slot, uint32_t sampler)
{
    uint32_t err = tessera_surface_get(e, slot, TSR_SURF_READ, &t->surf);

    if (err) {
        return err;
    }
    if (!t->surf.pitch || !tessera_pixel_format_ok(t->surf.format)) {
        return tessera_fault(&e->m, TSR_ERR_SURFACE, slot, t->surf.base);
    }
    t->sampler = sampler;
    return TSR_ERR_NONE;
}

static void texpages_forget(TesseraEngine *e)
{
    for (unsigned int i = 0; i < TESSERA_TEXPAGES; i++) {
        e->texpages[i].off = UINT64_MAX;
    }
}

/* The referee sees the rectangle read, and nothing beside it. */
static uint32_t texture_referee(TesseraTexture *t)
{
    TesseraRect r = tessera_surface_rect(&t->surf, t->x, t->y, t->w, t->h);
    uint32_t step = r.layout == TSR_LAYOUT_LINEAR ? 1 : TSR_TILE_ROWS;
    uint32_t y = r.y & ~(step - 1), err = TSR_ERR_NONE;

    for (; y < r.y + r.rows && !err; y += step) {
        uint64_t first = tessera_swizzle_offset(r.layout, r.pitch, r.xb, y);
        uint64_t len = r.nb;

        if (step > 1) {         /* the tiles of a tile row follow each other */
            first &= ~(TSR_TILE_BYTES - 1ULL);
            len = (tessera_swizzle_offset(r.layout, r.pitch, r.xb + r.nb - 1,
                                          y) | (TSR_TILE_BYTES - 1)) + 1 -
                  first;
        }
        err = tessera_strict_access(t->view.m, t->view.vram_offset + first,
                                    len, false, t->view.slot);
    }
    return err;
}

/* Choose the rectangle that is sampled; it counts as read. */
uint32_t tessera_texture_rect(TesseraEngine *e, TesseraTexture *t, uint32_t x,
                              uint32_t y, uint32_t w, uint32_t h)
{
    TesseraRect r;
    uint32_t err;

    err = tessera_surface_view(e, &t->surf, x, y, w, h, false, &t->view);
    if (err) {
        return err;
    }
    t->e = e;
    t->x = x;
    t->y = y;
    t->w = w;
    t->h = h;
    t->err = TSR_ERR_NONE;
    r = tessera_surface_rect(&t->surf, x, y, w, h);
    t->end = tessera_swizzle_end(&r);
    t->host = NULL;
    if (t->view.is_vram) {
        t->host = e->s->vram_ptr + t->view.vram_offset;
        return texture_referee(t);
    }
    texpages_forget(e);
    return TSR_ERR_NONE;
}

/* A texel that is not in VRAM, through a small cache of pages. */
static const uint8_t *texel_cached(TesseraTexture *t, uint64_t off)
{
    uint64_t at = t->view.base + off, page = at & ~(TSR_PAGE_SIZE - 1ULL);
    TesseraTexPage *p;

    p = &t->e->texpages[(page >> TSR_PAGE_SHIFT) % TESSERA_TEXPAGES];
    if (p->off != page) {
        /* What lies outside the surface is neither needed nor allowed. */
        uint64_t lo = MAX(page, t->view.base);
        uint64_t hi = MIN(page + TSR_PAGE_SIZE, t->view.base + t->end);
        uint32_t err = tessera_view_rw(&t->view, lo - t->view.base,
                                       p->data + (lo - page), hi - lo, false);

        if (err) {
            memset(p->data, 0, sizeof(p->data));
            t->err = t->err ?: err;
        }
        p->off = page;
    }
    return p->data + (at - page);
}

static inline uint32_t texel(TesseraTexture *t, uint32_t x, uint32_t y)
{
    const TesseraSurface *surf = &t->surf;
    uint64_t off = tessera_swizzle_offset(surf->layout, surf->pitch,
                                          (uint64_t)(t->x + x) * surf->bpp,
                                          t->y + y);

    return unpack(surf->format, t->host ? t->host + off
                                        : texel_cached(t, off));
}

/* Bring a texel coordinate into 0 .. size - 1. */
static inline uint32_t wrap(int64_t i, uint32_t size, bool repeat)
{
    if (i >= 0 && i < size) {
        return i;
    }
    if (repeat) {
        i %= size;
        return i < 0 ? i + size : i;
    }
    return i < 0 ? 0 : size - 1;
}

static inline uint32_t bilinear(uint32_t c00, uint32_t c10, uint32_t c01,
                                uint32_t c11, uint32_t fx, uint32_t fy)
{
    uint32_t out = 0;

    for (unsigned int shift = 0; shift < 32; shift += 8) {
        uint32_t top = channel(c00, shift) * (256 - fx) +
                       channel(c10, shift) * fx;
        uint32_t bottom = channel(c01, shift) * (256 - fx) +
                          channel(c11, shift) * fx;

        out |= ((top * (256 - fy) + bottom * fy + 32768) >> 16) << shift;
    }
    return out;
}

/* Sample at (u, v), in 1/65536 texel from the rectangle's corner. */
uint32_t tessera_texture_sample(TesseraTexture *t, int64_t u, int64_t v)
{
    bool repeat = t->sampler & TSR_SAMPLER_REPEAT;
    uint32_t x0, x1, y0, y1;

    if (!(t->sampler & TSR_SAMPLER_LINEAR)) {
        return texel(t, wrap(u >> 16, t->w, repeat),
                     wrap(v >> 16, t->h, repeat));
    }
    u -= 32768;
    v -= 32768;
    x0 = wrap(u >> 16, t->w, repeat);
    x1 = wrap((u >> 16) + 1, t->w, repeat);
    y0 = wrap(v >> 16, t->h, repeat);
    y1 = wrap((v >> 16) + 1, t->h, repeat);
    return bilinear(texel(t, x0, y0), texel(t, x1, y0), texel(t, x0, y1),
                    texel(t, x1, y1), (u >> 8) & 0xff, (v >> 8) & 0xff);
}
