/*
 * Map guest RAM for device threads, and mark it dirty later
 *
 * This file and its header are written like a patch to QEMU's core: nothing in
 * them is specific to a device. See ram-map.h for the concept.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_compat.h"
#include "qemu/atomic.h"
#include "qemu/rcu.h"
#include COMPAT_ADDRESS_SPACES_H
#include COMPAT_MEMORY_CACHED_H
#include "ram-map.h"

/* ---- Lookups ------------------------------------------------------------- */

/* Append the run of RAM at @addr. It ends with the view or the IOMMU's page. */
static bool find_run(FlatView *view, hwaddr addr, bool is_write, RamRuns *runs)
{
    const MemTxAttrs attrs = { .memory = 1 };
    hwaddr len = UINT64_MAX - addr, offset;
    MemoryRegion *mr = flatview_translate(view, addr, &offset, &len, is_write,
                                          attrs);

    if (!len || !memory_access_is_direct(mr, is_write, attrs)) {
        return false;
    }
    runs->run[runs->num] = (RamRun) {
        .addr = addr,
        .len = len,
        .host = qemu_map_ram_ptr(mr->ram_block, offset),
        .mr = mr,
        .offset = offset,
    };
    runs->end = addr + len;
    runs->num++;
    return true;
}

static void find_runs(FlatView *view, hwaddr addr, hwaddr len, bool is_write,
                      RamRuns *runs)
{
    runs->num = 0;
    runs->ends = false;
    runs->end = addr;
    while (runs->end - addr < len && runs->num < RAM_MAP_RUNS && !runs->ends) {
        runs->ends = !find_run(view, runs->end, is_write, runs);
    }
}

void ram_runs_find(AddressSpace *as, hwaddr addr, hwaddr len, bool is_write,
                   RamRuns *runs)
{
    find_runs(address_space_to_flatview(as), addr, len, is_write, runs);
}

void ram_map_find(RamMap *map, hwaddr addr)
{
    find_runs(map->view, addr, 1, map->is_write, &map->found);
}

typedef struct RangeAt {
    hwaddr addr;
    bool iommu;
} RangeAt;

static bool range_at(Int128 start, Int128 len, const MemoryRegion *mr,
                     hwaddr offset_in_region, void *opaque)
{
    RangeAt *at = opaque;
    Int128 addr = int128_make64(at->addr);

    if (int128_lt(addr, start) || int128_ge(addr, int128_add(start, len))) {
        return false;
    }
    at->iommu = mr->is_iommu;
    return true;
}

bool ram_map_needs_iommu(const RamMap *map, hwaddr addr)
{
    RangeAt at = { .addr = addr };

    /* The CPUs' view has no IOMMU. A device without an IOMMU shares it. */
    if (map->view == address_space_to_flatview(&address_space_memory)) {
        return false;
    }
    flatview_for_each_range(map->view, range_at, &at);
    return at.iommu;
}

void ram_map_restart(RamMap *map, bool is_write)
{
    map->view = address_space_to_flatview(map->as);
    map->is_write = is_write;
    map->last = 0;
    map->found.num = 0;
    map->found.ends = false;
}

/* Return the index of the cached run with @addr, or the number of runs. */
static unsigned find_again(const RamMap *map, hwaddr addr)
{
    const RamRuns *f = &map->found;

    for (unsigned i = 0; i < f->num; i++) {
        unsigned at = (map->last + i) % f->num;

        if (addr >= f->run[at].addr &&
            addr - f->run[at].addr < f->run[at].len) {
            return at;
        }
    }
    return f->num;
}

/*
 * RCU frees views, so inside the critical section an equal pointer means the
 * same view.
 */
bool ram_map_lookup(RamMap *map, hwaddr addr, bool is_write,
                    const RamRun **run)
{
    if (map->view != address_space_to_flatview(map->as) ||
        map->is_write != is_write) {
        return false;
    }
    map->last = find_again(map, addr);
    if (map->last < map->found.num) {
        *run = &map->found.run[map->last];
        return true;
    }
    *run = NULL;
    /*
     * Only the address at which the last lookup ended is known not to be RAM.
     * The IOMMU reports each untranslated address as an error, so it must not
     * be asked for it twice.
     */
    return map->found.ends && map->found.end == addr;
}

/* ---- Dirty marks --------------------------------------------------------- */

/*
 * Do for RAM what address_space_unmap() and address_space_cache_invalidate()
 * do. They share a function that is static in system/physmem.c, so present the
 * bytes as a MemoryRegionCache.
 */
static void mark(MemoryRegion *mr, hwaddr offset, uint8_t *host, hwaddr len)
{
    MemoryRegionCache cache = {
        .ptr = host,
        .xlat = offset,
        .len = len,
        .mrs.mr = mr,
        .is_write = true,
    };

    address_space_cache_invalidate(&cache, 0, len);
}

static void mark_all(RamMap *map)
{
    if (map->num_written) {
        /*
         * A page that is already marked is not marked again, so the bytes have
         * to be visible before the mark is tested. Pairs with the barrier of
         * the thread that clears the marks.
         */
        smp_mb();
    }
    for (unsigned i = 0; i < map->num_written; i++) {
        mark(map->written[i].mr, map->written[i].offset, map->written[i].host,
             map->written[i].len);
    }
    map->num_written = 0;
}

void ram_map_written(RamMap *map, MemoryRegion *mr, hwaddr offset,
                     uint8_t *host, hwaddr len)
{
    unsigned i = map->num_written;

    if (i && map->written[i - 1].mr == mr &&
        map->written[i - 1].offset + map->written[i - 1].len == offset) {
        map->written[i - 1].len += len;
        return;
    }
    if (i == RAM_MAP_WRITTEN) {
        mark_all(map);
        i = 0;
    }
    map->written[i].mr = mr;
    map->written[i].offset = offset;
    map->written[i].host = host;
    map->written[i].len = len;
    map->num_written = i + 1;
}

/* ---- Life cycle ---------------------------------------------------------- */

void ram_map_init(RamMap *map, AddressSpace *as)
{
    map->as = as;
    map->entered = 0;
    map->view = NULL;
    map->num_written = 0;
}

void ram_map_enter(RamMap *map)
{
    rcu_read_lock();
    if (!map->entered++) {
        map->view = NULL;
    }
}

void ram_map_leave(RamMap *map)
{
    if (!--map->entered) {
        mark_all(map);
    }
    rcu_read_unlock();
}
