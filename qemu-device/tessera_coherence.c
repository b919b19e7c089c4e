/*
 * Tessera virtual GPU: non-coherent guest memory
 *
 * An access to a page that CPUs have cached snoops their caches if the mapping
 * of the page says so. Otherwise it bypasses them: engines do not see what CPUs
 * wrote, and CPUs do not see what engines write. Guest RAM plays the role of
 * the caches. For each page that was accessed without snooping, this unit has a
 * copy that plays the role of DRAM. Snooping accesses use guest RAM, others use
 * the copy. Only maintenance commands copy lines between the two. The modelled
 * caches never write back by themselves, and always hold the bytes from before
 * an engine's write, as if a CPU had just loaded them. So each forgotten
 * maintenance command becomes visible.
 *
 * Copies are found by the host address of their page, so the bus address that
 * an IOMMU assigns does not matter. A copy lives until its RAM goes, the machine
 * is reset, or the machine stops. A reset of the device and a wake-up from S3
 * keep it. Commands run under the BQL, accesses in engine threads. The lock
 * guards only the table, and is innermost.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_compat.h"
#include "qemu/atomic.h"
#include COMPAT_RAMLIST_H
#include "tessera_coherence.h"
#include "tessera_strict.h"
#include "tessera_tsan.h"
#include "trace.h"

#define LINE        TSR_COH_LINE_BYTES
#define LINES       (TSR_PAGE_SIZE / LINE)

typedef struct CachedPage {
    uint8_t mem[TSR_PAGE_SIZE];     /* contents of DRAM */
    uint8_t loaded[TSR_PAGE_SIZE];  /* what the caches loaded from it */
    uint64_t known;                 /* lines that are valid in both; atomic */
    void *ram;                      /* TesseraRun.ram of the page */
    uint64_t ram_offset;
} CachedPage;

struct TesseraCoherence {
    QemuMutex lock;
    GHashTable *pages;              /* host page to CachedPage */
    bool written_back;              /* all pages, at some time */
    RAMBlockNotifier notifier;
};

QEMU_BUILD_BUG_ON(LINES != 64);

/* ---- Pages --------------------------------------------------------------- */

static GHashTable *new_table(void)
{
    return g_hash_table_new_full(NULL, NULL, NULL, g_free);
}

/*
 * The DRAM contents of a page are undefined until a command defines them. Once
 * all pages were written back, it is not known any more which pages that is
 * true for, so then DRAM has the contents of guest RAM.
 */
static void page_fill(CachedPage *page, const uint8_t *ram, bool written_back)
{
    page->known = written_back ? UINT64_MAX : 0;
    if (written_back) {
        memcpy(page->mem, ram, TSR_PAGE_SIZE);
        memcpy(page->loaded, page->mem, TSR_PAGE_SIZE);
        return;
    }
    for (unsigned int i = 0; i < TSR_PAGE_SIZE; i += 4) {
        stl_le_p(page->mem + i, TSR_POISON);
    }
}

static uint8_t *page_start(uint8_t *ram)
{
    return ram - (uintptr_t)ram % TSR_PAGE_SIZE;
}

/*
 * Return the copy of the page at byte @at of a run of guest RAM. A page without
 * one gets one. The guest decides which pages have copies, so their number is
 * limited. For a page beyond the limit this returns NULL: accesses use guest
 * RAM, as if they snooped, and commands change nothing. Correct software does
 * not notice.
 */
static CachedPage *page_of(TesseraState *s, const TesseraRun *run, uint64_t at)
{
    TesseraCoherence *c = s->coherence;
    uint8_t *ram = page_start(run->ptr + at);
    CachedPage *page;

    QEMU_LOCK_GUARD(&c->lock);
    page = g_hash_table_lookup(c->pages, ram);
    if (page || g_hash_table_size(c->pages) >= s->cfg.cached_pages) {
        return page;
    }
    page = g_new(CachedPage, 1);
    page->ram = run->ram;
    page->ram_offset = run->ram_offset + at - (run->ptr + at - ram);
    page_fill(page, ram, c->written_back);
    tessera_tsan_exempt(page->mem, sizeof(page->mem));
    g_hash_table_insert(c->pages, ram, page);
    return page;
}

