// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: cache maintenance
 *
 * On a device whose accesses do not snoop CPU caches, who used the cached pages of an object
 * last, the CPU or the device, and how. Before the other one does, lines are written back
 * (COH-6) or invalidated (COH-7). Elsewhere, and for pages that are not cached, nothing is
 * known and nothing done.
 *
 * The CPU's accesses are known by its page faults: before the device uses the pages,
 * mappings that would let the CPU in unseen are taken away. The device's are known from the lists
 * of submissions and from paging. What it writes is invalidated when the CPU's turn comes, not
 * before: caches may have loaded lines ahead of need. As long as a job that writes has not
 * ended, the CPU's turn has not come: whoever maps or locks an object then does so again.
 *
 * Of an object whose synchronisation is its client's (BO_EXPLICIT_SYNC), the kernel cares only for what it does
 * itself: moves, swap, and the zeroes in new pages. What jobs do to it is not looked at (COH-8); that they may have written
 * is remembered, for before the kernel reads the pages.
 *
 * The state belongs to the pages (mem/backing.c). Called with the object's reservation held, in process
 * context, never for a job that is armed.
 */

#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sizes.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_tt.h>

#include "hw/hw.h"
#include "mem/mem.h"
#include "segments/segments.h"
#include "tessera_device.h"
#include "tessera_trace.h"

/* Other CPUs, and interrupts of this one, wait for a command: short ones. */
#define COMMAND_BYTES	SZ_64K

static_assert(COMMAND_BYTES <= TSR_COH_MAX_BYTES);

/**
 * tessera_coherence_tracks() - ask whether an object's pages need cache maintenance
 * @bo: the object
 *
 * Return: true if the CPU has them cached, and the device does not see that.
 */
bool tessera_coherence_tracks(const struct tessera_bo *bo)
{
	return bo->caching == ttm_cached &&
	       !(tessera_bo_device(bo)->info.caps & TSR_CAP_IO_COHERENT);
}

/* NULL if there is nothing to track. */
static struct tessera_page_users *users_of(struct tessera_bo *bo)
{
	dma_resv_assert_held(bo->tbo.base.resv);

	return tessera_coherence_tracks(bo) ? tessera_backing_users(bo) : NULL;
}

/* From page @first up to @end: pages that follow each other on the bus, as many as go into a command. */
static u32 run_of_pages(const struct ttm_tt *tt, u32 first, u32 end)
{
	u32 num = 1;

	while (first + num < end && num < COMMAND_BYTES >> PAGE_SHIFT &&
	       tt->dma_address[first + num] ==
	       tt->dma_address[first] + ((dma_addr_t)num << PAGE_SHIFT))
		num++;

	return num;
}

/* Whole lines. A device that is gone has left nothing to care for. */
static void maintain_lines(struct tessera_bo *bo, u64 offset, u64 bytes, u32 command)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	const struct ttm_tt *tt = bo->tbo.ttm;
	u64 at, end = offset + bytes, next;
	u32 page;
	int idx;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return;
	trace_tessera_cache_maintenance(bo->id, command, offset, bytes);
	for (at = offset; at < end; at = next) {
		page = at >> PAGE_SHIFT;
		next = page + run_of_pages(tt, page, DIV_ROUND_UP_ULL(end, PAGE_SIZE));
		next = min(next << PAGE_SHIFT, end);
		tessera_cache_maintain(tdev, tt->dma_address[page] + offset_in_page(at),
				       next - at, command);
		cond_resched();
	}
	drm_dev_exit(idx);
}

static void maintain(struct tessera_bo *bo, u32 first, u32 pages, u32 command)
{
	maintain_lines(bo, (u64)first << PAGE_SHIFT, (u64)pages << PAGE_SHIFT, command);
}

/**
 * tessera_coherence_for_device() - the device is going to use an object's pages
 * @bo: the object, reservation held
 * @write: it is going to write them
 *
 * Lines that the CPU has changed are written back: be it that the device reads them, or that
 * they must not come later, over what it writes. From then on, a CPU access that matters faults.
 */
