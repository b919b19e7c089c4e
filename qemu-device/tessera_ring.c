/*
 * Tessera virtual GPU: engines and their rings
 *
 * Each engine is a host thread that sleeps until a doorbell, copies packets in
 * and runs them. It never takes the BQL: the main loop may wait for it. Three
 * requests make it leave the ring: exit, reset (as soon as the running packet
 * notices) and pause (at the next packet, or where a long one can be resumed).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "system/runstate.h"
#include "tessera_ring.h"
#include "tessera_cmd.h"
#include "tessera_irq.h"
#include "tessera_paging.h"
#include "tessera_strict.h"
#include "tessera_surface.h"
#include "trace.h"

#define WAIT_POLL_MS 1          /* WAIT looks at memory this often */
#define ACK_WAIT_MS  1000       /* then the BQL is let go while waiting */

/* ---- Fetching ---------------------------------------------------------- */

static uint32_t stream_left(TesseraEngine *e, uint32_t off)
{
    if (e->ib.active) {
        return e->ib.end - off;
    }
    return (qatomic_read(&e->tail) - off) & (e->ring_size - 1);
}

/* Read ahead from @off, of which @avail bytes may be looked at. */
static uint32_t refill(TesseraEngine *e, uint32_t off, uint32_t avail)
{
    TesseraWindow *w = &e->window;
    uint32_t in_page = off & (TSR_PAGE_SIZE - 1);
    uint64_t page;
    uint32_t err;

    w->bytes = 0;
    w->start = off;
    if (e->ib.active) {
        uint64_t entry = e->ib.list + (off >> TSR_PAGE_SHIFT) * 8ULL;

        err = tessera_dma_rw(&e->m, entry, &page, sizeof(page), false, true);
        if (err) {
            return err;
        }
        page = le64_to_cpu(page);
        if (page & (TSR_PAGE_SIZE - 1)) {
            return tessera_fault(&e->m, TSR_ERR_DMA, TESSERA_NO_SLOT, page);
        }
    } else {
        page = e->ring + (off - in_page);
    }
    w->bytes = MIN(avail, TSR_PAGE_SIZE - in_page);
    err = tessera_dma_rw(&e->m, page + in_page, w->data, w->bytes, false,
                         e->ib.active);
    if (err) {
        w->bytes = 0;
    }
    return err;
}

/* @avail is not less than @bytes, wherever the guest moves the tail now. */
static uint32_t fetch(TesseraEngine *e, uint32_t off, uint32_t bytes,
                      uint32_t avail, uint8_t *dst)
{
    TesseraWindow *w = &e->window;

    while (bytes) {
        uint32_t n, err;

        if (!w->bytes || off < w->start || off - w->start >= w->bytes) {
            err = refill(e, off, avail);
            if (err) {
                return err;
            }
        }
        n = MIN(bytes, w->bytes - (off - w->start));
        memcpy(dst, w->data + (off - w->start), n);
        dst += n;
        bytes -= n;
        avail -= n;
        off += n;
        if (!e->ib.active) {
            off &= e->ring_size - 1;
        }
    }
    return TSR_ERR_NONE;
}

/* Copy the packet at @off into e->packet. */
static uint32_t fetch_packet(TesseraEngine *e, uint32_t off, uint32_t *bytes)
{
    uint32_t left = stream_left(e, off), err;
    uint8_t *dst = (uint8_t *)e->packet;

    e->m.packet = e->packet[0] = 0;
    if (left < 8) {
        return TSR_ERR_RING;    /* the tail has just moved back */
    }
    err = fetch(e, off, 8, left, dst);
    if (err) {
        return err;
    }
    le32_to_cpus(&e->packet[0]);
    e->m.packet = e->packet[0];
    *bytes = ((e->packet[0] & TSR_PKT_LENGTH_MASK) >> TSR_PKT_LENGTH_SHIFT) * 4;
    if (!tessera_cmd_length_ok(e->packet[0]) || *bytes > left) {
        return TSR_ERR_PACKET;
    }
    err = fetch(e, off, *bytes, left, dst);
    for (uint32_t i = 0; i < *bytes / 4; i++) {
        le32_to_cpus(&e->packet[i]);
    }
    return err;
}

/* ---- Running ----------------------------------------------------------- */

