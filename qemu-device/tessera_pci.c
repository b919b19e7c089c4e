/*
 * Tessera virtual GPU: the PCI device
 *
 * QOM type, properties, BARs, realize and exit, reset phases, run state.
 * Everything here runs under the BQL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_compat.h"
#include "qemu/atomic.h"
#include "qemu/cutils.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "hw/pci/msix.h"
#include "hw/pci/pci.h"
#include COMPAT_QDEV_PROPERTIES_H
#include COMPAT_RESETTABLE_H
#include COMPAT_RAMBLOCK_API_H
#include "migration/cpr.h"
#include "migration/vmstate.h"
#include "system/hostmem.h"
#include "system/replay.h"
#include "system/runstate.h"
#include "system/system.h"
#include "tessera_bar.h"
#include "tessera_coherence.h"
#include "tessera_damage.h"
#include "tessera_display.h"
#include "tessera_host_aperture.h"
#include "tessera_iommu.h"
#include "tessera_irq.h"
#include "tessera_mark.h"
#include "tessera_mmio.h"
#include "tessera_engine.h"
#include "tessera_qemu.h"
#include "tessera_range_view.h"
#include "tessera_reset.h"
#include "tessera_segments.h"
#include "tessera_vmstate.h"
#include "tessera_strict.h"
#include "tessera_swizzle_range.h"
#include "trace.h"

#define MAX_APERTURE_BYTES  (16 * GiB)
#define MAX_BAR_BYTES       (512 * GiB)
#define MAX_FIRMWARE_BYTES  (1 * GiB)
#define MAX_IB_BYTES        (256 * MiB)
#define MAX_CACHED_PAGES    (256 * KiB)
#define WAIT_POLL_MS        64

/* ---- Configuration ------------------------------------------------------- */

static const char *const descriptor_faults[] = {
    "none", "overlap", "coherent-memory", "id-zero", "duplicate-id",
    "too-many", "host-aperture-visible",
};

/* Descriptor faults are defined for the default segments only. */
static bool check_fault(const TesseraConfig *c, Error **errp)
{
    const char *name = c->descriptor_fault;

    if (name && strcmp(name, "none") && c->segment_list) {
        error_setg(errp, "tessera: x-descriptor-fault excludes segments");
        return false;
    }
    for (unsigned int i = 0; i < ARRAY_SIZE(descriptor_faults); i++) {
        if (!name || !strcmp(name, descriptor_faults[i])) {
            return true;
        }
    }
    error_setg(errp, "tessera: x-descriptor-fault=%s is not known", name);
    return false;
}

/* Check that a Resizable BAR capability can describe the size. */
static bool check_bar_size(const TesseraConfig *c, Error **errp)
{
    uint64_t bytes = c->resizable_bar_size;

    if (bytes && (!is_power_of_2(bytes) || bytes < MiB ||
                  bytes < 4 * tessera_segments_visible_bytes(c) ||
                  bytes > MAX_BAR_BYTES)) {
        error_setg(errp, "tessera: resizable-bar-size must be a power of two, "
                   "up to 512G and four times what the CPU sees at least");
        return false;
    }
    return true;
}

static bool check_config(TesseraPCIState *d, Error **errp)
{
    const qemu_edid_info *edid = &d->edid;
    TesseraConfig *c = &d->state.cfg;
    const uint64_t page = TSR_PAGE_SIZE;
    uint64_t unit;

    if (c->page_size != 4096 && c->page_size != 65536) {
        error_setg(errp, "tessera: page-size must be 4096 or 65536");
        return false;
    }
    unit = c->page_size;
    return tessera_segments_configure(c, errp) &&
           tessera_check_size("host-aperture-size", c->host_aperture_size, 0,
                              MAX_APERTURE_BYTES, unit, errp) &&
           tessera_check_size("firmware-size", c->firmware_size, 64 * KiB,
                              MAX_FIRMWARE_BYTES, page, errp) &&
           tessera_check_size("swizzle-ranges", c->swizzle_ranges, 0,
                              TSR_MAX_SWIZZLE_RANGES, 1, errp) &&
           tessera_check_size("render-engines", c->render_engines, 1,
                              TSR_MAX_ENGINES - 1, 1, errp) &&
           tessera_check_size("paging-engines", c->paging_engines, 1,
                              TSR_MAX_ENGINES - c->render_engines, 1, errp) &&
           tessera_check_size("num-slots", c->num_slots, 1, TSR_MAX_SLOTS, 1,
                              errp) &&
           tessera_check_size("max-ib-bytes", c->max_ib_bytes, page,
                              MAX_IB_BYTES, page, errp) &&
           tessera_check_size("cached-pages", c->cached_pages, 0,
                              MAX_CACHED_PAGES, 1, errp) &&
           tessera_check_size("outputs", c->outputs, 0, TSR_MAX_CRTCS, 1,
                              errp) &&
           tessera_check_size("xres", edid->prefx, 64, TESSERA_MAX_WIDTH, 1,
                              errp) &&
           tessera_check_size("yres", edid->prefy, 64, TESSERA_MAX_HEIGHT, 1,
                              errp) &&
           tessera_check_size("refresh_rate", edid->refresh_rate, 1000,
                              500000, 1, errp) &&
           check_bar_size(c, errp) &&
           check_fault(c, errp);
}

