/*
 * Tessera virtual GPU: the display
 *
 * The registers of the heads and their life cycle. Each access first processes
 * the vblanks of its head that are due. Called under the BQL: by vCPUs for
 * registers, in the main loop for consoles.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_compat.h"
#include "qemu/bitops.h"
#include "tessera_display.h"
#include "tessera_budget.h"
#include "tessera_capture.h"
#include "tessera_crtc.h"
#include "tessera_damage.h"
#include "tessera_irq.h"
#include "tessera_output.h"
#include "tessera_screen.h"
#include "ui/console-priv.h"

#define HIGH 32

/* ---- Reading ------------------------------------------------------------- */

static uint32_t status_read(const TesseraHead *h)
{
    bool blank = h->enabled && tessera_crtc_line(h) >= tessera_head_height(h);

    return (h->armed ? TSR_CRTCS_ARMED : 0) | (blank ? TSR_CRTCS_VBLANK : 0) |
           (h->refused ? TSR_CRTCS_REFUSED : 0);
}

static uint32_t vblank_count_read(TesseraHead *h)
{
    h->vblank_ns_read = h->vblank_ns;
    return h->vblank_count;
}

static uint32_t latched_read(TesseraHead *h)
{
    h->latch_count_read = h->latch_count;
    h->latch_ns_read = h->latch_ns;
    return h->latched;
}

static uint32_t gamma_read(TesseraHead *h)
{
    uint32_t value = h->regs.gamma[h->gamma_index];

    h->gamma_index = (h->gamma_index + 1) % TSR_GAMMA_ENTRIES;
    return value;
}

/* Read the state of frames and commits. */
static bool timing_read(TesseraHead *h, uint32_t reg, uint32_t *value)
{
    switch (reg) {
    case TSR_CRTC_STATUS:
        *value = status_read(h);
        break;
    case TSR_CRTC_VBLANK_COUNT:
        *value = vblank_count_read(h);
        break;
    case TSR_CRTC_VBLANK_NS_LO:
        *value = h->vblank_ns_read;
        break;
    case TSR_CRTC_VBLANK_NS_HI:
        *value = h->vblank_ns_read >> HIGH;
        break;
    case TSR_CRTC_LINE:
        *value = tessera_crtc_line(h);
        break;
    case TSR_CRTC_COMMITTED:
        *value = h->committed;
        break;
    case TSR_CRTC_LATCHED:
        *value = latched_read(h);
        break;
    case TSR_CRTC_LATCH_COUNT:
        *value = h->latch_count_read;
        break;
    case TSR_CRTC_LATCH_NS_LO:
        *value = h->latch_ns_read;
        break;
    case TSR_CRTC_LATCH_NS_HI:
        *value = h->latch_ns_read >> HIGH;
        break;
    default:
        return false;
    }
    return true;
}

static bool setup_read(TesseraHead *h, uint32_t reg, uint32_t *value)
{
    switch (reg) {
    case TSR_CRTC_CONTROL:
        *value = h->enabled ? TSR_CRTC_ENABLE : 0;
        break;
    case TSR_CRTC_INT_STATUS:
        *value = h->int_status;
        break;
    case TSR_CRTC_INT_MASK:
        *value = h->int_mask;
        break;
    case TSR_CRTC_ACTIVE:
        *value = h->active;
        break;
    case TSR_CRTC_TOTAL:
        *value = h->total;
        break;
    case TSR_CRTC_CLOCK:
        *value = h->clock;
        break;
    case TSR_CRTC_MAX_ACTIVE:
        *value = TESSERA_MAX_WIDTH | TESSERA_MAX_HEIGHT << 16;
        break;
    case TSR_CRTC_VRR_TOTAL:
        *value = h->regs.vrr_total;
        break;
    case TSR_CRTC_COLOR:
        *value = h->regs.color;
        break;
    case TSR_CRTC_GAMMA_INDEX:
        *value = h->gamma_index;
        break;
    case TSR_CRTC_GAMMA_DATA:
        *value = gamma_read(h);
        break;
    case TSR_CRTC_CTM(0) ... TSR_CRTC_CTM(TSR_CTM_ENTRIES - 1):
        *value = h->regs.ctm[(reg - TSR_CRTC_CTM(0)) / 4];
        break;
    default:
        return false;
    }
    return true;
}