static void advance_ring(TesseraEngine *e, uint32_t bytes)
{
    qatomic_set(&e->head, (e->head + bytes) & (e->ring_size - 1));
}

static void end_ib(TesseraEngine *e)
{
    trace_tessera_ib_end(e->index, e->m.context, e->ib.cur, e->job_status);
    e->ib.active = false;
    e->window.bytes = 0;
    qatomic_set(&e->ib_offset, 0);
    advance_ring(e, TSR_IB_CALL_DWORDS * 4);
}

/* An error ends the IB it is in; outside one it halts the engine. */
static void packet_failed(TesseraEngine *e, uint32_t err)
{
    tessera_guest_error(&e->m, err, e->m.fault_addr);
    e->transfer_open = false;
    if (!e->job_status) {
        e->job_status = err;
        e->job_status_offset = e->m.packet_offset;
    }
    if (e->ib.active) {
        end_ib(e);
        return;
    }
    trace_tessera_engine_halt(e->index, e->head, err);
    qatomic_set(&e->halted, true);
    tessera_irq_event(e->s, TSR_INT_ENGINE_HALT);
}

static void packet_done(TesseraEngine *e, uint32_t bytes, bool was_in_ib)
{
    if (was_in_ib) {
        e->ib.cur += bytes;
        qatomic_set(&e->ib_offset, e->ib.cur);
    } else if (e->ib.active) {
        e->window.bytes = 0;    /* IB_CALL: head stays on it */
        qatomic_set(&e->ib_offset, e->ib.cur);
    } else {
        advance_ring(e, bytes);
    }
}

/* Run one packet; what it returns is TESSERA_RETRY, TESSERA_STOPPED or 0. */
static uint32_t run_packet(TesseraEngine *e)
{
    bool in_ib = e->ib.active;
    uint32_t bytes = 0, err;

    e->m.packet_offset = in_ib ? e->ib.cur : e->head;
    e->m.fault_slot = TESSERA_NO_SLOT;
    e->m.fault_addr = 0;
    err = fetch_packet(e, e->m.packet_offset, &bytes);
    if (!err) {
        err = tessera_cmd_execute(e, e->packet, in_ib, in_ib && e->ib.user);
    }
    tessera_access_flush(&e->m);
    if (err == TESSERA_RETRY || err == TESSERA_STOPPED) {
        return err;
    }
    e->progress[0] = e->progress[1] = 0;
    qatomic_set(&e->waiting, false);
    if (err) {
        packet_failed(e, err);
    } else {
        packet_done(e, bytes, in_ib);
    }
    return TSR_ERR_NONE;
}

static void poll_wait(TesseraEngine *e)
{
    qemu_mutex_lock(&e->lock);
    if (!e->m.attention) {
        qemu_cond_timedwait(&e->cond, &e->lock, WAIT_POLL_MS);
    }
    qemu_mutex_unlock(&e->lock);
}

static void run_ring(TesseraEngine *e)
{
    while (!qatomic_read(&e->m.attention) && !e->halted && !e->hung) {
        if (e->ib.active && e->ib.cur == e->ib.end) {
            end_ib(e);
        } else if (!e->ib.active && e->head == qatomic_read(&e->tail)) {
            break;
        } else if (run_packet(e) == TESSERA_RETRY && e->waiting) {
            poll_wait(e);
        }
    }
}

/* ---- The thread -------------------------------------------------------- */

static void update_requests(TesseraEngine *e)
{
    qatomic_set(&e->m.stop, e->exiting || e->reset_req);
    qatomic_set(&e->m.attention, e->exiting || e->reset_req || e->pause_req);
    qemu_cond_broadcast(&e->cond);
}

static void reset_engine(TesseraEngine *e)
{
    trace_tessera_engine_reset(e->index, e->head, e->tail);
    e->enabled = false;
    qatomic_set(&e->halted, false);
    qatomic_set(&e->hung, false);
    qatomic_set(&e->waiting, false);
    qatomic_set(&e->head, 0);
    qatomic_set(&e->tail, 0);
    qatomic_set(&e->m.context, 0);
    qatomic_set(&e->ib_offset, 0);
    memset(&e->ib, 0, sizeof(e->ib));
    e->window.bytes = 0;
    e->irq_sent = 0;
    e->job_status = 0;
    e->job_status_offset = 0;
    e->job_start_ns = 0;
    e->transfer_open = false;
    e->progress[0] = e->progress[1] = 0;
    e->m.packet = 0;
    e->m.packet_offset = 0;
    memset(e->state, 0, sizeof(e->state));
    e->state_defined = 0;
    tessera_slots_clear(e);
    e->reset_req = false;
    update_requests(e);
    if (e->reset_counts) {
        e->reset_counts = false;
        if (qatomic_dec_fetch(&e->s->reset_pending) == 0) {
            qemu_bh_schedule(e->s->reset_bh);
        }
    }
    qemu_cond_broadcast(&e->ack_cond);
}

