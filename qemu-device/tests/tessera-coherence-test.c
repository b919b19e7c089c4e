/*
 * QTest: accesses that do not snoop CPU caches
 *
 * Guest RAM holds the CPU's view; the device keeps a copy of what is in DRAM
 * behind the caches. See chapter 3.6 of the hardware manual. Most tests run on
 * a device that cannot snoop, the last ones on a device where each mapping
 * decides.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera-migrate.h"

#define PROPS   "io-coherent=off,strict=on,gart-size=4M,vram-size=4M"
#define SNOOPS  "strict=on,gart-size=4M,vram-size=4M"
#define RW      (TSR_SURF_READ | TSR_SURF_WRITE)
#define ENTRY   (TSR_APTE_VALID | TSR_APTE_WRITE)
#define LINE    TSR_COH_LINE_BYTES

static void maintain(TsrTest *t, uint32_t command, uint64_t addr,
                     uint32_t bytes)
{
    tsr_w64(t, TSR_COH_ADDR_LO, addr);
    tsr_w32(t, TSR_COH_SIZE, bytes);
    tsr_w32(t, TSR_COH_COMMAND, command);
}

/* Map @pages pages of RAM at the start of segment 4. */
static void map_pages(TsrTest *t, uint64_t ram, uint32_t pages, uint64_t flags)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    g_autofree uint64_t *ptes = g_new0(uint64_t, pages);

    for (uint32_t i = 0; i < pages; i++) {
        ptes[i] = (ram + i * 4096) | flags;
    }
    tsr_map(c, 4, 0, pages, tsr_list(t, ptes, pages));
    tsr_run_ok(t, PAGING, c);
}

static void gpu_fill(TsrTest *t, uint64_t off, uint32_t bytes, uint8_t value)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);

    tsr_bind_buffer(c, 0, tsr_seg_base(t, 4) + off, bytes, TSR_FORMAT_R8, RW);
    tsr_fill(c, 0, 0, 0, bytes, 1, value);
    tsr_run_ok(t, RENDER, c);
}

static void gpu_expect(TsrTest *t, uint64_t off, uint32_t bytes, uint8_t value)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    uint64_t vram = tsr_seg_base(t, 1);
    g_autofree uint8_t *got = g_malloc(bytes);

    tsr_bind_buffer(c, 0, tsr_seg_base(t, 4) + off, bytes, TSR_FORMAT_R8, RW);
    tsr_bind_buffer(c, 1, vram, bytes, TSR_FORMAT_R8, RW);
    tsr_copy(c, 1, 0, 0, 0, 0, 0, bytes, 1);
    tsr_run_ok(t, RENDER, c);
    qpci_memread(t->dev, t->vram, 0, got, bytes);
    for (uint32_t i = 0; i < bytes; i++) {
        tsr_rule(got[i] == value, "an engine reads 0x%x of a page that CPUs "
                 "have cached, where memory behind the caches has 0x%x",
                 got[i], value);
    }
}

static void cpu_expect(TsrTest *t, uint64_t addr, uint32_t bytes, uint8_t value)
{
    g_autofree uint8_t *got = g_malloc(bytes);

    qtest_bufread(t->qts, addr, got, bytes);
    for (uint32_t i = 0; i < bytes; i++) {
        tsr_rule(got[i] == value, "a CPU reads 0x%x of a page, where its cache "
                 "has 0x%x", got[i], value);
    }
}

static void expect_poison(TsrTest *t)
{
    g_assert_cmphex(qpci_io_readl(t->dev, t->vram, 0), ==, TSR_POISON);
}

/* Allocate two pages of 0x11, cleaned, and map them as cached. */
static uint64_t clean_pages(TsrTest *t)
{
    uint64_t page = tsr_alloc(t, 8192);

    qtest_memset(t->qts, page, 0x11, 8192);
    map_pages(t, page, 2, ENTRY | TSR_APTE_CACHED);
    maintain(t, TSR_COH_CLEAN, page, 8192);
    return page;
}

/* COH-6: an engine sees what a CPU wrote after a clean, and not before it. */
static void test_clean(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(PROPS);
    uint64_t gart = tsr_seg_base(t, 4), page = tsr_alloc(t, 8192);

    qtest_memset(t->qts, page, 0x11, 8192);
    map_pages(t, page, 2, ENTRY | TSR_APTE_CACHED);
    /*
     * Before the first clean the contents of DRAM are unknown: a read is an
     * error and returns poison.
     */
    tsr_bind_buffer(c, 0, gart, 4096, TSR_FORMAT_R32, RW);
    tsr_bind_buffer(c, 1, tsr_seg_base(t, 1), 4096, TSR_FORMAT_R32, RW);
    tsr_copy(c, 1, 0, 0, 0, 0, 0, 1024, 1);
    tsr_err_clear(t);
    g_assert_cmpuint(tsr_run(t, RENDER, true, c, NULL), ==, TSR_ERR_NONE);
    expect_poison(t);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, page);
    g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_SLOT), ==, 0);
    tsr_expect_errors(t, TSR_ERR_STRICT_COHERENCE, 1);
    maintain(t, TSR_COH_CLEAN, page, 8192);
    gpu_expect(t, 0, 8192, 0x11);
    tsr_expect_no_errors(t);
    /* A later read without a clean returns the bytes of the last clean. */
    qtest_memset(t->qts, page, 0x22, 8192);
    gpu_expect(t, 0, 8192, 0x11);
    tsr_expect_errors(t, TSR_ERR_STRICT_COHERENCE, 2); /* one for each page */
    maintain(t, TSR_COH_CLEAN, page, 8192);
    gpu_expect(t, 0, 8192, 0x22);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* COH-7: a CPU sees what an engine wrote after an invalidation. */
