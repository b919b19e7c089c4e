/*
 * Tessera virtual GPU: the command decoder
 *
 * A table of opcodes and a small handler for each. Handlers get a private copy
 * of the packet, so the guest cannot change it meanwhile. Called from engine
 * threads, with no lock held.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "tessera_cmd.h"
#include "tessera_copy.h"
#include "tessera_irq.h"
#include "tessera_mmu.h"
#include "tessera_paging.h"
#include "tessera_raster.h"
#include "tessera_save.h"
#include "tessera_strict.h"
#include "tessera_surface.h"
#include "trace.h"

#define ON_RENDER   (1u << TSR_ENGINE_RENDER)
#define ON_PAGING   (1u << TSR_ENGINE_PAGING)
#define ON_ANY      (ON_RENDER | ON_PAGING)

typedef struct Opcode {
    const char *name;
    uint16_t dwords;            /* 0: variable */
    uint8_t engines;
    uint8_t flags;              /* header flags that it accepts */
    uint32_t (*run)(TesseraEngine *e, const uint32_t *p);
} Opcode;

static uint32_t packet_dwords(uint32_t header)
{
    return (header & TSR_PKT_LENGTH_MASK) >> TSR_PKT_LENGTH_SHIFT;
}

static uint32_t packet_flags(uint32_t header)
{
    return (header & TSR_PKT_FLAGS_MASK) >> TSR_PKT_FLAGS_SHIFT;
}

/*
 * Let WAITs of other engines read their values again after a store. An engine
 * that read before the store either finds that signals has changed, or is
 * woken.
 */
static void wake_waits(TesseraState *s)
{
    smp_mb__before_rmw();
    qatomic_inc(&s->signals);
    smp_mb__after_rmw();
    for (unsigned int i = 0; i < s->num_engines; i++) {
        TesseraEngine *e = &s->engines[i];

        if (qatomic_read(&e->waiting)) {
            qemu_mutex_lock(&e->lock);
            qemu_cond_broadcast(&e->cond);
            qemu_mutex_unlock(&e->lock);
        }
    }
}

/* @raise: store the value only if it is higher. */
static uint32_t write_u64(TesseraEngine *e, uint64_t addr, uint64_t value,
                          bool raise)
{
    uint64_t le = cpu_to_le64(value);
    uint32_t err;

    if (addr % 8) {
        return TSR_ERR_PACKET;
    }
    smp_mb(); /* order earlier accesses before the store of the value */
    err = raise ? tessera_dma_raise(&e->m, addr, value)
                : tessera_dma_rw(&e->m, addr, &le, sizeof(le), true, true);
    wake_waits(e->s);
    return err;
}

static uint32_t run_nop(TesseraEngine *e, const uint32_t *p)
{
    return TSR_ERR_NONE;
}

static uint32_t run_unbind(TesseraEngine *e, const uint32_t *p)
{
    return tessera_slot_unbind(e, p[1]);
}

static uint32_t check_state(TesseraEngine *e, uint32_t reg, uint32_t value)
{
    switch (reg) {
    case TSR_STATE_TARGET_SLOT:
    case TSR_STATE_TEXTURE_SLOT:
        if (value >= e->s->cfg.num_slots) {
            return tessera_fault(&e->m, TSR_ERR_SLOT_RANGE, value, 0);
        }
        return TSR_ERR_NONE;
    case TSR_STATE_SAMPLER:
        return value & ~TSR_SAMPLER_ALL ? TSR_ERR_PACKET : TSR_ERR_NONE;
    case TSR_STATE_BLEND:
        return value >= TSR_BLEND_COUNT ? TSR_ERR_PACKET : TSR_ERR_NONE;
    default:
        return TSR_ERR_NONE;
    }
}

