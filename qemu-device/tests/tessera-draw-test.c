/*
 * QTest: BLIT and DRAW against a reference written from the manual's formulas
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera-common.h"
#include "tessera-ref.h"

#define RW (TSR_SURF_READ | TSR_SURF_WRITE)
#define W 160
#define H 96
#define TW 37
#define TH 21

typedef struct Gpu {
    TsrTest *t;
    uint64_t target, texture, linear, vertices;
} Gpu;

static const uint32_t formats[] = {
    TSR_FORMAT_RGB565, TSR_FORMAT_XRGB8888, TSR_FORMAT_ARGB8888,
};

/* ---- Device side ------------------------------------------------------- */

static uint32_t format_bytes(uint32_t format)
{
    return format == TSR_FORMAT_RGB565 ? 2 : 4;
}

static TsrSurf surface(uint64_t base, const TsrImage *m, uint32_t layout)
{
    uint32_t row = m->w * format_bytes(m->format);
    TsrSurf s = {
        .base = base, .format = m->format, .layout = layout, .access = RW,
        .pitch = ROUND_UP(row, 128), .width = m->w, .height = m->h,
    };

    s.limit = (uint64_t)s.pitch * ROUND_UP(m->h, 32);
    return s;
}

/*
 * Copy an image into a surface of any layout (upload) or out of it (compare).
 * COPY converts between the layouts.
 */
static void upload(Gpu *g, uint64_t base, const TsrImage *m, uint32_t layout)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrSurf s = surface(base, m, layout);
    TsrSurf l = surface(g->linear, m, TSR_LAYOUT_LINEAR);
    g_autofree uint8_t *raw = g_malloc0(l.limit);
    uint32_t bpp = format_bytes(m->format);

    for (uint32_t i = 0; i < m->w * m->h; i++) {
        uint8_t *p = raw + i / m->w * l.pitch + i % m->w * bpp;

        if (bpp == 2) {
            stw_le_p(p, m->px[i]);
        } else {
            stl_le_p(p, m->px[i]);
        }
    }
    tsr_gpu_write(g->t, g->linear, raw, l.limit);
    tsr_bind(c, 0, &s);
    tsr_bind(c, 1, &l);
    tsr_copy(c, 0, 1, 0, 0, 0, 0, m->w, m->h);
    tsr_run_ok(g->t, PAGING, c);
}

static void compare(Gpu *g, uint64_t base, const TsrImage *want,
                    uint32_t layout)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrSurf s = surface(base, want, layout);
    TsrSurf l = surface(g->linear, want, TSR_LAYOUT_LINEAR);
    g_autofree uint8_t *raw = g_malloc0(l.limit);
    uint32_t bpp = format_bytes(want->format);

    tsr_bind(c, 0, &s);
    tsr_bind(c, 1, &l);
    tsr_copy(c, 1, 0, 0, 0, 0, 0, want->w, want->h);
    tsr_run_ok(g->t, PAGING, c);
    tsr_gpu_read(g->t, g->linear, raw, l.limit);
    for (uint32_t i = 0; i < want->w * want->h; i++) {
        uint8_t *p = raw + i / want->w * l.pitch + i % want->w * bpp;
        uint32_t got = bpp == 2 ? lduw_le_p(p) : ldl_le_p(p);

        if (got != want->px[i]) {
            g_error("pixel %u,%u format %u layout %u: 0x%08x, not 0x%08x",
                    i % want->w, i / want->w, want->format, layout, got,
                    want->px[i]);
        }
    }
}

static void put_vertices(Gpu *g, const TsrVertex *v, uint32_t n)
{
    g_autofree uint8_t *raw = g_malloc0(n * TSR_VERTEX_BYTES);

    for (uint32_t i = 0; i < n; i++) {
        uint8_t *p = raw + i * TSR_VERTEX_BYTES;

        stl_le_p(p + TSR_VERTEX_X, v[i].x);
        stl_le_p(p + TSR_VERTEX_Y, v[i].y);
        stl_le_p(p + TSR_VERTEX_U, v[i].u);
        stl_le_p(p + TSR_VERTEX_V, v[i].v);
        stl_le_p(p + TSR_VERTEX_COLOR, v[i].color);
    }
    tsr_gpu_write(g->t, g->vertices, raw, n * TSR_VERTEX_BYTES);
}

