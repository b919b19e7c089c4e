/*
 * QTest: transfers, fills and aperture tables
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera-common.h"

#define KIB 1024u
#define MIB (1024 * KIB)

static void random_bytes(uint8_t *p, uint32_t n)
{
    while (n--) {
        *p++ = g_test_rand_int();
    }
}

/*
 * Allocate @n pages with the contents @data (NULL: zero). Return a list of
 * them in another order than their addresses.
 */
static uint64_t scattered(TsrTest *t, uint32_t n, const uint8_t *data,
                          uint64_t *pages)
{
    uint64_t base = tsr_alloc(t, n * 4096);

    for (uint32_t i = 0; i < n; i++) {
        /*
         * Extents of three contiguous pages in reverse order if @n is a
         * multiple of three, else single pages in reverse order.
         */
        uint32_t at = n % 3 ? n - 1 - i : (n / 3 - 1 - i / 3) * 3 + i % 3;

        pages[i] = base + at * 4096;
        if (data) {
            qtest_bufwrite(t->qts, pages[i], data + i * 4096, 4096);
        } else {
            qtest_memset(t->qts, pages[i], 0, 4096);
        }
    }
    return tsr_list(t, pages, n);
}

static void expect_pages(TsrTest *t, const uint64_t *pages, uint32_t off,
                         const uint8_t *want, uint32_t n)
{
    g_autofree uint8_t *got = g_malloc(n);

    for (uint32_t i = 0; i < n;) {
        uint32_t in = (off + i) % 4096, len = MIN(n - i, 4096 - in);

        qtest_bufread(t->qts, pages[(off + i) / 4096] + in, got + i, len);
        i += len;
    }
    g_assert_cmpmem(got, n, want, n);
}

