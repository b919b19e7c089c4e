/*
 * QTest: rings, fences, interrupts, indirect buffers, halt, hang and reset
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera-common.h"

static void emit_nop(TsrTest *t, uint32_t e, uint32_t dwords)
{
    g_autofree uint32_t *p = g_new0(uint32_t, dwords);

    memset(p, 0xff, dwords * 4);
    p[0] = TSR_PKT_HEADER(TSR_OP_NOP, 0, dwords);
    tsr_emit(t, e, p, dwords);
}

static void emit_job(TsrTest *t, uint32_t e, uint32_t context)
{
    uint32_t p[] = {
        TSR_PKT_HEADER(TSR_OP_JOB_BEGIN, 0, TSR_JOB_BEGIN_DWORDS), context, 0,
        0,
    };

    tsr_emit(t, e, p, 4);
}

/*
 * Wait until the engine is idle. HEAD is written after SEQNO, so it is valid
 * only then.
 */
static void wait_idle(TsrTest *t, uint32_t e)
{
    tsr_wait_reg(t, TSR_ENG(e) + TSR_ENG_STATUS, ~0, TSR_ENGS_IDLE);
}

/* A FENCE writes the record, SEQNO and HEAD of its job. */
static void test_fence(void)
{
    TsrTest *t = tsr_start("");
    uint64_t seqno;

    emit_job(t, RENDER, 0x1234);
    emit_nop(t, RENDER, 2);
    emit_nop(t, RENDER, 1000);
    seqno = tsr_emit_fence(t, RENDER, 0, t->record);
    tsr_kick(t, RENDER);
    tsr_wait(t, RENDER, seqno);
    wait_idle(t, RENDER);
    g_assert_cmpuint(qtest_readl(t->qts, t->eng[RENDER].status_page +
                                 TSR_SP_HEAD), ==, t->eng[RENDER].tail);
    g_assert_cmpuint(qtest_readl(t->qts, t->record + TSR_REC_STATUS), ==, 0);
    g_assert_cmpuint(tsr_r32(t, TSR_ENG(RENDER) + TSR_ENG_HEAD), ==,
                     t->eng[RENDER].tail);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(RENDER) + TSR_ENG_CONTEXT), ==, 0x1234);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * Packets may wrap around the end of the ring; a small ring wraps many times.
 */
static void test_wrap(void)
{
    TsrTest *t = tsr_start("");
    uint64_t seqno = 0;
    int i;

    tsr_engine_reset(t, RENDER);
    tsr_w32(t, TSR_ENG(RENDER) + TSR_ENG_CONTROL, TSR_ENG_RESET);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, TSR_ENGS_RESETTING, 0);
    tsr_engine_start(t, RENDER, 4096);
    for (i = 0; i < 40; i++) {
        emit_nop(t, RENDER, 126 + i % 7 * 2);
        seqno = tsr_emit_fence(t, RENDER, 0, 0);
        tsr_kick(t, RENDER);
        tsr_wait(t, RENDER, seqno);
        wait_idle(t, RENDER);
        g_assert_cmpuint(qtest_readl(t->qts, t->eng[RENDER].status_page +
                                     TSR_SP_HEAD), ==, t->eng[RENDER].tail);
    }
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* An engine with an invalid ring or status page is not enabled. */
static void test_bad_setup(void)
{
    static const struct {
        uint64_t ring, status;
        uint32_t size;
    } bad[] = {
        { 0x1000000, 0x2000000, 0 },
        { 0x1000000, 0x2000000, 2048 },
        { 0x1000000, 0x2000000, 12288 },
        { 0x1000000, 0x2000000, 2097152 },
        { 0x1000800, 0x2000000, 4096 },
        { 0x1000000, 0x2000008, 4096 },
        { 0x1000000, 0, 4096 },
        { 1ULL << 48, 0x2000000, 4096 },
    };
    TsrTest *t = tsr_start("");
    unsigned int i;

    tsr_w32(t, TSR_ENG(RENDER) + TSR_ENG_CONTROL, 0); /* disabling resets */
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, ~0, TSR_ENGS_IDLE);
    tsr_err_clear(t);
    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        tsr_w64(t, TSR_ENG(RENDER) + TSR_ENG_RING_LO, bad[i].ring);
        tsr_w32(t, TSR_ENG(RENDER) + TSR_ENG_RING_SIZE, bad[i].size);
        tsr_w64(t, TSR_ENG(RENDER) + TSR_ENG_STATUS_PAGE_LO, bad[i].status);
        tsr_w32(t, TSR_ENG(RENDER) + TSR_ENG_CONTROL, TSR_ENG_ENABLE);
        g_assert_cmphex(tsr_r32(t, TSR_ENG(RENDER) + TSR_ENG_CONTROL), ==, 0);
        tsr_expect_errors(t, TSR_ERR_RING, 1);
    }
    tsr_w32(t, TSR_DOORBELL(RENDER), 8);
    tsr_expect_errors(t, TSR_ERR_RING, 1);
    tsr_w32(t, TSR_ENG(RENDER) + TSR_ENG_CONTROL, 0x80);
    tsr_expect_errors(t, TSR_ERR_RING, 1);
    tsr_stop(t);
}

