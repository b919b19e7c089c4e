/*
 * RAM whose pages are mapped over
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_REMAP_H
#define HW_DISPLAY_TESSERA_REMAP_H

#include "exec/memory.h"

/* Each page shows a page of a file, or ones, of which it has a copy. */
typedef struct TesseraRemap {
    MemoryRegion mr;
    uint8_t *ptr;               /* its RAM */
    uint64_t page_bytes;
    MemoryRegion *file;         /* RAM that has one */
    bool not_dumped;            /* neither is the file's memory */
    bool locked;                /* the host copies all pages at once */
    int ones_fd;                /* what pages show that show no file */
    int pagemap_fd;             /* whether they are still that */
    uint32_t *fail;             /* mappings that are to fail */
} TesseraRemap;

/* A page that shows ones was written. Returns whether to look at others. */
typedef bool TesseraRemapFn(void *opaque, uint32_t page);

const char *tessera_remap_init(TesseraRemap *r, Object *owner, const char *name,
                               uint32_t pages);
void tessera_remap_fini(TesseraRemap *r);
void tessera_remap_free(TesseraRemap *r);
bool tessera_remap_show_ones(TesseraRemap *r, uint32_t first, uint32_t count);
bool tessera_remap_show_file(TesseraRemap *r, uint32_t first, uint32_t count,
                             uint64_t offset);
void tessera_remap_find_written(TesseraRemap *r, const uint32_t *shown,
                                uint32_t first, uint32_t count,
                                TesseraRemapFn *fn, void *opaque);

#endif /* HW_DISPLAY_TESSERA_REMAP_H */
