/*
 * Tessera virtual GPU: pixels
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_PIXEL_H
#define HW_DISPLAY_TESSERA_PIXEL_H

#include "qemu/bswap.h"
#include "tessera_surface.h"

/*
 * Two channels of a colour in one 64-bit word, with 32 bits for each: blue and
 * red or, of the colour shifted right by 8, green and alpha. Sums of products
 * with small factors do not overflow into the other half.
 */
#define TESSERA_LANES   0x000000ff000000ffULL

static inline uint64_t tessera_lanes(uint32_t c)
{
    return (c & 0xff) | (uint64_t)(c & 0xff0000) << 16;
}

static inline uint32_t tessera_unlanes(uint64_t br, uint64_t ga)
{
    return (uint32_t)br | (uint32_t)(br >> 16) |
           ((uint32_t)ga | (uint32_t)(ga >> 16)) << 8;
}

static inline uint64_t tessera_div255_lanes(uint64_t x)
{
    x += 128 * 0x0000000100000001ULL;
    return ((x + ((x >> 8) & TESSERA_LANES)) >> 8) & TESSERA_LANES;
}

/* Clamp sums of at most 2 * 255 to 255. */
static inline uint64_t tessera_saturate_lanes(uint64_t x)
{
    return (x | ((x >> 8) & 0x0000000100000001ULL) * 255) & TESSERA_LANES;
}

/*
 * Convert RGB565 to ARGB8888, for a word or a vector of words. The high bits of
 * each channel are repeated in its low bits.
 */
#define TESSERA_EXPAND_565(v)                                                 \
    (((v) << 8 & 0xf80000) | ((v) << 5 & 0x00fc00) | ((v) << 3 & 0x0700f8) |  \
     ((v) >> 1 & 0x000300) | ((v) >> 2 & 0x000007) | 0xff000000u)

/* Convert back, rounding down. */
#define TESSERA_PACK_565(v)                                                   \
    (((v) >> 8 & 0xf800) | ((v) >> 5 & 0x07e0) | ((v) >> 3 & 0x001f))

/* Read a texel or pixel from memory as ARGB8888. */
static inline uint32_t tessera_pixel_unpack(uint32_t format, const uint8_t *p)
{
    uint32_t v;

    if (format == TSR_FORMAT_RGB565) {
        v = lduw_le_p(p);
        return TESSERA_EXPAND_565(v);
    }
    v = ldl_le_p(p);
    return format == TSR_FORMAT_XRGB8888 ? v | 0xff000000u : v;
}

/* How a blend mode combines the colours of fragment and target. */
typedef struct TesseraBlend {
    /* equivalent TSR_BLEND_*, or TESSERA_BLEND_OTHER */
    uint32_t kind;
    uint8_t factor[4];          /* TSR_FACTOR_*, in the order of the table */
} TesseraBlend;

#define TESSERA_BLEND_OTHER     TSR_BLEND_COUNT

bool tessera_pixel_format_ok(uint32_t format);
uint32_t tessera_pixel_mul(uint32_t a, uint32_t b);
void tessera_pixels_mul(uint32_t *frags, uint32_t n, uint32_t c);
uint32_t tessera_pixel_row(TesseraView *v, const TesseraSurface *surf,
                           uint32_t x, uint32_t y, uint32_t n,
                           const uint32_t *frags, const TesseraBlend *blend);

#endif /* HW_DISPLAY_TESSERA_PIXEL_H */