static uint32_t run_set_state(TesseraEngine *e, const uint32_t *p)
{
    uint32_t first = p[1] & 0xffff, count = p[1] >> 16;
    uint32_t dwords = packet_dwords(p[0]), i, err;

    if (!count || first >= TSR_STATE_COUNT ||
        count > TSR_STATE_COUNT - first ||
        dwords != ROUND_UP(2 + count, 2) ||
        (dwords > 2 + count && p[2 + count])) {
        return TSR_ERR_PACKET;
    }
    for (i = 0; i < count; i++) {
        err = check_state(e, first + i, p[2 + i]);
        if (err) {
            return err;
        }
    }
    for (i = 0; i < count; i++) {
        e->state[first + i] = p[2 + i];
        e->state_defined |= 1u << (first + i);
    }
    return TSR_ERR_NONE;
}

static uint32_t run_query_timestamp(TesseraEngine *e, const uint32_t *p)
{
    uint64_t now = cpu_to_le64(tessera_clock_ns());
    TesseraView *v = e->scratch;
    TesseraSurface surf;
    uint32_t err;

    if (p[3] || p[2] % 8) {
        return TSR_ERR_PACKET;
    }
    err = tessera_surface_get(e, p[1], TSR_SURF_WRITE, &surf);
    if (!err) {
        err = tessera_buffer_view(e, &surf, p[2], sizeof(now), true, v);
    }
    return err ? err : tessera_view_rw(v, 0, &now, sizeof(now), true);
}

static bool take_hang(TesseraEngine *e)
{
    int32_t want = e->index;
    bool taken;

    if (likely(qatomic_read(&e->s->hang_engine) != want)) {
        return false;
    }
    /*
     * Under the lock, so that tessera_engine_let_go() runs before or after
     * this.
     */
    qemu_mutex_lock(&e->lock);
    taken = qatomic_cmpxchg(&e->s->hang_engine, want, -1) == want;
    if (taken) {
        qatomic_set(&e->hung, true);
    }
    qemu_mutex_unlock(&e->lock);
    if (taken) {
        trace_tessera_engine_hang(e->index, e->m.context);
    }
    return taken;
}

/* Fault injection: whether the engine halts at this job. */
static bool take_halt(TesseraEngine *e)
{
    uint32_t left = qatomic_read(&e->halt_job);
    uint32_t seen;

    while (left) {
        seen = qatomic_cmpxchg(&e->halt_job, left, left - 1);
        if (seen == left) {
            return left == 1;
        }
        left = seen;
    }
    return false;
}

/*
 * Fault injection: sleep for @us microseconds, or until a request comes.
 * Returns false for a reset or exit.
 */
static bool inject_delay(TesseraEngine *e, uint64_t us)
{
    int64_t until = g_get_monotonic_time() + us;
    int64_t left;

    qemu_mutex_lock(&e->lock);
    while (!e->m.attention && (left = until - g_get_monotonic_time()) > 0) {
        if (left >= 1000) {
            qemu_cond_timedwait(&e->cond, &e->lock, left / 1000);
        } else {
            qemu_mutex_unlock(&e->lock);
            g_usleep(left);
            qemu_mutex_lock(&e->lock);
        }
    }
    qemu_mutex_unlock(&e->lock);
    return !tessera_stopping(&e->m);
}

/*
 * An IB at a virtual address must not change the address space that it is
 * fetched through.
 */
static bool in_virtual_ib(TesseraEngine *e)
{
    return e->ib.active && e->ib.vm;
}

