/*
 * Tessera virtual GPU: BLIT and DRAW
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_RASTER_H
#define HW_DISPLAY_TESSERA_RASTER_H

#include "tessera_core.h"

uint32_t tessera_blit(TesseraEngine *e, const uint32_t *p);
uint32_t tessera_raster_draw(TesseraEngine *e, const uint32_t *p);

#endif /* HW_DISPLAY_TESSERA_RASTER_H */
