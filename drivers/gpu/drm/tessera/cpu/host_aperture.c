// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: CPU host aperture
 *
 * Pages of BAR 4 that show memory the CPU does not see otherwise (WDDM: CpuHostAperture). An
 * object is mapped as a whole, over any free pages. When there are too few, objects that
 * faulted longest ago lose theirs, unless they are locked; what still does not fit is
 * seen in system memory (cpu/access.c). Locks keep at most half of the pages from other
 * processes: what one has locked beyond that gives way to others, too.
 *
 * The pages of an object change with its reservation held. So nobody is in the
 * middle of a fault on an object that loses its pages to another: its reservation
 * is tried, and who is busy keeps them. CPU mappings are taken away before pages are used again.
 *
 * The mutex, a leaf but for the locks of CPU mappings, protects pool, registers and list.
 */

#include <linux/bitmap.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/tessera_drm.h>

#include "cpu/cpu.h"
#include "hw/hw.h"
#include "mem/mem.h"
#include "pure/page_pool.h"
#include "segments/segments.h"
#include "tessera_device.h"
#include "tessera_trace.h"

struct tessera_host_aperture {
	/* Protects what follows, and the registers. */
	struct mutex lock;
	struct tessera_page_pool pool;
	/* Objects that have pages, by the time of the last fault. */
	struct list_head mapped;
	/* CPU bus address of the first page; bytes of a page. */
	u64 bus;
	u32 page_size;
};

/**
 * tessera_host_aperture_init() - set the aperture up, if there is one
 * @tdev: the device, just reset: no page is mapped
 *
 * Return: 0, -EINVAL if registers and BAR do not go together, or -ENOMEM.
 */
int tessera_host_aperture_init(struct tessera_device *tdev)
{
	struct pci_dev *pdev = to_pci_dev(tdev->drm.dev);
	struct tessera_host_aperture *aperture;
	unsigned long *taken;
	u64 size, num;
	int ret;

	if (!(tdev->info.caps & TSR_CAP_HOST_APERTURE))
		return 0;
	size = tessera_read64(tdev, TSR_HA_SIZE_LO);
	if (!size)
		return 0;
	aperture = drmm_kzalloc(&tdev->drm, sizeof(*aperture), GFP_KERNEL);
	if (!aperture)
		return -ENOMEM;
	aperture->page_size = tessera_read32(tdev, TSR_HA_PAGE_SIZE);
	if (aperture->page_size < PAGE_SIZE || !is_power_of_2(aperture->page_size) ||
	    size % aperture->page_size || size / aperture->page_size > U32_MAX ||
	    pci_resource_len(pdev, TSR_BAR_HOST_APERTURE) < size) {
		drm_err(&tdev->drm, "host aperture of %llu bytes in pages of %u is not usable\n",
			size, aperture->page_size);
		return -EINVAL;
	}
	num = size / aperture->page_size;
	taken = drmm_kcalloc(&tdev->drm, BITS_TO_LONGS(num), sizeof(*taken), GFP_KERNEL);
	if (!taken)
		return -ENOMEM;
	ret = drmm_mutex_init(&tdev->drm, &aperture->lock);
	if (ret)
		return ret;

	INIT_LIST_HEAD(&aperture->mapped);
	tessera_page_pool_init(&aperture->pool, taken, num);
	aperture->bus = pci_resource_start(pdev, TSR_BAR_HOST_APERTURE);
	tdev->host_aperture = aperture;

	return 0;
}

/**
 * tessera_host_aperture_bytes() - how large the aperture is
 * @tdev: the device
 * @page_size: receives the bytes of a page, 0 if there is no aperture
 *
 * Return: bytes.
 */
u64 tessera_host_aperture_bytes(struct tessera_device *tdev, u32 *page_size)
{
	struct tessera_host_aperture *aperture = tdev->host_aperture;

	*page_size = aperture ? aperture->page_size : 0;

	return aperture ? (u64)aperture->pool.num * aperture->page_size : 0;
}

/**
 * tessera_host_aperture_serves() - ask whether the CPU could see an object through it
 * @bo: the object
 * @seg: where it is, or NULL
 *
 * Pages show memory as it lies (CHA-4), so swizzled objects are none for it. They are as large
 * as those of the segment (CHA-9).
 *
 * Return: true if it could, with pages enough.
 */
bool tessera_host_aperture_serves(struct tessera_bo *bo, const struct tessera_segment *seg)
{
	const struct tessera_host_aperture *aperture = tessera_bo_device(bo)->host_aperture;

	return aperture && seg && (seg->flags & TSR_SEGF_HOST_APERTURE) &&
	       seg->page_size == aperture->page_size &&
	       bo->layout == DRM_TESSERA_LAYOUT_LINEAR;
}

/* ---- Pages ------------------------------------------------------------------- */

