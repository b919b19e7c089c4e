/*
 * Tessera virtual GPU: CPU host aperture
 *
 * BAR 4 and its page table. If the host permits, the BAR is RAM: each page of
 * it is remapped to the file behind VRAM or, if it shows no VRAM, to ones
 * (ram-remap.h). Accesses then cause no exits. Otherwise, and in strict mode,
 * which checks every access, accesses are emulated.
 *
 * The table is written under the BQL. The RAM is only another mapping of VRAM,
 * so it does not migrate, and a write through it makes VRAM dirty. Two users
 * need to know of such writes: migration and a watched console. For both the
 * window has a dirty log, which is merged into those of VRAM.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_compat.h"
#include "qemu/error-report.h"
#include "qemu/thread.h"
#include "qapi/error.h"
#include COMPAT_ADDRESS_SPACES_H
#include "migration/misc.h"
#include "migration/postcopy-ram.h"
#include "ram-dirty.h"
#include "ram-remap.h"
#include "tessera_host_aperture.h"
#include "tessera_strict.h"
#include "tessera_view.h"
#include "trace.h"

#define BLOCK_PAGES 64          /* examined at a time */

static uint64_t window_bytes(const TesseraState *s)
{
    return (uint64_t)s->ha->num_pages * s->cfg.page_size;
}

/* The VRAM offset that a mapped page shows. */
static uint64_t page_offset(const TesseraState *s, uint32_t page)
{
    return (uint64_t)(s->ha->table[page] - 1) * s->cfg.page_size;
}

static void touch_error(TesseraState *s, uint64_t offset)
{
    tessera_guest_error(&s->cpu, TSR_ERR_HOST_APERTURE, offset);
}

/* ---- Emulated accesses --------------------------------------------------- */

/* Access the part of a value that lies inside one page. */
static bool access_part(TesseraState *s, hwaddr addr, uint8_t *buf,
                        uint32_t len, bool write)
{
    uint32_t page = addr / s->cfg.page_size, err;

    /*
     * A table that is being loaded has not been checked yet. QEMU does not
     * shorten an access of another device that reaches beyond the window.
     */
    if (s->distrusted || page >= s->ha->num_pages || !s->ha->table[page]) {
        touch_error(s, addr);
        return false;
    }
    err = tessera_vram_rw(&s->cpu, page_offset(s, page) +
                          addr % s->cfg.page_size, buf, len, write);
    if (err) {
        tessera_guest_error(&s->cpu, err, s->cpu.fault_addr);
    }
    return !err;
}

static void access_window(TesseraState *s, uint64_t addr, uint8_t *buf,
                          uint32_t len, bool write)
{
    uint32_t n = MIN(len, s->cfg.page_size - addr % s->cfg.page_size);

    if (!access_part(s, addr, buf, n, write) && !write) {
        memset(buf, 0xff, n);
    }
    if (n < len) {
        access_window(s, addr + n, buf + n, len - n, write);
    }
}

/* ---- Accesses to RAM ----------------------------------------------------- */

static void set_shown_dirty(TesseraState *s, DirtyBitmapSnapshot *snap,
                            uint32_t from, uint32_t end);

static void init_trap(TesseraState *s)
{
    s->ha->trap.s = s;
    s->ha->trap.access = access_window;
    tessera_trap_init(&s->ha->trap, OBJECT(tessera_pci(s)),
                      "tessera.host-aperture-trap", window_bytes(s));
}

/*
 * The host has refused a mapping, so emulate all accesses from now on. The page
 * may be unmapped until the vCPUs have the new memory map. The limit of
 * mappings in ram-remap.c makes this unlikely.
 */
static void fall_back(TesseraState *s)
{
    TesseraHostAperture *ha = s->ha;

    warn_report("tessera: cannot remap the host aperture (%s); accesses to it "
                "are emulated from now on", strerror(errno));
    ha->remapped = false;
    init_trap(s);
    memory_region_transaction_begin();
    memory_region_del_subregion(&ha->bar, &ha->ram.mr);
    memory_region_add_subregion(&ha->bar, 0, &ha->trap.mr);
    memory_region_transaction_commit();
    set_shown_dirty(s, NULL, 0, ha->end);
}

