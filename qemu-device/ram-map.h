/*
 * Map guest RAM for device threads, and mark it dirty later
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SYSTEM_RAM_MAP_H
#define SYSTEM_RAM_MAP_H

#include "tessera_compat.h"
#include COMPAT_MEMORY_H

/*
 * A RamMap serves devices that read and write guest RAM in threads of their
 * own, often and in small pieces. It differs from address_space_map() in four
 * ways:
 *
 * - It finds RAM only. address_space_map() answers an access to anything else
 *   with a bounce buffer, which it fills through callbacks of other devices.
 *   Those need the BQL.
 * - It caches its lookups until the thread leaves the map, so that the next
 *   access to the same RAM needs no lookup. Meanwhile the thread is inside an
 *   RCU critical section. No reference is taken.
 * - It marks written bytes as dirty when the thread leaves, with one call for
 *   consecutive bytes. Each call has atomic operations, which wait for stores
 *   that bypass the caches.
 * - It tells the caller beforehand whether an IOMMU has to translate an
 *   address. IOMMUMemoryRegionClass::translate needs the BQL in most
 *   implementations.
 *
 * Only one thread may use a map at a time.
 */

/* The number of runs that a map caches. */
#define RAM_MAP_RUNS    64

/* The number of written extents that wait to be marked. */
#define RAM_MAP_WRITTEN 64

/**
 * struct RamRun: consecutive addresses that are RAM
 *
 * @addr: the first address
 * @len: the number of bytes
 * @host: the host's address of the first byte
 * @mr: the region that contains the RAM
 * @offset: the first byte, relative to @mr's start
 */
typedef struct RamRun {
    hwaddr addr;
    hwaddr len;
    uint8_t *host;
    MemoryRegion *mr;
    hwaddr offset;
} RamRun;

/**
 * struct RamRuns: runs of RAM, each of which begins where the previous one
 * ended
 *
 * @num: the number of runs
 * @ends: whether the address behind the last run is not RAM
 * @end: the address behind the last run
 * @run: the runs
 */
typedef struct RamRuns {
    unsigned num;
    bool ends;
    hwaddr end;
    RamRun run[RAM_MAP_RUNS];
} RamRuns;

/**
 * struct RamMap: the RAM that a thread has found in an address space
 *
 * @as: the address space
 * @found: the cached runs; filled by ram_map_find(), or for the caller by
 *   another thread
 *
 * The other fields are private.
 */
typedef struct RamMap {
    AddressSpace *as;
    RamRuns found;

    /* private: */
    unsigned entered;
    FlatView *view;
    bool is_write;
    unsigned last;
    unsigned num_written;
    struct {
        MemoryRegion *mr;
        hwaddr offset;
        hwaddr len;
        uint8_t *host;
    } written[RAM_MAP_WRITTEN];
} RamMap;

/**
 * ram_map_init: prepare an empty map
 *
 * @map: #RamMap to be initialized
 * @as: #AddressSpace to look into
 */
void ram_map_init(RamMap *map, AddressSpace *as);

/**
 * ram_map_enter: begin accesses
 *
 * Begins an RCU critical section. Calls nest: cached runs stay until the
 * outermost ram_map_leave(), unless the address space changes.
 *
 * @map: #RamMap to be used
 */
void ram_map_enter(RamMap *map);

/**
 * ram_map_leave: end accesses
 *
 * The outermost call marks all written bytes as dirty.
 *
 * @map: #RamMap that was entered
 */
void ram_map_leave(RamMap *map);

/**
 * ram_map_lookup: search the cached runs for an address
 *
 * Returns %true if the cache has the answer: @run is then the run that contains
 * @addr, or %NULL if @addr is not RAM. Returns %false if the address has to be
 * looked up: see ram_map_restart().
 *
 * @map: #RamMap that was entered
 * @addr: address within the address space
 * @is_write: indicates the transfer direction
 * @run: receives the run
 */
bool ram_map_lookup(RamMap *map, hwaddr addr, bool is_write,
                    const RamRun **run);

/**
 * ram_map_restart: drop the cached runs and use the present address space
 *
 * Next, @map->found has to be filled. The caller itself does so with
 * ram_map_find() if ram_map_needs_iommu() returns %false or the caller holds
 * the BQL. Otherwise another thread, which holds the BQL, calls ram_runs_find()
 * for the caller. The runs stay valid until the caller leaves the map.
 *
 * @map: #RamMap that was entered
 * @is_write: indicates the transfer direction
 */
void ram_map_restart(RamMap *map, bool is_write);

/**
 * ram_map_needs_iommu: whether an IOMMU has to translate an address
 *
 * @map: #RamMap that was restarted
 * @addr: address within the address space
 */
bool ram_map_needs_iommu(const RamMap *map, hwaddr addr);

/**
 * ram_map_find: look up the run of RAM that begins at an address
 *
 * @map: #RamMap that was restarted
 * @addr: address within the address space
 */
void ram_map_find(RamMap *map, hwaddr addr);

/**
 * ram_runs_find: look up the runs of RAM in a range of addresses
 *
 * Finds at most %RAM_MAP_RUNS runs. The last one may go beyond the range.
 * Behind an IOMMU a run ends with the IOMMU's page. Called within an RCU
 * critical section, and with the BQL held if an IOMMU may have to translate.
 *
 * @as: #AddressSpace to look into
 * @addr: first address of the range
 * @len: number of bytes
 * @is_write: indicates the transfer direction
 * @runs: receives the runs
 */
void ram_runs_find(AddressSpace *as, hwaddr addr, hwaddr len, bool is_write,
                   RamRuns *runs);

/**
 * ram_map_first: the run that the last lookup found, or %NULL if it found no
 * RAM
 *
 * @map: #RamMap that was restarted and filled
 */
static inline const RamRun *ram_map_first(const RamMap *map)
{
    return map->found.num ? &map->found.run[0] : NULL;
}

/**
 * ram_map_written: note that bytes were written
 *
 * They are marked as dirty later, at the latest by the outermost
 * ram_map_leave().
 *
 * @map: #RamMap that was entered
 * @mr: the region of the run
 * @offset: first byte that was written, relative to @mr's start
 * @host: the host's address of that byte
 * @len: number of bytes
 */
void ram_map_written(RamMap *map, MemoryRegion *mr, hwaddr offset,
                     uint8_t *host, hwaddr len);

#endif /* SYSTEM_RAM_MAP_H */
