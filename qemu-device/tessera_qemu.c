/*
 * Tessera virtual GPU: QEMU below the core
 *
 * Implements TesseraHostOps. Bus addresses go through the device's own address
 * space, and each access checks that they are plain RAM, so it calls no other
 * device and needs no BQL (ram-map.h). tessera_iommu.c handles an IOMMU on the
 * way. Called from engine threads and, under the BQL, for registers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_compat.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include COMPAT_RAMBLOCK_API_H
#include "migration/misc.h"
#include "ram-map.h"
#include "tessera_qemu.h"
#include "tessera_coherence.h"
#include "tessera_dirty.h"
#include "tessera_host_aperture.h"
#include "tessera_iommu.h"
#include "tessera_irq.h"
#include "tessera_mark.h"
#include "tessera_range_view.h"

#define LOG_PER_SECOND 20

/* ---- Guest RAM ----------------------------------------------------------- */

static void map_init(TesseraMaster *m)
{
    m->map = g_new0(RamMap, 1);
    ram_map_init(m->map, pci_get_address_space(PCI_DEVICE(tessera_pci(m->s))));
}

static void map_fini(TesseraMaster *m)
{
    g_free(m->map);
    m->map = NULL;
}

/*
 * The translations of an IOMMU may be stale until the access ends: at most for
 * a chunk or a row of tiles. (dma_memory_map(), which other devices use, keeps
 * them for a whole request.)
 */
static void ram_enter(TesseraMaster *m)
{
    ram_map_enter(m->map);
}

static void ram_leave(TesseraMaster *m)
{
    ram_map_leave(m->map);
}

/* Find the run of RAM that contains @addr, or NULL. */
static const RamRun *find(TesseraMaster *m, uint64_t addr, uint64_t len,
                          bool write)
{
    const RamRun *found;

    if (ram_map_lookup(m->map, addr, write, &found)) {
        return found;
    }
    tessera_iommu_find(m, addr, len, write);
    return ram_map_first(m->map);
}

/*
 * Behind an IOMMU a run ends with the IOMMU's page. The swizzling window holds
 * copies for CPUs, so refuse it.
 */
static bool ram_find(TesseraMaster *m, uint64_t addr, TesseraRun *run)
{
    const RamRun *found = find(m, addr, run->len, run->write);
    uint64_t in_run;

    if (!found || found->mr == &tessera_pci(m->s)->swizzle_window) {
        return false;
    }
    in_run = addr - found->addr;
    run->len = MIN(run->len, found->len - in_run);
    run->ptr = found->host + in_run;
    run->ram = found->mr;
    run->ram_offset = found->offset + in_run;
    if (!run->write) {
        fuzz_dma_read_cb(addr, run->len, found->mr);
    }
    return true;
}

static void ram_written(TesseraMaster *m, const TesseraRun *run, uint64_t bytes)
{
    ram_map_written(m->map, run->ram, run->ram_offset, run->ptr, bytes);
}

/* ---- VRAM ---------------------------------------------------------------- */

static void vram_written(TesseraState *s, uint64_t offset, uint64_t len)
{
    TesseraSpan span = { .lo = offset, .hi = offset + len };

    tessera_dirty_mark(tessera_pci(s)->vram, &span);
    tessera_range_views_refresh(s, offset, len);
}

/*
 * Discard whole pages of the host. Preallocated memory is never discarded, nor
 * are pages that postcopy received or a snapshot has saved.
 */
static bool vram_discard(TesseraState *s, uint64_t offset, uint64_t len)
{
    TesseraPCIState *d = tessera_pci(s);
    RAMBlock *block = d->vram->ram_block;

    return !d->vram_stays && !ram_block_discard_is_disabled() &&
           !migration_in_incoming_postcopy() && !migration_in_bg_snapshot() &&
           QEMU_IS_ALIGNED(offset | len, qemu_ram_pagesize(block)) &&
           !ram_block_discard_range(block, offset, len);
}

static void poison_bh(void *opaque)
{
    TesseraPCIState *d = opaque;

    /* tessera_mark_resume() schedules it again. */
    if (d->state.vm_running && tessera_mark_poison(&d->state)) {
        qemu_bh_schedule_idle(d->poison_bh);
    }
}

static void poison_later(TesseraState *s)
{
    qemu_bh_schedule_idle(tessera_pci(s)->poison_bh);
}

/* ---- Errors -------------------------------------------------------------- */

static const char *device_name(TesseraPCIState *d)
{
    return DEVICE(d)->id ?: "device";
}

static void error(TesseraState *s, const TesseraErrorRecord *rec, bool first)
{
    TesseraPCIState *d = tessera_pci(s);

    if (qemu_loglevel_mask(LOG_GUEST_ERROR) &&
        (!ratelimit_calculate_delay(&d->log_limit, 1) || first)) {
        qemu_log("tessera %s: error %u engine 0x%x context 0x%x"
                 " packet 0x%08x at 0x%x slot 0x%x addr 0x%" PRIx64 "\n",
                 device_name(d), rec->type, rec->engine, rec->context,
                 rec->packet, rec->offset, rec->slot, rec->addr);
    }
    tessera_irq_event(s, TSR_INT_ERROR);
}

/* Log how often each error has occurred since the device was created. */
void tessera_qemu_log_totals(TesseraPCIState *d)
{
    TesseraState *s = &d->state;

    QEMU_LOCK_GUARD(&s->err_lock);
    for (uint32_t type = 0; type < TSR_ERR_TYPES; type++) {
        if (s->err_ever[type]) {
            qemu_log_mask(LOG_GUEST_ERROR,
                          "tessera %s: error %u was counted %u times\n",
                          device_name(d), type, s->err_ever[type]);
        }
    }
}

/* ---- Life cycle ---------------------------------------------------------- */

static const TesseraHostOps qemu_ops = {
    .map_init = map_init,
    .map_fini = map_fini,
    .ram_enter = ram_enter,
    .ram_leave = ram_leave,
    .ram_find = ram_find,
    .ram_written = ram_written,
    .ram_begin_uncached = tessera_coherence_begin,
    .vram_written = vram_written,
    .vram_discard = vram_discard,
    .vram_shown = tessera_host_aperture_shows,
    .poison_later = poison_later,
    .range_show = tessera_range_view_show,
    .range_hide = tessera_range_view_hide,
    .error = error,
};

/* Called before the state is used, and at its end. */
void tessera_qemu_create(TesseraPCIState *d)
{
    d->state.ops = &qemu_ops;
    d->state.ha = &d->ha;
    d->state.views = &d->views;
    ratelimit_init(&d->log_limit);
    ratelimit_set_speed(&d->log_limit, LOG_PER_SECOND, NANOSECONDS_PER_SECOND);
}

void tessera_qemu_free(TesseraPCIState *d)
{
    ratelimit_destroy(&d->log_limit);
}

void tessera_qemu_init(TesseraPCIState *d)
{
    d->poison_bh = qemu_bh_new_guarded(poison_bh, d,
                                       &DEVICE(d)->mem_reentrancy_guard);
}

void tessera_qemu_fini(TesseraPCIState *d)
{
    qemu_bh_delete(d->poison_bh);
    d->poison_bh = NULL;
}
