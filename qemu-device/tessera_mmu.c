/*
 * Tessera virtual GPU: virtual addresses
 *
 * Page tables, the TLBs of engines, and the packets that change both. Each
 * engine has a TLB of its own, which caches leaves and no tables. It keeps an
 * entry until it is flushed, until another page needs its place, or until a
 * reset or migration. If a driver changes a leaf without a flush, strict mode
 * reports the first use of the old entry. Called from engine threads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include "qemu/lockable.h"
#include "tessera_mmu.h"
#include "tessera_strict.h"
#include "trace.h"

#define TLB_ENTRIES     512     /* for each size of leaf */
#define MAX_JOINED      64      /* leaves joined into one run */
#define GROUP           16      /* entries of a middle leaf */

#define SMALL_SHIFT     TSR_PAGE_SHIFT
#define MIDDLE_SHIFT    16
#define LARGE_SHIFT     21

#define PTE_KNOWN       (TSR_PTE_VALID | TSR_PTE_WRITE | TSR_PTE_COHERENT | \
                         TSR_PTE_VRAM | TSR_PTE_LEAF | TSR_PTE_64K | \
                         TSR_PTE_NULL | TSR_PTE_CACHED | TSR_PTE_FENCE | \
                         TSR_PTE_ADDR_MASK)
#define PDE_KNOWN       (TSR_PTE_VALID | TSR_PTE_VRAM | TSR_PTE_ADDR_MASK)

static const uint8_t leaf_shifts[] = { SMALL_SHIFT, MIDDLE_SHIFT, LARGE_SHIFT };

typedef struct TlbEntry {
    uint64_t page;              /* virtual address >> shift */
    uint64_t pte;               /* 0: empty */
    uint32_t asid;
} TlbEntry;

struct TesseraTlb {
    QemuMutex lock;             /* innermost */
    /* counts flushes, to detect one during a walk */
    uint32_t flushes;
    TlbEntry entry[ARRAY_SIZE(leaf_shifts)][TLB_ENTRIES];
};

void tessera_mmu_init(TesseraMaster *m)
{
    m->tlb = g_new0(TesseraTlb, 1);
    qemu_mutex_init(&m->tlb->lock);
}

void tessera_mmu_fini(TesseraMaster *m)
{
    qemu_mutex_destroy(&m->tlb->lock);
    g_free(m->tlb);
    m->tlb = NULL;
}

/* ---- Walks --------------------------------------------------------------- */

/* A root is 0 (none), or a valid directory entry. */
bool tessera_mmu_root_ok(uint64_t root)
{
    return !root || ((root & TSR_PTE_VALID) && !(root & ~PDE_KNOWN));
}

static uint32_t bad_entry(TesseraMaster *m, uint64_t va)
{
    return tessera_fault(m, TSR_ERR_MMU_TABLE, m->fault_slot, va);
}

/* Read entry @index of the table that @pde points to. */
static uint32_t read_entry(TesseraMaster *m, uint64_t va, uint64_t pde,
                           uint32_t index, uint64_t *entry)
{
    uint64_t addr = (pde & TSR_PTE_ADDR_MASK) + index * sizeof(*entry);
    uint64_t offset, value = 0;
    uint32_t err;

    if (!(pde & TSR_PTE_VRAM)) {
        if (tessera_dma_rw(m, addr, &value, sizeof(value), false, false)) {
            return bad_entry(m, va);
        }
        err = TSR_ERR_NONE;
    } else if (tessera_vram_find(m->s, addr, sizeof(value), &offset)) {
        err = tessera_strict_access(m, offset, sizeof(value), false,
                                    m->fault_slot);
        value = qatomic_read__nocheck((uint64_t *)(m->s->vram_ptr + offset));
    } else {
        err = bad_entry(m, va);
    }
    *entry = le64_to_cpu(value);
    return err;
}

/*
 * The bits that a leaf must not have at this level and for its kind of memory.
 */
static uint64_t leaf_excludes(const TesseraState *s, uint64_t pte,
                              uint32_t level)
{
    uint64_t bits = ~PTE_KNOWN | (level ? TSR_PTE_64K | TSR_PTE_FENCE
                                        : TSR_PTE_LEAF);

    if (!s->cfg.io_coherent) {
        bits |= TSR_PTE_COHERENT;
    }
    if (pte & (TSR_PTE_VRAM | TSR_PTE_NULL)) {
        bits |= TSR_PTE_CACHED | TSR_PTE_COHERENT;
    }
    if (pte & TSR_PTE_NULL) {
        bits |= TSR_PTE_VRAM | TSR_PTE_ADDR_MASK;
    }
    if (pte & TSR_PTE_FENCE) {
        bits |= TSR_PTE_VRAM | TSR_PTE_NULL | TSR_PTE_64K | TSR_PTE_CACHED |
                TSR_PTE_COHERENT;
    }
    return bits;
}

