/*
 * QTest: the CPU host aperture, as RAM and (in strict mode) as a trap
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "qobject/qdict.h"
#include "tessera-migrate.h"

#define SIZES   "vram-size=4M,vram-hidden-size=8M,agp-ro-size=1M," \
                "gart-size=4M,firmware-size=1M"
#define RAM     "tessera.host-aperture"
#define TRAP    "tessera.host-aperture-trap"
#define PAGE    4096u
#define ONES    0xffffffffffffffffull

static const char *const modes[] = { "strict=off", "strict=on" };

typedef struct Aperture {
    TsrTest *t;
    QPCIBar bar;
    uint64_t hidden;            /* segment 2 */
} Aperture;

static Aperture start(const char *props)
{
    g_autofree char *all = g_strdup_printf(SIZES ",%s", props);
    Aperture a = { .t = tsr_start(all) };

    a.bar = qpci_iomap(a.t->dev, TSR_BAR_HOST_APERTURE, NULL);
    a.hidden = tsr_seg_base(a.t, 2);
    return a;
}

static void map(Aperture *a, uint32_t first, uint32_t count, uint64_t gpa)
{
    tsr_w64(a->t, TSR_HA_ADDR_LO, gpa);
    tsr_w32(a->t, TSR_HA_COUNT, count);
    tsr_w32(a->t, TSR_HA_MAP, first);
}

static void unmap(Aperture *a, uint32_t first, uint32_t count)
{
    tsr_w32(a->t, TSR_HA_COUNT, count);
    tsr_w32(a->t, TSR_HA_UNMAP, first);
}

static uint64_t rd(Aperture *a, uint64_t offset)
{
    return qpci_io_readq(a->t->dev, a->bar, offset);
}

static void wr(Aperture *a, uint64_t offset, uint64_t value)
{
    qpci_io_writeq(a->t->dev, a->bar, offset, value);
}

/* Require that the region behind BAR 4 is RAM or TRAP. */
static void expect_region(TsrTest *t, const char *name)
{
    g_autofree char *path = g_strdup_printf("/machine/peripheral/gpu/%s[0]",
                                            name);

    qtest_qmp_assert_success(t->qts, "{'execute': 'qom-get', 'arguments': {"
                             "'path': %s, 'property': 'size'}}", path);
}

static void fill(Aperture *a, uint32_t value, uint64_t gpa, uint64_t bytes)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);

    tsr_page_fill(c, value, gpa, bytes);
    tsr_run_ok(a->t, PAGING, c);
}

/* CHA-2, CHA-4, CHA-6: each page of the aperture shows a page of a segment. */
static void check_pages(const char *mode, uint32_t page)
{
    g_autofree char *props = g_strdup_printf("%s,page-size=%u,"
                                             "host-aperture-size=%u", mode,
                                             page, 7 * page);
    Aperture a = start(props);
    TsrTest *t = a.t;
    uint64_t got, vram = tsr_seg_base(t, 1);

    expect_region(t, strcmp(mode, "strict=on") ? RAM : TRAP);
    g_assert_cmpuint(tsr_r64(t, TSR_HA_SIZE_LO), ==, 7 * page);
    g_assert_cmpuint(tsr_r32(t, TSR_HA_PAGE_SIZE), ==, page);
    g_assert_cmphex(tsr_r32(t, TSR_ID_CAPS) & TSR_CAP_HOST_APERTURE, !=, 0);
    fill(&a, 0x11111111, vram, 4 * page);
    fill(&a, 0x22222222, a.hidden, 8 * page);
    /*
     * Map three contiguous pages, a page of another segment, and the last two
     * pages of a segment.
     */
    map(&a, 0, 3, a.hidden + page);
    g_assert_cmphex(tsr_r64(t, TSR_HA_ADDR_LO), ==, a.hidden + 4 * page);
    map(&a, 3, 1, vram + 2 * page);
    map(&a, 5, 2, a.hidden + (8 << 20) - 2 * page);
    for (uint32_t i = 0; i < 4; i++) {
        wr(&a, i * page + 8 * i, 0xabcd0000 + i);
        g_assert_cmphex(rd(&a, i * page + 512), ==,
                        i < 3 ? 0x2222222222222222 : 0x1111111111111111);
        tsr_gpu_read(t, i < 3 ? a.hidden + (1 + i) * page + 8 * i
                              : vram + 2 * page + 8 * i, &got, 8);
        g_assert_cmphex(got, ==, 0xabcd0000 + i);
    }
    g_assert_cmphex(qpci_io_readq(t->dev, t->vram, 2 * page + 24), ==,
                    0xabcd0003);
    got = 0x1020304050607080;
    tsr_gpu_write(t, a.hidden + (8 << 20) - 8, &got, 8);
    g_assert_cmphex(rd(&a, 7 * page - 8), ==, got);
    g_assert_cmphex(qpci_io_readb(t->dev, a.bar, 7 * page - 1), ==, 0x10);
    g_assert_cmphex(qpci_io_readw(t->dev, a.bar, 7 * page - 4), ==, 0x3040);
    unmap(&a, 5, 1);
    unmap(&a, 2, 1);
    /* The address advances, so the next command can follow at once. */
    tsr_w64(t, TSR_HA_ADDR_LO, a.hidden + page);
    tsr_w32(t, TSR_HA_COUNT, 1);
    tsr_w32(t, TSR_HA_MAP, 5);
    tsr_w32(t, TSR_HA_MAP, 2);
    g_assert_cmphex(rd(&a, 5 * page), ==, 0xabcd0000);
    g_assert_cmphex(rd(&a, 2 * page + 8), ==, 0xabcd0001);
    tsr_expect_no_errors(t);
    /* An unmapped page shows ones; its neighbours stay mapped. */
    unmap(&a, 1, 2);
    g_assert_cmphex(rd(&a, 0), ==, 0xabcd0000);
    g_assert_cmphex(rd(&a, 3 * page + 24), ==, 0xabcd0003);
    tsr_expect_no_errors(t);
    g_assert_cmphex(rd(&a, page + 8), ==, ONES);
    g_assert_cmphex(rd(&a, 3 * page - 8), ==, ONES);
    tsr_stop(t);
}

