/*
 * QTest: identification, segment descriptors and register access rules
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera-common.h"

#define VISIBLE (TSR_SEGF_CPU_VISIBLE | TSR_SEGF_SWIZZLE_RANGES)

/* The identification registers follow the properties. */
static void test_identity(void)
{
    TsrTest *t = tsr_start("");

    g_assert_cmphex(qpci_config_readw(t->dev, PCI_VENDOR_ID), ==,
                    TSR_PCI_VENDOR_ID);
    g_assert_cmphex(qpci_config_readw(t->dev, PCI_DEVICE_ID), ==,
                    TSR_PCI_DEVICE_ID);
    g_assert_cmphex(qpci_config_readw(t->dev, PCI_CLASS_DEVICE), ==,
                    TSR_PCI_CLASS);
    g_assert_cmphex(qpci_config_readb(t->dev, PCI_REVISION_ID), ==,
                    TSR_PCI_REVISION);
    g_assert_cmphex(qpci_config_readw(t->dev, PCI_SUBSYSTEM_VENDOR_ID), ==,
                    0x1af4);
    g_assert_cmphex(qpci_config_readw(t->dev, PCI_SUBSYSTEM_ID), ==, 0x1100);
    g_assert_cmphex(tsr_r32(t, TSR_ID_MAGIC), ==, TSR_ID_MAGIC_VALUE);
    g_assert_cmphex(tsr_r32(t, TSR_ID_VERSION), ==, TSR_ID_VERSION_VALUE);
    g_assert_cmphex(tsr_r32(t, TSR_ID_CAPS), ==,
                    TSR_CAP_PREEMPTION | TSR_CAP_IO_COHERENT |
                    TSR_CAP_HOST_APERTURE | TSR_CAP_SWIZZLE_RANGES |
                    TSR_CAP_VM | TSR_CAP_DISPLAY);
    g_assert_cmpuint(tsr_r32(t, TSR_ID_NUM_ENGINES), ==, 2);
    g_assert_cmpuint(tsr_r32(t, TSR_ID_NUM_SLOTS), ==, 64);
    g_assert_cmpuint(tsr_r32(t, TSR_ID_NUM_SWIZZLE_RANGES), ==, 8);
    g_assert_cmpuint(tsr_r32(t, TSR_ID_MAX_IB_BYTES), ==, 16 << 20);
    g_assert_cmpuint(tsr_r32(t, TSR_ENG(0) + TSR_ENG_TYPE), ==,
                     TSR_ENGINE_RENDER);
    g_assert_cmpuint(tsr_r32(t, TSR_ENG(1) + TSR_ENG_TYPE), ==,
                     TSR_ENGINE_PAGING);
    tsr_expect_no_errors(t);
    tsr_stop(t);

    t = tsr_start("strict=on,preemption=off,io-coherent=off,num-slots=7,"
                  "render-engines=2,paging-engines=2,host-aperture-size=0,"
                  "swizzle-ranges=0,vm=off,outputs=0");
    g_assert_cmphex(tsr_r32(t, TSR_ID_CAPS), ==, TSR_CAP_STRICT);
    g_assert_cmpuint(tsr_r32(t, TSR_ID_NUM_ENGINES), ==, 4);
    g_assert_cmpuint(tsr_r32(t, TSR_ID_NUM_SLOTS), ==, 7);
    g_assert_cmpuint(tsr_r32(t, TSR_ENG(3) + TSR_ENG_TYPE), ==,
                     TSR_ENGINE_PAGING);
    tsr_stop(t);
}

