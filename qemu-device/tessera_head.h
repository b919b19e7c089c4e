/*
 * Tessera virtual GPU: state of the display
 *
 * A head is a CRTC with its planes and its output. Heads share nothing. All
 * fields are under the BQL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_HEAD_H
#define HW_DISPLAY_TESSERA_HEAD_H

#include "tessera_core.h"

#define TESSERA_MAX_WIDTH   4096
#define TESSERA_MAX_HEIGHT  2160

/* Registers that are latched together. */
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
    uint32_t commit;            /* capture the frame that shows this commit */
    uint32_t status;            /* TSR_WB_* */
} TesseraWriteback;

typedef struct TesseraCrc {
    uint32_t frame;
    uint32_t value;
} TesseraCrc;

struct TesseraHead {
    TesseraState *s;
    TesseraMaster m;            /* its id is TSR_ERR_CRTC */
    uint32_t index;
    uint32_t *row;              /* TESSERA_MAX_WIDTH pixels */
    TesseraScanout *drawn;      /* what the console shows */
    uint32_t damaged;           /* how many more times to draw */

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
    uint64_t vblank_ns_read;    /* latched by a read of the count */
    uint32_t latch_count_read;
    uint64_t latch_ns_read;

    /* Registers: as written, as in the pending commit, and as shown. */
    TesseraScanout regs;
    TesseraScanout next;
    TesseraScanout shown;
    bool armed;                 /* @next is a pending commit... */
    uint64_t arm_ns;            /* ...since this time */
    bool refused;               /* the last commit was refused */
    uint32_t committed;
    uint32_t latched;
    uint32_t latch_count;
    uint64_t latch_ns;

    uint32_t vblank_count;
    uint64_t vblank_ns;
    uint32_t blamed;            /* planes reported since the latch */
    uint32_t num_crcs;
    TesseraCrc crcs[TSR_CRC_QUEUE];
    TesseraWriteback wb;

    /* Output */
    bool connected;
    uint32_t wanted_width;      /* by the console; 0: no preference */
    uint32_t wanted_height;
    uint32_t edid_size;
    uint8_t edid[TSR_EDID_MAX_BYTES];
    bool seen_connected;        /* by the guest before migration... */
    uint32_t seen_edid;         /* ...with the CRC of this EDID */
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
