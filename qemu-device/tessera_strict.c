/*
 * Tessera virtual GPU: guest errors and strict mode
 *
 * Owns the error block: the counters, and the first record of all and of each
 * type. In strict mode it checks each access against the state of the VRAM
 * pages, which tessera_mark.c sets. Called from engine threads and, for
 * register errors and ownership marks, from vCPU threads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "tessera_strict.h"
#include "trace.h"

static void saturating_inc(uint32_t *v)
{
    if (*v != UINT32_MAX) {
        (*v)++;
    }
}

/* Count and record an error at the current packet of the requester. */
void tessera_guest_error(TesseraMaster *m, uint32_t type, uint64_t addr)
{
    TesseraState *s = m->s;
    TesseraErrorRecord rec = {
        .type = type,
        .engine = m->id,
        .context = qatomic_read(&m->context),
        .packet = m->packet,
        .offset = m->packet_offset,
        .slot = m->fault_slot,
        .addr = addr,
        .access = m->fault_access,
    };
    bool first;

    trace_tessera_guest_error(type, rec.engine, rec.context, rec.packet,
                              rec.offset, rec.slot, addr);
    qemu_mutex_lock(&s->err_lock);
    saturating_inc(&s->err_count[type]);
    saturating_inc(&s->err_total);
    saturating_inc(&s->err_ever[type]);
    if (s->err_rec.type == TSR_ERR_NONE) {
        s->err_rec = rec;
    }
    first = s->err_recs[type].type == TSR_ERR_NONE;
    if (first) {
        s->err_recs[type] = rec;
    }
    qemu_mutex_unlock(&s->err_lock);
    s->ops->error(s, &rec, first);
}

void tessera_errors_init(TesseraState *s)
{
    qemu_mutex_init(&s->err_lock);
}

void tessera_errors_fini(TesseraState *s)
{
    qemu_mutex_destroy(&s->err_lock);
}

void tessera_errors_clear(TesseraState *s)
{
    qemu_mutex_lock(&s->err_lock);
    memset(s->err_count, 0, sizeof(s->err_count));
    memset(&s->err_rec, 0, sizeof(s->err_rec));
    memset(s->err_recs, 0, sizeof(s->err_recs));
    s->err_total = 0;
    qemu_mutex_unlock(&s->err_lock);
}

/* Note the cause of a fault. The error is counted when the packet ends. */
uint32_t tessera_fault(TesseraMaster *m, uint32_t type, uint32_t slot,
                       uint64_t addr)
{
    m->fault_slot = slot;
    m->fault_addr = addr;
    return type;
}

static uint32_t page_error(uint8_t state, bool write)
{
    switch (state & ~TESSERA_PAGE_POISON) {
    case TESSERA_PAGE_FREE:
    case TESSERA_PAGE_BUSY:
        return TSR_ERR_STRICT_FREED;
    case TESSERA_PAGE_EVICTED:
        return TSR_ERR_STRICT_EVICTED;
    case TESSERA_PAGE_VALID:
        return TSR_ERR_NONE;
    default:
        return write ? TSR_ERR_NONE : TSR_ERR_STRICT_UNWRITTEN;
    }
}

static uint64_t vram_to_gpa(TesseraState *s, uint64_t offset)
{
    for (unsigned int i = 0; i < s->num_segs; i++) {
        TesseraSegment *seg = &s->segs[i];

        if (!seg->ptes && offset >= seg->vram_offset &&
            offset - seg->vram_offset < seg->size) {
            return seg->base + (offset - seg->vram_offset);
        }
    }
    return s->hidden.base + (offset - s->hidden.vram_offset);
}

static uint32_t page_fault(TesseraMaster *m, uint32_t err, uint64_t page,
                           uint64_t vram_offset, uint32_t slot)
{
    uint64_t at = MAX(vram_offset, page << TSR_PAGE_SHIFT);

    return tessera_fault(m, err, slot, vram_to_gpa(m->s, at));
}

/* Refuse writes to the running image of the microcode. */
static uint32_t microcode_fault(TesseraMaster *m, uint64_t vram_offset,
                                uint64_t len, uint32_t slot)
{
    TesseraState *s = m->s;
    uint64_t at, base;

    if (!qatomic_read(&s->fw_running)) {
        return TSR_ERR_NONE;
    }
    base = qatomic_read__nocheck(&s->fw_base);
    at = s->hidden.vram_offset + (base - s->hidden.base);
    if (vram_offset >= at + TSR_FW_BYTES || vram_offset + len <= at) {
        return TSR_ERR_NONE;
    }
    return tessera_fault(m, TSR_ERR_STRICT_MICROCODE, slot,
                         vram_to_gpa(s, MAX(vram_offset, at)));
}

/* Check an access to VRAM before it is made. */
uint32_t tessera_strict_access(TesseraMaster *m, uint64_t vram_offset,
                               uint64_t len, bool write, uint32_t slot)
{
    uint64_t page, last;

    if (!m->s->cfg.strict || !len) {
        return TSR_ERR_NONE;
    }
    last = (vram_offset + len - 1) >> TSR_PAGE_SHIFT;
    for (page = vram_offset >> TSR_PAGE_SHIFT; page <= last; page++) {
        uint32_t err = page_error(qatomic_read(&m->s->page_state[page]), write);

        if (err) {
            return page_fault(m, err, page, vram_offset, slot);
        }
    }
    return write ? microcode_fault(m, vram_offset, len, slot) : TSR_ERR_NONE;
}

/*
 * Note that bytes were written. Any write makes its whole page valid. It is an
 * error if the owner has given up the page since the check of the access.
 */
uint32_t tessera_strict_wrote(TesseraMaster *m, uint64_t vram_offset,
                              uint64_t len, uint32_t slot)
{
    uint64_t page, last;

    if (!m->s->cfg.strict || !len) {
        return TSR_ERR_NONE;
    }
    last = (vram_offset + len - 1) >> TSR_PAGE_SHIFT;
    for (page = vram_offset >> TSR_PAGE_SHIFT; page <= last; page++) {
        uint8_t *state = &m->s->page_state[page], old = qatomic_read(state);

        while (old != TESSERA_PAGE_VALID) {
            uint32_t err = page_error(old, true);
            uint8_t seen;

            if (err) {
                return page_fault(m, err, page, vram_offset, slot);
            }
            seen = qatomic_cmpxchg(state, old, TESSERA_PAGE_VALID);
            if (seen == old) {
                break;
            }
            old = seen;
        }
    }
    return TSR_ERR_NONE;
}

/* Whether a migrated page state is valid. */
bool tessera_strict_state_ok(uint8_t state)
{
    return state < TESSERA_PAGE_STATES ||
           state == (TESSERA_PAGE_FREE | TESSERA_PAGE_POISON) ||
           state == (TESSERA_PAGE_EVICTED | TESSERA_PAGE_POISON);
}

/* VRAM keeps its contents over a reset, so valid pages stay valid. */
void tessera_strict_reset(TesseraState *s)
{
    for (uint32_t i = 0; i < s->num_vram_pages; i++) {
        uint8_t state = qatomic_read(&s->page_state[i]);

        if (state != TESSERA_PAGE_VALID && state != TESSERA_PAGE_NEVER) {
            qatomic_set(&s->page_state[i], TESSERA_PAGE_NEVER);
        }
    }
}

/* Treat the contents of VRAM as unknown. */
void tessera_strict_forget(TesseraState *s)
{
    for (uint32_t i = 0; i < s->num_vram_pages; i++) {
        qatomic_set(&s->page_state[i], TESSERA_PAGE_NEVER);
    }
}