/* Whether a CPU has changed a line since its cache loaded it. */
static bool line_is_dirty(const CachedPage *page, unsigned int line,
                          const uint8_t *ram)
{
    return !(qatomic_read__nocheck(&page->known) & (1ULL << line)) ||
           memcmp(page->loaded + line * LINE, ram, LINE);
}

/* ---- Engines ------------------------------------------------------------- */

/*
 * Report an access to a line that is dirty in a cache. A read returns old
 * bytes. A write is wrong, too: the cache may write the line back later, over
 * the written bytes.
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
 * Like tessera_ram_begin(), but only for memory that CPUs can cache. The
 * device's own memory is refused, as it needs no second copy.
 */
static uint32_t ram_begin(TesseraMaster *m, uint64_t addr, uint64_t len,
                          bool write, bool injectable, TesseraRun *run)
{
    uint32_t err = tessera_ram_begin(m, addr, len, write, injectable, run);

    if (!err && (run->ram == tessera_pci(m->s)->vram ||
                 run->ram == &m->s->ha->ram.mr)) {
        tessera_run_end(m, run, 0);
        return tessera_fault(m, TSR_ERR_DMA, m->fault_slot, addr);
    }
    return err;
}

/*
 * Like tessera_ram_begin(), but bypass the caches, and stop at the page's end. A
 * page beyond the limit has no second contents, so use guest RAM.
 */
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
    page = page_of(m->s, run, 0);
    if (!page) {
        return TSR_ERR_NONE;
    }
    if (m->s->cfg.strict && run->len) {
        referee(m, page, addr, run);
    }
    run->ptr = page->mem + at;
    run->ram = NULL;
    return TSR_ERR_NONE;
}

/* ---- Commands ------------------------------------------------------------ */

/*
 * Write a line back. A store of equal bytes is invisible here, so WRITE_BACK
 * sets @stored: then the line always counts as dirty.
 */
static void clean_line(CachedPage *page, unsigned int line, const uint8_t *ram,
                       bool stored)
{
    if (stored || line_is_dirty(page, line, ram)) {
        memcpy(page->loaded + line * LINE, ram, LINE);
        memcpy(page->mem + line * LINE, page->loaded + line * LINE, LINE);
        qatomic_or(&page->known, 1ULL << line);
    }
}

/* Whether an invalidation would lose a store. */
static bool line_is_stored(const CachedPage *page, unsigned int line,
                           const uint8_t *ram)
{
    return (qatomic_read__nocheck(&page->known) & (1ULL << line)) &&
           memcmp(page->loaded + line * LINE, ram, LINE);
}

/* Do not write unchanged lines: another CPU may be writing to them. */
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

