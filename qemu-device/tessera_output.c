/*
 * Tessera virtual GPU: outputs
 *
 * The monitor of each head: whether it is connected, and its EDID. The
 * preferred mode has the size of the console's window once a viewer has
 * reported it. Before that it has the size that the properties give. Called
 * under the BQL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <zlib.h>
#include "qemu/bswap.h"
#include "tessera_output.h"
#include "tessera_irq.h"
#include "trace.h"

#define EDID_FEATURES               24
#define EDID_CONTINUOUS_FREQUENCY   1
#define EDID_CHECKSUM               127

#define TESSERA_MIN_WISH            64  /* pixels, as in the properties */

/*
 * QEMU's EDID lists a range of refresh rates. Set the bit that says that all
 * rates in the range are supported.
 */
static void vary_rate(uint8_t *edid)
{
    if (!(edid[EDID_FEATURES] & EDID_CONTINUOUS_FREQUENCY)) {
        edid[EDID_FEATURES] |= EDID_CONTINUOUS_FREQUENCY;
        edid[EDID_CHECKSUM] -= EDID_CONTINUOUS_FREQUENCY;
    }
}

static void make_edid(TesseraHead *h)
{
    qemu_edid_info info = tessera_pci(h->s)->edid;
    char serial[16];

    snprintf(serial, sizeof(serial), "%u", h->index + 1);
    info.name = "Tessera";
    info.serial = serial;
    info.maxx = info.maxx ?: TESSERA_MAX_WIDTH;
    info.maxy = info.maxy ?: TESSERA_MAX_HEIGHT;
    if (h->wanted_width) {
        info.prefx = h->wanted_width;
        info.prefy = h->wanted_height;
    }
    memset(h->edid, 0, sizeof(h->edid));
    qemu_edid_generate(h->edid, sizeof(h->edid), &info);
    if (h->s->cfg.variable_refresh) {
        vary_rate(h->edid);
    }
    h->edid_size = MIN(qemu_edid_size(h->edid), sizeof(h->edid));
}

static void changed(TesseraHead *h)
{
    trace_tessera_hotplug(h->index, h->connected);
    tessera_irq_head(h, TSR_CRTC_INT_HOTPLUG);
}

void tessera_output_init(TesseraHead *h)
{
    h->connected = h->s->cfg.connected & (1u << h->index);
    make_edid(h);
}

void tessera_output_plug(TesseraHead *h, bool connected)
{
    if (h->connected != connected) {
        h->connected = connected;
        changed(h);
    }
}

static uint32_t within(uint32_t pixels, uint32_t max, uint32_t device_max)
{
    return MIN(MAX(pixels, TESSERA_MIN_WISH), MIN(max ?: device_max,
                                                  device_max));
}

/*
 * The console's window has a new size, so the EDID prefers that size from now
 * on. A hidden window has size 0, and changes nothing.
 */
void tessera_output_resize(TesseraHead *h, uint32_t width, uint32_t height)
{
    const qemu_edid_info *e = &tessera_pci(h->s)->edid;

    if (!width || !height) {
        return;
    }
    width = within(width, e->maxx, TESSERA_MAX_WIDTH);
    height = within(height, e->maxy, TESSERA_MAX_HEIGHT);
    if (width == h->wanted_width && height == h->wanted_height) {
        return;
    }
    h->wanted_width = width;
    h->wanted_height = height;
    make_edid(h);
    if (h->connected) {
        changed(h);
    }
}

/* Read the next 4 bytes of the EDID, or 0 if no monitor is connected. */
uint32_t tessera_output_edid_read(TesseraHead *h)
{
    uint32_t at = h->edid_index;

    h->edid_index = (at + 4) % TSR_EDID_MAX_BYTES;
    return h->connected ? ldl_le_p(h->edid + at) : 0;
}

/*
 * Monitors do not migrate. tessera_output_loaded() tells the guest if the
 * destination has a different one.
 */
void tessera_output_save(TesseraHead *h)
{
    h->seen_connected = h->connected;
    h->seen_edid = crc32(0, h->edid, sizeof(h->edid));
}

void tessera_output_loaded(TesseraHead *h)
{
    if (h->seen_connected != h->connected ||
        h->seen_edid != crc32(0, h->edid, sizeof(h->edid))) {
        changed(h);
    }
}
