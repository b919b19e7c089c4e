/*
 * Tessera virtual GPU: CPU host aperture
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_HOST_APERTURE_H
#define HW_DISPLAY_TESSERA_HOST_APERTURE_H

#include "tessera.h"

void tessera_host_aperture_init(TesseraState *s);
void tessera_host_aperture_fini(TesseraState *s);
void tessera_host_aperture_free(TesseraState *s);
bool tessera_host_aperture_shows(TesseraState *s, uint64_t offset,
                                 uint64_t size);
void tessera_host_aperture_map(TesseraState *s, uint32_t first);
void tessera_host_aperture_unmap(TesseraState *s, uint32_t first);
void tessera_host_aperture_take_written(TesseraState *s);
void tessera_host_aperture_log(TesseraState *s, bool log);
void tessera_host_aperture_reset(TesseraState *s);
bool tessera_host_aperture_load(TesseraState *s);

#endif /* HW_DISPLAY_TESSERA_HOST_APERTURE_H */
