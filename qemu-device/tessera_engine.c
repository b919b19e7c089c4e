/*
 * Tessera virtual GPU: engines
 *
 * Each engine is a host thread that sleeps until a doorbell. Requests of the
 * guest and of the machine are flags under the engine's lock, and the thread
 * acts on them. Three operations take effect at once, under the lock: to enable
 * an engine, to move its tail, and to release it from an injected hang.
 * tessera_engine.h describes the states. Registers and the main loop call this
 * unit under the BQL, and may wait for the threads, which never take the BQL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "tessera_engine.h"
#include "tessera_fetch.h"
#include "tessera_iommu.h"
#include "tessera_irq.h"
#include "tessera_mmu.h"
#include "tessera_pipeline.h"
#include "tessera_save.h"
#include "tessera_strict.h"
#include "tessera_surface.h"
#include "trace.h"

/* ---- The thread ---------------------------------------------------------- */

static void update_requests(TesseraEngine *e)
{
    qatomic_set(&e->m.stop, e->exiting || e->reset_req);
    qatomic_set(&e->m.attention, e->exiting || e->reset_req || e->pause_req ||
                                 (e->preempt_req && !e->preempt_stuck));
    qemu_cond_broadcast(&e->cond);
}

/* One of the engines that reset_bh waits for has finished its reset. */
static void reset_counted(TesseraState *s)
{
    if (qatomic_dec_fetch(&s->reset_pending) == 0) {
        qemu_bh_schedule(tessera_pci(s)->reset_bh);
    }
}

/* Leave the engine disabled, without ring, job or cached translations. */
static void clear_engine(TesseraEngine *e)
{
    e->enabled = false;
    e->preempted = false;
    e->preempt_stuck = false;
    qatomic_set(&e->preempt_req, false);
    qatomic_set(&e->halted, false);
    qatomic_set(&e->hung, false);
    qatomic_set(&e->waiting, false);
    qatomic_set(&e->head, 0);
    qatomic_set(&e->tail, 0);
    qatomic_set(&e->m.context, 0);
    qatomic_set(&e->ib_offset, 0);
    memset(&e->ib, 0, sizeof(e->ib));
    e->job_begun = false;
    e->job_head = 0;
    e->window.bytes = 0;
    e->irq_sent = 0;
    e->job_status = 0;
    e->job_status_offset = 0;
    e->job_start_ns = 0;
    e->transfer_open = false;
    e->progress[0] = e->progress[1] = 0;
    e->wait_timeouts = 0;
    e->m.packet = 0;
    e->m.packet_offset = 0;
    memset(e->state, 0, sizeof(e->state));
    e->state_defined = 0;
    tessera_slots_set_vm(e, 0, 0);
    tessera_mmu_forget(&e->m);
}

static void reset_engine(TesseraEngine *e)
{
    trace_tessera_engine_reset(e->index, e->head, e->tail);
    clear_engine(e);
    e->reset_req = false;
    update_requests(e);
    if (e->reset_counts) {
        e->reset_counts = false;
        reset_counted(e->s);
    }
    qemu_cond_broadcast(&e->ack_cond);
}

static bool runnable(TesseraEngine *e)
{
    return e->enabled && !e->halted && !e->hung &&
           (e->ib.active || e->head != e->tail);
}

static bool preemptible(TesseraEngine *e)
{
    return e->preempt_req && !e->preempt_stuck && !e->halted && !e->hung;
}

/*
 * Save the job, and disable the engine. The save area is written without the
 * lock. If a reset comes meanwhile, it wins and the contents of the area are
 * void. A pause waits until the save is complete.
 */
