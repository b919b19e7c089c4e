/*
 * QTest: errors in the order of the hardware manual
 *
 * Each test quotes the chapter that makes the statements it checks. Statements
 * that another test covers (bind, bounds, draw, strict mode) are not repeated.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "tessera-common.h"

#define RW (TSR_SURF_READ | TSR_SURF_WRITE)

/* Chapter 3.1, with the default sizes. */
#define VRAM    0x80000000u
#define AGP_RO  0xa0000000u
#define GART    0xb0000000u
#define NOWHERE 0x70000000u
/*
 * Free guest memory, and high halves of DMA addresses: HI_NONE where there is
 * no memory, HI_49 beyond 48 bits.
 */
#define RAM     0x04000000u
#define HI_NONE 0x00007000u
#define HI_49   0x00010000u

/* ---- Packets ----------------------------------------------------------- */

/* Slots that the rows below use. */
enum { BUFFER, SURFACE, READ_ONLY, UNBOUND, HALF };

typedef struct Row {
    const char *what;
    uint32_t engine;
    uint32_t err;
    uint32_t op;
    uint32_t flags;
    uint32_t dwords;
    uint32_t d[TSR_TRANSFER_DWORDS];        /* from dword 1 */
} Row;

#define R(what, engine, err, op, flags, ...) \
    { what, engine, TSR_ERR_##err, TSR_OP_##op, flags, TSR_##op##_DWORDS, \
      { __VA_ARGS__ } }
#define TSR_SET_STATE_DWORDS 4

