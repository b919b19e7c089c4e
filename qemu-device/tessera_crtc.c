/*
 * Tessera virtual GPU: CRTCs
 *
 * This unit decides when frames begin and what they show. Vblanks are times on
 * the device clock. The timer runs only while something waits for a vblank.
 * Each access to a head first processes all vblanks that are due, so no
 * register reveals how late a timer fired. Called under the BQL, by vCPUs and
 * in the main loop.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_crtc.h"
#include "tessera_capture.h"
#include "tessera_irq.h"
#include "tessera_plane.h"
#include "tessera_strict.h"
#include "trace.h"

/* ---- Time ---------------------------------------------------------------- */

static uint32_t total_lines(const TesseraHead *h)
{
    return h->total >> 16;
}

static uint64_t lines_ns(const TesseraHead *h, uint32_t lines)
{
    return (uint64_t)(h->total & 0xffff) * lines * 1000000 / h->clock;
}

static uint64_t frame_ns(const TesseraHead *h)
{
    return lines_ns(h, total_lines(h));
}

/* Whether a frame may be extended until a commit (variable refresh). */
static bool varies(const TesseraHead *h)
{
    return h->shown.vrr_total > total_lines(h);
}

/*
 * Time from the last vblank to the next one, with or without a commit waiting.
 */
static uint64_t interval_ns(const TesseraHead *h)
{
    return lines_ns(h, !h->armed && varies(h) ? h->shown.vrr_total
                                              : total_lines(h));
}

static bool mode_ok(const TesseraHead *h)
{
    uint32_t width = tessera_head_width(h), height = tessera_head_height(h);

    return width && width <= TESSERA_MAX_WIDTH &&
           height && height <= TESSERA_MAX_HEIGHT &&
           width < (h->total & 0xffff) && height < total_lines(h) &&
           h->clock && h->clock <= TSR_CRTC_MAX_CLOCK &&
           frame_ns(h) >= TSR_CRTC_MIN_FRAME_NS &&
           frame_ns(h) <= TSR_CRTC_MAX_FRAME_NS;
}

/* The line that is scanned out. Vblank begins after the last active line. */
uint32_t tessera_crtc_line(const TesseraHead *h)
{
    uint32_t height = tessera_head_height(h);
    uint64_t lines;

    if (!h->enabled) {
        return 0;
    }
    lines = (tessera_clock_ns() - h->vblank_ns) * total_lines(h) /
            frame_ns(h);
    return lines < total_lines(h) ? (height + lines) % total_lines(h)
                                  /* an extended frame stays in vblank */
                                  : height;
}

/* ---- Vblank -------------------------------------------------------------- */

/*
 * Latch the registers of the last commit. @told raises the interrupt that a
 * client may wait for. An async commit that replaces no waiting one needs none.
 */
static void latch(TesseraHead *h, uint64_t ns, bool told)
{
    h->shown = h->next;
    h->armed = false;
    h->blamed = 0;
    h->latched = h->committed;
    h->latch_count = h->vblank_count;
    h->latch_ns = ns;
    trace_tessera_crtc_latch(h->index, h->latched, h->latch_count);
    if (told) {
        tessera_irq_head(h, TSR_CRTC_INT_LATCH);
    }
}

/* Report bad memory of each plane, once per committed state. */
static void referee(TesseraHead *h)
{
    for (uint32_t i = 0; h->s->cfg.strict && i < TSR_NUM_PLANES; i++) {
        uint32_t err;

        if (h->blamed & (1u << i)) {
            continue;
        }
        err = tessera_plane_referee(&h->m, h->shown.plane[i], i);
        if (err) {
            h->blamed |= 1u << i;
            tessera_guest_error(&h->m, err, h->m.fault_addr);
        }
    }
}

static void vblank(TesseraHead *h, uint64_t frames)
{
    trace_tessera_crtc_vblank(h->index, h->vblank_count, h->vblank_ns);
    if (h->armed) {
        latch(h, h->vblank_ns, true);
    }
    referee(h);
    tessera_capture_frame(h, frames);
    tessera_irq_head(h, TSR_CRTC_INT_VBLANK);
}

/*
 * Process the vblanks up to now. Unless @must, postpone those that need a
 * picture while the time budget is used up.
 */
