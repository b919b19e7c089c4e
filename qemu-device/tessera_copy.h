/*
 * Tessera virtual GPU: FILL and COPY
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_COPY_H
#define HW_DISPLAY_TESSERA_COPY_H

#include "tessera_core.h"

uint32_t tessera_copy_fill(TesseraEngine *e, const uint32_t *p);
uint32_t tessera_copy_copy(TesseraEngine *e, const uint32_t *p);

#endif /* HW_DISPLAY_TESSERA_COPY_H */