static const Row rows[] = {
    /* 3.3: DMA addresses in packets */
    R("WAIT address", RENDER, PACKET, WAIT, 0, 0, RAM + 4),
    R("SIGNAL address", RENDER, PACKET, SIGNAL, 0, 0, RAM + 4),
    R("TIMESTAMP address", RENDER, PACKET, TIMESTAMP, 0, 0, RAM + 4),
    R("WAIT at nothing", RENDER, DMA, WAIT, 0, 0, 0, HI_NONE),
    R("SIGNAL at nothing", RENDER, DMA, SIGNAL, 0, 0, 0, HI_NONE),
    R("TIMESTAMP at nothing", RENDER, DMA, TIMESTAMP, 0, 0, 0, HI_NONE),
    R("WAIT beyond 48 bits", RENDER, DMA, WAIT, 0, 0, RAM, HI_49),
    R("SIGNAL beyond 48 bits", RENDER, DMA, SIGNAL, 0, 0, RAM, HI_49),
    R("TIMESTAMP beyond 48 bits", RENDER, DMA, TIMESTAMP, 0, 0, RAM, HI_49),
    R("list of entries", PAGING, PACKET, MAP_APERTURE, 0, 4, 0, 1, RAM + 4),
    R("entries at nothing", PAGING, DMA, MAP_APERTURE, 0, 4, 0, 1, 0,
      HI_NONE),
    R("source list", PAGING, PACKET, TRANSFER, TSR_TRANSFER_SRC_PAGES, 0,
      RAM + 4, 0, VRAM, 0, 8),
    R("destination list", PAGING, PACKET, TRANSFER, TSR_TRANSFER_DST_PAGES, 0,
      VRAM, 0, RAM + 4, 0, 8),
    R("list beyond 48 bits", PAGING, DMA, TRANSFER, TSR_TRANSFER_DST_PAGES, 0,
      VRAM, 0, RAM, HI_49, 8),

    /* 5.3 */
    R("FENCE record", RENDER, PACKET, FENCE, 0, 0, 1, 0, RAM + 4),
    R("FENCE record at nothing", RENDER, DMA, FENCE, 0, 0, 1, 0, 0, HI_NONE),

    /* 6: reserved bits and dwords */
    R("JOB_BEGIN flags", RENDER, PACKET, JOB_BEGIN, 0, 1, 2),
    R("JOB_BEGIN 3", RENDER, PACKET, JOB_BEGIN, 0, 1, 0, 1),
    R("FENCE 1", RENDER, PACKET, FENCE, 0, 1, 1),
    R("WAIT 1", RENDER, PACKET, WAIT, 0, 1, RAM),
    R("SIGNAL 1", RENDER, PACKET, SIGNAL, 0, 1, RAM),
    R("TIMESTAMP 1", RENDER, PACKET, TIMESTAMP, 0, 1, RAM),
    R("UNBIND_SLOT id", RENDER, PACKET, UNBIND_SLOT, 0, 1 << 24),
    R("FILL 7", RENDER, PACKET, FILL, 0, BUFFER, 0, 0, 1, 1, 0, 1),
    R("COPY 9", RENDER, PACKET, COPY, 0, BUFFER, BUFFER, 0, 0, 1, 0, 1, 1, 1),
    R("QUERY_TIMESTAMP 3", RENDER, PACKET, QUERY_TIMESTAMP, 0, BUFFER, 0, 1),
    R("BLIT 9", RENDER, PACKET, BLIT, 0, SURFACE, SURFACE, 0, 1 | 1 << 16, 0,
      1 | 1 << 16, 0, 0, 1),
    R("TRANSFER 1", PAGING, PACKET, TRANSFER, 0, 1 << 16, VRAM, 0, VRAM, 0, 8),
    R("TRANSFER 13", PAGING, PACKET, TRANSFER, 0, 0, VRAM, 0, VRAM, 0, 8, 0, 0,
      0, 0, 0, 0, 1),

    /* 6.1 */
    R("IB_CALL in a buffer", RENDER, PACKET, IB_CALL, 0, 8, RAM, 0, 0, 8),

    /* 7.1 */
    R("UNBIND_SLOT range", RENDER, SLOT_RANGE, UNBIND_SLOT, 0, 64),
    R("FILL range", RENDER, SLOT_RANGE, FILL, 0, 64, 0, 0, 1, 1),
    R("COPY range", RENDER, SLOT_RANGE, COPY, 0, BUFFER, 64, 0, 0, 0, 0, 1, 1),
    R("COPY from unbound", RENDER, SLOT_UNBOUND, COPY, 0, BUFFER, UNBOUND, 0,
      0, 0, 0, 1, 1),
    R("COPY to unbound", RENDER, SLOT_UNBOUND, COPY, 0, UNBOUND, BUFFER, 0, 0,
      0, 0, 1, 1),
    R("COPY to read-only", RENDER, SLOT_ACCESS, COPY, 0, READ_ONLY, BUFFER, 0,
      0, 0, 0, 1, 1),

    /* 7.4 */
    R("FILL of nothing, unbound", RENDER, SLOT_UNBOUND, FILL, 0, UNBOUND),
    R("COPY of nothing, unbound", RENDER, SLOT_UNBOUND, COPY, 0, UNBOUND,
      BUFFER),
    R("COPY texel sizes", RENDER, SURFACE, COPY, 0, BUFFER, HALF, 0, 0, 0, 0,
      1, 1),
    R("COPY source rectangle", RENDER, SURFACE, COPY, 0, BUFFER, SURFACE, 0,
      0, 15, 0, 2, 1),
    R("COPY destination rectangle", RENDER, SURFACE, COPY, 0, SURFACE, BUFFER,
      0, 16, 0, 0, 1, 1),
    R("COPY beyond a buffer", RENDER, SLOT_BOUNDS, COPY, 0, SURFACE, BUFFER, 0,
      0, 1024, 0, 1, 1),

    /* 7.5 */
    R("QUERY_TIMESTAMP offset", RENDER, PACKET, QUERY_TIMESTAMP, 0, BUFFER, 4),
    R("QUERY_TIMESTAMP surface", RENDER, SURFACE, QUERY_TIMESTAMP, 0, SURFACE),
    R("QUERY_TIMESTAMP end", RENDER, SLOT_BOUNDS, QUERY_TIMESTAMP, 0, BUFFER,
      4096),
    R("QUERY_TIMESTAMP access", RENDER, SLOT_ACCESS, QUERY_TIMESTAMP, 0,
      READ_ONLY),

    /* 7.6 */
    R("source layout", PAGING, PACKET, TRANSFER, 0, TSR_LAYOUT_COUNT, VRAM, 0,
      VRAM, 0, 8),
    R("destination layout", PAGING, PACKET, TRANSFER, 0, TSR_LAYOUT_COUNT << 8,
      VRAM, 0, VRAM, 0, 8),
    R("pitch, equal layouts", PAGING, PACKET, TRANSFER, 0, 0, VRAM, 0, VRAM, 0,
      8, 0, 0, 0, 0, 0, 128),
    R("offset without a list", PAGING, PACKET, TRANSFER, 0, 0, VRAM, 0, VRAM,
      0, 8, 0, 8),
    R("offset beyond 48 bits", PAGING, PACKET, TRANSFER,
      TSR_TRANSFER_DST_PAGES, 0, VRAM, 0, RAM, 0, 8, 0, 0, 0, 0, HI_49),
    R("too much", PAGING, PACKET, TRANSFER, 0, 0, VRAM, 0, VRAM, 0, 1, 1),
    R("no pitch", PAGING, SURFACE, TRANSFER, 0, TSR_LAYOUT_TILE4K, VRAM, 0,
      VRAM, 0, 4096),
    R("odd pitch", PAGING, SURFACE, TRANSFER, 0, TSR_LAYOUT_TILE4K, VRAM, 0,
      VRAM, 0, 4096, 0, 0, 0, 0, 0, 64),
    R("large pitch", PAGING, SURFACE, TRANSFER, 0, TSR_LAYOUT_TILE4K, VRAM, 0,
      VRAM, 0, 0, 0, 0, 0, 0, 0, TSR_SURF_MAX_PITCH + 128),
    R("no linear side", PAGING, SURFACE, TRANSFER, 0,
      TSR_LAYOUT_TILE4K | TSR_LAYOUT_MORTON << 8, VRAM, 0, VRAM, 0, 4096, 0, 0,
      0, 0, 0, 128),
    R("part of a row of tiles", PAGING, SURFACE, TRANSFER, 0,
      TSR_LAYOUT_MORTON, VRAM, 0, VRAM, 0, 4096, 0, 0, 0, 0, 0, 256),
    R("swizzled side's start", PAGING, SURFACE, TRANSFER, 0,
      TSR_LAYOUT_MORTON << 8, VRAM, 0, VRAM + 128, 0, 4096, 0, 0, 0, 0, 0, 128),
    R("write to agp-ro", PAGING, READ_ONLY, TRANSFER, 0, 0, VRAM, 0, AGP_RO, 0,
      8),
    R("PAGE_FILL address", PAGING, PACKET, PAGE_FILL, 0, 0, VRAM + 4, 0, 8),
    R("PAGE_FILL size", PAGING, PACKET, PAGE_FILL, 0, 0, VRAM, 0, 4),
    R("PAGE_FILL of gart", PAGING, SEGMENT, PAGE_FILL, 0, 0, GART, 0, 8),
    R("PAGE_FILL of agp-ro", PAGING, READ_ONLY, PAGE_FILL, 0, 0, AGP_RO, 0, 8),
    R("PAGE_FILL at nothing", PAGING, ADDRESS, PAGE_FILL, 0, 0, NOWHERE, 0, 8),
    R("UNMAP memory", PAGING, SEGMENT, UNMAP_APERTURE, 0, 1, 0, 1),
    R("UNMAP no segment", PAGING, SEGMENT, UNMAP_APERTURE, 0, 0, 0, 1),
    R("UNMAP beyond", PAGING, SEGMENT, UNMAP_APERTURE, 0, 3, 0x4000, 1),
    R("MAP memory", PAGING, SEGMENT, MAP_APERTURE, 0, 2, 0, 1, RAM),

    /* 8 */
    R("texture slot", RENDER, SLOT_RANGE, SET_STATE, 0,
      TSR_STATE_TEXTURE_SLOT | 1 << 16, 64),
    R("target slot", RENDER, SLOT_RANGE, SET_STATE, 0,
      TSR_STATE_TARGET_SLOT | 1 << 16, 64),
    R("state length", RENDER, PACKET, SET_STATE, 0, 1 | 3 << 16),
    R("no state", RENDER, PACKET, SET_STATE, 0, TSR_STATE_COUNT | 1 << 16),

    /* 11: MARK is checked with strict mode off, too */
    R("MARK 0", PAGING, PACKET, MARK, 0, 0, VRAM, 0, 4096),
    R("MARK 5", PAGING, PACKET, MARK, 0, 5, VRAM, 0, 4096),
    R("MARK address", PAGING, PACKET, MARK, 0, TSR_MARK_FREE, VRAM + 8, 0,
      4096),
    R("MARK size", PAGING, PACKET, MARK, 0, TSR_MARK_FREE, VRAM, 0, 8),
};

static void bind_row_slots(TsrCmd *c)
{
    const TsrSurf s = {
        .base = VRAM + 8192, .limit = 1024, .format = TSR_FORMAT_ARGB8888,
        .access = RW, .pitch = 64, .width = 16, .height = 16,
    };

    c->n = 0;
    tsr_bind_buffer(c, BUFFER, VRAM, 4096, TSR_FORMAT_R32, RW);
    tsr_bind(c, SURFACE, &s);
    tsr_bind_buffer(c, READ_ONLY, VRAM, 4096, TSR_FORMAT_R32, TSR_SURF_READ);
    tsr_bind_buffer(c, UNBOUND, VRAM, 4096, TSR_FORMAT_R32, RW);
    tsr_put(c, TSR_OP_UNBIND_SLOT, 0, TSR_UNBIND_SLOT_DWORDS, UNBOUND);
    tsr_put(c, TSR_OP_UNBIND_SLOT, 0, TSR_UNBIND_SLOT_DWORDS, UNBOUND);
    tsr_bind_buffer(c, HALF, VRAM, 4096, TSR_FORMAT_RGB565, RW);
}