/* Run a command on lines of a page that has a copy. */
static void maintain_lines(TesseraState *s, uint32_t command, CachedPage *page,
                           uint64_t addr, uint8_t *ram, uint64_t len)
{
    unsigned int at = (uintptr_t)ram % TSR_PAGE_SIZE;
    bool told = !s->cfg.strict || command != TSR_COH_INVALIDATE;

    for (uint64_t done = 0; done < len; done += LINE) {
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
}

/*
 * Run a command on the lines of a page from byte @at of the run on. Returns the
 * number of bytes. While the machine stands no page gets a copy: other devices
 * may still write to registers, and RAM may already have been saved.
 */
static uint64_t maintain_page(TesseraState *s, uint32_t command, uint64_t addr,
                              const TesseraRun *run, uint64_t at)
{
    uint8_t *ram = run->ptr + at;
    uint64_t len = MIN(run->len - at,
                       TSR_PAGE_SIZE - (uintptr_t)ram % TSR_PAGE_SIZE);
    CachedPage *page = s->vm_running ? page_of(s, run, at) : NULL;

    if (page) {
        maintain_lines(s, command, page, addr, ram, len);
    }
    return len;
}

/* Run a command on whole lines, in ascending order, up to the first non-RAM. */
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
            done += maintain_page(s, command, *at + done, &run, done);
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

/* Returns false if no readable register has this address. */
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

/*
 * Returns false if no writable register has this address, or for a bad value.
 */
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

/* ---- The end of all copies ----------------------------------------------- */

/*
 * Copies do not migrate. When the machine stops, the modelled caches write back
 * and drop all lines, as caches may at any time. So guest RAM has everything.
 */

/*
 * Write a line back if a CPU has changed it, and drop it otherwise. Returns
 * whether that changes guest RAM.
 */
static bool settle_line(const CachedPage *page, unsigned int line, uint8_t *ram)
{
    const uint8_t *mem = page->mem + line * LINE;

    if (line_is_dirty(page, line, ram) || !memcmp(ram, mem, LINE)) {
        return false;
    }
    memcpy(ram, mem, LINE);
    return true;
}

static void settle_page(TesseraState *s, const CachedPage *page, uint8_t *ram)
{
    TesseraRun run = {
        .ptr = ram, .ram = page->ram, .ram_offset = page->ram_offset,
    };
    bool any = false;

    for (unsigned int i = 0; i < LINES; i++) {
        any |= settle_line(page, i, ram + i * LINE);
    }
    if (any) {
        s->ops->ram_written(&s->cpu, &run, TSR_PAGE_SIZE);
    }
}

/* Take all copies out of the table, which is new then. */
static GHashTable *take_pages(TesseraCoherence *c, bool written_back)
{
    GHashTable *pages;

    QEMU_LOCK_GUARD(&c->lock);
    pages = c->pages;
    c->pages = new_table();
    c->written_back = written_back;
    return pages;
}

/*
 * The machine has stopped: write back and drop all lines. The engines have
 * paused, and use no copy any more.
 */
void tessera_coherence_stop(TesseraState *s)
{
    GHashTable *pages = take_pages(s->coherence, true);
    GHashTableIter iter;
    gpointer ram, page;

    tessera_access_enter(&s->cpu);
    g_hash_table_iter_init(&iter, pages);
    while (g_hash_table_iter_next(&iter, &ram, &page)) {
        settle_page(s, page, ram);
    }
    tessera_access_leave(&s->cpu);
    g_hash_table_destroy(pages);
}

/* Guest RAM is about to be loaded. It was written back where it was saved. */
void tessera_coherence_forget(TesseraState *s)
{
    g_hash_table_destroy(take_pages(s->coherence, true));
}

/*
 * The machine is reset, and the engines have stopped. Lines are dropped and not
 * written back, because the reset may load firmware into the same RAM, before
 * or after this.
 */
void tessera_coherence_machine_reset(TesseraState *s)
{
    g_hash_table_destroy(take_pages(s->coherence, false));
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
 * RAM is removed, and other RAM may reuse its host addresses, so drop its
 * copies. No engine uses one any more: an engine finds RAM in a memory map and
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

/* The number of pages that have a copy. */
uint32_t tessera_coherence_pages(TesseraState *s)
{
    TesseraCoherence *c = s->coherence;

    if (!c) {
        return 0;
    }
    QEMU_LOCK_GUARD(&c->lock);
    return g_hash_table_size(c->pages);
}

void tessera_coherence_init(TesseraState *s)
{
    TesseraCoherence *c = g_new0(TesseraCoherence, 1);

    qemu_mutex_init(&c->lock);
    c->pages = new_table();
    c->notifier.ram_block_removed = ram_removed;
    ram_block_notifier_add(&c->notifier);
    s->coherence = c;
}

/* The device is removed, but a vCPU may still access a register. */
void tessera_coherence_fini(TesseraState *s)
{
    ram_block_notifier_remove(&s->coherence->notifier);
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
