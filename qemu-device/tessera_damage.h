/*
 * Tessera virtual GPU: damage tracking of screens
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_DAMAGE_H
#define HW_DISPLAY_TESSERA_DAMAGE_H

#include "tessera.h"
#include "tessera_head.h"

bool tessera_damage_take(TesseraHead *h);
void tessera_damage_all(TesseraHead *h);
void tessera_damage_stop(TesseraState *s);
void tessera_damage_resume(TesseraState *s);
void tessera_damage_init(TesseraState *s);
void tessera_damage_fini(TesseraState *s);

#endif /* HW_DISPLAY_TESSERA_DAMAGE_H */