static void check_segment(TsrTest *t, uint32_t i, uint32_t id, uint32_t flags,
                          uint64_t base, uint64_t size, const char *name)
{
    char text[TSR_SEG_NAME_BYTES];
    uint32_t seg = TSR_SEG(i), j;

    g_assert_cmpuint(tsr_r32(t, seg + TSR_SEG_ID), ==, id);
    g_assert_cmphex(tsr_r32(t, seg + TSR_SEG_FLAGS), ==, flags);
    g_assert_cmphex(tsr_r64(t, seg + TSR_SEG_BASE_LO), ==, base);
    g_assert_cmphex(tsr_r64(t, seg + TSR_SEG_SIZE_LO), ==, size);
    g_assert_cmphex(tsr_r64(t, seg + TSR_SEG_COMMIT_LO), ==, size);
    g_assert_cmphex(tsr_r64(t, seg + TSR_SEG_CPU_OFFSET_LO), ==, 0);
    g_assert_cmpuint(tsr_r32(t, seg + TSR_SEG_PAGE_SIZE), ==, 4096);
    for (j = 0; j < TSR_SEG_NAME_BYTES; j += 4) {
        stl_le_p(text + j, tsr_r32(t, seg + TSR_SEG_NAME + j));
    }
    g_assert_cmpstr(text, ==, name);
}

/*
 * SEG-3: the count, and one descriptor for each segment. SEG-5: ids. SEG-6:
 * address ranges.
 */
static void test_descriptors(void)
{
    const uint64_t mib = 1 << 20;
    TsrTest *t = tsr_start("");

    g_assert_cmpuint(tsr_r32(t, TSR_ID_NUM_SEGMENTS), ==, 4);
    check_segment(t, 0, 1, VISIBLE, 0x80000000, 64 * mib, "vram");
    check_segment(t, 1, 2, TSR_SEGF_HOST_APERTURE, 0x90000000, 192 * mib,
                  "vram-hidden-from-cpu");
    check_segment(t, 2, 3, TSR_SEGF_APERTURE | TSR_SEGF_GPU_READ_ONLY |
                  TSR_SEGF_CACHE_COHERENT, 0xa0000000, 64 * mib, "agp-ro");
    check_segment(t, 3, 4, TSR_SEGF_APERTURE | TSR_SEGF_CPU_CACHED |
                  TSR_SEGF_CACHE_COHERENT, 0xb0000000, 256 * mib, "gart");
    g_assert_cmphex(tsr_hidden_base(t), ==, 0xc0000000);
    g_assert_cmphex(tsr_r64(t, TSR_ID_HIDDEN_SIZE_LO), ==, 8 * mib);
    tsr_expect_no_errors(t);
    /* There is no register behind the last descriptor. */
    tsr_r32(t, TSR_SEG(4) + TSR_SEG_ID);
    tsr_expect_errors(t, TSR_ERR_REGISTER, 1);
    tsr_stop(t);

    /* An absent segment leaves no gap in the table, and the ids stay. */
    t = tsr_start("vram-size=4M,vram-hidden-size=0,agp-ro-size=0,"
                  "gart-size=8M,gart-commit=4M,io-coherent=off");
    g_assert_cmpuint(tsr_r32(t, TSR_ID_NUM_SEGMENTS), ==, 2);
    check_segment(t, 0, 1, VISIBLE, 0x80000000, 4 * mib, "vram");
    g_assert_cmpuint(tsr_r32(t, TSR_SEG(1) + TSR_SEG_ID), ==, 4);
    g_assert_cmphex(tsr_r32(t, TSR_SEG(1) + TSR_SEG_FLAGS), ==,
                    TSR_SEGF_APERTURE | TSR_SEGF_CPU_CACHED);
    g_assert_cmphex(tsr_r64(t, TSR_SEG(1) + TSR_SEG_COMMIT_LO), ==, 4 * mib);
    tsr_stop(t);

    /* SEG-31: only the segment that survives standby announces it. */
    t = tsr_start("vram-preserved=on,host-aperture-size=0");
    check_segment(t, 0, 1, VISIBLE | TSR_SEGF_PRESERVED_STANDBY, 0x80000000,
                  64 * mib, "vram");
    check_segment(t, 1, 2, 0, 0x90000000, 192 * mib, "vram-hidden-from-cpu");
    tsr_stop(t);
}