void tessera_coherence_for_device(struct tessera_bo *bo, bool write)
{
	struct tessera_page_users *users = users_of(bo);

	if (!users)
		return;

	/* Whoever only reads what the device only reads is not in its way. */
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

/* What the kernel has put into new pages is nobody else's to care for. */
static void settle_new(struct tessera_bo *bo, struct tessera_page_users *users)
{
	if (users->cpu != TESSERA_PAGES_NEW)
		return;
	maintain(bo, 0, bo->tbo.ttm->num_pages, TSR_COH_WRITE_BACK);
	users->cpu = TESSERA_PAGES_UNUSED;
}

/**
 * tessera_coherence_for_job() - likewise a job of the device, which the client may care for
 * @bo: the object, reservation held
 * @write: it is going to write the pages
 */
void tessera_coherence_for_job(struct tessera_bo *bo, bool write)
{
	struct tessera_page_users *users = users_of(bo);

	if (!users)
		return;
	if (!is_explicit(bo)) {
		tessera_coherence_for_device(bo, write);
		return;
	}
	settle_new(bo, users);
	users->unseen |= write;
}

/*
 * Let the CPU see what the device has written to some pages. Nobody may store to them meanwhile: that
 * could come behind the clean and before the invalidation.
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
 * tessera_coherence_for_cpu_pages() - the CPU is going to use some of an object's pages
 * @bo: the object, reservation held, its moves done; one in a memory segment is not seen
 * through its pages, and left alone
 * @first: the first of them
 * @pages: how many, not 0
 * @write: it may write them
 *
 * What the device has written so far is seen from now on. What the CPU has written beside that, through
 * mappings that it was given while a job was running, is kept.
 *
 * While a job is running that writes the object, all this has to be done again when it has ended:
 * then for no more than these pages.
 */
void tessera_coherence_for_cpu_pages(struct tessera_bo *bo, u32 first, u32 pages, bool write)
{
	struct tessera_page_users *users = users_of(bo);

	if (!users || tessera_segment_is_memory(tessera_bo_segment(bo)))
		return;

	if (is_explicit(bo))
		settle_new(bo, users);
	if (users->gpu == TESSERA_PAGES_WRITTEN) {
		/* Asked first: what is written behind the question is not behind the answer. */
		if (dma_resv_test_signaled(bo->tbo.base.resv, DMA_RESV_USAGE_WRITE)) {
			tessera_trail_check_over(&bo->trail, tessera_trail_before(false), U64_MAX,
						 bo->id);
			invalidate(bo, users, 0, bo->tbo.ttm->num_pages);
			users->gpu = TESSERA_PAGES_UNUSED;
		} else {
			invalidate(bo, users, first, pages);
		}
	}
	users->cpu = max(users->cpu, write ? TESSERA_PAGES_WRITTEN : TESSERA_PAGES_READ);
}

/**
 * tessera_coherence_for_cpu() - likewise all pages of an object
 * @bo: the object, as there
 * @write: the CPU may write them
 */
void tessera_coherence_for_cpu(struct tessera_bo *bo, bool write)
{
	tessera_coherence_for_cpu_pages(bo, 0, tessera_bo_bytes(bo) >> PAGE_SHIFT, write);
}

/**
 * tessera_coherence_device_resets() - the device has done all that it will do to an object's pages
 * @bo: the object, reservation held; its fences, others' included, need not have signalled
 *
 * From now on until it works for somebody again, it takes no commands for the CPU's turn either.
 */
void tessera_coherence_device_resets(struct tessera_bo *bo)
{
	struct tessera_page_users *users = users_of(bo);

	if (!users || (users->gpu != TESSERA_PAGES_WRITTEN && !users->unseen))
		return;
	invalidate(bo, users, 0, bo->tbo.ttm->num_pages);
	users->gpu = TESSERA_PAGES_UNUSED;
	users->unseen = false;
}

/**
 * tessera_coherence_for_swap() - the kernel is going to copy an object's pages
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
 * tessera_coherence_flush() - write back and invalidate part of an object's pages, as asked
 * @bo: the object, reservation held
 * @offset: first byte
 * @bytes: how many, not 0, inside the object
 *
 * Whole lines. They are unmapped first, as in invalidate().
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
 * tessera_coherence_print() - for debugfs
 * @bo: the object, reservation held
 * @p: where to
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