static void start(Gpu *g, const char *props)
{
    g->t = tsr_start(props);
    g->target = tsr_seg_base(g->t, 1);
    g->texture = tsr_seg_base(g->t, 2);
    g->linear = g->target + (1 << 20);
    g->vertices = g->target + (2 << 20);
    tsr_load_firmware(g->t);
}

static void random_image(TsrImage *m, uint32_t w, uint32_t h, uint32_t format)
{
    m->w = w;
    m->h = h;
    m->format = format;
    for (uint32_t i = 0; i < w * h; i++) {
        m->px[i] = g_test_rand_int();
        if (format == TSR_FORMAT_RGB565) {
            m->px[i] &= 0xffff;
        } else if (format == TSR_FORMAT_XRGB8888) {
            m->px[i] |= 0xff000000; /* what the device writes */
        }
    }
}

static void emit_draw(TsrCmd *c, const TsrSurf *target, const TsrSurf *tex,
                      uint64_t vertices, uint32_t n, uint32_t sampler,
                      uint32_t blend, uint32_t color, const uint32_t *sc)
{
    tsr_bind(c, 0, target);
    tsr_bind_buffer(c, 1, vertices, n * TSR_VERTEX_BYTES, TSR_FORMAT_R32,
                    TSR_SURF_READ);
    if (tex) {
        tsr_bind(c, 2, tex);
    }
    tsr_set_state(c, 0, TSR_STATE_COUNT, 0, sc[0] | sc[1] << 16,
                  sc[2] | sc[3] << 16, 2, sampler, blend, color);
    tsr_put(c, TSR_OP_DRAW, tex ? TSR_DRAW_TEXTURED : 0, TSR_DRAW_DWORDS, 1,
            0, n);
}

/* ---- Tests ------------------------------------------------------------- */

/*
 * A mesh of triangles with shared vertices and of both windings covers each
 * pixel exactly once. Premultiplied blending with alpha 0 adds the colours up,
 * so the target counts how often a pixel was drawn.
 */
static void test_coverage(void)
{
    enum { N = 12 };
    static const uint32_t whole[] = { 0, 0, W, H };
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    g_autofree TsrImage *m = g_new0(TsrImage, 1);
    TsrVertex grid[N + 1][N + 1], v[N * N * 6];
    TsrSurf s;
    uint32_t n = 0;
    Gpu g;

    start(&g, "");
    for (int y = 0; y <= N; y++) {
        for (int x = 0; x <= N; x++) {
            bool edge = x == 0 || y == 0 || x == N || y == N;
            int jx = edge ? 0 : g_test_rand_int_range(-600, 600);
            int jy = edge ? 0 : g_test_rand_int_range(-350, 350);

            /*
             * Corners move by less than a quarter of a cell, so cells stay
             * convex.
             */
            grid[y][x] = (TsrVertex) {
                .x = x * W * 256 / N + jx,
                .y = y * H * 256 / N + jy,
                .color = 0x00010101,
            };
            /*
             * Put some corners on pixel centres, where the top-left rule
             * decides.
             */
            if (!edge && x % 3) {
                grid[y][x].x = (grid[y][x].x & ~255) | 128;
                grid[y][x].y = (grid[y][x].y & ~255) | 128;
            }
        }
    }
    for (int y = 0; y < N; y++) {
        for (int x = 0; x < N; x++) {
            TsrVertex *a = &grid[y][x], *b = &grid[y + 1][x];

            v[n++] = a[0];
            v[n++] = (x + y) % 2 ? a[1] : b[0];
            v[n++] = (x + y) % 2 ? b[0] : a[1];
            v[n++] = a[1];
            v[n++] = b[1];
            v[n++] = b[0];
        }
    }
    m->w = W;
    m->h = H;
    m->format = TSR_FORMAT_ARGB8888;
    upload(&g, g.target, m, TSR_LAYOUT_LINEAR);
    put_vertices(&g, v, n);
    s = surface(g.target, m, TSR_LAYOUT_LINEAR);
    emit_draw(c, &s, NULL, g.vertices, n, 0, TSR_BLEND_PREMULTIPLIED,
              0xffffffff, whole);
    tsr_run_ok(g.t, RENDER, c);
    for (uint32_t i = 0; i < W * H; i++) {
        m->px[i] = 0x00010101;
    }
    compare(&g, g.target, m, TSR_LAYOUT_LINEAR);
    tsr_expect_no_errors(g.t);
    tsr_stop(g.t);
}

