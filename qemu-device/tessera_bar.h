/*
 * Tessera virtual GPU: BAR 2
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_BAR_H
#define HW_DISPLAY_TESSERA_BAR_H

#include "tessera.h"

/*
 * Create the container of BAR 2 at its initial size. VRAM must exist already.
 */
void tessera_bar_init(TesseraState *s);
/* Remove the subregions of the container. */
void tessera_bar_fini(TesseraState *s);
/*
 * Add the Resizable BAR capability if the device is a PCIe one. Called after
 * BAR 2 was registered.
 */
void tessera_bar_offer(TesseraState *s);
/* PCIDeviceClass::config_write */
void tessera_bar_config_write(PCIDevice *pdev, uint32_t addr, uint32_t val,
                              int len);
/* Return to the initial size. */
void tessera_bar_reset(TesseraState *s);
/* Make the control register report the actual size of the BAR. */
void tessera_bar_tell(TesseraState *s);
/*
 * Apply the size of a loaded configuration space. Returns false if the device
 * does not offer that size.
 */
bool tessera_bar_load(TesseraState *s);

#endif /* HW_DISPLAY_TESSERA_BAR_H */
