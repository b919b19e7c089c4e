/*
 * QTest: unplug at work, while other vCPUs access the device
 *
 * The vCPUs really run here. A short program in place of the firmware makes
 * each of them read all registers and ring all doorbells for ever, whether the
 * device is there or not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "qobject/qdict.h"
#include "tessera-common.h"

#define FIRMWARE_BYTES  65536
#define BAR_WORD        0x8000  /* bus address of BAR 0; 0: idle */
#define PASSES_WORD     0x8004  /* passes over all registers */
#define HIGH_TAIL       12288   /* doorbells ring with this and with 0 */
#define ROUNDS          8

/*
 * start:   cli
 *          lgdtl   %cs:gdtr - start
 *          movl    %cr0, %eax
 *          orb     $1, %al
 *          movl    %eax, %cr0
 *          ljmpl   $8, $(pm - start + 0xf0000)
 *          .code32
 * pm:      movw    $16, %ax
 *          movw    %ax, %ds
 *          movl    $0x1b, %ecx                 # the boot processor starts
 *          rdmsr                               # the others, here too
 *          testb   $1, %ah
 *          jz      spin
 *          movl    $0x1ff, 0xfee000f0
 *          movl    $0xc4500, 0xfee00300
 *          movl    $100000, %ecx
 * 1:       loop    1b
 *          movl    $0xc46f0, 0xfee00300
 * spin:    pause                               # lets go of old memory maps
 *          movl    0x8000, %esi                # BAR_WORD
 *          testl   %esi, %esi
 *          jz      spin
 *          xorl    %ecx, %ecx
 * next:    movl    (%esi, %ecx), %eax          # a register
 *          movl    %ecx, %edx
 *          andl    $12, %edx
 *          movl    %ecx, %eax
 *          shrl    $4, %eax
 *          andl    $1, %eax
 *          negl    %eax
 *          andl    $12288, %eax                # HIGH_TAIL
 *          movl    %eax, 0x8000(%esi, %edx)    # a doorbell
 *          addl    $4, %ecx
 *          cmpl    $0x9000, %ecx
 *          jb      next
 *          lock; incl 0x8004                   # PASSES_WORD
 *          jmp     spin
 *          .balign 8
 * gdt:     .quad   0, 0x00cf9b000000ffff, 0x00cf93000000ffff
 * gdtr:    .word   23
 *          .long   gdt - start + 0xf0000
 */
static const uint8_t program[] = {
    0xfa, 0x2e, 0x66, 0x0f, 0x01, 0x16, 0xa8, 0x00, 0x0f, 0x20, 0xc0, 0x0c,
    0x01, 0x0f, 0x22, 0xc0, 0x66, 0xea, 0x18, 0x00, 0x0f, 0x00, 0x08, 0x00,
    0x66, 0xb8, 0x10, 0x00, 0x8e, 0xd8, 0xb9, 0x1b, 0x00, 0x00, 0x00, 0x0f,
    0x32, 0xf6, 0xc4, 0x01, 0x74, 0x25, 0xc7, 0x05, 0xf0, 0x00, 0xe0, 0xfe,
    0xff, 0x01, 0x00, 0x00, 0xc7, 0x05, 0x00, 0x03, 0xe0, 0xfe, 0x00, 0x45,
    0x0c, 0x00, 0xb9, 0xa0, 0x86, 0x01, 0x00, 0xe2, 0xfe, 0xc7, 0x05, 0x00,
    0x03, 0xe0, 0xfe, 0xf0, 0x46, 0x0c, 0x00, 0xf3, 0x90, 0x8b, 0x35, 0x00,
    0x80, 0x00, 0x00, 0x85, 0xf6, 0x74, 0xf4, 0x31, 0xc9, 0x8b, 0x04, 0x0e,
    0x89, 0xca, 0x83, 0xe2, 0x0c, 0x89, 0xc8, 0xc1, 0xe8, 0x04, 0x83, 0xe0,
    0x01, 0xf7, 0xd8, 0x25, 0x00, 0x30, 0x00, 0x00, 0x89, 0x84, 0x16, 0x00,
    0x80, 0x00, 0x00, 0x83, 0xc1, 0x04, 0x81, 0xf9, 0x00, 0x90, 0x00, 0x00,
    0x72, 0xd7, 0xf0, 0xff, 0x05, 0x04, 0x80, 0x00, 0x00, 0xeb, 0xc0, 0x90,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0x00, 0x00,
    0x00, 0x9b, 0xcf, 0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x93, 0xcf, 0x00,
    0x17, 0x00, 0x90, 0x00, 0x0f, 0x00,
};

static char *write_firmware(void)
{
    static const uint8_t reset[] = { 0xea, 0, 0, 0, 0xf0 }; /* ljmp f000:0 */
    g_autofree char *image = g_malloc0(FIRMWARE_BYTES);
    char *path = g_strdup_printf("%s/tessera-unplug-%d", g_get_tmp_dir(),
                                 getpid());

    memcpy(image, program, sizeof(program));
    memcpy(image + FIRMWARE_BYTES - 16, reset, sizeof(reset));
    g_assert_true(g_file_set_contents(path, image, FIRMWARE_BYTES, NULL));
    return path;
}

static void wait_passes(TsrTest *t, uint32_t passes)
{
    int64_t deadline = g_get_monotonic_time() + TSR_TEST_DEADLINE_US;
    uint32_t from = qtest_readl(t->qts, PASSES_WORD);

    while (qtest_readl(t->qts, PASSES_WORD) - from < passes) {
        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
        g_usleep(100);
    }
}

/*
 * Fill a ring with MARK (NOP on a render engine), so that the engine never
 * runs out of work. The ring must be complete before the engine starts,
 * because the doorbells never rest.
 */
