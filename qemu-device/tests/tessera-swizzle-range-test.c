/*
 * QTest: swizzling ranges, compared with a loop over address bits
 *
 * The tests use strict mode, where each access traps.
 * tessera-range-view-test.c covers ranges that are RAM.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera-migrate.h"

#define SIZES   "vram-size=8M,vram-hidden-size=4M,agp-ro-size=1M," \
                "gart-size=4M,firmware-size=1M"
#define ONES    0xffffffffffffffffull

typedef struct Range {
    uint32_t layout, pitch, height;
    uint64_t base;              /* offset in segment 1 */
} Range;

static void put_range(TsrTest *t, uint32_t i, const Range *r)
{
    tsr_w32(t, TSR_SWR(i) + TSR_SWR_CONTROL, 0);
    tsr_w64(t, TSR_SWR(i) + TSR_SWR_BASE_LO, tsr_seg_base(t, 1) + r->base);
    tsr_w32(t, TSR_SWR(i) + TSR_SWR_LAYOUT, r->layout);
    tsr_w32(t, TSR_SWR(i) + TSR_SWR_PITCH, r->pitch);
    tsr_w32(t, TSR_SWR(i) + TSR_SWR_HEIGHT, r->height);
}

static void set_range(TsrTest *t, uint32_t i, const Range *r)
{
    put_range(t, i, r);
    tsr_w32(t, TSR_SWR(i) + TSR_SWR_CONTROL, TSR_SWR_ENABLE);
    g_assert_cmphex(tsr_r32(t, TSR_SWR(i) + TSR_SWR_CONTROL), ==,
                    TSR_SWR_ENABLE);
}

/* A range that cannot be enabled stays disabled, which is no error. */
static void expect_status(TsrTest *t, uint32_t i, const Range *r,
                          uint32_t status)
{
    put_range(t, i, r);
    g_assert_cmphex(tsr_r32(t, TSR_SWR(i) + TSR_SWR_STATUS), ==, status);
    tsr_w32(t, TSR_SWR(i) + TSR_SWR_CONTROL, TSR_SWR_ENABLE);
    g_assert_cmphex(tsr_r32(t, TSR_SWR(i) + TSR_SWR_CONTROL), ==, 0);
    g_assert_cmphex(tsr_r32(t, TSR_SWR(i) + TSR_SWR_STATUS), ==, status);
    tsr_expect_no_errors(t);
}

/* The figure in the manual, one address bit at a time. */
static uint64_t swizzled(const Range *r, uint64_t at)
{
    uint32_t xb = at % r->pitch, y = at / r->pitch, bit;
    uint64_t off = xb / 128 * 4096 +
                   (uint64_t)(y / 32) * (r->pitch / 128) * 4096;

    if (r->layout == TSR_LAYOUT_TILE4K) {
        return r->base + off + y % 32 * 128 + xb % 128;
    }
    off += xb % 4;
    for (bit = 0; bit < 5; bit++) {
        off += ((xb % 128 / 4) >> bit & 1) << (2 * bit + 2);
        off += ((y % 32) >> bit & 1) << (2 * bit + 3);
    }
    return r->base + off;
}

/* Return bytes as BAR 2 shows them without a range, lowest first. */
static uint64_t expected(TsrTest *t, const Range *r, uint64_t at, uint32_t n)
{
    uint64_t value = 0;

    for (uint32_t i = 0; i < n; i++) {
        value |= (uint64_t)qpci_io_readb(t->dev, t->vram,
                                         swizzled(r, at + i)) << 8 * i;
    }
    return value;
}

static uint64_t rd(TsrTest *t, uint64_t offset, uint32_t n)
{
    uint64_t value = 0;

    qtest_memread(t->qts, t->vram.addr + tsr_r64(t, TSR_SWR_WINDOW_LO) +
                  offset, &value, n);
    return le64_to_cpu(value);
}

