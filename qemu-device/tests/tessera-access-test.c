/*
 * QTest: memory accesses of engines, and what strict mode reports of them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera-common.h"

#define RW (TSR_SURF_READ | TSR_SURF_WRITE)
#define ROM_PAGE 0xfffff000u    /* the last page of the firmware ROM */
#define SMALL "vram-size=4M,vram-hidden-size=0,agp-ro-size=1M,gart-size=4M," \
              "firmware-size=1M,strict=on"

/*
 * Only RAM counts as system memory: a write to a ROM page fails with
 * TSR_ERR_DMA. The engine must find that out without the BQL, because "stop"
 * holds the BQL while it waits for the engine.
 */
static void test_rom(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(SMALL);
    uint64_t vram = tsr_seg_base(t, 1), rom = ROM_PAGE;
    uint64_t list = tsr_list(t, &rom, 1), gart = tsr_seg_base(t, 4), seqno;
    uint64_t pte = rom | TSR_APTE_VALID | TSR_APTE_WRITE;
    uint64_t ptes[2] = { pte, pte };
    int64_t start;

    tsr_page_fill(c, 0, vram, 4096);
    tsr_run_ok(t, PAGING, c);
    c->n = 0;
    /* The first access of this packet reads the ROM; the write still fails. */
    tsr_map(c, 4, 0, 2, tsr_list(t, ptes, 2));
    tsr_transfer(c, 0, 0, gart, gart + 4096, 4096, 0, 0, 0);
    tsr_run_err(t, PAGING, c, TSR_ERR_DMA);
    c->n = 0;
    tsr_transfer(c, TSR_TRANSFER_DST_PAGES, 0, vram, list, 4096, 0, 0, 0);
    tsr_run_err(t, PAGING, c, TSR_ERR_DMA);

    uint32_t call[TSR_IB_CALL_DWORDS] = {
        TSR_PKT_HEADER(TSR_OP_IB_CALL, 0, TSR_IB_CALL_DWORDS), c->n * 4,
        t->ib_list, 0, 0, c->n * 4,
    };

    tsr_engine_reset(t, PAGING);
    for (int i = 0; i < 600; i++) {
        tsr_emit(t, PAGING, call, TSR_IB_CALL_DWORDS);
    }
    seqno = tsr_emit_fence(t, PAGING, 0, 0);
    start = g_get_monotonic_time();
    tsr_kick(t, PAGING);
    while (tsr_seqno(t, PAGING) < seqno) {
        qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
        qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    }
    /*
     * Takes less than a millisecond, but a second for each stop that has to
     * wait for an engine that wants the BQL.
     */
    g_assert_cmpint(g_get_monotonic_time() - start, <, 5000000);
    tsr_expect_errors(t, TSR_ERR_DMA, 600);
    tsr_stop(t);
}

/* A WAIT packet ends with TSR_ERR_DMA when its memory cannot be read. */
static void test_wait_fails(void)
{
    TsrTest *t = tsr_start(SMALL);
    uint64_t sem = tsr_alloc(t, 4096);
    uint32_t wait[] = {
        TSR_PKT_HEADER(TSR_OP_WAIT, 0, TSR_WAIT_DWORDS), 0, sem, 0, 5, 0,
    };

    tsr_emit(t, RENDER, wait, TSR_WAIT_DWORDS);
    tsr_kick(t, RENDER);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, ~0, TSR_ENGS_WAITING);
    tsr_qom_set(t, "x-fail-dma", 1);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, TSR_ENGS_HALTED,
                 TSR_ENGS_HALTED);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(RENDER) + TSR_ENG_STATUS), ==,
                    TSR_ENGS_HALTED);
    tsr_expect_errors(t, TSR_ERR_DMA, 1);
    tsr_stop(t);
}

static void blit_64(TsrCmd *c, const TsrSurf *src, uint64_t dst, uint32_t h)
{
    TsrSurf to = {
        .base = dst, .limit = 1 << 20, .format = TSR_FORMAT_ARGB8888,
        .access = RW, .pitch = 256, .width = 64, .height = 64,
    };

    tsr_bind(c, 0, src);
    tsr_bind(c, 1, &to);
    tsr_put(c, TSR_OP_BLIT, 0, TSR_BLIT_DWORDS, 1, 0, 0, 64 | h << 16, 0,
            32 | h << 16, 0, 0xffffffff, 0);
}

/*
 * BLIT reads only its source rectangle, not the bytes between its rows: under
 * strict mode a read of an unwritten page would be an error.
 */
