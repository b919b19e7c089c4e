/*
 * QTest: the report of a fault that ejects the device
 *
 * virtio-iommu writes its report of a fault to a buffer of the guest. Here the
 * buffer lies over the slot control register of the port above the device, and
 * the address of the fault is the register's new value. So the translation of
 * an address unplugs the device, within the function that asked for it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "standard-headers/linux/virtio_config.h"
#include "standard-headers/linux/virtio_iommu.h"
#include "libqos/libqos-malloc.h"
#include "libqos/virtio-pci.h"
#include "tessera-common.h"

#define IOMMU           QPCI_DEVFN(3, 0)
#define PORT            QPCI_DEVFN(5, 0)
#define PORT_BUS        1
#define BEHIND          (PORT_BUS << 8)         /* slot 0 behind the port */
#define ECAM            0xb0000000ULL
#define Q35_PCIEXBAR    0x60
#define EVENT_QUEUE     1
#define QUEUE_BYTES     65536
#define NATIVE_HOTPLUG  "-global " \
                        "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off "

/*
 * The register gets bits 32 to 47 of the address: power off and indicator off
 * eject the device.
 */
#define EJECT           ((uint64_t)(PCI_EXP_SLTCTL_PCC | \
                                    PCI_EXP_SLTCTL_PWR_IND_OFF) << 32)
#define EJECT_OFFSET    (offsetof(struct virtio_iommu_fault, address) + 4)

typedef struct Machine {
    TsrTest *t;
    QPCIDevice *port;
    QVirtioPCIDevice *iommu;
    QGuestAllocator alloc;
    QVirtQueue *events;
} Machine;

/* ---- Set-up -------------------------------------------------------------- */

static uint32_t slot_control(const Machine *m)
{
    return qpci_find_capability(m->port, PCI_CAP_ID_EXP, 0) + PCI_EXP_SLTCTL;
}

/* Map the configuration space, and the BARs of the device behind the port. */
static void map_behind(Machine *m)
{
    TsrTest *t = m->t;
    QPCIDevice *host;

    t->bus = qpci_new_pc(t->qts, NULL);
    host = qpci_device_find(t->bus, QPCI_DEVFN(0, 0));
    qpci_config_writel(host, Q35_PCIEXBAR + 4, 0);
    qpci_config_writel(host, Q35_PCIEXBAR, ECAM | 1);
    g_free(host);
    m->port = qpci_device_find(t->bus, PORT);
    g_assert_nonnull(m->port);
    g_assert_cmphex(qtest_readl(t->qts, ECAM + (PORT << 12)), ==,
                    qpci_config_readl(m->port, PCI_VENDOR_ID));
    qpci_config_writel(m->port, PCI_PRIMARY_BUS,
                       PORT_BUS << 16 | PORT_BUS << 8);
    qpci_config_writel(m->port, PCI_MEMORY_BASE, 0xfeb0e000);
    qpci_device_enable(m->port);
    t->dev = qpci_device_find(t->bus, BEHIND);
    g_assert_nonnull(t->dev);
    qpci_device_enable(t->dev);
    t->vram = qpci_iomap(t->dev, TSR_BAR_VRAM, NULL);
    t->regs = qpci_iomap(t->dev, TSR_BAR_MMIO, NULL);
}

/* Give the IOMMU, which passes all addresses through, a buffer for a report. */
static void set_up_iommu(Machine *m)
{
    QPCIAddress at = { .devfn = IOMMU };
    uint64_t queues = tsr_alloc(m->t, QUEUE_BYTES);
    QVirtioDevice *vdev;
    uint32_t head;

    m->iommu = virtio_pci_new(m->t->bus, &at);
    g_assert_nonnull(m->iommu);
    vdev = &m->iommu->vdev;
    qvirtio_pci_device_enable(m->iommu);
    qvirtio_start_device(vdev);
    qvirtio_set_features(vdev, 1ULL << VIRTIO_F_VERSION_1 |
                         1ULL << VIRTIO_IOMMU_F_BYPASS_CONFIG);
    alloc_init(&m->alloc, 0, queues, queues + QUEUE_BYTES, 4096);
    m->events = qvirtqueue_setup(vdev, &m->alloc, EVENT_QUEUE);
    qvirtio_set_driver_ok(vdev);
    head = qvirtqueue_add(m->t->qts, m->events, ECAM + (PORT << 12) +
                          slot_control(m) - EJECT_OFFSET,
                          sizeof(struct virtio_iommu_fault), true, false);
    qvirtqueue_kick(m->t->qts, vdev, m->events, head);
}

static void start(Machine *m)
{
    TsrTest *t = tsr_start_machine("bus=rp1,addr=00.0,"
                                   "x-fence-gap-us=1000000000", "-M q35 "
                                   NATIVE_HOTPLUG
                                   "-device virtio-iommu-pci,addr=03.0 "
                                   "-device pcie-root-port,id=rp1,chassis=1,"
                                   "addr=05.0");

    m->t = t;
    map_behind(m);
    tsr_set_up_memory(t);
    set_up_iommu(m);
}