static void wr(TsrTest *t, uint64_t offset, uint64_t value, uint32_t n)
{
    value = cpu_to_le64(value);
    qtest_memwrite(t->qts, t->vram.addr + tsr_r64(t, TSR_SWR_WINDOW_LO) +
                   offset, &value, n);
}

/*
 * Access the surface with any size and alignment, across rows and tiles, up to
 * its first and last byte.
 */
static void check_surface(TsrTest *t, const Range *r)
{
    uint64_t bytes = (uint64_t)r->pitch * r->height;

    g_test_message("layout %u pitch %u height %u base 0x%" PRIx64, r->layout,
                   r->pitch, r->height, r->base);
    for (int i = 0; i < 60; i++) {
        uint32_t n = 1 + g_test_rand_int_range(0, 8);
        uint64_t value = (uint64_t)g_test_rand_int() << 32 | g_test_rand_int();
        uint64_t at = i == 0 ? 0 : i == 1 ? bytes - n
                      : i < 10 ? MIN((uint64_t)r->pitch * i, bytes) - n
                      : ((uint64_t)g_test_rand_int() << 8) % (bytes - n);

        value &= ONES >> (64 - 8 * n);
        wr(t, r->base + at, value, n);
        g_assert_cmphex(expected(t, r, at, n), ==, value);
        at = ((uint64_t)g_test_rand_int() << 8) % (bytes - n);
        g_assert_cmphex(rd(t, r->base + at, n), ==, expected(t, r, at, n));
    }
    tsr_expect_no_errors(t);
    /* Behind the surface, across its end, and before it. */
    g_assert_cmphex(rd(t, r->base + bytes, 1), ==, 0xff);
    tsr_expect_errors(t, TSR_ERR_SWIZZLE_RANGE, 1);
    g_assert_cmphex(rd(t, r->base + bytes - 4, 8), ==, ONES);
    tsr_expect_errors(t, TSR_ERR_SWIZZLE_RANGE, 1);
    if (r->base) {
        g_assert_cmphex(rd(t, r->base - 1, 1), ==, 0xff);
        g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==,
                        tsr_r64(t, TSR_SWR_WINDOW_LO) + r->base - 1);
        tsr_expect_errors(t, TSR_ERR_SWIZZLE_RANGE, 1);
    }
}

static void fill(TsrTest *t, uint64_t bytes)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);

    tsr_page_fill(c, 0x01234567, tsr_seg_base(t, 1), bytes);
    tsr_run_ok(t, PAGING, c);
}

/* SWZ-6, SWZ-8, SWZ-26: any range with either layout and any pitch and size. */
static void check_surfaces(const char *props)
{
    static const struct {
        uint32_t pitch, height;
    } shapes[] = {
        { 128, 1 }, { 128, 32 }, { 128, 33 }, { 384, 31 }, { 4096, 100 },
        { 128, TSR_SURF_MAX_DIM }, { TSR_SURF_MAX_PITCH, 1 },
        { 131072, 60 },
    };
    TsrTest *t = tsr_start(props);
    uint32_t count = tsr_r32(t, TSR_ID_NUM_SWIZZLE_RANGES), turn = 0;

    fill(t, 9 << 20);
    for (uint32_t layout = TSR_LAYOUT_TILE4K; layout < TSR_LAYOUT_COUNT;
         layout++) {
        for (uint32_t i = 0; i < ARRAY_SIZE(shapes); i++) {
            Range r = {
                .layout = layout, .pitch = shapes[i].pitch,
                .height = shapes[i].height, .base = i % 3 * 4096,
            };
            uint32_t index = turn++ % count;

            set_range(t, index, &r);
            check_surface(t, &r);
            tsr_w32(t, TSR_SWR(index) + TSR_SWR_CONTROL, 0);
            g_assert_cmphex(rd(t, r.base, 8), ==, ONES);
            tsr_expect_errors(t, TSR_ERR_SWIZZLE_RANGE, 1);
        }
    }
    tsr_stop(t);
}

static void test_surfaces(void)
{
    check_surfaces("vram-size=9M,swizzle-ranges=64,strict=on");
    check_surfaces("vram-size=9M,swizzle-ranges=1,strict=on");
}

