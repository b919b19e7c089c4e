/*
 * Tessera virtual GPU: addresses behind an IOMMU
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_IOMMU_H
#define HW_DISPLAY_TESSERA_IOMMU_H

#include "tessera.h"

void tessera_iommu_find(TesseraMaster *m, uint64_t addr, uint64_t len,
                        bool write);
void tessera_iommu_serve_waited(TesseraEngine *e, bool translate);
void tessera_iommu_init(TesseraState *s);
void tessera_iommu_fini(TesseraState *s);

#endif /* HW_DISPLAY_TESSERA_IOMMU_H */
