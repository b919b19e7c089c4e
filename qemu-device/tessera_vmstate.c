/*
 * Tessera virtual GPU: migration
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "migration/vmstate.h"
#include "tessera.h"

const VMStateDescription vmstate_tessera = {
    .name = "tessera",
    .unmigratable = 1,
};