/* A bad tail is refused, and the engine keeps running. */
static void test_bad_tail(void)
{
    TsrTest *t = tsr_start("");
    uint64_t seqno;

    tsr_w32(t, TSR_DOORBELL(RENDER), 4);
    tsr_w32(t, TSR_DOORBELL(RENDER), TSR_TEST_RING_BYTES);
    tsr_w32(t, TSR_DOORBELL(RENDER), 0xfffffff8);
    tsr_expect_errors(t, TSR_ERR_RING, 3);
    seqno = tsr_emit_fence(t, RENDER, 0, 0);
    tsr_kick(t, RENDER);
    tsr_wait(t, RENDER, seqno);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* Any number of fences sends one interrupt until the driver acknowledges it. */
static void test_irq_coalescing(void)
{
    TsrTest *t = tsr_start("");
    uint64_t msix = tsr_msix_enable(t);
    uint64_t sp = t->eng[RENDER].status_page, seqno = 0;
    int i;

    for (i = 0; i < 10; i++) {
        seqno = tsr_emit_fence(t, RENDER, TSR_FENCE_INTERRUPT, 0);
    }
    tsr_kick(t, RENDER);
    tsr_wait(t, RENDER, seqno);
    tsr_msix_wait(t, msix, TSR_VECTOR_ENGINE(RENDER));
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, ~0, TSR_ENGS_IDLE);
    g_assert_cmpuint(qtest_readl(t->qts, sp + TSR_SP_IRQ_SENT), ==, 1);
    g_assert_false(tsr_msix_seen(t, msix, TSR_VECTOR_ENGINE(RENDER)));
    qtest_writel(t->qts, sp + TSR_SP_IRQ_ACK, 1);
    seqno = tsr_emit_fence(t, RENDER, TSR_FENCE_INTERRUPT, 0);
    tsr_kick(t, RENDER);
    tsr_msix_wait(t, msix, TSR_VECTOR_ENGINE(RENDER));
    g_assert_cmpuint(qtest_readl(t->qts, sp + TSR_SP_IRQ_SENT), ==, 2);
    g_assert_cmpuint(tsr_seqno(t, RENDER), ==, seqno);
    /* A fence without the flag sends no interrupt. */
    qtest_writel(t->qts, sp + TSR_SP_IRQ_ACK, 2);
    seqno = tsr_emit_fence(t, RENDER, 0, 0);
    tsr_kick(t, RENDER);
    tsr_wait(t, RENDER, seqno);
    tsr_r32(t, TSR_ID_MAGIC);
    g_assert_false(tsr_msix_seen(t, msix, TSR_VECTOR_ENGINE(RENDER)));
    g_assert_false(tsr_msix_seen(t, msix, TSR_VECTOR_ENGINE(PAGING)));
    /* x-drop-irq: the interrupt is counted as sent, but not raised. */
    tsr_qom_set(t, "x-drop-irq", 1);
    seqno = tsr_emit_fence(t, RENDER, TSR_FENCE_INTERRUPT, 0);
    tsr_kick(t, RENDER);
    tsr_wait(t, RENDER, seqno);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, ~0, TSR_ENGS_IDLE);
    g_assert_cmpuint(qtest_readl(t->qts, sp + TSR_SP_IRQ_SENT), ==, 3);
    g_assert_false(tsr_msix_seen(t, msix, TSR_VECTOR_ENGINE(RENDER)));
    g_assert_cmpint(tsr_qom_get(t, "x-drop-irq"), ==, 0);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* An error outside an IB halts the engine; a reset brings it back. */
static void test_halt(void)
{
    TsrTest *t = tsr_start("");
    uint64_t msix = tsr_msix_enable(t), seqno;
    uint32_t bad[] = { TSR_PKT_HEADER(0x7f, 0, 2), 0 };
    uint32_t head;

    tsr_w32(t, TSR_INT_MASK, TSR_INT_ENGINE_HALT);
    emit_nop(t, RENDER, 4);
    head = t->eng[RENDER].tail;
    tsr_emit(t, RENDER, bad, 2);
    tsr_emit_fence(t, RENDER, 0, 0);
    tsr_kick(t, RENDER);
    tsr_msix_wait(t, msix, TSR_VECTOR_ERROR);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(RENDER) + TSR_ENG_STATUS), ==,
                    TSR_ENGS_HALTED);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(RENDER) + TSR_ENG_HEAD), ==, head);
    g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_PACKET), ==, bad[0]);
    g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_OFFSET), ==, head);
    g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_ENGINE), ==, RENDER);
    tsr_expect_errors(t, TSR_ERR_PACKET, 1);
    g_assert_cmpuint(tsr_seqno(t, RENDER), ==, 0);
    /* The other engine is not affected. */
    seqno = tsr_emit_fence(t, PAGING, 0, 0);
    tsr_kick(t, PAGING);
    tsr_wait(t, PAGING, seqno);
    tsr_engine_reset(t, RENDER);
    seqno = tsr_emit_fence(t, RENDER, 0, 0);
    tsr_kick(t, RENDER);
    tsr_wait(t, RENDER, seqno);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* A malformed packet in the ring halts the engine. */
static void test_bad_ring_packets(void)
{
    static const uint32_t headers[] = {
        0,                                      /* no length */
        TSR_PKT_HEADER(TSR_OP_NOP, 0, 1),
        TSR_PKT_HEADER(TSR_OP_NOP, 0, 3),
        TSR_PKT_HEADER(TSR_OP_NOP, 0, 100),     /* beyond the tail */
        TSR_PKT_HEADER(TSR_OP_NOP, 0, 1026),
        TSR_PKT_HEADER(TSR_OP_NOP, 1, 2),       /* unknown flag */
        TSR_PKT_HEADER(TSR_OP_FENCE, 0, 4),
        TSR_PKT_HEADER(TSR_OP_WRITE_PTES, 0, 4),
        TSR_PKT_HEADER(0xff, 0xff, 4),
    };
    TsrTest *t = tsr_start("");
    unsigned int i;

    for (i = 0; i < ARRAY_SIZE(headers); i++) {
        uint32_t p[4] = { headers[i] };

        tsr_emit(t, RENDER, p, 4);
        tsr_kick(t, RENDER);
        tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, TSR_ENGS_HALTED,
                     TSR_ENGS_HALTED);
        tsr_expect_errors(t, TSR_ERR_PACKET, 1);
        tsr_engine_reset(t, RENDER);
    }
    tsr_stop(t);
}

/*
 * SPLIT-28: the parts of an IB are ranges of offsets. Its page list and its
 * total size stay the same.
 */
