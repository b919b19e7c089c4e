/*
 * Tessera virtual GPU: BAR 2
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_BAR_H
#define HW_DISPLAY_TESSERA_BAR_H

#include "tessera.h"

/* Build the container of BAR 2 at its first size. The VRAM is there. */
void tessera_bar_init(TesseraState *s);
/* Take out what it contains. */
void tessera_bar_fini(TesseraState *s);
/* BAR 2 is registered: offer its other size, if the device is a PCIe one. */
void tessera_bar_offer(TesseraState *s);
/* PCIDeviceClass::config_write */
void tessera_bar_config_write(PCIDevice *pdev, uint32_t addr, uint32_t val,
                              int len);
/* Back to the first size. */
void tessera_bar_reset(TesseraState *s);
/* The control register says what size the BAR has, whatever was written there. */
void tessera_bar_tell(TesseraState *s);
/* The configuration space has been loaded: false if the BAR cannot have its size. */
bool tessera_bar_load(TesseraState *s);

#endif /* HW_DISPLAY_TESSERA_BAR_H */
