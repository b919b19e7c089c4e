/*
 * Tessera virtual GPU: device reset
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_RESET_H
#define HW_DISPLAY_TESSERA_RESET_H

#include "tessera.h"

void tessera_device_reset(TesseraState *s);
void tessera_device_reset_begin(TesseraState *s);
void tessera_device_reset_stop(TesseraState *s);
void tessera_device_reset_enter(TesseraState *s);
void tessera_device_reset_hold(TesseraState *s);
void tessera_device_forget(TesseraState *s);
void tessera_reset_init(TesseraState *s);
void tessera_reset_fini(TesseraState *s);

#endif /* HW_DISPLAY_TESSERA_RESET_H */
