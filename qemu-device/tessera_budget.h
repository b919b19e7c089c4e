/*
 * Tessera virtual GPU: time for pictures
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_BUDGET_H
#define HW_DISPLAY_TESSERA_BUDGET_H

#include "tessera.h"

bool tessera_budget_allows(const TesseraState *s);
bool tessera_budget_overdraws(const TesseraState *s);
void tessera_budget_spend(TesseraState *s, uint64_t begin);

#endif /* HW_DISPLAY_TESSERA_BUDGET_H */