static void test_pages(void)
{
    for (int i = 0; i < 2; i++) {
        check_pages(modes[i], 4096);
        check_pages(modes[i], 65536);
    }
}

/* CHA-5: apertures of one page and of no page. */
static void test_sizes(void)
{
    for (int i = 0; i < 2; i++) {
        g_autofree char *one = g_strdup_printf("%s,host-aperture-size=4096",
                                               modes[i]);
        g_autofree char *none = g_strdup_printf("%s,host-aperture-size=0",
                                                modes[i]);
        Aperture a = start(one);
        TsrTest *t;

        fill(&a, 0x33333333, a.hidden, PAGE);
        map(&a, 0, 1, a.hidden);
        g_assert_cmphex(rd(&a, PAGE - 8), ==, 0x3333333333333333);
        tsr_expect_no_errors(a.t);
        map(&a, 0, 2, a.hidden);
        g_assert_cmphex(rd(&a, 0), ==, 0x3333333333333333);
        tsr_expect_errors(a.t, TSR_ERR_HOST_APERTURE, 1);
        /* Hidden memory, which is in no segment, cannot be mapped. */
        map(&a, 0, 1, tsr_r64(a.t, TSR_ID_HIDDEN_BASE_LO));
        tsr_expect_errors(a.t, TSR_ERR_SEGMENT, 1);
        g_assert_cmphex(rd(&a, 0), ==, 0x3333333333333333);
        tsr_stop(a.t);

        t = tsr_start(none);
        a.t = t;
        g_assert_cmphex(tsr_r32(t, TSR_ID_CAPS) & TSR_CAP_HOST_APERTURE, ==,
                        0);
        g_assert_cmphex(tsr_r32(t, TSR_SEG(1) + TSR_SEG_FLAGS), ==, 0);
        g_assert_cmpuint(tsr_r64(t, TSR_HA_SIZE_LO), ==, 0);
        qpci_config_writel(t->dev, PCI_BASE_ADDRESS_4, 0xffffffff);
        g_assert_cmphex(qpci_config_readl(t->dev, PCI_BASE_ADDRESS_4), ==, 0);
        map(&a, 0, 0, tsr_seg_base(t, 2));
        tsr_expect_no_errors(t);
        map(&a, 0, 1, tsr_seg_base(t, 2));
        unmap(&a, 0, 1);
        tsr_expect_errors(t, TSR_ERR_HOST_APERTURE, 2);
        tsr_stop(t);
    }
}

/*
 * CHA-8: an access to an unmapped page is an error. Strict mode counts it at
 * once.
 */
static void test_unmapped(void)
{
    Aperture a = start("strict=on,host-aperture-size=16K");

    wr(&a, 4096 + 16, 1);
    g_assert_cmphex(tsr_r64(a.t, TSR_ERR_REC_ADDR_LO), ==, 4096 + 16);
    tsr_expect_errors(a.t, TSR_ERR_HOST_APERTURE, 1);
    g_assert_cmphex(rd(&a, 4096 + 16), ==, ONES);
    tsr_expect_errors(a.t, TSR_ERR_HOST_APERTURE, 1);
    /*
     * An access that crosses a page boundary is split, and checked page by
     * page.
     */
    fill(&a, 0, a.hidden, PAGE);
    map(&a, 0, 1, a.hidden);
    qtest_writeq(a.t->qts, a.bar.addr + 4096 - 4, 0x1122334455667788);
    tsr_expect_errors(a.t, TSR_ERR_HOST_APERTURE, 1);
    g_assert_cmphex(rd(&a, 4096 - 8), ==, 0x5566778800000000);
    tsr_expect_no_errors(a.t);
    tsr_stop(a.t);

    /*
     * Without strict mode a store is counted with the next command for its
     * page, and its value is lost.
     */
    a = start("strict=off,host-aperture-size=16K");
    wr(&a, 4096 + 16, 1);
    wr(&a, 3 * 4096 + 8, 2);
    tsr_expect_no_errors(a.t);
    unmap(&a, 2, 1);
    tsr_expect_no_errors(a.t);
    map(&a, 0, 3, a.hidden);
    g_assert_cmphex(tsr_r64(a.t, TSR_ERR_REC_ADDR_LO), ==, 4096);
    tsr_expect_errors(a.t, TSR_ERR_HOST_APERTURE, 1);
    g_assert_cmphex(rd(&a, 4096 + 16), ==, 0);
    unmap(&a, 3, 1);
    tsr_expect_errors(a.t, TSR_ERR_HOST_APERTURE, 1);
    g_assert_cmphex(rd(&a, 3 * 4096 + 8), ==, ONES);
    unmap(&a, 0, 4);
    tsr_expect_no_errors(a.t);
    /* A store of the value that is already there counts as well. */
    wr(&a, 2 * 4096, ONES);
    unmap(&a, 2, 1);
    tsr_expect_errors(a.t, TSR_ERR_HOST_APERTURE, 1);
    tsr_stop(a.t);
}

