/*
 * Tessera virtual GPU: differences between versions of QEMU
 *
 * Everything in which QEMU 10.0 and later versions differ, as far as the device
 * and the ram-*.[ch] files are concerned. The code uses the newest names. This
 * header maps them to older ones. Headers that have moved have a macro each,
 * to be used as #include MACRO. A guard looks for a header or a macro where one
 * came with the change, and for the version of QEMU elsewhere.
 *
 * A patch to QEMU would not need this file. See the chapter on versions of QEMU
 * in the hardware document for what was built and what was only read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_COMPAT_H
#define HW_DISPLAY_TESSERA_COMPAT_H

#define TESSERA_QEMU_SINCE(major, minor) \
    (QEMU_VERSION_MAJOR > (major) || \
     (QEMU_VERSION_MAJOR == (major) && QEMU_VERSION_MINOR >= (minor)))

/* ---- Headers ------------------------------------------------------------- */

/* 10.1: exec/ has become what depends on the target, system/ the rest. */
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

/* qemu_ram_pagesize(), ram_block_discard_range() and others of a RAMBlock */
#if __has_include("system/physmem.h")
#define COMPAT_RAMBLOCK_API_H     "system/ramblock.h"
#else
#define COMPAT_RAMBLOCK_API_H     "exec/cpu-common.h"
#endif

/* 11: hw/ has become hw/core/ for what is no device. */
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

/* ---- QOM ----------------------------------------------------------------- */

/* What class_init() gets beside the class: const since 10.1. */
#define TesseraClassData        typeof(*((TypeInfo *)NULL)->class_data)

/* ---- Memory -------------------------------------------------------------- */

#if !__has_include("system/physmem.h")
#define physical_memory_snapshot_and_clear_dirty \
    cpu_physical_memory_snapshot_and_clear_dirty
#define physical_memory_range_any_dirty \
    cpu_physical_memory_get_dirty
#else
/* There is no function for ranges any more, so look at each page. */
#define physical_memory_range_any_dirty(start, len, client) ({ \
    ram_addr_t _at = (start), _end = _at + (len); \
    bool _any = false; \
    for (; _at < _end && !_any; _at += qemu_target_page_size()) { \
        _any = physical_memory_get_dirty_flag(_at, (client)); \
    } \
    _any; \
})
#endif

/* 11: a guest_memfd may be shared, too, so the name says which one is meant. */
#ifndef RAM_GUEST_MEMFD_PRIVATE
#define memory_region_has_guest_memfd_private memory_region_has_guest_memfd
#endif

/* ---- Consoles ------------------------------------------------------------ */

#if !TESSERA_QEMU_SINCE(11, 1)
#define qemu_graphic_console_create     graphic_console_init
#define qemu_graphic_console_close      graphic_console_close
#define qemu_console_set_surface        dpy_gfx_replace_surface
#define qemu_console_update             dpy_gfx_update
#define qemu_console_update_full        dpy_gfx_update_full
#endif

/*
 * What GraphicHwOps.gfx_update returns: since 11.1, whether the picture is
 * complete.
 */
#if TESSERA_QEMU_SINCE(11, 1)
#define TesseraGfxUpdated       bool
#define TESSERA_GFX_UPDATED     true
#else
#define TesseraGfxUpdated       void
#define TESSERA_GFX_UPDATED
#endif

#endif /* HW_DISPLAY_TESSERA_COMPAT_H */
