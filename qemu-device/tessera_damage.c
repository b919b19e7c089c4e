/*
 * Tessera virtual GPU: damage tracking of screens
 *
 * Tells a console whether the picture of a head has changed since it was last
 * drawn. The picture depends on the latched registers and on the memory of the
 * planes. VRAM has a dirty log for displays: CPUs, engines, swizzling ranges
 * and other devices mark their writes in it. The host aperture has a log of its
 * own, which is merged first. Both logs are enabled only while a console is
 * being watched, because under KVM they cost a fault for each written page.
 * Strict mode may change its verdict on a page without a write, so in that mode
 * every picture counts as changed while the machine runs. Called under the BQL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "ram-dirty.h"
#include "tessera_damage.h"
#include "tessera_host_aperture.h"
#include "tessera_plane.h"
#include "tessera_range_view.h"

/* A mark may be taken before its bytes are visible: see ram-dirty.h. */
#define DRAW_TWICE  2

/*
 * A console counts as unwatched after one or two such periods without updates.
 */
#define UNWATCHED_NS    (5 * NANOSECONDS_PER_SECOND)

/* Damage all heads with a plane that was written inside [@from, @end). */
static void damage_heads(TesseraState *s, DirtyBitmapSnapshot *snap,
                         uint64_t from, uint64_t end)
{
    MemoryRegion *vram = tessera_pci(s)->vram;

    for (uint32_t i = 0; i < s->num_heads; i++) {
        TesseraHead *h = &s->heads[i];

        for (uint32_t p = 0; p < TSR_NUM_PLANES; p++) {
            uint64_t at, bytes, last;

            if (!tessera_plane_memory(s, h->shown.plane[p], &at, &bytes)) {
                continue;
            }
            last = MIN(at + bytes, end);
            at = MAX(at, from);
            if (at < last && memory_region_snapshot_get_dirty(vram, snap,
                                                             at, last - at)) {
                h->damaged = DRAW_TWICE;
            }
        }
    }
}

/* Take the marks of a plane's memory. They may belong to other planes, too. */
static void take_marks(TesseraState *s, const uint32_t *regs)
{
    g_autofree DirtyBitmapSnapshot *snap = NULL;
    uint64_t at, bytes;

    if (!tessera_plane_memory(s, regs, &at, &bytes)) {
        return;
    }
    snap = ram_dirty_take(tessera_pci(s)->vram, at, bytes);
    if (!snap) {
        return;
    }
    damage_heads(s, snap, QEMU_ALIGN_DOWN(at, ram_dirty_block()),
                 MIN(ROUND_UP(at + bytes, ram_dirty_block()),
                     s->vram_bytes));
}

static void set_log(TesseraState *s, bool log)
{
    s->logging = log;
    memory_region_transaction_begin();
    memory_region_set_log(tessera_pci(s)->vram, log, DIRTY_MEMORY_VGA);
    tessera_host_aperture_log(s, log);
    memory_region_transaction_commit();
}

static void start_log_timer(TesseraState *s)
{
    timer_mod(tessera_pci(s)->log_timer, tessera_clock_ns() + UNWATCHED_NS);
}

/*
 * A console is updated, so enable the log. Writes before this have left no
 * marks, so damage all heads.
 */
static void watch(TesseraState *s)
{
    s->looked = true;
    if (s->logging) {
        return;
    }
    set_log(s, true);
    for (uint32_t i = 0; i < s->num_heads; i++) {
        tessera_damage_all(&s->heads[i]);
    }
    start_log_timer(s);
}

static void log_timer(void *opaque)
{
    TesseraState *s = opaque;

    if (s->looked) {
        s->looked = false;
        start_log_timer(s);
    } else {
        set_log(s, false);
    }
}

static bool logs_tell(const TesseraState *s)
{
    return !s->cfg.strict && ram_dirty_available();
}

static void take_logs(TesseraHead *h)
{
    TesseraState *s = h->s;

    watch(s);
    ram_dirty_sync();
    tessera_host_aperture_take_written(s);
    for (uint32_t p = 0; p < TSR_NUM_PLANES; p++) {
        take_marks(s, h->shown.plane[p]);
    }
}

/* Whether the picture may have changed and has to be drawn now. */
bool tessera_damage_take(TesseraHead *h)
{
    bool damaged;

    tessera_range_views_write_back(h->s);
    if (logs_tell(h->s)) {
        take_logs(h);
    } else if (h->s->vm_running) {
        tessera_damage_all(h);
    }
    damaged = h->damaged || memcmp(h->drawn, &h->shown, sizeof(h->shown));
    *h->drawn = h->shown;
    h->damaged -= !!h->damaged;
    return damaged;
}

/* Draw the picture at the next update, whether it has changed or not. */
void tessera_damage_all(TesseraHead *h)
{
    h->damaged = DRAW_TWICE;
}

/* The machine stops. Without a log it is unknown what has changed until now. */
void tessera_damage_stop(TesseraState *s)
{
    for (uint32_t i = 0; i < s->num_heads && !logs_tell(s); i++) {
        tessera_damage_all(&s->heads[i]);
    }
}

/* The machine runs, perhaps with an earlier clock: a load does not stop the log. */
void tessera_damage_resume(TesseraState *s)
{
    if (s->logging) {
        start_log_timer(s);
    }
}

void tessera_damage_init(TesseraState *s)
{
    tessera_pci(s)->log_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, log_timer, s);
}

void tessera_damage_fini(TesseraState *s)
{
    TesseraPCIState *d = tessera_pci(s);

    timer_free(d->log_timer);
    d->log_timer = NULL;
    if (s->logging) {
        set_log(s, false);
    }
}
