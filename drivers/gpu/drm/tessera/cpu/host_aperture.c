// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: CPU host aperture
 *
 * Pages of BAR 4 that show VRAM which has no other CPU view (WDDM:
 * CpuHostAperture). The aperture is divided into slots of equal size, and each
 * object into parts of that size. A fault maps the part that it hits to a slot:
 * to a free one, else to the slot with the oldest last fault. An object of any
 * size therefore stays in its placement while the CPU uses it, even through a
 * small aperture. A lock (DRM_TESSERA_LOCK) does not keep a slot: an access to
 * a part that has lost its slot faults and gets another one.
 *
 * A part gets or loses its slot with the object's reservation held, so no fault
 * is in progress on a part that loses its slot. The caller holds the
 * reservation of its own object and only tries that of another object. If all
 * slots belong to objects whose reservation is contended, it drops its own
 * reservation and waits for one of the others. CPU mappings of a part are
 * removed before its slot is reused.
 *
 * The mutex protects slots, registers and list. It is a leaf, except that the
 * locks of CPU mappings nest inside it.
 */

#include <linux/list.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/sizes.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/tessera_drm.h>

#include "base/device.h"
#include "base/trace.h"
#include "cpu/cpu.h"
#include "hw/hw.h"
#include "mem/mem.h"
#include "segments/segments.h"

/*
 * A slot is 1/64 of the aperture, but not smaller than what one fault maps, and
 * not so large that programming it takes long. One instruction may touch four
 * parts, two by reading and two by writing. An aperture with fewer than four
 * slots is not used.
 */
#define SLOTS		64
#define SLOT_MIN	SZ_64K
#define SLOT_MAX	SZ_2M
#define SLOTS_MIN	4

/**
 * struct aperture_slot - pages of the aperture that show a part of one object
 */
struct aperture_slot {
	/** @node: entry of &tessera_host_aperture.lru */
	struct list_head node;
	/** @bo: the object, or NULL if the slot is free */
	struct tessera_bo *bo;
	/** @part: number of the part that it shows */
	u32 part;
};

struct tessera_host_aperture {
	/* Protects the members below, and the registers. */
	struct mutex lock;
	/*
	 * All slots: the free ones first, the others by the time of their last
	 * fault.
	 */
	struct list_head lru;
	struct aperture_slot *slots;
	/* Number of pages in all slots, and of pages that show nothing. */
	u32 num_pages;
	u32 num_free;
	/* CPU bus address of the first page; bytes of a page and of a slot. */
	u64 bus;
	u32 page_size;
	u32 slot_size;
};

static u32 slot_size(u64 size, u32 page_size)
{
	u64 bytes = min(clamp_t(u64, size / SLOTS, SLOT_MIN, SLOT_MAX), size / SLOTS_MIN);

	return rounddown_pow_of_two(max_t(u64, bytes, page_size));
}

static int slots_init(struct tessera_device *tdev, struct tessera_host_aperture *aperture,
		      u64 size)
{
	u32 i, num;

	aperture->slot_size = slot_size(size, aperture->page_size);
	num = div_u64(size, aperture->slot_size);
	aperture->slots = drmm_kcalloc(&tdev->drm, num, sizeof(*aperture->slots), GFP_KERNEL);
	if (!aperture->slots)
		return -ENOMEM;
	INIT_LIST_HEAD(&aperture->lru);
	for (i = 0; i < num; i++)
		list_add_tail(&aperture->slots[i].node, &aperture->lru);
	aperture->num_pages = num * (aperture->slot_size / aperture->page_size);
	aperture->num_free = aperture->num_pages;

	return drmm_mutex_init(&tdev->drm, &aperture->lock);
}

/**
 * tessera_host_aperture_init() - set up the aperture, if there is one
 * @tdev: the device, just reset: no page is mapped
 *
 * Return: 0, -EINVAL if the registers do not match the BAR, or -ENOMEM.
 */
int tessera_host_aperture_init(struct tessera_device *tdev)
{
	struct pci_dev *pdev = to_pci_dev(tdev->drm.dev);
	struct tessera_host_aperture *aperture;
	u64 size;
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
	if (size / aperture->page_size < SLOTS_MIN) {
		drm_info(&tdev->drm, "host aperture of %llu bytes is too small to be used\n", size);
		return 0;
	}
	ret = slots_init(tdev, aperture, size);
	if (ret)
		return ret;

	aperture->bus = pci_resource_start(pdev, TSR_BAR_HOST_APERTURE);
	tdev->host_aperture = aperture;

	return 0;
}

