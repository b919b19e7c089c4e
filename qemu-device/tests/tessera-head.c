/*
 * Display heads, for the qtests of the Tessera device
 *
 * The model follows the hardware manual, pixel by pixel, and shares no code
 * with the device.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "tessera-head.h"

uint32_t tsr_head_r32(TsrHead *h, uint32_t reg)
{
    return tsr_r32(h->t, h->regs + reg);
}

uint64_t tsr_head_r64(TsrHead *h, uint32_t reg_lo)
{
    return tsr_r64(h->t, h->regs + reg_lo);
}

void tsr_head_w32(TsrHead *h, uint32_t reg, uint32_t value)
{
    tsr_w32(h->t, h->regs + reg, value);
}

void tsr_head_w64(TsrHead *h, uint32_t reg_lo, uint64_t value)
{
    tsr_w64(h->t, h->regs + reg_lo, value);
}

void tsr_head_on(TsrHead *h, TsrTest *t, uint32_t index, uint32_t width,
                 uint32_t height)
{
    uint32_t htotal = width + 36, vtotal = height + 10;
    uint32_t clock = MAX(htotal * vtotal / 10, 1);

    memset(h, 0, sizeof(*h));
    h->t = t;
    h->regs = TSR_CRTC(index);
    h->width = width;
    h->height = height;
    h->frame_ns = (uint64_t)htotal * vtotal * 1000000 / clock;
    tsr_head_w32(h, TSR_CRTC_ACTIVE, width | height << 16);
    tsr_head_w32(h, TSR_CRTC_TOTAL, htotal | vtotal << 16);
    tsr_head_w32(h, TSR_CRTC_CLOCK, clock);
    tsr_head_w32(h, TSR_CRTC_CONTROL, TSR_CRTC_ENABLE);
    g_assert_cmphex(tsr_head_r32(h, TSR_CRTC_CONTROL), ==, TSR_CRTC_ENABLE);
}

/* ---- Surfaces ------------------------------------------------------------ */

uint32_t tsr_format_bytes(uint32_t format)
{
    return format == TSR_FORMAT_RGB565 ? 2 : 4;
}

static uint64_t texel_offset(const TsrPlane *p, uint32_t x, uint32_t y)
{
    uint64_t xb = x * tsr_format_bytes(p->format), tile, word = 0;

    if (p->layout == TSR_LAYOUT_LINEAR) {
        return (uint64_t)y * p->pitch + xb;
    }
    tile = (uint64_t)(y / 32) * (p->pitch / 128) + xb / 128;
    xb %= 128;
    y %= 32;
    if (p->layout == TSR_LAYOUT_TILE4K) {
        return tile * 4096 + y * 128 + xb;
    }
    for (int bit = 0; bit < 5; bit++) {
        word |= (xb / 4 >> bit & 1) << (2 * bit);
        word |= (y >> bit & 1) << (2 * bit + 1);
    }
    return tile * 4096 + word * 4 + xb % 4;
}

uint64_t tsr_plane_bytes(const TsrPlane *p)
{
    uint32_t rows = p->layout == TSR_LAYOUT_LINEAR ? p->height
                                                   : ROUND_UP(p->height, 32);

    return (uint64_t)p->pitch * rows;
}

void tsr_plane_fill(TsrTest *t, TsrPlane *p, GRand *rng)
{
    g_autofree uint8_t *raw = g_malloc0(tsr_plane_bytes(p));
    uint32_t bpp = tsr_format_bytes(p->format);

    g_free(p->texels);
    p->texels = g_new(uint32_t, p->width * p->height);
    for (uint32_t i = 0; i < p->width * p->height; i++) {
        uint32_t v = g_rand_int(rng);
        uint8_t *at = raw + texel_offset(p, i % p->width, i / p->width);

        p->texels[i] = bpp == 2 ? v & 0xffff : v;
        if (bpp == 2) {
            stw_le_p(at, v);
        } else {
            stl_le_p(at, v);
        }
    }
    tsr_gpu_write(t, p->addr, raw, tsr_plane_bytes(p));
}

