/*
 * Tessera virtual GPU: segments
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TESSERA_SEGMENTS_H
#define TESSERA_SEGMENTS_H

#include "tessera.h"

/* Check a number of a property: bytes, or a count of something else. */
bool tessera_check_size(const char *name, uint64_t size, uint64_t min,
                        uint64_t max, uint64_t unit, Error **errp);
/* Check and apply the properties. Returns false with @errp set. */
bool tessera_segments_configure(TesseraConfig *c, Error **errp);
/* The bytes of the memory segments that BAR 2 always shows. */
uint64_t tessera_segments_visible_bytes(const TesseraConfig *c);
/*
 * Build the segment table, and size VRAM, with hidden VRAM after all segments.
 */
void tessera_segments_build(TesseraState *s);
void tessera_segments_free(TesseraState *s);

#endif /* TESSERA_SEGMENTS_H */
