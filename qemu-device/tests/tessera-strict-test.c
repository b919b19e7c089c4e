/*
 * QTest: strict mode, with each kind of error that it reports
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/units.h"
#include "tessera-common.h"

#define RW (TSR_SURF_READ | TSR_SURF_WRITE)

static void fill_job(TsrCmd *c, uint64_t gpa)
{
    c->n = 0;
    tsr_bind_buffer(c, 0, gpa, 4096, TSR_FORMAT_R32, RW);
    tsr_fill(c, 0, 0, 0, 1, 1, 0x1234);
}

static void read_job(TsrCmd *c, uint64_t gpa, uint64_t dst)
{
    c->n = 0;
    tsr_bind_buffer(c, 0, gpa, 4096, TSR_FORMAT_R32, RW);
    tsr_bind_buffer(c, 1, dst, 4096, TSR_FORMAT_R32, RW);
    tsr_copy(c, 1, 0, 0, 0, 0, 0, 4, 1);
}

/* Reads of VRAM that was never written since it was allocated. */
static void test_unwritten(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("strict=on");
    uint64_t vram = tsr_seg_base(t, 1), hidden = tsr_seg_base(t, 2);

    g_assert_cmphex(tsr_r32(t, TSR_ID_CAPS) & TSR_CAP_STRICT, !=, 0);
    read_job(c, vram, hidden);
    tsr_run_err(t, RENDER, c, TSR_ERR_STRICT_UNWRITTEN);
    c->n = 0;
    tsr_transfer(c, TSR_TRANSFER_DST_PAGES, 0, vram, t->bounce_list, 4096, 0,
                 0, 0);
    tsr_run_err(t, PAGING, c, TSR_ERR_STRICT_UNWRITTEN);
    /* A write or mark that ends with a page does not affect the next page. */
    c->n = 0;
    tsr_page_fill(c, 0, vram, 4096);
    tsr_mark(c, TSR_MARK_ALLOCATED, vram, 4096);
    tsr_page_fill(c, 0, vram + 8192, 4096);
    tsr_run_ok(t, PAGING, c);
    read_job(c, vram + 4096, hidden);
    tsr_run_err(t, RENDER, c, TSR_ERR_STRICT_UNWRITTEN);
    read_job(c, vram + 12288, hidden);
    tsr_run_err(t, RENDER, c, TSR_ERR_STRICT_UNWRITTEN);
    /*
     * A write of any engine makes the page valid. For stores of a CPU,
     * software has to mark it.
     */
    fill_job(c, vram);
    tsr_run_ok(t, RENDER, c);
    read_job(c, vram, hidden);
    tsr_run_ok(t, RENDER, c);
    read_job(c, vram + 4096, hidden);
    tsr_run_err(t, RENDER, c, TSR_ERR_STRICT_UNWRITTEN);
    tsr_mark_register(t, TSR_MARK_VALID, vram + 4096, 4096);
    tsr_run_ok(t, RENDER, c);
    /* A page that is allocated again is undefined again. */
    tsr_mark_register(t, TSR_MARK_ALLOCATED, vram, 8192);
    tsr_run_err(t, RENDER, c, TSR_ERR_STRICT_UNWRITTEN);
    c->n = 0;
    tsr_page_fill(c, 0, vram, 8192);
    tsr_run_ok(t, PAGING, c);
    read_job(c, vram + 4096, hidden);
    tsr_run_ok(t, RENDER, c);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

static void expect_poison(TsrTest *t, uint64_t offset, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i += 4) {
        uint32_t word = qpci_io_readl(t->dev, t->vram, offset + i);

        tsr_rule(word == TSR_POISON,
                 "memory that was given up keeps its bytes: 0x%08x, not the "
                 "poison, at 0x%" PRIx64 " of 0x%" PRIx64 " from 0x%" PRIx64,
                 word, i, bytes, offset);
    }
}