/* ---- Reset --------------------------------------------------------------- */

/*
 * No engine accesses memory any more when the first device enters its hold
 * phase. The bus may still list an unplugged device, which has freed its
 * resources.
 */
static void reset_enter(Object *obj, ResetType type)
{
    TesseraState *s = &TESSERA(obj)->state;

    if (!s->gone) {
        tessera_device_reset_enter(s);
    }
}

/* A reset of a bus, which the guest can request, is none of the machine. */
static bool machine_is_reset(void)
{
    return bus_is_in_reset(sysbus_get_default());
}

static void reset_hold(Object *obj, ResetType type)
{
    TesseraState *s = &TESSERA(obj)->state;

    if (s->gone) {
        return;
    }
    tessera_device_reset_hold(s);
    tessera_bar_reset(s);
    /* Memory keeps its contents in S3, although all devices are reset. */
    if (type != RESET_TYPE_WAKEUP && machine_is_reset()) {
        tessera_coherence_machine_reset(s);
    }
}

static void run_state_changed(void *opaque, bool running, RunState state)
{
    TesseraState *s = opaque;

    s->vm_running = running;
    if (running) {
        if (s->distrusted) {
            tessera_device_forget(s);
        }
        tessera_engines_resume(s);
        tessera_irq_resume(s);
        tessera_mark_resume(s);
        tessera_display_resume(s);
        return;
    }
    tessera_engines_pause(s);
    /*
     * A fault of an IOMMU may have unplugged the device meanwhile. Its memory
     * stays at least as long as the BQL is held: the bus drops its reference
     * through RCU.
     */
    if (s->gone) {
        return;
    }
    tessera_device_reset_stop(s);
    tessera_range_views_write_back(s);
    tessera_coherence_stop(s);
    tessera_damage_stop(s);
}

/* ---- Fault injection, settable while the device runs --------------------- */

typedef struct FaultProperty {
    const char *name;
    const char *description;
    size_t offset;
} FaultProperty;

static const FaultProperty fault_properties[] = {
    { "x-drop-irq", "Engine interrupts to drop from now on",
      offsetof(TesseraPCIState, state.drop_irq) },
    { "x-paging-delay-us", "Microseconds each paging job is delayed",
      offsetof(TesseraPCIState, state.paging_delay_us) },
    { "x-render-delay-us", "Microseconds each render job is delayed",
      offsetof(TesseraPCIState, state.render_delay_us) },
    { "x-fence-gap-us", "Microseconds between the steps of a fence",
      offsetof(TesseraPCIState, state.fence_gap_us) },
    { "x-fail-dma", "Bus accesses of packets that fail from now on",
      offsetof(TesseraPCIState, state.fail_dma) },
    { "x-hold-after", "Points where packets can be interrupted that are passed "
      "before an engine stays at one, until a pause or reset; 0: never",
      offsetof(TesseraPCIState, state.hold_after) },
    { "x-stick-preempt", "Preemption requests from now on that only a reset "
      "answers", offsetof(TesseraPCIState, state.stick_preempt) },
    { "x-fail-reset", "Device resets by the guest that do not end: bit 0 the "
      "next one, bit 1 the one behind it, and so on",
      offsetof(TesseraPCIState, state.fail_reset) },
    { "x-fail-mapping", "Mappings of the host aperture that the host refuses "
      "from now on", offsetof(TesseraPCIState, state.fail_mapping) },
    { "x-picture-us", "Microseconds that a picture takes at least, for the "
      "device's budget",
      offsetof(TesseraPCIState, state.picture_us) },
    { "x-wait-poll-ms", "Most milliseconds between two looks of a WAIT that "
      "nothing wakes, default 64; 0: it looks only when it is woken",
      offsetof(TesseraPCIState, state.wait_poll_ms) },
    { "x-refuse-width", "Width of surfaces that planes refuse; 0: none",
      offsetof(TesseraPCIState, state.refuse_width) },
};