/* SWZ-6: the CPU sees linear what the GPU has swizzled, and vice versa. */
static void test_gpu(void)
{
    enum { PITCH = 512, ROWS = 64, BYTES = PITCH * ROWS };
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    g_autofree uint8_t *lin = g_malloc(BYTES), *got = g_malloc(BYTES);
    TsrTest *t = tsr_start(SIZES ",strict=on");
    uint64_t vram = tsr_seg_base(t, 1);
    QPCIBar bar = t->vram;

    bar.addr += tsr_r64(t, TSR_SWR_WINDOW_LO);
    for (uint32_t i = 0; i < BYTES; i++) {
        lin[i] = g_test_rand_int();
    }
    for (uint32_t layout = TSR_LAYOUT_TILE4K; layout < TSR_LAYOUT_COUNT;
         layout++) {
        Range r = {
            .layout = layout, .pitch = PITCH, .height = ROWS, .base = 1 << 20,
        };

        set_range(t, 5, &r);
        qtest_bufwrite(t->qts, t->bounce, lin, BYTES);
        c->n = 0;
        tsr_transfer(c, TSR_TRANSFER_SRC_PAGES, layout << 8, t->bounce_list,
                     vram + r.base, BYTES, 0, 0, PITCH);
        tsr_run_ok(t, PAGING, c);
        qtest_bufread(t->qts, bar.addr + r.base, got, BYTES);
        g_assert_cmpmem(got, BYTES, lin, BYTES);
        for (uint32_t i = 0; i < BYTES; i++) {
            lin[i] ^= i * 7;
        }
        qtest_bufwrite(t->qts, bar.addr + r.base, lin, BYTES);
        c->n = 0;
        tsr_transfer(c, TSR_TRANSFER_DST_PAGES, layout, vram + r.base,
                     t->bounce_list, BYTES, 0, 0, PITCH);
        tsr_run_ok(t, PAGING, c);
        qtest_bufread(t->qts, t->bounce, got, BYTES);
        g_assert_cmpmem(got, BYTES, lin, BYTES);
    }
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * SWZ-31: ranges are set while an engine works and while other ranges are
 * used.
 */
static void test_busy(void)
{
    TsrTest *t = tsr_start(SIZES ",x-hang-engine=0,strict=on");
    uint32_t job[] = { TSR_PKT_HEADER(TSR_OP_JOB_BEGIN, 0, 4), 3, 0, 0 };
    Range a = { TSR_LAYOUT_MORTON, 256, 64, 0 };

    fill(t, 1 << 20);
    tsr_emit(t, RENDER, job, 4);
    tsr_kick(t, RENDER);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_CONTEXT, ~0, 3);
    set_range(t, 0, &a);
    for (uint32_t i = 1; i < 8; i++) {
        Range b = { TSR_LAYOUT_TILE4K, 128 * i, 40, i * 65536 };

        set_range(t, i, &b);
        check_surface(t, &a);
        check_surface(t, &b);
    }
    g_assert_cmphex(tsr_r32(t, TSR_ENG(RENDER) + TSR_ENG_STATUS), ==, 0);
    tsr_stop(t);
}

