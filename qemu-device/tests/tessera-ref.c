/*
 * Reference for BLIT and DRAW, written from the manual's formulas
 *
 * Shared by the qtests and the host build of the device's core.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera-ref.h"

uint32_t tsr_ref_div255(uint32_t x)
{
    return (x + 128 + ((x + 128) >> 8)) >> 8;
}

uint32_t tsr_ref_channel(uint32_t c, int i)
{
    return c >> (8 * i) & 0xff;
}

uint32_t tsr_ref_blend(uint32_t mode, uint32_t s, uint32_t d)
{
    uint32_t a = s >> 24, out = 0;

    for (int i = 0; i < 4; i++) {
        uint32_t sc = tsr_ref_channel(s, i), dc = tsr_ref_channel(d, i);
        uint32_t c = sc;

        if (mode == TSR_BLEND_ALPHA) {
            c = i == 3 ? a + tsr_ref_div255(dc * (255 - a))
                       : tsr_ref_div255(sc * a + dc * (255 - a));
        } else if (mode == TSR_BLEND_PREMULTIPLIED) {
            c = MIN(255, sc + tsr_ref_div255(dc * (255 - a)));
        }
        out |= c << (8 * i);
    }
    return out;
}

static uint32_t ref_mul(uint32_t a, uint32_t b)
{
    uint32_t out = 0;

    for (int i = 0; i < 4; i++) {
        uint32_t ac = tsr_ref_channel(a, i), bc = tsr_ref_channel(b, i);

        out |= tsr_ref_div255(ac * bc) << (8 * i);
    }
    return out;
}

static uint32_t ref_unpack(uint32_t format, uint32_t raw)
{
    uint32_t r = raw >> 11 & 31, g = raw >> 5 & 63, b = raw & 31;

    switch (format) {
    case TSR_FORMAT_RGB565:
        return 0xff000000 | (r * 8 + r / 4) << 16 | (g * 4 + g / 16) << 8 |
               (b * 8 + b / 4);
    case TSR_FORMAT_XRGB8888:
        return raw | 0xff000000;
    default:
        return raw;
    }
}

static uint32_t ref_pack(uint32_t format, uint32_t c)
{
    switch (format) {
    case TSR_FORMAT_RGB565:
        return tsr_ref_channel(c, 2) / 8 << 11 |
               tsr_ref_channel(c, 1) / 4 << 5 | tsr_ref_channel(c, 0) / 8;
    case TSR_FORMAT_XRGB8888:
        return c | 0xff000000;
    default:
        return c;
    }
}

static int64_t ref_floor(__int128_t a, __int128_t b)
{
    __int128_t q = a / b;

    return q * b > a ? q - 1 : q;
}

static int64_t ref_wrap(int64_t i, int64_t size, bool repeat)
{
    if (repeat) {
        return ((i % size) + size) % size;
    }
    return i < 0 ? 0 : i >= size ? size - 1 : i;
}

static uint32_t ref_texel(const TsrTexture *t, int64_t x, int64_t y)
{
    bool repeat = t->sampler & TSR_SAMPLER_REPEAT;
    uint32_t tx = t->x + ref_wrap(x, t->w, repeat);
    uint32_t ty = t->y + ref_wrap(y, t->h, repeat);

    return ref_unpack(t->image->format, t->image->px[ty * t->image->w + tx]);
}

static uint32_t ref_sample(const TsrTexture *t, int64_t u, int64_t v)
{
    uint32_t out = 0;

    if (!(t->sampler & TSR_SAMPLER_LINEAR)) {
        return ref_texel(t, ref_floor(u, 65536), ref_floor(v, 65536));
    }
    int64_t x = ref_floor(u - 32768, 65536), y = ref_floor(v - 32768, 65536);
    uint32_t fx = (u - 32768 - x * 65536) / 256;
    uint32_t fy = (v - 32768 - y * 65536) / 256;

    for (int i = 0; i < 4; i++) {
        uint32_t sum = 32768;

        sum += tsr_ref_channel(ref_texel(t, x, y), i) * (256 - fx) * (256 - fy);
        sum += tsr_ref_channel(ref_texel(t, x + 1, y), i) * fx * (256 - fy);
        sum += tsr_ref_channel(ref_texel(t, x, y + 1), i) * (256 - fx) * fy;
        sum += tsr_ref_channel(ref_texel(t, x + 1, y + 1), i) * fx * fy;
        out |= sum / 65536 << (8 * i);
    }
    return out;
}

/* Twice the signed area of a, b and the point. */
static int64_t ref_edge(const TsrVertex *a, const TsrVertex *b, int64_t px,
                        int64_t py)
{
    return (int64_t)(b->x - a->x) * (py - a->y) -
           (int64_t)(b->y - a->y) * (px - a->x);
}

