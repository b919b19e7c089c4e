/*
 * QTest: work packets, slots and bounds; provokes each error type once
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera-common.h"

#define RW (TSR_SURF_READ | TSR_SURF_WRITE)

static TsrSurf surface(uint64_t base, uint32_t format, uint32_t layout,
                       uint32_t pitch, uint32_t w, uint32_t h)
{
    TsrSurf s = {
        .base = base, .format = format, .layout = layout, .access = RW,
        .pitch = pitch, .width = w, .height = h,
        .limit = (uint64_t)pitch * ROUND_UP(h, 32),
    };

    return s;
}

/* SPLIT-17, PAGE-12: the slot window shows what BIND_SLOT has bound. */
static void test_slot_window(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t vram = tsr_seg_base(t, 1);
    TsrSurf s = surface(vram + 0x3000, TSR_FORMAT_ARGB8888,
                        TSR_LAYOUT_TILE4K, 256, 64, 40);
    uint32_t eng = TSR_ENG(RENDER);

    tsr_bind(c, 5, &s);
    tsr_bind_buffer(c, 63, vram, 64, TSR_FORMAT_R8, TSR_SURF_READ);
    tsr_run_ok(t, RENDER, c);
    tsr_w32(t, eng + TSR_ENG_SLOT_SELECT, 5);
    g_assert_cmphex(tsr_r64(t, eng + TSR_ENG_SLOT_BASE_LO), ==, s.base);
    g_assert_cmphex(tsr_r64(t, eng + TSR_ENG_SLOT_LIMIT_LO), ==, s.limit);
    g_assert_cmphex(tsr_r32(t, eng + TSR_ENG_SLOT_SURFACE), ==,
                    TSR_FORMAT_ARGB8888 |
                    TSR_LAYOUT_TILE4K << TSR_SURF_LAYOUT_SHIFT | RW);
    tsr_w32(t, eng + TSR_ENG_SLOT_SELECT, 64);
    g_assert_cmphex(tsr_r32(t, eng + TSR_ENG_SLOT_SURFACE), ==, 0);
    /* JOB_BEGIN unbinds all slots. */
    c->n = 0;
    tsr_put(c, TSR_OP_NOP, 0, 2, 0);
    tsr_run_ok(t, RENDER, c);
    tsr_w32(t, eng + TSR_ENG_SLOT_SELECT, 5);
    g_assert_cmphex(tsr_r32(t, eng + TSR_ENG_SLOT_SURFACE), ==, 0);
    /*
     * Slots stay bound after the job. A job of the paging engine does not
     * touch them.
     */
    c->n = 0;
    tsr_bind(c, 5, &s);
    tsr_run_ok(t, RENDER, c);
    c->n = 0;
    tsr_page_fill(c, 0, vram, 4096);
    tsr_run_ok(t, PAGING, c);
    g_assert_cmphex(tsr_r64(t, eng + TSR_ENG_SLOT_BASE_LO), ==, s.base);
    c->n = 0;
    tsr_bind(c, 5, &s);
    tsr_put(c, TSR_OP_UNBIND_SLOT, 0, 2, 5);
    tsr_run_ok(t, RENDER, c);
    g_assert_cmphex(tsr_r32(t, eng + TSR_ENG_SLOT_SURFACE), ==, 0);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* BIND_SLOT checks each field of the surface and the slot number. */
static void test_bind_errors(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t vram = tsr_seg_base(t, 1);
    const TsrSurf good = surface(vram, TSR_FORMAT_ARGB8888, TSR_LAYOUT_MORTON,
                                 128, 32, 32);
    struct {
        TsrSurf s;
        uint32_t err;
    } bad[16];
    unsigned int n = 0, i;

#define BAD(field, value, error) \
    do { \
        bad[n].s = good; \
        bad[n].s.field = value; \
        bad[n++].err = error; \
    } while (0)

    BAD(format, 0, TSR_ERR_SURFACE);
    BAD(format, 6, TSR_ERR_SURFACE);
    BAD(layout, TSR_LAYOUT_COUNT, TSR_ERR_SURFACE);
    BAD(access, 0, TSR_ERR_SURFACE);
    BAD(access, RW | 0x40000, TSR_ERR_PACKET);
    BAD(pitch, 0, TSR_ERR_SURFACE);
    BAD(pitch, 64, TSR_ERR_SURFACE);
    BAD(pitch, 132, TSR_ERR_SURFACE);
    BAD(pitch, TSR_SURF_MAX_PITCH * 2, TSR_ERR_SURFACE);
    BAD(width, 33, TSR_ERR_SURFACE);
    BAD(width, 0, TSR_ERR_SURFACE);
    BAD(height, 0, TSR_ERR_SURFACE);
    BAD(height, TSR_SURF_MAX_DIM + 1, TSR_ERR_SURFACE);
    BAD(base, vram + 128, TSR_ERR_SURFACE);
    BAD(base, 1ULL << 48, TSR_ERR_ADDRESS);
    BAD(limit, ~0ULL, TSR_ERR_ADDRESS);
    for (i = 0; i < n; i++) {
        c->n = 0;
        tsr_bind(c, 3, &bad[i].s);
        tsr_run_err(t, RENDER, c, bad[i].err);
    }
    c->n = 0;
    tsr_bind(c, 64, &good);
    tsr_run_err(t, RENDER, c, TSR_ERR_SLOT_RANGE);
    c->n = 0;
    tsr_bind(c, 0x01000000, &good);
    tsr_run_err(t, RENDER, c, TSR_ERR_PACKET);
    c->n = 0;
    tsr_bind(c, 3, &good);
    c->d[9] = 1;
    tsr_run_err(t, RENDER, c, TSR_ERR_PACKET);
    c->n = 0;
    tsr_put(c, TSR_OP_UNBIND_SLOT, 0, 2, 64);
    tsr_run_err(t, RENDER, c, TSR_ERR_SLOT_RANGE);
    tsr_stop(t);
}

/*
 * FILL leaves the texels around its rectangle alone, for each format and
 * layout.
 */
static void test_fill(void)
{
    static const uint32_t formats[][2] = {
        { TSR_FORMAT_R8, 1 }, { TSR_FORMAT_RGB565, 2 },
        { TSR_FORMAT_XRGB8888, 4 }, { TSR_FORMAT_ARGB8888, 4 },
        { TSR_FORMAT_R32, 4 },
    };
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t vram = tsr_seg_base(t, 2);
    uint8_t lin[256 * 64];
    unsigned int f, layout, x, y;

    for (f = 0; f < ARRAY_SIZE(formats); f++) {
        for (layout = 0; layout < TSR_LAYOUT_COUNT; layout++) {
            uint32_t bpp = formats[f][1], value = 0x12345678, w = 256 / bpp;
            TsrSurf s = surface(vram, formats[f][0], layout, 256, w, 64);
            TsrSurf l = surface(vram + 65536, formats[f][0],
                                TSR_LAYOUT_LINEAR, 256, w, 64);

            c->n = 0;
            tsr_bind(c, 0, &s);
            tsr_bind(c, 1, &l);
            tsr_fill(c, 0, 0, 0, w, 64, 0xa5a5a5a5);
            tsr_fill(c, 0, 13, 5, w - 20, 50, value);
            tsr_fill(c, 0, 0, 0, 0, 64, 0);
            tsr_fill(c, 0, 0, 0, w, 0, 0);
            tsr_copy(c, 1, 0, 0, 0, 0, 0, w, 64);
            tsr_run_ok(t, RENDER, c);
            tsr_gpu_read(t, l.base, lin, sizeof(lin));
            for (y = 0; y < 64; y++) {
                for (x = 0; x < 256; x++) {
                    uint32_t tx = x / bpp;
                    bool in = tx >= 13 && tx < w - 7 && y >= 5 && y < 55;
                    uint8_t want = in ? value >> (x % bpp * 8) : 0xa5;

                    g_assert_cmphex(lin[y * 256 + x], ==, want);
                }
            }
        }
    }
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* A FILL that exceeds its surface, the limit of its slot or a segment fails. */
static void test_fill_bounds(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("vram-size=1M,vram-hidden-size=0");
    uint64_t vram = tsr_seg_base(t, 1);
    TsrSurf s = surface(vram, TSR_FORMAT_R32, TSR_LAYOUT_LINEAR, 256, 64, 64);
    uint32_t tail;

    /* Outside of the surface, with and without wrap-around of the sums. */
    static const uint32_t rects[][4] = {
        { 0, 0, 65, 1 }, { 0, 0, 1, 65 }, { 64, 0, 1, 1 }, { 0, 64, 1, 1 },
        { 1, 0, 0xffffffff, 1 }, { 0xffffffff, 0, 1, 1 },
        { 0, 0xffffffff, 1, 1 }, { 0, 1, 1, 0xffffffff },
    };

    for (unsigned int i = 0; i < ARRAY_SIZE(rects); i++) {
        c->n = 0;
        tsr_bind(c, 2, &s);
        tsr_fill(c, 2, rects[i][0], rects[i][1], rects[i][2], rects[i][3], 1);
        tsr_run_err(t, RENDER, c, TSR_ERR_SURFACE);
    }
    /* Inside the surface, but one byte beyond the limit of the slot. */
    s.limit = 63 * 256 + 256 - 1;
    c->n = 0;
    tsr_bind(c, 2, &s);
    tsr_fill(c, 2, 0, 63, 63, 1, 1);
    tsr_run_ok(t, RENDER, c);
    c->n = 0;
    tsr_bind(c, 2, &s);
    tsr_fill(c, 2, 0, 63, 64, 1, 1);
    tsr_err_clear(t);
    g_assert_cmpuint(tsr_run(t, RENDER, true, c, &tail), ==,
                     TSR_ERR_SLOT_BOUNDS);
    g_assert_cmpuint(tail, ==, TSR_BIND_SLOT_DWORDS * 4);
    g_assert_cmpuint(tsr_r32(t, TSR_ERR_REC_SLOT), ==, 2);
    g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_CONTEXT), ==, 0x77);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, vram + 64 * 256);
    tsr_expect_errors(t, TSR_ERR_SLOT_BOUNDS, 1);
    /* A tiled access needs whole tiles below the limit. */
    s = surface(vram, TSR_FORMAT_R8, TSR_LAYOUT_TILE4K, 128, 128, 32);
    s.limit = 4095;
    c->n = 0;
    tsr_bind(c, 2, &s);
    tsr_fill(c, 2, 0, 0, 1, 1, 1);
    tsr_run_err(t, RENDER, c, TSR_ERR_SLOT_BOUNDS);
    /* A buffer is one row, as long as its limit. */
    c->n = 0;
    tsr_bind_buffer(c, 2, vram, 1023, TSR_FORMAT_R32, RW);
    tsr_fill(c, 2, 0, 0, 256, 1, 1);
    tsr_run_err(t, RENDER, c, TSR_ERR_SLOT_BOUNDS);
    /*
     * An address in no segment, and an access that runs over the end of a
     * segment.
     */
    c->n = 0;
    tsr_bind_buffer(c, 2, 0x1000, 1024, TSR_FORMAT_R32, RW);
    tsr_fill(c, 2, 0, 0, 1, 1, 1);
    tsr_run_err(t, RENDER, c, TSR_ERR_ADDRESS);
    c->n = 0;
    tsr_bind_buffer(c, 2, vram + (1 << 20) - 4, 1024, TSR_FORMAT_R32, RW);
    tsr_fill(c, 2, 0, 0, 1, 1, 1);
    tsr_run_ok(t, RENDER, c);
    c->n = 0;
    tsr_bind_buffer(c, 2, vram + (1 << 20) - 4, 1024, TSR_FORMAT_R32, RW);
    tsr_fill(c, 2, 0, 0, 2, 1, 1);
    tsr_run_err(t, RENDER, c, TSR_ERR_ADDRESS);
    tsr_stop(t);
}

