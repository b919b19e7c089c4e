/*
 * RAM whose pages are mapped over
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SYSTEM_RAM_REMAP_H
#define SYSTEM_RAM_REMAP_H

#include "tessera_compat.h"
#include COMPAT_MEMORY_H

/*
 * A RamRemap is a RAM region each of whose pages shows a page of another
 * region's file, or ones. A device uses it for a window onto its memory that
 * the guest moves: an access costs nothing, and a move costs an mmap(). The
 * guest's memory map stays as it is, so no vCPU has to be stopped.
 *
 * A page that shows no part of the file is a private copy of ones. Whether the
 * guest has written such a page can be found out later.
 *
 * Pages come and go, so nothing may pin the pages that it finds in the region
 * (vfio-pci). ram_remap_init() makes sure of that by
 * ram_block_discard_require().
 *
 * All functions are called under the BQL.
 */

/**
 * struct RamRemap: a region whose pages are mapped over
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
    uint8_t *ptr;               /* of the RAM */
    bool locked;                /* the host copies all pages at once */
    int ones_fd;                /* what pages show that show no file */
    int pagemap_fd;             /* whether they are still that */
} RamRemap;

/**
 * typedef RamRemapFn: called for a page that shows ones and was written
 *
 * Returns whether to look at further pages.
 *
 * @opaque: pointer passed to ram_remap_find_written()
 * @page: number of the page
 */
typedef bool RamRemapFn(void *opaque, uint32_t page);

/**
 * ram_remap_init: make a region all of whose pages show ones
 *
 * Returns %false, with @errp set and nothing left behind, if the host or other
 * devices do not allow that.
 *
 * @r: #RamRemap whose caller-set fields are set
 * @owner: the object that the region belongs to
 * @name: the name of the region
 * @pages: the number of pages
 * @errp: pointer to Error*, to store an error if it happens
 */
bool ram_remap_init(RamRemap *r, Object *owner, const char *name,
                    uint32_t pages, Error **errp);

/**
 * ram_remap_fini: show ones in all pages, for good
 *
 * A vCPU that is late may still have the region, so its RAM stays until the
 * owner goes. It takes no more than a few mappings of the process then.
 *
 * @r: #RamRemap that was initialized
 */
void ram_remap_fini(RamRemap *r);

/**
 * ram_remap_free: close the files when nothing uses the region any more
 *
 * @r: #RamRemap after ram_remap_fini()
 */
void ram_remap_free(RamRemap *r);

/**
 * ram_remap_show_ones: make pages show ones
 *
 * Returns %false, with errno set, if the host refuses. Pages may be holes then.
 *
 * @r: #RamRemap to be changed
 * @first: number of the first page
 * @count: number of pages
 */
bool ram_remap_show_ones(RamRemap *r, uint32_t first, uint32_t count);

/**
 * ram_remap_show_file: make pages show consecutive pages of the file
 *
 * Returns %false, with errno set, if the host refuses. Pages may be holes then.
 *
 * @r: #RamRemap to be changed
 * @first: number of the first page
 * @count: number of pages
 * @offset: what the first page shows, relative to the start of @r->file
 */
bool ram_remap_show_file(RamRemap *r, uint32_t first, uint32_t count,
                         uint64_t offset);

/**
 * ram_remap_find_written: find the pages that show ones and were written
 *
 * @r: #RamRemap to be looked at
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
