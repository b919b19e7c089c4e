/*
 * QTest: storms of random packets and registers, with a fixed seed
 *
 * Nothing is asserted about the effect of a storm, only that the device
 * survives it and works afterwards.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera-common.h"

static const struct {
    uint8_t code;
    uint8_t dwords;
} known[] = {
    { TSR_OP_NOP, 2 }, { TSR_OP_BIND_SLOT, TSR_BIND_SLOT_DWORDS },
    { TSR_OP_BIND_SLOT, TSR_BIND_SLOT_DWORDS },
    { TSR_OP_BIND_SLOT, TSR_BIND_SLOT_DWORDS },
    { TSR_OP_UNBIND_SLOT, TSR_UNBIND_SLOT_DWORDS },
    { TSR_OP_SET_STATE, 4 }, { TSR_OP_SET_STATE, 10 },
    { TSR_OP_FILL, TSR_FILL_DWORDS }, { TSR_OP_COPY, TSR_COPY_DWORDS },
    { TSR_OP_BLIT, TSR_BLIT_DWORDS }, { TSR_OP_DRAW, TSR_DRAW_DWORDS },
    { TSR_OP_QUERY_TIMESTAMP, 4 },
    { TSR_OP_FENCE_SIGNAL, TSR_FENCE_SIGNAL_DWORDS }, { TSR_OP_JOB_BEGIN, 4 },
    { TSR_OP_IB_CALL, 6 }, { TSR_OP_FENCE, 6 }, { TSR_OP_TIMESTAMP, 4 },
    { TSR_OP_SIGNAL, 6 }, { TSR_OP_TRANSFER, TSR_TRANSFER_DWORDS },
    { TSR_OP_PAGE_FILL, 6 }, { TSR_OP_MAP_APERTURE, 6 },
    { TSR_OP_UNMAP_APERTURE, 4 }, { TSR_OP_MARK, 6 },
    { TSR_OP_SET_VM, TSR_SET_VM_DWORDS },
    { TSR_OP_JOB_AFTER, TSR_JOB_AFTER_DWORDS },
    { TSR_OP_WRITE_PTES, TSR_WRITE_PTES_DWORDS },
    { TSR_OP_TLB_FLUSH, TSR_TLB_FLUSH_DWORDS },
    { TSR_OP_RESUME, TSR_RESUME_DWORDS },
};

#define SELF_PAGE   250     /* in the bounce buffer */
#define MAX_PACKETS 46

static GRand *rng;

static uint32_t rnd(uint32_t n)
{
    return g_rand_int(rng) % n;
}

/* Return a number near one of the limits that the device checks. */
static uint32_t odd_number(TsrTest *t)
{
    switch (rnd(12)) {
    case 0:
        return 0;
    case 1:
        return rnd(4);
    case 2:
        return rnd(70);
    case 3:
        return 0xffffffff - rnd(3);
    case 4:
        return 0x80000000 + rnd(2) * 4096;
    case 5:
        return 1u << rnd(32);
    case 6:
        return (0x80000000 + 0x10000000 * rnd(6)) + 4096 * rnd(1024);
    case 7:
        return t->bounce + 4096 * rnd(256);
    case 8:
        return t->bounce_list + 8 * rnd(100);
    case 9:
        return rnd(64) | rnd(64) << 16;
    case 10:
        return rnd(6) | rnd(4) << 8 | rnd(4) << 16;
    default:
        return g_rand_int(rng);
    }
}

static void random_bind(TsrTest *t, TsrCmd *c)
{
    static const uint32_t bases[] = {
        0x80000000, 0x80001000, 0x803ff000, 0x90000000, 0xa0000000,
        0xb0000000, 0xc0000000,
    };
    uint32_t pitch = rnd(4) ? 128 << rnd(6) : 0;
    TsrSurf s = {
        .base = bases[rnd(ARRAY_SIZE(bases))] + rnd(2) * 4096 * rnd(100),
        .limit = rnd(3) ? 4096 << rnd(8) : g_rand_int(rng),
        .format = 1 + rnd(5), .layout = pitch ? rnd(3) : 0,
        .access = (1 + rnd(3)) << 16, .pitch = pitch,
        .width = pitch ? 1 + rnd(pitch / 4) : 0,
        .height = pitch ? 1 + rnd(200) : 0,
    };

    tsr_bind(c, rnd(8), &s);
}

