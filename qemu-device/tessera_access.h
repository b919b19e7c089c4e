/*
 * Tessera virtual GPU: access to memory
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_ACCESS_H
#define HW_DISPLAY_TESSERA_ACCESS_H

#include "qemu/atomic.h"

typedef struct TesseraState TesseraState;
typedef struct TesseraTlb TesseraTlb;

#define TESSERA_CHUNK_BYTES     (256 * 1024)    /* between two checks of stop */
#define TESSERA_BOUNCE_BYTES    (64 * 1024)
#define TESSERA_NULL_BYTES      4096            /* largest run of it */
#define TESSERA_NO_ENGINE       0xffffffffu
#define TESSERA_NO_SLOT         0xffffffffu

/* Results of packets besides TSR_ERR_*; see tessera_engine.h. */
#define TESSERA_STOPPED         0x100
#define TESSERA_RETRY           0x101
#define TESSERA_RESUMED         0x102

/* Written VRAM that is not marked dirty yet. Empty unless @lo is below @hi. */
typedef struct TesseraSpan {
    uint64_t lo;
    uint64_t hi;
} TesseraSpan;

/*
 * A requester of memory accesses: an engine, the CPU (through registers and
 * windows) or a display head. Only one thread uses it at a time.
 */
typedef struct TesseraMaster {
    TesseraState *s;
    uint32_t id;                /* engine; TESSERA_NO_ENGINE: none */

    /* Requests to the engine, read atomically. */
    bool attention;             /* any request: leave at a resumable point */
    bool stop;                  /* leave as soon as possible, for good */

    /* The current packet and access, for error records. */
    uint32_t context;           /* atomic */
    uint32_t packet;
    uint32_t packet_offset;
    uint32_t fault_slot;
    uint64_t fault_addr;
    uint32_t fault_access;      /* TSR_ACCESS_* of the translation */

    /* Virtual addresses. Changed with the engine's slots. */
    struct {
        bool active;
        uint32_t asid;
        uint64_t root;
    } vm;
    TesseraTlb *tlb;            /* engines only */

    /* VRAM written since the last tessera_access_flush(). */
    TesseraSpan dirty;

    uint8_t *bounce;            /* TESSERA_BOUNCE_BYTES */
    uint8_t *sink;              /* TESSERA_NULL_BYTES */

    struct RamMap *map;         /* the host's cache of lookups of guest RAM */
} TesseraMaster;

/*
 * A piece of host memory that is about to be read or written. tessera_run_end()
 * makes the written bytes count as valid and dirty.
 */
typedef struct TesseraRun {
    uint8_t *ptr;
    uint64_t len;               /* bytes; of each row if @rows > 1 */
    uint32_t rows;
    uint64_t pitch;
    uint64_t vram_offset;
    uint32_t slot;
    void *ram;                  /* guest RAM, for the host to mark; or NULL */
    uint64_t ram_offset;
    bool is_vram;
    bool write;
} TesseraRun;

#define TESSERA_SPAN_GAP    (64 * 1024)         /* largest gap that is joined */
#define TESSERA_SPAN_MOST   (4 * 1024 * 1024)   /* largest joined span */

/*
 * Join a written range to the span, so that one call marks many writes. Returns
 * false, with the span unchanged, if the span has to be marked first.
 */
static inline bool tessera_span_join(TesseraSpan *span, uint64_t offset,
                                     uint64_t len)
{
    uint64_t end = offset + len;

    if (span->lo >= span->hi) {
        *span = (TesseraSpan) { .lo = offset, .hi = end };
        return true;
    }
    if (offset > span->hi + TESSERA_SPAN_GAP ||
        end + TESSERA_SPAN_GAP < span->lo ||
        span->hi - span->lo >= TESSERA_SPAN_MOST) {
        return false;
    }
    span->lo = MIN(span->lo, offset);
    span->hi = MAX(span->hi, end);
    return true;
}

void tessera_master_init(TesseraMaster *m, TesseraState *s, uint32_t id);
void tessera_master_fini(TesseraMaster *m);
uint32_t tessera_leave(TesseraMaster *m);

/*
 * tessera_access_enter() and tessera_access_leave() enclose work that makes
 * several accesses. In between, lookups of guest RAM stay cached unless the
 * guest's memory map changes.
 */
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
 * Address of entry @index of a list of addresses. An entry beyond the end of
 * the address space is placed at the last possible address, where no memory is,
 * instead of wrapping to 0.
 */
static inline uint64_t tessera_list_entry(uint64_t list, uint64_t index)
{
    uint64_t at = list + index * sizeof(uint64_t);

    return at < list ? -sizeof(uint64_t) : at;
}

uint32_t tessera_dma_rw(TesseraMaster *m, uint64_t addr, void *buf,
                        uint64_t len, bool write, bool injectable);
uint32_t tessera_dma_raise(TesseraMaster *m, uint64_t addr, uint64_t value);
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