static bool ref_covers(const TsrVertex *a, const TsrVertex *b, int64_t w)
{
    bool left = b->y < a->y, top = b->y == a->y && b->x > a->x;

    return w > 0 || (w == 0 && (left || top));
}

void tsr_ref_draw(TsrImage *dst, const TsrVertex *in, const TsrTexture *tex,
                  uint32_t blend, uint32_t color, const uint32_t *scissor)
{
    TsrVertex v[3] = { in[0], in[1], in[2] };
    int64_t area = ref_edge(&v[0], &v[1], v[2].x, v[2].y), w[3];

    if (!area) {
        return;
    }
    if (area < 0) {
        v[1] = in[2];
        v[2] = in[1];
        area = -area;
    }
    for (uint32_t y = scissor[1]; y < MIN(scissor[3], dst->h); y++) {
        for (uint32_t x = scissor[0]; x < MIN(scissor[2], dst->w); x++) {
            uint32_t *p = &dst->px[y * dst->w + x], c = 0;
            bool in_all = true;

            for (int i = 0; i < 3; i++) {
                const TsrVertex *a = &v[(i + 1) % 3], *b = &v[(i + 2) % 3];

                w[i] = ref_edge(a, b, x * 256 + 128, y * 256 + 128);
                in_all = in_all && ref_covers(a, b, w[i]);
            }
            if (!in_all) {
                continue;
            }
            for (int i = 0; i < 4; i++) {
                __int128_t sum = area / 2;

                for (int j = 0; j < 3; j++) {
                    sum += (__int128_t)w[j] * tsr_ref_channel(v[j].color, i);
                }
                c |= (uint32_t)ref_floor(sum, area) << (8 * i);
            }
            if (tex) {
                __int128_t u = 0, vv = 0;

                for (int j = 0; j < 3; j++) {
                    u += (__int128_t)w[j] * v[j].u;
                    vv += (__int128_t)w[j] * v[j].v;
                }
                c = ref_mul(ref_sample(tex, ref_floor(u, area),
                                       ref_floor(vv, area)), c);
            }
            c = ref_mul(c, color);
            *p = ref_pack(dst->format,
                          tsr_ref_blend(blend, c, ref_unpack(dst->format, *p)));
        }
    }
}

void tsr_ref_blit(TsrImage *dst, const uint32_t *d, const TsrTexture *tex,
                  uint32_t blend, uint32_t color)
{
    for (uint32_t j = 0; j < d[3]; j++) {
        for (uint32_t i = 0; i < d[2]; i++) {
            int64_t u = (2 * (int64_t)i + 1) * tex->w * 65536 / (2 * d[2]);
            int64_t v = (2 * (int64_t)j + 1) * tex->h * 65536 / (2 * d[3]);
            uint32_t *p = &dst->px[(d[1] + j) * dst->w + d[0] + i];
            uint32_t c = ref_mul(ref_sample(tex, u, v), color);

            *p = ref_pack(dst->format,
                          tsr_ref_blend(blend, c, ref_unpack(dst->format, *p)));
        }
    }
}
