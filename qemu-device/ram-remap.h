/*
 * RAM regions with pages that can be remapped
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SYSTEM_RAM_REMAP_H
#define SYSTEM_RAM_REMAP_H

#include "tessera_compat.h"
#include COMPAT_MEMORY_H

/*
 * A RamRemap is a RAM region in which each page shows either a page of another
 * region's file, or bytes of 0xff ("ones"). A device uses it for a window onto
 * its memory that the guest moves. An access causes no exit, and a move costs
 * one mmap(). The guest's memory map stays as it is, so no vCPU has to be
 * stopped.
 *
 * A page that shows no page of the file is a private mapping of ones. The
 * device can find out later whether the guest has written to it.
 *
 * Pages are remapped at any time, so no other device (vfio-pci) may pin them.
 * ram_remap_init() ensures that by ram_block_discard_require().
 *
 * All functions are called under the BQL.
 */

/**
 * struct RamRemap: a region with pages that can be remapped
 *
 * @mr: the region
 * @page_bytes: the size of a page; set by the caller
 * @file: the RAM region that has the file; set by the caller
 * @not_dumped: whether @file is not in core dumps; set by the caller
 *
 * The other fields are private.
 */
typedef struct RamRemap {
    MemoryRegion mr;
    uint64_t page_bytes;
    MemoryRegion *file;
    bool not_dumped;

    /* private: */
    uint8_t *ptr;               /* host address of the RAM */
    /* the host copies private pages at once (mlockall) */
    bool locked;
    int ones_fd;                /* memfd of pages that show ones */
    int pagemap_fd;             /* /proc/self/pagemap, to find written pages */
} RamRemap;

/**
 * typedef RamRemapFn: called for each written page that shows ones
 *
 * Returns whether to look at further pages.
 *
 * @opaque: pointer passed to ram_remap_find_written()
 * @page: number of the page
 */
typedef bool RamRemapFn(void *opaque, uint32_t page);

/**
 * ram_remap_init: create a region in which all pages show ones
 *
 * Returns %false, with @errp set and nothing left behind, if the host or other
 * devices do not allow that.
 *
 * @r: #RamRemap with its caller-set fields filled in
 * @owner: the object that the region belongs to
 * @name: the name of the region
 * @pages: the number of pages
 * @errp: pointer to Error*, to store an error if it happens
 */
bool ram_remap_init(RamRemap *r, Object *owner, const char *name,
                    uint32_t pages, Error **errp);

/**
 * ram_remap_fini: show ones in all pages from now on
 *
 * A vCPU may still hold a reference to the region, so its RAM stays until the
 * owner is freed. It needs only a few mappings of the process by then.
 *
 * @r: #RamRemap that was initialized
 */
void ram_remap_fini(RamRemap *r);

/**
 * ram_remap_free: close the files after the last use of the region
 *
 * @r: #RamRemap after ram_remap_fini()
 */
void ram_remap_free(RamRemap *r);

/**
 * ram_remap_show_ones: make pages show ones
 *
 * Returns %false, with errno set, if the host refuses. Some of the pages may be
 * unmapped then.
 *
 * @r: #RamRemap to be changed
 * @first: number of the first page
 * @count: number of pages
 */
bool ram_remap_show_ones(RamRemap *r, uint32_t first, uint32_t count);

/**
 * ram_remap_show_file: make pages show consecutive pages of the file
 *
 * Returns %false, with errno set, if the host refuses. Some of the pages may be
 * unmapped then.
 *
 * @r: #RamRemap to be changed
 * @first: number of the first page
 * @count: number of pages
 * @offset: the byte that the first page shows, relative to the start of
 *   @r->file
 */
bool ram_remap_show_file(RamRemap *r, uint32_t first, uint32_t count,
                         uint64_t offset);

/**
 * ram_remap_find_written: find the written pages among those that show ones
 *
 * @r: #RamRemap to be searched
 * @shown: an entry for each page of the region; 0: the page shows ones
 * @first: number of the first page to look at
 * @count: number of pages to look at
 * @fn: called for each page found
 * @opaque: pointer passed to @fn
 */
void ram_remap_find_written(RamRemap *r, const uint32_t *shown,
                            uint32_t first, uint32_t count,
                            RamRemapFn *fn, void *opaque);

#endif /* SYSTEM_RAM_REMAP_H */