static void test_invalidate(void)
{
    TsrTest *t = tsr_start(PROPS);
    uint64_t page = clean_pages(t);

    gpu_fill(t, 0, 8192, 0x55);
    cpu_expect(t, page, 8192, 0x11);
    /* An engine sees what another engine wrote. */
    gpu_expect(t, 0, 8192, 0x55);
    tsr_expect_no_errors(t);
    maintain(t, TSR_COH_INVALIDATE, page, 4096);
    cpu_expect(t, page, 4096, 0x55);
    cpu_expect(t, page + 4096, 4096, 0x11);
    maintain(t, TSR_COH_INVALIDATE, page + 4096, 4096);
    cpu_expect(t, page, 8192, 0x55);
    /* An invalidation drops the stores of a CPU that were not written back. */
    qtest_memset(t->qts, page, 0x66, 4096);
    tsr_expect_no_errors(t);
    maintain(t, TSR_COH_INVALIDATE, page, 4096);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, page);
    tsr_expect_errors(t, TSR_ERR_STRICT_INVALIDATE, 1);
    cpu_expect(t, page, 4096, 0x55);
    gpu_expect(t, 0, 8192, 0x55);
    tsr_expect_no_errors(t);
    /* A flush writes them back first. */
    qtest_memset(t->qts, page, 0x66, 4096);
    maintain(t, TSR_COH_FLUSH, page, 4096);
    maintain(t, TSR_COH_INVALIDATE, page, 4096);
    cpu_expect(t, page, 4096, 0x66);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * COH-11: an invalidation before the engine writes does not help: the cache
 * may have loaded the old lines again since.
 */