/* PAGE-13: each side of a TRANSFER is a segment or a page list. */
static void test_combinations(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t a = tsr_seg_base(t, 1), b = tsr_seg_base(t, 2);
    uint64_t in[48], out[48], in_list, out_list;
    const uint32_t n = 48 * 4096, off = 4096 + 100, len = n - 3 * 4096 - 17;
    g_autofree uint8_t *data = g_malloc(n), *got = g_malloc(n);

    random_bytes(data, n);
    in_list = scattered(t, 48, data, in);
    out_list = scattered(t, 48, NULL, out);
    /* list -> VRAM -> VRAM -> list, odd sizes and offsets */
    tsr_transfer(c, TSR_TRANSFER_SRC_PAGES | TSR_TRANSFER_START, 0, in_list,
                 a + 36, len, off, 0, 0);
    tsr_transfer(c, 0, 0, a + 36, b + 7, len, 0, 0, 0);
    tsr_transfer(c, TSR_TRANSFER_DST_PAGES | TSR_TRANSFER_END, 0, b + 7,
                 out_list, len, 0, 5000, 0);
    tsr_run_ok(t, PAGING, c);
    tsr_gpu_read(t, a + 36, got, len);
    g_assert_cmpmem(got, len, data + off, len);
    expect_pages(t, out, 5000, data + off, len);
    /* list -> list */
    c->n = 0;
    tsr_transfer(c, TSR_TRANSFER_SRC_PAGES | TSR_TRANSFER_DST_PAGES, 0,
                 in_list, out_list, n - 8, 8, 0, 0);
    tsr_run_ok(t, PAGING, c);
    expect_pages(t, out, 0, data + 8, n - 8);
    /* A TRANSFER of no bytes succeeds. */
    c->n = 0;
    tsr_transfer(c, 0, 0, a, b, 0, 0, 0, 0);
    tsr_run_ok(t, PAGING, c);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * PAGE-13: transfers so large that the device bypasses the host's caches, on
 * whole pages and with an offset. A page that is not RAM is refused as in a
 * small transfer.
 */
static void test_large(void)
{
    static const uint32_t offsets[] = { 0, 100 };
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t a = tsr_seg_base(t, 1), *in, *out, in_list, out_list;
    const uint32_t pages = 300, n = pages * 4096;
    g_autofree uint8_t *data = g_malloc(n), *got = g_malloc(MIB);

    in = g_new(uint64_t, pages);
    out = g_new(uint64_t, pages);
    random_bytes(data, n);
    in_list = scattered(t, pages, data, in);
    out_list = scattered(t, pages, NULL, out);
    for (unsigned int i = 0; i < ARRAY_SIZE(offsets); i++) {
        uint32_t off = offsets[i];

        c->n = 0;
        tsr_transfer(c, TSR_TRANSFER_SRC_PAGES, 0, in_list, a + off, MIB, off,
                     0, 0);
        tsr_transfer(c, TSR_TRANSFER_DST_PAGES, 0, a + off, out_list, MIB, 0,
                     2 * off, 0);
        tsr_run_ok(t, PAGING, c);
        tsr_gpu_read(t, a + off, got, MIB);
        g_assert_cmpmem(got, MIB, data + off, MIB);
        expect_pages(t, out, 2 * off, data + off, MIB);
    }

    tsr_w32(t, TSR_CTRL_SCRATCH, 0x5eed);
    in[200] = t->regs.addr;
    in_list = tsr_list(t, in, pages);
    c->n = 0;
    tsr_transfer(c, TSR_TRANSFER_SRC_PAGES, 0, in_list, a, MIB, 0, 0, 0);
    tsr_run_err(t, PAGING, c, TSR_ERR_DMA);
    c->n = 0;
    tsr_transfer(c, TSR_TRANSFER_DST_PAGES, 0, a, in_list, MIB, 0, 0, 0);
    tsr_run_err(t, PAGING, c, TSR_ERR_DMA);
    g_assert_cmphex(tsr_r32(t, TSR_CTRL_SCRATCH), ==, 0x5eed);
    tsr_stop(t);
    g_free(in);
    g_free(out);
}

/* PAGE-13: overlapping moves within one segment are safe. */
static void test_overlap(void)
{
    static const int64_t shifts[] = { 1, -1, 4096, -4096, 333333, -333333 };
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t segs[2] = { tsr_seg_base(t, 2), tsr_seg_base(t, 4) };
    const uint32_t n = 700 * KIB;
    g_autofree uint8_t *data = g_malloc(n), *got = g_malloc(n);
    uint64_t pages[384], list, ram = tsr_alloc(t, 384 * 4096);

    for (uint32_t i = 0; i < 384; i++) {
        pages[i] = (ram + (383 - i) * 4096) | TSR_APTE_VALID | TSR_APTE_WRITE;
    }
    list = tsr_list(t, pages, 384);
    tsr_map(c, 4, 0, 384, list);
    tsr_run_ok(t, PAGING, c);
    random_bytes(data, n);
    for (uint32_t s = 0; s < 2; s++) {
        for (uint32_t i = 0; i < ARRAY_SIZE(shifts); i++) {
            uint64_t src = segs[s] + 400 * KIB;

            tsr_gpu_write(t, src, data, n);
            c->n = 0;
            tsr_transfer(c, 0, 0, src, src + shifts[i], n, 0, 0, 0);
            tsr_run_ok(t, PAGING, c);
            tsr_gpu_read(t, src + shifts[i], got, n);
            g_assert_cmpmem(got, n, data, n);
        }
    }
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * PAGE-13: the device reads no entries that it does not need, so a list may
 * end where RAM ends.
 */
static void test_list_at_the_end(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t page = tsr_alloc(t, 4096), vram = tsr_seg_base(t, 1), got;
    const uint64_t last = 128 * MIB - 8;

    qtest_memset(t->qts, page, 0x5a, 4096);
    qtest_writeq(t->qts, last, page);
    tsr_transfer(c, TSR_TRANSFER_SRC_PAGES, 0, last, vram, 4096, 0, 0, 0);
    tsr_run_ok(t, PAGING, c);
    tsr_gpu_read(t, vram + 4088, &got, 8);
    g_assert_cmphex(got, ==, 0x5a5a5a5a5a5a5a5a);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* PAGE-4, PAGE-5: a transfer in several passes gives an intact result. */
static void test_passes(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("strict=on");
    uint64_t a = tsr_seg_base(t, 1), pages[64], list;
    const uint32_t n = 64 * 4096;
    g_autofree uint8_t *data = g_malloc(n), *got = g_malloc(n);
    uint32_t at, step;

    random_bytes(data, n);
    list = scattered(t, 64, data, pages);
    for (at = 0; at < n; at += step) {
        uint32_t flags = TSR_TRANSFER_SRC_PAGES;

        step = MIN(n - at, 10000);
        flags |= at == 0 ? TSR_TRANSFER_START : 0;
        flags |= at + step == n ? TSR_TRANSFER_END : 0;
        c->n = 0;
        tsr_transfer(c, flags, 0, list, a + at, step, at, 0, 0);
        tsr_run_ok(t, PAGING, c); /* a submission of its own */
    }
    tsr_gpu_read(t, a, got, n);
    g_assert_cmpmem(got, n, data, n);
    tsr_expect_no_errors(t);
    /* PAGE-4: START while another transfer is open is an error, but works. */
    c->n = 0;
    tsr_transfer(c, TSR_TRANSFER_SRC_PAGES | TSR_TRANSFER_START, 0, list, a,
                 4096, 0, 0, 0);
    tsr_transfer(c, TSR_TRANSFER_SRC_PAGES | TSR_TRANSFER_START |
                 TSR_TRANSFER_END, 0, list, a + 8192, 4096, 0, 0, 0);
    tsr_run_ok(t, PAGING, c);
    tsr_expect_errors(t, TSR_ERR_STRICT_TRANSFER, 1);
    /* A transfer that fails is closed. */
    c->n = 0;
    tsr_transfer(c, TSR_TRANSFER_SRC_PAGES | TSR_TRANSFER_START, 0, list, 0,
                 4096, 0, 0, 0);
    tsr_run_err(t, PAGING, c, TSR_ERR_ADDRESS);
    c->n = 0;
    tsr_transfer(c, TSR_TRANSFER_SRC_PAGES | TSR_TRANSFER_START |
                 TSR_TRANSFER_END, 0, list, a, 4096, 0, 0, 0);
    tsr_run_ok(t, PAGING, c);
    tsr_expect_no_errors(t);
    tsr_gpu_read(t, a + 8192, got, 4096);
    g_assert_cmpmem(got, 4096, data, 4096);
    /* An engine reset closes a transfer. */
    c->n = 0;
    tsr_transfer(c, TSR_TRANSFER_SRC_PAGES | TSR_TRANSFER_START, 0, list, a,
                 4096, 0, 0, 0);
    tsr_run_ok(t, PAGING, c);
    tsr_engine_reset(t, PAGING);
    c->n = 0;
    tsr_transfer(c, TSR_TRANSFER_SRC_PAGES | TSR_TRANSFER_START |
                 TSR_TRANSFER_END, 0, list, a, 4096, 0, 0, 0);
    tsr_run_ok(t, PAGING, c);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* TRANSFER checks ranges, offsets and page lists. */
static void test_transfer_errors(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("vram-size=1M,vram-hidden-size=2M");
    uint64_t a = tsr_seg_base(t, 1), b = tsr_seg_base(t, 2), top = 1ULL << 48;
    uint64_t entries[2] = { 0x1000 + 8, 0x7fff00000000 };
    uint64_t list = tsr_list(t, entries, 2);
    const uint32_t src_pages = TSR_TRANSFER_SRC_PAGES;
    struct {
        uint64_t src, dst, bytes, src_off, dst_off;
        uint32_t flags, err;
    } bad[] = {
        { a, b, (1 << 20) + 1, 0, 0, 0, TSR_ERR_ADDRESS },
        { a + (1 << 20) - 8, b, 16, 0, 0, 0, TSR_ERR_ADDRESS },
        { b, a + (1 << 20) - 8, 16, 0, 0, 0, TSR_ERR_ADDRESS },
        { 0, a, 16, 0, 0, 0, TSR_ERR_ADDRESS },
        { ~0ULL, a, 16, 0, 0, 0, TSR_ERR_ADDRESS },
        { a, b, TSR_TRANSFER_MAX_BYTES + 1, 0, 0, 0, TSR_ERR_PACKET },
        { a, b, 16, 8, 0, 0, TSR_ERR_PACKET },
        { a, b, 16, 0, 8, 0, TSR_ERR_PACKET },
        { list + 4, b, 16, 0, 0, src_pages, TSR_ERR_PACKET },
        { list, b, 16, top, 0, src_pages, TSR_ERR_PACKET },
        { list, b, 16, 0, 0, src_pages, TSR_ERR_DMA },
        { list, b, 16, 4096, 0, src_pages, TSR_ERR_DMA },
        { top - 8, b, 16, 4096, 0, src_pages, TSR_ERR_DMA },
        { -8ULL, b, 16, 4096, 0, src_pages, TSR_ERR_DMA },
        { t->bounce_list, b, (2 << 20) + 1, 0, 0, src_pages,
          TSR_ERR_ADDRESS },
    };

    for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
        c->n = 0;
        tsr_transfer(c, bad[i].flags, 0, bad[i].src, bad[i].dst, bad[i].bytes,
                     bad[i].src_off, bad[i].dst_off, 0);
        tsr_run_err(t, PAGING, c, bad[i].err);
    }
    tsr_stop(t);
}

/* PAGE-6: PAGE_FILL sets initial content, in memory segments only. */
static void test_fill(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("vram-size=4M");
    uint64_t a = tsr_seg_base(t, 1), gart = tsr_seg_base(t, 4);
    uint32_t got[4];

    tsr_page_fill(c, 0xffffffff, a, 4 << 20);
    tsr_page_fill(c, 0x12345678, a + 8, (3 << 20) - 16);
    tsr_page_fill(c, 0, a + 4096, 8);
    tsr_run_ok(t, PAGING, c);
    tsr_gpu_read(t, a, got, 16);
    g_assert_cmphex(got[1], ==, 0xffffffff);
    g_assert_cmphex(got[2], ==, 0x12345678);
    tsr_gpu_read(t, a + 4096, got, 16);
    g_assert_cmphex(got[1], ==, 0);
    g_assert_cmphex(got[2], ==, 0x12345678);
    tsr_gpu_read(t, a + (3 << 20) - 16, got, 16);
    g_assert_cmphex(got[1], ==, 0x12345678);
    g_assert_cmphex(got[2], ==, 0xffffffff);
    tsr_expect_no_errors(t);
    c->n = 0;
    tsr_page_fill(c, 0, gart, 4096);
    tsr_run_err(t, PAGING, c, TSR_ERR_SEGMENT);
    c->n = 0;
    tsr_page_fill(c, 0, a + 4096, 4 << 20);
    tsr_run_err(t, PAGING, c, TSR_ERR_ADDRESS);
    c->n = 0;
    tsr_page_fill(c, 0, a + 4, 4096);
    tsr_run_err(t, PAGING, c, TSR_ERR_PACKET);
    c->n = 0;
    tsr_page_fill(c, 0, a, 4);
    tsr_run_err(t, PAGING, c, TSR_ERR_PACKET);
    tsr_stop(t);
}

/*
 * PAGE-8: the COHERENT bit is valid only in a coherent segment. Entries and
 * ranges are checked.
 */
static void test_map(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("gart-size=4M");
    uint64_t page = tsr_alloc(t, 4096), gart = tsr_seg_base(t, 4), pte;
    uint8_t got[16];

    qtest_memset(t->qts, page, 0x3c, 4096);
    pte = page | TSR_APTE_VALID | TSR_APTE_WRITE | TSR_APTE_COHERENT;
    tsr_map(c, 4, 1023, 1, tsr_list(t, &pte, 1));
    tsr_run_ok(t, PAGING, c);
    tsr_gpu_read(t, gart + 1023 * 4096, got, 16);
    g_assert_cmphex(got[0], ==, 0x3c);
    pte = page | TSR_APTE_VALID | 16;
    c->n = 0;
    tsr_map(c, 4, 0, 1, tsr_list(t, &pte, 1));
    tsr_run_err(t, PAGING, c, TSR_ERR_PACKET);
    pte = page | TSR_APTE_VALID | 1ULL << 48;
    c->n = 0;
    tsr_map(c, 4, 0, 1, tsr_list(t, &pte, 1));
    tsr_run_err(t, PAGING, c, TSR_ERR_PACKET);
    pte = page | TSR_APTE_VALID;
    c->n = 0;
    tsr_map(c, 4, 1023, 2, tsr_list(t, &pte, 1));
    tsr_run_err(t, PAGING, c, TSR_ERR_SEGMENT);
    c->n = 0;
    tsr_map(c, 4, 0xffffffff, 2, tsr_list(t, &pte, 1));
    tsr_run_err(t, PAGING, c, TSR_ERR_SEGMENT);
    c->n = 0;
    tsr_map(c, 1, 0, 1, tsr_list(t, &pte, 1));
    tsr_run_err(t, PAGING, c, TSR_ERR_SEGMENT);
    c->n = 0;
    tsr_map(c, 4, 0, 1, 0x700000000000);
    tsr_run_err(t, PAGING, c, TSR_ERR_DMA);
    c->n = 0;
    tsr_unmap(c, 4, 1024, 1);
    tsr_run_err(t, PAGING, c, TSR_ERR_SEGMENT);
    c->n = 0;
    tsr_unmap(c, 5, 0, 1);
    tsr_run_err(t, PAGING, c, TSR_ERR_SEGMENT);
    tsr_stop(t);

    t = tsr_start("io-coherent=off");
    c->n = 0;
    pte = t->bounce | TSR_APTE_VALID | TSR_APTE_COHERENT;
    tsr_map(c, 4, 0, 1, tsr_list(t, &pte, 1));
    tsr_run_err(t, PAGING, c, TSR_ERR_SEGMENT);
    tsr_stop(t);
}

/* PAGE-9: unmapped pages show the dummy page. The other pages stay usable. */
static void test_dummy(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t gart = tsr_seg_base(t, 4), vram = tsr_seg_base(t, 1);
    uint64_t dummy = tsr_alloc(t, 4096), page = tsr_alloc(t, 4096);
    uint64_t pte = page | TSR_APTE_VALID | TSR_APTE_WRITE;
    uint8_t got[8192];

    qtest_memset(t->qts, dummy, 0xdd, 4096);
    qtest_memset(t->qts, page, 0x11, 4096);
    tsr_w64(t, TSR_CTRL_DUMMY_PAGE_LO, dummy);
    tsr_map(c, 4, 2, 1, tsr_list(t, &pte, 1));
    tsr_map(c, 4, 3, 1, tsr_list(t, &pte, 1));
    tsr_unmap(c, 4, 3, 1);
    tsr_transfer(c, 0, 0, gart + 2 * 4096, vram, 8192, 0, 0, 0);
    tsr_transfer(c, 0, 0, gart + 2 * 4096, gart + 3 * 4096, 16, 0, 0, 0);
    tsr_run_ok(t, PAGING, c);
    tsr_gpu_read(t, vram, got, 8192);
    g_assert_cmphex(got[4095], ==, 0x11);
    g_assert_cmphex(got[4096], ==, 0xdd);
    g_assert_cmphex(got[8191], ==, 0xdd);
    g_assert_cmphex(qtest_readb(t->qts, dummy), ==, 0x11);
    g_assert_cmphex(qtest_readb(t->qts, dummy + 16), ==, 0xdd);
    g_assert_cmphex(qtest_readb(t->qts, page), ==, 0x11);
    tsr_expect_no_errors(t);
    /* Without a dummy page an access to an unmapped page fails. */
    tsr_w64(t, TSR_CTRL_DUMMY_PAGE_LO, 0);
    c->n = 0;
    tsr_transfer(c, 0, 0, gart, vram, 8, 0, 0, 0);
    tsr_run_err(t, PAGING, c, TSR_ERR_DMA);
    /* After a reset all pages show the dummy page. */
    tsr_device_reset(t);
    tsr_engine_start(t, PAGING, TSR_TEST_RING_BYTES);
    tsr_w64(t, TSR_CTRL_DUMMY_PAGE_LO, dummy);
    tsr_gpu_read(t, gart + 2 * 4096, got, 32);
    g_assert_cmphex(got[31], ==, 0xdd);
    tsr_stop(t);
}

/* PAGE-8, PAGE-9: one packet maps or unmaps several pages, and no others. */
static void test_several(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t at = tsr_seg_base(t, 4) + 8 * 4096, ptes[4];
    uint64_t dummy = tsr_alloc(t, 4096);
    g_autofree uint8_t *got = g_malloc(6 * 4096);
    static const uint8_t mapped[6] = { 0xdd, 0x20, 0x21, 0x22, 0x23, 0xdd };
    static const uint8_t unmapped[6] = { 0xdd, 0x20, 0xdd, 0xdd, 0x23, 0xdd };
    unsigned int i;

    qtest_memset(t->qts, dummy, 0xdd, 4096);
    tsr_w64(t, TSR_CTRL_DUMMY_PAGE_LO, dummy);
    for (i = 0; i < 4; i++) {
        ptes[i] = tsr_alloc(t, 4096);
        qtest_memset(t->qts, ptes[i], 0x20 + i, 4096);
        ptes[i] |= TSR_APTE_VALID | TSR_APTE_WRITE;
    }
    tsr_map(c, 4, 8, 4, tsr_list(t, ptes, 4));
    tsr_run_ok(t, PAGING, c);
    tsr_gpu_read(t, at - 4096, got, 6 * 4096);
    for (i = 0; i < 6; i++) {
        g_assert_cmphex(got[i * 4096], ==, mapped[i]);
    }
    c->n = 0;
    tsr_unmap(c, 4, 9, 2);
    tsr_run_ok(t, PAGING, c);
    tsr_gpu_read(t, at - 4096, got, 6 * 4096);
    for (i = 0; i < 6; i++) {
        g_assert_cmphex(got[i * 4096], ==, unmapped[i]);
    }
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* An engine reset ends a long transfer soon. */
static void test_reset_in_transfer(void)
{
    TsrTest *t = tsr_start("vram-hidden-size=512M");
    uint64_t b = tsr_seg_base(t, 2);
    uint32_t p[TSR_TRANSFER_DWORDS] = {
        TSR_PKT_HEADER(TSR_OP_TRANSFER, 0, TSR_TRANSFER_DWORDS), 0, b, 0,
        b + (64 << 20), 0, 400 << 20,
    };

    for (int i = 0; i < 20; i++) {
        tsr_emit(t, PAGING, p, TSR_TRANSFER_DWORDS);
    }
    tsr_kick(t, PAGING);
    tsr_engine_reset(t, PAGING);
    tsr_gpu_write(t, b, "x", 1);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/paging/PAGE-13-combinations", test_combinations);
    qtest_add_func("/tessera/paging/PAGE-13-large", test_large);
    qtest_add_func("/tessera/paging/PAGE-13-overlap", test_overlap);
    qtest_add_func("/tessera/paging/PAGE-13-list-at-the-end",
                   test_list_at_the_end);
    qtest_add_func("/tessera/paging/PAGE-4-PAGE-5-passes", test_passes);
    qtest_add_func("/tessera/paging/transfer-errors", test_transfer_errors);
    qtest_add_func("/tessera/paging/PAGE-6-fill", test_fill);
    qtest_add_func("/tessera/paging/PAGE-8-map", test_map);
    qtest_add_func("/tessera/paging/PAGE-9-dummy-page", test_dummy);
    qtest_add_func("/tessera/paging/PAGE-8-PAGE-9-several", test_several);
    qtest_add_func("/tessera/paging/reset-in-transfer",
                   test_reset_in_transfer);
    return g_test_run();
}
