// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: cache maintenance
 *
 * Cache maintenance keeps cached pages coherent on a device that does not snoop
 * CPU caches. It records how the CPU and the device used the pages of an object
 * last. Before the other side uses them, cache lines are written back (COH-6)
 * or invalidated (COH-7). On a snooping device, and for uncached pages, nothing
 * is recorded and nothing done.
 *
 * Page faults show the accesses of the CPU. Before the device uses the pages,
 * mappings that would let the CPU access them without a fault are removed.
 * Submissions and paging show the accesses of the device. Lines under data that
 * the device writes are invalidated when the CPU is about to use them, not
 * before, because caches may prefetch lines at any time. While a job that
 * writes the pages is unfinished, one invalidation is not enough. A CPU access
 * that is prepared meanwhile (a fault or a lock) has to be prepared again after
 * the job.
 *
 * If the client of an object does its own maintenance (BO_EXPLICIT_SYNC), the
 * kernel cares only for its own accesses: moves, swap, and the clearing of new
 * pages. It does no maintenance for jobs (COH-8).
 *
 * Jobs at virtual addresses are not seen either. The kernel therefore remembers
 * for any object that jobs may have written it, for the next time that it reads
 * the pages itself.
 *
 * The state belongs to the pages (mem/backing.c). Callers hold the reservation
 * of the object, run in process context, and have armed no job.
 */

#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sizes.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_tt.h>

#include "base/device.h"
#include "base/trace.h"
#include "debug/debug.h"
#include "hw/hw.h"
#include "mem/mem.h"
#include "segments/segments.h"

/*
 * Other CPUs, and interrupts of this CPU, wait while a command runs, so
 * commands are short.
 */
#define COMMAND_BYTES	SZ_64K

static_assert(COMMAND_BYTES <= TSR_COH_MAX_BYTES);

static bool needs_maintenance(const struct tessera_device *tdev, enum ttm_caching caching)
{
	return caching == ttm_cached && !(tdev->info.caps & TSR_CAP_IO_COHERENT);
}

/**
 * tessera_coherence_tracks() - check whether the pages of an object need cache
 * maintenance
 * @bo: the object
 *
 * Return: true if the CPU maps the pages cached and the device does not snoop.
 */
bool tessera_coherence_tracks(const struct tessera_bo *bo)
{
	return needs_maintenance(tessera_bo_device(bo), bo->caching);
}

/* Returns NULL if the object needs no maintenance. */
static struct tessera_page_users *users_of(struct tessera_bo *bo)
{
	dma_resv_assert_held(bo->tbo.base.resv);

	return tessera_coherence_tracks(bo) ? tessera_backing_users(bo) : NULL;
}

/*
 * Returns the number of pages from @first that are contiguous on the bus, up to
 * @end or the limit of a command.
 */
static u32 contiguous_pages(const struct ttm_tt *tt, u32 first, u32 end)
{
	u32 num = 1;

	while (first + num < end && num < COMMAND_BYTES >> PAGE_SHIFT &&
	       tt->dma_address[first + num] ==
	       tt->dma_address[first] + ((dma_addr_t)num << PAGE_SHIFT))
		num++;

	return num;
}

/*
 * The range is extended to whole lines by the device. Nothing happens if the
 * device is unplugged.
 */
static void maintain_tt(struct tessera_device *tdev, const struct ttm_tt *tt, u64 offset,
			u64 bytes, u32 command)
{
	u64 at, end = offset + bytes, next;
	u32 page;
	int idx;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return;
	for (at = offset; at < end; at = next) {
		page = at >> PAGE_SHIFT;
		next = page + contiguous_pages(tt, page, DIV_ROUND_UP_ULL(end, PAGE_SIZE));
		next = min(next << PAGE_SHIFT, end);
		tessera_cache_maintain(tdev, tt->dma_address[page] + offset_in_page(at),
				       next - at, command);
		cond_resched();
	}
	drm_dev_exit(idx);
}

static void maintain_lines(struct tessera_bo *bo, u64 offset, u64 bytes, u32 command)
{
	trace_tessera_cache_maintenance(bo->id, command, offset, bytes);
	maintain_tt(tessera_bo_device(bo), bo->tbo.ttm, offset, bytes, command);
}

static void maintain(struct tessera_bo *bo, u32 first, u32 pages, u32 command)
{
	maintain_lines(bo, (u64)first << PAGE_SHIFT, (u64)pages << PAGE_SHIFT, command);
}

