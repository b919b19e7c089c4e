/*
 * Tessera virtual GPU: saved contexts
 *
 * Saves the running job to the context save area when its engine is preempted,
 * and resumes saved jobs. Software may have changed the area in between, so a
 * job is checked like one that migrates. Called from engine threads, with no
 * lock held.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include "tessera_save.h"
#include "tessera_mmu.h"
#include "tessera_strict.h"
#include "tessera_surface.h"
#include "trace.h"

/* The contents of the save area. */
typedef struct SavedJob {
    TesseraIb ib;
    uint32_t offset;
    uint32_t flags;
    uint32_t context;
    uint32_t status;
    uint32_t status_offset;
    uint32_t state_defined;
    uint32_t state[TSR_STATE_COUNT];
    uint32_t asid;
    uint64_t root;
    uint64_t active_ns;
    uint64_t progress[2];
} SavedJob;

/* Whether IB_CALL and later packets can produce this state. */
bool tessera_ib_valid(const TesseraState *s, const TesseraIb *ib)
{
    return !ib->active ||
           (ib->total <= s->cfg.max_ib_bytes && ib->end <= ib->total &&
            ib->cur <= ib->end && ib->list % 8 == 0 &&
            (ib->total | ib->cur | ib->end) % TSR_PKT_ALIGN == 0);
}

/* ---- Saving -------------------------------------------------------------- */

static void put_slots(TesseraEngine *e, uint8_t *area)
{
    qemu_mutex_lock(&e->slot_lock);
    for (uint32_t i = 0; i < e->num_slots; i++) {
        const TesseraSlot *slot = &e->slots[i];
        uint8_t *p = area + TSR_SAVE_SLOT(i);

        stq_le_p(p + TSR_SAVE_SLOT_BASE, slot->base);
        stq_le_p(p + TSR_SAVE_SLOT_LIMIT, slot->limit);
        stl_le_p(p + TSR_SAVE_SLOT_SURFACE, slot->surface);
        stl_le_p(p + TSR_SAVE_SLOT_PITCH, slot->pitch);
        stl_le_p(p + TSR_SAVE_SLOT_SIZE, slot->width | slot->height << 16);
        stl_le_p(p + TSR_SAVE_SLOT_STALE, slot->stale);
    }
    qemu_mutex_unlock(&e->slot_lock);
}

static void put_ib(uint8_t *area, const TesseraIb *ib)
{
    stl_le_p(area + TSR_SAVE_IB_TOTAL, ib->total);
    stl_le_p(area + TSR_SAVE_IB_CUR, ib->cur);
    stl_le_p(area + TSR_SAVE_IB_END, ib->end);
    stq_le_p(area + TSR_SAVE_IB_LIST, ib->list);
}

static uint32_t save_flags(const TesseraEngine *e)
{
    uint32_t flags = e->transfer_open ? TSR_SAVEF_TRANSFER : 0;

    if (e->ib.active) {
        flags |= TSR_SAVEF_IB | (e->ib.user ? TSR_SAVEF_IB_USER : 0) |
                 (e->ib.vm ? TSR_SAVEF_IB_VM : 0);
    }
    return flags;
}

static void put_job(TesseraEngine *e, uint8_t *area)
{
    stl_le_p(area + TSR_SAVE_OFFSET,
             (e->head - e->job_head) & (e->ring_size - 1));
    stl_le_p(area + TSR_SAVE_FLAGS, save_flags(e));
    stq_le_p(area + TSR_SAVE_ACTIVE_NS, tessera_clock_ns() - e->job_start_ns);
    stl_le_p(area + TSR_SAVE_CONTEXT, e->m.context);
    stl_le_p(area + TSR_SAVE_STATUS, e->job_status);
    stl_le_p(area + TSR_SAVE_STATUS_OFFSET, e->job_status_offset);
    if (e->ib.active) {
        put_ib(area, &e->ib);
    }
    for (unsigned int i = 0; i < ARRAY_SIZE(e->progress); i++) {
        stq_le_p(area + TSR_SAVE_PROGRESS(i), e->progress[i]);
    }
    stq_le_p(area + TSR_SAVE_VM_ROOT, e->m.vm.root);
    stl_le_p(area + TSR_SAVE_VM_ASID, e->m.vm.asid);
    stl_le_p(area + TSR_SAVE_STATE_DEFINED, e->state_defined);
    for (unsigned int i = 0; i < TSR_STATE_COUNT; i++) {
        stl_le_p(area + TSR_SAVE_STATE(i), e->state[i]);
    }
    put_slots(e, area);
}

