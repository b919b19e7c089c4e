/*
 * QTest: fences at virtual addresses
 *
 * FENCE_WAIT and FENCE_SIGNAL in unprivileged buffers, between two engines and
 * across preemption, a stop of the machine and a reset.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera-common.h"

#define PAGE 4096
#define VA 0x0000123456789000ULL
#define FENCE (TSR_PTE_VALID | TSR_PTE_WRITE | TSR_PTE_FENCE)
#define SECOND 1        /* the other render engine */
#define PROPS "vram-size=4M,vram-hidden-size=0,gart-size=4M,agp-ro-size=1M," \
              "render-engines=2,preemption=on,strict=on"

/* An address space with four pages from VA on, all in one table. */
typedef struct Space {
    TsrTest *t;
    uint64_t root;
    uint64_t leaf;      /* address of the entry for VA */
    uint64_t page;      /* the page of fences, at VA */
} Space;

static uint64_t new_page(TsrTest *t)
{
    uint64_t page = tsr_alloc(t, PAGE);

    qtest_memset(t->qts, page, 0, PAGE);
    return page;
}

static Space start(void)
{
    Space s = { .t = tsr_start(PROPS) };
    uint64_t table = new_page(s.t);

    s.root = table | TSR_PTE_VALID;
    for (int level = TSR_PT_LEVELS - 1; level; level--) {
        uint64_t next = new_page(s.t);

        qtest_writeq(s.t->qts, table +
                     (VA >> (12 + 9 * level)) % TSR_PT_ENTRIES * 8,
                     next | TSR_PTE_VALID);
        table = next;
    }
    s.leaf = table + (VA >> 12) % TSR_PT_ENTRIES * 8;
    s.page = new_page(s.t);
    qtest_writeq(s.t->qts, s.leaf, s.page | FENCE);
    return s;
}

static void put(TsrCmd *c, uint32_t op, uint64_t va, uint64_t value)
{
    tsr_put(c, op, 0, TSR_FENCE_WAIT_DWORDS, 0, (uint32_t)va,
            (uint32_t)(va >> 32), (uint32_t)value, (uint32_t)(value >> 32));
}

static void emit_vm(Space *s, uint32_t e)
{
    uint32_t p[TSR_SET_VM_DWORDS] = {
        TSR_PKT_HEADER(TSR_OP_SET_VM, 0, TSR_SET_VM_DWORDS), 1, s->root,
        s->root >> 32,
    };

    tsr_emit(s->t, e, p, TSR_SET_VM_DWORDS);
}

static void emit_job(Space *s, uint32_t e, uint64_t list, uint32_t bytes,
                     uint64_t resume)
{
    uint32_t begin[TSR_JOB_BEGIN_DWORDS] = {
        resume ? TSR_PKT_HEADER(TSR_OP_RESUME, 0, TSR_RESUME_DWORDS)
               : TSR_PKT_HEADER(TSR_OP_JOB_BEGIN, 0, TSR_JOB_BEGIN_DWORDS),
        resume ? 0 : 77, resume, resume >> 32,
    };
    uint32_t call[TSR_IB_CALL_DWORDS] = {
        TSR_PKT_HEADER(TSR_OP_IB_CALL, TSR_IB_USER, TSR_IB_CALL_DWORDS), bytes,
        list, list >> 32, 0, bytes,
    };

    tsr_emit(s->t, e, begin, TSR_JOB_BEGIN_DWORDS);
    emit_vm(s, e);
    tsr_emit(s->t, e, call, TSR_IB_CALL_DWORDS);
}

/* A job in user's commands. */
typedef struct Job {
    uint64_t list;
    uint32_t bytes;
    uint64_t record;
    uint64_t seqno;
} Job;

static Job run(Space *s, uint32_t e, const TsrCmd *c)
{
    uint64_t ib = tsr_alloc(s->t, PAGE);
    Job job = { tsr_list(s->t, &ib, 1), c->n * 4, new_page(s->t) };

    g_assert_cmpuint(job.bytes, <=, PAGE);
    qtest_bufwrite(s->t->qts, ib, c->d, job.bytes);
    emit_job(s, e, job.list, job.bytes, 0);
    job.seqno = tsr_emit_fence(s->t, e, 0, job.record);
    tsr_kick(s->t, e);
    return job;
}

static uint32_t end(Space *s, uint32_t e, const Job *job)
{
    tsr_wait(s->t, e, job->seqno);
    return qtest_readl(s->t->qts, job->record + TSR_REC_STATUS);
}

static uint32_t run_one(Space *s, uint32_t op, uint64_t va, uint64_t value)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    Job job;

    put(c, op, va, value);
    job = run(s, RENDER, c);
    return end(s, RENDER, &job);
}

static uint64_t value(Space *s, uint32_t index)
{
    return qtest_readq(s->t->qts, s->page + index * 8);
}

static void wait_waiting(Space *s, uint32_t e)
{
    tsr_wait_reg(s->t, TSR_ENG(e) + TSR_ENG_STATUS, ~0, TSR_ENGS_WAITING);
}

