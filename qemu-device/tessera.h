/*
 * Tessera virtual GPU: the PCI device
 *
 * Each unit has its interface in a header of its own. A unit calls only units
 * that precede it in this list. The core: layout, strict, access, mmu, view,
 * swizzle, swizzle range, surface, mark, paging, copy, pixel, microcode,
 * texture, blit and raster, plane, frame, pipeline. Around it: irq, dirty,
 * trap, written, segments, range view, iommu, coherence, host aperture, bar,
 * save, cmd, fetch, engine, damage, budget, screen, capture, output, crtc, display,
 * reset, mmio, vmstate, qemu, pci. The core calls some of those through
 * TesseraHostOps.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_H
#define HW_DISPLAY_TESSERA_H

#include "hw/display/edid.h"
#include "hw/pci/pci_device.h"
#include "qemu/ratelimit.h"
#include "qemu/timer.h"
#include "qom/object.h"
#include "ram-remap.h"
#include "tessera_head.h"
#include "tessera_trap.h"
#include "tessera_written.h"

#define TYPE_TESSERA "tessera"
OBJECT_DECLARE_SIMPLE_TYPE(TesseraPCIState, TESSERA)

struct TesseraHostAperture {
    MemoryRegion bar;           /* container; its size is a power of two */
    RamRemap ram;               /* backs the BAR if @remapped */
    TesseraTrap trap;           /* backs it otherwise, by emulation */
    bool is_ram;                /* @ram is initialized */
    bool remapped;              /* @ram is in the BAR, not @trap */
    bool migrating;             /* stores to @ram are logged for that */
    MemoryListener listener;
    NotifierWithReturn postcopy;
    NotifierWithReturn background;
    uint32_t num_pages;         /* of cfg.page_size bytes */
    uint32_t *table;            /* VRAM page + 1; 0: unmapped */
    uint32_t mapped;            /* number of mapped pages */
    uint32_t end;               /* no page is mapped from here on; atomic */
    uint64_t addr;              /* registers: GPU address... */
    uint32_t count;             /* ...and number of pages of a command */
};

/* The linear view of an enabled range (tessera_range_view.c). */
typedef struct TesseraRangeView {
    TesseraSwizzleRange range;
    uint64_t at;                /* offset in VRAM, and in the window */
    uint64_t bytes;             /* length in VRAM, in whole tiles */
    uint8_t *last;              /* VRAM, when it was last alike; NULL: off */
} TesseraRangeView;

struct TesseraRangeViews {
    uint8_t *ptr;               /* RAM of the window; NULL: it traps */
    TesseraWritten written;
    MemoryListener listener;
    QemuMutex lock;             /* guards what follows, rows and VRAM */
    uint32_t num;               /* number of enabled ranges; atomic */
    TesseraRangeView of[TSR_MAX_SWIZZLE_RANGES];
};

/* QEMU's objects of a head. */
typedef struct TesseraScreen {
    QEMUTimer *timer;           /* next vblank; not set if unneeded */
    uint64_t wait_ns;           /* viewers wait until then; 0: do not wait */
    QemuConsole *con;           /* NULL: unplugged */
} TesseraScreen;

/* What the device has of QEMU's, around the state of the core. */
struct TesseraPCIState {
    PCIDevice parent_obj;
    TesseraState state;
    qemu_edid_info edid;        /* EDID properties of all outputs */

    MemoryRegion mmio;
    HostMemoryBackend *memdev;  /* property: backend of VRAM, or NULL */
    HostMemoryBackend *backend; /* the same, referenced until the end */
    bool vram_stays;            /* the backend preallocated it */
    bool vram_not_dumped;       /* the backend keeps it out of core dumps */
    MemoryRegion own_vram;      /* VRAM without memdev */
    MemoryRegion *vram;         /* see tessera_segments.c */
    MemoryRegion vram_bar;
    MemoryRegion vram_alias;
    MemoryRegion swizzle_window; /* RAM, in BAR 2 if views.ptr is set */
    TesseraTrap swizzle_trap;   /* in BAR 2 otherwise */
    TesseraHostAperture ha;
    TesseraRangeViews views;
    QEMUBH *irq_bh;
    QEMUBH *reset_bh;
    QEMUBH *poison_bh;
    VMChangeStateEntry *vmstate_entry;
    Notifier exit_notifier;
    TesseraScreen screens[TSR_MAX_CRTCS];
    QEMUTimer *log_timer;       /* NULL: no display */
    RateLimit log_limit;        /* has a lock of its own */

    QLIST_ENTRY(TesseraPCIState) next; /* tessera_iommu.c */
};

/* The device around a state. */
static inline TesseraPCIState *tessera_pci(TesseraState *s)
{
    return container_of(s, TesseraPCIState, state);
}

static inline TesseraScreen *tessera_screen(TesseraHead *h)
{
    return &tessera_pci(h->s)->screens[h->index];
}

/* The device clock. */
static inline uint64_t tessera_clock_ns(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

#endif /* HW_DISPLAY_TESSERA_H */
