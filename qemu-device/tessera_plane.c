/*
 * Tessera virtual GPU: planes
 *
 * The meaning of a plane's registers: which memory it shows, which of its
 * pixels appears where on the screen, and how they are blended with the planes
 * below. Documentation/hardware.rst specifies this in exact arithmetic. In
 * every layout, the offset of a pixel is the sum of an offset for its column
 * and one for its row. So one table of column offsets handles scaling, rotation
 * and swizzling. Called under the BQL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_plane.h"
#include "tessera_pixel.h"
#include "tessera_strict.h"
#include "tessera_view.h"

#define REG(regs, offset) ((regs)[(offset) / 4])

static uint32_t format_bytes(uint32_t format)
{
    switch (format) {
    case TSR_FORMAT_RGB565:
        return 2;
    case TSR_FORMAT_XRGB8888:
    case TSR_FORMAT_ARGB8888:
    case TSR_FORMAT_XRGB2101010:
        return 4;
    default:
        return 0;
    }
}

static TesseraPlane decode(const uint32_t *regs)
{
    uint32_t control = REG(regs, TSR_PLANE_CONTROL);
    uint32_t surface = REG(regs, TSR_PLANE_SURFACE);
    uint32_t turns = (control & TSR_PLANE_ROTATE_MASK) >>
                     TSR_PLANE_ROTATE_SHIFT;
    bool flip_x = control & TSR_PLANE_REFLECT_X;
    bool flip_y = control & TSR_PLANE_REFLECT_Y;
    TesseraPlane p = {
        .enabled = control & TSR_PLANE_ENABLE,
        .swapped = turns & 1,
        .blend = (control & TSR_PLANE_BLEND_MASK) >> TSR_PLANE_BLEND_SHIFT,
        .alpha = control >> TSR_PLANE_ALPHA_SHIFT,
        .format = surface & TSR_SURF_FORMAT_MASK,
        .layout = (surface & TSR_SURF_LAYOUT_MASK) >> TSR_SURF_LAYOUT_SHIFT,
        .addr = tessera_u64(&REG(regs, TSR_PLANE_ADDR_LO)),
        .pitch = REG(regs, TSR_PLANE_PITCH),
        .width = REG(regs, TSR_PLANE_SIZE) & 0xffff,
        .height = REG(regs, TSR_PLANE_SIZE) >> 16,
        .src_x = REG(regs, TSR_PLANE_SRC_X),
        .src_y = REG(regs, TSR_PLANE_SRC_Y),
        .src_w = REG(regs, TSR_PLANE_SRC_W),
        .src_h = REG(regs, TSR_PLANE_SRC_H),
        .dst_x = (int16_t)REG(regs, TSR_PLANE_DST_POS),
        .dst_y = (int16_t)(REG(regs, TSR_PLANE_DST_POS) >> 16),
        .dst_w = REG(regs, TSR_PLANE_DST_SIZE) & 0xffff,
        .dst_h = REG(regs, TSR_PLANE_DST_SIZE) >> 16,
    };

    p.bpp = format_bytes(p.format);
    p.flip_columns = (turns >= 2) ^ (p.swapped ? flip_y : flip_x);
    p.flip_rows = (turns == 1 || turns == 2) ^ (p.swapped ? flip_x : flip_y);
    return p;
}

/* ---- Checks -------------------------------------------------------------- */

static bool surface_ok(const TesseraPlane *p)
{
    if (!p->bpp || p->layout >= TSR_LAYOUT_COUNT || p->addr % p->bpp ||
        !p->width || p->width > TSR_SURF_MAX_DIM ||
        !p->height || p->height > TSR_SURF_MAX_DIM ||
        p->pitch > TSR_SURF_MAX_PITCH || p->pitch % p->bpp ||
        p->pitch < p->width * p->bpp) {
        return false;
    }
    return p->layout == TSR_LAYOUT_LINEAR ||
           (p->pitch % TSR_TILE_WIDTH_BYTES == 0 &&
            p->addr % TSR_TILE_BYTES == 0);
}

