/*
 * Tessera virtual GPU: binding slots and surfaces
 *
 * Owns the slots of engines. Each access of a work packet goes through a slot,
 * and is checked here against the binding: access, rectangle, limit and
 * segment. Called from engine threads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "tessera_surface.h"
#include "tessera_strict.h"
#include "trace.h"

static uint32_t format_bytes(uint32_t format)
{
    switch (format) {
    case TSR_FORMAT_R8:
        return 1;
    case TSR_FORMAT_RGB565:
        return 2;
    case TSR_FORMAT_XRGB8888:
    case TSR_FORMAT_ARGB8888:
    case TSR_FORMAT_R32:
        return 4;
    default:
        return 0;
    }
}

static uint32_t surface_format(uint32_t surface)
{
    return (surface & TSR_SURF_FORMAT_MASK) >> TSR_SURF_FORMAT_SHIFT;
}

static uint32_t surface_layout(uint32_t surface)
{
    return (surface & TSR_SURF_LAYOUT_MASK) >> TSR_SURF_LAYOUT_SHIFT;
}

static bool shape_ok(const TesseraSlot *slot)
{
    uint32_t bpp = format_bytes(surface_format(slot->surface));
    uint32_t layout = surface_layout(slot->surface);

    if (!bpp || layout >= TSR_LAYOUT_COUNT || slot->base % bpp ||
        !(slot->surface & (TSR_SURF_READ | TSR_SURF_WRITE))) {
        return false;
    }
    if (!slot->pitch) {
        return layout == TSR_LAYOUT_LINEAR && !slot->width && !slot->height;
    }
    if (slot->pitch > TSR_SURF_MAX_PITCH || slot->pitch % bpp ||
        !slot->width || slot->width > TSR_SURF_MAX_DIM ||
        !slot->height || slot->height > TSR_SURF_MAX_DIM ||
        slot->width * bpp > slot->pitch) {
        return false;
    }
    return layout == TSR_LAYOUT_LINEAR ||
           (slot->pitch % TSR_TILE_WIDTH_BYTES == 0 &&
            slot->base % TSR_TILE_BYTES == 0);
}

static bool range_ok(const TesseraSlot *slot)
{
    const uint64_t top = 1ULL << TSR_ADDRESS_BITS;

    return slot->base < top && slot->limit <= top - slot->base;
}

/* Whether a slot is unbound, or BIND_SLOT could have made it. */
bool tessera_slot_valid(const TesseraState *s, const TesseraSlot *slot)
{
    return !slot->surface ||
           (!(slot->surface & ~TSR_SURF_VALID_BITS) && shape_ok(slot) &&
            range_ok(slot));
}

uint32_t tessera_slot_bind(TesseraEngine *e, const uint32_t *p)
{
    TesseraSlot slot = {
        .base = tessera_u64(&p[2]),
        .limit = tessera_u64(&p[4]),
        .surface = p[6],
        .pitch = p[7],
        .width = p[8] & 0xffff,
        .height = p[8] >> 16,
    };

    if ((p[1] & ~TSR_SLOT_ID_MASK) || p[9] ||
        (p[6] & ~TSR_SURF_VALID_BITS)) {
        return TSR_ERR_PACKET;
    }
    if (p[1] >= e->num_slots) {
        return tessera_fault(&e->m, TSR_ERR_SLOT_RANGE, p[1], 0);
    }
    if (!shape_ok(&slot)) {
        return tessera_fault(&e->m, TSR_ERR_SURFACE, p[1], slot.base);
    }
    if (!range_ok(&slot)) {
        return tessera_fault(&e->m, TSR_ERR_ADDRESS, p[1], slot.base);
    }
    trace_tessera_bind_slot(e->index, p[1], slot.base, slot.limit,
                            slot.surface);
    qemu_mutex_lock(&e->slot_lock);
    e->slots[p[1]] = slot;
    qemu_mutex_unlock(&e->slot_lock);
    return TSR_ERR_NONE;
}

uint32_t tessera_slot_unbind(TesseraEngine *e, uint32_t slot)
{
    if (slot & ~TSR_SLOT_ID_MASK) {
        return TSR_ERR_PACKET;
    }
    if (slot >= e->num_slots) {
        return tessera_fault(&e->m, TSR_ERR_SLOT_RANGE, slot, 0);
    }
    trace_tessera_unbind_slot(e->index, slot);
    qemu_mutex_lock(&e->slot_lock);
    memset(&e->slots[slot], 0, sizeof(e->slots[slot]));
    qemu_mutex_unlock(&e->slot_lock);
    return TSR_ERR_NONE;
}

