/*
 * Tessera virtual GPU: detection of writes to pages of a mapping
 *
 * Uses the host's kernel (Linux 6.9 and later), which write-protects the pages
 * and records the first write to each (UFFD_FEATURE_WP_ASYNC). A write either
 * precedes the new protection of its page (PAGEMAP_SCAN), so that its bytes are
 * visible, or is recorded. So no write is missed: not by a thread of an
 * emulated CPU, by KVM or by another device. QEMU's own dirty log cannot ensure
 * that for a device that must not wait for the CPUs: see ram-dirty.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/madvise.h"
#include "tessera_written.h"

#ifdef CONFIG_LINUX
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <linux/userfaultfd.h>

/* Headers of older kernels lack these; the numbers are the kernel's ABI. */
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY         1
#endif
#ifndef UFFD_FEATURE_WP_UNPOPULATED
#define UFFD_FEATURE_WP_UNPOPULATED (1 << 13)
#endif
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC       (1 << 15)
#endif
#ifndef PAGEMAP_SCAN
#define PAGE_IS_WRITTEN             (1 << 1)
#define PAGE_IS_PRESENT             (1 << 3)
#define PM_SCAN_WP_MATCHING         (1 << 0)
#define PM_SCAN_CHECK_WPASYNC       (1 << 1)

struct page_region {
    uint64_t start;
    uint64_t end;
    uint64_t categories;
};

struct pm_scan_arg {
    uint64_t size;
    uint64_t flags;
    uint64_t start;
    uint64_t end;
    uint64_t walk_end;
    uint64_t vec;
    uint64_t vec_len;
    uint64_t max_pages;
    uint64_t category_inverted;
    uint64_t category_mask;
    uint64_t category_anyof_mask;
    uint64_t return_mask;
};

#define PAGEMAP_SCAN                _IOWR('f', 16, struct pm_scan_arg)
#endif

#define REGIONS 64              /* written regions for each scan */

static bool watch(TesseraWritten *w, uint64_t bytes)
{
    struct uffdio_api api = {
        .api = UFFD_API,
        .features = UFFD_FEATURE_WP_ASYNC | UFFD_FEATURE_WP_UNPOPULATED,
    };
    struct uffdio_register reg = {
        .range = { .start = (uintptr_t)w->ptr, .len = bytes },
        .mode = UFFDIO_REGISTER_MODE_WP,
    };

    return !ioctl(w->uffd, UFFDIO_API, &api) &&
           !ioctl(w->uffd, UFFDIO_REGISTER, &reg);
}

/*
 * Returns false, with errno set, if the host's kernel lacks the feature or
 * denies it to this process. On success, all pages count as not written.
 */
bool tessera_written_init(TesseraWritten *w, void *ptr, uint64_t bytes)
{
    /* Huge pages would be tracked as a whole. */
    qemu_madvise(ptr, bytes, QEMU_MADV_NOHUGEPAGE);
    w->ptr = ptr;
    w->pagemap_fd = qemu_open_old("/proc/self/pagemap", O_RDONLY);
    w->uffd = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    if (w->pagemap_fd >= 0 && w->uffd >= 0 && watch(w, bytes) &&
        tessera_written_forget(w, 0, bytes)) {
        return true;
    }
    tessera_written_fini(w);
    return false;
}

void tessera_written_fini(TesseraWritten *w)
{
    int saved = errno;

    if (w->uffd >= 0) {
        close(w->uffd);
    }
    if (w->pagemap_fd >= 0) {
        close(w->pagemap_fd);
    }
    errno = saved;
}

static bool scan(TesseraWritten *w, uint64_t from, uint64_t end, uint64_t flags,
                 TesseraWrittenFn *fn, void *opaque)
{
    struct page_region regions[REGIONS];
    struct pm_scan_arg arg = {
        .size = sizeof(arg),
        .flags = flags | PM_SCAN_CHECK_WPASYNC,
        .start = (uintptr_t)w->ptr + from,
        .end = (uintptr_t)w->ptr + end,
        .vec = (uintptr_t)regions,
        .vec_len = REGIONS,
        .category_mask = PAGE_IS_WRITTEN,
        /*
         * Requesting this bit alone makes some kernels misread swapped pages.
         */
        .return_mask = PAGE_IS_WRITTEN | PAGE_IS_PRESENT,
    };

    while (arg.start < arg.end) {
        int n = ioctl(w->pagemap_fd, PAGEMAP_SCAN, &arg);

        if (n < 0) {
            return false;
        }
        for (int i = 0; fn && i < n; i++) {
            fn(opaque, regions[i].start - (uintptr_t)w->ptr,
               regions[i].end - (uintptr_t)w->ptr);
        }
        arg.start = arg.walk_end;
    }
    return true;
}

/*
 * Call @fn for the pages of [@from, @end) that were written since the last
 * tessera_written_forget(). Returns false, with errno set, if the kernel
 * refuses.
 */
bool tessera_written_find(TesseraWritten *w, uint64_t from, uint64_t end,
                          TesseraWrittenFn *fn, void *opaque)
{
    return scan(w, from, end, 0, fn, opaque);
}

/*
 * Count pages as not written until their next write, which costs a fault. The
 * bytes of all earlier writes are visible after this. Returns false, with errno
 * set, if the kernel refuses.
 */
bool tessera_written_forget(TesseraWritten *w, uint64_t from, uint64_t end)
{
    return scan(w, from, end, PM_SCAN_WP_MATCHING, NULL, NULL);
}
#else
bool tessera_written_init(TesseraWritten *w, void *ptr, uint64_t bytes)
{
    errno = ENOSYS;
    return false;
}

void tessera_written_fini(TesseraWritten *w)
{
}

bool tessera_written_find(TesseraWritten *w, uint64_t from, uint64_t end,
                          TesseraWrittenFn *fn, void *opaque)
{
    g_assert_not_reached();
}

bool tessera_written_forget(TesseraWritten *w, uint64_t from, uint64_t end)
{
    g_assert_not_reached();
}
#endif
