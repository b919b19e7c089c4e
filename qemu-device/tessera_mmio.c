/*
 * Tessera virtual GPU: registers
 *
 * BAR 0, with tables of handlers that are indexed by offset. An access that no
 * handler takes (unknown, read-only, misaligned or of a wrong size) changes
 * nothing, reads as zero and is counted. Runs on vCPU threads, under the BQL. A
 * vCPU may find the BAR before an unplug, wait for the BQL, and get here after
 * it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/main-loop.h"
#include "tessera_mmio.h"
#include "tessera_coherence.h"
#include "tessera_display.h"
#include "tessera_engine.h"
#include "tessera_host_aperture.h"
#include "tessera_irq.h"
#include "tessera_mark.h"
#include "tessera_microcode.h"
#include "tessera_mmu.h"
#include "tessera_reset.h"
#include "tessera_strict.h"
#include "tessera_range_view.h"
#include "tessera_swizzle_range.h"
#include "trace.h"

#define GLOBAL_BYTES    0x600
#define ENGINE_BYTES    0x100
#define SEG_BYTES       0x80
#define HA_BYTES        0x24
#define VM_BYTES        0x08
#define SWR_BYTES       0x20

typedef struct Reg {
    uint32_t (*read)(TesseraState *s, uint32_t addr);
    void (*write)(TesseraState *s, uint32_t addr, uint32_t value);
} Reg;

typedef struct EngineReg {
    uint32_t (*read)(TesseraEngine *e, uint32_t reg);
    void (*write)(TesseraEngine *e, uint32_t reg, uint32_t value);
} EngineReg;

/* One half of a 64-bit register. */
static uint32_t half(uint64_t value, bool hi)
{
    return hi ? value >> 32 : value;
}

static uint64_t with_half(uint64_t old, bool hi, uint32_t value)
{
    return hi ? deposit64(old, 32, 32, value) : deposit64(old, 0, 32, value);
}

/* ---- Identification ------------------------------------------------------ */

static uint32_t id_read(TesseraState *s, uint32_t addr)
{
    switch (addr) {
    case TSR_ID_MAGIC:
        return TSR_ID_MAGIC_VALUE;
    case TSR_ID_VERSION:
        return TSR_ID_VERSION_VALUE;
    case TSR_ID_CAPS:
        return s->caps;
    case TSR_ID_NUM_SEGMENTS:
        trace_tessera_segment_count_read(s->num_descs);
        return s->num_descs;
    case TSR_ID_NUM_ENGINES:
        return s->num_engines;
    case TSR_ID_NUM_SLOTS:
        return s->cfg.num_slots;
    case TSR_ID_MAX_IB_BYTES:
        return s->cfg.max_ib_bytes;
    case TSR_ID_HIDDEN_BASE_LO:
    case TSR_ID_HIDDEN_BASE_HI:
        return half(s->hidden.base, addr == TSR_ID_HIDDEN_BASE_HI);
    case TSR_ID_HIDDEN_SIZE_LO:
    case TSR_ID_HIDDEN_SIZE_HI:
        return half(s->hidden.size, addr == TSR_ID_HIDDEN_SIZE_HI);
    case TSR_ID_NUM_SWIZZLE_RANGES:
        return s->cfg.swizzle_ranges;
    default: /* TSR_ID_NUM_CRTCS */
        return s->num_heads;
    }
}

static uint32_t timestamp_read(TesseraState *s, uint32_t addr)
{
    uint64_t now;

    if (addr == TSR_ID_TIMESTAMP_HI) {
        return s->timestamp_hi;
    }
    now = tessera_clock_ns();
    s->timestamp_hi = now >> 32;
    return now;
}

/* ---- Control ------------------------------------------------------------- */

static void reset_write(TesseraState *s, uint32_t addr, uint32_t value)
{
    if (value == TSR_RESET_MAGIC) {
        tessera_device_reset_begin(s);
    } else {
        tessera_guest_error(&s->cpu, TSR_ERR_REGISTER, addr);
    }
}

static uint32_t status_read(TesseraState *s, uint32_t addr)
{
    return (qatomic_read(&s->resetting) ? TSR_STATUS_RESETTING : 0) |
           (qatomic_read(&s->fw_running) ? TSR_STATUS_FW_RUNNING : 0);
}