/*
 * A rectangle with its corners on pixel centres covers the pixels on its top
 * and left edges, and not those on its bottom and right edges.
 */
static void test_top_left(void)
{
    static const uint32_t whole[] = { 0, 0, W, H };
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    g_autofree TsrImage *m = g_new0(TsrImage, 1);
    TsrVertex q[4], v[6];
    TsrSurf s;
    Gpu g;

    start(&g, "");
    for (int i = 0; i < 4; i++) {
        q[i] = (TsrVertex) { .x = (i % 2 ? 20 : 10) * 256 + 128,
                       .y = (i / 2 ? 18 : 8) * 256 + 128,
                       .color = 0xff112233 };
    }
    v[0] = q[0], v[1] = q[1], v[2] = q[2];
    v[3] = q[1], v[4] = q[2], v[5] = q[3]; /* the other winding */
    m->w = 64;
    m->h = 32;
    m->format = TSR_FORMAT_ARGB8888;
    upload(&g, g.target, m, TSR_LAYOUT_TILE4K);
    put_vertices(&g, v, 6);
    s = surface(g.target, m, TSR_LAYOUT_TILE4K);
    emit_draw(c, &s, NULL, g.vertices, 6, 0, TSR_BLEND_NONE, 0xffffffff,
              whole);
    tsr_run_ok(g.t, RENDER, c);
    for (uint32_t y = 8; y < 18; y++) {
        for (uint32_t x = 10; x < 20; x++) {
            m->px[y * 64 + x] = 0xff112233;
        }
    }
    compare(&g, g.target, m, TSR_LAYOUT_TILE4K);
    tsr_stop(g.t);
}

static TsrVertex random_vertex(int spread)
{
    return (TsrVertex) {
        .x = g_test_rand_int_range(-spread * 256, (W + spread) * 256),
        .y = g_test_rand_int_range(-spread * 256, (H + spread) * 256),
        .u = g_test_rand_int_range(-TW * 65536, 2 * TW * 65536),
        .v = g_test_rand_int_range(-TH * 65536, 2 * TH * 65536),
        .color = g_test_rand_int(),
    };
}

/*
 * Random triangles with each blend mode, sampler, format and layout match the
 * reference exactly.
 */
static void test_random(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    g_autofree TsrImage *m = g_new0(TsrImage, 1), *tex = g_new0(TsrImage, 1);
    TsrVertex v[9];
    Gpu g;

    start(&g, "");
    for (uint32_t round = 0; round < 72; round++) {
        uint32_t tf = formats[round % 3], sf = formats[round / 3 % 3];
        uint32_t tl = round / 9 % 3, sl = round % 3;
        uint32_t blend = round / 2 % 3, sampler = round % 4;
        uint32_t color = round % 5 ? g_test_rand_int() : 0xffffffff;
        bool textured = round % 7 != 0;
        uint32_t sc[4] = { 3, 5, W - 7, H - 2 };
        TsrTexture rt = { tex, 0, 0, TW, TH, sampler };
        TsrSurf ts, ss;

        if (round % 4 == 0) {
            sc[0] = sc[1] = 0;
            sc[2] = sc[3] = 0xffff;
        }
        random_image(m, W, H, tf);
        random_image(tex, TW, TH, sf);
        upload(&g, g.target, m, tl);
        upload(&g, g.texture, tex, sl);
        for (int i = 0; i < 9; i++) {
            v[i] = random_vertex(round % 2 ? 10 : 3000);
        }
        if (round % 6 == 0) {
            /* Flat triangles take a path of their own in the device. */
            v[1].color = v[2].color = v[0].color;
        }
        put_vertices(&g, v, 9);
        ts = surface(g.target, m, tl);
        ss = surface(g.texture, tex, sl);
        c->n = 0;
        emit_draw(c, &ts, textured ? &ss : NULL, g.vertices, 9, sampler,
                  blend, color, sc);
        tsr_run_ok(g.t, RENDER, c);
        for (int i = 0; i < 9; i += 3) {
            tsr_ref_draw(m, v + i, textured ? &rt : NULL, blend, color, sc);
        }
        compare(&g, g.target, m, tl);
    }
    tsr_expect_no_errors(g.t);
    tsr_stop(g.t);
}

