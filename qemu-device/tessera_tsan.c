/*
 * Tessera virtual GPU: exemptions from ThreadSanitizer
 *
 * The guest is responsible for races in guest memory and VRAM: it orders its
 * own accesses and those of engines by fences in that memory, which no
 * sanitizer knows. So exempt all RAM blocks, and the memory that stands in for
 * RAM elsewhere, but nothing else. Empty in other builds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_compat.h"
#include "tessera_tsan.h"

#ifdef QEMU_SANITIZE_THREAD
#include "qemu/module.h"
#include COMPAT_RAMLIST_H

/* libtsan exports this function, but no header declares it. */
void AnnotateBenignRaceSized(const char *file, int line, void *mem,
                             size_t bytes, const char *description);

/* Exempt memory in which races are the responsibility of the guest. */
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