static void test_ib_parts(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t buf = tsr_alloc(t, 4096), seqno = 0;
    uint32_t i, parts = 1500, pkt = TSR_TIMESTAMP_DWORDS;

    /*
     * The packets write to consecutive words, so that each part leaves a
     * trace.
     */
    for (i = 0; i < parts; i++) {
        tsr_put(c, TSR_OP_SIGNAL, 0, TSR_SIGNAL_DWORDS, 0,
                (uint32_t)(buf + i % 512 * 8), 0, i + 1, 0);
    }
    pkt = TSR_SIGNAL_DWORDS * 4;
    qtest_bufwrite(t->qts, t->ib, c->d, c->n * 4);
    for (i = 0; i < parts; i += 500) {
        uint32_t call[] = {
            TSR_PKT_HEADER(TSR_OP_IB_CALL, 0, TSR_IB_CALL_DWORDS), c->n * 4,
            t->ib_list, 0, i * pkt, (i + 500) * pkt,
        };

        tsr_emit(t, RENDER, call, TSR_IB_CALL_DWORDS);
        seqno = tsr_emit_fence(t, RENDER, 0, t->record);
        tsr_kick(t, RENDER);
        tsr_wait(t, RENDER, seqno);
        g_assert_cmpuint(qtest_readq(t->qts, buf + (i + 499) % 512 * 8), ==,
                         i + 500);
        g_assert_cmpuint(qtest_readl(t->qts, t->record + TSR_REC_STATUS), ==,
                         0);
    }
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

static void expect_halt_call(TsrTest *t, const uint32_t *call)
{
    tsr_emit(t, RENDER, call, TSR_IB_CALL_DWORDS);
    tsr_kick(t, RENDER);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, TSR_ENGS_HALTED,
                 TSR_ENGS_HALTED);
    tsr_expect_errors(t, TSR_ERR_PACKET, 1);
    tsr_engine_reset(t, RENDER);
}

/*
 * An invalid IB_CALL halts the engine. An error inside the IB only ends the
 * IB.
 */
static void test_ib_errors(void)
{
    const uint32_t op = TSR_PKT_HEADER(TSR_OP_IB_CALL, 0, TSR_IB_CALL_DWORDS);
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    const uint32_t beyond[] = { op, 8192, -8U, -1U, 4096, 4096 + 8 };
    TsrTest *t = tsr_start("max-ib-bytes=64K");
    uint32_t offset;
    uint64_t seqno;

    expect_halt_call(t, (uint32_t[]) { op, 65536 + 8, t->ib_list, 0, 0, 8 });
    expect_halt_call(t, (uint32_t[]) { op, 64, t->ib_list, 0, 0, 72 });
    expect_halt_call(t, (uint32_t[]) { op, 64, t->ib_list, 0, 16, 8 });
    expect_halt_call(t, (uint32_t[]) { op, 64, t->ib_list, 0, 4, 8 });
    expect_halt_call(t, (uint32_t[]) { op, 64, t->ib_list + 4, 0, 0, 8 });

    /* A packet must end within its part, and IBs do not nest. */
    tsr_put(c, TSR_OP_NOP, 0, 2, 0);
    c->d[c->n++] = TSR_PKT_HEADER(TSR_OP_NOP, 0, 4);
    c->d[c->n++] = 0;
    g_assert_cmpuint(tsr_run(t, RENDER, false, c, &offset), ==,
                     TSR_ERR_PACKET);
    g_assert_cmpuint(offset, ==, 8);
    c->n = 0;
    tsr_put(c, TSR_OP_IB_CALL, 0, 6, 8, (uint32_t)t->ib_list, 0, 0, 8);
    g_assert_cmpuint(tsr_run(t, RENDER, false, c, NULL), ==, TSR_ERR_PACKET);
    tsr_expect_errors(t, TSR_ERR_PACKET, 2);

    /* Every privileged opcode is refused in a user IB. */
    for (int code = TSR_OP_PRIVILEGED; code < 256; code++) {
        c->n = 0;
        tsr_put(c, code, 0, 2, 0);
        g_assert_cmpuint(tsr_run(t, RENDER, true, c, NULL), ==,
                         TSR_ERR_PRIVILEGE);
    }
    tsr_expect_errors(t, TSR_ERR_PRIVILEGE, 128);
    /* A page of the IB that is not RAM ends the IB, too. */
    qtest_writeq(t->qts, t->ib_list, 0x700000000000ULL);
    c->n = 0;
    tsr_put(c, TSR_OP_NOP, 0, 2, 0);
    g_assert_cmpuint(tsr_run(t, RENDER, false, c, NULL), ==, TSR_ERR_DMA);
    qtest_writeq(t->qts, t->ib_list, t->bounce + 8);
    g_assert_cmpuint(tsr_run(t, RENDER, false, c, NULL), ==, TSR_ERR_DMA);
    /* So does a page list that exceeds the last address. */
    emit_job(t, RENDER, 1);
    tsr_emit(t, RENDER, beyond, TSR_IB_CALL_DWORDS);
    seqno = tsr_emit_fence(t, RENDER, 0, t->record);
    tsr_kick(t, RENDER);
    tsr_wait(t, RENDER, seqno);
    g_assert_cmpuint(qtest_readl(t->qts, t->record + TSR_REC_STATUS), ==,
                     TSR_ERR_DMA);
    tsr_stop(t);
}

/*
 * A part may begin and end anywhere, and the pages of an IB need not be
 * contiguous.
 */