/*
 * When the host refuses a mapping, the aperture goes on as a trap, with the
 * same contents.
 */
static void test_refused(void)
{
    Aperture a = start("strict=off,host-aperture-size=8M");

    expect_region(a.t, RAM);
    fill(&a, 0x77777777, a.hidden, 4 << 20);
    map(&a, 0, 1024, a.hidden);
    wr(&a, 5 * PAGE, 1);
    tsr_qom_set(a.t, "x-fail-mapping", 1);
    unmap(&a, 512, 512);
    tsr_expect_no_errors(a.t);
    g_assert_cmphex(rd(&a, 5 * PAGE), ==, 1);
    g_assert_cmphex(rd(&a, 6 * PAGE), ==, 0x7777777777777777);
    wr(&a, 6 * PAGE, 2);
    g_assert_cmphex(rd(&a, 600 * PAGE), ==, ONES);
    tsr_expect_errors(a.t, TSR_ERR_HOST_APERTURE, 1);
    map(&a, 600, 1, a.hidden + 6 * PAGE);
    g_assert_cmphex(rd(&a, 600 * PAGE), ==, 2);
    tsr_device_reset(a.t);
    g_assert_cmphex(rd(&a, 5 * PAGE), ==, ONES);
    tsr_expect_errors(a.t, TSR_ERR_HOST_APERTURE, 1);
    tsr_stop(a.t);
}

/*
 * Strict mode checks CPU accesses through the aperture like those of engines.
 */
static void test_strict(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    Aperture a = start("strict=on,host-aperture-size=16K");
    TsrTest *t = a.t;

    map(&a, 0, 4, a.hidden);
    g_assert_cmphex(rd(&a, 8), ==, ONES);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, a.hidden + 8);
    tsr_expect_errors(t, TSR_ERR_STRICT_UNWRITTEN, 1);
    wr(&a, 8, 0x77);
    g_assert_cmphex(rd(&a, 8), ==, 0x77);
    c->n = 0;
    tsr_transfer(c, 0, 0, a.hidden, a.hidden + 8192, 8, 0, 0, 0);
    tsr_mark(c, TSR_MARK_FREE, a.hidden, 4096);
    tsr_mark(c, TSR_MARK_EVICTED, a.hidden + 4096, 4096);
    tsr_run_ok(t, PAGING, c);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, a.hidden);
    tsr_expect_errors(t, TSR_ERR_STRICT_SHOWN, 2);
    wr(&a, 8, 1);
    g_assert_cmphex(rd(&a, 8), ==, ONES);
    tsr_expect_errors(t, TSR_ERR_STRICT_FREED, 2);
    g_assert_cmphex(rd(&a, 4096), ==, ONES);
    tsr_expect_errors(t, TSR_ERR_STRICT_EVICTED, 1);
    /*
     * A page must be unmapped before it is mapped again, and before the memory
     * that it shows is freed or evicted.
     */
    map(&a, 1, 1, a.hidden + 8192);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, 4096);
    tsr_expect_errors(t, TSR_ERR_STRICT_OVERLAP, 1);
    unmap(&a, 0, 4);
    map(&a, 1, 1, a.hidden);
    c->n = 0;
    tsr_mark(c, TSR_MARK_ALLOCATED, a.hidden, 4096);
    tsr_mark(c, TSR_MARK_FREE, a.hidden + 4096, 8192);
    tsr_run_ok(t, PAGING, c);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * Mapping over mapped pages is one error for each command, and the record has
 * the first such page.
 */
static void test_overlap(void)
{
    Aperture a = start("strict=on,host-aperture-size=16K");

    map(&a, 1, 2, a.hidden);
    tsr_expect_no_errors(a.t);
    map(&a, 0, 4, a.hidden);
    g_assert_cmphex(tsr_r64(a.t, TSR_ERR_REC_ADDR_LO), ==, PAGE);
    tsr_expect_errors(a.t, TSR_ERR_STRICT_OVERLAP, 1);
    map(&a, 0, 4, a.hidden);
    g_assert_cmphex(tsr_r64(a.t, TSR_ERR_REC_ADDR_LO), ==, 0);
    tsr_expect_errors(a.t, TSR_ERR_STRICT_OVERLAP, 1);
    unmap(&a, 0, 4);
    map(&a, 0, 4, a.hidden);
    tsr_expect_no_errors(a.t);
    tsr_stop(a.t);
}

/* Mark memory by a packet, or by the MARK registers. */
static void declare(Aperture *a, bool packet, uint32_t what, uint64_t gpa,
                    uint64_t bytes)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);

    if (packet) {
        tsr_mark(c, what, gpa, bytes);
        tsr_run_ok(a->t, PAGING, c);
    } else {
        tsr_mark_register(a->t, what, gpa, bytes);
    }
}