static void test_stale(void)
{
    TsrTest *t = tsr_start(PROPS);
    uint64_t page = clean_pages(t);

    maintain(t, TSR_COH_INVALIDATE, page, 8192);
    gpu_fill(t, 0, 4096, 0x55);
    cpu_expect(t, page, 4096, 0x11);
    maintain(t, TSR_COH_CLEAN, page, 8192); /* does not help, either */
    cpu_expect(t, page, 4096, 0x11);
    maintain(t, TSR_COH_FLUSH, page, 8192);
    cpu_expect(t, page, 4096, 0x55);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * A clean writes back modified lines only, so that lines written by an engine
 * survive it.
 */
static void test_clean_keeps(uint32_t command)
{
    TsrTest *t = tsr_start(PROPS);
    uint64_t page = clean_pages(t);

    gpu_fill(t, 0, LINE, 0x55);
    qtest_memset(t->qts, page + LINE, 0x22, LINE);
    maintain(t, command, page, 8192);
    gpu_expect(t, 0, LINE, 0x55);
    gpu_expect(t, LINE, LINE, 0x22);
    gpu_expect(t, 2 * LINE, 8192 - 2 * LINE, 0x11);
    maintain(t, TSR_COH_INVALIDATE, page, 8192);
    cpu_expect(t, page, LINE, 0x55);
    cpu_expect(t, page + LINE, LINE, 0x22);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * A store of the same value leaves no trace for CLEAN. WRITE_BACK writes the
 * lines back because software says that it stored to them.
 */
static void test_write_back(void)
{
    TsrTest *t = tsr_start(PROPS);
    uint64_t page = clean_pages(t);

    gpu_fill(t, 0, 8192, 0x55);
    qtest_memset(t->qts, page, 0x11, 4096);
    maintain(t, TSR_COH_CLEAN, page, 8192);
    gpu_expect(t, 0, 8192, 0x55);
    maintain(t, TSR_COH_WRITE_BACK, page, 4096);
    gpu_expect(t, 0, 4096, 0x11);
    gpu_expect(t, 4096, 4096, 0x55);
    cpu_expect(t, page, 8192, 0x11);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

static void test_clean_keeps_lines(void)
{
    test_clean_keeps(TSR_COH_CLEAN);
    test_clean_keeps(TSR_COH_FLUSH);
}

/* A range is rounded to whole cache lines, and no further. */
static void test_lines(void)
{
    TsrTest *t = tsr_start(PROPS);
    uint64_t page = clean_pages(t);

    qtest_memset(t->qts, page, 0x22, 8192);
    maintain(t, TSR_COH_CLEAN, page + 4096 - 1, 2);
    gpu_expect(t, 4096 - LINE, 2 * LINE, 0x22);
    tsr_expect_no_errors(t);
    gpu_expect(t, 4096 - 2 * LINE, LINE, 0x11);
    gpu_expect(t, 4096 + LINE, LINE, 0x11);
    tsr_expect_errors(t, TSR_ERR_STRICT_COHERENCE, 2);
    maintain(t, TSR_COH_CLEAN, page + 128, 0);
    gpu_expect(t, 128, 1, 0x11);
    tsr_expect_errors(t, TSR_ERR_STRICT_COHERENCE, 1);
    tsr_stop(t);
}

/*
 * A GPU write to a line that is dirty in a cache is an error as well: the
 * cache will write the line back over it.
 */
static void test_write_dirty(void)
{
    TsrTest *t = tsr_start(PROPS);
    uint64_t page = clean_pages(t);

    qtest_memset(t->qts, page + 100, 0x22, 1);
    tsr_err_clear(t);
    gpu_fill(t, 0, 64, 0x55);
    tsr_expect_no_errors(t);
    gpu_fill(t, 0, 65, 0x55);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, page + 64);
    tsr_expect_errors(t, TSR_ERR_STRICT_COHERENCE, 1);
    maintain(t, TSR_COH_FLUSH, page, 4096);
    /* The line of the cache has overwritten the GPU's bytes. */
    cpu_expect(t, page + 64, 1, 0x11);
    cpu_expect(t, page + 100, 1, 0x22);
    cpu_expect(t, page, 64, 0x55);
    tsr_stop(t);

    /* Without strict mode no error is counted. */
    t = tsr_start("io-coherent=off,gart-size=4M");
    page = clean_pages(t);
    qtest_memset(t->qts, page, 0x22, 4096);
    gpu_expect(t, 0, 4096, 0x11);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* Uncached pages need no maintenance. */
static void test_uncached(void)
{
    TsrTest *t = tsr_start(PROPS);
    uint64_t page = tsr_alloc(t, 8192);

    qtest_memset(t->qts, page, 0x11, 8192);
    map_pages(t, page, 2, ENTRY);
    gpu_expect(t, 0, 8192, 0x11);
    gpu_fill(t, 0, 8192, 0x55);
    cpu_expect(t, page, 8192, 0x55);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * An access that spans an uncached and a cached page, contiguous on the bus,
 * treats each as its entry says.
 */
static void test_neighbours(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(PROPS);
    uint64_t page = tsr_alloc(t, 8192);
    uint64_t ptes[2] = { page | ENTRY, (page + 4096) | ENTRY | TSR_APTE_CACHED };

    qtest_memset(t->qts, page, 0x11, 8192);
    tsr_map(c, 4, 0, 2, tsr_list(t, ptes, 2));
    tsr_run_ok(t, PAGING, c);
    maintain(t, TSR_COH_CLEAN, page + 4096, 4096);
    gpu_fill(t, 0, 8192, 0x55);
    cpu_expect(t, page, 4096, 0x55);
    cpu_expect(t, page + 4096, 4096, 0x11);
    gpu_expect(t, 0, 8192, 0x55);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * A TRANSFER on a page list takes the cache attribute from its flags, and sees
 * the same memory as an access through the aperture.
 */
static void test_lists(uint32_t layout)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(PROPS);
    uint64_t vram = tsr_seg_base(t, 1), page = clean_pages(t), list;
    uint64_t pages[2] = { page, page + 4096 };
    uint32_t pitch = layout ? 128 : 0;

    list = tsr_list(t, pages, 2);
    qtest_memset(t->qts, page, 0x22, 8192);
    tsr_transfer(c, TSR_TRANSFER_SRC_PAGES | TSR_TRANSFER_SRC_CACHED,
                 layout << 8, list, vram, 8192, 0, 0, pitch);
    tsr_run_ok(t, PAGING, c);
    g_assert_cmphex(qpci_io_readl(t->dev, t->vram, 8188), ==, 0x11111111);
    g_assert_cmpuint(tsr_err_count(t, TSR_ERR_STRICT_COHERENCE), >, 0);
    tsr_err_clear(t);
    maintain(t, TSR_COH_CLEAN, page, 8192);
    tsr_run_ok(t, PAGING, c);
    g_assert_cmphex(qpci_io_readl(t->dev, t->vram, 8188), ==, 0x22222222);
    /* Copy out: the CPU sees its old copy until it invalidates. */
    c->n = 0;
    tsr_page_fill(c, 0x77777777, vram, 8192);
    tsr_transfer(c, TSR_TRANSFER_DST_PAGES | TSR_TRANSFER_DST_CACHED, layout,
                 vram, list, 8192, 0, 0, pitch);
    tsr_run_ok(t, PAGING, c);
    cpu_expect(t, page, 8192, 0x22);
    gpu_expect(t, 0, 8192, 0x77);
    maintain(t, TSR_COH_INVALIDATE, page, 8192);
    cpu_expect(t, page, 8192, 0x77);
    tsr_expect_no_errors(t);
    /* The same list as uncached pages: the CPU sees the bytes at once. */
    c->n = 0;
    tsr_page_fill(c, 0x33333333, vram, 8192);
    tsr_transfer(c, TSR_TRANSFER_DST_PAGES, layout, vram, list, 8192, 0, 0,
                 pitch);
    tsr_run_ok(t, PAGING, c);
    cpu_expect(t, page, 8192, 0x33);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

static void test_linear_lists(void)
{
    test_lists(TSR_LAYOUT_LINEAR);
}

static void test_swizzled_lists(void)
{
    test_lists(TSR_LAYOUT_TILE4K);
}

/* A reset of the device leaves the memory, and thus the copies, as they are. */
static void test_reset(void)
{
    TsrTest *t = tsr_start(PROPS);
    uint64_t page = clean_pages(t);

    gpu_fill(t, 0, 8192, 0x55);
    tsr_device_reset(t);
    g_assert_cmphex(tsr_r64(t, TSR_COH_ADDR_LO), ==, 0);
    g_assert_cmphex(tsr_r32(t, TSR_COH_SIZE), ==, 0);
    cpu_expect(t, page, 8192, 0x11);
    maintain(t, TSR_COH_INVALIDATE, page, 8192);
    cpu_expect(t, page, 8192, 0x55);
    tsr_stop(t);
}

/* Invalid commands, sizes and addresses are counted and have no effect. */
static void test_errors(void)
{
    static const uint32_t bad[] = { 0, TSR_COH_WRITE_BACK + 1, 0xffffffff };
    static const uint64_t nowhere[] = { 1ULL << 40, 1ULL << 48, UINT64_MAX };
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(PROPS);
    uint64_t page = clean_pages(t), vram = tsr_seg_base(t, 1);
    uint64_t regs;

    qtest_memset(t->qts, page, 0x22, 8192);
    tsr_err_clear(t);
    for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
        maintain(t, bad[i], page, 4096);
        g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, TSR_COH_COMMAND);
        tsr_expect_errors(t, TSR_ERR_REGISTER, 1);
    }
    maintain(t, TSR_COH_CLEAN, page, TSR_COH_MAX_BYTES + 1);
    tsr_expect_errors(t, TSR_ERR_REGISTER, 1);
    g_assert_cmphex(tsr_r64(t, TSR_COH_ADDR_LO), ==, page);
    g_assert_cmphex(tsr_r32(t, TSR_COH_SIZE), ==, TSR_COH_MAX_BYTES + 1);
    tsr_r32(t, TSR_COH_COMMAND);
    tsr_expect_errors(t, TSR_ERR_REGISTER, 1);
    for (unsigned int i = 0; i < ARRAY_SIZE(nowhere); i++) {
        maintain(t, TSR_COH_FLUSH, nowhere[i], 4096);
        g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==,
                        nowhere[i] >> 48 ? nowhere[i] : nowhere[i] & ~63ULL);
        tsr_expect_errors(t, TSR_ERR_DMA, 1);
    }
    regs = qpci_config_readl(t->dev, PCI_BASE_ADDRESS_0) & ~15u;
    maintain(t, TSR_COH_CLEAN, regs, 64);
    tsr_expect_errors(t, TSR_ERR_DMA, 1);
    /* None of the failed commands had an effect. */
    gpu_expect(t, 0, 8192, 0x11);
    tsr_err_clear(t);

    /* The CACHED flags are valid for a page list only. */
    tsr_transfer(c, TSR_TRANSFER_SRC_CACHED, 0, vram, vram + 4096, 8, 0, 0, 0);
    tsr_run_err(t, PAGING, c, TSR_ERR_PACKET);
    c->n = 0;
    tsr_transfer(c, TSR_TRANSFER_SRC_PAGES | TSR_TRANSFER_DST_CACHED, 0,
                 tsr_list(t, &page, 1), vram, 8, 0, 0, 0);
    tsr_run_err(t, PAGING, c, TSR_ERR_PACKET);
    tsr_stop(t);
}

/* ---- A device that can snoop --------------------------------------------- */

/* COH-1: with snooping both sides see current bytes without maintenance. */
static void test_coherent(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(SNOOPS);
    uint64_t page = tsr_alloc(t, 8192);

    for (unsigned int round = 0; round < 2; round++) {
        uint64_t cached = round ? TSR_APTE_CACHED : 0;

        qtest_memset(t->qts, page, 0x11, 8192);
        map_pages(t, page, 2, ENTRY | TSR_APTE_COHERENT | cached);
        gpu_expect(t, 0, 8192, 0x11);
        gpu_fill(t, 0, 8192, 0x55);
        cpu_expect(t, page, 8192, 0x55);
        tsr_unmap(c, 4, 0, 2);
        tsr_w64(t, TSR_CTRL_DUMMY_PAGE_LO, t->bounce);
        tsr_run_ok(t, PAGING, c);
    }
    g_assert_cmpint(tsr_qom_get(t, "x-cached-pages"), ==, 0);
    tsr_expect_no_errors(t);
    /*
     * Page lists always snoop on this device, so the CACHED flags are errors.
     */
    c->n = 0;
    tsr_transfer(c, TSR_TRANSFER_SRC_PAGES | TSR_TRANSFER_SRC_CACHED, 0,
                 tsr_list(t, &page, 1), tsr_seg_base(t, 1), 8, 0, 0, 0);
    tsr_run_err(t, PAGING, c, TSR_ERR_PACKET);
    tsr_stop(t);
}

/*
 * COH-13: map two pages twice: first with the COHERENT bit, then, at
 * FORGOTTEN, as a driver would that forgot the bit.
 */
#define FORGOTTEN       8192            /* offset of the second mapping */

static uint64_t map_both_ways(TsrTest *t)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    uint64_t page = tsr_alloc(t, 8192);
    uint64_t cached = page | ENTRY | TSR_APTE_CACHED;
    uint64_t ptes[4] = {
        cached | TSR_APTE_COHERENT, (cached + 4096) | TSR_APTE_COHERENT,
        cached, cached + 4096,
    };

    qtest_memset(t->qts, page, 0x11, 8192);
    tsr_map(c, 4, 0, 4, tsr_list(t, ptes, 4));
    tsr_run_ok(t, PAGING, c);
    return page;
}

/*
 * COH-13: a mapping without the COHERENT bit reads stale bytes until a clean.
 */
static void test_forgotten_read(void)
{
    TsrTest *t = tsr_start(SNOOPS);
    uint64_t page = map_both_ways(t);

    gpu_expect(t, 0, 8192, 0x11);
    tsr_expect_no_errors(t);
    maintain(t, TSR_COH_CLEAN, page, 8192);
    gpu_expect(t, FORGOTTEN, 8192, 0x11);
    tsr_expect_no_errors(t);
    /* Only the mapping with the COHERENT bit sees later stores of a CPU. */
    qtest_memset(t->qts, page, 0x22, 8192);
    gpu_expect(t, 0, 8192, 0x22);
    tsr_expect_no_errors(t);
    gpu_expect(t, FORGOTTEN, 8192, 0x11);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, page);
    tsr_expect_errors(t, TSR_ERR_STRICT_COHERENCE, 2);
    maintain(t, TSR_COH_CLEAN, page, 8192);
    gpu_expect(t, FORGOTTEN, 8192, 0x22);
    tsr_expect_no_errors(t);
    tsr_stop(t);

    /*
     * Without strict mode no error is counted, but the bytes are stale as
     * well.
     */
    t = tsr_start("gart-size=4M,vram-size=4M");
    page = map_both_ways(t);
    maintain(t, TSR_COH_CLEAN, page, 8192);
    qtest_memset(t->qts, page, 0x22, 8192);
    gpu_expect(t, FORGOTTEN, 8192, 0x11);
    gpu_expect(t, 0, 8192, 0x22);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * COH-13: a write without the COHERENT bit stays invisible to CPUs until an
 * invalidation.
 */
static void test_forgotten_write(void)
{
    TsrTest *t = tsr_start(SNOOPS);
    uint64_t page = map_both_ways(t);

    maintain(t, TSR_COH_CLEAN, page, 8192);
    gpu_fill(t, FORGOTTEN, 8192, 0x55);
    tsr_expect_no_errors(t);
    cpu_expect(t, page, 8192, 0x11);
    /* This mapping snoops, and so sees what the CPU sees. */
    gpu_expect(t, 0, 8192, 0x11);
    gpu_expect(t, FORGOTTEN, 8192, 0x55);
    maintain(t, TSR_COH_INVALIDATE, page, 8192);
    cpu_expect(t, page, 8192, 0x55);
    gpu_expect(t, 0, 8192, 0x55);
    tsr_expect_no_errors(t);
    /* A snooping write changes the cached lines, not the DRAM behind them. */
    gpu_fill(t, 0, 4096, 0x66);
    cpu_expect(t, page, 4096, 0x66);
    gpu_expect(t, FORGOTTEN, 4096, 0x55);
    tsr_expect_errors(t, TSR_ERR_STRICT_COHERENCE, 1);
    gpu_expect(t, FORGOTTEN + 4096, 4096, 0x55);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * The contents of DRAM are unknown for a page without any maintenance: a read
 * that does not snoop is an error and returns poison.
 */
static void test_forgotten_at_once(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(SNOOPS);
    uint64_t page = map_both_ways(t);

    tsr_bind_buffer(c, 0, tsr_seg_base(t, 4) + FORGOTTEN, 4096, TSR_FORMAT_R32,
                    RW);
    tsr_bind_buffer(c, 1, tsr_seg_base(t, 1), 4096, TSR_FORMAT_R32, RW);
    tsr_copy(c, 1, 0, 0, 0, 0, 0, 1024, 1);
    g_assert_cmpuint(tsr_run(t, RENDER, true, c, NULL), ==, TSR_ERR_NONE);
    expect_poison(t);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, page);
    tsr_expect_errors(t, TSR_ERR_STRICT_COHERENCE, 1);
    tsr_stop(t);
}

/* Build an address space that maps @ptes from address 0 on; return its root. */
static uint64_t new_space(TsrTest *t, const uint64_t *ptes, uint32_t count)
{
    uint64_t entry = 0;

    for (uint32_t level = 0; level < TSR_PT_LEVELS; level++) {
        uint64_t table = tsr_alloc(t, 4096);

        qtest_memset(t->qts, table, 0, 4096);
        if (level) {
            qtest_writeq(t->qts, table, entry);
        } else {
            qtest_memwrite(t->qts, table, ptes, count * sizeof(ptes[0]));
        }
        entry = table | TSR_PTE_VALID;
    }
    return entry;
}

/* Return the word at @va. Page 2 of the address space must be VRAM. */
static uint32_t vm_read(TsrTest *t, uint64_t root, uint64_t va)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);

    tsr_put(c, TSR_OP_SET_VM, 0, TSR_SET_VM_DWORDS, 1, (uint32_t)root,
            (uint32_t)(root >> 32));
    tsr_bind_buffer(c, 0, va, 4, TSR_FORMAT_R32, RW);
    tsr_bind_buffer(c, 1, 2 * 4096, 4, TSR_FORMAT_R32, RW);
    tsr_copy(c, 1, 0, 0, 0, 0, 0, 1, 1);
    g_assert_cmpuint(tsr_run(t, RENDER, false, c, NULL), ==, TSR_ERR_NONE);
    return qpci_io_readl(t->dev, t->vram, 0);
}

