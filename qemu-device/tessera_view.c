/*
 * Tessera virtual GPU: views
 *
 * Finds the segment of a GPU address, and the system page behind a page of an
 * aperture or a page list. Joins contiguous pages into runs. Called from engine
 * threads, with no lock held.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include "tessera_view.h"
#include "tessera_mmu.h"
#include "tessera_strict.h"
#include "tessera_stream.h"

/* ---- Segments ------------------------------------------------------------ */

static bool segment_holds(const TesseraSegment *seg, uint64_t gpa,
                          uint64_t len)
{
    return gpa >= seg->base && gpa - seg->base <= seg->size &&
           len <= seg->size - (gpa - seg->base);
}

/* Find the segment (or hidden VRAM) that contains the whole range, or NULL. */
TesseraSegment *tessera_view_segment(TesseraState *s, uint64_t gpa,
                                     uint64_t len)
{
    for (unsigned int i = 0; i < s->num_segs; i++) {
        if (segment_holds(&s->segs[i], gpa, len)) {
            return &s->segs[i];
        }
    }
    return segment_holds(&s->hidden, gpa, len) ? &s->hidden : NULL;
}

TesseraSegment *tessera_view_aperture(TesseraState *s, uint32_t id)
{
    for (unsigned int i = 0; i < s->num_segs; i++) {
        if (s->segs[i].id == id && s->segs[i].ptes) {
            return &s->segs[i];
        }
    }
    return NULL;
}

/* ---- Making views -------------------------------------------------------- */

uint32_t tessera_view_gpu(TesseraMaster *m, TesseraView *v, uint64_t gpa,
                          uint64_t len, bool write, uint32_t slot)
{
    TesseraSegment *seg = tessera_view_segment(m->s, gpa, len);

    v->m = m;
    v->seg = seg;
    v->base = gpa;
    v->slot = slot;
    v->is_vram = false;
    v->past_caches = false;
    v->vm = false;
    v->stream = false;
    if (!seg) {
        return tessera_fault(m, TSR_ERR_ADDRESS, slot, gpa);
    }
    if (write && (seg->flags & TSR_SEGF_GPU_READ_ONLY)) {
        return tessera_fault(m, TSR_ERR_READ_ONLY, slot, gpa);
    }
    if (!seg->ptes) {
        v->is_vram = true;
        v->vram_offset = seg->vram_offset + (gpa - seg->base);
    }
    return TSR_ERR_NONE;
}

/*
 * Make a view of virtual addresses in the requester's address space. An
 * unmapped page is an error only when it is accessed. Large leaves often make
 * the whole view contiguous in VRAM.
 */
void tessera_view_vm(TesseraMaster *m, TesseraView *v, uint64_t va,
                     uint64_t len, bool write, uint32_t slot)
{
    TesseraPlace place;

    v->m = m;
    v->seg = NULL;
    v->base = va;
    v->slot = slot;
    v->past_caches = false;
    v->vm = true;
    v->stream = false;
    v->is_vram = !tessera_mmu_translate(m, va, write, slot, &place) &&
                 (place.pte & TSR_PTE_VRAM) &&
                 tessera_mmu_extend(m, va, len, write, &place) == len &&
                 tessera_vram_find(m->s, place.addr, len, &v->vram_offset);
    tessera_fault(m, TSR_ERR_NONE, TESSERA_NO_SLOT, 0);
    m->fault_access = 0;
}

void tessera_view_pages(TesseraMaster *m, TesseraView *v, uint64_t list,
                        uint64_t offset)
{
    v->m = m;
    v->seg = NULL;
    v->base = offset;
    v->list = list;
    v->slot = TESSERA_NO_SLOT;
    v->is_vram = false;
    v->past_caches = false;
    v->vm = false;
    v->stream = false;
    v->win_count = 0;
}

/* ---- Pages --------------------------------------------------------------- */

static uint64_t aperture_pte(const TesseraView *v, uint64_t gpa)
{
    uint64_t page = (gpa - v->seg->base) >> TSR_PAGE_SHIFT;

    return qatomic_read__nocheck(&v->seg->ptes[page]);
}

/*
 * CPUs may have the page in their caches, and the access does not snoop them.
 */
