/*
 * Tessera virtual GPU: BAR 2
 *
 * The lower half shows video memory, the upper half is the window of the
 * swizzling ranges. Without ranges, the whole BAR shows memory. Initially it
 * shows the segments of kind vram. A PCIe device with resizable-bar=on has the
 * Resizable BAR capability: the guest may choose a second size, at which the
 * BAR also shows the segments of kind vram-hidden. The segment table describes
 * the present size.
 *
 * The PCI Express specification does not define the result if a guest chooses a
 * size that is not offered, or changes the size while the BAR is decoded. This
 * device then keeps the size, and the control register reports it. Runs under
 * the BQL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "qemu/range.h"
#include "qemu/units.h"
#include "hw/pci/pci_device.h"
#include "tessera_bar.h"
#include "tessera_range_view.h"
#include "tessera_swizzle_range.h"
#include "trace.h"

#define REBAR_BYTES 12
/* Size bits of the control register, as specified since PCIe 4.0. */
#define BAR_SIZE_BITS 0x00003f00
#define BAR_REG (PCI_BASE_ADDRESS_0 + 4 * TSR_BAR_VRAM)

/* ---- Size ---------------------------------------------------------------- */

static bool can_resize(TesseraState *s)
{
    return s->cfg.resizable_bar && pci_is_express(PCI_DEVICE(tessera_pci(s)));
}

/* The size that the BAR needs to show @memory bytes. */
static uint64_t bytes_to_show(TesseraState *s, uint64_t memory)
{
    uint64_t half = pow2ceil(memory);
    uint64_t bytes = s->cfg.swizzle_ranges ? 2 * half : half;

    return can_resize(s) ? MAX(bytes, MiB) : bytes;
}

static uint64_t bytes_at_first(TesseraState *s)
{
    return bytes_to_show(s, s->visible_bytes);
}

static uint64_t bytes_at_last(TesseraState *s)
{
    return s->cfg.resizable_bar_size ?: bytes_to_show(s, s->memory_bytes);
}

/* The window of the swizzling ranges, which is RAM or traps. */
static MemoryRegion *window(TesseraPCIState *d)
{
    return d->views.ptr ? &d->swizzle_window : &d->swizzle_trap.mr;
}

/*
 * The caller makes sure that the BAR is unmapped, or maps it anew afterwards.
 */
static void set_bytes(TesseraState *s, uint64_t bytes)
{
    TesseraPCIState *d = tessera_pci(s);
    uint64_t half = s->cfg.swizzle_ranges ? bytes / 2 : bytes;
    bool all = s->rebar && half >= s->memory_bytes;

    memory_region_transaction_begin();
    memory_region_set_size(&d->vram_bar, bytes);
    memory_region_set_size(&d->vram_alias,
                           all ? s->memory_bytes : s->visible_bytes);
    if (s->cfg.swizzle_ranges) {
        memory_region_set_address(window(d), half);
        s->swizzle_window_offset = half;
    }
    memory_region_transaction_commit();
    for (unsigned int i = 0; i < s->num_segs; i++) {
        const TesseraSegment *seg = &s->segs[i];

        if (!seg->ptes && !(seg->flags & TSR_SEGF_CPU_VISIBLE)) {
            s->descs[i].flags = all ? TSR_SEGF_CPU_VISIBLE : seg->flags;
            s->descs[i].cpu_offset = all ? seg->vram_offset : 0;
        }
    }
    s->bar_bytes = bytes;
}

static uint8_t *control(TesseraState *s)
{
    return PCI_DEVICE(tessera_pci(s))->config + s->rebar + PCI_REBAR_CTRL;
}

void tessera_bar_tell(TesseraState *s)
{
    if (s->rebar) {
        pci_set_long_by_mask(control(s), BAR_SIZE_BITS,
                             ctz64(s->bar_bytes / MiB));
    }
}

static uint64_t chosen_bytes(TesseraState *s)
{
    return MiB << ((pci_get_long(control(s)) & BAR_SIZE_BITS) >>
                   PCI_REBAR_CTRL_BAR_SHIFT);
}

static bool is_offered(TesseraState *s, uint64_t bytes)
{
    return bytes == bytes_at_first(s) || bytes == bytes_at_last(s);
}

/* Address bits below the size read as zero, as for any BAR. */
static void resize(TesseraState *s, uint64_t bytes)
{
    PCIDevice *pdev = PCI_DEVICE(tessera_pci(s));
    uint64_t addr = pci_get_quad(pdev->config + BAR_REG);

    trace_tessera_bar_resize(s->bar_bytes, bytes);
    set_bytes(s, bytes);
    pdev->io_regions[TSR_BAR_VRAM].size = bytes;
    pci_set_quad(pdev->wmask + BAR_REG, ~(bytes - 1));
    pci_set_quad(pdev->config + BAR_REG,
                 addr & (~(bytes - 1) | ~PCI_BASE_ADDRESS_MEM_MASK));
}