/* Each row fails with its error, at its packet, and counts one error. */
static void test_packets(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");

    tsr_load_firmware(t);
    bind_row_slots(c);
    tsr_run_ok(t, RENDER, c);
    for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
        const Row *r = &rows[i];
        uint32_t offset, at, header, p[TSR_TRANSFER_DWORDS];

        bind_row_slots(c);
        offset = c->n * 4;
        p[0] = header = TSR_PKT_HEADER(r->op, r->flags, r->dwords);
        memcpy(p + 1, r->d, (r->dwords - 1) * 4);
        tsr_cmd(c, p, r->dwords);
        g_test_message("%s", r->what);
        tsr_err_clear(t);
        g_assert_cmpuint(tsr_run(t, r->engine, false, c, &at), ==, r->err);
        g_assert_cmpuint(at, ==, offset);
        g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_PACKET), ==, header);
        tsr_expect_errors(t, r->err, 1);
    }
    tsr_stop(t);
}

/* 6: the valid forms of all packets; scripts/tests/test_manual.py checks that */
typedef struct Form {
    uint8_t op;
    uint8_t dwords;
    uint8_t flags;
    bool render, paging;
} Form;

static const Form forms[] = {
    { TSR_OP_BIND_SLOT, 10, 0, true, true },
    { TSR_OP_UNBIND_SLOT, 2, 0, true, true },
    { TSR_OP_SET_STATE, 0, 0, true, false },
    { TSR_OP_NOP, 0, 0, true, true },
    { TSR_OP_FILL, 8, 0, true, true },
    { TSR_OP_COPY, 10, 0, true, true },
    { TSR_OP_BLIT, 10, 0, true, false },
    { TSR_OP_DRAW, 4, 1, true, false },
    { TSR_OP_QUERY_TIMESTAMP, 4, 0, true, true },
    { TSR_OP_FENCE_WAIT, 6, 0, true, false },
    { TSR_OP_FENCE_SIGNAL, 6, 0, true, false },
    { TSR_OP_JOB_BEGIN, 4, 0, true, true },
    { TSR_OP_IB_CALL, 6, 3, true, true },
    { TSR_OP_FENCE, 6, 1, true, true },
    { TSR_OP_WAIT, 6, 0, true, true },
    { TSR_OP_TIMESTAMP, 4, 0, true, true },
    { TSR_OP_SIGNAL, 6, 1, true, true },
    { TSR_OP_TRANSFER, 14, 63, false, true },
    { TSR_OP_PAGE_FILL, 6, 0, false, true },
    { TSR_OP_MAP_APERTURE, 6, 0, false, true },
    { TSR_OP_UNMAP_APERTURE, 4, 0, false, true },
    { TSR_OP_MARK, 6, 0, false, true },
    { TSR_OP_SET_VM, 4, 0, true, true },
    { TSR_OP_JOB_AFTER, 4, 0, true, true },
    { TSR_OP_RESUME, 4, 0, true, true },
    { TSR_OP_WRITE_PTES, 8, 7, false, true },
    { TSR_OP_TLB_FLUSH, 6, 0, true, true },
};

static void expect_packet_error(TsrTest *t, uint32_t e, uint32_t op,
                                uint32_t flags, uint32_t dwords)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);

    g_test_message("engine %u opcode 0x%x flags 0x%x dwords %u", e, op, flags,
                   dwords);
    c->d[0] = TSR_PKT_HEADER(op, flags, dwords);
    c->n = MAX(dwords, 2);
    tsr_run_err(t, e, c, TSR_ERR_PACKET);
}

/*
 * Each flag, length, engine and opcode that the table does not allow is
 * TSR_ERR_PACKET.
 */
static void test_forms(void)
{
    TsrTest *t = tsr_start("");
    bool known[256] = { false };

    for (unsigned int i = 0; i < ARRAY_SIZE(forms); i++) {
        const Form *f = &forms[i];
        uint32_t dwords = f->dwords ? f->dwords : 4;
        uint32_t e = f->render ? RENDER : PAGING;

        known[f->op] = true;
        for (uint32_t flag = 1; flag < 256; flag <<= 1) {
            if (!(f->flags & flag)) {
                expect_packet_error(t, e, f->op, flag, dwords);
            }
        }
        if (f->dwords) {
            expect_packet_error(t, e, f->op, 0, dwords + 2);
        }
        if (f->dwords > 2) {
            expect_packet_error(t, e, f->op, 0, dwords - 2);
        }
        if (!f->render || !f->paging) {
            expect_packet_error(t, f->render ? PAGING : RENDER, f->op, 0,
                                dwords);
        }
    }
    for (uint32_t op = 0; op < 256; op++) {
        if (!known[op]) {
            expect_packet_error(t, op % 2, op, 0, 4);
        }
    }
    tsr_stop(t);
}

/*
 * 3.2: reserved bits are checked in invalid entries, too. The entries before a
 * bad one take effect.
 */
static void test_entries(void)
{
    static const struct {
        uint64_t entry;
        uint32_t segment;
        uint32_t err;
    } bad[] = {
        { RAM | TSR_APTE_VALID | 16, 4, TSR_ERR_PACKET },
        { 0x800, 4, TSR_ERR_PACKET },
        { RAM | TSR_APTE_VALID | 1ULL << 48, 4, TSR_ERR_PACKET },
        { 1ULL << 63, 4, TSR_ERR_PACKET },
    };
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t page = tsr_alloc(t, 4096);
    uint8_t got[1];

    qtest_memset(t->qts, page, 0x6a, 4096);
    for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
        uint64_t list[2] = { page | TSR_APTE_VALID, bad[i].entry };

        c->n = 0;
        tsr_map(c, bad[i].segment, 2 * i, 2, tsr_list(t, list, 2));
        tsr_err_clear(t);
        g_assert_cmpuint(tsr_run(t, PAGING, false, c, NULL), ==, bad[i].err);
        g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, bad[i].entry);
        tsr_expect_errors(t, bad[i].err, 1);
        tsr_gpu_read(t, tsr_seg_base(t, bad[i].segment) + 2 * i * 4096, got,
                     1);
        g_assert_cmphex(got[0], ==, 0x6a);
    }
    /* An entry without VALID maps nothing, whatever its other bits say. */
    c->n = 0;
    tsr_map(c, 4, 0, 1, tsr_list(t, (uint64_t[]) { page | TSR_APTE_WRITE }, 1));
    tsr_transfer(c, 0, 0, GART, VRAM, 8, 0, 0, 0);
    tsr_run_err(t, PAGING, c, TSR_ERR_DMA);
    tsr_stop(t);
}

