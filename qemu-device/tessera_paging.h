/*
 * Tessera virtual GPU: paging packets
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_PAGING_H
#define HW_DISPLAY_TESSERA_PAGING_H

#include "tessera_core.h"

uint32_t tessera_paging_transfer(TesseraEngine *e, const uint32_t *p);
uint32_t tessera_paging_fill(TesseraEngine *e, const uint32_t *p);
uint32_t tessera_paging_map(TesseraEngine *e, const uint32_t *p);
uint32_t tessera_paging_unmap(TesseraEngine *e, const uint32_t *p);
uint32_t tessera_paging_mark(TesseraEngine *e, const uint32_t *p);
void tessera_paging_reset(TesseraState *s);

#endif /* HW_DISPLAY_TESSERA_PAGING_H */