/* ---- The window, if it is emulated --------------------------------------- */

static void access_window(TesseraState *s, uint64_t addr, uint8_t *buf,
                          uint32_t len, bool write)
{
    if (!tessera_swizzle_range_access(s, addr, buf, len, write) && !write) {
        memset(buf, 0xff, len);
    }
}

static void init_trap(TesseraPCIState *d)
{
    d->swizzle_trap.s = &d->state;
    d->swizzle_trap.access = access_window;
    tessera_trap_init(&d->swizzle_trap, OBJECT(d), "tessera.swizzle-trap",
                      d->state.visible_bytes);
}

/* ---- Life cycle ---------------------------------------------------------- */

void tessera_bar_init(TesseraState *s)
{
    TesseraPCIState *d = tessera_pci(s);

    memory_region_init(&d->vram_bar, OBJECT(d), "tessera.vram-bar",
                       bytes_at_first(s));
    memory_region_init_alias(&d->vram_alias, OBJECT(d), "tessera.vram-visible",
                             d->vram, 0, s->visible_bytes);
    memory_region_add_subregion(&d->vram_bar, 0, &d->vram_alias);
    if (s->cfg.swizzle_ranges) {
        if (!tessera_range_views_init(s)) {
            init_trap(d);
        }
        memory_region_add_subregion(&d->vram_bar, bytes_at_first(s) / 2,
                                    window(d));
    }
    set_bytes(s, bytes_at_first(s));
}

/* A subregion holds a reference to the device, so remove them all. */
void tessera_bar_fini(TesseraState *s)
{
    TesseraPCIState *d = tessera_pci(s);

    memory_region_del_subregion(&d->vram_bar, &d->vram_alias);
    if (s->cfg.swizzle_ranges) {
        memory_region_del_subregion(&d->vram_bar, window(d));
        tessera_range_views_fini(s);
    }
}

void tessera_bar_offer(TesseraState *s)
{
    PCIDevice *pdev = PCI_DEVICE(tessera_pci(s));
    uint64_t sizes = bytes_at_first(s) | bytes_at_last(s);

    if (!can_resize(s)) {
        return;
    }
    s->rebar = PCI_CONFIG_SPACE_SIZE;
    pcie_add_capability(pdev, PCI_EXT_CAP_ID_REBAR, 1, s->rebar, REBAR_BYTES);
    pci_set_long(pdev->config + s->rebar + PCI_REBAR_CAP, sizes / MiB << 4);
    pci_set_long(control(s), TSR_BAR_VRAM | 1 << PCI_REBAR_CTRL_NBAR_SHIFT);
    pci_set_long(pdev->wmask + s->rebar + PCI_REBAR_CTRL, BAR_SIZE_BITS);
    tessera_bar_tell(s);
    set_bytes(s, s->bar_bytes);
}

void tessera_bar_config_write(PCIDevice *pdev, uint32_t addr, uint32_t val,
                              int len)
{
    TesseraState *s = &TESSERA(pdev)->state;
    uint64_t bytes;

    pci_default_write_config(pdev, addr, val, len);
    if (!s->rebar ||
        !ranges_overlap(addr, len, s->rebar + PCI_REBAR_CTRL, 4)) {
        return;
    }
    bytes = chosen_bytes(s);
    if (pci_get_word(pdev->config + PCI_COMMAND) & PCI_COMMAND_MEMORY ||
        !is_offered(s, bytes)) {
        tessera_bar_tell(s);
    } else if (bytes != s->bar_bytes) {
        resize(s, bytes);
    }
}

void tessera_bar_reset(TesseraState *s)
{
    if (s->rebar && s->bar_bytes != bytes_at_first(s)) {
        resize(s, bytes_at_first(s));
    }
    tessera_bar_tell(s);
}

bool tessera_bar_load(TesseraState *s)
{
    PCIDevice *pdev = PCI_DEVICE(tessera_pci(s));
    uint16_t command = pci_get_word(pdev->config + PCI_COMMAND);

    if (!s->rebar || chosen_bytes(s) == s->bar_bytes) {
        return true;
    }
    if (!is_offered(s, chosen_bytes(s))) {
        return false;
    }
    /* QEMU has mapped the BAR at the old size, so unmap it first. */
    memory_region_transaction_begin();
    pci_default_write_config(pdev, PCI_COMMAND, command & ~PCI_COMMAND_MEMORY,
                             2);
    resize(s, chosen_bytes(s));
    pci_default_write_config(pdev, PCI_COMMAND, command, 2);
    memory_region_transaction_commit();
    return true;
}
