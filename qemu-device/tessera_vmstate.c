/*
 * Tessera virtual GPU: migration
 *
 * The format, and the checks of a loaded state, which is as untrusted as the
 * guest. An invalid state is refused, and the device is left as after a reset.
 * VRAM migrates as RAM. Engines are parked meanwhile, and each packet has
 * either not begun or can be resumed. The handler that resumes a packet checks
 * its progress[] against the packet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/error-report.h"
#include "hw/pci/msix.h"
#include "migration/qemu-file-types.h"
#include "migration/vmstate.h"
#include "tessera_vmstate.h"
#include "tessera_crtc.h"
#include "tessera_damage.h"
#include "tessera_engine.h"
#include "tessera_bar.h"
#include "tessera_coherence.h"
#include "tessera_host_aperture.h"
#include "tessera_microcode.h"
#include "tessera_mmu.h"
#include "tessera_output.h"
#include "tessera_reset.h"
#include "tessera_save.h"
#include "tessera_strict.h"
#include "tessera_surface.h"
#include "tessera_swizzle_range.h"

static bool ring_valid(const TesseraEngine *e)
{
    const uint64_t top = 1ULL << TSR_ADDRESS_BITS;

    if (!e->enabled) {
        return !e->head && !e->tail && !e->ib.active;
    }
    return is_power_of_2(e->ring_size) &&
           e->ring_size >= TSR_RING_MIN_BYTES &&
           e->ring_size <= TSR_RING_MAX_BYTES &&
           e->ring % TSR_PAGE_SIZE == 0 && e->ring < top &&
           e->status_page % TSR_PAGE_SIZE == 0 && e->status_page < top &&
           e->head < e->ring_size && e->head % TSR_PKT_ALIGN == 0 &&
           e->tail < e->ring_size && e->tail % TSR_PKT_ALIGN == 0;
}

/* The values come in an optional subsection. */
static bool vm_valid(const TesseraEngine *e)
{
    if (!e->m.vm.active) {
        return !e->m.vm.root && !e->ib.vm;
    }
    return (e->s->caps & TSR_CAP_VM) && e->m.vm.asid < TESSERA_ASIDS &&
           e->m.vm.root && tessera_mmu_root_ok(e->m.vm.root);
}

/* The values come in an optional subsection. The defaults are valid. */
static bool preemption_valid(const TesseraEngine *e)
{
    if (e->preempt_req && (!e->enabled || !e->save_addr ||
                           e->save_addr % TSR_PAGE_SIZE ||
                           e->save_addr >= 1ULL << TSR_ADDRESS_BITS)) {
        return false;
    }
    if (!e->job_begun) {
        return true;
    }
    return e->enabled && e->job_head < e->ring_size &&
           e->job_head % TSR_PKT_ALIGN == 0;
}

static bool engine_valid(const TesseraEngine *e)
{
    if (!ring_valid(e) || !tessera_ib_valid(e->s, &e->ib) || !vm_valid(e) ||
        !preemption_valid(e) || (e->preempted && e->enabled) ||
        e->state_defined >> TSR_STATE_COUNT) {
        error_report("tessera: bad state of engine %u", e->index);
        return false;
    }
    for (uint32_t i = 0; i < e->num_slots; i++) {
        if (!tessera_slot_valid(e->s, &e->slots[i])) {
            error_report("tessera: bad slot %u of engine %u", i, e->index);
            return false;
        }
    }
    return true;
}

static bool segment_valid(const TesseraSegment *seg)
{
    const uint64_t known = TSR_APTE_VALID | TSR_APTE_WRITE |
                           TSR_APTE_COHERENT | TSR_APTE_CACHED |
                           TSR_APTE_ADDR_MASK;

    for (uint32_t i = 0; i < seg->num_pages; i++) {
        uint64_t pte = seg->ptes[i];

        if ((pte & ~known) || (pte && !(pte & TSR_APTE_VALID)) ||
            ((pte & TSR_APTE_COHERENT) &&
             !(seg->flags & TSR_SEGF_CACHE_COHERENT))) {
            error_report("tessera: bad page table entry of segment %u",
                         seg->id);
            return false;
        }
    }
    return true;
}

