/*
 * QTest: the device behind an IOMMU
 *
 * The tests program the IOMMUs of Intel and AMD directly: a page table of
 * three levels maps a few pages of RAM at other addresses. All addresses that
 * the engine gets are translated ones. vCPUs are emulated, so that a fault
 * really interrupts them, and QEMU itself checks that the interrupt is raised
 * under the BQL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "tessera-common.h"

#define DEVFN           QPCI_DEVFN(4, 0)
#define FIRMWARE_BYTES  65536
#define IOVA            0x40000000ULL   /* RAM as the page table maps it */
#define IOVA_BYTES      (2 * 1024 * 1024)
#define NOWHERE         (IOVA + IOVA_BYTES)     /* not mapped */
#define NMI_ADDRESS     0xfee00000
#define NMI_DATA        0x400
#define HLT             0xf4

typedef struct Iommu {
    const char *name;
    const char *args;
    void (*enable)(TsrTest *t, uint64_t root);
    uint64_t (*entry)(uint64_t addr, uint32_t level);
    void (*forget)(TsrTest *t);
    bool (*faulted)(TsrTest *t);
} Iommu;

/* ---- Intel --------------------------------------------------------------- */

#define VTD             0xfed90000
#define VTD_GCMD        (VTD + 0x18)
#define VTD_GSTS        (VTD + 0x1c)
#define VTD_RTADDR      (VTD + 0x20)
#define VTD_FSTS        (VTD + 0x34)
#define VTD_FECTL       (VTD + 0x38)
#define VTD_FEDATA      (VTD + 0x3c)
#define VTD_FEADDR      (VTD + 0x40)
#define VTD_IOTLB       (VTD + 0xf8)
#define VTD_SRTP        (1u << 30)
#define VTD_TE          (1u << 31)
#define VTD_FSTS_PPF    2
#define VTD_GLOBAL      (1ULL << 63 | 1ULL << 60)
#define VTD_WIDTH_39    1ULL

static void vtd_enable(TsrTest *t, uint64_t root)
{
    uint64_t table = tsr_alloc(t, 4096), context = tsr_alloc(t, 4096);

    qtest_memset(t->qts, table, 0, 4096);
    qtest_memset(t->qts, context, 0, 4096);
    qtest_writeq(t->qts, table, context | 1);
    qtest_writeq(t->qts, context + DEVFN * 16, root | 1);
    qtest_writeq(t->qts, context + DEVFN * 16 + 8, 1 << 8 | VTD_WIDTH_39);
    qtest_writel(t->qts, VTD_FEDATA, NMI_DATA);
    qtest_writel(t->qts, VTD_FEADDR, NMI_ADDRESS);
    qtest_writel(t->qts, VTD_FECTL, 0);
    qtest_writeq(t->qts, VTD_RTADDR, table);
    qtest_writel(t->qts, VTD_GCMD, VTD_SRTP);
    qtest_writel(t->qts, VTD_GCMD, VTD_TE);
    g_assert_cmphex(qtest_readl(t->qts, VTD_GSTS) & VTD_TE, ==, VTD_TE);
}

static uint64_t vtd_entry(uint64_t addr, uint32_t level)
{
    return addr | 3;
}

static void vtd_forget(TsrTest *t)
{
    qtest_writeq(t->qts, VTD_IOTLB, VTD_GLOBAL);
}

static bool vtd_faulted(TsrTest *t)
{
    return qtest_readl(t->qts, VTD_FSTS) & VTD_FSTS_PPF;
}

/* ---- AMD ----------------------------------------------------------------- */

#define AMD             0xfed80000
#define AMD_DEVTAB      (AMD + 0x00)
#define AMD_COMMANDS    (AMD + 0x08)
#define AMD_CONTROL     (AMD + 0x18)
#define AMD_VENDOR      0x1022
#define AMD_CMD_HEAD    (AMD + 0x2000)
#define AMD_CMD_TAIL    (AMD + 0x2008)
#define AMD_DEVTAB_BYTES 0x200000
#define AMD_DTE_BYTES   32
#define AMD_ENABLE      (1u << 0 | 1u << 12)
#define AMD_LOG_256     (8ULL << 56)
#define AMD_RW          (3ULL << 61)
#define AMD_FLUSH_ENTRY (2ULL << 60)    /* of the device table */
#define AMD_FLUSH_ALL   (8ULL << 60)