static bool runnable(TesseraEngine *e)
{
    return e->enabled && !e->halted && !e->hung &&
           (e->ib.active || e->head != e->tail);
}

static void park(TesseraEngine *e)
{
    if (!e->parked) {
        trace_tessera_engine_park(e->index, e->head);
        e->parked = true;
        qemu_cond_broadcast(&e->ack_cond);
    }
    qemu_cond_wait(&e->cond, &e->lock);
}

static void *engine_thread(void *opaque)
{
    TesseraEngine *e = opaque;

    rcu_register_thread();
    qemu_mutex_lock(&e->lock);
    while (!e->exiting) {
        if (e->reset_req) {
            reset_engine(e);
        } else if (e->pause_req) {
            park(e);
        } else if (runnable(e)) {
            e->parked = false;
            e->busy = true;
            qemu_mutex_unlock(&e->lock);
            run_ring(e);
            qemu_mutex_lock(&e->lock);
            e->busy = false;
        } else {
            e->parked = false;
            qemu_cond_wait(&e->cond, &e->lock);
        }
    }
    e->exited = true;
    qemu_cond_broadcast(&e->ack_cond);
    qemu_mutex_unlock(&e->lock);
    rcu_unregister_thread();
    return NULL;
}

/* ---- What the guest does ----------------------------------------------- */

static bool setup_ok(const TesseraEngine *e)
{
    uint32_t size = e->ring_size_reg;
    uint64_t top = 1ULL << TSR_ADDRESS_BITS;

    return is_power_of_2(size) && size >= TSR_RING_MIN_BYTES &&
           size <= TSR_RING_MAX_BYTES && e->ring_reg % TSR_PAGE_SIZE == 0 &&
           e->ring_reg < top && e->status_page_reg % TSR_PAGE_SIZE == 0 &&
           e->status_page_reg < top && e->status_page_reg;
}

static bool enable(TesseraEngine *e)
{
    if (e->reset_req || qatomic_read(&e->s->resetting) || !setup_ok(e)) {
        return false;
    }
    trace_tessera_engine_enable(e->index, e->ring_reg, e->ring_size_reg,
                                e->status_page_reg);
    e->ring = e->ring_reg;
    e->ring_size = e->ring_size_reg;
    e->status_page = e->status_page_reg;
    e->irq_sent = 0;
    e->window.bytes = 0;
    qatomic_set(&e->head, 0);
    qatomic_set(&e->tail, 0);
    e->enabled = true;
    return true;
}

/* A write of TSR_ENG_CONTROL. Clearing ENABLE is a reset too. */
void tessera_engine_control(TesseraEngine *e, uint32_t value)
{
    bool ok = !(value & ~(TSR_ENG_ENABLE | TSR_ENG_RESET));

    qemu_mutex_lock(&e->lock);
    if (ok && ((value & TSR_ENG_RESET) ||
               (e->enabled && !(value & TSR_ENG_ENABLE)))) {
        e->reset_req = true;
        update_requests(e);
    } else if (ok && (value & TSR_ENG_ENABLE) && !e->enabled) {
        ok = enable(e);
    }
    qemu_mutex_unlock(&e->lock);
    if (!ok) {
        tessera_guest_error(&e->s->cpu, TSR_ERR_RING,
                            TSR_ENG(e->index) + TSR_ENG_CONTROL);
    }
}

void tessera_engine_doorbell(TesseraEngine *e, uint32_t tail)
{
    bool ok;

    trace_tessera_doorbell(e->index, tail);
    qemu_mutex_lock(&e->lock);
    ok = e->enabled && !e->reset_req && tail % TSR_PKT_ALIGN == 0 &&
         tail < e->ring_size;
    if (ok) {
        qatomic_set(&e->tail, tail);
        qemu_cond_signal(&e->cond);
    }
    qemu_mutex_unlock(&e->lock);
    if (!ok) {
        tessera_guest_error(&e->s->cpu, TSR_ERR_RING,
                            TSR_DOORBELL(e->index));
    }
}

