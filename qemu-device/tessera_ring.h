/*
 * Tessera virtual GPU: engine threads and resets
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_RING_H
#define HW_DISPLAY_TESSERA_RING_H

#include "tessera.h"

void tessera_engines_init(TesseraState *s);
void tessera_engines_stop(TesseraState *s);
void tessera_engines_free(TesseraState *s);
void tessera_engine_control(TesseraEngine *e, uint32_t value);
void tessera_engine_doorbell(TesseraEngine *e, uint32_t tail);
bool tessera_engine_enabled(TesseraEngine *e);
uint32_t tessera_engine_status(TesseraEngine *e);
void tessera_engines_reset_begin(TesseraState *s, bool counts);
void tessera_engines_reset_wait(TesseraState *s);
void tessera_engines_pause(TesseraState *s);
void tessera_engines_resume(TesseraState *s);
void tessera_device_reset(TesseraState *s);
void tessera_device_reset_begin(TesseraState *s);
void tessera_device_forget(TesseraState *s);

#endif /* HW_DISPLAY_TESSERA_RING_H */