/* SEG-4: descriptors never change; writes are ignored and counted. */
static void test_descriptors_constant(void)
{
    TsrTest *t = tsr_start("");
    uint32_t before[4 * 32], i;

    for (i = 0; i < 4 * 32; i++) {
        before[i] = tsr_r32(t, TSR_SEG(i / 32) + i % 32 * 4);
    }
    tsr_err_clear(t);
    for (i = 0; i < 4 * 32; i++) {
        tsr_w32(t, TSR_SEG(i / 32) + i % 32 * 4, 0xffffffff);
    }
    tsr_w32(t, TSR_ID_NUM_SEGMENTS, 1);
    tsr_expect_errors(t, TSR_ERR_REGISTER, 4 * 32 + 1);
    tsr_engine_reset(t, RENDER);
    tsr_device_reset(t);
    g_assert_cmpuint(tsr_r32(t, TSR_ID_NUM_SEGMENTS), ==, 4);
    for (i = 0; i < 4 * 32; i++) {
        g_assert_cmphex(tsr_r32(t, TSR_SEG(i / 32) + i % 32 * 4), ==,
                        before[i]);
    }
    tsr_stop(t);
}

/* SEG-5, SEG-6, SEG-23, SEG-24: descriptors a driver must refuse. */
static void test_descriptor_faults(void)
{
    TsrTest *t;

    t = tsr_start("x-descriptor-fault=overlap");
    g_assert_cmphex(tsr_r64(t, TSR_SEG(3) + TSR_SEG_BASE_LO), ==, 0x80001000);
    tsr_stop(t);
    t = tsr_start("x-descriptor-fault=id-zero");
    g_assert_cmpuint(tsr_r32(t, TSR_SEG(3) + TSR_SEG_ID), ==, 0);
    tsr_stop(t);
    t = tsr_start("x-descriptor-fault=duplicate-id");
    g_assert_cmpuint(tsr_r32(t, TSR_SEG(3) + TSR_SEG_ID), ==, 1);
    tsr_stop(t);
    t = tsr_start("x-descriptor-fault=too-many");
    g_assert_cmpuint(tsr_r32(t, TSR_ID_NUM_SEGMENTS), ==,
                     TSR_MAX_SEGMENTS + 1);
    tsr_r32(t, TSR_SEG(31) + TSR_SEG_ID);
    tsr_stop(t);
    t = tsr_start("x-descriptor-fault=coherent-memory");
    g_assert_cmphex(tsr_r32(t, TSR_SEG(0) + TSR_SEG_FLAGS), ==,
                    VISIBLE | TSR_SEGF_CACHE_COHERENT);
    tsr_stop(t);
    t = tsr_start("x-descriptor-fault=host-aperture-visible");
    g_assert_cmphex(tsr_r32(t, TSR_SEG(0) + TSR_SEG_FLAGS), ==,
                    VISIBLE | TSR_SEGF_HOST_APERTURE);
    tsr_stop(t);
}

/* Each type keeps the record of its first error until the next clear. */
static void test_error_records(void)
{
    TsrTest *t = tsr_start("");

    tsr_err_clear(t);
    g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_SELECT), ==, 0);
    tsr_r32(t, 0x5f0);
    tsr_w32(t, TSR_FW_START, 1); /* no image */
    tsr_r32(t, 0x5f4);
    g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_TYPE), ==, TSR_ERR_REGISTER);
    tsr_w32(t, TSR_ERR_REC_SELECT, TSR_ERR_FIRMWARE);
    g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_SELECT), ==, TSR_ERR_FIRMWARE);
    g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_TYPE), ==, TSR_ERR_FIRMWARE);
    tsr_w32(t, TSR_ERR_REC_SELECT, TSR_ERR_REGISTER);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, 0x5f0);
    tsr_w32(t, TSR_ERR_REC_SELECT, TSR_ERR_DMA);
    g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_TYPE), ==, 0);
    tsr_w32(t, TSR_ERR_REC_SELECT, TSR_ERR_TYPES);
    g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_SELECT), ==, TSR_ERR_DMA);
    g_assert_cmpuint(tsr_err_count(t, TSR_ERR_REGISTER), ==, 3);

    tsr_err_clear(t);
    tsr_w32(t, TSR_ERR_REC_SELECT, TSR_ERR_FIRMWARE);
    g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_TYPE), ==, 0);
    tsr_stop(t);
}