static uint32_t dummy_read(TesseraState *s, uint32_t addr)
{
    return half(s->dummy_page, addr == TSR_CTRL_DUMMY_PAGE_HI);
}

static void dummy_write(TesseraState *s, uint32_t addr, uint32_t value)
{
    uint64_t page = with_half(s->dummy_page, addr == TSR_CTRL_DUMMY_PAGE_HI,
                              value);

    qatomic_set__nocheck(&s->dummy_page, page & TSR_APTE_ADDR_MASK);
}

static uint32_t scratch_read(TesseraState *s, uint32_t addr)
{
    return s->scratch;
}

static void scratch_write(TesseraState *s, uint32_t addr, uint32_t value)
{
    s->scratch = value;
}

static void ping_write(TesseraState *s, uint32_t addr, uint32_t value)
{
    tessera_irq_event(s, TSR_INT_PING);
}

static uint32_t fw_read(TesseraState *s, uint32_t addr)
{
    if (addr == TSR_FW_SIZE) {
        return s->fw_size;
    }
    return half(s->fw_addr, addr == TSR_FW_ADDR_HI);
}

static void fw_write(TesseraState *s, uint32_t addr, uint32_t value)
{
    if (addr == TSR_FW_SIZE) {
        s->fw_size = value;
    } else {
        s->fw_addr = with_half(s->fw_addr, addr == TSR_FW_ADDR_HI, value);
    }
}

static void fw_start_write(TesseraState *s, uint32_t addr, uint32_t value)
{
    bool ok = value == 1 && tessera_microcode_start(s);

    trace_tessera_fw_start(s->fw_addr, s->fw_size, ok);
    qatomic_set(&s->fw_running, ok);
    if (!ok) {
        tessera_guest_error(&s->cpu, TSR_ERR_FIRMWARE, s->fw_addr);
    }
}

static uint32_t mark_read(TesseraState *s, uint32_t addr)
{
    return half(addr < TSR_MARK_SIZE_LO ? s->mark_addr : s->mark_size,
                addr == TSR_MARK_ADDR_HI || addr == TSR_MARK_SIZE_HI);
}

static void mark_write(TesseraState *s, uint32_t addr, uint32_t value)
{
    uint64_t *reg = addr < TSR_MARK_SIZE_LO ? &s->mark_addr : &s->mark_size;

    *reg = with_half(*reg, addr == TSR_MARK_ADDR_HI ||
                     addr == TSR_MARK_SIZE_HI, value);
}

static void mark_command_write(TesseraState *s, uint32_t addr, uint32_t value)
{
    uint32_t err = tessera_mark_register(s, value, s->mark_addr, s->mark_size);

    if (err) {
        tessera_guest_error(&s->cpu, err == TSR_ERR_PACKET ? TSR_ERR_REGISTER
                                                           : err,
                            s->mark_addr);
    }
}

/* ---- Interrupts and errors ----------------------------------------------- */

static uint32_t int_read(TesseraState *s, uint32_t addr)
{
    return addr == TSR_INT_STATUS ? qatomic_read(&s->int_status)
                                  : qatomic_read(&s->int_mask);
}

static void int_write(TesseraState *s, uint32_t addr, uint32_t value)
{
    if (addr == TSR_INT_STATUS) {
        qatomic_and(&s->int_status, ~value);
    } else {
        qatomic_set(&s->int_mask, value & (TSR_INT_ERROR |
                                           TSR_INT_ENGINE_HALT |
                                           TSR_INT_PING |
                                           TSR_INT_PREEMPTED));
        tessera_irq_mask_changed(s);
    }
}