/**
 * tessera_coherence_for_device() - prepare the pages of an object for the
 * device
 * @bo: the object, reservation held
 * @write: the device is going to write them
 *
 * Writes back the lines that the CPU has changed. The device must read the new
 * data, and no line may be written back later over data of the device. From
 * then on, a CPU access that needs maintenance faults.
 */
void tessera_coherence_for_device(struct tessera_bo *bo, bool write)
{
	struct tessera_page_users *users = users_of(bo);

	if (!users)
		return;

	/*
	 * The CPU may keep read-only mappings of pages that the device only
	 * reads.
	 */
	if (users->cpu >= TESSERA_PAGES_WRITTEN || (users->cpu && write)) {
		ttm_bo_unmap_virtual(&bo->tbo);
		if (users->cpu >= TESSERA_PAGES_WRITTEN)
			maintain(bo, 0, bo->tbo.ttm->num_pages,
				 users->cpu == TESSERA_PAGES_NEW ? TSR_COH_WRITE_BACK :
								   TSR_COH_CLEAN);
		users->cpu = TESSERA_PAGES_UNUSED;
	}
	users->gpu = max(users->gpu, write ? TESSERA_PAGES_WRITTEN : TESSERA_PAGES_READ);
}

static bool is_explicit(const struct tessera_bo *bo)
{
	return bo->flags & DRM_TESSERA_BO_EXPLICIT_SYNC;
}

/*
 * Clearing of new pages is an access of the kernel, so the client does not
 * maintain the caches for it. The first fault maps new pages for writing, so
 * stores that do not fault may follow.
 */
static void settle_new(struct tessera_bo *bo, struct tessera_page_users *users)
{
	if (users->cpu != TESSERA_PAGES_NEW)
		return;
	maintain(bo, 0, bo->tbo.ttm->num_pages, TSR_COH_WRITE_BACK);
	users->cpu = TESSERA_PAGES_WRITTEN;
}

/**
 * tessera_coherence_for_job() - prepare the pages of an object for a job
 * @bo: the object, reservation held
 * @write: the job is going to write the pages
 *
 * With BO_EXPLICIT_SYNC, the client is responsible for the accesses of jobs.
 */
void tessera_coherence_for_job(struct tessera_bo *bo, bool write)
{
	struct tessera_page_users *users = users_of(bo);

	if (!users)
		return;
	/* A job at a virtual address may write again later, and is not seen. */
	users->unseen |= write;
	if (is_explicit(bo))
		settle_new(bo, users);
	else
		tessera_coherence_for_device(bo, write);
}

/*
 * Makes data that the device has written to some pages visible to the CPU.
 * Stores of the CPU are locked out meanwhile: a store between the write-back
 * and the invalidation would be lost.
 */
static void invalidate(struct tessera_bo *bo, const struct tessera_page_users *users, u32 first,
		       u32 pages)
{
	if (users->cpu == TESSERA_PAGES_WRITTEN) {
		tessera_bo_unmap_pages(bo, first, pages);
		maintain(bo, first, pages, TSR_COH_FLUSH);
	} else {
		maintain(bo, first, pages, TSR_COH_INVALIDATE);
	}
}

/**
 * tessera_coherence_for_cpu_pages() - prepare some pages of an object for the
 * CPU
 * @bo: the object, reservation held, its moves done; ignored if it is in a
 * memory segment, because the CPU does not use its pages then
 * @first: the first page
 * @pages: number of pages, not 0
 * @write: the CPU may write them
 *
 * The CPU sees what the device has written so far. Data that the CPU has
 * written meanwhile to other bytes, through mappings that it got while a job
 * was running, are kept.
 *
 * While a job that writes the object is running, only these pages are prepared,
 * and the call has to be repeated when the job has ended.
 */
void tessera_coherence_for_cpu_pages(struct tessera_bo *bo, u32 first, u32 pages, bool write)
{
	struct tessera_page_users *users = users_of(bo);

	if (!users || tessera_segment_is_vram(tessera_bo_segment(bo)))
		return;

	if (is_explicit(bo))
		settle_new(bo, users);
	if (users->gpu == TESSERA_PAGES_WRITTEN) {
		/*
		 * Check the fences before the invalidation. A job that ends
		 * after the check may write until then, so that the
		 * invalidation could miss its data.
		 */
		if (dma_resv_test_signaled(bo->tbo.base.resv, DMA_RESV_USAGE_WRITE)) {
			tessera_dep_check_idle(&bo->dep_check, tessera_dep_check_before(false),
					       U64_MAX, bo->id);
			invalidate(bo, users, 0, bo->tbo.ttm->num_pages);
			users->gpu = TESSERA_PAGES_UNUSED;
		} else {
			invalidate(bo, users, first, pages);
		}
	}
	users->cpu = max(users->cpu, write ? TESSERA_PAGES_WRITTEN : TESSERA_PAGES_READ);
}

