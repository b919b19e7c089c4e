/*
 * Tessera virtual GPU: the display
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_DISPLAY_H
#define HW_DISPLAY_TESSERA_DISPLAY_H

#include "ui/console.h"
#include "tessera.h"
#include "tessera_head.h"

void tessera_display_init(TesseraState *s);
void tessera_display_unplug(TesseraState *s);
void tessera_display_free(TesseraState *s);
void tessera_display_reset(TesseraState *s);
void tessera_display_resume(TesseraState *s);
bool tessera_display_read(TesseraState *s, uint32_t addr, uint32_t *value);
bool tessera_display_write(TesseraState *s, uint32_t addr, uint32_t value);
void tessera_display_plug(TesseraState *s, uint32_t index, bool connected);

#endif /* HW_DISPLAY_TESSERA_DISPLAY_H */