/* CRCs, writeback and the output. */
static bool signal_read(TesseraHead *h, uint32_t reg, uint32_t *value)
{
    switch (reg) {
    case TSR_CRTC_CRC_CONTROL:
        *value = h->crc_enabled ? TSR_CRC_ENABLE : 0;
        break;
    case TSR_CRTC_CRC_COUNT:
        *value = h->num_crcs;
        break;
    case TSR_CRTC_CRC_FRAME:
        *value = h->num_crcs ? h->crcs[0].frame : 0;
        break;
    case TSR_CRTC_CRC_VALUE:
        *value = tessera_crc_pop(h);
        break;
    case TSR_CRTC_WB_ADDR_LO:
        *value = h->wb_addr;
        break;
    case TSR_CRTC_WB_ADDR_HI:
        *value = h->wb_addr >> HIGH;
        break;
    case TSR_CRTC_WB_PITCH:
        *value = h->wb_pitch;
        break;
    case TSR_CRTC_WB_CONTROL:
        *value = h->wb_capture ? TSR_WB_CAPTURE : 0;
        break;
    case TSR_CRTC_WB_STATUS:
        *value = h->wb.status;
        break;
    case TSR_CRTC_OUTPUT:
        *value = h->connected ? TSR_OUTPUT_CONNECTED : 0;
        break;
    case TSR_CRTC_EDID_SIZE:
        *value = h->connected ? h->edid_size : 0;
        break;
    case TSR_CRTC_EDID_INDEX:
        *value = h->edid_index;
        break;
    case TSR_CRTC_EDID_DATA:
        *value = tessera_output_edid_read(h);
        break;
    default:
        return false;
    }
    return true;
}

/* ---- Writing ------------------------------------------------------------- */

static uint32_t plane_bits(uint32_t reg)
{
    switch (reg) {
    case TSR_PLANE_CONTROL:
        return TSR_PLANE_CONTROL_BITS;
    case TSR_PLANE_SURFACE:
        return TSR_PLANE_SURFACE_BITS;
    default:
        return UINT32_MAX;
    }
}

/* Find the last written value of a plane register, or NULL. */
static uint32_t *plane_reg(TesseraHead *h, uint32_t reg, uint32_t *bits)
{
    uint32_t plane = (reg - TSR_PLANE(0)) / (TSR_PLANE(1) - TSR_PLANE(0));
    uint32_t at = (reg - TSR_PLANE(0)) % (TSR_PLANE(1) - TSR_PLANE(0));

    if (reg < TSR_PLANE(0) || plane >= TSR_NUM_PLANES ||
        at / 4 >= TSR_PLANE_REGS) {
        return NULL;
    }
    *bits = plane_bits(at);
    return &h->regs.plane[plane][at / 4];
}

/* Find a register without side effects, or NULL. */
static uint32_t *plain_reg(TesseraHead *h, uint32_t reg, uint32_t *bits)
{
    *bits = UINT32_MAX;
    switch (reg) {
    case TSR_CRTC_ACTIVE:
        return h->enabled ? NULL : &h->active;
    case TSR_CRTC_TOTAL:
        return h->enabled ? NULL : &h->total;
    case TSR_CRTC_CLOCK:
        return h->enabled ? NULL : &h->clock;
    case TSR_CRTC_VRR_TOTAL:
        *bits = 0xffff;
        return &h->regs.vrr_total;
    case TSR_CRTC_COLOR:
        *bits = TSR_COLOR_CTM | TSR_COLOR_GAMMA;
        return &h->regs.color;
    case TSR_CRTC_GAMMA_INDEX:
        *bits = TSR_GAMMA_ENTRIES - 1;
        return &h->gamma_index;
    case TSR_CRTC_CTM(0) ... TSR_CRTC_CTM(TSR_CTM_ENTRIES - 1):
        return &h->regs.ctm[(reg - TSR_CRTC_CTM(0)) / 4];
    case TSR_CRTC_WB_PITCH:
        return &h->wb_pitch;
    case TSR_CRTC_EDID_INDEX:
        *bits = TSR_EDID_MAX_BYTES - 4;
        return &h->edid_index;
    default:
        return plane_reg(h, reg, bits);
    }
}

static void gamma_write(TesseraHead *h, uint32_t value)
{
    h->regs.gamma[h->gamma_index] = value & 0xffffff;
    h->gamma_index = (h->gamma_index + 1) % TSR_GAMMA_ENTRIES;
}

static bool crc_write(TesseraHead *h, uint32_t value)
{
    if (value & ~TSR_CRC_ENABLE) {
        return false;
    }
    tessera_crc_enable(h, value);
    return true;
}

static void mask_write(TesseraHead *h, uint32_t value)
{
    h->int_mask = value & TSR_CRTC_INT_ALL;
    tessera_irq_head_mask_changed(h);
}