/* Fault injection: the host refuses the next mapping. */
static bool refuses(TesseraState *s)
{
    if (likely(!s->fail_mapping)) {
        return false;
    }
    s->fail_mapping--;
    errno = ENOMEM;
    return true;
}

static bool show_ones(TesseraState *s, uint32_t first, uint32_t count)
{
    return !refuses(s) && ram_remap_show_ones(&s->ha->ram, first, count);
}

static bool show_vram(TesseraState *s, uint32_t first, uint32_t count)
{
    return !refuses(s) && ram_remap_show_file(&s->ha->ram, first, count,
                                              page_offset(s, first));
}

/*
 * The number of pages from @first on that are all unmapped, or that show
 * consecutive pages of VRAM.
 */
static uint32_t run_length(const TesseraState *s, uint32_t first,
                           uint32_t count)
{
    const uint32_t *table = s->ha->table + first;
    uint32_t n = 1;

    while (n < count && table[n] == (table[0] ? table[0] + n : 0)) {
        n++;
    }
    return n;
}

/* Remap pages as the table says. */
static void show_pages(TesseraState *s, uint32_t first, uint32_t count)
{
    while (s->ha->remapped && count) {
        uint32_t n = run_length(s, first, count);

        if (!(s->ha->table[first] ? show_vram(s, first, n)
                                 : show_ones(s, first, n))) {
            fall_back(s);
            return;
        }
        first += n;
        count -= n;
    }
}

/*
 * Mark VRAM as dirty that was written through pages of [@from, @end): the pages
 * in @snap or, without a snapshot, all mapped pages.
 */
static void set_shown_dirty(TesseraState *s, DirtyBitmapSnapshot *snap,
                            uint32_t from, uint32_t end)
{
    const uint64_t bytes = s->cfg.page_size;

    while (from < end) {
        uint32_t n = MIN(BLOCK_PAGES, end - from);

        if (!snap || memory_region_snapshot_get_dirty(&s->ha->ram.mr, snap,
                                                      from * bytes,
                                                      n * bytes)) {
            for (uint32_t i = from; i < from + n; i++) {
                if (s->ha->table[i] &&
                    (!snap || memory_region_snapshot_get_dirty(&s->ha->ram.mr,
                                                               snap, i * bytes,
                                                               bytes))) {
                    memory_region_set_dirty(tessera_pci(s)->vram,
                                            page_offset(s, i), bytes);
                }
            }
        }
        from += n;
    }
}

/*
 * A store may be in flight while its page is remapped, and reach the old target
 * or the new one. So for a migration both count as written.
 */
static void settle_in_flight(TesseraState *s, uint32_t first, uint32_t count)
{
    if (s->ha->remapped && global_dirty_tracking) {
        set_shown_dirty(s, NULL, first, first + count);
    }
}

/* Account for writes through pages that are about to be remapped. */
static void settle_mapped(TesseraState *s, uint32_t first, uint32_t count)
{
    const uint64_t bytes = s->cfg.page_size;
    /*
     * The log is cleared in blocks, so carry over the neighbours' marks, too.
     */
    const uint32_t block = MAX(ram_dirty_block() / bytes, 1);

    settle_in_flight(s, first, count);
    /*
     * During a migration the call above has marked all of these pages, and the
     * log of all guest RAM would be synchronized.
     */
    if (s->logging && !global_dirty_tracking) {
        g_autofree DirtyBitmapSnapshot *snap = NULL;

        ram_dirty_sync();
        snap = ram_dirty_take(&s->ha->ram.mr, first * bytes, count * bytes);
        if (snap) {
            set_shown_dirty(s, snap, QEMU_ALIGN_DOWN(first, block),
                            MIN(ROUND_UP((uint64_t)first + count, block),
                                s->ha->num_pages));
        }
    }
}

static bool settle_written(void *opaque, uint32_t page)
{
    TesseraState *s = opaque;

    touch_error(s, (uint64_t)page * s->cfg.page_size);
    if (!show_ones(s, page, 1)) {
        fall_back(s);
    }
    return s->ha->remapped;
}

static void settle_pages(TesseraState *s, uint32_t first, uint32_t count)
{
    if (s->ha->remapped && count) {
        settle_mapped(s, first, count);
        /* A CPU write to an unmapped page is an error of the guest. */
        ram_remap_find_written(&s->ha->ram, s->ha->table, first, count,
                               settle_written, s);
    }
}