static void preempt_engine(TesseraEngine *e)
{
    uint32_t err;

    e->parked = false;
    e->busy = true;
    qemu_mutex_unlock(&e->lock);
    e->m.fault_slot = TESSERA_NO_SLOT;
    err = tessera_save(e);
    if (err) {
        tessera_guest_error(&e->m, err, e->save_addr);
    }
    qemu_mutex_lock(&e->lock);
    e->busy = false;
    if (e->reset_req) {
        return;
    }
    if (err) {
        trace_tessera_engine_halt(e->index, e->head, err);
        qatomic_set(&e->halted, true);
        qatomic_set(&e->waiting, false);
        qatomic_set(&e->preempt_req, false);
        tessera_irq_event(e->s, TSR_INT_ENGINE_HALT);
    } else {
        clear_engine(e);
        e->preempted = true;
        tessera_irq_event(e->s, TSR_INT_PREEMPTED);
    }
    update_requests(e);
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
        } else if (preemptible(e)) {
            preempt_engine(e);
        } else if (runnable(e)) {
            e->parked = false;
            e->busy = true;
            qemu_mutex_unlock(&e->lock);
            tessera_fetch_run(e);
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

/* ---- Requests of the guest ----------------------------------------------- */

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
    e->job_begun = false;
    e->preempted = false;
    e->enabled = true;
    return true;
}

/* Fault injection: whether this request sticks. */
static bool take_stick(TesseraState *s)
{
    uint32_t left = qatomic_read(&s->stick_preempt);

    while (left) {
        uint32_t seen = qatomic_cmpxchg(&s->stick_preempt, left, left - 1);

        if (seen == left) {
            return true;
        }
        left = seen;
    }
    return false;
}

static bool request_preemption(TesseraEngine *e)
{
    if (!(e->s->caps & TSR_CAP_PREEMPTION) || !e->enabled || e->reset_req ||
        e->preempt_req || !e->save_reg || e->save_reg % TSR_PAGE_SIZE ||
        e->save_reg >= 1ULL << TSR_ADDRESS_BITS) {
        return false;
    }
    trace_tessera_engine_preempt(e->index, e->head, e->save_reg);
    e->save_addr = e->save_reg;
    e->preempt_stuck = take_stick(e->s);
    qatomic_set(&e->preempt_req, true);
    update_requests(e);
    return true;
}

