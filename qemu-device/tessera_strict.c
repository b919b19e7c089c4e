/*
 * Tessera virtual GPU: guest errors and the referee
 *
 * Owns the error block (counters and the first record) and, in strict mode,
 * the state of every VRAM page. Called from engine threads and, for register
 * errors and declarations, from vCPU threads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/log.h"
#include "qemu/timer.h"
#include "tessera.h"
#include "trace.h"

#define LOG_PER_SECOND 20

static bool log_allowed(TesseraState *s)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_REALTIME);

    if (now - s->log_window_ns >= NANOSECONDS_PER_SECOND) {
        s->log_window_ns = now;
        s->log_in_window = 0;
    }
    return s->log_in_window++ < LOG_PER_SECOND;
}

static const char *tessera_name(TesseraState *s)
{
    return DEVICE(s)->id ?: "device";
}

static void saturating_inc(uint32_t *v)
{
    if (*v != UINT32_MAX) {
        (*v)++;
    }
}

/* Count an error; @e is NULL outside an engine. */
void tessera_guest_error(TesseraState *s, TesseraEngine *e, uint32_t type,
                         uint64_t addr)
{
    TesseraErrorRecord rec = {
        .type = type,
        .engine = e ? e->index : TESSERA_NO_ENGINE,
        .context = e ? qatomic_read(&e->context) : 0,
        .packet = e ? e->packet[0] : 0,
        .offset = e ? e->packet_offset : 0,
        .slot = e ? e->fault_slot : TESSERA_NO_SLOT,
        .addr = addr,
    };
    bool log = false;

    trace_tessera_guest_error(type, rec.engine, rec.context, rec.packet,
                              rec.offset, rec.slot, addr);
    qemu_mutex_lock(&s->err_lock);
    saturating_inc(&s->err_count[type]);
    saturating_inc(&s->err_total);
    saturating_inc(&s->err_ever[type]);
    if (s->err_rec.type == TSR_ERR_NONE) {
        s->err_rec = rec;
    }
    if (s->err_recs[type].type == TSR_ERR_NONE) {
        s->err_recs[type] = rec;
        log = true;
    }
    if (log || log_allowed(s)) {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "tessera %s: error %u engine 0x%x context 0x%x"
                      " packet 0x%08x at 0x%x slot 0x%x addr 0x%" PRIx64 "\n",
                      tessera_name(s), type, rec.engine, rec.context,
                      rec.packet, rec.offset, rec.slot, addr);
    }
    qemu_mutex_unlock(&s->err_lock);
    tessera_irq_event(s, TSR_INT_ERROR);
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

/* Into the log when the device goes: what it has counted since it came. */
void tessera_errors_log_totals(TesseraState *s)
{
    qemu_mutex_lock(&s->err_lock);
    for (uint32_t type = 0; type < TSR_ERR_TYPES; type++) {
        if (s->err_ever[type]) {
            qemu_log_mask(LOG_GUEST_ERROR,
                          "tessera %s: error %u was counted %u times\n",
                          tessera_name(s), type, s->err_ever[type]);
        }
    }
    qemu_mutex_unlock(&s->err_lock);
}

/* Note what an engine's packet tripped over; counted when the packet ends. */
uint32_t tessera_fault(TesseraEngine *e, uint32_t type, uint32_t slot,
                       uint64_t addr)
{
    e->fault_slot = slot;
    e->fault_addr = addr;
    return type;
}