static uint32_t put_magic(TesseraEngine *e, uint64_t addr, uint32_t magic)
{
    uint32_t le = cpu_to_le32(magic);

    smp_wmb(); /* store the rest of the area before the magic */
    return tessera_dma_rw(&e->m, addr + TSR_SAVE_MAGIC, &le, sizeof(le), true,
                          false);
}

/* Save the current job. The engine is between two packets. */
uint32_t tessera_save(TesseraEngine *e)
{
    uint32_t bytes = e->job_begun ? TSR_SAVE_BYTES(e->num_slots)
                                  : TSR_SAVE_OFFSET;
    g_autofree uint8_t *area = g_malloc0(bytes);
    uint32_t err;

    trace_tessera_save(e->index, e->m.context, e->job_begun, e->head,
                       e->ib.active ? e->ib.cur : 0);
    stl_le_p(area + TSR_SAVE_HEAD, e->head);
    if (e->job_begun) {
        put_job(e, area);
    }
    err = tessera_dma_rw(&e->m, e->save_addr, area, bytes, true, false);
    if (!err && e->job_begun) {
        err = put_magic(e, e->save_addr, TSR_SAVE_JOB);
    }
    return err;
}

/* ---- Resuming ------------------------------------------------------------ */

static bool get_slots(TesseraEngine *e, const uint8_t *area,
                      TesseraSlot *slots)
{
    for (uint32_t i = 0; i < e->num_slots; i++) {
        const uint8_t *p = area + i * TSR_SAVE_SLOT_BYTES;
        TesseraSlot slot = {
            .base = ldq_le_p(p + TSR_SAVE_SLOT_BASE),
            .limit = ldq_le_p(p + TSR_SAVE_SLOT_LIMIT),
            .surface = ldl_le_p(p + TSR_SAVE_SLOT_SURFACE),
            .pitch = ldl_le_p(p + TSR_SAVE_SLOT_PITCH),
            .width = lduw_le_p(p + TSR_SAVE_SLOT_SIZE),
            .height = lduw_le_p(p + TSR_SAVE_SLOT_SIZE + 2),
            .stale = ldl_le_p(p + TSR_SAVE_SLOT_STALE),
        };

        if (!tessera_slot_valid(e->s, &slot) || slot.stale > 1) {
            return false;
        }
        slots[i] = slot;
    }
    return true;
}

static void get_job(const uint8_t *area, SavedJob *job)
{
    job->offset = ldl_le_p(area + TSR_SAVE_OFFSET);
    job->flags = ldl_le_p(area + TSR_SAVE_FLAGS);
    job->active_ns = ldq_le_p(area + TSR_SAVE_ACTIVE_NS);
    job->context = ldl_le_p(area + TSR_SAVE_CONTEXT);
    job->status = ldl_le_p(area + TSR_SAVE_STATUS);
    job->status_offset = ldl_le_p(area + TSR_SAVE_STATUS_OFFSET);
    job->ib = (TesseraIb) {
        .active = job->flags & TSR_SAVEF_IB,
        .user = job->flags & TSR_SAVEF_IB_USER,
        .vm = job->flags & TSR_SAVEF_IB_VM,
        .total = ldl_le_p(area + TSR_SAVE_IB_TOTAL),
        .cur = ldl_le_p(area + TSR_SAVE_IB_CUR),
        .end = ldl_le_p(area + TSR_SAVE_IB_END),
        .list = ldq_le_p(area + TSR_SAVE_IB_LIST),
    };
    for (unsigned int i = 0; i < ARRAY_SIZE(job->progress); i++) {
        job->progress[i] = ldq_le_p(area + TSR_SAVE_PROGRESS(i));
    }
    job->root = ldq_le_p(area + TSR_SAVE_VM_ROOT);
    job->asid = ldl_le_p(area + TSR_SAVE_VM_ASID);
    job->state_defined = ldl_le_p(area + TSR_SAVE_STATE_DEFINED);
    for (unsigned int i = 0; i < TSR_STATE_COUNT; i++) {
        job->state[i] = ldl_le_p(area + TSR_SAVE_STATE(i));
    }
}