/*
 * Draw a texture over the whole target, one texel per pixel, starting at texel
 * coordinates @u and @v.
 */
static void draw_unscaled(Gpu *g, TsrImage *m, const TsrTexture *rt,
                          uint32_t layout, int32_t sign, int32_t u, int32_t v)
{
    const uint32_t whole[] = { 0, 0, m->w, m->h };
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrSurf ts = surface(g->target, m, TSR_LAYOUT_TILE4K);
    TsrSurf ss = surface(g->texture, rt->image, layout);
    TsrVertex vtx[6];

    upload(g, g->target, m, TSR_LAYOUT_TILE4K);
    upload(g, g->texture, rt->image, layout);
    for (int i = 0; i < 6; i++) {
        int32_t x = (i < 3 ? i == 1 : i != 4) * m->w;
        int32_t y = (i < 3 ? i == 2 : i != 3) * m->h;

        vtx[i] = (TsrVertex) {
            x * 256, y * 256, sign * x * 65536 + u, y * 65536 + v, 0xffffffff,
        };
    }
    put_vertices(g, vtx, 6);
    emit_draw(c, &ts, &ss, g->vertices, 6, rt->sampler, TSR_BLEND_NONE,
              0xffffffff, whole);
    tsr_run_ok(g->t, RENDER, c);
    tsr_ref_draw(m, vtx, rt, TSR_BLEND_NONE, 0xffffffff, whole);
    tsr_ref_draw(m, vtx + 3, rt, TSR_BLEND_NONE, 0xffffffff, whole);
    compare(g, g->target, m, TSR_LAYOUT_TILE4K);
}

/*
 * Textures drawn one texel per pixel, which the device copies by rows: all
 * formats and layouts, and across the edges of the texture. Offsets by a
 * fraction of a texel, and mirrored textures, are drawn as well: the device
 * must sample these where a filter or the direction forbids a copy.
 */
static void test_unscaled(void)
{
    static const int32_t shifts[] = { 0, -9 * 65536, 70 * 65536, 0x4000, 0x60 };
    g_autofree TsrImage *m = g_new0(TsrImage, 1), *tex = g_new0(TsrImage, 1);
    Gpu g;

    start(&g, "strict=on");
    for (uint32_t round = 0; round < 3 * 3 * 4 * 5; round++) {
        TsrTexture rt = { tex, 0, 0, 100, 50, round / 9 % 4 };

        random_image(m, W, H, TSR_FORMAT_ARGB8888);
        random_image(tex, 100, 50, formats[round % 3]);
        draw_unscaled(&g, m, &rt, round / 3 % 3, round % 11 ? 1 : -1,
                      shifts[round / 36],
                      (round % 2) * -3 * 65536 + (round % 7 ? 0 : 0x4000));
    }
    tsr_expect_no_errors(g.t);
    tsr_stop(g.t);
}

/*
 * As test_unscaled(), but with narrow textures that repeat many times, where
 * the device copies pixels that it has drawn before. Rows are longer than the
 * span that the device draws at once.
 */
static void test_narrow(void)
{
    static const uint32_t widths[] = { 1, 2, 3, 5, 8, 31, 100 };
    g_autofree TsrImage *m = g_new0(TsrImage, 1), *tex = g_new0(TsrImage, 1);
    Gpu g;

    start(&g, "strict=on");
    for (uint32_t round = 0; round < 3 * 3 * 2 * ARRAY_SIZE(widths); round++) {
        uint32_t w = widths[round / 18];
        TsrTexture rt = {
            tex, 0, 0, w, 7,
            TSR_SAMPLER_REPEAT | (round / 9 % 2 ? TSR_SAMPLER_LINEAR : 0),
        };

        random_image(m, 2500, 6, TSR_FORMAT_ARGB8888);
        random_image(tex, w, 7, formats[round % 3]);
        draw_unscaled(&g, m, &rt, round / 3 % 3, 1,
                      ((int32_t)round % 5 - 2) * 65536 +
                      (rt.sampler & TSR_SAMPLER_LINEAR ? 0 : round * 77),
                      -65536);
    }
    tsr_expect_no_errors(g.t);
    tsr_stop(g.t);
}