static uint32_t run_job_begin(TesseraEngine *e, const uint32_t *p)
{
    TesseraState *s = e->s;
    uint32_t *delay = e->type == TSR_ENGINE_PAGING ? &s->paging_delay_us
                                                   : &s->render_delay_us;
    uint32_t us = qatomic_read(delay);

    if (p[2] || p[3] || in_virtual_ib(e) || take_halt(e)) {
        return TSR_ERR_PACKET;
    }
    qatomic_set(&e->m.context, p[1]);
    if (take_hang(e)) {
        return TESSERA_RETRY;
    }
    trace_tessera_job_begin(e->index, p[1]);
    e->job_start_ns = tessera_clock_ns();
    if (us && !inject_delay(e, us)) {
        return TESSERA_STOPPED;
    }
    /*
     * The job has not begun. After the preemption it begins anew, delay
     * included.
     */
    if (us && qatomic_read(&e->preempt_req) &&
        qatomic_read(&e->m.attention)) {
        return TESSERA_RETRY;
    }
    /* A JOB_BEGIN in a kernel IB is part of the ring's job. */
    if (!e->ib.active) {
        e->job_begun = true;
        e->job_head = e->head;
    }
    tessera_slots_set_vm(e, 0, 0);
    if (s->cfg.strict) {
        for (unsigned int i = 0; i < TSR_STATE_COUNT; i++) {
            e->state[i] = TSR_POISON;
        }
        e->state_defined = 0;
    }
    e->job_status = TSR_ERR_NONE;
    e->job_status_offset = 0;
    return TSR_ERR_NONE;
}

/*
 * Skip this job if an earlier one failed. The skip is no error of this job: the
 * submitter of the dependency learns from the record which job failed. A record
 * that cannot be read counts as a failure, too.
 */
static uint32_t run_job_after(TesseraEngine *e, const uint32_t *p)
{
    uint64_t record = tessera_u64(&p[2]);
    uint32_t status, err;

    if (p[1] || record % 8 || record > -(uint64_t)TSR_REC_BYTES) {
        return TSR_ERR_PACKET;
    }
    err = tessera_dma_rw(&e->m, record + TSR_REC_STATUS, &status,
                         sizeof(status), false, false);
    if (err || status) {
        e->job_status = TSR_ERR_SKIPPED;
    }
    return err;
}

static uint32_t run_set_vm(TesseraEngine *e, const uint32_t *p)
{
    uint64_t root = tessera_u64(&p[2]);

    if (!(e->s->caps & TSR_CAP_VM) || p[1] >= TESSERA_ASIDS ||
        !tessera_mmu_root_ok(root) || in_virtual_ib(e)) {
        return TSR_ERR_PACKET;
    }
    trace_tessera_set_vm(e->index, p[1], root);
    tessera_slots_set_vm(e, p[1], root);
    return TSR_ERR_NONE;
}

static uint32_t run_ib_call(TesseraEngine *e, const uint32_t *p)
{
    TesseraIb ib = {
        .active = true,
        .user = packet_flags(p[0]) & TSR_IB_USER,
        .vm = packet_flags(p[0]) & TSR_IB_VM,
        .total = p[1],
        .list = tessera_u64(&p[2]),
        .cur = p[4],
        .end = p[5],
    };

    if (e->ib.active || ib.total > e->s->cfg.max_ib_bytes ||
        ib.end > ib.total || ib.cur > ib.end || ib.list % 8 ||
        (ib.vm && !e->m.vm.active) ||
        ((ib.total | ib.cur | ib.end) % TSR_PKT_ALIGN)) {
        return TSR_ERR_PACKET;
    }
    if (ib.user && e->job_status == TSR_ERR_SKIPPED) {
        return TSR_ERR_NONE;
    }
    trace_tessera_ib_call(e->index, e->m.context, ib.user, ib.total, ib.cur,
                          ib.end);
    e->ib = ib;
    return TSR_ERR_NONE;
}

static uint32_t write_record(TesseraEngine *e, uint64_t addr, uint64_t seqno)
{
    uint8_t rec[TSR_REC_BYTES];

    stq_le_p(rec + TSR_REC_SEQNO, seqno);
    stl_le_p(rec + TSR_REC_STATUS, e->job_status);
    stl_le_p(rec + TSR_REC_OFFSET, e->job_status_offset);
    stq_le_p(rec + TSR_REC_START_NS, e->job_start_ns);
    stq_le_p(rec + TSR_REC_END_NS, tessera_clock_ns());
    return tessera_dma_rw(&e->m, addr, rec, sizeof(rec), true, false);
}