static void test_ib_pages(void)
{
    const uint32_t start = 0x100, border = 4096 - 8;
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t pages[2], list, between, seqno;
    uint32_t end;

    pages[0] = tsr_alloc(t, 4096);
    between = tsr_alloc(t, 4096);
    pages[1] = tsr_alloc(t, 4096);
    g_assert_cmphex(between, ==, pages[0] + 4096);
    qtest_memset(t->qts, between, 0xff, 4096);
    list = tsr_list(t, pages, 2);

    /* The last packet lies in both pages. */
    c->n = start / 4;
    tsr_bind_buffer(c, 0, tsr_seg_base(t, 1), 4096, TSR_FORMAT_R32,
                    TSR_SURF_READ | TSR_SURF_WRITE);
    c->d[c->n] = TSR_PKT_HEADER(TSR_OP_NOP, 0, border / 4 - c->n);
    c->n = border / 4;
    tsr_fill(c, 0, 0, 0, 1, 1, 0x600d);
    end = c->n * 4;
    qtest_bufwrite(t->qts, pages[0], c->d, 4096);
    qtest_bufwrite(t->qts, pages[1], c->d + 1024, end - 4096);

    uint32_t call[TSR_IB_CALL_DWORDS] = {
        TSR_PKT_HEADER(TSR_OP_IB_CALL, TSR_IB_USER, TSR_IB_CALL_DWORDS), end,
        list, 0, start, end,
    };

    emit_job(t, RENDER, 1);
    tsr_emit(t, RENDER, call, TSR_IB_CALL_DWORDS);
    seqno = tsr_emit_fence(t, RENDER, 0, t->record);
    tsr_kick(t, RENDER);
    tsr_wait(t, RENDER, seqno);
    g_assert_cmpuint(qtest_readl(t->qts, t->record + TSR_REC_STATUS), ==, 0);
    g_assert_cmphex(qpci_io_readl(t->dev, t->vram, 0), ==, 0x600d);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* DMA must not reach registers, neither the device's own nor others. */
static void test_dma_hits_ram_only(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t regs = t->regs.addr;

    tsr_w32(t, TSR_CTRL_SCRATCH, 0x5a5a);
    tsr_put(c, TSR_OP_SIGNAL, 0, TSR_SIGNAL_DWORDS, 0,
            (uint32_t)(regs + TSR_CTRL_SCRATCH), 0, 1, 0);
    tsr_run_err(t, RENDER, c, TSR_ERR_DMA);
    g_assert_cmphex(tsr_r32(t, TSR_CTRL_SCRATCH), ==, 0x5a5a);
    c->n = 0;
    tsr_put(c, TSR_OP_SIGNAL, 0, TSR_SIGNAL_DWORDS, 0, 0xfee00000, 0, 1, 0);
    tsr_run_err(t, RENDER, c, TSR_ERR_DMA);
    /* Injected failures: the next accesses of packets fail. */
    /* Both failures hit the fetch of an IB. */
    tsr_qom_set(t, "x-fail-dma", 2);
    c->n = 0;
    tsr_put(c, TSR_OP_NOP, 0, 2, 0);
    tsr_run_err(t, RENDER, c, TSR_ERR_DMA);
    tsr_run_err(t, RENDER, c, TSR_ERR_DMA);
    tsr_run_ok(t, RENDER, c);
    tsr_stop(t);
}

/*
 * A WAIT ends when SIGNAL, a CPU or a reset ends it, and TIMESTAMP writes the
 * device time.
 */
static void test_wait_signal(void)
{
    TsrTest *t = tsr_start("");
    uint64_t sem = tsr_alloc(t, 4096), s0, s1;
    uint32_t wait[] = {
        TSR_PKT_HEADER(TSR_OP_WAIT, 0, TSR_WAIT_DWORDS), 0, sem, 0, 5, 0,
    };
    uint32_t sig[] = {
        TSR_PKT_HEADER(TSR_OP_SIGNAL, 0, TSR_SIGNAL_DWORDS), 0, sem, 0, 5, 0,
    };
    uint32_t ts[] = {
        TSR_PKT_HEADER(TSR_OP_TIMESTAMP, 0, TSR_TIMESTAMP_DWORDS), 0, sem + 64,
        0,
    };

    qtest_clock_step(t->qts, 12345);
    tsr_emit(t, RENDER, wait, 6);
    tsr_emit(t, RENDER, ts, 4);
    s0 = tsr_emit_fence(t, RENDER, 0, 0);
    tsr_kick(t, RENDER);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, ~0, TSR_ENGS_WAITING);
    g_assert_cmpuint(tsr_seqno(t, RENDER), ==, 0);
    tsr_emit(t, PAGING, sig, 6);
    s1 = tsr_emit_fence(t, PAGING, 0, 0);
    tsr_kick(t, PAGING);
    tsr_wait(t, PAGING, s1);
    tsr_wait(t, RENDER, s0);
    g_assert_cmpuint(qtest_readq(t->qts, sem + 64), ==, 12345);
    g_assert_cmpuint(tsr_r64(t, TSR_ID_TIMESTAMP_LO), ==, 12345);
    /* A store of a CPU ends a WAIT, too, and the comparison wraps. */
    wait[4] = 0xfffffff0;
    wait[5] = 0xffffffff;
    qtest_writeq(t->qts, sem, 0xffffffffffffffefULL);
    tsr_emit(t, RENDER, wait, 6);
    s0 = tsr_emit_fence(t, RENDER, 0, 0);
    tsr_kick(t, RENDER);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, ~0, TSR_ENGS_WAITING);
    qtest_writeq(t->qts, sem, 3);
    tsr_wait(t, RENDER, s0);
    /* A reset ends a WAIT. */
    wait[4] = 100;
    wait[5] = 0;
    tsr_emit(t, RENDER, wait, 6);
    tsr_kick(t, RENDER);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, ~0, TSR_ENGS_WAITING);
    tsr_engine_reset(t, RENDER);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(RENDER) + TSR_ENG_STATUS), ==,
                    TSR_ENGS_IDLE);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * Emit a WAIT for @value at @addr and a fence behind it. Return the seqno of
 * the fence when the engine is waiting.
 */
static uint64_t emit_wait(TsrTest *t, uint64_t addr, uint64_t value)
{
    uint32_t wait[] = {
        TSR_PKT_HEADER(TSR_OP_WAIT, 0, TSR_WAIT_DWORDS), 0,
        addr, addr >> 32, value, value >> 32,
    };
    uint64_t seqno;

    tsr_emit(t, RENDER, wait, TSR_WAIT_DWORDS);
    seqno = tsr_emit_fence(t, RENDER, 0, 0);
    tsr_kick(t, RENDER);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, ~0, TSR_ENGS_WAITING);
    return seqno;
}

/*
 * A WAIT that never polls is woken by everything that tells the device of a
 * write.
 */
