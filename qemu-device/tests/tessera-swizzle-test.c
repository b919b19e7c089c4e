/*
 * QTest: both swizzled layouts in both directions, compared with a loop over
 * address bits
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera-common.h"

#define RW (TSR_SURF_READ | TSR_SURF_WRITE)
#define PITCH 512u
#define ROWS 96u
#define BYTES (PITCH * ROWS)

/* The figure in the manual, one address bit at a time. */
static uint32_t reference_at(uint32_t layout, uint32_t pitch, uint32_t xb,
                             uint32_t y)
{
    uint32_t off = xb / 128 * 4096 + y / 32 * (pitch / 128) * 4096;
    uint32_t bit;

    if (layout == TSR_LAYOUT_LINEAR) {
        return y * pitch + xb;
    }
    if (layout == TSR_LAYOUT_TILE4K) {
        return off + y % 32 * 128 + xb % 128;
    }
    off += xb % 4;
    for (bit = 0; bit < 5; bit++) {
        off += ((xb % 128 / 4) >> bit & 1) << (2 * bit + 2);
        off += ((y % 32) >> bit & 1) << (2 * bit + 3);
    }
    return off;
}

static uint32_t reference(uint32_t layout, uint32_t xb, uint32_t y)
{
    return reference_at(layout, PITCH, xb, y);
}

static void random_bytes(uint8_t *p, uint32_t n)
{
    while (n--) {
        *p++ = g_test_rand_int();
    }
}

static void expect_layout(const uint8_t *lin, const uint8_t *swz,
                          uint32_t layout)
{
    for (uint32_t y = 0; y < ROWS; y++) {
        for (uint32_t x = 0; x < PITCH; x++) {
            g_assert_cmphex(swz[reference(layout, x, y)], ==,
                            lin[y * PITCH + x]);
        }
    }
}

static TsrSurf surface(uint64_t base, uint32_t format, uint32_t bpp,
                       uint32_t layout)
{
    TsrSurf s = {
        .base = base, .limit = BYTES, .format = format, .layout = layout,
        .access = RW, .pitch = PITCH, .width = PITCH / bpp, .height = ROWS,
    };

    return s;
}

/* TRANSFER swizzles on the way in and unswizzles on the way out. */
static void test_transfer(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    g_autofree uint8_t *lin = g_malloc(BYTES), *swz = g_malloc(BYTES);
    TsrTest *t = tsr_start("");
    uint64_t a = tsr_seg_base(t, 1), b = tsr_seg_base(t, 2);
    uint32_t layout, pages;

    random_bytes(lin, BYTES);
    for (layout = TSR_LAYOUT_TILE4K; layout < TSR_LAYOUT_COUNT; layout++) {
        for (pages = 0; pages < 2; pages++) {
            uint64_t src = pages ? t->bounce_list : b;
            uint32_t flags = pages ? TSR_TRANSFER_SRC_PAGES : 0;

            tsr_gpu_write(t, b, lin, BYTES);
            qtest_bufwrite(t->qts, t->bounce, lin, BYTES);
            c->n = 0;
            tsr_page_fill(c, 0, a, BYTES);
            tsr_transfer(c, flags, layout << 8, src, a, BYTES, 0, 0, PITCH);
            tsr_run_ok(t, PAGING, c);
            tsr_gpu_read(t, a, swz, BYTES);
            expect_layout(lin, swz, layout);
            /* The way back, over cleared memory. */
            qtest_memset(t->qts, t->bounce, 0, BYTES);
            c->n = 0;
            tsr_page_fill(c, 0, b, BYTES);
            tsr_transfer(c, pages ? TSR_TRANSFER_DST_PAGES : 0, layout, a,
                         src, BYTES, 0, 0, PITCH);
            tsr_run_ok(t, PAGING, c);
            if (pages) {
                qtest_bufread(t->qts, t->bounce, swz, BYTES);
            } else {
                tsr_gpu_read(t, b, swz, BYTES);
            }
            g_assert_cmpmem(swz, BYTES, lin, BYTES);
        }
    }
    /* The page list is the swizzled side. */
    tsr_gpu_write(t, b, lin, BYTES);
    c->n = 0;
    tsr_transfer(c, TSR_TRANSFER_DST_PAGES, TSR_LAYOUT_MORTON << 8, b,
                 t->bounce_list, BYTES, 0, 8192, PITCH);
    tsr_run_ok(t, PAGING, c);
    qtest_bufread(t->qts, t->bounce + 8192, swz, BYTES);
    expect_layout(lin, swz, TSR_LAYOUT_MORTON);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* A TRANSFER that swizzles checks layouts, pitch, size and alignment. */
static void test_transfer_errors(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t a = tsr_seg_base(t, 1), b = tsr_seg_base(t, 2);
    const uint32_t m = TSR_LAYOUT_MORTON, l4 = TSR_LAYOUT_TILE4K;
    struct {
        uint32_t layouts, pitch, bytes;
        uint64_t src, dst;
        uint32_t err;
    } bad[] = {
        { m << 8 | l4, 128, 4096, a, b, TSR_ERR_SURFACE },
        { m << 8, 0, 4096, a, b, TSR_ERR_SURFACE },
        { m << 8, 100, 3200, a, b, TSR_ERR_SURFACE },
        { m << 8, 128, 2048, a, b, TSR_ERR_SURFACE },
        { m << 8, 128, 4096, a, b + 128, TSR_ERR_SURFACE },
        { m << 8, TSR_SURF_MAX_PITCH + 128,
          (TSR_SURF_MAX_PITCH + 128) * 32, a, b, TSR_ERR_SURFACE },
        { 3 << 8, 128, 4096, a, b, TSR_ERR_PACKET },
        { 1 << 16, 128, 4096, a, b, TSR_ERR_PACKET },
        { 0, 128, 4096, a, b, TSR_ERR_PACKET },
    };

    for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
        c->n = 0;
        tsr_transfer(c, 0, bad[i].layouts, bad[i].src, bad[i].dst,
                     bad[i].bytes, 0, 0, bad[i].pitch);
        tsr_run_err(t, PAGING, c, bad[i].err);
    }
    tsr_stop(t);
}