/*
 * Raise the vector unless a pending interrupt will make the driver see the
 * fence.
 */
static uint32_t fence_interrupt(TesseraEngine *e)
{
    uint32_t ack, sent, err;

    smp_mb(); /* SEQNO before IRQ_ACK: pairs with the driver's handler */
    err = tessera_dma_rw(&e->m, e->status_page + TSR_SP_IRQ_ACK, &ack,
                         sizeof(ack), false, false);
    if (err || le32_to_cpu(ack) != e->irq_sent) {
        return err;
    }
    e->irq_sent++;
    sent = cpu_to_le32(e->irq_sent);
    err = tessera_dma_rw(&e->m, e->status_page + TSR_SP_IRQ_SENT, &sent,
                         sizeof(sent), true, false);
    if (!err) {
        tessera_irq_engine(e);
    }
    return err;
}

/*
 * Fault injection: delay the next step of the fence. A request ends the delay,
 * but the fence is always completed.
 */
static void fence_gap(TesseraEngine *e)
{
    uint32_t us = qatomic_read(&e->s->fence_gap_us);

    if (us) {
        inject_delay(e, us);
    }
}

static uint32_t run_fence(TesseraEngine *e, const uint32_t *p)
{
    uint64_t seqno = tessera_u64(&p[2]), record = tessera_u64(&p[4]);
    bool irq = packet_flags(p[0]) & TSR_FENCE_INTERRUPT;
    uint64_t le = cpu_to_le64(seqno);
    uint32_t head = e->head, err = TSR_ERR_NONE;

    if (p[1] || record % 8) {
        return TSR_ERR_PACKET;
    }
    if (!e->ib.active) {
        head = (head + TSR_FENCE_DWORDS * 4) & (e->ring_size - 1);
    }
    head = cpu_to_le32(head);
    trace_tessera_fence(e->index, e->m.context, seqno, e->job_status, irq);
    tessera_access_flush(&e->m);
    if (record) {
        err = write_record(e, record, seqno);
        fence_gap(e);
    }
    if (!err) {
        err = tessera_dma_rw(&e->m, e->status_page + TSR_SP_SEQNO, &le,
                             sizeof(le), true, false);
        fence_gap(e);
    }
    if (!err) {
        err = tessera_dma_rw(&e->m, e->status_page + TSR_SP_HEAD, &head,
                             sizeof(head), true, false);
        fence_gap(e);
    }
    wake_waits(e->s);
    if (!err && irq) {
        err = fence_interrupt(e);
    }
    return err;
}

/* Read the u64 that a wait is for. wait_result() must follow. */
static uint32_t read_waited(TesseraEngine *e, uint64_t addr, uint64_t *now)
{
    uint32_t err;

    e->wait_seen = qatomic_read(&e->s->signals);
    smp_rmb(); /* signals before the value: pairs with wake_waits() */
    err = tessera_dma_rw(&e->m, addr, now, sizeof(*now), false, true);
    *now = le64_to_cpu(*now);
    return err;
}

static uint32_t wait_result(TesseraEngine *e, bool reached)
{
    if (reached) {
        smp_mb(); /* order reads of the signalled data after the value */
        return TSR_ERR_NONE;
    }
    qatomic_set(&e->waiting, true);
    return TESSERA_RETRY;
}

static uint32_t run_wait(TesseraEngine *e, const uint32_t *p)
{
    uint64_t addr = tessera_u64(&p[2]), value = tessera_u64(&p[4]), now = 0;
    uint32_t err;

    if (p[1] || addr % 8) {
        return TSR_ERR_PACKET;
    }
    err = read_waited(e, addr, &now);
    return err ? err : wait_result(e, (int64_t)(now - value) >= 0);
}

