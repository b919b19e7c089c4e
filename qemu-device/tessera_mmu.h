/*
 * Tessera virtual GPU: virtual addresses
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_MMU_H
#define HW_DISPLAY_TESSERA_MMU_H

#include "tessera_core.h"

#define TESSERA_ASIDS       256

/* The translation of a virtual address, valid up to the end of its leaf. */
typedef struct TesseraPlace {
    uint64_t pte;
    uint64_t addr;              /* GPU or DMA address of @va itself */
    uint64_t left;              /* bytes up to the end of the leaf */
} TesseraPlace;

void tessera_mmu_init(TesseraMaster *m);
void tessera_mmu_fini(TesseraMaster *m);
void tessera_mmu_forget(TesseraMaster *m);
bool tessera_mmu_root_ok(uint64_t root);
uint32_t tessera_mmu_translate(TesseraMaster *m, uint64_t va, bool write,
                               uint32_t slot, TesseraPlace *place);
uint32_t tessera_mmu_fence(TesseraMaster *m, uint64_t va, bool write,
                           uint64_t *addr);
uint64_t tessera_mmu_extend(TesseraMaster *m, uint64_t va, uint64_t len,
                            bool write, const TesseraPlace *place);
uint32_t tessera_mmu_write_ptes(TesseraEngine *e, const uint32_t *p);
uint32_t tessera_mmu_flush(TesseraEngine *e, const uint32_t *p);

#endif /* HW_DISPLAY_TESSERA_MMU_H */
