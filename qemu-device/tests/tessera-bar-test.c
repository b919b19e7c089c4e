/*
 * QTest: the Resizable BAR capability of BAR 2 (CHA-11)
 *
 * Runs on q35, because its PCI Express configuration space is memory-mapped.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "tessera-migrate.h"

#define MACHINE "-M q35"
#define PROPS "resizable-bar=on,vram-size=5M,vram-hidden-size=12M,strict=on"
#define ECAM 0xb0000000ULL
#define REBAR 0x100
#define FIRST (16 << 20)
#define LAST (64 << 20)
#define SIZE(bytes) (ctz32((bytes) >> 20) << PCI_REBAR_CTRL_BAR_SHIFT)
#define CTRL (TSR_BAR_VRAM | 1 << PCI_REBAR_CTRL_NBAR_SHIFT)

static void map_config(TsrTest *t)
{
    QPCIDevice *host = qpci_device_find(t->bus, QPCI_DEVFN(0, 0));

    qpci_config_writel(host, 0x64, 0);
    qpci_config_writel(host, 0x60, ECAM | 1);
    g_free(host);
}

static uint64_t config_at(uint32_t reg)
{
    return ECAM + (QPCI_DEVFN(4, 0) << 12) + reg;
}

static uint32_t rebar_read(TsrTest *t, uint32_t reg)
{
    return qtest_readl(t->qts, config_at(REBAR + reg));
}

static void choose(TsrTest *t, uint32_t bytes)
{
    qtest_writel(t->qts, config_at(REBAR + PCI_REBAR_CTRL), SIZE(bytes));
}

static void decode(TsrTest *t, bool on)
{
    uint16_t command = qpci_config_readw(t->dev, PCI_COMMAND);

    qpci_config_writew(t->dev, PCI_COMMAND,
                       on ? command | PCI_COMMAND_MEMORY
                          : command & ~PCI_COMMAND_MEMORY);
}

static uint64_t map_bar(TsrTest *t)
{
    uint64_t size;

    t->vram = qpci_iomap(t->dev, TSR_BAR_VRAM, &size);
    return size;
}

static TsrTest *start(const char *props)
{
    TsrTest *t = tsr_start_machine(props, MACHINE);

    tsr_set_up(t);
    map_config(t);
    return t;
}

static TsrTest *start_resized(void)
{
    TsrTest *t = start(PROPS);

    decode(t, false);
    choose(t, LAST);
    g_assert_cmphex(map_bar(t), ==, LAST);
    decode(t, true);
    return t;
}

/* BAR 2 has its larger size and shows both segments of VRAM. */
static void check_shows_all(TsrTest *t)
{
    uint64_t hidden = tsr_seg_base(t, 2), offset, got = 0x1234567;

    g_assert_cmphex(rebar_read(t, PCI_REBAR_CTRL), ==, CTRL | SIZE(LAST));
    g_assert_cmphex(tsr_r32(t, TSR_SEG(1) + TSR_SEG_FLAGS), ==,
                    TSR_SEGF_CPU_VISIBLE);
    offset = tsr_r64(t, TSR_SEG(1) + TSR_SEG_CPU_OFFSET_LO);
    g_assert_cmphex(offset, ==, 5 << 20);
    g_assert_cmphex(tsr_r64(t, TSR_SWR_WINDOW_LO), ==, LAST / 2);
    tsr_gpu_write(t, hidden, &got, 8);
    g_assert_cmphex(qpci_io_readq(t->dev, t->vram, offset), ==, got);
    qpci_io_writeq(t->dev, t->vram, offset + (12 << 20) - 8, 0x7654321);
    tsr_mark_register(t, TSR_MARK_VALID, hidden + (12 << 20) - 4096, 4096);
    tsr_gpu_read(t, hidden + (12 << 20) - 8, &got, 8);
    g_assert_cmphex(got, ==, 0x7654321);
    tsr_expect_no_errors(t);
}

/* BAR 2 has its smaller size and shows segment 1 only. */
static void check_shows_first(TsrTest *t)
{
    g_assert_cmphex(rebar_read(t, PCI_REBAR_CTRL), ==, CTRL | SIZE(FIRST));
    g_assert_cmphex(tsr_r32(t, TSR_SEG(1) + TSR_SEG_FLAGS), ==,
                    TSR_SEGF_HOST_APERTURE);
    g_assert_cmphex(tsr_r64(t, TSR_SEG(1) + TSR_SEG_CPU_OFFSET_LO), ==, 0);
    g_assert_cmphex(tsr_r64(t, TSR_SWR_WINDOW_LO), ==, FIRST / 2);
}

/* The capability offers two sizes, and BAR 2 starts with the smaller one. */
static void test_offer(void)
{
    TsrTest *t = start(PROPS);

    g_assert_cmphex(rebar_read(t, 0) & 0xfffff, ==,
                    PCI_EXT_CAP_ID_REBAR | 1 << 16);
    g_assert_cmphex(rebar_read(t, PCI_REBAR_CAP), ==,
                    (FIRST | LAST) >> 20 << 4);
    g_assert_cmphex(tsr_r32(t, TSR_ID_CAPS) & TSR_CAP_RESIZABLE_BAR, !=, 0);
    check_shows_first(t);
    g_assert_cmphex(map_bar(t), ==, FIRST);
    tsr_stop(t);
}

