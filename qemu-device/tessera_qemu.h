/*
 * Tessera virtual GPU: QEMU below the core
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_QEMU_H
#define HW_DISPLAY_TESSERA_QEMU_H

#include "tessera.h"

void tessera_qemu_create(TesseraPCIState *d);
void tessera_qemu_free(TesseraPCIState *d);
void tessera_qemu_init(TesseraPCIState *d);
void tessera_qemu_fini(TesseraPCIState *d);
void tessera_qemu_log_totals(TesseraPCIState *d);

#endif /* HW_DISPLAY_TESSERA_QEMU_H */