static bool apte_past_caches(uint64_t pte)
{
    return (pte & (TSR_APTE_COHERENT | TSR_APTE_CACHED)) == TSR_APTE_CACHED;
}

static bool pte_past_caches(uint64_t pte)
{
    return (pte & (TSR_PTE_COHERENT | TSR_PTE_CACHED)) == TSR_PTE_CACHED;
}

static uint32_t aperture_page(TesseraView *v, uint64_t gpa, bool write,
                              uint64_t *dma, bool *past_caches)
{
    uint64_t pte = aperture_pte(v, gpa);
    TesseraMaster *m = v->m;

    if (pte & TSR_APTE_VALID) {
        if (write && !(pte & TSR_APTE_WRITE)) {
            return tessera_fault(m, TSR_ERR_READ_ONLY, v->slot, gpa);
        }
        *dma = pte & TSR_APTE_ADDR_MASK;
        *past_caches = apte_past_caches(pte);
        return TSR_ERR_NONE;
    }
    if (m->s->cfg.strict) {
        /* Count the error, but use the dummy page: the access is harmless. */
        m->fault_slot = v->slot;
        tessera_guest_error(m, TSR_ERR_STRICT_DUMMY, gpa);
    }
    *dma = qatomic_read__nocheck(&m->s->dummy_page);
    if (!*dma) {
        return tessera_fault(m, TSR_ERR_DMA, v->slot, gpa);
    }
    return TSR_ERR_NONE;
}

static bool list_window_has(const TesseraView *v, uint64_t page)
{
    return v->win_count && page >= v->win_first &&
           page - v->win_first < v->win_count;
}

static uint32_t list_page(TesseraView *v, uint64_t page, uint64_t *dma)
{
    if (!list_window_has(v, page)) {
        uint64_t at = tessera_list_entry(v->list, page);
        /* Do not read beyond this page of the list: the list may end here. */
        uint64_t bytes_left = TSR_PAGE_SIZE - (at & (TSR_PAGE_SIZE - 1));
        uint32_t count = MIN(TESSERA_LIST_ENTRIES,
                             bytes_left / sizeof(uint64_t));
        uint32_t err;

        v->win_count = 0;
        err = tessera_dma_rw(v->m, at, v->win, count * sizeof(uint64_t),
                             false, true);
        if (err) {
            return err;
        }
        v->win_first = page;
        v->win_count = count;
    }
    *dma = le64_to_cpu(v->win[page - v->win_first]);
    if (*dma & (TSR_PAGE_SIZE - 1)) {
        return tessera_fault(v->m, TSR_ERR_DMA, TESSERA_NO_SLOT, *dma);
    }
    return TSR_ERR_NONE;
}

static uint32_t view_page(TesseraView *v, uint64_t pos, bool write,
                          uint64_t *dma, bool *past_caches)
{
    *past_caches = v->past_caches;
    return v->seg ? aperture_page(v, pos, write, dma, past_caches)
                  : list_page(v, pos >> TSR_PAGE_SHIFT, dma);
}

/*
 * Whether the page at @pos is at bus address @dma. Uses only data at hand: the
 * aperture's table, or the read-ahead of the list.
 */
static bool page_follows(const TesseraView *v, uint64_t pos, bool write,
                         uint64_t dma)
{
    uint64_t page = pos >> TSR_PAGE_SHIFT, pte;

    if (!v->seg) {
        return list_window_has(v, page) &&
               le64_to_cpu(v->win[page - v->win_first]) == dma;
    }
    pte = aperture_pte(v, pos);
    return (pte & TSR_APTE_VALID) && !apte_past_caches(pte) &&
           (!write || (pte & TSR_APTE_WRITE)) &&
           (pte & TSR_APTE_ADDR_MASK) == dma;
}

/* ---- Runs ---------------------------------------------------------------- */