/* Target and texture are in the aperture, on scattered pages. */
static void test_aperture(void)
{
    static const uint32_t whole[] = { 0, 0, W, H };
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    g_autofree TsrImage *m = g_new0(TsrImage, 1), *tex = g_new0(TsrImage, 1);
    uint64_t pages[64], ram;
    TsrVertex v[3];
    Gpu g;

    start(&g, "");
    ram = tsr_alloc(g.t, 64 * 4096);
    for (int i = 0; i < 64; i++) {
        pages[i] = (ram + (i * 27 % 64) * 4096) | TSR_APTE_VALID |
                   TSR_APTE_WRITE;
    }
    tsr_map(c, 4, 0, 64, tsr_list(g.t, pages, 64));
    tsr_run_ok(g.t, PAGING, c);
    g.target = tsr_seg_base(g.t, 4);
    g.texture = g.target + 32 * 4096;
    for (uint32_t round = 0; round < 9; round++) {
        TsrTexture rt = { tex, 0, 0, TW, TH, TSR_SAMPLER_LINEAR };
        uint32_t tl = round % 3, sl = round / 3;
        TsrSurf ts, ss;

        random_image(m, W, H, TSR_FORMAT_RGB565);
        random_image(tex, TW, TH, TSR_FORMAT_ARGB8888);
        upload(&g, g.target, m, tl);
        upload(&g, g.texture, tex, sl);
        for (int i = 0; i < 3; i++) {
            v[i] = random_vertex(30);
        }
        put_vertices(&g, v, 3);
        ts = surface(g.target, m, tl);
        ss = surface(g.texture, tex, sl);
        c->n = 0;
        emit_draw(c, &ts, &ss, g.vertices, 3, TSR_SAMPLER_LINEAR,
                  TSR_BLEND_ALPHA, 0xffffffff, whole);
        tsr_run_ok(g.t, RENDER, c);
        tsr_ref_draw(m, v, &rt, TSR_BLEND_ALPHA, 0xffffffff, whole);
        compare(&g, g.target, m, tl);
    }
    tsr_expect_no_errors(g.t);
    tsr_stop(g.t);
}

/*
 * BLIT with each blend mode, sampler, format and layout matches the reference
 * exactly.
 */
static void test_blit(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    g_autofree TsrImage *m = g_new0(TsrImage, 1), *tex = g_new0(TsrImage, 1);
    Gpu g;

    start(&g, "");
    for (uint32_t round = 0; round < 54; round++) {
        uint32_t blend = round % 3, sampler = round / 3 % 2;
        uint32_t color = round % 2 ? 0xffffffff : g_test_rand_int();
        uint32_t tl = round / 6 % 3, sl = round % 3;
        TsrTexture rt = { tex, 3, 2, g_test_rand_int_range(1, TW - 3),
                      g_test_rand_int_range(1, TH - 2), sampler };
        uint32_t d[4] = { 11, 13, g_test_rand_int_range(1, W - 11),
                          g_test_rand_int_range(1, H - 13) };
        TsrSurf ts, ss;

        if (round % 9 == 0) { /* one to one */
            d[2] = rt.w;
            d[3] = rt.h;
        }
        random_image(m, W, H, formats[round / 3 % 3]);
        random_image(tex, TW, TH, formats[round % 3]);
        upload(&g, g.target, m, tl);
        upload(&g, g.texture, tex, sl);
        ts = surface(g.target, m, tl);
        ss = surface(g.texture, tex, sl);
        c->n = 0;
        tsr_bind(c, 4, &ts);
        tsr_bind(c, 5, &ss);
        tsr_put(c, TSR_OP_BLIT, 0, TSR_BLIT_DWORDS, 4, 5, d[0] | d[1] << 16,
                d[2] | d[3] << 16, rt.x | rt.y << 16, rt.w | rt.h << 16,
                sampler | blend << 8, color, 0);
        tsr_run_ok(g.t, RENDER, c);
        tsr_ref_blit(m, d, &rt, blend, color);
        compare(&g, g.target, m, tl);
    }
    tsr_expect_no_errors(g.t);
    tsr_stop(g.t);
}