static void fault_get(Object *obj, Visitor *v, const char *name, void *opaque,
                      Error **errp)
{
    const FaultProperty *prop = opaque;
    uint32_t *field = (void *)((char *)TESSERA(obj) + prop->offset);
    uint32_t value = qatomic_read(field);

    visit_type_uint32(v, name, &value, errp);
}

static void fault_set(Object *obj, Visitor *v, const char *name, void *opaque,
                      Error **errp)
{
    const FaultProperty *prop = opaque;
    uint32_t *field = (void *)((char *)TESSERA(obj) + prop->offset);
    uint32_t value;

    if (visit_type_uint32(v, name, &value, errp)) {
        qatomic_set(field, value);
    }
}

static void hang_get(Object *obj, Visitor *v, const char *name, void *opaque,
                     Error **errp)
{
    int32_t value = qatomic_read(&TESSERA(obj)->state.hang_engine);

    visit_type_int32(v, name, &value, errp);
}

static void hang_set(Object *obj, Visitor *v, const char *name, void *opaque,
                     Error **errp)
{
    TesseraState *s = &TESSERA(obj)->state;
    int64_t only;
    int32_t value;

    if (!visit_type_int32(v, name, &value, errp)) {
        return;
    }
    if (value < -1) {
        /* A hang that is pending for another engine stays pending. */
        only = -2 - (int64_t)value;
        if (only < s->num_engines) {
            qatomic_cmpxchg(&s->hang_engine, only, -1);
            tessera_engine_let_go(&s->engines[only]);
        }
        return;
    }
    qatomic_set(&s->hang_engine, value);
    if (value == -1) {
        for (unsigned int i = 0; i < s->num_engines; i++) {
            tessera_engine_let_go(&s->engines[i]);
        }
    }
}

static void halt_get(Object *obj, Visitor *v, const char *name, void *opaque,
                     Error **errp)
{
    TesseraState *s = &TESSERA(obj)->state;
    uint32_t value = s->num_engines ? 0 : s->halt_job;

    for (unsigned int i = 0; i < s->num_engines; i++) {
        value = MAX(value, qatomic_read(&s->engines[i].halt_job));
    }
    visit_type_uint32(v, name, &value, errp);
}

static void halt_set(Object *obj, Visitor *v, const char *name, void *opaque,
                     Error **errp)
{
    TesseraState *s = &TESSERA(obj)->state;
    uint32_t value;

    if (!visit_type_uint32(v, name, &value, errp)) {
        return;
    }
    s->halt_job = value;
    for (unsigned int i = 0; i < s->num_engines; i++) {
        qatomic_set(&s->engines[i].halt_job,
                    s->engines[i].type == TSR_ENGINE_RENDER ? value : 0);
    }
}

static void errors_get(Object *obj, Visitor *v, const char *name,
                       void *opaque, Error **errp)
{
    TesseraState *s = &TESSERA(obj)->state;
    uint32_t value;

    qemu_mutex_lock(&s->err_lock);
    value = s->err_total;
    qemu_mutex_unlock(&s->err_lock);
    visit_type_uint32(v, name, &value, errp);
}

static void pictures_get(Object *obj, Visitor *v, const char *name,
                         void *opaque, Error **errp)
{
    visit_type_uint32(v, name, &TESSERA(obj)->state.pictures, errp);
}

static void views_get(Object *obj, Visitor *v, const char *name, void *opaque,
                      Error **errp)
{
    uint32_t is_ram = TESSERA(obj)->views.ptr != NULL;

    visit_type_uint32(v, name, &is_ram, errp);
}

static void cached_get(Object *obj, Visitor *v, const char *name,
                       void *opaque, Error **errp)
{
    uint32_t value = tessera_coherence_pages(&TESSERA(obj)->state);

    visit_type_uint32(v, name, &value, errp);
}

static void log_get(Object *obj, Visitor *v, const char *name, void *opaque,
                    Error **errp)
{
    TesseraPCIState *d = TESSERA(obj);
    uint32_t value = memory_region_is_logging(d->vram, DIRTY_MEMORY_VGA) |
                     (d->ha.is_ram && memory_region_is_logging(&d->ha.ram.mr,
                                                    DIRTY_MEMORY_VGA)) << 1;

    visit_type_uint32(v, name, &value, errp);
}

