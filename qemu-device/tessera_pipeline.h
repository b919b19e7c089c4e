/*
 * Tessera virtual GPU: what an engine draws and copies with
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_PIPELINE_H
#define HW_DISPLAY_TESSERA_PIPELINE_H

#include "tessera_core.h"

void tessera_pipeline_init(TesseraEngine *e);
void tessera_pipeline_fini(TesseraEngine *e);

#endif /* HW_DISPLAY_TESSERA_PIPELINE_H */
