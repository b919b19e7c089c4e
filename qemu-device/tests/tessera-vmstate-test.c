/*
 * QTest: migration with idle and with working engines
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera-migrate.h"

#define RW (TSR_SURF_READ | TSR_SURF_WRITE)
#define SIZES "agp-ro-size=1M,firmware-size=1M"
#define PROPS SIZES ",strict=on,vram-size=4M,vram-hidden-size=8M,gart-size=4M"

static TsrTest *migrate(TsrTest *t)
{
    return tsr_migrate(t, PROPS);
}

/* The whole state of an idle device migrates. */
static void test_idle(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(PROPS);
    uint64_t vram = tsr_seg_base(t, 1), hidden = tsr_seg_base(t, 2);
    uint64_t gart = tsr_seg_base(t, 4), page = tsr_alloc(t, 4096), got;
    uint64_t pte = page | TSR_APTE_VALID | TSR_APTE_WRITE;
    uint32_t i;

    tsr_load_firmware(t);
    tsr_w32(t, TSR_CTRL_SCRATCH, 0xfeed);
    tsr_w32(t, TSR_INT_MASK, TSR_INT_ERROR);
    tsr_w64(t, TSR_CTRL_DUMMY_PAGE_LO, t->bounce);
    tsr_map(c, 4, 5, 1, tsr_list(t, &pte, 1));
    tsr_page_fill(c, 0xaaaa5555, vram, 8192);
    tsr_page_fill(c, 0x12345678, hidden, 8192);
    tsr_mark(c, TSR_MARK_FREE, hidden + 4096, 4096);
    tsr_run_ok(t, PAGING, c);
    c->n = 0;
    tsr_bind_buffer(c, 7, vram, 4096, TSR_FORMAT_R32, RW);
    tsr_set_state(c, 0, TSR_STATE_COUNT, 1, 2, 3, 4, 1, 1, 7);
    tsr_run_ok(t, RENDER, c);
    tsr_r32(t, 0x5f0); /* an error that has to migrate */
    tsr_w32(t, TSR_ERR_REC_SELECT, TSR_ERR_REGISTER);

    t = migrate(t);
    g_assert_cmphex(tsr_r32(t, TSR_CTRL_SCRATCH), ==, 0xfeed);
    g_assert_cmphex(tsr_r32(t, TSR_CTRL_STATUS), ==, TSR_STATUS_FW_RUNNING);
    g_assert_cmphex(tsr_r32(t, TSR_INT_MASK), ==, TSR_INT_ERROR);
    g_assert_cmphex(tsr_r32(t, TSR_INT_STATUS), ==, TSR_INT_ERROR);
    g_assert_cmphex(tsr_r64(t, TSR_CTRL_DUMMY_PAGE_LO), ==, t->bounce);
    g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_SELECT), ==, TSR_ERR_REGISTER);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, 0x5f0);
    tsr_expect_errors(t, TSR_ERR_REGISTER, 1);
    g_assert_cmphex(tsr_seg_base(t, 4), ==, gart);
    for (i = 0; i < 2; i++) {
        g_assert_cmphex(tsr_r32(t, TSR_ENG(i) + TSR_ENG_HEAD), ==,
                        t->eng[i].tail);
        g_assert_cmphex(tsr_r64(t, TSR_ENG(i) + TSR_ENG_RING_LO), ==,
                        t->eng[i].ring);
    }
    tsr_w32(t, TSR_ENG(RENDER) + TSR_ENG_SLOT_SELECT, 7);
    g_assert_cmphex(tsr_r64(t, TSR_ENG(RENDER) + TSR_ENG_SLOT_BASE_LO), ==,
                    vram);
    /* VRAM, page states and aperture entries have migrated. */
    g_assert_cmphex(qpci_io_readl(t->dev, t->vram, 8188), ==, 0xaaaa5555);
    tsr_gpu_read(t, hidden, &got, 8);
    g_assert_cmphex(got, ==, 0x1234567812345678);
    c->n = 0;
    tsr_transfer(c, 0, 0, hidden + 4096, vram, 8, 0, 0, 0);
    tsr_run_err(t, PAGING, c, TSR_ERR_STRICT_FREED);
    c->n = 0;
    tsr_transfer(c, 0, 0, hidden, gart + 5 * 4096, 8, 0, 0, 0);
    tsr_run_ok(t, PAGING, c);
    g_assert_cmphex(qtest_readq(t->qts, page), ==, 0x1234567812345678);
    tsr_expect_no_errors(t);
    /* Migrate the device once more. */
    t = migrate(t);
    tsr_gpu_write(t, vram, "abc", 3);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * An engine waits inside an IB with bound slots. The rest of the IB runs on
 * the destination.
 */