static void add_fault_properties(ObjectClass *klass)
{
    for (unsigned int i = 0; i < ARRAY_SIZE(fault_properties); i++) {
        const FaultProperty *p = &fault_properties[i];

        object_class_property_add(klass, p->name, "uint32", fault_get,
                                  fault_set, NULL, (void *)p);
        object_class_property_set_description(klass, p->name, p->description);
    }
    object_class_property_add(klass, "x-hang-engine", "int32", hang_get,
                              hang_set, NULL, NULL);
    object_class_property_set_description(klass, "x-hang-engine",
        "Engine whose next job hangs until a reset; -1: none, and those that "
        "hang go on; -2 - N: engine N goes on");
    object_class_property_add(klass, "x-halt-job", "uint32", halt_get,
                              halt_set, NULL, NULL);
    object_class_property_set_description(klass, "x-halt-job",
        "Which job of each render engine from now on halts it, with the "
        "interrupt of the one before it dropped; 0: none");
    object_class_property_add(klass, "x-error-total", "uint32", errors_get,
                              NULL, NULL, NULL);
    object_class_property_set_description(klass, "x-error-total",
        "Guest errors counted since the last clear (read-only)");
    object_class_property_add(klass, "x-range-views", "uint32", views_get, NULL,
                              NULL, NULL);
    object_class_property_set_description(klass, "x-range-views",
        "1 if what swizzling ranges show is memory, 0 if it traps (read-only)");
    object_class_property_add(klass, "x-pictures", "uint32", pictures_get,
                              NULL, NULL, NULL);
    object_class_property_set_description(klass, "x-pictures",
        "Pictures drawn for consoles (read-only)");
    object_class_property_add(klass, "x-dirty-log", "uint32", log_get, NULL,
                              NULL, NULL);
    object_class_property_set_description(klass, "x-dirty-log",
        "Whether stores are logged for consoles: bit 0 to VRAM, bit 1 through "
        "the host aperture (read-only)");
    object_class_property_add(klass, "x-cached-pages", "uint32", cached_get,
                              NULL, NULL, NULL);
    object_class_property_set_description(klass, "x-cached-pages",
        "Pages of RAM whose memory is kept apart from CPU caches (read-only)");
}

/* ---- Monitors, connected while the device runs --------------------------- */

static const char *const connected_names[TSR_MAX_CRTCS] = {
    "connected0", "connected1", "connected2", "connected3",
};

static uint32_t connected_index(const char *name)
{
    return name[strlen(name) - 1] - '0';
}

static void connected_get(Object *obj, Visitor *v, const char *name,
                          void *opaque, Error **errp)
{
    TesseraState *s = &TESSERA(obj)->state;
    bool value = s->cfg.connected & (1u << connected_index(name));

    visit_type_bool(v, name, &value, errp);
}

static void connected_set(Object *obj, Visitor *v, const char *name,
                          void *opaque, Error **errp)
{
    bool value;

    if (visit_type_bool(v, name, &value, errp)) {
        tessera_display_plug(&TESSERA(obj)->state, connected_index(name),
                             value);
    }
}

static void add_connected_properties(ObjectClass *klass)
{
    for (unsigned int i = 0; i < TSR_MAX_CRTCS; i++) {
        object_class_property_add(klass, connected_names[i], "bool",
                                  connected_get, connected_set, NULL, NULL);
        object_class_property_set_description(klass, connected_names[i],
            "Whether a monitor is plugged there, default on");
    }
}

/* ---- Properties ---------------------------------------------------------- */