static bool range_valid(TesseraState *s, uint32_t index)
{
    if (!tessera_swizzle_range_valid(s, index)) {
        error_report("tessera: bad swizzling range %u", index);
        return false;
    }
    return true;
}

static bool registers_valid(const TesseraState *s)
{
    const uint32_t events = TSR_INT_ERROR | TSR_INT_ENGINE_HALT |
                            TSR_INT_PING | TSR_INT_PREEMPTED;

    if ((s->int_mask & ~events) || (s->int_status & ~events) ||
        s->irq_pending >> TSR_NUM_VECTORS ||
        (s->dummy_page & ~TSR_APTE_ADDR_MASK) ||
        !tessera_microcode_valid(s) ||
        s->err_rec.type >= TSR_ERR_TYPES || s->err_select >= TSR_ERR_TYPES) {
        error_report("tessera: bad register state");
        return false;
    }
    for (uint32_t i = 0; i < TSR_ERR_TYPES; i++) {
        if (s->err_recs[i].type && s->err_recs[i].type != i) {
            error_report("tessera: bad record of error type %u", i);
            return false;
        }
    }
    for (uint32_t i = 0; i < s->num_vram_pages; i++) {
        if (!tessera_strict_state_ok(s->page_state[i])) {
            error_report("tessera: bad state of VRAM page %u", i);
            return false;
        }
    }
    return true;
}

static bool head_valid(TesseraHead *h)
{
    if (!tessera_crtc_valid(h)) {
        error_report("tessera: bad state of CRTC %u", h->index);
        return false;
    }
    return true;
}

/*
 * From here on the state is not trusted. A stream that breaks off never reaches
 * tessera_post_load(). Then the state is dropped before the machine runs.
 */
static int tessera_pre_load(void *opaque)
{
    TesseraPCIState *d = opaque;
    TesseraState *s = &d->state;

    s->distrusted = true;
    tessera_coherence_forget(s);
    /*
     * QEMU checks the loaded configuration space against the BAR, so return the
     * BAR to its initial size first.
     */
    tessera_bar_reset(s);
    /* Set the defaults of fields in optional subsections. */
    s->coh_addr = 0;
    s->coh_size = 0;
    s->err_select = 0;
    memset(s->err_recs, 0, sizeof(s->err_recs));
    memset(s->page_state, TESSERA_PAGE_NEVER, s->num_vram_pages);
    for (uint32_t i = 0; i < s->num_engines; i++) {
        memset(&s->engines[i].m.vm, 0, sizeof(s->engines[i].m.vm));
        s->engines[i].ib.vm = false;
        s->engines[i].save_reg = 0;
        s->engines[i].save_addr = 0;
        s->engines[i].preempt_req = false;
        s->engines[i].preempt_stuck = false;
        s->engines[i].preempted = false;
        s->engines[i].job_begun = false;
        s->engines[i].job_head = 0;
    }
    return 0;
}

static int tessera_post_load(void *opaque, int version_id)
{
    TesseraPCIState *d = opaque;
    TesseraState *s = &d->state;
    bool ok = registers_valid(s) && tessera_host_aperture_load(s) &&
              tessera_bar_load(s);

    for (uint32_t i = 0; i < s->cfg.swizzle_ranges; i++) {
        ok = ok && range_valid(s, i);
    }
    for (uint32_t i = 0; i < s->num_segs; i++) {
        ok = ok && segment_valid(&s->segs[i]);
    }
    for (uint32_t i = 0; i < s->num_engines; i++) {
        ok = ok && engine_valid(&s->engines[i]);
        s->engines[i].window.bytes = 0;
        tessera_mmu_forget(&s->engines[i].m);
        tessera_engine_loaded(&s->engines[i]);
    }
    for (uint32_t i = 0; i < s->num_heads; i++) {
        ok = ok && head_valid(&s->heads[i]);
    }
    if (!ok || !tessera_swizzle_range_loaded(s)) {
        tessera_device_forget(s);
        return -EINVAL;
    }
    for (uint32_t i = 0; i < s->num_heads; i++) {
        tessera_output_loaded(&s->heads[i]);
        tessera_damage_all(&s->heads[i]);
    }
    s->distrusted = false;
    return 0;
}