static uint32_t vm_begin(TesseraView *v, uint64_t va, uint64_t len,
                         bool write, TesseraRun *run)
{
    TesseraMaster *m = v->m;
    TesseraPlace place;
    uint32_t err = tessera_mmu_translate(m, va, write, v->slot, &place);
    uint64_t n, offset;

    if (err) {
        return err;
    }
    if (place.pte & TSR_PTE_NULL) {
        return tessera_null_begin(m, MIN(len, place.left), write, run);
    }
    if (pte_past_caches(place.pte)) {
        return m->s->ops->ram_begin_uncached(m, place.addr,
                                             MIN(len, place.left), write, run);
    }
    n = tessera_mmu_extend(m, va, len, write, &place);
    if (!(place.pte & TSR_PTE_VRAM)) {
        return tessera_ram_begin(m, place.addr, n, write, true, run);
    }
    if (!tessera_vram_find(m->s, place.addr, n, &offset)) {
        /* the range may cross a segment's end */
        n = MIN(len, place.left);
        if (!tessera_vram_find(m->s, place.addr, n, &offset)) {
            return tessera_fault(m, TSR_ERR_ADDRESS, v->slot, place.addr);
        }
    }
    return tessera_vram_begin(m, offset, n, write, v->slot, run);
}

/* Begin a run at @off: all of @len in VRAM, otherwise the contiguous part. */
uint32_t tessera_view_begin(TesseraView *v, uint64_t off, uint64_t len,
                            bool write, TesseraRun *run)
{
    uint64_t pos = v->base + off, in_page = pos & (TSR_PAGE_SIZE - 1);
    uint64_t dma = 0, n = MIN(len, TSR_PAGE_SIZE - in_page);
    bool past_caches;
    uint32_t err;

    if (v->is_vram) {
        return tessera_vram_begin(v->m, v->vram_offset + off, len, write,
                                  v->slot, run);
    }
    if (v->vm) {
        return vm_begin(v, pos, len, write, run);
    }
    v->m->fault_slot = v->slot;
    err = view_page(v, pos, write, &dma, &past_caches);
    if (err) {
        return err;
    }
    dma += in_page;
    if (past_caches) {
        return v->m->s->ops->ram_begin_uncached(v->m, dma, n, write, run);
    }
    while (n < len && page_follows(v, pos + n, write, dma + n)) {
        n += MIN(len - n, TSR_PAGE_SIZE);
    }
    return tessera_ram_begin(v->m, dma, n, write, true, run);
}

uint32_t tessera_view_end(TesseraView *v, TesseraRun *run, uint64_t done)
{
    return tessera_run_end(v->m, run, done);
}

/*
 * Begin as many runs from @off on as fit into v->run, each a multiple of @unit
 * bytes. Returns the sum of their bytes. Pages may be scattered, so the host's
 * prefetcher cannot predict them. With several runs at hand the caller can
 * prefetch the next one. After an error, the runs before it can be used.
 */
uint64_t tessera_view_runs_begin(TesseraView *v, uint64_t off, uint64_t len,
                                 bool write, uint64_t unit, uint32_t *err)
{
    uint64_t bytes = 0;

    *err = TSR_ERR_NONE;
    v->num_runs = 0;
    while (bytes < len && v->num_runs < TESSERA_RUNS && !*err) {
        TesseraRun *run = &v->run[v->num_runs];

        *err = tessera_view_begin(v, off + bytes, len - bytes, write, run);
        if (*err) {
            break;
        }
        if (run->len < unit) {
            tessera_view_end(v, run, 0);
            *err = tessera_fault(v->m, TSR_ERR_DMA, v->slot,
                                 v->base + off + bytes);
            break;
        }
        run->len -= run->len % unit;
        bytes += run->len;
        v->num_runs++;
    }
    return bytes;
}

/* End all runs. All of their bytes were used. */
uint32_t tessera_view_runs_end(TesseraView *v)
{
    uint32_t err = TSR_ERR_NONE;

    for (uint32_t i = 0; i < v->num_runs; i++) {
        uint32_t end = tessera_view_end(v, &v->run[i], v->run[i].len);

        err = err ?: end;
    }
    v->num_runs = 0;
    return err;
}

static void run_copy(const TesseraView *v, const TesseraRun *run, uint8_t *buf,
                     const uint8_t *ahead)
{
    uint8_t *dst = run->write ? run->ptr : buf;
    const uint8_t *src = run->write ? buf : run->ptr;

    if (v->stream) {
        tessera_stream_copy(dst, src, run->len, run->write ? src : ahead);
    } else {
        memmove(dst, src, run->len);
    }
}