/* FILL and COPY need bound slots with the right access and texel size. */
static void test_slot_errors(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t vram = tsr_seg_base(t, 1);

    tsr_fill(c, 7, 0, 0, 1, 1, 1);
    tsr_run_err(t, RENDER, c, TSR_ERR_SLOT_UNBOUND);
    c->n = 0;
    tsr_fill(c, 0xffffffff, 0, 0, 1, 1, 1);
    tsr_run_err(t, RENDER, c, TSR_ERR_SLOT_RANGE);
    c->n = 0;
    tsr_bind_buffer(c, 7, vram, 64, TSR_FORMAT_R32, TSR_SURF_READ);
    tsr_fill(c, 7, 0, 0, 1, 1, 1);
    tsr_run_err(t, RENDER, c, TSR_ERR_SLOT_ACCESS);
    c->n = 0;
    tsr_bind_buffer(c, 7, vram, 64, TSR_FORMAT_R32, TSR_SURF_WRITE);
    tsr_copy(c, 7, 7, 0, 0, 1, 0, 1, 1);
    tsr_run_err(t, RENDER, c, TSR_ERR_SLOT_ACCESS);
    c->n = 0;
    tsr_bind_buffer(c, 7, vram, 64, TSR_FORMAT_R32, RW);
    tsr_bind_buffer(c, 8, vram, 64, TSR_FORMAT_RGB565, RW);
    tsr_copy(c, 7, 8, 0, 0, 1, 0, 1, 1);
    tsr_run_err(t, RENDER, c, TSR_ERR_SURFACE);
    c->n = 0;
    tsr_bind_buffer(c, 7, vram, 64, TSR_FORMAT_R32, RW);
    tsr_put(c, TSR_OP_FILL, 0, TSR_FILL_DWORDS, 7, 0, 0, 1, 1, 1, 1);
    tsr_run_err(t, RENDER, c, TSR_ERR_PACKET);
    tsr_stop(t);
}

