/*
 * Tessera virtual GPU: textures
 *
 * Samples a span of pixels at a time. In every layout, the offset of a texel is
 * the sum of a term for its column and one for its row. A repeated texture is
 * walked modulo its size. So sampling a pixel needs no division, and no
 * branches for format, layout or filter. Called from engine threads by BLIT and
 * DRAW.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_texture.h"
#include "tessera_pixel.h"
#include "tessera_strict.h"

/* ---- Walkers ------------------------------------------------------------- */

int64_t tessera_walker_split(Int128 n, int64_t area, uint64_t *fraction)
{
    int64_t lo = int128_getlo(n), rest, q;

    if (int128_gethi(n) == lo >> 63) {
        q = lo / area;
    } else {
        q = int128_getlo(int128_divs(n, int128_makes64(area)));
    }
    rest = lo - (uint64_t)q * area;
    if (rest < 0) {
        rest += area;
        q--;
    }
    *fraction = 0;
    if (rest) {
        *fraction = int128_getlo(int128_divu(int128_make128(area - 1, rest),
                                             int128_make64(area)));
    }
    return q;
}

/* ---- Set-up -------------------------------------------------------------- */

/* Use a slot as texture. Its whole surface may be sampled. */
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
    memset(e->texpage, 0, TESSERA_TEXPAGES * sizeof(*e->texpage));
}