/* Handle a write of TSR_ENG_CONTROL. Clearing ENABLE resets the engine, too. */
void tessera_engine_control(TesseraEngine *e, uint32_t value)
{
    bool ok = !(value & ~(TSR_ENG_ENABLE | TSR_ENG_RESET | TSR_ENG_PREEMPT));

    qemu_mutex_lock(&e->lock);
    if (value & TSR_ENG_PREEMPT) {
        ok = value == (TSR_ENG_ENABLE | TSR_ENG_PREEMPT) &&
             request_preemption(e);
    } else if (ok && ((value & TSR_ENG_RESET) ||
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
        qatomic_inc(&e->s->signals);
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
    if (!e->reset_req) {
        status |= (e->preempt_req ? TSR_ENGS_PREEMPTING : 0) |
                  (e->preempted ? TSR_ENGS_PREEMPTED : 0);
    }
    qemu_mutex_unlock(&e->lock);
    return status;
}

/* Release the engine from an injected hang. */
void tessera_engine_let_go(TesseraEngine *e)
{
    qemu_mutex_lock(&e->lock);
    qatomic_set(&e->hung, false);
    qemu_cond_broadcast(&e->cond);
    qemu_mutex_unlock(&e->lock);
}

/* ---- Requests of the machine --------------------------------------------- */

/*
 * Ask all engines for a reset. With @counts, the last engine to finish starts
 * reset_bh. An engine that has not finished an earlier reset is counted
 * already.
 */
void tessera_engines_reset_begin(TesseraState *s, bool counts)
{
    /* keep it above 0 until all are asked */
    qatomic_inc(&s->reset_pending);
    for (unsigned int i = 0; i < s->num_engines; i++) {
        TesseraEngine *e = &s->engines[i];

        qemu_mutex_lock(&e->lock);
        if (counts != e->reset_counts) {
            qatomic_add(&s->reset_pending, counts ? 1 : -1);
        }
        e->reset_req = true;
        e->reset_counts = counts;
        update_requests(e);
        qemu_mutex_unlock(&e->lock);
    }
    reset_counted(s);
}

static bool reset_acked(TesseraEngine *e)
{
    return !e->reset_req || e->exited;
}

static bool exit_acked(TesseraEngine *e)
{
    return e->exited;
}

/* A translation that the pause waits for may have unplugged the device. */
static bool pause_acked(TesseraEngine *e)
{
    return e->exited || (e->parked && !e->reset_req);
}

/*
 * Wait for all engines with the BQL held: the caller is in the middle of a run
 * state change or a reset. The engines need no lock of the caller to answer. If
 * there is an IOMMU they need translations, which this thread makes if
 * @translate is set. Otherwise their accesses fail, and the caller drops the
 * packets and the errors.
 */
static void wait_acks(TesseraState *s, bool (*acked)(TesseraEngine *),
                      bool translate)
{
    for (unsigned int i = 0; i < s->num_engines; i++) {
        TesseraEngine *e = &s->engines[i];

        qemu_mutex_lock(&e->lock);
        while (!acked(e)) {
            if (e->lookup.state == TESSERA_LOOKUP_IDLE) {
                qemu_cond_wait(&e->ack_cond, &e->lock);
            } else {
                tessera_iommu_serve_waited(e, translate);
            }
        }
        qemu_mutex_unlock(&e->lock);
    }
}

void tessera_engines_reset_wait(TesseraState *s)
{
    wait_acks(s, reset_acked, false);
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
    wait_acks(s, pause_acked, true);
}

void tessera_engines_resume(TesseraState *s)
{
    for (unsigned int i = 0; i < s->num_engines; i++) {
        set_pause(&s->engines[i], false);
    }
}

/* Drop a loaded state that must not run. The engines are parked. */
void tessera_engines_forget(TesseraState *s)
{
    for (unsigned int i = 0; i < s->num_engines; i++) {
        TesseraEngine *e = &s->engines[i];

        qemu_mutex_lock(&e->lock);
        reset_engine(e);
        qemu_mutex_unlock(&e->lock);
    }
}

/* Apply the requests in a loaded state. The engine is parked. */
void tessera_engine_loaded(TesseraEngine *e)
{
    qemu_mutex_lock(&e->lock);
    update_requests(e);
    qemu_mutex_unlock(&e->lock);
}

/* Clear the set-up registers. Only a device reset does that. */
void tessera_engines_clear_setup(TesseraState *s)
{
    for (unsigned int i = 0; i < s->num_engines; i++) {
        TesseraEngine *e = &s->engines[i];

        qemu_mutex_lock(&e->lock);
        e->ring_reg = 0;
        e->ring_size_reg = 0;
        e->status_page_reg = 0;
        e->save_reg = 0;
        e->slot_select = 0;
        qemu_mutex_unlock(&e->lock);
    }
}

/* ---- Life cycle ---------------------------------------------------------- */

static void engine_init(TesseraState *s, unsigned int index, uint32_t type)
{
    TesseraEngine *e = &s->engines[index];

    memset(e, 0, sizeof(*e));
    e->s = s;
    e->index = index;
    e->type = type;
    e->pause_req = !s->vm_running;
    e->halt_job = type == TSR_ENGINE_RENDER ? s->halt_job : 0;
    tessera_pipeline_init(e);
    qemu_mutex_init(&e->lock);
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
 * End all threads before any of them is freed: an engine that still runs may
 * read the slots of the others.
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
    wait_acks(s, exit_acked, false);
    for (i = 0; i < s->num_engines; i++) {
        qemu_thread_join(&s->engines[i].thread);
    }
}

/* Called when no thread can reach the device any more. */
void tessera_engines_free(TesseraState *s)
{
    for (unsigned int i = 0; i < s->num_engines; i++) {
        TesseraEngine *e = &s->engines[i];

        qemu_cond_destroy(&e->cond);
        qemu_cond_destroy(&e->ack_cond);
        qemu_mutex_destroy(&e->lock);
        tessera_pipeline_fini(e);
    }
    s->num_engines = 0;
}
