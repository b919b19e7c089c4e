/*
 * Tessera virtual GPU: device reset
 *
 * What follows once all engines have reset, and two ways to it. The guest's:
 * its vCPU does not wait, the last engine starts the rest. The machine's or a
 * bus's waits; it takes over what a guest has begun. Runs under the BQL.
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

/* As without power: what no segment announces as preserved is gone. */
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
    qemu_bh_cancel(s->reset_bh);
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
    /* What a migration brings may rely on memory being zero before. */
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

/* A guest's reset: the vCPU does not wait, the last engine starts the rest. */
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
 * The machine stops, and the engines are through with what was begun: half a
 * reset is not saved. One that does not end stays one that does not end, for
 * those who go on here.
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

    /* Nothing may have cancelled and nobody may have restarted it since. */
    if (qatomic_read(&s->resetting) && !qatomic_read(&s->reset_pending) &&
        !s->reset_stuck) {
        tessera_device_reset(s);
    }
}

/*
 * A machine's or a bus's reset: the engines let go of memory. The BQL is kept,
 * since only one reset may be in this phase.
 */
void tessera_device_reset_enter(TesseraState *s)
{
    trace_tessera_device_reset(false);
    /* Others may get in before the end: no engine is enabled until then. */
    s->reset_stuck = false;
    qatomic_set(&s->resetting, true);
    tessera_engines_reset_begin(s, false);
    /*
     * A guest's reset may have got as far as its bottom half, which would end
     * this one too early. From here on no engine starts it again.
     */
    qemu_bh_cancel(s->reset_bh);
    tessera_engines_reset_wait(s);
}

/* ...and then the rest goes. */
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
    s->reset_bh = qemu_bh_new_guarded(reset_bh, s,
                                      &DEVICE(s)->mem_reentrancy_guard);
}

void tessera_reset_fini(TesseraState *s)
{
    qemu_bh_delete(s->reset_bh);
    s->reset_bh = NULL;
}
