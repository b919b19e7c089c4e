/*
 * Tessera virtual GPU: ownership of VRAM
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_MARK_H
#define HW_DISPLAY_TESSERA_MARK_H

#include "tessera_core.h"

uint32_t tessera_mark(TesseraMaster *m, uint32_t command, uint64_t gpa,
                      uint64_t size, uint64_t *done);
uint32_t tessera_mark_register(TesseraState *s, uint32_t command, uint64_t gpa,
                               uint64_t size);
void tessera_mark_lost(TesseraState *s, uint64_t offset, uint64_t size);
void tessera_mark_resume(TesseraState *s);
void tessera_mark_init(TesseraState *s);
bool tessera_mark_poison(TesseraState *s);

#endif /* HW_DISPLAY_TESSERA_MARK_H */
