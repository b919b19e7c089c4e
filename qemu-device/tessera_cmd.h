/*
 * Tessera virtual GPU: the opcode table
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_CMD_H
#define HW_DISPLAY_TESSERA_CMD_H

#include "tessera.h"

uint32_t tessera_cmd_execute(TesseraEngine *e, const uint32_t *p, bool in_ib,
                             bool user);
bool tessera_cmd_length_ok(uint32_t header);

#endif /* HW_DISPLAY_TESSERA_CMD_H */
