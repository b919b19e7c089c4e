/*
 * Tessera virtual GPU: saved contexts
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_SAVE_H
#define HW_DISPLAY_TESSERA_SAVE_H

#include "tessera.h"

bool tessera_ib_valid(const TesseraState *s, const TesseraIb *ib);
uint32_t tessera_save(TesseraEngine *e);
uint32_t tessera_resume(TesseraEngine *e, const uint32_t *p);

#endif /* HW_DISPLAY_TESSERA_SAVE_H */