/* An access to freed memory is an error, and the memory is poisoned. */
static void test_freed(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("strict=on");
    uint64_t vram = tsr_seg_base(t, 1), hidden = tsr_seg_base(t, 2);

    c->n = 0;
    tsr_page_fill(c, 0x42, vram, 3 * 4096);
    tsr_run_ok(t, PAGING, c);
    tsr_mark_register(t, TSR_MARK_FREE, vram + 4096, 4096);
    expect_poison(t, 4096, 4096);
    g_assert_cmphex(qpci_io_readl(t->dev, t->vram, 4092), ==, 0x42);
    g_assert_cmphex(qpci_io_readl(t->dev, t->vram, 8192), ==, 0x42);
    fill_job(c, vram + 4096);
    tsr_run_err(t, RENDER, c, TSR_ERR_STRICT_FREED);
    read_job(c, vram + 4096, hidden);
    tsr_run_err(t, RENDER, c, TSR_ERR_STRICT_FREED);
    c->n = 0;
    tsr_page_fill(c, 0, vram, 8192);
    tsr_run_err(t, PAGING, c, TSR_ERR_STRICT_FREED);
    expect_poison(t, 4096, 4096);
    /* The same with MARK packets. One page is allocated again. */
    c->n = 0;
    tsr_mark(c, TSR_MARK_ALLOCATED, vram + 4096, 4096);
    tsr_page_fill(c, 0, vram + 4096, 4096);
    tsr_mark(c, TSR_MARK_FREE, vram + 8192, 4096);
    tsr_run_ok(t, PAGING, c);
    expect_poison(t, 8192, 4096);
    fill_job(c, vram + 8192);
    tsr_run_err(t, RENDER, c, TSR_ERR_STRICT_FREED);
    fill_job(c, vram + 4096);
    tsr_run_ok(t, RENDER, c);
    tsr_stop(t);
}

/* The job must fail, because the reset has lost the memory that it reads. */
static void expect_lost(TsrTest *t, uint32_t engine, const TsrCmd *c,
                        const char *what)
{
    uint32_t status;

    tsr_err_clear(t);
    status = tsr_run(t, engine, false, c, NULL);
    tsr_rule(status, "%s can be read behind a reset as if it had been written "
             "since: x-lose-vram has not taken it", what);
    g_assert_cmpuint(status, ==, TSR_ERR_STRICT_UNWRITTEN);
    tsr_expect_errors(t, TSR_ERR_STRICT_UNWRITTEN, 1);
}

/*
 * SEG-31: with x-lose-vram a reset loses all memory that is not announced as
 * preserved.
 */
static void check_reset_loses(const char *props, bool kept)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(props);
    uint64_t vram = tsr_seg_base(t, 1), hidden = tsr_seg_base(t, 2);
    uint64_t own = tsr_hidden_base(t);

    tsr_page_fill(c, 0x42, vram, 4096);
    tsr_page_fill(c, 0x43, hidden, 4096);
    tsr_page_fill(c, 0x44, own, 4096);
    tsr_run_ok(t, PAGING, c);
    tsr_device_reset(t);
    tsr_engine_start(t, RENDER, 4096);
    tsr_engine_start(t, PAGING, 4096);
    /*
     * Hidden memory (microcode, page tables) is in no segment, so nothing
     * announces it as preserved.
     */
    c->n = 0;
    tsr_transfer(c, TSR_TRANSFER_DST_PAGES, 0, own, t->bounce_list, 4096, 0, 0,
                 0);
    expect_lost(t, PAGING, c, "the memory that is in no segment (microcode, "
                "page tables)");
    read_job(c, hidden, vram + 4096);
    expect_lost(t, RENDER, c, "the segment that CPUs do not see");
    read_job(c, vram, hidden);
    if (kept) {
        g_assert_cmphex(qpci_io_readl(t->dev, t->vram, 0), ==, 0x42);
        tsr_run_ok(t, RENDER, c);
    } else {
        g_assert_cmphex(qpci_io_readl(t->dev, t->vram, 0), ==, 0);
        expect_lost(t, RENDER, c, "the segment that CPUs see");
    }
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