static void test_wait_woken(void)
{
    TsrTest *t = tsr_start("x-wait-poll-ms=0");
    uint64_t sem = tsr_alloc(t, 4096), seqno, fence;
    uint64_t sp = t->eng[PAGING].status_page;
    uint32_t signal[] = {
        TSR_PKT_HEADER(TSR_OP_SIGNAL, 0, TSR_SIGNAL_DWORDS), 0,
        sem, sem >> 32, 5, 0,
    };
    uint32_t timestamp[] = {
        TSR_PKT_HEADER(TSR_OP_TIMESTAMP, 0, TSR_TIMESTAMP_DWORDS), 0,
        sem, sem >> 32,
    };

    for (uint32_t i = 1; i <= 100; i++) {
        /* SIGNAL */
        signal[4] = i;
        seqno = emit_wait(t, sem, i);
        tsr_emit(t, PAGING, signal, TSR_SIGNAL_DWORDS);
        tsr_kick(t, PAGING);
        tsr_wait(t, RENDER, seqno);
        /* The seqno of a fence, and its record. */
        seqno = emit_wait(t, sp + TSR_SP_SEQNO, 2 * i - 1);
        fence = tsr_emit_fence(t, PAGING, 0, 0);
        g_assert_cmpuint(fence, ==, 2 * i - 1);
        tsr_kick(t, PAGING);
        tsr_wait(t, RENDER, seqno);
        seqno = emit_wait(t, t->record + TSR_REC_SEQNO, 2 * i);
        tsr_emit_fence(t, PAGING, 0, t->record);
        tsr_kick(t, PAGING);
        tsr_wait(t, RENDER, seqno);
        /* A store of a CPU that rings the doorbell afterwards. */
        seqno = emit_wait(t, sem, 1000 + i);
        qtest_writeq(t->qts, sem, 1000 + i);
        tsr_kick(t, RENDER);
        tsr_wait(t, RENDER, seqno);
        qtest_writeq(t->qts, sem, 0);
    }
    /* TIMESTAMP */
    qtest_clock_step(t->qts, 1000000);
    seqno = emit_wait(t, sem, 1000000);
    tsr_emit(t, PAGING, timestamp, TSR_TIMESTAMP_DWORDS);
    tsr_kick(t, PAGING);
    tsr_wait(t, RENDER, seqno);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* Return how often a thread of QEMU has gone to sleep. */
static uint64_t sleeps(TsrTest *t, const char *thread)
{
    g_autofree char *tasks = g_strdup_printf("/proc/%d/task",
                                             (int)qtest_pid(t->qts));
    g_autoptr(GDir) dir = g_dir_open(tasks, 0, NULL);
    const char *tid;

    g_assert_nonnull(dir);
    while ((tid = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(tasks, tid, "status", NULL);
        g_autofree char *text = NULL;
        const char *at;

        if (g_file_get_contents(path, &text, NULL, NULL) &&
            strstr(text, thread)) {
            at = strstr(text, "\nvoluntary_ctxt_switches:");
            g_assert_nonnull(at);
            return g_ascii_strtoull(strchr(at, ':') + 1, NULL, 10);
        }
    }
    g_error("there is no thread %s", thread);
}

/*
 * A WAIT that only a CPU's store can end polls less and less often. The test
 * limits the number of polls for the time that has passed, so a slow machine
 * does not change the result.
 */
static void test_wait_backs_off(void)
{
    TsrTest *t = tsr_start_machine("", "-name guest,debug-threads=on");
    uint64_t sem, seqno, slept;
    int64_t begin, ms;

    tsr_map_device(t);
    tsr_set_up_memory(t);
    tsr_engine_start(t, RENDER, TSR_TEST_RING_BYTES);
    sem = tsr_alloc(t, 4096);
    seqno = emit_wait(t, sem, 1);
    begin = g_get_monotonic_time();
    slept = sleeps(t, "tessera-render0");
    while (g_get_monotonic_time() - begin < G_USEC_PER_SEC / 2) {
        qtest_readq(t->qts, sem);
    }
    slept = sleeps(t, "tessera-render0") - slept;
    ms = (g_get_monotonic_time() - begin) / 1000;
    tsr_rule(slept <= 7 + ms / 64 + 1, "a WAIT has looked %" PRIu64 " times in "
             "%" PRId64 " ms, with nothing to wake it", slept, ms);
    qtest_writeq(t->qts, sem, 1);
    tsr_wait(t, RENDER, seqno);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * An engine that hangs (x-hang-engine) affects no other engine, and a reset or
 * its release ends the hang.
 */
static void test_hang(void)
{
    TsrTest *t = tsr_start("x-hang-engine=0");
    uint64_t seqno;

    emit_job(t, RENDER, 9);
    seqno = tsr_emit_fence(t, RENDER, 0, 0);
    tsr_kick(t, RENDER);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_CONTEXT, ~0, 9);
    g_assert_cmpint(tsr_qom_get(t, "x-hang-engine"), ==, -1);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(RENDER) + TSR_ENG_STATUS), ==, 0);
    g_assert_cmpuint(tsr_seqno(t, RENDER), ==, 0);
    /* The paging engine continues. */
    emit_job(t, PAGING, 1);
    seqno = tsr_emit_fence(t, PAGING, 0, 0);
    tsr_kick(t, PAGING);
    tsr_wait(t, PAGING, seqno);
    tsr_engine_reset(t, RENDER);
    emit_job(t, RENDER, 10);
    seqno = tsr_emit_fence(t, RENDER, 0, 0);
    tsr_kick(t, RENDER);
    tsr_wait(t, RENDER, seqno);
    /* After its release the engine runs the job to its end. */
    tsr_qom_set(t, "x-hang-engine", 0);
    emit_job(t, RENDER, 13);
    seqno = tsr_emit_fence(t, RENDER, 0, 0);
    tsr_kick(t, RENDER);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_CONTEXT, ~0, 13);
    g_assert_cmpuint(tsr_seqno(t, RENDER), ==, seqno - 1);
    tsr_qom_set(t, "x-hang-engine", -1);
    tsr_wait(t, RENDER, seqno);
    /* Hang again, and end this by a device reset and by a machine reset. */
    tsr_qom_set(t, "x-hang-engine", 0);
    emit_job(t, RENDER, 11);
    tsr_kick(t, RENDER);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_CONTEXT, ~0, 11);
    tsr_device_reset(t);
    tsr_engine_start(t, RENDER, 4096);
    tsr_qom_set(t, "x-hang-engine", 0);
    emit_job(t, RENDER, 12);
    tsr_kick(t, RENDER);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_CONTEXT, ~0, 12);
    qtest_system_reset(t->qts);
    qpci_device_enable(t->dev);
    tsr_stop(t);
}