/* DRAW and BLIT check their packets, vertices, slots and rectangles. */
static void test_errors(void)
{
    static const uint32_t whole[] = { 0, 0, W, H };
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    g_autofree TsrImage *m = g_new0(TsrImage, 1);
    TsrSurf s, bad;
    TsrVertex v[3] = { 0 };
    uint32_t draw;
    Gpu g;

    start(&g, "");
    random_image(m, W, H, TSR_FORMAT_ARGB8888);
    upload(&g, g.target, m, 0);
    s = surface(g.target, m, 0);
    put_vertices(&g, v, 3);
    emit_draw(c, &s, &s, g.vertices, 3, 0, 0, 0, whole);
    draw = c->n - TSR_DRAW_DWORDS;
    tsr_run_ok(g.t, RENDER, c);
    c->d[draw + 3] = 4;
    tsr_run_err(g.t, RENDER, c, TSR_ERR_PACKET);
    c->d[draw + 3] = 6;
    tsr_run_err(g.t, RENDER, c, TSR_ERR_SLOT_BOUNDS);
    c->d[draw + 3] = TSR_DRAW_MAX_VERTICES + 3;
    tsr_run_err(g.t, RENDER, c, TSR_ERR_PACKET);
    c->d[draw + 3] = 3;
    c->d[draw + 2] = 4;
    tsr_run_err(g.t, RENDER, c, TSR_ERR_SLOT_BOUNDS);
    c->d[draw + 2] = 2;
    tsr_run_err(g.t, RENDER, c, TSR_ERR_PACKET);
    c->d[draw + 2] = 0;
    c->d[draw + 1] = 0; /* not a buffer */
    tsr_run_err(g.t, RENDER, c, TSR_ERR_SURFACE);
    /* Coordinates that are out of range, and padding that is not zero. */
    v[1].x = TSR_VERTEX_COORD_MAX + 1;
    put_vertices(&g, v, 3);
    c->d[draw + 1] = 1;
    tsr_run_err(g.t, RENDER, c, TSR_ERR_PACKET);
    v[1].x = -TSR_VERTEX_COORD_MAX - 1;
    put_vertices(&g, v, 3);
    tsr_run_err(g.t, RENDER, c, TSR_ERR_PACKET);
    v[1].x = 0;
    put_vertices(&g, v, 3);
    tsr_gpu_write(g.t, g.vertices + TSR_VERTEX_PAD, "\1", 1);
    tsr_run_err(g.t, RENDER, c, TSR_ERR_PACKET);
    put_vertices(&g, v, 3);
    /*
     * Targets and textures of a format that DRAW does not support, without the
     * access that it needs, or beyond their limit.
     */
    bad = s;
    bad.format = TSR_FORMAT_R32;
    c->n = 0;
    emit_draw(c, &bad, &s, g.vertices, 3, 0, 0, 0, whole);
    tsr_run_err(g.t, RENDER, c, TSR_ERR_SURFACE);
    c->n = 0;
    emit_draw(c, &s, &bad, g.vertices, 3, 0, 0, 0, whole);
    tsr_run_err(g.t, RENDER, c, TSR_ERR_SURFACE);
    bad = s;
    bad.access = TSR_SURF_READ;
    c->n = 0;
    emit_draw(c, &bad, &s, g.vertices, 3, 0, 0, 0, whole);
    tsr_run_err(g.t, RENDER, c, TSR_ERR_SLOT_ACCESS);
    bad = s;
    bad.limit = W * 4 * H - 1;
    c->n = 0;
    emit_draw(c, &bad, &s, g.vertices, 3, 0, 0, 0, whole);
    tsr_run_err(g.t, RENDER, c, TSR_ERR_SLOT_BOUNDS);
    c->n = 0;
    emit_draw(c, &s, &bad, g.vertices, 3, 0, 0, 0, whole);
    tsr_run_err(g.t, RENDER, c, TSR_ERR_SLOT_BOUNDS);
    /* BLIT: sampler, blend, empty source, rectangles. */
    c->n = 0;
    tsr_bind(c, 0, &s);
    draw = c->n;
    tsr_put(c, TSR_OP_BLIT, 0, TSR_BLIT_DWORDS, 0, 0, 0, 4 | 4 << 16, 0,
            4 | 4 << 16, 0, 0xffffffff, 0);
    tsr_run_ok(g.t, RENDER, c);
    c->d[draw + 7] = TSR_SAMPLER_REPEAT;
    tsr_run_err(g.t, RENDER, c, TSR_ERR_PACKET);
    c->d[draw + 7] = TSR_BLEND_COUNT << 8;
    tsr_run_err(g.t, RENDER, c, TSR_ERR_PACKET);
    c->d[draw + 7] = 0;
    c->d[draw + 6] = 4;
    tsr_run_err(g.t, RENDER, c, TSR_ERR_SURFACE);
    c->d[draw + 6] = (W + 1) | 1 << 16;
    tsr_run_err(g.t, RENDER, c, TSR_ERR_SURFACE);
    c->d[draw + 6] = 4 | 4 << 16;
    c->d[draw + 3] = W - 3;
    tsr_run_err(g.t, RENDER, c, TSR_ERR_SURFACE);
    tsr_stop(g.t);
}