static uint32_t page_error(uint8_t state, bool write)
{
    switch (state) {
    case TESSERA_PAGE_FREE:
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

/* Referee one access to VRAM; a write makes the whole of each page valid. */
uint32_t tessera_strict_access(TesseraEngine *e, uint64_t vram_offset,
                               uint64_t len, bool write, uint32_t slot)
{
    TesseraState *s = e->s;
    uint64_t page, last;

    if (!s->cfg.strict || !len) {
        return TSR_ERR_NONE;
    }
    last = (vram_offset + len - 1) >> TSR_PAGE_SHIFT;
    for (page = vram_offset >> TSR_PAGE_SHIFT; page <= last; page++) {
        uint8_t state = qatomic_read(&s->page_state[page]);
        uint32_t err;

        if (state == TESSERA_PAGE_VALID) {
            continue;
        }
        err = page_error(state, write);
        if (err) {
            uint64_t at = MAX(vram_offset, page << TSR_PAGE_SHIFT);

            return tessera_fault(e, err, slot, vram_to_gpa(s, at));
        }
        qatomic_set(&s->page_state[page], TESSERA_PAGE_VALID);
    }
    return TSR_ERR_NONE;
}

/* Bindings into an evicted range are dead until the slot is bound again. */
static void stale_slots(TesseraState *s, uint64_t gpa, uint64_t size)
{
    for (unsigned int i = 0; i < s->num_engines; i++) {
        TesseraEngine *e = &s->engines[i];

        qemu_mutex_lock(&e->slot_lock);
        for (unsigned int j = 0; j < s->cfg.num_slots; j++) {
            TesseraSlot *slot = &e->slots[j];

            if (slot->surface && slot->base < gpa + size &&
                gpa < slot->base + slot->limit) {
                qatomic_set(&slot->stale, 1);
            }
        }
        qemu_mutex_unlock(&e->slot_lock);
    }
}

static void poison(TesseraState *s, uint64_t vram_offset, uint64_t size)
{
    uint32_t *p = (uint32_t *)(s->vram_ptr + vram_offset);

    for (uint64_t i = 0; i < size / 4; i++) {
        p[i] = cpu_to_le32(TSR_POISON);
    }
    memory_region_set_dirty(&s->vram, vram_offset, size);
}

/*
 * A declaration of ownership, from a MARK packet or the register interface,
 * about a range in @seg (NULL: in none). The caller counts the error.
 */
uint32_t tessera_strict_mark(TesseraState *s, uint32_t command,
                             const TesseraSegment *seg, uint64_t gpa,
                             uint64_t size)
{
    static const uint8_t states[] = {
        [TSR_MARK_FREE] = TESSERA_PAGE_FREE,
        [TSR_MARK_EVICTED] = TESSERA_PAGE_EVICTED,
        [TSR_MARK_ALLOCATED] = TESSERA_PAGE_ALLOCATED,
        [TSR_MARK_VALID] = TESSERA_PAGE_VALID,
    };
    uint64_t offset;

    if (command < TSR_MARK_FREE || command > TSR_MARK_VALID ||
        ((gpa | size) & (TSR_PAGE_SIZE - 1))) {
        return TSR_ERR_PACKET;
    }
    if (!s->cfg.strict || !size) {
        return TSR_ERR_NONE;
    }
    if (!seg) {
        return TSR_ERR_ADDRESS;
    }
    if (seg->ptes) {
        return TSR_ERR_SEGMENT;
    }
    trace_tessera_mark(command, gpa, size);
    offset = seg->vram_offset + (gpa - seg->base);
    for (uint64_t i = 0; i < size >> TSR_PAGE_SHIFT; i++) {
        qatomic_set(&s->page_state[(offset >> TSR_PAGE_SHIFT) + i],
                    states[command]);
    }
    if (command == TSR_MARK_EVICTED) {
        stale_slots(s, gpa, size);
    }
    if (command == TSR_MARK_FREE || command == TSR_MARK_EVICTED) {
        poison(s, offset, size);
    }
    return TSR_ERR_NONE;
}

/* VRAM keeps its contents over a reset, so what was valid stays valid. */
void tessera_strict_reset(TesseraState *s)
{
    for (uint32_t i = 0; i < s->num_vram_pages; i++) {
        if (qatomic_read(&s->page_state[i]) != TESSERA_PAGE_VALID) {
            qatomic_set(&s->page_state[i], TESSERA_PAGE_NEVER);
        }
    }
}

/* Nothing is known of what VRAM holds. */
void tessera_strict_forget(TesseraState *s)
{
    for (uint32_t i = 0; i < s->num_vram_pages; i++) {
        qatomic_set(&s->page_state[i], TESSERA_PAGE_NEVER);
    }
}
