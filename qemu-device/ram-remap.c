/*
 * RAM regions with pages that can be remapped
 *
 * This file and its header are written like a patch to QEMU's core: nothing in
 * them is specific to a device. See ram-remap.h for the concept.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_compat.h"
#include "qemu/madvise.h"
#include "qemu/memfd.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include COMPAT_RAMBLOCK_H
#include COMPAT_BOARDS_H
#include "system/qtest.h"
#include "ram-remap.h"

#define ONES_BYTES      (2 * MiB)   /* size of the file of ones */
#define BLOCK_PAGES     64          /* examined at a time */

static uint32_t mappings;           /* worst case of all regions (BQL) */

/*
 * Each page may take one of the process's mappings. All regions together may
 * use three quarters of the mappings that Linux grants a process.
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

static uint32_t num_pages(const RamRemap *r)
{
    return memory_region_size((MemoryRegion *)&r->mr) / r->page_bytes;
}

/* ---- Remapping ----------------------------------------------------------- */

/* Repeat QEMU's advice for RAM, which a new mapping does not inherit. */
static void advise(void *ptr, uint64_t len)
{
    if (!machine_dump_guest_core(current_machine)) {
        qemu_madvise(ptr, len, QEMU_MADV_DONTDUMP);
    }
    /*
     * Under qtest the process may be forked for fuzzing, and needs the memory.
     */
    if (!qtest_enabled()) {
        qemu_madvise(ptr, len, QEMU_MADV_DONTFORK);
    }
}

static bool map_over(RamRemap *r, uint64_t at, uint64_t len, bool shared,
                     int fd, uint64_t offset)
{
#ifdef CONFIG_POSIX
    void *ptr = r->ptr + at;
    int flags = MAP_FIXED | MAP_NORESERVE | (shared ? MAP_SHARED : MAP_PRIVATE);

    if (mmap(ptr, len, PROT_READ | PROT_WRITE, flags, fd, offset) ==
        MAP_FAILED) {
        return false;
    }
    advise(ptr, len);
    return true;
#else
    /* can_map_page() fails without POSIX, so no region exists. */
    g_assert_not_reached();
#endif
}

bool ram_remap_show_ones(RamRemap *r, uint32_t first, uint32_t count)
{
    uint64_t at = first * r->page_bytes, len = count * r->page_bytes;

    while (len) {
        uint64_t offset = at % ONES_BYTES;
        uint64_t n = MIN(len, ONES_BYTES - offset);

        if (!map_over(r, at, n, false, r->ones_fd, offset)) {
            return false;
        }
        at += n;
        len -= n;
    }
    return true;
}

bool ram_remap_show_file(RamRemap *r, uint32_t first, uint32_t count,
                             uint64_t offset)
{
    uint64_t at = first * r->page_bytes, len = count * r->page_bytes;

    if (!map_over(r, at, len, true, memory_region_get_fd(r->file),
                  r->file->ram_block->fd_offset + offset)) {
        return false;
    }
    if (r->not_dumped) {
        qemu_madvise(r->ptr + at, len, QEMU_MADV_DONTDUMP);
    }
    return true;
}

/* ---- Written pages ------------------------------------------------------- */

static bool all_ones(const uint8_t *p, uint64_t len)
{
    return ldq_he_p(p) == UINT64_MAX && !memcmp(p, p + 8, len - 8);
}

/*
 * Whether an entry of /proc/self/pagemap belongs to a private copy of a page.
 * The first write to a privately mapped page makes such a copy. Under
 * mlockall() the host copies all of them at once. Then only the contents tell
 * whether a page was written.
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

static bool read_pagemap(RamRemap *r, uint32_t first, uint32_t count,
                         uint64_t *entries)
{
    const uint64_t host = qemu_real_host_page_size();
    const uint32_t per_page = r->page_bytes / host;
    size_t bytes = (size_t)count * per_page * sizeof(*entries);
    uint64_t at = (uintptr_t)r->ptr / host + (uint64_t)first * per_page;

    return pread(r->pagemap_fd, entries, bytes, at * sizeof(*entries)) == bytes;
}

void ram_remap_find_written(RamRemap *r, const uint32_t *shown,
                                uint32_t first, uint32_t count,
                                RamRemapFn *fn, void *opaque)
{
    const uint32_t per_page = r->page_bytes / qemu_real_host_page_size();
    uint64_t entries[BLOCK_PAGES * 16];
    uint32_t most = ARRAY_SIZE(entries) / per_page, end = first + count;

    while (first < end) {
        uint32_t n = MIN(most, end - first);
        bool known = read_pagemap(r, first, n, entries);

        for (uint32_t i = 0; i < n; i++) {
            const uint8_t *p = r->ptr + (first + i) * r->page_bytes;

            if (!shown[first + i] &&
                (!known || any_copy(entries + i * per_page, per_page)) &&
                !((!known || r->locked) && all_ones(p, r->page_bytes)) &&
                !fn(opaque, first + i)) {
                return;
            }
        }
        first += n;
    }
}

/* ---- Life cycle ---------------------------------------------------------- */