static uint32_t check_leaf(TesseraMaster *m, uint64_t va, uint64_t pte,
                           uint32_t level, uint32_t *shift)
{
    *shift = level ? LARGE_SHIFT
             : pte & TSR_PTE_64K ? MIDDLE_SHIFT : SMALL_SHIFT;
    if ((pte & leaf_excludes(m->s, pte, level)) ||
        (pte & TSR_PTE_ADDR_MASK) % (1ULL << *shift)) {
        return bad_entry(m, va);
    }
    return TSR_ERR_NONE;
}

/* Walk the page tables. */
static uint32_t walk(TesseraMaster *m, uint64_t va, uint64_t *pte,
                     uint32_t *shift)
{
    uint64_t entry = m->vm.root;
    uint32_t level = TSR_PT_LEVELS;

    while (level--) {
        uint32_t index = (va >> (TSR_PAGE_SHIFT + 9 * level)) &
                         (TSR_PT_ENTRIES - 1);
        uint32_t err = read_entry(m, va, entry, index, &entry);

        if (err) {
            return err;
        }
        if (!(entry & TSR_PTE_VALID)) {
            return tessera_fault(m, TSR_ERR_MMU, m->fault_slot, va);
        }
        if (!level || (level == 1 && (entry & TSR_PTE_LEAF))) {
            break;
        }
        if (entry & ~PDE_KNOWN) {
            return bad_entry(m, va);
        }
    }
    *pte = entry;
    return check_leaf(m, va, entry, level, shift);
}

/* ---- TLB ----------------------------------------------------------------- */

static TlbEntry *tlb_slot(TesseraMaster *m, unsigned int size, uint64_t va)
{
    uint64_t page = va >> leaf_shifts[size];

    return &m->tlb->entry[size][(page ^ m->vm.asid) % TLB_ENTRIES];
}

static bool tlb_find(TesseraMaster *m, uint64_t va, uint64_t *pte,
                     uint32_t *shift, uint32_t *flushes)
{
    QEMU_LOCK_GUARD(&m->tlb->lock);
    *flushes = m->tlb->flushes;
    for (unsigned int i = 0; i < ARRAY_SIZE(leaf_shifts); i++) {
        TlbEntry *t = tlb_slot(m, i, va);

        if (t->pte && t->asid == m->vm.asid &&
            t->page == va >> leaf_shifts[i]) {
            *pte = t->pte;
            *shift = leaf_shifts[i];
            return true;
        }
    }
    return false;
}

/* Add an entry, unless a flush came during the walk: it may be stale then. */
static void tlb_add(TesseraMaster *m, uint64_t va, uint64_t pte,
                    uint32_t shift, uint32_t flushes)
{
    QEMU_LOCK_GUARD(&m->tlb->lock);
    if (m->tlb->flushes != flushes) {
        return;
    }
    for (unsigned int i = 0; i < ARRAY_SIZE(leaf_shifts); i++) {
        if (leaf_shifts[i] == shift) {
            *tlb_slot(m, i, va) = (TlbEntry) {
                .page = va >> shift,
                .pte = pte,
                .asid = m->vm.asid,
            };
        }
    }
}

static void tlb_forget_range(TesseraTlb *tlb, uint32_t asid, uint64_t first,
                             uint64_t last)
{
    QEMU_LOCK_GUARD(&tlb->lock);
    tlb->flushes++;
    for (unsigned int i = 0; i < ARRAY_SIZE(leaf_shifts); i++) {
        uint64_t from = first >> leaf_shifts[i], to = last >> leaf_shifts[i];

        for (unsigned int j = 0; j < TLB_ENTRIES; j++) {
            TlbEntry *t = &tlb->entry[i][j];

            if (t->asid == asid && t->page >= from && t->page <= to) {
                t->pte = 0;
            }
        }
    }
}

void tessera_mmu_forget(TesseraMaster *m)
{
    QEMU_LOCK_GUARD(&m->tlb->lock);
    m->tlb->flushes++;
    memset(m->tlb->entry, 0, sizeof(m->tlb->entry));
}

