/*
 * Tessera virtual GPU: consoles
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_SCREEN_H
#define HW_DISPLAY_TESSERA_SCREEN_H

#include "tessera.h"
#include "tessera_head.h"

bool tessera_screen_update(TesseraHead *h);

#endif /* HW_DISPLAY_TESSERA_SCREEN_H */