static void expect_shown(Aperture *a, bool packet, uint32_t what, uint64_t gpa,
                         uint64_t bytes)
{
    declare(a, packet, what, gpa, bytes);
    g_assert_cmphex(tsr_r64(a->t, TSR_ERR_REC_ADDR_LO), ==, gpa);
    tsr_expect_errors(a->t, TSR_ERR_STRICT_SHOWN, 1);
}

static void expect_hidden(Aperture *a, bool packet, uint32_t what,
                          uint64_t gpa, uint64_t bytes)
{
    declare(a, packet, what, gpa, bytes);
    tsr_expect_no_errors(a->t);
}

/*
 * Free and evict ranges that overlap the first or the last 4 KiB of a shown
 * page: each is an error. Ranges beside the page, and other marks, are not.
 */
static void check_shown(Aperture *a, bool packet, uint64_t shown,
                        uint32_t page, uint64_t bytes)
{
    for (uint32_t what = TSR_MARK_FREE; what <= TSR_MARK_EVICTED; what++) {
        expect_shown(a, packet, what, shown + PAGE - bytes, bytes);
        expect_shown(a, packet, what, shown + page - PAGE, bytes);
        expect_shown(a, packet, what, shown, bytes);
        expect_hidden(a, packet, what, shown - bytes, bytes);
        expect_hidden(a, packet, what, shown + page, bytes);
    }
    expect_hidden(a, packet, TSR_MARK_ALLOCATED, shown, bytes);
    expect_hidden(a, packet, TSR_MARK_VALID, shown, bytes);
}

/*
 * MARK checks for shown pages in small ranges, which are poisoned at once, and
 * in large ones, which are poisoned later. It works on 4 KiB pages for any
 * page size of the aperture.
 */
static void test_shown(void)
{
    static const uint64_t sizes[] = { 4 << 10, 64 << 10, 2 << 20 };

    for (uint32_t page = 4 << 10; page <= 64 << 10; page *= 16) {
        g_autofree char *props = g_strdup_printf("strict=on,page-size=%u,"
                                                 "host-aperture-size=%u", page,
                                                 4 * page);
        Aperture a = start(props);
        uint64_t shown = a.hidden + (4 << 20);

        map(&a, 3, 1, shown);
        for (int i = 0; i < ARRAY_SIZE(sizes); i++) {
            check_shown(&a, false, shown, page, sizes[i]);
            check_shown(&a, true, shown, page, sizes[i]);
        }
        tsr_stop(a.t);
    }
}

/*
 * The device keeps track of the pages that are shown across any sequence of
 * maps and unmaps.
 */
static void test_shown_meanwhile(void)
{
    const char *props = "strict=on,host-aperture-size=16K";
    g_autofree char *all = g_strdup_printf(SIZES ",%s", props);
    Aperture a = start(props);
    uint64_t one = a.hidden, two = a.hidden + PAGE;

    expect_hidden(&a, false, TSR_MARK_FREE, one, PAGE);
    unmap(&a, 3, 1);
    map(&a, 0, 1, one);
    map(&a, 3, 1, two);
    expect_shown(&a, false, TSR_MARK_FREE, one, PAGE);
    expect_shown(&a, false, TSR_MARK_FREE, two, PAGE);
    unmap(&a, 1, 2);
    unmap(&a, 0, 1);
    unmap(&a, 0, 3);
    expect_hidden(&a, false, TSR_MARK_FREE, one, PAGE);
    expect_shown(&a, false, TSR_MARK_FREE, two, PAGE);
    /* Two pages show the same memory; then one of them is mapped elsewhere. */
    map(&a, 1, 1, two);
    map(&a, 0, 1, one);
    unmap(&a, 3, 1);
    expect_shown(&a, false, TSR_MARK_FREE, two, PAGE);
    map(&a, 1, 1, one);
    tsr_expect_errors(a.t, TSR_ERR_STRICT_OVERLAP, 1);
    expect_hidden(&a, false, TSR_MARK_FREE, two, PAGE);
    unmap(&a, 0, 1);
    expect_shown(&a, false, TSR_MARK_FREE, one, PAGE);
    /* Migration keeps the mappings and what strict mode knows of them. */
    map(&a, 3, 1, two);
    a.t = tsr_migrate(a.t, all);
    expect_shown(&a, false, TSR_MARK_FREE, two, PAGE);
    unmap(&a, 3, 1);
    expect_shown(&a, false, TSR_MARK_FREE, one, PAGE);
    unmap(&a, 1, 1);
    expect_hidden(&a, false, TSR_MARK_FREE, one, PAGE);
    /* A reset unmaps all pages, and tracking starts again. */
    map(&a, 3, 1, one);
    tsr_device_reset(a.t);
    expect_hidden(&a, false, TSR_MARK_FREE, one, PAGE);
    map(&a, 0, 1, one);
    map(&a, 2, 1, two);
    expect_shown(&a, false, TSR_MARK_FREE, two, PAGE);
    unmap(&a, 2, 1);
    expect_shown(&a, false, TSR_MARK_FREE, one, PAGE);
    tsr_stop(a.t);
}