/* Two engines wait for each other, a hundred times in one buffer. */
static void test_engines(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    Space s = start();
    Job jobs[2];

    for (uint32_t e = 0; e < 2; e++) {
        c->n = 0;
        for (uint32_t i = 0; i < 50; i++) {
            put(c, TSR_OP_FENCE_WAIT, VA + 16, 2 * i + e);
            put(c, TSR_OP_FENCE_SIGNAL, VA + 16, 2 * i + e + 1);
        }
        jobs[e] = run(&s, e ? SECOND : RENDER, c);
        if (!e) {
            wait_waiting(&s, RENDER);
            g_assert_cmpuint(value(&s, 2), ==, 1);
        }
    }
    g_assert_cmpuint(end(&s, RENDER, &jobs[0]), ==, 0);
    g_assert_cmpuint(end(&s, SECOND, &jobs[1]), ==, 0);
    g_assert_cmpuint(value(&s, 2), ==, 100);
    g_assert_cmpuint(value(&s, 1), ==, 0);
    g_assert_cmpuint(value(&s, 3), ==, 0);
    tsr_expect_no_errors(s.t);
    tsr_stop(s.t);
}

/* Values are unsigned and never fall; so does SIGNAL with RAISE. */
static void test_values(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    Space s = start();
    uint64_t top = 1ULL << 63;

    g_assert_cmpuint(run_one(&s, TSR_OP_FENCE_SIGNAL, VA, top), ==, 0);
    g_assert_cmpuint(run_one(&s, TSR_OP_FENCE_SIGNAL, VA, 5), ==, 0);
    g_assert_cmphex(value(&s, 0), ==, top);
    g_assert_cmpuint(run_one(&s, TSR_OP_FENCE_WAIT, VA, 5), ==, 0);
    g_assert_cmpuint(run_one(&s, TSR_OP_FENCE_WAIT, VA, top), ==, 0);
    tsr_put(c, TSR_OP_SIGNAL, TSR_SIGNAL_RAISE, TSR_SIGNAL_DWORDS, 0,
            (uint32_t)s.page, (uint32_t)(s.page >> 32), 7, 0);
    tsr_put(c, TSR_OP_SIGNAL, TSR_SIGNAL_RAISE, TSR_SIGNAL_DWORDS, 0,
            (uint32_t)s.page + 8, (uint32_t)(s.page >> 32), 7, 0);
    tsr_put(c, TSR_OP_SIGNAL, 0, TSR_SIGNAL_DWORDS, 0,
            (uint32_t)s.page + 16, (uint32_t)(s.page >> 32), 7, 0);
    tsr_put(c, TSR_OP_SIGNAL, 0, TSR_SIGNAL_DWORDS, 0,
            (uint32_t)s.page + 16, (uint32_t)(s.page >> 32), 6, 0);
    tsr_run_ok(s.t, RENDER, c);
    g_assert_cmphex(value(&s, 0), ==, top);
    g_assert_cmphex(value(&s, 1), ==, 7);
    g_assert_cmphex(value(&s, 2), ==, 6);
    tsr_expect_no_errors(s.t);
    tsr_stop(s.t);
}

/* Packets at other pages, and other packets at a page of fences. */
static void test_faults(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    Space s = start();
    uint64_t ram = new_page(s.t);
    const struct {
        uint64_t pte;
        uint32_t wait, signal;
    } rows[] = {
        { 0, TSR_ERR_MMU, TSR_ERR_MMU },
        { ram | TSR_PTE_VALID | TSR_PTE_WRITE, TSR_ERR_FENCE, TSR_ERR_FENCE },
        { tsr_seg_base(s.t, 1) | TSR_PTE_VALID | TSR_PTE_WRITE | TSR_PTE_VRAM,
          TSR_ERR_FENCE, TSR_ERR_FENCE },
        { TSR_PTE_NULL | TSR_PTE_VALID | TSR_PTE_WRITE, TSR_ERR_FENCE,
          TSR_ERR_FENCE },
        { ram | TSR_PTE_VALID | TSR_PTE_FENCE, 0, TSR_ERR_READ_ONLY },
        { 0x700000000000 | FENCE, TSR_ERR_DMA, TSR_ERR_DMA },
    };
    Job job;

    for (int i = 0; i < ARRAY_SIZE(rows); i++) {
        for (int signal = 0; signal < 2; signal++) {
            uint32_t err = signal ? rows[i].signal : rows[i].wait;

            g_test_message("row %d signal %d", i, signal);
            tsr_engine_reset(s.t, RENDER); /* forgets translations */
            qtest_writeq(s.t->qts, s.leaf + 8, rows[i].pte);
            g_assert_cmpuint(run_one(&s, signal ? TSR_OP_FENCE_SIGNAL
                                                : TSR_OP_FENCE_WAIT,
                                     VA + PAGE, signal), ==, err);
            if (err) {
                tsr_expect_errors(s.t, err, 1);
            }
        }
    }
    g_assert_cmphex(qtest_readq(s.t->qts, ram), ==, 0);
    g_assert_cmpuint(run_one(&s, TSR_OP_FENCE_SIGNAL, VA + 4, 1), ==,
                     TSR_ERR_PACKET);
    tsr_expect_errors(s.t, TSR_ERR_PACKET, 1);
    tsr_bind_buffer(c, 0, VA, PAGE, TSR_FORMAT_R32, TSR_SURF_WRITE);
    tsr_fill(c, 0, 0, 0, 1, 1, 1);
    job = run(&s, RENDER, c);
    g_assert_cmpuint(end(&s, RENDER, &job), ==, TSR_ERR_FENCE);
    g_assert_cmphex(tsr_r32(s.t, TSR_ERR_REC_ACCESS), ==,
                    TSR_ACCESS_VM | TSR_ACCESS_WRITE |
                    1 << TSR_ACCESS_ASID_SHIFT);
    g_assert_cmphex(tsr_r64(s.t, TSR_ERR_REC_ADDR_LO), ==, VA);
    tsr_expect_errors(s.t, TSR_ERR_FENCE, 1);
    g_assert_cmphex(value(&s, 0), ==, 0);
    tsr_stop(s.t);
}

