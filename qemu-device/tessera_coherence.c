/*
 * Tessera virtual GPU: memory behind CPU caches
 *
 * An access to a page that CPUs have cached snoops their caches if its mapping
 * says so. Otherwise it goes past them: engines do not see what CPUs have
 * written, nor CPUs what engines write. Guest RAM plays the caches, and a page
 * that was reached past them has a second copy here, which plays the memory.
 * Accesses that snoop use guest RAM, others the copy. Maintenance commands
 * carry lines from one to the other, and nothing else does: caches here never
 * write back by themselves, and always hold what was there before an engine
 * wrote, as if a CPU had just loaded it. So what is forgotten shows.
 *
 * Copies are found by the host address of their page, whatever addresses an
 * IOMMU has for it. One lives as long as its RAM and the device; a reset keeps
 * it. Commands come under the BQL, accesses from engine threads. The lock is
 * for the table only and is the innermost.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qapi/error.h"
#include "migration/blocker.h"
#include "tessera_coherence.h"
#include "tessera_strict.h"
#include "tessera_tsan.h"
#include "trace.h"

#define LINE        TSR_COH_LINE_BYTES
#define LINES       (TSR_PAGE_SIZE / LINE)

typedef struct CachedPage {
    uint8_t mem[TSR_PAGE_SIZE];     /* what the memory holds */
    uint8_t loaded[TSR_PAGE_SIZE];  /* what caches got from it */
    uint64_t known;                 /* lines of the two that count; atomic */
} CachedPage;

struct TesseraCoherence {
    QemuMutex lock;
    GHashTable *pages;              /* host page: CachedPage */
    RAMBlockNotifier notifier;
    Error *migration_blocker;       /* with io-coherent=off */
};

QEMU_BUILD_BUG_ON(LINES != 64);

/* ---- Pages --------------------------------------------------------------- */

/* Of a page that nobody has cared for, nobody knows what the memory holds. */
static CachedPage *page_new(void)
{
    CachedPage *page = g_new(CachedPage, 1);

    for (unsigned int i = 0; i < TSR_PAGE_SIZE; i += 4) {
        stl_le_p(page->mem + i, TSR_POISON);
    }
    page->known = 0;
    tessera_tsan_exempt(page->mem, sizeof(page->mem));
    return page;
}

static CachedPage *page_of(TesseraCoherence *c, const uint8_t *ram)
{
    gpointer key = (gpointer)((uintptr_t)ram & ~(uintptr_t)(TSR_PAGE_SIZE - 1));
    CachedPage *page;

    QEMU_LOCK_GUARD(&c->lock);
    page = g_hash_table_lookup(c->pages, key);
    if (!page) {
        page = page_new();
        g_hash_table_insert(c->pages, key, page);
    }
    return page;
}

/* Whether a CPU has changed a line since its cache got it. */
static bool line_is_dirty(const CachedPage *page, unsigned int line,
                          const uint8_t *ram)
{
    return !(qatomic_read__nocheck(&page->known) & (1ULL << line)) ||
           memcmp(page->loaded + line * LINE, ram, LINE);
}

/* ---- Engines ------------------------------------------------------------- */

/*
 * To read such a line is to read old bytes. To write it is no better: the
 * cache writes it back some day, over what was written.
 */
static void referee(TesseraMaster *m, const CachedPage *page, uint64_t addr,
                    const TesseraRun *run)
{
    unsigned int at = (uintptr_t)run->ptr % TSR_PAGE_SIZE;
    unsigned int last = (at + run->len - 1) / LINE;

    for (unsigned int i = at / LINE; i <= last; i++) {
        if (line_is_dirty(page, i, run->ptr - at + i * LINE)) {
            tessera_guest_error(m, TSR_ERR_STRICT_COHERENCE,
                                addr - at % LINE + (i - at / LINE) * LINE);
            return;
        }
    }
}

/*
 * As tessera_ram_begin(), of what CPUs can have cached: not the device's own
 * memory, of which nobody needs two copies.
 */
static uint32_t ram_begin(TesseraMaster *m, uint64_t addr, uint64_t len,
                          bool write, bool injectable, TesseraRun *run)
{
    uint32_t err = tessera_ram_begin(m, addr, len, write, injectable, run);

    if (!err && (run->mr == m->s->vram || run->mr == &m->s->ha.ram.mr)) {
        tessera_run_end(m, run, 0);
        return tessera_fault(m, TSR_ERR_DMA, m->fault_slot, addr);
    }
    return err;
}