/* A device on conventional PCI has no Resizable BAR capability. */
static void test_conventional(void)
{
    TsrTest *t = tsr_start(PROPS);

    g_assert_cmphex(tsr_r32(t, TSR_ID_CAPS) & TSR_CAP_RESIZABLE_BAR, ==, 0);
    g_assert_cmphex(tsr_r32(t, TSR_SEG(1) + TSR_SEG_FLAGS), ==,
                    TSR_SEGF_HOST_APERTURE);
    g_assert_cmphex(map_bar(t), ==, FIRST);
    tsr_stop(t);
}

/* The larger BAR shows all of VRAM, and it can be made smaller again. */
static void test_shows_all(void)
{
    TsrTest *t = start_resized();

    check_shows_all(t);
    decode(t, false);
    choose(t, FIRST);
    g_assert_cmphex(map_bar(t), ==, FIRST);
    decode(t, true);
    check_shows_first(t);
    tsr_stop(t);
}

/*
 * The device ignores a size that it does not offer, and any size while memory
 * decoding is on.
 */
static void test_refused(void)
{
    TsrTest *t = start(PROPS);

    choose(t, LAST);
    check_shows_first(t);
    decode(t, false);
    for (uint32_t n = 0; n < 64; n++) {
        if (n != ctz32(LAST >> 20)) {
            qtest_writel(t->qts, config_at(REBAR + PCI_REBAR_CTRL),
                         n << PCI_REBAR_CTRL_BAR_SHIFT | 0xff);
        }
    }
    decode(t, true);
    check_shows_first(t);
    g_assert_cmphex(map_bar(t), ==, FIRST);
    tsr_stop(t);
}

/* A larger BAR that still does not hold segment 2 leaves it CPU-invisible. */
static void test_small(void)
{
    TsrTest *t = start(PROPS ",resizable-bar-size=32M");

    decode(t, false);
    choose(t, 32 << 20);
    g_assert_cmphex(map_bar(t), ==, 32 << 20);
    decode(t, true);
    g_assert_cmphex(tsr_r32(t, TSR_SEG(1) + TSR_SEG_FLAGS), ==,
                    TSR_SEGF_HOST_APERTURE);
    g_assert_cmphex(tsr_r64(t, TSR_SWR_WINDOW_LO), ==, 16 << 20);
    tsr_stop(t);
}

static void reset_machine(TsrTest *t)
{
    qtest_system_reset(t->qts);
    map_config(t);
    qpci_device_enable(t->dev);
    t->regs = qpci_iomap(t->dev, TSR_BAR_MMIO, NULL);
    g_assert_cmphex(map_bar(t), ==, FIRST);
    check_shows_first(t);
}

/* A machine reset returns BAR 2 to its smaller size. */
static void test_machine_reset(void)
{
    TsrTest *t = start_resized();

    reset_machine(t);
    tsr_stop(t);
}

/*
 * A load that fails after the configuration space was loaded, with BAR 2
 * resized, leaves a device that a machine reset brings back.
 */
static void test_failed_load(void)
{
    g_autofree char *path = tsr_state_file(), *status = NULL;
    TsrTest *t = start_resized(), *to;

    tsr_save(t, path);
    to = tsr_load_machine(t, PROPS ",num-slots=65", MACHINE, path, &status);
    g_assert_cmpstr(status, ==, "failed");
    reset_machine(to);
    tsr_stop(to);
    unlink(path);
    tsr_stop(t);
}

/*
 * The size of BAR 2 migrates. A destination that offers other sizes refuses
 * it.
 */
static void test_migration(void)
{
    g_autofree char *path = tsr_state_file(), *status = NULL, *refused = NULL;
    TsrTest *t = start_resized(), *to, *other;
    uint64_t offset = tsr_r64(t, TSR_SEG(1) + TSR_SEG_CPU_OFFSET_LO);

    qpci_io_writeq(t->dev, t->vram, offset + 64, 0xabcdef);
    tsr_save(t, path);
    to = tsr_load_machine(t, PROPS, MACHINE, path, &status);
    g_assert_cmpstr(status, ==, "completed");
    g_assert_cmphex(qpci_io_readq(to->dev, to->vram, offset + 64), ==,
                    0xabcdef);
    check_shows_all(to);
    tsr_stop(to);
    other = tsr_load_machine(t, PROPS ",resizable-bar-size=128M", MACHINE, path,
                             &refused);
    g_assert_cmpstr(refused, ==, "failed");
    tsr_stop(other);
    unlink(path);
    tsr_stop(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/bar/CHA-11-offer", test_offer);
    qtest_add_func("/tessera/bar/CHA-11-conventional", test_conventional);
    qtest_add_func("/tessera/bar/CHA-1-CHA-11-shows-all", test_shows_all);
    qtest_add_func("/tessera/bar/CHA-11-refused", test_refused);
    qtest_add_func("/tessera/bar/CHA-11-small", test_small);
    qtest_add_func("/tessera/bar/CHA-11-machine-reset", test_machine_reset);
    qtest_add_func("/tessera/bar/CHA-11-migration", test_migration);
    qtest_add_func("/tessera/bar/CHA-11-failed-load", test_failed_load);
    return g_test_run();
}
