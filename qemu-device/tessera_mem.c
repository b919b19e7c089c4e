/*
 * Tessera virtual GPU: memory access
 *
 * The only unit that touches VRAM, apertures and guest RAM. Addresses are
 * checked here, DMA goes through the device's own address space and only ever
 * hits RAM (MemTxAttrs.memory), VRAM writes are marked dirty. Called from
 * engine threads, with no lock held.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "system/dma.h"
#include "tessera.h"
#include "tessera_stream.h"

#define DIRTY_GAP_BYTES (64 * 1024)

static bool take_injected_failure(TesseraState *s)
{
    uint32_t left = qatomic_read(&s->fail_dma);

    while (left) {
        uint32_t seen = qatomic_cmpxchg(&s->fail_dma, left, left - 1);

        if (seen == left) {
            return true;
        }
        left = seen;
    }
    return false;
}

/*
 * Bus access. What packets do (@injectable: may be made to fail for tests) is
 * not ordered against other accesses; the packets that signal see to that.
 */
uint32_t tessera_dma_rw(TesseraEngine *e, uint64_t addr, void *buf,
                        uint64_t len, bool write, bool injectable)
{
    DMADirection dir = write ? DMA_DIRECTION_FROM_DEVICE
                             : DMA_DIRECTION_TO_DEVICE;
    const MemTxAttrs attrs = { .memory = 1 };
    AddressSpace *as = pci_get_address_space(PCI_DEVICE(e->s));
    MemTxResult res;

    if ((addr >> TSR_ADDRESS_BITS) ||
        (injectable && take_injected_failure(e->s))) {
        return tessera_fault(e, TSR_ERR_DMA, e->fault_slot, addr);
    }
    if (injectable) {
        res = dma_memory_rw_relaxed(as, addr, buf, len, dir, attrs);
    } else {
        res = dma_memory_rw(as, addr, buf, len, dir, attrs);
    }
    if (res != MEMTX_OK) {
        return tessera_fault(e, TSR_ERR_DMA, e->fault_slot, addr);
    }
    return TSR_ERR_NONE;
}

/*
 * The same for packets that move much. What is mapped of anything but RAM is a
 * bounce buffer, in no RAM block: refused, and given back with no byte written.
 */
static uint32_t dma_stream(TesseraEngine *e, uint64_t addr, uint8_t *buf,
                           uint64_t len, bool write)
{
    DMADirection dir = write ? DMA_DIRECTION_FROM_DEVICE
                             : DMA_DIRECTION_TO_DEVICE;
    const MemTxAttrs attrs = { .memory = 1 };
    AddressSpace *as = pci_get_address_space(PCI_DEVICE(e->s));

    if ((addr >> TSR_ADDRESS_BITS) || take_injected_failure(e->s)) {
        return tessera_fault(e, TSR_ERR_DMA, e->fault_slot, addr);
    }
    while (len) {
        dma_addr_t n = len;
        ram_addr_t in_region;
        uint8_t *ram = dma_memory_map(as, addr, &n, dir, attrs);
        bool ok = ram && memory_region_from_host(ram, &in_region);

        if (ok && write) {
            tessera_stream_copy(ram, buf, n);
        } else if (ok) {
            tessera_stream_copy(buf, ram, n);
        }
        if (ram) {
            dma_memory_unmap(as, ram, n, dir, ok ? n : 0);
        }
        if (!ok) {
            return tessera_fault(e, TSR_ERR_DMA, e->fault_slot, addr);
        }
        addr += n;
        buf += n;
        len -= n;
    }
    return TSR_ERR_NONE;
}

static bool segment_holds(const TesseraSegment *seg, uint64_t gpa,
                          uint64_t len)
{
    return gpa >= seg->base && gpa - seg->base <= seg->size &&
           len <= seg->size - (gpa - seg->base);
}

/* The segment (or hidden VRAM) a range lies in wholly, or NULL. */
TesseraSegment *tessera_mem_segment(TesseraState *s, uint64_t gpa,
                                    uint64_t len)
{
    for (unsigned int i = 0; i < s->num_segs; i++) {
        if (segment_holds(&s->segs[i], gpa, len)) {
            return &s->segs[i];
        }
    }
    return segment_holds(&s->hidden, gpa, len) ? &s->hidden : NULL;
}

TesseraSegment *tessera_mem_aperture(TesseraState *s, uint32_t id)
{
    for (unsigned int i = 0; i < s->num_segs; i++) {
        if (s->segs[i].id == id && s->segs[i].ptes) {
            return &s->segs[i];
        }
    }
    return NULL;
}