/* COH-13: the COHERENT bit of a PTE works as that of an aperture entry. */
static void test_forgotten_vm(void)
{
    TsrTest *t = tsr_start(SNOOPS);
    uint64_t page = tsr_alloc(t, 4096);
    uint64_t cached = page | TSR_PTE_VALID | TSR_PTE_WRITE | TSR_PTE_CACHED;
    uint64_t root = new_space(t, (uint64_t[]) {
        cached | TSR_PTE_COHERENT, cached,
        tsr_seg_base(t, 1) | TSR_PTE_VALID | TSR_PTE_WRITE | TSR_PTE_VRAM,
    }, 3);

    qtest_memset(t->qts, page, 0x11, 4096);
    g_assert_cmphex(vm_read(t, root, 64), ==, 0x11111111);
    tsr_expect_no_errors(t);
    g_assert_cmphex(vm_read(t, root, 4096 + 64), ==, TSR_POISON);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, page + 64);
    tsr_expect_errors(t, TSR_ERR_STRICT_COHERENCE, 1);
    maintain(t, TSR_COH_CLEAN, page, 4096);
    qtest_memset(t->qts, page, 0x22, 4096);
    g_assert_cmphex(vm_read(t, root, 64), ==, 0x22222222);
    tsr_expect_no_errors(t);
    g_assert_cmphex(vm_read(t, root, 4096 + 64), ==, 0x11111111);
    tsr_expect_errors(t, TSR_ERR_STRICT_COHERENCE, 1);
    tsr_stop(t);
}

