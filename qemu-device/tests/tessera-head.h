/*
 * Display heads, for the qtests of the Tessera device
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TESSERA_HEAD_TEST_H
#define TESSERA_HEAD_TEST_H

#include "tessera-common.h"

/* The settings of a plane, and the texels of its surface in linear order. */
typedef struct TsrPlane {
    bool on;
    uint32_t blend;
    uint32_t alpha;
    uint32_t turns;
    bool reflect_x;
    bool reflect_y;
    uint32_t format;
    uint32_t layout;
    uint64_t addr;
    uint32_t pitch;
    uint32_t width;
    uint32_t height;
    uint32_t src[4];                /* x, y, width, height in 1/65536 */
    int dst_x;
    int dst_y;
    uint32_t dst_w;
    uint32_t dst_h;
    uint32_t *texels;               /* width * height */
} TsrPlane;

typedef struct TsrHead {
    TsrTest *t;
    uint32_t regs;                  /* TSR_CRTC(i) */
    uint32_t width;
    uint32_t height;
    uint64_t frame_ns;
    TsrPlane plane[TSR_NUM_PLANES];
    bool ctm_on;
    bool gamma_on;
    int32_t ctm[TSR_CTM_ENTRIES];
    uint32_t gamma[TSR_GAMMA_ENTRIES];
} TsrHead;

uint32_t tsr_head_r32(TsrHead *h, uint32_t reg);
uint64_t tsr_head_r64(TsrHead *h, uint32_t reg_lo);
void tsr_head_w32(TsrHead *h, uint32_t reg, uint32_t value);
void tsr_head_w64(TsrHead *h, uint32_t reg_lo, uint64_t value);

/* Enable a head with a mode of this size at about 100 Hz. */
void tsr_head_on(TsrHead *h, TsrTest *t, uint32_t index, uint32_t width,
                 uint32_t height);
/* Set up a plane that covers the whole screen, with random texels at @addr. */
void tsr_head_full_plane(TsrHead *h, uint32_t plane, uint32_t format,
                         uint32_t layout, uint64_t addr);
uint32_t tsr_format_bytes(uint32_t format);
uint64_t tsr_plane_bytes(const TsrPlane *p);
/* Write random texels to the memory of the plane, in its layout. */
void tsr_plane_fill(TsrTest *t, TsrPlane *p, GRand *rng);
void tsr_plane_write(TsrHead *h, uint32_t plane);
void tsr_head_commit(TsrHead *h, uint32_t how);
/* Step the clock by one frame. */
void tsr_head_frame(TsrHead *h);
void tsr_head_write_color(TsrHead *h);
/*
 * Return the screen that the manual predicts, as XRGB8888 with X 0. The caller
 * frees it.
 */
uint32_t *tsr_head_model(const TsrHead *h);
/*
 * Return the file that tsr_screendump() makes QEMU write, unique to this
 * process. The caller frees it.
 */
char *tsr_screen_file(void);
/*
 * Return the console of a head as XRGB8888. It must have the given size. The
 * caller frees it.
 */
uint32_t *tsr_screendump(TsrTest *t, int head, uint32_t width, uint32_t height);

#endif
