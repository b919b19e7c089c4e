/*
 * QTest: swizzling ranges whose rows are RAM
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera-head.h"
#include "tessera-migrate.h"

#define SIZES   "vram-size=8M,vram-hidden-size=4M,agp-ro-size=1M," \
                "gart-size=4M,firmware-size=1M"
#define TURNS   60

/* A surface in segment 1, the range that shows it, and its expected rows. */
typedef struct Shown {
    TsrTest *t;
    uint32_t range, layout, pitch, height;
    uint64_t base;              /* offset in segment 1, and in window */
    uint64_t window;            /* bus address of the first row */
    uint8_t *rows;
} Shown;

static uint64_t bytes(const Shown *s)
{
    return (uint64_t)s->pitch * s->height;
}

static uint32_t any(uint32_t end)
{
    return g_test_rand_int_range(0, end);
}

static void turn_on(Shown *s)
{
    uint32_t regs = TSR_SWR(s->range);

    tsr_w64(s->t, regs + TSR_SWR_BASE_LO, tsr_seg_base(s->t, 1) + s->base);
    tsr_w32(s->t, regs + TSR_SWR_LAYOUT, s->layout);
    tsr_w32(s->t, regs + TSR_SWR_PITCH, s->pitch);
    tsr_w32(s->t, regs + TSR_SWR_HEIGHT, s->height);
    tsr_w32(s->t, regs + TSR_SWR_CONTROL, TSR_SWR_ENABLE);
    g_assert_cmphex(tsr_r32(s->t, regs + TSR_SWR_CONTROL), ==, TSR_SWR_ENABLE);
}

static void turn_off(Shown *s)
{
    tsr_w32(s->t, TSR_SWR(s->range) + TSR_SWR_CONTROL, 0);
}

/* Let the paging engine swizzle the rows into the surface, in whole tiles. */
static void engine_write_all(Shown *s)
{
    uint32_t padded = s->pitch * ROUND_UP(s->height, TSR_TILE_ROWS);
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);

    qtest_bufwrite(s->t->qts, s->t->bounce, s->rows, bytes(s));
    tsr_transfer(c, TSR_TRANSFER_SRC_PAGES, s->layout << 8, s->t->bounce_list,
                 tsr_seg_base(s->t, 1) + s->base, padded, 0, 0, s->pitch);
    tsr_run_ok(s->t, PAGING, c);
}

static void start(Shown *s, TsrTest *t)
{
    s->t = t;
    s->window = t->vram.addr + tsr_r64(t, TSR_SWR_WINDOW_LO) + s->base;
    s->rows = g_malloc(bytes(s));
    for (uint64_t i = 0; i < bytes(s); i++) {
        s->rows[i] = g_test_rand_int();
    }
    engine_write_all(s);
    turn_on(s);
}

static void stop(Shown *s)
{
    tsr_expect_no_errors(s->t);
    g_free(s->rows);
    s->rows = NULL;
}

/* Compare what a CPU reads through the range with the rows. */
static void check_view(Shown *s)
{
    g_autofree uint8_t *got = g_malloc(bytes(s));

    qtest_memread(s->t->qts, s->window, got, bytes(s));
    g_assert_cmpmem(got, bytes(s), s->rows, bytes(s));
}

/*
 * Compare what the paging engine reads with the rows. Its doorbell makes the
 * device write back the stores of CPUs.
 */
static void check_engine(Shown *s)
{
    uint32_t padded = s->pitch * ROUND_UP(s->height, TSR_TILE_ROWS);
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    g_autofree uint8_t *got = g_malloc(padded);

    tsr_transfer(c, TSR_TRANSFER_DST_PAGES, s->layout,
                 tsr_seg_base(s->t, 1) + s->base, s->t->bounce_list, padded, 0,
                 0, s->pitch);
    tsr_run_ok(s->t, PAGING, c);
    qtest_bufread(s->t->qts, s->t->bounce, got, padded);
    g_assert_cmpmem(got, bytes(s), s->rows, bytes(s));
}