/**
 * tessera_host_aperture_bytes() - size of the aperture
 * @tdev: the device
 * @page_size: receives the bytes of a page, 0 if there is no aperture
 *
 * Return: bytes.
 */
u64 tessera_host_aperture_bytes(struct tessera_device *tdev, u32 *page_size)
{
	struct tessera_host_aperture *aperture = tdev->host_aperture;

	*page_size = aperture ? aperture->page_size : 0;

	return aperture ? (u64)aperture->num_pages * aperture->page_size : 0;
}

/**
 * tessera_host_aperture_serves() - ask whether the aperture can show an object
 * @bo: the object
 * @seg: the segment that it is in, or NULL
 *
 * The aperture shows memory as it lies (CHA-4), so it does not serve swizzled
 * objects. Its page size must be that of the segment (CHA-9).
 *
 * Return: true if it can.
 */
bool tessera_host_aperture_serves(struct tessera_bo *bo, const struct tessera_segment *seg)
{
	const struct tessera_host_aperture *aperture = tessera_bo_device(bo)->host_aperture;

	return aperture && seg && (seg->flags & TSR_SEGF_HOST_APERTURE) &&
	       seg->page_size == aperture->page_size &&
	       bo->layout == DRM_TESSERA_LAYOUT_LINEAR;
}

/* ---- Slots --------------------------------------------------------------- */

static u64 part_begin(const struct tessera_host_aperture *aperture, u32 part)
{
	return (u64)part * aperture->slot_size;
}

/* In bytes; the last part of an object may be shorter than the others. */
static u32 part_size(const struct tessera_host_aperture *aperture, struct tessera_bo *bo, u32 part)
{
	return min_t(u64, aperture->slot_size,
		     tessera_bo_bytes(bo) - part_begin(aperture, part));
}

static u32 part_pages(const struct tessera_host_aperture *aperture, struct tessera_bo *bo,
		      u32 part)
{
	return DIV_ROUND_UP(part_size(aperture, bo, part), aperture->page_size);
}

static u32 slot_first_page(const struct tessera_host_aperture *aperture,
			   const struct aperture_slot *slot)
{
	return (slot - aperture->slots) * (aperture->slot_size / aperture->page_size);
}

static void program_extent(struct tessera_device *tdev, u32 reg, u32 first, u32 count)
{
	tessera_write32(tdev, TSR_HA_COUNT, count);
	tessera_write32(tdev, reg, first);
}

static void show_locked(struct tessera_bo *bo, const struct tessera_segment *seg, u32 part,
			struct aperture_slot *slot)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	struct tessera_host_aperture *aperture = tdev->host_aperture;
	u32 i, run, count = part_pages(aperture, bo, part);
	u64 offset, left;

	lockdep_assert_held(&aperture->lock);

	/* One command maps one contiguous extent of the object's memory. */
	for (i = 0; i < count; i += run) {
		offset = tessera_placement_at(tessera_bo_placement(bo), part_begin(aperture, part) +
					      (u64)i * aperture->page_size, &left);
		run = min_t(u64, count - i, div_u64(left, aperture->page_size));
		tessera_write64(tdev, TSR_HA_ADDR_LO, seg->base + offset);
		program_extent(tdev, TSR_HA_MAP, slot_first_page(aperture, slot) + i, run);
	}
	slot->bo = bo;
	slot->part = part;
	bo->window.slots[part] = slot - aperture->slots + 1;
	aperture->num_free -= count;
	trace_tessera_host_aperture_map(bo->id, count, aperture->num_free);
}

/* The CPU mappings of the part have been removed. */
static void hide_locked(struct tessera_host_aperture *aperture, struct aperture_slot *slot)
{
	struct tessera_bo *bo = slot->bo;
	struct tessera_device *tdev = tessera_bo_device(bo);
	u32 count = part_pages(aperture, bo, slot->part);
	int idx;

	lockdep_assert_held(&aperture->lock);

	if (drm_dev_enter(&tdev->drm, &idx)) {
		program_extent(tdev, TSR_HA_UNMAP, slot_first_page(aperture, slot), count);
		drm_dev_exit(idx);
	}
	bo->window.slots[slot->part] = 0;
	slot->bo = NULL;
	list_move(&slot->node, &aperture->lru);
	aperture->num_free += count;
	trace_tessera_host_aperture_unmap(bo->id, count, aperture->num_free);
}