/* Two engines hang, and each is released alone. */
static void test_hang_two(void)
{
    TsrTest *t = tsr_start("");
    const uint32_t engines[] = { RENDER, PAGING };
    uint64_t seqno[2];

    for (int i = 0; i < 2; i++) {
        tsr_qom_set(t, "x-hang-engine", engines[i]);
        emit_job(t, engines[i], 9);
        seqno[i] = tsr_emit_fence(t, engines[i], 0, 0);
        tsr_kick(t, engines[i]);
        tsr_wait_reg(t, TSR_ENG(engines[i]) + TSR_ENG_CONTEXT, ~0, 9);
        g_assert_cmpint(tsr_qom_get(t, "x-hang-engine"), ==, -1);
    }
    /* There is no such engine. */
    tsr_qom_set(t, "x-hang-engine", INT32_MIN);
    g_assert_cmpint(tsr_qom_get(t, "x-hang-engine"), ==, -1);
    /* A hang that is pending for the other engine stays. */
    tsr_qom_set(t, "x-hang-engine", PAGING);
    tsr_qom_set(t, "x-hang-engine", -2 - RENDER);
    g_assert_cmpint(tsr_qom_get(t, "x-hang-engine"), ==, PAGING);
    tsr_wait(t, RENDER, seqno[0]);
    g_usleep(20000);
    g_assert_cmpuint(tsr_seqno(t, PAGING), ==, seqno[1] - 1);
    tsr_qom_set(t, "x-hang-engine", -2 - PAGING);
    g_assert_cmpint(tsr_qom_get(t, "x-hang-engine"), ==, -1);
    tsr_wait(t, PAGING, seqno[1]);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* A delayed job delays its fence. A reset does not wait for the delay. */
static void test_delay(void)
{
    TsrTest *t = tsr_start("x-render-delay-us=30000");
    int64_t start = g_get_monotonic_time();
    uint64_t seqno;

    emit_job(t, RENDER, 1);
    seqno = tsr_emit_fence(t, RENDER, 0, 0);
    tsr_kick(t, RENDER);
    tsr_wait(t, RENDER, seqno);
    g_assert_cmpint(g_get_monotonic_time() - start, >=, 30000);
    tsr_qom_set(t, "x-paging-delay-us", 1000000000);
    emit_job(t, PAGING, 1);
    tsr_kick(t, PAGING);
    tsr_engine_reset(t, PAGING);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * Run a job with a fence and a record. Return the seqno when the record is
 * written.
 */
static uint64_t begin_fence(TsrTest *t, uint32_t e)
{
    int64_t deadline = g_get_monotonic_time() + TSR_TEST_DEADLINE_US;
    uint64_t seqno;

    emit_job(t, e, 1);
    seqno = tsr_emit_fence(t, e, 0, t->record);
    tsr_kick(t, e);
    while (qtest_readq(t->qts, t->record + TSR_REC_SEQNO) != seqno) {
        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
        g_usleep(100);
    }
    return seqno;
}

/*
 * The steps of a fence are x-fence-gap-us apart. Neither a stop nor a reset
 * waits for that long: the fence is completed at once.
 */
static void test_fence_gap(void)
{
    TsrTest *t = tsr_start("x-fence-gap-us=30000");
    int64_t start = g_get_monotonic_time();
    uint64_t seqno;

    tsr_wait(t, RENDER, begin_fence(t, RENDER));
    g_assert_cmpint(g_get_monotonic_time() - start, >=, 30000);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, ~0, TSR_ENGS_IDLE);
    tsr_qom_set(t, "x-fence-gap-us", 1000000000);
    seqno = begin_fence(t, RENDER);
    g_assert_cmpuint(tsr_seqno(t, RENDER), ==, seqno - 1);
    qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
    g_assert_cmpuint(tsr_seqno(t, RENDER), ==, seqno);
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    begin_fence(t, PAGING);
    tsr_engine_reset(t, PAGING);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * x-halt-job: each engine counts its own jobs up to the one at which it halts.
 * The interrupt of the job before that is dropped.
 */
static void test_halt_job(void)
{
    TsrTest *t = tsr_start("render-engines=2,x-halt-job=2");
    uint64_t msix = tsr_msix_enable(t), seqno;

    tsr_engine_start(t, 1, 4096);
    for (uint32_t e = 0; e < 2; e++) {
        emit_job(t, e, 1);
        seqno = tsr_emit_fence(t, e, TSR_FENCE_INTERRUPT, 0);
        tsr_kick(t, e);
        tsr_wait(t, e, seqno);
        tsr_wait_reg(t, TSR_ENG(e) + TSR_ENG_STATUS, ~0, TSR_ENGS_IDLE);
        g_assert_false(tsr_msix_seen(t, msix, TSR_VECTOR_ENGINE(e)));
    }
    for (uint32_t e = 0; e < 2; e++) {
        g_assert_cmpint(tsr_qom_get(t, "x-halt-job"), ==, 1);
        tsr_expect_no_errors(t);
        emit_job(t, e, 2);
        tsr_kick(t, e);
        tsr_wait_reg(t, TSR_ENG(e) + TSR_ENG_STATUS, ~0, TSR_ENGS_HALTED);
        tsr_expect_errors(t, TSR_ERR_PACKET, 1);
    }
    g_assert_cmpint(tsr_qom_get(t, "x-halt-job"), ==, 0);
    tsr_engine_reset(t, 1);
    emit_job(t, 1, 3);
    seqno = tsr_emit_fence(t, 1, 0, 0);
    tsr_kick(t, 1);
    tsr_wait(t, 1, seqno);
    tsr_stop(t);
}

/* A machine reset during a device reset leaves nothing behind. */
static void test_reset_in_reset(void)
{
    TsrTest *t = tsr_start("");
    uint64_t seqno;

    for (int round = 0; round < 50; round++) {
        emit_nop(t, RENDER, 10);
        tsr_kick(t, RENDER);
        tsr_w32(t, TSR_CTRL_RESET, TSR_RESET_MAGIC);
        qtest_system_reset(t->qts);
        g_free(t->dev);
        qpci_free_pc(t->bus);
        tsr_map_device(t);
        g_assert_cmphex(tsr_r32(t, TSR_CTRL_STATUS), ==, 0);
        tsr_engine_start(t, RENDER, TSR_TEST_RING_BYTES);
        seqno = tsr_emit_fence(t, RENDER, 0, 0);
        tsr_kick(t, RENDER);
        tsr_wait(t, RENDER, seqno);
    }
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* A machine reset stops working engines, and they can be set up again. */
static void test_machine_reset(void)
{
    TsrTest *t = tsr_start("");
    uint64_t seqno;
    int i;

    for (i = 0; i < 20; i++) {
        emit_nop(t, RENDER, 100);
    }
    tsr_kick(t, RENDER);
    qtest_system_reset(t->qts);
    qpci_device_enable(t->dev);
    tsr_stop(t);

    t = tsr_start("");
    qtest_system_reset(t->qts);
    tsr_map_device(t);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(RENDER) + TSR_ENG_CONTROL), ==, 0);
    tsr_engine_start(t, RENDER, 4096);
    seqno = tsr_emit_fence(t, RENDER, 0, 0);
    tsr_kick(t, RENDER);
    tsr_wait(t, RENDER, seqno);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * The device is unplugged while one engine waits for ever and the other works.
 */
static void test_unplug(void)
{
    TsrTest *t = tsr_start("");
    uint64_t sem = tsr_alloc(t, 4096), hidden = tsr_seg_base(t, 2);
    uint32_t wait[] = {
        TSR_PKT_HEADER(TSR_OP_WAIT, 0, TSR_WAIT_DWORDS), 0, sem, 0, 5, 0,
    };
    uint32_t move[TSR_TRANSFER_DWORDS] = {
        TSR_PKT_HEADER(TSR_OP_TRANSFER, 0, TSR_TRANSFER_DWORDS), 0, hidden, 0,
        hidden + (64 << 20), 0, 128 << 20,
    };

    tsr_emit(t, RENDER, wait, 6);
    tsr_kick(t, RENDER);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, ~0, TSR_ENGS_WAITING);
    for (int i = 0; i < 50; i++) {
        tsr_emit(t, PAGING, move, TSR_TRANSFER_DWORDS);
    }
    tsr_kick(t, PAGING);
    qpci_unplug_acpi_device_test(t->qts, "gpu", 4);
    tsr_stop(t);
}

/*
 * Run a job after the one with its record at @after, and return its status. A
 * user's IB fills word @x with @value, and a kernel IB behind it signals
 * @value.
 */
static uint32_t fill_after(TsrTest *t, uint64_t after, uint32_t x,
                           uint32_t value)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    uint64_t at = t->ib + 3072, seqno;
    uint32_t signal[] = {
        TSR_PKT_HEADER(TSR_OP_SIGNAL, 0, TSR_SIGNAL_DWORDS), 0,
        at, at >> 32, value, 0,
    };
    uint32_t job[] = {
        TSR_PKT_HEADER(TSR_OP_JOB_BEGIN, 0, TSR_JOB_BEGIN_DWORDS), 0x77, 0, 0,
        TSR_PKT_HEADER(TSR_OP_JOB_AFTER, 0, TSR_JOB_AFTER_DWORDS), 0,
        after, after >> 32,
        TSR_PKT_HEADER(TSR_OP_IB_CALL, TSR_IB_USER, TSR_IB_CALL_DWORDS), 4096,
        t->ib_list, t->ib_list >> 32, 0, 0,
        TSR_PKT_HEADER(TSR_OP_IB_CALL, 0, TSR_IB_CALL_DWORDS), 4096,
        t->ib_list, t->ib_list >> 32, 2048, 2048 + sizeof(signal),
    };

    tsr_bind_buffer(c, 5, tsr_seg_base(t, 1), 64, TSR_FORMAT_R32,
                    TSR_SURF_READ | TSR_SURF_WRITE);
    tsr_fill(c, 5, x, 0, 1, 1, value);
    job[13] = c->n * 4;
    qtest_bufwrite(t->qts, t->ib, c->d, c->n * 4);
    qtest_bufwrite(t->qts, t->ib + 2048, signal, sizeof(signal));
    tsr_emit(t, RENDER, job, ARRAY_SIZE(job));
    seqno = tsr_emit_fence(t, RENDER, 0, t->record);
    tsr_kick(t, RENDER);
    tsr_wait(t, RENDER, seqno);
    g_assert_cmphex(qtest_readl(t->qts, at), ==, value);
    return qtest_readl(t->qts, t->record + TSR_REC_STATUS);
}