/* A reset unmaps all pages. */
static void test_reset(void)
{
    for (int i = 0; i < 2; i++) {
        g_autofree char *props = g_strdup_printf("%s,host-aperture-size=1M",
                                                 modes[i]);
        Aperture a = start(props);

        fill(&a, 0x44444444, a.hidden, PAGE);
        map(&a, 200, 1, a.hidden);
        g_assert_cmphex(rd(&a, 200 * PAGE), ==, 0x4444444444444444);
        tsr_device_reset(a.t);
        g_assert_cmphex(tsr_r64(a.t, TSR_HA_ADDR_LO), ==, 0);
        g_assert_cmpuint(tsr_r32(a.t, TSR_HA_COUNT), ==, 0);
        g_assert_cmphex(rd(&a, 200 * PAGE), ==, ONES);
        map(&a, 200, 1, a.hidden);
        g_assert_cmphex(rd(&a, 200 * PAGE), ==, 0x4444444444444444);
        tsr_stop(a.t);
    }
}

/* Engines can access BAR 4 on the bus as RAM, but not while it traps. */
static void test_peer(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    Aperture a = start("strict=off,host-aperture-size=16K");
    uint64_t page = a.bar.addr + 4096, got;

    fill(&a, 0x55555555, a.hidden, 8192);
    map(&a, 1, 1, a.hidden + 4096);
    tsr_transfer(c, TSR_TRANSFER_DST_PAGES, 0, tsr_seg_base(a.t, 1),
                 tsr_list(a.t, &page, 1), 4096, 0, 0, 0);
    tsr_run_ok(a.t, PAGING, c);
    tsr_gpu_read(a.t, a.hidden + 4096, &got, 8);
    g_assert_cmphex(got, ==, 0);
    tsr_stop(a.t);

    a = start("strict=on,host-aperture-size=16K");
    fill(&a, 0x55555555, a.hidden, 8192);
    map(&a, 1, 1, a.hidden + 4096);
    c->n = 0;
    tsr_transfer(c, TSR_TRANSFER_DST_PAGES, 0, a.hidden,
                 tsr_list(a.t, &page, 1), 4096, 0, 0, 0);
    tsr_run_err(a.t, PAGING, c, TSR_ERR_DMA);
    tsr_stop(a.t);
}

/*
 * Scattered pages need one host mapping each. An aperture with too many pages
 * for the host's limit traps instead.
 */
static void test_many(void)
{
    const uint32_t n = (64 << 20) / PAGE, vram = (8 << 20) / PAGE;
    Aperture a = start("host-aperture-size=64M");
    TsrTest *t;

    tsr_w32(a.t, TSR_HA_COUNT, 1);
    for (uint32_t i = 0; i < n; i++) {
        tsr_w64(a.t, TSR_HA_ADDR_LO,
                a.hidden + (uint64_t)(i * 5 % vram) * PAGE);
        tsr_w32(a.t, TSR_HA_MAP, i);
    }
    for (uint32_t i = 0; i < vram; i++) {
        wr(&a, (uint64_t)i * PAGE, i);
    }
    for (uint32_t i = 0; i < n; i++) {
        g_assert_cmpuint(rd(&a, (uint64_t)i * PAGE), ==, i % vram);
    }
    tsr_expect_no_errors(a.t);
    tsr_stop(a.t);

    t = tsr_start_machine(SIZES ",host-aperture-size=1G", "");
    expect_region(t, TRAP);
    tsr_stop(t);
    t = tsr_start_machine(SIZES ",host-aperture-size=1G,page-size=65536", "");
    expect_region(t, RAM);
    tsr_stop(t);
}

/* An unplugged device returns its share of the host mappings at once. */
static void test_unplug(void)
{
    TsrTest *t = tsr_start_machine(SIZES ",outputs=0,host-aperture-size=128M",
                                   "");

    expect_region(t, RAM);
    for (int round = 0; round < 8; round++) {
        qpci_unplug_acpi_device_test(t->qts, "gpu", 4);
        qtest_qmp_assert_success(t->qts, "{'execute': 'device_add', "
                                 "'arguments': {'driver': 'tessera', "
                                 "'id': 'gpu', 'addr': '04.0', 'outputs': 0, "
                                 "'vram-size': 4194304, "
                                 "'vram-hidden-size': 8388608, "
                                 "'host-aperture-size': 134217728}}");
        expect_region(t, RAM);
    }
    tsr_stop(t);
}

/*
 * The value that fills page @at of the memory. Tests overwrite single words
 * only.
 */
static uint64_t number_of(uint32_t at)
{
    return (0x66660000ull | at) << 32 | 0x66660000 | at;
}

/*
 * Page @page of the aperture must show page @at of the memory, and start with
 * @value.
 */
static void expect_page(Aperture *a, uint32_t page, uint32_t at,
                        uint64_t value)
{
    uint64_t got = rd(a, page * PAGE), mark = rd(a, page * PAGE + 8);
    uint32_t shown = mark & 0xffff;

    tsr_rule(got != ONES, "page %u of the host aperture shows nothing, behind "
             "a migration, not page %u of the memory", page, at);
    if (mark == number_of(shown)) {
        tsr_rule(shown == at, "page %u of the host aperture shows page %u of "
                 "the memory, behind a migration, not page %u, which its table "
                 "says%s", page, shown, at,
                 shown < at && rd(a, (page - 1) * PAGE + 8) ==
                 number_of(shown - 1) ?
                 ": that follows what the page before shows, so pages that do "
                 "not follow each other were mapped as one run" : "");
    }
    tsr_rule(got == value, "page %u of the host aperture has not come along: "
             "0x%" PRIx64 ", not 0x%" PRIx64, page, got, value);
}