static void pass_vblanks(TesseraHead *h, bool must)
{
    uint64_t now = tessera_clock_ns(), step;

    if (!h->enabled || !h->s->vm_running) {
        return;
    }
    /* The state may come from a machine with another clock. */
    h->vblank_ns = MIN(h->vblank_ns, now);
    h->arm_ns = MIN(h->arm_ns, now);
    while (now - h->vblank_ns >= (step = interval_ns(h)) &&
           (must || tessera_capture_now(h))) {
        uint64_t frames = h->armed ? 1 : (now - h->vblank_ns) / step;

        h->vblank_ns += frames * step;
        if (h->armed && varies(h)) {
            h->vblank_ns = MAX(h->vblank_ns, h->arm_ns);
        }
        h->vblank_count += frames;
        vblank(h, frames);
    }
}

/* Called before a write that must take effect after all vblanks up to now. */
void tessera_crtc_sync(TesseraHead *h)
{
    pass_vblanks(h, true);
}

/*
 * Called before a register is read. Vblanks that need a picture are postponed
 * while the device has spent more than half of the time on pictures. Otherwise
 * a guest that reads in a loop would keep the BQL from all other threads.
 * Postponing changes neither the times of vblanks nor the order of events.
 */
void tessera_crtc_look(TesseraHead *h)
{
    pass_vblanks(h, false);
}

static bool shows_anything(const TesseraHead *h)
{
    for (uint32_t i = 0; i < TSR_NUM_PLANES; i++) {
        if (h->shown.plane[i][TSR_PLANE_CONTROL / 4] & TSR_PLANE_ENABLE) {
            return true;
        }
    }
    return false;
}

/* An idle head needs no timer. */
static bool timer_wanted(const TesseraHead *h)
{
    return h->enabled &&
           (h->armed || (h->int_mask & TSR_CRTC_INT_VBLANK) ||
            tessera_capture_wanted(h) ||
            (h->s->cfg.strict && shows_anything(h)));
}

static void rearm(TesseraHead *h, uint64_t not_before_ns)
{
    QEMUTimer *timer = tessera_screen(h)->timer;
    uint64_t at;

    if (!timer_wanted(h)) {
        timer_del(timer);
        return;
    }
    at = MAX(h->vblank_ns + interval_ns(h), not_before_ns);
    if (tessera_capture_wanted(h)) {
        at = MAX(at, h->s->picture_ns);
    }
    /* Setting a timer wakes the main loop, which then takes the BQL. */
    if (timer_expire_time_ns(timer) != at) {
        timer_mod(timer, at);
    }
}

/* Called after any change of what the timer depends on. */
void tessera_crtc_rearm(TesseraHead *h)
{
    rearm(h, 0);
}

/*
 * The guest decides how much work a frame takes, so the timer pauses for as
 * long as the work took. Meanwhile other threads can get the BQL.
 */
static void timer_cb(void *opaque)
{
    uint64_t begin = tessera_clock_ns(), now;
    TesseraHead *h = opaque;

    tessera_crtc_look(h);
    now = tessera_clock_ns();
    rearm(h, now + (now - begin));
}

void tessera_crtc_init(TesseraHead *h)
{
    tessera_screen(h)->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, timer_cb, h);
}

void tessera_crtc_fini(TesseraHead *h)
{
    TesseraScreen *screen = tessera_screen(h);

    timer_free(screen->timer);
    screen->timer = NULL;
}

/* ---- Requests of registers ----------------------------------------------- */

static void enable(TesseraHead *h)
{
    bool ok = mode_ok(h);

    trace_tessera_crtc_enable(h->index, h->active, h->total, h->clock, ok);
    if (!ok) {
        tessera_fault(&h->m, TSR_ERR_MODE, TESSERA_NO_SLOT, h->active);
        tessera_guest_error(&h->m, TSR_ERR_MODE, h->active);
        return;
    }
    h->vblank_ns = tessera_clock_ns();
    h->enabled = true;
}

static void disable(TesseraHead *h)
{
    trace_tessera_crtc_disable(h->index);
    if (h->armed) {
        latch(h, tessera_clock_ns(), true);
    }
    tessera_writeback_cancel(h);
    h->enabled = false;
}