/* Find the fence of an unprivileged packet. */
static uint32_t find_fence(TesseraEngine *e, const uint32_t *p, bool write,
                           uint64_t *addr)
{
    uint64_t va = tessera_u64(&p[2]);

    if (p[1] || va % 8 || !e->m.vm.active) {
        return TSR_ERR_PACKET;
    }
    return tessera_mmu_fence(&e->m, va, write, addr);
}

static uint32_t run_fence_wait(TesseraEngine *e, const uint32_t *p)
{
    uint64_t addr = 0, now = 0;
    uint32_t err = find_fence(e, p, false, &addr);

    if (!err) {
        err = read_waited(e, addr, &now);
    }
    return err ? err : wait_result(e, now >= tessera_u64(&p[4]));
}

static uint32_t run_fence_signal(TesseraEngine *e, const uint32_t *p)
{
    uint64_t addr = 0;
    uint32_t err = find_fence(e, p, true, &addr);

    return err ? err : write_u64(e, addr, tessera_u64(&p[4]), true);
}

static uint32_t run_timestamp(TesseraEngine *e, const uint32_t *p)
{
    return p[1] ? TSR_ERR_PACKET
                : write_u64(e, tessera_u64(&p[2]), tessera_clock_ns(),
                            false);
}

static uint32_t run_signal(TesseraEngine *e, const uint32_t *p)
{
    return p[1] ? TSR_ERR_PACKET
                : write_u64(e, tessera_u64(&p[2]), tessera_u64(&p[4]),
                            packet_flags(p[0]) & TSR_SIGNAL_RAISE);
}