static const Property tessera_properties[] = {
    DEFINE_PROP_STRING("segments", TesseraPCIState, state.cfg.segment_list),
    DEFINE_PROP_SIZE("vram-size", TesseraPCIState,
                     state.cfg.vram_size, 64 * MiB),
    DEFINE_PROP_SIZE("vram-hidden-size", TesseraPCIState,
                     state.cfg.vram_hidden_size, 192 * MiB),
    DEFINE_PROP_LINK("memdev", TesseraPCIState, memdev, TYPE_MEMORY_BACKEND,
                     HostMemoryBackend *),
    DEFINE_PROP_SIZE("agp-ro-size", TesseraPCIState,
                     state.cfg.agp_ro_size, 64 * MiB),
    DEFINE_PROP_SIZE("agp-ro-commit", TesseraPCIState,
                     state.cfg.agp_ro_commit, 0),
    DEFINE_PROP_SIZE("gart-size", TesseraPCIState,
                     state.cfg.gart_size, 256 * MiB),
    DEFINE_PROP_SIZE("gart-commit", TesseraPCIState, state.cfg.gart_commit, 0),
    DEFINE_PROP_SIZE("firmware-size", TesseraPCIState, state.cfg.firmware_size,
                     8 * MiB),
    DEFINE_PROP_SIZE("host-aperture-size", TesseraPCIState,
                     state.cfg.host_aperture_size, 64 * MiB),
    DEFINE_PROP_SIZE32("page-size", TesseraPCIState, state.cfg.page_size, 4096),
    DEFINE_PROP_UINT32("swizzle-ranges", TesseraPCIState,
                       state.cfg.swizzle_ranges, 8),
    DEFINE_PROP_SIZE32("swizzle-store", TesseraPCIState,
                       state.cfg.swizzle_store, 0),
    DEFINE_PROP_UINT32("render-engines", TesseraPCIState,
                       state.cfg.render_engines, 1),
    DEFINE_PROP_UINT32("paging-engines", TesseraPCIState,
                       state.cfg.paging_engines, 1),
    DEFINE_PROP_UINT32("num-slots", TesseraPCIState, state.cfg.num_slots, 64),
    DEFINE_PROP_SIZE32("max-ib-bytes", TesseraPCIState, state.cfg.max_ib_bytes,
                       16 * MiB),
    DEFINE_PROP_BOOL("io-coherent", TesseraPCIState,
                     state.cfg.io_coherent, true),
    DEFINE_PROP_UINT32("cached-pages", TesseraPCIState,
                       state.cfg.cached_pages, 16 * KiB),
    DEFINE_PROP_BOOL("preemption", TesseraPCIState, state.cfg.preemption, true),
    DEFINE_PROP_BOOL("resizable-bar", TesseraPCIState,
                     state.cfg.resizable_bar, false),
    DEFINE_PROP_SIZE("resizable-bar-size", TesseraPCIState,
                     state.cfg.resizable_bar_size, 0),
    DEFINE_PROP_BOOL("vm", TesseraPCIState, state.cfg.vm, true),
    DEFINE_PROP_BOOL("vram-preserved", TesseraPCIState,
                     state.cfg.vram_preserved, false),
    DEFINE_PROP_BOOL("strict", TesseraPCIState, state.cfg.strict, false),
    DEFINE_PROP_UINT32("outputs", TesseraPCIState, state.cfg.outputs, 1),
    DEFINE_PROP_UINT32("xres", TesseraPCIState, edid.prefx, 1280),
    DEFINE_PROP_UINT32("yres", TesseraPCIState, edid.prefy, 800),
    DEFINE_PROP_UINT32("xmax", TesseraPCIState, edid.maxx, 0),
    DEFINE_PROP_UINT32("ymax", TesseraPCIState, edid.maxy, 0),
    DEFINE_PROP_UINT32("refresh_rate", TesseraPCIState, edid.refresh_rate,
                       60000),
    DEFINE_PROP_BOOL("variable-refresh", TesseraPCIState,
                     state.cfg.variable_refresh, false),
    DEFINE_PROP_BOOL("x-lose-vram", TesseraPCIState,
                     state.cfg.lose_vram, false),
    DEFINE_PROP_STRING("x-descriptor-fault", TesseraPCIState,
                       state.cfg.descriptor_fault),
};

