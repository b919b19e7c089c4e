/*
 * Tessera virtual GPU: CRCs and writeback
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_CAPTURE_H
#define HW_DISPLAY_TESSERA_CAPTURE_H

#include "tessera.h"
#include "tessera_head.h"

void tessera_crc_enable(TesseraHead *h, bool on);
uint32_t tessera_crc_pop(TesseraHead *h);
uint32_t tessera_writeback_check(TesseraHead *h);
void tessera_writeback_begin(TesseraHead *h);
void tessera_writeback_cancel(TesseraHead *h);
bool tessera_capture_now(const TesseraHead *h);
bool tessera_capture_wanted(const TesseraHead *h);
void tessera_capture_frame(TesseraHead *h, uint64_t frames);

#endif /* HW_DISPLAY_TESSERA_CAPTURE_H */