uint32_t tessera_view_gpu(TesseraEngine *e, TesseraView *v, uint64_t gpa,
                          uint64_t len, bool write, uint32_t slot)
{
    TesseraSegment *seg = tessera_mem_segment(e->s, gpa, len);

    v->e = e;
    v->seg = seg;
    v->base = gpa;
    v->slot = slot;
    v->is_vram = false;
    v->stream = false;
    if (!seg) {
        return tessera_fault(e, TSR_ERR_ADDRESS, slot, gpa);
    }
    if (write && (seg->flags & TSR_SEGF_GPU_READ_ONLY)) {
        return tessera_fault(e, TSR_ERR_READ_ONLY, slot, gpa);
    }
    if (!seg->ptes) {
        v->is_vram = true;
        v->vram_offset = seg->vram_offset + (gpa - seg->base);
    }
    return TSR_ERR_NONE;
}

void tessera_view_pages(TesseraEngine *e, TesseraView *v, uint64_t list,
                        uint64_t offset)
{
    v->e = e;
    v->seg = NULL;
    v->base = offset;
    v->list = list;
    v->slot = TESSERA_NO_SLOT;
    v->is_vram = false;
    v->stream = false;
    v->win_count = 0;
}

/* Collect what was written, so that dirty marks are set per range. */
void tessera_mem_dirty(TesseraEngine *e, uint64_t vram_offset, uint64_t len)
{
    uint64_t end = vram_offset + len;

    if (e->dirty_lo < e->dirty_hi) {
        if (vram_offset <= e->dirty_hi + DIRTY_GAP_BYTES &&
            end + DIRTY_GAP_BYTES >= e->dirty_lo) {
            e->dirty_lo = MIN(e->dirty_lo, vram_offset);
            e->dirty_hi = MAX(e->dirty_hi, end);
            return;
        }
        tessera_mem_flush_dirty(e);
    }
    e->dirty_lo = vram_offset;
    e->dirty_hi = end;
}

void tessera_mem_flush_dirty(TesseraEngine *e)
{
    if (e->dirty_lo < e->dirty_hi) {
        memory_region_set_dirty(&e->s->vram, e->dirty_lo,
                                e->dirty_hi - e->dirty_lo);
    }
    e->dirty_lo = e->dirty_hi = 0;
}

/* A scratch buffer of the engine, good until the next call. */
uint8_t *tessera_mem_band(TesseraEngine *e, size_t bytes)
{
    if (e->band_bytes < bytes) {
        e->band = g_realloc(e->band, bytes);
        e->band_bytes = bytes;
    }
    return e->band;
}

/* Host memory of a VRAM range about to be accessed; NULL if not VRAM. */
uint32_t tessera_view_ptr(TesseraView *v, uint64_t off, uint64_t len,
                          bool write, uint8_t **ptr)
{
    uint32_t err;

    *ptr = NULL;
    if (!v->is_vram) {
        return TSR_ERR_NONE;
    }
    err = tessera_strict_access(v->e, v->vram_offset + off, len, write,
                                v->slot);
    if (err) {
        return err;
    }
    if (write) {
        tessera_mem_dirty(v->e, v->vram_offset + off, len);
    }
    *ptr = v->e->s->vram_ptr + v->vram_offset + off;
    return TSR_ERR_NONE;
}

static uint32_t aperture_page(TesseraView *v, uint64_t gpa, bool write,
                              uint64_t *dma)
{
    TesseraEngine *e = v->e;
    uint64_t page = (gpa - v->seg->base) >> TSR_PAGE_SHIFT;
    uint64_t pte = qatomic_read__nocheck(&v->seg->ptes[page]);

    if (pte & TSR_APTE_VALID) {
        if (write && !(pte & TSR_APTE_WRITE)) {
            return tessera_fault(e, TSR_ERR_READ_ONLY, v->slot, gpa);
        }
        *dma = pte & TSR_APTE_ADDR_MASK;
        return TSR_ERR_NONE;
    }
    if (e->s->cfg.strict) {
        /* Counted, but harmless: the access goes to the dummy page. */
        e->fault_slot = v->slot;
        tessera_guest_error(e->s, e, TSR_ERR_STRICT_DUMMY, gpa);
    }
    *dma = qatomic_read__nocheck(&e->s->dummy_page);
    if (!*dma) {
        return tessera_fault(e, TSR_ERR_DMA, v->slot, gpa);
    }
    return TSR_ERR_NONE;
}

static uint32_t list_page(TesseraView *v, uint64_t page, uint64_t *dma)
{
    if (!v->win_count || page < v->win_first ||
        page >= v->win_first + v->win_count) {
        uint64_t at = v->list + page * sizeof(uint64_t);
        /* Do not read past the page: the list may end there. */
        uint64_t room = TSR_PAGE_SIZE - (at & (TSR_PAGE_SIZE - 1));
        uint32_t count = MIN(TESSERA_LIST_ENTRIES, room / sizeof(uint64_t));
        uint32_t err;

        err = tessera_dma_rw(v->e, at, v->win, count * sizeof(uint64_t),
                             false, true);
        if (err) {
            return err;
        }
        v->win_first = page;
        v->win_count = count;
    }
    *dma = le64_to_cpu(v->win[page - v->win_first]);
    if (*dma & (TSR_PAGE_SIZE - 1)) {
        return tessera_fault(v->e, TSR_ERR_DMA, TESSERA_NO_SLOT, *dma);
    }
    return TSR_ERR_NONE;
}

