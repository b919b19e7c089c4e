/*
 * Tessera virtual GPU: access to memory
 *
 * The only unit that reaches VRAM and guest RAM, on behalf of a requester
 * (TesseraMaster). It hands out runs of host memory. Strict mode checks a run
 * of VRAM before it is used. Afterwards, the written part of the run becomes
 * valid and dirty. Bus addresses go through the device's own address space, and
 * each access checks that they are plain RAM, so it calls no other device and
 * needs no BQL (ram-map.h). tessera_iommu.c handles an IOMMU on the way. Called
 * from engine threads and, under the BQL, for registers. No other lock is held.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_compat.h"
#include "qemu/atomic.h"
#include COMPAT_RAMBLOCK_API_H
#include "migration/misc.h"
#include "tessera.h"
#include "tessera_dirty.h"
#include "tessera_iommu.h"
#include "tessera_range_view.h"
#include "tessera_strict.h"
#include "trace.h"

#define HOLD_POLL_US    200

void tessera_master_init(TesseraMaster *m, TesseraState *s, uint32_t id)
{
    m->s = s;
    m->id = id;
    m->fault_slot = TESSERA_NO_SLOT;
    ram_map_init(&m->ram, pci_get_address_space(PCI_DEVICE(s)));
    m->bounce = g_malloc(TESSERA_BOUNCE_BYTES);
    m->sink = g_malloc(TESSERA_NULL_BYTES);
}

void tessera_master_fini(TesseraMaster *m)
{
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

/*
 * The translations of an IOMMU may be stale until the access ends: at most for
 * a chunk or a row of tiles. (dma_memory_map(), which other devices use, keeps
 * them for a whole request.)
 */
void tessera_access_enter(TesseraMaster *m)
{
    ram_map_enter(&m->ram);
}

void tessera_access_leave(TesseraMaster *m)
{
    ram_map_leave(&m->ram);
}

/* Find the run of RAM that contains @addr, or NULL. */
static const RamRun *find(TesseraMaster *m, uint64_t addr, uint64_t len,
                          bool write)
{
    const RamRun *found;

    if (ram_map_lookup(&m->ram, addr, write, &found)) {
        return found;
    }
    tessera_iommu_find(m, addr, len, write);
    return ram_map_first(&m->ram);
}

/* Behind an IOMMU a run ends with the IOMMU's page. */
static bool map_ram(TesseraMaster *m, uint64_t addr, TesseraRun *run)
{
    const RamRun *found = find(m, addr, run->len, run->write);
    uint64_t in_run;

    if (!found) {
        return false;
    }
    in_run = addr - found->addr;
    run->len = MIN(run->len, found->len - in_run);
    run->ptr = found->host + in_run;
    run->mr = found->mr;
    run->mr_offset = found->offset + in_run;
    if (!run->write) {
        fuzz_dma_read_cb(addr, run->len, run->mr);
    }
    return true;
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
    /* The swizzling window holds copies for CPUs, so refuse it. */
    if (!map_ram(m, addr, run) || run->mr == &m->s->swizzle_window) {
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
    run->mr = NULL;
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
    if (!tessera_dirty_join(&m->dirty, offset, len)) {
        tessera_access_flush(m);
        tessera_dirty_join(&m->dirty, offset, len);
    }
}

/*
 * Mark written VRAM as dirty. Called before others are told of the write, and
 * before the machine stops.
 */
void tessera_access_flush(TesseraMaster *m)
{
    TesseraSpan span = m->dirty;

    if (tessera_dirty_mark(m->s->vram, &m->dirty)) {
        tessera_range_views_refresh(m->s, span.lo, span.hi - span.lo);
    }
}

/* The first @done bytes (of each row) were read or written. */
uint32_t tessera_run_end(TesseraMaster *m, TesseraRun *run, uint64_t done)
{
    uint32_t err = TSR_ERR_NONE;

    if (!run->is_vram) {
        if (run->write && done && run->mr) {
            ram_map_written(&m->ram, run->mr, run->mr_offset, run->ptr, done);
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
 * Zero VRAM. For whole pages of the host, discard the memory instead of writing
 * it, which is quicker, most of all for pages that were never written.
 * Preallocated memory is never discarded.
 */
void tessera_vram_discard(TesseraMaster *m, uint64_t offset, uint64_t len)
{
    TesseraState *s = m->s;

    /* Do not discard pages that postcopy received or a snapshot has saved. */
    if (s->vram_stays || ram_block_discard_is_disabled() ||
        migration_in_incoming_postcopy() ||
        migration_in_bg_snapshot() ||
        !QEMU_IS_ALIGNED(offset | len, qemu_ram_pagesize(s->vram->ram_block)) ||
        ram_block_discard_range(s->vram->ram_block, offset, len)) {
        memset(s->vram_ptr + offset, 0, len);
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