/* SWZ-28: all ranges share a store, which is used up before the ranges are. */
static void test_store(void)
{
    const Range wide = { TSR_LAYOUT_TILE4K, 1152, 32, 0 };
    const Range half = { TSR_LAYOUT_MORTON, 512, 32, 1 << 20 };
    const Range other = { TSR_LAYOUT_TILE4K, 384, 32, 2 << 20 };
    const Range third = { TSR_LAYOUT_TILE4K, 256, 32, 3 << 20 };
    TsrTest *t = tsr_start(SIZES ",swizzle-store=1K,strict=on");

    fill(t, 4 << 20);
    expect_status(t, 0, &wide, TSR_SWR_UNSUPPORTED);
    set_range(t, 1, &half);
    set_range(t, 2, &other);
    expect_status(t, 3, &third, TSR_SWR_UNAVAILABLE);
    expect_status(t, 0, &wide, TSR_SWR_UNSUPPORTED);
    check_surface(t, &half);
    check_surface(t, &other);
    /* An enabled range is ready, whatever the others use. */
    g_assert_cmphex(tsr_r32(t, TSR_SWR(1) + TSR_SWR_STATUS), ==,
                    TSR_SWR_READY);
    /* These two use up to the last byte of the store. */
    tsr_w32(t, TSR_SWR(2) + TSR_SWR_CONTROL, 0);
    g_assert_cmphex(tsr_r32(t, TSR_SWR(3) + TSR_SWR_STATUS), ==,
                    TSR_SWR_READY);
    set_range(t, 3, &third);
    set_range(t, 4, &(Range) { TSR_LAYOUT_MORTON, 256, 32, 0 });
    expect_status(t, 2, &other, TSR_SWR_UNAVAILABLE);
    /* Surfaces may adjoin, but not overlap. */
    tsr_w32(t, TSR_SWR(3) + TSR_SWR_CONTROL, 0);
    put_range(t, 3, &(Range) { TSR_LAYOUT_MORTON, 256, 32, 8192 });
    g_assert_cmphex(tsr_r32(t, TSR_SWR(3) + TSR_SWR_STATUS), ==,
                    TSR_SWR_READY);
    put_range(t, 3, &(Range) { TSR_LAYOUT_MORTON, 256, 32, 4096 });
    g_assert_cmphex(tsr_r32(t, TSR_SWR(3) + TSR_SWR_STATUS), ==,
                    TSR_SWR_UNSUPPORTED);
    set_range(t, 3, &third);
    t = tsr_migrate(t, SIZES ",swizzle-store=1K,strict=on");
    check_surface(t, &half);
    expect_status(t, 2, &other, TSR_SWR_UNAVAILABLE);
    tsr_stop(t);
}

/* SWZ-28: all ranges together show a limited number of bytes. */
static void test_bytes(void)
{
    const char *props = "vram-size=128M,vram-hidden-size=4M,"
                        "host-aperture-size=1M,strict=on";
    const Range most = { TSR_LAYOUT_TILE4K, TSR_SURF_MAX_PITCH, 384, 0 };
    const Range more = { TSR_LAYOUT_TILE4K, TSR_SURF_MAX_PITCH, 385, 0 };
    const Range half = { TSR_LAYOUT_MORTON, TSR_SURF_MAX_PITCH, 192, 0 };
    const Range rest = { TSR_LAYOUT_MORTON, TSR_SURF_MAX_PITCH, 192, 48 << 20 };
    const Range one = { TSR_LAYOUT_TILE4K, 128, 1, 96 << 20 };
    TsrTest *t = tsr_start(props);

    expect_status(t, 0, &more, TSR_SWR_UNSUPPORTED);
    set_range(t, 0, &most);
    expect_status(t, 1, &one, TSR_SWR_UNAVAILABLE);
    set_range(t, 0, &half);
    set_range(t, 1, &rest);
    expect_status(t, 2, &one, TSR_SWR_UNAVAILABLE);
    tsr_w32(t, TSR_SWR(1) + TSR_SWR_CONTROL, 0);
    set_range(t, 2, &one);
    expect_status(t, 1, &rest, TSR_SWR_UNAVAILABLE);
    tsr_stop(t);
}