static void test_in_ib(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(PROPS);
    uint64_t vram = tsr_seg_base(t, 1), sem = tsr_alloc(t, 4096), seqno;
    uint64_t first, sp = t->eng[RENDER].status_page;

    /* One interrupt is sent and acknowledged on the source. */
    first = tsr_emit_fence(t, RENDER, TSR_FENCE_INTERRUPT, 0);
    tsr_kick(t, RENDER);
    tsr_wait(t, RENDER, first);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, ~0, TSR_ENGS_IDLE);
    g_assert_cmpuint(qtest_readl(t->qts, sp + TSR_SP_IRQ_SENT), ==, 1);
    qtest_writel(t->qts, sp + TSR_SP_IRQ_ACK, 1);

    tsr_bind_buffer(c, 3, vram, 4096, TSR_FORMAT_R32, RW);
    tsr_put(c, TSR_OP_WAIT, 0, TSR_WAIT_DWORDS, 0, (uint32_t)sem, 0, 1, 0);
    tsr_fill(c, 3, 0, 0, 16, 1, 0xbeef);
    uint32_t call[] = {
        TSR_PKT_HEADER(TSR_OP_IB_CALL, 0, TSR_IB_CALL_DWORDS), c->n * 4,
        t->ib_list, 0, 0, c->n * 4,
    };

    qtest_bufwrite(t->qts, t->ib, c->d, c->n * 4);
    tsr_emit(t, RENDER, call, TSR_IB_CALL_DWORDS);
    seqno = tsr_emit_fence(t, RENDER, TSR_FENCE_INTERRUPT, t->record);
    tsr_kick(t, RENDER);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, ~0, TSR_ENGS_WAITING);
    t = migrate(t);
    g_assert_cmpuint(tsr_seqno(t, RENDER), ==, first);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(RENDER) + TSR_ENG_STATUS), ==,
                    TSR_ENGS_WAITING);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(RENDER) + TSR_ENG_IB_OFFSET), ==,
                    TSR_BIND_SLOT_DWORDS * 4);
    qtest_writeq(t->qts, sem, 1);
    tsr_wait(t, RENDER, seqno);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, ~0, TSR_ENGS_IDLE);
    g_assert_cmphex(qpci_io_readl(t->dev, t->vram, 60), ==, 0xbeef);
    /* The next one is sent on the destination. */
    g_assert_cmpuint(qtest_readl(t->qts, sp + TSR_SP_IRQ_SENT), ==, 2);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* As test_in_ib(), but with the IB and its buffers at virtual addresses. */
static void test_in_virtual_ib(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(PROPS);
    uint64_t ram = tsr_alloc(t, 3 * 4096), sem = tsr_alloc(t, 4096), seqno;
    uint64_t tables = tsr_alloc(t, TSR_PT_LEVELS * 4096);
    const uint64_t va = 0x40000000, other = ram + 4096;

    qtest_memset(t->qts, tables, 0, TSR_PT_LEVELS * 4096);
    for (int level = 0; level < TSR_PT_LEVELS; level++) {
        uint64_t next = level ? tables + (level - 1) * 4096 : ram;

        qtest_writeq(t->qts, tables + level * 4096 +
                     (va >> (12 + 9 * level)) % TSR_PT_ENTRIES * 8,
                     next | TSR_PTE_VALID | (level ? 0 : TSR_PTE_WRITE));
    }
    qtest_writeq(t->qts, tables + 8, other | TSR_PTE_VALID);
    tsr_bind_buffer(c, 3, va, 4096, TSR_FORMAT_R32, RW);
    tsr_fill(c, 3, 0, 0, 16, 1, 0xaaaa);
    tsr_put(c, TSR_OP_WAIT, 0, TSR_WAIT_DWORDS, 0, (uint32_t)sem, 0, 1, 0);
    tsr_fill(c, 3, 4, 0, 16, 1, 0xbeef);
    uint32_t job[] = {
        TSR_PKT_HEADER(TSR_OP_SET_VM, 0, TSR_SET_VM_DWORDS), 77,
        (tables + 3 * 4096) | TSR_PTE_VALID, 0,
        TSR_PKT_HEADER(TSR_OP_IB_CALL, TSR_IB_VM, TSR_IB_CALL_DWORDS),
        c->n * 4, va + 4096, 0, 0, c->n * 4,
    };

    qtest_bufwrite(t->qts, other, c->d, c->n * 4);
    tsr_emit(t, RENDER, job, ARRAY_SIZE(job));
    seqno = tsr_emit_fence(t, RENDER, 0, t->record);
    tsr_kick(t, RENDER);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, ~0, TSR_ENGS_WAITING);
    t = migrate(t);
    /* The TLB does not migrate: the destination uses the new entry. */
    qtest_writeq(t->qts, tables + (va >> 12) % TSR_PT_ENTRIES * 8,
                 (ram + 8192) | TSR_PTE_VALID | TSR_PTE_WRITE);
    qtest_writeq(t->qts, sem, 1);
    tsr_wait(t, RENDER, seqno);
    g_assert_cmpuint(qtest_readl(t->qts, t->record + TSR_REC_STATUS), ==, 0);
    g_assert_cmphex(qtest_readl(t->qts, ram + 16), ==, 0xaaaa);
    g_assert_cmphex(qtest_readl(t->qts, ram + 8192 + 16), ==, 0xbeef);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * A long DRAW is resumed on the destination, and blends each pixel exactly
 * once.
 */
