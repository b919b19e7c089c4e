/*
 * Tessera virtual GPU: consoles
 *
 * Draws the picture of a head to its QEMU console when the console asks for it.
 * A picture is drawn if anything that it depends on has changed
 * (tessera_damage.c). The console is told of the rows that differ from its
 * surface. Called under the BQL, in the main loop.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_compat.h"
#include "ui/console.h"
#include "tessera_screen.h"
#include "tessera_damage.h"
#include "tessera_frame.h"

/* Get the console's surface, in the size of the mode. */
static DisplaySurface *screen_surface(TesseraHead *h, bool *fresh)
{
    QemuConsole *con = tessera_screen(h)->con;
    DisplaySurface *ds = qemu_console_surface(con);
    int width = tessera_head_width(h), height = tessera_head_height(h);

    *fresh = !ds || surface_is_placeholder(ds) ||
             surface_width(ds) != width || surface_height(ds) != height;
    if (*fresh) {
        ds = qemu_create_displaysurface(width, height);
        qemu_console_set_surface(con, ds);
    }
    return ds;
}

/* Tell the console that the rows [@first, @end) have changed. */
static void rows_changed(TesseraHead *h, uint32_t first, uint32_t end)
{
    if (first < end) {
        qemu_console_update(tessera_screen(h)->con, 0, first,
                            tessera_head_width(h), end - first);
    }
}

static void draw(TesseraHead *h, DisplaySurface *ds)
{
    size_t bytes = tessera_head_width(h) * sizeof(uint32_t);
    uint32_t height = tessera_head_height(h), first = 0, y;
    TesseraFrame f;

    tessera_frame_begin(h, &f);
    for (y = 0; y < height; y++) {
        uint8_t *to = (uint8_t *)surface_data(ds) + y * surface_stride(ds);
        const uint32_t *row = tessera_frame_row(&f, y);

        if (!memcmp(to, row, bytes)) {
            rows_changed(h, first, y);
            first = y + 1;
        } else {
            memcpy(to, row, bytes);
        }
    }
    rows_changed(h, first, height);
    tessera_frame_end(&f);
}

/* Returns whether a picture was drawn. */
bool tessera_screen_update(TesseraHead *h)
{
    QemuConsole *con = tessera_screen(h)->con;
    DisplaySurface *ds;
    bool fresh, damaged;

    if (!h->enabled || !h->connected) {
        ds = qemu_console_surface(con);
        if (!ds || !surface_is_placeholder(ds)) {
            qemu_console_set_surface(con, NULL);
        }
        return false;
    }
    ds = screen_surface(h, &fresh);
    damaged = tessera_damage_take(h);
    if (fresh || damaged) {
        h->s->pictures++;
        draw(h, ds);
    }
    if (fresh) {
        qemu_console_update_full(con);
    }
    return fresh || damaged;
}