/* 3.3: BAR 2 is RAM, the other BARs are not. */
static void test_own_bars(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t bar2 = t->vram.addr & ~4095ULL, list, got;
    QPCIBar table;

    /* A page list may name VRAM by its bus address. */
    qpci_io_writeq(t->dev, t->vram, 0x20000, 0x1122334455667788);
    list = tsr_list(t, (uint64_t[]) { bar2 + 0x20000 }, 1);
    tsr_transfer(c, TSR_TRANSFER_SRC_PAGES, 0, list, VRAM + 0x30000, 8, 0, 0,
                 0);
    tsr_run_ok(t, PAGING, c);
    got = qpci_io_readq(t->dev, t->vram, 0x30000);
    g_assert_cmphex(got, ==, 0x1122334455667788);

    table = qpci_iomap(t->dev, TSR_BAR_MSIX, NULL);
    qpci_io_writel(t->dev, table, 8, 0x77);
    c->n = 0;
    tsr_put(c, TSR_OP_SIGNAL, 0, TSR_SIGNAL_DWORDS, 0, (uint32_t)table.addr, 0,
            1, 0);
    tsr_run_err(t, RENDER, c, TSR_ERR_DMA);
    g_assert_cmphex(qpci_io_readl(t->dev, table, 8), ==, 0x77);
    /* A list entry that is not page-aligned fails, and the record has it. */
    list = tsr_list(t, (uint64_t[]) { RAM + 8 }, 1);
    c->n = 0;
    tsr_transfer(c, TSR_TRANSFER_SRC_PAGES, 0, list, VRAM, 8, 0, 0, 0);
    g_assert_cmpuint(tsr_run(t, PAGING, false, c, NULL), ==, TSR_ERR_DMA);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, RAM + 8);
    tsr_stop(t);
}

/* ---- Registers --------------------------------------------------------- */

/* Require exactly one error, of no engine, with @addr in its record. */
static void expect_error_at(TsrTest *t, uint32_t type, uint64_t addr)
{
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, addr);
    g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_ENGINE), ==, 0xffffffff);
    tsr_expect_errors(t, type, 1);
}

/* 4, 4.6, 4.7 */
static void test_registers(void)
{
    static const struct {
        uint32_t reg, value, type;
    } writes[] = {
        { TSR_ID_MAGIC, 0, TSR_ERR_REGISTER },
        { TSR_CTRL_STATUS, 0, TSR_ERR_REGISTER },
        { TSR_CTRL_RESET, 1, TSR_ERR_REGISTER },
        { TSR_ERR_CLEAR, 0, TSR_ERR_REGISTER },
        { TSR_ERR_CLEAR, 2, TSR_ERR_REGISTER },
        { TSR_ERR_REC_SELECT, TSR_ERR_TYPES, TSR_ERR_REGISTER },
        { TSR_ERR_REC_SELECT, 0xffffffff, TSR_ERR_REGISTER },
        { TSR_ERR_TOTAL, 0, TSR_ERR_REGISTER },
        { TSR_ERR_REC_ADDR_HI, 0, TSR_ERR_REGISTER },
        { TSR_SEG(0) + TSR_SEG_PAGE_SIZE, 0, TSR_ERR_REGISTER },
        { TSR_ENG(0) + TSR_ENG_STATUS, 0, TSR_ERR_REGISTER },
        { TSR_ENG(0) + TSR_ENG_SLOT_SURFACE, 0, TSR_ERR_REGISTER },
        { TSR_ENG(0) + 0xfc, 0, TSR_ERR_REGISTER },
        { TSR_VM_BLOCK, 0, TSR_ERR_REGISTER },
        { TSR_COH_COMMAND, 0, TSR_ERR_REGISTER },
        { TSR_COH_COMMAND + 4, 0, TSR_ERR_REGISTER },
        { TSR_SWR(0) + TSR_SWR_STATUS, 0, TSR_ERR_REGISTER },
        { TSR_SWR(0) + TSR_SWR_STATUS + 4, 0, TSR_ERR_REGISTER },
        { TSR_SWR(0) + TSR_SWR_CONTROL, 2, TSR_ERR_REGISTER },
        { TSR_SWR(8) + TSR_SWR_BASE_LO, 0, TSR_ERR_REGISTER },
        { TSR_SWR_WINDOW_LO, 0, TSR_ERR_REGISTER },
        { TSR_HA_SIZE_LO, 0, TSR_ERR_REGISTER },
        { TSR_HA_PAGE_SIZE, 0, TSR_ERR_REGISTER },
        { TSR_HA_UNMAP + 4, 0, TSR_ERR_REGISTER },
        { TSR_DOORBELL(TSR_MAX_ENGINES), 0, TSR_ERR_REGISTER },
        { TSR_ENG(0) + TSR_ENG_CONTROL, 4, TSR_ERR_RING },
        { TSR_ENG(0) + TSR_ENG_CONTROL, 4 | TSR_ENG_RESET, TSR_ERR_RING },
        { TSR_ENG(0) + TSR_ENG_CONTROL, 1u << 31, TSR_ERR_RING },
        { TSR_DOORBELL(0), 4, TSR_ERR_RING },
        { TSR_DOORBELL(0), TSR_TEST_RING_BYTES, TSR_ERR_RING },
    };
    static const uint32_t write_only[] = {
        TSR_CTRL_RESET, TSR_CTRL_PING, TSR_FW_START, TSR_MARK_COMMAND,
        TSR_ERR_CLEAR, TSR_DOORBELL(0), TSR_HA_MAP, TSR_HA_UNMAP,
        TSR_COH_COMMAND,
    };
    TsrTest *t = tsr_start("");
    unsigned int i;

    for (i = 0; i < ARRAY_SIZE(writes); i++) {
        tsr_err_clear(t);
        tsr_w32(t, writes[i].reg, writes[i].value);
        expect_error_at(t, writes[i].type, writes[i].reg);
        /* The write has no effect, even if it also asks for a reset. */
        g_assert_cmphex(tsr_r32(t, TSR_ENG(0) + TSR_ENG_CONTROL), ==,
                        TSR_ENG_ENABLE);
    }
    for (i = 0; i < ARRAY_SIZE(write_only); i++) {
        g_assert_cmphex(tsr_r32(t, write_only[i]), ==, 0);
        expect_error_at(t, TSR_ERR_REGISTER, write_only[i]);
    }
    /* Undefined bits are ignored without an error. */
    tsr_w32(t, TSR_INT_MASK, 0xffffffff);
    g_assert_cmphex(tsr_r32(t, TSR_INT_MASK), ==, TSR_INT_ERROR |
                    TSR_INT_ENGINE_HALT | TSR_INT_PING |
                    TSR_INT_PREEMPTED);
    tsr_w64(t, TSR_CTRL_DUMMY_PAGE_LO, ~0ULL);
    g_assert_cmphex(tsr_r64(t, TSR_CTRL_DUMMY_PAGE_LO), ==,
                    TSR_APTE_ADDR_MASK);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * 9: an image that is invalid in any way is an error and stops the microcode.
 */
static void test_firmware(void)
{
    static const struct {
        uint32_t word, value;           /* in the header; word 4: none */
        int32_t offset;                 /* of the image */
        uint32_t size, start;
    } bad[] = {
        { 0, TSR_FW_MAGIC + 1, 0, 80, 1 },
        { 1, TSR_FW_VERSION + 1, 0, 80, 1 },
        { 2, 63, 0, 80, 1 },
        { 2, 65, 0, 80, 1 },
        { 3, 0, 0, 80, 1 },
        { 4, 0, 0, 15, 1 },
        { 4, 0, 0, 0, 1 },
        { 4, 0, 0, TSR_FW_MAX_BYTES + 1, 1 },
        { 4, 0, 0, 0xffffffff, 1 },
        { 4, 0, 128, 80, 1 },
        { 4, 0, -256, 80, 1 },
        { 4, 0, 8 << 20, 80, 1 },
        { 4, 0, (8 << 20) - 256, 512, 1 },
        { 4, 0, 0, 80, 0 },
        { 4, 0, 0, 80, 2 },
    };
    TsrTest *t = tsr_start("");
    uint64_t base = tsr_hidden_base(t);

    for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
        tsr_load_firmware(t);
        if (bad[i].word < 4) {
            uint32_t le = cpu_to_le32(bad[i].value);

            tsr_gpu_write(t, base + bad[i].word * 4, &le, 4);
        }
        tsr_w64(t, TSR_FW_ADDR_LO, base + bad[i].offset);
        tsr_w32(t, TSR_FW_SIZE, bad[i].size);
        tsr_w32(t, TSR_FW_START, bad[i].start);
        g_assert_cmphex(tsr_r32(t, TSR_CTRL_STATUS), ==, 0);
        expect_error_at(t, TSR_ERR_FIRMWARE, base + bad[i].offset);
    }
    tsr_stop(t);
}