bool tessera_engine_enabled(TesseraEngine *e)
{
    QEMU_LOCK_GUARD(&e->lock);
    return e->enabled;
}

uint32_t tessera_engine_status(TesseraEngine *e)
{
    uint32_t status = 0;

    qemu_mutex_lock(&e->lock);
    if (e->reset_req) {
        status |= TSR_ENGS_RESETTING;
    } else if (qatomic_read(&e->halted)) {
        status |= TSR_ENGS_HALTED;
    } else if (!e->enabled ||
               (!e->busy && qatomic_read(&e->head) == e->tail)) {
        status |= TSR_ENGS_IDLE;
    }
    if (qatomic_read(&e->waiting)) {
        status |= TSR_ENGS_WAITING;
    }
    qemu_mutex_unlock(&e->lock);
    return status;
}

/* ---- What the machine does --------------------------------------------- */

/* Ask for a reset of all engines; @counts: the last one starts reset_bh. */
void tessera_engines_reset_begin(TesseraState *s, bool counts)
{
    for (unsigned int i = 0; i < s->num_engines; i++) {
        TesseraEngine *e = &s->engines[i];

        qemu_mutex_lock(&e->lock);
        e->reset_req = true;
        e->reset_counts = counts;
        update_requests(e);
        qemu_mutex_unlock(&e->lock);
    }
}

static bool reset_acked(TesseraEngine *e)
{
    return !e->reset_req;
}

static bool exit_acked(TesseraEngine *e)
{
    return e->exited;
}

static bool pause_acked(TesseraEngine *e)
{
    return e->parked && !e->reset_req;
}

/*
 * Wait for all engines, under the BQL. Engines do not need the BQL, but a bus
 * access of theirs might (a vIOMMU reporting a fault), so it is let go when
 * the answer takes unreasonably long.
 */
static void wait_acks(TesseraState *s, bool (*acked)(TesseraEngine *))
{
    int64_t until = g_get_monotonic_time() + ACK_WAIT_MS * 1000;

    for (unsigned int i = 0; i < s->num_engines; i++) {
        TesseraEngine *e = &s->engines[i];

        qemu_mutex_lock(&e->lock);
        while (!acked(e)) {
            int64_t left = (until - g_get_monotonic_time()) / 1000;

            if (left > 0) {
                qemu_cond_timedwait(&e->ack_cond, &e->lock, left);
                continue;
            }
            qemu_mutex_unlock(&e->lock);
            bql_unlock();
            g_usleep(1000);
            bql_lock();
            qemu_mutex_lock(&e->lock);
        }
        qemu_mutex_unlock(&e->lock);
    }
}

void tessera_engines_reset_wait(TesseraState *s)
{
    wait_acks(s, reset_acked);
}

static void set_pause(TesseraEngine *e, bool pause)
{
    qemu_mutex_lock(&e->lock);
    e->pause_req = pause;
    if (!pause) {
        trace_tessera_engine_resume(e->index, e->head);
    }
    update_requests(e);
    qemu_mutex_unlock(&e->lock);
}

void tessera_engines_pause(TesseraState *s)
{
    for (unsigned int i = 0; i < s->num_engines; i++) {
        set_pause(&s->engines[i], true);
    }
    wait_acks(s, pause_acked);
}

void tessera_engines_resume(TesseraState *s)
{
    for (unsigned int i = 0; i < s->num_engines; i++) {
        set_pause(&s->engines[i], false);
    }
}

/* The part of a device reset that follows once the engines have reset. */
void tessera_device_reset(TesseraState *s)
{
    qemu_bh_cancel(s->reset_bh);
    qatomic_set(&s->reset_pending, 0);
    s->scratch = 0;
    s->fw_addr = 0;
    s->fw_size = 0;
    s->mark_addr = 0;
    s->mark_size = 0;
    s->err_select = 0;
    qatomic_set(&s->fw_running, false);
    qatomic_set__nocheck(&s->dummy_page, 0);
    for (unsigned int i = 0; i < s->num_engines; i++) {
        TesseraEngine *e = &s->engines[i];

        qemu_mutex_lock(&e->lock);
        e->ring_reg = 0;
        e->ring_size_reg = 0;
        e->status_page_reg = 0;
        e->slot_select = 0;
        qemu_mutex_unlock(&e->lock);
    }
    tessera_paging_reset(s);
    tessera_strict_reset(s);
    tessera_errors_clear(s);
    tessera_irq_reset(s);
    qatomic_set(&s->resetting, false);
}

