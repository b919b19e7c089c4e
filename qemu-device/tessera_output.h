/*
 * Tessera virtual GPU: outputs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_OUTPUT_H
#define HW_DISPLAY_TESSERA_OUTPUT_H

#include "tessera.h"
#include "tessera_head.h"

void tessera_output_init(TesseraHead *h);
void tessera_output_plug(TesseraHead *h, bool connected);
void tessera_output_resize(TesseraHead *h, uint32_t width, uint32_t height);
uint32_t tessera_output_edid_read(TesseraHead *h);
void tessera_output_save(TesseraHead *h);
void tessera_output_loaded(TesseraHead *h);

#endif /* HW_DISPLAY_TESSERA_OUTPUT_H */