/*
 * From 10.2 on QEMU's AMD IOMMU translates only with this property, and only
 * after a flush of the entry.
 */
#if QEMU_VERSION_MAJOR > 10 || \
    (QEMU_VERSION_MAJOR == 10 && QEMU_VERSION_MINOR >= 2)
#define AMD_ARGS        "-device amd-iommu,dma-remap=on"
#else
#define AMD_ARGS        "-device amd-iommu"
#endif

static uint64_t amd_commands;

static void amd_command(TsrTest *t, uint64_t command)
{
    uint64_t tail = qtest_readq(t->qts, AMD_CMD_TAIL);

    qtest_writeq(t->qts, amd_commands + tail, command);
    qtest_writeq(t->qts, amd_commands + tail + 8, 0);
    qtest_writeq(t->qts, AMD_CMD_TAIL, tail + 16);
    g_assert_cmphex(qtest_readq(t->qts, AMD_CMD_HEAD), ==, tail + 16);
}

static void amd_enable(TsrTest *t, uint64_t root)
{
    uint64_t table = tsr_alloc(t, AMD_DEVTAB_BYTES);
    uint64_t dte = table + DEVFN * AMD_DTE_BYTES;

    amd_commands = tsr_alloc(t, 4096);
    qtest_memset(t->qts, table, 0, AMD_DEVTAB_BYTES);
    qtest_writeq(t->qts, dte, root | 3 << 9 | AMD_RW | 3);
    qtest_writeq(t->qts, dte + 8, 1);
    qtest_writeq(t->qts, AMD_DEVTAB, table | (AMD_DEVTAB_BYTES / 4096 - 1));
    qtest_writeq(t->qts, AMD_COMMANDS, amd_commands | AMD_LOG_256);
    qtest_writeq(t->qts, AMD_CONTROL, AMD_ENABLE);
    amd_command(t, AMD_FLUSH_ENTRY | DEVFN);
}

static uint64_t amd_entry(uint64_t addr, uint32_t level)
{
    return addr | (uint64_t)level << 9 | AMD_RW | 1;
}

static void amd_forget(TsrTest *t)
{
    amd_command(t, AMD_FLUSH_ALL);
}

/*
 * QEMU logs no event, but the PCI function of the IOMMU reports an abort.
 */
static bool amd_faulted(TsrTest *t)
{
    bool faulted = false;

    for (int slot = 0; slot < 32; slot++) {
        QPCIDevice *dev = qpci_device_find(t->bus, QPCI_DEVFN(slot, 0));

        if (dev && qpci_config_readw(dev, PCI_VENDOR_ID) == AMD_VENDOR) {
            faulted = qpci_config_readw(dev, PCI_STATUS) &
                      PCI_STATUS_SIG_TARGET_ABORT;
        }
        g_free(dev);
    }
    return faulted;
}

static const Iommu iommus[] = {
    { "intel", "-device intel-iommu", vtd_enable, vtd_entry, vtd_forget,
      vtd_faulted },
    { "amd", AMD_ARGS, amd_enable, amd_entry, amd_forget,
      amd_faulted },
};

/* ---- Machines ------------------------------------------------------------ */

typedef struct Machine {
    const Iommu *iommu;
    TsrTest *t;
    uint64_t leaves;            /* the level 0 table */
    char *firmware;
} Machine;

static void set_leaf(Machine *m, uint64_t iova, uint64_t addr)
{
    qtest_writeq(m->t->qts, m->leaves + (iova - IOVA) / 4096 * 8,
                 addr ? m->iommu->entry(addr, 0) : 0);
}

/* Map [@addr, @addr + @bytes) at @iova. */
static void set_leaves(Machine *m, uint64_t iova, uint64_t addr,
                       uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i += 4096) {
        set_leaf(m, iova + i, addr + i);
    }
}

