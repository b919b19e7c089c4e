/*
 * QTest: preemption of engines, and resumption of jobs
 *
 * A job that waits in the middle of its IB is preempted, another job runs, and
 * RESUME continues the first one. The result must be that of an undisturbed
 * run. Further tests make the mistakes that the manual lists for software, and
 * expect what it says.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera-migrate.h"

#define RW (TSR_SURF_READ | TSR_SURF_WRITE)
#define PROPS "vram-size=4M,vram-hidden-size=0,gart-size=4M,agp-ro-size=1M," \
              "firmware-size=1M,strict=on,preemption=on"
#define SLOT    5
#define WORDS   1024
#define JOB     0xabc
#define IB_BYTES (TSR_TEST_CMD_DWORDS * 4)

/* ---- Helpers ------------------------------------------------------------- */

static uint64_t new_area(TsrTest *t)
{
    uint64_t area = tsr_alloc(t, TSR_SAVE_BYTES(64));

    qtest_memset(t->qts, area, 0xa5, TSR_SAVE_BYTES(64));
    return area;
}

static uint32_t status(TsrTest *t, uint32_t e)
{
    return tsr_r32(t, TSR_ENG(e) + TSR_ENG_STATUS);
}

static uint32_t magic(TsrTest *t, uint64_t area)
{
    return qtest_readl(t->qts, area + TSR_SAVE_MAGIC);
}

static void wait_status(TsrTest *t, uint32_t e, uint32_t bit)
{
    tsr_wait_reg(t, TSR_ENG(e) + TSR_ENG_STATUS, bit, bit);
}

static void emit_begin(TsrTest *t, uint32_t e, uint32_t context)
{
    uint32_t p[TSR_JOB_BEGIN_DWORDS] = {
        TSR_PKT_HEADER(TSR_OP_JOB_BEGIN, 0, TSR_JOB_BEGIN_DWORDS), context,
    };

    tsr_emit(t, e, p, TSR_JOB_BEGIN_DWORDS);
}

static void emit_resume(TsrTest *t, uint32_t e, uint64_t area)
{
    uint32_t p[TSR_RESUME_DWORDS] = {
        TSR_PKT_HEADER(TSR_OP_RESUME, 0, TSR_RESUME_DWORDS), 0, area,
        area >> 32,
    };

    tsr_emit(t, e, p, TSR_RESUME_DWORDS);
}

static void emit_call(TsrTest *t, uint32_t e, uint64_t list, uint32_t bytes)
{
    uint32_t p[TSR_IB_CALL_DWORDS] = {
        TSR_PKT_HEADER(TSR_OP_IB_CALL, 0, TSR_IB_CALL_DWORDS), bytes, list,
        list >> 32, 0, bytes,
    };

    tsr_emit(t, e, p, TSR_IB_CALL_DWORDS);
}

/* The engine has dropped its ring; start it with a new one. */
static void restart(TsrTest *t, uint32_t e)
{
    g_assert_cmphex(tsr_r32(t, TSR_ENG(e) + TSR_ENG_CONTROL), ==, 0);
    tsr_engine_start(t, e, TSR_TEST_RING_BYTES);
    g_assert_cmphex(status(t, e) & TSR_ENGS_PREEMPTED, ==, 0);
}

static void wait_value(TsrTest *t, TsrCmd *c, uint64_t sem, uint32_t value)
{
    tsr_put(c, TSR_OP_WAIT, 0, TSR_WAIT_DWORDS, 0, (uint32_t)sem,
            (uint32_t)(sem >> 32), value, 0);
}

/*
 * Run a job that rebinds the slots of the preempted job and overwrites its
 * state.
 */
static void run_other_work(TsrTest *t, uint32_t e)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);

    for (uint32_t slot = 0; slot < 8; slot++) {
        tsr_bind_buffer(c, slot, tsr_seg_base(t, 1) + 0x200000, WORDS * 4,
                        TSR_FORMAT_R32, RW);
        tsr_fill(c, slot, 0, 0, WORDS, 1, 0x0bad0bad);
    }
    tsr_set_state(c, 0, TSR_STATE_COUNT, 7, 1, 2, 3, 0, 0, 4);
    tsr_run_ok(t, e, c);
}

/* A job with an IB of its own, which tsr_run() does not overwrite. */
typedef struct Job {
    uint64_t ib;
    uint64_t list;
    uint64_t sem;
    uint64_t record;
    uint32_t bytes;
} Job;

static void job_init(TsrTest *t, Job *job)
{
    uint64_t entries[IB_BYTES / 4096];

    job->ib = tsr_alloc(t, IB_BYTES);
    for (uint32_t i = 0; i < ARRAY_SIZE(entries); i++) {
        entries[i] = job->ib + i * 4096;
    }
    job->list = tsr_list(t, entries, ARRAY_SIZE(entries));
    job->sem = tsr_alloc(t, 4096);
    job->record = tsr_alloc(t, 4096);
    qtest_writeq(t->qts, job->sem, 0);
}