/* 3.4: invalid commands of the host aperture are errors and map nothing. */
static void test_host_aperture(void)
{
    static const struct {
        uint32_t reg, first, count;
        uint64_t gpa;
        uint32_t err;
        uint64_t at;
    } bad[] = {
        { TSR_HA_MAP, 16, 1, VRAM, TSR_ERR_HOST_APERTURE, 16 * 4096 },
        { TSR_HA_MAP, 17, 0, VRAM, TSR_ERR_HOST_APERTURE, 17 * 4096 },
        { TSR_HA_MAP, 0, 17, VRAM, TSR_ERR_HOST_APERTURE, 0 },
        { TSR_HA_MAP, 1, UINT32_MAX, VRAM, TSR_ERR_HOST_APERTURE, 4096 },
        { TSR_HA_MAP, UINT32_MAX, 1, VRAM, TSR_ERR_HOST_APERTURE,
          4096ULL * UINT32_MAX },
        { TSR_HA_UNMAP, 16, 1, 0, TSR_ERR_HOST_APERTURE, 16 * 4096 },
        { TSR_HA_UNMAP, 15, 2, 0, TSR_ERR_HOST_APERTURE, 15 * 4096 },
        { TSR_HA_UNMAP, 1, UINT32_MAX, 0, TSR_ERR_HOST_APERTURE, 4096 },
        { TSR_HA_MAP, 0, 1, VRAM + 8, TSR_ERR_REGISTER, VRAM + 8 },
        { TSR_HA_MAP, 0, 0, VRAM + 8, TSR_ERR_REGISTER, VRAM + 8 },
        { TSR_HA_MAP, 0, 1, NOWHERE, TSR_ERR_ADDRESS, NOWHERE },
        { TSR_HA_MAP, 0, 1, ~4095ULL, TSR_ERR_ADDRESS, ~4095ULL },
        { TSR_HA_MAP, 0, 2, VRAM + 0x3fff000, TSR_ERR_ADDRESS,
          VRAM + 0x3fff000 },
        { TSR_HA_MAP, 0, 1, GART, TSR_ERR_SEGMENT, GART },
        { TSR_HA_MAP, 0, 1, AGP_RO, TSR_ERR_SEGMENT, AGP_RO },
        { TSR_HA_MAP, 0, 1, 0xc0000000, TSR_ERR_SEGMENT, 0xc0000000 },
    };
    TsrTest *t = tsr_start("host-aperture-size=64K");
    QPCIBar bar = qpci_iomap(t->dev, TSR_BAR_HOST_APERTURE, NULL);

    for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
        g_test_message("row %u", i);
        tsr_w64(t, TSR_HA_ADDR_LO, VRAM);
        tsr_w32(t, TSR_HA_COUNT, 16);
        tsr_w32(t, TSR_HA_MAP, 0);
        tsr_expect_no_errors(t);
        tsr_w64(t, TSR_HA_ADDR_LO, bad[i].gpa);
        tsr_w32(t, TSR_HA_COUNT, bad[i].count);
        tsr_w32(t, bad[i].reg, bad[i].first);
        expect_error_at(t, bad[i].err, bad[i].at);
        g_assert_cmphex(tsr_r64(t, TSR_HA_ADDR_LO), ==, bad[i].gpa);
        g_assert_cmphex(tsr_r32(t, TSR_HA_COUNT), ==, bad[i].count);
        for (uint32_t page = 0; page < 16; page++) {
            qpci_io_writel(t->dev, t->vram, page * 4096, i * 16 + page);
            g_assert_cmphex(qpci_io_readl(t->dev, bar, page * 4096), ==,
                            i * 16 + page);
        }
    }
    tsr_stop(t);
}

static void set_range(TsrTest *t, uint32_t i, uint64_t base, uint32_t layout,
                      uint32_t pitch, uint32_t height)
{
    tsr_w64(t, TSR_SWR(i) + TSR_SWR_BASE_LO, base);
    tsr_w32(t, TSR_SWR(i) + TSR_SWR_LAYOUT, layout);
    tsr_w32(t, TSR_SWR(i) + TSR_SWR_PITCH, pitch);
    tsr_w32(t, TSR_SWR(i) + TSR_SWR_HEIGHT, height);
    tsr_w32(t, TSR_SWR(i) + TSR_SWR_CONTROL, TSR_SWR_ENABLE);
}