/* Merge the window's dirty log into VRAM's own logs. */
void tessera_host_aperture_take_written(TesseraState *s)
{
    if (s->ha->remapped && s->ha->mapped) {
        g_autofree DirtyBitmapSnapshot *snap =
            ram_dirty_take(&s->ha->ram.mr, 0, window_bytes(s));

        if (snap) {
            set_shown_dirty(s, snap, 0, s->ha->end);
        }
    }
}

/*
 * The first round of a migration: log stores from now on. Earlier ones have left
 * no marks, so each mapped page counts as written.
 */
static void migration_begins(TesseraState *s)
{
    s->ha->migrating = true;
    memory_region_set_log(&s->ha->ram.mr, true, DIRTY_MEMORY_VGA);
    g_free(ram_dirty_take(&s->ha->ram.mr, 0, window_bytes(s)));
    set_shown_dirty(s, NULL, 0, s->ha->end);
}

static void migration_ends(MemoryListener *listener)
{
    TesseraHostAperture *ha =
        container_of(listener, TesseraHostAperture, listener);

    if (ha->migrating) {
        ha->migrating = false;
        memory_region_set_log(&ha->ram.mr, false, DIRTY_MEMORY_VGA);
    }
}

/*
 * A round of migration. Accelerators have synchronized their logs before this.
 * QEMU waits for stores in flight afterwards, and then sends the pages.
 */
static void sync_dirty(MemoryListener *listener, bool last_stage)
{
    TesseraState *s =
        &container_of(listener, TesseraPCIState, ha.listener)->state;

    /* A loaded table that was refused must not be used. */
    if (!s->ha->remapped || !global_dirty_tracking || s->distrusted) {
        return;
    }
    if (!ram_dirty_available()) {
        set_shown_dirty(s, NULL, 0, s->ha->end);
    } else if (!s->ha->migrating) {
        migration_begins(s);
    } else {
        tessera_host_aperture_take_written(s);
    }
}

/* Start or stop logging stores through the window. */
void tessera_host_aperture_log(TesseraState *s, bool log)
{
    if (s->ha->is_ram) {
        memory_region_set_log(&s->ha->ram.mr, log, DIRTY_MEMORY_VGA);
    }
}

/*
 * Postcopy would fault in missing pages at VRAM's own mapping only, not at this
 * one.
 */
static int refuse_postcopy(NotifierWithReturn *n, void *opaque, Error **errp)
{
    const struct PostcopyNotifyData *data = opaque;

    if (data->reason == POSTCOPY_NOTIFY_PROBE) {
        error_setg(errp, "tessera: no postcopy with a host aperture");
        return -ENOTSUP;
    }
    return 0;
}

/*
 * A background snapshot write-protects VRAM's own mapping only, so it would
 * miss writes through this one.
 */
static int refuse_background(NotifierWithReturn *n, MigrationEvent *e,
                             Error **errp)
{
    if (e->type == MIG_EVENT_SETUP && migration_in_bg_snapshot()) {
        error_setg(errp,
                   "tessera: no background snapshot with a host aperture");
        return -ENOTSUP;
    }
    return 0;
}

/* ---- The table ----------------------------------------------------------- */

static bool pages_exist(TesseraState *s, uint32_t first)
{
    if (first <= s->ha->num_pages && s->ha->count <= s->ha->num_pages - first) {
        return true;
    }
    touch_error(s, (uint64_t)first * s->cfg.page_size);
    return false;
}

static uint32_t check_vram(TesseraState *s, uint64_t bytes, uint32_t *entry)
{
    const TesseraSegment *seg = tessera_view_segment(s, s->ha->addr, bytes);

    if (s->ha->addr % s->cfg.page_size) {
        return TSR_ERR_REGISTER;
    }
    if (!seg) {
        return TSR_ERR_ADDRESS;
    }
    if (seg->ptes || seg == &s->hidden) {
        return TSR_ERR_SEGMENT;
    }
    *entry = (seg->vram_offset + (s->ha->addr - seg->base)) /
             s->cfg.page_size + 1;
    return TSR_ERR_NONE;
}

/*
 * Strict mode: mapping over a mapped page redirects its present user. Report
 * one error for each command.
 */