static uint64_t job_start(TsrTest *t, Job *job, uint32_t e, const TsrCmd *c)
{
    uint64_t seqno;

    qtest_bufwrite(t->qts, job->ib, c->d, c->n * 4);
    job->bytes = c->n * 4;
    emit_begin(t, e, JOB);
    emit_call(t, e, job->list, job->bytes);
    seqno = tsr_emit_fence(t, e, 0, job->record);
    tsr_kick(t, e);
    return seqno;
}

static uint64_t job_resume(TsrTest *t, Job *job, uint32_t e, uint64_t area)
{
    uint64_t seqno;

    emit_resume(t, e, area);
    emit_call(t, e, job->list, job->bytes);
    seqno = tsr_emit_fence(t, e, 0, job->record);
    tsr_kick(t, e);
    return seqno;
}

static void job_end(TsrTest *t, Job *job, uint32_t e, uint64_t seqno)
{
    tsr_wait(t, e, seqno);
    g_assert_cmpuint(qtest_readl(t->qts, job->record + TSR_REC_STATUS), ==, 0);
    g_assert_cmpuint(qtest_readq(t->qts, job->record + TSR_REC_SEQNO), ==,
                     seqno);
}

/* Build a job that binds SLOT, waits for the value 1 and fills the slot. */
static void job_wait_fill(TsrTest *t, Job *job, TsrCmd *c)
{
    c->n = 0;
    tsr_bind_buffer(c, SLOT, tsr_seg_base(t, 1), WORDS * 4, TSR_FORMAT_R32,
                    RW);
    wait_value(t, c, job->sem, 1);
    tsr_fill(c, SLOT, 0, 0, WORDS, 1, 0xc0ffee);
}

/* Start such a job on the first render engine; return when it waits. */
static TsrTest *start_waiting(const char *props, Job *job, uint64_t *seqno)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(props);

    job_init(t, job);
    job_wait_fill(t, job, c);
    *seqno = job_start(t, job, RENDER, c);
    wait_status(t, RENDER, TSR_ENGS_WAITING);
    return t;
}

static void expect_filled(TsrTest *t)
{
    for (uint32_t i = 0; i < WORDS; i += WORDS - 1) {
        g_assert_cmphex(qpci_io_readl(t->dev, t->vram, i * 4), ==, 0xc0ffee);
    }
}

/* ---- Saved jobs ---------------------------------------------------------- */

/* A resumed job has its slots, its state and its times again. */
static void test_state(void)
{
    Job job;
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(PROPS);
    uint64_t vram = tsr_seg_base(t, 1), area = new_area(t), seqno, ns;
    TsrSurf s = {
        .base = vram + 0x10000, .limit = 0x10000, .format = TSR_FORMAT_RGB565,
        .layout = TSR_LAYOUT_TILE4K, .access = TSR_SURF_WRITE, .pitch = 256,
        .width = 100, .height = 60,
    };

    job_init(t, &job);
    tsr_bind_buffer(c, SLOT, vram, WORDS * 4, TSR_FORMAT_R32, RW);
    tsr_bind(c, 63, &s);
    tsr_set_state(c, TSR_STATE_TARGET_SLOT, 1, 63);
    tsr_set_state(c, TSR_STATE_COLOR, 1, 0x12345678);
    wait_value(t, c, job.sem, 1);
    tsr_fill(c, SLOT, 0, 0, WORDS, 1, 0xc0ffee);
    tsr_fill(c, 63, 0, 0, 100, 60, 0x1234);
    seqno = job_start(t, &job, RENDER, c);
    wait_status(t, RENDER, TSR_ENGS_WAITING);
    tsr_preempt(t, RENDER, area);
    g_assert_cmphex(status(t, RENDER), ==,
                    TSR_ENGS_PREEMPTED | TSR_ENGS_IDLE);
    g_assert_cmpuint(tsr_seqno(t, RENDER), <, seqno);
    g_assert_cmphex(magic(t, area), ==, TSR_SAVE_JOB);
    g_assert_cmphex(qtest_readl(t->qts, area + TSR_SAVE_HEAD), ==, 16);
    g_assert_cmphex(qtest_readl(t->qts, area + TSR_SAVE_OFFSET), ==, 16);
    g_assert_cmphex(qtest_readl(t->qts, area + TSR_SAVE_FLAGS), ==,
                    TSR_SAVEF_IB);
    g_assert_cmphex(qtest_readl(t->qts, area + TSR_SAVE_CONTEXT), ==, JOB);
    g_assert_cmphex(qtest_readl(t->qts, area + TSR_SAVE_IB_CUR), ==,
                    (2 * TSR_BIND_SLOT_DWORDS + 2 * 4) * 4);
    g_assert_cmphex(qtest_readl(t->qts, area + TSR_SAVE_STATE_DEFINED), ==,
                    1 << TSR_STATE_TARGET_SLOT | 1 << TSR_STATE_COLOR);
    g_assert_cmphex(qtest_readl(t->qts, area +
                                TSR_SAVE_STATE(TSR_STATE_COLOR)), ==,
                    0x12345678);
    g_assert_cmphex(qtest_readq(t->qts, area + TSR_SAVE_SLOT(63) +
                                TSR_SAVE_SLOT_BASE), ==, vram + 0x10000);
    g_assert_cmphex(qtest_readl(t->qts, area + TSR_SAVE_SLOT(63) +
                                TSR_SAVE_SLOT_SIZE), ==, 100 | 60 << 16);
    g_assert_cmphex(qtest_readl(t->qts, area + TSR_SAVE_SLOT(0) +
                                TSR_SAVE_SLOT_SURFACE), ==, 0);

    restart(t, RENDER);
    run_other_work(t, RENDER);
    qtest_clock_step(t->qts, 1000000000);
    seqno = job_resume(t, &job, RENDER, area);
    wait_status(t, RENDER, TSR_ENGS_WAITING);
    g_assert_cmphex(magic(t, area), ==, TSR_SAVE_RESUMED);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(RENDER) + TSR_ENG_CONTEXT), ==, JOB);
    tsr_w32(t, TSR_ENG(RENDER) + TSR_ENG_SLOT_SELECT, 63);
    g_assert_cmphex(tsr_r64(t, TSR_ENG(RENDER) + TSR_ENG_SLOT_BASE_LO), ==,
                    vram + 0x10000);
    tsr_w32(t, TSR_ENG(RENDER) + TSR_ENG_SLOT_SELECT, 3);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(RENDER) + TSR_ENG_SLOT_SURFACE), ==, 0);
    qtest_writeq(t->qts, job.sem, 1);
    tsr_kick(t, RENDER);
    job_end(t, &job, RENDER, seqno);
    expect_filled(t);
    /* The second that passed while the job was preempted does not count. */
    ns = qtest_readq(t->qts, job.record + TSR_REC_END_NS) -
         qtest_readq(t->qts, job.record + TSR_REC_START_NS);
    g_assert_cmpuint(ns, <, 1000000000);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