/* 3.5: settings that a swizzling range refuses */
static void test_swizzle_range(void)
{
    static const uint32_t l = TSR_LAYOUT_TILE4K, end = VRAM + (64 << 20);
    static const struct {
        uint64_t base;
        uint32_t layout, pitch, height, err;
    } bad[] = {
        { VRAM, TSR_LAYOUT_LINEAR, 128, 32, TSR_ERR_SURFACE },
        { VRAM, TSR_LAYOUT_COUNT, 128, 32, TSR_ERR_SURFACE },
        { VRAM, l, 0, 32, TSR_ERR_SURFACE },
        { VRAM, l, 64, 32, TSR_ERR_SURFACE },
        { VRAM, l, TSR_SURF_MAX_PITCH + 128, 32, TSR_ERR_SURFACE },
        { VRAM, l, 128, 0, TSR_ERR_SURFACE },
        { VRAM, l, 128, TSR_SURF_MAX_DIM + 1, TSR_ERR_SURFACE },
        { VRAM + 128, l, 128, 32, TSR_ERR_SURFACE },
        { NOWHERE, l, 128, 32, TSR_ERR_ADDRESS },
        { ~4095ULL, l, 128, 32, TSR_ERR_ADDRESS },
        /* The padding rows belong to the surface. */
        { end - 4096, l, 128, 33, TSR_ERR_ADDRESS },
        { 0x90000000, l, 128, 32, TSR_ERR_SEGMENT },
        { GART, l, 128, 32, TSR_ERR_SEGMENT },
        { 0xc0000000, l, 128, 32, TSR_ERR_SEGMENT },
        { VRAM + 0x3000, l, 256, 32, TSR_ERR_SWIZZLE_RANGE },
        { VRAM + 0x4000, l, 128, 32, TSR_ERR_SWIZZLE_RANGE },
        { VRAM + 0x5000, l, 128, 32, TSR_ERR_SWIZZLE_RANGE },
    };
    TsrTest *t = tsr_start("");
    const uint32_t control = TSR_SWR(1) + TSR_SWR_CONTROL;

    set_range(t, 0, VRAM + 0x4000, TSR_LAYOUT_MORTON, 256, 1);
    for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
        g_test_message("row %u", i);
        set_range(t, 1, bad[i].base, bad[i].layout, bad[i].pitch,
                  bad[i].height);
        expect_error_at(t, bad[i].err, bad[i].base);
        g_assert_cmphex(tsr_r32(t, control), ==, 0);
        g_assert_cmphex(tsr_r32(t, TSR_SWR(1) + TSR_SWR_STATUS), ==,
                        TSR_SWR_UNSUPPORTED);
        g_assert_cmphex(tsr_r64(t, TSR_SWR(1)), ==, bad[i].base);
        g_assert_cmphex(tsr_r32(t, TSR_SWR(1) + TSR_SWR_LAYOUT), ==,
                        bad[i].layout);
        g_assert_cmphex(tsr_r32(t, TSR_SWR(1) + TSR_SWR_PITCH), ==,
                        bad[i].pitch);
        g_assert_cmphex(tsr_r32(t, TSR_SWR(1) + TSR_SWR_HEIGHT), ==,
                        bad[i].height);
    }
    /* A range may adjoin an enabled one and overlap a disabled one. */
    set_range(t, 1, VRAM + 0x6000, l, 128, 1);
    set_range(t, 2, end - 4096, l, 128, 32);
    tsr_w32(t, TSR_SWR(0) + TSR_SWR_CONTROL, 0);
    set_range(t, 3, VRAM, l, 128, 6 * 32);
    tsr_w32(t, TSR_SWR(0) + TSR_SWR_CONTROL, 0);
    tsr_expect_no_errors(t);
    /* The settings are read-only while the range is enabled. */
    for (uint32_t reg = TSR_SWR_BASE_LO; reg < TSR_SWR_CONTROL; reg += 4) {
        uint32_t before = tsr_r32(t, TSR_SWR(3) + reg);

        tsr_w32(t, TSR_SWR(3) + reg, 4096);
        expect_error_at(t, TSR_ERR_REGISTER, TSR_SWR(3) + reg);
        g_assert_cmphex(tsr_r32(t, TSR_SWR(3) + reg), ==, before);
    }
    tsr_stop(t);
}

/* ---- The PCI function -------------------------------------------------- */

static void set_command(TsrTest *t, uint16_t off, uint16_t on)
{
    uint16_t command = qpci_config_readw(t->dev, PCI_COMMAND);

    qpci_config_writew(t->dev, PCI_COMMAND, (command & ~off) | on);
}

/*
 * 2: an engine gets a DMA error without bus mastering, and no doorbell without
 * memory decoding.
 */
static void test_command_register(void)
{
    TsrTest *t = tsr_start("");
    uint32_t head = t->eng[RENDER].tail;
    uint64_t seqno;

    set_command(t, PCI_COMMAND_MASTER, 0);
    tsr_emit_fence(t, RENDER, 0, 0);
    tsr_kick(t, RENDER);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, ~0, TSR_ENGS_HALTED);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(RENDER) + TSR_ENG_HEAD), ==, head);
    tsr_expect_errors(t, TSR_ERR_DMA, 1);
    set_command(t, 0, PCI_COMMAND_MASTER);
    tsr_engine_reset(t, RENDER);

    /*
     * A doorbell is lost without memory decoding, but the engine keeps
     * running.
     */
    seqno = tsr_emit_fence(t, RENDER, 0, 0);
    set_command(t, PCI_COMMAND_MEMORY, 0);
    tsr_kick(t, RENDER);
    set_command(t, 0, PCI_COMMAND_MEMORY);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(RENDER) + TSR_ENG_TAIL), ==, 0);
    tsr_kick(t, RENDER);
    set_command(t, PCI_COMMAND_MEMORY, 0);
    tsr_wait(t, RENDER, seqno);
    set_command(t, 0, PCI_COMMAND_MEMORY);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * 2, 4.3: an interrupt is lost while MSI-X is off, and late while it is
 * masked.
 */