static void test_in_draw(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(PROPS);
    uint64_t vram = tsr_seg_base(t, 1), hidden = tsr_seg_base(t, 2), seqno;
    const uint32_t layers = 100;
    TsrSurf s = {
        .base = hidden, .format = TSR_FORMAT_ARGB8888, .access = RW,
        .layout = TSR_LAYOUT_TILE4K, .pitch = 4096, .width = 1024,
        .height = 1024, .limit = 4 << 20,
    };
    g_autofree uint8_t *raw = g_malloc0(layers * 3 * TSR_VERTEX_BYTES);
    g_autofree uint32_t *got = g_malloc(1 << 20);

    tsr_load_firmware(t);
    for (uint32_t i = 0; i < layers * 3; i++) {
        uint8_t *p = raw + i * TSR_VERTEX_BYTES;

        stl_le_p(p + TSR_VERTEX_X, i % 3 == 1 ? 2048 * 256 : 0);
        stl_le_p(p + TSR_VERTEX_Y, i % 3 == 2 ? 2048 * 256 : 0);
        stl_le_p(p + TSR_VERTEX_COLOR, 0x00010101);
    }
    tsr_page_fill(c, 0, hidden, 4 << 20);
    tsr_run_ok(t, PAGING, c);
    tsr_gpu_write(t, vram, raw, layers * 3 * TSR_VERTEX_BYTES);
    c->n = 0;
    tsr_bind(c, 0, &s);
    tsr_bind_buffer(c, 1, vram, layers * 3 * TSR_VERTEX_BYTES,
                    TSR_FORMAT_R32, TSR_SURF_READ);
    tsr_set_state(c, 0, TSR_STATE_COUNT, 0, 0, 1024 | 1024 << 16, 0, 0,
                  TSR_BLEND_PREMULTIPLIED, 0xffffffff);
    tsr_put(c, TSR_OP_DRAW, 0, TSR_DRAW_DWORDS, 1, 0, layers * 3);
    uint32_t call[] = {
        TSR_PKT_HEADER(TSR_OP_IB_CALL, 0, TSR_IB_CALL_DWORDS), c->n * 4,
        t->ib_list, 0, 0, c->n * 4,
    };

    qtest_bufwrite(t->qts, t->ib, c->d, c->n * 4);
    tsr_emit(t, RENDER, call, TSR_IB_CALL_DWORDS);
    seqno = tsr_emit_fence(t, RENDER, 0, t->record);
    tsr_kick(t, RENDER);
    t = migrate(t);
    t = migrate(t);
    tsr_wait(t, RENDER, seqno);
    tsr_expect_no_errors(t);
    for (uint32_t mib = 0; mib < 4; mib++) {
        tsr_gpu_read(t, hidden + (mib << 20), got, 1 << 20);
        for (uint32_t i = 0; i < 1 << 18; i++) {
            g_assert_cmphex(got[i], ==, layers * 0x00010101);
        }
    }
    tsr_stop(t);
}

