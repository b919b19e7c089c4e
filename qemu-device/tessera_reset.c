/*
 * Tessera virtual GPU: device reset
 *
 * The part of a reset that follows after all engines have reset, and the two
 * ways to it. A reset by the guest does not block the vCPU: the last engine
 * starts the rest. A reset by the machine or a bus waits for the engines, and
 * also completes a guest's reset that is in progress. Runs under the BQL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/main-loop.h"
#include "system/runstate.h"
#include "tessera_reset.h"
#include "tessera_bar.h"
#include "tessera_coherence.h"
#include "tessera_display.h"
#include "tessera_engine.h"
#include "tessera_host_aperture.h"
#include "tessera_irq.h"
#include "tessera_mark.h"
#include "tessera_paging.h"
#include "tessera_strict.h"
#include "tessera_swizzle_range.h"
#include "trace.h"

/* Lose VRAM as without power, except segments that announce to keep it. */
static void lose_vram(TesseraState *s)
{
    for (unsigned int i = 0; i < s->num_segs; i++) {
        const TesseraSegment *seg = &s->segs[i];

        if (!seg->ptes && !(seg->flags & TSR_SEGF_PRESERVED_STANDBY)) {
            tessera_mark_lost(s, seg->vram_offset, seg->size);
        }
    }
    tessera_mark_lost(s, s->hidden.vram_offset, s->hidden.size);
}

/* The part of a device reset that follows once the engines have reset. */
void tessera_device_reset(TesseraState *s)
{
    qemu_bh_cancel(tessera_pci(s)->reset_bh);
    s->scratch = 0;
    s->fw_addr = 0;
    s->fw_size = 0;
    s->mark_addr = 0;
    s->mark_size = 0;
    s->err_select = 0;
    qatomic_set(&s->fw_running, false);
    qatomic_set__nocheck(&s->fw_base, 0);
    qatomic_set__nocheck(&s->dummy_page, 0);
    tessera_engines_clear_setup(s);
    tessera_host_aperture_reset(s);
    tessera_swizzle_range_reset(s);
    tessera_coherence_reset(s);
    tessera_display_reset(s);
    tessera_paging_reset(s);
    tessera_strict_reset(s);
    /* An incoming migration may rely on zeroed memory, so do not touch it. */
    if (s->cfg.lose_vram && !runstate_check(RUN_STATE_INMIGRATE)) {
        lose_vram(s);
    }
    tessera_errors_clear(s);
    tessera_irq_reset(s);
    s->reset_stuck = false;
    qatomic_set(&s->resetting, false);
}

/* Drop a state that was loaded and must not run. The engines are parked. */
void tessera_device_forget(TesseraState *s)
{
    tessera_engines_forget(s);
    tessera_device_reset(s);
    tessera_strict_forget(s);
    tessera_bar_tell(s);
    s->timestamp_hi = 0;
    s->distrusted = false;
}

/*
 * Begin a reset by the guest. The vCPU does not wait: the last engine starts
 * the rest.
 */
void tessera_device_reset_begin(TesseraState *s)
{
    uint32_t fail = qatomic_read(&s->fail_reset);

    if (qatomic_read(&s->resetting) && !s->reset_stuck) {
        return;
    }
    qatomic_set(&s->fail_reset, fail >> 1);
    s->reset_stuck = fail & 1;
    trace_tessera_device_reset(true);
    qatomic_set(&s->resetting, true);
    tessera_engines_reset_begin(s, true);
}

/*
 * The machine stops. All engines have paused, so complete a reset in progress:
 * half a reset is not saved. A reset that fault injection keeps from ending
 * stays pending for the guest.
 */
void tessera_device_reset_stop(TesseraState *s)
{
    bool stuck = s->reset_stuck;

    if (qatomic_read(&s->resetting)) {
        tessera_device_reset(s);
        s->reset_stuck = stuck;
        qatomic_set(&s->resetting, stuck);
    }
}

static void reset_bh(void *opaque)
{
    TesseraState *s = opaque;

    /*
     * The reset may have been cancelled or restarted since the BH was
     * scheduled.
     */
    if (qatomic_read(&s->resetting) && !qatomic_read(&s->reset_pending) &&
        !s->reset_stuck) {
        tessera_device_reset(s);
    }
}

/*
 * Begin a reset by the machine or a bus: wait until the engines have stopped
 * accessing memory. The BQL is kept, since only one reset may be in this phase.
 */
void tessera_device_reset_enter(TesseraState *s)
{
    trace_tessera_device_reset(false);
    /*
     * Other threads may run before the hold phase: no engine is enabled until
     * then.
     */
    s->reset_stuck = false;
    qatomic_set(&s->resetting, true);
    tessera_engines_reset_begin(s, false);
    /*
     * A guest's reset may have scheduled its bottom half already, which would
     * end this reset too early. No engine schedules it from here on.
     */
    qemu_bh_cancel(tessera_pci(s)->reset_bh);
    tessera_engines_reset_wait(s);
}

/* Complete a reset by the machine or a bus. */
void tessera_device_reset_hold(TesseraState *s)
{
    if (s->distrusted) {
        tessera_device_forget(s);
    } else {
        tessera_device_reset(s);
    }
}

void tessera_reset_init(TesseraState *s)
{
    TesseraPCIState *d = tessera_pci(s);

    d->reset_bh = qemu_bh_new_guarded(reset_bh, s,
                                      &DEVICE(d)->mem_reentrancy_guard);
}

void tessera_reset_fini(TesseraState *s)
{
    TesseraPCIState *d = tessera_pci(s);

    qemu_bh_delete(d->reset_bh);
    d->reset_bh = NULL;
}