/* Unknown, read-only, write-only, misaligned and narrow accesses. */
static void test_access_rules(void)
{
    TsrTest *t = tsr_start("");

    tsr_err_clear(t);
    g_assert_cmphex(tsr_r32(t, 0x5f0), ==, 0);
    tsr_expect_errors(t, TSR_ERR_REGISTER, 1);
    tsr_w32(t, TSR_ID_MAGIC, 0);
    g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_TYPE), ==, TSR_ERR_REGISTER);
    g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_ENGINE), ==, 0xffffffff);
    g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_SLOT), ==, 0xffffffff);
    tsr_expect_errors(t, TSR_ERR_REGISTER, 1);
    g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_TYPE), ==, 0);
    tsr_r32(t, TSR_CTRL_RESET);
    tsr_r32(t, TSR_DOORBELL(0));
    tsr_w32(t, TSR_DOORBELL(2), 0);
    tsr_r32(t, TSR_ENG(2) + TSR_ENG_TYPE);
    tsr_r32(t, TSR_SWR(8));
    tsr_w32(t, TSR_CRTC(1), 1);
    tsr_w32(t, TSR_CTRL_RESET, 1);
    tsr_expect_errors(t, TSR_ERR_REGISTER, 7);
    tsr_w32(t, TSR_CTRL_SCRATCH, 0x12345678);
    qpci_io_writeb(t->dev, t->regs, TSR_CTRL_SCRATCH, 1);
    qpci_io_writew(t->dev, t->regs, TSR_CTRL_SCRATCH, 1);
    qpci_io_writeq(t->dev, t->regs, TSR_CTRL_SCRATCH, 1);
    qpci_io_writel(t->dev, t->regs, TSR_CTRL_SCRATCH + 2, 1);
    g_assert_cmphex(qpci_io_readb(t->dev, t->regs, TSR_CTRL_SCRATCH), ==, 0);
    g_assert_cmphex(qpci_io_readq(t->dev, t->regs, TSR_CTRL_SCRATCH), ==, 0);
    tsr_expect_errors(t, TSR_ERR_REGISTER, 6);
    g_assert_cmphex(tsr_r32(t, TSR_CTRL_SCRATCH), ==, 0x12345678);
    tsr_stop(t);
}

/* INT_STATUS, INT_MASK and the error vector. */
static void test_interrupt_block(void)
{
    TsrTest *t = tsr_start("");
    uint64_t msix = tsr_msix_enable(t);

    /* A masked interrupt is remembered, and raised when it is unmasked. */
    tsr_w32(t, TSR_CTRL_PING, 1);
    g_assert_cmphex(tsr_r32(t, TSR_INT_STATUS), ==, TSR_INT_PING);
    g_assert_false(tsr_msix_seen(t, msix, TSR_VECTOR_ERROR));
    tsr_w32(t, TSR_INT_MASK, TSR_INT_PING | TSR_INT_ERROR);
    tsr_msix_wait(t, msix, TSR_VECTOR_ERROR);
    tsr_w32(t, TSR_INT_STATUS, TSR_INT_PING);
    g_assert_cmphex(tsr_r32(t, TSR_INT_STATUS), ==, 0);
    tsr_w32(t, TSR_CTRL_PING, 1);
    tsr_msix_wait(t, msix, TSR_VECTOR_ERROR);
    tsr_w32(t, TSR_INT_STATUS, TSR_INT_PING);
    /* Errors raise one interrupt until it is acknowledged. */
    tsr_r32(t, 0x5f0);
    tsr_msix_wait(t, msix, TSR_VECTOR_ERROR);
    tsr_r32(t, 0x5f0);
    tsr_r32(t, TSR_ID_MAGIC);
    g_assert_false(tsr_msix_seen(t, msix, TSR_VECTOR_ERROR));
    tsr_expect_errors(t, TSR_ERR_REGISTER, 2);
    tsr_stop(t);
}