static bool head_write(TesseraHead *h, uint32_t reg, uint32_t value)
{
    uint32_t bits, *plain = plain_reg(h, reg, &bits);

    if (plain) {
        *plain = value & bits;
        return true;
    }
    switch (reg) {
    case TSR_CRTC_CONTROL:
        return tessera_crtc_control(h, value);
    case TSR_CRTC_INT_STATUS:
        h->int_status &= ~value;
        return true;
    case TSR_CRTC_INT_MASK:
        mask_write(h, value);
        return true;
    case TSR_CRTC_COMMIT:
        return tessera_crtc_commit(h, value);
    case TSR_CRTC_GAMMA_DATA:
        gamma_write(h, value);
        return true;
    case TSR_CRTC_CRC_CONTROL:
        return crc_write(h, value);
    case TSR_CRTC_WB_ADDR_LO:
        h->wb_addr = deposit64(h->wb_addr, 0, HIGH, value);
        return true;
    case TSR_CRTC_WB_ADDR_HI:
        h->wb_addr = deposit64(h->wb_addr, HIGH, HIGH, value);
        return true;
    case TSR_CRTC_WB_CONTROL:
        h->wb_capture = value & TSR_WB_CAPTURE;
        return true;
    default:
        return false;
    }
}

/* ---- Dispatch ------------------------------------------------------------ */

static TesseraHead *find_head(TesseraState *s, uint32_t addr)
{
    uint32_t index = (addr - TSR_CRTC(0)) / TSR_CRTC_BYTES;

    return index < s->num_heads ? &s->heads[index] : NULL;
}

static uint32_t pending_heads(TesseraState *s)
{
    uint32_t heads = 0;

    for (uint32_t i = 0; i < s->num_heads; i++) {
        TesseraHead *h = &s->heads[i];

        tessera_crtc_look(h);
        heads |= (h->int_status & h->int_mask ? 1u : 0) << i;
    }
    return heads;
}

/* Returns false if no readable register has this address. */
bool tessera_display_read(TesseraState *s, uint32_t addr, uint32_t *value)
{
    TesseraHead *h = find_head(s, addr);
    uint32_t reg = addr % TSR_CRTC_BYTES, bits, *plane;

    if (addr == TSR_DISPLAY_INT && s->num_heads) {
        *value = pending_heads(s);
        return true;
    }
    if (!h) {
        return false;
    }
    tessera_crtc_look(h);
    plane = plane_reg(h, reg, &bits);
    if (plane) {
        *value = *plane;
        return true;
    }
    return setup_read(h, reg, value) || timing_read(h, reg, value) ||
           signal_read(h, reg, value);
}

/*
 * Whether a write must follow all vblanks up to now. Other registers take
 * effect at a commit, or independently of vblanks.
 */
static bool follows_vblanks(uint32_t reg)
{
    return reg == TSR_CRTC_COMMIT || reg == TSR_CRTC_CONTROL ||
           reg == TSR_CRTC_CRC_CONTROL;
}

/* Returns false if no register at this address can be written now. */
bool tessera_display_write(TesseraState *s, uint32_t addr, uint32_t value)
{
    TesseraHead *h = find_head(s, addr);
    uint32_t reg = addr % TSR_CRTC_BYTES;
    bool ok;

    if (!h) {
        return false;
    }
    if (follows_vblanks(reg)) {
        tessera_crtc_sync(h);
    } else {
        tessera_crtc_look(h);
    }
    ok = head_write(h, reg, value);
    tessera_crtc_rearm(h);
    return ok;
}

/* ---- Life cycle ---------------------------------------------------------- */

/*
 * Whether a picture for viewers has to wait. They ask for it again and again. A
 * guest can overdraw the budget without end, so a picture waits only for the
 * time that was already spent when it was refused first. A machine that stands
 * spends no time.
 */
static bool viewers_wait(TesseraHead *h)
{
    TesseraScreen *screen = tessera_screen(h);

    if (!h->s->vm_running || tessera_budget_allows(h->s)) {
        return false;
    }
    if (!screen->wait_ns) {
        screen->wait_ns = h->s->picture_ns;
    }
    return tessera_clock_ns() < screen->wait_ns;
}

/*
 * Draw the console if it has changed. A screendump does not wait, because QEMU
 * runs no other command of a monitor meanwhile. Its picture is in no budget: the
 * guest cannot ask for it.
 */
static void draw(TesseraHead *h)
{
    TesseraScreen *screen = tessera_screen(h);
    bool dump = !qemu_co_queue_empty(&screen->con->dump_queue);
    uint64_t begin;

    if (!dump && viewers_wait(h)) {
        return;
    }
    screen->wait_ns = 0;
    /* This may take a picture for a CRC, which must not delay the other. */
    tessera_crtc_look(h);
    begin = tessera_clock_ns();
    if (tessera_screen_update(h) && !dump) {
        tessera_budget_spend(h->s, begin);
    }
}