/* Write few or many bytes as a CPU, across rows and tiles. */
static void cpu_write(Shown *s)
{
    uint32_t n = any(4) ? 1 + any(8) : 1 + any(20000);
    uint64_t at;

    n = MIN(n, bytes(s));
    at = any(bytes(s) - n + 1);
    for (uint32_t i = 0; i < n; i++) {
        s->rows[at + i] = g_test_rand_int();
    }
    qtest_memwrite(s->t->qts, s->window + at, s->rows + at, n);
}

/* Add a fill of single bytes. */
static void put_fill(Shown *s, TsrCmd *c, uint32_t x, uint32_t y, uint32_t w,
                     uint32_t h, uint8_t value)
{
    uint64_t base = tsr_seg_base(s->t, 1) + s->base;
    TsrSurf surf = {
        .base = base,
        .limit = (uint64_t)s->pitch * ROUND_UP(s->height, TSR_TILE_ROWS),
        .format = TSR_FORMAT_R8,
        .layout = s->layout,
        .access = TSR_SURF_WRITE,
        .pitch = s->pitch,
        .width = s->pitch,
        .height = s->height,
    };

    tsr_bind(c, 0, &surf);
    tsr_fill(c, 0, x, y, w, h, value);
    for (uint32_t row = y; row < y + h; row++) {
        memset(s->rows + (uint64_t)row * s->pitch + x, value, w);
    }
}

static void engine_write(Shown *s)
{
    uint32_t x = any(s->pitch), y = any(s->height);
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);

    put_fill(s, c, x, y, 1 + any(s->pitch - x), 1 + any(s->height - y), any(256));
    tsr_run_ok(s->t, RENDER, c);
}

/*
 * SWZ-32: CPU and engines write in random order, and each sees what the other
 * wrote.
 */
static void check_turns(const char *props)
{
    static const struct {
        uint32_t pitch, height;
    } shapes[] = {
        { 128, 1 }, { 128, 33 }, { 384, 31 }, { 1024, 70 }, { 4096, 100 },
        { 8192, 40 },
    };
    TsrTest *t = tsr_start(props);

    for (uint32_t i = 0; i < 2 * ARRAY_SIZE(shapes); i++) {
        Shown s = {
            .range = i % 8,
            .layout = i % 2 ? TSR_LAYOUT_MORTON : TSR_LAYOUT_TILE4K,
            .pitch = shapes[i / 2].pitch,
            .height = shapes[i / 2].height,
            .base = i % 3 * 4096,
        };

        start(&s, t);
        check_view(&s);
        for (int turn = 0; turn < TURNS; turn++) {
            switch (any(4)) {
            case 0:
                engine_write(&s);
                break;
            case 1:
                check_engine(&s);
                break;
            default:
                cpu_write(&s);
            }
            if (any(4) == 0) {
                check_view(&s);
            }
        }
        check_view(&s);
        check_engine(&s);
        turn_off(&s);
        stop(&s);
    }
    tsr_stop(t);
}

static void test_turns(void)
{
    check_turns(SIZES);
    check_turns(SIZES ",strict=on");
}

/* Start a job that fills after a WAIT. A store to @gate ends the WAIT. */
static uint64_t fill_later(Shown *s, uint64_t gate, uint32_t x, uint32_t w,
                           uint8_t value)
{
    uint32_t wait[] = {
        TSR_PKT_HEADER(TSR_OP_WAIT, 0, TSR_WAIT_DWORDS), 0,
        gate, gate >> 32, 1, 0,
    };
    uint32_t begin[] = {
        TSR_PKT_HEADER(TSR_OP_JOB_BEGIN, 0, TSR_JOB_BEGIN_DWORDS), 1, 0, 0,
    };
    uint32_t call[] = {
        TSR_PKT_HEADER(TSR_OP_IB_CALL, 0, TSR_IB_CALL_DWORDS), 0,
        s->t->ib_list, s->t->ib_list >> 32, 0, 0,
    };
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    uint64_t seqno;

    put_fill(s, c, x, 0, w, s->height, value);
    qtest_bufwrite(s->t->qts, s->t->ib, c->d, c->n * 4);
    call[1] = call[5] = c->n * 4;
    tsr_emit(s->t, RENDER, wait, TSR_WAIT_DWORDS);
    tsr_emit(s->t, RENDER, begin, TSR_JOB_BEGIN_DWORDS);
    tsr_emit(s->t, RENDER, call, TSR_IB_CALL_DWORDS);
    seqno = tsr_emit_fence(s->t, RENDER, 0, 0);
    tsr_kick(s->t, RENDER);
    tsr_wait_reg(s->t, TSR_ENG(RENDER) + TSR_ENG_STATUS, ~0, TSR_ENGS_WAITING);
    return seqno;
}