static void test_blit_reads_its_rectangle(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(SMALL);
    uint64_t vram = tsr_seg_base(t, 1), dst = vram + (2 << 20);
    TsrSurf src = {
        .base = vram, .limit = 1 << 20, .format = TSR_FORMAT_ARGB8888,
        .access = RW, .pitch = 8192, .width = 2048, .height = 64,
    };

    tsr_load_firmware(t);
    for (int row = 0; row < 4; row++) {
        tsr_page_fill(c, 0x01010101 * row, vram + row * 8192, 4096);
    }
    tsr_run_ok(t, PAGING, c);
    c->n = 0;
    blit_64(c, &src, dst, 4);
    tsr_run_ok(t, RENDER, c);
    c->n = 0;
    blit_64(c, &src, dst, 5);
    tsr_run_err(t, RENDER, c, TSR_ERR_STRICT_UNWRITTEN);

    /* Two rows of 64 tiles; the rectangle covers the first tile of each row. */
    src.layout = TSR_LAYOUT_TILE4K;
    c->n = 0;
    tsr_mark(c, TSR_MARK_ALLOCATED, vram, 1 << 20);
    tsr_page_fill(c, 1, vram, 4096);
    tsr_page_fill(c, 2, vram + 64 * 4096, 4096);
    tsr_run_ok(t, PAGING, c);
    c->n = 0;
    blit_64(c, &src, dst, 40);
    tsr_run_ok(t, RENDER, c);
    c->n = 0;
    tsr_mark(c, TSR_MARK_ALLOCATED, vram + 64 * 4096, 4096);
    tsr_run_ok(t, PAGING, c);
    c->n = 0;
    blit_64(c, &src, dst, 40);
    tsr_run_err(t, RENDER, c, TSR_ERR_STRICT_UNWRITTEN);
    tsr_stop(t);
}

/*
 * A page that is freed while PAGE_FILL writes to it stays freed: wherever in
 * the fill the MARK falls, the next read reports TSR_ERR_STRICT_FREED.
 */
static void test_freed_while_written(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(SMALL);
    uint64_t vram = tsr_seg_base(t, 1), last = vram + (2 << 20) - 4096;
    uint32_t fill[TSR_PAGE_FILL_DWORDS] = {
        TSR_PKT_HEADER(TSR_OP_PAGE_FILL, 0, TSR_PAGE_FILL_DWORDS), 0x12345678,
        vram, 0, 2 << 20, 0,
    };
    uint32_t read[TSR_TRANSFER_DWORDS] = {
        TSR_PKT_HEADER(TSR_OP_TRANSFER, 0, TSR_TRANSFER_DWORDS), 0, last, 0,
        vram, 0, 8,
    };

    for (int round = 0; round < 100; round++) {
        int64_t deadline = g_get_monotonic_time() + TSR_TEST_DEADLINE_US;
        uint32_t freed;

        tsr_mark(c, TSR_MARK_ALLOCATED, vram, 2 << 20);
        tsr_run_ok(t, PAGING, c);
        c->n = 0;
        tsr_emit(t, PAGING, fill, TSR_PAGE_FILL_DWORDS);
        tsr_kick(t, PAGING);
        g_usleep(round * 20);
        tsr_w64(t, TSR_MARK_ADDR_LO, last);
        tsr_w64(t, TSR_MARK_SIZE_LO, 4096);
        tsr_w32(t, TSR_MARK_COMMAND, TSR_MARK_FREE);
        while (!(tsr_r32(t, TSR_ENG(PAGING) + TSR_ENG_STATUS) &
                 (TSR_ENGS_IDLE | TSR_ENGS_HALTED))) {
            g_assert_cmpint(g_get_monotonic_time(), <, deadline);
        }
        freed = tsr_err_count(t, TSR_ERR_STRICT_FREED);
        g_assert_cmpuint(freed, <=, 1);
        tsr_engine_reset(t, PAGING);
        tsr_err_clear(t);
        tsr_emit(t, PAGING, read, TSR_TRANSFER_DWORDS);
        tsr_kick(t, PAGING);
        tsr_wait_reg(t, TSR_ENG(PAGING) + TSR_ENG_STATUS, ~0,
                     TSR_ENGS_HALTED);
        tsr_expect_errors(t, TSR_ERR_STRICT_FREED, 1);
        tsr_engine_reset(t, PAGING);
    }
    tsr_stop(t);
}

static void mark_register(TsrTest *t, uint32_t mark, uint64_t gpa,
                          uint64_t bytes)
{
    tsr_w64(t, TSR_MARK_ADDR_LO, gpa);
    tsr_w64(t, TSR_MARK_SIZE_LO, bytes);
    tsr_w32(t, TSR_MARK_COMMAND, mark);
}

static void wait_word(TsrTest *t, uint64_t off, uint32_t want)
{
    int64_t deadline = g_get_monotonic_time() + TSR_TEST_DEADLINE_US;

    while (qpci_io_readl(t->dev, t->vram, off) != want) {
        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
    }
}