/*
 * The table, the registers and the contents migrate. A destination with another
 * aperture size refuses them.
 */
static void test_migrate(void)
{
    for (int i = 0; i < 2; i++) {
        g_autofree char *props = g_strdup_printf(SIZES ",%s,"
                                                 "host-aperture-size=28K",
                                                 modes[i]);
        g_autofree char *path = tsr_state_file(), *status = NULL;
        Aperture a = start(props + strlen(SIZES ","));
        TsrTest *to;

        for (uint32_t at = 0; at < 16; at++) {
            fill(&a, number_of(at), a.hidden + at * PAGE, PAGE);
        }
        map(&a, 1, 3, a.hidden + 4 * PAGE);
        /* This page adjoins the last one in the aperture, but not in memory. */
        map(&a, 4, 1, a.hidden + 9 * PAGE);
        map(&a, 6, 1, a.hidden);
        wr(&a, 2 * PAGE, 0x1234);
        wr(&a, 4 * PAGE, 0x9abc);
        a.t = tsr_migrate(a.t, props);
        g_assert_cmphex(tsr_r64(a.t, TSR_HA_ADDR_LO), ==, a.hidden + PAGE);
        expect_page(&a, 1, 4, number_of(4));
        expect_page(&a, 2, 5, 0x1234);
        expect_page(&a, 3, 6, number_of(6));
        expect_page(&a, 4, 9, 0x9abc);
        wr(&a, 6 * PAGE, 0x5678);
        tsr_expect_no_errors(a.t);
        g_assert_cmphex(rd(&a, 5 * PAGE), ==, ONES);
        /* A new mapping on the destination shows the same memory. */
        map(&a, 5, 1, a.hidden);
        g_assert_cmphex(rd(&a, 5 * PAGE), ==, 0x5678);

        tsr_save(a.t, path);
        to = tsr_load(a.t, SIZES ",host-aperture-size=32K", path, &status);
        g_assert_cmpstr(status, ==, "failed");
        tsr_stop(to);
        unlink(path);
        tsr_stop(a.t);
    }
}

static bool try_background(TsrTest *t)
{
    QDict *rsp = qtest_qmp(t->qts, "{'execute': 'migrate-set-capabilities', "
                           "'arguments': {'capabilities': "
                           "[{'capability': 'background-snapshot', "
                           "'state': true}]}}");
    bool can = qdict_haskey(rsp, "return");

    qobject_unref(rsp);
    return can;
}

static char *migration_error(TsrTest *t)
{
    QDict *rsp = qtest_qmp(t->qts, "{'execute': 'query-migrate'}");
    QDict *ret = qdict_get_qdict(rsp, "return");
    char *text = g_strdup(qdict_get_try_str(ret, "error-desc") ?: "");

    qobject_unref(rsp);
    return text;
}

/*
 * A background snapshot write-protects VRAM, but not the aperture's mappings
 * of it. It is refused if the aperture is RAM, and the device keeps working.
 */
static void test_background_snapshot(void)
{
    for (int i = 0; i < 2; i++) {
        g_autofree char *props = g_strdup_printf("%s,host-aperture-size=16K",
                                                 modes[i]);
        g_autofree char *path = tsr_state_file(), *status = NULL, *text = NULL;
        Aperture a = start(props);

        if (!try_background(a.t)) {
            g_test_skip("no background snapshots on this host");
            tsr_stop(a.t);
            return;
        }
        map(&a, 1, 1, a.hidden);
        status = tsr_try_save(a.t, path);
        text = migration_error(a.t);
        g_test_message("%s: %s %s", modes[i], status, text);
        if (i) {
            g_assert_null(strstr(text, "tessera"));
        } else {
            g_assert_cmpstr(status, ==, "failed");
            g_assert_nonnull(strstr(text, "tessera: no background snapshot"));
        }
        wr(&a, PAGE, 0x1234);
        g_assert_cmphex(rd(&a, PAGE), ==, 0x1234);
        unlink(path);
        tsr_stop(a.t);
    }
}

/*
 * A migration sends a page of VRAM that the aperture shows again only if it was
 * written since. Otherwise a guest that maps more than can be sent in the
 * downtime would never migrate.
 */
static void test_converges(void)
{
    g_autofree char *path = tsr_state_file(), *status = NULL;
    const char *props = SIZES ",host-aperture-size=8M";
    Aperture a = start("host-aperture-size=8M");
    TsrTest *to;

    map(&a, 0, 2048, a.hidden);
    for (uint64_t at = 0; at < 8 << 20; at += 1 << 20) {
        wr(&a, at, 0x1234 + at);
    }
    qtest_qmp_assert_success(a.t->qts, "{'execute': 'migrate-set-parameters', "
                             "'arguments': {'max-bandwidth': 20000000, "
                             "'downtime-limit': 100}}");
    tsr_save(a.t, path);
    to = tsr_load(a.t, props, path, &status);
    g_assert_cmpstr(status, ==, "completed");
    tsr_stop(a.t);
    a.t = to;
    for (uint64_t at = 0; at < 8 << 20; at += 1 << 20) {
        g_assert_cmphex(rd(&a, at), ==, 0x1234 + at);
    }
    tsr_expect_no_errors(a.t);
    tsr_stop(a.t);
    unlink(path);
}

