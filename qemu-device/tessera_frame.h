/*
 * Tessera virtual GPU: frames
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_FRAME_H
#define HW_DISPLAY_TESSERA_FRAME_H

#include "tessera_plane.h"

/* The picture of a head, composed row by row. */
typedef struct TesseraFrame {
    TesseraHead *h;
    TesseraPlaneScan scan[TSR_NUM_PLANES];
} TesseraFrame;

void tessera_frame_begin(TesseraHead *h, TesseraFrame *f);
const uint32_t *tessera_frame_row(TesseraFrame *f, uint32_t y);
void tessera_frame_end(TesseraFrame *f);

#endif /* HW_DISPLAY_TESSERA_FRAME_H */
