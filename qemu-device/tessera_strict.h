/*
 * Tessera virtual GPU: guest errors and strict mode
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_STRICT_H
#define HW_DISPLAY_TESSERA_STRICT_H

#include "tessera_core.h"

enum {
    TESSERA_PAGE_NEVER,         /* never written */
    TESSERA_PAGE_VALID,
    TESSERA_PAGE_FREE,
    TESSERA_PAGE_EVICTED,
    TESSERA_PAGE_ALLOCATED,     /* owned, contents undefined */
    TESSERA_PAGE_STATES,
    TESSERA_PAGE_POISON = 0x40, /* with FREE or EVICTED: to be poisoned */
    TESSERA_PAGE_BUSY = 0x80    /* being poisoned */
};

void tessera_guest_error(TesseraMaster *m, uint32_t type, uint64_t addr);
void tessera_errors_init(TesseraState *s);
void tessera_errors_fini(TesseraState *s);
void tessera_errors_clear(TesseraState *s);
uint32_t tessera_fault(TesseraMaster *m, uint32_t type, uint32_t slot,
                       uint64_t addr);
uint32_t tessera_strict_access(TesseraMaster *m, uint64_t vram_offset,
                               uint64_t len, bool write, uint32_t slot);
uint32_t tessera_strict_wrote(TesseraMaster *m, uint64_t vram_offset,
                              uint64_t len, uint32_t slot);
bool tessera_strict_state_ok(uint8_t state);
void tessera_strict_reset(TesseraState *s);
void tessera_strict_forget(TesseraState *s);

#endif /* HW_DISPLAY_TESSERA_STRICT_H */