/* Drop a state that was loaded and must not run. The engines are parked. */
void tessera_device_forget(TesseraState *s)
{
    for (unsigned int i = 0; i < s->num_engines; i++) {
        TesseraEngine *e = &s->engines[i];

        qemu_mutex_lock(&e->lock);
        reset_engine(e);
        qemu_mutex_unlock(&e->lock);
    }
    tessera_device_reset(s);
    tessera_strict_forget(s);
    s->timestamp_hi = 0;
    s->distrusted = false;
}

/* A guest's reset: the vCPU does not wait, the last engine starts the rest. */
void tessera_device_reset_begin(TesseraState *s)
{
    if (qatomic_read(&s->resetting)) {
        return;
    }
    trace_tessera_device_reset(true);
    qatomic_set(&s->resetting, true);
    qatomic_set(&s->reset_pending, s->num_engines);
    tessera_engines_reset_begin(s, true);
}

/* ---- Life cycle ---------------------------------------------------------- */

static void engine_init(TesseraState *s, unsigned int index, uint32_t type)
{
    TesseraEngine *e = &s->engines[index];

    memset(e, 0, sizeof(*e));
    e->s = s;
    e->index = index;
    e->type = type;
    e->pause_req = !runstate_is_running();
    tessera_master_init(&e->m, s, index);
    e->scratch = g_malloc0(TESSERA_SCRATCH_BYTES);
    e->frags = g_new0(uint32_t, TSR_SURF_MAX_DIM);
    e->texpages = g_new0(TesseraTexPage, TESSERA_TEXPAGES);
    e->num_slots = s->cfg.num_slots;
    e->slots = g_new0(TesseraSlot, e->num_slots);
    qemu_mutex_init(&e->lock);
    qemu_mutex_init(&e->slot_lock);
    qemu_cond_init(&e->cond);
    qemu_cond_init(&e->ack_cond);
    update_requests(e);
}

static void engine_start(TesseraEngine *e)
{
    g_autofree char *name = g_strdup_printf("tessera-%s%u",
                                            e->type == TSR_ENGINE_PAGING
                                            ? "paging" : "render", e->index);

    qemu_thread_create(&e->thread, name, engine_thread, e,
                       QEMU_THREAD_JOINABLE);
}

void tessera_engines_init(TesseraState *s)
{
    unsigned int i;

    s->num_engines = s->cfg.render_engines + s->cfg.paging_engines;
    for (i = 0; i < s->num_engines; i++) {
        engine_init(s, i, i < s->cfg.render_engines ? TSR_ENGINE_RENDER
                                                    : TSR_ENGINE_PAGING);
    }
    for (i = 0; i < s->num_engines; i++) {
        engine_start(&s->engines[i]);
    }
}

/*
 * End all threads before anything is taken from one of them: an engine that
 * still runs may look at the slots of the others.
 */
void tessera_engines_stop(TesseraState *s)
{
    unsigned int i;

    for (i = 0; i < s->num_engines; i++) {
        TesseraEngine *e = &s->engines[i];

        qemu_mutex_lock(&e->lock);
        e->exiting = true;
        update_requests(e);
        qemu_mutex_unlock(&e->lock);
    }
    wait_acks(s, exit_acked);
    for (i = 0; i < s->num_engines; i++) {
        qemu_thread_join(&s->engines[i].thread);
    }
}

/* When nobody can reach the device any more. */
void tessera_engines_free(TesseraState *s)
{
    for (unsigned int i = 0; i < s->num_engines; i++) {
        TesseraEngine *e = &s->engines[i];

        qemu_cond_destroy(&e->cond);
        qemu_cond_destroy(&e->ack_cond);
        qemu_mutex_destroy(&e->lock);
        qemu_mutex_destroy(&e->slot_lock);
        tessera_master_fini(&e->m);
        g_free(e->scratch);
        g_free(e->band);
        g_free(e->frags);
        g_free(e->texpages);
        g_free(e->slots);
    }
    s->num_engines = 0;
}