static void expect_word(TsrTest *t, uint32_t value)
{
    uint32_t word;

    tsr_gpu_read(t, tsr_seg_base(t, 1), &word, sizeof(word));
    g_assert_cmphex(word, ==, value);
}

/*
 * A user's IB is skipped in a job after a failed one, and in each job after
 * that. The kernel IB always runs.
 */
static void test_job_after(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t good = tsr_alloc(t, 4096), bad = tsr_alloc(t, 4096);
    uint32_t status;

    qtest_memset(t->qts, good, 0, TSR_REC_BYTES);
    g_assert_cmpuint(fill_after(t, good, 0, 1), ==, 0);
    expect_word(t, 1);
    g_assert_cmpuint(fill_after(t, good, 16, 2), ==, TSR_ERR_SLOT_BOUNDS);
    tsr_expect_errors(t, TSR_ERR_SLOT_BOUNDS, 1);
    /* Only the status of the record counts. */
    qtest_memset(t->qts, bad, 0, TSR_REC_BYTES);
    status = TSR_ERR_SLOT_BOUNDS;
    for (int i = 3; i < 6; i++) {
        qtest_writel(t->qts, bad + TSR_REC_STATUS, status);
        status = fill_after(t, bad, 0, i);
        g_assert_cmpuint(status, ==, TSR_ERR_SKIPPED);
        expect_word(t, 1);
    }
    tsr_expect_no_errors(t);
    /* The next job that is after none of them runs. */
    g_assert_cmpuint(fill_after(t, good, 0, 6), ==, 0);
    expect_word(t, 6);
    tsr_put(c, TSR_OP_JOB_AFTER, 0, TSR_JOB_AFTER_DWORDS, 1, 0, 0);
    tsr_run_err(t, RENDER, c, TSR_ERR_PACKET);
    c->n = 0;
    tsr_put(c, TSR_OP_JOB_AFTER, 0, TSR_JOB_AFTER_DWORDS, 0, 4, 0);
    tsr_run_err(t, RENDER, c, TSR_ERR_PACKET);
    /* A record at this address would exceed the address space. */
    c->n = 0;
    tsr_put(c, TSR_OP_JOB_AFTER, 0, TSR_JOB_AFTER_DWORDS, 0,
            -(uint32_t)TSR_REC_STATUS, UINT32_MAX);
    tsr_run_err(t, RENDER, c, TSR_ERR_PACKET);
    tsr_stop(t);
}