static const VMStateDescription vmstate_slot = {
    .name = "tessera/slot",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(base, TesseraSlot),
        VMSTATE_UINT64(limit, TesseraSlot),
        VMSTATE_UINT32(surface, TesseraSlot),
        VMSTATE_UINT32(pitch, TesseraSlot),
        VMSTATE_UINT32(width, TesseraSlot),
        VMSTATE_UINT32(height, TesseraSlot),
        VMSTATE_UINT32(stale, TesseraSlot),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_ib = {
    .name = "tessera/ib",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL(active, TesseraIb),
        VMSTATE_BOOL(user, TesseraIb),
        VMSTATE_UINT32(total, TesseraIb),
        VMSTATE_UINT32(cur, TesseraIb),
        VMSTATE_UINT32(end, TesseraIb),
        VMSTATE_UINT64(list, TesseraIb),
        VMSTATE_END_OF_LIST()
    }
};

static bool engine_vm_needed(void *opaque)
{
    TesseraEngine *e = opaque;

    return e->m.vm.active || (e->ib.active && e->ib.vm);
}

static const VMStateDescription vmstate_engine_vm = {
    .name = "tessera/engine/vm",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = engine_vm_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL(m.vm.active, TesseraEngine),
        VMSTATE_UINT32(m.vm.asid, TesseraEngine),
        VMSTATE_UINT64(m.vm.root, TesseraEngine),
        VMSTATE_BOOL(ib.vm, TesseraEngine),
        VMSTATE_END_OF_LIST()
    }
};

static bool engine_preemption_needed(void *opaque)
{
    TesseraEngine *e = opaque;

    return (e->s->caps & TSR_CAP_PREEMPTION) || e->save_reg;
}

static const VMStateDescription vmstate_engine_preemption = {
    .name = "tessera/engine/preemption",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = engine_preemption_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(save_reg, TesseraEngine),
        VMSTATE_UINT64(save_addr, TesseraEngine),
        VMSTATE_BOOL(preempt_req, TesseraEngine),
        VMSTATE_BOOL(preempt_stuck, TesseraEngine),
        VMSTATE_BOOL(preempted, TesseraEngine),
        VMSTATE_BOOL(job_begun, TesseraEngine),
        VMSTATE_UINT32(job_head, TesseraEngine),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_engine = {
    .name = "tessera/engine",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_EQUAL(type, TesseraEngine),
        VMSTATE_UINT32_EQUAL(num_slots, TesseraEngine),
        VMSTATE_BOOL(enabled, TesseraEngine),
        VMSTATE_UINT64(ring_reg, TesseraEngine),
        VMSTATE_UINT32(ring_size_reg, TesseraEngine),
        VMSTATE_UINT64(status_page_reg, TesseraEngine),
        VMSTATE_UINT32(slot_select, TesseraEngine),
        VMSTATE_BOOL(halted, TesseraEngine),
        VMSTATE_BOOL(hung, TesseraEngine),
        VMSTATE_BOOL(waiting, TesseraEngine),
        VMSTATE_UINT32(head, TesseraEngine),
        VMSTATE_UINT32(tail, TesseraEngine),
        VMSTATE_UINT32(m.context, TesseraEngine),
        VMSTATE_UINT32(ib_offset, TesseraEngine),
        VMSTATE_UINT64(ring, TesseraEngine),
        VMSTATE_UINT32(ring_size, TesseraEngine),
        VMSTATE_UINT64(status_page, TesseraEngine),
        VMSTATE_UINT32(irq_sent, TesseraEngine),
        VMSTATE_STRUCT(ib, TesseraEngine, 1, vmstate_ib, TesseraIb),
        VMSTATE_UINT32(job_status, TesseraEngine),
        VMSTATE_UINT32(job_status_offset, TesseraEngine),
        VMSTATE_UINT64(job_start_ns, TesseraEngine),
        VMSTATE_UINT32_ARRAY(state, TesseraEngine, TSR_STATE_COUNT),
        VMSTATE_UINT32(state_defined, TesseraEngine),
        VMSTATE_BOOL(transfer_open, TesseraEngine),
        VMSTATE_UINT64_ARRAY(progress, TesseraEngine, 2),
        VMSTATE_STRUCT_VARRAY_POINTER_UINT32(slots, TesseraEngine, num_slots,
                                             vmstate_slot, TesseraSlot),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &vmstate_engine_vm,
        &vmstate_engine_preemption,
        NULL
    }
};