/* Strict mode: check that exactly the rectangle may be read. */
static uint32_t texture_referee(TesseraTexture *t)
{
    TesseraRect r = tessera_surface_rect(&t->surf, t->x, t->y, t->w, t->h);
    uint32_t step = r.layout == TSR_LAYOUT_LINEAR ? 1 : TSR_TILE_ROWS;
    uint32_t y = r.y & ~(step - 1), err = TSR_ERR_NONE;

    for (; y < r.y + r.rows && !err; y += step) {
        uint64_t first = tessera_swizzle_offset(r.layout, r.pitch, r.xb, y);
        uint64_t len = r.nb;

        if (step > 1) {         /* the tiles of a tile row are contiguous */
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

/* Choose the rectangle to sample. Strict mode treats all of it as read. */
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
    t->fetched = 0;
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

static void texpage_read(TesseraTexture *t, uint64_t page, uint8_t *data)
{
    /*
     * Bytes outside the surface are not needed, and reading them is an error.
     */
    uint64_t lo = MAX(page, t->view.base);
    uint64_t hi = MIN(page + TSR_PAGE_SIZE, t->view.base + t->end);
    uint32_t err = t->err;

    t->fetched++;
    if (!err) {                 /* only the first error is recorded */
        err = tessera_view_rw(&t->view, lo - t->view.base, data + (lo - page),
                              hi - lo, false);
    }
    if (err) {
        memset(data, 0, TSR_PAGE_SIZE);
        t->err = err;
    }
}

/* Read a texel outside VRAM through a small cache of pages. */
static inline const uint8_t *texel_cached(TesseraTexture *t, uint64_t off)
{
    uint64_t at = t->view.base + off, page = at & ~(TSR_PAGE_SIZE - 1ULL);
    uint32_t i = (page >> TSR_PAGE_SHIFT) % TESSERA_TEXPAGES;
    uint8_t *data = t->e->texdata + i * TSR_PAGE_SIZE;

    if (unlikely(t->e->texpage[i] != page + 1)) {
        texpage_read(t, page, data);
        t->e->texpage[i] = page + 1;
    }
    return data + (at - page);
}

/* ---- Sampling ------------------------------------------------------------ */

static inline QEMU_ALWAYS_INLINE uint64_t column_offset(uint32_t layout,
                                                        uint64_t xb)
{
    uint64_t tile = xb / TSR_TILE_WIDTH_BYTES * TSR_TILE_BYTES;
    uint32_t x = xb % TSR_TILE_WIDTH_BYTES;

    switch (layout) {
    case TSR_LAYOUT_TILE4K:
        return tile + x;
    case TSR_LAYOUT_MORTON:
        return tile + tessera_spread[x >> 2] * 4 + (x & 3);
    default:
        return xb;
    }
}

static inline QEMU_ALWAYS_INLINE uint64_t row_offset(uint32_t layout,
                                                     uint64_t pitch,
                                                     uint32_t y)
{
    uint64_t tiles = y / TSR_TILE_ROWS * (pitch * TSR_TILE_ROWS);
    uint32_t row = y % TSR_TILE_ROWS;

    switch (layout) {
    case TSR_LAYOUT_TILE4K:
        return tiles + row * TSR_TILE_WIDTH_BYTES;
    case TSR_LAYOUT_MORTON:
        return tiles + tessera_spread[row] * 8;
    default:
        return y * pitch;
    }
}

/* The kind of a texture. Most fields are constants in each inlined copy. */
typedef struct Kind {
    uint32_t format;            /* XRGB8888 is treated as ARGB8888... */
    uint32_t alpha;             /* ...with these bits set */
    uint32_t layout;
    bool linear;
    bool repeat;
    bool cached;
    const uint8_t *host;        /* from here on: values of the texture */
    uint64_t pitch;
    uint32_t x, y, w, h;
} Kind;

/* A raw texel, with alpha set if the format has none. */
static inline QEMU_ALWAYS_INLINE uint32_t texel(TesseraTexture *t, Kind k,
                                                uint64_t column, uint64_t row)
{
    const uint8_t *p = k.cached ? texel_cached(t, column + row)
                                : k.host + column + row;

    return k.format == TSR_FORMAT_RGB565 ? lduw_le_p(p)
                                         : ldl_le_p(p) | k.alpha;
}

/* Read two texels that are adjacent in memory, the left one in the low half. */
static inline QEMU_ALWAYS_INLINE uint64_t neighbours(Kind k, const uint8_t *p)
{
    return k.format == TSR_FORMAT_RGB565
           ? ldl_le_p(p)
           : ldq_le_p(p) | (k.alpha | (uint64_t)k.alpha << 32);
}

/* Read two texels of a row. They are mostly adjacent in memory, too. */
static inline QEMU_ALWAYS_INLINE uint64_t texel_pair(TesseraTexture *t, Kind k,
                                                     uint64_t left,
                                                     uint64_t right,
                                                     uint64_t row)
{
    const uint32_t bpp = k.format == TSR_FORMAT_RGB565 ? 2 : 4;

    if (!k.cached && right == left + bpp) {
        return neighbours(k, k.host + left + row);
    }
    return texel(t, k, left, row) |
           (uint64_t)texel(t, k, right, row) << (8 * bpp);
}

/* Compiler vectors, for the channels of one or two texels. */
typedef uint8_t Bytes __attribute__((vector_size(16)));
typedef uint32_t Texels __attribute__((vector_size(16)));
typedef uint16_t Channels __attribute__((vector_size(16)));
typedef int32_t Words __attribute__((vector_size(16)));
typedef float Floats __attribute__((vector_size(16)));
typedef uint64_t Pairs __attribute__((vector_size(16)));

#ifdef __clang__
#define SHUFFLE(type, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(type, a, b, ...) __builtin_shuffle(a, b, (type) { __VA_ARGS__ })
#endif
/* Shuffle two vectors so that lanes of @b lie above lanes of @a. */
#if HOST_BIG_ENDIAN
#define UNDER(type, a, b, ...) SHUFFLE(type, b, a, __VA_ARGS__)
#else
#define UNDER(type, a, b, ...) SHUFFLE(type, a, b, __VA_ARGS__)
#endif

static inline Channels widen_low(Bytes bytes)
{
    const Bytes zero = { 0 };

    return (Channels)UNDER(Bytes, bytes, zero, 0, 16, 1, 17, 2, 18, 3, 19,
                           4, 20, 5, 21, 6, 22, 7, 23);
}

static inline Channels widen_high(Bytes bytes)
{
    const Bytes zero = { 0 };

    return (Channels)UNDER(Bytes, bytes, zero, 8, 24, 9, 25, 10, 26, 11, 27,
                           12, 28, 13, 29, 14, 30, 15, 31);
}

static inline Channels widen(uint64_t pair)
{
    return widen_low((Bytes)(Pairs) { cpu_to_le64(pair), 0 });
}

/* Convert four RGB565 texels to bytes of ARGB8888. */
static inline Bytes expand_565(uint32_t top, uint32_t bottom)
{
#if HOST_BIG_ENDIAN
    Texels v = { top & 0xffff, top >> 16, bottom & 0xffff, bottom >> 16 };

    v = TESSERA_EXPAND_565(v);
    return (Bytes)(Texels) { bswap32(v[0]), bswap32(v[1]), bswap32(v[2]),
                             bswap32(v[3]) };
#else
    const Channels zero = { 0 };
    Channels raw = (Channels)(Pairs) { top | (uint64_t)bottom << 32, 0 };
    Texels v = (Texels)UNDER(Channels, raw, zero, 0, 8, 1, 9, 2, 10, 3, 11);

    return (Bytes)TESSERA_EXPAND_565(v);
#endif
}

/* Convert RGB565 texels in place. Each has a word of its own. */
static void expand_row_565(uint32_t *out, uint32_t n)
{
    uint32_t i;

    for (i = 0; i + 4 <= n; i += 4) {
        Texels v;

        memcpy(&v, out + i, sizeof(v));
        v = TESSERA_EXPAND_565(v);
        memcpy(out + i, &v, sizeof(v));
    }
    for (; i < n; i++) {
        out[i] = TESSERA_EXPAND_565(out[i]);
    }
}

static inline Floats left_half(Channels c)
{
    const Channels zero = { 0 };

    return __builtin_convertvector((Words)UNDER(Channels, c, zero, 0, 8, 1, 9,
                                                2, 10, 3, 11), Floats);
}

static inline Floats right_half(Channels c)
{
    const Channels zero = { 0 };

    return __builtin_convertvector((Words)UNDER(Channels, c, zero, 4, 12, 5,
                                                13, 6, 14, 7, 15), Floats);
}

static inline Channels channels(uint16_t f)
{
    return (Channels) { f, f, f, f, f, f, f, f };
}

static inline Floats floats(int f)
{
    return (Floats) { f, f, f, f };
}

/*
 * Pack bits 16 to 23 of each word, the first word lowest. Higher bits are 0 in
 * all words.
 */
static inline uint32_t pack(Words w)
{
#if HOST_BIG_ENDIAN
    return w[0] >> 16 | (w[1] >> 16) << 8 | (w[2] >> 16) << 16 |
           (uint32_t)(w[3] >> 16) << 24;
#else
    Pairs p = (Pairs)((Texels)w >> 16);

    /* Extracting a lane is expensive, so extract two bytes at once. */
    p |= p >> 24;
    return (p[0] & 0xffff) | (uint32_t)p[1] << 16;
#endif
}

/*
 * Interpolate along the two columns first, which fits into 16 bits. The result
 * along the row is less than 2^24, so a float holds it exactly.
 */
static inline uint32_t filter(Channels top, Channels bottom, uint32_t fx,
                              uint32_t fy)
{
    Channels column = top * channels(256 - fy) + bottom * channels(fy);
    Floats sum = left_half(column) * floats(256 - fx) +
                 right_half(column) * floats(fx) + floats(32768);

    return pack(__builtin_convertvector(sum, Words));
}

/* Interpolate between two pairs of adjacent texels. */
static inline QEMU_ALWAYS_INLINE uint32_t
bilinear(Kind k, uint64_t top, uint64_t bottom, uint32_t fx, uint32_t fy)
{
    Bytes quad;

    if (k.format != TSR_FORMAT_RGB565) {
        return filter(widen(top), widen(bottom), fx, fy);
    }
    quad = expand_565(top, bottom);
    return filter(widen_low(quad), widen_high(quad), fx, fy);
}

/*
 * The index of texel @i in a texture of @size. With repeat, @i exceeds the last
 * index by at most one.
 */
static inline QEMU_ALWAYS_INLINE uint32_t wrap(int64_t i, uint32_t size,
                                               bool repeat)
{
    if (repeat) {
        return i == size ? 0 : i;
    }
    return i < 0 ? 0 : i >= size ? size - 1 : i;
}

static inline QEMU_ALWAYS_INLINE void walk(TesseraWalker *w, int64_t size,
                                           bool repeat)
{
    tessera_walker_next(w);
    if (repeat) {
        w->value -= w->value >= size ? size : 0;
    }
}

/*
 * The offset of the next texel to the right, inside the texture: increment only
 * the bits of the offset that encode the column.
 */
static inline QEMU_ALWAYS_INLINE uint64_t next_column(Kind k, uint64_t column)
{
    const uint32_t bpp = k.format == TSR_FORMAT_RGB565 ? 2 : 4;
    const uint64_t rows = k.layout == TSR_LAYOUT_MORTON ? 0xaa8
                          : k.layout == TSR_LAYOUT_TILE4K ? 0xf80 : 0;

    return ((column | rows) + bpp) & ~rows;
}

/* Two rows of texels, and the position between them. */
typedef struct Between {
    uint64_t top;
    uint64_t bottom;
    uint32_t fraction;
} Between;

static inline QEMU_ALWAYS_INLINE Between rows_at(Kind k, int64_t v)
{
    int64_t y = v >> 16;

    return (Between) {
        row_offset(k.layout, k.pitch, k.y + wrap(y, k.h, k.repeat)),
        row_offset(k.layout, k.pitch, k.y + wrap(y + 1, k.h, k.repeat)),
        (v >> 8) & 0xff,
    };
}

static inline QEMU_ALWAYS_INLINE uint32_t
sample_linear(TesseraTexture *t, Kind k, int64_t u, Between rows)
{
    const uint32_t bpp = k.format == TSR_FORMAT_RGB565 ? 2 : 4;
    uint32_t fx = (u >> 8) & 0xff;
    int64_t x = u >> 16;
    uint64_t c0, c1;

    if (likely(x >= 0 && x < (int64_t)k.w - 1)) {
        c0 = column_offset(k.layout, (uint64_t)bpp * (k.x + x));
        c1 = next_column(k, c0);
    } else {
        c0 = column_offset(k.layout, (uint64_t)bpp *
                           (k.x + wrap(x, k.w, k.repeat)));
        c1 = column_offset(k.layout, (uint64_t)bpp *
                           (k.x + wrap(x + 1, k.w, k.repeat)));
    }
    return bilinear(k, texel_pair(t, k, c0, c1, rows.top),
                    texel_pair(t, k, c0, c1, rows.bottom), fx, rows.fraction);
}

static inline QEMU_ALWAYS_INLINE uint32_t
sample_nearest(TesseraTexture *t, Kind k, int64_t u, Between rows)
{
    const uint32_t bpp = k.format == TSR_FORMAT_RGB565 ? 2 : 4;

    return texel(t, k, column_offset(k.layout, (uint64_t)bpp *
                                     (k.x + wrap(u >> 16, k.w, k.repeat))),
                 rows.top);
}

static inline QEMU_ALWAYS_INLINE uint32_t
sample(TesseraTexture *t, Kind k, int64_t u, Between rows)
{
    return k.linear ? sample_linear(t, k, u, rows)
                    : sample_nearest(t, k, u, rows);
}

static inline QEMU_ALWAYS_INLINE void
span(TesseraTexture *t, TesseraWalker *up, TesseraWalker *vp, uint32_t n,
     uint32_t *out, Kind k)
{
    TesseraWalker u = *up, v = *vp;

    /* Use copies: the compiler must assume that @out may alias @t. */
    k.host = t->host;
    k.pitch = t->surf.pitch;
    k.x = t->x;
    k.y = t->y;
    k.w = t->w;
    k.h = t->h;
    if (!v.step && !v.step_fraction) {
        /*
         * The usual case, along a row of the texture: the rows stay the same.
         */
        const Between rows = rows_at(k, v.value);

        for (uint32_t i = 0; i < n; i++) {
            out[i] = sample(t, k, u.value, rows);
            walk(&u, (int64_t)k.w << 16, k.repeat);
        }
    } else {
        for (uint32_t i = 0; i < n; i++) {
            out[i] = sample(t, k, u.value, rows_at(k, v.value));
            walk(&u, (int64_t)k.w << 16, k.repeat);
            walk(&v, (int64_t)k.h << 16, k.repeat);
        }
    }
    *up = u;
    *vp = v;
    if (k.format == TSR_FORMAT_RGB565 && !k.linear) {
        expand_row_565(out, n);
    }
}

typedef void SpanFunc(TesseraTexture *t, TesseraWalker *u, TesseraWalker *v,
                      uint32_t n, uint32_t *out, uint32_t alpha);

#define SPAN(name, fmt, lay, lin, rep, is_host)                               \
static void name(TesseraTexture *t, TesseraWalker *u, TesseraWalker *v,       \
                 uint32_t n, uint32_t *out, uint32_t alpha)                   \
{                                                                             \
    span(t, u, v, n, out, (Kind) { fmt, alpha, lay, lin, rep, !(is_host) });  \
}
#define WRAPS(name, fmt, lay, lin, host)                                      \
    SPAN(name##_clamp, fmt, lay, lin, false, host)                            \
    SPAN(name##_repeat, fmt, lay, lin, true, host)
#define FILTERS(name, fmt, lay, host)                                         \
    WRAPS(name##_nearest, fmt, lay, false, host)                              \
    WRAPS(name##_linear, fmt, lay, true, host)
#define PLACES(name, fmt, lay)                                                \
    FILTERS(name##_cached, fmt, lay, false)                                   \
    FILTERS(name##_host, fmt, lay, true)
#define FORMATS(name, lay)                                                    \
    PLACES(name##_565, TSR_FORMAT_RGB565, lay)                                \
    PLACES(name##_8888, TSR_FORMAT_ARGB8888, lay)

FORMATS(plain, TSR_LAYOUT_LINEAR)
FORMATS(tile4k, TSR_LAYOUT_TILE4K)
FORMATS(morton, TSR_LAYOUT_MORTON)

#define OF_FILTER(name) { name##_clamp, name##_repeat }
#define OF_PLACE(name) { OF_FILTER(name##_nearest), OF_FILTER(name##_linear) }
#define OF_FORMAT(name) { OF_PLACE(name##_cached), OF_PLACE(name##_host) }
#define OF_LAYOUT(name) { OF_FORMAT(name##_565), OF_FORMAT(name##_8888) }

/* Indexed by layout, 4-byte texels, host memory, filter and repeat. */
static SpanFunc *const spans[TSR_LAYOUT_COUNT][2][2][2][2] = {
    [TSR_LAYOUT_LINEAR] = OF_LAYOUT(plain),
    [TSR_LAYOUT_TILE4K] = OF_LAYOUT(tile4k),
    [TSR_LAYOUT_MORTON] = OF_LAYOUT(morton),
};

static int64_t modulo(int64_t a, int64_t size)
{
    int64_t r = a % size;

    return r < 0 ? r + size : r;
}

/*
 * Prepare walkers, in 1/65536 texel from the rectangle's corner, for spans. In
 * a repeated texture only the remainder modulo the size counts.
 */
void tessera_texture_begin(const TesseraTexture *t, TesseraWalker *u,
                           TesseraWalker *v)
{
    if (t->sampler & TSR_SAMPLER_LINEAR) {
        u->value -= 32768;
        v->value -= 32768;
    }
    if (t->sampler & TSR_SAMPLER_REPEAT) {
        u->value = modulo(u->value, (int64_t)t->w << 16);
        u->step = modulo(u->step, (int64_t)t->w << 16);
        v->value = modulo(v->value, (int64_t)t->h << 16);
        v->step = modulo(v->step, (int64_t)t->h << 16);
    }
}

static void sample_span(TesseraTexture *t, TesseraWalker *u, TesseraWalker *v,
                        uint32_t n, uint32_t *out)
{
    bool linear = t->sampler & TSR_SAMPLER_LINEAR;
    bool repeat = t->sampler & TSR_SAMPLER_REPEAT;
    uint32_t alpha = t->surf.format == TSR_FORMAT_XRGB8888 ? 0xff000000u : 0;

    spans[t->surf.layout][t->surf.bpp == 4][!!t->host][linear][repeat](
        t, u, v, n, out, alpha);
}

/* ---- Unfiltered texels --------------------------------------------------- */

#define ONE_TEXEL       (1 << 16)
#define BETWEEN         0xff00  /* fraction between two texels */

/*
 * Pixels may coincide with the texels of a row, one by one, so that no filter
 * changes them. Return how many of @n pixels do so from here on, with *@whole
 * set. Otherwise return how many do not.
 */
static uint32_t row_of_texels(const TesseraTexture *t, const TesseraWalker *u,
                              const TesseraWalker *v, uint32_t n, bool *whole)
{
    int64_t x = u->value >> 16;

    *whole = false;
    if (!t->host || u->step != ONE_TEXEL || u->step_fraction || v->step ||
        v->step_fraction || ((t->sampler & TSR_SAMPLER_LINEAR) &&
                             ((u->value | v->value) & BETWEEN))) {
        return n;
    }
    if (x < 0) {
        return MIN(n, -x);
    }
    if (x >= t->w) {
        return n;
    }
    *whole = true;
    return MIN(n, t->w - x);
}

static void unpack_texels(uint32_t format, const uint8_t *p, uint32_t n,
                          uint32_t *out)
{
    uint32_t i;

    switch (format) {
    case TSR_FORMAT_RGB565:
        for (i = 0; i < n; i++) {
            out[i] = tessera_pixel_unpack(TSR_FORMAT_RGB565, p + 2 * i);
        }
        break;
    case TSR_FORMAT_XRGB8888:
        for (i = 0; i < n; i++) {
            out[i] = tessera_pixel_unpack(TSR_FORMAT_XRGB8888, p + 4 * i);
        }
        break;
    default:
        for (i = 0; i < n; i++) {
            out[i] = tessera_pixel_unpack(TSR_FORMAT_ARGB8888, p + 4 * i);
        }
    }
}

/* Unpack texels from column @x of row @y on, at most to the end of the tile. */
static uint32_t copy_texels(const TesseraTexture *t, uint32_t x, uint32_t y,
                            uint32_t n, uint32_t *out)
{
    uint32_t xb = x * t->surf.bpp, in_tile = xb % TSR_TILE_WIDTH_BYTES;
    uint64_t row = row_offset(t->surf.layout, t->surf.pitch, y);
    const uint8_t *p = t->host + row + column_offset(t->surf.layout, xb);
    uint8_t line[TSR_TILE_WIDTH_BYTES];

    if (t->surf.layout != TSR_LAYOUT_LINEAR) {
        n = MIN(n, (TSR_TILE_WIDTH_BYTES - in_tile) / t->surf.bpp);
    }
    if (t->surf.layout == TSR_LAYOUT_MORTON) {
        uint64_t tile = tessera_swizzle_offset(TSR_LAYOUT_MORTON,
                                               t->surf.pitch, xb - in_tile,
                                               y & ~(TSR_TILE_ROWS - 1));

        tessera_morton_row((uint8_t *)t->host + tile, y % TSR_TILE_ROWS,
                           in_tile, n * t->surf.bpp, line, false);
        p = line;
    }
    unpack_texels(t->surf.format, p, n, out);
    return n;
}

static void copy_row(const TesseraTexture *t, TesseraWalker *u,
                     const TesseraWalker *v, uint32_t n, uint32_t *out)
{
    bool repeat = t->sampler & TSR_SAMPLER_REPEAT;
    uint32_t x = t->x + (u->value >> 16), done = 0;
    uint32_t y = t->y + wrap(v->value >> 16, t->h, repeat);

    while (done < n) {
        done += copy_texels(t, x + done, y, n - done, out + done);
    }
    u->value += (int64_t)n << 16;
    if (repeat && u->value >= (int64_t)t->w << 16) {
        u->value -= (int64_t)t->w << 16;
    }
}

/*
 * Append @n pixels of a repeated texture to @done pixels of the same row, which
 * show at least one whole period. Copy whole periods, twice as many each time,
 * as the row may have few texels.
 */
static void repeat_row(const TesseraTexture *t, TesseraWalker *u, uint32_t n,
                       uint32_t done, uint32_t *out)
{
    uint32_t period = done - done % t->w;

    u->value = ((u->value >> 16) + n) % t->w << 16 | (u->value & 0xffff);
    while (n) {
        uint32_t m = MIN(n, period);

        memcpy(out, out - period, m * sizeof(*out));
        out += m;
        n -= m;
        period *= 2;
    }
}

/* Sample @n pixels. The first error is stored in @t->err. */
void tessera_texture_span(TesseraTexture *t, TesseraWalker *u,
                          TesseraWalker *v, uint32_t n, uint32_t *out)
{
    bool repeat = t->sampler & TSR_SAMPLER_REPEAT;
    uint32_t done = 0;

    while (n) {
        bool whole;
        uint32_t m = row_of_texels(t, u, v, n, &whole);

        if (whole && repeat && done >= t->w) {
            m = n;
            repeat_row(t, u, n, done, out);
        } else if (whole) {
            copy_row(t, u, v, m, out);
        } else {
            sample_span(t, u, v, m, out);
        }
        out += m;
        n -= m;
        done += m;
    }
}