/* COPY between all layouts: random rectangles against a model. */
static void test_copy(void)
{
    static const uint32_t formats[][2] = {
        { TSR_FORMAT_R8, 1 }, { TSR_FORMAT_RGB565, 2 }, { TSR_FORMAT_R32, 4 },
    };
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    g_autofree uint8_t *src = g_malloc(BYTES), *dst = g_malloc(BYTES);
    g_autofree uint8_t *got = g_malloc(BYTES);
    TsrTest *t = tsr_start("");
    uint64_t a = tsr_seg_base(t, 1), b = tsr_seg_base(t, 2);
    uint32_t round, x, y;

    for (round = 0; round < 45; round++) {
        uint32_t sl = round % 3, dl = round / 3 % 3, f = round / 9 % 3;
        uint32_t bpp = formats[f][1], width = PITCH / bpp;
        TsrSurf s = surface(a, formats[f][0], bpp, sl);
        TsrSurf d = surface(b, formats[f][0], bpp, dl);
        uint32_t w = g_test_rand_int_range(1, width + 1);
        uint32_t h = g_test_rand_int_range(1, ROWS + 1);
        uint32_t sx = g_test_rand_int_range(0, width - w + 1);
        uint32_t dx = g_test_rand_int_range(0, width - w + 1);
        uint32_t sy = g_test_rand_int_range(0, ROWS - h + 1);
        uint32_t dy = g_test_rand_int_range(0, ROWS - h + 1);

        if (round >= 36) {
            w = width;
            h = ROWS;
            sx = sy = dx = dy = 0;
        }
        random_bytes(src, BYTES);
        random_bytes(dst, BYTES);
        tsr_gpu_write(t, a, src, BYTES);
        tsr_gpu_write(t, b, dst, BYTES);
        c->n = 0;
        tsr_bind(c, 1, &s);
        tsr_bind(c, 2, &d);
        tsr_copy(c, 2, 1, dx, dy, sx, sy, w, h);
        tsr_run_ok(t, round % 2 ? RENDER : PAGING, c);
        tsr_gpu_read(t, b, got, BYTES);
        for (y = 0; y < h; y++) {
            for (x = 0; x < w * bpp; x++) {
                dst[reference(dl, dx * bpp + x, dy + y)] =
                    src[reference(sl, sx * bpp + x, sy + y)];
            }
        }
        g_assert_cmpmem(got, BYTES, dst, BYTES);
    }
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* As test_copy(), but through the aperture with scattered pages. */
static void test_aperture_copy(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    g_autofree uint8_t *src = g_malloc(BYTES), *dst = g_malloc(BYTES);
    g_autofree uint8_t *got = g_malloc(BYTES);
    TsrTest *t = tsr_start("");
    uint64_t vram = tsr_seg_base(t, 2), gart = tsr_seg_base(t, 4);
    uint64_t pages[2 * BYTES / 4096], list;
    uint32_t i, round, x, y;

    for (i = 0; i < ARRAY_SIZE(pages); i++) {
        pages[i] = (t->bounce + (i * 7 % ARRAY_SIZE(pages)) * 4096) |
                   TSR_APTE_VALID | TSR_APTE_WRITE;
    }
    t->bounce = tsr_alloc(t, 1 << 20); /* the old ones are mapped now */
    for (i = 0; i < 256; i++) {
        qtest_writeq(t->qts, t->bounce_list + i * 8, t->bounce + i * 4096);
    }
    list = tsr_list(t, pages, ARRAY_SIZE(pages));
    tsr_map(c, 4, 16, ARRAY_SIZE(pages), list);
    tsr_run_ok(t, PAGING, c);
    for (round = 0; round < 27; round++) {
        uint32_t sl = round % 3, dl = round / 3 % 3, kind = round / 9;
        uint64_t sbase = kind == 0 ? vram : gart + 16 * 4096;
        uint64_t dbase = kind == 1 ? vram : gart + 16 * 4096 + BYTES;
        TsrSurf s = surface(sbase, TSR_FORMAT_RGB565, 2, sl);
        TsrSurf d = surface(dbase, TSR_FORMAT_RGB565, 2, dl);

        random_bytes(src, BYTES);
        random_bytes(dst, BYTES);
        tsr_gpu_write(t, sbase, src, BYTES);
        tsr_gpu_write(t, dbase, dst, BYTES);
        c->n = 0;
        tsr_bind(c, 1, &s);
        tsr_bind(c, 2, &d);
        tsr_copy(c, 2, 1, 11, 7, 33, 20, 190, 70);
        tsr_run_ok(t, RENDER, c);
        tsr_gpu_read(t, dbase, got, BYTES);
        for (y = 0; y < 70; y++) {
            for (x = 0; x < 380; x++) {
                dst[reference(dl, 22 + x, 7 + y)] =
                    src[reference(sl, 66 + x, 20 + y)];
            }
        }
        g_assert_cmpmem(got, BYTES, dst, BYTES);
    }
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* ---- Rows with more tiles than are moved at once ------------------------- */

#define WIDE_PITCH      12800u  /* 100 tiles */
#define WIDE_ROWS       64u
#define WIDE_BYTES      (WIDE_PITCH * WIDE_ROWS)
#define WIDE_PAGES      (WIDE_BYTES / 4096)

/* Lay out @lin as a surface of @layout. */
static void wide_layout(uint8_t *swz, const uint8_t *lin, uint32_t layout)
{
    for (uint32_t y = 0; y < WIDE_ROWS; y++) {
        for (uint32_t xb = 0; xb < WIDE_PITCH; xb++) {
            swz[reference_at(layout, WIDE_PITCH, xb, y)] =
                lin[y * WIDE_PITCH + xb];
        }
    }
}

/* Write @buf to pages, or read it from them. No two of them are contiguous. */
static void wide_pages(TsrTest *t, const uint64_t *pages, uint8_t *buf,
                       bool write)
{
    for (uint32_t i = 0; i < WIDE_PAGES; i++) {
        if (write) {
            qtest_bufwrite(t->qts, pages[i], buf + i * 4096, 4096);
        } else {
            qtest_bufread(t->qts, pages[i], buf + i * 4096, 4096);
        }
    }
}

/*
 * TRANSFER between VRAM and scattered pages, with either side tiled, both
 * ways.
 */
static void test_wide_transfer(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    g_autofree uint8_t *lin = g_malloc(WIDE_BYTES), *swz = g_malloc(WIDE_BYTES);
    g_autofree uint8_t *got = g_malloc(WIDE_BYTES);
    TsrTest *t = tsr_start("");
    uint64_t vram = tsr_seg_base(t, 2), pages[WIDE_PAGES], list, at;

    at = tsr_alloc(t, WIDE_BYTES);
    for (uint32_t i = 0; i < WIDE_PAGES; i++) {
        pages[i] = at + (uint64_t)(i * 7 % WIDE_PAGES) * 4096;
    }
    list = tsr_list(t, pages, WIDE_PAGES);
    random_bytes(lin, WIDE_BYTES);
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t layout = i & 1 ? TSR_LAYOUT_MORTON : TSR_LAYOUT_TILE4K;
        bool out = i & 2, tile = i & 4;     /* from VRAM, to tiles */
        uint32_t layouts = tile ? layout << 8 : layout;

        wide_layout(swz, lin, layout);
        c->n = 0;
        if (out) {
            tsr_gpu_write(t, vram, tile ? lin : swz, WIDE_BYTES);
            tsr_transfer(c, TSR_TRANSFER_DST_PAGES, layouts, vram, list,
                         WIDE_BYTES, 0, 0, WIDE_PITCH);
        } else {
            wide_pages(t, pages, tile ? lin : swz, true);
            tsr_transfer(c, TSR_TRANSFER_SRC_PAGES, layouts, list, vram,
                         WIDE_BYTES, 0, 0, WIDE_PITCH);
        }
        tsr_run_ok(t, PAGING, c);
        if (out) {
            wide_pages(t, pages, got, false);
        } else {
            tsr_gpu_read(t, vram, got, WIDE_BYTES);
        }
        g_assert_cmpmem(got, WIDE_BYTES, tile ? swz : lin, WIDE_BYTES);
    }
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* COPY in VRAM. The columns beside the whole tiles are copied separately. */
static void test_wide_copy(void)
{
    const uint32_t x = 5, w = WIDE_PITCH / 4 - 9, h = WIDE_ROWS;
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    g_autofree uint8_t *src = g_malloc(WIDE_BYTES);
    g_autofree uint8_t *dst = g_malloc(WIDE_BYTES);
    g_autofree uint8_t *got = g_malloc(WIDE_BYTES);
    TsrTest *t = tsr_start("");
    uint64_t base = tsr_seg_base(t, 2);

    for (uint32_t i = 0; i < 9; i++) {
        TsrSurf s = surface(base, TSR_FORMAT_R32, 4, i % 3);
        TsrSurf d = surface(base + WIDE_BYTES, TSR_FORMAT_R32, 4, i / 3);

        s.limit = d.limit = WIDE_BYTES;
        s.pitch = d.pitch = WIDE_PITCH;
        s.width = d.width = WIDE_PITCH / 4;
        s.height = d.height = WIDE_ROWS;
        random_bytes(src, WIDE_BYTES);
        random_bytes(dst, WIDE_BYTES);
        tsr_gpu_write(t, s.base, src, WIDE_BYTES);
        tsr_gpu_write(t, d.base, dst, WIDE_BYTES);
        c->n = 0;
        tsr_bind(c, 1, &s);
        tsr_bind(c, 2, &d);
        tsr_copy(c, 2, 1, x, 0, x, 0, w, h);
        tsr_run_ok(t, RENDER, c);
        tsr_gpu_read(t, d.base, got, WIDE_BYTES);
        for (uint32_t y = 0; y < h; y++) {
            for (uint32_t xb = x * 4; xb < (x + w) * 4; xb++) {
                dst[reference_at(d.layout, WIDE_PITCH, xb, y)] =
                    src[reference_at(s.layout, WIDE_PITCH, xb, y)];
            }
        }
        g_assert_cmpmem(got, WIDE_BYTES, dst, WIDE_BYTES);
    }
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/swizzle/transfer", test_transfer);
    qtest_add_func("/tessera/swizzle/transfer-errors", test_transfer_errors);
    qtest_add_func("/tessera/swizzle/copy", test_copy);
    qtest_add_func("/tessera/swizzle/SEG-21-aperture-copy",
                   test_aperture_copy);
    qtest_add_func("/tessera/swizzle/SEG-21-wide-transfer",
                   test_wide_transfer);
    qtest_add_func("/tessera/swizzle/SEG-21-wide-copy", test_wide_copy);
    return g_test_run();
}
