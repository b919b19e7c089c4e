/*
 * Tessera virtual GPU: state of the display
 *
 * A head is a CRTC with its planes and the output it feeds; nothing is shared
 * between heads. Everything here is under the BQL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_HEAD_H
#define HW_DISPLAY_TESSERA_HEAD_H

#include "tessera.h"
#include "ui/console.h"

#define TESSERA_MAX_WIDTH   4096
#define TESSERA_MAX_HEIGHT  2160

/* Registers that are latched, all at once. */
typedef struct TesseraScanout {
    uint32_t vrr_total;
    uint32_t color;             /* TSR_COLOR_* */
    uint32_t ctm[TSR_CTM_ENTRIES];
    uint32_t gamma[TSR_GAMMA_ENTRIES];
    uint32_t plane[TSR_NUM_PLANES][TSR_PLANE_REGS];
} TesseraScanout;

typedef struct TesseraWriteback {
    uint64_t addr;              /* GPU address */
    uint32_t pitch;
    uint32_t commit;            /* shown by the frame it waits for */
    uint32_t status;            /* TSR_WB_* */
} TesseraWriteback;

typedef struct TesseraCrc {
    uint32_t frame;
    uint32_t value;
} TesseraCrc;

struct TesseraHead {
    TesseraState *s;
    TesseraMaster m;            /* its id: TSR_ERR_CRTC */
    uint32_t index;
    QEMUTimer *timer;           /* the next vblank, if anybody wants it */
    QemuConsole *con;           /* NULL: unplugged */
    uint32_t *row;              /* TESSERA_MAX_WIDTH pixels */
    TesseraScanout *drawn;      /* what the console has... */
    uint32_t damaged;           /* ...and as often it is to be drawn again */

    /* Registers */
    bool enabled;
    uint32_t int_status;
    uint32_t int_mask;
    uint32_t active;
    uint32_t total;
    uint32_t clock;
    uint32_t gamma_index;
    uint32_t edid_index;
    bool crc_enabled;
    uint64_t wb_addr;
    uint32_t wb_pitch;
    bool wb_capture;
    uint64_t vblank_ns_read;    /* what reading the count has latched */
    uint32_t latch_count_read;
    uint64_t latch_ns_read;

    /* Registers as written, as of the commit that waits, and as shown. */
    TesseraScanout regs;
    TesseraScanout next;
    TesseraScanout shown;
    bool armed;                 /* next waits... */
    uint64_t arm_ns;            /* ...since then */
    bool refused;               /* the last commit */
    uint32_t committed;
    uint32_t latched;
    uint32_t latch_count;
    uint64_t latch_ns;

    uint32_t vblank_count;
    uint64_t vblank_ns;
    uint32_t blamed;            /* planes whose pages were refused since */
    uint32_t num_crcs;
    TesseraCrc crcs[TSR_CRC_QUEUE];
    TesseraWriteback wb;

    /* Output */
    bool connected;
    uint32_t wanted_width;      /* by the console; 0: it has no wish */
    uint32_t wanted_height;
    uint32_t edid_size;
    uint8_t edid[TSR_EDID_MAX_BYTES];
    bool seen_connected;        /* by the guest, before it was migrated... */
    uint32_t seen_edid;         /* ...and the CRC of what it saw */
};

static inline uint32_t tessera_head_width(const TesseraHead *h)
{
    return h->active & 0xffff;
}

static inline uint32_t tessera_head_height(const TesseraHead *h)
{
    return h->active >> 16;
}

#endif /* HW_DISPLAY_TESSERA_HEAD_H */