/*
 * Whether the offset lies between RESUME and the tail and, for a job in an IB,
 * on a whole IB_CALL.
 */
static bool offset_ok(const TesseraEngine *e, const SavedJob *job)
{
    uint32_t left = (qatomic_read(&e->tail) - e->head) & (e->ring_size - 1);
    uint32_t need = job->ib.active ? TSR_IB_CALL_DWORDS * 4 : 0;

    return job->offset % TSR_PKT_ALIGN == 0 &&
           job->offset >= TSR_RESUME_DWORDS * 4 && job->offset <= left &&
           need <= left - job->offset;
}

static bool vm_ok(const TesseraEngine *e, const SavedJob *job)
{
    if (!job->root) {
        return !job->ib.vm;
    }
    return (e->s->caps & TSR_CAP_VM) && job->asid < TESSERA_ASIDS &&
           tessera_mmu_root_ok(job->root);
}

static bool job_ok(const TesseraEngine *e, const SavedJob *job)
{
    return !(job->flags & ~TSR_SAVEF_ALL) &&
           (job->ib.active || !(job->ib.user || job->ib.vm)) &&
           job->status < TSR_ERR_TYPES &&
           !(job->state_defined >> TSR_STATE_COUNT) && offset_ok(e, job) &&
           tessera_ib_valid(e->s, &job->ib) && vm_ok(e, job);
}

static void load_job(TesseraEngine *e, const SavedJob *job,
                     const TesseraSlot *slots)
{
    tessera_slots_set_vm(e, job->asid, job->root);
    qemu_mutex_lock(&e->slot_lock);
    memcpy(e->slots, slots, e->num_slots * sizeof(*slots));
    qemu_mutex_unlock(&e->slot_lock);
    qatomic_set(&e->m.context, job->context);
    memcpy(e->state, job->state, sizeof(e->state));
    e->state_defined = job->state_defined;
    e->job_status = job->status;
    e->job_status_offset = job->status_offset;
    e->job_start_ns = tessera_clock_ns() - job->active_ns;
    e->transfer_open = job->flags & TSR_SAVEF_TRANSFER;
    memcpy(e->progress, job->progress, sizeof(e->progress));
    e->ib = job->ib;
    e->window.bytes = 0;
    e->job_head = e->head;
    e->job_begun = true;
    qatomic_set(&e->ib_offset, job->ib.active ? job->ib.cur : 0);
    qatomic_set(&e->head, (e->head + job->offset) & (e->ring_size - 1));
}

/* Run the packet RESUME: continue the job that tessera_save() has saved. */
uint32_t tessera_resume(TesseraEngine *e, const uint32_t *p)
{
    uint32_t bytes = TSR_SAVE_BYTES(e->num_slots), err;
    uint64_t addr = tessera_u64(&p[2]);
    g_autofree TesseraSlot *slots = g_new(TesseraSlot, e->num_slots);
    g_autofree uint8_t *area = g_malloc(bytes);
    SavedJob job;

    if (!(e->s->caps & TSR_CAP_PREEMPTION) || e->ib.active || p[1] ||
        addr % 8 || addr > -(uint64_t)bytes) {
        return TSR_ERR_PACKET;
    }
    err = tessera_dma_rw(&e->m, addr, area, bytes, false, false);
    if (err) {
        return err;
    }
    get_job(area, &job);
    if (ldl_le_p(area + TSR_SAVE_MAGIC) != TSR_SAVE_JOB || !job_ok(e, &job) ||
        !get_slots(e, area + TSR_SAVE_SLOT(0), slots)) {
        return tessera_fault(&e->m, TSR_ERR_CONTEXT, TESSERA_NO_SLOT, addr);
    }
    err = put_magic(e, addr, TSR_SAVE_RESUMED);
    if (err) {
        return err;
    }
    load_job(e, &job, slots);
    trace_tessera_resume(e->index, job.context, e->head,
                         job.ib.active ? job.ib.cur : 0);
    return TESSERA_RESUMED;
}
