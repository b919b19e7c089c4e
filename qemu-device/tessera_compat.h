/*
 * Tessera virtual GPU: differences between versions of QEMU
 *
 * This header collects the differences between QEMU 10.0 and later versions
 * that concern the device and the ram-*.[ch] files. The code uses the newest
 * names, and this header maps them to older ones. For each header that has
 * moved there is a macro, to be used as #include MACRO. If a header or a macro
 * came with a change, the guard tests for it. Otherwise it tests the version of
 * QEMU.
 *
 * A patch to QEMU would not need this file. The chapter on versions of QEMU in
 * the hardware document says which entries were built and which were only read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_COMPAT_H
#define HW_DISPLAY_TESSERA_COMPAT_H

#define TESSERA_QEMU_SINCE(major, minor) \
    (QEMU_VERSION_MAJOR > (major) || \
     (QEMU_VERSION_MAJOR == (major) && QEMU_VERSION_MINOR >= (minor)))

/* ---- Headers ------------------------------------------------------------- */

/* 10.1: exec/ keeps the target-dependent headers, system/ has the others. */
#if __has_include("system/memory.h")
#define COMPAT_MEMORY_H           "system/memory.h"
#else
#define COMPAT_MEMORY_H           "exec/memory.h"
#endif

#if __has_include("system/address-spaces.h")
#define COMPAT_ADDRESS_SPACES_H   "system/address-spaces.h"
#else
#define COMPAT_ADDRESS_SPACES_H   "exec/address-spaces.h"
#endif

#if __has_include("system/ramblock.h")
#define COMPAT_RAMBLOCK_H         "system/ramblock.h"
#else
#define COMPAT_RAMBLOCK_H         "exec/ramblock.h"
#endif

#if __has_include("system/ramlist.h")
#define COMPAT_RAMLIST_H          "system/ramlist.h"
#else
#define COMPAT_RAMLIST_H          "exec/ramlist.h"
#endif

/* 11: MemoryRegionCache has a header of its own. */
#if __has_include("system/memory_cached.h")
#define COMPAT_MEMORY_CACHED_H    "system/memory_cached.h"
#else
#define COMPAT_MEMORY_CACHED_H    COMPAT_MEMORY_H
#endif

/* Dirty bitmaps: physical_memory_*(), in older QEMU cpu_physical_memory_*() */
#if __has_include("system/physmem.h")
#define COMPAT_PHYSMEM_H          "system/physmem.h"
#elif __has_include("system/ram_addr.h")
#define COMPAT_PHYSMEM_H          "system/ram_addr.h"
#else
#define COMPAT_PHYSMEM_H          "exec/ram_addr.h"
#endif

/* qemu_ram_pagesize(), ram_block_discard_range() and similar functions */
#if __has_include("system/physmem.h")
#define COMPAT_RAMBLOCK_API_H     "system/ramblock.h"
#else
#define COMPAT_RAMBLOCK_API_H     "exec/cpu-common.h"
#endif

/* 11: headers in hw/ that describe no device moved to hw/core/. */
#if __has_include("hw/core/boards.h")
#define COMPAT_BOARDS_H           "hw/core/boards.h"
#else
#define COMPAT_BOARDS_H           "hw/boards.h"
#endif

#if __has_include("hw/core/qdev-properties.h")
#define COMPAT_QDEV_PROPERTIES_H  "hw/core/qdev-properties.h"
#else
#define COMPAT_QDEV_PROPERTIES_H  "hw/qdev-properties.h"
#endif

#if __has_include("hw/core/resettable.h")
#define COMPAT_RESETTABLE_H       "hw/core/resettable.h"
#else
#define COMPAT_RESETTABLE_H       "hw/resettable.h"
#endif

#include COMPAT_MEMORY_H
#include "migration/vmstate.h"
#include "system/runstate.h"

/* ---- QOM ----------------------------------------------------------------- */

/* The type of class_init()'s data argument: const since 10.1. */
#define TesseraClassData        typeof(*((TypeInfo *)NULL)->class_data)

/* 10.1: a handler that returns an error is another argument. */
#if !TESSERA_QEMU_SINCE(10, 1)
#define qdev_add_vm_change_state_handler(dev, cb, cb_ret, opaque) \
    qdev_add_vm_change_state_handler(dev, cb, opaque)
#endif

/* ---- Memory -------------------------------------------------------------- */

#if !__has_include("system/physmem.h")
#define physical_memory_snapshot_and_clear_dirty \
    cpu_physical_memory_snapshot_and_clear_dirty
#define physical_memory_range_any_dirty \
    cpu_physical_memory_get_dirty
#else
/* The function for ranges is gone, so test each page. */
#define physical_memory_range_any_dirty(start, len, client) ({ \
    ram_addr_t _at = (start), _end = _at + (len); \
    bool _any = false; \
    for (; _at < _end && !_any; _at += qemu_target_page_size()) { \
        _any = physical_memory_get_dirty_flag(_at, (client)); \
    } \
    _any; \
})
#endif

/* 11: the name distinguishes a private guest_memfd from a shared one. */
#ifndef RAM_GUEST_MEMFD_PRIVATE
#define memory_region_has_guest_memfd_private memory_region_has_guest_memfd
#endif

/* ---- Migration ----------------------------------------------------------- */

/* 11.0: the events have the same names for precopy and postcopy. */
#if !TESSERA_QEMU_SINCE(11, 0)
#define MIG_EVENT_SETUP         MIG_EVENT_PRECOPY_SETUP
#endif

/* 11.1: the error names the field, so these take no hint. */
#if !TESSERA_QEMU_SINCE(11, 1)
#undef VMSTATE_UINT32_EQUAL
#undef VMSTATE_UINT64_EQUAL
#define VMSTATE_UINT32_EQUAL(f, s)      VMSTATE_UINT32_EQUAL_V(f, s, 0, NULL)
#define VMSTATE_UINT64_EQUAL(f, s)      VMSTATE_UINT64_EQUAL_V(f, s, 0, NULL)
#endif

/* ---- Consoles ------------------------------------------------------------ */

#if !TESSERA_QEMU_SINCE(11, 1)
#define qemu_graphic_console_create     graphic_console_init
#define qemu_graphic_console_close      graphic_console_close
#define qemu_console_set_surface        dpy_gfx_replace_surface
#define qemu_console_update             dpy_gfx_update
#define qemu_console_update_full        dpy_gfx_update_full
#endif

/* The result of GraphicHwOps.gfx_update: since 11.1, if the update is over. */
#if TESSERA_QEMU_SINCE(11, 1)
#define TesseraGfxUpdated       bool
#define TESSERA_GFX_UPDATED     true
#else
#define TesseraGfxUpdated       void
#define TESSERA_GFX_UPDATED
#endif

#endif /* HW_DISPLAY_TESSERA_COMPAT_H */