/* Strict mode: check a TLB hit against the page tables. */
static uint32_t referee_hit(TesseraMaster *m, uint64_t va, uint64_t pte,
                            uint32_t shift)
{
    uint32_t now_shift;
    uint64_t now;

    if (m->s->cfg.strict &&
        (walk(m, va, &now, &now_shift) || now != pte || now_shift != shift)) {
        return tessera_fault(m, TSR_ERR_STRICT_TLB, m->fault_slot, va);
    }
    return TSR_ERR_NONE;
}

static uint32_t lookup(TesseraMaster *m, uint64_t va, uint64_t *pte,
                       uint32_t *shift)
{
    uint32_t flushes, err;

    if (va >> TSR_VM_ADDRESS_BITS) {
        return tessera_fault(m, TSR_ERR_MMU, m->fault_slot, va);
    }
    if (tlb_find(m, va, pte, shift, &flushes)) {
        return referee_hit(m, va, *pte, *shift);
    }
    err = walk(m, va, pte, shift);
    if (!err) {
        tlb_add(m, va, *pte, *shift, flushes);
    }
    return err;
}

/* Translate an address for an access to a fence, or for another one. */
static uint32_t translate(TesseraMaster *m, uint64_t va, bool write, bool fence,
                          TesseraPlace *place)
{
    uint64_t in_leaf;
    uint32_t shift, err;

    err = lookup(m, va, &place->pte, &shift);
    if (!err && fence != !!(place->pte & TSR_PTE_FENCE)) {
        err = tessera_fault(m, TSR_ERR_FENCE, m->fault_slot, va);
    }
    if (!err && write && !(place->pte & TSR_PTE_WRITE)) {
        err = tessera_fault(m, TSR_ERR_READ_ONLY, m->fault_slot, va);
    }
    if (err == TSR_ERR_MMU || err == TSR_ERR_MMU_TABLE ||
        err == TSR_ERR_READ_ONLY || err == TSR_ERR_FENCE ||
        err == TSR_ERR_STRICT_TLB) {
        m->fault_access = TSR_ACCESS_VM | (write ? TSR_ACCESS_WRITE : 0) |
                          m->vm.asid << TSR_ACCESS_ASID_SHIFT;
    }
    if (err) {
        return err;
    }
    in_leaf = va & ((1ULL << shift) - 1);
    place->addr = (place->pte & TSR_PTE_ADDR_MASK) + in_leaf;
    place->left = (1ULL << shift) - in_leaf;
    return TSR_ERR_NONE;
}

/* Translate a virtual address of the requester's address space. */
uint32_t tessera_mmu_translate(TesseraMaster *m, uint64_t va, bool write,
                               uint32_t slot, TesseraPlace *place)
{
    m->fault_slot = slot;
    return translate(m, va, write, false, place);
}

/* Find the bus address of a fence. @write: it is to be signalled. */
uint32_t tessera_mmu_fence(TesseraMaster *m, uint64_t va, bool write,
                           uint64_t *addr)
{
    TesseraPlace place;
    uint32_t err;

    m->fault_slot = TESSERA_NO_SLOT;
    err = translate(m, va, write, true, &place);
    if (!err) {
        *addr = place.addr;
    }
    return err;
}

static bool same_kind(uint64_t a, uint64_t b)
{
    return !((a ^ b) & (TSR_PTE_VRAM | TSR_PTE_NULL | TSR_PTE_COHERENT |
                        TSR_PTE_CACHED));
}

/*
 * Return how many of @len bytes from @va on continue @place, the translation of
 * @va. An error in a later page only ends the count: it is reported when an
 * access reaches that page.
 */
uint64_t tessera_mmu_extend(TesseraMaster *m, uint64_t va, uint64_t len,
                            bool write, const TesseraPlace *place)
{
    uint64_t n = MIN(len, place->left), fault_addr = m->fault_addr;
    uint32_t fault_access = m->fault_access;
    TesseraPlace next;

    for (unsigned int i = 0; n < len && i < MAX_JOINED; i++) {
        if (tessera_mmu_translate(m, va + n, write, m->fault_slot, &next) ||
            !same_kind(next.pte, place->pte) ||
            (!(place->pte & TSR_PTE_NULL) && next.addr != place->addr + n)) {
            break;
        }
        n += MIN(len - n, next.left);
    }
    m->fault_addr = fault_addr;
    m->fault_access = fault_access;
    return n;
}