static const char *const property_docs[][2] = {
    { "segments",
      "KIND:SIZE[:COMMIT]/..., the segments in the order of their numbers, "
      "of kinds vram, vram-hidden, agp-ro, gart and uma; instead of sizes" },
    { "vram-size", "CPU-visible VRAM (segment 1), default 64M" },
    { "memdev", "Backend whose memory all VRAM is; default: the device's own" },
    { "vram-hidden-size",
      "VRAM the CPU does not see (segment 2), default 192M; 0: none" },
    { "agp-ro-size",
      "Aperture the GPU only reads (segment 3), default 64M; 0: none" },
    { "agp-ro-commit", "Commit limit of segment 3; 0 (default): its size" },
    { "gart-size", "General aperture (segment 4), default 256M" },
    { "gart-commit", "Commit limit of segment 4; 0 (default): its size" },
    { "firmware-size", "Hidden VRAM in no segment, default 8M" },
    { "host-aperture-size",
      "Window onto VRAM the CPU does not see (BAR 4), default 64M; 0: none" },
    { "page-size",
      "Granularity of the memory segments and the host aperture: 4096 "
      "(default) or 65536" },
    { "swizzle-ranges",
      "Swizzled surfaces that BAR 2 can show linear, default 8" },
    { "swizzle-store",
      "Bytes of a row of each of them, together; 0 (default): no limit" },
    { "render-engines", "Number of render engines, default 1" },
    { "paging-engines", "Number of paging engines, default 1" },
    { "num-slots", "Binding slots of each engine, default 64" },
    { "max-ib-bytes", "Largest indirect buffer, default 16M" },
    { "io-coherent",
      "Accesses to system pages can snoop CPU caches, default on; off shows "
      "what is missing of cache maintenance" },
    { "cached-pages",
      "Most pages of RAM whose memory is kept apart from CPU caches, 8 KiB "
      "each, default 16384" },
    { "preemption",
      "Engines can be preempted: jobs are saved and go on later, default on" },
    { "resizable-bar",
      "The guest can have BAR 2 show all memory segments, default off" },
    { "resizable-bar-size",
      "Size of BAR 2 that it can choose; 0 (default): what that takes" },
    { "vm", "GPU virtual addresses, default on" },
    { "vram-preserved",
      "Announce that visible VRAM keeps its contents over standby, default off" },
    { "strict", "Referee memory ownership and engine state, default off" },
    { "outputs", "Heads of the display, 0 to 4, default 1" },
    { "xres", "Preferred width of each monitor, default 1280" },
    { "yres", "Preferred height of each monitor, default 800" },
    { "xmax", "Largest width monitors list; 0 (default): the device's" },
    { "ymax", "Largest height monitors list; 0 (default): the device's" },
    { "refresh_rate", "Preferred rate of each monitor in mHz, default 60000" },
    { "variable-refresh",
      "Monitors with frames of variable length, 8 to 20 ms, default off" },
    { "x-descriptor-fault",
      "Report bad segment descriptors: none, overlap, coherent-memory, "
      "id-zero, duplicate-id, too-many, host-aperture-visible" },
};

/* ---- Life cycle ---------------------------------------------------------- */

/* The backend has to be shared, as the host aperture maps pages of its file. */
static bool use_memdev(TesseraPCIState *d, Error **errp)
{
    g_autofree char *name = host_memory_backend_get_name(d->memdev);
    MemoryRegion *mr = host_memory_backend_get_memory(d->memdev);
    uint64_t bytes = d->state.vram_bytes;
    Object *obj = OBJECT(d->memdev);

    /*
     * Some devices do not mark the backend that they use as mapped. But then
     * its RAM block has a name.
     */
    if (host_memory_backend_is_mapped(d->memdev) ||
        *qemu_ram_get_idstr(mr->ram_block)) {
        error_setg(errp, "tessera: memdev %s is in use", name);
        return false;
    }
    if (memory_region_size(mr) != bytes) {
        error_setg(errp, "tessera: memdev %s has %" PRIu64 " bytes, video "
                   "memory takes %" PRIu64, name, memory_region_size(mr),
                   bytes);
        return false;
    }
    if (!qemu_ram_is_shared(mr->ram_block)) {
        error_setg(errp, "tessera: memdev %s needs share=on", name);
        return false;
    }
    if (memory_region_is_rom(mr)) {
        error_setg(errp, "tessera: memdev %s is read-only", name);
        return false;
    }
    /* QEMU can neither read such memory nor track writes to it. */
    if (memory_region_has_guest_memfd_private(mr)) {
        error_setg(errp, "tessera: memdev %s is the guest's alone", name);
        return false;
    }
    d->vram_stays = object_property_get_bool(obj, "prealloc", &error_abort);
    d->vram_not_dumped = !object_property_get_bool(obj, "dump", &error_abort);
    host_memory_backend_set_mapped(d->memdev, true);
    d->backend = d->memdev;
    object_ref(obj);
    d->vram = mr;
    return true;
}

/* Called after the last use of the memory and its file. */
static void free_backend(TesseraPCIState *d)
{
    if (d->backend) {
        host_memory_backend_set_mapped(d->backend, false);
        object_unref(OBJECT(d->backend));
    }
}

static bool init_own_vram(TesseraPCIState *d, Error **errp)
{
    /*
     * Make it shared, so that a file descriptor backs it where the host
     * permits.
     */
    return memory_region_init_ram_flags_nomigrate(d->vram, OBJECT(d),
                                                  "tessera.vram",
                                                  d->state.vram_bytes,
                                                  RAM_SHARED, errp);
}

static bool init_vram(TesseraPCIState *d, Error **errp)
{
    if (!(d->memdev ? use_memdev(d, errp) : init_own_vram(d, errp))) {
        return false;
    }
    vmstate_register_ram(d->vram, DEVICE(d));
    d->state.vram_ptr = memory_region_get_ram_ptr(d->vram);
    tessera_bar_init(&d->state);
    return true;
}