static void referee_map(TesseraState *s, uint32_t first)
{
    for (uint32_t i = first; s->cfg.strict && i < first + s->ha->count; i++) {
        if (s->ha->table[i]) {
            tessera_guest_error(&s->cpu, TSR_ERR_STRICT_OVERLAP,
                                (uint64_t)i * s->cfg.page_size);
            return;
        }
    }
}

/*
 * Set an entry of the table. Other threads read entries below ha->end only, so
 * it grows before a page is mapped, and shrinks to 0 after the last page was
 * unmapped.
 */
static void set_entry(TesseraState *s, uint32_t page, uint32_t entry)
{
    TesseraHostAperture *ha = s->ha;

    ha->mapped -= !!ha->table[page];
    ha->mapped += !!entry;
    if (entry && page >= ha->end) {
        qatomic_set(&ha->end, page + 1);
    }
    qatomic_set(&ha->table[page], entry);
    if (!ha->mapped) {
        qatomic_set(&ha->end, 0);
    }
}

/* Whether any page shows this range of VRAM. May be called by any thread. */
bool tessera_host_aperture_shows(TesseraState *s, uint64_t offset,
                                 uint64_t size)
{
    uint64_t first = offset / s->cfg.page_size + 1;
    uint64_t last = (offset + size - 1) / s->cfg.page_size + 1;
    uint32_t end = qatomic_read(&s->ha->end);

    for (uint32_t i = 0; size && i < end; i++) {
        uint32_t entry = qatomic_read(&s->ha->table[i]);

        if (entry >= first && entry <= last) {
            return true;
        }
    }
    return false;
}

/* Map as many pages as the count register says, from @first on, or none. */
void tessera_host_aperture_map(TesseraState *s, uint32_t first)
{
    uint64_t bytes = (uint64_t)s->ha->count * s->cfg.page_size;
    uint32_t err, entry;

    if (!pages_exist(s, first)) {
        return;
    }
    err = check_vram(s, bytes, &entry);
    if (err) {
        tessera_guest_error(&s->cpu, err, s->ha->addr);
        return;
    }
    trace_tessera_host_aperture_map(first, s->ha->count, s->ha->addr);
    referee_map(s, first);
    settle_pages(s, first, s->ha->count);
    for (uint32_t i = 0; i < s->ha->count; i++) {
        set_entry(s, first + i, entry + i);
    }
    show_pages(s, first, s->ha->count);
    settle_in_flight(s, first, s->ha->count);
    s->ha->addr += bytes;
}

/* Unmap pages, and make those that showed VRAM show ones. */
static void hide_pages(TesseraState *s, uint32_t first, uint32_t count)
{
    uint32_t end = first + count;

    while (first < end) {
        uint32_t n = 0;

        while (first + n < end && s->ha->table[first + n]) {
            set_entry(s, first + n, 0);
            n++;
        }
        if (n && s->ha->remapped && !show_ones(s, first, n)) {
            fall_back(s);
        }
        first += MAX(n, 1);
    }
}

void tessera_host_aperture_unmap(TesseraState *s, uint32_t first)
{
    if (!pages_exist(s, first)) {
        return;
    }
    trace_tessera_host_aperture_unmap(first, s->ha->count);
    settle_pages(s, first, s->ha->count);
    hide_pages(s, first, s->ha->count);
}

/* Unmap all pages. A loaded table that was not accepted is only dropped. */
void tessera_host_aperture_reset(TesseraState *s)
{
    s->ha->addr = 0;
    s->ha->count = 0;
    if (!s->ha->num_pages) {
        return;
    }
    if (s->distrusted) {
        memset(s->ha->table, 0, s->ha->num_pages * sizeof(*s->ha->table));
        s->ha->mapped = 0;
        qatomic_set(&s->ha->end, 0);
        show_pages(s, 0, s->ha->num_pages);
    } else {
        settle_pages(s, 0, s->ha->num_pages);
        hide_pages(s, 0, s->ha->num_pages);
    }
}