static uint32_t err_read(TesseraState *s, uint32_t addr)
{
    TesseraErrorRecord rec;
    uint32_t value;

    qemu_mutex_lock(&s->err_lock);
    rec = s->err_select ? s->err_recs[s->err_select] : s->err_rec;
    value = addr == TSR_ERR_TOTAL ? s->err_total
            : addr == TSR_ERR_REC_SELECT ? s->err_select
            : addr < TSR_ERR_CLEAR ? s->err_count[(addr - TSR_ERR_COUNT(0)) / 4]
            : 0;
    qemu_mutex_unlock(&s->err_lock);
    switch (addr) {
    case TSR_ERR_REC_TYPE:
        return rec.type;
    case TSR_ERR_REC_ENGINE:
        return rec.engine;
    case TSR_ERR_REC_CONTEXT:
        return rec.context;
    case TSR_ERR_REC_PACKET:
        return rec.packet;
    case TSR_ERR_REC_OFFSET:
        return rec.offset;
    case TSR_ERR_REC_SLOT:
        return rec.slot;
    case TSR_ERR_REC_ADDR_LO:
    case TSR_ERR_REC_ADDR_HI:
        return half(rec.addr, addr == TSR_ERR_REC_ADDR_HI);
    case TSR_ERR_REC_ACCESS:
        return rec.access;
    default:
        return value;
    }
}

static void err_clear_write(TesseraState *s, uint32_t addr, uint32_t value)
{
    if (value == 1) {
        tessera_errors_clear(s);
    } else {
        tessera_guest_error(&s->cpu, TSR_ERR_REGISTER, addr);
    }
}

static void err_select_write(TesseraState *s, uint32_t addr, uint32_t value)
{
    if (value >= TSR_ERR_TYPES) {
        tessera_guest_error(&s->cpu, TSR_ERR_REGISTER, addr);
        return;
    }
    qemu_mutex_lock(&s->err_lock);
    s->err_select = value;
    qemu_mutex_unlock(&s->err_lock);
}

/* ---- Host aperture ------------------------------------------------------- */

static uint32_t ha_read(TesseraState *s, uint32_t addr)
{
    switch (addr) {
    case TSR_HA_SIZE_LO:
    case TSR_HA_SIZE_HI:
        return half(s->cfg.host_aperture_size, addr == TSR_HA_SIZE_HI);
    case TSR_HA_PAGE_SIZE:
        return s->cfg.page_size;
    case TSR_HA_COUNT:
        return s->ha->count;
    default:
        return half(s->ha->addr, addr == TSR_HA_ADDR_HI);
    }
}

static void ha_write(TesseraState *s, uint32_t addr, uint32_t value)
{
    if (addr == TSR_HA_COUNT) {
        s->ha->count = value;
    } else {
        s->ha->addr = with_half(s->ha->addr, addr == TSR_HA_ADDR_HI, value);
    }
}

static void ha_command_write(TesseraState *s, uint32_t addr, uint32_t value)
{
    if (addr == TSR_HA_MAP) {
        tessera_host_aperture_map(s, value);
    } else {
        tessera_host_aperture_unmap(s, value);
    }
}

#define REG(offset) [(offset) / 4]
#define REGS(first, last) [(first) / 4 ... (last) / 4]

static const Reg regs[GLOBAL_BYTES / 4] = {
    REGS(TSR_ID_MAGIC, TSR_ID_NUM_CRTCS) = { id_read },
    REG(TSR_ID_TIMESTAMP_LO) = { timestamp_read },
    REG(TSR_ID_TIMESTAMP_HI) = { timestamp_read },
    REG(TSR_CTRL_RESET) = { NULL, reset_write },
    REG(TSR_CTRL_STATUS) = { status_read },
    REG(TSR_CTRL_DUMMY_PAGE_LO) = { dummy_read, dummy_write },
    REG(TSR_CTRL_DUMMY_PAGE_HI) = { dummy_read, dummy_write },
    REG(TSR_CTRL_SCRATCH) = { scratch_read, scratch_write },
    REG(TSR_CTRL_PING) = { NULL, ping_write },
    REG(TSR_FW_ADDR_LO) = { fw_read, fw_write },
    REG(TSR_FW_ADDR_HI) = { fw_read, fw_write },
    REG(TSR_FW_SIZE) = { fw_read, fw_write },
    REG(TSR_FW_START) = { NULL, fw_start_write },
    REG(TSR_MARK_ADDR_LO) = { mark_read, mark_write },
    REG(TSR_MARK_ADDR_HI) = { mark_read, mark_write },
    REG(TSR_MARK_SIZE_LO) = { mark_read, mark_write },
    REG(TSR_MARK_SIZE_HI) = { mark_read, mark_write },
    REG(TSR_MARK_COMMAND) = { NULL, mark_command_write },
    REG(TSR_INT_STATUS) = { int_read, int_write },
    REG(TSR_INT_MASK) = { int_read, int_write },
    REGS(TSR_ERR_COUNT(0), TSR_ERR_COUNT(TSR_ERR_TYPES - 1)) = { err_read },
    REG(TSR_ERR_CLEAR) = { NULL, err_clear_write },
    REG(TSR_ERR_TOTAL) = { err_read },
    REG(TSR_ERR_REC_SELECT) = { err_read, err_select_write },
    REGS(TSR_ERR_REC_TYPE, TSR_ERR_REC_ACCESS) = { err_read },
};