/*
 * QEMU 10.0 keeps the file descriptor of shared RAM in a list, under the path
 * of its device. When qemu_ram_free() is called, the device has no path any
 * more, so the entry stays. The next device at the same path would use this
 * descriptor, which is closed or belongs to another file. So delete the entry
 * here.
 */
static void forget_vram_file(TesseraPCIState *d)
{
    g_autofree char *path = qdev_get_dev_path(DEVICE(d));
    g_autofree char *name = g_strdup_printf("%s/%s", path,
                                            memory_region_name(d->vram));

    cpr_delete_fd(name, 0);
}

static void fini_vram(TesseraPCIState *d)
{
    if (!d->backend) {
        forget_vram_file(d);
    }
    tessera_bar_fini(&d->state);
    vmstate_unregister_ram(d->vram, DEVICE(d));
}

static bool init_bars(TesseraPCIState *d, Error **errp)
{
    PCIDevice *pdev = PCI_DEVICE(d);

    memory_region_init_io(&d->mmio, OBJECT(d), &tessera_mmio_ops, &d->state,
                          "tessera.mmio", TSR_MMIO_SIZE);
    pci_register_bar(pdev, TSR_BAR_MMIO, PCI_BASE_ADDRESS_SPACE_MEMORY,
                     &d->mmio);
    pci_register_bar(pdev, TSR_BAR_VRAM, PCI_BASE_ADDRESS_SPACE_MEMORY |
                     PCI_BASE_ADDRESS_MEM_TYPE_64 |
                     PCI_BASE_ADDRESS_MEM_PREFETCH, &d->vram_bar);
    tessera_bar_offer(&d->state);
    if (msix_init_exclusive_bar(pdev, TSR_NUM_VECTORS, TSR_BAR_MSIX, errp)) {
        return false;
    }
    for (unsigned int i = 0; i < TSR_NUM_VECTORS; i++) {
        msix_vector_use(pdev, i);
    }
    return true;
}

static void at_exit(Notifier *n, void *data)
{
    tessera_qemu_log_totals(container_of(n, TesseraPCIState, exit_notifier));
}

static void tessera_realize(PCIDevice *pdev, Error **errp)
{
    TesseraPCIState *d = TESSERA(pdev);
    TesseraState *s = &d->state;

    if (s->gone) {
        error_setg(errp, "tessera: an unplugged device cannot be used again");
        return;
    }
    if (sizeof(void *) < sizeof(uint64_t)) {
        error_setg(errp, "tessera: 32-bit hosts are not supported");
        return;
    }
    /*
     * Engines are host threads, so the device clock advances while they work. A
     * replay blocker does not help, because QEMU checks blockers only when the
     * machine starts.
     */
    if (replay_mode != REPLAY_MODE_NONE) {
        error_setg(errp, "tessera: record and replay are not supported");
        return;
    }
    if (!check_config(d, errp)) {
        return;
    }
    if (!pci_bus_is_express(pci_get_bus(pdev))) {
        pdev->cap_present &= ~QEMU_PCI_CAP_EXPRESS;
    } else if (pcie_endpoint_cap_init(pdev, 0) < 0) {
        error_setg(errp, "tessera: no room for the PCI Express capability");
        return;
    }
    tessera_coherence_init(s);
    tessera_segments_build(s);
    if (!init_vram(d, errp)) {
        goto err_segments;
    }
    if (!init_bars(d, errp)) {
        goto err_vram;
    }
    s->caps = (s->cfg.preemption ? TSR_CAP_PREEMPTION : 0) |
              (s->cfg.io_coherent ? TSR_CAP_IO_COHERENT : 0) |
              (s->cfg.strict ? TSR_CAP_STRICT : 0) |
              (s->cfg.host_aperture_size ? TSR_CAP_HOST_APERTURE : 0) |
              (s->cfg.swizzle_ranges ? TSR_CAP_SWIZZLE_RANGES : 0) |
              (s->rebar ? TSR_CAP_RESIZABLE_BAR : 0) |
              (s->cfg.vm ? TSR_CAP_VM : 0) |
              (s->cfg.outputs ? TSR_CAP_DISPLAY : 0);
    s->num_vram_pages = s->vram_bytes >> TSR_PAGE_SHIFT;
    s->page_state = g_new0(uint8_t, s->num_vram_pages);
    /* A suspended guest is woken up without a start of the machine. */
    s->vm_running = runstate_is_live(runstate_get());
    tessera_host_aperture_init(s);
    tessera_irq_init(s);
    tessera_mark_init(s);
    tessera_qemu_init(d);
    tessera_reset_init(s);
    tessera_iommu_init(s);
    tessera_engines_init(s);
    tessera_display_init(s);
    d->vmstate_entry = qdev_add_vm_change_state_handler(DEVICE(d),
                                                        run_state_changed, NULL,
                                                        s);
    d->exit_notifier.notify = at_exit;
    qemu_add_exit_notifier(&d->exit_notifier);
    return;

err_vram:
    fini_vram(d);
err_segments:
    tessera_segments_free(s);
    tessera_coherence_fini(s);
    tessera_coherence_free(s);
}