/*
 * A large range that is freed by the MARK registers is marked before the write
 * returns, and poisoned later, in steps.
 */
static void test_large_mark(void)
{
    const uint32_t half = 32 << 20, end = 64 << 20;
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("vram-size=64M,vram-hidden-size=0,strict=on");
    uint64_t vram = tsr_seg_base(t, 1);

    tsr_page_fill(c, 0x11111111, vram, end);
    tsr_run_ok(t, PAGING, c);
    mark_register(t, TSR_MARK_FREE, vram, end);
    mark_register(t, TSR_MARK_ALLOCATED, vram + half, half);
    qpci_io_writel(t->dev, t->vram, end - 4096, 0xfeedbeef);
    c->n = 0;
    tsr_transfer(c, 0, 0, vram + half - 4096, vram + half, 8, 0, 0, 0);
    tsr_run_err(t, PAGING, c, TSR_ERR_STRICT_FREED);

    wait_word(t, half - 4096, TSR_POISON);
    g_assert_cmphex(qpci_io_readl(t->dev, t->vram, end - 4096), ==,
                    0xfeedbeef);
    g_assert_cmphex(qpci_io_readl(t->dev, t->vram, half), ==, 0x11111111);
    g_assert_cmphex(qpci_io_readl(t->dev, t->vram, 0), ==, TSR_POISON);

    /* Nothing is poisoned while the machine is stopped. */
    c->n = 0;
    tsr_mark(c, TSR_MARK_ALLOCATED, vram, end);
    tsr_page_fill(c, 0x22222222, vram, end);
    tsr_run_ok(t, PAGING, c);
    qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
    mark_register(t, TSR_MARK_EVICTED, vram, end);
    for (int i = 0; i < 10; i++) {
        qtest_qmp_assert_success(t->qts, "{'execute': 'query-status'}");
        g_assert_cmphex(qpci_io_readl(t->dev, t->vram, end - 4096), ==,
                        0x22222222);
    }
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    wait_word(t, end - 4096, TSR_POISON);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * A MARK of the largest segment that a device can have, none of it touched
 * yet, takes effect before the register write returns, within 10 ms.
 */
static void test_huge_mark(void)
{
    const uint64_t bytes = 16ULL << 30;
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("vram-size=4M,vram-hidden-size=16G,strict=on");
    uint64_t vram = tsr_seg_base(t, 2), at[] = { 0, bytes / 2, bytes - 4096 };
    int64_t best = INT64_MAX;

    for (int round = 0; round < 20; round++) {
        bool valid = round % 2;
        int64_t start = g_get_monotonic_time();

        /* Rounds 0 and 1 leave out the first and the last page. */
        mark_register(t, valid ? TSR_MARK_VALID : TSR_MARK_ALLOCATED,
                      vram + (round < 2) * 4096, bytes - (round < 2) * 8192);
        best = MIN(best, g_get_monotonic_time() - start);
        for (int i = 0; i < ARRAY_SIZE(at); i++) {
            c->n = 0;
            tsr_transfer(c, TSR_TRANSFER_DST_PAGES, 0, vram + at[i],
                         t->bounce_list, 4096, 0, 0, 0);
            if (valid && (i == 1 || round > 1)) {
                tsr_run_ok(t, PAGING, c);
            } else {
                tsr_run_err(t, PAGING, c, TSR_ERR_STRICT_UNWRITTEN);
            }
        }
    }
    g_test_message("16 GiB marked within %" PRId64 " us", best);
    /* The best of 20 rounds; 0.5 ms on an idle host. */
    g_assert_cmpint(best, <, 10000);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* ---- Accesses, counted --------------------------------------------------- */

#define TILES 4                         /* in each direction */
#define SIDE (TILES * TSR_TILE_ROWS)    /* texels of 4 bytes */
#define PAGES (TILES * TILES)

typedef struct Dma {
    uint32_t accesses[2];               /* reads, writes */
    uint64_t least;                     /* size of the smallest access */
} Dma;

typedef struct Log {
    char *path;
    FILE *f;
} Log;

static Dma log_read(Log *log, uint64_t first, uint64_t end)
{
    Dma dma = { .least = UINT64_MAX };
    char line[256];

    clearerr(log->f);           /* the log has grown since the last read */
    while (fgets(line, sizeof(line), log->f)) {
        uint64_t addr, bytes;
        unsigned int write;
        char *at = strstr(line, "tessera_dma ");

        if (at && sscanf(at, "tessera_dma addr 0x%" PRIx64 " bytes 0x%" PRIx64
                         " write %u", &addr, &bytes, &write) == 3 &&
            addr >= first && addr < end) {
            dma.accesses[write]++;
            dma.least = MIN(dma.least, bytes);
        }
    }
    return dma;
}

/*
 * Run @c on the render engine. It must access [@pages, @pages + 2 * PAGES
 * pages) in exactly @reads reads and @writes writes, each at least a tile row
 * wide.
 */
static void run_counted(TsrTest *t, TsrCmd *c, Log *log, uint64_t pages,
                        uint32_t reads, uint32_t writes)
{
    Dma dma;

    log_read(log, 0, 0);
    tsr_run_ok(t, RENDER, c);
    c->n = 0;
    dma = log_read(log, pages, pages + 2 * PAGES * 4096);
    g_assert_cmpuint(dma.accesses[0], ==, reads);
    g_assert_cmpuint(dma.accesses[1], ==, writes);
    g_assert_cmpuint(dma.least, >=, TSR_TILE_WIDTH_BYTES);
}

/*
 * A tiled surface in an aperture, on RAM pages that are not contiguous. FILL
 * and COPY of the whole surface access each page once. A blend changes the
 * surface in place, row by row.
 */
static void tiled_aperture(TsrTest *t, Log *log, uint32_t layout)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    uint64_t pages = tsr_alloc(t, 2 * PAGES * 4096), ptes[PAGES];
    uint64_t vram = tsr_seg_base(t, 1), gart = tsr_seg_base(t, 4);
    /* Each layout uses its own part of the aperture. */
    uint32_t first = layout * PAGES;
    TsrSurf linear = {
        .base = vram, .limit = 1 << 20, .format = TSR_FORMAT_ARGB8888,
        .access = RW, .pitch = SIDE * 4, .width = SIDE, .height = SIDE,
    };
    TsrSurf tiled = linear;

    for (int i = 0; i < PAGES; i++) {
        ptes[i] = (pages + 2 * i * 4096) | TSR_APTE_VALID | TSR_APTE_WRITE;
    }
    tsr_map(c, 4, first, PAGES, tsr_list(t, ptes, PAGES));
    tsr_page_fill(c, 0x80402010, vram, 1 << 20);
    tsr_run_ok(t, PAGING, c);
    c->n = 0;
    tiled.base = gart + first * 4096;
    tiled.layout = layout;
    tsr_bind(c, 0, &linear);
    tsr_bind(c, 1, &tiled);
    tsr_fill(c, 1, 0, 0, SIDE, SIDE, 7);
    run_counted(t, c, log, pages, 0, PAGES);
    tsr_bind(c, 0, &linear);
    tsr_bind(c, 1, &tiled);
    tsr_copy(c, 1, 0, 0, 0, 0, 0, SIDE, SIDE);
    run_counted(t, c, log, pages, 0, PAGES);
    tsr_bind(c, 0, &linear);
    tsr_bind(c, 1, &tiled);
    tsr_copy(c, 0, 1, 0, 0, 0, 0, SIDE, SIDE);
    run_counted(t, c, log, pages, PAGES, 0);
    tsr_bind(c, 0, &linear);
    tsr_bind(c, 1, &tiled);
    tsr_put(c, TSR_OP_BLIT, 0, TSR_BLIT_DWORDS, 1, 0, 0,
            SIDE | SIDE << 16, 0, SIDE / 2 | SIDE / 2 << 16,
            TSR_BLEND_PREMULTIPLIED << 8, 0xffffffff, 0);
    run_counted(t, c, log, pages, 0, SIDE * TILES);
}

/* Count the accesses by the tessera_dma trace event, for each tiled layout. */
static void test_tiled_aperture(void)
{
    g_autofree char *args = NULL;
    TsrTest *t;
    Log log;
    int fd = g_file_open_tmp("tessera-XXXXXX", &log.path, NULL);

    g_assert_cmpint(fd, >=, 0);
    log.f = fdopen(fd, "r");
    args = g_strdup_printf("-trace tessera_dma -D %s", log.path);
    t = tsr_start_machine(SMALL, args);
    tsr_set_up(t);
    tsr_load_firmware(t);
    for (uint32_t layout = TSR_LAYOUT_TILE4K; layout < TSR_LAYOUT_COUNT;
         layout++) {
        tiled_aperture(t, &log, layout);
    }
    tsr_expect_no_errors(t);
    tsr_stop(t);
    fclose(log.f);
    unlink(log.path);
    g_free(log.path);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/access/rom", test_rom);
    qtest_add_func("/tessera/access/wait-fails", test_wait_fails);
    qtest_add_func("/tessera/access/blit-reads-its-rectangle",
                   test_blit_reads_its_rectangle);
    qtest_add_func("/tessera/access/freed-while-written",
                   test_freed_while_written);
    qtest_add_func("/tessera/access/tiled-aperture", test_tiled_aperture);
    qtest_add_func("/tessera/access/large-mark", test_large_mark);
    qtest_add_func("/tessera/access/huge-mark", test_huge_mark);
    return g_test_run();
}