#define HA_REG(offset) REG((offset) - TSR_HOST_APERTURE_BLOCK)

static const Reg ha_regs[HA_BYTES / 4] = {
    HA_REG(TSR_HA_SIZE_LO) = { ha_read },
    HA_REG(TSR_HA_SIZE_HI) = { ha_read },
    HA_REG(TSR_HA_PAGE_SIZE) = { ha_read },
    HA_REG(TSR_HA_ADDR_LO) = { ha_read, ha_write },
    HA_REG(TSR_HA_ADDR_HI) = { ha_read, ha_write },
    HA_REG(TSR_HA_COUNT) = { ha_read, ha_write },
    HA_REG(TSR_HA_MAP) = { NULL, ha_command_write },
    HA_REG(TSR_HA_UNMAP) = { NULL, ha_command_write },
};

/* ---- Virtual addresses --------------------------------------------------- */

static uint32_t vm_read(TesseraState *s, uint32_t addr)
{
    if (!(s->caps & TSR_CAP_VM)) {
        return 0;
    }
    return addr == TSR_VM_NUM_ASIDS ? TESSERA_ASIDS : TSR_VM_ADDRESS_BITS;
}

static const Reg vm_regs[VM_BYTES / 4] = { { vm_read }, { vm_read } };

/* ---- Swizzling ranges ---------------------------------------------------- */

static uint32_t swr_read(TesseraState *s, uint32_t index, uint32_t reg)
{
    const TesseraSwizzleRange *r = &s->ranges[index];

    switch (reg) {
    case TSR_SWR_BASE_LO:
    case TSR_SWR_BASE_HI:
        return half(r->base, reg == TSR_SWR_BASE_HI);
    case TSR_SWR_LAYOUT:
        return r->layout;
    case TSR_SWR_PITCH:
        return r->pitch;
    case TSR_SWR_HEIGHT:
        return r->height;
    case TSR_SWR_STATUS:
        return tessera_swizzle_range_status(s, index);
    default:
        return r->enabled ? TSR_SWR_ENABLE : 0;
    }
}

/* Returns false if the range knows no such value. */
static bool swr_control(TesseraState *s, uint32_t index, uint32_t value)
{
    if (value & ~TSR_SWR_ENABLE) {
        return false;
    }
    if (!value) {
        tessera_swizzle_range_disable(s, index);
    } else if (!s->ranges[index].enabled) {
        tessera_swizzle_range_enable(s, index);
    }
    return true;
}

static bool swr_write(TesseraState *s, uint32_t index, uint32_t reg,
                      uint32_t value)
{
    TesseraSwizzleRange *r = &s->ranges[index];

    if (reg == TSR_SWR_CONTROL) {
        return swr_control(s, index, value);
    }
    if (r->enabled || reg == TSR_SWR_STATUS) {
        return false;
    }
    switch (reg) {
    case TSR_SWR_BASE_LO:
    case TSR_SWR_BASE_HI:
        r->base = with_half(r->base, reg == TSR_SWR_BASE_HI, value);
        break;
    case TSR_SWR_LAYOUT:
        r->layout = value;
        break;
    case TSR_SWR_PITCH:
        r->pitch = value;
        break;
    default:
        r->height = value;
    }
    return true;
}

/* Find the range that has a register, in *@index. Returns false if none has. */
static bool find_swr(TesseraState *s, uint32_t addr, uint32_t *index)
{
    *index = (addr - TSR_SWR(0)) / SWR_BYTES;
    return addr >= TSR_SWR(0) && *index < s->cfg.swizzle_ranges &&
           addr % SWR_BYTES <= TSR_SWR_STATUS;
}

