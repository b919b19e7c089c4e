/*
 * Tessera virtual GPU: ownership of VRAM
 *
 * In strict mode the driver declares the ownership of VRAM, by MARK packets and
 * by registers. Memory that is given up is poisoned. A packet does that piece
 * by piece. A register command must not hold the BQL for long. So for a large
 * range it only sets the page states at once, eight pages with one store, and
 * the main loop poisons the pages later. Pages that wait to be poisoned have
 * TESSERA_PAGE_POISON set. While the main loop poisons a page, under the BQL,
 * the page is in state TESSERA_PAGE_BUSY, and an engine that marks the page
 * spins until that ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/units.h"
#include "tessera_mark.h"
#include "tessera_strict.h"
#include "tessera_view.h"
#include "trace.h"

#define POISON_NOW_BYTES    (1 * MiB)   /* limit under the BQL */
#define POISON_PAGES        (POISON_NOW_BYTES / TSR_PAGE_SIZE)
#define SCAN_PAGES          (64 * KiB)  /* states examined at a time */

/* A binding to an evicted range is stale until the slot is bound again. */
static void stale_slots(TesseraState *s, uint64_t gpa, uint64_t size)
{
    for (unsigned int i = 0; i < s->num_engines; i++) {
        TesseraEngine *e = &s->engines[i];

        qemu_mutex_lock(&e->slot_lock);
        /* Slots with virtual addresses are protected by the page tables. */
        for (unsigned int j = 0;
             !e->m.vm.active && j < s->cfg.num_slots; j++) {
            TesseraSlot *slot = &e->slots[j];

            if (slot->surface && slot->base < gpa + size &&
                gpa < slot->base + slot->limit) {
                qatomic_set(&slot->stale, 1);
            }
        }
        qemu_mutex_unlock(&e->slot_lock);
    }
}

/*
 * Report an owner that gives up memory which the host aperture still shows: the
 * CPU could access the next owner's bytes.
 */
static void referee_shown(TesseraMaster *m, uint64_t gpa, uint64_t offset,
                          uint64_t size)
{
    if (m->s->ops->vram_shown(m->s, offset, size)) {
        tessera_guest_error(m, TSR_ERR_STRICT_SHOWN, gpa);
    }
}

static void set_state(TesseraState *s, uint64_t page, uint8_t state)
{
    uint8_t *p = &s->page_state[page];
    uint8_t old;

    do {
        while ((old = qatomic_read(p)) == TESSERA_PAGE_BUSY) {
            cpu_relax();
        }
    } while (qatomic_cmpxchg(p, old, state) != old);
}

/*
 * Set the states of many pages. Only for holders of the BQL: BUSY is set under
 * the BQL only, so no page can be in that state here.
 */
static void set_states(TesseraState *s, uint64_t first, uint64_t pages,
                       uint8_t state)
{
    uint8_t *p = &s->page_state[first], *end = p + pages;

    while (p < end && !QEMU_PTR_IS_ALIGNED(p, 8)) {
        qatomic_set(p++, state);
    }
    for (; end - p >= 8; p += 8) {
        qatomic_set__nocheck((uint64_t *)p, state * 0x0101010101010101ULL);
    }
    while (p < end) {
        qatomic_set(p++, state);
    }
}

static uint32_t check(TesseraState *s, uint32_t command, uint64_t gpa,
                      uint64_t size, uint64_t *offset)
{
    const TesseraSegment *seg = tessera_view_segment(s, gpa, size);

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
    *offset = seg->vram_offset + (gpa - seg->base);
    return TSR_ERR_NONE;
}

static uint8_t state_of(uint32_t command)
{
    static const uint8_t states[] = {
        [TSR_MARK_FREE] = TESSERA_PAGE_FREE,
        [TSR_MARK_EVICTED] = TESSERA_PAGE_EVICTED,
        [TSR_MARK_ALLOCATED] = TESSERA_PAGE_ALLOCATED,
        [TSR_MARK_VALID] = TESSERA_PAGE_VALID,
    };

    return states[command];
}

static bool poisons(uint32_t command)
{
    return command == TSR_MARK_FREE || command == TSR_MARK_EVICTED;
}

