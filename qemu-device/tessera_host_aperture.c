/*
 * Tessera virtual GPU: CPU host aperture
 *
 * BAR 4 and its page table. Where the host can, the BAR is RAM, and each page
 * of it host memory that is mapped over: by the file behind VRAM or, of a page
 * that shows none, by a private copy of ones. Accesses cost nothing then, and
 * the guest's memory map, which must not change while vCPUs use it, stays as it
 * is. Else, and in strict mode, which wants to see every access, the BAR traps.
 * The table is written under the BQL; the RAM is only another way to VRAM, so
 * it does not travel, and what is written through it is dirty in VRAM. Who
 * needs to know that: a migration, for which each mapped page counts as written,
 * and a viewer of a screen, while which the window has a dirty log.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/madvise.h"
#include "qemu/memfd.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "exec/address-spaces.h"
#include "exec/ram_addr.h"
#include "exec/ramblock.h"
#include "hw/boards.h"
#include "migration/misc.h"
#include "migration/postcopy-ram.h"
#include "system/qtest.h"
#include "tessera_host_aperture.h"
#include "tessera_dirty.h"
#include "tessera_strict.h"
#include "tessera_view.h"
#include "trace.h"

#define ONES_BYTES  (2 * MiB)   /* of the file that unmapped pages show */

#define BLOCK_PAGES 64          /* looked at in one go */

static uint32_t mappings;       /* that all devices may need (BQL) */

/*
 * Each page may take a mapping of this process. Windows may use three quarters
 * of those that Linux grants; devices that would need more of them trap.
 */
static uint32_t max_mappings(void)
{
    g_autofree char *text = NULL;
    uint64_t granted = 65530;

    if (g_file_get_contents("/proc/sys/vm/max_map_count", &text, NULL, NULL)) {
        granted = g_ascii_strtoull(text, NULL, 10);
    }
    return MIN(granted / 4 * 3, INT32_MAX);
}

static uint64_t window_bytes(const TesseraState *s)
{
    return (uint64_t)s->ha.num_pages * s->cfg.page_size;
}

/* What a page shows, as an offset in VRAM; the page must be mapped. */
static uint64_t page_offset(const TesseraState *s, uint32_t page)
{
    return (uint64_t)(s->ha.table[page] - 1) * s->cfg.page_size;
}

static void touch_error(TesseraState *s, uint64_t offset)
{
    tessera_guest_error(&s->cpu, TSR_ERR_HOST_APERTURE, offset);
}

/* ---- Accesses that trap -------------------------------------------------- */