static void test_msix(void)
{
    TsrTest *t = tsr_start("");
    uint64_t msix = tsr_msix_enable(t);
    uint64_t control = t->dev->msix_table_off + TSR_VECTOR_ERROR * 16 +
                       PCI_MSIX_ENTRY_VECTOR_CTRL;
    uint8_t cap = qpci_find_capability(t->dev, PCI_CAP_ID_MSIX, 0);
    uint16_t flags = qpci_config_readw(t->dev, cap + PCI_MSIX_FLAGS);

    tsr_w32(t, TSR_INT_MASK, TSR_INT_PING);
    qpci_io_writel(t->dev, t->dev->msix_table_bar, control,
                   PCI_MSIX_ENTRY_CTRL_MASKBIT);
    tsr_w32(t, TSR_CTRL_PING, 1);
    tsr_r32(t, TSR_ID_MAGIC);
    g_assert_false(tsr_msix_seen(t, msix, TSR_VECTOR_ERROR));
    qpci_io_writel(t->dev, t->dev->msix_table_bar, control, 0);
    tsr_msix_wait(t, msix, TSR_VECTOR_ERROR);
    tsr_w32(t, TSR_INT_STATUS, TSR_INT_PING);

    qpci_config_writew(t->dev, cap + PCI_MSIX_FLAGS,
                       flags & ~PCI_MSIX_FLAGS_ENABLE);
    tsr_w32(t, TSR_CTRL_PING, 1);
    g_assert_cmphex(tsr_r32(t, TSR_INT_STATUS), ==, TSR_INT_PING);
    qpci_config_writew(t->dev, cap + PCI_MSIX_FLAGS, flags);
    tsr_r32(t, TSR_ID_MAGIC);
    g_assert_false(tsr_msix_seen(t, msix, TSR_VECTOR_ERROR));
    /* A write to INT_MASK evaluates INT_STATUS again. */
    tsr_w32(t, TSR_INT_MASK, TSR_INT_PING);
    tsr_msix_wait(t, msix, TSR_VECTOR_ERROR);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * 4.6: IRQ_SENT counts from 0 when the engine is enabled, and is written with
 * the first interrupt.
 */
static void test_irq_sent(void)
{
    TsrTest *t = tsr_start("");
    uint64_t msix = tsr_msix_enable(t), sp = t->eng[RENDER].status_page;
    uint32_t vector = TSR_VECTOR_ENGINE(RENDER);
    uint64_t seqno;

    seqno = tsr_emit_fence(t, RENDER, TSR_FENCE_INTERRUPT, 0);
    tsr_kick(t, RENDER);
    tsr_msix_wait(t, msix, vector);
    tsr_wait(t, RENDER, seqno);
    /* Enable the engine with the values of the last run in the status page. */
    qtest_writel(t->qts, sp + TSR_SP_IRQ_ACK, 1);
    tsr_w32(t, TSR_ENG(RENDER) + TSR_ENG_CONTROL, TSR_ENG_RESET);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, ~0, TSR_ENGS_IDLE);
    tsr_w32(t, TSR_ENG(RENDER) + TSR_ENG_CONTROL, TSR_ENG_ENABLE);
    g_assert_cmpuint(qtest_readl(t->qts, sp + TSR_SP_IRQ_SENT), ==, 1);
    t->eng[RENDER].tail = 0;
    seqno = tsr_emit_fence(t, RENDER, TSR_FENCE_INTERRUPT, 0);
    tsr_kick(t, RENDER);
    tsr_wait(t, RENDER, seqno);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, ~0, TSR_ENGS_IDLE);
    g_assert_false(tsr_msix_seen(t, msix, vector));
    qtest_writel(t->qts, sp + TSR_SP_IRQ_ACK, 0);
    tsr_emit_fence(t, RENDER, TSR_FENCE_INTERRUPT, 0);
    tsr_kick(t, RENDER);
    tsr_msix_wait(t, msix, vector);
    g_assert_cmpuint(qtest_readl(t->qts, sp + TSR_SP_IRQ_SENT), ==, 1);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* ---- State and faults -------------------------------------------------- */

/* 8: SET_STATE with an error sets nothing, so its values stay undefined. */
static void test_state_is_atomic(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("strict=on");
    uint32_t job[] = { TSR_PKT_HEADER(TSR_OP_JOB_BEGIN, 0, 4), 1, 0, 0 };
    uint64_t seqno;

    tsr_load_firmware(t);
    tsr_page_fill(c, 0, VRAM, 16384);
    tsr_run_ok(t, PAGING, c);
    /* Two IBs of one job: SET_STATE in the first fails at its last value. */
    for (unsigned int turn = 0; turn < 2; turn++) {
        uint32_t call[TSR_IB_CALL_DWORDS] = {
            TSR_PKT_HEADER(TSR_OP_IB_CALL, 0, TSR_IB_CALL_DWORDS), 0,
            t->ib_list,
        };

        c->n = 0;
        if (turn == 0) {
            tsr_emit(t, RENDER, job, 4);
            tsr_set_state(c, 0, TSR_STATE_COLOR, SURFACE, 0, 16 | 16 << 16,
                          SURFACE, 0, TSR_BLEND_COUNT);
        } else {
            bind_row_slots(c);
            tsr_set_state(c, TSR_STATE_TEXTURE_SLOT, 4, SURFACE, 0, 0, 0);
            tsr_put(c, TSR_OP_DRAW, 0, TSR_DRAW_DWORDS, BUFFER, 0, 3);
        }
        call[1] = call[5] = c->n * 4;
        qtest_bufwrite(t->qts, t->ib, c->d, c->n * 4);
        tsr_emit(t, RENDER, call, TSR_IB_CALL_DWORDS);
        seqno = tsr_emit_fence(t, RENDER, 0, 0);
        tsr_kick(t, RENDER);
        tsr_wait(t, RENDER, seqno);
        tsr_expect_errors(t, turn ? TSR_ERR_STRICT_STATE : TSR_ERR_PACKET, 1);
    }
    tsr_stop(t);
}

/*
 * 5.5: the record of a job has its first error; the counters have all of them.
 */
static void test_first_error(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint32_t job[] = { TSR_PKT_HEADER(TSR_OP_JOB_BEGIN, 0, 4), 1, 0, 0 };
    uint32_t starts[] = { 0, 8, 8 + TSR_FILL_DWORDS * 4 }, i;
    uint64_t seqno;

    tsr_put(c, TSR_OP_NOP, 0, 2, 0);
    tsr_fill(c, UNBOUND, 0, 0, 1, 1, 1);
    tsr_fill(c, 64, 0, 0, 1, 1, 1);
    qtest_bufwrite(t->qts, t->ib, c->d, c->n * 4);
    tsr_emit(t, RENDER, job, ARRAY_SIZE(job));
    for (i = 0; i < ARRAY_SIZE(starts); i++) {
        uint32_t end = i + 1 < ARRAY_SIZE(starts) ? starts[i + 1] : c->n * 4;
        uint32_t call[] = {
            TSR_PKT_HEADER(TSR_OP_IB_CALL, 0, TSR_IB_CALL_DWORDS), c->n * 4,
            t->ib_list, 0, starts[i], end,
        };

        tsr_emit(t, RENDER, call, ARRAY_SIZE(call));
    }
    seqno = tsr_emit_fence(t, RENDER, 0, t->record);
    tsr_kick(t, RENDER);
    tsr_wait(t, RENDER, seqno);
    g_assert_cmpuint(qtest_readl(t->qts, t->record + TSR_REC_STATUS), ==,
                     TSR_ERR_SLOT_UNBOUND);
    g_assert_cmpuint(qtest_readl(t->qts, t->record + TSR_REC_OFFSET), ==, 8);
    g_assert_cmpuint(tsr_err_count(t, TSR_ERR_SLOT_UNBOUND), ==, 1);
    g_assert_cmpuint(tsr_err_count(t, TSR_ERR_SLOT_RANGE), ==, 1);
    g_assert_cmpuint(tsr_err_total(t), ==, 2);
    tsr_stop(t);
}

static void read_or_write(TsrTest *t, uint64_t gpa, bool write, uint32_t err)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);

    g_test_message("%s at 0x%" PRIx64, write ? "write" : "read", gpa);
    tsr_transfer(c, write ? TSR_TRANSFER_SRC_PAGES : TSR_TRANSFER_DST_PAGES, 0,
                 write ? t->bounce_list : gpa, write ? gpa : t->bounce_list, 8,
                 0, 0, 0);
    tsr_err_clear(t);
    g_assert_cmpuint(tsr_run(t, PAGING, false, c, NULL), ==, err);
    if (err) {
        g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, gpa);
    }
    tsr_expect_errors(t, err, err ? 1 : 0);
}

