/*
 * Tessera virtual GPU: non-coherent guest memory
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_COHERENCE_H
#define HW_DISPLAY_TESSERA_COHERENCE_H

#include "tessera.h"

void tessera_coherence_init(TesseraState *s);
void tessera_coherence_fini(TesseraState *s);
void tessera_coherence_free(TesseraState *s);
void tessera_coherence_reset(TesseraState *s);
uint32_t tessera_coherence_pages(TesseraState *s);
void tessera_coherence_stop(TesseraState *s);
void tessera_coherence_forget(TesseraState *s);
void tessera_coherence_machine_reset(TesseraState *s);
bool tessera_coherence_read(TesseraState *s, uint32_t addr, uint32_t *value);
bool tessera_coherence_write(TesseraState *s, uint32_t addr, uint32_t value);
uint32_t tessera_coherence_begin(TesseraMaster *m, uint64_t addr, uint64_t len,
                                 bool write, TesseraRun *run);

#endif /* HW_DISPLAY_TESSERA_COHERENCE_H */