static uint32_t swr_window_read(TesseraState *s, uint32_t addr)
{
    return half(s->swizzle_window_offset, addr == TSR_SWR_WINDOW_HI);
}

static const Reg swr_window_regs[] = { { swr_window_read },
                                       { swr_window_read } };

/* ---- Segment descriptors ------------------------------------------------- */

static uint32_t seg_name_word(const TesseraSegment *seg, uint32_t off)
{
    return ldl_le_p(seg->name + off);
}

static bool seg_read(TesseraState *s, uint32_t addr, uint32_t *value)
{
    uint32_t index = (addr - TSR_SEG(0)) / SEG_BYTES;
    uint32_t off = (addr - TSR_SEG(0)) % SEG_BYTES;
    const TesseraSegment *seg;

    if (index >= MIN(s->num_descs, ARRAY_SIZE(s->descs))) {
        return false;
    }
    seg = &s->descs[index];
    switch (off) {
    case TSR_SEG_ID:
        *value = seg->id;
        break;
    case TSR_SEG_FLAGS:
        *value = seg->flags;
        break;
    case TSR_SEG_BASE_LO:
    case TSR_SEG_BASE_HI:
        *value = half(seg->base, off == TSR_SEG_BASE_HI);
        break;
    case TSR_SEG_SIZE_LO:
    case TSR_SEG_SIZE_HI:
        *value = half(seg->size, off == TSR_SEG_SIZE_HI);
        break;
    case TSR_SEG_COMMIT_LO:
    case TSR_SEG_COMMIT_HI:
        *value = half(seg->commit, off == TSR_SEG_COMMIT_HI);
        break;
    case TSR_SEG_CPU_OFFSET_LO:
    case TSR_SEG_CPU_OFFSET_HI:
        *value = half(seg->cpu_offset, off == TSR_SEG_CPU_OFFSET_HI);
        break;
    case TSR_SEG_PAGE_SIZE:
        *value = seg->page_size;
        break;
    case TSR_SEG_NAME ... TSR_SEG_NAME + TSR_SEG_NAME_BYTES - 4:
        *value = seg_name_word(seg, off - TSR_SEG_NAME);
        break;
    default:
        return false;
    }
    trace_tessera_segment_desc_read(index, off, *value);
    return true;
}

/* ---- Engines ------------------------------------------------------------- */

static uint32_t eng_read(TesseraEngine *e, uint32_t reg)
{
    switch (reg) {
    case TSR_ENG_TYPE:
        return e->type;
    case TSR_ENG_CONTROL:
        return tessera_engine_enabled(e) ? TSR_ENG_ENABLE : 0;
    case TSR_ENG_STATUS:
        return tessera_engine_status(e);
    case TSR_ENG_RING_LO:
    case TSR_ENG_RING_HI:
        return half(e->ring_reg, reg == TSR_ENG_RING_HI);
    case TSR_ENG_RING_SIZE:
        return e->ring_size_reg;
    case TSR_ENG_HEAD:
        return qatomic_read(&e->head);
    case TSR_ENG_TAIL:
        return qatomic_read(&e->tail);
    case TSR_ENG_STATUS_PAGE_LO:
    case TSR_ENG_STATUS_PAGE_HI:
        return half(e->status_page_reg, reg == TSR_ENG_STATUS_PAGE_HI);
    case TSR_ENG_CONTEXT:
        return qatomic_read(&e->m.context);
    case TSR_ENG_IB_OFFSET:
        return qatomic_read(&e->ib_offset);
    case TSR_ENG_SAVE_LO:
    case TSR_ENG_SAVE_HI:
        return half(e->save_reg, reg == TSR_ENG_SAVE_HI);
    default:
        return e->slot_select;
    }
}