static void random_packet(TsrTest *t, TsrCmd *c)
{
    uint32_t k = rnd(ARRAY_SIZE(known)), dwords = known[k].dwords, i;
    uint32_t at = c->n;

    if (known[k].code == TSR_OP_BIND_SLOT && rnd(8)) {
        random_bind(t, c);
        return;
    }
    c->d[c->n++] = TSR_PKT_HEADER(rnd(40) ? known[k].code : rnd(256),
                                  rnd(3) ? 0 : rnd(64),
                                  rnd(60) ? dwords : rnd(12));
    for (i = 1; i < dwords; i++) {
        c->d[c->n++] = rnd(3) ? rnd(40) : odd_number(t);
    }
    switch (known[k].code) {
    case TSR_OP_SET_VM:
        c->d[at + 2] = (t->bounce + SELF_PAGE * 4096) |
                       (rnd(4) ? TSR_PTE_VALID : rnd(64));
        c->d[at + 3] = 0;
        break;
    case TSR_OP_DRAW: /* longer draws only take time */
        c->d[at + 3] = rnd(20) * 3;
        break;
    case TSR_OP_IB_CALL:
    case TSR_OP_FENCE:
    case TSR_OP_TIMESTAMP:
    case TSR_OP_JOB_AFTER:
    case TSR_OP_SIGNAL: /* away from the state of the test */
        c->d[at + 2] = c->d[at + 4] = t->bounce + 8 * rnd(1000);
        c->d[at + 3] = c->d[at + 5 < c->n ? at + 5 : at + 3] = 0;
        break;
    }
}

/* Let no page list entry and no dummy page point to a ring or an IB. */
static void set_up(TsrTest *t)
{
    uint64_t entries[512];

    for (int i = 0; i < 512; i++) {
        entries[i] = (t->bounce + rnd(256) * 4096) | (rnd(9) ? 0 : rnd(16));
    }
    for (int i = 0; i < 100; i++) {
        qtest_writeq(t->qts, t->bounce_list + i * 8, entries[i]);
    }
    /* A page table that is its own next table, at every level. */
    for (int i = 0; i < 512; i++) {
        entries[i] = (t->bounce + SELF_PAGE * 4096) | TSR_PTE_VALID;
    }
    entries[rnd(512)] |= 1ULL << rnd(64);
    qtest_bufwrite(t->qts, t->bounce + SELF_PAGE * 4096, entries,
                   sizeof(entries));
    tsr_w64(t, TSR_CTRL_DUMMY_PAGE_LO, t->bounce);
}

static void still_works(TsrTest *t)
{
    uint64_t vram = tsr_seg_base(t, 1), probe = g_rand_int(rng), got;

    tsr_qom_set(t, "x-fail-dma", 0);
    tsr_device_reset(t);
    tsr_set_up_memory(t);
    memset(t->eng, 0, sizeof(t->eng));
    tsr_engine_start(t, RENDER, TSR_TEST_RING_BYTES);
    tsr_engine_start(t, PAGING, TSR_TEST_RING_BYTES);
    tsr_gpu_write(t, vram, &probe, 8);
    tsr_gpu_read(t, vram, &got, 8);
    g_assert_cmphex(got, ==, probe);
    tsr_expect_no_errors(t);
    tsr_load_firmware(t);
    set_up(t);
}