static bool shape_ok(const TesseraPlane *p)
{
    return p->blend < TSR_PLANE_BLEND_COUNT && p->src_w && p->src_h &&
           (uint64_t)p->src_x + p->src_w <= (uint64_t)p->width << 16 &&
           (uint64_t)p->src_y + p->src_h <= (uint64_t)p->height << 16 &&
           p->dst_w && p->dst_w <= TSR_SURF_MAX_DIM &&
           p->dst_h && p->dst_h <= TSR_SURF_MAX_DIM;
}

/* One past the last byte of the whole surface. */
static uint64_t surface_bytes(const TesseraPlane *p)
{
    TesseraRect r = {
        .layout = p->layout, .pitch = p->pitch,
        .nb = (uint64_t)p->width * p->bpp, .rows = p->height,
    };

    return tessera_swizzle_end(&r);
}

/* Find the whole surface of an enabled plane in VRAM. */
bool tessera_plane_memory(TesseraState *s, const uint32_t *regs,
                          uint64_t *offset, uint64_t *bytes)
{
    TesseraPlane p = decode(regs);

    if (!p.enabled) {
        return false;
    }
    *bytes = surface_bytes(&p);
    return tessera_vram_find(s, p.addr, *bytes, offset);
}

/* Whether the registers of a plane can be committed. */
uint32_t tessera_plane_check(TesseraMaster *m, const uint32_t *regs,
                             uint32_t slot)
{
    TesseraPlane p = decode(regs);
    const TesseraSegment *seg;

    if (!p.enabled) {
        return TSR_ERR_NONE;
    }
    if (!surface_ok(&p) || !shape_ok(&p)) {
        return tessera_fault(m, TSR_ERR_SURFACE, slot, p.addr);
    }
    seg = tessera_view_segment(m->s, p.addr, surface_bytes(&p));
    if (!seg) {
        return tessera_fault(m, TSR_ERR_ADDRESS, slot, p.addr);
    }
    if (seg->ptes || !seg->id) {
        return tessera_fault(m, TSR_ERR_SEGMENT, slot, p.addr);
    }
    return TSR_ERR_NONE;
}

/* Fault injection: refuse valid registers as x-refuse-width says. */
uint32_t tessera_plane_refuse(TesseraMaster *m, const uint32_t *regs,
                              uint32_t slot)
{
    TesseraPlane p = decode(regs);

    if (!p.enabled || p.width != qatomic_read(&m->s->refuse_width)) {
        return TSR_ERR_NONE;
    }
    return tessera_fault(m, TSR_ERR_SURFACE, slot, p.addr);
}

/* ---- Memory -------------------------------------------------------------- */

static uint64_t column_offset(const TesseraPlane *p, uint32_t x)
{
    return tessera_swizzle_offset(p->layout, p->pitch, (uint64_t)x * p->bpp,
                                  0);
}

static uint64_t row_offset(const TesseraPlane *p, uint32_t y)
{
    return tessera_swizzle_offset(p->layout, p->pitch, 0, y);
}

/* The offset at which the memory of columns from @x on begins. */
static uint64_t first_column(const TesseraPlane *p, uint32_t x)
{
    uint64_t off = column_offset(p, x);

    return p->layout == TSR_LAYOUT_LINEAR ? off : QEMU_ALIGN_DOWN(off,
                                                             TSR_TILE_BYTES);
}

static uint64_t first_row(const TesseraPlane *p, uint32_t y)
{
    return row_offset(p, p->layout == TSR_LAYOUT_LINEAR
                         ? y : QEMU_ALIGN_DOWN(y, TSR_TILE_ROWS));
}

/* Get a run of exactly the memory that the source rectangle needs. */
static uint32_t run_begin(TesseraMaster *m, const TesseraPlane *p,
                          uint32_t slot, TesseraRun *run)
{
    uint32_t x = p->src_x >> 16, last_x = (p->src_x + p->src_w - 1) >> 16;
    uint32_t y = p->src_y >> 16, last_y = (p->src_y + p->src_h - 1) >> 16;
    uint64_t left = first_column(p, x), base;
    uint64_t bytes = first_column(p, last_x) - left + p->bpp;
    uint64_t pitch = p->pitch;
    uint32_t rows = last_y - y + 1;

    if (p->layout != TSR_LAYOUT_LINEAR) {
        bytes = bytes - p->bpp + TSR_TILE_BYTES;
        pitch *= TSR_TILE_ROWS;
        rows = last_y / TSR_TILE_ROWS - y / TSR_TILE_ROWS + 1;
    }
    if (!tessera_vram_find(m->s, p->addr, surface_bytes(p), &base)) {
        return tessera_fault(m, TSR_ERR_ADDRESS, slot, p->addr);
    }
    return tessera_vram_rows_begin(m, base + left + first_row(p, y), bytes,
                                   pitch, rows, false, slot, run);
}