/**
 * tessera_coherence_for_cpu() - prepare all pages of an object for the CPU
 * @bo: the object, as for tessera_coherence_for_cpu_pages()
 * @write: the CPU may write them
 */
void tessera_coherence_for_cpu(struct tessera_bo *bo, bool write)
{
	tessera_coherence_for_cpu_pages(bo, 0, tessera_bo_bytes(bo) >> PAGE_SHIFT, write);
}

/*
 * Whether the device may have written the pages. The caller makes the bytes
 * visible now.
 */
static bool forget_writes(struct tessera_page_users *users)
{
	bool written = users->gpu == TESSERA_PAGES_WRITTEN || users->unseen;

	if (written)
		users->gpu = TESSERA_PAGES_UNUSED;
	users->unseen = false;

	return written;
}

/**
 * tessera_coherence_device_resets() - make the last writes of the device
 * visible before a reset
 * @bo: the object, reservation held; its fences, foreign ones included, need
 * not have signalled
 *
 * The device does not access the pages any more. It takes no maintenance
 * commands between the reset and its next start, so that this cannot be done
 * later.
 */
void tessera_coherence_device_resets(struct tessera_bo *bo)
{
	struct tessera_page_users *users = users_of(bo);

	if (users && forget_writes(users))
		invalidate(bo, users, 0, bo->tbo.ttm->num_pages);
}

/**
 * tessera_coherence_release() - prepare pages that are given back to the kernel
 * @tdev: the device
 * @tt: the pages, which neither the CPU nor the device uses any more
 * @users: the recorded accesses to the pages
 *
 * The next owner of the pages does not know that the device has written them.
 * Lines that do not have these bytes must not remain.
 */
void tessera_coherence_release(struct tessera_device *tdev, const struct ttm_tt *tt,
			       struct tessera_page_users *users)
{
	if (needs_maintenance(tdev, tt->caching) && forget_writes(users))
		maintain_tt(tdev, tt, 0, (u64)tt->num_pages << PAGE_SHIFT, TSR_COH_FLUSH);
}

/**
 * tessera_coherence_for_swap() - prepare the pages of an object for a copy by
 * the kernel
 * @bo: the object, reservation held, idle
 */
void tessera_coherence_for_swap(struct tessera_bo *bo)
{
	struct tessera_page_users *users = users_of(bo);

	if (users && users->unseen) {
		users->gpu = TESSERA_PAGES_WRITTEN;
		users->unseen = false;
	}
	tessera_coherence_for_cpu(bo, false);
}

/**
 * tessera_coherence_flush() - write back and invalidate part of an object's
 * pages for its client
 * @bo: the object, reservation held
 * @offset: first byte
 * @bytes: number of bytes, not 0, inside the object
 *
 * Flushes whole lines. The pages are unmapped first, for the reason given at
 * invalidate().
 */
void tessera_coherence_flush(struct tessera_bo *bo, u64 offset, u64 bytes)
{
	struct tessera_page_users *users = users_of(bo);
	u64 end = ALIGN(offset + bytes, TSR_COH_LINE_BYTES);
	u32 first = offset >> PAGE_SHIFT;

	if (!users)
		return;
	settle_new(bo, users);
	if (users->cpu == TESSERA_PAGES_WRITTEN)
		tessera_bo_unmap_pages(bo, first, DIV_ROUND_UP_ULL(end, PAGE_SIZE) - first);
	offset = ALIGN_DOWN(offset, TSR_COH_LINE_BYTES);
	maintain_lines(bo, offset, end - offset, TSR_COH_FLUSH);
}

/**
 * tessera_coherence_print() - print the recorded accesses for debugfs
 * @bo: the object, reservation held
 * @p: the printer
 */
void tessera_coherence_print(struct tessera_bo *bo, struct drm_printer *p)
{
	static const char * const names[] = {
		[TESSERA_PAGES_UNUSED] = "none",
		[TESSERA_PAGES_READ] = "read",
		[TESSERA_PAGES_WRITTEN] = "write",
		[TESSERA_PAGES_NEW] = "new",
	};
	const struct tessera_page_users *users = users_of(bo);

	if (users)
		drm_printf(p, " cpu %s gpu %s", names[users->cpu], names[users->gpu]);
}