static void eng_write(TesseraEngine *e, uint32_t reg, uint32_t value)
{
    if (reg == TSR_ENG_CONTROL) {
        tessera_engine_control(e, value);
        return;
    }
    qemu_mutex_lock(&e->lock);
    switch (reg) {
    case TSR_ENG_RING_LO:
    case TSR_ENG_RING_HI:
        e->ring_reg = with_half(e->ring_reg, reg == TSR_ENG_RING_HI, value);
        break;
    case TSR_ENG_RING_SIZE:
        e->ring_size_reg = value;
        break;
    case TSR_ENG_STATUS_PAGE_LO:
    case TSR_ENG_STATUS_PAGE_HI:
        e->status_page_reg = with_half(e->status_page_reg,
                                       reg == TSR_ENG_STATUS_PAGE_HI, value);
        break;
    case TSR_ENG_SAVE_LO:
    case TSR_ENG_SAVE_HI:
        e->save_reg = with_half(e->save_reg, reg == TSR_ENG_SAVE_HI, value);
        break;
    default:
        e->slot_select = value;
    }
    qemu_mutex_unlock(&e->lock);
}

static uint32_t slot_read(TesseraEngine *e, uint32_t reg)
{
    TesseraSlot slot = { 0 };

    if (e->slot_select < e->s->cfg.num_slots) {
        qemu_mutex_lock(&e->slot_lock);
        slot = e->slots[e->slot_select];
        qemu_mutex_unlock(&e->slot_lock);
    }
    switch (reg) {
    case TSR_ENG_SLOT_BASE_LO:
    case TSR_ENG_SLOT_BASE_HI:
        return half(slot.base, reg == TSR_ENG_SLOT_BASE_HI);
    case TSR_ENG_SLOT_LIMIT_LO:
    case TSR_ENG_SLOT_LIMIT_HI:
        return half(slot.limit, reg == TSR_ENG_SLOT_LIMIT_HI);
    default:
        return slot.surface;
    }
}

static const EngineReg engine_regs[ENGINE_BYTES / 4] = {
    REG(TSR_ENG_TYPE) = { eng_read },
    REG(TSR_ENG_CONTROL) = { eng_read, eng_write },
    REG(TSR_ENG_STATUS) = { eng_read },
    REG(TSR_ENG_RING_LO) = { eng_read, eng_write },
    REG(TSR_ENG_RING_HI) = { eng_read, eng_write },
    REG(TSR_ENG_RING_SIZE) = { eng_read, eng_write },
    REG(TSR_ENG_HEAD) = { eng_read },
    REG(TSR_ENG_TAIL) = { eng_read },
    REG(TSR_ENG_STATUS_PAGE_LO) = { eng_read, eng_write },
    REG(TSR_ENG_STATUS_PAGE_HI) = { eng_read, eng_write },
    REG(TSR_ENG_CONTEXT) = { eng_read },
    REG(TSR_ENG_IB_OFFSET) = { eng_read },
    REG(TSR_ENG_SAVE_LO) = { eng_read, eng_write },
    REG(TSR_ENG_SAVE_HI) = { eng_read, eng_write },
    REG(TSR_ENG_SLOT_SELECT) = { eng_read, eng_write },
    REGS(TSR_ENG_SLOT_BASE_LO, TSR_ENG_SLOT_SURFACE) = { slot_read },
};

/* ---- Dispatch ------------------------------------------------------------ */

/*
 * Find a register that exists once, not for each engine, range or head. Returns
 * NULL if there is none.
 */
static const Reg *find_reg(uint32_t addr)
{
    if (addr < GLOBAL_BYTES) {
        return &regs[addr / 4];
    }
    if (addr >= TSR_HOST_APERTURE_BLOCK &&
        addr < TSR_HOST_APERTURE_BLOCK + HA_BYTES) {
        return &ha_regs[(addr - TSR_HOST_APERTURE_BLOCK) / 4];
    }
    if (addr >= TSR_VM_BLOCK && addr < TSR_VM_BLOCK + VM_BYTES) {
        return &vm_regs[(addr - TSR_VM_BLOCK) / 4];
    }
    if (addr == TSR_SWR_WINDOW_LO || addr == TSR_SWR_WINDOW_HI) {
        return &swr_window_regs[(addr - TSR_SWR_WINDOW_LO) / 4];
    }
    return NULL;
}

static const EngineReg *find_engine_reg(TesseraState *s, uint32_t addr,
                                        TesseraEngine **e)
{
    uint32_t index = (addr - TSR_ENG(0)) / ENGINE_BYTES;

    if (addr < TSR_ENG(0) || index >= s->num_engines) {
        return NULL;
    }
    *e = &s->engines[index];
    return &engine_regs[(addr % ENGINE_BYTES) / 4];
}