/* The reservation of the slot's object is held. */
static void free_slot_locked(struct tessera_host_aperture *aperture, struct aperture_slot *slot)
{
	u64 first = part_begin(aperture, slot->part) >> PAGE_SHIFT;
	u64 pages = part_size(aperture, slot->bo, slot->part) >> PAGE_SHIFT;

	tessera_bo_unmap_pages(slot->bo, first, pages);
	tessera_stale_map_check_part(slot->bo, first, pages);
	hide_locked(aperture, slot);
}

/*
 * Take the slot from its object for @bo. False if the reservation of the slot's
 * object is contended.
 */
static bool take_away_locked(struct tessera_host_aperture *aperture, struct aperture_slot *slot,
			     struct tessera_bo *bo)
{
	struct tessera_bo *victim = slot->bo;
	bool shares = victim == bo || tessera_bo_shares_lock(victim, bo);

	if (!shares && !dma_resv_trylock(victim->tbo.base.resv))
		return false;
	free_slot_locked(aperture, slot);
	if (!shares)
		dma_resv_unlock(victim->tbo.base.resv);

	return true;
}

static struct aperture_slot *get_slot_locked(struct tessera_host_aperture *aperture,
					     struct tessera_bo *bo)
{
	struct aperture_slot *slot;

	lockdep_assert_held(&aperture->lock);

	list_for_each_entry(slot, &aperture->lru, node)
		if (!slot->bo || take_away_locked(aperture, slot, bo))
			return slot;

	return NULL;
}

/**
 * tessera_host_aperture_map() - map the part of an object around a page
 * @bo: the object, reservation held, in a segment that the aperture serves;
 *	inside drm_dev_enter()
 * @seg: that segment
 * @page: number of the page in the object
 *
 * Return: 0, also if the part is mapped already; -EINPROGRESS if the
 * reservations of all objects with a slot are contended: drop the reservation,
 * call tessera_host_aperture_free_slot() and try again; or -ENOMEM.
 */
int tessera_host_aperture_map(struct tessera_bo *bo, const struct tessera_segment *seg, u64 page)
{
	struct tessera_host_aperture *aperture = tessera_bo_device(bo)->host_aperture;
	u32 part = div_u64(page << PAGE_SHIFT, aperture->slot_size);
	struct aperture_slot *slot = NULL;

	dma_resv_assert_held(bo->tbo.base.resv);

	if (!bo->window.slots)
		bo->window.slots = kvcalloc(DIV_ROUND_UP_ULL(tessera_bo_bytes(bo),
							     aperture->slot_size),
					    sizeof(*bo->window.slots), GFP_KERNEL_ACCOUNT);
	if (!bo->window.slots)
		return -ENOMEM;

	mutex_lock(&aperture->lock);
	if (bo->window.slots[part]) {
		slot = &aperture->slots[bo->window.slots[part] - 1];
	} else {
		slot = get_slot_locked(aperture, bo);
		if (slot)
			show_locked(bo, seg, part, slot);
	}
	if (slot)
		list_move_tail(&slot->node, &aperture->lru);
	mutex_unlock(&aperture->lock);
	WRITE_ONCE(bo->window.wants_slot, !slot);

	return slot ? 0 : -EINPROGRESS;
}

/*
 * Find the slot to be reused next. Returns false if it is free or if its object
 * is being destroyed; else @bo is its object, with a reference.
 */
static bool next_slot(struct tessera_host_aperture *aperture, struct aperture_slot **slot,
		      struct tessera_bo **bo)
{
	bool had;

	mutex_lock(&aperture->lock);
	*slot = list_first_entry(&aperture->lru, struct aperture_slot, node);
	*bo = (*slot)->bo;
	had = *bo && kref_get_unless_zero(&(*bo)->tbo.base.refcount);
	mutex_unlock(&aperture->lock);

	return had;
}