/* A part of an access, inside one page. */
static bool access_part(TesseraState *s, hwaddr addr, uint8_t *buf,
                        uint32_t len, bool write)
{
    uint32_t page = addr / s->cfg.page_size, err;

    /* What is being loaded has not been checked. */
    if (s->distrusted || !s->ha.table[page]) {
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

static void access_window(TesseraState *s, hwaddr addr, uint8_t *buf,
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

static uint64_t window_read(void *opaque, hwaddr addr, unsigned size)
{
    TesseraState *s = opaque;
    uint8_t buf[8];

    if (s->gone) {
        return UINT64_MAX;
    }
    access_window(s, addr, buf, size, false);
    return ldn_le_p(buf, size);
}

static void window_write(void *opaque, hwaddr addr, uint64_t value,
                         unsigned size)
{
    TesseraState *s = opaque;
    uint8_t buf[8];

    if (s->gone) {
        return;
    }
    stn_le_p(buf, size, value);
    access_window(s, addr, buf, size, true);
}

static const MemoryRegionOps window_ops = {
    .read = window_read,
    .write = window_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
    .impl = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
};

/* ---- Accesses that do not ------------------------------------------------ */

/* As QEMU does with RAM: advice goes with what was mapped before. */
static void advise(void *ptr, uint64_t len)
{
    if (!machine_dump_guest_core(current_machine)) {
        qemu_madvise(ptr, len, QEMU_MADV_DONTDUMP);
    }
    /* qtest forks. */
    if (!qtest_enabled()) {
        qemu_madvise(ptr, len, QEMU_MADV_DONTFORK);
    }
}

static bool map_over(TesseraState *s, uint64_t at, uint64_t len, bool shared,
                     int fd, uint64_t offset)
{
#ifdef CONFIG_POSIX
    void *ptr = s->ha.ptr + at;
    int flags = MAP_FIXED | MAP_NORESERVE | (shared ? MAP_SHARED : MAP_PRIVATE);

    if (unlikely(s->fail_mapping)) {
        s->fail_mapping--;
        errno = ENOMEM;
        return false;
    }
    if (mmap(ptr, len, PROT_READ | PROT_WRITE, flags, fd, offset) ==
        MAP_FAILED) {
        return false;
    }
    advise(ptr, len);
    return true;
#else
    /* There is no file behind VRAM, so the window traps. */
    g_assert_not_reached();
#endif
}

static bool show_ones(TesseraState *s, uint64_t at, uint64_t len)
{
    while (len) {
        uint64_t offset = at % ONES_BYTES;
        uint64_t n = MIN(len, ONES_BYTES - offset);

        if (!map_over(s, at, n, false, s->ha.ones_fd, offset)) {
            return false;
        }
        at += n;
        len -= n;
    }
    return true;
}

static bool show_vram(TesseraState *s, uint64_t at, uint64_t len,
                      uint64_t offset)
{
    if (!map_over(s, at, len, true, memory_region_get_fd(s->vram),
                  s->vram->ram_block->fd_offset + offset)) {
        return false;
    }
    if (s->vram_not_dumped) {
        qemu_madvise(s->ha.ptr + at, len, QEMU_MADV_DONTDUMP);
    }
    return true;
}

static void set_shown_dirty(TesseraState *s, DirtyBitmapSnapshot *snap,
                            uint32_t from, uint32_t end);

static void init_trap(TesseraState *s)
{
    memory_region_init_io(&s->ha.trap, OBJECT(s), &window_ops, s,
                          "tessera.host-aperture-trap", window_bytes(s));
}

/*
 * The host refuses a mapping: from now on the window traps. A page whose
 * mapping failed may be a hole until vCPUs have the new memory map.
 * max_mappings() makes this unlikely.
 */
static void fall_back(TesseraState *s)
{
    TesseraHostAperture *ha = &s->ha;

    warn_report("tessera: cannot remap the host aperture (%s); accesses to it "
                "are emulated from now on", strerror(errno));
    ha->ptr = NULL;
    init_trap(s);
    memory_region_transaction_begin();
    memory_region_del_subregion(&ha->bar, &ha->window);
    memory_region_add_subregion(&ha->bar, 0, &ha->trap);
    memory_region_transaction_commit();
    set_shown_dirty(s, NULL, 0, ha->end);
}

/* How many pages from @first on show nothing, or what follows in VRAM. */
static uint32_t run_length(const TesseraState *s, uint32_t first,
                           uint32_t count)
{
    const uint32_t *table = s->ha.table + first;
    uint32_t n = 1;

    while (n < count && table[n] == (table[0] ? table[0] + n : 0)) {
        n++;
    }
    return n;
}

/* Show what the table says. */
static void show_pages(TesseraState *s, uint32_t first, uint32_t count)
{
    while (s->ha.ptr && count) {
        uint32_t n = run_length(s, first, count);
        uint64_t at = (uint64_t)first * s->cfg.page_size;
        uint64_t len = (uint64_t)n * s->cfg.page_size;

        if (s->ha.table[first] ? !show_vram(s, at, len, page_offset(s, first))
                               : !show_ones(s, at, len)) {
            fall_back(s);
            return;
        }
        first += n;
        count -= n;
    }
}

/*
 * VRAM that was written through pages of [@from, @end) is dirty. Those are the
 * pages that @snap names; without it, all that show VRAM.
 */
static void set_shown_dirty(TesseraState *s, DirtyBitmapSnapshot *snap,
                            uint32_t from, uint32_t end)
{
    const uint64_t bytes = s->cfg.page_size;

    while (from < end) {
        uint32_t n = MIN(BLOCK_PAGES, end - from);

        if (!snap || memory_region_snapshot_get_dirty(&s->ha.window, snap,
                                                      from * bytes,
                                                      n * bytes)) {
            for (uint32_t i = from; i < from + n; i++) {
                if (s->ha.table[i] &&
                    (!snap || memory_region_snapshot_get_dirty(&s->ha.window,
                                                               snap, i * bytes,
                                                               bytes))) {
                    memory_region_set_dirty(s->vram, page_offset(s, i),
                                            bytes);
                }
            }
        }
        from += n;
    }
}

/*
 * Pages are about to show something else: what was written through them is
 * dirty now. While memory migrates, each counts as written, for a store may
 * still be under way.
 */
static void settle_mapped(TesseraState *s, uint32_t first, uint32_t count)
{
    const uint64_t bytes = s->cfg.page_size;
    /* The log is cleared by blocks, so neighbours are looked at, too. */
    const uint32_t block = MAX(TESSERA_DIRTY_BLOCK / bytes, 1);

    if (global_dirty_tracking) {
        set_shown_dirty(s, NULL, first, first + count);
    }
    if (s->logging) {
        g_autofree DirtyBitmapSnapshot *snap = NULL;

        tessera_dirty_sync();
        snap = tessera_dirty_take(&s->ha.window, first * bytes, count * bytes);
        if (snap) {
            set_shown_dirty(s, snap, QEMU_ALIGN_DOWN(first, block),
                            MIN(ROUND_UP((uint64_t)first + count, block),
                                s->ha.num_pages));
        }
    }
}

static bool all_ones(const uint8_t *p, uint64_t len)
{
    return ldq_he_p(p) == UINT64_MAX && !memcmp(p, p + 8, len - 8);
}

/*
 * Whether one of the host's pages, mapped privately, has become a copy: an
 * entry of /proc/self/pagemap. It is written then, unless the host copies all
 * of them at once (mlockall), when only other contents than ones tell.
 */
static bool is_copy(uint64_t entry)
{
    const uint64_t present = 1ULL << 63, swapped = 1ULL << 62;
    const uint64_t of_file = 1ULL << 61;

    return (entry & (present | swapped)) && !(entry & of_file);
}

static bool any_copy(const uint64_t *entries, uint32_t num)
{
    for (uint32_t i = 0; i < num; i++) {
        if (is_copy(entries[i])) {
            return true;
        }
    }
    return false;
}

/* The entries of /proc/self/pagemap for pages of the window. */
static bool read_pagemap(TesseraState *s, uint32_t first, uint32_t count,
                         uint64_t *entries)
{
    const uint64_t host = qemu_real_host_page_size();
    const uint32_t per_page = s->cfg.page_size / host;
    size_t bytes = (size_t)count * per_page * sizeof(*entries);
    uint64_t at = (uintptr_t)s->ha.ptr / host + (uint64_t)first * per_page;

    return pread(s->ha.pagemap_fd, entries, bytes, at * sizeof(*entries)) ==
           bytes;
}

/*
 * Pages are about to show something else: if they show nothing, and were
 * written all the same, that is an error of the CPU's.
 */
static void settle_unmapped(TesseraState *s, uint32_t first, uint32_t count)
{
    const uint64_t bytes = s->cfg.page_size;
    const uint32_t per_page = bytes / qemu_real_host_page_size();
    uint64_t entries[BLOCK_PAGES * 16];
    uint32_t most = ARRAY_SIZE(entries) / per_page, end = first + count;

    while (first < end && s->ha.ptr) {
        uint32_t n = MIN(most, end - first);
        bool known = read_pagemap(s, first, n, entries);

        for (uint32_t i = 0; i < n && s->ha.ptr; i++) {
            uint64_t at = (first + i) * bytes;

            if (s->ha.table[first + i] ||
                (known && !any_copy(entries + i * per_page, per_page)) ||
                ((!known || s->ha.locked) && all_ones(s->ha.ptr + at, bytes))) {
                continue;
            }
            touch_error(s, at);
            if (!show_ones(s, at, bytes)) {
                fall_back(s);
            }
        }
        first += n;
    }
}

/* Of a page that nobody has written. */
static void look_whether_locked(TesseraState *s)
{
    uint64_t entry;

    s->ha.locked = s->ha.ptr &&
                   pread(s->ha.pagemap_fd, &entry, sizeof(entry),
                         (uintptr_t)s->ha.ptr / qemu_real_host_page_size() *
                         sizeof(entry)) == sizeof(entry) && is_copy(entry);
}

static void settle_pages(TesseraState *s, uint32_t first, uint32_t count)
{
    if (s->ha.ptr && count) {
        settle_mapped(s, first, count);
        settle_unmapped(s, first, count);
    }
}

/*
 * A round of migration. Accelerators have had their turn, and the pages are
 * sent afterwards.
 */
static void sync_dirty(MemoryListener *listener, bool last_stage)
{
    TesseraState *s = container_of(listener, TesseraState, ha.listener);

    /* A table that was loaded and refused is of no use to anybody. */
    if (s->ha.ptr && global_dirty_tracking && !s->distrusted) {
        set_shown_dirty(s, NULL, 0, s->ha.end);
    }
}

/* For the display: carry what was written here over into VRAM's own log. */
void tessera_host_aperture_take_written(TesseraState *s)
{
    if (s->ha.ptr && s->ha.mapped) {
        g_autofree DirtyBitmapSnapshot *snap =
            tessera_dirty_take(&s->ha.window, 0, window_bytes(s));

        if (snap) {
            set_shown_dirty(s, snap, 0, s->ha.end);
        }
    }
}

/* Log stores through the window, or no more. */
void tessera_host_aperture_log(TesseraState *s, bool log)
{
    if (s->ha.is_ram) {
        memory_region_set_log(&s->ha.window, log, DIRTY_MEMORY_VGA);
    }
}

/* Pages that are still to come would be missed only where VRAM itself is. */
static int refuse_postcopy(NotifierWithReturn *n, void *opaque, Error **errp)
{
    const struct PostcopyNotifyData *data = opaque;

    if (data->reason == POSTCOPY_NOTIFY_PROBE) {
        error_setg(errp, "tessera: no postcopy with a host aperture");
        return -ENOTSUP;
    }
    return 0;
}

/* What is written through the window is not protected where VRAM itself is. */
static int refuse_background(NotifierWithReturn *n, MigrationEvent *e,
                             Error **errp)
{
    if (e->type == MIG_EVENT_PRECOPY_SETUP && migration_in_bg_snapshot()) {
        error_setg(errp,
                   "tessera: no background snapshot with a host aperture");
        return -ENOTSUP;
    }
    return 0;
}

/* ---- The table ----------------------------------------------------------- */

static bool pages_exist(TesseraState *s, uint32_t first)
{
    if (first <= s->ha.num_pages && s->ha.count <= s->ha.num_pages - first) {
        return true;
    }
    touch_error(s, (uint64_t)first * s->cfg.page_size);
    return false;
}

static uint32_t check_vram(TesseraState *s, uint64_t bytes, uint32_t *entry)
{
    const TesseraSegment *seg = tessera_view_segment(s, s->ha.addr, bytes);

    if (s->ha.addr % s->cfg.page_size) {
        return TSR_ERR_REGISTER;
    }
    if (!seg) {
        return TSR_ERR_ADDRESS;
    }
    if (seg->ptes || seg == &s->hidden) {
        return TSR_ERR_SEGMENT;
    }
    *entry = (seg->vram_offset + (s->ha.addr - seg->base)) /
             s->cfg.page_size + 1;
    return TSR_ERR_NONE;
}

/* Whoever has a page mapped sees what comes instead. One error a command. */
static void referee_map(TesseraState *s, uint32_t first)
{
    for (uint32_t i = first; s->cfg.strict && i < first + s->ha.count; i++) {
        if (s->ha.table[i]) {
            tessera_guest_error(&s->cpu, TSR_ERR_STRICT_OVERLAP,
                                (uint64_t)i * s->cfg.page_size);
            return;
        }
    }
}

/*
 * Other threads look up to the end only: it grows before a page is mapped, and
 * is forgotten after the last was unmapped.
 */
static void set_entry(TesseraState *s, uint32_t page, uint32_t entry)
{
    TesseraHostAperture *ha = &s->ha;

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

/* Whether a range of VRAM can be seen. For any thread: the referee's. */
bool tessera_host_aperture_shows(TesseraState *s, uint64_t offset,
                                 uint64_t size)
{
    uint64_t first = offset / s->cfg.page_size + 1;
    uint64_t last = (offset + size - 1) / s->cfg.page_size + 1;
    uint32_t end = qatomic_read(&s->ha.end);

    for (uint32_t i = 0; size && i < end; i++) {
        uint32_t entry = qatomic_read(&s->ha.table[i]);

        if (entry >= first && entry <= last) {
            return true;
        }
    }
    return false;
}

/* As many pages as the count register says, from @first on; or none. */
void tessera_host_aperture_map(TesseraState *s, uint32_t first)
{
    uint64_t bytes = (uint64_t)s->ha.count * s->cfg.page_size;
    uint32_t err, entry;

    if (!pages_exist(s, first)) {
        return;
    }
    err = check_vram(s, bytes, &entry);
    if (err) {
        tessera_guest_error(&s->cpu, err, s->ha.addr);
        return;
    }
    trace_tessera_host_aperture_map(first, s->ha.count, s->ha.addr);
    referee_map(s, first);
    settle_pages(s, first, s->ha.count);
    for (uint32_t i = 0; i < s->ha.count; i++) {
        set_entry(s, first + i, entry + i);
    }
    show_pages(s, first, s->ha.count);
    s->ha.addr += bytes;
}

/* Pages that show VRAM show ones; the others do already. */
static void hide_pages(TesseraState *s, uint32_t first, uint32_t count)
{
    const uint64_t bytes = s->cfg.page_size;
    uint32_t end = first + count;

    while (first < end) {
        uint32_t n = 0;

        while (first + n < end && s->ha.table[first + n]) {
            set_entry(s, first + n, 0);
            n++;
        }
        if (n && s->ha.ptr && !show_ones(s, first * bytes, n * bytes)) {
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
    trace_tessera_host_aperture_unmap(first, s->ha.count);
    settle_pages(s, first, s->ha.count);
    hide_pages(s, first, s->ha.count);
}

/* The table may have been loaded, and not checked. */
void tessera_host_aperture_reset(TesseraState *s)
{
    s->ha.addr = 0;
    s->ha.count = 0;
    if (!s->ha.num_pages) {
        return;
    }
    if (s->distrusted) {
        memset(s->ha.table, 0, s->ha.num_pages * sizeof(*s->ha.table));
        s->ha.mapped = 0;
        qatomic_set(&s->ha.end, 0);
        show_pages(s, 0, s->ha.num_pages);
    } else {
        settle_pages(s, 0, s->ha.num_pages);
        hide_pages(s, 0, s->ha.num_pages);
    }
}

/* A table was loaded; false if it cannot be. */
bool tessera_host_aperture_load(TesseraState *s)
{
    const uint32_t top = s->hidden.vram_offset / s->cfg.page_size;
    uint32_t mapped = 0, end = 0;

    for (uint32_t page = 0; page < s->ha.num_pages; page++) {
        if (s->ha.table[page] > top) {
            error_report("tessera: bad host aperture page %u", page);
            return false;
        }
        if (s->ha.table[page]) {
            mapped++;
            end = page + 1;
        }
    }
    s->ha.mapped = mapped;
    qatomic_set(&s->ha.end, end);
    show_pages(s, 0, s->ha.num_pages);
    return true;
}

/* ---- Life cycle ---------------------------------------------------------- */

static int make_ones(void)
{
    g_autofree uint8_t *ones = g_malloc(ONES_BYTES);
    int fd = qemu_memfd_create("tessera-ones", ONES_BYTES, false, 0, 0, NULL);

    memset(ones, 0xff, ONES_BYTES);
    if (fd >= 0 && pwrite(fd, ones, ONES_BYTES, 0) != ONES_BYTES) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void close_files(TesseraHostAperture *ha)
{
    if (ha->ones_fd >= 0) {
        close(ha->ones_fd);
    }
    if (ha->pagemap_fd >= 0) {
        close(ha->pagemap_fd);
    }
}

static bool open_files(TesseraHostAperture *ha)
{
    ha->ones_fd = make_ones();
    ha->pagemap_fd = qemu_open_old("/proc/self/pagemap", O_RDONLY);
    if (ha->ones_fd < 0 || ha->pagemap_fd < 0) {
        close_files(ha);
        return false;
    }
    return true;
}

/* Files with large pages, and memory devices, want larger mappings. */
static bool can_map_page(TesseraState *s)
{
#ifdef CONFIG_POSIX
    size_t len = s->cfg.page_size;
    void *ptr = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED,
                     memory_region_get_fd(s->vram),
                     s->vram->ram_block->fd_offset + len);

    return ptr != MAP_FAILED && !munmap(ptr, len);
#else
    return false;
#endif
}

/* Why the window cannot be RAM; NULL: it can. */
static const char *why_not_ram(TesseraState *s)
{
    if (memory_region_get_fd(s->vram) < 0) {
        return "no file is behind video memory";
    }
    if (!can_map_page(s)) {
        return "the file of video memory cannot be mapped by pages";
    }
    if (qemu_real_host_page_size() > s->cfg.page_size) {
        return "its pages are smaller than the host's";
    }
    if (s->ha.num_pages > max_mappings() ||
        mappings > max_mappings() - s->ha.num_pages) {
        return "the host grants too few mappings, vm.max_map_count";
    }
    if (ram_block_discard_require(true)) {
        return "other devices pin guest memory";
    }
    return NULL;
}

/* RAM whose pages come and go: nobody may count on those it has found. */
static bool init_ram(TesseraState *s)
{
    TesseraHostAperture *ha = &s->ha;
    const char *why;

    if (s->cfg.strict) {
        return false;
    }
    why = why_not_ram(s);
    if (why) {
        warn_report("tessera: accesses to the host aperture are emulated: %s",
                    why);
        return false;
    }
    if (!open_files(ha)) {
        ram_block_discard_require(false);
        return false;
    }
    if (!memory_region_init_ram_flags_nomigrate(&ha->window, OBJECT(s),
                                                "tessera.host-aperture",
                                                window_bytes(s),
                                                RAM_PRIVATE, NULL)) {
        close_files(ha);
        ram_block_discard_require(false);
        return false;
    }
    mappings += ha->num_pages;
    ha->is_ram = true;
    ha->ptr = memory_region_get_ram_ptr(&ha->window);
    ha->listener = (MemoryListener) {
        .name = "tessera",
        .priority = MEMORY_LISTENER_PRIORITY_DEV_BACKEND,
        .log_sync_global = sync_dirty,
    };
    memory_listener_register(&ha->listener, &address_space_memory);
    ha->postcopy.notify = refuse_postcopy;
    postcopy_add_notifier(&ha->postcopy);
    migration_add_notifier(&ha->background, refuse_background);
    return true;
}

void tessera_host_aperture_init(TesseraState *s)
{
    TesseraHostAperture *ha = &s->ha;
    uint64_t bytes = s->cfg.host_aperture_size;

    ha->num_pages = bytes / s->cfg.page_size;
    if (!bytes) {
        return;
    }
    ha->table = g_new0(uint32_t, ha->num_pages);
    memory_region_init(&ha->bar, OBJECT(s), "tessera.host-aperture-bar",
                       pow2ceil(bytes));
    if (init_ram(s)) {
        memory_region_add_subregion(&ha->bar, 0, &ha->window);
        show_pages(s, 0, ha->num_pages);
        look_whether_locked(s);
    } else {
        init_trap(s);
        memory_region_add_subregion(&ha->bar, 0, &ha->trap);
    }
    pci_register_bar(PCI_DEVICE(s), TSR_BAR_HOST_APERTURE,
                     PCI_BASE_ADDRESS_SPACE_MEMORY |
                     PCI_BASE_ADDRESS_MEM_TYPE_64 |
                     PCI_BASE_ADDRESS_MEM_PREFETCH, &ha->bar);
}

void tessera_host_aperture_fini(TesseraState *s)
{
    TesseraHostAperture *ha = &s->ha;

    if (!ha->num_pages) {
        return;
    }
    /* The container holds a reference to the device as long as it is filled. */
    memory_region_del_subregion(&ha->bar, ha->ptr ? &ha->window : &ha->trap);
    if (ha->is_ram) {
        /* It may live on for a while, but not with a mapping for each page. */
        ha->ptr = memory_region_get_ram_ptr(&ha->window);
        show_ones(s, 0, window_bytes(s));
        mappings -= ha->num_pages;
        memory_listener_unregister(&ha->listener);
        migration_remove_notifier(&ha->background);
        postcopy_remove_notifier(&ha->postcopy);
        ram_block_discard_require(false);
    }
}

/* What a vCPU that is late may still find; its RAM goes by itself. */
void tessera_host_aperture_free(TesseraState *s)
{
    g_free(s->ha.table);
    s->ha.table = NULL;
    if (s->ha.is_ram) {
        close_files(&s->ha);
    }
    s->ha.is_ram = false;
    s->ha.ptr = NULL;
}