/* As tessera_ram_begin(), past the caches that have the page: to its end. */
uint32_t tessera_coherence_begin(TesseraMaster *m, uint64_t addr, uint64_t len,
                                 bool write, TesseraRun *run)
{
    CachedPage *page;
    uint64_t at;
    uint32_t err = ram_begin(m, addr, len, write, true, run);

    if (err) {
        return err;
    }
    at = (uintptr_t)run->ptr % TSR_PAGE_SIZE;
    run->len = MIN(run->len, TSR_PAGE_SIZE - at);
    page = page_of(m->s->coherence, run->ptr);
    if (m->s->cfg.strict && run->len) {
        referee(m, page, addr, run);
    }
    run->ptr = page->mem + at;
    run->mr = NULL;
    return TSR_ERR_NONE;
}

/* ---- Commands ------------------------------------------------------------ */

/* A store that changes nothing is not seen, so some are told: @stored. */
static void clean_line(CachedPage *page, unsigned int line, const uint8_t *ram,
                       bool stored)
{
    if (stored || line_is_dirty(page, line, ram)) {
        memcpy(page->loaded + line * LINE, ram, LINE);
        memcpy(page->mem + line * LINE, page->loaded + line * LINE, LINE);
        qatomic_or(&page->known, 1ULL << line);
    }
}

/* A store that was seen, and is about to be lost. */
static bool line_is_stored(const CachedPage *page, unsigned int line,
                           const uint8_t *ram)
{
    return (qatomic_read__nocheck(&page->known) & (1ULL << line)) &&
           memcmp(page->loaded + line * LINE, ram, LINE);
}

/* Other CPUs may be writing lines that need not change: these are left alone. */
static void invalidate_line(CachedPage *page, unsigned int line, uint8_t *ram)
{
    memcpy(page->loaded + line * LINE, page->mem + line * LINE, LINE);
    if (memcmp(ram, page->loaded + line * LINE, LINE)) {
        memcpy(ram, page->loaded + line * LINE, LINE);
    }
    qatomic_or(&page->known, 1ULL << line);
}

static bool invalidates(uint32_t command)
{
    return command == TSR_COH_INVALIDATE || command == TSR_COH_FLUSH;
}

/* Lines of one page; returns how many bytes those are. */
static uint64_t maintain_page(TesseraState *s, uint32_t command, uint64_t addr,
                              uint8_t *ram, uint64_t len)
{
    CachedPage *page = page_of(s->coherence, ram);
    unsigned int at = (uintptr_t)ram % TSR_PAGE_SIZE;
    bool told = !s->cfg.strict || command != TSR_COH_INVALIDATE;
    uint64_t done;

    len = MIN(len, TSR_PAGE_SIZE - at);
    for (done = 0; done < len; done += LINE) {
        unsigned int line = (at + done) / LINE;

        if (!told && line_is_stored(page, line, ram + done)) {
            tessera_guest_error(&s->cpu, TSR_ERR_STRICT_INVALIDATE,
                                addr + done);
            told = true;
        }
        if (command != TSR_COH_INVALIDATE) {
            clean_line(page, line, ram + done, command == TSR_COH_WRITE_BACK);
        }
        if (invalidates(command)) {
            invalidate_line(page, line, ram + done);
        }
    }
    return len;
}

/* Whole lines, in the order of addresses, up to the first that is no RAM. */
static uint32_t maintain(TesseraState *s, uint32_t command, uint64_t *at)
{
    uint64_t end, done;

    *at = s->coh_addr;
    if (s->coh_addr >> TSR_ADDRESS_BITS) {
        return TSR_ERR_DMA;
    }
    end = ROUND_UP(s->coh_addr + s->coh_size, LINE);
    *at = QEMU_ALIGN_DOWN(s->coh_addr, LINE);
    while (s->coh_size && *at < end) {
        TesseraRun run;
        uint32_t err = ram_begin(&s->cpu, *at, end - *at,
                                 invalidates(command), false, &run);

        if (err) {
            return err;
        }
        if (!QEMU_IS_ALIGNED((uintptr_t)run.ptr | run.len, LINE)) {
            tessera_run_end(&s->cpu, &run, 0);
            return TSR_ERR_DMA;
        }
        for (done = 0; done < run.len;) {
            done += maintain_page(s, command, *at + done, run.ptr + done,
                                  run.len - done);
        }
        tessera_run_end(&s->cpu, &run, run.len);
        *at += run.len;
    }
    return TSR_ERR_NONE;
}