static void test_reset_loses(void)
{
    check_reset_loses("strict=on,x-lose-vram=on", false);
    check_reset_loses("strict=on,x-lose-vram=on,vram-preserved=on", true);
}

/* Return the resident KiB of QEMU. */
static uint64_t resident_kib(TsrTest *t)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status",
                                            (int)qtest_pid(t->qts));
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;
    const char *line;

    g_file_get_contents(path, &text, NULL, &error);
    g_assert_no_error(error);
    line = strstr(text, "VmRSS:");
    g_assert_nonnull(line);
    return g_ascii_strtoull(line + strlen("VmRSS:"), NULL, 10);
}

/* SEG-31: losing memory that was never used takes neither time nor memory. */
static void test_reset_loses_much(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("x-lose-vram=on,vram-hidden-size=2G");
    uint64_t hidden = tsr_seg_base(t, 2);
    uint32_t word = 0x42;

    tsr_gpu_write(t, hidden + GiB, &word, sizeof(word));
    tsr_device_reset(t);
    g_assert_cmpuint(resident_kib(t), <, GiB / KiB);
    tsr_engine_start(t, PAGING, 4096);
    tsr_gpu_read(t, hidden + GiB, &word, sizeof(word));
    g_assert_cmphex(word, ==, 0);
    tsr_stop(t);
}

/*
 * Run another IB in the same job, which fills @slot as the job has bound it.
 * Return the status.
 */
static uint32_t fill_kept_slot(TsrTest *t, uint32_t slot)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    uint32_t call[] = {
        TSR_PKT_HEADER(TSR_OP_IB_CALL, TSR_IB_USER, TSR_IB_CALL_DWORDS),
        TSR_FILL_DWORDS * 4, t->ib_list, 0, 0, TSR_FILL_DWORDS * 4,
    };
    uint64_t seqno;

    tsr_fill(c, slot, 0, 0, 1, 1, 1);
    qtest_bufwrite(t->qts, t->ib, c->d, c->n * 4);
    tsr_emit(t, RENDER, call, TSR_IB_CALL_DWORDS);
    seqno = tsr_emit_fence(t, RENDER, 0, t->record);
    tsr_kick(t, RENDER);
    tsr_wait(t, RENDER, seqno);
    return qtest_readl(t->qts, t->record + TSR_REC_STATUS);
}

/*
 * An evicted page is poisoned, and slots on it are stale until they are bound
 * again.
 */
static void test_evicted_and_stale(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("strict=on");
    uint64_t vram = tsr_seg_base(t, 1);

    c->n = 0;
    tsr_page_fill(c, 0x42, vram, 2 * 4096);
    tsr_run_ok(t, PAGING, c);
    fill_job(c, vram);
    tsr_bind_buffer(c, 1, vram + 4096, 4096, TSR_FORMAT_R32, RW);
    tsr_run_ok(t, RENDER, c);
    c->n = 0;
    tsr_mark(c, TSR_MARK_EVICTED, vram, 4096);
    tsr_mark(c, TSR_MARK_ALLOCATED, vram, 4096); /* reused */
    tsr_run_ok(t, PAGING, c);
    expect_poison(t, 0, 4096);
    tsr_expect_no_errors(t);
    /* A slot on a page that stayed works. */
    g_assert_cmpuint(fill_kept_slot(t, 1), ==, 0);
    /* A slot on a page that was evicted does not work. */
    g_assert_cmpuint(fill_kept_slot(t, 0), ==, TSR_ERR_STRICT_STALE_SLOT);
    g_assert_cmpuint(tsr_r32(t, TSR_ERR_REC_SLOT), ==, 0);
    tsr_expect_errors(t, TSR_ERR_STRICT_STALE_SLOT, 1);
    /* A new binding to an evicted range is another type of error. */
    tsr_mark_register(t, TSR_MARK_EVICTED, vram, 4096);
    fill_job(c, vram);
    tsr_run_err(t, RENDER, c, TSR_ERR_STRICT_EVICTED);
    tsr_stop(t);
}