void tsr_head_full_plane(TsrHead *h, uint32_t plane, uint32_t format,
                         uint32_t layout, uint64_t addr)
{
    g_autoptr(GRand) rng = g_rand_new_with_seed(addr);
    uint32_t row = h->width * tsr_format_bytes(format);
    TsrPlane *p = &h->plane[plane];

    g_free(p->texels);
    *p = (TsrPlane) {
        .on = true, .alpha = 255, .format = format, .layout = layout,
        .addr = addr, .width = h->width, .height = h->height,
        .pitch = layout == TSR_LAYOUT_LINEAR ? row : ROUND_UP(row, 128),
        .src = { 0, 0, h->width << 16, h->height << 16 },
        .dst_w = h->width, .dst_h = h->height,
    };
    tsr_plane_fill(h->t, p, rng);
    tsr_plane_write(h, plane);
}

void tsr_plane_write(TsrHead *h, uint32_t plane)
{
    const TsrPlane *p = &h->plane[plane];
    uint32_t at = TSR_PLANE(plane);

    tsr_head_w32(h, at + TSR_PLANE_CONTROL,
                 (p->on ? TSR_PLANE_ENABLE : 0) |
                 p->blend << TSR_PLANE_BLEND_SHIFT |
                 p->turns << TSR_PLANE_ROTATE_SHIFT |
                 (p->reflect_x ? TSR_PLANE_REFLECT_X : 0) |
                 (p->reflect_y ? TSR_PLANE_REFLECT_Y : 0) |
                 p->alpha << TSR_PLANE_ALPHA_SHIFT);
    tsr_head_w32(h, at + TSR_PLANE_SURFACE,
                 p->format | p->layout << TSR_SURF_LAYOUT_SHIFT);
    tsr_head_w64(h, at + TSR_PLANE_ADDR_LO, p->addr);
    tsr_head_w32(h, at + TSR_PLANE_PITCH, p->pitch);
    tsr_head_w32(h, at + TSR_PLANE_SIZE, p->width | p->height << 16);
    for (int i = 0; i < 4; i++) {
        tsr_head_w32(h, at + TSR_PLANE_SRC_X + 4 * i, p->src[i]);
    }
    tsr_head_w32(h, at + TSR_PLANE_DST_POS,
                 (p->dst_x & 0xffff) | (uint32_t)p->dst_y << 16);
    tsr_head_w32(h, at + TSR_PLANE_DST_SIZE, p->dst_w | p->dst_h << 16);
}

void tsr_head_commit(TsrHead *h, uint32_t how)
{
    uint32_t before = tsr_head_r32(h, TSR_CRTC_COMMITTED);

    tsr_head_w32(h, TSR_CRTC_COMMIT, how);
    g_assert_cmpuint(tsr_head_r32(h, TSR_CRTC_COMMITTED), ==, before + 1);
}

void tsr_head_frame(TsrHead *h)
{
    qtest_clock_step(h->t->qts, h->frame_ns);
}

void tsr_head_write_color(TsrHead *h)
{
    tsr_head_w32(h, TSR_CRTC_COLOR, (h->ctm_on ? TSR_COLOR_CTM : 0) |
                                    (h->gamma_on ? TSR_COLOR_GAMMA : 0));
    for (int i = 0; i < TSR_CTM_ENTRIES; i++) {
        tsr_head_w32(h, TSR_CRTC_CTM(i), h->ctm[i]);
    }
    tsr_head_w32(h, TSR_CRTC_GAMMA_INDEX, 0);
    for (int i = 0; i < TSR_GAMMA_ENTRIES; i++) {
        tsr_head_w32(h, TSR_CRTC_GAMMA_DATA, h->gamma[i]);
    }
}

/* ---- The model ----------------------------------------------------------- */

typedef struct Colour {
    uint32_t a;
    uint32_t c[3];              /* red, green, blue */
} Colour;

static uint32_t widen(uint32_t v, int bits)
{
    v <<= 8 - bits;
    return v | v >> bits;
}

static Colour colour_of(uint32_t format, uint32_t v)
{
    switch (format) {
    case TSR_FORMAT_RGB565:
        return (Colour) { 255, { widen(v >> 11, 5), widen(v >> 5 & 63, 6),
                                 widen(v & 31, 5) } };
    case TSR_FORMAT_XRGB2101010:
        return (Colour) { 255, { (v >> 20 & 1023) / 4, (v >> 10 & 1023) / 4,
                                 (v & 1023) / 4 } };
    default:
        return (Colour) { format == TSR_FORMAT_ARGB8888 ? v >> 24 : 255,
                          { v >> 16 & 255, v >> 8 & 255, v & 255 } };
    }
}