/**
 * tessera_host_aperture_free_slot() - free a slot for an object that found none
 * @bo: the object, no reservation held
 *
 * Waits for the reservation of the object that loses its slot. Does nothing
 * unless @bo failed to get a slot. Another client may take the slot first, so
 * the caller tries again.
 *
 * Return: 0, or -ERESTARTSYS.
 */
int tessera_host_aperture_free_slot(struct tessera_bo *bo)
{
	struct tessera_host_aperture *aperture = tessera_bo_device(bo)->host_aperture;
	struct aperture_slot *slot;
	struct tessera_bo *victim;
	int ret;

	if (!READ_ONCE(bo->window.wants_slot) || !next_slot(aperture, &slot, &victim))
		return 0;
	ret = dma_resv_lock_interruptible(victim->tbo.base.resv, NULL);
	if (!ret) {
		mutex_lock(&aperture->lock);
		if (slot->bo == victim)
			free_slot_locked(aperture, slot);
		mutex_unlock(&aperture->lock);
		dma_resv_unlock(victim->tbo.base.resv);
	}
	tessera_bo_put(victim);

	return ret ? -ERESTARTSYS : 0;
}

/**
 * tessera_host_aperture_unmap() - free all slots of an object
 * @bo: the object; either its reservation is held and its CPU mappings are
 *	removed, or its last reference is gone
 */
void tessera_host_aperture_unmap(struct tessera_bo *bo)
{
	struct tessera_host_aperture *aperture = tessera_bo_device(bo)->host_aperture;
	struct aperture_slot *slot, *next;

	if (!aperture || !bo->window.slots)
		return;
	mutex_lock(&aperture->lock);
	list_for_each_entry_safe(slot, next, &aperture->lru, node)
		if (slot->bo == bo)
			hide_locked(aperture, slot);
	mutex_unlock(&aperture->lock);
	kvfree(bo->window.slots);
	bo->window.slots = NULL;
	WRITE_ONCE(bo->window.wants_slot, false);
}

/**
 * tessera_host_aperture_pfn() - CPU address of a page of an object
 * @bo: the object, reservation held, that page in the aperture
 * @page: number of the page in the object
 *
 * Return: page frame number.
 */
unsigned long tessera_host_aperture_pfn(struct tessera_bo *bo, unsigned long page)
{
	struct tessera_host_aperture *aperture = tessera_bo_device(bo)->host_aperture;
	u32 in_part;
	u32 part = div_u64_rem((u64)page << PAGE_SHIFT, aperture->slot_size, &in_part);
	u32 slot = bo->window.slots[part] - 1;

	return (aperture->bus + (u64)slot * aperture->slot_size + in_part) >> PAGE_SHIFT;
}

/**
 * tessera_host_aperture_remaining_pages() - count the pages from a page to the
 * end of its slot
 * @bo: the object, reservation held, that page in the aperture
 * @page: number of the page in the object
 *
 * Return: number of pages, including @page. Pages beyond them are in another
 * slot or in none.
 */
u64 tessera_host_aperture_remaining_pages(struct tessera_bo *bo, u64 page)
{
	struct tessera_host_aperture *aperture = tessera_bo_device(bo)->host_aperture;
	u32 in_part;
	u32 part = div_u64_rem(page << PAGE_SHIFT, aperture->slot_size, &in_part);

	return (part_size(aperture, bo, part) - in_part) >> PAGE_SHIFT;
}

/**
 * tessera_host_aperture_print() - print the owners of the slots
 * @tdev: the device
 * @p: output
 */
void tessera_host_aperture_print(struct tessera_device *tdev, struct drm_printer *p)
{
	struct tessera_host_aperture *aperture = tdev->host_aperture;
	struct aperture_slot *slot;

	if (!aperture) {
		drm_printf(p, "pages 0\n");
		return;
	}
	mutex_lock(&aperture->lock);
	drm_printf(p, "pages %u of %u bytes free %u bus 0x%llx\n", aperture->num_pages,
		   aperture->page_size, aperture->num_free, aperture->bus);
	list_for_each_entry(slot, &aperture->lru, node)
		if (slot->bo)
			drm_printf(p, "bo %u part %u pages %u first %u\n", slot->bo->id, slot->part,
				   part_pages(aperture, slot->bo, slot->part),
				   slot_first_page(aperture, slot));
	mutex_unlock(&aperture->lock);
}
