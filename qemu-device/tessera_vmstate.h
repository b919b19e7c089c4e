/*
 * Tessera virtual GPU: migration
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_VMSTATE_H
#define HW_DISPLAY_TESSERA_VMSTATE_H

#include "tessera.h"

extern const VMStateDescription vmstate_tessera;

#endif /* HW_DISPLAY_TESSERA_VMSTATE_H */