/* Run a MARK packet from *@done on. The caller counts the error. */
uint32_t tessera_mark(TesseraMaster *m, uint32_t command, uint64_t gpa,
                      uint64_t size, uint64_t *done)
{
    TesseraState *s = m->s;
    uint64_t offset;
    uint32_t err = check(s, command, gpa, size, &offset);

    if (err || !s->cfg.strict || !size) {
        return err;
    }
    if (*done % TSR_PAGE_SIZE) {
        return TSR_ERR_PACKET;
    }
    if (!*done) {
        trace_tessera_mark(command, gpa, size);
        if (command == TSR_MARK_EVICTED) {
            stale_slots(s, gpa, size);
        }
        if (poisons(command)) {
            referee_shown(m, gpa, offset, size);
        }
    }
    while (*done < size && !err) {
        uint64_t n = MIN(size - *done, TESSERA_CHUNK_BYTES);
        uint64_t page = (offset + *done) >> TSR_PAGE_SHIFT;

        for (uint64_t i = 0; i < n >> TSR_PAGE_SHIFT; i++) {
            set_state(s, page + i, state_of(command));
        }
        if (poisons(command)) {
            tessera_vram_poison(m, offset + *done, n);
        }
        *done += n;
        err = *done < size ? tessera_leave(m) : TSR_ERR_NONE;
    }
    return err;
}

/* Have the host call tessera_mark_poison() for pages from @first on. */
static void poison_later(TesseraState *s, uint32_t first)
{
    s->poison_next = MIN(s->poison_next, first);
    s->ops->poison_later(s);
}

/* Run a MARK command of the registers, under the BQL. */
uint32_t tessera_mark_register(TesseraState *s, uint32_t command, uint64_t gpa,
                               uint64_t size)
{
    uint64_t offset, done = 0;
    uint32_t err;

    if (size <= POISON_NOW_BYTES) {
        err = tessera_mark(&s->cpu, command, gpa, size, &done);
        tessera_access_flush(&s->cpu);
        return err;
    }
    err = check(s, command, gpa, size, &offset);
    if (err || !s->cfg.strict) {
        return err;
    }
    trace_tessera_mark(command, gpa, size);
    if (command == TSR_MARK_EVICTED) {
        stale_slots(s, gpa, size);
    }
    if (poisons(command)) {
        referee_shown(&s->cpu, gpa, offset, size);
    }
    set_states(s, offset >> TSR_PAGE_SHIFT, size >> TSR_PAGE_SHIFT,
               state_of(command) |
               (poisons(command) ? TESSERA_PAGE_POISON : 0));
    if (poisons(command)) {
        poison_later(s, offset >> TSR_PAGE_SHIFT);
    }
    return TSR_ERR_NONE;
}

/*
 * Forget the contents and ownership of VRAM after they were lost. The engines
 * are idle.
 */
void tessera_mark_lost(TesseraState *s, uint64_t offset, uint64_t size)
{
    if (s->cfg.strict) {
        set_states(s, offset >> TSR_PAGE_SHIFT, size >> TSR_PAGE_SHIFT,
                   TESSERA_PAGE_NEVER);
    }
    tessera_vram_discard(&s->cpu, offset, size);
    tessera_access_flush(&s->cpu);
}

static void poison_page(TesseraState *s, uint32_t page)
{
    uint8_t *p = &s->page_state[page], old = qatomic_read(p);

    /*
     * The state is read once: a page without TESSERA_PAGE_POISON may be in use
     * again.
     */
    if (!(old & TESSERA_PAGE_POISON) ||
        qatomic_cmpxchg(p, old, TESSERA_PAGE_BUSY) != old) {
        return;                 /* an engine has just marked it */
    }
    tessera_vram_poison(&s->cpu, (uint64_t)page << TSR_PAGE_SHIFT,
                        TSR_PAGE_SIZE);
    qatomic_store_release(p, old & ~TESSERA_PAGE_POISON);
}

/*
 * Poison some of the pages that wait for it, under the BQL. Returns whether it
 * has to be called again.
 */
bool tessera_mark_poison(TesseraState *s)
{
    uint32_t left = POISON_PAGES, scan = SCAN_PAGES;

    while (left && scan-- && s->poison_next < s->num_vram_pages) {
        if (qatomic_read(&s->page_state[s->poison_next]) &
            TESSERA_PAGE_POISON) {
            poison_page(s, s->poison_next);
            left--;
        }
        s->poison_next++;
    }
    tessera_access_flush(&s->cpu);
    return s->poison_next < s->num_vram_pages;
}

/* The machine runs again, or runs here after migration: resume poisoning. */
void tessera_mark_resume(TesseraState *s)
{
    if (s->cfg.strict) {
        poison_later(s, 0);
    }
}

void tessera_mark_init(TesseraState *s)
{
    s->poison_next = s->num_vram_pages;
}