/* Apply a loaded table. Returns false if it is invalid. */
bool tessera_host_aperture_load(TesseraState *s)
{
    const uint32_t top = s->hidden.vram_offset / s->cfg.page_size;
    uint32_t mapped = 0, end = 0;

    for (uint32_t page = 0; page < s->ha->num_pages; page++) {
        if (s->ha->table[page] > top) {
            error_report("tessera: bad host aperture page %u", page);
            return false;
        }
        if (s->ha->table[page]) {
            mapped++;
            end = page + 1;
        }
    }
    s->ha->mapped = mapped;
    qatomic_set(&s->ha->end, end);
    show_pages(s, 0, s->ha->num_pages);
    return true;
}

/* ---- Life cycle ---------------------------------------------------------- */

static bool init_remap(TesseraState *s, Error **errp)
{
    if (refuses(s)) {
        error_setg_errno(errp, errno, "the host refuses the mappings");
        return false;
    }
    return ram_remap_init(&s->ha->ram, OBJECT(tessera_pci(s)),
                          "tessera.host-aperture", s->ha->num_pages, errp);
}

/* Try to make the window RAM; see ram-remap.h. */
static bool init_ram(TesseraState *s)
{
    TesseraPCIState *d = tessera_pci(s);
    TesseraHostAperture *ha = s->ha;
    Error *err = NULL;

    if (s->cfg.strict) {
        return false;
    }
    ha->ram.page_bytes = s->cfg.page_size;
    ha->ram.file = d->vram;
    ha->ram.not_dumped = d->vram_not_dumped;
    if (!init_remap(s, &err)) {
        warn_report("tessera: accesses to the host aperture are emulated: %s",
                    error_get_pretty(err));
        error_free(err);
        return false;
    }
    ha->is_ram = true;
    ha->remapped = true;
    ha->listener = (MemoryListener) {
        .name = "tessera",
        /*
         * Behind all logs of the accelerator. KVM registers that of system
         * management mode after this device, with the priority of backends.
         */
        .priority = MEMORY_LISTENER_PRIORITY_DEV_BACKEND + 1,
        .log_sync_global = sync_dirty,
        .log_global_stop = migration_ends,
    };
    memory_listener_register(&ha->listener, &address_space_memory);
    ha->postcopy.notify = refuse_postcopy;
    postcopy_add_notifier(&ha->postcopy);
    migration_add_notifier(&ha->background, refuse_background);
    return true;
}

void tessera_host_aperture_init(TesseraState *s)
{
    TesseraHostAperture *ha = s->ha;
    uint64_t bytes = s->cfg.host_aperture_size;

    ha->num_pages = bytes / s->cfg.page_size;
    if (!bytes) {
        return;
    }
    ha->table = g_new0(uint32_t, ha->num_pages);
    memory_region_init(&ha->bar, OBJECT(tessera_pci(s)),
                       "tessera.host-aperture-bar", pow2ceil(bytes));
    if (init_ram(s)) {
        memory_region_add_subregion(&ha->bar, 0, &ha->ram.mr);
    } else {
        init_trap(s);
        memory_region_add_subregion(&ha->bar, 0, &ha->trap.mr);
    }
    pci_register_bar(PCI_DEVICE(tessera_pci(s)), TSR_BAR_HOST_APERTURE,
                     PCI_BASE_ADDRESS_SPACE_MEMORY |
                     PCI_BASE_ADDRESS_MEM_TYPE_64 |
                     PCI_BASE_ADDRESS_MEM_PREFETCH, &ha->bar);
}

void tessera_host_aperture_fini(TesseraState *s)
{
    TesseraHostAperture *ha = s->ha;

    if (!ha->num_pages) {
        return;
    }
    /* A subregion holds a reference to the device, so remove it. */
    memory_region_del_subregion(&ha->bar,
                                ha->remapped ? &ha->ram.mr : &ha->trap.mr);
    if (ha->is_ram) {
        ram_remap_fini(&ha->ram);
        memory_listener_unregister(&ha->listener);
        migration_remove_notifier(&ha->background);
        postcopy_remove_notifier(&ha->postcopy);
    }
}

/*
 * Free what a late vCPU may have used until now. The owner frees the RAM
 * region.
 */
void tessera_host_aperture_free(TesseraState *s)
{
    g_free(s->ha->table);
    s->ha->table = NULL;
    if (s->ha->is_ram) {
        ram_remap_free(&s->ha->ram);
    }
    s->ha->is_ram = false;
    s->ha->remapped = false;
}