static bool command_write(TesseraState *s, uint32_t command)
{
    uint64_t at;
    uint32_t err;

    if (!command || command > TSR_COH_WRITE_BACK ||
        s->coh_size > TSR_COH_MAX_BYTES) {
        return false;
    }
    trace_tessera_cache_maintenance(command, s->coh_addr, s->coh_size);
    err = maintain(s, command, &at);
    if (err) {
        tessera_guest_error(&s->cpu, err, at);
    }
    return true;
}

/* ---- Registers ----------------------------------------------------------- */

/* False if there is no such register to be read. */
bool tessera_coherence_read(TesseraState *s, uint32_t addr, uint32_t *value)
{
    switch (addr) {
    case TSR_COH_ADDR_LO:
        *value = s->coh_addr;
        return true;
    case TSR_COH_ADDR_HI:
        *value = s->coh_addr >> 32;
        return true;
    case TSR_COH_SIZE:
        *value = s->coh_size;
        return true;
    default:
        return false;
    }
}

/* False if there is none to be written, or it does not take the value. */
bool tessera_coherence_write(TesseraState *s, uint32_t addr, uint32_t value)
{
    switch (addr) {
    case TSR_COH_ADDR_LO:
        s->coh_addr = deposit64(s->coh_addr, 0, 32, value);
        return true;
    case TSR_COH_ADDR_HI:
        s->coh_addr = deposit64(s->coh_addr, 32, 32, value);
        return true;
    case TSR_COH_SIZE:
        s->coh_size = value;
        return true;
    case TSR_COH_COMMAND:
        return command_write(s, value);
    default:
        return false;
    }
}

void tessera_coherence_reset(TesseraState *s)
{
    s->coh_addr = 0;
    s->coh_size = 0;
}

/* ---- Life cycle ---------------------------------------------------------- */

typedef struct HostRange {
    const uint8_t *start;
    size_t bytes;
} HostRange;

static gboolean page_in_range(gpointer key, gpointer value, gpointer opaque)
{
    const HostRange *range = opaque;

    return (uintptr_t)key - (uintptr_t)range->start < range->bytes;
}

/*
 * RAM goes, and other RAM may get its host addresses: so its copies go. No
 * engine has one any more. An engine finds RAM in a memory map and
 * uses it inside one RCU critical section, and the map holds the RAM until such
 * sections have ended.
 */
static void ram_removed(RAMBlockNotifier *n, void *host, size_t size,
                        size_t max_size)
{
    TesseraCoherence *c = container_of(n, TesseraCoherence, notifier);
    HostRange range = { host, max_size };

    QEMU_LOCK_GUARD(&c->lock);
    g_hash_table_foreach_remove(c->pages, page_in_range, &range);
}

/* How many pages have a copy. */
uint32_t tessera_coherence_pages(TesseraState *s)
{
    TesseraCoherence *c = s->coherence;

    if (!c) {
        return 0;
    }
    QEMU_LOCK_GUARD(&c->lock);
    return g_hash_table_size(c->pages);
}

/* Guest RAM is about to be loaded: copies are of what was there before. */
void tessera_coherence_forget(TesseraState *s)
{
    QEMU_LOCK_GUARD(&s->coherence->lock);
    g_hash_table_remove_all(s->coherence->pages);
}

bool tessera_coherence_init(TesseraState *s, Error **errp)
{
    TesseraCoherence *c;
    Error *blocker = NULL;

    /*
     * The copies would have to travel, by names that both sides know. A device
     * that can snoop rarely has any; see tessera_pre_save().
     */
    if (!s->cfg.io_coherent) {
        error_setg(&blocker, "tessera: io-coherent=off does not migrate");
        if (migrate_add_blocker(&blocker, errp) < 0) {
            return false;
        }
    }
    c = g_new0(TesseraCoherence, 1);
    c->migration_blocker = blocker;
    qemu_mutex_init(&c->lock);
    c->pages = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    c->notifier.ram_block_removed = ram_removed;
    ram_block_notifier_add(&c->notifier);
    s->coherence = c;
    return true;
}

/* The device goes; a vCPU may still be on its way to a register. */
void tessera_coherence_fini(TesseraState *s)
{
    if (s->coherence) {
        ram_block_notifier_remove(&s->coherence->notifier);
        migrate_del_blocker(&s->coherence->migration_blocker);
    }
}

void tessera_coherence_free(TesseraState *s)
{
    TesseraCoherence *c = s->coherence;

    if (c) {
        g_hash_table_destroy(c->pages);
        qemu_mutex_destroy(&c->lock);
        g_free(c);
        s->coherence = NULL;
    }
}
