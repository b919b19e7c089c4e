/*
 * Tessera virtual GPU: frames
 *
 * Composes the picture of a head from its planes and colour tables. There is no
 * frame buffer: rows are made one after the other, and each consumer of a
 * picture takes all rows of one pass. Called under the BQL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_frame.h"

void tessera_frame_begin(TesseraHead *h, TesseraFrame *f)
{
    f->h = h;
    for (uint32_t i = 0; i < TSR_NUM_PLANES; i++) {
        /*
         * A refused plane is not shown; tessera_crtc.c has counted the error.
         */
        tessera_plane_open(&h->m, h->shown.plane[i], i, tessera_head_width(h),
                           &f->scan[i]);
    }
}

void tessera_frame_end(TesseraFrame *f)
{
    for (uint32_t i = 0; i < TSR_NUM_PLANES; i++) {
        tessera_plane_close(&f->h->m, &f->scan[i]);
    }
}

static uint32_t ctm_channel(const uint32_t *ctm, uint32_t c)
{
    int64_t sum = (int64_t)(int32_t)ctm[0] * (c >> 16 & 0xff) +
                  (int64_t)(int32_t)ctm[1] * (c >> 8 & 0xff) +
                  (int64_t)(int32_t)ctm[2] * (c & 0xff);

    return MIN(MAX((sum + 0x8000) >> 16, 0), 255);
}

static void apply_ctm(const uint32_t *ctm, uint32_t *row, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        row[i] = ctm_channel(ctm, row[i]) << 16 |
                 ctm_channel(ctm + 3, row[i]) << 8 |
                 ctm_channel(ctm + 6, row[i]);
    }
}

static void apply_gamma(const uint32_t *lut, uint32_t *row, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        row[i] = (lut[row[i] >> 16 & 0xff] & 0xff0000) |
                 (lut[row[i] >> 8 & 0xff] & 0x00ff00) |
                 (lut[row[i] & 0xff] & 0x0000ff);
    }
}

/* Compose row @y as XRGB8888, with X being 0. Valid until the next call. */
const uint32_t *tessera_frame_row(TesseraFrame *f, uint32_t y)
{
    TesseraHead *h = f->h;
    uint32_t width = tessera_head_width(h);

    memset(h->row, 0, width * sizeof(*h->row));
    for (uint32_t i = 0; i < TSR_NUM_PLANES; i++) {
        tessera_plane_row(&f->scan[i], y, h->row);
    }
    if (h->shown.color & TSR_COLOR_CTM) {
        apply_ctm(h->shown.ctm, h->row, width);
    }
    if (h->shown.color & TSR_COLOR_GAMMA) {
        apply_gamma(h->shown.gamma, h->row, width);
    }
    return h->row;
}
