/*
 * Tessera virtual GPU: what ThreadSanitizer is told
 *
 * The contents of guest memory and of VRAM are the guest's affair: it orders
 * what it and the engines do with them by fences in that memory, which no
 * sanitizer knows, or it gets what it gets. All RAM blocks are exempt, what
 * plays memory elsewhere, and nothing else. Empty in other builds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_compat.h"
#include "tessera_tsan.h"

#ifdef QEMU_SANITIZE_THREAD
#include "qemu/module.h"
#include COMPAT_RAMLIST_H

/* libtsan has it, and no header. */
void AnnotateBenignRaceSized(const char *file, int line, void *mem,
                             size_t bytes, const char *description);

/* Whose contents are the guest's affair. */
void tessera_tsan_exempt(void *mem, size_t bytes)
{
    AnnotateBenignRaceSized(__FILE__, __LINE__, mem, bytes, "guest memory");
}

static void block_added(RAMBlockNotifier *n, void *host, size_t size,
                        size_t max_size)
{
    tessera_tsan_exempt(host, max_size);
}

static void tessera_tsan_init(void)
{
    static RAMBlockNotifier notifier = { .ram_block_added = block_added };

    ram_block_notifier_add(&notifier);
}

type_init(tessera_tsan_init)
#endif