/*
 * The format of page tables, which are mostly empty and may have four million
 * entries. It consists of runs of non-zero entries in ascending order: the
 * first index and the count with 32 bits each, then the entries with 64 bits
 * each. A count of 0 ends the table. All numbers are big-endian, like the rest
 * of the stream.
 */
static void put_table(QEMUFile *f, const void *table, uint32_t num,
                      unsigned int bytes)
{
    const uint8_t *entry = table;
    uint32_t i = 0, n;

    while (i < num) {
        for (n = 0; i + n < num && ldn_he_p(entry + (i + n) * bytes, bytes);) {
            n++;
        }
        if (n) {
            qemu_put_be32(f, i);
            qemu_put_be32(f, n);
            for (uint32_t end = i + n; i < end; i++) {
                qemu_put_be64(f, ldn_he_p(entry + i * bytes, bytes));
            }
        }
        i++;                    /* the entry behind the run is 0 */
    }
    qemu_put_be32(f, 0);
    qemu_put_be32(f, 0);
}

static int get_table(QEMUFile *f, void *table, uint32_t num,
                     unsigned int bytes)
{
    uint8_t *entry = table;
    uint32_t next = 0, i, n;

    if (num) {
        memset(table, 0, (size_t)num * bytes);
    }
    for (;;) {
        i = qemu_get_be32(f);
        n = qemu_get_be32(f);
        if (!n) {
            return 0;
        }
        if (i < next || i > num || n > num - i) {
            error_report("tessera: bad page table");
            return -EINVAL;
        }
        for (next = i + n; i < next; i++) {
            stn_he_p(entry + i * bytes, bytes, qemu_get_be64(f));
        }
    }
}

static int put_ptes(QEMUFile *f, void *pv, size_t size,
                    const VMStateField *field, JSONWriter *vmdesc)
{
    const TesseraSegment *seg = pv;

    put_table(f, seg->ptes, seg->num_pages, sizeof(*seg->ptes));
    return 0;
}

static int get_ptes(QEMUFile *f, void *pv, size_t size,
                    const VMStateField *field)
{
    TesseraSegment *seg = pv;

    return get_table(f, seg->ptes, seg->num_pages, sizeof(*seg->ptes));
}

static const VMStateInfo info_ptes = {
    .name = "tessera page table",
    .get = get_ptes,
    .put = put_ptes,
};

static int put_window(QEMUFile *f, void *pv, size_t size,
                      const VMStateField *field, JSONWriter *vmdesc)
{
    const TesseraHostAperture *ha = pv;

    put_table(f, ha->table, ha->num_pages, sizeof(*ha->table));
    return 0;
}

static int get_window(QEMUFile *f, void *pv, size_t size,
                      const VMStateField *field)
{
    TesseraHostAperture *ha = pv;

    return get_table(f, ha->table, ha->num_pages, sizeof(*ha->table));
}

static const VMStateInfo info_window = {
    .name = "tessera host aperture table",
    .get = get_window,
    .put = put_window,
};