static void program_run(struct tessera_device *tdev, u32 reg, u32 first, u32 count)
{
	tessera_write32(tdev, TSR_HA_COUNT, count);
	tessera_write32(tdev, reg, first);
}

/* All pages of an object lead somewhere: those that follow each other here and there at once. */
static void program_map_locked(struct tessera_bo *bo, const struct tessera_segment *seg)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	u32 page_size = tdev->host_aperture->page_size;
	const struct tessera_cpu_window *window = &bo->window;
	u64 offset, left;
	u32 i, run;

	lockdep_assert_held(&tdev->host_aperture->lock);

	for (i = 0; i < window->num_pages; i += run) {
		offset = tessera_range_at(tessera_bo_range(bo), (u64)i * page_size, &left);
		run = min_t(u64, tessera_page_pool_run(window->pages + i, window->num_pages - i),
			    div_u64(left, page_size));
		tessera_write64(tdev, TSR_HA_ADDR_LO, seg->base + offset);
		program_run(tdev, TSR_HA_MAP, window->pages[i], run);
		cond_resched();
	}
}

static void program_unmap_locked(struct tessera_device *tdev,
				 const struct tessera_cpu_window *window)
{
	u32 i, run;

	lockdep_assert_held(&tdev->host_aperture->lock);

	for (i = 0; i < window->num_pages; i += run) {
		run = tessera_page_pool_run(window->pages + i, window->num_pages - i);
		program_run(tdev, TSR_HA_UNMAP, window->pages[i], run);
		cond_resched();
	}
}

static void unmap_locked(struct tessera_bo *bo)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	struct tessera_host_aperture *aperture = tdev->host_aperture;
	struct tessera_cpu_window *window = &bo->window;
	int idx;

	lockdep_assert_held(&aperture->lock);

	if (drm_dev_enter(&tdev->drm, &idx)) {
		program_unmap_locked(tdev, window);
		drm_dev_exit(idx);
	}
	tessera_page_pool_give(&aperture->pool, window->pages, window->num_pages);
	list_del(&window->node);
	trace_tessera_host_aperture_unmap(bo->id, window->num_pages, aperture->pool.num_free);
	kvfree(window->pages);
	window->pages = NULL;
	window->num_pages = 0;
}

static struct tessera_bo *window_bo(struct tessera_cpu_window *window)
{
	return container_of(window, struct tessera_bo, window);
}

/* How many pages each payer has locked. */
static void count_locks_locked(struct tessera_host_aperture *aperture)
{
	struct tessera_cpu_window *window;

	lockdep_assert_held(&aperture->lock);

	list_for_each_entry(window, &aperture->mapped, node)
		window_bo(window)->account->payer->aperture_pages = 0;
	list_for_each_entry(window, &aperture->mapped, node)
		if (READ_ONCE(window_bo(window)->locks.held))
			window_bo(window)->account->payer->aperture_pages += window->num_pages;
}

/*
 * Whether an object gives way to one of @to; after count_locks_locked(), and what gives way does
 * not count any more. Nobody takes what he has locked from himself.
 */
static bool gives_way_locked(struct tessera_host_aperture *aperture, struct tessera_bo *bo,
			     const struct tessera_payer *to)
{
	struct tessera_payer *payer = bo->account->payer;

	lockdep_assert_held(&aperture->lock);

	if (!READ_ONCE(bo->locks.held))
		return true;
	if (payer == to || tessera_page_pool_guards(&aperture->pool, payer->aperture_pages))
		return false;
	payer->aperture_pages -= min(payer->aperture_pages, bo->window.num_pages);

	return true;
}

/* Whether it would be for nothing that others lose theirs. */
static bool may_have_locked(struct tessera_host_aperture *aperture, u32 count,
			    const struct tessera_payer *payer)
{
	struct tessera_cpu_window *window;
	u32 num = aperture->pool.num_free;

	count_locks_locked(aperture);
	list_for_each_entry(window, &aperture->mapped, node)
		if (gives_way_locked(aperture, window_bo(window), payer))
			num += window->num_pages;

	return num >= count;
}

/* Take pages from those who did not come for longest, until there are enough. */
static int make_room_locked(struct tessera_host_aperture *aperture, u32 count,
			    const struct tessera_bo *to)
{
	const struct tessera_payer *payer = to->account->payer;
	struct tessera_cpu_window *window, *next;

	lockdep_assert_held(&aperture->lock);

	if (aperture->pool.num_free >= count)
		return 0;
	if (to->window.losses >= TESSERA_WINDOW_MAX_LOSSES ||
	    !may_have_locked(aperture, count, payer))
		return -ENOSPC;
	count_locks_locked(aperture);
	list_for_each_entry_safe(window, next, &aperture->mapped, node) {
		struct tessera_bo *bo = window_bo(window);

		if (aperture->pool.num_free >= count)
			break;
		if (!tessera_bo_shares_lock(bo, to) && !dma_resv_trylock(bo->tbo.base.resv))
			continue;
		if (gives_way_locked(aperture, bo, payer)) {
			ttm_bo_unmap_virtual(&bo->tbo);
			tessera_mapped_check_none(bo);
			unmap_locked(bo);
			window->losses++;
		}
		if (!tessera_bo_shares_lock(bo, to))
			dma_resv_unlock(bo->tbo.base.resv);
	}

	return aperture->pool.num_free >= count ? 0 : -ENOSPC;
}