/*
 * Unbind all slots and switch their address space. With root 0 their addresses
 * are GPU addresses, else virtual ones. Both change under one lock, because
 * tessera_mark.c interprets the slots of other engines.
 */
void tessera_slots_set_vm(TesseraEngine *e, uint32_t asid, uint64_t root)
{
    qemu_mutex_lock(&e->slot_lock);
    memset(e->slots, 0, e->num_slots * sizeof(*e->slots));
    e->m.vm.active = root;
    e->m.vm.asid = asid;
    e->m.vm.root = root;
    qemu_mutex_unlock(&e->slot_lock);
}

/* Look up a slot for an access of kind TSR_SURF_READ or _WRITE. */
uint32_t tessera_surface_get(TesseraEngine *e, uint32_t id, uint32_t access,
                             TesseraSurface *surf)
{
    const TesseraSlot *slot;

    if (id >= e->num_slots) {
        return tessera_fault(&e->m, TSR_ERR_SLOT_RANGE, id, 0);
    }
    slot = &e->slots[id];
    if (!slot->surface) {
        return tessera_fault(&e->m, TSR_ERR_SLOT_UNBOUND, id, 0);
    }
    if (qatomic_read(&slot->stale)) {
        return tessera_fault(&e->m, TSR_ERR_STRICT_STALE_SLOT, id, slot->base);
    }
    if ((slot->surface & access) != access) {
        return tessera_fault(&e->m, TSR_ERR_SLOT_ACCESS, id, slot->base);
    }
    surf->slot = id;
    surf->format = surface_format(slot->surface);
    surf->layout = surface_layout(slot->surface);
    surf->bpp = format_bytes(surf->format);
    surf->base = slot->base;
    surf->limit = slot->limit;
    surf->pitch = slot->pitch;
    surf->width = slot->width;
    surf->height = slot->height;
    if (!slot->pitch) {
        surf->width = MIN(slot->limit / surf->bpp, UINT32_MAX);
        surf->height = 1;
    }
    return TSR_ERR_NONE;
}

TesseraRect tessera_surface_rect(const TesseraSurface *surf, uint32_t x,
                                 uint32_t y, uint32_t w, uint32_t h)
{
    return (TesseraRect) {
        .layout = surf->layout,
        .pitch = surf->pitch,
        .xb = (uint64_t)x * surf->bpp,
        .y = y,
        .nb = (uint64_t)w * surf->bpp,
        .rows = h,
    };
}

static uint32_t slot_view(TesseraEngine *e, TesseraView *v, uint64_t addr,
                          uint64_t len, bool write, uint32_t slot)
{
    if (!e->m.vm.active) {
        return tessera_view_gpu(&e->m, v, addr, len, write, slot);
    }
    tessera_view_vm(&e->m, v, addr, len, write, slot);
    return TSR_ERR_NONE;
}

/*
 * Make a view that starts at the surface's first byte and covers the rectangle.
 * The rectangle must not be empty. It has to lie inside the surface, the slot's
 * limit and, unless addresses are virtual, one segment.
 */
uint32_t tessera_surface_view(TesseraEngine *e, const TesseraSurface *surf,
                              uint32_t x, uint32_t y, uint32_t w, uint32_t h,
                              bool write, TesseraView *v)
{
    TesseraRect r = tessera_surface_rect(surf, x, y, w, h);
    uint64_t end;

    if ((uint64_t)x + w > surf->width || (uint64_t)y + h > surf->height) {
        return tessera_fault(&e->m, surf->pitch ? TSR_ERR_SURFACE
                                            : TSR_ERR_SLOT_BOUNDS,
                             surf->slot, surf->base);
    }
    end = tessera_swizzle_end(&r);
    if (end > surf->limit) {
        return tessera_fault(&e->m, TSR_ERR_SLOT_BOUNDS, surf->slot,
                             surf->base + end);
    }
    return slot_view(e, v, surf->base, end, write, surf->slot);
}

/* Make a view of @len bytes of a buffer, from @offset on. */
uint32_t tessera_buffer_view(TesseraEngine *e, const TesseraSurface *surf,
                             uint64_t offset, uint64_t len, bool write,
                             TesseraView *v)
{
    if (surf->pitch) {
        return tessera_fault(&e->m, TSR_ERR_SURFACE, surf->slot, surf->base);
    }
    if (offset > surf->limit || len > surf->limit - offset) {
        return tessera_fault(&e->m, TSR_ERR_SLOT_BOUNDS, surf->slot,
                             surf->base + offset);
    }
    return slot_view(e, v, surf->base + offset, len, write, surf->slot);
}