static const VMStateDescription vmstate_segment = {
    .name = "tessera/segment",
    .version_id = 2,
    .minimum_version_id = 2,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_EQUAL(id, TesseraSegment),
        VMSTATE_UINT64_EQUAL(base, TesseraSegment),
        VMSTATE_UINT64_EQUAL(size, TesseraSegment),
        VMSTATE_UINT32_EQUAL(flags, TesseraSegment),
        VMSTATE_UINT64_EQUAL(commit, TesseraSegment),
        VMSTATE_UINT32_EQUAL(page_size, TesseraSegment),
        VMSTATE_UINT32_EQUAL(num_pages, TesseraSegment),
        {
            .name = "ptes",
            .info = &info_ptes,
            .size = sizeof(TesseraSegment),
            .flags = VMS_SINGLE,
            .offset = 0,
        },
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_error = {
    .name = "tessera/error",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(type, TesseraErrorRecord),
        VMSTATE_UINT32(engine, TesseraErrorRecord),
        VMSTATE_UINT32(context, TesseraErrorRecord),
        VMSTATE_UINT32(packet, TesseraErrorRecord),
        VMSTATE_UINT32(offset, TesseraErrorRecord),
        VMSTATE_UINT32(slot, TesseraErrorRecord),
        VMSTATE_UINT64(addr, TesseraErrorRecord),
        VMSTATE_UINT32(access, TesseraErrorRecord),
        VMSTATE_END_OF_LIST()
    }
};

static bool error_records_needed(void *opaque)
{
    TesseraState *s = opaque;

    return s->err_total || s->err_select;
}

static const VMStateDescription vmstate_error_records = {
    .name = "tessera/error-records",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = error_records_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(err_select, TesseraState),
        VMSTATE_STRUCT_ARRAY(err_recs, TesseraState, TSR_ERR_TYPES, 1,
                             vmstate_error, TesseraErrorRecord),
        VMSTATE_END_OF_LIST()
    }
};

static bool maintenance_needed(void *opaque)
{
    TesseraState *s = opaque;

    return s->coh_addr || s->coh_size;
}

static const VMStateDescription vmstate_maintenance = {
    .name = "tessera/cache-maintenance",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = maintenance_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(coh_addr, TesseraState),
        VMSTATE_UINT32(coh_size, TesseraState),
        VMSTATE_END_OF_LIST()
    }
};

static bool page_states_needed(void *opaque)
{
    TesseraState *s = opaque;

    return s->cfg.strict;
}

static const VMStateDescription vmstate_page_states = {
    .name = "tessera/page-states",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = page_states_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_VBUFFER_UINT32(page_state, TesseraState, 1, NULL,
                               num_vram_pages),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_window = {
    .name = "tessera/host-aperture-window",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_EQUAL(num_pages, TesseraHostAperture),
        VMSTATE_UINT64(addr, TesseraHostAperture),
        VMSTATE_UINT32(count, TesseraHostAperture),
        {
            .name = "table",
            .info = &info_window,
            .size = sizeof(TesseraHostAperture),
            .flags = VMS_SINGLE,
            .offset = 0,
        },
        VMSTATE_END_OF_LIST()
    }
};

static bool host_aperture_needed(void *opaque)
{
    TesseraState *s = opaque;

    return s->ha->num_pages;
}

static const VMStateDescription vmstate_host_aperture = {
    .name = "tessera/host-aperture",
    .version_id = 2,
    .minimum_version_id = 2,
    .needed = host_aperture_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(ha, TesseraState, vmstate_window,
                               TesseraHostAperture),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_swizzle_range = {
    .name = "tessera/swizzle-range",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(base, TesseraSwizzleRange),
        VMSTATE_UINT32(layout, TesseraSwizzleRange),
        VMSTATE_UINT32(pitch, TesseraSwizzleRange),
        VMSTATE_UINT32(height, TesseraSwizzleRange),
        VMSTATE_BOOL(enabled, TesseraSwizzleRange),
        VMSTATE_END_OF_LIST()
    }
};