/*
 * A slot becomes stale if one of its pages is evicted, but not if a page
 * beside it is.
 */
static void test_stale_by_a_page(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("strict=on");
    uint64_t vram = tsr_seg_base(t, 1);

    for (uint32_t page = 0; page < 5; page++) {
        uint32_t status = page >= 1 && page <= 3 ? TSR_ERR_STRICT_STALE_SLOT
                                                 : TSR_ERR_NONE;

        c->n = 0;
        tsr_mark(c, TSR_MARK_ALLOCATED, vram, 5 * 4096);
        tsr_run_ok(t, PAGING, c);
        c->n = 0;
        tsr_bind_buffer(c, 0, vram + 4096, 3 * 4096, TSR_FORMAT_R32, RW);
        tsr_run_ok(t, RENDER, c);
        c->n = 0;
        tsr_mark(c, TSR_MARK_EVICTED, vram + page * 4096, 4096);
        tsr_mark(c, TSR_MARK_ALLOCATED, vram + page * 4096, 4096);
        tsr_run_ok(t, PAGING, c);
        g_assert_cmpuint(fill_kept_slot(t, 0), ==, status);
        tsr_err_clear(t);
    }
    tsr_stop(t);
}

/*
 * The same with registers, also for a range so large that it is poisoned
 * later.
 */
static void test_stale_by_registers(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("strict=on");
    uint64_t hidden = tsr_seg_base(t, 2);

    for (uint64_t bytes = 64 * KiB; bytes <= 2 * MiB; bytes *= 32) {
        c->n = 0;
        tsr_mark(c, TSR_MARK_ALLOCATED, hidden, bytes);
        tsr_run_ok(t, PAGING, c);
        fill_job(c, hidden + bytes / 2);
        tsr_run_ok(t, RENDER, c);
        tsr_mark_register(t, TSR_MARK_EVICTED, hidden, bytes);
        tsr_mark_register(t, TSR_MARK_ALLOCATED, hidden, bytes);
        g_assert_cmpuint(fill_kept_slot(t, 0), ==, TSR_ERR_STRICT_STALE_SLOT);
        tsr_expect_errors(t, TSR_ERR_STRICT_STALE_SLOT, 1);
    }
    tsr_stop(t);
}

static void draw_job(TsrCmd *c, uint64_t vram, uint32_t missing, bool textured)
{
    TsrSurf s = {
        .base = vram, .limit = 4096, .format = TSR_FORMAT_ARGB8888,
        .access = RW, .pitch = 128, .width = 32, .height = 32,
    };
    const uint32_t values[TSR_STATE_COUNT] = { 0, 0, 32 | 32 << 16, 0, 0, 0,
                                               0xffffffff };

    c->n = 0;
    tsr_bind(c, 0, &s);
    tsr_bind_buffer(c, 1, vram + 4096, 4096, TSR_FORMAT_R32, TSR_SURF_READ);
    for (uint32_t i = 0; i < TSR_STATE_COUNT; i++) {
        if (i != missing) {
            tsr_set_state(c, i, 1, values[i]);
        }
    }
    tsr_put(c, TSR_OP_DRAW, textured ? TSR_DRAW_TEXTURED : 0, TSR_DRAW_DWORDS,
            1, 0, 3);
}