/* Copy @len bytes. After an error, *@done bytes were copied. */
static uint32_t view_move(TesseraView *v, uint64_t off, uint8_t *buf,
                          uint64_t len, bool write, uint64_t *done)
{
    uint32_t err = TSR_ERR_NONE, end;

    *done = 0;
    while (*done < len && !err) {
        uint64_t n = tessera_view_runs_begin(v, off + *done, len - *done,
                                             write, 1, &err);
        uint8_t *p = buf + *done;

        for (uint32_t i = 0; i < v->num_runs; i++) {
            run_copy(v, &v->run[i], p,
                     v->run[MIN(i + 1, v->num_runs - 1)].ptr);
            p += v->run[i].len;
        }
        *done += n;
        end = tessera_view_runs_end(v);
        err = end ?: err;
    }
    return err;
}

uint32_t tessera_view_rw(TesseraView *v, uint64_t off, void *buf,
                         uint64_t len, bool write)
{
    uint64_t done;

    return view_move(v, off, buf, len, write, &done);
}

/* ---- Copies -------------------------------------------------------------- */

/* The number of bytes that one step of a copy may take. */
static uint64_t copy_step(const TesseraView *d, const TesseraView *s)
{
    return d->is_vram || s->is_vram ? TESSERA_CHUNK_BYTES
                                    : TESSERA_BOUNCE_BYTES;
}

static uint32_t copy_chunk(TesseraView *d, uint64_t doff, TesseraView *s,
                           uint64_t soff, uint64_t len)
{
    uint64_t done;
    TesseraRun run;
    uint32_t err, end;

    if (s->is_vram) {
        err = tessera_view_begin(s, soff, len, false, &run);
        if (!err) {
            err = view_move(d, doff, run.ptr, len, true, &done);
            tessera_view_end(s, &run, len);
        }
        return err;
    }
    if (d->is_vram) {
        err = tessera_view_begin(d, doff, len, true, &run);
        if (!err) {
            err = view_move(s, soff, run.ptr, len, false, &done);
            end = tessera_view_end(d, &run, done);
            err = err ?: end;
        }
        return err;
    }
    err = tessera_view_rw(s, soff, d->m->bounce, len, false);
    return err ? err : tessera_view_rw(d, doff, d->m->bounce, len, true);
}

static bool one_space(const TesseraView *d, const TesseraView *s)
{
    return d->vm ? s->vm : d->seg && d->seg == s->seg;
}

/*
 * Copy between views from *@done on. Inside one segment or address space it
 * behaves like memmove(). Checks for requests after each chunk.
 */
uint32_t tessera_view_copy(TesseraView *d, uint64_t doff, TesseraView *s,
                           uint64_t soff, uint64_t len, uint64_t *done)
{
    bool backward = one_space(d, s) && d->base + doff > s->base + soff;
    uint64_t step = copy_step(d, s);
    uint32_t err = TSR_ERR_NONE;

    /*
     * If only one side were contiguous, its larger pieces would overwrite bytes
     * of the other side before they are read. So bounce all pieces.
     */
    if (d->vm && d->is_vram != s->is_vram && one_space(d, s)) {
        d->is_vram = s->is_vram = false;
        step = TESSERA_BOUNCE_BYTES;
    }

    /*
     * Stream only if one side is VRAM: a bounce buffer should stay in the
     * caches.
     */
    d->stream = s->stream = len >= TESSERA_STREAM_BYTES &&
                            d->is_vram != s->is_vram;
    while (*done < len && !err) {
        uint64_t n = MIN(len - *done, step);
        uint64_t at = backward ? len - *done - n : *done;

        tessera_access_enter(d->m);
        err = copy_chunk(d, doff + at, s, soff + at, n);
        tessera_access_leave(d->m);
        if (!err) {
            *done += n;
            err = *done < len ? tessera_leave(d->m) : TSR_ERR_NONE;
        }
    }
    if (d->stream) {
        stream_store_end();
        d->stream = s->stream = false;
    }
    return err;
}