/* BAR 2 is segment 1, linear: CPU and GPU see each other's bytes. */
static void test_bar2(void)
{
    TsrTest *t = tsr_start("vram-size=4M");
    uint64_t vram = tsr_seg_base(t, 1), probe = 0x1122334455667788, got;

    qpci_io_writeq(t->dev, t->vram, 0x3ffff8, probe);
    tsr_gpu_read(t, vram + 0x3ffff8, &got, 8);
    g_assert_cmphex(got, ==, probe);
    got = 0x8877665544332211;
    tsr_gpu_write(t, vram + 0x1000, &got, 8);
    g_assert_cmphex(qpci_io_readq(t->dev, t->vram, 0x1000), ==, got);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* SEG-14, SEG-16: microcode is in hidden VRAM, and is checked. */
static void test_firmware(void)
{
    TsrTest *t = tsr_start("");
    uint64_t base = tsr_hidden_base(t);

    tsr_w32(t, TSR_FW_START, 1);
    tsr_expect_errors(t, TSR_ERR_FIRMWARE, 1);
    tsr_load_firmware(t);
    /* Outside hidden VRAM, and beyond its end. */
    tsr_w64(t, TSR_FW_ADDR_LO, tsr_seg_base(t, 1));
    tsr_w32(t, TSR_FW_START, 1);
    tsr_expect_errors(t, TSR_ERR_FIRMWARE, 1);
    g_assert_cmphex(tsr_r32(t, TSR_CTRL_STATUS), ==, 0);
    tsr_w64(t, TSR_FW_ADDR_LO, base + (8 << 20) - 256);
    tsr_w32(t, TSR_FW_SIZE, 4096);
    tsr_w32(t, TSR_FW_START, 1);
    tsr_expect_errors(t, TSR_ERR_FIRMWARE, 1);
    /* A size that is larger or smaller than the image. */
    tsr_load_firmware(t);
    tsr_w32(t, TSR_FW_SIZE, TSR_FW_BYTES + 4);
    tsr_w32(t, TSR_FW_START, 1);
    tsr_w32(t, TSR_FW_SIZE, TSR_FW_HEADER_BYTES);
    tsr_w32(t, TSR_FW_START, 1);
    tsr_expect_errors(t, TSR_ERR_FIRMWARE, 2);
    /* One flipped bit. */
    tsr_load_firmware(t);
    tsr_gpu_write(t, base + 40, "x", 1);
    tsr_w32(t, TSR_FW_START, 1);
    tsr_expect_errors(t, TSR_ERR_FIRMWARE, 1);
    tsr_stop(t);
}

/* A reset that is stuck ends with the next reset. */
static void test_device_reset_stuck(void)
{
    TsrTest *t = tsr_start("x-fail-reset=2");

    tsr_device_reset(t);
    tsr_w32(t, TSR_CTRL_RESET, TSR_RESET_MAGIC);
    for (int i = 0; i < 20; i++) {
        g_assert_cmphex(tsr_r32(t, TSR_CTRL_STATUS), ==,
                        TSR_STATUS_RESETTING);
        g_usleep(1000);
    }
    /* A stop of the machine does not end it. */
    qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    g_assert_cmphex(tsr_r32(t, TSR_CTRL_STATUS), ==, TSR_STATUS_RESETTING);
    /* Engines cannot be enabled during a reset. */
    tsr_err_clear(t);
    tsr_w32(t, TSR_ENG(PAGING) + TSR_ENG_CONTROL, TSR_ENG_ENABLE);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(PAGING) + TSR_ENG_CONTROL), ==, 0);
    tsr_expect_errors(t, TSR_ERR_RING, 1);
    tsr_device_reset(t);
    tsr_engine_start(t, PAGING, 4096);
    tsr_gpu_write(t, tsr_seg_base(t, 1), "abc", 3);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* A device reset clears registers and counters but not VRAM. */