/* From now on the IOMMU translates no address. */
static void translate_nothing(Machine *m)
{
    qpci_io_writeb(m->iommu->pdev, m->iommu->bar, m->iommu->device_cfg_offset +
                   offsetof(struct virtio_iommu_config, bypass), 0);
}

/*
 * Start a machine whose engine is in the middle of a fence. A request to the
 * engine makes it complete the fence, and thus access EJECT.
 */
static void start_in_fence(Machine *m)
{
    uint64_t ring, record;
    TsrTest *t;

    start(m);
    t = m->t;
    ring = tsr_alloc(t, 4096);
    record = tsr_alloc(t, 4096);
    qtest_memset(t->qts, record, 0, 4096);
    t->eng[PAGING] = (TsrTestEngine) { .ring = ring, .size = 4096 };
    tsr_w64(t, TSR_ENG(PAGING) + TSR_ENG_RING_LO, ring);
    tsr_w32(t, TSR_ENG(PAGING) + TSR_ENG_RING_SIZE, 4096);
    tsr_w64(t, TSR_ENG(PAGING) + TSR_ENG_STATUS_PAGE_LO, EJECT);
    tsr_w32(t, TSR_ENG(PAGING) + TSR_ENG_CONTROL, TSR_ENG_ENABLE);
    tsr_emit_fence(t, PAGING, 0, record);
    tsr_kick(t, PAGING);
    while (!qtest_readq(t->qts, record + TSR_REC_SEQNO)) {
        g_usleep(100);
    }
    g_assert_cmphex(tsr_r32(t, TSR_ENG(PAGING) + TSR_ENG_STATUS), ==, 0);
    translate_nothing(m);
}

static void machine_stop(Machine *m)
{
    qvirtqueue_cleanup(m->iommu->vdev.bus, m->events, &m->alloc);
    alloc_destroy(&m->alloc);
    g_free(m->iommu->pdev);
    g_free(m->iommu);
    g_free(m->port);
    tsr_stop(m->t);
}

/* ---- Tests --------------------------------------------------------------- */

static bool device_exists(TsrTest *t)
{
    QDict *rsp = qtest_qmp(t->qts, "{'execute': 'qom-get', 'arguments': {"
                           "'path': '/machine/peripheral/gpu', "
                           "'property': 'x-pictures'}}");
    bool exists = qdict_haskey(rsp, "return");

    qobject_unref(rsp);
    return exists;
}

/* The machine stops, and the device is ejected while it waits for its engine. */
static void test_stop(void)
{
    Machine m;

    start_in_fence(&m);
    qtest_qmp_assert_success(m.t->qts, "{'execute': 'stop'}");
    tsr_rule(!device_exists(m.t), "the fault has not ejected the device");
    qtest_qmp_assert_success(m.t->qts, "{'execute': 'cont'}");
    machine_stop(&m);
}

/*
 * While the machine is reset nothing is translated: QEMU does not allow a reset
 * to affect other devices in its first phase.
 */
static void test_reset(void)
{
    Machine m;

    start_in_fence(&m);
    qtest_qmp_assert_success(m.t->qts, "{'execute': 'system_reset'}");
    qtest_qmp_eventwait(m.t->qts, "RESET");
    tsr_rule(device_exists(m.t), "a translation in the reset has ejected the "
             "device");
    machine_stop(&m);
}

/* Nothing is translated either while the device is unplugged. */
static void test_unplug(void)
{
    Machine m;

    start_in_fence(&m);
    qtest_qmp_assert_success(m.t->qts, "{'execute': 'qom-set', 'arguments': {"
                             "'path': '/machine/peripheral/gpu', "
                             "'property': 'realized', 'value': false}}");
    tsr_rule(!(qpci_config_readw(m.port, slot_control(&m)) &
               PCI_EXP_SLTCTL_PCC), "a translation in the unplug has written "
             "to the port");
    machine_stop(&m);
}

/* A register write looks up an address, and the fault ejects the device. */
static void test_register(void)
{
    Machine m;

    start(&m);
    translate_nothing(&m);
    tsr_w32(m.t, TSR_INT_MASK, TSR_INT_ERROR);
    tsr_w64(m.t, TSR_COH_ADDR_LO, EJECT);
    tsr_w32(m.t, TSR_COH_SIZE, 4096);
    tsr_w32(m.t, TSR_COH_COMMAND, TSR_COH_CLEAN);
    tsr_rule(!device_exists(m.t), "the fault has not ejected the device");
    machine_stop(&m);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/iommu-fault/stop", test_stop);
    qtest_add_func("/tessera/iommu-fault/reset", test_reset);
    qtest_add_func("/tessera/iommu-fault/unplug", test_unplug);
    qtest_add_func("/tessera/iommu-fault/register", test_register);
    return g_test_run();
}