/* Save the state of a machine, with its RAM, to @data. Return its size. */
static gsize state_bytes(TsrTest *t, char **data)
{
    g_autofree char *path = tsr_state_file();
    gsize bytes;

    tsr_save(t, path);
    g_assert_true(g_file_get_contents(path, data, &bytes, NULL));
    unlink(path);
    return bytes;
}

/*
 * Empty table entries are not saved. The page states of strict mode are not
 * saved while it is off.
 */
static void test_bytes(void)
{
    static const char *const props[] = {
        SIZES ",vram-size=4M,gart-size=4M,host-aperture-size=4M",
        SIZES ",vram-size=4M,gart-size=1G,host-aperture-size=64M",
    };
    gsize bytes[2];

    for (int i = 0; i < 2; i++) {
        g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
        g_autofree char *data = NULL;
        TsrTest *t = tsr_start(props[i]);
        uint64_t pte = t->bounce | TSR_APTE_VALID;

        tsr_map(c, 4, 7, 1, tsr_list(t, &pte, 1));
        tsr_run_ok(t, PAGING, c);
        bytes[i] = state_bytes(t, &data);
        /* Look for field names in the description behind the state. */
        g_assert_nonnull(memmem(data, bytes[i], "vram_pages", 10));
        g_assert_null(memmem(data, bytes[i], "page_state", 10));
        tsr_stop(t);
    }
    tsr_rule(bytes[1] < bytes[0] + 4096, "the state has %zu bytes more where "
             "tables are larger, with the same few entries",
             (size_t)(bytes[1] - bytes[0]));
}

static uint64_t entry_of(uint64_t ram, uint32_t i)
{
    /* Extents of all lengths, gaps, and both ends of the table. */
    return i % 7 < i / 7 % 7 || i == 1023
           ? (ram + i % 16 * 4096) | TSR_APTE_VALID | TSR_APTE_WRITE : 0;
}

/* Each entry of a page table migrates unchanged. */
static void test_tables(void)
{
    static const char props[] = SIZES ",vram-size=4M,vram-hidden-size=8M,"
                                "gart-size=4M";
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    g_autofree uint64_t *ptes = g_new0(uint64_t, 1024);
    TsrTest *t = tsr_start(props);
    uint64_t ram = tsr_alloc(t, 16 * 4096), gart = tsr_seg_base(t, 4), got;
    uint64_t vram = tsr_seg_base(t, 1);

    for (uint32_t i = 0; i < 16; i++) {
        qtest_writeq(t->qts, ram + i * 4096, 1000 + i);
    }
    for (uint32_t i = 0; i < 1024; i++) {
        ptes[i] = entry_of(ram, i);
    }
    tsr_map(c, 4, 0, 1024, tsr_list(t, ptes, 512));
    tsr_list(t, ptes + 512, 512);
    tsr_run_ok(t, PAGING, c);
    t = tsr_migrate(t, props);
    for (uint32_t i = 0; i < 1024; i++) {
        c->n = 0;
        tsr_transfer(c, 0, 0, gart + i * 4096, vram, 8, 0, 0, 0);
        if (!entry_of(ram, i)) {
            tsr_run_err(t, PAGING, c, TSR_ERR_DMA);
            continue;
        }
        tsr_run_ok(t, PAGING, c);
        got = qpci_io_readq(t->dev, t->vram, 0);
        tsr_rule(got == 1000 + i % 16, "entry %u of a page table has come along "
                 "as one of page %" PRIu64, i, got - 1000);
    }
    tsr_stop(t);
}

/* A hung and a halted engine migrate as such, and a reset brings them back. */
static void test_hung_and_halted(void)
{
    TsrTest *t = tsr_start(PROPS ",x-hang-engine=0");
    uint32_t job[] = { TSR_PKT_HEADER(TSR_OP_JOB_BEGIN, 0, 4), 3, 0, 0 };
    uint32_t bad[] = { 0, 0 };
    uint64_t seqno;

    tsr_emit(t, RENDER, job, 4);
    tsr_kick(t, RENDER);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_CONTEXT, ~0, 3);
    tsr_emit(t, PAGING, bad, 2);
    tsr_kick(t, PAGING);
    tsr_wait_reg(t, TSR_ENG(PAGING) + TSR_ENG_STATUS, ~0, TSR_ENGS_HALTED);
    t = migrate(t);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(RENDER) + TSR_ENG_STATUS), ==, 0);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(PAGING) + TSR_ENG_STATUS), ==,
                    TSR_ENGS_HALTED);
    tsr_expect_errors(t, TSR_ERR_PACKET, 1);
    for (uint32_t e = RENDER; e <= PAGING; e++) {
        tsr_engine_reset(t, e);
        seqno = tsr_emit_fence(t, e, 0, 0);
        tsr_kick(t, e);
        tsr_wait(t, e, seqno);
    }
    tsr_stop(t);
}