static uint64_t make_tables(Machine *m)
{
    QTestState *qts = m->t->qts;
    uint64_t root = tsr_alloc(m->t, 4096), middle = tsr_alloc(m->t, 4096);

    m->leaves = tsr_alloc(m->t, 4096);
    qtest_memset(qts, root, 0, 4096);
    qtest_memset(qts, middle, 0, 4096);
    qtest_memset(qts, m->leaves, 0, 4096);
    qtest_writeq(qts, root + (IOVA >> 30) * 8, m->iommu->entry(middle, 2));
    qtest_writeq(qts, middle, m->iommu->entry(m->leaves, 1));
    /*
     * NOWHERE has an entry without the valid bit: QEMU's AMD IOMMU reports a
     * fault only for such an entry.
     */
    qtest_writeq(qts, middle + 8, m->iommu->entry(m->leaves, 1) & ~1ULL);
    return root;
}

/* Firmware for idle vCPUs: each instruction is HLT, also in the NMI handler. */
static char *write_firmware(void)
{
    g_autofree char *image = g_malloc(FIRMWARE_BYTES);
    char *path = g_strdup_printf("%s/tessera-iommu-%d", g_get_tmp_dir(),
                                 getpid());

    memset(image, HLT, FIRMWARE_BYTES);
    g_assert_true(g_file_set_contents(path, image, FIRMWARE_BYTES, NULL));
    return path;
}

static void machine_start(Machine *m, const Iommu *iommu, const char *props)
{
    g_autofree char *more = g_strdup_printf("-M q35 %s", iommu->args);
    g_autofree char *args = NULL;

    m->iommu = iommu;
    m->firmware = write_firmware();
    args = tsr_firmware_args(m->firmware, more);
    m->t = tsr_start_machine(props, args);
    tsr_map_device(m->t);
    tsr_set_up_memory(m->t);
    iommu->enable(m->t, make_tables(m));
    qtest_writel(m->t->qts, 2 * 4, 0xf0000000); /* the NMI vector */
    tsr_run_firmware(m->t);
}

static void machine_stop(Machine *m)
{
    tsr_stop(m->t);
    g_unlink(m->firmware);
    g_free(m->firmware);
}

/* ---- Work ---------------------------------------------------------------- */

/*
 * Start the paging engine with its ring and status page at translated
 * addresses.
 */
static void start_engine(Machine *m)
{
    TsrTest *t = m->t;
    TsrTestEngine *eng = &t->eng[PAGING];

    eng->ring = tsr_alloc(t, 4096);
    eng->status_page = tsr_alloc(t, 4096);
    eng->size = 4096;
    set_leaf(m, IOVA, eng->ring);
    set_leaf(m, IOVA + 4096, eng->status_page);
    m->iommu->forget(t);
    qtest_memset(t->qts, eng->status_page, 0, 4096);
    tsr_w64(t, TSR_ENG(PAGING) + TSR_ENG_RING_LO, IOVA);
    tsr_w32(t, TSR_ENG(PAGING) + TSR_ENG_RING_SIZE, 4096);
    tsr_w64(t, TSR_ENG(PAGING) + TSR_ENG_STATUS_PAGE_LO, IOVA + 4096);
    tsr_w32(t, TSR_ENG(PAGING) + TSR_ENG_CONTROL, TSR_ENG_ENABLE);
    eng->tail = 0;
    eng->seqno = 0;
}

/* Reset the engine, but unlike tsr_engine_reset() do not start it again. */
static void reset_engine(Machine *m)
{
    tsr_w32(m->t, TSR_ENG(PAGING) + TSR_ENG_CONTROL, TSR_ENG_RESET);
    tsr_wait_reg(m->t, TSR_ENG(PAGING) + TSR_ENG_STATUS, TSR_ENGS_RESETTING,
                 0);
}

/*
 * Write a list of @pages contiguous pages from @first on, and map it at @iova.
 */