/* 11: the table of page states, and the effect of a device reset on each */
static void test_page_states(void)
{
    static const struct {
        uint32_t mark;          /* 0: none */
        uint32_t read, write, after_reset;
    } states[] = {
        { 0, TSR_ERR_STRICT_UNWRITTEN, 0, TSR_ERR_STRICT_UNWRITTEN },
        { TSR_MARK_VALID, 0, 0, 0 },
        { TSR_MARK_FREE, TSR_ERR_STRICT_FREED, TSR_ERR_STRICT_FREED,
          TSR_ERR_STRICT_UNWRITTEN },
        { TSR_MARK_EVICTED, TSR_ERR_STRICT_EVICTED, TSR_ERR_STRICT_EVICTED,
          TSR_ERR_STRICT_UNWRITTEN },
        { TSR_MARK_ALLOCATED, TSR_ERR_STRICT_UNWRITTEN, 0,
          TSR_ERR_STRICT_UNWRITTEN },
    };
    const uint32_t n = ARRAY_SIZE(states);
    TsrTest *t = tsr_start("strict=on");
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    uint32_t i;

    for (uint32_t segment = 0; segment < 2; segment++) {
        uint64_t base = segment ? tsr_hidden_base(t) : VRAM;

        /*
         * For each state a page to read, one to write and one for after the
         * reset.
         */
        for (i = 0; i < n; i++) {
            c->n = 0;
            tsr_mark(c, states[i].mark, base + i * 3 * 4096, 3 * 4096);
            if (states[i].mark) {
                tsr_run_ok(t, PAGING, c);
            }
        }
        for (i = 0; i < n; i++) {
            uint64_t gpa = base + i * 3 * 4096;

            read_or_write(t, gpa, false, states[i].read);
            read_or_write(t, gpa + 4096, true, states[i].write);
            /* A write to a part of a page makes the whole page valid. */
            read_or_write(t, gpa + 8192 - 8, false, states[i].write);
        }
    }
    tsr_device_reset(t);
    tsr_engine_start(t, PAGING, TSR_TEST_RING_BYTES);
    for (i = 0; i < n; i++) {
        uint64_t gpa = VRAM + (i * 3 + 2) * 4096;

        read_or_write(t, gpa, false, states[i].after_reset);
        read_or_write(t, gpa, true, 0);
        read_or_write(t, gpa, false, 0);
    }
    tsr_stop(t);
}

/* 14: the accesses that x-fail-dma counts */
static void test_fail_dma(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t seqno;

    /* Accesses to ring, status page and record do not count. */
    tsr_qom_set(t, "x-fail-dma", 100);
    seqno = tsr_emit_fence(t, RENDER, 0, t->record);
    tsr_kick(t, RENDER);
    tsr_wait(t, RENDER, seqno);
    g_assert_cmpint(tsr_qom_get(t, "x-fail-dma"), ==, 100);
    /* The first access of an IB_CALL reads the page list of the IB. */
    tsr_qom_set(t, "x-fail-dma", 1);
    tsr_put(c, TSR_OP_NOP, 0, 2, 0);
    tsr_err_clear(t);
    g_assert_cmpuint(tsr_run(t, RENDER, false, c, NULL), ==, TSR_ERR_DMA);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, t->ib_list);
    tsr_expect_errors(t, TSR_ERR_DMA, 1);
    g_assert_cmpint(tsr_qom_get(t, "x-fail-dma"), ==, 0);
    tsr_run_ok(t, RENDER, c);
    tsr_stop(t);
}

static void expect_refused(TsrTest *t, const char *props)
{
    g_autofree char *json = g_strdup_printf(
        "{'execute': 'device_add', 'arguments': {'driver': 'tessera', %s}}",
        props);
    const char *text;
    QDict *rsp;

    g_test_message("%s", props);
    qtest_qmp_send_raw(t->qts, "%s", json);
    rsp = qtest_qmp_receive(t->qts);
    g_assert_true(qdict_haskey(rsp, "error"));
    text = qdict_get_str(qdict_get_qdict(rsp, "error"), "desc");
    g_assert_true(g_str_has_prefix(text, "tessera: "));
    qobject_unref(rsp);
}

/*
 * 14: a device with invalid properties is not created, and the error says why.
 */
static void test_properties(void)
{
    static const char *const bad[] = {
        "'vram-size': 0", "'vram-size': 4097", "'vram-size': 17179873280",
        "'vram-hidden-size': 100", "'vram-hidden-size': 17179873280",
        "'agp-ro-size': 1", "'agp-ro-size': 17179873280",
        "'agp-ro-size': 4096, 'agp-ro-commit': 8192",
        "'agp-ro-commit': 100", "'gart-size': 0", "'gart-size': 100",
        "'gart-size': 17179873280", "'gart-size': 4096, 'gart-commit': 8192",
        "'firmware-size': 4096", "'firmware-size': 65537",
        "'firmware-size': 1073745920",
        "'host-aperture-size': 100", "'host-aperture-size': 17179873280",
        "'page-size': 65536, 'host-aperture-size': 4096",
        "'swizzle-ranges': 65",
        "'page-size': 8192", "'page-size': 65536, 'vram-size': 4096",
        "'render-engines': 0", "'render-engines': 8", "'paging-engines': 0",
        "'render-engines': 4, 'paging-engines': 5",
        "'num-slots': 0", "'num-slots': 4097",
        "'max-ib-bytes': 0", "'max-ib-bytes': 5000",
        "'max-ib-bytes': 268439552", "'x-descriptor-fault': 'other'",
        "'segments': 'uma:1M'", "'segments': 'vram:1M/uma:1M:64K'",
        "'segments': 'vram:1M/uma:100'",
    };
    TsrTest *t = tsr_start("");

    for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
        expect_refused(t, bad[i]);
    }
    /* The machine and its first device keep working. */
    tsr_gpu_write(t, VRAM, "abcd", 4);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/manual/3-to-11-packets", test_packets);
    qtest_add_func("/tessera/manual/6-forms", test_forms);
    qtest_add_func("/tessera/manual/3.2-entries", test_entries);
    qtest_add_func("/tessera/manual/3.3-own-bars", test_own_bars);
    qtest_add_func("/tessera/manual/4-registers", test_registers);
    qtest_add_func("/tessera/manual/3.4-host-aperture", test_host_aperture);
    qtest_add_func("/tessera/manual/3.5-swizzle-range", test_swizzle_range);
    qtest_add_func("/tessera/manual/9-firmware", test_firmware);
    qtest_add_func("/tessera/manual/2-command-register",
                   test_command_register);
    qtest_add_func("/tessera/manual/2-msix", test_msix);
    qtest_add_func("/tessera/manual/4.6-irq-sent", test_irq_sent);
    qtest_add_func("/tessera/manual/8-state-is-atomic", test_state_is_atomic);
    qtest_add_func("/tessera/manual/5.5-first-error", test_first_error);
    qtest_add_func("/tessera/manual/11-page-states", test_page_states);
    qtest_add_func("/tessera/manual/14-fail-dma", test_fail_dma);
    qtest_add_func("/tessera/manual/14-properties", test_properties);
    return g_test_run();
}