static void expect_refused(TsrTest *t, const char *path, const char *props)
{
    g_autofree char *status = NULL;
    TsrTest *to = tsr_load(t, props, path, &status);

    g_assert_cmpstr(status, ==, "failed");
    tsr_stop(to);
}

/* SEG-36: the pages of a UMA segment are the guest's; its table migrates. */
static void test_uma(void)
{
    const char *props = "segments=vram:4M/uma:4M,firmware-size=1M,strict=on";
    g_autofree char *path = tsr_state_file(), *status = NULL;
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(props), *to;
    uint64_t uma = tsr_seg_base(t, 2), ram = tsr_alloc(t, 3 * 4096), dummy;
    const uint64_t bits = TSR_APTE_VALID | TSR_APTE_WRITE | TSR_APTE_CACHED |
                          TSR_APTE_COHERENT;
    uint64_t ptes[2] = { (ram + 4096) | bits, ram | bits };
    uint32_t word;

    qtest_memset(t->qts, ram, 0x11, 3 * 4096);
    dummy = ram + 2 * 4096;
    tsr_w64(t, TSR_CTRL_DUMMY_PAGE_LO, dummy);
    tsr_map(c, 2, 1022, 2, tsr_list(t, ptes, 2));
    tsr_run_ok(t, PAGING, c);
    c->n = 0;
    tsr_bind_buffer(c, 0, uma + 1022 * 4096, 8192, TSR_FORMAT_R32, RW);
    tsr_fill(c, 0, 1024 - 1, 0, 2, 1, 0x22222222);
    tsr_run_ok(t, RENDER, c);

    tsr_save(t, path);
    /* An aperture with the same table is another segment. */
    expect_refused(t, path, "segments=vram:4M/gart:4M,firmware-size=1M,"
                   "strict=on");
    to = tsr_load(t, props, path, &status);
    g_assert_cmpstr(status, ==, "completed");
    unlink(path);
    tsr_stop(t);
    t = to;
    g_assert_cmphex(qtest_readl(t->qts, ram + 8188), ==, 0x22222222);
    g_assert_cmphex(qtest_readl(t->qts, ram), ==, 0x22222222);
    tsr_gpu_read(t, uma + 1023 * 4096, &word, 4);
    g_assert_cmphex(word, ==, 0x22222222);
    tsr_gpu_write(t, uma + 1023 * 4096 + 4, "abcd", 4);
    g_assert_cmphex(qtest_readl(t->qts, ram + 4), ==, 0x64636261);
    tsr_expect_no_errors(t);
    tsr_gpu_read(t, uma + 1021 * 4096, &word, 4);
    g_assert_cmphex(word, ==, 0x11111111);
    tsr_expect_errors(t, TSR_ERR_STRICT_DUMMY, 1);
    tsr_stop(t);
}

/* A device with other properties refuses the state. */
static void test_mismatch(void)
{
    g_autofree char *path = tsr_state_file();
    TsrTest *t = tsr_start(PROPS);

    tsr_save(t, path);
    expect_refused(t, path, SIZES ",strict=off,vram-size=4M,"
                   "vram-hidden-size=8M,gart-size=4M");
    expect_refused(t, path, PROPS ",num-slots=65");
    expect_refused(t, path, PROPS ",render-engines=2");
    expect_refused(t, path, PROPS ",paging-engines=2");
    expect_refused(t, path, PROPS ",preemption=off");
    expect_refused(t, path, PROPS ",io-coherent=off");
    expect_refused(t, path, PROPS ",vram-preserved=on");
    expect_refused(t, path, PROPS ",swizzle-store=4096");
    expect_refused(t, path, PROPS ",agp-ro-size=2M");
    expect_refused(t, path, PROPS ",firmware-size=2M");
    expect_refused(t, path, PROPS ",page-size=65536");
    expect_refused(t, path, PROPS ",agp-ro-commit=512K");
    expect_refused(t, path, PROPS ",gart-commit=2M");
    expect_refused(t, path, PROPS ",max-ib-bytes=8M");
    expect_refused(t, path, PROPS ",host-aperture-size=0");
    expect_refused(t, path, PROPS ",host-aperture-size=32M");
    expect_refused(t, path, PROPS ",swizzle-ranges=0");
    expect_refused(t, path, PROPS ",swizzle-ranges=9");
    expect_refused(t, path, PROPS ",outputs=2");
    expect_refused(t, path, PROPS ",outputs=0");
    expect_refused(t, path, SIZES ",strict=on,vram-size=4M,vram-hidden-size=8M,"
                   "gart-size=8M");
    expect_refused(t, path, SIZES ",strict=on,vram-size=8M,vram-hidden-size=4M,"
                   "gart-size=4M");
    unlink(path);
    tsr_stop(t);
}