static int make_ones(void)
{
    g_autofree uint8_t *ones = g_malloc(ONES_BYTES);
    int fd = qemu_memfd_create("ram-remap-ones", ONES_BYTES, false, 0, 0, NULL);

    memset(ones, 0xff, ONES_BYTES);
    if (fd >= 0 && pwrite(fd, ones, ONES_BYTES, 0) != ONES_BYTES) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void close_files(RamRemap *r)
{
    if (r->ones_fd >= 0) {
        close(r->ones_fd);
    }
    if (r->pagemap_fd >= 0) {
        close(r->pagemap_fd);
    }
}

static bool open_files(RamRemap *r)
{
    r->ones_fd = make_ones();
    r->pagemap_fd = qemu_open_old("/proc/self/pagemap", O_RDONLY);
    if (r->ones_fd < 0 || r->pagemap_fd < 0) {
        close_files(r);
        return false;
    }
    return true;
}

/*
 * Huge page files and memory devices may require larger mappings than a page.
 */
static bool can_map_page(RamRemap *r)
{
#ifdef CONFIG_POSIX
    void *ptr = mmap(NULL, r->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                     memory_region_get_fd(r->file),
                     r->file->ram_block->fd_offset + r->page_bytes);

    return ptr != MAP_FAILED && !munmap(ptr, r->page_bytes);
#else
    return false;
#endif
}

/* Whether page 0, which has not been written yet, already is a private copy. */
static bool copies_at_once(RamRemap *r)
{
    uint64_t entry;

    return pread(r->pagemap_fd, &entry, sizeof(entry),
                 (uintptr_t)r->ptr / qemu_real_host_page_size() *
                 sizeof(entry)) == sizeof(entry) && is_copy(entry);
}

static bool can_remap(RamRemap *r, uint32_t pages, Error **errp)
{
    if (memory_region_get_fd(r->file) < 0) {
        error_setg(errp, "no file is behind its memory");
        return false;
    }
    if (!can_map_page(r)) {
        error_setg(errp, "the file of its memory cannot be mapped by pages");
        return false;
    }
    if (qemu_real_host_page_size() > r->page_bytes) {
        error_setg(errp, "its pages are smaller than the host's");
        return false;
    }
    if (pages > max_mappings() || mappings > max_mappings() - pages) {
        error_setg(errp, "the host grants too few mappings, vm.max_map_count");
        return false;
    }
    return true;
}

static bool init_region(RamRemap *r, Object *owner, const char *name,
                        uint32_t pages, Error **errp)
{
    if (!memory_region_init_ram_flags_nomigrate(&r->mr, owner, name,
                                                pages * r->page_bytes,
                                                RAM_PRIVATE, errp)) {
        return false;
    }
    r->ptr = memory_region_get_ram_ptr(&r->mr);
    if (!ram_remap_show_ones(r, 0, pages)) {
        error_setg_errno(errp, errno, "the host refuses the mappings");
        object_unparent(OBJECT(&r->mr));
        return false;
    }
    return true;
}

bool ram_remap_init(RamRemap *r, Object *owner, const char *name,
                    uint32_t pages, Error **errp)
{
    if (!can_remap(r, pages, errp)) {
        return false;
    }
    if (ram_block_discard_require(true)) {
        error_setg(errp, "other devices pin guest memory");
        return false;
    }
    if (!open_files(r)) {
        error_setg(errp, "the host has no memfd or /proc");
        goto err_discard;
    }
    if (!init_region(r, owner, name, pages, errp)) {
        goto err_files;
    }
    mappings += pages;
    r->locked = copies_at_once(r);
    return true;

err_files:
    close_files(r);
err_discard:
    ram_block_discard_require(false);
    return false;
}

void ram_remap_fini(RamRemap *r)
{
    ram_remap_show_ones(r, 0, num_pages(r));
    mappings -= num_pages(r);
    ram_block_discard_require(false);
}

void ram_remap_free(RamRemap *r)
{
    close_files(r);
    r->ptr = NULL;
}