/*
 * A COPY within one surface reads each texel before it overwrites it, in each
 * layout and direction.
 */
static void test_copy_overlap(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t vram = tsr_seg_base(t, 2);
    static const int moves[][2] = {
        { 0, 1 }, { 1, 0 }, { 0, -1 }, { -1, 0 }, { 7, 33 }, { -7, -33 },
        { 3, -40 }, { -3, 2 },
    };
    g_autofree uint8_t *init = g_malloc(256 * 96);
    g_autofree uint8_t *got = g_malloc(256 * 96);
    unsigned int layout, i, x, y;

    for (i = 0; i < 256 * 96; i++) {
        init[i] = g_test_rand_int();
    }
    for (layout = 0; layout < TSR_LAYOUT_COUNT; layout++) {
        for (i = 0; i < ARRAY_SIZE(moves); i++) {
            TsrSurf s = surface(vram, TSR_FORMAT_R8, layout, 256, 256, 96);
            TsrSurf l = surface(vram + 65536, TSR_FORMAT_R8,
                                TSR_LAYOUT_LINEAR, 256, 256, 96);
            int dx = 50 + moves[i][0], dy = 45 + moves[i][1];

            tsr_gpu_write(t, l.base, init, 256 * 96);
            c->n = 0;
            tsr_bind(c, 0, &s);
            tsr_bind(c, 1, &l);
            tsr_copy(c, 0, 1, 0, 0, 0, 0, 256, 96);
            tsr_copy(c, 0, 0, dx, dy, 50, 45, 140, 17);
            tsr_copy(c, 1, 0, 0, 0, 0, 0, 256, 96);
            tsr_run_ok(t, RENDER, c);
            tsr_gpu_read(t, l.base, got, 256 * 96);
            for (y = 0; y < 96; y++) {
                for (x = 0; x < 256; x++) {
                    bool in = x >= dx && x < dx + 140 && y >= dy &&
                              y < dy + 17;
                    unsigned int from = in ? (y - dy + 45) * 256 + x - dx + 50
                                           : y * 256 + x;

                    tsr_rule(got[y * 256 + x] == init[from],
                             "COPY onto itself by %d, %d, layout %u: texel %u,"
                             " %u has what was written, not what was there",
                             moves[i][0], moves[i][1], layout, x, y);
                }
            }
        }
    }
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * COPY of buffers larger than the scratch buffers of the device, and between
 * surfaces whose pitches differ.
 */
static void test_copy_linear(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t vram = tsr_seg_base(t, 1), hidden = tsr_seg_base(t, 2);
    uint32_t n = 5 << 20, i;
    TsrSurf a = surface(vram, TSR_FORMAT_R8, TSR_LAYOUT_LINEAR, 1000, 900, 64);
    TsrSurf b = surface(hidden, TSR_FORMAT_R8, TSR_LAYOUT_LINEAR, 1031, 1000,
                        100);
    g_autofree uint8_t *got = g_malloc(1 << 20);
    g_autofree uint8_t *init = g_malloc(1 << 20);

    tsr_bind_buffer(c, 0, vram, n + 8, TSR_FORMAT_R8, RW);
    tsr_bind_buffer(c, 1, hidden, n + 8, TSR_FORMAT_R8, RW);
    tsr_fill(c, 0, 0, 0, n + 8, 1, 0x11);
    tsr_fill(c, 1, 0, 0, n + 8, 1, 0x22);
    tsr_copy(c, 1, 0, 3, 0, 1, 0, n, 1);
    tsr_run_ok(t, RENDER, c);
    tsr_gpu_read(t, hidden, got, 8);
    g_assert_cmpmem(got, 8, "\x22\x22\x22\x11\x11\x11\x11\x11", 8);
    tsr_gpu_read(t, hidden + n, got, 8);
    g_assert_cmpmem(got, 8, "\x11\x11\x11\x22\x22\x22\x22\x22", 8);
    for (i = 0; i < 64 * 1000; i++) {
        init[i] = g_test_rand_int();
    }
    tsr_gpu_write(t, vram, init, 64 * 1000);
    c->n = 0;
    tsr_bind(c, 0, &a);
    tsr_bind(c, 1, &b);
    tsr_copy(c, 1, 0, 50, 20, 10, 5, 880, 55);
    tsr_run_ok(t, RENDER, c);
    tsr_gpu_read(t, hidden, got, 1031 * 100);
    for (i = 0; i < 55; i++) {
        g_assert_cmpmem(got + (20 + i) * 1031 + 50, 880,
                        init + (5 + i) * 1000 + 10, 880);
    }
    /* Overlapping copies within a linear buffer, in both directions. */
    tsr_gpu_write(t, vram, init, 64 * 1000);
    c->n = 0;
    tsr_bind_buffer(c, 0, vram, 1 << 20, TSR_FORMAT_R8, RW);
    tsr_copy(c, 0, 0, 77, 0, 0, 0, 60000, 1);
    tsr_copy(c, 0, 0, 0, 0, 33, 0, 60000, 1);
    tsr_run_ok(t, RENDER, c);
    tsr_gpu_read(t, vram, got, 60000);
    g_assert_cmpmem(got + 44, 59000, init, 59000);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * SET_STATE checks its values. Packets of another engine, or without
 * microcode, fail.
 */
static void test_state_and_engines(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t vram = tsr_seg_base(t, 1);
    static const uint32_t bad[][4] = {
        { 0 | 0 << 16 }, { 7 | 1 << 16 }, { 6 | 2 << 16 },
        { TSR_STATE_BLEND | 1 << 16, TSR_BLEND_COUNT },
        { TSR_STATE_SAMPLER | 1 << 16, 4 },
        { 0 | 1 << 16, 0, 1 },
    };
    unsigned int i;

    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        c->n = 0;
        tsr_put(c, TSR_OP_SET_STATE, 0, 4, bad[i][0], bad[i][1], bad[i][2]);
        tsr_run_err(t, RENDER, c, TSR_ERR_PACKET);
    }
    c->n = 0;
    tsr_set_state(c, TSR_STATE_TARGET_SLOT, 1, 64);
    tsr_run_err(t, RENDER, c, TSR_ERR_SLOT_RANGE);
    c->n = 0;
    tsr_set_state(c, 0, TSR_STATE_COUNT, 1, 0, 0, 2, 0, 0, 0xffffffff);
    tsr_run_ok(t, RENDER, c);
    /*
     * Render-only packets fail on the paging engine, and paging-only packets
     * on the render engine.
     */
    tsr_run_err(t, PAGING, c, TSR_ERR_PACKET);
    c->n = 0;
    tsr_page_fill(c, 0, vram, 4096);
    tsr_run_err(t, RENDER, c, TSR_ERR_PACKET);
    /* BLIT and DRAW fail while no microcode runs. */
    c->n = 0;
    tsr_put(c, TSR_OP_DRAW, 0, TSR_DRAW_DWORDS, 0, 0, 0);
    tsr_run_err(t, RENDER, c, TSR_ERR_FIRMWARE);
    c->n = 0;
    tsr_put(c, TSR_OP_BLIT, 0, TSR_BLIT_DWORDS, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    tsr_run_err(t, RENDER, c, TSR_ERR_FIRMWARE);
    tsr_stop(t);
}

/*
 * QUERY_TIMESTAMP and the job record hold the device time. Bounds and
 * alignment are checked.
 */
static void test_query_timestamp(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t vram = tsr_seg_base(t, 1);

    qtest_clock_step(t->qts, 987654321);
    tsr_bind_buffer(c, 1, vram, 24, TSR_FORMAT_R32, TSR_SURF_WRITE);
    tsr_put(c, TSR_OP_QUERY_TIMESTAMP, 0, 4, 1, 16, 0);
    tsr_run_ok(t, RENDER, c);
    g_assert_cmpuint(qpci_io_readq(t->dev, t->vram, 16), ==, 987654321);
    g_assert_cmpuint(qtest_readq(t->qts, t->record + TSR_REC_START_NS), ==,
                     987654321);
    g_assert_cmpuint(qtest_readq(t->qts, t->record + TSR_REC_END_NS), ==,
                     987654321);
    c->d[c->n - 2] = 24;
    tsr_run_err(t, RENDER, c, TSR_ERR_SLOT_BOUNDS);
    c->d[c->n - 2] = 4;
    tsr_run_err(t, RENDER, c, TSR_ERR_PACKET);
    tsr_stop(t);
}

/* An error ends its IB: later packets of this IB do not run, later IBs do. */
static void test_error_ends_ib(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t vram = tsr_seg_base(t, 1);
    uint32_t offset;

    tsr_bind_buffer(c, 1, vram, 24, TSR_FORMAT_R32, RW);
    tsr_fill(c, 1, 0, 0, 1, 1, 0x1111);
    offset = c->n * 4;
    tsr_fill(c, 2, 0, 0, 1, 1, 0x2222);
    tsr_fill(c, 1, 0, 0, 1, 1, 0x3333);
    uint32_t at;

    g_assert_cmpuint(tsr_run(t, RENDER, true, c, &at), ==,
                     TSR_ERR_SLOT_UNBOUND);
    g_assert_cmpuint(at, ==, offset);
    g_assert_cmphex(qpci_io_readl(t->dev, t->vram, 0), ==, 0x1111);
    c->n = offset / 4;
    tsr_fill(c, 1, 0, 0, 1, 1, 0x4444);
    tsr_run_ok(t, RENDER, c);
    g_assert_cmphex(qpci_io_readl(t->dev, t->vram, 0), ==, 0x4444);
    tsr_expect_errors(t, TSR_ERR_SLOT_UNBOUND, 1);
    tsr_stop(t);
}

static void put_words(TsrTest *t, uint64_t at, const uint32_t *d, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        qtest_writel(t->qts, at + i * 4, d[i]);
    }
}

/* The example of chapter 13 of the hardware manual, word for word. */
static void test_worked_example(void)
{
    static const uint32_t ib[] = {
        0x000a0001, 0x00000000, 0x80000000, 0x00000000, 0x00000400, 0x00000000,
        0x00020004, 0x00000040, 0x00100010, 0x00000000,
        0x00080010, 0x00000000, 0x00000000, 0x00000000, 0x00000010, 0x00000010,
        0xff336699, 0x00000000,
    };
    static const uint32_t ring[] = {
        0x00040080, 0x00000001, 0x00000000, 0x00000000,
        0x00060081, 0x00000048, 0x01030000, 0x00000000, 0x00000000, 0x00000048,
        0x00060082, 0x00000000, 0x00000001, 0x00000000, 0x01040000, 0x00000000,
    };
    TsrTest *t = tsr_start_machine("", "");

    tsr_map_device(t);
    g_assert_cmphex(tsr_r32(t, 0), ==, 0x52535354);
    g_assert_cmphex(tsr_r32(t, 0x1008), ==, 0x80000000);
    qtest_memset(t->qts, 0x01010000, 0, 4096);
    tsr_w32(t, 0x4010, 0x01000000);
    tsr_w32(t, 0x4018, 4096);
    tsr_w32(t, 0x4028, 0x01010000);
    tsr_w32(t, 0x4004, 1);
    qtest_writeq(t->qts, 0x01030000, 0x01020000);
    put_words(t, 0x01020000, ib, ARRAY_SIZE(ib));
    put_words(t, 0x01000000, ring, ARRAY_SIZE(ring));
    tsr_w32(t, 0x8000, 0x40);
    t->eng[RENDER].status_page = 0x01010000;
    tsr_wait(t, RENDER, 1);
    g_assert_cmphex(qtest_readl(t->qts, 0x01040008), ==, 0);
    for (int i = 0; i < 256; i++) {
        g_assert_cmphex(qpci_io_readl(t->dev, t->vram, i * 4), ==, 0xff336699);
    }
    g_assert_cmphex(qpci_io_readl(t->dev, t->vram, 1024), ==, 0);
    tsr_stop(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/cmd/SPLIT-17-PAGE-12-slot-window",
                   test_slot_window);
    qtest_add_func("/tessera/cmd/bind-errors", test_bind_errors);
    qtest_add_func("/tessera/cmd/fill", test_fill);
    qtest_add_func("/tessera/cmd/fill-bounds", test_fill_bounds);
    qtest_add_func("/tessera/cmd/slot-errors", test_slot_errors);
    qtest_add_func("/tessera/cmd/copy-overlap", test_copy_overlap);
    qtest_add_func("/tessera/cmd/SEG-19-copy-linear", test_copy_linear);
    qtest_add_func("/tessera/cmd/state-and-engines", test_state_and_engines);
    qtest_add_func("/tessera/cmd/query-timestamp", test_query_timestamp);
    qtest_add_func("/tessera/cmd/worked-example", test_worked_example);
    qtest_add_func("/tessera/cmd/error-ends-ib", test_error_ends_ib);
    return g_test_run();
}
