/*
 * Tessera virtual GPU: planes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_PLANE_H
#define HW_DISPLAY_TESSERA_PLANE_H

#include "tessera_head.h"

/* The decoded registers of a plane. */
typedef struct TesseraPlane {
    bool enabled;
    bool swapped;               /* screen columns are surface rows */
    bool flip_columns;          /* screen columns count backwards */
    bool flip_rows;
    uint32_t blend;             /* TSR_PLANE_BLEND_* */
    uint32_t alpha;
    uint32_t format;
    uint32_t layout;
    uint32_t bpp;
    uint64_t addr;
    uint32_t pitch;
    uint32_t width;
    uint32_t height;
    uint32_t src_x;             /* in 1/65536 pixel */
    uint32_t src_y;
    uint32_t src_w;
    uint32_t src_h;
    int32_t dst_x;
    int32_t dst_y;
    uint32_t dst_w;
    uint32_t dst_h;
} TesseraPlane;

/* A plane that is being scanned out. */
typedef struct TesseraPlaneScan {
    TesseraPlane p;
    TesseraRun run;
    bool open;
    uint32_t first;             /* screen columns that it covers */
    uint32_t end;
    uint32_t *offset;           /* offset in @run of each column */
} TesseraPlaneScan;

bool tessera_plane_memory(TesseraState *s, const uint32_t *regs,
                          uint64_t *offset, uint64_t *bytes);
uint32_t tessera_plane_check(TesseraMaster *m, const uint32_t *regs,
                             uint32_t slot);
uint32_t tessera_plane_refuse(TesseraMaster *m, const uint32_t *regs,
                              uint32_t slot);
uint32_t tessera_plane_referee(TesseraMaster *m, const uint32_t *regs,
                               uint32_t slot);
uint32_t tessera_plane_open(TesseraMaster *m, const uint32_t *regs,
                            uint32_t slot, uint32_t width,
                            TesseraPlaneScan *scan);
void tessera_plane_row(const TesseraPlaneScan *scan, uint32_t y,
                       uint32_t *row);
void tessera_plane_close(TesseraMaster *m, TesseraPlaneScan *scan);

#endif /* HW_DISPLAY_TESSERA_PLANE_H */