/* Without an address space there are no fences. */
static void test_no_vm(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(PROPS);

    put(c, TSR_OP_FENCE_SIGNAL, VA, 1);
    tsr_run_err(t, RENDER, c, TSR_ERR_PACKET);
    c->n = 0;
    put(c, TSR_OP_FENCE_WAIT, VA, 0);
    tsr_run_err(t, RENDER, c, TSR_ERR_PACKET);
    tsr_stop(t);
}

/* A waiting job answers a preemption, and waits again when it is resumed. */
static void test_preempt(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    Space s = start();
    uint64_t area = tsr_alloc(s.t, ROUND_UP(TSR_SAVE_BYTES(TSR_MAX_SLOTS),
                                            PAGE));
    Job job;

    put(c, TSR_OP_FENCE_SIGNAL, VA, 1);
    put(c, TSR_OP_FENCE_WAIT, VA, 2);
    put(c, TSR_OP_FENCE_SIGNAL, VA, 3);
    job = run(&s, RENDER, c);
    wait_waiting(&s, RENDER);
    tsr_preempt(s.t, RENDER, area);
    g_assert_cmphex(tsr_r32(s.t, TSR_ENG(RENDER) + TSR_ENG_STATUS), ==,
                    TSR_ENGS_PREEMPTED | TSR_ENGS_IDLE);
    g_assert_cmpuint(qtest_readl(s.t->qts, area + TSR_SAVE_IB_CUR), ==, 24);
    g_assert_cmpuint(value(&s, 0), ==, 1);
    tsr_engine_start(s.t, RENDER, TSR_TEST_RING_BYTES);
    emit_job(&s, RENDER, job.list, job.bytes, area);
    job.seqno = tsr_emit_fence(s.t, RENDER, 0, job.record);
    tsr_kick(s.t, RENDER);
    wait_waiting(&s, RENDER);
    /* A store of the CPU is seen without a doorbell. */
    qtest_writeq(s.t->qts, s.page, 2);
    g_assert_cmpuint(end(&s, RENDER, &job), ==, 0);
    g_assert_cmpuint(value(&s, 0), ==, 3);
    tsr_expect_no_errors(s.t);
    tsr_stop(s.t);
}

/* A stop of the machine and a reset of the engine do not wait for the fence. */
static void test_stops(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    Space s = start();
    Job job;

    put(c, TSR_OP_FENCE_WAIT, VA, 2);
    put(c, TSR_OP_FENCE_SIGNAL, VA, 3);
    job = run(&s, RENDER, c);
    wait_waiting(&s, RENDER);
    qtest_qmp_assert_success(s.t->qts, "{ 'execute': 'stop' }");
    qtest_writeq(s.t->qts, s.page, 2);
    g_assert_cmpuint(value(&s, 0), ==, 2);
    qtest_qmp_assert_success(s.t->qts, "{ 'execute': 'cont' }");
    g_assert_cmpuint(end(&s, RENDER, &job), ==, 0);
    g_assert_cmpuint(value(&s, 0), ==, 3);

    c->n = 0;
    put(c, TSR_OP_FENCE_WAIT, VA, 4);
    run(&s, RENDER, c);
    wait_waiting(&s, RENDER);
    tsr_engine_reset(s.t, RENDER);
    g_assert_cmpuint(run_one(&s, TSR_OP_FENCE_SIGNAL, VA, 5), ==, 0);
    g_assert_cmpuint(value(&s, 0), ==, 5);
    tsr_expect_no_errors(s.t);
    tsr_stop(s.t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/fence/engines", test_engines);
    qtest_add_func("/tessera/fence/values", test_values);
    qtest_add_func("/tessera/fence/faults", test_faults);
    qtest_add_func("/tessera/fence/no-vm", test_no_vm);
    qtest_add_func("/tessera/fence/preempt", test_preempt);
    qtest_add_func("/tessera/fence/stops", test_stops);
    return g_test_run();
}