static void make_list(Machine *m, uint64_t iova, uint64_t first,
                      uint32_t pages)
{
    uint64_t list = tsr_alloc(m->t, 4096);

    g_assert_cmpuint(pages, <=, 512);
    for (uint32_t i = 0; i < pages; i++) {
        qtest_writeq(m->t->qts, list + i * 8, first + i * 4096);
    }
    set_leaf(m, iova, list);
}

static void emit_transfer(Machine *m, uint64_t list, uint64_t bytes, bool out)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    uint64_t vram = tsr_seg_base(m->t, 1);

    tsr_transfer(c, (out ? TSR_TRANSFER_DST_PAGES : TSR_TRANSFER_SRC_PAGES) |
                 TSR_TRANSFER_START | TSR_TRANSFER_END, 0,
                 out ? vram : list, out ? list : vram, bytes, 0, 0, 0);
    tsr_emit(m->t, PAGING, c->d, c->n);
}

static void transfer(Machine *m, uint64_t list, uint64_t bytes, bool out)
{
    uint64_t seqno;

    emit_transfer(m, list, bytes, out);
    seqno = tsr_emit_fence(m->t, PAGING, 0, 0);
    tsr_kick(m->t, PAGING);
    tsr_wait(m->t, PAGING, seqno);
}

#define PAGES   64
#define DATA    (IOVA + 0x100000)
#define LIST    (IOVA + 0x2000)

static void fill_pattern(uint8_t *buf, size_t bytes, uint32_t seed)
{
    for (size_t i = 0; i < bytes; i++) {
        buf[i] = (i + seed) * 2654435761u >> 21;
    }
}

static void expect_vram(Machine *m, const uint8_t *want, size_t bytes)
{
    g_autofree uint8_t *got = g_malloc(bytes);

    qpci_memread(m->t->dev, m->t->vram, 0, got, bytes);
    g_assert_cmpmem(got, bytes, want, bytes);
}

/* Pages that are scattered in RAM are contiguous on the bus. */
static void test_translated(gconstpointer data)
{
    const size_t bytes = PAGES * 4096;
    g_autofree uint8_t *buf = g_malloc(bytes), *back = g_malloc(bytes);
    uint64_t ram;
    Machine m;

    machine_start(&m, data, "strict=off");
    start_engine(&m);
    ram = tsr_alloc(m.t, 2 * bytes);
    fill_pattern(buf, bytes, 1);
    for (uint32_t i = 0; i < PAGES; i++) {
        uint64_t page = ram + (PAGES - 1 - i) * 8192;

        set_leaf(&m, DATA + i * 4096, page);
        qtest_memwrite(m.t->qts, page, buf + i * 4096, 4096);
    }
    make_list(&m, LIST, DATA, PAGES);
    transfer(&m, LIST, bytes, false);
    expect_vram(&m, buf, bytes);
    qtest_memset(m.t->qts, ram, 0, 2 * bytes);
    transfer(&m, LIST, bytes, true);
    for (uint32_t i = 0; i < PAGES; i++) {
        qtest_memread(m.t->qts, ram + (PAGES - 1 - i) * 8192,
                      back + i * 4096, 4096);
    }
    g_assert_cmpmem(back, bytes, buf, bytes);
    g_assert_false(m.iommu->faulted(m.t));
    tsr_expect_no_errors(m.t);
    machine_stop(&m);
}

/*
 * The device keeps no translation from one packet to the next, so each packet
 * uses the entries that were current at the last invalidation.
 */
static void test_invalidated(gconstpointer data)
{
    uint8_t buf[2][4096];
    uint64_t ram;
    Machine m;

    machine_start(&m, data, "");
    start_engine(&m);
    ram = tsr_alloc(m.t, sizeof(buf));
    fill_pattern(buf[0], sizeof(buf[0]), 2);
    fill_pattern(buf[1], sizeof(buf[1]), 3);
    qtest_memwrite(m.t->qts, ram, buf, sizeof(buf));
    make_list(&m, LIST, DATA, 1);
    for (uint32_t i = 0; i < 8; i++) {
        set_leaf(&m, DATA, ram + i % 2 * 4096);
        m.iommu->forget(m.t);
        transfer(&m, LIST, 4096, false);
        expect_vram(&m, buf[i % 2], 4096);
    }
    tsr_expect_no_errors(m.t);
    machine_stop(&m);
}

