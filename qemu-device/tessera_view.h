/*
 * Tessera virtual GPU: views
 *
 * A view is a range of bytes that a packet reads or writes: GPU addresses
 * inside one segment, virtual addresses, or a list of system pages. Offsets are
 * relative to its start. The creator of a view checks them against its size.
 * All kinds of views are accessed as runs of host memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_VIEW_H
#define HW_DISPLAY_TESSERA_VIEW_H

#include "tessera_core.h"

#define TESSERA_LIST_ENTRIES    512     /* page list read-ahead */
#define TESSERA_RUNS            32      /* runs begun together */

typedef struct TesseraView {
    TesseraMaster *m;
    TesseraSegment *seg;        /* NULL: virtual, or a page list */
    uint64_t base;              /* address, or offset in the page list */
    uint64_t list;              /* DMA address of the page list */
    uint64_t vram_offset;       /* of views of memory segments */
    uint32_t slot;              /* for error records */
    bool is_vram;               /* the view is contiguous in VRAM */
    bool past_caches;           /* page list: bypass CPU caches */
    bool vm;                    /* @base is a virtual address */
    bool stream;                /* bypass the host's caches */
    uint64_t win_first;         /* page list read-ahead */
    uint32_t win_count;
    uint64_t win[TESSERA_LIST_ENTRIES];
    uint32_t num_runs;          /* begun by tessera_view_runs_begin() */
    TesseraRun run[TESSERA_RUNS];
} TesseraView;

TesseraSegment *tessera_view_segment(TesseraState *s, uint64_t gpa,
                                     uint64_t len);
TesseraSegment *tessera_view_aperture(TesseraState *s, uint32_t id);
uint32_t tessera_view_gpu(TesseraMaster *m, TesseraView *v, uint64_t gpa,
                          uint64_t len, bool write, uint32_t slot);
void tessera_view_vm(TesseraMaster *m, TesseraView *v, uint64_t va,
                     uint64_t len, bool write, uint32_t slot);
void tessera_view_pages(TesseraMaster *m, TesseraView *v, uint64_t list,
                        uint64_t offset);
uint32_t tessera_view_begin(TesseraView *v, uint64_t off, uint64_t len,
                            bool write, TesseraRun *run);
uint32_t tessera_view_end(TesseraView *v, TesseraRun *run, uint64_t done);
uint64_t tessera_view_runs_begin(TesseraView *v, uint64_t off, uint64_t len,
                                 bool write, uint64_t unit, uint32_t *err);
uint32_t tessera_view_runs_end(TesseraView *v);
uint32_t tessera_view_rw(TesseraView *v, uint64_t off, void *buf,
                         uint64_t len, bool write);
uint32_t tessera_view_copy(TesseraView *d, uint64_t doff, TesseraView *s,
                           uint64_t soff, uint64_t len, uint64_t *done);

#endif /* HW_DISPLAY_TESSERA_VIEW_H */