/*
 * SWZ-32: between a doorbell and a fence, a CPU and an engine write
 * alternating bytes. Neither may lose its own.
 */
static void test_neighbours(void)
{
    for (uint32_t layout = TSR_LAYOUT_TILE4K; layout < TSR_LAYOUT_COUNT;
         layout++) {
        Shown s = { .layout = layout, .pitch = 256, .height = 40 };
        TsrTest *t = tsr_start(SIZES);
        uint64_t gate = tsr_alloc(t, 4096), seqno;

        start(&s, t);
        for (uint32_t x = 0; x < 16; x += 2) {
            qtest_writeq(t->qts, gate, 0);
            seqno = fill_later(&s, gate, x, 1, x + 1);
            for (uint32_t y = 0; y < s.height; y++) {
                uint64_t at = y * s.pitch + x + 1;

                s.rows[at] = g_test_rand_int();
                qtest_memwrite(t->qts, s.window + at, s.rows + at, 1);
            }
            qtest_writeq(t->qts, gate, 1);
            tsr_wait(t, RENDER, seqno);
            check_view(&s);
        }
        check_engine(&s);
        check_view(&s);
        turn_off(&s);
        stop(&s);
        tsr_stop(t);
    }
}

/*
 * SWZ-32: an engine writes one word of a tile through a slot that is a linear
 * buffer.
 */
static void test_word(void)
{
    enum { WORD = 300 };        /* in the first tile: byte 48 of row 9 */
    Shown s = { .layout = TSR_LAYOUT_TILE4K, .pitch = 256, .height = 32 };
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(SIZES);

    start(&s, t);
    tsr_bind_buffer(c, 0, tsr_seg_base(t, 1), 4096, TSR_FORMAT_R32,
                    TSR_SURF_WRITE);
    tsr_fill(c, 0, WORD, 0, 1, 1, 0x12345678);
    tsr_run_ok(t, RENDER, c);
    stl_le_p(s.rows + 9 * s.pitch + 48, 0x12345678);
    check_view(&s);
    check_engine(&s);
    turn_off(&s);
    stop(&s);
    tsr_stop(t);
}

/* Engines cannot access the window of a range, whether it is RAM or traps. */
static void check_engines_out(const char *props)
{
    Shown s = { .layout = TSR_LAYOUT_TILE4K, .pitch = 256, .height = 32 };
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(props);
    uint64_t list;

    start(&s, t);
    list = tsr_list(t, &s.window, 1);
    for (uint32_t flags = TSR_TRANSFER_SRC_PAGES;
         flags <= TSR_TRANSFER_DST_PAGES;
         flags += TSR_TRANSFER_DST_PAGES - TSR_TRANSFER_SRC_PAGES) {
        bool from = flags == TSR_TRANSFER_SRC_PAGES;
        uint64_t vram = tsr_seg_base(t, 1) + s.base;

        c->n = 0;
        tsr_transfer(c, flags, 0, from ? list : vram, from ? vram : list, 4096,
                     0, 0, 0);
        tsr_run_err(t, PAGING, c, TSR_ERR_DMA);
    }
    check_view(&s);
    turn_off(&s);
    stop(&s);
    tsr_stop(t);
}

static void test_engines_out(void)
{
    check_engines_out(SIZES);
    check_engines_out(SIZES ",strict=on");
}