/* SPLIT: the engine state is undefined at the start of each part. */
static void test_state(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("strict=on");
    uint64_t vram = tsr_seg_base(t, 1);

    tsr_page_fill(c, 0, vram, 8192);
    tsr_run_ok(t, PAGING, c);
    tsr_load_firmware(t);
    draw_job(c, vram, TSR_STATE_COUNT, true);
    tsr_run_ok(t, RENDER, c);
    for (uint32_t i = 0; i < TSR_STATE_COUNT; i++) {
        bool texture = i == TSR_STATE_TEXTURE_SLOT || i == TSR_STATE_SAMPLER;

        /* The job before sets all registers, which must not help. */
        draw_job(c, vram, TSR_STATE_COUNT, true);
        tsr_run_ok(t, RENDER, c);
        draw_job(c, vram, i, true);
        tsr_run_err(t, RENDER, c, TSR_ERR_STRICT_STATE);
        draw_job(c, vram, i, false);
        if (texture) {
            tsr_run_ok(t, RENDER, c);
        } else {
            tsr_run_err(t, RENDER, c, TSR_ERR_STRICT_STATE);
        }
    }
    tsr_stop(t);
    /* Without strict mode the old state may still be there. */
    t = tsr_start("");
    vram = tsr_seg_base(t, 1);
    tsr_load_firmware(t);
    draw_job(c, vram, TSR_STATE_COUNT, false);
    tsr_run_ok(t, RENDER, c);
    draw_job(c, vram, TSR_STATE_COLOR, false);
    tsr_run_ok(t, RENDER, c);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* PAGE-9: a page must be unmapped before it is mapped again. */
static void test_overlap(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("strict=on");
    uint64_t gart = tsr_seg_base(t, 4), vram = tsr_seg_base(t, 1), got;
    uint64_t list[2], ptes[2];

    for (unsigned int i = 0; i < 2; i++) {
        uint64_t page = tsr_alloc(t, 4096);

        ptes[i] = page | TSR_APTE_VALID | TSR_APTE_WRITE;
        qtest_memset(t->qts, page, 0x10 + i, 4096);
        list[i] = tsr_list(t, &ptes[i], 1);
    }
    tsr_w64(t, TSR_CTRL_DUMMY_PAGE_LO, tsr_alloc(t, 4096));
    tsr_map(c, 4, 2, 1, list[0]);
    tsr_unmap(c, 4, 2, 1);
    tsr_map(c, 4, 2, 1, list[0]);
    tsr_run_ok(t, PAGING, c);
    tsr_expect_no_errors(t);
    c->n = 0;
    tsr_map(c, 4, 2, 1, list[1]);
    tsr_run_ok(t, PAGING, c);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, gart + 8192);
    tsr_expect_errors(t, TSR_ERR_STRICT_OVERLAP, 1);
    c->n = 0;
    read_job(c, gart + 8192, vram);
    tsr_run_ok(t, RENDER, c);
    tsr_gpu_read(t, vram, &got, 8);
    g_assert_cmphex(got, ==, 0x1111111111111111);
    /* Each mapped page that a packet maps again counts. */
    for (uint32_t mapped = 1; mapped <= 2; mapped++) {
        c->n = 0;
        tsr_map(c, 4, 1, 2, tsr_list(t, ptes, 2));
        tsr_run_ok(t, PAGING, c);
        g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==,
                        gart + (3 - mapped) * 4096);
        tsr_expect_errors(t, TSR_ERR_STRICT_OVERLAP, mapped);
    }
    tsr_stop(t);
}

/* PAGE-9: an access to an unmapped page is counted, and yet harmless. */
static void test_dummy(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("strict=on");
    uint64_t gart = tsr_seg_base(t, 4), vram = tsr_seg_base(t, 1), got;
    uint64_t dummy = tsr_alloc(t, 4096);

    /* Unmapping is an error while there is no dummy page to show. */
    tsr_unmap(c, 4, 0, 1);
    tsr_run_ok(t, PAGING, c);
    tsr_expect_errors(t, TSR_ERR_STRICT_DUMMY, 1);
    c->n = 0;
    qtest_memset(t->qts, dummy, 0xdd, 4096);
    tsr_w64(t, TSR_CTRL_DUMMY_PAGE_LO, dummy);
    tsr_unmap(c, 4, 0, 1);
    tsr_run_ok(t, PAGING, c);
    tsr_expect_no_errors(t);
    c->n = 0;
    read_job(c, gart + 8192, vram);
    tsr_run_ok(t, RENDER, c);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, gart + 8192);
    tsr_expect_errors(t, TSR_ERR_STRICT_DUMMY, 1);
    tsr_gpu_read(t, vram, &got, 8);
    g_assert_cmphex(got, ==, 0xdddddddddddddddd);
    tsr_stop(t);
}