#define STEPS       15
#define STEP_BYTES  0x20000

/*
 * Build the packets of the job, with a WAIT before each if @waits, and with
 * @draws copies of its DRAW.
 */
static void build_steps(TsrTest *t, Job *job, TsrCmd *c, bool waits,
                        uint32_t draws)
{
    uint64_t vram = tsr_seg_base(t, 1);
    TsrSurf s = {
        .base = vram, .limit = 0x10000, .format = TSR_FORMAT_ARGB8888,
        .access = RW, .pitch = 256, .width = 64, .height = 64,
    };

    c->n = 0;
    for (uint32_t i = 0; i < STEPS; i++) {
        if (waits) {
            wait_value(t, c, job->sem, i + 1);
        }
        switch (i) {
        case 0:
            tsr_bind(c, 1, &s);
            break;
        case 1:
            tsr_fill(c, 1, 0, 0, 64, 64, 0xff102030);
            break;
        case 2:
            s.base += 0x10000;
            tsr_bind(c, 2, &s);
            break;
        case 3:
            tsr_fill(c, 2, 0, 0, 64, 64, 0x80405060);
            break;
        case 4:
            tsr_put(c, TSR_OP_BLIT, 0, TSR_BLIT_DWORDS, 1, 2, 3 | 5 << 16,
                    40 | 30 << 16, 1 | 2 << 16, 30 | 20 << 16,
                    TSR_SAMPLER_LINEAR | TSR_BLEND_ALPHA << 8, 0xffffffff, 0);
            break;
        case 5:
            tsr_set_state(c, 0, TSR_STATE_COUNT, 1, 0, 64 | 64 << 16, 2,
                          TSR_SAMPLER_REPEAT, TSR_BLEND_PREMULTIPLIED,
                          0xffffffff);
            break;
        case 6:
            tsr_bind_buffer(c, 3, vram + 0x20000, 3 * TSR_VERTEX_BYTES,
                            TSR_FORMAT_R32, RW);
            break;
        case 7: /* clear three vertices, ... */
            tsr_fill(c, 3, 0, 0, 3 * TSR_VERTEX_BYTES / 4, 1, 0);
            break;
        case 8: /* ... set x of the second ... */
            tsr_fill(c, 3, TSR_VERTEX_BYTES / 4, 0, 1, 1, 64 * 256);
            break;
        case 9: /* ... y of the third, ... */
            tsr_fill(c, 3, 2 * TSR_VERTEX_BYTES / 4 + 1, 0, 1, 1, 64 * 256);
            break;
        case 10 ... 12: /* ... and the colors */
            tsr_fill(c, 3, ((i - 10) * TSR_VERTEX_BYTES + TSR_VERTEX_COLOR) / 4,
                     0, 1, 1, 0x80808080);
            break;
        case 13:
            for (uint32_t n = 0; n < draws; n++) {
                tsr_put(c, TSR_OP_DRAW, 0, TSR_DRAW_DWORDS, 3, 0, 3);
            }
            break;
        default:
            tsr_copy(c, 2, 1, 1, 2, 0, 0, 50, 40);
        }
    }
}