/* ---- The end of all copies ----------------------------------------------- */

#define SETTLED         3               /* pages that settle_begin() uses */

/*
 * Bring three pages out of step: the first was written by an engine, the second
 * by a CPU, both after a clean. The third was never maintained, and both have
 * written to it.
 */
static uint64_t settle_begin(TsrTest *t)
{
    uint64_t page = tsr_alloc(t, SETTLED * 4096);

    qtest_memset(t->qts, page, 0x11, SETTLED * 4096);
    map_pages(t, page, SETTLED, ENTRY | TSR_APTE_CACHED);
    maintain(t, TSR_COH_CLEAN, page, 8192);
    gpu_fill(t, 0, 4096, 0x55);
    qtest_memset(t->qts, page + 4096, 0x22, 4096);
    qtest_memset(t->qts, page + 8192, 0x33, 4096);
    gpu_fill(t, 8192, 4096, 0x77);
    g_assert_cmpint(tsr_qom_get(t, "x-cached-pages"), ==, SETTLED);
    tsr_expect_errors(t, TSR_ERR_STRICT_COHERENCE, 1);
    return page;
}

/* Engines and CPUs must see what the caches have written back. */
static void settle_end(TsrTest *t, uint64_t page)
{
    static const uint8_t value[SETTLED] = { 0x55, 0x22, 0x33 };

    tsr_rule(tsr_qom_get(t, "x-cached-pages") == 0, "the device keeps pages "
             "apart from their caches after the machine has stopped");
    for (uint32_t i = 0; i < SETTLED; i++) {
        cpu_expect(t, page + i * 4096, 4096, value[i]);
        gpu_expect(t, i * 4096, 4096, value[i]);
    }
    tsr_expect_no_errors(t);
    /* From here on the caches are modelled as before. */
    qtest_memset(t->qts, page, 0x66, 4096);
    gpu_expect(t, 0, 4096, 0x55);
    tsr_expect_errors(t, TSR_ERR_STRICT_COHERENCE, 1);
    maintain(t, TSR_COH_CLEAN, page, 4096);
    gpu_fill(t, 0, 4096, 0x44);
    cpu_expect(t, page, 4096, 0x66);
    maintain(t, TSR_COH_INVALIDATE, page, 4096);
    cpu_expect(t, page, 4096, 0x44);
    tsr_expect_no_errors(t);
}