/* Whether strict mode permits the scanout of a plane. */
uint32_t tessera_plane_referee(TesseraMaster *m, const uint32_t *regs,
                               uint32_t slot)
{
    TesseraPlane p = decode(regs);
    TesseraRun run;
    uint32_t err = p.enabled ? run_begin(m, &p, slot, &run) : TSR_ERR_NONE;

    if (p.enabled && !err) {
        tessera_run_end(m, &run, run.len);
    }
    return err;
}

/* ---- Scan ---------------------------------------------------------------- */

/*
 * The texel at position @k of @n positions, which show @len of a surface from
 * @start on.
 */
static uint32_t texel(uint32_t start, uint32_t len, uint32_t k, uint32_t n)
{
    return (start + (2 * (uint64_t)k + 1) * len / (2 * (uint64_t)n)) >> 16;
}

static uint32_t texel_x(const TesseraPlane *p, uint32_t k, uint32_t n)
{
    return texel(p->src_x, p->src_w, k, n);
}

static uint32_t texel_y(const TesseraPlane *p, uint32_t k, uint32_t n)
{
    return texel(p->src_y, p->src_h, k, n);
}

/* The part of the offset in the run that column @i of the destination adds. */
static uint64_t dst_column(const TesseraPlane *p, uint32_t i)
{
    uint32_t k = p->flip_columns ? p->dst_w - 1 - i : i;

    return p->swapped
           ? row_offset(p, texel_y(p, k, p->dst_w)) -
             first_row(p, p->src_y >> 16)
           : column_offset(p, texel_x(p, k, p->dst_w)) -
             first_column(p, p->src_x >> 16);
}

static uint64_t dst_row(const TesseraPlane *p, uint32_t j)
{
    uint32_t k = p->flip_rows ? p->dst_h - 1 - j : j;

    return p->swapped
           ? column_offset(p, texel_x(p, k, p->dst_h)) -
             first_column(p, p->src_x >> 16)
           : row_offset(p, texel_y(p, k, p->dst_h)) -
             first_row(p, p->src_y >> 16);
}

/*
 * Begin to scan out a plane on a screen with @width columns. A disabled plane,
 * or one that strict mode refuses, is not open and adds nothing to a row.
 */
uint32_t tessera_plane_open(TesseraMaster *m, const uint32_t *regs,
                            uint32_t slot, uint32_t width,
                            TesseraPlaneScan *scan)
{
    TesseraPlane *p = &scan->p;
    uint32_t err;

    *p = decode(regs);
    scan->open = false;
    scan->first = MAX(p->dst_x, 0);
    scan->end = MAX(MIN(p->dst_x + (int32_t)p->dst_w, (int32_t)width), 0);
    if (!p->enabled) {
        return TSR_ERR_NONE;
    }
    err = run_begin(m, p, slot, &scan->run);
    if (err) {
        return err;
    }
    scan->open = true;
    scan->offset = g_new(uint32_t, MAX(width, 1));
    for (uint32_t x = scan->first; x < scan->end; x++) {
        scan->offset[x] = dst_column(p, x - p->dst_x);
    }
    return TSR_ERR_NONE;
}

void tessera_plane_close(TesseraMaster *m, TesseraPlaneScan *scan)
{
    if (scan->open) {
        tessera_run_end(m, &scan->run, scan->run.len);
        g_free(scan->offset);
        scan->open = false;
    }
}

static inline uint32_t unpack(uint32_t format, const uint8_t *p)
{
    uint32_t v;

    if (format == TSR_FORMAT_XRGB2101010) {
        v = ldl_le_p(p);
        return (v >> 6 & 0xff0000) | (v >> 4 & 0x00ff00) | (v >> 2 & 0xff) |
               0xff000000u;
    }
    return tessera_pixel_unpack(format, p);
}