static uint32_t view_page(TesseraView *v, uint64_t pos, bool write,
                          uint64_t *dma)
{
    return v->seg ? aperture_page(v, pos, write, dma)
                  : list_page(v, pos >> TSR_PAGE_SHIFT, dma);
}

static uint32_t view_run(TesseraView *v, uint64_t addr, uint8_t *buf,
                         uint64_t len, bool write)
{
    return v->stream ? dma_stream(v->e, addr, buf, len, write)
                     : tessera_dma_rw(v->e, addr, buf, len, write, true);
}

/* Page by page, joining neighbours that are contiguous on the bus. */
static uint32_t view_dma(TesseraView *v, uint64_t off, uint8_t *buf,
                         uint64_t len, bool write)
{
    uint64_t pos = v->base + off, run = 0, run_bytes = 0;
    uint32_t err;

    while (len) {
        uint64_t in_page = pos & (TSR_PAGE_SIZE - 1);
        uint64_t n = MIN(len, TSR_PAGE_SIZE - in_page);
        uint64_t dma = 0;

        err = view_page(v, pos, write, &dma);
        if (err) {
            return err;
        }
        if (run_bytes && run + run_bytes != dma + in_page) {
            err = view_run(v, run, buf, run_bytes, write);
            if (err) {
                return err;
            }
            buf += run_bytes;
            run_bytes = 0;
        }
        if (!run_bytes) {
            run = dma + in_page;
        }
        run_bytes += n;
        pos += n;
        len -= n;
    }
    return run_bytes ? view_run(v, run, buf, run_bytes, write)
                     : TSR_ERR_NONE;
}

uint32_t tessera_view_rw(TesseraView *v, uint64_t off, void *buf,
                         uint64_t len, bool write)
{
    uint8_t *ptr;
    uint32_t err;

    if (!len) {
        return TSR_ERR_NONE;
    }
    if (!v->is_vram) {
        v->e->fault_slot = v->slot;
        return view_dma(v, off, buf, len, write);
    }
    err = tessera_view_ptr(v, off, len, write, &ptr);
    if (err) {
        return err;
    }
    if (write) {
        memmove(ptr, buf, len);
    } else {
        memmove(buf, ptr, len);
    }
    return TSR_ERR_NONE;
}

/* Bytes that one step of a copy may take. */
static uint64_t copy_step(const TesseraView *d, const TesseraView *s)
{
    return d->is_vram || s->is_vram ? TESSERA_CHUNK_BYTES
                                    : TESSERA_BOUNCE_BYTES;
}

static uint32_t copy_chunk(TesseraView *d, uint64_t doff, TesseraView *s,
                           uint64_t soff, uint64_t len)
{
    uint8_t *sptr, *dptr;
    uint32_t err = tessera_view_ptr(s, soff, len, false, &sptr);

    if (err) {
        return err;
    }
    if (sptr) {
        return tessera_view_rw(d, doff, sptr, len, true);
    }
    err = tessera_view_ptr(d, doff, len, true, &dptr);
    if (err) {
        return err;
    }
    if (dptr) {
        return tessera_view_rw(s, soff, dptr, len, false);
    }
    err = tessera_view_rw(s, soff, d->e->bounce, len, false);
    return err ? err : tessera_view_rw(d, doff, d->e->bounce, len, true);
}

/*
 * Copy between views, as memmove() does where both lie in one segment. Looks
 * for a reset at least once per chunk.
 */
uint32_t tessera_view_copy(TesseraView *d, uint64_t doff, TesseraView *s,
                           uint64_t soff, uint64_t len)
{
    bool backward = d->seg && d->seg == s->seg &&
                    d->base + doff > s->base + soff;
    uint64_t step = copy_step(d, s), left = len;
    uint32_t err = TSR_ERR_NONE;

    /* One side is VRAM then: a bounce buffer is better off in the caches. */
    d->stream = s->stream = len >= TESSERA_STREAM_BYTES &&
                            d->is_vram != s->is_vram;
    while (left && !err) {
        uint64_t n = MIN(left, step);
        uint64_t at = backward ? left - n : len - left;

        if (tessera_stopping(d->e)) {
            err = TESSERA_STOPPED;
            break;
        }
        err = copy_chunk(d, doff + at, s, soff + at, n);
        left -= n;
    }
    if (d->stream) {
        tessera_stream_end();
        d->stream = s->stream = false;
    }
    return err;
}