/*
 * The caches write back when the machine stops, so it migrates with all bytes
 * of both sides.
 */
static void test_migrate(const void *props)
{
    TsrTest *t = tsr_start(props);
    uint64_t page = settle_begin(t);

    t = tsr_migrate(t, props);
    settle_end(t, page);
    tsr_stop(t);
}

/*
 * The same without migration. While the machine stands, a command neither
 * changes RAM nor makes the device keep a page.
 */
static void test_pause(void)
{
    TsrTest *t = tsr_start(PROPS);
    uint64_t page = settle_begin(t);

    qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
    maintain(t, TSR_COH_INVALIDATE, page, SETTLED * 4096);
    g_assert_cmpint(tsr_qom_get(t, "x-cached-pages"), ==, 0);
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    settle_end(t, page);
    tsr_stop(t);
}

/*
 * A reset of the machine drops the caches and does not write them back. The
 * contents of memory are unknown again.
 */
static void test_machine_reset(void)
{
    TsrTest *t = tsr_start(PROPS);
    uint64_t page = settle_begin(t);

    qtest_system_reset(t->qts);
    g_assert_cmpint(tsr_qom_get(t, "x-cached-pages"), ==, 0);
    cpu_expect(t, page, 4096, 0x11);
    cpu_expect(t, page + 4096, 4096, 0x22);
    cpu_expect(t, page + 8192, 4096, 0x33);
    g_free(t->dev);
    qpci_free_pc(t->bus);
    tsr_set_up(t);
    page = tsr_alloc(t, 4096);
    map_pages(t, page, 1, ENTRY | TSR_APTE_CACHED);
    tsr_expect_no_errors(t);
    gpu_expect(t, 0, 1, TSR_POISON & 0xff);
    tsr_expect_errors(t, TSR_ERR_STRICT_COHERENCE, 1);
    tsr_stop(t);
}