/* Compare the surface in VRAM, as the paging engine reads it, and finish. */
static void check_written_back(Shown *s, TsrTest *t)
{
    s->t = t;
    check_engine(s);
    stop(s);
}

/*
 * SWZ-32: when a range is disabled, and at a reset, the stores of CPUs are
 * written back to VRAM.
 */
static void test_ends(void)
{
    TsrTest *t = tsr_start(SIZES);
    Shown s = { .layout = TSR_LAYOUT_MORTON, .pitch = 512, .height = 64,
                .base = 64 << 10 };
    uint8_t first;

    start(&s, t);
    cpu_write(&s);
    turn_off(&s);
    /*
     * BAR 2 shows them without a doorbell. The first byte of a surface is the
     * same byte in each layout.
     */
    first = qpci_io_readb(t->dev, t->vram, s.base);
    g_assert_cmphex(first, ==, s.rows[0]);
    check_engine(&s);
    /*
     * A disabled range leaves no rows in the window for the next range to
     * show.
     */
    if (tsr_qom_get(t, "x-range-views")) {
        g_assert_cmphex(qtest_readq(t->qts, s.window), ==, 0);
    }
    turn_on(&s);
    check_view(&s);
    s.rows[0] = first + 1;
    qtest_memwrite(t->qts, s.window, s.rows, 1);
    tsr_device_reset(t);
    g_assert_cmphex(qpci_io_readb(t->dev, t->vram, s.base), ==, s.rows[0]);
    tsr_engine_start(t, PAGING, TSR_TEST_RING_BYTES);
    check_written_back(&s, t);
    tsr_stop(t);
}

/* SWZ-32: a migration includes stores that no doorbell has written back. */
static void test_migrate(void)
{
    TsrTest *t = tsr_start(SIZES);
    Shown s = { .range = 7, .layout = TSR_LAYOUT_TILE4K, .pitch = 1024,
                .height = 70, .base = 8192 };

    start(&s, t);
    for (int i = 0; i < 20; i++) {
        cpu_write(&s);
    }
    t = tsr_migrate(t, SIZES);
    s.t = t;
    s.window = t->vram.addr + tsr_r64(t, TSR_SWR_WINDOW_LO) + s.base;
    check_view(&s);
    cpu_write(&s);
    check_written_back(&s, t);
    tsr_stop(t);
}

/* SWZ-32: scan-out shows stores of a CPU without a doorbell. */
static void test_picture(void)
{
    TsrTest *t = tsr_start(SIZES ",outputs=1");
    TsrHead h = { 0 };
    Shown s = { .layout = TSR_LAYOUT_MORTON };
    const uint32_t texel = 0x00123456;

    tsr_head_on(&h, t, 0, 64, 48);
    tsr_head_full_plane(&h, 0, TSR_FORMAT_XRGB8888, TSR_LAYOUT_MORTON,
                        tsr_seg_base(t, 1));
    tsr_head_commit(&h, TSR_COMMIT_ASYNC);
    s.pitch = h.plane[0].pitch;
    s.height = h.plane[0].height;
    s.t = t;
    s.window = t->vram.addr + tsr_r64(t, TSR_SWR_WINDOW_LO);
    turn_on(&s);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t at = any(64), row = any(48);
        g_autofree uint32_t *screen = NULL;

        qtest_writel(t->qts, s.window + row * s.pitch + at * 4, texel + i);
        screen = tsr_screendump(t, 0, 64, 48);
        g_assert_cmphex(screen[row * 64 + at], ==, texel + i);
    }
    turn_off(&s);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/range-view/SWZ-32-turns", test_turns);
    qtest_add_func("/tessera/range-view/SWZ-32-neighbours", test_neighbours);
    qtest_add_func("/tessera/range-view/SWZ-32-word", test_word);
    qtest_add_func("/tessera/range-view/engines-out", test_engines_out);
    qtest_add_func("/tessera/range-view/SWZ-32-ends", test_ends);
    qtest_add_func("/tessera/range-view/SWZ-32-migrate", test_migrate);
    qtest_add_func("/tessera/range-view/SWZ-32-picture", test_picture);
    return g_test_run();
}