/* Inlined with a constant @format, so that each format gets its own loop. */
static inline QEMU_ALWAYS_INLINE void
fetch_texels(uint32_t format, const uint8_t *base, const uint32_t *offset,
             uint32_t *pixels, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        pixels[i] = unpack(format, base + offset[i]);
    }
}

static void fetch_row(const TesseraPlane *p, const uint8_t *base,
                      const uint32_t *offset, uint32_t *pixels, uint32_t n)
{
    switch (p->format) {
    case TSR_FORMAT_RGB565:
        fetch_texels(TSR_FORMAT_RGB565, base, offset, pixels, n);
        break;
    case TSR_FORMAT_XRGB8888:
        fetch_texels(TSR_FORMAT_XRGB8888, base, offset, pixels, n);
        break;
    case TSR_FORMAT_ARGB8888:
        fetch_texels(TSR_FORMAT_ARGB8888, base, offset, pixels, n);
        break;
    default:
        fetch_texels(TSR_FORMAT_XRGB2101010, base, offset, pixels, n);
    }
}

static inline uint32_t div255(uint32_t x)
{
    x += 128;
    return (x + (x >> 8)) >> 8;
}

/* s * sa + d * da in each channel except alpha. sa + da is 255. */
static inline uint32_t mix(uint32_t s, uint32_t sa, uint32_t d, uint32_t da)
{
    return tessera_unlanes(
        tessera_div255_lanes(tessera_lanes(s) * sa + tessera_lanes(d) * da),
        tessera_div255_lanes(tessera_lanes(s >> 8 & 0xff) * sa +
                             tessera_lanes(d >> 8 & 0xff) * da));
}

/* Like mix(), but each product is rounded, and the sum saturates. */
static inline uint32_t add(uint32_t s, uint32_t sa, uint32_t d, uint32_t da)
{
    return tessera_unlanes(
        tessera_saturate_lanes(tessera_div255_lanes(tessera_lanes(s) * sa) +
                               tessera_div255_lanes(tessera_lanes(d) * da)),
        tessera_saturate_lanes(
            tessera_div255_lanes(tessera_lanes(s >> 8 & 0xff) * sa) +
            tessera_div255_lanes(tessera_lanes(d >> 8 & 0xff) * da)));
}

static void blend_row(const TesseraPlane *p, const uint32_t *pixels,
                      uint32_t *row, uint32_t n)
{
    uint32_t alpha = p->alpha;
    bool opaque = alpha == 255 && (p->blend == TSR_PLANE_BLEND_NONE ||
                                   p->format != TSR_FORMAT_ARGB8888);

    for (uint32_t i = 0; opaque && i < n; i++) {
        row[i] = pixels[i] & 0xffffff;
    }
    for (uint32_t i = 0; !opaque && i < n; i++) {
        uint32_t s = pixels[i], a = div255(alpha * (s >> 24));

        switch (p->blend) {
        case TSR_PLANE_BLEND_PREMULTIPLIED:
            row[i] = add(s, alpha, row[i], 255 - a);
            break;
        case TSR_PLANE_BLEND_COVERAGE:
            row[i] = mix(s, a, row[i], 255 - a);
            break;
        default:
            row[i] = mix(s, alpha, row[i], 255 - alpha);
        }
    }
}

/* Blend the plane into row @y of the screen, XRGB8888 with X being 0. */
void tessera_plane_row(const TesseraPlaneScan *scan, uint32_t y, uint32_t *row)
{
    const TesseraPlane *p = &scan->p;
    int64_t j = (int64_t)y - p->dst_y;
    uint32_t pixels[256];

    if (!scan->open || j < 0 || j >= p->dst_h) {
        return;
    }
    for (uint32_t x = scan->first; x < scan->end;) {
        uint32_t n = MIN(scan->end - x, ARRAY_SIZE(pixels));

        fetch_row(p, scan->run.ptr + dst_row(p, j), scan->offset + x, pixels,
                  n);
        blend_row(p, pixels, row + x, n);
        x += n;
    }
}
