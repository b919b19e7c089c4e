/*
 * Tessera virtual GPU: microcode
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_MICROCODE_H
#define HW_DISPLAY_TESSERA_MICROCODE_H

#include "tessera_pixel.h"

enum {
    TESSERA_FETCH_X,
    TESSERA_FETCH_Y,
    TESSERA_FETCH_U,
    TESSERA_FETCH_V,
    TESSERA_FETCH_COLOR,
    TESSERA_FETCHES
};

/* The steps of BLIT and DRAW, as the engine has last read them. */
struct TesseraMicrocode {
    uint8_t raw[TSR_FW_TABLE_BYTES];    /* copy from hidden VRAM */
    bool read;                          /* @raw is valid */
    bool ok;                            /* @raw is well-formed; decoded: */
    TesseraBlend blend[TSR_BLEND_COUNT];
    uint32_t fetch[TESSERA_FETCHES];    /* offset in a vertex, in bytes */
    int32_t scale[2];                   /* of x and y, in 1/65536 */
    int32_t bias[2];                    /* added to x and y, in 1/256 pixel */
};

uint32_t tessera_microcode_get(TesseraEngine *e, const TesseraMicrocode **mc);
const TesseraBlend *tessera_microcode_blend(const TesseraMicrocode *mc,
                                            uint32_t mode);
bool tessera_microcode_start(TesseraState *s);
bool tessera_microcode_valid(const TesseraState *s);

#endif /* HW_DISPLAY_TESSERA_MICROCODE_H */