/*
 * A draw of 64 triangles over 2048 x 2048 pixels, reset the first time, and
 * stopped and resumed the second time.
 */
static void test_long_draw(void)
{
    static const uint32_t whole[] = { 0, 0, 2048, 2048 };
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrSurf s = {
        .format = TSR_FORMAT_ARGB8888, .access = RW, .pitch = 8192,
        .width = 2048, .height = 2048, .limit = 8192 * 2048,
    };
    TsrVertex v[3 * 64] = { 0 };
    uint64_t seqno;
    Gpu g;

    start(&g, "");
    for (int i = 0; i < 64; i++) {
        v[i * 3 + 1].x = 4096 * 256;
        v[i * 3 + 2].y = 4096 * 256;
        v[i * 3].color = v[i * 3 + 1].color = v[i * 3 + 2].color = 0x01020304;
    }
    s.base = tsr_seg_base(g.t, 2);
    put_vertices(&g, v, ARRAY_SIZE(v));
    c->n = 0;
    emit_draw(c, &s, NULL, g.vertices, ARRAY_SIZE(v), 0,
              TSR_BLEND_PREMULTIPLIED, 0xffffffff, whole);
    for (int i = 0; i < 2; i++) {
        uint32_t call[] = {
            TSR_PKT_HEADER(TSR_OP_IB_CALL, 0, TSR_IB_CALL_DWORDS), c->n * 4,
            g.t->ib_list, 0, 0, c->n * 4,
        };

        qtest_bufwrite(g.t->qts, g.t->ib, c->d, c->n * 4);
        tsr_emit(g.t, RENDER, call, TSR_IB_CALL_DWORDS);
        seqno = tsr_emit_fence(g.t, RENDER, 0, g.t->record);
        tsr_kick(g.t, RENDER);
        if (i == 0) {
            tsr_wait_reg(g.t, TSR_ENG(RENDER) + TSR_ENG_IB_OFFSET, ~0,
                         (c->n - TSR_DRAW_DWORDS) * 4);
            tsr_engine_reset(g.t, RENDER);
            g_assert_cmpuint(tsr_seqno(g.t, RENDER), ==, 0);
            tsr_gpu_write(g.t, s.base, "\0\0\0\0", 4);
            continue;
        }
        for (int j = 0; j < 10; j++) {
            qtest_qmp_assert_success(g.t->qts, "{'execute': 'stop'}");
            qtest_qmp_assert_success(g.t->qts, "{'execute': 'cont'}");
        }
        tsr_wait(g.t, RENDER, seqno);
        g_assert_cmpuint(qtest_readl(g.t->qts, g.t->record + TSR_REC_STATUS),
                         ==, 0);
    }
    /*
     * 64 layers of 0x01020304 do not saturate, so each must be blended exactly
     * once.
     */
    uint32_t px = 0, got;

    for (int i = 0; i < 64; i++) {
        px = tsr_ref_blend(TSR_BLEND_PREMULTIPLIED, 0x01020304, px);
    }
    tsr_gpu_read(g.t, s.base, &got, 4);
    g_assert_cmphex(got, ==, px);
    tsr_expect_no_errors(g.t);
    tsr_stop(g.t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/draw/coverage", test_coverage);
    qtest_add_func("/tessera/draw/top-left", test_top_left);
    qtest_add_func("/tessera/draw/random", test_random);
    qtest_add_func("/tessera/draw/unscaled", test_unscaled);
    qtest_add_func("/tessera/draw/narrow", test_narrow);
    qtest_add_func("/tessera/draw/SEG-21-aperture", test_aperture);
    qtest_add_func("/tessera/draw/blit", test_blit);
    qtest_add_func("/tessera/draw/errors", test_errors);
    qtest_add_func("/tessera/draw/stop-resume-reset", test_long_draw);
    return g_test_run();
}
