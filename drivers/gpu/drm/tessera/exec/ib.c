// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: indirect buffers
 *
 * An indirect buffer is kernel memory from which the device fetches packets,
 * page lists or data. It consists of single pages, a list of their DMA
 * addresses, and one kernel mapping of all pages. Only the kernel can write to
 * it, so its contents stay valid once they were checked. The parts of a
 * submission share it by reference.
 *
 * A submission allocates its buffer first, and may then wait for user memory.
 * Unplug does not wait for such a submission. Instead, the device has a list of
 * all buffers that are mapped for DMA, and unplug unmaps the ones that are
 * left. The pages belong to the buffer and are freed with it.
 */

#include <linux/dma-mapping.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>

#include "base/device.h"
#include "client/client.h"
#include "exec/exec.h"

/* The buffers of a device that are mapped for DMA. */
struct tessera_ibs {
	/* Protects @mapped; a leaf. */
	spinlock_t lock;
	struct list_head mapped;
	/* Held while a buffer is unmapped after unplug. */
	struct mutex gone_lock;
};

struct tessera_ib {
	struct kref ref;
	/*
	 * Link in &tessera_ibs.mapped; empty once unplug has unmapped the
	 * buffer.
	 */
	struct list_head node;
	struct tessera_device *tdev;
	/* The quota that is charged for the buffer, or NULL. */
	struct tessera_quota *quota;
	u32 bytes;
	u32 num_pages;
	void *cpu;
	/* Page list in the device's format; its DMA address is list_dma. */
	__le64 *list;
	dma_addr_t list_dma;
	struct page *pages[] __counted_by(num_pages);
};

static struct device *tessera_ib_dev(struct tessera_ib *ib)
{
	return ib->tdev->drm.dev;
}

static void ib_free_pages(struct tessera_ib *ib)
{
	u32 i;

	for (i = 0; i < ib->num_pages && ib->pages[i]; i++)
		__free_page(ib->pages[i]);
}

static int ib_alloc_pages(struct tessera_ib *ib)
{
	u32 i;

	for (i = 0; i < ib->num_pages; i++) {
		ib->pages[i] = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!ib->pages[i]) {
			ib_free_pages(ib);
			return -ENOMEM;
		}
	}

	return 0;
}

static void ib_unmap_pages(struct tessera_ib *ib, u32 count)
{
	while (count--)
		dma_unmap_page(tessera_ib_dev(ib), le64_to_cpu(ib->list[count]), PAGE_SIZE,
			       DMA_TO_DEVICE);
}

static int ib_map_pages(struct tessera_ib *ib)
{
	struct device *dev = tessera_ib_dev(ib);
	dma_addr_t dma;
	u32 i;

	for (i = 0; i < ib->num_pages; i++) {
		dma = dma_map_page(dev, ib->pages[i], 0, PAGE_SIZE, DMA_TO_DEVICE);
		if (dma_mapping_error(dev, dma))
			goto err_unmap;
		ib->list[i] = cpu_to_le64(dma);
	}

	return 0;

err_unmap:
	ib_unmap_pages(ib, i);
	return -ENOMEM;
}

static int tessera_ib_map_cpu(struct tessera_ib *ib)
{
	/* Most buffers have one page and need no mapping of their own. */
	if (ib->num_pages == 1)
		ib->cpu = page_address(ib->pages[0]);
	else
		ib->cpu = vmap(ib->pages, ib->num_pages, VM_MAP, PAGE_KERNEL);

	return ib->cpu ? 0 : -ENOMEM;
}

static void tessera_ib_unmap_cpu(struct tessera_ib *ib)
{
	if (ib->num_pages > 1)
		vunmap(ib->cpu);
}

static size_t ib_list_bytes(const struct tessera_ib *ib)
{
	return ib->num_pages * sizeof(*ib->list);
}

