/*
 * Tessera virtual GPU: access to memory
 *
 * The only core unit that reaches VRAM and guest RAM, on behalf of a requester
 * (TesseraMaster). It hands out runs of host memory. Strict mode checks a run
 * of VRAM before it is used. Afterwards, the written part of the run becomes
 * valid and dirty. The host finds guest RAM and marks written bytes
 * (TesseraHostOps). Called from engine threads and, under the BQL, for
 * registers. No other lock is held.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include "tessera_core.h"
#include "tessera_strict.h"
#include "trace.h"

#define HOLD_POLL_US    200

void tessera_master_init(TesseraMaster *m, TesseraState *s, uint32_t id)
{
    m->s = s;
    m->id = id;
    m->fault_slot = TESSERA_NO_SLOT;
    s->ops->map_init(m);
    m->bounce = g_malloc(TESSERA_BOUNCE_BYTES);
    m->sink = g_malloc(TESSERA_NULL_BYTES);
}

void tessera_master_fini(TesseraMaster *m)
{
    m->s->ops->map_fini(m);
    g_free(m->bounce);
    g_free(m->sink);
    m->bounce = m->sink = NULL;
}

/* Decrement a counter of faults to inject; false if it is zero. */
static bool take_injected(uint32_t *counter, uint32_t *left)
{
    uint32_t old = qatomic_read(counter);

    while (old) {
        uint32_t seen = qatomic_cmpxchg(counter, old, old - 1);

        if (seen == old) {
            *left = old - 1;
            return true;
        }
        old = seen;
    }
    return false;
}

/*
 * Called between two pieces of a long request. Return 0 to go on, TESSERA_RETRY
 * to leave and be called again, or TESSERA_STOPPED to leave for good.
 */
uint32_t tessera_leave(TesseraMaster *m)
{
    uint32_t left;

    /*
     * Fault injection: hold the engine here until a request comes. The CPU gets
     * no requests, so it would never be released.
     */
    if (m->id != TESSERA_NO_ENGINE &&
        unlikely(take_injected(&m->s->hold_after, &left)) && !left) {
        while (!qatomic_read(&m->attention)) {
            g_usleep(HOLD_POLL_US);
        }
    }
    if (likely(!qatomic_read(&m->attention))) {
        return TSR_ERR_NONE;
    }
    return qatomic_read(&m->stop) ? TESSERA_STOPPED : TESSERA_RETRY;
}

/* ---- Guest RAM ----------------------------------------------------------- */

void tessera_access_enter(TesseraMaster *m)
{
    m->s->ops->ram_enter(m);
}

void tessera_access_leave(TesseraMaster *m)
{
    m->s->ops->ram_leave(m);
}

/*
 * Get the run of RAM at a bus address. It may be shorter than @len. @injectable
 * is set for accesses that packets name, and not for those that signal.
 */
uint32_t tessera_ram_begin(TesseraMaster *m, uint64_t addr, uint64_t len,
                           bool write, bool injectable, TesseraRun *run)
{
    uint32_t left;

    if ((addr >> TSR_ADDRESS_BITS) ||
        (injectable && take_injected(&m->s->fail_dma, &left))) {
        return tessera_fault(m, TSR_ERR_DMA, m->fault_slot, addr);
    }
    run->is_vram = false;
    run->write = write;
    run->len = len;
    tessera_access_enter(m);
    if (!m->s->ops->ram_find(m, addr, run)) {
        tessera_access_leave(m);
        return tessera_fault(m, TSR_ERR_DMA, m->fault_slot, addr);
    }
    if (injectable) {
        trace_tessera_dma(addr, run->len, write);
    }
    return TSR_ERR_NONE;
}

/* Where no memory is mapped, reads return zeroes and writes are dropped. */
uint32_t tessera_null_begin(TesseraMaster *m, uint64_t len, bool write,
                            TesseraRun *run)
{
    static uint8_t zeroes[TESSERA_NULL_BYTES];

    run->is_vram = false;
    run->write = write;
    run->len = MIN(len, TESSERA_NULL_BYTES);
    run->ram = NULL;
    run->ptr = write ? m->sink : zeroes;
    tessera_access_enter(m);
    return TSR_ERR_NONE;
}

