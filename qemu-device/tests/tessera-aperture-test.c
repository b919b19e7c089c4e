/*
 * QTest: accesses of engines through the aperture segments
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera-common.h"

#define RW (TSR_SURF_READ | TSR_SURF_WRITE)

static void map_one(TsrTest *t, uint32_t seg, uint64_t page, uint64_t flags)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    uint64_t pte = page | flags;

    tsr_map(c, seg, 0, 1, tsr_list(t, &pte, 1));
    tsr_run_ok(t, PAGING, c);
}

static void expect_page(TsrTest *t, uint64_t page, uint8_t value)
{
    uint8_t got[4096];

    qtest_bufread(t->qts, page, got, sizeof(got));
    for (int i = 0; i < sizeof(got); i++) {
        g_assert_cmphex(got[i], ==, value);
    }
}

/* SEG-20: reads through agp-ro succeed; writes fault, bytes unchanged. */
static void test_read_only(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t agp = tsr_seg_base(t, 3), vram = tsr_seg_base(t, 1);
    uint64_t page = tsr_alloc(t, 4096);

    qtest_memset(t->qts, page, 0x77, 4096);
    map_one(t, 3, page, TSR_APTE_VALID | TSR_APTE_WRITE);
    tsr_bind_buffer(c, 0, agp, 4096, TSR_FORMAT_R32, RW);
    tsr_bind_buffer(c, 1, vram, 4096, TSR_FORMAT_R32, RW);
    tsr_copy(c, 1, 0, 0, 0, 0, 0, 1024, 1);
    tsr_run_ok(t, RENDER, c);
    g_assert_cmphex(qpci_io_readl(t->dev, t->vram, 4092), ==, 0x77777777);
    tsr_expect_no_errors(t);
    c->n = 0;
    tsr_bind_buffer(c, 0, agp, 4096, TSR_FORMAT_R32, RW);
    tsr_fill(c, 0, 5, 0, 1, 1, 0);
    tsr_run_err(t, RENDER, c, TSR_ERR_READ_ONLY);
    c->n = 0;
    tsr_transfer(c, 0, 0, vram, agp, 16, 0, 0, 0);
    tsr_run_err(t, PAGING, c, TSR_ERR_READ_ONLY);
    c->n = 0;
    tsr_bind_buffer(c, 0, agp, 4096, TSR_FORMAT_R32, RW);
    tsr_put(c, TSR_OP_QUERY_TIMESTAMP, 0, 4, 0, 0, 0);
    tsr_run_err(t, RENDER, c, TSR_ERR_READ_ONLY);
    expect_page(t, page, 0x77);
    tsr_stop(t);
}

/* As test_read_only(), but in gart, where the PTE lacks write permission. */
static void test_read_only_entry(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t gart = tsr_seg_base(t, 4), page = tsr_alloc(t, 4096);
    uint8_t got[4];

    qtest_memset(t->qts, page, 0x66, 4096);
    map_one(t, 4, page, TSR_APTE_VALID);
    tsr_gpu_read(t, gart, got, 4);
    g_assert_cmphex(got[0], ==, 0x66);
    tsr_bind_buffer(c, 9, gart, 4096, TSR_FORMAT_R32, RW);
    tsr_fill(c, 9, 5, 0, 1, 1, 0);
    tsr_err_clear(t);
    g_assert_cmpuint(tsr_run(t, RENDER, true, c, NULL), ==,
                     TSR_ERR_READ_ONLY);
    g_assert_cmpuint(tsr_r32(t, TSR_ERR_REC_SLOT), ==, 9);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, gart + 20);
    tsr_expect_errors(t, TSR_ERR_READ_ONLY, 1);
    expect_page(t, page, 0x66);
    tsr_stop(t);
}

/*
 * A FILL that starts in a writable page fails at the read-only page behind it.
 */