static int ib_map(struct tessera_ib *ib)
{
	struct device *dev = tessera_ib_dev(ib);
	int ret;

	ret = ib_map_pages(ib);
	if (ret)
		return ret;
	/*
	 * Map the list only once it is complete, because mapping flushes it to
	 * the device.
	 */
	ib->list_dma = dma_map_single(dev, ib->list, ib_list_bytes(ib), DMA_TO_DEVICE);
	if (dma_mapping_error(dev, ib->list_dma)) {
		ib_unmap_pages(ib, ib->num_pages);
		return -ENOMEM;
	}

	return 0;
}

static void ib_unmap(struct tessera_ib *ib)
{
	dma_unmap_single(tessera_ib_dev(ib), ib->list_dma, ib_list_bytes(ib), DMA_TO_DEVICE);
	ib_unmap_pages(ib, ib->num_pages);
}

/* Map the buffer for DMA and add it to the list that unplug unmaps. */
static int ib_publish(struct tessera_ib *ib)
{
	struct tessera_ibs *ibs = ib->tdev->ibs;
	int ret, idx;

	if (!drm_dev_enter(&ib->tdev->drm, &idx))
		return -ENODEV;
	ret = ib_map(ib);
	if (!ret) {
		spin_lock(&ibs->lock);
		list_add(&ib->node, &ibs->mapped);
		spin_unlock(&ibs->lock);
	}
	drm_dev_exit(idx);

	return ret;
}

/*
 * Remove a buffer from the list. Returns true if it was still mapped, and the
 * caller has to unmap it.
 */
static bool ib_take(struct tessera_ib *ib)
{
	struct tessera_ibs *ibs = ib->tdev->ibs;
	bool mapped;

	spin_lock(&ibs->lock);
	mapped = !list_empty(&ib->node);
	list_del_init(&ib->node);
	spin_unlock(&ibs->lock);

	return mapped;
}

static void ib_withdraw(struct tessera_ib *ib)
{
	int idx;

	/*
	 * Before unplug: drm_dev_unplug() waits for the end of this section.
	 * After unplug: @gone_lock serializes with tessera_ib_unplug().
	 */
	if (drm_dev_enter(&ib->tdev->drm, &idx)) {
		if (ib_take(ib))
			ib_unmap(ib);
		drm_dev_exit(idx);
		return;
	}
	mutex_lock(&ib->tdev->ibs->gone_lock);
	if (ib_take(ib))
		ib_unmap(ib);
	mutex_unlock(&ib->tdev->ibs->gone_lock);
}

/**
 * tessera_ib_init() - set up the list of mapped buffers
 * @tdev: the device
 *
 * Return: 0 or a negative error.
 */
int tessera_ib_init(struct tessera_device *tdev)
{
	struct tessera_ibs *ibs = drmm_kzalloc(&tdev->drm, sizeof(*ibs), GFP_KERNEL);

	if (!ibs)
		return -ENOMEM;
	spin_lock_init(&ibs->lock);
	INIT_LIST_HEAD(&ibs->mapped);
	tdev->ibs = ibs;

	return drmm_mutex_init(&tdev->drm, &ibs->gone_lock);
}

/**
 * tessera_ib_unplug() - unmap all buffers from DMA
 * @tdev: the device, unplugged and with its engines stopped
 */
void tessera_ib_unplug(struct tessera_device *tdev)
{
	struct tessera_ibs *ibs = tdev->ibs;
	struct tessera_ib *ib;

	mutex_lock(&ibs->gone_lock);
	/* No buffer is added after unplug. Removing one takes the mutex. */
	while ((ib = list_first_entry_or_null(&ibs->mapped, struct tessera_ib, node)))
		if (ib_take(ib))
			ib_unmap(ib);
	mutex_unlock(&ibs->gone_lock);
}

/**
 * tessera_ib_create() - allocate a buffer
 * @tdev: the device
 * @quota: the quota to charge, or NULL; outlives the buffer
 * @bytes: size, not 0; rounded up to pages
 *
 * Return: the buffer, zeroed, with one reference; or an error pointer: -ENOMEM,
 * or -ENODEV if the device is gone.
 */