/*
 * State that a vCPU may still use is freed in instance_finalize: a vCPU that
 * found a register before the BARs were removed may get the BQL only after
 * this.
 */
static void tessera_exit(PCIDevice *pdev)
{
    TesseraPCIState *d = TESSERA(pdev);
    TesseraState *s = &d->state;

    s->gone = true;
    qemu_remove_exit_notifier(&d->exit_notifier);
    qemu_del_vm_change_state_handler(d->vmstate_entry);
    tessera_engines_stop(s);
    tessera_iommu_fini(s);
    tessera_display_unplug(s);
    tessera_qemu_log_totals(d);
    tessera_reset_fini(s);
    tessera_qemu_fini(d);
    tessera_irq_fini(s);
    msix_unuse_all_vectors(pdev);
    msix_uninit_exclusive_bar(pdev);
    tessera_host_aperture_fini(s);
    tessera_coherence_fini(s);
    fini_vram(d);
}

static void free_state(TesseraState *s)
{
    tessera_engines_free(s);
    tessera_display_free(s);
    tessera_coherence_free(s);
    tessera_host_aperture_free(s);
    tessera_segments_free(s);
    g_free(s->page_state);
    s->page_state = NULL;
}

static void tessera_instance_init(Object *obj)
{
    TesseraPCIState *d = TESSERA(obj);
    TesseraState *s = &d->state;

    PCI_DEVICE(obj)->cap_present |= QEMU_PCI_CAP_EXPRESS;
    d->vram = &d->own_vram;
    s->hang_engine = -1;
    s->wait_poll_ms = WAIT_POLL_MS;
    s->cfg.connected = (1u << TSR_MAX_CRTCS) - 1;
    tessera_qemu_create(d);
    tessera_errors_init(s);
    tessera_master_init(&s->cpu, s, TESSERA_NO_ENGINE);
}

static void tessera_instance_finalize(Object *obj)
{
    TesseraPCIState *d = TESSERA(obj);
    TesseraState *s = &d->state;

    free_state(s);
    free_backend(d);
    tessera_master_fini(&s->cpu);
    tessera_errors_fini(s);
    tessera_qemu_free(d);
}

static void tessera_class_init(ObjectClass *klass, TesseraClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *k = PCI_DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    k->realize = tessera_realize;
    k->exit = tessera_exit;
    k->config_write = tessera_bar_config_write;
    k->vendor_id = TSR_PCI_VENDOR_ID;
    k->device_id = TSR_PCI_DEVICE_ID;
    k->revision = TSR_PCI_REVISION;
    k->class_id = TSR_PCI_CLASS;
    rc->phases.enter = reset_enter;
    rc->phases.hold = reset_hold;
    dc->desc = "Tessera virtual GPU";
    dc->vmsd = &vmstate_tessera;
    set_bit(DEVICE_CATEGORY_DISPLAY, dc->categories);
    device_class_set_props(dc, tessera_properties);
    for (unsigned int i = 0; i < ARRAY_SIZE(property_docs); i++) {
        object_class_property_set_description(klass, property_docs[i][0],
                                              property_docs[i][1]);
    }
    add_connected_properties(klass);
    add_fault_properties(klass);
}

static const TypeInfo tessera_info = {
    .name = TYPE_TESSERA,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(TesseraPCIState),
    .instance_init = tessera_instance_init,
    .instance_finalize = tessera_instance_finalize,
    .class_init = tessera_class_init,
    .interfaces = (InterfaceInfo[]) {
        { INTERFACE_PCIE_DEVICE },
        { INTERFACE_CONVENTIONAL_PCI_DEVICE },
        { }
    },
};

static void tessera_register_types(void)
{
    type_register_static(&tessera_info);
}

type_init(tessera_register_types)
