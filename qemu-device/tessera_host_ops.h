/*
 * Tessera virtual GPU: what the core needs of the machine
 *
 * The core units call the machine through this table only. tessera_qemu.c fills
 * it in for QEMU, and tests/host/device for tests without a machine. A call is
 * made once for a run of memory, a packet or an error, and never for a pixel.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_HOST_OPS_H
#define HW_DISPLAY_TESSERA_HOST_OPS_H

#include "tessera_access.h"

typedef struct TesseraErrorRecord TesseraErrorRecord;

/*
 * Threads: range_show(), range_hide(), poison_later() and vram_discard() are
 * called under the lock of the registers (QEMU: the BQL), the others by engine
 * threads, too. ram_find() and ram_begin_uncached() may sleep behind an IOMMU.
 */
typedef struct TesseraHostOps {
    /* Create and free m->map. */
    void (*map_init)(TesseraMaster *m);
    void (*map_fini)(TesseraMaster *m);

    /*
     * Enclose accesses to guest RAM, which stays mapped in between. Calls nest.
     */
    void (*ram_enter)(TesseraMaster *m);
    void (*ram_leave)(TesseraMaster *m);

    /*
     * Find guest RAM at a bus address, for at most run->len bytes and as
     * run->write says. Sets ptr, ram and ram_offset, and shortens len. Returns
     * false if there is no RAM that the device may access.
     */
    bool (*ram_find)(TesseraMaster *m, uint64_t addr, TesseraRun *run);

    /* The first @bytes of a run that ram_find() found were written. */
    void (*ram_written)(TesseraMaster *m, const TesseraRun *run,
                        uint64_t bytes);

    /* Like tessera_ram_begin(), past the caches of CPUs. */
    uint32_t (*ram_begin_uncached)(TesseraMaster *m, uint64_t addr,
                                   uint64_t len, bool write, TesseraRun *run);

    /* VRAM was written. Called before others are told of the write. */
    void (*vram_written)(TesseraState *s, uint64_t offset, uint64_t len);

    /*
     * Zero VRAM by giving its memory back to the host. Returns false, with VRAM
     * unchanged, if that is not possible.
     */
    bool (*vram_discard)(TesseraState *s, uint64_t offset, uint64_t len);

    /* Whether the host aperture shows a part of VRAM to the CPU. */
    bool (*vram_shown)(TesseraState *s, uint64_t offset, uint64_t len);

    /*
     * Call tessera_mark_poison() under the lock of the registers, soon, while
     * the machine runs, and again until it returns false. Several requests may
     * become one.
     */
    void (*poison_later)(TesseraState *s);

    /*
     * Show a range of registers that were checked at offset @at of the window,
     * or hide it. Returns false if the host has no memory for it.
     */
    bool (*range_show)(TesseraState *s, uint32_t index, uint64_t at);
    void (*range_hide)(TesseraState *s, uint32_t index);

    /*
     * Report an error that was counted: log it, and signal TSR_INT_ERROR.
     * @first: the first one of its type. err_lock is not held.
     */
    void (*error)(TesseraState *s, const TesseraErrorRecord *rec, bool first);
} TesseraHostOps;

#endif /* HW_DISPLAY_TESSERA_HOST_OPS_H */