/* QEMU also asks for pictures while a state is loaded that was not checked yet. */
static TesseraGfxUpdated gfx_update(void *opaque)
{
    TesseraHead *h = opaque;

    if (!h->s->distrusted) {
        draw(h);
    }
    return TESSERA_GFX_UPDATED;
}

static void ui_info(void *opaque, uint32_t head, QemuUIInfo *info)
{
    tessera_output_resize(opaque, info->width, info->height);
}

static const GraphicHwOps head_ops = {
    .gfx_update = gfx_update,
    .ui_info = ui_info,
};

/*
 * The console stays, and shows that the device is gone. QEMU calls ui_info from
 * a timer of the console, without a check that the function exists.
 * qemu_graphic_console_close() removes the function, but leaves the timer
 * armed. No public function disarms it.
 */
static void close_console(TesseraHead *h)
{
    TesseraScreen *screen = tessera_screen(h);

    qemu_graphic_console_close(screen->con);
    timer_del(screen->con->ui_timer);
    screen->con = NULL;
}

/* Initialize what a reset does not. */
static void head_init(TesseraState *s, uint32_t index)
{
    TesseraHead *h = &s->heads[index];

    h->s = s;
    h->index = index;
    h->row = g_new0(uint32_t, TESSERA_MAX_WIDTH);
    h->drawn = g_new0(TesseraScanout, 1);
    tessera_master_init(&h->m, s, TSR_ERR_CRTC(index));
    tessera_crtc_init(h);
    tessera_output_init(h);
    tessera_screen(h)->con =
        qemu_graphic_console_create(DEVICE(tessera_pci(s)), index, &head_ops,
                                    h);
}

void tessera_display_init(TesseraState *s)
{
    s->num_heads = s->cfg.outputs;
    s->heads = g_new0(TesseraHead, s->num_heads);
    if (s->num_heads) {
        tessera_damage_init(s);
    }
    for (uint32_t i = 0; i < s->num_heads; i++) {
        head_init(s, i);
    }
}

void tessera_display_unplug(TesseraState *s)
{
    for (uint32_t i = 0; i < s->num_heads; i++) {
        tessera_crtc_fini(&s->heads[i]);
        close_console(&s->heads[i]);
    }
    if (s->num_heads) {
        tessera_damage_fini(s);
    }
}

void tessera_display_free(TesseraState *s)
{
    for (uint32_t i = 0; i < s->num_heads; i++) {
        tessera_master_fini(&s->heads[i].m);
        g_free(s->heads[i].row);
        g_free(s->heads[i].drawn);
    }
    g_free(s->heads);
    s->heads = NULL;
    s->num_heads = 0;
}

/*
 * Reset everything but the connected monitor and the size that the console asks
 * for.
 */
static void head_reset(TesseraHead *h)
{
    tessera_damage_all(h);
    timer_del(tessera_screen(h)->timer);
    h->enabled = false;
    h->int_status = h->int_mask = 0;
    h->active = h->total = h->clock = 0;
    h->gamma_index = h->edid_index = 0;
    h->crc_enabled = false;
    h->wb_addr = 0;
    h->wb_pitch = 0;
    h->wb_capture = false;
    h->vblank_ns_read = h->latch_ns_read = 0;
    h->latch_count_read = 0;
    memset(&h->regs, 0, sizeof(h->regs));
    memset(&h->next, 0, sizeof(h->next));
    memset(&h->shown, 0, sizeof(h->shown));
    h->armed = false;
    h->refused = false;
    h->arm_ns = 0;
    h->committed = h->latched = h->latch_count = 0;
    h->latch_ns = 0;
    h->vblank_count = 0;
    h->vblank_ns = 0;
    h->blamed = 0;
    h->num_crcs = 0;
    memset(h->crcs, 0, sizeof(h->crcs));
    memset(&h->wb, 0, sizeof(h->wb));
}

void tessera_display_reset(TesseraState *s)
{
    for (uint32_t i = 0; i < s->num_heads; i++) {
        head_reset(&s->heads[i]);
    }
}

/*
 * The machine runs, perhaps with another clock. A load sets the clock even if it
 * fails before or in the state of the device, so forget the times of the clock
 * before.
 */
void tessera_display_resume(TesseraState *s)
{
    s->picture_ns = 0;
    for (uint32_t i = 0; i < s->num_heads; i++) {
        tessera_screen(&s->heads[i])->wait_ns = 0;
        tessera_crtc_rearm(&s->heads[i]);
    }
    tessera_damage_resume(s);
}

/* A monitor is connected or disconnected. */
void tessera_display_plug(TesseraState *s, uint32_t index, bool connected)
{
    s->cfg.connected = deposit32(s->cfg.connected, index, 1, connected);
    if (index < s->num_heads && !s->gone) {
        tessera_output_plug(&s->heads[index], connected);
    }
}