/* Access aligned words atomically: other threads may read or write them. */
static void copy_bytes(uint8_t *ram, uint8_t *buf, uint64_t len, bool write)
{
    if (len == 8 && QEMU_PTR_IS_ALIGNED(ram, 8)) {
        if (write) {
            qatomic_set__nocheck((uint64_t *)ram, ldq_he_p(buf));
        } else {
            stq_he_p(buf, qatomic_read__nocheck((uint64_t *)ram));
        }
    } else if (len == 4 && QEMU_PTR_IS_ALIGNED(ram, 4)) {
        if (write) {
            qatomic_set((uint32_t *)ram, ldl_he_p(buf));
        } else {
            stl_he_p(buf, qatomic_read((uint32_t *)ram));
        }
    } else if (write) {
        memmove(ram, buf, len);
    } else {
        memmove(buf, ram, len);
    }
}

/*
 * Read or write a few bytes. Accesses that packets name (@injectable) are not
 * ordered against other accesses; the packets that signal order them. Accesses
 * that signal are ordered here.
 */
uint32_t tessera_dma_rw(TesseraMaster *m, uint64_t addr, void *buf,
                        uint64_t len, bool write, bool injectable)
{
    uint8_t *p = buf;

    if (!injectable) {
        smp_mb(); /* order against other accesses, as dma_barrier() */
    }
    while (len) {
        TesseraRun run;
        uint32_t err = tessera_ram_begin(m, addr, len, write, injectable, &run);

        if (err) {
            return err;
        }
        copy_bytes(run.ptr, p, run.len, write);
        tessera_run_end(m, &run, run.len);
        addr += run.len;
        p += run.len;
        len -= run.len;
        injectable = false;     /* count one fault for the whole access */
    }
    return TSR_ERR_NONE;
}

/*
 * Raise an aligned u64 in RAM to @value, unless it is higher. The driver and
 * other engines may do the same concurrently, so the store is a compare and
 * exchange. It is ordered after earlier accesses.
 */
uint32_t tessera_dma_raise(TesseraMaster *m, uint64_t addr, uint64_t value)
{
    uint64_t have, seen;
    TesseraRun run;
    uint32_t err = tessera_ram_begin(m, addr, sizeof(have), true, true, &run);

    if (err) {
        return err;
    }
    if (run.len < sizeof(have) || !QEMU_PTR_IS_ALIGNED(run.ptr, 8)) {
        tessera_run_end(m, &run, 0);
        return tessera_fault(m, TSR_ERR_DMA, m->fault_slot, addr);
    }
    have = qatomic_read__nocheck((uint64_t *)run.ptr);
    while (le64_to_cpu(have) < value) {
        seen = qatomic_cmpxchg__nocheck((uint64_t *)run.ptr, have,
                                        cpu_to_le64(value));
        if (seen == have) {
            break;
        }
        have = seen;
    }
    return tessera_run_end(m, &run, sizeof(have));
}

/* ---- VRAM ---------------------------------------------------------------- */

/* Find a range that lies inside one memory segment, or in hidden VRAM. */
bool tessera_vram_find(TesseraState *s, uint64_t gpa, uint64_t len,
                       uint64_t *offset)
{
    for (unsigned int i = 0; i <= s->num_segs; i++) {
        const TesseraSegment *seg = i < s->num_segs ? &s->segs[i] : &s->hidden;

        if (!seg->ptes && gpa >= seg->base && gpa - seg->base <= seg->size &&
            len <= seg->size - (gpa - seg->base)) {
            *offset = seg->vram_offset + (gpa - seg->base);
            return true;
        }
    }
    return false;
}

