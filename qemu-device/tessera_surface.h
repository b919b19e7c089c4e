/*
 * Tessera virtual GPU: binding slots and surfaces
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_SURFACE_H
#define HW_DISPLAY_TESSERA_SURFACE_H

#include "tessera_swizzle.h"

typedef struct TesseraSurface {
    uint32_t slot;
    uint32_t format;
    uint32_t layout;
    uint32_t pitch;             /* 0: a buffer */
    uint32_t width;
    uint32_t height;
    uint32_t bpp;               /* bytes per texel */
    uint64_t base;
    uint64_t limit;
} TesseraSurface;

uint32_t tessera_slot_bind(TesseraEngine *e, const uint32_t *p);
uint32_t tessera_slot_unbind(TesseraEngine *e, uint32_t slot);
void tessera_slots_set_vm(TesseraEngine *e, uint32_t asid, uint64_t root);
bool tessera_slot_valid(const TesseraState *s, const TesseraSlot *slot);
uint32_t tessera_surface_get(TesseraEngine *e, uint32_t slot, uint32_t access,
                             TesseraSurface *surf);
uint32_t tessera_surface_view(TesseraEngine *e, const TesseraSurface *surf,
                              uint32_t x, uint32_t y, uint32_t w, uint32_t h,
                              bool write, TesseraView *v);
TesseraRect tessera_surface_rect(const TesseraSurface *surf, uint32_t x,
                                 uint32_t y, uint32_t w, uint32_t h);
uint32_t tessera_buffer_view(TesseraEngine *e, const TesseraSurface *surf,
                             uint64_t offset, uint64_t len, bool write,
                             TesseraView *v);

#endif /* HW_DISPLAY_TESSERA_SURFACE_H */
