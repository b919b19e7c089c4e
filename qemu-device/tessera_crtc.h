/*
 * Tessera virtual GPU: CRTCs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_CRTC_H
#define HW_DISPLAY_TESSERA_CRTC_H

#include "tessera.h"
#include "tessera_head.h"

void tessera_crtc_init(TesseraHead *h);
void tessera_crtc_fini(TesseraHead *h);
void tessera_crtc_sync(TesseraHead *h);
void tessera_crtc_look(TesseraHead *h);
void tessera_crtc_rearm(TesseraHead *h);
bool tessera_crtc_control(TesseraHead *h, uint32_t value);
bool tessera_crtc_commit(TesseraHead *h, uint32_t how);
uint32_t tessera_crtc_line(const TesseraHead *h);
bool tessera_crtc_valid(TesseraHead *h);

#endif /* HW_DISPLAY_TESSERA_CRTC_H */