static void test_read_only_neighbour(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t gart = tsr_seg_base(t, 4), page = tsr_alloc(t, 8192);
    uint64_t ptes[2] = { page | TSR_APTE_VALID | TSR_APTE_WRITE,
                         (page + 4096) | TSR_APTE_VALID };

    qtest_memset(t->qts, page, 0x66, 8192);
    tsr_map(c, 4, 0, 2, tsr_list(t, ptes, 2));
    tsr_run_ok(t, PAGING, c);
    c->n = 0;
    tsr_bind_buffer(c, 0, gart, 8192, TSR_FORMAT_R32, RW);
    tsr_fill(c, 0, 0, 0, 2048, 1, 0);
    tsr_run_err(t, RENDER, c, TSR_ERR_READ_ONLY);
    expect_page(t, page + 4096, 0x66);
    /* A COPY may read both pages. */
    c->n = 0;
    tsr_bind_buffer(c, 0, gart, 8192, TSR_FORMAT_R32, RW);
    tsr_bind_buffer(c, 1, tsr_seg_base(t, 1), 8192, TSR_FORMAT_R32, RW);
    tsr_copy(c, 1, 0, 0, 0, 0, 0, 2048, 1);
    tsr_run_ok(t, RENDER, c);
    g_assert_cmphex(qpci_io_readl(t->dev, t->vram, 8188), ==, 0x66666666);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* SEG-21: a GPU write through the aperture reaches the CPU's page. */
static void test_write(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t gart = tsr_seg_base(t, 4), page = tsr_alloc(t, 8192);

    qtest_memset(t->qts, page, 0, 8192);
    map_one(t, 4, page, TSR_APTE_VALID | TSR_APTE_WRITE | TSR_APTE_COHERENT);
    tsr_bind_buffer(c, 0, gart, 4096, TSR_FORMAT_R32, RW);
    tsr_fill(c, 0, 0, 0, 1024, 1, 0x55555555);
    tsr_run_ok(t, RENDER, c);
    expect_page(t, page, 0x55);
    expect_page(t, page + 4096, 0);
    /* The GPU sees the CPU's write, too. */
    qtest_memset(t->qts, page, 0x44, 4096);
    c->n = 0;
    tsr_bind_buffer(c, 0, gart, 4096, TSR_FORMAT_R32, RW);
    tsr_bind_buffer(c, 1, tsr_seg_base(t, 1), 4096, TSR_FORMAT_R32, RW);
    tsr_copy(c, 1, 0, 0, 0, 0, 0, 1024, 1);
    tsr_run_ok(t, RENDER, c);
    g_assert_cmphex(qpci_io_readl(t->dev, t->vram, 0), ==, 0x44444444);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* PAGE-8: one packet maps 1200 entries, in the order of its list. */
static void test_map_many(void)
{
    enum { PAGES = 1200 };
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t gart = tsr_seg_base(t, 4), ram = tsr_alloc(t, PAGES * 4096);
    uint64_t ptes[PAGES];

    for (uint32_t i = 0; i < PAGES; i++) {
        ptes[i] = (ram + i * 4096) | TSR_APTE_VALID;
    }
    tsr_map(c, 4, 1, PAGES, tsr_list(t, ptes, PAGES));
    tsr_run_ok(t, PAGING, c);
    for (uint32_t i = 0; i < PAGES; i++) {
        uint32_t got;

        if (i % 100 && i % 512 && i % 512 != 511) {
            continue;
        }
        qtest_writel(t->qts, ram + i * 4096, i);
        tsr_gpu_read(t, gart + (i + 1) * 4096, &got, 4);
        tsr_rule(got == i, "MAP_APERTURE: page %u shows what entry %u of its "
                 "list names", i, got);
    }
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * PAGE-9: after a reset every page of an aperture shows the dummy page, the
 * first and the last one included.
 */
static void test_reset_unmaps(void)
{
    static const uint32_t where[] = { 0, 255, 511 };
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("gart-size=2M");
    uint64_t gart = tsr_seg_base(t, 4), dummy = tsr_alloc(t, 4096);
    uint64_t pte = tsr_alloc(t, 4096) | TSR_APTE_VALID | TSR_APTE_WRITE;
    uint64_t list = tsr_list(t, &pte, 1);
    uint8_t got;

    for (uint32_t i = 0; i < ARRAY_SIZE(where); i++) {
        tsr_map(c, 4, where[i], 1, list);
    }
    tsr_run_ok(t, PAGING, c);
    tsr_device_reset(t);
    tsr_engine_start(t, PAGING, TSR_TEST_RING_BYTES);
    qtest_memset(t->qts, dummy, 0xdd, 4096);
    tsr_w64(t, TSR_CTRL_DUMMY_PAGE_LO, dummy);
    for (uint32_t i = 0; i < ARRAY_SIZE(where); i++) {
        tsr_gpu_read(t, gart + where[i] * 4096, &got, 1);
        g_assert_cmphex(got, ==, 0xdd);
    }
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * A PTE may point to a BAR of the device itself. VRAM is RAM and works; the
 * registers, and an address where nothing is, fail with TSR_ERR_DMA.
 */
static void test_odd_targets(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t gart = tsr_seg_base(t, 4);

    map_one(t, 4, t->regs.addr & TSR_APTE_ADDR_MASK,
            TSR_APTE_VALID | TSR_APTE_WRITE);
    tsr_bind_buffer(c, 0, gart, 4096, TSR_FORMAT_R32, RW);
    tsr_fill(c, 0, TSR_CTRL_RESET / 4, 0, 1, 1, TSR_RESET_MAGIC);
    tsr_run_err(t, RENDER, c, TSR_ERR_DMA);
    map_one(t, 4, t->vram.addr + 0x10000, TSR_APTE_VALID | TSR_APTE_WRITE);
    c->n = 0;
    tsr_bind_buffer(c, 0, gart, 4096, TSR_FORMAT_R32, RW);
    tsr_fill(c, 0, 0, 0, 1, 1, 0xabcd);
    tsr_run_ok(t, RENDER, c);
    g_assert_cmphex(qpci_io_readl(t->dev, t->vram, 0x10000), ==, 0xabcd);
    map_one(t, 4, 0x7ffffffff000, TSR_APTE_VALID | TSR_APTE_WRITE);
    tsr_run_err(t, RENDER, c, TSR_ERR_DMA);
    tsr_stop(t);
}

/* SEG-22: MAP_APERTURE copies nothing, so later CPU stores are visible. */
static void test_map_copies_nothing(void)
{
    TsrTest *t = tsr_start("");
    uint64_t page = tsr_alloc(t, 4096);
    uint8_t got[4];

    map_one(t, 4, page, TSR_APTE_VALID | TSR_APTE_WRITE);
    qtest_memset(t->qts, page, 0x99, 4096); /* after the mapping */
    tsr_gpu_read(t, tsr_seg_base(t, 4), got, 4);
    g_assert_cmphex(got[3], ==, 0x99);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/aperture/SEG-20-read-only", test_read_only);
    qtest_add_func("/tessera/aperture/read-only-entry", test_read_only_entry);
    qtest_add_func("/tessera/aperture/read-only-neighbour",
                   test_read_only_neighbour);
    qtest_add_func("/tessera/aperture/SEG-21-write", test_write);
    qtest_add_func("/tessera/aperture/PAGE-8-map-many", test_map_many);
    qtest_add_func("/tessera/aperture/PAGE-9-reset-unmaps", test_reset_unmaps);
    qtest_add_func("/tessera/aperture/odd-targets", test_odd_targets);
    qtest_add_func("/tessera/aperture/SEG-22-map-copies-nothing",
                   test_map_copies_nothing);
    return g_test_run();
}
