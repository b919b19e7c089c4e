/*
 * Map RAM only, mark it later
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SYSTEM_RAM_MAP_H
#define SYSTEM_RAM_MAP_H

#include "tessera_compat.h"
#include COMPAT_MEMORY_H

/*
 * A RamMap is for devices that read and write guest RAM in threads of their
 * own, often and in small pieces. It differs from address_space_map() in four
 * ways:
 *
 * - It finds RAM only. address_space_map() answers an access to anything else
 *   with a bounce buffer, which it fills through callbacks of other devices.
 *   Those need the BQL.
 * - It keeps what it finds until the thread leaves the map, so that the next
 *   access to the same RAM needs no lookup. Meanwhile the thread is inside an
 *   RCU critical section. No reference is taken.
 * - It marks what was written when the thread leaves, in one go for
 *   consecutive bytes. A mark has atomic operations, which wait for stores that
 *   bypass the caches.
 * - It tells the caller beforehand whether an IOMMU has to translate an
 *   address. IOMMUMemoryRegionClass::translate needs the BQL in most
 *   implementations.
 *
 * One thread uses a map at a time.
 */

/* Runs that a map keeps at a time. */
#define RAM_MAP_RUNS    64

/* Runs that were written and are marked at a time. */
#define RAM_MAP_WRITTEN 64

/**
 * struct RamRun: consecutive addresses that are RAM
 *
 * @addr: the first address
 * @len: the number of bytes
 * @host: the host's address of the first byte
 * @mr: the region that has the RAM
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
 * struct RamRuns: runs of RAM, each of which begins where the last one ended
 *
 * @num: the number of runs
 * @ends: whether there is no RAM behind the last run
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
 * @found: what ram_map_find() has found, or another thread for the caller
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
 * ram_map_init: prepare a map that has found nothing
 *
 * @map: #RamMap to be initialized
 * @as: #AddressSpace to look into
 */
void ram_map_init(RamMap *map, AddressSpace *as);

/**
 * ram_map_enter: begin accesses
 *
 * Begins an RCU critical section. Calls nest: what was found stays until the
 * outermost ram_map_leave(), unless the address space changes.
 *
 * @map: #RamMap to be used
 */
void ram_map_enter(RamMap *map);

/**
 * ram_map_leave: end accesses
 *
 * The outermost call marks as dirty what was written.
 *
 * @map: #RamMap that was entered
 */
void ram_map_leave(RamMap *map);

/**
 * ram_map_lookup: look for an address among the runs found before
 *
 * Returns %true if the answer is known: @run is the run that has @addr then, or
 * %NULL if there is no RAM. Returns %false if the address has to be looked up:
 * see ram_map_restart().
 *
 * @map: #RamMap that was entered
 * @addr: address within the address space
 * @is_write: indicates the transfer direction
 * @run: receives the run
 */
bool ram_map_lookup(RamMap *map, hwaddr addr, bool is_write,
                    const RamRun **run);

/**
 * ram_map_restart: forget the runs and begin with the present address space
 *
 * The caller fills @map->found next: by ram_map_find() if
 * ram_map_needs_iommu() says no or the caller holds the BQL. Otherwise another
 * thread, which holds the BQL, calls ram_runs_find() for it. The runs that it
 * finds stay as long as this thread does not leave the map.
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
 * Finds at most %RAM_MAP_RUNS runs, and the last one may go beyond the range.
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
 * ram_map_first: the run that was just found, or %NULL if there is no RAM
 *
 * @map: #RamMap that was restarted, and whose runs were found
 */
static inline const RamRun *ram_map_first(const RamMap *map)
{
    return map->found.num ? &map->found.run[0] : NULL;
}

/**
 * ram_map_written: note that bytes were written
 *
 * They are marked as dirty later, by the outermost ram_map_leave() at the
 * latest.
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