/*
 * Return the number of mappings with @flag of the file that unmapped pages
 * show.
 */
static uint32_t count_ones(TsrTest *t, const char *flag)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/smaps",
                                            (int)qtest_pid(t->qts));
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    bool ours = false;
    uint32_t n = 0;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        if (strstr(*line, "ram-remap-ones")) {
            ours = true;
        } else if (ours && g_str_has_prefix(*line, "VmFlags:")) {
            n += !!strstr(*line, flag);
            ours = false;
        }
    }
    return n;
}

/*
 * Options for guest memory (here dump-guest-core=off) also apply to the pages
 * that are mapped over the aperture.
 */
static void test_advice(void)
{
    Aperture a = start("host-aperture-size=28K");
    uint32_t all;

    map(&a, 3, 1, a.hidden);
    all = count_ones(a.t, "");
    g_assert_cmpuint(all, >=, 2);
    g_assert_cmpuint(count_ones(a.t, " dd"), ==, 0);
    tsr_stop(a.t);

    a.t = tsr_start_machine(SIZES ",host-aperture-size=28K",
                            "-machine dump-guest-core=off");
    tsr_map_device(a.t);
    a.bar = qpci_iomap(a.t->dev, TSR_BAR_HOST_APERTURE, NULL);
    map(&a, 3, 1, a.hidden);
    g_assert_cmpuint(count_ones(a.t, " dd"), ==, all);
    unmap(&a, 3, 1);
    g_assert_cmpuint(count_ones(a.t, " dd"), ==, count_ones(a.t, ""));
    tsr_stop(a.t);
}

/* ---- A running vCPU ------------------------------------------------------ */

#define BAR_WORD        0x8000  /* bus address of BAR 4; 0: idle */
#define COUNT_WORD      0x8004  /* written to page 1 in a loop */
#define SEEN_WORD       0x8008  /* read from page 2 */

/*
 * start:   cli
 *          lgdtl   %cs:gdtr - start
 *          movl    %cr0, %eax
 *          orb     $1, %al
 *          movl    %eax, %cr0
 *          ljmpl   $8, $(pm - start + 0xf0000)
 *          .code32
 * pm:      movw    $16, %ax
 *          movw    %ax, %ds
 * next:    movl    0x8000, %esi                # BAR_WORD
 *          testl   %esi, %esi
 *          jz      next
 *          movl    0x2000(%esi), %eax
 *          movl    %eax, 0x8008                # SEEN_WORD
 *          movl    0x8004, %eax                # COUNT_WORD
 *          incl    %eax
 *          movl    %eax, 0x1000(%esi)
 *          movl    %eax, 0x8004
 *          jmp     next
 *          .balign 8
 * gdt:     .quad   0, 0x00cf9b000000ffff, 0x00cf93000000ffff
 * gdtr:    .word   23
 *          .long   gdt - start + 0xf0000
 */
static const uint8_t program[] = {
    0xfa, 0x2e, 0x66, 0x0f, 0x01, 0x16, 0x60, 0x00, 0x0f, 0x20, 0xc0, 0x0c,
    0x01, 0x0f, 0x22, 0xc0, 0x66, 0xea, 0x18, 0x00, 0x0f, 0x00, 0x08, 0x00,
    0x66, 0xb8, 0x10, 0x00, 0x8e, 0xd8, 0x8b, 0x35, 0x00, 0x80, 0x00, 0x00,
    0x85, 0xf6, 0x74, 0xf6, 0x8b, 0x86, 0x00, 0x20, 0x00, 0x00, 0xa3, 0x08,
    0x80, 0x00, 0x00, 0xa1, 0x04, 0x80, 0x00, 0x00, 0x40, 0x89, 0x86, 0x00,
    0x10, 0x00, 0x00, 0xa3, 0x04, 0x80, 0x00, 0x00, 0xeb, 0xd8, 0x66, 0x90,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0x00, 0x00,
    0x00, 0x9b, 0xcf, 0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x93, 0xcf, 0x00,
    0x17, 0x00, 0x48, 0x00, 0x0f, 0x00,
};

static void wait_passes(TsrTest *t)
{
    int64_t deadline = g_get_monotonic_time() + TSR_TEST_DEADLINE_US;
    uint32_t from = qtest_readl(t->qts, COUNT_WORD);

    while (qtest_readl(t->qts, COUNT_WORD) - from < 3) {
        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
        g_usleep(100);
    }
}

static uint32_t vram_word(Aperture *a, uint64_t offset)
{
    uint32_t le;

    tsr_gpu_read(a->t, a->hidden + offset, &le, 4);
    return le32_to_cpu(le);
}

/*
 * After a command the accesses of the vCPU go to the new page, and none to the
 * old one.
 */