/*
 * Run a job with the kernel IB @kernel and a user's IB behind it, which fills
 * a word with @value. Return the status of the job.
 */
static uint32_t fill_behind(TsrTest *t, const TsrCmd *kernel, uint32_t value)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    uint64_t seqno;
    uint32_t job[] = {
        TSR_PKT_HEADER(TSR_OP_JOB_BEGIN, 0, TSR_JOB_BEGIN_DWORDS), 0x78, 0, 0,
        TSR_PKT_HEADER(TSR_OP_IB_CALL, 0, TSR_IB_CALL_DWORDS), 4096,
        t->ib_list, t->ib_list >> 32, 2048, 2048 + kernel->n * 4,
        TSR_PKT_HEADER(TSR_OP_IB_CALL, TSR_IB_USER, TSR_IB_CALL_DWORDS), 4096,
        t->ib_list, t->ib_list >> 32, 0, 0,
    };

    tsr_bind_buffer(c, 5, tsr_seg_base(t, 1), 64, TSR_FORMAT_R32,
                    TSR_SURF_READ | TSR_SURF_WRITE);
    tsr_fill(c, 5, 0, 0, 1, 1, value);
    job[15] = c->n * 4;
    qtest_bufwrite(t->qts, t->ib, c->d, c->n * 4);
    qtest_bufwrite(t->qts, t->ib + 2048, kernel->d, kernel->n * 4);
    tsr_emit(t, RENDER, job, ARRAY_SIZE(job));
    seqno = tsr_emit_fence(t, RENDER, 0, t->record);
    tsr_kick(t, RENDER);
    tsr_wait(t, RENDER, seqno);
    return qtest_readl(t->qts, t->record + TSR_REC_STATUS);
}

/* If the record of JOB_AFTER cannot be read, the user's IB is skipped. */
static void test_job_after_unread(void)
{
    const uint64_t nowhere = 0x700000000000ULL;
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");

    tsr_put(c, TSR_OP_NOP, 0, 2, 0);
    g_assert_cmpuint(fill_behind(t, c, 1), ==, 0);
    expect_word(t, 1);
    c->n = 0;
    tsr_put(c, TSR_OP_JOB_AFTER, 0, TSR_JOB_AFTER_DWORDS, 0,
            (uint32_t)nowhere, (uint32_t)(nowhere >> 32));
    g_assert_cmpuint(fill_behind(t, c, 2), ==, TSR_ERR_SKIPPED);
    expect_word(t, 1);
    tsr_expect_errors(t, TSR_ERR_DMA, 1);
    tsr_stop(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/ring/fence", test_fence);
    qtest_add_func("/tessera/ring/wrap", test_wrap);
    qtest_add_func("/tessera/ring/bad-setup", test_bad_setup);
    qtest_add_func("/tessera/ring/bad-tail", test_bad_tail);
    qtest_add_func("/tessera/ring/irq-coalescing", test_irq_coalescing);
    qtest_add_func("/tessera/ring/halt", test_halt);
    qtest_add_func("/tessera/ring/bad-packets", test_bad_ring_packets);
    qtest_add_func("/tessera/ring/SPLIT-28-ib-parts", test_ib_parts);
    qtest_add_func("/tessera/ring/ib-errors", test_ib_errors);
    qtest_add_func("/tessera/ring/SPLIT-28-ib-pages", test_ib_pages);
    qtest_add_func("/tessera/ring/dma-hits-ram-only", test_dma_hits_ram_only);
    qtest_add_func("/tessera/ring/wait-signal", test_wait_signal);
    qtest_add_func("/tessera/ring/wait-woken", test_wait_woken);
    qtest_add_func("/tessera/ring/wait-backs-off", test_wait_backs_off);
    qtest_add_func("/tessera/ring/hang", test_hang);
    qtest_add_func("/tessera/ring/hang-two", test_hang_two);
    qtest_add_func("/tessera/ring/delay", test_delay);
    qtest_add_func("/tessera/ring/fence-gap", test_fence_gap);
    qtest_add_func("/tessera/ring/halt-job", test_halt_job);
    qtest_add_func("/tessera/ring/machine-reset", test_machine_reset);
    qtest_add_func("/tessera/ring/reset-in-reset", test_reset_in_reset);
    qtest_add_func("/tessera/ring/unplug", test_unplug);
    qtest_add_func("/tessera/ring/job-after", test_job_after);
    qtest_add_func("/tessera/ring/job-after-unread", test_job_after_unread);
    return g_test_run();
}