/* An access to an unmapped page fails its packet, and nothing else. */
static void test_fault(gconstpointer data)
{
    uint64_t ram;
    Machine m;

    machine_start(&m, data, "");
    start_engine(&m);
    ram = tsr_alloc(m.t, PAGES * 4096);
    make_list(&m, LIST, NOWHERE - 5 * 4096, PAGES);
    set_leaves(&m, NOWHERE - 5 * 4096, ram, 5 * 4096);
    emit_transfer(&m, LIST, PAGES * 4096, false);
    tsr_kick(m.t, PAGING);
    tsr_wait_reg(m.t, TSR_ENG(PAGING) + TSR_ENG_STATUS, TSR_ENGS_HALTED,
                 TSR_ENGS_HALTED);
    g_assert_true(m.iommu->faulted(m.t));
    g_assert_cmphex(tsr_r64(m.t, TSR_ERR_REC_ADDR_LO), ==, NOWHERE);
    tsr_expect_errors(m.t, TSR_ERR_DMA, 1);

    /* The engine works again after a reset. */
    reset_engine(&m);
    start_engine(&m);
    set_leaves(&m, DATA, ram, PAGES * 4096);
    make_list(&m, LIST, DATA, PAGES);
    m.iommu->forget(m.t);
    transfer(&m, LIST, PAGES * 4096, false);
    tsr_expect_no_errors(m.t);
    machine_stop(&m);
}

/*
 * The machine stops and continues, and the engine is reset, while the engine
 * asks for one translation after the other. None may deadlock with the others.
 */
static void test_stopped_at_work(gconstpointer data)
{
    const uint64_t bytes = 512 * 4096;
    uint64_t ram;
    Machine m;

    machine_start(&m, data, "");
    ram = tsr_alloc(m.t, 256 * 4096);
    set_leaves(&m, DATA, ram, 255 * 4096);
    for (uint32_t round = 0; round < 40; round++) {
        uint64_t list = tsr_alloc(m.t, 4096), seqno;

        start_engine(&m);
        for (uint32_t i = 0; i < 512; i++) {
            qtest_writeq(m.t->qts, list + i * 8, DATA + i * 7 % 255 * 4096);
        }
        set_leaf(&m, LIST, list);
        m.iommu->forget(m.t);
        for (uint32_t i = 0; i < 4; i++) {
            emit_transfer(&m, LIST, bytes, false);
        }
        seqno = tsr_emit_fence(m.t, PAGING, 0, 0);
        tsr_kick(m.t, PAGING);
        g_usleep(round * 50);
        qtest_qmp_assert_success(m.t->qts, "{'execute': 'stop'}");
        qtest_qmp_assert_success(m.t->qts, "{'execute': 'cont'}");
        if (round % 3 == 0) {
            tsr_wait(m.t, PAGING, seqno);
        }
        if (round % 3 == 1) {
            tsr_device_reset(m.t);
        } else {
            reset_engine(&m);
        }
    }
    tsr_expect_no_errors(m.t);

    start_engine(&m);
    emit_transfer(&m, LIST, bytes, false);
    tsr_kick(m.t, PAGING);
    qtest_qmp_assert_success(m.t->qts, "{'execute': 'system_reset'}");
    qtest_qmp_eventwait(m.t->qts, "RESET");
    machine_stop(&m);
}

static void add(const char *name, void (*func)(gconstpointer))
{
    for (size_t i = 0; i < ARRAY_SIZE(iommus); i++) {
        g_autofree char *path = g_strdup_printf("/tessera/iommu/%s/%s",
                                                iommus[i].name, name);

        qtest_add_data_func(path, &iommus[i], func);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add("translated", test_translated);
    add("invalidated", test_invalidated);
    add("fault", test_fault);
    add("stopped-at-work", test_stopped_at_work);
    return g_test_run();
}