static void check_remap(Aperture *a)
{
    TsrTest *t = a->t;
    uint32_t last;

    for (uint32_t round = 0; round < 20; round++) {
        uint64_t from = round % 2 * PAGE, to = PAGE - from;

        last = qtest_readl(t->qts, COUNT_WORD);
        g_assert_cmpuint(vram_word(a, from), >=, last);
        map(a, 1, 1, a->hidden + to);
        wait_passes(t);
        last = vram_word(a, from);
        wait_passes(t);
        g_assert_cmpuint(vram_word(a, from), ==, last);
        g_assert_cmpuint(vram_word(a, to), >, last);

        g_assert_cmphex(qtest_readl(t->qts, SEEN_WORD), ==, 0x77777777);
        unmap(a, 2, 1);
        wait_passes(t);
        g_assert_cmphex(qtest_readl(t->qts, SEEN_WORD), ==, 0xffffffff);
        map(a, 2, 1, a->hidden + 2 * PAGE);
        wait_passes(t);
    }
    tsr_expect_no_errors(t);
}

/* CHA-8 with a running vCPU. A migration must not miss its stores. */
static void test_vcpu(void)
{
    g_autofree char *firmware = tsr_write_firmware(program, sizeof(program));
    g_autofree char *path = tsr_state_file();
    g_autofree char *args = tsr_firmware_args(firmware, "");
    const char *props = SIZES ",host-aperture-size=16K";
    Aperture a = { .t = tsr_start_machine(props, args) };
    g_autofree char *status = NULL;
    TsrTest *t = a.t;
    uint32_t last;

    tsr_map_device(t);
    a.bar = qpci_iomap(t->dev, TSR_BAR_HOST_APERTURE, NULL);
    tsr_set_up_memory(t);
    tsr_run_firmware(t);
    tsr_engine_start(t, PAGING, TSR_TEST_RING_BYTES);
    a.hidden = tsr_seg_base(t, 2);
    fill(&a, 0, a.hidden, 2 * PAGE);
    fill(&a, 0x77777777, a.hidden + 2 * PAGE, PAGE);
    map(&a, 1, 1, a.hidden);
    map(&a, 2, 1, a.hidden + 2 * PAGE);
    qtest_writel(t->qts, COUNT_WORD, 0);
    qtest_writel(t->qts, BAR_WORD, a.bar.addr);
    wait_passes(t);
    check_remap(&a);

    tsr_save(t, path);
    last = rd(&a, PAGE);
    g_assert_cmpuint(last, >=, qtest_readl(t->qts, COUNT_WORD));
    a.t = tsr_load_machine(t, props, args, path, &status);
    g_assert_cmpstr(status, ==, "completed");
    g_assert_cmpuint((uint32_t)rd(&a, PAGE), ==, last);
    tsr_expect_no_errors(a.t);
    tsr_stop(a.t);
    tsr_stop(t);
    g_unlink(firmware);
    g_unlink(path);
}

/*
 * CHA-7: the aperture works with the segment descriptors alone, while no
 * engine runs and before any memory was allocated.
 */
static void test_first(void)
{
    for (int i = 0; i < ARRAY_SIZE(modes); i++) {
        Aperture a = start(modes[i]);
        TsrTest *t = a.t;
        uint64_t got;

        tsr_device_reset(t);
        map(&a, 3, 2, tsr_r64(t, TSR_SEG(1) + TSR_SEG_BASE_LO));
        wr(&a, 3 * PAGE + 16, 0x1122334455667788);
        g_assert_cmphex(rd(&a, 3 * PAGE + 16), ==, 0x1122334455667788);
        unmap(&a, 3, 2);
        map(&a, 0, 1, a.hidden);
        g_assert_cmphex(rd(&a, 16), ==, 0x1122334455667788);
        tsr_expect_no_errors(t);
        memset(t->eng, 0, sizeof(t->eng));
        tsr_engine_start(t, PAGING, TSR_TEST_RING_BYTES);
        tsr_gpu_read(t, a.hidden + 16, &got, 8);
        g_assert_cmphex(got, ==, 0x1122334455667788);
        tsr_stop(t);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/host-aperture/CHA-2-CHA-4-CHA-6-pages",
                   test_pages);
    qtest_add_func("/tessera/host-aperture/CHA-5-sizes", test_sizes);
    qtest_add_func("/tessera/host-aperture/CHA-7-first", test_first);
    qtest_add_func("/tessera/host-aperture/CHA-8-unmapped", test_unmapped);
    qtest_add_func("/tessera/host-aperture/refused", test_refused);
    qtest_add_func("/tessera/host-aperture/CHA-8-strict", test_strict);
    qtest_add_func("/tessera/host-aperture/CHA-8-overlap", test_overlap);
    qtest_add_func("/tessera/host-aperture/CHA-8-shown", test_shown);
    qtest_add_func("/tessera/host-aperture/CHA-8-shown-meanwhile",
                   test_shown_meanwhile);
    qtest_add_func("/tessera/host-aperture/reset", test_reset);
    qtest_add_func("/tessera/host-aperture/peer", test_peer);
    qtest_add_func("/tessera/host-aperture/many", test_many);
    qtest_add_func("/tessera/host-aperture/unplug", test_unplug);
    qtest_add_func("/tessera/host-aperture/migrate", test_migrate);
    qtest_add_func("/tessera/host-aperture/converges", test_converges);
    qtest_add_func("/tessera/host-aperture/background-snapshot",
                   test_background_snapshot);
    qtest_add_func("/tessera/host-aperture/advice", test_advice);
    qtest_add_func("/tessera/host-aperture/CHA-8-vcpu", test_vcpu);
    return g_test_run();
}