/*
 * A wake-up from S3 resets all devices, but memory and caches keep everything.
 */
static void test_sleep(void)
{
    TsrTest *t = tsr_start(PROPS);
    uint64_t page = settle_begin(t);

    tsr_sleep(t);
    qtest_qmp_assert_success(t->qts, "{'execute': 'system_wakeup'}");
    qtest_qmp_eventwait(t->qts, "WAKEUP");
    tsr_rule(tsr_qom_get(t, "x-cached-pages") == SETTLED, "the device has "
             "forgotten pages over S3");
    g_free(t->dev);
    qpci_free_pc(t->bus);
    tsr_set_up(t);
    cpu_expect(t, page, 4096, 0x11);
    maintain(t, TSR_COH_INVALIDATE, page, 4096);
    cpu_expect(t, page, 4096, 0x55);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * The device keeps no more pages apart than it may. Engines and CPUs see each
 * other's bytes in the pages beyond that, with and without maintenance.
 */
static void test_limit(const void *props)
{
    g_autofree char *all = g_strdup_printf("%s,cached-pages=2",
                                           (const char *)props);
    TsrTest *t = tsr_start(all);
    uint64_t page = tsr_alloc(t, 16384);

    qtest_memset(t->qts, page, 0x11, 16384);
    map_pages(t, page, 4, ENTRY | TSR_APTE_CACHED);
    maintain(t, TSR_COH_CLEAN, page, 16384);
    tsr_rule(tsr_qom_get(t, "x-cached-pages") == 2, "the device keeps %" PRId64
             " pages apart from their caches, and may keep 2",
             tsr_qom_get(t, "x-cached-pages"));
    qtest_memset(t->qts, page, 0x22, 16384);
    gpu_expect(t, 8192, 8192, 0x22);
    tsr_expect_no_errors(t);
    gpu_expect(t, 0, 8192, 0x11);
    tsr_expect_errors(t, TSR_ERR_STRICT_COHERENCE, 2);
    gpu_fill(t, 8192, 8192, 0x55);
    cpu_expect(t, page + 8192, 8192, 0x55);
    maintain(t, TSR_COH_INVALIDATE, page + 8192, 8192);
    cpu_expect(t, page + 8192, 8192, 0x55);
    maintain(t, TSR_COH_WRITE_BACK, page + 8192, 8192);
    gpu_expect(t, 8192, 8192, 0x55);
    g_assert_cmpint(tsr_qom_get(t, "x-cached-pages"), ==, 2);
    tsr_expect_no_errors(t);
    tsr_stop(t);

    /* Each page may be one too many. */
    all[strlen(all) - 1] = '0';
    t = tsr_start(all);
    page = tsr_alloc(t, 4096);
    qtest_memset(t->qts, page, 0x11, 4096);
    map_pages(t, page, 1, ENTRY | TSR_APTE_CACHED);
    gpu_expect(t, 0, 4096, 0x11);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * No second copy is kept of the device's own memory: maintenance of VRAM
 * fails.
 */
static void test_own_memory(void)
{
    TsrTest *t = tsr_start("io-coherent=off");

    tsr_w64(t, TSR_COH_ADDR_LO, t->vram.addr);
    tsr_w32(t, TSR_COH_SIZE, 64);
    tsr_w32(t, TSR_COH_COMMAND, TSR_COH_FLUSH);
    tsr_expect_errors(t, TSR_ERR_DMA, 1);
    tsr_stop(t);
}

#define DIMM_ADDR       0x100000000ull  /* the first DIMM, above 4 GiB */
#define MEM_HP_SLOT     0xa00
#define MEM_HP_CONTROL  0xa14
#define MEM_HP_EJECT    8

static void wait_cached_pages(TsrTest *t, int64_t pages)
{
    int64_t deadline = g_get_monotonic_time() + TSR_TEST_DEADLINE_US;

    while (tsr_qom_get(t, "x-cached-pages") != pages) {
        tsr_rule(g_get_monotonic_time() < deadline, "the device still keeps "
                 "%" PRId64 " pages apart from their caches, not %" PRId64,
                 tsr_qom_get(t, "x-cached-pages"), pages);
        g_usleep(100);
    }
}

/* When RAM is unplugged, the device drops the copies that it kept for it. */
static void test_unplugged_ram(void)
{
    TsrTest *t = tsr_start_machine(PROPS, "-m 128M,slots=2,maxmem=1G "
                                   "-object memory-backend-ram,id=mem,size=128M "
                                   "-device pc-dimm,id=dimm,memdev=mem");
    uint64_t page;

    tsr_map_device(t);
    tsr_set_up_memory(t);
    page = tsr_alloc(t, 4096);
    maintain(t, TSR_COH_CLEAN, page, 4096);
    g_assert_cmpint(tsr_qom_get(t, "x-cached-pages"), ==, 1);
    maintain(t, TSR_COH_CLEAN, DIMM_ADDR + 4096, 3 * 4096);
    maintain(t, TSR_COH_CLEAN, DIMM_ADDR + (128 << 20) - 4096, 4096);
    g_assert_cmpint(tsr_qom_get(t, "x-cached-pages"), ==, 5);
    tsr_expect_no_errors(t);
    qtest_outl(t->qts, MEM_HP_SLOT, 0);
    qtest_outb(t->qts, MEM_HP_CONTROL, MEM_HP_EJECT);
    qtest_qmp_eventwait(t->qts, "DEVICE_DELETED");
    qtest_qmp_assert_success(t->qts, "{'execute': 'object-del', "
                             "'arguments': {'id': 'mem'}}");
    wait_cached_pages(t, 1);
    maintain(t, TSR_COH_CLEAN, DIMM_ADDR + 4096, 4096);
    tsr_expect_errors(t, TSR_ERR_DMA, 1);
    tsr_stop(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/coherence/COH-6-clean", test_clean);
    qtest_add_func("/tessera/coherence/COH-7-invalidate", test_invalidate);
    qtest_add_func("/tessera/coherence/COH-11-stale", test_stale);
    qtest_add_func("/tessera/coherence/clean-keeps", test_clean_keeps_lines);
    qtest_add_func("/tessera/coherence/write-back", test_write_back);
    qtest_add_func("/tessera/coherence/COH-9-lines", test_lines);
    qtest_add_func("/tessera/coherence/write-dirty", test_write_dirty);
    qtest_add_func("/tessera/coherence/uncached", test_uncached);
    qtest_add_func("/tessera/coherence/neighbours", test_neighbours);
    qtest_add_func("/tessera/coherence/lists", test_linear_lists);
    qtest_add_func("/tessera/coherence/swizzled-lists", test_swizzled_lists);
    qtest_add_func("/tessera/coherence/reset", test_reset);
    qtest_add_func("/tessera/coherence/errors", test_errors);
    qtest_add_func("/tessera/coherence/COH-1-coherent", test_coherent);
    qtest_add_func("/tessera/coherence/COH-13-read", test_forgotten_read);
    qtest_add_func("/tessera/coherence/COH-13-write", test_forgotten_write);
    qtest_add_func("/tessera/coherence/COH-13-at-once", test_forgotten_at_once);
    qtest_add_func("/tessera/coherence/COH-13-vm", test_forgotten_vm);
    qtest_add_data_func("/tessera/coherence/migrate", PROPS, test_migrate);
    qtest_add_data_func("/tessera/coherence/migrate-snoops", SNOOPS,
                        test_migrate);
    qtest_add_func("/tessera/coherence/pause", test_pause);
    qtest_add_func("/tessera/coherence/machine-reset", test_machine_reset);
    qtest_add_func("/tessera/coherence/sleep", test_sleep);
    qtest_add_data_func("/tessera/coherence/limit", PROPS, test_limit);
    qtest_add_data_func("/tessera/coherence/limit-snoops", SNOOPS, test_limit);
    qtest_add_func("/tessera/coherence/own-memory", test_own_memory);
    qtest_add_func("/tessera/coherence/unplugged-ram", test_unplugged_ram);
    return g_test_run();
}