/* ---- Packets ------------------------------------------------------------- */

static uint32_t entries_begin(TesseraMaster *m, uint64_t addr, bool vram,
                              uint64_t bytes, TesseraRun *run)
{
    uint64_t offset;

    if (!vram) {
        return tessera_ram_begin(m, addr, bytes, true, true, run);
    }
    if (!tessera_vram_find(m->s, addr, bytes, &offset)) {
        return tessera_fault(m, TSR_ERR_ADDRESS, TESSERA_NO_SLOT, addr);
    }
    return tessera_vram_begin(m, offset, bytes, true, TESSERA_NO_SLOT, run);
}

static uint32_t write_entries(TesseraMaster *m, uint64_t addr, bool vram,
                              const uint64_t *entry, uint64_t bytes)
{
    TesseraRun run;
    uint32_t err = entries_begin(m, addr, vram, bytes, &run);

    if (err) {
        return err;
    }
    if (run.len < bytes) {      /* the table is not in a whole page of RAM */
        tessera_run_end(m, &run, 0);
        return tessera_fault(m, TSR_ERR_DMA, TESSERA_NO_SLOT, addr);
    }
    /* Write each entry atomically: other engines may be walking the table. */
    for (uint32_t i = 0; i < bytes / sizeof(*entry); i++) {
        qatomic_set__nocheck((uint64_t *)run.ptr + i, cpu_to_le64(entry[i]));
    }
    return tessera_run_end(m, &run, bytes);
}

static bool ptes_flags_ok(uint32_t flags, uint64_t addr, uint32_t count,
                          uint64_t value, uint64_t step)
{
    if (flags & TSR_PTES_LIST) {
        return !step && value % sizeof(uint64_t) == 0 &&
               !(flags & TSR_PTES_GROUPS);
    }
    return !(flags & TSR_PTES_GROUPS) ||
           (addr % (GROUP * sizeof(uint64_t)) == 0 && count % GROUP == 0);
}

/* The packet writes at most one page, so it needs no progress[]. */
uint32_t tessera_mmu_write_ptes(TesseraEngine *e, const uint32_t *p)
{
    uint32_t flags = (p[0] & TSR_PKT_FLAGS_MASK) >> TSR_PKT_FLAGS_SHIFT;
    uint64_t addr = tessera_u64(&p[2]), value = tessera_u64(&p[4]);
    uint64_t step = tessera_u64(&p[6]), entry[TSR_PT_ENTRIES];
    uint64_t bytes = (uint64_t)p[1] * sizeof(entry[0]);
    uint32_t err = TSR_ERR_NONE;

    if (!(e->s->caps & TSR_CAP_VM) || addr % sizeof(entry[0]) ||
        bytes > TSR_PAGE_SIZE - (addr & (TSR_PAGE_SIZE - 1)) ||
        !ptes_flags_ok(flags, addr, p[1], value, step)) {
        return TSR_ERR_PACKET;
    }
    trace_tessera_write_ptes(e->index, flags, addr, p[1], value, step);
    if (!bytes) {
        return TSR_ERR_NONE;
    }
    if (flags & TSR_PTES_LIST) {
        err = tessera_dma_rw(&e->m, value, entry, bytes, false, true);
    }
    for (uint32_t i = 0; i < p[1] && !err; i++) {
        entry[i] = flags & TSR_PTES_LIST
                   ? le64_to_cpu(entry[i])
                   : value + i / (flags & TSR_PTES_GROUPS ? GROUP : 1) * step;
    }
    return err ? err : write_entries(&e->m, addr, flags & TSR_PTES_VRAM, entry,
                                     bytes);
}

uint32_t tessera_mmu_flush(TesseraEngine *e, const uint32_t *p)
{
    uint64_t va = tessera_u64(&p[2]), bytes = tessera_u64(&p[4]);
    const uint64_t top = 1ULL << TSR_VM_ADDRESS_BITS;

    if (!(e->s->caps & TSR_CAP_VM) || p[1] >= TESSERA_ASIDS || va >= top ||
        bytes > top - va) {
        return TSR_ERR_PACKET;
    }
    trace_tessera_tlb_flush(e->index, p[1], va, bytes);
    for (unsigned int i = 0; bytes && i < e->s->num_engines; i++) {
        tlb_forget_range(e->s->engines[i].m.tlb, p[1], va, va + bytes - 1);
    }
    return TSR_ERR_NONE;
}