/* Divide by 255, rounded to nearest. */
static uint32_t over255(uint32_t v)
{
    return (v + 127) / 255;
}

static uint32_t blend(const TsrPlane *p, uint32_t s, uint32_t a, uint32_t d)
{
    uint32_t all = over255(p->alpha * a);

    switch (p->blend) {
    case TSR_PLANE_BLEND_NONE:
        return over255(s * p->alpha + d * (255 - p->alpha));
    case TSR_PLANE_BLEND_COVERAGE:
        return over255(s * all + d * (255 - all));
    default:
        return MIN(255, over255(s * p->alpha) + over255(d * (255 - all)));
    }
}

/*
 * Return the texel shown at (x, y) of the destination: undo the rotation
 * first, then the reflection.
 */
static uint32_t sample(const TsrPlane *p, int x, int y)
{
    int w = p->dst_w, h = p->dst_h, tmp;
    uint64_t u, v;

    for (uint32_t i = 0; i < p->turns; i++) {
        /* Before its last quarter turn the picture was h wide and w high. */
        tmp = x;
        x = h - 1 - y;
        y = tmp;
        tmp = w;
        w = h;
        h = tmp;
    }
    if (p->reflect_x) {
        x = w - 1 - x;
    }
    if (p->reflect_y) {
        y = h - 1 - y;
    }
    u = p->src[0] + (2 * (uint64_t)x + 1) * p->src[2] / (2 * (uint64_t)w);
    v = p->src[1] + (2 * (uint64_t)y + 1) * p->src[3] / (2 * (uint64_t)h);
    return p->texels[(v >> 16) * p->width + (u >> 16)];
}

static uint32_t after_colour(const TsrHead *h, const uint32_t c[3])
{
    uint32_t out = 0;

    for (int i = 0; i < 3; i++) {
        int64_t v = c[i];

        if (h->ctm_on) {
            v = 0x8000;
            for (int j = 0; j < 3; j++) {
                v += (int64_t)h->ctm[3 * i + j] * c[j];
            }
            v = v < 0 ? 0 : MIN(v / 65536, 255);
        }
        if (h->gamma_on) {
            v = h->gamma[v] >> (16 - 8 * i) & 255;
        }
        out |= (uint32_t)v << (16 - 8 * i);
    }
    return out;
}

uint32_t *tsr_head_model(const TsrHead *h)
{
    uint32_t *out = g_new(uint32_t, h->width * h->height);

    for (int i = 0; i < h->width * h->height; i++) {
        uint32_t c[3] = { 0, 0, 0 };

        for (int k = 0; k < TSR_NUM_PLANES; k++) {
            const TsrPlane *p = &h->plane[k];
            int x = i % (int)h->width - p->dst_x;
            int y = i / (int)h->width - p->dst_y;
            Colour s;

            if (!p->on || x < 0 || y < 0 || x >= (int)p->dst_w ||
                y >= (int)p->dst_h) {
                continue;
            }
            s = colour_of(p->format, sample(p, x, y));
            for (int j = 0; j < 3; j++) {
                c[j] = blend(p, s.c[j], s.a, c[j]);
            }
        }
        out[i] = after_colour(h, c);
    }
    return out;
}

char *tsr_screen_file(void)
{
    return g_strdup_printf("%s/tessera-screen-%d.ppm", g_get_tmp_dir(),
                           getpid());
}

uint32_t *tsr_screendump(TsrTest *t, int head, uint32_t width, uint32_t height)
{
    g_autofree char *path = tsr_screen_file(), *data = NULL;
    g_autofree char *magic = g_strdup_printf("P6\n%u %u\n255\n", width,
                                             height);
    uint32_t *out = g_new(uint32_t, width * height);
    const uint8_t *p;
    gsize bytes;

    qtest_qmp_assert_success(t->qts, "{'execute': 'screendump', 'arguments': {"
                             "'filename': %s, 'device': 'gpu', 'head': %d}}",
                             path, head);
    g_assert_true(g_file_get_contents(path, &data, &bytes, NULL));
    g_assert_cmpuint(bytes, ==, strlen(magic) + width * height * 3);
    g_assert_cmpint(memcmp(data, magic, strlen(magic)), ==, 0);
    p = (uint8_t *)data + strlen(magic);
    for (uint32_t i = 0; i < width * height; i++, p += 3) {
        out[i] = p[0] << 16 | p[1] << 8 | p[2];
    }
    unlink(path);
    return out;
}