static bool reg_read(TesseraState *s, uint32_t addr, uint32_t *value)
{
    const Reg *reg = find_reg(addr);
    const EngineReg *ereg;
    TesseraEngine *e;
    uint32_t range;

    if (addr >= TSR_COHERENCE_BLOCK && addr <= TSR_COH_COMMAND) {
        return tessera_coherence_read(s, addr, value);
    }
    if (addr >= TSR_DISPLAY_BLOCK && addr <= TSR_DISPLAY_INT) {
        return tessera_display_read(s, addr, value);
    }
    if (find_swr(s, addr, &range)) {
        *value = swr_read(s, range, addr % SWR_BYTES);
        return true;
    }
    if (reg) {
        if (!reg->read) {
            return false;
        }
        *value = reg->read(s, addr);
        return true;
    }
    if (addr >= TSR_SEG(0) && addr < TSR_SEG(ARRAY_SIZE(s->descs))) {
        return seg_read(s, addr, value);
    }
    ereg = find_engine_reg(s, addr, &e);
    if (!ereg || !ereg->read) {
        return false;
    }
    *value = ereg->read(e, addr % ENGINE_BYTES);
    return true;
}

static bool reg_write(TesseraState *s, uint32_t addr, uint32_t value)
{
    const Reg *reg = find_reg(addr);
    const EngineReg *ereg;
    TesseraEngine *e;
    uint32_t range;

    if (addr >= TSR_DOORBELL(0) && addr < TSR_DOORBELL(s->num_engines)) {
        tessera_range_views_write_back(s);
        tessera_engine_doorbell(&s->engines[(addr - TSR_DOORBELL(0)) / 4],
                                value);
        return true;
    }
    if (addr >= TSR_COHERENCE_BLOCK && addr <= TSR_COH_COMMAND) {
        return tessera_coherence_write(s, addr, value);
    }
    if (addr >= TSR_DISPLAY_BLOCK && addr <= TSR_DISPLAY_INT) {
        return tessera_display_write(s, addr, value);
    }
    if (find_swr(s, addr, &range)) {
        return swr_write(s, range, addr % SWR_BYTES, value);
    }
    if (reg) {
        if (!reg->write) {
            return false;
        }
        reg->write(s, addr, value);
        return true;
    }
    if (addr >= TSR_SEG(0) && addr < TSR_SEG(ARRAY_SIZE(s->descs))) {
        trace_tessera_segment_desc_write_ignored((addr - TSR_SEG(0)) /
                                                 SEG_BYTES, addr % SEG_BYTES,
                                                 value);
        return false;
    }
    ereg = find_engine_reg(s, addr, &e);
    if (!ereg || !ereg->write) {
        return false;
    }
    ereg->write(e, addr % ENGINE_BYTES, value);
    return true;
}

/*
 * A state that is being loaded has not been checked. A monitor can read
 * registers after a stream has broken off, before the state is dropped.
 */
static bool unusable(const TesseraState *s)
{
    return s->gone || s->distrusted;
}

static uint64_t mmio_read(void *opaque, hwaddr addr, unsigned size)
{
    TesseraState *s = opaque;
    uint32_t value = 0;

    if (unusable(s)) {
        return UINT64_MAX;
    }
    if (size != 4 || addr % 4 || !reg_read(s, addr, &value)) {
        tessera_guest_error(&s->cpu, TSR_ERR_REGISTER, addr);
        value = 0;
    }
    trace_tessera_reg_read(addr, size, value);
    return value;
}

static void mmio_write(void *opaque, hwaddr addr, uint64_t value,
                       unsigned size)
{
    TesseraState *s = opaque;

    if (unusable(s)) {
        return;
    }
    trace_tessera_reg_write(addr, size, value);
    if (size != 4 || addr % 4 || !reg_write(s, addr, value)) {
        tessera_guest_error(&s->cpu, TSR_ERR_REGISTER, addr);
    }
}

const MemoryRegionOps tessera_mmio_ops = {
    .read = mmio_read,
    .write = mmio_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
    .impl = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
};