/* Strict mode checks accesses of CPUs. A refused one reads ones. */
static void test_strict(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(SIZES ",strict=on");
    uint64_t vram = tsr_seg_base(t, 1);
    Range r = { TSR_LAYOUT_TILE4K, 512, 32, 0 };

    set_range(t, 0, &r);
    g_assert_cmphex(rd(t, 8, 8), ==, ONES);
    tsr_expect_errors(t, TSR_ERR_STRICT_UNWRITTEN, 1);
    wr(t, 8, 0x99, 8);
    g_assert_cmphex(rd(t, 8, 8), ==, 0x99);
    wr(t, 128, 0x77, 8);
    tsr_expect_no_errors(t);
    tsr_mark(c, TSR_MARK_FREE, vram, 4096);
    tsr_mark(c, TSR_MARK_EVICTED, vram + 4096, 4096);
    tsr_run_ok(t, PAGING, c);
    wr(t, 8, 1, 8);
    g_assert_cmphex(rd(t, 8, 8), ==, ONES);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, vram + 8);
    tsr_expect_errors(t, TSR_ERR_STRICT_FREED, 2);
    g_assert_cmphex(rd(t, 128, 2), ==, 0xffff);
    tsr_expect_errors(t, TSR_ERR_STRICT_EVICTED, 1);
    tsr_stop(t);
}

/* A migration keeps the ranges, and a reset disables them. */
static void test_reset_migrate(void)
{
    TsrTest *t = tsr_start(SIZES ",strict=on");
    Range r = { TSR_LAYOUT_MORTON, 1024, 70, 8192 };

    fill(t, 1 << 20);
    set_range(t, 7, &r);
    tsr_w32(t, TSR_SWR(2) + TSR_SWR_PITCH, 77);
    t = tsr_migrate(t, SIZES ",strict=on");
    check_surface(t, &r);
    g_assert_cmpuint(tsr_r32(t, TSR_SWR(2) + TSR_SWR_PITCH), ==, 77);
    tsr_device_reset(t);
    g_assert_cmphex(rd(t, 8192, 8), ==, ONES);
    tsr_expect_errors(t, TSR_ERR_SWIZZLE_RANGE, 1);
    for (uint32_t reg = 0; reg <= TSR_SWR_CONTROL; reg += 4) {
        g_assert_cmphex(tsr_r32(t, TSR_SWR(7) + reg), ==, 0);
    }
    tsr_stop(t);
}

/*
 * SWZ-26: the device defines the number of ranges. There is no window without
 * any.
 */
static void test_none(void)
{
    TsrTest *t = tsr_start(SIZES ",swizzle-ranges=0");
    uint64_t size;

    g_assert_cmpuint(tsr_r32(t, TSR_ID_NUM_SWIZZLE_RANGES), ==, 0);
    g_assert_cmphex(tsr_r32(t, TSR_ID_CAPS) & TSR_CAP_SWIZZLE_RANGES, ==, 0);
    g_assert_cmphex(tsr_r32(t, TSR_SEG(0) + TSR_SEG_FLAGS), ==,
                    TSR_SEGF_CPU_VISIBLE);
    g_assert_cmphex(tsr_r64(t, TSR_SWR_WINDOW_LO), ==, 0);
    tsr_expect_no_errors(t);
    tsr_r32(t, TSR_SWR(0));
    tsr_expect_errors(t, TSR_ERR_REGISTER, 1);
    qpci_iomap(t->dev, TSR_BAR_VRAM, &size);
    g_assert_cmphex(size, ==, 8 << 20);
    tsr_stop(t);

    t = tsr_start(SIZES);
    g_assert_cmphex(tsr_r64(t, TSR_SWR_WINDOW_LO), ==, 8 << 20);
    qpci_iomap(t->dev, TSR_BAR_VRAM, &size);
    g_assert_cmphex(size, ==, 16 << 20);
    tsr_stop(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/swizzle-range/SWZ-6-SWZ-8-SWZ-26-surfaces",
                   test_surfaces);
    qtest_add_func("/tessera/swizzle-range/SWZ-6-gpu", test_gpu);
    qtest_add_func("/tessera/swizzle-range/SWZ-31-busy", test_busy);
    qtest_add_func("/tessera/swizzle-range/SWZ-28-store", test_store);
    qtest_add_func("/tessera/swizzle-range/SWZ-28-bytes", test_bytes);
    qtest_add_func("/tessera/swizzle-range/strict", test_strict);
    qtest_add_func("/tessera/swizzle-range/reset-migrate",
                   test_reset_migrate);
    qtest_add_func("/tessera/swizzle-range/SWZ-26-none", test_none);
    return g_test_run();
}