static void storm(const char *props)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(props);
    unsigned int ran = 0, failed = 0;
    uint32_t end[MAX_PACKETS];

    rng = g_rand_new_with_seed(20261120);
    still_works(t);
    for (int round = 0; round < 500; round++) {
        bool user = rnd(3) == 0;
        uint32_t e = rnd(2), packets = 7 + rnd(MAX_PACKETS - 6);
        uint32_t errors = tsr_r32(t, TSR_ERR_TOTAL);

        c->n = 0;
        for (uint32_t i = 0; i < packets; i++) {
            if (i < 6) {
                random_bind(t, c);
            } else {
                random_packet(t, c);
            }
            c->n = end[i] = ROUND_UP(c->n, 2);
        }
        tsr_qom_set(t, "x-fail-dma", rnd(30) ? 0 : rnd(20));
        /* FENCEs in the IB change SEQNO, so wait for the record instead. */
        uint32_t begin[] = { TSR_PKT_HEADER(TSR_OP_JOB_BEGIN, 0, 4), 1, 0, 0 };
        uint64_t seqno;
        int64_t deadline = g_get_monotonic_time() + TSR_TEST_DEADLINE_US;

        if (round % 4 == 0) {
            /*
             * Maintain the bounce buffer only, which the storm may overwrite.
             */
            tsr_w64(t, TSR_COH_ADDR_LO, t->bounce + rnd((1 << 20) - 8192));
            tsr_w32(t, TSR_COH_SIZE, rnd(9) ? rnd(8192) : 0xffffffff);
            tsr_w32(t, TSR_COH_COMMAND, rnd(6));
        }
        qtest_bufwrite(t->qts, t->ib, c->d, c->n * 4);
        tsr_emit(t, e, begin, 4);
        /* Use one IB_CALL for each packet, as an error ends its IB_CALL. */
        for (uint32_t i = 0; i < packets; i++) {
            uint32_t call[] = {
                TSR_PKT_HEADER(TSR_OP_IB_CALL, user, TSR_IB_CALL_DWORDS),
                c->n * 4, t->ib_list, 0, i ? end[i - 1] * 4 : 0, end[i] * 4,
            };

            tsr_emit(t, e, call, TSR_IB_CALL_DWORDS);
        }
        seqno = tsr_emit_fence(t, e, 0, t->record);
        tsr_kick(t, e);
        while (qtest_readq(t->qts, t->record) != seqno) {
            g_assert_cmpint(g_get_monotonic_time(), <, deadline);
            g_usleep(20);
        }
        failed += tsr_r32(t, TSR_ERR_TOTAL) - errors;
        ran += packets;
        qtest_writeq(t->qts, t->record, 0);
        /* The storm writes no number like this. */
        t->eng[e].seqno += 0x100000000;
        if (round % 50 == 49) {
            still_works(t);
        }
    }
    /* A storm in which nearly all or nearly no packets fail tests little. */
    g_assert_cmpuint(failed, >, ran / 10);
    g_assert_cmpuint(failed, <, ran * 9 / 10);
    g_test_message("%u packets, %u failed", ran, failed);
    tsr_stop(t);
    g_rand_free(rng);
}

static void test_packets(void)
{
    storm("vram-size=4M,vram-hidden-size=4M,agp-ro-size=1M,gart-size=4M");
}

static void test_packets_strict(void)
{
    storm("strict=on,vram-size=4M,vram-hidden-size=4M,agp-ro-size=1M,"
          "gart-size=4M,preemption=on");
}

/* The storm maintains caches of memory that the engines write. */
static void test_packets_cached(void)
{
    storm("io-coherent=off,strict=on,vram-size=4M,vram-hidden-size=4M,"
          "agp-ro-size=1M,gart-size=4M");
}