static void test_device_reset(void)
{
    TsrTest *t = tsr_start("");
    uint64_t vram = tsr_seg_base(t, 1);

    qpci_io_writel(t->dev, t->vram, 0x100, 0xcafe);
    tsr_load_firmware(t);
    tsr_w32(t, TSR_CTRL_SCRATCH, 1);
    tsr_w64(t, TSR_CTRL_DUMMY_PAGE_LO, t->bounce);
    tsr_w32(t, TSR_INT_MASK, TSR_INT_ERROR);
    tsr_r32(t, 0x5f0);
    tsr_device_reset(t);
    g_assert_cmphex(tsr_r32(t, TSR_CTRL_STATUS), ==, 0);
    g_assert_cmphex(tsr_r32(t, TSR_CTRL_SCRATCH), ==, 0);
    g_assert_cmphex(tsr_r64(t, TSR_CTRL_DUMMY_PAGE_LO), ==, 0);
    g_assert_cmphex(tsr_r32(t, TSR_INT_MASK), ==, 0);
    g_assert_cmphex(tsr_r32(t, TSR_INT_STATUS), ==, 0);
    g_assert_cmpuint(tsr_err_total(t), ==, 0);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(0) + TSR_ENG_CONTROL), ==, 0);
    g_assert_cmphex(tsr_r64(t, TSR_ENG(0) + TSR_ENG_RING_LO), ==, 0);
    g_assert_cmphex(qpci_io_readl(t->dev, t->vram, 0x100), ==, 0xcafe);
    tsr_engine_start(t, PAGING, 4096);
    tsr_gpu_write(t, vram, "abc", 3);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* The device refuses a machine that is recorded. */
static void test_record(void)
{
    g_autofree char *path = g_strdup_printf("%s/tessera-record-%d",
                                            g_get_tmp_dir(), getpid());
    g_autofree char *icount = g_strdup_printf("shift=1,rr=record,rrfile=%s",
                                              path);
    g_autofree char *text = NULL;
    g_autofree char *dir = g_path_get_dirname(getenv("QTEST_QEMU_BINARY"));
    g_autofree char *share = g_build_filename(dir, "share", NULL);
    const char *argv[] = {
        getenv("QTEST_QEMU_BINARY"), "-L", share, "-M", "pc", "-nodefaults",
        "-display", "none", "-S", "-icount", icount, "-device", "tessera", NULL,
    };

    g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, 0, NULL, NULL, NULL,
                               &text, NULL, NULL));
    tsr_rule(strstr(text, "tessera: record and replay are not supported"),
             "a device in a machine that is recorded says: %s", text);
    unlink(path);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/regs/identity", test_identity);
    qtest_add_func("/tessera/regs/SEG-3-SEG-5-SEG-6-descriptors",
                   test_descriptors);
    qtest_add_func("/tessera/regs/SEG-4-descriptors-constant",
                   test_descriptors_constant);
    qtest_add_func("/tessera/regs/SEG-5-SEG-6-SEG-23-SEG-24-faults",
                   test_descriptor_faults);
    qtest_add_func("/tessera/regs/access-rules", test_access_rules);
    qtest_add_func("/tessera/regs/error-records", test_error_records);
    qtest_add_func("/tessera/regs/interrupt-block", test_interrupt_block);
    qtest_add_func("/tessera/regs/SEG-18-bar2", test_bar2);
    qtest_add_func("/tessera/regs/SEG-14-SEG-16-firmware", test_firmware);
    qtest_add_func("/tessera/regs/device-reset", test_device_reset);
    qtest_add_func("/tessera/regs/record", test_record);
    qtest_add_func("/tessera/regs/device-reset-stuck",
                   test_device_reset_stuck);
    return g_test_run();
}