static void look(TsrTest *t, uint8_t *buf)
{
    qpci_memread(t->dev, t->vram, 0, buf, STEP_BYTES);
}

/*
 * A job that is preempted at each of its packets in turn has the same result
 * as an undisturbed one (SCHED-7).
 */
static void test_each_packet(void)
{
    Job job;
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    g_autofree uint8_t *want = g_malloc(STEP_BYTES);
    g_autofree uint8_t *got = g_malloc(STEP_BYTES);
    TsrTest *t = tsr_start(PROPS);
    uint64_t area[2] = { new_area(t), new_area(t) }, seqno;
    uint32_t at = 0;

    tsr_load_firmware(t);
    job_init(t, &job);
    /* A DRAW that runs twice must show. */
    build_steps(t, &job, c, false, 2);
    job_end(t, &job, RENDER, job_start(t, &job, RENDER, c));
    look(t, got);
    build_steps(t, &job, c, false, 1);
    job_end(t, &job, RENDER, job_start(t, &job, RENDER, c));
    look(t, want);
    g_assert_true(memcmp(want, got, STEP_BYTES));

    build_steps(t, &job, c, true, 1);
    seqno = job_start(t, &job, RENDER, c);
    for (uint32_t i = 0; i < STEPS; i++) {
        tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_IB_OFFSET, ~0, at);
        wait_status(t, RENDER, TSR_ENGS_WAITING);
        tsr_preempt(t, RENDER, area[i % 2]);
        g_assert_cmpuint(qtest_readl(t->qts, area[i % 2] + TSR_SAVE_IB_CUR),
                         ==, at);
        restart(t, RENDER);
        run_other_work(t, RENDER);
        seqno = job_resume(t, &job, RENDER, area[i % 2]);
        qtest_writeq(t->qts, job.sem, i + 1);
        tsr_kick(t, RENDER);
        at += TSR_WAIT_DWORDS * 4;
        at += (c->d[at / 4] >> TSR_PKT_LENGTH_SHIFT) * 4;
    }
    job_end(t, &job, RENDER, seqno);
    look(t, got);
    g_assert_true(!memcmp(want, got, STEP_BYTES));
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * A preemption before the first job of a ring saves no job. After the end of a
 * job it saves this job.
 */
