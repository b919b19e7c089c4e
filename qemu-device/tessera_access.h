/*
 * Tessera virtual GPU: access to memory
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_ACCESS_H
#define HW_DISPLAY_TESSERA_ACCESS_H

#include "tessera_compat.h"
#include "qemu/atomic.h"
#include COMPAT_MEMORY_H
#include "ram-map.h"

typedef struct TesseraState TesseraState;
typedef struct TesseraTlb TesseraTlb;

#define TESSERA_CHUNK_BYTES     (256 * 1024)    /* between two looks at stop */
#define TESSERA_BOUNCE_BYTES    (64 * 1024)
#define TESSERA_NULL_BYTES      4096            /* of nothing, in one run */
#define TESSERA_NO_ENGINE       0xffffffffu
#define TESSERA_NO_SLOT         0xffffffffu

/* What a packet returns beside TSR_ERR_*; see tessera_engine.h. */
#define TESSERA_STOPPED         0x100
#define TESSERA_RETRY           0x101
#define TESSERA_RESUMED         0x102

/* VRAM that was written and is not marked yet: none unless @lo is below @hi. */
typedef struct TesseraSpan {
    uint64_t lo;
    uint64_t hi;
} TesseraSpan;

/*
 * Who reaches memory: an engine, a CPU through registers and windows, a
 * display. One thread uses it at a time.
 */
typedef struct TesseraMaster {
    TesseraState *s;
    uint32_t id;                /* engine; TESSERA_NO_ENGINE: none */

    /* Requests to it, read atomically. */
    bool attention;             /* any request: leave where it can be resumed */
    bool stop;                  /* leave as soon as possible, for good */

    /* What it is at, for error records. */
    uint32_t context;           /* atomic */
    uint32_t packet;
    uint32_t packet_offset;
    uint32_t fault_slot;
    uint64_t fault_addr;
    uint32_t fault_access;      /* TSR_ACCESS_*, of what is translated */

    /* Virtual addresses. Changed with the engine's slots. */
    struct {
        bool active;
        uint32_t asid;
        uint64_t root;
    } vm;
    TesseraTlb *tlb;            /* an engine's */

    /* VRAM written since the last tessera_access_flush(). */
    TesseraSpan dirty;

    uint8_t *bounce;            /* TESSERA_BOUNCE_BYTES */
    uint8_t *sink;              /* TESSERA_NULL_BYTES */

    RamMap ram;                 /* guest RAM that it has found */
} TesseraMaster;

/*
 * Host memory of some bytes about to be read or written, until
 * tessera_run_end(): what was written counts only then.
 */
typedef struct TesseraRun {
    uint8_t *ptr;
    uint64_t len;               /* bytes, of each row if there are several */
    uint32_t rows;
    uint64_t pitch;
    uint64_t vram_offset;
    uint32_t slot;
    MemoryRegion *mr;           /* RAM; NULL: nothing to mark in it */
    uint64_t mr_offset;
    bool is_vram;
    bool write;
} TesseraRun;

/*
 * Around pieces of work that make several accesses: what is found in guest RAM
 * stays found in between, unless the guest's memory map changes.
 */

void tessera_master_init(TesseraMaster *m, TesseraState *s, uint32_t id);
void tessera_master_fini(TesseraMaster *m);
uint32_t tessera_leave(TesseraMaster *m);
void tessera_access_enter(TesseraMaster *m);
void tessera_access_leave(TesseraMaster *m);
uint32_t tessera_ram_begin(TesseraMaster *m, uint64_t addr, uint64_t len,
                           bool write, bool injectable, TesseraRun *run);
uint32_t tessera_vram_begin(TesseraMaster *m, uint64_t offset, uint64_t len,
                            bool write, uint32_t slot, TesseraRun *run);
uint32_t tessera_vram_rows_begin(TesseraMaster *m, uint64_t offset,
                                 uint64_t len, uint64_t pitch, uint32_t rows,
                                 bool write, uint32_t slot, TesseraRun *run);
uint32_t tessera_null_begin(TesseraMaster *m, uint64_t len, bool write,
                            TesseraRun *run);
bool tessera_vram_find(TesseraState *s, uint64_t gpa, uint64_t len,
                       uint64_t *offset);
uint32_t tessera_run_end(TesseraMaster *m, TesseraRun *run, uint64_t done);
void tessera_run_fail(TesseraMaster *m, TesseraRun *run);
/*
 * Entry @index of a list of addresses. One that would be behind the last
 * address is at the last one, where no memory is, and not at the first ones.
 */
static inline uint64_t tessera_list_entry(uint64_t list, uint64_t index)
{
    uint64_t at = list + index * sizeof(uint64_t);

    return at < list ? -sizeof(uint64_t) : at;
}

uint32_t tessera_dma_rw(TesseraMaster *m, uint64_t addr, void *buf,
                        uint64_t len, bool write, bool injectable);
void tessera_vram_discard(TesseraMaster *m, uint64_t offset, uint64_t len);
uint32_t tessera_vram_rw(TesseraMaster *m, uint64_t offset, void *buf,
                         uint64_t len, bool write);
void tessera_vram_poison(TesseraMaster *m, uint64_t offset, uint64_t len);
void tessera_access_flush(TesseraMaster *m);

static inline bool tessera_stopping(TesseraMaster *m)
{
    return qatomic_read(&m->stop);
}

#endif /* HW_DISPLAY_TESSERA_ACCESS_H */