static const Opcode opcodes[256] = {
    [TSR_OP_NOP] = { "NOP", 0, ON_ANY, 0, run_nop },
    [TSR_OP_BIND_SLOT] = { "BIND_SLOT", TSR_BIND_SLOT_DWORDS, ON_ANY, 0,
                           tessera_slot_bind },
    [TSR_OP_UNBIND_SLOT] = { "UNBIND_SLOT", TSR_UNBIND_SLOT_DWORDS, ON_ANY, 0,
                             run_unbind },
    [TSR_OP_SET_STATE] = { "SET_STATE", 0, ON_RENDER, 0, run_set_state },
    [TSR_OP_FILL] = { "FILL", TSR_FILL_DWORDS, ON_ANY, 0, tessera_copy_fill },
    [TSR_OP_COPY] = { "COPY", TSR_COPY_DWORDS, ON_ANY, 0, tessera_copy_copy },
    [TSR_OP_BLIT] = { "BLIT", TSR_BLIT_DWORDS, ON_RENDER, 0, tessera_blit },
    [TSR_OP_DRAW] = { "DRAW", TSR_DRAW_DWORDS, ON_RENDER, TSR_DRAW_TEXTURED,
                      tessera_raster_draw },
    [TSR_OP_QUERY_TIMESTAMP] = { "QUERY_TIMESTAMP",
                                 TSR_QUERY_TIMESTAMP_DWORDS, ON_ANY, 0,
                                 run_query_timestamp },
    [TSR_OP_FENCE_WAIT] = { "FENCE_WAIT", TSR_FENCE_WAIT_DWORDS, ON_RENDER, 0,
                            run_fence_wait },
    [TSR_OP_FENCE_SIGNAL] = { "FENCE_SIGNAL", TSR_FENCE_SIGNAL_DWORDS,
                              ON_RENDER, 0, run_fence_signal },
    [TSR_OP_JOB_BEGIN] = { "JOB_BEGIN", TSR_JOB_BEGIN_DWORDS, ON_ANY, 0,
                           run_job_begin },
    [TSR_OP_IB_CALL] = { "IB_CALL", TSR_IB_CALL_DWORDS, ON_ANY,
                         TSR_IB_USER | TSR_IB_VM, run_ib_call },
    [TSR_OP_FENCE] = { "FENCE", TSR_FENCE_DWORDS, ON_ANY, TSR_FENCE_INTERRUPT,
                       run_fence },
    [TSR_OP_WAIT] = { "WAIT", TSR_WAIT_DWORDS, ON_ANY, 0, run_wait },
    [TSR_OP_TIMESTAMP] = { "TIMESTAMP", TSR_TIMESTAMP_DWORDS, ON_ANY, 0,
                           run_timestamp },
    [TSR_OP_SIGNAL] = { "SIGNAL", TSR_SIGNAL_DWORDS, ON_ANY, TSR_SIGNAL_RAISE,
                        run_signal },
    [TSR_OP_JOB_AFTER] = { "JOB_AFTER", TSR_JOB_AFTER_DWORDS, ON_ANY, 0,
                           run_job_after },
    [TSR_OP_RESUME] = { "RESUME", TSR_RESUME_DWORDS, ON_ANY, 0,
                        tessera_resume },
    [TSR_OP_SET_VM] = { "SET_VM", TSR_SET_VM_DWORDS, ON_ANY, 0, run_set_vm },
    [TSR_OP_TRANSFER] = { "TRANSFER", TSR_TRANSFER_DWORDS, ON_PAGING,
                          TSR_TRANSFER_SRC_PAGES | TSR_TRANSFER_DST_PAGES |
                          TSR_TRANSFER_START | TSR_TRANSFER_END |
                          TSR_TRANSFER_SRC_CACHED | TSR_TRANSFER_DST_CACHED,
                          tessera_paging_transfer },
    [TSR_OP_PAGE_FILL] = { "PAGE_FILL", TSR_PAGE_FILL_DWORDS, ON_PAGING, 0,
                           tessera_paging_fill },
    [TSR_OP_MAP_APERTURE] = { "MAP_APERTURE", TSR_MAP_APERTURE_DWORDS,
                              ON_PAGING, 0, tessera_paging_map },
    [TSR_OP_UNMAP_APERTURE] = { "UNMAP_APERTURE", TSR_UNMAP_APERTURE_DWORDS,
                                ON_PAGING, 0, tessera_paging_unmap },
    [TSR_OP_MARK] = { "MARK", TSR_MARK_DWORDS, ON_PAGING, 0,
                      tessera_paging_mark },
    [TSR_OP_WRITE_PTES] = { "WRITE_PTES", TSR_WRITE_PTES_DWORDS, ON_PAGING,
                            TSR_PTES_VRAM | TSR_PTES_LIST | TSR_PTES_GROUPS,
                            tessera_mmu_write_ptes },
    [TSR_OP_TLB_FLUSH] = { "TLB_FLUSH", TSR_TLB_FLUSH_DWORDS, ON_ANY, 0,
                           tessera_mmu_flush },
};

bool tessera_cmd_length_ok(uint32_t header)
{
    uint32_t dwords = packet_dwords(header);

    return dwords >= 2 && dwords % 2 == 0 && dwords <= TSR_PKT_MAX_DWORDS;
}

/* Check and run one packet. The caller has checked its length. */
uint32_t tessera_cmd_execute(TesseraEngine *e, const uint32_t *p, bool in_ib,
                             bool user)
{
    uint32_t code = (p[0] & TSR_PKT_OPCODE_MASK) >> TSR_PKT_OPCODE_SHIFT;
    const Opcode *op = &opcodes[code];

    trace_tessera_packet(e->index, e->m.context, in_ib, e->m.packet_offset,
                         op->name ? op->name : "?", p[0]);
    if (user && code >= TSR_OP_PRIVILEGED) {
        return TSR_ERR_PRIVILEGE;
    }
    if (!op->run || !(op->engines & (1u << e->type)) ||
        (op->dwords && op->dwords != packet_dwords(p[0])) ||
        (packet_flags(p[0]) & ~op->flags)) {
        return TSR_ERR_PACKET;
    }
    return op->run(e, p);
}