static void test_between_jobs(void)
{
    TsrTest *t = tsr_start(PROPS);
    uint64_t area = new_area(t), sem = tsr_alloc(t, 4096), seqno;
    uint32_t wait[TSR_WAIT_DWORDS] = {
        TSR_PKT_HEADER(TSR_OP_WAIT, 0, TSR_WAIT_DWORDS), 0, sem, sem >> 32, 1,
    };

    /* The engine is idle, and the ring has had no job yet. */
    tsr_preempt(t, RENDER, area);
    g_assert_cmphex(magic(t, area), ==, TSR_SAVE_NONE);
    g_assert_cmphex(qtest_readl(t->qts, area + TSR_SAVE_HEAD), ==, 0);
    restart(t, RENDER);

    /* The ring has packets, but no job. */
    qtest_writeq(t->qts, sem, 0);
    tsr_emit(t, RENDER, wait, TSR_WAIT_DWORDS);
    tsr_kick(t, RENDER);
    wait_status(t, RENDER, TSR_ENGS_WAITING);
    tsr_preempt(t, RENDER, area);
    g_assert_cmphex(magic(t, area), ==, TSR_SAVE_NONE);
    restart(t, RENDER);

    /* The job has ended: the saved HEAD is behind it. */
    emit_begin(t, RENDER, JOB);
    seqno = tsr_emit_fence(t, RENDER, 0, 0);
    tsr_kick(t, RENDER);
    tsr_wait(t, RENDER, seqno);
    tsr_preempt(t, RENDER, area);
    g_assert_cmphex(magic(t, area), ==, TSR_SAVE_JOB);
    g_assert_cmphex(qtest_readl(t->qts, area + TSR_SAVE_HEAD), ==,
                    t->eng[RENDER].tail);
    restart(t, RENDER);

    /* The next ring has had no job, either. */
    tsr_preempt(t, RENDER, area);
    g_assert_cmphex(magic(t, area), ==, TSR_SAVE_NONE);
    restart(t, RENDER);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* Two jobs are saved, and software resumes them in the order that it wants. */
static void test_nested(void)
{
    Job job, inner;
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    uint64_t seqno, area[2];
    TsrTest *t = start_waiting(PROPS, &job, &seqno);

    area[0] = new_area(t);
    area[1] = new_area(t);
    tsr_preempt(t, RENDER, area[0]);
    restart(t, RENDER);
    job_init(t, &inner);
    job_wait_fill(t, &inner, c);
    job_start(t, &inner, RENDER, c);
    wait_status(t, RENDER, TSR_ENGS_WAITING);
    tsr_preempt(t, RENDER, area[1]);
    restart(t, RENDER);
    qtest_writeq(t->qts, job.sem, 1);
    qtest_writeq(t->qts, inner.sem, 1);
    job_end(t, &job, RENDER, job_resume(t, &job, RENDER, area[0]));
    run_other_work(t, RENDER);
    job_end(t, &inner, RENDER, job_resume(t, &inner, RENDER, area[1]));
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* A job is saved on one engine and resumed on another. */
static void test_other_engine(void)
{
    enum { SECOND = 1 };
    Job job;
    uint64_t seqno, area;
    TsrTest *t = start_waiting(PROPS ",render-engines=2", &job, &seqno);

    area = new_area(t);
    tsr_preempt(t, RENDER, area);
    qtest_writeq(t->qts, job.sem, 1);
    job_end(t, &job, SECOND, job_resume(t, &job, SECOND, area));
    expect_filled(t);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* The end of a preemption raises an interrupt. */
static void test_event(void)
{
    TsrTest *t = tsr_start(PROPS);
    uint64_t area = new_area(t), msix = tsr_msix_enable(t);

    tsr_w32(t, TSR_INT_MASK, TSR_INT_PREEMPTED);
    g_assert_cmphex(tsr_r32(t, TSR_INT_MASK), ==, TSR_INT_PREEMPTED);
    tsr_preempt(t, RENDER, area);
    tsr_msix_wait(t, msix, TSR_VECTOR_ERROR);
    g_assert_cmphex(tsr_r32(t, TSR_INT_STATUS), ==, TSR_INT_PREEMPTED);
    tsr_w32(t, TSR_INT_STATUS, TSR_INT_PREEMPTED);
    g_assert_cmphex(tsr_r32(t, TSR_INT_STATUS), ==, 0);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* ---- Requests ------------------------------------------------------------ */

static void request(TsrTest *t, uint32_t e, uint64_t area, uint32_t value)
{
    tsr_w64(t, TSR_ENG(e) + TSR_ENG_SAVE_LO, area);
    tsr_w32(t, TSR_ENG(e) + TSR_ENG_CONTROL, value);
}

static void expect_refused(TsrTest *t, uint32_t e, uint64_t area,
                           uint32_t value)
{
    uint32_t before = status(t, e);

    request(t, e, area, value);
    g_assert_cmphex(status(t, e), ==, before);
    tsr_expect_errors(t, TSR_ERR_RING, 1);
}

#define ASK (TSR_ENG_ENABLE | TSR_ENG_PREEMPT)

/*
 * A request that is invalid, or that the engine cannot take, is TSR_ERR_RING
 * and has no effect.
 */
static void test_refused(void)
{
    TsrTest *t = tsr_start(PROPS);
    uint64_t area = new_area(t), top = 1ULL << TSR_ADDRESS_BITS;

    expect_refused(t, RENDER, 0, ASK);
    expect_refused(t, RENDER, area + 8, ASK);
    expect_refused(t, RENDER, area | top, ASK);
    expect_refused(t, RENDER, area, TSR_ENG_PREEMPT);
    expect_refused(t, RENDER, area, ASK | TSR_ENG_RESET);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(RENDER) + TSR_ENG_CONTROL), ==,
                    TSR_ENG_ENABLE);
    tsr_w32(t, TSR_ENG(RENDER) + TSR_ENG_CONTROL, TSR_ENG_RESET);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, TSR_ENGS_RESETTING, 0);
    expect_refused(t, RENDER, area, ASK);
    tsr_stop(t);

    t = tsr_start("preemption=off");
    expect_refused(t, RENDER, tsr_alloc(t, 65536), ASK);
    emit_resume(t, RENDER, tsr_alloc(t, 65536));
    tsr_kick(t, RENDER);
    wait_status(t, RENDER, TSR_ENGS_HALTED);
    tsr_expect_errors(t, TSR_ERR_PACKET, 1);
    tsr_stop(t);
}

/*
 * A request that is stuck (x-stick-preempt): the job runs to its end, and only
 * a reset clears the request.
 */
static void test_stuck(void)
{
    Job job;
    uint64_t seqno, area;
    TsrTest *t = start_waiting(PROPS, &job, &seqno);

    area = new_area(t);
    tsr_qom_set(t, "x-stick-preempt", 1);
    request(t, RENDER, area, ASK);
    g_assert_cmphex(status(t, RENDER), ==,
                    TSR_ENGS_WAITING | TSR_ENGS_PREEMPTING);
    expect_refused(t, RENDER, area, ASK);
    qtest_writeq(t->qts, job.sem, 1);
    tsr_kick(t, RENDER);
    job_end(t, &job, RENDER, seqno);
    expect_filled(t);
    g_assert_cmphex(status(t, RENDER) & TSR_ENGS_PREEMPTING, !=, 0);
    tsr_engine_reset(t, RENDER);
    g_assert_cmphex(status(t, RENDER), ==, TSR_ENGS_IDLE);
    g_assert_cmphex(magic(t, area), ==, 0xa5a5a5a5);
    tsr_preempt(t, RENDER, area);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* An engine that hangs or has halted does not complete a request. */
static void test_no_answer(void)
{
    TsrTest *t = tsr_start(PROPS ",x-hang-engine=0");
    uint32_t bad[] = { 0, 0 };
    uint64_t area = new_area(t);

    emit_begin(t, RENDER, JOB);
    tsr_kick(t, RENDER);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_CONTEXT, ~0, JOB);
    request(t, RENDER, area, ASK);
    g_usleep(20000);
    g_assert_cmphex(status(t, RENDER), ==, TSR_ENGS_PREEMPTING);
    tsr_qom_set(t, "x-hang-engine", -1);
    wait_status(t, RENDER, TSR_ENGS_PREEMPTED);
    restart(t, RENDER);

    tsr_emit(t, RENDER, bad, 2);
    tsr_kick(t, RENDER);
    wait_status(t, RENDER, TSR_ENGS_HALTED);
    tsr_expect_errors(t, TSR_ERR_PACKET, 1);
    request(t, RENDER, area, ASK);
    g_usleep(20000);
    g_assert_cmphex(status(t, RENDER), ==,
                    TSR_ENGS_HALTED | TSR_ENGS_PREEMPTING);
    tsr_engine_reset(t, RENDER);
    g_assert_cmphex(status(t, RENDER), ==, TSR_ENGS_IDLE);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* The job cannot be saved to an area that is not RAM: the engine halts. */
static void test_unreachable(void)
{
    Job job;
    uint64_t seqno;
    TsrTest *t = start_waiting(PROPS, &job, &seqno);

    /* Use the registers of the device as the area. */
    request(t, RENDER, qpci_config_readl(t->dev, PCI_BASE_ADDRESS_0) & ~0xfff,
            ASK);
    wait_status(t, RENDER, TSR_ENGS_HALTED);
    tsr_expect_errors(t, TSR_ERR_DMA, 1);
    g_assert_cmphex(status(t, RENDER) & (TSR_ENGS_PREEMPTING |
                                         TSR_ENGS_PREEMPTED), ==, 0);
    g_assert_cmphex(tsr_r32(t, TSR_INT_STATUS) & TSR_INT_ENGINE_HALT, !=, 0);
    tsr_engine_reset(t, RENDER);
    tsr_preempt(t, RENDER, new_area(t));
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* An engine or device reset comes while a request is pending. */
static void test_reset(void)
{
    Job job;
    uint64_t seqno, area;
    TsrTest *t = start_waiting(PROPS, &job, &seqno);

    area = new_area(t);
    for (uint32_t i = 0; i < 50; i++) {
        request(t, RENDER, area, ASK);
        tsr_engine_reset(t, RENDER);
        g_assert_cmphex(status(t, RENDER), ==, TSR_ENGS_IDLE);
    }
    request(t, RENDER, area, ASK);
    tsr_device_reset(t);
    g_assert_cmphex(status(t, RENDER), ==, TSR_ENGS_IDLE);
    g_assert_cmphex(tsr_r64(t, TSR_ENG(RENDER) + TSR_ENG_SAVE_LO), ==, 0);
    tsr_stop(t);
}

/* ---- RESUME -------------------------------------------------------------- */

/* RESUME of the job in @area must halt the engine with @err. */
static void expect_bad(TsrTest *t, Job *job, uint64_t area, uint32_t err)
{
    job_resume(t, job, RENDER, area);
    wait_status(t, RENDER, TSR_ENGS_HALTED);
    tsr_expect_errors(t, err, 1);
    tsr_engine_reset(t, RENDER);
}

/* RESUME checks each field of the save area. */
static void test_bad_resume(void)
{
    static const struct {
        uint32_t at;
        uint32_t value;
    } bad[] = {
        { TSR_SAVE_MAGIC, TSR_SAVE_NONE },
        { TSR_SAVE_MAGIC, TSR_SAVE_RESUMED },
        { TSR_SAVE_OFFSET, 0 },
        { TSR_SAVE_OFFSET, 20 },
        { TSR_SAVE_OFFSET, 64 },        /* no room for an IB_CALL */
        { TSR_SAVE_OFFSET, 0xfffffff8 },
        { TSR_SAVE_FLAGS, 0x10 },
        { TSR_SAVE_FLAGS, TSR_SAVEF_IB | TSR_SAVEF_IB_VM },
        { TSR_SAVE_FLAGS, TSR_SAVEF_IB_USER },
        { TSR_SAVE_STATUS, TSR_ERR_TYPES },
        { TSR_SAVE_IB_TOTAL, 1 << 30 },
        { TSR_SAVE_IB_CUR, 1 << 20 },
        { TSR_SAVE_IB_CUR, 4 },
        { TSR_SAVE_IB_END, 1 << 20 },
        { TSR_SAVE_IB_LIST, 4 },
        { TSR_SAVE_VM_ROOT, 0x10 },
        { TSR_SAVE_STATE_DEFINED, 1 << TSR_STATE_COUNT },
        { TSR_SAVE_SLOT(SLOT) + TSR_SAVE_SLOT_BASE + 4, 0x10000 },
        { TSR_SAVE_SLOT(SLOT) + TSR_SAVE_SLOT_SURFACE, 0xffffffff },
        { TSR_SAVE_SLOT(SLOT) + TSR_SAVE_SLOT_STALE, 2 },
    };
    Job job;
    uint64_t seqno, area;
    TsrTest *t = start_waiting(PROPS, &job, &seqno);
    g_autofree uint8_t *good = g_malloc(TSR_SAVE_BYTES(64));

    area = new_area(t);
    tsr_preempt(t, RENDER, area);
    qtest_memread(t->qts, area, good, TSR_SAVE_BYTES(64));
    restart(t, RENDER);
    for (uint32_t i = 0; i < ARRAY_SIZE(bad); i++) {
        qtest_memwrite(t->qts, area, good, TSR_SAVE_BYTES(64));
        qtest_writel(t->qts, area + bad[i].at, bad[i].value);
        g_test_message("case %u", i);
        expect_bad(t, &job, area, TSR_ERR_CONTEXT);
    }
    qtest_memwrite(t->qts, area, good, TSR_SAVE_BYTES(64));
    expect_bad(t, &job, area + 4, TSR_ERR_PACKET);
    expect_bad(t, &job, -8ULL, TSR_ERR_PACKET);
    expect_bad(t, &job, 1ULL << 40, TSR_ERR_DMA);

    /* The unmodified area can be resumed once, but not twice. */
    qtest_writeq(t->qts, job.sem, 1);
    job_end(t, &job, RENDER, job_resume(t, &job, RENDER, area));
    expect_filled(t);
    tsr_expect_no_errors(t);
    expect_bad(t, &job, area, TSR_ERR_CONTEXT);
    tsr_stop(t);
}

/* RESUME is valid in the ring only, and fails in an IB. */
static void test_resume_in_ib(void)
{
    Job job;
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    uint64_t seqno, area;
    TsrTest *t = start_waiting(PROPS, &job, &seqno);

    area = new_area(t);
    tsr_preempt(t, RENDER, area);
    restart(t, RENDER);
    tsr_put(c, TSR_OP_RESUME, 0, TSR_RESUME_DWORDS, 0, (uint32_t)area,
            (uint32_t)(area >> 32));
    tsr_run_err(t, RENDER, c, TSR_ERR_PACKET);
    g_assert_cmphex(magic(t, area), ==, TSR_SAVE_JOB);
    tsr_stop(t);
}

/*
 * Random bytes in the area are refused, or have an effect that a bad job could
 * have, too.
 */
static void test_noise(void)
{
    Job job;
    uint64_t seqno, area;
    TsrTest *t = start_waiting(PROPS, &job, &seqno);
    g_autofree uint8_t *good = g_malloc(TSR_SAVE_BYTES(64));
    g_autoptr(GRand) rng = g_rand_new_with_seed(20261126);
    unsigned int refused = 0;

    area = new_area(t);
    tsr_preempt(t, RENDER, area);
    qtest_memread(t->qts, area, good, TSR_SAVE_BYTES(64));
    restart(t, RENDER);
    for (uint32_t i = 0; i < 300; i++) {
        qtest_memwrite(t->qts, area, good, TSR_SAVE_BYTES(64));
        for (uint32_t n = 0; n <= i % 3; n++) {
            uint32_t at = g_rand_int(rng) % (i % 2 ? 0x80
                                                   : TSR_SAVE_BYTES(64));

            qtest_writeb(t->qts, area + at, g_rand_int(rng));
        }
        job_resume(t, &job, RENDER, area);
        g_usleep(i % 4 * 100);
        refused += !!(status(t, RENDER) & TSR_ENGS_HALTED);
        tsr_engine_reset(t, RENDER);
    }
    g_test_message("%u refused", refused);
    g_assert_cmpuint(refused, >, 0);
    tsr_err_clear(t);
    /* The saved job can still be resumed. */
    qtest_memwrite(t->qts, area, good, TSR_SAVE_BYTES(64));
    qtest_writeq(t->qts, job.sem, 1);
    job_end(t, &job, RENDER, job_resume(t, &job, RENDER, area));
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* ---- Migration ----------------------------------------------------------- */

/*
 * A preempted job migrates and is resumed, migrates again, and is preempted
 * and resumed again.
 */
static void test_migrate_preempted(void)
{
    Job job;
    uint64_t seqno, area[2];
    TsrTest *t = start_waiting(PROPS, &job, &seqno);

    area[0] = new_area(t);
    area[1] = new_area(t);
    tsr_preempt(t, RENDER, area[0]);
    t = tsr_migrate(t, PROPS);
    g_assert_cmphex(status(t, RENDER), ==,
                    TSR_ENGS_PREEMPTED | TSR_ENGS_IDLE);
    g_assert_cmphex(tsr_r64(t, TSR_ENG(RENDER) + TSR_ENG_SAVE_LO), ==,
                    area[0]);
    restart(t, RENDER);
    run_other_work(t, RENDER);
    job_resume(t, &job, RENDER, area[0]);
    wait_status(t, RENDER, TSR_ENGS_WAITING);
    t = tsr_migrate(t, PROPS);
    /* The position of JOB_BEGIN has migrated; this saves it. */
    tsr_preempt(t, RENDER, area[1]);
    restart(t, RENDER);
    qtest_writeq(t->qts, job.sem, 1);
    job_end(t, &job, RENDER, job_resume(t, &job, RENDER, area[1]));
    expect_filled(t);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* A pending request migrates, and the destination completes it. */
static void test_migrate_request(void)
{
    TsrTest *t = tsr_start(PROPS ",x-hang-engine=0");
    uint64_t area = new_area(t);

    emit_begin(t, RENDER, JOB);
    tsr_kick(t, RENDER);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_CONTEXT, ~0, JOB);
    request(t, RENDER, area, ASK);
    t = tsr_migrate(t, PROPS);
    g_assert_cmphex(status(t, RENDER), ==, TSR_ENGS_PREEMPTING);
    tsr_qom_set(t, "x-hang-engine", -1);
    wait_status(t, RENDER, TSR_ENGS_PREEMPTED);
    g_assert_cmphex(magic(t, area), ==, TSR_SAVE_NONE);
    restart(t, RENDER);

    tsr_qom_set(t, "x-stick-preempt", 1);
    request(t, RENDER, area, ASK);
    t = tsr_migrate(t, PROPS);
    g_assert_cmphex(status(t, RENDER), ==,
                    TSR_ENGS_IDLE | TSR_ENGS_PREEMPTING);
    tsr_engine_reset(t, RENDER);
    tsr_preempt(t, RENDER, area);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * A request is not completed while the machine is stopped, but after it
 * continues.
 */
static void test_stopped(void)
{
    Job job;
    uint64_t seqno, area;
    TsrTest *t = start_waiting(PROPS, &job, &seqno);

    area = new_area(t);
    qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
    request(t, RENDER, area, ASK);
    g_usleep(20000);
    g_assert_cmphex(status(t, RENDER), ==,
                    TSR_ENGS_WAITING | TSR_ENGS_PREEMPTING);
    g_assert_cmphex(magic(t, area), ==, 0xa5a5a5a5);
    t = tsr_migrate(t, PROPS);
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    wait_status(t, RENDER, TSR_ENGS_PREEMPTED);
    restart(t, RENDER);
    qtest_writeq(t->qts, job.sem, 1);
    job_end(t, &job, RENDER, job_resume(t, &job, RENDER, area));
    expect_filled(t);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/preempt/state", test_state);
    qtest_add_func("/tessera/preempt/each-packet", test_each_packet);
    qtest_add_func("/tessera/preempt/between-jobs", test_between_jobs);
    qtest_add_func("/tessera/preempt/nested", test_nested);
    qtest_add_func("/tessera/preempt/other-engine", test_other_engine);
    qtest_add_func("/tessera/preempt/event", test_event);
    qtest_add_func("/tessera/preempt/refused", test_refused);
    qtest_add_func("/tessera/preempt/stuck", test_stuck);
    qtest_add_func("/tessera/preempt/no-answer", test_no_answer);
    qtest_add_func("/tessera/preempt/unreachable", test_unreachable);
    qtest_add_func("/tessera/preempt/reset", test_reset);
    qtest_add_func("/tessera/preempt/bad-resume", test_bad_resume);
    qtest_add_func("/tessera/preempt/resume-in-ib", test_resume_in_ib);
    qtest_add_func("/tessera/preempt/noise", test_noise);
    qtest_add_func("/tessera/preempt/migrate-preempted",
                   test_migrate_preempted);
    qtest_add_func("/tessera/preempt/migrate-request", test_migrate_request);
    qtest_add_func("/tessera/preempt/stopped", test_stopped);
    return g_test_run();
}