/* Returns false for unknown bits. */
bool tessera_crtc_control(TesseraHead *h, uint32_t value)
{
    if (value & ~TSR_CRTC_ENABLE) {
        return false;
    }
    if (value && !h->enabled) {
        enable(h);
    } else if (!value && h->enabled) {
        disable(h);
    }
    return true;
}

/* Fault injection may refuse a plane as well, but only in a new commit. */
static uint32_t check_plane(TesseraHead *h, const TesseraScanout *o,
                            uint32_t plane)
{
    const uint32_t *regs = o->plane[plane];
    uint32_t err = tessera_plane_check(&h->m, regs, plane);

    return err || o != &h->regs ? err
                                : tessera_plane_refuse(&h->m, regs, plane);
}

static uint32_t check(TesseraHead *h, const TesseraScanout *o)
{
    uint32_t err = TSR_ERR_NONE;

    for (uint32_t i = 0; i < TSR_NUM_PLANES && !err; i++) {
        err = check_plane(h, o, i);
    }
    return err;
}

/* Return whether the commit has an error, and report it to the guest. */
static bool refused(TesseraHead *h, uint32_t how, uint32_t err)
{
    trace_tessera_crtc_commit(h->index, h->committed + 1, how, err);
    h->refused = err;
    if (err) {
        tessera_guest_error(&h->m, err, h->m.fault_addr);
    }
    return err;
}

/* Commit one plane at once, independent of a waiting commit. */
static void commit_plane(TesseraHead *h, uint32_t plane)
{
    size_t bytes = sizeof(h->regs.plane[plane]);

    if (refused(h, TSR_COMMIT_PLANE(plane),
                check_plane(h, &h->regs, plane))) {
        return;
    }
    memcpy(h->next.plane[plane], h->regs.plane[plane], bytes);
    memcpy(h->shown.plane[plane], h->regs.plane[plane], bytes);
    h->blamed &= ~(1u << plane);
}

static void commit_all(TesseraHead *h, uint32_t how)
{
    bool told = h->armed || how != TSR_COMMIT_ASYNC;

    if (refused(h, how, check(h, &h->regs) ?: tessera_writeback_check(h))) {
        return;
    }
    h->next = h->regs;
    h->committed++;
    tessera_writeback_begin(h);
    if (!h->enabled || how == TSR_COMMIT_ASYNC) {
        latch(h, tessera_clock_ns(), told);
        return;
    }
    h->armed = true;
    h->arm_ns = tessera_clock_ns();
    /* A variable-length frame ends with this commit. */
    tessera_crtc_sync(h);
}

/* Returns false for an unknown kind of commit. */
bool tessera_crtc_commit(TesseraHead *h, uint32_t how)
{
    if (how >= TSR_COMMIT_PLANE(0) && how < TSR_COMMIT_PLANE(TSR_NUM_PLANES)) {
        commit_plane(h, how - TSR_COMMIT_PLANE(0));
        return true;
    }
    if (how != TSR_COMMIT_VBLANK && how != TSR_COMMIT_ASYNC) {
        return false;
    }
    commit_all(h, how);
    return true;
}

static bool scanouts_valid(TesseraHead *h)
{
    return !((h->regs.vrr_total | h->next.vrr_total | h->shown.vrr_total) >>
             16) &&
           !check(h, &h->shown) && (!h->armed || !check(h, &h->next));
}

/* Whether a loaded state is possible. The other functions rely on this. */
bool tessera_crtc_valid(TesseraHead *h)
{
    return (!h->enabled || mode_ok(h)) && scanouts_valid(h) &&
           (h->enabled || (!h->armed && h->wb.status != TSR_WB_PENDING)) &&
           h->num_crcs <= TSR_CRC_QUEUE && h->wb.status <= TSR_WB_FAILED &&
           !(h->int_status & ~TSR_CRTC_INT_ALL) &&
           !(h->int_mask & ~TSR_CRTC_INT_ALL) &&
           h->gamma_index < TSR_GAMMA_ENTRIES &&
           h->edid_index < TSR_EDID_MAX_BYTES && h->edid_index % 4 == 0 &&
           !(h->blamed >> TSR_NUM_PLANES);
}