static void fill_ring(TsrTest *t, uint32_t e, bool paging)
{
    g_autofree uint32_t *ring = g_new0(uint32_t, TSR_TEST_RING_BYTES / 4);
    uint64_t vram = tsr_seg_base(t, 1);
    uint32_t i = 0;

    t->eng[e].ring = tsr_alloc(t, TSR_TEST_RING_BYTES);
    t->eng[e].status_page = tsr_alloc(t, 4096);
    t->eng[e].size = TSR_TEST_RING_BYTES;
    while (i < TSR_TEST_RING_BYTES / 4) {
        bool whole = i / (HIGH_TAIL / 4) ==
                     (i + TSR_MARK_DWORDS - 1) / (HIGH_TAIL / 4);

        if (i + TSR_MARK_DWORDS > TSR_TEST_RING_BYTES / 4 || !whole) {
            ring[i] = cpu_to_le32(TSR_PKT_HEADER(TSR_OP_NOP, 0, 2));
            i += 2;
            continue;
        }
        ring[i] = cpu_to_le32(TSR_PKT_HEADER(paging ? TSR_OP_MARK : TSR_OP_NOP,
                                             0, TSR_MARK_DWORDS));
        ring[i + 1] = cpu_to_le32(TSR_MARK_EVICTED);
        ring[i + 2] = cpu_to_le32(vram + i % 16 * 4096);
        ring[i + 4] = cpu_to_le32(4096);
        i += TSR_MARK_DWORDS;
    }
    qtest_memwrite(t->qts, t->eng[e].ring, ring, TSR_TEST_RING_BYTES);
}

/*
 * Request a preemption. The device is unplugged while the engine saves its
 * job.
 */
static void preempt(TsrTest *t, uint32_t e, uint64_t area)
{
    tsr_w64(t, TSR_ENG(e) + TSR_ENG_SAVE_LO, area);
    tsr_w32(t, TSR_ENG(e) + TSR_ENG_CONTROL, TSR_ENG_ENABLE | TSR_ENG_PREEMPT);
}

static void unplug_loop(uint32_t render, uint32_t paging)
{
    g_autofree char *firmware = write_firmware();
    g_autofree char *args = tsr_firmware_args(firmware, "-smp 3");
    g_autofree char *props = g_strdup_printf("strict=on,vram-size=4M,"
                                             "vram-hidden-size=0,"
                                             "render-engines=%u,preemption=on,"
                                             "paging-engines=%u",
                                             render, paging);
    TsrTest *t = tsr_start_machine(props, args);
    uint64_t area[TSR_MAX_ENGINES];

    tsr_map_device(t);
    tsr_set_up_memory(t);
    tsr_run_firmware(t);
    for (uint32_t e = 0; e < render + paging; e++) {
        fill_ring(t, e, e >= render);
        area[e] = tsr_alloc(t, TSR_SAVE_BYTES(64));
    }
    qtest_writel(t->qts, PASSES_WORD, 0);
    qtest_writel(t->qts, BAR_WORD, qpci_config_readl(t->dev,
                                                     PCI_BASE_ADDRESS_0));
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t e = 0; e < render + paging; e++) {
            tsr_engine_start(t, e, TSR_TEST_RING_BYTES);
        }
        wait_passes(t, 2);
        g_assert_cmpuint(tsr_err_count(t, TSR_ERR_PACKET), ==, 0);
        for (uint32_t e = 0; e < round % 2 * (render + paging); e++) {
            preempt(t, e, area[e]);
        }
        g_free(t->dev);
        t->dev = NULL;
        qpci_free_pc(t->bus);
        t->bus = NULL;
        qpci_unplug_acpi_device_test(t->qts, "gpu", 4);
        /* The vCPUs continue without the device. */
        wait_passes(t, 1);
        qtest_qmp_assert_success(t->qts, "{'execute': 'device_add', "
                                 "'arguments': {'driver': 'tessera', "
                                 "'id': 'gpu', 'addr': '04.0', "
                                 "'strict': true, 'vram-size': 4194304, "
                                 "'vram-hidden-size': 0, "
                                 "'preemption': true, "
                                 "'render-engines': %u, "
                                 "'paging-engines': %u}}", render, paging);
        /* The BARs are always at the same address. */
        tsr_map_device(t);
    }
    tsr_stop(t);
    g_unlink(firmware);
}

static void test_unplug_1_1(void)
{
    unplug_loop(1, 1);
}

static void test_unplug_2_2(void)
{
    unplug_loop(2, 2);
}

/* An unplugged device that still has its place in QOM is refused there. */
static void test_realize_again(void)
{
    TsrTest *t = tsr_start("vram-size=4M,vram-hidden-size=0");
    QDict *rsp;

    qtest_qmp_assert_success(t->qts, "{'execute': 'qom-set', 'arguments': {"
                             "'path': '/machine/peripheral/gpu', "
                             "'property': 'realized', 'value': false}}");
    rsp = qtest_qmp(t->qts, "{'execute': 'qom-set', 'arguments': {"
                    "'path': '/machine/peripheral/gpu', "
                    "'property': 'realized', 'value': true}}");
    tsr_rule(qdict_haskey(rsp, "error"), "an unplugged device can be realized "
             "again");
    qobject_unref(rsp);
    tsr_stop(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_accel("tcg")) {
        g_test_skip("no TCG in this build");
        return 0;
    }
    qtest_add_func("/tessera/unplug/1+1-engines", test_unplug_1_1);
    qtest_add_func("/tessera/unplug/2+2-engines", test_unplug_2_2);
    qtest_add_func("/tessera/unplug/realize-again", test_realize_again);
    return g_test_run();
}
