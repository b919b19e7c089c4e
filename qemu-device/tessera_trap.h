/*
 * Tessera virtual GPU: emulated windows
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_TRAP_H
#define HW_DISPLAY_TESSERA_TRAP_H

#include "tessera_compat.h"
#include COMPAT_MEMORY_H
#include "tessera_access.h"

/* Read or write at most 8 bytes. A failed read sets them to 0xff. */
typedef void TesseraTrapFn(TesseraState *s, uint64_t addr, uint8_t *buf,
                           uint32_t len, bool write);

typedef struct TesseraTrap {
    MemoryRegion mr;
    TesseraState *s;
    TesseraTrapFn *access;
} TesseraTrap;

/* The caller has set @s and @access of the trap. */
void tessera_trap_init(TesseraTrap *trap, Object *owner, const char *name,
                       uint64_t bytes);

#endif /* HW_DISPLAY_TESSERA_TRAP_H */