static bool swizzle_ranges_needed(void *opaque)
{
    TesseraState *s = opaque;

    return s->cfg.swizzle_ranges;
}

static const VMStateDescription vmstate_swizzle_ranges = {
    .name = "tessera/swizzle-ranges",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = swizzle_ranges_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_EQUAL(cfg.swizzle_ranges, TesseraState),
        VMSTATE_UINT32_EQUAL(cfg.swizzle_store, TesseraState),
        VMSTATE_STRUCT_VARRAY_UINT32(ranges, TesseraState, cfg.swizzle_ranges,
                                     1, vmstate_swizzle_range,
                                     TesseraSwizzleRange),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_scanout = {
    .name = "tessera/scanout",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(vrr_total, TesseraScanout),
        VMSTATE_UINT32(color, TesseraScanout),
        VMSTATE_UINT32_ARRAY(ctm, TesseraScanout, TSR_CTM_ENTRIES),
        VMSTATE_UINT32_ARRAY(gamma, TesseraScanout, TSR_GAMMA_ENTRIES),
        VMSTATE_UINT32_2DARRAY(plane, TesseraScanout, TSR_NUM_PLANES,
                               TSR_PLANE_REGS),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_writeback = {
    .name = "tessera/writeback",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(addr, TesseraWriteback),
        VMSTATE_UINT32(pitch, TesseraWriteback),
        VMSTATE_UINT32(commit, TesseraWriteback),
        VMSTATE_UINT32(status, TesseraWriteback),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_crc = {
    .name = "tessera/crc",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(frame, TesseraCrc),
        VMSTATE_UINT32(value, TesseraCrc),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_head = {
    .name = "tessera/head",
    .version_id = 2,
    .minimum_version_id = 2,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL(enabled, TesseraHead),
        VMSTATE_UINT32(int_status, TesseraHead),
        VMSTATE_UINT32(int_mask, TesseraHead),
        VMSTATE_UINT32(active, TesseraHead),
        VMSTATE_UINT32(total, TesseraHead),
        VMSTATE_UINT32(clock, TesseraHead),
        VMSTATE_UINT32(gamma_index, TesseraHead),
        VMSTATE_UINT32(edid_index, TesseraHead),
        VMSTATE_BOOL(crc_enabled, TesseraHead),
        VMSTATE_UINT64(wb_addr, TesseraHead),
        VMSTATE_UINT32(wb_pitch, TesseraHead),
        VMSTATE_BOOL(wb_capture, TesseraHead),
        VMSTATE_UINT64(vblank_ns_read, TesseraHead),
        VMSTATE_UINT32(latch_count_read, TesseraHead),
        VMSTATE_UINT64(latch_ns_read, TesseraHead),
        VMSTATE_STRUCT(regs, TesseraHead, 1, vmstate_scanout, TesseraScanout),
        VMSTATE_STRUCT(next, TesseraHead, 1, vmstate_scanout, TesseraScanout),
        VMSTATE_STRUCT(shown, TesseraHead, 1, vmstate_scanout, TesseraScanout),
        VMSTATE_BOOL(armed, TesseraHead),
        VMSTATE_UINT64(arm_ns, TesseraHead),
        VMSTATE_BOOL(refused, TesseraHead),
        VMSTATE_UINT32(committed, TesseraHead),
        VMSTATE_UINT32(latched, TesseraHead),
        VMSTATE_UINT32(latch_count, TesseraHead),
        VMSTATE_UINT64(latch_ns, TesseraHead),
        VMSTATE_UINT32(vblank_count, TesseraHead),
        VMSTATE_UINT64(vblank_ns, TesseraHead),
        VMSTATE_UINT32(blamed, TesseraHead),
        VMSTATE_UINT32(num_crcs, TesseraHead),
        VMSTATE_STRUCT_ARRAY(crcs, TesseraHead, TSR_CRC_QUEUE, 1, vmstate_crc,
                             TesseraCrc),
        VMSTATE_STRUCT(wb, TesseraHead, 1, vmstate_writeback,
                       TesseraWriteback),
        VMSTATE_BOOL(seen_connected, TesseraHead),
        VMSTATE_UINT32(seen_edid, TesseraHead),
        VMSTATE_END_OF_LIST()
    }
};

static int heads_pre_save(void *opaque)
{
    TesseraState *s = opaque;

    for (uint32_t i = 0; i < s->num_heads; i++) {
        tessera_output_save(&s->heads[i]);
    }
    return 0;
}

static bool heads_needed(void *opaque)
{
    TesseraState *s = opaque;

    return s->num_heads;
}

static const VMStateDescription vmstate_heads = {
    .name = "tessera/heads",
    .version_id = 2,
    .minimum_version_id = 2,
    .needed = heads_needed,
    .pre_save = heads_pre_save,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_EQUAL(num_heads, TesseraState),
        VMSTATE_STRUCT_VARRAY_POINTER_UINT32(heads, TesseraState, num_heads,
                                             vmstate_head, TesseraHead),
        VMSTATE_END_OF_LIST()
    }
};

/*
 * The stream has the fields of the state behind those of PCI, as if both were
 * of one structure.
 */
static const VMStateDescription vmstate_state = {
    .name = "tessera",
    .version_id = 3,
    .minimum_version_id = 3,
    .fields = (const VMStateField[]) {
        /*
         * Differs with strict, preemption, io-coherent, vm and resizable-bar,
         * and if only one side has a host aperture, swizzling ranges or a
         * display.
         */
        VMSTATE_UINT32_EQUAL(caps, TesseraState),
        VMSTATE_UINT32_EQUAL(num_segs, TesseraState),
        VMSTATE_UINT32_EQUAL(num_engines, TesseraState),
        VMSTATE_UINT32_EQUAL(num_vram_pages, TesseraState),
        VMSTATE_UINT32_EQUAL(cfg.max_ib_bytes, TesseraState),
        VMSTATE_UINT64(dummy_page, TesseraState),
        VMSTATE_UINT32(scratch, TesseraState),
        VMSTATE_UINT64(fw_addr, TesseraState),
        VMSTATE_UINT32(fw_size, TesseraState),
        VMSTATE_BOOL(fw_running, TesseraState),
        VMSTATE_UINT64(fw_base, TesseraState),
        VMSTATE_UINT64(mark_addr, TesseraState),
        VMSTATE_UINT64(mark_size, TesseraState),
        VMSTATE_UINT32(timestamp_hi, TesseraState),
        VMSTATE_UINT32(int_mask, TesseraState),
        VMSTATE_UINT32(int_status, TesseraState),
        VMSTATE_UINT32(irq_pending, TesseraState),
        VMSTATE_UINT32_ARRAY(err_count, TesseraState, TSR_ERR_TYPES),
        VMSTATE_UINT32(err_total, TesseraState),
        VMSTATE_STRUCT(err_rec, TesseraState, 1, vmstate_error,
                       TesseraErrorRecord),
        VMSTATE_STRUCT_VARRAY_UINT32(segs, TesseraState, num_segs, 1,
                                     vmstate_segment, TesseraSegment),
        VMSTATE_STRUCT_VARRAY_UINT32(engines, TesseraState, num_engines, 1,
                                     vmstate_engine, TesseraEngine),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &vmstate_error_records,
        &vmstate_maintenance,
        &vmstate_page_states,
        &vmstate_host_aperture,
        &vmstate_swizzle_ranges,
        &vmstate_heads,
        NULL
    }
};

const VMStateDescription vmstate_tessera = {
    .name = "tessera",
    .version_id = 3,
    .minimum_version_id = 3,
    .pre_load = tessera_pre_load,
    .post_load = tessera_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, TesseraPCIState),
        VMSTATE_MSIX(parent_obj, TesseraPCIState),
        VMSTATE_STRUCT(state, TesseraPCIState, 3, vmstate_state, TesseraState),
        VMSTATE_END_OF_LIST()
    }
};