/* MARK checks its command, alignment, range and segment. */
static void test_mark_errors(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("strict=on,vram-size=1M,vram-hidden-size=0");
    uint64_t vram = tsr_seg_base(t, 1), gart = tsr_seg_base(t, 4);

    tsr_mark_register(t, 0, vram, 4096);
    tsr_expect_errors(t, TSR_ERR_REGISTER, 1);
    tsr_mark_register(t, 5, vram, 4096);
    tsr_expect_errors(t, TSR_ERR_REGISTER, 1);
    tsr_mark_register(t, TSR_MARK_FREE, vram + 8, 4096);
    tsr_expect_errors(t, TSR_ERR_REGISTER, 1);
    tsr_mark_register(t, TSR_MARK_FREE, vram, 4095);
    tsr_expect_errors(t, TSR_ERR_REGISTER, 1);
    tsr_mark_register(t, TSR_MARK_FREE, vram, (1 << 20) + 4096);
    tsr_expect_errors(t, TSR_ERR_ADDRESS, 1);
    tsr_mark_register(t, TSR_MARK_FREE, ~4095ULL, 8192);
    tsr_expect_errors(t, TSR_ERR_ADDRESS, 1);
    tsr_mark_register(t, TSR_MARK_FREE, gart, 4096);
    tsr_expect_errors(t, TSR_ERR_SEGMENT, 1);
    tsr_mark(c, TSR_MARK_FREE, gart, 4096);
    tsr_run_err(t, PAGING, c, TSR_ERR_SEGMENT);
    c->n = 0;
    tsr_mark(c, 9, vram, 4096);
    tsr_run_err(t, PAGING, c, TSR_ERR_PACKET);
    tsr_stop(t);
}

/* Without strict mode, MARK has no effect and no access is checked. */
static void test_off(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t vram = tsr_seg_base(t, 1), hidden = tsr_seg_base(t, 2);

    qpci_io_writel(t->dev, t->vram, 0, 0x1234);
    tsr_mark_register(t, TSR_MARK_FREE, vram, 4096);
    g_assert_cmphex(qpci_io_readl(t->dev, t->vram, 0), ==, 0x1234);
    read_job(c, vram, hidden);
    tsr_run_ok(t, RENDER, c);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/strict/unwritten", test_unwritten);
    qtest_add_func("/tessera/strict/freed-and-poisoned", test_freed);
    qtest_add_func("/tessera/strict/SEG-31-reset-loses", test_reset_loses);
    qtest_add_func("/tessera/strict/SEG-31-reset-loses-much",
                   test_reset_loses_much);
    qtest_add_func("/tessera/strict/SPLIT-17-evicted-and-stale",
                   test_evicted_and_stale);
    qtest_add_func("/tessera/strict/SPLIT-17-stale-by-a-page",
                   test_stale_by_a_page);
    qtest_add_func("/tessera/strict/SPLIT-17-stale-by-registers",
                   test_stale_by_registers);
    qtest_add_func("/tessera/strict/state", test_state);
    qtest_add_func("/tessera/strict/PAGE-9-dummy", test_dummy);
    qtest_add_func("/tessera/strict/PAGE-9-overlap", test_overlap);
    qtest_add_func("/tessera/strict/mark-errors", test_mark_errors);
    qtest_add_func("/tessera/strict/off", test_off);
    return g_test_run();
}