/*
 * The registers of cache maintenance migrate, and a maintained page does not
 * keep the machine from migrating.
 */
static void test_past_caches(void)
{
    TsrTest *t = tsr_start(PROPS);
    uint64_t page = tsr_alloc(t, 4096);

    tsr_w64(t, TSR_COH_ADDR_LO, page);
    tsr_w32(t, TSR_COH_SIZE, 4096);
    tsr_w32(t, TSR_COH_COMMAND, TSR_COH_CLEAN);
    g_assert_cmpint(tsr_qom_get(t, "x-cached-pages"), ==, 1);
    t = migrate(t);
    g_assert_cmphex(tsr_r64(t, TSR_COH_ADDR_LO), ==, page);
    g_assert_cmphex(tsr_r32(t, TSR_COH_SIZE), ==, 4096);
    g_assert_cmpint(tsr_qom_get(t, "x-cached-pages"), ==, 0);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* Damaged state is refused or harmless, but never fatal. */
static void test_damaged(void)
{
    static const char mark[] = "0000:00:04.0/tessera";
    g_autofree char *path = tsr_state_file();
    g_autofree char *data = NULL;
    TsrTest *t = tsr_start(PROPS);
    unsigned int refused = 0;
    gsize bytes;
    char *at;

    tsr_save(t, path);
    g_assert_true(g_file_get_contents(path, &data, &bytes, NULL));
    /*
     * Names of RAM blocks continue with a dot; the name of the section does
     * not.
     */
    at = data;
    do {
        at = memmem(at + 1, data + bytes - at - 1, mark, sizeof(mark) - 1);
        g_assert_nonnull(at);
    } while (at[sizeof(mark) - 1] == '.');
    for (int round = 0; round < 20; round++) {
        g_autofree char *copy = g_memdup2(data, bytes);
        g_autofree char *status = NULL;
        gsize from = at - data + sizeof(mark) + 700;
        TsrTest *to;

        for (int i = 0; i < 1 + round % 4; i++) {
            gsize space = MIN(bytes - from - 4096, 20000);

            copy[from + g_test_rand_int_range(0, space)] = g_test_rand_int();
        }
        g_assert_true(g_file_set_contents(path, copy, bytes, NULL));
        to = tsr_load(t, PROPS, path, &status);
        refused += !strcmp(status, "failed");
        if (strcmp(status, "failed")) {
            tsr_r32(to, TSR_ENG(RENDER) + TSR_ENG_STATUS);
            tsr_device_reset(to);
        }
        tsr_stop(to);
    }
    g_assert_cmpuint(refused, >, 0);
    unlink(path);
    tsr_stop(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/vmstate/idle", test_idle);
    qtest_add_func("/tessera/vmstate/in-ib", test_in_ib);
    qtest_add_func("/tessera/vmstate/in-virtual-ib", test_in_virtual_ib);
    qtest_add_func("/tessera/vmstate/in-draw", test_in_draw);
    qtest_add_func("/tessera/vmstate/bytes", test_bytes);
    qtest_add_func("/tessera/vmstate/tables", test_tables);
    qtest_add_func("/tessera/vmstate/hung-and-halted", test_hung_and_halted);
    qtest_add_func("/tessera/vmstate/mismatch", test_mismatch);
    qtest_add_func("/tessera/vmstate/SEG-36-uma", test_uma);
    qtest_add_func("/tessera/vmstate/past-caches", test_past_caches);
    qtest_add_func("/tessera/vmstate/damaged", test_damaged);
    return g_test_run();
}