/* Get a run of @rows rows with @len bytes each, @pitch apart. */
uint32_t tessera_vram_rows_begin(TesseraMaster *m, uint64_t offset,
                                 uint64_t len, uint64_t pitch, uint32_t rows,
                                 bool write, uint32_t slot, TesseraRun *run)
{
    if (len == pitch) {
        len *= rows;
        rows = 1;
    }
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t err = tessera_strict_access(m, offset + i * pitch, len, write,
                                             slot);

        if (err) {
            return err;
        }
    }
    *run = (TesseraRun) {
        .ptr = m->s->vram_ptr + offset,
        .len = len,
        .rows = rows,
        .pitch = pitch,
        .vram_offset = offset,
        .slot = slot,
        .is_vram = true,
        .write = write,
    };
    return TSR_ERR_NONE;
}

uint32_t tessera_vram_begin(TesseraMaster *m, uint64_t offset, uint64_t len,
                            bool write, uint32_t slot, TesseraRun *run)
{
    return tessera_vram_rows_begin(m, offset, len, len, 1, write, slot, run);
}

static void mark_dirty(TesseraMaster *m, uint64_t offset, uint64_t len)
{
    if (!tessera_span_join(&m->dirty, offset, len)) {
        tessera_access_flush(m);
        tessera_span_join(&m->dirty, offset, len);
    }
}

/*
 * Mark written VRAM as dirty. Called before others are told of the write, and
 * before the machine stops.
 */
void tessera_access_flush(TesseraMaster *m)
{
    TesseraSpan span = m->dirty;

    m->dirty.lo = m->dirty.hi = 0;
    if (span.lo < span.hi) {
        m->s->ops->vram_written(m->s, span.lo, span.hi - span.lo);
    }
}

/* The first @done bytes (of each row) were read or written. */
uint32_t tessera_run_end(TesseraMaster *m, TesseraRun *run, uint64_t done)
{
    uint32_t err = TSR_ERR_NONE;

    if (!run->is_vram) {
        if (run->write && done && run->ram) {
            m->s->ops->ram_written(m, run, done);
        }
        tessera_access_leave(m);
        return TSR_ERR_NONE;
    }
    for (uint32_t i = 0; run->write && done && i < run->rows; i++) {
        uint64_t offset = run->vram_offset + i * run->pitch;
        uint32_t row_err = tessera_strict_wrote(m, offset, done, run->slot);

        mark_dirty(m, offset, done);
        err = err ?: row_err;
    }
    return err;
}

/*
 * The access failed, and some bytes may have been written before. Mark them
 * dirty, but keep the page states of strict mode.
 */
void tessera_run_fail(TesseraMaster *m, TesseraRun *run)
{
    if (!run->is_vram) {
        tessera_run_end(m, run, run->len);
    } else if (run->write) {
        mark_dirty(m, run->vram_offset,
                   run->pitch * (run->rows - 1) + run->len);
    }
}

/*
 * Zero VRAM. Giving the memory back to the host is quicker than writing it,
 * most of all for pages that were never written.
 */
void tessera_vram_discard(TesseraMaster *m, uint64_t offset, uint64_t len)
{
    if (!m->s->ops->vram_discard(m->s, offset, len)) {
        memset(m->s->vram_ptr + offset, 0, len);
    }
    mark_dirty(m, offset, len);
}

/* Read or write a few bytes for a CPU. Mark at once, as others may look. */
uint32_t tessera_vram_rw(TesseraMaster *m, uint64_t offset, void *buf,
                         uint64_t len, bool write)
{
    TesseraRun run;
    uint32_t err = tessera_vram_begin(m, offset, len, write, TESSERA_NO_SLOT,
                                      &run);

    if (err) {
        return err;
    }
    copy_bytes(run.ptr, buf, len, write);
    err = tessera_run_end(m, &run, len);
    tessera_access_flush(m);
    return err;
}

/* Fill VRAM that was given up with poison, without checks of strict mode. */
void tessera_vram_poison(TesseraMaster *m, uint64_t offset, uint64_t len)
{
    uint32_t *p = (uint32_t *)(m->s->vram_ptr + offset);

    for (uint64_t i = 0; i < len / 4; i++) {
        p[i] = cpu_to_le32(TSR_POISON);
    }
    mark_dirty(m, offset, len);
}
