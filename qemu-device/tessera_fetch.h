/*
 * Tessera virtual GPU: rings and indirect buffers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_FETCH_H
#define HW_DISPLAY_TESSERA_FETCH_H

#include "tessera.h"

void tessera_fetch_run(TesseraEngine *e);

#endif /* HW_DISPLAY_TESSERA_FETCH_H */
