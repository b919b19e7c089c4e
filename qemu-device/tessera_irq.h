/*
 * Tessera virtual GPU: interrupts
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_IRQ_H
#define HW_DISPLAY_TESSERA_IRQ_H

#include "tessera.h"
#include "tessera_head.h"

void tessera_irq_init(TesseraState *s);
void tessera_irq_fini(TesseraState *s);
void tessera_irq_event(TesseraState *s, uint32_t bit);
void tessera_irq_engine(TesseraEngine *e);
void tessera_irq_mask_changed(TesseraState *s);
void tessera_irq_head(TesseraHead *h, uint32_t bit);
void tessera_irq_head_mask_changed(TesseraHead *h);
void tessera_irq_reset(TesseraState *s);
void tessera_irq_resume(TesseraState *s);

#endif /* HW_DISPLAY_TESSERA_IRQ_H */