static int map_locked(struct tessera_bo *bo, const struct tessera_segment *seg, u32 *pages,
		      u32 count)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	struct tessera_host_aperture *aperture = tdev->host_aperture;
	struct tessera_cpu_window *window = &bo->window;
	int ret;

	ret = make_room_locked(aperture, count, bo);
	if (!ret)
		ret = tessera_page_pool_take(&aperture->pool, pages, count);
	if (ret)
		return ret;

	window->pages = pages;
	window->num_pages = count;
	list_add_tail(&window->node, &aperture->mapped);
	program_map_locked(bo, seg);
	trace_tessera_host_aperture_map(bo->id, count, aperture->pool.num_free);

	return 0;
}

/**
 * tessera_host_aperture_map() - have an object in the aperture
 * @bo: the object, reservation held, in a segment the aperture serves; inside drm_dev_enter()
 * @seg: that segment
 *
 * Return: 0, also if it is there already; -ENOSPC if there are not enough pages that
 * others can do without; or -ENOMEM.
 */
int tessera_host_aperture_map(struct tessera_bo *bo, const struct tessera_segment *seg)
{
	struct tessera_host_aperture *aperture = tessera_bo_device(bo)->host_aperture;
	u64 count = DIV_ROUND_UP_ULL(tessera_bo_bytes(bo), aperture->page_size);
	u32 *pages;
	int ret;

	dma_resv_assert_held(bo->tbo.base.resv);

	if (bo->window.pages) {
		mutex_lock(&aperture->lock);
		list_move_tail(&bo->window.node, &aperture->mapped);
		mutex_unlock(&aperture->lock);
		return 0;
	}
	if (count > aperture->pool.num)
		return -ENOSPC;
	pages = kvmalloc_array(count, sizeof(*pages), GFP_KERNEL_ACCOUNT);
	if (!pages)
		return -ENOMEM;

	mutex_lock(&aperture->lock);
	ret = map_locked(bo, seg, pages, count);
	mutex_unlock(&aperture->lock);
	if (ret)
		kvfree(pages);

	return ret;
}

/**
 * tessera_host_aperture_unmap() - the place of an object shows no more
 * @bo: the object, reservation held and CPU mappings gone, or nobody has it any more
 */
void tessera_host_aperture_unmap(struct tessera_bo *bo)
{
	struct tessera_host_aperture *aperture = tessera_bo_device(bo)->host_aperture;

	if (!aperture)
		return;
	mutex_lock(&aperture->lock);
	if (bo->window.pages)
		unmap_locked(bo);
	mutex_unlock(&aperture->lock);
}

/**
 * tessera_host_aperture_pfn() - where the CPU finds a page of an object
 * @bo: the object, reservation held, in the aperture
 * @page: which of its pages
 *
 * Return: page frame number.
 */
unsigned long tessera_host_aperture_pfn(struct tessera_bo *bo, unsigned long page)
{
	struct tessera_host_aperture *aperture = tessera_bo_device(bo)->host_aperture;
	u64 offset = (u64)page << PAGE_SHIFT;
	u32 in_page = offset & (aperture->page_size - 1);
	u64 bus = aperture->bus + in_page;

	bus += (u64)bo->window.pages[offset / aperture->page_size] * aperture->page_size;

	return bus >> PAGE_SHIFT;
}

/**
 * tessera_host_aperture_print() - say who has the pages
 * @tdev: the device
 * @p: where to
 */
void tessera_host_aperture_print(struct tessera_device *tdev, struct drm_printer *p)
{
	struct tessera_host_aperture *aperture = tdev->host_aperture;
	struct tessera_cpu_window *window;

	if (!aperture) {
		drm_printf(p, "pages 0\n");
		return;
	}
	mutex_lock(&aperture->lock);
	drm_printf(p, "pages %u of %u bytes free %u bus 0x%llx\n", aperture->pool.num,
		   aperture->page_size, aperture->pool.num_free, aperture->bus);
	list_for_each_entry(window, &aperture->mapped, node) {
		struct tessera_bo *bo = window_bo(window);

		drm_printf(p, "bo %u pages %u first %u%s\n", bo->id, window->num_pages,
			   window->pages[0], READ_ONCE(bo->locks.held) ? " locked" : "");
	}
	mutex_unlock(&aperture->lock);
}
