/*
 * Tessera virtual GPU: the segments
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TESSERA_SEGMENTS_H
#define TESSERA_SEGMENTS_H

#include "tessera.h"

/* A number of bytes, or of something else, that a property sets. */
bool tessera_check_size(const char *name, uint64_t size, uint64_t min,
                        uint64_t max, uint64_t unit, Error **errp);
/* What the properties ask for, before anything is built; false sets @errp. */
bool tessera_segments_configure(TesseraConfig *c, Error **errp);
/* Bytes of the memory segments that BAR 2 always shows. */
uint64_t tessera_segments_visible_bytes(const TesseraConfig *c);
/* Sizes VRAM, too, with hidden VRAM behind all segments. */
void tessera_segments_build(TesseraState *s);
void tessera_segments_free(TesseraState *s);

#endif /* TESSERA_SEGMENTS_H */