/* Random ring contents may halt an engine, but do nothing worse. */
static void test_rings(void)
{
    TsrTest *t = tsr_start("vram-size=4M,vram-hidden-size=4M,gart-size=4M,"
                           "preemption=on");
    uint32_t p[64];

    rng = g_rand_new_with_seed(7);
    still_works(t);
    for (int round = 0; round < 300; round++) {
        uint32_t e = rnd(2), n = 2 * (1 + rnd(32));

        for (uint32_t i = 0; i < n; i++) {
            p[i] = rnd(2) ? odd_number(t)
                          : TSR_PKT_HEADER(known[rnd(ARRAY_SIZE(known))].code,
                                           0, 2 * rnd(8));
            if ((p[i] & 0xff) == TSR_OP_WAIT ||
                (p[i] & 0xff) == TSR_OP_FENCE_WAIT) {
                p[i] = 0;
            }
        }
        tsr_emit(t, e, p, n);
        tsr_kick(t, e);
        /* Preempt, with the save area where the next RESUME may find it. */
        if (rnd(3) == 0) {
            tsr_w64(t, TSR_ENG(e) + TSR_ENG_SAVE_LO,
                    t->bounce + rnd(256) * 4096);
            tsr_w32(t, TSR_ENG(e) + TSR_ENG_CONTROL,
                    TSR_ENG_ENABLE | TSR_ENG_PREEMPT);
        }
        /* Move the tail at random while the engine is fetching. */
        for (uint32_t i = rnd(4); i; i--) {
            tsr_w32(t, TSR_DOORBELL(e), rnd(TSR_TEST_RING_BYTES) & ~7);
        }
        if (tsr_r32(t, TSR_ENG(e) + TSR_ENG_STATUS) &
            (TSR_ENGS_HALTED | TSR_ENGS_PREEMPTED)) {
            tsr_engine_reset(t, e);
        }
    }
    still_works(t);
    tsr_stop(t);
    g_rand_free(rng);
}

static void registers(const char *props)
{
    TsrTest *t = tsr_start(props);

    rng = g_rand_new_with_seed(99);
    still_works(t);
    for (int round = 0; round < 20000; round++) {
        uint32_t reg = rnd(3) ? rnd(0x600) & ~3
                     : rnd(4) == 0 ? TSR_HOST_APERTURE_BLOCK + (rnd(0x24) & ~3)
                     : rnd(3) == 0 ? TSR_SWR(rnd(9)) + (rnd(0x20) & ~3)
                     : rnd(4) == 0 ? TSR_COHERENCE_BLOCK + (rnd(0x10) & ~3)
                     : rnd(3) == 0 ? TSR_CRTC(rnd(5)) + (rnd(0x1d0) & ~3)
                     : rnd(2) ? TSR_ENG(rnd(3)) + (rnd(0x60) & ~3)
                     : rnd(2) ? TSR_DOORBELL(rnd(4)) : rnd(TSR_MMIO_SIZE);

        switch (rnd(6)) {
        case 0:
            qpci_io_readb(t->dev, t->regs, reg);
            break;
        case 1:
            qpci_io_writew(t->dev, t->regs, reg, g_rand_int(rng));
            break;
        case 2:
            tsr_r32(t, reg & ~3);
            break;
        default:
            tsr_w32(t, reg & ~3, rnd(3) ? odd_number(t) : rnd(8));
        }
    }
    tsr_wait_reg(t, TSR_CTRL_STATUS, TSR_STATUS_RESETTING, 0);
    still_works(t);
    tsr_stop(t);
    g_rand_free(rng);
}

static void test_registers(void)
{
    registers("strict=on,vram-size=4M,vram-hidden-size=4M,gart-size=4M,"
              "preemption=on");
}

static void test_registers_cached(void)
{
    registers("io-coherent=off,strict=on,vram-size=4M,vram-hidden-size=4M,"
              "gart-size=4M");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/fuzz/packets", test_packets);
    qtest_add_func("/tessera/fuzz/packets-strict", test_packets_strict);
    qtest_add_func("/tessera/fuzz/packets-cached", test_packets_cached);
    qtest_add_func("/tessera/fuzz/rings", test_rings);
    qtest_add_func("/tessera/fuzz/registers", test_registers);
    qtest_add_func("/tessera/fuzz/registers-cached", test_registers_cached);
    return g_test_run();
}