struct tessera_ib *tessera_ib_create(struct tessera_device *tdev, struct tessera_quota *quota,
				     u32 bytes)
{
	u32 num_pages = DIV_ROUND_UP(bytes, PAGE_SIZE);
	struct tessera_ib *ib;
	int ret = -ENOMEM;

	ib = kvzalloc(struct_size(ib, pages, num_pages), GFP_KERNEL_ACCOUNT);
	if (!ib)
		return ERR_PTR(-ENOMEM);
	kref_init(&ib->ref);
	INIT_LIST_HEAD(&ib->node);
	ib->tdev = tdev;
	ib->bytes = bytes;
	ib->num_pages = num_pages;
	/* The device needs the list in contiguous memory. */
	ib->list = kcalloc(num_pages, sizeof(*ib->list), GFP_KERNEL_ACCOUNT);
	if (!ib->list)
		goto err_free;
	ret = ib_alloc_pages(ib);
	if (ret)
		goto err_free_list;
	ret = tessera_ib_map_cpu(ib);
	if (ret)
		goto err_free_pages;
	ret = ib_publish(ib);
	if (ret)
		goto err_unmap_cpu;
	ib->quota = quota;
	tessera_quota_charge(quota, (long)num_pages << PAGE_SHIFT);

	return ib;

err_unmap_cpu:
	tessera_ib_unmap_cpu(ib);
err_free_pages:
	ib_free_pages(ib);
err_free_list:
	kfree(ib->list);
err_free:
	kvfree(ib);
	return ERR_PTR(ret);
}

static void tessera_ib_destroy(struct kref *ref)
{
	struct tessera_ib *ib = container_of(ref, struct tessera_ib, ref);

	ib_withdraw(ib);
	tessera_ib_unmap_cpu(ib);
	ib_free_pages(ib);
	kfree(ib->list);
	tessera_quota_uncharge(ib->quota, (long)ib->num_pages << PAGE_SHIFT);
	kvfree(ib);
}

/**
 * tessera_ib_get() - take a reference
 * @ib: the buffer
 *
 * Return: @ib.
 */
struct tessera_ib *tessera_ib_get(struct tessera_ib *ib)
{
	kref_get(&ib->ref);
	return ib;
}

/**
 * tessera_ib_put() - drop a reference
 * @ib: the buffer or NULL
 *
 * Frees the buffer with the last reference, so process context only.
 */
void tessera_ib_put(struct tessera_ib *ib)
{
	if (ib)
		kref_put(&ib->ref, tessera_ib_destroy);
}

/**
 * tessera_ib_cpu() - get the kernel mapping of the buffer
 * @ib: the buffer
 *
 * Return: a linear mapping, valid as long as the buffer.
 */
void *tessera_ib_cpu(struct tessera_ib *ib)
{
	return ib->cpu;
}

/**
 * tessera_ib_bytes() - get the size of the buffer
 * @ib: the buffer
 *
 * Return: the size passed to tessera_ib_create().
 */
u32 tessera_ib_bytes(struct tessera_ib *ib)
{
	return ib->bytes;
}

/**
 * tessera_ib_pages_dma() - get the page list, for packets that take one
 * @ib: the buffer
 *
 * Return: DMA address of a contiguous list of the buffer's page addresses.
 */
dma_addr_t tessera_ib_pages_dma(struct tessera_ib *ib)
{
	return ib->list_dma;
}

static dma_addr_t ib_page_dma(struct tessera_ib *ib, u32 page)
{
	return le64_to_cpu(ib->list[page]);
}

/**
 * tessera_ib_flush() - make CPU writes visible to the device
 * @ib: the buffer
 * @start: first byte written
 * @end: first byte after the written ones
 *
 * tessera_job_arm() does this for the ranges of a job. Only other contents,
 * like page lists, need an explicit call.
 */
void tessera_ib_flush(struct tessera_ib *ib, u32 start, u32 end)
{
	struct device *dev = tessera_ib_dev(ib);
	u32 page, last;

	if (!dma_need_sync(dev, ib_page_dma(ib, 0)) || start >= end)
		return;
	last = (end - 1) / PAGE_SIZE;
	for (page = start / PAGE_SIZE; page <= last; page++)
		dma_sync_single_for_device(dev, ib_page_dma(ib, page),
					   PAGE_SIZE, DMA_TO_DEVICE);
}
